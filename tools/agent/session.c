/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct agent_session {
    struct iw_control_channel *channel;
    struct iw_watch *watch;
    struct agent_client client;
    bool over;
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
    json_t *features = s->client.backend->features(s->client.own);
    if (features != NULL)
        json_object_set_new(features, "verbs", agent_verb_names(&s->client));
    return json_pack("{s:s,s:s,s:i,s:s,s:o}", "agent", "iwarp-agent", "version", IW_VERSION,
                     "schema", IW_CONTROL_SCHEMA, "backend", s->client.backend->name, "features",
                     features);
}

static json_t *dispatch(struct agent_session *s, const char *verb, const json_t *request,
                        char *error)
{
    bool greeting = strcmp(verb, "hello") == 0;
    if (!greeting && strcmp(verb, "reset") != 0)
        return agent_do(&s->client, verb, request, error);
    if (!agent_take(request, NULL, 0, error))
        return NULL;
    if (greeting)
        return hello(s);
    agent_client_reset(&s->client);
    return json_object();
}

/* Makes a text printable: it may quote a piece of a request, cut anywhere, which need not be UTF-8.
 */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
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
    make_printable(error);
    if (!ok)
        reply = json_pack("{s:s}", "error", error[0] != '\0' ? error : "no memory");
    if (reply != NULL) {
        json_object_set_new(reply, "ok", json_boolean(ok));
        if (json_is_integer(id))
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
                                           const struct agent_backend *backend,
                                           const void *settings)
{
    struct agent_session *s = calloc(1, sizeof *s);
    struct iw_control_channel *channel = s == NULL ? NULL : iw_control_channel_create(fd);
    if (channel == NULL) {
        free(s);
        close(fd);
        return NULL;
    }
    s->channel = channel;
    s->client.backend = backend;
    s->client.own = backend->create(reactor, settings, emit, s);
    s->watch = iw_watch_create(reactor, fd, EPOLLIN, ready, s);
    if (s->client.own == NULL || s->watch == NULL) {
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
    if (s->client.own != NULL) {
        agent_client_reset(&s->client);
        s->client.backend->destroy(s->client.own);
    }
    iw_control_channel_destroy(s->channel);
    free(s);
}

bool agent_session_over(const struct agent_session *s)
{
    return s->over;
}

bool agent_session_left(const struct agent_session *s)
{
    char octet;
    ssize_t n = recv(iw_control_channel_fd(s->channel), &octet, 1, MSG_PEEK | MSG_DONTWAIT);
    return s->over || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
