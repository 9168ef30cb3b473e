/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_DESCRIPTORS_H
#define IW_SOCKETS_DESCRIPTORS_H

/* Which numbers of the program's are iWARP sockets. */

#include "socket_ops.h"

enum { IW_SOCKETS_NUMBERS = 1 << 20 }; /* higher descriptors stay plain */

extern _Atomic(struct iw_socket *) iw_socket_numbers[IW_SOCKETS_NUMBERS];

/* Returns the socket with a use for the caller, who ends it with iw_socket_put. */
struct iw_socket *iw_socket_use(int fd);

/* Looks a number up: one load if it is plain. Returns NULL, or the socket as above. */
static inline struct iw_socket *iw_socket_get(int fd)
{
    if ((unsigned)fd >= IW_SOCKETS_NUMBERS ||
        atomic_load_explicit(&iw_socket_numbers[fd], memory_order_acquire) == NULL)
        return NULL;
    return iw_socket_use(fd);
}

/* Returns a new socket with one use, the caller's, or NULL with errno ENOMEM. */
struct iw_socket *iw_socket_create(const struct iw_socket_ops *ops, void *state, int family);
/* Begins a use, unless the last one has ended. Returns whether it has. */
bool iw_socket_hold(struct iw_socket *s);
/* Ends a use; the last one closes the socket. */
void iw_socket_put(struct iw_socket *s);
/* Makes `fd` a number of the socket, with a use of its own. Returns 0, or -1 with errno EMFILE. */
int iw_socket_attach(int fd, struct iw_socket *s);
/* Makes `fd` plain again. Returns the socket with the number's use, or NULL if it was plain. */
struct iw_socket *iw_socket_detach(int fd);

/* The same for one that goes on as a plain socket: sets of epoll that hold it keep it, and the
 * socket loses its use. errno stays. */
void iw_socket_make_plain(int fd);
/* Returns the highest number that has been iWARP, or -1. */
int iw_sockets_highest(void);
/* Calls `visit` for each socket: once, between iw_sockets_lock and iw_sockets_unlock. Without them
 * a walk of another thread may have it called for one socket again, and one may be closed that
 * `visit` does not hold. */
void iw_sockets_each(void (*visit)(struct iw_socket *s));
/* Keeps sockets from being made and freed, over a fork. */
void iw_sockets_lock(void);
void iw_sockets_unlock(void);

#endif
