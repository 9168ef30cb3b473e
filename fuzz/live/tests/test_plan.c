/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_support.h"

#include <stdio.h>

#include "host/text.h"
#include "live_plan.h"

#define REQUEST "4d504120494420526571204672616d6540010000"
#define REPLY "4d504120494420526570204672616d6540010000"
#define SEND                                                                                       \
    "001241430000000000000000000000010000000"                                                      \
    "0587be8c4"
#define READ                                                                                       \
    "001241410000000000000001000000010000000"                                                      \
    "0ae151f8f"

/* The units, each with its offset, length and what it says; then the marks. */
static void is(const char *steps, const char *expected)
{
    struct iw_hunt_input *in = support_input(steps);
    struct iw_hunt_plan p = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = iw_got(open_memstream(&text, &size));

    for (int i = 0; i < 2; i++) /* twice: nothing is left of the first */
        iw_hunt_plan_make(&p, in);
    fprintf(f, "%zu:", p.length);
    for (size_t i = 0; i < p.n_units; i++)
        fprintf(f, " %c%u+%u/%x", "SFO"[p.units[i].kind], p.units[i].at, p.units[i].length,
                iw_hunt_said(&p, &p.units[i]));
    for (size_t i = 0; i < p.n_marks; i++)
        fprintf(f, " %u.%u@%u", p.marks[i].kind, p.marks[i].ms, p.marks[i].at);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
    iw_hunt_plan_free(&p);
    iw_hunt_input_free(in);
}

static void frames_and_marks(void **state)
{
    (void)state;
    is("", "0:");
    is("a", "0:");
    is("t5", "0: 3.5@0");
    is("a" REQUEST, "20: S0+20/11");
    is("a" REPLY, "20: S0+20/14");
    is("a" REQUEST " t50 a" SEND, "44: S0+20/11 F20+24/3 3.50@20");
    is("a" REQUEST SEND READ, "68: S0+20/11 F20+24/3 F44+24/1");
    is("a" SEND " t300 a" READ " f01", "48: F0+24/3 F24+24/1 3.300@24 5.1@48");
    is("a" SEND " f r", "24: F0+24/3 5.1@24 6.1@24");
    /* Octets end where a step ends, or where the next one begins. */
    is("a0102 a03 "
       "a" SEND,
       "27: O0+2/12 O2+1/12 F3+24/3");
    is("a0102" SEND, "26: O0+26/12");
    is("a" SEND "0102", "26: F0+24/3 O24+2/12");
    is("a" SEND "0102 t1 a" SEND, "50: F0+24/3 O24+2/12 F26+24/3 3.1@26");
    is("a01020304050607", "7: O0+7/12");
    is("a0000000000000000", "8: O0+8/12");
}

static void steps_inside_a_frame(void **state)
{
    (void)state;
    /* A pause of 2 ms. */
    is("a4d504120 a494420526571204672616d6540010000", "20: S0+20/11 3.2@4");
    is("a00 a1241430000000000000000000000010000000"
       "0587be8c4",
       "24: F0+24/3 3.2@1");
    is("a0012 t7 a41430000000000000000000000010000000"
       "0587be8c4",
       "24: F0+24/3 3.7@2 3.2@2");
    is("a0102 a03", "3: O0+2/12 O2+1/12");
    is("a" SEND " b" SEND,
       "48: F0+24/3 F24+24/3 1.0@25 1.0@26 1.0@27 1.0@28 1.0@29 1.0@30 1.0@31 1.0@32 1.0@33 1.0@34 "
       "1.0@35 1.0@36 1.0@37 1.0@38 1.0@39 1.0@40 1.0@41 1.0@42 1.0@43 1.0@44 1.0@45 1.0@46 "
       "1.0@47");
    is("b01", "1: O0+1/12");
}

