/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_support.h"

/* A Send of "ab", with a pad of two octets. */
#define SEND "001441430000000000000000000000010000000061620000e30dcd6b"

static size_t octets_of(const char *hex, uint8_t *out)
{
    struct iw_hunt_input *in = support_input(hex);
    size_t length = in->steps[0].length;

    memcpy(out, in->steps[0].octets, length);
    iw_hunt_input_free(in);
    return length;
}

static void edit(const char *before, void (*change)(struct iw_hunt_input *in), const char *after)
{
    struct iw_hunt_input *in = support_input(before);

    change(in);
    support_is(in, after);
    iw_hunt_input_free(in);
}

static void insert_first(struct iw_hunt_input *in)
{
    iw_hunt_insert(in, 0, IW_FUZZ_B, "x", 1);
}

static void insert_second(struct iw_hunt_input *in)
{
    iw_hunt_insert(in, 1, IW_FUZZ_A, "", 0);
}

static void insert_behind(struct iw_hunt_input *in)
{
    iw_hunt_insert(in, 3, IW_FUZZ_A, "x", 1);
}

static void insert_time(struct iw_hunt_input *in)
{
    iw_hunt_insert_time(in, 1, 0x1234);
    iw_hunt_add_time(in, 65535);
}

static void drop_none(struct iw_hunt_input *in)
{
    iw_hunt_drop(in, 3, 1);
}

static void drop_middle(struct iw_hunt_input *in)
{
    iw_hunt_drop(in, 1, 1);
}

static void drop_rest(struct iw_hunt_input *in)
{
    iw_hunt_drop(in, 1, 9);
}

static void split_one(struct iw_hunt_input *in)
{
    iw_hunt_split(in, 1, 1);
}

static void split_nothing(struct iw_hunt_input *in)
{
    iw_hunt_split(in, 1, 0);
    iw_hunt_split(in, 1, 3);
    iw_hunt_split(in, 1, 4);
    iw_hunt_split(in, 3, 1);
}

static void split_last(struct iw_hunt_input *in)
{
    iw_hunt_split(in, 1, 2);
}

static void steps_are_edited(void **state)
{
    (void)state;
    edit("a01 t5", insert_first, "b78 a01 t5");
    edit("a01 t5", insert_second, "a01 a t5");
    edit("a01 t5", insert_behind, "a01 t5");
    edit("a01 b02", insert_time, "a01 t4660 b02 t65535");
    edit("a01 b020304 f05", drop_none, "a01 b020304 f05");
    edit("a01 b020304 f05", drop_middle, "a01 f05");
    edit("a01 b020304 f05", drop_rest, "a01");
    edit("a01 b020304 r05", split_one, "a01 b02 b0304 r05");
    edit("a01 b020304 r05", split_last, "a01 b0203 b04 r05");
    edit("a01 b020304 r05", split_nothing, "a01 b020304 r05");
}

static void an_input_has_bounds(void **state)
{
    static const uint8_t octets[65537];
    struct iw_hunt_input *in = iw_hunt_input_new();

    (void)state;
    iw_hunt_add(in, IW_FUZZ_A, octets, 65536); /* more than a step's length says */
    assert_int_equal(in->n, 0);
    iw_hunt_add(in, IW_FUZZ_A, octets, 65535);
    assert_int_equal(in->n, 1);
    iw_hunt_add(in, IW_FUZZ_A, octets, 2);
    assert_int_equal(in->n, 1);
    iw_hunt_add(in, IW_FUZZ_A, octets, 1);
    assert_int_equal(in->n, 2);
    assert_int_equal(iw_hunt_input_size(in), 65536);
    for (size_t i = 2; i < 200; i++)
        iw_hunt_add(in, IW_FUZZ_A, octets, 0);
    assert_int_equal(in->n, 96);
    iw_hunt_split(in, 0, 1);
    assert_int_equal(in->n, 96);
    assert_int_equal(in->steps[0].length, 65535);
    iw_hunt_drop(in, 95, 1);
    iw_hunt_split(in, 0, 1);
    assert_int_equal(in->n, 96);
    assert_int_equal(in->steps[1].length, 65534);
    assert_int_equal(iw_hunt_input_size(in), 65536);
    iw_hunt_input_free(in);
    iw_hunt_input_free(NULL);
}

