/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of ULPDUs: which wrong answers of decoders, checks and printers it notices. */
#include "spy.h"

#include <stdio.h>

#include "iwarp/rdmap.h"

static struct {
    int got;
    struct iw_ddp_header header;
    int put;            /* octets that encoding gives */
    unsigned rights;    /* bit 2 * extensions + version: the header passes */
    unsigned assigned;  /* bit per extensions: the opcode is */
    bool tagged;        /* the opcode is */
    uint32_t queue;     /* the opcode's */
    unsigned irregular; /* how many irregularities there are */
    const char *text;
    size_t needed, needed_cut; /* of the whole and the cut print */
    bool beyond, unfinished, other;
    unsigned prints;
} fake;

int iw_wire_get_ddp(const uint8_t *octets, size_t length, struct iw_ddp_header *out)
{
    (void)octets;
    *out = fake.header;
    return length < 14 ? IW_WIRE_SHORT : fake.got;
}

int iw_wire_put_ddp(uint8_t *octets, size_t room, const struct iw_ddp_header *in)
{
    (void)in;
    if (room < 14)
        return IW_WIRE_SHORT;
    memset(octets, 0, 14);
    return fake.put;
}

enum iw_check iw_rdmap_check_header(const struct iw_ddp_header *h, unsigned version,
                                    bool extensions, const struct iw_switches *switches)
{
    (void)h;
    assert_null(switches);
    spy_note("%u%d ", version, extensions);
    return (fake.rights >> (2 * extensions + version) & 1) != 0 ? IW_CHECK_NONE : IW_CHECK_DDP_QN;
}

enum iw_check iw_rdmap_check_reserved(const struct iw_ddp_header *h, unsigned *seen)
{
    (void)h;
    return ++*seen > fake.irregular ? IW_CHECK_NONE : IW_CHECK_DDP_RSVD;
}

bool iw_rdmap_assigned(unsigned opcode, bool extensions)
{
    assert_int_equal(opcode, 3);
    return (fake.assigned >> extensions & 1) != 0;
}

bool iw_rdmap_is_tagged(unsigned opcode)
{
    assert_int_equal(opcode, 3);
    return fake.tagged;
}

uint32_t iw_rdmap_queue(unsigned opcode)
{
    assert_int_equal(opcode, 3);
    return fake.queue;
}

size_t iw_wire_print_segment(char *text, size_t room, const uint8_t *ulpdu, size_t length)
{
    (void)ulpdu;
    (void)length;
    if (fake.prints++ == 0) {
        snprintf(text, room, "%s", fake.text);
        return fake.needed;
    }
    spy_note("room %zu", room);
    if (room > 0)
        snprintf(text, room, "%s", fake.text);
    if (fake.other && room > 1)
        text[room - 2]++;
    if (fake.unfinished && room > 0)
        text[strlen(text)] = '!';
    if (fake.beyond)
        text[room]++;
    return fake.needed_cut;
}

/* A header that is right in every way. */
static void again(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.got = fake.put = 14;
    fake.header = (struct iw_ddp_header){.ddp_control = 0, .rdmap_control = 3, .qn = 2};
    fake.rights = 1;
    fake.assigned = 3;
    fake.queue = 2;
    fake.text = "text";
    fake.needed = fake.needed_cut = 4;
}

static const char zeros[] = "0000000000000000000000000000";

/* What is said of 14 octets and `more` of them. */
static const char *says(size_t more)
{
    static char hex[200];

    snprintf(
        hex, sizeof(hex), "%s%.*s", zeros, (int)(2 * more),
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000");
    fake.prints = 0;
    return spy_runs(&iw_fuzz_harness, hex);
}

#define SAYS(expected) assert_string_equal(says(0), expected)

static void headers_come_again(void **state)
{
    (void)state;
    again();
    SAYS("");
    spy_noted("00 01 10 11 room 14");
    fake.put = 13;
    SAYS("ddp: encoded anew it is something else");
    again();
    fake.got = IW_WIRE_SHORT; /* nothing is judged */
    SAYS("");
    spy_noted("room 14");
}

static void headers_that_pass_are_right(void **state)
{
    static const char wrong[] = "ddp: a header is right that is not (opcode 3)";

    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        again();
        fake.rights = 1u << way;
        SAYS(way % 2 == 0 ? "" : wrong); /* of version 0 */
        fake.header.ddp_control = 1;
        SAYS(wrong);
        fake.header.rdmap_control |= 0x40;
        SAYS(way % 2 == 1 ? "" : wrong);
        fake.header.ddp_control = 0;
        SAYS(wrong);
    }
    again();
    fake.assigned = 2;
    SAYS(wrong);
    fake.rights = 4;
    SAYS("");
    fake.assigned = 1;
    SAYS(wrong);
    again();
    fake.tagged = true;
    SAYS(wrong);
    fake.header.ddp_control = IW_DDP_T;
    SAYS("");
    fake.queue = 1;
    SAYS("");
    fake.tagged = false;
    SAYS(wrong);
    for (uint32_t queue = 1; queue < 4; queue += 2) {
        again();
        fake.queue = queue;
        SAYS(wrong);
    }
    fake.rights = 0;
    SAYS("");
}

static void irregularities_end(void **state)
{
    (void)state;
    again();
    fake.irregular = 8;
    SAYS("");
    fake.irregular = 9;
    SAYS("ddp: irregularities without end");
}

static void prints_are_the_same_in_less_room(void **state)
{
    static char text[420];

    (void)state;
    again();
    fake.needed = 5;
    SAYS("ddp: printed otherwise");
    fake.needed = 3;
    SAYS("ddp: printed otherwise");
    again();
    memset(text, 't', 399);
    fake.text = text;
    fake.needed = fake.needed_cut = 399;
    SAYS("");
    text[399] = 't';
    fake.needed = fake.needed_cut = 400;
    SAYS("ddp: printed otherwise");
    for (size_t needed = 3; needed < 6; needed += 2) {
        again();
        fake.needed_cut = needed;
        SAYS("ddp: the room changes what is to be printed");
    }
    again();
    fake.beyond = true;
    SAYS("ddp: printed beyond its room");
    for (int how = 0; how < 2; how++) {
        again();
        fake.unfinished = how == 0;
        fake.other = how == 1;
        fake.text = "a text that is long";
        fake.needed = fake.needed_cut = 19;
        SAYS("ddp: printed otherwise in less room");
    }
    again();
    assert_string_equal(says(49), ""); /* 63 */
    assert_non_null(strstr(spy_notes(), "room 63"));
    fake.beyond = true;
    assert_string_equal(says(50), "ddp: printed beyond its room");
    assert_non_null(strstr(spy_notes(), "room 0"));
    fake.beyond = false;
    assert_string_equal(says(50), "");
    fake.unfinished = true;
    assert_string_equal(says(51), "ddp: printed otherwise in less room"); /* 1 */
    assert_string_equal(says(49), "ddp: printed otherwise in less room");
    again();
    fake.text = "abc";
    fake.needed = fake.needed_cut = 3;
    assert_string_equal(says(54), ""); /* 4: as many as there are */
    fake.other = true;
    assert_string_equal(says(54), "ddp: printed otherwise in less room");
    fake.other = false;
    assert_string_equal(says(53), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_come_again),
        cmocka_unit_test(headers_that_pass_are_right),
        cmocka_unit_test(irregularities_end),
        cmocka_unit_test(prints_are_the_same_in_less_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
