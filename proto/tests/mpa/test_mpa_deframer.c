/* SPDX-License-Identifier: BSD-3-Clause */
/* The deframer at its edges: checks and their order, stopping, buffers, the end. */
#include <stdlib.h>

#include "mpa_support.h"

static const uint8_t hello[] = "\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0hello";
enum { HELLO = 23 };
#define V5 "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c"
#define V1 "00124143 00000000 00000000 00000001 00000000 587be8c4"

static int feed_hex(struct mpa_rig *rig, uint64_t pos, const char *hex)
{
    uint8_t octets[256];
    size_t n = mpa_hex(octets, hex);

    return mpa_rig_feed(rig, pos, octets, n);
}

static void length_zero(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);

    (void)state;
    assert_int_equal(feed_hex(rig, 0, "00000000 c74b6748" V5), 0);
    assert_int_equal(rig->seen.fpdus, 2);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->seen.fpdu[0].crc, 0x48674bc7);
    assert_int_equal(rig->seen.fpdu[0].length, 0);
    assert_int_equal(rig->seen.fpdu[0].size, 8);
    assert_int_equal(rig->seen.fpdu[0].pieces, 0);
    mpa_assert_ulpdu(rig, 1, hello, HELLO);
    mpa_rig_free(rig);
}

/* At a Marker's place: Marker, length, pad, Marker, CRC. */
static void length_zero_around_a_marker(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, false);
    struct mpa_reference r = {.markers = true};
    uint8_t ulpdu[498] = {0};

    (void)state;
    mpa_reference_frame(&r, ulpdu, sizeof(ulpdu)); /* ends at 508 */
    assert_int_equal(r.length, 508);
    assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length), 0);
    assert_int_equal(feed_hex(rig, 508, "00000000 00000004 00000000"), 0);
    assert_int_equal(rig->seen.fpdus, 2);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->seen.fpdu[1].size, 12);
    assert_int_equal(rig->seen.fpdu[1].markers, 1);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

static void longest_ulpdu_is_judged_at_once(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);

    (void)state;
    assert_int_equal(feed_hex(rig, 0, "fd"), 0);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(feed_hex(rig, 1, "00"), 0); /* 64768 */
    assert_int_equal(rig->seen.faults, 0);

    mpa_rig_reset(rig, true, true);
    assert_int_equal(feed_hex(rig, 0, "00000000fd01"), 0);
    assert_int_equal(rig->seen.faults, 1);
    mpa_assert_fault(rig, 0, IW_CHECK_MPA_ULPDU_MAX, 4, 64769, 64768);
    assert_int_equal(feed_hex(rig, 6, "00"), 0);
    assert_int_equal(rig->seen.faults, 1); /* said once */

    mpa_rig_reset(rig, false, true);
    rig->seen.strict = true;
    assert_int_equal(feed_hex(rig, 0, "fd01"), -1);
    assert_int_equal(feed_hex(rig, 2, "00"), -1);
    assert_int_equal(rig->seen.faults, 1);
    mpa_rig_free(rig);
}

