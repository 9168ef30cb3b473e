/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a worker is waited for: numbers in, numbers out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/pool_clock.h"

static struct iw_target_spec target;
static struct iw_run_options options;
static struct iw_pool pool;
static struct iw_case one;

static int set_up(void **state)
{
    (void)state;
    target = (struct iw_target_spec){.connect_within = 5};
    options = (struct iw_run_options){0};
    pool = (struct iw_pool){.target = &target, .options = &options};
    one = (struct iw_case){0};
    return 0;
}

static void lasts(double seconds)
{
    double got = iw_pool_case_seconds(&pool, &one);

    assert_true(got > seconds - 1e-6 && got < seconds + 1e-6);
}

static void a_case_has_its_deadline_and_more(void **state)
{
    (void)state;
    lasts(20 + 10 + 4 * 3);
    options.deadline = 50;
    lasts(50 + 10 + 4 * 3);
    options.deadline = 0.75;
    lasts(0.75 + 10 + 4 * 3);
    one.deadline = 0.5;
    lasts(0.5 + 10 + 4 * 3);
    options.patience = 0.5;
    lasts(0.5 + 10 + 4 * 0.5);
    pool.grace = 0.25;
    lasts(0.5 + 0.25);
    options.time_scale = 0.5;
    lasts(0.375);
}

static void times_are_scaled(void **state)
{
    (void)state;
    options.deadline = 8;
    options.patience = 0.5;
    options.time_scale = 3;
    lasts(60);
    options.time_scale = 1;
    lasts(20);
    options.time_scale = -1;
    lasts(20);
    /* What the tester does itself keeps its ten seconds. */
    options.time_scale = 0.1;
    lasts(2 + 9);
    assert_true(iw_pool_close_seconds(&pool) == 2);
    options.time_scale = 0;
    assert_true(iw_pool_close_seconds(&pool) == 20);
    assert_true(iw_pool_still_seconds(&pool) == 10);
    pool.grace = 0.5;
    assert_true(iw_pool_still_seconds(&pool) == 0.5);
}

static void a_peer_that_connects_has_its_own_time(void **state)
{
    static char command[] = "true";

    (void)state;
    target.connect = command;
    lasts(42 + 8 * 5);
    target.connect = NULL;
    target.ask = command;
    lasts(42 + 8 * 5);
}

static void a_peer_may_be_silent_for_its_longest_timer(void **state)
{
    (void)state;
    target.longest_timer = 10;
    lasts(42 + 8 * 10);
    options.time_scale = 2;
    lasts(2 * 42 + 8 * 20);
    /* Its timer runs no faster. */
    options.time_scale = 0.1;
    lasts(0.1 * 42 + 9 + 8 * 10);
}

static const uint64_t second = 1000000000;

static void a_clock_starts(void **state)
{
    struct iw_pool_clock clock;

    (void)state;
    iw_pool_clock_start(&clock, 1.5, 100 * second, 7);
    assert_int_equal(clock.began, 100000000000);
    assert_int_equal(clock.given, 1500000000);
    assert_int_equal(clock.deadline, 101500000000);
    assert_int_equal(clock.latest, 701500000000);
    assert_int_equal(clock.computed, 7);
    assert_int_equal(clock.progress, 7);
}

static void a_worker_that_computes_may_go_on(void **state)
{
    struct iw_pool_clock clock;

    (void)state;
    iw_pool_clock_start(&clock, 2, 100 * second, 5 * second);
    assert_true(iw_pool_clock_prolong(&clock, 0.5, 102 * second - 1, 5 * second));
    assert_int_equal(clock.deadline, 102 * second);
    assert_true(iw_pool_clock_prolong(&clock, 0.5, 102 * second, 5 * second + 1));
    assert_int_equal(clock.deadline, 102 * second + second / 2);
    assert_int_equal(clock.progress, 5 * second + 1);
    assert_true(iw_pool_clock_prolong(&clock, 0.5, 103 * second, 7 * second - 1));
    /* It did nothing since then. */
    assert_false(iw_pool_clock_prolong(&clock, 0.5, 104 * second, 7 * second - 1));
    /* It has had what it was given. */
    assert_false(iw_pool_clock_prolong(&clock, 0.5, 104 * second, 7 * second));
}

static void ten_minutes_are_the_end(void **state)
{
    struct iw_pool_clock clock;

    (void)state;
    iw_pool_clock_start(&clock, 2, 100 * second, 0);
    assert_true(iw_pool_clock_prolong(&clock, 0.5, 702 * second - 1, 1));
    assert_int_equal(clock.latest, 702 * second);
    assert_false(iw_pool_clock_prolong(&clock, 0.5, 703 * second, 2));
    iw_pool_clock_start(&clock, 2, 100 * second, 0);
    assert_false(iw_pool_clock_prolong(&clock, 0.5, 702 * second, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_case_has_its_deadline_and_more, set_up),
        cmocka_unit_test_setup(times_are_scaled, set_up),
        cmocka_unit_test_setup(a_peer_that_connects_has_its_own_time, set_up),
        cmocka_unit_test_setup(a_peer_may_be_silent_for_its_longest_timer, set_up),
        cmocka_unit_test_setup(a_clock_starts, set_up),
        cmocka_unit_test_setup(a_worker_that_computes_may_go_on, set_up),
        cmocka_unit_test_setup(ten_minutes_are_the_end, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
