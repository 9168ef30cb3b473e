/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection of the station's own TCP. */
#include <stdlib.h>
#include <string.h>

#include "craft_internal.h"

static const uint64_t again_ns = 200000000; /* until a SYN or FIN is repeated */

struct iw_craft *iw_craft_new(struct iw_craft_host *h, const struct iw_craft_options *options)
{
    if (h->count >= IW_CRAFT_CONNECTIONS || !options->mss || !options->window)
        return NULL;
    struct iw_craft *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->host = h;
    c->options = *options;
    c->label = -1;
    c->due = UINT64_MAX;
    c->state.mss = IW_CRAFT_MSS;
    iw_stream_init(&c->came, c->room, sizeof(c->room), 0);
    c->next = h->crafts;
    h->crafts = c;
    h->count++;
    return c;
}

/* ---- sending ---- */

/* Position behind the last octet that came in order; held octets wait to be taken. */
static uint64_t in_order(const struct iw_craft *c)
{
    const uint8_t *octets;
    return iw_stream_next(&c->came) + iw_stream_peek(&c->came, &octets);
}

static void emit(struct iw_craft *c, uint8_t flags, uint64_t position, const void *payload,
                 size_t length)
{
    uint64_t next = in_order(c);
    size_t room = IW_CRAFT_ROOM - (size_t)(next - iw_stream_next(&c->came));
    struct iw_packet p = {
        .destination = c->peer,
        .source_port = c->own_port,
        .destination_port = c->peer_port,
        .seq = c->options.isn + (flags & IW_TCP_SYN ? 0 : 1 + (uint32_t)position),
        .flags = flags,
        .window = (uint16_t)(c->options.window < room ? c->options.window : room),
        .mss = flags & IW_TCP_SYN ? c->options.mss : 0,
        .payload = payload,
        .length = (uint32_t)length,
    };

    if (!c->options.withhold)
        c->told = c->peer_isn + 1 + (uint32_t)next + c->state.ended;
    if (flags & IW_TCP_ACK)
        p.ack = c->told;
    iw_craft_emit(c->host, c, &p, position);
}

static void acknowledge(struct iw_craft *c)
{
    emit(c, IW_TCP_ACK, c->fin_sent ? c->fin + 1 : c->state.sent, NULL, 0);
}

static void arm(struct iw_craft *c, uint64_t now)
{
    c->tries = 0;
    c->due = now + again_ns;
}

void iw_craft_send_syn(struct iw_craft *c, uint64_t now)
{
    if (!c->began) {
        c->began = now;
        arm(c, now);
    }
    emit(c, c->synchronised ? IW_TCP_SYN | IW_TCP_ACK : IW_TCP_SYN, 0, NULL, 0);
}

static bool alive(const struct iw_craft *c)
{
    return c->state.established && !c->state.reset;
}

void iw_craft_segment(struct iw_craft *c, uint64_t position, const void *octets, size_t length)
{
    if (!alive(c) || length > IW_CRAFT_MSS)
        return;
    emit(c, IW_TCP_ACK | IW_TCP_PSH, position, octets, length);
    if (position + length > c->state.sent)
        c->state.sent = position + length;
}

size_t iw_craft_send(struct iw_craft *c, uint64_t position, const void *octets, size_t length)
{
    const uint8_t *from = octets;
    size_t done = 0;

    while (done < length && alive(c)) {
        uint64_t end = c->state.acked + c->peer_window;
        size_t n = length - done;

        if (position + done >= end)
            break;
        if (n > end - (position + done))
            n = (size_t)(end - (position + done));
        if (n > c->state.mss)
            n = c->state.mss;
        iw_craft_segment(c, position + done, from + done, n);
        done += n;
    }
    return done;
}

void iw_craft_fin(struct iw_craft *c, uint64_t position, uint64_t now)
{
    if (!alive(c) || c->fin_sent)
        return;
    c->fin = position;
    c->fin_sent = true;
    arm(c, now);
    emit(c, IW_TCP_FIN | IW_TCP_ACK, position, NULL, 0);
}

void iw_craft_reset(struct iw_craft *c)
{
    if (!c->state.reset)
        emit(c, IW_TCP_RST | IW_TCP_ACK, c->fin_sent ? c->fin + 1 : c->state.sent, NULL, 0);
    c->state.reset = c->over = true;
    c->due = UINT64_MAX;
}

void iw_craft_acknowledge(struct iw_craft *c, bool on)
{
    bool withheld = c->options.withhold;

    c->options.withhold = !on;
    if (on && withheld && alive(c))
        acknowledge(c);
}

void iw_craft_window(struct iw_craft *c, uint16_t window)
{
    c->options.window = window;
    if (alive(c))
        acknowledge(c);
}

