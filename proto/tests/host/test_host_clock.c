/* SPDX-License-Identifier: BSD-3-Clause */
/* Times, of clocks that the test has made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "host/clock.h"

#define NOW UINT64_C(20000000007)

int clock_gettime(clockid_t clock, struct timespec *t)
{
    assert_true(clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC ||
                clock == CLOCK_PROCESS_CPUTIME_ID);
    *t = clock == CLOCK_REALTIME    ? (struct timespec){1700000000, 5}
         : clock == CLOCK_MONOTONIC ? (struct timespec){20, 7}
                                    : (struct timespec){3, 9};
    return 0;
}

static void all_are_in_nanoseconds(void **state)
{
    (void)state;
    assert_int_equal(iw_clock_wall(), 1700000000000000005);
    assert_int_equal(iw_clock_now(), NOW);
    assert_int_equal(iw_clock_cpu(), 3000000009);
}

static void milliseconds_are_rounded_up_and_bounded(void **state)
{
    (void)state;
    assert_int_equal(iw_clock_left(0), 0);
    assert_int_equal(iw_clock_left(NOW), 0);
    assert_int_equal(iw_clock_left(NOW + 1), 1);
    assert_int_equal(iw_clock_left(NOW + 1000000), 1);
    assert_int_equal(iw_clock_left(NOW + 1000001), 2);
    assert_int_equal(iw_clock_left(NOW + UINT64_C(60000000000)), 60000);
    assert_int_equal(iw_clock_left(NOW + UINT64_C(60000000001)), 60000);
    assert_int_equal(iw_clock_left(UINT64_MAX), 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_in_nanoseconds),
        cmocka_unit_test(milliseconds_are_rounded_up_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
