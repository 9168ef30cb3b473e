/* SPDX-License-Identifier: BSD-3-Clause */
#include "range.h"

enum { BITS = 8, POLYNOMIAL_BITS = 8 };
static const uint32_t polynomial = 0x82f63b78; /* CRC32c, reflected: RFC 5044 §4.4 */

uint32_t range_get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

uint32_t range_get32(const uint8_t *p)
{
    return range_get16(p) << 16 | range_get16(p + 2);
}

uint64_t range_get64(const uint8_t *p)
{
    return (uint64_t)range_get32(p) << 32 | range_get32(p + 4);
}

void range_put16(uint8_t *p, unsigned value)
{
    p[0] = (uint8_t)(value >> BITS);
    p[1] = (uint8_t)value;
}

void range_put32(uint8_t *p, uint32_t value)
{
    range_put16(p, value >> 16);
    range_put16(p + 2, value & 0xffff);
}

void range_put64(uint8_t *p, uint64_t value)
{
    range_put32(p, (uint32_t)(value >> 32));
    range_put32(p + 4, (uint32_t)value);
}

uint32_t range_crc(const uint8_t *p, size_t length)
{
    static uint32_t table[256];
    uint32_t crc = UINT32_MAX;
    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < POLYNOMIAL_BITS; bit++)
                value = value & 1 ? value >> 1 ^ polynomial : value >> 1;
            table[i] = value;
        }
    }
    for (size_t i = 0; i < length; i++)
        crc = crc >> 8 ^ table[(crc ^ p[i]) & 0xff];
    return ~crc;
}
