/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_BUFFER_POOL_H
#define IW_MESSAGES_BUFFER_POOL_H

/*
 * Buffers for messages. Small ones have room for a header and a short message, and share a
 * registered region for 64 of them, which no peer can reach. Large ones are pages of their own, in
 * sizes of four steps to each power of two, and are kept when they are free until the bound asks
 * for their memory. They are registered when that is needed, because the system may limit how much
 * memory is locked: what waits in a queue counts only against the pool's own bound. A buffer is
 * registered for a peer only while it is offered. All functions may be called by several threads.
 */

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IW_POOL_HEADER = 64,  /* octets before the data of a small buffer */
    IW_POOL_SMALL = 4096, /* octets of data of a small buffer */
    IW_POOL_SLAB = 64,    /* small buffers of one region */
    IW_POOL_SIZES = 96    /* size classes; 0 is that of small buffers */
};

/* What a buffer is offered to a peer for. */
enum iw_pool_use {
    IW_POOL_ANNOUNCED, /* to be read */
    IW_POOL_FETCHED,   /* to be filled by Reads of this end: the peer's responses are writes */
    IW_POOL_LENT,      /* to be written */
    IW_POOL_USES
};

struct iw_buffer {
    uint8_t *data;
    size_t room;       /* octets at `data` */
    size_t whole;      /* large: octets that are mapped */
    struct ibv_mr *mr; /* with local rights; small ones share it; large: NULL until it is needed */
    struct ibv_mr *offered;
    enum iw_pool_use use; /* if it is offered */
    size_t offered_octets;
    bool lent_out;   /* handed out by iw_pool_get() */
    uint64_t origin; /* what iw_messages_return() lends it to: a peer's instance, or 0 */
    unsigned size;   /* its class */
    size_t length;   /* of its user: octets that count */
    struct iw_buffer *next, *chain;
};

struct iw_slab {
    uint8_t *memory;
    struct ibv_mr *mr;
    struct iw_slab *next;
    struct iw_buffer buffers[IW_POOL_SLAB];
};

struct iw_pool {
    pthread_mutex_t mutex;
    struct ibv_pd *pd; /* borrowed */
    size_t most, octets;
    size_t lockable; /* octets that may be registered; SIZE_MAX: no limit */
    size_t slab_octets;
    size_t offered[IW_POOL_USES]; /* octets */
    struct iw_buffer *free[IW_POOL_SIZES];
    struct iw_slab *slabs;
    struct iw_buffer **table; /* by address of data */
    size_t buckets, count;
};

/* Makes a pool of at most `most` octets. If no more than `lockable` octets may be registered
 * (SIZE_MAX: there is no limit) it keeps to shares of that, so that two ends with messages for each
 * other cannot lock all they have before either has read one: half for small buffers, an eighth for
 * what is announced and an eighth for what is lent. Returns 0, or -1 with errno. */
int iw_pool_open(struct iw_pool *p, struct ibv_pd *pd, size_t most, size_t lockable);
/* Returns the octets of the longest buffer that can be offered. */
size_t iw_pool_longest(const struct iw_pool *p);
/* Returns whether so many more octets may be offered for this. */
bool iw_pool_has_share(struct iw_pool *p, enum iw_pool_use use, size_t length);
/* Returns how many octets are offered for this. */
size_t iw_pool_offered(struct iw_pool *p, enum iw_pool_use use);
/* Frees it and all of its buffers. */
void iw_pool_close(struct iw_pool *p);

/* Returns a buffer with room for `length` octets, or NULL with errno ENOMEM. */
struct iw_buffer *iw_pool_get(struct iw_pool *p, size_t length);
/* Puts a buffer back; it is offered to nobody afterwards. NULL is allowed. */
void iw_pool_put(struct iw_pool *p, struct iw_buffer *b);
/* Returns the buffer whose data begins here and which has been handed out, or NULL. */
struct iw_buffer *iw_pool_find(struct iw_pool *p, const void *data);

/* Registers a large buffer for requests of its own end, once. Returns 0, or -1 with errno. */
int iw_pool_register(struct iw_pool *p, struct iw_buffer *b);
/* Registers the first `length` octets of a large buffer for a peer. Returns 0, or -1 with errno. */
int iw_pool_offer(struct iw_pool *p, struct iw_buffer *b, size_t length, enum iw_pool_use use);
/* Ends what iw_pool_offer has begun: the peer has no access to the buffer afterwards. */
void iw_pool_withdraw(struct iw_pool *p, struct iw_buffer *b);

#endif
