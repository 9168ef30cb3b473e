/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_TRANSPORT_H
#define IWARP_TRANSPORT_H

/*
 * transport/: the endpoint on TCP sockets with epoll. Hosted.
 *
 * A reactor owns listeners, connections and watches of the caller's own descriptors;
 * iw_reactor_step turns it. All calls on one reactor and the objects it owns must come from one
 * thread; a process may have several reactors. No connection starves others: in one step each ready
 * connection reads at most IW_TRANSPORT_READ octets and sends at most IW_TRANSPORT_WRITE. A
 * connection that has a reactor to itself is waited for by its own receive, without epoll; for that
 * its socket is a blocking one (with SO_RCVTIMEO), though no other call on it blocks.
 *
 * FPDU alignment (RFC 5044 §5.1). MULPDU follows the EMSS that TCP reports (TCP_MAXSEG: path MTU
 * and TCP options such as timestamps are taken into account, OP-18), read at establishment and
 * before sending, at most once in IW_TRANSPORT_EMSS. Nagle's algorithm is off. Each write is one
 * list of the endpoint that begins with an FPDU, holds FPDUs of exactly EMSS octets or ones that
 * share a segment entirely, and ends a segment (MSG_EOR). Where segments are long, one call sends
 * two lists (sendmmsg, Linux 4.9 or later). So every TCP segment begins with an FPDU and ends with
 * one, as long as
 *   - the socket takes the whole list (a full send buffer cuts it anywhere),
 *   - the peer's window or congestion control does not cut a segment short,
 *   - the EMSS does not change between reading it and sending (a smaller path MTU, SACK blocks),
 *   - a retransmission is cut like the first transmission,
 *   - MULPDU is not configured, and the EMSS is 140 octets or more (RFC 5044 §4.5: MULPDU is
 *     never below 128).
 * Sockets cannot promise more: TCP decides about segments. After a loss of alignment the next list
 * is aligned again. Receivers work without any alignment.
 *
 * Copies: octets to send are handed to TCP in place; only short messages, FPDUs with Markers, and
 * Read Responses under a CRC or in a domain with a lock are copied first. Received octets are read
 * into the reactor's buffer and copied from there once their CRC is good. Without CRC, Markers and
 * lock, long payload is received in place (iw_endpoint_landing); with receive_ahead set in the
 * endpoint's configuration, that of Sends as well, by a guess (iw_endpoint_guess). MSG_ZEROCOPY and
 * io_uring are not used: over loopback both were slower (tools/results/figures.csv).
 *
 * Memory: a reactor takes IW_TRANSPORT_READ octets, and a connection about 350 octets in addition
 * to its endpoint; each takes one file descriptor.
 */

#include <pthread.h>
#include <sys/socket.h>

#include "iwarp/endpoint.h"
#include "iwarp/tap.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    IW_TRANSPORT_EMSS = 1000000,     /* ns between two reads of the EMSS */
    IW_TRANSPORT_READ = 256 * 1024,  /* octets read from one connection in one step */
    IW_TRANSPORT_WRITE = 256 * 1024, /* octets after which a connection's sending yields */
    IW_TRANSPORT_SNIFFED = 1024,     /* connections of a reactor that may be MPA or not */
    IW_TRANSPORT_TEXT = 80           /* room for any address as text */
};

/* ---- the environment that a hosted program gives to the core ---- */

/* A default struct iw_env: malloc and free, getrandom, iw_crc32c_best. Must not move while a
 * domain uses it. */
struct iw_host_env {
    struct iw_env env;
    pthread_mutex_t mutex;
};

/* Fills *host. With `threads` the mutex guards the domain; otherwise the lock call-backs are NULL.
 */
void iw_host_env_init(struct iw_host_env *host, bool threads);
/* Destroys its mutex, once no domain uses it. The caller's memory stays. */
void iw_host_env_destroy(struct iw_host_env *host);

/* Returns the time of this room's clock: CLOCK_MONOTONIC in nanoseconds. */
uint64_t iw_transport_now(void);

/* ---- addresses ---- */

struct iw_host_port {
    char host[256]; /* a numeric address or a name, without brackets */
    uint16_t port;
};

/* Parses "127.0.0.1:7471", "[::1]:0" or "name:7471". Returns 0, or -1 with one line of text without
 * newline in `error` (cut at `room`). */
int iw_transport_parse(const char *text, struct iw_host_port *out, char *error, size_t room);

/* ---- the reactor ---- */

struct iw_reactor;

