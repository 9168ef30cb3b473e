/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_TRANSPORT_H
#define IWARP_TRANSPORT_H

/*
 * transport/: the endpoint on TCP sockets with epoll. Hosted.
 *
 * A reactor owns listeners, connections and watches of the caller's own descriptors and is
 * turned by iw_reactor_step. All calls on one reactor and what it owns come from one thread;
 * a process may have several reactors. No connection starves others: in one step each ready
 * connection reads at most IW_TRANSPORT_READ octets and sends at most IW_TRANSPORT_WRITE. Only a
 * connection that has a reactor to itself is waited for by its own receive, without epoll; for that
 * its socket is a blocking one (with SO_RCVTIMEO), though no other call on it blocks.
 *
 * FPDU alignment (RFC 5044 §5.1). MULPDU follows the EMSS that TCP reports (TCP_MAXSEG: path MTU
 * and TCP options such as timestamps are taken into account, OP-18), asked at establishment and
 * before sending, at most once in IW_TRANSPORT_EMSS. Nagle's algorithm is off, and each write is
 * one list of the endpoint that begins with an FPDU, holds FPDUs of exactly EMSS octets or ones
 * that share a segment entirely, and ends a segment (MSG_EOR). Two go with one call where segments
 * are long (sendmmsg, of a Linux not older than 4.9). So every TCP segment begins with an FPDU and
 * ends with one, as long as
 *   - the socket takes the whole list (a full send buffer cuts it anywhere),
 *   - the peer's window or congestion control does not cut a segment short,
 *   - the EMSS does not change between reading it and sending (a smaller path MTU, SACK blocks),
 * and a retransmission is cut as the first transmission was,
 *   - MULPDU is not configured, and the EMSS is 140 octets or more (RFC 5044 §4.5: MULPDU is never
 *     below 128).
 * Sockets cannot promise more: TCP decides about segments. After a loss of alignment the next list
 * is aligned again. Receivers work without any alignment.
 *
 * Copies: what is sent is handed to TCP where it lies; only short messages, what
 * gets Markers, and Read Responses under a CRC or in a domain with a lock are copied first. What
 * comes is read into the reactor's buffer and copied from there once its CRC is good; without CRC,
 * Markers and lock long payload is received in its place (iw_endpoint_landing), with receive_ahead
 * set in the endpoint's configuration that of Sends by a guess, too (iw_endpoint_guess).
 * MSG_ZEROCOPY and io_uring are not used: over loopback both were slower
 * (tools/results/figures.csv).
 *
 * Memory: a reactor takes IW_TRANSPORT_READ octets, a connection about 350 octets beside its
 * endpoint, and one file descriptor each.
 */

#include <pthread.h>

#include "iwarp/endpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    IW_TRANSPORT_EMSS = 1000000,     /* ns between two looks at the EMSS */
    IW_TRANSPORT_READ = 256 * 1024,  /* octets read from one connection in one step */
    IW_TRANSPORT_WRITE = 256 * 1024, /* octets after which a connection's sending yields */
    IW_TRANSPORT_TEXT = 80           /* room for any address as text */
};

/* ---- what a hosted program hands to the core ---- */

/* A default struct iw_env: malloc and free, getrandom, iw_crc32c_best. Must not move while a
 * domain uses it. */
struct iw_host_env {
    struct iw_env env;
    pthread_mutex_t mutex;
};

/* Fills *host. With `threads` the domain is guarded by the mutex, else the lock call-backs are
 * NULL. */
void iw_host_env_init(struct iw_host_env *host, bool threads);
void iw_host_env_destroy(struct iw_host_env *host);

/* The clock of this room: CLOCK_MONOTONIC in nanoseconds. */
uint64_t iw_transport_now(void);

/* ---- addresses ---- */

struct iw_host_port {
    char host[256]; /* a numeric address or a name, without brackets */
    uint16_t port;
};

/* Reads "127.0.0.1:7471", "[::1]:0" or "name:7471". Returns 0, or -1 with one line of text
 * without newline in `error` (cut at `room`). */
