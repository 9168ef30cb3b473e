/* SPDX-License-Identifier: BSD-3-Clause */
/* Octets that are written leave in Sends, and those of the peer's Sends are read. */
#include "switched.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "verbs/engine.h"

/* ---- rings ---- */

static size_t ring_free(const struct iw_switched_ring *r)
{
    return r->size - r->used;
}

/* Lists `length` octets from `offset` after the start on, which may go round. Returns the pieces.
 */
static size_t ring_pieces(const struct iw_switched_ring *r, size_t offset, size_t length,
                          struct iw_iov out[2])
{
    const size_t at = (r->start + offset) % r->size;
    const size_t first = length < r->size - at ? length : r->size - at;
    out[0] = (struct iw_iov){r->octets + at, first};
    out[1] = (struct iw_iov){r->octets, length - first};
    return first < length ? 2 : 1;
}

static void ring_drop(struct iw_switched_ring *r, size_t length)
{
    r->start = (r->start + length) % r->size;
    r->used -= length;
    if (r->used == 0)
        r->start = 0;
}

/* The octets of a message of the program's, one after the other. */
struct cursor {
    const struct iovec *pieces;
    size_t count;
    size_t offset; /* in the first piece */
};

static size_t octets_left(const struct cursor *c)
{
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t length = c->pieces[i].iov_len - (i == 0 ? c->offset : 0);
        left = length > SIZE_MAX / 2 - left ? SIZE_MAX / 2 : left + length;
    }
    return left;
}

/* Copies between the message and a piece of a ring. */
static void copy(struct cursor *c, const struct iw_iov *piece, bool out)
{
    size_t done = 0;
    while (done < piece->length) {
        size_t n = c->pieces->iov_len - c->offset;
        n = n < piece->length - done ? n : piece->length - done;
        uint8_t *at = n > 0 ? (uint8_t *)c->pieces->iov_base + c->offset : NULL;
        if (n > 0 && out)
            memcpy(at, (uint8_t *)piece->base + done, n);
        else if (n > 0)
            memcpy((uint8_t *)piece->base + done, at, n);
        done += n;
        c->offset += n;
        if (c->offset == c->pieces->iov_len) {
            c->pieces++;
            c->count--;
            c->offset = 0;
        }
    }
}

/* Returns the time at which a wait ends, for ever without a time-out. */
static uint64_t until(const struct timeval *timeout)
{
    const uint64_t us = (uint64_t)timeout->tv_sec * 1000000u + (uint64_t)timeout->tv_usec;
    return us == 0 ? UINT64_MAX : iw_transport_now() + us * 1000u;
}

/* ---- reading ---- */

void iw_switched_want_recv(void *context)
{
    struct iw_switched *s = context;
    struct iw_iov pieces[2];
    iw_switched_take_completions(s); /* of one input, more Sends may be whole than one */
    if (s->connection == NULL || s->receiving > 0)
        return;
    if (s->orphan) /* nobody reads any more */
        s->rx.start = s->rx.used = 0;
    const size_t room = ring_free(&s->rx);
    const size_t length = room < IW_SOCKETS_RECEIVE ? room : IW_SOCKETS_RECEIVE;
    if (length == 0)
        return;
    const size_t count = ring_pieces(&s->rx, s->rx.used, length, pieces);
    if (iw_endpoint_post_recv(iw_connection_endpoint(s->connection), 0, pieces, count) == IW_OK)
        s->receiving = length;
}

void iw_switched_received(struct iw_switched *s, uint32_t length)
{
    s->receiving = 0;
    s->rx.used += length;
}

bool iw_switched_readable(const struct iw_switched *s)
{
    return s->rx.used > 0 || s->peer_closed || s->read_shut || s->state >= IW_SWITCHED_PLAIN;
}

static bool readable(const void *context)
{
    return iw_switched_readable(context);
}

static size_t take(struct iw_switched *s, struct cursor *into, int flags)
{
    struct iw_iov pieces[2];
    const size_t wanted = octets_left(into);
    const size_t length = wanted < s->rx.used ? wanted : s->rx.used;
    if (length == 0)
        return 0;
    const size_t count = ring_pieces(&s->rx, 0, length, pieces);
    for (size_t i = 0; i < count && (flags & MSG_TRUNC) == 0; i++)
        copy(into, &pieces[i], true);
    if ((flags & MSG_PEEK) == 0) {
        /* A receive lies after the octets used: the start may move on, but not back to 0. */
        s->rx.start = (s->rx.start + length) % s->rx.size;
        s->rx.used -= length;
    }
    iw_switched_update(s);
    return length;
}

/* With the lock. Returns the octets, 0 at the end, or -1. */
static ssize_t receive(struct iw_switched *s, struct cursor into, int flags, bool block)
{
    const uint64_t end = block ? until(&s->receive_timeout) : 0;
    const size_t wanted = octets_left(&into);
    size_t taken = 0;
    if (wanted == 0)
        return 0;
    for (;;) {
        taken += take(s, &into, flags);
        const bool enough =
            taken > 0 && ((flags & MSG_WAITALL) == 0 || (flags & MSG_PEEK) != 0 || taken == wanted);
        if (enough)
            return (ssize_t)taken;
        if (s->rx.used == 0 && iw_switched_readable(s)) /* no more will come */
            break;
        if (!block) {
            iw_verbs_poll();
            if (s->rx.used > 0 || iw_switched_readable(s))
                continue;
            errno = EAGAIN;
            return taken > 0 ? (ssize_t)taken : -1;
        }
        if (iw_verbs_wait_until(s->in.fd, &s->in.waiters, readable, s, end) != 0) {
            if (errno == ETIMEDOUT)
                errno = EAGAIN;
            return taken > 0 ? (ssize_t)taken : -1;
        }
    }
    if (taken > 0 || s->read_shut || (s->peer_closed && s->error == 0))
        return (ssize_t)taken;
    errno = iw_switched_error(s);
    return errno == 0 ? 0 : -1;
}

