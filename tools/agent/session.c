/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"
#include "host/text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct agent_session {
    struct iw_control_channel *channel;
    struct iw_watch *watch;
    struct agent_client client;
    bool over;
};

/* Sends a reply or an event, which it takes over. */
static void say(void *context, json_t *object)
{
    struct agent_session *s = context;
    if (object == NULL || iw_control_channel_write(s->channel, object) != 0)
        s->over = true; /* a client that does not read is not served without bound */
    json_decref(object);
    if (!s->over && iw_control_channel_flush(s->channel) == 1)
        iw_watch_set(s->watch, EPOLLIN | EPOLLOUT);
}

static void serve(struct agent_session *s, const json_t *request)
{
    char error[AGENT_ERROR] = "";
    json_t *id = json_object_get(request, "id");
    const char *verb = json_string_value(json_object_get(request, "do"));
    json_t *reply = NULL;
    if (!json_is_integer(id))
        agent_fail(error, "field id: expected a number");
    else if (verb == NULL)
        agent_fail(error, "field do: expected a string");
    else
        reply = agent_do(&s->client, verb, request, error);
    bool ok = reply != NULL;
    iw_text_printable(error); /* it may quote a piece of a request, cut inside a character */
    if (!ok)
        reply = json_pack("{s:s}", "error", error[0] != '\0' ? error : "no memory");
    json_object_set_new(reply, "ok", json_boolean(ok));
    if (json_is_integer(id))
        json_object_set(reply, "id", id);
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
    while (!s->over &&
           (got = iw_control_channel_next(s->channel, &request, error, sizeof(error)))) {
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
    struct agent_session *s = calloc(1, sizeof(*s));
    if (s == NULL || (s->channel = iw_control_channel_create(fd)) == NULL) {
        free(s);
        close(fd);
        return NULL;
    }
    s->client.backend = backend;
    s->client.own = backend->create(reactor, settings, say, s);
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
