/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- listen, connect, accept, reject, close ---- */

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
    return true;
}

/* The fields that listen and connect share. */
struct place {
    const char *host, *accept;
    uint64_t port, pd;
    const json_t *config;
    struct agent_octets private_data;
    bool half_close;
    struct iw_host_port at;
    struct iw_endpoint_config endpoint;
    struct iw_switches *switches;
};

static bool take_place(struct agent_endpoint *a, const json_t *request, bool listening,
                       struct place *p, char *error)
{
    *p = (struct place){.host = "127.0.0.1", .accept = "auto", .pd = a->pd};
    const struct agent_field fields[] = {
        {"host", AGENT_STRING, !listening, 0, &p->host, NULL},
        {"port", AGENT_NUMBER, !listening, 65535, &p->port, NULL},
        {"config", AGENT_OBJECT, false, 0, &p->config, NULL},
        {"private", AGENT_OCTETS, false, 0, &p->private_data, NULL},
        {"pd", AGENT_NUMBER, false, UINT32_MAX, &p->pd, NULL},
        {"half_close", AGENT_BOOL, false, 0, &p->half_close, NULL},
        {"accept", AGENT_STRING, false, 0, &p->accept, NULL},
    };
    if (!agent_take(request, fields, COUNT(fields) - (listening ? 0 : 1), error))
        return false;
    if (strcmp(p->accept, "auto") != 0 && strcmp(p->accept, "ask") != 0) {
        snprintf(error, AGENT_ERROR, "field accept: expected auto or ask");
        return false;
    }
    if (strlen(p->host) >= sizeof p->at.host) {
        snprintf(error, AGENT_ERROR, "field host: longer than %zu octets", sizeof p->at.host - 1);
        return false;
    }
    memcpy(p->at.host, p->host, strlen(p->host) + 1);
    p->at.port = (uint16_t)p->port;
    p->endpoint = a->defaults;
    p->endpoint.role = listening ? IW_MPA_RESPONDER : IW_MPA_INITIATOR;
    p->endpoint.pd = (uint32_t)p->pd;
    p->switches = malloc(sizeof *p->switches);
    if (p->switches == NULL) {
        snprintf(error, AGENT_ERROR, "no memory");
        return false;
    }
    return agent_config(p->config, &p->endpoint, p->switches, error);
}

static void drop_place(struct place *p)
{
    agent_octets_free(&p->private_data);
    free(p->switches);
}

static json_t *do_listen(struct agent_endpoint *a, const json_t *request, char *error)
{
    struct place p;
    struct agent_listener *l = NULL;
    for (size_t i = 0; i < AGENT_LISTENERS && l == NULL; i++)
        if (a->listeners[i].id == 0 && a->listeners[i].switches == NULL)
            l = &a->listeners[i];
    if (l == NULL) {
        snprintf(error, AGENT_ERROR, "at most %d listeners", AGENT_LISTENERS);
        return NULL;
    }
    if (!take_place(a, request, true, &p, error)) {
        drop_place(&p);
        return NULL;
    }
    struct iw_listener_config config = {.domain = a->domain,
                                        .endpoint = p.endpoint,
                                        .ops = agent_connection_ops,
                                        .accepted = accepted,
                                        .context = l,
                                        .limit = AGENT_CONNECTIONS};
    *l = (struct agent_listener){.agent = a,
                                 .ask = strcmp(p.accept, "ask") == 0,
                                 .half_close = p.half_close,
                                 .reply = p.private_data};
    struct iw_listener *listener =
        iw_transport_listen(a->reactor, &p.at, &config, error, AGENT_ERROR);
    if (listener == NULL) {
        *l = (struct agent_listener){0};
        drop_place(&p);
        return NULL;
    }
    l->id = ++a->last_id;
    l->listener = listener;
    l->switches = p.switches;
    return json_pack("{s:I,s:i}", "listen", (json_int_t)l->id, "port",
                     (int)iw_listener_port(listener));
}

