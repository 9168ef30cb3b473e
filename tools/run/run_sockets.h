/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUN_SOCKETS_H
#define IW_RUN_SOCKETS_H

/* --sockets: which sockets of the program are iWARP. */

#include <stdbool.h>
#include <stddef.h>

#include "host/options.h"
#include "host/socket_rules.h"

struct run_sockets {
    bool wanted;
    char *text; /* the rules, as the library reads them; NULL: none */
    struct iw_socket_rules rules;
};

enum { RUN_SOCKET_OPTIONS = 4 };
extern const struct iw_option run_socket_options[RUN_SOCKET_OPTIONS];

/* Passes the rules on, in IWARP_SOCKETS. Returns 0, or -1 with what was expected in `error`. */
int run_pass_sockets(const struct run_sockets *sockets, char *error, size_t room);

#endif
