/* SPDX-License-Identifier: BSD-3-Clause */
#include "pool_clock.h"

enum {
    CALLS = 8,          /* times that a case waits in vain for a peer that is to connect */
    CASE_SECONDS = 20,  /* a case's deadline unless it or the run says otherwise */
    PATIENCE = 3,       /* seconds that an expectation waits unless the run says otherwise, */
    PATIENCES = 4,      /* and how many of them the end of a case may take */
    GRACE_SECONDS = 10, /* for the end of a case, and for starting a target */
    HANG_SECONDS = 10,  /* for ending a target that hangs */
    CLOSE_SECONDS = 20, /* for a worker to end its target */
    BUSY_SECONDS = 600, /* more for a worker that works and gets too little of the processors */
};

static double scale_of(const struct iw_pool *pool)
{
    return pool->options->time_scale > 0 ? pool->options->time_scale : 1;
}

/* Seconds for the target's longest timer: what a case may wait for above its deadline, and its end
 * again. It runs no faster for a smaller scale. */
static double timers_of(const struct iw_pool *pool)
{
    double scale = scale_of(pool), timer = pool->target->longest_timer;

    return 2 * IW_CASE_TIMERS * timer * (scale > 1 ? scale : 1);
}

double iw_pool_patience(const struct iw_run_options *options)
{
    return options->patience > 0 ? options->patience : PATIENCE;
}

double iw_pool_case_seconds(const struct iw_pool *pool, const struct iw_case *c)
{
    const struct iw_run_options *options = pool->options;
    double limit = c->deadline > 0         ? c->deadline
                   : options->deadline > 0 ? options->deadline
                                           : CASE_SECONDS;
    double patience = iw_pool_patience(options);
    double scale = scale_of(pool);
    double timers = timers_of(pool);
    /* The time that the peer takes to connect is not the case's. */
    if (pool->target->connect != NULL || pool->target->ask != NULL)
        limit += CALLS * iw_target_connect_within(pool->target);
    if (pool->grace > 0)
        return scale * (limit + pool->grace) + timers;
    /* Two connections that a target may leave without an answer, and its end. */
    if (pool->target->start != NULL)
        limit += 2 * iw_target_silence(pool->target, scale) + HANG_SECONDS;
    /* What we do ourselves is not the faster for less patience with the peer. */
    double own = scale < 1 ? GRACE_SECONDS * (1 - scale) : 0;
    return scale * (limit + GRACE_SECONDS + PATIENCES * patience) + own + timers;
}

double iw_pool_close_seconds(const struct iw_pool *pool)
{
    return scale_of(pool) * CLOSE_SECONDS;
}

double iw_pool_still_seconds(const struct iw_pool *pool)
{
    return pool->grace > 0 ? pool->grace : GRACE_SECONDS;
}

void iw_pool_clock_start(struct iw_pool_clock *clock, double seconds, uint64_t now, uint64_t used)
{
    clock->began = now;
    clock->given = (uint64_t)(seconds * 1e9);
    clock->deadline = now + clock->given;
    clock->latest = clock->deadline + BUSY_SECONDS * (uint64_t)IW_POOL_SECOND;
    clock->computed = clock->progress = used;
}

bool iw_pool_clock_prolong(struct iw_pool_clock *clock, double still, uint64_t now, uint64_t used)
{
    if (now < clock->deadline)
        return true;
    if (now >= clock->latest || used == clock->progress || used - clock->computed >= clock->given)
        return false;
    clock->progress = used;
    clock->deadline = now + (uint64_t)(still * 1e9);
    return true;
}
