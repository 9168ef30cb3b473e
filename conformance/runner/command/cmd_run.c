/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform run`: the cases, their verdicts in the order of the suite, and the reports. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command_setup.h"
#include "commands.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "iwarp/capture.h"
#include "iwarp/transport.h"
#include "reexec.h"
#include "report/report_console.h"
#include "report/report_csv.h"
#include "report/report_html.h"
#include "report/report_json.h"
#include "report/report_junit.h"
#include "report/report_tap.h"
#include "run/baseline.h"
#include "run/journal.h"
#include "run/pool.h"
#include "run/run_record.h"
#include "suite/proof.h"

/* Cases in which a peer may say nothing before it is given up. More than a family of cases that
 * ask for silence. */
enum { PATIENCE = 12 };

struct run {
    const struct iw_command *command;
    const struct iw_setup *setup;
    struct iw_record record;
    struct iw_baseline baseline; /* empty if there is none */
    struct iw_journal *journal;
    size_t told;    /* entries that were reported */
    size_t trouble; /* lines about what went wrong outside of any case */
    FILE *console;
    bool progress;
};

/* ---- telling ---- */

static void tell(struct run *run)
{
    struct iw_record *r = &run->record;
    if (run->progress)
        iw_console_progress(stderr, r, NULL);
    while (run->told < r->count && r->entries[run->told].done) {
        const struct iw_entry *entry = &r->entries[run->told++];
        if (run->command->tap)
            iw_tap_entry(stdout, run->told, entry);
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
    struct iw_entry *entry = iw_record_next(&run->record, &round);
    (void)worker;
    if (entry)
        *job = (struct iw_job){.c = entry->c, .round = round};
    if (entry && run->setup->target->restart)
        iw_journal_begin(run->journal, entry->c);
    return entry != NULL;
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    struct run *run = context;
    (void)worker;
    iw_journal_add(run->journal, result, job->round);
    iw_record_take(&run->record, &run->baseline, iw_record_entry(&run->record, job->c->id), result);
    tell(run);
    if (run->progress)
        iw_console_progress(stderr, &run->record, job->c->id);
}

static void trouble(void *context, const char *line)
{
    struct run *run = context;
    if (run->progress)
        iw_console_progress(stderr, &run->record, NULL);
    run->trouble++;
    iw_complain("the target, at its end: %s", line);
}

/* ---- preparing ---- */

/* Cases at a time. Only our own agent is there once for each worker; another peer is the user's,
 * one agent serves one client, and one person does one thing at a time. */
static unsigned jobs(const struct iw_command *c, const struct iw_target_spec *target, size_t cases)
{
    unsigned n = c->jobs ? c->jobs : target->embedded ? iw_cpus() : 1;
    if (c->trace || (!target->embedded && (target->class == IW_TARGET_AGENT || target->start ||
                                           target->ask || target->restart)))
        n = 1;
    return n > cases ? (cases ? (unsigned)cases : 1) : n;
}

/* Adds an option to a command, if it was said. */
static void add_option(char **command, const char *name, const char *value)
{
    char *word = value ? iw_text_shell(value) : NULL;
    char *longer = value ? iw_text_format("%s --%s %s", *command, name, word) : NULL;
    if (longer) {
        free(*command);
        *command = longer;
    }
    free(word);
}

/* What repeats a case, up to its id: that of a replay is the name of the folder for its results. */
static char *again(const struct iw_command *c)
{
    const struct iw_replay *replay = &c->replay;
    char *program = iw_text_shell(c->program);
    char *capture = replay->capture ? iw_text_shell(c->words[0]) : NULL;
    char *text = capture ? iw_text_format("%s replay %s", program, capture)
                         : iw_text_format("%s run", program);
    char scale[40] = "", *command;
    if (c->time_scale > 0)
        snprintf(scale, sizeof(scale), "%g", c->time_scale);
    add_option(&text, "as", replay->as);
    add_option(&text, "stream", replay->stream);
    add_option(&text, "map", replay->map);
    add_option(&text, "time", replay->time);
    add_option(&text, "private", replay->private);
    add_option(&text, "cases", c->cases);
    add_option(&text, "agent", c->agent);
    add_option(&text, "target", c->target);
    add_option(&text, "time-scale", *scale ? scale : NULL);
    command = iw_text_format("%s --%s ", text, capture ? "results" : "select");
    free(text);
    free(capture);
    free(program);
    return command;
}

static struct iw_live *open_live(const struct run *run, const char *dir)
{
    const struct iw_target_spec *target = run->setup->target;
    char *path = iw_text_format("%s/packets.pcap", dir);
    char *filter = target->embedded || !target->host
                       ? iw_text_copy("tcp")
                       : iw_text_format("tcp and host %s", target->host);
    char error[IW_CAPTURE_ERROR];
    struct iw_live *live = iw_live_open(run->command->capture, filter, path, error);
    if (!live)
        iw_complain("--capture %s: %s", run->command->capture, error);
    free(path);
    free(filter);
    return live;
}

/* ---- ending ---- */

typedef void write_fn(FILE *out, const struct iw_record *record);

static bool write_report(write_fn *write, FILE *f, const char *path, const struct iw_record *record)
{
    if (!f)
        return true;
    write(f, record);
    return iw_close_output(f, path);
}

static bool close_live(struct run *run, struct iw_pool *pool)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_live_counts counts;
    if (!pool->live)
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

/* ---- all of it ---- */

struct outputs {
    char *dir;     /* of results */
    char *summary; /* run.json in it */
    FILE *junit, *json, *html, *csv, *baseline;
};

static bool open_output(FILE **f, const char *path)
{
    if (path)
        *f = iw_open_output(path);
    return !path || *f;
}

static bool open_outputs(const struct iw_command *c, const struct iw_setup *s, struct outputs *o)
{
    o->dir = iw_results_create(c, s->target->name);
    if (!o->dir)
        return false;
    o->summary = iw_text_format("%s/run.json", o->dir);
    if (c->pcap_dir && iw_folder_create(c->pcap_dir)) {
        iw_complain("cannot make the folder %s", c->pcap_dir);
        return false;
    }
    return open_output(&o->junit, c->junit) && open_output(&o->json, c->json) &&
           open_output(&o->html, c->html) && open_output(&o->csv, c->csv_file) &&
           open_output(&o->baseline, c->write_baseline);
}

static void free_outputs(struct outputs *o)
{
    FILE *files[] = {o->junit, o->json, o->html, o->csv, o->baseline};

    /* NOLINTNEXTLINE(bugprone-sizeof-expression): the list is one of pointers */
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (files[i])
            fclose(files[i]);
    free(o->dir);
    free(o->summary);
}

static bool write_html(struct run *run, FILE *f)
{
    char error[1024];
    if (!f)
        return true;
    bool good = iw_html_write(f, &run->record, run->setup->report, error, sizeof(error));
    if (!good)
        iw_complain("%s", error);
    return iw_close_output(f, run->command->html) && good;
}

static bool write_all(struct run *run, struct outputs *o)
{
    const struct iw_command *c = run->command;
    FILE *summary = iw_open_output(o->summary);
    bool good = summary && write_report(iw_json_write, summary, o->summary, &run->record);
    good = write_report(iw_junit_write, o->junit, c->junit, &run->record) && good;
    good = write_report(iw_json_write, o->json, c->json, &run->record) && good;
    good = write_html(run, o->html) && good;
    good = write_report(iw_csv_write, o->csv, c->csv_file, &run->record) && good;
    if (o->baseline) {
        iw_baseline_write(o->baseline, &run->record, &run->baseline);
        good = iw_close_output(o->baseline, c->write_baseline) && good;
    }
    o->junit = o->json = o->html = o->csv = o->baseline = NULL;
    return good;
}

static int play_all(struct run *run, struct iw_run_options *options, struct outputs *o)
{
    const struct iw_command *c = run->command;
    struct iw_record *r = &run->record;
    uint64_t began = iw_transport_now();
    struct iw_pool pool = {
        .target = run->setup->target,
        .options = options,
        .workers = jobs(c, run->setup->target, run->setup->n_selected),
        .log_dir = o->dir,
        .patience = PATIENCE,
        .play = iw_script_run_case,
        .context = run,
        .next = next,
        .done = done,
        .trouble = trouble,
    };
    char error[256] = "";
    if (c->capture && !(pool.live = open_live(run, o->dir)))
        return IW_EXIT_TESTER;
    if (c->tap && !iw_reexec_continues())
        iw_tap_begin(stdout, r->count);
    tell(run);
    bool good = !iw_pool_run(&pool, error, sizeof(error));
    if (!good)
        iw_complain("%s", error);
    if (run->progress)
        iw_console_progress(stderr, r, NULL);
    good = close_live(run, &pool) && good;
    r->seconds = (double)(iw_transport_now() - began) / 1e9;
    r->target_version = pool.version;
    r->status = good && !run->trouble ? iw_record_status(r, pool.reached) : IW_EXIT_TESTER;
    if (pool.interrupted)
        r->status = 128 + pool.interrupted;
    good = write_all(run, o);
    if (c->tap && (pool.interrupted || run->told < r->count))
        iw_tap_bail_out(stdout, pool.interrupted ? "interrupted" : error);
    if (pool.interrupted && !c->replay.capture)
        iw_complain("interrupted; to go on: %s run --resume %s", c->program, o->dir);
    iw_console_summary(run->console, r, c->verbose);
    free(pool.version);
    return good || pool.interrupted ? r->status : IW_EXIT_TESTER;
}

static void restore(void *context, struct iw_entry *entry, unsigned round, struct iw_result *result)
{
    struct run *run = context;
    /* The last one is the case that what we are in has ended under: nobody has told that. */
    while (iw_reexec_continues() && run->told < run->record.count &&
           run->record.entries[run->told].done)
        run->told++;
    iw_record_restore(entry, round);
    iw_record_take(&run->record, &run->baseline, entry, result);
}

/* The journal of this run: a new one, or that of the run that goes on. */
static int begin_journal(struct run *run, const char *dir)
{
    const struct iw_command *c = run->command;
    struct iw_journal_head head = {
        .target = c->target,
        .cases = c->cases,
        .agent = c->agent,
        .pcap_dir = c->pcap_dir,
        .select = (const char *const *)c->select,
        .n_select = c->n_select,
        .time_scale = c->time_scale,
        .repeat = c->repeat,
    };
    if (c->journal) {
        run->journal = c->journal;
        return iw_journal_replay(run->journal, &run->record, restore, run);
    }
    run->journal = iw_journal_create(dir, &head, &run->record);
    return run->journal ? 0 : IW_EXIT_TESTER;
}

/* What the reports for people say of rules that no case judged. */
static int read_proof(struct run *run, struct iw_proof *proof)
{
    char error[1024];
    if ((!run->command->html && !run->command->csv_file) ||
        !iw_proof_read(proof, run->setup->proof, error, sizeof(error)))
        return 0;
    iw_complain("%s", error);
    return IW_EXIT_TESTER;
}

static int read_baseline(struct run *run)
{
    char error[1024];
    if (!run->command->baseline ||
        !iw_baseline_read(&run->baseline, run->command->baseline, error, sizeof(error)))
        return 0;
    iw_complain("%s", error);
    return IW_EXIT_USAGE;
}

int iw_command_run(const struct iw_command *c)
{
    struct iw_setup s;
    struct outputs o = {0};
    struct iw_proof proof = {0};
    int status = iw_setup(&s, c, true);
    struct run run = {
        .command = c,
        .setup = &s,
        .console = c->tap ? stderr : stdout,
        .progress = !status && isatty(2) && !c->tap && !c->trace && !s.target->ask,
    };
    if (!status && iw_target_unattended(s.target)) {
        iw_complain("--target %s: %s", s.target->text, iw_target_unattended(s.target));
        status = IW_EXIT_USAGE;
    }
    if (!status)
        status = read_baseline(&run);
    if (!status)
        status = read_proof(&run, &proof);
    if (!status && !open_outputs(c, &s, &o))
        status = IW_EXIT_TESTER;
    if (!status) {
        char *command = again(c);
        s.options.pcap_dir = c->pcap_dir ? c->pcap_dir : o.dir;
        s.options.exchange = true;
        s.options.hazards = c->hazards;
        s.options.trace = c->trace ? stderr : NULL;
        run.record = (struct iw_record){
            .version = IW_VERSION,
            .suite = s.suite.digest,
            .target = s.target->text,
            .target_class = iw_target_class_name(s.target->class),
            .again = command,
            .remarks = c->replay.capture != NULL,
            .dir = o.dir,
            .baseline = c->baseline,
            .html = c->html,
            .whole = &s.suite,
            .proof = &proof,
            .started = time(NULL),
            .repeat = c->repeat ? c->repeat : 1,
        };
        iw_record_fill(&run.record, &s.suite, s.selected, s.n_selected);
        iw_record_pin(&run.record, &run.baseline, &s.suite);
        status = begin_journal(&run, o.dir);
        if (!status)
            status = play_all(&run, &s.options, &o);
        if (!c->journal)
            iw_journal_close(run.journal);
        iw_record_free(&run.record);
        free(command);
    }
    iw_baseline_free(&run.baseline);
    iw_proof_free(&proof);
    free_outputs(&o);
    iw_setup_free(&s);
    return status;
}
