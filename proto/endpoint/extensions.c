/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx.h"

#define AOPCODE 0xfu

/* The messages of RFC 7306 have one segment each and one size. */
static bool check_size(struct iw_endpoint *ep, const struct segment *s, enum iw_check check,
                       uint32_t size)
{
    if (s->header.mo != 0 && iw_ep_refuse(ep, s, IW_CHECK_DDP_MO, IW_AT_MO, s->header.mo, 0))
        return true;
    return (s->length != size || !iw_ddp_last(&s->header)) &&
           iw_ep_refuse(ep, s, check, IW_DDP_UNTAGGED_HEADER, s->length, size);
}

/* RFC 7306 §6: takes a buffer like a Send, but leaves its octets alone. */
void iw_ep_rx_immediate(struct iw_endpoint *ep, struct segment *s)
{
    if (iw_ep_rx_check_msn(ep, s))
        return;
    if (!iw_ep_rx_ask_receive(ep)) {
        iw_ep_rx_drop(ep, s);
        return;
    }
    if (check_size(ep, s, IW_CHECK_RDMAP_IMMEDIATE_LENGTH, IW_RDMAP_IMMEDIATE))
        return;
    /* A Send that is not finished has the same MSN. */
    if (ep->rx_open && iw_ep_refuse(ep, s, IW_CHECK_RDMAP_IMMEDIATE_LENGTH, IW_DDP_UNTAGGED_HEADER,
                                    ep->rx_mo + s->length, IW_RDMAP_IMMEDIATE))
        return;
    if (ep->deferred.check != IW_CHECK_NONE)
        return;
    struct iw_completion completion = {.opcode = IW_WORK_RECV,
                                       .status = IW_STATUS_OK,
                                       .length = IW_RDMAP_IMMEDIATE,
                                       .solicited = iw_rdmap_solicits(iw_rdmap_op(&s->header)),
                                       .immediate = true};
    memcpy(completion.immediate_data, s->head + IW_DDP_UNTAGGED_HEADER, IW_RDMAP_IMMEDIATE);
    ep->rx_open = false;
    ep->rx_msn[IW_QN_SEND]++;
    iw_ep_rx_deliver(ep, &completion);
}

/* Refuses fields of an Atomic Request that are legal to receive, but not to send (RFC 7306 §5.2.1).
 */
static bool check_fields(struct iw_endpoint *ep, const struct segment *s,
                         const struct iw_rdmap_atomic_request *r)
{
    if ((r->opcode & ~AOPCODE) != 0 &&
        iw_ep_refuse_legal(ep, s, IW_CHECK_RDMAP_ATOMIC_RSVD, IW_DDP_UNTAGGED_HEADER,
                           r->opcode >> 4, 0))
        return true;
    if ((r->opcode & AOPCODE) != IW_ATOMIC_FETCH_ADD)
        return false;
    if (r->compare_data != 0)
        return iw_ep_refuse_legal(ep, s, IW_CHECK_RDMAP_ATOMIC_UNUSED,
                                  IW_IN_ULPDU(IW_AT_ATOMIC_COMPARE), r->compare_data, 0);
    return r->compare_mask != UINT64_MAX &&
           iw_ep_refuse_legal(ep, s, IW_CHECK_RDMAP_ATOMIC_UNUSED,
                              IW_IN_ULPDU(IW_AT_ATOMIC_COMPARE_MASK), r->compare_mask, UINT64_MAX);
}

static bool check_target(struct iw_endpoint *ep, const struct segment *s,
                         const struct iw_rdmap_atomic_request *r)
{
    enum iw_check check = iw_ddp_atomic(&ep->stream, r, NULL);
    switch (check) {
    case IW_CHECK_NONE:
        return false;
    case IW_CHECK_RDMAP_ATOMIC_OPCODE:
        return iw_ep_refuse(ep, s, check, IW_DDP_UNTAGGED_HEADER, r->opcode & AOPCODE, 0);
    case IW_CHECK_RDMAP_ATOMIC_ALIGN:
    case IW_CHECK_RDMAP_READ_BASE:
    case IW_CHECK_RDMAP_READ_BOUNDS:
    case IW_CHECK_RDMAP_READ_FIT:
    case IW_CHECK_RDMAP_READ_WRAP:
        return iw_ep_refuse(ep, s, check, IW_IN_ULPDU(IW_AT_ATOMIC_TO), r->remote_to, 0);
    default:
        return iw_ep_refuse(ep, s, check, IW_IN_ULPDU(IW_AT_ATOMIC_STAG), r->remote_stag, 0);
    }
}

