/* SPDX-License-Identifier: BSD-3-Clause */
/* The flow that the observer rebuilds: messages, positions, Markers, order, holding. */
#include "observer_support.h"

#include <stdlib.h>

/* The vectors V1 to V16 of the wire page as they stand there, CRC fields included. */
static void test_vectors(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, REQUEST, REPLY, "i 00124143 00000000 00000000 00000001 00000000 587be8c4",
         "i 000ec140 00000000 00000000 00000000 a30572ab",
         "i 002e4141 00000000 00000001 00000001 00000000 00000000 00000000 00000000 00000000"
         "00000000 00000000 00000000 f2c6dd3d",
         "r 000ec142 00000000 00000000 00000000 6975d6ca",
         "r 00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c",
         "i 0012c140 11223344 00000000 00001000 deadbeef b75a39ef",
         "i 00124144 11223344 00000000 00000002 00000000 42dbd731",
         "r 002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040"
         "11223344 00000000 00001000 c453059c",
         "i 00464147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001"
         "00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000 "
         "bb78a0bc",
         "F", "L");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_STARTUP), 2);
    assert_int_equal(rig_count(rig, IW_OBSERVED_SEGMENT), 9);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 9);
    rig_expect_message(rig, 0, IW_SIDE_INITIATOR, IW_OP_SEND, 24, 48, 0, 1);
    rig_expect_message(rig, 1, IW_SIDE_INITIATOR, IW_OP_WRITE, 48, 68, 0, 1);
    rig_expect_message(rig, 2, IW_SIDE_INITIATOR, IW_OP_READ_REQUEST, 68, 120, 28, 1);
    rig_expect_message(rig, 3, IW_SIDE_RESPONDER, IW_OP_READ_RESPONSE, 24, 44, 0, 1);
    rig_expect_message(rig, 4, IW_SIDE_RESPONDER, IW_OP_SEND, 44, 76, 5, 1);
    rig_expect_message(rig, 5, IW_SIDE_INITIATOR, IW_OP_WRITE, 120, 144, 4, 1);
    rig_expect_message(rig, 6, IW_SIDE_INITIATOR, IW_OP_SEND_INVALIDATE, 144, 168, 0, 1);
    rig_expect_message(rig, 7, IW_SIDE_RESPONDER, IW_OP_READ_REQUEST, 76, 128, 28, 1);
    rig_expect_message(rig, 8, IW_SIDE_INITIATOR, IW_OP_TERMINATE, 168, 244, 52, 1);
    assert_int_equal(rig->terminate.layer, 0);
    assert_int_equal(rig->terminate.etype, 1);
    assert_int_equal(rig->terminate.code, 1);
    assert_int_equal(rig->terminate.read_request.size, 64);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FIN, 0)->pos, 244);
    assert_int_equal(rig_get(rig, IW_OBSERVED_RESET, 0)->side, IW_SIDE_RESPONDER);
    rig_free(rig);
}

static void test_extensions(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, REQUEST, REPLY,
         "i 001a4148 00000000 00000000 00000001 00000000 01020304 05060708 06c22805",
         "i 0046414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000"
         "00001000 00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff "
         "4a325eaa",
         "r 001e414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001 37209549");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_expect_message(rig, 0, IW_SIDE_INITIATOR, IW_OP_IMMEDIATE, 24, 56, 8, 1);
    rig_expect_message(rig, 1, IW_SIDE_INITIATOR, IW_OP_ATOMIC_REQUEST, 56, 132, 52, 1);
    rig_expect_message(rig, 2, IW_SIDE_RESPONDER, IW_OP_ATOMIC_RESPONSE, 24, 60, 12, 1);
    rig_free(rig);
}

/* To an observer that knows RFC 5040 only they are opcodes that are not assigned, and queue 3 does
 * not exist; DDP numbers them all the same. */
static void test_no_extensions(void **state)
{
    (void)state;
    struct rig *rig = rig_new_plain();

    PLAY(rig, REQUEST, REPLY, "I 4148 00000000 00000000 00000001 00000000 01020304050607",
         "I " SEND_2, "I 414a 00000000 00000001 00000001 00000000 00", "I " READ_2,
         "R 414b 00000000 00000003 00000001 00000000 5a5a0001 0000000000000001");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 4);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_RDMAP_OPCODE);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 1)->fault.check, IW_CHECK_RDMAP_OPCODE);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 2)->fault.check, IW_CHECK_DDP_QN);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 3)->fault.check, IW_CHECK_RDMAP_OPCODE);
    rig_free(rig);
}

