/* SPDX-License-Identifier: BSD-3-Clause */
/* pcap and pcapng as others write them: both octet orders, several sections and interfaces. */
#include "iwarp/capture.h"
#include "scratch.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A file in the making. */
struct file {
    uint8_t octets[4096];
    size_t length;
    bool big;
};

static void put8(struct file *f, uint8_t value)
{
    f->octets[f->length++] = value;
}

static void put16(struct file *f, uint32_t value)
{
    put8(f, (uint8_t)(f->big ? value >> 8 : value));
    put8(f, (uint8_t)(f->big ? value : value >> 8));
}

static void put32(struct file *f, uint32_t value)
{
    put16(f, f->big ? value >> 16 : value);
    put16(f, f->big ? value : value >> 16);
}

static void put_text(struct file *f, const char *text)
{
    for (size_t i = 0; i < strlen(text) || i % 4 != 0; i++)
        put8(f, i < strlen(text) ? (uint8_t)text[i] : 0);
}

/* Ends a block that begins at `from`: writes its length before and after it. */
static void end_block(struct file *f, size_t from)
{
    uint32_t size = (uint32_t)(f->length + 4 - from);
    put32(f, size);
    size_t end = f->length;
    f->length = from + 4;
    put32(f, size);
    f->length = end;
}

static void put_section(struct file *f)
{
    size_t from = f->length;
    put32(f, 0x0a0d0d0a);
    put32(f, 0);
    put32(f, 0x1a2b3c4d);
    put16(f, 1);
    put16(f, 0);
    put32(f, UINT32_MAX);
    put32(f, UINT32_MAX);
    end_block(f, from);
}

/* `resolution` 0: no option. `offset` in seconds. */
static void put_interface(struct file *f, uint16_t link, uint32_t snap, uint8_t resolution,
                          uint32_t offset)
{
    size_t from = f->length;
    put32(f, 1);
    put32(f, 0);
    put16(f, link);
    put16(f, 0);
    put32(f, snap);
    if (resolution != 0) {
        put16(f, 2); /* a name */
        put16(f, 3);
        put_text(f, "eth");
        put16(f, 3); /* a description, which needs no pad */
        put16(f, 4);
        put_text(f, "wire");
        put16(f, 9);
        put16(f, 1);
        put8(f, resolution);
        put8(f, 0);
        put16(f, 0);
        put16(f, 14);
        put16(f, 8);
        put32(f, f->big ? 0 : offset);
        put32(f, f->big ? offset : 0);
        put32(f, 0);
    }
    end_block(f, from);
}

static void put_packet(struct file *f, uint32_t interface, uint64_t ticks, const char *text,
                       uint32_t original)
{
    size_t from = f->length;
    put32(f, 6);
    put32(f, 0);
    put32(f, interface);
    put32(f, (uint32_t)(ticks >> 32));
    put32(f, (uint32_t)ticks);
    put32(f, (uint32_t)strlen(text));
    put32(f, original);
    put_text(f, text);
    end_block(f, from);
}

static void put_other(struct file *f, uint32_t kind, const char *text)
{
    size_t from = f->length;
    put32(f, kind);
    put32(f, 0);
    put_text(f, text);
    end_block(f, from);
}

static struct iw_capture *open_file(const struct file *f, const char *filter)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_capture *c = iw_capture_open(scratch_file("in.pcapng", f->octets, f->length), error);
    if (c == NULL || (filter != NULL && !iw_capture_filter(c, filter, error)))
        fail_msg("%s", error);
    return c;
}

static void expect(struct iw_capture *c, const char *expected)
{
    char error[IW_CAPTURE_ERROR] = "", listed[1000] = "";
    struct iw_frame frame;
    while (iw_capture_next(c, &frame, error) == 1) {
        size_t at = strlen(listed);
        snprintf(listed + at, sizeof(listed) - at, "%" PRIu64 "@%" PRIu64 " %d/%d/%d %.*s/%d\n",
                 frame.number, frame.time, (int)frame.link, (int)frame.linktype,
                 (int)frame.interface, (int)frame.length, (const char *)frame.data,
                 (int)frame.original);
    }
    assert_string_equal(error, "");
    assert_string_equal(listed, expected);
    iw_capture_close(c);
}

