/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform compare`: tiny runs, and all that is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "conform_call.h"
#include "host/text.h"

#define FINDING(number, rule, text, count)                                                         \
    "{\"number\":" number ",\"rule\":" rule ",\"verdict\":\"FAIL\",\"text\":\"" text               \
    "\",\"expected\":\"e\",\"actual\":null,\"count\":" count "}"
#define CASE(id, verdict, more)                                                                    \
    "{\"id\":\"" id "\",\"verdict\":\"" verdict "\",\"rules\":[\"DDP-7.1-10\",\"MPA-8-02\"]" more  \
    "}"

/* A good device; one that breaks a rule, and crashes; one that breaks it in another way, and was
 * not asked about the rest. */
static const char good[] =
    "{\"schema\":1,\"tool\":{\"name\":\"iwarp-conform\",\"version\":\"1\"},\"suite\":{\"version\":"
    "\"5\","
    "\"cases\":2},\"target\":{\"name\":\"peer\",\"class\":\"bare\",\"version\":\"1.0\"},\"device\":"
    "{"
    "\"name\":\"T6\",\"driver\":\"cxgb4\",\"firmware\":null,\"kernel\":null,\"operator\":\"me\"},"
    "\"started\":\"2026-01-01T00:00:00Z\",\"exit\":0,\"summary\":{\"PASS\":2},\"findings\":[],"
    "\"cases\":[" CASE("a", "PASS", "") "," CASE("b", "PASS", "") "]}";
static const char bad[] = "{\"schema\":1,\"target\":{\"name\":\"peer\"},\"findings\":[" FINDING(
    "1", "\"DDP-7.1-10\"", "no, \\\"never\\\"",
    "2") "," FINDING("2", "\"DDP-7.1-10\"", "late",
                     "1") "," FINDING("3", "null", "it crashed",
                                      "1") "],"
                                           "\"cases\":[" CASE("a", "FAIL",
                                                              ",\"rule\":\"DDP-7.1-10\",\"reason\":"
                                                              "\"no\"") "," CASE("b", "PASS",
                                                                                 "") "]}";
static const char other[] =
    "{\"schema\":1,\"findings\":[" FINDING("1", "\"DDP-7.1-10\"", "late", "1") "," FINDING(
        "2", "null", "it crashed", "4") "],\"cases\":[" CASE("c", "SKIP", "") "]}";

static void put_runs(void)
{
    free(folder_file(&conform_folder, "good/run.json", good));
    free(folder_file(&conform_folder, "bad.json", bad));
    free(folder_file(&conform_folder, "other.json", other));
}

#define SUMMARY                                                                                    \
    "A  good: peer, 1.0, T6, driver cxgb4, operator me, 2026-01-01T00:00:00Z: 0 broken, 2 hold, "  \
    "0 "                                                                                           \
    "not decided\n"                                                                                \
    "B  bad.json: peer: 1 broken, 1 hold, 0 not decided\n"                                         \
    "C  other.json: 1 broken, 0 hold, 1 not decided\n"                                             \
    "\n"                                                                                           \
    "rule          A             B             C             text\n"                               \
    "DDP-7.1-10    holds         broken 3      broken 1      The STag of a non-empty tagged "      \
    "segment must be valid for the stream\n"                                                       \
    "-             holds         broken 1      broken 4      it crashed\n"                         \
    "\n"                                                                                           \
    "2 findings differ, 0 are the same in all runs\n"                                              \
    "A to B: 1 case with another verdict\n"                                                        \
    "  broken     DDP-7.1-10, it crashed\n"                                                        \
    "B to C: 0 cases with another verdict, 3 that one of them has not played\n"                    \
    "  otherwise  DDP-7.1-10\n"

static void has(const json_t *object, const char *member, const char *expected)
{
    char *text = json_dumps(json_object_get(object, member), JSON_COMPACT | JSON_ENCODE_ANY);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void runs_stand_side_by_side(void **state)
{
    json_t *all, *one;

    (void)state;
    put_runs();
    conform_says("compare good bad.json other.json --json j --csv c --html h", 0, SUMMARY, "");
    assert_string_equal(
        conform_file("c"),
        "rule,rfc,section,level,same,text,A: good,A cases,A what,B: bad.json,B cases,B what,"
        "C: other.json,C cases,C what\n"
        "DDP-7.1-10,5041,7.1,MUST,no,The STag of a non-empty tagged segment must be valid for the "
        "stream,holds,0,,broken,3,\"no, \"\"never\"\"; late\",broken,1,late\n"
        ",,,,no,it crashed,holds,0,,broken,1,it crashed,broken,4,it crashed\n");
    assert_memory_equal(conform_file("h"), "<!doctype html>", 15);
    all = json_loads(conform_file("j"), 0, NULL);
    assert_non_null(all);
    assert_int_equal(json_object_size(all), 6);
    one = json_array_get(json_object_get(all, "runs"), 0);
    has(one, "label", "\"A\"");
    has(one, "path", "\"good\"");
    has(one, "device",
        "{\"name\":\"T6\",\"driver\":\"cxgb4\",\"firmware\":null,\"kernel\":null,\"operator\":"
        "\"me\"}");
    has(one, "suite", "{\"version\":\"5\",\"cases\":2}");
    has(one, "rules", "{\"broken\":0,\"holds\":2,\"not decided\":0,\"not tested\":774}");
    one = json_array_get(json_object_get(all, "runs"), 2);
    has(one, "device", "null"); /* a report of an older version */
    has(one, "rules", "{\"broken\":1,\"holds\":0,\"not decided\":1,\"not tested\":774}");
    has(all, "findings",
        "[{\"rule\":\"DDP-7.1-10\",\"text\":\"The STag of a non-empty tagged segment must be valid "
        "for the stream\",\"rfc\":5041,\"section\":\"7.1\",\"level\":\"MUST\",\"implied\":false,"
        "\"same\":false,\"cells\":[{\"state\":\"holds\",\"cases\":0,\"findings\":[]},"
        "{\"state\":\"broken\",\"cases\":3,\"findings\":["
        "{\"number\":1,\"verdict\":\"FAIL\",\"text\":\"no, \\\"never\\\"\",\"expected\":\"e\","
        "\"actual\":null,\"count\":2},{\"number\":2,\"verdict\":\"FAIL\",\"text\":\"late\","
        "\"expected\":\"e\",\"actual\":null,\"count\":1}]},{\"state\":\"broken\",\"cases\":1,"
        "\"findings\":[{\"number\":1,\"verdict\":\"FAIL\",\"text\":\"late\",\"expected\":\"e\","
        "\"actual\":null,\"count\":1}]}]},"
        "{\"rule\":null,\"text\":\"it crashed\",\"same\":false,\"cells\":[{\"state\":\"holds\","
        "\"cases\":0,\"findings\":[]},{\"state\":\"broken\",\"cases\":1,\"findings\":[{\"number\":"
        "3,"
        "\"verdict\":\"FAIL\",\"text\":\"it crashed\",\"expected\":\"e\",\"actual\":null,"
        "\"count\":1}]},{\"state\":\"broken\",\"cases\":4,\"findings\":[{\"number\":2,"
        "\"verdict\":\"FAIL\",\"text\":\"it crashed\",\"expected\":\"e\",\"actual\":null,"
        "\"count\":4}]}]}]");
    has(all, "changes",
        "[{\"from\":\"A\",\"to\":\"B\",\"broken\":[\"DDP-7.1-10\",\"it crashed\"],\"mended\":[],"
        "\"not_seen\":[],\"otherwise\":[],\"cases\":[{\"id\":\"a\",\"from\":\"PASS\",\"to\":"
        "\"FAIL\","
        "\"reason\":\"no\"}]},"
        "{\"from\":\"B\",\"to\":\"C\",\"broken\":[],\"mended\":[],\"not_seen\":[],\"otherwise\":["
        "\"DDP-7.1-10\"],\"cases\":[{\"id\":\"c\",\"from\":null,\"to\":\"SKIP\",\"reason\":null},"
        "{\"id\":\"a\",\"from\":\"FAIL\",\"to\":null,\"reason\":null},"
        "{\"id\":\"b\",\"from\":\"PASS\",\"to\":null,\"reason\":null}]}]");
    json_decref(all);
}

static void sections_count_the_rules_of_each(void **state)
{
    json_t *all, *one;
    size_t i, rules = 0, found = 0;

    (void)state;
    put_runs();
    conform_says("compare good bad.json --json j", 0, NULL, "");
    all = json_loads(conform_file("j"), 0, NULL);
    json_array_foreach(json_object_get(all, "sections"), i, one)
    {
        rules += (size_t)json_integer_value(json_object_get(one, "rules"));
        if (json_integer_value(json_object_get(one, "rfc")) == 5044 &&
            strcmp(json_string_value(json_object_get(one, "section")), "8") == 0) {
            found++;
            has(one, "rules", "13");
            has(one, "cells",
                "[{\"broken\":0,\"holds\":1,\"not decided\":0,\"not tested\":12},"
                "{\"broken\":0,\"holds\":1,\"not decided\":0,\"not tested\":12}]");
        }
    }
    assert_int_equal(rules, 776);
    assert_int_equal(found, 1);
    json_decref(all);
}

static void what_is_the_same_or_mended_is_said(void **state)
{
    (void)state;
    put_runs();
    conform_says("compare bad.json bad.json good", 0,
                 "A  bad.json: peer: 1 broken, 1 hold, 0 not decided\n"
                 "B  bad.json: peer: 1 broken, 1 hold, 0 not decided\n"
                 "C  good: peer, 1.0, T6, driver cxgb4, operator me, 2026-01-01T00:00:00Z: 0 "
                 "broken, 2 hold, 0 not decided\n"
                 "\n"
                 "rule          A             B             C             text\n"
                 "DDP-7.1-10    broken 3      broken 3      holds         The STag of a non-empty "
                 "tagged segment must be valid for the stream\n"
                 "-             broken 1      broken 1      holds         it crashed\n"
                 "\n"
                 "2 findings differ, 0 are the same in all runs\n"
                 "A to B: 0 cases with another verdict\n"
                 "B to C: 1 case with another verdict\n"
                 "  mended     DDP-7.1-10, it crashed\n",
                 "");
    conform_says("compare bad.json bad.json", 0, NULL, "");
    conform_says("compare good good", 0,
                 "A  good: peer, 1.0, T6, driver cxgb4, operator me, 2026-01-01T00:00:00Z: 0 "
                 "broken, 2 hold, 0 not decided\n"
                 "B  good: peer, 1.0, T6, driver cxgb4, operator me, 2026-01-01T00:00:00Z: 0 "
                 "broken, 2 hold, 0 not decided\n"
                 "\n"
                 "0 findings differ, 0 are the same in all runs\n"
                 "A to B: 0 cases with another verdict\n",
                 "");
    /* What was broken was not asked any more. */
    free(folder_file(&conform_folder, "none.json", "{\"schema\":1,\"cases\":[]}"));
    struct said s;
    conform_call(&s, "compare bad.json none.json");
    assert_non_null(strstr(s.out, "  mended     it crashed\n  not seen   DDP-7.1-10\n"));
    assert_non_null(strstr(s.out, "DDP-7.1-10    broken 3      not tested    The STag"));
}

static void what_cannot_be_compared_is_named(void **state)
{
    (void)state;
    put_runs();
    conform_says("compare good", 64, "",
                 "iwarp-conform: compare: expected two runs or more: folders of results, or JSON "
                 "reports\n");
    conform_says("compare good bad.json none", 64, "",
                 "iwarp-conform: cannot read none: No such file or directory\n");
    free(folder_file(&conform_folder, "x.json", "{\"schema\":1,\"cases\":[1]}"));
    conform_says("compare good x.json", 64, "",
                 "iwarp-conform: x.json: expected the JSON report of a run\n");
    conform_says("compare good bad.json --json no/j", 73, NULL,
                 "iwarp-conform: cannot write no/j: No such file or directory\n");
    conform_says("compare good bad.json --html /dev/full", 73, NULL,
                 "iwarp-conform: cannot write /dev/full: No space left on device\n");
    conform_says("compare good bad.json --tap", 64, "",
                 "iwarp-conform: --tap: of no use with 'compare'\n");
}

int main(int argc, char **argv)
{
    if (argc > 1) /* conform_call() begins this program again */
        return iw_conform(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_stand_side_by_side, conform_setup, conform_teardown),
        cmocka_unit_test_setup_teardown(sections_count_the_rules_of_each, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(what_is_the_same_or_mended_is_said, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_compared_is_named, conform_setup,
                                        conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
