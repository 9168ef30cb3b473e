/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include <string.h>

static uint32_t hash_stag(const struct iw_domain *d, uint32_t stag)
{
    return (stag * 2654435761u) & d->table_mask;
}

/* Returns the table slot of an STag, or the empty slot where it would go. */
static uint32_t find_slot(const struct iw_domain *d, uint32_t stag)
{
    uint32_t slot = hash_stag(d, stag);
    while (d->table[slot] != 0 && d->regions[d->table[slot] - 1].region.stag != stag)
        slot = (slot + 1) & d->table_mask;
    return slot;
}

struct iw_region *iw_domain_find(const struct iw_domain *d, uint32_t stag)
{
    uint32_t index = d->table[find_slot(d, stag)];
    return index == 0 ? NULL : &d->regions[index - 1].region;
}

void iw_domain_lock(const struct iw_domain *d)
{
    if (d->env.lock != NULL)
        d->env.lock(d->env.context);
}

void iw_domain_unlock(const struct iw_domain *d)
{
    if (d->env.unlock != NULL)
        d->env.unlock(d->env.context);
}

static uint32_t blocks_of(const struct iw_domain *d)
{
    return (d->limits.buffers + d->block - 1) / d->block;
}

/* Writes nothing to a buffer before it is lent, so that unused buffers take no memory of a system
 * that commits it on first touch. In a small pool each buffer is an allocation of its own, so that
 * tools notice a write past its end; in a large pool many share one, without a header each that
 * would be touched. */
static bool make_pool(struct iw_domain *d)
{
    const struct iw_env *env = &d->env;
    uint32_t count = d->limits.buffers;
    d->block = count > IW_DOMAIN_SMALL_POOL ? IW_DOMAIN_BLOCK : 1;
    if (count == 0)
        return true;
    d->idle = env->alloc(env->context, count * sizeof(*d->idle));
    d->blocks = env->alloc(env->context, blocks_of(d) * sizeof(*d->blocks));
    if (d->blocks != NULL)
        memset(d->blocks, 0, blocks_of(d) * sizeof(*d->blocks));
    if (d->idle == NULL || d->blocks == NULL)
        return false;
    for (uint32_t i = 0; i < blocks_of(d); i++) {
        d->blocks[i] = env->alloc(env->context, (size_t)d->block * IW_DOMAIN_BUFFER);
        if (d->blocks[i] == NULL)
            return false;
    }
    for (uint32_t i = count; i-- > 0;)
        d->idle[d->idle_count++] =
            d->blocks[i / d->block] + (size_t)(i % d->block) * IW_DOMAIN_BUFFER;
    return true;
}

static void free_pool(struct iw_domain *d)
{
    const struct iw_env *env = &d->env;
    for (uint32_t i = 0; d->blocks != NULL && i < blocks_of(d); i++)
        if (d->blocks[i] != NULL)
            env->free(env->context, d->blocks[i], (size_t)d->block * IW_DOMAIN_BUFFER);
    if (d->blocks != NULL)
        env->free(env->context, d->blocks, blocks_of(d) * sizeof(*d->blocks));
    if (d->idle != NULL)
        env->free(env->context, d->idle, d->limits.buffers * sizeof(*d->idle));
}

struct iw_domain *iw_domain_create(const struct iw_env *env, const struct iw_domain_limits *limits)
{
    if (limits->regions == 0 || limits->regions > IW_DOMAIN_REGIONS_MAX)
        return NULL;
    uint32_t slots = 4;
    while (slots < 2 * limits->regions)
        slots *= 2;

    struct iw_domain *d = env->alloc(env->context, sizeof(*d));
    if (d == NULL)
        return NULL;
    memset(d, 0, sizeof(*d));
    d->env = *env;
    d->limits = *limits;
    d->table_mask = slots - 1;
    d->regions = env->alloc(env->context, limits->regions * sizeof(*d->regions));
    d->table = env->alloc(env->context, slots * sizeof(*d->table));
    if (d->regions == NULL || d->table == NULL) {
        iw_domain_destroy(d);
        return NULL;
    }
    memset(d->table, 0, slots * sizeof(*d->table));
    if (!make_pool(d)) {
        iw_domain_destroy(d);
        return NULL;
    }
    return d;
}

