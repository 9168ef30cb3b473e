/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines between the ends of iwarp-perf, and what each may hold. */
#include "perf_control.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "../caught.h"

/* ---- doubles ---- */

static uint64_t clock_now, clock_step; /* ms; each look moves it */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    *t = (struct timespec){(time_t)(clock_now / 1000), (long)(clock_now % 1000) * 1000000};
    clock_now += clock_step;
    return 0;
}

static size_t piece;          /* octets of one call, 0: all */
static int interrupted;       /* calls that a signal ends, on each way */
static int quiet;             /* poll finds nothing, and takes its time */
static int waited[16], waits; /* ms of each poll */

ssize_t __real_send(int fd, const void *octets, size_t length, int flags);
ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags);
ssize_t __real_recv(int fd, void *octets, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags);
int __real_poll(struct pollfd *list, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *list, nfds_t count, int timeout);

ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags)
{
    assert_int_equal(flags, MSG_NOSIGNAL);
    if (interrupted > 0) {
        errno = EINTR;
        return interrupted-- % 2 == 0 ? -1 : 0;
    }
    return __real_send(fd, octets, piece > 0 && piece < length ? piece : length, flags);
}

ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags)
{
    if (interrupted > 0) {
        interrupted--;
        errno = EINTR;
        return -1;
    }
    return __real_recv(fd, octets, piece > 0 && piece < length ? piece : length, flags);
}

int __wrap_poll(struct pollfd *list, nfds_t count, int timeout)
{
    assert_int_equal(count, 1);
    assert_int_equal(list[0].events, POLLIN);
    if (waits < 16)
        waited[waits++] = timeout;
    clock_now += quiet ? (uint64_t)timeout : 0;
    return quiet ? 0 : __real_poll(list, count, timeout);
}

/* ---- a session with the test at the other end ---- */

static struct perf_control control;
static int other;

static int begin(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    perf_control_init(&control, ends[0]);
    other = ends[1];
    piece = 0;
    interrupted = quiet = waits = 0;
    clock_now = clock_step = 0;
    return 0;
}

static int end(void **state)
{
    perf_control_close(&control);
    close(other);
    return catch_no_more(state);
}

static void say(const char *text)
{
    assert_int_equal(__real_send(other, text, strlen(text), 0), strlen(text));
}