static void there_are_bounds(void **state)
{
    static uint8_t zeros[4096];
    struct iw_hunt_input *in = iw_hunt_input_new();
    struct iw_hunt_plan p = {0};
    uint8_t fpdu[8];

    (void)state;
    for (int i = 0; i < 20; i++)
        iw_hunt_add(in, IW_FUZZ_B, zeros, 100);
    iw_hunt_plan_make(&p, in);
    assert_int_equal(p.n_marks, 504); /* 512 of 20 * 64, without those between units */
    assert_int_equal(p.marks[62].at, 63);
    assert_int_equal(p.marks[63].at, 101);
    iw_hunt_input_free(in);
    in = iw_hunt_input_new();
    iw_hunt_fpdu((const uint8_t *)"x", 1, fpdu);
    for (size_t i = 0; i < 300; i++)
        memcpy(zeros + 8 * i, fpdu, 8);
    iw_hunt_add(in, IW_FUZZ_A, zeros, 2400);
    iw_hunt_plan_make(&p, in);
    assert_int_equal(p.n_units, 256);
    assert_int_equal(p.units[255].at, 255 * 8);
    iw_hunt_input_free(in);
    iw_hunt_plan_free(&p);
}

/* ---- placeholders ---- */

/* "at/to/memory" of each. */
static void has_places(const char *hex, const char *expected)
{
    struct iw_hunt_input *in = support_input(hex);
    struct iw_hunt_place places[2];
    char text[64] = "";
    size_t n = iw_hunt_places(in->steps[0].octets, in->steps[0].length, places);

    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%zu/%zu/%d ", places[i].at,
                 places[i].to, places[i].memory);
    assert_string_equal(text, expected);
    iw_hunt_input_free(in);
}

#define ZERO4 "00000000"
#define ZERO8 "0000000000000000"

static void where_placeholders_are(void **state)
{
    (void)state;
    has_places("ac1401f5a0000" ZERO8, "2/6/0 ");
    has_places("ac1401f5a0002" ZERO8, "2/6/2 ");
    has_places("ac1401f5a0003" ZERO8, "");
    has_places("ac1401f59ffff" ZERO8, "");
    has_places("ac1421f5a00ff" ZERO8, "2/6/-1 ");
    has_places("ac1401f5a0000"
               "00000000000000",
               "");
    has_places("a4144"
               "1f5a0001" ZERO8,
               "2/0/1 ");
    has_places("a4144"
               "1f5a0001"
               "00000000000000",
               "");
    has_places("a4141"
               "1f5a0001" ZERO8 ZERO4 ZERO8 ZERO8 "1f5a0002" ZERO8,
               "2/0/1 34/38/2 ");
    has_places("a4141" ZERO4 ZERO8 ZERO4 ZERO8 ZERO8 "1f5a0002" ZERO8, "34/38/2 ");
    has_places("a4141" ZERO4 ZERO8 ZERO4 ZERO8 ZERO8 "1f5a0002"
               "00000000000000",
               "");
    has_places("a4143" ZERO4 ZERO8 ZERO4 ZERO8 ZERO8 "1f5a0002" ZERO8, "");
    has_places("a414a" ZERO4 ZERO8 ZERO4 ZERO8 "1f5a0000" ZERO8, "26/30/0 ");
    has_places("a4149" ZERO4 ZERO8 ZERO4 ZERO8 "1f5a0000" ZERO8, "");
}

static void renders(struct iw_hunt_known *known, const char *steps, const char *expected)
{
    struct iw_hunt_input *in = support_input(steps), *out = iw_hunt_input_new();
    struct iw_hunt_plan p = {0};

    iw_hunt_plan_make(&p, in);
    for (size_t i = 0; i < p.n_units; i++) {
        uint8_t *octets;
        size_t length = iw_hunt_render(&p, &p.units[i], known, &octets);

        iw_hunt_add(out, IW_FUZZ_A, octets, length);
        free(octets);
    }
    support_is(out, expected);
    iw_hunt_input_free(in);
    iw_hunt_input_free(out);
    iw_hunt_plan_free(&p);
}

