/* SPDX-License-Identifier: BSD-3-Clause */
/* The practice range: what it does with FPDUs and segments, and what its Terminates say. */
#include "range_scene.h"

#include <stdio.h>

struct row {
    const char *ulpdus; /* parted by '/' */
    const char *sent;   /* ULPDUs, too */
    bool ends;
};

static void play(const struct row *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        scene_started(NULL);
        scene_segments(list[i].ulpdus);
        assert_string_equal(scene_sent_segments(), list[i].sent);
        assert_int_equal(scene->state, list[i].ends ? RANGE_DRAINING : RANGE_FULL);
    }
}
#define PLAY(list) play(list, sizeof(list) / sizeof((list)[0]))

/* A segment with its length and header in a Terminate: layer, type and code go before. */
#define ABOUT(error, length, header) SCENE_TERMINATE(error "c000" length header)
/* An untagged header: control, then QN, MSN and MO. */
#define U(control, qn, msn, mo)                                                                    \
    control "00000000"                                                                             \
            "0000000" qn "0000000" msn "0000" mo

static void queues(void **state)
{
    (void)state;
    static const struct row list[] = {
        {U("4143", "0", "1", "0000"), "", false},
        {U("4143", "0", "1", "0000") "6869", "", false},
        {U("4143", "0", "1", "0000") "/" U("4143", "0", "2", "0000"), "", false},
        {U("4143", "0", "2", "0000"), ABOUT("1203", "0012", U("4143", "0", "2", "0000")), true},
        {U("4143", "0", "0", "0000"), ABOUT("1203", "0012", U("4143", "0", "0", "0000")), true},
        {U("4143", "0", "1", "0000") "/" U("4143", "0", "1", "0000"),
         ABOUT("1203", "0012", U("4143", "0", "1", "0000")), true},
        {U("4141", "1", "2", "0000"), ABOUT("1203", "0012", U("4141", "1", "2", "0000")), true},
        {U("4147", "2", "2", "0000"), ABOUT("1203", "0012", U("4147", "2", "2", "0000")), true},
        {U("4143", "3", "1", "0000"), ABOUT("1202", "0012", U("4143", "3", "1", "0000")), true},
        {U("4143", "4", "1", "0000"), ABOUT("1201", "0012", U("4143", "4", "1", "0000")), true},
        {U("4143", "8", "1", "0000"), ABOUT("1201", "0012", U("4143", "8", "1", "0000")), true},
        /* Where a message may lie: the last octet, none beyond it, and the MO itself. */
        {U("4143", "0", "1", "1000"), "", false},
        {U("4143", "0", "1", "0fff") "61", "", false},
        {U("4143", "0", "1", "0fff") "6161", ABOUT("1205", "0014", U("4143", "0", "1", "0fff")),
         true},
        {U("4143", "0", "1", "1001"), ABOUT("1204", "0012", U("4143", "0", "1", "1001")), true},
        {U("4141", "1", "1", "0035"), ABOUT("1204", "0012", U("4141", "1", "1", "0035")), true},
        {U("4141", "1", "1", "0034") "61", ABOUT("1205", "0013", U("4141", "1", "1", "0034")),
         true},
        {U("4141", "1", "1", "0034"), ABOUT("02ff", "0012", U("4141", "1", "1", "0034")), true},
        {U("4147", "2", "1", "1001"), ABOUT("1204", "0012", U("4147", "2", "1", "1001")), true},
        {U("4147", "2", "1", "1000") "61", ABOUT("1205", "0013", U("4147", "2", "1", "1000")),
         true},
        /* The queue is looked at first, then the room, then RDMAP. */
        {U("4103", "0", "2", "1001"), ABOUT("1203", "0012", U("4103", "0", "2", "1001")), true},
        {U("4103", "0", "1", "1001"), ABOUT("1204", "0012", U("4103", "0", "1", "1001")), true},
    };
    PLAY(list);
    scene_started(NULL);
    scene_segments("4143 00000000 00000000 00000001 fffffff0"
                   "6161");
    assert_string_equal(scene_sent_segments(),
                        ABOUT("1204", "0014", "4143000000000000000000000001fffffff0"));
}

