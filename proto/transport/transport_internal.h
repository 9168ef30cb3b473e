/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TRANSPORT_INTERNAL_H
#define IW_TRANSPORT_INTERNAL_H

#include "iwarp/endpoint_transport.h"
#include "iwarp/transport.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct addrinfo;

/* The subject of an epoll event. Sources that die during a step are freed at its end, since later
 * events of the same batch may still name them. */
struct iw_source {
    void (*handle)(struct iw_source *s, uint32_t events);
    void (*release)(struct iw_source *s);
    /* Busy polling: checks for itself whether there is something to do, and does it. NULL if only
     * epoll knows. */
    void (*ask)(struct iw_source *s);
    /* The only source of its reactor: waits without epoll, and does whatever is due. Returns false,
     * at once, if only epoll can report the event it waits for. May be NULL. */
    bool (*wait_alone)(struct iw_source *s, int timeout_ms);
    /* Leaves epoll, if `ask` will do, or comes back. NULL: stays there. */
    void (*set_aside)(struct iw_source *s, bool aside);
    struct iw_reactor *reactor;
    int *own;                    /* its descriptor; NULL: it is the caller's */
    LIST_ENTRY(iw_source) entry; /* in the reactor's list of live sources, or of dead ones */
    bool dead;
};

struct iw_watch {
    struct iw_source source;
    int fd;
    iw_watch_fn ready;
    void *context;
};

struct iw_listener {
    struct iw_source source;
    int fd;
    struct iw_listener_config config;
    unsigned live; /* connections */
    bool paused;
    bool parked;        /* off its reactor */
    uint64_t resume_at; /* paused for want of descriptors: when to try again; else UINT64_MAX */
    LIST_ENTRY(iw_listener) entry;
    LIST_HEAD(, iw_connection) connections;
};

/* A connection of a listener that takes others than MPA, too, and that has not said which it is. */
struct iw_sniff {
    struct iw_source source;
    int fd;
    struct iw_listener *listener;
    uint64_t deadline;
    bool begun; /* the beginning of the key is here */
    bool plain; /* it is not MPA's: to be offered again at the deadline */
    LIST_ENTRY(iw_sniff) entry;
};

union iw_socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct iw_connection {
    struct iw_source source;
    int fd;
    int error;
    uint32_t armed; /* events asked of epoll */
    int wait_ms; /* SO_RCVTIMEO; 0: not set yet. The socket blocks unless a call says otherwise */
    bool connecting;
    bool read_done;    /* FIN or error read */
    bool write_broken; /* sending failed; what is left is read, then the connection is lost */
    bool lost;         /* reset, timed out or never connected */
    bool fin_sent;
    bool stalled;    /* the socket takes no more octets, or the step's share is used up */
    bool pending;    /* on the reactor's list of connections to serve */
    bool ending;     /* in `ended` */
    bool streaming;  /* MPA has not been started */
    bool keep;       /* TCP outlives a start-up that is rejected: iw_connection_keep */
    bool held;       /* nothing is received: iw_connection_hold */
    bool parted;     /* held, and out of epoll, which would report for ever that it is broken */
    bool parked;     /* off its reactor: no octets pass */
    bool aside;      /* out of epoll: steps ask it themselves */
    uint8_t *stream; /* octets of streaming mode that are still to be sent */
    size_t stream_length;
    uint32_t emss;          /* TCP's last value; 0: it has not been read */
    unsigned soon_left_out; /* this number of consecutive waits begins without polling first; */
    unsigned soon_count;    /* this number of them already did; connection.c, receive_soon */
    uint64_t emss_due;      /* when to ask TCP for its EMSS again */
    uint64_t deadline;      /* as the heap knows it */
    size_t heap_index;      /* 1..; 0 if not in the heap */
    TAILQ_ENTRY(iw_connection) pending_entry;
    struct iw_endpoint *ep;
    const struct iw_tap *tap; /* NULL: nobody looks on */
    void *tapped;             /* the tap's; NULL: it does not look at this one */
    struct iw_connection_ops ops;
    void *context;
    struct addrinfo *addresses, *address; /* connecting: all of them, and the one being tried */
    struct iw_listener *listener;         /* NULL once it is gone */
    LIST_ENTRY(iw_connection) listener_entry;
    char *name;                         /* the name to connect to, until it is established */
    union iw_socket_name local, remote; /* no family: not known */
};

