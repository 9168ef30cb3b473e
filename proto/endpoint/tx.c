/* SPDX-License-Identifier: BSD-3-Clause */
#include "batch.h"
#include "iwarp/quirk.h"

enum { IW_TX_SLICES = 33 };

static struct iw_ddp_header untagged(const struct iw_endpoint *ep, unsigned opcode, uint32_t mo,
                                     bool last)
{
    uint32_t qn = iw_rdmap_queue(opcode);
    return (struct iw_ddp_header){.ddp_control = (uint8_t)(0x01u | (last ? IW_DDP_L : 0)),
                                  .rdmap_control = (uint8_t)(0x40u | opcode),
                                  .qn = qn,
                                  .msn = ep->tx_msn[qn],
                                  .mo = mo};
}

static struct iw_ddp_header tagged(unsigned opcode, uint32_t stag, uint64_t to, bool last)
{
    return (struct iw_ddp_header){.ddp_control = (uint8_t)(0x81u | (last ? IW_DDP_L : 0)),
                                  .rdmap_control = (uint8_t)(0x40u | opcode),
                                  .stag = stag,
                                  .to = to};
}

/* Frames a segment without ULP payload. */
static void emit_bare(struct batch *b, struct iw_ddp_header h)
{
    struct iw_iov slice = {b->octets, iw_ep_put_header(b->ep, b->octets, h, true)};
    iw_ep_batch_add(b, &slice, 1);
}

static void emit_read_request(struct batch *b, const struct iw_rdmap_read_request *request)
{
    struct iw_endpoint *ep = b->ep;
    struct iw_ddp_header h = untagged(ep, IW_OP_READ_REQUEST, 0, true);
    ep->tx_msn[IW_QN_READ_REQUEST]++;
    struct iw_iov slice = {b->octets, iw_ep_put_header(ep, b->octets, h, true)};
    slice.length += iw_ep_put_read_request(ep, b->octets + slice.length, *request);
    iw_ep_batch_add(b, &slice, 1);
}

/* After the request, which ends where the framer is. */
static void expect_response(struct iw_endpoint *ep, struct iw_read_out read)
{
    read.end = ep->framer.pos;
    ep->reads_out[ep->reads_out_tail++ % ep->reads_out_room] = read;
}

/* RFC 6581 §9.2. */
static void emit_rtr(struct batch *b)
{
    struct iw_endpoint *ep = b->ep;
    ep->rtr_due = false;
    switch (iw_ep_rtr_opcode(ep)) {
    case IW_OP_WRITE:
        emit_bare(b, tagged(IW_OP_WRITE, 0, 0, true));
        break;
    case IW_OP_READ_REQUEST: {
        struct iw_rdmap_read_request zero = {0};
        if (ep->fin_in) { /* nobody is left to answer */
            iw_ep_finish(ep);
            break;
        }
        emit_read_request(b, &zero);
        expect_response(ep, (struct iw_read_out){.entry = IW_NO_ENTRY});
        break;
    }
    case IW_OP_SEND:
        emit_bare(b, untagged(ep, IW_OP_SEND, 0, true));
        ep->tx_msn[IW_QN_SEND]++;
        break;
    default:
        break; /* --violate mpa-rtr-first with every form agreed: none is sent */
    }
}

static void emit_terminate(struct batch *b)
{
    struct iw_endpoint *ep = b->ep;
    const struct iw_switches *switches = ep->config.switches;
    struct iw_rdmap_terminate t = ep->terminate_out;
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_TERMINATE_RSVD))
        t.reserved = 1;
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_TERMINATE_HEADERS))
        t.flags = (t.flags & IW_TERM_D) != 0 ? 0 : IW_TERM_M | IW_TERM_D;
    struct iw_iov slice = {b->octets, 0};
    slice.length = iw_ep_put_header(ep, b->octets, untagged(ep, IW_OP_TERMINATE, 0, true), true);
    uint8_t *word = b->octets + slice.length;
    slice.length += (size_t)iw_wire_put_terminate(word, IW_TERM_MAX, &t);
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_TERMINATE_REVERSED))
        iw_quirk_turn_terminate(word);
    ep->tx_msn[IW_QN_TERMINATE]++;
    iw_ep_batch_add(b, &slice, 1);
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_TERMINATE_LAST) &&
        iw_ep_batch_room(b, 1, 64, 0))
        emit_bare(b, untagged(ep, IW_OP_SEND, 0, true));
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_TERMINATE_ONCE) && ep->terminates_due == 0 &&
        ep->tx_msn[IW_QN_TERMINATE] == 2)
        ep->terminates_due = 1;
}

