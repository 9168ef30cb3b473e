/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading, writing, repairing and changing scripts. */
#include "mutate_support.h"

#include "iwarp/rdmap.h"
#include "iwarp/wire.h"

static struct iw_mutate_script script, other;
static uint8_t out[65536];

static const char both[] = "01000000 001600" REQUEST " 001c00" SEND_1 " 020200 aabb 001c00" SEND_2;

static void test_reads_parts(void **state)
{
    (void)state;
    read_hex(&script, both);
    assert_int_equal(script.count, 4);
    assert_int_equal(script.part[0].kind, IW_MUTATE_STARTUP);
    assert_int_equal(script.part[0].length, 22);
    assert_int_equal(script.part[1].kind, IW_MUTATE_FPDU);
    assert_int_equal(script.part[1].length, 21);
    assert_int_equal(script.part[1].crc, 0);
    assert_int_equal(script.part[2].kind, IW_MUTATE_OTHER);
    assert_int_equal(script.part[2].step, IW_FUZZ_LOCAL);
    assert_int_equal(script.part[3].kind, IW_MUTATE_FPDU);
    assert_false(script.part[3].joined);
    assert_writes(&script, both);
}

static void test_anything_is_an_input(void **state)
{
    static const char *const hex[] = {
        "",
        "01",
        "01020304",
        "01000000 00",
        "01000000 0004",
        ("01000000 001c00" SEND_1 " 07"),
        ("01000000 00ff00" SEND_1),
        "01000000 000600 4d5041204944",             /* the beginning of a key */
        "01000000 000300 0015ff 000000",            /* not an FPDU */
        "01000000 000c00 000000000000000000000000", /* lengths 0, CRCs not those */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(hex) / sizeof(hex[0]); i++) {
        uint8_t in[256];
        size_t length = from_hex(in, hex[i]), written;
        assert_true(iw_mutate_read(&script, in, length));
        written = iw_mutate_write(&script, out, sizeof(out));
        assert_in_range(written, IW_FUZZ_SETTINGS, length + IW_FUZZ_SETTINGS + IW_FUZZ_STEP);
    }
}

static void test_too_large(void **state)
{
    static uint8_t large[IW_MUTATE_INPUT_MAX + 1];

    (void)state;
    assert_false(iw_mutate_read(&script, large, sizeof(large)));
    assert_false(iw_mutate_read(&script, large, 4 + 3 * (IW_MUTATE_PARTS + 1))); /* empty steps */
    assert_true(iw_mutate_read(&script, large, 4 + 3 * IW_MUTATE_PARTS));
}

/* Two FPDUs in one step, the second cut in the middle, and the third joined to its end. */
static void test_steps_are_kept(void **state)
{
    static const char hex[] = "01000000 002000" SEND_1 "00144143 003400"
                              "0000000000000000000000020000000064650000e8fef5a0" SEND_3;

    (void)state;
    read_hex(&script, hex);
    assert_int_equal(script.count, 3);
    assert_true(script.part[1].joined);
    assert_int_equal(script.part[1].cuts, 1);
    assert_int_equal(script.part[1].cut[0], 4);
    assert_writes(&script, hex);
}

static void test_sides_are_apart(void **state)
{
    static const char hex[] =
        "01000000 001c00" SEND_1 " 011c00" SEND_1 " 001c00" SEND_2 " 050100 01 860000";

    (void)state;
    read_hex(&script, hex);
    assert_int_equal(script.count, 5);
    assert_int_equal(script.part[1].step, IW_FUZZ_B);
    assert_int_equal(script.part[4].step, IW_FUZZ_RST | IW_FUZZ_OF_B);
    assert_writes(&script, hex);
}

/* What is no FPDU ends with its step; what follows is read again if its CRC is right. */
static void test_finds_back(void **state)
{
    static const char hex[] = "01000000 001c00" SEND_1 " 000300 ff0000 0201000a 001c00" SEND_2;

    (void)state;
    read_hex(&script, hex);
    assert_int_equal(script.count, 4);
    assert_int_equal(script.part[1].kind, IW_MUTATE_OCTETS);
    assert_int_equal(script.part[1].length, 3);
    assert_int_equal(script.part[3].kind, IW_MUTATE_FPDU);
    assert_writes(&script, hex);
}

/* Of a pair's harness the bodies are commands, whatever they look like. */
static void test_commands(void **state)
{
    static const char hex[] = "01000000 001c00" SEND_1 " 010200 0000 000200 0000";

    (void)state;
    script.commands = true;
    read_hex(&script, hex);
    assert_int_equal(script.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(script.part[i].kind, IW_MUTATE_OTHER);
    assert_writes(&script, hex);
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct iw_mutate_random r = {seed};
        iw_mutate_change(&script, &r, NULL);
    }
    for (size_t i = 0; i < script.count; i++)
        assert_int_equal(script.part[i].kind, IW_MUTATE_OTHER);
    script.commands = false;
}

