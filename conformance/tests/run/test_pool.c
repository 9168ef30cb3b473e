/* SPDX-License-Identifier: BSD-3-Clause */
/* Worker processes, with a play function of the test's own in place of the script host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "host/text.h"
#include "run/pool.h"

enum { MOST = 32 };

/* ---- a list of jobs and what came of them ---- */

static struct iw_case cases[MOST];
static char names[MOST][16], file[] = "f.lua";
static const char *options_of[MOST];
static size_t n_jobs, next_job, n_done, n_trouble;
static struct iw_result results[MOST];
static char troubles[512];
static struct iw_run_options run_options;
static struct folder folder;
static struct iw_pool pool;
static char error[512];

static bool next(void *context, unsigned worker, struct iw_job *job)
{
    (void)context;
    assert_true(worker < pool.workers);
    if (next_job == n_jobs)
        return false;
    *job = (struct iw_job){.c = &cases[next_job], .option = options_of[next_job]};
    next_job++;
    return true;
}

static void done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    size_t i = (size_t)(job->c - cases);

    (void)context;
    (void)worker;
    assert_true(i < n_jobs);
    assert_null(results[i].id); /* each once */
    results[i] = *result;
    n_done++;
}

static void trouble(void *context, const char *line)
{
    (void)context;
    n_trouble++;
    snprintf(troubles, sizeof(troubles), "%s", line);
}

/* Cases with these ids; an id is an order to the play function. */
static void add(const char *id)
{
    snprintf(names[n_jobs], sizeof(names[n_jobs]), "%s", id);
    cases[n_jobs] =
        (struct iw_case){.id = names[n_jobs], .file = file, .line = 7, .role = IW_MPA_RESPONDER};
    n_jobs++;
}

static int play(const struct iw_case *c, struct iw_target *target,
                const struct iw_run_options *options, struct iw_result *out)
{
    (void)options;
    *out = (struct iw_result){.verdict = IW_VERDICT_PASS};
    out->reason = iw_text_format("%s by %s", c->id, target->name);
    if (!strcmp(c->id, "fail"))
        out->verdict = IW_VERDICT_FAIL;
    if (!strcmp(c->id, "crash"))
        raise(SIGKILL); /* cmocka would catch the others */
    if (!strcmp(c->id, "leave"))
        _exit(3);
    if (!strcmp(c->id, "signal"))
        kill(getppid(), SIGTERM);
    if (!strcmp(c->id, "hang") || !strcmp(c->id, "signal"))
        for (;;)
            pause();
    if (!strcmp(c->id, "spin"))
        for (volatile int i = 0;; i++)
            ;
    if (!strcmp(c->id, "long")) {
        out->observed = iw_got(malloc(1000001));
        memset(out->observed, 'x', 1000000);
        out->observed[1000000] = 0;
    }
    if (!strcmp(c->id, "odd"))
        out->actual = iw_text_copy("\xff\x01\"\n");
    if (!strcmp(c->id, "kill")) {
        const char *how = NULL;

        kill(iw_target_group((struct iw_target_instance *)target), SIGKILL);
        while (!how)
            how = target->death(target);
    }
    return 0;
}

/* ---- set-up ---- */

static int set_up(void **state)
{
    (void)state;
    n_jobs = next_job = n_done = n_trouble = 0;
    memset(results, 0, sizeof(results));
    memset(options_of, 0, sizeof(options_of));
    run_options = (struct iw_run_options){0};
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < MOST; i++)
        iw_result_free(&results[i]);
    free(pool.version);
    folder_remove(&folder);
    return 0;
}

static void run_against(const char *spec, unsigned workers)
{
    struct iw_target_spec *target =
        iw_target_parse(spec, IW_BINARY_DIR "/bin/iwarp-agent", folder.path, error, sizeof(error));

    if (!target)
        fail_msg("%s", error);
    pool = (struct iw_pool){.target = target,
                            .options = &run_options,
                            .workers = workers,
                            .log_dir = folder.path,
                            .grace = pool.grace,
                            .play = play,
                            .next = next,
                            .done = done,
                            .trouble = trouble};
    assert_int_equal(iw_pool_run(&pool, error, sizeof(error)), 0);
    iw_target_free(target);
}

/* A started peer that needs no network: it is ready when it says so. */
static void run_against_command(const char *command, unsigned workers)
{
    char *text = iw_text_format(
        "return { class = 'bare', address = '127.0.0.1', ready = 'ready', start = [[%s]] }",
        command);

    free(folder_file(&folder, "peer.lua", text));
    free(text);
    run_against("peer", workers);
}

#define WAITS "echo ready; exec tail -f /dev/null"

static void assert_result(size_t i, enum iw_verdict verdict, const char *reason)
{
    assert_non_null(results[i].id);
    assert_string_equal(results[i].id, names[i]);
    assert_string_equal(results[i].reason, reason);
    assert_int_equal(results[i].verdict, verdict);
}

/* ---- tests ---- */

static void test_every_case_once(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        add(i % 5 ? "pass" : "fail");
    run_against_command(WAITS, 4);
    assert_int_equal(n_done, 20);
    for (size_t i = 0; i < 20; i++) {
        if (i % 5)
            assert_result(i, IW_VERDICT_PASS, "pass by peer");
        else
            assert_result(i, IW_VERDICT_FAIL, "fail by peer");
    }
    assert_true(pool.reached);
    assert_int_equal(n_trouble, 0);
}

