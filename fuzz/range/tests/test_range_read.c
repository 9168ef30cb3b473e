/* SPDX-License-Identifier: BSD-3-Clause */
/* The practice range: Reads, Atomics, Markers; and the list of its bugs. */
#include "range_scene.h"

#include <stdio.h>

/* ---- Reads ---- */

static const char *asked(const char *control, unsigned msn, unsigned mo, const char *request)
{
    char text[300];
    snprintf(text, sizeof(text), "%s 00000000 00000001 %08x %08x %s", control, msn, mo, request);
    scene_segments(text);
    return scene_sent_segments();
}

/* The sink is STag 5, TO 0x77; the octets are those of region 0, from 2 on. */
static void a_read(void **state)
{
    (void)state;
    scene_started(NULL);
    memcpy(scene->regions[0].data, "..abcd", 6);
    assert_string_equal(
        asked("4141", 1, 0, "00000005 0000000000000077 00000003 1f5a0000 0000000000000002"),
        "c142000000050000000000000077616263");
    /* Without octets, of what is no memory. */
    assert_string_equal(
        asked("4141", 2, 0, "00000006 1122334455667788 00000000 99999999 ffffffffffffffff"),
        "c142000000061122334455667788");
    assert_int_equal(scene->request_msn, 3);
    assert_int_equal(scene->state, RANGE_FULL);
}

static void a_long_read(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        size_t lengths[4];
    } list[] = {{"00000593", {1427}},
                {"00000594", {1428}},
                {"00000595", {1428, 1}},
                {"00000b28", {1428, 1428}},
                {"00001000", {1428, 1428, 1240}}};
    scene_started(NULL);
    for (unsigned i = 0; i < 4096; i++)
        scene->regions[3].data[i] = (uint8_t)(i * 11 >> 3);
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char request[100];
        snprintf(request, sizeof(request), "00000005 00000000ffffff00 %s 1f5a0003 0000000000300000",
                 list[i].size);
        const char *sent = asked("4141", i + 1, 0, request);
        size_t at = 0;
        for (unsigned k = 0; k < 4 && list[i].lengths[k] > 0; k++) {
            const bool last = k == 3 || list[i].lengths[k + 1] == 0;
            char head[40];
            snprintf(head, sizeof(head), "%s00000005%016llx", last ? "c142" : "8142",
                     0xffffff00ull + at);
            assert_memory_equal(sent, head, 28);
            const char *octets = scene_hex(scene->regions[3].data + at, list[i].lengths[k]);
            assert_memory_equal(sent + 28, octets, strlen(octets));
            sent += 28 + strlen(octets);
            assert_int_equal(*sent, last ? '\0' : '/');
            sent += !last;
            at += list[i].lengths[k];
        }
    }
}

#define OF_READ(error, request)                                                                    \
    SCENE_TERMINATE(error "e000"                                                                   \
                          "002e"                                                                   \
                          "414100000000000000010000000100000000" request)
#define SINK "000000050000000000000077"

static void reads_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *request, *sent;
    } list[] = {
        {SINK "00000100"
              "1f5a0000"
              "0000000000000000",
         NULL},
        {SINK "000000ff"
              "1f5a0000"
              "0000000000000001",
         NULL},
        {SINK "00000101"
              "1f5a0000"
              "0000000000000000",
         OF_READ("0101", SINK "00000101"
                              "1f5a0000"
                              "0000000000000000")},
        {SINK "00000100"
              "1f5a0000"
              "0000000000000001",
         OF_READ("0101", SINK "00000100"
                              "1f5a0000"
                              "0000000000000001")},
        {SINK "00000001"
              "1f5a0001"
              "00000000000fffff",
         OF_READ("0101", SINK "00000001"
                              "1f5a0001"
                              "00000000000fffff")},
        {SINK "00000001"
              "1f5a0004"
              "0000000000000000",
         OF_READ("0100", SINK "00000001"
                              "1f5a0004"
                              "0000000000000000")},
        {SINK "00000010"
              "1f5a0000"
              "fffffffffffffff0",
         OF_READ("0104", SINK "00000010"
                              "1f5a0000"
                              "fffffffffffffff0")},
        {SINK "0000000f"
              "1f5a0000"
              "fffffffffffffff0",
         OF_READ("0101", SINK "0000000f"
                              "1f5a0000"
                              "fffffffffffffff0")},
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        scene_started(NULL);
        const char *sent = asked("4141", 1, 0, list[i].request);
        if (list[i].sent != NULL)
            assert_string_equal(sent, list[i].sent);
        assert_int_equal(scene->state, list[i].sent == NULL ? RANGE_FULL : RANGE_DRAINING);
        assert_int_equal(scene->request_msn, list[i].sent == NULL ? 2 : 1);
    }
    static const struct {
        const char *control;
        unsigned mo;
        const char *request, *sent;
    } shapes[] = {
        {"4141", 0,
         SINK "00000000"
              "00000000"
              "00000000000000",
         "02ffc000002d41410000000000000001"
         "0000000100000000"},
        {"4141", 0,
         SINK "00000000"
              "00000000"
              "000000000000000000",
         "02ffc000002f41410000000000000001"
         "0000000100000000"},
        {"4141", 1,
         SINK "00000000"
              "00000000"
              "0000000000000000",
         "02ffc000002e41410000000000000001"
         "0000000100000001"},
        {"0141", 0,
         SINK "00000000"
              "00000000"
              "0000000000000000",
         "02ffc000002e01410000000000000001"
         "0000000100000000"},
    };
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        char text[300];
        scene_started(NULL);
        snprintf(text, sizeof(text), SCENE_TERMINATE("%s"), shapes[i].sent);
        assert_string_equal(asked(shapes[i].control, 1, shapes[i].mo, shapes[i].request), text);
    }
}