static json_t *do_unlisten(struct agent_endpoint *a, const json_t *request, char *error)
{
    uint64_t id = 0;
    const struct agent_field fields[] = {{"listen", AGENT_NUMBER, true, UINT64_MAX, &id, NULL}};
    if (!agent_take(request, fields, COUNT(fields), error))
        return NULL;
    for (size_t i = 0; id != 0 && i < AGENT_LISTENERS; i++) {
        struct agent_listener *l = &a->listeners[i];
        if (l->id != id)
            continue;
        iw_listener_destroy(l->listener);
        agent_octets_free(&l->reply);
        l->listener = NULL;
        l->id = 0;
        return json_object();
    }
    snprintf(error, AGENT_ERROR, "field listen: no listener %" PRIu64, id);
    return NULL;
}

static json_t *do_connect(struct agent_endpoint *a, const json_t *request, char *error)
{
    struct place p;
    struct agent_connection *c = NULL;
    json_t *reply = NULL;
    if (!take_place(a, request, false, &p, error)) {
        drop_place(&p);
        return NULL;
    }
    p.endpoint.private_data = p.private_data.data;
    p.endpoint.private_length = p.private_data.length;
    c = agent_new_connection(a);
    if (c == NULL) {
        snprintf(error, AGENT_ERROR, "at most %d connections", AGENT_CONNECTIONS);
    } else {
        c->half_close = p.half_close;
        c->connection = iw_transport_connect(a->reactor, a->domain, &p.at, &p.endpoint,
                                             &agent_connection_ops, c, error, AGENT_ERROR);
        if (c->connection == NULL) {
            agent_drop_connection(c);
        } else {
            c->switches = p.switches;
            p.switches = NULL;
            reply = json_pack("{s:I}", "conn", (json_int_t)c->id);
        }
    }
    drop_place(&p);
    return reply;
}

static json_t *answer(struct agent_endpoint *a, const json_t *request, bool accept, char *error)
{
    uint64_t id = 0;
    struct agent_octets data = {NULL, 0};
    const struct agent_field fields[] = {{"conn", AGENT_NUMBER, true, UINT64_MAX - 1, &id, NULL},
                                         {"private", AGENT_OCTETS, false, 0, &data, NULL}};
    struct agent_connection *c = NULL;
    json_t *reply = NULL;
    if (agent_take(request, fields, COUNT(fields), error))
        c = agent_find_connection(a, id, error);
    if (c != NULL) {
        struct iw_endpoint *ep = iw_connection_endpoint(c->connection);
        uint64_t now = iw_transport_now();
        int r = accept ? iw_endpoint_accept(ep, data.data, data.length, now)
                       : iw_endpoint_reject(ep, data.data, data.length, now);
        iw_connection_kick(c->connection);
        if (r == IW_OK)
            reply = json_object();
        else
            snprintf(error, AGENT_ERROR, "%s",
                     r == IW_ERR_STATE ? "no Request waits for an answer" : "private: too long");
    }
    agent_octets_free(&data);
    return reply;
}

static json_t *do_accept(struct agent_endpoint *a, const json_t *request, char *error)
{
    return answer(a, request, true, error);
}

static json_t *do_reject(struct agent_endpoint *a, const json_t *request, char *error)
{
    return answer(a, request, false, error);
}

static json_t *do_close(struct agent_endpoint *a, const json_t *request, char *error)
{
    uint64_t id = 0, code = 0;
    const char *how = "graceful";
    const struct agent_field fields[] = {{"conn", AGENT_NUMBER, true, UINT64_MAX - 1, &id, NULL},
                                         {"how", AGENT_STRING, false, 0, &how, NULL},
                                         {"code", AGENT_NUMBER, false, 255, &code, NULL}};
    if (!agent_take(request, fields, COUNT(fields), error))
        return NULL;
    struct agent_connection *c = agent_find_connection(a, id, error);
    if (c == NULL)
        return NULL;
    struct iw_endpoint *ep = iw_connection_endpoint(c->connection);
    uint64_t now = iw_transport_now();
    if (strcmp(how, "graceful") == 0) {
        iw_endpoint_shutdown(ep, now);
    } else if (strcmp(how, "reset") == 0 || strcmp(how, "terminate") == 0) {
        iw_endpoint_abort(ep, how[0] == 't', (uint8_t)code, now);
    } else {
        snprintf(error, AGENT_ERROR, "field how: expected graceful, reset or terminate");
        return NULL;
    }
    iw_connection_kick(c->connection);
    return json_object();
}