/* The headers of a MESSAGE, also when it came in two segments. */
static void test_extension_headers(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, REQUEST, REPLY,
         "I 014a 00000000 00000001 00000001 00000000 00000002 5a5a0001 11223344 0000000000001000",
         "I 414a 00000000 00000001 00000001 00000014 8000000000000002 f000000000000001 "
         "0000000000000003 ff00ffffffffff04");
    assert_int_equal(rig->atomic_request.opcode, IW_ATOMIC_CMP_SWAP);
    assert_int_equal(rig->atomic_request.request_id, 0x5a5a0001);
    assert_int_equal(rig->atomic_request.remote_stag, 0x11223344);
    assert_int_equal(rig->atomic_request.remote_to, 0x1000);
    assert_int_equal(rig->atomic_request.add_swap_data, 0x8000000000000002);
    assert_int_equal(rig->atomic_request.add_swap_mask, 0xf000000000000001);
    assert_int_equal(rig->atomic_request.compare_data, 3);
    assert_int_equal(rig->atomic_request.compare_mask, 0xff00ffffffffff04);
    rig_step(rig, "R 414b 00000000 00000003 00000001 00000000 5a5a0001 8000000000000001");
    assert_int_equal(rig->atomic_response.request_id, 0x5a5a0001);
    assert_int_equal(rig->atomic_response.original_value, 0x8000000000000001);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);
}

/* The requests of a told side bind the other side. */
static void test_told_atomics(void **state)
{
    (void)state;
    static const char second[] =
        "X 414a 00000000 00000001 00000002 00000000 00000000 5a5a0002 11223344 0000000000001000 "
        "0000000000000001 0000000000000000 0000000000000000 ffffffffffffffff";

    /* A second request that no receiver should have taken: if it was, there is an answer. */
    for (int broken = 0; broken < 2; broken++) {
        struct rig *rig = rig_new(true, false);
        PLAY(rig, REQUEST, REPLY,
             "I 414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 "
             "0000000000001000 0000000000000001 0000000000000000 0000000000000000 "
             "ffffffffffffffff");
        if (broken)
            rig_step(rig, second);
        PLAY(rig, "R 414b 00000000 00000003 00000001 00000000 5a5a0001 8000000000000001");
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
        rig_step(rig, "R 414b 00000000 00000003 00000002 00000000 5a5a0002 8000000000000001");
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), !broken);
        if (!broken)
            assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                             IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED);
        rig_free(rig);
    }
}

static void test_segmented_messages(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, REQUEST, REPLY, "I " READ_1,
         "I 0143 00000000 00000000 00000001 00000000 0102030405060708",
         "I 8140 11223344 0000000000001000 " OCTETS_16,
         "I 4143 00000000 00000000 00000001 00000008 09", "I c140 11223344 0000000000001010 0102",
         "R 8142 aabbccdd 0000000000002000 " OCTETS_16 OCTETS_16,
         "R 4143 00000000 00000000 00000001 00000000 68690a",
         "R c142 aabbccdd 0000000000002020 " OCTETS_16 OCTETS_16);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_SEGMENT), 8);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 5);
    rig_expect_message(rig, 0, IW_SIDE_INITIATOR, IW_OP_READ_REQUEST, 24, 76, 28, 1);
    rig_expect_message(rig, 1, IW_SIDE_INITIATOR, IW_OP_SEND, 76, 172, 9, 2);
    rig_expect_message(rig, 2, IW_SIDE_INITIATOR, IW_OP_WRITE, 108, 196, 18, 2);
    rig_expect_message(rig, 3, IW_SIDE_RESPONDER, IW_OP_SEND, 76, 104, 3, 1);
    rig_expect_message(rig, 4, IW_SIDE_RESPONDER, IW_OP_READ_RESPONSE, 24, 156, 64, 2);
    rig_free(rig);
}