void iw_domain_destroy(struct iw_domain *d)
{
    if (d == NULL)
        return;
    struct iw_env env = d->env;
    free_pool(d);
    if (d->table != NULL)
        env.free(env.context, d->table, (d->table_mask + (size_t)1) * sizeof(*d->table));
    if (d->regions != NULL)
        env.free(env.context, d->regions, d->limits.regions * sizeof(*d->regions));
    env.free(env.context, d, sizeof(*d));
}

const struct iw_env *iw_domain_env(const struct iw_domain *d)
{
    return &d->env;
}

uint32_t iw_domain_pd(struct iw_domain *d)
{
    iw_domain_lock(d);
    uint32_t pd = ++d->last_pd;
    iw_domain_unlock(d);
    return pd;
}

uint64_t iw_domain_stream(struct iw_domain *d)
{
    iw_domain_lock(d);
    uint64_t stream = ++d->last_stream;
    iw_domain_unlock(d);
    return stream;
}

/* RFC 5040 §8.1.1: hard to predict and spread over the whole range. */
static uint32_t fresh_stag(struct iw_domain *d)
{
    uint32_t stag = 0;
    do {
        d->env.random(d->env.context, &stag, sizeof(stag));
        /* A random source that repeats itself must not hang us: with time, this tries every value.
         */
        stag += d->stag_step++;
    } while (stag == 0 || iw_domain_find(d, stag) != NULL);
    return stag;
}

/* Puts a region with its STag into slot index - 1. */
static void settle(struct iw_domain *d, uint32_t index, struct iw_region *region, uint32_t parent)
{
    struct iw_region_slot *slot = &d->regions[index - 1];
    region->valid = true;
    slot->region = *region; /* NOLINT(clang-analyzer-core.NullDereference): the table is there */
    slot->parent = parent;
    slot->windows = 0;
    if (parent != 0)
        d->regions[parent - 1].windows++;
    d->table[find_slot(d, region->stag)] = index;
}

/* Finds a free slot and, unless `stag` names one, a fresh STag for a region. Returns false if the
 * table is full. */
static bool insert(struct iw_domain *d, struct iw_region *region, uint32_t parent, uint32_t stag)
{
    uint32_t index = d->free_region;
    if (index != 0)
        d->free_region =
            d->regions[index - 1].next_free; /* NOLINT(clang-analyzer-core.NullDereference) */
    else if (d->used_regions < d->limits.regions)
        index = ++d->used_regions;
    else
        return false;
    region->stag = stag != 0 ? stag : fresh_stag(d);
    settle(d, index, region, parent);
    return true;
}

static bool sums_wrap(const struct iw_region *region)
{
    uintptr_t first = (uintptr_t)region->base;
    return region->length > SIZE_MAX || region->guard > SIZE_MAX - region->length ||
           region->guard > first || region->length + region->guard > UINTPTR_MAX - first ||
           region->length > UINT64_MAX - region->to;
}

int iw_domain_register(struct iw_domain *d, struct iw_region *region)
{
    if (sums_wrap(region))
        return -2;
    iw_domain_lock(d);
    bool inserted = insert(d, region, 0, 0);
    iw_domain_unlock(d);
    return inserted ? 0 : -1;
}

int iw_domain_register_as(struct iw_domain *d, struct iw_region *region, uint32_t stag)
{
    if (sums_wrap(region))
        return -2;
    iw_domain_lock(d);
    bool taken = iw_domain_find(d, stag) != NULL;
    bool inserted = !taken && insert(d, region, 0, stag);
    iw_domain_unlock(d);
    return taken ? -4 : inserted ? 0 : -1;
}

int iw_domain_invalidate(struct iw_domain *d, uint32_t stag)
{
    iw_domain_lock(d);
    struct iw_region *region = iw_domain_find(d, stag);
    bool valid = region != NULL && region->valid;
    if (valid)
        region->valid = false;
    iw_domain_unlock(d);
    return valid ? 0 : -1;
}

/* Empties a slot of the linear-probing table and moves up entries that would become unreachable. */
static void remove_slot(struct iw_domain *d, uint32_t slot)
{
    uint32_t hole = slot;
    for (uint32_t i = (slot + 1) & d->table_mask; d->table[i] != 0; i = (i + 1) & d->table_mask) {
        uint32_t home = hash_stag(d, d->regions[d->table[i] - 1].region.stag);
        if (((i - home) & d->table_mask) >= ((i - hole) & d->table_mask)) {
            d->table[hole] = d->table[i];
            hole = i;
        }
    }
    d->table[hole] = 0;
}

