/* SPDX-License-Identifier: BSD-3-Clause */
#include "recent.h"

#include <string.h>

void iw_hunt_recent_add(struct iw_hunt_recent *r, struct iw_hunt_input *input, uint64_t number)
{
    size_t at = r->added++ % IW_HUNT_RECENT;

    iw_hunt_input_free(r->ring[at].input);
    r->ring[at].input = input;
    r->ring[at].number = number;
}

size_t iw_hunt_recent_copy(const struct iw_hunt_recent *r, uint64_t from,
                           struct iw_hunt_input **list)
{
    uint64_t first = r->added > IW_HUNT_RECENT ? r->added - IW_HUNT_RECENT : 0;
    size_t n = 0;

    for (uint64_t i = first; i < r->added; i++)
        if (r->ring[i % IW_HUNT_RECENT].number > from)
            list[n++] = iw_hunt_input_copy(r->ring[i % IW_HUNT_RECENT].input);
    return n;
}

void iw_hunt_recent_clear(struct iw_hunt_recent *r)
{
    for (size_t i = 0; i < IW_HUNT_RECENT; i++)
        iw_hunt_input_free(r->ring[i].input);
    memset(r, 0, sizeof(*r));
}
