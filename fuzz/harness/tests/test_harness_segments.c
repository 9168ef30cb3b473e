/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of two receivers: what it gives to each, and what it notices. */
#include "fake_station.h"
#include "spy.h"

#include <stdio.h>

static struct iw_station *a, *b;

static int start(void **state)
{
    (void)state;
    iw_fuzz_harness.start();
    spy_noted("0 is in order, responder\n1 is out of order, responder\n");
    a = fake.station[0];
    b = fake.station[1];
    a->now = b->now = 5;
    return 0;
}

#define RUNS(hex, said, notes) spy_run(&iw_fuzz_harness, hex, said, notes)
#define SAYS(hex, said) assert_string_equal(spy_runs(&iw_fuzz_harness, hex), said)

static void steps_go_to_both(void **state)
{
    (void)state;
    fake_reset();
    RUNS("01820304 021000 0601020304050607 8b00000000000000 030200 0300 050100 00", "",
         "0 open 01020304\n"
         "0 create markers blind\n"
         "1 open 01020304\n"
         "1 create markers early blind\n"
         "0 operation 6 1 2 3 1284 1798 blind\n"
         "1 operation 6 1 2 3 1284 1798 blind\n"
         "0 operation 11 0 0 0 0 0 blind\n"
         "1 operation 11 0 0 0 0 0 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 time 3 blind\n"
         "1 time 3 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 fin blind\n"
         "1 fin blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 close blind\n"
         "1 close blind\n");
    RUNS("00000000 060100 00 040100 00 070000", "",
         "0 open 00000000\n"
         "0 create markers blind\n"
         "1 open 00000000\n"
         "1 create markers early blind\n"
         "0 lost blind\n"
         "1 lost blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 close blind\n"
         "1 close blind\n");
    RUNS("00000000 000300 616263 010200 4142 000000 030200 0100 010100 43", "",
         "0 open 00000000\n"
         "0 create markers blind\n"
         "1 open 00000000\n"
         "1 create markers early blind\n"
         "0 input 6162634142 blind\n"
         "1 input 6162634142 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 time 1 blind\n"
         "1 time 1 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 input 43 blind\n"
         "1 input 43 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 close blind\n"
         "1 close blind\n");
}

static void it_may_start_up_by_itself(void **state)
{
    (void)state;
    fake_reset();
    RUNS("20000100 000300 616263", "",
         "0 open 20000100\n"
         "0 create markers blind\n"
         "1 open 20000100\n"
         "1 create markers early blind\n"
         "peer initiator\n"
         "0 input 4d504120494420526571204672616d6540010000 blind\n"
         "accept at 5\n"
         "0 output blind\n"
         "1 input 4d504120494420526571204672616d6540010000 blind\n"
         "accept at 5\n"
         "1 output blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 input 616263 blind\n"
         "1 input 616263 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 close blind\n"
         "1 close blind\n");
}

/* The second receiver is established: its edge moves with what it is given. */
static void follow(struct iw_station *s, const char *call)
{
    if (strcmp(call, "create") == 0)
        s->events = 1u << IW_EVENT_ESTABLISHED;
}

static uint64_t step; /* by which the edge moves with each segment */

static void move_on(struct iw_station *s, const char *call)
{
    follow(s, call);
    if (strcmp(call, "input at") == 0)
        fake.edge[1] += step;
}

static const char many[] = "00000000 001000 000102030405060708090a0b0c0d0e0f";

