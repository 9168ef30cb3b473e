/* SPDX-License-Identifier: BSD-3-Clause */
/* Published and hand-computed FPDUs through the framer and the deframer. */
#include <stdlib.h>

#include "mpa_support.h"

/* Joins the framer's pieces. Returns the octets. */
static size_t join(uint8_t *out, const struct iw_iov *pieces, int n)
{
    size_t length = 0;

    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        memcpy(out + length, pieces[i].base, pieces[i].length);
        length += pieces[i].length;
    }
    return length;
}

static void assert_frames(struct iw_framer *f, const uint8_t *ulpdu, size_t length,
                          const uint8_t *want, size_t want_length)
{
    struct iw_iov piece = {.base = (uint8_t *)(uintptr_t)ulpdu, .length = length};
    struct iw_iov out[32];
    uint8_t scratch[IW_FRAMER_SCRATCH];
    uint8_t got[2048];
    uint64_t pos = f->pos;
    size_t n = join(got, out, iw_framer_frame(f, &piece, 1, out, 32, scratch));

    assert_int_equal(n, want_length);
    assert_memory_equal(got, want, n);
    assert_int_equal(f->pos, pos + n);
}

/* RFC 5044 figure 5: the first FPDU of a stream with Markers. */
static const char figure5[] = "00000000 002a4143 00000000 00000000 00000001 00000000"
                              "00000000 00000000 00000000 00000000 00000000 00000000 52239983";
/* Figure 6: an FPDU at position 0x1ec with a Marker inside. */
static const char figure6[] = "002a4143 00000000 00000000 00000002 00000000 00000014"
                              "00000000 00000000 00000000 00000000 00000000 00000000 84925898";

static void rfc5044_figure5(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct iw_framer f;
    uint8_t frame[64];
    size_t n = mpa_hex(frame, figure5);

    (void)state;
    assert_int_equal(n, 0x34);
    assert_int_equal(mpa_rig_feed(rig, 0, frame, n), 0);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->seen.fpdus, 1);
    mpa_assert_ulpdu(rig, 0, frame + 6, 42);
    assert_int_equal(rig->seen.fpdu[0].pos, 0);
    assert_int_equal(rig->seen.fpdu[0].header_pos, 4);
    assert_int_equal(rig->seen.fpdu[0].size, 0x34);
    assert_int_equal(rig->seen.fpdu[0].markers, 1);
    assert_true(rig->seen.fpdu[0].crc_good);
    assert_true(rig->seen.fpdu[0].crc_checked);
    assert_int_equal(rig->seen.fpdu[0].crc, 0x83992352);

    iw_framer_init(&f, true, true, iw_crc32c_portable, NULL);
    assert_frames(&f, frame + 6, 42, frame, n);
    mpa_rig_free(rig);
}

static void rfc5044_figure6(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference first = {.markers = true, .crc = true};
    struct iw_framer f;
    uint8_t zeros[600] = {0};
    uint8_t frame[64];
    uint8_t ulpdu[42];
    size_t n = mpa_hex(frame, figure6);

    (void)state;
    memcpy(ulpdu, frame + 2, 18);
    memcpy(ulpdu + 18, frame + 24, 24);
    mpa_reference_frame(&first, zeros, 482);
    assert_int_equal(first.length, 492);
    assert_int_equal(mpa_rig_feed(rig, 0, first.octets, first.length), 0);
    assert_int_equal(mpa_rig_feed(rig, 0x1ec, frame, n), 0);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->seen.fpdus, 2);
    mpa_assert_ulpdu(rig, 1, ulpdu, 42);
    assert_int_equal(rig->seen.fpdu[1].pos, 0x1ec);
    assert_int_equal(rig->seen.fpdu[1].header_pos, 0x1ec);
    assert_int_equal(rig->seen.fpdu[1].size, n);
    assert_int_equal(rig->seen.fpdu[1].markers, 1);

    iw_framer_init(&f, true, true, iw_crc32c_portable, NULL);
    f.pos = 0x1ec;
    assert_frames(&f, ulpdu, 42, frame, n);
    mpa_reference_free(&first);
    mpa_rig_free(rig);
}

