/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_RECENT_H
#define IW_HUNT_RECENT_H

/*
 * The sequences that are over, in the order in which they ended: what has happened to the peer is
 * one of the last ones' doing. Their order of beginning would not tell: while one with pauses in it
 * goes on, a hundred short ones begin and end.
 */

#include "input.h"

enum { IW_HUNT_RECENT = 4096 /* sequences that may be what did it */ };

struct iw_hunt_recent {
    struct {
        struct iw_hunt_input *input;
        uint64_t number; /* in the order of beginning, from 1 */
    } ring[IW_HUNT_RECENT];
    uint64_t added; /* since it was empty; the next is at added % IW_HUNT_RECENT */
};

/* Sequence `number` has ended; takes over `input`. Of more than IW_HUNT_RECENT the first is
 * forgotten. */
void iw_hunt_recent_add(struct iw_hunt_recent *r, struct iw_hunt_input *input, uint64_t number);
/* Copies of those that began behind number `from`, the last one to end is the last of them. The
 * caller frees them. Returns how many, at most IW_HUNT_RECENT. */
size_t iw_hunt_recent_copy(const struct iw_hunt_recent *r, uint64_t from,
                           struct iw_hunt_input **list);
/* Makes it empty. */
void iw_hunt_recent_clear(struct iw_hunt_recent *r);

#endif
