/* SPDX-License-Identifier: BSD-3-Clause */
/* Which attempts the trimmer makes, in which order, and what AFL++'s shared object gives for a
 * seed: digests of all of it. Whoever changes that on purpose writes the new digests here. */
#include "mutate_support.h"

#include <stdio.h>

#include "mutate/afl.h"
#include "mutate/trim.h"

static struct iw_mutate_trim trim;
static uint8_t attempt[IW_MUTATE_INPUT_MAX];
static uint64_t digest;

/* FNV-1a. */
static void digest_add(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ data[i]) * 0x100000001b3u;
    digest = (digest ^ size) * 0x100000001b3u;
}

/* Asserts the digest in hexadecimal, and starts another. */
static void digest_is(const char *expected)
{
    char own[20];

    snprintf(own, sizeof(own), "%016llx", (unsigned long long)digest);
    digest = 0xcbf29ce484222325u;
    assert_string_equal(own, expected);
}

#define TAGGED "0012c140000000a100000000000001006162636400000000"
#define REQUEST_2 "4d504120494420526571204672616d65500200084010c01061626364"

static const char *const inputs[] = {
    "",
    ("01000000 001c00" SEND_1),
    ("01000000 001600" REQUEST " 001c00" SEND_1 " 020200 aabb 003800" SEND_2 SEND_3 " 050000"),
    ("01000000 001400 0013414300000000000000000000000100000000 000800 66000000b03a5457"),
    ("03000000 000400 00000000 001c00" SEND_1 " 011c00" SEND_2 " 011c00" SEND_3),
    ("00000000 001800" TAGGED " 001000 0012c140000000a10000000000000100 000800 6162636400000000"),
    ("09000000 001c00" REQUEST_2 " 011c00" SEND_3 " 001c00" SEND_2 " 001c00" SEND_2),
    ("01000000 040600 0300 01020304 841000 0180 0102030405060708090a0b0c0d0e 070000"),
    ("01000000 000500 0011223344 010300 aabbcc 000100 ff 000800 0000000000000000"),
    ("01000000 001c00 0015414300000000000000000000000100000000616263004470 65ab 000100 01 000000"),
};

static bool refuse(size_t length)
{
    (void)length;
    return false;
}

static bool take(size_t length)
{
    (void)length;
    return true;
}

/* Every third attempt is as good. */
static bool take_some(size_t length)
{
    (void)length;
    return trim.tries % 3 == 0;
}

static bool take_long(size_t length)
{
    return length > 40;
}

/* As long as the first octet of a payload is there. */
static bool take_f(size_t length)
{
    return memchr(attempt, 'f', length) != NULL;
}

/* All attempts at one input. */
static void trim_input(const char *hex, bool (*judge)(size_t length), size_t room)
{
    static uint8_t in[1024];
    size_t size = from_hex(in, hex), length;

    assert_true(iw_mutate_trim_begin(&trim, in, size));
    while (iw_mutate_trim_try(&trim, attempt, room, &length)) {
        assert_true(length <= size);
        digest_add(attempt, length);
        iw_mutate_trim_verdict(&trim, judge(length));
    }
    digest_add((const uint8_t[]){(uint8_t)trim.tries, (uint8_t)(trim.tries >> 8)}, 2);
    digest_add(attempt, iw_mutate_write(&trim.best, attempt, sizeof(attempt)));
}

static void trim_all(bool (*judge)(size_t length), const char *expected)
{
    digest = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        trim_input(inputs[i], judge, sizeof(attempt));
    digest_is(expected);
}

static void attempts_are_these(void **state)
{
    (void)state;
    trim_all(refuse, "dde87dcb46ad9b25");
    trim_all(take, "cd4006fff5cdd7ec");
    trim_all(take_some, "6688e389b68b2a0a");
    trim_all(take_long, "06c67c1ea8ef8a3f");
    trim_all(take_f, "8304983c72507aba");
    trim.best.single = true;
    trim_all(take_some, "5d05fabfb41d3878");
    trim.best.single = false;
    trim.best.commands = true;
    trim_all(take_some, "a1fb8e33306c15f6");
    trim.best.commands = false;
}

