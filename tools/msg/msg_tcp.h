/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MSG_TCP_H
#define MSG_TCP_H

/*
 * Plain TCP beside the messages: what ping and get are compared with. A message is its length, 8
 * octets in network order, and its octets. An answer is waited for before the next question.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { MSG_TCP_HEAD = 8, MSG_TCP_MOST = 1 << 30 };

struct msg_tcp {
    int fd; /* -1: none */
    uint8_t *buffer;
    size_t room;                 /* octets of it */
    size_t length;               /* octets of the message that is in it, after its head */
    size_t more;                 /* octets that came after it, and lie there */
    atomic_uint_least64_t *busy; /* set to UINT64_MAX when a message begins to come; NULL: not */
};

/* Connects to HOST:PORT, or listens there and copies the address. Return -1 to go on, else the exit
 * status after one line. */
int msg_tcp_connect(const char *where, struct msg_tcp *out);
int msg_tcp_listen(const char *where, int *listener, struct sockaddr_storage *at);
/* Closes it and frees its buffer. */
void msg_tcp_close(struct msg_tcp *t);

/* Makes room in the buffer for a message of so many octets. Returns where they begin, or NULL with
 * errno. */
uint8_t *msg_tcp_room(struct msg_tcp *t, size_t length);
/* Sends the message of so many octets that is in the buffer. Returns false with errno. */
bool msg_tcp_send(struct msg_tcp *t, size_t length);
/* Receives a message of at most `most` octets into the buffer. Returns its octets, or NULL with
 * errno, 0 at the end of the stream. */
uint8_t *msg_tcp_receive(struct msg_tcp *t, size_t most);
/* Sends and receives octets that are no message. As send(2) and recv(2), but the first sends all.
 */
bool msg_tcp_send_raw(struct msg_tcp *t, const uint8_t *octets, size_t length);
ssize_t msg_tcp_receive_raw(struct msg_tcp *t, uint8_t *octets, size_t room);

#endif
