/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_PERF_TCP_DOUBLES_H
#define IW_PERF_TCP_DOUBLES_H

/* The sockets under a lane of plain TCP: their calls are noted, and give what a test wants. Include
 * from one source of a test. */

#include "perf.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "../caught.h"

enum { ALL = 1 << 20 };

static char record[16384]; /* the calls */
static size_t recorded;
static int sends[32], receives[32], waits[8]; /* what each gives: octets, or -errno; 0: ALL or 1 */
static unsigned n_sends, n_receives, n_waits;
static uint8_t coming; /* the next octet that comes */
static double now;
static const struct perf_lane *lane_of_calls;
static bool no_epoll, no_add, no_flags;

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(record + recorded, sizeof(record) - recorded, format, arguments);
    va_end(arguments);
    if (length > 0 && recorded + (size_t)length < sizeof(record))
        recorded += (size_t)length;
}

double perf_seconds(void)
{
    now += 0.001;
    return now;
}

ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout);
int __wrap_epoll_ctl(int fd, int op, int socket_fd, struct epoll_event *event);
int __wrap_epoll_create1(int flags);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static int no_memory; /* the call that gets none, from 1; 0: none */

void *__wrap_calloc(size_t count, size_t size)
{
    if (no_memory == 0 || --no_memory > 0)
        return __real_calloc(count, size);
    errno = ENOMEM;
    return NULL;
}

static ssize_t give(const char *what, int result, size_t length)
{
    if (result >= 0) {
        size_t n = result == 0 || (size_t)result > length ? length : (size_t)result;
        note("%s\n", n < length ? what : "");
        return (ssize_t)n;
    }
    note(" no\n");
    errno = -result;
    return -1;
}

ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags)
{
    (void)fd;
    assert_int_equal(flags, MSG_NOSIGNAL);
    size_t at = (size_t)((const uint8_t *)octets - lane_of_calls->source);
    note("send %zu from %zu", length, at);
    assert_true(n_sends < 32 || sends[31] == 0);
    return give(" in part", sends[n_sends < 31 ? n_sends++ : 31], length);
}

ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags)
{
    (void)fd;
    assert_int_equal(flags, 0);
    const uint8_t *at = octets;
    bool in_place =
        at >= lane_of_calls->sink && at < lane_of_calls->sink + 2 * lane_of_calls->stride;
    if (in_place)
        note("receive %zu to %zu", length, (size_t)(at - lane_of_calls->sink));
    else
        note("receive %zu", length);
    assert_true(n_receives < 32);
    int result = receives[n_receives++];
    if (result == -ALL) { /* the end */
        note(" end\n");
        return 0;
    }
    ssize_t n = give("", result, length);
    for (ssize_t i = 0; i < n; i++)
        ((uint8_t *)octets)[i] = coming++;
    return n;
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
    (void)fd;
    (void)events;
    assert_int_equal(most, 64);
    note("wait %d\n", timeout);
    int result = waits[n_waits++];
    if (result >= 0)
        return 1 - result; /* 1: nothing came */
    errno = -result;
    return -1;
}

int __wrap_epoll_ctl(int fd, int op, int socket_fd, struct epoll_event *event)
{
    (void)fd;
    (void)socket_fd;
    assert_non_null(event->data.ptr);
    note("%s%s%s\n", op == EPOLL_CTL_ADD ? "watch" : "change", event->events & EPOLLIN ? " in" : "",
         event->events & EPOLLOUT ? " out" : "");
    errno = ENOSPC;
    return no_add ? -1 : 0;
}

int __wrap_epoll_create1(int flags)
{
    assert_int_equal(flags, EPOLL_CLOEXEC);
    errno = EMFILE;
    return no_epoll ? -1 : dup(2);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    (void)fd;
    if (level == IPPROTO_TCP && name == TCP_NODELAY) {
        int on;
        assert_int_equal(length, sizeof(on));
        memcpy(&on, value, sizeof(on));
        note("nodelay %d\n", on);
    } else {
        struct timeval time;
        assert_int_equal(length, sizeof(time));
        memcpy(&time, value, sizeof(time));
        assert_int_equal(level, SOL_SOCKET);
        note("%s %ld s\n",
             name == SO_RCVTIMEO   ? "patience"
             : name == SO_SNDTIMEO ? "calm"
                                   : "?",
             (long)time.tv_sec);
    }
    return 0;
}

static int flags_now;

int __wrap_fcntl(int fd, int command, ...)
{
    va_list arguments;
    (void)fd;
    va_start(arguments, command);
    int value = command == F_SETFL ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (command == F_GETFD)
        return __real_fcntl(fd, F_GETFD);
    if (command == F_GETFL)
        return flags_now;
    assert_int_equal(command, F_SETFL);
    errno = EBADF;
    if (no_flags)
        return -1;
    flags_now = value;
    note("%s\n", value == (O_RDWR | O_NONBLOCK) ? "no blocking"
                 : value == O_RDWR              ? "blocking"
                                                : "?");
    return 0;
}

#endif
