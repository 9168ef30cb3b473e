/* SPDX-License-Identifier: BSD-3-Clause */
/* The framing of the control protocol and its client, over a socketpair and over TCP. */
#include "iwarp/control.h"
#include "iwarp/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG = 10 }; /* seconds: only a failing test waits that long */

static uint64_t soon(void)
{
    return iw_transport_now() + LONG * UINT64_C(1000000000);
}

static struct iw_control_channel *open_pair(int *other)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control_channel *ch = iw_control_channel_create(fds[0]);
    assert_non_null(ch);
    *other = fds[1];
    return ch;
}

static void put(int fd, const char *text)
{
    size_t length = strlen(text);
    assert_int_equal(write(fd, text, length), length);
}

static void lines_are_objects(void **state)
{
    char error[160] = "";
    json_t *message = NULL;
    int other;
    struct iw_control_channel *ch = open_pair(&other);
    (void)state;

    assert_int_equal(iw_control_channel_read(ch), 0);
    put(other, "{\"id\":1,\"do\":\"he");
    assert_int_equal(iw_control_channel_read(ch), 1);
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 0);
    put(other, "llo\"}\n{\"id\":2}\n[1]\n{\"a\":1,\"a\":2}\n{\n \xff\n{\"id\":3}\r\n");
    assert_int_equal(iw_control_channel_read(ch), 1);
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 1);
    assert_string_equal(json_string_value(json_object_get(message, "do")), "hello");
    json_decref(message);
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 1);
    assert_int_equal(json_integer_value(json_object_get(message, "id")), 2);
    json_decref(message);
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), -1);
    assert_string_equal(error, "a line is not a JSON object");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), -1);
        assert_memory_equal(error, "a line is not JSON: ", 20);
    }
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 1);
    assert_int_equal(json_integer_value(json_object_get(message, "id")), 3);
    json_decref(message);
    close(other);
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 0);
    assert_int_equal(iw_control_channel_read(ch), -1);
    iw_control_channel_destroy(ch);
}

/* Lines of a client that means no good: each is answered by one line of printable ASCII. */
static void hostile_lines_are_refused(void **state)
{
    static const char not_json[] = "a line is not JSON: ";
    static const struct {
        const char *line;
        size_t length; /* 0: it ends at its zero */
        const char *error;
    } cases[] = {
        {"[[[[[[[[[", 0, "a line nests deeper than 8"},
        {"{\"a\":{\"a\":{\"a\":{\"a\":[[[[[]]]]]}}}}", 0, "a line nests deeper than 8"},
        {"{\"a\":[[[[[[[]]]]]]]", 0, not_json},
        {"{\"a\":99999999999999999999}", 0, not_json},
        {"{\"a\":-9223372036854775809}", 0, not_json},
        {"{\"a\":1e999}", 0, not_json},
        {"{\"a\":0x10}", 0, not_json},
        {"{\"a\":NaN}", 0, not_json},
        {"{\"a\0b\":1}", 9, not_json},
        {"{\"a\":\"\\u0000\"}", 0, not_json},
        {"\0", 1, not_json},
        {"{\"\xff\":1}", 0, not_json},
        {"{\"\xc0\xaf\":1}", 0, not_json},
        {"{\"\xed\xa0\x80\":1}", 0, not_json},
        {"{\"a\":1,\"a\":2}", 0, not_json},
        {"{\"a\":1}{\"a\":2}", 0, not_json},
        {"{\"do\":\"hel", 0, not_json},
        {"{\xc3\xa9\xc3\xa9", 0, not_json},
        {"", 0, not_json},
        {"7", 0, "a line is not a JSON object"},
        {"null", 0, "a line is not a JSON object"},
    };
    char error[160];
    json_t *message = NULL;
    int other;
    struct iw_control_channel *ch = open_pair(&other);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t length = cases[i].length ? cases[i].length : strlen(cases[i].line);
        assert_int_equal(write(other, cases[i].line, length), length);
        put(other, "\n{\"id\":1}\n");
        assert_int_equal(iw_control_channel_read(ch), 1);
        assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), -1);
        if (cases[i].error == not_json) /* and the parser's words */
            assert_memory_equal(error, not_json, sizeof(not_json) - 1);
        else
            assert_string_equal(error, cases[i].error);
        for (const char *at = error; *at; at++)
            assert_in_range(*at, ' ', '~');
        /* The channel goes on. */
        assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 1);
        json_decref(message);
        assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 0);
    }
    /* Brackets in strings do not nest, and eight levels are enough for every verb. */
    put(other, "{\"a\":\"[[[[[[[[[[\\\"[[\",\"b\":[[[[[[[1]]]]]]]}\n");
    assert_int_equal(iw_control_channel_read(ch), 1);
    assert_int_equal(iw_control_channel_next(ch, &message, error, sizeof(error)), 1);
    json_decref(message);
    iw_control_channel_destroy(ch);
    close(other);
}

