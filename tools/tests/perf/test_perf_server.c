/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-perf's server answers. */
#include "server_doubles.h"

#include <errno.h>
#include <sys/socket.h>

#include "../caught.h"
#include "host/complain.h"

/* Serves until the first client is through. */
static void serve(int expected, const char *said)
{
    unsigned before = descriptors();
    catch_from(2);
    int status = perf_serve(doubles.listener, true);
    assert_string_equal(caught(), said);
    assert_int_equal(status, expected);
    assert_int_equal(doubles.created, doubles.destroyed);
    assert_int_equal(descriptors(), before);
}

/* ---- sessions ---- */

static void test_session(void **state)
{
    int fd = connect_from("127.0.0.1"), ours[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        ours[i] = lane_connection((char)('a' + i));
    greet(fd);
    open_lane(fd, 2);
    say_port(fd, ours[1]); /* in whatever order they came */
    say_port(fd, ours[0]);
    open_lane(fd, 1);
    say_port(fd, ours[2]);
    run_slice(fd, 1);
    run_slice(fd, 0);
    say(fd, "{\"command\":\"end\"}\n");
    run_slice(fd, 0); /* nobody listens any more */
    serve(0, "");
    assert_string_equal(doubles.record, "b at 0: attach 0\na at 1: attach 0\nestablish 0\n"
                                        "c at 0: attach 1\nestablish 1\n"
                                        "prepare 1\nexecute 1\nverify 1\n"
                                        "prepare 0\nexecute 0\nverify 0\n"
                                        "destroy 0: 4294967295 2147483648 3\n"
                                        "destroy 1: 4294967295 2147483648 3\n");
    assert_true(doubles.asked.crc);
    assert_int_equal(doubles.asked.connections, 1);
    assert_int_equal(doubles.ran.test, PERF_WRITE_BW);
    assert_int_equal(doubles.ran.count, 3);
    assert_int_equal(doubles.ran.seed, 77);
    for (int i = 0; i < 3; i++)
        close(ours[i]);
    close(fd);
}

static void test_answers(void **state)
{
    int fd = connect_from("127.0.0.1"), ours = lane_connection('a');
    (void)state;
    greet(fd);
    open_lane(fd, 1);
    say_port(fd, ours);
    run_slice(fd, 0);
    run_slice(fd, 0);
    say(fd, "{\"command\":\"end\"}\n");
    serve(0, "");
    expect_answer(fd, HELLO OPENED "{\"ready\":true}\n"
                                   "{\"cpu\":0.25,\"calls\":12,\"resident\":4711}\n"
                                   "{\"ready\":true}\n"
                                   "{\"cpu\":0.25,\"calls\":12,\"resident\":4711}\n");
    close(ours);
}

/* What a client says after its greeting, and the reason why the session ends. */
static void refuse(const char *line, const char *answer, const char *reason)
{
    char expected[512], said[256];
    int fd = connect_from("127.0.0.1");
    greet(fd);
    say(fd, "%s\n", line);
    snprintf(expected, sizeof(expected), HELLO "%s{\"error\":\"%s\"}\n", answer, reason);
    snprintf(said, sizeof(said), "iwarp-perf: server: %s\n", reason);
    serve(1, said);
    expect_answer(fd, expected);
}

static void test_refused_lines(void **state)
{
    static const char lane[] =
        "{\"command\":\"open\",\"tcp\":false,\"crc\":true,\"markers\":false,\"poll\":false,"
        "\"connections\":1,\"mss\":0,\"mulpdu\":0,\"window\":%d,\"threads\":1,"
        "\"socket_buffer\":0,\"size_max\":64,\"sink\":1,\"source\":2%s}";
    static const char slice[] = "{\"command\":\"run\",\"test\":%d,\"size\":64,\"count\":3,"
                                "\"both\":true,\"verify\":false,\"seed\":7%s}";
    char text[512];
    (void)state;
    refuse("{}", "", "an unknown command");
    refuse("{\"command\":5}", "", "an unknown command");
    refuse("{\"command\":\"ende\"}", "", "an unknown command");
    snprintf(text, sizeof(text), lane, 0, ",\"counter\":3");
    refuse(text, "", "a lane out of range");
    snprintf(text, sizeof(text), lane, 9, "");
    refuse(text, "", "a lane out of range");
    snprintf(text, sizeof(text), slice, 8, ",\"lane\":0");
    refuse(text, "", "a slice out of range");
    snprintf(text, sizeof(text), slice, 5, ",\"lane\":0"); /* there is none yet */
    refuse(text, "", "a slice out of range");
    snprintf(text, sizeof(text), slice, 5, "");
    refuse(text, "", "a slice out of range");
    snprintf(text, sizeof(text), slice, 5, ",\"lane\":-1");
    refuse(text, "", "a slice out of range");
    doubles.failing = "create";
    snprintf(text, sizeof(text), lane, 9, ",\"counter\":3");
    refuse(text, "", "create failed");
    doubles.failing = NULL;
    int length = snprintf(text, sizeof(text), lane, 9, ",\"counter\":3");
    snprintf(text + length, sizeof(text) - (size_t)length, "\n{}");
    refuse(text, STAGS, "no port of a connection");
}

/* Five lanes are as many as there are kinds. */
static void test_lanes_at_most(void **state)
{
    int fd = connect_from("127.0.0.1"), ours[5];
    (void)state;
    greet(fd);
    for (int i = 0; i < 5; i++) {
        ours[i] = lane_connection((char)('a' + i));
        open_lane(fd, 1);
        say_port(fd, ours[i]);
    }
    open_lane(fd, 1);
    serve(1, "iwarp-perf: server: a lane out of range\n");
    expect_answer(fd,
                  HELLO OPENED OPENED OPENED OPENED OPENED "{\"error\":\"a lane out of range\"}\n");
    for (int i = 0; i < 5; i++)
        close(ours[i]);
}

/* Each step of a lane and a slice that fails; the reason goes to both. */
static void test_failing_steps(void **state)
{
    static const struct {
        const char *name, *answer;
    } cases[] = {{"socket", STAGS},
                 {"attach", STAGS},
                 {"establish", STAGS "{\"attached\":true}\n"},
                 {"prepare", OPENED},
                 {"execute", OPENED "{\"ready\":true}\n"},
                 {"verify", OPENED "{\"ready\":true}\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[512], said[128];
        int fd = connect_from("127.0.0.1"), ours = lane_connection('a');
        doubles.failing = cases[i].name;
        greet(fd);
        open_lane(fd, 1);
        say_port(fd, ours);
        run_slice(fd, 0);
        snprintf(said, sizeof(said), "iwarp-perf: server: %s failed\n", doubles.failing);
        serve(1, said);
        snprintf(expected, sizeof(expected), HELLO "%s{\"error\":\"%s failed\"}\n", cases[i].answer,
                 doubles.failing);
        expect_answer(fd, expected);
        close(ours);
    }
}

static void test_greetings(void **state)
{
    static const char *const bad[] = {"{\"iwarp-perf\":3}", "{\"iwarp-perf\":5}", "{}",
                                      "{\"iwarp-perf\":\"4\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int fd = connect_from("127.0.0.1");
        say(fd, "%s\n", bad[i]);
        serve(1, "iwarp-perf: server: another version of iwarp-perf\n");
        expect_answer(fd, "{\"error\":\"another version of iwarp-perf\"}\n");
    }
    int fd = connect_from("127.0.0.1");
    say(fd, "GET / HTTP/1.0\n");
    serve(1, "iwarp-perf: server: the peer does not speak as iwarp-perf does\n");
    expect_answer(fd, "");
    /* After its greeting it has more time than for it. */
    fd = connect_from("127.0.0.1");
    doubles.step = 10;
    serve(1, "iwarp-perf: server: control connection: nothing came for 10 seconds\n");
    close(fd);
    fd = connect_from("127.0.0.1");
    doubles.step = 9;
    greet(fd);
    say(fd, "{\"comm");
    shutdown(fd, SHUT_WR);
    serve(1, "iwarp-perf: server: control connection: closed by the peer\n");
    expect_answer(fd, HELLO);
}

static void serve_again(void)
{
    int fd = connect_from("127.0.0.1"), ours = lane_connection('a');
    greet(fd);
    open_lane(fd, 1);
    say_port(fd, ours);
    run_slice(fd, 0);
    say(fd, "{\"command\":\"end\"}\n");
    assert_int_equal(perf_serve(doubles.listener, true), 0);
    close(ours);
    close(fd);
}

static int prepared_fd;

static void serve_prepared(void)
{
    assert_int_equal(perf_serve(doubles.listener, true), 0);
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    assert_false(leaks(serve_again));
    prepared_fd = connect_from("127.0.0.1");
    greet(prepared_fd);
    say(prepared_fd, "{\"command\":\"end\"}\n");
    without_input(serve_prepared);
    expect_answer(prepared_fd, HELLO);
    /* So it is for a connection of a lane. */
    prepared_fd = connect_from("127.0.0.1");
    int ours = lane_connection('a');
    greet(prepared_fd);
    open_lane(prepared_fd, 1);
    say_port(prepared_fd, ours);
    say(prepared_fd, "{\"command\":\"end\"}\n");
    int input = dup(0);
    doubles.accepts = 0;
    doubles.zero_at = 2;
    serve_prepared();
    assert_int_equal(dup2(input, 0), 0);
    close(input);
    expect_answer(prepared_fd, HELLO OPENED);
    close(ours);
}

/* A client that goes while its lane is made. */
static void test_gone_client(void **state)
{
    int fd = connect_from("127.0.0.1");
    (void)state;
    greet(fd);
    open_lane(fd, 1);
    shutdown(fd, SHUT_WR);
    serve(1, "iwarp-perf: server: control connection: closed by the peer\n");
    expect_answer(fd, HELLO STAGS);
}

/* ---- the program ---- */

static void test_server(void **state)
{
    struct perf_plan plan = {.address = "h", .one_client = true};
    char said[64];
    (void)state;
    catch_from(2);
    assert_int_equal(perf_server(&plan), 64);
    assert_string_equal(caught(), "iwarp-perf: bad address \"h\": expected HOST:PORT\n");
    plan.address = "h:5";
    catch_from(2);
    assert_int_equal(perf_server(&plan), 69);
    assert_string_equal(caught(), "iwarp-perf: no place\n");
    doubles.bound = "there:6";
    int fd = connect_from("127.0.0.1");
    unsigned before = descriptors();
    greet(fd);
    say(fd, "{\"command\":\"end\"}\n");
    /* The line is there before the first client. */
    int ends[2], kept = dup(1);
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    assert_int_equal(dup2(ends[1], 1), 1);
    int status = perf_server(&plan);
    assert_int_equal(dup2(kept, 1), 1);
    close(kept);
    close(ends[1]);
    ssize_t length = read(ends[0], said, sizeof(said) - 1);
    close(ends[0]);
    said[length > 0 ? length : 0] = '\0';
    assert_string_equal(said, "listening on there:6\n");
    assert_int_equal(status, 0);
    assert_int_equal(descriptors(), before);
    expect_answer(fd, HELLO);
}

static int end(void **state)
{
    (void)server_end(state);
    return catch_no_more(state);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, server_begin, end)

int main(void)
{
    iw_complain_as("iwarp-perf");
    const struct CMUnitTest tests[] = {
        EACH(test_session),         EACH(test_answers),       EACH(test_refused_lines),
        EACH(test_lanes_at_most),   EACH(test_failing_steps), EACH(test_greetings),
        EACH(test_nothing_is_lost), EACH(test_gone_client),   EACH(test_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
