/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_MESSAGE_INTERNAL_H
#define IW_MESSAGES_MESSAGE_INTERNAL_H

/*
 * What the files of this room share. From the program to the wire: a service's message waits in the
 * route of its number until that has a peer (another process), gets the next sequence number of the
 * peer when its window has room, and leaves by the peer's link (a connection). One mutex guards all
 * of it but the pool. Whoever waits drives (message_progress.c); what is called from there is
 * called with the mutex held.
 */

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "iwarp/messages.h"
#include "messages/buffer_pool.h"
#include "messages/message_wire.h"
#include "messages/resolver.h"
#include "messages/taken.h"

enum {
    IW_LINK_RECEIVES = 96, /* posted on a connection */
    IW_LINK_STATE = 32,    /* receives granted since the last header: a STATE is due */
    IW_LINK_RESERVE = 4,   /* credits that messages leave to STATEs, the last to due ones */
    IW_LINK_SENDS = 192,   /* requests of a send queue */
    IW_LINKS_MORE = 16,    /* that are made or ended, beside the bound */
    IW_LINK_LOANS = 4,     /* buffers lent each way */
    IW_LINK_FETCHES = 4,   /* messages that are fetched from one peer at a time */
    IW_PEER_STATE = 16,    /* messages done with since the last header: a STATE is due */
    IW_PEERS_MOST = 4096,
    IW_PEER_KEEP_S = 600, /* an idle peer's sequence numbers are known for so long */
    IW_CHUNK_LEAST = 4 << 20,
    IW_AHEAD_LEAST = 64 << 10, /* a buffer that is lent before it is asked for: 64 KiB, 256 KiB, */
    IW_AHEAD_MOST = 4 << 20,   /* 1 MiB or 4 MiB */
    IW_AHEAD_SHARE = 8,        /* that much of the pool, at most, is lent when one is */
    IW_CHUNKS_MOST = 32,       /* Writes or Reads of one piece */
    IW_TABLE = 1024,           /* lists of a table of services, routes or peers */
    IW_TICK_MS = 5,
    IW_SERVICES_MOST = 65536,
    IW_TIMEOUT_MOST_MS = 300000 /* well below IW_PEER_KEEP_S */
};

/* A message on its way out. The service and the route are found by their numbers. */
struct iw_outgoing {
    TAILQ_ENTRY(iw_outgoing) entry; /* of a route, a peer's window or waiting, or reports */
    struct iw_route *route;
    uint64_t service; /* its id: it may have been shut */
    uint32_t from, to, length;
    unsigned flags; /* IW_MESSAGES_* */
    uint64_t tag, order, sequence, deadline;
    struct iw_buffer *frame; /* header, and payload or pieces */
    struct iw_buffer *pieces[IW_MESSAGES_PIECES];
    uint32_t lengths[IW_MESSAGES_PIECES];
    unsigned count;
    unsigned posted; /* requests that name its memory */
    bool transmitted, refused, finished, reported;
    int error;
};
TAILQ_HEAD(iw_outgoings, iw_outgoing);

/* A message that has come, or is being fetched. */
struct iw_incoming {
    TAILQ_ENTRY(iw_incoming) entry; /* of a peer's arrivals or a service's queue */
    struct iw_peer *peer;
    struct iw_link *link; /* while it is fetched */
    struct iw_buffer *buffer;
    uint64_t sequence;
    uint32_t from, to, length;
    bool ask, complete, abandoned, failed;
    unsigned reads, count; /* Reads outstanding; pieces */
    struct iw_message_piece *pieces;
};
TAILQ_HEAD(iw_incomings, iw_incoming);

struct iw_service {
    struct iw_messages *m;
    struct iw_service *chain;
    uint64_t id;
    uint32_t number;
    struct iw_incomings queue;
    struct iw_outgoings reports;
    unsigned queued; /* messages in `queue` */
    uint64_t sent, received;
    unsigned open; /* messages without a fate */
    unsigned held; /* those, and reports that were not received */
    int descriptor;
    bool claimed;
    bool readable; /* what the descriptor says */
};

struct iw_route {
    struct iw_route *chain;
    TAILQ_ENTRY(iw_route) entry; /* of those that have messages and no peer */
    bool listed, placed;
    uint32_t number;
    struct sockaddr_storage at; /* of the table, if placed */
    struct iw_peer *peer;
    struct iw_link *attempt;
    uint64_t asked; /* the instance that the resolver named, or 0 */
    struct iw_outgoings queue;
    struct iw_peer *last; /* the peer that has `open` messages of this route */
    unsigned open;
    uint64_t retry;
};