/* Page 3.4, n = 1000: a Send whose payload octet i is i mod 256, then an empty one. */
static size_t marked_stream(uint8_t *out)
{
    size_t n = hex_octets(out, "00000000 03fa 4143 00000000 00000000 00000001 00000000");

    for (unsigned i = 0; i < 1000; i++) {
        if (n == 512)
            n += hex_octets(out + n, "000001fc");
        if (n == 1024)
            n += hex_octets(out + n, "000003fc");
        out[n++] = (uint8_t)i;
    }
    if (n == 1024)
        n += hex_octets(out + n, "000003fc");
    return n + hex_octets(out + n, "5f7b58ca 0012 4143 00000000 00000000 00000002 00000000 "
                                   "accbdb8c");
}

static void test_markers(void **state)
{
    (void)state;
    uint8_t *octets = malloc(2048);
    size_t length = marked_stream(octets);

    assert_int_equal(length, 1060);
    for (uint32_t round = 0; round < 6; round++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, "i " REQUEST_KEY "40010000", "r " REPLY_KEY "c0010000");
        rig->feeding = round == 0 ? FEED_WHOLE : round == 1 ? FEED_OCTETS : FEED_SHUFFLED;
        rig->random = round;
        rig_feed(rig, IW_SIDE_INITIATOR, octets, length);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
        rig_expect_message(rig, 0, IW_SIDE_INITIATOR, IW_OP_SEND, 20, 1056, 1000, 1);
        rig_expect_message(rig, 1, IW_SIDE_INITIATOR, IW_OP_SEND, 1056, 1080, 0, 1);
        /* The other direction has none. */
        PLAY(rig, "R " SEND_1);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
        rig_free(rig);
    }
    free(octets);
}

/* The octet at fault is named with the Markers before it counted. */
static void test_position_behind_marker(void **state)
{
    (void)state;
    uint8_t *octets = malloc(2048);
    struct rig *rig = rig_new(false, false);
    size_t length = marked_stream(octets);

    octets[1036 + 2 + 10 + 3] = 9; /* the second FPDU's MSN */
    PLAY(rig, REQUEST_PLAIN, "r " REPLY_KEY "80010000");
    rig_feed(rig, IW_SIDE_INITIATOR, octets, length);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    const struct seen *s = rig_get(rig, IW_OBSERVED_FINDING, 0);
    assert_int_equal(s->fault.check, IW_CHECK_DDP_MSN);
    assert_int_equal(s->fault.pos, 20 + 1036 + 2 + 10);
    assert_int_equal(s->fault.got, 9);
    assert_int_equal(s->fault.want, 2);
    rig_free(rig);

    /* An FPDU at 504 of full operation has its Marker in the middle of its DDP header. */
    rig = rig_new(false, false);
    PLAY(rig, REQUEST_PLAIN, "r " REPLY_KEY "80010000");
    memset(octets, 0, 2048);
    hex_octets(octets, "00000000 01ec 4143 00000000 00000000 00000001 00000000");
    hex_octets(octets + 504 - 4, "00000000 0012 4143 00000000 00000008 00000000 00000005 00000000");
    rig_feed(rig, IW_SIDE_INITIATOR, octets, 504 - 4 + 28 + 4);
    /* 4 + 2 + 492 + 2 pad + 4 CRC = 504: the second FPDU begins there, Marker at 512. */
    assert_int_equal(rig_get(rig, IW_OBSERVED_SEGMENT, 1)->pos, 20 + 504);
    s = rig_get(rig, IW_OBSERVED_FINDING, 0);
    assert_int_equal(s->fault.check, IW_CHECK_DDP_MSN);
    assert_int_equal(s->fault.pos, 20 + 504 + 2 + 10 + 4);
    assert_int_equal(s->fault.got, 5);
    free(octets);
    rig_free(rig);
}

