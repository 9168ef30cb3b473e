/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx.h"

#include "iwarp/octets.h"
#include "iwarp/quirk.h"

bool iw_ep_refuse(struct iw_endpoint *ep, const struct segment *s, enum iw_check check,
                  uint32_t offset, uint64_t got, uint64_t want)
{
    const struct iw_switches *switches = ep->config.switches;
    if (iw_switch_ignored(switches, check))
        return false;
    if (ep->deferred.check != IW_CHECK_NONE)
        return true; /* the first error is the one reported */
    uint64_t pos = iw_deframer_position(&ep->deframer, s->fpdu, offset);
    struct iw_fault fault = {check, pos, got, want};
    if (iw_switch_botched(switches, check) == IW_BOTCH_PLACE) {
        ep->deferred = fault;
        return false;
    }
    iw_ep_fault(ep, fault, s->header_known ? &s->header : NULL,
                s->request_known ? &s->request : NULL, s->fpdu->length);
    return true;
}

bool iw_ep_refuse_legal(struct iw_endpoint *ep, const struct segment *s, enum iw_check check,
                        uint32_t offset, uint64_t got, uint64_t want)
{
    return iw_switch_overstrict(ep->config.switches, check) &&
           iw_ep_refuse(ep, s, check, offset, got, want);
}

/* Places the payload of a tagged segment, or refuses it. Returns true if the segment goes no
 * further. */
static bool refuse_or_place(struct iw_endpoint *ep, const struct segment *s, enum iw_ddp_use use)
{
    const struct iw_ddp_header *h = &s->header;
    enum iw_check check = iw_ddp_place_tagged(&ep->stream, use, h->stag, h->to, s->fpdu->ulpdu,
                                              s->fpdu->pieces, s->header_length, s->length);
    if (check == IW_CHECK_NONE)
        return false;
    bool to = check == IW_CHECK_DDP_TO_BASE || check == IW_CHECK_DDP_TO_BOUNDS ||
              check == IW_CHECK_DDP_TO_WRAP || check == IW_CHECK_DDP_TO_FIT;
    return to ? iw_ep_refuse(ep, s, check, IW_AT_TO, h->to, 0)
              : iw_ep_refuse(ep, s, check, IW_AT_STAG, h->stag, 0);
}

static void receive_write(struct iw_endpoint *ep, struct segment *s)
{
    const struct iw_ddp_header *h = &s->header;
    if (ep->write_open && h->to != ep->write_to &&
        iw_ep_refuse_legal(ep, s, IW_CHECK_DDP_TO_ORDER, IW_AT_TO, h->to, ep->write_to))
        return;
    if (refuse_or_place(ep, s, IW_USE_WRITE))
        return;
    ep->write_open = !iw_ddp_last(h);
    ep->write_to = h->to + s->length;
}

/* RFC 7306 §7: responses come in the order of the requests. */
bool iw_ep_rx_check_turn(struct iw_endpoint *ep, const struct segment *s,
                         const struct iw_read_out *answered)
{
    const struct iw_read_out *due = &ep->reads_out[ep->reads_out_head % ep->reads_out_room];
    return answered != due && iw_ep_refuse(ep, s, IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER,
                                           IW_AT_RDMAP_CONTROL, s->header.rdmap_control, 0);
}

