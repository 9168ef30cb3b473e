/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "observer/observer_internal.h"

void iw_observer_doubt_reads(struct iw_observer *o)
{
    for (int i = 0; i < 2; i++) {
        o->side[i].reads.uncertain = true;
        iw_observer_forget_reads(&o->side[i]);
    }
}

void iw_observer_lose_place(struct iw_observer *o, struct iw_observed_side *s)
{
    for (int qn = 0; qn < QUEUES; qn++) {
        s->queue[qn].lost = true;
        s->queue[qn].open = false;
    }
    s->tagged[0].open = s->tagged[1].open = false;
    s->tagged[0].lost = s->tagged[1].lost = true;
    s->first_done = true;
    s->rtr = 0;
    iw_observer_doubt_reads(o);
}

void iw_observer_find_at(struct iw_observer *o, enum iw_check check, size_t offset, uint64_t got,
                         uint64_t want)
{
    const struct iw_observed_side *s = &o->side[o->now->side];
    uint64_t pos =
        o->now->fpdu != NULL ? iw_deframer_position(&s->deframer, o->now->fpdu, offset) : 0;

    iw_observer_find(o, check, pos, got, want);
}

void iw_observer_message(struct iw_observer *o, uint64_t pos, uint64_t length, uint32_t segments)
{
    uint64_t segment_pos = o->now->pos;

    o->now->kind = IW_OBSERVED_MESSAGE;
    o->now->pos = pos;
    o->now->message_length = length;
    o->now->segments = segments;
    iw_observer_show(o);
    o->now->kind = IW_OBSERVED_SEGMENT;
    o->now->pos = segment_pos;
}

/* ---- framing ---- */

static bool pending(const struct iw_observer *o, enum iw_check check)
{
    for (size_t i = 0; i < o->scratch->n_pending; i++)
        if (o->scratch->pending[i].check == check)
            return true;
    return false;
}

int iw_observer_framing_fault(void *side, const struct iw_fault *fault)
{
    struct iw_observed_side *s = side;
    struct iw_observer *o = s->observer;

    if (fault->check == IW_CHECK_MPA_ULPDU_MAX) { /* such an FPDU may never be whole */
        iw_observer_begin(o, IW_OBSERVED_SEGMENT, s->self, fault->pos, fault->pos);
        iw_observer_find(o, fault->check, fault->pos, fault->got, fault->want);
        return 0;
    }
    /* Report them after the segment they belong to: one of each kind. */
    if (!pending(o, fault->check) && o->scratch->n_pending < PENDING)
        o->scratch->pending[o->scratch->n_pending++] = *fault;
    return 0;
}

/* Returns whether the fault is of octets whose FPDUPTR is wrong as well: they are no Marker at all,
 * and are charged with that alone. */
static bool of_no_marker(const struct iw_observer *o, const struct iw_fault *fault)
{
    if (fault->check != IW_CHECK_MPA_MARKER_RSVD && fault->check != IW_CHECK_MPA_MARKER_LOW)
        return false;
    for (size_t i = 0; i < o->scratch->n_pending; i++) {
        const struct iw_fault *f = &o->scratch->pending[i];
        if (f->check == IW_CHECK_MPA_MARKER_POINTER &&
            fault->pos + IW_AT_MARKER_FPDUPTR - f->pos < IW_MPA_MARKER)
            return true;
    }
    return false;
}

/* If the CRC is wrong, so may be everything else that framing found. */
static void find_pending(struct iw_observer *o, bool crc_failed)
{
    for (size_t i = 0; i < o->scratch->n_pending; i++) {
        const struct iw_fault *f = &o->scratch->pending[i];
        if (crc_failed ? f->check == IW_CHECK_MPA_CRC : !of_no_marker(o, f))
            iw_observer_find(o, f->check, f->pos, f->got, f->want);
    }
}

/* Finds how FPDUs are framed in another way than agreed, once. */
static void find_framing(struct iw_observer *o, struct iw_observed_side *s)
{
    const struct iw_fault f = s->frame_fault;

    s->frame_fault.check = IW_CHECK_NONE;
    if (f.check != IW_CHECK_NONE)
        iw_observer_find(o, f.check, f.pos, f.got, f.want);
}

