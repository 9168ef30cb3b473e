/* SPDX-License-Identifier: BSD-3-Clause */
/* The practice range: start-up frames of both roles, and the connection around them. */
#include "range_scene.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#define REQUEST "4d504120494420526571204672616d65"
#define REPLY "4d504120494420526570204672616d65"

static int mss; /* that the socket says; 0: it does not */

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    (void)fd;
    assert_int_equal(level, IPPROTO_TCP);
    assert_int_equal(name, TCP_MAXSEG);
    assert_int_equal(*size, sizeof(mss));
    memcpy(value, &mss, sizeof(mss));
    errno = EOPNOTSUPP;
    return mss != 0 ? 0 : -1;
}

/* ---- as responder ---- */

static void requests_that_are_answered(void **state)
{
    (void)state;
    static const struct {
        const char *rest, *reply;
        unsigned rtr;
        bool markers;
    } list[] = {
        {"4001 0000", "40010000", 0, false},
        {"0001 0000", "40010000", 0, false}, /* CRCs are in force all the same */
        {"c001 0000", "40010000", 0, true},
        {"4002 0000", "40020000", 0, false}, /* no block without S */
        {"5001 0000", "40010000", 0, false}, /* nor in revision 1 */
        {"5001 0003 616263", "40010000", 0, false},
        {"4002 0004 00050003", "40020000", 0, false},
        {"5002 0004 00100010", "5002000400100010", 0, false},
        {"5002 0006 00100010 6162", "5002000400100010", 0, false},
        {"d002 0004 00050003", "5002000400100005", 0, true},
        {"5002 0004 00000000", "5002000400100000", 0, false},
        {"5002 0004 000f0000", "500200040010000f", 0, false},
        {"5002 0004 00110011", "5002000400100010", 0, false},
        {"5002 0004 3ffe3ffe", "5002000400100010", 0, false},
        /* Depths that are left to the program. */
        {"5002 0004 3fff0001", "5002000400103fff", 0, false},
        {"5002 0004 00013fff", "500200043fff0001", 0, false},
        /* Forms of the RTR: Send, Write, Read; B without A says nothing. */
        {"5002 0004 c0010001", "50020004c0100001", 1, false},
        {"5002 0004 80018001", "5002000480108001", 2, false},
        {"5002 0004 80014001", "5002000480104001", 4, false},
        {"5002 0004 c001c001", "50020004c010c001", 7, false},
        {"5002 0004 80010001", "50020004c010c001", 7, false},
        {"5002 0004 4001c001", "5002000400100001", 0, false},
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char frame[200], reply[200];
        scene_open(false);
        snprintf(frame, sizeof(frame), REQUEST "%s", list[i].rest);
        snprintf(reply, sizeof(reply), REPLY "%s", list[i].reply);
        scene_take(frame);
        assert_string_equal(scene_sent(), reply);
        assert_int_equal(scene->state, RANGE_FULL);
        assert_int_equal(scene->in_length, 0);
        assert_int_equal(scene->rtr, list[i].rtr);
        assert_int_equal(scene->markers, list[i].markers);
        assert_true(scene->crc);
        assert_true(scene->first);
        assert_int_equal(scene->out_position, 0);
    }
}

static void requests_that_are_not(void **state)
{
    (void)state;
    static const char *const list[] = {
        "00",                               /* no key begins so */
        "4d504120494420526571204672616d66", /* nor ends so */
        REPLY,
        REQUEST "4000 0000",
        REQUEST "4003 0000",
        REQUEST "40ff 0000",
        REQUEST "4001 0201",
        REQUEST "5002 0003 616263",
        REQUEST "5002 0000",
        REQUEST "4001 0000 00", /* octets that must wait for the Reply */
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        scene_open(false);
        assert_int_equal(scene->deadline, SCENE_NOW + 10000);
        scene_take(list[i]);
        assert_string_equal(scene_sent(), "");
        assert_int_equal(scene->state, RANGE_DRAINING);
        assert_int_equal(scene->deadline, SCENE_NOW + 2000);
    }
}

