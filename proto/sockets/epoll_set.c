/* SPDX-License-Identifier: BSD-3-Clause */
#include "epoll_set.h"

#include "epoll_asked.h"
#include "fork_claim.h"
#include "iwarp/transport.h"
#include "libc_next.h"
#include "rsocket_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum { ENDS = EPOLLRDHUP | EPOLLHUP | EPOLLERR, AGAIN = 2 /* ms */ };

struct entry {
    int fd;
    struct iw_socket *socket; /* not used by the entry: it is gone when its number is closed */
    uint32_t events;
    epoll_data_t data;
    bool spent;              /* one-shot, and reported */
    uint32_t reported;       /* edge-triggered: reported, and nothing has happened since */
    unsigned received, held; /* the socket's counters then */
};

struct waiter {
    int fd; /* an eventfd of the thread */
    struct waiter *next;
};

struct iw_epoll_set {
    struct entry *entries;
    size_t count, room, first; /* where the next wait begins to look */
    struct waiter *waiters;
    unsigned uses; /* numbers, and waits under way */
    bool plain_last;
    int nudge; /* an eventfd in the system's set, which ends waits that began before; -1: none */
};

static _Atomic(struct iw_epoll_set *) sets[IW_SOCKETS_NUMBERS];
static _Atomic uint8_t is_set[IW_SOCKETS_NUMBERS];
static _Atomic int highest = -1;                          /* of all sets */
static _Atomic unsigned ours;                             /* sets with state here */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all of them */

static bool is_number(int fd)
{
    return fd >= 0 && fd < IW_SOCKETS_NUMBERS;
}

int iw_epoll_highest(void)
{
    return atomic_load(&highest);
}

void iw_epoll_made(int fd)
{
    if (!is_number(fd))
        return;
    atomic_store(&is_set[fd], 1);
    int known = atomic_load(&highest);
    while (known < fd && !atomic_compare_exchange_weak(&highest, &known, fd))
        ;
}

/* ---- with the mutex ---- */

static struct entry *find(struct iw_epoll_set *set, int fd)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->entries[i].fd == fd)
            return &set->entries[i];
    return NULL;
}

static void wake(struct iw_epoll_set *set)
{
    for (struct waiter *w = set->waiters; w != NULL; w = w->next)
        (void)eventfd_write(w->fd, 1);
}

static void drop(struct iw_epoll_set *set)
{
    if (--set->uses > 0)
        return;
    if (set->nudge >= 0)
        iw_libc()->close(set->nudge);
    atomic_fetch_sub(&ours, 1);
    free(set->entries);
    free(set);
}

static struct iw_epoll_set *make(int number)
{
    struct iw_epoll_set *set = atomic_load(&sets[number]);
    if (set != NULL)
        return set;
    set = calloc(1, sizeof(*set));
    if (set == NULL)
        return NULL;
    set->uses = 1;
    set->nudge = -1;
    atomic_fetch_add(&ours, 1);
    atomic_store(&sets[number], set);
    return set;
}

static int add(struct iw_epoll_set *set, int fd, struct iw_socket *s, const struct epoll_event *e)
{
    if (set->count == set->room) {
        const size_t room = set->room > 0 ? 2 * set->room : 8;
        struct entry *more = realloc(set->entries, room * sizeof(*more));
        if (more == NULL)
            return ENOMEM;
        set->entries = more;
        set->room = room;
    }
    set->entries[set->count++] =
        (struct entry){.fd = fd, .socket = s, .events = e->events, .data = e->data};
    return 0;
}

static void remove_entry(struct iw_epoll_set *set, struct entry *e)
{
    *e = set->entries[--set->count];
}

/* Threads that wait for the set already wait for the system's: has one of them look again. */
static const char nudge_mark;

static void nudge(struct iw_epoll_set *set, int number)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)(uintptr_t)&nudge_mark};
    if (set->nudge >= 0)
        return;
    set->nudge = iw_libc()->eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set->nudge >= 0)
        (void)iw_libc()->epoll_ctl(number, EPOLL_CTL_ADD, set->nudge, &e);
}

