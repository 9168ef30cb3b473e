/* SPDX-License-Identifier: BSD-3-Clause */
/* What self-check prints and writes, literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "recording.h"
#include "selfcheck/selfcheck.h"

enum { MOST = 41 };

static char ids[MOST][32];
static struct iw_case cases[MOST];
static struct iw_suspect suspects[MOST];
static struct iw_notice notices[2];
static struct iw_probe probes[3];
static struct iw_self_check s;
static char no_terminate[] = "no Terminate";

/* Two cases that notice, one that does not; two switches of one check, one of another. */
static void fill(void)
{
    for (size_t i = 0; i < MOST; i++) {
        snprintf(ids[i], sizeof(ids[i]), "case-%02zu", i);
        cases[i] = (struct iw_case){.id = ids[i]};
        suspects[i] = (struct iw_suspect){.c = &cases[i], .usable = true, .tried = 3};
    }
    suspects[0].noticed = suspects[1].noticed = 1;
    notices[0] = (struct iw_notice){&cases[0], IW_VERDICT_PASS, IW_VERDICT_FAIL, no_terminate};
    notices[1] = (struct iw_notice){&cases[1], IW_VERDICT_NOTE, IW_VERDICT_NOTE, NULL};
    probes[0] = (struct iw_probe){.check = IW_CHECK_MPA_CRC,
                                  .kind = IW_SWITCH_BOTCH,
                                  .botch = IW_BOTCH_CODE,
                                  .tried = 4,
                                  .notices = notices,
                                  .n_notices = 1};
    probes[1] = (struct iw_probe){.check = IW_CHECK_MPA_CRC,
                                  .kind = IW_SWITCH_OVERSTRICT,
                                  .notices = notices,
                                  .n_notices = 2};
    probes[2] = (struct iw_probe){.check = IW_CHECK_MPA_PAD, .kind = IW_SWITCH_VIOLATE, .tried = 3};
    s = (struct iw_self_check){.suite = "0123",
                               .probes = probes,
                               .n_probes = 3,
                               .suspects = suspects,
                               .n_suspects = 2,
                               .seconds = 2.5};
}

static void prints(const char *expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);

    assert_non_null(f);
    iw_self_check_print(f, &s);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
}

#define HEAD                                                                                       \
    "check                      switch         noticed by\n"                                       \
    "mpa-crc                    botch=code     case-00 (PASS -> FAIL)\n"                           \
    "mpa-crc                    overstrict     case-00 (PASS -> FAIL) and 1 more\n"                \
    "mpa-pad                    violate        -  (3 cases)\n"
#define PAD                                                                                        \
    "\nchecks that no case notices:\n  mpa-pad                    MPA-4.1-02  pad octets are not " \
    "zero\n"
#define SUM "\nself-check: 2 of 3 switches noticed (66.7 %), 1 of 2 checks noticed"

static void what_was_noticed_is_printed(void **state)
{
    (void)state;
    fill();
    prints(HEAD PAD SUM "; 2 cases, 2.5 s\n");
    s.partial = true;
    s.n_errors = 3;
    prints(HEAD SUM ", 3 errors; 2 cases, 2.5 s\n");
    s.n_probes = 2;
    s.partial = false;
    s.n_errors = 0;
    probes[1].check = IW_CHECK_MPA_PAD;
    probes[0].n_notices = 0;
    prints("check                      switch         noticed by\n"
           "mpa-crc                    botch=code     -  (4 cases)\n"
           "mpa-pad                    overstrict     case-00 (PASS -> FAIL) and 1 more\n"
           "\nchecks that no case notices:\n"
           "  mpa-crc                    MPA-8-02  the CRC of an FPDU does not match its octets\n"
           "\nself-check: 1 of 2 switches noticed (50.0 %), 1 of 2 checks noticed; 2 cases, "
           "2.5 s\n");
    probes[1].n_notices = 0;
    prints("check                      switch         noticed by\n"
           "mpa-crc                    botch=code     -  (4 cases)\n"
           "mpa-pad                    overstrict     -  (0 cases)\n"
           "\nchecks that no case notices:\n"
           "  mpa-crc                    MPA-8-02  the CRC of an FPDU does not match its octets\n"
           "  mpa-pad                    MPA-4.1-02  pad octets are not zero\n"
           "\nself-check: 0 of 2 switches noticed (0.0 %), 0 of 2 checks noticed; 2 cases, "
           "2.5 s\n");
    s.n_probes = 0;
    prints("check                      switch         noticed by\n"
           "\nself-check: 0 of 0 switches noticed (100.0 %), 0 of 0 checks noticed; 2 cases, "
           "2.5 s\n");
}

