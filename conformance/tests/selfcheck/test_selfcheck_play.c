/* SPDX-License-Identifier: BSD-3-Clause */
/* Which case self-check plays with which switch, and what it makes of the answers. The pool is the
 * test's own: one job after the other, each worker in turn, without a process. */
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/complain.h"
#include "host/text.h"
#include "selfcheck/selfcheck.h"

/* As the command line does. */
__attribute__((constructor)) static void name(void)
{
    iw_complain_as("iwarp-conform");
}

/* ---- the pool ---- */

/* What a case gives with a switch (NULL: without one); any other answer is PASS. */
struct answer {
    const char *id, *option;
    enum iw_verdict verdict;
    const char *observed, *reason;
};

static const struct answer *answers, *second_answers; /* of the first run, of those after it */
static char *played; /* "CASE OPTION, CASE OPTION; " for each stage */
static unsigned runs, failing, interrupted, troubled; /* in this run, from 1; 0: in none */
static double scales[4], patiences[4];
static struct iw_run_options options;

static void note(const char *text)
{
    char *longer = iw_text_format("%s%s", played != NULL ? played : "", text);

    free(played);
    played = longer;
}

static const struct answer *answer_to(const struct answer *list, const struct iw_job *job)
{
    for (; list != NULL && list->id != NULL; list++)
        if (strcmp(list->id, job->c->id) == 0 &&
            (list->option != NULL ? job->option != NULL && strcmp(list->option, job->option) == 0
                                  : job->option == NULL))
            return list;
    return NULL;
}

static void play_job(const struct iw_pool *pool, unsigned worker, const struct iw_job *job)
{
    const struct answer *a =
        answer_to(runs > 1 && second_answers != NULL ? second_answers : answers, job);
    struct iw_result r = {.id = iw_text_copy(job->c->id), .verdict = IW_VERDICT_PASS};

    note(job->c->id);
    note(job->option != NULL ? job->option + 1 : "");
    note(" ");
    if (a != NULL) {
        r.verdict = a->verdict;
        r.observed = iw_text_copy(a->observed);
        r.reason = iw_text_copy(a->reason);
    }
    pool->done(pool->context, worker, job, &r);
}

int __wrap_iw_pool_run(struct iw_pool *pool, char *error, size_t room);

int __wrap_iw_pool_run(struct iw_pool *pool, char *error, size_t room)
{
    bool any = true;

    assert_int_equal(pool->unreached, 0);
    scales[runs] = pool->options->time_scale;
    patiences[runs] = pool->options->patience;
    pool->unreached = 3;
    if (++runs == failing) {
        snprintf(error, room, "no process");
        return -1;
    }
    while (any) {
        struct iw_job jobs[8];
        bool has[8];

        any = false;
        for (unsigned w = 0; w < pool->workers; w++) {
            has[w] = pool->next(pool->context, w, &jobs[w]);
            any = any || has[w];
        }
        for (unsigned w = 0; w < pool->workers; w++)
            if (has[w])
                play_job(pool, w, &jobs[w]);
    }
    note("; ");
    if (runs == troubled)
        pool->trouble(pool->context, "a leak");
    if (runs == interrupted)
        pool->interrupted = 15;
    return 0;
}

/* ---- cases and switches ---- */

enum { CRC, OTHER, PAD, FAR, CASES };

static const struct iw_rule *rules[CASES][1];
static struct iw_case cases[CASES] = {{.id = (char[]){"crc"}},
                                      {.id = (char[]){"other"}},
                                      {.id = (char[]){"pad"}},
                                      {.id = (char[]){"far"}}};
static const struct iw_case *const listed[CASES] = {&cases[FAR], &cases[OTHER], &cases[PAD],
                                                    &cases[CRC]};
static struct iw_self_check s;
static struct iw_proof proof;
static int terminal, before = -1;

/* The rule of the check for the CRC, one that it serves besides, and two of which it knows
 * nothing. */
