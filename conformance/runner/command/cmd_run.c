/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform run`: the cases, their verdicts in the order of the suite, and the reports. Also
 * `merge`, which takes the verdicts of other runs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd_run.h"
#include "command_setup.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "iwarp/capture.h"
#include "iwarp/transport.h"
#include "reexec.h"
#include "report/report_console.h"
#include "report/report_files.h"
#include "report/report_tap.h"
#include "run/base_facts.h"
#include "run/baseline.h"
#include "run/eta.h"
#include "run/merge.h"
#include "run/pool.h"
#include "run/survey.h"
#include "run_line.h"

/* Cases in which a peer may say nothing before it is given up. More than a family of cases that
 * ask for silence. */
enum { PATIENCE = 12 };

struct run {
    const struct iw_command *command;
    struct iw_setup *setup;
    struct iw_record record;
    struct iw_survey survey;
    struct iw_baseline baseline; /* empty if there is none */
    struct iw_base_facts base;
    struct iw_journal *journal;
    struct iw_eta eta;
    struct iw_merge *merge; /* where the results come from; NULL: they are played */
    char *dir;              /* of results */
    struct iw_report_files reports;
    FILE *pins;           /* the baseline to be written; NULL: none is */
    size_t printed;       /* entries that were reported */
    char *const *version; /* of the target, once it is known */
    bool chosen;          /* the baseline has its lines for it */
    size_t trouble;       /* lines about what went wrong outside of any case */
    FILE *console;
    bool progress;
};

/* ---- printing ---- */

static void show_progress(const struct run *run, const char *id)
{
    if (run->progress)
        iw_console_progress(stderr, &run->record, id,
                            iw_eta_seconds(&run->eta, iw_transport_now()));
}

static void print(struct run *run)
{
    const struct iw_record *r = &run->record;
    show_progress(run, NULL);
    while (run->printed < r->count && r->entries[run->printed].done) {
        const struct iw_entry *entry = &r->entries[run->printed++];
        if (run->command->tap)
            iw_tap_entry(stdout, run->printed, entry);
        else
            iw_console_entry(run->console, r, entry, run->command->verbose);
    }
    fflush(run->console);
}

/* ---- the pool's side ---- */

static bool next(void *context, unsigned worker, struct iw_job *job)
{
    struct run *run = context;
    unsigned round = 0;
    const struct iw_entry *entry = iw_record_next(&run->record, &round);
    (void)worker;
    if (entry == NULL)
        return false;
    *job = (struct iw_job){.c = entry->c, .round = round};
    if (run->setup->target->restart != NULL)
        iw_journal_begin(run->journal, entry->c);
    return true;
}

/* Takes a result into the record. */
static void take(struct run *run, struct iw_entry *entry, struct iw_result *result)
{
    iw_record_take(&run->record, &run->baseline, entry, result);
}

/* What a baseline is for: of our own agent nobody needs to know that. NULL: not known. */
static const char *version_of(const struct run *run)
{
    if (run->merge != NULL)
        return run->merge->embedded ? NULL : run->merge->version;
    return run->setup->target->embedded || run->version == NULL ? NULL : *run->version;
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    struct run *run = context;
    (void)worker;
    struct iw_entry *entry = iw_record_entry(&run->record, job->c->id);
    iw_journal_add(run->journal, result, job->round);
    iw_eta_add(&run->eta, (size_t)(entry - run->record.entries), result);
    if (version_of(run) != NULL && !run->chosen)
        iw_record_choose(&run->record, &run->baseline, version_of(run));
    run->chosen = run->chosen || version_of(run) != NULL;
    take(run, entry, result);
    print(run);
    show_progress(run, job->c->id);
}

static void charge(void *context, const char *id, struct iw_result *result)
{
    struct run *run = context;
    struct iw_entry *entry = iw_record_entry(&run->record, id);
    iw_journal_charge(run->journal, id, result);
    if (iw_record_charge(&run->record, &run->baseline, entry, result))
        show_progress(run, id);
}

static void trouble(void *context, const char *line)
{
    struct run *run = context;
    show_progress(run, NULL);
    run->trouble++;
    iw_complain("the target, at its end: %s", line);
}

/* ---- preparing ---- */

static struct iw_live *open_live(const struct run *run)
{
    const struct iw_target_spec *target = run->setup->target;
    char *path = iw_text_format("%s/packets.pcap", run->dir);
    char *filter = target->embedded || target->host == NULL
                       ? iw_text_copy("tcp")
                       : iw_text_format("tcp and host %s", target->host);
    char error[IW_CAPTURE_ERROR];
    struct iw_live *live = iw_live_open(run->command->capture, filter, path, error);
    if (live == NULL)
        iw_complain("--capture %s: %s", run->command->capture, error);
    free(path);
    free(filter);
    return live;
}

static bool open_outputs(struct run *run)
{
    const struct iw_command *c = run->command;
    run->dir = iw_results_create(c, run->merge != NULL ? "merged" : run->setup->target->name);
    if (run->dir == NULL)
        return false;
    if (c->head.pcap_dir != NULL && iw_folder_create(c->head.pcap_dir)) {
        iw_complain("cannot make the folder %s", c->head.pcap_dir);
        return false;
    }
    run->reports.frame = run->setup->report;
    if (!iw_report_files_open(&run->reports, run->dir))
        return false;
    if (c->write_baseline != NULL)
        run->pins = iw_open_output(c->write_baseline);
    return c->write_baseline == NULL || run->pins != NULL;
}

/* What is known of the peer, and what the page says of rules that no case judged. */
static int read_known(struct run *run)
{
    const struct iw_command *c = run->command;
    char error[1024];
    if (c->baseline != NULL &&
        iw_baseline_read(&run->baseline, c->baseline, error, sizeof(error))) {
        iw_complain("%s", error);
        return IW_EXIT_USAGE;
    }
    if (c->html != NULL || c->csv_file != NULL)
        return iw_setup_proof(run->setup);
    /* Nobody has asked for the page: it goes without what cannot be read. */
    iw_proof_read(&run->setup->proof, run->setup->proof_folder, error, sizeof(error));
    return 0;
}

/* ---- ending ---- */

static bool close_live(struct run *run, struct iw_pool *pool)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_live_counts counts;
    if (pool->live == NULL)
        return true;
    if (*pool->live_error)
        iw_complain("--capture %s: %s", run->command->capture, pool->live_error);
    if (!iw_live_close(pool->live, &counts, error)) {
        iw_complain("--capture %s: %s", run->command->capture, error);
        return false;
    }
    if (counts.dropped)
        iw_complain("--capture %s: %llu packets were lost", run->command->capture,
                    (unsigned long long)counts.dropped);
    return !*pool->live_error;
}

static bool write_pins(struct run *run)
{
    FILE *pins = run->pins;
    run->pins = NULL;
    if (pins == NULL)
        return true;
    iw_baseline_write(pins, &run->record, version_of(run), &run->baseline);
    return iw_close_output(pins, run->command->write_baseline);
}

/* ---- playing ---- */

/* The next case to be played; NULL: none is left. */
static struct iw_entry *first(const struct iw_record *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].c != NULL && r->entries[i].handed < r->repeat)
            return &r->entries[i];
    return NULL;
}

/* Who has not outlived a good connection, and is not ours to start again, has failed: nothing more
 * will be seen of it. */
static void lose(struct run *run, const struct iw_entry *entry, const char *why)
{
    struct iw_result result = {.verdict = IW_VERDICT_FAIL};
    struct iw_job job = {.c = entry->c};
    iw_record_next(&run->record, &job.round);
    result.id = iw_text_copy(entry->c->id);
    result.role = entry->c->role;
    result.heard = true;
    result.where = iw_text_format("%s:%d", entry->c->file, entry->c->line);
    result.reason = iw_text_copy(why);
    result.expected = iw_text_copy("a target that lives on after a good connection");
    done(run, 0, &job, &result);
}

static void show_facts(struct run *run, const struct iw_pool *pool)
{
    /* The version of our own agent says it all. */
    if (!run->setup->target->embedded)
        iw_device_add(&run->record.device, &pool->device);
    run->record.facts = &run->base.facts;
    if (iw_reexec_continues())
        return; /* they stand there already */
    if (run->command->tap)
        iw_tap_facts(stdout, &run->record);
    iw_console_facts(run->console, &run->record);
}

/* Finds out what the target can do, for the cases to know. A recording is played as it is. A kernel
 * that ends meanwhile has ended in the first case, and is spared another survey; one that has ended
 * in a later case is not: it is another one now, and so are we. */
static int survey(struct run *run, struct iw_pool *pool, struct iw_run_options *options,
                  char *error, size_t room)
{
    const struct iw_setup *s = run->setup;
    const struct iw_entry *begins = first(&run->record);
    if (run->command->replay.capture != NULL || begins == NULL ||
        (iw_reexec_continues() && !iw_journal_surveyed(run->journal)))
        return 0;
    if (s->target->restart != NULL)
        iw_journal_begin(run->journal, begins->c);
    int status =
        iw_base_facts_take(&run->base, pool, s->target, s->selected, s->n_selected, error, room);
    pool->no_mpa = run->base.no_mpa;
    const char *gone = run->base.gone;
    if (status == 0 && !pool->interrupted && pool->no_mpa == NULL && gone == NULL) {
        status = iw_survey_take(&run->survey, pool, s->selected, s->n_selected, error, room);
        iw_base_facts_survey(&run->base, &run->survey.instruments);
        gone = run->survey.gone;
    }
    if (s->target->restart != NULL)
        iw_journal_survey(run->journal);
    options->instruments = &run->survey.instruments;
    options->quirks = run->survey.quirks;
    show_facts(run, pool);
    if (gone != NULL && s->target->start == NULL && !s->target->embedded) {
        pool->reached = true;
        lose(run, begins, gone);
    }
    return status;
}

/* Concludes and reports. `why` there are no more results, unless `interrupted` by a signal. Returns
 * the exit status. */
static int finish(struct run *run, bool good, bool reached, int interrupted, const char *why)
{
    const struct iw_command *c = run->command;
    struct iw_record *r = &run->record;
    iw_record_conclude(r);
    /* A replay is played for its capture. */
    if (!c->head.keep_all && c->head.pcap_dir == NULL && c->replay.capture == NULL &&
        run->merge == NULL)
        iw_record_drop_captures(r);
    r->status = good && !run->trouble ? iw_record_status(r, reached) : IW_EXIT_TESTER;
    if (interrupted)
        r->status = IW_EXIT_SIGNALLED + interrupted;
    bool written = iw_report_files_write(&run->reports, r);
    written = write_pins(run) && written;
    if (c->tap)
        iw_tap_findings(stdout, r);
    if (c->tap && (interrupted || run->printed < r->count))
        iw_tap_bail_out(stdout, interrupted ? "interrupted" : why);
    if (interrupted && c->replay.capture == NULL)
        iw_complain("interrupted; to go on: %s run --resume %s", c->program, run->dir);
    iw_console_summary(run->console, r, c->verbose);
    return written || interrupted || r->status == IW_EXIT_TESTER ? r->status : IW_EXIT_OUTPUT;
}

static int play_all(struct run *run)
{
    const struct iw_command *c = run->command;
    struct iw_record *r = &run->record;
    struct iw_run_options options = run->setup->options;
    options.pcap_dir = c->head.pcap_dir != NULL ? c->head.pcap_dir : run->dir;
    options.exchange = true;
    options.hazards = c->hazards;
    options.trace = c->trace ? stderr : NULL;
    struct iw_pool pool = {
        .target = run->setup->target,
        .options = &options,
        .workers = iw_run_jobs(c, run->setup->target, run->setup->n_selected),
        .log_dir = run->dir,
        .hasty = true,
        .patience = PATIENCE,
        .play = iw_script_run_case,
        .context = run,
        .next = next,
        .done = done,
        .trouble = trouble,
        .charge = charge,
    };
    char error[1024] = "";
    if (c->capture != NULL && (pool.live = open_live(run)) == NULL)
        return IW_EXIT_TESTER;
    run->version = &pool.version;
    uint64_t began = iw_transport_now();
    if (c->tap && !iw_reexec_continues())
        iw_tap_begin(stdout, r);
    if (!iw_reexec_continues())
        iw_console_schedule(run->console, r, run->setup->n_chosen);
    print(run);
    bool good = !survey(run, &pool, &options, error, sizeof(error));
    iw_eta_begin(&run->eta, r, iw_transport_now());
    good = good && (pool.interrupted || !iw_pool_run(&pool, error, sizeof(error)));
    if (!good)
        iw_complain("%s", error);
    show_progress(run, NULL);
    good = close_live(run, &pool) && good;
    r->seconds = (double)(iw_transport_now() - began) / 1e9;
    r->target_version = pool.version;
    iw_device_add(&r->device, &pool.device);
    int status = finish(run, good, pool.reached, pool.interrupted, error);
    free(pool.version);
    iw_device_free(&pool.device);
    run->version = NULL;
    return status;
}

static void restore(void *context, struct iw_entry *entry, unsigned round, struct iw_result *result)
{
    struct run *run = context;
    /* The last one is the case that what we are in has ended under: nobody has printed that. */
    while (iw_reexec_continues() && run->printed < run->record.count &&
           run->record.entries[run->printed].done)
        run->printed++;
    iw_record_restore(entry, round);
    take(run, entry, result);
}

static void restore_charge(void *context, struct iw_entry *entry, struct iw_result *result)
{
    struct run *run = context;
    iw_record_charge(&run->record, &run->baseline, entry, result);
}

/* The journal of this run: a new one, or that of the run that goes on. */
static int begin_journal(struct run *run)
{
    const struct iw_command *c = run->command;
    struct iw_journal_head head = c->head;
    const char **ids = NULL;
    head.select = (const char *const *)c->select;
    head.n_select = c->n_select;
    if (c->journal == NULL && (head.shard != NULL || run->merge != NULL)) {
        head.chosen = run->setup->n_chosen;
        head.select = ids = iw_setup_ids(run->setup);
        head.n_select = run->setup->n_selected;
    }
    run->journal =
        c->journal != NULL ? c->journal : iw_journal_create(run->dir, &head, &run->record);
    free(ids);
    const struct iw_journal_reader reader = {
        .context = run, .take = restore, .charge = restore_charge};
    if (c->journal != NULL)
        return iw_journal_replay(run->journal, &run->record, &reader);
    return run->journal != NULL ? 0 : IW_EXIT_OUTPUT;
}

/* ---- the results of other runs ---- */

static void merge_result(void *context, struct iw_entry *entry, unsigned round,
                         struct iw_result *result)
{
    struct run *run = context;
    iw_journal_add(run->journal, result, round);
    iw_record_restore(entry, round);
    take(run, entry, result);
}

static void merge_charge(void *context, struct iw_entry *entry, struct iw_result *result)
{
    struct run *run = context;
    iw_journal_charge(run->journal, entry->c->id, result);
    iw_record_charge(&run->record, &run->baseline, entry, result);
}

/* Returns whether a case shows that some run has reached the target. */
static bool was_reached(const struct iw_record *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].c != NULL && r->entries[i].done && !r->entries[i].unreached &&
            r->entries[i].result.verdict != IW_VERDICT_SKIP)
            return true;
    return false;
}

static int merge_all(struct run *run)
{
    const struct iw_journal_reader reader = {
        .context = run, .take = merge_result, .charge = merge_charge};
    struct iw_record *r = &run->record;
    r->facts = &run->merge->facts;
    r->started = run->merge->started;
    r->seconds = run->merge->seconds;
    r->target_version = run->merge->version;
    if (version_of(run) != NULL)
        iw_record_choose(r, &run->baseline, version_of(run));
    int status = iw_merge_replay(run->merge, r, run->dir, &reader);
    if (status)
        return status;
    if (run->command->tap) {
        iw_tap_begin(stdout, r);
        iw_tap_facts(stdout, r);
    }
    iw_console_facts(run->console, r);
    print(run);
    return finish(run, !run->merge->failed, was_reached(r), 0, "");
}

/* ---- all of it ---- */

/* Makes the record and plays what it is about. */
static int run_selected(struct run *run)
{
    const struct iw_command *c = run->command;
    const struct iw_setup *s = run->setup;
    char *command = iw_run_again(c);
    run->record = (struct iw_record){
        .version = IW_VERSION,
        .suite = s->suite.digest,
        .target = run->merge != NULL ? run->merge->target : s->target->text,
        .target_class =
            run->merge != NULL ? run->merge->class : iw_target_class_name(s->target->class),
        .shard = c->head.shard,
        .order = c->head.order,
        .again = command,
        .colour = iw_host_colour_wanted(c->colour, run->console),
        .remarks = c->replay.capture != NULL,
        .dir = run->dir,
        .baseline = c->baseline,
        .html = run->reports.paths[IW_REPORT_HTML],
        .whole = &s->suite,
        .proof = &s->proof,
        .started = time(NULL),
        .repeat = c->head.repeat ? c->head.repeat : 1,
    };
    iw_device_say(&run->record.device, IW_DEVICE_OPERATOR, c->head.run_by);
    if (run->merge != NULL)
        iw_merge_device(run->merge, &run->record.device);
    else
        iw_device_add(&run->record.device, &s->target->device);
    iw_record_fill(&run->record, &s->suite, s->selected, s->n_selected);
    iw_record_pin(&run->record, &run->baseline, &s->suite);
    int status = begin_journal(run);
    if (!status)
        status = run->merge != NULL ? merge_all(run) : play_all(run);
    if (c->journal == NULL)
        iw_journal_close(run->journal);
    iw_record_free(&run->record);
    iw_eta_free(&run->eta);
    iw_base_facts_free(&run->base);
    free(command);
    return status;
}

static int carry_out(const struct iw_command *c, struct iw_merge *merge)
{
    struct iw_setup s;
    int status = iw_setup(&s, c, merge == NULL);
    struct run run = {
        .command = c,
        .setup = &s,
        .merge = merge,
        .reports = {.paths = {[IW_REPORT_JUNIT] = c->junit,
                              [IW_REPORT_JSON] = c->json,
                              [IW_REPORT_HTML] = c->html,
                              [IW_REPORT_CSV] = c->csv_file}},
        .console = c->tap ? stderr : stdout,
        .progress =
            !status && merge == NULL && isatty(2) && !c->tap && !c->trace && s.target->ask == NULL,
    };
    if (!status && merge != NULL)
        status = iw_merge_find(merge, &s.suite, &s.selected, &s.n_selected);
    else if (!status && iw_target_unattended(s.target) != NULL)
        status = iw_complain_exit(IW_EXIT_USAGE, "--target %s: %s", s.target->text,
                                  iw_target_unattended(s.target));
    if (!status)
        status = read_known(&run);
    if (!status && !open_outputs(&run))
        status = IW_EXIT_OUTPUT;
    if (!status)
        status = run_selected(&run);
    iw_report_files_close(&run.reports);
    if (run.pins != NULL)
        fclose(run.pins);
    free(run.dir);
    iw_baseline_free(&run.baseline);
    iw_survey_free(&run.survey);
    iw_setup_free(&s);
    return status;
}

int iw_command_run(const struct iw_command *c)
{
    return carry_out(c, NULL);
}

int iw_command_merge(const struct iw_command *c)
{
    struct iw_merge merge = {0};
    struct iw_command whole = *c;
    int status = iw_merge_read(&merge, c->operands, c->n_operands);
    if (status == 0 && iw_merge_has(&merge, c->results))
        status = iw_complain_exit(IW_EXIT_USAGE, "--results %s: is one of the runs", c->results);
    if (status == 0) {
        whole.head = merge.runs[0].head;
        whole.head.shard = whole.head.order = whole.head.pcap_dir = NULL;
        if (c->head.cases != NULL)
            whole.head.cases = c->head.cases;
        status = carry_out(&whole, &merge);
    }
    iw_merge_free(&merge);
    return status;
}
