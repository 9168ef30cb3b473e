/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of Request and Reply, and the result on which they agree (RFC 5044 §7.1.1, RFC 6581
 * §9). */
#include <string.h>

#include "mpa/startup.h"

/* One frame of ours before it is written, and before --violate changes it. */
struct draft {
    struct iw_mpa_startup_header header;
    bool block; /* the enhanced block goes before the private data */
    struct iw_mpa_enhanced enhanced;
};

static uint16_t lesser(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static void violate_header(const struct iw_switches *switches, struct draft *d, bool request)
{
    if (iw_switch_violated(switches, request ? IW_CHECK_MPA_REQ_KEY : IW_CHECK_MPA_REP_KEY))
        d->header.key[IW_MPA_KEY_LENGTH - 1] ^= 0x20;
    if (iw_switch_violated(switches, IW_CHECK_MPA_RES_BITS))
        d->header.flags |= IW_MPA_FLAG_RES;
    if (iw_switch_violated(switches, request ? IW_CHECK_MPA_REQ_R : IW_CHECK_MPA_REP_R))
        d->header.flags |= IW_MPA_FLAG_R;
    if (iw_switch_violated(switches, IW_CHECK_MPA_REV1_S)) {
        d->header.flags |= IW_MPA_FLAG_S;
        d->header.revision = 1;
    }
    if (iw_switch_violated(switches, IW_CHECK_MPA_REV))
        d->header.revision = 3;
}

static void violate_block(const struct iw_switches *switches, struct draft *d, uint8_t rtr,
                          bool request)
{
    if (d->enhanced.peer_to_peer &&
        iw_switch_violated(switches, request ? IW_CHECK_MPA_RTR_OFFER : IW_CHECK_MPA_RTR_CHOICE))
        d->enhanced.rtr = 0;
    if (!d->enhanced.peer_to_peer && iw_switch_violated(switches, IW_CHECK_MPA_RTR_UNASKED))
        d->enhanced.rtr = rtr ? rtr : IW_MPA_RTR_SEND;
}

/* Writes the draft and the private data into s->out. */
static void write_frame(struct iw_mpa_startup *s, struct draft *d, const void *data, size_t length)
{
    size_t block = d->block ? IW_MPA_ENHANCED_LENGTH : 0u;
    size_t total = IW_MPA_STARTUP_HEADER + block + length;

    d->header.pd_length = (uint16_t)(block + length);
    if (iw_switch_violated(s->switches, IW_CHECK_MPA_PD_LENGTH))
        d->header.pd_length = IW_MPA_PRIVATE_MAX + 2; /* 0x0202, the same in either octet order */
    enum { NEVER_COME = 4 };                          /* octets */
    if (d->header.pd_length <= IW_MPA_PRIVATE_MAX - NEVER_COME &&
        iw_switch_violated(s->switches, IW_CHECK_MPA_STARTUP_CUT))
        d->header.pd_length = (uint16_t)(d->header.pd_length + NEVER_COME);
    if (iw_switch_violated(s->switches, IW_CHECK_MPA_ENH_LENGTH)) {
        d->header.flags |= IW_MPA_FLAG_S;
        d->header.pd_length = 2;
        total = IW_MPA_STARTUP_HEADER + 2u;
    }
    s->sent_enhanced = iw_mpa_frame_enhanced(&d->header);
    (void)iw_wire_put_startup(s->out, sizeof(s->out), &d->header);
    if (d->block)
        (void)iw_wire_put_enhanced(s->out + IW_MPA_STARTUP_HEADER, IW_MPA_ENHANCED_LENGTH,
                                   &d->enhanced);
    if (length > 0)
        memcpy(s->out + IW_MPA_STARTUP_HEADER + block, data, length);
    s->out_length = (uint16_t)total;
}

/* Revision 0 is Markers and CRCs always (RFC 5044 figure 14). */
static uint8_t own_flags(const struct iw_mpa_config *config, uint8_t revision)
{
    bool always = revision == 0;

    return (uint8_t)((config->markers || always ? IW_MPA_FLAG_M : 0u) |
                     (config->crc || always ? IW_MPA_FLAG_C : 0u));
}

void iw_mpa_make_request(struct iw_mpa_startup *s, const void *data, size_t length)
{
    const struct iw_mpa_config *c = &s->config;
    struct draft d = {.header = {.flags = own_flags(c, c->revision), .revision = c->revision},
                      .block = c->enhanced,
                      .enhanced = {.peer_to_peer = c->peer_to_peer,
                                   .rtr = c->peer_to_peer ? c->rtr : 0,
                                   .ird = c->ird,
                                   .ord = c->ord}};

    memcpy(d.header.key, iw_mpa_request_key, IW_MPA_KEY_LENGTH);
    if (c->enhanced)
        d.header.flags |= IW_MPA_FLAG_S;
    violate_header(s->switches, &d, true);
    violate_block(s->switches, &d, c->rtr, true);
    write_frame(s, &d, data, length);
}

/* Returns the Reply's block without the effects of --violate. */
static struct iw_mpa_enhanced reply_block(const struct iw_mpa_startup *s, bool reject)
{
    const struct iw_mpa_config *c = &s->config;
    struct iw_mpa_enhanced e = {.peer_to_peer = s->agreed.peer_to_peer,
                                .rtr = s->agreed.rtr,
                                .ird = s->agreed.ird,
                                .ord = reject ? c->ord : s->agreed.ord};

    /* RFC 6581 §9.1: a depth that the initiator leaves to the ULP is left to the ULP. */
    if (s->peer_enhanced.ord == IW_MPA_DEPTH_UNSPECIFIED)
        e.ird = IW_MPA_DEPTH_UNSPECIFIED;
    if (s->peer_enhanced.ird == IW_MPA_DEPTH_UNSPECIFIED)
        e.ord = IW_MPA_DEPTH_UNSPECIFIED;
    return e;
}

static void violate_reply_block(const struct iw_mpa_startup *s, struct iw_mpa_enhanced *e)
{
    const struct iw_mpa_enhanced *peer = &s->peer_enhanced;

    if (iw_switch_violated(s->switches,
                           e->peer_to_peer ? IW_CHECK_MPA_REP_A : IW_CHECK_MPA_REP_A_UNASKED)) {
        e->peer_to_peer = !e->peer_to_peer;
        e->rtr = e->peer_to_peer ? s->config.rtr : 0;
    }
    if (peer->ird < IW_MPA_DEPTH_MAX && iw_switch_violated(s->switches, IW_CHECK_MPA_ORD_REPLY))
        e->ord = (uint16_t)(peer->ird + 1u);
    if (peer->ord == IW_MPA_DEPTH_UNSPECIFIED &&
        iw_switch_violated(s->switches, IW_CHECK_MPA_IRD_3FFF))
        e->ird = lesser(s->config.ird, IW_MPA_DEPTH_MAX);
    if (peer->ird == IW_MPA_DEPTH_UNSPECIFIED &&
        iw_switch_violated(s->switches, IW_CHECK_MPA_ORD_3FFF))
        e->ord = lesser(s->config.ord, IW_MPA_DEPTH_MAX);
    if (iw_switch_violated(s->switches, IW_CHECK_MPA_REP_DEPTHS)) {
        uint16_t ird = e->ird;
        e->ird = e->ord;
        e->ord = ird;
    }
}

void iw_mpa_make_reply(struct iw_mpa_startup *s, bool reject, const void *data, size_t length)
{
    struct draft d = {.header = {.flags = own_flags(&s->config, s->agreed.revision),
                                 .revision = s->agreed.revision},
                      .block = s->agreed.enhanced,
                      .enhanced = reply_block(s, reject)};

    memcpy(d.header.key, iw_mpa_reply_key, IW_MPA_KEY_LENGTH);
    if (reject)
        d.header.flags |= IW_MPA_FLAG_R;
    if (iw_switch_violated(s->switches,
                           d.block ? IW_CHECK_MPA_REP_S : IW_CHECK_MPA_REP_S_UNASKED) &&
        length <= iw_mpa_private_room(!d.block))
        d.block = !d.block;
    if (d.block)
        d.header.flags |= IW_MPA_FLAG_S;
    violate_header(s->switches, &d, false);
    violate_reply_block(s, &d.enhanced);
    violate_block(s->switches, &d, s->config.rtr, false);
    write_frame(s, &d, data, length);
}

/* Derives the part of the agreement that is the same for both roles. */
static void agree_framing(struct iw_mpa_startup *s, uint8_t revision, bool enhanced)
{
    bool consortium = revision == 0;

    s->agreed = (struct iw_mpa_agreed){
        .revision = revision,
        .version = consortium ? 0 : 1,
        .crc = consortium || s->config.crc || (s->peer.flags & IW_MPA_FLAG_C),
        .tx_markers = consortium || (s->peer.flags & IW_MPA_FLAG_M),
        .rx_markers = consortium || s->config.markers,
        .enhanced = enhanced,
        .ird = s->config.ird,
        .ord = s->config.ord,
        .peer_ird = enhanced ? s->peer_enhanced.ird : 0,
        .peer_ord = enhanced ? s->peer_enhanced.ord : 0,
    };
}

/* Returns the nearest known revision, in which a strange one is answered if mpa-rev is ignored. */
static uint8_t known_revision(const struct iw_mpa_startup *s)
{
    if (s->peer.revision == 0)
        return s->config.permissive ? 0 : 1;
    return s->peer.revision < s->config.revision ? s->peer.revision : s->config.revision;
}

void iw_mpa_agree_responder(struct iw_mpa_startup *s)
{
    struct iw_mpa_agreed *a = &s->agreed;
    const struct iw_mpa_config *c = &s->config;
    uint8_t revision = known_revision(s);

    agree_framing(s, revision, revision >= 2 && iw_mpa_frame_enhanced(&s->peer));
    if (!a->enhanced)
        return;
    if (s->peer_enhanced.peer_to_peer) {
        a->peer_to_peer = true;
        a->rtr = s->peer_enhanced.rtr & c->rtr;
        if (a->rtr == 0) /* RFC 6581 §9.2: then name a form that this end has */
            a->rtr = c->rtr;
        /* A Read as RTR needs an IRD of one (OP-29), but ORD 0x3FFF leaves this end's IRD as it is
         * (RFC 6581 §9.1): then a Read is offered only if nothing else can be. */
        if (s->peer_enhanced.ord == IW_MPA_DEPTH_UNSPECIFIED) {
            if (a->ird == 0 && a->rtr != IW_MPA_RTR_READ)
                a->rtr &= (uint8_t)~IW_MPA_RTR_READ;
        } else if ((a->rtr & IW_MPA_RTR_READ) && a->ird == 0) {
            a->ird = 1;
        }
    }
    if (a->ord != IW_MPA_DEPTH_UNSPECIFIED)
        a->ord = lesser(a->ord, s->peer_enhanced.ird);
}

void iw_mpa_agree_initiator(struct iw_mpa_startup *s)
{
    struct iw_mpa_agreed *a = &s->agreed;
    const struct iw_mpa_config *c = &s->config;
    const struct iw_mpa_enhanced *peer = &s->peer_enhanced;

    agree_framing(s, known_revision(s), s->sent_enhanced && iw_mpa_frame_enhanced(&s->peer));
    if (!a->enhanced || s->state == IW_MPA_REJECTED)
        return;
    if (peer->ird != IW_MPA_DEPTH_UNSPECIFIED &&
        !iw_switch_violated(s->switches, IW_CHECK_MPA_ORD_OBEY))
        a->ord = lesser(a->ord, peer->ird);
    if (c->peer_to_peer && peer->peer_to_peer) {
        a->peer_to_peer = true;
        a->rtr = peer->rtr & c->rtr;
        if (peer->ird == 0) /* no Read may be outstanding, not even an RTR (OP-29) */
            a->rtr &= (uint8_t)~IW_MPA_RTR_READ;
        if (a->rtr == 0 && !iw_switch_ignored(s->switches, IW_CHECK_MPA_RTR_MATCH)) {
            s->fault = (struct iw_fault){.check = IW_CHECK_MPA_RTR_MATCH,
                                         .pos = IW_MPA_STARTUP_HEADER,
                                         .got = peer->rtr,
                                         .want = c->rtr};
            return;
        }
    }
    if (c->ird != IW_MPA_DEPTH_UNSPECIFIED && peer->ord != IW_MPA_DEPTH_UNSPECIFIED &&
        peer->ord > c->ird && !iw_switch_ignored(s->switches, IW_CHECK_MPA_IRD_SHORT))
        s->fault = (struct iw_fault){.check = IW_CHECK_MPA_IRD_SHORT,
                                     .pos = IW_AT_MPA_ORD,
                                     .got = peer->ord,
                                     .want = c->ird};
}
