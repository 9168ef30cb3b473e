/* SPDX-License-Identifier: BSD-3-Clause */
/* The observer on captures that lack octets: it may find nothing that the whole capture does not
 * show. */
#include "observer_talk.h"

#include <stdio.h>

static void learn(struct talk *t)
{
    struct rig *rig = play(t, &WHOLE);

    t->messages = rig_count(rig, IW_OBSERVED_MESSAGE);
    t->n_found = rig_count(rig, IW_OBSERVED_FINDING);
    assert_true(t->n_found <= FOUND_MAX);
    for (size_t i = 0; i < t->n_found; i++)
        t->found[i] = *rig_get(rig, IW_OBSERVED_FINDING, i);
    rig_free(rig);
}

/* Nothing is found that the whole does not show; how many messages were seen. */
static size_t check(const struct talk *t, struct lack lack)
{
    struct rig *rig = play(t, &lack);
    size_t messages = rig_count(rig, IW_OBSERVED_MESSAGE);

    if (rig_count(rig, IW_OBSERVED_LOST) > 0)
        fail_msg("lost: from %zu+%zu at %llu side %d check %d", lack.first, lack.octet,
                 (unsigned long long)rig_get(rig, IW_OBSERVED_LOST, 0)->pos,
                 rig_get(rig, IW_OBSERVED_LOST, 0)->side,
                 rig_get(rig, IW_OBSERVED_LOST, 0)->fault.check);
    for (size_t i = 0; i < rig_count(rig, IW_OBSERVED_FINDING); i++) {
        const struct seen *s = rig_get(rig, IW_OBSERVED_FINDING, i);
        size_t k = 0;

        while (k < t->n_found &&
               (t->found[k].fault.check != s->fault.check || t->found[k].side != s->side))
            k++;
        if (k == t->n_found)
            fail_msg(
                "check %d at %llu of side %d: gaps %llu-%llu %llu-%llu, snap %zu, from %zu+%zu, "
                "limit %zu, piece %zu",
                s->fault.check, (unsigned long long)s->fault.pos, s->side,
                (unsigned long long)lack.from[0], (unsigned long long)lack.to[0],
                (unsigned long long)lack.from[1], (unsigned long long)lack.to[1], lack.snap,
                lack.first, lack.octet, lack.limit, lack.piece);
    }
    rig_free(rig);
    return messages;
}

/* ---- tests ---- */

static void each(void (*test)(struct talk *t, bool clean))
{
    for (enum talk_kind kind = TALK_CRC; kind < TALK_KINDS; kind++)
        for (int bad = 0; bad < 2; bad++) {
            struct talk *t = bad ? faulty(kind) : clean(kind);
            learn(t);
            assert_int_equal(t->n_found > 0, bad);
            test(t, !bad);
            free(t);
        }
}

static void cut_anywhere(struct talk *t, bool is_clean)
{
    static const size_t lengths[] = {1, 3, 21, 64, 700};

    (void)is_clean;
    for (int side = 0; side < 2; side++)
        for (uint64_t from = 0; from < t->end[side]; from++)
            for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
                struct lack lack = WHOLE;
                lack.from[side] = from;
                lack.to[side] = from + lengths[k];
                lack.report = (from + k) % 2;
                lack.piece = from % 3 == 0 ? 50 : 0;
                check(t, lack);
            }
}

static void test_cut(void **state)
{
    (void)state;
    each(cut_anywhere);
}

static void cut_both(struct talk *t, bool is_clean)
{
    uint32_t random = 1;

    (void)is_clean;
    for (unsigned round = 0; round < 3000; round++) {
        struct lack lack = WHOLE;
        for (int side = 0; side < 2; side++) {
            random = random * 1664525 + 1013904223;
            lack.from[side] = (random >> 8) % t->end[side];
            random = random * 1664525 + 1013904223;
            lack.to[side] = lack.from[side] + (random >> 8) % 200;
        }
        lack.report = round % 2;
        check(t, lack);
    }
}

static void test_cut_both(void **state)
{
    (void)state;
    each(cut_both);
}

static void start_anywhere(struct talk *t, bool is_clean)
{
    for (size_t first = 0; first < t->parts; first++)
        for (size_t octet = first == 0; octet < t->part[first].length; octet++) {
            struct lack lack = WHOLE;
            lack.first = first;
            lack.octet = octet;
            size_t messages = check(t, lack);
            if (is_clean && first == 4 && octet == 0)
                assert_true(messages >= t->messages - 3);
        }
}

