/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_EMBEDDED_H
#define IW_TESTS_EMBEDDED_H

#include <sys/types.h>

#include "target/target.h"

/* An iwarp-agent of the build tree as a target: a child process on one end of a socket pair. */
struct embedded {
    struct iw_target target;
    pid_t pid;
    char ended[80];
};

/* `extra` is one more argument for the agent (such as "--violate=mpa-pad"), or NULL. */
int embedded_start(struct embedded *e, const char *extra);
void embedded_stop(struct embedded *e);

#endif
