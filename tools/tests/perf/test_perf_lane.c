/* SPDX-License-Identifier: BSD-3-Clause */
/* What lanes of both kinds share: memory, its octets and how they are judged, options of sockets.
 */
#include "perf.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "../caught.h"

/* ---- doubles ---- */

static const char *kind; /* of the lane that was made */
static int no_lane, no_share, shared, prepared, closed;

static int share(struct perf_lane *lane)
{
    assert_non_null(lane->source);
    shared++;
    return no_share ? -1 : 0;
}

static int prepare(struct perf_lane *lane, const struct perf_run *run)
{
    (void)lane;
    prepared++;
    return run->count == 13 ? -1 : 0;
}

static void close_lane(struct perf_lane *lane)
{
    (void)lane;
    closed++;
}

static struct perf_lane *new_lane(const struct perf_setup *setup, const char *name)
{
    static const struct perf_lane_ops ops = {
        .share = share, .prepare = prepare, .close = close_lane};
    struct perf_lane *lane = calloc(1, sizeof(*lane));
    kind = name;
    if (no_lane) {
        free(lane);
        errno = no_lane;
        return NULL;
    }
    assert_non_null(lane);
    lane->setup = *setup;
    lane->ops = &ops;
    return lane;
}

struct perf_lane *perf_tcp_new(const struct perf_setup *setup)
{
    return new_lane(setup, "tcp");
}

struct perf_lane *perf_rdma_new(const struct perf_setup *setup)
{
    return new_lane(setup, "iwarp");
}

static char options[512];   /* that were set, a line each */
static const char *refused; /* the one that fails */
static int in_force;        /* what getsockopt says of a buffer */
static bool less_to_receive;
static int no_socket;

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length);

int __wrap_socket(int family, int type, int protocol)
{
    if (!no_socket)
        return __real_socket(family, type, protocol);
    errno = EMFILE;
    return -1;
}

/* Adds a line. Returns 0, or -1 if this is what fails. */
static int option(const char *line)
{
    size_t length = strlen(options);
    snprintf(options + length, sizeof(options) - length, "%s\n", line);
    if (refused == NULL || strncmp(line, refused, strlen(refused)) != 0)
        return 0;
    errno = EDOM;
    return -1;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
    char line[64];
    int number = 0;
    assert_int_equal(fd, 77);
    if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
        snprintf(line, sizeof(line), "congestion %.*s", (int)length, (const char *)value);
        return option(line);
    }
    assert_int_equal(length, sizeof(number));
    memcpy(&number, value, sizeof(number));
    snprintf(line, sizeof(line), "%s %d",
             level == IPPROTO_TCP && name == TCP_NODELAY  ? "nodelay"
             : level == IPPROTO_TCP && name == TCP_MAXSEG ? "mss"
             : level == SOL_SOCKET && name == SO_SNDBUF   ? "send"
             : level == SOL_SOCKET && name == SO_RCVBUF   ? "receive"
                                                          : "?",
             number);
    return option(line);
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    (void)fd;
    if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
        assert_int_equal(*length, 16);
        snprintf(value, *length, "veno");
        return option("congestion?");
    }
    assert_int_equal(*length, sizeof(in_force));
    int now = less_to_receive && name == SO_RCVBUF ? 8000 : in_force;
    memcpy(value, &now, sizeof(now));
    return option(name == SO_SNDBUF ? "send?" : "receive?");
}

static int begin(void **state)
{
    (void)state;
    no_lane = no_share = shared = prepared = closed = in_force = no_socket = 0;
    options[0] = '\0';
    refused = kind = NULL;
    return 0;
}

/* ---- memory ---- */

static struct perf_lane *make(bool tcp, bool client, uint32_t connections, uint64_t size)
{
    struct perf_setup setup = {.tcp = tcp, .connections = connections, .size_max = size};
    char error[PERF_TEXT];
    struct perf_lane *lane = perf_lane_create(&setup, client, error);
    assert_non_null(lane);
    return lane;
}

static void test_memory(void **state)
{
    static const size_t strides[][2] = {{1, 64}, {64, 64}, {65, 128}, {4096, 4096}, {4097, 4160}};
    (void)state;
    for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
        struct perf_lane *lane = make(i % 2 == 0, i % 2 == 1, 2, strides[i][0]);
        assert_int_equal(lane->stride, strides[i][1]);
        assert_int_equal(lane->client, i % 2 == 1);
        assert_string_equal(kind, i % 2 == 0 ? "tcp" : "iwarp");
        assert_int_equal((uintptr_t)lane->source % 64, 0);
        assert_int_equal((uintptr_t)lane->sink % 64, 0);
        for (size_t k = 0; k < 2 * lane->stride; k++)
            assert_int_equal(lane->sink[k], 0);
        assert_int_equal(lane->counter[1], 0);
        perf_lane_destroy(lane);
        assert_int_equal(shared, i + 1);
        assert_int_equal(closed, i + 1);
    }
    perf_lane_destroy(NULL);
}