int iw_epoll_without_nudge(int number, struct epoll_event *events, int count)
{
    int kept = 0;
    bool seen = false;
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 != (uint64_t)(uintptr_t)&nudge_mark)
            events[kept++] = events[i];
        else
            seen = true;
    }
    if (!seen)
        return count;
    pthread_mutex_lock(&mutex);
    struct iw_epoll_set *set = atomic_load(&sets[number]);
    if (set != NULL && set->nudge >= 0) {
        (void)iw_libc()->epoll_ctl(number, EPOLL_CTL_DEL, set->nudge, NULL);
        (void)iw_libc()->close(set->nudge);
        set->nudge = -1;
    }
    pthread_mutex_unlock(&mutex);
    return kept;
}

/* ---- numbers ---- */

static void forget_set(int fd)
{
    struct iw_epoll_set *set = atomic_exchange(&sets[fd], NULL);
    atomic_store(&is_set[fd], 0);
    if (set != NULL)
        drop(set);
}

void iw_epoll_forget(int fd, bool socket)
{
    if (!is_number(fd) || (atomic_load_explicit(&is_set[fd], memory_order_relaxed) == 0 &&
                           (!socket || atomic_load(&ours) == 0)))
        return;
    pthread_mutex_lock(&mutex);
    if (atomic_load(&is_set[fd]) != 0)
        forget_set(fd);
    for (int at = 0; at <= atomic_load(&highest); at++) {
        struct iw_epoll_set *set = atomic_load(&sets[at]);
        struct entry *e = set != NULL ? find(set, fd) : NULL;
        if (e != NULL)
            remove_entry(set, e);
    }
    pthread_mutex_unlock(&mutex);
}

void iw_epoll_copied(int from, int to)
{
    if (!is_number(from) || !is_number(to) || atomic_load(&is_set[from]) == 0)
        return;
    iw_epoll_made(to);
    pthread_mutex_lock(&mutex);
    struct iw_epoll_set *set = make(from);
    if (set != NULL) {
        set->uses++;
        atomic_store(&sets[to], set);
    }
    pthread_mutex_unlock(&mutex);
}

static void take_from(int number, int fd, struct iw_socket *s)
{
    struct epoll_event event;
    if (!iw_epoll_asked(number, fd, &event) ||
        iw_libc()->epoll_ctl(number, EPOLL_CTL_DEL, fd, NULL) != 0)
        return;
    (void)iw_epoll_control(number, EPOLL_CTL_ADD, fd, s, &event);
}

void iw_epoll_take(int fd)
{
    const int saved = errno, last = atomic_load(&highest);
    struct iw_socket *s = last >= 0 ? iw_socket_get(fd) : NULL;
    for (int at = 0; s != NULL && at <= last; at++)
        if (atomic_load(&is_set[at]) != 0)
            take_from(at, fd, s);
    if (s != NULL)
        iw_socket_put(s);
    errno = saved;
}