/* Creates a reactor. Returns NULL with errno set if there is no memory or descriptor left. */
struct iw_reactor *iw_reactor_create(void);
/* Destroys a reactor and everything that it owns, connections by a reset and without call-backs.
 * Not to be called from inside a step. NULL is ignored. */
void iw_reactor_destroy(struct iw_reactor *r);
/* Lets `tap`, which is borrowed, look on at the connections that are made from now on. Their
 * payload is received into a buffer first, so that the program cannot change octets that the tap
 * has not seen (but see `in_place` in struct iw_tap). NULL: nobody looks on. */
void iw_reactor_tap(struct iw_reactor *r, const struct iw_tap *tap);
/* Closes in a child of fork the descriptors of the sockets and of the epoll set that it has from
 * its parent, without a word to the peers, and leaves the parent's set as it is. The reactor and
 * its objects may then only be destroyed. */
void iw_reactor_forget(struct iw_reactor *r);

/* Waits for events and handles those that are there, call-backs included. `timeout_ms` is the
 * longest wait: 0 for none, -1 for no limit; deadlines of connections cut it short. If the only
 * connection has an EMSS of 9000 octets or less, a wait begins with up to 32 receives that do not
 * block (a few microseconds), unless this was in vain before, because sleeping and waking cost both
 * ends more.
 * Returns 0 (also if a signal ended the wait), or -1 with errno set if epoll itself failed. */
int iw_reactor_step(struct iw_reactor *r, int timeout_ms);

/* Switches busy polling: steps with a time-out of 0 then look at the sockets of connections
 * themselves, if there are few of them, and ask epoll only now and then. For a caller that steps
 * without pause; saves a system call per message. Off at first. */
void iw_reactor_busy(struct iw_reactor *r, bool busy);

/* Says that nobody waits for the descriptor of iw_reactor_fd before asking for it again. While
 * steps are busy, connections may then be out of epoll, whose part in each arrival delays it. */
void iw_reactor_unwatched(struct iw_reactor *r);

/* Returns a descriptor that is readable when a step has something to do, to embed the reactor in
 * another event loop. The reactor keeps it. */
int iw_reactor_fd(struct iw_reactor *r);
/* Returns the milliseconds until a step is due anyway, -1 for never. */
int iw_reactor_timeout(const struct iw_reactor *r);
/* Returns the number of system calls that its steps have made so far for established connections:
 * to receive, send and wait, and those needed around them. */
uint64_t iw_reactor_calls(const struct iw_reactor *r);

/* A watch on a descriptor of the caller's. `events` are EPOLLIN and EPOLLOUT, level triggered. */
struct iw_watch;
typedef void (*iw_watch_fn)(void *context, uint32_t events);
/* Creates a watch. Returns NULL with errno set on failure. */
struct iw_watch *iw_watch_create(struct iw_reactor *r, int fd, uint32_t events, iw_watch_fn ready,
                                 void *context);
/* Sets the events to watch for. Returns 0, or -1 with errno set. */
int iw_watch_set(struct iw_watch *w, uint32_t events);
/* Ends a watch without closing the descriptor. Allowed from inside any call-back. NULL is ignored.
 */
void iw_watch_destroy(struct iw_watch *w);

/* ---- connections ---- */

struct iw_connection;

struct iw_connection_ops {
    /* Called when events or completions of the endpoint may be waiting: iw_endpoint_event,
     * iw_endpoint_poll. Work that it posts is sent after it returns, without iw_connection_kick. */
    void (*ready)(void *context, struct iw_connection *c);
    /* Called after the last `ready`, when the socket is gone. The connection and its endpoint are
     * destroyed after it returns. */
    void (*ended)(void *context, struct iw_connection *c);
    /* May be NULL. If set, every connection begins in streaming mode (RFC 5044 §7.1.2): TCP is the
     * application's own until it calls iw_connection_start. Called with octets from the peer;
     * returns how many it took. The octets after them belong to MPA if iw_connection_start was
     * called meanwhile; otherwise it must take all. */
    size_t (*stream)(void *context, struct iw_connection *c, const uint8_t *octets, size_t length);
};

/* Opens a connection as the MPA initiator or responder, as endpoint->role says. Resolves the name
 * at once (blocking unless numeric) and tries its addresses one after the other. `endpoint` is
 * copied; its startup_timeout also bounds the TCP connect. A connect that fails ends the
 * connection: IW_EVENT_CLOSED, and iw_connection_error returns the reason. The endpoint exists on
 * return, so receives can be posted. Returns NULL with text in `error` if it cannot even start. */
