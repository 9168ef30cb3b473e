/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void expect_octets(const struct iw_stream *s, const char *octets)
{
    const uint8_t *data;
    assert_int_equal(iw_stream_peek(s, &data), strlen(octets));
    assert_memory_equal(data, octets, strlen(octets));
}

static void in_order(void **state)
{
    (void)state;
    char buffer[8];
    struct iw_stream s;
    iw_stream_init(&s, buffer, sizeof(buffer), 100);
    expect_octets(&s, "");
    assert_int_equal(iw_stream_put(&s, 100, "abc", 3), 0);
    assert_int_equal(iw_stream_put(&s, 103, "de", 2), 0);
    expect_octets(&s, "abcde");
    assert_false(iw_stream_gap(&s));
    iw_stream_consume(&s, 4);
    assert_int_equal(iw_stream_next(&s), 104);
    /* Fits only after the held octets have been moved. */
    assert_int_equal(iw_stream_put(&s, 105, "fghijkl", 7), 0);
    expect_octets(&s, "efghijkl");
    iw_stream_consume(&s, 100);
    assert_int_equal(iw_stream_next(&s), 112);
    assert_int_equal(iw_stream_islands(&s), 0);
}

static void repeats_and_the_window(void **state)
{
    (void)state;
    char buffer[4];
    struct iw_stream s;
    iw_stream_init(&s, buffer, sizeof(buffer), 10);
    assert_int_equal(iw_stream_put(&s, 6, "wxyz", 4), 0);
    expect_octets(&s, "");
    assert_int_equal(iw_stream_put(&s, 8, "yzab", 4), 0);
    expect_octets(&s, "ab");
    assert_int_equal(iw_stream_put(&s, 11, "bcdefg", 6), 3);
    expect_octets(&s, "abcd");
    assert_int_equal(iw_stream_put(&s, 14, "e", 1), 1);
    assert_int_equal(iw_stream_put(&s, 14, "", 0), 0);
    assert_int_equal(iw_stream_put(&s, 14 + (UINT64_C(1) << 62), "far", 3), 3);
    assert_int_equal(iw_stream_put(&s, 10 - (UINT64_C(1) << 62), "old", 3), 0);
    expect_octets(&s, "abcd");
    assert_int_equal(s.conflicts, 0);
}

static void first_copy_wins(void **state)
{
    (void)state;
    char buffer[16];
    struct iw_stream s;
    iw_stream_init(&s, buffer, sizeof(buffer), 0);
    assert_int_equal(iw_stream_put(&s, 2, "cd", 2), 0);
    assert_int_equal(iw_stream_put(&s, 6, "gh", 2), 0);
    assert_int_equal(iw_stream_put(&s, 0, "abcXefgYi", 9), 0);
    expect_octets(&s, "abcdefghi");
    assert_int_equal(s.conflicts, 2);
    assert_int_equal(s.conflict_pos, 3);
    assert_int_equal(iw_stream_put(&s, 1, "bc", 2), 0);
    assert_int_equal(s.conflicts, 2);
}

/* Octet `at` alone differs in what is put over `held` octets of "abcdefgh" that stand at 8: over
 * their beginning, their middle, their end, all of them, or one of them, wherever the rest lies. */
static void every_octet_of_an_overlap_is_compared(void **state)
{
    (void)state;
    enum { HELD = 8, BEGIN = 8, END = BEGIN + HELD, LAST = 24 };
    static const char octets[] = "12345678abcdefghABCDEFGH";
    for (unsigned begin = 0; begin < LAST; begin++)
        for (unsigned end = begin + 1; end <= LAST; end++)
            for (unsigned at = begin; at < end; at++) {
                char other = (begin + end) % 2 != 0 ? '!' : '~'; /* below all, above all */
                char buffer[LAST], piece[LAST];
                struct iw_stream s;
                iw_stream_init(&s, buffer, sizeof(buffer), 100);
                assert_int_equal(iw_stream_put(&s, 100 + BEGIN, octets + BEGIN, HELD), 0);
                memcpy(piece, octets + begin, end - begin);
                piece[at - begin] = other;
                assert_int_equal(iw_stream_put(&s, 100 + begin, piece, end - begin), 0);
                bool held = at >= BEGIN && at < END;
                assert_int_equal(s.conflicts, held ? 1 : 0);
                assert_int_equal(s.conflict_pos, held ? 100 + at : 0);
                /* The octets that were there first stay. */
                const uint8_t *data = NULL;
                uint64_t pos = 0;
                for (size_t k = 0; k < iw_stream_islands(&s); k++) {
                    size_t n = iw_stream_island(&s, k, &pos, &data);
                    for (size_t i = 0; i < n; i++) {
                        uint64_t where = pos - 100 + i;
                        assert_int_equal(data[i], where == at && !held ? other : octets[where]);
                    }
                }
            }
}

