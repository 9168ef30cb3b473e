/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnosis.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/transport.h"
#include "run/baseline.h"
#include "run/survey.h"

/* As self-check: a peer on the same host needs no 3 s to answer. */
#define PATIENCE 1.0

enum { FEW = 3 /* findings */ };

/* A peer while its cases run: a bent one, or the clean one. */
struct trial {
    struct iw_bent *bent;
    struct iw_record record;
    uint64_t began;
};

struct diagnosis_run {
    struct iw_diagnosis *d;
    struct trial *trial;
    size_t number, count; /* of the bent peers, from 1; the clean one is 0 */
    bool progress;
};

/* ---- the peers ---- */

static void add(struct iw_diagnosis *d, const struct iw_probe *parts, size_t n)
{
    struct iw_bent b = {.n_parts = n};
    for (size_t i = 0; i < n; i++) {
        b.parts[i] = parts[i];
        iw_text_join(&b.name, "+", parts[i].option + 2);
        iw_text_join(&b.option, " ", parts[i].option);
    }
    d->bent = iw_got(realloc(d->bent, (d->count + 1) * sizeof(*d->bent)));
    d->bent[d->count++] = b;
}

/* "A+B": one peer, bent by each. Returns false after printing an error. */
static bool add_together(struct iw_diagnosis *d, const char *text)
{
    struct iw_probe parts[IW_BENT_PARTS];
    char *words = iw_text_copy(text), *rest = words, *word;
    size_t n = 0;
    const char *wrong = NULL;
    while (wrong == NULL && (word = strsep(&rest, "+")) != NULL) {
        size_t fit;
        struct iw_probe *list = iw_probes_make(true, word, &fit);
        if (fit != 1)
            wrong = "each part of A+B must name one switch";
        else if (n == IW_BENT_PARTS)
            wrong = "too many switches at once";
        else
            parts[n++] = list[0];
        free(list);
    }
    if (wrong != NULL)
        iw_complain("--switch %s: %s", text, wrong);
    else
        add(d, parts, n);
    free(words);
    return wrong == NULL;
}

int iw_diagnosis_begin(struct iw_diagnosis *d, const char *glob, unsigned part, unsigned parts)
{
    size_t fit;
    if (glob != NULL && strchr(glob, '+') != NULL)
        return add_together(d, glob) ? 0 : -1;
    struct iw_probe *list = iw_probes_make(d->full || glob != NULL, glob, &fit);
    for (size_t i = 0; i < fit; i++)
        if (parts == 0 || i % parts == part - 1)
            add(d, &list[i], 1);
    free(list);
    if (fit == 0)
        iw_complain("--switch %s: fits no switch", glob);
    return fit > 0 ? 0 : -1;
}

/* ---- what the findings accuse ---- */

static bool breaks(const struct iw_bent *b, const struct iw_rule *rule)
{
    bool found = false;
    for (size_t i = 0; i < b->n_parts && !found; i++)
        found = iw_probe_breaks(&b->parts[i], rule);
    return found;
}

/* What the peer does without any switch is not the switch's doing. */
static bool of_clean_run(const struct iw_diagnosis *d, const struct iw_deviation *one)
{
    const struct iw_findings *clean = &d->clean.findings;
    for (size_t i = 0; i < clean->count; i++)
        if (iw_deviations_alike(iw_finding_deviation(&clean->list[i], &d->clean), one))
            return true;
    return false;
}

static void take_findings(const struct iw_diagnosis *d, struct trial *trial)
{
    const struct iw_record *r = &trial->record;
    struct iw_bent *b = trial->bent;
    b->list = iw_got(calloc(r->findings.count + 1, sizeof(*b->list)));
    for (size_t i = 0; i < r->findings.count; i++) {
        const struct iw_finding *f = &r->findings.list[i];
        const struct iw_deviation *shown = iw_finding_deviation(f, r);
        if (f->rule == NULL || of_clean_run(d, shown))
            continue;
        b->list[b->n_findings++] =
            (struct iw_accusation){.rule = f->rule,
                                   .verdict = f->verdict,
                                   .n_cases = f->n_cases,
                                   .belongs = breaks(b, f->rule),
                                   .id = iw_text_copy(r->entries[f->exhibit].result.id),
                                   .text = iw_text_copy(shown->text)};
    }
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* Counts cases that were judged with the same verdict in both runs, but observed something else. */
static size_t count_observed(const struct iw_record *clean, const struct iw_record *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct iw_result *now = &r->entries[i].result;
        const struct iw_result *before = &clean->entries[i].result;
        n += now->verdict == IW_VERDICT_PASS && before->verdict == now->verdict &&
             strcmp(or_empty(now->observed), or_empty(before->observed)) != 0;
    }
    return n;
}