/* Finds what explains the places of the Markers, once. */
static void find_marker_fault(struct iw_observer *o, struct iw_observed_side *s)
{
    const struct iw_fault f = s->marker_fault;

    s->marker_quirk = 0;
    s->marker_fault.check = IW_CHECK_NONE;
    if (f.check != IW_CHECK_NONE)
        iw_observer_find(o, f.check, f.pos, f.got, f.want);
}

static const uint8_t *contiguous(struct iw_observer *o, const struct iw_fpdu *fpdu)
{
    size_t at = 0;

    if (fpdu->pieces == 1)
        return fpdu->ulpdu[0].base;
    for (size_t i = 0; i < fpdu->pieces; i++) {
        memcpy(o->scratch->gather + at, fpdu->ulpdu[i].base, fpdu->ulpdu[i].length);
        at += fpdu->ulpdu[i].length;
    }
    return o->scratch->gather;
}

/* Returns true if this FPDU is one too many that makes no sense. CRCs that are in force and match
 * prove the framing right; without them a wrong ULPDU_Length shows as nonsense in the octets that
 * follow. */
static bool framing_lost(struct iw_observed_side *s, const struct iw_fpdu *fpdu,
                         const struct iw_ddp_header *h, bool header, bool crc_failed,
                         struct iw_fault *why)
{
    why->pos = fpdu->pos;
    if (fpdu->crc_checked) {
        bool again = crc_failed && s->crc_failed;
        s->crc_failed = crc_failed;
        why->check = IW_CHECK_MPA_CRC;
        return again;
    }
    if (pending(s->observer, IW_CHECK_MPA_MARKER_POINTER))
        why->check = IW_CHECK_MPA_MARKER_POINTER;
    else if (!header)
        why->check = IW_CHECK_DDP_HEADER_SHORT;
    else if (iw_ddp_version(h) != s->observer->version)
        why->check = iw_ddp_tagged(h) ? IW_CHECK_DDP_VERSION_TAGGED : IW_CHECK_DDP_VERSION_UNTAGGED;
    const bool again = s->too_short && !header;
    s->too_short = !header;
    s->suspects = why->check == IW_CHECK_NONE ? 0 : s->suspects + 1;
    return again || s->suspects == SUSPECTS;
}

/* Returns whether a segment meets the demands on framing that is not certain. */
static bool fits(const struct iw_observer *o, const struct iw_observed_side *s,
                 const struct iw_ddp_header *h, bool header, bool crc_failed)
{
    if (crc_failed)
        return !s->unproven && !s->cut && s->crc_known;
    if (s->unproven)
        return header && iw_observer_plausible(o, h) && !pending(o, IW_CHECK_MPA_MARKER_POINTER);
    return !s->cut || (header && iw_ddp_version(h) == o->version);
}

/* Called if everything about this FPDU was in order. */
static void trust(struct iw_observer *o, struct iw_observed_side *s, const struct iw_fpdu *fpdu,
                  const struct iw_ddp_header *h)
{
    /* Without a CRC, only the next header shows that an FPDU ends where it should. */
    uint64_t length = fpdu->pos + (fpdu->crc_checked ? fpdu->size : 0) - s->found_at;

    s->cut = false;
    if (!o->version_known)
        o->version = (uint8_t)iw_ddp_version(h);
    if (!s->unproven)
        return;
    if (length > IW_MPA_MARKER_PERIOD + IW_MPA_MARKER)
        s->markers_known = true;
    if (length > IW_MPA_FPDU_MAX)
        s->unproven = false;
}

/* Returns whether this side gets no CRC right: no octets are damaged, as those of framing and
 * header are in order. `h`: NULL if there is none. */
static bool crc_never_right(const struct iw_observer *o, const struct iw_observed_side *s,
                            const struct iw_ddp_header *h)
{
    const iw_quirks known =
        iw_quirk_bit(IW_QUIRK_CRC_ORDER) | iw_quirk_bit(IW_QUIRK_CRC_POLYNOMIAL);

    return o->config.intact && !s->crc_right && (s->found & known) == 0 && !s->missed &&
           !o->joined && o->scratch->n_pending == 1 && h != NULL && iw_observer_plausible(o, h);
}

