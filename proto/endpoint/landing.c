/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_internal.h"
#include "iwarp/octets.h"

/*
 * Payload that the transport receives in place (iw_endpoint_landing): that of a Write, a Read
 * Response or a Send whose header is here and passes every check. The endpoint keeps the header and
 * takes the FPDU from the deframer. Once its last octet is here, the FPDU goes through rx.c like
 * any other, which finds its payload in place. RFC 5041 §5.3 allows octets to be placed before
 * their message is delivered; without a CRC nothing follows that could still prove them wrong.
 *
 * With receive_ahead the payload of a Send may come before its header was read (iw_endpoint_guess):
 * if the Send before it began with a long segment, this one may, too. A right guess goes on like
 * any other landing; a wrong one has spoilt memory that nobody uses yet.
 */

static uint32_t payload(const struct iw_landing *l)
{
    return l->length - l->header_length;
}

/* Returns whether a Read Response is the next part of the read whose turn it is. */
static bool answers(struct iw_endpoint *ep, const struct iw_ddp_header *h, uint32_t length)
{
    const struct iw_read_out *read = iw_ep_read_out(ep, false);
    if (read == NULL || read != &ep->reads_out[ep->reads_out_head % ep->reads_out_room])
        return false;
    uint32_t left = read->size - read->received;
    return h->stag == read->sink_stag && h->to == read->sink_to + read->received &&
           length <= left && (!iw_ddp_last(h) || length == left);
}

/* Returns octet `offset` of the next receive, if `length` octets lie there in one piece. */
static uint8_t *piece_of_receive(const struct iw_endpoint *ep, uint64_t offset, size_t length)
{
    if (ep->recv_head == ep->recv_tail)
        return NULL;
    const struct iw_recv_entry *entry = &ep->recvs[ep->recv_head % ep->config.recv_depth];
    uint32_t i = 0;
    while (i < entry->sge_count && offset >= entry->sge[i].length)
        offset -= entry->sge[i++].length;
    if (i == entry->sge_count || length > entry->sge[i].length - offset)
        return NULL;
    return (uint8_t *)entry->sge[i].base + offset;
}

/* Returns the place of the payload; NULL if a check would fail. */
static uint8_t *target(struct iw_endpoint *ep)
{
    const struct iw_landing *l = &ep->landing;
    struct iw_ddp_header h;
    void *at = NULL;
    if (iw_wire_get_ddp(l->header, l->header_length, &h) < 0)
        return NULL;
    if (!iw_ddp_tagged(&h)) {
        bool next = iw_rdmap_is_send(iw_rdmap_op(&h)) && h.msn == ep->rx_msn[IW_QN_SEND];
        return h.qn == IW_QN_SEND && next ? piece_of_receive(ep, h.mo, payload(l)) : NULL;
    }
    bool response = iw_rdmap_op(&h) == IW_OP_READ_RESPONSE;
    if (response && !answers(ep, &h, payload(l)))
        return NULL;
    enum iw_ddp_use use = response ? IW_USE_READ_RESPONSE : IW_USE_WRITE;
    return iw_ddp_lend(&ep->stream, use, h.stag, h.to, payload(l), &at) == IW_CHECK_NONE ? at
                                                                                         : NULL;
}

/* Returns the place where the payload goes on; NULL for good once a check would fail, or if the
 * STag now means other memory than that which holds the payload's beginning. */
static uint8_t *place(struct iw_endpoint *ep)
{
    struct iw_landing *l = &ep->landing;
    if (target(ep) != l->at)
        l->at = NULL;
    return l->at;
}

/* Returns true if the FPDU that begins with these octets can land: its header passes every check.
 */
static bool take(struct iw_endpoint *ep, const uint8_t *octets, size_t held)
{
    struct iw_landing *l = &ep->landing;
    struct iw_ddp_header h;
    uint32_t length = iw_get16(octets);
    int header = iw_wire_get_ddp(octets + IW_MPA_LENGTH_FIELD, held - IW_MPA_LENGTH_FIELD, &h);
    if (header < 0 || length <= (uint32_t)header || length > IW_MPA_ULPDU_MAX ||
        iw_rdmap_check_header(&h, ep->startup.agreed.version, false, NULL) != IW_CHECK_NONE)
        return false;
    *l = (struct iw_landing){.length = length, .header_length = (uint32_t)header};
    memcpy(l->header, octets + IW_MPA_LENGTH_FIELD, l->header_length);
    l->at = target(ep);
    return l->at != NULL;
}

