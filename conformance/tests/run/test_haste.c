/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a case that did not wait for long may say what it says. */
#include "pool_rig.h"

#include <string.h>

#include "host/text.h"
#include "run/haste.h"

static struct iw_haste h;
static struct iw_run_options options;

static int set_up(void **state)
{
    (void)state;
    h = (struct iw_haste){0};
    options = (struct iw_run_options){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    iw_haste_free(&h);
    return 0;
}

static bool is(double got, double wanted)
{
    return got > wanted - 1e-6 && got < wanted + 1e-6;
}

static iw_haste_trial trial;

static enum iw_haste_verdict judge(double patience, const struct iw_result *r)
{
    return iw_haste_judge(&h, &options, patience, r, &trial);
}

/* Whether a result stands whose case has waited for so many seconds. */
static bool stands(double patience, enum iw_verdict verdict, const char *reason, double waited)
{
    struct iw_result r = {
        .verdict = verdict, .reason = iw_text_copy(reason), .waited = waited, .slowest = 0.001};
    bool yes = judge(patience, &r) == IW_HASTE_STANDS;
    iw_result_free(&r);
    return yes;
}

static bool fails(double patience, const char *rule, const char *how, const char *expected,
                  double waited)
{
    struct iw_result r = {.verdict = IW_VERDICT_FAIL, .waited = waited, .slowest = 0.001};
    iw_result_add_deviation(&r,
                            &(struct iw_deviation){.verdict = IW_VERDICT_FAIL,
                                                   .rule = rule != NULL ? iw_rule_find(rule) : NULL,
                                                   .how = iw_text_copy(how),
                                                   .expected = iw_text_copy(expected)});
    bool yes = judge(patience, &r) == IW_HASTE_STANDS;
    iw_result_free(&r);
    return yes;
}

/* The same of a case that lacks an instrument, with the answer that it waited for. */
static bool lacks(double patience, const char *instrument, const char *expected, double waited)
{
    struct iw_result r = {.verdict = IW_VERDICT_INCONCLUSIVE,
                          .reason = iw_text_copy("blocked"),
                          .blocked = iw_text_copy(instrument),
                          .expected = iw_text_copy(expected),
                          .waited = waited,
                          .slowest = 0.001};
    bool yes = judge(patience, &r) == IW_HASTE_STANDS;
    iw_result_free(&r);
    return yes;
}

static void three_make_haste(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(is(iw_haste_patience(&h, &options), 0));
        assert_true(stands(0, IW_VERDICT_INCONCLUSIVE, "no answer", 3));
    }
    assert_true(is(iw_haste_patience(&h, &options), 0.02));
    assert_true(stands(0.02, IW_VERDICT_INCONCLUSIVE, "no answer", 0.02));
    assert_false(stands(0.02, IW_VERDICT_INCONCLUSIVE, "no event", 0.02));
    assert_false(stands(0.02, IW_VERDICT_PASS, NULL, 0.02));
    assert_false(fails(0.02, "DDP-7.1-01", "missed", "terminate", 0.02));
}

/* Whichever answer a case expected: the instrument gives none. */
static void one_instrument_is_one_reason(void **state)
{
    (void)state;
    assert_true(lacks(0, "read", "stag 1", 3));
    assert_true(lacks(0, "read", "stag 2", 3));
    assert_true(lacks(0, "write", "stag 3", 3));
    assert_true(is(iw_haste_patience(&h, &options), 0));
    assert_true(lacks(0, "read", "stag 3", 3));
    assert_true(is(iw_haste_patience(&h, &options), 0.02));
    assert_true(lacks(0.02, "read", "stag 4", 0.02));
    assert_false(lacks(0.02, "write", "stag 1", 0.02));
    assert_false(lacks(0.02, NULL, "stag 1", 0.02));
}

static void who_has_an_answer_has_made_no_haste(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        stands(0, IW_VERDICT_INCONCLUSIVE, "no answer", 3);
    assert_true(stands(0.02, IW_VERDICT_PASS, NULL, 0.019));
    assert_true(stands(0.02, IW_VERDICT_INCONCLUSIVE, "no event", 0.019));
    assert_true(fails(0.02, "DDP-7.1-01", "missed", "terminate", 0.019));
}

