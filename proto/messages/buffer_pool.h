/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_BUFFER_POOL_H
#define IW_MESSAGES_BUFFER_POOL_H

/*
 * Buffers of registered memory. Small ones have room for a header and a short message, and share a
 * region for 64 of them, which no peer can reach. Large ones are pages of their own, in sizes of
 * four steps to each power of two, and are kept when they are free until the bound asks for their
 * memory. A buffer is registered for a peer only while it is offered. All functions may be called
 * by several threads.
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

struct iw_buffer {
    uint8_t *data;
    size_t room;       /* octets at `data` */
    size_t whole;      /* large: octets that are mapped */
    struct ibv_mr *mr; /* with local rights; small ones share it */
    struct ibv_mr *offered;
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
    struct iw_buffer *free[IW_POOL_SIZES];
    struct iw_slab *slabs;
    struct iw_buffer **table; /* by address of data */
    size_t buckets, count;
};

/* Makes a pool of at most `most` octets. Returns 0, or -1 with errno. */
int iw_pool_open(struct iw_pool *p, struct ibv_pd *pd, size_t most);
/* Frees it and all of its buffers. */
void iw_pool_close(struct iw_pool *p);

/* Returns a buffer with room for `length` octets, or NULL with errno ENOMEM. */
struct iw_buffer *iw_pool_get(struct iw_pool *p, size_t length);
/* Puts a buffer back; it is offered to nobody afterwards. NULL is allowed. */
void iw_pool_put(struct iw_pool *p, struct iw_buffer *b);
/* Returns the buffer whose data begins here and which has been handed out, or NULL. */
struct iw_buffer *iw_pool_find(struct iw_pool *p, const void *data);

/* Registers the first `length` octets of a large buffer for a peer (IBV_ACCESS_REMOTE_*, and
 * IBV_ACCESS_LOCAL_WRITE with a write). Returns 0, or -1 with errno. */
int iw_pool_offer(struct iw_pool *p, struct iw_buffer *b, size_t length, unsigned rights);
/* Ends that. */
void iw_pool_withdraw(struct iw_buffer *b);

#endif
