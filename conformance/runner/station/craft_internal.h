/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CRAFT_INTERNAL_H
#define IW_RUNNER_CRAFT_INTERNAL_H

#include "craft.h"
#include "iwarp/stream.h"

struct iw_craft_host {
    struct iw_tun *tun;
    struct iw_address address; /* the station's */
    iw_craft_seen_fn *seen;
    void *context;
    struct iw_craft *crafts;
    struct iw_craft_listener *listeners;
    unsigned count; /* of both */
    uint16_t id;    /* of the last IP packet */
};

struct iw_craft_listener {
    struct iw_craft_listener *next;
    struct iw_craft_host *host;
    struct iw_craft_options options;
    uint16_t port;
};

struct iw_craft {
    struct iw_craft *next;
    struct iw_craft_host *host;
    const struct iw_craft_listener *listener; /* that has not given it away yet; NULL: none */
    struct iw_craft_options options;
    struct iw_address peer;
    uint16_t own_port, peer_port;
    int label;
    struct iw_craft_state state;
    bool active;       /* the station sent the first SYN */
    bool synchronised; /* the peer's SYN has come */
    bool over;         /* we have reset it */
    uint32_t told;     /* the last acknowledgement */
    bool fin_sent, fin_acked;
    uint64_t fin;         /* position of our FIN */
    uint16_t peer_window; /* as offered last */
    uint32_t peer_isn;
    bool fin_seen; /* the peer's FIN, which may lie behind a gap */
    uint64_t peer_fin;
    uint64_t began; /* when the SYN was sent */
    uint64_t due;   /* when SYN or FIN is sent again; UINT64_MAX: never */
    unsigned tries;
    struct iw_stream came; /* octets in their order */
    uint8_t room[IW_CRAFT_ROOM];
};

/* craft.c: returns a connection of `h`, which owns it; NULL without room for one more, or if an
 * option is out of range. */
struct iw_craft *iw_craft_new(struct iw_craft_host *h, const struct iw_craft_options *options);
/* Sends the SYN, or the answer to the peer's. */
void iw_craft_send_syn(struct iw_craft *c, uint64_t now);
void iw_craft_input(struct iw_craft *c, const struct iw_packet *p, uint64_t now);
/* Repeats a SYN or FIN that is due, or gives it up. */
void iw_craft_repeat(struct iw_craft *c, uint64_t now);
/* craft_host.c: writes a packet from the station's address and shows it; `c` may be NULL. */
void iw_craft_emit(struct iw_craft_host *h, struct iw_craft *c, struct iw_packet *packet,
                   uint64_t position);

#endif
