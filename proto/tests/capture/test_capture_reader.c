/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/capture.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Classic pcap, little-endian, microseconds, snap length 64, Ethernet. */
#define PCAP_HEADER(link)                                                                          \
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, link, 0, 0, 0
#define RECORD_1 0x00, 0xf1, 0x53, 0x65, 7, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 'a', 'b', 'c', 'd'
#define RECORD_2 0x01, 0xf1, 0x53, 0x65, 9, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 'e', 'f'
static const uint8_t pcap[] = {PCAP_HEADER(1), RECORD_1, RECORD_2};
enum { HEADER = 24, FIRST = HEADER + 20, WHOLE = FIRST + 18 };

/* The same, big-endian, nanoseconds, raw IP (101). */
static const uint8_t pcap_ns[] = {
    0xa1, 0xb2, 0x3c, 0x4d, 0,    2,    0,    4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0,
    0,    0,    101,  0x65, 0x53, 0xf1, 0x00, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 'x'};

/* pcapng: section, interface (SLL2, no options: microseconds), one packet of 3 octets. */
static const uint8_t pcapng[] = {
    0x0a, 0x0d, 0x0d, 0x0a, 28,   0,    0,    0,  0x4d, 0x3c, 0x2b, 0x1a, 1,  0, 0, 0,  0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0,    0,    0,    1,    0,  0, 0, 20, 0,
    0,    0,    0x14, 0x01, 0,    0,    0,    0,  4,    0,    20,   0,    0,  0, 6, 0,  0,
    0,    36,   0,    0,    0,    0,    0,    0,  0,    1,    0,    0,    0,  5, 0, 0,  0,
    3,    0,    0,    0,    3,    0,    0,    0,  'x',  'y',  'z',  0,    36, 0, 0, 0};

static struct iw_capture *open_octets(const void *octets, size_t length)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_capture *c = iw_capture_open(scratch_file("in.pcap", octets, length), error);
    assert_string_equal(error, "");
    assert_non_null(c);
    return c;
}

static void expect_frame(struct iw_capture *c, uint64_t number, uint64_t time, enum iw_link link,
                         const char *octets, uint32_t original)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_frame frame;
    assert_int_equal(iw_capture_next(c, &frame, error), 1);
    assert_int_equal(frame.number, number);
    assert_int_equal(frame.time, time);
    assert_int_equal(frame.link, link);
    assert_int_equal(frame.length, strlen(octets));
    assert_memory_equal(frame.data, octets, frame.length);
    assert_int_equal(frame.original, original);
}

static void expect_end(struct iw_capture *c)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_frame frame;
    assert_int_equal(iw_capture_next(c, &frame, error), 0);
    assert_int_equal(iw_capture_next(c, &frame, error), 0);
    assert_string_equal(error, "");
    iw_capture_close(c);
}

static void formats(void **state)
{
    (void)state;
    struct iw_capture *c = open_octets(pcap, sizeof(pcap));
    expect_frame(c, 1, UINT64_C(1700000000000007000), IW_LINK_ETHERNET, "abcd", 4);
    expect_frame(c, 2, UINT64_C(1700000001000009000), IW_LINK_ETHERNET, "ef", 9);
    expect_end(c);
    c = open_octets(pcap_ns, sizeof(pcap_ns));
    expect_frame(c, 1, UINT64_C(1700000000000000007), IW_LINK_RAW, "x", 1);
    expect_end(c);
    c = open_octets(pcapng, sizeof(pcapng));
    expect_frame(c, 1, UINT64_C(4294967301000), IW_LINK_SLL2, "xyz", 3);
    expect_end(c);
    /* No frame at all is a whole capture, too. */
    expect_end(open_octets(pcap, HEADER));
    iw_capture_close(NULL);
}

static void link_types(void **state)
{
    (void)state;
    static const struct {
        uint8_t number;
        enum iw_link link;
    } links[] = {{1, IW_LINK_ETHERNET}, {113, IW_LINK_SLL}, {0, IW_LINK_NULL}, {108, IW_LINK_LOOP},
                 {101, IW_LINK_RAW},    {228, IW_LINK_RAW}, {229, IW_LINK_RAW}};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        const uint8_t octets[] = {PCAP_HEADER(links[i].number), RECORD_1};
        struct iw_capture *c = open_octets(octets, sizeof(octets));
        expect_frame(c, 1, UINT64_C(1700000000000007000), links[i].link, "abcd", 4);
        expect_end(c);
    }
}

