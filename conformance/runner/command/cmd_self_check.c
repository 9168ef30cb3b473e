/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform self-check`: the suite against the reference peer, bent by one switch at a time.
 */
#include <stdlib.h>

#include "cmd_self_check.h"
#include "command_setup.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/outputs.h"
#include "host/text.h"
#include "iwarp/nearest.h"
#include "run_line.h"
#include "selfcheck/diagnosis.h"

static bool write_report(const struct iw_self_check *s, const char *path)
{
    FILE *f = iw_open_output(path);
    if (f != NULL)
        iw_self_check_json(f, s);
    return f != NULL && iw_close_output(f, path);
}

/* The run itself, and what it leaves behind. */
static int carry_out(const struct iw_command *c, const struct iw_setup *setup, const char *dir)
{
    char *report = iw_text_format("%s/run.json", dir);
    struct iw_self_check s = {
        .suite = setup->suite.digest,
        .full = c->full,
        .partial = c->n_select > 0,
        .switches = c->switches,
        .n_errors = setup->suite.n_broken,
    };
    iw_self_check_begin(&s, setup->selected, setup->n_selected, &setup->proof);
    int status =
        iw_self_check_play(&s, setup->target, &setup->options, iw_run_embedded_jobs(c), dir);
    s.interrupted = status > IW_EXIT_SIGNALLED;
    if (!status || s.interrupted) {
        iw_self_check_print(stdout, &s);
        printf("results: %s\n", dir);
        bool written = write_report(&s, report) && (c->json == NULL || write_report(&s, c->json));
        if (!s.interrupted && c->matrix != NULL)
            written = !iw_self_check_record(&s, &setup->suite, c->matrix) && written;
        status = s.interrupted ? status : iw_self_check_status(&s);
        status = written || s.interrupted ? status : IW_EXIT_OUTPUT;
    }
    iw_self_check_free(&s);
    free(report);
    return status;
}

/* ---- --diagnose ---- */

struct diagnosing {
    const struct iw_command *command;
    const char *path; /* of the recorded table */
    struct iw_diagnosis_table table;
    size_t n_worse;
    bool unwritten;
};

/* Each switch is recorded at once: the whole takes hours, and may be interrupted. */
static void report(void *context, const struct iw_bent *bent)
{
    struct diagnosing *g = context;
    bool worse = iw_diagnosis_worse(&g->table, bent);
    g->n_worse += worse;
    iw_bent_print(stdout, bent, worse);
    if (!g->command->record)
        return;
    iw_diagnosis_update(&g->table, bent);
    g->unwritten = iw_diagnosis_write(&g->table, g->path) != 0 || g->unwritten;
}

static bool write_diagnosis(const struct iw_diagnosis *d, const char *path)
{
    FILE *f = iw_open_output(path);
    if (f != NULL)
        iw_diagnosis_json(f, d);
    return f != NULL && iw_close_output(f, path);
}

static int play_diagnosis(struct diagnosing *g, struct iw_diagnosis *d,
                          const struct iw_setup *setup, const char *dir)
{
    const struct iw_command *c = g->command;
    int status = iw_diagnosis_play(d, setup->target, &setup->options, iw_run_embedded_jobs(c), dir);
    if (status)
        return status;
    char *report_path = iw_text_format("%s/run.json", dir);
    iw_diagnosis_print(stdout, d);
    if (g->n_worse > 0)
        printf("%zu switch%s had better findings in %s\n", g->n_worse, g->n_worse == 1 ? "" : "es",
               g->path);
    printf("results: %s\n", dir);
    if (!write_diagnosis(d, report_path) || (c->json != NULL && !write_diagnosis(d, c->json)) ||
        g->unwritten)
        status = IW_EXIT_OUTPUT;
    else if (d->n_errors > 0)
        status = IW_EXIT_TESTER;
    else if (g->n_worse > 0 || d->n_unclean > 0)
        status = IW_EXIT_FAILURE;
    free(report_path);
    return status;
}

static int diagnose(const struct iw_command *c, const struct iw_setup *setup, const char *dir)
{
    char *beside = iw_text_format("%s/diagnosis.csv", setup->proof_folder);
    struct diagnosing g = {.command = c, .path = c->diagnosis != NULL ? c->diagnosis : beside};
    struct iw_diagnosis d = {.suite = &setup->suite,
                             .cases = setup->selected,
                             .n_cases = setup->n_selected,
                             .full = c->full,
                             .n_errors = setup->suite.n_broken,
                             .context = &g,
                             .report = report};
    int status = IW_EXIT_TESTER;
    if (!iw_diagnosis_read(&g.table, g.path))
        status = iw_diagnosis_begin(&d, c->switches, c->part, c->parts)
                     ? IW_EXIT_USAGE
                     : play_diagnosis(&g, &d, setup, dir);
    iw_diagnosis_free(&d);
    iw_diagnosis_table_free(&g.table);
    free(beside);
    return status;
}

/* ---- the command ---- */

static void no_switch(const char *glob)
{
    size_t count;
    struct iw_probe *all = iw_probes_make(true, NULL, &count);
    struct iw_nearest n;
    iw_nearest_begin(&n, glob);
    for (size_t i = 0; i < count; i++)
        iw_nearest_offer(&n, all[i].option + 2);
    if (n.best != NULL)
        iw_complain("--switch %s: fits no switch (did you mean '%s'?)", glob, n.best);
    else
        iw_complain("--switch %s: fits no switch; expected KIND=CHECK, KIND one of ignore, "
                    "overstrict, violate, botch",
                    glob);
    free(all);
}

static bool fits_some(const char *glob)
{
    size_t count = 1;
    if (glob != NULL)
        free(iw_probes_make(true, glob, &count));
    if (!count)
        no_switch(glob);
    return count > 0;
}

/* Returns what is wrong with the options together, or NULL. */
static const char *wrong_options(const struct iw_command *c)
{
    if (!c->diagnose && (c->record || c->diagnosis != NULL || c->parts))
        return "--record, --diagnosis and --part need --diagnose";
    if (c->diagnose && c->matrix != NULL)
        return "--diagnose: does not go with --matrix";
    if (c->record && c->n_select)
        return "--record: needs every case";
    if (c->matrix != NULL && (!c->full || c->switches != NULL))
        return "--matrix: needs --full, and every switch";
    return NULL;
}

int iw_command_self_check(const struct iw_command *c)
{
    struct iw_setup setup;
    char *dir = NULL;
    const char *wrong = wrong_options(c);
    if (wrong != NULL)
        iw_complain("%s", wrong);
    if (wrong != NULL || (!c->diagnose && !fits_some(c->switches)))
        return IW_EXIT_USAGE;
    int status = 0;
    status = iw_setup(&setup, c, true);
    if (!status)
        status = iw_setup_proof(&setup);
    if (!status && ((c->json != NULL && !iw_host_writable(c->json)) ||
                    (c->matrix != NULL && !iw_host_writable(c->matrix))))
        status = IW_EXIT_OUTPUT;
    if (!status && (dir = iw_results_create(c, "self-check")) == NULL)
        status = IW_EXIT_OUTPUT;
    if (!status) {
        iw_setup_broken(&setup);
        status = c->diagnose ? diagnose(c, &setup, dir) : carry_out(c, &setup, dir);
    }
    free(dir);
    iw_setup_free(&setup);
    return status;
}