static void versions_and_lengths(void **state)
{
    (void)state;
    static const struct row list[] = {
        {U("4043", "0", "1", "0000"), ABOUT("1206", "0012", U("4043", "0", "1", "0000")), true},
        {U("4243", "0", "1", "0000"), ABOUT("1206", "0012", U("4243", "0", "1", "0000")), true},
        {U("4343", "4", "1", "0000"), ABOUT("1206", "0012", U("4343", "4", "1", "0000")), true},
        {U("7d43", "0", "1", "0000"), "", false}, /* reserved bits are not looked at */
        {"c040 00000000 0000000000000000", ABOUT("1104", "000e", "c040000000000000000000000000"),
         true},
        {"c140 00000000 0000000000000000", "", false},
        {"c240 00000000 0000000000000000", ABOUT("1104", "000e", "c240000000000000000000000000"),
         true},
        {U("4103", "0", "1", "0000"), ABOUT("0205", "0012", U("4103", "0", "1", "0000")), true},
        {U("4183", "0", "1", "0000"), ABOUT("0205", "0012", U("4183", "0", "1", "0000")), true},
        {U("41c3", "0", "1", "0000"), ABOUT("0205", "0012", U("41c3", "0", "1", "0000")), true},
        {U("4173", "0", "1", "0000"), "", false}, /* nor is the reserved bit of RDMAP */
        {"c100 00000000 0000000000000000", ABOUT("0205", "000e", "c100000000000000000000000000"),
         true},
        {"c180 00000000 0000000000000000", ABOUT("0205", "000e", "c180000000000000000000000000"),
         true},
        /* Too short for a header: none is there to be returned. */
        {"41", SCENE_TERMINATE("10000000"), true},
        {"4143 00000000 00000000 00000001 000000", SCENE_TERMINATE("10000000"), true},
        {"c140 00000000 00000000000000", SCENE_TERMINATE("10000000"), true},
    };
    PLAY(list);
}

/* What an empty segment of this opcode gets, of each queue. */
static const char *const said[3][16] = {
    {"0206", "0206", "0206", "", "0109", "", "0109", "0206", "0206", "0206", "0206", "0206", "0206",
     "0206", "0206", "0206"},
    {"0206", "02ff", "0206", "0206", "0206", "0206", "0206", "0206", "0206", "0206", "02ff", "0206",
     "0206", "0206", "0206", "0206"},
    {"0206", "0206", "0206", "0206", "0206", "0206", "0206", "", "0206", "0206", "0206", "0206",
     "0206", "0206", "0206", "0206"},
};

static void opcodes(void **state)
{
    (void)state;
    for (unsigned queue = 0; queue < 3; queue++) {
        for (unsigned opcode = 0; opcode < 16; opcode++) {
            char text[100], error[200] = "";
            snprintf(text, sizeof(text), "414%x00000000%08x0000000100000000", opcode, queue);
            scene_started(NULL);
            scene_segments(text);
            if (said[queue][opcode][0] != '\0')
                snprintf(error, sizeof(error), SCENE_TERMINATE("%sc0000012%s"), said[queue][opcode],
                         text);
            assert_string_equal(scene_sent_segments(), error);
        }
    }
    for (unsigned opcode = 1; opcode < 16; opcode++) {
        char text[100], error[200];
        snprintf(text, sizeof(text), "c14%x000000000000000000000000", opcode);
        snprintf(error, sizeof(error), ABOUT("0206", "000e", "%s"), text);
        scene_started(NULL);
        scene_segments(text);
        assert_string_equal(scene_sent_segments(), error);
    }
}

/* ---- messages ---- */

static void segments_make_a_message(void **state)
{
    (void)state;
    scene_started(NULL);
    scene_segments("0143 00000000 00000000 00000001 00000000 616263");
    assert_non_null(scene->message);
    assert_int_equal(scene->send_msn, 1);
    /* The STag's place is reserved in a Send. */
    scene_segments("4143 00000009 00000000 00000001 00000003 6465");
    assert_null(scene->message);
    assert_int_equal(scene->send_msn, 2);
    assert_memory_equal(scene->kept, "abcde", 5);
    for (unsigned i = 2; i < 12; i++) { /* more than there are receives */
        char text[100];
        snprintf(text, sizeof(text), "4145 00000000 00000000 %08x 00000000 %02x", i, i);
        scene_segments(text);
        assert_int_equal(scene->send_msn, i + 1);
        assert_int_equal(scene->kept[0], i);
        assert_int_equal(scene->next_receive, i % 8);
    }
    assert_string_equal(scene_sent_segments(), "");
}

