/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_BYTE_STREAM_H
#define IW_SOCKETS_BYTE_STREAM_H

/* A stream of octets that rsockets carries. The program's number stays a TCP socket, which is not
 * connected: it holds options and flags. */

#include "descriptors.h"

/* Has `fd`, a stream socket that is not connected, connect by iWARP. Returns what connect returns.
 */
int iw_byte_stream_connect(int fd, const struct sockaddr *to, socklen_t length);
/* Has `fd` listen for iWARP connections at the address that it is bound to. Returns what listen
 * returns. */
int iw_byte_stream_listen(int fd, int backlog);

#endif
