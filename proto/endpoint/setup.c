/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint_internal.h"

enum { IW_DEPTH_MAX = 65535, IW_SGE_MAX = 32, IW_READS_MAX = 4096 };

void iw_endpoint_config_default(struct iw_endpoint_config *config)
{
    memset(config, 0, sizeof(*config));
    iw_mpa_config_default(&config->mpa);
    config->send_depth = 64;
    config->recv_depth = 64;
    config->max_sge = 16;
    config->max_reads = 32;
    config->extensions = true;
    config->emss = 1460;
    config->startup_timeout = 60000000000u;
    config->linger_timeout = 5000000000u;
    config->early_placement = true;
}

static bool valid(const struct iw_endpoint_config *c)
{
    return c->send_depth >= 1 && c->send_depth <= IW_DEPTH_MAX && c->recv_depth >= 1 &&
           c->recv_depth <= IW_DEPTH_MAX && c->max_sge >= 1 && c->max_sge <= IW_SGE_MAX &&
           c->max_reads >= 1 && c->max_reads <= IW_READS_MAX && c->startup_timeout != 0 &&
           c->private_length <= IW_MPA_PRIVATE_MAX && c->mulpdu <= IW_MPA_ULPDU_MAX &&
           (c->mulpdu == 0 || c->mulpdu >= IW_MPA_MULPDU_MIN);
}

/* Returns the number of reads that a queue must be able to hold: those offered, or the one that an
 * RTR takes, and room for those that a switch admits in addition. */
static uint32_t read_room(const struct iw_endpoint_config *c, uint16_t offered)
{
    uint32_t room = offered == IW_MPA_DEPTH_UNSPECIFIED ? c->max_reads : offered;
    return room + (c->switches != NULL ? c->max_reads : 1);
}

static bool allocate(struct iw_endpoint *ep)
{
    const struct iw_endpoint_config *c = &ep->config;
    const struct iw_env *env = ep->env;
    ep->completion_room = c->send_depth + c->recv_depth;
    ep->reads_out_room = read_room(c, c->mpa.ord);
    ep->reads_in_room = read_room(c, c->mpa.ird);
    ep->sends = env->alloc(env->context, c->send_depth * sizeof(*ep->sends));
    ep->recvs = env->alloc(env->context, c->recv_depth * sizeof(*ep->recvs));
    ep->completions = env->alloc(env->context, ep->completion_room * sizeof(*ep->completions));
    ep->sges =
        env->alloc(env->context, (size_t)ep->completion_room * c->max_sge * sizeof(*ep->sges));
    ep->reads_out = env->alloc(env->context, ep->reads_out_room * sizeof(*ep->reads_out));
    ep->reads_in = env->alloc(env->context, ep->reads_in_room * sizeof(*ep->reads_in));
    /* None of it is written before it is used. */
    return ep->sends != NULL && ep->recvs != NULL && ep->completions != NULL && ep->sges != NULL &&
           ep->reads_out != NULL && ep->reads_in != NULL;
}

int iw_endpoint_create(struct iw_domain *domain, const struct iw_endpoint_config *config,
                       uint64_t now, struct iw_endpoint **out)
{
    *out = NULL;
    if (!valid(config))
        return IW_ERR_ARGUMENT;
    const struct iw_env *env = iw_domain_env(domain);
    struct iw_endpoint *ep = env->alloc(env->context, sizeof(*ep));
    if (ep == NULL)
        return IW_ERR_MEMORY;
    memset(ep, 0, sizeof(*ep));
    ep->domain = domain;
    ep->env = env;
    ep->config = *config;
    ep->stream = (struct iw_ddp_stream){domain, config->pd, iw_domain_stream(domain),
                                        config->switches, config->withheld};
    int result = IW_OK;
    if (!allocate(ep))
        result = IW_ERR_MEMORY;
    else if (iw_mpa_startup_init(&ep->startup, config->role, &config->mpa, config->private_data,
                                 config->private_length, config->switches) != 0)
        result = IW_ERR_ARGUMENT;
    if (result != IW_OK) {
        iw_endpoint_destroy(ep);
        return result;
    }
    ep->config.private_data = NULL;
    ep->sink = (struct iw_deframer_sink){ep, iw_ep_rx_fpdu, iw_ep_rx_check,
                                         config->early_placement ? iw_ep_rx_early : NULL};
    for (unsigned qn = 0; qn < 4; qn++)
        ep->rx_msn[qn] = ep->tx_msn[qn] = 1;
    ep->now = now;
    ep->deadline = iw_ep_after(ep, config->startup_timeout);
    ep->tx_retry = UINT64_MAX;
    ep->landing_min = IW_LANDING_MIN;
    ep->lists_min = IW_TX_LARGE;
    *out = ep;
    return IW_OK;
}