static void test_start(void **state)
{
    (void)state;
    each(start_anywhere);
}

static void snap_anywhere(struct talk *t, bool is_clean)
{
    for (size_t snap = 0; snap < 1000; snap++) {
        struct lack lack = WHOLE;
        lack.snap = snap;
        size_t messages = check(t, lack);
        if (is_clean && snap > 80 && t->framer[0].markers == false)
            assert_true(messages >= t->messages - 3);
    }
}

static void test_snap(void **state)
{
    (void)state;
    each(snap_anywhere);
}

static void cut_anew(struct talk *t, bool is_clean)
{
    (void)is_clean;
    for (size_t piece = 1; piece < 120; piece++)
        for (size_t limit = 0; limit < 4096; limit += 1024) {
            struct lack lack = WHOLE;
            lack.piece = piece;
            size_t messages = check(t, lack);
            assert_int_equal(messages, t->messages);
            lack.limit = limit; /* rig_free counts what is lent */
            check(t, lack);
        }
}

static void test_memory(void **state)
{
    (void)state;
    each(cut_anew);
}

/* The ULPDU_Length of an FPDU is missing: the next one is found by what there is to find it by. */
static void test_found_again(void **state)
{
    (void)state;
    static const enum iw_resync by[] = {IW_RESYNC_CRC, IW_RESYNC_CHAIN, IW_RESYNC_MARKER};

    for (enum talk_kind kind = TALK_CRC; kind < TALK_KINDS; kind++) {
        struct talk *t = clean(kind);
        const struct part *lost = &t->part[6], *next = &t->part[8];
        struct lack lack = WHOLE;

        lack.from[0] = lost->pos;
        lack.to[0] = lost->pos + 10;
        lack.report = true;
        struct rig *rig = play(t, &lack);
        assert_int_equal(rig_count(rig, IW_OBSERVED_GAP), 1);
        assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->pos, lost->pos);
        assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->end, lost->pos + 10);
        assert_int_equal(rig_count(rig, IW_OBSERVED_RESYNC), 1);
        const struct seen *s = rig_get(rig, IW_OBSERVED_RESYNC, 0);
        assert_int_equal(s->pos, lost->pos);
        assert_int_equal(s->end, t->part[7].side == IW_SIDE_INITIATOR ? t->part[7].pos : next->pos);
        assert_int_equal(s->found_by, by[kind]);
        rig_free(rig);
        free(t);
    }
}

/* Any octets, at any position. */
static void test_noise(void **state)
{
    (void)state;
    static uint8_t octets[3000];
    uint32_t random = 7;

    for (unsigned round = 0; round < 60; round++) {
        struct talk *t = clean((enum talk_kind)(round % TALK_KINDS));
        struct rig *rig = rig_new(false, false);

        if (round % 2)
            iw_observer_assume(rig->observer, NULL);
        for (unsigned k = 0; k < 200; k++) {
            random = random * 1664525 + 1013904223;
            const struct part *p = &t->part[(random >> 8) % t->parts];
            size_t n = p->length;
            uint64_t pos = p->pos;
            memcpy(octets, p->octets, n);
            random = random * 1664525 + 1013904223;
            if (random & 0x100)
                octets[(random >> 9) % n] ^= (uint8_t)(random >> 20);
            if ((random & 0x600) == 0)
                pos += random >> 12;
            if ((random & 0x3800) == 0)
                iw_observer_gap(rig->observer, p->side, pos, pos + (random >> 14));
            rig->n = 0;
            (void)iw_observer_input(rig->observer, p->side, pos, octets, n);
        }
        rig->n = 0;
        iw_observer_flush(rig->observer);
        rig_free(rig);
        free(t);
    }
}

/* Of octets that come twice the first copy counts, also where an FPDU comes whole around them. */
static void test_first_copy(void **state)
{
    struct rig *rig = rig_new(false, false);
    uint8_t ulpdu[64], fpdu[128];

    (void)state;
    PLAY(rig, REQUEST, REPLY);
    size_t length = make_fpdu(fpdu, ulpdu, hex_octets(ulpdu, SEND_1));
    uint64_t pos = rig->next[0];
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, pos + 12, fpdu + 12, 4),
                     0);
    fpdu[12] ^= 0xff; /* of the MSN */
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, pos, fpdu, length), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);
}