struct iw_connection *iw_transport_connect(struct iw_reactor *r, struct iw_domain *domain,
                                           const struct iw_host_port *to,
                                           const struct iw_endpoint_config *endpoint,
                                           const struct iw_connection_ops *ops, void *context,
                                           char *error, size_t room);

/* Connects a stream socket of the caller's, which may be bound to a source address and port and
 * have options of its own (IP_TOS, for instance), to `to` as the MPA initiator. Otherwise like
 * iw_transport_connect. Returns NULL with errno set; the socket is then still the caller's. */
struct iw_connection *iw_transport_connect_socket(struct iw_reactor *r, struct iw_domain *domain,
                                                  int fd, const struct sockaddr *to,
                                                  socklen_t length,
                                                  const struct iw_endpoint_config *endpoint,
                                                  const struct iw_connection_ops *ops,
                                                  void *context);

/* Takes over a connected stream socket, also one on which the application has been talking
 * (streaming mode). If the application has read octets after the switch, it first gives them to the
 * endpoint, with iw_endpoint_input. Returns NULL with errno set; the socket is then still the
 * caller's. */
struct iw_connection *iw_transport_adopt(struct iw_reactor *r, struct iw_domain *domain, int fd,
                                         const struct iw_endpoint_config *endpoint,
                                         const struct iw_connection_ops *ops, void *context);

/* Sends octets as they are, in streaming mode; they are copied and leave before anything of MPA.
 * Returns 0, or -1 with errno set: ENOMEM, or EINVAL if the connection is not in streaming mode. */
int iw_connection_stream(struct iw_connection *c, const void *octets, size_t length);
/* Switches to MPA (RFC 5044 §7.1.3): in each direction MPA begins after the last octet streamed.
 * The time-out of the start-up runs from here; streaming mode has none. Allowed from inside any
 * call-back; does nothing if the connection is not in streaming mode. */
void iw_connection_start(struct iw_connection *c);

/* Keeps TCP for the caller, who has a duplicate of the socket, if the start-up is rejected by
 * either side (RFC 5044 §7.1.2: MPA is left, the TCP connection stays open). Until the start-up is
 * over, no octet is received beyond the peer's frame, and after a rejection neither FIN nor reset
 * is sent: `ended` follows, with iw_endpoint_rejected true. Call it before the first step. */
void iw_connection_keep(struct iw_connection *c);
/* Stops receiving, so that TCP makes the peer wait, or goes on. Sending goes on meanwhile, but
 * responses of the peer stay in TCP. For a consumer without room for what may come: in one step a
 * connection receives at most IW_TRANSPORT_READ octets. Allowed from inside any call-back. */
void iw_connection_hold(struct iw_connection *c, bool hold);

/* Return the endpoint, which the connection owns, and the caller's context. */
struct iw_endpoint *iw_connection_endpoint(const struct iw_connection *c);
void *iw_connection_context(const struct iw_connection *c);
void iw_connection_set_context(struct iw_connection *c, void *context);
/* Makes the next step send and call `ready`. Call it after using the endpoint outside of `ready`.
 */
void iw_connection_kick(struct iw_connection *c);
/* Sends what is due and calls `ready` (and `ended`) at once, for a caller whose next step may be
 * far off; the connection may be gone after it. Inside of a step, and so in every call-back, it is
 * iw_connection_kick. */
void iw_connection_flush(struct iw_connection *c);
/* Replaces the endpoint as iw_endpoint_remake does. Returns as it does. */
int iw_connection_remake(struct iw_connection *c, const struct iw_endpoint_config *endpoint);
/* Returns what `opened` of the tap returned for this connection; NULL if nobody looks on. */
void *iw_connection_tapped(const struct iw_connection *c);
/* Returns the socket error that ended the connection, or 0. */
int iw_connection_error(const struct iw_connection *c);
/* Print the local and remote address ("[::1]:7471"; "-" if unknown) into `text` (IW_TRANSPORT_TEXT
 * octets). */
void iw_connection_local(const struct iw_connection *c, char *text);
void iw_connection_remote(const struct iw_connection *c, char *text);
/* Copies the local and remote address (family 0 if not known). Each may be NULL. */
void iw_connection_addresses(const struct iw_connection *c, struct sockaddr_storage *local,
                             struct sockaddr_storage *remote);
/* Drops a connection at once, by a reset and without call-backs. Allowed from inside any
 * call-back. NULL is ignored. */
void iw_connection_destroy(struct iw_connection *c);

/* ---- listeners ---- */

/* Binds a listening, non-blocking TCP socket for a program's own use; port 0 lets the system
 * choose. `address` receives the address in force as text (IW_TRANSPORT_TEXT octets; may be NULL).
 * Returns the descriptor, or -1 with text in `error`. */
