/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "observer/observer_internal.h"

static void open_message(struct iw_observer *o, struct iw_observed_queue *q)
{
    const struct iw_observation *now = o->now;
    const struct iw_ddp_header *h = &now->ddp;

    q->open = q->used = true;
    q->whole = q->known = h->mo == 0;
    q->msn = h->msn;
    q->mo = q->top = q->octets = h->mo;
    q->misplaced = h->mo != 0;
    q->gap = false;
    q->opcode = (uint8_t)iw_rdmap_op(h);
    q->invalidate_stag = h->invalidate_stag;
    q->segments = 0;
    q->pos = now->pos;
    q->begun++;
    q->ordinal = now->meant_msn;
    o->side[now->side].untagged++;
}

/* Returns the quirk that explains why a message begins with this MSN, which is not the expected
 * one; IW_QUIRK_COUNT if none does. */
static enum iw_quirk numbering(const struct iw_observer *o, const struct iw_observed_side *s,
                               const struct iw_observed_queue *q, uint32_t msn)
{
    uint32_t start = s->untagged == 0 ? msn : s->msn_start;

    if (o->config.no_quirks || s->missed || o->joined || iw_quirk_turned32(msn, q->msn))
        return IW_QUIRK_COUNT;
    if (!q->used && msn == start && start != 1)
        return IW_QUIRK_MSN_START;
    /* Other queues have used up the numbers between. */
    return msn == s->untagged + start ? IW_QUIRK_MSN_SHARED : IW_QUIRK_COUNT;
}

/* Returns whether a quirk that was found before explains the MSN of the message that begins; notes
 * the one that explains it for the first time. */
static bool numbered_otherwise(struct iw_observer *o, struct iw_observed_side *s,
                               const struct iw_observed_queue *q)
{
    uint32_t msn = o->now->ddp.msn;
    enum iw_quirk quirk = numbering(o, s, q, msn);

    if (quirk == IW_QUIRK_COUNT)
        return false;
    if (s->untagged == 0)
        s->msn_start = msn;
    return iw_observer_quirk(o, s, quirk);
}

uint32_t iw_observer_meant_msn(const struct iw_observer *o)
{
    const iw_quirks known = iw_quirk_bit(IW_QUIRK_MSN_START) | iw_quirk_bit(IW_QUIRK_MSN_SHARED);
    const struct iw_ddp_header *h = &o->now->ddp;
    const struct iw_observed_side *s = &o->side[o->now->side];
    const struct iw_observed_queue *q = &s->queue[h->qn < QUEUES ? h->qn : 0];

    if (h->qn >= QUEUES || q->lost || q->uncounted)
        return h->msn;
    if (q->open)
        return h->msn == q->msn ? q->ordinal : h->msn;
    bool bent =
        h->msn == q->msn ? (s->found & known) != 0 : numbering(o, s, q, h->msn) != IW_QUIRK_COUNT;
    return bent ? q->begun + 1 : h->msn;
}

static void check_next(struct iw_observer *o, struct iw_observed_queue *q)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    struct iw_observed_side *s = &o->side[o->now->side];

    if (h->msn != q->msn && !numbered_otherwise(o, s, q))
        iw_observer_find_at(o, IW_CHECK_DDP_MSN, IW_AT_MSN, h->msn, q->msn);
    if (h->mo != 0)
        iw_observer_find_at(o, IW_CHECK_DDP_MO_ZERO, IW_AT_MO, h->mo, 0);
    open_message(o, q);
}

/* Checks the MO of a segment that does not follow the one before it. Octets that have come do not
 * come again; those that it leaves out may still come. */
static void check_mo(struct iw_observer *o, struct iw_observed_queue *q)
{
    uint32_t mo = o->now->ddp.mo;
    bool complete = q->octets == q->top;

    if (mo < q->top && complete && !q->misplaced) {
        iw_observer_find_at(o, IW_CHECK_DDP_MO_PLACE, IW_AT_MO, mo, q->mo);
        q->misplaced = true;
    } else if (mo > q->top && complete) {
        q->gap = true;
        q->gap_mo = mo;
        q->gap_want = (uint32_t)q->top;
    }
    q->mo = mo;
}

/* At the end of a message: an MO in it that left octets out is wrong, or came too early. */
static void judge_gap(struct iw_observer *o, struct iw_observed_queue *q)
{
    enum iw_check check = q->octets == q->top ? IW_CHECK_DDP_MO_ORDER : IW_CHECK_DDP_MO_PLACE;

    if (q->gap && !q->misplaced)
        iw_observer_find(o, check, q->pos, q->gap_mo, q->gap_want);
}

