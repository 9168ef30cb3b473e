/* SPDX-License-Identifier: BSD-3-Clause */
/* The control protocol when system calls and allocations fail. */
#include "iwarp/control.h"
#include "iwarp/transport.h"

#include "failing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

enum { LONG = 60 }; /* seconds: only a failing test waits that long */

static uint64_t soon(void)
{
    return iw_transport_now() + LONG * UINT64_C(1000000000);
}

static void put(int fd, const char *text)
{
    size_t length = strlen(text);
    assert_int_equal(write(fd, text, length), length);
}

static struct iw_control *open_client(int *agent)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control *c = iw_control_adopt(fds[0]);
    assert_non_null(c);
    assert_int_equal(iw_control_fd(c), fds[0]);
    *agent = fds[1];
    return c;
}

static void a_client_needs_memory(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    for (unsigned n = 0; n < 2; n++) {
        let_fail_after(n, "memory", ENOMEM);
        assert_null(iw_control_adopt(fds[0]));
        assert_true(has_failed());
    }
    put(fds[1], "x"); /* the socket is still the caller's */
    iw_control_close(NULL);
    iw_control_channel_destroy(NULL);
    close(fds[0]);
    close(fds[1]);
}

/* Its room for what is sent grows when a line needs more, and is kept. */
static void a_channel_keeps_its_room(void **state)
{
    int fds[2];
    json_t *message = json_pack("{s:i}", "id", 1);
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control_channel *ch = iw_control_channel_create(fds[0]);
    assert_non_null(ch);
    let_fail("memory", ENOMEM);
    assert_int_equal(iw_control_channel_write(ch, message), -1);
    assert_true(has_failed());
    assert_int_equal(iw_control_channel_write(ch, message), 0);
    let_fail("memory", ENOMEM);
    assert_int_equal(iw_control_channel_write(ch, message), 0);
    assert_false(has_failed());
    json_decref(message);
    iw_control_channel_destroy(ch);
    close(fds[1]);
}

static void connecting_can_fail(void **state)
{
    static const struct {
        const char *call;
        int error;
        const char *text;
    } cases[] = {
        {"getaddrinfo", 0, "cannot resolve host \"127.0.0.1\": Name or service not known"},
        {"socket", EMFILE, ": Too many open files"},
        {"connect", ENETUNREACH, ": Network is unreachable"},
        {"poll", EBADF, ": Bad file descriptor"},
        {"memory", ENOMEM, ": Cannot allocate memory"},
    };
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    (void)state;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    uint16_t port = ntohs(at.sin_port);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[300] = "";
        let_fail(cases[i].call, cases[i].error);
        assert_null(iw_control_connect("127.0.0.1", port, NULL, soon(), error, sizeof(error)));
        assert_true(has_failed());
        const char *tail = error + strlen(error) - strlen(cases[i].text);
        assert_true(tail >= error);
        assert_string_equal(tail, cases[i].text);
    }
    char error[300] = "";
    let_fail("poll", EINTR); /* is waited out */
    struct iw_control *c =
        iw_control_connect("127.0.0.1", port, NULL, soon(), error, sizeof(error));
    assert_true(has_failed());
    assert_string_equal(error, "");
    iw_control_close(c);
    close(listener);
}

static void interrupted_calls_are_repeated(void **state)
{
    static const char *const calls[] = {"send", "recv", "poll"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        int agent;
        char error[200] = "";
        struct iw_control *c = open_client(&agent);
        put(agent, "{\"id\":7,\"ok\":true}\n[{\"id\":1}]\n");
        close(agent);
        let_fail(calls[i], EINTR);
        assert_null(
            iw_control_call(c, json_pack("{s:s}", "do", "hello"), soon(), error, sizeof(error)));
        assert_true(has_failed());
        assert_string_equal(error, "no reply to \"hello\": a line is not a JSON object");
        assert_true(iw_control_lost(c));
        iw_control_close(c);
    }
}

static void a_verb_that_is_no_text_is_named_so(void **state)
{
    int agent;
    char error[200] = "";
    (void)state;
    struct iw_control *c = open_client(&agent);
    put(agent, "{\"id\":\"1\"}\n{\"event\":\"refused\"}\n{\"event\":\"closed\"}\n");
    close(agent);
    assert_null(iw_control_call(c, json_pack("{s:i}", "do", 1), soon(), error, sizeof(error)));
    assert_string_equal(error, "no reply to \"?\": refused");
    /* One more call to a lost agent sends nothing and waits for nothing. */
    let_fail("poll", EBADF);
    assert_null(iw_control_call(c, json_pack("{s:s}", "do", "pd"), soon(), error, sizeof(error)));
    assert_false(has_failed());
    assert_string_equal(error, "no reply to \"pd\": refused");
    iw_control_close(c); /* with two events that nobody took */
}

static void events_are_bounded(void **state)
{
    int agent;
    char block[4096] = "", error[200] = "";
    static const char event[] = "{\"event\":\"e\"}\n";
    unsigned per_block = 0, sent = 0;
    (void)state;
    for (size_t at = 0; at + sizeof(event) <= sizeof(block); at += sizeof(event) - 1) {
        memcpy(block + at, event, sizeof(event));
        per_block++;
    }
    struct iw_control *c = open_client(&agent);
    while (!iw_control_lost(c)) {
        assert_true(sent <= IW_CONTROL_EVENTS);
        put(agent, block);
        sent += per_block;
        json_t *none = iw_control_call(c, json_pack("{s:s}", "do", "pd"), 0, error, sizeof(error));
        assert_null(none);
        char sink[64];
        assert_true(read(agent, sink, sizeof(sink)) > 0);
    }
    assert_in_range(sent, IW_CONTROL_EVENTS + 1, IW_CONTROL_EVENTS + per_block);
    assert_string_equal(error, "no reply to \"pd\": too many events were not taken");
    unsigned held = 0;
    for (json_t *e; (e = iw_control_event(c, 0)) != NULL; held++)
        json_decref(e);
    assert_int_equal(held, IW_CONTROL_EVENTS);
    iw_control_close(c);
    close(agent);

    c = open_client(&agent);
    put(agent, event);
    let_fail_after(1, "memory", ENOMEM); /* after the request's queue */
    assert_null(iw_control_call(c, json_pack("{s:s}", "do", "pd"), soon(), error, sizeof(error)));
    assert_true(has_failed());
    assert_string_equal(error, "no reply to \"pd\": too many events were not taken");
    iw_control_close(c);
    close(agent);
}

static void a_queue_needs_memory(void **state)
{
    int agent;
    char error[200] = "";
    (void)state;
    struct iw_control *c = open_client(&agent);
    json_t *request = json_pack("{s:s}", "do", "pd");
    let_fail("memory", ENOMEM);
    assert_null(iw_control_call(c, request, soon(), error, sizeof(error)));
    assert_true(has_failed());
    assert_string_equal(error, "cannot send \"pd\" to the agent: the request is too long");
    iw_control_close(c);
    close(agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_needs_memory),
        cmocka_unit_test(a_channel_keeps_its_room),
        cmocka_unit_test(connecting_can_fail),
        cmocka_unit_test(interrupted_calls_are_repeated),
        cmocka_unit_test(a_verb_that_is_no_text_is_named_so),
        cmocka_unit_test(events_are_bounded),
        cmocka_unit_test(a_queue_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
