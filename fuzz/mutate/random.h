/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_MUTATE_RANDOM_H
#define IW_FUZZ_MUTATE_RANDOM_H

/* Random numbers that a seed repeats on every machine (SplitMix64's recurrence). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iw_mutate_random {
    uint64_t state; /* any value is a seed */
};

/* Returns the next 64 random bits (splitmix64). */
static inline uint64_t iw_mutate_next(struct iw_mutate_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns 0..bound-1; 0 if bound is 0. */
static inline uint32_t iw_mutate_below(struct iw_mutate_random *r, size_t bound)
{
    return bound == 0 ? 0 : (uint32_t)((iw_mutate_next(r) >> 11) % bound);
}

/* Returns true once in `in` times. */
static inline bool iw_mutate_chance(struct iw_mutate_random *r, uint32_t in)
{
    return iw_mutate_below(r, in) == 0;
}

#endif
