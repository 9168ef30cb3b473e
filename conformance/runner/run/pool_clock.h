/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_POOL_CLOCK_H
#define IW_RUNNER_POOL_CLOCK_H

/* How long the pool's parent waits for a worker. Times are ns, of the same clocks as the caller's
 * `now` and `used`, the processor time of the worker. */

#include "pool.h"

/* Returns the seconds that an expectation waits, unscaled. */
double iw_pool_patience(const struct iw_run_options *options);

enum { IW_POOL_SECOND = 1000000000 };

/* Returns the seconds until a worker that plays the case is asked whether it still works: what the
 * case may take, and what its end and the start of a target may. */
double iw_pool_case_seconds(const struct iw_pool *pool, const struct iw_case *c);
/* Returns the same for a worker that is to end its target. */
double iw_pool_close_seconds(const struct iw_pool *pool);
/* Returns the seconds in which a worker that is late must have computed something. */
double iw_pool_still_seconds(const struct iw_pool *pool);

struct iw_pool_clock {
    uint64_t began;
    uint64_t given;
    uint64_t deadline;
    uint64_t latest;   /* the deadline is moved no further than this */
    uint64_t computed; /* processor time of the worker when it began, */
    uint64_t progress; /* and when its deadline was last moved */
};

/* Starts the clock of a worker that has so many seconds from now on. */
void iw_pool_clock_start(struct iw_pool_clock *clock, double seconds, uint64_t now, uint64_t used);
/* Moves the deadline of a worker that may go on after it, as the machine is busy: as long as it has
 * computed for less than the time given, and for some of the last `still` seconds. Returns false if
 * the worker is to be killed. */
bool iw_pool_clock_prolong(struct iw_pool_clock *clock, double still, uint64_t now, uint64_t used);

#endif
