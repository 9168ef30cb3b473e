/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_RSOCKETS_H
#define IW_SOCKETS_RSOCKETS_H

/* librdmacm's rsockets, opened at the first iWARP socket so that other programs do not carry it. */

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

/* X(result, name, parameters) */
#define IW_RSOCKETS_FUNCTIONS(X)                                                                   \
    X(int, rsocket, (int, int, int))                                                               \
    X(int, rbind, (int, const struct sockaddr *, socklen_t))                                       \
    X(int, rlisten, (int, int))                                                                    \
    X(int, raccept, (int, struct sockaddr *, socklen_t *))                                         \
    X(int, rconnect, (int, const struct sockaddr *, socklen_t))                                    \
    X(int, rshutdown, (int, int))                                                                  \
    X(int, rclose, (int))                                                                          \
    X(ssize_t, rrecv, (int, void *, size_t, int))                                                  \
    X(ssize_t, rsend, (int, const void *, size_t, int))                                            \
    X(int, rpoll, (struct pollfd *, nfds_t, int))                                                  \
    X(int, rgetpeername, (int, struct sockaddr *, socklen_t *))                                    \
    X(int, rgetsockname, (int, struct sockaddr *, socklen_t *))                                    \
    X(int, rsetsockopt, (int, int, int, const void *, socklen_t))                                  \
    X(int, rgetsockopt, (int, int, int, void *, socklen_t *))                                      \
    X(int, rfcntl, (int, int, ...))

struct iw_rsockets {
#define IW_MEMBER(result, name, parameters) result(*name) parameters;
    IW_RSOCKETS_FUNCTIONS(IW_MEMBER)
#undef IW_MEMBER
};

/* Returns the functions, or NULL with errno ENOSYS after a line that says why, once. */
const struct iw_rsockets *iw_rsockets(void);

#endif
