/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"
#include "host/address.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/number.h"
#include "host/proc_tables.h"
#include "host/text.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"

enum { CALL_SECONDS = 10, STEP_MS = 5, DYING_MS = 2000, GRACE_MS = 100, BACKLOG = 4 };

/* The purpose of each memory: one with all rights, one to be read, and one without rights. */
static const struct {
    const char *remote;
    const char *rights[4];
    uint32_t length;
} kinds[IW_HUNT_MEMORIES] = {
    {"read write atomic", {"local-write", "remote-read", "remote-write", "remote-atomic"}, 256},
    {"read", {"local-write", "remote-read"}, 256},
    {"", {"local-write"}, 64},
};

uint32_t iw_hunt_memory_length(unsigned k)
{
    return kinds[k].length;
}

/* ---- the agent ---- */

/* Sends a request and waits for the reply. Returns NULL with one line in w->error if that fails. */
static json_t *call(struct iw_hunt_world *w, json_t *request)
{
    uint64_t deadline = iw_transport_now() + (uint64_t)(CALL_SECONDS * w->scale * 1e9);
    json_t *reply =
        iw_control_call(w->target->control, iw_got(request), deadline, w->error, sizeof(w->error));
    const char *why = json_string_value(json_object_get(reply, "error"));

    if (reply == NULL || json_is_true(json_object_get(reply, "ok")))
        return reply;
    snprintf(w->error, sizeof(w->error), "the agent: %s", why != NULL ? why : "no");
    json_decref(reply);
    return NULL;
}

/* Sends a request without waiting; the reply is ignored. */
static void submit(struct iw_hunt_world *w, json_t *request)
{
    char error[256];
    json_decref(iw_control_call(w->target->control, iw_got(request), 0, error, sizeof(error)));
}

static json_int_t number(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    uint64_t wide = 0;

    if (!json_is_string(value))
        return json_integer_value(value);
    (void)iw_number(json_string_value(value), 0, UINT64_MAX, &wide);
    return (json_int_t)wide;
}

/* Returns the octets of a memory with its guards, in hexadecimal. The caller frees it. */
static char *look(struct iw_hunt_world *w, const struct iw_hunt_memory *m)
{
    int octets = (int)m->length + 2 * IW_HUNT_GUARD;
    json_t *reply = call(w, json_pack("{s:s, s:I, s:i, s:i}", "do", "read", "mem", m->mem, "offset",
                                      -IW_HUNT_GUARD, "length", octets));
    char *text = iw_text_copy(json_string_value(json_object_get(reply, "hex")));

    if (reply != NULL && (text == NULL || strlen(text) != 2 * (size_t)octets)) {
        snprintf(w->error, sizeof(w->error), "the agent: read: expected %d octets", octets);
        free(text);
        text = NULL;
    }
    json_decref(reply);
    return text;
}

static bool make_memory(struct iw_hunt_world *w, size_t k)
{
    struct iw_hunt_memory *m = &w->memories[k];
    json_t *rights = iw_got(json_array());

    for (size_t i = 0; i < 4 && kinds[k].rights[i] != NULL; i++)
        if (strcmp(kinds[k].rights[i], "remote-atomic") != 0 ||
            w->target->can(w->target, "extensions"))
            json_array_append_new(rights, iw_got(json_string(kinds[k].rights[i])));
    json_t *reply =
        call(w, json_pack("{s:s, s:i, s:o, s:i}", "do", "register", "length", (int)kinds[k].length,
                          "access", rights, "guard", IW_HUNT_GUARD));
    if (reply == NULL)
        return false;
    *m = (struct iw_hunt_memory){.mem = number(reply, "mem"),
                                 .stag = (uint32_t)number(reply, "stag"),
                                 .to = (uint64_t)number(reply, "to"),
                                 .length = kinds[k].length,
                                 .remote = kinds[k].remote};
    json_decref(reply);
    m->content = look(w, m);
    return m->content != NULL;
}

void iw_hunt_world_describe(struct iw_hunt_world *w)
{
    for (w->n_memories = 0; w->n_memories < IW_HUNT_MEMORIES; w->n_memories++)
        w->memories[w->n_memories] = (struct iw_hunt_memory){.length = kinds[w->n_memories].length,
                                                             .remote = kinds[w->n_memories].remote};
}

static bool resolve(struct iw_hunt_world *w, const char *host, uint16_t port,
                    struct sockaddr_storage *to)
{
    struct addrinfo *list = iw_address_resolve(host, port, false, w->error, sizeof(w->error));

    if (list == NULL)
        return false;
    memcpy(to, list->ai_addr, list->ai_addrlen);
    w->to_length = list->ai_addrlen;
    freeaddrinfo(list);
    return true;
}

