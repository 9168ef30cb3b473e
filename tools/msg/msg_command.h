/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_COMMAND_H
#define MSG_COMMAND_H

/*
 * A command of iwarp-msg: a row of the table in main.c, options of its own in tables that belong to
 * its bit, and a function that carries it out. To add one: a bit, a row, a table.
 */

#include "msg_exchange.h"
#include "msg_net.h"
#include "msg_place.h"
#include "msg_resolve.h"
#include "msg_top.h"

#include <stddef.h>

enum {
    MSG_RESOLVE = 1,
    MSG_CLAIM = 2,
    MSG_PINGS = 4,
    MSG_SERVES = 8,
    MSG_GETS = 16,
    MSG_TOPS = 32,
    MSG_ENDS = MSG_PINGS | MSG_SERVES | MSG_GETS,
    MSG_NET = MSG_RESOLVE | MSG_CLAIM | MSG_ENDS
};

/* Everything that a command line can say; each part is the context of a table of options. */
struct msg_settings {
    struct msg_net net;
    struct msg_resolve resolve;
    struct msg_place place;
    struct msg_exchange exchange;
    struct msg_top top;
};

struct msg_command {
    const char *name;
    unsigned bit;
    /* Returns the exit status. */
    int (*run)(struct msg_settings *settings, char *const *operands, size_t count);
    const char *operands; /* as the help shows them */
    const char *help;
    size_t least, most;   /* operands */
    const char *expected; /* what they are */
};

#endif
