/* SPDX-License-Identifier: BSD-3-Clause */
/* What a target did wrong in a case: kept, copied, written and read back. What the cases themselves
 * own is freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/conform_case.h"
#include "base/result.h"
#include "written.h"

static const struct iw_deviation whole = {
    .verdict = IW_VERDICT_NOTE,
    .how = (char[]){"refused"},
    .wire = true,
    .fault = (char[]){"1/1/02"},
    .came = (char[]){"0/0/00"},
    .text = (char[]){"what is right"},
    .expected = (char[]){"a Reply"},
    .actual = (char[]){"a Terminate"},
    .connection = 3,
    .from_target = true,
    .position = 123456789012,
    .frame = 77,
};

#define WHOLE                                                                                      \
    "{\"verdict\":\"NOTE\",\"rule\":\"MPA-8-02\",\"how\":\"refused\",\"wire\":true,"               \
    "\"connection\":3,\"from_target\":true,\"position\":123456789012,\"frame\":77,"                \
    "\"fault\":\"1/1/02\",\"came\":\"0/0/00\",\"text\":\"what is right\","                         \
    "\"expected\":\"a Reply\",\"actual\":\"a Terminate\"}"
#define BARE                                                                                       \
    "{\"verdict\":\"FAIL\",\"rule\":null,\"how\":\"crashed\",\"wire\":false,\"connection\":-1,"    \
    "\"from_target\":false,\"position\":0,\"frame\":0}"

static struct iw_deviation of(const char *how, const char *rule)
{
    return (struct iw_deviation){.verdict = IW_VERDICT_FAIL,
                                 .how = strdup(how),
                                 .rule = rule != NULL ? iw_rule_find(rule) : NULL,
                                 .connection = -1};
}

static void a_copy_is_equal_and_its_own(void **state)
{
    struct iw_deviation d = whole;

    (void)state;
    d.rule = iw_rule_find("MPA-8-02");
    struct iw_deviation copy = iw_deviation_copy(&d);
    assert_string_equal(copy.how, "refused");
    assert_string_equal(copy.fault, "1/1/02");
    assert_string_equal(copy.came, "0/0/00");
    assert_string_equal(copy.text, "what is right");
    assert_string_equal(copy.expected, "a Reply");
    assert_string_equal(copy.actual, "a Terminate");
    assert_ptr_not_equal(copy.how, d.how);
    assert_ptr_equal(copy.rule, d.rule);
    assert_int_equal(copy.verdict, IW_VERDICT_NOTE);
    assert_true(copy.wire && copy.from_target);
    assert_int_equal(copy.connection, 3);
    assert_int_equal(copy.position, 123456789012);
    assert_int_equal(copy.frame, 77);
    iw_deviation_free(&copy);
    /* What is not said stays so. */
    d = of("missed", NULL);
    copy = iw_deviation_copy(&d);
    assert_string_equal(copy.how, "missed");
    assert_null(copy.fault);
    assert_null(copy.came);
    assert_null(copy.text);
    assert_null(copy.expected);
    assert_null(copy.actual);
    iw_deviation_free(&copy);
    iw_deviation_free(&d);
}

static void they_are_written_and_come_back(void **state)
{
    static const char written[] = "{\"verdict\":\"FAIL\",\"seconds\":0.0,\"blocked\":\"read\","
                                  "\"frames\":9,\"deviations\":[" WHOLE "," BARE "]}";
    struct iw_result r = {.verdict = IW_VERDICT_FAIL, .blocked = strdup("read"), .frames = 9}, back;
    struct iw_deviation first = iw_deviation_copy(&whole), second = of("crashed", NULL);

    (void)state;
    first.rule = iw_rule_find("MPA-8-02");
    iw_result_add_deviation(&r, &first);
    iw_result_add_deviation(&r, &second);
    assert_int_equal(r.n_deviations, 2);
    assert_written(&r, written);
    json_t *object = json_loads(written, 0, NULL);
    assert_true(iw_result_from_json(object, &back));
    json_decref(object);
    assert_int_equal(back.n_deviations, 2);
    assert_string_equal(back.blocked, "read");
    assert_int_equal(back.frames, 9);
    assert_written(&back, written);
    iw_result_free(&back);
    assert_null(back.deviations);
    assert_int_equal(back.n_deviations, 0);
    iw_result_free(&r);
}

/* The number of a finding, and frames, count from 1. */
static void numbers_that_say_nothing_are_left_out(void **state)
{
    struct iw_result r = {.verdict = IW_VERDICT_SKIP};

    (void)state;
    assert_written(&r, "{\"verdict\":\"SKIP\",\"seconds\":0.0}");
    r.blocked_by = 1;
    r.frames = 1;
    assert_written(&r, "{\"verdict\":\"SKIP\",\"seconds\":0.0,\"blocked_by\":1,\"frames\":1}");
}