ssize_t iw_switched_receive(struct iw_switched *s, struct msghdr *message, int flags, bool block)
{
    const struct cursor into = {message->msg_iov, message->msg_iovlen, 0};
    if ((flags & (MSG_OOB | MSG_ERRQUEUE)) != 0) {
        errno = EOPNOTSUPP;
        return -1;
    }
    iw_verbs_lock();
    if (s->state == IW_SWITCHED_PLAIN) {
        iw_verbs_unlock();
        return recvmsg(s->tcp, message, flags);
    }
    const ssize_t n = receive(s, into, flags, block && (flags & MSG_DONTWAIT) == 0);
    const int error = errno;
    iw_verbs_unlock();
    message->msg_namelen = 0;
    message->msg_controllen = 0;
    message->msg_flags = 0;
    errno = error;
    return n;
}

/* ---- writing ---- */

void iw_switched_sent(struct iw_switched *s, size_t length)
{
    ring_drop(&s->tx, length);
    s->sends--;
}

bool iw_switched_writable(const struct iw_switched *s)
{
    if (s->state == IW_SWITCHED_STARTING)
        return false;
    return s->state != IW_SWITCHED_OPEN || s->write_shut ||
           (ring_free(&s->tx) > 0 && s->sends < IW_SWITCHED_SENDS);
}

static bool writable(const void *context)
{
    return iw_switched_writable(context);
}

/* Posts one Send. Returns its octets, 0 if there is no room, or -1. */
static ssize_t post_send(struct iw_switched *s, struct cursor *from, size_t left)
{
    const size_t room = ring_free(&s->tx);
    size_t length = left < IW_SOCKETS_SEND ? left : IW_SOCKETS_SEND;
    struct iw_iov pieces[2];
    length = length < room ? length : room;
    if (length == 0 || s->sends >= IW_SWITCHED_SENDS)
        return 0;
    const size_t count = ring_pieces(&s->tx, s->tx.used, length, pieces);
    for (size_t i = 0; i < count; i++)
        copy(from, &pieces[i], false);
    const struct iw_work work = {.id = IW_SWITCHED_ID_SEND | length,
                                 .opcode = IW_WORK_SEND,
                                 .sge = pieces,
                                 .sge_count = count};
    if (iw_endpoint_post(iw_connection_endpoint(s->connection), &work, iw_transport_now()) !=
        IW_OK) {
        errno = s->error != 0 ? s->error : ECONNRESET;
        return -1;
    }
    s->tx.used += length;
    s->sends++;
    return (ssize_t)length;
}

/* Returns 0 if octets can be sent, else the errno. */
static int refused(const struct iw_switched *s)
{
    const int error = iw_switched_error(s);
    if (s->write_shut)
        return EPIPE;
    if (error != 0)
        return error;
    return s->state == IW_SWITCHED_OVER || s->connection == NULL ? EPIPE : 0;
}

/* With the lock. */
static ssize_t send_all(struct iw_switched *s, struct cursor from, bool block)
{
    const uint64_t end = block ? until(&s->send_timeout) : 0;
    size_t left = octets_left(&from), sent = 0;
    int error = 0;
    while (error == 0) {
        ssize_t n = 1;
        error = refused(s);
        if (error == EINPROGRESS && block)
            error = 0;
        else if (error == EINPROGRESS)
            error = EAGAIN;
        if (error != 0)
            break;
        while (s->state == IW_SWITCHED_OPEN && left > 0 && (n = post_send(s, &from, left)) > 0) {
            left -= (size_t)n;
            sent += (size_t)n;
        }
        if (n < 0)
            error = errno;
        if (s->connection != NULL && sent > 0)
            iw_connection_flush(s->connection);
        if (left == 0 || n < 0)
            break;
        if (iw_switched_writable(s) && s->state == IW_SWITCHED_OPEN)
            continue; /* all of it has left at once */
        if (!block)
            error = EAGAIN;
        else if (iw_verbs_wait_until(s->out.fd, &s->out.waiters, writable, s, end) != 0)
            error = errno == ETIMEDOUT ? EAGAIN : errno;
    }
    iw_switched_update(s);
    errno = error;
    return sent > 0 || error == 0 ? (ssize_t)sent : -1;
}

ssize_t iw_switched_send(struct iw_switched *s, const struct msghdr *message, int flags, bool block)
{
    const struct cursor from = {message->msg_iov, message->msg_iovlen, 0};
    if ((flags & MSG_OOB) != 0) {
        errno = EOPNOTSUPP;
        return -1;
    }
    iw_verbs_lock();
    if (s->state == IW_SWITCHED_PLAIN) {
        iw_verbs_unlock();
        return sendmsg(s->tcp, message, flags);
    }
    const ssize_t n = send_all(s, from, block && (flags & MSG_DONTWAIT) == 0);
    const int error = errno;
    iw_verbs_unlock();
    if (n < 0 && error == EPIPE && (flags & MSG_NOSIGNAL) == 0)
        pthread_kill(pthread_self(), SIGPIPE);
    errno = error;
    return n;
}
