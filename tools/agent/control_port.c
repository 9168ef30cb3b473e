/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepts control connections. The first peer to send the token becomes the client; others get an
 * error, and are closed when they have gone or their time is up. */
#include "agent.h"

#include "host/address.h"
#include "host/complain.h"
#include "host/text.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct visitor {
    struct agent_control_port *port;
    int fd; /* -1: none, the slot is free once it is not `over` */
    struct iw_watch *watch;
    uint64_t deadline;                   /* for its token, or its end */
    bool refused;                        /* got an error; only its end is awaited */
    bool over;                           /* to be freed */
    size_t length;                       /* of what it has said */
    char said[IW_CONTROL_TOKEN_MAX + 2]; /* a token, "\r" perhaps, and the newline */
    char from[IW_TRANSPORT_TEXT];
};

struct agent_control_port {
    struct iw_reactor *reactor;
    struct iw_watch *watch;
    int fd;
    struct iw_control_token token;
    const struct agent_backend *backend;
    const void *settings;
    struct agent_session *session;
    struct visitor visitors[AGENT_VISITORS];
};

static void let_go(struct visitor *v)
{
    iw_watch_destroy(v->watch);
    if (v->fd >= 0)
        close(v->fd);
    *v = (struct visitor){.port = v->port, .fd = -1};
}

/* Sends one line and ends our direction. Goes on reading the visitor's octets, so that no reset
 * overtakes the line. */
static void refuse(struct visitor *v, const char *why)
{
    json_t *event = iw_got(json_pack("{s:s, s:s}", "event", "refused", "error", why));
    char *line = iw_got(json_dumps(event, JSON_COMPACT));
    iw_complain("%s: refused: %s", v->from, why);
    (void)send(v->fd, line, strlen(line), MSG_NOSIGNAL | MSG_MORE);
    (void)send(v->fd, "\n", 1, MSG_NOSIGNAL);
    free(line);
    json_decref(event);
    shutdown(v->fd, SHUT_WR);
    v->refused = true;
}

/* Ends a client whose host has died: after half a minute of silence to TCP's keep-alives. */
static void keep_alive(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){15}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){5}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){3}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(unsigned){30000}, sizeof(unsigned));
}

static void end_session(struct agent_control_port *d)
{
    agent_session_destroy(d->session);
    d->session = NULL;
}

static void admit(struct visitor *v)
{
    struct agent_control_port *d = v->port;
    if (d->session != NULL && agent_session_left(d->session))
        end_session(d);
    if (d->session != NULL) {
        refuse(v, "busy: another client is being served");
        return;
    }
    keep_alive(v->fd);
    iw_watch_destroy(v->watch); /* the session watches it from now on */
    v->watch = NULL;
    d->session = agent_session_create(d->reactor, v->fd, d->backend, d->settings);
    v->fd = -1;
    v->over = true;
}

/* Reads octets up to the end of the first line and no further: the rest is the session's. */
static ssize_t take_line(struct visitor *v)
{
    size_t room = sizeof(v->said) - v->length;
    ssize_t n = recv(v->fd, v->said + v->length, room, MSG_PEEK | MSG_DONTWAIT);
    const char *newline = n > 0 ? memchr(v->said + v->length, '\n', (size_t)n) : NULL;
    if (newline != NULL)
        n = newline + 1 - (v->said + v->length);
    return n > 0 ? recv(v->fd, v->said + v->length, (size_t)n, MSG_DONTWAIT) : n;
}

static void greet(struct visitor *v)
{
    ssize_t n = take_line(v);
    if (n <= 0) {
        v->over = n == 0 || (errno != EAGAIN && errno != EINTR);
        if (v->over)
            iw_complain("%s: left without a token", v->from);
        return;
    }
    v->length += (size_t)n;
    bool whole = v->said[v->length - 1] == '\n';
    if (!whole && v->length < sizeof(v->said))
        return;
    size_t length = whole ? v->length - 1 : v->length;
    if (whole && length > 0 && v->said[length - 1] == '\r')
        length--;
    bool right = iw_control_token_same(&v->port->token, v->said, length);
    memset(v->said, 0, sizeof(v->said));
    if (right)
        admit(v);
    else
        refuse(v, "wrong token");
}

static void on_visitor(void *context, uint32_t events)
{
    struct visitor *v = context;
    char waste[4096];
    (void)events;
    if (!v->refused) {
        greet(v);
        return;
    }
    ssize_t n = recv(v->fd, waste, sizeof(waste), MSG_DONTWAIT);
    v->over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Returns a free place, or that of the oldest visitor: a slow one does not keep others out. */
static struct visitor *free_visitor(struct agent_control_port *d)
{
    struct visitor *oldest = &d->visitors[0];
    for (size_t i = 0; i < AGENT_VISITORS; i++) {
        struct visitor *v = &d->visitors[i];
        if (v->fd < 0) {
            let_go(v);
            return v;
        }
        if (v->deadline < oldest->deadline)
            oldest = v;
    }
    if (!oldest->refused)
        refuse(oldest, "too many others wait");
    let_go(oldest);
    return oldest;
}

static void on_connection(void *context, uint32_t events)
{
    struct agent_control_port *d = context;
    struct sockaddr_storage from;
    socklen_t length = sizeof(from);
    (void)events;
    int fd = accept4(d->fd, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct visitor *v = free_visitor(d);
    v->fd = fd;
    v->deadline = iw_transport_now() + AGENT_PATIENCE_SECONDS * UINT64_C(1000000000);
    iw_address_numeric((struct sockaddr *)&from, length, v->from, sizeof(v->from));
    v->watch = iw_watch_create(d->reactor, fd, EPOLLIN, on_visitor, v);
    if (v->watch == NULL)
        let_go(v);
    else if (d->token.length == 0)
        admit(v);
}

struct agent_control_port *agent_control_port_open(struct iw_reactor *reactor, int fd,
                                                   const struct iw_control_token *token,
                                                   const struct agent_backend *backend,
                                                   const void *settings)
{
    struct agent_control_port *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        close(fd);
        return NULL;
    }
    d->reactor = reactor;
    d->fd = fd;
    d->token = *token;
    d->backend = backend;
    d->settings = settings;
    for (size_t i = 0; i < AGENT_VISITORS; i++)
        d->visitors[i] = (struct visitor){.port = d, .fd = -1};
    d->watch = iw_watch_create(reactor, fd, EPOLLIN, on_connection, d);
    if (d->watch == NULL) {
        agent_control_port_close(d);
        return NULL;
    }
    return d;
}

int agent_control_port_tidy(struct agent_control_port *d)
{
    uint64_t now = iw_transport_now(), next = UINT64_MAX;
    for (size_t i = 0; i < AGENT_VISITORS; i++) {
        struct visitor *v = &d->visitors[i];
        if (v->fd >= 0 && v->deadline <= now) {
            if (!v->refused)
                refuse(v, "no token came in time");
            v->over = true;
        }
        if (v->over)
            let_go(v);
        else if (v->fd >= 0 && v->deadline < next)
            next = v->deadline;
    }
    if (d->session != NULL && agent_session_over(d->session))
        end_session(d);
    return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000 + 1);
}

void agent_control_port_close(struct agent_control_port *d)
{
    if (d == NULL)
        return;
    iw_watch_destroy(d->watch);
    for (size_t i = 0; i < AGENT_VISITORS; i++)
        let_go(&d->visitors[i]);
    agent_session_destroy(d->session);
    close(d->fd);
    free(d);
}
