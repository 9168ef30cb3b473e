/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole conversations of a capture, and the seeds that they become. */
#include "live_support.h"

#include <stdio.h>

#include "host/text.h"
#include "iwarp/capture.h"

#define REQUEST "4d504120494420526571204672616d65400100020708"
#define REPLY "4d504120494420526570204672616d65400100020506"

static struct iw_synth *synth;
static int connection;
static char *path, error[1024];

static int begin(void **state)
{
    (void)state;
    synth = iw_got(iw_synth_new(1 << 20));
    path = iw_text_format("%s/capture.pcapng", support_folder());
    *error = 0;
    return 0;
}

static int end(void **state)
{
    iw_synth_free(synth);
    free(path);
    return support_clean(state);
}

static void connects(uint16_t port)
{
    const struct iw_synth_tcp tcp = {
        .address = {{.family = 4, .octets = {10, 0, 0, 1}}, {.family = 4, .octets = {10, 0, 0, 2}}},
        .port = {port, 2000}};
    struct iw_synth_span span;

    connection = iw_synth_connect(synth, &tcp, 0, &span);
    assert_true(connection >= 0);
}

/* One side says these octets; "m..." is a ULPDU, as a regular FPDU. */
static size_t octets_of(const char *text, uint8_t *octets)
{
    char *copy = iw_text_copy(text);
    bool message = *copy == 'm';

    *copy = message ? 'a' : *copy;
    struct iw_hunt_input *in = support_input(copy);
    size_t length = in->steps[0].length;
    if (message)
        length = iw_hunt_fpdu(in->steps[0].octets, length, octets);
    else
        memcpy(octets, in->steps[0].octets, length);
    iw_hunt_input_free(in);
    free(copy);
    return length;
}

static void says(unsigned side, const char *text)
{
    uint8_t octets[2048];
    size_t length = octets_of(text, octets);

    iw_synth_data(synth, connection, side, 0, octets, length);
}

static void says_at(unsigned side, uint64_t position, const char *text)
{
    uint8_t octets[2048];
    size_t length = octets_of(text, octets);

    iw_synth_segment(synth, connection, side, 0, position, octets, length);
}

/* Records our side of it; the seeds, with a stroke between two. */
static void records(enum iw_side side, int n, const char *expected)
{
    struct iw_hunt_seeds seeds = {.side = side};
    char *all = iw_text_copy("");
    char why[IW_CAPTURE_ERROR];

    assert_true(iw_synth_write(synth, path, "test", NULL, why));
    assert_int_equal(iw_hunt_seeds_record(&seeds, path, error, sizeof(error)), n);
    for (size_t i = 0; i < seeds.n; i++) {
        char *text = support_text(seeds.list[i]);
        char *more = iw_text_format("%s%s%s", all, i ? " / " : "", text);

        assert_int_equal(seeds.list[i]->settings[0], IW_FUZZ_CRC);
        free(text);
        free(all);
        all = more;
    }
    assert_string_equal(all, expected);
    free(all);
    iw_hunt_seeds_free(&seeds);
}

static void nothing_but_start_up(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    records(IW_SIDE_INITIATOR, 1, "a" REQUEST);
    records(IW_SIDE_RESPONDER, 1, "t20 a" REPLY);
}

/* Pauses come where the peer has said something; several times in a row are one. */
static void frames_and_pauses(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    says(0, "m414300000000000000000000000100000000aa");
    says(0, "m414300000000000000000000000200000000bb");
    says(1, "m414300000000000000000000000100000000cc");
    says(1, "m414300000000000000000000000200000000cc");
    says(0, "m414300000000000000000000000300000000dd");
    says(1, "m414300000000000000000000000300000000cc");
    records(IW_SIDE_INITIATOR, 1,
            "a4d504120494420526571204672616d65400100020708 t20"
            " a0013414300000000000000000000000100000000aa0000007dfe3423"
            " a0013414300000000000000000000000200000000bb000000d1e9ba0e t20"
            " a0013414300000000000000000000000300000000dd00000087664242");
    records(IW_SIDE_RESPONDER, 1,
            "t20 a4d504120494420526570204672616d65400100020506 t20"
            " a0013414300000000000000000000000100000000cc00000063a7f29b"
            " a0013414300000000000000000000000200000000cc0000004aab5d82 t20"
            " a0013414300000000000000000000000300000000cc000000027d6376");
}

