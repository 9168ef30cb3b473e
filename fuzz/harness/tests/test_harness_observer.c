/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the observer: what it feeds it. */
#include "fake_observer.h"

static int start(void **state)
{
    (void)state;
    iw_fuzz_harness.start();
    return 0;
}

#define RUNS(hex, said, notes)                                                                     \
    do {                                                                                           \
        fake.runs = 0;                                                                             \
        spy_run(&iw_fuzz_harness, hex, said, notes);                                               \
    } while (0)

static void settings_make_the_observer(void **state)
{
    (void)state;
    fake_reset();
    RUNS("00000000", "",
         "observer extensions\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "flush\n"
         "drop\n");
    RUNS("00010000", "",
         "observer\n"
         "flush\n"
         "drop\n"
         "observer\n"
         "flush\n"
         "drop\n");
    RUNS("00020000", "",
         "observer defaults extensions\n"
         "flush\n"
         "drop\n"
         "observer defaults extensions\n"
         "flush\n"
         "drop\n");
    RUNS("00040000", "",
         "observer extensions emss 1460\n"
         "flush\n"
         "drop\n"); /* once: sizes of segments are judged */
    RUNS("00080000", "",
         "observer told A extensions\n"
         "flush\n"
         "drop\n"
         "observer told A extensions\n"
         "flush\n"
         "drop\n");
    RUNS("00100000", "",
         "observer told B extensions\n"
         "flush\n"
         "drop\n"
         "observer told B extensions\n"
         "flush\n"
         "drop\n");
    RUNS("00200000", "",
         "observer extensions\n"
         "assume nothing\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "assume nothing\n"
         "flush\n"
         "drop\n");
    RUNS("00200019", "",
         "observer extensions\n"
         "assume 1 2 1 0\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "assume 1 2 1 0\n"
         "flush\n"
         "drop\n");
    RUNS("20200046", "",
         "observer extensions\n"
         "assume 2 1 0 1\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "assume 2 1 0 1\n"
         "flush\n"
         "drop\n");
    RUNS("002000ff", "",
         "observer extensions\n"
         "assume 0 0 0 0\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "assume 0 0 0 0\n"
         "flush\n"
         "drop\n");
    fake.none = true;
    RUNS("00000000", "no observer", "observer extensions\n");
}

static void it_may_start_up_by_itself(void **state)
{
    (void)state;
    fake_reset();
    RUNS("20000000 000100 41 010100 42", "",
         "observer extensions\n"
         "A 0: 4d504120494420526571204672616d6500010000\n"
         "B 0: 4d504120494420526570204672616d6500010000\n"
         "A 20: 41\n"
         "B 20: 42\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "A 0: 4d504120494420526571204672616d6500010000\n"
         "B 0: 4d504120494420526570204672616d6500010000\n"
         "A 20: 41\n"
         "B 20: 42\n"
         "flush\n"
         "drop\n");
    RUNS("3d100000", "",
         "observer told B extensions\n"
         "A 0: 4d504120494420526571204672616d65d0020004c004c004\n"
         "B frame 0: 4d504120494420526570204672616d6550020004c004c004\n"
         "flush\n"
         "drop\n"
         "observer told B extensions\n"
         "A 0: 4d504120494420526571204672616d65d0020004c004c004\n"
         "B frame 0: 4d504120494420526570204672616d6550020004c004c004\n"
         "flush\n"
         "drop\n");
}

