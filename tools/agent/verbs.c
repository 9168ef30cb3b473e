/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs about connections and protection domains: parses and checks requests. */
#include "agent.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- listen, connect ---- */

static bool take_place(const json_t *request, bool listening, struct agent_place *p, char *error)
{
    const char *host = "127.0.0.1", *accept = "auto";
    uint64_t port = 0;
    *p = (struct agent_place){0};
    const struct agent_field fields[] = {
        {"host", AGENT_STRING, !listening, 0, &host, NULL},
        {"port", AGENT_NUMBER, !listening, 65535, &port, NULL},
        {"config", AGENT_OBJECT, false, 0, &p->config, NULL},
        {"private", AGENT_OCTETS, false, IW_MPA_PRIVATE_MAX, &p->private_data, NULL},
        {"pd", AGENT_NUMBER, false, UINT32_MAX, &p->domain, NULL},
        {"half_close", AGENT_BOOL, false, 0, &p->half_close, NULL},
        {"stream", AGENT_BOOL, false, 0, &p->stream, NULL},
        {"accept", AGENT_STRING, false, 0, &accept, NULL},
    };
    if (!agent_take(request, fields, COUNT(fields) - (listening ? 0 : 1), error))
        return false;
    p->ask = strcmp(accept, "ask") == 0;
    if (!p->ask && strcmp(accept, "auto") != 0) {
        snprintf(error, AGENT_ERROR, "field accept: expected auto or ask");
        return false;
    }
    if (strlen(host) >= sizeof p->at.host) {
        snprintf(error, AGENT_ERROR, "field host: longer than %zu octets", sizeof p->at.host - 1);
        return false;
    }
    memcpy(p->at.host, host, strlen(host) + 1);
    p->at.port = (uint16_t)port;
    return true;
}

static bool can_stream(const struct agent_client *c, const struct agent_place *p, char *error)
{
    if (!p->stream || c->backend->start != NULL)
        return true;
    snprintf(error, AGENT_ERROR, AGENT_UNSUPPORTED "field stream");
    return false;
}

static json_t *do_listen(struct agent_client *c, const json_t *request, char *error)
{
    struct agent_place p;
    uint64_t listen;
    uint16_t port;
    json_t *reply = NULL;
    if (take_place(request, true, &p, error) && can_stream(c, &p, error) &&
        c->backend->listen(c->own, &p, &listen, &port, error))
        reply = json_pack("{s:I,s:i}", "listen", (json_int_t)listen, "port", (int)port);
    agent_octets_free(&p.private_data);
    return reply;
}

static json_t *do_connect(struct agent_client *c, const json_t *request, char *error)
{
    struct agent_place p;
    uint64_t conn;
    json_t *reply = NULL;
    if (take_place(request, false, &p, error) && can_stream(c, &p, error) &&
        c->backend->connect(c->own, &p, &conn, error))
        reply = json_pack("{s:I}", "conn", (json_int_t)conn);
    agent_octets_free(&p.private_data);
    return reply;
}

/* Reads a request that has only one number. */
static bool take_number(const json_t *request, const char *name, uint64_t *out, char *error)
{
    const struct agent_field fields[] = {{name, AGENT_NUMBER, true, UINT64_MAX, out, NULL}};
    return agent_take(request, fields, COUNT(fields), error);
}

static json_t *do_unlisten(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t listen;
    if (!take_number(request, "listen", &listen, error) ||
        !c->backend->unlisten(c->own, listen, error))
        return NULL;
    return json_object();
}

/* ---- accept, reject, close ---- */

static json_t *answer(struct agent_client *c, const json_t *request, bool accept, char *error)
{
    uint64_t conn;
    struct agent_octets data = {NULL, 0};
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, &conn, NULL},
        {"private", AGENT_OCTETS, false, IW_MPA_PRIVATE_MAX, &data, NULL}};
    bool good = agent_take(request, fields, COUNT(fields), error) &&
                c->backend->answer(c->own, conn, accept, &data, error);
    agent_octets_free(&data);
    return good ? json_object() : NULL;
}

static json_t *do_accept(struct agent_client *c, const json_t *request, char *error)
{
    return answer(c, request, true, error);
}

static json_t *do_reject(struct agent_client *c, const json_t *request, char *error)
{
    return answer(c, request, false, error);
}