/* Fills the channel's buffer with `length` octets of a line without end. */
static int feed_long_line(struct iw_control_channel *ch, int other, size_t length, bool newline)
{
    char block[4096], error[160] = "";
    json_t *message;
    int result = 0;
    memset(block, ' ', sizeof(block));
    for (size_t done = 0; done < length && result == 0; done += sizeof(block)) {
        if (newline && done + sizeof(block) >= length)
            block[sizeof(block) - 3] = '{', block[sizeof(block) - 2] = '}',
                                  block[sizeof(block) - 1] = '\n';
        assert_int_equal(write(other, block, sizeof(block)), sizeof(block));
        assert_int_equal(iw_control_channel_read(ch), 1);
        result = iw_control_channel_next(ch, &message, error, sizeof(error));
        if (result == 1)
            json_decref(message);
    }
    if (result == -2)
        assert_string_equal(error, "a line is longer than 262144 octets");
    return result;
}

static void lines_are_bounded(void **state)
{
    int other;
    (void)state;
    struct iw_control_channel *ch = open_pair(&other);
    assert_int_equal(feed_long_line(ch, other, IW_CONTROL_LINE, true), 1);
    assert_int_equal(feed_long_line(ch, other, IW_CONTROL_LINE, false), -2);
    iw_control_channel_destroy(ch);
    close(other);
}

static void writing_is_bounded(void **state)
{
    int other;
    (void)state;
    struct iw_control_channel *ch = open_pair(&other);
    char *text = malloc(IW_CONTROL_LINE);
    assert_non_null(text);
    memset(text, 'x', IW_CONTROL_LINE);
    json_t *fits = json_pack("{s:s#}", "k", text, IW_CONTROL_LINE - 9);
    json_t *long_one = json_pack("{s:s#}", "k", text, IW_CONTROL_LINE - 8);
    assert_int_equal(iw_control_channel_write(ch, long_one), -1);

    /* Nobody reads: the socket's buffer and then the queue fill up, and no more is taken. */
    int written = 0;
    while (iw_control_channel_write(ch, fits) == 0)
        written++;
    assert_in_range(written, IW_CONTROL_QUEUE / IW_CONTROL_LINE, 64);
    assert_int_equal(iw_control_channel_flush(ch), 1);

    struct iw_control_channel *reader = iw_control_channel_create(other);
    for (int got = 0; got < written;) {
        char error[160];
        json_t *message;
        int n = iw_control_channel_next(reader, &message, error, sizeof(error));
        assert_in_range(n, 0, 1);
        if (n == 1) {
            assert_true(json_equal(message, fits));
            json_decref(message);
            got++;
        } else {
            iw_control_channel_flush(ch);
            assert_int_equal(iw_control_channel_read(reader), 1);
        }
    }
    assert_int_equal(iw_control_channel_flush(ch), 0);
    iw_control_channel_destroy(reader);
    assert_int_equal(iw_control_channel_write(ch, fits), -2);
    iw_control_channel_destroy(ch);
    json_decref(fits);
    json_decref(long_one);
    free(text);
}

static struct iw_control *open_client(int *agent)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control *c = iw_control_adopt(fds[0]);
    assert_non_null(c);
    *agent = fds[1];
    return c;
}

/* An agent that says the same for ever. */
struct speaker {
    const char *text;
    int fd;
};

static void *speak(void *context)
{
    const struct speaker *s = context;
    while (send(s->fd, s->text, strlen(s->text), MSG_NOSIGNAL) > 0)
        ;
    return NULL;
}

