/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a run may still take, for times that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "run/eta.h"

enum { CASES = 100 };

static const uint64_t second = 1000000000;
static struct iw_need needs[] = {{(char[]){"agent"}, (char[]){"true"}}};
static struct iw_case plain = {.role = IW_MPA_RESPONDER},
                      needy = {.role = IW_MPA_RESPONDER, .needs = needs, .n_needs = 1},
                      calling = {.role = IW_MPA_INITIATOR};
static struct iw_entry entries[CASES];
static struct iw_record record;
static struct iw_eta eta;
static const struct iw_result good = {.verdict = IW_VERDICT_PASS},
                              skipped = {.verdict = IW_VERDICT_SKIP},
                              blocked = {.verdict = IW_VERDICT_INCONCLUSIVE,
                                         .blocked = (char[]){"read"}};

/* Half of the cases need an agent, one in four has the target connect. */
static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        entries[i] = (struct iw_entry){.c = i % 2 ? &needy : i % 4 ? &calling : &plain};
    record = (struct iw_record){.entries = entries, .count = CASES, .repeat = 1};
    eta = (struct iw_eta){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    iw_eta_free(&eta);
    return 0;
}

static void is(double seconds, double expected)
{
    assert_true(seconds > expected - 0.001 && seconds < expected + 0.001);
}

static void few_cases_say_nothing(void **state)
{
    (void)state;
    iw_eta_begin(&eta, &record, 5 * second);
    is(iw_eta_seconds(&eta, 5 * second), -1);
    for (size_t i = 0; i < 9; i++)
        iw_eta_add(&eta, i, &good);
    iw_eta_add(&eta, 9, &skipped);
    is(iw_eta_seconds(&eta, 14 * second), -1);
    iw_eta_add(&eta, 10, &good);
    /* 10 of 11 were played, in 10 s; of those with needs 4 of 5, and 45 are left. */
    is(iw_eta_seconds(&eta, 15 * second), 22 + 22 + 0.8 * 45);
}

static void cases_that_are_skipped_take_no_time(void **state)
{
    (void)state;
    iw_eta_begin(&eta, &record, 0);
    for (size_t i = 0; i < 40; i++)
        iw_eta_add(&eta, i, i % 2 ? &skipped : &good);
    /* 20 in 40 s, and 30 to come. */
    is(iw_eta_seconds(&eta, 40 * second), 60);
}

static void so_do_those_that_are_blocked(void **state)
{
    (void)state;
    iw_eta_begin(&eta, &record, 0);
    for (size_t i = 0; i < 40; i++)
        iw_eta_add(&eta, i, i % 4 == 2 ? &blocked : &good);
    is(iw_eta_seconds(&eta, 30 * second), 45);
}

static void groups_that_are_unknown_are_like_the_others(void **state)
{
    (void)state;
    iw_eta_begin(&eta, &record, 0);
    for (size_t i = 0; i < 80; i += 4)
        iw_eta_add(&eta, i, i % 8 ? &skipped : &good);
    /* Half of them, 10 in 10 s; 80 are left. */
    is(iw_eta_seconds(&eta, 10 * second), 40);
}

static void what_was_done_before_does_not_count(void **state)
{
    (void)state;
    entries[3].c = NULL; /* a file that could not be read */
    record.repeat = 2;
    for (size_t i = 0; i < 50; i++)
        entries[i].handed = i < 40 ? 2 : 1;
    iw_eta_begin(&eta, &record, 100 * second);
    for (size_t i = 50; i < 60; i++)
        iw_eta_add(&eta, i, &good);
    /* 10 rounds of the first 50 cases and 100 of the others, of which 10 are done. */
    is(iw_eta_seconds(&eta, 101 * second), 10);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 40; i < CASES; i++)
            iw_eta_add(&eta, i, &good);
    is(iw_eta_seconds(&eta, 200 * second), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_cases_say_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cases_that_are_skipped_take_no_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(so_do_those_that_are_blocked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_that_are_unknown_are_like_the_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_was_done_before_does_not_count, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
