/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_CRC32C_TABLE_H
#define IWARP_CRC32C_TABLE_H

#include <stdint.h>

/* [k][octet]: the register after this octet and k zero octets; written by generate_tables.py. */
extern const uint32_t iw_crc32c_table[8][256];

#endif