/* A right CRC: one before that was not had damaged octets, which may have been anything. */
static void find_right_crc(struct iw_observer *o, struct iw_observed_side *s)
{
    if (!s->crc_right && iw_quirk_in(s->found, IW_QUIRK_CRC_OTHER))
        iw_observer_lose_place(o, s);
    s->crc_right = true;
}

/* Returns the quirk that explains a wrong CRC, as a set; 0: none does. */
static iw_quirks crc_quirk(const struct iw_observer *o, const struct iw_observed_side *s,
                           const struct iw_fpdu *fpdu, const struct iw_ddp_header *h)
{
    const iw_quirks other = iw_quirk_bit(IW_QUIRK_CRC_OTHER);
    bool never_right = crc_never_right(o, s, h);
    iw_quirks quirk = 0;

    if (never_right && (s->found & other) != 0)
        return other;
    for (size_t i = 0; !o->config.no_quirks && i < o->scratch->n_pending; i++) {
        const struct iw_fault *f = &o->scratch->pending[i];
        if (f->check != IW_CHECK_MPA_CRC)
            continue;
        quirk = iw_quirk_crc(o->raw, fpdu->size - IW_MPA_CRC_FIELD, (uint32_t)f->got,
                             (uint32_t)f->want);
        if (quirk == 0 && never_right)
            quirk = other;
    }
    return quirk;
}

void iw_observer_lose_markers(struct iw_observer *o, struct iw_observed_side *s)
{
    struct iw_fault why = {.check = IW_CHECK_MPA_MARKER_PLACE, .pos = s->next};

    iw_observer_begin(o, IW_OBSERVED_SEGMENT, s->self, s->next, s->next);
    find_marker_fault(o, s);
    iw_observer_lose(o, s->self, &why);
}

/* Takes back the faults of these checks. */
static void forgive(struct iw_observer *o, const enum iw_check *checks, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->scratch->n_pending; i++) {
        bool forgiven = false;
        for (size_t k = 0; k < count; k++)
            forgiven |= o->scratch->pending[i].check == checks[k];
        if (!forgiven)
            o->scratch->pending[kept++] = o->scratch->pending[i];
    }
    o->scratch->n_pending = kept;
}

static void forgive_crc(struct iw_observer *o)
{
    static const enum iw_check crc[] = {IW_CHECK_MPA_CRC};

    forgive(o, crc, 1);
}

/* After a ULPDU_Length that is too small, the octets that follow are no pad. */
static void forgive_pad(struct iw_observer *o)
{
    static const enum iw_check pad[] = {IW_CHECK_MPA_PAD};

    forgive(o, pad, 1);
}

/* Of a side whose Markers are known to stand elsewhere, nothing more is found where none is. */
static void forgive_markers(struct iw_observer *o, const struct iw_observed_side *s)
{
    static const enum iw_check markers[] = {IW_CHECK_MPA_MARKER_POINTER, IW_CHECK_MPA_MARKER_RSVD,
                                            IW_CHECK_MPA_MARKER_LOW};

    if (iw_quirk_in(s->found, IW_QUIRK_MARKERS_PLACE))
        forgive(o, markers, 3);
}

/* Returns whether a Marker of the FPDU is wrong. */
static bool marker_wrong(const struct iw_observer *o, const struct iw_observed_side *s)
{
    return pending(o, IW_CHECK_MPA_MARKER_POINTER) ||
           (iw_quirk_in(s->found, IW_QUIRK_MARKERS_PLACE) &&
            (pending(o, IW_CHECK_MPA_MARKER_RSVD) || pending(o, IW_CHECK_MPA_MARKER_LOW)));
}

