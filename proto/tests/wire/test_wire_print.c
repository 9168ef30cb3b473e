/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and the one-line syntax, literal octets against literal text. */
#include <stdlib.h>

#include "wire_support.h"

typedef size_t (*print_fn)(char *text, size_t room, const uint8_t *octets, size_t length);

/* In every room from nothing up: cut, terminated, and the full length returned. */
static void assert_prints(print_fn print, const char *hex, const char *want)
{
    size_t n, length = strlen(want);
    uint8_t *octets = wire_hex(hex, &n);
    char whole[512];

    assert_int_equal(print(whole, sizeof(whole), octets, n), length);
    assert_string_equal(whole, want);
    assert_int_equal(print(NULL, 0, octets, n), length);
    for (size_t room = 1; room <= length + 1; room++) {
        char *text = malloc(room);
        assert_non_null(text);
        assert_int_equal(print(text, room, octets, n), length);
        assert_memory_equal(text, want, room - 1);
        assert_int_equal(text[room - 1], '\0');
        free(text);
    }
    wire_free(octets);
}

static const struct {
    const char *hex, *text;
} segments[] = {
    /* one of each message */
    {"4143 00000000 00000000 00000001 00000000", "send L msn 1 mo 0 len 0"},
    {"4143 00000000 00000000 00000001 00000000 68656c6c6f", "send L msn 1 mo 0 len 5"},
    {"0143 00000000 00000000 ffffffff 000005a2 00", "send msn 4294967295 mo 1442 len 1"},
    {"4144 11223344 00000000 00000002 00000000",
     "send-invalidate L msn 2 mo 0 invalidate 11223344 len 0"},
    {"4145 00000000 00000000 00000003 00000000 01", "send-se L msn 3 mo 0 len 1"},
    {"4146 00000000 00000000 00000003 00000000 01",
     "send-se-invalidate L msn 3 mo 0 invalidate 00000000 len 1"},
    {"c140 11223344 00000000 00001000 deadbeef", "write L stag 11223344 to 1000 len 4"},
    {"8140 00000000 00000000 00000000", "write stag 00000000 to 0 len 0"},
    {"c142 00000001 ffffffff fffffffe 01",
     "read-response L stag 00000001 to fffffffffffffffe len 1"},
    {"4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 "
     "00000000 00001000",
     "read-request msn 1 sink aabbccdd/2000 size 64 source 11223344/1000"},
    {"4148 00000000 00000000 00000001 00000000 01020304 05060708",
     "immediate msn 1 data 0102030405060708"},
    {"4149 00000000 00000000 00000002 00000000 ffffffff ffffffff",
     "immediate-se msn 2 data ffffffffffffffff"},
    {"414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000 00001000 "
     "00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff",
     "atomic-request msn 1 fetch-add id 5a5a0001 at 11223344/1000 add 1/0"},
    {"414a 00000000 00000001 00000002 00000000 00000002 5a5a0002 11223344 00000000 00001000 "
     "00000000 00000002 00000000 000000ff 00000000 00000001 00000000 0000ffff",
     "atomic-request msn 2 cmp-swap id 5a5a0002 at 11223344/1000 swap 2/ff compare 1/ffff"},
    {"414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001",
     "atomic-response msn 1 id 5a5a0001 value 1"},
    {"4147 00000000 00000002 00000001 00000000 20020000",
     "terminate 2/0/02 \"LLP: MPA CRC mismatch\""},
    {"4147 00000000 00000002 00000001 00000000 1100c000 0012c140 11223344 00000000 00001000",
     "terminate 1/1/00 \"DDP: invalid STag\" mdr M D len 18 [write L stag 11223344 to 1000]"},
    {"4147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001 00000001 "
     "00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000",
     "terminate 0/1/01 \"RDMAP: base or bounds violation\" mdr M D R len 46 "
     "[read-request msn 1 sink aabbccdd/2000 size 64 source 11223344/1000]"},

    /* the wrong kind of header, the wrong queue, the wrong number of segments */
    {"c143 11223344 00000000 00001000 01", "send L tagged stag 11223344 to 1000 len 1"},
    {"c141 11223344 00000000 00001000", "read-request tagged stag 11223344 to 1000 len 0"},
    {"c147 11223344 00000000 00001000 20020000", "terminate tagged stag 11223344 to 1000 len 4"},
    {"4140 00000000 00000000 00000001 00000000", "write L untagged qn 0 msn 1 mo 0 len 0"},
    {"0142 00000000 00000003 00000001 00000004", "read-response untagged qn 3 msn 1 mo 4 len 0"},
    {"4143 00000000 00000001 00000001 00000000", "send L qn 1 msn 1 mo 0 len 0"},
    {"0148 00000000 00000004 00000001 00000008 01020304 05060708",
     "immediate not-last qn 4 msn 1 mo 8 data 0102030405060708"},
    {"0147 00000000 00000000 00000002 00000004 20020000",
     "terminate not-last qn 0 msn 2 mo 4 2/0/02 \"LLP: MPA CRC mismatch\""},
    {"4143 0000000f 00000000 00000001 00000000", "send L msn 1 mo 0 rsvdulp 0000000f len 0"},

    /* a header of a wrong size */
    {"4141 00000000 00000001 00000001 00000000 00", "read-request msn 1 len 1"},
    {"4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 "
     "00000000 00001000 00",
     "read-request msn 1 len 29"},
    {"4147 00000000 00000002 00000001 00000000 200200", "terminate len 3"},
    {"4147 00000000 00000002 00000001 00000000 1100c000 0012c140", "terminate len 8"},
    {"4148 00000000 00000000 00000001 00000000 01020304 050607", "immediate msn 1 len 7"},
    {"414a 00000000 00000001 00000001 00000000", "atomic-request msn 1 len 0"},
    {"414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001 00",
     "atomic-response msn 1 len 13"},

    /* versions, reserved bits, opcodes without a name */
    {"4003 00000000 00000000 00000001 00000000", "send L msn 1 mo 0 dv 0 rv 0 len 0"},
    {"7fd3 00000000 00000000 00000001 00000000", "send L msn 1 mo 0 dv 3 rv 3 rsvd f rsv 1 len 0"},
    {"c54c 00000001 00000000 00000002", "opcode-c L stag 00000001 to 2 rsvd 1 len 0"},
    {"016f 00000000 00000009 00000001 00000000 01", "opcode-f qn 9 msn 1 mo 0 rsv 2 len 1"},
    {"414a 00000000 00000001 00000001 00000000 abcdef11 5a5a0001 11223344 00000000 00001000 "
     "00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000",
     "atomic-request msn 1 aopcode-1 id 5a5a0001 at 11223344/1000 swap 1/0 compare 0/0 reserved "
     "abcdef1"},
    {"414a 00000000 00000001 00000001 00000000 00000010 5a5a0001 11223344 00000000 00001000 "
     "00000000 00000001 00000000 00000000 00000000 00000007 ffffffff ffffffff",
     "atomic-request msn 1 fetch-add id 5a5a0001 at 11223344/1000 add 1/0 compare "
     "7/ffffffffffffffff reserved 0000001"},
    {"414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000 00001000 "
     "00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000",
     "atomic-request msn 1 fetch-add id 5a5a0001 at 11223344/1000 add 1/0 compare 0/0"},

    /* Terminates that no table asks for */
    {"4147 00000000 00000002 00000001 00000000 01012000 aabbccdd 00000000 00002000 00000040 "
     "11223344 00000000 00001000",
     "terminate 0/1/01 \"RDMAP: base or bounds violation\" mdr R "
     "[read-request sink aabbccdd/2000 size 64 source 11223344/1000]"},
    {"4147 00000000 00000002 00000001 00000000 12018000",
     "terminate 1/2/01 \"DDP: invalid QN\" mdr M"},
    {"4147 00000000 00000002 00000001 00000000 fffe1001",
     "terminate f/f/fe \"unknown: unknown\" reserved 1001"},
    {"4147 00000000 00000002 00000001 00000000 11004000 0000c140 11223344 00000000 00001000 0000",
     "terminate 1/1/00 \"DDP: invalid STag\" mdr D len 0 [write L stag 11223344 to 1000] trailing "
     "2"},

    /* too short for a DDP header */
    {"", "short segment of 0 octets"},
    {"41", "short segment of 1 octet"},
    {"c140 11223344 00000000 000010", "short segment of 13 octets"},
    {"4143 00000000 00000000 00000001 000000", "short segment of 17 octets"},
};

