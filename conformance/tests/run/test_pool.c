/* SPDX-License-Identifier: BSD-3-Clause */
/* Worker processes, and what they cost when they die, hang or say too much. */
#include "pool_rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/text.h"

/* ---- tests ---- */

static void test_every_case_once(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        pool_add(i % 5 ? "pass" : "fail");
    pool_run_against_command(WAITS, 4);
    assert_int_equal(rig.n_done, 20);
    for (size_t i = 0; i < 20; i++) {
        if (i % 5)
            pool_assert_result(i, IW_VERDICT_PASS, "pass by peer");
        else
            pool_assert_result(i, IW_VERDICT_FAIL, "fail by peer");
    }
    assert_true(rig.pool.reached);
    assert_int_equal(rig.n_trouble, 0);
}

static void test_dead_worker_costs_its_case_only(void **state)
{
    (void)state;
    pool_add("pass");
    pool_add("crash");
    pool_add("pass");
    pool_add("leave");
    pool_add("pass");
    pool_run_against_command(WAITS, 1);
    assert_int_equal(rig.n_done, 5);
    pool_assert_result(0, IW_VERDICT_PASS, "pass by peer");
    pool_assert_result(1, IW_VERDICT_ERROR, "the worker was killed by signal 9 (Killed)");
    assert_string_equal(rig.results[1].where, "f.lua:7");
    pool_assert_result(3, IW_VERDICT_ERROR, "the worker ended with status 3");
    pool_assert_result(4, IW_VERDICT_PASS, "pass by peer");
}

/* One that sleeps for ever, and one that computes for ever. */
static void test_hanging_worker_is_killed(void **state)
{
    (void)state;
    pool_add("hang");
    pool_add("spin");
    rig.cases[0].deadline = rig.cases[1].deadline = 0.05;
    pool_add("pass");
    rig.pool.grace = 0.05;
    pool_run_against_command(WAITS, 1);
    rig.pool.grace = 0;
    assert_int_equal(rig.n_done, 3);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rig.results[i].verdict, IW_VERDICT_ERROR);
        assert_non_null(strstr(rig.results[i].reason, "the worker was killed"));
    }
    assert_int_equal(rig.results[2].verdict, IW_VERDICT_PASS);
}

static void test_long_and_odd_results(void **state)
{
    (void)state;
    pool_add("long");
    pool_add("odd");
    pool_run_against_command(WAITS, 1);
    assert_int_equal(strlen(rig.results[0].observed), 1000000);
    assert_string_equal(rig.results[1].actual, "\xef\xbf\xbd\xef\xbf\xbd\"\n");
}

static void test_needs_are_looked_at_first(void **state)
{
    struct iw_need need = {.name = (char[]){"agent"}, .value = (char[]){"true"}};

    (void)state;
    pool_add("crash");
    rig.cases[0].needs = &need;
    rig.cases[0].n_needs = 1;
    pool_run_against_command(WAITS, 1);
    pool_assert_result(0, IW_VERDICT_SKIP,
                       "needs agent, which this target (class bare) does not offer");
}

/* Another option costs another agent; a wrong one is the tester's error. */
static void test_options_of_the_agent(void **state)
{
    (void)state;
    pool_add("pass");
    pool_add("pass");
    pool_add("pass");
    rig.options_of[1] = "--ignore=mpa-crc";
    rig.options_of[2] = "--ignore=no-such-check";
    pool_run_against("embedded", 1);
    pool_assert_result(0, IW_VERDICT_PASS, "pass by embedded");
    pool_assert_result(1, IW_VERDICT_PASS, "pass by embedded");
    assert_int_equal(rig.results[2].verdict, IW_VERDICT_ERROR);
    if (strstr(rig.results[2].reason, "iwarp-agent ended with status 64") == NULL)
        fail_msg("%s", rig.results[2].reason);
}

/* A signal to the parent ends everything, also what a worker would never end by itself. */
static void test_interrupted(void **state)
{
    (void)state;
    pool_add("signal");
    pool_run_against_command(WAITS, 1);
    assert_int_equal(rig.pool.interrupted, SIGTERM);
    assert_int_equal(rig.n_done, 0);
}

static void test_hazards_are_asked_for(void **state)
{
    char *tags[] = {(char[]){"hazard"}};

    (void)state;
    pool_add("pass");
    rig.cases[0].tags = tags;
    rig.cases[0].n_tags = 1;
    pool_run_against_command(WAITS, 1);
    pool_assert_result(0, IW_VERDICT_SKIP,
                       "a hazard: it could wedge the target; see --allow-hazard");
    iw_result_free(&rig.results[0]);
    rig.n_done = rig.next_job = 0;
    rig.run_options.hazards = true;
    pool_run_against_command(WAITS, 1);
    pool_assert_result(0, IW_VERDICT_PASS, "pass by peer");
}

