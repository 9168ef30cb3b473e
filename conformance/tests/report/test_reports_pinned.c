/* SPDX-License-Identifier: BSD-3-Clause */
/* The reports of a run with a baseline, of repeated runs, of facts, and of what is known of the
 * suite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/csv.h"
#include "report/report_console.h"
#include "report/report_csv.h"
#include "report/report_json.h"
#include "report/report_junit.h"
#include "report/report_tap.h"
#include "run/facts.h"
#include "run/run_record.h"
#include "suite/proof.h"
#include "suite/suite.h"

enum { EXPECTED, STALE, NEW, BARE, ENTRIES };

static char ids[ENTRIES][16] = {"known", "better", "worse", "bare"};
static const struct iw_rule *rules[1];
static struct iw_case cases[ENTRIES];
static struct iw_entry entries[ENTRIES];
static char device[] = "n <1>", who[] = "w";
static struct iw_record record;
static char file[] = "d.d/f", reasons[2][2] = {"r", "n"}, *text;
static size_t size;
static FILE *out;

static void begin(void)
{
    rules[0] = iw_rule_find("MPA-8-02");
    for (size_t i = 0; i < ENTRIES; i++) {
        cases[i] = (struct iw_case){.id = ids[i],
                                    .file = file,
                                    .line = 7,
                                    .rules = rules,
                                    .n_rules = i != BARE,
                                    .worst = IW_VERDICT_FAIL,
                                    .role = IW_MPA_INITIATOR};
        entries[i] = (struct iw_entry){.c = &cases[i],
                                       .file = "f.lua",
                                       .done = true,
                                       .known = "why \"so\"",
                                       .result = {.id = ids[i], .verdict = IW_VERDICT_FAIL}};
    }
    entries[EXPECTED].pinned = IW_PINNED_EXPECTED;
    entries[EXPECTED].result.reason = reasons[0];
    entries[STALE].pinned = IW_PINNED_STALE;
    entries[STALE].result.verdict = IW_VERDICT_PASS;
    entries[NEW].pinned = IW_PINNED_NEW;
    entries[NEW].result.reason = reasons[1];
    entries[BARE].known = NULL;
    entries[BARE].result.verdict = IW_VERDICT_NOTE;
    record = (struct iw_record){.version = "1",
                                .suite = "s",
                                .target = "t",
                                .target_class = "agent",
                                .target_version = "v <2>",
                                .device = {{[IW_DEVICE_NAME] = device, [IW_DEVICE_OPERATOR] = who}},
                                .repeat = 1,
                                .entries = entries,
                                .count = ENTRIES,
                                .verdicts = {1, 1, 2, 0, 0, 0},
                                .pinned = {1, 1, 1, 1}};
    text = NULL;
    out = open_memstream(&text, &size);
    assert_non_null(out);
}

static void is(const char *expected)
{
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void has(const char *expected)
{
    fclose(out);
    if (strstr(text, expected) == NULL)
        fail_msg("%s\n-- has no --\n%s", text, expected);
    free(text);
}

/* ---- TAP ---- */

static void tap_has_what_is_pinned(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < ENTRIES; i++)
        iw_tap_entry(out, i + 8, &entries[i]);
    is("not ok 8 - known # TODO why \"so\"\n"
       "  ---\n"
       "  verdict: \"FAIL\"\n"
       "  rule: \"MPA-8-02\"\n"
       "  text: \"CRC mismatch is detected (code 2)\"\n"
       "  reason: \"r\"\n"
       "  baseline: \"expected\"\n"
       "  ...\n"
       "ok 9 - better # TODO why \"so\"\n"
       "not ok 10 - worse\n"
       "  ---\n"
       "  verdict: \"FAIL\"\n"
       "  rule: \"MPA-8-02\"\n"
       "  text: \"CRC mismatch is detected (code 2)\"\n"
       "  reason: \"n\"\n"
       "  baseline: \"new\"\n"
       "  ...\n"
       "ok 11 - bare\n"
       "  ---\n"
       "  verdict: \"NOTE\"\n"
       "  ...\n");
}

static void tap_names_no_rule_of_an_error(void **state)
{
    (void)state;
    begin();
    entries[NEW].result.verdict = IW_VERDICT_ERROR;
    entries[NEW].pinned = IW_PINNED_NOT;
    iw_tap_entry(out, 1, &entries[NEW]);
    is("not ok 1 - worse\n  ---\n  verdict: \"ERROR\"\n  reason: \"n\"\n  ...\n");
}

/* ---- JUnit ---- */

