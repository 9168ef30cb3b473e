/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts and results, as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/result.h"
#include "base/verdict.h"
#include "written.h"

/* ---- verdicts ---- */

static void each_verdict_has_a_name_and_a_gravity(void **state)
{
    static const struct {
        enum iw_verdict verdict;
        const char *name;
        int gravity;
    } rows[] = {{IW_VERDICT_SKIP, "SKIP", 0}, {IW_VERDICT_PASS, "PASS", 1},
                {IW_VERDICT_NOTE, "NOTE", 2}, {IW_VERDICT_INCONCLUSIVE, "INCONCLUSIVE", 3},
                {IW_VERDICT_FAIL, "FAIL", 4}, {IW_VERDICT_ERROR, "ERROR", 5}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        enum iw_verdict found = IW_VERDICT_PASS;

        assert_string_equal(iw_verdict_name(rows[i].verdict), rows[i].name);
        assert_true(iw_verdict_find(rows[i].name, &found));
        assert_int_equal(found, rows[i].verdict);
        assert_int_equal(iw_verdict_gravity(rows[i].verdict), rows[i].gravity);
    }
}

static void no_other_word_is_a_verdict(void **state)
{
    static const char *const words[] = {"", "pass", "FAILED", "?", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        enum iw_verdict found = IW_VERDICT_NOTE;

        assert_false(iw_verdict_find(words[i], &found));
        assert_int_equal(found, IW_VERDICT_NOTE);
    }
    assert_string_equal(iw_verdict_name((enum iw_verdict)6), "?");
    assert_string_equal(iw_verdict_name((enum iw_verdict) - 1), "?");
}

static void a_rule_says_what_breaking_it_amounts_to(void **state)
{
    static const struct {
        enum iw_level level;
        bool implied;
        enum iw_verdict verdict;
    } rows[] = {
        {IW_LEVEL_MAY, false, IW_VERDICT_PASS},        {IW_LEVEL_MAY, true, IW_VERDICT_PASS},
        {IW_LEVEL_SHOULD, false, IW_VERDICT_NOTE},     {IW_LEVEL_SHOULD, true, IW_VERDICT_NOTE},
        {IW_LEVEL_SHOULD_NOT, false, IW_VERDICT_NOTE}, {IW_LEVEL_MUST, true, IW_VERDICT_NOTE},
        {IW_LEVEL_MUST_NOT, true, IW_VERDICT_NOTE},    {IW_LEVEL_MUST, false, IW_VERDICT_FAIL},
        {IW_LEVEL_MUST_NOT, false, IW_VERDICT_FAIL}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct iw_rule rule = {.level = rows[i].level, .implied = rows[i].implied};

        assert_int_equal(iw_rule_verdict(&rule), rows[i].verdict);
    }
}

static void where_a_rule_shows_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(iw_testable_name(IW_TESTABLE_NO), "no");
    assert_string_equal(iw_testable_name(IW_TESTABLE_API), "api");
    assert_string_equal(iw_testable_name(IW_TESTABLE_WIRE_PASSIVE), "wire-passive");
    assert_string_equal(iw_testable_name(IW_TESTABLE_WIRE_ACTIVE), "wire-active");
}

/* ---- results ---- */

static char *text(const char *of)
{
    return of != NULL ? strdup(of) : NULL;
}

