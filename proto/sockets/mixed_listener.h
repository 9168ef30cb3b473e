/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_MIXED_LISTENER_H
#define IW_SOCKETS_MIXED_LISTENER_H

/* A listener that takes iWARP and plain TCP on one port (verbs/mixed_listen.h). */

#include <sys/socket.h>

/* Before rlisten: who sends no octet for `wait_ms` is plain TCP. Returns 0, or -1 with errno set:
 * EOPNOTSUPP if the verbs are not ours. */
int iw_mixed_begin(unsigned wait_ms);
/* After rlisten. Returns a descriptor that gives what is plain TCP, or -1 with errno set. */
int iw_mixed_end(void);
/* Returns a descriptor that is readable if one of these is: the queue of iWARP connections, what
 * iw_mixed_end returned, and what says that the listener is shut down (the last two -1: there is
 * none); or -1 with errno set. */
int iw_mixed_wait(int queue, int plain, int over);
/* Makes `wait`, one of iw_mixed_wait's, anew under its number: in a child of fork that has a queue
 * of its own, or with one more. */
void iw_mixed_wait_again(int wait, int queue, int plain, int over);
/* Takes a connection of plain TCP: accept4 with its arguments, but never waits. */
int iw_mixed_accept(int plain, struct sockaddr *from, socklen_t *length, int flags);

#endif
