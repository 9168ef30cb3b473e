/* SPDX-License-Identifier: BSD-3-Clause */
#include "observer/observer_internal.h"

static void open_message(struct iw_observer *o, struct iw_observed_tagged *t)
{
    const struct iw_ddp_header *h = &o->now->ddp;

    *t = (struct iw_observed_tagged){
        .open = true, .partial = t->lost, .stag = h->stag, .to = h->to, .pos = o->now->pos};
    if (iw_rdmap_op(h) == IW_OP_READ_RESPONSE)
        iw_observer_begin_response(o, t);
}

/* Returns whether the segment in o->now begins the next response, and the one that is open has all
 * the octets that its request asked for. */
static bool next_response(struct iw_observer *o, const struct iw_observed_tagged *t)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    struct iw_observed_reads *r = &o->side[iw_observed_other(o->now->side)].reads;

    if (!t->matched || t->length != t->read.size || r->uncertain || r->count == 0)
        return false;
    const struct iw_observed_read *due = iw_observer_request_at(r, 0);
    bool moved = h->stag != t->stag || h->to != t->to;
    return !due->atomic && h->stag == due->sink_stag && h->to == due->sink_to &&
           (o->now->payload_length > 0 || (moved && due->size == 0));
}

static void check_continued(struct iw_observer *o, struct iw_observed_tagged *t)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    /* Its receiver compares nothing in an empty segment (RFC 5041 §5.2): the same response. */
    bool response_goes_on = t->matched && o->now->payload_length == 0;

    if (next_response(o, t)) {
        bool there = h->stag == t->stag;
        iw_observer_find(o, IW_CHECK_DDP_LAST, o->now->pos, there ? h->to : h->stag,
                         there ? t->to : t->stag);
        open_message(o, t);
    } else if (h->stag != t->stag) {
        if (h->to == t->to) {
            iw_observer_find_at(o, IW_CHECK_DDP_CONSTANT_STAG, IW_AT_STAG, h->stag, t->stag);
            return;
        }
        iw_observer_find(o, IW_CHECK_DDP_LAST, o->now->pos, h->stag, t->stag);
        if (!response_goes_on)
            open_message(o, t);
    } else if (h->to != t->to) {
        iw_observer_find_at(o, t->matched ? IW_CHECK_RDMAP_RESPONSE_TO : IW_CHECK_DDP_TO_ORDER,
                            IW_AT_TO, h->to, t->to);
        t->to = h->to;
    }
}

void iw_observer_tagged(struct iw_observer *o)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    struct iw_observed_side *s = &o->side[o->now->side];
    bool response = iw_rdmap_op(h) == IW_OP_READ_RESPONSE;
    struct iw_observed_tagged *t = &s->tagged[response];
    struct iw_observed_tagged *other = &s->tagged[!response];

    if (!t->open && other->open && h->stag == other->stag && h->to == other->to &&
        o->now->payload_length > 0) {
        iw_observer_find_at(o, IW_CHECK_DDP_CONSTANT_TAGGED, IW_AT_RDMAP_CONTROL, iw_rdmap_op(h),
                            response ? IW_OP_WRITE : IW_OP_READ_RESPONSE);
        t = other;
    } else if (t->open) {
        check_continued(o, t);
    } else {
        open_message(o, t);
    }
    t->to += o->now->payload_length;
    t->length += o->now->payload_length;
    t->segments++;
    if (t->matched)
        iw_observer_continue_response(o, t);
    if (!iw_ddp_last(h))
        return;
    t->open = false;
    if (!t->partial && t->length == 0 && t->segments > 1)
        iw_observer_find(o, IW_CHECK_DDP_ZERO_SEGMENTS, o->now->pos, t->segments, 1);
    s->answered += response;
    iw_observer_message(o, t->pos, t->length, t->segments);
}
