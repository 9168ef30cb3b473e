/* SPDX-License-Identifier: BSD-3-Clause */
#include "station_tcp.h"
#include "host/address.h"
#include "host/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "iwarp/transport.h"
#include "station_internal.h"

enum { BACKLOG = 16 };

bool iw_tcp_open(const struct iw_tcp *t)
{
    return t->fd >= 0 || t->craft != NULL;
}

int iw_tcp_fd(const struct iw_tcp *t)
{
    return t->craft != NULL ? iw_craft_fd(iw_craft_host_of(t->craft)) : t->fd;
}

/* ---- connecting ---- */

static bool limit_segments(void *mss, int fd)
{
    const int most = *(const uint16_t *)mss;

    return most == 0 || !setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &most, sizeof(most));
}

bool iw_tcp_connect(struct iw_tcp *t, const char *host, uint16_t port, uint16_t mss,
                    uint64_t deadline, char *error, size_t room)
{
    struct addrinfo *list = iw_address_resolve(host, port, false, error, room);

    *t = IW_TCP_CLOSED;
    if (list == NULL) {
        errno = 0;
        return false;
    }
    t->fd = iw_address_connect(list, deadline, limit_segments, &mss);
    const int problem = errno;
    freeaddrinfo(list);
    if (t->fd < 0)
        snprintf(error, room, "connect to %s port %u: %s", host, port, strerror(problem));
    errno = problem;
    return t->fd >= 0;
}

bool iw_tcp_wait_host(struct iw_craft_host *h, uint64_t deadline)
{
    struct pollfd p = {.fd = iw_craft_fd(h), .events = POLLIN};
    uint64_t due = iw_craft_due(h);

    if (iw_transport_now() >= deadline)
        return false;
    poll(&p, 1, iw_clock_left(due < deadline ? due : deadline));
    return true;
}

bool iw_tcp_connect_crafted(struct iw_tcp *t, struct iw_craft_host *h, const char *host,
                            uint16_t port, const struct iw_craft_options *options,
                            uint64_t deadline, char *error, size_t room)
{
    struct iw_craft *c = iw_craft_connect(h, host, port, options, iw_transport_now());
    struct iw_craft_state state = {0};

    *t = IW_TCP_CLOSED;
    if (c == NULL) {
        snprintf(error, room, "connect to %s port %u: no IPv4 address, or too many connections",
                 host, port);
        return false;
    }
    do {
        iw_craft_pump(h, iw_transport_now());
        state = iw_craft_get_state(c);
    } while (!state.established && !state.reset && iw_tcp_wait_host(h, deadline));
    if (state.established)
        t->craft = c;
    else
        snprintf(error, room, "connect to %s port %u: %s", host, port,
                 strerror(state.refused ? ECONNREFUSED : ETIMEDOUT));
    return state.established;
}

static void take_address(const struct sockaddr_storage *from, struct iw_address *to, uint16_t *port)
{
    if (from->ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, from, sizeof(in6));
        to->family = 6;
        memcpy(to->octets, &in6.sin6_addr, sizeof(in6.sin6_addr));
        *port = ntohs(in6.sin6_port);
    } else {
        struct sockaddr_in in;
        memcpy(&in, from, sizeof(in));
        to->family = 4;
        memcpy(to->octets, &in.sin_addr, sizeof(in.sin_addr));
        *port = ntohs(in.sin_port);
    }
}

int iw_tcp_listen(const char *host, uint16_t *port, uint16_t mss, char *error, size_t room)
{
    struct addrinfo *list = iw_address_resolve(host, 0, true, error, room);
    struct sockaddr_storage own = {0};
    socklen_t length = sizeof(own);

    if (list == NULL)
        return -1;
    int fd = iw_address_listen(list, BACKLOG, SOCK_NONBLOCK, limit_segments, &mss);
    if (fd < 0)
        snprintf(error, room, "listen on %s: %s", host, strerror(errno));
    else if (!getsockname(fd, (struct sockaddr *)&own, &length))
        *port = iw_address_port((struct sockaddr *)&own);
    freeaddrinfo(list);
    return fd;
}

/* ---- octets ---- */

ssize_t iw_tcp_send(struct iw_tcp *t, uint64_t position, const void *octets, size_t length)
{
    if (t->craft == NULL)
        return send(t->fd, octets, length, MSG_NOSIGNAL);
    iw_craft_pump(iw_craft_host_of(t->craft), iw_transport_now());
    size_t n = iw_craft_send(t->craft, position, octets, length);
    if (n)
        return (ssize_t)n;
    errno = iw_craft_get_state(t->craft).reset ? ECONNRESET : EAGAIN;
    return -1;
}

