/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_FILTER_H
#define IW_MESSAGES_RESOLVER_FILTER_H

/* On a host with a thousand processes each question to the group is for one of them: the kernel
 * drops it for the others, so that they need not wake. */

#include "messages/resolver_claims.h"

enum {
    IW_RESOLVER_FILTERED_MOST = 64, /* claims; who has more takes everything */
    IW_RESOLVER_SHARED_MOST = 64    /* addresses */
};

/* Lets a socket of IPv4 at the port take what is sent to one of the addresses, a group or a
 * broadcast address, only if it is about one of the claims, and everything else. Without a filter
 * the socket works as well, so that errors are none. */
void iw_resolver_filter_set(int fd, const struct iw_resolver_place *addresses, size_t count,
                            const struct iw_resolver_claims *claims);
/* The same for a socket of IPv6 and all groups. */
void iw_resolver_filter_set6(int fd, const struct iw_resolver_claims *claims);

#endif