/* The longest ULPDU, and the longest that the field can express. */
static void test_long_ulpdu(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {64768, 65535};
    uint8_t *ulpdu = calloc(1, 65536);
    uint8_t *fpdu = malloc(STEP_MAX);

    hex_octets(ulpdu, "c140 11223344 0000000000001000");
    for (size_t i = 0; i < 2; i++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST, REPLY);
        rig->feeding = FEED_SHUFFLED;
        rig_feed(rig, IW_SIDE_INITIATOR, fpdu, make_fpdu(fpdu, ulpdu, lengths[i]));
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), i);
        rig_expect_message(rig, 0, IW_SIDE_INITIATOR, IW_OP_WRITE, 24, rig->next[0],
                           lengths[i] - 14, 1);
        rig_free(rig);
    }
    free(ulpdu);
    free(fpdu);
}

/* ---- order of the two directions ---- */

static void test_held_until_both_frames(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    uint8_t *octets = calloc(1, 40000);

    /* The Request arrives after octets that follow it. */
    size_t n = hex_octets(octets, REQUEST_KEY "50020004 00020002");
    uint8_t first[64];
    uint8_t ulpdu[18];
    size_t fpdu = make_fpdu(first, ulpdu, hex_octets(ulpdu, SEND_1));
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, n, first, fpdu), 0);
    assert_false(iw_observer_follows(rig->observer, IW_SIDE_INITIATOR));
    assert_false(iw_observer_boundary(rig->observer, IW_SIDE_INITIATOR));
    PLAY(rig, REPLY);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0); /* the gap explains it */
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 0, octets, n), 0);
    assert_true(iw_observer_follows(rig->observer, IW_SIDE_INITIATOR));
    assert_true(iw_observer_boundary(rig->observer, IW_SIDE_INITIATOR));
    assert_true(iw_observer_boundary(rig->observer, IW_SIDE_RESPONDER));
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);

    /* Held octets are bounded: a start-up frame that comes too late counts as one that was not
     * seen. */
    rig = rig_new(false, false);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 20000, octets, 1), 0);
    assert_false(iw_observer_follows(rig->observer, IW_SIDE_INITIATOR));
    assert_int_equal(
        iw_observer_input(rig->observer, IW_SIDE_INITIATOR, IW_OBSERVER_WINDOW, octets, 1), 0);
    assert_true(iw_observer_joined(rig->observer));
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->pos, 0);
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->end, 20000);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 0, octets, n), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_STARTUP), 0);
    rig_free(rig);
    free(octets);
}

/* The Request is not in the capture, and nobody acknowledges it. */
static void test_request_missing(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    rig->next[IW_SIDE_INITIATOR] = 24;
    PLAY(rig, REPLY, "I " SEND_1, "R " SEND_1, "I " SEND_2, "R " SEND_2);
    iw_observer_flush(rig->observer);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_STARTUP), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 4);
    rig_free(rig);
}

/* The start-up frame's last octets and a long FPDU in one piece. */
static void test_startup_and_fpdu_together(void **state)
{
    (void)state;
    struct rig *rig = rig_new(true, false);
    uint8_t *octets = calloc(1, STEP_MAX);
    uint8_t *ulpdu = calloc(1, 40000);
    size_t n = hex_octets(octets, REPLY_KEY "50020004 00020002");

    rig_step(rig, REQUEST);
    hex_octets(ulpdu, "4143 00000000 00000000 00000001 00000000");
    n += make_fpdu(octets + n, ulpdu, 40000);
    rig_step(rig, "I " SEND_1);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_RESPONDER, 0, octets, n), 0);
    rig_expect_message(rig, 0, IW_SIDE_INITIATOR, IW_OP_SEND, 0, 0, 0, 1);
    rig_expect_message(rig, 1, IW_SIDE_RESPONDER, IW_OP_SEND, 24, n, 39982, 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    free(octets);
    free(ulpdu);
    rig_free(rig);
}

/* An FPDU whose CRC field was not seen: lost, cut off by a RST of either side, or after the
 * capture. */
static void test_unseen_crc_field_is_no_fault(void **state)
{
    static const enum iw_side sides[] = {IW_SIDE_INITIATOR, IW_SIDE_RESPONDER};
    uint8_t octet = 0;
    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST, REPLY, "i 0012" SEND_1);
        uint64_t next = rig->next[IW_SIDE_INITIATOR];
        if (how < 2)
            iw_observer_end(rig->observer, sides[how], rig->next[sides[how]], true);
        if (how == 2)
            (void)iw_observer_input(rig->observer, IW_SIDE_INITIATOR, next + 4, &octet, 1);
        if (how == 3)
            iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, next, next + 4);
        iw_observer_flush(rig->observer);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
        rig_free(rig);
    }
}

