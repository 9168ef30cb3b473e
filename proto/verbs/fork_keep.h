/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_FORK_KEEP_H
#define IW_VERBS_FORK_KEEP_H

/*
 * Connections that outlive a fork, for the preloaded library of sockets: functions of our
 * libibverbs.so.1 with the version IWARP_1.0, which it looks up with dlsym. `file` is a descriptor
 * of /dev/infiniband/rdma_cm, and means the connection or the listener of the identifiers in it.
 */

#include <stddef.h>

/* Before each fork: these connections and listeners are parked in both processes, so that either
 * can go on with them; all others stay the parent's. The list is borrowed until the fork is over.
 * Needs no lock; does not wait. */
void iwarp_fork_keep(const int *files, size_t count);
/* Goes on with what is parked. Of a connection's two processes only one may. Returns 0, or -1 with
 * errno ENOMEM. Does nothing if nothing is parked. */
int iwarp_fork_take(int file);
/* Gives up what is parked, because another process goes on with it: nothing is sent, and the
 * identifier learns that its connection is over. Returns as above. */
int iwarp_fork_leave(int file);

#endif