static void many_interfaces(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct file f = {.big = big};
        put_section(&f);
        put_interface(&f, 105, 0, 0, 0); /* IEEE 802.11: not decoded */
        put_interface(&f, 1, 0, 9, 5);
        put_other(&f, 4, "names");
        put_packet(&f, 1, 3, "abc", 7);
        put_packet(&f, 0, 4, "wifi", 4);
        put_interface(&f, 12, 0, 3, 0); /* raw IP under libpcap's own number, milliseconds */
        put_packet(&f, 2, 11, "x", 0);
        put_other(&f, 0xbad, "custom");
        f.big = !big; /* another section, in the other order */
        put_section(&f);
        put_interface(&f, 276, 2, 0x80 | 10, 0); /* 1024 ticks a second */
        put_packet(&f, 0, UINT64_C(1) << 40 | 512, "sll2", 4);
        put_other(&f, 3, "\4\4\4\4simp"); /* a simple packet, cut by the snap length */
        expect(open_file(&f, NULL), "1@5000000003 0/1/1 abc/7\n"
                                    "2@4000 6/105/0 wifi/4\n"
                                    "3@11000000 5/12/2 x/1\n"
                                    "4@1073741824500000000 2/276/3 sll2/4\n"
                                    "5@1073741824500000000 2/276/3 si/67372036\n");
    }
}

static void resolutions(void **state)
{
    (void)state;
    static const struct {
        uint8_t resolution;
        uint64_t ticks, ns;
    } times[] = {{6, 1700000000000001, UINT64_C(1700000000000001000)},
                 {9, UINT64_C(1700000000000000001), UINT64_C(1700000000000000001)},
                 {12, UINT64_C(17000000000000999), UINT64_C(17000000000000)},
                 {1, 25, UINT64_C(2500000000)},
                 {127, 999, 0},
                 {0x80, 7, UINT64_C(7000000000)},
                 {0x80 | 1, 7, UINT64_C(3500000000)},
                 {0x80 | 32, UINT64_C(0x280000000), UINT64_C(2500000000)},
                 {0x80 | 40, UINT64_C(0x28000000000), UINT64_C(2500000000)},
                 {0x80 | 63, UINT64_C(0xa000000000000000), UINT64_C(1250000000)},
                 {0x80 | 127, UINT64_MAX, 0}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct file f = {.big = i % 2};
        char expected[100];
        put_section(&f);
        put_interface(&f, 1, 0, times[i].resolution, 0);
        put_packet(&f, 0, times[i].ticks, "abc", 3);
        snprintf(expected, sizeof(expected), "1@%" PRIu64 " 0/1/0 abc/3\n", times[i].ns);
        expect(open_file(&f, NULL), expected);
    }
}

/* Frames keep the numbers that they have without the filter, which is made for each link layer. */
static void filtered(void **state)
{
    (void)state;
    struct file f = {0};
    char error[IW_CAPTURE_ERROR] = "";
    put_section(&f);
    put_interface(&f, 1, 0, 0, 0);
    put_interface(&f, 105, 0, 0, 0);
    put_packet(&f, 0, 1, "longer than fourteen", 20);
    put_packet(&f, 0, 2, "short", 5);
    put_packet(&f, 1, 3, "other", 5);
    put_interface(&f, 101, 0, 0, 0);
    put_packet(&f, 2, 4, "raw", 3);
    put_packet(&f, 2, 5, "longer than fourteen", 20);
    expect(open_file(&f, "len < 14"), "2@2000 0/1/0 short/5\n4@4000 5/101/2 raw/3\n");
    struct iw_capture *c = open_file(&f, NULL);
    assert_false(iw_capture_filter(c, "nonsense here", error));
    assert_non_null(strstr(error, "filter \"nonsense here\": "));
    iw_capture_close(c);
}

/* Cut at any octet: the same frames as far as they go, then an error, or the end between blocks. */
static void cut_anywhere(void **state)
{
    (void)state;
    struct file f = {0};
    size_t after[4], frames = 0;
    put_section(&f);
    put_interface(&f, 1, 0, 9, 0);
    for (uint32_t i = 0; i < 3; i++) {
        after[i] = f.length;
        put_packet(&f, 0, i, "abc", 3);
    }
    after[3] = f.length;
    for (size_t length = 28; length <= f.length; length++) {
        struct file cut = f;
        struct iw_frame frame;
        char error[IW_CAPTURE_ERROR] = "";
        size_t got = 0;
        int result;
        cut.length = length;
        while (frames < 3 && length >= after[frames + 1])
            frames++;
        struct iw_capture *c = open_file(&cut, NULL);
        while ((result = iw_capture_next(c, &frame, error)) == 1)
            assert_int_equal(frame.number, ++got);
        assert_int_equal(got, frames);
        assert_int_equal(result, length == 28 || length == after[frames] ? 0 : -1);
        if (result < 0)
            assert_non_null(strstr(error, "truncated"));
        iw_capture_close(c);
    }
    assert_int_equal(frames, 3);
}

