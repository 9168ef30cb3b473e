/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-perf's client asks for, and what it makes of what it measures. */
#include "client_doubles.h"

#include <errno.h>

#include "../caught.h"
#include "host/complain.h"

static struct perf_plan plan_of(size_t lanes)
{
    struct perf_plan plan = {.sizes = {64},
                             .size_count = 1,
                             .lane_count = lanes,
                             .rounds = 1,
                             .slice_ms = 50,
                             .count = 5,
                             .cpu = {-1, -1}};
    for (size_t i = 0; i < lanes; i++)
        plan.lanes[i] = (struct perf_setup){.tcp = i == 0,
                                            .crc = i == 2,
                                            .connections = 1,
                                            .window = 16,
                                            .threads = 1,
                                            .size_max = 64};
    return plan;
}

/* Runs the client; what it says on standard error is in `said`. Everything is closed behind it. */
static char said[65536];

static int run(const struct perf_plan *plan)
{
    unsigned before = descriptors();
    catch_from(2);
    int status = perf_client(plan, "127.0.0.1:4711");
    snprintf(said, sizeof(said), "%s", caught());
    assert_int_equal(descriptors(), before);
    assert_int_equal(doubles.created, doubles.destroyed);
    return status;
}

static void assert_close(double got, double expected)
{
    double most = expected * 1e-9 + 1e-15;
    if (!(got - expected <= most && expected - got <= most))
        fail_msg("%.17g, not %.17g", got, expected);
}

static void assert_spread(const struct perf_spread *got, double median, double min, double max)
{
    assert_close(got->median, median);
    assert_close(got->min, min);
    assert_close(got->max, max);
}

/* ---- the whole talk ---- */

static void test_session(void **state)
{
    struct perf_plan plan = plan_of(2);
    (void)state;
    plan.tests[PERF_SEND_LAT] = plan.tests[PERF_WRITE_BW] = plan.tests[PERF_ATOMIC_BW] = true;
    plan.size_count = 2;
    plan.sizes[1] = 5;
    plan.rounds = 2;
    plan.both = plan.verify = true;
    plan.lanes[1].connections = 2;
    plan.lanes[0].congestion[0] = 'x';
    assert_int_equal(run(&plan), 0);
    assert_string_equal(said, "");
    /* For who changes what is said. */
    if (getenv("IW_PAGES_WRITE") != NULL) {
        FILE *out = fopen(IW_SOURCE_DIR "/tools/tests/perf/session.txt", "w");
        assert_non_null(out);
        fputs(doubles.log, out);
        fclose(out);
    }
    assert_string_equal(doubles.log, text_of(IW_SOURCE_DIR "/tools/tests/perf/session.txt"));
    assert_int_equal(doubles.cpu, -1);
}

/* Who was first in one round is last in the next: what drifts affects all lanes alike. */
static void test_order_of_lanes(void **state)
{
    struct perf_plan plan = plan_of(3);
    char order[32] = "";
    (void)state;
    plan.tests[PERF_WRITE_BW] = true;
    plan.rounds = 4;
    assert_int_equal(run(&plan), 0);
    for (const char *at = doubles.log; (at = strstr(at, "execute ")) != NULL;) {
        at += strlen("execute ");
        snprintf(order + strlen(order), sizeof(order) - strlen(order), "%c", *at);
    }
    assert_string_equal(order, "012012210012210"); /* once to warm up, then the rounds */
}

/* ---- figures ---- */

