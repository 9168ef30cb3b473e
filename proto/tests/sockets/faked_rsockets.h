/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_FAKED_RSOCKETS_H
#define IW_TESTS_FAKED_RSOCKETS_H

/*
 * The preloaded library on rsockets that are made of local socket pairs: what it calls is noted,
 * what a call returns is said by the test. An rsocket is one end of a pair, its peer the other one.
 * Include from one test program.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sockets/descriptors.h"
#include "sockets/libc_next.h"
#include "sockets/rsocket_wait.h"
#include "sockets/rsockets.h"
#include "sockets/verbs_extra.h"

enum { NUMBERS = 1024, OPTIONS = 16, MARK = 0x69574152, GUARD = 120000 /* ms */ };

static struct {
    /* What calls do: 0, or the errno that they fail with. */
    int socket_error, bind_error, listen_error, accept_error, connect_error, option_error;
    int receive_error, send_error;
    int so_error;           /* what SO_ERROR says */
    size_t send_most;       /* octets of one rsend; 0: EAGAIN */
    unsigned receives_left; /* calls that receive before receive_error */
    short hide;             /* events that rpoll does not report */
    short also;             /* events that it reports at once */
    bool no_queue;          /* rlisten makes no pair */
    /* What they were called with. */
    unsigned sockets, binds, listens, accepts, connects, closes, shutdowns, receives, sends, polls;
    unsigned nonblocking;                  /* rfcntl with O_NONBLOCK */
    int domain, backlog, how, flags, last; /* the last rsocket made */
    int timeout;                           /* of the last rpoll */
    struct sockaddr_storage to, at;
    struct {
        int level, name, value;
    } options[OPTIONS];
    unsigned option_count;
} fake;

static int peers[NUMBERS]; /* of an rsocket; 0: none */
static int arrivals[8];    /* rsockets that raccept returns */
static unsigned arrival_count;

static inline bool is_rsocket(int fd)
{
    return fd >= 0 && fd < NUMBERS && peers[fd] != 0;
}

static inline int fake_result(int error)
{
    errno = error;
    return error != 0 ? -1 : 0;
}

static inline int make_rsocket(void)
{
    int pair[2];
    assert_int_equal(iw_libc()->socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_true(pair[0] < NUMBERS && pair[1] < NUMBERS);
    peers[pair[0]] = pair[1];
    fake.last = pair[0];
    return pair[0];
}

static inline int fake_rsocket(int domain, int type, int protocol)
{
    assert_int_equal(type, SOCK_STREAM);
    assert_int_equal(protocol, 0);
    fake.sockets++;
    fake.domain = domain;
    return fake.socket_error != 0 ? fake_result(fake.socket_error) : make_rsocket();
}

static inline int fake_rbind(int rs, const struct sockaddr *at, socklen_t length)
{
    assert_true(is_rsocket(rs));
    fake.binds++;
    memcpy(&fake.at, at, length);
    return fake_result(fake.bind_error);
}

/* The queue of connections to accept: the first pair that rlisten makes. */
static int queue[2];

static inline int fake_rlisten(int rs, int backlog)
{
    assert_true(is_rsocket(rs));
    fake.listens++;
    fake.backlog = backlog;
    if (fake.listen_error == 0 && !fake.no_queue)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, queue),
                         0);
    return fake_result(fake.listen_error);
}

/* A connection comes to the listener. Returns its peer. */
static inline int arrives(void)
{
    const int rs = make_rsocket();
    arrivals[arrival_count++] = rs;
    if (!fake.no_queue)
        assert_int_equal(iw_libc()->write(queue[1], "", 1), 1);
    return peers[rs];
}

static inline int fake_raccept(int rs, struct sockaddr *from, socklen_t *length)
{
    char octet;
    assert_true(is_rsocket(rs));
    assert_null(from);
    assert_null(length);
    fake.accepts++;
    if (fake.accept_error != 0 || arrival_count == 0)
        return fake_result(fake.accept_error != 0 ? fake.accept_error : EAGAIN);
    if (!fake.no_queue)
        assert_int_equal(iw_libc()->read(queue[0], &octet, 1), 1);
    const int first = arrivals[0];
    memmove(arrivals, arrivals + 1, --arrival_count * sizeof(arrivals[0]));
    return first;
}