void iw_craft_repeat(struct iw_craft *c, uint64_t now)
{
    if (now < c->due)
        return;
    c->due = UINT64_MAX;
    if (c->state.reset || c->fin_acked || (c->state.established && !c->fin_sent))
        return;
    if (++c->tries > IW_CRAFT_TRIES) {
        c->state.reset = !c->state.established;
        return;
    }
    c->due = now + again_ns;
    if (!c->state.established)
        iw_craft_send_syn(c, now);
    else if (c->state.acked == c->fin) /* else it is not the FIN that was lost */
        emit(c, IW_TCP_FIN | IW_TCP_ACK, c->fin, NULL, 0);
}

/* ---- receiving ---- */

static void take_syn(struct iw_craft *c, const struct iw_packet *p, uint64_t now)
{
    /* RFC 9293 §3.7.1: without the option the peer takes 536 octets. */
    uint16_t mss = p->mss ? p->mss : 536;

    c->peer_isn = p->seq;
    c->told = p->seq + 1;
    c->synchronised = true;
    c->state.mss = mss < IW_CRAFT_MSS ? mss : IW_CRAFT_MSS;
    if (c->active)
        c->state.rtt = now - c->began;
}

static void take_ack(struct iw_craft *c, const struct iw_packet *p, uint64_t now)
{
    uint64_t position = iw_stream_unwrap(c->state.acked, p->ack - c->options.isn - 1);
    uint64_t end = c->fin_sent ? c->fin + 1 : c->state.sent;

    /* What was never sent is not acknowledged; nor is what was before. */
    if (position + 1 <= c->state.acked || position > end)
        return;
    if (!c->state.established) {
        c->state.established = true;
        c->due = UINT64_MAX;
        if (!c->active)
            c->state.rtt = now - c->began;
    }
    c->peer_window = p->window;
    if (c->fin_sent && position == c->fin + 1) {
        c->fin_acked = true;
        position = c->fin;
    }
    if (position > c->state.acked)
        c->state.acked = position;
}

/* True if it is to be acknowledged. */
static bool take_octets(struct iw_craft *c, const struct iw_packet *p)
{
    uint64_t position = iw_stream_unwrap(in_order(c), p->seq - c->peer_isn - 1);
    bool fin = p->flags & IW_TCP_FIN;

    if (p->length && position + p->length - 1 < in_order(c))
        c->state.repeats++;
    iw_stream_put(&c->came, position, p->payload, p->length);
    if (fin && !c->fin_seen) {
        c->fin_seen = true;
        c->peer_fin = position + p->length;
    }
    if (c->fin_seen && in_order(c) == c->peer_fin)
        c->state.ended = true;
    /* A segment before the window is a probe. */
    return p->length || fin || position != in_order(c);
}

/* A RST counts if it fits: in front of the handshake it answers the SYN. */
static bool reset_fits(const struct iw_craft *c, const struct iw_packet *p)
{
    if (!c->synchronised)
        return p->flags & IW_TCP_ACK && p->ack == c->options.isn + 1;
    return p->seq - (c->peer_isn + 1 + (uint32_t)in_order(c)) <= IW_CRAFT_ROOM;
}

void iw_craft_input(struct iw_craft *c, const struct iw_packet *p, uint64_t now)
{
    c->state.heard++;
    if (p->flags & IW_TCP_RST) {
        if (!reset_fits(c, p))
            return;
        c->state.reset = true;
        c->state.refused = !c->state.established;
        c->due = UINT64_MAX;
        return;
    }
    if (p->flags & IW_TCP_SYN) {
        if (c->synchronised) { /* our answer has not reached the peer */
            iw_craft_send_syn(c, now);
            return;
        }
        take_syn(c, p, now);
        if (!c->active) {
            iw_craft_send_syn(c, now);
            return;
        }
        if (p->flags & IW_TCP_ACK)
            take_ack(c, p, now);
        acknowledge(c);
        return;
    }
    if (!c->synchronised || !(p->flags & IW_TCP_ACK))
        return;
    take_ack(c, p, now);
    if (alive(c) && take_octets(c, p) && !c->options.withhold)
        acknowledge(c);
}

size_t iw_craft_receive(struct iw_craft *c, void *octets, size_t room)
{
    const uint8_t *from;
    size_t n = iw_stream_peek(&c->came, &from);
    if (n > room)
        n = room;
    if (n)
        memcpy(octets, from, n);
    iw_stream_consume(&c->came, n);
    return n;
}

struct iw_craft_state iw_craft_get_state(const struct iw_craft *c)
{
    struct iw_craft_state state = c->state;
    state.acked_all = state.acked == state.sent && (!c->fin_sent || c->fin_acked);
    const uint8_t *octets;
    state.waiting = iw_stream_peek(&c->came, &octets);
    return state;
}

struct iw_craft_host *iw_craft_host_of(const struct iw_craft *c)
{
    return c->host;
}

int *iw_craft_label(struct iw_craft *c)
{
    return &c->label;
}

void iw_craft_addresses(const struct iw_craft *c, unsigned own, struct iw_synth_tcp *out)
{
    out->address[own] = c->host->address;
    out->port[own] = c->own_port;
    out->address[!own] = c->peer;
    out->port[!own] = c->peer_port;
}
