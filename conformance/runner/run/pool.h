/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_POOL_H
#define IW_RUNNER_POOL_H

/*
 * Worker processes. Each plays one case at a time against a target of its own, so that a crash, a
 * leak or an endless loop of one costs that case only. The parent hands out cases, enforces the
 * deadline that a worker cannot enforce upon itself, and ends what a dead worker has left behind.
 */

#include "script/script_run.h"

struct iw_live;

/* One case to be played. */
struct iw_job {
    const struct iw_case *c;
    unsigned round; /* of a case that is repeated, from 0 */
    const char
        *option; /* one more argument for the embedded agent, or a few with blanks between;
                    NULL: none. Borrowed until the job is done. A change costs a new agent. */
};

typedef int iw_play_fn(const struct iw_case *c, struct iw_target *target,
                       const struct iw_run_options *options, struct iw_result *out);

struct iw_pool {
    const struct iw_target_spec *target;
    const struct iw_run_options *options;
    unsigned workers;
    const char *log_dir;  /* for what targets print; NULL: nowhere */
    double grace;         /* seconds above a case's own deadline before its worker is killed;
                             0: 10, both scaled */
    iw_play_fn *play;     /* iw_script_run_case */
    struct iw_live *live; /* pumped meanwhile; NULL: none */
    bool hasty; /* a target that leaves out answers is not waited for each time: haste.h */
    void *context;
    /* The next job for a worker (0 .. workers - 1); false: there is none for it, now or later. */
    bool (*next)(void *context, unsigned worker, struct iw_job *job);
    /* A job is done; *result becomes the callee's. */
    void (*done)(void *context, unsigned worker, const struct iw_job *job,
                 struct iw_result *result);
    /* A line about what happened outside of any case: a leak at a target's end ... */
    void (*trouble)(void *context, const char *line);
    /* What became of the target after a case was done was that case's doing: it has failed, by
     * result->deviations. *result becomes the callee's. NULL: nothing is found out after a case is
     * done, and no case is played again for it. */
    void (*charge)(void *context, const char *id, struct iw_result *result);

    const char *no_mpa; /* why no case is played, in one line: the target speaks no MPA; NULL: it
                           may */
    unsigned patience; /* cases in a row that do not pass and in which the peer says nothing at all,
                          before the rest is INCONCLUSIVE; 0: no end of it */

    /* What came out. */
    bool reached;            /* some worker has reached the target */
    char why_not[512];       /* why one did not, the last time */
    unsigned unreached;      /* times in a row that the target could not be reached */
    unsigned silent;         /* such cases in a row, up to the last */
    char *version;           /* of the target; NULL: not known. The caller frees it */
    struct iw_device device; /* what its agent says of it. The caller frees it */
    int interrupted;         /* the signal that ended the run early; 0: none */
    char live_error[512];    /* what stopped the live capture; empty: nothing */
};

/* After so many vain attempts in a row the rest is INCONCLUSIVE without another one. */
enum { IW_POOL_ATTEMPTS = 3 };

/* What the reason of a case begins with that did not reach the target. */
#define IW_UNREACHED "the target was not reached: "
/* ... or whose target speaks no MPA. */
#define IW_NO_MPA "the target speaks no MPA: "
/* ... or was silent for too long. */
#define IW_SILENT "the target is silent: "

/* Plays until every worker is out of jobs. Blocks SIGINT, SIGTERM and SIGHUP meanwhile; one of them
 * ends all workers and targets. Returns 0, or -1 with one line in `error`: no process could be
 * made. */
int iw_pool_run(struct iw_pool *pool, char *error, size_t room);

/* Plays what `first` hands out before `pool` is run, with the pool's options but without captures:
 * in as many workers as `first` says if the pool has so many, else in one. The caller has set the
 * target, context, next and done of `first`; what a sanitizer says at the target's end is left to
 * the pool. A signal is left in pool->interrupted,
 * what the target's agent says of the device in pool->device.
 * Returns as iw_pool_run(). */
int iw_pool_run_before(struct iw_pool *pool, struct iw_pool *first, char *error, size_t room);

/* worker.c: the child's side. Takes orders from `fd` and answers with JSON lines: {"group":PID},
 * {"trouble":TEXT}, {"reached":BOOL,"version":TEXT,"device":{...},"why":TEXT}, {"more":SECONDS} for
 * who plays cases again, {"charge":{"id":TEXT,"result":{...}}}, {"result":{...},"waited":SECONDS,
 * "slowest":SECONDS}. Returns when the
 * parent closes its end. */
struct iw_order {
    const struct iw_case *c; /* parent and child share the suite, which was there before the fork */
    unsigned round;
    double patience; /* of a hasty case; 0: the options' */
    char option[256];
};
void iw_worker_serve(const struct iw_pool *pool, unsigned number, int fd);

#endif