/* Of a harness with one peer: the second FPDU comes in a step of the other kind. */
static void test_one_stream(void **state)
{
    static const char hex[] = "01000000 001c00" SEND_1 " 011c00" SEND_2 " 000400 00134143 011800"
                              "000000000000000000000003000000006600 0000d1e0c5ba";

    (void)state;
    script.single = true;
    read_hex(&script, hex);
    assert_int_equal(script.count, 3);
    assert_int_equal(script.part[1].step, IW_FUZZ_B);
    iw_mutate_renumber(&script);
    assert_writes(&script, "01000000 001c00" SEND_1 " 011c00" SEND_2 " 000400 00134143 001800"
                           "000000000000000000000003000000006600 0000d1e0c5ba");
    script.single = false;
}

static void test_wrong_stays_wrong(void **state)
{
    /* The CRC's last octet and the second octet of padding. */
    static const char crc[] =
        "01000000 001c00 001541430000000000000000000000010000000061626300447065ab";
    static const char pad[] =
        "01000000 001c00 0014414300000000000000000000000200000000646500ffe8fef5a0";

    (void)state;
    read_hex(&script, crc);
    assert_int_equal(script.part[0].crc, 0x01000000);
    assert_writes(&script, crc);
    iw_mutate_repair_fpdus(&script);
    assert_writes(&script, "01000000 001c00" SEND_1);
    read_hex(&script, pad);
    assert_writes(&script, pad);
    iw_mutate_repair_fpdus(&script);
    assert_writes(&script, "01000000 001c00" SEND_2);
}

static void test_crc_follows_content(void **state)
{
    (void)state;
    read_hex(&script, "01000000 001c00" SEND_1);
    script.octets[script.part[0].at + 13] = 3; /* MSN */
    assert_true(resize(&script, 0, 19));
    script.octets[script.part[0].at + 18] = 'f';
    assert_writes(&script, "01000000 001c00" SEND_3);
    script.part[0].stated = 0xffff;
    script.part[0].crc = 0;
    iw_mutate_write(&script, out, sizeof(out));
    assert_int_equal(out[7] << 8 | out[8], 18);
}

/* Without CRCs in force, and with a field of zero, it stays zero. */
static void test_no_crc(void **state)
{
    (void)state;
    read_hex(&script, "00000000 001c00 00154143000000000000000000000001000000006162630000000000");
    assert_false(script.crc);
    iw_mutate_repair_fpdus(&script);
    script.octets[script.part[0].at + 18] = 'z';
    assert_writes(&script, "00000000 001c00 00154143000000000000000000000001000000007a626300"
                           "00000000");
}

static void test_markers(void **state)
{
    static const char hex[] =
        "03000000 002000 00000000 001541430000000000000000000000010000000061626300c35b57d9";

    (void)state;
    read_hex(&script, hex);
    assert_true(script.markers[0]);
    assert_int_equal(script.part[0].kind, IW_MUTATE_FPDU);
    assert_writes(&script, hex);
    script.markers[0] = false;
    assert_writes(&script, "03000000 001c00" SEND_1);

    /* A Marker within: position 512 is 508 octets after ULPDU_Length. */
    script.markers[0] = true;
    assert_true(resize(&script, 0, 618));
    assert_int_equal(iw_mutate_write(&script, out, sizeof(out)), 4 + 3 + 632);
    assert_octets(out + 7 + 508, 12, "00000000 000001fc 00000000");
    script.part[0].marker = 1;
    script.part[0].bend = 0x10000004;
    assert_int_equal(iw_mutate_write(&script, out, sizeof(out)), 4 + 3 + 632);
    assert_octets(out + 7 + 508, 12, "00000000 100001f8 00000000");
    assert_true(iw_mutate_read(&other, out, 4 + 3 + 632));
    assert_int_equal(other.part[0].marker, 1);
    assert_int_equal(other.part[0].bend, 0x10000004);
    assert_int_equal(other.part[0].crc, 0);
}

static void test_renumbers_queues(void **state)
{
    static const uint8_t read_request[46] = {0x41, 0x41, [9] = 1, [13] = 9};

    (void)state;
    read_hex(&script, "01000000 001c00" SEND_3 " 001c00" SEND_3 " 011c00" SEND_3);
    assert_true(iw_mutate_insert(&script, 1, IW_MUTATE_FPDU, IW_FUZZ_A, read_request,
                                 sizeof(read_request)));
    assert_true(iw_mutate_copy(&script, 0, 4));
    assert_true(iw_mutate_copy(&script, 1, 4));
    script.octets[script.part[2].at] &= 0xbf; /* L: its message goes on */
    iw_mutate_renumber(&script);
    iw_mutate_reoffset(&script);
    static const uint8_t msn[] = {1, 1, 2, 1, 2, 2}, mo[] = {0, 0, 0, 0, 0, 1};
    assert_int_equal(script.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(script.octets[script.part[i].at + 13], msn[i]);
        assert_int_equal(script.octets[script.part[i].at + 17], mo[i]);
    }
}