void iw_endpoint_begin(struct iw_endpoint *ep, uint64_t now)
{
    ep->now = now;
    if (ep->phase == IW_PHASE_STARTUP && ep->startup.in_length == 0 && ep->startup.out_taken == 0)
        ep->deadline = iw_ep_after(ep, ep->config.startup_timeout);
}

size_t iw_endpoint_startup_left(const struct iw_endpoint *ep)
{
    const struct iw_mpa_startup *s = &ep->startup;
    if (ep->phase != IW_PHASE_STARTUP || s->state == IW_MPA_REQUESTED)
        return 0;
    if (s->in_length < IW_MPA_STARTUP_HEADER)
        return IW_MPA_STARTUP_HEADER - s->in_length;
    return IW_MPA_STARTUP_HEADER + s->peer.pd_length - s->in_length;
}

bool iw_endpoint_rejected(const struct iw_endpoint *ep)
{
    return ep->startup.state == IW_MPA_REJECTED;
}

static void give_back(const struct iw_env *env, void *memory, size_t size)
{
    if (memory != NULL)
        env->free(env->context, memory, size);
}

void iw_endpoint_destroy(struct iw_endpoint *ep)
{
    if (ep == NULL)
        return;
    const struct iw_env *env = ep->env;
    const struct iw_endpoint_config *c = &ep->config;
    if (ep->rx_buffer != NULL)
        iw_domain_return(ep->domain, ep->rx_buffer);
    iw_ep_tx_release(ep);
    give_back(env, ep->sends, c->send_depth * sizeof(*ep->sends));
    give_back(env, ep->recvs, c->recv_depth * sizeof(*ep->recvs));
    give_back(env, ep->completions, ep->completion_room * sizeof(*ep->completions));
    give_back(env, ep->sges, (size_t)ep->completion_room * c->max_sge * sizeof(*ep->sges));
    give_back(env, ep->reads_out, ep->reads_out_room * sizeof(*ep->reads_out));
    give_back(env, ep->reads_in, ep->reads_in_room * sizeof(*ep->reads_in));
    env->free(env->context, ep, sizeof(*ep));
}

void iw_endpoint_withhold(struct iw_endpoint *ep, uint32_t rights)
{
    ep->stream.withheld = rights;
}

uint64_t iw_endpoint_stream(const struct iw_endpoint *ep)
{
    return ep->stream.stream;
}

const struct iw_mpa_agreed *iw_endpoint_requested(const struct iw_endpoint *ep)
{
    return iw_ep_happened(ep, IW_EVENT_REQUEST) ? &ep->startup.agreed : NULL;
}

const struct iw_mpa_agreed *iw_endpoint_agreed(const struct iw_endpoint *ep)
{
    return iw_ep_happened(ep, IW_EVENT_ESTABLISHED) ? &ep->startup.agreed : NULL;
}

size_t iw_endpoint_private(const struct iw_endpoint *ep, const uint8_t **data)
{
    return iw_mpa_startup_private(&ep->startup, data);
}

void iw_endpoint_set_emss(struct iw_endpoint *ep, uint32_t emss)
{
    uint32_t most = iw_wire_mulpdu(emss, ep->phase != IW_PHASE_STARTUP && ep->framer.markers);
    ep->config.emss = emss;
    ep->mulpdu = ep->config.mulpdu != 0 ? ep->config.mulpdu : most;
    ep->segment = emss >= IW_SEGMENT_MIN && ep->mulpdu <= most ? emss : 0;
}

/* Begins full operation: both frames are exchanged, FPDUs follow. */
static void establish(struct iw_endpoint *ep)
{
    const struct iw_mpa_agreed *agreed = &ep->startup.agreed;
    const struct iw_switches *switches = ep->config.switches;
    bool initiator = ep->config.role == IW_MPA_INITIATOR;
    bool tx_markers = agreed->tx_markers;
    if (iw_switch_violated(switches, IW_CHECK_MPA_MARKER_MISSING))
        tx_markers = false;
    if (iw_switch_violated(switches, IW_CHECK_MPA_MARKER_UNASKED))
        tx_markers = true;
    ep->phase = IW_PHASE_FULL;
    ep->deadline = UINT64_MAX;
    iw_framer_init(&ep->framer, tx_markers, agreed->crc, ep->env->crc32c, switches);
    iw_deframer_init(&ep->deframer, &ep->sink, agreed->rx_markers, agreed->crc, ep->env->crc32c,
                     ep->rx_pos, NULL, 0);
    ep->deframer.aligned = ep->config.aligned_peer;
    ep->deframer.always_crc = iw_switch_overstrict(switches, IW_CHECK_MPA_CRC_OFF);
    iw_endpoint_set_emss(ep, ep->config.emss);
    ep->paused = !initiator && !iw_switch_violated(switches, IW_CHECK_MPA_RESPONDER_EARLY);
    if (ep->paused && iw_ep_speaks_first(ep))
        ep->tx_retry = iw_ep_after(ep, ep->config.responder_first);
    ep->rtr_due = initiator && agreed->peer_to_peer;
    ep->rtr_expected = !initiator && agreed->peer_to_peer;
    iw_ep_event(ep, IW_EVENT_ESTABLISHED);
    if (ep->startup.fault.check != IW_CHECK_NONE)
        iw_ep_fault(ep, ep->startup.fault, NULL, NULL, 0);
}

