/* SPDX-License-Identifier: BSD-3-Clause */
/* A switched socket's life: what its connection reports, how it ends, and what is left of it. */
#include "switched.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "iwarp/endpoint_transport.h"
#include "verbs/engine.h"

#define SPEAK_FIRST UINT64_C(10000000) /* ns after which a responder does */
enum { HIGH = 64 }; /* descriptors of the library's: programs expect theirs to be low */

static LIST_HEAD(, iw_switched) sockets = LIST_HEAD_INITIALIZER(sockets);

int iw_switched_duplicate(int fd)
{
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
    return high >= 0 ? high : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static bool open_event(struct iw_switched_event *e)
{
    e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return e->fd >= 0;
}

/* The count of one that is the engine's is not shared with a child of fork. With the lock. */
static void own_events(struct iw_switched *s, bool own)
{
    iw_verbs_own(s->in.fd, own);
    iw_verbs_own(s->out.fd, own);
    iw_verbs_own(s->work.fd, own);
    iw_verbs_own(s->left.fd, own);
}

static void close_event(struct iw_switched_event *e)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

void iw_switched_destroy(struct iw_switched *s)
{
    if (s->entry.le_prev != NULL) {
        LIST_REMOVE(s, entry);
        own_events(s, false);
    }
    close_event(&s->in);
    close_event(&s->out);
    close_event(&s->work);
    close_event(&s->left);
    if (s->both >= 0)
        close(s->both);
    if (s->tcp >= 0)
        close(s->tcp);
    free(s->rx.octets);
    free(s->tx.octets);
    free(s->done);
    free(s);
}

struct iw_switched *iw_switched_create(int fd)
{
    struct iw_switched *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->in.fd = s->out.fd = s->work.fd = s->left.fd = s->both = -1;
    s->tcp = iw_switched_duplicate(fd);
    /* A peer's Send may leave out octets (RFC 5041 §5.2: any MO): nothing of ours is read there. */
    s->rx = (struct iw_switched_ring){.octets = calloc(1, IW_SWITCHED_RX), .size = IW_SWITCHED_RX};
    s->tx = (struct iw_switched_ring){.octets = malloc(IW_SWITCHED_TX), .size = IW_SWITCHED_TX};
    LIST_INIT(&s->regions);
    if (s->tcp >= 0 && open_event(&s->in) && open_event(&s->out) && open_event(&s->work) &&
        s->rx.octets != NULL && s->tx.octets != NULL)
        return s;
    const int saved = errno;
    iw_switched_destroy(s);
    errno = saved;
    return NULL;
}

/* ---- events ---- */

/* No request names memory of the program's any more; or, at the end of the process, TCP has all
 * that was written. */
static bool left_alone(const void *context)
{
    const struct iw_switched *s = context;
    if (s->connection == NULL)
        return true;
    if (s->draining && s->sends > 0)
        return false;
    for (unsigned i = 0; i < IW_SOCKETS_POSTS; i++)
        if (s->posts[i].taken)
            return false;
    return true;
}

static void set_event(struct iw_switched_event *e, bool on)
{
    if (on && !e->set && (e->watched || e->waiters > 0)) {
        e->set = true;
        iw_verbs_signal(e->fd, e->waiters);
    } else if (!on && e->set) {
        e->set = false;
        iw_verbs_unsignal(e->fd);
    }
}

void iw_switched_update(struct iw_switched *s)
{
    if (s->connection != NULL && s->state == IW_SWITCHED_OPEN)
        iw_connection_hold(s->connection, !s->orphan && (s->rx.used > IW_SOCKETS_UNREAD ||
                                                         s->immediate > IW_SWITCHED_IMMEDIATE));
    set_event(&s->in, iw_switched_readable(s));
    set_event(&s->out, iw_switched_writable(s));
    set_event(&s->work, s->done_count > 0 || s->state >= IW_SWITCHED_PLAIN);
    if (s->left.fd >= 0)
        set_event(&s->left, left_alone(s));
}

int iw_switched_both(struct iw_switched *s)
{
    struct epoll_event readable = {.events = EPOLLIN};
    if (s->both < 0 && (s->both = epoll_create1(EPOLL_CLOEXEC)) >= 0) {
        (void)epoll_ctl(s->both, EPOLL_CTL_ADD, s->in.fd, &readable);
        (void)epoll_ctl(s->both, EPOLL_CTL_ADD, s->out.fd, &readable);
    }
    return s->both >= 0 ? s->both : s->in.fd;
}

int iw_switched_error(const struct iw_switched *s)
{
    switch ((enum iw_switched_state)s->state) {
    case IW_SWITCHED_STARTING:
    case IW_SWITCHED_ASKED:
        return EINPROGRESS;
    case IW_SWITCHED_OPEN:
        return s->error;
    case IW_SWITCHED_PLAIN:
        return ENOTCONN;
    default:
        return s->error;
    }
}

/* ---- what the connection reports ---- */

static void record_terminate(struct iw_switched *s, const struct iw_event *event)
{
    const bool by_peer = event->kind == IW_EVENT_TERMINATED;
    const struct iw_rdmap_terminate *t = &event->terminate;
    const struct iw_rule *rule = by_peer ? NULL : iw_check_rule(event->fault.check);
    s->terminated = true;
    if (by_peer)
        snprintf(s->terminate_text, sizeof(s->terminate_text), "%s",
                 iw_wire_term_name(t->layer, t->etype, t->code));
    else
        snprintf(s->terminate_text, sizeof(s->terminate_text), "%s",
                 iw_check_info(event->fault.check)->text);
    s->terminate = (struct iw_sockets_terminate){.by_peer = by_peer,
                                                 .layer = t->layer,
                                                 .etype = t->etype,
                                                 .code = t->code,
                                                 .rule = rule != NULL ? rule->id : NULL,
                                                 .text = s->terminate_text};
}

static void fail(struct iw_switched *s, int error)
{
    if (s->state == IW_SWITCHED_STARTING || s->state == IW_SWITCHED_ASKED)
        s->start_error = error;
    if (s->error == 0)
        s->error = error;
    if (s->state != IW_SWITCHED_PLAIN)
        s->state = IW_SWITCHED_OVER;
}

static void keep_private(struct iw_switched *s, const struct iw_endpoint *ep)
{
    const uint8_t *data = NULL;
    const size_t length = iw_endpoint_private(ep, &data);
    s->private_length = length < sizeof(s->private_data) ? length : sizeof(s->private_data);
    if (s->private_length > 0)
        memcpy(s->private_data, data, s->private_length);
}

static int lost(const struct iw_switched *s, const struct iw_event *event)
{
    const int error = s->connection != NULL ? iw_connection_error(s->connection) : 0;
    if (event->cause == IW_CAUSE_TIMEOUT)
        return ETIMEDOUT;
    return error != 0 && error != EPIPE ? error : ECONNRESET;
}

/* A program that is killed in the midst of an FPDU or of its start-up frame is no worse than one
 * whose connection is reset. */
static int error_of(enum iw_check check)
{
    switch (check) {
    case IW_CHECK_MPA_STARTUP_TIMEOUT:
        return ETIMEDOUT;
    case IW_CHECK_MPA_FIN_INSIDE:
    case IW_CHECK_MPA_STARTUP_CUT:
        return ECONNRESET;
    default:
        return EPROTO;
    }
}

static void take_event(struct iw_switched *s, struct iw_endpoint *ep, const struct iw_event *event)
{
    switch (event->kind) {
    case IW_EVENT_REQUEST:
        keep_private(s, ep);
        if (s->ask)
            s->state = IW_SWITCHED_ASKED;
        else
            (void)iw_endpoint_accept(ep, NULL, 0, iw_transport_now());
        break;
    case IW_EVENT_ESTABLISHED:
        if (s->role == IW_MPA_INITIATOR)
            keep_private(s, ep);
        s->state = IW_SWITCHED_OPEN;
        break;
    case IW_EVENT_REJECTED:
        keep_private(s, ep);
        break;
    case IW_EVENT_TERMINATED:
        record_terminate(s, event);
        fail(s, EREMOTEIO);
        break;
    case IW_EVENT_FAULT:
        if (event->terminate_valid)
            record_terminate(s, event);
        fail(s, error_of(event->fault.check));
        break;
    case IW_EVENT_PEER_CLOSED:
        s->peer_closed = true;
        if (s->state < IW_SWITCHED_OPEN)
            fail(s, ECONNRESET);
        break;
    case IW_EVENT_CLOSED:
        if (!event->graceful && s->state != IW_SWITCHED_PLAIN)
            fail(s, lost(s, event));
        break;
    default:
        break;
    }
}

static void take_all(struct iw_switched *s, struct iw_endpoint *ep)
{
    struct iw_event event;
    while (iw_endpoint_event(ep, &event))
        take_event(s, ep, &event);
    iw_switched_take_completions(s);
}

static void ready(void *context, struct iw_connection *c)
{
    struct iw_switched *s = context;
    take_all(s, iw_connection_endpoint(c));
    iw_switched_update(s);
}

void iw_switched_restore(struct iw_switched *s)
{
    (void)setsockopt(s->tcp, IPPROTO_TCP, TCP_NODELAY, &s->before.no_delay, sizeof(int));
    (void)setsockopt(s->tcp, SOL_SOCKET, SO_RCVTIMEO, &s->before.receive,
                     sizeof(s->before.receive));
    (void)fcntl(s->tcp, F_SETFL, s->before.flags);
}

/* The program has its number still, so closing the connection's does not end TCP: connecting to
 * nowhere does, with the reset that is due. */
static void disconnect(struct iw_switched *s)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (s->tcp >= 0)
        (void)connect(s->tcp, &nowhere, sizeof(nowhere));
}

