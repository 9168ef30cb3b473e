/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_ADDRESS_H
#define IW_HOST_ADDRESS_H

/* Names and addresses of hosts. */

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of HOST:PORT, in the text that was cut. */
struct iw_address_parts {
    const char *host; /* without brackets */
    size_t length;    /* of host, which may be 0 */
    const char *port; /* to the end of the text; NULL: none */
};

/* Cuts "HOST", "HOST:PORT", "ADDRESS" of IPv6, "[ADDRESS]" or "[ADDRESS]:PORT". Returns false if
 * something else follows "[ADDRESS]", or its bracket is not closed. */
bool iw_address_cut(const char *text, struct iw_address_parts *out);
/* Reads a decimal number from `low` to 65535. Returns false, leaving *out, if it is none. */
bool iw_address_read_port(const char *text, uint16_t low, uint16_t *out);

/* Resolves a numeric address or a name for TCP. `passive`: to listen there; "" is any address then.
 * Blocks unless `host` is numeric. Returns a list for freeaddrinfo(), or NULL with one line in
 * `error`. */
struct addrinfo *iw_address_resolve(const char *host, uint16_t port, bool passive, char *error,
                                    size_t room);
/* Writes "HOST:PORT", numeric, with brackets around an IPv6 address; "-" if it is of another
 * family. */
void iw_address_numeric(const struct sockaddr *address, socklen_t length, char *text, size_t room);

/* Returns the port of an IPv4 or IPv6 address; 0 if it is of another family. */
uint16_t iw_address_port(const struct sockaddr *address);

/* What is done to a new socket before it connects or is bound: returns false with errno if it is of
 * no use then. NULL does nothing. */
typedef bool iw_address_prepare(void *context, int fd);

/* Connects to the first of `list` that accepts. With a deadline (iw_clock_now()) the socket is a
 * non-blocking one; 0 waits as long as TCP does, and the socket blocks. Returns it, or -1 with the
 * errno of the last address. */
int iw_address_connect(const struct addrinfo *list, uint64_t deadline, iw_address_prepare *prepare,
                       void *context);
/* Listens on the first of `list` that can be bound, with SO_REUSEADDR. `flags`: SOCK_NONBLOCK, or
 * 0. Returns the socket, or -1 with the errno of the last address. */
int iw_address_listen(const struct addrinfo *list, int backlog, int flags,
                      iw_address_prepare *prepare, void *context);

#endif
