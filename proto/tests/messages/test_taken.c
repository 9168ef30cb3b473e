/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "iwarp/messages.h"
#include "messages/taken.h"

static void in_order(void **unused)
{
    (void)unused;
    struct iw_taken t = {0};
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(iw_taken_come(&t, i), IW_TAKEN_NEXT);
        assert_int_equal(iw_taken_come(&t, i), IW_TAKEN_AGAIN);
        iw_taken_done(&t, i, false);
        assert_int_equal(t.state.base, i);
    }
    assert_int_equal(t.state.ahead, 0);
}

static void out_of_order(void **unused)
{
    (void)unused;
    struct iw_taken t = {0};
    for (uint64_t i = 1; i <= IW_MESSAGES_WINDOW; i++)
        assert_int_equal(iw_taken_come(&t, i), IW_TAKEN_NEXT);
    assert_int_equal(iw_taken_come(&t, IW_MESSAGES_WINDOW + 1), IW_TAKEN_WRONG);
    for (uint64_t i = IW_MESSAGES_WINDOW; i > 1; i--) {
        iw_taken_done(&t, i, i % 3 == 0);
        assert_int_equal(t.state.base, 0);
        for (uint64_t j = 1; j <= IW_MESSAGES_WINDOW; j++)
            assert_int_equal(iw_taken_fate(&t.state, j), j < i        ? IW_TAKEN_OPEN
                                                         : j % 3 == 0 ? IW_TAKEN_REFUSED
                                                                      : IW_TAKEN_TAKEN);
    }
    iw_taken_done(&t, 1, false);
    assert_int_equal(t.state.base, IW_MESSAGES_WINDOW);
    assert_int_equal(t.state.ahead, 0);
    for (uint64_t j = 1; j <= IW_MESSAGES_WINDOW; j++)
        assert_int_equal(iw_taken_fate(&t.state, j),
                         j % 3 == 0 ? IW_TAKEN_REFUSED : IW_TAKEN_TAKEN);
}

static void gaps(void **unused)
{
    (void)unused;
    struct iw_taken t = {0};
    /* The sender has given up all before this one. */
    assert_int_equal(iw_taken_come(&t, 500), IW_TAKEN_NEXT);
    assert_int_equal(t.state.base, 499);
    assert_int_equal(iw_taken_come(&t, 503), IW_TAKEN_NEXT);
    assert_int_equal(iw_taken_fate(&t.state, 501), IW_TAKEN_TAKEN);
    assert_int_equal(iw_taken_fate(&t.state, 500), IW_TAKEN_OPEN);
    iw_taken_done(&t, 500, true);
    assert_int_equal(t.state.base, 502);
    assert_int_equal(iw_taken_fate(&t.state, 500), IW_TAKEN_REFUSED);
    assert_int_equal(iw_taken_fate(&t.state, 503), IW_TAKEN_OPEN);
    /* A jump while one is open: beyond the window nobody may send. */
    assert_int_equal(iw_taken_come(&t, 700), IW_TAKEN_WRONG);
    assert_int_equal(iw_taken_come(&t, UINT64_MAX), IW_TAKEN_WRONG);
    assert_int_equal(t.came, 503);
}

static void back(void **unused)
{
    (void)unused;
    struct iw_taken t = {0};
    for (uint64_t i = 1; i <= 10; i++)
        iw_taken_come(&t, i);
    iw_taken_done(&t, 1, false);
    iw_taken_back(&t, 4);
    assert_int_equal(t.came, 4);
    assert_int_equal(iw_taken_come(&t, 4), IW_TAKEN_AGAIN);
    assert_int_equal(iw_taken_come(&t, 5), IW_TAKEN_NEXT);
    iw_taken_back(&t, 0);
    assert_int_equal(t.came, 1);
    /* What is not there is not done with. */
    iw_taken_done(&t, 7, false);
    assert_int_equal(t.state.ahead, 0);
}

/* The state knows of the last 64 below the base; what is older was taken, or is long reported. */
static void fates_at_the_edge(void **unused)
{
    (void)unused;
    const struct iw_message_state s = {.base = 100, .refused_before = UINT64_C(1) << 63 | 1};
    assert_int_equal(iw_taken_fate(&s, 100), IW_TAKEN_REFUSED);
    assert_int_equal(iw_taken_fate(&s, 99), IW_TAKEN_TAKEN);
    assert_int_equal(iw_taken_fate(&s, 37), IW_TAKEN_REFUSED);
    assert_int_equal(iw_taken_fate(&s, 36), IW_TAKEN_TAKEN);
    const struct iw_message_state t = {.base = 100, .ahead = UINT64_C(1) << 63 | 1};
    assert_int_equal(iw_taken_fate(&t, 101), IW_TAKEN_TAKEN);
    assert_int_equal(iw_taken_fate(&t, 164), IW_TAKEN_TAKEN);
    assert_int_equal(iw_taken_fate(&t, 165), IW_TAKEN_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fates_at_the_edge),
        cmocka_unit_test(in_order),
        cmocka_unit_test(out_of_order),
        cmocka_unit_test(gaps),
        cmocka_unit_test(back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
