/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_MODE_OPTION_H
#define IW_SOCKETS_MODE_OPTION_H

/* The option IWARP_MODE of SOL_TCP (iwarp/sockets.h). */

#include "descriptors.h"
#include "switched.h"

/* setsockopt of a plain socket. Returns what setsockopt returns. */
int iw_mode_set(int fd, const void *value, socklen_t length);
/* getsockopt of a plain socket. */
int iw_mode_get_plain(int fd, void *value, socklen_t *length);
/* getsockopt of any socket; `mode` is what it returns in *value. */
int iw_mode_get(int mode, void *value, socklen_t *length);
/* Takes a socket whose start-up has failed out of the table: its number is plain TCP again. */
void iw_mode_undo(int fd, struct iw_switched *s);
/* Private data of a refusal, for a number that is plain again. Returns its length, or -1 with errno
 * ENOTCONN. */
ssize_t iw_mode_refusal(int fd, void *out, size_t room);

extern const struct iw_socket_ops iw_switched_ops;

/* Returns what a switched socket's number stands for, or NULL if it is none. */
static inline struct iw_switched *iw_switched_of(const struct iw_socket *s)
{
    return s->ops == &iw_switched_ops ? s->state : NULL;
}

#endif