static void what_is_not_clean_is_printed(void **state)
{
    (void)state;
    fill();
    s.n_suspects = 5;
    s.partial = true;
    for (size_t i = 2; i < 5; i++) {
        suspects[i].usable = false;
        suspects[i].tried = 0;
    }
    suspects[2].verdict = IW_VERDICT_SKIP;
    suspects[2].reason = (char[]){"needs more"};
    suspects[3].verdict = IW_VERDICT_FAIL;
    suspects[3].reason = (char[]){"not as it should"};
    suspects[4].verdict = IW_VERDICT_ERROR;
    prints(HEAD SUM "; 5 cases, 2.5 s\n");
    s.n_unclean = 2;
    prints(HEAD "\nnot clean without any switch:\n  FAIL case-03: not as it should\n"
                "  ERROR case-04: \n" SUM "; 5 cases, 2.5 s\n");
}

#define QUICK " (the quick form stops at the first notice; see --full)"

static void idle_cases_are_printed_in_columns(void **state)
{
    (void)state;
    fill();
    s.partial = true;
    s.n_suspects = 18;
    suspects[3].justified = "why";
    suspects[4].usable = false;
    suspects[5].tried = 0;
    suspects[6].noticed = 1;
    /* Twelve names of 30 columns fit into no line of 120, but four do. */
    for (size_t i = 7; i < 18; i++)
        snprintf(ids[i], sizeof(ids[i]), "case-of-28-letters-abcdef-%02zu", i);
    prints(HEAD "\n12 cases were run with switches and never changed their verdict" QUICK ":\n"
                "  case-02  case-of-28-letters-abcdef-07  case-of-28-letters-abcdef-08  "
                "case-of-28-letters-abcdef-09\n"
                "  case-of-28-letters-abcdef-10  case-of-28-letters-abcdef-11  "
                "case-of-28-letters-abcdef-12  case-of-28-letters-abcdef-13\n"
                "  case-of-28-letters-abcdef-14  case-of-28-letters-abcdef-15  "
                "case-of-28-letters-abcdef-16  case-of-28-letters-abcdef-17\n" SUM
                "; 18 cases, 2.5 s\n");
}

/* Too many to be of use, unless all switches were tried. */
static void many_idle_cases_are_counted(void **state)
{
    (void)state;
    fill();
    s.partial = true;
    s.n_suspects = 41;
    for (size_t i = 0; i < 41; i++)
        suspects[i].noticed = 0;
    prints(HEAD "\n41 cases were run with switches and never changed their verdict" QUICK "\n" SUM
                "; 41 cases, 2.5 s\n");
    s.full = true;
    prints(HEAD "\n41 cases were run with switches and never changed their verdict:\n"
                "  case-00  case-01  case-02  case-03  case-04  case-05  case-06  case-07  "
                "case-08  case-09  case-10  case-11  case-12\n"
                "  case-13  case-14  case-15  case-16  case-17  case-18  case-19  case-20  "
                "case-21  case-22  case-23  case-24  case-25\n"
                "  case-26  case-27  case-28  case-29  case-30  case-31  case-32  case-33  "
                "case-34  case-35  case-36  case-37  case-38\n"
                "  case-39  case-40\n" SUM "; 41 cases, 2.5 s\n");
    s.full = false;
    suspects[0].noticed = 1;
    prints(HEAD "\n40 cases were run with switches and never changed their verdict" QUICK ":\n"
                "  case-01  case-02  case-03  case-04  case-05  case-06  case-07  case-08  "
                "case-09  case-10  case-11  case-12  case-13\n"
                "  case-14  case-15  case-16  case-17  case-18  case-19  case-20  case-21  "
                "case-22  case-23  case-24  case-25  case-26\n"
                "  case-27  case-28  case-29  case-30  case-31  case-32  case-33  case-34  "
                "case-35  case-36  case-37  case-38  case-39\n"
                "  case-40\n" SUM "; 41 cases, 2.5 s\n");
}