static void a_conflict_in_one_octet(void **state)
{
    (void)state;
    char buffer[8];
    struct iw_stream s;
    iw_stream_init(&s, buffer, sizeof(buffer), 0);
    assert_int_equal(iw_stream_put(&s, 2, "c", 1), 0);
    assert_int_equal(iw_stream_put(&s, 2, "X", 1), 0); /* the only octet of both */
    assert_int_equal(s.conflicts, 1);
    assert_int_equal(s.conflict_pos, 2);
    assert_int_equal(iw_stream_put(&s, 0, "abY", 3), 0); /* the only one of the overlap */
    assert_int_equal(s.conflicts, 2);
    assert_int_equal(iw_stream_put(&s, 1, "Zc", 2), 0); /* its first */
    assert_int_equal(s.conflicts, 3);
    assert_int_equal(s.conflict_pos, 2); /* the position is that of the first conflict */
    expect_octets(&s, "abc");
}

static void islands_and_skip(void **state)
{
    (void)state;
    char buffer[16];
    struct iw_stream s;
    uint64_t pos = 0;
    const uint8_t *data = NULL;
    iw_stream_init(&s, buffer, sizeof(buffer), 0);
    assert_int_equal(iw_stream_put(&s, 8, "ij", 2), 0);
    assert_int_equal(iw_stream_put(&s, 3, "def", 3), 0);
    assert_true(iw_stream_gap(&s));
    assert_int_equal(iw_stream_islands(&s), 2);
    assert_int_equal(iw_stream_island(&s, 0, &pos, &data), 3);
    assert_int_equal(pos, 3);
    assert_memory_equal(data, "def", 3);
    assert_int_equal(iw_stream_island(&s, 1, &pos, &data), 2);
    assert_int_equal(pos, 8);
    assert_memory_equal(data, "ij", 2);
    assert_int_equal(iw_stream_island(&s, 2, &pos, &data), 0);
    iw_stream_skip(&s, 4);
    expect_octets(&s, "ef");
    iw_stream_skip(&s, 2);
    assert_int_equal(iw_stream_next(&s), 4);
    iw_stream_skip(&s, 6);
    expect_octets(&s, "");
    assert_int_equal(iw_stream_put(&s, 6, "gh", 2), 0);
    expect_octets(&s, "ghij");
    iw_stream_skip(&s, 1000);
    assert_int_equal(iw_stream_next(&s), 1000);
    assert_int_equal(iw_stream_islands(&s), 0);
    assert_int_equal(iw_stream_put(&s, 1000, "0123456789abcdef", 16), 0);
    expect_octets(&s, "0123456789abcdef");
}

static void islands_are_bounded(void **state)
{
    (void)state;
    char buffer[4 * IW_STREAM_RANGES];
    struct iw_stream s;
    iw_stream_init(&s, buffer, sizeof(buffer), 0);
    for (unsigned i = 1; i <= IW_STREAM_RANGES; i++)
        assert_int_equal(iw_stream_put(&s, 2u * i, "x", 1), 0);
    assert_int_equal(iw_stream_put(&s, 2u * IW_STREAM_RANGES + 2, "xyz", 3), 3);
    /* Progress stays possible: at `next`, and where islands grow together. */
    assert_int_equal(iw_stream_put(&s, 0, "x", 1), 0);
    assert_int_equal(iw_stream_islands(&s), IW_STREAM_RANGES + 1);
    assert_int_equal(iw_stream_put(&s, 2u * IW_STREAM_RANGES + 2, "x", 1), 1);
    assert_int_equal(iw_stream_put(&s, 3, "x", 1), 0);
    assert_int_equal(iw_stream_islands(&s), IW_STREAM_RANGES);
    assert_int_equal(iw_stream_put(&s, 2u * IW_STREAM_RANGES + 2, "x", 1), 0);
    assert_int_equal(iw_stream_islands(&s), IW_STREAM_RANGES + 1);
}

