/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/buffer_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SLOT = IW_POOL_HEADER + IW_POOL_SMALL,
    LEAST = 4 * IW_POOL_SMALL, /* of a large buffer */
    BUCKETS = 256,             /* at first */
    HUGE_PAGE = 2 << 20
};

static size_t bucket(const struct iw_pool *p, const void *data)
{
    return (size_t)(((uintptr_t)data >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (p->buckets - 1);
}

static bool grow(struct iw_pool *p)
{
    struct iw_buffer **old = p->table;
    const size_t had = p->buckets;
    struct iw_buffer **table = calloc(had == 0 ? BUCKETS : 2 * had, sizeof(struct iw_buffer *));
    if (table == NULL)
        return had > 0; /* the old table still finds everything */
    p->table = table;
    p->buckets = had == 0 ? BUCKETS : 2 * had;
    for (size_t i = 0; i < had; i++)
        for (struct iw_buffer *b = old[i], *next; b != NULL; b = next) {
            next = b->chain;
            const size_t at = bucket(p, b->data);
            b->chain = table[at];
            table[at] = b;
        }
    free(old);
    return true;
}

static void enter(struct iw_pool *p, struct iw_buffer *b)
{
    if (p->count >= p->buckets)
        grow(p);
    const size_t at = bucket(p, b->data);
    b->chain = p->table[at];
    p->table[at] = b;
    p->count++;
}

static void leave(struct iw_pool *p, struct iw_buffer *b)
{
    struct iw_buffer **at = &p->table[bucket(p, b->data)];
    while (*at != b)
        at = &(*at)->chain;
    *at = b->chain;
    p->count--;
}

int iw_pool_open(struct iw_pool *p, struct ibv_pd *pd, size_t most, size_t lockable)
{
    *p = (struct iw_pool){.pd = pd, .most = most, .lockable = lockable};
    if (!grow(p)) {
        errno = ENOMEM;
        return -1;
    }
    pthread_mutex_init(&p->mutex, NULL);
    return 0;
}

static void forget_region(struct iw_buffer *b)
{
    if (b->mr != NULL)
        ibv_dereg_mr(b->mr);
    b->mr = NULL;
}

static void withdraw(struct iw_pool *p, struct iw_buffer *b)
{
    if (b->offered == NULL)
        return;
    ibv_dereg_mr(b->offered);
    b->offered = NULL;
    p->offered[b->use] -= b->offered_octets;
}

static void unmap(struct iw_pool *p, struct iw_buffer *b)
{
    leave(p, b);
    withdraw(p, b);
    forget_region(b);
    munmap(b->data, b->whole);
    p->octets -= b->whole;
    free(b);
}

void iw_pool_close(struct iw_pool *p)
{
    for (size_t i = 0; i < p->buckets; i++)
        for (struct iw_buffer *b = p->table[i], *next; b != NULL; b = next) {
            next = b->chain;
            if (b->size > 0)
                unmap(p, b);
        }
    for (struct iw_slab *s = p->slabs, *next; s != NULL; s = next) {
        next = s->next;
        ibv_dereg_mr(s->mr);
        free(s->memory);
        free(s);
    }
    free(p->table);
    pthread_mutex_destroy(&p->mutex);
}

/* Class and size of a large buffer for so many octets: 16 KiB, 20, 24, 28, 32, 40, ... */
static unsigned size_class(size_t length, size_t *room)
{
    size_t power = LEAST;
    unsigned size = 1;
    for (;; power *= 2)
        for (size_t quarter = 0; quarter < 4; quarter++, size++)
            if (power + quarter * (power / 4) >= length) {
                *room = power + quarter * (power / 4);
                return size;
            }
}

/* Frees memory until `need` more octets fit. Returns false if they never do. */
static bool make_room(struct iw_pool *p, size_t need)
{
    for (unsigned size = IW_POOL_SIZES - 1; size > 0 && p->octets + need > p->most; size--)
        while (p->free[size] != NULL && p->octets + need > p->most) {
            struct iw_buffer *b = p->free[size];
            p->free[size] = b->next;
            unmap(p, b);
        }
    return need <= p->most && p->octets <= p->most - need;
}

/* Registers memory; if it must not be locked, without that of free buffers. */
static struct ibv_mr *region(struct iw_pool *p, void *memory, size_t length, unsigned rights)
{
    struct ibv_mr *mr = ibv_reg_mr(p->pd, memory, length, rights);
    if (mr != NULL)
        return mr;
    for (unsigned size = 1; size < IW_POOL_SIZES; size++)
        for (struct iw_buffer *b = p->free[size]; b != NULL; b = b->next)
            forget_region(b);
    return ibv_reg_mr(p->pd, memory, length, rights);
}

static bool add_slab(struct iw_pool *p)
{
    const size_t octets = (size_t)IW_POOL_SLAB * SLOT;
    if (p->lockable / 2 < p->slab_octets + octets)
        return false;
    struct iw_slab *s = make_room(p, octets) ? calloc(1, sizeof(*s)) : NULL;
    if (s == NULL)
        return false;
    s->memory = aligned_alloc(64, octets);
    s->mr = s->memory != NULL ? region(p, s->memory, octets, IBV_ACCESS_LOCAL_WRITE) : NULL;
    if (s->mr == NULL) {
        free(s->memory);
        free(s);
        return false;
    }
    memset(s->memory, 0, octets); /* no octet that was never written leaves with a message */
    p->octets += octets;
    p->slab_octets += octets;
    s->next = p->slabs;
    p->slabs = s;
    for (size_t i = 0; i < IW_POOL_SLAB; i++) {
        struct iw_buffer *b = &s->buffers[i];
        b->data = s->memory + i * SLOT + IW_POOL_HEADER;
        b->room = IW_POOL_SMALL;
        b->mr = s->mr;
        b->next = p->free[0];
        p->free[0] = b;
        enter(p, b);
    }
    return true;
}

static bool add_large(struct iw_pool *p, unsigned size, size_t room)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole = (room + page - 1) / page * page;
    struct iw_buffer *b = make_room(p, whole) ? calloc(1, sizeof(*b)) : NULL;
    if (b == NULL)
        return false;
    void *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        free(b);
        return false;
    }
    if (whole >= HUGE_PAGE)
        madvise(memory, whole, MADV_HUGEPAGE);
    b->data = memory;
    b->room = room;
    b->whole = whole;
    b->size = size;
    p->octets += whole;
    b->next = p->free[size];
    p->free[size] = b;
    enter(p, b);
    return true;
}

