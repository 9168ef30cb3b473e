/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_RESOLVE_H
#define MSG_RESOLVE_H

/* The commands resolve and claim. */

#include "host/options.h"

#include <stdbool.h>
#include <stddef.h>

struct msg_resolve {
    unsigned wait; /* ms; 0: the default of the command */
    bool all, json;
};

enum { MSG_RESOLVE_OPTIONS = 3, MSG_RESOLVE_WAIT = 1000 };

extern const struct iw_option msg_resolve_options[MSG_RESOLVE_OPTIONS];

struct msg_settings;

/* Commands (msg_command.h). */
int msg_resolve_run(struct msg_settings *settings, char *const *operands, size_t count);
int msg_claim_run(struct msg_settings *settings, char *const *operands, size_t count);

#endif
