/* SPDX-License-Identifier: BSD-3-Clause */
/* A lane of iWARP, step by step: transport and endpoints are the test's. */
#include "rdma_doubles.h"

/* ---- lanes ---- */

static int begin(void **state)
{
    (void)state;
    record[0] = '\0';
    recorded = calls = failing = n_domains = n_reactors = n_regions = attached = receives = 0;
    reactors = domains = steps = step_result = 0;
    n_done = 0;
    has_event = busy = false;
    now = step_takes = 0;
    transport_now = 0;
    on_step = NULL;
    return 0;
}

static struct perf_lane *make(bool client, uint32_t connections, uint32_t threads, bool poll)
{
    const struct perf_setup setup = {.connections = connections,
                                     .threads = threads,
                                     .window = 4,
                                     .poll = poll,
                                     .crc = true,
                                     .mulpdu = 900,
                                     .size_max = 64};
    char error[PERF_TEXT];
    struct perf_lane *lane = perf_lane_create(&setup, client, error);
    assert_non_null(lane);
    lane->remote_sink = 7;
    lane->remote_source = 8;
    lane->remote_counter = 9;
    for (uint32_t i = 0; i < connections; i++)
        assert_int_equal(lane->ops->attach(lane, i, 100 + (int)i), 0);
    return lane;
}

static void destroy(struct perf_lane *lane)
{
    perf_lane_destroy(lane);
    assert_int_equal(reactors, 0);
    assert_int_equal(domains, 0);
}

/* Something comes for a connection. */
static void ready(unsigned i)
{
    ops->ready(contexts[i], handle(40 + i));
}

static void happen(unsigned i, enum iw_event_kind kind)
{
    event.kind = kind;
    has_event = true;
    ready(i);
}

static void complete(unsigned i, enum iw_work_opcode opcode, uint64_t original)
{
    done[0] = (struct iw_completion){.opcode = opcode, .length = 8, .original = original};
    n_done = 1;
    ready(i);
}

/* A word of the peer's. */
static void hear(unsigned i, uint32_t kind, uint32_t value)
{
    done[0] = (struct iw_completion){.opcode = IW_WORK_RECV, .length = 8, .immediate = true};
    iw_put32(done[0].immediate_data, kind);
    iw_put32(done[0].immediate_data + 4, value);
    n_done = 1;
    ready(i);
}

static void test_parts(void **state)
{
    static const unsigned expected[] = {1, 1, 2, 2, 2, 3, 3, 3};
    (void)state;
    struct perf_lane *lane = make(true, 8, 3, true);
    assert_int_equal(n_domains, 3);
    assert_int_equal(n_reactors, 3);
    assert_true(busy);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(reactor_of[i], expected[i]);
        assert_int_equal(descriptors_of[i], 100 + i);
    }
    static const unsigned counts[] = {2, 3, 3};
    uint8_t octets[3][4];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(limits[i].regions, 4);
        assert_int_equal(limits[i].buffers, 2 * counts[i] + 2);
        envs[i].random(envs[i].context, octets[i], 4);
    }
    /* All give the same numbers (splitmix64). */
    assert_memory_equal(octets[0], octets[1], 4);
    assert_memory_equal(octets[0], octets[2], 4);
    static const uint8_t known[] = {163, 115, 160, 5};
    assert_memory_equal(octets[0], known, 4);
    /* The sink, the source and the counters, in each. */
    assert_int_equal(n_regions, 9);
    for (unsigned i = 0; i < 9; i++) {
        static const uint32_t access[] = {IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE,
                                          IW_ACCESS_REMOTE_READ, IW_ACCESS_REMOTE_ATOMIC};
        const void *bases[] = {lane->sink, lane->source, lane->counter};
        assert_ptr_equal(regions[i].base, bases[i / 3]);
        assert_int_equal(regions[i].length, i / 3 == 2 ? 64 : 8 * 64);
        assert_int_equal(regions[i].access, access[i / 3]);
        assert_int_equal(regions[i].pd, 21 + i % 3);
    }
    assert_int_equal(lane->local_sink, 1002);
    assert_int_equal(lane->local_source, 1005);
    assert_int_equal(lane->local_counter, 1008);
    assert_int_equal(config.role, IW_MPA_INITIATOR);
    assert_int_equal(config.pd, 23);
    assert_true(config.mpa.crc && !config.mpa.markers && !config.receive_ahead);
    assert_int_equal(config.mpa.ird, 128);
    assert_int_equal(config.mpa.ord, 128);
    assert_int_equal(config.max_reads, 128);
    assert_int_equal(config.send_depth, 4 + 16);
    assert_int_equal(config.recv_depth, 4 * 4 + 16);
    assert_int_equal(config.max_sge, 1);
    assert_int_equal(config.mulpdu, 900);
    assert_int_equal(receives, 8 * 32);
    destroy(lane);
    lane = make(false, 1, 1, false);
    assert_int_equal(config.role, IW_MPA_RESPONDER);
    assert_false(busy);
    destroy(lane);
}

