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
#include <sys/prctl.h>
#include <sys/resource.h>
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
static char charges[512]; /* ids and reasons, in order */
static bool charging;
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
    *job = (struct iw_job){
        .c = &cases[next_job], .option = options_of[next_job], .round = (unsigned)next_job};
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

static void charge(void *context, const char *id, struct iw_result *result)
{
    size_t n = strlen(charges);

    (void)context;
    assert_int_equal(result->verdict, IW_VERDICT_FAIL);
    assert_int_equal(result->n_deviations, 1);
    assert_non_null(result->log);
    snprintf(charges + n, sizeof(charges) - n, "%s: %s\n", id, result->deviations[0].text);
    iw_result_free(result);
}

/* Cases with these ids; an id is an order to the play function. */
static void add(const char *id)
{
    snprintf(names[n_jobs], sizeof(names[n_jobs]), "%s", id);
    cases[n_jobs] =
        (struct iw_case){.id = names[n_jobs], .file = file, .line = 7, .role = IW_MPA_RESPONDER};
    n_jobs++;
}

/* What a worker has of its parent: descriptors, and what signals do. */
static char *describe_process(void)
{
    unsigned sockets = 0, signals = 0;
    sigset_t blocked;
    int death = 0;

    for (int fd = 0; fd < 1024; fd++) {
        char name[32], to[64] = "";

        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        if (readlink(name, to, sizeof(to) - 1) < 0)
            continue;
        sockets += strncmp(to, "socket:", 7) == 0;
        signals += strstr(to, "signalfd") != NULL;
    }
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    prctl(PR_GET_PDEATHSIG, &death);
    return iw_text_format("sockets %u, signals %u, INT %d, PIPE %d, TERM %d, HUP %d, death %d",
                          sockets, signals, signal(SIGINT, SIG_IGN) == SIG_IGN,
                          signal(SIGPIPE, SIG_IGN) == SIG_IGN, sigismember(&blocked, SIGTERM),
                          sigismember(&blocked, SIGHUP), death);
}