static int set_up(void **state)
{
    static const char *const ids[CASES] = {"MPA-8-02", "MPA-4.4-17", "MPA-4.1-02", "EXT-5.1-01"};

    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        rules[i][0] = iw_rule_find(ids[i]);
        cases[i].rules = rules[i];
        cases[i].n_rules = 1;
    }
    answers = second_answers = NULL;
    runs = failing = interrupted = troubled = 0;
    options = (struct iw_run_options){.patience = 9, .deadline = 7};
    s = (struct iw_self_check){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    iw_self_check_free(&s);
    iw_proof_free(&proof);
    free(played);
    played = NULL;
    if (before >= 0)
        dup2(before, 2);
    before = -1;
    return 0;
}

/* Only these switches: kinds of the check for the CRC, and of that for the pad. */
static void begin(void)
{
    static const struct iw_probe three[] = {
        {.check = IW_CHECK_MPA_CRC, .kind = IW_SWITCH_IGNORE, .option = "--ignore=mpa-crc"},
        {.check = IW_CHECK_MPA_CRC, .kind = IW_SWITCH_VIOLATE, .option = "--violate=mpa-crc"},
        {.check = IW_CHECK_MPA_PAD, .kind = IW_SWITCH_VIOLATE, .option = "--violate=mpa-pad"}};

    iw_self_check_begin(&s, listed, CASES, &proof);
    free(s.probes);
    s.probes = iw_got(malloc(sizeof(three)));
    memcpy(s.probes, three, sizeof(three));
    s.n_probes = 3;
}

static void plays(unsigned workers, int status, const char *expected)
{
    begin();
    assert_int_equal(iw_self_check_play(&s, NULL, &options, workers, "dir"), status);
    assert_string_equal(played, expected);
}

/* ---- tests ---- */

static void a_quick_check_stops_at_the_first_notice(void **state)
{
    static const struct answer some[] = {
        {"crc", "--ignore=mpa-crc", IW_VERDICT_FAIL, NULL, "no Terminate"},
        {"other", "--violate=mpa-crc", IW_VERDICT_PASS, "close=fin", NULL},
        {0}};

    (void)state;
    answers = some;
    /* The nearest case first; a switch that nobody notices is tried on all. */
    plays(1, 0,
          "far other pad crc ; ; crc-ignore=mpa-crc crc-violate=mpa-crc other-violate=mpa-crc "
          "pad-violate=mpa-pad far-violate=mpa-pad other-violate=mpa-pad crc-violate=mpa-pad ; ");
    assert_int_equal(s.probes[0].tried, 1);
    assert_int_equal(s.probes[0].n_notices, 1);
    assert_ptr_equal(s.probes[0].notices[0].c, &cases[CRC]);
    assert_int_equal(s.probes[0].notices[0].before, IW_VERDICT_PASS);
    assert_int_equal(s.probes[0].notices[0].after, IW_VERDICT_FAIL);
    assert_string_equal(s.probes[0].notices[0].reason, "no Terminate");
    assert_int_equal(s.probes[1].tried, 2);
    assert_int_equal(s.probes[1].n_notices, 1);
    assert_ptr_equal(s.probes[1].notices[0].c, &cases[OTHER]);
    assert_string_equal(s.probes[1].notices[0].reason, "close=fin");
    assert_int_equal(s.probes[2].tried, 4);
    assert_int_equal(s.probes[2].n_notices, 0);
    assert_int_equal(s.suspects[3].tried, 3);
    assert_int_equal(s.suspects[3].noticed, 1);
    assert_int_equal(s.suspects[0].tried, 1);
    assert_int_equal(s.suspects[0].noticed, 0);
    assert_true(s.suspects[0].usable);
    assert_int_equal(s.n_errors, 0);
    assert_int_equal(s.n_unclean, 0);
    assert_int_equal(s.n_idle, 0);
    assert_true(s.seconds >= 0 && s.seconds < 600);
    assert_int_equal(iw_self_check_status(&s), 1); /* the pad's check was not noticed */
    s.partial = true;
    assert_int_equal(iw_self_check_status(&s), 0);
    /* Patience is short, and long where an answer may have been late. */
    for (unsigned i = 0; i < 3; i++) {
        assert_true(patiences[i] == 1);
        assert_true(scales[i] == (i == 1 ? 10 : 0));
    }
    assert_int_equal(runs, 3);
}