/* The first three of the peer's STags get a place each. */
static void places_of_stags(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    says(0, "mc140000000110000000000000001aa");
    says(0, "mc140000000220000000000000002aa");
    says(0, "mc140000000110000000000000003aa");
    says(0, "m4141000000000000000100000001000000000000511700000000000010000000"
            "0040000000330000000000000004");
    says(0, "mc140000000440000000000000005aa");
    says(0, "mc140000000330000000000000006aa");
    says(0, "mc142000000110000000000000007aa");
    says(0, "mc142000000770000000000000008aa");
    says(0, "mc140000000220000000000000009aa");
    says(0, "m4142000000000000000000000001000000000000000000000000");
    records(IW_SIDE_INITIATOR, 1,
            "a4d504120494420526571204672616d65400100020708 t20"
            " a000fc1401f5a00000000000000000000aa00000068480c06"
            " a000fc1401f5a00010000000000100000aa000000ab8a85aa"
            " a000fc1401f5a00000000000000000000aa00000068480c06"
            " a002e414100000000000000010000000100000000000051170000000000001000000000401f5a00"
            "020000000000200000ed71a7f7 a000fc140000000440000000000000005aa0000006a475c55"
            " a000fc1401f5a00020000000000200000aa0000001fbbf35a"
            " a000fc1421f5a00ff0000000000000000aa000000e5545bb9"
            " a000fc1421f5a00ff0000000000000000aa000000e5545bb9"
            " a000fc1401f5a00010000000000100000aa000000ab8a85aa"
            " a001a41420000000000000000000000010000000000000000000000002ed2aae7");
}

/* What is no regular FPDU is kept as long as its length says. */
static void odd_frames(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    says(0, "a0002414355555555");
    says(0, "m414300000000000000000000000100000000aa");
    says(0, "a0003414355000000555555550000414355555555");
    records(IW_SIDE_INITIATOR, 1,
            "a4d504120494420526571204672616d65400100020708 t20 a0002414355555555"
            " a0013414300000000000000000000000100000000aa0000007dfe3423"
            " a000341435500000055555555 a0000414355555555");
}

static void a_frame_that_is_cut_off(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    says(0, "a0002414300000000");
    says(0, "a00044143000000");
    records(IW_SIDE_INITIATOR, 1,
            "a4d504120494420526571204672616d65400100020708 t20 a0002414300000000");
}

static void a_last_octet(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    says(0, "a77");
    records(IW_SIDE_INITIATOR, 1, "a4d504120494420526571204672616d65400100020708 t20 a77");
    says(0, "a77");
    records(IW_SIDE_INITIATOR, 1, "a4d504120494420526571204672616d65400100020708 t20");
}

static void repeats_and_gaps(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    says(0, "a00024143aabbccdd");
    says_at(0, 22, "a00024143aabbccdd");   /* once more */
    says_at(0, 26, "aaabbccdd0002414311"); /* with more behind it */
    says_at(0, 35, "a223344");
    says_at(0, 38, "a000241430000000a");
    says_at(0, 47, "a000241430000000b"); /* an octet is missing */
    says_at(0, 46, "a00");
    records(IW_SIDE_INITIATOR, 1,
            "a4d504120494420526571204672616d65400100020708 t20 a00024143aabbccdd"
            " a0002414311223344 a000241430000000a");
}

