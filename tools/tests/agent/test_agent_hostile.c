/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent and requests that mean no good: every bound of PROTOCOL.md, and the agent serves on.
 */
#include "agent_client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int set_up(void **state)
{
    struct agent *a = calloc(1, sizeof(*a));
    assert_non_null(a);
    agent_start(a);
    *state = a;
    return 0;
}

static int tear_down(void **state)
{
    struct agent *a = *state;
    agent_end(a, 0);
    free(a);
    return 0;
}

static void put(struct agent *a, const char *text, size_t length)
{
    int fd = iw_control_fd(a->control);
    while (length > 0) {
        ssize_t n = send(fd, text, length, MSG_NOSIGNAL);
        if (n < 0) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            assert_true(poll(&p, 1, 60000) > 0);
            continue;
        }
        text += n;
        length -= (size_t)n;
    }
}

/* The next line that the agent says, without its newline. */
static void get(struct agent *a, char *line, size_t room)
{
    struct pollfd p = {.fd = iw_control_fd(a->control), .events = POLLIN};
    size_t n = 0;
    for (;;) {
        assert_true(n < room);
        assert_true(poll(&p, 1, 60000) > 0);
        assert_int_equal(recv(p.fd, line + n, 1, 0), 1);
        if (line[n] == '\n')
            break;
        n++;
    }
    line[n] = '\0';
}

static void requests_are_answered_in_plain_words(void **state)
{
    static const struct {
        const char *said, *answer;
    } cases[] = {
        /* Texts are cut anywhere: what is left need not be UTF-8 and must still be answered. */
        {"{\"id\":1,\"do\":\"hello\",\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9\":1}",
         "{\"error\":\"field aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?: not known "
         "here\",\"ok\":false,"
         "\"id\":1}"},
        {"{\"id\":2,\"do\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9\"}",
         "{\"error\":\"verb aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?: not known\",\"ok\":false,"
         "\"id\":2}"},
        {"{\"id\":3,\"do\":\"listen\",\"config\":{\"ignore\":[\"\xe2\x82\xac\\n\"]}}",
         "{\"error\":\"field ignore: ????: unknown check or rule\",\"ok\":false,\"id\":3}"},
        {"{\"id\":\"4\",\"do\":\"hello\"}",
         "{\"error\":\"field id: expected a number\",\"ok\":false}"},
        {"{\"id\":4.5,\"do\":\"hello\"}",
         "{\"error\":\"field id: expected a number\",\"ok\":false}"},
        {"{\"id\":[[[[[[[5]]]]]]],\"do\":\"hello\"}",
         "{\"error\":\"field id: expected a number\",\"ok\":false}"},
        {"{\"id\":-6,\"do\":\"\"}", "{\"error\":\"verb : not known\",\"ok\":false,\"id\":-6}"},
        {"{\"id\":7,\"do\":\"read\",\"mem\":-1,\"length\":1}",
         "{\"error\":\"field mem: expected a number, 0..18446744073709551615\",\"ok\":false,"
         "\"id\":7}"},
        {"{\"id\":8,\"do\":\"read\",\"mem\":\"0x00000000000000001\",\"length\":1}",
         "{\"error\":\"field mem: expected a number, 0..18446744073709551615\",\"ok\":false,"
         "\"id\":8}"},
        {"{\"id\":9,\"do\":\"read\",\"mem\":\"0xffffffffffffffff\",\"length\":1}",
         "{\"error\":\"field mem: no memory 18446744073709551615\",\"ok\":false,\"id\":9}"},
        {"{\"id\":10,\"do\":\"read\",\"mem\":1e3,\"length\":1}",
         "{\"error\":\"field mem: expected a number, 0..18446744073709551615\",\"ok\":false,"
         "\"id\":10}"},
        {"{\"id\":11,\"do\":\"read\",\"mem\":null,\"length\":1}",
         "{\"error\":\"field mem: expected a number, 0..18446744073709551615\",\"ok\":false,"
         "\"id\":11}"},
        {"{\"id\":12,\"do\":\"close\",\"conn\":\"0xffffffffffffffff\"}",
         "{\"error\":\"field conn: no connection 18446744073709551615\",\"ok\":false,\"id\":12}"},
    };
    struct agent *a = *state;
    char line[600];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put(a, cases[i].said, strlen(cases[i].said));
        put(a, "\n", 1);
        get(a, line, sizeof(line));
        assert_string_equal(line, cases[i].answer);
    }
}