/* ---- the pool's side ---- */

static void begin_trial(const struct iw_diagnosis *d, struct trial *trial)
{
    trial->record = (struct iw_record){.repeat = 1};
    iw_record_fill(&trial->record, d->suite, d->cases, d->n_cases);
    trial->began = iw_transport_now();
}

static bool next(void *context, unsigned worker, struct iw_job *job)
{
    struct diagnosis_run *run = context;
    struct trial *trial = run->trial;
    unsigned round = 0;
    const struct iw_entry *entry = iw_record_next(&trial->record, &round);
    (void)worker;
    if (entry == NULL)
        return false;
    *job = (struct iw_job){
        .c = entry->c, .round = round, .option = trial->bent != NULL ? trial->bent->option : NULL};
    return true;
}

static void wipe(const struct diagnosis_run *run)
{
    if (run->progress)
        fputs("\r\033[K", stderr);
}

static void end_trial(struct diagnosis_run *run, struct trial *trial)
{
    struct iw_bent *b = trial->bent;
    iw_record_conclude(&trial->record);
    if (b == NULL) { /* the clean one, which stays */
        run->d->n_unclean = trial->record.findings.count;
        return;
    }
    take_findings(run->d, trial);
    b->n_failed = trial->record.verdicts[IW_VERDICT_FAIL];
    b->n_observed = count_observed(&run->d->clean, &trial->record);
    b->seconds = (double)(iw_transport_now() - trial->began) / 1e9;
    b->done = true;
    iw_record_free(&trial->record);
    trial->record = (struct iw_record){0};
    wipe(run);
    run->d->report(run->d->context, b);
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    static const struct iw_baseline nothing;
    struct diagnosis_run *run = context;
    struct trial *trial = run->trial;
    struct iw_record *r = &trial->record;
    const char *name = trial->bent != NULL ? trial->bent->name : "no switch";
    (void)worker;
    if (result->verdict == IW_VERDICT_ERROR) {
        wipe(run);
        iw_complain("%s, case %s: %s", name, job->c->id, or_empty(result->reason));
        run->d->n_errors++;
    }
    iw_record_take(r, &nothing, iw_record_entry(r, job->c->id), result);
    size_t played = iw_record_done(r);
    if (run->progress)
        fprintf(stderr, "\r\033[K[%zu/%zu] %s: %zu of %zu cases", run->number, run->count, name,
                played, r->count);
    if (played == r->count)
        end_trial(run, trial);
}

static void trouble(void *context, const char *line)
{
    struct diagnosis_run *run = context;
    wipe(run);
    iw_complain("the target, at its end: %s", line);
    run->d->n_errors++;
}

/* ---- all of it ---- */

/* Plays all cases against the peer of a trial, after it was surveyed, as in a run. */
static int play(struct iw_diagnosis *d, struct iw_pool *pool, struct iw_run_options *options,
                struct trial *trial, size_t number)
{
    struct diagnosis_run run = {
        .d = d, .trial = trial, .number = number, .count = d->count, .progress = isatty(2) != 0};
    struct iw_survey survey = {.option = trial->bent != NULL ? trial->bent->option : NULL};
    char error[256];
    begin_trial(d, trial);
    options->instruments = NULL;
    options->quirks = NULL;
    bool good = !iw_survey_take(&survey, pool, d->cases, d->n_cases, error, sizeof(error));
    options->instruments = &survey.instruments;
    options->quirks = survey.quirks;
    pool->context = &run;
    pool->unreached = 0;
    good = good && (pool->interrupted || !iw_pool_run(pool, error, sizeof(error)));
    wipe(&run);
    if (!good)
        iw_complain("%s", error);
    if (good && pool->interrupted)
        iw_complain("interrupted");
    iw_survey_free(&survey);
    options->instruments = NULL;
    options->quirks = NULL;
    pool->context = NULL;
    return !good ? IW_EXIT_TESTER : pool->interrupted ? IW_EXIT_SIGNALLED + pool->interrupted : 0;
}

