/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_PEER_PROGRAM_H
#define IW_PEER_PROGRAM_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "endpoint_options.h"
#include "host/endpoint_trace.h"
#include "iwarp/quirk.h"
#include "iwarp/tap.h"
#include "iwarp/transport.h"

struct peer_connection;

/* The behaviour of a peer on its connections. */
struct personality {
    const char *name;
    /* The connection is made but not yet established: memory, first receives. Sets *state; it is
     * freed with `close`, also if this fails (-1). */
    int (*open)(struct peer_connection *pc);
    /* Sends a connecting peer's first message: the connection is established. */
    void (*begin)(struct peer_connection *pc);
    /* Handles one completion with status ok: of a connecting peer, of a listening one. */
    void (*completed[2])(struct peer_connection *pc, const struct iw_completion *completion);
    void (*close)(struct peer_connection *pc);
};

extern const struct personality peer_echo, peer_rping;

struct peer {
    struct iw_endpoint_options options;
    struct iw_host_port address;
    const struct personality *personality;
    bool listens, once, verify;
    uint64_t count;   /* exchanges of a connecting peer */
    uint64_t size;    /* octets of a message (connecting) or a receive (listening echo) */
    uint64_t buffers; /* receives that echo keeps posted */
    uint64_t limit;   /* connections at once, of each thread */
    uint64_t threads;
    const char *stream; /* the line that is said before MPA; NULL: none */
    const char *trace_path;
    FILE *trace;

    /* Separate in each thread, whose peer has a copy of the fields above. */
    unsigned number;    /* of the thread */
    atomic_uint living; /* connections */
    struct iw_host_env host;
    struct iw_domain *domain;
    struct iw_reactor *reactor;
    struct iw_listener *listener;
    LIST_HEAD(, peer_connection) connections; /* live ones */
    struct peer_connection *coming;           /* configured, not yet accepted */
    unsigned made;
    bool stopping, interrupted /* by SIGINT */;
    int status; /* the exit status */
};

struct peer_connection {
    struct peer *peer;
    struct iw_connection *c;
    struct iw_endpoint *ep;
    struct iw_tracer tracer;
    LIST_ENTRY(peer_connection) entry;
    size_t line_length; /* octets of the other's line so far */
    bool was_established;
    bool done;           /* connecting: all exchanges are through */
    bool failed;         /* a message about it was printed */
    enum iw_cause cause; /* of its end, once that was reported */
    void *state;         /* the personality's */
};

/* main.c: begins to listen, or connects. Returns 0, or the exit status after one line on stderr. */
int peer_start(struct peer *p);
void peer_forget(struct peer_connection *pc);
/* peer_threads.c: runs one peer in each thread, with its own reactor, domain and listener, so that
 * connections share nothing; until a signal or the end. Returns the exit status. */
int peer_run(struct peer *p);

/* beginning.c: keeps the first octets of connections, both directions, so that a fault can be
 * explained by what they show: at most PEER_BEGINNING octets of memory for each, and one that goes
 * beyond keeps none. */
enum { PEER_BEGINNING = 2 * IW_MPA_FPDU_MAX };
extern const struct iw_tap peer_beginnings;
/* Returns the first quirk that the other side has shown in these octets, as iwarp-lint finds it;
 * IW_QUIRK_COUNT if it has shown none. `tapped`: of iw_connection_tapped. */
enum iw_quirk peer_beginning_quirk(const void *tapped);

/* Prints one line about a connection to stderr and remembers that it failed. */
__attribute__((format(printf, 2, 3))) void peer_fail(struct peer_connection *pc, const char *format,
                                                     ...);
/* peer_fail, then resets the connection. */
__attribute__((format(printf, 2, 3))) void peer_abort(struct peer_connection *pc,
                                                      const char *format, ...);
/* Posts one work request without failing quietly. Returns false if the connection is over. */
bool peer_post(struct peer_connection *pc, const struct iw_work *work);
void peer_send(struct peer_connection *pc, void *octets, size_t length);
bool peer_post_recv(struct peer_connection *pc, uint64_t id, void *buffer, size_t length);
/* Closes gracefully: everything that was asked for is done. */
void peer_done(struct peer_connection *pc);

#endif
