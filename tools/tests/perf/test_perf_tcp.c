/* SPDX-License-Identifier: BSD-3-Clause */
/* The system calls of the baseline, one by one: the sockets are the test's, and so is the clock. */
#include "tcp_doubles.h"

/* ---- lanes ---- */

static struct perf_lane *make(bool client, uint32_t connections, bool poll, uint64_t size)
{
    const struct perf_setup setup = {.tcp = true,
                                     .poll = poll,
                                     .connections = connections,
                                     .window = 3,
                                     .threads = 1,
                                     .size_max = size};
    char error[PERF_TEXT];
    struct perf_lane *lane = perf_lane_create(&setup, client, error);
    assert_non_null(lane);
    lane_of_calls = lane;
    for (uint32_t i = 0; i < connections; i++)
        assert_int_equal(lane->ops->attach(lane, i, dup(2)), 0);
    return lane;
}

static int begin(void **state)
{
    (void)state;
    record[0] = '\0';
    recorded = 0;
    memset(sends, 0, sizeof(sends));
    memset(receives, 0, sizeof(receives));
    memset(waits, 0, sizeof(waits));
    n_sends = n_receives = n_waits = 0;
    coming = 0;
    now = 0;
    no_epoll = no_add = no_flags = false;
    flags_now = O_RDWR;
    return 0;
}

/* The calls as one text, where lines that come again are counted. */
static void expect(const char *expected)
{
    static char text[sizeof(record)];
    size_t used = 0;
    text[0] = '\0';
    for (const char *at = record; *at != '\0';) {
        size_t length = strcspn(at, "\n") + 1;
        unsigned times = 1;
        while (strncmp(at, at + times * length, length) == 0)
            times++;
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%u %.*s", times, (int)length, at);
        at += times * length;
    }
    assert_string_equal(text, expected);
    recorded = 0;
    record[0] = '\0';
}

/* Runs a slice and expects its calls. */
static void run(struct perf_lane *lane, const struct perf_run *slice, struct perf_samples *samples,
                const char *calls, const char *error)
{
    lane->error[0] = '\0';
    lane->calls = 0;
    recorded = 0;
    record[0] = '\0';
    assert_int_equal(perf_lane_prepare(lane, slice), 0);
    int result = lane->ops->execute(lane, slice, samples);
    assert_string_equal(lane->error, error);
    assert_int_equal(result, error[0] != '\0' ? -1 : 0);
    unsigned lines = 0;
    for (const char *at = record; *at != '\0'; at++)
        lines += *at == '\n' && at[-1] != 'g'; /* all calls but those that set the mode */
    for (const char *at = record; (at = strstr(at, "nodelay")) != NULL; at++)
        lines--;
    assert_int_equal(lane->calls, lines);
    expect(calls);
}

static void test_attaching(void **state)
{
    char error[PERF_TEXT];
    const struct perf_setup setup = {
        .tcp = true, .connections = 2, .window = 3, .threads = 1, .size_max = 5};
    (void)state;
    struct perf_lane *lane = make(true, 2, false, 5);
    expect("1 patience 60 s\n"
           "1 calm 60 s\n"
           "1 watch in\n"
           "1 patience 60 s\n"
           "1 calm 60 s\n"
           "1 watch in\n");
    assert_int_equal(lane->ops->establish(lane), 0);
    no_flags = true;
    assert_int_equal(perf_lane_prepare(lane, &(struct perf_run){.test = PERF_SEND_LAT, .size = 5}),
                     -1);
    assert_string_equal(lane->error, "fcntl: Bad file descriptor");
    perf_lane_destroy(lane);
    no_flags = false;
    no_epoll = true;
    assert_null(perf_lane_create(&setup, true, error));
    assert_string_equal(error, "cannot make a lane: Too many open files");
    no_epoll = false;
    no_add = true;
    lane = perf_lane_create(&setup, true, error);
    assert_int_equal(lane->ops->attach(lane, 0, dup(2)), -1);
    assert_string_equal(lane->error, "epoll: No space left on device");
    perf_lane_destroy(lane);
}

static void make_again(void)
{
    (void)begin(NULL);
    perf_lane_destroy(make(true, 2, false, 5));
}

