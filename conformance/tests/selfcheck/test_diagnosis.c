/* SPDX-License-Identifier: BSD-3-Clause */
/* What `self-check --diagnose` plays, how it judges findings, and what it records. The pool is the
 * test's own: one job after the other, without a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "host/text.h"
#include "run/survey.h"
#include "selfcheck/diagnosis.h"

/* ---- the pool ---- */

/* A deviation that a case shows with an option (NULL: without one); other cases pass. */
struct answer {
    const char *id, *option, *rule, *how, *observed;
    enum iw_verdict verdict;
};

static const struct answer *answers;
static char *played;
static unsigned failing, interrupted, troubled; /* the run, from 1; 0: none */
static unsigned runs;
static double patience;

static bool answers_to(const struct answer *a, const struct iw_job *job)
{
    bool option = a->option != NULL ? job->option != NULL && strcmp(a->option, job->option) == 0
                                    : job->option == NULL;
    return option && strcmp(a->id, job->c->id) == 0;
}

static void show(struct iw_result *r, const struct answer *a)
{
    r->verdict = a->verdict;
    r->observed = iw_text_copy(a->observed);
    if (a->rule == NULL)
        return;
    r->deviations = iw_got(realloc(r->deviations, (r->n_deviations + 1) * sizeof(*r->deviations)));
    r->deviations[r->n_deviations++] = (struct iw_deviation){
        .verdict = a->verdict,
        .rule = iw_rule_find(a->rule),
        .how = iw_text_copy(a->how),
        .wire = true,
        .text = iw_text_copy(a->how),
        .connection = -1,
    };
}

static void play_job(const struct iw_pool *pool, unsigned worker, const struct iw_job *job)
{
    struct iw_result r = {.id = iw_text_copy(job->c->id), .verdict = IW_VERDICT_PASS};
    char *longer = iw_text_format("%s%s%s ", played != NULL ? played : "", job->c->id,
                                  job->option != NULL ? job->option + 1 : "");
    free(played);
    played = longer;
    for (const struct answer *a = answers; a != NULL && a->id != NULL; a++)
        if (answers_to(a, job))
            show(&r, a);
    pool->done(pool->context, worker, job, &r);
}

/* What the survey of the peer has found out is what its cases know; nothing of the one before. */
static char *surveyed;
static struct iw_instruments known;

int __wrap_iw_survey_take(/* NOLINT(bugprone-reserved-identifier) */
                          struct iw_survey *out, struct iw_pool *pool,
                          const struct iw_case *const *selected, size_t n_selected, char *error,
                          size_t room);

int __wrap_iw_survey_take(/* NOLINT(bugprone-reserved-identifier) */
                          struct iw_survey *out, struct iw_pool *pool,
                          const struct iw_case *const *selected, size_t n_selected, char *error,
                          size_t room)
{
    (void)selected;
    (void)error;
    (void)room;
    assert_int_equal(n_selected, 3);
    assert_null(pool->options->instruments);
    char *longer = iw_text_format("%s%s ", surveyed != NULL ? surveyed : "",
                                  out->option != NULL ? out->option : "clean");
    free(surveyed);
    surveyed = longer;
    out->instruments.of[0][IW_INSTRUMENT_READ] =
        out->option != NULL ? IW_ABILITY_SILENT : IW_ABILITY_WORKS;
    return 0;
}

int __wrap_iw_pool_run(struct iw_pool *pool, char *error, /* NOLINT(bugprone-reserved-identifier) */
                       size_t room);

