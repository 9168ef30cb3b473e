/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for FPDUs after a gap: which are handed out early, which never are, and its cost. */
#include <stdlib.h>

#include "mpa_early.h"

static int feed_hex(struct mpa_rig *rig, uint64_t pos, const char *hex)
{
    uint8_t octets[256];
    size_t n = mpa_hex(octets, hex);

    return mpa_rig_feed(rig, pos, octets, n);
}

/* RFC 5044 figure 6: the Marker at 512 points 0x14 octets back to 0x1ec. */
#define FIGURE6                                                                                    \
    "002a4143 00000000 00000000 00000002 00000000 00000014"                                        \
    "00000000 00000000 00000000 00000000 00000000 00000000 84925898"

static void figure6_behind_a_gap(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference first = {.markers = true, .crc = true};
    uint8_t zeros[600] = {0};

    (void)state;
    mpa_reference_frame(&first, zeros, 482);
    early_begin(rig, true, true);
    assert_int_equal(feed_hex(rig, 0x1ec, FIGURE6), 0);
    assert_int_equal(early.count, 1);
    assert_int_equal(early.fpdu[0].header_pos, 0x1ec);
    assert_int_equal(early.fpdu[0].size, 52);
    assert_int_equal(early.fpdu[0].length, 42);
    assert_int_equal(early.fpdu[0].markers, 1);
    assert_int_equal(early.fpdu[0].crc, 0x98589284);
    mpa_assert_hex(early.octets, 18, "4143 00000000 00000000 00000002 00000000");
    assert_int_equal(rig->seen.fpdus, 0);
    assert_int_equal(feed_hex(rig, 0x1ec, FIGURE6), 0); /* once is enough */
    assert_int_equal(early.count, 1);
    assert_int_equal(rig->deframer.next, 0);
    assert_int_equal(iw_deframer_edge(&rig->deframer), 0);
    assert_int_equal(early_feed(rig, &first, 0, 300), 0);
    assert_int_equal(iw_deframer_edge(&rig->deframer), 300);
    assert_int_equal(early_feed(rig, &first, 300, first.length), 0);
    assert_int_equal(iw_deframer_edge(&rig->deframer), 0x220);
    assert_int_equal(rig->seen.fpdus, 2);
    assert_false(rig->seen.fpdu[0].placed_early);
    assert_true(rig->seen.fpdu[1].placed_early);
    early_assert(rig, 0, 1, 0x1ec);
    assert_false(rig->deframer.misled);
    assert_true(iw_deframer_idle(&rig->deframer));

    /* An FPDU that the sink did not place is neither flagged nor offered twice. */
    early_begin(rig, true, true);
    early.answers = 0;
    assert_int_equal(feed_hex(rig, 0x1ec, FIGURE6), 0);
    assert_int_equal(feed_hex(rig, 0x1ec, FIGURE6), 0);
    assert_int_equal(early.count, 1);
    assert_int_equal(early_feed(rig, &first, 0, first.length), 0);
    assert_false(rig->seen.fpdu[1].placed_early);

    /* Octet by octet, backwards and forwards: it is found when the last is here. */
    for (unsigned way = 0; way < 2; way++) {
        uint8_t frame[64];
        size_t n = mpa_hex(frame, FIGURE6);
        early_begin(rig, true, true);
        for (size_t i = 0; i < n; i++) {
            size_t k = way ? i : n - 1 - i;
            assert_int_equal(early.count, 0);
            assert_int_equal(mpa_rig_feed(rig, 0x1ec + k, frame + k, 1), 0);
        }
        assert_int_equal(early.count, 1);
        assert_int_equal(early.crc_octets, n - 4);
        assert_int_equal(early_feed(rig, &first, 0, first.length), 0);
        early_assert(rig, 0, 1, 0x1ec);
    }
    mpa_reference_free(&first);
    mpa_rig_free(rig);
}