static json_t *do_close(struct agent_client *c, const json_t *request, char *error)
{
    static const char *const names[] = {"graceful", "reset", "terminate"};
    uint64_t conn, code = 0;
    const char *how = names[AGENT_GRACEFUL];
    const struct agent_field fields[] = {{"conn", AGENT_NUMBER, true, UINT64_MAX, &conn, NULL},
                                         {"how", AGENT_STRING, false, 0, &how, NULL},
                                         {"code", AGENT_NUMBER, false, 255, &code, NULL}};
    size_t i = 0;
    if (!agent_take(request, fields, COUNT(fields), error))
        return NULL;
    while (i < COUNT(names) && strcmp(how, names[i]) != 0)
        i++;
    if (i == COUNT(names)) {
        snprintf(error, AGENT_ERROR, "field how: expected graceful, reset or terminate");
        return NULL;
    }
    return c->backend->close(c->own, conn, (enum agent_how)i, (uint8_t)code, error) ? json_object()
                                                                                    : NULL;
}

/* ---- streaming mode ---- */

static json_t *do_stream_send(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t conn;
    struct agent_octets data = {NULL, 0};
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, &conn, NULL},
        {"hex", AGENT_OCTETS, true, AGENT_STREAM_MAX, &data, NULL}};
    bool good = agent_take(request, fields, COUNT(fields), error) &&
                c->backend->stream_send(c->own, conn, &data, error);
    agent_octets_free(&data);
    return good ? json_object() : NULL;
}

static json_t *do_stream_take(struct agent_client *c, const json_t *request, char *error)
{
    uint8_t octets[AGENT_STREAM_MAX];
    uint64_t conn, room = sizeof octets;
    size_t length;
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, &conn, NULL},
        {"length", AGENT_NUMBER, false, sizeof octets, &room, NULL}};
    if (!agent_take(request, fields, COUNT(fields), error) ||
        !c->backend->stream_take(c->own, conn, octets, (size_t)room, &length, error))
        return NULL;
    return json_pack("{s:o}", "hex", agent_hex(octets, length));
}

static json_t *do_start(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t conn;
    if (!take_number(request, "conn", &conn, error) || !c->backend->start(c->own, conn, error))
        return NULL;
    return json_object();
}

static json_t *do_pd(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t domain;
    if (!agent_take(request, NULL, 0, error) || !c->backend->domain(c->own, &domain, error))
        return NULL;
    return json_pack("{s:I}", "pd", (json_int_t)domain);
}

/* ---- all verbs ---- */

enum need { NEED_NOTHING, NEED_STREAM, NEED_BIND };

static const struct {
    const char *name;
    agent_verb_fn run;
    enum need need;
} verbs[] = {
    {"listen", do_listen, NEED_NOTHING},
    {"unlisten", do_unlisten, NEED_NOTHING},
    {"connect", do_connect, NEED_NOTHING},
    {"accept", do_accept, NEED_NOTHING},
    {"reject", do_reject, NEED_NOTHING},
    {"close", do_close, NEED_NOTHING},
    {"stream_send", do_stream_send, NEED_STREAM},
    {"stream_take", do_stream_take, NEED_STREAM},
    {"start", do_start, NEED_STREAM},
    {"pd", do_pd, NEED_NOTHING},
    {"register", agent_do_register, NEED_NOTHING},
    {"bind", agent_do_bind, NEED_BIND},
    {"unbind", agent_do_unbind, NEED_BIND},
    {"invalidate", agent_do_invalidate, NEED_NOTHING},
    {"release", agent_do_release, NEED_NOTHING},
    {"fill", agent_do_fill, NEED_NOTHING},
    {"read", agent_do_read, NEED_NOTHING},
    {"recv", agent_do_recv, NEED_NOTHING},
    {"post", agent_do_post, NEED_NOTHING},
};

static bool offered(const struct agent_client *c, enum need need)
{
    return need == NEED_NOTHING || (need == NEED_STREAM && c->backend->start != NULL) ||
           (need == NEED_BIND && c->backend->bind != NULL);
}

json_t *agent_do(struct agent_client *c, const char *verb, const json_t *request, char *error)
{
    for (size_t i = 0; i < COUNT(verbs); i++) {
        if (strcmp(verbs[i].name, verb) != 0)
            continue;
        if (offered(c, verbs[i].need))
            return verbs[i].run(c, request, error);
        snprintf(error, AGENT_ERROR, AGENT_UNSUPPORTED "verb %s", verb);
        return NULL;
    }
    snprintf(error, AGENT_ERROR, "verb %.40s: not known", verb);
    return NULL;
}

json_t *agent_verb_names(const struct agent_client *c)
{
    json_t *names = json_pack("[s,s]", "hello", "reset");
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (offered(c, verbs[i].need))
            json_array_append_new(names, json_string(verbs[i].name));
    return names;
}

void agent_client_reset(struct agent_client *c)
{
    c->backend->hang_up(c->own);
    agent_reset_memory(c);
    c->backend->reset(c->own);
}
