/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TARGET_INSTANCE_H
#define IW_RUNNER_TARGET_INSTANCE_H

/* An opened target, for the sources of this room only. */

#include <jansson.h>
#include <netinet/in.h>

#include "connect_command.h"
#include "target.h"

struct iw_target_instance {
    struct iw_target target; /* first: the seam's view */
    const struct iw_target_spec *spec;
    char *log;
    char *its_output; /* "; its output: " and the log */
    double scale;
    struct iw_process process; /* the agent, or the `start` command */
    struct iw_connect connect; /* how the peer is made to connect */
    char station_host[INET6_ADDRSTRLEN];
    char why[256 + 128]; /* nothing connected */
    bool used;           /* its process has had a connection (renew) */
    char *version;
    json_t *features; /* as the agent's hello says; NULL: no agent */
    json_t *device;   /* likewise */
};

/* Starts the `start` command, and waits until the peer listens. Returns IW_TARGET_OPENED, or why
 * not, with one line in `error`. */
enum iw_target_opened iw_target_start_peer(struct iw_target_instance *t, char *error, size_t room);

#endif