struct iw_buffer *iw_pool_get(struct iw_pool *p, size_t length)
{
    size_t room = IW_POOL_SMALL;
    const unsigned size = length > IW_POOL_SMALL ? size_class(length, &room) : 0;
    pthread_mutex_lock(&p->mutex);
    struct iw_buffer *b = NULL;
    if (size < IW_POOL_SIZES &&
        (p->free[size] != NULL || (size == 0 ? add_slab(p) : add_large(p, size, room)))) {
        b = p->free[size];
        p->free[size] = b->next;
        b->next = NULL;
        b->lent_out = true;
        b->origin = 0;
        b->length = 0;
    }
    pthread_mutex_unlock(&p->mutex);
    if (b == NULL)
        errno = ENOMEM;
    return b;
}

void iw_pool_put(struct iw_pool *p, struct iw_buffer *b)
{
    if (b == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    withdraw(p, b);
    if (b->size > 0 && p->lockable != SIZE_MAX)
        forget_region(b); /* its next user may have it wait in a queue */
    b->lent_out = false;
    b->next = p->free[b->size];
    p->free[b->size] = b;
    pthread_mutex_unlock(&p->mutex);
}

struct iw_buffer *iw_pool_find(struct iw_pool *p, const void *data)
{
    pthread_mutex_lock(&p->mutex);
    struct iw_buffer *b = p->table[bucket(p, data)];
    while (b != NULL && b->data != data)
        b = b->chain;
    if (b != NULL && !b->lent_out)
        b = NULL;
    pthread_mutex_unlock(&p->mutex);
    return b;
}

int iw_pool_register(struct iw_pool *p, struct iw_buffer *b)
{
    if (b->mr != NULL)
        return 0;
    pthread_mutex_lock(&p->mutex);
    b->mr = region(p, b->data, b->whole, IBV_ACCESS_LOCAL_WRITE);
    pthread_mutex_unlock(&p->mutex);
    return b->mr != NULL ? 0 : -1;
}

size_t iw_pool_longest(const struct iw_pool *p)
{
    return p->lockable == SIZE_MAX ? SIZE_MAX : p->lockable / 8;
}

static bool has_share(const struct iw_pool *p, enum iw_pool_use use, size_t length)
{
    if (use == IW_POOL_FETCHED || (use == IW_POOL_ANNOUNCED && p->offered[use] == 0))
        return true;
    return length <= iw_pool_longest(p) && p->offered[use] <= iw_pool_longest(p) - length;
}

bool iw_pool_has_share(struct iw_pool *p, enum iw_pool_use use, size_t length)
{
    pthread_mutex_lock(&p->mutex);
    const bool has = has_share(p, use, length);
    pthread_mutex_unlock(&p->mutex);
    return has;
}

size_t iw_pool_offered(struct iw_pool *p, enum iw_pool_use use)
{
    pthread_mutex_lock(&p->mutex);
    const size_t octets = p->offered[use];
    pthread_mutex_unlock(&p->mutex);
    return octets;
}

/* iWARP places Read Responses by the rights of a peer's Write (RFC 5040 §5.2). */
static const unsigned rights[IW_POOL_USES] = {
    [IW_POOL_ANNOUNCED] = IBV_ACCESS_REMOTE_READ,
    [IW_POOL_FETCHED] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
    [IW_POOL_LENT] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

int iw_pool_offer(struct iw_pool *p, struct iw_buffer *b, size_t length, enum iw_pool_use use)
{
    pthread_mutex_lock(&p->mutex);
    withdraw(p, b);
    b->offered = ibv_reg_mr(p->pd, b->data, length, rights[use]);
    if (b->offered == NULL) {
        forget_region(b);
        b->offered = region(p, b->data, length, rights[use]);
    }
    if (b->offered != NULL) {
        b->use = use;
        b->offered_octets = length;
        p->offered[use] += length;
    }
    pthread_mutex_unlock(&p->mutex);
    return b->offered != NULL ? 0 : -1;
}

void iw_pool_withdraw(struct iw_pool *p, struct iw_buffer *b)
{
    pthread_mutex_lock(&p->mutex);
    withdraw(p, b);
    pthread_mutex_unlock(&p->mutex);
}