int __wrap_iw_pool_run(struct iw_pool *pool, char *error, /* NOLINT(bugprone-reserved-identifier) */
                       size_t room)
{
    struct iw_job jobs[2];
    bool has[2] = {true, true};
    patience = pool->options->patience;
    known = *pool->options->instruments;
    pool->unreached = 3;
    if (++runs == failing) {
        snprintf(error, room, "no process");
        return -1;
    }
    while (has[0] || has[1]) {
        for (unsigned w = 0; w < 2; w++)
            has[w] = pool->next(pool->context, w, &jobs[w]);
        for (unsigned w = 2; w-- > 0;) /* the later one ends first */
            if (has[w])
                play_job(pool, w, &jobs[w]);
        if (runs == interrupted)
            break;
    }
    if (runs == troubled)
        pool->trouble(pool->context, "a leak");
    if (runs == interrupted)
        pool->interrupted = 15;
    return 0;
}

/* ---- cases ---- */

enum { CASES = 3 };

static const struct iw_rule *rules[CASES];
static struct iw_case cases[CASES] = {
    {.id = (char[]){"one"}}, {.id = (char[]){"two"}}, {.id = (char[]){"three"}}};
static const struct iw_case *const listed[CASES] = {&cases[0], &cases[1], &cases[2]};
static struct iw_suite suite;
static struct iw_run_options options;
static struct iw_diagnosis d;
static struct folder folder;
static char *reported;

static void report(void *context, const struct iw_bent *b)
{
    size_t n;
    char *accused = iw_bent_rules(b, false, &n), *innocent = iw_bent_rules(b, true, &n);
    char *longer = iw_text_format("%s%s %s [%s] [%s]; ", reported != NULL ? reported : "", b->name,
                                  iw_outcome_name(iw_bent_outcome(b)), accused, innocent);
    assert_ptr_equal(context, &reported);
    free(innocent);
    free(accused);
    free(reported);
    reported = longer;
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        rules[i] = iw_rule_find("MPA-8-02");
        cases[i].rules = &rules[i];
        cases[i].n_rules = 1;
    }
    answers = NULL;
    failing = interrupted = troubled = runs = 0;
    options = (struct iw_run_options){.patience = 9};
    d = (struct iw_diagnosis){
        .suite = &suite, .cases = listed, .n_cases = CASES, .context = &reported, .report = report};
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    iw_diagnosis_free(&d);
    free(played);
    free(reported);
    free(surveyed);
    played = reported = surveyed = NULL;
    folder_remove(&folder);
    return 0;
}

static void diagnoses(const char *glob, const struct answer *list, const char *expected)
{
    answers = list;
    assert_int_equal(iw_diagnosis_begin(&d, glob, 0, 0), 0);
    assert_int_equal(iw_diagnosis_play(&d, NULL, &options, 2, "dir"), 0);
    assert_string_equal(reported, expected);
}

/* ---- tests ---- */

static void every_case_is_played_with_every_switch(void **state)
{
    (void)state;
    diagnoses("[iv]*=mpa-crc", NULL, "ignore=mpa-crc none [] []; violate=mpa-crc none [] []; ");
    assert_string_equal(played, "two one three two-ignore=mpa-crc one-ignore=mpa-crc "
                                "three-ignore=mpa-crc two-violate=mpa-crc one-violate=mpa-crc "
                                "three-violate=mpa-crc ");
    assert_string_equal(surveyed, "clean --ignore=mpa-crc --violate=mpa-crc ");
    assert_int_equal(known.of[0][IW_INSTRUMENT_READ], IW_ABILITY_SILENT);
    assert_true(patience == 1);
    assert_int_equal(d.bent[0].n_failed, 0);
    assert_true(d.bent[0].seconds >= 0);
    assert_true(iw_diagnosis_sum(&d).belonging == 1);
}

