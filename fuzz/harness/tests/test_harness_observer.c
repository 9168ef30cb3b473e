/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the observer: what it feeds it, and what it notices. */
#include "spy.h"

#include <stdio.h>

#include "iwarp/observer.h"

/* ---- an observer that sees what the test says ---- */

static struct {
    struct iw_observer_config config;
    struct iw_observation sees[2][4]; /* in each of the two runs, at the first call */
    size_t count[2];
    size_t runs;
    bool none, joined, keeps; /* keeps: a block that it borrowed */
    bool begun;
    void *block;
} fake;

size_t iw_observer_size(void)
{
    return 24;
}

size_t iw_observer_scratch_size(void)
{
    return 32;
}

struct iw_observer *iw_observer_init(void *memory, size_t size,
                                     const struct iw_observer_config *config)
{
    assert_int_equal(size, 24);
    memset(memory, 1, size);
    memset(config->scratch, 1, 32);
    fake.config = *config;
    fake.runs++;
    fake.begun = false;
    spy_note("observer%s%s%s%s", config->told[0] ? " told A" : "", config->told[1] ? " told B" : "",
             config->default_config ? " defaults" : "", config->extensions ? " extensions" : "");
    spy_note(config->emss != 0 ? " emss %u\n" : "\n", config->emss);
    return fake.none ? NULL : memory;
}

static void see(void)
{
    size_t run = fake.runs - 1;

    for (size_t i = 0; i < fake.count[run] && !fake.begun; i++)
        fake.config.seen(fake.config.context, &fake.sees[run][i]);
    fake.begun = true;
}

void iw_observer_drop(struct iw_observer *o)
{
    assert_non_null(o);
    spy_note("drop\n");
    if (fake.block != NULL && !fake.keeps)
        fake.config.give_back(fake.config.context, fake.block, 8);
}

bool iw_observer_joined(const struct iw_observer *o)
{
    assert_non_null(o);
    return fake.joined;
}

static void note(const char *what, enum iw_side side, uint64_t pos, const void *data, size_t length)
{
    spy_note("%c %s%llu: ", side == IW_SIDE_INITIATOR ? 'A' : 'B', what, (unsigned long long)pos);
    spy_note_octets(data, length);
    spy_note("\n");
    see();
}

int iw_observer_input(struct iw_observer *o, enum iw_side side, uint64_t pos, const void *data,
                      size_t length)
{
    assert_non_null(o);
    note("", side, pos, data, length);
    return 0;
}

void iw_observer_told_startup(struct iw_observer *o, enum iw_side side, const void *frame,
                              size_t length)
{
    assert_non_null(o);
    note("frame ", side, 0, frame, length);
}

void iw_observer_told_segment(struct iw_observer *o, enum iw_side side, const void *ulpdu,
                              size_t length, bool broken)
{
    assert_non_null(o);
    note(broken ? "broken " : "segment ", side, 0, ulpdu, length);
}

void iw_observer_told_end(struct iw_observer *o, enum iw_side side, bool reset)
{
    assert_non_null(o);
    note(reset ? "told reset " : "told fin ", side, 0, NULL, 0);
}

void iw_observer_end(struct iw_observer *o, enum iw_side side, uint64_t pos, bool reset)
{
    assert_non_null(o);
    note(reset ? "reset " : "fin ", side, pos, NULL, 0);
}

void iw_observer_gap(struct iw_observer *o, enum iw_side side, uint64_t from, uint64_t to)
{
    assert_non_null(o);
    spy_note("%c gap %llu..%llu\n", side == IW_SIDE_INITIATOR ? 'A' : 'B', (unsigned long long)from,
             (unsigned long long)to);
}

void iw_observer_acked(struct iw_observer *o, enum iw_side side, uint64_t pos)
{
    assert_non_null(o);
    spy_note("%c acked %llu\n", side == IW_SIDE_INITIATOR ? 'A' : 'B', (unsigned long long)pos);
}

void iw_observer_flush(struct iw_observer *o)
{
    assert_non_null(o);
    spy_note("flush\n");
}

void iw_observer_assume(struct iw_observer *o, const struct iw_observer_assumption *a)
{
    assert_non_null(o);
    if (a == NULL)
        spy_note("assume nothing\n");
    else
        spy_note("assume %d %d %d %d\n", a->markers[0], a->markers[1], a->crc, a->consortium);
}

/* ---- tests ---- */

