/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of iw_crc32c_best() against the portable implementation (the same vectors as there).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/crc32c.h"

static uint32_t random_state = 0x2545f491;

static uint32_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static void best_vectors(void **state)
{
    uint8_t data[32];
    size_t i;

    (void)state;
    memset(data, 0, sizeof(data));
    assert_int_equal(~iw_crc32c_best()(IW_CRC32C_INIT, data, 32), 0x8a9136aa);
    memset(data, 0xff, sizeof(data));
    assert_int_equal(~iw_crc32c_best()(IW_CRC32C_INIT, data, 32), 0x62a8ab43);
    for (i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)i;
    assert_int_equal(~iw_crc32c_best()(IW_CRC32C_INIT, data, 32), 0x46dd794e);
    for (i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(31 - i);
    assert_int_equal(~iw_crc32c_best()(IW_CRC32C_INIT, data, 32), 0x113fdb5c);
    assert_int_equal(~iw_crc32c_best()(IW_CRC32C_INIT, "123456789", 9), 0xe3069283);
    assert_int_equal(iw_crc32c_best()(0x12345678, NULL, 0), 0x12345678);
}

/* Odd lengths, alignments and splits, up to lengths at which ISA-L works in parallel lanes. */
static void best_equals_portable(void **state)
{
    enum { SIZE = 128 * 1024 };
    uint8_t *data = malloc(SIZE + 64);
    iw_crc32c_fn best = iw_crc32c_best();

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < SIZE + 64; i++)
        data[i] = (uint8_t)random_next();
    for (int round = 0; round < 400; round++) {
        const uint8_t *start = data + random_next() % 64;
        size_t length = random_next() % (round % 8 ? 2048 : SIZE);
        size_t cut = length ? random_next() % length : 0;
        uint32_t seed = random_next();
        uint32_t want = iw_crc32c_portable(seed, start, length);

        assert_int_equal(best(seed, start, length), want);
        assert_int_equal(best(best(seed, start, cut), start + cut, length - cut), want);
        assert_int_equal(best(iw_crc32c_portable(seed, start, cut), start + cut, length - cut),
                         want);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_vectors),
        cmocka_unit_test(best_equals_portable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