static void positions_wrap(void **state)
{
    (void)state;
    char buffer[16];
    struct iw_stream s;
    iw_stream_init(&s, buffer, sizeof(buffer), UINT64_MAX - 2);
    assert_int_equal(iw_stream_put(&s, 1, "ef", 2), 0);
    assert_int_equal(iw_stream_put(&s, UINT64_MAX - 4, "--abcd", 6), 0);
    expect_octets(&s, "abcdef");
    iw_stream_consume(&s, 5);
    assert_int_equal(iw_stream_next(&s), 2);
    assert_int_equal(iw_stream_put(&s, UINT64_MAX, "cdefg", 5), 0);
    expect_octets(&s, "fg");
    assert_int_equal(s.conflicts, 0);
}

static void unwrap(void **state)
{
    (void)state;
    assert_int_equal(iw_stream_unwrap(0, 5), 5);
    assert_int_equal(iw_stream_unwrap(UINT64_C(0xffffffff), 0), UINT64_C(0x100000000));
    assert_int_equal(iw_stream_unwrap(UINT64_C(0x100000000), 0xffffffff), UINT64_C(0xffffffff));
    assert_int_equal(iw_stream_unwrap(UINT64_C(0x1234567890), 0x34567880), UINT64_C(0x1234567880));
    assert_int_equal(iw_stream_unwrap(UINT64_C(0x500000000), 0x7fffffff), UINT64_C(0x57fffffff));
    assert_int_equal(iw_stream_unwrap(UINT64_C(0x500000000), 0x80000000), UINT64_C(0x480000000));
    assert_int_equal(iw_stream_unwrap(3, 0xffffffff), UINT64_MAX);
}

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * limit) >> 32);
}

static uint8_t octet_at(uint64_t pos)
{
    return (uint8_t)((pos * 2654435761u) >> 13);
}

/* Segments drawn anywhere in and around the window, repeated, overlapping, refused and tried
 * again: what comes out is the octets of the stream, each once and in order. */
static void any_order_gives_the_same_octets(void **state)
{
    (void)state;
    enum { TOTAL = 3000, WINDOW = 300 };
    for (uint32_t round = 1; round <= 60; round++) {
        uint32_t seed = round;
        uint8_t buffer[WINDOW], piece[80];
        struct iw_stream s;
        uint64_t start = round % 2 != 0 ? 0 : UINT64_MAX - TOTAL / 2;
        iw_stream_init(&s, buffer, sizeof(buffer), start);
        uint64_t out = 0;
        while (out < TOTAL) {
            uint64_t low = out > 50 ? out - 50 : 0;
            uint64_t at = low + random_below(&seed, WINDOW + 100);
            uint64_t length = 1 + random_below(&seed, sizeof(piece));
            if (random_below(&seed, 4) == 0)
                at = out;
            if (at >= TOTAL)
                continue;
            if (length > TOTAL - at)
                length = TOTAL - at;
            for (uint64_t i = 0; i < length; i++)
                piece[i] = octet_at(at + i);
            size_t refused = iw_stream_put(&s, start + at, piece, (size_t)length);
            if (refused != 0)
                assert_true(at + length > out + WINDOW ||
                            iw_stream_islands(&s) >= IW_STREAM_RANGES);
            const uint8_t *data;
            size_t held = iw_stream_peek(&s, &data);
            if (at == out)
                assert_true(held >= length - refused && held > 0);
            size_t take =
                random_below(&seed, 3) == 0 ? held : random_below(&seed, 1 + (uint32_t)held);
            for (size_t i = 0; i < take; i++)
                assert_int_equal(data[i], octet_at(out + i));
            iw_stream_consume(&s, take);
            out += take;
            assert_int_equal(iw_stream_next(&s), start + out);
            uint64_t behind = start + out;
            for (size_t k = 0; k < iw_stream_islands(&s); k++) {
                uint64_t pos = 0;
                size_t n = iw_stream_island(&s, k, &pos, &data);
                assert_true(n > 0 && (k == 0 || pos - behind - 1 < WINDOW));
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(data[i], octet_at(pos - start + i));
                behind = pos + n;
            }
            assert_true(behind - start - out <= WINDOW);
        }
        assert_int_equal(out, TOTAL);
        assert_int_equal(s.conflicts, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(repeats_and_the_window),
        cmocka_unit_test(first_copy_wins),
        cmocka_unit_test(every_octet_of_an_overlap_is_compared),
        cmocka_unit_test(a_conflict_in_one_octet),
        cmocka_unit_test(islands_and_skip),
        cmocka_unit_test(islands_are_bounded),
        cmocka_unit_test(positions_wrap),
        cmocka_unit_test(unwrap),
        cmocka_unit_test(any_order_gives_the_same_octets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
