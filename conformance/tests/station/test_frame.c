/* SPDX-License-Identifier: BSD-3-Clause */
/* The station's FPDU builder against literal octets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hex.h"
#include "station/frame.h"

/* Whole FPDUs with right CRCs: length field, ULPDU, pad, CRC. The ULPDU of each is what the builder
 * gets. */
static const char *const vectors[] = {
    "00124143 00000000 00000000 00000001 00000000 587be8c4",
    "000ec140 00000000 00000000 00000000 a30572ab",
    "002e4141 00000000 00000001 00000001 00000000 00000000 00000000 00000000 00000000 00000000"
    " 00000000 00000000 f2c6dd3d",
    "000ec142 00000000 00000000 00000000 6975d6ca",
    "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c",
    "0012c140 11223344 00000000 00001000 deadbeef b75a39ef",
    "00124144 11223344 00000000 00000002 00000000 42dbd731",
    "002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344"
    " 00000000 00001000 c453059c",
    "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585",
    "00264147 00000000 00000002 00000001 00000000 1100c000 0012c140 11223344 00000000 00001000"
    " b5f74601",
    "00464147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001 00000001"
    " 00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000 bb78a0bc",
    "001a4148 00000000 00000000 00000001 00000000 01020304 05060708 06c22805",
    "0046414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000 00001000"
    " 00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff 4a325eaa",
    "0046414a 00000000 00000001 00000002 00000000 00000002 5a5a0002 11223344 00000000 00001000"
    " 00000000 00000002 ffffffff ffffffff 00000000 00000001 ffffffff ffffffff fae229a6",
    "001e414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001 37209549",
};

enum { ROOM = 2048 };

/* Builds the FPDU of `ulpdu` (hex) and compares it with `wanted` (hex). */
static void expect(const char *wanted, uint64_t position, bool markers, const char *ulpdu,
                   const struct iw_frame_bend *bend)
{
    uint8_t in[ROOM], right[ROOM], out[ROOM];
    size_t length = hex_octets(ulpdu, in, sizeof(in));
    size_t n = hex_octets(wanted, right, sizeof(right));

    assert_int_equal(iw_frame_build(position, markers, in, length, bend, out, sizeof(out)), n);
    assert_memory_equal(out, right, n);
}

static void builds_the_literal_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint8_t right[ROOM], out[ROOM];
        size_t n = hex_octets(vectors[i], right, sizeof(right));
        size_t length = (size_t)right[0] << 8 | right[1];

        assert_int_equal(iw_frame_build(0, false, right + 2, length, NULL, out, sizeof(out)), n);
        assert_memory_equal(out, right, n);
    }
}

#define EMPTY_SEND "4143 00000000 00000000 00000001 00000000"

static void places_a_leading_marker(void **state)
{
    (void)state;
    expect("00000000 00124143 00000000 00000000 00000001 00000000 88c1d6fc", 0, true, EMPTY_SEND,
           NULL);
}

static void builds_the_frames_of_rfc_5044(void **state)
{
    uint8_t ulpdu[42] = {0x41, 0x43}, out[ROOM], right[ROOM];
    size_t n;

    (void)state;
    ulpdu[13] = 1;
    n = hex_octets("00000000 002a4143 00000000 00000000 00000001 00000000 00000000 00000000"
                   " 00000000 00000000 00000000 00000000 52239983",
                   right, sizeof(right));
    assert_int_equal(iw_frame_build(0, true, ulpdu, sizeof(ulpdu), NULL, out, sizeof(out)), n);
    assert_memory_equal(out, right, n);
    ulpdu[13] = 2;
    n = hex_octets("002a4143 00000000 00000000 00000002 00000000 00000014 00000000 00000000"
                   " 00000000 00000000 00000000 00000000 84925898",
                   right, sizeof(right));
    assert_int_equal(iw_frame_build(0x1ec, true, ulpdu, sizeof(ulpdu), NULL, out, sizeof(out)), n);
    assert_memory_equal(out, right, n);
}

/* A Send of n octets 00 01 02 ..., then an empty Send, with Markers from position 0. */
static void marker_stream(size_t n, const char *marker_at_512, size_t second_marker,
                          const char *marker_there, size_t crc_at, const char *crc,
                          size_t last_crc_at, const char *last_crc)
{
    uint8_t ulpdu[1100] = {0x41, 0x43}, out[ROOM], want[8];
    size_t first, second;

    ulpdu[13] = 1;
    for (size_t i = 0; i < n; i++)
        ulpdu[18 + i] = (uint8_t)i;
    first = iw_frame_build(0, true, ulpdu, 18 + n, NULL, out, sizeof(out));
    ulpdu[13] = 2;
    second = iw_frame_build(first, true, ulpdu, 18, NULL, out + first, sizeof(out) - first);
    assert_int_equal(first + second, last_crc_at + 4);
    hex_octets(marker_at_512, want, sizeof(want));
    assert_memory_equal(out + 512, want, 4);
    hex_octets(marker_there, want, sizeof(want));
    assert_memory_equal(out + second_marker, want, 4);
    hex_octets(crc, want, sizeof(want));
    assert_memory_equal(out + crc_at, want, 4);
    hex_octets(last_crc, want, sizeof(want));
    assert_memory_equal(out + last_crc_at, want, 4);
}

