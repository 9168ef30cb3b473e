/* SPDX-License-Identifier: BSD-3-Clause */
/* A hunt from its begin to its end: what is chosen, what is kept, its limits. */
#include "hunt_stage.h"

enum { MS = 1000000 };

/* ---- from the begin to the end ---- */

static void a_whole_hunt(void **state)
{
    (void)state;
    stage.rows = EACH;
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 step10 kept(a1) kept(a2) abort look2 ."
                  " !a3 @3:a3 *a1/a2 !01 @4:01 step10 kept(a3) kept(01) . *a3/a2 !02 @5:02 step10"
                  " kept(02) . abort look5 abort close end");
    assert_int_equal(hunt.over, 5);
    assert_int_equal(hunt.started, 5);
    assert_int_equal(hunt.began, 1000 * MS);
    assert_int_equal(hunt.digest, 0xe1ca688f4ed540fc);
    assert_int_equal(hunt.well, 5);
    assert_int_equal(hunt.last_look, 5);
    assert_true(hunt.patience >= 1 && hunt.patience <= 1);
    assert_int_equal(iw_hunt_graph_states(hunt.graph), 7);
}

/* What is learnt is not varied. */
static void a_blind_hunt(void **state)
{
    (void)state;
    options.blind = true;
    options.count = 12;
    hunt.world.slots = 32;
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 !a3 @3:a3 *a2/a2 !01 @4:01 *a1/a1 !02"
                  " @5:02 *a1/a2 !03 @6:03 *a3/a1 !04 @7:04 *a1/a3 !05 @8:05 *a1/a3 !06 @9:06"
                  " *a2/a1 !07 @10:07 *a1/a1 !08 @11:08 *a2/a1 !09 @12:09 step10 abort look12 ."
                  " abort look12 abort close end");
}

/* Of a few that were kept the rarest is chosen, of equal ones that with fewer choices. */
static void the_rarest_is_chosen(void **state)
{
    (void)state;
    options.count = 40;
    hunt.world.slots = 1;
    stage.rows = RARER;
    stage.only = "*";
    stage_goes(0, " *a2/a1 *01/01 *a1/a2 *01/a2 *01/a1 *a2/05 *a2/a3 *01/a2 *05/a1 *05/01 *05/a3"
                  " *05/a2 *05/a1 *a2/a1 *a2/a2 *a3/a1 *05/05 *05/a3 *05/a2 *0d/a2 *0d/01 *a2/a2"
                  " *a3/a2 *05/05 *0d/a2 *0d/a1 *0d/05 *a2/a2 *01/05 *1d/a2 *1d/a1 *0d/a2 *a3/01"
                  " *a2/05 *0d/1d *1d/a1 *05/a3");
    for (size_t i = 0; i < hunt.n_corpus; i++)
        stage_note(" *%02x=%u", hunt.corpus[i].input->steps[0].octets[0],
                   (unsigned)hunt.corpus[i].chosen);
    stage_noted(" *a1=1 *a2=5 *01=5 *05=10 *0d=7 *1d=3");
}

static void places_in_the_peer(void **state)
{
    (void)state;
    hunt.coverage = (struct iw_hunt_coverage *)&stage;
    stage.fresh = 1;
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 step10 kept(a1) kept(a2) abort look2 ."
                  " !a3 @3:a3 *a1/a2 !01 @4:01 step10 kept(a3) kept(01) . *a3/a2 !02 @5:02 step10"
                  " kept(02) . abort look5 abort close end");
}

/* Three times, then it is said why. */
static void a_target_that_does_not_open(void **state)
{
    (void)state;
    stage.opened = IW_TARGET_UNREACHED;
    stage.bad_opens = 3;
    stage_fails(IW_EXIT_UNREACHED, "iwarp-fuzz: so it is\n", " open open open abort close end");
    stage_end(state);
    stage_begin(state);
    stage.opened = IW_TARGET_BROKEN;
    stage.bad_opens = 3;
    stage_fails(IW_EXIT_TESTER, "iwarp-fuzz: so it is\n", " open open open abort close end");
    stage_end(state);
    stage_begin(state);
    stage.opened = IW_TARGET_UNREACHED;
    stage.bad_opens = 2;
    options.count = 1;
    stage_goes(0, " open open open attach look0 !a1 @1:a1 step10 kept(a1) abort look1 . abort"
                  " look1 abort close end");
}

static void a_target_that_is_not_well(void **state)
{
    (void)state;
    stage.looks_like = IW_HUNT_HANG;
    snprintf(hunt.world.why, sizeof(hunt.world.why), "nobody");
    stage_fails(IW_EXIT_UNREACHED, "iwarp-fuzz: --target the target: bad\n",
                " open attach look0 abort close abort close end");
    stage_end(state);
    stage_begin(state);
    stage.looks_like = IW_HUNT_REFUSAL;
    stage_fails(IW_EXIT_UNREACHED, "iwarp-fuzz: --target the target: bad\n",
                " open attach look0 abort close abort close end");
    stage_end(state);
    stage_begin(state);
    stage.looks_like = IW_HUNT_REFUSAL;
    snprintf(hunt.world.why, sizeof(hunt.world.why), "nobody");
    stage_fails(IW_EXIT_UNREACHED, "iwarp-fuzz: --target the target: nobody\n",
                " open attach look0 abort close abort close end");
}