static void ended(void *context, struct iw_connection *c)
{
    struct iw_switched *s = context;
    struct iw_endpoint *ep = iw_connection_endpoint(c);
    const int error = iw_connection_error(c);
    take_all(s, ep);
    s->connection = NULL;
    if (iw_endpoint_rejected(ep)) {
        s->start_error = ECONNREFUSED;
        s->state = IW_SWITCHED_PLAIN;
        iw_switched_restore(s);
    } else {
        if (s->state < IW_SWITCHED_OPEN)
            fail(s, error != 0 ? error : ECONNRESET);
        s->state = IW_SWITCHED_OVER;
        if (iw_endpoint_want(ep) == IW_WANT_RESET)
            disconnect(s);
    }
    iw_switched_forget_memory(s);
    if (s->orphan)
        iw_switched_destroy(s);
    else
        iw_switched_update(s);
}

const struct iw_connection_ops iw_switched_connection_ops = {.ready = ready, .ended = ended};

/* In a child of fork, which has neither the engine's thread nor the connections. */
static void part_with_parent(void)
{
    struct iw_switched *s;
    LIST_FOREACH(s, &sockets, entry)
    {
        s->connection = NULL;
        struct iw_switched_event *events[] = {&s->in, &s->out, &s->work, &s->left};
        for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
            events[i]->waiters = 0;
            events[i]->set = false; /* the engine has made its count anew */
        }
        fail(s, ECONNRESET);
        s->peer_closed = true;
        iw_switched_update(s);
    }
}