static void what_is_equal_is_the_same(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {{"a0102 t5", "a0102 t5", true},  {"a0102 t5", "a0102", false},
                {"a0102 t5", "b0102 t5", false}, {"a0102", "a010203", false},
                {"a0102", "a0103", false},       {"a a01", "a a01", true},
                {"a01 a02", "a01 a03", false},   {"t5", "t6", false},
                {"a0102", "a0102 t5", false},    {"", "a", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_hunt_input *a = support_input(rows[i].a), *b = support_input(rows[i].b);

        assert_int_equal(iw_hunt_input_same(a, b), rows[i].same);
        iw_hunt_add_time(a, 5); /* what was there is no part of it */
        iw_hunt_drop(a, a->n - 1, 1);
        assert_int_equal(iw_hunt_input_same(a, b), rows[i].same);
        iw_hunt_input_free(a);
        iw_hunt_input_free(b);
    }
}

static void its_form_on_disk(void **state)
{
    static const uint8_t form[] = {1, 2,    3,    4, 0, 2, 0, 0xaa, 0xbb, 1, 1, 0, 0xcc, 3, 2,
                                   0, 0x34, 0x12, 4, 3, 0, 9, 9,    0xdd, 2, 1, 0, 7,    7, 0,
                                   0, 5,    1,    0, 1, 6, 1, 0,    0,    4, 1, 0, 8};
    static const uint8_t back[] = {1,    2, 3, 4, 0,    2,    0, 0xaa, 0xbb, 1,    1, 0,
                                   0xcc, 3, 2, 0, 0x34, 0x12, 0, 1,    0,    0xdd, 5, 1,
                                   0,    1, 6, 1, 0,    0,    0, 1,    0,    8};
    uint8_t out[64];
    struct iw_hunt_input *in = iw_hunt_input_read(form, sizeof(form)), *copy;

    (void)state;
    support_is(in, "aaabb bcc t4660 @dd f01 r00 @08");
    copy = iw_hunt_input_copy(in);
    iw_hunt_input_free(in);
    support_is(copy, "aaabb bcc t4660 @dd f01 r00 @08");
    assert_int_equal(iw_hunt_input_write(copy, out, sizeof(out)), sizeof(back));
    assert_memory_equal(out, back, sizeof(back));
    assert_int_equal(iw_hunt_input_write(copy, out, sizeof(back)), sizeof(back));
    assert_int_equal(iw_hunt_input_write(copy, out, sizeof(back) - 1), sizeof(back) - 4);
    assert_int_equal(iw_hunt_input_write(copy, out, 4), 4);
    assert_int_equal(iw_hunt_input_write(copy, out, 3), 0);
    iw_hunt_input_free(copy);
}

static void a_long_step_on_disk(void **state)
{
    static uint8_t octets[700], out[800];
    struct iw_hunt_input *in = iw_hunt_input_new(), *again;

    (void)state;
    iw_hunt_add(in, IW_FUZZ_A, octets, 700);
    assert_int_equal(iw_hunt_input_write(in, out, sizeof(out)), 707);
    assert_int_equal(out[5], 0xbc);
    assert_int_equal(out[6], 0x02);
    again = iw_hunt_input_read(out, 707);
    assert_true(iw_hunt_input_same(in, again));
    iw_hunt_input_free(in);
    iw_hunt_input_free(again);
}

static void a_digest_is_fnv_1a(void **state)
{
    struct iw_hunt_input *one = support_input("a61"), *more = support_input("a6162 f01");
    uint64_t digest = IW_HUNT_DIGEST;

    (void)state;
    /* The offset basis, then the octets 00 61, then 00 61 62 05 01. */
    assert_int_equal(digest, 0xcbf29ce484222325u);
    digest = iw_hunt_input_digest(digest, one);
    assert_int_equal(digest, 0x08326707b4eb37dau);
    digest = iw_hunt_input_digest(digest, more);
    assert_int_equal(digest, 0x7bd6316a3f2df29bu);
    iw_hunt_input_free(one);
    iw_hunt_input_free(more);
}

static void which_steps_send(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++)
        assert_int_equal(iw_hunt_sends(&(struct iw_hunt_step){.kind = (uint8_t)kind}),
                         kind == IW_FUZZ_A || kind == IW_FUZZ_B || kind == IW_FUZZ_AT);
}

