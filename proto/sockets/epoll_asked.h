/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_EPOLL_ASKED_H
#define IW_SOCKETS_EPOLL_ASKED_H

/* What the system says about its sets of epoll. */

#include <stdbool.h>
#include <sys/epoll.h>

/* Reads what a set says about a descriptor. Returns false if it does not hold it. */
bool iw_epoll_asked(int set, int fd, struct epoll_event *event);
/* Returns whether a number is a set. `fd` is a socket that it does not hold. */
bool iw_epoll_is_set(int number, int fd);

#endif
