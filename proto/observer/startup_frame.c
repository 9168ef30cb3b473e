/* SPDX-License-Identifier: BSD-3-Clause */
#include "observer/observer_internal.h"

#include <string.h>

/* Offsets of fields in a start-up frame. */
static bool has_flag(const struct iw_observed_side *s, unsigned flag)
{
    return (s->startup.flags & flag) != 0;
}

/* OP-03: S has a meaning only from revision 2 on. */
static bool says_enhanced(const struct iw_observed_side *s)
{
    return s->startup.revision >= 2 && has_flag(s, IW_MPA_FLAG_S);
}

/* 0 is the RDMA Consortium's (RFC 5044 Appendix C). */
static bool known_revision(unsigned revision)
{
    return revision <= 2;
}

bool iw_observer_opens(const void *data, size_t length, bool first, enum iw_side *side)
{
    enum { COMMON = 9, LEAST = 4 }; /* octets: "MPA ID Re", "MPA " */
    const uint8_t *octets = data;
    if (first) {
        if (length < LEAST ||
            memcmp(octets, iw_mpa_request_key, length < COMMON ? length : COMMON) != 0)
            return false;
        *side = length > COMMON && octets[COMMON] == iw_mpa_reply_key[COMMON] ? IW_SIDE_RESPONDER
                                                                              : IW_SIDE_INITIATOR;
        return true;
    }
    *side = IW_SIDE_INITIATOR;
    struct iw_mpa_startup_header h;
    return length >= IW_MPA_STARTUP_HEADER && iw_wire_mpa_key(octets) == IW_MPA_KEY_REQUEST &&
           iw_wire_get_startup(octets, length, &h) > 0 && known_revision(h.revision) &&
           h.pd_length <= IW_MPA_PRIVATE_MAX;
}

/* ---- one frame ---- */

static void decode(struct iw_observed_side *s, const uint8_t *frame, size_t length)
{
    enum iw_mpa_key own = s->self == IW_SIDE_INITIATOR ? IW_MPA_KEY_REQUEST : IW_MPA_KEY_REPLY;

    s->frame_length = length < IW_MPA_STARTUP_MAX ? length : IW_MPA_STARTUP_MAX;
    (void)iw_wire_get_startup(frame, s->frame_length, &s->startup);
    if (s->startup_quirk != 0)
        s->startup.pd_length = iw_quirk_turn16(s->startup.pd_length);
    s->has_enhanced =
        says_enhanced(s) && s->startup.pd_length >= IW_MPA_ENHANCED_LENGTH &&
        iw_wire_get_enhanced(frame + IW_MPA_STARTUP_HEADER, s->frame_length - IW_MPA_STARTUP_HEADER,
                             &s->enhanced) > 0;
    s->sound = iw_wire_mpa_key(s->startup.key) == own && known_revision(s->startup.revision) &&
               s->startup.pd_length <= IW_MPA_PRIVATE_MAX &&
               length >= IW_MPA_STARTUP_HEADER + s->startup.pd_length &&
               (s->has_enhanced || !says_enhanced(s));
}

static void describe(struct iw_observer *o, const struct iw_observed_side *s, const uint8_t *frame,
                     size_t length)
{
    iw_observer_begin(o, IW_OBSERVED_STARTUP, s->self, 0, length);
    o->now->frame = frame;
    o->now->frame_length = length;
    o->now->startup = s->startup;
    o->now->enhanced = s->enhanced;
    o->now->quirks = s->startup_quirk;
    o->now->proven =
        iw_quirk_turn16(s->startup.pd_length) > IW_MPA_PRIVATE_MAX ? o->now->quirks : 0;
}

static void find_in_frame(struct iw_observer *o, const struct iw_observed_side *s,
                          enum iw_check check, uint64_t pos, uint64_t got, uint64_t want)
{
    describe(o, s, iw_hold_peek(s).base, s->frame_length);
    iw_observer_find(o, check, pos, got, want);
}

