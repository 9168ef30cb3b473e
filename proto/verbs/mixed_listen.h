/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_MIXED_LISTEN_H
#define IW_VERBS_MIXED_LISTEN_H

/*
 * Listeners that take plain TCP on the same port, for the preloaded library of sockets: functions
 * of our libibverbs.so.1 with the version IWARP_1.0, which it looks up with dlsym.
 */

/* The listener that this thread makes next (rdma_listen, rlisten) distinguishes the two by the
 * first octets; who sends none for `wait_ms` (1 or more) is plain TCP. Returns 0, or -1 with errno
 * set.
 */
int iwarp_mixed_begin(unsigned wait_ms);
/* Returns a socket that is readable while connections of plain TCP wait; each message of it is one
 * octet and carries one descriptor (SCM_RIGHTS), connected and blocking, of which no octet has been
 * read. The caller closes it. Returns -1 with errno EINVAL if no listener was made. */
int iwarp_mixed_end(void);

#endif
