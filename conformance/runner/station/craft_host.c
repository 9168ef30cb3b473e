/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections of the station's own TCP over one device. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "craft_internal.h"

enum { FIRST_PORT = 20000, LAST_PORT = 60000, FRAME = 65536, BURST = 4096 };

struct iw_craft_host *iw_craft_host_new(struct iw_tun *tun, iw_craft_seen_fn *seen, void *context)
{
    struct iw_craft_host *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return NULL;
    h->tun = tun;
    h->seen = seen;
    h->context = context;
    h->address.family = 4;
    inet_pton(AF_INET, IW_TUN_STATION, h->address.octets);
    return h;
}

void iw_craft_host_free(struct iw_craft_host *h)
{
    if (h == NULL)
        return;
    h->seen = NULL;
    while (h->crafts != NULL) {
        struct iw_craft *c = h->crafts;

        h->crafts = c->next;
        if (c->synchronised && !(c->fin_acked && c->state.ended))
            iw_craft_reset(c);
        free(c);
    }
    while (h->listeners != NULL) {
        struct iw_craft_listener *l = h->listeners;

        h->listeners = l->next;
        free(l);
    }
    free(h);
}

int iw_craft_fd(const struct iw_craft_host *h)
{
    return h->tun->fd;
}

uint64_t iw_craft_due(const struct iw_craft_host *h)
{
    uint64_t due = UINT64_MAX;

    for (const struct iw_craft *c = h->crafts; c != NULL; c = c->next)
        if (c->due < due)
            due = c->due;
    return due;
}

/* Ports follow each other, from one case to the next, so that none meets its predecessor. */
static uint16_t free_port(struct iw_craft_host *h)
{
    uint16_t *last = &h->tun->last_port;

    *last = *last < FIRST_PORT || *last >= LAST_PORT ? FIRST_PORT : (uint16_t)(*last + 1);
    return *last;
}

/* ---- packets ---- */

static void show(const struct iw_craft_host *h, struct iw_craft *c, struct iw_craft_packet *p)
{
    if (h->seen != NULL && c != NULL)
        h->seen(h->context, c, p);
}

void iw_craft_emit(struct iw_craft_host *h, struct iw_craft *c, struct iw_packet *packet,
                   uint64_t position)
{
    uint8_t octets[IW_CRAFT_MTU];
    struct iw_craft_packet shown = {
        .data = octets, .position = position, .octets = packet->length, .flags = packet->flags};

    packet->source = h->address;
    packet->id = ++h->id;
    shown.length = iw_packet_put(octets, sizeof(octets), packet);
    if (!shown.length)
        return;
    /* A device that takes nothing is a link that loses it. */
    (void)!write(h->tun->fd, octets, shown.length);
    show(h, c, &shown);
}

/* RFC 9293 §3.10.7.1: what belongs to no connection, or to one that is over (`c`). */
static void refuse(struct iw_craft_host *h, struct iw_craft *c, const struct iw_packet *p)
{
    struct iw_packet answer = {
        .destination = p->source,
        .source_port = p->destination_port,
        .destination_port = p->source_port,
        .flags = IW_TCP_RST,
    };

    if (p->flags & IW_TCP_RST)
        return;
    if (p->flags & IW_TCP_ACK) {
        answer.seq = p->ack;
    } else {
        answer.ack = p->seq + p->length + !!(p->flags & IW_TCP_SYN) + !!(p->flags & IW_TCP_FIN);
        answer.flags |= IW_TCP_ACK;
    }
    iw_craft_emit(h, c, &answer, 0);
}

static struct iw_craft *find(const struct iw_craft_host *h, const struct iw_packet *p)
{
    struct iw_craft *c = h->crafts;

    while (c != NULL && (c->own_port != p->destination_port || c->peer_port != p->source_port ||
                         memcmp(&c->peer, &p->source, sizeof(c->peer)) != 0))
        c = c->next;
    return c;
}

/* A SYN for a listener becomes a connection. */
static struct iw_craft *begin(struct iw_craft_host *h, const struct iw_packet *p)
{
    struct iw_craft_listener *l = h->listeners;

    if ((p->flags & (IW_TCP_SYN | IW_TCP_ACK | IW_TCP_RST)) != IW_TCP_SYN)
        return NULL;
    while (l != NULL && l->port != p->destination_port)
        l = l->next;
    struct iw_craft *c = l != NULL ? iw_craft_new(h, &l->options) : NULL;
    if (c == NULL)
        return NULL;
    c->listener = l;
    c->own_port = l->port;
    c->peer_port = p->source_port;
    c->peer = p->source;
    return c;
}

static void input(struct iw_craft_host *h, const uint8_t *octets, size_t length, uint64_t now)
{
    struct iw_frame frame = {.link = IW_LINK_RAW,
                             .data = octets,
                             .length = (uint32_t)length,
                             .original = (uint32_t)length};
    struct iw_craft_packet shown = {.from_peer = true, .data = octets, .length = length};
    struct iw_packet p;
    if (iw_packet_decode(&frame, &p) != IW_DECODE_TCP ||
        memcmp(&p.destination, &h->address, sizeof(h->address)) != 0)
        return;
    struct iw_craft *c = find(h, &p);
    if (c == NULL)
        c = begin(h, &p);
    if (c == NULL) {
        refuse(h, NULL, &p);
        return;
    }
    if (c->synchronised)
        shown.position = iw_stream_unwrap(iw_stream_next(&c->came), p.seq - c->peer_isn - 1);
    shown.octets = p.length;
    shown.flags = p.flags;
    show(h, c, &shown);
    if (c->over)
        refuse(h, c, &p);
    else
        iw_craft_input(c, &p, now);
}

void iw_craft_pump(struct iw_craft_host *h, uint64_t now)
{
    uint8_t octets[FRAME];
    ssize_t n;
    for (int i = 0; i < BURST && (n = read(h->tun->fd, octets, sizeof(octets))) > 0; i++)
        input(h, octets, (size_t)n, now);
    for (struct iw_craft *c = h->crafts; c != NULL; c = c->next)
        iw_craft_repeat(c, now);
}

/* ---- connections come ---- */

struct iw_craft *iw_craft_connect(struct iw_craft_host *h, const char *host, uint16_t port,
                                  const struct iw_craft_options *options, uint64_t now)
{
    struct iw_address peer = {.family = 4};
    struct iw_craft *c =
        inet_pton(AF_INET, host, peer.octets) == 1 ? iw_craft_new(h, options) : NULL;

    if (c == NULL)
        return NULL;
    c->peer = peer;
    c->active = true;
    c->own_port = free_port(h);
    c->peer_port = port;
    iw_craft_send_syn(c, now);
    return c;
}

struct iw_craft_listener *iw_craft_listen(struct iw_craft_host *h,
                                          const struct iw_craft_options *options)
{
    struct iw_craft_listener *l = h->count < IW_CRAFT_CONNECTIONS ? calloc(1, sizeof(*l)) : NULL;

    if (l == NULL)
        return NULL;
    l->host = h;
    l->options = *options;
    l->port = free_port(h);
    l->next = h->listeners;
    h->listeners = l;
    h->count++;
    return l;
}

uint16_t iw_craft_listener_port(const struct iw_craft_listener *l)
{
    return l->port;
}

struct iw_craft *iw_craft_accept(struct iw_craft_listener *l)
{
    struct iw_craft *oldest = NULL;

    for (struct iw_craft *c = l->host->crafts; c != NULL; c = c->next)
        if (c->listener == l && c->state.established)
            oldest = c;
    if (oldest != NULL)
        oldest->listener = NULL;
    return oldest;
}