static void octet_by_octet(void **state)
{
    (void)state;
    static const uint8_t frame[] = "MPA ID Req Frame\x50\x02\x00\x06\x00\x01\x00\x02yz";
    for (size_t i = 0; i < sizeof(frame) - 1; i++) {
        assert_int_equal(scene->state, RANGE_STARTUP_WAIT);
        assert_int_equal(scene->out_length, 0);
        range_conn_take(scene, frame + i, 1, SCENE_NOW);
    }
    assert_int_equal(scene->state, RANGE_FULL);
    assert_memory_equal(scene->private, "\x00\x01\x00\x02yz", 6);
    assert_string_equal(scene_sent(), REPLY "5002000400100001");
}

static void private_data_is_kept(void **state)
{
    (void)state;
    uint8_t frame[20 + 512] = "MPA ID Req Frame\x40\x01\x02\x00";
    for (unsigned i = 0; i < 512; i++)
        frame[20 + i] = (uint8_t)(i + 1);
    range_conn_take(scene, frame, sizeof(frame) - 1, SCENE_NOW);
    assert_int_equal(scene->state, RANGE_STARTUP_WAIT);
    range_conn_take(scene, frame + sizeof(frame) - 1, 1, SCENE_NOW);
    assert_int_equal(scene->state, RANGE_FULL);
    assert_memory_equal(scene->private, frame + 20, 512);
}

/* ---- as initiator ---- */

#define GREETING                                                                                   \
    "4143000000000000000000000001000000006869"                                                     \
    "0000"

static void replies(void **state)
{
    (void)state;
    static const char short_of_ird[] = SCENE_TERMINATE("20060000");
    static const struct {
        const char *rest, *sent;
        enum range_state state;
    } list[] = {
        {"4001 0000", GREETING, RANGE_FULL},
        {"5002 0004 0010 0010", GREETING, RANGE_FULL},
        {"4001 0003 616263", GREETING, RANGE_FULL},
        {"5002 0004 0000 0000", GREETING, RANGE_FULL},
        {"5002 0004 0010 3fff", GREETING, RANGE_FULL}, /* left to the program */
        {"5002 0004 0010 0011", short_of_ird, RANGE_DRAINING},
        {"5002 0004 0010 3ffe", short_of_ird, RANGE_DRAINING},
        {"5002 0004 0010 c010", GREETING, RANGE_FULL}, /* 16, and two flags */
        {"4002 0004 0010 0011", GREETING, RANGE_FULL}, /* no block */
        {"5001 0004 0010 0011", GREETING, RANGE_FULL},
        {"6001 0000", "", RANGE_DRAINING}, /* R */
        {"7002 0004 0010 0011", "", RANGE_DRAINING},
        {"4003 0000", "", RANGE_DRAINING},
        {"5002 0003 616263", "", RANGE_DRAINING},
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char frame[200];
        scene_open(true);
        assert_string_equal(scene_sent(), REQUEST "5002000400100010");
        assert_int_equal(scene->out_position, 0);
        snprintf(frame, sizeof(frame), REPLY "%s", list[i].rest);
        scene_take(frame);
        assert_int_equal(scene->state, list[i].state);
        assert_string_equal(scene_sent_segments(), list[i].sent);
    }
    scene_open(true);
    scene_take(REQUEST);
    assert_int_equal(scene->state, RANGE_DRAINING);
    /* The responder's first FPDU may come with its Reply: one of ULPDU_Length 0 ends it. */
    scene_open(true);
    scene_take(REPLY "4001 0000 00000000");
    assert_int_equal(scene->state, RANGE_DRAINING);
}

/* ---- the connection ---- */