static void a_result_comes_back_from_its_json(void **state)
{
    static const char whole[] =
        "{\"verdict\":\"FAIL\",\"rule\":\"MPA-8-02\",\"seconds\":0.123457,\"heard\":true,"
        "\"reason\":\"why\",\"expected\":\"this\",\"actual\":\"that\",\"observed\":\"a=b\","
        "\"notes\":[\"one\",\"two\",\"\"],\"where\":\"x.lua:7\",\"pcap\":\"x.pcapng\",\"log\":\"x."
        "log\","
        "\"exchange\":[{\"text\":\"fin\"}]}";
    struct iw_result r = {.verdict = IW_VERDICT_FAIL,
                          .rule = iw_rule_find("MPA-8-02"),
                          .seconds = 0.1234567,
                          .heard = true,
                          .reason = text("why"),
                          .expected = text("this"),
                          .actual = text("that"),
                          .observed = text("a=b"),
                          .notes = text("one\ntwo\n"),
                          .where = text("x.lua:7"),
                          .pcap = text("x.pcapng"),
                          .log = text("x.log"),
                          .exchange = json_loads("[ {\"text\": \"fin\"} ]", 0, NULL)};
    struct iw_result back;

    (void)state;
    assert_non_null(r.rule);
    assert_written(&r, whole);
    json_t *object = json_loads(whole, 0, NULL);
    assert_true(iw_result_from_json(object, &back));
    json_decref(object);
    assert_int_equal(back.verdict, IW_VERDICT_FAIL);
    assert_ptr_equal(back.rule, r.rule);
    assert_true(back.seconds == 0.123457);
    assert_true(back.heard);
    assert_string_equal(back.notes, "one\ntwo\n");
    assert_true(json_equal(back.exchange, r.exchange));
    assert_null(back.id);
    assert_written(&back, whole);
    back.id = text("x");
    iw_result_free(&back);
    assert_null(back.id);
    assert_null(back.reason);
    assert_null(back.exchange);
    assert_int_equal(back.verdict, IW_VERDICT_PASS);
    iw_result_free(&r);
}

static void what_says_nothing_is_left_out(void **state)
{
    const struct iw_result r = {.verdict = IW_VERDICT_SKIP};
    struct iw_result back;

    (void)state;
    assert_written(&r, "{\"verdict\":\"SKIP\",\"seconds\":0.0}");
    json_t *object = json_loads("{\"verdict\":\"SKIP\"}", 0, NULL);
    assert_true(iw_result_from_json(object, &back));
    json_decref(object);
    assert_int_equal(back.verdict, IW_VERDICT_SKIP);
    assert_null(back.rule);
    assert_true(back.seconds == 0);
    assert_false(back.heard);
    assert_null(back.reason);
    assert_null(back.notes);
    assert_null(back.exchange);
    iw_result_free(&back);
}

static void seconds_are_rounded_to_microseconds(void **state)
{
    struct iw_result r = {.verdict = IW_VERDICT_PASS, .seconds = 2.0000015};

    (void)state;
    assert_written(&r, "{\"verdict\":\"PASS\",\"seconds\":2.0000019999999998}");
    r.seconds = 2.0000014;
    assert_written(&r, "{\"verdict\":\"PASS\",\"seconds\":2.0000010000000001}");
}

static void what_has_no_verdict_is_no_result(void **state)
{
    static const char *const others[] = {"{}", "[]", "7", "{\"verdict\":\"GOOD\"}",
                                         "{\"verdict\":1}"};

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct iw_result r;
        json_t *object = json_loads(others[i], JSON_DECODE_ANY, NULL);

        assert_non_null(object);
        assert_false(iw_result_from_json(object, &r));
        json_decref(object);
    }
}

/* A note that is no text is an empty line, and a rule that nobody knows is none. */
static void odd_members_are_taken_for_nothing(void **state)
{
    json_t *object = json_loads(
        "{\"verdict\":\"PASS\",\"rule\":\"X-1\",\"notes\":[7,\"a\"],\"heard\":1}", 0, NULL);
    struct iw_result r;

    (void)state;
    assert_true(iw_result_from_json(object, &r));
    json_decref(object);
    assert_null(r.rule);
    assert_string_equal(r.notes, "\na");
    assert_false(r.heard);
    iw_result_free(&r);
}

static void a_json_text_is_made_valid(void **state)
{
    json_t *string = iw_json_text("a\xff"
                                  "b");

    (void)state;
    assert_string_equal(json_string_value(string), "a\xef\xbf\xbd"
                                                   "b");
    json_decref(string);
    json_t *none = iw_json_text(NULL);
    assert_true(json_is_null(none));
    json_decref(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verdict_has_a_name_and_a_gravity),
        cmocka_unit_test(no_other_word_is_a_verdict),
        cmocka_unit_test(a_rule_says_what_breaking_it_amounts_to),
        cmocka_unit_test(where_a_rule_shows_has_a_name),
        cmocka_unit_test(a_result_comes_back_from_its_json),
        cmocka_unit_test(what_says_nothing_is_left_out),
        cmocka_unit_test(seconds_are_rounded_to_microseconds),
        cmocka_unit_test(what_has_no_verdict_is_no_result),
        cmocka_unit_test(odd_members_are_taken_for_nothing),
        cmocka_unit_test(a_json_text_is_made_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
