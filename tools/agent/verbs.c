/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs about the client, connections and protection domains: parses and checks requests. */
#include "agent.h"

#include <string.h>
#include <sys/utsname.h>

static agent_verb do_hello; /* lists all verbs */

static bool do_reset(struct agent_client *c, const json_t *request, char *error)
{
    if (!agent_take(request, NULL, 0, error))
        return false;
    agent_client_reset(c);
    return true;
}

/* ---- listen, connect ---- */

static bool take_place(const struct agent_client *c, const json_t *request, bool listening,
                       struct agent_place *p, char *error)
{
    static const char *const answers[] = {"auto", "ask"};
    const char *host = "127.0.0.1", *accept = "auto";
    *p = (struct agent_place){0};
    const struct agent_field fields[] = {
        AGENT_PLAIN("host", AGENT_STRING, !listening, host),
        {"port", AGENT_NUMBER, !listening, 65535, AGENT_INTO(p->at.port)},
        AGENT_PLAIN("config", AGENT_OBJECT, false, p->config),
        {"private", AGENT_OCTETS, false, IW_MPA_PRIVATE_MAX, AGENT_INTO(p->private_data)},
        {"pd", AGENT_NUMBER, false, UINT32_MAX, AGENT_INTO(p->domain)},
        AGENT_PLAIN("half_close", AGENT_BOOL, false, p->half_close),
        AGENT_PLAIN("stream", AGENT_BOOL, false, p->stream),
        AGENT_PLAIN("accept", AGENT_STRING, false, accept),
    };
    if (!agent_take(request, fields, COUNT(fields) - (listening ? 0 : 1), error) ||
        !agent_domain_index(c->own, &p->domain, error))
        return false;
    int answer = agent_index("accept", answers, COUNT(answers), accept, error);
    if (answer < 0)
        return false;
    p->ask = answer == 1;
    if (strlen(host) >= sizeof(p->at.host))
        return agent_fail(error, "field host: longer than %zu octets", sizeof(p->at.host) - 1);
    memcpy(p->at.host, host, strlen(host) + 1);
    return !p->stream || c->backend->start != NULL ||
           agent_fail(error, AGENT_UNSUPPORTED "field stream");
}

static bool do_listen(struct agent_client *c, const json_t *request, char *error)
{
    struct agent_place p;
    struct agent_listener *l;
    uint16_t port;
    if (!take_place(c, request, true, &p, error) ||
        (l = agent_slot_free(&c->own->listeners, error)) == NULL ||
        !c->backend->listen(c->own, l, &p, &port, error)) {
        agent_octets_free(&p.private_data);
        return false;
    }
    *l = (struct agent_listener){++c->own->last_id, p.ask, p.private_data};
    return !json_object_update_new(
        c->reply, json_pack("{s:I,s:i}", "listen", (json_int_t)l->id, "port", (int)port));
}

static bool do_connect(struct agent_client *c, const json_t *request, char *error)
{
    struct agent_place p;
    uint64_t conn;
    bool good =
        take_place(c, request, false, &p, error) && c->backend->connect(c->own, &p, &conn, error);
    agent_octets_free(&p.private_data);
    return good && !json_object_set_new(c->reply, "conn", json_integer((json_int_t)conn));
}

static bool do_unlisten(struct agent_client *c, const json_t *request, char *error)
{
    struct agent_listener *l = agent_slot_take(&c->own->listeners, request, error);
    if (l == NULL)
        return false;
    c->backend->unlisten(l);
    return true;
}

/* ---- accept, reject, close ---- */

/* Reads a request whose first field is the number of a connection. Returns its slot, or NULL with a
 * text. */
static void *take_connection(const struct agent_client *c, const json_t *request,
                             const struct agent_field *fields, size_t count, char *error)
{
    return agent_take(request, fields, count, error)
               ? agent_slot_find(&c->own->connections, *(uint64_t *)fields[0].out, error)
               : NULL;
}

/* accept and reject */
static bool do_answer(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t conn;
    struct agent_octets data = {NULL, 0};
    bool accept = strcmp(json_string_value(json_object_get(request, "do")), "accept") == 0;
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(conn)},
        {"private", AGENT_OCTETS, false, IW_MPA_PRIVATE_MAX, AGENT_INTO(data)}};
    void *connection = take_connection(c, request, fields, COUNT(fields), error);
    bool good = connection != NULL && c->backend->answer(connection, accept, &data, error);
    agent_octets_free(&data);
    return good;
}

static bool do_close(struct agent_client *c, const json_t *request, char *error)
{
    static const char *const names[] = {"graceful", "reset", "terminate"};
    uint64_t conn;
    uint8_t code = 0;
    const char *word = names[AGENT_GRACEFUL];
    const struct agent_field fields[] = {{"conn", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(conn)},
                                         AGENT_PLAIN("how", AGENT_STRING, false, word),
                                         {"code", AGENT_NUMBER, false, 255, AGENT_INTO(code)}};
    void *connection = take_connection(c, request, fields, COUNT(fields), error);
    int how = connection == NULL ? -1 : agent_index("how", names, COUNT(names), word, error);
    return how >= 0 && c->backend->close(connection, (enum agent_how)how, code, error);
}

