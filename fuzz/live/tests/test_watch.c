/* SPDX-License-Identifier: BSD-3-Clause */
/* The hunt elsewhere, as the program that watches it sees it. */
#include "shell_stage.h"

#include <stdio.h>

#include "host/text.h"

static int status;

static void watch(void *context)
{
    (void)context;
    status = iw_hunt_watch(&hunt);
}

/* Watches a hunt whose commands do this; what is printed, and what was run. */
static void watches(const struct act *list, int expected, const char *printed, const char *runs)
{
    shell.acts = list;
    char *text = support_printed(2, watch, NULL);
    char *filled = iw_text_fill(printed, (const char *const[]){"D", hunt.dir, NULL});

    assert_string_equal(text, filled);
    assert_int_equal(status, expected);
    free(text);
    free(filled);
    shell_does(runs);
}

#define WELL(n) "{\"sequences\": " #n ", \"starts\": 1}"
#define SESSION .file = "session.json", .text = "{}"

static void one_session(void **state)
{
    static const struct act list[] = {
        WELL_DONE, {.progress = WELL(10), SESSION}, WELL_DONE, NO_MORE};

    (void)state;
    watches(list, 0, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json | in: true #120");
    assert_int_equal(hunt.over, 10);
    assert_int_equal(hunt.world.starts, 1);
    assert_int_equal(hunt.began, 1000000000);
}

static void several_sessions(void **state)
{
    static const struct act list[] = {
        WELL_DONE,
        {.progress = "{\"sequences\": 4, \"starts\": 2, \"states\": 5, \"edges\": 7, \"kept\": 1, "
                     "\"places\": 9}",
         SESSION},
        {.progress = "{\"sequences\": 3, \"starts\": 1, \"states\": 6, \"edges\": 6, \"kept\": 2, "
                     "\"places\": 8}",
         SESSION},
        {.progress = WELL(3), SESSION},
        WELL_DONE,
        FAILED,
        NO_MORE};
    static char graph[] = "g.json";

    (void)state;
    options.graph = graph;
    options.time = 100;
    hunt.began = 1000000000;
    watches(list, 70, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --time 100.0"
            " --count 10 --graph D/graph.json #120D/progress.json | FUZZ --resume --json"
            " D/session.json --seed 101 --time 100.0 --count 6 --graph D/graph.json"
            " #120D/progress.json | FUZZ --resume --json D/session.json --seed 102 --time"
            " 100.0 --count 3 --graph D/graph.json #120D/progress.json | in: true #120 | cp"
            " -- D/graph.json g.json");
    assert_int_equal(hunt.over, 10);
    assert_int_equal(hunt.world.starts, 4);
    assert_int_equal(hunt.session_counts.states, 6);
    assert_int_equal(hunt.session_counts.edges, 7);
    assert_int_equal(hunt.session_counts.kept, 2);
    assert_int_equal(hunt.session_counts.places, 9);
}

/* The time that is left, and the graph's file. */
static void what_a_session_is_told(void **state)
{
    static const struct act list[] = {
        WELL_DONE, {.stops = true, .progress = WELL(1), SESSION}, FAILED, NO_MORE};
    static const struct act copied[] = {
        WELL_DONE, {.stops = true, .progress = WELL(1), SESSION}, WELL_DONE, NO_MORE};
    static char graph[] = "a.dot";

    (void)state;
    options.time = 12.3;
    options.count = 0;
    watches(list, 0, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --time 12.3"
            " #120D/progress.json");
    shell.stop = 0;
    hunt.over = 0;
    options.time = 0.05;
    options.count = 7;
    options.graph = graph;
    watches(list, 70, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --time 0.1"
            " --count 7 --graph D/graph #120D/progress.json | cp -- D/graph a.dot");
    shell.stop = 0;
    hunt.over = 0;
    watches(copied, 0, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --time 0.1"
            " --count 7 --graph D/graph #120D/progress.json | cp -- D/graph a.dot");
}

static void where_nothing_is_inside(void **state)
{
    static const struct act list[] = {FAILED, NO_MORE},
                            stopped[] = {{.status = 1, .stops = true}, NO_MORE};

    (void)state;
    shell.not_inside = true;
    watches(list, 70, "", "");
    shell.not_inside = false;
    shell.nowhere = true;
    const char *dir = hunt.dir;
    hunt.dir = "nowhere";
    watches(list, 3, "iwarp-fuzz: --target the target: what it is inside of cannot be reached\n",
            " | in: true #120");
    shell.nowhere = false;
    hunt.dir = dir;
    options.count = 0;
    watches(stopped, 0, "", " | in: true #120");
}

static void a_kernel_that_is_stuck(void **state)
{
    static const struct act list[] = {WELL_DONE,
                                      {.status = 137, .progress = WELL(4), .stuck = true},
                                      {.progress = WELL(6), SESSION},
                                      WELL_DONE,
                                      NO_MORE};

    (void)state;
    watches(list, 0, "iwarp-fuzz: the target's kernel was stuck; it is started again\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json | restart | triage(hang the target's kernel was stuck, 2)"
            " | FUZZ --resume --json D/session.json --seed 101 --count 6 #120D/progress.json"
            " | in: true #120");
    assert_int_equal(hunt.restarts, 1);
}

static void a_kernel_that_ends(void **state)
{
    static const struct act list[] = {WELL_DONE, {.status = 137, .progress = WELL(4)},
                                      FAILED,    {.progress = WELL(6), SESSION},
                                      FAILED,    NO_MORE};
    static const struct act gone[] = {
        WELL_DONE, {.status = 137, .progress = WELL(4)}, FAILED, NO_MORE};

    (void)state;
    watches(list, 0,
            "iwarp-fuzz: it ended; it is started again\n"
            "iwarp-fuzz: it ended; it is started again\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json | in: true #120 | restart | triage(crash it ended, 2) |"
            " FUZZ --resume --json D/session.json --seed 101 --count 6 #120D/progress.json |"
            " in: true #120 | restart | triage(crash it ended, 2)");
    assert_int_equal(hunt.restarts, 2);
    hunt.over = 0;
    shell.bad_restart = true;
    watches(gone, 70, "iwarp-fuzz: it ended; it is started again\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json | in: true #120 | restart | unexplained(crash it ended, 2)");
    spec.restart = NULL;
    watches(gone, 70,
            "iwarp-fuzz: it ended; it is started again\n"
            "iwarp-fuzz: --target the target: it has ended, and no command brings it back\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 6"
            " #120D/progress.json | in: true #120 | unexplained(crash it ended, 2)");
}

/* After a session that was not the last, nobody asks: the next one will see it. */
static void a_session_among_others(void **state)
{
    static const struct act list[] = {WELL_DONE,
                                      {.progress = WELL(4), .stuck = true, SESSION},
                                      {.progress = WELL(6), SESSION},
                                      WELL_DONE,
                                      NO_MORE};

    (void)state;
    watches(list, 0, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json | FUZZ --resume --json D/session.json --seed 101 --count 6"
            " #120D/progress.json | in: true #120");
}

static void a_session_with_findings(void **state)
{
    static struct iw_hunt_finding f;
    static const struct act list[] = {WELL_DONE,
                                      {.status = 1, .progress = WELL(4), SESSION},
                                      {.progress = WELL(6), SESSION},
                                      WELL_DONE,
                                      NO_MORE};

    (void)state;
    watches(list, 70,
            "iwarp-fuzz: the hunt inside has found something, but it is not in "
            "{D}/findings.jsonl\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json");
    hunt.over = 0;
    shell.found = &f;
    watches(list, 0, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json | FUZZ --resume --json D/session.json --seed 101 --count 6"
            " #120D/progress.json | in: true #120");
}

static void a_session_that_is_interrupted(void **state)
{
    static const struct act list[] = {
        WELL_DONE, {.status = 9, .stops = true, .stuck = true}, NO_MORE};

    (void)state;
    watches(list, 0, "",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json");
}

/* Ends a session in a kernel that is still there with this status. */
static void ends_with(int session, int expected, bool tries)
{
    const struct act list[] = {WELL_DONE, {.status = session, .progress = WELL(1)},
                               WELL_DONE, {.progress = WELL(9), SESSION},
                               WELL_DONE, NO_MORE};
    char *printed = iw_text_format("iwarp-fuzz: the hunt inside ended with status %d%s\n", session,
                                   tries ? "; everything is started again" : "");

    hunt.over = 0;
    shell.acts = list;
    char *text = support_printed(2, watch, NULL);
    assert_string_equal(text, printed);
    assert_int_equal(status, expected);
    assert_int_equal(strstr(shell.noted, "restart") != NULL, tries);
    *shell.noted = 0;
    free(text);
    free(printed);
}

static void sessions_that_fail(void **state)
{
    (void)state;
    ends_with(3, 0, true);
    ends_with(137, 0, true);
    ends_with(126, 0, true);
    ends_with(64, 64, false);
    ends_with(70, 70, false);
    ends_with(127, 70, false);
    shell.bad_restart = true;
    ends_with(3, 70, true);
    spec.restart = NULL;
    ends_with(126, 126, false);
    ends_with(128, 70, false);
    ends_with(3, 3, false);
}

/* Three in a row that get nowhere are enough. */
static void sessions_in_vain(void **state)
{
    static const struct act list[] = {
        WELL_DONE,     {.status = 3}, WELL_DONE,
        {.status = 3}, WELL_DONE,     {.status = 3, .progress = WELL(1)},
        WELL_DONE,     {.status = 3}, WELL_DONE,
        {.status = 3}, WELL_DONE,     {.status = 3},
        WELL_DONE,     NO_MORE};

    (void)state;
    watches(list, 3,
            "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n"
            "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n"
            "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n"
            "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n"
            "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n"
            "iwarp-fuzz: the hunt inside ended with status 3\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 10"
            " #120D/progress.json | in: true #120 | restart | FUZZ --resume --json"
            " D/session.json --seed 101 --count 10 #120D/progress.json | in: true #120 |"
            " restart | FUZZ --resume --json D/session.json --seed 102 --count 10"
            " #120D/progress.json | in: true #120 | restart | FUZZ --resume --json"
            " D/session.json --seed 103 --count 9 #120D/progress.json | in: true #120 |"
            " restart | FUZZ --resume --json D/session.json --seed 104 --count 9"
            " #120D/progress.json | in: true #120 | restart | FUZZ --resume --json"
            " D/session.json --seed 105 --count 9 #120D/progress.json | in: true #120");
}

static void more_restarts_than_sequences(void **state)
{
    static const struct act list[] = {
        WELL_DONE, {.status = 3, .progress = WELL(1)}, WELL_DONE, NO_MORE};
    static const struct act on[] = {WELL_DONE, {.status = 3, .progress = WELL(10)},
                                    WELL_DONE, {.progress = WELL(1000), SESSION},
                                    WELL_DONE, NO_MORE};

    (void)state;
    options.count = 3000;
    hunt.restarts = 199;
    hunt.over = 1998;
    watches(list, 70,
            "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n"
            "iwarp-fuzz: everything has been started again 200 times for 1999 sequences: that is "
            "enough\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 1002"
            " #120D/progress.json | in: true #120 | restart");
    hunt.restarts = 199;
    hunt.over = 1990;
    watches(on, 0, "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 1010"
            " #120D/progress.json | in: true #120 | restart | FUZZ --resume --json"
            " D/session.json --seed 101 --count 1000 #120D/progress.json | in: true #120");
    hunt.restarts = 198;
    hunt.over = 0;
    options.count = 11;
    watches(on, 0, "iwarp-fuzz: the hunt inside ended with status 3; everything is started again\n",
            " | in: true #120 | FUZZ --resume --json D/session.json --seed 100 --count 11"
            " #120D/progress.json | in: true #120 | restart | FUZZ --resume --json"
            " D/session.json --seed 101 --count 1 #120D/progress.json | in: true #120");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_session, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(several_sessions, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(what_a_session_is_told, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(where_nothing_is_inside, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(a_kernel_that_is_stuck, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(a_kernel_that_ends, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(a_session_among_others, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(a_session_with_findings, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(a_session_that_is_interrupted, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(sessions_that_fail, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(sessions_in_vain, shell_begin, shell_end),
        cmocka_unit_test_setup_teardown(more_restarts_than_sequences, shell_begin, shell_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
