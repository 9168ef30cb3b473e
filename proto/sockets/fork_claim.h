/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_FORK_CLAIM_H
#define IW_SOCKETS_FORK_CLAIM_H

/*
 * Who goes on with an iWARP socket after a fork. Both processes have its state, in which nothing
 * happens before one of them claims it by its first use: a call that moves data, waits or shuts
 * down. Closing it is no use: the last process that does so claims it, to close it in order; the
 * others just leave. A child claims what its parent has left; if both use it, the parent has the
 * connection and serves the child (fork_relay.h).
 */

#include "socket_ops.h"

bool iw_claim_now(struct iw_socket *s);

/* Returns whether the socket is this process's, having claimed it if it can. Otherwise errno is
 * ECONNRESET. */
static inline bool iw_claim(struct iw_socket *s)
{
    return atomic_load_explicit(&s->hold, memory_order_acquire) == IW_HOLD_OURS || iw_claim_now(s);
}

/* This process is about to connect, perhaps to itself: goes on with its listeners, as a listener of
 * the system's would accept the connection into its queue. Not in a child, whose parent may do
 * that. */
void iw_claim_listeners(void);
/* Before the process enters a sandbox. */
void iw_claim_in_sandbox(void);
/* Before its last close in this process: claims it, or gives it up. */
void iw_claim_before_close(struct iw_socket *s);
/* After it. */
void iw_claim_drop(struct iw_socket *s);

#endif
