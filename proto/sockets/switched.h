/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_SOCKETS_SWITCHED_H
#define IW_SOCKETS_SWITCHED_H

/*
 * A TCP socket that was switched to iWARP (iwarp/sockets.h): a connection of transport/ on a
 * duplicate of the program's socket, driven by the engine of verbs/, of which this library has one
 * of its own.
 *
 *   switched_begin.c    the start-up, and what it comes to
 *   switched.c          what the connection reports, and the end
 *   switched_stream.c   octets written and read: Sends, and the rings that they leave and enter
 *   switched_work.c     memory advertised, requests posted, completions
 *   switched_ops.c      the same as operations of a socket (socket_ops.h)
 *   mode_option.c       IWARP_MODE
 *   one_sided.c         the functions of iwarp/sockets.h, which find the socket by its number
 *
 * Functions take the engine's lock themselves unless they say otherwise. Each returns -1 with errno
 * set on failure.
 */

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "host/endpoint_trace.h"
#include "iwarp/sockets.h"
#include "iwarp/transport.h"

enum iw_switched_state {
    IW_SWITCHED_STARTING,
    IW_SWITCHED_ASKED, /* a Request waits for the program's answer */
    IW_SWITCHED_OPEN,
    IW_SWITCHED_PLAIN, /* refused: TCP again */
    IW_SWITCHED_OVER
};

/* A condition of a socket, and the eventfd that is readable while it holds: kept right only for
 * those who look. */
struct iw_switched_event {
    int fd;
    bool watched; /* by poll and the like */
    bool set;
    unsigned waiters;
};

#define IW_SWITCHED_LINGER UINT64_C(5000000000) /* ns, for the peer's FIN after ours */

/* Octets in a ring of fixed size. */
struct iw_switched_ring {
    uint8_t *octets;
    size_t size, start, used;
};

enum {
    IW_SWITCHED_RX = 1024 * 1024, /* what may come in one step, and two whole Sends, fit beside
                                     IW_SOCKETS_UNREAD octets */
    IW_SWITCHED_TX = 256 * 1024,
    IW_SWITCHED_SENDS = 128,   /* Sends of write that have not left */
    IW_SWITCHED_IMMEDIATE = 64 /* Immediate Data not polled, beyond which the peer waits */
};
_Static_assert(IW_SWITCHED_RX >= IW_SOCKETS_UNREAD + 2 * IW_SOCKETS_RECEIVE + IW_TRANSPORT_READ,
               "what comes before the connection is held finds room");

struct iw_switched_post {
    struct iw_sockets_request request; /* without its pieces */
    uint32_t sink;                     /* STag of a Read's or an atomic's own region; else 0 */
    bool taken;
};

struct iw_switched_region {
    LIST_ENTRY(iw_switched_region) entry;
    uint32_t stag;
};

struct iw_switched {
    _Atomic int state; /* enum iw_switched_state; changes with the lock only */
    enum iw_mpa_role role;
    struct iw_connection *connection; /* NULL: gone */
    int tcp;                          /* a duplicate of the program's number; -1: closed */
    int start_error;                  /* how the switch ended */
    int error;                        /* of the connection; 0: it goes on, or ended in order */
    bool error_reported;              /* by SO_ERROR */
    int both;                         /* an epoll set with `in` and `out`; -1: none yet */
    bool ask;                         /* the program answers the Request */
    bool read_shut, write_shut;       /* by the program */
    bool peer_closed;
    bool draining; /* the process ends */
    bool orphan;   /* the program has closed it: it goes when the connection is over */
    struct {       /* of TCP, as they were */
        int flags, no_delay;
        struct timeval receive;
    } before;
    struct timeval receive_timeout, send_timeout; /* SO_RCVTIMEO, SO_SNDTIMEO; 0: none */
    struct iw_switched_event in, out, work, left;
    struct iw_switched_ring rx, tx;
    size_t receiving; /* octets after those used that a receive has */
    unsigned sends;   /* of write, under way */
    uint32_t pd;
    uint8_t private_data[IW_MPA_PRIVATE_MAX];
    size_t private_length;
    struct iw_switched_post posts[IW_SOCKETS_POSTS];
    unsigned posted;                    /* requests whose completion has not been polled */
    struct iw_sockets_completion *done; /* a ring */
    size_t done_room, done_start, done_count;
    size_t immediate; /* of those done, the peer's */
    LIST_HEAD(, iw_switched_region) regions;
    struct iw_sockets_terminate terminate;
    bool terminated;
    char terminate_text[160];
    struct iw_tracer tracer;
    LIST_ENTRY(iw_switched) entry; /* of all */
};