static void receive_response(struct iw_endpoint *ep, struct segment *s)
{
    const struct iw_ddp_header *h = &s->header;
    struct iw_read_out *read = iw_ep_read_out(ep, false);
    if (read == NULL) {
        if (!iw_ep_refuse(ep, s, IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, IW_AT_RDMAP_CONTROL,
                          h->rdmap_control, 0))
            (void)refuse_or_place(ep, s, IW_USE_READ_RESPONSE);
        return;
    }
    if (iw_ep_rx_check_turn(ep, s, read))
        return;
    /* RFC 5041 §5.2: nothing of a zero-length tagged message is compared. */
    if (read->size != 0 || s->length != 0) {
        if (h->stag != read->sink_stag &&
            iw_ep_refuse(ep, s, IW_CHECK_RDMAP_RESPONSE_STAG, IW_AT_STAG, h->stag, read->sink_stag))
            return;
        if (h->to != read->sink_to + read->received &&
            iw_ep_refuse(ep, s, IW_CHECK_RDMAP_RESPONSE_TO, IW_AT_TO, h->to,
                         read->sink_to + read->received))
            return;
    }
    uint64_t received = (uint64_t)read->received + s->length;
    if (received > read->size && iw_ep_refuse(ep, s, IW_CHECK_RDMAP_RESPONSE_PAST,
                                              (uint32_t)s->header_length, received, read->size))
        return;
    if (iw_ddp_last(h) && received < read->size &&
        iw_ep_refuse(ep, s, IW_CHECK_RDMAP_RESPONSE_SIZE, (uint32_t)s->header_length, received,
                     read->size))
        return;
    if (refuse_or_place(ep, s, IW_USE_READ_RESPONSE))
        return;
    read->received = received > UINT32_MAX ? UINT32_MAX : (uint32_t)received;
    if (iw_ddp_last(h))
        iw_ep_answered(ep, read);
}

void iw_ep_rx_deliver(struct iw_endpoint *ep, struct iw_completion *completion)
{
    const struct iw_recv_entry *entry = &ep->recvs[ep->recv_head % ep->config.recv_depth];
    completion->id = entry->id;
    iw_ep_complete_recv(ep, completion);
    if (!iw_switch_violated(ep->config.switches, IW_CHECK_DDP_DELIVER_ONCE) ||
        ep->recv_head == ep->recv_tail)
        return;
    const struct iw_recv_entry *next = &ep->recvs[ep->recv_head % ep->config.recv_depth];
    completion->id = next->id;
    if (!completion->immediate)
        completion->length = (uint32_t)iw_ddp_scatter(next->sge, next->sge_count, 0, entry->sge,
                                                      entry->sge_count, 0, completion->length);
    iw_ep_complete_recv(ep, completion);
}

static void deliver(struct iw_endpoint *ep, struct segment *s, uint64_t length)
{
    const struct iw_ddp_header *h = &s->header;
    unsigned opcode = iw_rdmap_op(h);
    struct iw_completion completion = {.opcode = IW_WORK_RECV,
                                       .status = IW_STATUS_OK,
                                       .length = (uint32_t)length,
                                       .solicited = iw_rdmap_solicits(opcode)};
    if (iw_rdmap_invalidates(opcode)) {
        enum iw_check check = iw_rdmap_invalidate(&ep->stream, h->invalidate_stag);
        if (check != IW_CHECK_NONE &&
            iw_ep_refuse(ep, s, check, IW_AT_INVALIDATE_STAG, h->invalidate_stag, 0))
            return;
        completion.invalidated = true;
        completion.invalidate_stag = h->invalidate_stag;
    }
    iw_ep_rx_deliver(ep, &completion);
}

bool iw_ep_rx_check_msn(struct iw_endpoint *ep, const struct segment *s)
{
    uint32_t expected = ep->rx_msn[s->header.qn];
    return s->header.msn != expected &&
           iw_ep_refuse(ep, s, IW_CHECK_DDP_MSN, IW_AT_MSN, s->header.msn, expected);
}

void iw_ep_rx_drop(struct iw_endpoint *ep, const struct segment *s)
{
    const struct iw_ddp_header *h = &s->header;
    if (!iw_ep_refuse(ep, s, IW_CHECK_DDP_NO_BUFFER, IW_AT_MSN, h->msn, 0) && iw_ddp_last(h))
        ep->rx_msn[IW_QN_SEND]++;
}

bool iw_ep_rx_ask_receive(struct iw_endpoint *ep)
{
    if (ep->recv_head == ep->recv_tail && ep->config.want_recv != NULL)
        ep->config.want_recv(ep->config.context);
    return ep->recv_head != ep->recv_tail;
}

