/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds octets of a side that wait, in one block of the caller's that is as large as they need. */
#include <string.h>

#include "observer/observer_internal.h"

enum { STEP = 512 };

_Static_assert(sizeof(struct iw_stream) + IW_OBSERVER_WINDOW <= IW_OBSERVER_BLOCK,
               "the largest block is too small");

static size_t capacity(const struct iw_hold *h)
{
    return h->octets != NULL ? h->size - sizeof(*h->octets) : 0;
}

void iw_hold_drop(struct iw_observed_side *s)
{
    const struct iw_observer_config *config = &s->observer->config;

    if (s->hold.octets != NULL)
        config->give_back(config->context, s->hold.octets, s->hold.size);
    s->hold = (struct iw_hold){0};
}

/* Everything in `old` also fits in `fresh`. */
static void move(struct iw_stream *fresh, const struct iw_stream *old)
{
    for (size_t k = 0; k < iw_stream_islands(old); k++) {
        uint64_t pos;
        const uint8_t *octets;
        size_t length = iw_stream_island(old, k, &pos, &octets);
        (void)iw_stream_put(fresh, pos, octets, length);
    }
}

/* Makes room for `room` octets from s->next on, if the caller lends it. */
static void reserve(struct iw_observed_side *s, size_t room)
{
    const struct iw_observer_config *config = &s->observer->config;
    if (room <= capacity(&s->hold) || config->lend == NULL)
        return;
    size_t size = sizeof(struct iw_stream) + room;
    if (size < 2 * (size_t)s->hold.size)
        size = 2 * (size_t)s->hold.size;
    size = (size + STEP - 1) / STEP * STEP;
    if (size > IW_OBSERVER_BLOCK)
        size = IW_OBSERVER_BLOCK;
    struct iw_stream *fresh = config->lend(config->context, size);
    if (fresh == NULL)
        return;
    iw_stream_init(fresh, fresh + 1, size - sizeof(*fresh), s->next);
    if (s->hold.octets != NULL)
        move(fresh, s->hold.octets);
    iw_hold_drop(s);
    s->hold = (struct iw_hold){.octets = fresh, .size = (uint32_t)size};
}

size_t iw_hold_put(struct iw_observed_side *s, uint64_t pos, const uint8_t *octets, size_t length)
{
    uint64_t ahead = pos - s->next;

    if (ahead >= IW_OBSERVER_WINDOW || length == 0)
        return length;
    size_t room = IW_OBSERVER_WINDOW - (size_t)ahead, fits = room < length ? room : length;
    reserve(s, (size_t)ahead + fits);
    if (s->hold.octets == NULL)
        return length;
    return length - fits + iw_stream_put(s->hold.octets, pos, octets, fits);
}

void iw_hold_skip(struct iw_observed_side *s)
{
    if (s->hold.octets == NULL)
        return;
    iw_stream_skip(s->hold.octets, s->next);
    if (iw_stream_islands(s->hold.octets) == 0)
        iw_hold_drop(s);
}

struct iw_iov iw_hold_peek(const struct iw_observed_side *s)
{
    const uint8_t *octets = NULL;
    size_t length = s->hold.octets != NULL ? iw_stream_peek(s->hold.octets, &octets) : 0;

    return (struct iw_iov){.base = (void *)(uintptr_t)octets, .length = length};
}

uint64_t iw_hold_edge(const struct iw_observed_side *s)
{
    return s->next + iw_hold_peek(s).length;
}

uint64_t iw_hold_island(const struct iw_observed_side *s)
{
    const struct iw_stream *held = s->hold.octets;
    if (held == NULL || !iw_stream_gap(held))
        return UINT64_MAX;
    const uint8_t *octets;
    uint64_t pos;
    (void)iw_stream_island(held, iw_stream_peek(held, &octets) > 0 ? 1 : 0, &pos, &octets);
    return pos;
}
