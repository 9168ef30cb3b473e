/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel of the control protocol: its socket, its queue, and requests longer than a socket
 * takes at once. */
#include "iwarp/control.h"
#include "iwarp/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG = 60 }; /* seconds: only a failing test waits that long */

static uint64_t soon(void)
{
    return iw_transport_now() + LONG * UINT64_C(1000000000);
}

static void a_channel_never_blocks(void **state)
{
    int fds[2];
    (void)state;
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), value = 0;
    socklen_t length = sizeof(value);
    struct iw_control_channel *ch = iw_control_channel_create(tcp);
    assert_non_null(ch);
    assert_int_equal(iw_control_channel_fd(ch), tcp);
    assert_int_equal(getsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &value, &length), 0);
    assert_int_equal(value, 1);
    assert_int_equal(fcntl(tcp, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    iw_control_channel_destroy(ch);
    assert_int_equal(fcntl(tcp, F_GETFL), -1); /* it is closed */

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ch = iw_control_channel_create(fds[0]);
    assert_non_null(ch);
    assert_int_equal(iw_control_channel_read(ch), 0);
    iw_control_channel_destroy(ch);
    close(fds[1]);
}

/* Takes one line and returns its length with the line feed. */
static size_t take(struct iw_control_channel *ch)
{
    char error[160];
    json_t *message;
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 1);
    json_decref(message);
    return iw_control_channel_line(ch);
}

static void lines_have_a_length(void **state)
{
    int fds[2];
    char error[160];
    json_t *message;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control_channel *ch = iw_control_channel_create(fds[0]);
    assert_non_null(ch);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(write(fds[1], "{}\n{\"a\":[1]}\n{ }\n{\"b\"", 21), 21);
        assert_int_equal(iw_control_channel_read(ch), 1);
        assert_int_equal(take(ch), 3);
        assert_int_equal(take(ch), 10);
        assert_int_equal(take(ch), 4);
        assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 0);
        assert_int_equal(write(fds[1], ":2}\n", 4), 4);
        assert_int_equal(iw_control_channel_read(ch), 1);
        assert_int_equal(take(ch), 8);
    }
    iw_control_channel_destroy(ch);
    close(fds[1]);
}

/* Depth counts what is open at the same time, and nothing in strings. */
static void depth_is_counted(void **state)
{
    static const struct {
        const char *line;
        int result;
    } rows[] = {
        {"{\"a\":[[[[[[[1]]]]]]]}\n", 1},
        {"{\"a\":[[[[[[[[1]]]]]]]]}\n", -1},
        {"{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":{}}}}}}}}\n", 1},
        {"{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":{\"h\":1}}}}}}}}\n", 1},
        {"{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":{\"h\":{}}}}}}}}}\n", -1},
        {"{\"a\":[[],[],[],[],[],[],[],[],[],[]]}\n", 1},
        {"{\"a\":[{},{},{},{},{},{},{},{},{},{}]}\n", 1},
        {"{\"[[[[[[[[[[\":\"{{{{{{{{{{\"}\n", 1},
        {"{\"a\\\"[[[[[[[[[[\":1}\n", 1},
        {"{\"a\\\\\":[[[[[[[[1]]]]]]]]}\n", -1},
        {"{\"]]]]]]]]]]\":[[[[[[[[1]]]]]]]]}\n", -1},
        {"{\"}}}}}}}}}}\":[[[[[[[[1]]]]]]]]}\n", -1},
    };
    int fds[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control_channel *ch = iw_control_channel_create(fds[0]);
    assert_non_null(ch);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char error[160] = "";
        json_t *message = NULL;
        size_t length = strlen(rows[i].line);
        assert_int_equal(write(fds[1], rows[i].line, length), length);
        assert_int_equal(iw_control_channel_read(ch), 1);
        assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)),
                         rows[i].result);
        assert_string_equal(error, rows[i].result == 1 ? "" : "a line nests deeper than 8");
        json_decref(message);
    }
    iw_control_channel_destroy(ch);
    close(fds[1]);
}

