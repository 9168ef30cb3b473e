/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_SERVE_TCP_H
#define MSG_SERVE_TCP_H

/* What iwarp-msg serve answers over plain TCP: a thread, and one connection at a time. */

#include <stdbool.h>
#include <sys/socket.h>

struct msg_serve_tcp;

/* Listens at HOST:PORT, and begins to answer. `folder` is borrowed. Returns -1 to go on, else the
 * exit status after one line. */
int msg_serve_tcp_open(const char *where, int folder, struct msg_serve_tcp **out,
                       struct sockaddr_storage *at);
/* Returns true while a question or its answer is under way, and for a moment after it. */
bool msg_serve_tcp_busy(const struct msg_serve_tcp *t);
/* Ends it. NULL is allowed. */
void msg_serve_tcp_close(struct msg_serve_tcp *t);

#endif