static void a_full_check_asks_all_near_cases(void **state)
{
    static const struct answer some[] = {
        {"crc", "--ignore=mpa-crc", IW_VERDICT_FAIL, NULL, "no"},
        {"other", "--ignore=mpa-crc", IW_VERDICT_INCONCLUSIVE, NULL, "late"},
        {"far", "--violate=mpa-crc", IW_VERDICT_NOTE, NULL, NULL},
        {0}};

    (void)state;
    answers = some;
    s.full = true;
    /* Then those that noticed nothing, with what others noticed most, but not what is near. */
    plays(1, 0,
          "far other pad crc ; ; crc-ignore=mpa-crc other-ignore=mpa-crc crc-violate=mpa-crc "
          "other-violate=mpa-crc far-violate=mpa-crc pad-violate=mpa-pad far-violate=mpa-pad "
          "other-violate=mpa-pad crc-violate=mpa-pad ; pad-ignore=mpa-crc pad-violate=mpa-crc ; ");
    assert_int_equal(s.probes[0].n_notices, 2);
    assert_ptr_equal(s.probes[0].notices[1].c, &cases[OTHER]);
    assert_int_equal(s.probes[0].notices[1].after, IW_VERDICT_INCONCLUSIVE);
    assert_int_equal(s.n_idle, 1);
    assert_int_equal(iw_self_check_status(&s), 1);
    s.partial = true;
    assert_int_equal(iw_self_check_status(&s), 1);
    assert_int_equal(runs, 4);
}

/* Switches that more cases notice come first, and one notice is enough. */
static void idle_cases_are_asked_in_order_of_rank(void **state)
{
    static const struct answer some[] = {
        {"crc", "--violate=mpa-crc", IW_VERDICT_FAIL, NULL, "no"},
        {"other", "--violate=mpa-crc", IW_VERDICT_FAIL, NULL, "no"},
        {"crc", "--ignore=mpa-crc", IW_VERDICT_FAIL, NULL, "no"},
        {"crc", "--violate=mpa-pad", IW_VERDICT_FAIL, NULL, "no"},
        {"pad", "--ignore=mpa-crc", IW_VERDICT_FAIL, NULL, "no"},
        {"far", "--violate=mpa-pad", IW_VERDICT_FAIL, NULL, "no"},
        {0}};

    (void)state;
    answers = some;
    s.full = true;
    plays(2, 0,
          "far other pad crc ; ; crc-ignore=mpa-crc crc-violate=mpa-crc other-ignore=mpa-crc "
          "other-violate=mpa-crc pad-violate=mpa-pad far-violate=mpa-pad ; "
          "pad-violate=mpa-crc pad-ignore=mpa-crc ; ");
    assert_int_equal(s.n_idle, 0);
    assert_int_equal(iw_self_check_status(&s), 0);
}

static void some_cases_are_asked_of_near_checks_only(void **state)
{
    (void)state;
    s.full = s.partial = true;
    plays(1, 0,
          "far other pad crc ; ; crc-ignore=mpa-crc other-ignore=mpa-crc crc-violate=mpa-crc "
          "other-violate=mpa-crc pad-violate=mpa-pad ; far-ignore=mpa-crc far-violate=mpa-crc "
          "far-violate=mpa-pad other-violate=mpa-pad pad-ignore=mpa-crc pad-violate=mpa-crc "
          "crc-violate=mpa-pad ; ");
    assert_int_equal(s.n_idle, 4);
    assert_int_equal(iw_self_check_status(&s), 1);
}

static void some_switches_show_no_idle_case(void **state)
{
    (void)state;
    s.full = true;
    s.switches = "no-such-switch";
    plays(3, 0,
          "far other pad crc ; ; crc-ignore=mpa-crc crc-violate=mpa-crc pad-violate=mpa-pad "
          "other-ignore=mpa-crc other-violate=mpa-crc far-violate=mpa-pad far-ignore=mpa-crc "
          "far-violate=mpa-crc other-violate=mpa-pad pad-ignore=mpa-crc pad-violate=mpa-crc "
          "crc-violate=mpa-pad ; ");
    assert_int_equal(s.n_idle, 0);
    assert_int_equal(runs, 3);
}

