/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_endpoint.h"

#include "iwarp/endpoint_transport.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it can do ---- */

static json_t *features(void *b)
{
    const struct agent_endpoint *a = b;
    json_t *object = json_pack("{s:b,s:b,s:[s,s,s],s:i,s:b,s:b,s:b,s:b,s:[s,s],s:[s,s,s,s,s,s]}",
                               "crc", 1, "markers", 1, "rtr", "send", "write", "read",
                               "max_private", (int)IW_MPA_PRIVATE_MAX, "switches", 1, "extensions",
                               a->defaults.extensions, "windows", 1, "streaming", 1, "reports",
                               "fault", "terminated", "access", "local-write", "remote-read",
                               "remote-write", "remote-invalidate", "remote-atomic", "bind");
    json_t *revisions = json_array(), *ops = json_array();
    /* The revisions of a connection unless `config` names a higher one. */
    for (int i = 0; i <= a->defaults.mpa.revision; i++)
        json_array_append_new(revisions, json_integer(i));
    for (size_t i = 0; i < IW_WORK_RECV; i++)
        json_array_append_new(ops, json_string(agent_op_names[i]));
    json_object_set_new(object, "revisions", revisions);
    json_object_set_new(object, "ops", ops);
    json_object_set_new(object, "config", agent_config_names());
    return object;
}

/* ---- listen, connect ---- */

static bool accepted(void *context, struct iw_connection *connection)
{
    struct agent_listener *l = context;
    struct agent_connection *c = agent_new_connection(l->agent);
    if (c == NULL)
        return false;
    c->connection = connection;
    c->listen = l->id;
    c->ask = l->ask;
    c->half_close = l->half_close;
    c->streaming = l->stream;
    if (l->reply.length > 0) {
        c->reply.data = malloc(l->reply.length);
        if (c->reply.data == NULL) {
            agent_drop_connection(c);
            return false;
        }
        memcpy(c->reply.data, l->reply.data, l->reply.length);
        c->reply.length = l->reply.length;
    }
    iw_connection_set_context(connection, c);
    if (c->streaming)
        agent_tell_stream(c);
    return true;
}

static bool find_domain(const struct agent_endpoint *a, uint64_t number, uint32_t *out, char *error)
{
    if (number > a->domain_count) {
        snprintf(error, AGENT_ERROR, "field pd: no protection domain %" PRIu64, number);
        return false;
    }
    *out = a->domains[number == 0 ? 0 : number - 1];
    return true;
}

/* Sets the configuration for every connection of a place. *switches belongs to the caller. */
static bool configure(struct agent_endpoint *a, const struct agent_place *p, enum iw_mpa_role role,
                      struct iw_endpoint_config *endpoint, struct iw_switches **switches,
                      char *error)
{
    *endpoint = a->defaults;
    endpoint->role = role;
    *switches = malloc(sizeof **switches);
    if (*switches == NULL) {
        snprintf(error, AGENT_ERROR, "no memory");
        return false;
    }
    if (find_domain(a, p->domain, &endpoint->pd, error) &&
        agent_config(p->config, endpoint, *switches, error))
        return true;
    free(*switches);
    return false;
}

static bool copy_octets(struct agent_octets *to, const struct agent_octets *from, char *error)
{
    *to = (struct agent_octets){NULL, 0};
    if (from->length == 0)
        return true;
    to->data = malloc(from->length);
    if (to->data == NULL) {
        snprintf(error, AGENT_ERROR, "no memory");
        return false;
    }
    memcpy(to->data, from->data, from->length);
    to->length = from->length;
    return true;
}

static bool do_listen(void *b, const struct agent_place *p, uint64_t *listen, uint16_t *port,
                      char *error)
{
    struct agent_endpoint *a = b;
    struct agent_listener *l = NULL;
    struct iw_endpoint_config endpoint;
    struct iw_switches *switches;
    struct agent_octets reply;
    for (size_t i = 0; i < AGENT_LISTENERS && l == NULL; i++)
        if (a->listeners[i].id == 0 && a->listeners[i].switches == NULL)
            l = &a->listeners[i];
    if (l == NULL) {
        snprintf(error, AGENT_ERROR, "at most %d listeners", AGENT_LISTENERS);
        return false;
    }
    if (!copy_octets(&reply, &p->private_data, error))
        return false;
    if (!configure(a, p, IW_MPA_RESPONDER, &endpoint, &switches, error)) {
        agent_octets_free(&reply);
        return false;
    }
    struct iw_listener_config config = {.domain = a->domain,
                                        .endpoint = endpoint,
                                        .ops = p->stream ? agent_stream_ops : agent_connection_ops,
                                        .accepted = accepted,
                                        .context = l,
                                        .limit = AGENT_CONNECTIONS};
    struct iw_listener *listener =
        iw_transport_listen(a->reactor, &p->at, &config, error, AGENT_ERROR);
    if (listener == NULL) {
        agent_octets_free(&reply);
        free(switches);
        return false;
    }
    *l = (struct agent_listener){.id = ++a->last_id,
                                 .agent = a,
                                 .listener = listener,
                                 .ask = p->ask,
                                 .half_close = p->half_close,
                                 .stream = p->stream,
                                 .reply = reply,
                                 .switches = switches};
    *listen = l->id;
    *port = iw_listener_port(listener);
    return true;
}

