/* SPDX-License-Identifier: BSD-3-Clause */
/* The reports, literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/csv.h"
#include "host/text.h"
#include "report/report_console.h"
#include "report/report_csv.h"
#include "report/report_json.h"
#include "report/report_junit.h"
#include "report/report_tap.h"
#include "run/run_record.h"

/* ---- one entry of each verdict ---- */

/* Not the catalogue's: its words may change. */
static const struct iw_rule crc = {
    .id = "MPA-8-02",
    .level = IW_LEVEL_MUST,
    .text = "CRC error means error code 2; stream dropped, nothing delivered"};
static const struct iw_rule pad = {
    .id = "MPA-4.1-02", .level = IW_LEVEL_MUST, .text = "Sender zeroes all pad octets"};
static const struct iw_rule *crc_rule[1], *pad_rule[1], *many_rules[2];
static struct iw_case cases[5];
static struct iw_entry entries[7];
static struct iw_record record;

static struct iw_case a_case(char *id, const struct iw_rule **rules, size_t n, int line)
{
    return (struct iw_case){.id = id,
                            .purpose = "p",
                            .file = "cases/mpa/crc.lua",
                            .line = line,
                            .rules = rules,
                            .n_rules = n,
                            .worst = IW_VERDICT_FAIL,
                            .role = IW_MPA_RESPONDER};
}

static void fill(void)
{
    crc_rule[0] = many_rules[0] = &crc;
    pad_rule[0] = many_rules[1] = &pad;
    cases[0] = a_case("crc-good", crc_rule, 1, 3);
    cases[1] = a_case("pad-odd", pad_rule, 1, 10);
    cases[2] = a_case("crc-bad", many_rules, 2, 20);
    cases[2].role = IW_MPA_INITIATOR;
    cases[3] = a_case("late", crc_rule, 1, 30);
    cases[4] = a_case("agent-only", crc_rule, 1, 40);
    cases[4].worst = IW_VERDICT_NOTE;
    for (size_t i = 0; i < 5; i++)
        entries[i] = (struct iw_entry){.c = &cases[i], .file = cases[i].file, .done = true};
    entries[0].result = (struct iw_result){
        .id = "crc-good", .verdict = IW_VERDICT_PASS, .seconds = 0.25, .observed = "close=fin"};
    entries[1].result = (struct iw_result){.id = "pad-odd",
                                           .verdict = IW_VERDICT_NOTE,
                                           .rule = pad_rule[0],
                                           .seconds = 0.5,
                                           .reason = "pad octets are not zero"};
    entries[2].result = (struct iw_result){.id = "crc-bad",
                                           .verdict = IW_VERDICT_FAIL,
                                           .rule = crc_rule[0],
                                           .role = IW_MPA_INITIATOR,
                                           .seconds = 1.5,
                                           .reason = "no \"Terminate\" & <nothing> # else",
                                           .expected = "terminate 2/0/02 or terminate 2/0/05",
                                           .actual = "fin",
                                           .pcap = "out/crc-bad.pcapng",
                                           .where = "cases/mpa/crc.lua:25",
                                           .notes = "one\ntwo"};
    entries[3].result = (struct iw_result){
        .id = "late", .verdict = IW_VERDICT_INCONCLUSIVE, .seconds = 3, .reason = "no start-up"};
    entries[4].result =
        (struct iw_result){.id = "agent-only", .verdict = IW_VERDICT_SKIP, .reason = "needs agent"};
    entries[5] = (struct iw_entry){.file = "cases/bad.lua",
                                   .done = true,
                                   .result = {.id = "cases/bad.lua",
                                              .verdict = IW_VERDICT_ERROR,
                                              .reason = "cases/bad.lua:2: '=' \\ \xff expected"}};
    entries[6] = (struct iw_entry){.c = &cases[0], .file = "never.lua"}; /* not run: interrupted */
    record = (struct iw_record){
        .version = "1.2.3",
        .suite = "0123456789abcdef",
        .target = "tcp:127.0.0.1:7471",
        .target_class = "bare",
        .again = "iwarp-conform run --target tcp:127.0.0.1:7471 --select ",
        .dir = "out",
        .started = 1700000000,
        .seconds = 5.25,
        .entries = entries,
        .count = 7,
        .verdicts = {1, 1, 1, 1, 1, 1},
        .status = 70,
    };
}

