/* SPDX-License-Identifier: BSD-3-Clause */
#include "byte_stream.h"

#include "iwarp/transport.h"
#include "libc_next.h"
#include "mixed_listener.h"
#include "rsocket_made.h"
#include "rsocket_turns.h"
#include "rsocket_wait.h"
#include "rsockets.h"
#include "stream_state.h"
#include "verbs_extra.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one call moves at most, as in Linux. */
#define MOST ((size_t)0x7ffff000)

/* ---- data ---- */

/* Whether the socket is connected, having waited for that if it may. */
static int be_connected(struct iw_socket *s, int flags)
{
    struct stream *st = stream_of(s);
    switch (atomic_load(&st->state)) {
    case CONNECTED:
        return 0;
    case CONNECTING:
        if (iw_stream_go_on(s, waits(s, flags) ? IW_WAIT_FOREVER : 0) == 0)
            return 0;
        return errno == EINPROGRESS ? fail(EAGAIN) : -1;
    default:
        return fail(ENOTCONN);
    }
}

/* At what looks like the end: takes the connection's error. Returns whether there is one; it is
 * reported once. */
static bool take_error(struct stream *st)
{
    struct pollfd one = {.fd = st->rs, .events = POLLIN};
    return iw_wait(&one, 1, 0, NULL, true) > 0 && (one.revents & POLLERR) != 0 &&
           !atomic_exchange(&st->broken, true);
}

/* rsockets looks for what has come only when it has nothing: who counts or peeks would not see
 * more. */
static void look_for_more(const struct stream *st)
{
    struct pollfd one = {.fd = st->rs, .events = POLLIN};
    (void)iw_wait(&one, 1, 0, NULL, true);
}

/* Receives without a wait, but for some looks if it may wait: to fall asleep in rpoll takes longer
 * than many answers do. */
static ssize_t look(const struct stream *st, void *octets, size_t length, int flags, bool wait)
{
    enum { SPIN = 20000 /* ns */ };
    if ((flags & MSG_PEEK) != 0)
        look_for_more(st);
    ssize_t got = iw_turn_receive(st->rs, octets, length, flags | MSG_DONTWAIT);
    const uint64_t until = wait && got < 0 && errno == EAGAIN ? iw_transport_now() + SPIN : 0;
    while (got < 0 && errno == EAGAIN && until != 0 && iw_transport_now() < until)
        got = iw_turn_receive(st->rs, octets, length, flags | MSG_DONTWAIT);
    return got;
}

/* Receives what there is, having waited for it if it may. rsockets never waits itself: of two
 * threads, one in a call of rsockets that waits and one in rpoll, the latter may wait for ever. */
static ssize_t receive_some(struct iw_socket *s, void *octets, size_t length, int flags)
{
    struct stream *st = stream_of(s);
    const uint64_t until = waits(s, flags) ? limit(&st->receive_time) : 0;
    for (;;) {
        const ssize_t got = look(st, octets, length, flags & MSG_PEEK, until != 0);
        if (got > 0)
            return got;
        if (got == 0) {
            atomic_store(&st->ended, true);
            return take_error(st) ? fail(ECONNRESET) : 0;
        }
        if (errno != EAGAIN || until == 0 || iw_stream_wait_for(st, POLLIN, until) != 0)
            return -1;
    }
}

static ssize_t receive_into(struct iw_socket *s, void *octets, size_t length, int flags)
{
    const bool all = (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL && waits(s, flags);
    ssize_t done = 0, got;
    do {
        got = receive_some(s, (char *)octets + done, length - (size_t)done, flags);
        done += got > 0 ? got : 0;
    } while (all && got > 0 && (size_t)done < length);
    return done > 0 ? done : got;
}

/* MSG_TRUNC: TCP drops the octets. */
static ssize_t drop(struct iw_socket *s, size_t length, int flags)
{
    char octets[4096];
    return receive_into(s, octets, length < sizeof(octets) ? length : sizeof(octets), flags);
}

static ssize_t receive_piece(struct iw_socket *s, const struct iovec *piece, int flags)
{
    const size_t length = piece->iov_len < MOST ? piece->iov_len : MOST;
    return (flags & MSG_TRUNC) != 0 ? drop(s, length, flags)
                                    : receive_into(s, piece->iov_base, length, flags);
}

static ssize_t peek_pieces(struct iw_socket *s, const struct msghdr *m, size_t total, int flags)
{
    const size_t most = total < (1 << 20) ? total : 1 << 20;
    char *all = malloc(most);
    if (all == NULL)
        return fail(ENOMEM);
    const ssize_t got = receive_into(s, all, most, flags);
    size_t done = 0;
    for (size_t i = 0; i < m->msg_iovlen && got > 0 && done < (size_t)got; i++) {
        size_t part = m->msg_iov[i].iov_len;
        if (part > (size_t)got - done)
            part = (size_t)got - done;
        if (part > 0)
            memcpy(m->msg_iov[i].iov_base, all + done, part);
        done += part;
    }
    free(all);
    return got;
}

static ssize_t total_of(const struct msghdr *m)
{
    size_t total = 0;
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        if (m->msg_iov[i].iov_len > (size_t)SSIZE_MAX - total)
            return fail(EINVAL);
        total += m->msg_iov[i].iov_len;
    }
    return (ssize_t)total;
}

