/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

#include <stdlib.h>

struct range_region *range_region_find(struct range_conn *c, uint32_t stag)
{
    for (unsigned i = 0; i < RANGE_REGIONS; i++)
        if (c->regions[i].valid && c->regions[i].stag == stag)
            return &c->regions[i];
    return NULL;
}

static uint64_t base_of(const struct range_conn *c, const struct range_region *r)
{
    return RANGE_TO(r - c->regions);
}

bool range_region_holds(const struct range_conn *c, const struct range_region *r, uint64_t to,
                        uint64_t length)
{
    uint64_t base = base_of(c, r);
    return to >= base && to - base <= r->length && length <= r->length - (to - base);
}

size_t range_region_offset(const struct range_conn *c, const struct range_region *r, uint64_t to)
{
    return (size_t)(to - base_of(c, r));
}

void range_region_invalidate(struct range_region *r)
{
    free(r->data);
    if (range_bug(RANGE_BUG_USE_INVALIDATED)) {
        r->freed = true;
        return;
    }
    r->data = NULL;
    r->valid = false;
}