/* Lists the slices of a gather list from `offset` on, `length` octets in all. Returns their number.
 */
static size_t slice(struct iw_iov *out, const struct iw_iov *sge, size_t count, uint32_t offset,
                    uint32_t length)
{
    size_t made = 0;
    for (size_t i = 0; i < count && length > 0; i++) {
        if (offset >= sge[i].length) {
            offset -= (uint32_t)sge[i].length;
            continue;
        }
        size_t step = sge[i].length - offset < length ? sge[i].length - offset : length;
        out[made++] = (struct iw_iov){(uint8_t *)sge[i].base + offset, step};
        length -= (uint32_t)step;
        offset = 0;
    }
    return made;
}

static unsigned work_opcode(enum iw_work_opcode work)
{
    static const uint8_t opcodes[] = {[IW_WORK_SEND] = IW_OP_SEND,
                                      [IW_WORK_SEND_SE] = IW_OP_SEND_SE,
                                      [IW_WORK_SEND_INVALIDATE] = IW_OP_SEND_INVALIDATE,
                                      [IW_WORK_SEND_SE_INVALIDATE] = IW_OP_SEND_SE_INVALIDATE,
                                      [IW_WORK_WRITE] = IW_OP_WRITE,
                                      [IW_WORK_READ] = IW_OP_READ_REQUEST,
                                      [IW_WORK_IMMEDIATE] = IW_OP_IMMEDIATE,
                                      [IW_WORK_IMMEDIATE_SE] = IW_OP_IMMEDIATE_SE,
                                      [IW_WORK_FETCH_ADD] = IW_OP_ATOMIC_REQUEST,
                                      [IW_WORK_CMP_SWAP] = IW_OP_ATOMIC_REQUEST};
    return opcodes[work];
}

/* Frames the next segment of a Send or Write. Returns false if there is no room for it. */
static bool emit_work(struct batch *b, struct iw_send_entry *entry)
{
    struct iw_endpoint *ep = b->ep;
    unsigned opcode = work_opcode(entry->opcode);
    bool write = opcode == IW_OP_WRITE;
    uint32_t left = entry->length - ep->send_offset;
    uint32_t most = iw_ep_batch_limit(b, left, write);
    uint32_t take = left < most ? left : most;
    uint32_t ulpdu = take + iw_ep_batch_header(ep, write);
    size_t copied = iw_ep_batch_copies(ep) ? iw_framer_size(&ep->framer, ulpdu) : 0;
    if (!iw_ep_batch_room(b, entry->sge_count + 1u, ulpdu, copied))
        return false;
    bool last = take == left;
    struct iw_ddp_header h =
        write ? tagged(opcode, entry->remote_stag, entry->remote_to + ep->send_offset, last)
              : untagged(ep, opcode, ep->send_offset, last);
    if (iw_rdmap_invalidates(opcode))
        h.invalidate_stag = entry->invalidate_stag;
    struct iw_iov slices[IW_TX_SLICES];
    slices[0] =
        (struct iw_iov){b->octets, iw_ep_put_header(ep, b->octets, h, ep->send_offset == 0)};
    size_t count = 1 + slice(slices + 1, entry->sge, entry->sge_count, ep->send_offset, take);
    iw_ep_batch_add(b, slices, count);
    ep->send_offset += take;
    if (last) {
        if (!write)
            ep->tx_msn[IW_QN_SEND]++;
        entry->framed = true;
        entry->end = ep->framer.pos;
        ep->send_next++;
        ep->sending = IW_SENDING_NOTHING;
    }
    return true;
}

/* The ULPDU_Length of a request. */
static uint32_t request_length(const struct iw_read_in *read)
{
    return IW_DDP_UNTAGGED_HEADER +
           (read->is_atomic ? IW_RDMAP_ATOMIC_REQUEST : IW_RDMAP_READ_REQUEST);
}

/* Puts the payload of the next response segment at `*out`, or lets *out point to the source. If the
 * source has become invalid in the meantime, ends the connection with the request advanced (RFC
 * 5040 §4.8) and returns false. */