/* Checks a segment while a message of its queue is not complete. */
static void check_continued(struct iw_observer *o, struct iw_observed_queue *q)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    unsigned opcode = iw_rdmap_op(h);

    if (h->msn != q->msn && h->mo == 0) {
        iw_observer_find(o, IW_CHECK_DDP_LAST, o->now->pos, h->msn, q->msn);
        q->msn++;
        check_next(o, q);
        return;
    }
    if (h->msn != q->msn) {
        iw_observer_find_at(o, IW_CHECK_DDP_MSN, IW_AT_MSN, h->msn, q->msn);
        q->msn = h->msn;
    }
    if (h->mo != q->mo)
        check_mo(o, q);
    /* Reserved bits and versions that change are found by their own checks. */
    if (opcode != q->opcode)
        iw_observer_find_at(o, IW_CHECK_DDP_CONSTANT_UNTAGGED, IW_AT_RDMAP_CONTROL, opcode,
                            q->opcode);
    else if (iw_rdmap_invalidates(opcode) && h->invalidate_stag != q->invalidate_stag)
        iw_observer_find_at(o, IW_CHECK_DDP_CONSTANT_UNTAGGED, IW_AT_INVALIDATE_STAG,
                            h->invalidate_stag, q->invalidate_stag);
}

/* Keeps the beginning of the message. */
static void collect(const struct iw_observation *now, struct iw_observed_queue *q)
{
    size_t length = now->payload_length;

    if (q->mo >= HEAD)
        return;
    if (length > HEAD - q->mo)
        length = (size_t)(HEAD - q->mo);
    if (length > now->payload_captured) {
        q->known = false;
        length = now->payload_captured;
    }
    if (length > 0)
        memcpy(q->head + q->mo, now->payload, length);
}

/* Judges the message in o->now, which is whole. */
static void judge(struct iw_observer *o, unsigned opcode)
{
    static void (*const judges[])(struct iw_observer *) = {
        [IW_OP_READ_REQUEST] = iw_observer_read_request,
        [IW_OP_TERMINATE] = iw_observer_terminate,
        [IW_OP_IMMEDIATE] = iw_observer_immediate,
        [IW_OP_IMMEDIATE_SE] = iw_observer_immediate,
        [IW_OP_ATOMIC_REQUEST] = iw_observer_atomic_request,
        [IW_OP_ATOMIC_RESPONSE] = iw_observer_atomic_response,
    };

    if (opcode < sizeof(judges) / sizeof(judges[0]) && judges[opcode] != NULL &&
        iw_rdmap_assigned(opcode, o->config.extensions))
        judges[opcode](o);
}

/* Passes over a message: its missing part could have been anything. */
static void pass_over(struct iw_observer *o, unsigned opcode)
{
    iw_observer_doubt_reads(o);
    if (opcode == IW_OP_TERMINATE)
        o->side[o->now->side].terminated = true;
}

static void complete(struct iw_observer *o, struct iw_observed_queue *q)
{
    struct iw_observation *now = o->now;
    size_t kept = q->top < HEAD ? (size_t)q->top : HEAD;

    q->open = false;
    q->msn++;
    judge_gap(o, q);
    q->known = q->known && q->octets == q->top;
    now->message_length = q->top;
    now->segments = q->segments;
    if (q->whole && q->top == 0 && q->segments > 1)
        iw_observer_find(o, IW_CHECK_DDP_ZERO_SEGMENTS, now->pos, q->segments, 1);
    now->partial = !q->whole;
    if (q->known)
        iw_observed_header(o, q->opcode, q->head, kept);
    if (!q->whole || (!q->known && iw_rdmap_queue(q->opcode) != IW_QN_SEND))
        pass_over(o, q->opcode);
    else
        judge(o, q->opcode);
    iw_observer_message(o, q->pos, q->top, q->segments);
}

void iw_observer_untagged(struct iw_observer *o)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    struct iw_observed_queue *q = &o->side[o->now->side].queue[h->qn];

    if (h->qn == IW_QN_TERMINATE)
        o->side[o->now->side].terminating = true;
    /* A receiver need not wait for the rest of a message that fits into one segment (OP-67). */
    if (!iw_ddp_last(h) && !iw_rdmap_is_send(iw_rdmap_op(h)))
        o->side[o->now->side].provocation.doubtful = true;
    if (q->lost) {
        q->lost = false;
        q->uncounted = true;
        open_message(o, q);
    } else if (q->open) {
        check_continued(o, q);
    } else {
        check_next(o, q);
    }
    collect(o->now, q);
    q->mo += o->now->payload_length;
    q->octets += o->now->payload_length;
    if (q->top < q->mo)
        q->top = q->mo;
    q->segments++;
    if (iw_ddp_last(h))
        complete(o, q);
}
