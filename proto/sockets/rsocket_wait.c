/* SPDX-License-Identifier: BSD-3-Clause */
/* rpoll() of librdmacm 44 has two weaknesses: one that ends by its time-out is counted as waiting
 * for ever, after which all waits spin; and it knows no signal mask. So it is always called without
 * a time-out, and its sleep, which is a poll() that comes to this library, ends it with an error of
 * ours. */
#include "rsocket_wait.h"

#include "iwarp/transport.h"
#include "libc_next.h"
#include "rsocket_made.h"
#include "rsocket_turns.h"
#include "rsockets.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum { TIME_OVER = ENOMSG, GATE_CLOSED = ENODATA, LIST = 128 }; /* poll never fails so */

struct wait {
    uint64_t until;
    const sigset_t *mask;
    uint64_t turns;
};
static _Thread_local const struct wait *waiting; /* in rpoll; else NULL */

uint64_t iw_wait_until_ms(int ms)
{
    return ms < 0 ? IW_WAIT_FOREVER : iw_transport_now() + (uint64_t)ms * 1000000u;
}

uint64_t iw_wait_until(const struct timespec *t)
{
    const uint64_t most = UINT64_C(1) << 62;
    if (t == NULL || (uint64_t)t->tv_sec > most / 1000000000u)
        return IW_WAIT_FOREVER;
    return iw_transport_now() + (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static struct timespec until_then(uint64_t until)
{
    const uint64_t now = iw_transport_now(), left = until > now ? until - now : 0;
    return (struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
}

/* poll() where it will do: our verbs serve the connections in it. */
static int wait_plainly(struct pollfd *list, nfds_t count, uint64_t until, const sigset_t *mask)
{
    const struct timespec t = until_then(until);
    const struct timespec *limit = until != IW_WAIT_FOREVER ? &t : NULL;
    if (mask != NULL || (limit != NULL && t.tv_sec > 1000000))
        return iw_libc()->ppoll(list, count, limit, mask);
    const long ms = t.tv_sec * 1000 + (t.tv_nsec + 999999) / 1000000;
    return iw_libc()->poll(list, count, limit != NULL ? (int)ms : -1);
}

/* ---- the gate ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool closed;
static unsigned inside;
static int gate_fd = -1; /* an eventfd, readable while the gate is closed */

/* Returns false if there is no descriptor for the gate. */
static bool enter(void)
{
    pthread_mutex_lock(&mutex);
    while (closed)
        pthread_cond_wait(&changed, &mutex);
    if (gate_fd < 0)
        gate_fd = iw_libc()->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const bool good = gate_fd >= 0;
    inside += good;
    pthread_mutex_unlock(&mutex);
    return good;
}

static void leave(void)
{
    pthread_mutex_lock(&mutex);
    inside--;
    if (closed)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void iw_wait_close_gate(void)
{
    const unsigned self = waiting != NULL; /* a fork in a handler of a signal */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2; /* whoever is elsewhere in librdmacm then */
    pthread_mutex_lock(&mutex);
    closed = true;
    if (gate_fd >= 0)
        (void)eventfd_write(gate_fd, 1);
    while (inside > self && pthread_cond_timedwait(&changed, &mutex, &until) == 0)
        ;
}

void iw_wait_open_gate(bool in_child)
{
    eventfd_t value;
    if (in_child) {
        if (gate_fd >= 0)
            (void)iw_libc()->close(gate_fd);
        gate_fd = -1;
        inside = 0;
        pthread_cond_init(&changed, NULL);
    } else if (gate_fd >= 0) {
        (void)eventfd_read(gate_fd, &value);
    }
    closed = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* Waits as wait_plainly, but not longer than the gate is open. */
static int wait_at_gate(struct pollfd *list, nfds_t count, uint64_t until, const sigset_t *mask)
{
    struct pollfd few[LIST], *all = few;
    if (count >= LIST && (all = malloc((count + 1) * sizeof(*all))) == NULL) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(all, list, count * sizeof(*all));
    all[count] = (struct pollfd){.fd = gate_fd, .events = POLLIN};
    int result = wait_plainly(all, count + 1, until, mask);
    const int error = errno;
    memcpy(list, all, count * sizeof(*all));
    if (result > 0 && all[count].revents != 0)
        result = result > 1 ? result - 1 : -1;
    errno = result < 0 && all[count].revents != 0 ? GATE_CLOSED : error;
    if (all != few)
        free(all);
    return result;
}

/* ---- rpoll ---- */

/* With a limit in which rpoll wants to look again. */
bool iw_wait_in_rpoll(struct pollfd *list, nfds_t count, int ms, int *result)
{
    const struct wait *w = waiting;
    if (w == NULL || ms == 0)
        return false;
    const uint64_t again = iw_wait_until_ms(ms);
    iw_turns_give(w->turns);
    *result = wait_at_gate(list, count, again < w->until ? again : w->until, w->mask);
    const int error = errno;
    iw_turns_take_again(w->turns);
    errno = error;
    if (*result == 0 && iw_transport_now() >= w->until) {
        errno = TIME_OVER;
        *result = -1;
    }
    return true;
}

/* How rpoll waits until others have left theirs, who may want a turn for that. */
IW_INTERPOSED int sched_yield(void)
{
    const struct wait *w = waiting;
    if (w == NULL || w->turns == 0)
        return iw_libc()->sched_yield();
    iw_turns_give(w->turns);
    const int result = iw_libc()->sched_yield();
    iw_turns_take_again(w->turns);
    return result;
}

int iw_wait(struct pollfd *list, nfds_t count, uint64_t until, const sigset_t *mask, bool rsockets)
{
    struct wait w = {until, mask, 0};
    if (!rsockets)
        return wait_plainly(list, count, until, mask);
    int result;
    do {
        const bool look = until <= iw_transport_now();
        if (!enter())
            return -1;
        w.turns = iw_turns_take(list, count);
        waiting = &w;
        iw_made_in_rpoll(true);
        result = iw_rsockets()->rpoll(list, count, look ? 0 : -1);
        iw_made_in_rpoll(false);
        waiting = NULL;
        iw_turns_give(w.turns);
        leave();
    } while (result < 0 && errno == GATE_CLOSED);
    return result < 0 && errno == TIME_OVER ? 0 : result;
}

bool iw_wait_restarts(void)
{
    const int saved = errno;
    bool restarts = true;
    for (int signal = 1; signal < NSIG && restarts; signal++) {
        struct sigaction a;
        if (sigaction(signal, NULL, &a) == 0 && a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN)
            restarts = (a.sa_flags & SA_RESTART) != 0;
    }
    errno = saved;
    return restarts;
}
