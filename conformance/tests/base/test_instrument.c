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

static void what_it_does_instead_has_a_name(void **state)
{
    enum iw_ability found = IW_ABILITY_WORKS;

    (void)state;
    assert_null(iw_ability_name(IW_ABILITY_UNKNOWN));
    for (int i = IW_ABILITY_WORKS; i <= IW_ABILITY_ODD; i++) {
        assert_true(iw_ability_find(iw_ability_name((enum iw_ability)i), &found));
        assert_int_equal(found, i);
    }
    assert_false(iw_ability_find("fails", &found));
}

static void rules_are_about_it(void **state)
{
    (void)state;
    assert_true(iw_instrument_serves(IW_INSTRUMENT_EMPTY_READ, iw_rule_find("RDMAP-5.2.1-15")));
    assert_true(iw_instrument_serves(IW_INSTRUMENT_EMPTY_READ, iw_rule_find("RDMAP-5.2.1-13")));
    assert_true(iw_instrument_serves(IW_INSTRUMENT_READ, iw_rule_find("RDMAP-5.2.1-12")));
    assert_false(iw_instrument_serves(IW_INSTRUMENT_READ, iw_rule_find("RDMAP-5.2.1-15")));
    assert_false(iw_instrument_serves(IW_INSTRUMENT_TERMINATE, iw_rule_find("RDMAP-5.2.1-15")));
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
        cmocka_unit_test(what_it_does_instead_has_a_name),
        cmocka_unit_test(rules_are_about_it),
        cmocka_unit_test(each_role_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
