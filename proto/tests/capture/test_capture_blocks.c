/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of pcapng and records of pcap at the bounds of what they may say, little-endian. */
#include "iwarp/capture.h"
#include "scratch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire_support.h"

#define SECTION "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000 "
#define INTERFACE "01000000 14000000 0100 0000 00000000 14000000 "
#define PACKET(octets)                                                                             \
    "06000000 24000000 00000000 00000000 01000000 03000000 03000000 " octets "00 24000000 "

/* What the reader says of a capture: each frame as "TIME INTERFACE OCTETS/ORIGINAL", then the error
 * after the file's name. */
static void says(const char *hex, const char *expected)
{
    size_t length;
    uint8_t *octets = wire_hex(hex, &length);
    const char *path = scratch_file("in.pcapng", octets, length);
    char error[IW_CAPTURE_ERROR] = "", said[1024] = "";
    struct iw_frame frame;
    int result = 0;
    struct iw_capture *c = iw_capture_open(path, error);

    wire_free(octets);
    while (c != NULL && (result = iw_capture_next(c, &frame, error)) == 1)
        snprintf(said + strlen(said), sizeof(said) - strlen(said),
                 "%" PRIu64 " %" PRIu32 " %.*s/%" PRIu32 "; ", frame.time, frame.interface,
                 (int)frame.length, (const char *)frame.data, frame.original);
    iw_capture_close(c);
    assert_true(c == NULL || result == (error[0] != '\0' ? -1 : 0));
    if (error[0] != '\0') {
        assert_memory_equal(error, path, strlen(path));
        snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s", error + strlen(path) + 2);
    }
    assert_string_equal(said, expected);
}

#define AT(frame, offset) "frame " frame " at offset " offset ": expected a whole record: "

static void sections(void **state)
{
    (void)state;
    says(SECTION, "");
    says(SECTION INTERFACE PACKET("616263"), "1000 0 abc/3; ");
    says("0a0d0d0a 18000000 4d3c2b1a 0100 0000 ffffffff 18000000 ",
         AT("1", "0") "a section header of 24 octets");
    says("0a0d0d0a 1c000000 4d3c2b1a 0200 0000 ffffffffffffffff 1c000000 ",
         AT("1", "0") "pcapng version 2, expected 1");
    says("0a0d0d0a 1c000000 4d3c2b1b 0100 0000 ffffffffffffffff 1c000000 ",
         AT("1", "0") "a section header without byte-order magic");
    /* Interfaces are counted anew in each. */
    says(SECTION INTERFACE PACKET("616263") SECTION PACKET("646566"),
         "1000 0 abc/3; " AT("2", "112") "interface 0 of 0");
    says(SECTION INTERFACE PACKET("616263") SECTION INTERFACE PACKET("646566"),
         "1000 0 abc/3; 1000 1 def/3; ");
}

static void lengths_of_blocks(void **state)
{
    (void)state;
    says(SECTION "0b000000 0c000000 0c000000 " INTERFACE PACKET("616263"), "1000 0 abc/3; ");
    says(SECTION "0b000000 08000000 08000000 ",
         AT("1", "28") "a block total length of 8, expected a multiple of 4 from 12 to the maximum "
                       "of 16777216");
    says(SECTION "0b000000 0d000000 000000000d000000",
         AT("1", "28") "a block total length of 13, expected a multiple of 4 from 12 to the "
                       "maximum of 16777216");
    says(SECTION "0b000000 00000001 00000000 ",
         AT("1", "28") "it is truncated: only 12 of 16777216 octets");
    says(SECTION "0b000000 04000001 00000000 ",
         AT("1", "28") "a block total length of 16777220, expected a multiple of 4 from 12 to the "
                       "maximum of 16777216");
    says(SECTION "0b000000 10000000 00000000 0c000000 ",
         AT("1", "28") "a block total length of 16 in front and 12 behind");
    says(SECTION "0b000000 10000000 00000000 0c0000 ",
         AT("1", "28") "it is truncated: only 15 of 16 octets");
    says(SECTION "0b000000 0c000000 0c0000 ",
         AT("1", "28") "it is truncated: only 11 of 12 octets");
}

