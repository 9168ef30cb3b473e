/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/rdmap.h"

enum { TAGGED = 1, INVALIDATES = 2, SOLICITS = 4, SEND = 8, EXTENSION = 16, QUEUE_SHIFT = 8 };

#define QUEUE(qn) ((unsigned)(qn) << QUEUE_SHIFT)

/* RFC 5040 figure 4, RFC 7306 figures 2 and 3. */
static const uint16_t messages[] = {
    [IW_OP_WRITE] = TAGGED,
    [IW_OP_READ_REQUEST] = QUEUE(IW_QN_READ_REQUEST),
    [IW_OP_READ_RESPONSE] = TAGGED,
    [IW_OP_SEND] = SEND | QUEUE(IW_QN_SEND),
    [IW_OP_SEND_INVALIDATE] = SEND | INVALIDATES | QUEUE(IW_QN_SEND),
    [IW_OP_SEND_SE] = SEND | SOLICITS | QUEUE(IW_QN_SEND),
    [IW_OP_SEND_SE_INVALIDATE] = SEND | SOLICITS | INVALIDATES | QUEUE(IW_QN_SEND),
    [IW_OP_TERMINATE] = QUEUE(IW_QN_TERMINATE),
    [IW_OP_IMMEDIATE] = EXTENSION | QUEUE(IW_QN_SEND),
    [IW_OP_IMMEDIATE_SE] = EXTENSION | SOLICITS | QUEUE(IW_QN_SEND),
    [IW_OP_ATOMIC_REQUEST] = EXTENSION | QUEUE(IW_QN_READ_REQUEST),
    [IW_OP_ATOMIC_RESPONSE] = EXTENSION | QUEUE(IW_QN_ATOMIC_RESPONSE),
};

enum { MESSAGES = sizeof(messages) / sizeof(messages[0]) };

static unsigned properties(unsigned opcode)
{
    return opcode < MESSAGES ? messages[opcode] : 0;
}

bool iw_rdmap_assigned(unsigned opcode, bool extensions)
{
    return opcode < MESSAGES && (extensions || !(messages[opcode] & EXTENSION));
}

bool iw_rdmap_is_tagged(unsigned opcode)
{
    return (properties(opcode) & TAGGED) != 0;
}

uint32_t iw_rdmap_queue(unsigned opcode)
{
    return properties(opcode) >> QUEUE_SHIFT;
}

bool iw_rdmap_invalidates(unsigned opcode)
{
    return (properties(opcode) & INVALIDATES) != 0;
}

bool iw_rdmap_solicits(unsigned opcode)
{
    return (properties(opcode) & SOLICITS) != 0;
}

bool iw_rdmap_is_send(unsigned opcode)
{
    return (properties(opcode) & SEND) != 0;
}

static bool fails(bool wrong, enum iw_check check, const struct iw_switches *switches)
{
    return wrong && !iw_switch_ignored(switches, check);
}

enum iw_check iw_rdmap_check_header(const struct iw_ddp_header *h, unsigned version,
                                    bool extensions, const struct iw_switches *switches)
{
    bool tagged = iw_ddp_tagged(h);
    unsigned opcode = iw_rdmap_op(h);
    enum iw_check ddp_version =
        tagged ? IW_CHECK_DDP_VERSION_TAGGED : IW_CHECK_DDP_VERSION_UNTAGGED;
    uint32_t queues = extensions ? IW_QN_ATOMIC_RESPONSE + 1 : IW_QN_TERMINATE + 1;

    if (fails(iw_ddp_version(h) != version, ddp_version, switches))
        return ddp_version;
    if (fails(!tagged && h->qn >= queues, IW_CHECK_DDP_QN, switches))
        return IW_CHECK_DDP_QN;
    if (fails(iw_rdmap_version(h) != version, IW_CHECK_RDMAP_VERSION, switches))
        return IW_CHECK_RDMAP_VERSION;
    if (!iw_rdmap_assigned(opcode, extensions))
        return fails(true, IW_CHECK_RDMAP_OPCODE, switches) ? IW_CHECK_RDMAP_OPCODE : IW_CHECK_NONE;
    if (iw_rdmap_is_tagged(opcode) != tagged)
        return fails(true, IW_CHECK_RDMAP_OPCODE_TAGGED, switches) ? IW_CHECK_RDMAP_OPCODE_TAGGED
                                                                   : IW_CHECK_NONE;
    if (fails(!tagged && iw_rdmap_queue(opcode) != h->qn, IW_CHECK_RDMAP_OPCODE_QUEUE, switches))
        return IW_CHECK_RDMAP_OPCODE_QUEUE;
    return IW_CHECK_NONE;
}

enum iw_check iw_rdmap_check_reserved(const struct iw_ddp_header *h, unsigned *seen)
{
    enum { DDP_RSVD = 1, RDMAP_RSV = 2, INVALIDATE = 4 };

    if ((h->ddp_control & IW_DDP_RSVD) && !(*seen & DDP_RSVD)) {
        *seen |= DDP_RSVD;
        return IW_CHECK_DDP_RSVD;
    }
    if ((h->rdmap_control & IW_RDMAP_RSV) && !(*seen & RDMAP_RSV)) {
        *seen |= RDMAP_RSV;
        return IW_CHECK_RDMAP_RSV;
    }
    unsigned opcode = iw_rdmap_op(h);
    if (!iw_ddp_tagged(h) && h->invalidate_stag != 0 && iw_rdmap_assigned(opcode, true) &&
        !iw_rdmap_is_tagged(opcode) && !iw_rdmap_invalidates(opcode) && !(*seen & INVALIDATE)) {
        *seen |= INVALIDATE;
        return IW_CHECK_RDMAP_INVALIDATE_FIELD;
    }
    return IW_CHECK_NONE;
}

struct iw_ulpdu_fault iw_rdmap_header_fault(const struct iw_ddp_header *h, enum iw_check check,
                                            unsigned version)
{
    switch (check) {
    case IW_CHECK_DDP_VERSION_TAGGED:
    case IW_CHECK_DDP_VERSION_UNTAGGED:
        return (struct iw_ulpdu_fault){check, IW_AT_DDP_CONTROL, iw_ddp_version(h), version};
    case IW_CHECK_DDP_QN:
    case IW_CHECK_RDMAP_OPCODE_QUEUE:
        return (struct iw_ulpdu_fault){check, IW_AT_QN, h->qn, iw_rdmap_queue(iw_rdmap_op(h))};
    case IW_CHECK_RDMAP_VERSION:
        return (struct iw_ulpdu_fault){check, IW_AT_RDMAP_CONTROL, iw_rdmap_version(h), version};
    case IW_CHECK_DDP_RSVD:
        return (struct iw_ulpdu_fault){check, IW_AT_DDP_CONTROL, h->ddp_control & IW_DDP_RSVD, 0};
    case IW_CHECK_RDMAP_RSV:
        return (struct iw_ulpdu_fault){check, IW_AT_RDMAP_CONTROL, h->rdmap_control & IW_RDMAP_RSV,
                                       0};
    case IW_CHECK_RDMAP_INVALIDATE_FIELD:
        return (struct iw_ulpdu_fault){check, IW_AT_INVALIDATE_STAG, h->invalidate_stag, 0};
    default:
        return (struct iw_ulpdu_fault){check, IW_AT_RDMAP_CONTROL, iw_rdmap_op(h), 0};
    }
}
