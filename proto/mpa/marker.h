/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MPA_MARKER_H
#define IW_MPA_MARKER_H

#include "iwarp/wire.h"

/* Returns the number of Markers before octet `octets` of an FPDU's octets, counted from 0 and
 * without Markers. `free_run`: octets before the first Marker; `period`: octets from each Marker's
 * first octet to the next one's (RFC 5044 §4.3). */
static inline uint64_t iw_markers_before(uint64_t octets, uint32_t free_run, uint32_t period)
{
    return octets < free_run ? 0 : 1 + (octets - free_run) / (period - IW_MPA_MARKER);
}

#endif