static void receive_send(struct iw_endpoint *ep, struct segment *s)
{
    const struct iw_ddp_header *h = &s->header;
    if (iw_ep_rx_check_msn(ep, s))
        return;
    if (!iw_ep_rx_ask_receive(ep)) {
        iw_ep_rx_drop(ep, s);
        return;
    }
    const struct iw_recv_entry *entry = &ep->recvs[ep->recv_head % ep->config.recv_depth];
    if (!ep->rx_open && h->mo != 0 &&
        iw_ep_refuse_legal(ep, s, IW_CHECK_DDP_MO_ZERO, IW_AT_MO, h->mo, 0))
        return;
    if (ep->rx_open && h->mo != ep->rx_mo &&
        iw_ep_refuse_legal(ep, s, IW_CHECK_DDP_MO_ORDER, IW_AT_MO, h->mo, ep->rx_mo))
        return;
    if (h->mo > entry->capacity &&
        iw_ep_refuse(ep, s, IW_CHECK_DDP_MO, IW_AT_MO, h->mo, entry->capacity))
        return;
    uint64_t end = (uint64_t)h->mo + s->length;
    if (h->mo <= entry->capacity && end > entry->capacity &&
        iw_ep_refuse(ep, s, IW_CHECK_DDP_TOO_LONG, IW_AT_MO, end, entry->capacity))
        return;
    /* The octets stay inside the list of buffers even if they are misplaced or too long. */
    uint64_t at = h->mo > entry->capacity ? h->mo % (entry->capacity + 1) : h->mo;
    if (iw_switch_violated(ep->config.switches, IW_CHECK_DDP_PLACE_EXACT))
        at++;
    iw_ddp_scatter(entry->sge, entry->sge_count, (size_t)at, s->fpdu->ulpdu, s->fpdu->pieces,
                   s->header_length, s->length);
    if (!ep->rx_open)
        ep->rx_likely = s->length;
    ep->rx_open = true;
    ep->rx_mo = end;
    if (!iw_ddp_last(h) || ep->deferred.check != IW_CHECK_NONE)
        return;
    ep->rx_open = false;
    ep->rx_msn[IW_QN_SEND]++;
    deliver(ep, s, end < entry->capacity ? end : entry->capacity);
}

/* Reports a fault of a Read Request's source. */
static bool refuse_read(struct iw_endpoint *ep, const struct segment *s, enum iw_check check)
{
    const struct iw_rdmap_read_request *r = &s->request;
    switch (check) {
    case IW_CHECK_RDMAP_READ_BASE:
        return iw_ep_refuse(ep, s, check, IW_IN_ULPDU(IW_AT_READ_SOURCE_TO), r->source_to, 0);
    case IW_CHECK_RDMAP_READ_BOUNDS:
    case IW_CHECK_RDMAP_READ_FIT:
    case IW_CHECK_RDMAP_READ_WRAP:
        return iw_ep_refuse(ep, s, check, IW_IN_ULPDU(IW_AT_READ_SIZE), r->size, 0);
    default:
        return iw_ep_refuse(ep, s, check, IW_IN_ULPDU(IW_AT_READ_SOURCE_STAG), r->source_stag, 0);
    }
}

bool iw_ep_rx_check_ird(struct iw_endpoint *ep, const struct segment *s)
{
    uint32_t limit = ep->startup.agreed.ird;
    if (limit == IW_MPA_DEPTH_UNSPECIFIED)
        limit = ep->config.max_reads;
    uint64_t open = ep->reads_in_tail - ep->reads_in_head;
    if (open >= limit)
        return iw_ep_refuse(ep, s, IW_CHECK_RDMAP_IRD, IW_AT_MSN, open + 1, limit);
    return open + 1 == limit &&
           iw_ep_refuse_legal(ep, s, IW_CHECK_RDMAP_IRD_FULL, IW_AT_MSN, open + 1, limit);
}