static void test_no_memory(void **state)
{
    struct perf_setup setup = {.tcp = true, .connections = 1, .size_max = 8};
    char error[PERF_TEXT];
    (void)state;
    no_lane = EMFILE;
    assert_null(perf_lane_create(&setup, true, error));
    assert_string_equal(error, "cannot make a lane: Too many open files");
    assert_int_equal(closed, 0);
    no_lane = 0;
    no_share = 1;
    errno = EMFILE;
    assert_null(perf_lane_create(&setup, true, error));
    assert_string_equal(error, "cannot make a lane: Cannot allocate memory");
    assert_int_equal(closed, 1);
    assert_int_equal(shared, 1);
}

/* Octets 0, 1, 2, 255, 256 and 300 of connections 0 and 1, by seed and end. */
static const struct {
    uint32_t seed;
    bool client;
    unsigned connection;
    uint8_t octets[6];
} patterns[] = {
    {0, true, 0, {167, 78, 245, 0, 226, 150}},    {0, true, 1, {174, 85, 252, 7, 233, 157}},
    {0, false, 0, {0, 167, 78, 89, 59, 239}},     {7, true, 1, {67, 234, 145, 156, 126, 50}},
    {7, false, 1, {156, 67, 234, 245, 215, 139}}, {8, true, 0, {44, 211, 122, 133, 103, 27}}};

static void test_patterns(void **state)
{
    static const size_t places[] = {0, 1, 2, 255, 256, 300};
    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        struct perf_lane *lane = make(true, patterns[i].client, 2, 301);
        struct perf_run run = {.size = 301, .count = 1, .verify = true, .seed = patterns[i].seed};
        memset(lane->sink, 1, 2 * lane->stride);
        lane->counter[0] = lane->counter[1] = 9;
        /* A new lane is filled as well. */
        if (run.seed > 0)
            assert_int_equal(perf_lane_prepare(lane, &run), 0);
        const uint8_t *source = lane->source + patterns[i].connection * lane->stride;
        for (int k = 0; k < 6; k++)
            assert_int_equal(source[places[k]], patterns[i].octets[k]);
        if (run.seed > 0) {
            assert_int_equal(lane->counter[0] | lane->counter[1], 0);
            for (size_t k = 0; k < 2 * lane->stride; k++)
                assert_int_equal(lane->sink[k], 0);
        }
        perf_lane_destroy(lane);
    }
}

static void test_prepare(void **state)
{
    struct perf_lane *lane = make(true, true, 2, 300);
    struct perf_run run = {.size = 300, .count = 1};
    (void)state;
    lane->source[0] = lane->sink[0] = 99;
    lane->counter[1] = 5;
    assert_int_equal(perf_lane_prepare(lane, &run), 0);
    assert_int_equal(lane->source[0], 99); /* not to be verified: left as it is */
    assert_int_equal(lane->sink[0], 99);
    assert_int_equal(lane->counter[1], 0);
    run.count = 13;
    assert_int_equal(perf_lane_prepare(lane, &run), -1);
    assert_int_equal(prepared, 2);
    run.size = 301;
    assert_int_equal(perf_lane_prepare(lane, &run), -1);
    assert_int_equal(prepared, 2);
    assert_string_equal(lane->error, "a size above the one that was announced");
    /* The first error is the one that counts. */
    assert_int_equal(perf_lane_fail(lane, "another %d", 5), -1);
    assert_string_equal(lane->error, "a size above the one that was announced");
    lane->error[0] = '\0';
    assert_int_equal(perf_lane_fail(lane, "another %d", 5), -1);
    assert_string_equal(lane->error, "another 5");
    perf_lane_destroy(lane);
}

/* ---- judgement ---- */

/* Fills the sink with what the peer sends. */
static void receive_all(struct perf_lane *lane, const struct perf_run *run)
{
    struct perf_lane *peer = make(true, !lane->client, 2, 300);
    assert_int_equal(perf_lane_prepare(peer, run), 0);
    memcpy(lane->sink, peer->source, 2 * lane->stride);
    perf_lane_destroy(peer);
    lane->error[0] = '\0';
}

