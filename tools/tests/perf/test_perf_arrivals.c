/* SPDX-License-Identifier: BSD-3-Clause */
/* The connections that come to iwarp-perf's server, wanted or not. */
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

/* ---- connections of lanes ---- */

/* Others that come meanwhile wait for their turn: who closed without a word is no client. */
static void test_others_wait(void **state)
{
    int fd = connect_from("127.0.0.1"), knock = connect_from("127.0.0.1"), ours[3];
    (void)state;
    close(knock);
    ours[0] = lane_connection('a');
    int elsewhere = connect_from("127.0.0.2"), next = connect_from("127.0.0.1");
    ours[1] = lane_connection('b');
    ours[2] = lane_connection('c');
    greet(fd);
    open_lane(fd, 3);
    say_port(fd, ours[2]);
    say_port(fd, ours[0]);
    say_port(fd, ours[1]);
    say(fd, "{\"command\":\"end\"}\n");
    greet(next);
    say(next, "{\"command\":\"end\"}\n");
    serve(0, "");
    assert_string_equal(doubles.record, "c at 0: attach 0\na at 1: attach 0\nb at 2: attach 0\n"
                                        "establish 0\ndestroy 0: 4294967295 2147483648 3\n");
    expect_answer(fd, HELLO OPENED);
    /* Those that were left when the one client had gone were closed unheard. */
    expect_answer(next, "");
    expect_answer(elsewhere, "");
    for (int i = 0; i < 3; i++)
        close(ours[i]);
}

/* If ports are changed on the way, any connection of the client's address is one. */
static void test_changed_ports(void **state)
{
    int fd = connect_from("127.0.0.1"), elsewhere = connect_from("127.0.0.2"), ours;
    (void)state;
    ours = lane_connection('a');
    say(fd, "{\"iwarp-perf\":4,\"port\":%d}\n", port_of(fd) ^ 1);
    open_lane(fd, 1);
    say(fd, "{\"port\":%d}\n", port_of(ours) ^ 1);
    say(fd, "{\"command\":\"end\"}\n");
    serve(0, "");
    expect_answer(fd, HELLO OPENED);
    expect_answer(elsewhere, "");
    close(ours);
    /* A client that says no port is one of these. */
    fd = connect_from("127.0.0.1");
    ours = lane_connection('a');
    say(fd, "{\"iwarp-perf\":4}\n");
    open_lane(fd, 1);
    say(fd, "{\"port\":1}\n{\"command\":\"end\"}\n");
    serve(0, "");
    expect_answer(fd, HELLO OPENED);
    close(ours);
}

/* A connection that does not come, or cannot be accepted. */
static void test_missing_connections(void **state)
{
    static const struct {
        int step, quiet, error, before, waits;
        int ms[2];
        const char *reason;
    } cases[] = {{6, 9, 0, 0, 1, {4001}, "a connection of the lane did not come"},
                 {5, 9, 0, 0, 1, {5001}, "a connection of the lane did not come"},
                 {4, 9, 0, 0, 2, {6001, 2001}, "a connection of the lane did not come"},
                 {4,
                  1,
                  EMFILE,
                  1,
                  2,
                  {6001, 2001},
                  "a connection of the lane cannot be accepted: Too many open files"},
                 {4, 0, ECONNABORTED, 1, 2, {6001, 2001}, NULL},
                 {4, 0, EINTR, 1, 2, {6001, 2001}, NULL},
                 {4, 1, 0, 0, 2, {6001, 2001}, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)server_end(state);
        (void)server_begin(state);
        int fd = connect_from("127.0.0.1"), ours = lane_connection('a');
        greet(fd);
        open_lane(fd, 1);
        say_port(fd, ours);
        say(fd, "{\"command\":\"end\"}\n");
        doubles.accept_error = cases[i].error;
        doubles.accepts_before = cases[i].before;
        doubles.step = cases[i].step;
        doubles.quiet = cases[i].quiet;
        char said[256] = "", expected[512] = HELLO OPENED;
        if (cases[i].reason != NULL) {
            snprintf(said, sizeof(said), "iwarp-perf: server: %s\n", cases[i].reason);
            snprintf(expected, sizeof(expected), HELLO STAGS "{\"error\":\"%s\"}\n",
                     cases[i].reason);
        }
        serve(cases[i].reason != NULL, said);
        expect_answer(fd, expected);
        /* The first wait is that for the client itself. */
        assert_int_equal(doubles.waits[0], -1);
        assert_int_equal(doubles.waited, 1 + cases[i].waits);
        for (int k = 0; k < cases[i].waits; k++)
            assert_int_equal(doubles.waits[1 + k], cases[i].ms[k]);
        close(ours);
    }
}

/* Without --once one client follows another, first those that waited; none of what goes wrong with
 * one is the next one's. */
static void test_many_clients(void **state)
{
    unsigned before = descriptors();
    (void)state;
    int fd = connect_from("127.0.0.1");
    close(connect_from("127.0.0.1"));
    int next = connect_from("127.0.0.1"), ours = lane_connection('a');
    int stranger = connect_from("127.0.0.1");
    greet(fd);
    open_lane(fd, 1);
    say_port(fd, ours);
    say(fd, "{\"command\":\"end\"}\n");
    greet(next);
    say(next, "{\"command\":\"end\"}\n");
    say(stranger, "hello\n");
    int last = connect_from("127.0.0.1");
    doubles.accept_error = EMFILE;
    doubles.accepts_before = 5;
    catch_from(2);
    int status = perf_serve(doubles.listener, false);
    assert_string_equal(caught(), "iwarp-perf: server: the peer does not speak as iwarp-perf does\n"
                                  "iwarp-perf: server: cannot accept: Too many open files\n");
    assert_int_equal(status, 1);
    expect_answer(fd, HELLO OPENED);
    expect_answer(next, HELLO);
    expect_answer(stranger, "");
    close(ours);
    close(last);
    assert_int_equal(descriptors(), before);
}

static void test_end_of_a_session(void **state)
{
    (void)state;
    /* Only a knock, then the client. */
    int knock = connect_from("127.0.0.1"), fd = connect_from("127.0.0.1");
    close(knock);
    greet(fd);
    say(fd, "{\"command\":\"end\"}\n");
    doubles.accept_error = EINTR;
    serve(0, "");
    expect_answer(fd, HELLO);
    /* A client that goes without goodbye. */
    fd = connect_from("127.0.0.1");
    greet(fd);
    shutdown(fd, SHUT_WR);
    serve(1, "iwarp-perf: server: control connection: closed by the peer\n");
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
        EACH(test_others_wait),  EACH(test_changed_ports),    EACH(test_missing_connections),
        EACH(test_many_clients), EACH(test_end_of_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