static void descriptions_of_interfaces(void **state)
{
    static const struct {
        const char *options, *size, *time;
    } rows[] = {
        {"", "14", "1000"},
        {"00000000 ", "18", "1000"},
        /* Nanoseconds; two octets of it, and more options than there is room for, are none. */
        {"09000100 09000000 ", "1c", "1"},
        {"09000100 09000000 00000000 ", "20", "1"},
        {"09000200 09000000 ", "1c", "1000"},
        {"09000500 09000000 ", "1c", "1000"},
        {"09000400 09000000 ", "1c", "1000"},
        {"00000000 09000100 09000000 ", "20", "1000"},
        {"0200 0000 09000100 09000000 ", "20", "1"},
        {"0200 0100 61000000 09000100 09000000 ", "24", "1"},
        {"0200 0400 61626364 09000100 09000000 ", "24", "1"},
        {"0200 0500 6162636465000000 09000100 09000000 ", "28", "1"},
        /* An offset of 5 seconds, and of 4294967296. */
        {"0e000800 05000000 00000000 ", "20", "5000001000"},
        {"0e000800 00000000 01000000 ", "20", "4294967296000001000"},
        {"0e000700 05000000 00000000 ", "20", "1000"},
        {"0e000800 05000000 ", "1c", "1000"},
        {"09000100 09000000 0e000800 05000000 00000000 ", "28", "5000000001"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char hex[512], expected[64];

        snprintf(hex, sizeof(hex), SECTION "01000000 %s000000 0100 0000 00000000 %s %s000000 %s",
                 rows[i].size, rows[i].options, rows[i].size, PACKET("616263"));
        snprintf(expected, sizeof(expected), "%s 0 abc/3; ", rows[i].time);
        says(hex, expected);
    }
    says(SECTION "01000000 10000000 0100 0000 10000000 ",
         AT("1", "28") "an interface description of 16 octets");
}

static void packets(void **state)
{
    (void)state;
    /* The least block; as many octets as fit; one more. */
    says(SECTION INTERFACE
         "06000000 20000000 00000000 00000000 01000000 00000000 00000000 20000000",
         "1000 0 /0; ");
    says(SECTION INTERFACE "06000000 1c000000 00000000 00000000 01000000 00000000 1c000000",
         AT("1", "48") "a packet block of 28 octets");
    says(SECTION INTERFACE
         "06000000 24000000 00000000 00000000 01000000 04000000 04000000 61626364 24000000",
         "1000 0 abcd/4; ");
    says(SECTION INTERFACE
         "06000000 24000000 00000000 00000000 01000000 05000000 05000000 61626364 24000000",
         AT("1", "48") "invalid packet capture length 5 in a block of 36 octets");
    /* More on the link than was captured; less is none. */
    says(SECTION INTERFACE
         "06000000 24000000 00000000 00000000 01000000 03000000 09000000 61626300 24000000",
         "1000 0 abc/9; ");
    says(SECTION INTERFACE
         "06000000 24000000 00000000 00000000 01000000 03000000 02000000 61626300 24000000",
         "1000 0 abc/3; ");
    says(SECTION INTERFACE
         "06000000 24000000 01000000 00000000 01000000 03000000 03000000 61626300 24000000",
         AT("1", "48") "interface 1 of 1");
    says(SECTION PACKET("616263"), AT("1", "28") "interface 0 of 0");
    /* The upper half of the time. */
    says(SECTION INTERFACE
         "06000000 24000000 00000000 01000000 02000000 03000000 03000000 61626300 24000000",
         "4294967298000 0 abc/3; ");
    /* Of an obsolete one the interface has 16 bits, and the packets that were dropped as many. */
    says(SECTION INTERFACE
         "02000000 24000000 0000 0700 00000000 01000000 03000000 03000000 61626300 24000000",
         "1000 0 abc/3; ");
    says(SECTION INTERFACE
         "02000000 24000000 0100 0000 00000000 01000000 03000000 03000000 61626300 24000000",
         AT("1", "48") "interface 1 of 1");
}

/* They have the interface's snap length, and no time of their own. */
static void simple_packets(void **state)
{
    (void)state;
    says(SECTION INTERFACE "03000000 10000000 00000000 10000000", "0 0 /0; ");
    says(SECTION INTERFACE "03000000 0c000000 0c000000",
         AT("1", "48") "a packet block of 12 octets");
    says(SECTION INTERFACE PACKET("616263") "03000000 14000000 02000000 64650000 14000000",
         "1000 0 abc/3; 1000 0 de/2; ");
    says(SECTION INTERFACE "03000000 14000000 04000000 61626364 14000000", "0 0 abcd/4; ");
    says(SECTION INTERFACE "03000000 14000000 05000000 61626364 14000000",
         AT("1", "48") "invalid packet capture length 5 in a block of 20 octets");
#define SNAP(length) "01000000 14000000 0100 0000 " length " 14000000 "
    says(SECTION SNAP("03000000") "03000000 14000000 05000000 61626300 14000000", "0 0 abc/5; ");
    says(SECTION SNAP("05000000") "03000000 14000000 04000000 61626364 14000000", "0 0 abcd/4; ");
    says(SECTION SNAP("04000000") "03000000 14000000 04000000 61626364 14000000", "0 0 abcd/4; ");
    says(SECTION "03000000 14000000 04000000 61626364 14000000", AT("1", "28") "interface 0 of 0");
    /* The snap length does not cut others. */
    says(SECTION SNAP("02000000") PACKET("616263"), "1000 0 abc/3; ");
}

#define HEADER(magic, version, link) magic version "00000000 00000000 ffff0000 " link
#define RECORD(captured, original) "05000000 07000000 " captured original

static void records(void **state)
{
    (void)state;
    says(HEADER("d4c3b2a1", "0200 0400", "01000000") RECORD("03000000", "03000000") "616263",
         "5000007000 0 abc/3; ");
    says(HEADER("4d3cb2a1", "0200 0400", "01000000") RECORD("03000000", "09000000") "616263",
         "5000000007 0 abc/9; ");
    says(HEADER("d4c3b2a1", "0200 0400", "01000000") RECORD("03000000", "02000000") "616263",
         "5000007000 0 abc/3; ");
    says(HEADER("d4c3b2a1", "0200 0400", "01000000") RECORD("00000000", "00000000"),
         "5000007000 0 /0; ");
    /* Behind the link type: frames end with a check sequence. */
    says(HEADER("d4c3b2a1", "0200 0400", "01000024") RECORD("03000000", "03000000") "616263",
         "5000007000 0 abc/3; ");
    says(HEADER("d4c3b2a1", "0200 0400", "01000002"),
         "link type 33554433 (unknown) is not supported: expected Ethernet, Linux cooked, "
         "loopback or raw IP");
    says(HEADER("d4c3b2a1", "0200 0400", "01000000") RECORD("00000400", "03000000") "616263",
         AT("1", "24") "it is truncated: only 19 of 262160 octets");
    says(HEADER("d4c3b2a1", "0200 0400", "01000000") RECORD("01000400", "03000000") "616263",
         AT("1", "24") "invalid packet capture length 262145, expected at most 262144");
}

/* The link types that are read; raw IP has several numbers. */
static void link_types(void **state)
{
    static const struct {
        unsigned type;
        enum iw_link link;
    } rows[] = {
        {0, IW_LINK_NULL},  {1, IW_LINK_ETHERNET}, {12, IW_LINK_RAW},  {14, IW_LINK_RAW},
        {101, IW_LINK_RAW}, {108, IW_LINK_LOOP},   {113, IW_LINK_SLL}, {228, IW_LINK_RAW},
        {229, IW_LINK_RAW}, {276, IW_LINK_SLL2},
    };

    (void)state;
    for (unsigned type = 0; type < 300; type++) {
        enum iw_link expected = IW_LINK_OTHER;
        uint8_t octets[] = {0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0,
                            (uint8_t)type, (uint8_t)(type >> 8), 0, 0,
                            /* a record of no octets */
                            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        char error[IW_CAPTURE_ERROR] = "";
        struct iw_frame frame;

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            if (rows[i].type == type)
                expected = rows[i].link;
        struct iw_capture *c =
            iw_capture_open(scratch_file("in.pcap", octets, sizeof(octets)), error);
        if (expected == IW_LINK_OTHER) {
            assert_null(c);
            assert_non_null(strstr(error, " is not supported: "));
            continue;
        }
        assert_non_null(c);
        assert_int_equal(iw_capture_next(c, &frame, error), 1);
        assert_int_equal(frame.link, expected);
        assert_int_equal(frame.linktype, type);
        iw_capture_close(c);
    }
}

/* As many frames as there is room for, and as are in the memory already. */
static void frames_come_in_batches(void **state)
{
    enum { ROOM = 3 };
    size_t length, count = 99;
    uint8_t *octets = wire_hex(SECTION INTERFACE PACKET("616161") PACKET("626262") PACKET("636363")
                                   PACKET("646464") "06000000 08000000 08000000",
                               &length);
    const char *path = scratch_file("in.pcapng", octets, length);
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_frame frames[ROOM + 1];
    struct iw_capture *c = iw_capture_open(path, error);

    (void)state;
    wire_free(octets);
    assert_non_null(c);
    assert_int_equal(iw_capture_batch(c, frames, 1, &count, error), 1);
    assert_int_equal(count, 1);
    assert_memory_equal(frames[0].data, "aaa", 3);
    frames[ROOM].number = 77;
    assert_int_equal(iw_capture_batch(c, frames, ROOM, &count, error), 1);
    assert_int_equal(count, 3);
    for (unsigned i = 0; i < ROOM; i++) {
        assert_int_equal(frames[i].number, i + 2);
        assert_int_equal(frames[i].data[0], 'b' + i);
    }
    assert_int_equal(frames[ROOM].number, 77);
    assert_string_equal(error, "");
    assert_int_equal(iw_capture_batch(c, frames, ROOM, &count, error), -1);
    assert_int_equal(count, 0);
    assert_non_null(strstr(error, "a block total length of 8"));
    iw_capture_close(c);
    assert_int_equal(iw_capture_dropped(c = iw_capture_open(path, error)), 0); /* a file */
    iw_capture_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections),
        cmocka_unit_test(lengths_of_blocks),
        cmocka_unit_test(descriptions_of_interfaces),
        cmocka_unit_test(packets),
        cmocka_unit_test(simple_packets),
        cmocka_unit_test(records),
        cmocka_unit_test(link_types),
        cmocka_unit_test(frames_come_in_batches),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
