/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_internal.h"

static void trace(const struct iw_endpoint *ep, struct iw_trace what)
{
    what.now = ep->now;
    if (ep->config.trace != NULL)
        ep->config.trace(ep->config.trace_context, &what);
}

void iw_ep_event(struct iw_endpoint *ep, enum iw_event_kind kind)
{
    static const char *const names[] = {
        [IW_EVENT_REQUEST] = "request",         [IW_EVENT_ESTABLISHED] = "established",
        [IW_EVENT_REJECTED] = "rejected",       [IW_EVENT_TERMINATED] = "terminated",
        [IW_EVENT_PEER_CLOSED] = "peer-closed", [IW_EVENT_CLOSED] = "closed",
    };
    if (iw_ep_happened(ep, kind))
        return;
    ep->events |= 1u << kind;
    ep->event_order[ep->event_count++] = (uint8_t)kind;
    if (kind != IW_EVENT_FAULT) /* a fault has a line of its own */
        trace(ep, (struct iw_trace){.kind = IW_TRACE_STATE, .text = names[kind]});
}

bool iw_ep_happened(const struct iw_endpoint *ep, enum iw_event_kind kind)
{
    return (ep->events & 1u << kind) != 0;
}

uint64_t iw_ep_after(const struct iw_endpoint *ep, uint64_t timeout)
{
    return timeout > UINT64_MAX - 1 - ep->now ? UINT64_MAX - 1 : ep->now + timeout;
}

void iw_ep_trace(const struct iw_endpoint *ep, enum iw_trace_kind kind, const uint8_t *octets,
                 size_t length, uint32_t ulpdu_length, uint64_t pos)
{
    trace(ep, (struct iw_trace){.kind = kind,
                                .octets = octets,
                                .length = length,
                                .ulpdu_length = ulpdu_length,
                                .pos = pos});
}

bool iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out)
{
    if (ep->events_taken == ep->event_count)
        return false;
    memset(out, 0, sizeof(*out));
    enum iw_event_kind kind = (enum iw_event_kind)ep->event_order[ep->events_taken++];
    out->kind = kind;
    out->fault = ep->fault;
    out->terminate_valid = kind == IW_EVENT_FAULT && ep->terminate_made;
    out->terminate = kind == IW_EVENT_TERMINATED ? ep->terminate_in : ep->terminate_out;
    out->terminate_reversed = kind == IW_EVENT_TERMINATED && ep->terminate_reversed;
    out->meant = ep->terminate_meant;
    out->cause = kind == IW_EVENT_CLOSED ? ep->cause : IW_CAUSE_NONE;
    out->graceful = out->cause == IW_CAUSE_GRACEFUL;
    return true;
}

const char *iw_cause_name(enum iw_cause cause)
{
    static const char *const names[] = {"none", "graceful", "fault",  "terminated",
                                        "lost", "timeout",  "aborted"};
    return names[(size_t)cause < sizeof(names) / sizeof(names[0]) ? cause : IW_CAUSE_NONE];
}

void iw_ep_ends_by(struct iw_endpoint *ep, enum iw_cause cause)
{
    if (ep->cause == IW_CAUSE_NONE)
        ep->cause = cause;
}

/* Starts nothing new; framed FPDUs go out, then a FIN. */
void iw_ep_finish(struct iw_endpoint *ep)
{
    ep->phase = IW_PHASE_DONE;
    ep->fin_due = true;
    ep->deadline = iw_ep_after(ep, ep->config.linger_timeout);
}