int iw_observer_fpdu(void *side, const struct iw_fpdu *as_it_is)
{
    struct iw_observed_side *s = side;
    struct iw_observer *o = s->observer;
    struct iw_fpdu mended = *as_it_is;
    const struct iw_fpdu *fpdu = &mended;
    const uint8_t *ulpdu = contiguous(o, fpdu);
    bool crc_failed = fpdu->crc_checked && !fpdu->crc_good;
    struct iw_ddp_header h;
    bool header = iw_wire_get_ddp(ulpdu, fpdu->length, &h) > 0;
    enum iw_marker_places places = IW_MARKERS_IN_PLACE;
    bool wrong = marker_wrong(o, s);
    if (crc_failed || wrong)
        places = iw_observer_seek_markers(o, s, crc_failed);
    if (places == IW_MARKERS_FOUND || places == IW_MARKERS_CUT) {
        s->retake = places == IW_MARKERS_FOUND;
        s->await = !s->retake;
        return 0;
    }
    if (places == IW_MARKERS_LOST) {
        iw_observer_lose_markers(o, s);
        return -1;
    }
    forgive_markers(o, s);
    if (fpdu->crc_checked && fpdu->crc_good)
        find_right_crc(o, s);
    s->crc_quirk = crc_failed ? crc_quirk(o, s, fpdu, header ? &h : NULL) : 0;
    if (s->crc_quirk != 0) {
        mended.crc_good = true;
        crc_failed = false;
        if ((s->found & s->crc_quirk) != 0)
            forgive_crc(o);
    }
    if (!fits(o, s, &h, header, crc_failed)) {
        s->redo = true;
        return 0;
    }
    struct iw_fault why = {0};
    if (framing_lost(s, fpdu, &h, header, crc_failed, &why)) {
        iw_observer_lose(o, s->self, &why);
        return -1;
    }
    if (!header && !fpdu->crc_checked)
        forgive_pad(o);
    bool content = !crc_failed && !(wrong && places == IW_MARKERS_UNSURE);
    if (content && header)
        trust(o, s, fpdu, &h);
    iw_observer_segment(o, s->self, ulpdu, fpdu->length, fpdu->length, fpdu, content);
    return 0;
}

void iw_observer_cut_fpdu(struct iw_observer *o, struct iw_observed_side *s, const uint8_t *octets,
                          size_t length)
{
    struct iw_fpdu fpdu;
    size_t captured = iw_deframer_peek(&s->deframer, s->next, octets, length, &fpdu,
                                       o->scratch->gather, sizeof(o->scratch->gather));
    fpdu.crc_checked = s->deframer.crc;
    o->scratch->n_pending = 0;
    s->cut = true;
    s->crc_failed = false;
    s->crc_quirk = 0;
    iw_observer_segment(o, s->self, o->scratch->gather, fpdu.length, captured, &fpdu, true);
}

/* ---- one segment ---- */

void iw_observed_header(struct iw_observer *o, unsigned opcode, const uint8_t *octets,
                        size_t length)
{
    struct iw_observation *now = o->now;

    if (opcode == IW_OP_READ_REQUEST && length == IW_RDMAP_READ_REQUEST)
        (void)iw_wire_get_read_request(octets, length, &now->read_request);
    if (opcode == IW_OP_TERMINATE)
        iw_observed_terminate(o, octets, length);
    if (opcode == IW_OP_ATOMIC_REQUEST && length == IW_RDMAP_ATOMIC_REQUEST)
        (void)iw_wire_get_atomic_request(octets, length, &now->atomic_request);
    if (opcode == IW_OP_ATOMIC_RESPONSE && length == IW_RDMAP_ATOMIC_RESPONSE)
        (void)iw_wire_get_atomic_response(octets, length, &now->atomic_response);
}

static bool decode(struct iw_observer *o, const uint8_t *ulpdu, size_t length, size_t captured)
{
    struct iw_observation *now = o->now;
    int header = iw_wire_get_ddp(ulpdu, captured, &now->ddp);

    now->ulpdu = ulpdu;
    now->ulpdu_length = length;
    now->ulpdu_captured = captured;
    if (header < 0)
        return false;
    now->payload = ulpdu + header;
    now->payload_length = length - (size_t)header;
    now->payload_captured = captured - (size_t)header;
    iw_observer_mend_order(o);
    now->meant_msn = iw_ddp_tagged(&now->ddp) ? 0 : iw_observer_meant_msn(o);
    if (!iw_ddp_tagged(&now->ddp) && captured == length)
        iw_observed_header(o, iw_rdmap_op(&now->ddp), now->payload, now->payload_length);
    return true;
}