static void what_it_begins_with(void **state)
{
    (void)state;
    static const size_t lengths[] = {256, 256, 64, 4096};
    assert_int_equal(scene->state, RANGE_STARTUP_WAIT);
    assert_int_equal(scene->send_msn, 1);
    assert_int_equal(scene->request_msn, 1);
    assert_int_equal(scene->atomic_msn, 1);
    assert_int_equal(scene->out_length, 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(scene->regions[i].stag, 0x1f5a0000 + i);
        assert_int_equal(scene->regions[i].length, lengths[i]);
        assert_int_equal(scene->regions[i].writable, i == 0 || i == 2);
        assert_true(scene->regions[i].valid);
        for (size_t k = 0; k < lengths[i]; k++)
            assert_int_equal(scene->regions[i].data[k], 0);
    }
}

static void mulpdus(void **state)
{
    (void)state;
    static const struct {
        int mss;
        size_t mulpdu;
    } list[] = {{0, 1442},      {127, 1442},    {128, 128},    {138, 128},   {140, 130},
                {143, 130},     {144, 134},     {512, 502},    {513, 498},   {536, 522},
                {537, 522},     {539, 522},     {540, 526},    {8960, 8882}, {65280, 64762},
                {65284, 64766}, {65288, 64768}, {65535, 64768}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        mss = list[i].mss;
        scene_open(false);
        assert_int_equal(scene->mulpdu, list[i].mulpdu);
    }
    mss = 0;
}

static void the_end_of_the_peer(void **state)
{
    (void)state;
    assert_true(range_conn_reads(scene));
    range_conn_take(scene, NULL, 0, SCENE_NOW + 5);
    assert_int_equal(scene->state, RANGE_DRAINING);
    assert_int_equal(scene->deadline, SCENE_NOW + 2005);
    assert_true(scene->fin);
    assert_false(range_conn_reads(scene));
    range_conn_finish(scene, SCENE_NOW + 500); /* once is enough */
    assert_int_equal(scene->deadline, SCENE_NOW + 2005);
}

static void what_comes_after_the_last_octet(void **state)
{
    (void)state;
    static uint8_t octets[RANGE_CHUNK];
    range_conn_finish(scene, SCENE_NOW);
    for (unsigned i = 0; i < 4; i++) {
        range_conn_take(scene, octets, sizeof(octets), SCENE_NOW);
        assert_int_equal(scene->state, RANGE_DRAINING);
    }
    assert_int_equal(scene->drained, 1 << 18);
    assert_int_equal(scene->in_length, 0);
    range_conn_take(scene, octets, 1, SCENE_NOW);
    assert_int_equal(scene->state, RANGE_GONE);
    range_conn_finish(scene, SCENE_NOW + 7);
    assert_int_equal(scene->state, RANGE_GONE);
}

static void how_much_waits(void **state)
{
    (void)state;
    static uint8_t octets[RANGE_BACKLOG];
    for (unsigned i = 0; i < sizeof(octets); i++)
        octets[i] = (uint8_t)(i * 7);
    range_conn_queue(scene, octets, 3);
    range_conn_queue(scene, octets + 3, sizeof(octets) - 3);
    assert_int_equal(scene->out_length, RANGE_BACKLOG);
    assert_memory_equal(scene->out, octets, sizeof(octets));
    assert_true(range_conn_reads(scene));
    range_conn_queue(scene, octets, 1);
    assert_false(range_conn_reads(scene));
    scene->out_length = 0;
    scene->in_length = (1 << 16) + 16;
    assert_true(range_conn_reads(scene));
    scene->in_length++;
    assert_false(range_conn_reads(scene));
    scene->in_length = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_that_are_answered, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(requests_that_are_not, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(octet_by_octet, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(private_data_is_kept, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(replies, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(what_it_begins_with, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(mulpdus, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_the_peer, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(what_comes_after_the_last_octet, scene_set_up,
                                        scene_tear_down),
        cmocka_unit_test_setup_teardown(how_much_waits, scene_set_up, scene_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
