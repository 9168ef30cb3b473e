/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/quirk.h"

uint32_t iw_quirk_turn32(uint32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

uint64_t iw_quirk_turn64(uint64_t value)
{
    return (uint64_t)iw_quirk_turn32((uint32_t)value) << 32 |
           iw_quirk_turn32((uint32_t)(value >> 32));
}

bool iw_quirk_turned32(uint32_t got, uint32_t want)
{
    return got != want && iw_quirk_turn32(got) == want;
}

bool iw_quirk_turned64(uint64_t got, uint64_t want)
{
    return got != want && iw_quirk_turn64(got) == want;
}
