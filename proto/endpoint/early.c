/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_internal.h"

/*
 * Octets out of order, and the placement of FPDUs that come after a gap.
 *
 * RFC 5041 §5.3 allows a segment to be placed in any order and more than once, and wants its
 * message delivered once and in order. So an FPDU is placed here as soon as it is whole, and goes
 * through rx.c in its turn as if it had only just come, placement included. Placing here spares the
 * consumer a wait, but never spares the in-order pass its work. Because octets are placed again in
 * order, every order of arrival leaves the same memory: of two messages that write to one place the
 * later one stands, even if it came first; and a region that has been invalidated or a receive that
 * has been posted in between is judged as it is then. Only that pass reports faults, delivers and
 * completes (§5.4).
 */

/* ---- placement ---- */

/* RFC 5040 §5.1: the target is named in the segment. */
static bool place_tagged(struct iw_endpoint *ep, const struct iw_fpdu *fpdu,
                         const struct iw_ddp_header *h, size_t skip, uint32_t length,
                         enum iw_ddp_use use)
{
    return iw_ddp_place_tagged(&ep->stream, use, h->stag, h->to, fpdu->ulpdu, fpdu->pieces, skip,
                               length) == IW_CHECK_NONE;
}

/* Returns whether the segment lies within the part of an outstanding read that is still missing. */
static bool answers(const struct iw_read_out *read, const struct iw_ddp_header *h, uint32_t length)
{
    if (read->atomic || h->stag != read->sink_stag || h->to < read->sink_to)
        return false;
    uint64_t offset = h->to - read->sink_to;
    if (offset < read->received || offset > read->size || length > read->size - offset)
        return false;
    return !iw_ddp_last(h) || length == read->size - offset;
}

static bool place_response(struct iw_endpoint *ep, const struct iw_fpdu *fpdu,
                           const struct iw_ddp_header *h, size_t skip, uint32_t length)
{
    for (uint64_t k = ep->reads_out_head; k != ep->reads_out_tail; k++)
        if (answers(&ep->reads_out[k % ep->reads_out_room], h, length))
            return place_tagged(ep, fpdu, h, skip, length, IW_USE_READ_RESPONSE);
    return false;
}

/* Each message of queue 0 takes one receive, so the MSN identifies it (RFC 5041 §5.1.2). */
static bool place_send(struct iw_endpoint *ep, const struct iw_fpdu *fpdu,
                       const struct iw_ddp_header *h, size_t skip, uint32_t length)
{
    uint32_t ahead = h->msn - ep->rx_msn[IW_QN_SEND];
    if (ahead >= ep->recv_tail - ep->recv_head)
        return false;
    const struct iw_recv_entry *entry = &ep->recvs[(ep->recv_head + ahead) % ep->config.recv_depth];
    if (h->mo > entry->capacity || length > entry->capacity - h->mo)
        return false;
    iw_ddp_scatter(entry->sge, entry->sge_count, h->mo, fpdu->ulpdu, fpdu->pieces, skip, length);
    return true;
}

static bool place(struct iw_endpoint *ep, const struct iw_fpdu *fpdu, const uint8_t *head,
                  size_t head_length)
{
    struct iw_ddp_header h;
    int got = iw_wire_get_ddp(head, head_length, &h);
    unsigned version = ep->startup.agreed.version;
    if (got < 0 || got == fpdu->length ||
        iw_rdmap_check_header(&h, version, false, NULL) != IW_CHECK_NONE)
        return false;
    size_t skip = (size_t)got;
    uint32_t length = (uint32_t)(fpdu->length - skip);
    unsigned opcode = iw_rdmap_op(&h);
    if (opcode == IW_OP_WRITE)
        return place_tagged(ep, fpdu, &h, skip, length, IW_USE_WRITE);
    if (opcode == IW_OP_READ_RESPONSE)
        return place_response(ep, fpdu, &h, skip, length);
    return iw_rdmap_is_send(opcode) && place_send(ep, fpdu, &h, skip, length);
}