static void junit_has_what_is_pinned(void **state)
{
    (void)state;
    begin();
    record.seconds = 1.5;
    iw_junit_write(out, &record);
    is("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
       "<testsuites name=\"iwarp-conform\" tests=\"4\" failures=\"2\" errors=\"0\" "
       "time=\"1.500000\">\n"
       "  <testsuite name=\"iwarp-conform\" tests=\"4\" failures=\"2\" errors=\"0\" "
       "time=\"1.500000\" skipped=\"1\" timestamp=\"1970-01-01T00:00:00\">\n"
       "    <properties>\n"
       "      <property name=\"version\" value=\"1\"/>\n"
       "      <property name=\"suite\" value=\"s\"/>\n"
       "      <property name=\"target\" value=\"t\"/>\n"
       "      <property name=\"target-version\" value=\"v &lt;2&gt;\"/>\n"
       "      <property name=\"device-name\" value=\"n &lt;1&gt;\"/>\n"
       "      <property name=\"operator\" value=\"w\"/>\n"
       "    </properties>\n"
       "    <testcase classname=\"f\" name=\"known\" file=\"f.lua\" line=\"7\" time=\"0.000000\">\n"
       "      <skipped message=\"FAIL as expected: why &quot;so&quot;\"/>\n"
       "    </testcase>\n"
       "    <testcase classname=\"f\" name=\"better\" file=\"f.lua\" line=\"7\" "
       "time=\"0.000000\">\n"
       "      <failure message=\"the baseline is out of date\" type=\"PASS\">baseline: why "
       "&quot;so&quot;\n"
       "</failure>\n"
       "    </testcase>\n"
       "    <testcase classname=\"f\" name=\"worse\" file=\"f.lua\" line=\"7\" time=\"0.000000\">\n"
       "      <failure message=\"n\" type=\"MPA-8-02\">rule: CRC mismatch is detected (code 2)\n"
       "</failure>\n"
       "    </testcase>\n"
       "    <testcase classname=\"f\" name=\"bare\" file=\"f.lua\" line=\"7\" time=\"0.000000\">\n"
       "      <system-out>note: \n"
       "</system-out>\n"
       "    </testcase>\n"
       "  </testsuite>\n"
       "</testsuites>\n");
}

/* Of an entry that is not done nothing counts, and others are what their verdict says. */
static void junit_has_other_verdicts(void **state)
{
    static char reason[] = "b";

    (void)state;
    begin();
    entries[EXPECTED].done = false;
    entries[STALE].result.verdict = IW_VERDICT_SKIP;
    entries[STALE].pinned = IW_PINNED_NOT;
    entries[NEW].result.verdict = IW_VERDICT_INCONCLUSIVE;
    entries[NEW].pinned = IW_PINNED_EXPECTED;
    entries[BARE].result.verdict = IW_VERDICT_FAIL;
    entries[BARE].result.reason = reason;
    entries[BARE].file = "none";
    record.target_version = NULL;
    record.device = (struct iw_device){{NULL}};
    record.verdicts[IW_VERDICT_SKIP] = 5;
    record.verdicts[IW_VERDICT_INCONCLUSIVE] = 3;
    record.verdicts[IW_VERDICT_ERROR] = 7;
    iw_junit_write(out, &record);
    is("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
       "<testsuites name=\"iwarp-conform\" tests=\"19\" failures=\"3\" errors=\"7\" "
       "time=\"0.000000\">\n"
       "  <testsuite name=\"iwarp-conform\" tests=\"19\" failures=\"3\" errors=\"7\" "
       "time=\"0.000000\" skipped=\"8\" timestamp=\"1970-01-01T00:00:00\">\n"
       "    <properties>\n"
       "      <property name=\"version\" value=\"1\"/>\n"
       "      <property name=\"suite\" value=\"s\"/>\n"
       "      <property name=\"target\" value=\"t\"/>\n"
       "    </properties>\n"
       "    <testcase classname=\"f\" name=\"better\" file=\"f.lua\" line=\"7\" "
       "time=\"0.000000\">\n"
       "      <skipped message=\"\"/>\n"
       "    </testcase>\n"
       "    <testcase classname=\"f\" name=\"worse\" file=\"f.lua\" line=\"7\" time=\"0.000000\">\n"
       "      <skipped message=\"INCONCLUSIVE as expected: why &quot;so&quot;\"/>\n"
       "    </testcase>\n"
       "    <testcase classname=\"none\" name=\"bare\" file=\"none\" line=\"7\" "
       "time=\"0.000000\">\n"
       "      <failure message=\"b\" type=\"FAIL\"></failure>\n"
       "    </testcase>\n"
       "  </testsuite>\n"
       "</testsuites>\n");
}