static void segments_of_a_message_are_alike(void **state)
{
    (void)state;
    static const struct row list[] = {
        {"0143 00000000 00000000 00000001 00000000 61/" U("4145", "0", "1", "0001"),
         ABOUT("0206", "0012", U("4145", "0", "1", "0001")), true},
        {"0144 1f5a0001 00000000 00000001 00000000 61/4144 1f5a0002 00000000 00000001 00000001",
         ABOUT("0206", "0012", "41441f5a0002000000000000000100000001"), true},
        {"0146 1f5a0001 00000000 00000001 00000000 61/4146 1f5a0002 00000000 00000001 00000001",
         ABOUT("0206", "0012", "41461f5a0002000000000000000100000001"), true},
        {"0144 1f5a0001 00000000 00000001 00000000 61/4144 1f5a0001 00000000 00000001 00000001", "",
         false},
        {"0145 1f5a0001 00000000 00000001 00000000 61/4145 1f5a0002 00000000 00000001 00000001", "",
         false},
        /* Immediate Data is a message of its own. */
        {"0143 00000000 00000000 00000001 00000000 61/4148 00000000 00000000 00000001 00000000 "
         "0102030405060708",
         ABOUT("0206", "001a", U("4148", "0", "1", "0000")), true},
    };
    PLAY(list);
}

static void regions_are_invalidated(void **state)
{
    (void)state;
    static const unsigned opcodes_of[] = {4, 6};
    for (unsigned i = 0; i < 2; i++) {
        char text[200];
        scene_started(NULL);
        snprintf(text, sizeof(text), "414%u 1f5a0001 00000000 00000001 00000000 61", opcodes_of[i]);
        scene_segments(text);
        assert_false(scene->regions[1].valid);
        assert_null(scene->regions[1].data);
        assert_true(scene->regions[0].valid && scene->regions[2].valid && scene->regions[3].valid);
        assert_int_equal(scene->send_msn, 2);
        snprintf(text, sizeof(text), "414%u 1f5a0001 00000000 00000002 00000000", opcodes_of[i]);
        scene_segments(text);
        snprintf(text, sizeof(text), ABOUT("0109", "0012", "414%u1f5a0001000000000000000200000000"),
                 opcodes_of[i]);
        assert_string_equal(scene_sent_segments(), text);
    }
    scene_started(NULL);
    scene_segments("0144 1f5a0001 00000000 00000001 00000000 61"); /* by its last segment only */
    assert_true(scene->regions[1].valid);
    scene_started(NULL);
    scene_segments("4145 1f5a0001 00000000 00000001 00000000 61");
    assert_true(scene->regions[1].valid);
}

static void immediate_data(void **state)
{
    (void)state;
    static const struct row list[] = {
        {U("4148", "0", "1", "0000") "0102030405060708", "", false},
        {U("4149", "0", "1", "0000") "0102030405060708/" U("4143", "0", "2", "0000"), "", false},
        {U("4148", "0", "1", "0000") "01020304050607",
         ABOUT("0206", "0019", U("4148", "0", "1", "0000")), true},
        {U("4148", "0", "1", "0000") "010203040506070809",
         ABOUT("0206", "001b", U("4148", "0", "1", "0000")), true},
        {U("0148", "0", "1", "0000") "0102030405060708",
         ABOUT("0206", "001a", U("0148", "0", "1", "0000")), true},
        {U("4149", "0", "1", "0001") "0102030405060708",
         ABOUT("0206", "001a", U("4149", "0", "1", "0001")), true},
    };
    PLAY(list);
}

static void terminates(void **state)
{
    (void)state;
    char text[300] = "4147 00000000 00000002 00000001 00000000";
    scene_started(NULL);
    for (unsigned i = 0; i < 60; i++)
        snprintf(text + strlen(text), 3, "%02x", i);
    scene_segments(text);
    assert_int_equal(scene->state, RANGE_DRAINING);
    assert_string_equal(scene_sent_segments(), "");
    for (unsigned i = 0; i < 52; i++)
        assert_int_equal(scene->terminate[i], i);
    /* Nothing after it is looked at. */
    scene_segments("41");
    assert_string_equal(scene_sent_segments(), "");
}

/* ---- Writes ---- */

#define WRITE(stag, to) "c140" stag to