static void the_report_is_whole(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    json_t *all;

    (void)state;
    assert_non_null(f);
    fill();
    s.full = true;
    s.n_unclean = 4;
    s.n_errors = 5;
    suspects[1].verdict = IW_VERDICT_NOTE;
    suspects[1].reason = (char[]){"so so"};
    s.seconds = 1234567.75; /* all of its digits */
    iw_self_check_json(f, &s);
    fclose(f);
    assert_int_equal(text[length - 1], '\n');
    assert_memory_equal(text, "{\n \"schema\": 1,\n \"tool\": {\n  \"name\"", 35);
    all = json_loads(text, 0, NULL);
    free(text);
    text = json_dumps(all, JSON_COMPACT);
    assert_string_equal(
        text,
        "{\"schema\":1,\"tool\":{\"name\":\"iwarp-conform\",\"version\":\"" IW_VERSION "\"},"
        "\"suite\":{\"version\":\"0123\"},\"full\":true,\"seconds\":1234567.75,\"summary\":{"
        "\"switches\":3,\"switches_noticed\":2,\"checks\":2,\"checks_noticed\":1,\"unclean\":4,"
        "\"errors\":5},\"switches\":[{\"check\":\"mpa-crc\",\"rule\":\"MPA-8-02\",\"kind\":"
        "\"botch\",\"reaction\":\"code\",\"tried\":4,\"noticed\":true,\"by\":[{\"case\":"
        "\"case-00\",\"clean\":\"PASS\",\"verdict\":\"FAIL\",\"reason\":\"no Terminate\"}]},"
        "{\"check\":\"mpa-crc\",\"rule\":\"MPA-8-02\",\"kind\":\"overstrict\",\"reaction\":null,"
        "\"tried\":0,\"noticed\":true,\"by\":[{\"case\":\"case-00\",\"clean\":\"PASS\","
        "\"verdict\":\"FAIL\",\"reason\":\"no Terminate\"},{\"case\":\"case-01\",\"clean\":"
        "\"NOTE\",\"verdict\":\"NOTE\",\"reason\":null}]},{\"check\":\"mpa-pad\",\"rule\":"
        "\"MPA-4.1-02\",\"kind\":\"violate\",\"reaction\":null,\"tried\":3,\"noticed\":false,"
        "\"by\":[]}],\"cases\":[{\"id\":\"case-00\",\"clean\":\"PASS\",\"reason\":null,\"tried\":3,"
        "\"noticed\":1},{\"id\":\"case-01\",\"clean\":\"NOTE\",\"reason\":\"so so\",\"tried\":3,"
        "\"noticed\":1}]}");
    free(text);
    json_decref(all);
}

/* ---- which switches ---- */

static void makes(bool full, const char *glob, const char *expected)
{
    size_t n;
    struct iw_probe *list = iw_probes_make(full, glob, &n);
    char *text = NULL;

    for (size_t i = 0; i < n; i++)
        iw_text_join(&text, " ", list[i].option);
    assert_string_equal(text ? text : "", expected);
    free(text);
    free(list);
}

/* The kinds of a check stand together, in their order. */
static void switches_of_a_check(void **state)
{
    (void)state;
    makes(false, "*mpa-crc*",
          "--overstrict=mpa-crc-off "
          "--ignore=mpa-crc "
          "--violate=mpa-crc "
          "--botch=mpa-crc=code "
          "--violate=mpa-crc-demand");
    makes(true, "*mpa-crc*",
          "--overstrict=mpa-crc-off "
          "--ignore=mpa-crc "
          "--violate=mpa-crc "
          "--botch=mpa-crc=layer "
          "--botch=mpa-crc=type "
          "--botch=mpa-crc=code "
          "--botch=mpa-crc=place "
          "--botch=mpa-crc=close "
          "--botch=mpa-crc=silent "
          "--botch=mpa-crc=again "
          "--violate=mpa-crc-demand");
    makes(false, "*=ddp-zero-tagged*", "--overstrict=ddp-zero-tagged");
    makes(false, "botch=*=[!c]*",
          "--botch=mpa-req-key=silent "
          "--botch=mpa-rep-key=silent "
          "--botch=mpa-rev=silent "
          "--botch=mpa-pd-length=silent "
          "--botch=mpa-pd-surplus=silent "
          "--botch=mpa-enh-length=silent "
          "--botch=mpa-rep-s=silent --botch=mpa-rep-s-unasked=silent "
          "--botch=mpa-startup-timeout=silent "
          "--botch=mpa-startup-cut=silent");
}

