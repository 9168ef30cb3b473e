/* SPDX-License-Identifier: BSD-3-Clause */
#include "selfcheck.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "run/pool.h"

/* Silence is what many a switch leads to; a peer on the same host needs no 3 s to answer. */
#define PATIENCE 1.0
/* A clean case that did not pass is asked once more with this time scale: on a busy machine an
 * answer may have come late. */
#define LATE 10.0

enum { WORKERS = 256, GLOB = 0 /* flags of fnmatch() */ };

enum stage {
    CLEAN, /* no switch: what the cases give then */
    AGAIN, /* no switch: the cases that did not pass, with more time */
    BEND,  /* one switch after the other, each with its cases */
    IDLE   /* cases that have noticed nothing, each with the other switches until it does */
};

struct task {
    struct iw_probe *probe;     /* NULL: none */
    struct iw_suspect *suspect; /* IDLE: the case */
    size_t next;                /* in `order` */
    size_t *order;              /* BEND: suspects */
    size_t count, near;         /* so many of them name a rule of the check */
};

struct check_run {
    struct iw_self_check *s;
    enum stage stage;
    size_t next;             /* probe (BEND), or suspect */
    struct task at[WORKERS]; /* what each worker is about */
    size_t *popular;         /* IDLE: probes, those that many cases notice first */
    size_t finished;
    bool progress;
};

/* ---- switches ---- */

const char *iw_switch_name(enum iw_switch kind)
{
    static const char *const names[] = {
        [IW_SWITCH_IGNORE] = "ignore",
        [IW_SWITCH_OVERSTRICT] = "overstrict",
        [IW_SWITCH_VIOLATE] = "violate",
        [IW_SWITCH_BOTCH] = "botch",
    };

    return names[kind];
}

/* Adds it unless it does not apply or does not fit the glob (NULL: any does). */
static void add_probe(struct iw_probe **list, size_t *count, const char *glob,
                      const struct iw_probe *probe)
{
    struct iw_probe p = *probe;
    snprintf(p.option, sizeof(p.option), "--%s=%s%s%s", iw_switch_name(p.kind),
             iw_check_info(p.check)->name, p.botch ? "=" : "",
             p.botch ? iw_botch_name(p.botch) : "");
    if (!iw_switch_applies(p.kind, p.check, p.botch) ||
        (glob != NULL && fnmatch(glob, p.option + 2, GLOB)))
        return;
    *list = iw_got(realloc(*list, ++*count * sizeof(**list)));
    (*list)[*count - 1] = p;
}

/* The quick form's wrong reaction: another code if there can be one. */
static enum iw_botch one_botch(enum iw_check check)
{
    if (iw_switch_applies(IW_SWITCH_BOTCH, check, IW_BOTCH_CODE))
        return IW_BOTCH_CODE;
    for (int b = IW_BOTCH_NONE; b < IW_BOTCH_COUNT; b++)
        if (iw_switch_applies(IW_SWITCH_BOTCH, check, (enum iw_botch)b))
            return (enum iw_botch)b;
    return IW_BOTCH_NONE;
}

struct iw_probe *iw_probes_make(bool full, const char *glob, size_t *count)
{
    static const enum iw_switch kinds[] = {IW_SWITCH_IGNORE, IW_SWITCH_OVERSTRICT,
                                           IW_SWITCH_VIOLATE};
    struct iw_probe *list = NULL;
    *count = 0;
    for (int i = IW_CHECK_NONE; i < IW_CHECK_COUNT; i++) {
        struct iw_probe probe = {.check = (enum iw_check)i};
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
            probe.kind = kinds[k];
            add_probe(&list, count, glob, &probe);
        }
        probe.kind = IW_SWITCH_BOTCH;
        for (int b = IW_BOTCH_NONE; b < IW_BOTCH_COUNT; b++) {
            probe.botch = (enum iw_botch)b;
            if (full || probe.botch == one_botch(probe.check))
                add_probe(&list, count, glob, &probe);
        }
    }
    return list;
}