static void check_key(struct iw_observer *o, const struct iw_observed_side *s)
{
    bool request = s->self == IW_SIDE_INITIATOR;
    const uint8_t *want = request ? iw_mpa_request_key : iw_mpa_reply_key;

    for (size_t i = 0; i < IW_MPA_KEY_LENGTH; i++) {
        if (s->startup.key[i] == want[i])
            continue;
        find_in_frame(o, s, request ? IW_CHECK_MPA_REQ_KEY : IW_CHECK_MPA_REP_KEY, i,
                      s->startup.key[i], want[i]);
        return;
    }
}

static void check_enhanced(struct iw_observer *o, const struct iw_observed_side *s)
{
    const struct iw_mpa_enhanced *e = &s->enhanced;
    bool rejects = s->self == IW_SIDE_RESPONDER && has_flag(s, IW_MPA_FLAG_R);
    uint64_t pos = e->rtr & IW_MPA_RTR_SEND ? IW_AT_MPA_IRD : IW_AT_MPA_ORD;

    if (e->peer_to_peer && e->rtr == 0 && !rejects)
        find_in_frame(
            o, s, s->self == IW_SIDE_INITIATOR ? IW_CHECK_MPA_RTR_OFFER : IW_CHECK_MPA_RTR_CHOICE,
            IW_AT_MPA_IRD, 0, 0);
    if (!e->peer_to_peer && e->rtr != 0)
        find_in_frame(o, s, IW_CHECK_MPA_RTR_UNASKED, pos, e->rtr, 0);
}

/* Checks the frame by itself. */
static void check_frame(struct iw_observer *o, const struct iw_observed_side *s)
{
    const struct iw_mpa_startup_header *h = &s->startup;

    check_key(o, s);
    if (s->startup_quirk != 0)
        find_in_frame(o, s, IW_CHECK_MPA_PD_ORDER, IW_AT_MPA_PD_LENGTH,
                      iw_quirk_turn16(h->pd_length), h->pd_length);
    if (h->flags & IW_MPA_FLAG_RES)
        find_in_frame(o, s, IW_CHECK_MPA_RES_BITS, IW_AT_MPA_FLAGS, h->flags & IW_MPA_FLAG_RES, 0);
    if (iw_observer_wants_crc(o, s))
        find_in_frame(o, s, IW_CHECK_MPA_CRC_DEFAULT, IW_AT_MPA_FLAGS, 0, 1);
    if (s->self == IW_SIDE_INITIATOR && (h->flags & IW_MPA_FLAG_R))
        find_in_frame(o, s, IW_CHECK_MPA_REQ_R, IW_AT_MPA_FLAGS, 1, 0);
    if (h->revision == 1 && (h->flags & IW_MPA_FLAG_S))
        find_in_frame(o, s, IW_CHECK_MPA_REV1_S, IW_AT_MPA_FLAGS, 1, 0);
    if (s->self == IW_SIDE_INITIATOR && !known_revision(h->revision))
        find_in_frame(o, s, IW_CHECK_MPA_REV, IW_AT_MPA_REVISION, h->revision, 2);
    if (says_enhanced(s) && !s->has_enhanced)
        find_in_frame(o, s, IW_CHECK_MPA_ENH_LENGTH, IW_AT_MPA_PD_LENGTH, h->pd_length,
                      IW_MPA_ENHANCED_LENGTH);
    if (s->has_enhanced)
        check_enhanced(o, s);
}

/* ---- both frames ---- */

/* RFC 6581 §9.1 and §9.2. */
static void check_answers(struct iw_observer *o, const struct iw_observed_side *request,
                          const struct iw_observed_side *reply)
{
    const struct iw_mpa_enhanced *q = &request->enhanced;
    const struct iw_mpa_enhanced *p = &reply->enhanced;

    if (q->peer_to_peer != p->peer_to_peer)
        find_in_frame(o, reply, q->peer_to_peer ? IW_CHECK_MPA_REP_A : IW_CHECK_MPA_REP_A_UNASKED,
                      IW_AT_MPA_IRD, p->peer_to_peer, q->peer_to_peer);
    if (has_flag(reply, IW_MPA_FLAG_R))
        return; /* a refusal may state the depths that would have been needed */
    if (q->ord == IW_MPA_DEPTH_UNSPECIFIED && p->ird != IW_MPA_DEPTH_UNSPECIFIED)
        find_in_frame(o, reply, IW_CHECK_MPA_IRD_3FFF, IW_AT_MPA_IRD, p->ird,
                      IW_MPA_DEPTH_UNSPECIFIED);
    if (q->ird == IW_MPA_DEPTH_UNSPECIFIED && p->ord != IW_MPA_DEPTH_UNSPECIFIED)
        find_in_frame(o, reply, IW_CHECK_MPA_ORD_3FFF, IW_AT_MPA_ORD, p->ord,
                      IW_MPA_DEPTH_UNSPECIFIED);
    if (p->ord != IW_MPA_DEPTH_UNSPECIFIED && p->ord > q->ird) /* OP-30 */
        find_in_frame(o, reply, IW_CHECK_MPA_ORD_REPLY, IW_AT_MPA_ORD, p->ord, q->ird);
}

