/* SPDX-License-Identifier: BSD-3-Clause */
/* Single octets that are missing or wrong, and exactly what is known after them. */
#include "observer_talk.h"

#include <stdio.h>

/* The next `length` octets of a side will never come. */
static void lose_octets(struct rig *rig, enum iw_side side, uint64_t length)
{
    rig->next[side] += length;
    iw_observer_gap(rig->observer, side, rig->next[side] - length, rig->next[side]);
}

/* Octets of the message may be among the missing ones: that what is here is empty is no fault. */
static void test_empty_segments_after_a_gap(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST, REPLY);
        if (lost) {
            PLAY(rig, "i 0012 8140 1122"); /* a Write of 4 octets, as far as it is here */
            lose_octets(rig, IW_SIDE_INITIATOR, 18);
        }
        PLAY(rig, "I 8140 11223344 0000000000001004", "I c140 11223344 0000000000001004");
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), !lost);
        /* The next one has begun after the gap. */
        PLAY(rig, "I 8140 11223344 0000000000002000", "I c140 11223344 0000000000002000");
        size_t findings = rig_count(rig, IW_OBSERVED_FINDING);
        assert_int_equal(findings, lost ? 1 : 2);
        const struct seen *found = rig_get(rig, IW_OBSERVED_FINDING, findings - 1);
        assert_int_equal(found->fault.check, IW_CHECK_DDP_ZERO_SEGMENTS);
        assert_int_equal(found->fault.got, 2);
        rig_free(rig);
    }
}

/* Part of an FPDU is here that could be the request of this response: whether it is solicited is
 * not known. A receiver that refuses it returns it, and no later segment with the same fault. */
static void test_responses_that_cannot_be_judged(void **state)
{
    static const struct {
        const char *response, *fault, *terminate;
        enum iw_check found;
    } cases[] = {
        {"I c142 11223344 0000000000001000 aa", "I c149 00000000 0000000000000000",
         "R " TERMINATE "0206c000 000f c142 11223344 0000000000001000",
         IW_CHECK_RDMAP_OPCODE_TAGGED},
        {"I 414b 00000000 00000003 00000001 00000000 5a5a0001 00000000000000ff",
         "I 4148 00000000 00000000 00000002 00000000 aa",
         "R " TERMINATE "02ffc000 001e 414b 00000000 00000003 00000001 00000000",
         IW_CHECK_RDMAP_IMMEDIATE_LENGTH},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST_PLAIN, REPLY_PLAIN, "I " SEND_1, "r 00124143 00000000", cases[i].response,
             cases[i].fault, "r 00000000 00000001 00000000 00000000", cases[i].terminate);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
        assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, cases[i].found);
        rig_free(rig);
    }
}

/* A chain of FPDUs with these control octets, of which the beginning was not seen. */
static size_t found_in_chain(const char *control)
{
    char step[80];
    struct rig *rig = rig_new(false, false);
    iw_observer_assume(rig->observer, NULL);
    for (int i = 0; i < 6; i++) {
        snprintf(step, sizeof(step), "I %s 11223344 0000000000001000 deadbeef", control);
        rig_step(rig, step);
    }
    iw_observer_flush(rig->observer);
    size_t found = rig_count(rig, IW_OBSERVED_RESYNC);
    rig_free(rig);
    return found;
}

static void test_versions_that_are_sought(void **state)
{
    (void)state;
    assert_int_equal(found_in_chain("c000"), 1);
    assert_int_equal(found_in_chain("c140"), 1);
    assert_int_equal(found_in_chain("c280"), 0);
    assert_int_equal(found_in_chain("c3c0"), 0);
    assert_int_equal(found_in_chain("c100"), 0); /* of both, one each */
    assert_int_equal(found_in_chain("c14f"), 0);
    assert_int_equal(found_in_chain("c540"), 0);
    assert_int_equal(found_in_chain("c150"), 0);
}

/* One octet of a side is enough to know that its beginning will not come. */
static void test_a_single_octet_is_flushed(void **state)
{
    (void)state;
    for (int octets = 0; octets < 2; octets++)
        for (int side = 0; side < 2; side++) {
            struct rig *rig = rig_new(false, false);
            if (octets)
                rig_step(rig, side == 0 ? "i 4d" : "r 4d");
            assert_false(iw_observer_joined(rig->observer));
            iw_observer_flush(rig->observer);
            assert_int_equal(iw_observer_joined(rig->observer), octets);
            assert_int_equal(iw_observer_follows(rig->observer, IW_SIDE_INITIATOR), octets);
            rig_free(rig);
        }
}

static void test_a_wrong_key_is_one_finding(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    PLAY(rig, "i 4d504120494420526571204672616e6e 00010000");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.pos, 14);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.got, 0x6e);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.want, 0x6d);
    assert_int_equal(rig_count(rig, IW_OBSERVED_LOST), 1);
    rig_free(rig);
}

/* What fits into the window waits; what does not makes room. */
static void test_the_window_has_an_end(void **state)
{
    (void)state;
    for (uint64_t beyond = 0; beyond < 4; beyond++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST, REPLY);
        uint64_t at = rig->next[0] + IW_OBSERVER_WINDOW - 1 + beyond;
        assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, at, "", 1), 0);
        assert_int_equal(rig_count(rig, IW_OBSERVED_GAP), beyond > 0);
        if (beyond > 0) {
            assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->pos, rig->next[0]);
            assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->end, at);
        }
        rig_free(rig);
    }
}

