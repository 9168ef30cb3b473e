/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_TOP_H
#define MSG_TOP_H

/* The command top. */

#include "host/options.h"

#include <stdbool.h>
#include <stddef.h>

struct msg_top {
    double interval; /* s */
    unsigned count;  /* of tables; 0: until interrupted, or one where output is no terminal */
    bool json;
};

enum { MSG_TOP_OPTIONS = 3 };

extern const struct iw_option msg_top_options[MSG_TOP_OPTIONS];

struct msg_settings;

/* Command (msg_command.h). */
int msg_top_run(struct msg_settings *settings, char *const *operands, size_t count);

#endif