/* Forgets the region that table slot `at` leads to. */
static void forget(struct iw_domain *d, uint32_t at)
{
    uint32_t index = d->table[at];
    struct iw_region_slot *slot = &d->regions[index - 1];
    remove_slot(d, at);
    if (slot->parent != 0)
        d->regions[slot->parent - 1].windows--;
    slot->next_free = d->free_region;
    d->free_region = index;
}

int iw_domain_deregister(struct iw_domain *d, uint32_t stag)
{
    iw_domain_lock(d);
    uint32_t at = find_slot(d, stag);
    int result = d->table[at] == 0 ? -1 : d->regions[d->table[at] - 1].windows > 0 ? -2 : 0;
    if (result == 0)
        forget(d, at);
    iw_domain_unlock(d);
    return result;
}

/* Returns whether `window` may be bound to `parent`, as iw_domain_bind says. */
static int bindable(const struct iw_region_slot *parent, const struct iw_region *window)
{
    enum { WRITES = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_ATOMIC };
    const struct iw_region *r = &parent->region;
    if (!r->valid || parent->parent != 0 || (r->access & IW_ACCESS_BIND) == 0 ||
        ((window->access & WRITES) != 0 && (r->access & IW_ACCESS_LOCAL_WRITE) == 0) ||
        (window->access & (IW_ACCESS_LOCAL_WRITE | IW_ACCESS_BIND)) != 0)
        return -3;
    if (window->to < r->to || window->to - r->to > r->length ||
        window->length > r->length - (window->to - r->to))
        return -2;
    return 0;
}

/* Moves a window to another place: with a fresh STag, drawn while the old one still counts as used.
 */
static void rebind(struct iw_domain *d, uint32_t at, struct iw_region *window, uint32_t parent,
                   uint32_t stag)
{
    uint32_t index = d->table[at];
    window->stag = stag != 0 ? stag : fresh_stag(d);
    remove_slot(d, at);
    d->regions[d->regions[index - 1].parent - 1].windows--;
    settle(d, index, window, parent);
}

int iw_domain_bind(struct iw_domain *d, uint32_t parent, struct iw_region *window)
{
    return iw_domain_bind_as(d, parent, window, 0);
}

int iw_domain_bind_as(struct iw_domain *d, uint32_t parent, struct iw_region *window, uint32_t stag)
{
    iw_domain_lock(d);
    uint32_t index = d->table[find_slot(d, parent)], at = find_slot(d, window->stag);
    bool again = window->stag != 0;
    bool known = d->table[at] != 0 && d->regions[d->table[at] - 1].parent != 0;
    int result = index == 0 || (again && !known) ? -3 : bindable(&d->regions[index - 1], window);
    if (result == 0 && stag != 0 && stag != window->stag && iw_domain_find(d, stag) != NULL)
        result = -4;
    if (result == 0) {
        const struct iw_region *r = &d->regions[index - 1].region;
        window->base = r->base + (size_t)(window->to - r->to);
        window->guard = r->guard;
        window->pd = r->pd;
        if (again)
            rebind(d, at, window, index, stag);
        else if (!insert(d, window, index, stag))
            result = -1;
    }
    iw_domain_unlock(d);
    return result;
}

bool iw_domain_lookup(struct iw_domain *d, uint32_t stag, struct iw_region *out)
{
    iw_domain_lock(d);
    const struct iw_region *region = iw_domain_find(d, stag);
    if (region != NULL)
        *out = *region;
    iw_domain_unlock(d);
    return region != NULL;
}

void *iw_domain_borrow(struct iw_domain *d)
{
    iw_domain_lock(d);
    void *buffer = d->idle_count > 0 ? d->idle[--d->idle_count] : NULL;
    iw_domain_unlock(d);
    return buffer;
}

void iw_domain_return(struct iw_domain *d, void *buffer)
{
    iw_domain_lock(d);
    d->idle[d->idle_count++] = buffer;
    iw_domain_unlock(d);
}
