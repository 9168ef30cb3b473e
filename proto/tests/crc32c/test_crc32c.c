/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/crc32c.h"

static uint32_t crc(iw_crc32c_fn fn, const void *data, size_t length)
{
    return iw_crc32c_finish(fn(IW_CRC32C_INIT, data, length));
}

static void check_vector(iw_crc32c_fn fn, const uint8_t *data, size_t length, uint32_t value,
                         const uint8_t field[4])
{
    uint8_t out[4];

    assert_int_equal(crc(fn, data, length), value);
    iw_crc32c_put(out, crc(fn, data, length));
    assert_memory_equal(out, field, 4);
    assert_int_equal(iw_crc32c_get(field), value);

    /* Over data and field the register ends at the same value whatever the data. */
    assert_int_equal(fn(fn(IW_CRC32C_INIT, data, length), field, 4), 0xb798b438);
}

/* RFC 7143 appendix A.4. */
static const uint8_t zeros[32];
static const uint8_t zeros_field[4] = {0xaa, 0x36, 0x91, 0x8a};
static const uint8_t ones_field[4] = {0x43, 0xab, 0xa8, 0x62};
static const uint8_t rising[32] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
                                   0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15,
                                   0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};
static const uint8_t rising_field[4] = {0x4e, 0x79, 0xdd, 0x46};
static const uint8_t falling[32] = {
    0x1f, 0x1e, 0x1d, 0x1c, 0x1b, 0x1a, 0x19, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x10,
    0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x00};
static const uint8_t falling_field[4] = {0x5c, 0xdb, 0x3f, 0x11};
static const uint8_t read10[48] = {
    0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18,
    0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
static const uint8_t read10_field[4] = {0x56, 0x3a, 0x96, 0xd9};
static const uint8_t digits_field[4] = {0x83, 0x92, 0x06, 0xe3};

/* The two FPDUs of RFC 5044 appendix A.4: leading Marker; Marker inside. */
static const uint8_t fpdu1[48] = {0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x41, 0x43,
                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                  0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00};
static const uint8_t fpdu1_field[4] = {0x52, 0x23, 0x99, 0x83};
static const uint8_t fpdu2[48] = {0x00, 0x2a, 0x41, 0x43, 0x00, 0x00, 0x00, 0x00,
                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14};
static const uint8_t fpdu2_field[4] = {0x84, 0x92, 0x58, 0x98};

static void check_vectors(iw_crc32c_fn fn)
{
    uint8_t ones[32];

    memset(ones, 0xff, sizeof(ones));
    check_vector(fn, zeros, 32, 0x8a9136aa, zeros_field);
    check_vector(fn, ones, 32, 0x62a8ab43, ones_field);
    check_vector(fn, rising, 32, 0x46dd794e, rising_field);
    check_vector(fn, falling, 32, 0x113fdb5c, falling_field);
    check_vector(fn, read10, 48, 0xd9963a56, read10_field);
    check_vector(fn, (const uint8_t *)"123456789", 9, 0xe3069283, digits_field);
    check_vector(fn, fpdu1, 48, 0x83992352, fpdu1_field);
    check_vector(fn, fpdu2, 48, 0x98589284, fpdu2_field);
}

static void portable_vectors(void **state)
{
    (void)state;
    check_vectors(iw_crc32c_portable);
}

static void nothing_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(iw_crc32c_portable(0x12345678, NULL, 0), 0x12345678);
    assert_int_equal(iw_crc32c_portable(IW_CRC32C_INIT, "", 0), IW_CRC32C_INIT);
}

/* xorshift32: fixed seed, so that a failure can be repeated. */
static uint32_t random_state = 0x1d872b41;

static uint32_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* Bit by bit from the polynomial, sharing nothing with the tables. */
static uint32_t bitwise(uint32_t state, const uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        state ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            state = state >> 1 ^ (state & 1 ? 0x82f63b78u : 0);
    }
    return state;
}

static void random_input(iw_crc32c_fn fn)
{
    static uint8_t data[4096 + 64];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)random_next();
    for (int round = 0; round < 500; round++) {
        size_t offset = random_next() % 64;
        size_t length = random_next() % (round % 4 ? 200 : 4096);
        size_t cut = length ? random_next() % length : 0;
        uint32_t start = random_next();
        uint32_t want = bitwise(start, data + offset, length);

        assert_int_equal(fn(start, data + offset, length), want);
        assert_int_equal(fn(fn(start, data + offset, cut), data + offset + cut, length - cut),
                         want);
    }
}

static void portable_random(void **state)
{
    (void)state;
    random_input(iw_crc32c_portable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portable_vectors),
        cmocka_unit_test(nothing_changes_nothing),
        cmocka_unit_test(portable_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
