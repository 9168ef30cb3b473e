/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_LINK_H
#define IW_VERBS_LINK_H

/*
 * A link joins a queue pair, its connection, and the connection's owner in ucma/. Each of the three
 * may go before the others: the link lives until its connection has ended. All functions need the
 * engine's lock.
 */

#include "host/endpoint_trace.h"
#include "verbs/objects.h"

/* What the owner learns. `owner` is NULL-checked before each call. */
struct iw_verbs_link_ops {
    void (*request)(struct iw_verbs_link *link, void *owner);
    void (*established)(struct iw_verbs_link *link, void *owner);
    void (*rejected)(struct iw_verbs_link *link, void *owner);
    /* The connection is over; `error` is the socket's, or 0. The link is freed after it returns. */
    void (*ended)(struct iw_verbs_link *link, void *owner, int error);
    /* Of a listener that sniffs: takes over a connection of plain TCP. Returns false if it cannot
     * now. */
    bool (*plain)(void *owner, int fd);
};

struct iw_verbs_link {
    struct iw_connection *connection;
    struct iw_verbs_qp *qp;
    void *owner;
    const struct iw_verbs_link_ops *ops;
    uint32_t gathered; /* octets, and some for each request, that wait for the next poll */
    bool asked;        /* a message has come since the link last sent at the end of a series */
    bool established;
    bool parked;     /* over a fork, until one of the processes goes on */
    bool terminated; /* terminate is the peer's */
    struct iw_rdmap_terminate terminate;
    struct iw_tracer tracer;
    LIST_ENTRY(iw_verbs_link) entry;
};

/* What the two ends say when they connect. */
struct iw_verbs_parameters {
    const void *private_data;
    size_t private_length;
    uint8_t ird, ord;
};

/* Connects a queue pair over a socket of the owner's, which it takes over. Returns NULL with errno
 * set; the socket is then still the owner's. */
struct iw_verbs_link *iw_verbs_link_connect(struct iw_verbs_qp *qp, int fd,
                                            const struct sockaddr *to, socklen_t length,
                                            const struct iw_verbs_parameters *p,
                                            const struct iw_verbs_link_ops *ops, void *owner);
/* Listens on a socket that listens already and is taken over; each link that asks is passed to
 * ops->request with `owner`. At most `limit` connections at a time. `sniff` (ms; 0: no) is as in
 * struct iw_listener_config. *keep is memory that the caller frees once the listener is destroyed.
 */
struct iw_listener *iw_verbs_link_listen(int fd, unsigned limit, unsigned sniff,
                                         const struct iw_verbs_link_ops *ops, void *owner,
                                         void **keep);
/* Ends listening. Links that have not reached ops->request yet are dropped. */
void iw_verbs_link_stop(struct iw_listener *listener, void *owner);
/* Answers a request. Returns 0 or an errno; after an error the link may have ended. */
int iw_verbs_link_accept(struct iw_verbs_link *link, struct iw_verbs_qp *qp,
                         const struct iw_verbs_parameters *p);
int iw_verbs_link_reject(struct iw_verbs_link *link, const void *private_data, size_t length);
/* Closes gracefully: sends what is posted, then FIN. */
void iw_verbs_link_disconnect(struct iw_verbs_link *link);
/* The queue pair goes: no memory of the program's is touched any more. */
void iw_verbs_link_leave(struct iw_verbs_link *link);
/* Drops the connection at once, with a reset. The link is freed. */
void iw_verbs_link_destroy(struct iw_verbs_link *link);
/* Over a fork: the connection waits, in both processes, for one that goes on with it (unpark); the
 * other one parts from it without a word. The latter two return false without memory, and true if
 * it is not parked. */
void iw_verbs_link_park(struct iw_verbs_link *link);
bool iw_verbs_link_unpark(struct iw_verbs_link *link);
bool iw_verbs_link_part(struct iw_verbs_link *link);
/* Returns the endpoint, NULL if the connection is gone. */
struct iw_endpoint *iw_verbs_link_endpoint(const struct iw_verbs_link *link);
/* Sends what has been posted. */
void iw_verbs_link_flush(struct iw_verbs_link *link);
/* Sends what has been posted, `octets` more, or leaves it to the next poll if the program polls and
 * little waits: several posts then share a system call. */
void iw_verbs_link_gather(struct iw_verbs_link *link, uint64_t octets);

/* spare.c: messages that come before a receive is posted for them (spare_receives.h). */
bool iw_verbs_spares_make(struct iw_verbs_qp *qp);
uint32_t iw_verbs_spares_depth(const struct iw_verbs_qp *qp);
void iw_verbs_spares_reset(struct iw_verbs_qp *qp);
/* The endpoint has a message and no receive: gives it a spare one, if there is one left. */
void iw_verbs_spare_give(struct iw_verbs_qp *qp, struct iw_endpoint *ep);
/* Returns whether a completion is that of a spare one, and was taken. */
bool iw_verbs_spare_take(struct iw_verbs_qp *qp, const struct iw_completion *done);
/* Passes messages on to receives that are posted. Returns whether no spare one is in use: if one
 * is, the next receives are for what it has, and not for the endpoint. */
bool iw_verbs_spares_settle(struct iw_verbs_qp *qp);

#endif