static void test_repairs_startups(void **state)
{
    (void)state;
    read_hex(&script, "01000000 001600" REQUEST);
    assert_true(resize(&script, 0, 21));
    iw_mutate_repair_startups(&script);
    assert_writes(&script, "01000000 001500 4d504120494420526571204672616d6540010001 50");
}

static void test_writes_whole_parts(void **state)
{
    (void)state;
    read_hex(&script, both);
    for (size_t room = 0; room < 90; room++) {
        size_t n = iw_mutate_write(&script, out, room);
        size_t want = room < 4    ? 0
                      : room < 29 ? 4
                      : room < 60 ? 29
                      : room < 65 ? 60
                      : room < 96 ? 65
                                  : 96;
        assert_int_equal(n, want);
    }
    /* A part that joins the step before it and has no room leaves that step whole. */
    read_hex(&script, "01000000 003800" SEND_1 SEND_2);
    assert_octets(out, iw_mutate_write(&script, out, 60), "01000000 001c00" SEND_1);
}

static void test_drop_and_swap(void **state)
{
    (void)state;
    read_hex(&script, "01000000 001c00" SEND_1 " 001c00" SEND_2 " 001c00" SEND_3);
    iw_mutate_swap(&script, 0, 2);
    iw_mutate_drop(&script, 1, 1);
    assert_writes(&script, "01000000 001c00" SEND_3 " 001c00" SEND_1);
    iw_mutate_drop(&script, 1, 100);
    assert_int_equal(script.count, 1);
    iw_mutate_drop(&script, 1, 1);
    assert_int_equal(script.count, 1);
}

/* What is made is legal: no check of a header fails, and its length is that of its kind. */
static void test_makes_every_opcode(void **state)
{
    struct iw_mutate_random r = {1};
    bool made[16] = {false};

    (void)state;
    read_hex(&script, both);
    for (int i = 0; i < 500; i++) {
        struct iw_ddp_header h;
        uint8_t ulpdu[128];
        size_t length = iw_mutate_make(&r, &script, ulpdu, sizeof(ulpdu));
        assert_true(iw_wire_get_ddp(ulpdu, length, &h) > 0);
        assert_int_equal(iw_rdmap_check_header(&h, 1, true, NULL), IW_CHECK_NONE);
        made[iw_rdmap_op(&h)] = true;
        if (iw_rdmap_op(&h) == IW_OP_READ_REQUEST)
            assert_int_equal(length, 46);
        if (iw_rdmap_op(&h) == IW_OP_ATOMIC_REQUEST)
            assert_int_equal(length, 70);
    }
    for (int op = 0; op < 12; op++)
        assert_true(made[op]);
    assert_int_equal(iw_mutate_make(&r, &script, out, 127), 0);
}

/* The same seed, the same result; other seeds, other results. */
static void test_deterministic(void **state)
{
    static uint8_t again[65536];
    size_t different = 0, length, n;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct iw_mutate_random r = {seed}, q = {seed};
        read_hex(&script, both);
        iw_mutate_change(&script, &r, NULL);
        length = iw_mutate_write(&script, out, sizeof(out));
        read_hex(&script, both);
        iw_mutate_change(&script, &q, NULL);
        n = iw_mutate_write(&script, again, sizeof(again));
        assert_int_equal(n, length);
        assert_memory_equal(again, out, n);
        read_hex(&other, both);
        n = iw_mutate_write(&other, again, sizeof(again));
        different += n != length || memcmp(again, out, n) != 0;
    }
    assert_in_range(different, 170, 200);
}

/* Whether all FPDUs of the script have right CRCs, and right MSNs. */
static void judge(struct iw_mutate_script *s, bool *crcs, bool *msns)
{
    static uint8_t before[65536], after[65536];
    size_t length = iw_mutate_write(s, before, sizeof(before));

    *crcs = true;
    for (size_t i = 0; i < s->count; i++)
        *crcs = *crcs && (s->part[i].kind != IW_MUTATE_FPDU || s->part[i].crc == 0);
    iw_mutate_renumber(s);
    *msns =
        iw_mutate_write(s, after, sizeof(after)) == length && memcmp(before, after, length) == 0;
}

/* Most of what comes out is right where it was not meant to be wrong, and some of it is wrong. */
static void test_repairs_mostly(void **state)
{
    struct iw_mutate_random r = {7};
    size_t crcs = 0, msns = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        bool crc, msn;
        size_t length;
        read_hex(&script, both);
        iw_mutate_change(&script, &r, NULL);
        length = iw_mutate_write(&script, out, sizeof(out));
        assert_true(iw_mutate_read(&script, out, length));
        judge(&script, &crc, &msn);
        crcs += crc;
        msns += msn;
    }
    assert_in_range(crcs, 850, 995);
    assert_in_range(msns, 800, 985);
}