static ssize_t stream_receive(struct iw_socket *s, struct msghdr *m, int flags)
{
    const ssize_t total = total_of(m);
    ssize_t done = 0;
    if (total < 0)
        return -1;
    if ((flags & (MSG_OOB | MSG_ERRQUEUE)) != 0)
        return fail((flags & MSG_OOB) != 0 ? EINVAL : EAGAIN);
    if (be_connected(s, flags) != 0)
        return -1;
    if (total == 0 || atomic_load(&stream_of(s)->read_shut))
        return 0;
    if ((flags & MSG_PEEK) != 0 && m->msg_iovlen > 1)
        return peek_pieces(s, m, (size_t)total, flags);
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        /* Of several pieces the first that gets something may have waited. */
        const bool more = done > 0 && (flags & MSG_WAITALL) == 0;
        if (m->msg_iov[i].iov_len == 0)
            continue;
        const ssize_t got = receive_piece(s, &m->msg_iov[i], flags | (more ? MSG_DONTWAIT : 0));
        if (got <= 0)
            return done > 0 ? done : got;
        done += got;
        if ((size_t)got < m->msg_iov[i].iov_len)
            break;
    }
    return done;
}

/* rsend goes on after the peer has closed, as long as there is room. */
static bool is_hung_up(const struct stream *st)
{
    struct pollfd one = {.fd = st->rs, .events = POLLOUT};
    return atomic_load(&st->ended) && iw_wait(&one, 1, 0, NULL, true) > 0 &&
           (one.revents & (POLLHUP | POLLERR)) != 0;
}

static ssize_t cannot_send(struct stream *st, int flags)
{
    const bool first = !atomic_exchange(&st->broken, true);
    if (first && !atomic_load(&st->write_shut))
        return fail(ECONNRESET);
    if ((flags & MSG_NOSIGNAL) == 0)
        (void)raise(SIGPIPE);
    return fail(EPIPE);
}

static ssize_t send_piece(struct iw_socket *s, const char *octets, size_t length, int flags)
{
    struct stream *st = stream_of(s);
    const bool wait = waits(s, flags);
    const uint64_t until = wait ? limit(&st->send_time) : 0;
    size_t done = 0;
    while (done < length) {
        const ssize_t sent = iw_turn_send(st->rs, octets + done, length - done, MSG_DONTWAIT);
        if (sent > 0)
            done += (size_t)sent;
        else if (errno != EAGAIN || !wait || iw_stream_wait_for(st, POLLOUT, until) != 0)
            break;
        if (!wait)
            break;
    }
    if (done > 0)
        return (ssize_t)done;
    return errno == ECONNRESET || errno == EPIPE ? cannot_send(st, flags) : -1;
}

static ssize_t stream_send(struct iw_socket *s, const struct msghdr *m, int flags)
{
    const ssize_t total = total_of(m);
    ssize_t done = 0;
    if (total < 0)
        return -1;
    if ((flags & MSG_OOB) != 0)
        return fail(EOPNOTSUPP);
    if (be_connected(s, flags) != 0)
        return -1;
    if (atomic_load(&stream_of(s)->write_shut) || is_hung_up(stream_of(s)))
        return cannot_send(stream_of(s), flags);
    for (size_t i = 0; i < m->msg_iovlen; i++) {
        size_t length = m->msg_iov[i].iov_len;
        if (length > MOST - (size_t)done)
            length = MOST - (size_t)done;
        if (length == 0)
            continue;
        const ssize_t sent =
            send_piece(s, m->msg_iov[i].iov_base, length, flags | (done > 0 ? MSG_NOSIGNAL : 0));
        if (sent < 0)
            return done > 0 ? done : -1;
        done += sent;
        if ((size_t)sent < length)
            break;
    }
    return done;
}