static void octets_are_shuffled(void **state)
{
    (void)state;
    for (step = 1; step < 6; step += 2) {
        fake_reset();
        fake.hook = move_on;
        RUNS(many, "",
             step == 1   ? "0 open 00000000\n"
                           "0 create markers blind\n"
                           "1 open 00000000\n"
                           "1 create markers early blind\n"
                           "0 input 000102030405060708090a0b0c0d0e0f blind\n"
                           "1 input at 0 00010203040506 blind\n"
                           "1 input at 6 060708090a0b0c0d0e0f blind\n"
                           "1 input at 2 0203040506 blind\n"
                           "1 input at 5 05060708090a0b0c0d blind\n"
                           "1 input at 4 0405 blind\n"
                           "1 input at 5 0506070809 blind\n"
                           "1 input at 15 0f blind\n"
                           "1 input at 15 0f blind\n"
                           "1 input at 13 0d0e blind\n"
                           "1 input at 10 0a blind\n"
                           "1 input at 14 0e blind\n"
                           "1 input at 6 06 blind\n"
                           "1 input at 13 0d blind\n"
                           "1 input at 15 0f blind\n"
                           "1 input at 14 0e0f blind\n"
                           "1 input at 15 0f blind\n"
                           "0 settle blind\n"
                           "1 settle blind\n"
                           "0 close blind\n"
                           "1 close blind\n"
             : step == 3 ? "0 open 00000000\n"
                           "0 create markers blind\n"
                           "1 open 00000000\n"
                           "1 create markers early blind\n"
                           "0 input 000102030405060708090a0b0c0d0e0f blind\n"
                           "1 input at 0 00010203040506 blind\n"
                           "1 input at 14 0e0f blind\n"
                           "1 input at 6 060708 blind\n"
                           "1 input at 13 0d0e0f blind\n"
                           "1 input at 12 0c0d blind\n"
                           "1 input at 15 0f blind\n"
                           "0 settle blind\n"
                           "1 settle blind\n"
                           "0 close blind\n"
                           "1 close blind\n"
                         : "0 open 00000000\n"
                           "0 create markers blind\n"
                           "1 open 00000000\n"
                           "1 create markers early blind\n"
                           "0 input 000102030405060708090a0b0c0d0e0f blind\n"
                           "1 input at 0 00010203040506 blind\n"
                           "1 input at 9 090a0b0c0d0e blind\n"
                           "1 input at 10 0a blind\n"
                           "1 input at 15 0f blind\n"
                           "0 settle blind\n"
                           "1 settle blind\n"
                           "0 close blind\n"
                           "1 close blind\n");
    }
    step = 8;
    fake_reset();
    fake.hook = move_on;
    RUNS("00000007 000800 0001020304050607 030000 000800 08090a0b0c0d0e0f", "",
         "0 open 00000007\n"
         "0 create markers blind\n"
         "1 open 00000007\n"
         "1 create markers early blind\n"
         "0 input 0001020304050607 blind\n"
         "1 input at 0 00010203 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 time 0 blind\n"
         "1 time 0 blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 input 08090a0b0c0d0e0f blind\n"
         "1 input at 10 0a0b blind\n"
         "0 settle blind\n"
         "1 settle blind\n"
         "0 close blind\n"
         "1 close blind\n");
}

/* Segments of more than 600 octets are rare. */
static void segments_are_short(void **state)
{
    char hex[4100];
    int at = snprintf(hex, sizeof(hex), "00000000 00d007");

    (void)state;
    for (int i = 0; i < 2000; i++)
        at += snprintf(hex + at, sizeof(hex) - (size_t)at, "%02x", i & 255);
    fake_reset();
    fake.hook = move_on;
    step = 100;
    SAYS(hex, "");
    char lengths[1000] = "";
    size_t used = 0;
    for (const char *line = spy_notes(); (line = strstr(line, "1 input at ")) != NULL; line++) {
        unsigned pos = (unsigned)strtoul(line + 11, NULL, 10);
        size_t digits = strcspn(strchr(line + 11, ' ') + 1, " ");
        used +=
            (size_t)snprintf(lengths + used, sizeof(lengths) - used, "%u+%zu ", pos, digits / 2);
    }
    assert_string_equal(
        lengths,
        "0+271 1930+20 200+253 1112+840 400+1358 500+129 607+422 1694+199 1389+173 1161+109 "
        "1394+545 1718+254 1753+241 1955+7 1442+6 1988+7 1761+65 131+249 1808+87 1941+1 ");
}

/* If that leads nowhere, all octets come at once; they must be taken. */
static void everything_comes_in_the_end(void **state)
{
    size_t calls = 0;

    (void)state;
    fake_reset();
    fake.hook = follow;
    SAYS("00000000 000200 6162", "");
    for (const char *at = spy_notes(); (at = strstr(at, "1 input at ")) != NULL; at++)
        calls++;
    assert_int_equal(calls, 201);
    assert_non_null(strstr(spy_notes(), "1 input at 0 6162 blind\n0 settle"));
    fake.input_at = -1;
    SAYS("00000000 000200 6162", "segments: octets without a gap before them are refused");
}

/* ---- what is compared ---- */

static void (*change)(void); /* done to the stations before they are compared */
static int which, by;