void iw_ep_rx_request(struct iw_endpoint *ep, const struct segment *s, struct iw_read_in read,
                      enum iw_check missing)
{
    if (iw_ddp_last(&s->header))
        ep->rx_msn[IW_QN_READ_REQUEST]++;
    /* After our FIN no answer can follow, as its sender is about to see. */
    if (ep->reads_in_tail - ep->reads_in_head >= ep->reads_in_room || ep->fin_out ||
        iw_switch_violated(ep->config.switches, missing))
        return;
    read.header = s->header;
    read.late = ep->deferred.check != IW_CHECK_NONE;
    if (read.late && ep->late.check == IW_CHECK_NONE) {
        ep->late = ep->deferred;
        ep->late_length = s->fpdu->length;
    }
    ep->reads_in[ep->reads_in_tail++ % ep->reads_in_room] = read;
    ep->deferred.check = IW_CHECK_NONE;
}

static void receive_read_request(struct iw_endpoint *ep, struct segment *s)
{
    const struct iw_ddp_header *h = &s->header;
    if (iw_ep_rx_check_msn(ep, s))
        return;
    s->request_known =
        iw_wire_get_read_request(s->head + IW_DDP_UNTAGGED_HEADER,
                                 s->head_length - IW_DDP_UNTAGGED_HEADER, &s->request) > 0;
    /* OP-67: a request in one segment of exactly 28 octets, which fill their buffer. */
    if (h->mo != 0 && iw_ep_refuse(ep, s, IW_CHECK_DDP_MO, IW_AT_MO, h->mo, 0))
        return;
    if ((s->length != IW_RDMAP_READ_REQUEST || !iw_ddp_last(h)) &&
        iw_ep_refuse(ep, s, IW_CHECK_RDMAP_READ_LENGTH, (uint32_t)s->header_length, s->length,
                     IW_RDMAP_READ_REQUEST))
        return;
    if (!s->request_known) {
        if (iw_ddp_last(h))
            ep->rx_msn[IW_QN_READ_REQUEST]++;
        return;
    }
    if (iw_ep_rx_check_ird(ep, s))
        return;
    const struct iw_rdmap_read_request *r = &s->request;
    uint32_t none;
    enum iw_check check =
        iw_ddp_read_source(&ep->stream, r->source_stag, r->source_to, r->size, NULL, 0, &none);
    if (check != IW_CHECK_NONE && refuse_read(ep, s, check))
        return;
    iw_ep_rx_request(ep, s, (struct iw_read_in){.request = *r}, IW_CHECK_RDMAP_RESPONSE_MISSING);
}

static void receive_terminate(struct iw_endpoint *ep, struct segment *s)
{
    struct iw_rdmap_terminate terminate;
    int got = iw_wire_get_terminate(s->head + IW_DDP_UNTAGGED_HEADER,
                                    s->head_length - IW_DDP_UNTAGGED_HEADER, &terminate);
    if ((got < 0 || s->header.mo != 0 || !iw_ddp_last(&s->header)) &&
        iw_ep_refuse(ep, s, IW_CHECK_RDMAP_TERMINATE_VALID, (uint32_t)s->header_length, s->length,
                     0))
        return;
    if (got >= 0 && terminate.reserved != 0 &&
        iw_ep_refuse_legal(ep, s, IW_CHECK_RDMAP_TERMINATE_RSVD,
                           (uint32_t)s->header_length + IW_AT_TERM_FLAGS, terminate.reserved, 0))
        return;
    if (iw_ep_rx_check_msn(ep, s))
        return;
    if (got < 0)
        return;
    const uint8_t *octets = s->head + IW_DDP_UNTAGGED_HEADER;
    size_t length = s->head_length - IW_DDP_UNTAGGED_HEADER;
    const struct iw_quirk_context unknown = {0};
    ep->terminate_reversed = iw_quirk_terminate(octets, length, &unknown) == IW_EVIDENCE_PROVEN;
    if (ep->terminate_reversed)
        (void)iw_quirk_get_terminate(octets, length, &ep->terminate_meant);
    iw_ep_peer_terminated(ep, &terminate);
}

