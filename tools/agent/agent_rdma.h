/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_AGENT_RDMA_H
#define IW_AGENT_RDMA_H

/* The backend on rdma-core's libibverbs and librdmacm: agent_rdma_device.c (devices and their
 * faults), agent_rdma.c (connections), agent_rdma_listen.c (places, listeners), agent_rdma_events.c
 * (their events), agent_rdma_memory.c (protection domains, regions), agent_rdma_window.c and
 * agent_rdma_work.c. Its settings are a struct agent_rdma_device. All waiting is done by the
 * reactor, except for the resolution of an address (RDMA_RESOLVE_MS at most), the binding of a
 * window (RDMA_BIND_MS) and the end of a connection whose device is slow to flush (RDMA_FLUSH_MS).
 */

#include "agent.h"

#include <rdma/rdma_cma.h>

enum {
    RDMA_RESOLVE_MS = 2000,
    RDMA_BIND_MS = 1000,
    RDMA_FLUSH_MS = 50,
    RDMA_PRIVATE_MAX = 255, /* of struct rdma_conn_param */
    RDMA_DEPTH = 16,        /* IRD and ORD unless `config` says otherwise */
    RDMA_QUEUE = 64,        /* entries of a work queue, as well */
    RDMA_PARKED = 1024,
    RDMA_TRIES = 16 /* to find a port that TCP has free, too */
};

/*
 * Listeners with a socket of the system's TCP belong to a software device. It may lose one to a
 * peer that leaves early, and destroying the rest crashes Linux's kernel
 * (conformance/baselines/siw.md, 2). So they are parked instead, and used again, until the program
 * ends.
 */
struct rdma_parked {
    struct rdma_cm_id *cm; /* NULL: free slot */
    bool lost;
};

/* The state that outlives clients. */
struct agent_rdma_device {
    struct ibv_context *verbs; /* librdmacm's own */
    struct ibv_device_attr attributes;
    bool invalidates; /* STags, by local work and by the peer */
    bool atomics;
    bool windows_1, windows_2; /* of type 1; of either kind of type 2 */
    struct rdma_event_channel *events;
    struct rdma_parked *parked; /* RDMA_PARKED of them */
};

/* Finds the device of this name, or the only one that speaks iWARP. Returns 0, or -1 with a text.
 */
int agent_rdma_find(const char *name, struct agent_rdma_device *device, char *error);
/* Returns the backend, with the verbs about windows if the device has any. */
const struct agent_backend *agent_rdma_backend(const struct agent_rdma_device *device);

struct rdma_agent;

/* The settings for connections: `config`, and the protection domain. */
struct rdma_plan {
    struct ibv_pd *pd;
    uint32_t send_depth, recv_depth;
    uint8_t ird, ord;
};

struct rdma_listener {
    struct agent_listener base;
    struct rdma_agent *agent;
    struct rdma_cm_id *cm;
    struct rdma_plan plan;
    bool on_tcp; /* it has a socket among those of the system's TCP */
};

/* A work request that has been posted and has not completed. */
struct rdma_record {
    bool used;
    uint64_t work, length;
    enum iw_work_opcode op;
    enum ibv_wc_status *outcome; /* not NULL: reported there, and not to the client */
};

struct rdma_connection {
    struct agent_connection base;
    struct rdma_agent *agent;
    struct rdma_cm_id *cm;
    struct ibv_cq *cq;
    struct rdma_plan plan;
    struct rdma_record *records; /* the send queue's, followed by the receive queue's */
    uint64_t *originals;         /* what atomics found, by the send queue's records; may be NULL */
    struct ibv_mr *originals_mr;
    uint32_t sends, receives; /* outstanding */
    bool asked;               /* its Request waits for an answer */
    bool open;                /* established */
    bool closing, closed;     /* asked to be closed; rdma_disconnect was called */
    bool faulted;             /* the device has reported a fault */
    struct agent_octets peer_private;
};

/* Regions and windows are slots; their number is the STag. */
struct rdma_region {
    uint64_t stag;
    struct ibv_mr *remote; /* with the rights that were asked for; NULL: invalidated */
    struct ibv_mr *local;  /* where sends and receives find their octets; NULL: of no octets */
    const struct agent_memory *memory;
};

struct rdma_window {
    uint64_t stag;
    struct ibv_mw *mw; /* NULL: invalidated */
    uint64_t conn;     /* of type 2: whose stream it belongs to */
    const struct agent_memory *memory;
};

