/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform run`: the cases, their verdicts in the order of the suite, and the reports. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "iwarp/capture.h"
#include "iwarp/transport.h"
#include "pool.h"
#include "report.h"
#include "text.h"

struct run {
    const struct iw_command *command;
    const struct iw_setup *setup;
    struct iw_record record;
    size_t first;   /* entry of the first case: files that could not be read stand before it */
    size_t next;    /* entry to be played next */
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

static void count(struct run *run, struct iw_entry *entry)
{
    entry->done = true;
    run->record.verdicts[entry->result.verdict]++;
}

/* ---- the pool's side ---- */

static bool next(void *context, unsigned worker, struct iw_job *job)
{
    struct run *run = context;

    (void)worker;
    if (run->next == run->record.count)
        return false;
    *job = (struct iw_job){.c = run->record.entries[run->next++].c};
    return true;
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    struct run *run = context;
    size_t i = run->first;

    (void)worker;
    while (run->record.entries[i].c != job->c)
        i++;
    run->record.entries[i].result = *result;
    run->record.entries[i].unreached =
        result->verdict == IW_VERDICT_INCONCLUSIVE && result->reason &&
        !strncmp(result->reason, IW_UNREACHED, sizeof(IW_UNREACHED) - 1);
    count(run, &run->record.entries[i]);
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
 * and one agent serves one client. */
static unsigned jobs(const struct iw_command *c, const struct iw_target_spec *target, size_t cases)
{
    unsigned n = c->jobs ? c->jobs : target->embedded ? iw_cpus() : 1;

    if (c->trace || (!target->embedded && (target->class == IW_TARGET_AGENT || target->start)))
        n = 1;
    return n > cases ? (cases ? (unsigned)cases : 1) : n;
}

static void add_entries(struct run *run)
{
    const struct iw_suite *suite = &run->setup->suite;
    struct iw_record *r = &run->record;

    r->entries = iw_got(calloc(suite->n_broken + run->setup->n_selected + 1, sizeof(*r->entries)));
    for (size_t i = 0; i < suite->n_files; i++) {
        const struct iw_suite_file *file = &suite->files[i];
        struct iw_entry *entry = &r->entries[r->count];

        if (!file->error)
            continue;
        entry->file = file->path;
        entry->result.id = iw_text_copy(file->path);
        entry->result.verdict = IW_VERDICT_ERROR;
        entry->result.reason = iw_text_copy(file->error);
        r->count++;
        count(run, entry);
    }
    run->first = run->next = r->count;
    for (size_t i = 0; i < run->setup->n_selected; i++) {
        r->entries[r->count].c = run->setup->selected[i];
        r->entries[r->count++].file = run->setup->selected[i]->file;
    }
}

/* What repeats a case, up to its id. */
static char *again(const struct iw_command *c)
{
    char *program = iw_text_shell(c->program);
    char *cases = c->cases ? iw_text_shell(c->cases) : NULL;
    char *target = c->target ? iw_text_shell(c->target) : NULL;
    char *agent = c->agent ? iw_text_shell(c->agent) : NULL;
    char *text = iw_text_format("%s run%s%s%s%s%s%s --select ", program, cases ? " --cases " : "",
                                cases ? cases : "", agent ? " --agent " : "", agent ? agent : "",
                                target ? " --target " : "", target ? target : "");

    free(program);
    free(cases);
    free(target);
    free(agent);
    return text;
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

static int status_of(const struct run *run, bool reached)
{
    const size_t *n = run->record.verdicts;
    bool unreached = false;

    for (size_t i = 0; i < run->record.count; i++)
        unreached = unreached || run->record.entries[i].unreached;
    if (n[IW_VERDICT_ERROR] || run->trouble)
        return IW_EXIT_TESTER;
    if (unreached && !reached)
        return IW_EXIT_UNREACHED;
    if (n[IW_VERDICT_FAIL])
        return IW_EXIT_FAILURE;
    return n[IW_VERDICT_INCONCLUSIVE] ? IW_EXIT_UNREACHED : IW_EXIT_GOOD;
}

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
    char *journal; /* run.json in it */
    FILE *journal_file, *junit, *json;
};

static bool open_outputs(const struct iw_command *c, const struct iw_setup *s, struct outputs *o)
{
    o->dir = iw_results_create(c, s->target->name);
    if (!o->dir)
        return false;
    o->journal = iw_text_format("%s/run.json", o->dir);
    if (c->pcap_dir && iw_folder_create(c->pcap_dir)) {
        iw_complain("cannot make the folder %s", c->pcap_dir);
        return false;
    }
    o->journal_file = iw_open_output(o->journal);
    o->junit = o->journal_file && c->junit ? iw_open_output(c->junit) : NULL;
    o->json = o->journal_file && c->json ? iw_open_output(c->json) : NULL;
    return o->journal_file && !c->junit == !o->junit && !c->json == !o->json;
}

static void free_outputs(struct outputs *o)
{
    FILE *files[] = {o->journal_file, o->junit, o->json};

    for (size_t i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    free(o->dir);
    free(o->journal);
}

static bool write_all(struct run *run, struct outputs *o)
{
    const struct iw_command *c = run->command;
    bool good = write_report(iw_json_write, o->journal_file, o->journal, &run->record);

    good = write_report(iw_junit_write, o->junit, c->junit, &run->record) && good;
    good = write_report(iw_json_write, o->json, c->json, &run->record) && good;
    o->journal_file = o->junit = o->json = NULL;
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
        .play = iw_script_run_case,
        .context = run,
        .next = next,
        .done = done,
        .trouble = trouble,
    };
    char error[256];
    bool good;

    if (c->capture && !(pool.live = open_live(run, o->dir)))
        return IW_EXIT_TESTER;
    if (c->tap)
        iw_tap_begin(stdout, r->count);
    tell(run);
    good = !iw_pool_run(&pool, error, sizeof(error));
    if (!good)
        iw_complain("%s", error);
    if (run->progress)
        iw_console_progress(stderr, r, NULL);
    good = close_live(run, &pool) && good;
    r->seconds = (double)(iw_transport_now() - began) / 1e9;
    r->target_version = pool.version;
    r->status = good ? status_of(run, pool.reached) : IW_EXIT_TESTER;
    if (pool.interrupted)
        r->status = 128 + pool.interrupted;
    good = write_all(run, o);
    if (pool.interrupted)
        iw_complain("interrupted");
    iw_console_summary(run->console, r, c->verbose);
    free(pool.version);
    return good || pool.interrupted ? r->status : IW_EXIT_TESTER;
}

int iw_command_run(const struct iw_command *c)
{
    struct iw_setup s;
    struct outputs o = {0};
    int status = iw_setup(&s, c, true);
    struct run run = {
        .command = c,
        .setup = &s,
        .console = c->tap ? stderr : stdout,
        .progress = isatty(2) && !c->tap && !c->trace,
    };

    if (!status && !open_outputs(c, &s, &o))
        status = IW_EXIT_TESTER;
    if (!status) {
        char *command = again(c);

        s.options.pcap_dir = c->pcap_dir ? c->pcap_dir : o.dir;
        s.options.trace = c->trace ? stderr : NULL;
        run.record = (struct iw_record){
            .version = IW_VERSION,
            .suite = s.suite.digest,
            .target = s.target->text,
            .target_class = iw_target_class_name(s.target->class),
            .again = command,
            .dir = o.dir,
            .started = time(NULL),
        };
        add_entries(&run);
        status = play_all(&run, &s.options, &o);
        for (size_t i = 0; i < run.record.count; i++)
            iw_result_free(&run.record.entries[i].result);
        free(run.record.entries);
        free(command);
    }
    free_outputs(&o);
    iw_setup_free(&s);
    return status;
}