void iw_ep_fault(struct iw_endpoint *ep, struct iw_fault fault, const struct iw_ddp_header *header,
                 const struct iw_rdmap_read_request *request, uint32_t length)
{
    /* RFC 5040 §7.1: the first error is the one reported. */
    if (ep->cause != IW_CAUSE_NONE)
        return;
    const struct iw_check_info *info = iw_check_info(fault.check);
    enum iw_botch botch = iw_switch_botched(ep->config.switches, fault.check);
    ep->fault = fault;
    iw_ep_ends_by(ep, IW_CAUSE_FAULT);
    bool tagged = header != NULL && iw_ddp_tagged(header);
    ep->fault_in_response =
        header != NULL && (tagged ? iw_rdmap_op(header) == IW_OP_READ_RESPONSE
                                  : header->qn == IW_QN_ATOMIC_RESPONSE && ep->config.extensions);
    ep->fault_in_message = header != NULL && !tagged && header->qn == IW_QN_SEND;
    iw_ep_event(ep, IW_EVENT_FAULT);
    trace(ep, (struct iw_trace){.kind = IW_TRACE_FAULT, .fault = &fault, .pos = fault.pos});
    if (botch == IW_BOTCH_SILENT) {
        ep->phase = IW_PHASE_DONE;
        ep->deadline = UINT64_MAX;
        return;
    }
    if (info->reaction == IW_REACTION_TERMINATE && ep->phase == IW_PHASE_FULL && !ep->fin_out &&
        botch != IW_BOTCH_CLOSE) {
        struct iw_rdmap_terminate *t = &ep->terminate_out;
        iw_rdmap_terminate_for(fault.check, header, request, length, t);
        if (botch == IW_BOTCH_LAYER)
            t->layer = t->layer == IW_LAYER_LLP ? IW_LAYER_DDP : (uint8_t)(t->layer + 1);
        if (botch == IW_BOTCH_TYPE)
            t->etype = t->etype == 0 ? 1 : 0;
        if (botch == IW_BOTCH_CODE)
            t->code ^= 0x10;
        ep->terminate_made = true;
        ep->terminates_due = botch == IW_BOTCH_AGAIN ? 2 : 1;
        iw_ep_tx_cut(ep);
    }
    iw_ep_finish(ep);
}

void iw_ep_peer_terminated(struct iw_endpoint *ep, const struct iw_rdmap_terminate *terminate)
{
    ep->terminate_in = *terminate;
    iw_ep_ends_by(ep, IW_CAUSE_TERMINATED);
    iw_ep_event(ep, IW_EVENT_TERMINATED);
    /* RFC 5040 §5.4: its receiver may stop sending; answering it would loop (OP-69). */
    iw_ep_finish(ep);
}

static void flush(struct iw_endpoint *ep)
{
    enum iw_check check = ep->fault.check;
    enum iw_status first_read = IW_STATUS_FLUSHED, first_recv = IW_STATUS_FLUSHED;
    if (iw_ep_happened(ep, IW_EVENT_TERMINATED))
        first_read = IW_STATUS_REMOTE_FAULT;
    if (ep->fault_in_response)
        first_read = IW_STATUS_LOCAL_FAULT;
    switch (check) {
    case IW_CHECK_DDP_MO:
    case IW_CHECK_DDP_TOO_LONG:
    case IW_CHECK_RDMAP_INVALIDATE_STAG:
    case IW_CHECK_RDMAP_INVALIDATE_ASSOC:
    case IW_CHECK_RDMAP_INVALIDATE_SHARED:
    case IW_CHECK_RDMAP_IMMEDIATE_LENGTH:
        if (ep->fault_in_message)
            first_recv = IW_STATUS_LOCAL_FAULT;
        break;
    default:
        break;
    }
    iw_ep_flush(ep, first_read, first_recv, check);
}

static bool drained(struct iw_endpoint *ep)
{
    return ep->send_head == ep->send_tail && ep->reads_in_head == ep->reads_in_tail &&
           iw_ep_tx_idle(ep) && !ep->rtr_due && ep->sending == IW_SENDING_NOTHING;
}

/* Returns the check by which --overstrict refuses a legal FIN. */
static enum iw_check refused_end(struct iw_endpoint *ep)
{
    const struct iw_switches *switches = ep->config.switches;
    if (iw_switch_overstrict(switches, IW_CHECK_MPA_MARKER_LONE) &&
        ep->rx_pos != ep->deframer.next && iw_deframer_end(&ep->deframer, ep->rx_pos))
        return IW_CHECK_MPA_MARKER_LONE;
    if (iw_switch_overstrict(switches, IW_CHECK_DDP_HALF_CLOSE) && !drained(ep))
        return IW_CHECK_DDP_HALF_CLOSE;
    return IW_CHECK_NONE;
}

/* Our FIN waits for an event that only the peer can cause: a window after its own FIN, or its first
 * FPDU. It may wait linger_timeout; each octet that the peer takes restarts that time. */