static void findings_are_held_against_the_rules_of_the_switch(void **state)
{
    static const struct answer some[] = {
        {"one", "--violate=mpa-crc", "MPA-4.4-11", "mpa-crc", NULL, IW_VERDICT_FAIL},
        {"two", "--violate=mpa-crc", "MPA-4.4-11", "mpa-crc", NULL, IW_VERDICT_FAIL},
        {"two", "--violate=mpa-crc", "DDP-4.3-08", "ddp-msn", NULL, IW_VERDICT_FAIL},
        {0}};
    (void)state;
    diagnoses("violate=mpa-crc", some,
              "violate=mpa-crc right [MPA-4.4-11 DDP-4.3-08] [DDP-4.3-08]; ");
    const struct iw_bent *b = &d.bent[0];
    assert_int_equal(b->n_failed, 2);
    assert_int_equal(b->n_findings, 2);
    assert_int_equal(b->list[0].n_cases, 2);
    assert_true(b->list[0].belongs);
    assert_false(b->list[1].belongs);
    assert_string_equal(b->list[1].id, "two");
    struct iw_diagnosis_sum sum = iw_diagnosis_sum(&d);
    assert_int_equal(sum.done, 1);
    assert_int_equal(sum.noticed, 1);
    assert_int_equal(sum.right, 1);
    assert_int_equal(sum.few, 1);
    assert_true(sum.belonging == 0.5);
}

/* That a CRC must be checked is no duty of who sends a wrong one. */
static void a_receivers_rule_is_not_the_senders(void **state)
{
    static const struct answer some[] = {
        {"one", "--violate=mpa-crc", "MPA-8-02", "mpa-crc", NULL, IW_VERDICT_FAIL},
        {"one", "--ignore=mpa-crc", "MPA-8-02", "missed", NULL, IW_VERDICT_FAIL},
        {0}};
    (void)state;
    diagnoses("[iv]*=mpa-crc", some,
              "ignore=mpa-crc right [MPA-8-02] []; violate=mpa-crc wrong [MPA-8-02] [MPA-8-02]; ");
    struct iw_diagnosis_sum sum = iw_diagnosis_sum(&d);
    assert_int_equal(sum.right, 1);
    assert_int_equal(sum.noticed, 2);
}

static void what_the_peer_does_anyway_belongs_to_no_switch(void **state)
{
    static const struct answer some[] = {
        {"one", NULL, "MPA-4.4-11", "mpa-crc", NULL, IW_VERDICT_FAIL},
        {"one", "--violate=ddp-msn", "MPA-4.4-11", "mpa-crc", NULL, IW_VERDICT_FAIL},
        {"two", "--violate=ddp-msn", NULL, NULL, "close=fin", IW_VERDICT_PASS},
        {0}};
    (void)state;
    diagnoses("violate=ddp-msn", some, "violate=ddp-msn observed [] []; ");
    assert_int_equal(d.n_unclean, 1);
    assert_int_equal(iw_diagnosis_sum(&d).observed, 1);
    assert_int_equal(iw_diagnosis_sum(&d).noticed, 0);
}

static void two_switches_may_bend_a_peer_at_once(void **state)
{
    static const struct answer some[] = {{"one", "--violate=mpa-crc --violate=ddp-msn",
                                          "MPA-4.4-11", "mpa-crc", NULL, IW_VERDICT_FAIL},
                                         {"two", "--violate=mpa-crc --violate=ddp-msn",
                                          "DDP-4.3-08", "ddp-msn", NULL, IW_VERDICT_FAIL},
                                         {0}};
    (void)state;
    diagnoses("violate=mpa-crc+violate=ddp-msn", some,
              "violate=mpa-crc+violate=ddp-msn right [MPA-4.4-11 DDP-4.3-08] []; ");
    assert_int_equal(d.count, 1);
    assert_int_equal(d.bent[0].n_findings, 2);
}

static void wrong_switches_are_refused(void **state)
{
    static const char *const wrong[] = {
        "ignore=nothing", "violate=mpa-crc+ignore=nothing", "violate=mpa-crc+ignore=*",
        "ignore=mpa-crc+ignore=ddp-qn+ignore=ddp-msn+ignore=ddp-mo"};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(iw_diagnosis_begin(&d, wrong[i], 0, 0), -1);
    assert_int_equal(d.count, 0);
}

