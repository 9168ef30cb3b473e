/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the deframer: how it feeds it three times, and what it notices. */
#include "fake_deframer.h"

#include <stdio.h>

static char hex[1 << 14];

/* The input with these settings, and one step of that many octets. */
static const char *stream_of(const char *settings, size_t length)
{
    int at = snprintf(hex, sizeof(hex), "%s 00%02x%02x", settings, (unsigned)(length & 255),
                      (unsigned)(length >> 8));

    for (size_t i = 0; i < length; i++)
        at += snprintf(hex + at, sizeof(hex) - (size_t)at, "%02x", octet_at(i));
    return hex;
}

static void again(void)
{
    memset(&fake, 0, sizeof(fake));
}

#define RUNS(input, said, notes)                                                                   \
    do {                                                                                           \
        fake.runs = 0;                                                                             \
        spy_run(&iw_fuzz_harness, input, said, notes);                                             \
    } while (0)
#define SAYS(input, said)                                                                          \
    do {                                                                                           \
        fake.runs = 0;                                                                             \
        assert_string_equal(spy_runs(&iw_fuzz_harness, input), said);                              \
    } while (0)

static void settings_choose_the_deframer(void **state)
{
    (void)state;
    again();
    fake.quiet = true;
    RUNS(stream_of("00000000", 3), "", "run 0\nrun 1 early\nrun 2 early\n");
    RUNS(stream_of("03030000", 3), "",
         "run 0 markers crc always aligned\nrun 1 markers crc early always aligned\n"
         "run 2 markers crc early always aligned\n");
    RUNS(stream_of("fc0a0000", 3), "", "run 0 aligned\nrun 1 aligned\nrun 2 aligned\n");
    RUNS(stream_of("01010000", 3), "",
         "run 0 crc always\nrun 1 crc early always\nrun 2 crc early always\n");
}

/* 00 07 0e ... are the octets of the stream. */
static void steps_cut_the_stream(void **state)
{
    (void)state;
    again();
    RUNS("00000000 000300 00070e 010200 151c 040400 01000300 040400 00000300 040400 02800900"
         " 040400 06000100 030100 00 000100 23",
         "",
         "run 0\n"
         "0: 6\n"
         "run 1 early\n"
         "0: 3\n"
         "3: 1\n"
         "4: 1\n"
         "5: 1\n"
         "3: 3\n"
         "5: 1\n"
         "run 2 early\n"
         "0: 5 1\n");
}

static void the_stream_is_shuffled(void **state)
{
    (void)state;
    again();
    RUNS(stream_of("00000000", 3000), "",
         "run 0\n"
         "0: 3000\n"
         "run 1 early\n"
         "0: 3000\n"
         "run 2 early\n"
         "0: 509 145\n"
         "654: 346 553\n"
         "243: 1252 85\n"
         "1580: 43 164\n"
         "1787: 344 493\n"
         "2880: 3\n"
         "2966: 12 22\n"
         "2624: 3 373\n");
    RUNS(stream_of("00000501", 3000), "",
         "run 0\n"
         "0: 3000\n"
         "run 1 early\n"
         "0: 3000\n"
         "run 2 early\n"
         "302: 135 269\n"
         "0: 126 42\n"
         "3: 171 655\n"
         "1947: 42 1011\n"
         "829: 47 7\n"
         "883: 19 49\n"
         "1960: 235 805\n"
         "951: 368 118\n"
         "2498: 32 5\n"
         "1437: 243 382\n"
         "908: 1191 655\n"
         "2754: 79 34\n"
         "2872: 12 13\n"
         "2933: 11 2\n"
         "2867: 70 63\n");
    fake.result = -1;
    fake.quiet = true;
    SAYS(stream_of("00000000", 10), "");
    fake.result = -2;
    SAYS(stream_of("00000000", 10), "deframer: octets in order are refused");
}

