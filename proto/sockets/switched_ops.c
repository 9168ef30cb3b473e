/* SPDX-License-Identifier: BSD-3-Clause */
/* A switched socket as a socket of the program's. */
#include "mode_option.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "libc_next.h"
#include "verbs/engine.h"

#ifndef POLLRDHUP
#define POLLRDHUP 0x2000
#endif

static bool blocks(struct iw_socket *s)
{
    return !atomic_load(&s->nonblocking);
}

static ssize_t do_receive(struct iw_socket *s, struct msghdr *message, int flags)
{
    return iw_switched_receive(s->state, message, flags, blocks(s));
}

static ssize_t do_send(struct iw_socket *s, const struct msghdr *message, int flags)
{
    return iw_switched_send(s->state, message, flags, blocks(s));
}

static int do_connect(struct iw_socket *s, int fd, const struct sockaddr *to, socklen_t length)
{
    (void)s, (void)fd, (void)to, (void)length;
    errno = EISCONN;
    return -1;
}

static int do_listen(struct iw_socket *s, int fd, int backlog)
{
    (void)s, (void)fd, (void)backlog;
    errno = EINVAL;
    return -1;
}

static int do_accept(struct iw_socket *s, int fd, struct sockaddr *from, socklen_t *length,
                     int flags)
{
    (void)s, (void)fd, (void)from, (void)length, (void)flags;
    errno = EINVAL;
    return -1;
}

static int do_shutdown(struct iw_socket *s, int how)
{
    return iw_switched_shutdown(s->state, how);
}

static void do_close(struct iw_socket *s)
{
    iw_switched_close(s->state);
}

/* ---- options ---- */

/* SO_ERROR: each error is reported once. */
static int take_error(struct iw_switched *s)
{
    iw_verbs_lock();
    int error = s->state == IW_SWITCHED_STARTING ? 0 : s->start_error;
    if (s->state == IW_SWITCHED_OVER && error == 0)
        error = s->error;
    if (s->error_reported)
        error = 0;
    s->error_reported = s->error_reported || error != 0;
    iw_verbs_unlock();
    return error;
}

static struct timeval *timeout_of(struct iw_switched *s, int level, int name)
{
    if (level != SOL_SOCKET)
        return NULL;
    if (name == SO_RCVTIMEO)
        return &s->receive_timeout;
    return name == SO_SNDTIMEO ? &s->send_timeout : NULL;
}

static int do_get_option(struct iw_socket *s, int fd, int level, int name, void *value,
                         socklen_t *length)
{
    struct iw_switched *state = s->state;
    struct timeval *timeout = timeout_of(state, level, name);
    if (level == SOL_TCP && name == IWARP_MODE)
        return iw_mode_get(state->state == IW_SWITCHED_PLAIN ? IWARP_OFF
                           : state->role == IW_MPA_INITIATOR ? IWARP_INITIATOR
                                                             : IWARP_RESPONDER,
                           value, length);
    if (level == SOL_SOCKET && name == SO_ERROR) {
        const int error = take_error(state);
        /* The switch has failed, and the program has learnt it. */
        const int result = error != 0 ? iw_switched_result(state) : 0;
        if (result != 0 && result != EINPROGRESS)
            iw_mode_undo(fd, state);
        return iw_mode_get(error, value, length);
    }
    if (timeout == NULL || state->state == IW_SWITCHED_PLAIN)
        return iw_libc()->getsockopt(fd, level, name, value, length);
    if (*length < sizeof(*timeout)) {
        errno = EINVAL;
        return -1;
    }
    iw_verbs_lock();
    memcpy(value, timeout, sizeof(*timeout));
    iw_verbs_unlock();
    *length = sizeof(*timeout);
    return 0;
}

static int do_set_option(struct iw_socket *s, int fd, int level, int name, const void *value,
                         socklen_t length)
{
    struct iw_switched *state = s->state;
    struct timeval *timeout = timeout_of(state, level, name);
    if (state->state == IW_SWITCHED_PLAIN)
        return iw_libc()->setsockopt(fd, level, name, value, length);
    if (level == SOL_TCP && name == IWARP_MODE) {
        errno = state->state == IW_SWITCHED_STARTING ? EALREADY : EISCONN;
        return -1;
    }
    if (level == SOL_TCP && (name == TCP_NODELAY || name == TCP_CORK))
        return 0; /* FPDUs leave at once, whole segments (iwarp/transport.h) */
    if (timeout == NULL)
        return iw_libc()->setsockopt(fd, level, name, value, length);
    if (length < sizeof(*timeout)) {
        errno = EINVAL;
        return -1;
    }
    struct timeval given;
    memcpy(&given, value, sizeof(given));
    if (given.tv_sec < 0 || given.tv_usec < 0 || given.tv_usec > 999999) {
        errno = EDOM;
        return -1;
    }
    iw_verbs_lock();
    *timeout = given;
    iw_verbs_unlock();
    return 0;
}