/* Returns the form of RTR that a segment has, 0 if it is none (RFC 6581 §9.2). */
static uint8_t rtr_form(const struct segment *s)
{
    unsigned opcode = iw_rdmap_op(&s->header);
    if (!iw_ddp_last(&s->header))
        return 0;
    if (opcode == IW_OP_SEND && s->length == 0 && s->header.msn == 1)
        return IW_MPA_RTR_SEND;
    if (opcode == IW_OP_WRITE && s->length == 0)
        return IW_MPA_RTR_WRITE;
    if (opcode == IW_OP_READ_REQUEST && s->length == IW_RDMAP_READ_REQUEST &&
        iw_get32(s->head + IW_IN_ULPDU(IW_AT_READ_SIZE)) == 0)
        return IW_MPA_RTR_READ;
    return 0;
}

/* RFC 6581 §9.2: receives the first FPDU of a peer-to-peer initiator. Returns true if the segment
 * is finished with: an RTR Send uses up MSN 1 but no buffer of the ULP (OP-28). */
static bool receive_rtr(struct iw_endpoint *ep, struct segment *s)
{
    uint8_t form = rtr_form(s), forms = ep->startup.agreed.rtr;
    ep->rtr_expected = false;
    /* A Reply that names a form that was not offered must be answered with a Terminate. A Request
     * that offers none (mpa-rtr-offer) leaves the choice to the Reply. */
    if (ep->startup.peer_enhanced.rtr != 0)
        forms &= ep->startup.peer_enhanced.rtr;
    if ((form & forms) == 0)
        return iw_ep_refuse(ep, s, IW_CHECK_MPA_RTR_FIRST, IW_AT_RDMAP_CONTROL, form, forms);
    if (form == IW_MPA_RTR_SEND)
        ep->rx_msn[IW_QN_SEND]++;
    return form == IW_MPA_RTR_SEND;
}

/* Reports what is wrong, or legal but refused, in the DDP header. */
static bool refuse_header(struct iw_endpoint *ep, const struct segment *s, enum iw_check check)
{
    struct iw_ulpdu_fault fault =
        iw_rdmap_header_fault(&s->header, check, ep->startup.agreed.version);
    return iw_ep_refuse(ep, s, check, fault.offset, fault.got, fault.want);
}

/* Handles a segment that is shorter than its DDP header. */
static void too_short(struct iw_endpoint *ep, const struct segment *s)
{
    bool tagged = s->head_length > 0 && (s->head[IW_AT_DDP_CONTROL] & IW_DDP_T) != 0;
    (void)iw_ep_refuse(ep, s, IW_CHECK_DDP_HEADER_SHORT, IW_AT_DDP_CONTROL, s->fpdu->length,
                       tagged ? IW_DDP_TAGGED_HEADER : IW_DDP_UNTAGGED_HEADER);
}

static bool check_reserved(struct iw_endpoint *ep, const struct segment *s)
{
    unsigned seen = 0;
    enum iw_check check;
    while ((check = iw_rdmap_check_reserved(&s->header, &seen)) != IW_CHECK_NONE)
        if (iw_switch_overstrict(ep->config.switches, check) && refuse_header(ep, s, check))
            return true;
    return false;
}

static bool check_habit(struct iw_endpoint *ep, const struct segment *s)
{
    struct iw_ulpdu_fault f =
        iw_ep_refused(ep, s->fpdu, &s->header, s->length, s->head + s->header_length);
    return f.check != IW_CHECK_NONE && iw_ep_refuse(ep, s, f.check, f.offset, f.got, f.want);
}