/* An FPDU of `size` octets at `pos`, with these octets in two pieces. */
static struct report fpdu(uint64_t pos, uint32_t size, const char *ulpdu)
{
    size_t length = strlen(ulpdu);
    struct report r = {.kind = FPDU,
                       .fpdu = {.pos = pos,
                                .header_pos = pos,
                                .size = size,
                                .length = (uint16_t)length,
                                .crc_good = true,
                                .crc_checked = true,
                                .pieces = 2},
                       .pieces = {{(void *)(uintptr_t)ulpdu, length / 2},
                                  {(void *)(uintptr_t)(ulpdu + length / 2), length - length / 2}}};

    return r;
}

/* All runs report it, as report number `at`. */
static void report(size_t at, struct report r)
{
    for (size_t run = 0; run < 3; run++)
        fake.reports[run][at] = r;
}

static const uint8_t there[] = {0x1c, 0x23, 0x2a, 0x31, 0x38, 0x3f, 0x46, 0x4d};

static void frame_as(size_t first, size_t second)
{
    fake.size = 8;
    fake.pieces = 2;
    fake.framed[0] = (struct iw_iov){(void *)(uintptr_t)there, first};
    fake.framed[1] = (struct iw_iov){(void *)(uintptr_t)(there + first), second};
}

static void set_one(void)
{
    again();
    fake.quiet = true;
    report(0, fpdu(4, 8, "xyz"));
    frame_as(3, 5);
}

static void fpdus_are_framed_again(void **state)
{
    (void)state;
    set_one();
    RUNS(stream_of("03000000", 20), "",
         "run 0 markers crc\n"
         "framer markers crc at 4 of 3\n"
         "frames 78797a\n"
         "gives 0\n"
         "run 1 markers crc early\n"
         "gives 0\n"
         "run 2 markers crc early\n"
         "gives 0\n");
    fake.size = 9;
    SAYS(stream_of("03000000", 20), "deframer: an FPDU of 8 octets is framed with another size");
    frame_as(3, 5);
    fake.pieces = 0;
    SAYS(stream_of("03000000", 20), "deframer: a good FPDU of 8 octets cannot be framed");
    frame_as(3, 4);
    SAYS(stream_of("03000000", 20), "deframer: framed with another size");
    frame_as(3, 5);
    fake.framed[1].base = (void *)(uintptr_t)there;
    SAYS(stream_of("03000000", 20), "deframer: the FPDU at 4 is framed with other octets");
    fake.pieces = 1;
    fake.framed[0].length = 8;
    SAYS(stream_of("03000000", 20), "");
}

/* Which FPDUs ought to come out of a framer as they went in. */
static void wrong_fpdus_are_not_framed_again(void **state)
{
    (void)state;
    for (int how = 0; how < 7; how++) {
        struct report r = fpdu(4, 8, how == 0 ? "" : "xyz");
        bool framed = how == 2 || how == 3 || how == 6;
        const char *settings = how == 3 || how == 4 ? "00000000" : "01000000";
        set_one();
        r.fpdu.crc_good = how != 1 && how != 3 && how != 4;
        r.fpdu.crc = how == 4 || how == 6;
        report(0, r);
        if (how == 5) { /* after a fault */
            report(0, (struct report){.kind = FAULT, .fault = {.check = IW_CHECK_MPA_CRC}});
            report(1, r);
        }
        SAYS(stream_of(settings, 20), "");
        assert_int_equal(strstr(spy_notes(), "frames 78797a") != NULL, framed);
    }
    set_one(); /* the one after it is right again */
    report(0, (struct report){.kind = FAULT, .fault = {.check = IW_CHECK_MPA_CRC}});
    report(1, fpdu(12, 8, "z"));
    report(2, fpdu(4, 8, "xyz"));
    SAYS(stream_of("01000000", 20), "");
    assert_non_null(strstr(spy_notes(), "frames 78797a"));
    assert_null(strstr(spy_notes(), "frames 7a\n"));
}