static void steps_feed_the_sides(void **state)
{
    (void)state;
    fake_reset();
    fake.joined = true; /* once is enough */
    RUNS("00000000 000300 616263 010200 4142 000100 64 040400 01006566 840300 018067 050100 00"
         " 050100 01 060100 02 060100 03 070000 030000",
         "",
         "observer extensions\n"
         "A 0: 616263\n"
         "B 0: 4142\n"
         "A 3: 64\n"
         "A 5: 6566\n"
         "B 1: 67\n"
         "A fin 4: \n"
         "B fin 2: \n"
         "A reset 4: \n"
         "B reset 2: \n"
         "flush\n"
         "drop\n");
    RUNS("00180000 000300 616263 010200 4142 000100 64 800100 65 810100 43 040400 01006566"
         " 050100 00 060100 01",
         "",
         "observer told A told B extensions\n"
         "A frame 0: 616263\n"
         "B frame 0: 4142\n"
         "A segment 0: 64\n"
         "A broken 0: 65\n"
         "B broken 0: 43\n"
         "A told fin 0: \n"
         "B told reset 0: \n"
         "flush\n"
         "drop\n");
    RUNS("00080000 000300 616263 010200 4142 840300 000067", "",
         "observer told A extensions\n"
         "A frame 0: 616263\n"
         "B 0: 4142\n"
         "B 2: 67\n"
         "flush\n"
         "drop\n");
}

/* gap, acked, flush, assume; side A or B. */
static void calls_are_made(void **state)
{
    (void)state;
    fake_reset();
    RUNS("00000006 000300 616263 020600 000002000500 020600 000000000400 000100 64"
         " 020600 050103000000 020600 0a0000000000 020600 0b0000000000 020600 000100001000"
         " 010100 41",
         "",
         "observer extensions\n"
         "A 0: 616263\n"
         "A gap 5..10\n"
         "A gap 3..7\n"
         "A 7: 64\n"
         "B acked 3\n"
         "flush\n"
         "assume 2 1 0 0\n"
         "B gap 0..16\n"
         "B 16: 41\n"
         "flush\n"
         "drop\n");
}

/* Once both frames were seen the second run brings octets in another order. */
static void the_second_run_is_shuffled(void **state)
{
    (void)state;
    fake_reset();
    for (size_t run = 0; run < 2; run++) {
        fake.count[run] = 2;
        fake.sees[run][0] = (struct iw_observation){.kind = IW_OBSERVED_STARTUP};
        fake.sees[run][1] =
            (struct iw_observation){.kind = IW_OBSERVED_STARTUP, .side = IW_SIDE_RESPONDER};
    }
    RUNS("00000000 000100 41 000b00 6162636465666768696a6b 010200 4243", "",
         "observer extensions\n"
         "A 0: 41\n"
         "A 1: 6162636465666768696a6b\n"
         "B 0: 4243\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "A 0: 41\n"
         "A 7: 6768696a6b\n"
         "A 1: 616263\n"
         "A 2: 6263646566\n"
         "B 0: 4243\n"
         "B 0: \n"
         "B 0: \n"
         "flush\n"
         "drop\n");
    fake.count[0] = fake.count[1] = 1;
    RUNS("00000000 000100 41 000300 616263", "",
         "observer extensions\n"
         "A 0: 41\n"
         "A 1: 616263\n"
         "flush\n"
         "drop\n"
         "observer extensions\n"
         "A 0: 41\n"
         "A 1: 616263\n"
         "flush\n"
         "drop\n");
}

/* It is lent as many as the settings say, and must give them back. */
static void blocks_are_lent(void **state)
{
    (void)state;
    fake_reset();
    fake.joined = true;
    RUNS("00000100", "", "observer extensions\nflush\ndrop\n");
    fake.block = fake.config.lend(fake.config.context, 8);
    assert_non_null(fake.block);
    assert_null(fake.config.lend(fake.config.context, 8));
    fake.keeps = true;
    RUNS("00000000", "the observer keeps what it borrowed", "observer extensions\nflush\ndrop\n");
    fake.keeps = false;
    RUNS("00000000", "", "observer extensions\nflush\ndrop\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_make_the_observer), cmocka_unit_test(it_may_start_up_by_itself),
        cmocka_unit_test(steps_feed_the_sides),       cmocka_unit_test(calls_are_made),
        cmocka_unit_test(the_second_run_is_shuffled), cmocka_unit_test(blocks_are_lent),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
