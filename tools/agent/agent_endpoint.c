/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_endpoint.h"
#include "endpoint_options.h"

#include "iwarp/endpoint_transport.h"

#include <stdlib.h>
#include <string.h>

/* ---- what it can do ---- */

static json_t *features(void *b)
{
    const struct agent_endpoint *a = b;
    json_t *revisions = json_array();
    /* The revisions of a connection unless `config` names a higher one. */
    for (int i = 0; i <= a->defaults.mpa.revision; i++)
        json_array_append_new(revisions, json_integer(i));
    return json_pack("{s:b,s:b,s:o,s:i,s:b,s:b,s:b,s:b,s:[s,s],s:o,s:o,s:o,s:o}", "crc", 1,
                     "markers", 1, "rtr",
                     agent_strings(iw_endpoint_rtr_names, IW_ENDPOINT_RTR_FORMS), "max_private",
                     (int)IW_MPA_PRIVATE_MAX, "switches", 1, "extensions", a->defaults.extensions,
                     "windows", 1, "streaming", 1, "reports", "fault", "terminated", "access",
                     agent_strings(agent_right_names, AGENT_RIGHTS), "revisions", revisions, "ops",
                     agent_strings(agent_op_names, IW_WORK_RECV), "config", agent_config_names());
}

/* ---- listen, connect ---- */

static bool accepted(void *context, struct iw_connection *connection)
{
    char error[AGENT_ERROR];
    struct endpoint_listener *l = context;
    struct endpoint_connection *c = agent_new_connection(l->agent, error);
    if (c == NULL)
        return false;
    c->connection = connection;
    c->base.listen = l->base.id;
    c->listener = &l->base;
    c->half_close = l->half_close;
    c->streaming = l->stream;
    iw_connection_set_context(connection, c);
    if (c->streaming)
        agent_report_stream(c);
    return true;
}

/* Sets the configuration for every connection of a place. Returns its switches, which belong to the
 * caller; NULL with a text on failure. */
static struct iw_switches *configure(struct agent_endpoint *a, const struct agent_place *p,
                                     enum iw_mpa_role role, struct iw_endpoint_config *endpoint,
                                     char *error)
{
    struct iw_switches *switches = malloc(sizeof(*switches));
    *endpoint = a->defaults;
    endpoint->role = role;
    endpoint->pd = a->domains[p->domain];
    if (switches != NULL && agent_config(p->config, endpoint, switches, error))
        return switches;
    free(switches);
    return NULL;
}

static bool do_listen(void *b, void *slot, const struct agent_place *p, uint16_t *port, char *error)
{
    struct agent_endpoint *a = b;
    struct endpoint_listener *l = slot;
    struct iw_listener_config config = {.domain = a->domain,
                                        .ops = p->stream ? agent_stream_ops : agent_connection_ops,
                                        .accepted = accepted,
                                        .context = l,
                                        .limit = AGENT_CONNECTIONS};
    struct iw_switches *switches = configure(a, p, IW_MPA_RESPONDER, &config.endpoint, error);
    if (switches == NULL)
        return false;
    struct iw_listener *listener =
        iw_transport_listen(a->core.reactor, &p->at, &config, error, AGENT_ERROR);
    if (listener == NULL) {
        free(switches);
        return false;
    }
    *l = (struct endpoint_listener){.agent = a,
                                    .listener = listener,
                                    .half_close = p->half_close,
                                    .stream = p->stream,
                                    .switches = switches};
    *port = iw_listener_port(listener);
    return true;
}

static void do_unlisten(void *listener)
{
    struct endpoint_listener *l = listener;
    iw_listener_destroy(l->listener);
    l->listener = NULL;
    l->base.id = AGENT_GONE;
}

static bool do_connect(void *b, const struct agent_place *p, uint64_t *conn, char *error)
{
    struct agent_endpoint *a = b;
    struct iw_endpoint_config endpoint;
    struct iw_switches *switches = configure(a, p, IW_MPA_INITIATOR, &endpoint, error);
    struct endpoint_connection *c = switches == NULL ? NULL : agent_new_connection(a, error);
    if (c == NULL) {
        free(switches);
        return false;
    }
    endpoint.private_data = p->private_data.data;
    endpoint.private_length = p->private_data.length;
    c->half_close = p->half_close;
    c->streaming = p->stream;
    c->switches = switches;
    c->connection = iw_transport_connect(a->core.reactor, a->domain, &p->at, &endpoint,
                                         p->stream ? &agent_stream_ops : &agent_connection_ops, c,
                                         error, AGENT_ERROR);
    if (c->connection == NULL) {
        agent_drop_connection(c);
        return false;
    }
    *conn = c->base.id;
    return true;
}

/* ---- connections ---- */