void iw_epoll_give(int fd)
{
    const int saved = errno;
    pthread_mutex_lock(&mutex);
    for (int at = 0; at <= atomic_load(&highest); at++) {
        struct iw_epoll_set *set = atomic_load(&sets[at]);
        struct entry *e = set != NULL ? find(set, fd) : NULL;
        if (e == NULL)
            continue;
        struct epoll_event event = {e->events, e->data};
        remove_entry(set, e);
        (void)iw_libc()->epoll_ctl(at, EPOLL_CTL_ADD, fd, &event);
        wake(set);
    }
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

/* ---- epoll_ctl ---- */

static int control(struct iw_epoll_set *set, int operation, int fd, struct iw_socket *s,
                   const struct epoll_event *event)
{
    struct entry *e = find(set, fd);
    switch (operation) {
    case EPOLL_CTL_ADD:
        return e != NULL ? EEXIST : add(set, fd, s, event);
    case EPOLL_CTL_MOD:
        if (e != NULL)
            *e =
                (struct entry){.fd = fd, .socket = s, .events = event->events, .data = event->data};
        return e != NULL ? 0 : ENOENT;
    case EPOLL_CTL_DEL:
        if (e != NULL)
            remove_entry(set, e);
        return e != NULL ? 0 : ENOENT;
    default:
        return EINVAL;
    }
}

int iw_epoll_control(int number, int operation, int fd, struct iw_socket *s,
                     const struct epoll_event *event)
{
    if (event == NULL && operation != EPOLL_CTL_DEL) {
        errno = EFAULT;
        return -1;
    }
    if (!is_number(number) || iw_libc()->fcntl(number, F_GETFD) < 0) {
        errno = EBADF;
        return -1;
    }
    if (atomic_load(&is_set[number]) == 0 && !iw_epoll_is_set(number, fd)) {
        errno = EINVAL;
        return -1;
    }
    iw_epoll_made(number);
    pthread_mutex_lock(&mutex);
    struct iw_epoll_set *set = make(number);
    const int error = set != NULL ? control(set, operation, fd, s, event) : ENOMEM;
    if (error == 0)
        wake(set);
    if (error == 0 && operation == EPOLL_CTL_ADD && set->count == 1)
        nudge(set, number);
    pthread_mutex_unlock(&mutex);
    errno = error != 0 ? error : errno;
    return error == 0 ? 0 : -1;
}

/* ---- waiting ---- */

bool iw_epoll_has_state(int number)
{
    return is_number(number) && atomic_load_explicit(&sets[number], memory_order_acquire) != NULL;
}

bool iw_epoll_is_ours(int number)
{
    if (!is_number(number))
        return false;
    const struct iw_epoll_set *set = atomic_load_explicit(&sets[number], memory_order_acquire);
    return set != NULL && set->count > 0;
}

/* One that a wait looks at. */
struct look {
    int fd;
    struct iw_socket *socket; /* with a use */
    uint32_t events;          /* that are not reported yet */
    bool spent;               /* all that it asks for has been reported: an edge comes by a call */
    short found;
    unsigned received, held;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local int thread_fd = -1;

static void close_thread_fd(void *value)
{
    iw_libc()->close((int)(intptr_t)value - 1);
    thread_fd = -1;
}

static void make_key(void)
{
    (void)pthread_key_create(&key, close_thread_fd);
}

/* Returns the eventfd with which this thread is woken, or -1. */
static int fd_of_thread(void)
{
    pthread_once(&once, make_key);
    if (thread_fd < 0 && (thread_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0)
        (void)pthread_setspecific(key, (void *)(intptr_t)(thread_fd + 1));
    return thread_fd;
}

/* Returns what is still to be reported of an edge-triggered entry. */
static uint32_t unreported(struct entry *e, unsigned received, unsigned held)
{
    if (e->received != received)
        e->reported &= ~(uint32_t)(EPOLLIN | EPOLLRDNORM | EPOLLRDHUP);
    if (e->held != held)
        e->reported &= ~(uint32_t)(EPOLLOUT | EPOLLWRNORM);
    if ((e->reported & (EPOLLHUP | EPOLLERR)) != 0)
        return 0;
    return e->events & ~(e->reported | ((e->reported & EPOLLIN) != 0 ? (uint32_t)EPOLLRDHUP : 0));
}

static bool look_at(struct entry *e, struct look *look)
{
    struct iw_socket *s = iw_socket_get(e->fd);
    if (s == NULL)
        return false;
    look->received = atomic_load(&s->received);
    look->held = atomic_load(&s->held);
    const bool edge = (e->events & EPOLLET) != 0;
    if (edge)
        atomic_store(&s->edges, true);
    look->events = edge ? unreported(e, look->received, look->held) : e->events;
    look->spent = edge && (look->events & 0xffff) == 0;
    look->fd = e->fd;
    look->socket = s;
    look->found = 0;
    return true;
}

/* With the mutex. Returns how many there are to look at. */
static size_t collect(struct iw_epoll_set *set, struct look *looks)
{
    size_t used = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct entry *e = &set->entries[(set->first + i) % set->count];
        if (!e->spent && look_at(e, &looks[used]))
            used++;
    }
    set->first = set->count > 0 ? (set->first + 1) % set->count : 0;
    return used;
}

/* With the mutex: the entry, unless it has changed hands. Returns whether *out is to be reported.
 */
static bool report(struct iw_epoll_set *set, const struct look *look, struct epoll_event *out)
{
    struct entry *e = find(set, look->fd);
    if (e == NULL || e->socket != look->socket || e->spent)
        return false;
    const uint32_t found = (uint32_t)(uint16_t)look->found & (e->events | EPOLLHUP | EPOLLERR);
    if (found == 0)
        return false;
    if ((e->events & EPOLLET) != 0) {
        if ((found & ~e->reported) == 0)
            return false;
        e->reported |= found;
        e->received = look->received;
        e->held = look->held;
    }
    e->spent = (e->events & EPOLLONESHOT) != 0;
    *out = (struct epoll_event){found, e->data};
    return true;
}

static int report_all(struct iw_epoll_set *set, const struct look *looks, size_t count,
                      struct epoll_event *out, int most)
{
    int done = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count && done < most; i++)
        if (looks[i].found != 0 && report(set, &looks[i], &out[done]))
            done++;
    pthread_mutex_unlock(&mutex);
    return done;
}

/* The numbers of poll's and epoll's events are the same on Linux. */
static void prepare(struct look *looks, struct pollfd *polls, size_t count, bool *at_once,
                    bool *rsockets)
{
    for (size_t i = 0; i < count; i++) {
        struct iw_socket *s = looks[i].socket;
        if (looks[i].spent && s->ops->rsocket) {
            polls[i] = (struct pollfd){.fd = -1};
            continue;
        }
        if (!iw_claim(s)) {
            polls[i] = (struct pollfd){.fd = -1};
            looks[i].found =
                (short)((looks[i].events & (EPOLLIN | EPOLLOUT)) | EPOLLERR | EPOLLHUP);
            *at_once = true;
            continue;
        }
        looks[i].found = s->ops->prepare(s, (short)(looks[i].events & 0xffff), &polls[i]);
        *at_once = *at_once || looks[i].found != 0;
        *rsockets = *rsockets || s->ops->rsocket;
    }
}

/* After a wait, asks each socket again for the events that it was asked for. */
static void finish(struct look *looks, const struct pollfd *polls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct iw_socket *s = looks[i].socket;
        if (atomic_load(&s->hold) == IW_HOLD_OURS)
            looks[i].found |= s->ops->finish(s, (short)(looks[i].events & 0xffff), &polls[i]);
        iw_socket_put(s);
    }
}

