/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RSOCKET_MADE_H
#define IW_SOCKETS_RSOCKET_MADE_H

/* What librdmacm makes for itself beside an rsocket, and does not say: socket pairs. */

/* From now on, and until iw_made_end, this thread is in a call of rsockets. */
void iw_made_begin(void);
/* Returns the reading end of the first pair that was made since iw_made_begin, or -1. In rlisten
 * that is the queue of connections to accept: rpoll waits for something else, and so up to five
 * seconds too long (librdmacm 44). */
int iw_made_end(void);

#endif
