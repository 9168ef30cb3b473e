/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "observer/observer_internal.h"

size_t iw_observer_size(void)
{
    return sizeof(struct iw_observer);
}

size_t iw_observer_scratch_size(void)
{
    return sizeof(struct iw_observer_scratch);
}

struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config)
{
    struct iw_observer *o = memory;

    if (size < sizeof(*o))
        return NULL;
    memset(o, 0, sizeof(*o));
    o->config = *config;
    o->scratch = config->scratch;
    o->now = &o->scratch->now;
    o->version = 1;
    for (int i = 0; i < 2; i++) {
        struct iw_observed_side *s = &o->side[i];
        s->self = (enum iw_side)i;
        s->observer = o;
        s->as_ulpdus = config->told[i];
        s->sink.context = s;
        s->sink.fpdu = iw_observer_fpdu;
        s->sink.check = iw_observer_framing_fault;
        for (int qn = 0; qn < QUEUES; qn++)
            s->queue[qn].msn = 1; /* RFC 5041 §4.3 */
        s->msn_start = 1;
    }
    return o;
}

void iw_observer_drop(struct iw_observer *o)
{
    for (int i = 0; i < 2; i++) {
        iw_hold_drop(&o->side[i]);
        iw_observer_forget_reads(&o->side[i]);
    }
}

/* ---- reports to the caller ---- */

void iw_observer_begin(struct iw_observer *o, enum iw_observed kind, enum iw_side side,
                       uint64_t pos, uint64_t end)
{
    memset(o->now, 0, sizeof(*o->now));
    o->now->kind = kind;
    o->now->side = side;
    o->now->pos = pos;
    o->now->end = end;
}

void iw_observer_show(struct iw_observer *o)
{
    o->config.seen(o->config.context, o->now);
}

/* RFC 5041 §5.2: a receiver does not compare fields that place no octet. */
static bool unnoticed(const struct iw_observation *now)
{
    return now->payload_length == 0 && (now->fault.check == IW_CHECK_RDMAP_RESPONSE_STAG ||
                                        now->fault.check == IW_CHECK_RDMAP_RESPONSE_TO);
}

/* Sides with the same quirk understand each other: it provokes neither. */
static bool shared(struct iw_observed_side *s, const struct iw_observation *now)
{
    struct iw_observed_side *other = &s->observer->side[iw_observed_other(s->self)];
    enum iw_quirk quirk = iw_quirk_shown(now->quirks, now->fault.check);

    if (quirk == IW_QUIRK_COUNT || !iw_quirk_in(other->found, quirk))
        return false;
    if (other->provocation.fault.check == now->fault.check)
        other->provocation = (struct iw_observed_provocation){.fault.check = IW_CHECK_NONE};
    return true;
}

static void provoke(struct iw_observed_side *s, const struct iw_observation *now)
{
    struct iw_observed_provocation *p = &s->provocation;
    const struct iw_check_info *info = iw_check_info(now->fault.check);

    if (now->kind != IW_OBSERVED_SEGMENT || shared(s, now))
        return;
    /* A fault that no check of a receiver is about may look like another fault to it. */
    p->doubtful = p->doubtful || info->reaction == IW_REACTION_NONE;
    if (info->reaction != IW_REACTION_TERMINATE || unnoticed(now))
        return;
    if (p->fault.check != IW_CHECK_NONE) {
        /* Which of several faults a receiver stopped at depends on the order in which it looks. */
        p->header = p->header && !p->doubtful && p->segment == s->segments;
        return;
    }
    struct iw_ddp_header came = {0}; /* a Terminate returns it as it came */
    (void)iw_wire_get_ddp(now->ulpdu, now->ulpdu_captured, &came);
    /* If a message is wrong as a whole, any segment may be the one that was refused. */
    *p = (struct iw_observed_provocation){.fault = now->fault,
                                          .doubtful = p->doubtful,
                                          .header = now->payload != NULL && now->segments <= 1 &&
                                                    !p->doubtful,
                                          .segment = s->segments,
                                          .ddp = came,
                                          .length = (uint16_t)now->ulpdu_length};
}

void iw_observer_find(struct iw_observer *o, enum iw_check check, uint64_t pos, uint64_t got,
                      uint64_t want)
{
    struct iw_observed_side *s = &o->side[o->now->side];
    enum iw_observed kind = o->now->kind;

    if (s->quiet || s->unproven)
        return;
#ifdef IW_PROVE
    if (iw_prove_blind(check))
        return;
#endif
    o->now->fault = (struct iw_fault){.check = check, .pos = pos, .got = got, .want = want};
    provoke(s, o->now);
    if (s->as_ulpdus)
        return; /* the caller knows what it sent; what that calls for counts */
    enum iw_check cause = iw_observed_cause(s, check);
    o->now->kind = IW_OBSERVED_FINDING;
    if (o->now->cause == IW_CHECK_NONE)
        o->now->cause = cause;
    iw_observer_show(o);
    o->now->cause = IW_CHECK_NONE;
    o->now->kind = kind;
}