int iw_transport_bind(const struct iw_host_port *at, char *address, char *error, size_t room);

struct iw_listener;

struct iw_listener_config {
    struct iw_domain *domain;
    struct iw_endpoint_config endpoint; /* of each connection; copied */
    struct iw_connection_ops ops;
    /* Called before a connection is made: it may change *endpoint, a copy, for this connection (for
     * instance, to give it a trace context of its own). May be NULL. */
    void (*configure)(void *context, struct iw_endpoint_config *endpoint);
    /* Called when a connection has come, to set its context and post receives. Until then its
     * context is `context`. Return false to reset the connection. */
    bool (*accepted)(void *context, struct iw_connection *c);
    void *context;
    unsigned limit; /* live connections of this listener; more wait in TCP's backlog. 0: 1024 */
    /* Others may listen on the same address, all with `shared`: one per reactor, so that the system
     * distributes the connections over the threads (SO_REUSEPORT). */
    bool shared;
    /* TCP keeps a connection to itself until its client has sent something, or for about a second
     * (TCP_DEFER_ACCEPT), so that clients that only come and go cost nothing here. Not for a side
     * that speaks first. */
    bool defer;
    /* Not 0: takes plain TCP on the same port (RFC 5044 §7.1.5, "dual stack"). A connection is
     * MPA's if its first octets are the key of an MPA Request. `plain` gets the descriptor of one
     * whose first octets are others, that has ended, or that sends nothing for `sniff` ms, so that
     * protocols in which the server speaks first work; no octet has been taken from it. One that
     * has sent the beginning of the key is waited for ten times as long. IW_TRANSPORT_SNIFFED
     * connections of a reactor are undecided at most; more wait in TCP's backlog. */
    unsigned sniff;
    /* Takes over a connected, blocking socket. Returns false if there is no room for it now: it is
     * offered again a little later. Must not destroy the listener. */
    bool (*plain)(void *context, int fd);
};

/* Listens; port 0 lets the system choose. Returns NULL with text in `error` ("cannot listen on
 * 127.0.0.1:80: Permission denied"). */
struct iw_listener *iw_transport_listen(struct iw_reactor *r, const struct iw_host_port *at,
                                        const struct iw_listener_config *config, char *error,
                                        size_t room);
/* Listens on a socket of the caller's that is bound and listening already. Returns NULL with errno
 * set; the socket is then still the caller's. */
struct iw_listener *iw_transport_listen_socket(struct iw_reactor *r, int fd,
                                               const struct iw_listener_config *config);
/* Returns the port in force, in the octet order of the host; 0 if it is not known. */
uint16_t iw_listener_port(const struct iw_listener *l);
/* Prints the address in force into `text` (IW_TRANSPORT_TEXT octets). */
void iw_listener_address(const struct iw_listener *l, char *text);
/* Ends listening; its connections live on. Allowed from inside any call-back. NULL is ignored. */
void iw_listener_destroy(struct iw_listener *l);

/* ---- fork ---- */

/* Takes a connection off its reactor, before a fork that both processes may go on from. Until
 * iw_connection_unpark no octet passes and no call-back comes; the connection may be destroyed,
 * which closes the descriptor of this process and sends nothing. Returns false, with nothing
 * changed, for one that is connecting, in streaming mode or over. Not inside of a step. */
bool iw_connection_park(struct iw_connection *c);
/* Takes the tap off a parked connection in the child, as it is the parent's. */
void iw_connection_forked(struct iw_connection *c);
/* Goes on with a parked connection on `r`, in the child a reactor of its own. Only one of the
 * processes may. Returns false with errno ENOMEM; it stays parked. */
bool iw_connection_unpark(struct iw_connection *c, struct iw_reactor *r);
/* Gives a parked connection up because another process goes on with it: closes the descriptor,
 * sends nothing, and has the next step of `r` end it with the error ECONNABORTED. Returns as above.
 */
bool iw_connection_part(struct iw_connection *c, struct iw_reactor *r);
/* Closes the descriptor of a parked connection that another process goes on with, in one that has
 * no reactor. It stays parked. */
void iw_connection_leave(struct iw_connection *c);
/* Takes a listener off its reactor, on which its connections stay. */
void iw_listener_park(struct iw_listener *l);
/* Goes on with a parked listener on `r`. Several processes may, as each has the listening socket.
 * Returns false with errno set; it stays parked. */
bool iw_listener_unpark(struct iw_listener *l, struct iw_reactor *r);

#ifdef __cplusplus
}
#endif

#endif
