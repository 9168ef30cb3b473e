/* SPDX-License-Identifier: BSD-3-Clause */
#include "observer/observer_internal.h"

enum { READS = 16 }; /* entries in the smallest ring */

/* Returns the number of reads that `asking` may have outstanding (RFC 6581 §9.1); false if no frame
 * stated it. */
static bool read_limit(const struct iw_observer *o, enum iw_side asking, uint32_t *limit)
{
    const struct iw_observed_side *answering = &o->side[iw_observed_other(asking)];

    *limit = answering->enhanced.ird;
    return o->side[asking].has_enhanced && answering->has_enhanced &&
           *limit != IW_MPA_DEPTH_UNSPECIFIED;
}

/* Returns true if an FPDU of this side has begun but is not whole: if its length is wrong, the
 * other side may have answered octets that lie in it. */
static bool inside_fpdu(const struct iw_observed_side *s)
{
    return !s->as_ulpdus && iw_hold_edge(s) > s->next;
}

struct iw_observed_read *iw_observer_request_at(struct iw_observed_reads *r, uint32_t k)
{
    return &r->ring[(r->first + k) % r->size];
}

static void release(struct iw_observer *o, struct iw_observed_reads *r)
{
    if (r->ring != NULL)
        o->config.give_back(o->config.context, r->ring, r->size * sizeof(*r->ring));
    r->ring = NULL;
    r->first = r->count = r->size = 0;
}

void iw_observer_forget_reads(struct iw_observed_side *s)
{
    release(s->observer, &s->reads);
}

/* Gets another ring of twice the size, if the caller lends one. */
static bool enlarge(struct iw_observer *o, struct iw_observed_reads *r)
{
    uint32_t size = r->size > 0 ? 2 * r->size : READS;
    if (size > IW_OBSERVER_READS || o->config.lend == NULL)
        return false;
    struct iw_observed_read *ring = o->config.lend(o->config.context, size * sizeof(*ring));
    if (ring == NULL)
        return false;
    for (uint32_t k = 0; k < r->count; k++)
        ring[k] = *iw_observer_request_at(r, k);
    uint32_t count = r->count;
    release(o, r);
    r->ring = ring;
    r->size = size;
    r->count = count;
    return true;
}

/* Requests were missed, but no response: if all of them (their MSNs give the number) have been
 * answered, none is outstanding. */
static bool settled(const struct iw_observed_side *s, const struct iw_observed_side *peer,
                    uint32_t msn)
{
    return s->missed && !s->unproven && !s->as_ulpdus && !peer->as_ulpdus && !peer->missed &&
           !iw_observed_gap(peer) && msn - 1 == peer->answered;
}

/* To compare a response with its request is a MAY (RFC 5040 §5.2.2; OP-66), and RFC 6581 §9.2 has
 * no responder look whether the first FPDU is an RTR. */
static bool may_be_taken(enum iw_check check)
{
    return check == IW_CHECK_MPA_RTR_FIRST || check == IW_CHECK_RDMAP_RESPONSE_STAG ||
           check == IW_CHECK_RDMAP_RESPONSE_TO || check == IW_CHECK_RDMAP_RESPONSE_SIZE ||
           check == IW_CHECK_RDMAP_RESPONSE_PAST;
}

/* Only the receiver knows how many requests are outstanding when one arrives. */
static bool unmistakable(const struct iw_fault *fault)
{
    return fault->check != IW_CHECK_NONE && fault->check != IW_CHECK_RDMAP_IRD &&
           !may_be_taken(fault->check) && iw_check_info(fault->check)->kinds & IW_KIND_ENDPOINT;
}

/* RFC 5040 §6.1; atomics count as reads do (RFC 7306 §5.2). */
void iw_observer_ask(struct iw_observer *o, const struct iw_observed_read *request)
{
    enum iw_side side = o->now->side;
    const struct iw_observed_side *peer = &o->side[iw_observed_other(side)];
    struct iw_observed_reads *r = &o->side[side].reads;
    if (r->uncertain && settled(&o->side[side], peer, o->now->ddp.msn)) {
        release(o, r);
        r->uncertain = false;
    }
    if (iw_observed_gap(peer) || (r->count == r->size && !enlarge(o, r)))
        r->uncertain = true;
    if (r->uncertain)
        return;
    *iw_observer_request_at(r, r->count) = *request;
    iw_observer_request_at(r, r->count++)->late = unmistakable(&o->side[side].provocation.fault);
    const struct iw_observed_tagged *answer = &peer->tagged[1];
    uint32_t limit, outstanding = r->count + (answer->open && answer->matched ? 1u : 0u);
    if (!read_limit(o, side, &limit) || outstanding <= limit) {
        r->over = false;
    } else if (!r->over && !inside_fpdu(peer)) {
        r->over = true;
        iw_observer_find(o, IW_CHECK_RDMAP_IRD, o->now->pos, outstanding, limit);
    }
}

