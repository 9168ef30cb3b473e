/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a run: what fills it, which of two rounds counts, and what it amounts to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/text.h"
#include "recording.h"
#include "run/baseline.h"
#include "run/pool.h"
#include "run/run_record.h"
#include "suite/suite.h"

static const struct iw_rule *rules[1];
static struct iw_case cases[3] = {{.id = (char[]){"one"}, .file = (char[]){"f1"}},
                                  {.id = (char[]){"two"}, .file = (char[]){"f2"}},
                                  {.id = (char[]){"three"}, .file = (char[]){"f3"}}};
static const struct iw_case *const selected[] = {&cases[2], &cases[0]};
static struct iw_suite_file files[] = {{.path = (char[]){"a.lua"}},
                                       {.path = (char[]){"b.lua"}, .error = (char[]){"b: bad"}},
                                       {.path = (char[]){"c.lua"}, .error = (char[]){"c: bad"}}};
static const struct iw_suite suite = {.files = files, .n_files = 3, .n_broken = 2};
static const struct iw_baseline none;
static struct iw_record r;

static int set_up(void **state)
{
    r = (struct iw_record){.repeat = 1};
    iw_record_fill(&r, &suite, selected, 2);
    return recording_setup(state);
}

static int tear_down(void **state)
{
    iw_record_free(&r);
    return recording_teardown(state);
}

static void files_that_are_broken_come_first(void **state)
{
    (void)state;
    assert_int_equal(r.count, 4);
    assert_null(r.entries[0].c);
    assert_string_equal(r.entries[0].file, "b.lua");
    assert_string_equal(r.entries[0].result.id, "b.lua");
    assert_string_equal(r.entries[0].result.reason, "b: bad");
    assert_int_equal(r.entries[0].result.verdict, IW_VERDICT_ERROR);
    assert_true(r.entries[0].done);
    assert_string_equal(r.entries[1].result.reason, "c: bad");
    assert_ptr_equal(r.entries[2].c, &cases[2]);
    assert_string_equal(r.entries[2].file, "f3");
    assert_false(r.entries[2].done);
    assert_null(r.entries[2].result.id);
    assert_ptr_equal(r.entries[3].c, &cases[0]);
    assert_string_equal(r.entries[3].file, "f1");
    assert_int_equal(r.verdicts[IW_VERDICT_ERROR], 2);
    assert_int_equal(r.pinned[IW_PINNED_NOT], 2);
    assert_int_equal(iw_record_done(&r), 2);
    assert_ptr_equal(iw_record_entry(&r, "one"), &r.entries[3]);
    assert_ptr_equal(iw_record_entry(&r, "three"), &r.entries[2]);
    assert_null(iw_record_entry(&r, "two"));
    assert_null(iw_record_entry(&r, "b.lua"));
}

static void files_are_not_played(void **state)
{
    unsigned round = 9;

    (void)state;
    assert_ptr_equal(iw_record_next(&r, &round), &r.entries[2]);
    assert_int_equal(round, 0);
    assert_ptr_equal(iw_record_next(&r, &round), &r.entries[3]);
    assert_null(iw_record_next(&r, &round));
}

/* Takes over the texts. */
static void take(size_t i, const struct iw_baseline *b, enum iw_verdict verdict, char *reason,
                 char *pcap)
{
    struct iw_result result = {
        .id = iw_text_copy("x"), .verdict = verdict, .reason = reason, .pcap = pcap};

    iw_record_take(&r, b, &r.entries[i], &result);
}

static char *captured(const struct folder *f, const char *name)
{
    return folder_file(f, name, "");
}

static bool there(const struct folder *f, const char *name)
{
    char *path = iw_text_format("%s/%s", f->path, name);
    bool is = access(path, F_OK) == 0;

    free(path);
    return is;
}

/* The first of equals, and its capture. */
static void the_gravest_round_counts(void **state)
{
    const struct folder *f = *state;

    r.repeat = 4;
    take(2, &none, IW_VERDICT_NOTE, iw_text_copy("a"), captured(f, "a"));
    assert_true(there(f, "a"));
    take(2, &none, IW_VERDICT_NOTE, iw_text_copy("b"), captured(f, "b"));
    assert_string_equal(r.entries[2].result.reason, "a");
    assert_true(there(f, "a"));
    assert_false(there(f, "b"));
    take(2, &none, IW_VERDICT_FAIL, iw_text_copy("c"), captured(f, "c"));
    assert_string_equal(r.entries[2].result.reason, "c");
    assert_false(there(f, "a"));
    assert_true(there(f, "c"));
    assert_false(r.entries[2].done);
    assert_int_equal(iw_record_done(&r), 2);
    take(2, &none, IW_VERDICT_PASS, NULL, NULL);
    assert_true(r.entries[2].done);
    assert_int_equal(r.verdicts[IW_VERDICT_FAIL], 1);
    assert_int_equal(iw_record_done(&r), 3);
    assert_int_equal(r.entries[2].rounds[IW_VERDICT_NOTE], 2);
    assert_int_equal(r.entries[2].rounds[IW_VERDICT_FAIL], 1);
    assert_int_equal(r.entries[2].rounds[IW_VERDICT_PASS], 1);
    assert_true(iw_entry_unstable(&r.entries[2]));
    assert_false(iw_entry_unstable(&r.entries[3]));
}

