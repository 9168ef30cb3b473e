/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_LOOP_H
#define IW_HUNT_LOOP_H

/*
 * Sequences under way: several connections in one event loop. Nothing sleeps: a connection goes on
 * when the peer has said something, or when a step's time is over. What the peer says goes through
 * the observer, which sees both directions.
 */

#include "iwarp/observer.h"
#include "live_trace.h"
#include "world.h"

enum { IW_HUNT_FINDINGS = 8 }; /* of one connection */

/* One sequence that is over. */
struct iw_hunt_done {
    struct iw_hunt_input *input; /* the callee's */
    uint64_t number;
    struct iw_hunt_row row;
    enum iw_check findings[IW_HUNT_FINDINGS]; /* about the peer, MUSTs only */
    size_t n_findings;
    bool connected;
    bool requested; /* an agent has accepted its Request */
};

struct iw_hunt_loop;

/* Returns a loop without sequences. `world` is borrowed. `done` is called for every input once,
 * from inside _start, _step or _abort. */
struct iw_hunt_loop *iw_hunt_loop_new(struct iw_hunt_world *world,
                                      void (*done)(void *context, struct iw_hunt_done *d),
                                      void *context);
void iw_hunt_loop_free(struct iw_hunt_loop *l);
/* Attaches to a world that was opened again. */
void iw_hunt_loop_attach(struct iw_hunt_loop *l);
/* Takes over the input and returns true if a place (below world->slots) is free. */
bool iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input, uint64_t number);
unsigned iw_hunt_loop_busy(const struct iw_hunt_loop *l);
/* Returns the number of the oldest sequence under way, or 0. */
uint64_t iw_hunt_loop_oldest(const struct iw_hunt_loop *l);
/* Handles pending events, and waits at most `ms` for one. */
void iw_hunt_loop_step(struct iw_hunt_loop *l, int ms);
/* Ends all connections; `done` is called for each. */
void iw_hunt_loop_abort(struct iw_hunt_loop *l);
/* From now on waits `seconds` for a Reply and at each pause, and `linger` seconds for the end of a
 * connection that the peer leaves open (0: as usual). */
void iw_hunt_loop_patience(struct iw_hunt_loop *l, double seconds, double linger);
/* Returns a running mean of the time from the end of a Request to its Reply, in ns; 0: there was
 * none yet. */
uint64_t iw_hunt_loop_answer_time(const struct iw_hunt_loop *l);
/* Returns how many connections the peer left open. */
uint64_t iw_hunt_loop_lingered(const struct iw_hunt_loop *l);

#endif