/* Two Markers of one FPDU are wrong: in one way, and in two. */
static void test_wrong_markers_are_found_once(void **state)
{
    (void)state;
    for (int ways = 1; ways < 3; ways++) {
        struct talk *t = calloc(1, sizeof(*t));
        struct rig *rig = rig_new(false, false);
        assert_non_null(t);
        iw_framer_init(&t->framer[0], true, false, iw_crc32c_portable, NULL);
        say(t, "I " SEND_1, 1100);
        PLAY(rig, REQUEST_MARKERS, REPLY_MARKERS);
        t->part[0].octets[512 + 1] = 1; /* reserved bits */
        t->part[0].octets[1024 + 1] = 2;
        if (ways == 2)
            t->part[0].octets[1024 + 3] ^= 4; /* FPDUPTR */
        rig_feed(rig, IW_SIDE_INITIATOR, t->part[0].octets, t->part[0].length);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), ways);
        assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                         IW_CHECK_MPA_MARKER_RSVD);
        assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.pos, 20 + 512);
        assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.got, 1);
        if (ways == 2)
            assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 1)->fault.check,
                             IW_CHECK_MPA_MARKER_POINTER);
        rig_free(rig);
        free(t);
    }
}

static void test_a_refusal_gives_all_back(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    PLAY(rig, REQUEST, "i 0012 4143");
    assert_true(rig->lent > 0);
    PLAY(rig, "r " REPLY_KEY "70020004 00020002");
    assert_int_equal(rig->lent, 0);
    assert_true(iw_observer_boundary(rig->observer, IW_SIDE_INITIATOR));
    rig_free(rig);
    rig = rig_new(false, false);
    PLAY(rig, "r " REPLY_KEY "70020004 00020002", "r 0012");
    assert_true(rig->lent > 0);
    PLAY(rig, REQUEST);
    assert_int_equal(rig->lent, 0);
    rig_free(rig);
}

/* The message on the wrong queue may have been a Read Request: so the response is none too many. */
static void test_a_message_on_another_queue_leaves_reads_in_doubt(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST, REPLY, "I " SEND_1);
        if (wrong)
            PLAY(rig, "I 4143 00000000 00000001 00000001 00000000");
        PLAY(rig, "R " RESPONSE_1);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
        assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                         wrong ? IW_CHECK_RDMAP_OPCODE_QUEUE : IW_CHECK_RDMAP_RESPONSE_UNSOLICITED);
        rig_free(rig);
    }
}

/* The responder spoke while the first octet of an FPDU was on its way. What came of that FPDU is
 * not known, so the responder may have been right. */
static void test_an_early_fpdu_is_forgotten_in_a_gap(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    PLAY(rig, REQUEST, REPLY, "i 00", "R " SEND_1);
    lose_octets(rig, IW_SIDE_INITIATOR, 23);
    for (int i = 0; i < 8; i++)
        PLAY(rig, "I " WRITE);
    assert_int_equal(rig_count(rig, IW_OBSERVED_RESYNC), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);
}

/* Gaps are told in any order, before what stands around them comes. */
static void test_gaps_are_told_in_any_order(void **state)
{
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}};
    enum { FPDU = 24, FPDUS = 9, GAP = 4 };
    uint8_t ulpdu[32], octets[FPDU * FPDUS];
    (void)state;
    for (int i = 0; i < FPDUS; i++)
        assert_int_equal(make_fpdu(octets + FPDU * i, ulpdu, hex_octets(ulpdu, WRITE)), FPDU);
    for (int k = 0; k < 4; k++) {
        struct rig *rig = rig_new(false, false);
        PLAY(rig, REQUEST_PLAIN, REPLY_PLAIN);
        const uint64_t base = rig->next[0];
        for (int i = 0; i < 4; i++) { /* in FPDUs 1, 3, 5, 7, after their headers */
            uint64_t at = base + (uint64_t)(FPDU * (2 * orders[k][i] + 1)) + 17;
            iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, at, at + GAP);
        }
        for (int i = 0; i <= 4; i++) {
            size_t from = i == 0 ? 0 : (size_t)FPDU * (2 * (size_t)i - 1) + 17 + GAP;
            size_t to = i == 4 ? sizeof(octets) : (size_t)FPDU * (2 * (size_t)i + 1) + 17;
            (void)iw_observer_input(rig->observer, IW_SIDE_INITIATOR, base + from, octets + from,
                                    to - from);
        }
        assert_int_equal(rig_count(rig, IW_OBSERVED_GAP), 4);
        for (size_t i = 0; i < 4; i++) {
            uint64_t at = base + FPDU * (2 * i + 1) + 17;
            assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, i)->pos, at);
            assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, i)->end, at + 7); /* to its end */
        }
        assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), FPDUS);
        assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
        rig_free(rig);
    }
}

/* Whether the Reply came before the Request cannot be said if that was none. */
static void test_a_reply_before_no_request(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);
    PLAY(rig, REPLY, "i 4d504120494420526571204672616d6e 00010000");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_MPA_REQ_KEY);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_segments_after_a_gap),
        cmocka_unit_test(test_responses_that_cannot_be_judged),
        cmocka_unit_test(test_versions_that_are_sought),
        cmocka_unit_test(test_a_single_octet_is_flushed),
        cmocka_unit_test(test_a_wrong_key_is_one_finding),
        cmocka_unit_test(test_the_window_has_an_end),
        cmocka_unit_test(test_wrong_markers_are_found_once),
        cmocka_unit_test(test_a_refusal_gives_all_back),
        cmocka_unit_test(test_a_message_on_another_queue_leaves_reads_in_doubt),
        cmocka_unit_test(test_an_early_fpdu_is_forgotten_in_a_gap),
        cmocka_unit_test(test_gaps_are_told_in_any_order),
        cmocka_unit_test(test_a_reply_before_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
