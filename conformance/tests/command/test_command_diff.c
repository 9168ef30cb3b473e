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
        char *out = iw_text_format("x\n  A  \n%s" ENDS "1 case differs\n", rows[i].shown);

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

#define CASE(verdict, ...)                                                                         \
    "{\"id\":\"x\",\"verdict\":\"" verdict "\",\"exchange\":[" __VA_ARGS__ "]}"
#define SAYS(from, text, octets, fields)                                                           \
    "{\"conn\":0,\"from\":\"" from "\",\"text\":\"" text "\",\"octets\":\"" octets                 \
    "\",\"fields\":\"" fields "\"}"
#define FIN(from) "{\"conn\":0,\"from\":\"" from "\",\"text\":\"fin\"}"
#define REQUEST SAYS("station", "mpa request rev 2", "4d50", "0+2 Key")
#define REPLY(rev) SAYS("target", "mpa reply rev " rev, "4d500" rev, "0+2 Key|2+1 Rev")
#define TERMINATE(code)                                                                            \
    SAYS("target", "terminate 1/1/" code, "0010" code "aabbcc" code,                               \
         "0+2 ULPDU_Length|2+1 Error code|3+4 CRC")
#define HEAD_OF_X "x\n  A  PASS\n  B  FAIL\n"

/* The station's messages differ by what the target has given it: its STags, say. */
static void messages_are_compared_field_by_field(void **state)
{
    (void)state;
    differ(CASE("PASS", REQUEST "," REPLY("2") "," TERMINATE("01")),
           CASE("FAIL", REQUEST "," REPLY("1") "," TERMINATE("02")), 1,
           HEAD_OF_X "    A       0 target  mpa reply rev 2\n"
                     "    B       0 target  mpa reply rev 1\n"
                     "        Rev                        2 | 1\n"
                     "    A       0 target  terminate 1/1/01\n"
                     "    B       0 target  terminate 1/1/02\n"
                     "        Error code                 0x01 | 0x02\n" ENDS "1 case differs\n");
    differ(CASE("PASS", SAYS("station", "write stag 1", "0001", "0+2 STag")),
           CASE("FAIL", SAYS("station", "write stag 2", "0002", "0+2 STag")), 1,
           HEAD_OF_X ENDS "1 case differs\n");
    /* Unless the case remarks on them. */
    differ(CASE("PASS",
                "{\"conn\":0,\"from\":\"station\",\"text\":\"write stag 1\",\"octets\":\"0001\","
                "\"fields\":\"0+2 STag\",\"remarks\":[[0,\"stimulus\"]]}"),
           CASE("FAIL", SAYS("station", "write stag 2", "0002", "0+2 STag")), 1,
           HEAD_OF_X "    A       0 station write stag 1\n"
                     "    B       0 station write stag 2\n"
                     "        STag                       0x0001 | 0x0002\n" ENDS
                     "1 case differs\n");
    /* Fields of one side only, those that Markers part, long ones, and a CRC that differs alone. */
    differ(CASE("PASS",
                SAYS("target", "send", "00010203040506070809", "0+1 QN|1+1 MO|2+1 MO|3+7 Pad")),
           CASE("FAIL", SAYS("target", "send", "0001ff", "0+1 QN|1+1 MO|2+1 MO|3+7 Payload")), 1,
           HEAD_OF_X "    A       0 target  send\n"
                     "    B       0 target  send\n"
                     "        MO                         2 | 255\n"
                     "        Pad                        0x03040506070809 | -\n"
                     "        Payload                    - | -\n" ENDS "1 case differs\n");
    differ(CASE("PASS", SAYS("target", "send", "000102030405060708", "0+9 Payload")),
           CASE("FAIL", SAYS("target", "send", "00010203040506070800", "0+10 Payload")), 1,
           HEAD_OF_X "    A       0 target  send\n"
                     "    B       0 target  send\n"
                     "        Payload                    0x0001020304050607... (9 octets) | "
                     "0x0001020304050607... (10 octets)\n" ENDS "1 case differs\n");
    differ(CASE("PASS", SAYS("target", "send", "01", "0+1 CRC")),
           CASE("FAIL", SAYS("target", "send", "02", "0+1 CRC")), 1,
           HEAD_OF_X "    A       0 target  send\n"
                     "    B       0 target  send\n"
                     "        CRC                        0x01 | 0x02\n" ENDS "1 case differs\n");
    /* Octets that nobody has decoded; fields that are none. */
    differ(CASE("PASS", SAYS("target", "3 octets", "0a0b0c", "")),
           CASE("FAIL", SAYS("target", "2 octets", "0a0b", "1 x")), 1,
           HEAD_OF_X "    A       0 target  3 octets\n"
                     "    B       0 target  2 octets\n"
                     "        octets                     0x0a0b0c | 0x0a0b\n" ENDS
                     "1 case differs\n");
}

/* A stimulus is never laid beside an answer. */
static void messages_are_aligned_by_what_they_are(void **state)
{
    (void)state;
    differ(CASE("PASS",
                REQUEST "," REPLY("2") "," TERMINATE("01") "," FIN("station") "," FIN("target")),
           CASE("FAIL", REQUEST "," FIN("target") "," FIN("station")), 1,
           HEAD_OF_X "    A only  0 target  mpa reply rev 2\n"
                     "    A only  0 target  terminate 1/1/01\n"
                     "    A only  0 station fin\n"
                     "    B only  0 station fin\n" ENDS "1 case differs\n");
    /* A message that one side has twice; another connection; another kind of start-up frame. */
    differ(CASE("PASS", REPLY("1")), CASE("FAIL", REPLY("1") "," REPLY("1")), 1,
           HEAD_OF_X "    B only  0 target  mpa reply rev 1\n" ENDS "1 case differs\n");
    differ(CASE("PASS", FIN("target")),
           CASE("FAIL", "{\"conn\":1,\"from\":\"target\",\"text\":\"fin\"}"), 1,
           HEAD_OF_X "    A only  0 target  fin\n    B only  1 target  fin\n" ENDS
                     "1 case differs\n");
    differ(CASE("PASS", REPLY("1")), CASE("FAIL", SAYS("target", "mpa request rev 1", "", "")), 1,
           HEAD_OF_X "    A only  0 target  mpa reply rev 1\n"
                     "    B only  0 target  mpa request rev 1\n" ENDS "1 case differs\n");
    /* Nothing was exchanged, or the lists hold no messages. */
    differ(CASE("PASS", ""), CASE("FAIL", REQUEST), 1,
           HEAD_OF_X "    B only  0 station mpa request rev 2\n" ENDS "1 case differs\n");
    differ(CASE("PASS", "1,null"), CASE("FAIL", "[]"), 1,
           HEAD_OF_X "    A only  0         \n" ENDS "1 case differs\n");
    differ("{\"id\":\"x\",\"verdict\":\"PASS\",\"exchange\":7}", CASE("FAIL", ""), 1,
           HEAD_OF_X ENDS "1 case differs\n");
    differ(CASE("PASS", REPLY("1")), "", 1,
           "x\n  A  PASS\n  B  (not played)\n" ENDS "1 case differs\n");
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
        cmocka_unit_test_setup_teardown(messages_are_compared_field_by_field, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(messages_are_aligned_by_what_they_are, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_report_is_named, conform_setup,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(a_folder_of_results_has_a_report, conform_setup,
                                        conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