static void limit_wait(struct iw_endpoint *ep)
{
    bool waits =
        ep->phase == IW_PHASE_FULL && ep->shutdown && !ep->fin_due && (ep->fin_in || ep->paused);
    if (waits && (!ep->close_waits || ep->tx_sent != ep->close_sent))
        ep->deadline = iw_ep_after(ep, ep->config.linger_timeout);
    else if (!waits && ep->close_waits && ep->phase == IW_PHASE_FULL)
        ep->deadline = UINT64_MAX;
    ep->close_waits = waits;
    ep->close_sent = ep->tx_sent;
}

void iw_ep_settle(struct iw_endpoint *ep)
{
    bool over = ep->lost || ep->reset || (ep->fin_out && ep->fin_in);
    if (over)
        ep->phase = IW_PHASE_DONE;
    if (over || iw_ep_tx_idle(ep))
        iw_ep_tx_release(ep);
    if (ep->rx_buffer != NULL && (!iw_ep_receiving(ep) || iw_deframer_idle(&ep->deframer))) {
        (void)iw_deframer_return(&ep->deframer);
        iw_domain_return(ep->domain, ep->rx_buffer);
        ep->rx_buffer = NULL;
    }
    if (ep->shutdown && !ep->fin_due && ep->phase == IW_PHASE_FULL && drained(ep)) {
        ep->fin_due = true;
        if (iw_switch_violated(ep->config.switches, IW_CHECK_MPA_FIN_INSIDE))
            ep->early_left = 2;
    }
    limit_wait(ep);
    /* Pieces already handed out name the consumer's memory: flush its work only after them. */
    if (ep->phase == IW_PHASE_DONE && iw_ep_tx_idle(ep))
        flush(ep);
    if (over && !iw_ep_happened(ep, IW_EVENT_CLOSED)) {
        ep->deadline = UINT64_MAX;
        iw_ep_ends_by(ep, IW_CAUSE_GRACEFUL);
        iw_ep_event(ep, IW_EVENT_CLOSED);
    }
}

enum iw_want iw_endpoint_want(const struct iw_endpoint *ep)
{
    if (ep->reset)
        return IW_WANT_RESET;
    if (ep->lost || (ep->fin_out && ep->fin_in))
        return IW_WANT_CLOSE;
    const uint8_t *data;
    bool quiet = iw_ep_tx_idle(ep) && ep->terminates_due == 0 && ep->early_left == 0 &&
                 iw_mpa_startup_output(&ep->startup, &data) == 0;
    return ep->fin_due && !ep->fin_out && quiet ? IW_WANT_FIN : IW_WANT_NOTHING;
}

void iw_endpoint_fin_sent(struct iw_endpoint *ep, uint64_t now)
{
    ep->now = now;
    ep->fin_out = true;
    if (ep->deadline == UINT64_MAX)
        ep->deadline = iw_ep_after(ep, ep->config.linger_timeout);
    iw_ep_settle(ep);
}

void iw_endpoint_input_end(struct iw_endpoint *ep, bool graceful, uint64_t now)
{
    ep->now = now;
    if (iw_ep_happened(ep, IW_EVENT_CLOSED) || (graceful && ep->fin_in))
        return;
    if (!graceful) {
        ep->lost = true;
        if (ep->cause == IW_CAUSE_NONE)
            ep->fault = (struct iw_fault){IW_CHECK_MPA_LOST, ep->rx_pos, 0, 0};
        iw_ep_ends_by(ep, IW_CAUSE_LOST);
        iw_ep_settle(ep);
        return;
    }
    if (!ep->fin_known && ep->phase != IW_PHASE_DONE) {
        ep->fin_known = true;
        ep->fin_at = ep->rx_pos;
    }
    ep->fin_in = true;
    if (ep->phase == IW_PHASE_STARTUP) {
        struct iw_fault cut = {IW_CHECK_MPA_STARTUP_CUT, ep->startup.in_length, 0, 0};
        if (ep->startup.in_length > 0 && ep->startup.state != IW_MPA_REQUESTED &&
            !iw_switch_ignored(ep->config.switches, cut.check))
            iw_ep_fault(ep, cut, NULL, NULL, 0);
        else
            iw_ep_finish(ep);
    } else if (ep->phase == IW_PHASE_FULL) {
        struct iw_fault inside = {IW_CHECK_MPA_FIN_INSIDE, ep->rx_pos, 0, 0};
        struct iw_fault refused = {refused_end(ep), ep->rx_pos, 0, 0};
        if (!iw_deframer_end(&ep->deframer, ep->rx_pos) &&
            !iw_switch_ignored(ep->config.switches, inside.check))
            iw_ep_fault(ep, inside, NULL, NULL, 0);
        else if (refused.check != IW_CHECK_NONE)
            iw_ep_fault(ep, refused, NULL, NULL, 0);
        /* A read that is still open can never be answered, and held-back work never be released. */
        else if (ep->reads_out_head != ep->reads_out_tail ||
                 (ep->paused && !iw_ep_speaks_first(ep)))
            iw_ep_finish(ep);
    } else if (!ep->fin_due) {
        iw_ep_finish(ep); /* a fault was botched into silence: the connection still ends */
    }
    iw_ep_event(ep, IW_EVENT_PEER_CLOSED);
    iw_ep_settle(ep);
}