static void trace_peer_frame(const struct iw_endpoint *ep)
{
    /* in_length also counts the octets that an ignored PD_Length check skipped. */
    size_t length = ep->startup.in_length;
    if (length > sizeof(ep->startup.in))
        length = sizeof(ep->startup.in);
    iw_ep_trace(ep, IW_TRACE_STARTUP_IN, ep->startup.in, length, 0, 0);
}

/* Follows the start-up state machine, which may have moved on. */
static void advance(struct iw_endpoint *ep)
{
    switch (ep->startup.state) {
    case IW_MPA_REQUESTED:
        trace_peer_frame(ep);
        iw_ep_event(ep, IW_EVENT_REQUEST);
        break;
    case IW_MPA_FULL:
        if (ep->config.role == IW_MPA_INITIATOR)
            trace_peer_frame(ep);
        establish(ep);
        break;
    case IW_MPA_REJECTED:
        /* RFC 5044 §7.1.2 leaves TCP to the ULP; ours closes it (OP-01). */
        if (ep->config.role == IW_MPA_INITIATOR) {
            trace_peer_frame(ep);
            iw_ep_event(ep, IW_EVENT_REJECTED);
        }
        iw_ep_finish(ep);
        break;
    case IW_MPA_FAILED:
        iw_ep_fault(ep, ep->startup.fault, NULL, NULL, 0);
        break;
    default:
        break;
    }
}

void iw_ep_startup_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces)
{
    for (size_t i = 0; i < pieces; i++) {
        const uint8_t *octets = data[i].base;
        size_t taken = 0;
        enum iw_mpa_state before = ep->startup.state;
        if (before == IW_MPA_IDLE || before == IW_MPA_WAIT_REPLY || before == IW_MPA_WAIT_REQUEST)
            taken = iw_mpa_startup_input(&ep->startup, octets, data[i].length);
        ep->rx_pos += taken;
        if (ep->startup.state != before)
            advance(ep);
        if (ep->phase != IW_PHASE_STARTUP) {
            struct iw_iov rest = {(uint8_t *)data[i].base + taken, data[i].length - taken};
            if (rest.length > 0)
                iw_endpoint_input(ep, &rest, 1, ep->now);
            if (i + 1 < pieces)
                iw_endpoint_input(ep, data + i + 1, pieces - i - 1, ep->now);
            return;
        }
        ep->rx_pos += data[i].length - taken;
        if (taken < data[i].length && iw_ep_surplus(ep, octets[taken]))
            return;
    }
}

/* RFC 5044 §7.1.2: nothing may follow the Request before the Reply (OP-06). */
bool iw_ep_surplus(struct iw_endpoint *ep, uint8_t first)
{
    struct iw_fault surplus = {IW_CHECK_MPA_PD_SURPLUS, ep->startup.in_length, first, 0};
    if (iw_switch_ignored(ep->config.switches, surplus.check))
        return false;
    iw_ep_fault(ep, surplus, NULL, NULL, 0);
    ep->terminates_due = 0;
    /* After a part of the Reply, a FIN would look like the end of a whole Reply that was cut short.
     */
    ep->reset =
        ep->reset || (ep->startup.out_taken > 0 && ep->startup.out_taken < ep->startup.out_length);
    iw_mpa_startup_sent(&ep->startup, ep->startup.out_length);
    return true;
}

/* Whether --violate sends octets after the Request. They go out with it, as no Reply can come
 * between then. */
static bool has_early(const struct iw_endpoint *ep)
{
    const struct iw_switches *switches = ep->config.switches;
    return ep->config.role == IW_MPA_INITIATOR &&
           (iw_switch_violated(switches, IW_CHECK_MPA_INITIATOR_EARLY) ||
            iw_switch_violated(switches, IW_CHECK_MPA_PD_SURPLUS));
}

