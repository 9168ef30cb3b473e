/* SPDX-License-Identifier: BSD-3-Clause */
/* A run inside another kernel, seen from outside: where that kernel ends or hangs, it is brought
 * back, the case under way has failed, and the run goes on. */
#include "supervise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "run/journal.h"
#include "target/other_kernel.h"

enum {
    RESTARTS = 30,      /* in one run */
    STUCK_SECONDS = 60, /* without a word in the journal, above what the case may take */
};

struct run {
    struct iw_shell_watch watch; /* of the journal */
    double scale;
    char *begun; /* the case under way; NULL: none */
};

/* Reads the journal again. */
static void look(struct iw_shell_watch *watch)
{
    struct run *r = (struct run *)watch;
    double seconds = 0;
    free(r->begun);
    r->begun = iw_journal_begun(watch->path, &seconds);
    watch->seconds = r->begun ? (STUCK_SECONDS + 2 * seconds) * r->scale : 0;
}

/* The case under way gets its verdict, and the target's kernel is brought back. */
static int recover(const struct iw_target_spec *spec, const struct run *r, const volatile int *stop)
{
    char *reason = r->watch.stuck
                       ? iw_text_format("the target's kernel was stuck for %g s", r->watch.seconds)
                       : iw_target_kernel_ended(spec);
    iw_complain("%s: %s; it is started again", r->begun, reason);
    bool good = iw_journal_append(r->watch.path, r->begun, reason);
    free(reason);
    if (!good)
        return IW_EXIT_TESTER;
    int status = iw_shell_run(spec->restart, stop, NULL);
    if (status)
        iw_complain("restart: '%s' ended with status %d", spec->restart, status);
    return status ? IW_EXIT_TESTER : 0;
}

int iw_supervise(const struct iw_target_spec *spec, const struct iw_supervised *s)
{
    char *journal = iw_text_format("%s/journal.jsonl", s->dir);
    char *report = iw_text_format("%s/run.json", s->dir);
    struct run r = {.watch = {.path = journal, .changed = look},
                    .scale = s->scale > 0 ? s->scale : 1};
    const volatile int *stop = iw_shell_signals();
    int status = 0, restarts = 0;
    bool over = false;
    if ((unlink(report) && errno != ENOENT) || (!s->resumes && unlink(journal) && errno != ENOENT))
        iw_complain("%s: %s", s->dir, strerror(errno));
    while (!over) {
        status = iw_shell_run(restarts ? s->again : s->first, stop, &r.watch);
        look(&r.watch);
        over = *stop || !access(report, F_OK) || !r.begun;
        if (!over && restarts++ >= RESTARTS) {
            iw_complain("the target's kernel has ended %d times; to go on: --resume %s", restarts,
                        s->dir);
            status = IW_EXIT_TESTER;
            over = true;
        } else if (!over) {
            status = recover(spec, &r, stop);
            over = status || *stop;
        }
    }
    free(r.begun);
    free(journal);
    free(report);
    return status ? status : *stop ? IW_SHELL_SIGNALLED + *stop : 0;
}