/* ---- Atomics ---- */

struct atomic {
    unsigned operation;
    uint64_t to, data, mask, compare, compare_mask;
};

/* Of request 9, of the memory with this STag. */
static const char *atomic(unsigned msn, unsigned stag, const struct atomic *a)
{
    char text[300];
    snprintf(text, sizeof(text), "%08x 00000009 %08x %016llx %016llx %016llx %016llx %016llx",
             a->operation, stag, (unsigned long long)a->to, (unsigned long long)a->data,
             (unsigned long long)a->mask, (unsigned long long)a->compare,
             (unsigned long long)a->compare_mask);
    return asked("414a", msn, 0, text);
}

static void atomics_change_memory(void **state)
{
    (void)state;
    static const struct {
        struct atomic a;
        uint64_t before, after;
    } list[] = {
        {{0, 8, 1, 0, 0, 0}, 41, 42},
        {{0, 8, 1, 0, 0, 0}, UINT64_MAX, 0},
        {{0, 8, 3, 0, 0, 0}, 0x0123456789abcdef, 0x0123456789abcdf2},
        {{0, 8, 0x8000000000000001, 0, 0, 0}, 0x8000000000000001, 2},
        /* A bit of the mask ends a field: nothing is carried beyond it. */
        {{0, 8, 1, 0x80, 0, 0}, 0x00ff, 0},
        {{0, 8, 0x0101, 0x8080, 0, 0}, 0xffff, 0},
        {{0, 8, 0x0101, 0x8080, 0, 0}, 0x7f01, 0x8002},
        {{0x10, 8, 1, 0, 0, 0}, 1, 2}, /* of the operation four bits count */
        {{2, 8, 7, UINT64_MAX, 5, UINT64_MAX}, 5, 7},
        {{2, 8, 7, UINT64_MAX, 5, UINT64_MAX}, 4, 4},
        {{2, 8, 0x77, 0x0f, 5, UINT64_MAX}, 5, 7}, /* what is swapped */
        {{2, 8, 0x77, UINT64_MAX, 5, 0x0f}, 0x25, 0x77},
        {{2, 8, 0x77, UINT64_MAX, 5, 0xf0}, 0x25, 0x25},
        {{2, 8, 0x77, UINT64_MAX, 5, 0}, 0x99, 0x77},
    };
    scene_started(NULL);
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char response[200];
        uint64_t after;
        memcpy(scene->regions[0].data + 8, &list[i].before, 8);
        snprintf(response, sizeof(response),
                 "414b0000000000000003%08x00000000"
                 "00000009%016llx",
                 i + 1, (unsigned long long)list[i].before);
        assert_string_equal(atomic(i + 1, 0x1f5a0000, &list[i].a), response);
        memcpy(&after, scene->regions[0].data + 8, 8);
        assert_true(after == list[i].after);
    }
    for (unsigned i = 0; i < 256; i++)
        assert_true(i / 8 == 1 || scene->regions[0].data[i] == 0);
}