/* A CRC field that could be the next FPDU's beginning: the FPDU is judged at the end all the same,
 * and when the caller has waited in vain. */
static void test_ambiguous_crc_field_is_taken(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST, REPLY, "i 0012" SEND_1 "3777400e");
        assert_int_equal(rig_count(rig, IW_OBSERVED_SEGMENT), 0);
        assert_true(iw_observer_unsettled(rig->observer, IW_SIDE_INITIATOR));
        if (how == 0)
            iw_observer_flush(rig->observer);
        else if (how == 1)
            iw_observer_end(rig->observer, IW_SIDE_INITIATOR, rig->next[IW_SIDE_INITIATOR], true);
        else
            iw_observer_settle(rig->observer, IW_SIDE_INITIATOR);
        assert_int_equal(rig_count(rig, IW_OBSERVED_SEGMENT), 1);
        assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_MPA_CRC);
        assert_false(iw_observer_unsettled(rig->observer, IW_SIDE_INITIATOR));
        rig_free(rig);
    }
}

/* While octets of one side are missing the other is given the benefit of the doubt. */
static void test_gap_is_no_fault(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    uint8_t octet = 0;

    PLAY(rig, REQUEST, REPLY);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 100, &octet, 1), 0);
    assert_false(iw_observer_boundary(rig->observer, IW_SIDE_INITIATOR));
    PLAY(rig, "R " SEND_1, "R " RESPONSE_1, "R " READ_1, "R " READ_2, "R " READ_3);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 5);
    rig_free(rig);

    /* So it is when more islands come than are remembered. */
    rig = rig_new(false, false);
    PLAY(rig, REQUEST, REPLY);
    for (unsigned i = 0; i < 65; i++)
        (void)iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 100 + 2 * i, &octet, 1);
    PLAY(rig, "R " SEND_1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);
}

/* The second segment of four comes first; the third is of any size, compared with the room that was
 * lent for the second. */
static void change_places(size_t third)
{
    static const size_t order[] = {1, 0, 2, 3};
    static uint8_t octets[4][STEP_MAX];
    const size_t payload[] = {400, 30, third, 30}; /* of Writes */
    size_t length[4], pos[4], next = 20;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, REQUEST_PLAIN, REPLY_PLAIN);
    for (size_t i = 0; i < 4; i++) {
        uint8_t ulpdu[2100] = {0};

        hex_octets(ulpdu, "c140 00000001 0000000000001000");
        length[i] = make_fpdu(octets[i], ulpdu, 14 + payload[i]);
        pos[i] = next;
        next += length[i];
    }
    for (size_t i = 0; i < 4; i++) {
        size_t k = order[i];

        assert_int_equal(
            iw_observer_input(rig->observer, IW_SIDE_INITIATOR, pos[k], octets[k], length[k]), 0);
    }
    assert_int_equal(rig_count(rig, IW_OBSERVED_GAP), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 4);
    for (size_t i = 0; i < 4; i++)
        rig_expect_message(rig, i, IW_SIDE_INITIATOR, IW_OP_WRITE, pos[i], pos[i] + length[i],
                           payload[i], 1);
    rig_free(rig);
}

static void test_places_changed(void **state)
{
    (void)state;
    for (size_t third = 0; third < 2000; third += 100)
        change_places(third);
}

static void test_fin_waits_for_its_octets(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    uint8_t ulpdu[18], fpdu[64];
    size_t n = make_fpdu(fpdu, ulpdu, hex_octets(ulpdu, SEND_1));

    PLAY(rig, REQUEST, REPLY);
    iw_observer_end(rig->observer, IW_SIDE_INITIATOR, 24 + n, false);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FIN), 0);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 34, fpdu + 10, n - 10), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FIN), 0);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 24, fpdu, n), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FIN), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 1);
    /* A second FIN is the same one, and octets after it are none of the stream's. */
    iw_observer_end(rig->observer, IW_SIDE_INITIATOR, 24 + n, false);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 24 + n, fpdu, n), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FIN), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    iw_observer_end(rig->observer, IW_SIDE_INITIATOR, 24 + n, true);
    iw_observer_end(rig->observer, IW_SIDE_INITIATOR, 24 + n, true);
    assert_int_equal(rig_count(rig, IW_OBSERVED_RESET), 1);
    rig_free(rig);
}