/* An agent that answers once it has the whole of a request. */
static void *answer(void *context)
{
    static const char reply[] = "{\"id\":1,\"ok\":true}\n";
    int fd = *(int *)context;
    char octets[4096];
    for (;;) {
        ssize_t n = read(fd, octets, sizeof(octets));
        if (n <= 0)
            return NULL;
        if (octets[n - 1] == '\n')
            return write(fd, reply, sizeof(reply) - 1) > 0 ? context : NULL;
    }
}

/* The rest of a request leaves as the agent takes it. */
static void a_long_request_is_sent_piece_by_piece(void **state)
{
    enum { LENGTH = IW_CONTROL_LINE - 100 };
    int fds[2];
    char error[200] = "";
    void *answered = NULL;
    pthread_t agent;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)), 0);
    struct iw_control *c = iw_control_adopt(fds[0]);
    char *text = malloc(LENGTH + 1);
    assert_non_null(c);
    assert_non_null(text);
    memset(text, 'x', LENGTH);
    text[LENGTH] = '\0';
    json_t *request = json_pack("{s:s,s:s}", "do", "fill", "text", text);
    assert_non_null(request);
    assert_int_equal(pthread_create(&agent, NULL, answer, &fds[1]), 0);
    json_t *reply = iw_control_call(c, request, soon(), error, sizeof(error));
    assert_string_equal(error, "");
    assert_true(json_is_true(json_object_get(reply, "ok")));
    json_decref(reply);
    iw_control_close(c);
    pthread_join(agent, &answered);
    assert_non_null(answered);
    close(fds[1]);
    free(text);
}

/* Accepts a connection and returns what comes first on it. */
static const char *first_line(int listener)
{
    static char line[200];
    size_t length = 0;
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    while (length == 0 || line[length - 1] != '\n') {
        ssize_t n = read(fd, line + length, sizeof(line) - 1 - length);
        assert_true(n > 0);
        length += (size_t)n;
    }
    line[length] = '\0';
    close(fd);
    return line;
}

static void the_token_is_sent_first(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    char error[300] = "";
    const struct iw_control_token none = {.length = 0};
    struct iw_control_token token;
    (void)state;
    assert_int_equal(iw_control_token_set(&token, "correct-horse-42", 16, error, sizeof(error)), 0);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    for (int i = 0; i < 2; i++) {
        struct iw_control *c = iw_control_connect(
            "127.0.0.1", ntohs(at.sin_port), i == 0 ? &token : &none, soon(), error, sizeof(error));
        assert_non_null(c);
        assert_int_equal(fcntl(iw_control_fd(c), F_GETFD), FD_CLOEXEC);
        assert_null(iw_control_call(c, json_pack("{s:s}", "do", "hello"), 0, error, sizeof(error)));
        assert_memory_equal(first_line(listener),
                            i == 0 ? "correct-horse-42\n" : "{\"do\":\"hello\",\"id\":1}\n", 17);
        iw_control_close(c);
    }
    close(listener);
}

/* Why an agent refuses is told in its words, whatever they begin with. */
static void the_agents_reason_counts(void **state)
{
    static const char refused[] = "{\"event\":\"refused\",\"error\":\"\\u00e9tat\"}\n";
    int fds[2];
    char error[200] = "";
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control *c = iw_control_adopt(fds[0]);
    assert_non_null(c);
    assert_int_equal(write(fds[1], refused, sizeof(refused) - 1), sizeof(refused) - 1);
    close(fds[1]);
    assert_null(
        iw_control_call(c, json_pack("{s:s}", "do", "hello"), soon(), error, sizeof(error)));
    assert_string_equal(error, "no reply to \"hello\": \xc3\xa9tat");
    iw_control_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_never_blocks),
        cmocka_unit_test(lines_have_a_length),
        cmocka_unit_test(depth_is_counted),
        cmocka_unit_test(a_long_request_is_sent_piece_by_piece),
        cmocka_unit_test(the_token_is_sent_first),
        cmocka_unit_test(the_agents_reason_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