/* ---- memory ---- */

static bool take_access(const json_t *array, uint32_t *out, char *error)
{
    static const struct {
        const char *name;
        uint32_t right;
    } rights[] = {{"local-write", IW_ACCESS_LOCAL_WRITE},
                  {"remote-read", IW_ACCESS_REMOTE_READ},
                  {"remote-write", IW_ACCESS_REMOTE_WRITE},
                  {"remote-invalidate", IW_ACCESS_REMOTE_INVALIDATE},
                  {"remote-atomic", IW_ACCESS_REMOTE_ATOMIC}};
    *out = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        size_t k = 0;
        while (k < COUNT(rights) && (name == NULL || strcmp(name, rights[k].name) != 0))
            k++;
        if (k == COUNT(rights)) {
            snprintf(error, AGENT_ERROR,
                     "field access: expected local-write, remote-read, remote-write, "
                     "remote-invalidate or remote-atomic");
            return false;
        }
        *out |= rights[k].right;
    }
    return true;
}

static json_t *do_pd(struct agent_endpoint *a, const json_t *request, char *error)
{
    if (!agent_take(request, NULL, 0, error))
        return NULL;
    return json_pack("{s:I}", "pd", (json_int_t)iw_domain_pd(a->domain));
}

static json_t *do_register(struct agent_endpoint *a, const json_t *request, char *error)
{
    uint64_t length = 0, guard = 64, to = 0, pd = a->pd, conn = 0, fill = 0;
    const json_t *access = NULL;
    const char *pattern = NULL;
    bool to_given = false, conn_given = false;
    const struct agent_field fields[] = {
        {"length", AGENT_NUMBER, true, AGENT_MEMORY_OCTETS, &length, NULL},
        {"access", AGENT_ARRAY, false, 0, &access, NULL},
        {"guard", AGENT_NUMBER, false, AGENT_GUARD_MAX, &guard, NULL},
        {"to", AGENT_NUMBER, false, UINT64_MAX, &to, &to_given},
        {"pd", AGENT_NUMBER, false, UINT32_MAX, &pd, NULL},
        {"conn", AGENT_NUMBER, false, UINT64_MAX - 1, &conn, &conn_given},
        {"fill", AGENT_NUMBER, false, 255, &fill, NULL},
        {"pattern", AGENT_STRING, false, 0, &pattern, NULL},
    };
    uint32_t rights = 0;
    struct agent_connection *c = NULL;
    if (!agent_take(request, fields, COUNT(fields), error) || !take_access(access, &rights, error))
        return NULL;
    if (conn_given && (c = agent_find_connection(a, conn, error)) == NULL)
        return NULL;
    if (pattern != NULL && strcmp(pattern, "count") != 0) {
        snprintf(error, AGENT_ERROR, "field pattern: expected count");
        return NULL;
    }
    struct agent_memory *m = agent_memory_new(&a->memories, length, guard, error);
    if (m == NULL)
        return NULL;
    uint8_t *base = m->arena + guard;
    for (uint64_t i = 0; i < length; i++)
        base[i] = (uint8_t)(pattern != NULL ? i : fill);
    /* Like a verbs provider: TOs are addresses unless asked otherwise. */
    m->region = (struct iw_region){
        .base = base,
        .length = length,
        .to = to_given ? to : (uint64_t)(uintptr_t)base,
        .guard = guard,
        .pd = (uint32_t)pd,
        .access = rights,
        .stream = c == NULL ? 0 : iw_endpoint_stream(iw_connection_endpoint(c->connection))};
    int r = iw_domain_register(a->domain, &m->region);
    if (r != 0) {
        agent_memory_free(&a->memories, m);
        snprintf(error, AGENT_ERROR, "%s",
                 r == -2 ? "field to: TO plus length wraps" : "no STag is left");
        return NULL;
    }
    m->registered = true;
    return json_pack("{s:I,s:I,s:o}", "mem", (json_int_t)m->id, "stag", (json_int_t)m->region.stag,
                     "to", agent_u64(m->region.to));
}

