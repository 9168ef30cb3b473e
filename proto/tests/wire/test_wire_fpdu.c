/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of FPDUs, MULPDU, Markers (RFC 5044 §4). */
#include "wire_support.h"

static void pad_and_size(void **state)
{
    static const struct {
        uint32_t ulpdu;
        unsigned pad;
        uint32_t size;
    } rows[] = {
        {0, 2, 8},         {1, 1, 8},         {2, 0, 8},       {3, 3, 12},        {4, 2, 12},
        {14, 0, 20},       {18, 0, 24},       {23, 3, 32},     {46, 0, 52},       {70, 0, 76},
        {1010, 0, 1016},   {1014, 0, 1020},   {1018, 0, 1024}, {64768, 2, 64776}, {65533, 1, 65540},
        {65534, 0, 65540}, {65535, 3, 65544},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(iw_wire_pad(rows[i].ulpdu), rows[i].pad);
        assert_int_equal(iw_wire_fpdu_size(rows[i].ulpdu), rows[i].size);
    }
}

/* Whatever the place of its first octet, the longest FPDU with its Markers fits, and just so. */
static void longest_fpdu(void **state)
{
    uint32_t longest = 0;

    (void)state;
    for (uint32_t start = 0; start < 512; start += 4) {
        uint32_t pos = start;
        for (uint32_t left = 65544; left > 0; pos++)
            if (pos % 512 >= 4)
                left--;
        if (pos - start > longest)
            longest = pos - start;
    }
    assert_int_equal(longest, IW_MPA_FPDU_MAX);
}

static void mulpdu(void **state)
{
    static const struct {
        uint32_t emss, with_markers, without;
    } rows[] = {
        {536, 522, 530},
        {1220, 1202, 1214},
        {1380, 1362, 1374},
        {1440, 1422, 1434},
        {1448, 1430, 1442},
        {1459, 1438, 1450},
        {1460, 1442, 1454},
        {8948, 8870, 8942},
        {8960, 8882, 8954},
        {65495, 64768, 64768},
        /* one Marker more from 513 on: 512 - 10, 516 - 14 */
        {512, 502, 506},
        {516, 502, 510},
        /* the clamps, from below and above */
        {0, 128, 128},
        {9, 128, 128},
        {127, 128, 128},
        {128, 128, 128},
        {135, 128, 128},
        {136, 128, 130},
        {140, 130, 134},
        {64774, 64258, 64766},
        {64776, 64262, 64768},
        {64780, 64266, 64768},
        {65284, 64766, 64768},
        {65288, 64768, 64768},
        {65292, 64768, 64768},
        {UINT32_MAX, 64768, 64768},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(iw_wire_mulpdu(rows[i].emss, true), rows[i].with_markers);
        assert_int_equal(iw_wire_mulpdu(rows[i].emss, false), rows[i].without);
    }
}

/* RFC 5041 §5.2 speaks of a MULPDU of 1500: 1486 octets of tagged payload, 1482 of untagged. */
static void payload_of_a_full_segment(void **state)
{
    (void)state;
    assert_int_equal(1500 - IW_DDP_TAGGED_HEADER, 1486);
    assert_int_equal(1500 - IW_DDP_UNTAGGED_HEADER, 1482);
}

static void markers(void **state)
{
    static const struct {
        const char *hex;
        uint16_t reserved, fpduptr;
    } rows[] = {
        {"00000000", 0, 0},      {"00000014", 0, 20},          {"000001fc", 0, 508},
        {"000003fc", 0, 1020},   {"00000007", 0, 7}, /* low bits as received, erratum 1427 */
        {"ffff0000", 0xffff, 0}, {"8001fffc", 0x8001, 0xfffc},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_mpa_marker m;
        struct iw_mpa_marker in = {rows[i].reserved, rows[i].fpduptr};
        size_t n;
        uint8_t *octets = wire_hex(rows[i].hex, &n);
        assert_int_equal(iw_wire_get_marker(octets, n, &m), 4);
        assert_int_equal(m.reserved, rows[i].reserved);
        assert_int_equal(m.fpduptr, rows[i].fpduptr);
        WIRE_ASSERT_CUT_IS_SHORT(iw_wire_get_marker, struct iw_mpa_marker, octets, n);
        WIRE_ASSERT_PUTS(iw_wire_put_marker, &in, rows[i].hex);
        wire_free(octets);
    }
}

/* Two FPDUs on a stream with Markers: where the first one's CRC ends and the second begins. */
static void layout_with_markers(void **state)
{
    static const struct {
        uint32_t ulpdu, markers_inside, crc, second, second_marker, second_crc;
    } rows[] = {
        {1018, 2, 1032, 1036, 0, 1056}, /* Send of 1000 octets */
        {1014, 2, 1028, 1032, 0, 1052}, /* 996: a Marker directly before the CRC */
        {1010, 1, 1020, 1028, 1, 1048}, /* 992: a Marker between the FPDUs */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t end = IW_MPA_MARKER + iw_wire_fpdu_size(rows[i].ulpdu) +
                       rows[i].markers_inside * IW_MPA_MARKER;
        assert_int_equal(end, rows[i].crc + IW_MPA_CRC_FIELD);
        assert_int_equal(end + rows[i].second_marker * IW_MPA_MARKER, rows[i].second);
        assert_int_equal(rows[i].second + iw_wire_fpdu_size(18),
                         rows[i].second_crc + IW_MPA_CRC_FIELD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pad_and_size), cmocka_unit_test(longest_fpdu),
        cmocka_unit_test(mulpdu),       cmocka_unit_test(payload_of_a_full_segment),
        cmocka_unit_test(markers),      cmocka_unit_test(layout_with_markers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
