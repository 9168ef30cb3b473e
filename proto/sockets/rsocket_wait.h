/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RSOCKET_WAIT_H
#define IW_SOCKETS_RSOCKET_WAIT_H

/* Waiting for rsockets and descriptors together. */

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define IW_WAIT_FOREVER UINT64_MAX

/* Return `ms` or `t` from iw_transport_now() (negative or NULL: IW_WAIT_FOREVER). */
uint64_t iw_wait_until_ms(int ms);
uint64_t iw_wait_until(const struct timespec *t);

/*
 * Waits as poll does until `until`, with the signal mask *mask during the wait (NULL: as it is).
 * Descriptors below 0 are passed over. `rsockets` says whether the list may hold numbers of
 * rsockets. Returns how many entries are ready, 0 at the end of the time, or -1 with errno set.
 */
int iw_wait(struct pollfd *list, nfds_t count, uint64_t until, const sigset_t *mask, bool rsockets);
/* The sleep inside of rpoll, which calls poll(). Returns false if this poll() is another one. */
bool iw_wait_in_rpoll(struct pollfd *list, nfds_t count, int ms, int *result);
/* Before a fork: has all threads leave rpoll, which counts them, and waits until they have. After
 * it they go on; the child begins without any. */
void iw_wait_close_gate(void);
void iw_wait_open_gate(bool in_child);
/* Returns whether a wait that a signal ended goes on, because the program has asked for that for
 * every signal that it handles (SA_RESTART). errno stays. */
bool iw_wait_restarts(void);

#endif
