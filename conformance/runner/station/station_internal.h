/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_STATION_INTERNAL_H
#define IW_RUNNER_STATION_INTERNAL_H

#include "conform_station.h"
#include "station_tcp.h"

struct iw_station {
    struct iw_exchange *exchange;
    struct iw_tun *tun;         /* NULL: sockets */
    struct iw_craft_host *host; /* of all crafted connections; NULL: none so far */
    FILE *trace;
    struct iw_conn *conns;
    struct iw_station_listener *listeners;
    struct iw_station_finding *findings, **last_finding;
    bool flooded;
    bool no_quirks;
    iw_quirks quirks; /* that the peer is said to have */
};

struct iw_station_listener {
    struct iw_station_listener *next;
    struct iw_station *station;
    int fd; /* -1: crafted */
    struct iw_craft_listener *crafted;
    uint16_t port;
};

struct iw_conn {
    struct iw_conn *next;
    struct iw_station *station;
    struct iw_observer *observer;
    struct iw_tcp tcp;
    struct iw_conn_state state;
    uint64_t written;    /* position after the last octet given to TCP */
    uint64_t start;      /* position of the first octet of full operation that we send */
    uint64_t peer_start; /* ... that the peer sends */
    uint64_t peer_base;  /* position at which the peer's MPA begins: after what it streamed */
    bool misframed;      /* an FPDU that we sent ends elsewhere than its receiver will look */
    bool streaming;      /* MPA has not begun (RFC 5044 §7.1.2) */
    bool ended_early;    /* the peer ended its direction while it streamed */
    uint8_t *streamed;   /* what the peer streamed and nobody took */
    size_t n_streamed;
    uint64_t last_sent; /* position of the last thing sent */
    uint64_t came;      /* when octets of the peer came last */
    uint64_t asked;     /* when our start-up frame was sent */
    uint64_t heard;     /* segments that had come when a crafted one was sent */
    uint64_t repeats;   /* segments that had come again when acknowledging was changed */
    bool write_failed;  /* the socket takes nothing any more */
    bool write_reset;   /* ... because of a RST */
    struct iw_station_finding *found[IW_CHECK_COUNT]; /* the station's; NULL: that check held */
    struct iw_item *items, **last_item;
    size_t n_items;
    struct iw_item *partial; /* message without its L=1 segment so far */
    bool corked;
    uint8_t *held; /* octets collected while corked */
    size_t n_held, room_held;
};

/* Returns the side of MPA on which the peer is. */
enum iw_side iw_conn_peer_side(const struct iw_conn *c);

/* receive.c: reads once. */
void iw_conn_read(struct iw_conn *c);
/* Reads from every crafted connection that has something. */
void iw_station_take(struct iw_station *s);
/* The observer's call-back; context is the connection. */
void iw_conn_seen(void *context, const struct iw_observation *seen);
/* Returns a new item without octets. Free it with iw_item_free. */
struct iw_item *iw_item_new(enum iw_item_kind kind, uint64_t position, uint64_t end);
/* Returns an item of the start-up frame that was observed. Free it likewise. */
struct iw_item *iw_item_startup(const struct iw_observation *o);
/* A message grows by the segment that was observed. */
void iw_item_append(struct iw_item *item, const struct iw_observation *o);
void iw_item_free(struct iw_item *item);

#endif