/* RFC 5044 figure 4: 16 octets of ULPDU with a Marker before octet 10, at position 500. */
static void rfc5044_figure4(void **state)
{
    struct iw_framer f;
    struct iw_iov out[16];
    uint8_t scratch[IW_FRAMER_SCRATCH];
    uint8_t got[64];
    uint8_t ulpdu[16];
    struct iw_iov piece = {.base = ulpdu, .length = sizeof(ulpdu)};

    (void)state;
    mpa_pattern(ulpdu, sizeof(ulpdu));
    iw_framer_init(&f, true, false, iw_crc32c_portable, NULL);
    f.pos = 500;
    size_t n = join(got, out, iw_framer_frame(&f, &piece, 1, out, 16, scratch));
    mpa_assert_hex(got, n, "0010 00010203040506070809 0000000c 0a0b0c0d0e0f 0000 00000000");
}

/* RFC 5044 §4.3: a Send of n octets and an empty one. Every position is written by hand. */
static const struct {
    size_t payload;
    struct {
        size_t pos;
        const char *hex;
    } item[8];
    size_t second; /* position of the second FPDU, a Marker before it included */
    size_t end;
    size_t markers[2];
} marker_streams[] = {
    {1000,
     {{0, "00000000"},
      {4, "03fa4143 00000000 00000000 00000001 00000000"},
      {512, "000001fc"},
      {1024, "000003fc"},
      {1032, "5f7b58ca"},
      {1036, "00124143 00000000 00000000 00000002 00000000"},
      {1056, "accbdb8c"}},
     1036,
     1060,
     {3, 0}},
    {996,
     {{0, "00000000"},
      {4, "03f64143 00000000 00000000 00000001 00000000"},
      {512, "000001fc"},
      {1024, "000003fc"},
      {1028, "4c48c720"},
      {1032, "00124143 00000000 00000000 00000002 00000000"},
      {1052, "accbdb8c"}},
     1032,
     1056,
     {3, 0}},
    {992,
     {{0, "00000000"},
      {4, "03f24143 00000000 00000000 00000001 00000000"},
      {512, "000001fc"},
      {1020, "83754d28"},
      {1024, "00000000"},
      {1028, "00124143 00000000 00000000 00000002 00000000"},
      {1048, "7c71e5b4"}},
     1024,
     1052,
     {2, 1}},
};

static void marker_stream(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    uint8_t stream[1100];
    uint8_t first[1100];
    uint8_t second[18];

    (void)state;
    mpa_hex(second, "4143 00000000 00000000 00000002 00000000");
    mpa_hex(first, "4143 00000000 00000000 00000001 00000000");
    mpa_pattern(first + 18, 1000);
    for (size_t v = 0; v < sizeof(marker_streams) / sizeof(marker_streams[0]); v++) {
        size_t n = marker_streams[v].payload;
        size_t end = marker_streams[v].end;
        size_t split = marker_streams[v].second;
        struct iw_framer f;

        memset(stream, 0, sizeof(stream));
        for (size_t i = 0, at = 24; i < n; i++) { /* the payload runs around the Markers */
            if (at % 512 == 0)
                at += 4;
            stream[at++] = (uint8_t)i;
        }
        for (size_t i = 0; i < 8 && marker_streams[v].item[i].hex != NULL; i++)
            mpa_hex(stream + marker_streams[v].item[i].pos, marker_streams[v].item[i].hex);

        mpa_rig_reset(rig, true, true);
        assert_int_equal(mpa_rig_feed(rig, 0, stream, end), 0);
        assert_int_equal(rig->seen.faults, 0);
        assert_int_equal(rig->seen.fpdus, 2);
        mpa_assert_ulpdu(rig, 0, first, 18 + n);
        mpa_assert_ulpdu(rig, 1, second, 18);
        assert_int_equal(rig->seen.fpdu[0].size, split);
        assert_int_equal(rig->seen.fpdu[1].pos, split);
        assert_int_equal(rig->seen.fpdu[0].markers, marker_streams[v].markers[0]);
        assert_int_equal(rig->seen.fpdu[1].markers, marker_streams[v].markers[1]);

        iw_framer_init(&f, true, true, iw_crc32c_portable, NULL);
        assert_frames(&f, first, 18 + n, stream, split);
        assert_frames(&f, second, 18, stream + split, end - split);
    }
    mpa_rig_free(rig);
}

