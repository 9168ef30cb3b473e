/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_ADDRESS_H
#define IW_HOST_ADDRESS_H

/* Names and addresses of hosts. */

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Resolves a numeric address or a name for TCP. `passive`: to listen there; "" is any address then.
 * Blocks unless `host` is numeric. Returns a list for freeaddrinfo(), or NULL with one line in
 * `error`. */
struct addrinfo *iw_address_resolve(const char *host, uint16_t port, bool passive, char *error,
                                    size_t room);
/* Writes "HOST:PORT", numeric, with brackets around an IPv6 address; "-" if it is of another
 * family. */
void iw_address_numeric(const struct sockaddr *address, socklen_t length, char *text, size_t room);

#endif