/* ---- the clean run ---- */

static bool unclean(const struct iw_suspect *suspect)
{
    return !suspect->usable && suspect->verdict != IW_VERDICT_SKIP;
}

/* Returns whether it is to be asked: every case at first. An ERROR, such as a sanitizer's report,
 * is final. */
static bool late(const struct iw_suspect *suspect)
{
    return unclean(suspect) && suspect->verdict != IW_VERDICT_ERROR;
}

static bool clean_next(struct check_run *run, struct iw_job *job)
{
    const struct iw_self_check *s = run->s;
    while (run->next < s->n_suspects && !late(&s->suspects[run->next]))
        run->next++;
    if (run->next == s->n_suspects)
        return false;
    *job = (struct iw_job){.c = s->suspects[run->next++].c};
    return true;
}

static struct iw_suspect *suspect_of(const struct iw_self_check *s, const struct iw_case *c)
{
    size_t i = 0;
    while (s->suspects[i].c != c)
        i++;
    return &s->suspects[i];
}

static void clean_done(struct check_run *run, const struct iw_job *job, struct iw_result *result)
{
    struct iw_suspect *suspect = suspect_of(run->s, job->c);
    suspect->verdict = result->verdict;
    suspect->usable = result->verdict == IW_VERDICT_PASS || result->verdict == IW_VERDICT_NOTE;
    free(suspect->observed);
    free(suspect->reason);
    suspect->observed = iw_text_copy(result->observed);
    suspect->reason = iw_text_copy(result->reason);
    if (result->verdict == IW_VERDICT_ERROR)
        run->s->n_errors++;
}

/* ---- one switch after the other ---- */

/* How near a case is to a check: 0 it names the primary rule, 1 another rule, 2 neither. */
static int distance(const struct iw_case *c, enum iw_check check)
{
    const struct iw_check_info *info = iw_check_info(check);
    if (iw_case_names_rule(c, iw_rule_at(info->rule)))
        return 0;
    for (size_t i = 0; i < info->n_others; i++)
        if (iw_case_names_rule(c, iw_rule_at(info->others[i])))
            return 1;
    return 2;
}

bool iw_case_near_check(const struct iw_case *c, enum iw_check check)
{
    return distance(c, check) < 2;
}

static void begin_probe(const struct iw_self_check *s, struct task *task, struct iw_probe *probe)
{
    free(task->order);
    *task = (struct task){.probe = probe};
    task->order = iw_got(calloc(s->n_suspects, sizeof(*task->order)));
    for (int d = 0; d <= 2; d++) {
        if (d == 2)
            task->near = task->count;
        for (size_t i = 0; i < s->n_suspects; i++)
            if (s->suspects[i].usable && distance(s->suspects[i].c, probe->check) == d)
                task->order[task->count++] = i;
    }
}

/* Enough once it is noticed; in the full form all cases that name a rule of the check are asked,
 * and of some cases only these. */
static bool over(const struct iw_self_check *s, const struct task *task)
{
    const struct iw_probe *probe = task->probe;
    return probe == NULL || task->next == task->count ||
           (s->full ? task->next >= task->near && (probe->n_notices || s->partial)
                    : probe->n_notices > 0);
}

static void show_progress(const struct check_run *run, size_t count, const char *what)
{
    if (run->progress)
        fprintf(stderr, "\r\033[K[%zu/%zu] %s", run->finished, count, what);
}

static bool bend_next(struct check_run *run, struct task *task, struct iw_job *job)
{
    const struct iw_self_check *s = run->s;
    while (over(s, task)) {
        if (task->probe != NULL) {
            run->finished++;
            show_progress(run, s->n_probes, "switches");
            task->probe = NULL;
        }
        if (run->next == s->n_probes)
            return false;
        begin_probe(s, task, &s->probes[run->next++]);
    }
    *job = (struct iw_job){.c = s->suspects[task->order[task->next++]].c,
                           .option = task->probe->option};
    return true;
}