/* With the check let pass, 65535 octets are held, however they come, Markers or not. */
static void length_65535(void **state)
{
    uint8_t *ulpdu = malloc(65535);

    (void)state;
    assert_non_null(ulpdu);
    mpa_pattern(ulpdu, 65535);
    for (unsigned way = 0; way < 4; way++) {
        struct mpa_reference r = {.markers = way & 1, .crc = true};
        struct mpa_rig *rig = mpa_rig_new(r.markers, true);
        size_t begin;

        mpa_reference_frame(&r, ulpdu, 498);
        begin = r.length;
        mpa_reference_frame(&r, ulpdu, 65535);
        mpa_reference_frame(&r, hello, HELLO);
        if (way & 2) { /* everything after the first octet comes first */
            assert_int_equal(mpa_rig_feed(rig, begin + 1, r.octets + begin + 1, 60000), 0);
            assert_int_equal(mpa_rig_feed(rig, begin + 60001, r.octets + begin + 60001, 5543), 0);
            assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length), 0);
        } else {
            assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length - 5), 0);
            assert_int_equal(mpa_rig_feed(rig, r.length - 5, r.octets + r.length - 5, 5), 0);
        }
        assert_int_equal(rig->seen.fpdus, 3);
        mpa_assert_ulpdu(rig, 1, ulpdu, 65535);
        mpa_assert_ulpdu(rig, 2, hello, HELLO);
        assert_true(rig->seen.fpdu[1].crc_good);
        for (size_t i = 0; i < rig->seen.faults; i++)
            assert_int_equal(rig->seen.fault[i].check, IW_CHECK_MPA_ULPDU_MAX);
        assert_int_equal(rig->seen.faults, 1);
        mpa_reference_free(&r);
        mpa_rig_free(rig);
    }
    free(ulpdu);
}

/* Everything wrong in one FPDU: length, CRC, then the Marker's parts, then the pad. */
static void order_of_checks(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference r = {.markers = true, .crc = true};
    uint8_t *ulpdu = calloc(1, 64769);
    const enum iw_check order[] = {IW_CHECK_MPA_ULPDU_MAX,      IW_CHECK_MPA_CRC,
                                   IW_CHECK_MPA_MARKER_POINTER, IW_CHECK_MPA_MARKER_RSVD,
                                   IW_CHECK_MPA_MARKER_LOW,     IW_CHECK_MPA_PAD};

    (void)state;
    assert_non_null(ulpdu);
    mpa_reference_frame(&r, ulpdu, 64769);
    r.octets[513] = 7; /* of the second Marker: reserved, and a pointer of 0x1fe for 0x1fc */
    r.octets[514] ^= 2;
    r.octets[515] ^= 1;
    r.octets[r.length - 5] = 9;
    assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length), 0);
    assert_int_equal(rig->seen.faults, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(rig->seen.fault[i].check, order[i]);
    mpa_assert_fault(rig, 0, order[0], 4, 64769, 64768);
    assert_int_equal(rig->seen.fault[1].pos, r.length - 4);
    mpa_assert_fault(rig, 2, order[2], 514, 0x3fd, 0x1fc);
    mpa_assert_fault(rig, 3, order[3], 512, 7, 0);
    mpa_assert_fault(rig, 4, order[4], 515, 1, 0);
    mpa_assert_fault(rig, 5, order[5], r.length - 5, 9, 0);
    assert_int_equal(rig->seen.fpdus, 1);
    assert_false(rig->seen.fpdu[0].crc_good);

    /* and each of them stops it when it is enforced */
    for (size_t i = 0; i < 6; i++) {
        mpa_rig_reset(rig, true, true);
        rig->seen.strict = true;
        rig->seen.tolerated = order[0];
        if (i > 0)
            rig->seen.stop_after = 1;
        r.octets[513] = i == 3 ? 7 : 0;
        r.octets[514] = i == 2 ? 3 : 1;
        r.octets[515] = i == 4 ? 0xfd : 0xfc;
        r.octets[r.length - 5] = i == 5 ? 9 : 0;
        if (i == 0)
            rig->seen.tolerated = IW_CHECK_NONE;
        rig->deframer.crc = i == 1;
        r.octets[r.length - 1] ^= i == 1;
        assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length), -1);
        r.octets[r.length - 1] ^= i == 1;
        assert_int_equal(rig->seen.fpdus, 0);
        assert_int_equal(rig->seen.fault[rig->seen.faults - 1].check, order[i]);
        assert_int_equal(rig->deframer.next, 0);
    }
    free(ulpdu);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* The lead Marker of an FPDU, and a Marker that stands between pad and CRC field. */
