/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RSOCKET_LOCK_H
#define IW_SOCKETS_RSOCKET_LOCK_H

/*
 * One lock around the calls of rsockets that look at completions. rsockets lets one thread send
 * while another one receives, but both count what of the receive buffer is free: librdmacm 44 loses
 * counts so, and the peer overwrites octets that have not been read. While such a call sleeps, in
 * poll, ppoll or read, the lock is free.
 */

#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic int iw_rsocket_holders;

void iw_rsocket_lock(void);
void iw_rsocket_unlock(void);
/* In a call that may sleep: frees the lock if this thread has it. Returns whether it had. */
bool iw_rsocket_free_lock(void);

static inline bool iw_rsocket_pause(void)
{
    return atomic_load_explicit(&iw_rsocket_holders, memory_order_relaxed) > 0 &&
           iw_rsocket_free_lock();
}

/* After the sleep; errno stays. */
void iw_rsocket_resume(bool paused);

#endif
