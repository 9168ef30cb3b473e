/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RSOCKET_LOCK_H
#define IW_SOCKETS_RSOCKET_LOCK_H

/*
 * One lock around the calls of rsockets that look at completions. rsockets lets one thread send
 * while another one receives, but both count what of the receive buffer is free: librdmacm 44 loses
 * counts so, and the peer overwrites octets that have not been read. While rpoll sleeps the lock is
 * free. A shutdown keeps it until what was sent has left.
 */

#include <stdbool.h>

/* `for_rpoll`: for a call of rpoll. */
void iw_rsocket_lock(bool for_rpoll);
void iw_rsocket_unlock(void);
/* In rpoll: frees the lock for a sleep. Returns false if this thread is not there. */
bool iw_rsocket_pause(void);
/* After the sleep; errno stays. */
void iw_rsocket_resume(bool paused);

#endif