/* Closes a listener. Its switches stay: connections that came through it use them. */
static void close_listener(struct agent_listener *l)
{
    iw_listener_destroy(l->listener);
    agent_octets_free(&l->reply);
    l->listener = NULL;
    l->id = 0;
}

static bool do_unlisten(void *b, uint64_t listen, char *error)
{
    struct agent_endpoint *a = b;
    for (size_t i = 0; listen != 0 && i < AGENT_LISTENERS; i++)
        if (a->listeners[i].id == listen) {
            close_listener(&a->listeners[i]);
            return true;
        }
    snprintf(error, AGENT_ERROR, "field listen: no listener %" PRIu64, listen);
    return false;
}

static bool do_connect(void *b, const struct agent_place *p, uint64_t *conn, char *error)
{
    struct agent_endpoint *a = b;
    struct iw_endpoint_config endpoint;
    struct iw_switches *switches;
    if (!configure(a, p, IW_MPA_INITIATOR, &endpoint, &switches, error))
        return false;
    endpoint.private_data = p->private_data.data;
    endpoint.private_length = p->private_data.length;
    struct agent_connection *c = agent_new_connection(a);
    if (c == NULL) {
        free(switches);
        snprintf(error, AGENT_ERROR, "at most %d connections", AGENT_CONNECTIONS);
        return false;
    }
    c->half_close = p->half_close;
    c->streaming = p->stream;
    c->switches = switches;
    c->connection = iw_transport_connect(a->reactor, a->domain, &p->at, &endpoint,
                                         p->stream ? &agent_stream_ops : &agent_connection_ops, c,
                                         error, AGENT_ERROR);
    if (c->connection == NULL) {
        agent_drop_connection(c);
        return false;
    }
    *conn = c->id;
    return true;
}

/* ---- connections ---- */

static bool do_answer(void *b, uint64_t conn, bool accept, const struct agent_octets *data,
                      char *error)
{
    struct agent_connection *c = agent_find_connection(b, conn, error);
    if (c == NULL)
        return false;
    struct iw_endpoint *ep = iw_connection_endpoint(c->connection);
    uint64_t now = iw_transport_now();
    int r = accept ? iw_endpoint_accept(ep, data->data, data->length, now)
                   : iw_endpoint_reject(ep, data->data, data->length, now);
    iw_connection_kick(c->connection);
    if (r != IW_OK)
        snprintf(error, AGENT_ERROR, "%s",
                 r == IW_ERR_STATE ? "no Request waits for an answer" : "private: too long");
    return r == IW_OK;
}

static bool do_close(void *b, uint64_t conn, enum agent_how how, uint8_t code, char *error)
{
    struct agent_connection *c = agent_find_connection(b, conn, error);
    if (c == NULL)
        return false;
    struct iw_endpoint *ep = iw_connection_endpoint(c->connection);
    uint64_t now = iw_transport_now();
    if (how == AGENT_GRACEFUL)
        iw_endpoint_shutdown(ep, now);
    else
        iw_endpoint_abort(ep, how == AGENT_TERMINATE, code, now);
    iw_connection_kick(c->connection);
    return true;
}

/* ---- streaming mode (RFC 5044 §7.1.2, §7.1.3) ---- */

static struct agent_connection *find_streaming(struct agent_endpoint *a, uint64_t id, char *error)
{
    struct agent_connection *c = agent_find_connection(a, id, error);
    if (c == NULL || c->streaming)
        return c;
    snprintf(error, AGENT_ERROR, "field conn: not in streaming mode");
    return NULL;
}

static bool do_stream_send(void *b, uint64_t conn, const struct agent_octets *octets, char *error)
{
    struct agent_connection *c = find_streaming(b, conn, error);
    if (c == NULL)
        return false;
    if (iw_connection_stream(c->connection, octets->data, octets->length) == 0)
        return true;
    snprintf(error, AGENT_ERROR, "no memory");
    return false;
}

static bool do_stream_take(void *b, uint64_t conn, uint8_t *out, size_t room, size_t *length,
                           char *error)
{
    struct agent_connection *c = find_streaming(b, conn, error);
    if (c == NULL)
        return false;
    struct agent_octets *s = &c->streamed;
    *length = s->length < room ? s->length : room;
    if (*length == 0)
        return true;
    memcpy(out, s->data, *length);
    s->length -= *length;
    memmove(s->data, s->data + *length, s->length);
    return true;
}