static void a_target_that_was_not_reached(void **state)
{
    struct iw_pin pins[] = {
        {.id = (char[]){"one"}, .verdict = IW_VERDICT_FAIL, .reason = (char[]){"known"}}};
    struct iw_baseline b = {.pins = pins, .count = 1};

    (void)state;
    r.baseline = "b";
    take(3, &b, IW_VERDICT_INCONCLUSIVE, iw_text_copy(IW_UNREACHED "x"), NULL);
    assert_true(r.entries[3].unreached);
    assert_int_equal(r.entries[3].pinned, IW_PINNED_NOT);
    assert_string_equal(r.entries[3].known, "known");
    take(2, &b, IW_VERDICT_INCONCLUSIVE, iw_text_copy(IW_SILENT "x"), NULL);
    assert_true(r.entries[2].unreached);
    assert_null(r.entries[2].known);
    assert_int_equal(r.pinned[IW_PINNED_NOT], 4);
}

static void a_target_that_speaks_no_mpa(void **state)
{
    (void)state;
    take(3, &none, IW_VERDICT_INCONCLUSIVE, iw_text_copy(IW_NO_MPA "x"), NULL);
    take(2, &none, IW_VERDICT_INCONCLUSIVE, iw_text_copy(IW_NO_MPA "x"), NULL);
    assert_true(r.entries[2].unreached && r.entries[3].unreached);
    assert_int_equal(r.pinned[IW_PINNED_NEW], 0);
}

static void another_reason_is_none_of_reach(void **state)
{
    (void)state;
    r.baseline = "b";
    take(3, &none, IW_VERDICT_FAIL, iw_text_copy(IW_UNREACHED "x"), NULL);
    assert_false(r.entries[3].unreached);
    assert_int_equal(r.entries[3].pinned, IW_PINNED_NEW);
    take(2, &none, IW_VERDICT_INCONCLUSIVE, iw_text_copy("the target was not"), NULL);
    assert_false(r.entries[2].unreached);
    assert_int_equal(r.pinned[IW_PINNED_NEW], 2);
}

static void without_a_baseline_nothing_is_new(void **state)
{
    (void)state;
    take(3, &none, IW_VERDICT_FAIL, NULL, NULL);
    assert_int_equal(r.entries[3].pinned, IW_PINNED_NOT);
    take(2, &none, IW_VERDICT_INCONCLUSIVE, NULL, NULL);
    assert_false(r.entries[2].unreached);
    assert_int_equal(r.pinned[IW_PINNED_NOT], 4);
}

/* Only the two that were selected. */
static struct iw_result charge_of(const char *how)
{
    struct iw_result charge = {.verdict = IW_VERDICT_FAIL,
                               .reason = iw_text_copy("it ended"),
                               .log = iw_text_copy("target-1.log"),
                               .notes = iw_text_copy("seen later"),
                               .n_deviations = 1};
    charge.deviations = iw_got(calloc(1, sizeof(*charge.deviations)));
    charge.deviations[0] = (struct iw_deviation){
        .verdict = IW_VERDICT_FAIL, .how = iw_text_copy(how), .connection = -1};
    return charge;
}

/* What comes out after a case is done counts as if it had come out in it, once. */
static void a_case_is_charged_after_its_end(void **state)
{
    struct iw_pin pins[] = {{.id = (char[]){"one"}, .verdict = IW_VERDICT_FAIL}};
    const struct iw_baseline known = {.pins = pins, .count = 1};

    (void)state;
    r.baseline = "b";
    take(3, &known, IW_VERDICT_PASS, NULL, NULL);
    assert_int_equal(r.entries[3].pinned, IW_PINNED_STALE);
    for (int i = 0; i < 2; i++) {
        struct iw_result charge = charge_of("killed");
        assert_int_equal(iw_record_charge(&r, &known, &r.entries[3], &charge), i == 0);
        assert_null(charge.reason);
        assert_int_equal(r.verdicts[IW_VERDICT_PASS], 0);
        assert_int_equal(r.verdicts[IW_VERDICT_FAIL], 1);
        assert_int_equal(r.entries[3].rounds[IW_VERDICT_PASS], 0);
        assert_int_equal(r.entries[3].rounds[IW_VERDICT_FAIL], 1);
        assert_int_equal(r.pinned[IW_PINNED_STALE], 0);
        assert_int_equal(r.pinned[IW_PINNED_EXPECTED], 1);
        assert_int_equal(iw_record_done(&r), 3);
    }
    const struct iw_result *result = &r.entries[3].result;
    assert_string_equal(result->reason, "it ended");
    assert_string_equal(result->log, "target-1.log");
    assert_string_equal(result->notes, "seen later");
    assert_int_equal(result->n_deviations, 1);
    assert_string_equal(result->id, "x");
    iw_record_conclude(&r);
    assert_int_equal(r.findings.count, 1);
    assert_null(r.findings.list[0].rule);
}