void iw_observer_read_request(struct iw_observer *o)
{
    const struct iw_rdmap_read_request *request = &o->now->read_request;

    if (o->now->message_length != IW_RDMAP_READ_REQUEST) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_READ_LENGTH, IW_DDP_UNTAGGED_HEADER,
                            o->now->message_length, IW_RDMAP_READ_REQUEST);
        iw_observer_doubt_reads(o);
        return;
    }
    iw_observer_ask(o, &(struct iw_observed_read){.sink_stag = request->sink_stag,
                                                  .size = request->size,
                                                  .sink_to = request->sink_to});
}

static bool answers(const struct iw_ddp_header *h, const struct iw_observed_read *read)
{
    return !read->atomic && h->stag == read->sink_stag && h->to == read->sink_to;
}

struct iw_observed_read iw_observer_answered(struct iw_observer *o, struct iw_observed_reads *r,
                                             uint32_t k)
{
    struct iw_observed_side *asking = &o->side[iw_observed_other(o->now->side)];
    struct iw_observed_read taken = *iw_observer_request_at(r, k);

    for (; k > 0; k--)
        *iw_observer_request_at(r, k) = *iw_observer_request_at(r, k - 1);
    r->first = (r->first + 1) % r->size;
    r->count--;
    if (r->count == 0)
        release(o, r);
    /* RFC 5041 §7.1: segments after an error are dropped. */
    if (taken.late && !asking->provocation.passed) {
        asking->provocation.passed = true;
        iw_observer_find(o, IW_CHECK_RDMAP_TERMINATE_STOP, o->now->pos, 0, 0);
    }
    return taken;
}

struct iw_observed_reads *iw_observer_asked(struct iw_observer *o, bool due)
{
    struct iw_observed_side *asking = &o->side[iw_observed_other(o->now->side)];
    struct iw_observed_reads *r = &asking->reads;

    if (!due && (iw_observed_gap(asking) || inside_fpdu(asking)))
        r->uncertain = true; /* its request may be among the missing octets */
    if (!r->uncertain)
        return r;
    /* A receiver that refuses the response returns it, whatever is found later. */
    o->side[o->now->side].provocation.doubtful = true;
    return NULL;
}

/* A request after the one that is due. An empty segment is compared with nothing (RFC 5041 §5.2),
 * so only a request for no octets can be distinguished from the one that is due. */
static bool meant(const struct iw_observer *o, const struct iw_observed_read *read)
{
    const struct iw_ddp_header *h = &o->now->ddp;

    return answers(h, read) && (o->now->payload_length != 0 || (iw_ddp_last(h) && read->size == 0));
}

void iw_observer_begin_response(struct iw_observer *o, struct iw_observed_tagged *t)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    struct iw_observed_reads *r = &o->side[iw_observed_other(o->now->side)].reads;
    bool in_order = r->count > 0 && answers(h, iw_observer_request_at(r, 0));
    uint32_t k = 0;

    r = iw_observer_asked(o, in_order);
    if (r == NULL)
        return;
    if (!in_order) {
        /* Out of order: the others still get their own. */
        while (k < r->count && !meant(o, iw_observer_request_at(r, k)))
            k++;
        if (k == r->count)
            for (k = 0; k < r->count && iw_observer_request_at(r, k)->atomic;)
                k++;
        if (k == r->count) {
            iw_observer_find(o, IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, o->now->pos, 0, 0);
            return;
        }
        const struct iw_observed_read *due = iw_observer_request_at(r, 0);
        if (due->atomic)
            iw_observer_find(o, IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, o->now->pos, k, 0);
        else if (k > 0)
            iw_observer_find(o, IW_CHECK_RDMAP_RESPONSE_ORDER, o->now->pos, k, 0);
        else if (h->stag != due->sink_stag)
            iw_observer_find_at(o, IW_CHECK_RDMAP_RESPONSE_STAG, IW_AT_STAG, h->stag,
                                due->sink_stag);
        else
            iw_observer_find_at(o, IW_CHECK_RDMAP_RESPONSE_TO, IW_AT_TO, h->to, due->sink_to);
    }
    t->read = iw_observer_answered(o, r, k);
    t->matched = true;
}

void iw_observer_continue_response(struct iw_observer *o, struct iw_observed_tagged *t)
{
    if (t->over || t->length == t->read.size ||
        (t->length < t->read.size && !iw_ddp_last(&o->now->ddp)))
        return;
    t->over = true;
    iw_observer_find_at(
        o, t->length > t->read.size ? IW_CHECK_RDMAP_RESPONSE_PAST : IW_CHECK_RDMAP_RESPONSE_SIZE,
        IW_DDP_TAGGED_HEADER, t->length, t->read.size);
}
