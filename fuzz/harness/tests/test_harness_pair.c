/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of two endpoints: what its channel does. */
#include "pair_stage.h"

#include <stdio.h>

#define RUNS(hex, said, notes) spy_run(&iw_fuzz_harness, hex, said, notes)

/* Notes of calls that come always, and are tested once, are left out. */
static const char *short_notes(void)
{
    static char kept[20000];
    static const char *const dropped[] = {"0 settle",  "1 settle",    "0 output\n", "1 output\n",
                                          "0 open",    "1 open",      "0 create",   "1 create",
                                          "witness 0", "accept at 6", "shutdown at"};
    size_t length = 0;

    for (const char *line = spy_notes(); *line != '\0';) {
        size_t size = strcspn(line, "\n") + 1;
        bool drop = false;
        for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
            drop = drop || strncmp(line, dropped[i], strlen(dropped[i])) == 0;
        if (!drop) {
            memcpy(kept + length, line, size);
            length += size;
        }
        line += size;
    }
    kept[length] = '\0';
    return kept;
}

#define NOTES(hex, said, notes)                                                                    \
    do {                                                                                           \
        SAYS(hex, said);                                                                           \
        assert_string_equal(short_notes(), notes);                                                 \
    } while (0)

static void it_begins_and_ends(void **state)
{
    (void)state;
    pair_again();
    RUNS("00000000", "",
         "0 open 00000000\n"
         "1 open 00000000\n"
         "witness 0 1\n"
         "0 create in place\n"
         "1 create markers in place\n"
         "0 output\n"
         "0 settle\n"
         "1 settle\n"
         "1 output\n"
         "0 settle\n"
         "1 settle\n"
         "accept at 6\n"
         "0 output\n"
         "0 settle\n"
         "1 settle\n"
         "1 output\n"
         "0 settle\n"
         "1 settle\n"
         "shutdown at 5\n"
         "shutdown at 6\n"
         "0 output\n"
         "0 settle\n"
         "1 settle\n"
         "1 output\n"
         "0 settle\n"
         "1 settle\n"
         "0 close\n"
         "1 close\n"
         "witness closes\n");
    RUNS("24010203", "",
         "0 open 24010203\n"
         "1 open 24010203\n"
         "witness 0 1\n"
         "0 create markers in place\n"
         "1 create markers in place\n"
         "0 output\n"
         "0 settle\n"
         "1 settle\n"
         "1 output\n"
         "0 settle\n"
         "1 settle\n"
         "0 output\n"
         "0 settle\n"
         "1 settle\n"
         "1 output\n"
         "0 settle\n"
         "1 settle\n"
         "accept at 6\n"
         "0 output\n"
         "0 settle\n"
         "1 settle\n"
         "1 output\n"
         "0 settle\n"
         "1 settle\n"
         "shutdown at 5\n"
         "shutdown at 6\n"
         "0 output\n"
         "0 settle\n"
         "1 settle\n"
         "1 output\n"
         "0 settle\n"
         "1 settle\n"
         "0 close\n"
         "1 close\n"
         "witness closes\n");
}

