/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_PRELOAD_PAIR_H
#define IW_TESTS_PRELOAD_PAIR_H

/* Two ends of an iWARP connection in one process, which is linked with the preloaded library.
 * Include from one test program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

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

enum { GUARD = 120000 }; /* ms: only a failing test waits that long */

struct pair {
    int listener, client, server;
    struct sockaddr_in at;
};

/* All TCP sockets are iWARP, but those that iWARP itself uses. */
static inline void use_iwarp(void)
{
    setenv("IWARP_SOCKETS", "port 1024-65535", 1);
}

static inline struct sockaddr *address(struct pair *p)
{
    return (struct sockaddr *)&p->at;
}

/* Listens with a receive buffer of `octets`, 0: as it is. */
static inline void open_listener_of(struct pair *p, int octets)
{
    socklen_t length = sizeof(p->at);
    p->at = (struct sockaddr_in){.sin_family = AF_INET};
    p->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(p->listener >= 0);
    if (octets > 0)
        assert_int_equal(setsockopt(p->listener, SOL_SOCKET, SO_RCVBUF, &octets, sizeof(octets)),
                         0);
    assert_int_equal(bind(p->listener, address(p), sizeof(p->at)), 0);
    assert_int_equal(listen(p->listener, 16), 0);
    assert_int_equal(getsockname(p->listener, address(p), &length), 0);
}

static inline void open_listener(struct pair *p)
{
    open_listener_of(p, 0);
}

static inline void connect_client(struct pair *p)
{
    p->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->client, address(p), sizeof(p->at)), 0);
    p->server = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(p->server >= 0);
}

static inline void open_pair(struct pair *p)
{
    open_listener(p);
    connect_client(p);
}

static inline void close_pair(struct pair *p)
{
    close(p->client);
    close(p->server);
    close(p->listener);
}

/* Octets that another place of the stream cannot be mistaken for. */
static inline void fill(uint8_t *octets, size_t length, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < length; i++) {
        state = state * 1664525u + 1013904223u;
        octets[i] = (uint8_t)(state >> 24);
    }
}

static inline void receive_all(int fd, uint8_t *octets, size_t length)
{
    for (size_t done = 0; done < length;) {
        const ssize_t got = read(fd, octets + done, length - done);
        assert_true(got > 0);
        done += (size_t)got;
    }
}

static inline short await(int fd, short events)
{
    struct pollfd one = {.fd = fd, .events = events};
    assert_int_equal(poll(&one, 1, GUARD), 1);
    return one.revents;
}

#endif
