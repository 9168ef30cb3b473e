/* SPDX-License-Identifier: BSD-3-Clause */
/* What a search for FPDUs after a gap may cost. */
#include "mpa_early.h"

/* Many tiny islands, and answers that alternate: 64 runs and no more, in any order. */
static void runs_are_bounded(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    uint8_t frames[100 * IMAGE_SIZE];
    uint32_t seed = 64;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        (void)mpa_hex(frames + i * IMAGE_SIZE, IMAGE);
    /* Every second FPDU is an island of its own. */
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(mpa_rig_feed(rig, (2 * i + 1) * IMAGE_SIZE, frames, IMAGE_SIZE), 0);
    assert_int_equal(early.count, 30);
    for (size_t i = 0; i < 30; i++)
        assert_int_equal(mpa_rig_feed(rig, 2 * i * IMAGE_SIZE, frames, IMAGE_SIZE), 0);
    assert_int_equal(early.count, 30);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->deframer.next, 60 * IMAGE_SIZE);

    /* One island, but no two neighbours with the same answer. */
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    early.answers = 0x55555555;
    assert_int_equal(mpa_rig_feed(rig, IMAGE_SIZE, frames, 99 * IMAGE_SIZE), 0);
    assert_int_equal(early.count, 64);
    assert_int_equal(mpa_rig_feed(rig, IMAGE_SIZE, frames, 99 * IMAGE_SIZE), 0);
    assert_int_equal(early.count, 64);
    rig->seen.stop_after = 60; /* the test's record is limited */
    assert_int_equal(mpa_rig_feed(rig, 0, frames, IMAGE_SIZE), -1);
    for (size_t i = 0; i < 60; i++)
        assert_int_equal(rig->seen.fpdu[i].placed_early, i % 2 == 1);

    /* With the same answer runs grow together, whatever the order. */
    for (unsigned round = 0; round < 20; round++) {
        size_t order[60] = {0};
        early_begin(rig, false, true);
        rig->deframer.aligned = true;
        early.answers = mpa_random(&seed) | (round % 2 ? ~0u : 0);
        for (size_t i = 0; i < 60; i++) {
            size_t k = mpa_random(&seed) % (i + 1);
            order[i] = order[k];
            order[k] = i + 1;
        }
        bool placed[61] = {false};
        for (size_t i = 0; i < 60; i++) {
            size_t before = early.count;
            assert_int_equal(mpa_rig_feed(rig, order[i] * IMAGE_SIZE, frames, IMAGE_SIZE), 0);
            assert_int_equal(early.count, before + 1);
            placed[order[i]] = early.answers >> (before % 32) & 1;
        }
        assert_int_equal(mpa_rig_feed(rig, 0, frames, IMAGE_SIZE), 0);
        assert_int_equal(rig->seen.fpdus, 61);
        for (size_t i = 0; i < 61; i++)
            assert_int_equal(rig->seen.fpdu[i].placed_early, placed[i]);
    }
    mpa_rig_free(rig);
}

/* The work that a peer can cause a search: with Markers each octet once, otherwise those of the
 * call. */
static void cost(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference r = {.markers = true, .crc = true};
    uint64_t given = 0;

    (void)state;
    early_add(&r, 482);
    early_add(&r, 60000);
    size_t bad = r.length;
    early_add(&r, 400);
    r.octets[bad - 1] ^= 1;
    early_begin(rig, true, true);
    for (size_t at = 492; at < r.length; at += 1000)
        assert_int_equal(early_feed(rig, &r, at, at + 1000 < r.length ? at + 1000 : r.length), 0);
    for (size_t at = 492; at < r.length; at += 13)
        assert_int_equal(early_feed(rig, &r, at, at + 1), 0);
    assert_int_equal(early.count, 0);
    assert_int_equal(early.crc_octets, bad - 4 - 492);

    /* No room to remember: nothing is computed that could not be handed out. */
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    early.answers = 0x55555555;
    uint8_t frames[99 * IMAGE_SIZE];
    for (size_t i = 0; i < 99; i++)
        (void)mpa_hex(frames + i * IMAGE_SIZE, IMAGE);
    for (unsigned round = 0; round < 10; round++) {
        assert_int_equal(mpa_rig_feed(rig, IMAGE_SIZE, frames, sizeof(frames)), 0);
        given += sizeof(frames);
    }
    assert_int_equal(early.count, 64);
    assert_true(early.crc_octets <= sizeof(frames));
    assert_true(early.crc_octets <= given);

    /* A segment that is none: nothing but its lengths is looked at. */
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    for (unsigned round = 0; round < 10; round++)
        assert_int_equal(mpa_rig_feed(rig, IMAGE_SIZE, frames, sizeof(frames) - 1), 0);
    assert_int_equal(early.count, 0);
    assert_int_equal(early.crc_octets, 0);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_bounded),
        cmocka_unit_test(cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
