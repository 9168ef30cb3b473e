/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baseline: the same patterns over plain TCP, as a plain program would do them: one system
 * call for each message sent, receives as large as they come. With one connection whose two
 * directions are not busy at once, blocking calls; else epoll; or all of them asked in turn
 * (--poll). Bandwidth is measured with Nagle's algorithm on, which helps it.
 *
 * A message of a request (read, atomic) is 28 or 52 octets, as in RDMAP, and an atomic's answer 12.
 */
#include "perf.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    CHUNK = 128 * 1024,   /* octets of one receive of small messages */
    IN_PLACE = 64 * 1024, /* messages of this size are received where they belong */
    READ_REQUEST = 28,
    ATOMIC_REQUEST = 52,
    ATOMIC_RESPONSE = 12,
    TURNS = 64 /* messages that one connection sends before the next one's turn */
};

/* One direction: `count` messages of `size` octets, then perhaps one octet that says that all of
 * the other direction has come. */
struct way {
    uint64_t size, count, done, offset;
    bool last; /* the one octet is to come */
};

struct flow {
    int fd;
    uint8_t *source, *sink;
    struct way out, in;
    uint64_t lead; /* messages that may go out beyond those that have come in */
    bool complete, nodelay;
    uint32_t armed;
    double began; /* of the message under way */
};

struct tcp_lane {
    struct perf_lane base;
    struct flow *flows;
    int epoll;
    bool blocking;
    uint8_t chunk[CHUNK];
};

static struct tcp_lane *of(struct perf_lane *lane)
{
    return (struct tcp_lane *)lane;
}

static int attach(struct perf_lane *lane, uint32_t index, int fd)
{
    struct tcp_lane *t = of(lane);
    struct flow *f = &t->flows[index];
    struct timeval stall = {.tv_sec = PERF_STALL};
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = f};
    f->fd = fd;
    f->source = lane->source + index * lane->stride;
    f->sink = lane->sink + index * lane->stride;
    f->armed = EPOLLIN;
    f->nodelay = true;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof(stall));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall));
    if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e))
        return perf_lane_fail(lane, "epoll: %s", strerror(errno));
    return 0;
}

/* TCP has no STags, and is established once it is connected. */
static int nothing_to_do(struct perf_lane *lane)
{
    (void)lane;
    return 0;
}

static void set_nodelay(struct flow *f, bool on)
{
    int value = on;
    if (f->nodelay != on)
        setsockopt(f->fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value));
    f->nodelay = on;
}

/* Plans the two directions. A read in both directions at once is one whose answers are as large as
 * the requests of the other: over one stream that is a Write's traffic. */
static void plan(struct flow *f, const struct perf_lane *lane, const struct perf_run *run)
{
    bool read = perf_is_read(run->test), atomic = perf_is_atomic(run->test);
    bool answered = !run->both && (read || perf_is_latency(run->test)); /* each by one message */
    bool active = lane->client || run->both;
    struct way in = {.size = atomic ? ATOMIC_RESPONSE : run->size, .count = run->count}, out = in;
    f->lead = !active ? 0 : read ? perf_window(&lane->setup, run) : 1;
    if (answered && read)
        out.size = atomic ? ATOMIC_REQUEST : READ_REQUEST;
    if (!answered) {
        f->lead = UINT64_MAX;
        in.count = run->both ? run->count : 0;
        in.last = true;
        out.last = run->both;
    }
    f->out = active ? out : in;
    f->in = active ? in : out;
    f->complete = false;
}

static int prepare(struct perf_lane *lane, const struct perf_run *run)
{
    struct tcp_lane *t = of(lane);
    t->blocking = !lane->setup.poll && lane->setup.connections == 1 && !run->both;
    for (uint32_t i = 0; i < lane->setup.connections; i++) {
        struct flow *f = &t->flows[i];
        int flags = fcntl(f->fd, F_GETFL);
        plan(f, lane, run);
        set_nodelay(f, perf_is_latency(run->test) || run->test == PERF_ATOMIC_BW);
        if (fcntl(f->fd, F_SETFL, t->blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK))
            return perf_lane_fail(lane, "fcntl: %s", strerror(errno));
    }
    return 0;
}

