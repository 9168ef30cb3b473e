/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_SUPPORT_H
#define WIRE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/wire.h"

/* Returns a copy of `length` octets at an odd address, with the last octet at the end of its heap
 * block, so that AddressSanitizer sees the first octet read or written past them. Free it with
 * wire_free. */
uint8_t *wire_copy(const uint8_t *octets, size_t length);
void wire_free(uint8_t *octets);

/* Does the same from hexadecimal digits; blanks are ignored. */
uint8_t *wire_hex(const char *hex, size_t *length);

void wire_assert_hex(const uint8_t *octets, size_t length, const char *hex);

void wire_assert_ddp(const struct iw_ddp_header *got, const struct iw_ddp_header *want);
void wire_assert_read_request(const struct iw_rdmap_read_request *got,
                              const struct iw_rdmap_read_request *want);

/* Checks that the decoder `get` for `type` reports each input shorter than `length` octets as
 * short. */
#define WIRE_ASSERT_CUT_IS_SHORT(get, type, octets, length)                                        \
    do {                                                                                           \
        for (size_t wire_n = 0; wire_n < (length); wire_n++) {                                     \
            uint8_t *wire_cut = wire_copy(octets, wire_n);                                         \
            type wire_out;                                                                         \
            assert_int_equal(get(wire_cut, wire_n, &wire_out), IW_WIRE_SHORT);                     \
            wire_free(wire_cut);                                                                   \
        }                                                                                          \
    } while (0)

/* Checks that the encoder `put` turns `in` into the octets `hex` in exactly their room, and writes
 * nothing with less. */
#define WIRE_ASSERT_PUTS(put, in, hex)                                                             \
    do {                                                                                           \
        size_t wire_size;                                                                          \
        uint8_t *wire_want = wire_hex(hex, &wire_size);                                            \
        for (size_t wire_n = 0; wire_n <= wire_size; wire_n++) {                                   \
            uint8_t wire_blank[1024];                                                              \
            memset(wire_blank, 0xa5, sizeof(wire_blank));                                          \
            uint8_t *wire_room = wire_copy(wire_blank, wire_n);                                    \
            if (wire_n < wire_size) {                                                              \
                assert_int_equal(put(wire_room, wire_n, in), IW_WIRE_SHORT);                       \
                assert_memory_equal(wire_room, wire_blank, wire_n);                                \
            } else {                                                                               \
                assert_int_equal(put(wire_room, wire_n, in), wire_size);                           \
                assert_memory_equal(wire_room, wire_want, wire_n);                                 \
            }                                                                                      \
            wire_free(wire_room);                                                                  \
        }                                                                                          \
        wire_free(wire_want);                                                                      \
    } while (0)

#endif
