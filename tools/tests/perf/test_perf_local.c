/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-perf's client does beside measuring: it soaks, and starts a server of its own. */
#include "client_doubles.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "../caught.h"
#include "host/complain.h"

static struct perf_plan plan_of(size_t lanes)
{
    struct perf_plan plan = {.sizes = {64},
                             .size_count = 1,
                             .lane_count = lanes,
                             .rounds = 9,
                             .slice_ms = 50,
                             .verify = true,
                             .cpu = {-1, -1}};
    for (size_t i = 0; i < lanes; i++)
        plan.lanes[i] = (struct perf_setup){
            .tcp = i == 0, .connections = 1, .window = 16, .threads = 1, .size_max = 64};
    plan.tests[PERF_WRITE_BW] = true;
    return plan;
}

/* ---- soaks ---- */

/* Runs one; what it prints is in `printed`, and what it says on standard error in `said`. */
static char printed[8192], said[512];

static int soak(const struct perf_plan *plan)
{
    char path[] = "perf-XXXXXX";
    int fd = mkstemp(path), kept = dup(2);
    assert_true(fd >= 0 && kept >= 0);
    fflush(NULL);
    assert_int_equal(dup2(fd, 2), 2);
    catch_from(1);
    int status = perf_client(plan, "127.0.0.1:4711");
    snprintf(printed, sizeof(printed), "%.8000s", caught());
    assert_int_equal(dup2(kept, 2), 2);
    close(kept);
    close(fd);
    snprintf(said, sizeof(said), "%.500s", text_of(path));
    unlink(path);
    assert_int_equal(doubles.created, doubles.destroyed);
    return status;
}

/* A pass takes half a second: 8 messages on each of two lanes. Memory is looked at from a tenth of
 * the time on, and lines come at twentieths. */
static void test_soak(void **state)
{
    struct perf_plan plan = plan_of(2);
    (void)state;
    plan.soak = 20;
    plan.lanes[1].connections = 3;
    doubles.each[0] = doubles.each[1] = 1.0 / 32;
    doubles.grown = 1;
    assert_int_equal(soak(&plan), 0);
    assert_string_equal(said, "");
    assert_string_equal(printed, "  seconds       messages  client KiB  server KiB\n"
                                 "      0.5             32      100001      100000\n"
                                 "      1.0             64      100002      100000\n"
                                 "      2.0            128      100004      100000\n"
                                 "      3.0            192      100006      100000\n"
                                 "      4.0            256      100008      100000\n"
                                 "      5.0            320      100010      100000\n"
                                 "      6.0            384      100012      100000\n"
                                 "      7.0            448      100014      100000\n"
                                 "      8.0            512      100016      100000\n"
                                 "      9.0            576      100018      100000\n"
                                 "     10.0            640      100020      100000\n"
                                 "     11.0            704      100022      100000\n"
                                 "     12.0            768      100024      100000\n"
                                 "     13.0            832      100026      100000\n"
                                 "     14.0            896      100028      100000\n"
                                 "     15.0            960      100030      100000\n"
                                 "     16.0           1024      100032      100000\n"
                                 "     17.0           1088      100034      100000\n"
                                 "     18.0           1152      100036      100000\n"
                                 "     19.0           1216      100038      100000\n"
                                 "     20.0           1280      100040      100000\n"
                                 "     20.0           1280      100040      100000\n");
    assert_int_equal(doubles.row_count, 0);
    assert_null(strstr(doubles.log, "room"));
    assert_null(strstr(doubles.log, "json"));
}

/* Three passes at least, however long they take. */
static void test_short_soak(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.soak = 1;
    plan.count = 100;
    plan.tests[PERF_SEND_LAT] = true;
    doubles.each[0] = 0.5;
    assert_int_equal(soak(&plan), 0);
    assert_string_equal(printed, "  seconds       messages  client KiB  server KiB\n"
                                 "    100.0            300      100000      100000\n"
                                 "    200.0            600      100000      100000\n"
                                 "    300.0            900      100000      100000\n"
                                 "    300.0            900      100000      100000\n");
    assert_string_equal(said, "");
}

/* Memory is watched from a tenth of the time on, here the eighth pass, and from the second pass. It
 * may grow by a twentieth and 4 MiB. */
