/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/octets.h"
#include "wire_support.h"

static void reads_network_order(void **state)
{
    size_t n;
    uint8_t *p = wire_hex("80 01020304 f1f2f3f4f5f6f7f8", &n);

    (void)state;
    assert_int_equal(iw_get16(p), 0x8001);
    assert_int_equal(iw_get32(p), 0x80010203);
    assert_int_equal(iw_get32(p + 1), 0x01020304);
    assert_true(iw_get64(p + 5) == UINT64_C(0xf1f2f3f4f5f6f7f8));
    assert_int_equal(iw_get16(p + n - 2), 0xf7f8);
    assert_int_equal(iw_get32(p + n - 4), 0xf5f6f7f8);
    wire_free(p);
}

static void writes_network_order(void **state)
{
    uint8_t *p = wire_copy((const uint8_t[14]){0}, 14);
    uint8_t *end =
        iw_put64(iw_put32(iw_put16(p, 0x8001), 0xfedcba98), UINT64_C(0x8102030405060708));

    (void)state;
    assert_ptr_equal(end, p + 14);
    wire_assert_hex(p, 14, "8001 fedcba98 8102030405060708");
    wire_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_network_order),
        cmocka_unit_test(writes_network_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