/* What a function writes. */
static char *text_of(void (*write)(FILE *out))
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);

    assert_non_null(f);
    fill();
    write(f);
    fclose(f);
    return text;
}

static void assert_text(void (*write)(FILE *out), const char *expected)
{
    char *text = text_of(write);

    assert_string_equal(text, expected);
    free(text);
}

/* ---- TAP ---- */

static void write_tap(FILE *out)
{
    iw_tap_begin(out, &record);
    for (size_t i = 0; i < 6; i++)
        iw_tap_entry(out, i + 1, &entries[i]);
}

static void test_tap(void **state)
{
    (void)state;
    assert_text(write_tap,
                "TAP version 14\n"
                "1..7\n"
                "# target: tcp:127.0.0.1:7471, suite 0123456789abcdef, 2023-11-14T22:13:20Z\n"
                "ok 1 - crc-good\n"
                "ok 2 - pad-odd\n"
                "  ---\n"
                "  verdict: \"NOTE\"\n"
                "  rule: \"MPA-4.1-02\"\n"
                "  text: \"Sender zeroes all pad octets\"\n"
                "  reason: \"pad octets are not zero\"\n"
                "  ...\n"
                "not ok 3 - crc-bad\n"
                "  ---\n"
                "  verdict: \"FAIL\"\n"
                "  rule: \"MPA-8-02\"\n"
                "  text: \"CRC error means error code 2; stream dropped, nothing delivered\"\n"
                "  reason: \"no \\\"Terminate\\\" & <nothing> # else\"\n"
                "  expected: \"terminate 2/0/02 or terminate 2/0/05\"\n"
                "  actual: \"fin\"\n"
                "  at: \"cases/mpa/crc.lua:25\"\n"
                "  capture: \"out/crc-bad.pcapng\"\n"
                "  ...\n"
                "ok 4 - late # SKIP inconclusive: no start-up\n"
                "  ---\n"
                "  verdict: \"INCONCLUSIVE\"\n"
                "  rule: \"MPA-8-02\"\n"
                "  text: \"CRC error means error code 2; stream dropped, nothing delivered\"\n"
                "  reason: \"no start-up\"\n"
                "  ...\n"
                "ok 5 - agent-only # SKIP needs agent\n"
                "not ok 6 - cases/bad.lua\n"
                "  ---\n"
                "  verdict: \"ERROR\"\n"
                "  reason: \"cases/bad.lua:2: '=' \\\\ \xef\xbf\xbd expected\"\n"
                "  ...\n");
}

static void write_hash(FILE *out)
{
    entries[4].result.reason = "needs #1 \\ two\nlines";
    iw_tap_entry(out, 1, &entries[4]);
}

static void test_tap_directive_is_one_escaped_line(void **state)
{
    (void)state;
    assert_text(write_hash, "ok 1 - agent-only # SKIP needs \\#1 \\\\ two lines\n");
}

static void write_bail_out(FILE *out)
{
    iw_tap_bail_out(out, "interrupted # 1");
}

static void test_tap_bails_out(void **state)
{
    (void)state;
    assert_text(write_bail_out, "Bail out! interrupted \\# 1\n");
}

/* ---- CSV ---- */

static void write_csv(FILE *out)
{
    for (size_t i = 0; i < 3; i++) { /* of the catalogue, so that they stand in its table */
        cases[i].rules[0] = iw_rule_find(cases[i].rules[0]->id);
        entries[i].result.rule = entries[i].result.rule != NULL ? cases[i].rules[0] : NULL;
    }
    iw_csv_write(out, &record);
}