bool iw_observer_quirk(struct iw_observer *o, struct iw_observed_side *s, enum iw_quirk quirk)
{
    bool again = iw_quirk_in(s->found, quirk);

    o->now->quirks |= iw_quirk_bit(quirk);
    o->now->proven |= iw_quirk_bit(quirk);
    s->found |= iw_quirk_bit(quirk);
    return again;
}

void iw_observer_lose(struct iw_observer *o, enum iw_side side, const struct iw_fault *fault)
{
    struct iw_observed_side *s = &o->side[side];
    struct iw_observed_side *other = &o->side[iw_observed_other(side)];
    bool negotiating = s->phase != PHASE_FULL;

    s->phase = PHASE_LOST;
    s->lost = *fault;
    iw_hold_drop(s);
    iw_observer_doubt_reads(o);
    iw_observer_begin(o, IW_OBSERVED_LOST, side, fault->pos, fault->pos);
    o->now->fault = *fault;
    iw_observer_show(o);
    /* The unreadable frame said how the other side frames. */
    if (negotiating && other->phase == PHASE_FRAMED && !other->as_ulpdus)
        iw_observer_lose(o, iw_observed_other(side), fault);
}

/* ---- the end of a side ---- */

/* RFC 5044 §7.1.1: private data that ends early. Octets that are no start-up frame so far are a
 * different fault. */
static bool inside_startup(const struct iw_observed_side *s)
{
    const uint8_t *key = s->self == IW_SIDE_INITIATOR ? iw_mpa_request_key : iw_mpa_reply_key;
    struct iw_iov held = iw_hold_peek(s);
    size_t length = held.length < IW_MPA_KEY_LENGTH ? held.length : IW_MPA_KEY_LENGTH;

    return length > 0 && memcmp(held.base, key, length) == 0;
}

/* RFC 5041 §6.2.1: a graceful close comes after all data. The rest may be missing because of a
 * Terminate, whole or not (its receiver need not wait for the rest), or because the other side
 * ended before. */
static bool inside_message(const struct iw_observer *o, const struct iw_observed_side *s)
{
    const struct iw_observed_side *other = &o->side[iw_observed_other(s->self)];
    bool open = s->tagged[0].open || s->tagged[1].open;

    for (int qn = 0; qn < QUEUES; qn++)
        open = open || (s->queue[qn].open && !s->queue[qn].lost);
    return open && !s->terminated && !other->terminated && !other->terminating &&
           !other->fin_known && !other->reset && !other->missed && !iw_observed_gap(other);
}

/* Returns whether an untagged message that has not ended has all the octets of its kind. */
static bool all_untagged(const struct iw_observed_side *s, const struct iw_observed_queue *q)
{
    struct iw_rdmap_terminate t;

    if (!q->open || q->lost || !q->whole)
        return false;
    switch (q->opcode) {
    case IW_OP_READ_REQUEST:
        return q->mo == IW_RDMAP_READ_REQUEST;
    case IW_OP_TERMINATE:
        return q->known && q->mo <= HEAD && iw_wire_get_terminate(q->head, (size_t)q->mo, &t) > 0 &&
               t.trailing == 0;
    case IW_OP_IMMEDIATE:
    case IW_OP_IMMEDIATE_SE:
        return q->mo == IW_RDMAP_IMMEDIATE;
    case IW_OP_ATOMIC_REQUEST:
        return q->mo == IW_RDMAP_ATOMIC_REQUEST;
    case IW_OP_ATOMIC_RESPONSE:
        return q->mo == IW_RDMAP_ATOMIC_RESPONSE;
    default:
        return s->rtr == IW_MPA_RTR_SEND && q == &s->queue[IW_QN_SEND];
    }
}

/* Returns whether a message that has not ended has all the octets that it can have: not the rest of
 * it is missing, but L=1. Of a Send or a Write only an RTR shows that. */
static bool lacks_last(const struct iw_observed_side *s)
{
    const struct iw_observed_tagged *response = &s->tagged[1];

    for (int qn = 0; qn < QUEUES; qn++)
        if (all_untagged(s, &s->queue[qn]))
            return true;
    return (s->tagged[0].open && s->rtr == IW_MPA_RTR_WRITE) ||
           (response->open && response->matched && response->length == response->read.size);
}