/* Begins a landing if the deframer holds the beginning of an FPDU for which it pays. */
static bool begin(struct iw_endpoint *ep)
{
    const uint8_t *octets;
    struct iw_landing *l = &ep->landing;
    size_t held = iw_deframer_held(&ep->deframer, &octets);
    if (held < IW_MPA_LENGTH_FIELD ||
        iw_wire_fpdu_size(iw_get16(octets)) < held + ep->landing_min || !take(ep, octets, held))
        return false;
    size_t head = IW_MPA_LENGTH_FIELD + l->header_length;
    l->done = (uint32_t)(held - head);
    memcpy(l->at, octets + head, l->done);
    iw_deframer_lift(&ep->deframer);
    l->active = true;
    return true;
}

/* Handles an STag that is valid, but not as it was when the segment began. */
static void moved(struct iw_endpoint *ep)
{
    struct iw_ddp_header h;
    (void)iw_wire_get_ddp(ep->landing.header, ep->landing.header_length, &h);
    uint64_t pos = ep->deframer.next + IW_MPA_LENGTH_FIELD + IW_AT_STAG;
    struct iw_fault fault = {IW_CHECK_DDP_STAG, pos, h.stag, 0};
    iw_ep_fault(ep, fault, &h, NULL, ep->landing.length);
}

/* Finishes a landing: the whole FPDU is here. */
static void finish(struct iw_endpoint *ep)
{
    struct iw_landing *l = &ep->landing;
    uint8_t *at = place(ep);
    uint32_t size = iw_wire_fpdu_size(l->length);
    struct iw_iov ulpdu[2] = {{l->header, l->header_length}, {at, payload(l)}};
    struct iw_fpdu fpdu = {.pos = ep->deframer.next,
                           .header_pos = ep->deframer.next,
                           .size = size,
                           .length = (uint16_t)l->length,
                           .ulpdu = ulpdu,
                           .pieces = at == NULL ? 1 : 2};
    l->active = false;
    if (at == NULL && target(ep) != NULL) {
        moved(ep);
        return;
    }
    iw_deframer_pass(&ep->deframer, size);
    (void)iw_ep_rx_fpdu(ep, &fpdu);
}

size_t iw_ep_landing_input(struct iw_endpoint *ep, const uint8_t *octets, size_t length)
{
    struct iw_landing *l = &ep->landing;
    uint32_t left = payload(l) - l->done,
             behind = iw_wire_fpdu_size(l->length) - l->length - IW_MPA_LENGTH_FIELD - l->behind;
    size_t here = length < left ? length : left;
    size_t rest = length - here < behind ? length - here : behind;
    uint8_t *at = here > 0 ? place(ep) : NULL;
    if (at != NULL)
        memmove(at + l->done, octets, here);
    l->done += (uint32_t)here;
    l->behind += (uint32_t)rest; /* pad and CRC field: nothing is checked */
    ep->rx_pos += here + rest;
    if (rest == behind)
        finish(ep);
    return here + rest;
}

/* Returns whether octets may bypass the deframer. */
static bool passable(const struct iw_endpoint *ep)
{
    return ep->phase == IW_PHASE_FULL && !ep->fin_in && !ep->rtr_expected &&
           iw_ep_in_place(ep, ep->deframer.crc, ep->deframer.markers);
}

size_t iw_endpoint_landing(struct iw_endpoint *ep, void **at)
{
    struct iw_landing *l = &ep->landing;
    if (!passable(ep) || (!l->active && !begin(ep)))
        return 0;
    uint8_t *begins = place(ep);
    if (begins == NULL)
        return 0;
    *at = begins + l->done;
    return payload(l) - l->done;
}

void iw_endpoint_landed(struct iw_endpoint *ep, size_t octets, uint64_t now)
{
    ep->now = now;
    if (ep->fin_out)
        ep->deadline = iw_ep_after(ep, ep->config.linger_timeout);
    ep->landing.done += (uint32_t)octets;
    ep->rx_pos += octets;
}

size_t iw_endpoint_guess(struct iw_endpoint *ep, void **at)
{
    if (!ep->config.receive_ahead || ep->rx_open || ep->rx_likely < ep->landing_min ||
        !passable(ep) || ep->landing.active || !iw_deframer_idle(&ep->deframer))
        return 0;
    *at = piece_of_receive(ep, 0, ep->rx_likely);
    return *at == NULL ? 0 : ep->rx_likely;
}

size_t iw_endpoint_guessed(struct iw_endpoint *ep, const void *head, size_t octets, uint64_t now)
{
    struct iw_landing *l = &ep->landing;
    void *guess = NULL;
    (void)iw_endpoint_guess(ep, &guess);
    if (!take(ep, head, IW_ENDPOINT_GUESS_HEAD) || l->at != guess ||
        l->header_length != IW_DDP_UNTAGGED_HEADER) {
        ep->rx_likely = 0; /* no guess any more before another long Send */
        return 0;
    }
    if (octets > payload(l))
        octets = payload(l);
    l->active = true;
    ep->rx_pos += IW_ENDPOINT_GUESS_HEAD;
    iw_endpoint_landed(ep, octets, now);
    return octets;
}
