/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection: its socket, its endpoint, and the octets between them. */
#include "transport/transport_internal.h"

#include "host/address.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(struct iw_iov) == sizeof(struct iovec) &&
                   offsetof(struct iw_iov, length) == offsetof(struct iovec, iov_len),
               "struct iw_iov is handed to sendmsg");

static void handle(struct iw_source *s, uint32_t events);
static void ask(struct iw_source *s);
static bool wait_alone(struct iw_source *s, int timeout_ms);
static void set_aside(struct iw_source *s, bool aside);

static void release(struct iw_source *s)
{
    iw_connection_destroy((struct iw_connection *)s);
}

struct iw_connection *iw_connection_create(struct iw_reactor *r, struct iw_domain *domain,
                                           const struct iw_endpoint_config *endpoint,
                                           const struct iw_connection_ops *ops, void *context)
{
    struct iw_connection *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    struct iw_endpoint_config config = *endpoint;
    config.in_place = iw_tap_in_place(r->tap);
    int result = iw_heap_reserve(r)
                     ? IW_ERR_MEMORY
                     : iw_endpoint_create(domain, &config, iw_transport_now(), &c->ep);
    if (result) {
        free(c);
        errno = result == IW_ERR_MEMORY ? ENOMEM : EINVAL;
        return NULL;
    }
    c->tap = r->tap;
    c->source.handle = handle;
    c->source.release = release;
    c->source.ask = ask;
    c->source.wait_alone = wait_alone;
    c->source.set_aside = set_aside;
    c->source.own = &c->fd;
    iw_source_add(r, &c->source, -1, 0);
    c->fd = -1;
    c->ops = *ops;
    c->streaming = ops->stream != NULL;
    c->context = context;
    iw_heap_set(r, c, iw_endpoint_deadline(c->ep));
    return c;
}

/* ---- sockets ---- */

int iw_connection_arm(struct iw_connection *c, int operation)
{
    uint32_t events = (c->connecting || c->read_done || c->held ? 0 : EPOLLIN) |
                      (c->connecting || (c->stalled && !c->write_broken) ? EPOLLOUT : 0);
    struct epoll_event e = {.events = events, .data.ptr = &c->source};
    if (operation == EPOLL_CTL_MOD && (events == c->armed || c->parted))
        return 0;
    if (c->aside)
        operation = EPOLL_CTL_ADD;
    c->aside = false;
    c->armed = events;
    c->source.reactor->calls++;
    return epoll_ctl(c->source.reactor->epoll, operation, c->fd, &e);
}

static void set_aside(struct iw_source *s, bool aside)
{
    struct iw_connection *c = (struct iw_connection *)s;
    if (aside == c->aside || c->fd < 0 || (aside && (c->armed != EPOLLIN || c->parted)))
        return;
    c->source.reactor->calls++;
    c->aside = aside && epoll_ctl(c->source.reactor->epoll, EPOLL_CTL_DEL, c->fd, NULL) == 0;
    if (!aside && iw_connection_arm(c, EPOLL_CTL_ADD)) {
        iw_connection_lose(c, errno);
        iw_pending_add(c->source.reactor, c);
    }
}

void iw_connection_close(struct iw_connection *c, bool reset)
{
    if (c->fd < 0)
        return;
    if (reset) {
        struct linger l = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
    }
    /* A child that was forked may have a duplicate of it, with which it would stay in the set. */
    epoll_ctl(c->source.reactor->epoll, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    c->fd = -1;
    iw_tap_closed(c, reset);
}

/* TCP_MAXSEG is the largest payload of a segment now, options and path MTU taken into account (RFC
 * 5044 §4.5, OP-18). TCP does not report a change, so read it before sending, but no more often
 * than the path can sensibly change. */
static void refresh_emss(struct iw_connection *c, uint64_t now)
{
    int mss = 0;
    c->emss_due = now + IW_TRANSPORT_EMSS;
    c->source.reactor->calls++;
    socklen_t length = sizeof(mss);
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &length) == 0 && mss > 0) {
        c->emss = (uint32_t)mss;
        iw_endpoint_set_emss(c->ep, c->emss);
    }
}

