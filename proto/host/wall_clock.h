/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_WALL_CLOCK_H
#define IW_HOST_WALL_CLOCK_H

#include <stdint.h>

/* Returns the time of day: CLOCK_REALTIME in nanoseconds. */
uint64_t iw_wall_clock(void);

#endif
