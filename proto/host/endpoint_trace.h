/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_ENDPOINT_TRACE_H
#define IW_HOST_ENDPOINT_TRACE_H

#include <stdio.h>

#include "iwarp/endpoint.h"

/* The schema of the lines (tools/man/iwarp-peer.1, TRACE). Leave it for a new field or kind;
 * increment it if a field goes or changes its meaning. */
enum { IW_TRACE_SCHEMA = 1 };

/* The trace context of one endpoint. */
struct iw_tracer {
    FILE *out;
    unsigned connection;
    long pid; /* of several processes that trace into one file; 0: left out */
};

/* A struct iw_endpoint_config.trace that writes one line of JSON per piece; its context is a
 * struct iw_tracer. */
void iw_trace_json(void *context, const struct iw_trace *trace);

#endif
