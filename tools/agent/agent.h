/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_AGENT_H
#define IW_AGENT_H

/*
 * iwarp-agent: executes the verbs of proto/control/PROTOCOL.md.
 *
 * main.c              the program: options, signals
 * control_port.c      the control port: tokens, one client at a time
 * session.c           one client: requests in, replies and events out
 * verbs.c             the verbs about connections, verbs_memory.c about memory, verbs_work.c about
 *                     work: what requests say, checked, for any backend
 * args.c              fields of a request, checked one by one
 * agent_core.c        what all backends share: things with numbers, events of connections
 * agent_memory.c      the arenas that regions lie in, with their guard areas
 * agent_endpoint*.c   the backend on libiwarp's own endpoint; agent_config.c: its `config`
 * agent_rdma*.c       the backend on libibverbs and librdmacm
 *
 * Only main.c names a backend: it hands a struct agent_backend to agent_control_port_open or
 * agent_session_create.
 */

#include "host/json_values.h"

#include "iwarp/control.h"
#include "iwarp/transport.h"

/* Bounds on what one client can make the agent hold; documented in PROTOCOL.md. */
enum {
    AGENT_LISTENERS = 64,
    AGENT_CONNECTIONS = 256,
    AGENT_MEMORIES = 1024,
    AGENT_WINDOWS = 1024,
    AGENT_DOMAINS = 256,
    AGENT_MEMORY_OCTETS = 256 * 1024 * 1024, /* of all arenas together */
    AGENT_GUARD_MAX = 65536,
    AGENT_PAGE = 4096,
    AGENT_SGE_MAX = 16,
    AGENT_RIGHTS = 6,            /* kinds of access */
    AGENT_SWITCHES_MAX = 1024,   /* entries of a list of switches */
    AGENT_READ_MAX = 100000,     /* octets of one reply, so that its line stays within bounds */
    AGENT_STREAM_MAX = 65536,    /* streamed octets that wait to be taken, or to be sent */
    AGENT_VISITORS = 16,         /* connections to the control port that are not being served */
    AGENT_PATIENCE_SECONDS = 10, /* for a token to come */
    AGENT_ERROR = 200
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- args.c ---- */

/* Puts a text into `error` (AGENT_ERROR octets). Returns false. */
bool agent_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum agent_type {
    AGENT_NUMBER, /* unsigned, of 8 to 64 bits: a JSON integer or a "0x..." string up to `most` */
    AGENT_OFFSET, /* int64_t: a JSON integer */
    AGENT_BOOL,
    AGENT_STRING, /* const char *, borrowed from the request */
    AGENT_OCTETS, /* struct agent_octets: hex, at most `most` octets; agent_octets_free */
    AGENT_ARRAY,  /* json_t *, borrowed; at most `most` entries */
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
    uint64_t most;
    void *out;
    size_t size; /* of *out */
};

/* The last members of a field. */
#define AGENT_INTO(variable) &(variable), sizeof(variable)
/* A field of a type that has no `most`. */
#define AGENT_PLAIN(name, type, required, variable)                                                \
    {                                                                                              \
        (name), (type), (required), 0, AGENT_INTO(variable)                                        \
    }

/* Reads the fields of an object; skips "id" and "do". Returns false with a text that names the
 * field if one is unknown, missing or of the wrong type. Even on failure the caller has to free
 * what was allocated. */
bool agent_take(const json_t *object, const struct agent_field *fields, size_t count, char *error);
void agent_octets_free(struct agent_octets *octets);
/* Returns the index of a word of a request in a list, or -1 with a text that has the whole list.
 * `word` may be NULL. */
int agent_index(const char *field, const char *const *list, size_t count, const char *word,
                char *error);
/* Returns a new reference: an array of strings. */
json_t *agent_strings(const char *const *list, size_t count);

/* ---- slots: tables of things that have a number ---- */

/* Each slot begins with a uint64_t: 0 if it is free, AGENT_GONE if what is in it cannot be found
 * any more. */
struct agent_slots {
    void *first;
    size_t count, size; /* of one */
    const char *field;  /* that names one in requests */
    const char *name;   /* of one, for texts */
};

#define AGENT_GONE UINT64_MAX
/* The first members, and arguments, for slots that are an array. */
#define AGENT_SLOTS(array) (array), COUNT(array), sizeof((array)[0])

/* Returns the first slot with this number (0: the first free one), NULL if there is none. */
void *agent_slot_with(void *first, size_t count, size_t size, uint64_t number);
/* Finds what the only field of a request numbers. Returns NULL with a text if there is none. */
void *agent_slot_take(const struct agent_slots *s, const json_t *request, char *error);
/* Returns what has this number; NULL with a text if there is no such thing. */
void *agent_slot_find(const struct agent_slots *s, uint64_t number, char *error);
/* Returns a free slot; NULL with a text if there is none. */
void *agent_slot_free(const struct agent_slots *s, char *error);

/* ---- agent_memory.c ---- */

struct agent_memory {
    uint64_t id;
    uint8_t *block; /* what is allocated: the arena lies in it */
    uint8_t *arena;
    uint64_t length, guard;
    uint32_t stag; /* of the backend, as the TO of the first octet */
    uint64_t to;
    unsigned windows; /* that are bound to it */
};

struct agent_memories {
    struct agent_memory slots[AGENT_MEMORIES];
    uint64_t octets;
    uint64_t last_id;
};

/* Makes an arena: guard, length, guard octets; the guards hold 0xa5. The first octet between them
 * has the same offset in its page as the TO `to` (may be NULL) in its own: a device can translate
 * nothing else. Returns NULL with a text on failure. */
struct agent_memory *agent_memory_new(struct agent_memories *m, uint64_t length, uint64_t guard,
                                      const uint64_t *to, char *error);
struct agent_slots agent_memory_slots(struct agent_memories *m);
struct agent_memory *agent_memory_find(struct agent_memories *m, uint64_t id, char *error);
void agent_memory_free(struct agent_memories *m, struct agent_memory *memory);
/* Frees all released memory, whose number is AGENT_GONE. */
void agent_memory_sweep(struct agent_memories *m);
/* Returns the octets [offset, offset+length) of the memory; with `guards` the guard areas count too
 * (offset may be negative). Returns NULL with a text if they are not all inside. */
uint8_t *agent_memory_at(struct agent_memory *memory, int64_t offset, uint64_t length, bool guards,
                         char *error);

/* ---- the backend's seam ---- */

/* Reports an event from a backend to its session. Takes over `event`. */
typedef void (*agent_emit_fn)(void *context, json_t *event);

/* What each backend begins with. */
struct agent_core {
    struct iw_reactor *reactor;
    agent_emit_fn emit;
    void *context;
    struct agent_slots listeners;   /* that begin with a struct agent_listener */
    struct agent_slots connections; /* that begin with a struct agent_connection */
    uint64_t last_id;               /* of a listener or connection */
    size_t live;                    /* connections that may touch released memory */
    size_t domain_count;            /* protection domains; the first is always there */
};

struct agent_listener {
    uint64_t id;
    bool ask;                  /* Requests wait for an answer */
    struct agent_octets reply; /* private data of the Reply if they do not */
};

struct agent_connection {
    uint64_t id;
    struct agent_core *core;
    uint64_t listen; /* the listener that it came through, 0 if none */
};

/* Makes the index of a protection domain of its number, 0: the first one. Returns false with a text
 * if there is no such domain. */
bool agent_domain_index(const struct agent_core *core, uint64_t *domain, char *error);
/* Reports an event of a connection; format and what follows are those of json_pack, an object with
 * its fields (and with its name, if `event` is NULL). */
void agent_report(const struct agent_connection *c, const char *event, const char *format, ...);
/* Returns the listener of a connection as a value for o* (a new reference, NULL if it has none). */
json_t *agent_listen_of(const struct agent_connection *c);

/* The arguments of listen and connect, borrowed for the call. */
struct agent_place {
    struct iw_host_port at;
    const json_t *config; /* NULL or an object, whose fields are the backend's own */
    struct agent_octets private_data;
    uint64_t domain; /* index of a protection domain */
    bool ask;        /* listen: Requests wait for an answer */
    bool half_close; /* the peer's close is not answered by one */
    bool stream;     /* connections begin in streaming mode */
};

enum agent_how { AGENT_GRACEFUL, AGENT_RESET, AGENT_TERMINATE };

/* register: rights are IW_ACCESS_*. */
struct agent_region {
    uint32_t rights;
    uint64_t domain;
    uint64_t conn; /* bound to its stream; 0: to none */
    bool to_given;
    uint64_t to;
};

struct agent_window {
    uint64_t id;
    uint32_t stag;
    struct agent_memory *memory; /* NULL: not bound */
};

/* bind */
struct agent_binding {
    struct agent_memory *memory;
    uint64_t offset, length; /* within the memory */
    uint32_t rights;         /* remote ones */
    uint64_t conn;           /* 0: none */
};

struct agent_piece {
    struct agent_memory *memory;
    uint64_t offset, length; /* within the memory */
};

/* The arguments of recv and post. `work` is set except for the place of its octets: a Read's sink
 * is the only piece. */
struct agent_work {
    struct iw_work work;
    struct agent_piece pieces[AGENT_SGE_MAX];
    size_t count;
};

/*
 * The interface of a backend. Calls that return bool change nothing if they return false, and put
 * the reason into `error` (AGENT_ERROR octets); a text that begins with AGENT_UNSUPPORTED says that
 * this backend cannot do it at all. Verbs whose pointer is NULL are not offered. `b` is what
 * `create` returned, `listener` and `connection` are slots of it.
 */
#define AGENT_UNSUPPORTED "unsupported: "

struct agent_backend {
    const char *name; /* as `hello` reports it */
    /* `settings` is what main.c has for this backend. Returns NULL if there is no memory. */
    struct agent_core *(*create)(struct iw_reactor *reactor, const void *settings,
                                 agent_emit_fn emit, void *context);
    void (*destroy)(void *b);
    /* Resets connections and closes listeners, without events. */
    void (*hang_up)(void *b);
    /* Returns a new object: the features of PROTOCOL.md except for `verbs`. */
    json_t *(*features)(void *b);
    /* Returns a new object: what `device` of hello has but for `kernel`. NULL: nothing. */
    json_t *(*device)(void *b);