int iw_socket_error(int fd)
{
    int error = 0;
    socklen_t length = sizeof(error);
    (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

void iw_connection_established(struct iw_connection *c, bool active)
{
    socklen_t length = sizeof(c->local);
    (void)getsockname(c->fd, &c->local.any, &length);
    length = sizeof(c->remote);
    (void)getpeername(c->fd, &c->remote.any, &length);
    free(c->name);
    c->name = NULL;
    c->connecting = false;
    c->wait_ms = 0;
    refresh_emss(c, iw_transport_now());
    iw_tap_opened(c, active);
}

void iw_socket_prepare(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

int iw_connection_attach(struct iw_connection *c, int fd, bool active)
{
    c->fd = fd;
    if (iw_connection_arm(c, EPOLL_CTL_ADD)) {
        c->fd = -1;
        return -1;
    }
    iw_socket_prepare(fd);
    iw_connection_established(c, active);
    iw_pending_add(c->source.reactor, c);
    return 0;
}

void iw_connection_lose(struct iw_connection *c, int error)
{
    if (c->lost)
        return;
    c->lost = true;
    c->read_done = true;
    c->write_broken = true;
    if (!c->error)
        c->error = error;
    if (error == ECONNRESET)
        iw_tap_ended(c, false, true);
    iw_endpoint_input_end(c->ep, false, iw_transport_now());
}

/* ---- octets ---- */

/* After payload with a landing comes at most the end of its FPDU and then a header, which may bring
 * the next landing. */
enum { BEHIND_LANDING = 1024 };

/* The part of the received octets that is input, in the reactor's buffer. The rest has bypassed it.
 */
struct received {
    uint8_t *octets;
    size_t length;
};

/* Receives the header into the reactor's buffer, and the octets after it where they belong if the
 * guess is right. */
static ssize_t receive_guess(struct iw_connection *c, void *at, size_t room, int flags,
                             struct received *got)
{
    const size_t head = IW_ENDPOINT_GUESS_HEAD;
    uint8_t *buffer = c->source.reactor->buffer;
    struct iovec into[3] = {{buffer, head}, {at, room}, {buffer + head + room, BEHIND_LANDING}};
    struct msghdr message = {.msg_iov = into, .msg_iovlen = 3};
    ssize_t n = recvmsg(c->fd, &message, flags);
    if (n <= 0)
        return n;
    iw_tap_received(c, into, 3, (size_t)n);
    size_t there = (size_t)n <= head ? 0 : (size_t)n - head < room ? (size_t)n - head : room;
    size_t taken = there == 0 ? 0 : iw_endpoint_guessed(c->ep, buffer, there, iw_transport_now());
    memcpy(buffer + head + taken, (uint8_t *)at + taken, there - taken);
    got->octets = buffer + (taken > 0 ? head + taken : 0);
    got->length = (size_t)n - (size_t)(got->octets - buffer);
    return n;
}

/* What follows the peer's start-up frame is the caller's if the start-up is rejected. */
static size_t most(const struct iw_connection *c)
{
    const size_t left = c->keep && !c->streaming ? iw_endpoint_startup_left(c->ep) : 0;
    return left > 0 ? left : IW_TRANSPORT_READ;
}

/* Receives into the reactor's buffer like recv, but payload with a landing goes there. */
static ssize_t receive_into(struct iw_connection *c, int flags, struct received *got)
{
    struct iw_reactor *r = c->source.reactor;
    void *at = NULL;
    size_t room = c->streaming ? 0 : iw_endpoint_landing(c->ep, &at), guess = 0;
    if (room == 0 && !c->streaming)
        guess = iw_endpoint_guess(c->ep, &at);
    r->calls++;
    *got = (struct received){.octets = r->buffer};
    if (guess > 0)
        return receive_guess(c, at, guess, flags, got);
    if (room == 0) {
        ssize_t n = recv(c->fd, r->buffer, most(c), flags);
        got->length = n > 0 ? (size_t)n : 0;
        iw_tap_octets(c, false, &(struct iw_iov){r->buffer, got->length}, 1, got->length);
        return n;
    }
    struct iovec into[2] = {{at, room}, {r->buffer, BEHIND_LANDING}};
    struct msghdr message = {.msg_iov = into, .msg_iovlen = 2};
    ssize_t n = recvmsg(c->fd, &message, flags);
    if (n <= 0)
        return n;
    iw_tap_received(c, into, 2, (size_t)n);
    size_t landed = (size_t)n < room ? (size_t)n : room;
    iw_endpoint_landed(c->ep, landed, iw_transport_now());
    got->length = (size_t)n - landed;
    return n;
}

/* Gives the endpoint what has come, or the end. Returns false if there was nothing to read. */
static bool receive_octets(struct iw_connection *c, int flags)
{
    struct received got;
    ssize_t n = receive_into(c, flags, &got);
    if (n > 0) {
        size_t streamed = c->streaming ? iw_connection_streamed(c, got.octets, got.length) : 0;
        struct iw_iov piece = {.base = got.octets + streamed, .length = got.length - streamed};
        if (piece.length > 0 && !c->source.dead)
            iw_endpoint_input(c->ep, &piece, 1, iw_transport_now());
    } else if (n == 0 && c->write_broken) {
        iw_connection_lose(c, c->error);
    } else if (n == 0) {
        c->read_done = true;
        iw_tap_ended(c, false, false);
        iw_endpoint_input_end(c->ep, true, iw_transport_now());
    } else if (errno != EAGAIN && errno != EINTR) {
        iw_connection_lose(c, errno);
    } else {
        return false;
    }
    return true;
}

static bool awaits_answer(const struct iw_connection *c)
{
    return iw_endpoint_requested(c->ep) != NULL && iw_endpoint_agreed(c->ep) == NULL;
}

static bool receive(struct iw_connection *c, int flags)
{
    const bool exact = c->keep && iw_endpoint_startup_left(c->ep) > 0;
    if (c->held)
        return false;
    if (!receive_octets(c, flags))
        return false;
    /* Octets that are here before the Reply are the peer's fault, whatever the Reply will be. */
    if (exact && !c->source.dead && !c->read_done && awaits_answer(c))
        (void)receive_octets(c, MSG_DONTWAIT);
    return true;
}

/* Handles a failed send. Octets that the peer sent before it went, a Terminate perhaps, can still
 * be read; a peer that has not gone would be waited for in vain. */
static void break_write(struct iw_connection *c, int error)
{
    c->write_broken = true;
    c->error = error;
    if (c->read_done || (error != EPIPE && error != ECONNRESET))
        iw_connection_lose(c, error);
}

/* Returns whether the endpoint may send: the streamed octets have left, and MPA was started. */
static bool past_streaming(struct iw_connection *c)
{
    if (c->stream_length == 0 && c->stream == NULL)
        return !c->streaming;
    if (!c->stalled && !c->write_broken && !c->connecting) {
        int sent = iw_connection_send_stream(c);
        if (sent < 0)
            break_write(c, errno);
        c->stalled = sent == 0;
    }
    return !c->streaming && c->stream_length == 0;
}

/* MSG_EOR: TCP appends nothing to the last segment of these octets, so that the next write begins a
 * segment (RFC 5044 §5.1). */
enum { HOW_TO_SEND = MSG_NOSIGNAL | MSG_EOR | MSG_DONTWAIT };

static struct msghdr message_of(const struct iw_iov *pieces, size_t count)
{
    return (struct msghdr){.msg_iov = (struct iovec *)(uintptr_t)pieces,
                           .msg_iovlen = count < IOV_MAX ? count : IOV_MAX};
}

static size_t octets_of(const struct iw_iov *pieces, size_t count)
{
    size_t octets = 0;
    for (size_t i = 0; i < count; i++)
        octets += pieces[i].length;
    return octets;
}

static size_t total_of(const size_t *counts, size_t lists)
{
    size_t total = 0;
    for (size_t i = 0; i < lists; i++)
        total += counts[i];
    return total;
}

/* Sends several lists. A list that is not sent as a whole has to be the last. Linux does so since
 * 4.9, unless a libc makes a loop of its own; then the stream is spoilt, and the connection has to
 * end. */
static ssize_t send_lists(int fd, const struct iw_iov *pieces, const size_t *counts, size_t lists)
{
    struct mmsghdr messages[IW_ENDPOINT_LISTS];
    const struct iw_iov *sending = pieces;
    ssize_t total = 0;
    for (size_t i = 0; i < lists; pieces += counts[i++])
        messages[i] = (struct mmsghdr){.msg_hdr = message_of(pieces, counts[i])};
    int sent = sendmmsg(fd, messages, (unsigned)lists, HOW_TO_SEND);
    for (int i = 0; i < sent; i++, sending += *counts++) {
        total += messages[i].msg_len;
        if (i + 1 < sent && messages[i].msg_len < octets_of(sending, *counts)) {
            errno = EIO;
            return -1;
        }
    }
    return sent < 0 ? -1 : total;
}

/* Returns the octets of the first pieces that lie one after another, and how many these are. */
static size_t together(const struct iw_iov *pieces, size_t count, size_t *first)
{
    size_t octets = pieces[0].length, i = 1;
    while (i < count && (uint8_t *)pieces[0].base + octets == pieces[i].base)
        octets += pieces[i++].length;
    *first = i;
    return octets;
}

static ssize_t send_list(int fd, const struct iw_iov *pieces, size_t count)
{
    size_t first;
    const size_t octets = together(pieces, count, &first);
    const struct msghdr message = message_of(pieces, count);
    return first == count ? send(fd, pieces->base, octets, HOW_TO_SEND)
                          : sendmsg(fd, &message, HOW_TO_SEND);
}

/* Sends the octets that are due, up to this step's share. Returns true if any were sent. */
static bool transmit(struct iw_connection *c)
{
    size_t total = 0;
    if (!past_streaming(c))
        return false;
    uint64_t now = 0;
    while (!c->stalled && !c->write_broken && !c->connecting && !iw_endpoint_quiet(c->ep)) {
        const struct iw_iov *pieces;
        if (now == 0)
            now = iw_transport_now();
        if (now >= c->emss_due && !iw_endpoint_idle(c->ep))
            refresh_emss(c, now);
        size_t counts[IW_ENDPOINT_LISTS];
        size_t lists = iw_endpoint_output_lists(c->ep, &pieces, counts, IW_ENDPOINT_LISTS, now);
        if (lists == 0)
            break;
        c->source.reactor->calls++;
        ssize_t n = lists == 1 ? send_list(c->fd, pieces, counts[0])
                               : send_lists(c->fd, pieces, counts, lists);
        int error = errno;
        if (n > 0) {
            now = iw_transport_now();
            iw_tap_octets(c, true, pieces, total_of(counts, lists), (size_t)n);
        }
        iw_endpoint_sent(c->ep, n > 0 ? (size_t)n : 0, now);
        if (n > 0) {
            total += (size_t)n;
            c->stalled = total >= IW_TRANSPORT_WRITE;
        } else if (n < 0 && error == EAGAIN) {
            c->stalled = true;
        } else if (n < 0 && error != EINTR) {
            break_write(c, error);
        }
    }
    return total > 0;
}

/* Has the endpoint make output, which stays there. Returns whether there is some. */
static bool prepare_output(struct iw_connection *c)
{
    const struct iw_iov *pieces;
    uint64_t now = iw_transport_now();
    if (iw_endpoint_output(c->ep, &pieces, now) == 0)
        return false;
    iw_endpoint_sent(c->ep, 0, now); /* nothing can be sent now */
    return true;
}

static void finish(struct iw_connection *c, bool reset)
{
    iw_connection_close(c, reset);
    c->ending = true;
    c->ops.ended(c->context, c);
    c->ending = false;
    iw_connection_destroy(c);
}

void iw_connection_serve(struct iw_connection *c, bool tick)
{
    if (tick && c->connecting)
        iw_connection_lose(c, ETIMEDOUT);
    else if (tick)
        iw_endpoint_tick(c->ep, iw_transport_now());
    transmit(c);
    enum iw_want want = iw_endpoint_want(c->ep);
    bool drained = want != IW_WANT_NOTHING && !prepare_output(c);
    const bool left = c->keep && want == IW_WANT_FIN && drained && iw_endpoint_rejected(c->ep);
    if (left)
        want = IW_WANT_CLOSE;
    if (want == IW_WANT_FIN && drained && c->stream_length == 0 && !c->fin_sent &&
        !c->write_broken && !c->connecting) {
        shutdown(c->fd, SHUT_WR);
        c->fin_sent = true;
        iw_tap_ended(c, true, false);
        iw_endpoint_fin_sent(c->ep, iw_transport_now());
        want = iw_endpoint_want(c->ep);
    }
    bool over = c->lost || (drained && (want == IW_WANT_RESET || want == IW_WANT_CLOSE));
    c->ops.ready(c->context, c);
    if (c->source.dead)
        return;
    if (over) {
        finish(c, want != IW_WANT_CLOSE);
        return;
    }
    /* Effects of `ready` and of this sending are reported in the next step. */
    if (transmit(c) || iw_endpoint_want(c->ep) != want || c->lost)
        iw_pending_add(c->source.reactor, c);
    bool untimed = c->streaming && !c->connecting && !c->fin_sent && want == IW_WANT_NOTHING;
    iw_heap_set(c->source.reactor, c, untimed ? UINT64_MAX : iw_endpoint_deadline(c->ep));
    if (c->fd >= 0 && iw_connection_arm(c, EPOLL_CTL_MOD)) {
        iw_connection_lose(c, errno);
        iw_pending_add(c->source.reactor, c);
    }
}

/* Epoll cannot be asked to say nothing of a broken connection, whose octets have to wait. */
static void part(struct iw_connection *c)
{
    c->parted = true;
    c->source.reactor->calls++;
    epoll_ctl(c->source.reactor->epoll, EPOLL_CTL_DEL, c->fd, NULL);
}

void iw_connection_hold(struct iw_connection *c, bool hold)
{
    if (c->held == hold)
        return;
    c->held = hold;
    if (c->parted && !hold) {
        c->parted = false;
        if (iw_connection_arm(c, EPOLL_CTL_ADD))
            iw_connection_lose(c, errno);
    }
    iw_pending_add(c->source.reactor, c);
}

static void handle(struct iw_source *s, uint32_t events)
{
    struct iw_connection *c = (struct iw_connection *)s;
    if (c->connecting) {
        iw_connection_progress(c);
    } else {
        if (c->held) {
            if (events & (EPOLLHUP | EPOLLERR))
                part(c);
        } else if (!c->read_done) {
            if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(c, MSG_DONTWAIT);
        } else if (events & (EPOLLHUP | EPOLLERR)) {
            iw_connection_lose(c, iw_socket_error(c->fd));
        }
        if (events & EPOLLOUT)
            c->stalled = false;
    }
    if (!c->source.dead) /* `stream` may have destroyed it */
        iw_connection_serve(c, false);
}

static void ask(struct iw_source *s)
{
    struct iw_connection *c = (struct iw_connection *)s;
    bool waiting = c->stalled;
    if (c->fd < 0 || c->connecting || c->read_done || c->held)
        return;
    c->stalled = false;
    if ((receive(c, MSG_DONTWAIT) || waiting) && !s->dead)
        iw_connection_serve(c, false);
}

/* With a time-out, a receive is not restarted after a signal, so there is always one. */
static void set_wait(struct iw_connection *c, int timeout_ms)
{
    struct timeval t = {.tv_sec = 3600};
    if (timeout_ms == c->wait_ms)
        return;
    if (timeout_ms > 0)
        t = (struct timeval){timeout_ms / 1000, timeout_ms % 1000 * 1000};
    c->source.reactor->calls++;
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
    c->wait_ms = timeout_ms;
}

/* With short segments the peer spends much on waking us, and the next segment is often only a few
 * calls away. The more often it was not, the more waits begin without polling. */
enum { SHORT_SEGMENT = 9000, SOON_CALLS = 32, SOON_LEFT_OUT = 63 };

static bool receive_soon(struct iw_connection *c)
{
    if (c->emss > SHORT_SEGMENT || c->soon_count++ < c->soon_left_out)
        return false;
    c->soon_count = 0;
    for (unsigned i = 0; i < SOON_CALLS; i++)
        if (receive(c, MSG_DONTWAIT)) {
            c->soon_left_out /= 2;
            return true;
        }
    if (c->soon_left_out < SOON_LEFT_OUT)
        c->soon_left_out = 2 * c->soon_left_out + 1;
    return false;
}

static bool receive_waiting(struct iw_connection *c, int timeout_ms)
{
    if (receive_soon(c))
        return true;
    set_wait(c, timeout_ms);
    return receive(c, 0);
}

static bool wait_alone(struct iw_source *s, int timeout_ms)
{
    struct iw_connection *c = (struct iw_connection *)s;
    if (c->fd < 0 || c->connecting || c->read_done || c->stalled || c->held)
        return false;
    if ((timeout_ms == 0 ? receive(c, MSG_DONTWAIT) : receive_waiting(c, timeout_ms)) && !s->dead)
        iw_connection_serve(c, false);
    return true;
}

/* ---- the caller's side ---- */

void iw_connection_flush(struct iw_connection *c)
{
    struct iw_reactor *r = c->source.reactor;
    if (c->parked || r->stepping) {
        iw_connection_kick(c);
        return;
    }
    iw_pending_remove(r, c);
    r->stepping = true; /* it may end in this call, which goes on to look at it */
    iw_connection_serve(c, false);
    iw_reactor_stepped(r);
}

void iw_connection_destroy(struct iw_connection *c)
{
    if (c == NULL || c->ending || c->source.dead)
        return;
    struct iw_reactor *r = c->source.reactor;
    if (c->parked) { /* it may be another process's: not a word */
        iw_connection_leave(c);
        iw_tap_closed(c, false);
        (void)iw_source_add(r, &c->source, -1, 0);
    }
    iw_connection_close(c, true);
    iw_heap_remove(r, c);
    iw_pending_remove(r, c);
    iw_endpoint_destroy(c->ep);
    free(c->stream);
    free(c->name);
    if (c->addresses != NULL)
        freeaddrinfo(c->addresses);
    iw_listener_forget(c);
    iw_source_kill(&c->source);
}
