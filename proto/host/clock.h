/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_CLOCK_H
#define IW_HOST_CLOCK_H

#include <stdint.h>

/* Returns the time that deadlines are given in: CLOCK_MONOTONIC in nanoseconds. */
uint64_t iw_clock_now(void);
/* Returns the time of day: CLOCK_REALTIME in nanoseconds. */
uint64_t iw_clock_wall(void);
/* Returns the processor time of this process in nanoseconds. */
uint64_t iw_clock_cpu(void);
/* Returns the milliseconds until a deadline, for poll(): rounded up, and a minute at most. */
int iw_clock_left(uint64_t deadline);

#endif
