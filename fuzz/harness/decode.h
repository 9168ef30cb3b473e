/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_FUZZ_DECODE_H
#define IW_FUZZ_DECODE_H

/* For harnesses of decoders, whose inputs are plain octets. */

#include "engine/fuzz.h"

#include "iwarp/wire.h"

#include <string.h>

/* encode(decode(x)) = x: iw_wire_get_ and _put_ of a structure, on `octets`. The encoder must
 * refuse one octet less of room than it needs, and the decoder one octet less of input. */
#define IW_FUZZ_ROUND_TRIP(what, name, type, octets, length)                                       \
    do {                                                                                           \
        type value_, less_;                                                                        \
        uint8_t again_[128];                                                                       \
        int got_ = iw_wire_get_##name(octets, length, &value_);                                    \
        if (got_ < 0)                                                                              \
            break;                                                                                 \
        IW_FUZZ_CHECK((size_t)got_ <= (length), what ": more is decoded than there is");           \
        IW_FUZZ_CHECK(iw_wire_put_##name(again_, sizeof(again_), &value_) == got_ &&               \
                          memcmp(again_, octets, (size_t)got_) == 0,                               \
                      what ": encoded anew it is something else");                                 \
        IW_FUZZ_CHECK(iw_wire_put_##name(again_, (size_t)got_ - 1, &value_) == IW_WIRE_SHORT,      \
                      what ": encoded into too little room");                                      \
        IW_FUZZ_CHECK(iw_wire_get_##name(octets, (size_t)got_ - 1, &less_) == IW_WIRE_SHORT,       \
                      what ": decoded from too few octets");                                       \
    } while (0)

#endif