static int stream_shutdown(struct iw_socket *s, int how)
{
    struct stream *st = stream_of(s);
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
        return fail(EINVAL);
    const int state = atomic_load(&st->state);
    if (state == LISTENING && how != SHUT_WR)
        iw_stream_shut_listener(st);
    if (state == LISTENING)
        return 0;
    if (state != CONNECTED)
        return fail(ENOTCONN);
    if (how != SHUT_WR)
        atomic_store(&st->read_shut, true);
    if (how != SHUT_RD)
        atomic_store(&st->write_shut, true);
    if (iw_turn_shutdown(st->rs, how) != 0 && errno == EINTR)
        return 0; /* it has been sent; only the wait for its leaving ended */
    return 0;
}

static void stream_close(struct iw_socket *s)
{
    struct stream *st = stream_of(s);
    /* What a child of fork does not go on with stays where it is: librdmacm's threads know of it.
     */
    if (atomic_load(&s->hold) == IW_HOLD_OURS || !s->inherited)
        iw_stream_close_rsocket(st->rs);
    if (st->plain >= 0)
        iw_libc()->close(st->plain);
    if (st->both >= 0)
        iw_libc()->close(st->both);
    if (st->over >= 0)
        iw_libc()->close(st->over);
    free(st);
}

/* ---- options and names ---- */

static int give(void *value, socklen_t *length, int number)
{
    const socklen_t size = *length < sizeof(number) ? *length : (socklen_t)sizeof(number);
    memcpy(value, &number, size);
    *length = size;
    return 0;
}

/* A connect in the background that is over, as far as anyone has asked. */
static void look_at_connect(struct iw_socket *s)
{
    struct stream *st = stream_of(s);
    struct pollfd one = {.fd = st->rs, .events = POLLOUT};
    if (atomic_load(&st->state) == CONNECTING && iw_wait(&one, 1, 0, NULL, true) > 0)
        (void)iw_stream_finish_connect(st, one.revents);
}

static int stream_get_option(struct iw_socket *s, int fd, int level, int name, void *value,
                             socklen_t *length)
{
    struct stream *st = stream_of(s);
    if (level == SOL_SOCKET && value != NULL && length != NULL && *length > 0) {
        if (name == SO_ACCEPTCONN)
            return give(value, length, atomic_load(&st->state) == LISTENING);
        if (name == SO_ERROR) {
            look_at_connect(s);
            return give(value, length, atomic_exchange(&st->error, 0));
        }
    }
    return iw_libc()->getsockopt(fd, level, name, value, length);
}

