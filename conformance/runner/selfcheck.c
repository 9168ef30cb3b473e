/* SPDX-License-Identifier: BSD-3-Clause */
#include "selfcheck.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iwarp/transport.h"
#include "pool.h"
#include "text.h"

/* Silence is what many a switch leads to; a peer on the same host needs no 3 s to answer. */
#define PATIENCE 1.0

enum { WORKERS = 256 };

struct check_run {
    struct iw_self_check *s;
    bool clean;  /* the clean run, before any switch */
    size_t next; /* suspect (clean), or probe */
    struct {
        struct iw_probe *probe; /* NULL: none */
        size_t next;            /* in `order` */
        size_t *order;          /* suspects */
        size_t count;
    } at[WORKERS]; /* what each worker is about */
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

static void add_probe(struct iw_probe **list, size_t *count, enum iw_check check,
                      enum iw_switch kind, enum iw_botch botch)
{
    struct iw_probe *p;

    *list = iw_got(realloc(*list, (*count + 1) * sizeof(**list)));
    p = &(*list)[(*count)++];
    *p = (struct iw_probe){.check = check, .kind = kind, .botch = botch};
    snprintf(p->option, sizeof(p->option), "--%s=%s%s%s", iw_switch_name(kind),
             iw_check_info(check)->name, botch ? "=" : "", botch ? iw_botch_name(botch) : "");
}

/* The quick form's wrong reaction: another code if there can be one. */
static enum iw_botch one_botch(enum iw_check check)
{
    if (iw_switch_applies(IW_SWITCH_BOTCH, check, IW_BOTCH_CODE))
        return IW_BOTCH_CODE;
    for (int b = IW_BOTCH_NONE + 1; b < IW_BOTCH_COUNT; b++)
        if (iw_switch_applies(IW_SWITCH_BOTCH, check, (enum iw_botch)b))
            return (enum iw_botch)b;
    return IW_BOTCH_NONE;
}

struct iw_probe *iw_probes_make(bool full, size_t *count)
{
    static const enum iw_switch kinds[] = {IW_SWITCH_IGNORE, IW_SWITCH_OVERSTRICT,
                                           IW_SWITCH_VIOLATE};
    struct iw_probe *list = iw_got(calloc(1, sizeof(*list)));