static void expect_next(const char *expected)
{
    json_t *message = perf_control_receive(&control);
    assert_non_null(message);
    char *text = json_dumps(message, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(message);
}

static void expect_none(const char *error, bool theirs, bool ended)
{
    assert_null(perf_control_receive(&control));
    assert_string_equal(control.error, error);
    assert_int_equal(control.theirs, theirs);
    assert_int_equal(control.ended, ended);
}

static const char foreign[] = "the peer does not speak as iwarp-perf does";

static void test_sent_lines(void **state)
{
    char text[64] = "";
    (void)state;
    piece = 3;
    interrupted = 2;
    assert_int_equal(perf_control_send(&control, json_pack("{si}", "seven", 7)), 0);
    assert_int_equal(__real_recv(other, text, sizeof(text), 0), 12);
    assert_string_equal(text, "{\"seven\":7}\n");
    assert_string_equal(control.error, "");
    assert_int_equal(perf_control_send(&control, NULL), -1);
    assert_string_equal(control.error, "no memory");
    shutdown(other, SHUT_RD);
    assert_int_equal(perf_control_send(&control, json_pack("{}")), -1);
    assert_string_equal(control.error, "control connection: Broken pipe");
}

static void test_received_lines(void **state)
{
    (void)state;
    say("{\"a\":1}\n{\"b\":2}\n{\"c\"");
    expect_next("{\"a\":1}");
    expect_next("{\"b\":2}");
    say(":3}\n");
    piece = 1;
    interrupted = 2;
    expect_next("{\"c\":3}");
    piece = 0;
    assert_int_equal(control.have, 0);
    assert_string_equal(control.error, "");
    say("[1]\n{\"a\":1,\"a\":2}\n{}\n");
    expect_none(foreign, false, false);
    expect_none(foreign, false, false);
    expect_next("{}");
    shutdown(other, SHUT_WR);
    expect_none("control connection: closed by the peer", false, true);
}

/* What the peer says of an error comes on the screen; nothing in it may do more. */
static void test_their_error(void **state)
{
    char line[512] = "{\"error\":\"", expected[PERF_TEXT] = "the peer says: ";
    (void)state;
    say("{\"error\":\"a\\u001b[1m\\u007f ~\\u001f\"}\n");
    expect_none("the peer says: a?[1m? ~?", true, false);
    memset(line + 10, 'x', 201);
    memcpy(line + 211, "\"}\n", sizeof "\"}\n");
    say(line);
    memset(expected + 15, 'x', 200);
    expect_none(expected, true, false);
    say("{\"error\":7}\n");
    expect_next("{\"error\":7}");
    say("no line of ours\n");
    expect_none(foreign, false, false);
}

/* A line has up to 4095 octets. */
static void test_long_lines(void **state)
{
    char line[4098];
    (void)state;
    memset(line, ' ', sizeof(line));
    line[0] = '{';
    line[4094] = '}';
    line[4095] = '\n';
    line[4096] = '\0';
    say(line);
    expect_next("{}");
    line[4095] = ' ';
    say(line);
    expect_none(foreign, false, false);
    assert_int_equal(control.have, 4096);
}

static void test_silence(void **state)
{
    (void)state;
    assert_int_equal(control.patience, 600);
    quiet = 1;
    expect_none("control connection: nothing came for 600 seconds", false, false);
    assert_int_equal(waits, 10);
    assert_int_equal(waited[0], 60000);
    assert_int_equal(waited[9], 60000);
    assert_int_equal(clock_now, 600000);
    /* What comes bit by bit has no more time in all. */
    quiet = waits = 0;
    clock_step = 4000;
    piece = 1;
    control.patience = 10;
    say("{}");
    expect_none("control connection: nothing came for 10 seconds", false, false);
    assert_int_equal(waits, 2);
    assert_int_equal(waited[0], 6000);
    assert_int_equal(waited[1], 2000);
    /* Time that is just over is over. */
    waits = 0;
    clock_step = 10000;
    expect_none("control connection: nothing came for 10 seconds", false, false);
    assert_int_equal(waits, 0);
}

static void test_lost_connection(void **state)
{
    int fd = control.fd;
    (void)state;
    control.fd = open("/dev/null", O_RDWR); /* no socket */
    expect_none("control connection: Socket operation on non-socket", false, true);
    close(control.fd);
    control.fd = fd;
}

static void test_expected_members(void **state)
{
    json_int_t number = 0;
    double real = 0;
    (void)state;
    say("{\"n\":5,\"x\":2.5}\n{\"n\":1}\n{\"m\":1}\n{\"error\":\"why\"}\n");
    assert_int_equal(perf_control_expect(&control, "{sI sf}", "n", &number, "x", &real), 0);
    assert_int_equal(number, 5);
    assert_true(real >= 2.5 && real <= 2.5);
    assert_int_equal(perf_control_expect(&control, "{}"), 0);
    assert_string_equal(control.error, "");
    assert_int_equal(perf_control_expect(&control, "{sI}", "n", &number), 1);
    assert_string_equal(control.error, foreign);
    assert_int_equal(perf_control_expect(&control, "{}"), -1);
    assert_string_equal(control.error, "the peer says: why");
}

static void test_failure(void **state)
{
    char text[300];
    (void)state;
    memset(text, 'y', sizeof(text));
    text[299] = '\0';
    assert_int_equal(perf_control_fail(&control, text), -1);
    text[255] = '\0';
    assert_string_equal(control.error, text);
}

static void test_sockets(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};
    struct sockaddr_in6 at;
    (void)state;
    for (int i = 0; i < 2; i++) {
        socklen_t length = sizeof(at);
        int on = 0, listener = socket(families[i], SOCK_STREAM, 0), fd;
        memset(&at, 0, sizeof(at));
        at.sin6_family = (sa_family_t)families[i];
        if (i == 0)
            ((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
            at.sin6_addr = in6addr_loopback;
        assert_int_equal(
            bind(listener, (struct sockaddr *)&at, i == 0 ? sizeof(struct sockaddr_in) : length),
            0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
        fd = socket(families[i], SOCK_STREAM, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&at, length), 0);
        assert_int_equal(perf_control_port(fd, true), ntohs(at.sin6_port));
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
        assert_int_equal(perf_control_port(fd, false), ntohs(at.sin6_port));
        assert_int_equal(perf_control_port(listener, true), 0); /* it has no peer */
        /* What is sent leaves at once. */
        struct perf_control c;
        perf_control_init(&c, fd);
        length = sizeof(on);
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &length), 0);
        assert_int_not_equal(on, 0);
        perf_control_close(&c);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        c.fd = -1;
        errno = 0;
        perf_control_close(&c);
        assert_int_equal(errno, 0);
        close(listener);
    }
    assert_int_equal(perf_control_port(other, false), 0);
    assert_int_equal(perf_control_port(other, true), 0);
    assert_int_equal(perf_control_port(-1, false), 0);
}

