/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed: poll and select. */
#include "poll_list.h"

#include "descriptors.h"
#include "iwarp/transport.h"
#include "libc_next.h"
#include "rsocket_wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

IW_INTERPOSED int poll(struct pollfd *list, nfds_t count, int ms)
{
    int result;
    if (iw_wait_in_rpoll(list, count, ms, &result))
        return result;
    if (!iw_poll_list_has(list, count))
        return iw_libc()->poll(list, count, ms);
    return iw_poll_list(list, count, iw_wait_until_ms(ms), NULL);
}

IW_INTERPOSED int ppoll(struct pollfd *list, nfds_t count, const struct timespec *t,
                        const sigset_t *mask)
{
    if (!iw_poll_list_has(list, count))
        return iw_libc()->ppoll(list, count, t, mask);
    return iw_poll_list(list, count, iw_wait_until(t), mask);
}

/* ---- select ---- */

static bool sets_have(int count, const fd_set *in, const fd_set *out, const fd_set *except)
{
    for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++)
        if (atomic_load_explicit(&iw_socket_numbers[fd], memory_order_relaxed) != NULL &&
            ((in != NULL && FD_ISSET(fd, in)) || (out != NULL && FD_ISSET(fd, out)) ||
             (except != NULL && FD_ISSET(fd, except))))
            return true;
    return false;
}

static short wanted(int fd, const fd_set *in, const fd_set *out, const fd_set *except)
{
    return (short)((in != NULL && FD_ISSET(fd, in) ? POLLIN : 0) |
                   (out != NULL && FD_ISSET(fd, out) ? POLLOUT : 0) |
                   (except != NULL && FD_ISSET(fd, except) ? POLLPRI : 0));
}

static int report(fd_set *set, const struct pollfd *entry, short events, short counted)
{
    if (set == NULL || (entry->events & events) == 0)
        return 0;
    if ((entry->revents & counted) != 0)
        return 1;
    FD_CLR(entry->fd, set);
    return 0;
}

static int select_list(int count, fd_set *in, fd_set *out, fd_set *except, uint64_t until,
                       const sigset_t *mask)
{
    struct pollfd list[FD_SETSIZE];
    nfds_t used = 0;
    int found = 0;
    for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++) {
        const short events = wanted(fd, in, out, except);
        if (events != 0)
            list[used++] = (struct pollfd){.fd = fd, .events = events};
    }
    const int ready = iw_poll_list(list, used, until, mask);
    if (ready < 0)
        return -1;
    for (nfds_t i = 0; i < used; i++) {
        if ((list[i].revents & POLLNVAL) != 0) {
            errno = EBADF;
            return -1;
        }
        found += report(in, &list[i], POLLIN, POLLIN | POLLHUP | POLLERR);
        found += report(out, &list[i], POLLOUT, POLLOUT | POLLERR);
        found += report(except, &list[i], POLLPRI, POLLPRI);
    }
    return found;
}

/* Linux's select says how much time was left. */
static void leave(struct timeval *t, uint64_t until)
{
    const uint64_t now = iw_transport_now(), left = until > now ? until - now : 0;
    if (until != IW_WAIT_FOREVER)
        *t = (struct timeval){(time_t)(left / 1000000000u),
                              (suseconds_t)(left % 1000000000u / 1000)};
}

IW_INTERPOSED int select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *t)
{
    if (!sets_have(count, in, out, except))
        return iw_libc()->select(count, in, out, except, t);
    if (t != NULL && (t->tv_sec < 0 || t->tv_usec < 0)) {
        errno = EINVAL;
        return -1;
    }
    const struct timespec span =
        t != NULL ? (struct timespec){t->tv_sec, t->tv_usec * 1000} : (struct timespec){0, 0};
    const uint64_t until = iw_wait_until(t != NULL ? &span : NULL);
    const int result = select_list(count, in, out, except, until, NULL);
    if (t != NULL)
        leave(t, until);
    return result;
}

IW_INTERPOSED int pselect(int count, fd_set *in, fd_set *out, fd_set *except,
                          const struct timespec *t, const sigset_t *mask)
{
    if (!sets_have(count, in, out, except))
        return iw_libc()->pselect(count, in, out, except, t, mask);
    return select_list(count, in, out, except, iw_wait_until(t), mask);
}

/* ---- of programs that were compiled with _FORTIFY_SOURCE ---- */

IW_INTERPOSED int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t room);
int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t room)
{
    if (count > room / sizeof(*list))
        return iw_libc()->__poll_chk(list, count, ms, room);
    return poll(list, count, ms);
}

IW_INTERPOSED int __ppoll_chk(struct pollfd *list, nfds_t count, const struct timespec *t,
                              const sigset_t *mask, size_t room);
int __ppoll_chk(struct pollfd *list, nfds_t count, const struct timespec *t, const sigset_t *mask,
                size_t room)
{
    if (count > room / sizeof(*list))
        return iw_libc()->__ppoll_chk(list, count, t, mask, room);
    return ppoll(list, count, t, mask);
}
