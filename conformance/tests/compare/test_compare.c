/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run says of each rule, runs side by side, and how a comparison is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/compare.h"
#include "compare/rule_state.h"
#include "host/text.h"

/* The report of a run in memory. */
static struct iw_run_file run_of(const char *findings, const char *cases)
{
    char *text = iw_text_format("{\"findings\":[%s],\"cases\":[%s]}", findings, cases);
    struct iw_run_file f = {.path = "p", .run = json_loads(text, 0, NULL), .by_id = json_object()};
    json_t *one;
    size_t i;

    assert_non_null(f.run);
    f.cases = json_object_get(f.run, "cases");
    json_array_foreach(f.cases, i, one)
        json_object_set(f.by_id, json_string_value(json_object_get(one, "id")), one);
    free(text);
    return f;
}

/* ---- rules ---- */

static void states_have_names(void **state)
{
    (void)state;
    assert_string_equal(iw_rule_state_name(IW_RULE_BROKEN), "broken");
    assert_string_equal(iw_rule_state_name(IW_RULE_HOLDS), "holds");
    assert_string_equal(iw_rule_state_name(IW_RULE_OPEN), "not decided");
    assert_string_equal(iw_rule_state_name(IW_RULE_UNTESTED), "not tested");
    assert_int_equal(IW_RULE_STATES, 4);
}

#define A "DDP-7.1-10"
#define B "MPA-8-02"
#define C "MPA-4.1-02"
#define CASE(verdict, rules, ...)                                                                  \
    "{\"id\":\"x\",\"verdict\":\"" verdict "\",\"rules\":[" rules "]" __VA_ARGS__ "}"
#define AB "\"" A "\",\"" B "\""
#define FINDING(rule) "{\"rule\":" rule ",\"text\":\"it\"}"

