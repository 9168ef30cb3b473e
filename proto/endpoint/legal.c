/* SPDX-License-Identifier: BSD-3-Clause */
#include "internal.h"

#include "iwarp/octets.h"

/* What a sender may do and a receiver must take, refused by --overstrict: one check a habit. */

/* RFC 5041 §4.2, §4.3: a sender must not change these within a message; a sink need not look. */
static enum iw_check changed(const struct iw_endpoint *ep, const struct iw_ddp_header *h)
{
    const struct iw_switches *s = ep->config.switches;
    bool tagged = iw_ddp_tagged(h);
    const struct iw_rx_last *last = &ep->rx_last[tagged];
    bool control = h->rdmap_control != last->rdmap_control;

    if (!last->open)
        return IW_CHECK_NONE;
    if (!tagged && (control || h->invalidate_stag != last->stag) &&
        iw_switch_overstrict(s, IW_CHECK_DDP_CONSTANT_UNTAGGED))
        return IW_CHECK_DDP_CONSTANT_UNTAGGED;
    if (tagged && control && iw_switch_overstrict(s, IW_CHECK_DDP_CONSTANT_TAGGED))
        return IW_CHECK_DDP_CONSTANT_TAGGED;
    if (tagged && h->stag != last->stag && iw_switch_overstrict(s, IW_CHECK_DDP_CONSTANT_STAG))
        return IW_CHECK_DDP_CONSTANT_STAG;
    return IW_CHECK_NONE;
}

static void remember(struct iw_endpoint *ep, const struct iw_ddp_header *h)
{
    bool tagged = iw_ddp_tagged(h);
    if (!tagged && h->qn != IW_QN_SEND)
        return;
    ep->rx_last[tagged] = (struct iw_rx_last){.open = !iw_ddp_last(h),
                                              .rdmap_control = h->rdmap_control,
                                              .stag = tagged ? h->stag : h->invalidate_stag};
}

static bool fills_its_buffer(const struct iw_endpoint *ep, const struct iw_ddp_header *h,
                             uint32_t octets)
{
    const struct iw_recv_entry *entry = &ep->recvs[ep->recv_head % ep->config.recv_depth];
    return octets > 0 && ep->recv_head != ep->recv_tail &&
           (uint64_t)h->mo + octets == entry->capacity;
}

enum iw_check iw_ep_refused(struct iw_endpoint *ep, const struct iw_fpdu *fpdu,
                            const struct iw_ddp_header *h, uint32_t octets, const uint8_t *payload)
{
    enum { READ_SIZE = 12 };
    unsigned opcode = iw_rdmap_op(h);
    bool send = !iw_ddp_tagged(h) && h->qn == IW_QN_SEND && iw_rdmap_is_send(opcode);
    /* An RTR is an empty message, too, but no message of the ULP's (RFC 6581 §9.2). */
    bool whole = iw_ddp_last(h) && octets == 0 && !ep->rtr_expected;
    bool read =
        opcode == IW_OP_READ_REQUEST && octets == IW_RDMAP_READ_REQUEST && !ep->rtr_expected;
    enum iw_check check = changed(ep, h);
    const struct {
        enum iw_check check;
        bool is;
    } habits[] = {
        {IW_CHECK_MPA_FPDU_PACKED, ep->rx_together > 1},
        {IW_CHECK_MPA_MULPDU, fpdu->length > ep->mulpdu},
        {IW_CHECK_RDMAP_SEND_SE, send && iw_rdmap_solicits(opcode)},
        {IW_CHECK_RDMAP_SEND_INVALIDATE, send && iw_rdmap_invalidates(opcode)},
        {IW_CHECK_RDMAP_SEND_EMPTY, send && whole && h->mo == 0},
        {IW_CHECK_RDMAP_WRITE_EMPTY, opcode == IW_OP_WRITE && whole},
        {IW_CHECK_RDMAP_READ_EMPTY, read && iw_get32(payload + READ_SIZE) == 0},
        {IW_CHECK_RDMAP_RESPONSE_EMPTY, opcode == IW_OP_READ_RESPONSE && whole},
        {IW_CHECK_DDP_FIT, send && fills_its_buffer(ep, h, octets)},
    };

    remember(ep, h);
    for (size_t i = 0; check == IW_CHECK_NONE && i < sizeof habits / sizeof habits[0]; i++)
        if (habits[i].is && iw_switch_overstrict(ep->config.switches, habits[i].check))
            check = habits[i].check;
    return check;
}
