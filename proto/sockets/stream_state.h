/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_STREAM_STATE_H
#define IW_SOCKETS_STREAM_STATE_H

/* What a byte stream is, for its two parts: stream_open.c makes them, byte_stream.c uses them. */

#include "descriptors.h"
#include "iwarp/transport.h"
#include "rsocket_wait.h"

#include <errno.h>

enum stream_state { CONNECTING, CONNECTED, LISTENING, FAILED };

struct stream {
    int rs;            /* the rsocket, which never waits */
    int plain;         /* of a mixed listener: its TCP connections */
    int queue[2];      /* of a listener; -1: not known */
    int both;          /* of a listener: wakes for the queue, for `plain` and for `over` */
    int over;          /* of a listener that was shut down: always readable */
    int waiting;       /* what a wait waits for: of a listener its queue, else the rsocket */
    _Atomic int state; /* enum stream_state */
    _Atomic int error; /* what SO_ERROR is to report */
    atomic_bool read_shut, write_shut;
    atomic_bool ended;                       /* the peer sends no more */
    atomic_bool broken;                      /* a send has failed: the next one raises SIGPIPE */
    _Atomic int64_t receive_time, send_time; /* SO_RCVTIMEO, SO_SNDTIMEO in ns; 0: no limit */
};

extern const struct iw_socket_ops iw_stream_ops;

static inline struct stream *stream_of(const struct iw_socket *s)
{
    return s->state;
}

static inline bool waits(const struct iw_socket *s, int flags)
{
    return (flags & MSG_DONTWAIT) == 0 && !atomic_load(&s->nonblocking);
}

static inline int fail(int error)
{
    errno = error;
    return -1;
}

/* Returns when a wait with a time-out in ns ends; 0: never. */
static inline uint64_t limit(const _Atomic int64_t *time)
{
    const int64_t ns = atomic_load(time);
    return ns == 0 ? IW_WAIT_FOREVER : iw_transport_now() + (uint64_t)ns;
}

/* Waits for one event of the rsocket. Returns 0, or -1 with errno EAGAIN at the end of the time, or
 * EINTR. */
int iw_stream_wait_for(const struct stream *st, short events, uint64_t until);
/* A connect has come to its end, as the wait's events say. Returns whether it is good. */
bool iw_stream_finish_connect(struct stream *st, short revents);
/* Goes on with a connect. Returns 0 when it is done; else -1 with errno EINPROGRESS or its error.
 */
int iw_stream_go_on(struct iw_socket *s, uint64_t until);
void iw_stream_copy_timeouts(int fd, struct stream *st);
void iw_stream_close_rsocket(int rs);

/* Operations. */
int iw_stream_connect(struct iw_socket *s, int fd, const struct sockaddr *to, socklen_t length);
int iw_stream_listen(struct iw_socket *s, int fd, int backlog);
int iw_stream_accept(struct iw_socket *s, int fd, struct sockaddr *from, socklen_t *length,
                     int flags);
/* Ends a listener's waits, and lets it accept no more. */
void iw_stream_shut_listener(struct stream *st);

#endif