/* RFC 5041 §6.2.1: in the middle of a message a FIN needs a reason. A Terminate is one, whether or
 * not the rest of it is there. */
static void test_fin_in_the_middle(void **state)
{
    (void)state;
    static const struct {
        const char *other, *after;
        bool blamed;
    } cases[] = {
        {"R 4143 00000000 00000000 00000001 00000000 01020304", "r", true},
        {"R 0147 00000000 00000002 00000001 00000000", "r", false},
        /* the rest of it cannot be known */
        {"R 0147 00000000 00000002 00000001 00000000", "Y 4143 00000000 00000000 00000001 00000000",
         false},
        {"R 4147 00000000 00000002 00000001 00000000 20020000", "r", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig *rig = rig_new(false, false);

        PLAY(rig, REQUEST, REPLY, "I 0143 00000000 00000000 00000001 00000000 01020304",
             cases[i].other, cases[i].after);
        size_t before = rig_count(rig, IW_OBSERVED_FINDING);
        iw_observer_end(rig->observer, IW_SIDE_INITIATOR, rig->next[IW_SIDE_INITIATOR], false);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FIN), 1);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), before + cases[i].blamed);
        if (cases[i].blamed)
            assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, before)->fault.check,
                             IW_CHECK_DDP_FIN_OPEN);
        rig_free(rig);
    }
}

static void test_lost_and_left(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    uint8_t octet = 0;

    PLAY(rig, REQUEST, "r 485454502f312e312034303020426164205265", "r 71");
    assert_int_equal(rig_count(rig, IW_OBSERVED_LOST), 2);
    assert_int_equal(rig_get(rig, IW_OBSERVED_LOST, 0)->side, IW_SIDE_RESPONDER);
    assert_int_equal(rig_get(rig, IW_OBSERVED_LOST, 1)->side, IW_SIDE_INITIATOR);
    assert_int_equal(rig_get(rig, IW_OBSERVED_LOST, 1)->fault.check, IW_CHECK_MPA_REP_KEY);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 24, &octet, 1), -1);
    assert_false(iw_observer_boundary(rig->observer, IW_SIDE_INITIATOR));
    PLAY(rig, "F");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FIN), 1);
    rig_free(rig);

    /* The frame that could have been used comes after the one that cannot. */
    rig = rig_new(false, false);
    PLAY(rig, "i 474554202f20485454502f312e310d0a0d0a0d0a", REPLY);
    assert_int_equal(rig_count(rig, IW_OBSERVED_LOST), 2);
    rig_free(rig);

    rig = rig_new(false, false);
    PLAY(rig, REQUEST, "r " REPLY_KEY "70020004 00020002", "i 68656c6c6f");
    assert_false(iw_observer_follows(rig->observer, IW_SIDE_RESPONDER));
    assert_true(iw_observer_boundary(rig->observer, IW_SIDE_INITIATOR));
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_SEGMENT), 0);
    rig_free(rig);
}

/* More reads than are remembered: nothing is said of them any more. */
static void test_many_reads(void **state)
{
    (void)state;
    struct rig *rig = rig_new(true, true);
    struct iw_observer_config config = {.crc32c = iw_crc32c_portable};
    uint8_t ulpdu[46];

    rig_free(rig);
    assert_null(iw_observer_init(&config, sizeof(config), &config));
    rig = rig_new(true, false);
    PLAY(rig, "i " REQUEST_KEY "40010000", "r " REPLY_KEY "40010000");
    for (uint32_t i = 1; i <= IW_OBSERVER_READS + 1; i++) {
        hex_octets(ulpdu, READ_1);
        ulpdu[12] = (uint8_t)(i >> 8);
        ulpdu[13] = (uint8_t)i;
        rig->n = 0;
        iw_observer_told_segment(rig->observer, IW_SIDE_INITIATOR, ulpdu, sizeof(ulpdu), false);
        assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 1);
    }
    PLAY(rig, "R " RESPONSE_2);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);
}

