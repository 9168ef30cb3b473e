/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool write_frame(struct iw_pcapng *w, uint64_t time, const char *data, uint32_t length,
                        const char *const *comments, size_t count)
{
    struct iw_frame frame = {
        .time = time, .data = (const uint8_t *)data, .length = length, .original = length};
    return iw_pcapng_frame(w, &frame, comments, count);
}

static void expect_file(const char *path, const uint8_t *octets, size_t length)
{
    size_t got;
    char *data = scratch_read(path, &got);
    assert_int_equal(got, length);
    assert_memory_equal(data, octets, length);
    free(data);
}

static void literal_blocks(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        /* Section Header Block: version 1.0, length not given, comment, application */
        0x0a, 0x0d, 0x0d, 0x0a, 52, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, /**/
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,                          /**/
        1, 0, 6, 0, 'a', ' ', 'c', 'a', 's', 'e', 0, 0,                          /**/
        4, 0, 4, 0, 't', 'o', 'o', 'l', 0, 0, 0, 0, 52, 0, 0, 0,                 /**/
        /* Interface Description Block: Ethernet, no snap length, resolution 10^-9 */
        1, 0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, /**/
        9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, /**/
        /* Enhanced Packet Block: 5 octets, two comments of 3 and 4 octets */
        6, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0,                      /**/
        0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,           /* time, its high half first */
        5, 0, 0, 0, 5, 0, 0, 0, 'h', 'e', 'l', 'l', 'o', 0, 0, 0, /**/
        1, 0, 3, 0, 'o', 'n', 'e', 0, 1, 0, 4, 0, 'm', 'o', 'r', 'e', 0, 0, 0, 0, 60, 0, 0, 0,
        /* Enhanced Packet Block: 4 octets, no options */
        6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0x04, 0x03, 0x02, 0x01, 0x09, 0x07, 0x06, 0x05, /**/
        4, 0, 0, 0, 4, 0, 0, 0, 'f', 'o', 'u', 'r', 36, 0, 0, 0};
    char error[IW_CAPTURE_ERROR] = "";
    const char *path = scratch_path("out.pcapng");
    const char *const comments[] = {"one", "more"};
    struct iw_pcapng *w = iw_pcapng_create(path, IW_LINK_ETHERNET, "tool", "a case", error);
    assert_non_null(w);
    assert_true(write_frame(w, UINT64_C(0x0102030405060708), "hello", 5, comments, 2));
    assert_true(write_frame(w, UINT64_C(0x0102030405060709), "four", 4, NULL, 0));
    assert_true(iw_pcapng_close(w, error));
    assert_string_equal(error, "");
    expect_file(path, expected, sizeof(expected));
}

/* A frame that was cut, on another link. */
static void other_links(void **state)
{
    static const uint16_t linktypes[] = {
        [IW_LINK_ETHERNET] = 1, [IW_LINK_SLL] = 113,  [IW_LINK_SLL2] = 276,
        [IW_LINK_NULL] = 0,     [IW_LINK_LOOP] = 108, [IW_LINK_RAW] = 101};

    (void)state;
    for (size_t i = 0; i < sizeof(linktypes) / sizeof(*linktypes); i++) {
        char error[IW_CAPTURE_ERROR];
        const char *path = scratch_path("out.pcapng");
        struct iw_frame frame = {
            .time = 5, .data = (const uint8_t *)"abcd", .length = 4, .original = 0x01020304};
        struct iw_pcapng *w = iw_pcapng_create(path, (enum iw_link)i, NULL, NULL, error);
        assert_non_null(w);
        assert_true(iw_pcapng_frame(w, &frame, NULL, 0));
        assert_true(iw_pcapng_close(w, error));
        size_t length;
        uint8_t *data = (uint8_t *)scratch_read(path, &length);
        assert_int_equal(length, 28 + 32 + 36);
        const uint8_t link[2] = {(uint8_t)linktypes[i], (uint8_t)(linktypes[i] >> 8)};
        assert_memory_equal(data + 28 + 8, link, 2);
        static const uint8_t lengths[12] = {4, 0, 0, 0, 4, 3, 2, 1, 'a', 'b', 'c', 'd'};
        assert_memory_equal(data + 28 + 32 + 20, lengths, sizeof(lengths));
        free(data);
    }
}

static void copy_frame(struct iw_pcapng *w, uint32_t interface, uint32_t linktype)
{
    struct iw_frame frame = {.interface = interface,
                             .linktype = linktype,
                             .data = (const uint8_t *)"abcd",
                             .length = 4,
                             .original = 4};
    assert_true(iw_pcapng_copy(w, &frame, NULL, 0));
}

