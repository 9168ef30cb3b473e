/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of iwarp-agent's verbs: a client whose backend only keeps what it is asked for. Include
 * from one source of a test. */
#ifndef VERBS_RECORDER_H
#define VERBS_RECORDER_H

#include "agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 4, FORGOTTEN = 8 };

/* What the backend was asked for last, and what it does. */
static struct {
    char calls[400];   /* the names of calls, with a space before each */
    const char *fails; /* the call that fails; NULL: none does */

    struct agent_place place;
    char config[200];
    uint8_t octets[AGENT_STREAM_MAX]; /* private data, or streamed ones */
    size_t length;
    const void *slot; /* listener or connection */
    bool accept;
    enum agent_how how;
    uint8_t code;
    size_t room;
    struct agent_region region;
    uint64_t memory_length, memory_guard;
    uint8_t memory_octets[64]; /* the first ones, with their guards */
    struct agent_binding binding;
    uint32_t stag, forgotten[FORGOTTEN];
    size_t forgotten_count;
    struct agent_work work;

    struct agent_core core;
    struct agent_listener listeners[SLOTS];
    struct agent_connection connections[SLOTS];
    json_t *event;
} seen;

static inline bool called(const char *name, char *error)
{
    size_t length = strlen(seen.calls);
    snprintf(seen.calls + length, sizeof(seen.calls) - length, " %s", name);
    return seen.fails == NULL || strcmp(seen.fails, name) != 0 ||
           agent_fail(error, "%s fails", name);
}

static inline void keep_octets(const struct agent_octets *o)
{
    seen.length = o->length;
    if (o->length > 0)
        memcpy(seen.octets, o->data, o->length);
}

static inline void keep_place(const struct agent_place *p)
{
    seen.place = *p;
    keep_octets(&p->private_data);
    char *text = json_dumps(p->config, JSON_COMPACT);
    snprintf(seen.config, sizeof(seen.config), "%s", text != NULL ? text : "none");
    free(text);
}

static inline json_t *r_features(void *b)
{
    assert_ptr_equal(b, &seen.core);
    return json_pack("{s:i}", "wings", 2);
}

static inline bool r_listen(void *b, void *listener, const struct agent_place *p, uint16_t *port,
                            char *error)
{
    assert_ptr_equal(b, &seen.core);
    seen.slot = listener;
    keep_place(p);
    *port = p->at.port == 0 ? 4242 : p->at.port;
    return called("listen", error);
}

static inline void r_unlisten(void *listener)
{
    struct agent_listener *l = listener;
    seen.slot = listener;
    agent_octets_free(&l->reply);
    l->id = 0;
    (void)called("unlisten", NULL);
}

static inline bool r_connect(void *b, const struct agent_place *p, uint64_t *conn, char *error)
{
    assert_ptr_equal(b, &seen.core);
    keep_place(p);
    *conn = 77;
    return called("connect", error);
}

static inline bool r_answer(void *connection, bool accept, const struct agent_octets *octets,
                            char *error)
{
    seen.slot = connection;
    seen.accept = accept;
    keep_octets(octets);
    return called("answer", error);
}

static inline bool r_close(void *connection, enum agent_how how, uint8_t code, char *error)
{
    seen.slot = connection;
    seen.how = how;
    seen.code = code;
    return called("close", error);
}

static inline bool r_stream_send(void *connection, const struct agent_octets *octets, char *error)
{
    seen.slot = connection;
    keep_octets(octets);
    return called("stream_send", error);
}

static inline bool r_stream_take(void *connection, uint8_t *out, size_t room, size_t *length,
                                 char *error)
{
    seen.slot = connection;
    seen.room = room;
    *length = room < 3 ? room : 3;
    memcpy(out, "\x01\xab\xff", *length);
    return called("stream_take", error);
}

static inline bool r_start(void *connection, char *error)
{
    seen.slot = connection;
    return called("start", error);
}

static inline bool r_domain(void *b, char *error)
{
    assert_ptr_equal(b, &seen.core);
    return called("domain", error);
}

/* STags count from 100 on; a TO that is not given is 0x8000000000000001. */
static inline bool r_enrol(void *b, struct agent_memory *m, const struct agent_region *region,
                           char *error)
{
    assert_ptr_equal(b, &seen.core);
    seen.region = *region;
    seen.memory_length = m->length;
    seen.memory_guard = m->guard;
    uint64_t all = m->length + 2 * m->guard;
    memcpy(seen.memory_octets, m->arena, all < 64 ? all : 64);
    m->stag = 100 + seen.stag++;
    m->to = region->to_given ? region->to : UINT64_C(0x8000000000000001);
    return called("enrol", error);
}

static inline bool r_invalidate(void *b, uint32_t stag, char *error)
{
    assert_ptr_equal(b, &seen.core);
    seen.forgotten[0] = stag;
    return called("invalidate", error);
}