static void marker_faults_at_the_ends(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, false);
    struct mpa_reference r = {.markers = true};
    uint8_t ulpdu[503] = {0};

    (void)state;
    mpa_reference_frame(&r, ulpdu, sizeof(ulpdu)); /* pad to 512, Marker, CRC at 516 */
    assert_int_equal(r.length, 520);
    r.octets[3] = 8;
    r.octets[510] = 3;
    r.octets[515] = 0xf8;
    assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length), 0);
    assert_int_equal(rig->seen.faults, 3);
    mpa_assert_fault(rig, 0, IW_CHECK_MPA_MARKER_POINTER, 2, 8, 0);
    mpa_assert_fault(rig, 1, IW_CHECK_MPA_MARKER_POINTER, 514, 0x1f8, 0x1fc);
    mpa_assert_fault(rig, 2, IW_CHECK_MPA_PAD, 510, 3, 0);
    assert_int_equal(rig->seen.fpdu[0].markers, 2);
    mpa_assert_ulpdu(rig, 0, ulpdu, sizeof(ulpdu));

    mpa_rig_reset(rig, true, false);
    rig->seen.strict = true;
    assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length), -1);
    assert_int_equal(rig->seen.faults, 1);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* CRCs off: any value is good (RFC 5044 §7.1.1), unless somebody wants to know. */
static void crc_off(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, false);
    const char *bad = "00124143 00000000 00000000 00000001 00000000 587be8c5";

    (void)state;
    assert_int_equal(feed_hex(rig, 0, bad), 0);
    assert_int_equal(rig->seen.fpdus, 1);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->seen.fpdu[0].crc, 0xc5e87b58);
    assert_false(rig->seen.fpdu[0].crc_checked);

    mpa_rig_reset(rig, false, false);
    rig->deframer.always_crc = true;
    assert_int_equal(feed_hex(rig, 0, V1), 0);
    assert_int_equal(feed_hex(rig, 24, bad), 0);
    assert_int_equal(rig->seen.fpdus, 2);
    assert_true(rig->seen.fpdu[0].crc_good);
    assert_false(rig->seen.fpdu[0].crc_checked);
    assert_false(rig->seen.fpdu[1].crc_good);
    assert_int_equal(rig->seen.faults, 1);
    mpa_assert_fault(rig, 0, IW_CHECK_MPA_CRC_OFF, 44, 0xc5e87b58, 0xc4e87b58);

    mpa_rig_reset(rig, false, false);
    rig->deframer.always_crc = true;
    rig->seen.strict = true;
    assert_int_equal(feed_hex(rig, 0, V1 "00124143 00000000"), 0);
    assert_int_equal(feed_hex(rig, 24, bad), -1);
    assert_int_equal(rig->seen.fpdus, 1);
    mpa_rig_free(rig);
}

/* A bad CRC that is let pass: handed out, and said to be bad. */
static void crc_let_pass(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);

    (void)state;
    rig->seen.strict = true;
    rig->seen.tolerated = IW_CHECK_MPA_CRC;
    assert_int_equal(feed_hex(rig, 0, "00124143 00000000 00000000 00000001 00000000 00000000" V5),
                     0);
    assert_int_equal(rig->seen.fpdus, 2);
    assert_false(rig->seen.fpdu[0].crc_good);
    assert_true(rig->seen.fpdu[0].crc_checked);
    assert_true(rig->seen.fpdu[1].crc_good);
    mpa_assert_fault(rig, 0, IW_CHECK_MPA_CRC, 20, 0, 0xc4e87b58);
    mpa_rig_free(rig);
}