/* Which ends look at what came: c client, s server; b if both send. */
static void test_judgement(void **state)
{
    static const struct {
        const char *one, *both;
    } ends[PERF_TESTS] = {{"cs", "cs"}, {"cs", "cs"}, {"c", "c"},  {"", ""},
                          {"s", "cs"},  {"s", "cs"},  {"c", "cs"}, {"", ""}};
    (void)state;
    for (int test = 0; test < PERF_TESTS; test++)
        for (int k = 0; k < 4; k++) {
            struct perf_lane *lane = make(true, k % 2 == 0, 2, 300);
            struct perf_run run = {.test = (enum perf_test)test,
                                   .size = 300,
                                   .count = 1,
                                   .both = k >= 2,
                                   .verify = true,
                                   .seed = 7};
            receive_all(lane, &run);
            assert_int_equal(perf_lane_verify(lane, &run), 0);
            assert_string_equal(lane->error, "");
            lane->sink[lane->stride + 298] ^= 1;
            const char *who = k >= 2 ? ends[test].both : ends[test].one;
            bool looks = strchr(who, k % 2 == 0 ? 'c' : 's') != NULL;
            assert_int_equal(perf_lane_verify(lane, &run), looks ? -1 : 0);
            run.verify = false;
            assert_int_equal(perf_lane_verify(lane, &run), 0);
            perf_lane_destroy(lane);
        }
}

static void test_reasons(void **state)
{
    struct perf_lane *lane = make(true, false, 2, 300);
    struct perf_run run = {
        .test = PERF_SEND_BW, .size = 300, .count = 1, .verify = true, .seed = 7};
    char expected[128];
    (void)state;
    for (size_t place = 0; place < 300; place += 299) {
        receive_all(lane, &run);
        uint8_t right = lane->sink[lane->stride + place];
        lane->sink[lane->stride + place] = (uint8_t)(right + 1);
        assert_int_equal(perf_lane_verify(lane, &run), -1);
        snprintf(expected, sizeof(expected), "send-bw of 300 octets: octet %zu came as %u, not %u",
                 place, (uint8_t)(right + 1), right);
        assert_string_equal(lane->error, expected);
    }
    /* What is behind the message is nobody's; the last octet of a timed Write is a number. */
    receive_all(lane, &run);
    lane->sink[300] ^= 1;
    assert_int_equal(perf_lane_verify(lane, &run), 0);
    run.test = PERF_WRITE_LAT;
    lane->sink[299] ^= 1;
    assert_int_equal(perf_lane_verify(lane, &run), 0);
    lane->sink[298] ^= 1;
    assert_int_equal(perf_lane_verify(lane, &run), -1);
    perf_lane_destroy(lane);
}

/* The sums of atomics are the server's, or both ends'; TCP makes none. */
static void test_sums(void **state)
{
    (void)state;
    for (int test = 0; test < PERF_TESTS; test++)
        for (int k = 0; k < 8; k++) {
            bool tcp = (k & 1) != 0, client = (k & 2) != 0, both = (k & 4) != 0;
            struct perf_lane *lane = make(tcp, client, 2, 300);
            struct perf_run run = {
                .test = (enum perf_test)test, .size = 8, .count = 40, .both = both, .verify = true};
            bool looks = perf_is_atomic(run.test) && !tcp && (!client || both);
            receive_all(lane, &run);
            lane->counter[0] = 40;
            lane->counter[1] = 39;
            assert_int_equal(perf_lane_verify(lane, &run), looks ? -1 : 0);
            assert_string_equal(lane->error, looks ? "40 atomics of 1 make 39" : "");
            lane->error[0] = '\0';
            lane->counter[1] = 41;
            assert_int_equal(perf_lane_verify(lane, &run), looks ? -1 : 0);
            lane->counter[1] = 40;
            assert_int_equal(perf_lane_verify(lane, &run), 0);
            perf_lane_destroy(lane);
        }
}

static void make_again(void)
{
    perf_lane_destroy(make(true, true, 2, 100));
}

static void ask_again(void)
{
    const struct perf_setup setup = {.mss = 0};
    char name[PERF_CONGESTION];
    perf_lane_congestion(&setup, name);
    assert_string_equal(name, "veno");
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    assert_false(leaks(make_again));
    without_input(ask_again);
}

static void test_active_ends(void **state)
{
    (void)state;
    for (int test = 0; test < PERF_TESTS; test++) {
        struct perf_lane lane = {.client = true};
        struct perf_run run = {.test = (enum perf_test)test};
        assert_true(perf_lane_active(&lane, &run));
        lane.client = false;
        assert_false(perf_lane_active(&lane, &run));
        run.both = true;
        assert_int_equal(perf_lane_active(&lane, &run), test >= PERF_SEND_BW);
    }
}