bool iw_ep_rx_early(void *context, const struct iw_fpdu *fpdu)
{
    struct iw_endpoint *ep = context;
    uint8_t head[IW_DDP_UNTAGGED_HEADER + IW_TERM_MAX];
    /* The first FPDU decides whether there is a connection at all. The effect of a switch shows
     * best in order. */
    if (ep->phase != IW_PHASE_FULL || ep->deframer.fpdus == 0 || ep->rtr_expected ||
        iw_switch_any(ep->config.switches))
        return false;
    size_t length = iw_ddp_gather(head, fpdu->ulpdu, fpdu->pieces, 0, sizeof(head));
    if (!place(ep, fpdu, head, length))
        return false;
    iw_ep_trace(ep, IW_TRACE_FPDU_EARLY, head, length, fpdu->length, fpdu->pos);
    return true;
}

/* ---- input ---- */

static uint8_t octet_at(const struct iw_iov *data, uint64_t offset)
{
    while (offset >= data->length)
        offset -= data++->length;
    return ((const uint8_t *)data->base)[offset];
}

/* Takes octets after a gap. */
static int input_ahead(struct iw_endpoint *ep, uint64_t pos, const struct iw_iov *data,
                       size_t pieces)
{
    const uint8_t *reply;
    if (ep->phase == IW_PHASE_STARTUP || ep->landing.active)
        return IW_ERR_FULL;
    if (!iw_ep_receiving(ep))
        return IW_OK;
    /* The peer has nothing to say until our Reply has left; octets that come nevertheless are
     * judged in order. */
    if ((ep->config.role == IW_MPA_RESPONDER && iw_mpa_startup_output(&ep->startup, &reply) > 0) ||
        !iw_ep_rx_buffer(ep))
        return IW_ERR_FULL;
    if (ep->fin_out && ep->phase == IW_PHASE_FULL)
        ep->deadline = iw_ep_after(ep, ep->config.linger_timeout);
    int result = iw_deframer_input(&ep->deframer, pos, data, pieces);
    iw_ep_settle(ep);
    return result == -2 ? IW_ERR_FULL : IW_OK;
}

int iw_endpoint_input_at(struct iw_endpoint *ep, uint64_t pos, const struct iw_iov *data,
                         size_t pieces, uint64_t now)
{
    uint64_t end = pos, known = ep->rx_pos;
    for (size_t i = 0; i < pieces; i++) {
        if (data[i].length > UINT64_MAX - end)
            return IW_ERR_ARGUMENT;
        end += data[i].length;
    }
    ep->now = now;
    if (end == pos)
        return IW_OK;
    if (ep->fin_known && end > ep->fin_at) {
        iw_ep_after_close(ep, octet_at(data, ep->fin_at > pos ? ep->fin_at - pos : 0));
        iw_ep_settle(ep);
        return IW_OK;
    }
    if (end <= known)
        return IW_OK; /* repeats */
    if (pos > known)
        return input_ahead(ep, pos, data, pieces);
    if (pos == known) {
        iw_endpoint_input(ep, data, pieces, now);
        return IW_OK;
    }
    /* Skip repeats. Each piece may close a gap and make octets of the next known. */
    for (size_t i = 0; i < pieces; pos += data[i++].length) {
        known = ep->rx_pos;
        uint64_t skip = known > pos ? known - pos : 0;
        if (skip >= data[i].length)
            continue;
        struct iw_iov rest = {(uint8_t *)data[i].base + skip, data[i].length - (size_t)skip};
        iw_endpoint_input(ep, &rest, 1, now);
    }
    return IW_OK;
}

void iw_endpoint_input_end_at(struct iw_endpoint *ep, uint64_t pos, uint64_t now)
{
    ep->now = now;
    if (ep->fin_known || ep->fin_in)
        return;
    ep->fin_known = true;
    ep->fin_at = pos;
    iw_ep_fin_reached(ep);
    iw_ep_settle(ep);
}

void iw_ep_fin_reached(struct iw_endpoint *ep)
{
    if (ep->fin_in)
        return;
    if (ep->rx_pos > ep->fin_at)
        iw_ep_after_close(ep, 0);
    else if (ep->rx_pos == ep->fin_at || ep->phase == IW_PHASE_DONE)
        iw_endpoint_input_end(ep, true, ep->now);
}
