/* SPDX-License-Identifier: BSD-3-Clause */
#include "descriptors.h"

#include "epoll_set.h"
#include "exec_lost.h"
#include "fork_claim.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

_Atomic(struct iw_socket *) iw_socket_numbers[IW_SOCKETS_NUMBERS];

/* A lookup may meet a socket that another thread has just closed. Its memory stays a socket, so
 * that the count can be read, and another one that lives there by now is noticed. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct iw_socket *free_sockets;
static _Atomic int highest = -1; /* of the numbers that have been iWARP */

int iw_sockets_highest(void)
{
    return atomic_load(&highest);
}

void iw_sockets_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void iw_sockets_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void iw_sockets_each(void (*visit)(struct iw_socket *s))
{
    static _Atomic unsigned walks;
    const int last = atomic_load(&highest);
    const unsigned walk = atomic_fetch_add(&walks, 1) + 1;
    for (int fd = 0; fd <= last; fd++) {
        struct iw_socket *s = atomic_load(&iw_socket_numbers[fd]);
        if (s != NULL && atomic_exchange(&s->visited, walk) != walk)
            visit(s);
    }
}

bool iw_socket_hold(struct iw_socket *s)
{
    unsigned uses = atomic_load(&s->uses);
    while (uses != 0 && !atomic_compare_exchange_weak(&s->uses, &uses, uses + 1))
        ;
    return uses != 0;
}

struct iw_socket *iw_socket_create(const struct iw_socket_ops *ops, void *state, int family)
{
    pthread_mutex_lock(&mutex);
    struct iw_socket *s = free_sockets;
    if (s != NULL)
        free_sockets = s->next_free;
    pthread_mutex_unlock(&mutex);
    if (s == NULL && (s = calloc(1, sizeof(*s))) == NULL)
        return NULL;
    s->ops = ops;
    s->state = state;
    s->family = family;
    atomic_store(&s->nonblocking, false);
    atomic_store(&s->edges, false);
    atomic_store(&s->numbers, 0);
    atomic_store(&s->hold, IW_HOLD_OURS);
    s->claim = NULL;
    s->user_timeout = 0;
    s->inherited = s->relayed = false;
    atomic_store(&s->uses, 1);
    return s;
}

void iw_socket_put(struct iw_socket *s)
{
    const int saved = errno;
    if (atomic_fetch_sub(&s->uses, 1) != 1)
        return;
    iw_claim_before_close(s);
    s->ops->close(s);
    iw_claim_drop(s);
    pthread_mutex_lock(&mutex);
    s->next_free = free_sockets;
    free_sockets = s;
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

struct iw_socket *iw_socket_use(int fd)
{
    for (;;) {
        struct iw_socket *s = atomic_load(&iw_socket_numbers[fd]);
        if (s == NULL)
            return NULL;
        if (!iw_socket_hold(s)) /* closed since, so the number has changed */
            continue;
        if (atomic_load(&iw_socket_numbers[fd]) == s)
            return s;
        iw_socket_put(s);
    }
}

int iw_socket_attach(int fd, struct iw_socket *s)
{
    if (fd < 0 || fd >= IW_SOCKETS_NUMBERS) {
        errno = EMFILE;
        return -1;
    }
    atomic_fetch_add(&s->uses, 1);
    if (atomic_fetch_add(&s->numbers, 1) == 0)
        iw_exec_mark(fd);
    int known = atomic_load(&highest);
    while (known < fd && !atomic_compare_exchange_weak(&highest, &known, fd))
        ;
    struct iw_socket *before = atomic_exchange(&iw_socket_numbers[fd], s);
    if (before != NULL) {
        atomic_fetch_sub(&before->numbers, 1);
        iw_socket_put(before);
    }
    return 0;
}

struct iw_socket *iw_socket_detach(int fd)
{
    if (fd < 0 || fd >= IW_SOCKETS_NUMBERS)
        return NULL;
    struct iw_socket *s = atomic_load_explicit(&iw_socket_numbers[fd], memory_order_relaxed) != NULL
                              ? atomic_exchange(&iw_socket_numbers[fd], NULL)
                              : NULL;
    if (s != NULL)
        atomic_fetch_sub(&s->numbers, 1);
    return s;
}

void iw_socket_make_plain(int fd)
{
    const int saved = errno;
    iw_epoll_give(fd);
    struct iw_socket *s = iw_socket_detach(fd);
    if (s != NULL) {
        iw_exec_unmark(fd, s->user_timeout);
        iw_socket_put(s);
    }
    errno = saved;
}