static int stream_set_option(struct iw_socket *s, int fd, int level, int name, const void *value,
                             socklen_t length)
{
    const int result = iw_libc()->setsockopt(fd, level, name, value, length);
    if (result == 0 && level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
        iw_stream_copy_timeouts(fd, stream_of(s));
    return result;
}

static int stream_get_name(struct iw_socket *s, int fd, bool peer, struct sockaddr *address,
                           socklen_t *length)
{
    struct stream *st = stream_of(s);
    const int state = atomic_load(&st->state);
    look_at_connect(s);
    if (state == LISTENING || state == FAILED)
        return peer ? fail(ENOTCONN) : iw_libc()->getsockname(fd, address, length);
    if (peer && atomic_load(&st->state) == CONNECTING)
        return fail(ENOTCONN);
    return peer ? iw_rsockets()->rgetpeername(st->rs, address, length)
                : iw_rsockets()->rgetsockname(st->rs, address, length);
}

static int stream_available(struct iw_socket *s, int *octets)
{
    enum { ALL = 1 << 20 };
    struct stream *st = stream_of(s);
    *octets = 0;
    if (atomic_load(&st->state) == LISTENING)
        return fail(EINVAL);
    if (be_connected(s, MSG_DONTWAIT) != 0)
        return 0;
    char *all = malloc(ALL);
    if (all == NULL)
        return fail(ENOMEM);
    look_for_more(st);
    const ssize_t got = iw_turn_receive(st->rs, all, ALL, MSG_PEEK | MSG_DONTWAIT);
    free(all);
    *octets = got > 0 ? (int)got : 0;
    return 0;
}

static void stream_set_nonblocking(struct iw_socket *s)
{
    (void)s; /* each call of rsockets says whether it waits */
}

/* ---- polling ---- */

enum { IN = POLLIN | POLLRDNORM, OUT = POLLOUT | POLLWRNORM };

static short stream_prepare(struct iw_socket *s, short events, struct pollfd *wait)
{
    const struct stream *st = stream_of(s);
    short wanted = 0;
    if ((events & (IN | POLLRDHUP)) != 0)
        wanted |= POLLIN;
    if ((events & OUT) != 0 && atomic_load(&st->state) != LISTENING)
        wanted |= POLLOUT;
    *wait = (struct pollfd){.fd = st->waiting, .events = wanted};
    return 0;
}

/* Whether the peer has ended its direction and all octets before that are read. */
static bool at_end(const struct stream *st)
{
    char octet;
    return iw_turn_receive(st->rs, &octet, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* rsockets report POLLHUP as soon as the peer has closed; TCP does not before this side has, too:
 * until then octets can be read, and a write learns it by itself. */
static short stream_finish(struct iw_socket *s, short events, const struct pollfd *wait)
{
    struct stream *st = stream_of(s);
    short found = 0;
    if (wait->revents == 0)
        return 0;
    if (atomic_load(&st->state) == LISTENING && atomic_load(&st->read_shut))
        return (short)(POLLHUP | (events & OUT));
    if (atomic_load(&st->state) == LISTENING)
        return (short)((wait->revents & (POLLERR | POLLHUP)) |
                       ((wait->revents & POLLIN) != 0 ? events & IN : 0));
    if (atomic_load(&st->state) == CONNECTING)
        (void)iw_stream_finish_connect(st, wait->revents);
    if (atomic_load(&st->state) == FAILED)
        return (short)((events & (IN | OUT | POLLRDHUP)) | POLLERR | POLLHUP);
    if ((wait->revents & (POLLHUP | POLLERR)) != 0)
        atomic_store(&st->ended, true);
    if ((wait->revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        found |= (short)(events & IN);
    if ((wait->revents & (POLLOUT | POLLHUP | POLLERR)) != 0)
        found |= (short)(events & OUT);
    if ((events & POLLRDHUP) != 0 && (wait->revents & (POLLIN | POLLHUP)) != 0 && at_end(st))
        found |= POLLRDHUP;
    if ((wait->revents & POLLERR) != 0)
        found |= POLLERR | POLLHUP;
    if ((wait->revents & POLLHUP) != 0 && atomic_load(&st->write_shut))
        found |= POLLHUP;
    return found;
}

/* ---- fork and exit ---- */

static enum iw_fork stream_before_fork(struct iw_socket *s, int *file)
{
    const struct stream *st = stream_of(s);
    *file = st->rs;
    switch (atomic_load(&st->state)) {
    case CONNECTED:
        return IW_FORK_ONE;
    case LISTENING:
        return st->queue[0] >= 0 ? IW_FORK_BOTH : IW_FORK_PARENTS;
    default:
        return IW_FORK_PARENTS;
    }
}

/* Connections that wait in the queue are the parent's. */
static void stream_in_child(struct iw_socket *s)
{
    const struct stream *st = stream_of(s);
    iw_made_own_pair(st->queue);
    if (st->both >= 0)
        iw_mixed_wait_again(st->both, st->queue[0], st->plain, st->over);
}

static void stream_take(struct iw_socket *s)
{
    (void)iw_verbs_fork()->take(stream_of(s)->rs);
}

static void stream_lose(struct iw_socket *s)
{
    (void)iw_verbs_fork()->leave(stream_of(s)->rs);
}

static void stream_end(struct iw_socket *s)
{
    struct stream *st = stream_of(s);
    if (atomic_load(&st->state) == CONNECTED)
        (void)iw_turn_shutdown(st->rs, SHUT_RDWR);
}

const struct iw_socket_ops iw_stream_ops = {
    .before_fork = stream_before_fork,
    .in_child = stream_in_child,
    .take = stream_take,
    .lose = stream_lose,
    .end = stream_end,
    .rsocket = true,
    .receive = stream_receive,
    .send = stream_send,
    .connect = iw_stream_connect,
    .listen = iw_stream_listen,
    .accept = iw_stream_accept,
    .shutdown = stream_shutdown,
    .close = stream_close,
    .get_option = stream_get_option,
    .set_option = stream_set_option,
    .get_name = stream_get_name,
    .available = stream_available,
    .set_nonblocking = stream_set_nonblocking,
    .prepare = stream_prepare,
    .finish = stream_finish,
};