static void test_memory(void **state)
{
    const struct perf_setup setup = {.tcp = true, .connections = 2, .threads = 1, .size_max = 5};
    char error[PERF_TEXT];
    unsigned before = descriptors();
    (void)state;
    for (int i = 1; i <= 2; i++) {
        no_memory = i;
        assert_null(perf_lane_create(&setup, true, error));
        assert_string_equal(error, "cannot make a lane: Cannot allocate memory");
    }
    /* What has no connections yet closes none. */
    perf_lane_destroy(perf_lane_create(&setup, true, error));
    assert_false(leaks(make_again));
    assert_int_equal(descriptors(), before);
}

/* Ping-pong: client, then server. */
static void test_latency(void **state)
{
    double values[4] = {0};
    struct perf_samples samples = {.values = values, .room = 4};
    struct perf_run slice = {.test = PERF_SEND_LAT, .size = 5, .count = 2};
    (void)state;
    struct perf_lane *lane = make(true, 1, false, 5);
    receives[0] = receives[1] = 5;
    run(lane, &slice, &samples,
        "1 blocking\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n",
        "");
    assert_int_equal(samples.count, 2);
    for (int i = 0; i < 2; i++)
        assert_true(values[i] > 499999 && values[i] < 500001); /* half of 1 ms */
    /* A read is there and back. */
    (void)begin(state);
    slice.test = PERF_READ_LAT;
    samples.count = 0;
    receives[0] = receives[1] = 5;
    run(lane, &slice, &samples,
        "1 blocking\n"
        "1 send 28 from 0\n"
        "1 receive 131072\n"
        "1 send 28 from 0\n"
        "1 receive 131072\n",
        "");
    assert_int_equal(samples.count, 2);
    assert_true(values[0] > 999999 && values[0] < 1000001);
    (void)begin(state);
    slice.test = PERF_ATOMIC_LAT;
    receives[0] = receives[1] = 12;
    run(lane, &slice, NULL,
        "1 blocking\n"
        "1 send 52 from 0\n"
        "1 receive 131072\n"
        "1 send 52 from 0\n"
        "1 receive 131072\n",
        "");
    perf_lane_destroy(lane);
    (void)begin(state);
    lane = make(false, 1, false, 100);
    samples.count = 0;
    slice = (struct perf_run){.test = PERF_WRITE_LAT, .size = 5, .count = 2};
    receives[0] = receives[1] = 5;
    run(lane, &slice, &samples,
        "1 blocking\n"
        "1 receive 131072\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n"
        "1 send 5 from 0\n",
        "");
    assert_int_equal(samples.count, 0);
    (void)begin(state);
    slice.test = PERF_READ_LAT;
    receives[0] = 20;
    receives[1] = 8;
    receives[2] = 28;
    run(lane, &slice, NULL,
        "1 blocking\n"
        "2 receive 131072\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n"
        "1 send 5 from 0\n",
        "");
    perf_lane_destroy(lane);
}

/* Sends as many as it likes, the last without delay, and waits for the one octet. */
static void test_bandwidth(void **state)
{
    struct perf_run slice = {.test = PERF_WRITE_BW, .size = 5, .count = 3};
    (void)state;
    struct perf_lane *lane = make(true, 1, false, 5);
    receives[0] = 1;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "2 send 5 from 0\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n",
        "");
    (void)begin(state);
    slice.count = 70; /* more than one turn's */
    receives[0] = 1;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "69 send 5 from 0\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n",
        "");
    perf_lane_destroy(lane);
    lane = make(true, 1, true, 5);
    (void)begin(state);
    receives[0] = -EAGAIN;
    receives[1] = 1;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 no blocking\n"
        "64 send 5 from 0\n"
        "1 receive 131072 no\n"
        "5 send 5 from 0\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n",
        "");
    perf_lane_destroy(lane);
    lane = make(true, 1, false, 5);
    (void)begin(state);
    slice.count = 5;
    slice.test = PERF_READ_BW; /* three on their way */
    receives[0] = 7;
    receives[1] = 18;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "3 send 28 from 0\n"
        "1 receive 131072\n"
        "1 send 28 from 0\n"
        "1 receive 131072\n"
        "1 nodelay 1\n"
        "1 send 28 from 0\n",
        "");
    perf_lane_destroy(lane);
    (void)begin(state);
    lane = make(false, 1, false, 5);
    slice.test = PERF_SEND_BW;
    receives[0] = 12;
    receives[1] = 13;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "2 receive 131072\n"
        "1 nodelay 1\n"
        "1 send 1 from 0\n",
        "");
    perf_lane_destroy(lane);
}