static void more_than_a_side_holds(void **state)
{
    enum { SOME = 1000, ALL = 20 };
    struct iw_hunt_seeds seeds = {.side = IW_SIDE_INITIATOR};
    uint8_t octets[SOME] = {[1] = 2, [2] = 0x41};
    char why[IW_CAPTURE_ERROR];
    size_t size = 0;

    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    for (size_t i = 0; i < SOME; i += 8)
        octets[i + 1] = 2;
    for (int i = 0; i < ALL; i++)
        iw_synth_data(synth, connection, 0, 0, octets, SOME);
    assert_true(iw_synth_write(synth, path, "test", NULL, why));
    assert_int_equal(iw_hunt_seeds_record(&seeds, path, error, sizeof(error)), 1);
    size = iw_hunt_input_size(seeds.list[0]);
    assert_int_equal(seeds.list[0]->n, IW_HUNT_STEPS);
    assert_int_equal(size, 22 + 94 * 8 + 2);
    iw_hunt_seeds_free(&seeds);
}

/* Those that begin in another way, or get no answer, are left out. */
static void several_connections(void **state)
{
    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    says(1, "a" REPLY);
    connects(1001);
    says(0, "a474554202f20485454502f312e310d0a0d0a0d0a0d0a");
    says(1, "a00");
    connects(1002);
    says(0, "a" REQUEST);
    connects(1003);
    says(0, "a" REQUEST "0002414300000000");
    says(1, "a" REPLY);
    records(IW_SIDE_INITIATOR, 2,
            "a4d504120494420526571204672616d65400100020708 a0002414300000000 /"
            " a4d504120494420526571204672616d65400100020708");
}

static void a_capture_without_any(void **state)
{
    (void)state;
    connects(1002);
    says(0, "a" REQUEST);
    records(IW_SIDE_INITIATOR, -1, "");
    char *expected =
        iw_text_format("%s: no connection begins with a Request that is answered", path);
    assert_string_equal(error, expected);
    free(expected);
}

static void what_is_no_capture(void **state)
{
    struct iw_hunt_seeds seeds = {.side = IW_SIDE_INITIATOR};

    (void)state;
    assert_int_equal(iw_hunt_seeds_record(&seeds, "/nowhere/x", error, sizeof(error)), -1);
    assert_string_equal(error, "/nowhere/x: cannot be opened: No such file or directory");
    assert_int_equal(seeds.n, 0);
}

/* After 64 times that the peer has spoken, pauses end. */
static void a_peer_that_says_much(void **state)
{
    struct iw_hunt_seeds seeds = {.side = IW_SIDE_INITIATOR};
    char why[IW_CAPTURE_ERROR];
    size_t pauses = 0, frames = 0;

    (void)state;
    connects(1000);
    says(0, "a" REQUEST);
    for (int i = 0; i < 70; i++) {
        says(1, i ? "a00" : "a" REPLY);
        if (i % 2)
            says(0, "a0002414300000000");
    }
    says(0, "a0002414300000000");
    assert_true(iw_synth_write(synth, path, "test", NULL, why));
    assert_int_equal(iw_hunt_seeds_record(&seeds, path, error, sizeof(error)), 1);
    for (size_t i = 0; i < seeds.list[0]->n; i++) {
        pauses += seeds.list[0]->steps[i].kind == IW_FUZZ_TIME;
        frames += seeds.list[0]->steps[i].kind == IW_FUZZ_A;
    }
    assert_int_equal(frames, 37);
    assert_int_equal(pauses, 32);
    iw_hunt_seeds_free(&seeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_but_start_up, begin, end),
        cmocka_unit_test_setup_teardown(frames_and_pauses, begin, end),
        cmocka_unit_test_setup_teardown(places_of_stags, begin, end),
        cmocka_unit_test_setup_teardown(odd_frames, begin, end),
        cmocka_unit_test_setup_teardown(a_frame_that_is_cut_off, begin, end),
        cmocka_unit_test_setup_teardown(a_last_octet, begin, end),
        cmocka_unit_test_setup_teardown(repeats_and_gaps, begin, end),
        cmocka_unit_test_setup_teardown(more_than_a_side_holds, begin, end),
        cmocka_unit_test_setup_teardown(several_connections, begin, end),
        cmocka_unit_test_setup_teardown(a_capture_without_any, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_capture, begin, end),
        cmocka_unit_test_setup_teardown(a_peer_that_says_much, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
