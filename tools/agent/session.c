/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct agent_session {
    struct iw_control_channel *channel;
    struct iw_watch *watch;
    const struct agent_backend *backend;
    struct agent_endpoint *endpoint;
    bool over;
    bool extensions; /* what connections are made with by default */
};

static void say(struct agent_session *s, json_t *object)
{
    if (object == NULL || iw_control_channel_write(s->channel, object) != 0)
        s->over = true; /* a client that does not read is not served without bound */
    json_decref(object);
    if (!s->over && iw_control_channel_flush(s->channel) == 1)
        iw_watch_set(s->watch, EPOLLIN | EPOLLOUT);
}

static void emit(void *context, json_t *event)
{
    say(context, event);
}

static json_t *hello(const struct agent_session *s)
{
    return json_pack("{s:s,s:s,s:i,s:s,s:{s:b,s:b,s:[i,i,i],s:[s,s,s],s:i,s:b,s:b,s:[s,s,s,s,s]}}",
                     "agent", "iwarp-agent", "version", IW_VERSION, "schema", IW_CONTROL_SCHEMA,
                     "backend", "endpoint", "features", "crc", 1, "markers", 1, "revisions", 0, 1,
                     2, "rtr", "send", "write", "read", "max_private", (int)IW_MPA_PRIVATE_MAX,
                     "switches", 1, "extensions", s->extensions, "access", "local-write",
                     "remote-read", "remote-write", "remote-invalidate", "remote-atomic");
}

static json_t *dispatch(struct agent_session *s, const char *verb, const json_t *request,
                        char *error)
{
    if (strcmp(verb, "hello") == 0)
        return agent_take(request, NULL, 0, error) ? hello(s) : NULL;
    if (strcmp(verb, "reset") == 0) {
        if (!agent_take(request, NULL, 0, error))
            return NULL;
        s->backend->reset(s->endpoint);
        return json_object();
    }
    if (s->backend->knows(verb))
        return s->backend->call(s->endpoint, verb, request, error);
    snprintf(error, AGENT_ERROR, "verb %.40s: not known", verb);
    return NULL;
}

static void serve(struct agent_session *s, const json_t *request)
{
    char error[AGENT_ERROR] = "";
    const json_t *id = json_object_get(request, "id");
    const char *verb = json_string_value(json_object_get(request, "do"));
    json_t *reply = NULL;
    if (!json_is_integer(id))
        snprintf(error, sizeof error, "field id: expected a number");
    else if (verb == NULL)
        snprintf(error, sizeof error, "field do: expected a string");
    else
        reply = dispatch(s, verb, request, error);
    bool ok = reply != NULL;
    if (!ok)
        reply = json_pack("{s:s}", "error", error[0] != '\0' ? error : "no memory");
    if (reply != NULL) {
        json_object_set_new(reply, "ok", json_boolean(ok));
        if (id != NULL)
            json_object_set(reply, "id", (json_t *)(uintptr_t)id);
    }
    say(s, reply);
}

static void ready(void *context, uint32_t events)
{
    struct agent_session *s = context;
    char error[AGENT_ERROR];
    json_t *request;
    if ((events & EPOLLOUT) != 0 && iw_control_channel_flush(s->channel) < 0)
        s->over = true;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && iw_control_channel_read(s->channel) < 0)
        s->over = true;
    int got;
    while (!s->over && (got = iw_control_channel_next(s->channel, &request, error, sizeof error))) {
        if (got > 0) {
            serve(s, request);
            json_decref(request);
        } else {
            say(s, json_pack("{s:b,s:s}", "ok", 0, "error", error));
            s->over = s->over || got == -2;
        }
    }
    if (!s->over && iw_control_channel_flush(s->channel) == 0)
        iw_watch_set(s->watch, EPOLLIN);
}

struct agent_session *agent_session_create(struct iw_reactor *reactor, int fd,
                                           const struct iw_endpoint_config *defaults)
{
    struct agent_session *s = calloc(1, sizeof *s);
    struct iw_control_channel *channel = s == NULL ? NULL : iw_control_channel_create(fd);
    if (channel == NULL) {
        free(s);
        close(fd);
        return NULL;
    }
    s->backend = &agent_endpoint_backend;
    s->channel = channel;
    s->extensions = defaults->extensions;
    s->endpoint = agent_endpoint_create(reactor, defaults, emit, s);
    s->watch = iw_watch_create(reactor, fd, EPOLLIN, ready, s);
    if (s->endpoint == NULL || s->watch == NULL) {
        agent_session_destroy(s);
        return NULL;
    }
    return s;
}

void agent_session_destroy(struct agent_session *s)
{
    if (s == NULL)
        return;
    iw_watch_destroy(s->watch);
    agent_endpoint_destroy(s->endpoint);
    iw_control_channel_destroy(s->channel);
    free(s);
}

bool agent_session_over(const struct agent_session *s)
{
    return s->over;
}