uint64_t iw_endpoint_deadline(const struct iw_endpoint *ep)
{
    return ep->tx_retry < ep->deadline ? ep->tx_retry : ep->deadline;
}

void iw_endpoint_tick(struct iw_endpoint *ep, uint64_t now)
{
    ep->now = now;
    if (now >= ep->tx_retry) {
        ep->tx_retry = UINT64_MAX;
        ep->paused = ep->paused && !iw_ep_speaks_first(ep);
    }
    if (now < ep->deadline || ep->deadline == UINT64_MAX)
        return;
    ep->deadline = UINT64_MAX;
    if (ep->phase == IW_PHASE_STARTUP) {
        struct iw_fault late = {IW_CHECK_MPA_STARTUP_TIMEOUT, ep->startup.in_length, 0, 0};
        if (!iw_switch_ignored(ep->config.switches, late.check))
            iw_ep_fault(ep, late, NULL, NULL, 0);
    } else {
        iw_ep_ends_by(ep, IW_CAUSE_TIMEOUT);
        ep->reset = true;
    }
    iw_ep_settle(ep);
}

void iw_endpoint_shutdown(struct iw_endpoint *ep, uint64_t now)
{
    bool work = ep->send_head != ep->send_tail;
    ep->now = now;
    ep->shutdown = true;
    /* Work that was posted early waits for the start-up, and the FIN for the work. */
    if ((ep->phase == IW_PHASE_STARTUP && !work) ||
        (ep->phase == IW_PHASE_DONE && !ep->fin_due && !iw_ep_happened(ep, IW_EVENT_CLOSED)))
        iw_ep_finish(ep);
    iw_ep_settle(ep);
}

void iw_ep_abort(struct iw_endpoint *ep, bool terminate, uint8_t code)
{
    iw_ep_ends_by(ep, IW_CAUSE_ABORTED);
    if (ep->phase == IW_PHASE_FULL && terminate && !ep->fin_out && !ep->paused) {
        ep->terminate_out =
            (struct iw_rdmap_terminate){.layer = IW_LAYER_RDMAP, .etype = 0, .code = code};
        ep->terminates_due = 1;
        iw_ep_tx_cut(ep);
        iw_ep_finish(ep);
    } else {
        ep->reset = true;
    }
}

void iw_endpoint_abort(struct iw_endpoint *ep, bool terminate, uint8_t code, uint64_t now)
{
    ep->now = now;
    if (iw_ep_happened(ep, IW_EVENT_CLOSED))
        return;
    iw_ep_abort(ep, terminate, code);
    iw_ep_settle(ep);
}

void iw_endpoint_leave(struct iw_endpoint *ep, uint64_t now)
{
    ep->now = now;
    if (iw_ep_happened(ep, IW_EVENT_CLOSED))
        return;
    iw_ep_tx_cut(ep);
    if (ep->landing.active || !iw_ep_tx_idle(ep)) {
        iw_ep_ends_by(ep, IW_CAUSE_ABORTED);
        ep->reset = true;
    } else if (ep->phase != IW_PHASE_DONE) {
        iw_ep_finish(ep);
    }
    iw_ep_settle(ep);
}
