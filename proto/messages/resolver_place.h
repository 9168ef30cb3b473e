/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_PLACE_H
#define IW_MESSAGES_RESOLVER_PLACE_H

/* An address and a port, in the few octets that the wire and the tables need. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { IW_RESOLVER_IPV4 = 4, IW_RESOLVER_IPV6 = 6 };

struct iw_resolver_place {
    uint8_t family;      /* IW_RESOLVER_IPV4, IW_RESOLVER_IPV6; 0: nowhere */
    uint8_t address[16]; /* of IPv4 the first four octets, the others are 0 */
    uint16_t port;       /* host order */
    uint32_t scope;      /* of a link-local IPv6 address; not on the wire */
};

/* Reads a socket's address; one that is mapped becomes IPv4. Returns false if it is of another
 * family. */
bool iw_resolver_place_from(struct iw_resolver_place *place, const struct sockaddr *address);
/* Writes a socket's address. Returns its length, 0 for nowhere. */
socklen_t iw_resolver_place_to(const struct iw_resolver_place *place, struct sockaddr_storage *out);
/* Returns true for 0.0.0.0 and ::. */
bool iw_resolver_place_is_any(const struct iw_resolver_place *place);
/* Returns true for 127.0.0.0/8 and ::1. */
bool iw_resolver_place_is_loopback(const struct iw_resolver_place *place);
/* Returns true for fe80::/10. */
bool iw_resolver_place_is_link_local(const struct iw_resolver_place *place);
/* Returns true if one process can listen there: no multicast or broadcast address, a port. */
bool iw_resolver_place_is_one(const struct iw_resolver_place *place);
/* Returns true if both have the same address, whatever their ports. */
bool iw_resolver_place_same_host(const struct iw_resolver_place *a,
                                 const struct iw_resolver_place *b);

#endif