static bool take_source(struct batch *b, const struct iw_read_in *read, void **out, uint32_t take,
                        bool lend)
{
    struct iw_endpoint *ep = b->ep;
    const struct iw_rdmap_read_request *r = &read->request;
    /* --violate rdmap-response-past goes on past the last octet asked for. */
    uint32_t left = r->size > read->sent ? r->size - read->sent : 0, copied = take;
    uint64_t to = r->source_to + read->sent;
    enum iw_check check =
        lend ? iw_ddp_lend(&ep->stream, IW_USE_READ_SOURCE, r->source_stag, to, left, out)
             : iw_ddp_read_source(&ep->stream, r->source_stag, to, left, *out, take, &copied);
    if (check != IW_CHECK_NONE && !read->late) {
        struct iw_rdmap_read_request rest = {r->sink_stag, r->sink_to + read->sent, left,
                                             r->source_stag, to};
        struct iw_fault fault = {check, ep->rx_pos, r->source_stag, 0};
        iw_ep_fault(ep, fault, &read->header, &rest, request_length(read));
        return false;
    }
    uint8_t *octets = *out;
    if (copied < take)
        memset(octets + copied, 0, take - copied);
    if (iw_switch_violated(ep->config.switches, IW_CHECK_RDMAP_RESPONSE_DATA))
        for (uint32_t i = 0; i < take; i++)
            octets[i] ^= 0xff;
    return true;
}

static void finish_response(struct batch *b, struct iw_read_in *read)
{
    struct iw_endpoint *ep = b->ep;
    read->end = ep->framer.pos;
    ep->reads_in_next++;
    ep->sending = IW_SENDING_NOTHING;
    if (read->late)
        iw_ep_fault(ep, ep->late, &read->header, read->is_atomic ? NULL : &read->request,
                    ep->late_length);
}

static void emit_atomic_response(struct batch *b, uint32_t request_id, uint64_t original)
{
    struct iw_endpoint *ep = b->ep;
    struct iw_ddp_header h = untagged(ep, IW_OP_ATOMIC_RESPONSE, 0, true);
    struct iw_iov slice = {b->octets, iw_ep_put_header(ep, b->octets, h, true)};
    slice.length += iw_ep_put_atomic_response(ep, b->octets + slice.length, request_id, original);
    ep->tx_msn[IW_QN_ATOMIC_RESPONSE]++;
    iw_ep_batch_add(b, &slice, 1);
}

/* Carries out an atomic and answers it. Returns false if there is no room for the answer. */
static bool answer_atomic(struct batch *b, struct iw_read_in *read)
{
    struct iw_endpoint *ep = b->ep;
    const struct iw_rdmap_atomic_request *r = &read->atomic;
    if (!iw_ep_batch_room(b, 1, IW_DDP_UNTAGGED_HEADER + IW_RDMAP_ATOMIC_RESPONSE, 0))
        return false;
    uint64_t original = 0;
    enum iw_check check = iw_ddp_atomic(&ep->stream, r, &original);
    if (check != IW_CHECK_NONE && !read->late) {
        struct iw_fault fault = {check, ep->rx_pos, r->remote_stag, 0};
        iw_ep_fault(ep, fault, &read->header, NULL, request_length(read));
        return true; /* the Terminate is next */
    }
    emit_atomic_response(b, r->request_id, original);
    if (iw_switch_violated(ep->config.switches, IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED) &&
        iw_ep_batch_room(b, 1, IW_DDP_UNTAGGED_HEADER + IW_RDMAP_ATOMIC_RESPONSE, 0))
        emit_atomic_response(b, r->request_id, original);
    finish_response(b, read);
    return true;
}

