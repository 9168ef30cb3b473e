/* SPDX-License-Identifier: BSD-3-Clause */
/* What the console shows of repeated runs, of a baseline, and while a run goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_console.h"
#include "run/run_record.h"

enum { CASES = 14 };

static char ids[CASES][4];
static struct iw_case cases[CASES];
static struct iw_entry entries[CASES];
static struct iw_record record;
static const struct iw_rule *rules[1];
static FILE *out;
static char *text;
static size_t size;

static void begin(void)
{
    rules[0] = iw_rule_find("MPA-8-02");
    record = (struct iw_record){
        .target = "T", .entries = entries, .count = 4, .seconds = 1.25, .repeat = 1};
    for (size_t i = 0; i < CASES; i++) {
        snprintf(ids[i], sizeof(ids[i]), "c%zu", i);
        cases[i] = (struct iw_case){
            .id = ids[i], .file = "f.lua", .line = 7, .rules = rules, .n_rules = 1};
        entries[i] = (struct iw_entry){
            .c = &cases[i],
            .done = true,
            .known = "why",
            .result = {.id = ids[i], .verdict = IW_VERDICT_PASS, .observed = "o"}};
    }
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

#define SUM "0 PASS, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR; 1.2 s, target T\n"

static void test_schedule(void **state)
{
    (void)state;
    begin();
    iw_console_schedule(out, &record, 4);
    is("");
    begin();
    record.shard = "2/3";
    record.order = "random,9";
    iw_console_schedule(out, &record, 11);
    is("shard 2/3: 4 of 11 cases\norder: random,9\n");
}

static void test_rounds(void **state)
{
    (void)state;
    begin();
    entries[1].rounds[IW_VERDICT_PASS] = 2;
    entries[1].rounds[IW_VERDICT_FAIL] = 1;
    entries[2].rounds[IW_VERDICT_PASS] = 3;
    entries[3].rounds[IW_VERDICT_NOTE] = entries[3].rounds[IW_VERDICT_SKIP] = 1;
    entries[3].rounds[IW_VERDICT_ERROR] = 1;
    record.repeat = 3;
    iw_console_summary(out, &record, false);
    is("UNSTABLE c1: 2 PASS, 1 FAIL\n"
       "UNSTABLE c3: 1 NOTE, 1 SKIP, 1 ERROR\n"
       "3 rounds: 2 of 4 cases gave more than one verdict\n" SUM);
    begin();
    record.repeat = 2;
    iw_console_summary(out, &record, true);
    is("2 rounds: 0 of 4 cases gave more than one verdict\n" SUM);
}

static void test_baseline(void **state)
{
    static char gone[] = "gone";
    char *unknown[] = {gone};

    (void)state;
    begin();
    record.baseline = "b.csv";
    record.unknown = unknown;
    record.n_unknown = 1;
    record.pinned[IW_PINNED_EXPECTED] = 3;
    record.pinned[IW_PINNED_NEW] = 4;
    record.pinned[IW_PINNED_STALE] = 5;
    record.dir = "out";
    iw_console_summary(out, &record, false);
    is("STALE gone: the baseline has it, but there is no such case\n"
       "baseline b.csv: 3 as expected, 4 new, 6 stale\n" SUM "results: out\n");
    begin();
    entries[0].pinned = IW_PINNED_EXPECTED;
    entries[0].result.verdict = IW_VERDICT_FAIL;
    entries[1].pinned = IW_PINNED_STALE;
    entries[2].pinned = IW_PINNED_NEW;
    entries[2].result.verdict = IW_VERDICT_NOTE;
    for (size_t i = 0; i < 4; i++)
        iw_console_entry(out, &record, &entries[i], false);
    fputs("--\n", out);
    for (size_t i = 0; i < 2; i++)
        iw_console_entry(out, &record, &entries[i], true);
    is("STALE c1: PASS, but the baseline says: why\n"
       "NOTE c2 (not in the baseline)\n"
       "  case      f.lua:7\n"
       "  rule      MPA-8-02 (MUST): CRC mismatch is detected (code 2)\n"
       "--\n"
       "FAIL c0: as expected: why\n"
       "STALE c1: PASS, but the baseline says: why\n"
       "PASS c1: o\n");
}

static void test_skips(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < 4; i++) {
        entries[i].result.verdict = IW_VERDICT_SKIP;
        entries[i].result.reason = i == 1 ? "one" : "more";
    }
    entries[3].done = false;
    iw_console_summary(out, &record, false);
    iw_console_summary(out, &record, true);
    is("SKIP 2 cases (c0 ...): more\nSKIP c1: one\n" SUM SUM);
    begin();
    entries[0].result = (struct iw_result){.id = ids[0], .verdict = IW_VERDICT_SKIP};
    iw_console_entry(out, &record, &entries[0], false);
    iw_console_entry(out, &record, &entries[0], true);
    iw_console_summary(out, &record, false);
    is("SKIP c0: \n" SUM);
}

static void test_remarks(void **state)
{
    static char notes[] = "n\nm";

    (void)state;
    begin();
    entries[0].result.notes = notes;
    entries[1].result.observed = NULL;
    iw_console_entry(out, &record, &entries[0], false);
    iw_console_entry(out, &record, &entries[0], true);
    record.remarks = true;
    iw_console_entry(out, &record, &entries[0], false);
    iw_console_entry(out, &record, &entries[1], false);
    is("PASS c0: o\nPASS c0: o\n  notes     n\n            m\nPASS c1\n");
}

static struct iw_deviation deviations[CASES];
static char how_crc[] = "mpa-crc", how_pad[] = "mpa-pad", wrong[] = "a wrong CRC", one[] = "0x1";
static char two[] = "0x2", capture[] = "r/c1.pcapng";

/* The entries from `first` on show the same thing. */
static void deviate(size_t first, size_t count, const char *rule)
{
    for (size_t i = first; i < first + count; i++) {
        deviations[i] = (struct iw_deviation){.verdict = IW_VERDICT_FAIL,
                                              .rule = iw_rule_find(rule),
                                              .how = how_crc,
                                              .wire = true,
                                              .text = wrong,
                                              .expected = one,
                                              .actual = two,
                                              .frame = 3 + i};
        entries[i].result.verdict = IW_VERDICT_FAIL;
        entries[i].result.deviations = &deviations[i];
        entries[i].result.n_deviations = 1;
        entries[i].result.frames = 10;
    }
}

