/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/wall_clock.h"

#include <time.h>

uint64_t iw_wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