void iw_ep_rx_atomic_request(struct iw_endpoint *ep, struct segment *s)
{
    struct iw_read_in read = {.is_atomic = true};
    if (iw_ep_rx_check_msn(ep, s) ||
        check_size(ep, s, IW_CHECK_RDMAP_ATOMIC_LENGTH, IW_RDMAP_ATOMIC_REQUEST) ||
        iw_ep_rx_check_ird(ep, s))
        return;
    (void)iw_wire_get_atomic_request(s->head + IW_DDP_UNTAGGED_HEADER, IW_RDMAP_ATOMIC_REQUEST,
                                     &read.atomic);
    if (check_fields(ep, s, &read.atomic) || check_target(ep, s, &read.atomic))
        return;
    iw_ep_rx_request(ep, s, read, IW_CHECK_RDMAP_ATOMIC_RESPONSE_MISSING);
}

/* RFC 7306 §5: the MSNs of queue 3 count in the order of the atomics, so this one names the oldest.
 */
void iw_ep_rx_atomic_response(struct iw_endpoint *ep, struct segment *s)
{
    struct iw_rdmap_atomic_response response;
    if (iw_ep_rx_check_msn(ep, s))
        return;
    struct iw_read_out *read = iw_ep_read_out(ep, true);
    if (read == NULL) {
        if (!iw_ep_refuse(ep, s, IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, IW_AT_MSN,
                          s->header.msn, 0))
            ep->rx_msn[IW_QN_ATOMIC_RESPONSE]++;
        return;
    }
    if (check_size(ep, s, IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, IW_RDMAP_ATOMIC_RESPONSE) ||
        iw_ep_rx_check_turn(ep, s, read))
        return;
    (void)iw_wire_get_atomic_response(s->head + IW_DDP_UNTAGGED_HEADER, IW_RDMAP_ATOMIC_RESPONSE,
                                      &response);
    if (response.request_id != read->request_id &&
        iw_ep_refuse(ep, s, IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID, IW_DDP_UNTAGGED_HEADER,
                     response.request_id, read->request_id))
        return;
    ep->rx_msn[IW_QN_ATOMIC_RESPONSE]++;
    iw_ep_send_at(ep, read->entry)->original = response.original_value;
    iw_ep_answered(ep, read);
}

size_t iw_ep_put_immediate(const struct iw_endpoint *ep, uint8_t *out,
                           const struct iw_send_entry *entry)
{
    bool cut = iw_switch_violated(ep->config.switches, IW_CHECK_RDMAP_IMMEDIATE_LENGTH);
    memcpy(out, entry->immediate, IW_RDMAP_IMMEDIATE);
    return IW_RDMAP_IMMEDIATE - (cut ? 4 : 0);
}

size_t iw_ep_put_atomic_request(const struct iw_endpoint *ep, uint8_t *out,
                                const struct iw_send_entry *entry, uint32_t request_id)
{
    const struct iw_switches *s = ep->config.switches;
    bool add = entry->opcode == IW_WORK_FETCH_ADD;
    struct iw_rdmap_atomic_request r = {
        .opcode = add ? IW_ATOMIC_FETCH_ADD : IW_ATOMIC_CMP_SWAP,
        .request_id = request_id,
        .remote_stag = entry->remote_stag,
        .remote_to = entry->remote_to,
        .add_swap_data = entry->add_swap,
        .add_swap_mask = entry->add_swap_mask,
        .compare_data = add ? 0 : entry->compare,
        .compare_mask = add ? UINT64_MAX : entry->compare_mask,
    };
    if (iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_OPCODE))
        r.opcode = 1; /* Swap, reserved (OP-81) */
    if (iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_RSVD))
        r.opcode |= 0x10;
    if (add && iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_UNUSED))
        r.compare_data = 1;
    if (iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_ALIGN))
        r.remote_to += 4;
    if (iw_switch_violated(s, IW_CHECK_RDMAP_READ_STAG))
        r.remote_stag ^= 0x5a5a5a5a;
    if (iw_switch_violated(s, IW_CHECK_RDMAP_READ_WRAP))
        r.remote_to = UINT64_MAX - 7; /* aligned */
    int length = iw_wire_put_atomic_request(out, IW_RDMAP_ATOMIC_REQUEST, &r);
    return (size_t)length - (iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_LENGTH) ? 4 : 0);
}

size_t iw_ep_put_atomic_response(const struct iw_endpoint *ep, uint8_t *out, uint32_t request_id,
                                 uint64_t original)
{
    const struct iw_switches *s = ep->config.switches;
    struct iw_rdmap_atomic_response r = {request_id, original};
    if (iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID))
        r.request_id ^= 1;
    if (iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_RESPONSE_VALUE))
        r.original_value = ~original;
    int length = iw_wire_put_atomic_response(out, IW_RDMAP_ATOMIC_RESPONSE, &r);
    return (size_t)length - (iw_switch_violated(s, IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH) ? 4 : 0);
}