/* A request with one long list or string: `count` times `piece`, joined with commas in a list. */
static void say_much(struct agent *a, const char *before, const char *piece, size_t count,
                     const char *after)
{
    size_t room = strlen(before) + count * (strlen(piece) + 1) + strlen(after) + 2;
    char *text = malloc(room), *end;
    assert_non_null(text);
    end = text + sprintf(text, "%s", before);
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s%s", i > 0 && *after == ']' ? "," : "", piece);
    end += sprintf(end, "%s\n", after);
    put(a, text, (size_t)(end - text));
    free(text);
}

static void want(struct agent *a, const char *expected)
{
    char line[600];
    get(a, line, sizeof(line));
    assert_string_equal(line, expected);
}

static void lists_and_octets_are_bounded(void **state)
{
    struct agent *a = *state;
    long long mem = ask_for(a, "mem", "{'do':'register','length':100001,'guard':0}");
    long long port = ask_for(a, "port", "{'do':'listen','accept':'ask'}");
    long long client = ask_for(a, "conn", "{'do':'connect','host':'127.0.0.1','port':%lld}", port);
    want_event(a, "{'event':'request'}");
    char before[200];
    snprintf(before, sizeof(before), "{\"id\":1,\"do\":\"recv\",\"work\":1,\"conn\":%lld,\"sge\":[",
             client);
    say_much(a, before, "[1,0,1]", 17, "]}");
    want(a, "{\"error\":\"field sge: expected an array of at most 16\",\"ok\":false,\"id\":1}");
    say_much(a, before, "[1,0,1]", 16, "]}");
    want(a, "{\"ok\":true,\"id\":1}");
    snprintf(before, sizeof(before),
             "{\"id\":1,\"do\":\"recv\",\"work\":1,\"mem\":1,\"length\":1,\"conn\":%lld,\"sge\":[",
             client);
    say_much(a, before, "[1,0,1]", 16, "]}");
    want(a, "{\"error\":\"field sge: more than 16 pieces\",\"ok\":false,\"id\":1}");
    say_much(a, "{\"id\":2,\"do\":\"listen\",\"config\":{\"ignore\":[", "\"mpa-crc\"", 1025, "]}}");
    want(a,
         "{\"error\":\"field ignore: expected an array of at most 1024\",\"ok\":false,\"id\":2}");
    say_much(a, "{\"id\":3,\"do\":\"listen\",\"config\":{\"rtr\":[", "\"send\"", 4, "]}}");
    want(a, "{\"error\":\"field rtr: expected an array of at most 3\",\"ok\":false,\"id\":3}");
    say_much(a, "{\"id\":4,\"do\":\"register\",\"length\":1,\"access\":[", "\"bind\"", 7, "]}");
    want(a, "{\"error\":\"field access: expected an array of at most 6\",\"ok\":false,\"id\":4}");
    say_much(a, "{\"id\":5,\"do\":\"listen\",\"private\":\"", "00", 513, "\"}");
    want(a, "{\"error\":\"field private: expected hex digits of at most 512 octets\",\"ok\":false,"
            "\"id\":5}");
    say_much(a, "{\"id\":6,\"do\":\"stream_send\",\"conn\":1,\"hex\":\"", "00", 65537, "\"}");
    want(a, "{\"error\":\"field hex: expected hex digits of at most 65536 octets\",\"ok\":false,"
            "\"id\":6}");
    say_much(a, "{\"id\":7,\"do\":\"listen\",\"host\":\"", "1", 256, "\"}");
    want(a, "{\"error\":\"field host: longer than 255 octets\",\"ok\":false,\"id\":7}");
    refuse(a, "field length: expected a number, 0..100000",
           "{'do':'read','mem':%lld,'length':100001}", mem);
    refuse(a, "field guard: expected a number, 0..65536",
           "{'do':'register','length':1,'guard':65537}");
    refuse(a, "field offset: expected 0..100001 with the length",
           "{'do':'post','conn':%lld,'work':1,'op':'read','mem':%lld,'offset':100001,'length':1}",
           client, mem);
}

