/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RSOCKET_MADE_H
#define IW_SOCKETS_RSOCKET_MADE_H

/* What librdmacm makes for itself beside rsockets, and does not say: socket pairs, and threads that
 * accept connections and watch for their ends. A child of fork has no threads: they are made again
 * there, with socket pairs of its own. */

#include <stdbool.h>
#include <stddef.h>

/* From now on, and until iw_made_end, this thread is in a call of rsockets that may make such
 * things. */
void iw_made_begin(void);
/* Stores the first pair that was made since iw_made_begin, or -1 twice. In rlisten that is the
 * queue of connections to accept: rpoll waits for something else, and so up to five seconds too
 * long (librdmacm 44). */
void iw_made_end(int pair[2]);
/* The same for rconnect, which librdmacm 44 does not watch for its end unless it has to wait: it is
 * answered once that its first answer is not there yet. */
void iw_made_begin_connect(void);
/* How many threads are in an rconnect that has not been answered so. */
extern _Atomic int iw_made_connects;
/* Returns whether a write is such a question: it fails with EAGAIN. */
bool iw_made_is_early(const void *octets, size_t length);
/* rpoll makes an eventfd, by which its threads wake each other. */
void iw_made_in_rpoll(int on);

/* Gives a child a socket pair of its own, with the same numbers and flags. */
void iw_made_own_pair(const int pair[2]);
/* In a child of fork, before anything of rsockets is called. */
void iw_made_in_child(void);
/* In a child that goes on with its parent's sockets, or makes some: starts the threads again. */
void iw_made_again(void);

#endif
