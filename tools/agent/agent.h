/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_AGENT_H
#define IW_AGENT_H

/*
 * iwarp-agent: carries out the verbs of proto/control/PROTOCOL.md.
 *
 * main.c      the program: options, control socket, signals
 * session.c   one client: requests in, replies and events out; knows no backend
 * args.c      fields of a request, checked one by one
 * memory.c    the arenas that regions lie in, with their guard areas
 * endpoint.c  the backend on libiwarp's own endpoint; another one can take its place
 */

#include <jansson.h>

#include "iwarp/control.h"
#include "iwarp/transport.h"

/* Bounds on what one client can make the agent hold; documented in iwarp-agent(1). */
enum {
    AGENT_LISTENERS = 64,
    AGENT_CONNECTIONS = 256,
    AGENT_MEMORIES = 1024,
    AGENT_MEMORY_OCTETS = 256 * 1024 * 1024, /* of all arenas together */
    AGENT_GUARD_MAX = 65536,
    AGENT_SGE_MAX = 16,
    AGENT_ERROR = 200
};

/* ---- args.c ---- */

enum agent_type {
    AGENT_NUMBER, /* uint64_t: a JSON integer or a "0x..." string, at most `most` */
    AGENT_BOOL,
    AGENT_STRING, /* const char *, borrowed from the request */
    AGENT_OCTETS, /* struct agent_octets: hex; agent_octets_free */
    AGENT_ARRAY,  /* json_t *, borrowed */
    AGENT_OBJECT  /* json_t *, borrowed */
};

struct agent_octets {
    uint8_t *data;
    size_t length;
};

struct agent_field {
    const char *name;
    enum agent_type type;
    bool required;
    uint64_t most; /* AGENT_NUMBER */
    void *out;
    bool *given; /* may be NULL */
};

/* Takes the fields of an object; "id" and "do" are passed over. False with a text that names the
 * field if one is unknown, missing or of the wrong type. On failure too, what was allocated stays
 * for the caller to free. */
bool agent_take(const json_t *object, const struct agent_field *fields, size_t count, char *error);
void agent_octets_free(struct agent_octets *octets);
/* A new reference: "hex". */
json_t *agent_hex(const uint8_t *data, size_t length);
/* A new reference: a 64-bit number as "0x...". */
json_t *agent_u64(uint64_t value);

/* ---- memory.c ---- */

struct agent_memory {
    uint64_t id; /* 0: free slot */
    uint8_t *arena;
    uint64_t length, guard;
    struct iw_region region;
    bool registered;
};

struct agent_memories {
    struct agent_memory slots[AGENT_MEMORIES];
    uint64_t octets;
    uint64_t last_id;
};

/* A fresh arena: guard, length, guard octets; the guards hold 0xa5. NULL with a text. */
struct agent_memory *agent_memory_new(struct agent_memories *m, uint64_t length, uint64_t guard,
                                      char *error);
struct agent_memory *agent_memory_find(struct agent_memories *m, uint64_t id, char *error);
void agent_memory_free(struct agent_memories *m, struct agent_memory *memory);
/* The octets [offset, offset+length) of the memory; with `guards` the guard areas count too
 * (offset may be negative). NULL with a text if they are not all inside. */
uint8_t *agent_memory_at(struct agent_memory *memory, int64_t offset, uint64_t length, bool guards,
                         char *error);

/* ---- the backend's seam ---- */

/* How a backend tells its session what happened. `event` is taken over. */
typedef void (*agent_emit_fn)(void *context, json_t *event);

struct agent_backend {
    /* Each takes a request and returns the fields of its reply (a new object), or NULL with a
     * text in `error` (AGENT_ERROR octets). */
    json_t *(*call)(void *backend, const char *verb, const json_t *request, char *error);
    /* True if `verb` is one of the backend's. */
    bool (*knows)(const char *verb);
    /* Back to the start: connections are reset, listeners closed, memory freed. */
    void (*reset)(void *backend);
};

extern const struct agent_backend agent_endpoint_backend;

struct agent_endpoint;
/* `defaults` is what a request's config starts from; it names switches that outlive the agent.
 * NULL if there is no memory. */
struct agent_endpoint *agent_endpoint_create(struct iw_reactor *reactor,
                                             const struct iw_endpoint_config *defaults,
                                             agent_emit_fn emit, void *context);
void agent_endpoint_destroy(struct agent_endpoint *a);

/* ---- config.c ---- */

/* The `config` object of listen and connect over a copy of the defaults. `switches` receives the
 * defaults' switches and those of the object. False with a text. */
bool agent_config(const json_t *object, struct iw_endpoint_config *config,
                  struct iw_switches *switches, char *error);

/* ---- session.c ---- */

struct agent_session;
/* Serves one client on `fd` (taken over). NULL if there is no memory. */
struct agent_session *agent_session_create(struct iw_reactor *reactor, int fd,
                                           const struct iw_endpoint_config *defaults);
void agent_session_destroy(struct agent_session *s);
/* True once the client is gone or has broken the protocol beyond repair. */
bool agent_session_over(const struct agent_session *s);

#endif