static void test_samples(void **state)
{
    double values[3] = {0, 0, 7};
    struct perf_samples samples = {.values = values, .room = 2};
    (void)state;
    perf_sample(NULL, 1);
    for (int i = 0; i < 3; i++)
        perf_sample(&samples, 5 + i);
    assert_int_equal(samples.count, 2);
    assert_true(values[0] >= 5 && values[0] <= 5);
    assert_true(values[1] >= 6 && values[1] <= 6);
    assert_true(values[2] >= 7 && values[2] <= 7);
}

/* ---- sockets ---- */

static void expect_options(const struct perf_setup *setup, const char *set, const char *error)
{
    char text[PERF_TEXT] = "";
    options[0] = '\0';
    assert_int_equal(perf_lane_socket(setup, 77, text), error[0] != '\0' ? -1 : 0);
    assert_string_equal(options, set);
    assert_string_equal(text, error);
}

static void test_socket_options(void **state)
{
    struct perf_setup setup = {.window = 1};
    (void)state;
    expect_options(&setup, "nodelay 1\n", "");
    setup = (struct perf_setup){.mss = 1, .socket_buffer = 5000, .congestion = "cubic"};
    in_force = 10000;
    expect_options(&setup,
                   "nodelay 1\nmss 1\nsend 5000\nsend?\nreceive 5000\nreceive?\ncongestion cubic\n",
                   "");
    refused = "mss";
    expect_options(&setup, "nodelay 1\nmss 1\n", "--mss 1: Numerical argument out of domain");
    refused = "send 5";
    expect_options(&setup, "nodelay 1\nmss 1\nsend 5000\n",
                   "--socket-buffer: Numerical argument out of domain");
    refused = "send?";
    expect_options(&setup, "nodelay 1\nmss 1\nsend 5000\nsend?\n",
                   "--socket-buffer: Numerical argument out of domain");
    refused = "receive?";
    expect_options(&setup, "nodelay 1\nmss 1\nsend 5000\nsend?\nreceive 5000\nreceive?\n",
                   "--socket-buffer: Numerical argument out of domain");
    refused = "congestion";
    setup.mss = 0;
    setup.socket_buffer = 0;
    expect_options(&setup, "nodelay 1\ncongestion cubic\n",
                   "TCP has no such congestion control here: cubic");
}

/* The system doubles a buffer and cuts one that is too large; the largest of all cannot be doubled.
 */
static void test_buffers(void **state)
{
    struct perf_setup setup = {.socket_buffer = 5000};
    (void)state;
    in_force = 9999;
    expect_options(&setup, "nodelay 1\nsend 5000\nsend?\n",
                   "--socket-buffer 5000: expected at most 4999 (net.core.wmem_max)");
    setup.socket_buffer = 1 << 30;
    in_force = INT32_MAX;
    expect_options(&setup, "nodelay 1\nsend 1073741824\nsend?\nreceive 1073741824\nreceive?\n", "");
    in_force = INT32_MAX - 2;
    expect_options(&setup, "nodelay 1\nsend 1073741824\nsend?\n",
                   "--socket-buffer 1073741824: expected at most 1073741822 (net.core.wmem_max)");
    setup.socket_buffer = (1 << 30) - 1;
    expect_options(&setup, "nodelay 1\nsend 1073741823\nsend?\n",
                   "--socket-buffer 1073741823: expected at most 1073741822 (net.core.wmem_max)");
    /* The other direction has a limit of its own. */
    in_force = 10000;
    setup.socket_buffer = 5000;
    less_to_receive = true;
    expect_options(&setup, "nodelay 1\nsend 5000\nsend?\nreceive 5000\nreceive?\n",
                   "--socket-buffer 5000: expected at most 4000 (net.core.rmem_max)");
    less_to_receive = false;
}

static void test_congestion(void **state)
{
    struct perf_setup setup = {.congestion = "fifteen-letters"};
    char name[PERF_CONGESTION];
    (void)state;
    unsigned before = descriptors();
    perf_lane_congestion(&setup, name);
    assert_string_equal(name, "fifteen-letters");
    assert_string_equal(options, "");
    setup.congestion[0] = '\0';
    perf_lane_congestion(&setup, name);
    assert_string_equal(name, "veno");
    refused = "congestion?";
    perf_lane_congestion(&setup, name);
    assert_string_equal(name, "?");
    assert_int_equal(descriptors(), before);
    options[0] = '\0';
    no_socket = 1;
    perf_lane_congestion(&setup, name);
    assert_string_equal(name, "?");
    assert_string_equal(options, "");
}

#define EACH(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_memory),     EACH(test_no_memory),      EACH(test_patterns),
        EACH(test_prepare),    EACH(test_judgement),      EACH(test_reasons),
        EACH(test_sums),       EACH(test_active_ends),    EACH(test_nothing_is_lost),
        EACH(test_samples),    EACH(test_socket_options), EACH(test_buffers),
        EACH(test_congestion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
