/* SPDX-License-Identifier: BSD-3-Clause */
/* The child's end of relays, and how the two ends meet. */
#include "fork_relay.h"

#include "libc_next.h"
#include "relay_frame.h"
#include "rsocket_turns.h"
#include "rsocket_wait.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- frames ---- */

bool iw_relay_write(int fd, const void *octets, size_t length)
{
    const char *at = octets;
    while (length > 0) {
        const ssize_t n = iw_libc()->write(fd, at, length);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool iw_relay_read(int fd, void *octets, size_t length)
{
    char *at = octets;
    while (length > 0) {
        const ssize_t n = iw_libc()->read(fd, at, length);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool iw_relay_say(int fd, enum relay_kind kind, uint32_t value)
{
    const struct relay_head head = {kind, value};
    return iw_relay_write(fd, &head, sizeof(head));
}

/* ---- the child's end ---- */

struct relay {
    const struct iw_socket_ops *before; /* of the socket, for its options and names */
    void *before_state;
    int fd;
    pthread_mutex_t receiving, sending;
    bool asked; /* for octets that have not come */
    bool ended, write_shut;
    int error;           /* to be reported once */
    size_t first, count; /* in `octets`: not read yet */
    char octets[RELAY_MOST];
};

static struct relay *relay_of(const struct iw_socket *s)
{
    return s->state;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static bool waits(const struct iw_socket *s, int flags)
{
    return (flags & MSG_DONTWAIT) == 0 && !atomic_load(&s->nonblocking);
}

/* Returns whether an event has come within no time, or with `wait` at all. */
static bool await_event(const struct relay *r, short events, bool wait)
{
    struct pollfd one = {.fd = r->fd, .events = events};
    int ready;
    do
        ready = iw_wait(&one, 1, wait ? IW_WAIT_FOREVER : 0, NULL, false);
    while (ready < 0 && errno == EINTR && wait && iw_wait_restarts());
    if (ready == 0)
        errno = EAGAIN;
    return ready > 0;
}

static void ask(struct relay *r)
{
    if (r->asked || r->ended || r->count > 0 || r->error != 0)
        return;
    r->asked = iw_relay_say(r->fd, RELAY_WANT, RELAY_MOST);
    r->ended = !r->asked;
}

/* Takes one frame of the parent's. */
static void take(struct relay *r)
{
    struct relay_head head;
    r->asked = false;
    bool here = iw_relay_read(r->fd, &head, sizeof(head));
    if (here && head.kind == RELAY_ERROR)
        r->error = (int)head.value;
    else if (!here || head.kind != RELAY_DATA || head.value > RELAY_MOST ||
             !iw_relay_read(r->fd, r->octets, head.value))
        r->ended = true;
    else
        r->first = 0, r->count = head.value;
}

static size_t give(struct relay *r, const struct msghdr *m, bool peek)
{
    size_t done = 0;
    for (size_t i = 0; i < m->msg_iovlen && done < r->count; i++) {
        size_t part = m->msg_iov[i].iov_len;
        if (part > r->count - done)
            part = r->count - done;
        if (part > 0)
            memcpy(m->msg_iov[i].iov_base, r->octets + r->first + done, part);
        done += part;
    }
    if (!peek) {
        r->first += done;
        r->count -= done;
    }
    return done;
}

static ssize_t receive_locked(struct iw_socket *s, struct relay *r, const struct msghdr *m,
                              int flags)
{
    while (r->count == 0 && r->error == 0 && !r->ended) {
        ask(r);
        if (!r->ended && !await_event(r, POLLIN, waits(s, flags)))
            return -1;
        if (!r->ended)
            take(r);
    }
    if (r->error != 0) {
        const int error = r->error;
        r->error = 0;
        return fail(error);
    }
    return (ssize_t)give(r, m, (flags & MSG_PEEK) != 0);
}

static size_t room_in(const struct msghdr *m)
{
    size_t room = 0;
    for (size_t i = 0; i < m->msg_iovlen; i++)
        room += m->msg_iov[i].iov_len;
    return room;
}

static ssize_t relay_receive(struct iw_socket *s, struct msghdr *m, int flags)
{
    struct relay *r = relay_of(s);
    if ((flags & (MSG_OOB | MSG_ERRQUEUE | MSG_TRUNC)) != 0)
        return fail(EOPNOTSUPP);
    const size_t room = room_in(m);
    if (room == 0)
        return 0;
    pthread_mutex_lock(&r->receiving);
    ssize_t got = receive_locked(s, r, m, flags);
    while ((flags & MSG_WAITALL) != 0 && m->msg_iovlen == 1 && got > 0 && (size_t)got < room) {
        struct iovec rest = {(char *)m->msg_iov[0].iov_base + got, room - (size_t)got};
        const struct msghdr more = {.msg_iov = &rest, .msg_iovlen = 1};
        const ssize_t n = receive_locked(s, r, &more, flags);
        if (n <= 0)
            break;
        got += n;
    }
    pthread_mutex_unlock(&r->receiving);
    return got;
}

static ssize_t send_piece(struct iw_socket *s, struct relay *r, const struct iovec *piece,
                          int flags)
{
    size_t done = 0;
    while (done < piece->iov_len) {
        const size_t left = piece->iov_len - done, part = left < RELAY_MOST ? left : RELAY_MOST;
        if (!await_event(r, POLLOUT, waits(s, flags)))
            return done > 0 ? (ssize_t)done : -1;
        if (!iw_relay_say(r->fd, RELAY_DATA, (uint32_t)part) ||
            !iw_relay_write(r->fd, (char *)piece->iov_base + done, part))
            return fail(EPIPE);
        done += part;
    }
    return (ssize_t)done;
}

/* The parent's end may have gone: a write to it must not end the program unless TCP would. */
static ssize_t relay_send(struct iw_socket *s, const struct msghdr *m, int flags)
{
    struct relay *r = relay_of(s);
    ssize_t done = 0;
    if ((flags & MSG_OOB) != 0)
        return fail(EOPNOTSUPP);
    pthread_mutex_lock(&r->sending);
    for (size_t i = 0; i < m->msg_iovlen && !r->write_shut; i++) {
        const ssize_t sent =
            send_piece(s, r, &m->msg_iov[i], flags | (done > 0 ? MSG_DONTWAIT : 0));
        if (sent < 0 && done == 0)
            done = -1;
        if (sent < 0 || (done += sent, (size_t)sent < m->msg_iov[i].iov_len))
            break;
    }
    const bool broken = r->write_shut || (done < 0 && errno == EPIPE);
    pthread_mutex_unlock(&r->sending);
    if (!broken)
        return done;
    if ((flags & MSG_NOSIGNAL) == 0)
        (void)raise(SIGPIPE);
    return fail(EPIPE);
}

static int relay_shutdown(struct iw_socket *s, int how)
{
    struct relay *r = relay_of(s);
    pthread_mutex_lock(&r->sending);
    if (how != SHUT_RD)
        r->write_shut = true;
    const bool said = iw_relay_say(r->fd, RELAY_SHUT, (uint32_t)how);
    pthread_mutex_unlock(&r->sending);
    return said ? 0 : fail(ENOTCONN);
}

static void relay_close(struct iw_socket *s)
{
    struct relay *r = relay_of(s);
    (void)iw_libc()->close(r->fd);
    free(r);
}

static int relay_connect(struct iw_socket *s, int fd, const struct sockaddr *to, socklen_t length)
{
    (void)s, (void)fd, (void)to, (void)length;
    return fail(EISCONN);
}

static int relay_listen(struct iw_socket *s, int fd, int backlog)
{
    (void)s, (void)fd, (void)backlog;
    return fail(EINVAL);
}

static int relay_accept(struct iw_socket *s, int fd, struct sockaddr *from, socklen_t *length,
                        int flags)
{
    (void)s, (void)fd, (void)from, (void)length, (void)flags;
    return fail(EINVAL);
}

static int relay_get_option(struct iw_socket *s, int fd, int level, int name, void *value,
                            socklen_t *length)
{
    (void)s;
    return iw_libc()->getsockopt(fd, level, name, value, length);
}

static int relay_set_option(struct iw_socket *s, int fd, int level, int name, const void *value,
                            socklen_t length)
{
    (void)s;
    return iw_libc()->setsockopt(fd, level, name, value, length);
}

/* The state of before is still there, and names ask nobody. */
static int relay_get_name(struct iw_socket *s, int fd, bool peer, struct sockaddr *address,
                          socklen_t *length)
{
    const struct relay *r = relay_of(s);
    struct iw_socket before = {.ops = r->before, .state = r->before_state, .family = s->family};
    return r->before->get_name(&before, fd, peer, address, length);
}

static int relay_available(struct iw_socket *s, int *octets)
{
    struct relay *r = relay_of(s);
    pthread_mutex_lock(&r->receiving);
    ask(r);
    if (r->count == 0 && !r->ended && r->error == 0 && await_event(r, POLLIN, false))
        take(r);
    *octets = (int)r->count;
    pthread_mutex_unlock(&r->receiving);
    return 0;
}

static void relay_set_nonblocking(struct iw_socket *s)
{
    (void)s;
}

static short relay_prepare(struct iw_socket *s, short events, struct pollfd *wait)
{
    struct relay *r = relay_of(s);
    short ready = 0;
    *wait = (struct pollfd){.fd = r->fd, .events = (short)(events & (POLLIN | POLLOUT))};
    if ((events & (POLLIN | POLLRDHUP)) == 0)
        return 0;
    pthread_mutex_lock(&r->receiving);
    ask(r);
    wait->events |= POLLIN;
    if (r->count > 0 || r->error != 0)
        ready = (short)(events & POLLIN);
    else if (r->ended)
        ready = (short)(events & (POLLIN | POLLRDHUP));
    pthread_mutex_unlock(&r->receiving);
    return ready;
}

static short relay_finish(struct iw_socket *s, short events, const struct pollfd *wait)
{
    (void)s;
    return (short)(wait->revents & (events & (POLLIN | POLLOUT)));
}

static const struct iw_socket_ops relay_ops = {
    .receive = relay_receive,
    .send = relay_send,
    .connect = relay_connect,
    .listen = relay_listen,
    .accept = relay_accept,
    .shutdown = relay_shutdown,
    .close = relay_close,
    .get_option = relay_get_option,
    .set_option = relay_set_option,
    .get_name = relay_get_name,
    .available = relay_available,
    .set_nonblocking = relay_set_nonblocking,
    .prepare = relay_prepare,
    .finish = relay_finish,
};

/* ---- meeting ---- */

static int meeting[2] = {-1, -1}; /* of the fork that is under way: the parent's end, the child's */
static int parent_fd = -1;        /* in a child: to its parent */

/* A message: the name of a socket, and the parent's end of its relay. */
static bool pass(int to, const void *name, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec octets = {&name, sizeof(name)};
    struct msghdr m = {.msg_iov = &octets,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    return iw_libc()->sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(name);
}

/* Returns false when the child has gone; *fd is -1 if nothing was passed. */
static bool get(int from, const void **name, int *fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec octets = {name, sizeof(*name)};
    struct msghdr m = {.msg_iov = &octets,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    ssize_t got;
    do
        got = iw_libc()->recvmsg(from, &m, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    *fd = -1;
    if (c != NULL && c->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(c), sizeof(*fd));
    return got == (ssize_t)sizeof(*name);
}

/* One thread for each child that has a parent's sockets; it ends with the child. */
static void *meet(void *context)
{
    const int from = (int)(intptr_t)context;
    const void *name;
    int fd;
    while (get(from, &name, &fd)) {
        struct iw_socket *s = fd >= 0 ? iw_claim_named(name) : NULL;
        if (s != NULL && iw_relay_serve(fd, s))
            continue;
        if (fd >= 0) /* closed: the child sees the end, and claims the socket if it can */
            (void)iw_libc()->close(fd);
    }
    (void)iw_libc()->close(from);
    return NULL;
}

void iw_relay_before_fork(bool used)
{
    meeting[0] = meeting[1] = -1;
    if (used && iw_libc()->socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, meeting) != 0)
        meeting[0] = meeting[1] = -1;
}

void iw_relay_in_parent(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (meeting[0] < 0)
        return;
    (void)iw_libc()->close(meeting[1]);
    iw_turns_begin();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (iw_libc()->pthread_create(&thread, NULL, meet, (void *)(intptr_t)meeting[0]) == 0)
        pthread_detach(thread);
    else
        (void)iw_libc()->close(meeting[0]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void iw_relay_in_child(void)
{
    iw_relay_none();
    if (parent_fd >= 0)
        (void)iw_libc()->close(parent_fd);
    if (meeting[0] >= 0)
        (void)iw_libc()->close(meeting[0]);
    parent_fd = meeting[1];
}

bool iw_relay_begin(struct iw_socket *s, const void *name)
{
    int pair[2];
    struct relay *r = parent_fd >= 0 ? calloc(1, sizeof(*r)) : NULL;
    if (r == NULL || iw_libc()->socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        free(r);
        return false;
    }
    char octet;
    const bool passed = pass(parent_fd, name, pair[0]);
    (void)iw_libc()->close(pair[0]);
    /* The parent greets, or closes it. */
    if (!passed || !iw_relay_read(pair[1], &octet, 1)) {
        (void)iw_libc()->close(pair[1]);
        free(r);
        return false;
    }
    r->fd = pair[1];
    r->before = s->ops;
    r->before_state = s->state;
    pthread_mutex_init(&r->receiving, NULL);
    pthread_mutex_init(&r->sending, NULL);
    s->state = r;
    s->ops = &relay_ops;
    return true;
}
