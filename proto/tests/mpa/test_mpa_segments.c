/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Framer and deframer over every combination of CRC and Markers and many ULPDU sizes: the framer
 * writes what the reference framer writes, and however the octets come in, the same FPDUs come out.
 */
#include <stdlib.h>

#include "mpa_support.h"

enum { SIZES = 24 };
/* Around the places where a Marker changes sides (§3.2), the pads, and the limits. */
static const size_t sizes[SIZES] = {1,   2,   3,   4,   128, 498, 502, 503, 504, 505,  506,  507,
                                    508, 509, 510, 511, 512, 514, 18,  22,  996, 1002, 1442, 1454};

struct stream {
    struct mpa_reference r;
    const uint8_t *ulpdu[40];
    size_t length[40];
    size_t fpdus;
};

static uint8_t *pattern(void)
{
    uint8_t *octets = malloc(65536);

    assert_non_null(octets);
    for (size_t i = 0; i < 65536; i++)
        octets[i] = (uint8_t)(i * 31 + (i >> 8));
    return octets;
}

static void add(struct stream *s, const uint8_t *ulpdu, size_t length)
{
    s->ulpdu[s->fpdus] = ulpdu;
    s->length[s->fpdus++] = length;
    mpa_reference_frame(&s->r, ulpdu, length);
}

static void assert_same(const struct mpa_rig *rig, const struct stream *s)
{
    uint64_t pos = 0;

    assert_int_equal(rig->seen.faults, 0);
    assert_int_equal(rig->seen.fpdus, s->fpdus);
    for (size_t i = 0; i < s->fpdus; i++) {
        const struct iw_fpdu *fpdu = &rig->seen.fpdu[i];
        size_t lead = s->r.markers && pos % 512 == 0 ? 4 : 0;

        mpa_assert_ulpdu(rig, i, s->ulpdu[i], s->length[i]);
        assert_int_equal(fpdu->pos, pos);
        assert_int_equal(fpdu->header_pos, pos + lead);
        assert_int_equal(fpdu->size, 4 * fpdu->markers + (s->length[i] + 9) / 4 * 4);
        assert_int_equal(fpdu->crc_checked, s->r.crc);
        assert_int_equal(fpdu->crc_good, s->r.crc);
        pos += fpdu->size;
    }
    assert_int_equal(pos, s->r.length);
    assert_int_equal(rig->deframer.next, pos);
    assert_true(iw_deframer_idle(&rig->deframer));
    assert_true(iw_deframer_end(&rig->deframer, pos));
}

static int feed(struct mpa_rig *rig, const struct stream *s, size_t begin, size_t end)
{
    struct iw_iov piece = {.base = s->r.octets + begin, .length = end - begin};

    return iw_deframer_input(&rig->deframer, begin, &piece, 1);
}

/* The framer's octets for the stream's ULPDUs, each given in pieces of at most `cut` octets. */
static void framer_writes_the_same(const struct stream *s, size_t cut, uint64_t from)
{
    struct iw_framer f;
    struct iw_iov in[200];
    struct iw_iov *out = calloc(700, sizeof(*out));
    uint8_t scratch[IW_FRAMER_SCRATCH];
    uint64_t pos = from;

    assert_non_null(out);
    iw_framer_init(&f, s->r.markers, s->r.crc, iw_crc32c_portable, NULL);
    for (size_t i = 0; i < s->fpdus; i++) {
        size_t n = 0;
        int count;
        for (size_t at = 0; at < s->length[i]; at += in[n++].length) {
            in[n].base = (uint8_t *)(uintptr_t)s->ulpdu[i] + at;
            in[n].length = s->length[i] - at < cut ? s->length[i] - at : cut;
        }
        assert_true(IW_FRAMER_PIECES(n, s->length[i]) <= 700);
        count = iw_framer_frame(&f, in, n, out, IW_FRAMER_PIECES(n, s->length[i]), scratch);
        assert_true(count > 0);
        if (count > 1) { /* one place too few: refused, and nothing has moved */
            uint64_t before = pos;
            f.pos = before;
            assert_int_equal(iw_framer_frame(&f, in, n, out, (size_t)count - 1, scratch), -1);
            assert_int_equal(f.pos, before);
            assert_int_equal(iw_framer_frame(&f, in, n, out, (size_t)count, scratch), count);
        }
        for (int k = 0; k < count; k++) {
            assert_memory_equal(out[k].base, s->r.octets + pos, out[k].length);
            pos += out[k].length;
        }
        assert_int_equal(f.pos, pos);
    }
    assert_int_equal(pos, s->r.length);
    free(out);
}