/* Makes a listener for each slot, which identifies the sequence of each Request. */
static bool make_listeners(struct iw_hunt_world *w)
{
    for (unsigned i = 0; i < w->slots; i++) {
        json_t *reply = call(w, json_pack("{s:s, s:s, s:i, s:s}", "do", "listen", "host",
                                          w->target->host, "port", 0, "accept", "ask"));
        uint16_t port = (uint16_t)number(reply, "port");

        w->listen[i] = number(reply, "listen");
        json_decref(reply);
        if (reply == NULL || !resolve(w, w->target->host, port, &w->to[i]))
            return false;
    }
    return true;
}

static bool prepare_agent(struct iw_hunt_world *w)
{
    json_t *reply = call(w, json_pack("{s:s}", "do", "hello"));
    const char *backend = json_string_value(json_object_get(reply, "backend"));

    w->late_receives = backend != NULL && strcmp(backend, "verbs") == 0;
    json_decref(reply);
    if (reply == NULL)
        return false;
    for (w->n_memories = 0; w->n_memories < IW_HUNT_MEMORIES; w->n_memories++)
        if (!make_memory(w, w->n_memories))
            return false;
    reply = call(w, json_pack("{s:s, s:i, s:[s]}", "do", "register", "length",
                              IW_HUNT_RECEIVES * IW_HUNT_RECEIVE, "access", "local-write"));
    w->receives = number(reply, "mem");
    json_decref(reply);
    return reply != NULL && make_listeners(w);
}

static void post_receives(struct iw_hunt_world *w, json_int_t conn)
{
    for (int i = 0; i < IW_HUNT_RECEIVES; i++)
        submit(w, json_pack("{s:s, s:I, s:I, s:I, s:i, s:i}", "do", "recv", "conn", conn, "work",
                            ++w->work, "mem", w->receives, "offset", i * IW_HUNT_RECEIVE, "length",
                            IW_HUNT_RECEIVE));
}

void iw_hunt_world_serve(struct iw_hunt_world *w, void (*requested)(void *context, unsigned slot),
                         void *context)
{
    json_t *event;
    while (w->instance != NULL && ((event = iw_control_event(w->target->control, 0)) != NULL)) {
        const char *kind = json_string_value(json_object_get(event, "event"));
        json_int_t conn = number(event, "conn"), listen = number(event, "listen");
        bool asks = kind != NULL && strcmp(kind, "request") == 0;

        if (asks ? !w->late_receives
                 : w->late_receives && kind != NULL && strcmp(kind, "established") == 0)
            post_receives(w, conn);
        if (asks) {
            submit(w, json_pack("{s:s, s:I}", "do", "accept", "conn", conn));
            for (unsigned i = 0; i < w->slots; i++)
                if (w->listen[i] == listen)
                    requested(context, i);
        }
        json_decref(event);
    }
}

int iw_hunt_world_fd(const struct iw_hunt_world *w)
{
    return w->instance != NULL && w->target->control != NULL ? iw_control_fd(w->target->control)
                                                             : -1;
}

/* Returns true if the peer may change this digit of memory `k`. */
static bool peers_own(size_t k, size_t at)
{
    return k == 0 && at / 2 >= IW_HUNT_GUARD && at / 2 < IW_HUNT_GUARD + kinds[k].length;
}

const char *iw_hunt_world_stray(struct iw_hunt_world *w, char *text, size_t room)
{
    for (size_t k = 0; k < w->n_memories; k++) {
        struct iw_hunt_memory *m = &w->memories[k];
        char *now = look(w, m);
        size_t at = 0;

        while (now != NULL && now[at] && (now[at] == m->content[at] || peers_own(k, at)))
            at++;
        bool changed = now != NULL && now[at];
        free(now);
        if (changed) {
            snprintf(text, room, "memory %zu (%s) has changed at octet %ld", k,
                     *m->remote ? m->remote : "no remote rights", (long)(at / 2) - IW_HUNT_GUARD);
            return text;
        }
    }
    return NULL;
}

/* Finds the address of a peer without an agent: it is the same for each slot. */
static bool find_peer(struct iw_hunt_world *w)
{
    struct sockaddr_storage to = {0};
    if (!resolve(w, w->target->host, w->target->port, &to))
        return false;
    for (unsigned i = 0; i < w->slots; i++)
        w->to[i] = to;
    return true;
}

/* ---- a peer that connects ---- */