/* ---- lanes and slices ---- */

static const char lane_text[] =
    "{\"tcp\":false,\"crc\":true,\"markers\":false,\"poll\":true,\"connections\":3,\"mss\":1400,"
    "\"mulpdu\":900,\"window\":33,\"threads\":2,\"socket_buffer\":8192,\"size_max\":300,"
    "\"congestion\":\"cubic\",\"ahead\":true}";
static const char run_text[] =
    "{\"test\":6,\"size\":300,\"count\":40,\"both\":true,\"verify\":false,\"seed\":4294967295}";

static void expect_text(json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}

static void test_lanes(void **state)
{
    const struct perf_setup setup = {.crc = true,
                                     .poll = true,
                                     .ahead = true,
                                     .connections = 3,
                                     .mss = 1400,
                                     .mulpdu = 900,
                                     .window = 33,
                                     .threads = 2,
                                     .socket_buffer = 8192,
                                     .congestion = "cubic",
                                     .size_max = 300};
    struct perf_setup read;
    (void)state;
    expect_text(perf_setup_to_json(&setup), lane_text);
    json_t *text = perf_setup_to_json(&setup);
    assert_int_equal(perf_setup_from_json(text, &read), 0);
    expect_text(perf_setup_to_json(&read), lane_text);
    /* Each of the flags is read by its own name. */
    static const char *const flags[] = {"tcp", "crc", "markers", "poll", "ahead"};
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++)
            json_object_set_new(text, flags[k], json_boolean(k == i));
        assert_int_equal(perf_setup_from_json(text, &read), 0);
        const bool got[] = {read.tcp, read.crc, read.markers, read.poll, read.ahead};
        for (int k = 0; k < 5; k++)
            assert_int_equal(got[k], k == i);
        json_object_set_new(text, flags[i], json_integer(1));
        assert_int_equal(perf_setup_from_json(text, &read), -1);
        json_object_del(text, flags[i]);
        assert_int_equal(perf_setup_from_json(text, &read),
                         strcmp(flags[i], "ahead") == 0 ? 0 : -1);
        json_object_set_new(text, flags[i], json_false());
    }
    /* No name of an algorithm is none. */
    json_object_del(text, "congestion");
    assert_int_equal(perf_setup_from_json(text, &read), 0);
    assert_string_equal(read.congestion, "");
    json_object_set_new(text, "congestion", json_string("fifteen-letters"));
    assert_int_equal(perf_setup_from_json(text, &read), 0);
    assert_string_equal(read.congestion, "fifteen-letters");
    json_object_set_new(text, "congestion", json_string("sixteen--letters"));
    assert_int_equal(perf_setup_from_json(text, &read), -1);
    json_object_set_new(text, "congestion", json_integer(5));
    assert_int_equal(perf_setup_from_json(text, &read), -1);
    json_decref(text);
}

static void test_runs(void **state)
{
    const struct perf_run run = {
        .test = PERF_READ_BW, .size = 300, .count = 40, .both = true, .seed = UINT32_MAX};
    struct perf_run read;
    (void)state;
    expect_text(perf_run_to_json(&run), run_text);
    json_t *text = perf_run_to_json(&run);
    assert_int_equal(perf_run_from_json(text, &read), 0);
    expect_text(perf_run_to_json(&read), run_text);
    for (int i = 0; i < 2; i++) {
        json_object_set_new(text, "both", json_boolean(i == 0));
        json_object_set_new(text, "verify", json_boolean(i == 1));
        assert_int_equal(perf_run_from_json(text, &read), 0);
        assert_int_equal(read.both, i == 0);
        assert_int_equal(read.verify, i == 1);
    }
    json_object_set_new(text, "both", json_integer(0));
    assert_int_equal(perf_run_from_json(text, &read), -1);
    json_object_del(text, "both");
    assert_int_equal(perf_run_from_json(text, &read), -1);
    json_decref(text);
}

