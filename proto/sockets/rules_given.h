/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RULES_GIVEN_H
#define IW_SOCKETS_RULES_GIVEN_H

/* The rules that this process was given in IWARP_SOCKETS. */

#include "host/socket_rules.h"

/* Returns the rule for `fd`, if it is a TCP socket that is to connect to `to`, or NULL.
 * `return_address` is an address in the code that asks for it: what iWARP itself does on TCP is not
 * meant. */
const struct iw_socket_rule *iw_rule_of_connect(int fd, const struct sockaddr *to, socklen_t length,
                                                const void *return_address);
/* Returns the rule for `fd`, if it is a TCP socket, about to listen where it is bound, or NULL. */
const struct iw_socket_rule *iw_rule_of_listen(int fd, const void *return_address);

/* Returns whether code belongs to this library, to the verbs or to librdmacm. */
bool iw_is_of_stack(const void *code);

#endif
