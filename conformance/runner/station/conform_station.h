/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CONFORM_STATION_H
#define IW_RUNNER_CONFORM_STATION_H

/*
 * The station: the tester's end of TCP connections to the peer, over sockets or, with a TUN device,
 * with segments of its own (craft.h). It writes whatever octets it is
 * given, in whatever pieces; what the peer sends goes through the observer and comes out as a queue
 * of items. No call sleeps: each waits for its socket until a deadline (iw_transport_now()).
 *
 * The station never causes a RST by itself: it reads what is there before it closes, and closes its
 * own direction first.
 */

#include <stdio.h>

#include "craft.h"
#include "exchange.h"
#include "frame.h"
#include "iwarp/observer.h"

/* Bounds of what a peer can make a case hold. */
#define IW_STATION_ITEMS 65536u        /* items waiting on one connection; later ones are dropped */
#define IW_STATION_MESSAGE (12u << 20) /* octets of a message; a larger one ends the reading */
#define IW_STATION_SEGMENTS 8192u      /* ... and its segments */

enum iw_item_kind {
    IW_ITEM_STARTUP,
    IW_ITEM_MESSAGE, /* a whole RDMAP message, one segment or several */
    IW_ITEM_FIN,
    IW_ITEM_RESET,
    IW_ITEM_LOST /* the peer's framing cannot be followed any more */
};

struct iw_item_segment {
    size_t offset; /* of its ULPDU in iw_item.octets */
    size_t length;
    uint64_t position;
    bool crc_good;
};

/* One thing that the peer did. */
struct iw_item {
    struct iw_item *next;
    enum iw_item_kind kind;
    uint64_t position, end; /* octets of the peer's direction, its start-up frame included */
    uint64_t time;
    uint8_t *octets; /* STARTUP: the frame. MESSAGE: the ULPDUs one after the other */
    size_t length;
    struct iw_item_segment *segments; /* MESSAGE */
    size_t n_segments;
    iw_quirks quirks; /* through which it is to be read */
    bool mended;      /* the octets have the header that is meant, not the one that came */
};

/* A check about the peer that failed on one connection, however often: memory is bounded by the
 * connections, and no check is lost. */
struct iw_station_finding {
    struct iw_station_finding *next;
    struct iw_fault fault; /* the first time; pos: of the peer's first octet on */
    uint64_t count;        /* how often so far */
    enum iw_quirk quirk;   /* that it shows each time; IW_QUIRK_COUNT: none */
    enum iw_check cause;   /* of another finding, from which it follows each time; or NONE */
    int connection;
};

struct iw_station;
struct iw_conn;
struct iw_station_listener;

/* Returns a station. `trace` may be NULL. The exchange is borrowed, and so is the device over which
 * all connections go (NULL: sockets). */
struct iw_station *iw_station_create(struct iw_exchange *exchange, struct iw_tun *tun, FILE *trace);
/* How connections opened from now on are judged: `none`: no quirk is looked for; `assumed`: those
 * that the peer is said to have. */
void iw_station_quirks(struct iw_station *s, bool none, iw_quirks assumed);
/* Closes what is open. */
void iw_station_destroy(struct iw_station *s);
/* Returns the findings in order of happening, over all connections. Owned by the station. */
const struct iw_station_finding *iw_station_findings(const struct iw_station *s);
/* Returns whether the peer has sent more than the log can take. */
bool iw_station_flooded(const struct iw_station *s);

/* Connects. The station is then the MPA initiator. Without a device `mss` alone of the options is
 * used, here and below, and may be 0. Returns NULL with one line in `error` if it cannot; the
 * station owns the connection. */
struct iw_conn *iw_station_connect(struct iw_station *s, const char *host, uint16_t port,
                                   const struct iw_craft_options *options, uint64_t deadline,
                                   char *error, size_t room);
/* Listens on a numeric address, any free port. Returns NULL with one line in `error` if it cannot;
 * the station owns the listener. */
struct iw_station_listener *iw_station_listen(struct iw_station *s, const char *host,
                                              const struct iw_craft_options *options, char *error,
                                              size_t room);
uint16_t iw_station_listener_port(const struct iw_station_listener *l);
/* Returns the next connection, whose MPA responder the station is; NULL if none came in time. */
struct iw_conn *iw_station_listener_accept(struct iw_station_listener *l, uint64_t deadline);

/* Reads from every connection until `fd` is readable or the deadline has passed. Returns true if it
 * is. */
bool iw_station_wait(struct iw_station *s, int fd, uint64_t deadline);

/* ---- sending ---- */

/* How octets are split into writes: each of `sizes` in turn, the rest in one. `each` > 0 splits
 * everything into writes of that many octets. Zeros mean one write. */
struct iw_writes {
    const size_t *sizes;
    size_t count;
    size_t each;
};

/* Octets of which the observer does not learn. */
void iw_conn_write(struct iw_conn *c, const void *octets, size_t length,
                   const struct iw_writes *writes, uint64_t deadline);
/* A start-up frame; FPDU positions count from its end. */
void iw_conn_send_startup(struct iw_conn *c, const void *frame, size_t length,
                          const struct iw_writes *writes, uint64_t deadline);
