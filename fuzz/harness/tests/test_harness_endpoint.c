/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of one endpoint, in both of its roles: what it passes to whom. */
#include "fake_station.h"
#include "spy.h"

#define REQUEST "4d504120494420526571204672616d6540010000"
#define REPLY "4d504120494420526570204672616d6500010000"

static bool initiator; /* the endpoint is */

static int start(void **state)
{
    (void)state;
    initiator = strcmp(iw_fuzz_harness.name, "endpoint-initiator") == 0;
    iw_fuzz_harness.start();
    spy_noted(initiator ? "0 is the endpoint, initiator\n" : "0 is the endpoint, responder\n");
    fake.station[0]->now = 5;
    return 0;
}

/* Runs it, with the notes of either role. */
static void runs(const char *hex, const char *as_initiator, const char *as_responder)
{
    spy_run(&iw_fuzz_harness, hex, "", initiator ? as_initiator : as_responder);
}

static void steps_go_to_the_station_and_the_witness(void **state)
{
    (void)state;
    fake_reset();
    fake.edge[0] = 100;
    fake.output[0] = "6f6f";
    fake.ends[0] = true;
    runs("01020304 000300 616263 010200 4142 000000 021000 0601020304050607 8b00000000000000"
         " 030200 0300 040400 02006566 040200 0200 040300 028067 050100 00 060100 00 070000",
         "0 open 01020304\n"
         "witness 0 -\n"
         "0 create markers in place\n"
         "0 input 616263\n"
         "B 0: 616263\n"
         "agree B\n"
         "0 settle\n"
         "0 input 41\n"
         "B 3: 41\n"
         "agree B\n"
         "0 input 42\n"
         "B 4: 42\n"
         "agree B\n"
         "0 settle\n"
         "0 settle\n"
         "0 operation 6 1 2 3 1284 1798\n"
         "0 operation 11 0 0 0 0 0\n"
         "0 settle\n"
         "0 time 3\n"
         "0 settle\n"
         "0 input at 102 6566 blind\n"
         "B at 102: 6566\n"
         "agree B\n"
         "0 settle blind\n"
         "0 settle blind\n"
         "0 input at 98 67 blind\n"
         "B at 98: 67\n"
         "agree B\n"
         "0 settle blind\n"
         "0 fin blind\n"
         "B 100 fin\n"
         "agree B\n"
         "0 settle blind\n"
         "0 lost blind\n"
         "B 100 reset\n"
         "agree B\n"
         "0 settle blind\n"
         "0 settle blind\n"
         "0 close blind\n"
         "witness closes\n",
         "0 open 01020304\n"
         "witness - 0\n"
         "0 create markers in place\n"
         "0 input 616263\n"
         "A 0: 616263\n"
         "agree A\n"
         "0 settle\n"
         "0 input 41\n"
         "A 3: 41\n"
         "agree A\n"
         "0 input 42\n"
         "A 4: 42\n"
         "agree A\n"
         "0 settle\n"
         "0 settle\n"
         "0 operation 6 1 2 3 1284 1798\n"
         "0 operation 11 0 0 0 0 0\n"
         "0 settle\n"
         "0 time 3\n"
         "0 settle\n"
         "0 input at 102 6566 blind\n"
         "A at 102: 6566\n"
         "agree A\n"
         "0 settle blind\n"
         "0 settle blind\n"
         "0 input at 98 67 blind\n"
         "A at 98: 67\n"
         "agree A\n"
         "0 settle blind\n"
         "0 fin blind\n"
         "A 100 fin\n"
         "agree A\n"
         "0 settle blind\n"
         "0 lost blind\n"
         "A 100 reset\n"
         "agree A\n"
         "0 settle blind\n"
         "0 settle blind\n"
         "0 close blind\n"
         "witness closes\n");
}