static int play_bent(struct iw_diagnosis *d, struct iw_pool *pool, struct iw_run_options *options)
{
    int status = 0;
    for (size_t i = 0; i < d->count && !status; i++) {
        struct trial trial = {.bent = &d->bent[i]};
        status = play(d, pool, options, &trial, i + 1);
        iw_record_free(&trial.record); /* one that was interrupted */
    }
    return status;
}

int iw_diagnosis_play(struct iw_diagnosis *d, const struct iw_target_spec *target,
                      const struct iw_run_options *options, unsigned workers, const char *dir)
{
    struct iw_run_options hasty = *options;
    struct iw_pool pool = {.target = target,
                           .options = &hasty,
                           .workers = workers,
                           .log_dir = dir,
                           .hasty = true,
                           .play = iw_script_run_case,
                           .next = next,
                           .done = done,
                           .trouble = trouble};
    struct trial clean = {0};
    uint64_t began = iw_transport_now();
    hasty.patience = PATIENCE;
    int status = play(d, &pool, &hasty, &clean, 0);
    d->clean = clean.record;
    if (!status)
        status = play_bent(d, &pool, &hasty);
    free(pool.version);
    iw_device_free(&pool.device);
    d->seconds = (double)(iw_transport_now() - began) / 1e9;
    return status;
}

void iw_diagnosis_free(struct iw_diagnosis *d)
{
    for (size_t i = 0; i < d->count; i++) {
        struct iw_bent *b = &d->bent[i];
        for (size_t k = 0; k < b->n_findings; k++) {
            free(b->list[k].id);
            free(b->list[k].text);
        }
        free(b->list);
        free(b->name);
        free(b->option);
    }
    free(d->bent);
    iw_record_free(&d->clean);
    *d = (struct iw_diagnosis){0};
}

/* ---- what it amounts to ---- */

enum iw_outcome iw_bent_outcome(const struct iw_bent *b)
{
    if (b->n_findings > 0)
        return b->list[0].belongs ? IW_OUTCOME_RIGHT : IW_OUTCOME_WRONG;
    return b->n_observed > 0 ? IW_OUTCOME_OBSERVED : IW_OUTCOME_NONE;
}

const char *iw_outcome_name(enum iw_outcome outcome)
{
    static const char *const names[] = {
        [IW_OUTCOME_NONE] = "none",
        [IW_OUTCOME_OBSERVED] = "observed",
        [IW_OUTCOME_RIGHT] = "right",
        [IW_OUTCOME_WRONG] = "wrong",
    };

    return names[outcome];
}

char *iw_bent_rules(const struct iw_bent *b, bool innocent, size_t *count)
{
    bool accused[IW_RULE_COUNT] = {false};
    char *text = NULL;
    *count = 0;
    for (size_t i = 0; i < b->n_findings; i++)
        if (!innocent || !b->list[i].belongs)
            accused[iw_rule_index(b->list[i].rule)] = true;
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        if (!accused[i])
            continue;
        iw_text_join(&text, " ", iw_rule_at(i)->id);
        ++*count;
    }
    return text != NULL ? text : iw_text_copy("");
}

struct iw_diagnosis_sum iw_diagnosis_sum(const struct iw_diagnosis *d)
{
    struct iw_diagnosis_sum sum = {0};
    for (size_t i = 0; i < d->count; i++) {
        const struct iw_bent *b = &d->bent[i];
        size_t all, innocent;
        sum.done += b->done;
        sum.observed += b->done && iw_bent_outcome(b) == IW_OUTCOME_OBSERVED;
        if (b->n_findings == 0)
            continue;
        free(iw_bent_rules(b, false, &all));
        free(iw_bent_rules(b, true, &innocent));
        sum.noticed++;
        sum.right += iw_bent_outcome(b) == IW_OUTCOME_RIGHT;
        sum.few += b->n_findings <= FEW;
        sum.belonging += (double)(all - innocent) / (double)all;
    }
    sum.belonging = sum.noticed > 0 ? sum.belonging / (double)sum.noticed : 1;
    return sum;
}