/* The parts together are all switches, each once. */
static void a_part_is_every_nth(void **state)
{
    size_t all, sum = 0;
    (void)state;
    d.full = true;
    struct iw_probe *probes = iw_probes_make(true, NULL, &all);
    for (unsigned part = 1; part <= 7; part++) {
        assert_int_equal(iw_diagnosis_begin(&d, NULL, part, 7), 0);
        assert_string_equal(d.bent[sum].name, probes[part - 1].option + 2);
        sum = d.count;
    }
    assert_int_equal(sum, all);
    free(probes);
}

static void what_ends_a_run_ends_all(void **state)
{
    (void)state;
    assert_int_equal(iw_diagnosis_begin(&d, "*=mpa-crc", 0, 0), 0);
    interrupted = 2;
    assert_int_equal(iw_diagnosis_play(&d, NULL, &options, 2, "dir"), 128 + 15);
    iw_record_free(&d.clean);
    d.clean = (struct iw_record){0};
    runs = interrupted = 0;
    failing = 1;
    assert_int_equal(iw_diagnosis_play(&d, NULL, &options, 2, "dir"), 70);
    assert_null(reported);
}

static void errors_are_counted(void **state)
{
    static const struct answer some[] = {
        {"one", "--violate=mpa-crc", NULL, NULL, NULL, IW_VERDICT_ERROR}, {0}};
    (void)state;
    troubled = 2;
    diagnoses("violate=mpa-crc", some, "violate=mpa-crc none [] []; ");
    assert_int_equal(d.n_errors, 2);
}

/* ---- the report ---- */

static void all_that_is_done_is_reported(void **state)
{
    struct iw_suite files = {.digest = "0123456789abcdef"};
    struct iw_accusation list[2] = {{.rule = iw_rule_find("MPA-4.4-11"),
                                     .verdict = IW_VERDICT_FAIL,
                                     .n_cases = 3,
                                     .belongs = true,
                                     .id = (char[]){"one"},
                                     .text = (char[]){"no CRC"}},
                                    {.rule = iw_rule_find("DDP-4.3-08"),
                                     .verdict = IW_VERDICT_NOTE,
                                     .n_cases = 1,
                                     .id = (char[]){"two"}}};
    struct iw_bent bent[2] = {{.name = (char[]){"violate=mpa-crc"},
                               .n_failed = 4,
                               .n_observed = 5,
                               .list = list,
                               .n_findings = 2,
                               .seconds = 1.123456789,
                               .done = true},
                              {.name = (char[]){"violate=ddp-msn"}}};
    struct iw_diagnosis of = {.suite = &files,
                              .n_cases = 9,
                              .bent = bent,
                              .count = 2,
                              .n_errors = 6,
                              .n_unclean = 7,
                              .seconds = 2.5};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    (void)state;
    assert_non_null(out);
    iw_diagnosis_json(out, &of);
    fclose(out);
    assert_string_equal(
        text,
        "{\n \"schema\": 1,\n \"tool\": {\n  \"name\": \"iwarp-conform\",\n  \"version\": "
        "\"" IW_VERSION
        "\"\n },\n \"suite\": {\n  \"version\": \"0123456789abcdef\"\n },\n \"cases\": 9,\n "
        "\"seconds\": 2.5,\n \"summary\": {\n  \"switches\": 1,\n  \"noticed\": 1,\n  "
        "\"observed\": 0,\n  \"right\": 1,\n  \"few\": 1,\n  \"belonging\": 0.5,\n  \"unclean\": "
        "7,\n  \"errors\": 6\n },\n \"switches\": [\n  {\n   \"switch\": \"violate=mpa-crc\",\n   "
        "\"first\": \"right\",\n   \"failed\": 4,\n   \"observed\": 5,\n   \"seconds\": "
        "1.12345679,\n   \"findings\": [\n    {\n     \"number\": 1,\n     \"rule\": "
        "\"MPA-4.4-11\",\n     \"verdict\": \"FAIL\",\n     \"belongs\": true,\n     \"count\": "
        "3,\n"
        "     \"case\": \"one\",\n     \"text\": \"no CRC\"\n    },\n    {\n     \"number\": 2,\n  "
        "   "
        "\"rule\": \"DDP-4.3-08\",\n     \"verdict\": \"NOTE\",\n     \"belongs\": false,\n     "
        "\"count\": 1,\n     \"case\": \"two\",\n     \"text\": null\n    }\n   ]\n  }\n ]\n}\n");
    free(text);
    out = open_memstream(&text, &length);
    assert_non_null(out);
    iw_bent_print(out, &bent[0], true);
    iw_diagnosis_print(out, &of);
    fclose(out);
    assert_string_equal(
        text,
        "violate=mpa-crc                              right       4 FAIL  2 findings   1.1 s  "
        "MPA-4.4-11 DDP-4.3-08  (was better)\n"
        "  1 FAIL MPA-4.4-11 belongs, 3 cases (one): no CRC\n"
        "  2 NOTE DDP-4.3-08 is innocent, 1 case (two): \n"
        "\ndiagnosis: 1 of 1 switches lead to findings, 0 to other observations only; the first "
        "finding is right in 1 (100.0 %), at most 3 findings in 1 (100.0 %), of the rules accused "
        "0.500 belong on average, 6 errors; 9 cases, 2.5 s\n");
    free(text);
}

