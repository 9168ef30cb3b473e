/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_WORKER_H
#define IW_RUNNER_WORKER_H

/*
 * A worker: one case at a time, against a target of its own. worker.c plays them, worker_mishap.c
 * sees what has become of the target, worker_blame.c finds the case whose doing that is.
 */

#include "pool.h"
#include "target/mishap.h"

enum { IW_WORKER_LINE = 1024 };

/* A case that was played on the target that is open. */
struct iw_played {
    const struct iw_case *c;
    unsigned round;
    uint64_t ended; /* iw_transport_now() */
};

struct iw_past {
    struct iw_played *list; /* the latest last */
    size_t count;
};

struct iw_worker {
    const struct iw_pool *pool;
    FILE *out; /* to the parent */
    char *log;
    struct iw_target_instance *target; /* NULL: not open */
    char option[sizeof(((struct iw_order *)0)->option)];
    struct iw_tun tun;       /* of this worker's crafted targets; fd -1: not open */
    char *no_tun;            /* why it cannot be had; NULL: it can, or was not asked for */
    struct iw_past past;     /* on the target that is open */
    struct iw_past before;   /* on the one that was ended last */
    bool settled;            /* it has answered a control exchange since the last of these */
    bool refusing;           /* ... or accepted none */
    bool mute;               /* one that was just started gave no answer: silence is no hang */
    bool blaming;            /* cases are played again only to find out whose doing something is */
    json_t *charges;         /* which the parent does not know yet; NULL: none */
    struct iw_mishaps known; /* those that a case brings about alone, */
    struct iw_mishaps joint; /* and those that it takes several for */
    const struct iw_case *heard; /* the last in which the target said something; NULL: none yet */
    unsigned unheard;            /* cases since then */
};

/* Sends the parent a line; takes over the reference. */
void iw_worker_say(const struct iw_worker *w, json_t *object);
/* Has the parent wait for as long as one more case may take. */
void iw_worker_more(const struct iw_worker *w, const struct iw_case *c);
/* Ends the target if it is open. What a sanitizer says then is charged to the case whose doing it
 * is, or is the parent's trouble. */
void iw_worker_close(struct iw_worker *w);
/* The same, but a line about it goes to `trouble` (else ""). */
void iw_worker_end_target(struct iw_worker *w, char trouble[static IW_WORKER_LINE]);
/* Opens the target for the case unless it is open. Returns false, with the verdict in *r, if it is
 * not to be had. */
bool iw_worker_open(struct iw_worker *w, const struct iw_order *order, struct iw_result *r);
/* Opens the target if it is not open, plays the case, and looks after the target: *m is what has
 * become of it. `thorough`: a control exchange follows, however well the case has ended. */
void iw_worker_play_case(struct iw_worker *w, const struct iw_order *order, bool thorough,
                         struct iw_result *r, struct iw_mishap *m);

/* ---- worker_mishap.c ---- */

/* Returns whether cases are played again to find out whose doing a mishap is. */
bool iw_worker_blames(const struct iw_worker *w);
/* Makes a control exchange with the target, which is open; a second one if that is not answered.
 * Returns what came of the last. */
enum iw_alive iw_worker_ask(const struct iw_worker *w);
/* After a case: sees what has become of the target. Ends one that has ended or hangs. */
void iw_worker_look(struct iw_worker *w, const struct iw_case *c, bool thorough,
                    struct iw_result *r, struct iw_mishap *m);
/* Waits until `deadline` for a late end of a target that has answered. */
void iw_worker_linger(struct iw_worker *w, uint64_t deadline, struct iw_mishap *m);
/* Makes the mishap a finding of this case, in place of all else that the case saw. */
void iw_worker_set(const struct iw_worker *w, struct iw_result *r, const struct iw_mishap *m);

/* ---- worker_blame.c ---- */

/* Charges a case, once the case that is being played has its result; `note`: for the reader, or
 * NULL. */
void iw_worker_charge(struct iw_worker *w, const struct iw_case *c, const struct iw_mishap *m,
                      const char *note);
/* Sends the parent what was charged since the last call. */
void iw_worker_say_charges(struct iw_worker *w);
/* Finds the case whose doing the mishap is: *r, which this may replace by the result of playing the
 * case again, or an earlier one. */
void iw_worker_blame(struct iw_worker *w, const struct iw_order *order, struct iw_result *r,
                     struct iw_mishap *m);
/* After the last case: what has become of the target since. */
void iw_worker_finish(struct iw_worker *w);
/* Finds the case whose doing it is that a sanitizer has said this at the end of the target that was
 * ended last. */
void iw_worker_blame_end(struct iw_worker *w, const char *trouble);

#endif