static void atomics_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        unsigned stag;
        struct atomic a;
        const char *error;
    } list[] = {
        {0x1f5a0000, {0, 248, 0, 0, 0, 0}, NULL},
        {0x1f5a0002, {0, 0x200000, 0, 0, 0, 0}, NULL},
        {0x1f5a0000, {1, 0, 0, 0, 0, 0}, "0206"},
        {0x1f5a0000, {3, 0, 0, 0, 0, 0}, "0206"},
        {0x1f5a0000, {15, 0, 0, 0, 0, 0}, "0206"},
        {0x1f5a0004, {1, 0, 0, 0, 0, 0}, "0206"}, /* the operation is looked at first */
        {0x1f5a0004, {0, 0, 0, 0, 0, 0}, "0100"},
        {0x1f5a0001, {0, 0x100000, 0, 0, 0, 0}, "0102"},
        {0x1f5a0003, {2, 0x300000, 0, 0, 0, 0}, "0102"},
        {0x1f5a0000, {0, 0xfffffffffffffff8, 0, 0, 0, 0}, "0104"},
        {0x1f5a0000, {0, 0xfffffffffffffff7, 0, 0, 0, 0}, "0101"},
        {0x1f5a0000, {0, 249, 0, 0, 0, 0}, "0101"},
        {0x1f5a0000, {0, 256, 0, 0, 0, 0}, "0101"},
        {0x1f5a0002, {0, 0x1ffff8, 0, 0, 0, 0}, "0101"},
        {0x1f5a0000, {0, 4, 0, 0, 0, 0}, "0207"}, /* not aligned */
        {0x1f5a0000, {0, 247, 0, 0, 0, 0}, "0207"},
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        scene_started(NULL);
        const char *sent = atomic(1, list[i].stag, &list[i].a);
        char text[200];
        snprintf(text, sizeof(text),
                 SCENE_TERMINATE("%sc0000046414a00000000000000010000000100000000"), list[i].error);
        assert_string_equal(sent, list[i].error != NULL
                                      ? text
                                      : "414b0000000000000003000000010000000000000009"
                                        "0000000000000000");
        assert_int_equal(scene->request_msn, list[i].error != NULL ? 1 : 2);
    }
    /* Of another size, not at MO 0, not whole. */
    char request[120] = "";
    for (unsigned i = 0; i < 51; i++)
        strcat(request, "00");
    scene_started(NULL);
    assert_string_equal(asked("414a", 1, 0, request),
                        SCENE_TERMINATE("02ffc0000045414a00000000000000010000000100000000"));
    strcat(request, "00");
    scene_started(NULL);
    assert_string_equal(asked("014a", 1, 0, request),
                        SCENE_TERMINATE("02ffc0000046014a00000000000000010000000100000000"));
    scene_started(NULL);
    request[102] = '\0';
    assert_string_equal(asked("414a", 1, 1, request),
                        SCENE_TERMINATE("02ffc0000045414a00000000000000010000000100000001"));
}

/* As a bug leaves it. */
static void free_first(void)
{
    free(scene->regions[0].data);
    scene->regions[0].freed = true;
}

static void memory_that_is_invalid(void **state)
{
    (void)state;
    static const struct atomic add = {0};
    scene_started(NULL);
    range_region_invalidate(&scene->regions[0]);
    assert_null(range_region_find(scene, 0x1f5a0000));
    assert_ptr_equal(range_region_find(scene, 0x1f5a0003), &scene->regions[3]);
    assert_string_equal(atomic(1, 0x1f5a0000, &add),
                        SCENE_TERMINATE("0100c0000046414a00000000000000010000000100000000"));
    scene_started(NULL);
    free_first();
    assert_string_equal(atomic(1, 0x1f5a0000, &add),
                        SCENE_TERMINATE("0100c0000046414a00000000000000010000000100000000"));
    scene_started(NULL);
    free_first();
    assert_string_equal(asked("4141", 1, 0, SINK "00000001 1f5a0000 0000000000000000"),
                        OF_READ("0100", SINK "00000001"
                                             "1f5a0000"
                                             "0000000000000000"));
}

/* ---- Markers ---- */

/* The first lies before the first FPDU, the others 512 octets apart; each says how far after
 * ULPDU_Length it lies. */
static void markers(void **state)
{
    (void)state;
    scene_started(NULL);
    scene->markers = true;
    uint8_t ulpdu[1200];
    memset(ulpdu, 0xaa, sizeof(ulpdu));
    range_fpdu_queue(scene, ulpdu, sizeof(ulpdu));
    /* 1202 octets and a pad of two, three Markers, the CRC. */
    assert_int_equal(scene->out_length, 1204 + 3 * 4 + 4);
    assert_int_equal(scene->out_position, 1220);
    assert_memory_equal(scene->out, "\0\0\0\0\x04\xb0\xaa", 7);
    assert_memory_equal(scene->out + 511, "\xaa\0\0\x01\xfc\xaa", 6);
    assert_memory_equal(scene->out + 1023, "\xaa\0\0\x03\xfc\xaa", 6);
    assert_memory_equal(scene->out + 1213, "\xaa\0\0", 3);
    scene->out_length = 0;
    /* The next begins 196 octets further on; its Marker is due 316 octets later. */
    range_fpdu_queue(scene, ulpdu, 314);
    assert_int_equal(scene->out_length, 316 + 4 + 4);
    assert_memory_equal(scene->out, "\x01\x3a", 2);
    assert_memory_equal(scene->out + 315, "\xaa\0\0\x01\x3c", 5); /* before the CRC */
    const uint32_t crc = range_crc(scene->out, 320);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(scene->out[320 + i], crc >> (8 * i) & 0xff);
    scene->out_length = 0;
    scene->out_position = 1024; /* one is due between two FPDUs: it belongs to none yet */
    range_fpdu_queue(scene, ulpdu, 2);
    assert_int_equal(scene->out_length, 12);
    assert_memory_equal(scene->out, "\0\0\0\0\0\x02\xaa\xaa", 8);
    scene->out_length = 0;
    scene->markers = false;
    scene->out_position = 1024;
    range_fpdu_queue(scene, ulpdu, 2);
    assert_int_equal(scene->out_length, 8);
}