static int status_of(enum iw_verdict one, enum iw_verdict three, const char *reason, bool reached)
{
    static const struct iw_suite empty;
    struct iw_record before = r;
    int status;

    r = (struct iw_record){.repeat = 1};
    iw_record_fill(&r, &empty, selected, 2);
    take(0, &none, three, iw_text_copy(reason), NULL);
    take(1, &none, one, iw_text_copy(reason), NULL);
    status = iw_record_status(&r, reached);
    iw_record_free(&r);
    r = before;
    return status;
}

/* A case that is skipped once it has begun may have shown something before that. */
static void what_a_skipped_case_shows_is_known_with_its_pin(void **state)
{
    struct iw_deviation looked_through = {.verdict = IW_VERDICT_FAIL};
    struct iw_entry entry = {
        .done = true,
        .result = {.verdict = IW_VERDICT_SKIP, .deviations = &looked_through, .n_deviations = 1}};
    const struct iw_record one = {.entries = &entry, .count = 1};

    (void)state;
    assert_false(iw_entry_as_pinned(&entry));
    assert_int_equal(iw_record_status(&one, true), 1);
    entry.known = "why";
    assert_true(iw_entry_as_pinned(&entry));
    assert_int_equal(iw_record_status(&one, true), 0);
    entry.result.verdict = IW_VERDICT_FAIL;
    assert_false(iw_entry_as_pinned(&entry));
    entry.pinned = IW_PINNED_EXPECTED;
    assert_true(iw_entry_as_pinned(&entry));
}

static void a_status_is_that_of_the_gravest(void **state)
{
    const enum iw_verdict p = IW_VERDICT_PASS, n = IW_VERDICT_NOTE, f = IW_VERDICT_FAIL,
                          i = IW_VERDICT_INCONCLUSIVE, s = IW_VERDICT_SKIP, e = IW_VERDICT_ERROR;
    static const char unreached[] = IW_UNREACHED "nobody";

    (void)state;
    assert_int_equal(status_of(p, n, "x", true), 0);
    assert_int_equal(status_of(s, s, "x", true), 0);
    assert_int_equal(status_of(p, f, "x", true), 1);
    assert_int_equal(status_of(f, p, "x", true), 1);
    assert_int_equal(status_of(f, i, "x", true), 1);
    assert_int_equal(status_of(p, i, "x", true), 3);
    assert_int_equal(status_of(f, e, "x", true), 70);
    assert_int_equal(status_of(i, e, unreached, false), 70);
    assert_int_equal(status_of(f, i, unreached, true), 1);
    assert_int_equal(status_of(f, i, unreached, false), 3);
    assert_int_equal(status_of(i, f, unreached, false), 3);
    assert_int_equal(status_of(p, i, unreached, true), 3);
    assert_int_equal(status_of(p, p, "x", false), 0);
    assert_int_equal(iw_record_status(&r, true), 70); /* a file is broken */
    r.verdicts[IW_VERDICT_ERROR] = 0;
    r.pinned[IW_PINNED_STALE] = 1;
    assert_int_equal(iw_record_status(&r, true), 2);
    r.pinned[IW_PINNED_STALE] = 0;
    r.n_unknown = 1;
    assert_int_equal(iw_record_status(&r, true), 2);
    r.n_unknown = 0;
    assert_int_equal(iw_record_status(&r, true), 0);
}

static void a_rule_is_the_broken_one_or_the_first(void **state)
{
    struct iw_entry entry = {.c = &cases[1]};

    (void)state;
    assert_null(iw_entry_rule(&entry));
    rules[0] = iw_rule_find("MPA-8-02");
    cases[1].rules = rules;
    cases[1].n_rules = 1;
    assert_ptr_equal(iw_entry_rule(&entry), rules[0]);
    entry.result.rule = iw_rule_find("MPA-4.1-02");
    assert_ptr_equal(iw_entry_rule(&entry), entry.result.rule);
    entry = (struct iw_entry){0};
    assert_null(iw_entry_rule(&entry));
    assert_null(iw_pinned_name(IW_PINNED_NOT));
    assert_string_equal(iw_pinned_name(IW_PINNED_EXPECTED), "expected");
    assert_string_equal(iw_pinned_name(IW_PINNED_NEW), "new");
    assert_string_equal(iw_pinned_name(IW_PINNED_STALE), "stale");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_that_are_broken_come_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_not_played, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_gravest_round_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_target_that_was_not_reached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_target_that_speaks_no_mpa, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_reason_is_none_of_reach, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_case_is_charged_after_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_baseline_nothing_is_new, set_up, tear_down),
        cmocka_unit_test(what_a_skipped_case_shows_is_known_with_its_pin),
        cmocka_unit_test_setup_teardown(a_status_is_that_of_the_gravest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rule_is_the_broken_one_or_the_first, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