static void test_dead_worker_costs_its_case_only(void **state)
{
    (void)state;
    add("pass");
    add("crash");
    add("pass");
    add("leave");
    add("pass");
    run_against_command(WAITS, 1);
    assert_int_equal(n_done, 5);
    assert_result(0, IW_VERDICT_PASS, "pass by peer");
    assert_result(1, IW_VERDICT_ERROR, "the worker was killed by signal 9 (Killed)");
    assert_string_equal(results[1].where, "f.lua:7");
    assert_result(3, IW_VERDICT_ERROR, "the worker ended with status 3");
    assert_result(4, IW_VERDICT_PASS, "pass by peer");
}

/* One that sleeps for ever, and one that computes for ever. */
static void test_hanging_worker_is_killed(void **state)
{
    (void)state;
    add("hang");
    add("spin");
    cases[0].deadline = cases[1].deadline = 0.05;
    add("pass");
    pool.grace = 0.05;
    run_against_command(WAITS, 1);
    pool.grace = 0;
    assert_int_equal(n_done, 3);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(results[i].verdict, IW_VERDICT_ERROR);
        assert_non_null(strstr(results[i].reason, "the worker was killed"));
    }
    assert_int_equal(results[2].verdict, IW_VERDICT_PASS);
}

static void test_long_and_odd_results(void **state)
{
    (void)state;
    add("long");
    add("odd");
    run_against_command(WAITS, 1);
    assert_int_equal(strlen(results[0].observed), 1000000);
    assert_string_equal(results[1].actual, "\xef\xbf\xbd\xef\xbf\xbd\"\n");
}

static void test_needs_are_looked_at_first(void **state)
{
    struct iw_need need = {.name = (char[]){"agent"}, .value = (char[]){"true"}};

    (void)state;
    add("crash");
    cases[0].needs = &need;
    cases[0].n_needs = 1;
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_SKIP, "needs agent, which this target (class bare) does not offer");
}

static void test_dead_target_is_a_failure_and_comes_back(void **state)
{
    (void)state;
    add("kill");
    add("pass");
    run_against("embedded", 1);
    assert_result(0, IW_VERDICT_FAIL,
                  "the target ended: iwarp-agent was killed by signal 9 (Killed)");
    assert_result(1, IW_VERDICT_PASS, "pass by embedded");
    assert_non_null(pool.version);
}

static void test_sanitizer_report_is_an_error(void **state)
{
    char *expected;

    (void)state;
    add("pass");
    run_against_command("echo '==7==ERROR: AddressSanitizer: bang' >&2; " WAITS, 1);
    expected = iw_text_format("a sanitizer stopped the target: ==7==ERROR: AddressSanitizer: "
                              "bang; all of it: %s/target-1.log",
                              folder.path);
    assert_result(0, IW_VERDICT_ERROR, expected);
    free(expected);
    assert_int_equal(n_trouble, 0);
}

static void test_sanitizer_report_at_the_end_is_trouble(void **state)
{
    (void)state;
    add("pass");
    run_against_command("trap 'echo \"x.c:1: runtime error: odd\"; exit 0' TERM; echo ready; "
                        "tail -f /dev/null & wait",
                        1);
    assert_result(0, IW_VERDICT_PASS, "pass by peer");
    assert_int_equal(n_trouble, 1);
    assert_string_equal(troubles, "x.c:1: runtime error: odd");
}

static void test_unreached_is_given_up(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        add("pass");
    run_against_command("exit 1", 1);
    assert_false(pool.reached);
    assert_int_equal(n_done, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(results[i].verdict, IW_VERDICT_INCONCLUSIVE);
        assert_int_equal(strncmp(results[i].reason, IW_UNREACHED, strlen(IW_UNREACHED)), 0);
    }
    assert_int_equal(pool.unreached, IW_POOL_ATTEMPTS);
}

/* Another option costs another agent; a wrong one is the tester's error. */
static void test_options_of_the_agent(void **state)
{
    (void)state;
    add("pass");
    add("pass");
    add("pass");
    options_of[1] = "--ignore=mpa-crc";
    options_of[2] = "--ignore=no-such-check";
    run_against("embedded", 1);
    assert_result(0, IW_VERDICT_PASS, "pass by embedded");
    assert_result(1, IW_VERDICT_PASS, "pass by embedded");
    assert_int_equal(results[2].verdict, IW_VERDICT_ERROR);
    if (!strstr(results[2].reason, "iwarp-agent ended with status 64"))
        fail_msg("%s", results[2].reason);
}

/* A signal to the parent ends everything, also what a worker would never end by itself. */
static void test_interrupted(void **state)
{
    (void)state;
    add("signal");
    run_against_command(WAITS, 1);
    assert_int_equal(pool.interrupted, SIGTERM);
    assert_int_equal(n_done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_case_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dead_worker_costs_its_case_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hanging_worker_is_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_and_odd_results, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_needs_are_looked_at_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dead_target_is_a_failure_and_comes_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_sanitizer_report_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sanitizer_report_at_the_end_is_trouble, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_unreached_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_of_the_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