/* Adds to each octet in turn: none of them may be another. */
static void an_fpdu_that_is_regular(void **state)
{
    uint8_t octets[64], own[64];
    size_t length = octets_of("a" SEND, octets);

    (void)state;
    assert_int_equal(length, 28);
    assert_true(iw_hunt_regular(octets, length));
    for (size_t i = 0; i < length; i++) {
        octets[i]++;
        assert_false(iw_hunt_regular(octets, length));
        octets[i]--;
    }
    assert_false(iw_hunt_regular(octets, length - 1));
    assert_false(iw_hunt_regular(octets, length + 4));
    assert_int_equal(iw_hunt_fpdu(octets + 2, 20, own), 28);
    assert_memory_equal(own, octets, 28);
    /* In place, too. */
    assert_int_equal(iw_hunt_fpdu(octets + 2, 20, octets), 28);
    assert_memory_equal(own, octets, 28);
}

static void pads_and_lengths(void **state)
{
    static const size_t sizes[][2] = {{1, 8}, {2, 8}, {3, 12}, {4, 12}, {5, 12}, {6, 12}, {7, 16}};
    uint8_t octets[2048], ulpdu[1024] = {0x55};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        memset(octets, 0xff, sizeof(octets));
        assert_int_equal(iw_wire_fpdu_size((uint32_t)sizes[i][0]), sizes[i][1]);
        assert_int_equal(iw_hunt_fpdu(ulpdu, sizes[i][0], octets), sizes[i][1]);
        assert_true(iw_hunt_regular(octets, sizes[i][1]));
    }
    assert_int_equal(iw_hunt_fpdu(ulpdu, 0x302, octets), 0x308);
    assert_int_equal(octets[0], 3);
    assert_int_equal(octets[1], 2);
    assert_int_equal(octets[2], 0x55);
    assert_true(iw_hunt_regular(octets, 0x308));
    /* No ULPDU: length 0, pad of 2, and a CRC that is right. */
    assert_int_equal(iw_hunt_fpdu(ulpdu, 0, octets), 8);
    assert_false(iw_hunt_regular(octets, 8));
    /* A pad that is not zero, under a CRC that is right. */
    assert_int_equal(octets_of("a00014101c904f8f3", octets), 8);
    assert_false(iw_hunt_regular(octets, 8));
}

#define REQUEST "4d504120494420526571204672616d6540020004"
#define REPLY "4d504120494420526570204672616d6540020004"

static void where_a_startup_frame_ends(void **state)
{
    uint8_t octets[64];
    size_t length = octets_of("a" REQUEST "0102030405", octets);

    (void)state;
    assert_int_equal(iw_hunt_startup_size(octets, length), 24);
    assert_int_equal(iw_hunt_startup_size(octets, 24), 24);
    assert_int_equal(iw_hunt_startup_size(octets, 23), 23);
    assert_int_equal(iw_hunt_startup_size(octets, 20), 20);
    assert_int_equal(iw_hunt_startup_size(octets, 19), 0);
    assert_int_equal(iw_hunt_startup_size(octets, 0), 0);
    octets[0]++;
    assert_int_equal(iw_hunt_startup_size(octets, length), 0);
    length = octets_of("a" REPLY "0102030405", octets);
    assert_int_equal(iw_hunt_startup_size(octets, length), 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_edited),          cmocka_unit_test(an_input_has_bounds),
        cmocka_unit_test(what_is_equal_is_the_same), cmocka_unit_test(its_form_on_disk),
        cmocka_unit_test(a_long_step_on_disk),       cmocka_unit_test(a_digest_is_fnv_1a),
        cmocka_unit_test(which_steps_send),          cmocka_unit_test(an_fpdu_that_is_regular),
        cmocka_unit_test(pads_and_lengths),          cmocka_unit_test(where_a_startup_frame_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