static void test_figures(void **state)
{
    struct perf_plan plan = plan_of(2);
    (void)state;
    plan.tests[PERF_WRITE_BW] = plan.baseline = plan.both = true;
    plan.rounds = 3;
    plan.lanes[1].connections = 2;
    doubles.each[1] = 0.0005;
    assert_int_equal(run(&plan), 0);
    assert_int_equal(doubles.row_count, 2);
    const struct perf_result *base = &doubles.rows[0], *ours = &doubles.rows[1];
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(doubles.rows[i].test, PERF_WRITE_BW);
        assert_int_equal(doubles.rows[i].size, 64);
        assert_int_equal(doubles.rows[i].lane, i);
        assert_close(doubles.rows[i].p99, 0);
        assert_close(doubles.rows[i].p999, 0);
    }
    /* 5 messages of each connection, both ways, in 5 ms and 2.5 ms. */
    assert_int_equal(base->count, 10);
    assert_int_equal(ours->count, 20);
    assert_spread(&base->rate, 2000, 2000, 2000);
    assert_spread(&ours->rate, 8000, 8000, 8000);
    assert_spread(&base->value, 2000 * 64e-9, 2000 * 64e-9, 2000 * 64e-9);
    assert_spread(&ours->value, 8000 * 64e-9, 8000 * 64e-9, 8000 * 64e-9);
    assert_spread(&base->ratio, 1, 1, 1);
    assert_spread(&ours->ratio, 4, 4, 4);
    /* Half the time is spent by the client; 15 calls of the client, 25 of the server. */
    assert_close(base->cpu_message[0], 250);
    assert_close(ours->cpu_message[0], 62.5);
    assert_close(base->cpu_gib[0], 250e-6 / 64 * 1073741824);
    assert_close(base->calls[0], 1.5);
    assert_close(base->calls[1], 2.5);
    assert_close(ours->calls[0], 0.75);
    assert_close(ours->calls[1], 1.25);
    /* The server's: a thousandth of the clock, which has gone on from 1000 s. */
    assert_true(base->cpu_message[1] > 100000 && base->cpu_message[1] < 100002);
    assert_true(ours->cpu_message[1] > 50000 && ours->cpu_message[1] < 50001);
    assert_close(base->cpu_gib[1], base->cpu_message[1] * 1e-6 / 64 * 1073741824);
    assert_close(base->cpu_ratio, 1);
    assert_true(ours->cpu_ratio > 0.499 && ours->cpu_ratio < 0.501);
    assert_true(ours->cpu_ratio < ours->cpu_message[1] / base->cpu_message[1]);
    /* Nothing is compared without a baseline. */
    doubles_reset();
    plan.baseline = false;
    assert_int_equal(run(&plan), 0);
    assert_spread(&doubles.rows[1].ratio, 0, 0, 0);
    assert_close(doubles.rows[1].cpu_ratio, 0);
}

static void test_latencies(void **state)
{
    struct perf_plan plan = plan_of(2);
    (void)state;
    plan.tests[PERF_READ_LAT] = plan.baseline = plan.both = true;
    plan.rounds = 2;
    plan.count = 50;
    plan.lanes[1].connections = 10;
    doubles.latency[0] = 1000; /* 1, 2 ... 50 us */
    doubles.latency[1] = 3000; /* 3, 6 ... 1500 us */
    assert_int_equal(run(&plan), 0);
    const struct perf_result *base = &doubles.rows[0], *ours = &doubles.rows[1];
    assert_int_equal(doubles.row_count, 2);
    assert_int_equal(base->count, 50);
    assert_int_equal(ours->count, 500);
    assert_spread(&base->value, 25.5, 25.5, 25.5);
    assert_spread(&ours->value, 751.5, 751.5, 751.5);
    assert_close(base->p99, 50); /* of 100: the 99th */
    assert_close(base->p999, 50);
    assert_close(ours->p99, 1485); /* of 1000 */
    assert_close(ours->p999, 1500);
    assert_spread(&ours->ratio, 751.5 / 25.5, 751.5 / 25.5, 751.5 / 25.5);
    assert_non_null(strstr(doubles.log, "room for 50: execute 0\n"));
    assert_non_null(strstr(doubles.log, "room for 500: execute 1\n"));
    /* Where nothing was timed nothing is divided. */
    doubles_reset();
    doubles.each[0] = 0;
    doubles.latency[1] = 1;
    assert_int_equal(run(&plan), 0);
    assert_spread(&doubles.rows[0].value, 0, 0, 0);
    assert_spread(&doubles.rows[0].ratio, 0, 0, 0);
    assert_spread(&doubles.rows[1].ratio, 0, 0, 0);
}

/* Rounds of a lane whose times differ. */
static void test_spread_over_rounds(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.tests[PERF_SEND_LAT] = true;
    plan.rounds = 3;
    doubles.latency[0] = 1000;
    doubles.latency_step = 1;
    assert_int_equal(run(&plan), 0);
    /* 1 .. 5 us, then twice and three times as much. */
    assert_spread(&doubles.rows[0].value, 6, 3, 9);
    assert_close(doubles.rows[0].p99, 15);
    assert_int_equal(doubles.rows[0].count, 10); /* there and back */
    assert_spread(&doubles.rows[0].rate, 2000, 2000, 2000);
}

/* ---- how many messages fill a slice ---- */