/* Six cases show it, of which five are named; the baseline knows of another. */
static void test_findings(void **state)
{
    (void)state;
    begin();
    record.count = 8;
    record.again = "run ";
    deviate(0, 6, "MPA-4.4-11");
    deviate(6, 1, "MPA-4.1-02");
    deviations[6].how = how_pad;
    entries[6].pinned = IW_PINNED_EXPECTED;
    entries[3].result.role = IW_MPA_RESPONDER;
    entries[1].result.frames = 9;
    entries[1].result.pcap = capture;
    iw_record_conclude(&record);
    iw_console_summary(out, &record, false);
    iw_findings_free(&record.findings);
    is("finding 1: FAIL MPA-4.4-11 (MUST): With CRCs enabled the field holds CRC32c as iSCSI "
       "digests "
       "define it\n"
       "  by        the target as responder and initiator\n"
       "  what      a wrong CRC\n"
       "  expected  0x1\n"
       "  actual    0x2\n"
       "  cases     6: c0 c1 c2 c3 c4 ...\n"
       "  shown by  frame 4 of r/c1.pcapng\n"
       "  again     run c1\n"
       "1 finding as the baseline says\n" SUM);
}

/* What an earlier case has shown is not printed again, unless that was no news or all is asked for.
 */
static void test_repeated_findings(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        begin();
        deviate(0, 2, "MPA-4.4-11");
        entries[0].pinned = i == 1 ? IW_PINNED_EXPECTED : IW_PINNED_NOT;
        iw_console_entry(out, &record, &entries[1], i == 2);
        is(i == 0 ? ""
                  : "FAIL c1\n  case      f.lua:7\n"
                    "  rule      MPA-8-02 (MUST): CRC mismatch is detected (code 2)\n");
    }
}

