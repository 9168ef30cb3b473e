/* SPDX-License-Identifier: BSD-3-Clause */
/* A seed repeats what it gave before: on other machines, with other compilers, in later versions.
 * So the sequences that a report names by its seed can be made again. Whoever changes how inputs
 * are changed on purpose writes the new digests here. */
#include "mutate_support.h"

enum { ROUNDS = 4000, MOST = 8192 };

static uint64_t digest;
static struct iw_mutate_script script, other;
static uint8_t octets[IW_MUTATE_INPUT_MAX];

/* FNV-1a. */
static void digest_add(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ data[i]) * 0x100000001b3u;
    digest = (digest ^ size) * 0x100000001b3u;
}

static void digest_is(uint64_t expected)
{
    uint64_t own = digest;

    digest = 0xcbf29ce484222325u;
    assert_int_equal(own, expected);
}

#define READ_REQUEST                                                                               \
    "002e 4141 00000000 00000001 00000001 00000000 00005117 0000000000001000 00000040 00000a00"    \
    "0000000000000000 00000000"
#define WRITE "0012c140000000a100000000000001006162636400000000"

/* Inputs that each have something which others lack: Markers, no CRCs, both sides, steps of other
 * kinds, one stream, commands. */
static const char *const inputs[] = {
    ("01000000 001600" REQUEST " 001c00" SEND_1 " 001c00" SEND_2),
    ("01000000 005400" SEND_1 SEND_2 SEND_3),
    ("03000000 000400 00000000 001c00" SEND_1 " 011c00" SEND_2),
    ("00000000 003400" READ_REQUEST " 001800" WRITE " 030200 1000"),
    ("21000000 001c00" SEND_1 " 030200 0500 001c00" SEND_2 " 020300 010203 050100 00 060100 01"),
    ("09000000 001800 4d504120494420526571204672616d65500200048010 8020 001c00" SEND_3),
    ("01000000 040600 0300 01020304 841000 0180 0102030405060708090a0b0c0d0e 070000"),
    ("ff010203 000500 0011223344 010300 aabbcc 000100 ff"),
};

enum { INPUTS = sizeof(inputs) / sizeof(*inputs) };

static void write_script(const struct iw_mutate_script *s)
{
    digest_add(octets, iw_mutate_write(s, octets, sizeof(octets)));
}

static size_t engine(uint8_t *data, size_t size, size_t most)
{
    if (size == most)
        return size / 2;
    data[size] = (uint8_t)size;
    return size + 1;
}

/* Each change goes on with what the one before it left, up to a size. */
static void change(bool single, bool commands, iw_mutate_octets_fn fn, uint64_t expected)
{
    struct iw_mutate_random r = {7};

    script.single = single;
    script.commands = commands;
    for (size_t i = 0; i < ROUNDS; i++) {
        if (i % 25 == 0)
            read_hex(&script, inputs[i / 25 % INPUTS]);
        iw_mutate_change(&script, &r, fn);
        write_script(&script);
    }
    script.single = script.commands = false;
    digest_is(expected);
}

static void changes(void **state)
{
    (void)state;
    change(false, false, NULL, 0xd8a2cb5aeac4ea49);
    change(true, false, NULL, 0x56419fe73e964805);
    change(false, true, NULL, 0x372e10c9e9963328);
    change(false, false, engine, 0x759a8a2bc4af3c58);
}

static void changes_with_regions(void **state)
{
    static const struct iw_mutate_region regions[] = {{0x11223344, 0x1000, 64},
                                                      {0x55667788, UINT64_MAX - 9, 5}};

    (void)state;
    script.regions = regions;
    script.n_regions = 2;
    change(false, false, NULL, 0x24a5872efbffa3d8);
    script.regions = NULL;
    script.n_regions = 0;
}

static void crossings(void **state)
{
    struct iw_mutate_random r = {8};

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        if (i % 9 == 0)
            read_hex(&script, inputs[i / 9 % INPUTS]);
        read_hex(&other, inputs[iw_mutate_below(&r, INPUTS)]);
        iw_mutate_cross(&script, &other, &r);
        write_script(&script);
    }
    digest_is(0x7c76f813087ac3a1);
}

static void octets_alone(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 7, 64, 500};
    static uint8_t data[MOST];
    struct iw_mutate_random r = {9};

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t size = sizes[i % 6];

        memset(data, (int)i, sizeof(data));
        for (int k = 0; k < 4; k++) {
            size = iw_mutate_havoc(&r, data, size, 512);
            digest_add(data, size);
        }
    }
    digest_is(0xba6056ac53f6f9b1);
}

static void ulpdus(void **state)
{
    static uint8_t data[MOST];
    struct iw_mutate_random r = {10};

    (void)state;
    read_hex(&script, inputs[3]);
    for (size_t i = 0; i < ROUNDS; i++) {
        const struct iw_mutate_script *s = i % 2 ? &script : NULL;
        size_t size = iw_mutate_make(&r, s, data, i % 3 ? 128 : 600);

        digest_add(data, size);
        for (int k = 0; k < 3; k++) {
            iw_mutate_ulpdu(&r, s, data, &size, 200);
            digest_add(data, size);
        }
    }
    assert_int_equal(iw_mutate_make(&r, NULL, data, 127), 0);
    digest_is(0xf3c5ea344a79806a);
    for (size_t length = 0; length < 64; length++)
        for (size_t i = 0; i < 100; i++) {
            size_t size = length;

            memset(data, 0x41, length);
            iw_mutate_ulpdu(&r, NULL, data, &size, 64);
            digest_add(data, size);
        }
    digest_is(0xd55a2b7b28328749);
}