static void test_csv(void **state)
{
    char *text = text_of(write_csv);

    (void)state;
    assert_ptr_equal(
        strstr(text, "rule,rfc,section,level,implied,testable,verdict,broken_by,held_by,"
                     "undecided_by,standing,reason,text,target,device,suite,started,findings\n"),
        text);
    assert_non_null(strstr(text, "\nMPA-8-02,5044,8,MUST,no,wire-active,FAIL,crc-bad,crc-good,"
                                 "late agent-only,,,"));
    assert_non_null(strstr(text, "\nMPA-4.1-02,5044,4.1,MUST,no,wire-passive,NOTE,pad-odd,,,,,"));
    assert_non_null(strstr(text, "\nMPA-8-03,5044,8,MUST,no,wire-active,,,,,,,"));
    assert_non_null(
        strstr(text, ",tcp:127.0.0.1:7471,,0123456789abcdef,2023-11-14T22:13:20Z,\nMPA-8-03,"));
    free(text);
}

static void write_fields(FILE *out)
{
    static const char *const fields[] = {"plain text", "a,b", "say \"no\"", "two\nlines", "", NULL};

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        iw_csv_field(out, fields[i]);
        putc(';', out);
    }
}

static void test_csv_fields(void **state)
{
    (void)state;
    assert_text(write_fields, "plain text;\"a,b\";\"say \"\"no\"\"\";\"two\nlines\";;;");
}

/* ---- JUnit ---- */

static void write_junit(FILE *out)
{
    iw_junit_write(out, &record);
}

static void test_junit(void **state)
{
    (void)state;
    assert_text(
        write_junit,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"iwarp-conform\" tests=\"6\" failures=\"1\" errors=\"1\""
        " time=\"5.250000\">\n"
        "  <testsuite name=\"iwarp-conform\" tests=\"6\" failures=\"1\" errors=\"1\""
        " time=\"5.250000\" skipped=\"2\" timestamp=\"2023-11-14T22:13:20\">\n"
        "    <properties>\n"
        "      <property name=\"version\" value=\"1.2.3\"/>\n"
        "      <property name=\"suite\" value=\"0123456789abcdef\"/>\n"
        "      <property name=\"target\" value=\"tcp:127.0.0.1:7471\"/>\n"
        "    </properties>\n"
        "    <testcase classname=\"cases/mpa/crc\" name=\"crc-good\" file=\"cases/mpa/crc.lua\""
        " line=\"3\" time=\"0.250000\"/>\n"
        "    <testcase classname=\"cases/mpa/crc\" name=\"pad-odd\" file=\"cases/mpa/crc.lua\""
        " line=\"10\" time=\"0.500000\">\n"
        "      <system-out>MPA-4.1-02: pad octets are not zero\n"
        "</system-out>\n"
        "    </testcase>\n"
        "    <testcase classname=\"cases/mpa/crc\" name=\"crc-bad\" file=\"cases/mpa/crc.lua\""
        " line=\"20\" time=\"1.500000\">\n"
        "      <failure message=\"no &quot;Terminate&quot; &amp; &lt;nothing&gt; # else\""
        " type=\"MPA-8-02\">rule: CRC error means error code 2; stream dropped, nothing delivered\n"
        "expected: terminate 2/0/02 or terminate 2/0/05\n"
        "actual: fin\n"
        "at: cases/mpa/crc.lua:25\n"
        "capture: out/crc-bad.pcapng\n"
        "again: iwarp-conform run --target tcp:127.0.0.1:7471 --select crc-bad\n"
        "</failure>\n"
        "    </testcase>\n"
        "    <testcase classname=\"cases/mpa/crc\" name=\"late\" file=\"cases/mpa/crc.lua\""
        " line=\"30\" time=\"3.000000\">\n"
        "      <skipped message=\"inconclusive: no start-up\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"cases/mpa/crc\" name=\"agent-only\" file=\"cases/mpa/crc.lua\""
        " line=\"40\" time=\"0.000000\">\n"
        "      <skipped message=\"needs agent\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"cases/bad\" name=\"cases/bad.lua\" file=\"cases/bad.lua\""
        " time=\"0.000000\">\n"
        "      <error message=\"cases/bad.lua:2: '=' \\ \xef\xbf\xbd expected\" type=\"ERROR\">"
        "</error>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n");
}