static bool emit_response(struct batch *b, struct iw_read_in *read)
{
    if (read->is_atomic)
        return answer_atomic(b, read);
    struct iw_endpoint *ep = b->ep;
    const struct iw_rdmap_read_request *r = &read->request;
    const struct iw_switches *switches = ep->config.switches;
    uint32_t left = read->total - read->sent;
    uint32_t most = iw_ep_batch_limit(b, left, true);
    uint32_t take = left < most ? left : most;
    /* With Markers the copy lies at the end of the FPDU that is made around it. */
    uint32_t ulpdu = take + iw_ep_batch_header(ep, true);
    size_t copied = iw_ep_batch_copies(ep) ? iw_framer_size(&ep->framer, ulpdu) : take;
    bool lend = iw_ep_in_place(ep, ep->framer.crc, ep->framer.markers) && ulpdu > IW_TX_SHORT;
    if (!iw_ep_batch_room(b, lend ? 2 : 1, ulpdu, copied))
        return false;
    bool last = take == left;
    struct iw_ddp_header h =
        tagged(IW_OP_READ_RESPONSE, r->sink_stag, r->sink_to + read->sent, last);
    struct iw_iov slices[2] = {{b->octets, iw_ep_put_header(ep, b->octets, h, read->sent == 0)},
                               {b->octets, take}};
    slices[1].base = b->octets + slices[0].length + copied - take;
    if (take > 0 && !take_source(b, read, &slices[1].base, take, lend))
        return true; /* the Terminate is next */
    bool apart = iw_ep_batch_copies(ep) || lend;
    if (!apart)
        slices[0].length += take;
    if (lend) {
        ep->tx_lent[(b->count + 1) / 8] |= (uint8_t)(1u << (b->count + 1) % 8);
        b->lent += take;
    }
    iw_ep_batch_add(b, slices, apart ? 2 : 1);
    read->sent += take;
    if (!last)
        return true;
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_RESPONSE_UNSOLICITED) &&
        iw_ep_batch_room(b, 1, 64, 0))
        emit_bare(b, tagged(IW_OP_READ_RESPONSE, r->sink_stag, r->sink_to, true));
    finish_response(b, read);
    return true;
}

uint32_t iw_ep_read_limit(const struct iw_endpoint *ep)
{
    const struct iw_mpa_agreed *agreed = &ep->startup.agreed;
    uint32_t limit = agreed->ord;
    /* If it is left to the ULP, the queue has room for max_reads, whatever number the peer has
     * named. */
    if (ep->config.mpa.ord == IW_MPA_DEPTH_UNSPECIFIED && limit > ep->config.max_reads)
        limit = ep->config.max_reads;
    if (agreed->ord == IW_MPA_DEPTH_UNSPECIFIED && agreed->enhanced && agreed->peer_ird < limit)
        limit = agreed->peer_ird;
    return iw_switch_violated(ep->config.switches, IW_CHECK_RDMAP_IRD) ? ep->reads_out_room : limit;
}

/* Returns whether the oldest work request not yet begun may begin. */
static bool work_ready(struct iw_endpoint *ep)
{
    if (ep->send_next == ep->send_tail)
        return false;
    const struct iw_send_entry *entry = iw_ep_send_at(ep, ep->send_next);
    uint64_t open = ep->reads_out_tail - ep->reads_out_head;
    if ((entry->flags & IW_WORK_FENCE) != 0 && open > 0)
        return false;
    /* RFC 5040 §6.1 and RFC 6581 §9.1: never more reads than the peer's IRD. Atomics count, too
     * (OP-83). */
    return !iw_ep_is_read(entry->opcode) || open < iw_ep_read_limit(ep);
}

static bool responses_swapped(const struct iw_endpoint *ep)
{
    return iw_switch_violated(ep->config.switches, IW_CHECK_RDMAP_RESPONSE_ORDER) ||
           iw_switch_violated(ep->config.switches, IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER);
}

static bool response_ready(const struct iw_endpoint *ep)
{
    uint64_t waiting = ep->reads_in_tail - ep->reads_in_next;
    /* Out of order: only when there are two to swap, or no second can come. */
    if (responses_swapped(ep))
        return waiting >= 2 || (waiting == 1 && (ep->reads_in_next % 2 == 1 || ep->fin_in));
    return waiting > 0;
}

static void begin_response(struct iw_endpoint *ep)
{
    const struct iw_switches *switches = ep->config.switches;
    uint64_t next = ep->reads_in_next;
    struct iw_read_in *one = &ep->reads_in[next % ep->reads_in_room];
    if (responses_swapped(ep) && next % 2 == 0 && ep->reads_in_tail - next >= 2) {
        struct iw_read_in *two = &ep->reads_in[(next + 1) % ep->reads_in_room];
        struct iw_read_in kept = *one;
        *one = *two;
        *two = kept;
    }
    ep->sending = IW_SENDING_RESPONSE;
    if (one->is_atomic)
        return;
    one->total = one->request.size;
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_RESPONSE_SIZE))
        one->total /= 2;
    if (iw_switch_violated(switches, IW_CHECK_RDMAP_RESPONSE_PAST) && one->total <= UINT32_MAX - 8)
        one->total += 8;
}

