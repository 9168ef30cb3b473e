/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane of iWARP whose connections are divided among threads: each thread has a lane with its own
 * reactor and domain, so that none waits for another. The octets of all are in one piece, and all
 * domains give the same STags: the peer need not know the division.
 */
#include "perf.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct part {
    struct perf_lane *lane;
    uint32_t first; /* connection */
    pthread_t thread;
    const struct perf_run *run;
    struct perf_samples samples;
    int result;
};

struct crew {
    struct perf_lane base;
    uint32_t count;
    struct part parts[];
};

static struct crew *of(struct perf_lane *lane)
{
    return (struct crew *)lane;
}

static int failed(struct perf_lane *lane, const struct part *p)
{
    return perf_lane_fail(lane, "%s", p->lane->error);
}

static int attach(struct perf_lane *lane, uint32_t index, int fd)
{
    struct crew *crew = of(lane);
    uint32_t i = crew->count - 1;
    while (crew->parts[i].first > index)
        i--;
    struct part *p = &crew->parts[i];
    return p->lane->ops->attach(p->lane, index - p->first, fd) ? failed(lane, p) : 0;
}

/* Establishes the parts in the same order at both ends, so that none waits for another. */
static int establish(struct perf_lane *lane)
{
    struct crew *crew = of(lane);
    for (uint32_t i = 0; i < crew->count; i++)
        if (crew->parts[i].lane->ops->establish(crew->parts[i].lane))
            return failed(lane, &crew->parts[i]);
    return 0;
}

static int prepare(struct perf_lane *lane, const struct perf_run *run)
{
    struct crew *crew = of(lane);
    for (uint32_t i = 0; i < crew->count; i++) {
        struct perf_lane *part = crew->parts[i].lane;
        part->remote_sink = lane->remote_sink;
        part->remote_source = lane->remote_source;
        part->remote_counter = lane->remote_counter;
        if (part->ops->prepare(part, run))
            return failed(lane, &crew->parts[i]);
    }
    return 0;
}

static void *work(void *context)
{
    struct part *p = context;
    p->result = p->lane->ops->execute(p->lane, p->run, p->samples.room > 0 ? &p->samples : NULL);
    return NULL;
}

static int execute(struct perf_lane *lane, const struct perf_run *run, struct perf_samples *samples)
{
    struct crew *crew = of(lane);
    size_t room = samples != NULL ? samples->room / lane->setup.connections : 0;
    uint32_t started = 0;
    for (; started < crew->count; started++) {
        struct part *p = &crew->parts[started];
        p->run = run;
        p->samples = (struct perf_samples){.room = room * p->lane->setup.connections};
        if (room > 0)
            p->samples.values = samples->values + room * p->first;
        if (pthread_create(&p->thread, NULL, work, p))
            break;
    }
    int result = started < crew->count ? perf_lane_fail(lane, "cannot start a thread") : 0;
    lane->calls = 0;
    for (uint32_t i = 0; i < started; i++) {
        struct part *p = &crew->parts[i];
        pthread_join(p->thread, NULL);
        lane->calls += p->lane->calls;
        if (p->result)
            result = failed(lane, p);
        if (room > 0) {
            memmove(samples->values + samples->count, p->samples.values,
                    p->samples.count * sizeof *samples->values);
            samples->count += p->samples.count;
        }
    }
    return result;
}

static void close_lane(struct perf_lane *lane)
{
    struct crew *crew = of(lane);
    for (uint32_t i = 0; i < crew->count; i++) {
        crew->parts[i].lane->ops->close(crew->parts[i].lane);
        free(crew->parts[i].lane);
    }
}

static int share(struct perf_lane *lane)
{
    struct crew *crew = of(lane);
    for (uint32_t i = 0; i < crew->count; i++) {
        struct part *p = &crew->parts[i];
        p->lane->client = lane->client;
        p->lane->stride = lane->stride;
        p->lane->source = lane->source + p->first * lane->stride;
        p->lane->sink = lane->sink + p->first * lane->stride;
        p->lane->counter = lane->counter + p->first;
        if (p->lane->ops->share(p->lane))
            return failed(lane, p);
    }
    lane->local_sink = crew->parts[0].lane->local_sink;
    lane->local_source = crew->parts[0].lane->local_source;
    lane->local_counter = crew->parts[0].lane->local_counter;
    return 0;
}

static const struct perf_lane_ops ops = {share, attach, establish, prepare, execute, close_lane};

struct perf_lane *perf_threads_new(const struct perf_setup *setup)
{
    struct crew *crew = calloc(1, sizeof *crew + setup->threads * sizeof *crew->parts);
    struct perf_setup each = *setup;
    if (crew == NULL)
        return NULL;
    crew->base.ops = &ops;
    crew->base.setup = *setup;
    each.threads = 1;
    if (getrandom(&each.stags, sizeof each.stags, 0) != (ssize_t)sizeof each.stags)
        each.stags = (uint64_t)(uintptr_t)crew;
    each.stags |= 1; /* 0: no two domains are alike */
    for (uint32_t i = 0; i < setup->threads; i++) {
        uint32_t first = (uint32_t)((uint64_t)setup->connections * i / setup->threads);
        uint32_t next = (uint32_t)((uint64_t)setup->connections * (i + 1) / setup->threads);
        each.connections = next - first;
        struct perf_lane *lane = perf_rdma_new(&each);
        if (lane == NULL) {
            perf_lane_destroy(&crew->base);
            return NULL;
        }
        crew->parts[crew->count++] = (struct part){.lane = lane, .first = first};
    }
    return &crew->base;
}
