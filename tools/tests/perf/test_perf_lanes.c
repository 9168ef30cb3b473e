/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of both kinds, each end in a thread: every test in every shape, whose octets are compared.
 */
#include "perf.h"

#include <pthread.h>
#include <sys/socket.h>

#include "../caught.h"
#include "iwarp/endpoint_transport.h"

/* ---- what is posted ---- */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static unsigned receives_posted, works[IW_WORK_RECV + 1];

int __real_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now);
int __wrap_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now);
int __real_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count);
int __wrap_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count);

int __wrap_iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *work, uint64_t now)
{
    pthread_mutex_lock(&guard);
    works[work->opcode]++;
    pthread_mutex_unlock(&guard);
    return __real_iw_endpoint_post(ep, work, now);
}

int __wrap_iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                                 size_t count)
{
    pthread_mutex_lock(&guard);
    receives_posted++;
    pthread_mutex_unlock(&guard);
    return __real_iw_endpoint_post_recv(ep, id, sge, count);
}

/* ---- two lanes ---- */

struct end {
    struct perf_lane *lane;
    const struct perf_run *run;
    struct perf_samples samples;
    int result;
};

static void *establish(void *context)
{
    struct end *end = context;
    end->result = end->lane->ops->establish(end->lane);
    return NULL;
}

static void *execute(void *context)
{
    struct end *end = context;
    end->result =
        end->lane->ops->execute(end->lane, end->run, end->lane->client ? &end->samples : NULL);
    return NULL;
}

/* Does it at both ends at once. */
static void both(struct end ends[2], void *(*what)(void *context))
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, what, &ends[1]), 0);
    what(&ends[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(ends[i].lane->error, "");
        assert_int_equal(ends[i].result, 0);
    }
}

/* Makes and connects both: ends[0] is the client. */
static void open_both(struct end ends[2], const struct perf_setup *setup)
{
    char error[PERF_TEXT];
    memset(ends, 0, 2 * sizeof(ends[0]));
    for (int i = 0; i < 2; i++) {
        ends[i].lane = perf_lane_create(setup, i == 0, error);
        assert_non_null(ends[i].lane);
        assert_int_equal(ends[i].lane->client, i == 0);
    }
    for (int i = 0; i < 2; i++) {
        ends[i].lane->remote_sink = ends[1 - i].lane->local_sink;
        ends[i].lane->remote_source = ends[1 - i].lane->local_source;
        ends[i].lane->remote_counter = ends[1 - i].lane->local_counter;
    }
    for (uint32_t k = 0; k < setup->connections; k++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(ends[i].lane->ops->attach(ends[i].lane, k, fds[i]), 0);
    }
    both(ends, establish);
}

static void close_both(struct end ends[2])
{
    perf_lane_destroy(ends[0].lane);
    perf_lane_destroy(ends[1].lane);
}

/* Runs a slice at both ends and compares the octets. */
static void run_both(struct end ends[2], struct perf_run run)
{
    static double values[4096];
    static uint32_t seed;
    bool latency = perf_is_latency(run.test);
    uint32_t connections = ends[0].lane->setup.connections;
    size_t samples = (size_t)run.count * connections;
    run.verify = true;
    run.seed = ++seed;
    assert_true(samples < 4096);
    values[samples] = -1;
    ends[0].samples = (struct perf_samples){.values = values, .room = latency ? samples : 0};
    for (int i = 0; i < 2; i++) {
        ends[1 - i].run = &run;
        assert_int_equal(perf_lane_prepare(ends[1 - i].lane, &run), 0);
    }
    both(ends, execute);
    for (int i = 0; i < 2; i++) {
        perf_lane_verify(ends[i].lane, &run);
        assert_string_equal(ends[i].lane->error, "");
        assert_true(ends[i].lane->calls > 0);
    }
    assert_int_equal(ends[0].samples.count, latency ? samples : 0);
    for (size_t i = 0; i < ends[0].samples.count; i++)
        assert_true(values[i] > 0 && values[i] < 600e9);
    assert_true(values[samples] < 0);
}