struct iw_reactor {
    int epoll;
    bool stepping, busy;
    bool unwatched;   /* iw_reactor_unwatched */
    bool aside;       /* so connections may be out of epoll */
    uint64_t calls;   /* system calls: iw_reactor_calls */
    unsigned unasked; /* steps since epoll was asked */
    LIST_HEAD(, iw_source) live, dead;
    size_t live_count;
    LIST_HEAD(, iw_listener) listeners;
    LIST_HEAD(, iw_sniff) sniffs;
    unsigned sniffed; /* in that list */
    TAILQ_HEAD(, iw_connection) pending;
    size_t pending_count;
    struct iw_connection **heap; /* by deadline, earliest at [1] */
    size_t heap_count, heap_room;
    uint8_t *buffer;
    const struct iw_tap *tap; /* NULL: nobody looks on */
};

/* reactor.c */
int iw_source_add(struct iw_reactor *r, struct iw_source *s, int fd, uint32_t events);
/* Takes it off its reactor's list, as iw_source_add put it there; epoll is the caller's. */
void iw_source_remove(struct iw_source *s);
void iw_source_kill(struct iw_source *s);
int iw_heap_reserve(struct iw_reactor *r);
void iw_heap_set(struct iw_reactor *r, struct iw_connection *c, uint64_t deadline);
void iw_heap_remove(struct iw_reactor *r, struct iw_connection *c);
/* Milliseconds for epoll: not too few, -1 without a deadline (UINT64_MAX). */
int iw_reactor_wait(uint64_t deadline, uint64_t now);
/* Ends a step: frees what died in it. */
void iw_reactor_stepped(struct iw_reactor *r);
void iw_pending_add(struct iw_reactor *r, struct iw_connection *c);
void iw_pending_remove(struct iw_reactor *r, struct iw_connection *c);

/* connection.c */
struct iw_connection *iw_connection_create(struct iw_reactor *r, struct iw_domain *domain,
                                           const struct iw_endpoint_config *endpoint,
                                           const struct iw_connection_ops *ops, void *context);
/* Returns the error that a socket has, and clears it. */
int iw_socket_error(int fd);
/* Gives it a connected, blocking socket. Returns -1 with errno set if epoll refuses it. */
int iw_connection_attach(struct iw_connection *c, int fd, bool active);
/* Asks epoll for the events that the connection waits for now. */
int iw_connection_arm(struct iw_connection *c, int operation);
void iw_connection_close(struct iw_connection *c, bool reset);
/* Reports the loss of the connection to its endpoint. */
void iw_connection_lose(struct iw_connection *c, int error);
/* The socket is connected: by us, or accepted. */
void iw_connection_established(struct iw_connection *c, bool active);
void iw_socket_prepare(int fd);
/* Sends, reports, ends or re-arms; with `tick`, a deadline has passed. */
void iw_connection_serve(struct iw_connection *c, bool tick);

/* connect.c: the socket that is being connected is ready, or has failed. */
void iw_connection_progress(struct iw_connection *c);

/* connection_tap.c: calls the tap, if there is one. */
/* Returns whether payload is received in place. */
bool iw_tap_in_place(const struct iw_tap *tap);
void iw_tap_opened(struct iw_connection *c, bool active);
void iw_tap_octets(const struct iw_connection *c, bool sent, const struct iw_iov *pieces,
                   size_t count, size_t length);
/* The first `length` octets of at most IW_TAP_PIECES pieces were received. */
enum { IW_TAP_PIECES = 3 };
void iw_tap_received(const struct iw_connection *c, const struct iovec *into, size_t count,
                     size_t length);
void iw_tap_ended(const struct iw_connection *c, bool sent, bool reset);
void iw_tap_closed(struct iw_connection *c, bool reset);

/* streaming.c */
/* Gives octets of the peer to the application. Returns how many it took. */
size_t iw_connection_streamed(struct iw_connection *c, const uint8_t *octets, size_t length);
/* Sends the rest of streaming mode. Returns 1 if nothing is left, 0 if the socket takes no more, -1
 * with errno set. */
int iw_connection_send_stream(struct iw_connection *c);

/* listener.c */
void iw_listener_resume(struct iw_listener *l);
/* Makes a connection of MPA of an accepted socket, which it takes over. */
void iw_listener_admit(struct iw_listener *l, int fd);

/* sniff.c: looks at an accepted socket, which it takes over, until it is known what it is. Returns
 * false, with nothing done, if too many are undecided or there is no memory. */
bool iw_sniff_begin(struct iw_listener *l, int fd);
/* Decides those whose time is over. */
void iw_sniff_tick(struct iw_reactor *r, uint64_t now);
/* The listener goes: resets those that it has not decided. */
void iw_sniff_drop(struct iw_listener *l);

/* listener.c: called when a connection is going: one more may come. */
void iw_listener_forget(struct iw_connection *c);

/* host_port.c */
void iw_transport_print_host_port(const struct iw_host_port *at, char *text, size_t room);

#endif
