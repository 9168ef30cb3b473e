/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians and percentiles, and what is counted as a message. */
#include "perf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_close(double a, double b)
{
    assert_true(a - b < 1e-9 && b - a < 1e-9);
}

static void test_medians(void **state)
{
    double one[] = {7}, two[] = {3, 1}, three[] = {9, 1, 2}, four[] = {4, 100, 1, 2};
    (void)state;
    assert_close(perf_spread(one, 0).median, 0);
    assert_close(perf_spread(one, 1).median, 7);
    assert_close(perf_spread(two, 2).median, 2);
    assert_close(perf_spread(three, 3).median, 2);
    assert_close(perf_spread(four, 4).median, 3);
    assert_close(perf_spread(four, 4).min, 1);
    assert_close(perf_spread(four, 4).max, 100);
}

static void test_percentiles(void **state)
{
    static double values[1000];
    (void)state;
    for (int i = 0; i < 1000; i++)
        values[i] = i + 1;
    assert_close(perf_quantile(values, 1000, 990), 990);
    assert_close(perf_quantile(values, 1000, 999), 999);
    assert_close(perf_quantile(values, 100, 990), 99);
    assert_close(perf_quantile(values, 100, 999), 100);
    assert_close(perf_quantile(values, 101, 990), 100);
    assert_close(perf_quantile(values, 1, 990), 1);
    assert_close(perf_quantile(values, 10, 1000), 10);
    assert_close(perf_quantile(values, 10, 0), 1);
    assert_close(perf_quantile(values, 0, 990), 0);
}

static void test_messages(void **state)
{
    struct perf_run run = {.count = 5};
    (void)state;
    for (int test = 0; test < PERF_TESTS; test++) {
        run.test = (enum perf_test)test;
        assert_int_equal(perf_messages(&run), test <= PERF_WRITE_LAT ? 10 : 5);
    }
    run.both = true;
    assert_int_equal(perf_messages(&run), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_medians),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