static int play(const struct iw_case *c, struct iw_target *target,
                const struct iw_run_options *options, struct iw_result *out)
{
    static unsigned refusals; /* in this worker */

    *out = (struct iw_result){.verdict = IW_VERDICT_PASS, .heard = strcmp(c->id, "mute") != 0};
    out->reason = iw_text_format("%s by %s", c->id, target->name);
    if (strcmp(c->id, "fail") == 0)
        out->verdict = IW_VERDICT_FAIL;
    if (strcmp(c->id, "skip") == 0)
        out->verdict = IW_VERDICT_SKIP;
    if (strcmp(c->id, "refuse") == 0 || strcmp(c->id, "fail-refuse") == 0)
        target->refused = refusals++ % 2 == 0;
    if (target->refused)
        out->verdict = *c->id == 'f' ? IW_VERDICT_FAIL : IW_VERDICT_INCONCLUSIVE;
    if (strcmp(c->id, "trace") == 0)
        fputs("traced\n", options->trace);
    if (strcmp(c->id, "round") == 0)
        out->observed = iw_text_format("%u", options->round);
    if (strcmp(c->id, "process") == 0)
        out->observed = describe_process();
    if (strcmp(c->id, "huge") == 0) {
        out->observed = iw_got(malloc((17 << 20) + 1));
        memset(out->observed, 'x', 17 << 20);
        out->observed[17 << 20] = 0;
    }
    if (strcmp(c->id, "broken") == 0)
        return -1;
    if (strcmp(c->id, "crash") == 0)
        raise(SIGKILL); /* cmocka would catch the others */
    if (strcmp(c->id, "leave") == 0)
        _exit(3);
    if (strcmp(c->id, "signal") == 0)
        kill(getppid(), SIGTERM);
    if (strcmp(c->id, "hang") == 0 || strcmp(c->id, "signal") == 0)
        for (;;)
            pause();
    if (strcmp(c->id, "spin") == 0)
        for (volatile int i = 0;; i++)
            ;
    if (strcmp(c->id, "long") == 0) {
        out->observed = iw_got(malloc(1000001));
        memset(out->observed, 'x', 1000000);
        out->observed[1000000] = 0;
    }
    if (strcmp(c->id, "spoil") == 0) /* which only a later case sees */
        kill(iw_target_group((struct iw_target_instance *)target), SIGUSR1);
    if (strcmp(c->id, "see") == 0) {
        kill(iw_target_group((struct iw_target_instance *)target), SIGUSR2);
        for (int i = 0; i < 20 && target->death(target) == NULL; i++)
            usleep(10000);
    }
    if (strcmp(c->id, "odd") == 0)
        out->actual = iw_text_copy("\xff\x01\"\n");
    if (strcmp(c->id, "kill") == 0) {
        const char *how = NULL;

        kill(iw_target_group((struct iw_target_instance *)target), SIGKILL);
        while (how == NULL)
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
    charges[0] = '\0';
    charging = false;
    memset(options_of, 0, sizeof(options_of));
    run_options = (struct iw_run_options){0};
    pool = (struct iw_pool){0};
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

    if (target == NULL)
        fail_msg("%s", error);
    pool = (struct iw_pool){.target = target,
                            .options = &run_options,
                            .workers = workers,
                            .log_dir = folder.path,
                            .grace = pool.grace,
                            .patience = pool.patience,
                            .no_mpa = pool.no_mpa,
                            .play = play,
                            .next = next,
                            .done = done,
                            .trouble = trouble,
                            .charge = charging ? charge : NULL};
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
    char *expected =
        iw_text_format("the target ended: iwarp-agent was killed by signal 9 (Killed); "
                       "its output: %s/target-1.log",
                       folder.path);
    assert_result(0, IW_VERDICT_FAIL, expected);
    free(expected);
    assert_result(1, IW_VERDICT_PASS, "pass by embedded");
    assert_non_null(pool.version);
}

static void test_sanitizer_report_is_a_failure(void **state)
{
    (void)state;
    add("pass");
    run_against_command("echo '==7==ERROR: AddressSanitizer: bang' >&2; " WAITS, 1);
    char *expected = iw_text_format("the target broke: AddressSanitizer: bang; its output: "
                                    "%s/target-1.log",
                                    folder.path);
    assert_result(0, IW_VERDICT_FAIL, expected);
    free(expected);
    assert_int_equal(results[0].n_deviations, 1);
    assert_null(results[0].deviations[0].rule);
    assert_string_equal(results[0].deviations[0].how, "AddressSanitizer: bang");
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
    assert_string_equal(troubles, "UndefinedBehaviorSanitizer: odd (x.c:1)");
}

#define AT_THE_END                                                                                 \
    "odd=; trap 'odd=1' USR1; trap '${odd:+exit 3}' USR2; "                                        \
    "trap '${odd:+echo \"x.c:1: runtime error: odd\"}; exit 0' TERM; "                             \
    "echo ready; while :; do sleep 0.01; done"

/* What a sanitizer says at the end of a target is the doing of the case that makes it say so. */
static void test_the_end_is_charged_to_a_case(void **state)
{
    (void)state;
    charging = true;
    add("pass");
    add("spoil");
    for (int i = 0; i < 3; i++)
        add("pass");
    run_against_command(AT_THE_END, 1);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(results[i].verdict, IW_VERDICT_PASS);
    assert_string_equal(charges, "spoil: the target broke: UndefinedBehaviorSanitizer: odd "
                                 "(x.c:1); when it was ended\n");
    assert_int_equal(n_trouble, 0);
}

/* It ended under a case that alone does it no harm, nor does the one before: it stays with the
 * case. */
static void test_an_end_that_two_cases_bring_about(void **state)
{
    (void)state;
    charging = true;
    add("pass");
    add("spoil");
    add("see");
    add("see");
    run_against_command(AT_THE_END, 1);
    assert_string_equal(charges, "");
    assert_int_equal(results[2].verdict, IW_VERDICT_FAIL);
    assert_string_equal(results[2].deviations[0].text, "the target ended: sh ended with status 3");
    assert_string_equal(results[2].notes, "not seen again when cases were played alone on a "
                                          "target just started");
    assert_int_equal(results[3].verdict, IW_VERDICT_PASS);
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
        assert_string_equal(results[i].reason, results[0].reason);
        assert_true(results[i].seconds >= 0 && results[i].seconds < 600);
    }
    assert_int_equal(strncmp(results[0].reason, IW_UNREACHED, strlen(IW_UNREACHED)), 0);
    assert_string_equal(results[0].reason + strlen(IW_UNREACHED), pool.why_not);
    assert_true(*pool.why_not);
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
    if (strstr(results[2].reason, "iwarp-agent ended with status 64") == NULL)
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

/* Two in a row, of those that were played. */
static void test_a_silent_target_is_given_up(void **state)
{
    static const char *const ids[] = {"mute", "pass", "mute", "skip", "mute", "pass", "pass"};

    (void)state;
    for (size_t i = 0; i < 7; i++)
        add(ids[i]);
    pool.patience = 2;
    run_against_command(WAITS, 1);
    assert_int_equal(n_done, 7);
    assert_result(4, IW_VERDICT_PASS, "mute by peer");
    for (size_t i = 5; i < 7; i++) {
        assert_result(i, IW_VERDICT_INCONCLUSIVE,
                      IW_SILENT "2 cases in a row had no answer of any kind");
        assert_null(results[i].where);
    }
    assert_true(pool.reached);
}

/* No case is played, and no target is opened. */
static void test_a_target_without_mpa_is_given_up(void **state)
{
    (void)state;
    add("pass");
    add("pass");
    pool.no_mpa = "it is a printer";
    run_against_command(WAITS, 1);
    pool.no_mpa = NULL;
    assert_int_equal(n_done, 2);
    for (size_t i = 0; i < 2; i++)
        assert_result(i, IW_VERDICT_INCONCLUSIVE, IW_NO_MPA "it is a printer");
    assert_false(pool.reached);
}

static void test_a_refusing_target_is_started_again(void **state)
{
    static const char again[] = "the target no longer accepted connections and was started again";

    (void)state;
    add("refuse");
    add("pass");
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_PASS, "refuse by peer");
    assert_string_equal(results[0].notes, again);
    assert_result(1, IW_VERDICT_PASS, "pass by peer");
    assert_null(results[1].notes);
    assert_int_equal(pool.unreached, 0);
}