/* ---- JSON ---- */

static void write_json(FILE *out)
{
    record.count = 3; /* without the repetition */
    iw_json_write(out, &record);
}

static void test_json(void **state)
{
    (void)state;
    assert_text(write_json, "{\n"
                            " \"schema\": 1,\n"
                            " \"tool\": {\n"
                            "  \"name\": \"iwarp-conform\",\n"
                            "  \"version\": \"1.2.3\"\n"
                            " },\n"
                            " \"suite\": {\n"
                            "  \"version\": \"0123456789abcdef\",\n"
                            "  \"cases\": 3\n"
                            " },\n"
                            " \"target\": {\n"
                            "  \"name\": \"tcp:127.0.0.1:7471\",\n"
                            "  \"class\": \"bare\",\n"
                            "  \"version\": null\n"
                            " },\n"
                            " \"device\": {\n"
                            "  \"name\": null,\n"
                            "  \"driver\": null,\n"
                            "  \"firmware\": null,\n"
                            "  \"kernel\": null,\n"
                            "  \"operator\": null\n"
                            " },\n"
                            " \"started\": \"2023-11-14T22:13:20Z\",\n"
                            " \"seconds\": 5.25,\n"
                            " \"exit\": 70,\n"
                            " \"summary\": {\n"
                            "  \"PASS\": 1,\n"
                            "  \"NOTE\": 1,\n"
                            "  \"FAIL\": 1,\n"
                            "  \"INCONCLUSIVE\": 1,\n"
                            "  \"SKIP\": 1,\n"
                            "  \"ERROR\": 1\n"
                            " },\n"
                            " \"facts\": [],\n"
                            " \"findings\": [],\n"
                            " \"cases\": [\n"
                            "  {\n"
                            "   \"id\": \"crc-good\",\n"
                            "   \"verdict\": \"PASS\",\n"
                            "   \"role\": \"responder\",\n"
                            "   \"rules\": [\n"
                            "    \"MPA-8-02\"\n"
                            "   ],\n"
                            "   \"seconds\": 0.25,\n"
                            "   \"reason\": null,\n"
                            "   \"expected\": null,\n"
                            "   \"actual\": null,\n"
                            "   \"pcap\": null,\n"
                            "   \"file\": \"cases/mpa/crc.lua\",\n"
                            "   \"line\": 3,\n"
                            "   \"level\": \"must\",\n"
                            "   \"observed\": \"close=fin\",\n"
                            "   \"findings\": []\n"
                            "  },\n"
                            "  {\n"
                            "   \"id\": \"pad-odd\",\n"
                            "   \"verdict\": \"NOTE\",\n"
                            "   \"role\": \"responder\",\n"
                            "   \"rules\": [\n"
                            "    \"MPA-4.1-02\"\n"
                            "   ],\n"
                            "   \"seconds\": 0.5,\n"
                            "   \"reason\": \"pad octets are not zero\",\n"
                            "   \"expected\": null,\n"
                            "   \"actual\": null,\n"
                            "   \"pcap\": null,\n"
                            "   \"file\": \"cases/mpa/crc.lua\",\n"
                            "   \"line\": 10,\n"
                            "   \"level\": \"must\",\n"
                            "   \"rule\": \"MPA-4.1-02\",\n"
                            "   \"findings\": []\n"
                            "  },\n"
                            "  {\n"
                            "   \"id\": \"crc-bad\",\n"
                            "   \"verdict\": \"FAIL\",\n"
                            "   \"role\": \"initiator\",\n"
                            "   \"rules\": [\n"
                            "    \"MPA-8-02\",\n"
                            "    \"MPA-4.1-02\"\n"
                            "   ],\n"
                            "   \"seconds\": 1.5,\n"
                            "   \"reason\": \"no \\\"Terminate\\\" & <nothing> # else\",\n"
                            "   \"expected\": \"terminate 2/0/02 or terminate 2/0/05\",\n"
                            "   \"actual\": \"fin\",\n"
                            "   \"pcap\": \"out/crc-bad.pcapng\",\n"
                            "   \"file\": \"cases/mpa/crc.lua\",\n"
                            "   \"line\": 20,\n"
                            "   \"level\": \"must\",\n"
                            "   \"rule\": \"MPA-8-02\",\n"
                            "   \"notes\": [\n"
                            "    \"one\",\n"
                            "    \"two\"\n"
                            "   ],\n"
                            "   \"where\": \"cases/mpa/crc.lua:25\",\n"
                            "   \"findings\": []\n"
                            "  }\n"
                            " ]\n"
                            "}\n");
}

