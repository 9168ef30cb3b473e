/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frame iwarp-lint takes an octet to be in. */
#include "lint_bench.h"

/* Frame `frame` brings octets of the responder. */
static void bring(struct bench *b, uint64_t frame, uint64_t pos, uint64_t end)
{
    b->lint.frame = frame;
    iw_lint_remember(&b->c, IW_SIDE_RESPONDER, pos, end);
    b->lint.frame = 999;
}

/* 999: it is not known. */
static void in_frame(struct bench *b, uint64_t pos, uint64_t frame)
{
    assert_int_equal(iw_lint_frame(&b->c, IW_SIDE_RESPONDER, pos), frame);
    assert_int_equal(iw_lint_frame(&b->c, IW_SIDE_INITIATOR, pos), 999);
}

static void octets_of_some_frames(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    assert_int_equal(iw_lint_frame(&b->c, IW_SIDE_RESPONDER, 0), 30);
    bring(b, 3, 10, 20);
    bring(b, 4, 30, 31);
    bring(b, 5, 15, 35);
    in_frame(b, 9, 999);
    in_frame(b, 10, 3);
    in_frame(b, 15, 3); /* the first copy */
    in_frame(b, 19, 3);
    in_frame(b, 20, 5);
    in_frame(b, 29, 5);
    in_frame(b, 30, 4);
    in_frame(b, 31, 5);
    in_frame(b, 34, 5);
    in_frame(b, 35, 999);
    bench_close(b);
}

static void octets_that_are_judged(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_ranges *r = &b->c.side[IW_SIDE_RESPONDER].ranges;
    (void)state;
    iw_lint_forget(r, 100);
    assert_int_equal(r->count, 0);
    bring(b, 3, 10, 20);
    bring(b, 4, 20, 30);
    bring(b, 5, 30, 40);
    iw_lint_forget(r, 19);
    assert_int_equal(r->count, 3);
    iw_lint_forget(r, 30);
    assert_int_equal(r->count, 1);
    in_frame(b, 29, 999);
    in_frame(b, 30, 5);
    /* What stands behind one that is still needed is kept. */
    bring(b, 6, 0, 10);
    iw_lint_forget(r, 30);
    assert_int_equal(r->count, 2);
    iw_lint_forget(r, 40);
    assert_int_equal(r->count, 0);
    bench_close(b);
}

/* Room for 4, doubled up to 256; then the oldest goes. */
static void many_frames(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_ranges *r = &b->c.side[IW_SIDE_RESPONDER].ranges;
    uint32_t room = 4;
    (void)state;
    for (uint32_t n = 0; n < 256; n++) {
        if (n == room)
            room *= 2;
        bring(b, 1000 + n, n, n + 1);
        assert_int_equal(r->room, room);
        assert_int_equal(r->count, n + 1);
        assert_int_equal(r->all == r->few, room == 4);
        in_frame(b, 0, 1000);
        in_frame(b, n, 1000 + n);
    }
    for (uint32_t n = 256; n < 260; n++) {
        bring(b, 1000 + n, n, n + 1);
        assert_int_equal(r->room, 256);
        assert_int_equal(r->count, 256);
        in_frame(b, n - 256, 999);
        in_frame(b, n - 255, 1000 + n - 255);
        in_frame(b, n, 1000 + n);
    }
    iw_lint_free_ranges(r);
    iw_lint_no_ranges(r);
    assert_ptr_equal(r->all, r->few);
    assert_int_equal(r->room, 4);
    assert_int_equal(r->count, 0);
    bench_close(b);
}

/* ---- messages ---- */

/* A segment of a queue (below 10), or a tagged one (its opcode, and 10). */
static struct iw_observation segment(uint32_t kind, uint64_t pos)
{
    return (struct iw_observation){
        .side = IW_SIDE_RESPONDER,
        .pos = pos,
        .ddp = {.ddp_control = kind < 10 ? 0x41 : 0xc1,
                .rdmap_control = (uint8_t)(kind < 10 ? 0x43 : 0x40 + kind - 10),
                .qn = kind < 10 ? kind : 0}};
}

enum { WRITE = 10 + IW_OP_WRITE, READ_RESPONSE = 10 + IW_OP_READ_RESPONSE };

/* Each kind of message has a beginning of its own, which outlives the octets. */
static void messages_in_part(void **state)
{
    static const uint32_t kinds[] = {0, 1, 2, 3, WRITE, READ_RESPONSE};
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        const struct iw_observation first = segment(kinds[i], 100 * i),
                                    later = segment(kinds[i], 100 * i + 50);
        bring(b, 20 + i, 100 * i, 100 * i + 60);
        iw_lint_begin_message(&b->c, &first);
        iw_lint_begin_message(&b->c, &later);
        iw_lint_forget(&s->ranges, 1000);
    }
    for (uint32_t i = 0; i < 6; i++) {
        in_frame(b, 100 * i, 20 + i);
        in_frame(b, 100 * i + 1, 999);
        in_frame(b, 100 * i + 50, 999);
    }
    for (uint32_t i = 0; i < 6; i++) {
        const struct iw_observation last = segment(kinds[i], 100 * i + 50);
        iw_lint_end_message(s, &last);
        for (uint32_t k = 0; k < 6; k++)
            in_frame(b, 100 * k, k <= i ? 999 : 20 + k);
    }
    /* Where octets are known they say where they are. */
    const struct iw_observation again = segment(WRITE, 7);
    bring(b, 40, 0, 8);
    iw_lint_begin_message(&b->c, &again);
    bring(b, 41, 0, 8);
    in_frame(b, 7, 40);
    bench_close(b);
}

static void messages_that_are_lost(void **state)
{
    static const uint32_t kinds[] = {0, 1, 2, 3, WRITE, READ_RESPONSE};
    struct bench *b = bench_open(IW_LINT_TEXT);
    (void)state;
    bring(b, 20, 0, 60);
    for (uint32_t i = 0; i < 6; i++) {
        const struct iw_observation first = segment(kinds[i], i);
        iw_lint_begin_message(&b->c, &first);
    }
    iw_lint_forget(&b->c.side[IW_SIDE_RESPONDER].ranges, 60);
    in_frame(b, 5, 20);
    iw_lint_end_messages(&b->c.side[IW_SIDE_RESPONDER]);
    for (uint32_t i = 0; i < 6; i++)
        in_frame(b, i, 999);
    bench_close(b);
}

/* A queue that no stream has counts as the first one. */
static void messages_of_no_queue(void **state)
{
    struct bench *b = bench_open(IW_LINT_TEXT);
    struct iw_lint_side *s = &b->c.side[IW_SIDE_RESPONDER];
    const struct iw_observation odd = segment(4, 7), even = segment(0, 8);
    (void)state;
    bring(b, 20, 0, 60);
    iw_lint_begin_message(&b->c, &odd);
    iw_lint_begin_message(&b->c, &even);
    iw_lint_forget(&s->ranges, 60);
    in_frame(b, 7, 20);
    in_frame(b, 8, 999);
    iw_lint_end_message(s, &even);
    in_frame(b, 7, 999);
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octets_of_some_frames),
        cmocka_unit_test(octets_that_are_judged),
        cmocka_unit_test(many_frames),
        cmocka_unit_test(messages_in_part),
        cmocka_unit_test(messages_that_are_lost),
        cmocka_unit_test(messages_of_no_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