static void what_came_soon_is_not_in_vain(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++)
        stands(0, IW_VERDICT_INCONCLUSIVE, "no answer", 2.9);
    for (int i = 0; i < 9; i++)
        stands(0, IW_VERDICT_PASS, NULL, 3);
    stands(0, IW_VERDICT_INCONCLUSIVE, "no answer", 3);
    stands(0, IW_VERDICT_INCONCLUSIVE, "no event", 3);
    stands(0, IW_VERDICT_INCONCLUSIVE, "no answer", 3);
    assert_true(is(iw_haste_patience(&h, &options), 0));
}

static void a_finding_is_not_accused_in_haste(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(fails(0, "DDP-7.1-01", "missed", "terminate layer 1", 3));
    assert_true(fails(0.02, "DDP-7.1-01", "missed", "terminate layer 1", 0.02));
    /* What no other case saw might not be so with more patience, such as a close after a time. */
    assert_false(fails(0.02, "MPA-7.1.2-22", "not closed", "the end of the stream", 0.02));
    assert_false(fails(0.02, "RDMAP-7.1-05", "unfinished", "terminate layer 1", 0.02));
    /* A crash is one, however short the wait. */
    assert_true(fails(0.02, NULL, "crash", NULL, 0.02));
}

/* Ten times the slowest of 95 % of the answers, unscaled. */
static void patience_follows_the_answers(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        stands(0, IW_VERDICT_INCONCLUSIVE, "no answer", 3);
    for (int i = 0; i < 97; i++) {
        struct iw_result r = {.slowest = i < 92 ? 0.0079 : 1};
        judge(0, &r);
    }
    assert_true(is(iw_haste_patience(&h, &options), 0.08));
    options.time_scale = 0.5;
    assert_true(is(iw_haste_patience(&h, &options), 0.16));
    options.time_scale = 2;
    assert_true(is(iw_haste_patience(&h, &options), 0.08));
    options.time_scale = 1;
    struct iw_result r = {.slowest = 0.5};
    judge(0, &r);
    assert_true(is(iw_haste_patience(&h, &options), 0)); /* above the patience */
}

static void scaled_waits_are_compared(void **state)
{
    (void)state;
    options.patience = 2;
    options.time_scale = 0.5;
    for (int i = 0; i < 3; i++)
        stands(0, IW_VERDICT_INCONCLUSIVE, "no answer", 1);
    assert_true(is(iw_haste_patience(&h, &options), 0.04));
    assert_false(stands(0.04, IW_VERDICT_PASS, NULL, 0.02));
    assert_true(stands(0.04, IW_VERDICT_PASS, NULL, 0.019));
}

/* The same, as in one of several cases that are played side by side. */
static enum iw_haste_verdict hasty(const char *reason)
{
    struct iw_result r = {
        .verdict = IW_VERDICT_INCONCLUSIVE, .reason = iw_text_copy(reason), .waited = 0.02};
    enum iw_haste_verdict verdict = judge(0.02, &r);
    iw_result_free(&r);
    return verdict;
}

static enum iw_haste_verdict later(const char *reason)
{
    struct iw_result r = {
        .verdict = IW_VERDICT_INCONCLUSIVE, .reason = iw_text_copy(reason), .waited = 0.02};
    enum iw_haste_verdict verdict = iw_haste_judge_later(&h, &r, &trial);
    iw_result_free(&r);
    return verdict;
}

/* The whole patience is needed once for a thing that three have seen. */
static void one_trial_for_all(void **state)
{
    (void)state;
    assert_int_equal(hasty("no event"), IW_HASTE_AGAIN);
    assert_int_equal(trial, 1);
    assert_true(iw_haste_trying(&h, 1));
    assert_int_equal(hasty("no event"), IW_HASTE_LATER);
    assert_int_equal(trial, 1);
    assert_int_equal(later("no event"), IW_HASTE_LATER);
    assert_int_equal(hasty("no answer"), IW_HASTE_AGAIN);
    assert_int_equal(trial, 2);
    assert_true(stands(0, IW_VERDICT_INCONCLUSIVE, "no event", 3));
    assert_int_equal(trial, 0);
    iw_haste_tried(&h, 1);
    assert_false(iw_haste_trying(&h, 1));
    assert_true(iw_haste_trying(&h, 2));
    assert_false(iw_haste_trying(&h, 0));
    assert_int_equal(later("no event"), IW_HASTE_STANDS);
    assert_int_equal(hasty("no event"), IW_HASTE_STANDS);
    assert_true(is(iw_haste_patience(&h, &options), 0)); /* three such trials make haste */
}