static void faults_are_answered(void **state)
{
    (void)state;
    again();
    fake.quiet = true;
    report(0, (struct report){.kind = FAULT, .fault = {.check = IW_CHECK_MPA_CRC, .pos = 20}});
    RUNS(stream_of("00080000", 20), "", "run 0\ngives 0\nrun 1\ngives 0\nrun 2\ngives 0\n");
    RUNS(stream_of("000c0000", 20), "", "run 0\ngives 1\nrun 1\ngives 1\nrun 2\ngives 1\n");
    fake.reports[0][0].fault.pos = 21;
    SAYS(stream_of("00080000", 20), "deframer: a fault of nothing");
    report(0, (struct report){.kind = FAULT});
    SAYS(stream_of("00080000", 20), "deframer: a fault of nothing");
}

static void fpdus_must_be_whole(void **state)
{
    (void)state;
    set_one();
    SAYS(stream_of("00000000", 11), "deframer: an FPDU that has not come whole");
    SAYS(stream_of("00000000", 12), "");
    fake.reports[0][0].fpdu.pieces = 1;
    SAYS(stream_of("00000000", 20), "deframer: pieces of another length");
}

/* Each field that one of the later runs reports otherwise is noticed. */
static void reports_must_be_the_same(void **state)
{
    static const char at_0[] =
        "deframer: another segmentation gives another report at octet 0 of the log";

    (void)state;
    for (size_t run = 1; run < 3; run++)
        for (int what = 0; what < 8; what++)
            for (int less = 0; less < 2; less++) {
                struct iw_fpdu *f;
                set_one();
                f = &fake.reports[less ? 0 : run][0].fpdu;
                if (less && run == 1)
                    fake.reports[2][0] = fake.reports[1][0];
                switch (what) {
                case 0:
                    f->pos = 5;
                    frame_as(3, 5);
                    f->crc_good = true;
                    break;
                case 1:
                    f->header_pos = 5;
                    break;
                case 2:
                    f->size = 9;
                    break;
                case 3:
                    f->markers = 1;
                    break;
                case 4:
                    f->crc = 1;
                    break;
                case 5:
                    f->crc_good = false;
                    break;
                case 6:
                    f->crc_checked = false;
                    break;
                default:
                    break;
                }
                for (size_t i = 0; i < 3; i++) /* so that nothing is framed */
                    if (what == 0 || what == 2)
                        fake.reports[i][0].fpdu.crc_good = false;
                SAYS(stream_of("01000000", 20), what == 7 ? "" : at_0);
            }
    set_one();
    fake.reports[1][0] = fpdu(4, 8, "xya");
    SAYS(stream_of("01000000", 20),
         "deframer: another segmentation gives another report at octet 88 of the log");
    set_one();
    fake.reports[1][1] = fpdu(12, 8, "xyz");
    SAYS(stream_of("01000000", 20),
         "deframer: another segmentation gives another report at octet 91 of the log");
    set_one();
    fake.reports[2][0].kind = NOTHING;
    SAYS(stream_of("01000000", 20), "deframer: another segmentation reports less");
    for (int what = 0; what < 4; what++) {
        struct iw_fault *fault = &fake.reports[1][0].fault;
        set_one();
        report(0, (struct report){.kind = FAULT, .fault = {.check = IW_CHECK_MPA_CRC}});
        fault->check = what == 0 ? IW_CHECK_MPA_PAD : IW_CHECK_MPA_CRC;
        fault->pos = what == 1;
        fault->got = what == 2;
        fault->want = what == 3;
        SAYS(stream_of("01000000", 20), at_0);
    }
}

static void the_log_has_a_bound(void **state)
{
    (void)state;
    for (size_t more = 48; more < 50; more++) {
        static char ulpdu[50];
        memset(ulpdu, 'u', more);
        again();
        fake.quiet = true;
        report(0, fpdu(4, 8, ""));
        for (size_t run = 0; run < 3; run++)
            fake.reports[run][0].times = 47661 - 1;
        report(1, fpdu(4, 8, ulpdu));
        for (size_t run = 0; run < 3; run++)
            fake.reports[run][1].fpdu.crc_good = false;
        SAYS(stream_of("01000000", 20),
             more == 48 ? "" : "deframer: more reports than the octets allow");
    }
}

