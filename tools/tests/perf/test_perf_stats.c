/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians and percentiles, and what is counted as a message. */
#include "perf.h"

#include <time.h>

#include "../caught.h"

static const char *memory; /* what the system says of it; NULL: nothing */

FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    static char text[64];
    assert_string_equal(path, "/proc/self/statm");
    assert_string_equal(mode, "re");
    if (memory == NULL)
        return NULL;
    snprintf(text, sizeof(text), "%s", memory);
    return fmemopen(text, strlen(text), "r");
}

static clockid_t asked;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    asked = clock;
    *t = (struct timespec){3, 250000000};
    return 0;
}

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

static void test_clocks(void **state)
{
    (void)state;
    assert_close(perf_seconds(), 3.25);
    assert_int_equal(asked, CLOCK_MONOTONIC);
    assert_close(perf_cpu_seconds(), 3.25);
    assert_int_equal(asked, CLOCK_PROCESS_CPUTIME_ID);
}

static void look_again(void)
{
    memory = "900 70 20";
    (void)perf_resident();
}

static void test_resident(void **state)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    (void)state;
    memory = "900 70 20 5";
    assert_int_equal(perf_resident(), 50 * page / 1024);
    memory = "900 70";
    assert_int_equal(perf_resident(), 0);
    memory = NULL;
    assert_int_equal(perf_resident(), 0);
    assert_false(leaks(look_again));
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
        cmocka_unit_test(test_medians),  cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_clocks),   cmocka_unit_test(test_resident),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