/* What only libpcap knows: a variant of pcap whose frames have headers longer by the interface, the
 * protocol and the kind of packet. In either order of octets. */
static void another_variant(void **state)
{
    (void)state;
    static const uint8_t little[] = {0x34, 0xcd, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0,   0,   0,   0,
                                     0,    0,    64,   0,    0, 0, 1, 0, 0, 0, /**/
                                     0x00, 0xf1, 0x53, 0x65, 7, 0, 0, 0, 4, 0, 0,   0,   4,   0,
                                     0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 'a', 'b', 'c', 'd'};
    static const uint8_t big[] = {0xa1, 0xb2, 0xcd, 0x34, 0, 2,  0, 4, 0, 0, 0,   0,   0,   0,
                                  0,    0,    0,    0,    0, 64, 0, 0, 0, 1, /**/
                                  0x65, 0x53, 0xf1, 0x00, 0, 0,  0, 7, 0, 0, 0,   4,   0,   0,
                                  0,    4,    0,    0,    0, 0,  0, 0, 0, 0, 'a', 'b', 'c', 'd'};
    for (int order = 0; order < 2; order++) {
        struct iw_capture *c = open_octets(order == 0 ? little : big, sizeof(little));
        expect_frame(c, 1, UINT64_C(1700000000000007000), IW_LINK_ETHERNET, "abcd", 4);
        expect_end(c);
    }
}

static void standard_input(void **state)
{
    (void)state;
    char error[IW_CAPTURE_ERROR];
    FILE *file = freopen(scratch_file("in.pcap", pcap, FIRST + 3), "rb", stdin);
    assert_non_null(file);
    struct iw_capture *c = iw_capture_open("-", error);
    assert_non_null(c);
    uint64_t at = 1, size = 0;
    assert_true(iw_capture_progress(c, &at, &size));
    assert_int_equal(at, 24);
    assert_int_equal(size, FIRST + 3);
    expect_frame(c, 1, UINT64_C(1700000000000007000), IW_LINK_ETHERNET, "abcd", 4);
    struct iw_frame frame;
    assert_int_equal(iw_capture_next(c, &frame, error), -1);
    assert_memory_equal(error, "standard input: frame 2 at offset 44: ", 38);
    iw_capture_close(c);
}

/* One line that begins with the path and `where` and contains `what`. */
static void expect_error(const char *error, const char *path, const char *where, const char *what)
{
    char start[IW_CAPTURE_ERROR];
    snprintf(start, sizeof(start), "%s: %s", path, where);
    if (strncmp(error, start, strlen(start)) != 0 || strstr(error, what) == NULL ||
        strchr(error, '\n') != NULL)
        fail_msg("\"%s\" does not begin with \"%s\" or lacks \"%s\"", error, start, what);
}

static void expect_no_capture(const char *path, const char *where, const char *what)
{
    char error[IW_CAPTURE_ERROR] = "";
    assert_null(iw_capture_open(path, error));
    expect_error(error, path, where, what);
}

static void not_a_capture(void **state)
{
    (void)state;
    const char *header = "offset 0: expected the header of a pcap or pcapng capture: ";
    expect_no_capture(scratch_path("absent"), "cannot be opened: ", "No such file or directory");
    expect_no_capture("/", "cannot be opened: ", "Is a directory");
    expect_no_capture(scratch_file("in.pcap", "", 0), header, "truncated");
    expect_no_capture(scratch_file("in.pcap", pcap, HEADER - 1), header, "truncated");
    expect_no_capture(scratch_file("in.pcap", pcapng, 20), header, "truncated");
    expect_no_capture(scratch_file("in.pcap", "\x1f\x8b\x08\x00 compressed, 26 octets", 26), header,
                      "unknown file format");
    const uint8_t wifi[] = {PCAP_HEADER(105)};
    expect_no_capture(scratch_file("in.pcap", wifi, sizeof(wifi)),
                      "link type 105 (IEEE802_11) is not supported: ", "expected Ethernet");
}