static void receive(struct iw_endpoint *ep, struct segment *s)
{
    const struct iw_switches *switches = ep->config.switches;
    int got = iw_wire_get_ddp(s->head, s->head_length, &s->header);
    if (got < 0) {
        too_short(ep, s);
        return;
    }
    s->header_known = true;
    s->header_length = (size_t)got;
    s->length = (uint32_t)(s->fpdu->length - s->header_length);
    const struct iw_ddp_header *h = &s->header;

    if (ep->config.role == IW_MPA_INITIATOR && ep->framer.pos == 0 &&
        iw_ep_refuse_legal(ep, s, IW_CHECK_MPA_RESPONDER_EARLY, 0, 0, 0))
        return;
    enum iw_check check =
        iw_rdmap_check_header(h, ep->startup.agreed.version, ep->config.extensions, switches);
    if (check != IW_CHECK_NONE && refuse_header(ep, s, check))
        return;
    if (check_reserved(ep, s) || (iw_switch_any(switches) && check_habit(ep, s)))
        return;
    /* Instead of an RTR only a Terminate may come: none matched (RFC 6581 §9.2). */
    bool terminate = !iw_ddp_tagged(h) && h->qn == IW_QN_TERMINATE;
    if (ep->rtr_expected && !terminate && receive_rtr(ep, s))
        return;
    unsigned opcode = iw_rdmap_op(h);
    bool extension = ep->config.extensions && opcode >= IW_OP_IMMEDIATE;
    /* Queue and T bit decide, not the opcode: they determine where octets go. */
    if (iw_ddp_tagged(h) && opcode == IW_OP_READ_RESPONSE)
        receive_response(ep, s);
    else if (iw_ddp_tagged(h))
        receive_write(ep, s);
    else if (h->qn == IW_QN_SEND && extension && opcode <= IW_OP_IMMEDIATE_SE)
        iw_ep_rx_immediate(ep, s);
    else if (h->qn == IW_QN_SEND)
        receive_send(ep, s);
    else if (h->qn == IW_QN_READ_REQUEST && extension && opcode == IW_OP_ATOMIC_REQUEST)
        iw_ep_rx_atomic_request(ep, s);
    else if (h->qn == IW_QN_READ_REQUEST)
        receive_read_request(ep, s);
    else if (h->qn == IW_QN_TERMINATE)
        receive_terminate(ep, s);
    else if (h->qn == IW_QN_ATOMIC_RESPONSE && ep->config.extensions)
        iw_ep_rx_atomic_response(ep, s);
}

bool iw_ep_receiving(const struct iw_endpoint *ep)
{
    /* RFC 5041 §7.1: segments after an error are dropped, unless that check is off. */
    return ep->phase == IW_PHASE_FULL ||
           (ep->phase == IW_PHASE_DONE && ep->terminate_made && !ep->lost && !ep->reset &&
            iw_switch_ignored(ep->config.switches, IW_CHECK_RDMAP_TERMINATE_STOP));
}

int iw_ep_rx_fpdu(void *context, const struct iw_fpdu *fpdu)
{
    struct iw_endpoint *ep = context;
    struct segment s = {.fpdu = fpdu};
    s.head_length = iw_ddp_gather(s.head, fpdu->ulpdu, fpdu->pieces, 0,
                                  fpdu->length < sizeof(s.head) ? fpdu->length : sizeof(s.head));
    iw_ep_trace(ep, IW_TRACE_FPDU_IN, s.head, s.head_length, fpdu->length, fpdu->pos);
    ep->paused = false;
    ep->rx_together++;
    receive(ep, &s);
    if (ep->deferred.check != IW_CHECK_NONE)
        iw_ep_fault(ep, ep->deferred, s.header_known ? &s.header : NULL,
                    s.request_known ? &s.request : NULL, fpdu->length);
    return !iw_ep_receiving(ep);
}

int iw_ep_rx_check(void *context, const struct iw_fault *fault)
{
    struct iw_endpoint *ep = context;
    const struct iw_switches *switches = ep->config.switches;
    bool enforced = (iw_check_info(fault->check)->kinds & IW_KIND_ENDPOINT) != 0
                        ? !iw_switch_ignored(switches, fault->check)
                        : iw_switch_overstrict(switches, fault->check);
    if (!enforced)
        return 0;
    if (iw_switch_botched(switches, fault->check) == IW_BOTCH_PLACE) {
        if (ep->deferred.check == IW_CHECK_NONE)
            ep->deferred = *fault;
        return 0;
    }
    iw_ep_fault(ep, *fault, NULL, NULL, 0);
    return -1;
}

