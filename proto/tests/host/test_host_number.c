/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that a user wrote, and places among sorted ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "host/number.h"

static void whole(void **state)
{
    static const char *const bad[] = {"",   "x",   "5x",  " 5",   "+5",  "-0",   ":",
                                      "0x", "0xg", "0x ", "0x-1", "1.0", "0x1x", "١"};
    uint64_t value = 77;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(iw_number(bad[i], 0, UINT64_MAX, &value));
    assert_false(iw_number("4", 5, 6, &value));
    assert_false(iw_number("7", 5, 6, &value));
    assert_false(iw_number("18446744073709551616", 0, UINT64_MAX, &value));
    assert_false(iw_number("0x10000000000000000", 0, UINT64_MAX, &value));
    assert_int_equal(value, 77); /* left as it was */
    assert_true(iw_number("5", 5, 5, &value));
    assert_int_equal(value, 5);
    assert_true(iw_number("0", 0, 9, &value));
    assert_int_equal(value, 0);
    assert_true(iw_number("18446744073709551615", 0, UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    assert_true(iw_number("0xaBcdEf09", 0, UINT32_MAX, &value));
    assert_true(value == 0xabcdef09u);
    assert_true(iw_number("0XA", 0, UINT32_MAX, &value));
    assert_int_equal(value, 10);
    assert_true(iw_number("010", 0, 100, &value)); /* decimal */
    assert_int_equal(value, 10);
    errno = ERANGE; /* of an earlier call */
    assert_true(iw_number("5", 0, 9, &value));
}

static void real(void **state)
{
    static const char *const bad[] = {"",   "x",  "0",  "0.0", "-1",  "+1",
                                      " 1", ".5", "1x", "nan", "inf", "1e999"};
    double value = 7;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(iw_number_real(bad[i], 0, 1e9, &value));
    assert_false(iw_number_real("0.009", 0.01, 1000, &value));
    assert_false(iw_number_real("1000.1", 0.01, 1000, &value));
    assert_true(value == 7); /* left as it was */
    assert_true(iw_number_real("0.01", 0.01, 1000, &value));
    assert_true(value == 0.01);
    assert_true(iw_number_real("1e3", 0.01, 1000, &value));
    assert_true(value == 1000);
}

static void place(void **state)
{
    static const struct {
        uint64_t count;
        unsigned share;
        uint64_t place;
    } rows[] = {
        {0, 0, 0},
        {0, 990, 0},
        {1, 0, 0},
        {1, 1, 0},
        {1, 1000, 0},
        {2, 500, 0},
        {2, 501, 1},
        {3, 500, 1},
        {4, 500, 1},
        {5, 500, 2},
        {10, 0, 0},
        {10, 900, 8},
        {10, 901, 9},
        {10, 1000, 9},
        {10, 1001, 9},
        {100, 990, 98},
        {100, 999, 99},
        {101, 990, 99},
        {999, 999, 998},
        {1000, 990, 989},
        {1000, 999, 998},
        {1001, 999, 999},
        {2000, 1, 1},
        {UINT64_C(1000000000000), 999, UINT64_C(998999999999)},
        {UINT64_MAX, 0, 0},
        {UINT64_MAX, 500, UINT64_C(9223372036854775807)},
        {UINT64_MAX, 1000, UINT64_MAX - 1},
        {UINT64_MAX, UINT32_MAX, UINT64_MAX - 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(iw_number_place(rows[i].count, rows[i].share), rows[i].place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(real),
                                       cmocka_unit_test(place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