/* ---- switched_begin.c ---- */

/* Begins the switch of a connected TCP socket. Returns NULL with errno set and `fd` as it was:
 * ENOTCONN, EBUSY, EINVAL, ENOMEM, EMFILE. `fd` stays the caller's. */
struct iw_switched *iw_switched_begin(int fd, const struct iw_sockets_mode *mode);
/* Waits for the end of the start-up (or for the Request, with IW_SOCKETS_ASK). Returns 0 if it is
 * switched, -1 with the reason, or with EINTR while it goes on. */
int iw_switched_wait(struct iw_switched *s);
/* Returns what the start-up has come to: 0, EINPROGRESS, or the reason. */
int iw_switched_result(struct iw_switched *s);
int iw_switched_accept(struct iw_switched *s, bool reject, const void *data, size_t length);
ssize_t iw_switched_private(struct iw_switched *s, void *out, size_t room);
int iw_switched_terminate(struct iw_switched *s, struct iw_sockets_terminate *out);

/* ---- switched.c ---- */

/* Returns one with a duplicate of the program's number, or NULL with errno set. Needs no lock. */
struct iw_switched *iw_switched_create(int fd);
/* Returns a number of the library's own. */
int iw_switched_duplicate(int fd);
int iw_switched_shutdown(struct iw_switched *s, int how);
/* The program has closed it. What was written still leaves; no memory of the program's is touched
 * from the return on, for which requests that were posted are waited for, up to 5 s. */
void iw_switched_close(struct iw_switched *s);

/* The process ends: has TCP take what was written, for 5 s and each socket at most. */
void iw_switched_end_all(void);

/* All below need the lock. What the connection reports. */
extern const struct iw_connection_ops iw_switched_connection_ops;
/* Makes it one of those that a fork and the end of the process concern. */
void iw_switched_list(struct iw_switched *s);
/* Needs no lock for one that is not listed. */
void iw_switched_destroy(struct iw_switched *s);
/* Makes TCP's options what they were before the switch. */
void iw_switched_restore(struct iw_switched *s);
/* Makes the events right, after anything that may have changed them. */
void iw_switched_update(struct iw_switched *s);
/* Returns a descriptor that is readable when `in` or `out` is. */
int iw_switched_both(struct iw_switched *s);
/* Returns the errno of what needs an open connection, or 0. */
int iw_switched_error(const struct iw_switched *s);

/* ---- switched_stream.c ---- */

ssize_t iw_switched_receive(struct iw_switched *s, struct msghdr *message, int flags, bool block);
ssize_t iw_switched_send(struct iw_switched *s, const struct msghdr *message, int flags,
                         bool block);
/* All need the lock. */
bool iw_switched_readable(const struct iw_switched *s);
bool iw_switched_writable(const struct iw_switched *s);
/* Posts a receive, if there is none; as struct iw_endpoint_config.want_recv. */
void iw_switched_want_recv(void *context);
/* A Send has come; write's oldest Send of `length` octets has left. */
void iw_switched_received(struct iw_switched *s, uint32_t length);
void iw_switched_sent(struct iw_switched *s, size_t length);

/* ---- switched_work.c ---- */

int iw_switched_advertise(struct iw_switched *s, void *memory, size_t length, unsigned rights,
                          struct iw_sockets_memory *out);
int iw_switched_withdraw(struct iw_switched *s, uint32_t stag);
int iw_switched_post(struct iw_switched *s, const struct iw_sockets_request *request);
int iw_switched_poll(struct iw_switched *s, struct iw_sockets_completion *out, int room,
                     int timeout_ms);
int iw_switched_work_event(struct iw_switched *s);
/* All need the lock. Takes what the endpoint has completed. */
void iw_switched_take_completions(struct iw_switched *s);
/* Forgets the regions; the connection must be over or left. */
void iw_switched_forget_memory(struct iw_switched *s);

/* id of a write's Send: its octets, and this bit. */
#define IW_SWITCHED_ID_SEND (UINT64_C(1) << 63)

#endif