static void test_both_ways(void **state)
{
    struct perf_run slice = {.test = PERF_WRITE_BW, .size = 5, .count = 2, .both = true};
    (void)state;
    struct perf_lane *lane = make(true, 1, false, 5);
    sends[0] = 2;
    sends[1] = -EAGAIN;
    receives[0] = 9;
    receives[1] = -EAGAIN;
    receives[2] = 1;
    receives[3] = 1;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 no blocking\n"
        "1 send 5 from 0 in part\n"
        "1 send 3 from 2 no\n"
        "1 receive 131072\n"
        "1 send 3 from 2\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072 no\n"
        "1 receive 131072\n"
        "1 send 1 from 0\n"
        "1 receive 131072\n",
        "");
    perf_lane_destroy(lane);
}

/* Two connections: each in turn, and one wait for both. */
static void test_connections(void **state)
{
    struct perf_run slice = {.test = PERF_SEND_LAT, .size = 5, .count = 1};
    (void)state;
    struct perf_lane *lane = make(true, 2, false, 5);
    for (int i = 0; i < 6; i++)
        receives[i] = -EAGAIN;
    receives[6] = receives[7] = 5;
    waits[1] = -EINTR;
    run(lane, &slice, NULL,
        "2 no blocking\n"
        "1 send 5 from 0\n"
        "1 receive 131072 no\n"
        "1 send 5 from 64\n"
        "3 receive 131072 no\n"
        "1 wait 60000\n"
        "2 receive 131072 no\n"
        "1 wait 60000\n"
        "2 receive 131072\n",
        "");
    perf_lane_destroy(lane);
}

/* What a connection is waited for: that it takes octets, or has some, or both. */
static void test_waiting(void **state)
{
    struct perf_run slice = {.test = PERF_WRITE_BW, .size = 5, .count = 1, .both = true};
    (void)state;
    struct perf_lane *lane = make(true, 1, false, 5);
    sends[0] = sends[2] = -EAGAIN;
    receives[0] = receives[2] = receives[3] = -EAGAIN;
    receives[1] = 6;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 no blocking\n"
        "1 nodelay 1\n"
        "1 send 5 from 0 no\n"
        "1 receive 131072 no\n"
        "1 change in out\n"
        "1 wait 60000\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n"
        "1 send 1 from 0 no\n"
        "1 change out\n"
        "1 wait 60000\n"
        "1 send 1 from 0\n",
        "");
    (void)begin(state);
    sends[1] = -EAGAIN;
    receives[0] = 6;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 no blocking\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n"
        "1 send 1 from 0 no\n"
        "1 wait 60000\n"
        "1 send 1 from 0\n",
        "");
    (void)begin(state);
    receives[0] = 5;
    receives[1] = receives[2] = -EAGAIN;
    receives[3] = 1;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 no blocking\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n"
        "1 send 1 from 0\n"
        "2 receive 131072 no\n"
        "1 change in\n"
        "1 wait 60000\n"
        "1 receive 131072\n",
        "");
    perf_lane_destroy(lane);
}

/* Large messages come where they belong, small ones by the chunk; those that are compared are
 * copied. */
static void test_places(void **state)
{
    struct perf_run slice = {.test = PERF_SEND_BW, .size = 65536, .count = 2, .verify = true};
    (void)state;
    struct perf_lane *lane = make(false, 1, false, 65536);
    receives[0] = 60000;
    receives[1] = 5536;
    receives[2] = 65536;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "1 receive 65536 to 0\n"
        "1 receive 5536 to 60000\n"
        "1 receive 65536 to 0\n"
        "1 nodelay 1\n"
        "1 send 1 from 0\n",
        "");
    assert_int_equal(lane->sink[0], 0);
    assert_int_equal(lane->sink[1], 1);
    assert_int_equal(lane->sink[65535], 255);
    slice.verify = false;
    (void)begin(state);
    slice.size = 65535;
    receives[0] = 131070;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "1 receive 131072\n"
        "1 nodelay 1\n"
        "1 send 1 from 0\n",
        "");
    (void)begin(state);
    slice = (struct perf_run){.test = PERF_SEND_BW, .size = 5, .count = 3, .verify = true};
    receives[0] = 3;
    receives[1] = 9;
    receives[2] = 3;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "3 receive 131072\n"
        "1 nodelay 1\n"
        "1 send 1 from 0\n",
        "");
    static const uint8_t last[] = {10, 11, 12, 13, 14, 0};
    assert_memory_equal(lane->sink, last, 6);
    (void)begin(state);
    slice.verify = false;
    memset(lane->sink, 99, 6);
    receives[0] = 15;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "1 receive 131072\n"
        "1 nodelay 1\n"
        "1 send 1 from 0\n",
        "");
    assert_int_equal(lane->sink[0], 99);
    perf_lane_destroy(lane);
}