/* A Marker between two FPDUs belongs to the one that follows (RFC 5044 §4.3). */
static void marker_in_front(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);

    (void)state;
    early_begin(rig, true, true);
    assert_int_equal(feed_hex(rig, 1028, "00124143 00000000 00000000 00000002 00000000 7c71e5b4"),
                     0);
    assert_int_equal(early.count, 0); /* its CRC covers the Marker */
    assert_int_equal(feed_hex(rig, 1024, "00000000"), 0);
    assert_int_equal(early.count, 1);
    assert_int_equal(early.fpdu[0].pos, 1024);
    assert_int_equal(early.fpdu[0].header_pos, 1028);
    assert_int_equal(early.fpdu[0].size, 28);

    /* The same FPDU without a Marker anywhere near: nothing shows where it starts (n = 996). */
    early_begin(rig, true, true);
    assert_int_equal(feed_hex(rig, 1032, "00124143 00000000 00000000 00000002 00000000 accbdb8c"),
                     0);
    assert_int_equal(early.count, 0);
    assert_int_equal(early.crc_octets, 0);
    /* Nor does a Marker help that points to octets that are not here, or to the octet after a lost
     * Marker. */
    assert_int_equal(feed_hex(rig, 1024, "000003fc"), 0);
    assert_int_equal(feed_hex(rig, 1536, "000001fc 00000000"), 0);
    assert_int_equal(feed_hex(rig, 1028, "00"), 0);
    assert_int_equal(early.count, 0);
    assert_int_equal(early.crc_octets, 0);
    assert_false(rig->deframer.misled);
    mpa_rig_free(rig);
}

/* From a start all that is whole follows, FPDU by FPDU, as it comes. */
static void walk(void **state)
{
    static const size_t sizes[] = {100, 700, 20, 1, 40000, 508, 507, 506, 505, 504, 1442, 18};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference r = {.markers = true, .crc = true};
    size_t start[COUNT + 1], expected = 1;
    uint32_t seed = 44;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        start[i] = r.length;
        early_add(&r, sizes[i]);
    }
    start[COUNT] = r.length;
    for (unsigned round = 0; round < 20; round++) {
        early_begin(rig, true, true);
        rig->deframer.always_crc = round & 1;
        assert_int_equal(early_feed(rig, &r, 0, start[1] - 1), 0);
        expected = 1;
        for (size_t at = start[1]; at < r.length;) {
            size_t n = 1 + mpa_random(&seed) % (round < 10 ? 3000 : 30000);
            n = n < r.length - at ? n : r.length - at;
            assert_int_equal(early_feed(rig, &r, at, at + n), 0);
            at += n;
            while (expected < COUNT && start[expected + 1] <= at)
                expected++;
            /* All but that of 20 octets lie around a Marker, which makes them certain. */
            if (at >= 1024)
                assert_int_equal(early.count, expected - 1);
        }
        assert_int_equal(early_feed(rig, &r, start[1] - 1, start[1]), 0);
        assert_int_equal(rig->seen.fpdus, COUNT);
        for (size_t i = 1; i < COUNT; i++) {
            assert_true(rig->seen.fpdu[i].placed_early);
            early_assert(rig, i - 1, i, start[i]);
        }
        assert_int_equal(rig->seen.faults, 0);
        /* Each octet of the stream was computed at most twice: early, and in its turn. */
        assert_true(early.crc_octets <= 2 * r.length);
    }
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* Whatever is wrong, nothing comes early, and in order the same faults come as ever. */
static void wrong(void **state)
{
    static const struct {
        size_t at;
        const char *hex;
        enum iw_check check;
        size_t good; /* FPDUs after it that their own Markers vouch for */
        bool misled;
    } row[] = {
        {512 + 60, "77", IW_CHECK_MPA_CRC, 0, true},
        /* with its CRC mended below: to what has not come, into the FPDU, to a Marker's place */
        {514, "0018", IW_CHECK_MPA_MARKER_POINTER, 2, false},
        {514, "0010", IW_CHECK_MPA_MARKER_POINTER, 0, false},
        {1024 + 2, "0200", IW_CHECK_MPA_MARKER_POINTER, 0, true},
    };
    struct mpa_rig *rig = mpa_rig_new(true, true);
    const size_t begin_at = 0x1ec;

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct mpa_reference r = {.markers = true, .crc = true};
        early_add(&r, 482);
        assert_int_equal(r.length, begin_at);
        early_add(&r, 200); /* around the Marker at 512 */
        size_t end = r.length;
        early_add(&r, 500); /* around that at 1024 */
        size_t second = r.length;
        early_add(&r, 600);
        (void)mpa_hex(r.octets + row[i].at, row[i].hex);
        size_t from = row[i].at < 1024 ? begin_at : end, to = row[i].at < 1024 ? end : second;
        size_t fed = row[i].at < 1024 ? from : 512;
        if (row[i].check != IW_CHECK_MPA_CRC) {
            uint32_t state_of = iw_crc32c_portable(IW_CRC32C_INIT, r.octets + from, to - 4 - from);
            iw_crc32c_put(r.octets + to - 4, iw_crc32c_finish(state_of));
        }
        early_begin(rig, true, true);
        rig->seen.strict = true;
        assert_int_equal(early_feed(rig, &r, fed, r.length), 0);
        assert_int_equal(early.count, row[i].good);
        for (size_t k = 0; k < early.count; k++)
            assert_true(early.fpdu[k].pos >= to);
        assert_int_equal(rig->deframer.misled, row[i].misled);
        assert_int_equal(rig->seen.faults, 0);
        uint64_t spent = early.crc_octets; /* and no second attempt */
        assert_int_equal(early_feed(rig, &r, fed + 1, r.length), 0);
        assert_int_equal(early.crc_octets, spent);
        assert_int_equal(early_feed(rig, &r, 0, fed), -1);
        assert_int_equal(rig->seen.faults, 1);
        assert_int_equal(rig->seen.fault[0].check, row[i].check);
        mpa_reference_free(&r);
    }

    /* ULPDU_Length 0 and above the maximum, found by a Marker before it. */
    static const char *const lengths[] = {"00000000 00000000 c74b6748",
                                          "00000000 fd010000 00000000"};
    for (size_t i = 0; i < 2; i++) {
        early_begin(rig, true, true);
        assert_int_equal(feed_hex(rig, 512, lengths[i]), 0);
        assert_int_equal(early.count, 0);
        assert_int_equal(early.crc_octets, 0);
        assert_true(rig->deframer.misled);
        assert_int_equal(rig->seen.faults, 0);
    }
    mpa_rig_free(rig);
}