static void things_are_counted(void **state)
{
    struct agent *a = *state;
    for (int i = 2; i <= 256; i++)
        assert_int_equal(ask_for(a, "pd", "{'do':'pd'}"), i);
    refuse(a, "at most 256 protection domains", "{'do':'pd'}");
    ask_for(a, "mem", "{'do':'register','length':1,'pd':256}");
    refuse(a, "field pd: no protection domain 257", "{'do':'register','length':1,'pd':257}");
    refuse(a, "field pd: no protection domain 257", "{'do':'listen','pd':257}");
    long long mem = ask_for(a, "mem", "{'do':'register','length':4,'access':['bind']}");
    for (int i = 1; i <= 1024; i++)
        assert_int_equal(ask_for(a, "window", "{'do':'bind','mem':%lld,'length':4}", mem), i);
    refuse(a, "at most 1024 windows", "{'do':'bind','mem':%lld,'length':4}", mem);
    /* Everything begins anew. */
    json_decref(ask(a, "{'do':'reset'}"));
    refuse(a, "field window: no window 1", "{'do':'unbind','window':1}");
    refuse(a, "field pd: no protection domain 2", "{'do':'listen','pd':2}");
    assert_int_equal(ask_for(a, "pd", "{'do':'pd'}"), 2);
    assert_int_equal(ask_for(a, "mem", "{'do':'register','length':1}"), 1);
    assert_int_equal(ask_for(a, "listen", "{'do':'listen'}"), 1);
    /* Of the memory that had windows no STag was kept: there is room for as many as before. */
    for (int i = 2; i <= 1024; i++)
        assert_int_equal(ask_for(a, "mem", "{'do':'register','length':4,'access':['bind']}"), i);
    for (int i = 1; i <= 1024; i++)
        assert_int_equal(ask_for(a, "window", "{'do':'bind','mem':2,'length':4}"), i);
}

