/* SPDX-License-Identifier: BSD-3-Clause */
/* rpoll() of librdmacm 44 has two weaknesses: one that ends by its time-out is counted as waiting
 * for ever, after which all waits spin; and it knows no signal mask. So it is always called without
 * a time-out, and its sleep, which is a poll() that comes to this library, ends it with an error of
 * ours. */
#include "rsocket_wait.h"

#include "libc_next.h"
#include "rsockets.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>

enum { TIME_OVER = ENOMSG }; /* poll never fails so */

struct wait {
    uint64_t until;
    const sigset_t *mask;
};
static _Thread_local const struct wait *waiting; /* in rpoll; else NULL */

uint64_t iw_wait_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t iw_wait_until_ms(int ms)
{
    return ms < 0 ? IW_WAIT_FOREVER : iw_wait_now() + (uint64_t)ms * 1000000u;
}

uint64_t iw_wait_until(const struct timespec *t)
{
    const uint64_t most = UINT64_C(1) << 62;
    if (t == NULL || (uint64_t)t->tv_sec > most / 1000000000u)
        return IW_WAIT_FOREVER;
    return iw_wait_now() + (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static struct timespec until_then(uint64_t until)
{
    const uint64_t now = iw_wait_now(), left = until > now ? until - now : 0;
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

/* With a limit in which rpoll wants to look again. */
bool iw_wait_in_rpoll(struct pollfd *list, nfds_t count, int ms, int *result)
{
    const struct wait *w = waiting;
    if (w == NULL || ms == 0)
        return false;
    const uint64_t again = iw_wait_until_ms(ms);
    *result = wait_plainly(list, count, again < w->until ? again : w->until, w->mask);
    if (*result == 0 && iw_wait_now() >= w->until) {
        errno = TIME_OVER;
        *result = -1;
    }
    return true;
}

int iw_wait(struct pollfd *list, nfds_t count, uint64_t until, const sigset_t *mask, bool rsockets)
{
    const struct wait w = {until, mask};
    if (!rsockets)
        return wait_plainly(list, count, until, mask);
    const bool look = until <= iw_wait_now();
    waiting = &w;
    int result = iw_rsockets()->rpoll(list, count, look ? 0 : -1);
    waiting = NULL;
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