static inline void r_forget(void *b, uint32_t stag)
{
    assert_ptr_equal(b, &seen.core);
    assert_true(seen.forgotten_count < FORGOTTEN);
    seen.forgotten[seen.forgotten_count++] = stag;
    (void)called("forget", NULL);
}

static inline bool r_bind(void *b, const struct agent_binding *binding, uint32_t *stag,
                          uint64_t *to, char *error)
{
    assert_ptr_equal(b, &seen.core);
    seen.binding = *binding;
    seen.forgotten[FORGOTTEN - 1] = *stag; /* the one before */
    *stag = 100 + seen.stag++;
    *to = binding->offset;
    return called("bind", error);
}

static inline bool r_receive(void *connection, const struct agent_work *w, char *error)
{
    seen.slot = connection;
    seen.work = *w;
    return called("receive", error);
}

static inline bool r_post(void *connection, const struct agent_work *w, char *error)
{
    seen.slot = connection;
    seen.work = *w;
    return called("post", error);
}

static inline void r_hang_up(void *b)
{
    assert_ptr_equal(b, &seen.core);
    (void)called("hang_up", NULL);
}

static inline void r_emit(void *context, json_t *event)
{
    assert_ptr_equal(context, &seen);
    json_decref(seen.event);
    seen.event = event;
}

static struct agent_backend recorder;
static struct agent_client *client;

/* A client with connections 5 and 6. */
static inline int set_up(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    recorder = (struct agent_backend){.name = "recorder",
                                      .hang_up = r_hang_up,
                                      .features = r_features,
                                      .listen = r_listen,
                                      .unlisten = r_unlisten,
                                      .connect = r_connect,
                                      .answer = r_answer,
                                      .close = r_close,
                                      .stream_send = r_stream_send,
                                      .stream_take = r_stream_take,
                                      .start = r_start,
                                      .domain = r_domain,
                                      .enrol = r_enrol,
                                      .invalidate = r_invalidate,
                                      .forget = r_forget,
                                      .bind = r_bind,
                                      .receive = r_receive,
                                      .post = r_post};
    seen.core =
        (struct agent_core){.emit = r_emit,
                            .context = &seen,
                            .listeners = {AGENT_SLOTS(seen.listeners), "listen", "listener"},
                            .connections = {AGENT_SLOTS(seen.connections), "conn", "connection"},
                            .domain_count = 1};
    seen.connections[1] = (struct agent_connection){.id = 5, .core = &seen.core};
    seen.connections[2] = (struct agent_connection){.id = 6, .core = &seen.core, .listen = 9};
    client = calloc(1, sizeof(*client));
    if (client == NULL)
        return -1;
    client->backend = &recorder;
    client->own = &seen.core;
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < SLOTS; i++)
        agent_octets_free(&seen.listeners[i].reply);
    for (size_t i = 0; i < AGENT_MEMORIES; i++)
        free(client->memories.slots[i].block);
    json_decref(seen.event);
    free(client);
    return 0;
}

/* A request, as JSON with ' for ". */
static inline json_t *parse(const char *text)
{
    char *copy = strdup(text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    json_t *object = json_loads(copy, 0, NULL);
    if (object == NULL)
        fail_msg("%s", text);
    free(copy);
    return object;
}

/* Its reply is this, and the backend is asked for these calls. */
static inline void does(const char *request, const char *reply, const char *calls)
{
    char error[AGENT_ERROR] = "";
    json_t *r = parse(request), *wanted = parse(reply);
    seen.calls[0] = '\0';
    json_t *got = agent_do(client, json_string_value(json_object_get(r, "do")), r, error);
    assert_string_equal(error, "");
    char *text = json_dumps(got, JSON_COMPACT);
    if (!json_equal(got, wanted))
        fail_msg("%s: %s", request, text);
    free(text);
    json_decref(got);
    json_decref(wanted);
    json_decref(r);
    assert_string_equal(seen.calls, calls);
}

/* It fails with this text, after these calls. */
static inline void refuses_after(const char *request, const char *wanted, const char *calls)
{
    char error[AGENT_ERROR] = "";
    json_t *r = parse(request);
    seen.calls[0] = '\0';
    json_t *got = agent_do(client, json_string_value(json_object_get(r, "do")), r, error);
    json_decref(r);
    assert_null(got);
    assert_string_equal(error, wanted);
    assert_string_equal(seen.calls, calls);
}

static inline void refuses(const char *request, const char *wanted)
{
    refuses_after(request, wanted, "");
}

/* Hex digits of so many octets of zeros. */
static inline const char *zeros(size_t octets)
{
    static char digits[600000];
    assert_true(2 * octets < sizeof(digits));
    memset(digits, '0', 2 * octets);
    digits[2 * octets] = '\0';
    return digits;
}

/* "BEFORE zeros AFTER" */
static inline const char *around(const char *before, size_t octets, const char *after)
{
    static char text[700000];
    snprintf(text, sizeof(text), "%s%s%s", before, zeros(octets), after);
    return text;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
