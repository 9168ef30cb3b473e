/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"
#include "iwarp/octets.h"

/*
 * Payload that the transport receives where it belongs (iw_endpoint_landing): that of a tagged FPDU
 * whose header is here and passes every check. The header is kept, the FPDU leaves the deframer,
 * and once its last octet is here it goes through rx.c like any other, which finds its payload in
 * place. RFC 5041 §5.3 lets octets be placed before their message is delivered; without a CRC
 * there is nothing behind them that could still make them wrong.
 */

/* A call of the system's less or more costs about as much as copying so many octets. */
enum { LANDING_MIN = 16384, STAG_OFFSET = 2 };

static uint32_t payload(const struct iw_landing *l)
{
    return l->length - IW_DDP_TAGGED_HEADER;
}

/* Whether a Read Response is the next part of the read whose turn it is. */
static bool answers(struct iw_endpoint *ep, const struct iw_ddp_header *h, uint32_t length)
{
    const struct iw_read_out *read = iw_ep_read_out(ep, false);
    if (read == NULL || read != &ep->reads_out[ep->reads_out_head % ep->reads_out_room])
        return false;
    uint32_t left = read->size - read->received;
    return h->stag == read->sink_stag && h->to == read->sink_to + read->received &&
           length <= left && (!iw_ddp_last(h) || length == left);
}

/* Where the payload goes; NULL if a check would fail. */
static uint8_t *target(struct iw_endpoint *ep)
{
    const struct iw_landing *l = &ep->landing;
    struct iw_ddp_header h;
    void *at = NULL;
    if (iw_wire_get_ddp(l->header, sizeof l->header, &h) < 0)
        return NULL;
    bool response = iw_rdmap_op(&h) == IW_OP_READ_RESPONSE;
    if (response && !answers(ep, &h, payload(l)))
        return NULL;
    enum iw_ddp_use use = response ? IW_USE_READ_RESPONSE : IW_USE_WRITE;
    return iw_ddp_lend_sink(&ep->stream, use, h.stag, h.to, payload(l), &at) == IW_CHECK_NONE
               ? at
               : NULL;
}

/* Where the payload goes on; NULL for good once a check would fail, or if the STag means other
 * memory than that which has the payload's beginning. */
static uint8_t *place(struct iw_endpoint *ep)
{
    struct iw_landing *l = &ep->landing;
    if (target(ep) != l->at)
        l->at = NULL;
    return l->at;
}

/* The deframer holds the beginning of an FPDU for which this is worth while. */
static bool begin(struct iw_endpoint *ep)
{
    enum { HEAD = IW_MPA_LENGTH_FIELD + IW_DDP_TAGGED_HEADER };
    const uint8_t *octets;
    struct iw_landing *l = &ep->landing;
    struct iw_ddp_header h;
    size_t held = iw_deframer_held(&ep->deframer, &octets);
    if (held < HEAD)
        return false;
    uint32_t length = iw_get16(octets);
    if (length > IW_MPA_ULPDU_MAX || iw_wire_fpdu_size(length) < held + LANDING_MIN ||
        iw_wire_get_ddp(octets + IW_MPA_LENGTH_FIELD, IW_DDP_TAGGED_HEADER, &h) < 0 ||
        !iw_ddp_tagged(&h) ||
        iw_rdmap_check_header(&h, ep->startup.agreed.version, false, NULL) != IW_CHECK_NONE)
        return false;
    *l = (struct iw_landing){.length = length, .done = (uint32_t)(held - HEAD)};
    memcpy(l->header, octets + IW_MPA_LENGTH_FIELD, sizeof l->header);
    l->at = target(ep);
    if (l->at == NULL)
        return false;
    memcpy(l->at, octets + HEAD, l->done);
    iw_deframer_lift(&ep->deframer);
    l->active = true;
    return true;
}

/* The STag is valid, but not as it was when the segment began. */
static void moved(struct iw_endpoint *ep)
{
    struct iw_ddp_header h;
    (void)iw_wire_get_ddp(ep->landing.header, sizeof ep->landing.header, &h);
    uint64_t pos = ep->deframer.next + IW_MPA_LENGTH_FIELD + STAG_OFFSET;
    struct iw_fault fault = {IW_CHECK_DDP_STAG, pos, h.stag, 0};
    iw_ep_fault(ep, fault, &h, NULL, ep->landing.length, ep->rx_now);
}

/* All of the FPDU is here. */
static void finish(struct iw_endpoint *ep)
{
    struct iw_landing *l = &ep->landing;
    uint8_t *at = place(ep);
    uint32_t size = iw_wire_fpdu_size(l->length);
    struct iw_iov ulpdu[2] = {{l->header, sizeof l->header}, {at, payload(l)}};
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

size_t iw_endpoint_landing(struct iw_endpoint *ep, void **at)
{
    struct iw_landing *l = &ep->landing;
    if (ep->phase != IW_PHASE_FULL || ep->fin_in || ep->rtr_expected ||
        !iw_ep_in_place(ep, ep->deframer.crc, ep->deframer.markers) || (!l->active && !begin(ep)))
        return 0;
    uint8_t *begins = place(ep);
    if (begins == NULL)
        return 0;
    *at = begins + l->done;
    return payload(l) - l->done;
}

void iw_endpoint_landed(struct iw_endpoint *ep, size_t octets, uint64_t now)
{
    ep->rx_now = now;
    if (ep->fin_out)
        ep->deadline = iw_ep_after(now, ep->config.linger_timeout);
    ep->landing.done += (uint32_t)octets;
    ep->rx_pos += octets;
}
