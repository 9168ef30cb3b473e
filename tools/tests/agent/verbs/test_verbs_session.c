/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's sessions on a socket of the test's: what a client may send, and what becomes of one
 * that does not read, or is gone. */
#include "recorder_life.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../caught.h"

static struct agent_session *session;
static int peer;    /* the client's end */
static bool breaks; /* the backend breaks off the session at the first request */

/* ---- doubles ---- */

static unsigned calloc_fails; /* counted from the next call; 0: none */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return calloc_fails > 0 && --calloc_fails == 0 ? NULL : __real_calloc(count, size);
}

static uint32_t watched; /* what the session's descriptor is watched for, once that was changed */

int __real_iw_watch_set(struct iw_watch *w, uint32_t wanted);
int __wrap_iw_watch_set(struct iw_watch *w, uint32_t wanted);
int __wrap_iw_watch_set(struct iw_watch *w, uint32_t wanted)
{
    watched = wanted;
    return __real_iw_watch_set(w, wanted);
}

static bool domain(void *b, char *error)
{
    (void)called("domain", error);
    if (breaks)
        seen.core.emit(seen.core.context, NULL); /* an event for which there was no memory */
    return b != NULL;
}

/* ---- the client ---- */

static int begin(void **state)
{
    int result = set_up(state);
    recorder.create = create;
    recorder.destroy = destroy;
    recorder.domain = domain;
    reactor = iw_reactor_create();
    session = NULL;
    peer = -1;
    create_fails = breaks = false;
    calloc_fails = created = destroyed = watched = 0;
    return result;
}

static int end(void **state)
{
    calloc_fails = 0;
    agent_session_destroy(session);
    iw_reactor_destroy(reactor);
    if (peer >= 0)
        close(peer);
    return tear_down(state);
}

static void start(void)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    peer = fds[0];
    session = agent_session_create(reactor, fds[1], &recorder, &settings);
}

static void step(void)
{
    assert_int_equal(iw_reactor_step(reactor, 0), 0);
}

