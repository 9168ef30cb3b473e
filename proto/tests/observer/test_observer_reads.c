/* SPDX-License-Identifier: BSD-3-Clause */
/* How many requests that wait for their responses are kept in mind. */
#include "observer_support.h"

#include <stdio.h>
#include <stdlib.h>

static struct iw_observer *observer;
static uint64_t next[2];
static char findings[200];
static size_t refused; /* after the start-up this block is not lent; 0: all are */
static size_t blocks, lent;

static void see(void *context, const struct iw_observation *o)
{
    size_t at = strlen(findings);

    (void)context;
    if (o->kind == IW_OBSERVED_FINDING)
        snprintf(findings + at, sizeof(findings) - at, "%s:%x/%x ",
                 iw_check_info(o->fault.check)->name, (unsigned)o->fault.got,
                 (unsigned)o->fault.want);
}

static void *lend(void *context, size_t size)
{
    (void)context;
    if (++blocks == refused)
        return NULL;
    lent += size;
    return malloc(size);
}

static void give_back(void *context, void *block, size_t size)
{
    (void)context;
    lent -= size;
    free(block);
}

static void feed(enum iw_side side, const uint8_t *octets, size_t length)
{
    assert_int_equal(iw_observer_input(observer, side, next[side], octets, length), 0);
    next[side] += length;
}

static void feed_hex(enum iw_side side, bool fpdu, const char *hex)
{
    uint8_t octets[200], framed[200];
    size_t length = hex_octets(octets, hex);

    if (fpdu)
        feed(side, framed, make_fpdu(framed, octets, length));
    else
        feed(side, octets, length);
}

/* Asks for 4 octets each to the STags 1..count, gets those of `answer`, and expects findings. */
static void asks(unsigned count, unsigned answer, const char *expected)
{
    struct iw_observer_config config = {.crc32c = iw_crc32c_portable,
                                        .seen = see,
                                        .lend = lend,
                                        .give_back = give_back,
                                        .scratch = malloc(iw_observer_scratch_size()),
                                        .extensions = true};
    char hex[200];

    memset(next, 0, sizeof(next));
    findings[0] = '\0';
    blocks = refused; /* the start-up gets all of its own */
    observer = iw_observer_init(malloc(iw_observer_size()), iw_observer_size(), &config);
    assert_non_null(observer);
    feed_hex(IW_SIDE_INITIATOR, false, REQUEST_KEY "40010000");
    feed_hex(IW_SIDE_RESPONDER, false, REPLY_KEY "40010000");
    blocks = 0;
    for (unsigned i = 1; i <= count; i++) {
        snprintf(hex, sizeof(hex),
                 "4141 00000000 00000001 %08x 00000000 %08x 0000000000002000 00000004"
                 " 11223344 0000000000001000",
                 i, i);
        feed_hex(IW_SIDE_INITIATOR, true, hex);
    }
    snprintf(hex, sizeof(hex), "c142 %08x 0000000000002000 01020304", answer);
    feed_hex(IW_SIDE_RESPONDER, true, hex);
    assert_string_equal(findings, expected);
    iw_observer_drop(observer);
    assert_int_equal(lent, 0);
    free(observer);
    free(config.scratch);
}

static void test_all_are_judged(void **state)
{
    (void)state;
    refused = 0;
    asks(1, 1, "");
    asks(1, 2, "rdmap-response-stag:2/1 ");
    asks(16, 16, "rdmap-response-order:f/0 ");
    asks(17, 17, "rdmap-response-order:10/0 ");
    asks(1024, 1, "");
    asks(1024, 1024, "rdmap-response-order:3ff/0 ");
    asks(1024, 1025, "rdmap-response-stag:401/1 ");
}

static void test_none_are_judged_beyond_1024(void **state)
{
    (void)state;
    refused = 0;
    asks(1025, 1024, "");
    asks(1025, 1026, "");
}

/* Room for 16, then for 32: without it none are judged. */
static void test_room_is_borrowed(void **state)
{
    (void)state;
    refused = 2;
    asks(16, 16, "rdmap-response-order:f/0 ");
    asks(17, 17, "");
    refused = 3;
    asks(32, 32, "rdmap-response-order:1f/0 ");
    asks(33, 33, "");
    refused = 1;
    asks(1, 2, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_judged),
        cmocka_unit_test(test_none_are_judged_beyond_1024),
        cmocka_unit_test(test_room_is_borrowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