static void a_run_says_what_holds(void **state)
{
    static const struct {
        const char *findings, *cases;
        enum iw_rule_state a, b, c;
    } rows[] = {
        {"", "", IW_RULE_UNTESTED, IW_RULE_UNTESTED, IW_RULE_UNTESTED},
        {"", CASE("PASS", AB), IW_RULE_HOLDS, IW_RULE_HOLDS, IW_RULE_UNTESTED},
        {"", CASE("PASS", "\"" C "\""), IW_RULE_UNTESTED, IW_RULE_UNTESTED, IW_RULE_HOLDS},
        {"", CASE("SKIP", AB), IW_RULE_OPEN, IW_RULE_OPEN, IW_RULE_UNTESTED},
        {"", CASE("INCONCLUSIVE", AB), IW_RULE_OPEN, IW_RULE_OPEN, IW_RULE_UNTESTED},
        {"", CASE("ERROR", AB), IW_RULE_OPEN, IW_RULE_OPEN, IW_RULE_UNTESTED},
        /* What a case that failed says of its other rules is not known. */
        {"", CASE("FAIL", AB), IW_RULE_UNTESTED, IW_RULE_UNTESTED, IW_RULE_UNTESTED},
        {"", CASE("NOTE", AB), IW_RULE_UNTESTED, IW_RULE_UNTESTED, IW_RULE_UNTESTED},
        /* Nor what one says of the rule about which it has remarked. */
        {"", CASE("PASS", AB, ",\"rule\":\"" A "\""), IW_RULE_UNTESTED, IW_RULE_HOLDS,
         IW_RULE_UNTESTED},
        {"", CASE("SKIP", AB, ",\"rule\":\"" B "\""), IW_RULE_OPEN, IW_RULE_UNTESTED,
         IW_RULE_UNTESTED},
        /* One case that has passed is enough. */
        {"", CASE("PASS", AB) "," CASE("SKIP", AB), IW_RULE_HOLDS, IW_RULE_HOLDS, IW_RULE_UNTESTED},
        {"", CASE("ERROR", AB) "," CASE("PASS", AB), IW_RULE_HOLDS, IW_RULE_HOLDS,
         IW_RULE_UNTESTED},
        {"", CASE("PASS", AB) "," CASE("FAIL", AB), IW_RULE_HOLDS, IW_RULE_HOLDS, IW_RULE_UNTESTED},
        /* A finding is graver than all cases. */
        {FINDING("\"" A "\""), CASE("PASS", AB), IW_RULE_BROKEN, IW_RULE_HOLDS, IW_RULE_UNTESTED},
        {FINDING("null") "," FINDING("\"" C "\""), CASE("SKIP", "\"" C "\""), IW_RULE_UNTESTED,
         IW_RULE_UNTESTED, IW_RULE_BROKEN},
        /* What is no rule. */
        {FINDING("\"X-1\"") "," FINDING("7") ",7", CASE("PASS", "7,\"X-1\",null,\"" B "\""),
         IW_RULE_UNTESTED, IW_RULE_HOLDS, IW_RULE_UNTESTED},
        {"", "{\"verdict\":\"PASS\",\"rules\":7},{\"rules\":[\"" A "\"]}", IW_RULE_OPEN,
         IW_RULE_UNTESTED, IW_RULE_UNTESTED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_run_file f = run_of(rows[i].findings, rows[i].cases);
        enum iw_rule_state states[IW_RULE_COUNT];
        int tested = 0, expected = (rows[i].a != IW_RULE_UNTESTED) +
                                   (rows[i].b != IW_RULE_UNTESTED) +
                                   (rows[i].c != IW_RULE_UNTESTED);

        iw_rule_states(&f, states);
        if (states[iw_rule_index(iw_rule_find(A))] != rows[i].a ||
            states[iw_rule_index(iw_rule_find(B))] != rows[i].b ||
            states[iw_rule_index(iw_rule_find(C))] != rows[i].c)
            fail_msg("row %zu", i);
        for (size_t k = 0; k < IW_RULE_COUNT; k++)
            tested += states[k] != IW_RULE_UNTESTED;
        assert_int_equal(tested, expected);
        iw_run_file_free(&f);
    }
}

/* ---- side by side ---- */

static const char *text_at(const json_t *list, size_t place, const char *member)
{
    const char *text = json_string_value(json_object_get(json_array_get(list, place), member));

    return text != NULL ? text : "(none)";
}

static void assert_json(const json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    assert_string_equal(text != NULL ? text : "(none)", expected);
    free(text);
}

static void runs_have_letters_then_numbers(void **state)
{
    enum { RUNS = 28 };
    struct iw_run_file runs[RUNS];

    (void)state;
    for (size_t i = 0; i < RUNS; i++)
        runs[i] = run_of("", "");
    json_t *all = iw_compare(runs, RUNS, "1.2");
    const json_t *heads = json_object_get(all, "runs"), *changes = json_object_get(all, "changes");
    assert_int_equal(json_array_size(heads), RUNS);
    assert_string_equal(text_at(heads, 0, "label"), "A");
    assert_string_equal(text_at(heads, 24, "label"), "Y");
    assert_string_equal(text_at(heads, 25, "label"), "Z");
    assert_string_equal(text_at(heads, 26, "label"), "R27");
    assert_string_equal(text_at(heads, 27, "label"), "R28");
    assert_int_equal(json_array_size(changes), RUNS - 1);
    assert_string_equal(text_at(changes, 0, "from"), "A");
    assert_string_equal(text_at(changes, 0, "to"), "B");
    assert_string_equal(text_at(changes, 26, "from"), "R27");
    assert_string_equal(text_at(changes, 26, "to"), "R28");
    assert_int_equal(json_array_size(json_object_get(all, "findings")), 0);
    assert_json(json_object_get(all, "tool"), "{\"name\":\"iwarp-conform\",\"version\":\"1.2\"}");
    assert_json(json_object_get(all, "schema"), "1");
    json_decref(all);
    for (size_t i = 0; i < RUNS; i++)
        iw_run_file_free(&runs[i]);
}

static json_t *compared(const char *findings_a, const char *cases_a, const char *findings_b,
                        const char *cases_b)
{
    struct iw_run_file runs[] = {run_of(findings_a, cases_a), run_of(findings_b, cases_b)};
    json_t *all = iw_compare(runs, 2, "1");

    iw_run_file_free(&runs[0]);
    iw_run_file_free(&runs[1]);
    return all;
}

/* What differs comes first; of a rule that both break, what they do is compared. */
static void findings_are_the_same_if_all_runs_say_so(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {FINDING("\"" A "\""), FINDING("\"" A "\""), true},
        {FINDING("null"), FINDING("null"), true},
        {FINDING("\"" A "\""), "", false},
        {"", FINDING("null"), false},
        {FINDING("\"" A "\""), "{\"rule\":\"" A "\",\"text\":\"other\"}", false},
        {FINDING("\"" A "\"") "," FINDING("\"" A "\""), FINDING("\"" A "\""), false},
        {FINDING("\"" A "\"") ",{\"rule\":\"" A "\",\"text\":\"x\"}",
         FINDING("\"" A "\"") ",{\"rule\":\"" A "\",\"text\":\"y\"}", false},
        {FINDING("\"" A "\"") ",{\"rule\":\"" A "\",\"text\":\"x\"}",
         FINDING("\"" A "\"") ",{\"rule\":\"" A "\",\"text\":\"x\"}", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        json_t *all = compared(rows[i].a, "", rows[i].b, "");
        const json_t *list = json_object_get(all, "findings");

        assert_int_equal(json_array_size(list), 1);
        if (json_is_true(json_object_get(json_array_get(list, 0), "same")) != rows[i].same)
            fail_msg("row %zu", i);
        json_decref(all);
    }
    json_t *all = compared(FINDING("\"" A "\"") "," FINDING("\"" B "\""), "",
                           FINDING("\"" A "\"") "," FINDING("\"" C "\""), "");
    const json_t *list = json_object_get(all, "findings");
    assert_int_equal(json_array_size(list), 3);
    assert_string_equal(text_at(list, 0, "rule"), B);
    assert_string_equal(text_at(list, 1, "rule"), C);
    assert_string_equal(text_at(list, 2, "rule"), A);
    json_decref(all);
}

static void what_has_become_of_a_rule_is_told(void **state)
{
    static const struct {
        const char *a, *cases_a, *b, *cases_b, *broken, *mended, *not_seen, *otherwise;
    } rows[] = {
        {"", "", FINDING("\"" A "\""), "", "[\"" A "\"]", "[]", "[]", "[]"},
        {FINDING("\"" A "\""), "", "", CASE("PASS", "\"" A "\""), "[]", "[\"" A "\"]", "[]", "[]"},
        {FINDING("\"" A "\""), "", "", CASE("SKIP", "\"" A "\""), "[]", "[]", "[\"" A "\"]", "[]"},
        {FINDING("\"" A "\""), "", "", "", "[]", "[]", "[\"" A "\"]", "[]"},
        {FINDING("\"" A "\""), "", FINDING("\"" A "\""), "", "[]", "[]", "[]", "[]"},
        {FINDING("\"" A "\""), "", "{\"rule\":\"" A "\",\"text\":\"other\"}", "", "[]", "[]", "[]",
         "[\"" A "\"]"},
        {FINDING("null"), "", "", "", "[]", "[\"it\"]", "[]", "[]"},
        {"", "", FINDING("null"), "", "[\"it\"]", "[]", "[]", "[]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        json_t *all = compared(rows[i].a, rows[i].cases_a, rows[i].b, rows[i].cases_b);
        const json_t *change = json_array_get(json_object_get(all, "changes"), 0);

        assert_json(json_object_get(change, "broken"), rows[i].broken);
        assert_json(json_object_get(change, "mended"), rows[i].mended);
        assert_json(json_object_get(change, "not_seen"), rows[i].not_seen);
        assert_json(json_object_get(change, "otherwise"), rows[i].otherwise);
        json_decref(all);
    }
}

/* Nothing is said between two runs of what a third one shows. */
static void each_change_is_of_two_runs(void **state)
{
    struct iw_run_file runs[] = {run_of("", CASE("PASS", "\"" A "\"")), run_of("", ""),
                                 run_of(FINDING("\"" A "\"") "," FINDING("null"), "")};
    static const char *const broken[] = {"[]", "[\"" A "\",\"it\"]"};
    json_t *all = iw_compare(runs, 3, "1");

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const json_t *change = json_array_get(json_object_get(all, "changes"), i);

        assert_json(json_object_get(change, "broken"), broken[i]);
        assert_json(json_object_get(change, "mended"), "[]");
        assert_json(json_object_get(change, "not_seen"), "[]");
        assert_json(json_object_get(change, "otherwise"), "[]");
    }
    json_decref(all);
    for (size_t i = 0; i < 3; i++)
        iw_run_file_free(&runs[i]);
}

#define ONE(id, verdict, more) "{\"id\":\"" id "\",\"verdict\":\"" verdict "\"" more "}"

static void cases_with_another_verdict_are_listed(void **state)
{
    json_t *all =
        compared("", ONE("a", "PASS", "") "," ONE("b", "PASS", "") "," ONE("gone", "NOTE", ""), "",
                 ONE("b", "FAIL", ",\"reason\":\"why\"") "," ONE(
                     "a", "PASS", ",\"reason\":\"x\"") "," ONE("new", "SKIP", ",\"reason\":7"));

    (void)state;
    assert_json(json_object_get(json_array_get(json_object_get(all, "changes"), 0), "cases"),
                "[{\"id\":\"b\",\"from\":\"PASS\",\"to\":\"FAIL\",\"reason\":\"why\"},"
                "{\"id\":\"new\",\"from\":null,\"to\":\"SKIP\",\"reason\":null},"
                "{\"id\":\"gone\",\"from\":\"NOTE\",\"to\":null,\"reason\":null}]");
    json_decref(all);
}

/* Each section of an RFC once, with all of its rules. */
static void sections_are_told_once(void **state)
{
    json_t *all = compared(FINDING("\"" B "\""), "", "", CASE("PASS", "\"" B "\""));
    const json_t *list = json_object_get(all, "sections"), *one;
    json_int_t rules = 0;
    size_t i, found = 0;

    (void)state;
    json_array_foreach(list, i, one)
    {
        rules += json_integer_value(json_object_get(one, "rules"));
        if (json_integer_value(json_object_get(one, "rfc")) == 5044 &&
            strcmp(text_at(list, i, "section"), "8") == 0) {
            found++;
            assert_json(json_object_get(one, "cells"),
                        "[{\"broken\":1,\"holds\":0,\"not decided\":0,\"not tested\":12},"
                        "{\"broken\":0,\"holds\":1,\"not decided\":0,\"not tested\":12}]");
        }
    }
    assert_int_equal(found, 1);
    assert_int_equal(rules, IW_RULE_COUNT);
    json_decref(all);
}

/* ---- text ---- */

static char *written(void (*write)(FILE *out, const json_t *comparison), const char *comparison)
{
    json_t *all = json_loads(comparison, 0, NULL);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(all);
    assert_non_null(out);
    write(out, all);
    assert_int_equal(fclose(out), 0);
    json_decref(all);
    return text;
}

static void assert_printed(const char *comparison, const char *expected)
{
    char *text = written(iw_compare_print, comparison);

    assert_string_equal(text, expected);
    free(text);
}

#define ROW(rule, same, cells)                                                                     \
    "{\"rule\":" rule ",\"text\":\"it\",\"same\":" same ",\"cells\":[" cells "]}"

static void a_summary_counts_in_words(void **state)
{
    static const struct {
        const char *rows, *ends;
    } counts[] = {
        {"", "0 findings differ, 0 are the same in all runs\n"},
        {ROW("null", "true", ""),
         "rule          text\n-             it\n\n0 findings differ, 1 is the same in all runs\n"},
        {ROW("null", "false", ""),
         "rule          text\n-             it\n\n1 finding differs, 0 are the same in all runs\n"},
        {ROW("null", "true", "") "," ROW("null", "true", ""),
         "rule          text\n-             it\n-             it\n\n"
         "0 findings differ, 2 are the same in all runs\n"},
        {ROW("null", "false", "") "," ROW("\"MPA-8-02\"", "false", ""),
         "rule          text\n-             it\nMPA-8-02      it\n\n"
         "2 findings differ, 0 are the same in all runs\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        char *all = iw_text_format("{\"findings\":[%s]}", counts[i].rows);
        char *expected = iw_text_format("\n%s", counts[i].ends);

        assert_printed(all, expected);
        free(expected);
        free(all);
    }
}

static void a_summary_tells_runs_and_cells(void **state)
{
    (void)state;
    assert_printed(
        "{\"runs\":[{\"label\":\"A\",\"path\":\"p\",\"rules\":{\"broken\":1,\"holds\":2,"
        "\"not decided\":3}},{\"label\":\"B\",\"path\":\"q\",\"target\":{\"version\":\"2\"},"
        "\"device\":{\"driver\":\"siw\"},\"started\":\"now\"}],\"findings\":[" ROW(
            "\"X\"", "false",
            "{\"state\":\"broken\",\"cases\":1},{\"state\":\"not decided\",\"cases\":0}") "]}",
        "A  p: 1 broken, 2 hold, 3 not decided\n"
        "B  q: 2, driver siw, now: 0 broken, 0 hold, 0 not decided\n"
        "\n"
        "rule          A             B             text\n"
        "X             broken 1      not decided   it\n"
        "\n"
        "1 finding differs, 0 are the same in all runs\n");
}

#define MOVED(from, to) "{\"id\":\"x\",\"from\":" from ",\"to\":" to "}"

static void a_summary_tells_changes(void **state)
{
    (void)state;
    assert_printed(
        "{\"changes\":[{\"from\":\"A\",\"to\":\"B\",\"broken\":[\"r\",\"s\"],\"mended\":"
        "[\"t\"],\"not_seen\":[\"u\"],\"otherwise\":[\"v\"],\"cases\":[" MOVED(
            "\"PASS\"",
            "\"FAIL\"") "]},"
                        "{\"from\":\"B\",\"to\":\"C\",\"cases\":[" MOVED(
                            "null",
                            "\"FAIL\"") "]},"
                                        "{\"from\":\"C\",\"to\":\"D\",\"cases\":[" MOVED("\"PASS\"", "null") "," MOVED(
                                            "null",
                                            "\"PASS\"") "," MOVED("\"PASS\"",
                                                                  "\"NOTE\"") "," MOVED("\"PASS\"",
                                                                                        "\"FAIL\"") "]}]}",
        "\n0 findings differ, 0 are the same in all runs\n"
        "A to B: 1 case with another verdict\n"
        "  broken     r, s\n"
        "  mended     t\n"
        "  not seen   u\n"
        "  otherwise  v\n"
        "B to C: 0 cases with another verdict, 1 that one of them has not played\n"
        "C to D: 2 cases with another verdict, 2 that one of them has not played\n");
}

static void a_table_has_a_line_for_each_rule(void **state)
{
    char *text = written(
        iw_compare_write_csv,
        "{\"runs\":[{\"label\":\"A\",\"path\":\"a,b\"},{\"label\":\"B\",\"path\":\"c\"}],"
        "\"findings\":[{\"rule\":\"X\",\"rfc\":1,\"section\":\"2.1\",\"level\":\"MUST\","
        "\"text\":\"t\",\"same\":true,\"cells\":[{\"state\":\"broken\",\"cases\":2,\"findings\":"
        "[{\"text\":\"p\"},{\"text\":\"q\"},{\"text\":\"r\"}]},{\"state\":\"holds\",\"cases\":0,"
        "\"findings\":[]}]},{\"rule\":null,\"rfc\":0,\"text\":\"u,v\",\"same\":false}]}");

    (void)state;
    assert_string_equal(text, "rule,rfc,section,level,same,text,\"A: a,b\",A cases,A what,B: c,"
                              "B cases,B what\n"
                              "X,1,2.1,MUST,yes,t,broken,2,p; q; r,holds,0,\n"
                              ",,,,no,\"u,v\"\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_have_names),
        cmocka_unit_test(a_run_says_what_holds),
        cmocka_unit_test(runs_have_letters_then_numbers),
        cmocka_unit_test(findings_are_the_same_if_all_runs_say_so),
        cmocka_unit_test(what_has_become_of_a_rule_is_told),
        cmocka_unit_test(each_change_is_of_two_runs),
        cmocka_unit_test(cases_with_another_verdict_are_listed),
        cmocka_unit_test(sections_are_told_once),
        cmocka_unit_test(a_summary_counts_in_words),
        cmocka_unit_test(a_summary_tells_runs_and_cells),
        cmocka_unit_test(a_summary_tells_changes),
        cmocka_unit_test(a_table_has_a_line_for_each_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