static void ends_must_be_the_same(void **state)
{
    static const char elsewhere[] = "deframer: another segmentation ends elsewhere";

    (void)state;
    for (size_t run = 0; run < 3; run++)
        for (int what = 0; what < 4; what++) {
            set_one();
            fake.next[run] = what == 0;
            fake.fpdus[run] = what == 1;
            fake.short_by[run] = what >= 2;
            fake.stopped[run] = what == 3;
            SAYS(stream_of("00000000", 20), what < 2    ? elsewhere
                                            : what == 3 ? ""
                                            : run == 0  ? "deframer: not everything was taken"
                                                       : "deframer: octets are missing at the end");
        }
    for (int what = 0; what < 3; what++) {
        set_one();
        fake.open[0] = what == 0;
        fake.open[1] = what == 1 || what == 2;
        fake.stopped[1] = what == 2;
        SAYS(stream_of("00000000", 20),
             what < 2 ? "deframer: another segmentation ends on another boundary" : "");
    }
    set_one();
    fake.open[0] = fake.open[1] = true;
    SAYS(stream_of("00000000", 20), "");
}

/* ---- early FPDUs ---- */

static struct report shown(uint64_t pos, const char *ulpdu)
{
    struct report r = fpdu(pos, 8, ulpdu);

    r.kind = SHOWN_EARLY;
    r.next = pos - 1;
    return r;
}

/* The second run shows it early, and then both in turn. */
static void set_early(void)
{
    set_one();
    fake.reports[1][0] = shown(4, "xyz");
    fake.reports[1][1] = fpdu(4, 8, "xyz");
    fake.reports[1][1].fpdu.placed_early = true;
}

static void early_fpdus_come_again(void **state)
{
    static const char other[] = "deframer: the FPDU at 4 was another one when it came early";
    static const char forgotten[] = "deframer: it is forgotten what became of an early FPDU";
    struct iw_fpdu *early = &fake.reports[1][0].fpdu, *turn = &fake.reports[1][1].fpdu;

    (void)state;
    set_early();
    SAYS(stream_of("00000000", 20), "");
    turn->placed_early = false;
    SAYS(stream_of("00000000", 20), forgotten);
    fake.misled = true;
    SAYS(stream_of("00000000", 20), "");
    turn->placed_early = true;
    SAYS(stream_of("00000000", 20), "");
    for (int what = 0; what < 3; what++) {
        set_early();
        if (what == 0)
            early->size = 9;
        else
            fake.reports[1][0] = shown(4, what == 1 ? "xyzz" : "xyw");
        SAYS(stream_of("00000000", 20), other);
    }
    set_early();
    fake.reports[1][0] = shown(8, "xyz");
    SAYS(stream_of("00000000", 20), "deframer: an FPDU placed early that was never shown");
    turn->placed_early = false;
    SAYS(stream_of("00000000", 20), "");
    /* The second one of two is found, too. */
    set_early();
    fake.reports[1][2] = fake.reports[1][1];
    fake.reports[1][1] = fake.reports[1][0];
    fake.reports[1][0] = shown(12, "w");
    SAYS(stream_of("00000000", 20), "");
    fake.reports[1][0] = fake.reports[1][1];
    SAYS(stream_of("00000000", 20), "deframer: an FPDU came early twice");
    set_early();
    turn->placed_early = false; /* of a run before, nothing is known */
    fake.reports[1][0].kind = FPDU;
    fake.reports[1][1].kind = NOTHING;
    fake.reports[2][1] = fake.reports[2][0];
    fake.reports[2][0] = shown(4, "xyz");
    fake.reports[2][1].fpdu.placed_early = true;
    SAYS(stream_of("00000000", 20), "");
}