static bool listen_for_it(struct iw_hunt_world *w)
{
    const char *host = w->target->station_host;
    struct addrinfo *list = iw_address_resolve(host, 0, false, w->error, sizeof(w->error));
    struct sockaddr_storage at = {0};
    socklen_t length = sizeof(at);
    if (list == NULL)
        return false;
    w->listener = iw_address_listen(list, BACKLOG, SOCK_NONBLOCK, NULL, NULL);
    const bool good =
        w->listener >= 0 && getsockname(w->listener, (struct sockaddr *)&at, &length) == 0;
    if (!good)
        snprintf(w->error, sizeof(w->error), "cannot listen on %s: %s", host, strerror(errno));
    freeaddrinfo(list);
    w->port = iw_address_port((struct sockaddr *)&at);
    return good;
}

bool iw_hunt_world_prepare_call(struct iw_hunt_world *w)
{
    if (!iw_hunt_called(w->side))
        return true;
    if (iw_hunt_world_death(w) == NULL && iw_target_calling(w->instance) &&
        iw_transport_now() < w->grace)
        return false;
    const char *how = iw_target_check(w->instance, w->trouble, sizeof(w->trouble));
    if ((how != NULL || *w->trouble) && !*w->dead)
        snprintf(w->dead, sizeof(w->dead), "%s", how != NULL ? how : "a sanitizer stopped it");
    return true;
}

void iw_hunt_world_settle(struct iw_hunt_world *w)
{
    while (!iw_hunt_world_prepare_call(w))
        poll(NULL, 0, STEP_MS);
}

void iw_hunt_world_left(struct iw_hunt_world *w)
{
    w->grace = iw_transport_now() + (uint64_t)(GRACE_MS * w->scale * 1e6);
}

bool iw_hunt_world_call(struct iw_hunt_world *w)
{
    char error[512];
    return !w->target->initiate(w->target, w->target->station_host, w->port, error, sizeof(error));
}

/* ---- the target ---- */

enum iw_target_opened iw_hunt_world_open(struct iw_hunt_world *w)
{
    iw_hunt_reports_begin(&w->reports, w->log);
    enum iw_target_opened opened =
        iw_target_open(w->spec, NULL, w->log, w->scale, &w->instance, w->error, sizeof(w->error));

    *w->trouble = *w->dead = 0;
    w->n_memories = 0;
    if (opened) {
        w->instance = NULL;
        return opened;
    }
    w->starts++;
    w->target = iw_target_of(w->instance);
    bool calls = iw_hunt_called(w->side);
    if (w->target->control != NULL ? prepare_agent(w) : calls ? listen_for_it(w) : find_peer(w))
        return opened;
    iw_hunt_world_close(w);
    return calls ? IW_TARGET_BROKEN : IW_TARGET_UNREACHED;
}

void iw_hunt_world_close(struct iw_hunt_world *w)
{
    for (size_t i = 0; i < IW_HUNT_MEMORIES; i++) {
        free(w->memories[i].content);
        w->memories[i].content = NULL;
    }
    w->n_memories = 0;
    if (w->instance == NULL)
        return;
    if (w->listener >= 0)
        close(w->listener);
    w->listener = -1;
    char trouble[sizeof(w->trouble)];
    iw_target_close(w->instance, trouble, sizeof(trouble));
    if (!*w->trouble)
        memcpy(w->trouble, trouble, sizeof(trouble));
    w->instance = NULL;
    iw_hunt_world_read(w);
}

void iw_hunt_world_read(struct iw_hunt_world *w)
{
    iw_hunt_reports_read(&w->reports, w->log);
}

bool iw_hunt_world_abort(struct iw_hunt_world *w, struct iw_crash *place)
{
    return w->instance != NULL && iw_target_abort(w->instance, place);
}

const char *iw_hunt_world_death(struct iw_hunt_world *w)
{
    if (*w->dead)
        return w->dead;
    const char *how = w->target->death != NULL ? w->target->death(w->target) : NULL;
    if (how == NULL && !(w->target->control != NULL && iw_control_lost(w->target->control)))
        return NULL;
    char trouble[sizeof(w->trouble)];
    how = iw_target_check(w->instance, trouble, sizeof(trouble));
    if (*trouble)
        memcpy(w->trouble, trouble, sizeof(trouble));
    iw_hunt_world_read(w);
    if (how != NULL && iw_hunt_called(w->side)) {
        snprintf(w->dead, sizeof(w->dead), "%s", how);
        how = w->dead;
    }
    return how;
}

size_t iw_hunt_world_resident(const struct iw_hunt_world *w)
{
    pid_t pid = w->instance != NULL ? iw_target_group(w->instance) : 0;

    if (pid <= 0)
        return 0;
    return (size_t)(iw_proc_memory(pid).resident / 1024);
}