static void test_calibration(void **state)
{
    static const struct {
        enum perf_test test;
        double each;
        uint64_t rounds, slice_ms;
        uint32_t connections;
        const char *counts; /* until it is enough; one that warms up; the first round's */
    } cases[] = {
        {PERF_WRITE_BW, 1.0 / 1024, 1, 50, 1, "8 52 52 52 "},
        {PERF_WRITE_BW, 1.0 / 8192, 1, 50, 1, "8 65 410 410 410 "},
        {PERF_WRITE_BW, 1.0 / 32, 1, 375, 1, "8 13 13 13 "}, /* 1.5 times as many: not enough */
        {PERF_WRITE_BW, 1.0 / 32, 1, 374, 1, "8 8 8 "},      /* less: enough */
        {PERF_WRITE_BW, 1.0 / 64, 1, 1100, 1, "8 65 65 65 "},
        {PERF_WRITE_BW, 1, 1, 50, 1, "8 8 8 "},
        {PERF_WRITE_BW, 0, 1, 50, 1,
         "8 65 521 4169 33353 266825 2134601 17076809 136614473 1000000000 1000000000 "
         "1000000000 "},
        {PERF_READ_LAT, 1.0 / 8192, 1000, 50, 250, "8 65 80 80 80 "},
        {PERF_READ_LAT, 1.0 / 1024, 1000, 50, 5000, "4 4 4 "},
        {PERF_READ_BW, 1.0 / 1024, 1000, 50, 5000, "8 52 52 52 "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct perf_plan plan = plan_of(1);
        char counts[8192] = "";
        doubles_reset();
        plan.count = 0;
        plan.tests[cases[i].test] = true;
        plan.slice_ms = cases[i].slice_ms;
        plan.rounds = cases[i].rounds;
        plan.lanes[0].connections = cases[i].connections;
        doubles.each[0] = cases[i].each;
        assert_int_equal(run(&plan), 0);
        const char *at = strstr(doubles.log, "\"count\":");
        for (; at != NULL && strlen(counts) < 4096; at = strstr(at + 1, "\"count\":"))
            snprintf(counts + strlen(counts), sizeof(counts) - strlen(counts), "%d ", atoi(at + 8));
        size_t length = strlen(cases[i].counts);
        if (cases[i].rounds > 1)
            counts[length] = '\0';
        assert_string_equal(counts, cases[i].counts);
    }
}

/* ---- what goes wrong ---- */

/* Every call that can fail, one after the other. */
static void test_failures(void **state)
{
    struct perf_plan plan = plan_of(2);
    int step = 0, unheard = 0;
    (void)state;
    plan.tests[PERF_SEND_LAT] = plan.tests[PERF_WRITE_BW] = true;
    plan.lanes[1].connections = 2;
    plan.lanes[0].mss = 1;
    doubles.latency[0] = 1;
    for (;;) {
        char expected[128];
        doubles_reset();
        doubles.failing = ++step;
        int status = run(&plan);
        if (doubles.failure == NULL)
            break;
        snprintf(expected, sizeof(expected), "iwarp-perf: %s failed\n", doubles.failure);
        if (status == 0) { /* nobody hears the last word */
            assert_string_equal(doubles.failure, "send");
            unheard++;
            continue;
        }
        assert_string_equal(said, expected);
        assert_int_equal(status, 1);
        /* Results are written as far as there are any. */
        char results[64];
        snprintf(results, sizeof(results), "json of %zu\nhtml of %zu\n", doubles.row_count,
                 doubles.row_count);
        assert_int_equal(strstr(doubles.log, results) != NULL, doubles.row_count > 0);
    }
    assert_int_equal(step, 73);
    assert_int_equal(unheard, 1);
}

/* The server's reason, if it gives one, is a better one than the client's. */
static void test_their_reason(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.tests[PERF_WRITE_BW] = true;
    doubles.failing = 12;
    doubles.theirs = "the peer says: no";
    assert_int_equal(run(&plan), 1);
    assert_string_equal(said, "iwarp-perf: the peer says: no\n");
    assert_non_null(strstr(doubles.log, "poll 200 ms\nreceive\n"));
    doubles_reset();
    doubles.failing = 12;
    doubles.theirs = "the peer says: no";
    doubles.polled = 0;
    assert_int_equal(run(&plan), 1);
    assert_non_null(strstr(said, " failed\n"));
    assert_null(strstr(doubles.log, "receive"));
}

static void refuse(const char *host_port, int expected, const char *text)
{
    struct perf_plan plan = plan_of(1);
    unsigned before = descriptors();
    plan.tests[PERF_WRITE_BW] = true;
    catch_from(2);
    int status = perf_client(&plan, host_port);
    assert_string_equal(caught(), text);
    assert_int_equal(status, expected);
    assert_int_equal(descriptors(), before);
    assert_null(strstr(doubles.log, "json"));
}

static void test_connecting(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.tests[PERF_WRITE_BW] = true;
    refuse("nowhere", 64, "iwarp-perf: bad address \"nowhere\": expected HOST:PORT\n");
    doubles.unreachable = 9;
    refuse("127.0.0.1:7", 3, "iwarp-perf: 127.0.0.1:7: cannot connect: No route to host\n");
    assert_string_equal(doubles.log, "resolve 127.0.0.1\nconnect 127.0.0.1:7\n");
    doubles_reset();
    doubles.no_sockets = 1;
    refuse("127.0.0.1:7", 3, "iwarp-perf: 127.0.0.1:7: cannot connect: Too many open files\n");
    assert_string_equal(doubles.log, "resolve 127.0.0.1\n");
    /* The next address of a name is as good. */
    for (int i = 0; i < 2; i++) {
        doubles_reset();
        doubles.two_addresses = true;
        doubles.unreachable = i;
        doubles.no_sockets = 1 - i;
        assert_int_equal(run(&plan), 0);
        assert_string_equal(said, "");
        assert_int_equal(doubles.connects, 2 + i);
        assert_non_null(strstr(doubles.log, "connect [::1]:4711\n"));
    }
    /* A server that is slow to answer. */
    doubles_reset();
    doubles.polled = 0;
    assert_int_equal(run(&plan), 0);
    assert_string_equal(said, "iwarp-perf: 127.0.0.1:4711: no answer yet; it may be busy with "
                              "another client\n");
}

static void test_reports(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.tests[PERF_WRITE_BW] = true;
    doubles.possible = -1;
    assert_int_equal(run(&plan), 73);
    assert_string_equal(doubles.log, "");
    for (int which = 0; which < 2; which++) {
        doubles_reset();
        doubles.json = which == 0 ? -1 : 0;
        doubles.html = which == 1 ? -1 : 0;
        assert_int_equal(run(&plan), 73);
        assert_non_null(strstr(doubles.log, "json of 1\nhtml of 1\n"));
    }
}

static void test_pinning(void **state)
{
    struct perf_plan plan = plan_of(1);
    (void)state;
    plan.tests[PERF_WRITE_BW] = true;
    for (int cpu = 0; cpu < 1024; cpu += 1023) {
        doubles_reset();
        plan.cpu[0] = cpu;
        assert_int_equal(run(&plan), 0);
        assert_int_equal(doubles.cpu, cpu);
        assert_string_equal(said, "");
    }
    doubles.pin_error = EPERM;
    assert_int_equal(run(&plan), 0);
    assert_string_equal(said, "iwarp-perf: cannot run on CPU 1023: Operation not permitted\n");
}

/* ---- limits ---- */

static void expect_judgement(struct perf_plan *plan, int expected, const char *text)
{
    doubles_reset();
    doubles.each[0] = 0.001;
    doubles.each[1] = 0.002; /* half as fast */
    doubles.latency[0] = 1000;
    doubles.latency[1] = 2000;
    catch_from(2);
    int status = perf_client(plan, "127.0.0.1:4711");
    assert_string_equal(caught(), text);
    assert_int_equal(status, expected);
}

static void test_limits(void **state)
{
    struct perf_plan plan = plan_of(2);
    (void)state;
    plan.json = "-"; /* what is said goes to standard error */
    plan.baseline = true;
    plan.tests[PERF_SEND_LAT] = plan.tests[PERF_WRITE_BW] = true;
    char text[1024];
    expect_judgement(&plan, 0, "");
    plan.min_ratio = 0.5;
    plan.max_ratio = 2;
    expect_judgement(&plan, 0, "");
    plan.max_ratio = 1.9375;
    snprintf(text, sizeof(text), "%s",
             "iwarp send-lat of 64 octets: ratio 2.000, the limit is 1.938\n");
    expect_judgement(&plan, 1, text);
    plan.min_ratio = 0.5625;
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
             "iwarp write-bw of 64 octets: ratio 0.500, the limit is 0.562\n");
    expect_judgement(&plan, 1, text);
    /* The baseline itself has no limit. */
    plan.lane_count = 1;
    plan.max_ratio = 0.5;
    plan.min_ratio = 5;
    expect_judgement(&plan, 0, "");
}

static struct perf_plan again;

static void run_again(void)
{
    doubles_reset();
    doubles.two_addresses = true;
    (void)perf_client(&again, "127.0.0.1:4711");
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    again = plan_of(2);
    again.tests[PERF_SEND_LAT] = again.tests[PERF_READ_LAT] = again.tests[PERF_SEND_BW] = true;
    assert_false(leaks(run_again));
    without_input(run_again);
    assert_int_equal(doubles.row_count, 6);
    assert_int_equal(doubles.connects, 3);
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
        EACH(test_session),        EACH(test_figures),
        EACH(test_latencies),      EACH(test_spread_over_rounds),
        EACH(test_calibration),    EACH(test_failures),
        EACH(test_their_reason),   EACH(test_connecting),
        EACH(test_reports),        EACH(test_pinning),
        EACH(test_limits),         EACH(test_nothing_is_lost),
        EACH(test_order_of_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