static void writes(void **state)
{
    (void)state;
    static const struct row list[] = {
        {WRITE("1f5a0000", "0000000000000000") "61", "", false},
        {WRITE("1f5a0000", "00000000000000ff") "61", "", false},
        {WRITE("1f5a0000", "00000000000000ff") "6161",
         ABOUT("1101", "0010", WRITE("1f5a0000", "00000000000000ff")), true},
        {WRITE("1f5a0000", "0000000000000100") "61",
         ABOUT("1101", "000f", WRITE("1f5a0000", "0000000000000100")), true},
        {WRITE("1f5a0002", "0000000000200000") "61", "", false},
        {WRITE("1f5a0002", "000000000020003f") "61", "", false},
        {WRITE("1f5a0002", "0000000000200040") "61",
         ABOUT("1101", "000f", WRITE("1f5a0002", "0000000000200040")), true},
        {WRITE("1f5a0002", "00000000001fffff") "61",
         ABOUT("1101", "000f", WRITE("1f5a0002", "00000000001fffff")), true},
        {WRITE("1f5a0000", "ffffffffffffffff") "61",
         ABOUT("1103", "000f", WRITE("1f5a0000", "ffffffffffffffff")), true},
        {WRITE("1f5a0000", "fffffffffffffffe") "61",
         ABOUT("1101", "000f", WRITE("1f5a0000", "fffffffffffffffe")), true},
        {WRITE("1f5a0001", "0000000000100000") "61", /* not to be written */
         ABOUT("1100", "000f", WRITE("1f5a0001", "0000000000100000")), true},
        {WRITE("1f5a0003", "0000000000300000") "61",
         ABOUT("1100", "000f", WRITE("1f5a0003", "0000000000300000")), true},
        {WRITE("1f5a0004", "0000000000000000") "61",
         ABOUT("1100", "000f", WRITE("1f5a0004", "0000000000000000")), true},
        {WRITE("00000000", "ffffffffffffffff"), "", false}, /* without octets, anywhere */
        {"8140 1f5a0000 0000000000000000 61/" WRITE("1f5a0000", "0000000000000001") "62", "",
         false},
    };
    PLAY(list);
    scene_started(NULL);
    scene_segments(WRITE("1f5a0002", "0000000000200001") "616263");
    assert_memory_equal(scene->regions[2].data, "\0abc\0", 5);
    scene_segments(WRITE("1f5a0000", "00000000000000fe") "6465");
    assert_memory_equal(scene->regions[0].data + 253, "\0de", 3);
}

/* ---- the first FPDU after A ---- */

static void firsts(void **state)
{
    (void)state;
    /* The empty forms, and near misses. */
    static const char *const forms[] = {
        U("4143", "0", "1", "0000"), WRITE("00000000", "0000000000000000"),
        U("4141", "1", "1", "0000") "00000005 0000000000000000 00000000 00000000 0000000000000000"};
    static const char *const misses[] = {
        U("4143", "0", "1", "0000") "61",
        U("0143", "0", "1", "0000"),
        U("4145", "0", "1", "0000"),
        WRITE("1f5a0000", "0000000000000000") "61",
        "814000000000 0000000000000000",
        "c14200000000 0000000000000000",
        U("4141", "1", "1", "0000") "00000005 0000000000000000 00000001 1f5a0000 0000000000000000",
        U("4141", "1", "1", "0000") "00000005 0000000000000000 00000000 00000000 00000000000000",
        U("414a", "1", "1", "0000") "00000005 0000000000000000 00000000 00000000 0000000000000000",
        U("0141", "1", "1", "0000") "00000005 0000000000000000 00000000 00000000 0000000000000000",
        U("4141", "1", "1", "0000"),
        U("4147", "3", "1", "0000"),
        U("4147", "0", "1", "0000"),
    };
    for (unsigned rtr = 1; rtr < 8; rtr++) {
        for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
            scene_started("80018001");
            scene->rtr = (uint8_t)rtr;
            scene_segments(forms[i]);
            const bool may = (rtr >> i & 1) != 0;
            assert_string_equal(scene_sent_segments(), !may     ? SCENE_TERMINATE("20070000")
                                                       : i == 2 ? "c142000000050000000000000000"
                                                                : "");
            assert_int_equal(scene->state, may ? RANGE_FULL : RANGE_DRAINING);
            assert_false(scene->first);
        }
    }
    for (unsigned i = 0; i < sizeof(misses) / sizeof(misses[0]); i++) {
        scene_started("c001c001");
        scene_segments(misses[i]);
        assert_string_equal(scene_sent_segments(), SCENE_TERMINATE("20070000"));
    }
    /* A Terminate is no miss; a wrong version is said first; the second may be anything. */
    scene_started("c001c001");
    scene_segments(U("4147", "2", "1", "0000"));
    assert_string_equal(scene_sent_segments(), "");
    scene_started("c001c001");
    scene_segments(U("4047", "0", "1", "0000"));
    assert_string_equal(scene_sent_segments(), ABOUT("1206", "0012", U("4047", "0", "1", "0000")));
    scene_started("c001c001");
    scene_segments(U("4143", "0", "1", "0000") "/" U("4143", "0", "2", "0000") "61");
    assert_string_equal(scene_sent_segments(), "");
}