static const struct {
    const char *name;
    const char *fpdu;
    size_t length;
    bool markers;
} vectors[] = {
    {"V1", "00124143 00000000 00000000 00000001 00000000 587be8c4", 18, false},
    {"V2", "000ec140 00000000 00000000 00000000 a30572ab", 14, false},
    {"V3",
     "002e4141 00000000 00000001 00000001 00000000 00000000 00000000 00000000 00000000 00000000"
     "00000000 00000000 f2c6dd3d",
     46, false},
    {"V4", "000ec142 00000000 00000000 00000000 6975d6ca", 14, false},
    {"V5", "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c", 23, false},
    {"V6", "00000000 00124143 00000000 00000000 00000001 00000000 88c1d6fc", 18, true},
    {"V7", "0012c140 11223344 00000000 00001000 deadbeef b75a39ef", 18, false},
    {"V8", "00124144 11223344 00000000 00000002 00000000 42dbd731", 18, false},
    {"V9",
     "002e4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344"
     "00000000 00001000 c453059c",
     46, false},
    {"V10", "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585", 22, false},
    {"V11",
     "00264147 00000000 00000002 00000001 00000000 1100c000 0012c140 11223344 00000000 00001000"
     "b5f74601",
     38, false},
    {"V12",
     "00464147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001 00000001"
     "00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000 bb78a0bc",
     70, false},
    {"V13", "001a4148 00000000 00000000 00000001 00000000 01020304 05060708 06c22805", 26, false},
    {"V14",
     "0046414a 00000000 00000001 00000001 00000000 00000000 5a5a0001 11223344 00000000 00001000"
     "00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff 4a325eaa",
     70, false},
    {"V15",
     "0046414a 00000000 00000001 00000002 00000000 00000002 5a5a0002 11223344 00000000 00001000"
     "00000000 00000002 ffffffff ffffffff 00000000 00000001 ffffffff ffffffff fae229a6",
     70, false},
    {"V16", "001e414b 00000000 00000003 00000001 00000000 5a5a0001 00000000 00000001 37209549", 30,
     false},
};

static void whole_fpdus(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);

    (void)state;
    for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++) {
        uint8_t frame[128];
        size_t n = mpa_hex(frame, vectors[v].fpdu);
        size_t ulpdu = vectors[v].markers ? 6 : 2;
        struct iw_framer f;

        mpa_rig_reset(rig, vectors[v].markers, true);
        if (mpa_rig_feed(rig, 0, frame, n) != 0 || rig->seen.fpdus != 1 || rig->seen.faults != 0)
            fail_msg("%s is not deframed", vectors[v].name);
        mpa_assert_ulpdu(rig, 0, frame + ulpdu, vectors[v].length);
        iw_framer_init(&f, vectors[v].markers, true, iw_crc32c_portable, NULL);
        assert_frames(&f, frame + ulpdu, vectors[v].length, frame, n);
    }
    mpa_rig_free(rig);
}