/* ---- the table ---- */

static struct iw_bent outcome(const char *name, const char *rule, bool belongs, double seconds)
{
    static struct iw_accusation accusation;
    accusation =
        (struct iw_accusation){.rule = iw_rule_find(rule), .n_cases = 1, .belongs = belongs};
    return (struct iw_bent){.name = (char *)(uintptr_t)name,
                            .list = &accusation,
                            .n_findings = 1,
                            .seconds = seconds,
                            .done = true};
}

static void a_table_keeps_other_lines(void **state)
{
    static const char before[] = "switch,first,findings,rules,innocent,seconds\n"
                                 "violate=ddp-msn,right,1,DDP-4.3-08,,12\n"
                                 "ignore=gone,right,1,DDP-4.3-08,,12\n"
                                 "violate=mpa-crc,right,1,MPA-4.4-11,,20\n"
                                 "violate=mpa-crc+violate=ddp-msn,right,1,MPA-4.4-11,,20\n";
    struct iw_diagnosis_table t;
    char *path = folder_file(&folder, "diagnosis.csv", before);
    (void)state;
    assert_int_equal(iw_diagnosis_read(&t, path), 0);
    struct iw_bent b = outcome("violate=mpa-crc", "DDP-4.3-08", false, 11);
    assert_true(iw_diagnosis_worse(&t, &b));
    iw_diagnosis_update(&t, &b); /* 20 s are about as much as 11 s */
    assert_false(iw_diagnosis_worse(&t, &b));
    b.list[0].rule = iw_rule_find("DDP-4.3-12"); /* another innocent one */
    assert_true(iw_diagnosis_worse(&t, &b));
    iw_proof_set(&t.lines, "ignore=mpa-crc", "wrong"); /* a line that ends too early */
    b = outcome("ignore=mpa-crc", "MPA-8-02", false, 5.2);
    assert_true(iw_diagnosis_worse(&t, &b));
    b = outcome("ignore=mpa-crc", "MPA-8-02", true, 5.2);
    assert_false(iw_diagnosis_worse(&t, &b));
    iw_diagnosis_update(&t, &b);
    b = outcome("violate=ddp-msn", "DDP-4.3-08", true, 24.5);
    assert_false(iw_diagnosis_worse(&t, &b));
    iw_diagnosis_update(&t, &b);
    assert_int_equal(iw_diagnosis_write(&t, path), 0);
    char *after = folder_read(path);
    assert_string_equal(after, "switch,first,findings,rules,innocent,seconds\n"
                               "ignore=mpa-crc,right,1,MPA-8-02,,6\n"
                               "violate=mpa-crc,wrong,1,DDP-4.3-08,DDP-4.3-08,20\n"
                               "violate=ddp-msn,right,1,DDP-4.3-08,,25\n"
                               "violate=mpa-crc+violate=ddp-msn,right,1,MPA-4.4-11,,20\n");
    free(after);
    iw_diagnosis_table_free(&t);
    free(path);
}