/* Octets changed one by one: no crash, and an end. */
static void garbled(void **state)
{
    (void)state;
    struct file f = {0};
    put_section(&f);
    put_interface(&f, 1, 0, 9, 0);
    put_packet(&f, 0, 1, "abc", 3);
    put_other(&f, 3, "\3\0\0\0xyz");
    for (size_t i = 0; i < f.length; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct file bent = f;
            struct iw_frame frame;
            char error[IW_CAPTURE_ERROR];
            unsigned frames = 0;
            bent.octets[i] ^= (uint8_t)(1u << bit);
            struct iw_capture *c =
                iw_capture_open(scratch_file("in.pcapng", bent.octets, bent.length), error);
            while (c != NULL && iw_capture_next(c, &frame, error) == 1)
                frames++;
            assert_true(frames <= 2);
            iw_capture_close(c);
        }
}

/* pcap 2.3 has the two lengths the other way round: libpcap knows. */
static void older_pcap(void **state)
{
    (void)state;
    struct file f = {.big = true};
    uint64_t at, size;
    put32(&f, 0xa1b2c3d4);
    put16(&f, 2);
    put16(&f, 2);
    put32(&f, 0);
    put32(&f, 0);
    put32(&f, 100);
    put32(&f, 1);
    for (uint32_t i = 0; i < 2; i++) {
        put32(&f, 5);
        put32(&f, i);
        put32(&f, 9);
        put32(&f, 4);
        put_text(&f, "abcd");
    }
    struct iw_capture *c = open_file(&f, NULL);
    assert_false(iw_capture_progress(c, &at, &size));
    expect(c, "1@5000000000 0/1/0 abcd/9\n2@5000001000 0/1/0 abcd/9\n");
    f.octets[7] = 4;
    memcpy(f.octets + 32, "\0\0\0\4\0\0\0\11", 8);
    f.length = 24 + 20;
    c = open_file(&f, NULL);
    assert_true(iw_capture_progress(c, &at, &size));
    assert_int_equal(at, 24);
    assert_int_equal(size, 44);
    expect(c, "1@5000000000 0/1/0 abcd/9\n");
}

/* A packet larger than the buffer that files are read with, between small ones. */
static void large_packets(void **state)
{
    (void)state;
    enum { LARGE = 1 << 20 };
    struct file f = {0};
    struct iw_frame frame;
    char error[IW_CAPTURE_ERROR] = "";
    put_section(&f);
    put_interface(&f, 1, 0, 9, 0);
    put_packet(&f, 0, 1, "abc", 3);
    size_t block = f.length + 28, length = block + LARGE + 4;
    put_packet(&f, 0, 2, "", LARGE);
    uint8_t *octets = calloc(1, length + f.length);
    assert_non_null(octets);
    f.length = block - 28;
    put32(&f, 6);
    put32(&f, LARGE + 32);
    f.length += 12;
    put32(&f, LARGE);
    memcpy(octets, f.octets, block);
    octets[block + LARGE - 1] = 'z';
    memcpy(octets + length - 4, f.octets + block - 24, 4);
    memcpy(octets + length, f.octets + block - 28 - 36, 36);
    struct iw_capture *c = iw_capture_open(scratch_file("in.pcapng", octets, length + 36), error);
    assert_int_equal(iw_capture_next(c, &frame, error), 1);
    assert_int_equal(iw_capture_next(c, &frame, error), 1);
    assert_int_equal(frame.length, LARGE);
    assert_int_equal(frame.data[LARGE - 1], 'z');
    assert_int_equal(iw_capture_next(c, &frame, error), 1);
    assert_memory_equal(frame.data, "abc", 3);
    assert_int_equal(iw_capture_next(c, &frame, error), 0);
    iw_capture_close(c);
    free(octets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_interfaces), cmocka_unit_test(resolutions),
        cmocka_unit_test(filtered),        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(garbled),         cmocka_unit_test(older_pcap),
        cmocka_unit_test(large_packets),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
