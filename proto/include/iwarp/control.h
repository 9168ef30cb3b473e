/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_CONTROL_H
#define IWARP_CONTROL_H

/*
 * control/: both ends of the agent's control protocol: one JSON object per line over a stream
 * socket (proto/control/PROTOCOL.md). Hosted. Deadlines are absolute, in nanoseconds of
 * iw_transport_now(); with a deadline in the past a call takes only what is already here.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    IW_CONTROL_SCHEMA = 1,
    IW_CONTROL_LINE = 256 * 1024,       /* octets of the longest line, newline included */
    IW_CONTROL_QUEUE = 4 * 1024 * 1024, /* octets that may wait to be sent by a channel */
    IW_CONTROL_EVENTS = 65536,          /* events that a client holds for its caller */
    IW_CONTROL_HELD = 4 * 1024 * 1024,  /* ... and the octets of their lines */
    IW_CONTROL_DEPTH = 8,               /* objects and arrays within one another in a line */
    IW_CONTROL_TOKEN_MIN = 16,          /* octets of a token */
    IW_CONTROL_TOKEN_MAX = 128
};

/* ---- the shared token ---- */

/* The environment variable that holds a token if no file is named. */
#define IW_CONTROL_TOKEN_ENV "IWARP_AGENT_TOKEN"

/* The first line that a client sends to an agent that asks for a token: 16 to 128 octets of
 * printable ASCII, without spaces. */
struct iw_control_token {
    char text[IW_CONTROL_TOKEN_MAX]; /* zeros after `length` */
    size_t length;                   /* 0: no token */
};

/* Set a token from text. This and the next two return 0, or -1 with one line of text in `error`,
 * which never holds the token. */
int iw_control_token_set(struct iw_control_token *t, const char *text, size_t length, char *error,
                         size_t room);
/* Reads a token from a file: its whole content, except a newline at the end. Returns as above. */
int iw_control_token_read(struct iw_control_token *t, const char *path, char *error, size_t room);
/* Reads it from the file if `path` is not NULL, else from the environment; without either there is
 * no token. Returns as above. */
int iw_control_token_find(struct iw_control_token *t, const char *path, char *error, size_t room);
/* Returns whether `text` is the token. Takes the same time whatever `text` holds. */
bool iw_control_token_same(const struct iw_control_token *t, const char *text, size_t length);

/* ---- the channel: framing, used by both ends ---- */

struct iw_control_channel;

/* Takes over `fd`, a connected stream socket, and makes it non-blocking. Returns NULL if there is
 * no memory (fd is then still the caller's). */
struct iw_control_channel *iw_control_channel_create(int fd);
/* Closes the socket. NULL is ignored. */
void iw_control_channel_destroy(struct iw_control_channel *ch);
/* Returns the socket, to be polled. The channel keeps it. */
int iw_control_channel_fd(const struct iw_control_channel *ch);

/* Reads once from the socket, at most 64 KiB. Returns 1 if octets came, 0 if there are none now,
 * -1 at the end of the stream or on an error. Call it only after iw_control_channel_next has
 * returned 0. */
int iw_control_channel_read(struct iw_control_channel *ch);
/* Takes the next whole line as an object (a new reference). Returns 1; 0 if there is none yet; -1
 * if the line is not a JSON object or nests deeper than IW_CONTROL_DEPTH (the channel goes on); or
 * -2 if it is longer than IW_CONTROL_LINE (the channel is of no more use). After -1 and -2, `error`
 * holds one line of printable ASCII. */
int iw_control_channel_next(struct iw_control_channel *ch, json_t **out, char *error, size_t room);
/* Returns the octets of the line that was taken last, its newline included. */
size_t iw_control_channel_line(const struct iw_control_channel *ch);
/* Queues one object and sends as much as the socket takes. Returns 0; -1 if the object is longer
 * than IW_CONTROL_LINE, the queue is full or memory has run out (then nothing is queued); -2 if the
 * socket is broken. Keeps no reference. */
int iw_control_channel_write(struct iw_control_channel *ch, const json_t *object);
/* Sends queued octets. Returns 0 if nothing is left, 1 if something is (wait for EPOLLOUT), or -1
 * if the socket is broken. */
int iw_control_channel_flush(struct iw_control_channel *ch);

/* ---- the client: blocking, with deadlines ---- */

struct iw_control;

/* Connects to an agent and sends the token if it has a length (NULL: none). An agent that wants
 * another token says so in reply to the first call. Returns NULL with one line of text in
 * `error`. */
struct iw_control *iw_control_connect(const char *host, uint16_t port,
                                      const struct iw_control_token *token, uint64_t deadline,
                                      char *error, size_t room);
/* Takes over a connected stream socket (one end of a socketpair; the agent got the other with
 * --control-fd). Returns NULL if there is no memory. */
struct iw_control *iw_control_adopt(int fd);
/* Closes the connection; the agent then resets everything that this client made. NULL is ignored.
 */
void iw_control_close(struct iw_control *c);
/* Returns a descriptor that is readable when the agent has sent something or is gone; then call
 * iw_control_event with a deadline of 0 until it returns NULL. */
int iw_control_fd(const struct iw_control *c);

/* Sends `request` (an object with "do"; the reference is taken over; "id" is filled in) and waits
 * for its reply, which may be {"ok":false,"error":...}. Events that come meanwhile are kept.
 * Returns a new reference, or NULL with one line of text in `error`: the deadline has passed (the
 * late reply will be dropped) or the agent is gone (iw_control_lost). */
json_t *iw_control_call(struct iw_control *c, json_t *request, uint64_t deadline, char *error,
                        size_t room);
/* Returns the oldest event (a new reference), or NULL: none came before the deadline, or the agent
 * is gone (iw_control_lost). */
json_t *iw_control_event(struct iw_control *c, uint64_t deadline);
/* Returns true once the connection to the agent has ended or broken the protocol. Events that came
 * before can still be taken. */
bool iw_control_lost(const struct iw_control *c);

#ifdef __cplusplus
}
#endif

#endif
