/* SPDX-License-Identifier: BSD-3-Clause */
#include "crc32c/crc32c_table.h"
#include "iwarp/crc32c.h"

static uint32_t step(uint32_t state, uint8_t octet)
{
    return state >> 8 ^ iw_crc32c_table[0][(state ^ octet) & 0xff];
}

uint32_t iw_crc32c_portable(uint32_t state, const void *data, size_t length)
{
    const uint32_t(*table)[256] = iw_crc32c_table;
    const uint8_t *octets = data;

    for (; length >= 8; octets += 8, length -= 8) {
        uint32_t low = state ^ iw_crc32c_get(octets);
        uint32_t high = iw_crc32c_get(octets + 4);

        state = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
                table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
                table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    while (length--)
        state = step(state, *octets++);
    return state;
}