/* ---- JSON ---- */

static void entry_is(size_t i, const char *expected)
{
    json_t *all = iw_record_to_json(&record);
    char *one = json_dumps(json_array_get(json_object_get(all, "cases"), i), JSON_COMPACT);

    assert_non_null(one);
    assert_string_equal(one, expected);
    free(one);
    json_decref(all);
}

static void json_has_what_is_pinned(void **state)
{
    (void)state;
    begin();
    record.repeat = 2;
    entries[EXPECTED].rounds[IW_VERDICT_FAIL] = 1;
    entries[EXPECTED].rounds[IW_VERDICT_PASS] = 2;
    entry_is(0, "{\"id\":\"known\",\"verdict\":\"FAIL\",\"role\":\"initiator\",\"rules\":["
                "\"MPA-8-02\"],\"seconds\":0.0,\"reason\":\"r\",\"expected\":null,\"actual\":null,"
                "\"pcap\":null,\"file\":\"f.lua\",\"line\":7,\"level\":\"must\",\"baseline\":"
                "\"expected\",\"known\":\"why "
                "\\\"so\\\"\",\"rounds\":{\"PASS\":2,\"FAIL\":1},\"findings\":[]}");
    record.repeat = 1;
    entry_is(1, "{\"id\":\"better\",\"verdict\":\"PASS\",\"role\":\"initiator\",\"rules\":["
                "\"MPA-8-02\"],\"seconds\":0.0,\"reason\":null,\"expected\":null,\"actual\":null,"
                "\"pcap\":null,\"file\":\"f.lua\",\"line\":7,\"level\":\"must\",\"baseline\":"
                "\"stale\",\"known\":\"why \\\"so\\\"\",\"findings\":[]}");
    entry_is(3, "{\"id\":\"bare\",\"verdict\":\"NOTE\",\"role\":\"initiator\",\"rules\":[],"
                "\"seconds\":0.0,\"reason\":null,\"expected\":null,\"actual\":null,\"pcap\":null,"
                "\"file\":\"f.lua\",\"line\":7,\"level\":\"must\",\"findings\":[]}");
    entries[EXPECTED].done = false;
    entries[STALE].c = NULL;
    entries[STALE].pinned = IW_PINNED_NOT;
    entries[STALE].known = NULL;
    entry_is(0, "{\"id\":\"better\",\"verdict\":\"PASS\",\"role\":null,\"rules\":[],\"seconds\":"
                "0.0,\"reason\":null,\"expected\":null,\"actual\":null,\"pcap\":null,\"file\":"
                "\"f.lua\",\"findings\":[]}");
    fclose(out);
    free(text);
}

static void json_names_the_target(void **state)
{
    (void)state;
    begin();
    record.count = 0;
    record.status = 3;
    record.started = 86400;
    record.verdicts[IW_VERDICT_SKIP] = 9;
    iw_json_write(out, &record);
    is("{\n \"schema\": 1,\n \"tool\": {\n  \"name\": \"iwarp-conform\",\n  \"version\": \"1\"\n "
       "},\n \"suite\": {\n  \"version\": \"s\",\n  \"cases\": 0\n },\n \"target\": {\n  "
       "\"name\": \"t\",\n  \"class\": \"agent\",\n  \"version\": \"v <2>\"\n },\n "
       "\"device\": {\n  \"name\": \"n <1>\",\n  \"driver\": null,\n  \"firmware\": null,\n  "
       "\"kernel\": null,\n  \"operator\": \"w\"\n },\n "
       "\"started\": \"1970-01-02T00:00:00Z\",\n \"seconds\": 0.0,\n \"exit\": 3,\n "
       "\"summary\": {\n  \"PASS\": 1,\n  \"NOTE\": 1,\n  \"FAIL\": 2,\n  \"INCONCLUSIVE\": 0,\n  "
       "\"SKIP\": 9,\n  \"ERROR\": 0\n },\n \"facts\": [],\n \"findings\": [],\n \"cases\": "
       "[]\n}\n");
}

/* ---- CSV ---- */

#define LINE "\nMPA-8-02,5044,8,MUST,no,wire-active,"

/* The line of the rule, with these verdicts. */
static void line_is(enum iw_verdict first, enum iw_verdict second, const char *expected)
{
    begin();
    record.count = 2;
    entries[0].result.verdict = first;
    entries[1].result.verdict = second;
    entries[0].result.rule = entries[1].result.rule = rules[0];
    iw_csv_write(out, &record);
    has(expected);
}