/* Interfaces are numbered anew, and described before their first frame. */
static void copies_have_their_interfaces(void **state)
{
    (void)state;
    enum { SECTION = 28, INTERFACE = 32, PACKET = 36 };
    static const struct {
        uint8_t size, type, value; /* of the linktype, or the interface */
    } blocks[] = {
        {INTERFACE, 1, 101}, {PACKET, 6, 0}, {INTERFACE, 1, 1}, {PACKET, 6, 1},
        {PACKET, 6, 0},      {PACKET, 6, 1}, {INTERFACE, 1, 0}, {PACKET, 6, 2},
        {INTERFACE, 1, 113}, {PACKET, 6, 3}, {PACKET, 6, 2},
    };
    char error[IW_CAPTURE_ERROR] = "";
    const char *path = scratch_path("out.pcapng");
    struct iw_pcapng *w = iw_pcapng_create(path, IW_LINK_OTHER, NULL, NULL, error);
    assert_non_null(w);
    copy_frame(w, 2, 101);
    copy_frame(w, 0, 1);
    copy_frame(w, 2, 101);
    copy_frame(w, 0, 1);
    copy_frame(w, 5, 0); /* of more than there was room for */
    copy_frame(w, 1, 113);
    copy_frame(w, 5, 0);
    assert_true(iw_pcapng_close(w, error));
    size_t length, at = SECTION;
    uint8_t *data = (uint8_t *)scratch_read(path, &length);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        assert_true(at + blocks[i].size <= length);
        assert_int_equal(data[at], blocks[i].type);
        assert_int_equal(data[at + 4], blocks[i].size);
        assert_int_equal(data[at + 8], blocks[i].value);
        at += blocks[i].size;
    }
    assert_int_equal(at, length);
    free(data);
}

static void without_texts(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        0x0a, 0x0d, 0x0d, 0x0a, 28,   0,    0,    0,    0x4d, 0x3c, 0x2b, 0x1a, 1,  0, 0, 0, /**/
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28,   0,    0,    0,                 /**/
        1,    0,    0,    0,    32,   0,    0,    0,    1,    0,    0,    0,    0,  0, 0, 0, /**/
        9,    0,    1,    0,    9,    0,    0,    0,    0,    0,    0,    0,    32, 0, 0, 0};
    char error[IW_CAPTURE_ERROR];
    const char *path = scratch_path("out.pcapng");
    struct iw_pcapng *w = iw_pcapng_create(path, IW_LINK_ETHERNET, NULL, NULL, error);
    assert_non_null(w);
    assert_true(iw_pcapng_close(w, error));
    expect_file(path, expected, sizeof(expected));
}

/* 65534 letters and a character of two octets: the option cannot hold the whole of it. */
static void long_comment_is_cut_at_a_character(void **state)
{
    (void)state;
    enum { LETTERS = 65534, BLOCK = 28 + 32 };
    char *text = malloc(LETTERS + 3);
    assert_non_null(text);
    memset(text, 'a', LETTERS);
    memcpy(text + LETTERS, "\xc3\xa9", 3);
    char error[IW_CAPTURE_ERROR];
    const char *path = scratch_path("out.pcapng");
    const char *const comments[] = {text};
    struct iw_pcapng *w = iw_pcapng_create(path, IW_LINK_ETHERNET, NULL, NULL, error);
    assert_non_null(w);
    assert_true(write_frame(w, 0, "", 0, comments, 1));
    assert_true(iw_pcapng_close(w, error));
    size_t length;
    uint8_t *data = (uint8_t *)scratch_read(path, &length);
    /* The option's code and length; after its text, two octets of padding and the end. */
    static const uint8_t code[4] = {1, 0, 0xfe, 0xff};
    static const uint8_t after[6] = {0};
    assert_int_equal(length, BLOCK + 28 + 4 + LETTERS + 2 + 4 + 4);
    assert_memory_equal(data + BLOCK + 28, code, 4);
    assert_int_equal(data[BLOCK + 32 + LETTERS - 1], 'a');
    assert_memory_equal(data + BLOCK + 32 + LETTERS, after, 6);
    free(data);
    free(text);
}

static void failures(void **state)
{
    (void)state;
    char error[IW_CAPTURE_ERROR] = "";
    assert_null(iw_pcapng_create("/nowhere/at/all", IW_LINK_ETHERNET, NULL, NULL, error));
    assert_string_equal(error, "/nowhere/at/all: cannot be created: No such file or directory");
    struct iw_pcapng *w = iw_pcapng_create("/dev/full", IW_LINK_ETHERNET, NULL, NULL, error);
    assert_non_null(w);
    assert_false(iw_pcapng_close(w, error));
    assert_string_equal(error, "/dev/full: cannot be written: No space left on device");

    /* Refused, and the file is as if it had not been tried. */
    const char *path = scratch_path("out.pcapng");
    static char comment[65536];
    static const char *comments[256];
    memset(comment, 'c', sizeof(comment) - 1);
    for (size_t i = 0; i < 256; i++)
        comments[i] = comment;
    w = iw_pcapng_create(path, IW_LINK_ETHERNET, NULL, NULL, error);
    assert_non_null(w);
    assert_false(write_frame(w, 0, "x", 1, comments, 256));
    assert_false(write_frame(w, 0, "x", UINT32_MAX, NULL, 0));
    assert_false(iw_pcapng_close(w, error));
    assert_non_null(strstr(error, ": a frame with its comments is longer than a block may be"));
    size_t length;
    free(scratch_read(path, &length));
    assert_int_equal(length, 28 + 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_blocks),
        cmocka_unit_test(other_links),
        cmocka_unit_test(copies_have_their_interfaces),
        cmocka_unit_test(without_texts),
        cmocka_unit_test(long_comment_is_cut_at_a_character),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