    *count = 0;
    for (int i = IW_CHECK_NONE + 1; i < IW_CHECK_COUNT; i++) {
        enum iw_check check = (enum iw_check)i;

        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
            if (iw_switch_applies(kinds[k], check, IW_BOTCH_NONE))
                add_probe(&list, count, check, kinds[k], IW_BOTCH_NONE);
        for (int b = IW_BOTCH_NONE + 1; b < IW_BOTCH_COUNT; b++)
            if (full ? iw_switch_applies(IW_SWITCH_BOTCH, check, (enum iw_botch)b)
                     : (enum iw_botch)b == one_botch(check))
                add_probe(&list, count, check, IW_SWITCH_BOTCH, (enum iw_botch)b);
    }
    return list;
}

/* ---- the clean run ---- */

static bool clean_next(struct check_run *run, struct iw_job *job)
{
    if (run->next == run->s->n_suspects)
        return false;
    *job = (struct iw_job){.c = run->s->suspects[run->next++].c};
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
    suspect->observed = iw_text_copy(result->observed);
    suspect->reason = iw_text_copy(result->reason);
    if (!suspect->usable && result->verdict != IW_VERDICT_SKIP)
        run->s->n_unclean++;
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

static void begin_probe(struct check_run *run, unsigned worker, struct iw_probe *probe)
{
    const struct iw_self_check *s = run->s;
    size_t *order = iw_got(calloc(s->n_suspects + 1, sizeof(*order)));
    size_t n = 0;

    for (int d = 0; d <= 2; d++)
        for (size_t i = 0; i < s->n_suspects; i++)
            if (s->suspects[i].usable && distance(s->suspects[i].c, probe->check) == d)
                order[n++] = i;
    free(run->at[worker].order);
    run->at[worker].probe = probe;
    run->at[worker].order = order;
    run->at[worker].count = n;
    run->at[worker].next = 0;
}

static bool over(const struct check_run *run, unsigned worker)
{
    const struct iw_probe *probe = run->at[worker].probe;

    return !probe || run->at[worker].next == run->at[worker].count ||
           (probe->n_notices && !run->s->full);
}

static void show_progress(const struct check_run *run)
{
    if (run->progress)
        fprintf(stderr, "\r\033[K[%zu/%zu] switches", run->finished, run->s->n_probes);
}

static bool probe_next(struct check_run *run, unsigned worker, struct iw_job *job)
{
    while (over(run, worker)) {
        if (run->at[worker].probe) {
            run->finished++;
            show_progress(run);
            run->at[worker].probe = NULL;
        }
        if (run->next == run->s->n_probes)
            return false;
        begin_probe(run, worker, &run->s->probes[run->next++]);
    }
    *job = (struct iw_job){
        .c = run->s->suspects[run->at[worker].order[run->at[worker].next++]].c,
        .option = run->at[worker].probe->option,
    };
    return true;
}

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void wipe(const struct check_run *run)
{
    if (run->progress)
        fputs("\r\033[K", stderr);
}

static void probe_done(struct check_run *run, unsigned worker, const struct iw_job *job,
                       const struct iw_result *result)
{
    struct iw_probe *probe = run->at[worker].probe;
    struct iw_suspect *suspect = suspect_of(run->s, job->c);

    probe->tried++;
    suspect->tried++;
    if (result->verdict == IW_VERDICT_ERROR) { /* the reference's fault, or ours: nothing noticed */
        wipe(run);
        iw_complain("%s, case %s: %s", probe->option, job->c->id,
                    result->reason ? result->reason : "error");
        run->s->n_errors++;
        return;
    }
    if (result->verdict == suspect->verdict && same(result->observed, suspect->observed))
        return;
    suspect->noticed++;
    probe->notices =
        iw_got(realloc(probe->notices, (probe->n_notices + 1) * sizeof(*probe->notices)));
    probe->notices[probe->n_notices++] = (struct iw_notice){
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

    return run->clean ? clean_next(run, job) : probe_next(run, worker, job);
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    struct check_run *run = context;

    if (run->clean)
        clean_done(run, job, result);
    else
        probe_done(run, worker, job, result);
    iw_result_free(result);
}

static void trouble(void *context, const char *line)
{
    struct check_run *run = context;

    wipe(run);
    iw_complain("the target, at its end: %s", line);
    run->s->n_errors++;
}

/* Plays all of one phase. 0, or the exit status that ends everything. */
static int phase(struct check_run *run, const struct iw_setup *setup, struct iw_pool *pool)
{
    char error[256];

    pool->target = setup->target;
    pool->options = &setup->options;
    pool->play = iw_script_run_case;
    pool->context = run;
    pool->next = next;
    pool->done = done;
    pool->trouble = trouble;
    pool->unreached = 0;
    run->next = 0;
    if (iw_pool_run(pool, error, sizeof(error))) {
        iw_complain("%s", error);
        return IW_EXIT_TESTER;
    }
    wipe(run);
    if (pool->interrupted) {
        iw_complain("interrupted");
        return 128 + pool->interrupted;
    }
    return 0;
}

/* ---- all of it ---- */

static int verdict(const struct iw_self_check *s)
{
    size_t checks, noticed, switches;

    iw_self_check_count(s, &checks, &noticed, &switches);
    if (s->n_errors)
        return IW_EXIT_TESTER;
    return s->n_unclean || noticed < checks ? IW_EXIT_FAILURE : IW_EXIT_GOOD;
}

static int play(const struct iw_command *c, const struct iw_setup *setup, struct iw_self_check *s,
                const char *dir)
{
    struct check_run run = {.s = s, .clean = true, .progress = isatty(2)};
    struct iw_pool pool = {.workers = c->jobs ? c->jobs : iw_cpus(), .log_dir = dir};
    int status = phase(&run, setup, &pool);

    if (!status) {
        run.clean = false;
        status = phase(&run, setup, &pool);
    }
    for (size_t i = 0; i < WORKERS; i++)
        free(run.at[i].order);
    free(pool.version);
    return status;
}

static void prepare(struct iw_self_check *s, const struct iw_setup *setup, bool full)
{
    *s = (struct iw_self_check){.suite = setup->suite.digest, .full = full};
    s->probes = iw_probes_make(full, &s->n_probes);
    s->suspects = iw_got(calloc(setup->n_selected + 1, sizeof(*s->suspects)));
    s->n_suspects = setup->n_selected;
    for (size_t i = 0; i < s->n_suspects; i++)
        s->suspects[i].c = setup->selected[i];
    s->n_errors = setup->suite.n_broken;
}

static void release(struct iw_self_check *s)
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

static bool write_matrix(const struct iw_self_check *s, const char *path)
{
    FILE *f = path ? iw_open_output(path) : NULL;

    if (f)
        iw_self_check_json(f, s);
    return !path || (f && iw_close_output(f, path));
}

int iw_command_self_check(const struct iw_command *c)
{
    struct iw_setup setup;
    int status = iw_setup(&setup, c, true);
    char *dir = status ? NULL : iw_results_create(c, "self-check");
    struct iw_self_check s = {0};
    uint64_t began = iw_transport_now();

    if (!status && !dir)
        status = IW_EXIT_TESTER;
    if (!status) {
        char *journal = iw_text_format("%s/run.json", dir);

        iw_setup_broken(&setup);
        setup.options.patience = PATIENCE;
        prepare(&s, &setup, c->full);
        status = play(c, &setup, &s, dir);
        s.seconds = (double)(iw_transport_now() - began) / 1e9;
        if (!status) {
            iw_self_check_print(stdout, &s);
            printf("results: %s\n", dir);
            status = verdict(&s);
            if (!write_matrix(&s, journal) || !write_matrix(&s, c->json))
                status = IW_EXIT_TESTER;
        }
        free(journal);
    }
    release(&s);
    free(dir);
    iw_setup_free(&setup);
    return status;
}
