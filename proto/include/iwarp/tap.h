/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_TAP_H
#define IWARP_TAP_H

/*
 * tap: who looks on at the TCP octets of every connection of a reactor (iw_reactor_tap), as a
 * capture would. Calls come in the order of what happened at this host: octets are given after the
 * system took or gave them, and before the endpoint learns of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "iwarp/mpa.h"

#ifdef __cplusplus
extern "C" {
#endif

struct iw_tap {
    void *context;
    /* A connection is established: this host connected if `active`, else it accepted. The addresses
     * are those of getsockname and getpeername. Returns what the other calls get, or NULL not to
     * look at it. */
    void *(*opened)(void *context, const struct sockaddr_storage *local,
                    const struct sockaddr_storage *remote, bool active);
    /* `length` octets were sent, or received: the first of those of the pieces, which are valid
     * during the call. */
    void (*octets)(void *tapped, bool sent, const struct iw_iov *pieces, size_t count,
                   size_t length);
    /* A FIN, or with `reset` a RST, was sent or received. */
    void (*ended)(void *tapped, bool sent, bool reset);
    /* The connection is gone. */
    void (*closed)(void *tapped);
    /* Payload is still received in place, and shown there: other threads may have changed it. */
    bool in_place;
};

#ifdef __cplusplus
}
#endif

#endif
