/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_SWITCH_PAIR_H
#define IW_TESTS_SWITCH_PAIR_H

/* Two ends of a TCP connection over loopback that switch to iWARP, in one process. Include from
 * one test program. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sockets/switched.h"

struct pair {
    int fd[2]; /* client, server */
    struct iw_switched *s[2];
};

static inline void connect_pair(int fd[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd[0], (struct sockaddr *)&at, sizeof(at)), 0);
    fd[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd[1] >= 0);
    close(listener);
}

static inline struct iw_switched *begin(int fd, int role)
{
    const struct iw_sockets_mode mode = {.role = role};
    struct iw_switched *s = iw_switched_begin(fd, &mode);
    assert_non_null(s);
    return s;
}

static inline int set_up(void **state)
{
    struct pair *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    connect_pair(p->fd);
    *state = p;
    return 0;
}

/* Switches both: the client is the initiator. */
static inline int set_up_switched(void **state)
{
    set_up(state);
    struct pair *p = *state;
    p->s[1] = begin(p->fd[1], IWARP_RESPONDER);
    p->s[0] = begin(p->fd[0], IWARP_INITIATOR);
    assert_int_equal(iw_switched_wait(p->s[0]), 0);
    assert_int_equal(iw_switched_wait(p->s[1]), 0);
    return 0;
}

static inline int tear_down(void **state)
{
    struct pair *p = *state;
    for (int i = 0; i < 2; i++) {
        if (p->fd[i] >= 0)
            close(p->fd[i]);
        if (p->s[i] != NULL)
            iw_switched_close(p->s[i]);
    }
    free(p);
    return 0;
}

static inline ssize_t put(struct iw_switched *s, const void *octets, size_t length)
{
    struct iovec piece = {(void *)(uintptr_t)octets, length};
    const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    return iw_switched_send(s, &message, MSG_NOSIGNAL, true);
}

static inline ssize_t get(struct iw_switched *s, void *octets, size_t length, int flags)
{
    struct iovec piece = {octets, length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    return iw_switched_receive(s, &message, flags, true);
}

/* Waits for completions until there are `count`. */
static inline void collect(struct iw_switched *s, struct iw_sockets_completion *out, int count)
{
    for (int n = 0; n < count;) {
        const int more = iw_switched_poll(s, out + n, count - n, 60000);
        assert_true(more > 0);
        n += more;
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define SWITCHED(f) cmocka_unit_test_setup_teardown(f, set_up_switched, tear_down)

#endif