static void what_an_agent_says_is_bounded(void **state)
{
    char event[1000];
    /* Replies to nothing are no reason to wait on; events that nobody takes are not held for ever,
     * long before there are IW_CONTROL_EVENTS of them. */
    const struct {
        const char *says;
        uint64_t until;
        const char *error;
    } cases[] = {
        {"{\"id\":77,\"ok\":true}\n", 0, "no reply to \"hello\" from the agent in time"},
        {event, soon(), "no reply to \"hello\": too many events were not taken"},
    };
    (void)state;
    snprintf(event, sizeof(event), "{\"event\":\"x\",\"pad\":\"%0900d\"}\n", 0);
    for (size_t i = 0; i < 2; i++) {
        struct speaker speaker = {.text = cases[i].says};
        char error[200] = "";
        pthread_t thread;
        struct iw_control *c = open_client(&speaker.fd);
        assert_int_equal(pthread_create(&thread, NULL, speak, &speaker), 0);
        assert_null(iw_control_call(c, json_pack("{s:s}", "do", "hello"), cases[i].until, error,
                                    sizeof(error)));
        assert_string_equal(error, cases[i].error);
        iw_control_close(c);
        pthread_join(thread, NULL);
        close(speaker.fd);
    }
}

static void calls_find_their_reply(void **state)
{
    int agent;
    char error[200] = "", sent[100];
    (void)state;
    struct iw_control *c = open_client(&agent);

    put(agent, "{\"event\":\"established\",\"conn\":1}\n{\"id\":1,\"ok\":true,\"conn\":1}\n"
               "{\"event\":\"closed\",\"conn\":1}\n");
    json_t *reply =
        iw_control_call(c, json_pack("{s:s}", "do", "connect"), soon(), error, sizeof(error));
    assert_non_null(reply);
    assert_int_equal(json_integer_value(json_object_get(reply, "conn")), 1);
    json_decref(reply);
    const char expected[] = "{\"do\":\"connect\",\"id\":1}\n";
    assert_int_equal(read(agent, sent, sizeof(sent)), sizeof(expected) - 1);
    assert_memory_equal(sent, expected, sizeof(expected) - 1);

    const char *kinds[] = {"established", "closed"};
    for (int i = 0; i < 2; i++) {
        json_t *event = iw_control_event(c, 0);
        assert_non_null(event);
        assert_string_equal(json_string_value(json_object_get(event, "event")), kinds[i]);
        json_decref(event);
    }
    assert_null(iw_control_event(c, 0));
    assert_false(iw_control_lost(c));

    /* Replies that nobody waits for are dropped, also one to a call that cannot have been. */
    put(agent,
        "{\"id\":0,\"ok\":true}\n{\"id\":1,\"ok\":true}\n{\"event\":\"closed\",\"conn\":2}\n");
    json_t *next = iw_control_event(c, soon());
    assert_int_equal(json_integer_value(json_object_get(next, "conn")), 2);
    json_decref(next);

    /* A call that ran out of time does not confuse the next one. */
    assert_null(iw_control_call(c, json_pack("{s:s}", "do", "pd"), 0, error, sizeof(error)));
    assert_string_equal(error, "no reply to \"pd\" from the agent in time");
    put(agent, "{\"id\":2,\"ok\":true}\n{\"id\":3,\"ok\":false,\"error\":\"no\"}\n");
    reply = iw_control_call(c, json_pack("{s:s}", "do", "pd"), soon(), error, sizeof(error));
    assert_non_null(reply);
    assert_string_equal(json_string_value(json_object_get(reply, "error")), "no");
    json_decref(reply);
    iw_control_close(c);
    close(agent);
}

enum { LONG_REQUEST = 250000 };

/* Reads as many octets as a long request has, and only then says anything. */
static void *read_first(void *context)
{
    const struct speaker *s = context;
    char octets[1000];
    for (size_t left = LONG_REQUEST; left > 0;) {
        ssize_t n = read(s->fd, octets, left < sizeof(octets) ? left : sizeof(octets));
        if (n <= 0)
            return NULL;
        left -= (size_t)n;
    }
    put(s->fd, s->text);
    return NULL;
}

