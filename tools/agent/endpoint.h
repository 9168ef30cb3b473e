/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_AGENT_ENDPOINT_H
#define IW_AGENT_ENDPOINT_H

/* The backend on libiwarp's endpoint: endpoint.c (connections, events), verbs.c (requests) and
 * work.c (those that post work). */

#include "agent.h"

enum { AGENT_BUFFERS = 128 };
#define AGENT_RETIRED UINT64_MAX /* id of memory that is released but may still be read from */

struct agent_endpoint;

struct agent_connection {
    uint64_t id; /* 0: free slot */
    struct agent_endpoint *agent;
    struct iw_connection *connection;
    uint64_t listen; /* the listener that it came through, 0 if none */
    bool ask, half_close;
    struct agent_octets reply;    /* private data of the Reply if not asked */
    struct iw_switches *switches; /* of a connection that was made here */
};

struct agent_listener {
    uint64_t id;
    struct agent_endpoint *agent;
    struct iw_listener *listener;
    bool ask, half_close;
    struct agent_octets reply;
    struct iw_switches *switches; /* outlive the connections that came through it */
};

struct agent_endpoint {
    struct iw_reactor *reactor;
    struct iw_host_env host;
    struct iw_domain *domain;
    struct iw_endpoint_config defaults;
    uint32_t pd;
    agent_emit_fn emit;
    void *context;
    uint64_t last_id;
    size_t live; /* connections */
    struct agent_memories memories;
    struct agent_listener listeners[AGENT_LISTENERS];
    struct agent_connection connections[AGENT_CONNECTIONS];
};

extern const struct iw_connection_ops agent_connection_ops;

struct agent_connection *agent_find_connection(struct agent_endpoint *a, uint64_t id, char *error);
struct agent_connection *agent_new_connection(struct agent_endpoint *a);
void agent_drop_connection(struct agent_connection *c);
void agent_retire_memory(struct agent_endpoint *a, struct agent_memory *memory);

typedef json_t *(*agent_verb_fn)(struct agent_endpoint *a, const json_t *request, char *error);
/* verbs.c: NULL if there is no such verb. */
agent_verb_fn agent_find_verb(const char *verb);

/* work.c: the verbs recv and post; names by enum iw_work_opcode. */
json_t *agent_do_recv(struct agent_endpoint *a, const json_t *request, char *error);
json_t *agent_do_post(struct agent_endpoint *a, const json_t *request, char *error);
extern const char *const agent_op_names[];
bool agent_is_atomic(enum iw_work_opcode op);

#endif