/* The vectors one after the other are one stream. */
static void whole_fpdus_in_a_row(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    uint8_t stream[2048];
    size_t n = 0;
    size_t count = 0;

    (void)state;
    for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++) {
        if (vectors[v].markers)
            continue;
        n += mpa_hex(stream + n, vectors[v].fpdu);
        count++;
    }
    assert_int_equal(mpa_rig_feed(rig, 0, stream, n), 0);
    assert_int_equal(rig->seen.fpdus, count);
    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->deframer.fpdus, count);
    assert_int_equal(rig->deframer.next, n);
    assert_true(iw_deframer_idle(&rig->deframer));
    mpa_rig_free(rig);
}

/* Each single octet of a frame turned over: the CRC fails, and nothing is handed out. */
static void bad_octet(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    const char *frames[] = {figure5, vectors[4].fpdu};
    bool markers[] = {true, false};
    uint32_t field[] = {0x83992352, 0x0cb190b9};

    (void)state;
    for (size_t v = 0; v < 2; v++) {
        uint8_t frame[64];
        size_t n = mpa_hex(frame, frames[v]);
        size_t header = markers[v] ? 4 : 0;
        for (size_t i = 0; i < n; i++) {
            if (i == header || i == header + 1)
                continue; /* another length, another frame */
            for (unsigned bit = 0; bit < 8; bit++) {
                mpa_rig_reset(rig, markers[v], true);
                rig->seen.strict = true;
                frame[i] ^= (uint8_t)(1u << bit);
                assert_int_equal(mpa_rig_feed(rig, 0, frame, n), -1);
                frame[i] ^= (uint8_t)(1u << bit);
                assert_int_equal(rig->seen.fpdus, 0);
                assert_int_equal(rig->seen.faults, 1);
                assert_int_equal(rig->seen.fault[0].check, IW_CHECK_MPA_CRC);
                assert_int_equal(rig->seen.fault[0].pos, n - 4);
                if (i < n - 4)
                    assert_int_equal(rig->seen.fault[0].got, field[v]);
                else
                    assert_int_equal(rig->seen.fault[0].want, field[v]);
            }
        }
    }
    mpa_rig_free(rig);
}

/* The size that the framer predicts for an FPDU, at every place between two Markers. */
static void sizes_are_foretold(void **state)
{
    static const uint32_t lengths[] = {1,   14,   18,   490,  497,  498,  499, 500,
                                       501, 1005, 1006, 1007, 1008, 1009, 5000};
    static uint8_t ulpdu[5000], scratch[IW_FRAMER_SCRATCH];
    (void)state;
    for (uint64_t pos = 0; pos < 1024; pos += 4) {
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            for (unsigned markers = 0; markers < 2; markers++) {
                struct iw_framer f;
                struct iw_iov piece = {ulpdu, lengths[i]}, out[64];
                iw_framer_init(&f, markers, false, NULL, NULL);
                f.pos = pos;
                uint32_t size = iw_framer_size(&f, lengths[i]);
                assert_true(iw_framer_frame(&f, &piece, 1, out, 64, scratch) > 0);
                assert_int_equal(f.pos, pos + size);
            }
        }
    }
    struct iw_framer f;
    iw_framer_init(&f, true, false, NULL, NULL);
    assert_int_equal(iw_framer_size(&f, 42), 0x34); /* RFC 5044 figure 5 */
    assert_int_equal(iw_framer_size(&f, 502), 512); /* up to the next Marker */
    assert_int_equal(iw_framer_size(&f, 503), 520); /* one word more, and that Marker */
    f.pos = 4;
    assert_int_equal(iw_framer_size(&f, 501), 508);
    assert_int_equal(iw_framer_size(&f, 503), 516);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc5044_figure4), cmocka_unit_test(rfc5044_figure5),
        cmocka_unit_test(rfc5044_figure6), cmocka_unit_test(marker_stream),
        cmocka_unit_test(whole_fpdus),     cmocka_unit_test(whole_fpdus_in_a_row),
        cmocka_unit_test(bad_octet),       cmocka_unit_test(sizes_are_foretold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
