/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RSOCKET_TURNS_H
#define IW_SOCKETS_RSOCKET_TURNS_H

/*
 * Threads take turns in an rsocket. librdmacm 44 counts the room of its receive buffer without a
 * lock: rrecv in one thread adds to it while rsend or rpoll in another one takes from it. A lost
 * subtraction offers the peer the same room twice, so that it overwrites octets that nobody has
 * read yet; a lost addition leaves both ends waiting for room. A program with one thread needs no
 * turns, and its calls may wait inside librdmacm; with more, no call waits there but rpoll, which
 * gives its turns back while it sleeps.
 */

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

extern atomic_bool iw_turns_are_needed;

/* Returns whether the process has threads that may use sockets, besides its first one. */
static inline bool iw_turns_needed(void)
{
    return atomic_load_explicit(&iw_turns_are_needed, memory_order_acquire);
}

/* Before such a thread is made: turns are taken from now on. */
void iw_turns_begin(void);

/* rrecv, rsend and rshutdown, in turn. */
ssize_t iw_turn_receive(int rs, void *octets, size_t length, int flags);
ssize_t iw_turn_send(int rs, const void *octets, size_t length, int flags);
int iw_turn_shutdown(int rs, int how);

/* Takes the turns of all rsockets of a list. Returns what iw_turns_give takes. */
uint64_t iw_turns_take(const struct pollfd *list, nfds_t count);
void iw_turns_take_again(uint64_t turns);
void iw_turns_give(uint64_t turns);

/* No thread is in an rsocket at a fork, unless it does not leave it for two seconds. */
void iw_turns_before_fork(void);
void iw_turns_after_fork(bool in_child);

#endif