/* Returns the RTR form of a segment, 0 if none (RFC 6581 §9.2). */
static unsigned rtr_form(const struct iw_observation *now)
{
    bool tagged = iw_ddp_tagged(&now->ddp);

    switch (iw_rdmap_op(&now->ddp)) {
    case IW_OP_SEND:
        return !tagged && now->payload_length == 0 ? IW_MPA_RTR_SEND : 0;
    case IW_OP_WRITE:
        return tagged && now->payload_length == 0 ? IW_MPA_RTR_WRITE : 0;
    case IW_OP_READ_REQUEST:
        return !tagged && now->payload_length == IW_RDMAP_READ_REQUEST &&
                       now->read_request.size == 0 /* or not captured */
                   ? IW_MPA_RTR_READ
                   : 0;
    default:
        return 0;
    }
}

/* Checks the first segment of a message that has to be an RTR of one of these forms. */
static void begin_rtr(struct iw_observer *o, struct iw_observed_side *s, unsigned forms)
{
    unsigned form = rtr_form(o->now);

    s->rtr = (uint8_t)(form & forms);
    if (s->rtr == 0)
        iw_observer_find_at(o, IW_CHECK_MPA_RTR_FIRST, IW_AT_RDMAP_CONTROL, form, forms);
    else if (iw_ddp_last(&o->now->ddp))
        s->rtr = 0;
}

/* The RTR goes on, if the segment in o->now is of its message: an RTR has no octets that could come
 * in another segment. */
static void continue_rtr(struct iw_observer *o, struct iw_observed_side *s)
{
    const struct iw_ddp_header *h = &o->now->ddp;
    unsigned qn = s->rtr == IW_MPA_RTR_READ ? IW_QN_READ_REQUEST : IW_QN_SEND;
    bool write = s->rtr == IW_MPA_RTR_WRITE;
    bool same = write ? h->stag == s->tagged[0].stag : h->msn == s->queue[qn].msn;

    if (write ? !iw_ddp_tagged(h) || iw_rdmap_op(h) != IW_OP_WRITE
              : iw_ddp_tagged(h) || h->qn != qn)
        return;
    if (same && o->now->payload_length > 0)
        iw_observer_find_at(o, IW_CHECK_MPA_RTR_FIRST, IW_AT_RDMAP_CONTROL, 0, s->rtr);
    if (!same || o->now->payload_length > 0 || iw_ddp_last(h))
        s->rtr = 0;
}

/* Checks the initiator's first FPDU, and who may send before it. Terminates may always be sent (RFC
 * 6581 §9.2, OP-12, OP-23). */
static void check_first(struct iw_observer *o, struct iw_observed_side *s, bool header)
{
    struct iw_observed_side *initiator = &o->side[IW_SIDE_INITIATOR];
    struct iw_observed_side *responder = &o->side[IW_SIDE_RESPONDER];
    bool terminate = header && iw_rdmap_op(&o->now->ddp) == IW_OP_TERMINATE;
    /* That opcode may have become one that is not assigned. */
    bool may_be = terminate || (header && iw_rdmap_op(&o->now->ddp) > IW_OP_ATOMIC_RESPONSE);

    if (s == initiator && !s->first_done) {
        /* A Request that offers none (mpa-rtr-offer) leaves the choice to the Reply. */
        unsigned forms = initiator->enhanced.rtr ? initiator->enhanced.rtr & responder->enhanced.rtr
                                                 : responder->enhanced.rtr;
        s->first_done = true;
        /* An initiator that speaks version 1 is not one of the RDMA Consortium (OP-52). */
        if (initiator->startup.revision == 0 && o->version == 1 && header &&
            iw_ddp_version(&o->now->ddp) == 1)
            iw_observer_find_at(o, IW_CHECK_MPA_REV, IW_AT_DDP_CONTROL, 0, 1);
        if (initiator->enhanced.peer_to_peer && responder->enhanced.peer_to_peer && header &&
            !terminate)
            begin_rtr(o, s, forms);
    }
    if (s == responder && !initiator->first_done && !s->early_fpdu && !may_be &&
        !iw_observed_gap(initiator)) {
        s->early_fpdu = true;
        /* The beginning of an FPDU is here: is it one, or is its length wrong? */
        s->early_fpdu_waits = !initiator->as_ulpdus && initiator->top > initiator->frame_length;
        s->early_fpdu_pos = o->now->pos;
        s->early_fpdu_end = o->now->end;
        s->early_fpdu_short = !header;
        if (!s->early_fpdu_waits)
            iw_observer_find(o, IW_CHECK_MPA_RESPONDER_EARLY, o->now->pos, 0, 0);
    }
}