/* Generation after generation, with whatever octets: nothing is written past the room, all of it
 * can be read. */
static void test_many_generations(void **state)
{
    struct iw_mutate_random r = {42};
    size_t most = 0;

    (void)state;
    for (int run = 0; run < 40; run++) {
        size_t length = from_hex(out, both), room = 512u << run % 7;
        for (int i = 0; i < 100; i++) {
            if (iw_mutate_chance(&r, 8))
                length = iw_mutate_havoc(&r, out, length, room);
            assert_true(iw_mutate_read(&script, out, length));
            if (iw_mutate_chance(&r, 4)) {
                read_hex(&other, both);
                iw_mutate_cross(&script, &other, &r);
            }
            iw_mutate_change(&script, &r, NULL);
            out[room] = 0x5a;
            length = iw_mutate_write(&script, out, room);
            assert_true(length <= room);
            assert_int_equal(out[room], 0x5a);
            most = length > most ? length : most;
        }
    }
    assert_true(most > 4096);
}

static size_t bang(uint8_t *data, size_t size, size_t most)
{
    size_t length = most < 4 ? most : 4;

    (void)size;
    memcpy(data, "bang", length);
    return length;
}

/* An engine's own mutator is asked as well. */
static void test_asks_the_engine(void **state)
{
    size_t found = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct iw_mutate_random r = {seed};
        read_hex(&script, both);
        iw_mutate_change(&script, &r, bang);
        for (size_t i = 0; i < script.count; i++)
            if (script.part[i].length == 4 &&
                memcmp(script.octets + script.part[i].at, "bang", 4) == 0) {
                found++;
                break;
            }
    }
    assert_in_range(found, 4, 60);
}

/* Every field of a Read Request and of the header before it is changed, alone, by some seed; so are
 * lengths. */
static void test_reaches_every_field(void **state)
{
    static const uint8_t ulpdu[46] = {0x41, 0x41, [9] = 1, [13] = 1};
    bool touched[46] = {false}, longer = false, shorter = false;

    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct iw_mutate_random r = {seed};
        size_t size = sizeof(ulpdu);
        memcpy(out, ulpdu, sizeof(ulpdu));
        iw_mutate_ulpdu(&r, NULL, out, &size, 4096);
        longer = longer || size > sizeof(ulpdu);
        shorter = shorter || size < sizeof(ulpdu);
        for (size_t i = 0; i < sizeof(ulpdu) && size == sizeof(ulpdu); i++)
            touched[i] = touched[i] || out[i] != ulpdu[i];
    }
    for (size_t i = 0; i < sizeof(ulpdu); i++)
        assert_true(touched[i]);
    assert_true(longer && shorter);
}

/* Flags, revision, PD_Length, key: each octet of a Request's header but PD_Length's is changed at
 * some time. */
static void test_reaches_startups(void **state)
{
    static const char hex[] = "4d504120494420526571204672616d65500200044010c010";
    bool touched[24] = {false}, resized = false;
    uint8_t frame[24];

    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct iw_mutate_random r = {seed};
        size_t size = from_hex(frame, hex);
        memcpy(out, frame, sizeof(frame));
        iw_mutate_startup(&r, out, &size, 600);
        resized = resized || size != sizeof(frame);
        assert_in_range(size, 20, 600);
        for (size_t i = 0; i < sizeof(frame) && size == sizeof(frame); i++)
            touched[i] = touched[i] || out[i] != frame[i];
    }
    for (size_t i = 0; i < sizeof(frame); i++)
        assert_true(touched[i]);
    assert_true(resized);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_parts),
        cmocka_unit_test(test_anything_is_an_input),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_steps_are_kept),
        cmocka_unit_test(test_sides_are_apart),
        cmocka_unit_test(test_one_stream),
        cmocka_unit_test(test_finds_back),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_wrong_stays_wrong),
        cmocka_unit_test(test_crc_follows_content),
        cmocka_unit_test(test_no_crc),
        cmocka_unit_test(test_markers),
        cmocka_unit_test(test_renumbers_queues),
        cmocka_unit_test(test_repairs_startups),
        cmocka_unit_test(test_writes_whole_parts),
        cmocka_unit_test(test_drop_and_swap),
        cmocka_unit_test(test_makes_every_opcode),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_repairs_mostly),
        cmocka_unit_test(test_many_generations),
        cmocka_unit_test(test_asks_the_engine),
        cmocka_unit_test(test_reaches_every_field),
        cmocka_unit_test(test_reaches_startups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