static int plain_events(int number, const struct pollfd *poll, struct epoll_event *out, int most)
{
    if (poll->revents == 0 || most <= 0)
        return 0;
    const int got = iw_libc()->epoll_wait(number, out, most, 0);
    return got > 0 ? iw_epoll_without_nudge(number, out, got) : 0;
}

/* Waits for events and looks once at all. Returns how many there are, or -1 with errno set; *over:
 * a wait was at its end, *futile: something was ready that concerns nobody. */
static int wait_and_look(struct iw_epoll_set *set, int number, struct epoll_event *out, int most,
                         uint64_t until, const sigset_t *mask, bool *over, bool *futile)
{
    struct waiter self = {.fd = fd_of_thread()};
    bool at_once = false, rsockets = false;
    pthread_mutex_lock(&mutex);
    const size_t room = set->count;
    struct look *looks = malloc((room + 1) * sizeof(*looks));
    struct pollfd *polls = malloc((room + 2) * sizeof(*polls));
    if (looks == NULL || polls == NULL || self.fd < 0) {
        pthread_mutex_unlock(&mutex);
        free(looks);
        free(polls);
        errno = ENOMEM;
        return -1;
    }
    const size_t count = collect(set, looks);
    const bool plain_last = set->plain_last = !set->plain_last;
    self.next = set->waiters;
    set->waiters = &self;
    pthread_mutex_unlock(&mutex);
    prepare(looks, polls + 2, count, &at_once, &rsockets);
    polls[0] = (struct pollfd){.fd = number, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = self.fd, .events = POLLIN};
    const int result = iw_wait(polls, count + 2, at_once ? 0 : until, mask, rsockets);
    const int error = errno;
    if (result <= 0) /* what a failed wait has left is nothing */
        for (size_t i = 0; i < count + 2; i++)
            polls[i].revents = 0;
    finish(looks, polls + 2, count);
    pthread_mutex_lock(&mutex);
    struct waiter **w = &set->waiters;
    while (*w != &self)
        w = &(*w)->next;
    *w = self.next;
    pthread_mutex_unlock(&mutex);
    eventfd_t value;
    if (polls[1].revents != 0)
        (void)eventfd_read(self.fd, &value);
    int done = plain_last ? 0 : plain_events(number, &polls[0], out, most);
    done += report_all(set, looks, count, out + done, most - done);
    if (plain_last)
        done += plain_events(number, &polls[0], out + done, most - done);
    *over = result == 0;
    *futile = result > 0 && done == 0 && polls[1].revents == 0 && polls[0].revents == 0;
    free(looks);
    free(polls);
    errno = error;
    return result < 0 && done == 0 ? -1 : done;
}