static void places_markers_inside_before_the_crc_and_between(void **state)
{
    (void)state;
    marker_stream(1000, "000001fc", 1024, "000003fc", 1032, "5f7b58ca", 1056, "accbdb8c");
    marker_stream(996, "000001fc", 1024, "000003fc", 1028, "4c48c720", 1052, "accbdb8c");
    marker_stream(992, "000001fc", 1024, "00000000", 1020, "83754d28", 1048, "7c71e5b4");
}

static void bends_length_pad_and_crc(void **state)
{
    struct iw_frame_bend bend = IW_FRAME_STRAIGHT;
    static const uint8_t pad[] = {0xaa, 0xbb, 0xcc};

    (void)state;
    assert_false(iw_frame_broken(&bend, true));
    bend.crc = IW_FRAME_CRC_WRONG;
    assert_true(iw_frame_broken(&bend, true));
    assert_false(iw_frame_broken(&bend, false));
    expect("00124143 00000000 00000000 00000001 00000000 a784173b", 0, false, EMPTY_SEND, &bend);
    bend.crc = IW_FRAME_CRC_VALUE;
    bend.crc_value = 0x01020304; /* least significant octet first */
    expect("00124143 00000000 00000000 00000001 00000000 04030201", 0, false, EMPTY_SEND, &bend);
    assert_false(iw_frame_broken(&bend, false));
    bend.crc = IW_FRAME_CRC_ABSENT;
    assert_true(iw_frame_broken(&bend, false));
    expect("00124143 00000000 00000000 00000001 00000000", 0, false, EMPTY_SEND, &bend);
    bend.length = 0xfd01;
    expect("fd014143 00000000 00000000 00000001 00000000", 0, false, EMPTY_SEND, &bend);
    bend = IW_FRAME_STRAIGHT;
    bend.pad = pad;
    bend.pad_length = 3;
    bend.crc = IW_FRAME_CRC_VALUE;
    bend.crc_value = 0;
    expect("00174143 00000000 00000000 00000001 00000000 68656c6c 6faabbcc 00000000", 0, false,
           "4143 00000000 00000000 00000001 00000000 68656c6c 6f", &bend);
    bend.pad_length = 0;
    expect("00174143 00000000 00000000 00000001 00000000 68656c6c 6f00000000", 0, false,
           "4143 00000000 00000000 00000001 00000000 68656c6c 6f", &bend);
}

static void bends_markers(void **state)
{
    struct iw_frame_bend bend = IW_FRAME_STRAIGHT;

    (void)state;
    bend.crc = IW_FRAME_CRC_ABSENT;
    bend.markers = IW_FRAME_MARKERS_ON;
    expect("00000000 00124143 00000000 00000000 00000001 00000000", 512, false, EMPTY_SEND, &bend);
    bend.marker_pointer = 0x1234;
    bend.marker_reserved = 0xabcd;
    expect("abcd1234 00124143 00000000 00000000 00000001 00000000", 512, false, EMPTY_SEND, &bend);
    bend.marker_which = 1; /* there is only Marker 0 */
    expect("00000000 00124143 00000000 00000000 00000001 00000000", 512, false, EMPTY_SEND, &bend);
    bend = IW_FRAME_STRAIGHT;
    bend.crc = IW_FRAME_CRC_ABSENT;
    bend.marker_shift = 8;
    expect("00124143 00000000 00000008 00000000 00000001 00000000", 0, true, EMPTY_SEND, &bend);
    bend.marker_add = -4;
    expect("00124143 00000000 00000004 00000000 00000001 00000000", 0, true, EMPTY_SEND, &bend);
    bend.markers = IW_FRAME_MARKERS_OFF;
    expect("00124143 00000000 00000000 00000001 00000000", 0, true, EMPTY_SEND, &bend);
    bend = IW_FRAME_STRAIGHT;
    for (bend.marker_add = -4; bend.marker_add <= 4; bend.marker_add++)
        assert_int_equal(iw_frame_broken(&bend, true), bend.marker_add < 0 || bend.marker_add > 3);
}

static void refuses_too_little_room(void **state)
{
    uint8_t ulpdu[18] = {0}, out[64];

    (void)state;
    assert_int_equal(iw_frame_build(0, false, ulpdu, 18, NULL, out, 20), 0);
    assert_true(iw_frame_room(65535, 3) >= 2 + 65535 + 3 + 4 + 4 * 130);
    /* What is around the ULPDU, with the longest right pad or a longer one, and two Markers. */
    assert_int_equal(iw_frame_room(0, 0), 17);
    assert_int_equal(iw_frame_room(18, 3), 35);
    assert_int_equal(iw_frame_room(18, 4), 36);
    assert_int_equal(iw_frame_room(498, 3), 515);
    assert_int_equal(iw_frame_room(499, 3), 520); /* a Marker for each 508 octets */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_the_literal_vectors),
        cmocka_unit_test(places_a_leading_marker),
        cmocka_unit_test(builds_the_frames_of_rfc_5044),
        cmocka_unit_test(places_markers_inside_before_the_crc_and_between),
        cmocka_unit_test(bends_length_pad_and_crc),
        cmocka_unit_test(bends_markers),
        cmocka_unit_test(refuses_too_little_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