static void too_much_is_not_trimmed(void **state)
{
    static uint8_t large[IW_MUTATE_INPUT_MAX + 1];

    (void)state;
    assert_false(iw_mutate_trim_begin(&trim, large, sizeof(large)));
}

/* ---- for AFL++ ---- */

/* Many results of one mutator, with an input to splice and without. */
static void fuzz_all(const char *expected)
{
    static uint8_t in[1024], other[1024];
    void *m = afl_custom_init(NULL, 3);

    digest = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 600; i++) {
        uint8_t *out;
        size_t size = from_hex(in, inputs[i % 10]), more = from_hex(other, inputs[i % 7]);
        size_t n =
            afl_custom_fuzz(m, in, size, &out, i % 3 == 0 ? NULL : other, more, i % 2 ? 90 : 9000);
        assert_true(n <= (i % 2 ? 90 : 9000));
        digest_add(out, n);
    }
    digest_is(expected);
    afl_custom_deinit(m);
}

static void mutations_are_these(void **state)
{
    (void)state;
    fuzz_all("cf9c83875563b96b");
    setenv("IW_FUZZ_SINGLE", "1", 1);
    fuzz_all("37095e634eeccc1d");
    unsetenv("IW_FUZZ_SINGLE");
    setenv("IW_FUZZ_COMMANDS", "1", 1);
    fuzz_all("10ac1ddc63ce92dd");
    unsetenv("IW_FUZZ_COMMANDS");
}

/* What cannot be read is given back as it is. */
static void unreadable_inputs_stay(void **state)
{
    static uint8_t large[IW_MUTATE_INPUT_MAX + 1], some[4];
    uint8_t *out = NULL;
    void *m = afl_custom_init(NULL, 3);

    (void)state;
    assert_int_equal(afl_custom_fuzz(m, large, sizeof(large), &out, some, 4, 9000), sizeof(large));
    assert_ptr_equal(out, large);
    for (uint8_t i = 0; i < 30; i++) {
        large[7] = i;
        out = NULL;
        assert_int_equal(afl_custom_post_process(m, large, sizeof(large), &out), sizeof(large));
        assert_ptr_equal(out, large);
    }
    assert_int_equal(afl_custom_init_trim(m, large, sizeof(large)), 0);
    for (size_t i = 0; i < 100; i++) { /* one to splice that cannot be read */
        assert_true(afl_custom_fuzz(m, some, 4, &out, large, sizeof(large), 9000) <= 9000);
        assert_ptr_not_equal(out, some);
    }
    afl_custom_deinit(m);
}

/* Every octet decides whether an input is repaired. */
static void repairs_are_these(void **state)
{
    void *m = afl_custom_init(NULL, 1);
    char marks[200] = "";

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        uint8_t in[64], *out;
        size_t size = from_hex(in, "01000000 001c00" SEND_1);
        in[i % 2 ? 0 : size - 1] ^= (uint8_t)(2 * i + 4);
        size -= i % 5 == 0;
        size_t n = afl_custom_post_process(m, in, size, &out);
        marks[i] = n != size || memcmp(out, in, n) != 0 ? 'r' : out == in ? '.' : 's';
    }
    assert_string_equal(marks, ".srsrrrsrs.srsrr.srs.srsrrr.r..srs.rrsrs.srs.rrsrs.srsrrrsrs.sr."
                               "rrrs.s.srsrrrsrs.s.srrrsrs.srsrrrsrs");
    afl_custom_deinit(m);
}