/* ---- what goes wrong ---- */

static void test_failures(void **state)
{
    static const struct {
        bool poll;
        int sent, received, waited;
        const char *error;
    } cases[] = {{false, 0, -ALL, 0, "the peer closed a TCP connection"},
                 {false, 0, -ECONNRESET, 0, "TCP: Connection reset by peer"},
                 {false, -EPIPE, 0, 0, "TCP: Broken pipe"},
                 {false, -EAGAIN, 0, 0, "no progress for 60 seconds"},
                 {false, 0, -EAGAIN, 0, "no progress for 60 seconds"},
                 {false, 0, 6, 0, "more octets than agreed"},
                 {true, 0, 6, 0, "more octets than agreed"},
                 {true, -EPIPE, 0, 0, "TCP: Broken pipe"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct perf_run slice = {.test = PERF_SEND_LAT, .size = 5, .count = 1};
        (void)begin(state);
        struct perf_lane *lane = make(true, 1, cases[i].poll, 5);
        sends[0] = cases[i].sent;
        receives[0] = cases[i].received;
        assert_int_equal(perf_lane_prepare(lane, &slice), 0);
        assert_int_equal(lane->ops->execute(lane, &slice, NULL), -1);
        assert_string_equal(lane->error, cases[i].error);
        perf_lane_destroy(lane);
    }
    /* Two connections: the wait itself. */
    for (int i = 0; i < 2; i++) {
        struct perf_run slice = {.test = PERF_SEND_LAT, .size = 5, .count = 1};
        (void)begin(state);
        struct perf_lane *lane = make(true, 2, false, 5);
        receives[0] = receives[1] = receives[2] = receives[3] = -EAGAIN;
        waits[0] = i == 0 ? 1 : -EBADF;
        assert_int_equal(perf_lane_prepare(lane, &slice), 0);
        assert_int_equal(lane->ops->execute(lane, &slice, NULL), -1);
        assert_string_equal(lane->error, i == 0 ? "no progress for 60 seconds"
                                                : "epoll_wait: Bad file descriptor");
        perf_lane_destroy(lane);
    }
}

/* A signal is no reason to wait; one octet too many after the last is one. */
static void test_odd_ends(void **state)
{
    struct perf_run slice = {.test = PERF_WRITE_BW, .size = 5, .count = 1};
    (void)state;
    struct perf_lane *lane = make(true, 1, false, 5);
    sends[0] = -EINTR;
    receives[0] = -EINTR;
    receives[1] = 1;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "1 nodelay 1\n"
        "1 send 5 from 0 no\n"
        "1 send 5 from 0\n"
        "1 receive 131072 no\n"
        "1 receive 131072\n",
        "");
    (void)begin(state);
    receives[0] = 2;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 blocking\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n",
        "more octets than agreed");
    perf_lane_destroy(lane);
    (void)begin(state);
    lane = make(true, 1, true, 5);
    slice.both = true;
    receives[0] = 6;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 no blocking\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n"
        "1 send 1 from 0\n",
        "");
    (void)begin(state);
    receives[0] = 7;
    run(lane, &slice, NULL,
        "1 nodelay 0\n"
        "1 no blocking\n"
        "1 nodelay 1\n"
        "1 send 5 from 0\n"
        "1 receive 131072\n",
        "more octets than agreed");
    perf_lane_destroy(lane);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_attaching), EACH(test_memory),      EACH(test_latency), EACH(test_bandwidth),
        EACH(test_both_ways), EACH(test_connections), EACH(test_waiting), EACH(test_places),
        EACH(test_failures),  EACH(test_odd_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