/* Judges a call that moved no octets. Returns 1: it is to be made again; 0: not before the socket
 * is ready; -1: the connection broke. EAGAIN is an error if the call was to block. */
static int stopped(struct tcp_lane *t, ssize_t n)
{
    if (n == 0)
        return perf_lane_fail(&t->base, "the peer closed a TCP connection");
    if (errno == EINTR || (errno == EAGAIN && !t->blocking))
        return errno == EINTR;
    if (errno == EAGAIN)
        return perf_lane_fail(&t->base, "no progress for %d seconds", PERF_STALL);
    return perf_lane_fail(&t->base, "TCP: %s", strerror(errno));
}

/* Returns how many octets may be sent now: those left of the message under way. */
static size_t sendable(const struct flow *f)
{
    const struct way *out = &f->out;
    if (out->done < out->count)
        return f->lead == UINT64_MAX || out->done < f->in.done + f->lead ? out->size - out->offset
                                                                         : 0;
    return out->last && f->in.done == f->in.count ? 1 : 0;
}

static bool receivable(const struct flow *f)
{
    return f->in.done < f->in.count || f->in.last;
}

/* Sends some octets. Returns 1: octets were sent; 0: the socket takes none now; -1: it broke. */
static int send_some(struct tcp_lane *t, struct flow *f)
{
    size_t left = sendable(f);
    if (left == 0)
        return 0;
    if (f->out.done + 1 >= f->out.count)
        set_nodelay(f, true); /* nothing follows for which Nagle could wait */
    t->base.calls++;
    ssize_t n = send(f->fd, f->source + f->out.offset, left, MSG_NOSIGNAL);
    if (n <= 0)
        return stopped(t, n);
    if (f->out.done == f->out.count) {
        f->out.last = false;
        return 1;
    }
    f->out.offset += (uint64_t)n;
    if (f->out.offset == f->out.size) {
        f->out.offset = 0;
        f->out.done++;
    }
    return 1;
}

/* Takes `n` octets that came in place or into the chunk. Returns -1 if there are too many. */
static int take(struct tcp_lane *t, struct flow *f, const struct perf_run *run, uint64_t n,
                bool in_place)
{
    const uint8_t *from = t->chunk;
    uint64_t left = (f->in.count - f->in.done) * f->in.size - f->in.offset;
    uint64_t here = n < left ? n : left;
    if (n - here > (f->in.last ? 1 : 0))
        return perf_lane_fail(&t->base, "more octets than agreed");
    if (n > here)
        f->in.last = false;
    for (uint64_t at = f->in.offset, i = 0; run->verify && !in_place && i < here; at = 0) {
        uint64_t step = f->in.size - at < here - i ? f->in.size - at : here - i;
        uint64_t most = t->base.stride - at < step ? t->base.stride - at : step;
        memcpy(f->sink + at, from + i, (size_t)most);
        i += step;
    }
    f->in.offset += here;
    f->in.done += f->in.offset / f->in.size;
    f->in.offset %= f->in.size;
    return 0;
}

static int receive_some(struct tcp_lane *t, struct flow *f, const struct perf_run *run)
{
    bool in_place = f->in.size >= IN_PLACE && f->in.done < f->in.count;
    uint8_t *to = in_place ? f->sink + f->in.offset : t->chunk;
    size_t room = in_place ? (size_t)(f->in.size - f->in.offset) : CHUNK;
    if (!receivable(f))
        return 0;
    t->base.calls++;
    ssize_t n = recv(f->fd, to, room, 0);
    if (n <= 0)
        return stopped(t, n);
    return take(t, f, run, (uint64_t)n, in_place) ? -1 : 1;
}

/* Makes one turn. A latency's clock starts when the message leaves and stops when its answer is
 * here. */
