/* SPDX-License-Identifier: BSD-3-Clause */
/* Stream positions of an FPDU's octets, Markers counted. */
#include "mpa_support.h"

static void literal_positions(void **state)
{
    static const struct {
        uint64_t start, pos, octets, want;
    } rows[] = {
        /* A Marker at 0, 512, 1024 ...: none lies before octet 508. */
        {0, 0, 0, 4},
        {0, 4, 0, 4},
        {0, 4, 507, 511},
        {0, 4, 508, 516},
        {0, 4, 1015, 1023},
        {0, 4, 1016, 1028},
        {0, 24, 2, 26},
        {0, 508, 3, 511},
        {0, 508, 4, 516},
        {0, 512, 0, 516},
        {0, 511, 1, 516},
        /* They begin elsewhere, as after a start-up frame of 20 octets. */
        {20, 20, 0, 24},
        {20, 24, 0, 24},
        {20, 24, 507, 531},
        {20, 24, 508, 536},
        {20, 512, 0, 512},
        {20, 512, 19, 531},
        {20, 512, 20, 536},
        {23, 27, 1016, 1051},
        {511, 515, 507, 1022},
        {511, 515, 508, 1027},
        {513, 517, 507, 1024},
        {513, 517, 508, 1029},
        /* The start lies after the octet: Markers are 512 octets apart in both directions. */
        {40, 20, 19, 39},
        {40, 20, 20, 44},
        {1024, 0, 0, 4},
        {1000, 0, 487, 487},
        {1000, 0, 488, 492},
        /* The longest ULPDU there can be: its last octet, and the CRC's. */
        {0, 4, 65536, 66056},
        {0, 4, 65543, 66063},
        {0, 508, 65536, 66564},
        /* Positions of more than 32 bits, and octets. */
        {0, 0xfffffffc, 3, 0xffffffff},
        {0, 0xfffffffc, 4, 0x100000004},
        {0x1fffffff0, 0x1fffffff4, 508, 0x2000001f4},
        {0, 4, UINT64_C(508) << 32, UINT64_C(0x20000000004)},
        /* And beyond 64 bits. */
        {UINT64_C(0xffffffffffffff00), UINT64_C(0xffffffffffffff00), 508, 0x104},
        {0, UINT64_MAX, 0, UINT64_MAX},
        {0, UINT64_MAX, 1, 4},
        {UINT64_MAX, 3, 507, 510},
        {UINT64_MAX, 3, 508, 515},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(iw_mpa_position(rows[i].start, rows[i].pos, rows[i].octets), rows[i].want);
}

/* Each octet is either one that counts or one of a Marker's. */
static void octet_by_octet(void **state)
{
    (void)state;
    for (uint64_t start = 0; start < 1030; start += 103) {
        uint64_t pos = 516 + start;
        for (uint64_t octets = 0, at = pos; octets < 3000; octets++, at++) {
            while ((at - start) % 512 < 4)
                at++;
            assert_int_equal(iw_mpa_position(start, pos, octets), at);
        }
    }
}

/* Senders that count otherwise: a Marker at 0, 508, 1016 ..., or at 0, 516, 1032 ... */
static void of_another_period(void **state)
{
    (void)state;
    assert_int_equal(iw_mpa_position_every(508, 0, 4, 503), 507);
    assert_int_equal(iw_mpa_position_every(508, 0, 4, 504), 512);
    assert_int_equal(iw_mpa_position_every(508, 0, 4, 1007), 1015);
    assert_int_equal(iw_mpa_position_every(508, 0, 4, 1008), 1020);
    assert_int_equal(iw_mpa_position_every(516, 0, 4, 511), 515);
    assert_int_equal(iw_mpa_position_every(516, 0, 4, 512), 520);
    /* The Marker that is known comes later. */
    assert_int_equal(iw_mpa_position_every(508, 1016, 512, 503), 1015);
    assert_int_equal(iw_mpa_position_every(508, 1016, 512, 504), 1020);
    assert_int_equal(iw_marker_after(508, 0, 0), 0);
    assert_int_equal(iw_marker_after(508, 0, 1), 507);
    assert_int_equal(iw_marker_after(508, 0, 508), 0);
    assert_int_equal(iw_marker_after(516, 0, 508), 8);
    assert_int_equal(iw_marker_after(508, 1016, 500), 8);
    assert_int_equal(iw_marker_after(508, UINT64_C(508) << 32, 509), 507);
}

/* The same of a deframer that knows the period. */
static void of_a_deframer(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct iw_deframer *d = &rig->deframer;
    const struct iw_fpdu fpdu = {.pos = 23, .header_pos = 27, .length = 900};

    (void)state;
    iw_deframer_init(d, &rig->seen.sink, true, true, iw_crc32c_portable, 23, rig->buffer,
                     sizeof(rig->buffer));
    assert_int_equal(d->period, 512);
    d->period = 508;
    assert_int_equal(iw_deframer_position(d, &fpdu, 501), 530);
    assert_int_equal(iw_deframer_position(d, &fpdu, 502), 535);
    d->period = 516;
    assert_int_equal(iw_deframer_position(d, &fpdu, 509), 538);
    assert_int_equal(iw_deframer_position(d, &fpdu, 510), 543);
    mpa_rig_free(rig);
}

static void of_a_ulpdu(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct iw_deframer *d = &rig->deframer;
    const struct iw_fpdu fpdu = {.pos = 23, .header_pos = 27, .length = 900};

    (void)state;
    iw_deframer_init(d, &rig->seen.sink, true, true, iw_crc32c_portable, 23, rig->buffer,
                     sizeof(rig->buffer));
    assert_int_equal(iw_deframer_position(d, &fpdu, 0), 29);
    assert_int_equal(iw_deframer_position(d, &fpdu, 505), 534);
    assert_int_equal(iw_deframer_position(d, &fpdu, 506), 539);
    assert_int_equal(iw_deframer_position(d, &fpdu, 899), 932);
    d->markers = false;
    assert_int_equal(iw_deframer_position(d, &fpdu, 506), 535);
    mpa_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_positions), cmocka_unit_test(octet_by_octet),
        cmocka_unit_test(of_another_period), cmocka_unit_test(of_a_deframer),
        cmocka_unit_test(of_a_ulpdu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