/* It has seen something of the target: once is enough. */
static void test_a_failure_is_not_played_again(void **state)
{
    (void)state;
    add("fail-refuse");
    add("pass");
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_FAIL, "fail-refuse by peer");
    assert_null(results[0].notes);
    assert_result(1, IW_VERDICT_PASS, "pass by peer");
}

static void test_an_agent_is_not_started_again(void **state)
{
    (void)state;
    add("refuse");
    run_against("embedded", 1);
    assert_result(0, IW_VERDICT_INCONCLUSIVE, "refuse by embedded");
    assert_null(results[0].notes);
}

static void test_hazards_are_asked_for(void **state)
{
    char *tags[] = {(char[]){"hazard"}};

    (void)state;
    add("pass");
    cases[0].tags = tags;
    cases[0].n_tags = 1;
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_SKIP, "a hazard: it could wedge the target; see --allow-hazard");
    iw_result_free(&results[0]);
    n_done = next_job = 0;
    run_options.hazards = true;
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_PASS, "pass by peer");
}

static void test_crafted_segments_are_asked_for(void **state)
{
    struct iw_need needs[] = {{.name = (char[]){"tcp"}, .value = (char[]){"crafted"}},
                              {.name = (char[]){"memory"}, .value = (char[]){"crafted"}},
                              {.name = (char[]){"tcp"}, .value = (char[]){"other"}}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        add("pass");
        cases[i].needs = &needs[i];
        cases[i].n_needs = 1;
    }
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_SKIP,
                  "needs crafted TCP segments: its file does not say can = { \"tcp.crafted\" }");
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(results[i].verdict, IW_VERDICT_SKIP);
        assert_null(strstr(results[i].reason, "segments"));
    }
}

