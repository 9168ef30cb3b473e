/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of iwarp-agent's backend on libiwarp's own endpoint, in this process: both ends of a
 * connection belong to one client, and each event is compared as a whole. Include from one source
 * of a test. */
#ifndef ENDPOINT_CLIENT_H
#define ENDPOINT_CLIENT_H

#include "agent_endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct iw_reactor *reactor;
static struct agent_client *client;
static json_t *events;
static int a, b;      /* the connections: a has connected to b */
static char mem[200]; /* where the latest memory of b is: ,'remote_stag':...,'remote_to':... */

static inline void emit(void *context, json_t *event)
{
    assert_ptr_equal(context, &events);
    assert_non_null(event);
    json_array_append_new(events, event);
}

static inline int set_up(void **state)
{
    struct iw_endpoint_config config;
    (void)state;
    iw_endpoint_config_default(&config);
    reactor = iw_reactor_create();
    client = calloc(1, sizeof(*client));
    events = json_array();
    client->backend = &agent_endpoint_backend;
    client->own = agent_endpoint_backend.create(reactor, &config, emit, &events);
    return client->own == NULL;
}

static inline int tear_down(void **state)
{
    (void)state;
    agent_client_reset(client);
    agent_endpoint_backend.destroy(client->own);
    iw_reactor_destroy(reactor);
    json_decref(events);
    free(client);
    return 0;
}

/* ---- requests and events ---- */

static inline json_t *parse(const char *format, va_list arguments)
{
    static char text[300000];
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the callers started it */
    vsnprintf(text, sizeof(text), format, arguments);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    json_t *object = json_loads(text, 0, NULL);
    if (object == NULL)
        fail_msg("%s", text);
    return object;
}

static inline json_t *carry_out(json_t *request, char *error)
{
    error[0] = '\0';
    json_t *reply =
        agent_do(client, json_string_value(json_object_get(request, "do")), request, error);
    json_decref(request);
    return reply;
}

/* The integer `name` of the reply (NULL: none). */
__attribute__((format(printf, 2, 3))) static inline int ask(const char *name, const char *format,
                                                            ...)
{
    char error[AGENT_ERROR];
    va_list arguments;
    va_start(arguments, format);
    json_t *reply = carry_out(parse(format, arguments), error);
    va_end(arguments);
    if (reply == NULL)
        fail_msg("%s: %s", format, error);
    int value = name == NULL ? 0 : (int)json_integer_value(json_object_get(reply, name));
    json_decref(reply);
    return value;
}

__attribute__((format(printf, 2, 3))) static inline void refuse(const char *why, const char *format,
                                                                ...)
{
    char error[AGENT_ERROR];
    va_list arguments;
    va_start(arguments, format);
    assert_null(carry_out(parse(format, arguments), error));
    va_end(arguments);
    assert_string_equal(error, why);
}

static inline bool is_closing(const json_t *event)
{
    return strcmp(json_string_value(json_object_get(event, "event")), "peer-closed") == 0;
}

/* The next event of a connection is exactly this one, but for its `conn`. Whether the peer's close
 * is seen before the end depends on how TCP cuts its octets. */
__attribute__((format(printf, 2, 3))) static inline void want(int conn, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *wanted = parse(format, arguments);
    va_end(arguments);
    json_object_set_new(wanted, "conn", json_integer(conn));
    for (size_t i = 0;; i++) {
        while (i == json_array_size(events))
            assert_int_equal(iw_reactor_step(reactor, 60000), 0);
        json_t *event = json_array_get(events, i);
        if (json_integer_value(json_object_get(event, "conn")) != conn)
            continue;
        if (is_closing(event) && !is_closing(wanted)) {
            json_array_remove(events, i--);
            continue;
        }
        if (!json_equal(event, wanted)) {
            char *got = json_dumps(event, 0), *text = json_dumps(wanted, 0);
            fail_msg("expected %s, not %s", text, got);
        }
        json_array_remove(events, i);
        break;
    }
    json_decref(wanted);
}

#define AGREED(crc, tx, rx, p2p, rtr, ird, ord, peer_ird, peer_ord)                                \
    "'agreed':{'revision':2,'version':1,'crc':" crc ",'tx_markers':" tx ",'rx_markers':" rx        \
    ",'enhanced':true,'peer_to_peer':" p2p ",'rtr':" rtr ",'ird':" ird ",'ord':" ord               \
    ",'peer_ird':" peer_ird ",'peer_ord':" peer_ord "}"
#define STANDARD AGREED("true", "false", "false", "false", "[]", "16", "16", "16", "16")

/* A connection, established; these fields are more of its two requests. */
static inline void connect_with(const char *more, const char *listen_more)
{
    int port = ask("port", "{'do':'listen','accept':'ask'%s}", listen_more);
    a = ask("conn", "{'do':'connect','host':'127.0.0.1','port':%d%s}", port, more);
    b = a + 1;
}

static inline void open_connection(void)
{
    connect_with("", "");
    want(b, "{'event':'request','listen':%d,'private':''}", a - 1);
    ask(NULL, "{'do':'accept','conn':%d}", b);
    want(b, "{'event':'established','private':'','listen':%d," STANDARD "}", a - 1);
    want(a, "{'event':'established','private':''," STANDARD "}");
}

/* Memory of 16 octets with every right, bound to b's stream. */
static inline int register_target(void)
{
    char error[AGENT_ERROR];
    json_t *reply =
        carry_out(json_pack("{s:s,s:i,s:i,s:s,s:[s,s,s,s,s,s]}", "do", "register", "length", 16,
                            "conn", b, "pattern", "count", "access", "local-write", "remote-read",
                            "remote-write", "remote-invalidate", "remote-atomic", "bind"),
                  error);
    assert_non_null(reply);
    snprintf(mem, sizeof(mem), ",'remote_stag':%lld,'remote_to':'%s'",
             (long long)json_integer_value(json_object_get(reply, "stag")),
             json_string_value(json_object_get(reply, "to")));
    int number = (int)json_integer_value(json_object_get(reply, "mem"));
    json_decref(reply);
    return number;
}

static inline const struct agent_memory *memory(int number)
{
    char error[AGENT_ERROR];
    return agent_memory_find(&client->memories, (uint64_t)number, error);
}

static inline void holds(int number, const char *hex)
{
    char error[AGENT_ERROR];
    json_t *reply = carry_out(
        json_pack("{s:s,s:i,s:i}", "do", "read", "mem", number, "length", (int)strlen(hex) / 2),
        error);
    assert_string_equal(json_string_value(json_object_get(reply, "hex")), hex);
    json_decref(reply);
}

#endif
