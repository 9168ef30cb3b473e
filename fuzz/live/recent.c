/* SPDX-License-Identifier: BSD-3-Clause */
#include "recent.h"

#include <stdlib.h>
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

static int by_time(const void *a, const void *b)
{
    uint64_t own = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return own < other ? -1 : own > other;
}

size_t iw_hunt_recent_before_silence(struct iw_hunt_input **list, size_t n, size_t few)
{
    uint64_t last = 0, late[IW_HUNT_RECENT];
    size_t n_late = 0, left = 0;

    for (size_t i = 0; i < n; i++)
        last = list[i]->answered > last ? list[i]->answered : last;
    for (size_t i = 0; i < n; i++)
        if (list[i]->began > last)
            late[n_late++] = list[i]->began;
    qsort(late, n_late, sizeof(*late), by_time);
    for (size_t i = 0; i < n; i++)
        if (n_late <= few || list[i]->began < late[few])
            list[left++] = list[i];
        else
            iw_hunt_input_free(list[i]);
    return left;
}

void iw_hunt_recent_clear(struct iw_hunt_recent *r)
{
    for (size_t i = 0; i < IW_HUNT_RECENT; i++)
        iw_hunt_input_free(r->ring[i].input);
    memset(r, 0, sizeof(*r));
}
