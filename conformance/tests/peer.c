/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "hex.h"

enum { ROOM = 4096 };

static bool take(struct peer *p, int fd, size_t step, const uint8_t *wanted, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        uint8_t octet;

        if (recv(fd, &octet, 1, 0) != 1) {
            snprintf(p->wrong, sizeof(p->wrong), "step %zu: the station sent %zu octets only", step,
                     i);
            return false;
        }
        if (wanted != NULL && octet != wanted[i]) {
            snprintf(p->wrong, sizeof(p->wrong), "step %zu: octet %zu is %02x, not %02x", step, i,
                     octet, wanted[i]);
            return false;
        }
    }
    return true;
}

static void give(int fd, const uint8_t *octets, size_t length, size_t times)
{
    for (size_t i = 0; i < times; i++)
        if (send(fd, octets, length, MSG_NOSIGNAL) != (ssize_t)length)
            return;
}

static void drain(int fd)
{
    uint8_t octets[ROOM];

    while (recv(fd, octets, sizeof(octets), 0) > 0)
        ;
}

static bool step(struct peer *p, int fd, size_t i)
{
    const struct peer_step *s = &p->steps[i];
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    uint8_t octets[ROOM];
    size_t length = s->hex != NULL ? hex_octets(s->hex, octets, sizeof(octets)) : 0;

    switch (s->kind) {
    case PEER_READ:
        return take(p, fd, i, octets, length);
    case PEER_SKIP:
        return take(p, fd, i, NULL, s->count);
    case PEER_WRITE:
        give(fd, octets, length, 1);
        return true;
    case PEER_REPEAT:
        give(fd, octets, length, s->count);
        return true;
    case PEER_DRAIN:
        drain(fd);
        return true;
    case PEER_STARE:
        poll(&(struct pollfd){.fd = p->listener}, 1, -1); /* its end is peer_stop's */
        return true;
    case PEER_FIN:
        return false;
    case PEER_RESET:
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        return false;
    }
    return false;
}

static void *serve(void *context)
{
    struct peer *p = context;
    int fd;

    while ((fd = accept(p->listener, NULL, NULL)) >= 0) {
        size_t i = 0;

        while (i < p->n_steps && step(p, fd, i))
            i++;
        close(fd);
    }
    return NULL;
}

/* The enhanced start-up and empty Reads, nothing else. */
static bool can(const struct iw_target *target, const char *capability)
{
    (void)target;
    return strcmp(capability, "revision.2") == 0 || strcmp(capability, "empty_read") == 0;
}

void peer_start(struct peer *p, const struct peer_step *steps, size_t n_steps)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof(at);

    memset(p, 0, sizeof(*p));
    p->steps = steps;
    p->n_steps = n_steps;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(p->listener, 4), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &length), 0);
    p->target = (struct iw_target){.name = "peer of literal octets",
                                   .class = IW_TARGET_BARE,
                                   .host = "127.0.0.1",
                                   .station_host = "127.0.0.1",
                                   .port = ntohs(at.sin_port),
                                   .can = can};
    assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
}

void peer_stop(struct peer *p)
{
    shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->listener);
    assert_string_equal(p->wrong, "");
}