static void startups(void **state)
{
    static uint8_t data[MOST];
    struct iw_mutate_random r = {11};

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t size = from_hex(data, REQUEST);

        for (int k = 0; k < 4; k++) {
            iw_mutate_startup(&r, data, &size, 532 - 8 * (i % 64));
            digest_add(data, size);
        }
    }
    digest_is(0x65fcb2f1e70ef42d);
}

static void digest_script(const struct iw_mutate_script *s, size_t room)
{
    digest_add((const uint8_t[]){s->markers[0], s->markers[1], s->crc}, 3);
    for (size_t i = 0; i < s->count; i++) {
        const struct iw_mutate_part *p = &s->part[i];
        const uint32_t numbers[] = {p->kind, p->step,   p->joined, p->stated,
                                    p->crc,  p->marker, p->bend,   p->length};

        for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
            for (unsigned shift = 0; shift < 32; shift += 8)
                digest_add((const uint8_t[]){(uint8_t)(numbers[k] >> shift)}, 1);
        for (unsigned k = 0; k < p->cuts; k++)
            digest_add((const uint8_t[]){(uint8_t)p->cut[k], (uint8_t)(p->cut[k] >> 8)}, 2);
        digest_add(p->pad, sizeof(p->pad));
        digest_add(s->octets + p->at, p->length);
    }
    digest_add(octets, iw_mutate_write(s, octets, room));
}

/* What is read from octets that somebody else has changed, and written into less room. */
static void readings(void **state)
{
    static uint8_t data[MOST];
    struct iw_mutate_random r = {12};

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t size = from_hex(data, inputs[i % INPUTS]);

        script.single = i % 5 == 0;
        script.commands = i % 7 == 0;
        if (i % 3)
            data[0] ^= (uint8_t)iw_mutate_below(&r, 8);
        if (i % 4)
            size = iw_mutate_havoc(&r, data, size, MOST);
        assert_true(iw_mutate_read(&script, data, size));
        digest_script(&script, i % 2 ? sizeof(octets) : iw_mutate_below(&r, size + 16));
    }
    script.single = script.commands = false;
    digest_is(0x5d2390c6c59b7562);
}

/* Steps of more octets than a step can say, and cuts of all kinds. */
static void writings(void **state)
{
    static uint8_t data[200000];
    struct iw_mutate_random r = {13};

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)iw_mutate_next(&r);
    for (size_t i = 0; i < 200; i++) {
        read_hex(&script, inputs[i % INPUTS]);
        for (size_t k = 0; k < 3; k++) {
            size_t at = iw_mutate_below(&r, script.count + 1),
                   length = 65530 + iw_mutate_below(&r, 10);

            assert_true(iw_mutate_insert(&script, at, IW_MUTATE_OCTETS, k & 1, data, length));
        }
        for (size_t k = 0; k < script.count; k++) {
            script.part[k].joined = iw_mutate_chance(&r, 2);
            script.part[k].cuts = (uint8_t)iw_mutate_below(&r, 4);
            for (unsigned c = 0; c < script.part[k].cuts; c++)
                script.part[k].cut[c] = (uint16_t)iw_mutate_below(&r, 40);
        }
        script.count = script.count > 6 ? 6 : script.count;
        digest_script(&script, sizeof(octets));
    }
    digest_is(0x8e1da945f7633913);
}

static void parts(void **state)
{
    static const struct iw_mutate_region region = {1, 2, 3};

    (void)state;
    script.regions = &region;
    script.n_regions = 1;
    script.single = script.commands = true;
    read_hex(&script, inputs[2]);
    assert_true(iw_mutate_copy(&script, 1, 0));
    assert_true(iw_mutate_copy(&script, 0, script.count));
    assert_false(iw_mutate_copy(&script, script.count, 0));
    assert_false(iw_mutate_insert(&script, script.count + 1, IW_MUTATE_OCTETS, 0, "", 0));
    assert_true(resize(&script, 0, 100));
    assert_true(resize(&script, 1, 2));
    assert_true(resize(&script, 2, 65535));
    assert_false(resize(&script, 2, 65536));
    digest_script(&script, sizeof(octets));
    iw_mutate_duplicate(&other, &script);
    assert_ptr_equal(other.regions, &region);
    assert_int_equal(other.n_regions, 1);
    assert_true(other.single && other.commands);
    assert_int_equal(other.used, script.used);
    digest_script(&other, sizeof(octets));
    script.regions = NULL;
    script.n_regions = 0;
    script.single = script.commands = false;
    iw_mutate_duplicate(&other, &script);
    assert_true(!other.single && !other.commands && !other.regions && !other.n_regions);
    digest_is(0xca4542153302268f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes),   cmocka_unit_test(changes_with_regions),
        cmocka_unit_test(crossings), cmocka_unit_test(octets_alone),
        cmocka_unit_test(ulpdus),    cmocka_unit_test(startups),
        cmocka_unit_test(readings),  cmocka_unit_test(writings),
        cmocka_unit_test(parts),
    };

    digest = 0xcbf29ce484222325u;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