static void a_rule_has_the_gravest_verdict(void **state)
{
    (void)state;
    line_is(IW_VERDICT_PASS, IW_VERDICT_PASS, LINE "PASS,,known better,,,,CRC");
    line_is(IW_VERDICT_PASS, IW_VERDICT_NOTE, LINE "NOTE,better,known,,,,CRC");
    line_is(IW_VERDICT_FAIL, IW_VERDICT_NOTE, LINE "FAIL,known better,,,,,CRC");
    line_is(IW_VERDICT_NOTE, IW_VERDICT_FAIL, LINE "FAIL,known better,,,,,CRC");
    line_is(IW_VERDICT_ERROR, IW_VERDICT_PASS, LINE "PASS,,better,known,,,CRC");
    line_is(IW_VERDICT_INCONCLUSIVE, IW_VERDICT_ERROR, LINE "ERROR,,,known better,,,CRC");
    line_is(IW_VERDICT_SKIP, IW_VERDICT_INCONCLUSIVE, LINE "INCONCLUSIVE,,,known better,,,CRC");
    line_is(IW_VERDICT_SKIP, IW_VERDICT_SKIP, LINE "SKIP,,,known better,,,CRC");
}

static void some_cases_say_nothing_of_a_rule(void **state)
{
    (void)state;
    /* One broke another rule than its own, which says nothing of its own. */
    begin();
    record.count = 1;
    entries[0].result.rule = iw_rule_find("MPA-4.1-02");
    iw_csv_write(out, &record);
    has(LINE ",,,,,,CRC");
    begin();
    record.count = 1;
    entries[0].result.rule = iw_rule_find("MPA-4.1-02");
    iw_csv_write(out, &record);
    has("\nMPA-4.1-02,5044,4.1,MUST,no,wire-passive,FAIL,known,,,,,");
    /* One is not done, one is a file, one names no rule. */
    begin();
    entries[0].done = false;
    entries[1].c = NULL;
    entries[2].result.verdict = IW_VERDICT_PASS;
    iw_csv_write(out, &record);
    has(LINE "PASS,,worse,,,,CRC");
}

static void a_rule_stands_as_the_suite_says(void **state)
{
    static const struct iw_case *listed[1] = {&cases[0]};
    struct iw_suite suite = {.cases = listed, .n_cases = 1};
    struct iw_proof proof = {0};

    (void)state;
    iw_proof_set(&proof.claims, "MPA-8-02", "a, b");
    begin();
    record.whole = &suite;
    record.proof = &proof;
    record.count = 0;
    iw_csv_write(out, &record);
    has(LINE ",,,,claimed,\"a, b\",CRC");
    begin();
    record.whole = &suite;
    record.count = 0;
    iw_csv_write(out, &record);
    has(LINE ",,,,,,CRC");
    begin();
    record.proof = &proof;
    record.count = 0;
    iw_csv_write(out, &record);
    has(LINE ",,,,,,CRC");
    iw_proof_free(&proof);
}

static void a_field_is_quoted_where_it_must_be(void **state)
{
    (void)state;
    begin();
    iw_csv_field(out, NULL);
    iw_csv_field(out, "a b");
    putc(';', out);
    iw_csv_field(out, "a\rb");
    iw_csv_quoted(out, "a");
    iw_csv_quoted(out, "\"");
    is("a b;\"a\rb\"\"a\"\"\"\"\"");
}

/* ---- the console ---- */

static void the_console_has_more_to_say(void **state)
{
    static char of_case[] = "d.d/f:7", elsewhere[] = "g:1", reason[] = "one\ntwo";

    (void)state;
    begin();
    record.again = "again ";
    entries[NEW].result.where = of_case;
    iw_console_entry(out, &record, &entries[NEW], false);
    entries[BARE].result.where = elsewhere;
    entries[BARE].result.reason = reason;
    iw_console_entry(out, &record, &entries[BARE], false);
    entries[EXPECTED].unreached = true;
    iw_console_entry(out, &record, &entries[EXPECTED], true);
    entries[STALE].result.verdict = IW_VERDICT_ERROR;
    entries[STALE].pinned = IW_PINNED_NOT;
    entries[STALE].c = NULL;
    iw_console_entry(out, &record, &entries[STALE], false);
    is("FAIL worse (not in the baseline)\n"
       "  case      d.d/f:7\n"
       "  rule      MPA-8-02 (MUST): CRC mismatch is detected (code 2)\n"
       "  reason    n\n"
       "  again     again worse\n"
       "NOTE bare\n"
       "  case      d.d/f:7\n"
       "  at        g:1\n"
       "  reason    one\n"
       "            two\n"
       "  again     again bare\n"
       "ERROR better\n"
       "  case      f.lua\n");
}

