/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of messages: which calls of the library its records become, and which wrong results
 * it notices. */
#include "messages_spy.h"

struct row {
    const char *hex;
    unsigned tags, connections;
    const char *notes;
};

static void play(const struct row *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        messages_spy_set_up(NULL);
        assert_string_equal(spy_runs(&iw_fuzz_harness, list[i].hex), "");
        assert_string_equal(spy_notes(), list[i].notes);
        assert_int_equal(world.tags, list[i].tags);
        assert_int_equal(world.count, list[i].connections);
    }
}
#define PLAY(list) play(list, sizeof(list) / sizeof((list)[0]))

/* A peer's connection, and its SYNC; one of ours that has been asked to connect. */
#define UP "00 00 00 00 40 00 01 20 00 00 00 "
#define SYNC UP "03 00 00 07 00 "
#define OURS "00 05 00 00 00 00 01 00 00 00 00 01 10 00 00 00 "
#define IS_UP                                                                                      \
    "0: event 4 status 0 69776d73010000000000000000000002000000040010000000070000\n"               \
    "0: event 9 status -1 \n"                                                                      \
    "touched 64: 01010000000000600000000000000000\n"
#define IS_SYNC                                                                                    \
    "0: event 4 status 0 69776d73010000000000000000000002000000040010000000070000\n"               \
    "0: event 9 status -1 \n"                                                                      \
    "touched 64: 01010000000000600000000000000000\n"                                               \
    "0: came ok 01010000 b 0 0 0 0 0 9 1 0 0\n"
#define IS_OURS                                                                                    \
    "send 0 to 8 flags 1: 8 0 ed5eed5e00000000 is 0\n"                                             \
    "0: event 0 status -1 \n"                                                                      \
    "0: event 2 status -1 \n"