static void windows_obey_their_memory(void **state)
{
    static const char no[] = "the memory's STag is dead, or its rights do not permit such a window";
    struct agent *a = *state;
    long long plain = ask_for(a, "mem", "{'do':'register','length':8,'access':['local-write']}");
    refuse(a, no, "{'do':'bind','mem':%lld,'length':8}", plain);
    long long source = ask_for(a, "mem", "{'do':'register','length':8,'access':['bind']}");
    refuse(a, no, "{'do':'bind','mem':%lld,'length':8,'access':['remote-write']}", source);
    refuse(a, no, "{'do':'bind','mem':%lld,'length':8,'access':['remote-atomic']}", source);
    refuse(a, no, "{'do':'bind','mem':%lld,'length':8,'access':['local-write']}", source);
    refuse(a, no, "{'do':'bind','mem':%lld,'length':8,'access':['bind']}", source);
    refuse(a, "field offset: expected 0..8 with the length",
           "{'do':'bind','mem':%lld,'offset':1,'length':8}", source);
    refuse(a, "field length: missing", "{'do':'bind','mem':%lld}", source);
    refuse(a, "field window: no window 1", "{'do':'bind','mem':%lld,'length':8,'window':1}",
           source);
    refuse(a, "field conn: no connection 9", "{'do':'bind','mem':%lld,'length':8,'conn':9}",
           source);
    refuse(a, "field mem: expected either it or window", "{'do':'invalidate'}");
    refuse(a, "field mem: expected either it or window",
           "{'do':'invalidate','mem':%lld,'window':1}", source);

    long long window =
        ask_for(a, "window", "{'do':'bind','mem':%lld,'offset':8,'length':0}", source);
    refuse(a, "field mem: windows are bound to it", "{'do':'release','mem':%lld}", source);
    long long other = ask_for(a, "mem", "{'do':'register','length':4,'access':['bind']}");
    json_decref(ask(a, "{'do':'bind','mem':%lld,'length':4,'window':%lld}", other, window));
    json_decref(ask(a, "{'do':'release','mem':%lld}", source));
    refuse(a, "field mem: windows are bound to it", "{'do':'release','mem':%lld}", other);
    json_decref(ask(a, "{'do':'invalidate','mem':%lld}", other));
    json_decref(ask(a, "{'do':'invalidate','window':%lld}", window));
    refuse(a, "the STag is not valid any more", "{'do':'invalidate','window':%lld}", window);
    refuse(a, no, "{'do':'bind','mem':%lld,'length':4}", other);
    json_decref(ask(a, "{'do':'unbind','window':%lld}", window));
    json_decref(ask(a, "{'do':'release','mem':%lld}", other));
}

/* Work waits in queues of its connection until that is established. */
static void queues_have_their_depth(void **state)
{
    struct agent *a = *state;
    long long port = ask_for(a, "port", "{'do':'listen','accept':'ask'}");
    long long conn = ask_for(a, "conn",
                             "{'do':'connect','host':'127.0.0.1','port':%lld,"
                             "'config':{'send_depth':3,'recv_depth':2}}",
                             port);
    for (int i = 1; i <= 3; i++)
        json_decref(ask(a, "{'do':'post','conn':%lld,'work':%d,'op':'send'}", conn, i));
    refuse(a, "the queue is full", "{'do':'post','conn':%lld,'work':4,'op':'send'}", conn);
    for (int i = 1; i <= 2; i++)
        json_decref(ask(a, "{'do':'recv','conn':%lld,'work':%d}", conn, i));
    refuse(a, "the queue is full", "{'do':'recv','conn':%lld,'work':3}", conn);
}

static void streamed_octets_are_bounded(void **state)
{
    struct agent *a = *state;
    long long port = ask_for(a, "port", "{'do':'listen','stream':true}");
    long long client =
        ask_for(a, "conn", "{'do':'connect','host':'127.0.0.1','port':%lld,'stream':true}", port);
    long long server = want_event(a, "{'event':'stream','length':0,'listen':1}");
    char before[100];
    refuse(a, "field conn: no connection 99", "{'do':'start','conn':99}");
    snprintf(before, sizeof(before), "{\"id\":1,\"do\":\"stream_send\",\"conn\":%lld,\"hex\":\"",
             client);
    say_much(a, before, "5a", 65536, "\"}");
    want(a, "{\"ok\":true,\"id\":1}");
    json_int_t length = 0;
    while (length < 65536) {
        json_t *event = iw_control_event(a->control, soon());
        assert_non_null(event);
        assert_string_equal(json_string_value(json_object_get(event, "event")), "stream");
        length = json_integer_value(json_object_get(event, "length"));
        json_decref(event);
    }
    assert_int_equal(length, 65536);
    json_decref(ask(a, "{'do':'stream_send','conn':%lld,'hex':'00'}", client));
    want_event(a, "{'event':'closed','conn':%lld,'cause':'aborted'}", server);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_are_answered_in_plain_words),
        TEST(lists_and_octets_are_bounded),
        TEST(things_are_counted),
        TEST(windows_obey_their_memory),
        TEST(queues_have_their_depth),
        TEST(streamed_octets_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