static void check_reply(struct iw_observer *o)
{
    const struct iw_observed_side *request = &o->side[IW_SIDE_INITIATOR];
    const struct iw_observed_side *reply = &o->side[IW_SIDE_RESPONDER];
    unsigned revision = reply->startup.revision;

    bool other = !known_revision(revision) || revision == 0;

    if (other && revision != request->startup.revision) /* OP-05 */
        find_in_frame(o, reply, IW_CHECK_MPA_REV, IW_AT_MPA_REVISION, revision,
                      request->startup.revision);
    if (!request->sound)
        return; /* there is no right answer to it */
    /* Whose S stands in a frame of an older revision has said something else wrong. */
    bool misplaced = has_flag(reply, IW_MPA_FLAG_S) && !says_enhanced(reply);
    if (says_enhanced(reply) != says_enhanced(request) && !misplaced)
        find_in_frame(o, reply,
                      says_enhanced(request) ? IW_CHECK_MPA_REP_S : IW_CHECK_MPA_REP_S_UNASKED,
                      IW_AT_MPA_FLAGS, says_enhanced(reply), says_enhanced(request));
    if (request->has_enhanced && reply->has_enhanced)
        check_answers(o, request, reply);
}

static void start_side(struct iw_observer *o, struct iw_observed_side *s, bool markers, bool crc)
{
    s->phase = PHASE_FULL;
    s->next = s->frame_length;
    s->step = IW_MPA_MARKER; /* the size of every part of an FPDU is a multiple of it */
    s->markers_known = s->crc_known = true;
    iw_deframer_init(&s->deframer, &s->sink, markers, crc, o->config.crc32c, s->frame_length, NULL,
                     0);
    iw_hold_skip(s);
}

/* Feeds the octets that came before framing was known. */
static void replay(struct iw_observer *o)
{
    for (int i = 0; i < 2; i++)
        if (!o->side[i].as_ulpdus)
            iw_observer_judge_held(o, (enum iw_side)i);
    iw_observer_judge_end(o, IW_SIDE_INITIATOR);
    iw_observer_judge_end(o, IW_SIDE_RESPONDER);
}

static void negotiate(struct iw_observer *o)
{
    struct iw_observed_side *initiator = &o->side[IW_SIDE_INITIATOR];
    struct iw_observed_side *responder = &o->side[IW_SIDE_RESPONDER];
    bool consortium = responder->startup.revision == 0;
    bool crc = has_flag(initiator, IW_MPA_FLAG_C) || has_flag(responder, IW_MPA_FLAG_C);

    o->version = consortium ? 0 : 1;
    o->version_known = true;
    if (!responder->as_ulpdus)
        check_reply(o);
    if (has_flag(responder, IW_MPA_FLAG_R)) {
        initiator->phase = responder->phase = PHASE_LEFT;
        iw_hold_drop(initiator);
        iw_hold_drop(responder);
    } else {
        start_side(o, initiator, has_flag(responder, IW_MPA_FLAG_M) || consortium,
                   crc || consortium);
        start_side(o, responder, has_flag(initiator, IW_MPA_FLAG_M) || consortium,
                   crc || consortium);
    }
    replay(o);
}

/* ---- a start-up that was not seen ---- */

static bool framed(const struct iw_observed_side *s)
{
    return s->phase == PHASE_FRAMED;
}

