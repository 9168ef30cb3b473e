/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the observer: what it notices. */
#include "fake_observer.h"

static int start(void **state)
{
    (void)state;
    iw_fuzz_harness.start();
    return 0;
}

#define SAYS(hex, said)                                                                            \
    do {                                                                                           \
        fake.runs = 0;                                                                             \
        assert_string_equal(spy_runs(&iw_fuzz_harness, hex), said);                                \
    } while (0)

/* Runs with one thing seen in both runs. */
static const char *sees(struct iw_observation o)
{
    fake_reset();
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
        fake_reset();
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
    /* Two ends differ by their kind alone. */
    (void)sees(segment());
    fake.sees[0][0].kind = IW_OBSERVED_FIN;
    fake.sees[1][0].kind = IW_OBSERVED_RESET;
    SAYS("00000000 000100 41", differs);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_seen_must_make_sense),
        cmocka_unit_test(positions_ascend),
        cmocka_unit_test(the_second_run_must_see_the_same),
        cmocka_unit_test(lost_octets_are_not_compared),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