struct iw_peer {
    struct iw_peer *chain;
    uint64_t instance;
    struct sockaddr_storage address; /* where it listens; family 0: not known */
    struct iw_link *link;            /* that messages leave by */
    struct iw_link *attempt;
    uint64_t next; /* sequence number */
    uint64_t last; /* the last sequence number that a connection has had */
    struct iw_outgoings window, waiting;
    struct iw_outgoing *unsent; /* first of the window that this link has not sent */
    struct iw_message_state heard;
    struct iw_taken taken;
    struct iw_incomings arrivals;
    unsigned arrived; /* incoming ones that name this peer */
    unsigned owed;    /* done with since the last header */
    uint64_t lost, retry, used;
    uint32_t longest;
    uint64_t sent, sent_octets, received, received_octets;
    bool dead, gone; /* given up; for good, since nobody listens there */
};

struct iw_loan {
    struct iw_buffer *buffer; /* ours, lent; NULL: none */
    uint32_t id;
    struct iw_message_piece piece; /* the peer's; length 0: none */
};

enum iw_link_state { IW_LINK_BEGUN, IW_LINK_ACCEPTED, IW_LINK_UP, IW_LINK_ENDED };

struct iw_link {
    TAILQ_ENTRY(iw_link) entry;
    struct iw_messages *m;
    struct rdma_cm_id *id;
    enum iw_link_state state;
    bool qp, synced, ending, refused, wrong;
    struct sockaddr_storage to;
    struct iw_peer *peer;
    struct iw_message_greeting greeting; /* the peer's */
    uint32_t granted, stated, may_send, sent;
    unsigned receives, sends; /* posted */
    unsigned fetches;
    uint64_t came;           /* of its SYNC */
    struct iw_buffer *early; /* what came before the event that the connection is made: its SYNC */
    uint64_t heard, asked, used, begun; /* ns */
    struct iw_loan lent[IW_LINK_LOANS], borrowed[IW_LINK_LOANS];
    uint32_t next_loan;
};

enum iw_work_kind { IW_WORK_RECEIVE, IW_WORK_CONTROL, IW_WORK_MESSAGE, IW_WORK_READ };

/* What the id of a request names. */
struct iw_work_item {
    enum iw_work_kind kind;
    struct iw_link *link;
    union {
        struct iw_buffer *buffer;
        struct iw_outgoing *outgoing;
        struct iw_incoming *incoming;
        struct iw_work_item *free;
    } of;
};

enum { IW_WORK_CHUNK = 256 };
struct iw_work_chunk {
    struct iw_work_chunk *next;
    struct iw_work_item items[IW_WORK_CHUNK];
};

struct iw_messages {
    pthread_mutex_t mutex;
    pthread_cond_t changed, background;
    pthread_t thread;
    bool running, driving, thread_drives, closing, deep, ending;
    unsigned waiting;       /* threads of the program in iw_progress_wait() */
    uint64_t waits, sleeps; /* how many; until when the driver does (ns) */
    int kick;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct sockaddr_storage address;
    struct ibv_pd *pd;
    struct ibv_comp_channel *completions;
    struct ibv_cq *cq;
    struct iw_pool pool;
    uint64_t instance, order, service_ids, ticked;
    uint64_t timeout, spin; /* ns */
    int connections;
    unsigned links_up, links_all, peers_known;
    uint8_t reads; /* RDMA Reads under way on a connection: IRD and ORD */
    struct iw_service *services[IW_TABLE];
    struct iw_route *routes[IW_TABLE];
    struct iw_peer *peers[IW_TABLE];
    TAILQ_HEAD(, iw_route) unrouted;
    TAILQ_HEAD(, iw_link) links;
    struct {
        uint32_t number;
        uint64_t instance;
    } learned[IW_TABLE]; /* from whom messages have come */
    struct iw_work_item *free_work;
    struct iw_work_chunk *work;
    struct iw_messages_counts counts;
    bool trusts_senders; /* a number may be answered where its message came from */
    struct iw_resolver *resolver;
    void (*notice)(void *context, uint32_t number, enum iw_messages_notice what);
    void *context;
    atomic_bool resolved; /* it has news */
    int status;           /* where its state is asked for; -1: nowhere */
    uint64_t status_due;  /* from then on (ns) */
};

uint64_t iw_progress_now(void); /* ns */
/* How long ago that was; 0 if it came after `now` was asked for. */
static inline uint64_t iw_progress_since(uint64_t now, uint64_t then)
{
    return then < now ? now - then : 0;
}
/* Handles what has happened. Returns true if that was something. */
bool iw_progress_step(struct iw_messages *m);
/* Handles what has completed. Returns true if that was something. */
bool iw_progress_poll(struct iw_messages *m);
/* Waits until something may have happened, at most until `deadline` (ns of iw_progress_now). */
void iw_progress_wait(struct iw_messages *m, uint64_t deadline);
/* Ends a wait. */
void iw_progress_kick(struct iw_messages *m);
/* Sees to it that nobody sleeps through the next tick. */
void iw_progress_due(struct iw_messages *m);
void *iw_progress_thread(void *messages);