/* What two have seen in haste and one with patience is established, and no less. */
static void three_establish(void **state)
{
    (void)state;
    stands(0, IW_VERDICT_INCONCLUSIVE, "no event", 3);
    assert_int_equal(hasty("no event"), IW_HASTE_AGAIN);
    assert_int_equal(later("no event"), IW_HASTE_LATER);
    iw_haste_tried(&h, trial);
    assert_int_equal(later("no event"), IW_HASTE_AGAIN);
    iw_haste_tried(&h, trial);
    assert_int_equal(hasty("no event"), IW_HASTE_STANDS);
    for (int i = 0; i < 4; i++) /* however often, in haste alone */
        assert_int_equal(hasty("no answer"), i ? IW_HASTE_LATER : IW_HASTE_AGAIN);
}

/* What is seen in haste alone is tried by each case, side by side. */
static void what_a_trial_does_not_see_holds_up_nobody(void **state)
{
    (void)state;
    assert_int_equal(hasty("no event"), IW_HASTE_AGAIN);
    assert_int_equal(hasty("no event"), IW_HASTE_LATER);
    assert_true(stands(0, IW_VERDICT_PASS, NULL, 3));
    iw_haste_tried(&h, 1);
    iw_haste_tried(&h, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(later("no event"), IW_HASTE_AGAIN);
        assert_int_equal(trial, 0);
    }
}

static void the_pool_plays_again(void **state)
{
    const char *const ids[] = {"vain", "vain", "vain", "vain", "pass", "vain-pass", "vain"};
    const char *const patience[] = {"3", "3", "3", "0.02", NULL, "3", "0.02"};
    (void)state;
    for (size_t i = 0; i < 7; i++)
        pool_add(ids[i]);
    rig.run_options.patience = 3;
    rig.pool.hasty = true;
    pool_run_against_command(WAITS, 1);
    assert_int_equal(rig.n_done, 7);
    for (size_t i = 0; i < 7; i++) {
        if (patience[i] == NULL)
            assert_null(rig.results[i].observed);
        else
            assert_string_equal(rig.results[i].observed, patience[i]);
    }
}

/* Which of two workers comes first is left open, but not how many plays have the whole patience. */
static void two_workers_have_one_trial(void **state)
{
    static const char *const ids[] = {"vain",       "vain",       "vain",      "vain",   "vain",
                                      "vain-a",     "vain-a",     "vain-a",    "vain-a", "vain-a",
                                      "vain-hasty", "vain-hasty", "vain-hasty"};
    enum { JOBS = sizeof(ids) / sizeof(*ids) };
    unsigned patient = 0;
    (void)state;
    for (size_t i = 0; i < JOBS; i++)
        pool_add(ids[i]);
    rig.run_options.patience = 3;
    rig.pool.hasty = true;
    pool_run_against_command(WAITS, 2);
    assert_int_equal(rig.n_done, JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        bool hasty_one = strcmp(ids[i], "vain-hasty") == 0;
        assert_int_equal(rig.results[i].verdict,
                         hasty_one ? IW_VERDICT_PASS : IW_VERDICT_INCONCLUSIVE);
        if (hasty_one)
            assert_string_equal(rig.results[i].observed, "3");
        if (strcmp(ids[i], "vain-a") == 0 && strcmp(rig.results[i].observed, "3") == 0)
            patient++;
    }
    assert_int_equal(patient, 1);
}

#define HASTE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HASTE_TEST(three_make_haste),
        HASTE_TEST(one_instrument_is_one_reason),
        HASTE_TEST(who_has_an_answer_has_made_no_haste),
        HASTE_TEST(what_came_soon_is_not_in_vain),
        HASTE_TEST(a_finding_is_not_accused_in_haste),
        HASTE_TEST(patience_follows_the_answers),
        HASTE_TEST(scaled_waits_are_compared),
        HASTE_TEST(one_trial_for_all),
        HASTE_TEST(three_establish),
        HASTE_TEST(what_a_trial_does_not_see_holds_up_nobody),
        POOL_TEST(the_pool_plays_again),
        POOL_TEST(two_workers_have_one_trial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
