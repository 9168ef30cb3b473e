/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of RFC 7306. That the addressed location is aligned cannot be seen: the wire shows
 * TOs, the rule is about addresses (OP-85). */
#include "observer/observer_internal.h"

#define RESERVED 0xfffffff0u
#define AOPCODE 0xfu

void iw_observer_immediate(struct iw_observer *o)
{
    if (o->now->message_length != IW_RDMAP_IMMEDIATE) /* RFC 7306 §6.3 */
        iw_observer_find_at(o, IW_CHECK_RDMAP_IMMEDIATE_LENGTH, IW_DDP_UNTAGGED_HEADER,
                            o->now->message_length, IW_RDMAP_IMMEDIATE);
}

/* RFC 7306 §5.2.1, figure 5. */
static void check_request(struct iw_observer *o, const struct iw_rdmap_atomic_request *request)
{
    uint32_t code = request->opcode & AOPCODE;

    if (request->opcode & RESERVED)
        iw_observer_find_at(o, IW_CHECK_RDMAP_ATOMIC_RSVD, IW_DDP_UNTAGGED_HEADER,
                            request->opcode >> 4, 0);
    if (code != IW_ATOMIC_FETCH_ADD && code != IW_ATOMIC_CMP_SWAP)
        iw_observer_find_at(o, IW_CHECK_RDMAP_ATOMIC_OPCODE, IW_DDP_UNTAGGED_HEADER, code, 0);
    if (code != IW_ATOMIC_FETCH_ADD)
        return;
    if (request->compare_data != 0)
        iw_observer_find_at(o, IW_CHECK_RDMAP_ATOMIC_UNUSED, IW_IN_ULPDU(IW_AT_ATOMIC_COMPARE),
                            request->compare_data, 0);
    else if (request->compare_mask != UINT64_MAX)
        iw_observer_find_at(o, IW_CHECK_RDMAP_ATOMIC_UNUSED, IW_IN_ULPDU(IW_AT_ATOMIC_COMPARE_MASK),
                            request->compare_mask, UINT64_MAX);
}

void iw_observer_atomic_request(struct iw_observer *o)
{
    if (o->now->message_length != IW_RDMAP_ATOMIC_REQUEST) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_ATOMIC_LENGTH, IW_DDP_UNTAGGED_HEADER,
                            o->now->message_length, IW_RDMAP_ATOMIC_REQUEST);
        iw_observer_doubt_reads(o);
        return;
    }
    check_request(o, &o->now->atomic_request);
    iw_observer_ask(o, &(struct iw_observed_read){.atomic = true,
                                                  .sink_stag = o->now->atomic_request.request_id});
}

static bool answers(const struct iw_observation *now, const struct iw_observed_read *request)
{
    return request->atomic && now->atomic_response.request_id == request->sink_stag;
}

/* Finds the request that a response answers if it does not answer the oldest one: the first atomic
 * with its identifier, else the first atomic. Returns r->count if there is none. */
static uint32_t find_request(const struct iw_observation *now, struct iw_observed_reads *r)
{
    uint32_t k = 0;

    while (k < r->count && !answers(now, iw_observer_request_at(r, k)))
        k++;
    if (k == r->count)
        for (k = 0; k < r->count && !iw_observer_request_at(r, k)->atomic;)
            k++;
    return k;
}

/* Responses go out in the order of the requests, those to reads included (RFC 7306 §5.2.2, §7). */
void iw_observer_atomic_response(struct iw_observer *o)
{
    struct iw_observed_side *s = &o->side[o->now->side];
    struct iw_observed_reads *r = &o->side[iw_observed_other(o->now->side)].reads;
    bool due = r->count > 0 && answers(o->now, iw_observer_request_at(r, 0));
    bool split = s->tagged[1].open && s->tagged[1].matched;
    uint32_t id = o->now->atomic_response.request_id;
    s->answered++;
    if (o->now->message_length != IW_RDMAP_ATOMIC_RESPONSE) {
        iw_observer_find_at(o, IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, IW_DDP_UNTAGGED_HEADER,
                            o->now->message_length, IW_RDMAP_ATOMIC_RESPONSE);
        iw_observer_doubt_reads(o);
        return;
    }
    r = iw_observer_asked(o, due);
    if (r == NULL)
        return;
    uint32_t k = find_request(o->now, r);
    if (k == r->count) {
        iw_observer_find(o, IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, o->now->pos, id, 0);
        return;
    }
    if (!answers(o->now, iw_observer_request_at(r, k)))
        iw_observer_find_at(o, IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID, IW_IN_ULPDU(IW_AT_RESPONSE_ID),
                            id, iw_observer_request_at(r, k)->sink_stag);
    else if (k > 0 || split)
        iw_observer_find(o, IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, o->now->pos, k, 0);
    (void)iw_observer_answered(o, r, k);
}