struct iw_service *iw_service_find(struct iw_messages *m, uint32_t number);
/* Queues what has come for a service. */
void iw_service_come(struct iw_service *s, struct iw_incoming *in);
/* Gives an outgoing message its fate: 0, or errno of the report. Takes it. */
void iw_service_fate(struct iw_messages *m, struct iw_outgoing *o, int error);
/* Frees it if nothing needs it any more. */
void iw_outgoing_free(struct iw_messages *m, struct iw_outgoing *o);

struct iw_route *iw_route_get(struct iw_messages *m, uint32_t number);
/* Queues a message by its order, and moves what can be moved. */
void iw_route_queue(struct iw_messages *m, struct iw_outgoing *o);
void iw_route_push(struct iw_messages *m, struct iw_route *r);
/* A message of this route has left the peer. */
void iw_route_done(struct iw_messages *m, struct iw_outgoing *o);
/* The attempt has found a peer, or failed (NULL). */
void iw_route_attempted(struct iw_messages *m, struct iw_link *link, struct iw_peer *peer);
/* This peer does not have the number, or does not live. */
void iw_route_forget(struct iw_messages *m, struct iw_route *r, uint64_t instance);
void iw_route_drop(struct iw_messages *m, struct iw_peer *peer);
void iw_route_tick(struct iw_messages *m, uint64_t now);
void iw_route_learn(struct iw_messages *m, uint32_t number, uint64_t instance);

struct iw_peer *iw_peer_find(struct iw_messages *m, uint64_t instance);
struct iw_peer *iw_peer_get(struct iw_messages *m, uint64_t instance);
void iw_peer_queue(struct iw_messages *m, struct iw_peer *p, struct iw_outgoing *o);
/* Sends what can be sent. */
void iw_peer_pump(struct iw_messages *m, struct iw_peer *p);
void iw_peer_up(struct iw_messages *m, struct iw_link *link);
void iw_peer_down(struct iw_messages *m, struct iw_link *link);
void iw_peer_failed(struct iw_messages *m, struct iw_peer *p, bool refused);

/* Handles what has come on a link. Takes the buffer. Returns NULL or what was wrong. */
const char *iw_peer_receive(struct iw_link *link, struct iw_buffer *b, size_t length);
/* Delivers arrivals, in order. */
void iw_peer_deliver(struct iw_messages *m, struct iw_peer *p);
/* Notes that one was taken or refused, and frees it; its buffer is the caller's. */
void iw_peer_done(struct iw_messages *m, struct iw_incoming *in, bool refused);
void iw_peer_tick(struct iw_messages *m, uint64_t now);
void iw_peer_forget_all(struct iw_messages *m);

struct iw_link *iw_link_connect(struct iw_messages *m, const struct sockaddr_storage *to);
/* Handles one event of rdma_cm. Returns false if there is none. */
bool iw_link_event(struct iw_messages *m);
void iw_link_complete(struct iw_messages *m, const struct ibv_wc *wc);
/* Sends a header of this type, with what follows it in `more`. Returns false without a credit. */
bool iw_link_control(struct iw_link *link, enum iw_message_type type, unsigned flags,
                     const struct iw_message_header *extra, const struct iw_message_piece *piece);
/* Sends a message, if the link has room for it. */
bool iw_link_send(struct iw_link *link, struct iw_outgoing *o, bool ask);
/* Ends a connection; what follows from that is done by iw_link_reap(). */
void iw_link_end(struct iw_link *link);
void iw_link_tick(struct iw_messages *m, uint64_t now);
/* Destroys what has ended, and returns true if nothing is left. */
bool iw_link_reap(struct iw_messages *m, bool all);
/* Makes the queue pair and posts its receives. */
bool iw_link_prepare(struct iw_link *link);
void iw_link_up(struct iw_link *link);
bool iw_link_post(struct iw_link *link, enum iw_work_kind kind, void *object,
                  struct ibv_send_wr *wr);

/* What others see of this end. Nobody is in the way: without the socket nobody sees anything. */
void iw_status_open(struct iw_messages *m);
/* Answers one that has connected. */
void iw_status_answer(struct iw_messages *m);

/* Long messages. */
bool iw_long_send(struct iw_link *link, struct iw_outgoing *o, struct iw_message_header *h);
void iw_long_fetch(struct iw_messages *m, struct iw_peer *p);
void iw_long_read(struct iw_incoming *in, bool ok);
const char *iw_long_loan(struct iw_link *link, const struct iw_message_header *h,
                         const uint8_t *octets);
struct iw_buffer *iw_long_written(struct iw_link *link, const struct iw_message_header *h);
void iw_long_lend(struct iw_messages *m, struct iw_buffer *b);
/* Lends a fresh buffer for a message of `length` octets, if the peer has none that is as long.
 * Returns true if it did: the peer has been sent the state. */
bool iw_long_lend_ahead(struct iw_link *link, size_t length);
void iw_long_end(struct iw_link *link);

#endif
