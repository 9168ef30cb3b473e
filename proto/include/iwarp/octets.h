/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_OCTETS_H
#define IWARP_OCTETS_H

/* Numbers in network byte order, octet by octet at any alignment. `p` is borrowed; the caller has
 * checked that its octets are there. RFC 5044, 5041 and 5040 send every number in this order,
 * except the CRC. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return the number of 2, 4 or 8 octets at `p`. */
static inline uint16_t iw_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t iw_get32(const uint8_t *p)
{
    return (uint32_t)iw_get16(p) << 16 | iw_get16(p + 2);
}

static inline uint64_t iw_get64(const uint8_t *p)
{
    return (uint64_t)iw_get32(p) << 32 | iw_get32(p + 4);
}

/* Write a number as 2, 4 or 8 octets at `p`. Return the address after them. */
static inline uint8_t *iw_put16(uint8_t *p, uint16_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
    return p + 2;
}

static inline uint8_t *iw_put32(uint8_t *p, uint32_t value)
{
    return iw_put16(iw_put16(p, (uint16_t)(value >> 16)), (uint16_t)value);
}

static inline uint8_t *iw_put64(uint8_t *p, uint64_t value)
{
    return iw_put32(iw_put32(p, (uint32_t)(value >> 32)), (uint32_t)value);
}

#ifdef __cplusplus
}
#endif

#endif
