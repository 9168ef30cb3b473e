/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HUNT_MUTATE_H
#define IW_HUNT_MUTATE_H

#include "live_input.h"
#include "mutate/mutate.h"

struct iw_hunt_mutator;
/* Returns scratch memory, some megabytes. Release it with free(). */
struct iw_hunt_mutator *iw_hunt_mutator_new(void);

/* Returns a new input: a copy of `in` that ../mutate has changed, or crossed with `other`; at times
 * also with writes cut, pauses made, or an end inserted. */
struct iw_hunt_input *iw_hunt_mutate(struct iw_hunt_mutator *m, const struct iw_hunt_input *in,
                                     const struct iw_hunt_input *other, struct iw_mutate_random *r);

#endif