static bool do_answer(void *connection, bool accept, const struct agent_octets *data, char *error)
{
    struct endpoint_connection *c = connection;
    struct iw_endpoint *ep = iw_connection_endpoint(c->connection);
    uint64_t now = iw_transport_now();
    int r = accept ? iw_endpoint_accept(ep, data->data, data->length, now)
                   : iw_endpoint_reject(ep, data->data, data->length, now);
    iw_connection_kick(c->connection);
    return r == IW_OK || agent_fail(error, r == IW_ERR_STATE ? "no Request waits for an answer"
                                                             : "private: too long");
}

static bool do_close(void *connection, enum agent_how how, uint8_t code, char *error)
{
    struct endpoint_connection *c = connection;
    struct iw_endpoint *ep = iw_connection_endpoint(c->connection);
    uint64_t now = iw_transport_now();
    (void)error;
    if (how == AGENT_GRACEFUL)
        iw_endpoint_shutdown(ep, now);
    else
        iw_endpoint_abort(ep, how == AGENT_TERMINATE, code, now);
    iw_connection_kick(c->connection);
    return true;
}

/* ---- streaming mode (RFC 5044 §7.1.2, §7.1.3) ---- */

static bool is_streaming(const struct endpoint_connection *c, char *error)
{
    return c->streaming || agent_fail(error, "field conn: not in streaming mode");
}

static bool do_stream_send(void *connection, const struct agent_octets *octets, char *error)
{
    struct endpoint_connection *c = connection;
    return is_streaming(c, error) &&
           !iw_connection_stream(c->connection, octets->data, octets->length);
}

static bool do_stream_take(void *connection, uint8_t *out, size_t room, size_t *length, char *error)
{
    struct endpoint_connection *c = connection;
    struct agent_octets *s = &c->streamed;
    if (!is_streaming(c, error))
        return false;
    *length = s->length < room ? s->length : room;
    if (*length == 0)
        return true;
    memcpy(out, s->data, *length);
    s->length -= *length;
    memmove(s->data, s->data + *length, s->length);
    return true;
}

/* Starts MPA, which gets the octets that came and were not taken. */
static bool do_start(void *connection, char *error)
{
    struct endpoint_connection *c = connection;
    if (!is_streaming(c, error))
        return false;
    c->streaming = false;
    iw_connection_start(c->connection);
    struct iw_iov rest = {c->streamed.data, c->streamed.length};
    if (rest.length > 0)
        iw_endpoint_input(iw_connection_endpoint(c->connection), &rest, 1, iw_transport_now());
    agent_octets_free(&c->streamed);
    iw_connection_kick(c->connection);
    return true;
}

/* ---- memory ---- */

/* Finds the stream of a connection; 0, any stream, if there is no number. */
static bool find_stream(struct agent_endpoint *a, uint64_t conn, uint64_t *stream, char *error)
{
    *stream = 0;
    if (conn == 0)
        return true;
    struct endpoint_connection *c = agent_slot_find(&a->core.connections, conn, error);
    if (c != NULL)
        *stream = iw_endpoint_stream(iw_connection_endpoint(c->connection));
    return c != NULL;
}

static bool do_enrol(void *b, struct agent_memory *m, const struct agent_region *region,
                     char *error)
{
    struct agent_endpoint *a = b;
    uint8_t *base = m->arena + m->guard;
    /* Like a verbs provider: TOs are addresses unless asked otherwise. */
    struct iw_region r = {.base = base,
                          .length = m->length,
                          .to = region->to_given ? region->to : (uint64_t)(uintptr_t)base,
                          .guard = m->guard,
                          .access = region->rights,
                          .pd = a->domains[region->domain]};
    if (!find_stream(a, region->conn, &r.stream, error))
        return false;
    int result = iw_domain_register(a->domain, &r);
    m->stag = r.stag;
    m->to = r.to;
    return !result ||
           agent_fail(error, result == -2 ? "field to: TO plus length wraps" : "no STag is left");
}

static bool do_bind(void *b, const struct agent_binding *binding, uint32_t *stag, uint64_t *to,
                    char *error)
{
    static const char *const reasons[] = {
        [1] = "no STag is left",
        [2] = "field length: expected a part of the memory",
        [3] = "the memory's STag is dead, or its rights do not permit such a window"};
    struct agent_endpoint *a = b;
    struct iw_region w = {.to = binding->memory->to + binding->offset,
                          .length = binding->length,
                          .access = binding->rights,
                          .stag = *stag};
    if (!find_stream(a, binding->conn, &w.stream, error))
        return false;
    int result = iw_domain_bind(a->domain, binding->memory->stag, &w);
    if (result)
        return agent_fail(error, "%s", reasons[-result]);
    *stag = w.stag;
    *to = w.to;
    return true;
}