/* After an FPDU that is held whole the input goes on. */
static void test_held_within(void **state)
{
    static const char *const sends[] = {SEND_1, SEND_2, SEND_3};
    struct rig *rig = rig_new(false, false);
    uint8_t ulpdu[64], fpdus[256];
    size_t length = 0, end[3];

    (void)state;
    PLAY(rig, REQUEST, REPLY);
    uint64_t pos = rig->next[0];
    for (size_t i = 0; i < 3; i++) {
        length += make_fpdu(fpdus + length, ulpdu, hex_octets(ulpdu, sends[i]));
        end[i] = length;
    }
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, pos + end[0],
                                       fpdus + end[0], end[1] - end[0]),
                     0);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, pos, fpdus, length), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 3);
    assert_int_equal(rig_count(rig, IW_OBSERVED_GAP), 0);
    rig_free(rig);
}

/* Octets before a gap, and no framing, as the other side's is lost: lengths in them are ignored. */
static void test_gap_before_framing(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, "i fdfd");
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 514, "", 1), 0);
    PLAY(rig, "r 00120148 00000000 00000000 00000001 00000000 70014f04");
    iw_observer_flush(rig->observer);
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->pos, 2);
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, 0)->end, 514);
    rig_free(rig);
}

/* Asserts that octets `pos` to `end` of the initiator were given up, and no others after them. */
static void expect_last_gap(const struct rig *rig, size_t count, uint64_t pos, uint64_t end)
{
    assert_int_equal(rig_count(rig, IW_OBSERVED_GAP), count);
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, count - 1)->pos, pos);
    assert_int_equal(rig_get(rig, IW_OBSERVED_GAP, count - 1)->end, end);
}

/* Four ranges that never come are remembered, while octets before them may come. For a fifth the
 * first is given up, and what may come before it. */
static void test_gaps_crowd(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, false);

    PLAY(rig, REQUEST_PLAIN, REPLY_PLAIN);
    for (uint64_t at = 400; at >= 100; at -= 100)
        iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, at, at + 1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_GAP), 0);
    iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, 500, 501);
    expect_last_gap(rig, 1, 20, 101);
    iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, 600, 601);
    expect_last_gap(rig, 2, 101, 201);
    iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, 150, 201); /* nothing new */
    iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, 201, 301); /* the next octets: all of it */
    expect_last_gap(rig, 3, 201, 301);
    rig_free(rig);
}

/* After a gap, octets that begin as an FPDU but for its length, and three that are one. */
static void expect_found(const char *noise, uint64_t pos)
{
    struct rig *rig = rig_new(false, false);
    char step[400];

    PLAY(rig, REQUEST_PLAIN, REPLY_PLAIN);
    iw_observer_gap(rig->observer, IW_SIDE_INITIATOR, 20, 32);
    rig->next[IW_SIDE_INITIATOR] = 32;
    snprintf(step, sizeof(step), "i %s", noise);
    PLAY(rig, step, "I " SEND_1, "I " SEND_2, "I " SEND_3);
    assert_int_equal(rig_count(rig, IW_OBSERVED_RESYNC), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_RESYNC, 0)->end, pos);
    rig_free(rig);
}

static void test_right_length_is_found(void **state)
{
    (void)state;
    expect_found("fd01 c140 11223344 0000000000001000 00000000", 52); /* 64,769 octets */
    expect_found("ffff c140 11223344 0000000000001000 00000000", 52);
    expect_found("000d c140 11223344 0000000000001000 00000000", 52); /* 13 octets */
    expect_found("000e c140 11223344 0000000000001000 00000000", 32);
    /* Two that could be FPDUs are too few. */
    expect_found("000e c140 11223344 0000000000001000 00000000"
                 "000e c140 11223344 0000000000001000 00000000"
                 "000e ffff 11223344 0000000000001000 00000000",
                 92);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_cut_both),
        cmocka_unit_test(test_start),       cmocka_unit_test(test_snap),
        cmocka_unit_test(test_memory),      cmocka_unit_test(test_found_again),
        cmocka_unit_test(test_noise),       cmocka_unit_test(test_first_copy),
        cmocka_unit_test(test_held_within), cmocka_unit_test(test_gap_before_framing),
        cmocka_unit_test(test_gaps_crowd),  cmocka_unit_test(test_right_length_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
