/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's end of the control protocol: blocking calls with deadlines. */
#include "host/address.h"
#include "host/clock.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LATE_READS = 64 }; /* for octets that came in time: more than a socket holds */

struct held_event {
    json_t *event;
    size_t octets; /* of its line */
    STAILQ_ENTRY(held_event) entry;
};

struct iw_control {
    struct iw_control_channel *channel;
    json_int_t id; /* of the last request */
    STAILQ_HEAD(, held_event) events;
    size_t held, held_octets;
    bool lost;
    char reason[200]; /* why it was lost */
};

/* Waits until `fd` is ready. Returns false once the deadline has passed. */
static bool wait_for(int fd, short events, uint64_t deadline)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;
    do {
        n = poll(&p, 1, iw_clock_left(deadline));
    } while ((n < 0 && errno == EINTR) || (n == 0 && iw_transport_now() < deadline));
    return n > 0;
}

/* The socket is new: its buffer takes the whole line. */
static void send_token(int fd, const struct iw_control_token *token)
{
    char line[IW_CONTROL_TOKEN_MAX + 1];
    if (token == NULL || token->length == 0)
        return;
    memcpy(line, token->text, token->length);
    line[token->length] = '\n';
    (void)send(fd, line, token->length + 1, MSG_NOSIGNAL); /* the first call will report an error */
}

struct iw_control *iw_control_connect(const char *host, uint16_t port,
                                      const struct iw_control_token *token, uint64_t deadline,
                                      char *error, size_t room)
{
    struct addrinfo *addresses = iw_address_resolve(host, port, false, error, room);
    if (addresses == NULL)
        return NULL;
    int fd = iw_address_connect(addresses, deadline, NULL, NULL);
    struct iw_control *c = NULL;
    if (fd >= 0) {
        send_token(fd, token);
        c = iw_control_adopt(fd);
        if (c == NULL)
            close(fd);
    }
    if (c == NULL)
        snprintf(error, room, "cannot reach the agent at %s port %u: %s", host, (unsigned)port,
                 strerror(errno));
    freeaddrinfo(addresses);
    return c;
}

struct iw_control *iw_control_adopt(int fd)
{
    struct iw_control *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    STAILQ_INIT(&c->events);
    c->channel = iw_control_channel_create(fd);
    if (c->channel == NULL) {
        free(c);
        return NULL;
    }
    return c;
}

static json_t *pop_event(struct iw_control *c)
{
    struct held_event *held = STAILQ_FIRST(&c->events);
    if (held == NULL)
        return NULL;
    json_t *event = held->event;
    STAILQ_REMOVE_HEAD(&c->events, entry);
    c->held--;
    c->held_octets -= held->octets;
    free(held);
    return event;
}

void iw_control_close(struct iw_control *c)
{
    if (c == NULL)
        return;
    while (!STAILQ_EMPTY(&c->events))
        json_decref(pop_event(c));
    iw_control_channel_destroy(c->channel);
    free(c);
}

int iw_control_fd(const struct iw_control *c)
{
    return iw_control_channel_fd(c->channel);
}

bool iw_control_lost(const struct iw_control *c)
{
    return c->lost;
}

static void lose(struct iw_control *c, const char *reason)
{
    if (c->lost)
        return;
    c->lost = true;
    if (c->reason[0] == '\0')
        snprintf(c->reason, sizeof(c->reason), "%s", reason);
}

static void hold(struct iw_control *c, json_t *event, size_t octets)
{
    bool room = c->held < IW_CONTROL_EVENTS && c->held_octets + octets <= IW_CONTROL_HELD;
    struct held_event *held = room ? malloc(sizeof(*held)) : NULL;
    if (held == NULL) {
        json_decref(event);
        lose(c, "too many events were not taken");
        return;
    }
    *held = (struct held_event){.event = event, .octets = octets};
    STAILQ_INSERT_TAIL(&c->events, held, entry);
    c->held++;
    c->held_octets += octets;
}

/* Takes one line that is here already. Returns the reply to request `id`, if it is that; sets *more
 * to whether there was a line. */
static json_t *take(struct iw_control *c, json_int_t id, bool *more)
{
    json_t *message;
    char error[160];
    int n = iw_control_channel_next(c->channel, &message, error, sizeof(error));
    *more = n == 1;
    if (n == 0)
        return NULL;
    if (n < 0) {
        lose(c, error);
        return NULL;
    }
    const char *event = json_string_value(json_object_get(message, "event"));
    if (event != NULL) {
        if (strcmp(event, "refused") == 0) {
            const char *text = json_string_value(json_object_get(message, "error"));
            snprintf(c->reason, sizeof(c->reason), "%.190s", text != NULL ? text : "refused");
        }
        hold(c, message, iw_control_channel_line(c->channel));
        return NULL;
    }
    if (json_integer_value(json_object_get(message, "id")) == id)
        return message;
    json_decref(message); /* the late reply to a call that was given up */
    return NULL;
}

/* Waits for more octets. Returns false once the deadline has passed or the agent is gone. After the
 * deadline it still takes octets that have come already, at most LATE_READS times (counted in
 * *late), so that it does not wait for an agent that never stops. */
static bool more_input(struct iw_control *c, uint64_t deadline, unsigned *late)
{
    if (c->lost)
        return false;
    if (iw_transport_now() >= deadline && (*late)++ >= LATE_READS)
        return false;
    int pending = iw_control_channel_flush(c->channel);
    short events = (short)(pending > 0 ? POLLIN | POLLOUT : POLLIN);
    if (!wait_for(iw_control_channel_fd(c->channel), events, deadline))
        return false;
    if (iw_control_channel_read(c->channel) < 0) {
        lose(c, "the agent has closed the control connection");
        return false;
    }
    return true;
}

json_t *iw_control_call(struct iw_control *c, json_t *request, uint64_t deadline, char *error,
                        size_t room)
{
    json_int_t id = ++c->id;
    const char *verb = json_string_value(json_object_get(request, "do"));
    char name[40];
    snprintf(name, sizeof(name), "%s", verb != NULL ? verb : "?");
    bool numbered = json_object_set_new(request, "id", json_integer(id)) == 0;
    /* On a broken socket the agent's last words may still be readable. */
    int sent = c->lost || !numbered ? 0 : iw_control_channel_write(c->channel, request);
    json_decref(request);
    if (!numbered) {
        snprintf(error, room, "cannot send \"%s\" to the agent: out of memory", name);
        return NULL;
    }
    if (sent == -1) {
        snprintf(error, room, "cannot send \"%s\" to the agent: the request is too long", name);
        return NULL;
    }
    unsigned late = 0;
    do {
        bool more = true;
        while (more && !c->lost) {
            json_t *reply = take(c, id, &more);
            if (reply != NULL)
                return reply;
        }
    } while (more_input(c, deadline, &late));
    if (c->lost)
        snprintf(error, room, "no reply to \"%s\": %s", name, c->reason);
    else
        snprintf(error, room, "no reply to \"%s\" from the agent in time", name);
    return NULL;
}

json_t *iw_control_event(struct iw_control *c, uint64_t deadline)
{
    unsigned late = 0;
    do {
        bool more = true;
        while (more && !c->lost)
            json_decref(take(c, 0, &more)); /* no call has this id: nobody waits for it */
        if (!STAILQ_EMPTY(&c->events))
            return pop_event(c);
    } while (more_input(c, deadline, &late));
    return NULL;
}
