/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/clock.h"

#include <time.h>

enum { NS_PER_MS = 1000000, MINUTE_MS = 60000 };

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t iw_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t iw_clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t iw_clock_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int iw_clock_left(uint64_t deadline)
{
    const uint64_t now = iw_clock_now(), left = deadline > now ? deadline - now : 0;
    const uint64_t ms = left / NS_PER_MS + (left % NS_PER_MS != 0);
    return ms > MINUTE_MS ? MINUTE_MS : (int)ms;
}
