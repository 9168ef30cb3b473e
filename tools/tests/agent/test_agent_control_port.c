/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent's control port: the token before anything else, one client at a time, and nobody who
 * is slow or hostile keeps others out. */
#include "agent_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char token[] = "correct-horse-battery";

static uint16_t start_with_token(struct agent *a)
{
    char path[] = "/tmp/iw-token-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "%s\n", token), sizeof(token));
    close(fd);
    uint16_t port = agent_start_listening(a, "--token-file", path);
    unlink(path);
    return port;
}

/* A connection to the control port; its own port goes to *own. */
static int knock(uint16_t port, uint16_t *own)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    if (own != NULL)
        *own = ntohs(at.sin_port);
    return fd;
}

static void put(int fd, const char *text, size_t length)
{
    assert_int_equal(send(fd, text, length, MSG_NOSIGNAL), length);
}

static void put_text(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

/* The next line, without its newline; "" at the end of the stream. */
static void get(int fd, char *line, size_t room)
{
    size_t n = 0;
    while (n < room - 1 && recv(fd, line + n, 1, 0) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
}

static void want_line(int fd, const char *expected)
{
    char line[600];
    get(fd, line, sizeof(line));
    assert_string_equal(line, expected);
}

/* Checks the error that a refused client gets, and the line that the agent prints about it. */
static void want_refused(struct agent *a, int fd, uint16_t own, const char *why)
{
    char expected[200], line[200];
    snprintf(expected, sizeof(expected), "{\"event\":\"refused\",\"error\":\"%s\"}", why);
    want_line(fd, expected);
    want_line(fd, "");
    snprintf(expected, sizeof(expected), "iwarp-agent: 127.0.0.1:%u: refused: %s", own, why);
    agent_log(a, line, sizeof(line));
    assert_string_equal(line, expected);
}

static void hello(int fd)
{
    char line[600];
    put_text(fd, "{\"id\":5,\"do\":\"pd\"}\n");
    get(fd, line, sizeof(line));
    assert_string_equal(line, "{\"pd\":2,\"ok\":true,\"id\":5}");
}

static void the_token_comes_first(void **state)
{
    static const struct {
        const char *said;
        size_t length;
    } wrong[] = {
        {"correct-horse-batterz\n", 22},
        {"correct-horse-batter\n", 21},
        {"correct-horse-battery-\n", 23},
        {" correct-horse-battery\n", 23},
        {"correct-horse-battery \n", 23},
        {"correct-horse-battery\0\n", 23},
        {"\n", 1},
        {"\r\n", 2},
        {"{\"id\":1,\"do\":\"hello\"}\n", 22},
        {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\n", 22},
    };
    struct agent a;
    uint16_t own, port = start_with_token(&a);
    char longest[131];
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int fd = knock(port, &own);
        put(fd, wrong[i].said, wrong[i].length);
        /* What follows is not looked at. */
        put_text(fd, "correct-horse-battery\n{\"id\":1,\"do\":\"hello\"}\n");
        want_refused(&a, fd, own, "wrong token");
        close(fd);
    }
    /* A line without an end is refused as soon as it cannot be a token any more. */
    memset(longest, 'x', sizeof(longest));
    int fd = knock(port, &own);
    put(fd, longest, 130);
    want_refused(&a, fd, own, "wrong token");
    close(fd);

    /* The right one, whole, with what follows, ended as some systems do, and in pieces. */
    fd = knock(port, NULL);
    put_text(fd, "correct-horse-battery\n");
    hello(fd);
    close(fd);
    fd = knock(port, NULL);
    put_text(fd, "correct-horse-battery\r\n{\"id\":5,\"do\":\"pd\"}\n[]\n");
    want_line(fd, "{\"pd\":2,\"ok\":true,\"id\":5}");
    want_line(fd, "{\"ok\":false,\"error\":\"a line is not a JSON object\"}");
    close(fd);
    fd = knock(port, NULL);
    for (size_t i = 0; i < sizeof(token) - 1; i++)
        put(fd, token + i, 1);
    put_text(fd, "\n");
    hello(fd);
    /* One client at a time, whatever the second one knows. */
    int second = knock(port, &own);
    put_text(second, "correct-horse-battery\n{\"id\":1,\"do\":\"hello\"}\n");
    want_refused(&a, second, own, "busy: another client is being served");
    close(second);
    put_text(fd, "{\"id\":6,\"do\":\"reset\"}\n");
    want_line(fd, "{\"ok\":true,\"id\":6}");
    close(fd);
    agent_end(&a, SIGTERM);
}

/* Others that wait in silence do not keep a client out; they get an error when their time is up. */
static void silence_keeps_nobody_out(void **state)
{
    enum { MANY = 40, PLACES = 16 };
    struct agent a;
    uint16_t own[MANY], port = start_with_token(&a);
    int fds[MANY];
    char line[200], expected[200];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        fds[i] = knock(port, &own[i]);
        if (i % 2)
            put(fds[i], "correct-", 8);
    }
    for (int i = 0; i < MANY - PLACES; i++)
        want_refused(&a, fds[i], own[i], "too many others wait");
    int fd = knock(port, NULL);
    put_text(fd, "correct-horse-battery\n");
    hello(fd);
    want_refused(&a, fds[MANY - PLACES], own[MANY - PLACES], "too many others wait");
    /* One leaves, the others are sent away in the order in which they came. */
    close(fds[MANY - 1]);
    agent_log(&a, line, sizeof(line));
    snprintf(expected, sizeof(expected), "iwarp-agent: 127.0.0.1:%u: left without a token",
             own[MANY - 1]);
    assert_string_equal(line, expected);
    for (int i = MANY - PLACES + 1; i < MANY - 1; i++)
        want_line(fds[i], "{\"event\":\"refused\",\"error\":\"no token came in time\"}");
    put_text(fd, "{\"id\":6,\"do\":\"reset\"}\n");
    want_line(fd, "{\"ok\":true,\"id\":6}");
    for (int i = 0; i < MANY - 1; i++)
        close(fds[i]);
    close(fd);
    agent_end(&a, SIGTERM);
}

static void the_environment_can_hold_the_token(void **state)
{
    struct agent a;
    uint16_t own;
    (void)state;
    setenv("IWARP_AGENT_TOKEN", token, 1);
    uint16_t port = agent_start_listening(&a, NULL, NULL);
    int fd = knock(port, &own);
    put_text(fd, "{\"id\":5,\"do\":\"pd\"}\n");
    want_refused(&a, fd, own, "wrong token");
    close(fd);
    agent_end(&a, SIGTERM);

    /* It is nothing to an agent that inherits its client, or that shall ask for none. */
    agent_start(&a);
    json_decref(ask(&a, "{'do':'hello'}"));
    agent_end(&a, 0);
    port = agent_start_listening(&a, "--no-token", NULL);
    unsetenv("IWARP_AGENT_TOKEN");
    fd = knock(port, NULL);
    hello(fd);
    close(fd);
    agent_end(&a, SIGTERM);
}

/* The client of control.h says the token; an agent that needs none does not mind. */
static void clients_say_the_token(void **state)
{
    struct agent a;
    struct iw_control_token t;
    char error[300] = "";
    uint16_t port = start_with_token(&a);
    (void)state;
    assert_int_equal(iw_control_token_set(&t, "something-else-here", 19, error, 300), 0);
    struct iw_control *c = iw_control_connect("127.0.0.1", port, &t, soon(), error, sizeof(error));
    assert_non_null(c);
    assert_null(
        iw_control_call(c, json_pack("{s:s}", "do", "hello"), soon(), error, sizeof(error)));
    assert_string_equal(error, "no reply to \"hello\": wrong token");
    assert_true(iw_control_lost(c));
    iw_control_close(c);
    assert_int_equal(iw_control_token_set(&t, token, sizeof(token) - 1, error, 300), 0);
    a.control = iw_control_connect("127.0.0.1", port, &t, soon(), error, sizeof(error));
    json_decref(ask(&a, "{'do':'hello'}"));
    agent_end(&a, SIGTERM);

    port = agent_start_listening(&a, NULL, NULL);
    a.control = iw_control_connect("127.0.0.1", port, &t, soon(), error, sizeof(error));
    json_decref(ask(&a, "{'do':'hello'}"));
    agent_end(&a, SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_token_comes_first),
        cmocka_unit_test(silence_keeps_nobody_out),
        cmocka_unit_test(the_environment_can_hold_the_token),
        cmocka_unit_test(clients_say_the_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