/* ---- all of the catalogue ---- */

/* One line for each rule, the first and the last one as well. */
static void every_rule_has_its_line(void **state)
{
    size_t lines = 0;
    char first[64], last[64];

    (void)state;
    begin();
    record.count = 0;
    iw_csv_write(out, &record);
    fclose(out);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, IW_RULE_COUNT + 1);
    snprintf(first, sizeof(first), "started,findings\n%s,%u,", iw_rule_at(0)->id,
             iw_rule_at(0)->rfc);
    snprintf(last, sizeof(last), "\n%s,%u,", iw_rule_at(IW_RULE_COUNT - 1)->id,
             iw_rule_at(IW_RULE_COUNT - 1)->rfc);
    assert_non_null(strstr(text, first));
    assert_non_null(strstr(text, last));
    free(text);
}

/* The first entry counts, too. */
static void rounds_of_the_first_case(void **state)
{
    (void)state;
    begin();
    record.repeat = 2;
    record.count = 1;
    entries[0].rounds[IW_VERDICT_PASS] = entries[0].rounds[IW_VERDICT_FAIL] = 1;
    iw_console_summary(out, &record, true);
    has("UNSTABLE known: 1 PASS, 1 FAIL\n2 rounds: 1 of 1 case gave more than one verdict\n");
    begin();
    record.count = 1;
    entries[0].result.verdict = IW_VERDICT_SKIP;
    iw_console_summary(out, &record, false);
    has("SKIP known: r\n");
    begin();
    record.count = 1;
    entries[0].unreached = true;
    iw_console_summary(out, &record, false);
    has("t: r\n1 PASS");
    begin();
    record.count = 1;
    entries[0].unreached = true;
    entries[0].result.reason = NULL;
    iw_console_summary(out, &record, false);
    has("t: \n1 PASS");
}

/* What was found of the target before the first case; what to do about it only where there is
 * something. */
static void facts_are_reported(void **state)
{
    struct iw_facts facts = {.count = 0};

    (void)state;
    iw_facts_add(&facts, "revision", "takes #2 only", "say revision=2");
    iw_facts_add(&facts, "crc", "asks for CRCs", NULL);
    begin();
    record.facts = &facts;
    iw_tap_facts(out, &record);
    is("# device: n <1>, operator w\n# fact revision: "
       "takes \\#2 only; say revision=2\n# fact crc: "
       "asks for CRCs\n");
    begin();
    record.facts = &facts;
    iw_console_facts(out, &record);
    is("device: n <1>, operator w\ntarget: takes #2 only\n  say revision=2\ntarget: asks for "
       "CRCs\n");
    begin();
    record.facts = &facts;
    iw_junit_write(out, &record);
    has("<property name=\"fact\" value=\"revision: takes #2 only; say revision=2\"/>\n");
    begin();
    record.facts = &facts;
    iw_junit_write(out, &record);
    has("<property name=\"fact\" value=\"crc: asks for CRCs\"/>\n");
    begin();
    record.facts = &facts;
    iw_json_write(out, &record);
    has("\"facts\": [\n  {\n   \"name\": \"revision\",\n   \"text\": \"takes #2 only\",\n   "
        "\"advice\": \"say revision=2\"\n  },\n  {\n   \"name\": \"crc\",\n   \"text\": \"asks "
        "for CRCs\",\n   \"advice\": null\n  }\n ],\n");
    iw_facts_free(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tap_has_what_is_pinned),
        cmocka_unit_test(tap_names_no_rule_of_an_error),
        cmocka_unit_test(junit_has_what_is_pinned),
        cmocka_unit_test(junit_has_other_verdicts),
        cmocka_unit_test(json_has_what_is_pinned),
        cmocka_unit_test(json_names_the_target),
        cmocka_unit_test(a_rule_has_the_gravest_verdict),
        cmocka_unit_test(some_cases_say_nothing_of_a_rule),
        cmocka_unit_test(a_rule_stands_as_the_suite_says),
        cmocka_unit_test(a_field_is_quoted_where_it_must_be),
        cmocka_unit_test(the_console_has_more_to_say),
        cmocka_unit_test(every_rule_has_its_line),
        cmocka_unit_test(rounds_of_the_first_case),
        cmocka_unit_test(facts_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