static int start(void **state)
{
    (void)state;
    iw_fuzz_harness.start();
    return 0;
}

static void again(void)
{
    memset(&fake, 0, sizeof fake);
}

#define RUNS(hex, said, notes)                                                                     \
    do {                                                                                           \
        fake.runs = 0;                                                                             \
        spy_run(&iw_fuzz_harness, hex, said, notes);                                               \
    } while (0)
#define SAYS(hex, said)                                                                            \
    do {                                                                                           \
        fake.runs = 0;                                                                             \
        assert_string_equal(spy_runs(&iw_fuzz_harness, hex), said);                                \
    } while (0)

static void settings_make_the_observer(void **state)
{
    (void)state;
    again();
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
    again();
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
    again();
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
    again();
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
    again();
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

/* Runs with one thing seen in both runs. */
static const char *sees(struct iw_observation o)
{
    again();
    for (size_t run = 0; run < 2; run++) {
        fake.count[run] = 1;
        fake.sees[run][0] = o;
    }
    return spy_runs(&iw_fuzz_harness, "00000000 000100 41");
}

static const uint8_t ulpdu[30];

static struct iw_observation segment(void)
{
    return (struct iw_observation){.kind = IW_OBSERVED_SEGMENT,
                                   .pos = 10,
                                   .end = 40,
                                   .ulpdu = ulpdu,
                                   .ulpdu_length = 22,
                                   .ulpdu_captured = 20,
                                   .payload = ulpdu + 14,
                                   .payload_length = 8,
                                   .payload_captured = 6};
}

static void what_is_seen_must_make_sense(void **state)
{
    static const char more[] = "observer: more is here than there is";
    static const char outside[] = "observer: a payload that is not in its segment";
    struct iw_observation o = segment();

    (void)state;
    assert_string_equal(sees(o), "");
    o.side = IW_SIDE_RESPONDER;
    assert_string_equal(sees(o), "");
    o.side = (enum iw_side)2;
    assert_string_equal(sees(o), "observer: of no side");
    for (int kind = 0; kind < 2; kind++)
        for (int what = 0; what < 8; what++) {
            o = segment();
            o.kind = kind == 0 ? IW_OBSERVED_SEGMENT : IW_OBSERVED_MESSAGE;
            const char *want = "";
            switch (what) {
            case 0:
                o.pos = o.end;
                break;
            case 1:
                o.pos = o.end + 1;
                want = "observer: something of a negative length";
                break;
            case 2:
                o.ulpdu_captured = 22;
                o.payload_captured = 8;
                break;
            case 3:
                o.ulpdu_captured = 23;
                want = more;
                break;
            case 4:
                o.ulpdu_captured = 30;
                o.ulpdu_length = 30;
                o.payload_captured = 9;
                want = more;
                break;
            case 5:
                o.ulpdu = ulpdu + 15;
                want = outside;
                break;
            case 6:
                o.ulpdu_captured = 19;
                want = outside;
                break;
            default:
                o.payload = NULL;
                o.ulpdu_captured = 2;
                break;
            }
            assert_string_equal(sees(o), want);
            if (what >= 3 && what < 7) {
                o.kind = IW_OBSERVED_FIN;
                assert_string_equal(sees(o), "");
            }
        }
}

static void positions_ascend(void **state)
{
    (void)state;
    for (int what = 0; what < 5; what++) {
        again();
        fake.count[0] = fake.count[1] = 2;
        for (size_t run = 0; run < 2; run++) {
            fake.sees[run][0] = fake.sees[run][1] = segment();
            fake.sees[run][1].pos = what == 0 ? 40 : 39;
            fake.sees[run][1].end = 50;
            if (what == 2)
                fake.sees[run][0].side = IW_SIDE_RESPONDER;
            if (what == 3)
                fake.sees[run][1].kind = IW_OBSERVED_MESSAGE;
        }
        SAYS(what == 4 ? "00080000 000100 41" : "00000000 000100 41",
             what == 1 ? "observer: a segment at 39 after one at 40" : "");
    }
}

static const char differs[] =
    "observer: other segments of the same octets show something else (1 things, and 1)";

/* Each part of what is seen that the second run sees otherwise is noticed, unless it does not
 * matter. */
static void the_second_run_must_see_the_same(void **state)
{
    static const struct iw_fault fault = {.check = IW_CHECK_MPA_CRC}, other = {.check = 2};

    (void)state;
    for (int what = 0; what < 23; what++) {
        struct iw_observation o = segment();
        const char *want = differs;
        o.frame = ulpdu;
        o.frame_length = 3;
        enum iw_observed kinds[] = {IW_OBSERVED_SEGMENT, IW_OBSERVED_STARTUP, IW_OBSERVED_MESSAGE,
                                    IW_OBSERVED_FINDING};
        o.kind = kinds[what < 6 ? 0 : what < 9 ? 1 : what < 16 ? 2 : 3];
        o.provoked_by = what == 14 ? &fault : NULL;
        (void)sees(o);
        struct iw_observation *second = &fake.sees[1][0];
        switch (what) {
        case 0:
            second->pos = 11;
            break;
        case 1:
            second->end = 41;
            break;
        case 2:
            second->side = IW_SIDE_RESPONDER;
            break;
        case 3:
            second->kind = IW_OBSERVED_FIN;
            break;
        case 4:
            second->ulpdu_captured = 21;
            break;
        case 6:
            second->frame_length = 4;
            break;
        case 9:
            second->message_length = 1;
            break;
        case 10:
            second->segments = 1;
            break;
        case 11:
            second->partial = true;
            break;
        case 12:
            second->provoked_by = &fault;
            break;
        case 14:
            second->provoked_by = &other;
            break;
        case 16:
            second->fault.check = IW_CHECK_MPA_CRC;
            break;
        case 17:
            second->fault.pos = 1;
            break;
        case 18:
            second->fault.got = 1;
            break;
        case 19:
            second->fault.want = 1;
            break;
        case 20:
            fake.sees[0][0].kind = second->kind = IW_OBSERVED_LOST;
            second->fault.want = 1;
            want = "";
            break;
        case 21:
            fake.sees[0][0].kind = second->kind = IW_OBSERVED_RESET;
            second->fault.want = 1;
            want = "";
            break;
        default: /* of no matter in this kind */
            second->message_length = what != 15;
            second->fault.pos = 0;
            second->frame_length = what > 9 && what != 15 ? 4 : 3;
            if (what == 13 || what == 15)
                second->message_length = 0;
            want = "";
            break;
        }
        SAYS("00000000 000100 41", want);
    }
    (void)sees(segment());
    fake.sees[1][1] = segment();
    fake.count[1] = 0;
    SAYS("00000000 000100 41",
         "observer: other segments of the same octets show something else (1 things, and 0)");
}

/* What is given up, sought or lost is not compared; nor is what a limit or sizes decide. */
static void lost_octets_are_not_compared(void **state)
{
    static const enum iw_observed kinds[] = {IW_OBSERVED_GAP, IW_OBSERVED_RESYNC, IW_OBSERVED_LOST,
                                             IW_OBSERVED_FIN};

    (void)state;
    for (size_t run = 0; run < 2; run++)
        for (size_t i = 0; i < 4; i++) {
            (void)sees(segment());
            fake.sees[run][0].kind = kinds[i];
            SAYS("00000000 000100 41", i < 3 ? "" : differs);
            assert_int_equal(fake.runs, run == 0 && i < 3 ? 1 : 2);
        }
    (void)sees(segment());
    fake.sees[1][0].pos = 11;
    SAYS("00000100 000100 41", "");
    assert_int_equal(fake.runs, 1);
    SAYS("00040000 000100 41", "");
    assert_int_equal(fake.runs, 1);
    SAYS("00000000 000100 41 020100 02", "");
    assert_int_equal(fake.runs, 1);
    fake.joined = true;
    SAYS("00000000 000100 41", "");
    assert_int_equal(fake.runs, 1);
}

/* It is lent as many as the settings say, and must give them back. */
static void blocks_are_lent(void **state)
{
    (void)state;
    again();
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
        cmocka_unit_test(settings_make_the_observer),
        cmocka_unit_test(it_may_start_up_by_itself),
        cmocka_unit_test(steps_feed_the_sides),
        cmocka_unit_test(calls_are_made),
        cmocka_unit_test(the_second_run_is_shuffled),
        cmocka_unit_test(what_is_seen_must_make_sense),
        cmocka_unit_test(positions_ascend),
        cmocka_unit_test(the_second_run_must_see_the_same),
        cmocka_unit_test(lost_octets_are_not_compared),
        cmocka_unit_test(blocks_are_lent),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