static int wait_in(struct iw_epoll_set *set, int number, struct epoll_event *out, int most,
                   uint64_t until, const sigset_t *mask)
{
    for (;;) {
        bool over, futile;
        const int done = wait_and_look(set, number, out, most, until, mask, &over, &futile);
        if (done != 0)
            return done;
        if ((over || futile) && iw_transport_now() >= until)
            return 0;
        const uint64_t again = iw_wait_until_ms(AGAIN);
        if (futile && iw_wait(NULL, 0, again < until ? again : until, mask, false) < 0)
            return -1;
    }
}

int iw_epoll_wait_in(int number, struct epoll_event *events, int most, uint64_t until,
                     const sigset_t *mask)
{
    if (most <= 0) {
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_lock(&mutex);
    struct iw_epoll_set *set = atomic_load(&sets[number]);
    if (set != NULL)
        set->uses++;
    pthread_mutex_unlock(&mutex);
    if (set == NULL) {
        errno = EBADF;
        return -1;
    }
    const int result = wait_in(set, number, events, most, until, mask);
    const int saved = errno;
    pthread_mutex_lock(&mutex);
    drop(set);
    pthread_mutex_unlock(&mutex);
    errno = saved;
    return result;
}

void iw_epoll_stir(struct iw_socket *s)
{
    const int saved = errno;
    pthread_mutex_lock(&mutex);
    for (int at = 0; at <= atomic_load(&highest); at++) {
        struct iw_epoll_set *set = atomic_load(&sets[at]);
        if (set == NULL || set->waiters == NULL)
            continue;
        for (size_t i = 0; i < set->count; i++)
            if (set->entries[i].socket == s)
                wake(set);
    }
    pthread_mutex_unlock(&mutex);
    errno = saved;
}

/* ---- fork ---- */

void iw_epoll_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void iw_epoll_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void iw_epoll_in_child(void)
{
    for (int at = 0; at <= atomic_load(&highest); at++) {
        struct iw_epoll_set *set = atomic_load(&sets[at]);
        if (set != NULL)
            set->waiters = NULL;
    }
    if (thread_fd >= 0) { /* the parent's */
        (void)iw_libc()->close(thread_fd);
        thread_fd = -1;
        (void)pthread_setspecific(key, NULL);
    }
    pthread_mutex_unlock(&mutex);
}