/* A Marker must lie in the FPDU that it points to: here the one at 1024 points over an FPDU to the
 * one before it, whose CRC says nothing of that Marker. */
static void marker_outside(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference r = {.markers = true, .crc = true};

    (void)state;
    early_add(&r, 482);
    early_add(&r, 40); /* at 492, around 512 */
    size_t one = r.length;
    early_add(&r, 300);
    size_t two = r.length;
    assert_true(two < 1024);
    early_add(&r, 600);
    r.octets[1026] = (uint8_t)((1024 - one) >> 8);
    r.octets[1027] = (uint8_t)(1024 - one);
    early_begin(rig, true, true);
    assert_int_equal(early_feed(rig, &r, one, r.length), 0);
    assert_int_equal(early.count, 0);
    assert_true(rig->deframer.misled);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* Found by its first Marker, but the second one lies, and the CRC covers the lie. */
static void second_marker(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    struct mpa_reference r = {.markers = true, .crc = true};

    (void)state;
    early_add(&r, 482);
    size_t from = r.length;
    early_add(&r, 900); /* around 512 and 1024 */
    r.octets[1027] ^= 0x04;
    uint32_t crc = iw_crc32c_portable(IW_CRC32C_INIT, r.octets + from, r.length - 4 - from);
    iw_crc32c_put(r.octets + r.length - 4, iw_crc32c_finish(crc));
    early_begin(rig, true, true);
    assert_int_equal(early_feed(rig, &r, from, r.length), 0);
    assert_int_equal(early.count, 0);
    assert_true(rig->deframer.misled);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* A perfect FPDU in the payload, where a segment begins. */
static void image_in_the_payload(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    uint8_t payload[20 * IMAGE_SIZE];

    (void)state;
    for (size_t i = 0; i < 20; i++)
        (void)mpa_hex(payload + i * IMAGE_SIZE, IMAGE);
    for (unsigned markers = 0; markers < 2; markers++) {
        struct mpa_reference r = {.markers = markers, .crc = true};
        early_add(&r, 100);
        size_t first = r.length;
        mpa_reference_frame(&r, payload, sizeof(payload));
        size_t second = r.length;
        early_add(&r, 500);
        size_t image = first + 2;
        for (unsigned aligned = 0; aligned <= markers; aligned++) {
            early_begin(rig, markers, true);
            rig->deframer.aligned = aligned;
            assert_int_equal(early_feed(rig, &r, 0, first), 0);
            assert_int_equal(rig->seen.fpdus, 1);
            for (size_t n = 0; n < 3; n++)
                assert_int_equal(
                    early_feed(rig, &r, image + n * IMAGE_SIZE, image + (n + 1) * IMAGE_SIZE), 0);
            assert_int_equal(early_feed(rig, &r, image, r.length), 0);
            /* with Markers the true one after it is found, and nothing else */
            assert_int_equal(early.count, markers);
            if (markers)
                assert_int_equal(early.fpdu[0].pos, second);
            assert_int_equal(early_feed(rig, &r, first, image), 0);
            assert_int_equal(rig->seen.fpdus, 3);
            assert_int_equal(rig->seen.faults, 0);
            assert_false(rig->seen.fpdu[1].placed_early);
            assert_int_equal(rig->seen.fpdu[2].placed_early, markers);
            assert_false(rig->deframer.misled);
        }
        mpa_reference_free(&r);
    }
    mpa_rig_free(rig);
}

#define HELLO "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c"
enum { HELLO_SIZE = 32 };

/* Without Markers: segments that are whole FPDUs, of a peer that is trusted to align them. */
static void aligned(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);

    (void)state;
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    assert_int_equal(feed_hex(rig, 24, HELLO IMAGE), 0);
    assert_int_equal(early.count, 2);
    assert_int_equal(early.fpdu[0].pos, 24);
    assert_int_equal(early.fpdu[1].pos, 56);
    assert_int_equal(feed_hex(rig, 24, HELLO IMAGE HELLO), 0); /* one more after the two */
    assert_int_equal(early.count, 3);
    assert_int_equal(early.fpdu[2].pos, 80);
    assert_int_equal(feed_hex(rig, 24, HELLO), 0);
    assert_int_equal(feed_hex(rig, 56, IMAGE HELLO), 0);
    assert_int_equal(early.count, 3);
    assert_int_equal(feed_hex(rig, 0, IMAGE), 0);
    assert_int_equal(rig->seen.fpdus, 4);
    assert_false(rig->seen.fpdu[0].placed_early);
    for (size_t i = 1; i < 4; i++)
        assert_true(rig->seen.fpdu[i].placed_early);
    assert_false(rig->deframer.misled);

    /* One octet more or less, a bad CRC, no trust, no CRC in force: nothing. */
    for (unsigned way = 0; way < 6; way++) {
        early_begin(rig, false, way != 4);
        rig->deframer.aligned = way != 3;
        if (way == 5)
            rig->seen.sink.early = NULL;
        assert_int_equal(feed_hex(rig, 24,
                                  way == 0   ? HELLO "00"
                                  : way == 1 ? "00174143 00000000 00000000 00000001 00000000"
                                  : way == 2 ? HELLO "00124143 00000000 00000000 00000001 00000000"
                                                     "587be8c5"
                                             : HELLO),
                         0);
        assert_int_equal(early.count, 0);
        assert_false(rig->deframer.misled);
    }
    mpa_rig_free(rig);
}

/* The guess was wrong, as the in-order pass finds: it was the last one. */
static void misled(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    struct mpa_reference r = {.crc = true};
    uint8_t payload[3 * IMAGE_SIZE];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        (void)mpa_hex(payload + i * IMAGE_SIZE, IMAGE);
    mpa_reference_frame(&r, payload, sizeof(payload));
    size_t first = r.length;
    for (size_t i = 0; i < 4; i++)
        mpa_reference_frame(&r, payload + 2, 18);
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    assert_int_equal(early_feed(rig, &r, 2 + IMAGE_SIZE, 2 + 2 * IMAGE_SIZE), 0);
    assert_int_equal(early.count, 1);
    assert_int_equal(early_feed(rig, &r, first, first + IMAGE_SIZE), 0); /* a true one */
    assert_int_equal(early.count, 2);
    assert_int_equal(early_feed(rig, &r, first, first + IMAGE_SIZE), 0);
    /* An FPDU that would reach into the others is none. */
    assert_int_equal(early_feed(rig, &r, 0, 2 + IMAGE_SIZE), 0);
    assert_int_equal(early_feed(rig, &r, 2 + 2 * IMAGE_SIZE, first), 0);
    assert_int_equal(rig->seen.fpdus, 2);
    assert_int_equal(rig->seen.faults, 0);
    assert_false(rig->seen.fpdu[0].placed_early);
    assert_true(rig->deframer.misled);
    assert_int_equal(early_feed(rig, &r, first + 2 * IMAGE_SIZE, first + 3 * IMAGE_SIZE), 0);
    assert_int_equal(early.count, 2);
    assert_int_equal(early_feed(rig, &r, first + IMAGE_SIZE, r.length), 0);
    assert_int_equal(rig->seen.fpdus, 5);
    for (size_t i = 0; i < 5; i++)
        assert_false(rig->seen.fpdu[i].placed_early);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* Candidates that contradict what was believed before. */
static void contradictions(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(false, true);
    struct mpa_reference r = {.crc = true};
    uint8_t payload[2 * IMAGE_SIZE];

    (void)state;
    for (size_t i = 0; i < 2; i++)
        (void)mpa_hex(payload + i * IMAGE_SIZE, IMAGE);
    mpa_reference_frame(&r, payload, sizeof(payload));
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    /* The inner image first, then the true FPDU around it. */
    assert_int_equal(mpa_rig_feed(rig, 1002, r.octets + 2, IMAGE_SIZE), 0);
    assert_int_equal(early.count, 1);
    assert_int_equal(mpa_rig_feed(rig, 1000, r.octets, r.length), 0);
    assert_int_equal(early.count, 1);
    /* The other way round. */
    early_begin(rig, false, true);
    rig->deframer.aligned = true;
    assert_int_equal(mpa_rig_feed(rig, 1000, r.octets, r.length), 0);
    assert_int_equal(early.count, 1);
    assert_int_equal(mpa_rig_feed(rig, 1002, r.octets + 2, IMAGE_SIZE), 0);
    assert_int_equal(early.count, 1);
    mpa_reference_free(&r);
    mpa_rig_free(rig);
}

/* Any order of any segments: each FPDU early at most once, before its turn, octet for octet. */
static void any_order(void **state)
{
    struct mpa_rig *rig = mpa_rig_new(true, true);
    uint32_t seed = 5044;
    size_t found = 0, refused = 0;

    (void)state;
    for (unsigned round = 0; round < 120; round++) {
        struct mpa_reference r = {.markers = true, .crc = true};
        bool given[200] = {false};
        size_t longest = 1 + mpa_random(&seed) % 4000, left = 0, count = 0;
        while (count < 58 && r.length < 90000) { /* some are longer than any window */
            early_add(&r, 1 + mpa_random(&seed) % (mpa_random(&seed) % 4 ? 1500 : 9000));
            count++;
        }
        early_begin(rig, true, true);
        early.answers = mpa_random(&seed) * 3;
        struct {
            size_t from, to;
        } segment[200];
        for (size_t at = 0; at < r.length && left < 199; left++) {
            size_t end = left == 198 ? r.length : at + 1 + mpa_random(&seed) % longest;
            end = end < r.length ? end : r.length;
            size_t back = mpa_random(&seed) % 4 ? 0 : mpa_random(&seed) % 500;
            segment[left].from = back < at ? at - back : 0;
            segment[left].to = at = end;
        }
        while (left > 0) {
            size_t k = mpa_random(&seed) % left, before = rig->seen.fpdus;
            int result = early_feed(rig, &r, segment[k].from, segment[k].to);
            assert_true(result == 0 || result == -2);
            for (size_t i = 0; i < early.count; i++)
                if (!given[i]) { /* its turn was still to come */
                    given[i] = true;
                    assert_true(before == 0 || early.fpdu[i].pos > rig->seen.fpdu[before - 1].pos);
                }
            if (result == 0)
                segment[k] = segment[--left];
            else
                refused++;
        }
        assert_int_equal(rig->seen.fpdus, count);
        assert_int_equal(rig->seen.faults, 0);
        assert_false(rig->deframer.misled);
        size_t placed = 0;
        for (size_t i = 0; i < count; i++) {
            size_t times = 0;
            for (size_t k = 0; k < early.count; k++)
                if (early.fpdu[k].pos == rig->seen.fpdu[i].pos) {
                    early_assert(rig, k, i, early.fpdu[k].pos);
                    times++;
                    assert_int_equal(rig->seen.fpdu[i].placed_early, early.answers >> (k % 32) & 1);
                }
            assert_in_range(times, 0, 1);
            placed += times;
        }
        assert_int_equal(placed, early.count);
        found += early.count;
        mpa_reference_free(&r);
    }
    assert_true(found > 1000 && refused > 0);
    mpa_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure6_behind_a_gap),
        cmocka_unit_test(marker_in_front),
        cmocka_unit_test(walk),
        cmocka_unit_test(wrong),
        cmocka_unit_test(marker_outside),
        cmocka_unit_test(second_marker),
        cmocka_unit_test(image_in_the_payload),
        cmocka_unit_test(aligned),
        cmocka_unit_test(misled),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