ssize_t iw_tcp_receive(struct iw_tcp *t, void *octets, size_t room)
{
    if (t->craft == NULL)
        return recv(t->fd, octets, room, 0);
    iw_craft_pump(iw_craft_host_of(t->craft), iw_transport_now());
    size_t n = iw_craft_receive(t->craft, octets, room);
    if (n)
        return (ssize_t)n;
    struct iw_craft_state state = iw_craft_get_state(t->craft);
    if (state.ended)
        return 0;
    errno = state.reset ? ECONNRESET : EAGAIN;
    return -1;
}

bool iw_tcp_waiting(const struct iw_tcp *t)
{
    if (t->craft == NULL)
        return false;
    struct iw_craft_state state = iw_craft_get_state(t->craft);
    return state.waiting || state.ended || state.reset;
}

/* Room for new octets is taken to be there: if the window is closed the next send says so, and
 * what opens it is a packet. */
static int wait_crafted(struct iw_tcp *t, short events, uint64_t deadline)
{
    struct iw_craft_host *h = iw_craft_host_of(t->craft);
    uint64_t heard = iw_craft_get_state(t->craft).heard;

    do {
        iw_craft_pump(h, iw_transport_now());
        if (events & POLLIN && iw_tcp_waiting(t))
            return POLLIN;
        if (events & POLLOUT && iw_craft_get_state(t->craft).heard != heard)
            return POLLOUT;
    } while (iw_tcp_wait_host(h, deadline));
    return 0;
}

int iw_tcp_wait(struct iw_tcp *t, short events, uint64_t deadline)
{
    struct pollfd p = {.fd = t->fd, .events = events};

    if (t->craft != NULL)
        return wait_crafted(t, events, deadline);
    for (;;) {
        int ready = poll(&p, 1, iw_clock_left(deadline));

        if (ready > 0) {
            if (p.revents & (POLLERR | POLLHUP))
                p.revents |= events;
            return p.revents & events;
        }
        if (iw_transport_now() >= deadline)
            return 0;
    }
}

/* ---- ends ---- */

bool iw_tcp_shut(struct iw_tcp *t, uint64_t position)
{
    if (t->craft == NULL)
        return !shutdown(t->fd, SHUT_WR);
    iw_craft_fin(t->craft, position, iw_transport_now());
    return true;
}

void iw_tcp_reset(struct iw_tcp *t)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    if (t->craft != NULL)
        iw_craft_reset(t->craft);
    else
        setsockopt(t->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    iw_tcp_close(t);
}

/* What is crafted stays with its host, which answers what the peer may still send. */
void iw_tcp_close(struct iw_tcp *t)
{
    if (t->fd >= 0)
        close(t->fd);
    *t = IW_TCP_CLOSED;
}

/* ---- what is known ---- */

void iw_tcp_addresses(const struct iw_tcp *t, unsigned own, struct iw_synth_tcp *out)
{
    struct sockaddr_storage ours = {0}, theirs = {0};
    socklen_t our_length = sizeof(ours), their_length = sizeof(theirs);

    if (t->craft != NULL) {
        iw_craft_addresses(t->craft, own, out);
        return;
    }
    getsockname(t->fd, (struct sockaddr *)&ours, &our_length);
    getpeername(t->fd, (struct sockaddr *)&theirs, &their_length);
    take_address(&ours, &out->address[own], &out->port[own]);
    take_address(&theirs, &out->address[!own], &out->port[!own]);
}

bool iw_tcp_get_info(const struct iw_tcp *t, struct iw_tcp_info *out)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);

    if (t->craft != NULL) {
        struct iw_craft_state state = iw_craft_get_state(t->craft);
        *out = (struct iw_tcp_info){
            .mss = state.mss, .unacked = !state.acked_all, .acked = state.acked, .rtt = state.rtt};
        return true;
    }
    if (t->fd < 0 || getsockopt(t->fd, IPPROTO_TCP, TCP_INFO, &info, &length))
        return false;
    *out = (struct iw_tcp_info){.mss = info.tcpi_snd_mss,
                                .unacked = info.tcpi_unacked,
                                .rtt = (uint64_t)info.tcpi_rtt * 1000};
    return true;
}
