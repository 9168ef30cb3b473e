/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_FAILING_H
#define IW_TESTS_FAILING_H

/*
 * Makes calls of the system and of libraries fail on a test's command. Programs named
 * test_*_failures are linked with --wrap for each of them (CMakeLists.txt); include from one such
 * program. A call of the test itself can fail as well: arm it last.
 */

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    const char *call; /* NULL: none */
    unsigned skip;    /* calls that succeed before it */
    unsigned times;   /* calls that fail then */
    int error;        /* errno of a failing call */
} failing;

/* Seconds by which the monotonic clock is ahead. */
static time_t failing_clock;

/* Makes the call after the next `skip` ones of `call` fail, once. "memory" is any allocation. */
static inline void let_fail_after(unsigned skip, const char *call, int error)
{
    failing.call = call;
    failing.skip = skip;
    failing.times = 1;
    failing.error = error;
}

static inline void let_fail(const char *call, int error)
{
    let_fail_after(0, call, error);
}

/* Returns true if the armed call has failed; disarms it in any case. */
static inline bool has_failed(void)
{
    bool armed = failing.call != NULL;
    failing.call = NULL;
    return !armed;
}

static inline bool fails(const char *call)
{
    if (failing.call == NULL || strcmp(failing.call, call) != 0)
        return false;
    if (failing.skip > 0) {
        failing.skip--;
        return false;
    }
    if (--failing.times == 0)
        failing.call = NULL;
    errno = failing.error;
    return true;
}

#define FAILING(type, name, what, otherwise, parameters, arguments)                                \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(what) ? (otherwise) : __real_##name arguments;                                \
    }

FAILING(void *, malloc, "memory", NULL, (size_t size), (size))
FAILING(void *, calloc, "memory", NULL, (size_t count, size_t size), (count, size))
FAILING(void *, realloc, "memory", NULL, (void *old, size_t size), (old, size))
FAILING(void *, aligned_alloc, "memory", NULL, (size_t alignment, size_t size), (alignment, size))
FAILING(char *, strdup, "memory", NULL, (const char *text), (text))

FAILING(int, socket, "socket", -1, (int domain, int type, int protocol), (domain, type, protocol))
FAILING(int, connect, "connect", -1, (int fd, const struct sockaddr *to, socklen_t length),
        (fd, to, length))
FAILING(int, accept4, "accept4", -1, (int fd, struct sockaddr *a, socklen_t *length, int flags),
        (fd, a, length, flags))
FAILING(int, getsockname, "getsockname", -1, (int fd, struct sockaddr *a, socklen_t *length),
        (fd, a, length))
FAILING(int, getpeername, "getpeername", -1, (int fd, struct sockaddr *a, socklen_t *length),
        (fd, a, length))
FAILING(int, getsockopt, "getsockopt", -1,
        (int fd, int level, int option, void *value, socklen_t *length),
        (fd, level, option, value, length))
FAILING(ssize_t, recv, "recv", -1, (int fd, void *to, size_t length, int flags),
        (fd, to, length, flags))
FAILING(ssize_t, send, "send", -1, (int fd, const void *from, size_t length, int flags),
        (fd, from, length, flags))
FAILING(ssize_t, sendmsg, "send", -1, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
FAILING(int, sendmmsg, "send", -1, (int fd, struct mmsghdr *m, unsigned count, int flags),
        (fd, m, count, flags))
FAILING(int, poll, "poll", -1, (struct pollfd * fds, nfds_t count, int timeout),
        (fds, count, timeout))
FAILING(int, epoll_create1, "epoll_create1", -1, (int flags), (flags))
FAILING(int, epoll_ctl, "epoll_ctl", -1, (int epoll, int operation, int fd, struct epoll_event *e),
        (epoll, operation, fd, e))
FAILING(int, epoll_wait, "epoll_wait", -1,
        (int epoll, struct epoll_event *e, int count, int timeout), (epoll, e, count, timeout))
FAILING(ssize_t, getrandom, "getrandom", -1, (void *to, size_t length, unsigned flags),
        (to, length, flags))
FAILING(int, getaddrinfo, "getaddrinfo", EAI_NONAME,
        (const char *host, const char *service, const struct addrinfo *hints,
         struct addrinfo **out),
        (host, service, hints, out))
FAILING(int, getnameinfo, "getnameinfo", EAI_FAIL,
        (const struct sockaddr *a, socklen_t length, char *host, socklen_t host_length,
         char *service, socklen_t service_length, int flags),
        (a, length, host, host_length, service, service_length, flags))
FAILING(ssize_t, readlink, "readlink", -1, (const char *path, char *to, size_t length),
        (path, to, length))
FAILING(int, sched_getaffinity, "sched_getaffinity", -1, (pid_t pid, size_t size, cpu_set_t *set),
        (pid, size, set))
FAILING(size_t, fwrite, "fwrite", 0, (const void *from, size_t size, size_t count, FILE *file),
        (from, size, count, file))

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    int argument = command == F_SETFL ? va_arg(list, int) : 0;
    va_end(list);
    return fails("fcntl") ? -1 : __real_fcntl(fd, command, argument);
}

int __wrap_asprintf(char **out, const char *format, ...);
int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = fails("memory") ? -1 : vasprintf(out, format, list);
    va_end(list);
    return length;
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = __real_clock_gettime(clock, t);
    t->tv_sec += failing_clock;
    return result;
}

#endif
