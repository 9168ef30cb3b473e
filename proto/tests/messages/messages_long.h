/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_MESSAGES_LONG_H
#define IW_TESTS_MESSAGES_LONG_H

/* What the tests of long messages share. Include from one program. */

#include "messages_bench.h"

enum { MIB = 1 << 20, CHUNK = 4 * MIB };

static inline int begin_large(void **unused)
{
    begin(unused);
    b.m.pool.most = (size_t)2 << 30;
    return 0;
}

/* As if the share of the pool that is lent ahead were used up. */
static inline int begin_lent(void **unused)
{
    begin_large(unused);
    b.m.pool.offered[IW_POOL_LENT] = b.m.pool.most / IW_AHEAD_SHARE;
    return 0;
}

/* An announcement of number 9 to our number 2. Regions are in the order of their pieces. */
static inline void announce(struct iw_link *link, uint64_t sequence, const uint32_t *lengths,
                            uint8_t count)
{
    uint8_t octets[IW_MESSAGE_PIECES_MOST * IW_MESSAGE_PIECE];
    struct iw_message_header h = says(IW_MESSAGE_ANNOUNCE, link->may_send, 0);
    h.sequence = sequence;
    h.from = 9;
    h.to = 2;
    h.count = count;
    for (uint8_t i = 0; i < count; i++) {
        h.length += lengths[i];
        iw_message_put_piece(
            &(struct iw_message_piece){UINT64_C(0x100000000) * (i + 1u), 0x5000u + i, lengths[i]},
            octets + i * IW_MESSAGE_PIECE);
    }
    arrives(&b, link, &h, octets, (size_t)count * IW_MESSAGE_PIECE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_large, end)
#define LENT(name) cmocka_unit_test_setup_teardown(name, begin_lent, end)

#endif