void iw_switched_list(struct iw_switched *s)
{
    LIST_INSERT_HEAD(&sockets, s, entry);
    own_events(s, true);
    iw_verbs_at_fork(part_with_parent);
}

/* ---- ending ---- */

int iw_switched_shutdown(struct iw_switched *s, int how)
{
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
        errno = EINVAL;
        return -1;
    }
    iw_verbs_lock();
    if (s->state == IW_SWITCHED_PLAIN) {
        iw_verbs_unlock();
        return shutdown(s->tcp, how);
    }
    const int error = s->state == IW_SWITCHED_OPEN ? 0 : ENOTCONN;
    if (error == 0) {
        s->read_shut = s->read_shut || how != SHUT_WR;
        if (how != SHUT_RD && !s->write_shut) {
            s->write_shut = true;
            iw_endpoint_shutdown(iw_connection_endpoint(s->connection), iw_transport_now());
            iw_connection_flush(s->connection);
        }
        iw_switched_update(s);
    }
    iw_verbs_unlock();
    errno = error;
    return error == 0 ? 0 : -1;
}

/* With the lock. */
static void wait_until_alone(struct iw_switched *s)
{
    const uint64_t until = iw_transport_now() + IW_SWITCHED_LINGER;
    if (!left_alone(s) && s->left.fd < 0 && open_event(&s->left))
        iw_verbs_own(s->left.fd, true);
    if (!left_alone(s) && s->left.fd >= 0)
        while (iw_verbs_wait_until(s->left.fd, &s->left.waiters, left_alone, s, until) != 0 &&
               errno == EINTR)
            ;
}

/* With the lock. */
static void leave(struct iw_switched *s)
{
    struct iw_endpoint *ep = iw_connection_endpoint(s->connection);
    if (s->state < IW_SWITCHED_OPEN)
        iw_endpoint_abort(ep, false, 0, iw_transport_now());
    else
        iw_endpoint_shutdown(ep, iw_transport_now());
    iw_connection_flush(s->connection);
    wait_until_alone(s);
    if (!left_alone(s)) {
        iw_endpoint_leave(ep, iw_transport_now());
        iw_connection_flush(s->connection);
    }
}

void iw_switched_close(struct iw_switched *s)
{
    iw_verbs_lock();
    if (s->connection != NULL)
        leave(s);
    iw_switched_forget_memory(s);
    s->orphan = true;
    s->rx.used = 0;
    /* After a start-up that failed the program has its number still, so that ours has to end TCP.
     */
    if (s->tcp >= 0 && s->start_error == 0) {
        close(s->tcp);
        s->tcp = -1;
    }
    if (s->connection == NULL)
        iw_switched_destroy(s);
    else
        iw_switched_update(s); /* what still comes is dropped */
    iw_verbs_unlock();
}

/* Not freed: the process ends. */
void iw_switched_end_all(void)
{
    struct iw_switched *s, *next;
    if (LIST_EMPTY(&sockets))
        return;
    iw_verbs_lock();
    for (s = LIST_FIRST(&sockets); s != NULL; s = next) {
        next = LIST_NEXT(s, entry);
        s->orphan = false;
        s->draining = true;
    }
    for (s = LIST_FIRST(&sockets); s != NULL; s = LIST_NEXT(s, entry)) {
        if (left_alone(s))
            continue;
        iw_endpoint_shutdown(iw_connection_endpoint(s->connection), iw_transport_now());
        iw_connection_flush(s->connection);
        wait_until_alone(s);
    }
    iw_verbs_unlock();
}