/* Frames work that goes out as one RDMAP header: reads, atomics, Immediate Data. */
static void emit_header_only(struct batch *b, const struct iw_send_entry *entry)
{
    struct iw_endpoint *ep = b->ep;
    if (entry->opcode == IW_WORK_READ) {
        struct iw_rdmap_read_request request = {entry->sink_stag, entry->sink_to, entry->length,
                                                entry->remote_stag, entry->remote_to};
        emit_read_request(b, &request);
        expect_response(ep, (struct iw_read_out){.entry = ep->send_next,
                                                 .sink_stag = entry->sink_stag,
                                                 .sink_to = entry->sink_to,
                                                 .size = entry->length});
        return;
    }
    struct iw_ddp_header h = untagged(ep, work_opcode(entry->opcode), 0, true);
    struct iw_iov slice = {b->octets, iw_ep_put_header(ep, b->octets, h, true)};
    uint8_t *rdmap = b->octets + slice.length;
    bool atomic = iw_ep_is_read(entry->opcode);
    ep->tx_msn[h.qn]++;
    /* RFC 7306 §5.2.1: any number of our choice identifies the request. */
    slice.length += atomic ? iw_ep_put_atomic_request(ep, rdmap, entry, h.msn)
                           : iw_ep_put_immediate(ep, rdmap, entry);
    iw_ep_batch_add(b, &slice, 1);
    if (atomic)
        expect_response(
            ep, (struct iw_read_out){.entry = ep->send_next, .atomic = true, .request_id = h.msn});
}

/* Sends whole messages one after another (RFC 5041 §5.3); own work and Read Responses alternate. */
static bool begin_message(struct batch *b)
{
    struct iw_endpoint *ep = b->ep;
    bool work = work_ready(ep), response = response_ready(ep);
    if (!work && !response)
        return false;
    if (response && (!work || ep->response_next)) {
        begin_response(ep);
        ep->response_next = false;
        return true;
    }
    struct iw_send_entry *entry = iw_ep_send_at(ep, ep->send_next);
    if (entry->opcode >= IW_WORK_READ) {
        size_t header = entry->opcode == IW_WORK_READ  ? IW_RDMAP_READ_REQUEST
                        : iw_ep_is_read(entry->opcode) ? IW_RDMAP_ATOMIC_REQUEST
                                                       : IW_RDMAP_IMMEDIATE;
        if (!iw_ep_batch_room(b, 1, IW_DDP_UNTAGGED_HEADER + header, 0))
            return false;
        emit_header_only(b, entry);
        entry->framed = true;
        entry->end = ep->framer.pos;
        ep->send_next++;
    } else {
        ep->sending = IW_SENDING_WORK;
        ep->send_offset = 0;
    }
    ep->response_next = true;
    return true;
}

/* Fails a read that can never be answered: if the peer has closed, by ending the connection; else
 * the read alone, as the start-up left no ORD to those posted before it. Returns true if the read
 * alone has failed, and the work after it goes on. */
static bool fail_read(struct iw_endpoint *ep, struct iw_send_entry *entry)
{
    if (!ep->fin_in && iw_ep_read_limit(ep) > 0)
        return false;
    if (ep->fin_in) {
        iw_ep_finish(ep);
        return false;
    }
    entry->status = IW_STATUS_LOCAL_FAULT;
    entry->check = IW_CHECK_RDMAP_IRD;
    return true;
}

/* Carries out local work whose turn has come. Returns true if it has. */
static bool run_local(struct iw_endpoint *ep, struct iw_send_entry *entry)
{
    if (!work_ready(ep))
        return false;
    if (!ep->config.local(ep->config.context, entry->id)) {
        entry->status = IW_STATUS_LOCAL_FAULT;
        iw_ep_abort(ep, true, 0);
    }
    return true;
}

/* Passes over the work from which nothing is sent. */
static void pass_unsent(struct iw_endpoint *ep)
{
    bool any = false;
    while (ep->phase == IW_PHASE_FULL && ep->send_next != ep->send_tail) {
        struct iw_send_entry *entry = iw_ep_send_at(ep, ep->send_next);
        bool passed = false;
        if (iw_ep_is_read(entry->opcode))
            passed = fail_read(ep, entry);
        else if (entry->opcode == IW_WORK_LOCAL)
            passed = run_local(ep, entry);
        if (!passed)
            break;
        entry->done = any = true;
        ep->send_next++;
    }
    if (any)
        iw_ep_complete_sends(ep);
}