struct rdma_agent {
    struct agent_core core;
    const struct agent_rdma_device *device;
    struct ibv_comp_channel *completions;
    struct iw_watch *watches[3];
    struct ibv_pd *domains[AGENT_DOMAINS]; /* by the client's number - 1 */
    bool device_gone;
    struct rdma_listener listeners[AGENT_LISTENERS];
    struct rdma_connection connections[AGENT_CONNECTIONS];
    struct rdma_region regions[AGENT_MEMORIES];
    struct rdma_window windows[AGENT_WINDOWS + 1]; /* one more while it is bound anew */
};

/* ---- agent_rdma_device.c ---- */

/* Functions with `b`, a struct rdma_agent, or with a connection or listener as void are its struct
 * agent_backend, which says what they do. Those of type bool return false with text in `error`. */

/* Returns the features. */
json_t *rdma_features(void *b);
/* Returns what the device is. */
json_t *rdma_identity(void *b);
/* Returns 0 if the id is one of the agent's device, else -1 with errno. */
int rdma_check_device(const struct rdma_agent *a, const struct rdma_cm_id *cm);
/* Write texts: why there is none of `what`; why one cannot `what` at a place. Return false. */
bool rdma_no_resource(const struct rdma_agent *a, const char *what, int number, char *error);
bool rdma_no_way(const struct rdma_agent *a, const char *what, const struct iw_host_port *at,
                 int number, char *error);

/* ---- agent_rdma.c ---- */

/* Takes over `cm` and makes its queues; posts nothing. Returns NULL with a text on failure; `cm` is
 * then destroyed. */
struct rdma_connection *rdma_new_connection(struct rdma_agent *a, struct rdma_cm_id *cm,
                                            const struct rdma_plan *plan, char *error);
void rdma_drop_connection(struct rdma_connection *c);
/* Accepts with this private data. Returns 0, or -1 with errno. */
int rdma_accept_with(struct rdma_connection *c, const struct agent_octets *data);

/* ---- agent_rdma_listen.c ---- */

bool rdma_listen_at(void *b, void *listener, const struct agent_place *place, uint16_t *port,
                    char *error);
void rdma_close_listener(void *listener);
/* Returns whether private data of this length can be sent; if not, puts a text into `error`. */
bool rdma_private_fits(const struct agent_octets *data, char *error);
/* Makes the plan from `config` and the like of a place. Returns false with a text on failure. */
bool rdma_plan(const struct rdma_agent *a, const struct agent_place *place, struct rdma_plan *out,
               char *error);

/* ---- agent_rdma_events.c ---- */

/* Watches the events of the device and of librdmacm. Returns false if that cannot be done. */
bool rdma_watch(struct rdma_agent *a);
/* Ends a connection: flushes posted work, reports `closed` (with a cause, if it is known, and an
 * error if there is one), and frees the connection. */
void rdma_finish(struct rdma_connection *c, const char *cause, const char *reason);
/* Disconnects as soon as the posted work is done. */
void rdma_close_when_done(struct rdma_connection *c);
/* Polls until the work request (NULL: all work) has completed, at most for so many milliseconds. */
void rdma_poll_for(struct rdma_connection *c, const struct rdma_record *r, int ms);

/* ---- agent_rdma_memory.c ---- */

bool rdma_domain(void *b, char *error);
bool rdma_enrol(void *b, struct agent_memory *memory, const struct agent_region *region,
                char *error);
bool rdma_invalidate(void *b, uint32_t stag, char *error);
void rdma_forget(void *b, uint32_t stag);
/* Returns the region that has, or had, this STag; NULL if there is none. */
struct rdma_region *rdma_region_find(struct rdma_agent *a, uint32_t stag);
unsigned rdma_rights(uint32_t rights);

/* ---- agent_rdma_window.c ---- */

bool rdma_bind(void *b, const struct agent_binding *binding, uint32_t *stag, uint64_t *to,
               char *error);
/* Returns true if there is such a window, whose STag was alive. */
bool rdma_invalidate_window(struct rdma_agent *a, uint32_t stag);
void rdma_forget_window(struct rdma_agent *a, uint32_t stag);
bool rdma_windows_on(const struct rdma_agent *a, const struct agent_memory *memory);
/* Ends the windows that belong to the stream of a connection, which die with it. */
void rdma_end_windows(struct rdma_agent *a, uint64_t conn);

/* ---- agent_rdma_work.c ---- */

bool rdma_receive(void *connection, const struct agent_work *work, char *error);
bool rdma_post(void *connection, const struct agent_work *work, char *error);
/* Returns a free record of the send or receive queue; NULL with a text if there is none. */
struct rdma_record *rdma_free_record(struct rdma_connection *c, bool receive, char *error);

#endif
