/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 1, TICK_MS = 500 };

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void catch_signals(void)
{
    struct sigaction end = {.sa_handler = stop};
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- the octets of one connection ---- */

static void flush(struct range_conn *c, uint64_t now)
{
    while (c->out_length > 0) {
        ssize_t n = send(c->fd, c->out, c->out_length, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            c->state = RANGE_GONE;
            return;
        }
        memmove(c->out, c->out + n, c->out_length - (size_t)n);
        c->out_length -= (size_t)n;
        range_conn_resume(c, now);
    }
    if (c->state != RANGE_DRAINING)
        return;
    if (!c->shut) {
        shutdown(c->fd, SHUT_WR);
        c->shut = true;
    }
    if (c->fin)
        c->state = RANGE_GONE;
}

static void take(struct range_conn *c, uint64_t now)
{
    static uint8_t octets[RANGE_CHUNK];
    ssize_t n = recv(c->fd, octets, sizeof(octets), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0)
        c->state = RANGE_GONE;
    else
        range_conn_take(c, octets, (size_t)n, now);
}

static void serve(struct range_conn *c, short events, uint64_t now)
{
    if (events & (POLLIN | POLLHUP | POLLERR) && range_conn_reads(c))
        take(c, now);
    else if (events & (POLLHUP | POLLERR))
        c->state = RANGE_GONE;
    if (c->state != RANGE_GONE)
        flush(c, now);
    if (c->state != RANGE_FULL && c->state != RANGE_GONE && now >= c->deadline)
        c->state = RANGE_GONE;
}

/* ---- all connections ---- */

struct loop {
    int listener; /* -1: none */
    struct range_conn *conns[RANGE_CONNS];
    unsigned n;
};

static void add(struct loop *l, int fd, bool initiator)
{
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    l->conns[l->n++] = range_conn_new(fd, initiator, clock_ms());
}

static void accept_one(struct loop *l)
{
    int fd = accept(l->listener, NULL, NULL);
    if (fd >= 0)
        add(l, fd, false);
}

static void turn(struct loop *l)
{
    struct pollfd polled[RANGE_CONNS + 1];
    for (unsigned i = 0; i < l->n; i++) {
        const struct range_conn *c = l->conns[i];
        polled[i].fd = c->fd;
        polled[i].events =
            (short)((range_conn_reads(c) ? POLLIN : 0) |
                    (c->out_length > 0 || (c->state == RANGE_DRAINING && !c->shut) ? POLLOUT : 0));
    }
    polled[l->n] = (struct pollfd){.fd = l->n < RANGE_CONNS ? l->listener : -1, .events = POLLIN};
    if (poll(polled, l->n + 1, TICK_MS) < 0)
        return;
    bool calls = polled[l->n].revents != 0;
    uint64_t now = clock_ms();
    unsigned kept = 0;
    for (unsigned i = 0; i < l->n; i++) {
        serve(l->conns[i], polled[i].revents, now);
        if (l->conns[i]->state == RANGE_GONE)
            range_conn_free(l->conns[i]);
        else
            l->conns[kept++] = l->conns[i];
    }
    l->n = kept;
    if (calls)
        accept_one(l);
}

static void close_all(struct loop *l)
{
    for (unsigned i = 0; i < l->n; i++)
        range_conn_free(l->conns[i]);
    if (l->listener >= 0)
        close(l->listener);
}

int range_listen(uint16_t port)
{
    struct loop l = {.listener = socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int yes = 1;
    catch_signals();
    if (l.listener < 0 ||
        setsockopt(l.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(l.listener, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(l.listener, RANGE_CONNS) != 0 ||
        getsockname(l.listener, (struct sockaddr *)&at, &size) != 0) {
        fprintf(stderr, "iwarp-range: port %u: %s\n", port, strerror(errno));
        close_all(&l);
        return FAILED;
    }
    printf("listening on 127.0.0.1:%u\n", ntohs(at.sin_port));
    fflush(stdout);
    while (!stopped)
        turn(&l);
    close_all(&l);
    return 0;
}

int range_connect(const char *host, uint16_t port)
{
    struct loop l = {.listener = -1};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    catch_signals();
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        fprintf(stderr, "iwarp-range: %s:%u: not reached\n", host, port);
        close(fd);
        return FAILED;
    }
    add(&l, fd, true);
    while (!stopped && l.n > 0)
        turn(&l);
    close_all(&l);
    return 0;
}
