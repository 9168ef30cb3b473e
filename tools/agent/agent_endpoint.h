/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_AGENT_ENDPOINT_H
#define IW_AGENT_ENDPOINT_H

/* The backend on libiwarp's endpoint: agent_endpoint.c (its calls), agent_endpoint_events.c (events
 * of its connections) and agent_config.c (the object `config`). Its settings are a struct
 * iw_endpoint_config, which names switches that outlive the agent. */

#include "agent.h"

enum { AGENT_BUFFERS = 128 };

extern const struct agent_backend agent_endpoint_backend;

/* One that is closed is AGENT_GONE until the client's end: connections that came through it use its
 * switches. */
struct endpoint_listener {
    struct agent_listener base;
    struct agent_endpoint *agent;
    struct iw_listener *listener; /* NULL: closed */
    bool half_close, stream;
    struct iw_switches *switches;
};

struct endpoint_connection {
    struct agent_connection base;
    struct iw_connection *connection;
    const struct agent_listener *listener; /* that it came through; NULL: made here */
    bool half_close;
    bool streaming;               /* MPA is not started */
    struct agent_octets streamed; /* what came meanwhile and is not taken */
    struct iw_switches *switches; /* of a connection that was made here */
};

struct agent_endpoint {
    struct agent_core core;
    struct iw_host_env host;
    struct iw_domain *domain;
    struct iw_endpoint_config defaults;
    uint32_t domains[AGENT_DOMAINS]; /* by the client's number - 1 */
    struct endpoint_listener listeners[AGENT_LISTENERS];
    struct endpoint_connection connections[AGENT_CONNECTIONS];
};

/* ---- agent_endpoint_events.c ---- */

extern const struct iw_connection_ops agent_connection_ops;
extern const struct iw_connection_ops agent_stream_ops; /* of those that begin in streaming mode */

/* Returns NULL with a text if there are too many. */
struct endpoint_connection *agent_new_connection(struct agent_endpoint *a, char *error);
void agent_drop_connection(struct endpoint_connection *c);
/* Reports a connection in streaming mode, or new octets on one. */
void agent_report_stream(struct endpoint_connection *c);

/* ---- agent_config.c ---- */

/* Applies the `config` object of listen and connect to a copy of the defaults. `switches` receives
 * the defaults' switches and those of the object. Returns false with a text on failure. */
bool agent_config(const json_t *object, struct iw_endpoint_config *config,
                  struct iw_switches *switches, char *error);
/* Returns a new array: the names of its fields. */
json_t *agent_config_names(void);

#endif
