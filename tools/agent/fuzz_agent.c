/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of the agent: the octets are its lines. The backend accepts every verb, without a
 * network. Each line must have one reply. */
#include "agent.h"

#include "engine/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1 << 16, STEPS = 4096, ROOM = 1 << 20 };

/* Of one arena; more is refused, so that filling it takes no time. */
enum { ARENA = 1 << 16 };

/* Half of the numbers of listeners and connections are taken from the start. */
enum { THINGS = 16 };

static struct {
    struct agent_core core;
    struct agent_listener listeners[THINGS];
    struct agent_connection connections[THINGS];
    uint32_t stag;
} own;

static struct agent_core *create(struct iw_reactor *reactor, const void *settings,
                                 agent_emit_fn emit, void *context)
{
    (void)settings;
    memset(&own, 0, sizeof(own));
    own.core =
        (struct agent_core){.reactor = reactor,
                            .emit = emit,
                            .context = context,
                            .listeners = {AGENT_SLOTS(own.listeners), "listen", "listener"},
                            .connections = {AGENT_SLOTS(own.connections), "conn", "connection"},
                            .last_id = THINGS / 2,
                            .domain_count = 1};
    for (size_t i = 0; i < THINGS / 2; i++)
        own.listeners[i].id = own.connections[i].id = i + 1;
    return &own.core;
}

static void hang_up(void *b)
{
    (void)b;
    for (size_t i = 0; i < THINGS; i++)
        agent_octets_free(&own.listeners[i].reply);
}

static json_t *features(void *b)
{
    (void)b;
    return json_object();
}

static bool listen_(void *b, void *listener, const struct agent_place *place, uint16_t *port,
                    char *error)
{
    (void)b, (void)listener, (void)error;
    *port = place->at.port;
    return true;
}

static void unlisten(void *listener)
{
    struct agent_listener *l = listener;
    agent_octets_free(&l->reply);
    l->id = 0;
}

static bool connect_(void *b, const struct agent_place *place, uint64_t *conn, char *error)
{
    struct agent_connection *c = agent_slot_free(&own.core.connections, error);
    (void)b, (void)place;
    if (c == NULL)
        return false;
    *conn = c->id = ++own.core.last_id;
    own.core.live ^= 1;
    return true;
}

static bool answer(void *connection, bool accept, const struct agent_octets *data, char *error)
{
    (void)connection, (void)accept, (void)data, (void)error;
    return true;
}

static bool close_(void *connection, enum agent_how how, uint8_t code, char *error)
{
    (void)connection, (void)how, (void)code, (void)error;
    return true;
}

static bool stream_send(void *connection, const struct agent_octets *octets, char *error)
{
    (void)connection, (void)octets, (void)error;
    return true;
}

static bool stream_take(void *connection, uint8_t *out, size_t room, size_t *length, char *error)
{
    (void)connection, (void)error;
    *length = room < 64 ? room : 64;
    memset(out, 0x5a, *length);
    return true;
}

static bool start_stream(void *connection, char *error)
{
    (void)connection, (void)error;
    return true;
}

static bool enrol(void *b, struct agent_memory *memory, const struct agent_region *region,
                  char *error)
{
    (void)b, (void)region;
    memory->stag = ++own.stag;
    memory->to = region->to_given ? region->to : 0;
    return memory->length <= ARENA || agent_fail(error, "too long");
}

static bool invalidate(void *b, uint32_t stag, char *error)
{
    (void)b, (void)error;
    return stag <= own.stag;
}

static void forget(void *b, uint32_t stag)
{
    (void)b, (void)stag;
}

static bool bind_(void *b, const struct agent_binding *binding, uint32_t *stag, uint64_t *to,
                  char *error)
{
    (void)b, (void)error;
    IW_FUZZ_CHECK(binding->offset + binding->length <= binding->memory->length,
                  "agent: a window beyond its memory");
    *stag = ++own.stag;
    *to = binding->offset;
    return true;
}

/* Checks that the pieces can be accessed. */
static bool work(void *connection, const struct agent_work *w, char *error)
{
    (void)connection, (void)error;
    for (size_t i = 0; i < w->count; i++) {
        const struct agent_piece *p = &w->pieces[i];
        IW_FUZZ_CHECK(p->offset <= p->memory->length && p->length <= p->memory->length - p->offset,
                      "agent: a piece beyond its memory");
        if (p->length > 0)
            p->memory->arena[p->offset + p->length - 1] ^= p->memory->arena[p->offset];
    }
    return true;
}

static const struct agent_backend backend = {.name = "fuzz",
                                             .create = create,
                                             .destroy = hang_up,
                                             .hang_up = hang_up,
                                             .features = features,
                                             .listen = listen_,
                                             .unlisten = unlisten,
                                             .connect = connect_,
                                             .answer = answer,
                                             .close = close_,
                                             .stream_send = stream_send,
                                             .stream_take = stream_take,
                                             .start = start_stream,
                                             .enrol = enrol,
                                             .invalidate = invalidate,
                                             .forget = forget,
                                             .bind = bind_,
                                             .receive = work,
                                             .post = work};

/* Checks that each line of the agent's output is a reply. Returns their number. */
static size_t replies(const char *said, size_t length)
{
    size_t count = 0;
    for (size_t at = 0; at < length; count++) {
        const char *end = memchr(said + at, '\n', length - at);
        IW_FUZZ_CHECK(end != NULL, "agent: half a reply");
        json_t *reply = json_loadb(said + at, (size_t)(end - said) - at, 0, NULL);
        IW_FUZZ_CHECK(reply != NULL && json_is_boolean(json_object_get(reply, "ok")),
                      "agent: a reply that is none: %.*s", (int)(end - said - (ptrdiff_t)at),
                      said + at);
        json_decref(reply);
        at = (size_t)(end - said) + 1;
    }
    return count;
}

static void run(const uint8_t *octets, size_t length)
{
    static char said[ROOM];
    size_t said_length = 0, lines = 0, given = 0;
    int fds[2];
    IW_FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "no sockets");
    struct iw_reactor *reactor = iw_reactor_create();
    struct agent_session *s = agent_session_create(reactor, fds[1], &backend, NULL);
    IW_FUZZ_CHECK(s != NULL, "no memory");
    for (size_t i = 0; i < length; i++)
        lines += octets[i] == '\n';
    for (unsigned i = 0; i < STEPS && !agent_session_over(s); i++) {
        ssize_t n = 0;
        if (given < length &&
            (n = send(fds[0], octets + given, length - given, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
            given += (size_t)n;
        int moved = iw_reactor_step(reactor, 0);
        ssize_t got = recv(fds[0], said + said_length, ROOM - said_length, MSG_DONTWAIT);
        if (got > 0)
            said_length += (size_t)got;
        if (said_length > ROOM / 2) /* replies to few lines may be long */
            break;
        if (given == length && moved <= 0 && got <= 0)
            break;
    }
    if (!agent_session_over(s) && said_length <= ROOM / 2)
        IW_FUZZ_CHECK(replies(said, said_length) == lines,
                      "agent: another number of replies than of lines");
    agent_session_destroy(s);
    iw_reactor_destroy(reactor);
    close(fds[0]);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "agent", .most = MOST, .run = run};
