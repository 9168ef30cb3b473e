/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_AGENT_ENDPOINT_H
#define IW_AGENT_ENDPOINT_H

/* The backend on libiwarp's endpoint: agent_endpoint.c (its calls), agent_endpoint_events.c (events
 * of its connections) and agent_config.c (the object `config`). Its settings are a struct
 * iw_endpoint_config, which names switches that outlive the agent. */

#include "agent.h"

enum { AGENT_BUFFERS = 128 };

extern const struct agent_backend agent_endpoint_backend;

struct agent_endpoint;

struct agent_connection {
    uint64_t id; /* 0: free slot */
    struct agent_endpoint *agent;
    struct iw_connection *connection;
    uint64_t listen; /* the listener that it came through, 0 if none */
    bool ask, half_close;
    bool streaming;               /* MPA is not started */
    struct agent_octets streamed; /* what came meanwhile and is not taken */
    struct agent_octets reply;    /* private data of the Reply if not asked */
    struct iw_switches *switches; /* of a connection that was made here */
};

struct agent_listener {
    uint64_t id;
    struct agent_endpoint *agent;
    struct iw_listener *listener;
    bool ask, half_close, stream;
    struct agent_octets reply;
    struct iw_switches *switches; /* outlive the connections that came through it */
};

struct agent_endpoint {
    struct iw_reactor *reactor;
    struct iw_host_env host;
    struct iw_domain *domain;
    struct iw_endpoint_config defaults;
    uint32_t domains[AGENT_DOMAINS]; /* by the client's number - 1 */
    size_t domain_count;
    agent_emit_fn emit;
    void *context;
    uint64_t last_id;
    size_t live; /* connections */
    struct agent_listener listeners[AGENT_LISTENERS];
    struct agent_connection connections[AGENT_CONNECTIONS];
};

/* ---- agent_endpoint_events.c ---- */

extern const struct iw_connection_ops agent_connection_ops;
extern const struct iw_connection_ops agent_stream_ops; /* of those that begin in streaming mode */

struct agent_connection *agent_find_connection(struct agent_endpoint *a, uint64_t id, char *error);
struct agent_connection *agent_new_connection(struct agent_endpoint *a);
void agent_drop_connection(struct agent_connection *c);
/* Reports a connection in streaming mode, or new octets on one. */
void agent_tell_stream(struct agent_connection *c);

/* ---- agent_config.c ---- */

/* Applies the `config` object of listen and connect to a copy of the defaults. `switches` receives
 * the defaults' switches and those of the object. Returns false with a text on failure. */
bool agent_config(const json_t *object, struct iw_endpoint_config *config,
                  struct iw_switches *switches, char *error);
/* Returns a new array: the names of its fields. */
json_t *agent_config_names(void);

#endif