static void join_side(struct iw_observer *o, struct iw_observed_side *s,
                      const struct iw_observer_assumption *a)
{
    const struct iw_observed_side *other = &o->side[iw_observed_other(s->self)];
    bool start = framed(s) || s->as_ulpdus;
    enum iw_assumed markers = a->markers[s->self];
    enum iw_assumed crc = a->crc;

    if (framed(other))
        markers = has_flag(other, IW_MPA_FLAG_M) ? IW_ASSUMED_YES : IW_ASSUMED_NO;
    if ((framed(s) && has_flag(s, IW_MPA_FLAG_C)) ||
        (framed(other) && has_flag(other, IW_MPA_FLAG_C)))
        crc = IW_ASSUMED_YES;
    if (o->version_known && o->version == 0)
        markers = crc = IW_ASSUMED_YES;
    start_side(o, s, start && markers == IW_ASSUMED_YES, crc == IW_ASSUMED_YES);
    s->crc_known = crc != IW_ASSUMED_UNKNOWN;
    s->markers_wanted = markers == IW_ASSUMED_YES;
    s->markers_known = markers == IW_ASSUMED_NO || (start && markers == IW_ASSUMED_YES);
    s->first_done = true;
    if (!start)
        s->step = 1;
    if (!s->as_ulpdus && !(start && s->markers_known && s->crc_known))
        iw_observer_unframe(o, s);
}

void iw_observer_assume(struct iw_observer *o, const struct iw_observer_assumption *assumption)
{
    static const struct iw_observer_assumption nothing = {0};
    const struct iw_observer_assumption *a = assumption != NULL ? assumption : &nothing;
    struct iw_observed_side *initiator = &o->side[IW_SIDE_INITIATOR];
    struct iw_observed_side *responder = &o->side[IW_SIDE_RESPONDER];
    bool framed_initiator = framed(initiator);

    if ((initiator->phase != PHASE_STARTUP && initiator->phase != PHASE_FRAMED) ||
        (responder->phase != PHASE_STARTUP && responder->phase != PHASE_FRAMED))
        return;
    for (int i = 0; i < 2; i++)
        if (iw_observer_startup_waits(o, (enum iw_side)i))
            iw_observer_seek_startup(o, (enum iw_side)i, true);
    if (initiator->phase == PHASE_LOST || responder->phase == PHASE_LOST)
        return;
    o->version = a->consortium == IW_ASSUMED_YES ? 0 : 1;
    o->version_known = a->consortium != IW_ASSUMED_UNKNOWN;
    if (framed(initiator) || framed(responder)) {
        const struct iw_observed_side *s = framed(responder) ? responder : initiator;
        o->version = s->startup.revision == 0 ? 0 : 1;
        o->version_known = true;
    }
    o->joined = !framed(initiator) && !framed(responder);
    join_side(o, initiator, a);
    initiator->phase = framed_initiator ? PHASE_FRAMED : PHASE_FULL;
    join_side(o, responder, a);
    initiator->phase = PHASE_FULL;
    iw_observer_doubt_reads(o);
    replay(o);
}

void iw_observer_take_startup(struct iw_observer *o, enum iw_side side, const uint8_t *frame,
                              size_t length)
{
    struct iw_observed_side *s = &o->side[side];
    struct iw_observed_side *other = &o->side[iw_observed_other(side)];

    decode(s, frame, length);
    s->phase = PHASE_FRAMED;
    describe(o, s, frame, length);
    iw_observer_show(o);
    if (!s->as_ulpdus)
        check_frame(o, s);
    iw_observer_check_early(o, side);
    if (other->phase == PHASE_FRAMED)
        negotiate(o);
    else if (other->phase == PHASE_LOST && !s->as_ulpdus)
        iw_observer_lose(o, side, &other->lost);
}

/* What the octets of a frame say of the order of its PD_Length. */
enum pd_order { PD_AS_IT_STANDS, PD_TURNED, PD_WAITS };

/* Nothing follows a start-up frame before the other side has answered it (RFC 5044 §7.1.2), so that
 * the octets end with it. */
