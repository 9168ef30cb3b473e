/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that lanes of both kinds share: memory, its contents, and socket options. */
#include "perf.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE = 64 }; /* octets of a cache line */

int perf_lane_fail(struct perf_lane *lane, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (lane->error[0] == '\0')
        /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 misses the va_start */
        vsnprintf(lane->error, sizeof(lane->error), format, arguments);
    va_end(arguments);
    return -1;
}

static uint8_t pattern(uint32_t seed, uint64_t i)
{
    return (uint8_t)((i + seed) * 167 + (i >> 8) * 59 + (seed >> 8));
}

static uint32_t seed_of(const struct perf_run *run, bool client, uint32_t connection)
{
    return run->seed * 2654435761u + (client ? 1u : 0u) + connection * 7919u;
}

static void fill(struct perf_lane *lane, const struct perf_run *run)
{
    for (uint32_t c = 0; c < lane->setup.connections; c++) {
        uint8_t *at = lane->source + c * lane->stride;
        uint32_t seed = seed_of(run, lane->client, c);
        for (uint64_t i = 0; i < run->size; i++)
            at[i] = pattern(seed, i);
    }
    memset(lane->sink, 0, lane->stride * lane->setup.connections);
}

/* Gives a new lane its memory, each connection whole cache lines. Returns true if there is some. */
static bool give_memory(struct perf_lane *lane)
{
    uint64_t size = lane->setup.size_max;
    lane->stride = (size_t)((size + LINE - 1) / LINE * LINE);
    size_t all = lane->stride * lane->setup.connections;
    lane->source = aligned_alloc(LINE, all);
    lane->sink = aligned_alloc(LINE, all);
    lane->counter = calloc(lane->setup.connections, sizeof(*lane->counter));
    if (lane->source == NULL || lane->sink == NULL || lane->counter == NULL)
        return false;
    fill(lane, &(struct perf_run){.size = size});
    return !lane->ops->share(lane);
}

struct perf_lane *perf_lane_create(const struct perf_setup *setup, bool client, char *error)
{
    struct perf_lane *lane = setup->tcp ? perf_tcp_new(setup) : perf_rdma_new(setup);
    int why = lane == NULL ? errno : ENOMEM;
    if (lane != NULL) {
        lane->client = client;
        if (give_memory(lane))
            return lane;
    }
    perf_lane_destroy(lane);
    snprintf(error, PERF_TEXT, "cannot make a lane: %s", strerror(why));
    return NULL;
}

int perf_lane_prepare(struct perf_lane *lane, const struct perf_run *run)
{
    if (run->size > lane->setup.size_max)
        return perf_lane_fail(lane, "a size above the one that was announced");
    if (run->verify)
        fill(lane, run);
    memset(lane->counter, 0, lane->setup.connections * sizeof(*lane->counter));
    return lane->ops->prepare(lane, run);
}

/* Returns true if octets of the peer have come into this end's sink. */
static bool receives(const struct perf_lane *lane, const struct perf_run *run)
{
    if (perf_is_atomic(run->test))
        return false;
    if (perf_is_read(run->test))
        return perf_lane_active(lane, run);
    return perf_is_latency(run->test) || run->both || !lane->client;
}

int perf_lane_verify(struct perf_lane *lane, const struct perf_run *run)
{
    /* The receiver detects a Write by its last octet, which therefore differs each time. */
    uint64_t most = run->test == PERF_WRITE_LAT ? run->size - 1 : run->size;
    if (!run->verify)
        return 0;
    for (uint32_t c = 0; c < lane->setup.connections; c++) {
        uint32_t seed = seed_of(run, !lane->client, c);
        const uint8_t *at = lane->sink + c * lane->stride;
        for (uint64_t i = 0; i < most && receives(lane, run); i++)
            if (at[i] != pattern(seed, i))
                return perf_lane_fail(lane, "%s of %llu octets: octet %llu came as %u, not %u",
                                      perf_test_names[run->test], (unsigned long long)run->size,
                                      (unsigned long long)i, at[i], pattern(seed, i));
        if (perf_is_atomic(run->test) && !lane->setup.tcp && (run->both || !lane->client) &&
            lane->counter[c] != run->count)
            return perf_lane_fail(lane, "%llu atomics of 1 make %llu",
                                  (unsigned long long)run->count,
                                  (unsigned long long)lane->counter[c]);
    }
    return 0;
}

void perf_lane_destroy(struct perf_lane *lane)
{
    if (lane == NULL)
        return;
    lane->ops->close(lane);
    free(lane->source);
    free(lane->sink);
    free(lane->counter);
    free(lane);
}

void perf_lane_congestion(const struct perf_setup *setup, char name[PERF_CONGESTION])
{
    socklen_t length = PERF_CONGESTION;
    memcpy(name, setup->congestion, PERF_CONGESTION);
    if (name[0] != '\0')
        return;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length))
        snprintf(name, PERF_CONGESTION, "?");
    if (fd >= 0)
        close(fd);
}

/* Sets a buffer and returns whether it is as large as wanted: the system reduces a size that is too
 * large without an error, and doubles the rest: socket(7). */
static bool set_buffer(int fd, int which, uint64_t wanted, char *error)
{
    int octets = (int)wanted, most = 0;
    socklen_t length = sizeof(most);
    if (setsockopt(fd, SOL_SOCKET, which, &octets, sizeof(octets)) ||
        getsockopt(fd, SOL_SOCKET, which, &most, &length)) {
        snprintf(error, PERF_TEXT, "--socket-buffer: %s", strerror(errno));
        return false;
    }
    if ((uint64_t)most / 2 >= (wanted < 1 << 30 ? wanted : (1 << 30) - 1))
        return true;
    snprintf(error, PERF_TEXT, "--socket-buffer %llu: expected at most %d (net.core.%cmem_max)",
             (unsigned long long)wanted, most / 2, which == SO_SNDBUF ? 'w' : 'r');
    return false;
}

int perf_lane_socket(const struct perf_setup *setup, int fd, char *error)
{
    int on = 1, mss = (int)setup->mss;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (mss > 0 && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss))) {
        snprintf(error, PERF_TEXT, "--mss %d: %s", mss, strerror(errno));
        return -1;
    }
    if (setup->socket_buffer > 0 && (!set_buffer(fd, SO_SNDBUF, setup->socket_buffer, error) ||
                                     !set_buffer(fd, SO_RCVBUF, setup->socket_buffer, error)))
        return -1;
    if (setup->congestion[0] == '\0' ||
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, setup->congestion,
                   (socklen_t)strlen(setup->congestion)) == 0)
        return 0;
    snprintf(error, PERF_TEXT, "TCP has no such congestion control here: %s", setup->congestion);
    return -1;
}

void perf_sample(struct perf_samples *samples, double nanoseconds)
{
    if (samples != NULL && samples->count < samples->room)
        samples->values[samples->count++] = nanoseconds;
}
