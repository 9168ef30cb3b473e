/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of the DDP header in reversed octet order: mended before anything else is judged. */
#include "observer/observer_internal.h"

/* Notes that a field of the segment in *o->now is mended: it is found once the segment was shown.
 */
static void owe(struct iw_observer *o, enum iw_quirk quirk, size_t offset, uint64_t got,
                uint64_t want)
{
    o->scratch->owed[o->scratch->n_owed++] =
        (struct iw_observed_owed){.quirk = quirk, .offset = offset, .got = got, .want = want};
}

/* Mends a field that should be `want`. `known`: whether that is certain; if not, it is turned where
 * the side is known to send it so. */
static void mend32(struct iw_observer *o, enum iw_quirk quirk, size_t offset, uint32_t *field,
                   bool known, uint32_t want)
{
    const struct iw_observed_side *s = &o->side[o->now->side];
    uint32_t got = *field, turned = iw_quirk_turn32(got);

    if (known ? !iw_quirk_turned32(got, want) : !iw_quirk_in(s->found, quirk) || turned == got)
        return;
    *field = turned;
    owe(o, quirk, offset, got, turned);
}

static void mend_to(struct iw_observer *o, uint64_t *field, bool known, uint64_t want)
{
    const struct iw_observed_side *s = &o->side[o->now->side];
    uint64_t got = *field, turned = iw_quirk_turn64(got);

    if (known ? !iw_quirk_turned64(got, want)
              : !iw_quirk_in(s->found, IW_QUIRK_TO_ORDER) || turned == got)
        return;
    *field = turned;
    owe(o, IW_QUIRK_TO_ORDER, IW_AT_TO, got, turned);
}

static void mend_untagged(struct iw_observer *o)
{
    struct iw_ddp_header *h = &o->now->ddp;
    const struct iw_observed_side *s = &o->side[o->now->side];
    unsigned opcode = iw_rdmap_op(h);

    if (iw_rdmap_assigned(opcode, o->config.extensions) && !iw_rdmap_is_tagged(opcode))
        mend32(o, IW_QUIRK_QN_ORDER, IW_AT_QN, &h->qn, true, iw_rdmap_queue(opcode));
    if (h->qn >= QUEUES)
        return;
    const struct iw_observed_queue *q = &s->queue[h->qn];
    mend32(o, IW_QUIRK_MSN_ORDER, IW_AT_MSN, &h->msn, !q->lost, q->msn);
    mend32(o, IW_QUIRK_MO_ORDER, IW_AT_MO, &h->mo, !q->lost,
           q->open && h->msn == q->msn ? (uint32_t)q->mo : 0);
}

/* The request that a Read Response answers, as far as one can say; NULL: not known. */
static const struct iw_observed_read *due(struct iw_observer *o)
{
    struct iw_observed_reads *r = &o->side[iw_observed_other(o->now->side)].reads;

    if (r->uncertain || r->count == 0 || iw_observer_request_at(r, 0)->atomic)
        return NULL;
    return iw_observer_request_at(r, 0);
}

static void mend_tagged(struct iw_observer *o)
{
    struct iw_ddp_header *h = &o->now->ddp;
    struct iw_observed_side *s = &o->side[o->now->side];
    bool response = iw_rdmap_op(h) == IW_OP_READ_RESPONSE;
    const struct iw_observed_tagged *t = &s->tagged[response];
    const struct iw_observed_read *read = response && !t->open ? due(o) : NULL;

    mend32(o, IW_QUIRK_STAG_ORDER, IW_AT_STAG, &h->stag, t->open || read != NULL,
           t->open        ? t->stag
           : read != NULL ? read->sink_stag
                          : 0);
    mend_to(o, &h->to, t->open || read != NULL, t->open ? t->to : read != NULL ? read->sink_to : 0);
}

void iw_observer_mend_order(struct iw_observer *o)
{
    const struct iw_observed_side *s = &o->side[o->now->side];

    o->scratch->n_owed = 0;
    if (o->config.no_quirks || s->as_ulpdus || s->unproven)
        return;
    if (iw_ddp_tagged(&o->now->ddp))
        mend_tagged(o);
    else
        mend_untagged(o);
}

void iw_observer_find_order(struct iw_observer *o)
{
    struct iw_observed_side *s = &o->side[o->now->side];

    for (size_t i = 0; i < o->scratch->n_owed; i++) {
        const struct iw_observed_owed *one = &o->scratch->owed[i];
        if (!iw_observer_quirk(o, s, one->quirk))
            iw_observer_find_at(o, iw_quirk_check(one->quirk), one->offset, one->got, one->want);
    }
    o->scratch->n_owed = 0;
}