    /* `listener` is free; once this has returned true, its struct agent_listener is filled. */
    bool (*listen)(void *b, void *listener, const struct agent_place *place, uint16_t *port,
                   char *error);
    void (*unlisten)(void *listener);
    bool (*connect)(void *b, const struct agent_place *place, uint64_t *conn, char *error);
    bool (*answer)(void *connection, bool accept, const struct agent_octets *private_data,
                   char *error);
    bool (*close)(void *connection, enum agent_how how, uint8_t code, char *error);

    /* Streaming mode (RFC 5044 §7.1.2): all three or none. `take` moves at most `room` octets. */
    bool (*stream_send)(void *connection, const struct agent_octets *octets, char *error);
    bool (*stream_take)(void *connection, uint8_t *out, size_t room, size_t *length, char *error);
    bool (*start)(void *connection, char *error);

    /* Makes the protection domain after the last one, unless there is one from before a reset.
     * NULL: all are there. */
    bool (*domain)(void *b, char *error);
    /* Fills stag and to. */
    bool (*enrol)(void *b, struct agent_memory *memory, const struct agent_region *region,
                  char *error);
    /* Also windows'. */
    bool (*invalidate)(void *b, uint32_t stag, char *error);
    void (*forget)(void *b, uint32_t stag);
    /* Binds a new window (stag 0), or an existing one anew: its STag is forgotten. Fills stag and
     * to. */
    bool (*bind)(void *b, const struct agent_binding *binding, uint32_t *stag, uint64_t *to,
                 char *error);