static int turn(struct tcp_lane *t, struct flow *f, const struct perf_run *run,
                struct perf_samples *samples)
{
    bool timed = samples != NULL && t->base.client && perf_is_latency(run->test);
    int moved = 0, result;
    for (int i = 0; i < TURNS; i++) {
        if (timed && f->out.offset == 0 && sendable(f) > 0)
            f->began = perf_seconds();
        result = send_some(t, f);
        if (result <= 0)
            break;
        moved = 1;
    }
    if (result < 0)
        return -1;
    if (!(t->blocking && sendable(f) > 0)) {
        uint64_t before = f->in.done;
        result = receive_some(t, f, run);
        if (result < 0)
            return -1;
        moved |= result;
        if (timed && f->in.done > before)
            perf_sample(samples,
                        (perf_seconds() - f->began) * 1e9 / (perf_is_read(run->test) ? 1 : 2));
    }
    f->complete = f->out.done == f->out.count && !f->out.last && !receivable(f);
    return moved;
}

/* Waits until a connection has something to do. */
static int wait_for_any(struct tcp_lane *t)
{
    for (uint32_t i = 0; i < t->base.setup.connections; i++) {
        struct flow *f = &t->flows[i];
        uint32_t wanted =
            (receivable(f) ? EPOLLIN : 0) | (!f->complete && sendable(f) > 0 ? EPOLLOUT : 0);
        struct epoll_event e = {.events = wanted, .data.ptr = f};
        if (wanted == f->armed)
            continue;
        t->base.calls++;
        if (epoll_ctl(t->epoll, EPOLL_CTL_MOD, f->fd, &e) == 0)
            f->armed = wanted;
    }
    t->base.calls++;
    struct epoll_event events[64];
    int n = epoll_wait(t->epoll, events, 64, PERF_STALL * 1000);
    if (n == 0)
        return perf_lane_fail(&t->base, "no progress for %d seconds", PERF_STALL);
    return n < 0 && errno != EINTR ? perf_lane_fail(&t->base, "epoll_wait: %s", strerror(errno))
                                   : 0;
}

static int execute(struct perf_lane *lane, const struct perf_run *run, struct perf_samples *samples)
{
    struct tcp_lane *t = of(lane);
    double moved_at = perf_seconds();
    for (uint32_t open = lane->setup.connections; open > 0;) {
        int moved = 0;
        for (uint32_t i = 0; i < lane->setup.connections; i++) {
            struct flow *f = &t->flows[i];
            if (f->complete)
                continue;
            int result = turn(t, f, run, samples);
            if (result < 0)
                return -1;
            moved |= result;
            open -= f->complete;
        }
        if (moved)
            continue;
        if (!lane->setup.poll) {
            if (open > 0 && wait_for_any(t))
                return -1;
            moved_at = perf_seconds();
        } else if (perf_seconds() - moved_at > PERF_STALL) {
            return perf_lane_fail(lane, "no progress for %d seconds", PERF_STALL);
        }
    }
    return 0;
}

static void close_lane(struct perf_lane *lane)
{
    struct tcp_lane *t = of(lane);
    for (uint32_t i = 0; t->flows != NULL && i < lane->setup.connections; i++)
        if (t->flows[i].fd >= 0)
            close(t->flows[i].fd);
    if (t->epoll >= 0)
        close(t->epoll);
    free(t->flows);
}

static const struct perf_lane_ops tcp_ops = {nothing_to_do, attach,  nothing_to_do,
                                             prepare,       execute, close_lane};

struct perf_lane *perf_tcp_new(const struct perf_setup *setup)
{
    struct tcp_lane *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->base.ops = &tcp_ops;
    t->base.setup = *setup;
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    t->flows = calloc(setup->connections, sizeof(*t->flows));
    for (uint32_t i = 0; t->flows != NULL && i < setup->connections; i++)
        t->flows[i].fd = -1;
    if (t->flows != NULL && t->epoll >= 0)
        return &t->base;
    int why = errno;
    perf_lane_destroy(&t->base);
    errno = why;
    return NULL;
}