static void test_progress(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < IW_VERDICT_COUNT; i++)
        record.verdicts[i] = 1u << i;
    record.count = 99;
    iw_console_progress(out, &record, "the-case", -1);
    iw_console_progress(out, &record, NULL, -1);
    iw_console_progress(out, &record,
                        "0123456789012345678901234567890123456789012345678901234567890", -1);
    iw_console_progress(out, &record, "one", 0.9);
    iw_console_progress(out, &record, "two", 3725.2);
    iw_console_progress(out, &record, NULL, 7);
    is("\r\033[K[63/99] 36 FAIL  the-case\r\033[K\r\033[K[63/99] 36 FAIL  "
       "012345678901234567890123456789012345678901234567890123456789"
       "\r\033[K[63/99] 36 FAIL  0:00 left  one\r\033[K[63/99] 36 FAIL  62:05 left  two\r\033[K");
}

static void test_colours(void **state)
{
    (void)state;
    begin();
    record.colour = true;
    record.count = 2;
    entries[0].result.verdict = IW_VERDICT_SKIP;
    entries[0].result.reason = "one";
    entries[1].pinned = IW_PINNED_STALE;
    record.verdicts[IW_VERDICT_PASS] = 1;
    for (size_t i = 0; i < 2; i++)
        iw_console_entry(out, &record, &entries[i], true);
    entries[1].pinned = IW_PINNED_NOT;
    entries[1].result.verdict = IW_VERDICT_FAIL;
    iw_console_entry(out, &record, &entries[1], false);
    iw_console_summary(out, &record, true);
    is("\033[2mSKIP\033[0m c0: one\n"
       "\033[33mSTALE\033[0m c1: PASS, but the baseline says: why\n"
       "\033[32mPASS\033[0m c1: o\n"
       "\033[31mFAIL\033[0m c1\n"
       "  case      f.lua:7\n"
       "  rule      MPA-8-02 (MUST): CRC mismatch is detected (code 2)\n"
       "1 \033[32mPASS\033[0m, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR; 1.2 s, target T\n");
}

/* What is as undecided as a case before is only counted. */
static void test_undecided(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < 4; i++) {
        entries[i].result.verdict = IW_VERDICT_INCONCLUSIVE;
        entries[i].result.reason = i == 1 ? "other" : "no answer";
        iw_console_entry(out, &record, &entries[i], false);
    }
    fputs("--\n", out);
    iw_console_summary(out, &record, false);
    is("INCONCLUSIVE c0\n"
       "  case      f.lua:7\n"
       "  rule      MPA-8-02 (MUST): CRC mismatch is detected (code 2)\n"
       "  reason    no answer\n"
       "INCONCLUSIVE c1\n"
       "  case      f.lua:7\n"
       "  rule      MPA-8-02 (MUST): CRC mismatch is detected (code 2)\n"
       "  reason    other\n"
       "--\n"
       "INCONCLUSIVE 3 cases (c0 ...): no answer\n" SUM);
}

/* A line that no longer holds names the command that mends it. */
static void test_mend(void **state)
{
    static char gone[] = "gone", too[] = "too", *unknown[] = {gone, too};
    (void)state;
    begin();
    record.baseline = "a b";
    record.again = "run --select ";
    record.unknown = unknown;
    record.n_unknown = 2;
    entries[0].c = NULL;
    entries[2].pinned = IW_PINNED_STALE;
    iw_console_entry(out, &record, &entries[2], false);
    iw_console_summary(out, &record, false);
    is("STALE c2: PASS, but the baseline says: why\n"
       "  mend      run --select c2 --baseline 'a b' --write-baseline 'a b'\n"
       "STALE gone: the baseline has it, but there is no such case\n"
       "STALE too: the baseline has it, but there is no such case\n"
       "  mend      run --select c1 --baseline 'a b' --write-baseline 'a b'\n"
       "baseline a b: 0 as expected, 0 new, 2 stale\n" SUM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),  cmocka_unit_test(test_undecided),
        cmocka_unit_test(test_mend),     cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_rounds),   cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_skips),    cmocka_unit_test(test_remarks),
        cmocka_unit_test(test_findings), cmocka_unit_test(test_repeated_findings),
        cmocka_unit_test(test_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