/* Starts MPA, which gets the octets that came and were not taken. */
static bool do_start(void *b, uint64_t conn, char *error)
{
    struct agent_connection *c = find_streaming(b, conn, error);
    if (c == NULL)
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

static bool do_domain(void *b, uint64_t *domain, char *error)
{
    struct agent_endpoint *a = b;
    if (a->domain_count == AGENT_DOMAINS) {
        snprintf(error, AGENT_ERROR, "at most %d protection domains", AGENT_DOMAINS);
        return false;
    }
    a->domains[a->domain_count] = iw_domain_pd(a->domain);
    *domain = ++a->domain_count;
    return true;
}

/* Finds the stream of a connection; 0, any stream, if there is no number. */
static bool find_stream(struct agent_endpoint *a, uint64_t conn, uint64_t *stream, char *error)
{
    *stream = 0;
    if (conn == 0)
        return true;
    struct agent_connection *c = agent_find_connection(a, conn, error);
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
                          .access = region->rights};
    if (!find_domain(a, region->domain, &r.pd, error) ||
        !find_stream(a, region->conn, &r.stream, error))
        return false;
    int result = iw_domain_register(a->domain, &r);
    if (result != 0)
        snprintf(error, AGENT_ERROR, "%s",
                 result == -2 ? "field to: TO plus length wraps" : "no STag is left");
    m->stag = r.stag;
    m->to = r.to;
    return result == 0;
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
    if (result != 0) {
        snprintf(error, AGENT_ERROR, "%s", reasons[-result]);
        return false;
    }
    *stag = w.stag;
    *to = w.to;
    return true;
}

static bool do_invalidate(void *b, uint32_t stag, char *error)
{
    struct agent_endpoint *a = b;
    if (iw_domain_invalidate(a->domain, stag) == 0)
        return true;
    snprintf(error, AGENT_ERROR, "the STag is not valid any more");
    return false;
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
    if (r != IW_OK)
        snprintf(error, AGENT_ERROR, "%s", reasons[-r]);
    return r == IW_OK;
}

static void place_pieces(const struct agent_work *w, struct iw_iov *sge)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct agent_piece *p = &w->pieces[i];
        sge[i] =
            (struct iw_iov){p->memory->arena + p->memory->guard + p->offset, (size_t)p->length};
    }
}

static bool do_receive(void *b, const struct agent_work *w, char *error)
{
    struct iw_iov sge[AGENT_SGE_MAX];
    struct agent_connection *c = agent_find_connection(b, w->conn, error);
    if (c == NULL)
        return false;
    place_pieces(w, sge);
    return posted(
        iw_endpoint_post_recv(iw_connection_endpoint(c->connection), w->work.id, sge, w->count),
        error);
}

static bool do_post(void *b, const struct agent_work *w, char *error)
{
    struct iw_iov sge[AGENT_SGE_MAX];
    struct iw_work work = w->work;
    struct agent_connection *c = agent_find_connection(b, w->conn, error);
    if (c == NULL)
        return false;
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

static bool idle(void *b)
{
    return ((struct agent_endpoint *)b)->live == 0;
}

static void hang_up(void *b)
{
    struct agent_endpoint *a = b;
    for (size_t i = 0; i < AGENT_LISTENERS; i++)
        if (a->listeners[i].id != 0)
            close_listener(&a->listeners[i]);
    for (size_t i = 0; i < AGENT_CONNECTIONS; i++)
        if (a->connections[i].id != 0) {
            iw_connection_destroy(a->connections[i].connection);
            agent_drop_connection(&a->connections[i]);
        }
    for (size_t i = 0; i < AGENT_LISTENERS; i++) {
        free(a->listeners[i].switches);
        a->listeners[i] = (struct agent_listener){0};
    }
}

static void reset(void *b)
{
    struct agent_endpoint *a = b;
    a->domain_count = 1;
    a->last_id = 0;
}

static void destroy(void *b)
{
    struct agent_endpoint *a = b;
    if (a == NULL)
        return;
    hang_up(a);
    iw_domain_destroy(a->domain);
    iw_host_env_destroy(&a->host);
    free(a);
}

static void *create(struct iw_reactor *reactor, const void *settings, agent_emit_fn emit,
                    void *context)
{
    struct agent_endpoint *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    struct iw_domain_limits limits = {AGENT_MEMORIES + AGENT_WINDOWS, AGENT_BUFFERS};
    a->reactor = reactor;
    a->defaults = *(const struct iw_endpoint_config *)settings;
    a->emit = emit;
    a->context = context;
    iw_host_env_init(&a->host, false);
    a->domain = iw_domain_create(&a->host.env, &limits);
    if (a->domain == NULL) {
        destroy(a);
        return NULL;
    }
    a->domains[0] = iw_domain_pd(a->domain);
    a->domain_count = 1;
    return a;
}

const struct agent_backend agent_endpoint_backend = {.name = "endpoint",
                                                     .create = create,
                                                     .destroy = destroy,
                                                     .hang_up = hang_up,
                                                     .reset = reset,
                                                     .features = features,
                                                     .idle = idle,
                                                     .listen = do_listen,
                                                     .unlisten = do_unlisten,
                                                     .connect = do_connect,
                                                     .answer = do_answer,
                                                     .close = do_close,
                                                     .stream_send = do_stream_send,
                                                     .stream_take = do_stream_take,
                                                     .start = do_start,
                                                     .domain = do_domain,
                                                     .enrol = do_enrol,
                                                     .invalidate = do_invalidate,
                                                     .forget = do_forget,
                                                     .bind = do_bind,
                                                     .receive = do_receive,
                                                     .post = do_post};