/* Read back are those that have a known verdict and rule (or none at all), and say how. */
static void what_is_no_deviation_is_left_out(void **state)
{
    static const struct {
        const char *one;
        size_t kept;
    } rows[] = {
        {BARE, 1},
        {WHOLE, 1},
        {"{\"verdict\":\"FAIL\",\"rule\":\"X-1\",\"how\":\"x\"}", 0},
        {"{\"verdict\":\"FAIL\",\"rule\":7,\"how\":\"x\"}", 0},
        {"{\"verdict\":\"FAIL\",\"how\":\"x\"}", 0},
        {"{\"verdict\":\"FAIL\",\"rule\":null}", 0},
        {"{\"verdict\":\"FAIL\",\"rule\":null,\"how\":7}", 0},
        {"{\"verdict\":\"BAD\",\"rule\":null,\"how\":\"x\"}", 0},
        {"{\"rule\":null,\"how\":\"x\"}", 0},
        {"7", 0},
        {"null", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[1024];
        struct iw_result r;

        snprintf(text, sizeof(text), "{\"verdict\":\"FAIL\",\"deviations\":[%s,%s]}", rows[i].one,
                 BARE);
        json_t *object = json_loads(text, 0, NULL);
        assert_non_null(object);
        assert_true(iw_result_from_json(object, &r));
        json_decref(object);
        assert_int_equal(r.n_deviations, rows[i].kept + 1);
        assert_string_equal(r.deviations[rows[i].kept].how, "crashed");
        assert_int_equal(r.deviations[rows[i].kept].connection, -1);
        iw_result_free(&r);
    }
}

static void no_list_is_no_deviation(void **state)
{
    static const char *const lists[] = {"[]", "{}", "7"};

    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct iw_result r;
        json_t *object = json_pack("{s:s, s:o}", "verdict", "PASS", "deviations",
                                   json_loads(lists[i], JSON_DECODE_ANY, NULL));

        assert_non_null(object);
        assert_true(iw_result_from_json(object, &r));
        json_decref(object);
        assert_int_equal(r.n_deviations, 0);
        assert_null(r.deviations);
        iw_result_free(&r);
    }
}

/* What broke a rule goes; that the program has crashed stays, in its order. */
static void breaches_are_dropped(void **state)
{
    static const char *const rules[] = {"MPA-8-02", NULL, "DDP-7.1-10", NULL, "MPA-8-02"};
    static const char *const hows[] = {"a", "b", "c", "d", "e"};
    struct iw_result r = {.verdict = IW_VERDICT_FAIL};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct iw_deviation d = of(hows[i], rules[i]);
        iw_result_add_deviation(&r, &d);
    }
    iw_result_drop_breaches(&r);
    assert_int_equal(r.n_deviations, 2);
    assert_string_equal(r.deviations[0].how, "b");
    assert_string_equal(r.deviations[1].how, "d");
    iw_result_drop_breaches(&r);
    assert_int_equal(r.n_deviations, 2);
    iw_result_free(&r);
}

/* A case owns all that it points to: nothing of it is left, which AddressSanitizer sees. */
static void cases_free_what_they_own(void **state)
{
    struct iw_case *cases = calloc(2, sizeof(*cases));

    (void)state;
    assert_non_null(cases);
    for (size_t i = 0; i < 2; i++) {
        struct iw_case *c = &cases[i];
        c->id = strdup("id");
        c->purpose = strdup("purpose");
        c->file = strdup("file");
        c->rules = calloc(1, sizeof(*c->rules));
        c->tags = calloc(2, sizeof(*c->tags));
        c->needs = calloc(2, sizeof(*c->needs));
        assert_true(c->tags != NULL && c->needs != NULL);
        for (; c->n_tags < 2; c->n_tags++)
            c->tags[c->n_tags] = strdup("tag");
        for (; c->n_needs < 2; c->n_needs++)
            c->needs[c->n_needs] = (struct iw_need){strdup("name"), strdup("value")};
    }
    iw_case_free_all(cases, 2);
    iw_case_free_all(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_equal_and_its_own),
        cmocka_unit_test(they_are_written_and_come_back),
        cmocka_unit_test(numbers_that_say_nothing_are_left_out),
        cmocka_unit_test(what_is_no_deviation_is_left_out),
        cmocka_unit_test(no_list_is_no_deviation),
        cmocka_unit_test(breaches_are_dropped),
        cmocka_unit_test(cases_free_what_they_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