static void a_case_may_say_why_it_is_idle(void **state)
{
    (void)state;
    s.full = true;
    iw_proof_set(&proof.idle, "far", "it only looks");
    begin();
    assert_int_equal(iw_self_check_play(&s, NULL, &options, 1, "dir"), 0);
    assert_string_equal(s.suspects[0].justified, "it only looks");
    assert_null(s.suspects[1].justified);
    assert_int_equal(s.n_idle, 3);
}

/* What is not clean without a switch is asked once more, with more time, and says nothing of
 * switches if it still is not. */
static void a_case_must_be_clean(void **state)
{
    static const struct answer first[] = {{"far", NULL, IW_VERDICT_INCONCLUSIVE, NULL, "late"},
                                          {"other", NULL, IW_VERDICT_NOTE, "o=1", "so so"},
                                          {"pad", NULL, IW_VERDICT_SKIP, NULL, "needs"},
                                          {"crc", NULL, IW_VERDICT_FAIL, NULL, "no"},
                                          {0}};
    static const struct answer second[] = {
        {"crc", NULL, IW_VERDICT_FAIL, "x", "still"},
        {"other", "--ignore=mpa-crc", IW_VERDICT_NOTE, "o=1", NULL},
        {"other", "--violate=mpa-crc", IW_VERDICT_NOTE, NULL, NULL},
        {"other", "--violate=mpa-pad", IW_VERDICT_PASS, "o=1", NULL},
        {0}};

    (void)state;
    answers = first;
    second_answers = second;
    options.time_scale = 0.5;
    plays(1, 0,
          "far other pad crc ; far crc ; other-ignore=mpa-crc far-ignore=mpa-crc "
          "other-violate=mpa-crc far-violate=mpa-pad other-violate=mpa-pad ; ");
    assert_true(scales[0] == 0.5 && scales[1] == 5 && scales[2] == 0.5);
    assert_true(s.suspects[0].usable);
    assert_int_equal(s.suspects[0].verdict, IW_VERDICT_PASS);
    assert_null(s.suspects[0].reason);
    assert_true(s.suspects[1].usable);
    assert_int_equal(s.suspects[1].verdict, IW_VERDICT_NOTE);
    assert_string_equal(s.suspects[1].observed, "o=1");
    assert_string_equal(s.suspects[1].reason, "so so");
    assert_false(s.suspects[2].usable);
    assert_int_equal(s.suspects[2].verdict, IW_VERDICT_SKIP);
    assert_false(s.suspects[3].usable);
    assert_int_equal(s.suspects[3].verdict, IW_VERDICT_FAIL);
    assert_string_equal(s.suspects[3].observed, "x");
    assert_string_equal(s.suspects[3].reason, "still");
    assert_int_equal(s.n_unclean, 1);
    /* The same as without the switch is no notice; to observe something else is one. */
    assert_int_equal(s.probes[0].n_notices, 0);
    assert_int_equal(s.probes[1].n_notices, 1);
    assert_int_equal(s.probes[1].notices[0].before, IW_VERDICT_NOTE);
    assert_null(s.probes[1].notices[0].reason);
    /* A better verdict is one as well. */
    assert_int_equal(s.probes[2].n_notices, 1);
    assert_int_equal(s.probes[2].notices[0].after, IW_VERDICT_PASS);
    s.partial = true;
    assert_int_equal(iw_self_check_status(&s), 1);
    s.n_unclean = 0;
    assert_int_equal(iw_self_check_status(&s), 0);
    s.n_errors = 1;
    assert_int_equal(iw_self_check_status(&s), 70);
}

/* ---- what is printed ---- */