static bool emit_next(struct batch *b)
{
    struct iw_endpoint *ep = b->ep;
    if (ep->terminates_due > 0) {
        if (!iw_ep_batch_room(b, 1, IW_DDP_UNTAGGED_HEADER + IW_TERM_MAX, 0))
            return false;
        ep->terminates_due--;
        emit_terminate(b);
        return true;
    }
    if (ep->phase != IW_PHASE_FULL || ep->paused)
        return false;
    if (ep->rtr_due) {
        emit_rtr(b);
        return true;
    }
    switch (ep->sending) {
    case IW_SENDING_WORK:
        return emit_work(b, iw_ep_send_at(ep, ep->send_next));
    case IW_SENDING_RESPONSE:
        return emit_response(b, &ep->reads_in[ep->reads_in_next % ep->reads_in_room]);
    default:
        pass_unsent(ep);
        return ep->phase == IW_PHASE_FULL && begin_message(b);
    }
}

static bool anything(struct iw_endpoint *ep)
{
    return ep->terminates_due > 0 || (ep->phase == IW_PHASE_FULL && !ep->paused &&
                                      (ep->rtr_due || ep->sending != IW_SENDING_NOTHING ||
                                       work_ready(ep) || response_ready(ep)));
}

void iw_ep_tx_fill(struct iw_endpoint *ep, size_t lists)
{
    if (ep->fin_out)
        return;
    if (ep->phase == IW_PHASE_FULL && ep->sending == IW_SENDING_NOTHING)
        pass_unsent(ep);
    if (!anything(ep))
        return;
    if (ep->tx_buffer == NULL)
        ep->tx_buffer = iw_domain_borrow(ep->domain);
    ep->tx_retry = ep->tx_buffer == NULL ? iw_ep_after(ep, IW_TX_RETRY) : UINT64_MAX;
    if (ep->tx_buffer == NULL)
        return;
    struct batch b = iw_ep_batch_begin(ep, lists);
    while (emit_next(&b))
        ;
    iw_ep_batch_end(&b);
}

bool iw_endpoint_idle(struct iw_endpoint *ep)
{
    return iw_ep_tx_idle(ep) && !anything(ep);
}

bool iw_endpoint_quiet(struct iw_endpoint *ep)
{
    return ep->phase == IW_PHASE_FULL && ep->send_next == ep->send_tail && iw_endpoint_idle(ep) &&
           !ep->shutdown && iw_ep_startup_output(ep) == 0;
}

size_t iw_endpoint_output_lists(struct iw_endpoint *ep, const struct iw_iov **out, size_t *pieces,
                                size_t room, uint64_t now)
{
    ep->now = now;
    *out = NULL;
    if (ep->lost || ep->reset || room == 0)
        return 0;
    pieces[0] = iw_ep_startup_output(ep);
    if (pieces[0] > 0) {
        *out = ep->tx_startup;
        return 1;
    }
    if (iw_ep_tx_idle(ep)) {
        iw_ep_tx_fill(ep, room < IW_ENDPOINT_LISTS ? room : IW_ENDPOINT_LISTS);
        iw_ep_settle(ep);
    }
    if (ep->tx_buffer == NULL)
        return 0;
    *out = (const struct iw_iov *)ep->tx_buffer + ep->tx_first;
    size_t lists = 0, from = ep->tx_first;
    for (size_t i = 0; i <= ep->tx_lists && from < ep->tx_pieces && lists < room; i++) {
        size_t end = i < ep->tx_lists ? ep->tx_cuts[i] : ep->tx_pieces;
        if (end <= from)
            continue; /* this list has been sent */
        if (end > ep->tx_pieces)
            end = ep->tx_pieces;
        pieces[lists++] = end - from;
        from = end;
    }
    return lists;
}

size_t iw_endpoint_output(struct iw_endpoint *ep, const struct iw_iov **out, uint64_t now)
{
    size_t pieces = 0;
    (void)iw_endpoint_output_lists(ep, out, &pieces, 1, now);
    return pieces;
}