/* ---- cases that have noticed nothing ---- */

static void rank(struct check_run *run)
{
    const struct iw_self_check *s = run->s;
    size_t *popular = iw_got(calloc(s->n_probes, sizeof(*popular)));
    for (size_t i = 0; i < s->n_probes; i++) {
        size_t at = i;

        while (at && s->probes[popular[at - 1]].n_notices < s->probes[i].n_notices) {
            popular[at] = popular[at - 1];
            at--;
        }
        popular[at] = i;
    }
    run->popular = popular;
}

/* The worker's next switch for its case; those of the case's own rules were tried. */
static bool other_probe(const struct check_run *run, struct task *task)
{
    while (!task->suspect->noticed && task->next < run->s->n_probes) {
        task->probe = &run->s->probes[run->popular[task->next++]];
        if (!iw_case_near_check(task->suspect->c, task->probe->check))
            return true;
    }
    return false;
}

static bool idle_next(struct check_run *run, struct task *task, struct iw_job *job)
{
    const struct iw_self_check *s = run->s;
    while (task->suspect == NULL || !other_probe(run, task)) {
        struct iw_suspect *suspect = &s->suspects[run->next];
        if (run->next == s->n_suspects)
            return false;
        run->next++;
        show_progress(run, s->n_suspects, "cases");
        run->finished = run->next;
        if (suspect->usable && !suspect->noticed) {
            task->suspect = suspect;
            task->next = 0;
        }
    }
    *job = (struct iw_job){.c = task->suspect->c, .option = task->probe->option};
    return true;
}

static void wipe(const struct check_run *run)
{
    if (run->progress)
        fputs("\r\033[K", stderr);
}

static void probe_done(struct check_run *run, struct iw_probe *probe, const struct iw_job *job,
                       const struct iw_result *result)
{
    struct iw_suspect *suspect = suspect_of(run->s, job->c);
    probe->tried++;
    suspect->tried++;
    if (result->verdict == IW_VERDICT_ERROR) { /* the reference's fault, or ours: nothing noticed */
        wipe(run);
        iw_complain("%s, case %s: %s", probe->option, job->c->id,
                    result->reason != NULL ? result->reason : "error");
        run->s->n_errors++;
        return;
    }
    if (result->verdict == suspect->verdict &&
        strcmp(result->observed != NULL ? result->observed : "",
               suspect->observed != NULL ? suspect->observed : "") == 0)
        return;
    suspect->noticed++;
    probe->notices = iw_got(realloc(probe->notices, ++probe->n_notices * sizeof(*probe->notices)));
    probe->notices[probe->n_notices - 1] = (struct iw_notice){
        .c = job->c,
        .before = suspect->verdict,
        .after = result->verdict,
        .reason =
            iw_text_copy(result->verdict == suspect->verdict ? result->observed : result->reason),
    };
}

/* ---- the pool's side ---- */

static bool next(void *context, unsigned worker, struct iw_job *job)
{
    struct check_run *run = context;
    switch (run->stage) {
    case CLEAN:
    case AGAIN:
        return clean_next(run, job);
    case BEND:
        return bend_next(run, &run->at[worker], job);
    case IDLE:
        return idle_next(run, &run->at[worker], job);
    }
    return false;
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    struct check_run *run = context;
    if (run->at[worker].probe != NULL)
        probe_done(run, run->at[worker].probe, job, result);
    else
        clean_done(run, job, result);
    iw_result_free(result);
}

static void trouble(void *context, const char *line)
{
    struct check_run *run = context;
    wipe(run);
    iw_complain("the target, at its end: %s", line);
    run->s->n_errors++;
}

