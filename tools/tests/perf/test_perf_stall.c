/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-perf takes for progress: the passive end of a long slice completes nothing, and many
 * connections are not made in no time. */
#include "perf.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Between two looks at this clock more time passes than a lane may stand still. */
static atomic_uint looks;
static atomic_bool late;

double perf_seconds(void)
{
    return atomic_load(&late) ? 2.0 * PERF_STALL * (atomic_fetch_add(&looks, 1) + 1) : 0;
}

/* All other clocks, the transport's: late by this many seconds. */
static atomic_int delay;

int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    struct timespec t = {0};
    int result = (int)syscall(SYS_clock_gettime, clock_id, &t);
    *tp = (struct timespec){t.tv_sec + atomic_load(&delay), t.tv_nsec};
    return result;
}

static struct perf_lane *make_lane(bool client, uint32_t connections)
{
    struct perf_setup setup = {
        .connections = connections, .window = 64, .threads = 1, .size_max = 4096};
    char error[PERF_TEXT];
    struct perf_lane *lane = perf_lane_create(&setup, client, error);
    assert_non_null(lane);
    return lane;
}

static void connect_both(struct perf_lane *client, struct perf_lane *server, uint32_t index)
{
    int fds[2], octets = 16384;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets)), 0);
    assert_int_equal(client->ops->attach(client, index, fds[0]), 0);
    assert_int_equal(server->ops->attach(server, index, fds[1]), 0);
}

static void learn(struct perf_lane *lane, const struct perf_lane *other)
{
    lane->remote_sink = other->local_sink;
    lane->remote_source = other->local_source;
    lane->remote_counter = other->local_counter;
}

struct client {
    struct perf_lane *lane;
    const struct perf_run *run;
    int established, executed;
};

static void *establish(void *context)
{
    struct client *c = context;
    c->established = c->lane->ops->establish(c->lane);
    return NULL;
}

static void *execute(void *context)
{
    struct client *c = context;
    c->executed = c->lane->ops->execute(c->lane, c->run, NULL);
    return NULL;
}

static void establish_both(struct client *client, struct perf_lane *server)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, establish, client), 0);
    assert_int_equal(server->ops->establish(server), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(client->lane->error, "");
    assert_int_equal(client->established, 0);
}

static void destroy_both(struct client *client, struct perf_lane *server)
{
    perf_lane_destroy(client->lane);
    perf_lane_destroy(server);
}

static void a_long_slice(enum perf_test test)
{
    struct perf_run run = {.test = test, .size = 4096, .count = 4000, .verify = true, .seed = 7};
    struct client client = {.lane = make_lane(true, 1), .run = &run};
    struct perf_lane *server = make_lane(false, 1);
    pthread_t thread;
    atomic_store(&late, false);
    learn(server, client.lane);
    learn(client.lane, server);
    connect_both(client.lane, server, 0);
    establish_both(&client, server);
    assert_int_equal(perf_lane_prepare(server, &run), 0);
    assert_int_equal(perf_lane_prepare(client.lane, &run), 0);
    atomic_store(&late, true);
    assert_int_equal(pthread_create(&thread, NULL, execute, &client), 0);
    int executed = server->ops->execute(server, &run, NULL);
    assert_string_equal(server->error, "");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(executed, 0);
    assert_int_equal(client.executed, 0);
    assert_int_equal(perf_lane_verify(server, &run), 0);
    assert_int_equal(perf_lane_verify(client.lane, &run), 0);
    destroy_both(&client, server);
}

/* The time of each start-up begins when all connections are made. */
static void connections_may_take_their_time(void **state)
{
    struct client client = {.lane = make_lane(true, 2)};
    struct perf_lane *server = make_lane(false, 2);
    (void)state;
    atomic_store(&late, false);
    connect_both(client.lane, server, 0);
    atomic_store(&delay, 100);
    connect_both(client.lane, server, 1);
    establish_both(&client, server);
    destroy_both(&client, server);
}

static void writes_are_progress(void **state)
{
    (void)state;
    a_long_slice(PERF_WRITE_BW);
}

static void reads_are_progress(void **state)
{
    (void)state;
    a_long_slice(PERF_READ_BW);
}

/* Plain TCP asks for no more Reads at once than iWARP may: the peer never answers. */
static void the_baseline_reads_as_many_at_once(void **state)
{
    struct perf_setup setup = {
        .tcp = true, .poll = true, .connections = 1, .window = 4096, .threads = 1, .size_max = 8};
    struct perf_run run = {.test = PERF_READ_BW, .size = 8, .count = 4000};
    char error[PERF_TEXT], requests[8192];
    struct perf_lane *lane = perf_lane_create(&setup, true, error);
    int fds[2];
    (void)state;
    assert_non_null(lane);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(lane->ops->attach(lane, 0, fds[0]), 0);
    assert_int_equal(perf_lane_prepare(lane, &run), 0);
    atomic_store(&late, true);
    assert_int_equal(lane->ops->execute(lane, &run, NULL), -1);
    assert_string_equal(lane->error, "no progress for 60 seconds");
    /* RFC 5040 §4.4: a Read Request's header has 28 octets. */
    assert_int_equal(recv(fds[1], requests, sizeof(requests), MSG_DONTWAIT), 128 * 28);
    perf_lane_destroy(lane);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_baseline_reads_as_many_at_once),
        cmocka_unit_test(connections_may_take_their_time),
        cmocka_unit_test(writes_are_progress),
        cmocka_unit_test(reads_are_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
