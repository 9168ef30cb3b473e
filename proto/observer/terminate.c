/* SPDX-License-Identifier: BSD-3-Clause */
#include "observer/internal.h"

enum { LOCAL_CATASTROPHIC = 0, REMOTE_PROTECTION = 1, TO_LLP = 3 };

/* Returns true if these flags may go with the Terminate. Figure 10 leaves out impossible
 * combinations, so that an error which no segment caused has no headers. */
static bool flags_fit(const struct iw_rdmap_terminate *t)
{
    const unsigned md = IW_TERM_M | IW_TERM_D;
    unsigned headers = t->flags & md;
    unsigned opcode = t->flags & IW_TERM_D ? iw_rdmap_op(&t->ddp) : 0;
    bool read = (t->flags & IW_TERM_D) && opcode == IW_OP_READ_REQUEST;
    bool returns = (t->flags & IW_TERM_R) != 0;

    if (t->flags == 0)
        return t->layer != IW_LAYER_DDP || t->etype == LOCAL_CATASTROPHIC || t->etype == TO_LLP;
    if (t->layer == IW_LAYER_LLP || (t->layer == IW_LAYER_RDMAP && t->etype == LOCAL_CATASTROPHIC))
        return false;
    if (headers != md && opcode < IW_OP_IMMEDIATE) /* OP-84; without D the opcode is 0 */
        return false;
    if (t->layer == IW_LAYER_RDMAP && t->etype == REMOTE_PROTECTION) {
        bool invalidates = iw_rdmap_invalidates(opcode);
        return read ? returns : invalidates || !returns; /* OP-61 */
    }
    return read || !returns; /* OP-62; §7.1 wants it back for every error on a Read Request */
}

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

/* A Terminate for the fault that was found returns the segment in which it was found. A finding
 * that is legal to receive need not be its reason. */
static bool segment_fits(const struct iw_observed_side *other, const struct iw_rdmap_terminate *t)
{
    const struct iw_observed_provocation *p = &other->provocation;
    const struct iw_check_info *info = iw_check_info(p->fault.check);

    return receivers_own(t) || !p->header || p->doubtful || (info->kinds & IW_KIND_ENDPOINT) == 0 ||
           other->missed || !(t->flags & IW_TERM_D) || t->layer != info->layer ||
           t->etype != info->etype || t->code != info->code ||
           (same_header(&t->ddp, &p->ddp) && t->segment_length == p->length);
}

void iw_observer_terminate(struct iw_observer *o)
{
    const struct iw_rdmap_terminate *t = &o->now->terminate;
    const struct iw_observed_side *other = &o->side[iw_observed_other(o->now->side)];
    if (other->provocation.fault.check != IW_CHECK_NONE)
        o->now->provoked_by = &other->provocation.fault;
    if (!o->now->terminate_valid) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_VALID, IW_IN_ULPDU(IW_AT_TERM_LAYER),
                            o->now->message_length, 0);
    } else if (!iw_wire_term_assigned(t->layer, t->etype, t->code)) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_TERMINATE_VALID, IW_IN_ULPDU(IW_AT_TERM_CODE),
                            (uint64_t)t->layer << 12 | (uint64_t)t->etype << 8 | t->code, 0);
    } else if (!flags_fit(t)) {
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