/* Every other one is refused. */
static void early_fpdus_may_be_refused(void **state)
{
    (void)state;
    set_one();
    fake.reports[1][0] = shown(4, "xyz");
    fake.reports[1][1] = shown(12, "xyz");
    fake.reports[1][2] = fpdu(4, 8, "xyz");
    fake.reports[1][2].fpdu.placed_early = true;
    RUNS(stream_of("00100000", 20), "",
         "run 0\n"
         "framer at 4 of 3\n"
         "frames 78797a\n"
         "gives 0\n"
         "run 1 early\n"
         "gives 1\n"
         "gives 0\n"
         "gives 0\n"
         "run 2 early\n"
         "gives 0\n");
    fake.reports[1][2].fpdu.placed_early = false;
    SAYS(stream_of("00100000", 20), "deframer: it is forgotten what became of an early FPDU");
    fake.reports[1][1] = shown(4, "xyz");
    fake.reports[1][0] = shown(12, "xyz");
    SAYS(stream_of("00100000", 20), "");
    fake.misled = true;
    fake.reports[1][2].fpdu.placed_early = true;
    SAYS(stream_of("00100000", 20), "deframer: it is forgotten what became of an early FPDU");
}

static void early_fpdus_must_be_sure(void **state)
{
    static const char unsure[] = "deframer: an early FPDU that is not sure";
    static uint8_t large[64769];
    struct iw_fpdu *f = &fake.reports[1][0].fpdu;

    (void)state;
    for (int what = 0; what < 4; what++) {
        set_early();
        f->crc_good = what != 0;
        f->crc_checked = what != 1;
        f->placed_early = what == 2;
        if (what == 3)
            fake.reports[1][0] = shown(4, "");
        SAYS(stream_of("00000000", 20), unsure);
    }
    for (uint32_t length = 64768; length < 64770; length++) {
        set_early();
        f->length = (uint16_t)length;
        f->pieces = 1;
        fake.reports[1][0].pieces[0] = (struct iw_iov){large, length};
        SAYS(stream_of("00000000", 20),
             length == 64768 ? "deframer: the FPDU at 4 was another one when it came early"
                             : unsure);
    }
    set_early();
    fake.reports[1][0].next = 4;
    SAYS(stream_of("00000000", 20), "deframer: an early FPDU at 4");
    set_early();
    SAYS(stream_of("00000000", 12), "");
    fake.reports[1][0].fpdu.size = 9;
    SAYS(stream_of("00000000", 12), "deframer: an early FPDU at 4");
    set_early();
    fake.reports[1][0].fpdu.pieces = 1;
    SAYS(stream_of("00000000", 20), "deframer: early pieces of another length");
}

/* What is not in the harness's list is not placed. */
static void the_list_of_early_fpdus_has_a_bound(void **state)
{
    static uint8_t large[64768];

    (void)state;
    for (unsigned more = 0; more < 2; more++) {
        set_one();
        fake.reports[1][1] = fake.reports[1][0];
        fake.reports[1][0] = shown(5, "x");
        fake.reports[1][0].times = 255 + more;
        fake.reports[1][0].stride = 1;
        SAYS(stream_of("00000000", 300), "");
        assert_int_equal(fake.placed, more == 0);
    }
    for (uint16_t more = 0; more < 2; more++) {
        set_one();
        for (size_t i = 0; i < 5; i++) {
            struct report *r = &fake.reports[1][i];
            *r = shown(5 + i, "");
            r->fpdu.length = i < 4 ? 64768 : (uint16_t)(3072 + more);
            r->fpdu.pieces = 1;
            r->pieces[0] = (struct iw_iov){large, r->fpdu.length};
        }
        fake.reports[1][5] = fpdu(4, 8, "xyz");
        SAYS(stream_of("00000000", 20), "");
        assert_int_equal(fake.placed, more == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_choose_the_deframer),
        cmocka_unit_test(steps_cut_the_stream),
        cmocka_unit_test(the_stream_is_shuffled),
        cmocka_unit_test(fpdus_are_framed_again),
        cmocka_unit_test(wrong_fpdus_are_not_framed_again),
        cmocka_unit_test(faults_are_answered),
        cmocka_unit_test(fpdus_must_be_whole),
        cmocka_unit_test(reports_must_be_the_same),
        cmocka_unit_test(the_log_has_a_bound),
        cmocka_unit_test(ends_must_be_the_same),
        cmocka_unit_test(early_fpdus_come_again),
        cmocka_unit_test(early_fpdus_may_be_refused),
        cmocka_unit_test(early_fpdus_must_be_sure),
        cmocka_unit_test(the_list_of_early_fpdus_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