/* The same as one piece each, from pieces elsewhere or from octets at the end of where it goes. */
static void framer_copies_the_same(const struct stream *s, size_t cut, bool inside)
{
    struct iw_framer f;
    struct iw_iov in[200];
    uint64_t pos = 0;

    iw_framer_init(&f, s->r.markers, s->r.crc, iw_crc32c_portable, NULL);
    for (size_t i = 0; i < s->fpdus; i++) {
        uint32_t size = iw_framer_size(&f, (uint32_t)s->length[i]);
        uint8_t *out = malloc(size);
        const uint8_t *from = s->ulpdu[i];
        size_t n = 0;
        assert_non_null(out);
        if (inside)
            from = memcpy(out + size - s->length[i], from, s->length[i]);
        for (size_t at = 0; at < s->length[i]; at += in[n++].length) {
            in[n].base = (uint8_t *)(uintptr_t)from + at;
            in[n].length = s->length[i] - at < cut ? s->length[i] - at : cut;
        }
        assert_int_equal(iw_framer_copy(&f, in, n, out), size);
        assert_memory_equal(out, s->r.octets + pos, size);
        pos += size;
        assert_int_equal(f.pos, pos);
        free(out);
    }
    assert_int_equal(pos, s->r.length);
}

static void framer_and_reference(void **state)
{
    uint8_t *octets = pattern();

    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct stream s = {.r = {.markers = way & 1, .crc = way & 2}};

        for (size_t i = 0; i < SIZES; i++)
            add(&s, octets + i, sizes[i]);
        add(&s, octets, 64768);
        add(&s, octets + 1, 64767);
        add(&s, octets + 7, 64766);
        framer_writes_the_same(&s, SIZE_MAX, 0);
        framer_writes_the_same(&s, 509, 0);
        framer_copies_the_same(&s, SIZE_MAX, false);
        framer_copies_the_same(&s, 509, false);
        framer_copies_the_same(&s, SIZE_MAX, true);
        mpa_reference_free(&s.r);
    }
    free(octets);
}

static void framer_refuses(void **state)
{
    uint8_t *octets = pattern();
    struct iw_switches switches = {0};
    struct iw_framer f;
    struct iw_iov in[3] = {{octets, 64768}, {octets, 1}, {octets, SIZE_MAX}};
    struct iw_iov out[IW_FRAMER_PIECES(3, 65535)];
    size_t room = sizeof(out) / sizeof(out[0]);
    uint8_t scratch[IW_FRAMER_SCRATCH];

    (void)state;
    iw_framer_init(&f, true, true, iw_crc32c_portable, &switches);
    assert_int_equal(iw_framer_frame(&f, in, 0, out, room, scratch), -1);
    assert_int_equal(iw_framer_frame(&f, in, 2, out, room, scratch), -1);
    assert_int_equal(iw_framer_frame(&f, in, 3, out, room, scratch), -1);
    in[0].length = 0;
    assert_int_equal(iw_framer_frame(&f, in, 1, out, room, scratch), -1);
    assert_int_equal(f.pos, 0);
    assert_int_equal(iw_framer_frame(&f, in, 2, out, 0, scratch), -1);
    assert_int_equal(iw_framer_frame(&f, in, 2, out, 3, scratch), 3);

    mpa_switch(&switches, IW_SWITCH_VIOLATE, "mpa-ulpdu-max");
    f.pos = 0;
    in[0].length = 65534;
    assert_true(iw_framer_frame(&f, in, 2, out, room, scratch) > 0);
    assert_int_equal(f.pos, 65544 + 4 * 130);
    in[0].length = 65535;
    assert_int_equal(iw_framer_frame(&f, in, 2, out, room, scratch), -1);
    free(octets);
}

static void every_split(void **state)
{
    uint8_t *octets = pattern();

    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct stream s = {.r = {.markers = way & 1, .crc = way & 2}};
        struct mpa_rig *rig = mpa_rig_new(s.r.markers, s.r.crc);

        add(&s, octets, 1);
        add(&s, octets + 1, 482);
        add(&s, octets + 2, 18);
        add(&s, octets + 3, 507);
        add(&s, octets + 4, 14);
        add(&s, octets + 5, 508);
        for (size_t split = 0; split <= s.r.length; split++) {
            mpa_rig_reset(rig, s.r.markers, s.r.crc);
            assert_int_equal(feed(rig, &s, 0, split), 0);
            assert_int_equal(feed(rig, &s, split, s.r.length), 0);
            assert_same(rig, &s);

            mpa_rig_reset(rig, s.r.markers, s.r.crc); /* and the second part first */
            assert_int_equal(feed(rig, &s, split, s.r.length), 0);
            assert_int_equal(feed(rig, &s, 0, split), 0);
            assert_same(rig, &s);

            struct iw_iov two[2] = {{s.r.octets, split}, {s.r.octets + split, s.r.length - split}};
            mpa_rig_reset(rig, s.r.markers, s.r.crc); /* and both in one call */
            assert_int_equal(iw_deframer_input(&rig->deframer, 0, two, 2), 0);
            assert_same(rig, &s);
        }
        mpa_reference_free(&s.r);
        mpa_rig_free(rig);
    }
    free(octets);
}