int iw_transport_parse(const char *text, struct iw_host_port *out, char *error, size_t room);

/* ---- the reactor ---- */

struct iw_reactor;

/* NULL with errno set if there is no memory or descriptor left. */
struct iw_reactor *iw_reactor_create(void);
/* Everything that it owns is destroyed too, connections by a reset and without call-backs. Not
 * to be called from inside a step. NULL is ignored. */
void iw_reactor_destroy(struct iw_reactor *r);

/* Waits for events and handles what is there, call-backs included. `timeout_ms`: the longest
 * wait, 0 for none, -1 for as long as it takes; deadlines of connections cut it short. A reactor
 * whose only connection has an EMSS of 9000 octets or less begins a wait with up to 32 receives
 * that do not wait, some microseconds, unless that was in vain before: to sleep and be woken costs
 * both ends more. Returns 0 (a signal also just ends the wait), or -1 with errno set if epoll
 * itself failed. */
int iw_reactor_step(struct iw_reactor *r, int timeout_ms);

/* Busy polling: steps with a time-out of 0 look at the sockets of connections themselves, if there
 * are few of them, and ask epoll only now and then. For a caller that steps without pause; shortens
 * the way of a message by a system call. Off at first. */
void iw_reactor_busy(struct iw_reactor *r, bool busy);

/* For embedding in another event loop: a descriptor that is readable when a step has something
 * to do, and the milliseconds until a step is due anyway (-1: never). */
int iw_reactor_fd(const struct iw_reactor *r);
/* System calls that its steps have made so far for connections that are up: what receives, sends
 * and waits, and what they need besides. */
uint64_t iw_reactor_calls(const struct iw_reactor *r);
int iw_reactor_timeout(const struct iw_reactor *r);

/* A descriptor of the caller's. `events` are EPOLLIN and EPOLLOUT, level triggered. */
struct iw_watch;
typedef void (*iw_watch_fn)(void *context, uint32_t events);
/* NULL with errno set on failure. */
struct iw_watch *iw_watch_create(struct iw_reactor *r, int fd, uint32_t events, iw_watch_fn ready,
                                 void *context);
int iw_watch_set(struct iw_watch *w, uint32_t events);
/* Does not close the descriptor. Allowed from inside any call-back. NULL is ignored. */
void iw_watch_destroy(struct iw_watch *w);

/* ---- connections ---- */

struct iw_connection;

struct iw_connection_ops {
    /* Events or completions of the endpoint may be waiting: iw_endpoint_event, iw_endpoint_poll.
     * What it posts is sent after it returns, without iw_connection_kick. */
    void (*ready)(void *context, struct iw_connection *c);
    /* The socket is gone and `ready` was called for the last time. The connection and its
     * endpoint are destroyed after this returns. */
    void (*ended)(void *context, struct iw_connection *c);
    /* May be NULL. If set, every connection begins in streaming mode (RFC 5044 §7.1.2): TCP is the
     * application's own until it calls iw_connection_start. These octets have come from the peer;
     * returns how many were taken. Those behind them belong to MPA if iw_connection_start was
     * called meanwhile, else all must be taken. */
    size_t (*stream)(void *context, struct iw_connection *c, const uint8_t *octets, size_t length);
};

/* Opens a connection as the MPA initiator or responder that endpoint->role says. The name is
 * resolved at once (blocking unless numeric); its addresses are tried one after the other.
 * `endpoint` is copied; its startup_timeout also bounds the TCP connect. A connect that fails
 * ends the connection: IW_EVENT_CLOSED, and iw_connection_error says why. The endpoint exists
 * on return, so receives can be posted. NULL with text in `error` if it cannot even start. */
struct iw_connection *iw_transport_connect(struct iw_reactor *r, struct iw_domain *domain,
                                           const struct iw_host_port *to,
                                           const struct iw_endpoint_config *endpoint,
                                           const struct iw_connection_ops *ops, void *context,
                                           char *error, size_t room);