static void a_bad_table_is_refused(void **state)
{
    struct iw_diagnosis_table t;
    char *path = folder_file(&folder, "diagnosis.csv", "head\nno comma\n");
    (void)state;
    assert_int_equal(iw_diagnosis_read(&t, path), -1);
    iw_diagnosis_table_free(&t);
    free(path);
}

/* ---- consequences ---- */

static struct iw_probe probe(const char *name)
{
    size_t n;
    struct iw_probe *list = iw_probes_make(true, name, &n), one = list[0];
    assert_int_equal(n, 1);
    free(list);
    return one;
}

static bool break_rule(const char *name, const char *rule)
{
    struct iw_probe p = probe(name);
    return iw_probe_breaks(&p, iw_rule_find(rule));
}

static void a_switch_breaks_rules_of_its_side(void **state)
{
    (void)state;
    assert_true(break_rule("ignore=mpa-crc", "MPA-8-02"));
    assert_false(break_rule("ignore=mpa-crc", "DDP-7.1-09"));
    assert_true(break_rule("violate=mpa-crc", "MPA-4.4-11"));
    assert_false(break_rule("violate=mpa-crc", "MPA-8-02"));
    assert_true(break_rule("violate=ddp-msn", "DDP-4.3-08"));
    assert_false(break_rule("violate=ddp-msn", "DDP-7.1-09"));
    assert_false(break_rule("ignore=ddp-msn", "DDP-4.3-08"));
    assert_true(break_rule("ignore=ddp-msn", "DDP-7.1-09"));
}

static void what_follows_has_its_sentence(void **state)
{
    static const struct {
        const char *name, *rule, *place;
    } some[] = {
        {"botch=mpa-crc=layer", "RDMAP-4.8-01", "RFC 5040 §4.8"},
        {"botch=ddp-stag=code", "RDMAP-7.1-03", "RFC 5040 §4.8"},
        {"botch=ddp-msn=again", "RDMAP-5.4-08", "RFC 5040 §5.4"},
        {"botch=ddp-msn=place", "RDMAP-5.2-01", "RFC 5041 §7.1"},
        {"botch=mpa-crc=close", "MPA-8-12", "RFC 5040 §7.1"},
        {"ignore=mpa-req-key", "MPA-8-13", "RFC 5040 §7.1"},
        {"violate=mpa-ord-obey", "RDMAP-6.1-04", "RFC 5040 §6.1"},
        {"violate=mpa-crc-demand", "MPA-4.4-11", "RFC 5044 §7.1.1"},
        {"violate=ddp-to-wrap", "DDP-5.2-08", "RFC 5041 §5.2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
        struct iw_probe p = probe(some[i].name);
        const char *sentence = iw_probe_consequence(&p, iw_rule_find(some[i].rule));
        assert_non_null(sentence);
        assert_non_null(strstr(sentence, some[i].place));
        assert_true(break_rule(some[i].name, some[i].rule));
    }
    assert_false(break_rule("botch=ddp-msn=again", "RDMAP-4.8-01"));
    assert_false(break_rule("violate=mpa-crc", "RDMAP-5.2-01"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_case_is_played_with_every_switch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(findings_are_held_against_the_rules_of_the_switch, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_receivers_rule_is_not_the_senders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_peer_does_anyway_belongs_to_no_switch, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(two_switches_may_bend_a_peer_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_switches_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_part_is_every_nth, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_ends_a_run_ends_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_are_counted, set_up, tear_down),
        cmocka_unit_test(all_that_is_done_is_reported),
        cmocka_unit_test_setup_teardown(a_table_keeps_other_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_table_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_switch_breaks_rules_of_its_side, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_follows_has_its_sentence, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