static void before_settling(struct iw_station *s, const char *call)
{
    if (s == a && strcmp(call, "settle") == 0)
        change();
}

/* What is said of two stations that differ by `change`. */
static const char *differing(void (*fn)(void), int number, int amount)
{
    fake_reset();
    fake.hook = before_settling;
    change = fn;
    which = number;
    by = amount;
    return spy_runs(&iw_fuzz_harness, "00000000 030000");
}

static void events_differ(void)
{
    fake.station[which]->events = 1u << IW_EVENT_REQUEST;
}

static void events_must_be_the_same(void **state)
{
    (void)state;
    assert_string_equal(differing(events_differ, 0, 0),
                        "segments: another order brings other events (0x2, 0x0)");
    assert_string_equal(differing(events_differ, 1, 0),
                        "segments: another order brings other events (0x0, 0x2)");
}

static void fault_differs(void)
{
    struct iw_fault base = {.check = IW_CHECK_MPA_CRC, .pos = 10, .got = 20, .want = 30};

    a->fault.fault = b->fault.fault = base;
    if (by >= 6)
        a->fault.fault.check = b->fault.fault.check = IW_CHECK_DDP_AFTER_CLOSE;
    struct iw_fault *f = &fake.station[which]->fault.fault;
    if (by == 1)
        f->pos++;
    if (by == 2 || by == 6)
        f->got++;
    if (by == 3 || by == 7)
        f->want++;
    if (by == 4)
        f->check = IW_CHECK_MPA_PAD;
    if (by == 8)
        f->pos++;
}

static void faults_must_be_the_same(void **state)
{
    static const char *const says[2][9] = {
        {"", "segments: another order brings mpa-crc at 10 instead of mpa-crc at 11",
         "segments: another order brings mpa-crc at 10 instead of mpa-crc at 10",
         "segments: another order brings mpa-crc at 10 instead of mpa-crc at 10",
         "segments: another order brings mpa-crc at 10 instead of mpa-pad at 10", "", "", "",
         "segments: another order brings ddp-after-close at 10 instead of ddp-after-close at 11"},
        {"", "segments: another order brings mpa-crc at 11 instead of mpa-crc at 10",
         "segments: another order brings mpa-crc at 10 instead of mpa-crc at 10",
         "segments: another order brings mpa-crc at 10 instead of mpa-crc at 10",
         "segments: another order brings mpa-pad at 10 instead of mpa-crc at 10", "", "", "",
         "segments: another order brings ddp-after-close at 11 instead of ddp-after-close at 10"}};

    (void)state;
    for (int number = 0; number < 2; number++)
        for (int amount = 0; amount < 9; amount++)
            assert_string_equal(differing(fault_differs, number, amount), says[number][amount]);
}

static void history_differs(void)
{
    fake.station[which]->history = 1;
}

static void completions_must_be_the_same(void **state)
{
    (void)state;
    for (int number = 0; number < 2; number++)
        assert_string_equal(differing(history_differs, number, 0),
                            "segments: another order brings other completions");
}

static void answer_differs(void)
{
    static const uint8_t octets[2][2] = {{1, 2}, {1, 3}};

    fake.inside[0] = by == 3 || by == 5;
    for (size_t i = 0; i < 2; i++) {
        struct iw_station *s = fake.station[i];
        bool other = (int)i == which && by > 0;
        if (by == 4)
            s->out_end(s->context, other);
        else
            s->out(s->context, octets[other && (by == 1 || by == 3)],
                   other && (by == 2 || by == 5) ? 1 : 2);
    }
    change = events_differ; /* only once */
    which = 0;
    a->events = b->events = 1u << IW_EVENT_REQUEST;
}

static void answers_must_be_the_same(void **state)
{
    (void)state;
    for (int number = 0; number < 2; number++)
        for (int amount = 0; amount < 6; amount++) {
            char expected[100] = "";
            if (amount > 0 && amount != 3)
                snprintf(expected, sizeof(expected),
                         "segments: another order brings another answer (%d octets, %d)",
                         amount == 4                                   ? 1
                         : (amount == 2 || amount == 5) && number == 0 ? 1
                                                                       : 2,
                         amount == 4                                   ? 1
                         : (amount == 2 || amount == 5) && number == 1 ? 1
                                                                       : 2);
            assert_string_equal(differing(answer_differs, number, amount), expected);
        }
}