static void test_crafted_segments_are_asked_for(void **state)
{
    struct iw_need needs[] = {{.name = (char[]){"tcp"}, .value = (char[]){"crafted"}},
                              {.name = (char[]){"memory"}, .value = (char[]){"crafted"}},
                              {.name = (char[]){"tcp"}, .value = (char[]){"other"}}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pool_add("pass");
        rig.cases[i].needs = &needs[i];
        rig.cases[i].n_needs = 1;
    }
    pool_run_against_command(WAITS, 1);
    pool_assert_result(
        0, IW_VERDICT_SKIP,
        "needs crafted TCP segments: its file does not say can = { \"tcp.crafted\" }");
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(rig.results[i].verdict, IW_VERDICT_SKIP);
        assert_null(strstr(rig.results[i].reason, "segments"));
    }
}

static void test_a_case_that_cannot_be_played(void **state)
{
    (void)state;
    pool_add("broken");
    pool_run_against_command(WAITS, 1);
    pool_assert_result(0, IW_VERDICT_ERROR, "no memory");
    assert_int_equal(rig.results[0].role, IW_MPA_RESPONDER);
}

/* The parent reads no further, so that the worker would wait for ever. */
static void test_an_endless_answer_costs_its_case_only(void **state)
{
    (void)state;
    pool_add("huge");
    pool_add("pass");
    pool_run_against_command(WAITS, 1);
    pool_assert_result(0, IW_VERDICT_ERROR,
                       "an answer of more than 16777216 octets: the worker was killed");
    pool_assert_result(1, IW_VERDICT_PASS, "pass by peer");
}

static void test_a_trace_outlives_its_worker(void **state)
{
    char *path = folder_file(&rig.folder, "trace", ""), *text;

    (void)state;
    rig.run_options.trace = fopen(path, "w");
    assert_non_null(rig.run_options.trace);
    pool_add("trace");
    pool_add("crash");
    pool_run_against_command(WAITS, 1);
    fclose(rig.run_options.trace);
    text = folder_read(path);
    assert_string_equal(text, "traced\n");
    free(text);
    free(path);
}

static void test_a_worker_has_its_own_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++)
        pool_add("process");
    pool_run_against_command(WAITS, 3);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(rig.results[i].observed,
                            "sockets 1, signals 0, INT 1, PIPE 1, TERM 0, HUP 0, death 9");
}

static void test_rounds_are_handed_on(void **state)
{
    (void)state;
    pool_add("pass");
    pool_add("round");
    pool_run_against_command(WAITS, 1);
    assert_string_equal(rig.results[1].observed, "1");
}

/* ---- the parent ---- */

static int lowest_descriptor(void)
{
    int fd = dup(0);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void test_no_more_workers_than_there_are_places(void **state)
{
    int fd = lowest_descriptor();
    sigset_t blocked;

    (void)state;
    pool_run_against_command(WAITS, 300);
    assert_int_equal(rig.pool.workers, 256);
    pool_run_against_command(WAITS, 255);
    assert_int_equal(rig.pool.workers, 255);
    assert_int_equal(lowest_descriptor(), fd);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGTERM));
    assert_false(sigismember(&blocked, SIGINT));
    assert_false(rig.pool.reached);
}

/* Not one for signals; one for them, but none for a worker. */
static void test_no_descriptor_is_left(void **state)
{
    int fd = lowest_descriptor();
    struct rlimit before, none;
    struct iw_target_spec target = {.class = IW_TARGET_BARE};

    (void)state;
    pool_add("pass");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int more = 0; more < 2; more++) {
        int status;

        rig.next_job = 0;
        *rig.error = 0;
        rig.pool = (struct iw_pool){.target = &target,
                                    .options = &rig.run_options,
                                    .workers = 1,
                                    .play = pool_play,
                                    .next = pool_next,
                                    .done = pool_done,
                                    .trouble = pool_trouble};
        none = before;
        none.rlim_cur = (rlim_t)fd + (rlim_t)more;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        status = iw_pool_run(&rig.pool, rig.error, sizeof(rig.error));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(status, -1);
        assert_string_equal(rig.error, "cannot start a worker: Too many open files");
        assert_int_equal(lowest_descriptor(), fd);
        assert_int_equal(rig.n_done, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POOL_TEST(test_every_case_once),
        POOL_TEST(test_dead_worker_costs_its_case_only),
        POOL_TEST(test_hanging_worker_is_killed),
        POOL_TEST(test_long_and_odd_results),
        POOL_TEST(test_needs_are_looked_at_first),
        POOL_TEST(test_options_of_the_agent),
        POOL_TEST(test_interrupted),
        POOL_TEST(test_hazards_are_asked_for),
        POOL_TEST(test_crafted_segments_are_asked_for),
        POOL_TEST(test_a_case_that_cannot_be_played),
        POOL_TEST(test_an_endless_answer_costs_its_case_only),
        POOL_TEST(test_a_trace_outlives_its_worker),
        POOL_TEST(test_a_worker_has_its_own_only),
        POOL_TEST(test_rounds_are_handed_on),
        POOL_TEST(test_no_more_workers_than_there_are_places),
        POOL_TEST(test_no_descriptor_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
