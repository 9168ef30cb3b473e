/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-peer keeps of a connection's beginning, and what that says of the other side. */
#include "peer_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define REQUEST "4d504120494420526571204672616d65 00010000"
#define REPLY "4d504120494420526570204672616d65 00010000"
#define REQUEST_CRC "4d504120494420526571204672616d65 40010000"
#define REPLY_CRC "4d504120494420526570204672616d65 40010000"
#define SEND(msn) "4143 00000000 00000000 0000000" msn " 00000000"

void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
static bool no_parts, no_octets, no_connection; /* what there is no memory for */

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return no_parts ? NULL : __real_reallocarray(old, count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return no_octets ? NULL : __real_realloc(old, size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return no_connection ? NULL : __real_calloc(count, size);
}

static void *begin(bool active)
{
    void *tapped = peer_beginnings.opened(peer_beginnings.context, NULL, NULL, active);
    assert_non_null(tapped);
    return tapped;
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Passes octets in two pieces of which the second has room for more. */
static void pass(void *tapped, bool sent, const char *hex)
{
    uint8_t octets[256];
    size_t n = 0;
    for (; *hex != '\0'; hex++) {
        if (*hex == ' ')
            continue;
        octets[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
        hex++;
    }
    const struct iw_iov pieces[] = {{octets, 1}, {octets + 1, sizeof(octets) - 1}};
    peer_beginnings.octets(tapped, sent, pieces, 2, n);
}

static enum iw_quirk end(void *tapped)
{
    enum iw_quirk quirk = peer_beginning_quirk(tapped);
    peer_beginnings.closed(tapped);
    return quirk;
}

static void start(void *tapped, const char *request, const char *reply)
{
    pass(tapped, false, request);
    pass(tapped, true, reply);
}

static void what_the_other_side_shows(void **state)
{
    (void)state;
    static const struct {
        bool crc;
        enum iw_quirk quirk;
        const char *octets;
    } rows[] = {
        /* The CRC-32 of Ethernet, and the CRC32c in reversed order. */
        {true, IW_QUIRK_CRC_POLYNOMIAL, "0012" SEND("1") "3777400e"},
        {true, IW_QUIRK_CRC_ORDER, "0012" SEND("1") "c4e87b58"},
        {false, IW_QUIRK_MSN_START, "0012" SEND("0") "00000000 0012" SEND("1") "00000000"},
        {false, IW_QUIRK_CRC_ABSENT, "0012" SEND("1") "0012" SEND("2") "0012" SEND("3")},
        {false, IW_QUIRK_LENGTH_ORDER,
         "1200" SEND("1") "00000000 1200" SEND("2") "00000000 1200" SEND("3") "00000000"},
        {false, IW_QUIRK_COUNT, "0012" SEND("1") "00000000"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *tapped = begin(false);
        start(tapped, rows[i].crc ? REQUEST_CRC : REQUEST, rows[i].crc ? REPLY_CRC : REPLY);
        pass(tapped, false, rows[i].octets);
        assert_int_equal(end(tapped), rows[i].quirk);
    }
    void *tapped = begin(false);
    pass(tapped, false, "4d504120494420526571204672616d65 00010400 01020304");
    assert_int_equal(end(tapped), IW_QUIRK_PD_ORDER);
}

/* A FIN after the first FPDU, which lacks its CRC field; a RST there says nothing. */
static void how_it_ended_counts(void **state)
{
    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        void *tapped = begin(false);
        start(tapped, REQUEST, REPLY);
        pass(tapped, false, "0012" SEND("1"));
        peer_beginnings.ended(tapped, false, reset);
        assert_int_equal(end(tapped), reset ? IW_QUIRK_COUNT : IW_QUIRK_CRC_ABSENT);
    }
}

/* What this side does is no finding about the other one. */
static void our_own_quirks_do_not_count(void **state)
{
    (void)state;
    void *tapped = begin(true);
    pass(tapped, true, REQUEST);
    pass(tapped, false, REPLY);
    pass(tapped, true, "0012" SEND("0") "00000000 0012" SEND("1") "00000000");
    assert_int_equal(end(tapped), IW_QUIRK_COUNT);
}

static void add_quirk(void *tapped)
{
    pass(tapped, false, "0012" SEND("0") "00000000 0012" SEND("1") "00000000");
}

static void octets_are_bounded(void **state)
{
    (void)state;
    static uint8_t zeros[PEER_BEGINNING];
    const struct iw_iov piece = {zeros, sizeof(zeros)};
    void *tapped = begin(false);
    start(tapped, REQUEST, REPLY);
    add_quirk(tapped);
    assert_int_equal(peer_beginning_quirk(tapped), IW_QUIRK_MSN_START);
    peer_beginnings.octets(tapped, true, &piece, 1, sizeof(zeros));
    assert_int_equal(peer_beginning_quirk(tapped), IW_QUIRK_COUNT);
    add_quirk(tapped);
    peer_beginnings.ended(tapped, false, false);
    assert_int_equal(end(tapped), IW_QUIRK_COUNT);
    /* Single octets take more memory than they have octets. */
    tapped = begin(false);
    start(tapped, REQUEST, REPLY);
    add_quirk(tapped);
    for (unsigned i = 0; i < PEER_BEGINNING / 8; i++)
        peer_beginnings.octets(tapped, true, &piece, 1, 1);
    assert_int_equal(end(tapped), IW_QUIRK_COUNT);
}

static void no_memory_is_no_quirk(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *tapped = begin(false);
        start(tapped, REQUEST, REPLY);
        no_parts = i == 0;
        no_octets = i == 1;
        add_quirk(tapped);
        no_parts = no_octets = false;
        add_quirk(tapped);
        assert_int_equal(end(tapped), IW_QUIRK_COUNT);
    }
    assert_int_equal(peer_beginning_quirk(NULL), IW_QUIRK_COUNT);
    no_connection = true;
    assert_null(peer_beginnings.opened(peer_beginnings.context, NULL, NULL, true));
    no_connection = false;
    /* An end takes no octets. */
    void *tapped = begin(false);
    start(tapped, REQUEST, REPLY);
    pass(tapped, false, "0012" SEND("1"));
    no_octets = true;
    peer_beginnings.ended(tapped, false, false);
    no_octets = false;
    assert_int_equal(end(tapped), IW_QUIRK_CRC_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_other_side_shows),   cmocka_unit_test(how_it_ended_counts),
        cmocka_unit_test(our_own_quirks_do_not_count), cmocka_unit_test(octets_are_bounded),
        cmocka_unit_test(no_memory_is_no_quirk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