/* ---- limits ---- */

static void is_over(bool expected)
{
    assert_int_equal(iw_hunt_is_over(&hunt), expected);
}

static void when_it_is_over(void **state)
{
    static char key[] = "a", reason[] = "b";
    struct iw_hunt_finding known = {.key = key, .suppressed = reason};
    struct iw_hunt_finding two = {.key = key, .next = &known}, one = {.key = key, .next = &two};

    (void)state;
    hunt.began = stage.now;
    options.count = 0;
    hunt.over = 1000000;
    is_over(false);
    stage.stop = 1;
    is_over(true);
    stage.stop = 0;
    options.count = 1000001;
    is_over(false);
    options.count = 1000000;
    is_over(true);
    options.count = 0;
    options.time = 1.5;
    stage.now += 1499 * MS;
    is_over(false);
    stage.now += MS;
    is_over(true);
    options.time = 0;
    is_over(false);
    hunt.findings = &one;
    is_over(false);
    options.findings = 3; /* known ones do not count */
    is_over(false);
    options.findings = 2;
    is_over(true);
    hunt.findings = NULL;
}

static void some_a_second(void **state)
{
    (void)state;
    options.rate = 10;
    options.count = 0;
    options.time = 1;
    stage.step_ms = 150;
    hunt.world.slots = 32;
    stage_goes(0, " open attach look0 !a1 @1:a1 step10 kept(a1) abort look1 . !a2 @2:a2 step10 ."
                  " !a3 @3:a3 *a1/a1 !01 @4:01 step10 . *a1/a2 !02 @5:02 step10 . *a1/a2 !03 @6:03"
                  " *a1/a1 !04 @7:04 step10 . *a1/a1 !05 @8:05 step10 . *a2/a3 !06 @9:06 *a1/a3"
                  " !07 @10:07 step10 . abort look10 abort close end");
    stage_end(state);
    stage_begin(state);
    options.rate = 10;
    options.count = 4; /* fewer than that */
    stage.step_ms = 150;
    hunt.world.slots = 32;
    stage_goes(0, " open attach look0 !a1 @1:a1 step10 kept(a1) abort look1 . !a2 @2:a2 step10 ."
                  " !a3 @3:a3 *a1/a1 !01 @4:01 step10 . abort look4 abort close end");
}

/* What could not be started is as if it had never been chosen. */
static void no_more_than_there_is_room_for(void **state)
{
    (void)state;
    options.blind = true;
    options.count = 0;
    options.time = 0.003;
    stage.room = 3;
    stage_goes(0, " open attach look0 !a1 @1:a1 !a2 @2:a2 step10 abort look2 . !a3 @3:a3 *a2/a2"
                  " !01 step10 . *a2/a2 !02 step10 . abort look3 abort close end");
    assert_int_equal(hunt.started, 3);
    assert_int_equal(hunt.over, 3);
    assert_int_equal(hunt.random.state, 11);
    uint64_t digest = IW_HUNT_DIGEST;
    for (size_t i = 0; i < STAGE_SEEDS; i++)
        digest = iw_hunt_input_digest(digest, hunt.seeds.list[i]);
    assert_int_equal(hunt.digest, digest);
}

static void deadly_ones_are_left_out(void **state)
{
    (void)state;
    options.count = 2;
    hunt.world.slots = 1;
    stage.deadly = 2;
    stage_goes(0, " open attach look0 *a2/a2 *a1/a1 !02 @1:02 step10 kept(02) abort look1 . !a2"
                  " @2:a2 step10 . abort look2 abort close end");
    stage_end(state);
    stage_begin(state);
    options.count = 1;
    stage.deadly = 31;
    stage_goes(0, " open attach look0 *a2/a2 *a1/a1 *a1/a2 *a3/a1 *a1/a3 *a1/a3 *a2/a1 *a1/a1"
                  " *a2/a1 *a2/a3 *a1/a2 *a2/a3 *a1/a2 *a1/a2 *a2/a2 *a1/a3 *a1/a2 *a2/a2 *a1/a3"
                  " *a3/a3 *a1/a1 *a1/a3 *a2/a2 *a2/a3 *a3/a2 *a3/a2 *a3/a1 *a2/a3 *a2/a3 *a1/a2"
                  " !1e @1:1e step10 kept(1e) abort look1 . abort look1 abort close end");
    assert_int_equal(stage.made, 30);
    assert_int_equal(stage.deadly, 1);
}

static void only_so_many_are_kept(void **state)
{
    (void)state;
    options.count = 5000;
    hunt.world.slots = 32;
    stage.rows = EACH;
    stage.step_ms = 0;
    stage.only = "lge";
    stage_goes(0, " look0 look32 look4128 look5000 end");
    assert_int_equal(hunt.n_corpus, IW_HUNT_CORPUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_whole_hunt, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_blind_hunt, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(the_rarest_is_chosen, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(places_in_the_peer, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_target_that_does_not_open, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(a_target_that_is_not_well, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(when_it_is_over, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(some_a_second, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(no_more_than_there_is_room_for, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(deadly_ones_are_left_out, stage_begin, stage_end),
        cmocka_unit_test_setup_teardown(only_so_many_are_kept, stage_begin, stage_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