static void test_growth(void **state)
{
    static const struct {
        uint64_t soak;
        double each;
        int jump_look;
        uint64_t client, server;
        const char *said;
    } cases[] = {
        {20, 1.0 / 32, 20, 9096, 9096, ""},
        {20, 1.0 / 32, 20, 9097, 0,
         "iwarp-perf: the client's memory has grown from 100000 to 109097 KiB, at most 109096 were "
         "expected\n"},
        {20, 1.0 / 32, 20, 0, 9097,
         "iwarp-perf: the server's memory has grown from 100000 to 109097 KiB, at most 109096 were "
         "expected\n"},
        {20, 1.0 / 32, 8, 50000, 0, ""},
        {20, 1.0 / 32, 7, 0, 50000, ""},
        {20, 1.0 / 32, 9, 50000, 0,
         "iwarp-perf: the client's memory has grown from 100000 to 150000 KiB, at most 109096 were "
         "expected\n"},
        {20, 1.0 / 32, 8, 0, 50000,
         "iwarp-perf: the server's memory has grown from 100000 to 150000 KiB, at most 109096 were "
         "expected\n"},
        {1, 1, 2, 50000, 0, ""},
        {1, 1, 3, 50000, 0,
         "iwarp-perf: the client's memory has grown from 100000 to 150000 KiB, at most 109096 were "
         "expected\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct perf_plan plan = plan_of(1);
        doubles_reset();
        plan.soak = cases[i].soak;
        doubles.each[0] = cases[i].each;
        doubles.jump_look = cases[i].jump_look;
        doubles.jump[0] = cases[i].client;
        doubles.jump[1] = cases[i].server;
        int status = soak(&plan);
        assert_string_equal(said, cases[i].said);
        assert_int_equal(status, cases[i].said[0] != '\0');
    }
}

static void test_failing_soak(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.soak = 1;
    doubles.failing = 20;
    assert_int_equal(soak(&plan), 1);
    assert_non_null(strstr(said, " failed\n"));
    assert_int_equal(doubles.steps, 20);
}

/* ---- a server of its own ---- */

/* Runs it. What it says on standard error is `text`, where every digit of a port is 9. */
static int local(struct perf_plan *plan, const char *text)
{
    unsigned before = descriptors();
    catch_from(2);
    int status = perf_local(plan);
    snprintf(said, sizeof(said), "%.500s", caught());
    for (char *at = said; *at != '\0'; at++)
        if (at >= said + 12 && *at >= '0' && *at <= '9')
            *at = '9';
    if (strncmp(said, text, strlen(text)) != 0)
        fail_msg("%s", said);
    assert_int_equal(descriptors(), before);
    /* No child is left. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return status;
}

static void test_local(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.count = 1;
    plan.cpu[0] = 2;
    plan.cpu[1] = doubles.serving_cpu = 3;
    assert_int_equal(local(&plan, ""), 0);
    assert_string_equal(said, "");
    assert_int_equal(doubles.cpu, 2);
    assert_null(strstr(doubles.log, "poll 2000 ms\npoll"));
    assert_non_null(strstr(doubles.log, "bind 127.0.0.1\nresolve 127.0.0.1\nconnect 127.0.0.1:"));
    assert_null(strstr(doubles.log, "connect 127.0.0.1:0\n"));
    plan.cpu[0] = plan.cpu[1] = -1;
    /* A server that ends otherwise. */
    static const int ends[] = {3, -SIGKILL};
    for (int i = 0; i < 2; i++) {
        doubles_reset();
        doubles.serving = ends[i];
        assert_int_equal(local(&plan, ""), 1);
        assert_string_equal(said, "");
    }
}

/* The server ends with its client; one that does not is ended. */
static void test_local_failures(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.count = 1;
    doubles.serving = 7;
    doubles.failing = 1;
    assert_int_equal(local(&plan, "iwarp-perf: send failed\n"), 1);
    assert_non_null(strstr(doubles.log, "poll 200 ms\nreceive\npoll 2000 ms\n"));
    assert_int_equal(doubles.killed, 0);
    doubles_reset();
    doubles.serving = SERVING_ON;
    doubles.polled = 0;
    doubles.failing = 1;
    assert_int_equal(local(&plan, "iwarp-perf: send failed\n"), 1);
    /* The client has not even begun: nobody will come to the server. */
    doubles_reset();
    doubles.serving = SERVING_ON;
    doubles.possible = -1;
    assert_int_equal(local(&plan, ""), 73);
    doubles_reset();
    doubles.serving = SERVING_ON;
    doubles.unreachable = 1;
    assert_int_equal(local(&plan, "iwarp-perf: 999.9.9.9:"), 3);
    /* No socket to listen with. */
    doubles_reset();
    doubles.no_sockets = 1;
    assert_int_equal(
        local(&plan, "iwarp-perf: cannot listen on 999.9.9.9:9: Too many open files\n"), 69);
    assert_null(strstr(doubles.log, "resolve"));
}

static struct perf_plan again;

static void run_again(void)
{
    doubles_reset();
    (void)perf_local(&again);
}

static void fail_again(void)
{
    doubles_reset();
    doubles.failing = 1;
    catch_from(2);
    (void)perf_local(&again);
    (void)caught();
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    again = plan_of(1);
    again.count = 1;
    assert_false(leaks(run_again));
    without_input(run_again);
    assert_int_equal(doubles.row_count, 1);
    without_input(fail_again);
}

static void test_no_process(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    doubles.no_fork = true;
    assert_int_equal(
        local(&plan, "iwarp-perf: cannot start a server: Resource temporarily unavailable\n"), 69);
    assert_null(strstr(doubles.log, "resolve"));
}

static int begin(void **state)
{
    (void)state;
    doubles_reset();
    return 0;
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, catch_no_more)

int main(void)
{
    iw_complain_as("iwarp-perf");
    const struct CMUnitTest tests[] = {
        EACH(test_soak),
        EACH(test_short_soak),
        EACH(test_growth),
        EACH(test_failing_soak),
        EACH(test_local),
        EACH(test_local_failures),
        EACH(test_nothing_is_lost),
        EACH(test_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
