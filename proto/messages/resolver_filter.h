/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_FILTER_H
#define IW_MESSAGES_RESOLVER_FILTER_H

/* On a host with a thousand processes each question to the group is for one of them: the kernel
 * drops it for the others, so that they need not wake. */

#include "messages/resolver_claims.h"

enum { IW_RESOLVER_FILTERED_MOST = 64 }; /* claims; who has more takes everything */

/* Lets a socket at the port take what is sent to the group only if it is about one of the claims,
 * and everything else. `group`: IPv4, or an IPv6 address of which only its being one of multicast
 * counts. Without a filter the socket works as well, so that errors are none. */
void iw_resolver_filter_set(int fd, const struct iw_resolver_place *group,
                            const struct iw_resolver_claims *claims);

#endif
