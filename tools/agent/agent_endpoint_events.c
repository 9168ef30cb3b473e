/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_endpoint.h"
#include "endpoint_options.h"

#include <stdlib.h>
#include <string.h>

struct endpoint_connection *agent_new_connection(struct agent_endpoint *a, char *error)
{
    struct endpoint_connection *c = agent_slot_free(&a->core.connections, error);
    if (c == NULL)
        return NULL;
    *c = (struct endpoint_connection){.base = {.id = ++a->core.last_id, .core = &a->core}};
    a->core.live++;
    return c;
}

static json_t *private_data(struct iw_endpoint *ep)
{
    const uint8_t *data = NULL;
    size_t length = iw_endpoint_private(ep, &data);
    return iw_json_hex(data, length);
}

static json_t *rtr_names(uint8_t rtr)
{
    json_t *names = json_array();
    for (int i = 0; i < IW_ENDPOINT_RTR_FORMS; i++)
        if (rtr & 1u << i)
            json_array_append_new(names, json_string(iw_endpoint_rtr_names[i]));
    return names;
}

static void established(struct endpoint_connection *c, struct iw_endpoint *ep)
{
    const struct iw_mpa_agreed *g = iw_endpoint_agreed(ep);
    agent_report(&c->base, "established",
                 "{s:o,s:{s:i,s:i,s:b,s:b,s:b,s:b,s:b,s:o,s:i,s:i,s:i,s:i},s:o*}", "private",
                 private_data(ep), "agreed", "revision", g->revision, "version", g->version, "crc",
                 g->crc, "tx_markers", g->tx_markers, "rx_markers", g->rx_markers, "enhanced",
                 g->enhanced, "peer_to_peer", g->peer_to_peer, "rtr", rtr_names(g->rtr), "ird",
                 g->ird, "ord", g->ord, "peer_ird", g->peer_ird, "peer_ord", g->peer_ord, "listen",
                 agent_listen_of(&c->base));
}

static json_t *terminate(const struct iw_rdmap_terminate *t)
{
    return json_pack("{s:i,s:i,s:i,s:i,s:s}", "layer", t->layer, "type", t->etype, "code", t->code,
                     "flags", t->flags, "meaning", iw_wire_term_name(t->layer, t->etype, t->code));
}

static void fault(struct endpoint_connection *c, const struct iw_event *e)
{
    const struct iw_rule *rule = iw_check_rule(e->fault.check);
    agent_report(&c->base, "fault", "{s:s,s:s,s:I,s:o*}", "check",
                 iw_check_info(e->fault.check)->name, "rule", rule == NULL ? "" : rule->id, "pos",
                 (json_int_t)e->fault.pos, "terminate",
                 e->terminate_valid ? terminate(&e->terminate) : NULL);
}

static void closed(struct endpoint_connection *c, const struct iw_event *e)
{
    int number = iw_connection_error(c->connection);
    const struct iw_rule *rule = iw_check_rule(e->fault.check);
    agent_report(&c->base, "closed", "{s:b,s:s,s:s*,s:s*,s:s*}", "graceful", e->graceful, "cause",
                 iw_cause_name(e->cause), "check",
                 rule == NULL ? NULL : iw_check_info(e->fault.check)->name, "rule",
                 rule == NULL ? NULL : rule->id, "error", number == 0 ? NULL : strerror(number));
}

static void happened(struct endpoint_connection *c, struct iw_endpoint *ep,
                     const struct iw_event *e)
{
    uint64_t now = iw_transport_now();
    const struct agent_octets *reply;
    json_t *event;
    switch (e->kind) {
    case IW_EVENT_REQUEST:
        reply = &c->listener->reply;
        if (c->listener->ask)
            agent_report(&c->base, "request", "{s:o*,s:o}", "listen", agent_listen_of(&c->base),
                         "private", private_data(ep));
        else if (iw_endpoint_accept(ep, reply->data, reply->length, now) != IW_OK)
            /* Private data that does not fit shows only now: an enhanced Request leaves less. */
            iw_endpoint_abort(ep, false, 0, now);
        break;
    case IW_EVENT_ESTABLISHED:
        established(c, ep);
        break;
    case IW_EVENT_REJECTED:
        agent_report(&c->base, "rejected", "{s:o}", "private", private_data(ep));
        break;
    case IW_EVENT_FAULT:
        fault(c, e);
        break;
    case IW_EVENT_TERMINATED:
        event = terminate(&e->terminate);
        json_object_set_new(event, "event", json_string("terminated"));
        agent_report(&c->base, NULL, "o", event);
        break;
    case IW_EVENT_PEER_CLOSED:
        agent_report(&c->base, "peer-closed", "{}");
        if (!c->half_close)
            iw_endpoint_shutdown(ep, now);
        break;
    case IW_EVENT_CLOSED:
        closed(c, e);
        break;
    default:
        break;
    }
}

