/* SPDX-License-Identifier: BSD-3-Clause */
/* Interposed: what is done to a socket's number. */
#include "descriptors.h"
#include "epoll_set.h"
#include "fork_claim.h"
#include "libc_next.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/close_range.h>

/* First the table, then the number, which another thread may get at once. */
static void let_go(struct iw_socket *s)
{
    if (s != NULL)
        iw_socket_put(s);
}

IW_INTERPOSED int close(int fd)
{
    struct iw_socket *s = iw_socket_detach(fd);
    iw_epoll_forget(fd, s != NULL);
    const int result = iw_libc()->close(fd);
    let_go(s);
    return result;
}

/* Sockets go before their numbers: what carries them has numbers in the range, too. */
static void close_sockets(unsigned first, unsigned last)
{
    const int highest =
        iw_sockets_highest() > iw_epoll_highest() ? iw_sockets_highest() : iw_epoll_highest();
    if (highest < 0)
        return;
    if (last > (unsigned)highest)
        last = (unsigned)highest;
    for (unsigned fd = first; fd <= last; fd++) {
        struct iw_socket *s = iw_socket_detach((int)fd);
        iw_epoll_forget((int)fd, s != NULL);
        let_go(s);
    }
}

IW_INTERPOSED int close_range(unsigned first, unsigned last, int flags)
{
    if (first <= last && ((unsigned)flags & CLOSE_RANGE_CLOEXEC) == 0)
        close_sockets(first, last);
    return iw_libc()->close_range(first, last, flags);
}

IW_INTERPOSED void closefrom(int lowest)
{
    close_sockets(lowest > 0 ? (unsigned)lowest : 0, UINT32_MAX);
    iw_libc()->closefrom(lowest);
}

/* Gives the copy `to` what `from` is. Returns `to`, or -1 with errno set and `to` closed. */
static int copy_number(struct iw_socket *s, int to)
{
    int result = to;
    if (to >= 0 && iw_socket_attach(to, s) != 0) {
        iw_libc()->close(to);
        result = -1;
    }
    iw_socket_put(s);
    return result;
}

IW_INTERPOSED int dup(int fd)
{
    struct iw_socket *s = iw_socket_get(fd);
    const int to = iw_libc()->dup(fd);
    iw_epoll_copied(fd, to);
    return s == NULL ? to : copy_number(s, to);
}

/* `to`, which may have been a socket as well, is `from` now if `result` says so. */
static int copied_over(int from, struct iw_socket *s, int to, int result)
{
    if (result >= 0 && from != to) {
        struct iw_socket *before = iw_socket_detach(to);
        iw_epoll_forget(to, before != NULL);
        let_go(before);
        iw_epoll_copied(from, to);
    }
    if (s == NULL)
        return result;
    return from == to ? (iw_socket_put(s), result) : copy_number(s, result);
}

IW_INTERPOSED int dup2(int from, int to)
{
    struct iw_socket *s = iw_socket_get(from);
    return copied_over(from, s, to, iw_libc()->dup2(from, to));
}

IW_INTERPOSED int dup3(int from, int to, int flags)
{
    struct iw_socket *s = iw_socket_get(from);
    return copied_over(from, s, to, iw_libc()->dup3(from, to, flags));
}

static int control(struct iw_socket *s, int fd, int command, void *argument)
{
    const int result = iw_libc()->fcntl(fd, command, argument);
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))
        return copy_number(s, result);
    if (result >= 0 && command == F_SETFL) {
        atomic_store(&s->nonblocking, ((intptr_t)argument & O_NONBLOCK) != 0);
        s->ops->set_nonblocking(s);
    }
    iw_socket_put(s);
    return result;
}

/* A set of epoll is copied so, too. */
static int control_plain(int (*next)(int, int, ...), int fd, int command, void *argument)
{
    const int result = next(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        iw_epoll_copied(fd, result);
    return result;
}

/* As the C library itself: whatever the argument is, it has the room of a pointer. */
#define DEFINE_FCNTL(name)                                                                         \
    IW_INTERPOSED int name(int fd, int command, ...)                                               \
    {                                                                                              \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        void *argument = va_arg(arguments, void *);                                                \
        va_end(arguments);                                                                         \
        struct iw_socket *s = iw_socket_get(fd);                                                   \
        return s == NULL ? control_plain(iw_libc()->name, fd, command, argument)                   \
                         : control(s, fd, command, argument);                                      \
    }

DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

IW_INTERPOSED int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct iw_socket *s = iw_socket_get(fd);
    if (s == NULL)
        return iw_libc()->ioctl(fd, request, argument);
    int result;
    if (request == FIONREAD) {
        result = iw_claim(s) ? s->ops->available(s, argument) : -1;
    } else {
        result = iw_libc()->ioctl(fd, request, argument);
        if (result == 0 && request == FIONBIO) {
            atomic_store(&s->nonblocking, *(int *)argument != 0);
            s->ops->set_nonblocking(s);
        }
    }
    iw_socket_put(s);
    return result;
}