/* Domain and reactor of two parts, then the three regions in each. */
static void test_no_memory(void **state)
{
    const struct perf_setup setup = {.connections = 2, .threads = 2, .window = 4, .size_max = 64};
    (void)state;
    for (unsigned i = 1; i <= 10; i++) {
        char error[PERF_TEXT];
        (void)begin(state);
        failing = i;
        errno = ENOMEM;
        assert_null(perf_lane_create(&setup, true, error));
        assert_string_equal(error, "cannot make a lane: Cannot allocate memory");
        assert_int_equal(reactors, 0);
        assert_int_equal(domains, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        char error[PERF_TEXT];
        (void)begin(state);
        struct perf_lane *lane = perf_lane_create(&setup, true, error);
        int fd = dup(2);
        failing = calls + 1 + 32 * i;
        assert_int_equal(lane->ops->attach(lane, 1, fd), -1);
        assert_string_equal(lane->error, i == 0 ? "no memory for a connection"
                                                : "connection 1: a receive was refused");
        assert_int_equal(receives, 32 * i);
        assert_int_equal(fcntl(fd, F_GETFD) < 0,
                         i == 0); /* closed, unless it is the connection's */
        if (i > 0)
            close(fd);
        destroy(lane);
    }
}

static void establish_one(void)
{
    happen((unsigned)steps - 1, IW_EVENT_ESTABLISHED);
}

static void test_establishing(void **state)
{
    (void)state;
    for (int poll = 0; poll < 2; poll++) {
        (void)begin(state);
        struct perf_lane *lane = make(true, 3, 2, poll);
        on_step = establish_one;
        assert_int_equal(lane->ops->establish(lane), 0);
        expect("begin 0\nbegin 1\nbegin 2\n");
        assert_true(began_at > 0);
        assert_int_equal(steps, 3);
        assert_int_equal(last_timeout, poll ? 0 : 1000);
        destroy(lane);
    }
}

static enum iw_event_kind odd;

static void odd_event(void)
{
    if (odd == IW_EVENT_NONE)
        ops->ended(contexts[0], handle(40));
    else
        happen(0, odd);
}

static void no_event(void)
{
}

static void test_failures(void **state)
{
    static const struct {
        enum iw_event_kind kind;
        const char *error;
    } cases[] = {{IW_EVENT_FAULT, "connection 0: ddp-msn"},
                 {IW_EVENT_TERMINATED, "connection 0: the peer sent a Terminate"},
                 {IW_EVENT_CLOSED, "connection 0: it was closed by the peer"},
                 {IW_EVENT_PEER_CLOSED, "connection 0: it was closed by the peer"},
                 {IW_EVENT_REQUEST, "connection 0: the start-up was refused"},
                 {IW_EVENT_NONE, "connection 0: it was lost"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)begin(state);
        struct perf_lane *lane = make(false, 2, 1, false);
        odd = cases[i].kind;
        event.fault.check = IW_CHECK_DDP_MSN;
        failing = calls + 1;
        on_step = odd_event;
        assert_int_equal(lane->ops->establish(lane), -1);
        assert_string_equal(lane->error, cases[i].error);
        destroy(lane);
    }
    /* epoll, and time that goes by: looked at after 16 steps, or 4096 that do not wait. */
    (void)begin(state);
    struct perf_lane *lane = make(true, 1, 1, false);
    step_result = -1;
    assert_int_equal(lane->ops->establish(lane), -1);
    assert_string_equal(lane->error, "epoll failed");
    destroy(lane);
    for (int poll = 0; poll < 2; poll++) {
        (void)begin(state);
        lane = make(true, 1, 1, poll);
        step_takes = 60.0 / (poll ? 4096 : 16);
        on_step = no_event;
        assert_int_equal(lane->ops->establish(lane), -1);
        assert_string_equal(lane->error, "no progress for 60 seconds");
        assert_int_equal(steps, poll ? 8192 : 32); /* 60 s are not more than 60 s */
        destroy(lane);
    }
}

/* ---- slices ---- */

static const struct perf_run *slice;
static void (*play)(struct perf_lane *lane);
static struct perf_lane *playing;

static void play_once(void)
{
    on_step = NULL;
    play(playing);
}

/* Runs a slice in which all happens in one step. */
static void run(struct perf_lane *lane, const struct perf_run *what,
                void (*played)(struct perf_lane *lane), struct perf_samples *samples)
{
    slice = what;
    play = played;
    playing = lane;
    on_step = play_once;
    recorded = 0;
    record[0] = '\0';
    assert_int_equal(perf_lane_prepare(lane, what), 0);
    int result = lane->ops->execute(lane, what, samples);
    assert_string_equal(lane->error, "");
    assert_int_equal(result, 0);
}

static void write_ping_pong(struct perf_lane *lane)
{
    ready(0);
    expect("kick 0\nwrite 0: 8 octets, the last 1, to 7+0\n");
    ready(0); /* it waits */
    expect("");
    complete(0, IW_WORK_WRITE, 0);
    lane->sink[7] = 2;
    ready(0);
    expect(""); /* that is not the first one's */
    lane->sink[7] = 1;
    ready(0);
    expect("write 0: 8 octets, the last 2, to 7+0\n");
    complete(0, IW_WORK_WRITE, 0);
    lane->sink[7] = 2;
    ready(0);
    expect("");
}

static void answer_pings(struct perf_lane *lane)
{
    (void)lane;
    ready(0);
    expect("");
    for (int i = 0; i < 2; i++) {
        complete(0, IW_WORK_RECV, 0);
        expect("send 0: 8 octets, the last 99, to 7+0\n");
        complete(0, IW_WORK_SEND, 0);
        expect("");
    }
}

static void test_ping_pong(void **state)
{
    double values[3] = {0, 0, 7};
    struct perf_samples samples = {.values = values, .room = 2};
    struct perf_run what = {.test = PERF_WRITE_LAT, .size = 8, .count = 2};
    (void)state;
    struct perf_lane *lane = make(true, 1, 1, false);
    lane->sink[7] = 1; /* of the slice before */
    run(lane, &what, write_ping_pong, &samples);
    assert_int_equal(samples.count, 2);
    for (int i = 0; i < 2; i++)
        assert_true(values[i] >= 500 && values[i] <= 500); /* half of 1 us */
    assert_int_equal(lane->calls, 100);
    destroy(lane);
    (void)begin(state);
    lane = make(false, 1, 1, false);
    what.test = PERF_SEND_LAT;
    lane->source[7] = 99;
    run(lane, &what, answer_pings, NULL);
    destroy(lane);
}

static void stream_sends(struct perf_lane *lane)
{
    (void)lane;
    ready(0);
    /* A window of four. */
    expect("kick 0\nsend 0: 8 octets, the last 99, to 7+0\nsend 0: 8 octets, the last 99, to "
           "7+0\nsend 0: 8 octets, the last 99, to 7+0\nsend 0: 8 octets, the last 99, to 7+0\n");
    for (int i = 0; i < 12; i++) {
        complete(0, IW_WORK_SEND, 0);
        expect("send 0: 8 octets, the last 99, to 7+0\n");
    }
    /* The peer has room for 16 of the first. */
    complete(0, IW_WORK_SEND, 0);
    expect("");
    hear(0, 1, 17);
    expect("send 0: 8 octets, the last 99, to 7+0\n");
    for (int i = 0; i < 3; i++)
        complete(0, IW_WORK_SEND, 0);
    expect("");
    complete(0, IW_WORK_SEND, 0);
    expect("word 0: 2 0\n"); /* all has been sent */
    hear(0, 3, 0);
    complete(0, IW_WORK_IMMEDIATE, 0);
    expect("");
}

static void take_sends(struct perf_lane *lane)
{
    (void)lane;
    for (int i = 0; i < 8; i++)
        complete(0, IW_WORK_RECV, 0);
    expect("");
    complete(0, IW_WORK_RECV, 0);
    expect("word 0: 1 25\n"); /* room for 16 more than have come */
    complete(0, IW_WORK_IMMEDIATE, 0);
    for (int i = 0; i < 8; i++)
        complete(0, IW_WORK_RECV, 0);
    expect(""); /* no room is made for what does not come */
    hear(0, 2, 0);
    expect("word 0: 3 0\n");
    complete(0, IW_WORK_IMMEDIATE, 0);
    expect("");
}

static void test_sends(void **state)
{
    struct perf_run what = {.test = PERF_SEND_BW, .size = 8, .count = 17};
    (void)state;
    struct perf_lane *lane = make(true, 1, 1, false);
    lane->source[7] = 99;
    run(lane, &what, stream_sends, NULL);
    destroy(lane);
    (void)begin(state);
    lane = make(false, 1, 1, false);
    receives = 0;
    run(lane, &what, take_sends, NULL);
    assert_int_equal(receives, 17 + 1); /* each place is used again */
    destroy(lane);
}

static void read_and_add(struct perf_lane *lane)
{
    bool adds = perf_is_atomic(slice->test);
    (void)lane;
    ready(1);
    expect(adds ? "kick 0\nkick 1\nadd 1: 1 to 9+8\n"
                : "kick 0\nkick 1\nread 1: 8 octets from 8+64 to 1000+64\n");
    complete(1, adds ? IW_WORK_FETCH_ADD : IW_WORK_READ, 0);
    expect("word 1: 2 0\n");
    hear(1, 3, 0);
    complete(1, IW_WORK_IMMEDIATE, 0);
    ready(0);
    complete(0, adds ? IW_WORK_FETCH_ADD : IW_WORK_READ, 0);
    complete(0, IW_WORK_IMMEDIATE, 0);
    hear(0, 3, 0);
    recorded = 0;
    record[0] = '\0';
}

static void test_reads(void **state)
{
    struct perf_run what = {.test = PERF_READ_LAT, .size = 8, .count = 1};
    double values[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct perf_samples samples = {.values = values, .room = 2};
        (void)begin(state);
        struct perf_lane *lane = make(true, 2, 1, false);
        what.test = i == 0 ? PERF_READ_LAT : PERF_ATOMIC_LAT;
        run(lane, &what, read_and_add, &samples);
        assert_int_equal(samples.count, 2);
        assert_true(values[0] >= 1000 && values[0] <= 1000);
        assert_true(values[1] >= 1000 && values[1] <= 1000);
        /* Only latencies are timed. */
        samples.count = 0;
        what.test = i == 0 ? PERF_READ_BW : PERF_ATOMIC_BW;
        run(lane, &what, read_and_add, &samples);
        assert_int_equal(samples.count, 0);
        destroy(lane);
    }
}

static void send_ping(struct perf_lane *lane)
{
    (void)lane;
    ready(0);
    complete(0, IW_WORK_SEND, 0);
    complete(0, IW_WORK_RECV, 0);
    expect("kick 0\nsend 0: 8 octets, the last 99, to 7+0\n");
}

static void send_and_take(struct perf_lane *lane)
{
    (void)lane;
    ready(0);
    complete(0, IW_WORK_SEND, 0);
    complete(0, IW_WORK_RECV, 0);
    expect("kick 0\nsend 0: 8 octets, the last 99, to 7+0\nword 0: 2 0\n");
    hear(0, 2, 0);
    expect("word 0: 3 0\n");
    complete(0, IW_WORK_IMMEDIATE, 0);
    complete(0, IW_WORK_IMMEDIATE, 0);
    hear(0, 3, 0);
    expect("");
}

/* Only latencies are timed, and those of Sends as well. */
static void test_timed_sends(void **state)
{
    struct perf_run what = {.test = PERF_SEND_LAT, .size = 8, .count = 1};
    double value = 0;
    struct perf_samples samples = {.values = &value, .room = 1};
    (void)state;
    struct perf_lane *lane = make(true, 1, 1, false);
    lane->source[7] = 99;
    run(lane, &what, send_ping, &samples);
    assert_int_equal(samples.count, 1);
    assert_true(value >= 500 && value <= 500);
    samples.count = 0;
    what.test = PERF_SEND_BW;
    what.both = true;
    run(lane, &what, send_and_take, &samples);
    assert_int_equal(samples.count, 0);
    destroy(lane);
}

/* ---- slices that fail ---- */

static int trouble;

static void fail_slice(struct perf_lane *lane)
{
    (void)lane;
    if (trouble == 0) {
        done[0] = (struct iw_completion){.opcode = IW_WORK_RECV, .length = 9};
        n_done = 1;
        ready(0);
    } else if (trouble == 1) {
        ready(0);
        complete(0, IW_WORK_FETCH_ADD, 1);
    } else if (trouble == 2) {
        failing = calls + 1;
        ready(0);
    } else {
        done[0] = (struct iw_completion){.opcode = IW_WORK_RECV, .status = IW_STATUS_FLUSHED};
        n_done = 1;
        receives = 0;
        ready(0);
        assert_int_equal(receives, 0); /* the event tells why */
        happen(0, IW_EVENT_CLOSED);
    }
}

static void test_failing_slices(void **state)
{
    static const char *const errors[] = {
        "connection 0: a Send of a length that was not agreed",
        "connection 0: an atomic did not find the sum of those before it",
        "connection 0: a work request was refused", "connection 0: it was closed by the peer"};
    (void)state;
    for (trouble = 0; trouble < 4; trouble++) {
        struct perf_run what = {
            .test = trouble == 1 ? PERF_ATOMIC_BW : PERF_SEND_BW, .size = 8, .count = 3};
        (void)begin(state);
        struct perf_lane *lane = make(trouble > 0, 1, 1, false);
        assert_int_equal(perf_lane_prepare(lane, &what), 0);
        play = fail_slice;
        playing = lane;
        on_step = play_once;
        assert_int_equal(lane->ops->execute(lane, &what, NULL), -1);
        assert_string_equal(lane->error, errors[trouble]);
        destroy(lane);
    }
    /* Between two slices no Send is agreed. */
    (void)begin(state);
    struct perf_lane *lane = make(false, 1, 1, false);
    complete(0, IW_WORK_RECV, 0);
    assert_int_equal(lane->ops->establish(lane), -1);
    assert_string_equal(lane->error, errors[0]);
    destroy(lane);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_parts),    EACH(test_no_memory),   EACH(test_establishing),
        EACH(test_failures), EACH(test_ping_pong),   EACH(test_sends),
        EACH(test_reads),    EACH(test_timed_sends), EACH(test_failing_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
