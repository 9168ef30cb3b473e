/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed: epoll. */
#include "epoll_set.h"
#include "libc_next.h"
#include "rsocket_wait.h"
#include "rules_given.h"

#include <errno.h>

IW_INTERPOSED int epoll_create(int size)
{
    const int fd = iw_libc()->epoll_create(size);
    if (!iw_is_of_stack(
            __builtin_return_address(0))) /* which no socket of the program's is put into */
        iw_epoll_made(fd);
    return fd;
}

IW_INTERPOSED int epoll_create1(int flags)
{
    const int fd = iw_libc()->epoll_create1(flags);
    if (!iw_is_of_stack(
            __builtin_return_address(0))) /* which no socket of the program's is put into */
        iw_epoll_made(fd);
    return fd;
}

IW_INTERPOSED int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->epoll_ctl(set, operation, fd, event);
    const int result = iw_epoll_control(set, operation, fd, s, event);
    iw_socket_put(s);
    return result;
}

/* Leaves out of what the system's wait has returned what only ends it. Returns whether the rest is
 * an answer: else the wait begins anew, perhaps as ours. It had hardly run if a socket was added at
 * once, and nobody counts on the end of a wait to whose set sockets are added. */
static bool drop_nudge(int set, struct epoll_event *events, int *count)
{
    if (*count <= 0 || !iw_epoll_has_state(set))
        return true;
    *count = iw_epoll_without_nudge(set, events, *count);
    return *count > 0;
}

IW_INTERPOSED int epoll_wait(int set, struct epoll_event *events, int most, int ms)
{
    while (!iw_epoll_is_ours(set)) {
        int count = iw_libc()->epoll_wait(set, events, most, ms);
        if (drop_nudge(set, events, &count))
            return count;
    }
    return iw_epoll_wait_in(set, events, most, iw_wait_until_ms(ms), NULL);
}

IW_INTERPOSED int epoll_pwait(int set, struct epoll_event *events, int most, int ms,
                              const sigset_t *mask)
{
    while (!iw_epoll_is_ours(set)) {
        int count = iw_libc()->epoll_pwait(set, events, most, ms, mask);
        if (drop_nudge(set, events, &count))
            return count;
    }
    return iw_epoll_wait_in(set, events, most, iw_wait_until_ms(ms), mask);
}

IW_INTERPOSED int epoll_pwait2(int set, struct epoll_event *events, int most,
                               const struct timespec *t, const sigset_t *mask)
{
    while (!iw_epoll_is_ours(set)) {
        int count = iw_libc()->epoll_pwait2(set, events, most, t, mask);
        if (drop_nudge(set, events, &count))
            return count;
    }
    return iw_epoll_wait_in(set, events, most, iw_wait_until(t), mask);
}