static void nothing_after_a_stop(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);

    (void)state;
    rig->seen.stop_after = 1;
    assert_int_equal(feed_hex(rig, 0, V1 V5 V1 "0012"), -1);
    assert_int_equal(rig->seen.fpdus, 1);
    assert_true(rig->deframer.stopped);
    assert_int_equal(rig->deframer.next, 24); /* the first one was handed out */
    assert_true(iw_deframer_idle(&rig->deframer));
    assert_int_equal(feed_hex(rig, 24, V5), -1);
    assert_int_equal(rig->seen.fpdus, 1);
    assert_ptr_equal(iw_deframer_return(&rig->deframer), rig->buffer);

    /* stopped by an FPDU that was completed in the buffer, with more held after it */
    mpa_rig_reset(rig, false, true);
    rig->seen.stop_after = 1;
    assert_int_equal(feed_hex(rig, 1, "124143 00000000 00000000 00000001 00000000 587be8c4" V5), 0);
    assert_int_equal(feed_hex(rig, 0, "00"), -1);
    assert_int_equal(rig->seen.fpdus, 1);
    assert_true(iw_deframer_idle(&rig->deframer));
    mpa_rig_free(rig);
}

static void buffer_comes_and_goes(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    static _Alignas(max_align_t) uint8_t other[IW_DEFRAMER_BUFFER];

    (void)state;
    assert_true(iw_deframer_idle(&rig->deframer));
    assert_int_equal(feed_hex(rig, 0, V1 "0012"), 0);
    assert_false(iw_deframer_idle(&rig->deframer));
    assert_null(iw_deframer_return(&rig->deframer)); /* not while octets are held */
    assert_int_equal(feed_hex(rig, 26, "4143 00000000 00000000 00000001 00000000 587be8c4"), 0);
    assert_true(iw_deframer_idle(&rig->deframer));
    assert_ptr_equal(iw_deframer_return(&rig->deframer), rig->buffer);
    assert_true(iw_deframer_idle(&rig->deframer));
    assert_int_equal(feed_hex(rig, 48, V5), -2); /* nowhere to put it */
    assert_int_equal(feed_hex(rig, 48, ""), 0);
    iw_deframer_lend(&rig->deframer, NULL, 0);
    iw_deframer_lend(&rig->deframer, other, IW_DEFRAMER_BUFFER - 1);
    assert_int_equal(feed_hex(rig, 48, V5), -2); /* too small to be of use */
    iw_deframer_lend(&rig->deframer, other, sizeof(other));
    assert_int_equal(feed_hex(rig, 48, V5 "00"), 0);
    assert_int_equal(feed_hex(rig, 48, V5 V5), 0);
    assert_int_equal(rig->seen.fpdus, 4);
    assert_int_equal(rig->seen.fpdu[3].pos, 80);
    assert_int_equal(rig->seen.faults, 0);
    mpa_rig_free(rig);
}

static void too_far_ahead(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    uint8_t octet = 0;

    (void)state;
    assert_int_equal(mpa_rig_feed(rig, IW_DEFRAMER_BUFFER, &octet, 1), -2);
    assert_int_equal(mpa_rig_feed(rig, UINT64_MAX, &octet, 1), -2);
    assert_true(iw_deframer_idle(&rig->deframer));
    /* islands: the window takes 64, and in-order octets always */
    for (uint64_t i = 0; i < 64; i++)
        assert_int_equal(mpa_rig_feed(rig, 100 + 2 * i, &octet, 1), 0);
    assert_int_equal(mpa_rig_feed(rig, 300, &octet, 1), -2);
    assert_int_equal(feed_hex(rig, 0, V1 V5), 0);
    assert_int_equal(rig->seen.fpdus, 2);
    mpa_rig_free(rig);
}

/* Octets at the window's edge are taken in part; the rest has to come again. */
static void taken_in_part(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, false);
    size_t room = IW_DEFRAMER_BUFFER;
    uint8_t *zeros = calloc(1, room);

    (void)state;
    assert_non_null(zeros);
    assert_int_equal(mpa_rig_feed(rig, 8, zeros, room), -2);
    assert_int_equal(rig->seen.fpdus, 0);
    rig->seen.stop_after = 10;
    assert_int_equal(mpa_rig_feed(rig, 0, zeros, 8), -1);
    assert_int_equal(rig->seen.fpdus, 10);
    free(zeros);
    mpa_rig_free(rig);
}