static struct agent_memory *take_memory(struct agent_endpoint *a, const json_t *request,
                                        char *error)
{
    uint64_t id = 0;
    const struct agent_field fields[] = {{"mem", AGENT_NUMBER, true, UINT64_MAX - 1, &id, NULL}};
    if (!agent_take(request, fields, COUNT(fields), error))
        return NULL;
    return agent_memory_find(&a->memories, id, error);
}

static json_t *do_invalidate(struct agent_endpoint *a, const json_t *request, char *error)
{
    struct agent_memory *m = take_memory(a, request, error);
    if (m == NULL)
        return NULL;
    if (iw_domain_invalidate(a->domain, m->region.stag) != 0) {
        snprintf(error, AGENT_ERROR, "the STag is not valid any more");
        return NULL;
    }
    return json_object();
}

static json_t *do_release(struct agent_endpoint *a, const json_t *request, char *error)
{
    struct agent_memory *m = take_memory(a, request, error);
    if (m == NULL)
        return NULL;
    agent_retire_memory(a, m);
    return json_object();
}

static bool take_offset(const json_t *request, int64_t *out, char *error)
{
    const json_t *offset = json_object_get(request, "offset");
    if (offset != NULL && !json_is_integer(offset)) {
        snprintf(error, AGENT_ERROR, "field offset: expected a number");
        return false;
    }
    *out = json_integer_value(offset);
    return true;
}

/* `offset` may be negative, which agent_take does not know: it is looked up by itself. */
static json_t *without_offset(const json_t *request)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)request);
    json_object_del(copy, "offset");
    return copy;
}

static json_t *do_fill(struct agent_endpoint *a, const json_t *request, char *error)
{
    uint64_t id = 0;
    int64_t offset;
    struct agent_octets data = {NULL, 0};
    const struct agent_field fields[] = {{"mem", AGENT_NUMBER, true, UINT64_MAX - 1, &id, NULL},
                                         {"hex", AGENT_OCTETS, true, 0, &data, NULL}};
    json_t *rest = without_offset(request), *reply = NULL;
    struct agent_memory *m = NULL;
    uint8_t *at = NULL;
    if (take_offset(request, &offset, error) && agent_take(rest, fields, COUNT(fields), error))
        m = agent_memory_find(&a->memories, id, error);
    if (m != NULL)
        at = agent_memory_at(m, offset, data.length, true, error);
    if (at != NULL) {
        memcpy(at, data.data, data.length);
        reply = json_object();
    }
    agent_octets_free(&data);
    json_decref(rest);
    return reply;
}

static json_t *do_read(struct agent_endpoint *a, const json_t *request, char *error)
{
    enum { MOST = 100000 }; /* octets of one reply, so that its line stays within bounds */
    uint64_t id = 0, length = 0;
    int64_t offset;
    const struct agent_field fields[] = {{"mem", AGENT_NUMBER, true, UINT64_MAX - 1, &id, NULL},
                                         {"length", AGENT_NUMBER, true, MOST, &length, NULL}};
    json_t *rest = without_offset(request), *reply = NULL;
    struct agent_memory *m = NULL;
    const uint8_t *at = NULL;
    if (take_offset(request, &offset, error) && agent_take(rest, fields, COUNT(fields), error))
        m = agent_memory_find(&a->memories, id, error);
    if (m != NULL)
        at = agent_memory_at(m, offset, length, true, error);
    if (at != NULL)
        reply = json_pack("{s:o}", "hex", agent_hex(at, length));
    json_decref(rest);
    return reply;
}

agent_verb_fn agent_find_verb(const char *verb)
{
    static const struct {
        const char *name;
        agent_verb_fn run;
    } verbs[] = {{"listen", do_listen},   {"unlisten", do_unlisten}, {"connect", do_connect},
                 {"accept", do_accept},   {"reject", do_reject},     {"close", do_close},
                 {"pd", do_pd},           {"register", do_register}, {"invalidate", do_invalidate},
                 {"release", do_release}, {"fill", do_fill},         {"read", do_read},
                 {"recv", agent_do_recv}, {"post", agent_do_post}};
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (strcmp(verbs[i].name, verb) == 0)
            return verbs[i].run;
    return NULL;
}
