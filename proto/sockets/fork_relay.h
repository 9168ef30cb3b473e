/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_FORK_RELAY_H
#define IW_SOCKETS_FORK_RELAY_H

/*
 * A socket that both processes use after a fork. The parent has the connection; the child's calls
 * go to it over a pair of local sockets, which two threads of the parent serve: one sends what the
 * child sends, the other one receives when the child asks for it. Each relay is one such pair, made
 * by the child at its first use and passed to the parent over a pair that every fork makes.
 *
 * Octets that the child has asked for and does not read are lost to the parent: poll() asks for
 * them.
 */

#include "socket_ops.h"

/* Before a fork, and after it in both processes. `used`: there are sockets that it matters for. */
void iw_relay_before_fork(bool used);
void iw_relay_in_parent(void);
void iw_relay_in_child(void);

/* In the child: has the socket, named by what the processes share of it, relayed from now on.
 * Returns false if the parent does not have it any more, or without descriptors. */
bool iw_relay_begin(struct iw_socket *s, const void *name);
/* In the parent, for relays that it serves: finds a socket by that name, with a use for the caller;
 * NULL: closed. (fork_claim.c) */
struct iw_socket *iw_claim_named(const void *name);
/* Waits until no relay is served any more, before the process ends. */
void iw_relay_finish(void);

#endif