/* Plays all of one stage. 0, or the exit status that ends everything. */
static int play_stage(struct check_run *run, enum stage stage, const struct iw_run_options *options,
                      struct iw_pool *pool)
{
    char error[256];
    pool->options = options;
    pool->unreached = 0;
    run->stage = stage;
    run->next = run->finished = 0;
    if (iw_pool_run(pool, error, sizeof(error))) {
        iw_complain("%s", error);
        return IW_EXIT_TESTER;
    }
    wipe(run);
    if (pool->interrupted) {
        iw_complain("interrupted");
        return IW_EXIT_SIGNALLED + pool->interrupted;
    }
    return 0;
}

static int play_clean(struct check_run *run, const struct iw_run_options *options,
                      struct iw_pool *pool)
{
    struct iw_run_options patient = *options;
    int status = play_stage(run, CLEAN, options, pool);
    patient.time_scale = LATE * (options->time_scale > 0 ? options->time_scale : 1);
    if (!status)
        status = play_stage(run, AGAIN, &patient, pool);
    for (size_t i = 0; i < run->s->n_suspects; i++)
        run->s->n_unclean += unclean(&run->s->suspects[i]);
    return status;
}

/* ---- all of it ---- */

void iw_self_check_begin(struct iw_self_check *s, const struct iw_case *const *cases,
                         size_t n_cases, const struct iw_proof *proof)
{
    s->probes = iw_probes_make(s->full, s->switches, &s->n_probes);
    s->suspects = iw_got(calloc(n_cases, sizeof(*s->suspects)));
    s->n_suspects = n_cases;
    for (size_t i = 0; i < n_cases; i++)
        s->suspects[i] = (struct iw_suspect){
            .c = cases[i], .justified = iw_proof_find(&proof->idle, cases[i]->id)};
}

/* Counts idle cases without a justification: only the full form, with every switch, shows them. */
static void count_idle(struct iw_self_check *s)
{
    for (size_t i = 0; s->full && s->switches == NULL && i < s->n_suspects; i++) {
        const struct iw_suspect *one = &s->suspects[i];

        s->n_idle += one->usable && !one->noticed && one->justified == NULL;
    }
}

int iw_self_check_play(struct iw_self_check *s, const struct iw_target_spec *target,
                       const struct iw_run_options *options, unsigned workers, const char *dir)
{
    struct check_run run = {.s = s, .progress = isatty(2)};
    struct iw_pool pool = {.target = target,
                           .workers = workers,
                           .log_dir = dir,
                           .play = iw_script_run_case,
                           .context = &run,
                           .next = next,
                           .done = done,
                           .trouble = trouble};
    struct iw_run_options hasty = *options;
    uint64_t began = iw_transport_now();
    hasty.patience = PATIENCE;
    int status = play_clean(&run, &hasty, &pool);
    if (!status)
        status = play_stage(&run, BEND, &hasty, &pool);
    if (!status && s->full && s->switches == NULL) {
        rank(&run);
        status = play_stage(&run, IDLE, &hasty, &pool);
    }
    for (size_t i = 0; i < WORKERS; i++)
        free(run.at[i].order);
    free(run.popular);
    free(pool.version);
    iw_device_free(&pool.device);
    if (!status)
        count_idle(s);
    s->seconds = (double)(iw_transport_now() - began) / 1e9;
    return status;
}

int iw_self_check_status(const struct iw_self_check *s)
{
    size_t checks, noticed, switches;
    iw_self_check_count(s, &checks, &noticed, &switches);
    if (s->n_errors)
        return IW_EXIT_TESTER;
    return s->n_unclean || s->n_idle || (!s->partial && noticed < checks) ? IW_EXIT_FAILURE
                                                                          : IW_EXIT_GOOD;
}

void iw_self_check_free(struct iw_self_check *s)
{
    for (size_t i = 0; i < s->n_probes; i++) {
        for (size_t n = 0; n < s->probes[i].n_notices; n++)
            free(s->probes[i].notices[n].reason);
        free(s->probes[i].notices);
    }
    for (size_t i = 0; i < s->n_suspects; i++) {
        free(s->suspects[i].reason);
        free(s->suspects[i].observed);
    }
    free(s->probes);
    free(s->suspects);
}
