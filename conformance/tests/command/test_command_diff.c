/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform diff`: what is compared, and how a difference is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conform_call.h"
#include "host/text.h"

#define HEAD(version)                                                                              \
    "{\"schema\":1,\"target\":{\"name\":\"peer\",\"version\":\"" version "\"},\"cases\":["
#define ENDS                                                                                       \
    "A  a.json: peer 1.0\n"                                                                        \
    "B  b.json: peer 2.0\n"

/* Compares two runs of these cases. */
static void differ(const char *a, const char *b, int status, const char *out)
{
    char *first = iw_text_format("%s%s]}", HEAD("1.0"), a);
    char *second = iw_text_format("%s%s]}", HEAD("2.0"), b);

    free(folder_file(&conform_folder, "a.json", first));
    free(folder_file(&conform_folder, "b.json", second));
    conform_says("diff a.json b.json", status, out, "");
    free(first);
    free(second);
}

static void equal_runs_do_not_differ(void **state)
{
    static const char one[] = "{\"id\":\"x\",\"verdict\":\"PASS\"}";

    (void)state;
    differ(one, one, 0, ENDS "0 cases differ\n");
    differ("", "", 0, ENDS "0 cases differ\n");
    /* Where and when it was played says nothing about the peer. */
    differ("{\"id\":\"x\",\"verdict\":\"PASS\",\"seconds\":1,\"where\":\"a:1\",\"pcap\":\"a\"}",
           "{\"id\":\"x\",\"verdict\":\"PASS\",\"seconds\":2,\"where\":\"b:2\",\"pcap\":\"b\"}", 0,
           ENDS "0 cases differ\n");
}

static void each_member_that_the_peer_decides_is_compared(void **state)
{
    static const struct {
        const char *member, *shown;
    } rows[] = {
        {"\"verdict\":\"FAIL\"", "  B  FAIL\n"},
        {"\"rule\":\"MPA-8-02\"", "  B   MPA-8-02\n"},
        {"\"reason\":\"because\"", "  B  : because\n"},
        {"\"expected\":\"this\"", "  B  \n     expected this\n"},
        {"\"actual\":\"that\"", "  B  \n     actual   that\n"},
        {"\"observed\":\"crc=on\"", "  B  \n     observed crc=on\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *b = iw_text_format("{\"id\":\"x\",%s}", rows[i].member);
        char *out = iw_text_format("x\n  A  \n%s" ENDS "1 cases differ\n", rows[i].shown);

        differ("{\"id\":\"x\"}", b, 1, out);
        free(b);
        free(out);
    }
}

static void a_case_of_one_run_only_differs(void **state)
{
    (void)state;
    differ("{\"id\":\"x\",\"verdict\":\"PASS\"},{\"id\":\"both\",\"verdict\":\"PASS\"}",
           "{\"id\":\"both\",\"verdict\":\"PASS\"},"
           "{\"id\":\"y\",\"verdict\":\"FAIL\",\"rule\":\"DDP-7.1-10\",\"reason\":\"why\"}",
           1,
           "x\n  A  PASS\n  B  (not played)\n"
           "y\n  A  (not played)\n  B  FAIL DDP-7.1-10: why\n" ENDS "2 cases differ\n");
}

#define WITH(verdict, before, octets)                                                              \
    "{\"id\":\"x\",\"verdict\":\"" verdict "\",\"exchange\":["                                     \
    "{\"octets\":\"ee\",\"remarks\":[[0,\"stimulus\"],[0]]}," before "{\"octets\":\"" octets       \
    "\",\"remarks\":[[3,\"other\"],[0,\"deciding: it\"]]},"                                        \
    "{\"octets\":\"dd\",\"remarks\":[[0,\"deciding, too late\"]]}]}"

/* Of the messages that decided. */
static void octets_that_differ_are_marked(void **state)
{
    (void)state;
    differ(WITH("PASS", "", "00112233445566778899aabbccddeeff01"),
           WITH("FAIL", "{},", "00122233445566778899aabbccddeefe"), 1,
           "x\n  A  PASS\n  B  FAIL\n"
           "    0000  00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff  |  "
           "00 12 22 33 44 55 66 77 88 99 aa bb cc dd ee fe\n"
           "             ^^                                        ^^ \n"
           "    0010  01                                               |  "
           "                                               \n"
           "          ^^                                              \n" ENDS "1 cases differ\n");
    differ(WITH("PASS", "", "0011"), WITH("FAIL", "", "001122"), 1,
           "x\n  A  PASS\n  B  FAIL\n"
           "    0000  00 11                                            |  "
           "00 11 22                                       \n"
           "                ^^                                        \n" ENDS "1 cases differ\n");
    /* Equal octets, and octets of one side only. */
    differ(WITH("PASS", "", "0011"), WITH("FAIL", "", "0011"), 1,
           "x\n  A  PASS\n  B  FAIL\n" ENDS "1 cases differ\n");
    differ(WITH("PASS", "", "aa"), "", 1,
           "x\n  A  PASS\n  B  (not played)\n" ENDS "1 cases differ\n");
    differ("{\"id\":\"x\",\"verdict\":\"PASS\"}", WITH("FAIL", "", "aa"), 1,
           "x\n  A  PASS\n  B  FAIL\n"
           "    0000                                                   |  "
           "aa                                             \n"
           "          ^^                                              \n" ENDS "1 cases differ\n");
}

static void what_is_no_report_is_named(void **state)
{
    static const struct {
        const char *content, *error;
    } rows[] = {
        {"{\"schema\":1}", "iwarp-conform: b.json: expected the JSON report of a run\n"},
        {"{\"schema\":1,\"cases\":{}}",
         "iwarp-conform: b.json: expected the JSON report of a run\n"},
        {"{\"schema\":2,\"cases\":[]}",
         "iwarp-conform: b.json: expected the JSON report of a run\n"},
        {"{\"schema\":0,\"cases\":[]}",
         "iwarp-conform: b.json: expected the JSON report of a run\n"},
        {"\n\n{", "iwarp-conform: b.json:3: string or '}' expected near end of file\n"},
        {"", "iwarp-conform: b.json:1: '[' or '{' expected near end of file\n"},
    };

    (void)state;
    free(folder_file(&conform_folder, "a/run.json", HEAD("1.0") "]}"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        free(folder_file(&conform_folder, "b.json", rows[i].content));
        conform_says("diff a b.json", 64, "", rows[i].error);
        conform_says("diff b.json a", 64, "", rows[i].error);
    }
    conform_says("diff a none", 64, "",
                 "iwarp-conform: cannot read none: No such file or directory\n");
    conform_says("diff a cases", 64, "",
                 "iwarp-conform: cannot read cases: No such file or directory\n");
}

/* A folder of results stands for the report in it. */
static void a_folder_of_results_has_a_report(void **state)
{
    (void)state;
    free(folder_file(&conform_folder, "a/run.json", HEAD("1.0") "]}"));
    conform_says("diff a a", 0, "A  a: peer 1.0\nB  a: peer 1.0\n0 cases differ\n", "");
    free(folder_file(&conform_folder, "empty/x", ""));
    conform_says("diff a empty", 64, "",
                 "iwarp-conform: cannot read empty/run.json: No such file or directory\n");
    conform_says("diff a", 64, "",
                 "iwarp-conform: diff: expected two runs: folders of results, or JSON reports\n");
    conform_says("diff a a b", 64, "", "iwarp-conform: diff: did not expect 'b'\n");
}

int main(int argc, char **argv)
{
    if (argc > 1) /* conform_call() begins this program again */
        return iw_conform(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_runs_do_not_differ, conform_setup, conform_teardown),
        cmocka_unit_test_setup_teardown(each_member_that_the_peer_decides_is_compared,
                                        conform_setup, conform_teardown),
        cmocka_unit_test_setup_teardown(a_case_of_one_run_only_differs, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(octets_that_differ_are_marked, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_report_is_named, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_folder_of_results_has_a_report, conform_setup,
                                        conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
