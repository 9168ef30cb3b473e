/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_STATION_TCP_H
#define IW_RUNNER_STATION_TCP_H

/*
 * The wire of the station: one TCP connection, either a socket of the kernel's or segments of the
 * station's own (craft.h). Only iw_tcp_connect and iw_tcp_wait wait.
 */

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "craft.h"

struct iw_tcp {
    int fd;                 /* the socket; -1: none */
    struct iw_craft *craft; /* NULL: none */
};

#define IW_TCP_CLOSED                                                                              \
    (struct iw_tcp)                                                                                \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Returns whether there is a socket or a crafted connection. */
bool iw_tcp_open(const struct iw_tcp *t);

/* Connects, as getaddrinfo and connect do. `mss`: the largest segment that the peer is asked to
 * send and that is sent to it (TCP_MAXSEG), options included; 0: the path's. Returns false with one
 * line in `error` and with errno, which is 0 if the host is unknown. */
bool iw_tcp_connect(struct iw_tcp *t, const char *host, uint16_t port, uint16_t mss,
                    uint64_t deadline, char *error, size_t room);
/* Does the same with segments of the station's own, to a numeric address. Returns as above, but
 * errno says nothing. */
bool iw_tcp_connect_crafted(struct iw_tcp *t, struct iw_craft_host *h, const char *host,
                            uint16_t port, const struct iw_craft_options *options,
                            uint64_t deadline, char *error, size_t room);
/* Returns a socket that listens on a numeric address, with its port, any that is free, in *port;
 * `mss` holds for what it accepts. -1 with one line in `error`. */
int iw_tcp_listen(const char *host, uint16_t *port, uint16_t mss, char *error, size_t room);

/* Sends the octets at `position` of this direction. Returns as send() of a socket that does not
 * block. */
ssize_t iw_tcp_send(struct iw_tcp *t, uint64_t position, const void *octets, size_t length);
/* Returns as recv() of a socket that does not block. */
ssize_t iw_tcp_receive(struct iw_tcp *t, void *octets, size_t room);
/* Returns whether octets, or the end, can be received though no descriptor says so. */
bool iw_tcp_waiting(const struct iw_tcp *t);
/* Returns the descriptor to poll: the socket's, or that of the device. */
int iw_tcp_fd(const struct iw_tcp *t);
/* Waits until one of POLLIN and POLLOUT holds. Returns those that do, 0 at the deadline. */
int iw_tcp_wait(struct iw_tcp *t, short events, uint64_t deadline);

/* Waits for what comes next over a device, or until something is due. Returns false at the
 * deadline. */
bool iw_tcp_wait_host(struct iw_craft_host *h, uint64_t deadline);

/* Sends a FIN after the octets before `position`. Returns false if it could not be sent. */
bool iw_tcp_shut(struct iw_tcp *t, uint64_t position);
/* RST, and it is closed. */
void iw_tcp_reset(struct iw_tcp *t);
void iw_tcp_close(struct iw_tcp *t);

/* Fills in addresses and ports; `own` is the station's side. */
void iw_tcp_addresses(const struct iw_tcp *t, unsigned own, struct iw_synth_tcp *out);

struct iw_tcp_info {
    uint32_t mss;     /* octets, of the segments that are sent now */
    uint32_t unacked; /* segments that the peer has not acknowledged */
    uint64_t acked;   /* crafted: octets that it has */
    uint64_t rtt;     /* ns */
};
/* Fills in *out. Returns false if nothing is known. */
bool iw_tcp_get_info(const struct iw_tcp *t, struct iw_tcp_info *out);

#endif
