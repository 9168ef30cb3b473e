/* SPDX-License-Identifier: BSD-3-Clause */
/* When a hunt looks at the peer, and what follows from what it sees. */
#include "hunt_stage.h"

static struct iw_hunt_finding one;

/* ---- the peer ---- */

static void a_look_each_second(void **state)
{
    (void)state;
    options.count = 25;
    hunt.world.slots = 1;
    stage.step_ms = 100;
    stage.only = "lge";
    stage_goes(0, " look0 look1 look12 look23 look25 end");
}

/* Only what began after memory was last right may have done it. */
static void memory_that_has_changed(void **state)
{
    (void)state;
    hunt.world.n_memories = 1;
    hunt.world.slots = 4;
    options.count = 80;
    options.blind = true;
    stage.slow = true;
    stage.stray_from = 60;
    stage.only = "lgetoc%";
    stage_goes(0, " open look0 look4 glance36 glance68 look71 close triage(stray, bad: 22 23 24 25"
                  " 26 27 28 29 2a 2b 2c 2d 2e 2f 30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f"
                  " 40 41 42 43 44) open look80 close end");
}

static void memory_that_was_right_at_the_end_of_all(void **state)
{
    (void)state;
    hunt.world.n_memories = 1;
    hunt.world.slots = 1;
    options.count = 40;
    options.blind = true;
    stage.stray_from = 36;
    stage.step_ms = 0;
    stage.only = "lgetoc%";
    stage_goes(0, " open look0 look1 glance33 look40 close triage(stray, bad: 1f 20 21 22 23 24"
                  " 25) close end");
}

static void connections_that_are_refused(void **state)
{
    (void)state;
    stage.refused_from = 3;
    stage.refused_to = 4;
    options.count = 4;
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 step10 kept(a1) abort look2 . !a3 @3:a3"
                  " *a1/a1 !01 @4:01 step10 abort look2 . *a1/a2 !02 @5:02 *a1/a1 !03 @6:03 step10"
                  " . abort look4 abort close end");
    assert_int_equal(hunt.recent.added, 4);
    assert_int_equal(hunt.over, 4);
}

static void all_connections_are_refused(void **state)
{
    (void)state;
    stage.refused_from = 3;
    stage.refused_to = UINT64_MAX;
    stage.only = "";
    stage_fails(
        3, "iwarp-fuzz: --target the target: none of the last 102 connections was accepted\n", "");
    assert_int_equal(hunt.over, 2);
}

static void a_crash(void **state)
{
    (void)state;
    stage.dead_from = 4;
    options.count = 8;
    stage.slow = true;
    hunt.world.slots = 3;
    stage_goes(0,
               " open attach look0 !a1 @1:a1 !a2 @2:a2 !a3 @3:a3 step10 kept(a1) step50 step50"
               " abort look3 . *a1/a1 !01 @4:01 *a1/a1 !02 @5:02 *a1/a3 !03 @6:03 step10 abort"
               " kept(02) look6 abort close triage(crash, bad: a1 a2 a3 01 02 03) . open attach"
               " *02/02 !04 @7:04 *02/02 !05 @8:05 step10 . step10 . abort look8 abort close end");
    assert_int_equal(stage.opens, 2);
    assert_int_equal(hunt.recent.added, 2);
}

/* It is the last one: nothing is left to be looked at. */
static void a_crash_at_the_end(void **state)
{
    (void)state;
    stage.dead_from = 5;
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 step10 kept(a1) abort look2 . !a3 @3:a3"
                  " *a1/a1 !01 @4:01 step10 . *a1/a2 !02 @5:02 step10 abort look5 abort close"
                  " triage(crash, bad: a1 a2 a3 01 02) . abort close end");
    assert_int_equal(stage.opens, 1);
}

static void a_peer_that_does_not_come_back(void **state)
{
    static char key[] = "crash";

    (void)state;
    one = (struct iw_hunt_finding){.key = key};
    for (int i = 0; i < 2; i++) {
        stage.found = i ? &one : NULL;
        stage.dead_from = 3;
        stage.good_opens = 1;
        stage.bad_opens = 3;
        stage.opened = IW_TARGET_UNREACHED;
        stage.only = "ltoce%";
        stage_fails(i ? IW_EXIT_FAILURE : IW_EXIT_UNREACHED, "iwarp-fuzz: so it is\n",
                    " open look0 look2 look4 close triage(crash, bad: a1 a2 a3 01) open open open"
                    " close end");
        stage_end(state);
        stage_begin(state);
    }
    hunt.findings = &one; /* of an earlier hunt: this one has found nothing */
    stage.opened = IW_TARGET_UNREACHED;
    stage.bad_opens = 3;
    stage_fails(IW_EXIT_UNREACHED, "iwarp-fuzz: so it is\n", " open open open abort close end");
}

/* ---- broken rules ---- */