/* ---- what is recorded ---- */

static void recorded(const struct folder *f, const char *old, const char *expected)
{
    const struct iw_case *list[MOST];
    struct iw_suite suite = {.cases = list, .n_cases = 4};
    char *path = folder_file(f, "matrix.csv", old), *text;

    for (size_t i = 0; i < MOST; i++)
        list[i] = &cases[i];
    assert_int_equal(iw_self_check_record(&s, &suite, path), 0);
    text = folder_read(path);
    assert_string_equal(text, expected);
    free(text);
    free(path);
}

static void cases_are_recorded_in_order(void **state)
{
    const struct folder *f = *state;
    static const struct iw_rule *crc[1];
    static struct iw_notice third[1];

    fill();
    crc[0] = iw_rule_find("MPA-8-02");
    cases[0].rules = crc;
    cases[0].n_rules = 1;
    third[0] = (struct iw_notice){&cases[0], IW_VERDICT_PASS, IW_VERDICT_INCONCLUSIVE, NULL};
    snprintf(probes[0].option, sizeof(probes[0].option), "--botch=mpa-crc=code");
    snprintf(probes[1].option, sizeof(probes[1].option), "--overstrict=mpa-crc");
    snprintf(probes[2].option, sizeof(probes[2].option), "--violate=mpa-pad");
    probes[2].notices = third;
    probes[2].n_notices = 1;
    s.n_suspects = 3;
    /* Near switches, all of them; of the others one; nothing. */
    recorded(f, "case,noticed\ncase-03,x\ncase-02,y\ncase-09,z\n",
             "case,noticed\ncase-00,F:botch=mpa-crc=code F:overstrict=mpa-crc\n"
             "case-01,O:overstrict=mpa-crc\ncase-02,\ncase-03,x\n");
    /* One that was skipped keeps its line, or has an empty one. */
    for (size_t i = 0; i < 3; i++) {
        suspects[i].usable = false;
        suspects[i].verdict = i ? IW_VERDICT_SKIP : IW_VERDICT_FAIL;
    }
    recorded(f, "case,noticed\ncase-02,y\ncase-00,x\n",
             "case,noticed\ncase-00,\ncase-01,\ncase-02,y\n");
    cases[0].n_rules = 0;
    suspects[0].usable = true;
    recorded(f, "", "case,noticed\ncase-00,F:botch=mpa-crc=code\ncase-01,\ncase-02,\n");
}

static void a_matrix_that_cannot_be_read_or_written(void **state)
{
    const struct folder *f = *state;
    struct iw_suite suite = {0};
    char *path = folder_file(f, "matrix.csv", "case,noticed\nx\n"),
         *nowhere = iw_text_format("%s/none/matrix.csv", f->path), *text;
    int before = dup(2);

    fill();
    fflush(stderr);
    assert_non_null(freopen("/dev/null", "w", stderr));
    assert_int_equal(iw_self_check_record(&s, &suite, path), -1);
    assert_int_equal(iw_self_check_record(&s, &suite, nowhere), -1);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    text = folder_read(path);
    assert_string_equal(text, "case,noticed\nx\n");
    free(text);
    free(path);
    free(nowhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_noticed_is_printed),
        cmocka_unit_test(what_is_not_clean_is_printed),
        cmocka_unit_test(idle_cases_are_printed_in_columns),
        cmocka_unit_test(many_idle_cases_are_counted),
        cmocka_unit_test(the_report_is_whole),
        cmocka_unit_test(switches_of_a_check),
        cmocka_unit_test_setup_teardown(cases_are_recorded_in_order, recording_setup,
                                        recording_teardown),
        cmocka_unit_test_setup_teardown(a_matrix_that_cannot_be_read_or_written, recording_setup,
                                        recording_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