static void repeats_and_overlaps(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    uint8_t stream[128];
    size_t n = mpa_hex(stream, V5 V1 V5);

    (void)state;
    assert_int_equal(mpa_rig_feed(rig, 0, stream, 10), 0);
    assert_int_equal(mpa_rig_feed(rig, 0, stream, 10), 0);
    assert_int_equal(mpa_rig_feed(rig, 4, stream + 4, 3), 0);
    assert_int_equal(mpa_rig_feed(rig, 40, stream + 40, 10), 0);
    assert_int_equal(mpa_rig_feed(rig, 5, stream + 5, 37), 0);
    assert_int_equal(rig->seen.fpdus, 1);
    assert_int_equal(mpa_rig_feed(rig, 0, stream, 40), 0);
    assert_int_equal(mpa_rig_feed(rig, 20, stream + 20, n - 20), 0);
    assert_int_equal(rig->seen.fpdus, 3);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(mpa_rig_feed(rig, 0, stream, n), 0);
    assert_int_equal(rig->seen.fpdus, 3);
    mpa_assert_ulpdu(rig, 2, hello, HELLO);
    mpa_rig_free(rig);
}

/* More pieces than the list of an FPDU can take: it is gathered, and still the same. */
static void more_pieces_than_the_list(void **state)
{
    enum { N = IW_DEFRAMER_PIECES + 40 };
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference r = {.markers = true, .crc = true};
    uint8_t ulpdu[3000];
    struct iw_iov *pieces = calloc(3100, sizeof(*pieces));

    (void)state;
    assert_non_null(pieces);
    mpa_pattern(ulpdu, sizeof(ulpdu));
    mpa_reference_frame(&r, ulpdu, N);
    mpa_reference_frame(&r, ulpdu, 3000);
    mpa_reference_frame(&r, ulpdu, IW_DEFRAMER_PIECES);
    mpa_reference_frame(&r, ulpdu, IW_DEFRAMER_PIECES + 1);
    for (size_t at = 0; at < r.length;) {
        size_t n = 0;
        uint64_t pos = at;
        for (; n < 3000 && at < r.length; n++, at++) /* an empty piece now and then */
            pieces[n] = (struct iw_iov){.base = r.octets + at, .length = 1};
        for (size_t i = 0; i < 50; i++, n++)
            pieces[n] = (struct iw_iov){.base = r.octets, .length = 0};
        assert_int_equal(iw_deframer_input(&rig->deframer, pos, pieces, n), 0);
    }
    assert_int_equal(rig->seen.fpdus, 4);
    assert_int_equal(rig->seen.faults, 0);
    mpa_assert_ulpdu(rig, 0, ulpdu, N);
    mpa_assert_ulpdu(rig, 1, ulpdu, 3000);
    mpa_assert_ulpdu(rig, 2, ulpdu, IW_DEFRAMER_PIECES);
    mpa_assert_ulpdu(rig, 3, ulpdu, IW_DEFRAMER_PIECES + 1);
    assert_true(iw_deframer_idle(&rig->deframer));
    free(pieces);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* In-order FPDUs are parsed where they lie. */
static int in_place(void *context, const struct iw_fpdu *fpdu)
{
    const uint8_t *stream = context;

    for (size_t i = 0; i < fpdu->pieces; i++)
        assert_true((const uint8_t *)fpdu->ulpdu[i].base >= stream &&
                    (const uint8_t *)fpdu->ulpdu[i].base + fpdu->ulpdu[i].length <= stream + 128);
    return 0;
}

static void in_order_is_not_copied(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    uint8_t stream[128];
    size_t n = mpa_hex(stream, V5 V1 V5);
    struct iw_iov pieces[3] = {{.base = stream, .length = 11},
                               {.base = stream + 11, .length = 50},
                               {.base = stream + 61, .length = n - 61}};

    (void)state;
    rig->seen.sink.context = stream;
    rig->seen.sink.fpdu = in_place;
    assert_int_equal(iw_deframer_input(&rig->deframer, 0, pieces, 3), 0);
    assert_int_equal(rig->deframer.fpdus, 3);
    mpa_rig_free(rig);
}

/* Positions may begin anywhere; Markers count from there. */
static void start_elsewhere(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference r = {.markers = true, .crc = true};
    uint8_t ulpdu[900];

    (void)state;
    mpa_pattern(ulpdu, sizeof(ulpdu));
    mpa_reference_frame(&r, ulpdu, 900);
    mpa_reference_frame(&r, ulpdu, 100);
    r.octets[512] = 1;
    rig->deframer.crc = false;
    iw_deframer_init(&rig->deframer, &rig->seen.sink, true, true, iw_crc32c_portable, 23,
                     rig->buffer, sizeof(rig->buffer));
    assert_int_equal(mpa_rig_feed(rig, 0, r.octets, 23), 0); /* before the start: nothing */
    assert_int_equal(mpa_rig_feed(rig, 23, r.octets, 100), 0);
    assert_int_equal(mpa_rig_feed(rig, 123, r.octets + 100, r.length - 100), 0);
    assert_int_equal(rig->seen.fpdus, 2);
    assert_int_equal(rig->seen.fpdu[0].pos, 23);
    assert_int_equal(rig->seen.fpdu[0].header_pos, 27);
    mpa_assert_ulpdu(rig, 0, ulpdu, 900);
    mpa_assert_ulpdu(rig, 1, ulpdu, 100);
    assert_int_equal(rig->seen.faults, 2);
    assert_int_equal(rig->seen.fault[0].check, IW_CHECK_MPA_CRC);
    mpa_assert_fault(rig, 1, IW_CHECK_MPA_MARKER_RSVD, 23 + 512, 0x100, 0);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

static void end_of_stream(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    uint8_t ulpdu[502] = {0};
    struct mpa_reference r = {.markers = true};

    (void)state;
    assert_true(iw_deframer_end(&rig->deframer, 0));
    assert_false(iw_deframer_end(&rig->deframer, 4));
    assert_int_equal(feed_hex(rig, 0, V1 "0012"), 0);
    assert_false(iw_deframer_end(&rig->deframer, 26));
    assert_true(iw_deframer_end(&rig->deframer, 24));

    mpa_rig_reset(rig, true, false);
    mpa_reference_frame(&r, ulpdu, sizeof(ulpdu));
    assert_int_equal(r.length, 512);
    assert_int_equal(mpa_rig_feed(rig, 0, r.octets, r.length), 0);
    assert_true(iw_deframer_end(&rig->deframer, 512));
    assert_int_equal(feed_hex(rig, 512, "00000000"), 0); /* OP-08 */
    assert_true(iw_deframer_end(&rig->deframer, 516));
    assert_false(iw_deframer_end(&rig->deframer, 518));
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(length_zero),
        cmocka_unit_test(length_zero_around_a_marker),
        cmocka_unit_test(longest_ulpdu_is_judged_at_once),
        cmocka_unit_test(length_65535),
        cmocka_unit_test(order_of_checks),
        cmocka_unit_test(marker_faults_at_the_ends),
        cmocka_unit_test(crc_off),
        cmocka_unit_test(crc_let_pass),
        cmocka_unit_test(nothing_after_a_stop),
        cmocka_unit_test(buffer_comes_and_goes),
        cmocka_unit_test(too_far_ahead),
        cmocka_unit_test(taken_in_part),
        cmocka_unit_test(repeats_and_overlaps),
        cmocka_unit_test(more_pieces_than_the_list),
        cmocka_unit_test(in_order_is_not_copied),
        cmocka_unit_test(start_elsewhere),
        cmocka_unit_test(end_of_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