static void completed(struct endpoint_connection *c, const struct iw_completion *done)
{
    static const char *const statuses[] = {"ok", "flushed", "local-fault", "remote-fault"};
    bool atomic = done->opcode == IW_WORK_FETCH_ADD || done->opcode == IW_WORK_CMP_SWAP;
    agent_report(
        &c->base, "completion", "{s:I,s:s,s:s,s:I,s:b,s:o*,s:o*,s:o*,s:s*}", "work",
        (json_int_t)done->id, "op", agent_op_names[done->opcode], "status", statuses[done->status],
        "length", (json_int_t)done->length, "solicited", done->solicited, "invalidated",
        done->invalidated ? json_integer(done->invalidate_stag) : NULL, "immediate",
        done->immediate ? iw_json_hex(done->immediate_data, sizeof(done->immediate_data)) : NULL,
        "original", atomic && done->status == IW_STATUS_OK ? iw_json_wide(done->original) : NULL,
        "check", done->check == IW_CHECK_NONE ? NULL : iw_check_info(done->check)->name);
}

static void report_completions(struct endpoint_connection *c, struct iw_endpoint *ep)
{
    struct iw_completion done[16];
    size_t n;
    while ((n = iw_endpoint_poll(ep, done, COUNT(done))) > 0)
        for (size_t i = 0; i < n; i++)
            completed(c, &done[i]);
}

static void ready(void *context, struct iw_connection *connection)
{
    struct endpoint_connection *c = context;
    struct iw_endpoint *ep = iw_connection_endpoint(connection);
    struct iw_event event;
    /* Events come in the order of their kinds. Completions come after the start-up and before the
     * connection's end. */
    while (iw_endpoint_event(ep, &event)) {
        if (event.kind > IW_EVENT_REJECTED)
            report_completions(c, ep);
        happened(c, ep, &event);
    }
    report_completions(c, ep);
}

static void ended(void *context, struct iw_connection *connection)
{
    struct endpoint_connection *c = context;
    (void)connection;
    agent_drop_connection(c);
}

void agent_report_stream(struct endpoint_connection *c)
{
    agent_report(&c->base, "stream", "{s:I,s:o*}", "length", (json_int_t)c->streamed.length,
                 "listen", agent_listen_of(&c->base));
}

/* Gives all octets to the application until it says `start`, which returns those it did not take.
 * The connection ends if it leaves too many untaken. */
static size_t streamed(void *context, struct iw_connection *connection, const uint8_t *octets,
                       size_t length)
{
    struct endpoint_connection *c = context;
    struct agent_octets *s = &c->streamed;
    uint8_t *grown =
        length > AGENT_STREAM_MAX - s->length ? NULL : realloc(s->data, s->length + length);
    if (grown == NULL) {
        iw_endpoint_abort(iw_connection_endpoint(connection), false, 0, iw_transport_now());
        return length;
    }
    memcpy(grown + s->length, octets, length);
    s->data = grown;
    s->length += length;
    agent_report_stream(c);
    return length;
}

const struct iw_connection_ops agent_connection_ops = {.ready = ready, .ended = ended};
const struct iw_connection_ops agent_stream_ops = {
    .ready = ready, .ended = ended, .stream = streamed};

void agent_drop_connection(struct endpoint_connection *c)
{
    c->base.core->live--;
    agent_octets_free(&c->streamed);
    free(c->switches);
    *c = (struct endpoint_connection){0};
}