/* The edge moves with every step. */
static void move_on(struct iw_station *s, const char *call)
{
    (void)s;
    if (strcmp(call, "settle") == 0)
        fake.edge[0]++;
}

static void early_octets_blind_the_model(void **state)
{
    (void)state;
    for (int early = 0; early < 3; early++) {
        fake_reset();
        fake.hook = move_on;
        fake.edge[0] = 100;
        fake.input_at = early == 2 ? -1 : 0;
        if (early == 0)
            runs("00000000 040300 000065 000100 61 060100 00",
                 "0 open 00000000\n"
                 "witness 0 -\n"
                 "0 create markers in place\n"
                 "0 input at 100 65\n"
                 "B at 100: 65\n"
                 "agree B\n"
                 "0 settle\n"
                 "0 input 61\n"
                 "B 100: 61\n"
                 "agree B\n"
                 "0 settle\n"
                 "0 lost\n"
                 "B 101 reset\n"
                 "agree B\n"
                 "0 settle\n"
                 "0 close\n"
                 "witness closes\n",
                 "0 open 00000000\n"
                 "witness - 0\n"
                 "0 create markers in place\n"
                 "0 input at 100 65\n"
                 "A at 100: 65\n"
                 "agree A\n"
                 "0 settle\n"
                 "0 input 61\n"
                 "A 100: 61\n"
                 "agree A\n"
                 "0 settle\n"
                 "0 lost\n"
                 "A 101 reset\n"
                 "agree A\n"
                 "0 settle\n"
                 "0 close\n"
                 "witness closes\n");
        else if (early == 1)
            runs("00000000 040300 010065 000100 61 050100 00",
                 "0 open 00000000\n"
                 "witness 0 -\n"
                 "0 create markers in place\n"
                 "0 input at 101 65 blind\n"
                 "B at 101: 65\n"
                 "agree B\n"
                 "0 settle blind\n"
                 "0 input 61 blind\n"
                 "B 101: 61\n"
                 "agree B\n"
                 "0 settle blind\n"
                 "0 fin blind\n"
                 "B 102 fin\n"
                 "agree B\n"
                 "0 settle blind\n"
                 "0 close blind\n"
                 "witness closes\n",
                 "0 open 00000000\n"
                 "witness - 0\n"
                 "0 create markers in place\n"
                 "0 input at 101 65 blind\n"
                 "A at 101: 65\n"
                 "agree A\n"
                 "0 settle blind\n"
                 "0 input 61 blind\n"
                 "A 101: 61\n"
                 "agree A\n"
                 "0 settle blind\n"
                 "0 fin blind\n"
                 "A 102 fin\n"
                 "agree A\n"
                 "0 settle blind\n"
                 "0 close blind\n"
                 "witness closes\n");
        else
            runs("00000000 040300 000065 000100 61 060100 00",
                 "0 open 00000000\n"
                 "witness 0 -\n"
                 "0 create markers in place\n"
                 "0 input at 100 65\n"
                 "agree B\n"
                 "0 settle blind\n"
                 "0 input 61 blind\n"
                 "B 101: 61\n"
                 "agree B\n"
                 "0 settle blind\n"
                 "0 lost blind\n"
                 "B 102 reset\n"
                 "agree B\n"
                 "0 settle blind\n"
                 "0 close blind\n"
                 "witness closes, diverged\n",
                 "0 open 00000000\n"
                 "witness - 0\n"
                 "0 create markers in place\n"
                 "0 input at 100 65\n"
                 "agree A\n"
                 "0 settle blind\n"
                 "0 input 61 blind\n"
                 "A 101: 61\n"
                 "agree A\n"
                 "0 settle blind\n"
                 "0 lost blind\n"
                 "A 102 reset\n"
                 "agree A\n"
                 "0 settle blind\n"
                 "0 close blind\n"
                 "witness closes, diverged\n");
    }
}

