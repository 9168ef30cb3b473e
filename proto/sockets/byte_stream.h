/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_BYTE_STREAM_H
#define IW_SOCKETS_BYTE_STREAM_H

/* A stream of octets that rsockets carries. The program's number stays a TCP socket, which is not
 * connected: it holds options and flags. */

#include "descriptors.h"

/* Has `fd`, a stream socket that is not connected, connect by iWARP. Returns what connect returns.
 * With `fallback` it waits for the outcome for 3 s at most, even if the socket does not block, and
 * connects by TCP if that is not a success. */
int iw_byte_stream_connect(int fd, const struct sockaddr *to, socklen_t length, bool fallback);
/* Has `fd` listen for iWARP connections at the address that it is bound to. `mixed`, not 0: takes
 * plain TCP, too (mixed_listener.h), after so many ms of silence. Returns what listen returns. */
int iw_byte_stream_listen(int fd, int backlog, unsigned mixed);

#endif