static enum pd_order look_at_pd(const struct iw_observer *o, const struct iw_observed_side *s,
                                const struct iw_mpa_startup_header *h, size_t length)
{
    bool assumed = iw_quirk_in(o->config.quirks[s->self], IW_QUIRK_PD_ORDER);
    size_t meant = IW_MPA_STARTUP_HEADER + iw_quirk_turn16(h->pd_length);

    if (o->config.no_quirks || s->as_ulpdus || s->missed ||
        iw_quirk_pd_length(h, assumed) == IW_EVIDENCE_NONE)
        return PD_AS_IT_STANDS;
    if (length < meant)
        return PD_WAITS;
    return assumed || (length == meant && !iw_observed_gap(s)) ? PD_TURNED : PD_AS_IT_STANDS;
}

bool iw_observer_startup_waits(const struct iw_observer *o, enum iw_side side)
{
    const struct iw_observed_side *s = &o->side[side];
    struct iw_iov held = iw_hold_peek(s);
    struct iw_mpa_startup_header h;

    return s->phase == PHASE_STARTUP && !s->as_ulpdus &&
           iw_wire_get_startup(held.base, held.length, &h) > 0 &&
           iw_wire_mpa_key(h.key) != IW_MPA_KEY_OTHER && h.pd_length > IW_MPA_PRIVATE_MAX &&
           look_at_pd(o, s, &h, held.length) == PD_WAITS;
}

void iw_observer_seek_startup(struct iw_observer *o, enum iw_side side, bool last)
{
    struct iw_observed_side *s = &o->side[side];
    struct iw_iov held = iw_hold_peek(s);
    struct iw_fault fault = {0};

    if (iw_wire_get_startup(held.base, held.length, &s->startup) < 0)
        return;
    size_t length = s->startup.pd_length;
    enum pd_order order = look_at_pd(o, s, &s->startup, held.length);
    if (order == PD_TURNED)
        length = iw_quirk_turn16(s->startup.pd_length);
    if (iw_wire_mpa_key(s->startup.key) == IW_MPA_KEY_OTHER) {
        check_key(o, s);
        fault = o->now->fault;
    } else if (order == PD_WAITS && !last) {
        return;
    } else if (length > IW_MPA_PRIVATE_MAX) {
        find_in_frame(o, s, IW_CHECK_MPA_PD_LENGTH, IW_AT_MPA_PD_LENGTH, length,
                      IW_MPA_PRIVATE_MAX);
        fault = o->now->fault;
    } else if (held.length >= IW_MPA_STARTUP_HEADER + length) {
        s->startup_quirk = order == PD_TURNED ? iw_quirk_bit(IW_QUIRK_PD_ORDER) : 0;
        s->found |= s->startup_quirk;
        iw_observer_take_startup(o, side, held.base, IW_MPA_STARTUP_HEADER + length);
    }
    if (fault.check != IW_CHECK_NONE)
        iw_observer_lose(o, side, &fault);
}

/* ---- order between the sides ---- */

static void find_early(struct iw_observer *o, struct iw_observed_side *s, enum iw_check check,
                       uint64_t pos)
{
    if (s->early_found)
        return;
    s->early_found = true;
    find_in_frame(o, s, check, pos, 0, 0);
}

void iw_observer_check_early(struct iw_observer *o, enum iw_side side)
{
    struct iw_observed_side *initiator = &o->side[IW_SIDE_INITIATOR];
    struct iw_observed_side *responder = &o->side[IW_SIDE_RESPONDER];

    /* A bystander cannot know that the first octets are meant as a Reply before the frame is whole,
     * nor that there was no Request before one has come. */
    if (side == IW_SIDE_RESPONDER && !responder->as_ulpdus && initiator->phase == PHASE_STARTUP &&
        (initiator->as_ulpdus || responder->phase == PHASE_FRAMED) && !iw_observed_gap(initiator))
        responder->reply_first = true;
    if (responder->reply_first && (initiator->as_ulpdus || initiator->phase == PHASE_FRAMED))
        find_early(o, responder, IW_CHECK_MPA_REPLY_EARLY, 0);
    if (initiator->phase == PHASE_FRAMED && !initiator->as_ulpdus &&
        responder->phase == PHASE_STARTUP && initiator->top > initiator->frame_length &&
        !iw_observed_gap(responder))
        find_early(o, initiator, IW_CHECK_MPA_INITIATOR_EARLY, initiator->frame_length);
}