/* ---- findings ---- */

static char how_crc[] = "mpa-crc", fault_code[] = "2/0/02", wrong[] = "a wrong CRC & more";
static char one[] = "0x1", two[] = "0x2";

static void find_one(void)
{
    static struct iw_deviation deviation;

    deviation = (struct iw_deviation){.verdict = IW_VERDICT_FAIL,
                                      .rule = iw_rule_find("MPA-4.4-11"),
                                      .how = how_crc,
                                      .wire = true,
                                      .text = wrong,
                                      .expected = one,
                                      .actual = two,
                                      .frame = 7};
    entries[2].result.deviations = &deviation;
    entries[2].result.n_deviations = 1;
    iw_record_conclude(&record);
}

static void write_findings(FILE *out)
{
    find_one();
    iw_tap_findings(out, &record);
    json_t *all = iw_record_to_json(&record);
    json_dumpf(json_object_get(all, "findings"), out, JSON_COMPACT);
    putc('\n', out);
    json_t *c = json_array_get(json_object_get(all, "cases"), 2);
    json_dumpf(json_object_get(c, "findings"), out, JSON_COMPACT);
    fprintf(out, "%s\n", json_string_value(json_object_get(c, "rule")));
    json_decref(all);
    iw_findings_free(&record.findings);
}

static void test_findings(void **state)
{
    (void)state;
    assert_text(
        write_findings,
        "# finding 1: FAIL MPA-4.4-11 in 1 case, shown by crc-bad: a wrong CRC & more\n"
        "[{\"number\":1,\"rule\":\"MPA-4.4-11\",\"verdict\":\"FAIL\",\"text\":\"a wrong CRC & "
        "more\",\"expected\":\"0x1\",\"actual\":\"0x2\",\"count\":1,\"cases\":[\"crc-bad\"],"
        "\"exhibit\":{\"case\":\"crc-bad\",\"frame\":7,\"pcap\":\"out/crc-bad.pcapng\"},"
        "\"log\":null,\"known\":false,\"blocks\":0}]\n"
        "[1]MPA-4.4-11\n");
}

static void write_csv_findings(FILE *out)
{
    find_one();
    iw_csv_write(out, &record);
    iw_findings_free(&record.findings);
}

static void test_csv_names_findings(void **state)
{
    char *text = text_of(write_csv_findings);

    (void)state;
    assert_non_null(strstr(text, ",2023-11-14T22:13:20Z,1\nMPA-4.4-12,"));
    assert_non_null(strstr(text, "\nMPA-4.4-11,5044,4.4,MUST,no,wire-passive,FAIL,crc-bad,"));
    assert_non_null(strstr(text, ",2023-11-14T22:13:20Z,\nMPA-4.4-13,"));
    free(text);
}

/* A rule that only the second finding of a case accuses is broken, too, as gravely as that says. */
static void write_csv_of_two(FILE *out)
{
    static char how[] = "mpa-marker-rsvd", text[] = "not zero";
    find_one();
    iw_findings_free(&record.findings);
    struct iw_deviation both[] = {entries[2].result.deviations[0],
                                  {.verdict = IW_VERDICT_NOTE,
                                   .rule = iw_rule_find("MPA-4.2-02"),
                                   .how = how,
                                   .wire = true,
                                   .text = text}};
    entries[2].result.deviations = both;
    entries[2].result.n_deviations = 2;
    iw_record_conclude(&record);
    iw_csv_write(out, &record);
    iw_findings_free(&record.findings);
    entries[2].result.n_deviations = 0;
}

