/* SPDX-License-Identifier: BSD-3-Clause */
/* A run inside another kernel, seen from outside: where that kernel ends or hangs, it is brought
 * back, the case under way has failed, and the run goes on. */
#include "supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "run/journal.h"

enum {
    RESTARTS = 30,       /* in one run */
    STUCK_SECONDS = 60,  /* without a word in the journal, above what the case may take */
    SLICE_MS = 100,      /* between two looks at it */
    NOT_A_COMMAND = 127, /* exit status */
};

struct watch {
    const char *journal; /* path */
    double scale;
    off_t size;
    uint64_t since; /* iw_transport_now() */
    char *begun;    /* the case under way; NULL: none */
    double limit;   /* seconds that the journal may stay as it is */
};

/* Looks at the journal again if it has grown. */
static void look(struct watch *w)
{
    struct stat at;
    double seconds = 0;
    if (stat(w->journal, &at))
        at.st_size = 0;
    if (at.st_size == w->size)
        return;
    w->size = at.st_size;
    w->since = iw_transport_now();
    free(w->begun);
    w->begun = iw_journal_begun(w->journal, &seconds);
    w->limit = (STUCK_SECONDS + 2 * seconds) * w->scale;
}

/* Runs a shell command; its exit status as a shell gives it. A signal that comes for us is passed
 * on and left in *ours. With `w`, a run that is stuck is killed: *stuck. */
static int execute(const char *command, struct watch *w, const sigset_t *caught, int *ours,
                   bool *stuck)
{
    struct timespec slice = {.tv_nsec = SLICE_MS * 1000000};
    pid_t pid = fork();
    int status = 0;
    if (pid < 0)
        return NOT_A_COMMAND;
    if (!pid) {
        sigprocmask(SIG_UNBLOCK, caught, NULL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(NOT_A_COMMAND);
    }
    while (!waitpid(pid, &status, WNOHANG)) {
        int number = sigtimedwait(caught, NULL, &slice);
        if (number > 0 && number != SIGCHLD) {
            *ours = number;
            kill(pid, number);
        }
        if (!w)
            continue;
        look(w);
        if (!*stuck && w->begun && (double)(iw_transport_now() - w->since) / 1e9 > w->limit) {
            *stuck = true;
            kill(pid, SIGKILL);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The case under way gets its verdict, and the target's kernel is brought back. */
static int recover(const struct iw_target_spec *spec, const struct watch *w, bool stuck,
                   const sigset_t *caught, int *ours)
{
    char *reason = stuck ? iw_text_format("the target's kernel was stuck for %g s", w->limit)
                         : iw_target_kernel_ended(spec);
    iw_complain("%s: %s; it is started again", w->begun, reason);
    int status = iw_journal_append(w->journal, w->begun, reason) ? 0 : IW_EXIT_TESTER;
    free(reason);
    if (status)
        return status;
    status = execute(spec->restart, NULL, caught, ours, &stuck);
    if (status)
        iw_complain("restart: '%s' ended with status %d", spec->restart, status);
    return status ? IW_EXIT_TESTER : 0;
}

int iw_supervise(const struct iw_target_spec *spec, const struct iw_supervised *s)
{
    char *journal = iw_text_format("%s/journal.jsonl", s->dir);
    char *report = iw_text_format("%s/run.json", s->dir);
    struct watch w = {
        .journal = journal, .scale = s->scale > 0 ? s->scale : 1, .since = iw_transport_now()};
    bool over = false;
    sigset_t caught, before;
    int status = 0, restarts = 0, ours = 0;
    sigemptyset(&caught);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    sigaddset(&caught, SIGHUP);
    sigaddset(&caught, SIGCHLD);
    sigprocmask(SIG_BLOCK, &caught, &before);
    if ((unlink(report) && errno != ENOENT) || (!s->resumes && unlink(journal) && errno != ENOENT))
        iw_complain("%s: %s", s->dir, strerror(errno));
    while (!over) {
        bool stuck = false;
        status = execute(restarts ? s->again : s->first, &w, &caught, &ours, &stuck);
        look(&w);
        over = ours || !access(report, F_OK) || !w.begun;
        if (!over && restarts++ >= RESTARTS) {
            iw_complain("the target's kernel has ended %d times; to go on: --resume %s", restarts,
                        s->dir);
            status = IW_EXIT_TESTER;
            over = true;
        } else if (!over) {
            status = recover(spec, &w, stuck, &caught, &ours);
            over = status || ours;
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(w.begun);
    free(journal);
    free(report);
    return status ? status : ours ? 128 + ours : 0;
}
