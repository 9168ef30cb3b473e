/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_PERF_RDMA_DOUBLES_H
#define IW_PERF_RDMA_DOUBLES_H

/* The transport and the endpoints under a lane of iWARP: their calls are noted, and answered as a
 * test wants. Include from one source of a test. */

#include "perf.h"

#include <errno.h>

#include "../caught.h"
#include "iwarp/endpoint_transport.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"

enum { MOST = 16 };

static char record[8192];
static size_t recorded;
static unsigned calls, failing; /* calls that can fail, and the one that does */
static int reactors, domains;   /* that live */
static struct iw_env envs[MOST];
static struct iw_domain_limits limits[MOST];
static unsigned n_domains, n_reactors;
static struct iw_region regions[MOST];
static unsigned n_regions;
static bool busy;
static const struct iw_connection_ops *ops;
static void *contexts[MOST];
static int descriptors_of[MOST];
static unsigned attached, reactor_of[MOST];
static struct iw_endpoint_config config;
static unsigned receives;
static double now;        /* of perf_seconds */
static double step_takes; /* seconds */
static uint64_t transport_now;
static int steps, step_result, last_timeout;
static void (*on_step)(void); /* what happens meanwhile */
static struct iw_event event;
static bool has_event;
static struct iw_completion done[MOST];
static unsigned n_done;
static unsigned began_at;

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(record + recorded, sizeof(record) - recorded, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && recorded + (size_t)length < sizeof(record));
    recorded += (size_t)length;
}

static void expect(const char *expected)
{
    assert_string_equal(record, expected);
    record[0] = '\0';
    recorded = 0;
}

static bool fails(void)
{
    return ++calls == failing;
}

double perf_seconds(void)
{
    return now;
}

/* Handles stand for their numbers, from 1. */
static char handles[64];

static void *handle(unsigned number)
{
    return &handles[number];
}

static unsigned number_of(const void *of)
{
    return (unsigned)((const char *)of - handles);
}

#define WRAP(type, name, ...)                                                                      \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAP(ssize_t, getrandom, void *out, size_t length, unsigned flags)
{
    uint64_t seed = 12345;
    assert_int_equal(flags, 0);
    assert_int_equal(length, sizeof(seed));
    memcpy(out, &seed, sizeof(seed));
    return (ssize_t)length;
}

WRAP(uint64_t, iw_transport_now, void)
{
    return transport_now += 1000;
}

WRAP(struct iw_reactor *, iw_reactor_create, void)
{
    if (fails())
        return NULL;
    reactors++;
    return handle(++n_reactors);
}

WRAP(void, iw_reactor_destroy, struct iw_reactor *r)
{
    reactors -= r != NULL;
}

WRAP(void, iw_reactor_busy, struct iw_reactor *r, bool on)
{
    assert_int_equal(number_of(r), n_reactors);
    busy = on;
}

WRAP(uint64_t, iw_reactor_calls, const struct iw_reactor *r)
{
    return 100 * number_of(r);
}

WRAP(int, iw_reactor_step, struct iw_reactor *r, int timeout_ms)
{
    (void)r;
    steps++;
    last_timeout = timeout_ms;
    now += step_takes;
    if (on_step != NULL)
        on_step();
    return step_result;
}

WRAP(struct iw_domain *, iw_domain_create, const struct iw_env *env,
     const struct iw_domain_limits *limit)
{
    if (fails())
        return NULL;
    envs[n_domains] = *env;
    limits[n_domains] = *limit;
    domains++;
    return handle(20 + ++n_domains);
}

WRAP(void, iw_domain_destroy, struct iw_domain *d)
{
    domains -= d != NULL;
}

WRAP(uint32_t, iw_domain_pd, struct iw_domain *d)
{
    return number_of(d);
}

WRAP(int, iw_domain_register, struct iw_domain *d, struct iw_region *region)
{
    if (fails())
        return -1;
    region->stag = 1000 + n_regions;
    assert_int_equal(region->pd, number_of(d));
    regions[n_regions++] = *region;
    return 0;
}

WRAP(struct iw_connection *, iw_transport_adopt, struct iw_reactor *r, struct iw_domain *d, int fd,
     const struct iw_endpoint_config *endpoint, const struct iw_connection_ops *operations,
     void *context)
{
    assert_int_equal(number_of(d), 20 + number_of(r));
    config = *endpoint;
    if (fails())
        return NULL;
    ops = operations;
    descriptors_of[attached] = fd;
    reactor_of[attached] = number_of(r);
    contexts[attached] = context;
    return handle(40 + attached++);
}

WRAP(struct iw_endpoint *, iw_connection_endpoint, const struct iw_connection *c)
{
    return handle(number_of(c) + 10);
}

WRAP(void, iw_connection_kick, struct iw_connection *c)
{
    note("kick %u\n", number_of(c) - 40);
}

WRAP(void, iw_endpoint_begin, struct iw_endpoint *ep, uint64_t at)
{
    note("begin %u\n", number_of(ep) - 50);
    began_at = (unsigned)at;
}

WRAP(bool, iw_endpoint_event, struct iw_endpoint *ep, struct iw_event *out)
{
    (void)ep;
    *out = event;
    bool has = has_event;
    has_event = false;
    return has;
}

WRAP(size_t, iw_endpoint_poll, struct iw_endpoint *ep, struct iw_completion *out, size_t room)
{
    (void)ep;
    assert_int_equal(room, 32);
    size_t n = n_done;
    memcpy(out, done, n * sizeof(*out));
    n_done = 0;
    return n;
}

WRAP(int, iw_endpoint_accept, struct iw_endpoint *ep, const void *data, size_t length, uint64_t at)
{
    assert_true(data == NULL && length == 0 && at > 0);
    note("accept %u\n", number_of(ep) - 50);
    return fails() ? IW_ERR_MEMORY : IW_OK;
}

WRAP(int, iw_endpoint_post_recv, struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
     size_t count)
{
    assert_true(number_of(ep) >= 50 && id == 0 && count == 1 && sge->length == 64);
    receives++;
    return fails() ? IW_ERR_FULL : IW_OK;
}

WRAP(int, iw_endpoint_post, struct iw_endpoint *ep, const struct iw_work *work, uint64_t at)
{
    static const char *const names[] = {"send", "?", "?", "?", "write", "read", "word", "?", "add"};
    (void)at;
    note("%s %u:", names[work->opcode], number_of(ep) - 50);
    if (work->opcode == IW_WORK_IMMEDIATE)
        note(" %u %u\n", iw_get32(work->immediate), iw_get32(work->immediate + 4));
    else if (work->opcode == IW_WORK_READ)
        note(" %u octets from %u+%u to %u+%u\n", work->length, work->remote_stag,
             (unsigned)work->remote_to, work->sink_stag, (unsigned)work->sink_to);
    else if (work->opcode == IW_WORK_FETCH_ADD)
        note(" %u to %u+%u\n", (unsigned)work->add_swap, work->remote_stag,
             (unsigned)work->remote_to);
    else
        note(" %u octets, the last %u, to %u+%u\n", (unsigned)work->sge[0].length,
             ((uint8_t *)work->sge[0].base)[work->sge[0].length - 1], work->remote_stag,
             (unsigned)work->remote_to);
    return fails() ? IW_ERR_FULL : IW_OK;
}

#endif
