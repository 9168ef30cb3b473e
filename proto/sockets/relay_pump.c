/* SPDX-License-Identifier: BSD-3-Clause */
/* The parent's end of a relay: a thread that sends for the child, and one that receives for it. */
#include "descriptors.h"
#include "fork_relay.h"
#include "libc_next.h"
#include "relay_frame.h"
#include "rsocket_wait.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct pump {
    struct iw_socket *socket;
    int fd;
    int want_fd; /* an eventfd: the child wants octets, or has gone */
    atomic_bool gone;
    _Atomic unsigned threads;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fewer = PTHREAD_COND_INITIALIZER;
static unsigned pumps;

static void leave(struct pump *p)
{
    if (atomic_fetch_sub(&p->threads, 1) != 1)
        return;
    (void)iw_libc()->close(p->fd);
    (void)iw_libc()->close(p->want_fd);
    iw_socket_put(p->socket);
    free(p);
    pthread_mutex_lock(&mutex);
    pumps--;
    pthread_cond_broadcast(&fewer);
    pthread_mutex_unlock(&mutex);
}

/* Waits for one event of the socket. */
static void await_socket(struct pump *p, short events, bool also_gone)
{
    struct iw_socket *s = p->socket;
    struct pollfd list[2] = {{.fd = -1}, {.fd = also_gone ? p->want_fd : -1, .events = POLLIN}};
    const bool at_once = s->ops->prepare(s, events, &list[0]) != 0;
    (void)iw_wait(list, 2, at_once ? 0 : IW_WAIT_FOREVER, NULL, s->ops->rsocket);
    (void)s->ops->finish(s, events, &list[0]);
}

static bool send_all(struct pump *p, char *octets, size_t length)
{
    struct iw_socket *s = p->socket;
    for (size_t done = 0; done < length;) {
        struct iovec piece = {octets + done, length - done};
        const struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
        const ssize_t sent = s->ops->send(s, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0)
            done += (size_t)sent;
        else if (errno == EAGAIN || errno == EINTR)
            await_socket(p, POLLOUT, false);
        else
            return false;
    }
    return true;
}

static bool carry_out(struct pump *p, const struct relay_head *head, char *octets)
{
    switch (head->kind) {
    case RELAY_DATA:
        /* What cannot be sent is dropped: the child learns it from its receives. */
        if (head->value > RELAY_MOST || !iw_relay_read(p->fd, octets, head->value))
            return false;
        (void)send_all(p, octets, head->value);
        return true;
    case RELAY_WANT:
        return eventfd_write(p->want_fd, 1) == 0;
    case RELAY_SHUT:
        (void)p->socket->ops->shutdown(p->socket, (int)head->value);
        return true;
    default:
        return false;
    }
}

static void *send_for_child(void *context)
{
    struct pump *p = context;
    struct relay_head head;
    char *octets = malloc(RELAY_MOST);
    while (octets != NULL && iw_relay_read(p->fd, &head, sizeof(head)) &&
           carry_out(p, &head, octets))
        ;
    free(octets);
    atomic_store(&p->gone, true);
    (void)eventfd_write(p->want_fd, 1);
    leave(p);
    return NULL;
}

/* Whether the child has closed its end, which the thread that reads from it may not know yet. */
static bool has_gone(const struct pump *p)
{
    struct pollfd one = {.fd = p->fd, .events = POLLRDHUP};
    return atomic_load(&p->gone) || iw_libc()->poll(&one, 1, 0) > 0;
}

static ssize_t receive_now(struct pump *p, char *octets, size_t length, int flags)
{
    struct iovec piece = {octets, length};
    struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
    return p->socket->ops->receive(p->socket, &m, flags | MSG_DONTWAIT);
}

/* Returns what a receive returns, having waited; 0 as well if the child has gone: what comes after
 * that is its parent's. So first there are octets, then the child is still there, and then they are
 * taken. */
static ssize_t receive_from_socket(struct pump *p, char *octets)
{
    while (!has_gone(p)) {
        ssize_t got = receive_now(p, octets, 1, MSG_PEEK);
        if (got > 0 && has_gone(p))
            return 0;
        if (got > 0)
            got = receive_now(p, octets, RELAY_MOST, 0);
        if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            return got;
        await_socket(p, POLLIN, true);
    }
    return 0;
}

static bool answer(struct pump *p, char *octets)
{
    const ssize_t got = receive_from_socket(p, octets);
    if (got < 0)
        return iw_relay_say(p->fd, RELAY_ERROR, (uint32_t)errno);
    if (got == 0)
        return iw_relay_say(p->fd, RELAY_END, 0);
    return iw_relay_say(p->fd, RELAY_DATA, (uint32_t)got) &&
           iw_relay_write(p->fd, octets, (size_t)got);
}

static void *receive_for_child(void *context)
{
    struct pump *p = context;
    struct pollfd want = {.fd = p->want_fd, .events = POLLIN};
    char *octets = malloc(RELAY_MOST);
    eventfd_t value;
    while (octets != NULL && iw_libc()->poll(&want, 1, -1) != 0 && !atomic_load(&p->gone))
        if (eventfd_read(p->want_fd, &value) == 0 && !atomic_load(&p->gone) && !answer(p, octets))
            break;
    free(octets);
    leave(p);
    return NULL;
}

static bool start(void *(*run)(void *), struct pump *p)
{
    pthread_t thread;
    if (iw_libc()->pthread_create(&thread, NULL, run, p) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

bool iw_relay_serve(int fd, struct iw_socket *s)
{
    struct pump *p = calloc(1, sizeof(*p));
    const int want_fd = p != NULL ? iw_libc()->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (want_fd < 0 || !iw_relay_write(fd, "", 1)) {
        if (want_fd >= 0)
            (void)iw_libc()->close(want_fd);
        free(p);
        iw_socket_put(s);
        return false;
    }
    p->socket = s;
    p->fd = fd;
    p->want_fd = want_fd;
    atomic_store(&p->threads, 3); /* this one as well */
    pthread_mutex_lock(&mutex);
    pumps++;
    pthread_mutex_unlock(&mutex);
    /* The last of the three frees it. NOLINTBEGIN(clang-analyzer-unix.Malloc) */
    if (!start(send_for_child, p)) {
        atomic_store(&p->gone, true);
        leave(p);
        leave(p);
    } else if (!start(receive_for_child, p)) {
        leave(p);
    }
    leave(p);
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
    return true;
}

void iw_relay_none(void)
{
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&fewer, NULL);
    pumps = 0;
}

void iw_relay_finish(void)
{
    pthread_mutex_lock(&mutex);
    while (pumps > 0)
        pthread_cond_wait(&fewer, &mutex);
    pthread_mutex_unlock(&mutex);
}