/* ---- octets ---- */

static void numbers(void **state)
{
    (void)state;
    uint8_t octets[8];
    range_put64(octets, 0x0123456789abcdef);
    assert_memory_equal(octets, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
    assert_int_equal(range_get16(octets), 0x0123);
    assert_int_equal(range_get32(octets + 4), 0x89abcdef);
    assert_true(range_get64(octets) == 0x0123456789abcdef);
    range_put32(octets, 0xfedcba98);
    range_put16(octets + 4, 0x7654);
    assert_memory_equal(octets, "\xfe\xdc\xba\x98\x76\x54\xcd\xef", 8);
    assert_int_equal(range_crc((const uint8_t *)"123456789", 9), 0xe3069283); /* RFC 3720 B.4's */
}

/* ---- bugs ---- */

static void lists_of_bugs(void **state)
{
    (void)state;
    static const char *const bad[] = {"26",   "x",  "-1", " 1", "1,",   ",1",
                                      "1,,2", "1x", "1 ", ",",  "1,26", "99999999999999999999"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(range_bugs_set(bad[i]));
    assert_true(range_bug(RANGE_BUG_PRIVATE_HEAP)); /* those before what is wrong are on */
}

static void bugs_that_are_on(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RANGE_BUG_COUNT; i++)
        assert_false(range_bug((enum range_bug)i));
    assert_true(range_bugs_set(""));
    assert_true(range_bugs_set("0"));
    assert_false(range_bug(RANGE_BUG_NONE));
    assert_true(range_bugs_set("9,25"));
    assert_true(range_bugs_set("0,4"));
    for (unsigned i = 0; i < RANGE_BUG_COUNT; i++)
        assert_int_equal(range_bug((enum range_bug)i), i == 4 || i == 9 || i == 25);
}

static void what_is_known_of_bugs(void **state)
{
    (void)state;
    assert_null(range_bug_info(RANGE_BUG_NONE));
    assert_null(range_bug_info(RANGE_BUG_COUNT));
    assert_string_equal(range_bug_info(RANGE_BUG_PRIVATE_HEAP)->name, "private-heap");
    assert_string_equal(range_bug_info(RANGE_BUG_ATOMIC_ALIGN)->function, "range_apply_atomic");
}

/* A bug that nothing provokes changes no answer. */
static void a_read_in_pieces(void **state)
{
    (void)state;
    assert_true(range_bugs_set("24"));
    scene_started(NULL);
    for (unsigned i = 0; i < 64; i++)
        scene->regions[0].data[i] = (uint8_t)(i + 1);
    char all[200] = "c142000000050000000000000077";
    strcat(all, scene_hex(scene->regions[0].data, 64));
    assert_string_equal(asked("4141", 1, 0, SINK "00000040 1f5a0000 0000000000000000"), all);
    assert_string_equal(asked("4141", 2, 0, SINK "00000002 1f5a0000 0000000000000005"),
                        "c1420000000500000000000000770607");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_read, scene_tear_down),
        cmocka_unit_test_teardown(a_long_read, scene_tear_down),
        cmocka_unit_test_teardown(reads_that_are_wrong, scene_tear_down),
        cmocka_unit_test_teardown(atomics_change_memory, scene_tear_down),
        cmocka_unit_test_teardown(atomics_that_are_wrong, scene_tear_down),
        cmocka_unit_test_teardown(memory_that_is_invalid, scene_tear_down),
        cmocka_unit_test_teardown(markers, scene_tear_down),
        cmocka_unit_test(numbers),
        cmocka_unit_test(what_is_known_of_bugs),
        cmocka_unit_test(bugs_that_are_on),
        cmocka_unit_test(lists_of_bugs),
        cmocka_unit_test_teardown(a_read_in_pieces, scene_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