static void peers_connect(void **state)
{
    (void)state;
    static const struct row list[] = {
        {"00 00 00 00 40 02 00 01", 0, 1, /* octets that bend nothing */
         "0: event 4 status 0 69776d73010000000000000000000002000000040010000000070000\n"
         "shut, 96 flushed, 8 8 8 ticks\n"},
        {"00 00 0c 00 40 00", 0, 1,
         "0: event 4 status 0 \n"
         "shut, 0 flushed, 8 8 8 ticks\n"},
        {"00 00 09 00 52 02 21 ff", 0, 1,
         "0: event 4 status 0 69776d7301ff00000000000000000002000000050000138800070000\n"
         "shut, 96 flushed, 8 8 8 ticks\n"},
        {"00 00 09 00 52 01 21", 0, 1,
         "0: event 4 status 0 69776d73010000000000000000000002000000050000138800070000\n"
         "shut, 96 flushed, 8 8 8 ticks\n"},
        {"00 00 01 00 30 02 00 01", 0, 1,
         "0: event 4 status 0 68776d73010000000000000000000001000000030010000000070000\n"
         "shut, 0 flushed, 8 8 8 ticks\n"},
        {"00 00 00 00 40 00 00 00 00 11 00 01 20 00 00 00 01 30 01 00 00", 0, 2,
         "0: event 4 status 0 69776d73010000000000000000000002000000040010000000070000\n"
         "1: event 4 status 0 69776d73010000000000000000000003000000010010000000070000\n"
         "0: event 9 status -1 \n"
         "touched 64: 01010000000000600000000000000000\n"
         "1: event 10 status -1 \n"
         "touched 64: 01010000000000600000000000000000\n"
         "0: control flushed\n"
         "shut, 192 flushed, 8 8 8 ticks\n"},
        {"07 00 00 00 11 00 00 00 00 12 00 00 00 00 13 00 00 00 00 14 00 00 00 00 15 00 00 00 00 "
         "16 00 05 00 00 00 00",
         1, 8,
         "0: event 4 status 0 69776d73010000000000000000000003000000010010000000070000\n"
         "1: event 4 status 0 69776d73010000000000000000000001000000010010000000070000\n"
         "2: event 4 status 0 69776d73010000000000000000000002000000010010000000070000\n"
         "3: event 4 status 0 69776d73010000000000000000000003000000010010000000070000\n"
         "4: event 4 status 0 69776d73010000000000000000000001000000010010000000070000\n"
         "5: event 4 status 0 69776d73010000000000000000000002000000010010000000070000\n"
         "send 0 to 8 flags 1: 8 0 ed5eed5e00000000 is 0\n"
         "got kind 3 tag 0 of 8 error 113\n"
         "shut, 576 flushed, 8 8 8 ticks\n"},
        {"00 00 00 00 40 00 01 00 00 00 00 01 40 00 00 00 01 70 00 00 00", 0, 1,
         "0: event 4 status 0 69776d73010000000000000000000002000000040010000000070000\n"
         "shut, 96 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

static void ours_connect(void **state)
{
    (void)state;
    static const struct row list[] = {
        {"00 05 00 00 00 00 01 70 00 00 00", 1, 2,
         "send 0 to 8 flags 1: 8 0 ed5eed5e00000000 is 0\n"
         "0: event 1 status -1 \n"
         "got kind 3 tag 0 of 8 error 113\n"
         "shut, 0 flushed, 8 8 8 ticks\n"},
        {"00 05 00 00 00 00 01 20 00 00 00 01 00 00 00 00 01 72 00 00 00", 1, 2,
         "send 0 to 8 flags 1: 8 0 ed5eed5e00000000 is 0\n"
         "0: event 0 status -1 \n"
         "0: event 1 status -111 \n"
         "got kind 3 tag 0 of 8 error 113\n"
         "shut, 0 flushed, 8 8 8 ticks\n"},
        {OURS "01 00 00 00 00 01 70 00 00 00 01 42 00 00 00", 1, 2,
         IS_OURS "0: event 8 status -111 00\n"
                 "got kind 3 tag 0 of 8 error 113\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {OURS "01 46 00 00 00", 1, 2,
         IS_OURS "0: event 8 status -111 \n"
                 "got kind 3 tag 0 of 8 error 113\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {OURS "01 50 00 00 00", 1, 2,
         IS_OURS "0: event 7 status -1 \n"
                 "got kind 3 tag 0 of 8 error 113\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {OURS "01 60 00 00 00", 1, 2,
         IS_OURS "0: event 6 status -1 \n"
                 "got kind 3 tag 0 of 8 error 113\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {OURS "01 24 00 41 00", 1, 2,
         IS_OURS "0: event 9 status -1 \n"
                 "got kind 3 tag 0 of 8 error 113\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {OURS "01 20 00 41 00 03 00 00 05 00 04 00 00 00 00 04 00 03 00 00", 1, 2,
         IS_OURS "0: event 9 status -1 69776d73010000000000000000000003000000040010000000070000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: came ok 01010000 9 0 0 0 0 0 9 1 0 0\n"
                 "touched 72: 01030000000000610000000000000000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control ok\n"
                 "touched 72: 01030000000000610000000000000000\n"
                 "0: message ok\n"
                 "got kind 3 tag 0 of 8 error 104\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {OURS "01 20 00 41 00 03 00 00 05 00 04 01 00 00 00", 1, 2,
         IS_OURS "0: event 9 status -1 69776d73010000000000000000000003000000040010000000070000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: came ok 01010000 9 0 0 0 0 0 9 1 0 0\n"
                 "touched 72: 01030000000000610000000000000000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "touched 72: 01030000000000610000000000000000\n"
                 "0: message flushed\n"
                 "got kind 3 tag 0 of 8 error 104\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {OURS "01 31 00 41 02 00 01", 1, 2,
         IS_OURS "0: event 10 status -1 \n"
                 "got kind 3 tag 0 of 8 error 113\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

static void headers(void **state)
{
    (void)state;
    static const struct row list[] = {
        {UP "03 00 00 45 00", 0, 1,
         IS_UP "0: came ok 01010000 9 1 0 0 0 0 9 1 0 0\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 00 01 45 00", 0, 1,
         IS_UP "0: came ok 01020000 9 1 0 0 0 0 9 1 0 0\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 00 03 45 00", 0, 1,
         IS_UP
         "0: came ok 01040006 9 1 0 0 0 1 9 1 7530 0 "
         "00000000000000000000004d0000138800000000000100000000004e0000138800000000000200000000004f0"
         "000138800000000000"
         "3000000000050000013880000000000040000000000510000138800000000000500000000005200001388\n"
         "touched 64: 01010000000000600000000000000000\n"
         "0: control flushed\n"
         "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 00 04 45 00", 0, 1,
         IS_UP "0: came ok 01050000 9 1 0 0 0 1 9 1 1388 6\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 00 05 45 00", 0, 1,
         IS_UP "0: came ok 01060000 9 1 0 0 0 0 9 1 0 45 00000045000000000000004500200000\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 12 01 47 00", 0, 1,
         IS_UP "0: came ok 01020000 b 1 8e 0 0 0 9 1 0 0\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 1a 01 47 00", 0, 1,
         IS_UP "0: came ok 01020000 b 1 8e 47 8e 0 9 1 0 0\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 22 81 c0 00", 0, 1,
         IS_UP "0: came ok 01040101 4 3 180 0 0 3 9 1 1388 0 00000000000000000000004d00001388\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 32 02 00 00", 0, 1,
         IS_UP "0: came ok 01030000 4 0 0 0 0 0 9 1 10 0 ef5eed5e000000000000000000000000\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 80 03 13 00", 0, 1,
         IS_UP "0: came ok 01040004 7 0 0 0 0 1 9 2 4e20 0 "
               "00000000000000000000004d0000138800000000000100000000004e000013880000000000020000000"
               "0004f0000138800000000000"
               "300000000005000001388\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 01 02 00 02 01 07", 0, 1,
         IS_UP "0: came ok 01040000 4 0 0 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 01 02 00 01 01", 0, 1,
         IS_UP "0: came ok 01030000 4 0 0 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 01 02 00 02 50 07", 0, 1,
         IS_UP
         "0: came ok 01030000 4 0 700000000000000 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
         "touched 64: 01010000000000600000000000000000\n"
         "0: control flushed\n"
         "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 01 03 01 02 45 ff", 0, 1,
         IS_UP "0: came ok 01040002 5 0 0 0 0 1 9 1 2710 0 "
               "0000000000ff00000000004d0000138800000000000100000000004e00001388\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

static void raw_ones(void **state)
{
    (void)state;
    static const struct row list[] = {
        {UP "02 00 00 00 03 616263", 0, 1,
         IS_UP "0: came ok 616263\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "02 00 00 00 42 "
            "01010000000000000000000000000000000000000000000000000000000000000000000000000000000000"
            "000000000000000000000000000000000000000000ffff",
         0, 1,
         IS_UP "0: came ok 01010000 0 0 0 0 0 0 0 0 0 0 00ff\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "02 00 00 00 00", 0, 1,
         IS_UP "0: came ok\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "02 00 00 00 ff 6162", 0, 1,
         IS_UP "0: came ok 6162\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

static void messages_come(void **state)
{
    (void)state;
    static const struct row list[] = {
        {SYNC "03 00 02 00 00 06 00 00 00 00", 0, 1,
         IS_SYNC "0: came ok 01030000 b 0 0 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
                 "got kind 1 tag 0 of 16 error 0\n"
                 "touched 16: ef5eed5e000000000100000000000000\n"
                 "freed\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {SYNC "03 00 02 00 00 06 01 00 00 00", 0, 1,
         IS_SYNC "0: came ok 01030000 b 0 0 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
                 "got kind 1 tag 0 of 16 error 0\n"
                 "touched 16: ef5eed5e000000000100000000000000\n"
                 "returned\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {SYNC "03 00 02 00 00 03 10 02 00 00 06 00 01 00 00", 0, 1,
         IS_SYNC "0: came ok 01030000 b 0 0 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
                 "0: came ok 01030000 b 0 0 0 0 3 9 1 10 0 ef5eed5e000000000300000000000000\n"
                 "got kind 1 tag 0 of 16 error 0\n"
                 "touched 16: ef5eed5e000000000100000000000000\n"
                 "freed\n"
                 "got kind 1 tag 0 of 16 error 0\n"
                 "touched 16: ef5eed5e000000000300000000000000\n"
                 "freed\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {SYNC "03 80 02 00 00", 0, 1,
         IS_SYNC "0: came ok 01030000 b 0 0 0 0 1 9 2 10 0 ef5eed5e000000000100000000000000\n"
                 "touched 64: 01020000000000620000000000000001\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "touched 64: 01020000000000620000000000000001\n"
                 "0: control flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {SYNC "01 30 00 00 00 03 00 02 00 00 04 00 00 00 00", 0, 1,
         IS_SYNC "0: event 10 status -1 \n"
                 "0: came flushed 01030000 b 0 0 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "shut, 95 flushed, 8 8 8 ticks\n"},
        {SYNC "08 00 00 00 00 03 00 02 00 00 06 00 00 00 00", 0, 1,
         IS_SYNC "shut, 0 flushed, 0 0 0 ticks\n"
                 "0: came ok 01030000 b 0 0 0 0 1 9 1 10 0 ef5eed5e000000000100000000000000\n"
                 "got kind 1 tag 0 of 16 error 0\n"
                 "touched 16: ef5eed5e000000000100000000000000\n"
                 "freed\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {"00 00 00 00 40 00 00 00 00 11 00 01 20 00 00 00 01 20 01 00 00 0c 00 00 00 00 0c 00 02 "
         "00 00 06 00 00 00 00",
         0, 2,
         "0: event 4 status 0 69776d73010000000000000000000002000000040010000000070000\n"
         "1: event 4 status 0 69776d73010000000000000000000003000000010010000000070000\n"
         "0: event 9 status -1 \n"
         "touched 64: 01010000000000600000000000000000\n"
         "1: event 9 status -1 \n"
         "touched 64: 01010000000000600000000000000000\n"
         "1: came ok 01010000 1 0 0 0 0 0 9 1 0 0\n"
         "1: came ok 01030000 1 0 0 0 0 1 9 1 10 0 f05eed5e000000000100000000000000\n"
         "got kind 1 tag 0 of 16 error 0\n"
         "touched 16: f05eed5e000000000100000000000000\n"
         "freed\n"
         "touched 64: 01010000000000600000000000000000\n"
         "0: control flushed\n"
         "touched 64: 01010000000000600000000000000000\n"
         "1: control flushed\n"
         "shut, 192 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

static void long_ones_are_read(void **state)
{
    (void)state;
    static const struct row list[] = {
        {SYNC "03 00 03 01 00 04 00 03 00 00 06 01 00 00 00", 0, 1,
         IS_SYNC "0: came ok 01040002 c 0 0 0 0 1 9 1 2710 0 "
                 "00000000000000000000004d0000138800000000000100000000004e00001388\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control ok\n"
                 "0: read ok\n"
                 "0: read ok\n"
                 "touched 80: 01060000000000620000000000000001\n"
                 "got kind 1 tag 0 of 10000 error 0\n"
                 "touched 10000: 11111111111111111111111111111111\n"
                 "returned\n"
                 "touched 80: 01060000000000620000000000000001\n"
                 "touched 80: 01060000000000620000000000000001\n"
                 "0: control flushed\n"
                 "touched 80: 01060000000000620000000000000001\n"
                 "0: control flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {SYNC "03 00 03 01 00 04 01 00 00 00", 0, 1,
         IS_SYNC "0: came ok 01040002 c 0 0 0 0 1 9 1 2710 0 "
                 "00000000000000000000004d0000138800000000000100000000004e00001388\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "0: read flushed\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "0: read flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {SYNC "03 00 03 01 00 04 00 01 00 00", 0, 1,
         IS_SYNC "0: came ok 01040002 c 0 0 0 0 1 9 1 2710 0 "
                 "00000000000000000000004d0000138800000000000100000000004e00001388\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control ok\n"
                 "0: read ok\n"
                 "touched 5000: 00000000000000000000000000000000\n"
                 "0: read flushed\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

static void ours_are_sent(void **state)
{
    (void)state;
    static const struct row list[] = {
        {SYNC "03 00 05 17 00 05 00 ff ff 00 05 00 00 00 00 04 00 09 00 00", 2, 2,
         IS_SYNC "0: came ok 01060000 12 0 0 0 0 0 9 1 0 17 00000017000000000000001700800000\n"
                 "touched 65025: ed5eed5e000000000000000000000000\n"
                 "touched 64: 01050100000000620000000000000000\n"
                 "send 0 to 8 flags 1: 5000 60025 ed5eed5e00000000 is 0\n"
                 "touched 72: 01030000000000620000000000000000\n"
                 "send 1 to 8 flags 1: 8 0 ed5eed5e01000000 is 0\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control ok\n"
                 "touched 65025: ed5eed5e000000000000000000000000\n"
                 "0: message ok\n"
                 "touched 64: 01050100000000620000000000000000\n"
                 "0: message ok\n"
                 "touched 72: 01030000000000620000000000000000\n"
                 "0: message ok\n"
                 "got kind 3 tag 0 of 65025 error 104\n"
                 "got kind 3 tag 1 of 8 error 104\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {SYNC "05 01 c8 08 00 05 01 c8 19 00 05 03 ff ff 00 05 02 c7 ff 00", 4, 2,
         IS_SYNC "send 0 to 9 flags 1: 1600 0 ed5eed5e00000000 is 0\n"
                 "send 1 to 9 flags 1: 5000 0 ed5eed5e01000000 is 0\n"
                 "send 2 to 9 flags 5: 5000 60025 ed5eed5e02000000 is 0\n"
                 "touched 72: 01030100000000610000000000000000\n"
                 "send 3 to 8 flags 5: 8 0 ed5eed5e03000000 is 0\n"
                 "touched 64: 01010000000000600000000000000000\n"
                 "0: control flushed\n"
                 "touched 72: 01030100000000610000000000000000\n"
                 "0: message flushed\n"
                 "got kind 3 tag 0 of 1600 error 113\n"
                 "got kind 3 tag 1 of 5000 error 113\n"
                 "got kind 3 tag 2 of 65025 error 113\n"
                 "got kind 3 tag 3 of 8 error 104\n"
                 "shut, 96 flushed, 8 8 8 ticks\n"},
        {UP "03 00 00 04 00 05 00 00 00 00 03 30 00 04 00", 1, 2,
         IS_UP "0: came ok 01010000 8 0 0 0 0 0 9 1 0 0\n"
               "touched 72: 01030000000000610000000000000000\n"
               "send 0 to 8 flags 1: 8 0 ed5eed5e00000000 is 0\n"
               "0: came ok 01010000 c 0 0 0 0 fffffffffffffffe 9 1 0 0\n"
               "touched 64: 01010000000000600000000000000000\n"
               "0: control flushed\n"
               "touched 72: 01030000000000610000000000000000\n"
               "0: message flushed\n"
               "got kind 3 tag 0 of 8 error 104\n"
               "shut, 96 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

static void time_goes_by(void **state)
{
    (void)state;
    static const struct row list[] = {
        {"00 07 00 03 01 00 07 00 01 10 00 07 00 01 0f 00", 0, 0,
         "routes 6 peers 6 links 6\n"
         "routes 7 peers 7 links 7\n"
         "routes 32775 peers 32775 links 32775\n"
         "shut, 0 flushed, 8 8 8 ticks\n"},
        {"08 05 00 00 00 00 07 00 c8 02 00", 1, 1,
         "8388608 may be locked\n"
         "send 0 to 8 flags 1: 8 0 ed5eed5e00000000 is 0\n"
         "routes 800 peers 800 links 800\n"
         "got kind 3 tag 0 of 8 error 113\n"
         "shut, 0 flushed, 8 8 8 ticks\n"},
    };
    PLAY(list);
}

/* ---- wrong results ---- */

#define SEND "05 00 00 00 00 "
#define TAKE "06 00 05 00 00 "
#define TAKE_ONE "06 00 00 00 00 "

static void expect_given(const struct messages_given *list, unsigned count, const char *hex,
                         const char *said)
{
    messages_spy_set_up(NULL);
    memcpy(messages_given, list, count * sizeof(list[0]));
    messages_given_count = count;
    assert_string_equal(messages_fault(hex), said);
}

static void fates(void **state)
{
    (void)state;
    static const char two[] = "messages: two fates of one";
    const struct messages_given again[] = {{IW_MESSAGES_UNDELIVERED, 0, 0, 0, 8},
                                           {IW_MESSAGES_UNDELIVERED, 0, 0, 0, 8}};
    expect_given(again, 2, "00 " SEND TAKE, two);
    const struct messages_given none[] = {{IW_MESSAGES_UNDELIVERED, 1, 0, 0, 8}};
    expect_given(none, 1, "00 " SEND TAKE, two);
    expect_given(none, 1, "00 " SEND SEND TAKE, two); /* at the end, when it gets its own */
    const struct messages_given delivered[] = {{IW_MESSAGES_DELIVERED, 0, 0, 0, 8}};
    expect_given(delivered, 1, "00 " SEND TAKE, "messages: delivered and never sent");
    const struct messages_given longer[] = {{IW_MESSAGES_DELIVERED, 0, 0, 0, 9}};
    expect_given(longer, 1, "00 " SEND TAKE, two); /* only those with a stamp are followed */
}

static void orders(void **state)
{
    (void)state;
    static const struct {
        uint64_t stamps[2], numbers[2];
        size_t length;
        const char *said;
    } list[] = {{{1, 1}, {1, 2}, 16, ""},
                {{1, 1}, {2, 2}, 16, "messages: number 2 comes after 2"},
                {{3, 3}, {3, 2}, 16, "messages: number 2 comes after 3"},
                {{2, 2}, {0, 1}, 16, "messages: number 0 comes after 0"},
                {{1, 2}, {2, 2}, 16, ""},
                {{0, 0}, {2, 2}, 16, ""}, /* of nobody */
                {{4, 4}, {2, 2}, 16, ""},
                {{1, 1}, {2, 2}, 15, ""},
                {{1, 1}, {2, 2}, 17, ""}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct messages_given two[2];
        for (unsigned k = 0; k < 2; k++)
            two[k] = (struct messages_given){IW_MESSAGES_MESSAGE, 0, STAMP + list[i].stamps[k],
                                             list[i].numbers[k], list[i].length};
        expect_given(two, 2, "00 " TAKE, list[i].said);
    }
    /* Time lets a process be forgotten that is not connected; then it may begin anew. */
    const struct messages_given same[] = {{IW_MESSAGES_MESSAGE, 0, STAMP + 2, 1, 16},
                                          {IW_MESSAGES_MESSAGE, 0, STAMP + 2, 1, 16}};
    expect_given(same, 2, "00 " TAKE_ONE "07 00 01 00 00 " TAKE_ONE, "");
    expect_given(same, 2, SYNC TAKE_ONE "07 00 01 00 00 " TAKE_ONE,
                 "messages: number 1 comes after 1");
    expect_given(same, 2, "00 " TAKE_ONE TAKE_ONE, "messages: number 1 comes after 1");
}

static void what_stays(void **state)
{
    (void)state;
    messages_spy_set_up(NULL);
    messages_lie = MESSAGES_KEEPS_LINKS;
    assert_string_equal(messages_fault("00"), "");
    assert_string_equal(messages_fault(UP), "messages: a connection stays");
    messages_lie = MESSAGES_KEEPS_OPEN;
    assert_string_equal(messages_fault("00"), "messages: 7 have no fate");
    static const char a_long_one[] = SYNC "03 00 03 01 00 04 00 03 00 00 06 01 00 00 00";
    messages_lie = MESSAGES_KEEPS_BUFFER;
    assert_string_equal(messages_fault("00"), "");
    assert_string_equal(messages_fault(a_long_one), "messages: a buffer of 16384 is lost");
    messages_lie = MESSAGES_KEEPS_OFFER;
    assert_string_equal(messages_fault(a_long_one), "messages: a buffer of 16384 is lost");
    messages_lie = MESSAGES_KEEPS_REGION;
    assert_string_equal(messages_fault("00"), "messages: 1 regions stay registered");
    messages_lie = MESSAGES_NO_LIE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_connect), cmocka_unit_test(ours_connect),
        cmocka_unit_test(headers),       cmocka_unit_test(raw_ones),
        cmocka_unit_test(messages_come), cmocka_unit_test(long_ones_are_read),
        cmocka_unit_test(ours_are_sent), cmocka_unit_test(time_goes_by),
        cmocka_unit_test(fates),         cmocka_unit_test(orders),
        cmocka_unit_test(what_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
