/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of Reads and atomics that iwarp-lint times: its last entry, its end, its limit. */
#include "lint.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SIZE = 100, STEP = 1000 };

/* Read number n has an STag, a TO and a time of its own. */
static void ask(struct iw_lint_side *s, uint32_t n)
{
    const struct iw_observation o = {
        .ddp.rdmap_control = 0x41,
        .read_request = {.sink_stag = n, .sink_to = (uint64_t)STEP * n, .size = SIZE}};
    iw_lint_asked(s, (uint64_t)STEP * n, &o);
}

/* Its answer comes `after` so much time, with octet `offset` of it. */
static void answer(struct iw_lint_side *s, uint32_t n, uint64_t after, uint64_t offset)
{
    const struct iw_observation o = {
        .ddp = {.rdmap_control = 0x42, .stag = n, .to = (uint64_t)STEP * n + offset}};
    iw_lint_answered(s, (uint64_t)STEP * n + after, &o);
}

static void expect(struct iw_lint_side *s, uint64_t answered, uint64_t most, uint32_t outstanding)
{
    struct iw_lint_times t = iw_lint_times(s);
    assert_int_equal(t.answered, answered);
    assert_int_equal(t.most, most);
    assert_int_equal(t.outstanding, outstanding);
}

/* The ring begins with room for four. Answered before the others, the last has its time; the others
 * have none any more. */
static void the_last_entry(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 4; count++) {
        struct iw_lint_side s = {.reads = NULL};
        for (uint32_t n = 1; n <= count; n++)
            ask(&s, n);
        expect(&s, 0, 0, count);
        answer(&s, count, 77, SIZE);
        expect(&s, 1, 77, count);
        answer(&s, count, 99, 0);
        answer(&s, 1, 99, 0);
        expect(&s, 1, 77, count);
        iw_lint_free_reads(&s);
    }
}

/* Entries past the end of the ring lie at its beginning. */
static void entries_around_its_end(void **state)
{
    (void)state;
    for (uint32_t gone = 1; gone <= 3; gone++) {
        struct iw_lint_side s = {.reads = NULL};
        for (uint32_t n = 1; n <= 4; n++)
            ask(&s, n);
        for (uint32_t n = 1; n <= gone; n++)
            answer(&s, n, 10, 0);
        for (uint32_t n = 5; n <= 4 + gone; n++)
            ask(&s, n);
        expect(&s, gone, 10, 4);
        for (uint32_t n = gone + 1; n <= 4 + gone; n++) {
            answer(&s, n, 10 + n, 0);
            expect(&s, n, 10 + n, 4);
        }
        iw_lint_free_reads(&s);
    }
}

/* A ring that is full is copied to a larger one, wherever its first entry is. */
static void entries_of_a_ring_that_grows(void **state)
{
    (void)state;
    for (uint32_t gone = 0; gone <= 3; gone++) {
        struct iw_lint_side s = {.reads = NULL};
        for (uint32_t n = 1; n <= 4; n++)
            ask(&s, n);
        for (uint32_t n = 1; n <= gone; n++)
            answer(&s, n, 10, 0);
        for (uint32_t n = 5; n <= 8 + gone; n++)
            ask(&s, n);
        expect(&s, gone, gone > 0 ? 10 : 0, 8);
        for (uint32_t n = gone + 1; n <= 8 + gone; n++) {
            answer(&s, n, 10 + n, 0);
            expect(&s, n, 10 + n, 8);
        }
        iw_lint_free_reads(&s);
    }
}

/* As many as the ring takes; with one more what is outstanding is not known any more. */
static void its_limit(void **state)
{
    uint32_t room = 4;
    (void)state;
    while (2 * room <= IW_OBSERVER_READS)
        room *= 2;
    for (uint32_t more = 0; more < 2; more++) {
        struct iw_lint_side s = {.reads = NULL};
        for (uint32_t n = 1; n <= room + more; n++)
            ask(&s, n);
        expect(&s, 0, 0, room);
        answer(&s, room, 5, 0);
        expect(&s, more ? 0 : 1, more ? 0 : 5, room);
        ask(&s, 1);
        answer(&s, 1, 9, 0);
        expect(&s, more ? 1 : 2, 9, room);
        iw_lint_free_reads(&s);
    }
}

/* Any octet of a Read identifies it; one after it or of another STag does not. */
static void what_answers(void **state)
{
    (void)state;
    struct iw_lint_side s = {.reads = NULL};
    ask(&s, 7);
    answer(&s, 7, 1, SIZE + 1);
    answer(&s, 7, 1, UINT64_MAX);
    answer(&s, 8, 1, 0);
    expect(&s, 0, 0, 1);
    const struct iw_observation atomic = {.ddp.rdmap_control = 0x4b,
                                          .atomic_response.request_id = 7};
    iw_lint_answered(&s, 8000, &atomic);
    expect(&s, 0, 0, 1);
    answer(&s, 7, 3, SIZE);
    expect(&s, 1, 3, 1);
    const struct iw_observation request = {.ddp.rdmap_control = 0x4a,
                                           .atomic_request.request_id = 7};
    iw_lint_asked(&s, 100, &request);
    answer(&s, 7, 1, 0);
    answer(&s, 0, 1, 0);
    expect(&s, 1, 3, 1);
    iw_lint_answered(&s, 150, &atomic);
    expect(&s, 2, 50, 1);
    iw_lint_free_reads(&s);
}

/* Times beyond the last step count as it, and their most is exact. */
static void very_long_times(void **state)
{
    static const uint64_t times[] = {UINT64_C(1) << 42, (UINT64_C(1) << 43) - 1, UINT64_C(1) << 43,
                                     UINT64_C(1) << 63};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct iw_lint_side s = {.reads = NULL};
        ask(&s, 0);
        answer(&s, 0, times[i], 0);
        ask(&s, 0);
        answer(&s, 0, UINT64_MAX, 0);
        struct iw_lint_times t = iw_lint_times(&s);
        assert_true(t.most == UINT64_MAX);
        assert_int_equal(t.answered, 2);
        assert_true(t.p50 == (i == 0 ? (UINT64_C(17) << 38) - 1 : (UINT64_C(1) << 43) - 1));
        assert_true(t.p99 == (UINT64_C(1) << 43) - 1);
        iw_lint_free_reads(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_entry),
        cmocka_unit_test(entries_around_its_end),
        cmocka_unit_test(entries_of_a_ring_that_grows),
        cmocka_unit_test(its_limit),
        cmocka_unit_test(what_answers),
        cmocka_unit_test(very_long_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