static void trimming_is_these_attempts(void **state)
{
    static uint8_t in[1024], steps[4 + 3 * 1024];
    void *m = afl_custom_init(NULL, 1);

    (void)state;
    digest = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 10; i++) {
        size_t size = from_hex(in, inputs[i]), tries = 0;
        int32_t more = afl_custom_init_trim(m, in, size);
        digest_add((const uint8_t[]){(uint8_t)more}, 1);
        for (; more == 1; tries++) {
            uint8_t *out;
            size_t n = afl_custom_trim(m, &out);
            digest_add(out, n);
            more = 1 - afl_custom_post_trim(m, tries % 3 == 1 ? 2 : 0);
        }
    }
    digest_is("a0071d430ab67738");
    /* No more than 400 attempts. */
    int32_t more = afl_custom_init_trim(m, steps, sizeof(steps));
    size_t tries = 0;
    for (; more == 1; tries++)
        more = 1 - afl_custom_post_trim(m, 0);
    assert_int_equal(tries, 400);
    afl_custom_deinit(m);
}

/* ---- a part alone ---- */

static void parts_need_room(void **state)
{
    static struct iw_mutate_script script;
    uint8_t out[64];

    (void)state;
    read_hex(&script, "01000000 000300 ff0000 001c00" SEND_1);
    assert_int_equal(iw_mutate_frame(&script, &script.part[0], 0, out, 2), 0);
    assert_int_equal(iw_mutate_frame(&script, &script.part[0], 0, out, 3), 3);
    assert_octets(out, 3, "ff0000");
    /* For an FPDU as much as it could have with Markers. */
    assert_int_equal(iw_mutate_frame(&script, &script.part[1], 0, out, 35), 0);
    assert_int_equal(iw_mutate_frame(&script, &script.part[1], 0, out, 36), 28);
}

/* A part may have all octets that are left, and no more; as many parts as there are places. */
static void parts_fill_a_script(void **state)
{
    static struct iw_mutate_script script;
    static uint8_t zeros[IW_MUTATE_ARENA];

    (void)state;
    assert_false(iw_mutate_insert(&script, 0, IW_MUTATE_OTHER, 0, zeros, IW_MUTATE_ARENA + 1));
    assert_int_equal(script.count, 0);
    assert_true(iw_mutate_insert(&script, 0, IW_MUTATE_OTHER, 0, zeros, IW_MUTATE_ARENA / 2));
    assert_false(iw_mutate_insert(&script, 0, IW_MUTATE_OTHER, 0, zeros, IW_MUTATE_ARENA / 2 + 1));
    assert_true(iw_mutate_copy(&script, 0, 1));
    assert_int_equal(script.used, IW_MUTATE_ARENA);
    assert_false(iw_mutate_copy(&script, 0, 1));
    assert_int_equal(script.count, 2);
    for (size_t n = 2; n < IW_MUTATE_PARTS; n++)
        assert_true(iw_mutate_insert(&script, n, IW_MUTATE_OTHER, 5, NULL, 0));
    assert_false(iw_mutate_insert(&script, 0, IW_MUTATE_OTHER, 5, NULL, 0));
    assert_false(iw_mutate_copy(&script, 5, 0));
    assert_int_equal(script.count, IW_MUTATE_PARTS);
    /* What is dropped from the end, or beyond it. */
    iw_mutate_drop(&script, IW_MUTATE_PARTS, 1);
    assert_int_equal(script.count, IW_MUTATE_PARTS);
    iw_mutate_drop(&script, IW_MUTATE_PARTS - 1, 5);
    assert_int_equal(script.count, IW_MUTATE_PARTS - 1);
    assert_true(iw_mutate_insert(&script, 0, IW_MUTATE_OTHER, 5, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_are_these),  cmocka_unit_test(too_much_is_not_trimmed),
        cmocka_unit_test(mutations_are_these), cmocka_unit_test(unreadable_inputs_stay),
        cmocka_unit_test(repairs_are_these),   cmocka_unit_test(trimming_is_these_attempts),
        cmocka_unit_test(parts_need_room),     cmocka_unit_test(parts_fill_a_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