/* A regular FPDU of a ULPDU in hexadecimal. Freed by the caller. */
static char *framed(const char *ulpdu)
{
    char *step = iw_text_format("a%s", ulpdu), *text;
    struct iw_hunt_input *in = support_input(step), *out = iw_hunt_input_new();
    uint8_t octets[128];

    iw_hunt_add(out, IW_FUZZ_A, octets,
                iw_hunt_fpdu(in->steps[0].octets, in->steps[0].length, octets));
    text = support_text(out);
    free(step);
    iw_hunt_input_free(in);
    iw_hunt_input_free(out);
    return text;
}

static void turns(struct iw_hunt_known *known, const char *ulpdu, const char *into)
{
    char *before = framed(ulpdu), *after = framed(into);

    renders(known, before, after);
    free(before);
    free(after);
}

static void placeholders_are_filled(void **state)
{
    struct iw_hunt_world world = {.n_memories = 2,
                                  .memories = {{.stag = 0x11223344, .to = 0x0102030405060708},
                                               {.stag = 0x55667788, .to = 0x1112131415161718}}};
    struct iw_hunt_known known = {.world = &world};

    (void)state;
    turns(&known,
          "c1401f5a0000"
          "0000000000000003",
          "c14011223344"
          "010203040506070b");
    turns(&known,
          "c1401f5a0001"
          "0000000000100000",
          "c14055667788"
          "1112131415161718");
    turns(&known,
          "c1401f5a0001"
          "00000000000fffff",
          "c14055667788"
          "1112131415161717");
    turns(&known,
          "c1401f5a0002"
          "0000000000200000",
          "c1401f5a0002"
          "0000000000200000");
    turns(&known, "41441f5a0001" ZERO8 ZERO4 "61", "414455667788" ZERO8 ZERO4 "61");
    /* What the peer asks for, oldest first; the first one again when there is none. */
    for (unsigned i = 0; i < 8; i++) {
        known.asked_stag[i] = 0xa0 + i;
        known.asked_to[i] = 0xb000 + i;
    }
    known.asked = 2;
    turns(&known,
          "c1421f5a00ff"
          "0000000000000010",
          "c142000000a0"
          "000000000000b010");
    assert_int_equal(known.answered, 1);
    turns(&known,
          "c1421f5a00ff"
          "0000000000000010",
          "c142000000a1"
          "000000000000b011");
    assert_int_equal(known.answered, 2);
    turns(&known,
          "c1421f5a00ff"
          "0000000000000010",
          "c142000000a0"
          "000000000000b010");
    assert_int_equal(known.answered, 2);
    known.asked = 20;
    known.answered = 10; /* the oldest eight are kept */
    turns(&known, "c1421f5a00ff" ZERO8,
          "c142000000a2"
          "000000000000b002");
    assert_int_equal(known.answered, 11);
}

static void what_is_sent(void **state)
{
    struct iw_hunt_world world = {.n_memories = 0};
    struct iw_hunt_known known = {.world = &world};

    (void)state;
    renders(&known, "a" REQUEST, "a" REQUEST);
    assert_int_equal(known.position, 0);
    renders(&known, "a010203", "a010203");
    assert_int_equal(known.position, 3);
    renders(&known, "a" SEND, "a" SEND);
    assert_int_equal(known.position, 27);
    known.markers = true;
    known.position = 512;
    renders(&known, "a" SEND,
            "a00000000"
            "001241430000000000000000000000010000000"
            "088c1d6fc");
    assert_int_equal(known.position, 540);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_and_marks),        cmocka_unit_test(steps_inside_a_frame),
        cmocka_unit_test(there_are_bounds),        cmocka_unit_test(where_placeholders_are),
        cmocka_unit_test(placeholders_are_filled), cmocka_unit_test(what_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