    bool (*receive)(void *connection, const struct agent_work *work, char *error);
    bool (*post)(void *connection, const struct agent_work *work, char *error);
};

/* ---- verbs*.c: what one client has, whatever the backend ---- */

struct agent_client {
    const struct agent_backend *backend;
    struct agent_core *own; /* the backend's */
    struct agent_memories memories;
    struct agent_window windows[AGENT_WINDOWS];
    uint64_t last_window;
    json_t *reply; /* the fields of the reply to the request at hand */
};

/* A verb: puts its fields into the reply. Returns false with a text, or without one if there is no
 * memory. */
typedef bool agent_verb(struct agent_client *c, const json_t *request, char *error);

/* Executes a verb. Returns the fields of the reply (a new object), or NULL, as a verb does. */
json_t *agent_do(struct agent_client *c, const char *verb, const json_t *request, char *error);
/* Resets everything to the initial state. */
void agent_client_reset(struct agent_client *c);

agent_verb agent_do_register, agent_do_bind, agent_do_unbind, agent_do_invalidate;
agent_verb agent_do_release, agent_do_fill, agent_do_read;
void agent_reset_memory(struct agent_client *c);
/* What `access` may hold. */
extern const char *const agent_right_names[AGENT_RIGHTS];

agent_verb agent_do_work; /* recv and post */
/* By enum iw_work_opcode, as `op` in requests and completions. */
extern const char *const agent_op_names[IW_WORK_RECV + 1];

/* ---- session.c ---- */

struct agent_session;
/* Serves one client on `fd` (taken over). Returns NULL if there is no memory. */
struct agent_session *agent_session_create(struct iw_reactor *reactor, int fd,
                                           const struct agent_backend *backend,
                                           const void *settings);
void agent_session_destroy(struct agent_session *s);
/* Returns true once the client is gone or has broken the protocol beyond repair. */
bool agent_session_over(const struct agent_session *s);
/* Returns whether the client has gone, even if that was not noticed yet. */
bool agent_session_left(const struct agent_session *s);

/* ---- control_port.c ---- */

struct agent_control_port;
/* Accepts clients on the listening socket `fd` (taken over) that know the token (length 0: none is
 * asked for), one at a time. Returns NULL if there is no memory or descriptor. */
struct agent_control_port *agent_control_port_open(struct iw_reactor *reactor, int fd,
                                                   const struct iw_control_token *token,
                                                   const struct agent_backend *backend,
                                                   const void *settings);
/* Call after each step of the reactor: frees the clients that are gone or whose time is up. Returns
 * the milliseconds until it has to be called again, -1: until the next event. */
int agent_control_port_tidy(struct agent_control_port *d);
void agent_control_port_close(struct agent_control_port *d);

#endif