/* A Read Request is not in the capture; its response is. */
static void test_reads_are_learnt_again(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, REQUEST, REPLY);
    iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, 24, 24 + 52);
    rig->next[IW_SIDE_INITIATOR] += 52;
    PLAY(rig, "R " RESPONSE_1, "I " SEND_1, "I " SEND_2);
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->pos, 24);
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->end, 76);
    assert_int_equal(rig_get(rig, IW_OBSERVED_RESYNC, 0)->pos, 24);
    assert_int_equal(rig_get(rig, IW_OBSERVED_RESYNC, 0)->end, 76);
    PLAY(rig, "I " READ_2, "R " RESPONSE_2, "I " READ_3);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    PLAY(rig, "R c142 aabbccdf 0000000000004001");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_RDMAP_RESPONSE_TO);
    rig_free(rig);

    /* It might have been for both. */
    rig = rig_new(false, false);
    PLAY(rig, REQUEST, REPLY);
    iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, 24, 24 + 52);
    rig->next[IW_SIDE_INITIATOR] += 52;
    PLAY(rig, "I " SEND_1, "I " SEND_2, "I " READ_2, "R " RESPONSE_1, "R " RESPONSE_3);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);
}

#define ASK(msn, sink)                                                                             \
    "I 4141 00000000 00000001 " msn " 00000000 11223344 " sink " 55667788 0000000000000000"
#define ANSWER(rest) "R c142 11223344 " rest

/* RFC 5041 §5.2: nothing is compared of an empty segment, so that it is for the Read that is due,
 * or for another that asks for nothing, but not for one that asks for octets. */
static void test_whose_an_empty_response_is(void **state)
{
    (void)state;
    static const struct {
        const char *second, *first_response, *second_response;
        enum iw_check found;
    } cases[] = {
        {ASK("00000002", "0000000000001001 00000004"), ANSWER("0000000000001001"),
         ANSWER("0000000000001001 aabbccdd"), IW_CHECK_RDMAP_RESPONSE_TO},
        /* each gets its own, out of order */
        {ASK("00000002", "0000000000001001 00000000"), ANSWER("0000000000001001"),
         ANSWER("0000000000001000"), IW_CHECK_RDMAP_RESPONSE_ORDER},
        {ASK("00000002", "0000000000001001 00000000"), ANSWER("0000000000001000"),
         ANSWER("0000000000001001"), IW_CHECK_NONE},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig *rig = rig_new(false, false);

        PLAY(rig, "i " REQUEST_KEY "40010000", "r " REPLY_KEY "40010000");
        PLAY(rig, ASK("00000001", "0000000000001000 00000000"), cases[i].second,
             ASK("00000003", "0000000000002000 00000000"), cases[i].first_response);
        const unsigned findings = cases[i].found != IW_CHECK_NONE;
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), findings);
        if (findings > 0)
            assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, cases[i].found);
        PLAY(rig, cases[i].second_response, ANSWER("0000000000002000"));
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), findings);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_no_extensions),
        cmocka_unit_test(test_extension_headers),
        cmocka_unit_test(test_told_atomics),
        cmocka_unit_test(test_segmented_messages),
        cmocka_unit_test(test_markers),
        cmocka_unit_test(test_position_behind_marker),
        cmocka_unit_test(test_long_ulpdu),
        cmocka_unit_test(test_held_until_both_frames),
        cmocka_unit_test(test_request_missing),
        cmocka_unit_test(test_startup_and_fpdu_together),
        cmocka_unit_test(test_gap_is_no_fault),
        cmocka_unit_test(test_unseen_crc_field_is_no_fault),
        cmocka_unit_test(test_ambiguous_crc_field_is_taken),
        cmocka_unit_test(test_places_changed),
        cmocka_unit_test(test_fin_waits_for_its_octets),
        cmocka_unit_test(test_fin_in_the_middle),
        cmocka_unit_test(test_lost_and_left),
        cmocka_unit_test(test_many_reads),
        cmocka_unit_test(test_reads_are_learnt_again),
        cmocka_unit_test(test_whose_an_empty_response_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