static void it_may_start_up_by_itself(void **state)
{
    (void)state;
    fake_reset();
    fake.output[0] = initiator ? REQUEST : NULL;
    runs("20000000 000100 61",
         "0 open 20000000\n"
         "witness 0 -\n"
         "0 create markers in place\n"
         "peer responder\n"
         "0 output\n"
         "A 0: 4d504120494420526571204672616d6540010000\n"
         "0 input 4d504120494420526570204672616d6500010000\n"
         "B 0: 4d504120494420526570204672616d6500010000\n"
         "agree B\n"
         "0 output\n"
         "0 settle\n"
         "0 input 61\n"
         "B 20: 61\n"
         "agree B\n"
         "0 settle\n"
         "0 close\n"
         "witness closes\n",
         "0 open 20000000\n"
         "witness - 0\n"
         "0 create markers in place\n"
         "peer initiator\n"
         "0 output\n"
         "0 input 4d504120494420526571204672616d6500010000\n"
         "A 0: 4d504120494420526571204672616d6500010000\n"
         "agree A\n"
         "0 output\n"
         "0 settle\n"
         "0 input 61\n"
         "A 20: 61\n"
         "agree A\n"
         "0 settle\n"
         "0 close\n"
         "witness closes\n");
    fake_reset();
    fake.output[0] = initiator ? REQUEST : NULL;
    runs("20000100",
         "0 open 20000100\n"
         "witness 0 -\n"
         "0 create markers in place\n"
         "peer responder\n"
         "0 output\n"
         "A 0: 4d504120494420526571204672616d6540010000\n"
         "0 input 4d504120494420526570204672616d6540010000\n"
         "B 0: 4d504120494420526570204672616d6540010000\n"
         "agree B\n"
         "0 output\n"
         "0 settle\n"
         "0 close\n"
         "witness closes\n",
         "0 open 20000100\n"
         "witness - 0\n"
         "0 create markers in place\n"
         "peer initiator\n"
         "0 output\n"
         "0 input 4d504120494420526571204672616d6540010000\n"
         "A 0: 4d504120494420526571204672616d6540010000\n"
         "agree A\n"
         "0 output\n"
         "0 settle\n"
         "0 close\n"
         "witness closes\n");
    fake_reset();
    fake.output[0] = initiator ? REQUEST : NULL;
    runs("20100000",
         "0 open 20100000\n"
         "witness 0 -\n"
         "0 create markers in place\n"
         "peer responder\n"
         "0 output\n"
         "A 0: 4d504120494420526571204672616d6540010000\n"
         "0 input 4d504120494420526570204672616d6500010000\n"
         "B 0: 4d504120494420526570204672616d6500010000\n"
         "agree B\n"
         "0 output\n"
         "0 settle\n"
         "0 close\n"
         "witness closes\n",
         "0 open 20100000\n"
         "witness - 0\n"
         "0 create markers in place\n"
         "peer initiator\n"
         "0 output\n"
         "0 input 4d504120494420526571204672616d6500010000\n"
         "A 0: 4d504120494420526571204672616d6500010000\n"
         "agree A\n"
         "accept at 5\n"
         "0 output\n"
         "0 settle\n"
         "0 close\n"
         "witness closes\n");
}

/* What leaves later goes to the witness, and only there. */
static void output_goes_to_the_witness(void **state)
{
    (void)state;
    fake_reset();
    spy_forget();
    fake.station[0]->out(NULL, (const uint8_t *)"ab", 2);
    fake.station[0]->out_end(NULL, true);
    fake.station[0]->out_end(NULL, false);
    spy_noted(initiator ? "A 0: 6162\nA 2 reset\nA 2 fin\n" : "B 0: 6162\nB 2 reset\nB 2 fin\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_may_start_up_by_itself),
        cmocka_unit_test(steps_go_to_the_station_and_the_witness),
        cmocka_unit_test(early_octets_blind_the_model),
        cmocka_unit_test(output_goes_to_the_witness),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