/* ---- FPDUs ---- */

#define FPDU "0012 4143 0000 0000 0000 0000 0000 0001 0000 0000"

static void fpdus(void **state)
{
    (void)state;
    static const uint8_t whole[] = {0x00, 0x12, 0x41, 0x43, 0, 0, 0, 0, 0,    0,    0,    0,
                                    0,    0,    0,    1,    0, 0, 0, 0, 0x58, 0x7b, 0xe8, 0xc4};
    scene_started(NULL);
    for (size_t i = 0; i < sizeof(whole); i++) {
        assert_int_equal(scene->send_msn, 1);
        range_conn_take(scene, whole + i, 1, SCENE_NOW);
    }
    assert_int_equal(scene->send_msn, 2);
    assert_int_equal(scene->in_length, 0);
    assert_string_equal(scene_sent(), "");
    for (unsigned i = 0; i < 4; i++) { /* of the CRC, least significant octet first */
        uint8_t bent[sizeof(whole)];
        memcpy(bent, whole, sizeof(whole));
        bent[20 + i] ^= 0x10;
        scene_started(NULL);
        range_conn_take(scene, bent, sizeof(bent), SCENE_NOW);
        assert_string_equal(scene_sent_segments(), SCENE_TERMINATE("20020000"));
        assert_int_equal(scene->state, RANGE_DRAINING);
        assert_int_equal(scene->deadline, SCENE_NOW + 2000);
    }
    scene_started(NULL);
    scene->crc = false;
    scene_take(FPDU "00000000");
    assert_int_equal(scene->send_msn, 2);
    scene_started(NULL);
    scene_take("0000"); /* no ULPDU is so short */
    assert_int_equal(scene->state, RANGE_DRAINING);
    assert_string_equal(scene_sent(), "");
    scene_started(NULL);
    scene_take("fd01");
    assert_int_equal(scene->state, RANGE_DRAINING);
    scene_started(NULL);
    scene_take("fd00"); /* nor longer than this */
    assert_int_equal(scene->state, RANGE_FULL);
    assert_int_equal(scene->in_length, 2);
    range_conn_take(scene, NULL, 0, SCENE_NOW); /* cut: octets of an FPDU do no harm */
    assert_int_equal(scene->state, RANGE_DRAINING);
    assert_int_equal(scene->in_length, 2);
}

static void a_backlog_is_waited_for(void **state)
{
    (void)state;
    static uint8_t octets[RANGE_BACKLOG + 1];
    scene_started(NULL);
    range_conn_queue(scene, octets, sizeof(octets));
    scene_segments(U("4143", "0", "1", "0000"));
    assert_int_equal(scene->send_msn, 1);
    assert_int_equal(scene->in_length, 24);
    scene->out_length--;
    range_conn_resume(scene, SCENE_NOW);
    assert_int_equal(scene->send_msn, 2);
    assert_int_equal(scene->in_length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(queues, scene_tear_down),
        cmocka_unit_test_teardown(versions_and_lengths, scene_tear_down),
        cmocka_unit_test_teardown(opcodes, scene_tear_down),
        cmocka_unit_test_teardown(segments_make_a_message, scene_tear_down),
        cmocka_unit_test_teardown(segments_of_a_message_are_alike, scene_tear_down),
        cmocka_unit_test_teardown(regions_are_invalidated, scene_tear_down),
        cmocka_unit_test_teardown(immediate_data, scene_tear_down),
        cmocka_unit_test_teardown(terminates, scene_tear_down),
        cmocka_unit_test_teardown(writes, scene_tear_down),
        cmocka_unit_test_teardown(firsts, scene_tear_down),
        cmocka_unit_test_teardown(fpdus, scene_tear_down),
        cmocka_unit_test_teardown(a_backlog_is_waited_for, scene_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