size_t iw_ep_startup_output(struct iw_endpoint *ep)
{
    const uint8_t *data;
    size_t length = iw_mpa_startup_output(&ep->startup, &data), pieces = 0;
    if (length > 0)
        ep->tx_startup[pieces++] = (struct iw_iov){(void *)(uintptr_t)data, length};
    size_t early = length > 0 && has_early(ep) ? sizeof(ep->early) : ep->early_left;
    if (early > 0)
        ep->tx_startup[pieces++] = (struct iw_iov){ep->early, early};
    return pieces;
}

void iw_ep_startup_sent(struct iw_endpoint *ep, size_t octets)
{
    const uint8_t *data;
    size_t left = iw_mpa_startup_output(&ep->startup, &data);
    size_t frame = octets < left ? octets : left, early = octets - frame;
    iw_mpa_startup_sent(&ep->startup, frame);
    if (left > 0 && frame == left) {
        iw_ep_trace(ep, IW_TRACE_STARTUP_OUT, ep->startup.out, ep->startup.out_length, 0, 0);
        if (has_early(ep))
            ep->early_left = sizeof(ep->early);
    }
    ep->early_left -= early < ep->early_left ? (uint32_t)early : ep->early_left;
}

int iw_endpoint_remake(struct iw_endpoint **ep, const struct iw_endpoint_config *config,
                       uint64_t now)
{
    struct iw_endpoint *old = *ep, *made;
    if (old->phase != IW_PHASE_STARTUP || old->startup.state != IW_MPA_REQUESTED)
        return IW_ERR_STATE;
    if (config->role != IW_MPA_RESPONDER)
        return IW_ERR_ARGUMENT;
    int result = iw_endpoint_create(old->domain, config, now, &made);
    if (result != IW_OK)
        return result;
    uint64_t deadline = old->deadline;
    struct iw_iov request = {old->startup.in, old->startup.in_length};
    if (request.length > sizeof(old->startup.in))
        request.length = sizeof(old->startup.in);
    iw_endpoint_set_emss(made, old->config.emss);
    iw_endpoint_input(made, &request, 1, now);
    if (made->phase == IW_PHASE_STARTUP) {
        made->deadline = deadline;
        made->events_taken = made->event_count;
    }
    iw_endpoint_destroy(old);
    *ep = made;
    return IW_OK;
}

int iw_endpoint_accept(struct iw_endpoint *ep, const void *private_data, size_t length,
                       uint64_t now)
{
    ep->now = now;
    if (ep->phase != IW_PHASE_STARTUP || ep->startup.state != IW_MPA_REQUESTED)
        return IW_ERR_STATE;
    if (iw_mpa_startup_accept(&ep->startup, private_data, length) != 0)
        return IW_ERR_ARGUMENT;
    advance(ep);
    return IW_OK;
}

int iw_endpoint_reject(struct iw_endpoint *ep, const void *private_data, size_t length,
                       uint64_t now)
{
    ep->now = now;
    if (ep->phase != IW_PHASE_STARTUP || ep->startup.state != IW_MPA_REQUESTED)
        return IW_ERR_STATE;
    if (iw_mpa_startup_reject(&ep->startup, private_data, length) != 0)
        return IW_ERR_ARGUMENT;
    if (iw_switch_violated(ep->config.switches, IW_CHECK_MPA_REJECT_CLOSE))
        iw_mpa_startup_sent(&ep->startup, ep->startup.out_length);
    advance(ep);
    return IW_OK;
}

unsigned iw_ep_rtr_opcode(const struct iw_endpoint *ep)
{
    /* A Write touches no queue at the peer, so it comes first; any common form is legal. */
    static const struct {
        uint8_t form, opcode;
    } forms[] = {{IW_MPA_RTR_WRITE, IW_OP_WRITE},
                 {IW_MPA_RTR_READ, IW_OP_READ_REQUEST},
                 {IW_MPA_RTR_SEND, IW_OP_SEND}};
    bool wrong = iw_switch_violated(ep->config.switches, IW_CHECK_MPA_RTR_FIRST);
    uint8_t fit = wrong ? (uint8_t)~ep->startup.agreed.rtr : ep->startup.agreed.rtr;
    if ((fit & ep->config.mpa.rtr_first) != 0)
        fit = ep->config.mpa.rtr_first;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if ((fit & forms[i].form) != 0)
            return forms[i].opcode;
    return IW_OP_TERMINATE; /* every form is agreed, so only another opcode can be wrong */
}