static int do_get_name(struct iw_socket *s, int fd, bool peer, struct sockaddr *address,
                       socklen_t *length)
{
    (void)s;
    return peer ? iw_libc()->getpeername(fd, address, length)
                : iw_libc()->getsockname(fd, address, length);
}

static int do_available(struct iw_socket *s, int *octets)
{
    struct iw_switched *state = s->state;
    if (state->state == IW_SWITCHED_PLAIN)
        return iw_libc()->ioctl(state->tcp, FIONREAD, octets);
    iw_verbs_lock();
    if (state->rx.used == 0)
        iw_verbs_poll();
    *octets = (int)state->rx.used;
    iw_verbs_unlock();
    return 0;
}

static void do_set_nonblocking(struct iw_socket *s)
{
    const struct iw_switched *state = s->state;
    if (state->state != IW_SWITCHED_PLAIN)
        return;
    const int flags = iw_libc()->fcntl(state->tcp, F_GETFL);
    (void)iw_libc()->fcntl(state->tcp, F_SETFL,
                           blocks(s) ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

/* ---- polling ---- */

/* With the lock. Returns which events hold. */
static short holding(const struct iw_switched *s, short events)
{
    short now = 0;
    if (iw_switched_readable(s))
        now |= POLLIN | POLLRDNORM;
    if (iw_switched_writable(s))
        now |= POLLOUT | POLLWRNORM;
    if (s->peer_closed || s->state == IW_SWITCHED_OVER)
        now |= POLLRDHUP;
    now &= events;
    if (s->state == IW_SWITCHED_OVER && s->error != 0)
        now |= POLLERR;
    if (s->state == IW_SWITCHED_OVER || (s->peer_closed && s->write_shut))
        now |= POLLHUP;
    return now;
}

static short plain_events(const struct iw_switched *s, short events)
{
    struct pollfd tcp = {.fd = s->tcp, .events = events};
    const struct timespec at_once = {0, 0};
    return ppoll(&tcp, 1, &at_once, NULL) > 0 ? tcp.revents : 0;
}

static short do_prepare(struct iw_socket *socket, short events, struct pollfd *wait)
{
    struct iw_switched *s = socket->state;
    const bool in = (events & (POLLIN | POLLRDNORM | POLLRDHUP)) != 0;
    const bool out = (events & (POLLOUT | POLLWRNORM)) != 0;
    iw_verbs_lock();
    if (s->state == IW_SWITCHED_PLAIN) {
        iw_verbs_unlock();
        *wait = (struct pollfd){.fd = s->tcp, .events = events};
        return 0;
    }
    s->in.watched = s->in.watched || in || !out;
    s->out.watched = s->out.watched || out;
    short now = holding(s, events);
    if (now == 0) {
        iw_verbs_poll();
        now = holding(s, events);
    }
    iw_switched_update(s);
    iw_verbs_cover();
    *wait = (struct pollfd){.fd = in && out ? iw_switched_both(s)
                                  : out     ? s->out.fd
                                            : s->in.fd,
                            .events = POLLIN};
    iw_verbs_unlock();
    return now;
}

static short do_finish(struct iw_socket *socket, short events, const struct pollfd *wait)
{
    const struct iw_switched *s = socket->state;
    (void)wait;
    iw_verbs_lock();
    const bool plain = s->state == IW_SWITCHED_PLAIN;
    const short now = plain ? 0 : holding(s, events);
    iw_verbs_unlock();
    return plain ? plain_events(s, events) : now;
}

const struct iw_socket_ops iw_switched_ops = {
    .receive = do_receive,
    .send = do_send,
    .connect = do_connect,
    .listen = do_listen,
    .accept = do_accept,
    .shutdown = do_shutdown,
    .close = do_close,
    .get_option = do_get_option,
    .set_option = do_set_option,
    .get_name = do_get_name,
    .available = do_available,
    .set_nonblocking = do_set_nonblocking,
    .prepare = do_prepare,
    .finish = do_finish,
};
