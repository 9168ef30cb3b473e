/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of day, of a clock that the test has made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "host/wall_clock.h"

int clock_gettime(clockid_t clock, struct timespec *t)
{
    *t = clock == CLOCK_REALTIME ? (struct timespec){1700000000, 5} : (struct timespec){0, 0};
    return 0;
}

static void it_is_in_nanoseconds(void **state)
{
    (void)state;
    assert_int_equal(iw_wall_clock(), 1700000000000000005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_in_nanoseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
