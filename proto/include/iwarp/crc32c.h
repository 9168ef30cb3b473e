/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32c as MPA uses it (RFC 5044 §4.4, RFC 7143 appendix A.4). The state is the reflected register
 * before the final complement, so a CRC can be computed in pieces:
 *
 *     uint32_t state = IW_CRC32C_INIT;
 *     state = crc(state, part, length);
 *     ...
 *     iw_crc32c_put(field, iw_crc32c_finish(state));
 */
#ifndef IWARP_CRC32C_H
#define IWARP_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IW_CRC32C_INIT UINT32_C(0xffffffff)

/* Takes the state and `length` octets at `data` (NULL allowed when length is 0). Returns the new
 * state. */
typedef uint32_t (*iw_crc32c_fn)(uint32_t state, const void *data, size_t length);

/* Returns the implementation that runs anywhere: freestanding, table driven, eight octets per step.
 */
uint32_t iw_crc32c_portable(uint32_t state, const void *data, size_t length);

/* Returns the fastest implementation in this build, ISA-L's or the portable one. Hosted
 * (libiwarp_host). */
iw_crc32c_fn iw_crc32c_best(void);

/* Returns the CRC of everything that went into the state. */
static inline uint32_t iw_crc32c_finish(uint32_t state)
{
    return ~state;
}

/* Writes a CRC in the octet order of the FPDU's CRC field: least significant octet first. */
static inline void iw_crc32c_put(uint8_t out[4], uint32_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    out[2] = (uint8_t)(value >> 16);
    out[3] = (uint8_t)(value >> 24);
}

/* Returns the CRC of a CRC field. */
static inline uint32_t iw_crc32c_get(const uint8_t in[4])
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

#ifdef __cplusplus
}
#endif

#endif