/* Returns the first octet of a list that may begin with empty pieces; NULL if there is none. */
static const uint8_t *first_octet(const struct iw_iov *data, size_t pieces)
{
    for (size_t i = 0; i < pieces; i++)
        if (data[i].length > 0)
            return data[i].base;
    return NULL;
}

bool iw_ep_rx_buffer(struct iw_endpoint *ep)
{
    if (ep->rx_buffer == NULL && (ep->rx_buffer = iw_domain_borrow(ep->domain)) != NULL)
        iw_deframer_lend(&ep->deframer, ep->rx_buffer, IW_DOMAIN_BUFFER);
    return ep->rx_buffer != NULL;
}

static void deframe(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces)
{
    for (; pieces > 0 && ep->landing.active; data++, pieces--) {
        size_t taken = iw_ep_landing_input(ep, data->base, data->length);
        struct iw_iov rest = {(uint8_t *)data->base + taken, data->length - taken};
        if (rest.length > 0 && iw_ep_receiving(ep))
            deframe(ep, &rest, 1);
    }
    if (pieces == 0 || !iw_ep_receiving(ep))
        return;
    struct iw_fault none = {IW_CHECK_MPA_LOCAL, ep->rx_pos, 0, 0};
    uint64_t pos = ep->rx_pos;
    for (size_t i = 0; i < pieces; i++)
        ep->rx_pos += data[i].length;
    struct iw_fault split = {IW_CHECK_MPA_FPDU_SPLIT, ep->rx_pos, 0, 0};
    ep->rx_together = 0;
    if (iw_ep_rx_buffer(ep)) {
        (void)iw_deframer_input(&ep->deframer, pos, data, pieces);
        /* They may have closed a gap. */
        uint64_t edge = iw_deframer_edge(&ep->deframer);
        if (edge > ep->rx_pos)
            ep->rx_pos = edge;
    } else if (!iw_switch_ignored(ep->config.switches, none.check)) {
        iw_ep_fault(ep, none, NULL, NULL, 0);
    }
    if (iw_switch_overstrict(ep->config.switches, split.check) && !iw_deframer_idle(&ep->deframer))
        iw_ep_fault(ep, split, NULL, NULL, 0);
}

/* RFC 5041 §6.2.1: the stream is torn down abortively. */
void iw_ep_after_close(struct iw_endpoint *ep, uint8_t first)
{
    if (iw_ep_happened(ep, IW_EVENT_CLOSED))
        return;
    struct iw_fault fault = {IW_CHECK_DDP_AFTER_CLOSE, ep->rx_pos, first, 0};
    iw_ep_fault(ep, fault, NULL, NULL, 0);
    ep->reset = true;
}

void iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                       uint64_t now)
{
    const uint8_t *reply, *first = first_octet(data, pieces);
    ep->now = now;
    if (first == NULL)
        return;
    if (ep->phase == IW_PHASE_FULL && ep->fin_out)
        ep->deadline = iw_ep_after(ep, ep->config.linger_timeout);
    if (ep->fin_in)
        iw_ep_after_close(ep, *first);
    else if (ep->phase == IW_PHASE_STARTUP)
        iw_ep_startup_input(ep, data, pieces);
    else if (ep->phase == IW_PHASE_FULL && ep->config.role == IW_MPA_RESPONDER &&
             iw_mpa_startup_output(&ep->startup, &reply) > 0 && iw_ep_surplus(ep, *first))
        ; /* refused: our Reply has not even left */
    else if (iw_ep_receiving(ep))
        deframe(ep, data, pieces);
    if (ep->fin_known)
        iw_ep_fin_reached(ep);
    iw_ep_settle(ep);
}