static void memory_differs(void)
{
    a->memory.octets[by] = (uint8_t)(2 - which);
    b->memory.octets[by] = (uint8_t)(1 + which);
    if (which == 2)
        b->memory.octets[by] = a->memory.octets[by] = 1;
    fake.inside[0] = which == 3;
    if (which > 3) {
        static const enum iw_event_kind over[] = {IW_EVENT_FAULT, IW_EVENT_TERMINATED,
                                                  IW_EVENT_CLOSED, IW_EVENT_PEER_CLOSED};
        a->events = b->events = 1u << over[which - 4];
    }
}

static void memory_must_be_the_same(void **state)
{
    static const char first[] = "segments: another order leaves 0x01 in octet 0 instead of 0x02";
    static const char last[] = "segments: another order leaves 0x02 in octet 16383 instead of 0x01";

    (void)state;
    assert_string_equal(differing(memory_differs, 0, 0), first);
    assert_string_equal(differing(memory_differs, 1, 16383), last);
    assert_string_equal(differing(memory_differs, 2, 3), "");
    for (int number = 3; number < 7; number++)
        assert_string_equal(differing(memory_differs, number, 3), "");
    assert_int_not_equal(differing(memory_differs, 7, 3)[0], '\0');
}

static void end_and_differ(void)
{
    a->events = b->events = 1u << which;
    a->history++;
    if (a->history == 1)
        b->history = 1;
}

/* After the end of the connection nothing is compared. */
static void the_end_is_not_compared(void **state)
{
    (void)state;
    assert_string_equal(differing(end_and_differ, IW_EVENT_CLOSED, 0), "");
    fake_reset();
    fake.hook = before_settling;
    which = IW_EVENT_CLOSED;
    SAYS("00000000 030000 030000", "");
    fake_reset();
    fake.hook = before_settling;
    which = IW_EVENT_PEER_CLOSED;
    SAYS("00000000 030000 030000", "segments: another order brings other completions");
    fake_reset();
    fake.hook = before_settling;
    SAYS("00000000 050100 00 030000", "");
    fake_reset();
    fake.hook = before_settling;
    SAYS("00000000 060100 00 030000", "");
    fake_reset(); /* the next input is compared again */
    fake.hook = before_settling;
    SAYS("00000000 030000 030000", "segments: another order brings other completions");
}

/* ---- the trace ---- */

static void fpdus_are_traced(void **state)
{
    static const uint8_t ulpdu[20] = {0x41, 0x43, [13] = 1};
    char text[400] = "";
    FILE *real = stderr;
    struct iw_trace t = {.octets = ulpdu, .length = 20, .ulpdu_length = 30, .pos = 7};

    (void)state;
    fake_reset();
    fake.count = 0;
    setenv("IW_FUZZ_TRACE", "1", 1);
    iw_fuzz_harness.start();
    unsetenv("IW_FUZZ_TRACE");
    spy_forget();
    SAYS("00000000", "");
    assert_non_null(strstr(spy_notes(), "1 create markers early traced blind\n"));
    assert_ptr_equal(b->config.trace_context, b);
    stderr = fmemopen(text, sizeof(text), "w");
    t.kind = IW_TRACE_FPDU_IN;
    a->config.trace(a, &t);
    t.kind = IW_TRACE_FPDU_EARLY;
    b->config.trace(b, &t);
    t.kind = IW_TRACE_FPDU_OUT;
    a->config.trace(a, &t);
    t.kind = IW_TRACE_STARTUP_IN;
    a->config.trace(a, &t);
    fclose(stderr);
    stderr = real;
    assert_string_equal(text, "in order: 7 send L msn 1 mo 0 len 2 (30)\n"
                              "out of order: 7 early send L msn 1 mo 0 len 2 (30)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_go_to_both),
        cmocka_unit_test(it_may_start_up_by_itself),
        cmocka_unit_test(octets_are_shuffled),
        cmocka_unit_test(segments_are_short),
        cmocka_unit_test(everything_comes_in_the_end),
        cmocka_unit_test(events_must_be_the_same),
        cmocka_unit_test(faults_must_be_the_same),
        cmocka_unit_test(completions_must_be_the_same),
        cmocka_unit_test(answers_must_be_the_same),
        cmocka_unit_test(memory_must_be_the_same),
        cmocka_unit_test(the_end_is_not_compared),
        cmocka_unit_test(fpdus_are_traced),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