static void listen(void)
{
    struct termios raw;
    int ours;

    assert_int_equal(openpty(&terminal, &ours, NULL, NULL, NULL), 0);
    assert_int_equal(tcgetattr(ours, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(ours, TCSANOW, &raw), 0);
    fflush(stderr);
    before = dup(2);
    assert_int_equal(dup2(ours, 2), 2);
    close(ours);
}

static void printed(const char *expected)
{
    char text[2048];
    size_t n = 0;

    fflush(stderr);
    assert_int_equal(write(2, "\4", 1), 1);
    while (!n || text[n - 1] != '\4')
        assert_int_equal(read(terminal, text + n++, 1), 1);
    text[n - 1] = 0;
    dup2(before, 2);
    close(before);
    before = -1;
    close(terminal);
    assert_string_equal(text, expected);
}

#define WIPE "\r\033[K"

static void errors_are_printed(void **state)
{
    static const struct answer some[] = {
        {"crc", "--ignore=mpa-crc", IW_VERDICT_ERROR, NULL, "it broke"},
        {"other", "--violate=mpa-crc", IW_VERDICT_ERROR, NULL, NULL},
        {"pad", NULL, IW_VERDICT_ERROR, NULL, NULL},
        {0}};

    (void)state;
    answers = some;
    troubled = 3;
    listen();
    plays(1, 0,
          "far other pad crc ; ; crc-ignore=mpa-crc other-ignore=mpa-crc far-ignore=mpa-crc "
          "crc-violate=mpa-crc other-violate=mpa-crc far-violate=mpa-crc far-violate=mpa-pad "
          "other-violate=mpa-pad crc-violate=mpa-pad ; ");
    printed(WIPE WIPE WIPE
            "iwarp-conform: --ignore=mpa-crc, case crc: it broke\n" WIPE "[1/3] switches" WIPE
            "iwarp-conform: --violate=mpa-crc, case other: error\n" WIPE "[2/3] switches" WIPE
            "[3/3] switches" WIPE "iwarp-conform: the target, at its end: a leak\n" WIPE);
    assert_int_equal(s.n_errors, 4);
    assert_int_equal(s.n_unclean, 1);
    assert_int_equal(s.probes[0].n_notices, 0);
    assert_int_equal(s.probes[0].tried, 3);
    assert_int_equal(iw_self_check_status(&s), 70);
}

static void progress_is_shown_on_a_terminal(void **state)
{
    (void)state;
    s.full = true;
    listen();
    begin();
    assert_int_equal(iw_self_check_play(&s, NULL, &options, 1, "dir"), 0);
    printed(WIPE WIPE WIPE "[1/3] switches" WIPE "[2/3] switches" WIPE "[3/3] switches" WIPE WIPE
                           "[0/4] cases" WIPE "[1/4] cases" WIPE "[2/4] cases" WIPE
                           "[3/4] cases" WIPE);
}

/* A worker that has no more to do is asked again while others have. */
static void progress_counts_each_switch_once(void **state)
{
    (void)state;
    listen();
    begin();
    assert_int_equal(iw_self_check_play(&s, NULL, &options, 2, "dir"), 0);
    printed(WIPE WIPE WIPE "[1/3] switches" WIPE "[2/3] switches" WIPE "[3/3] switches" WIPE);
}

static void ended(unsigned *how, unsigned run, int status, const char *says)
{
    runs = 0;
    failing = interrupted = 0;
    *how = run;
    listen();
    begin();
    s.full = true;
    assert_int_equal(iw_self_check_play(&s, NULL, &options, 1, "dir"), status);
    printed(says);
    assert_int_equal(runs, run);
    iw_self_check_free(&s);
    s = (struct iw_self_check){0};
}

static void what_ends_a_stage_ends_all(void **state)
{
    (void)state;
    ended(&failing, 1, 70, "iwarp-conform: no process\n");
    ended(&failing, 2, 70, WIPE "iwarp-conform: no process\n");
    ended(&failing, 3, 70, WIPE WIPE "iwarp-conform: no process\n");
    ended(&interrupted, 1, 128 + 15, WIPE "iwarp-conform: interrupted\n");
    ended(&interrupted, 2, 128 + 15, WIPE WIPE "iwarp-conform: interrupted\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_quick_check_stops_at_the_first_notice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_check_asks_all_near_cases, set_up, tear_down),
        cmocka_unit_test_setup_teardown(idle_cases_are_asked_in_order_of_rank, set_up, tear_down),
        cmocka_unit_test_setup_teardown(some_cases_are_asked_of_near_checks_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(some_switches_show_no_idle_case, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_case_may_say_why_it_is_idle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_case_must_be_clean, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_are_printed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(progress_is_shown_on_a_terminal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(progress_counts_each_switch_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_ends_a_stage_ends_all, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