static void a_broken_rule(void **state)
{
    (void)state;
    stage.broken = IW_CHECK_MPA_REV;
    options.count = 4;
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 step10 kept(a1) abort triage(rule,"
                  " mpa-rev (MPA-7.1.1-16): the revision of a start-up frame is not one that this"
                  " end supports: a1) abort look2 . !a3 @3:a3 *a1/a1 !01 @4:01 step10 . abort"
                  " look4 abort close end");
    assert_int_equal(hunt.n_broken, 0);
    stage_end(state);
    stage_begin(state);
    stage.broken = IW_CHECK_MPA_REV;
    options.count = 4;
    stage.closes = true; /* then there is nothing to be looked at */
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 step10 kept(a1) abort triage(rule,"
                  " mpa-rev (MPA-7.1.1-16): the revision of a start-up frame is not one that this"
                  " end supports: a1) open attach !a3 @3:a3 *a1/a1 !01 @4:01 step10 abort look4 ."
                  " abort look4 abort close end");
}

/* A sequence is over in which these rules were broken; how many wait for a look. */
static void breaks(const enum iw_check *checks, size_t n, size_t wait)
{
    struct iw_hunt_done d = {.input = support_input("a01"), .number = 1, .n_findings = n};

    memcpy(d.findings, checks, n * sizeof(*checks));
    stage.call(&hunt, &d);
    assert_int_equal(hunt.n_broken, wait);
}

static void which_are_looked_into(void **state)
{
    static char unexplained[] = "unexplained rule x", rule[] = "rule x",
                longer[] = "unexplainedly x";
    static struct iw_hunt_finding refusal, two, three;
    const enum iw_check first[] = {1, 2, 1, 3}, many[] = {8, 7, 6, 5, 4}, more[] = {9, 10};

    (void)state;
    three = (struct iw_hunt_finding){
        .event = {.kind = IW_HUNT_RULE, .check = 3}, .key = unexplained, .times = 2};
    two = (struct iw_hunt_finding){
        .event = {.kind = IW_HUNT_RULE, .check = 2}, .key = longer, .times = 1, .next = &three};
    refusal = (struct iw_hunt_finding){
        .event = {.kind = IW_HUNT_REFUSAL, .check = 1}, .key = rule, .times = 6, .next = &two};
    one = (struct iw_hunt_finding){
        .event = {.kind = IW_HUNT_CRASH, .check = 1}, .key = rule, .times = 5, .next = &refusal};
    iw_hunt_make_parts(&hunt);
    hunt.findings = &one;
    breaks(first, 4, 2);
    assert_int_equal(hunt.broken[0].check, 1);
    assert_int_equal(hunt.broken[1].check, 3);
    support_is(hunt.broken[1].input, "a01");
    assert_int_equal(one.times, 5);
    assert_int_equal(refusal.times, 6);
    assert_int_equal(two.times, 2);
    assert_int_equal(three.times, 2);
    breaks(first, 4, 2);
    assert_int_equal(two.times, 3);
    three.times = 3; /* often enough */
    iw_hunt_input_free(hunt.broken[--hunt.n_broken].input);
    breaks(first, 4, 1);
    assert_int_equal(three.times, 4);
    hunt.broken[1].check = 8; /* one that has been looked into */
    breaks(many, 5, 6);
    breaks(many, 5, 6);
    breaks(more, 2, 8);
    breaks((const enum iw_check[]){11}, 1, 8);
    while (hunt.n_broken)
        iw_hunt_input_free(hunt.broken[--hunt.n_broken].input);
    hunt.findings = NULL;
}

/* One that is tried has no part in the hunt. */
static void a_trial(void **state)
{
    struct iw_hunt_done d = {.input = support_input("a01"), .connected = true, .n_findings = 1};

    (void)state;
    iw_hunt_make_parts(&hunt);
    stage.call(&hunt, &d);
    assert_true(hunt.trial.connected);
    assert_null(hunt.trial.input);
    assert_int_equal(hunt.over, 0);
    assert_int_equal(hunt.n_broken, 0);
    /* No answer at all is no refusal, whatever lies before the row; nor is silence. */
    d = (struct iw_hunt_done){.input = support_input("a02"), .number = IW_ANSWER_REFUSED << 24};
    stage.call(&hunt, &d);
    d = (struct iw_hunt_done){.input = support_input("a03"), .number = 2};
    iw_hunt_row_add(&d.row, IW_ANSWER_SILENCE, 0, 0);
    stage.call(&hunt, &d);
    assert_int_equal(hunt.over, 2);
    assert_false(hunt.suspicious);
    assert_int_equal(hunt.recent.added, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_look_each_second, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(memory_that_has_changed, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(memory_that_was_right_at_the_end_of_all, stage_begin,
                                        stage_end),
        cmocka_unit_test_setup_teardown(connections_that_are_refused, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(all_connections_are_refused, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_crash, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_crash_at_the_end, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_peer_that_does_not_come_back, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_broken_rule, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(which_are_looked_into, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_trial, stage_begin, stage_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