static void octets_arrive(void **state)
{
    (void)state;
    pair_again();
    fake.output[0] = "616263646566";
    NOTES("20000000", "",
          "1 input 616263646566\n"
          "A 0: 616263646566\n"
          "agree A\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    pair_again();
    fake.output[0] = "616263646566";
    fake.output[1] = "4142";
    /* They leave at the second settling, and are in the channel then. */
    NOTES("00000000 030000", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 616263646566\n"
          "A 0: 616263646566\n"
          "agree A\n"
          "0 input 4142\n"
          "B 0: 4142\n"
          "agree B\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
}

/* Octets enter the channel as if the stations sent them. */
static void send(struct iw_station *s, const char *hex)
{
    static uint8_t octets[1 << 17];

    s->out(s->context, octets, spy_octets(octets, hex));
}

static const char *sending[2]; /* by each station, before the first step */
static bool fin[2], reset[2];

static void send_first(struct iw_station *s, const char *call)
{
    size_t n = s == responder;

    pair_close_both(s, call);
    if (strcmp(call, "time") != 0)
        return;
    if (sending[n] != NULL)
        send(s, sending[n]);
    if (fin[n])
        s->out_end(s->context, reset[n]);
    sending[n] = NULL;
    fin[n] = false;
}

static void set_sending(const char *first, const char *second)
{
    pair_again();
    fake.hook = send_first;
    sending[0] = first;
    sending[1] = second;
    fin[0] = fin[1] = reset[0] = reset[1] = false;
}

#define FIRST "00000000 030000 "

static void steps_deliver_them(void **state)
{
    (void)state;
    set_sending("616263646566", "4142");
    NOTES(FIRST "000200 0200 010000 000200 ff00", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 6162\n"
          "A 0: 6162\n"
          "agree A\n"
          "0 input 4142\n"
          "B 0: 4142\n"
          "agree B\n"
          "1 input 63646566\n"
          "A 2: 63646566\n"
          "agree A\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("616263646566", NULL);
    NOTES(FIRST "000200 0600", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 616263646566\n"
          "A 0: 616263646566\n"
          "agree A\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("616263646566", NULL);
    NOTES(FIRST "000200 0700", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 616263646566\n"
          "A 0: 616263646566\n"
          "agree A\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending(NULL, "414243");
    NOTES(FIRST "000000 010200 0100 000100 01", "",
          "0 time 0\n"
          "1 time 0\n"
          "0 input 41\n"
          "B 0: 41\n"
          "agree B\n"
          "0 input 4243\n"
          "B 1: 4243\n"
          "agree B\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("616263", NULL); /* what is blind may have some of it */
    responder->blind = true;
    NOTES(FIRST "040400 01000100 000000", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input at 1 62 blind\n"
          "A at 1: 62\n"
          "1 input at 0 616263 blind\n"
          "A 0: 616263\n"
          "agree A\n"
          "1 output blind\n"
          "1 output blind\n"
          "1 output blind\n"
          "0 close\n"
          "1 close blind\n"
          "witness closes\n");
}

static void octets_are_changed(void **state)
{
    (void)state;
    set_sending("616263646566", "4142");
    NOTES(FIRST "000800 0400 010001 050002", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 61656364\n"
          "A 0: 61656364\n"
          "1 input 6566\n"
          "A 4: 6566\n"
          "0 input 4142\n"
          "B 0: 4142\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n"); /* offset 5 modulo 4 */
    assert_true(fake.witness->forged[0]);
    assert_false(fake.witness->forged[1]);
    set_sending("616263646566", "4142");
    NOTES(FIRST "000700 0400 010000 0200", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 61626364\n"
          "A 0: 61626364\n"
          "agree A\n"
          "1 input 6566\n"
          "A 4: 6566\n"
          "agree A\n"
          "0 input 4142\n"
          "B 0: 4142\n"
          "agree B\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    assert_false(fake.witness->forged[0]);
    set_sending("616263646566", "4142");
    NOTES(FIRST "010500 0000 0100ff", "",
          "0 time 0\n"
          "1 time 0\n"
          "0 input 4141\n"
          "B 0: 4141\n"
          "1 input 616263646566\n"
          "A 0: 616263646566\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending(NULL, "4142");
    NOTES(FIRST "000500 0000 0100ff", "",
          "0 time 0\n"
          "1 time 0\n"
          "0 input 4142\n"
          "B 0: 4142\n"
          "agree B\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("616263", NULL); /* the other side has nothing in flight */
    NOTES(FIRST "000500 0000 010001", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 616363\n"
          "A 0: 616363\n"
          "agree A\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
}

#define FRAME "4d504120494420526571204672616d6540010000"

/* Of a start-up frame the sender still acts on what it said. */
static void changed_frames_blind_the_sender(void **state)
{
    (void)state;
    for (unsigned at = 15; at < 19; at++) {
        char hex[60];
        bool blind = false;
        set_sending(FRAME, NULL);
        snprintf(hex, sizeof(hex), FIRST "000500 0000 %02x0001", at);
        SAYS(hex, "");
        blind = strstr(spy_notes(), "0 close blind\n") != NULL;
        assert_int_equal(blind, at == 16 || at == 17);
        assert_null(strstr(spy_notes(), "1 close blind\n"));
    }
    set_sending(FRAME "6162", NULL); /* counted from the first octet of all */
    SAYS(FIRST "000200 0400 000500 0000 0c0001", "");
    assert_non_null(strstr(spy_notes(), "0 close blind\n"));
}

static void octets_come_early(void **state)
{
    (void)state;
    set_sending("616263646566", NULL);
    NOTES(FIRST "040400 02000300 000200 0300 040400 02000900 000000", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input at 2 636465 blind\n"
          "A at 2: 636465\n"
          "1 input at 0 616263 blind\n"
          "A 0: 616263\n"
          "agree A\n"
          "1 input at 5 66 blind\n"
          "A at 5: 66\n"
          "1 input at 3 646566 blind\n"
          "A 3: 646566\n"
          "agree A\n"
          "1 output blind\n"
          "1 output blind\n"
          "1 output blind\n"
          "0 close\n"
          "1 close blind\n"
          "witness closes\n");
    set_sending("616263646566", NULL); /* none of these */
    NOTES(FIRST "000200 0200 040400 01800100 040400 04000100", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 6162\n"
          "A 0: 6162\n"
          "agree A\n"
          "1 input 63646566\n"
          "A 2: 63646566\n"
          "agree A\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("616263646566", NULL);
    NOTES(FIRST "000200 0200 040400 00000100 040400 03000100", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 6162\n"
          "A 0: 6162\n"
          "agree A\n"
          "1 input at 2 63 blind\n"
          "A at 2: 63\n"
          "1 input at 5 66 blind\n"
          "A at 5: 66\n"
          "1 input at 2 63646566 blind\n"
          "A 2: 63646566\n"
          "agree A\n"
          "1 output blind\n"
          "1 output blind\n"
          "1 output blind\n"
          "1 output blind\n"
          "0 close\n"
          "1 close blind\n"
          "witness closes\n");
    set_sending("616263646566", "4142");
    NOTES(FIRST "840400 01000900", "",
          "0 time 0\n"
          "1 time 0\n"
          "0 input at 1 42 blind\n"
          "B at 1: 42\n"
          "0 output blind\n"
          "1 input 616263646566\n"
          "A 0: 616263646566\n"
          "agree A\n"
          "0 input at 0 4142 blind\n"
          "B 0: 4142\n"
          "agree B\n"
          "0 output blind\n"
          "0 output blind\n"
          "0 output blind\n"
          "0 close blind\n"
          "1 close\n"
          "witness closes\n");
    set_sending("616263646566", NULL);
    fake.input_at = -1;
    NOTES(FIRST "040400 01000100", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input at 1 62 blind\n"
          "1 input at 0 616263646566 blind\n"
          "A 0: 616263646566\n"
          "agree A\n"
          "1 output blind\n"
          "1 output blind\n"
          "1 output blind\n"
          "1 output blind\n"
          "0 close\n"
          "1 close blind\n"
          "witness closes, diverged\n");
}

static void ends_arrive(void **state)
{
    (void)state;
    set_sending("6162", NULL);
    fin[0] = true;
    NOTES(FIRST "000200 0200 030000", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 6162\n"
          "A 0: 6162\n"
          "agree A\n"
          "1 fin\n"
          "A 2 fin\n"
          "0 time 0\n"
          "1 time 0\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("6162", NULL);
    fin[0] = reset[0] = true;
    NOTES(FIRST "000200 0200 030000", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 6162\n"
          "A 0: 6162\n"
          "agree A\n"
          "1 lost\n"
          "A 2 reset\n"
          "0 time 0\n"
          "1 time 0\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("6162", NULL);
    fin[0] = true;
    NOTES(FIRST "000200 0100 030000", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 61\n"
          "A 0: 61\n"
          "agree A\n"
          "0 time 0\n"
          "1 time 0\n"
          "1 input 62\n"
          "A 1: 62\n"
          "agree A\n"
          "1 fin\n"
          "A 2 fin\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending("6162", "41");
    fin[0] = fin[1] = true;
    NOTES(FIRST "000200 0200 030000", "",
          "0 time 0\n"
          "1 time 0\n"
          "1 input 6162\n"
          "A 0: 6162\n"
          "agree A\n"
          "1 fin\n"
          "A 2 fin\n"
          "0 time 0\n"
          "1 time 0\n"
          "0 input 41\n"
          "B 0: 41\n"
          "agree B\n"
          "0 fin\n"
          "B 1 fin\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
    set_sending(NULL, NULL);
    fin[1] = reset[1] = true;
    NOTES(FIRST "000000 010000 030000", "",
          "0 time 0\n"
          "1 time 0\n"
          "0 lost\n"
          "B 0 reset\n"
          "0 time 0\n"
          "1 time 0\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
}

static void the_connection_may_be_lost(void **state)
{
    (void)state;
    set_sending("6162", "41");
    fin[0] = true;
    NOTES(FIRST "060000", "",
          "0 time 0\n"
          "1 time 0\n"
          "0 lost\n"
          "A 0 reset\n"
          "1 lost\n"
          "B 0 reset\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
}

static void operations_are_of_either_side(void **state)
{
    (void)state;
    pair_again();
    NOTES("00000000 021000 0601020304050607 8b00000000000000 030200 0102 050000 070000", "",
          "0 operation 6 1 2 3 1284 1798\n"
          "1 operation 11 0 0 0 0 0\n"
          "0 time 513\n"
          "1 time 513\n"
          "0 close\n"
          "1 close\n"
          "witness closes\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_and_ends),
        cmocka_unit_test(octets_arrive),
        cmocka_unit_test(steps_deliver_them),
        cmocka_unit_test(octets_are_changed),
        cmocka_unit_test(changed_frames_blind_the_sender),
        cmocka_unit_test(octets_come_early),
        cmocka_unit_test(ends_arrive),
        cmocka_unit_test(the_connection_may_be_lost),
        cmocka_unit_test(operations_are_of_either_side),
    };
    return cmocka_run_group_tests(tests, pair_start, NULL);
}
