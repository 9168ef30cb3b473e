/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform self-check`: the suite against the reference peer, bent by one switch at a time.
 */
#include <stdlib.h>

#include "command_setup.h"
#include "commands.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "selfcheck/selfcheck.h"

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
        iw_self_check_play(&s, setup->target, &setup->options, c->jobs ? c->jobs : iw_cpus(), dir);
    if (!status) {
        iw_self_check_print(stdout, &s);
        printf("results: %s\n", dir);
        status = iw_self_check_status(&s);
        if (!write_report(&s, report) || (c->json && !write_report(&s, c->json)) ||
            (c->matrix && iw_self_check_record(&s, &setup->suite, c->matrix)))
            status = IW_EXIT_TESTER;
    }
    iw_self_check_free(&s);
    free(report);
    return status;
}

static bool fits_some(const char *glob)
{
    size_t count = 1;
    if (glob)
        free(iw_probes_make(true, glob, &count));
    if (!count)
        iw_complain("--switch %s: fits no switch", glob);
    return count > 0;
}

int iw_command_self_check(const struct iw_command *c)
{
    struct iw_setup setup;
    char *dir = NULL;
    int status = fits_some(c->switches) ? 0 : IW_EXIT_USAGE;
    if (!status && c->matrix && (!c->full || c->switches)) {
        iw_complain("--matrix: needs --full, and every switch");
        status = IW_EXIT_USAGE;
    }
    if (status)
        return status;
    status = iw_setup(&setup, c, true);
    if (!status)
        status = iw_setup_proof(&setup);
    if (!status && !(dir = iw_results_create(c, "self-check")))
        status = IW_EXIT_TESTER;
    if (!status) {
        iw_setup_broken(&setup);
        status = carry_out(c, &setup, dir);
    }
    free(dir);
    iw_setup_free(&setup);
    return status;
}
