/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of iwarp-agent's backend on verbs: a client of it, on the doubles. */
#ifndef RDMA_HOST_H
#define RDMA_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent_rdma.h"
#include "doubles.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct host {
    struct iw_reactor *reactor;
    struct agent_rdma_device device;
    struct agent_client client;
    json_t *events;
    int listen, conn;
    struct rdma_cm_id *listener, *id; /* of conn */
    char error[AGENT_ERROR];
};

/* Call after doubles_begin. */
struct host *host_start(void);
/* Ends what there is; nothing of the device's may be left. */
void host_end(struct host *h);
/* A request as JSON with ' for "; the integer `name` of its reply (NULL: none). */
__attribute__((format(printf, 3, 4))) json_int_t ask(struct host *h, const char *name,
                                                     const char *format, ...);
/* A request that fails with this text. */
__attribute__((format(printf, 3, 4))) void refuse(struct host *h, const char *error,
                                                  const char *format, ...);
/* The next event is exactly this one. */
__attribute__((format(printf, 2, 3))) void want(struct host *h, const char *format, ...);
/* An open connection that has come through a listener made with these fields, too. */
void open_connection(struct host *h, const char *more);
/* The device can do everything, for hosts that are started then. */
void enrich(void);

#endif