void iw_observer_judge_end(struct iw_observer *o, enum iw_side side)
{
    struct iw_observed_side *s = &o->side[side];
    bool framing = s->phase != PHASE_LOST && s->phase != PHASE_LEFT;

    if (s->fin_known && iw_hold_edge(s) >= s->fin_pos && iw_observer_startup_waits(o, side)) {
        iw_observer_seek_startup(o, side, true);
        framing = s->phase != PHASE_LOST && s->phase != PHASE_LEFT;
    }
    /* An FPDU may have waited for more octets. */
    if (s->fin_known && !s->fin_judged && s->phase == PHASE_FULL && !s->as_ulpdus)
        iw_observer_judge_held(o, side);
    if (!s->fin_known || s->fin_judged ||
        (framing && !s->as_ulpdus && iw_hold_edge(s) < s->fin_pos))
        return;
    iw_observer_begin(o, IW_OBSERVED_FIN, side, s->fin_pos, s->fin_pos);
    if (!s->fin_seen) {
        s->fin_seen = true;
        iw_observer_show(o);
    }
    if (s->phase == PHASE_FRAMED)
        return; /* the held octets may yet be judged */
    s->fin_judged = true;
    if (s->as_ulpdus || !framing)
        return;
    if (s->phase == PHASE_STARTUP) {
        if (inside_startup(s))
            iw_observer_find(o, IW_CHECK_MPA_STARTUP_CUT, s->fin_pos, s->fin_pos, 0);
    } else if (!s->crc_failed && !s->seeking && !iw_deframer_end(&s->deframer, s->fin_pos)) {
        iw_observer_find(o, IW_CHECK_MPA_FIN_INSIDE, s->fin_pos, s->fin_pos, s->deframer.next);
    } else if (inside_message(o, s)) {
        iw_observer_find(o, lacks_last(s) ? IW_CHECK_DDP_LAST : IW_CHECK_DDP_FIN_OPEN, s->fin_pos,
                         0, 0);
    }
}

void iw_observer_end(struct iw_observer *o, enum iw_side side, uint64_t pos, bool reset)
{
    struct iw_observed_side *s = &o->side[side];

    if (s->reset)
        return;
    /* The other side waits no longer. */
    for (int i = 0; i < 2; i++)
        if ((reset || i != (int)side) && iw_observer_startup_waits(o, (enum iw_side)i))
            iw_observer_seek_startup(o, (enum iw_side)i, true);
    if (reset) {
        iw_observer_judge_last(o, s);
        s->reset = true;
        iw_observer_begin(o, IW_OBSERVED_RESET, side, pos, pos);
        iw_observer_show(o);
    } else if (!s->fin_known) {
        s->fin_known = true;
        s->fin_pos = pos;
        iw_observer_judge_end(o, side);
    }
}

/* ---- the told side ---- */

void iw_observer_told_startup(struct iw_observer *o, enum iw_side side, const void *frame,
                              size_t length)
{
    struct iw_observed_side *s = &o->side[side];

    if (s->as_ulpdus && s->phase == PHASE_STARTUP && length >= IW_MPA_STARTUP_HEADER)
        iw_observer_take_startup(o, side, frame, length);
}

void iw_observer_told_segment(struct iw_observer *o, enum iw_side side, const void *ulpdu,
                              size_t length, bool broken)
{
    if (o->side[side].as_ulpdus)
        iw_observer_segment(o, side, ulpdu, length, length, NULL, !broken);
}

void iw_observer_told_octets(struct iw_observer *o, enum iw_side side)
{
    o->side[side].spoke = true;
}

void iw_observer_told_end(struct iw_observer *o, enum iw_side side, bool reset)
{
    if (o->side[side].as_ulpdus)
        iw_observer_end(o, side, 0, reset);
}

/* ---- questions ---- */

bool iw_observer_follows(const struct iw_observer *o, enum iw_side side)
{
    return o->side[side].phase == PHASE_FULL;
}

bool iw_observer_joined(const struct iw_observer *o)
{
    return o->joined;
}

bool iw_observer_boundary(const struct iw_observer *o, enum iw_side side)
{
    const struct iw_observed_side *s = &o->side[side];

    if (s->as_ulpdus)
        return true;
    switch (s->phase) {
    case PHASE_STARTUP: /* there is no frame: its length is 0 */
    case PHASE_FRAMED:
        return !iw_observed_gap(s) && iw_hold_edge(s) == s->frame_length;
    case PHASE_FULL:
        return !iw_observed_gap(s) && iw_deframer_end(&s->deframer, iw_hold_edge(s));
    case PHASE_LEFT:
        return true;
    case PHASE_LOST:
        break;
    }
    return false;
}