/* Takes over a connected stream socket, also one on which the application has been talking
 * (streaming mode). What it has read beyond the switch it gives to the endpoint first of all, with
 * iw_endpoint_input. NULL with errno set; the socket is then still the caller's. */
struct iw_connection *iw_transport_adopt(struct iw_reactor *r, struct iw_domain *domain, int fd,
                                         const struct iw_endpoint_config *endpoint,
                                         const struct iw_connection_ops *ops, void *context);

/* Streaming mode: sends octets as they are; they are copied and leave before anything of MPA. 0, or
 * -1 with errno set: ENOMEM, or EINVAL if the connection is not in streaming mode. */
int iw_connection_stream(struct iw_connection *c, const void *octets, size_t length);
/* The switch (RFC 5044 §7.1.3): in each direction MPA begins behind the last octet streamed. The
 * start-up's time-out runs from here; streaming mode has none. Allowed from inside any call-back;
 * does nothing if the connection is not in streaming mode. */
void iw_connection_start(struct iw_connection *c);

struct iw_endpoint *iw_connection_endpoint(const struct iw_connection *c);
void *iw_connection_context(const struct iw_connection *c);
void iw_connection_set_context(struct iw_connection *c, void *context);
/* Call after using the endpoint outside of `ready`: the next step sends and calls `ready`. */
void iw_connection_kick(struct iw_connection *c);
/* The socket error that ended the connection, or 0. */
int iw_connection_error(const struct iw_connection *c);
/* Local and remote address as text ("[::1]:7471"), IW_TRANSPORT_TEXT octets; "-" if unknown. */
void iw_connection_local(const struct iw_connection *c, char *text);
void iw_connection_remote(const struct iw_connection *c, char *text);
/* Drops a connection at once, by a reset and without call-backs. Allowed from inside any
 * call-back. NULL is ignored. */
void iw_connection_destroy(struct iw_connection *c);

/* ---- listeners ---- */

/* A bound, listening, non-blocking TCP socket for a program's own use; port 0 lets the system
 * choose. `address` receives the address in force as text (IW_TRANSPORT_TEXT octets; may be
 * NULL). Returns the descriptor, or -1 with text in `error`. */
int iw_transport_bind(const struct iw_host_port *at, char *address, char *error, size_t room);

struct iw_listener;

struct iw_listener_config {
    struct iw_domain *domain;
    struct iw_endpoint_config endpoint; /* of each connection; copied */
    struct iw_connection_ops ops;
    /* A connection is about to be made: *endpoint, a copy, may be changed for it (a trace context
     * of its own). May be NULL. */
    void (*configure)(void *context, struct iw_endpoint_config *endpoint);
    /* A connection has come; set its context, post receives. Before it, its context is
     * `context`. Return false to reset it. */
    bool (*accepted)(void *context, struct iw_connection *c);
    void *context;
    unsigned limit; /* live connections of this listener; more wait in TCP's backlog. 0: 1024 */
    /* Others may listen on the same address, all with `shared`: one for each reactor, so that the
     * system deals the connections out to the threads (SO_REUSEPORT). */
    bool shared;
    /* TCP keeps a connection to itself until its client has sent something, or for about a second
     * (TCP_DEFER_ACCEPT), so that clients that only come and go cost nothing here. Not for a side
     * that speaks first. */
    bool defer;
};

/* Port 0 lets the system choose. NULL with text in `error` ("cannot listen on 127.0.0.1:80:
 * Permission denied"). */
struct iw_listener *iw_transport_listen(struct iw_reactor *r, const struct iw_host_port *at,
                                        const struct iw_listener_config *config, char *error,
                                        size_t room);
uint16_t iw_listener_port(const struct iw_listener *l);
/* The address in force as text, IW_TRANSPORT_TEXT octets. */
void iw_listener_address(const struct iw_listener *l, char *text);
/* Its connections live on. Allowed from inside any call-back. NULL is ignored. */
void iw_listener_destroy(struct iw_listener *l);

#ifdef __cplusplus
}
#endif

#endif
