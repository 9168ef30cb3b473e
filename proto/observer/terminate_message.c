/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "observer/observer_internal.h"

enum { LOCAL_CATASTROPHIC = 0, REMOTE_PROTECTION = 1, TO_LLP = 3 };
#define REVERSED ((iw_quirks)1 << IW_QUIRK_TERMINATE_REVERSED)

/* Returns true unless the segment that the Terminate returns cannot have the fault it is blamed
 * for. A bystander cannot judge faults that only the receiver knows (buffers, STags). */
static bool reason_fits(const struct iw_observer *o, const struct iw_rdmap_terminate *t)
{
    const struct iw_ddp_header *h = &t->ddp;
    bool version = o->version_known && iw_ddp_version(h) == o->version;

    if (!(t->flags & IW_TERM_D))
        return true;
    switch (t->layer << 8 | t->etype << 4 | t->code) {
    case IW_LAYER_DDP << 8 | 1 << 4 | 4:
    case IW_LAYER_DDP << 8 | 2 << 4 | 6:
        if (version)
            return false;
        break;
    case IW_LAYER_DDP << 8 | 2 << 4 | 1:
        if (h->qn <= IW_QN_READ_REQUEST && h->qn == iw_rdmap_queue(iw_rdmap_op(h)))
            return false;
        break;
    case IW_LAYER_RDMAP << 8 | 2 << 4 | 5:
        return !o->version_known || iw_rdmap_version(h) != o->version;
    default:
        break;
    }
    return t->layer != IW_LAYER_DDP || t->etype == LOCAL_CATASTROPHIC || t->etype == TO_LLP ||
           iw_ddp_tagged(h) == (t->etype == 1);
}

static bool same_header(const struct iw_ddp_header *a, const struct iw_ddp_header *b)
{
    return a->ddp_control == b->ddp_control && a->rdmap_control == b->rdmap_control &&
           a->stag == b->stag && a->to == b->to && a->invalidate_stag == b->invalidate_stag &&
           a->qn == b->qn && a->msn == b->msn && a->mo == b->mo;
}

/* Returns true for faults of STags, bounds, rights and buffers, which only the receiver knows: an
 * earlier segment may have caused them. */
static bool receivers_own(const struct iw_rdmap_terminate *t)
{
    switch (t->layer << 4 | t->etype) {
    case IW_LAYER_RDMAP << 4 | REMOTE_PROTECTION:
        return true;
    case IW_LAYER_DDP << 4 | 1:
        return t->code != 4;
    case IW_LAYER_DDP << 4 | 2:
        return t->code == 2;
    default:
        return false;
    }
}

/* OP-48: the length is that of the segment, or of its payload. */
static bool length_fits(const struct iw_observed_provocation *p, uint16_t length)
{
    unsigned header = iw_ddp_tagged(&p->ddp) ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER;

    return length == p->length || length + header == p->length;
}

/* A Terminate for the fault that was found returns the segment in which it was found. A finding
 * that is legal to receive need not be its reason. */
static bool segment_fits(const struct iw_observed_side *other, const struct iw_rdmap_terminate *t)
{
    const struct iw_observed_provocation *p = &other->provocation;
    const struct iw_check_info *info = iw_check_info(p->fault.check);

    return receivers_own(t) || !p->header || p->doubtful || (info->kinds & IW_KIND_ENDPOINT) == 0 ||
           other->missed || !(t->flags & IW_TERM_D) || t->layer != info->layer ||
           t->etype != info->etype || t->code != info->code ||
           (same_header(&t->ddp, &p->ddp) && length_fits(p, t->segment_length));
}

/* ---- the quirk ---- */

/* Returns what the observer knows of a Terminate beside its octets. */
static struct iw_quirk_context context(const struct iw_observer *o, enum iw_side side)
{
    const struct iw_observed_side *other = &o->side[iw_observed_other(side)];
    enum iw_check cause = other->provocation.fault.check;

    return (struct iw_quirk_context){
        .due = cause == IW_CHECK_NONE ? NULL : iw_check_info(cause),
        .unprovoked = !other->spoke && !o->joined && !other->missed && !iw_observed_gap(other),
        .assumed = iw_quirk_in(o->config.quirks[side], IW_QUIRK_TERMINATE_REVERSED)};
}

void iw_observed_terminate(struct iw_observer *o, const uint8_t *octets, size_t length)
{
    struct iw_observation *now = o->now;
    enum iw_evidence evidence = IW_EVIDENCE_NONE;

    if (!o->side[now->side].as_ulpdus && !o->config.no_quirks) {
        const struct iw_quirk_context known = context(o, now->side);
        evidence = iw_quirk_terminate(octets, length, &known);
    }
    now->quirks = (now->quirks & ~REVERSED) | (evidence == IW_EVIDENCE_NONE ? 0 : REVERSED);
    now->proven = (now->proven & ~REVERSED) | (evidence == IW_EVIDENCE_PROVEN ? REVERSED : 0);
    now->terminate_word = length < IW_TERM_WORD ? 0 : iw_get32(octets);
    if (evidence == IW_EVIDENCE_NONE)
        now->terminate_valid = iw_wire_get_terminate(octets, length, &now->terminate) > 0;
    else
        now->terminate_valid = iw_quirk_get_terminate(octets, length, &now->terminate) > 0;
}

/* A word that makes sense either way proves nothing. */
static void find_reversed(struct iw_observer *o)
{
    uint8_t word[IW_TERM_WORD];

    if ((o->now->proven & REVERSED) == 0)
        return;
    iw_put32(word, o->now->terminate_word);
    iw_quirk_turn_terminate(word);
    iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_REVERSED, IW_IN_ULPDU(IW_AT_TERM_LAYER),
                        o->now->terminate_word, iw_get32(word));
}

void iw_observer_terminate(struct iw_observer *o)
{
    const struct iw_rdmap_terminate *t = &o->now->terminate;
    const struct iw_observed_side *other = &o->side[iw_observed_other(o->now->side)];
    if (other->provocation.fault.check != IW_CHECK_NONE)
        o->now->provoked_by = &other->provocation.fault;
    find_reversed(o);
    if (!o->now->terminate_valid) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_VALID, IW_IN_ULPDU(IW_AT_TERM_LAYER),
                            o->now->message_length, 0);
    } else if (!iw_wire_term_assigned(t->layer, t->etype, t->code)) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_VALID, IW_IN_ULPDU(IW_AT_TERM_CODE),
                            (uint64_t)t->layer << 12 | (uint64_t)t->etype << 8 | t->code, 0);
    } else if (!iw_rdmap_terminate_fits(t)) {
        uint8_t want = iw_rdmap_terminate_flags(t->layer, t->etype,
                                                t->flags & IW_TERM_D ? iw_rdmap_op(&t->ddp) : 0);
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_HEADERS, IW_IN_ULPDU(IW_AT_TERM_FLAGS),
                            t->flags, want);
    } else if (!reason_fits(o, t)) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_REASON, IW_IN_ULPDU(IW_AT_TERM_CODE),
                            (uint64_t)t->layer << 12 | (uint64_t)t->etype << 8 | t->code, 0);
    } else if (!segment_fits(other, t)) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_SEGMENT, IW_IN_ULPDU(IW_AT_TERM_LENGTH),
                            t->segment_length, other->provocation.length);
    }
    if (o->now->terminate_valid && t->reserved)
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_RSVD, IW_IN_ULPDU(IW_AT_TERM_FLAGS),
                            t->reserved, 0);
    o->side[o->now->side].terminated = true;
}