/* One ULPDU as an FPDU. The observer judges it as it would in a capture; an FPDU that is bent so
 * that no correct receiver takes it (iw_frame_broken) counts as broken (iw_observer_told_segment),
 * and so does each that follows one whose end is not where its length says. */
void iw_conn_send_ulpdu(struct iw_conn *c, const void *ulpdu, size_t length,
                        const struct iw_frame_bend *bend, const struct iw_writes *writes,
                        uint64_t deadline);
/* Corked, a connection collects what is sent; uncorking writes it as one. */
void iw_conn_cork(struct iw_conn *c);
void iw_conn_uncork(struct iw_conn *c, const struct iw_writes *writes, uint64_t deadline);
/* Writes the first `length` octets of what is collected, as one; the rest stays. */
void iw_conn_release(struct iw_conn *c, size_t length, uint64_t deadline);
/* A comment on the last thing sent. Returns its position. */
uint64_t iw_conn_comment_sent(struct iw_conn *c, const char *text);
/* FIN. */
void iw_conn_shutdown(struct iw_conn *c);
/* RST, on purpose. The connection is closed. */
void iw_conn_reset(struct iw_conn *c);

/* ---- crafted connections ---- */

/* Takes what was collected since iw_conn_cork out of the ordinary way: it leaves by iw_conn_segment
 * only. Returns its octets, of number *length and at *position on, borrowed until the next call
 * that sends. */
const uint8_t *iw_conn_take(struct iw_conn *c, uint64_t *position, size_t *length);
/* Sends one segment now, whether its octets were sent before or not. Returns false if there is no
 * device, or they are more than fit. */
bool iw_conn_segment(struct iw_conn *c, uint64_t position, const void *octets, size_t length);
/* Waits until the peer has sent a segment since the last call of iw_conn_segment. Returns false if
 * it did not in time, or there is no device. */
bool iw_conn_answered(struct iw_conn *c, uint64_t deadline);
/* Waits until the peer has sent octets again since the last call of iw_conn_acknowledge. Returns as
 * above. */
bool iw_conn_repeated(struct iw_conn *c, uint64_t deadline);
/* Set whether what arrives is acknowledged, and the window that the peer is offered. Each returns
 * false if there is no device. */
bool iw_conn_acknowledge(struct iw_conn *c, bool on);
bool iw_conn_window(struct iw_conn *c, uint16_t window);

/* ---- receiving ---- */

/* Returns the oldest item, waiting for one until the deadline; NULL if there is none. It stays in
 * the queue until iw_conn_drop. After FIN or RST nothing more comes. */
const struct iw_item *iw_conn_next(struct iw_conn *c, uint64_t deadline);
void iw_conn_drop(struct iw_conn *c);
/* Returns the message of which segments have come, but not the last one; NULL if there is none.
 * Valid until more is read. */
const struct iw_item *iw_conn_partial(const struct iw_conn *c);
/* Reads until the peer has ended its direction; items stay in the queue. Returns true if it has. */
bool iw_conn_drain(struct iw_conn *c, uint64_t deadline);

/* ---- streaming mode (RFC 5044 §7.1.2) ---- */

/* From now on the peer's octets are no MPA. To be called before anything is read. */
void iw_conn_streaming(struct iw_conn *c);
/* Returns the oldest octets that the peer streamed, once there are `length` of them; NULL if they
 * do not come in time. They stay until iw_conn_streamed_drop. */
const uint8_t *iw_conn_streamed(struct iw_conn *c, size_t length, uint64_t deadline);
void iw_conn_streamed_drop(struct iw_conn *c, size_t length);
/* MPA begins after what was dropped. */
void iw_conn_begin(struct iw_conn *c);

/* A comment on the packet with this octet of the peer's. */
void iw_conn_comment_received(struct iw_conn *c, uint64_t position, const char *text);
/* The one-line syntax of an item. Returns the characters that the whole text needs. */
size_t iw_item_print(const struct iw_item *item, char *text, size_t room);

/* ---- state ---- */

struct iw_conn_state {
    int number;     /* of this connection in the case, from 0 */
    bool initiator; /* the station is the MPA initiator */
    bool sent_startup, got_startup;
    struct iw_mpa_startup_header own, peer;             /* valid as said by the two above */
    struct iw_mpa_enhanced own_enhanced, peer_enhanced; /* zeros if there is none */
    uint64_t sent, received;                            /* octets of the two directions */
    uint64_t rtt; /* ns from the end of the station's start-up frame to the end of the peer's, or
                     what TCP measured if there was no such exchange */
    uint32_t mss; /* octets, of TCP now */
    uint32_t unacked; /* TCP segments that the peer has not acknowledged; crafted: 1 or 0 */
    uint64_t acked;   /* crafted: octets that the peer has acknowledged */
    bool ended;       /* the peer ended its direction */
    bool reset;       /* ... by RST */
    bool shut;        /* the station ended its own */
};

/* Return whether the station, and the peer, put Markers into what they send. */
bool iw_conn_markers(const struct iw_conn_state *s);
bool iw_conn_peer_markers(const struct iw_conn_state *s);

void iw_conn_get_state(struct iw_conn *c, struct iw_conn_state *out);

#endif
