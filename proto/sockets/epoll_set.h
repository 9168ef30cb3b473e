/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_EPOLL_SET_H
#define IW_SOCKETS_EPOLL_SET_H

/*
 * Epoll sets that hold iWARP sockets. The system's set keeps the plain descriptors and is one more
 * descriptor to wait for; the iWARP sockets are in a list of ours, each of which a wait looks at,
 * so a wait takes time in proportion to their number. Sets without iWARP sockets have no state
 * here.
 *
 * Edge-triggered: an event that was reported is not reported again before the program has called
 * receive (EPOLLIN), or a send has taken less than it was given (EPOLLOUT). So an edge may be
 * reported twice, as with the system's own sets, but none is lost. EPOLLEXCLUSIVE and EPOLLWAKEUP
 * mean nothing.
 */

#include "descriptors.h"

#include <signal.h>
#include <sys/epoll.h>

struct iw_epoll_set;

/* Notes that `fd` is an epoll set, of the system's so far. */
void iw_epoll_made(int fd);
/* The number is closed, or will be: it may be an epoll set; `socket`: it is an iWARP socket, which
 * sets may hold. */
void iw_epoll_forget(int fd, bool socket);
/* The number `to` is a copy of the set `from`. */
void iw_epoll_copied(int from, int to);
/* A socket that the system's sets may hold has become iWARP: takes it over from them. */
void iw_epoll_take(int fd);
/* It is to be plain again: gives it back to them. */
void iw_epoll_give(int fd);

/* Returns the highest number that has been one, or -1. */
int iw_epoll_highest(void);
/* epoll_ctl for an iWARP socket. */
int iw_epoll_control(int set, int operation, int fd, struct iw_socket *s,
                     const struct epoll_event *event);
/* Returns whether a wait for the set is ours: it holds iWARP sockets. */
bool iw_epoll_is_ours(int set);
/* Returns whether it does or did. */
bool iw_epoll_has_state(int set);
/* Takes out what ends a wait that began as the system's own. Returns how many events remain; if
 * that is none, the wait is ours now. */
int iw_epoll_without_nudge(int set, struct epoll_event *events, int count);
/* epoll_pwait until `until` (rsocket_wait.h). */
int iw_epoll_wait_in(int set, struct epoll_event *events, int most, uint64_t until,
                     const sigset_t *mask);
/* Something that an edge-triggered entry has to know of happened to the socket. */
void iw_epoll_stir(struct iw_socket *s);

/* Over a fork; the child begins without anybody who waits. */
void iw_epoll_lock(void);
void iw_epoll_unlock(void);
void iw_epoll_in_child(void);

#endif