static void segments_as_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++)
        assert_prints(iw_wire_print_segment, segments[i].hex, segments[i].text);
}

/* The header promises less than 400 characters, whatever the octets. */
static void longest_segment(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned second = 0; second < 256; second++) {
            uint8_t octets[18 + 52];
            memset(octets, 0xff, sizeof(octets));
            octets[0] = (uint8_t)first;
            octets[1] = (uint8_t)second;
            octets[18] = 0x02; /* in a Terminate: the longest name, an untagged header within */
            octets[19] = 0x07;
            octets[24] = 0x7f;
            octets[25] = 0xf5;
            for (size_t n = 0; n <= sizeof(octets); n += sizeof(octets) / 2)
                assert_in_range(iw_wire_print_segment(NULL, 0, octets, n), 20, 399);
        }
    }
}

#define REQUEST_KEY "4d504120 49442052 65712046 72616d65"
#define REPLY_KEY "4d504120 49442052 65702046 72616d65"

static const struct {
    const char *hex, *text;
} frames[] = {
    {REQUEST_KEY "40010000", "mpa request rev 1 C pd 0"},
    {REQUEST_KEY "50020004 c010c010", "mpa request rev 2 C S pd 4 A B C D ird 16 ord 16"},
    {REQUEST_KEY "50020008 c010c010 01020304",
     "mpa request rev 2 C S pd 8 A B C D ird 16 ord 16 data 01020304"},
    {REQUEST_KEY "10020004 3fff0000", "mpa request rev 2 S pd 4 ird 16383 ord 0"},
    {REQUEST_KEY "10020004 80018002", "mpa request rev 2 S pd 4 A C ird 1 ord 2"},
    {REPLY_KEY "e0010000", "mpa reply rev 1 M C R pd 0"},
    {REPLY_KEY "0f000002 abcd", "mpa reply rev 0 res f pd 2 data abcd"},
    /* the frame's own octets only: what follows is not private data */
    {REPLY_KEY "00010001 abcdef", "mpa reply rev 1 pd 1 data ab"},
    /* 32 octets are shown whole, of 33 the first 32 */
    {REQUEST_KEY "00010020 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "mpa request rev 1 pd 32 data "
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"},
    {REQUEST_KEY "00010021 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
     "mpa request rev 1 pd 33 data "
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f..."},
    /* less than PD_Length says; an enhanced block that is not whole */
    {REQUEST_KEY "0001ffff", "mpa request rev 1 pd 65535 cut"},
    {REQUEST_KEY "50020008 c010c010 0102",
     "mpa request rev 2 C S pd 8 A B C D ird 16 ord 16 data 0102 cut"},
    {REQUEST_KEY "50020004 c010c0", "mpa request rev 2 C S pd 4 data c010c0 cut"},
    {REQUEST_KEY "50020003 c010c010", "mpa request rev 2 C S pd 3 data c010c0"},
    {"4d504120 49442052 65722046 72616d65 40010000", "mpa wrong-key rev 1 C pd 0"},
    {"", "short mpa frame of 0 octets"},
    {"4d", "short mpa frame of 1 octet"},
    {REQUEST_KEY "400100", "short mpa frame of 19 octets"},
};

static void frames_as_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        assert_prints(iw_wire_print_startup, frames[i].hex, frames[i].text);
}

static void nothing_at_null(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(iw_wire_print_segment(text, sizeof(text), NULL, 0), 25);
    assert_string_equal(text, "short segment of 0 octets");
    assert_int_equal(iw_wire_print_startup(text, sizeof(text), NULL, 0), 27);
    assert_string_equal(text, "short mpa frame of 0 octets");
}

static void names(void **state)
{
    static const char *const opcodes[][2] = {
        {"RDMA Write", "write"},
        {"RDMA Read Request", "read-request"},
        {"RDMA Read Response", "read-response"},
        {"Send", "send"},
        {"Send with Invalidate", "send-invalidate"},
        {"Send with SE", "send-se"},
        {"Send with SE and Invalidate", "send-se-invalidate"},
        {"Terminate", "terminate"},
        {"Immediate Data", "immediate"},
        {"Immediate Data with SE", "immediate-se"},
        {"Atomic Request", "atomic-request"},
        {"Atomic Response", "atomic-response"},
        {"reserved", "reserved"},
        {"reserved", "reserved"},
        {"reserved", "reserved"},
        {"reserved", "reserved"},
        {"reserved", "reserved"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
        assert_string_equal(iw_wire_opcode_name(i), opcodes[i][0]);
        assert_string_equal(iw_wire_opcode_token(i), opcodes[i][1]);
    }
    assert_string_equal(iw_wire_term_layer_name(0), "RDMAP");
    assert_string_equal(iw_wire_term_layer_name(1), "DDP");
    assert_string_equal(iw_wire_term_layer_name(2), "LLP");
    assert_string_equal(iw_wire_term_layer_name(3), "unknown");
    assert_string_equal(iw_wire_term_layer_name(15), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_as_text),
        cmocka_unit_test(longest_segment),
        cmocka_unit_test(frames_as_text),
        cmocka_unit_test(nothing_at_null),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