static void run_all(const struct perf_setup *setup)
{
    static const uint64_t sizes[] = {1, 5, 5000, 70000};
    struct end ends[2];
    unsigned before = descriptors();
    open_both(ends, setup);
    for (int test = 0; test < PERF_TESTS; test++)
        for (size_t i = 0; i < 4; i++) {
            struct perf_run run = {.test = (enum perf_test)test, .size = sizes[i], .count = 1};
            bool twice = !perf_is_latency(run.test);
            if (perf_is_atomic(run.test))
                run.size = 8;
            if (run.size > setup->size_max)
                continue;
            if (setup->poll && i != 1) /* who asks again and again takes all the time there is */
                continue;
            for (int k = 0; k <= twice; k++) {
                run.both = k > 0;
                run.count = 1;
                run_both(ends, run);
                run.count = run.size > 5 || setup->poll ? 3 : 20;
                run_both(ends, run);
            }
        }
    close_both(ends);
    assert_int_equal(descriptors(), before);
}

static void test_tcp(void **state)
{
    struct perf_setup setup = {
        .tcp = true, .connections = 1, .window = 4, .threads = 1, .size_max = 70000};
    (void)state;
    run_all(&setup);
    setup.poll = true;
    run_all(&setup);
    setup.connections = 3;
    run_all(&setup);
    setup.poll = false;
    run_all(&setup);
}

static void test_iwarp(void **state)
{
    struct perf_setup setup = {.connections = 1, .window = 4, .threads = 1, .size_max = 70000};
    (void)state;
    run_all(&setup);
    setup.window = 1;
    setup.poll = setup.crc = true;
    setup.size_max = 5000;
    run_all(&setup);
}

static void test_iwarp_in_threads(void **state)
{
    struct perf_setup setup = {.connections = 5, .window = 4, .threads = 3, .size_max = 5000};
    (void)state;
    setup.markers = true;
    run_all(&setup);
}

/* How many works of each kind a slice takes at both ends. */
static void test_works(void **state)
{
    static const struct {
        enum perf_test test;
        bool both;
        unsigned count[4]; /* Sends, Writes, Reads, atomics */
    } cases[] = {{PERF_SEND_LAT, false, {240, 0, 0, 0}},  {PERF_WRITE_LAT, false, {0, 240, 0, 0}},
                 {PERF_READ_LAT, false, {0, 0, 120, 0}},  {PERF_ATOMIC_LAT, false, {0, 0, 0, 120}},
                 {PERF_SEND_BW, false, {120, 0, 0, 0}},   {PERF_SEND_BW, true, {240, 0, 0, 0}},
                 {PERF_WRITE_BW, false, {0, 120, 0, 0}},  {PERF_WRITE_BW, true, {0, 240, 0, 0}},
                 {PERF_READ_BW, false, {0, 0, 120, 0}},   {PERF_READ_BW, true, {0, 0, 240, 0}},
                 {PERF_ATOMIC_BW, false, {0, 0, 0, 120}}, {PERF_ATOMIC_BW, true, {0, 0, 0, 240}}};
    const struct perf_setup setup = {.connections = 2, .window = 6, .threads = 1, .size_max = 64};
    struct end ends[2];
    (void)state;
    receives_posted = 0;
    open_both(ends, &setup);
    /* For four windows of Sends and 16 of Immediate Data, on two connections of two ends. */
    assert_int_equal(receives_posted, 2 * 2 * (4 * 6 + 16));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(works, 0, sizeof(works));
        run_both(ends, (struct perf_run){
                           .test = cases[i].test, .size = 8, .count = 60, .both = cases[i].both});
        assert_int_equal(works[IW_WORK_SEND], cases[i].count[0]);
        assert_int_equal(works[IW_WORK_WRITE], cases[i].count[1]);
        assert_int_equal(works[IW_WORK_READ], cases[i].count[2]);
        assert_int_equal(works[IW_WORK_FETCH_ADD], cases[i].count[3]);
        /* What is no ping-pong ends with a word and its answer, of each end that sent; of Sends,
         * room is made as well. */
        bool stream = !perf_is_ping_pong(cases[i].test);
        unsigned words = !stream ? 0 : cases[i].both ? 8 : 4;
        if (cases[i].test == PERF_SEND_BW)
            assert_true(works[IW_WORK_IMMEDIATE] > words);
        else
            assert_int_equal(works[IW_WORK_IMMEDIATE], words);
    }
    close_both(ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_iwarp),
        cmocka_unit_test(test_iwarp_in_threads),
        cmocka_unit_test(test_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