/* It does not fit into the socket's buffer: the rest goes out while the reply is waited for. */
static void a_long_request_is_sent_whole(void **state)
{
    struct speaker speaker = {.text = "{\"id\":1,\"ok\":true}\n"};
    char *pad = malloc(LONG_REQUEST + 1), error[200] = "";
    pthread_t thread;
    int fds[2], little = 4096;
    (void)state;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)), 0);
    struct iw_control *c = iw_control_adopt(fds[0]);
    assert_non_null(c);
    assert_non_null(pad);
    speaker.fd = fds[1];
    memset(pad, 'x', LONG_REQUEST);
    pad[LONG_REQUEST] = '\0';
    assert_int_equal(pthread_create(&thread, NULL, read_first, &speaker), 0);
    json_t *reply = iw_control_call(c, json_pack("{s:s}", "do", pad), soon(), error, sizeof(error));
    assert_string_equal(error, "");
    json_decref(reply);
    iw_control_close(c);
    pthread_join(thread, NULL);
    close(speaker.fd);
    free(pad);
}

static void a_lost_agent_is_told(void **state)
{
    int agent;
    char error[200] = "";
    (void)state;
    struct iw_control *c = open_client(&agent);
    put(agent, "{\"event\":\"refused\",\"error\":\"another client is connected\"}\n");
    close(agent);
    assert_null(
        iw_control_call(c, json_pack("{s:s}", "do", "hello"), soon(), error, sizeof(error)));
    assert_string_equal(error, "no reply to \"hello\": another client is connected");
    assert_true(iw_control_lost(c));
    json_t *event = iw_control_event(c, soon());
    assert_non_null(event);
    json_decref(event);
    assert_null(iw_control_event(c, soon()));
    iw_control_close(c);

    c = open_client(&agent);
    put(agent, "nonsense\n");
    assert_null(
        iw_control_call(c, json_pack("{s:s}", "do", "hello"), soon(), error, sizeof(error)));
    assert_memory_equal(error, "no reply to \"hello\": a line is not JSON: ", 41);
    assert_true(iw_control_lost(c));
    iw_control_close(c);
    close(agent);

    c = open_client(&agent);
    char *text = calloc(1, IW_CONTROL_LINE);
    assert_non_null(text);
    memset(text, 'x', IW_CONTROL_LINE - 1);
    assert_null(iw_control_call(c, json_pack("{s:s,s:s}", "do", "fill", "hex", text), soon(), error,
                                sizeof(error)));
    assert_string_equal(error, "cannot send \"fill\" to the agent: the request is too long");
    assert_false(iw_control_lost(c));
    free(text);
    iw_control_close(c);
    close(agent);
}

static void connecting(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    char error[300] = "";
    (void)state;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    uint16_t port = ntohs(at.sin_port);

    struct iw_control *c =
        iw_control_connect("127.0.0.1", port, NULL, soon(), error, sizeof(error));
    assert_non_null(c);
    int agent = accept(listener, NULL, NULL);
    put(agent, "{\"event\":\"peer-closed\",\"conn\":7}\n");
    json_t *event = iw_control_event(c, soon());
    assert_non_null(event);
    assert_int_equal(json_integer_value(json_object_get(event, "conn")), 7);
    json_decref(event);
    iw_control_close(c);
    close(agent);
    close(listener);

    /* A bound socket that does not listen holds the port and refuses. */
    int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_port = 0;
    assert_int_equal(bind(bound, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(bound, (struct sockaddr *)&at, &length), 0);
    assert_null(
        iw_control_connect("127.0.0.1", ntohs(at.sin_port), NULL, soon(), error, sizeof(error)));
    assert_memory_equal(error, "cannot reach the agent at 127.0.0.1 port ", 41);
    assert_non_null(strstr(error, ": Connection refused"));
    close(bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_objects),
        cmocka_unit_test(lines_are_bounded),
        cmocka_unit_test(writing_is_bounded),
        cmocka_unit_test(what_an_agent_says_is_bounded),
        cmocka_unit_test(hostile_lines_are_refused),
        cmocka_unit_test(calls_find_their_reply),
        cmocka_unit_test(a_long_request_is_sent_whole),
        cmocka_unit_test(a_lost_agent_is_told),
        cmocka_unit_test(connecting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