static void test_csv_of_a_second_finding(void **state)
{
    char *text = text_of(write_csv_of_two);

    (void)state;
    assert_non_null(strstr(text, "\nMPA-4.4-11,5044,4.4,MUST,no,wire-passive,FAIL,crc-bad,"));
    assert_non_null(strstr(text, "\nMPA-4.2-02,5044,4.2,MUST,no,wire-passive,NOTE,crc-bad,"));
    free(text);
}

static void write_junit_findings(FILE *out)
{
    find_one();
    iw_junit_write(out, &record);
    iw_findings_free(&record.findings);
}

static void test_junit_names_findings(void **state)
{
    char *text = text_of(write_junit_findings);

    (void)state;
    assert_non_null(strstr(text,
                           "<property name=\"finding\" value=\"FAIL MPA-4.4-11 in 1 case, shown "
                           "by crc-bad: a wrong CRC &amp; more\"/>"));
    assert_non_null(
        strstr(text, "<failure message=\"a wrong CRC &amp; more\" type=\"MPA-4.4-11\">rule: "));
    assert_non_null(
        strstr(text, "\nreason: no &quot;Terminate&quot; &amp; &lt;nothing&gt; # else\n"));
    assert_non_null(strstr(text, "\nfinding: 1, MPA-4.4-11: a wrong CRC &amp; more\n"));
    free(text);
}

static void test_deviations_survive_json(void **state)
{
    struct iw_result back = {0};

    (void)state;
    fill();
    find_one();
    struct iw_deviation *d = entries[2].result.deviations;
    d->fault = fault_code;
    d->connection = 1;
    d->position = 20;
    d->from_target = true;
    json_t *object = iw_result_to_json(&entries[2].result);
    assert_true(iw_result_from_json(object, &back));
    assert_int_equal(back.n_deviations, 1);
    assert_int_equal(back.deviations->verdict, IW_VERDICT_FAIL);
    assert_ptr_equal(back.deviations->rule, d->rule);
    assert_string_equal(back.deviations->how, "mpa-crc");
    assert_true(back.deviations->wire);
    assert_string_equal(back.deviations->fault, "2/0/02");
    assert_string_equal(back.deviations->text, "a wrong CRC & more");
    assert_string_equal(back.deviations->expected, "0x1");
    assert_string_equal(back.deviations->actual, "0x2");
    assert_int_equal(back.deviations->connection, 1);
    assert_true(back.deviations->from_target);
    assert_int_equal(back.deviations->position, 20);
    assert_int_equal(back.deviations->frame, 7);
    iw_result_free(&back);
    /* One without a rule that is known is left out. */
    json_object_set_new(json_array_get(json_object_get(object, "deviations"), 0), "rule",
                        json_string("MPA-0-00"));
    assert_true(iw_result_from_json(object, &back));
    assert_int_equal(back.n_deviations, 0);
    iw_result_free(&back);
    json_decref(object);
    /* A word that is no UTF-8 is made such. */
    static char odd[] = "\xff";
    d->how = odd;
    object = iw_result_to_json(&entries[2].result);
    assert_true(iw_result_from_json(object, &back));
    assert_string_equal(back.deviations->how, "\xef\xbf\xbd");
    iw_result_free(&back);
    json_decref(object);
    iw_findings_free(&record.findings);
}