static void test_a_case_that_cannot_be_played(void **state)
{
    (void)state;
    add("broken");
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_ERROR, "no memory");
    assert_int_equal(results[0].role, IW_MPA_RESPONDER);
}

/* The parent reads no further, so that the worker would wait for ever. */
static void test_an_endless_answer_costs_its_case_only(void **state)
{
    (void)state;
    add("huge");
    add("pass");
    run_against_command(WAITS, 1);
    assert_result(0, IW_VERDICT_ERROR,
                  "an answer of more than 16777216 octets: the worker was killed");
    assert_result(1, IW_VERDICT_PASS, "pass by peer");
}

static void test_a_trace_outlives_its_worker(void **state)
{
    char *path = folder_file(&folder, "trace", ""), *text;

    (void)state;
    run_options.trace = fopen(path, "w");
    assert_non_null(run_options.trace);
    add("trace");
    add("crash");
    run_against_command(WAITS, 1);
    fclose(run_options.trace);
    text = folder_read(path);
    assert_string_equal(text, "traced\n");
    free(text);
    free(path);
}

static void test_a_worker_has_its_own_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++)
        add("process");
    run_against_command(WAITS, 3);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(results[i].observed,
                            "sockets 1, signals 0, INT 1, PIPE 1, TERM 0, HUP 0, death 9");
}

static void test_rounds_are_handed_on(void **state)
{
    (void)state;
    add("pass");
    add("round");
    run_against_command(WAITS, 1);
    assert_string_equal(results[1].observed, "1");
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
    run_against_command(WAITS, 300);
    assert_int_equal(pool.workers, 256);
    run_against_command(WAITS, 255);
    assert_int_equal(pool.workers, 255);
    assert_int_equal(lowest_descriptor(), fd);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGTERM));
    assert_false(sigismember(&blocked, SIGINT));
    assert_false(pool.reached);
}

/* Not one for signals; one for them, but none for a worker. */
static void test_no_descriptor_is_left(void **state)
{
    int fd = lowest_descriptor();
    struct rlimit before, none;
    struct iw_target_spec target = {.class = IW_TARGET_BARE};

    (void)state;
    add("pass");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int more = 0; more < 2; more++) {
        int status;

        next_job = 0;
        *error = 0;
        pool = (struct iw_pool){.target = &target,
                                .options = &run_options,
                                .workers = 1,
                                .play = play,
                                .next = next,
                                .done = done,
                                .trouble = trouble};
        none = before;
        none.rlim_cur = (rlim_t)fd + (rlim_t)more;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        status = iw_pool_run(&pool, error, sizeof(error));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(status, -1);
        assert_string_equal(error, "cannot start a worker: Too many open files");
        assert_int_equal(lowest_descriptor(), fd);
        assert_int_equal(n_done, 0);
    }
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
        cmocka_unit_test_setup_teardown(test_sanitizer_report_is_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sanitizer_report_at_the_end_is_trouble, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_end_is_charged_to_a_case, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_end_that_two_cases_bring_about, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unreached_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_of_the_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_silent_target_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_target_without_mpa_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_refusing_target_is_started_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failure_is_not_played_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_agent_is_not_started_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hazards_are_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_crafted_segments_are_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_case_that_cannot_be_played, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_endless_answer_costs_its_case_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_trace_outlives_its_worker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_worker_has_its_own_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rounds_are_handed_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_more_workers_than_there_are_places, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_no_descriptor_is_left, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
