/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_RECENT_H
#define IW_HUNT_RECENT_H

/*
 * The sequences that are over, in the order in which they ended: one of the last caused what
 * happened to the peer. The order of beginning would not help: while one with pauses in it goes on,
 * a hundred short ones begin and end.
 */

#include "live_input.h"

enum { IW_HUNT_RECENT = 4096 /* sequences that may be what did it */ };

struct iw_hunt_recent {
    struct {
        struct iw_hunt_input *input;
        uint64_t number; /* in the order of beginning, from 1 */
    } ring[IW_HUNT_RECENT];
    uint64_t added; /* since it was empty; the next is at added % IW_HUNT_RECENT */
};

/* Adds sequence `number`, which has ended; takes over `input`. Drops the oldest if there are more
 * than IW_HUNT_RECENT. */
void iw_hunt_recent_add(struct iw_hunt_recent *r, struct iw_hunt_input *input, uint64_t number);
/* Copies those that began after number `from`, in the order in which they ended. The caller frees
 * them. Returns how many, at most IW_HUNT_RECENT. */
size_t iw_hunt_recent_copy(const struct iw_hunt_recent *r, uint64_t from,
                           struct iw_hunt_input **list);
/* Of these, of a peer that answers no more, drops those that began when it was silent already; the
 * first `few` of them stay: one may have done it. Returns how many are left. */
size_t iw_hunt_recent_before_silence(struct iw_hunt_input **list, size_t n, size_t few);
/* Makes it empty. */
void iw_hunt_recent_clear(struct iw_hunt_recent *r);

#endif