static inline int fake_rconnect(int rs, const struct sockaddr *to, socklen_t length)
{
    assert_true(is_rsocket(rs));
    fake.connects++;
    memcpy(&fake.to, to, length);
    return fake_result(fake.connect_error);
}

static inline int fake_rshutdown(int rs, int how)
{
    assert_true(is_rsocket(rs));
    fake.shutdowns++;
    fake.how = how;
    return iw_libc()->shutdown(rs, how);
}

static inline int fake_rclose(int rs)
{
    assert_true(is_rsocket(rs));
    fake.closes++;
    iw_libc()->close(peers[rs]);
    peers[rs] = 0;
    errno = EBADF; /* which nobody has to see */
    return iw_libc()->close(rs);
}

static inline ssize_t fake_rrecv(int rs, void *octets, size_t length, int flags)
{
    assert_true(is_rsocket(rs));
    assert_true(flags & MSG_DONTWAIT);
    fake.receives++;
    if (fake.receive_error != 0 && fake.receives_left == 0)
        return fake_result(fake.receive_error);
    fake.receives_left -= fake.receives_left > 0;
    return iw_libc()->recv(rs, octets, length, flags);
}

static inline ssize_t fake_rsend(int rs, const void *octets, size_t length, int flags)
{
    assert_true(is_rsocket(rs));
    assert_int_equal(flags, MSG_DONTWAIT);
    fake.sends++;
    if (fake.send_error != 0)
        return fake_result(fake.send_error);
    if (fake.send_most == 0)
        return fake_result(EAGAIN);
    return iw_libc()->send(rs, octets, length < fake.send_most ? length : fake.send_most,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void (*during_rpoll)(void); /* happens once, as it begins to sleep */

/* As rpoll does: it looks, and sleeps in poll() only if nothing is ready. */
static inline int fake_rpoll(struct pollfd *list, nfds_t count, int timeout)
{
    fake.polls++;
    fake.timeout = timeout;
    for (;;) {
        (void)iw_libc()->poll(list, count, 0);
        int ready = 0;
        for (nfds_t i = 0; i < count; i++) {
            if (is_rsocket(list[i].fd))
                list[i].revents = (short)((list[i].revents & ~fake.hide) | fake.also);
            ready += list[i].revents != 0;
        }
        if (ready > 0 || timeout == 0)
            return ready;
        if (during_rpoll != NULL) {
            during_rpoll();
            during_rpoll = NULL;
        }
        struct pollfd copy[200];
        assert_true(count < 200);
        memcpy(copy, list, count * sizeof(copy[0]));
        for (nfds_t i = 0; i < count; i++)
            if (is_rsocket(copy[i].fd))
                copy[i].events = (short)(copy[i].events & ~fake.hide);
        if (poll(copy, count, timeout) < 0)
            return -1;
    }
}

static inline int name_of(uint16_t port, struct sockaddr *address, socklen_t *length)
{
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    memcpy(address, &name, *length < sizeof(name) ? *length : sizeof(name));
    *length = sizeof(name);
    return 0;
}

static inline int fake_rgetpeername(int rs, struct sockaddr *address, socklen_t *length)
{
    assert_true(is_rsocket(rs));
    return name_of(1111, address, length);
}

static inline int fake_rgetsockname(int rs, struct sockaddr *address, socklen_t *length)
{
    assert_true(is_rsocket(rs));
    return name_of(2222, address, length);
}

static inline int fake_rsetsockopt(int rs, int level, int name, const void *value, socklen_t length)
{
    assert_true(is_rsocket(rs));
    assert_int_equal(length, sizeof(int));
    assert_true(fake.option_count < OPTIONS);
    fake.options[fake.option_count].level = level;
    fake.options[fake.option_count].name = name;
    memcpy(&fake.options[fake.option_count++].value, value, sizeof(int));
    return 0;
}

static inline int fake_rgetsockopt(int rs, int level, int name, void *value, socklen_t *length)
{
    assert_true(is_rsocket(rs));
    assert_int_equal(level, SOL_SOCKET);
    assert_int_equal(name, SO_ERROR);
    assert_int_equal(*length, sizeof(int));
    memcpy(value, &fake.so_error, sizeof(int));
    return fake_result(fake.option_error);
}

static inline int fake_rfcntl(int rs, int command, ...)
{
    va_list list;
    assert_true(is_rsocket(rs));
    assert_int_equal(command, F_SETFL);
    va_start(list, command);
    fake.nonblocking += va_arg(list, int) == O_NONBLOCK;
    va_end(list);
    return 0;
}

const struct iw_rsockets *iw_rsockets(void)
{
    static const struct iw_rsockets functions = {.rsocket = fake_rsocket,
                                                 .rbind = fake_rbind,
                                                 .rlisten = fake_rlisten,
                                                 .raccept = fake_raccept,
                                                 .rconnect = fake_rconnect,
                                                 .rshutdown = fake_rshutdown,
                                                 .rclose = fake_rclose,
                                                 .rrecv = fake_rrecv,
                                                 .rsend = fake_rsend,
                                                 .rpoll = fake_rpoll,
                                                 .rgetpeername = fake_rgetpeername,
                                                 .rgetsockname = fake_rgetsockname,
                                                 .rsetsockopt = fake_rsetsockopt,
                                                 .rgetsockopt = fake_rgetsockopt,
                                                 .rfcntl = fake_rfcntl};
    return &functions;
}

static const struct iw_verbs_fork *fake_verbs_fork;
static const struct iw_verbs_mixed *fake_verbs_mixed;
static const struct iw_verbs_series *fake_verbs_series;

const struct iw_verbs_fork *iw_verbs_fork(void)
{
    return fake_verbs_fork;
}

const struct iw_verbs_mixed *iw_verbs_mixed(void)
{
    return fake_verbs_mixed;
}

const struct iw_verbs_series *iw_verbs_series(void)
{
    return fake_verbs_series;
}

/* ---- the tests' own ---- */

static int descriptors; /* before a test */

static inline int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static inline int begin(void **unused)
{
    (void)unused;
    memset(&fake, 0, sizeof(fake));
    fake.send_most = SIZE_MAX;
    fake_verbs_series = NULL;
    fake_verbs_mixed = NULL;
    fake_verbs_fork = NULL;
    queue[0] = queue[1] = -1;
    arrival_count = 0;
    (void)iw_wait(NULL, 0, 0, NULL, true); /* opens what stays */
    fake.polls = 0;
    descriptors = count_descriptors();
    return 0;
}

/* Nothing is left open. */
static inline int end(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++)
        if (queue[i] >= 0)
            iw_libc()->close(queue[i]);
    for (int rs = 0; rs < NUMBERS; rs++)
        if (is_rsocket(rs)) {
            peers[rs] = 0;
            fail_msg("an rsocket is still open");
        }
    assert_int_equal(count_descriptors(), descriptors);
    return 0;
}

static inline bool is_iwarp(int fd)
{
    return atomic_load(&iw_socket_numbers[fd]) != NULL;
}

/* What the system knows of a number, by whatever name. */
static inline int systems_option(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(iw_libc()->getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

static inline int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

static inline void set_time(int fd, int name, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, name, &t, sizeof(t)), 0);
}

static inline void set_blocking(int fd, bool on)
{
    assert_int_equal(fcntl(fd, F_SETFL, on ? 0 : O_NONBLOCK), 0);
}

static inline struct sockaddr_in at_port(const char *address, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    return at;
}

static inline int stream_socket(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    return fd;
}

static inline int connect_at(int fd, const char *address)
{
    const struct sockaddr_in to = at_port(address, 4000);
    return connect(fd, (const struct sockaddr *)&to, sizeof(to));
}

/* A connected socket; its peer is peers[fake.last]. */
static inline int connected(void)
{
    const int fd = stream_socket();
    assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
    assert_true(is_iwarp(fd));
    return fd;
}

static inline int listening(const char *address, int backlog)
{
    const struct sockaddr_in at = at_port(address, 0);
    const int fd = stream_socket();
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_true(is_iwarp(fd));
    return fd;
}

static inline void fails(ssize_t result, int error)
{
    const int is = errno;
    assert_int_equal(result, -1);
    assert_int_equal(is, error);
}

static inline void peer_says(const void *octets, size_t length)
{
    assert_int_equal(iw_libc()->write(peers[fake.last], octets, length), length);
}

/* Before anything is connected. */
static inline void give_rules(void)
{
    setenv("IWARP_SOCKETS",
           "connect 127.0.0.2 1024-65535 fallback=tcp\nlisten 127.0.0.3 1024-65535 mixed wait=7\n"
           "listen 127.0.0.4 1024-65535 mixed wait=0\nport 127.0.0.1 1024-65535\n"
           "port ::1 1024-65535",
           1);
}

#define FAKED(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