/* ---- streaming mode ---- */

static bool do_stream_send(struct agent_client *c, const json_t *request, char *error)
{
    uint64_t conn;
    struct agent_octets data = {NULL, 0};
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(conn)},
        {"hex", AGENT_OCTETS, true, AGENT_STREAM_MAX, AGENT_INTO(data)}};
    void *connection = take_connection(c, request, fields, COUNT(fields), error);
    bool good = connection != NULL && c->backend->stream_send(connection, &data, error);
    agent_octets_free(&data);
    return good;
}

static bool do_stream_take(struct agent_client *c, const json_t *request, char *error)
{
    uint8_t octets[AGENT_STREAM_MAX];
    uint64_t conn, room = sizeof(octets);
    size_t length;
    const struct agent_field fields[] = {
        {"conn", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(conn)},
        {"length", AGENT_NUMBER, false, sizeof(octets), AGENT_INTO(room)}};
    void *connection = take_connection(c, request, fields, COUNT(fields), error);
    return connection != NULL &&
           c->backend->stream_take(connection, octets, (size_t)room, &length, error) &&
           !json_object_set_new(c->reply, "hex", iw_json_hex(octets, length));
}

static bool do_start(struct agent_client *c, const json_t *request, char *error)
{
    void *connection = agent_slot_take(&c->own->connections, request, error);
    return connection != NULL && c->backend->start(connection, error);
}

static bool do_pd(struct agent_client *c, const json_t *request, char *error)
{
    if (!agent_take(request, NULL, 0, error))
        return false;
    if (c->own->domain_count == AGENT_DOMAINS)
        return agent_fail(error, "at most %d protection domains", AGENT_DOMAINS);
    if (c->backend->domain != NULL && !c->backend->domain(c->own, error))
        return false;
    c->own->domain_count++;
    return !json_object_set_new(c->reply, "pd", json_integer((json_int_t)c->own->domain_count));
}

/* ---- all verbs ---- */

enum need { NEED_NOTHING, NEED_STREAM, NEED_BIND };

static const struct {
    const char *name;
    agent_verb *run;
    enum need need;
} verbs[] = {
    {"hello", do_hello, NEED_NOTHING},
    {"reset", do_reset, NEED_NOTHING},
    {"listen", do_listen, NEED_NOTHING},
    {"unlisten", do_unlisten, NEED_NOTHING},
    {"connect", do_connect, NEED_NOTHING},
    {"accept", do_answer, NEED_NOTHING},
    {"reject", do_answer, NEED_NOTHING},
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
    {"recv", agent_do_work, NEED_NOTHING},
    {"post", agent_do_work, NEED_NOTHING},
};

static bool offered(const struct agent_client *c, enum need need)
{
    return need == NEED_NOTHING || (need == NEED_STREAM && c->backend->start != NULL) ||
           (need == NEED_BIND && c->backend->bind != NULL);
}

static json_t *device(const struct agent_client *c)
{
    json_t *object = c->backend->device != NULL ? c->backend->device(c->own) : NULL;
    struct utsname host;
    if (object == NULL) /* or a name that is no text */
        object = json_object();
    if (!uname(&host))
        json_object_update_new(object,
                               json_pack("{s:s++}", "kernel", host.sysname, " ", host.release));
    return object;
}

static bool do_hello(struct agent_client *c, const json_t *request, char *error)
{
    if (!agent_take(request, NULL, 0, error))
        return false;
    json_t *features = c->backend->features(c->own), *names = json_array();
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (offered(c, verbs[i].need))
            json_array_append_new(names, json_string(verbs[i].name));
    json_object_set_new(features, "verbs", names);
    return !json_object_update_new(
        c->reply, json_pack("{s:s,s:s,s:i,s:s,s:o,s:o}", "agent", "iwarp-agent", "version",
                            IW_VERSION, "schema", IW_CONTROL_SCHEMA, "backend", c->backend->name,
                            "device", device(c), "features", features));
}

json_t *agent_do(struct agent_client *c, const char *verb, const json_t *request, char *error)
{
    size_t i = 0;
    while (i < COUNT(verbs) && strcmp(verbs[i].name, verb) != 0)
        i++;
    c->reply = json_object();
    if (i == COUNT(verbs))
        agent_fail(error, "verb %.40s: not known", verb);
    else if (!offered(c, verbs[i].need))
        agent_fail(error, AGENT_UNSUPPORTED "verb %s", verb);
    else if (c->reply != NULL && verbs[i].run(c, request, error))
        return c->reply;
    json_decref(c->reply);
    return NULL;
}

void agent_client_reset(struct agent_client *c)
{
    c->backend->hang_up(c->own);
    agent_reset_memory(c);
    c->own->domain_count = 1;
    c->own->last_id = 0;
}