/* The initiator's first FPDU is good: FPDUs that the responder sent while it was on its way came
 * too early. */
static void find_waiting(struct iw_observer *o)
{
    struct iw_observed_side *s = &o->side[IW_SIDE_RESPONDER];
    const struct iw_observed_side *initiator = &o->side[IW_SIDE_INITIATOR];

    s->early_fpdu_waits = false;
    if (initiator->frame_quirk != 0 || initiator->whole_waited)
        return; /* it was whole before */
    iw_observer_begin(o, IW_OBSERVED_SEGMENT, s->self, s->early_fpdu_pos, s->early_fpdu_end);
    if (s->early_fpdu_short)
        o->now->cause = IW_CHECK_DDP_HEADER_SHORT;
    iw_observer_find(o, IW_CHECK_MPA_RESPONDER_EARLY, s->early_fpdu_pos, 0, 0);
}

void iw_observer_segment(struct iw_observer *o, enum iw_side side, const uint8_t *ulpdu,
                         size_t length, size_t captured, const struct iw_fpdu *fpdu, bool content)
{
    struct iw_observed_side *s = &o->side[side];
    if (side == IW_SIDE_INITIATOR && content && !s->first_done &&
        o->side[IW_SIDE_RESPONDER].early_fpdu_waits)
        find_waiting(o);
    iw_observer_begin(o, IW_OBSERVED_SEGMENT, side, fpdu != NULL ? fpdu->pos : 0,
                      fpdu != NULL ? fpdu->pos + fpdu->size : 0);
    o->now->fpdu = fpdu;
    o->now->quirks = o->now->proven =
        fpdu != NULL ? s->crc_quirk | s->marker_quirk | s->frame_quirk : 0;
    s->found |= o->now->quirks;
    s->spoke = true;
    o->scratch->n_owed = 0;
    bool header = decode(o, ulpdu, length, captured);
    s->segments++;
    s->led_here = 0;
    iw_observer_show(o);
    if (fpdu != NULL) {
        find_marker_fault(o, s);
        find_framing(o, s);
        find_pending(o, fpdu->crc_checked && !fpdu->crc_good);
    }
    if (!content || (!header && captured < length)) {
        if (s->as_ulpdus)
            iw_observer_doubt_reads(o); /* a receiver that took it may have seen any request */
        else
            iw_observer_lose_place(o, s);
        return;
    }
    if (s->terminated && !s->quiet) {
        bool again = header && !iw_ddp_tagged(&o->now->ddp) && o->now->ddp.qn == IW_QN_TERMINATE;
        iw_observer_find(o, again ? IW_CHECK_RDMAP_TERMINATE_ONCE : IW_CHECK_RDMAP_TERMINATE_LAST,
                         o->now->pos, 0, 0);
        s->quiet = true;
    }
    iw_observer_check_size(o);
    if (!o->side[IW_SIDE_INITIATOR].first_done)
        iw_observer_expect_header(o, ulpdu, length, header);
    check_first(o, s, header);
    if (!header) {
        iw_observer_judge_stub(o, ulpdu, length);
        iw_observer_lose_place(o, s);
        return;
    }
    iw_observer_find_order(o);
    if (!iw_observer_judge_header(o))
        return;
    if (s->rtr != 0 && s->segments > 1)
        continue_rtr(o, s);
    if (iw_ddp_tagged(&o->now->ddp))
        iw_observer_tagged(o);
    else
        iw_observer_untagged(o);
}
