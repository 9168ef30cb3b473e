/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CRAFT_H
#define IW_RUNNER_CRAFT_H

/*
 * The station's own TCP (RFC 9293) for the cases that need what no socket does: a chosen initial
 * sequence number, MSS and window, and segments that are withheld, sent in any order, repeated or
 * overlapping. IPv4 without options; of TCP's options only the MSS.
 *
 * It never sends octets of its own accord: a segment that is lost is lost until it is sent again.
 * Only a SYN or FIN that is not acknowledged is repeated, IW_CRAFT_TRIES times. What arrives is put
 * in order and acknowledged at once, unless acknowledgements are withheld. There is no congestion
 * control; ordinary sending keeps to the peer's window.
 *
 * Memory: a connection takes IW_CRAFT_ROOM octets, a host has at most IW_CRAFT_CONNECTIONS of them
 * and of listeners.
 *
 * Positions count the octets of a direction from 0, the first octet behind the SYN.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iwarp/capture.h"
#include "tun.h"

enum {
    IW_CRAFT_MTU = 1500,
    IW_CRAFT_HEADERS = 40, /* of IPv4 and TCP */
    IW_CRAFT_MSS = IW_CRAFT_MTU - IW_CRAFT_HEADERS,
    IW_CRAFT_WINDOW = 65535,
    IW_CRAFT_ROOM = 65536, /* octets received and not yet taken */
    IW_CRAFT_TRIES = 5,    /* of a SYN or FIN */
    IW_CRAFT_CONNECTIONS = 256
};

/* What a connection starts with. Zeros of `mss` and `window` are refused. */
struct iw_craft_options {
    uint32_t isn;
    uint16_t mss;    /* that the peer is told */
    uint16_t window; /* likewise */
    bool withhold;   /* acknowledgements of anything but the SYN */
};

#define IW_CRAFT_DEFAULTS                                                                          \
    (struct iw_craft_options)                                                                      \
    {                                                                                              \
        .isn = 1000, .mss = IW_CRAFT_MSS, .window = IW_CRAFT_WINDOW                                \
    }

struct iw_craft_host;
struct iw_craft_listener;
struct iw_craft;

/* A packet that came or went: `length` octets of IPv4, with `octets` of payload at `position`; its
 * flags are IW_TCP_*. */
struct iw_craft_packet {
    bool from_peer;
    const uint8_t *data;
    size_t length;
    uint64_t position;
    size_t octets;
    uint8_t flags;
};
typedef void iw_craft_seen_fn(void *context, struct iw_craft *c, const struct iw_craft_packet *p);

/* Returns the keeper of all connections over one device, which is borrowed, as `context` is; NULL
 * without memory. */
struct iw_craft_host *iw_craft_host_new(struct iw_tun *tun, iw_craft_seen_fn *seen, void *context);
/* Closes all that is open; what has not come to its end on both sides is reset. */
void iw_craft_host_free(struct iw_craft_host *h);
/* Takes in every packet that waits, and repeats the SYNs and FINs that are due (`now` in ns). A
 * segment for no connection is answered with RST. */
void iw_craft_pump(struct iw_craft_host *h, uint64_t now);
/* Returns when iw_craft_pump has to be called though nothing came, in ns; UINT64_MAX: never. */
uint64_t iw_craft_due(const struct iw_craft_host *h);
/* Returns the descriptor of the device, which is readable when a packet waits. */
int iw_craft_fd(const struct iw_craft_host *h);

/* Sends a SYN to a numeric address. Returns NULL if that is no IPv4 address, or there is no room.
 * The host owns the connection. */
struct iw_craft *iw_craft_connect(struct iw_craft_host *h, const char *host, uint16_t port,
                                  const struct iw_craft_options *options, uint64_t now);
/* Returns a port of the station's that takes connections, which the host owns; NULL without room.
 */
struct iw_craft_listener *iw_craft_listen(struct iw_craft_host *h,
                                          const struct iw_craft_options *options);
uint16_t iw_craft_listener_port(const struct iw_craft_listener *l);
/* Returns the next connection that is established; NULL if there is none now. */
struct iw_craft *iw_craft_accept(struct iw_craft_listener *l);

struct iw_craft_state {
    bool established; /* at some time */
    bool reset;       /* by the peer, or nobody answered a SYN or FIN */
    bool refused;     /* the SYN was answered with a RST */
    bool ended;       /* the peer's FIN has come, and every octet before it */
    bool acked_all;   /* the peer has acknowledged all that was sent, the FIN too */
    uint64_t acked;   /* octets that the peer has acknowledged */
    uint64_t sent;    /* position behind the last octet sent */
    uint64_t heard;   /* segments that came from the peer */
    uint64_t repeats; /* of these, those whose octets had all come before */
    uint16_t mss;     /* octets of the largest segment that the peer takes */
    uint64_t rtt;     /* ns from the SYN to its answer */
    size_t waiting;   /* octets to be received */
};

/* Returns a snapshot of the connection. */
struct iw_craft_state iw_craft_get_state(const struct iw_craft *c);
/* Returns the host that owns the connection. */
struct iw_craft_host *iw_craft_host_of(const struct iw_craft *c);
/* Returns where the connection keeps a number of the caller's, -1 at first. */
int *iw_craft_label(struct iw_craft *c);
/* Fills in addresses and ports; `own` is the station's side. */
void iw_craft_addresses(const struct iw_craft *c, unsigned own, struct iw_synth_tcp *out);

/* Octets in segments of the peer's MSS, as far as its window goes. Returns their number. */
size_t iw_craft_send(struct iw_craft *c, uint64_t position, const void *octets, size_t length);
/* One segment, whatever the window says, of at most IW_CRAFT_MSS octets. */
void iw_craft_segment(struct iw_craft *c, uint64_t position, const void *octets, size_t length);
/* The FIN behind all octets before `position`. */
void iw_craft_fin(struct iw_craft *c, uint64_t position, uint64_t now);
void iw_craft_reset(struct iw_craft *c);
/* Takes octets in order. Returns their number. */
size_t iw_craft_receive(struct iw_craft *c, void *octets, size_t room);
/* Sets whether what arrives is acknowledged; when that is switched on, all that came is. */
void iw_craft_acknowledge(struct iw_craft *c, bool on);
/* Another window; the peer is told. */
void iw_craft_window(struct iw_craft *c, uint16_t window);

#endif
