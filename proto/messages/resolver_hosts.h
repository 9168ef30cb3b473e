/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_HOSTS_H
#define IW_MESSAGES_RESOLVER_HOSTS_H

/* The hosts that a resolver asks by unicast. */

#include "messages/resolver.h"
#include "messages/resolver_place.h"

enum { IW_RESOLVER_ADDRESSES = 4 }; /* of one host, at most */

/* Resolves the names of the configuration's hosts, `port` for those that name none. Sets *places,
 * which the caller frees, and *count. Returns 0, or -1 with errno and one line in `error`. */
int iw_resolver_hosts_read(const struct iw_resolver_config *config, uint16_t port,
                           struct iw_resolver_place **places, size_t *count, char *error,
                           size_t room);

#endif
