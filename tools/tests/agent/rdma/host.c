/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void emit(void *context, json_t *event)
{
    assert_non_null(event);
    json_array_append_new(context, event);
}

struct host *host_start(void)
{
    struct host *h = calloc(1, sizeof(*h));
    assert_non_null(h);
    h->reactor = iw_reactor_create();
    h->events = json_array();
    if (agent_rdma_find(NULL, &h->device, h->error) != 0)
        fail_msg("%s", h->error);
    h->client.backend = agent_rdma_backend(&h->device);
    h->client.own = h->client.backend->create(h->reactor, &h->device, emit, h->events);
    assert_non_null(h->client.own);
    return h;
}

void host_end(struct host *h)
{
    agent_client_reset(&h->client);
    h->client.backend->destroy(h->client.own);
    iw_reactor_destroy(h->reactor);
    json_decref(h->events);
    for (size_t i = 0; i < RDMA_PARKED; i++)
        if (h->device.parked[i].cm != NULL)
            (void)rdma_destroy_id(h->device.parked[i].cm);
    free(h->device.parked);
    free(h);
    assert_int_equal(doubles.pds, 0);
    assert_int_equal(doubles.mrs, 0);
    assert_int_equal(doubles.cqs, 0);
    assert_int_equal(doubles.qps, 0);
    assert_int_equal(doubles.mws, 0);
    assert_int_equal(doubles.ids, 0);
    assert_int_equal(doubles.channels, 0);
    assert_int_equal(doubles.events_unacknowledged, 0);
}

static json_t *parse(const char *format, va_list arguments)
{
    char text[4000];
    json_error_t error;
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the callers started it */
    vsnprintf(text, sizeof(text), format, arguments);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *object = json_loads(text, 0, &error);
    if (object == NULL)
        fail_msg("%s: %s", text, error.text);
    return object;
}

static json_t *carry_out(struct host *h, json_t *request)
{
    h->error[0] = '\0';
    json_t *reply =
        agent_do(&h->client, json_string_value(json_object_get(request, "do")), request, h->error);
    json_decref(request);
    return reply;
}

json_int_t ask(struct host *h, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *reply = carry_out(h, parse(format, arguments));
    va_end(arguments);
    if (reply == NULL)
        fail_msg("%s: %s", format, h->error);
    json_int_t value = name == NULL ? 0 : json_integer_value(json_object_get(reply, name));
    json_decref(reply);
    return value;
}

void refuse(struct host *h, const char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *reply = carry_out(h, parse(format, arguments));
    va_end(arguments);
    assert_null(reply);
    assert_string_equal(h->error, error);
}

void want(struct host *h, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *wanted = parse(format, arguments);
    va_end(arguments);
    assert_int_equal(iw_reactor_step(h->reactor, 0), 0);
    json_t *event = json_array_get(h->events, 0);
    if (!json_equal(event, wanted)) {
        char *got = json_dumps(event, JSON_ENCODE_ANY), *text = json_dumps(wanted, 0);
        fail_msg("expected %s, not %s", text, got);
    }
    json_array_remove(h->events, 0);
    json_decref(wanted);
}

void open_connection(struct host *h, const char *more)
{
    h->listen = (int)ask(h, "listen", "{'do':'listen','host':'192.0.2.1','accept':'ask'%s}", more);
    h->listener = doubles.id;
    h->id = doubles_new_id();
    h->conn = h->listen + 1;
    doubles_tell(RDMA_CM_EVENT_CONNECT_REQUEST, h->id, h->listener, 0, "hi");
    want(h, "{'event':'request','listen':%d,'private':'6869','conn':%d}", h->listen, h->conn);
    ask(h, NULL, "{'do':'accept','conn':%d}", h->conn);
    doubles_tell(RDMA_CM_EVENT_ESTABLISHED, h->id, NULL, 0, NULL);
    want(h, "{'event':'established','private':'6869','listen':%d,'conn':%d}", h->listen, h->conn);
}

void enrich(void)
{
    doubles.attributes.device_cap_flags =
        IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    doubles.attributes.atomic_cap = IBV_ATOMIC_HCA;
}