/* Reads to the error, which must come after `good` frames. */
static void expect_broken(const void *octets, size_t length, unsigned good, const char *where,
                          const char *what)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_frame frame;
    struct iw_capture *c = open_octets(octets, length);
    for (unsigned i = 0; i < good; i++)
        assert_int_equal(iw_capture_next(c, &frame, error), 1);
    assert_int_equal(iw_capture_next(c, &frame, error), -1);
    expect_error(error, scratch_path("in.pcap"), where, what);
    iw_capture_close(c);
}

static void cut_short(void **state)
{
    (void)state;
    for (size_t length = HEADER + 1; length < WHOLE; length++) {
        if (length < FIRST)
            expect_broken(pcap, length, 0,
                          "frame 1 at offset 24: expected a whole record: ", "truncated");
        else if (length > FIRST)
            expect_broken(pcap, length, 1,
                          "frame 2 at offset 44: expected a whole record: ", "truncated");
    }
    for (size_t length = 49; length < sizeof(pcapng); length++)
        expect_broken(pcapng, length, 0,
                      "frame 1 at offset 48: expected a whole record: ", "truncated");
}

static void corrupt(void **state)
{
    (void)state;
    uint8_t octets[sizeof(pcapng)];
    /* A captured length of 2 GiB. */
    memcpy(octets, pcap, sizeof(pcap));
    octets[FIRST + 11] = 0x80;
    expect_broken(octets, sizeof(pcap), 1, "frame 2 at offset 44: expected a whole record: ",
                  "invalid packet capture length");
    /* Block lengths that disagree, too long, not a multiple of 4; interface 1 of 1. */
    memcpy(octets, pcapng, sizeof(pcapng));
    octets[sizeof(pcapng) - 4] = 40;
    expect_broken(octets, sizeof(pcapng), 0, "frame 1 at offset 48: ", "block total length");
    memcpy(octets, pcapng, sizeof(pcapng));
    octets[48 + 7] = 0x7f;
    expect_broken(octets, sizeof(pcapng), 0, "frame 1 at offset 48: ", "maximum");
    memcpy(octets, pcapng, sizeof(pcapng));
    octets[48 + 8] = 1;
    expect_broken(octets, sizeof(pcapng), 0, "frame 1 at offset 48: ", "interface 1");
}

/* iw_capture_walk gives the same line, and counts what it read before. */
static void walk_tells_errors(void **state)
{
    (void)state;
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_capture_counts counts;
    struct iw_capture_connections *t = iw_capture_connections_new(1, NULL, NULL);
    assert_int_equal(iw_capture_walk(scratch_file("in.pcap", pcap, FIRST + 1), t, &counts, error),
                     -1);
    expect_error(error, scratch_path("in.pcap"), "frame 2 at offset 44: ", "truncated");
    assert_int_equal(counts.frames, 1);
    assert_int_equal(counts.decoded[IW_DECODE_CUT], 1);
    assert_int_equal(iw_capture_walk(scratch_path("absent"), t, NULL, error), -1);
    expect_error(error, scratch_path("absent"), "cannot be opened: ", "No such file");
    iw_capture_connections_free(t);
}

/* The lowest descriptor that is free. */
static int free_descriptor(void)
{
    int fd = dup(STDIN_FILENO);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void files_are_closed(void **state)
{
    (void)state;
    char error[IW_CAPTURE_ERROR] = "";
    int before = free_descriptor();
    iw_capture_close(open_octets(pcap, sizeof(pcap)));
    assert_int_equal(free_descriptor(), before);
    iw_capture_close(open_octets(pcapng, sizeof(pcapng)));
    assert_int_equal(free_descriptor(), before);
    assert_null(iw_capture_open(scratch_file("in.pcap", "no capture", 10), error));
    assert_int_equal(free_descriptor(), before);
    struct iw_capture_connections *t = iw_capture_connections_new(1, NULL, NULL);
    assert_int_equal(iw_capture_walk(scratch_file("in.pcap", pcap, FIRST + 1), t, NULL, error), -1);
    assert_int_equal(free_descriptor(), before);
    iw_capture_connections_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),         cmocka_unit_test(link_types),
        cmocka_unit_test(not_a_capture),   cmocka_unit_test(cut_short),
        cmocka_unit_test(corrupt),         cmocka_unit_test(walk_tells_errors),
        cmocka_unit_test(standard_input),  cmocka_unit_test(files_are_closed),
        cmocka_unit_test(another_variant),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
