/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pool makes of targets that die, report faults, are silent or refuse. */
#include "pool_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"

static void test_dead_target_is_a_failure_and_comes_back(void **state)
{
    (void)state;
    pool_add("kill");
    pool_add("pass");
    pool_run_against("embedded", 1);
    char *expected =
        iw_text_format("the target ended: iwarp-agent was killed by signal 9 (Killed); "
                       "its output: %s/target-1.log",
                       rig.folder.path);
    pool_assert_result(0, IW_VERDICT_FAIL, expected);
    free(expected);
    pool_assert_result(1, IW_VERDICT_PASS, "pass by embedded");
    assert_non_null(rig.pool.version);
    assert_non_null(rig.pool.device.is[IW_DEVICE_KERNEL]);
}

static void test_sanitizer_report_is_a_failure(void **state)
{
    (void)state;
    pool_add("pass");
    pool_run_against_command("echo '==7==ERROR: AddressSanitizer: bang' >&2; " WAITS, 1);
    char *expected = iw_text_format("the target broke: AddressSanitizer: bang; its output: "
                                    "%s/target-1.log",
                                    rig.folder.path);
    pool_assert_result(0, IW_VERDICT_FAIL, expected);
    free(expected);
    assert_int_equal(rig.results[0].n_deviations, 1);
    assert_null(rig.results[0].deviations[0].rule);
    assert_string_equal(rig.results[0].deviations[0].how, "AddressSanitizer: bang");
    assert_int_equal(rig.n_trouble, 0);
}

static void test_sanitizer_report_at_the_end_is_trouble(void **state)
{
    (void)state;
    pool_add("pass");
    pool_run_against_command("trap 'echo \"x.c:1: runtime error: odd\"; exit 0' TERM; echo ready; "
                             "tail -f /dev/null & wait",
                             1);
    pool_assert_result(0, IW_VERDICT_PASS, "pass by peer");
    assert_int_equal(rig.n_trouble, 1);
    assert_string_equal(rig.troubles, "UndefinedBehaviorSanitizer: odd (x.c:1)");
}

#define AT_THE_END                                                                                 \
    "odd=; trap 'odd=1' USR1; trap '${odd:+exit 3}; echo seen' USR2; "                             \
    "trap '${odd:+echo \"x.c:1: runtime error: odd\"}; exit 0' TERM; "                             \
    "echo ready; while :; do sleep 0.01; done"

/* What a sanitizer says at the end of a target is the doing of the case that makes it say so. */
static void test_the_end_is_charged_to_a_case(void **state)
{
    (void)state;
    rig.charging = true;
    pool_add("pass");
    pool_add("spoil");
    for (int i = 0; i < 3; i++)
        pool_add("pass");
    pool_run_against_command(AT_THE_END, 1);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(rig.results[i].verdict, IW_VERDICT_PASS);
    assert_string_equal(rig.charges, "spoil: the target broke: UndefinedBehaviorSanitizer: odd "
                                     "(x.c:1); when it was ended\n");
    assert_int_equal(rig.n_trouble, 0);
}

/* It ended under a case that alone does it no harm, nor does the one before: it stays with the
 * case. */
static void test_an_end_that_two_cases_bring_about(void **state)
{
    (void)state;
    rig.charging = true;
    pool_add("pass");
    pool_add("spoil");
    pool_add("see");
    pool_add("see");
    pool_run_against_command(AT_THE_END, 1);
    assert_string_equal(rig.charges, "");
    assert_int_equal(rig.results[2].verdict, IW_VERDICT_FAIL);
    assert_string_equal(rig.results[2].deviations[0].text,
                        "the target ended: sh ended with status 3");
    assert_string_equal(rig.results[2].notes, "not seen again when cases were played alone on a "
                                              "target just started");
    assert_int_equal(rig.results[3].verdict, IW_VERDICT_PASS);
}

