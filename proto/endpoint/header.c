/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_internal.h"

/* A correct header passes through here unchanged; every line but the encoder serves --violate. */
size_t iw_ep_put_header(const struct iw_endpoint *ep, uint8_t *out, struct iw_ddp_header h,
                        bool first)
{
    const struct iw_switches *s = ep->config.switches;
    if (ep->startup.agreed.version == 0) { /* RFC 5044 Appendix C.1: DV and RV go together */
        h.ddp_control &= (uint8_t)~IW_DDP_DV;
        h.rdmap_control &= (uint8_t)~IW_RDMAP_RV;
    }
    if (iw_switch_any(s)) {
        bool tagged = iw_ddp_tagged(&h);
        unsigned opcode = iw_rdmap_op(&h);
        bool write = opcode == IW_OP_WRITE;
/* NOLINTBEGIN(bugprone-macro-parentheses): `change` is a statement. */
#define IW_BEND(check, condition, change)                                                          \
    do {                                                                                           \
        if ((condition) && iw_switch_violated(s, (check)))                                         \
            change;                                                                                \
    } while (0)
        /* NOLINTEND(bugprone-macro-parentheses) */
        IW_BEND(IW_CHECK_DDP_VERSION_TAGGED, tagged, h.ddp_control ^= 0x03);
        IW_BEND(IW_CHECK_DDP_VERSION_UNTAGGED, !tagged, h.ddp_control ^= 0x03);
        IW_BEND(IW_CHECK_DDP_RSVD, true, h.ddp_control |= 0x04);
        IW_BEND(IW_CHECK_DDP_LAST, true, h.ddp_control &= (uint8_t)~IW_DDP_L);
        IW_BEND(IW_CHECK_RDMAP_VERSION, true, h.rdmap_control ^= 0xc0);
        IW_BEND(IW_CHECK_RDMAP_RSV, true, h.rdmap_control |= 0x10);
        IW_BEND(IW_CHECK_RDMAP_OPCODE, true, h.rdmap_control |= 0x0f);
        IW_BEND(IW_CHECK_DDP_CONSTANT_TAGGED, tagged && !first, h.rdmap_control ^= 0x20);
        IW_BEND(IW_CHECK_DDP_CONSTANT_STAG, tagged && !first, h.stag ^= 0x01);
        IW_BEND(IW_CHECK_DDP_CONSTANT_UNTAGGED, !tagged && !first, h.invalidate_stag ^= 0x01);
        IW_BEND(IW_CHECK_DDP_STAG, tagged && write, h.stag ^= 0x5a5a5a5a);
        IW_BEND(IW_CHECK_DDP_TO_WRAP, tagged && write, h.to = UINT64_MAX);
        IW_BEND(IW_CHECK_DDP_TO_ORDER, tagged && !first, h.to -= 4);
        IW_BEND(IW_CHECK_DDP_QN, !tagged, h.qn = 9);
        IW_BEND(IW_CHECK_DDP_MSN, !tagged, h.msn += 1);
        IW_BEND(IW_CHECK_DDP_MO, !tagged, h.mo += 0x10000000);
        IW_BEND(IW_CHECK_DDP_MO_ZERO, !tagged && first, h.mo += 4);
        IW_BEND(IW_CHECK_DDP_MO_PLACE, !tagged && !first, h.mo -= 4);
        IW_BEND(IW_CHECK_RDMAP_OPCODE_QUEUE, !tagged, h.qn = h.qn == 0 ? 1 : 0);
        IW_BEND(IW_CHECK_RDMAP_INVALIDATE_FIELD, !tagged && !iw_rdmap_invalidates(opcode),
                h.invalidate_stag = 1);
        IW_BEND(IW_CHECK_RDMAP_INVALIDATE_STAG, !tagged && iw_rdmap_invalidates(opcode),
                h.invalidate_stag ^= 0x5a5a5a5a);
        IW_BEND(IW_CHECK_RDMAP_OPCODE_TAGGED, true, h.ddp_control ^= IW_DDP_T);
        IW_BEND(IW_CHECK_RDMAP_RESPONSE_STAG, opcode == IW_OP_READ_RESPONSE, h.stag ^= 1);
        IW_BEND(IW_CHECK_RDMAP_RESPONSE_TO, opcode == IW_OP_READ_RESPONSE, h.to += 8);
#undef IW_BEND
    }
    return (size_t)iw_wire_put_ddp(out, IW_DDP_UNTAGGED_HEADER, &h);
}

size_t iw_ep_put_read_request(const struct iw_endpoint *ep, uint8_t *out,
                              struct iw_rdmap_read_request request)
{
    const struct iw_switches *s = ep->config.switches;
    if (iw_switch_violated(s, IW_CHECK_RDMAP_READ_STAG))
        request.source_stag ^= 0x5a5a5a5a;
    if (iw_switch_violated(s, IW_CHECK_RDMAP_READ_BOUNDS))
        request.size += 0x100000;
    if (iw_switch_violated(s, IW_CHECK_RDMAP_READ_WRAP))
        request.source_to = UINT64_MAX;
    int length = iw_wire_put_read_request(out, IW_RDMAP_READ_REQUEST, &request);
    return (size_t)length - (iw_switch_violated(s, IW_CHECK_RDMAP_READ_LENGTH) ? 4 : 0);
}