static void test_result_survives_json(void **state)
{
    json_t *object;
    struct iw_result back = {0};

    (void)state;
    fill();
    object = iw_result_to_json(&entries[2].result);
    assert_true(iw_result_from_json(object, &back));
    assert_int_equal(back.verdict, IW_VERDICT_FAIL);
    assert_ptr_equal(back.rule, iw_rule_find("MPA-8-02"));
    assert_true(back.seconds > 1.4999 && back.seconds < 1.5001);
    assert_string_equal(back.reason, "no \"Terminate\" & <nothing> # else");
    assert_string_equal(back.notes, "one\ntwo");
    assert_string_equal(back.where, "cases/mpa/crc.lua:25");
    assert_null(back.observed);
    iw_result_free(&back);
    json_object_set_new(object, "verdict", json_string("MAYBE"));
    assert_false(iw_result_from_json(object, &back));
    json_decref(object);
    assert_false(iw_result_from_json(NULL, &back));
}

/* ---- console ---- */

static void write_console(FILE *out)
{
    for (size_t i = 0; i < 6; i++)
        iw_console_entry(out, &record, &entries[i], false);
    iw_console_summary(out, &record, false);
}

static void test_console(void **state)
{
    (void)state;
    assert_text(
        write_console,
        "NOTE pad-odd\n"
        "  case      cases/mpa/crc.lua:10\n"
        "  rule      MPA-4.1-02 (MUST): Sender zeroes all pad octets\n"
        "  reason    pad octets are not zero\n"
        "  again     iwarp-conform run --target tcp:127.0.0.1:7471 --select pad-odd\n"
        "FAIL crc-bad\n"
        "  case      cases/mpa/crc.lua:20\n"
        "  at        cases/mpa/crc.lua:25\n"
        "  rule      MPA-8-02 (MUST): CRC error means error code 2; stream dropped, nothing "
        "delivered\n"
        "  reason    no \"Terminate\" & <nothing> # else\n"
        "  expected  terminate 2/0/02 or terminate 2/0/05\n"
        "  actual    fin\n"
        "  notes     one\n"
        "            two\n"
        "  capture   out/crc-bad.pcapng\n"
        "  again     iwarp-conform run --target tcp:127.0.0.1:7471 --select crc-bad\n"
        "INCONCLUSIVE late\n"
        "  case      cases/mpa/crc.lua:30\n"
        "  rule      MPA-8-02 (MUST): CRC error means error code 2; stream dropped, nothing "
        "delivered\n"
        "  reason    no start-up\n"
        "  again     iwarp-conform run --target tcp:127.0.0.1:7471 --select late\n"
        "ERROR cases/bad.lua\n"
        "  case      cases/bad.lua\n"
        "  reason    cases/bad.lua:2: '=' \\ \xef\xbf\xbd expected\n"
        "SKIP agent-only: needs agent\n"
        "1 PASS, 1 NOTE, 1 FAIL, 1 INCONCLUSIVE, 1 SKIP, 1 ERROR; 5.2 s, target "
        "tcp:127.0.0.1:7471\n"
        "results: out\n");
}

static void write_unreached(FILE *out)
{
    entries[3].unreached = true;
    entries[3].result.reason = "the target was not reached: nobody there";
    entries[1].result.verdict = IW_VERDICT_SKIP;
    entries[1].result.reason = "needs agent";
    iw_console_entry(out, &record, &entries[3], false);
    iw_console_summary(out, &record, false);
}

static void test_console_sums_up(void **state)
{
    (void)state;
    assert_text(write_unreached,
                "SKIP 2 cases (pad-odd ...): needs agent\n"
                "tcp:127.0.0.1:7471: the target was not reached: nobody there\n"
                "1 PASS, 1 NOTE, 1 FAIL, 1 INCONCLUSIVE, 1 SKIP, 1 ERROR; 5.2 s, target "
                "tcp:127.0.0.1:7471\n"
                "results: out\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tap),
        cmocka_unit_test(test_tap_directive_is_one_escaped_line),
        cmocka_unit_test(test_tap_bails_out),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_fields),
        cmocka_unit_test(test_junit),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_csv_names_findings),
        cmocka_unit_test(test_csv_of_a_second_finding),
        cmocka_unit_test(test_junit_names_findings),
        cmocka_unit_test(test_deviations_survive_json),
        cmocka_unit_test(test_result_survives_json),
        cmocka_unit_test(test_console),
        cmocka_unit_test(test_console_sums_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