static void test_unreached_is_given_up(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        pool_add("pass");
    pool_run_against_command("exit 1", 1);
    assert_false(rig.pool.reached);
    assert_int_equal(rig.n_done, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(rig.results[i].verdict, IW_VERDICT_INCONCLUSIVE);
        assert_string_equal(rig.results[i].reason, rig.results[0].reason);
        assert_true(rig.results[i].seconds >= 0 && rig.results[i].seconds < 600);
    }
    assert_int_equal(strncmp(rig.results[0].reason, IW_UNREACHED, strlen(IW_UNREACHED)), 0);
    assert_string_equal(rig.results[0].reason + strlen(IW_UNREACHED), rig.pool.why_not);
    assert_true(*rig.pool.why_not);
    assert_int_equal(rig.pool.unreached, IW_POOL_ATTEMPTS);
}

/* Two in a row, of those that were played and were not content with silence. */
static void test_a_silent_target_is_given_up(void **state)
{
    static const char *const ids[] = {"mute", "pass", "mute", "skip", "mute-pass", "mute", "pass"};

    (void)state;
    for (size_t i = 0; i < 7; i++)
        pool_add(ids[i]);
    rig.pool.patience = 2;
    pool_run_against_command(WAITS, 1);
    assert_int_equal(rig.n_done, 7);
    pool_assert_result(4, IW_VERDICT_PASS, "mute-pass by peer");
    pool_assert_result(5, IW_VERDICT_INCONCLUSIVE, "mute by peer");
    pool_assert_result(6, IW_VERDICT_INCONCLUSIVE,
                       IW_SILENT "2 cases in a row had no answer of any kind");
    assert_null(rig.results[6].where);
    assert_true(rig.pool.reached);
}

/* No case is played, and no target is opened. */
static void test_a_target_without_mpa_is_given_up(void **state)
{
    (void)state;
    pool_add("pass");
    pool_add("pass");
    rig.pool.no_mpa = "it is a printer";
    pool_run_against_command(WAITS, 1);
    rig.pool.no_mpa = NULL;
    assert_int_equal(rig.n_done, 2);
    for (size_t i = 0; i < 2; i++)
        pool_assert_result(i, IW_VERDICT_INCONCLUSIVE, IW_NO_MPA "it is a printer");
    assert_false(rig.pool.reached);
}

static void test_a_refusing_target_is_started_again(void **state)
{
    static const char again[] = "the target no longer accepted connections and was started again";

    (void)state;
    pool_add("refuse");
    pool_add("pass");
    pool_run_against_command(WAITS, 1);
    pool_assert_result(0, IW_VERDICT_PASS, "refuse by peer");
    assert_string_equal(rig.results[0].notes, again);
    pool_assert_result(1, IW_VERDICT_PASS, "pass by peer");
    assert_null(rig.results[1].notes);
    assert_int_equal(rig.pool.unreached, 0);
}

/* It has seen something of the target: once is enough. */
static void test_a_failure_is_not_played_again(void **state)
{
    (void)state;
    pool_add("fail-refuse");
    pool_add("pass");
    pool_run_against_command(WAITS, 1);
    pool_assert_result(0, IW_VERDICT_FAIL, "fail-refuse by peer");
    assert_null(rig.results[0].notes);
    pool_assert_result(1, IW_VERDICT_PASS, "pass by peer");
}

static void test_an_agent_is_not_started_again(void **state)
{
    (void)state;
    pool_add("refuse");
    pool_run_against("embedded", 1);
    pool_assert_result(0, IW_VERDICT_INCONCLUSIVE, "refuse by embedded");
    assert_null(rig.results[0].notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POOL_TEST(test_dead_target_is_a_failure_and_comes_back),
        POOL_TEST(test_sanitizer_report_is_a_failure),
        POOL_TEST(test_sanitizer_report_at_the_end_is_trouble),
        POOL_TEST(test_the_end_is_charged_to_a_case),
        POOL_TEST(test_an_end_that_two_cases_bring_about),
        POOL_TEST(test_unreached_is_given_up),
        POOL_TEST(test_a_silent_target_is_given_up),
        POOL_TEST(test_a_target_without_mpa_is_given_up),
        POOL_TEST(test_a_refusing_target_is_started_again),
        POOL_TEST(test_a_failure_is_not_played_again),
        POOL_TEST(test_an_agent_is_not_started_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