static int read_with(json_t *from, bool lane, const char *name, json_t *value)
{
    struct perf_setup setup;
    struct perf_run run;
    json_t *copy = json_copy(from);
    if (value != NULL)
        json_object_set_new(copy, name, value);
    else
        json_object_del(copy, name);
    int result = lane ? perf_setup_from_json(copy, &setup) : perf_run_from_json(copy, &run);
    json_decref(copy);
    return result;
}

/* Each number at its limits and beyond them, of another type, and missing. */
static void test_ranges(void **state)
{
    static const struct {
        bool lane;
        const char *name;
        json_int_t low, high;
    } cases[] = {{true, "mss", 0, 32767},        {true, "mulpdu", 0, 64768},
                 {true, "window", 1, 4096},      {true, "socket_buffer", 0, 1073741824},
                 {true, "size_max", 1, 8388608}, {true, "connections", 1, 10000},
                 {true, "threads", 1, 64},       {false, "test", 0, 7},
                 {false, "size", 1, 8388608},    {false, "count", 1, 1000000000},
                 {false, "seed", 0, 4294967295}};
    json_t *texts[2] = {json_loads(run_text, 0, NULL), json_loads(lane_text, 0, NULL)};
    (void)state;
    json_object_set_new(texts[true], "connections", json_integer(64));
    json_object_set_new(texts[true], "threads", json_integer(1));
    json_object_set_new(texts[true], "window", json_integer(1));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *text = texts[cases[i].lane];
        bool lane = cases[i].lane;
        const char *name = cases[i].name;
        assert_int_equal(read_with(text, lane, name, json_integer(cases[i].low)), 0);
        assert_int_equal(read_with(text, lane, name, json_integer(cases[i].high)), 0);
        assert_int_equal(read_with(text, lane, name, json_integer(cases[i].low - 1)), -1);
        assert_int_equal(read_with(text, lane, name, json_integer(cases[i].high + 1)), -1);
        assert_int_equal(read_with(text, lane, name, json_real(1)), -1);
        assert_int_equal(read_with(text, lane, name, NULL), -1);
    }
    json_decref(texts[0]);
    json_decref(texts[1]);
}

/* What no number sees alone. */
static void test_ranges_together(void **state)
{
    static const struct {
        unsigned connections, threads, size, window;
        int expected;
    } cases[] = {{5, 5, 1, 1, 0},          {5, 6, 1, 1, -1},          {128, 1, 8388608, 1, 0},
                 {129, 1, 8388608, 1, -1}, {512, 1, 1, 4096, 0},      {513, 1, 1, 4096, -1},
                 {10000, 1, 107374, 1, 0}, {10000, 1, 107375, 1, -1}, {10000, 1, 1, 209, 0},
                 {10000, 1, 1, 210, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *text = json_loads(lane_text, 0, NULL);
        struct perf_setup read;
        json_object_set_new(text, "connections", json_integer(cases[i].connections));
        json_object_set_new(text, "threads", json_integer(cases[i].threads));
        json_object_set_new(text, "size_max", json_integer(cases[i].size));
        json_object_set_new(text, "window", json_integer(cases[i].window));
        assert_int_equal(perf_setup_from_json(text, &read), cases[i].expected);
        json_decref(text);
    }
}

#define WITH_SESSION(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SESSION(test_sent_lines),
        WITH_SESSION(test_received_lines),
        WITH_SESSION(test_their_error),
        WITH_SESSION(test_long_lines),
        WITH_SESSION(test_silence),
        WITH_SESSION(test_lost_connection),
        WITH_SESSION(test_expected_members),
        WITH_SESSION(test_failure),
        WITH_SESSION(test_sockets),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_ranges_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