static void say(const char *text)
{
    assert_int_equal(send(peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    step();
}

/* The next line is this one; "": nothing has come. */
static void hears(const char *expected)
{
    char line[300] = "";
    size_t n = 0;
    while (n < sizeof(line) - 1 && recv(peer, line + n, 1, MSG_DONTWAIT) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    assert_string_equal(line, expected);
}

/* ---- beginnings and ends ---- */

static void nothing_is_left_of_what_does_not_begin(void **state)
{
    (void)state;
    unsigned before = descriptors();
    /* The session, its channel, the backend, the watch. */
    for (unsigned i = 1; i <= 4; i++) {
        calloc_fails = i < 3 ? i : i == 4 ? 3 : 0;
        create_fails = i == 3;
        start();
        assert_null(session);
        assert_int_equal(calloc_fails, 0);
        assert_int_equal(descriptors(), before + 1);
        assert_int_equal(created, i == 4);
        assert_int_equal(destroyed, created);
        close(peer);
        create_fails = false;
    }
    agent_session_destroy(NULL);
    start();
    assert_non_null(session);
    agent_session_destroy(session);
    session = NULL;
    assert_int_equal(created, 2);
    assert_int_equal(destroyed, 2);
    assert_int_equal(descriptors(), before + 1);
    /* It begins with nothing of the client's and ends with that. */
    assert_string_equal(seen.calls, " hang_up hang_up");
}

static void clients_that_leave(void **state)
{
    (void)state;
    start();
    assert_false(agent_session_over(session));
    assert_false(agent_session_left(session));
    close(peer);
    peer = -1;
    assert_false(agent_session_over(session));
    assert_true(agent_session_left(session));
    step();
    assert_true(agent_session_over(session));
    assert_true(agent_session_left(session));
}

/* It is noticed as well when there is something to say. */
static void clients_that_have_left(void **state)
{
    (void)state;
    start();
    close(peer);
    peer = -1;
    agent_report(&seen.connections[1], "hop", "{}");
    assert_true(agent_session_over(session));
}

/* ---- requests ---- */

static void lines(void **state)
{
    (void)state;
    start();
    say("{\"id\":1,\"do\":\"pd\"}\n");
    hears("{\"pd\":2,\"ok\":true,\"id\":1}");
    say("[]\n");
    hears("{\"ok\":false,\"error\":\"a line is not a JSON object\"}");
    say("[[[[[[[[[]]]]]]]]]\n");
    hears("{\"ok\":false,\"error\":\"a line nests deeper than 8\"}");
    assert_false(agent_session_over(session));
    /* What the text quotes is cut inside a character. */
    say("{\"id\":2,\"do\":\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddd\xc3\xa9\"}\n");
    hears("{\"error\":\"verb aaaaaaaaaabbbbbbbbbbccccccccccddddddddd?: not known\",\"ok\":false,"
          "\"id\":2}");
    calloc_fails = 1;
    say("{\"id\":3,\"do\":\"register\",\"length\":1}\n");
    assert_int_equal(calloc_fails, 0);
    hears("{\"error\":\"no memory\",\"ok\":false,\"id\":3}");
    say("{\"id\":4,\"do\":\"pd\"}\n");
    hears("{\"pd\":3,\"ok\":true,\"id\":4}");
    hears("");
}

/* A line that is too long cannot be separated from the next one. */
static void lines_that_are_too_long(void **state)
{
    static char text[IW_CONTROL_LINE + 1];
    (void)state;
    start();
    memset(text, 'x', IW_CONTROL_LINE);
    for (int i = 0; i < 16; i++) {
        assert_false(agent_session_over(session));
        assert_int_equal(send(peer, text, IW_CONTROL_LINE / 16, MSG_NOSIGNAL),
                         IW_CONTROL_LINE / 16);
        step();
    }
    assert_true(agent_session_over(session));
    hears("{\"ok\":false,\"error\":\"a line is longer than 262144 octets\"}");
    step();
    hears("");
}

/* Of what came with the request at which the session broke off, nothing is carried out. */
static void requests_after_the_end(void **state)
{
    (void)state;
    start();
    breaks = true;
    say("{\"id\":1,\"do\":\"pd\"}\n{\"id\":2,\"do\":\"pd\"}\n");
    assert_true(agent_session_over(session));
    assert_string_equal(seen.calls, " domain");
    say("{\"id\":3,\"do\":\"pd\"}\n");
    assert_string_equal(seen.calls, " domain");
}

/* ---- clients that do not read ---- */

enum { LETTERS = 100000, EVENTS = 20 };

static void report_much(void)
{
    static char letters[LETTERS + 1];
    memset(letters, 'z', LETTERS);
    agent_report(&seen.connections[1], "hop", "{s:s}", "far", letters);
}

/* What does not fit into the socket waits, and goes out as soon as there is room. */
static void slow_clients(void **state)
{
    static char octets[64 * 1024];
    static const char end_of_line[] = "\",\"conn\":5}\n";
    size_t total = 0, lines = 0;
    (void)state;
    start();
    agent_report(&seen.connections[1], "hop", "{}");
    hears("{\"event\":\"hop\",\"conn\":5}");
    assert_int_equal(watched, 0); /* it went out at once */
    for (int i = 0; i < EVENTS; i++)
        report_much();
    assert_false(agent_session_over(session));
    assert_int_equal(watched, EPOLLIN | EPOLLOUT);
    for (ssize_t n = 1; n > 0;) {
        n = recv(peer, octets, sizeof(octets), MSG_DONTWAIT);
        for (ssize_t i = 0; i < n; i++)
            lines += octets[i] == '\n';
        total += n > 0 ? (size_t)n : 0;
        step();
    }
    assert_int_equal(lines, EVENTS);
    assert_int_equal(total, EVENTS * (strlen("{\"event\":\"hop\",\"far\":\"") + LETTERS +
                                      sizeof(end_of_line) - 1));
    assert_int_equal(watched, EPOLLIN);
    assert_false(agent_session_over(session));
    say("{\"id\":1,\"do\":\"pd\"}\n");
    hears("{\"pd\":2,\"ok\":true,\"id\":1}");
}

/* Four megabytes may wait, not more. */
static void clients_that_do_not_read(void **state)
{
    unsigned reports = 0;
    (void)state;
    start();
    while (!agent_session_over(session) && reports < 1000) {
        report_much();
        reports++;
    }
    assert_in_range(reports, IW_CONTROL_QUEUE / LETTERS, 999);
    assert_true(agent_session_over(session));
}

static void clients_that_leave_unread(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < EVENTS; i++)
        report_much();
    assert_false(agent_session_over(session));
    close(peer);
    peer = -1;
    step();
    assert_true(agent_session_over(session));
}

#define SESSION_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(nothing_is_left_of_what_does_not_begin),
        SESSION_TEST(clients_that_leave),
        SESSION_TEST(clients_that_have_left),
        SESSION_TEST(lines),
        SESSION_TEST(lines_that_are_too_long),
        SESSION_TEST(requests_after_the_end),
        SESSION_TEST(slow_clients),
        SESSION_TEST(clients_that_do_not_read),
        SESSION_TEST(clients_that_leave_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
