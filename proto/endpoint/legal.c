/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_internal.h"

#include "iwarp/octets.h"

/* Habits that a sender may have and a receiver must accept, refused by --overstrict: one check per
 * habit. */

/* The messages of several segments that may be in progress at once. */
enum { SENDS, WRITES, RESPONSES, OTHERS };

static unsigned kind(const struct iw_ddp_header *h)
{
    if (!iw_ddp_tagged(h))
        return h->qn == IW_QN_SEND ? SENDS : OTHERS;
    return iw_rdmap_op(h) == IW_OP_READ_RESPONSE ? RESPONSES : WRITES;
}

/* RFC 5041 §4.2, §4.3: a sender must not change these within a message; a sink need not look. */
static struct iw_ulpdu_fault changed(const struct iw_endpoint *ep, const struct iw_ddp_header *h)
{
    const struct iw_switches *s = ep->config.switches;
    bool tagged = iw_ddp_tagged(h);
    const struct iw_rx_last *last = &ep->rx_last[kind(h)];
    enum iw_check constant = tagged ? IW_CHECK_DDP_CONSTANT_TAGGED : IW_CHECK_DDP_CONSTANT_UNTAGGED;
    enum iw_check same = tagged ? IW_CHECK_DDP_CONSTANT_STAG : IW_CHECK_DDP_CONSTANT_UNTAGGED;
    uint32_t stag = tagged ? h->stag : h->invalidate_stag;

    if (last->open && h->rdmap_control != last->rdmap_control && iw_switch_overstrict(s, constant))
        return (struct iw_ulpdu_fault){constant, IW_AT_RDMAP_CONTROL, h->rdmap_control,
                                       last->rdmap_control};
    if (last->open && stag != last->stag && iw_switch_overstrict(s, same))
        return (struct iw_ulpdu_fault){same, IW_AT_STAG, stag, last->stag};
    return (struct iw_ulpdu_fault){.check = IW_CHECK_NONE};
}

static void remember(struct iw_endpoint *ep, const struct iw_ddp_header *h)
{
    if (kind(h) != OTHERS)
        ep->rx_last[kind(h)] =
            (struct iw_rx_last){.open = !iw_ddp_last(h),
                                .rdmap_control = h->rdmap_control,
                                .stag = iw_ddp_tagged(h) ? h->stag : h->invalidate_stag};
}

static bool fills_its_buffer(const struct iw_endpoint *ep, uint64_t end, uint32_t octets)
{
    const struct iw_recv_entry *entry = &ep->recvs[ep->recv_head % ep->config.recv_depth];
    return octets > 0 && ep->recv_head != ep->recv_tail && end == entry->capacity;
}

struct iw_ulpdu_fault iw_ep_refused(struct iw_endpoint *ep, const struct iw_fpdu *fpdu,
                                    const struct iw_ddp_header *h, uint32_t octets,
                                    const uint8_t *payload)
{
    unsigned opcode = iw_rdmap_op(h);
    bool send = !iw_ddp_tagged(h) && h->qn == IW_QN_SEND && iw_rdmap_is_send(opcode);
    /* An RTR is an empty message, too, but no message of the ULP's (RFC 6581 §9.2). */
    bool whole = iw_ddp_last(h) && octets == 0 && !ep->rtr_expected;
    bool alone = whole && !ep->rx_last[kind(h)].open;
    bool read =
        opcode == IW_OP_READ_REQUEST && octets == IW_RDMAP_READ_REQUEST && !ep->rtr_expected;
    uint64_t end = (uint64_t)h->mo + octets;
    struct iw_ulpdu_fault r = changed(ep, h);
    const struct {
        bool is;
        struct iw_ulpdu_fault refusal;
    } habits[] = {
        {ep->rx_together > 1, {IW_CHECK_MPA_FPDU_PACKED, 0, ep->rx_together, 1}},
        {fpdu->length > ep->mulpdu, {IW_CHECK_MPA_MULPDU, 0, fpdu->length, ep->mulpdu}},
        {send && iw_rdmap_solicits(opcode),
         {IW_CHECK_RDMAP_SEND_SE, IW_AT_RDMAP_CONTROL, opcode, 0}},
        {send && iw_rdmap_invalidates(opcode),
         {IW_CHECK_RDMAP_SEND_INVALIDATE, IW_AT_RDMAP_CONTROL, opcode, 0}},
        {send && whole && h->mo == 0, {IW_CHECK_RDMAP_SEND_EMPTY, 0, 0, 0}},
        {opcode == IW_OP_WRITE && alone, {IW_CHECK_RDMAP_WRITE_EMPTY, 0, 0, 0}},
        {read && iw_get32(payload + IW_AT_READ_SIZE) == 0, {IW_CHECK_RDMAP_READ_EMPTY, 0, 0, 0}},
        {opcode == IW_OP_READ_RESPONSE && alone, {IW_CHECK_RDMAP_RESPONSE_EMPTY, 0, 0, 0}},
        {send && fills_its_buffer(ep, end, octets), {IW_CHECK_DDP_FIT, IW_AT_MO, end, 0}},
    };

    remember(ep, h);
    for (size_t i = 0; r.check == IW_CHECK_NONE && i < sizeof(habits) / sizeof(habits[0]); i++)
        if (habits[i].is && iw_switch_overstrict(ep->config.switches, habits[i].refusal.check))
            r = habits[i].refusal;
    return r;
}
