/* SPDX-License-Identifier: BSD-3-Clause */
/* The words for instruments, and what is known of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/instrument.h"

static void each_is_found_by_its_name(void **state)
{
    enum iw_instrument found = IW_INSTRUMENT_ECHO;

    (void)state;
    assert_string_equal(iw_instrument_name(IW_INSTRUMENT_EMPTY_READ), "empty-read");
    for (int i = 0; i < IW_INSTRUMENT_COUNT; i++) {
        assert_true(iw_instrument_find(iw_instrument_name((enum iw_instrument)i), &found));
        assert_int_equal(found, i);
    }
    assert_false(iw_instrument_find("empty", &found));
    assert_false(iw_instrument_find("", &found));
}

static void each_role_has_its_own(void **state)
{
    struct iw_instruments all = {0};

    (void)state;
    all.of[IW_MPA_RESPONDER][IW_INSTRUMENT_READ] = IW_ABILITY_WORKS;
    all.of[IW_MPA_INITIATOR][IW_INSTRUMENT_READ] = IW_ABILITY_SILENT;
    assert_int_equal(iw_instrument_ability(&all, IW_MPA_RESPONDER, IW_INSTRUMENT_READ),
                     IW_ABILITY_WORKS);
    assert_int_equal(iw_instrument_ability(&all, IW_MPA_INITIATOR, IW_INSTRUMENT_READ),
                     IW_ABILITY_SILENT);
    assert_int_equal(iw_instrument_ability(&all, IW_MPA_RESPONDER, IW_INSTRUMENT_ECHO),
                     IW_ABILITY_UNKNOWN);
    assert_int_equal(iw_instrument_ability(NULL, IW_MPA_RESPONDER, IW_INSTRUMENT_READ),
                     IW_ABILITY_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_by_its_name),
        cmocka_unit_test(each_role_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