static void octet_by_octet(void **state)
{
    uint8_t *octets = pattern();

    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct stream s = {.r = {.markers = way & 1, .crc = way & 2}};
        struct mpa_rig *rig = mpa_rig_new(s.r.markers, s.r.crc);

        for (size_t i = 0; i < SIZES; i++)
            add(&s, octets + i, sizes[i]);
        for (size_t i = 0; i < s.r.length; i++)
            assert_int_equal(mpa_rig_feed(rig, i, s.r.octets + i, 1), 0);
        assert_same(rig, &s);

        struct iw_iov *ones = calloc(s.r.length, sizeof(*ones));
        assert_non_null(ones);
        for (size_t i = 0; i < s.r.length; i++)
            ones[i] = (struct iw_iov){s.r.octets + i, 1};
        mpa_rig_reset(rig, s.r.markers, s.r.crc);
        assert_int_equal(iw_deframer_input(&rig->deframer, 0, ones, s.r.length), 0);
        assert_same(rig, &s);
        free(ones);
        mpa_reference_free(&s.r);
        mpa_rig_free(rig);
    }
    free(octets);
}

/* Segments of random sizes, some sent twice or overlapping, in random order within a window. */
static void shuffled(struct mpa_rig *rig, const struct stream *s, size_t longest, uint32_t *seed)
{
    struct {
        size_t begin, end;
    } queue[8];
    size_t queued = 0;
    size_t at = 0;

    mpa_rig_reset(rig, s->r.markers, s->r.crc);
    while (at < s->r.length || queued > 0) {
        while (queued < 8 && at < s->r.length) {
            size_t end = at + 1 + mpa_random(seed) % longest;
            size_t back = mpa_random(seed) % 4 == 0 ? mpa_random(seed) % longest : 0;
            queue[queued].begin = back < at ? at - back : 0;
            queue[queued].end = end < s->r.length ? end : s->r.length;
            at = queue[queued++].end;
        }
        size_t k = mpa_random(seed) % queued;
        int result = feed(rig, s, queue[k].begin, queue[k].end);
        assert_true(result == 0 || result == -2);
        if (result == 0 && mpa_random(seed) % 8 != 0) /* else it will come again */
            queue[k] = queue[--queued];
    }
    assert_same(rig, s);
}

static void any_order(void **state)
{
    static const struct {
        size_t ulpdu, count, longest;
        unsigned rounds;
    } row[] = {
        {1, 40, 30, 60},     {128, 30, 700, 60},   {507, 20, 1500, 40},
        {508, 20, 1500, 40}, {1442, 20, 3000, 30}, {64768, 3, 6000, 6},
    };
    uint8_t *octets = pattern();
    uint32_t seed = 5044;

    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct mpa_rig *rig = mpa_rig_new(false, false);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
            struct stream s = {.r = {.markers = way & 1, .crc = way & 2}};
            for (size_t n = 0; n < row[i].count; n++)
                add(&s, octets + n, row[i].ulpdu);
            for (unsigned round = 0; round < row[i].rounds; round++)
                shuffled(rig, &s, row[i].longest, &seed);
            mpa_reference_free(&s.r);
        }
        mpa_rig_free(rig);
    }
    free(octets);
}

/* Long in-order segments that end anywhere: in place and straddling take turns. */
static void long_segments(void **state)
{
    uint8_t *octets = pattern();
    uint32_t seed = 6581;

    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct stream s = {.r = {.markers = way & 1, .crc = way & 2}};
        struct mpa_rig *rig = mpa_rig_new(s.r.markers, s.r.crc);

        add(&s, octets, 64768);
        for (size_t i = 0; i < SIZES; i++)
            add(&s, octets + i, sizes[i]);
        add(&s, octets + 1, 64767);
        for (unsigned round = 0; round < 20; round++) {
            mpa_rig_reset(rig, s.r.markers, s.r.crc);
            for (size_t at = 0; at < s.r.length;) {
                size_t n = 1 + mpa_random(&seed) % 9000;
                n = n < s.r.length - at ? n : s.r.length - at;
                size_t cut = mpa_random(&seed) % n;
                struct iw_iov two[2] = {{s.r.octets + at, cut}, {s.r.octets + at + cut, n - cut}};
                assert_int_equal(iw_deframer_input(&rig->deframer, at, two, 2), 0);
                at += n;
            }
            assert_same(rig, &s);
        }
        mpa_reference_free(&s.r);
        mpa_rig_free(rig);
    }
    free(octets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(framer_and_reference),
        cmocka_unit_test(framer_refuses),
        cmocka_unit_test(every_split),
        cmocka_unit_test(octet_by_octet),
        cmocka_unit_test(any_order),
        cmocka_unit_test(long_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
