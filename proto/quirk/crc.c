/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/quirk.h"

/* Needed only where a CRC is wrong: bit by bit. */
static uint32_t crc_of_ethernet(const uint8_t *octets, size_t length)
{
    const uint32_t polynomial = 0xedb88320;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        crc ^= octets[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1u) != 0 ? polynomial : 0);
    }
    return ~crc;
}

iw_quirks iw_quirk_crc(const uint8_t *octets, size_t length, uint32_t field, uint32_t crc32c)
{
    if (field == crc32c)
        return 0;
    if (iw_quirk_turned32(field, crc32c))
        return iw_quirk_bit(IW_QUIRK_CRC_ORDER);
    uint32_t other = crc_of_ethernet(octets, length);
    if (field == other || field == iw_quirk_turn32(other))
        return iw_quirk_bit(IW_QUIRK_CRC_POLYNOMIAL);
    return 0;
}
