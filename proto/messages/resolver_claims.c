/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_claims.h"
#include "messages/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the index of the first claim whose number is not less. */
static size_t place_of(const struct iw_resolver_claims *c, uint32_t number)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->list[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct iw_resolver_claim *iw_resolver_claims_find(const struct iw_resolver_claims *c,
                                                  uint32_t number)
{
    const size_t i = place_of(c, number);
    return i < c->count && c->list[i].number == number ? &c->list[i] : NULL;
}

static int grow(struct iw_resolver_claims *c)
{
    const size_t room = c->room == 0 ? 16 : 2 * c->room;
    struct iw_resolver_claim *list = realloc(c->list, room * sizeof(*list));
    if (list == NULL)
        return -1;
    c->list = list;
    c->room = room;
    return 0;
}

struct iw_resolver_claim *iw_resolver_claims_add(struct iw_resolver_claims *c, uint32_t number)
{
    const size_t i = place_of(c, number);
    if (c->count == IW_RESOLVER_CLAIMS_MOST) {
        errno = ENOSPC;
        return NULL;
    }
    if (c->count == c->room && grow(c) != 0)
        return NULL;
    memmove(&c->list[i + 1], &c->list[i], (c->count - i) * sizeof(*c->list));
    c->count++;
    c->list[i] = (struct iw_resolver_claim){.number = number};
    return &c->list[i];
}

void iw_resolver_claims_remove(struct iw_resolver_claims *c, uint32_t number)
{
    const size_t i = place_of(c, number);
    c->count--;
    memmove(&c->list[i], &c->list[i + 1], (c->count - i) * sizeof(*c->list));
}

void iw_resolver_claims_close(struct iw_resolver_claims *c)
{
    free(c->list);
    *c = (struct iw_resolver_claims){0};
}
