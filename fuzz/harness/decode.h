/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_DECODE_H
#define IW_FUZZ_DECODE_H

/* For harnesses of decoders, whose inputs are plain octets. */

#include "engine/fuzz.h"

#include "iwarp/wire.h"

#include <string.h>

/* encode(decode(x)) = x: get_ and put_ of a structure, and its value, on `octets`. The encoder must
 * refuse one octet less of room than it needs, and the decoder one octet less of input. */
#define IW_FUZZ_ROUND_TRIP(what, get, put, type, octets, length, value)                            \
    do {                                                                                           \
        uint8_t again_[128];                                                                       \
        int got_ = get(octets, length, value);                                                     \
        if (got_ < 0)                                                                              \
            break;                                                                                 \
        IW_FUZZ_CHECK((size_t)got_ <= (length), what ": more is decoded than there is");           \
        IW_FUZZ_CHECK(put(again_, sizeof again_, value) == got_ &&                                 \
                          memcmp(again_, octets, (size_t)got_) == 0,                               \
                      what ": encoded anew it is something else");                                 \
        IW_FUZZ_CHECK(put(again_, (size_t)got_ - 1, value) == IW_WIRE_SHORT,                       \
                      what ": encoded into too little room");                                      \
        type less_;                                                                                \
        IW_FUZZ_CHECK(get(octets, (size_t)got_ - 1, &less_) == IW_WIRE_SHORT,                      \
                      what ": decoded from too few octets");                                       \
    } while (0)

#endif
