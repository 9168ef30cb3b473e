/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A capture that begins amid a stream. The start of an FPDU is searched, and what was found may be
 * payload that looks like one: nothing is found wrong until more octets than one FPDU can have were
 * FPDUs in order. From then on an error is the sender's.
 */
#include "observer_support.h"

#include <stdlib.h>

/* 2 + 65535 + 3 + 4 octets and 130 Markers: FPDUs of one octet more than that cannot lie in one. */
enum {
    LONGEST = 66064,
    FPDU = 4012,
    COUNT = 16,
    TAIL = 500,
    PIECE = 1448,
    NEXT = 100,
    SEND = 36,
    ROOM = 80000
};

struct stream {
    uint8_t octets[ROOM];
    size_t length;
};

/* A Write that becomes an FPDU of `size` octets, a multiple of four; its third and fourth octet are
 * DDP's and RDMAP's control octets. */
static void say(struct stream *s, uint8_t ddp, uint8_t rdmap, size_t size, bool crc, bool bad_crc)
{
    uint8_t ulpdu[FPDU] = {ddp, rdmap, 0x11, 0x22, 0x33, 0x44};
    assert_true(size <= sizeof(ulpdu) && s->length + size <= sizeof(s->octets));
    for (size_t i = 14; i < size - 6; i++)
        ulpdu[i] = 0xee;
    assert_int_equal(make_fpdu(s->octets + s->length, ulpdu, size - 6), size);
    s->length += size;
    if (!crc)
        memset(s->octets + s->length - 4, 0, 4);
    if (bad_crc)
        s->octets[s->length - 1] ^= 1;
}

/* A Send of 12 octets: an FPDU of 36. */
static void send(struct stream *s, uint8_t msn, bool crc)
{
    const uint8_t ulpdu[30] = {0x41, 0x43, [13] = msn};
    assert_int_equal(make_fpdu(s->octets + s->length, ulpdu, sizeof(ulpdu)), SEND);
    s->length += SEND;
    if (!crc)
        memset(s->octets + s->length - 4, 0, 4);
}

enum mistake { OPCODE, RESERVED, BAD_CRC, MSN };

/* The end of an FPDU that was not captured, FPDUs of `good` octets without a fault (and without
 * CRCs one more, whose header shows where they end), one with this mistake, and some that are in
 * order again. Pieces that are no lists of FPDUs prove nothing of themselves. */
static struct rig *join(bool crc, size_t good, enum mistake mistake)
{
    static const uint8_t rdmap[] = {[OPCODE] = 0x4f, [RESERVED] = 0x50, [BAD_CRC] = 0x40};
    struct rig *rig = rig_new(false, false);
    struct stream *s = calloc(1, sizeof(*s));
    struct iw_observer_assumption assumed = {.crc = crc ? IW_ASSUMED_YES : IW_ASSUMED_NO};

    assert_non_null(s);
    memset(s->octets, 0x77, TAIL);
    s->length = TAIL;
    for (unsigned i = 0; i < COUNT; i++)
        say(s, 0xc1, 0x40, FPDU, crc, false);
    say(s, 0xc1, 0x40, good - (size_t)COUNT * FPDU, crc, false);
    if (!crc)
        say(s, 0xc1, 0x40, NEXT, crc, false);
    if (mistake == MSN) {
        send(s, 5, crc);
        send(s, 7, crc);
    } else {
        say(s, 0xc1, rdmap[mistake], 100, crc, mistake == BAD_CRC);
    }
    for (unsigned i = 0; i < 5; i++)
        say(s, 0xc1, 0x40, 200, crc, false);
    iw_observer_assume(rig->observer, &assumed);
    for (size_t at = 0; at < s->length; at += PIECE)
        rig_feed(rig, IW_SIDE_INITIATOR, s->octets + at,
                 s->length - at < PIECE ? s->length - at : PIECE);
    free(s);
    assert_int_equal(rig_get(rig, IW_OBSERVED_RESYNC, 0)->end, TAIL);
    return rig;
}

static void expect_found(bool crc, size_t good, enum mistake mistake, enum iw_check check,
                         uint64_t offset)
{
    struct rig *rig = join(crc, good, mistake);

    assert_int_equal(rig_count(rig, IW_OBSERVED_RESYNC), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, check);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->side, IW_SIDE_INITIATOR);
    uint64_t pos = rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.pos;
    assert_int_equal(pos, TAIL + good + (crc ? 0 : NEXT) + offset);
    rig_free(rig);
}

static void expect_searched(bool crc, size_t good, enum mistake mistake)
{
    struct rig *rig = join(crc, good, mistake);

    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_RESYNC), 2);
    assert_int_equal(rig_get(rig, IW_OBSERVED_RESYNC, 1)->end,
                     TAIL + good + (crc ? 0 : NEXT) + 100);
    rig_free(rig);
}

/* A fault in octets that are framed well: the second of two Sends has another MSN. */
static void test_a_mistake_that_framing_does_not_show(void **state)
{
    (void)state;
    for (int crc = 0; crc < 2; crc++) {
        size_t before = SEND + (crc ? SEND : NEXT); /* octets before what proves */
        struct rig *rig = join(crc, LONGEST - before, MSN);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
        assert_int_equal(rig_count(rig, IW_OBSERVED_RESYNC), 1);
        rig_free(rig);
        expect_found(crc, LONGEST + 4, MSN, IW_CHECK_DDP_MSN, SEND + 12);
    }
}

static void test_with_crcs(void **state)
{
    (void)state;
    expect_searched(true, LONGEST, OPCODE);
    expect_searched(true, LONGEST, RESERVED);
    expect_searched(true, LONGEST, BAD_CRC);
    expect_found(true, LONGEST + 4, OPCODE, IW_CHECK_RDMAP_OPCODE, 3);
    expect_found(true, LONGEST + 4, RESERVED, IW_CHECK_RDMAP_RSV, 3);
    expect_found(true, LONGEST + 4, BAD_CRC, IW_CHECK_MPA_CRC, 96);
}

static void test_without_crcs(void **state)
{
    (void)state;
    expect_searched(false, LONGEST, OPCODE);
    expect_searched(false, LONGEST, RESERVED);
    expect_found(false, LONGEST + 4, OPCODE, IW_CHECK_RDMAP_OPCODE, 3);
    expect_found(false, LONGEST + 4, RESERVED, IW_CHECK_RDMAP_RSV, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mistake_that_framing_does_not_show),
        cmocka_unit_test(test_with_crcs),
        cmocka_unit_test(test_without_crcs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