static bool do_invalidate(void *b, uint32_t stag, char *error)
{
    struct agent_endpoint *a = b;
    return !iw_domain_invalidate(a->domain, stag) ||
           agent_fail(error, "the STag is not valid any more");
}

static void do_forget(void *b, uint32_t stag)
{
    (void)iw_domain_deregister(((struct agent_endpoint *)b)->domain, stag);
}

/* ---- work ---- */

static bool posted(int r, char *error)
{
    static const char *const reasons[] = {
        [-IW_ERR_MEMORY] = "no memory",
        [-IW_ERR_ARGUMENT] =
            /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text on two lines */
        "not a legal request (too long, a Read or atomic although ORD is 0, or an "
        "operation of RFC 7306 without extensions)",
        [-IW_ERR_STATE] = "the connection is over",
        [-IW_ERR_FULL] = "the queue is full"};
    return r == IW_OK || agent_fail(error, "%s", reasons[-r]);
}

static void place_pieces(const struct agent_work *w, struct iw_iov *sge)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct agent_piece *p = &w->pieces[i];
        sge[i] =
            (struct iw_iov){p->memory->arena + p->memory->guard + p->offset, (size_t)p->length};
    }
}

static bool do_receive(void *connection, const struct agent_work *w, char *error)
{
    struct endpoint_connection *c = connection;
    struct iw_iov sge[AGENT_SGE_MAX];
    place_pieces(w, sge);
    return posted(
        iw_endpoint_post_recv(iw_connection_endpoint(c->connection), w->work.id, sge, w->count),
        error);
}

static bool do_post(void *connection, const struct agent_work *w, char *error)
{
    struct endpoint_connection *c = connection;
    struct iw_iov sge[AGENT_SGE_MAX];
    struct iw_work work = w->work;
    place_pieces(w, sge);
    if (work.opcode == IW_WORK_READ) {
        work.sink_stag = w->pieces[0].memory->stag;
        work.sink_to = w->pieces[0].memory->to + w->pieces[0].offset;
    } else {
        work.sge = sge;
        work.sge_count = w->count;
    }
    int r = iw_endpoint_post(iw_connection_endpoint(c->connection), &work, iw_transport_now());
    iw_connection_kick(c->connection);
    return posted(r, error);
}

/* ---- the whole ---- */

static void hang_up(void *b)
{
    struct agent_endpoint *a = b;
    for (size_t i = 0; i < AGENT_CONNECTIONS; i++)
        if (a->connections[i].base.id != 0) {
            iw_connection_destroy(a->connections[i].connection);
            agent_drop_connection(&a->connections[i]);
        }
    for (size_t i = 0; i < AGENT_LISTENERS; i++) {
        struct endpoint_listener *l = &a->listeners[i];
        iw_listener_destroy(l->listener);
        agent_octets_free(&l->base.reply);
        free(l->switches);
        *l = (struct endpoint_listener){0};
    }
}

static void destroy(void *b)
{
    struct agent_endpoint *a = b;
    hang_up(a);
    iw_domain_destroy(a->domain);
    iw_host_env_destroy(&a->host);
    free(a);
}

static struct agent_core *create(struct iw_reactor *reactor, const void *settings,
                                 agent_emit_fn emit, void *context)
{
    struct agent_endpoint *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return NULL;
    struct iw_domain_limits limits = {AGENT_MEMORIES + AGENT_WINDOWS, AGENT_BUFFERS};
    a->core =
        (struct agent_core){.reactor = reactor,
                            .emit = emit,
                            .context = context,
                            .listeners = {AGENT_SLOTS(a->listeners), "listen", "listener"},
                            .connections = {AGENT_SLOTS(a->connections), "conn", "connection"},
                            .domain_count = 1};
    a->defaults = *(const struct iw_endpoint_config *)settings;
    iw_host_env_init(&a->host, false);
    a->domain = iw_domain_create(&a->host.env, &limits);
    if (a->domain == NULL) {
        destroy(a);
        return NULL;
    }
    for (size_t i = 0; i < AGENT_DOMAINS; i++)
        a->domains[i] = iw_domain_pd(a->domain);
    return &a->core;
}

const struct agent_backend agent_endpoint_backend = {.name = "endpoint",
                                                     .create = create,
                                                     .destroy = destroy,
                                                     .hang_up = hang_up,
                                                     .features = features,
                                                     .listen = do_listen,
                                                     .unlisten = do_unlisten,
                                                     .connect = do_connect,
                                                     .answer = do_answer,
                                                     .close = do_close,
                                                     .stream_send = do_stream_send,
                                                     .stream_take = do_stream_take,
                                                     .start = do_start,
                                                     .enrol = do_enrol,
                                                     .invalidate = do_invalidate,
                                                     .forget = do_forget,
                                                     .bind = do_bind,
                                                     .receive = do_receive,
                                                     .post = do_post};
