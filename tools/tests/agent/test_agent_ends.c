/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-agent: how connections and clients end, well and badly. */
#include "agent_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
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

static void done(json_t *reply)
{
    json_decref(reply);
}

static long long listen_with(struct agent *a, const char *fields)
{
    return ask_for(a, "port", "{'do':'listen'%s}", fields);
}

static long long connect_with(struct agent *a, long long port, const char *fields)
{
    return ask_for(a, "conn", "{'do':'connect','host':'127.0.0.1','port':%lld%s}", port, fields);
}

/* Takes events until one of `kind` about `conn` comes; it must contain what `expected` contains. */
static void want_among(struct agent *a, long long conn, const char *kind, const char *field,
                       const char *value)
{
    for (;;) {
        json_t *event = iw_control_event(a->control, soon());
        if (event == NULL)
            fail_msg("no event %s", kind);
        bool right = json_integer_value(json_object_get(event, "conn")) == conn &&
                     strcmp(json_string_value(json_object_get(event, "event")), kind) == 0;
        if (right && field != NULL) {
            char *text = json_dumps(json_object_get(event, field), JSON_ENCODE_ANY | JSON_COMPACT);
            assert_string_equal(text, value);
            free(text);
        }
        json_decref(event);
        if (right)
            return;
    }
}

static void a_request_can_be_rejected(void **state)
{
    struct agent *a = *state;
    long long port = listen_with(a, ",'accept':'ask'");
    long long client = connect_with(a, port, ",'private':'01'");
    long long server = want_event(a, "{'event':'request','private':'01'}");
    refuse(a, "no Request waits for an answer", "{'do':'accept','conn':%lld}", client);
    done(ask(a, "{'do':'reject','conn':%lld,'private':'dead'}", server));
    want_among(a, client, "rejected", "private", "\"dead\"");
    want_among(a, client, "closed", "graceful", "true");
}

static void requests_can_be_accepted_at_once(void **state)
{
    struct agent *a = *state;
    long long port = listen_with(a, ",'private':'4711'");
    long long client = connect_with(a, port, "");
    long long server = want_event(a, "{'event':'established','listen':1,'private':''}");
    want_event(a,
               "{'event':'established','conn':%lld,'private':'4711','agreed':{'revision':2,"
               "'crc':true,'tx_markers':false,'rx_markers':false,'enhanced':true,"
               "'peer_to_peer':false,'ird':16,'ord':16,'peer_ird':16,'peer_ord':16}}",
               client);
    done(ask(a, "{'do':'close','conn':%lld,'how':'reset'}", server));
    want_among(a, client, "closed", "error", "\"Connection reset by peer\"");
    done(ask(a, "{'do':'unlisten','listen':1}"));
    client = connect_with(a, port, "");
    want_event(a,
               "{'event':'closed','conn':%lld,'graceful':false,'cause':'lost','check':'mpa-lost',"
               "'rule':'MPA-8-01','error':'Connection refused'}",
               client);
}

static void private_data_that_does_not_fit_ends(void **state)
{
    struct agent *a = *state;
    char zeros[2 * 510 + 1] = "", fields[1100];
    memset(zeros, '0', sizeof(zeros) - 1);
    snprintf(fields, sizeof(fields), ",'private':'%s'", zeros);
    long long port = listen_with(a, fields);
    long long client = connect_with(a, port, "");
    want_among(a, client, "closed", "graceful", "false");
    client = connect_with(a, port, ",'config':{'enhanced':false}");
    want_among(a, client, "established", NULL, NULL);
    refuse(a,
           "cannot make an endpoint: its configuration contradicts itself or its private data is "
           "too long",
           "{'do':'connect','host':'127.0.0.1','port':%lld%s}", port, fields);
}

static void faults_and_terminates_are_told(void **state)
{
    struct agent *a = *state;
    long long port = listen_with(a, "");
    long long client = connect_with(a, port, ",'config':{'violate':['ddp-msn']}");
    long long server = want_event(a, "{'event':'established'}");
    want_event(a, "{'event':'established','conn':%lld}", client);
    long long mem = ask_for(a, "mem", "{'do':'register','length':8}");
    done(ask(a, "{'do':'recv','conn':%lld,'work':1,'mem':%lld,'length':8}", server, mem));
    done(ask(a, "{'do':'post','conn':%lld,'work':2,'op':'send','mem':%lld,'length':8}", client,
             mem));
    want_among(a, server, "fault", "terminate",
               "{\"layer\":1,\"type\":2,\"code\":3,\"flags\":192,"
               "\"meaning\":\"invalid MSN: range not valid\"}");
    want_among(a, client, "terminated", "meaning", "\"invalid MSN: range not valid\"");
    want_among(a, client, "closed", "cause", "\"terminated\"");
    want_among(a, server, "closed", "cause", "\"fault\"");
    refuse(a, "field conn: no connection 99", "{'do':'recv','conn':99,'work':1}");
}

static void the_consumer_can_terminate(void **state)
{
    struct agent *a = *state;
    long long port = listen_with(a, "");
    long long client = connect_with(a, port, "");
    long long server = want_event(a, "{'event':'established'}");
    want_event(a, "{'event':'established','conn':%lld}", client);
    refuse(a, "field how: expected graceful, reset or terminate",
           "{'do':'close','conn':%lld,'how':'kill'}", server);
    done(ask(a, "{'do':'close','conn':%lld,'how':'terminate','code':7}", client));
    want_among(a, server, "terminated", "code", "7");
}

static void a_fault_botched_into_silence_still_ends(void **state)
{
    struct agent *a = *state;
    long long port = listen_with(a, ",'config':{'botch':['ddp-no-buffer=silent']}");
    long long client = connect_with(a, port, "");
    long long server = want_event(a, "{'event':'established'}");
    want_event(a, "{'event':'established','conn':%lld}", client);
    done(ask(a, "{'do':'post','conn':%lld,'work':1,'op':'send'}", client));
    want_among(a, server, "fault", "check", "\"ddp-no-buffer\"");
    done(ask(a, "{'do':'close','conn':%lld}", client));
    want_among(a, server, "closed", "graceful", "false");
}

static void half_close_lets_work_go_on(void **state)
{
    struct agent *a = *state;
    long long port = listen_with(a, ",'half_close':true,'config':{'peer_to_peer':false}");
    long long client = connect_with(a, port, "");
    long long server = want_event(a, "{'event':'established'}");
    want_event(a, "{'event':'established','conn':%lld}", client);
    long long mem = ask_for(a, "mem", "{'do':'register','length':8,'pattern':'count'}");
    done(ask(a, "{'do':'recv','conn':%lld,'work':1,'mem':%lld,'length':4}", server, mem));
    done(
        ask(a, "{'do':'recv','conn':%lld,'work':2,'mem':%lld,'offset':4,'length':4}", client, mem));
    done(ask(a, "{'do':'post','conn':%lld,'work':3,'op':'send','mem':%lld,'length':2}", client,
             mem));
    done(ask(a, "{'do':'close','conn':%lld}", client));
    want_among(a, server, "peer-closed", NULL, NULL);
    done(ask(a, "{'do':'post','conn':%lld,'work':4,'op':'send','mem':%lld,'length':3}", server,
             mem));
    want_among(a, client, "completion", "length", "3");
    want_memory(a, mem, 0, 8, "0001020300010207");
    done(ask(a, "{'do':'close','conn':%lld}", server));
    want_among(a, server, "closed", "graceful", "true");
}

static void released_memory_stays_until_it_is_idle(void **state)
{
    struct agent *a = *state;
    long long port = listen_with(a, "");
    long long client = connect_with(a, port, "");
    long long server = want_event(a, "{'event':'established'}");
    want_event(a, "{'event':'established','conn':%lld}", client);
    long long mem = ask_for(a, "mem", "{'do':'register','length':8}");
    long long data = ask_for(a, "mem", "{'do':'register','length':8,'fill':1}");
    done(ask(a, "{'do':'recv','conn':%lld,'work':1,'mem':%lld,'length':8}", server, mem));
    done(ask(a, "{'do':'release','mem':%lld}", mem));
    done(ask(a, "{'do':'post','conn':%lld,'work':2,'op':'send','mem':%lld,'length':8}", client,
             data));
    want_among(a, server, "completion", "status", "\"ok\"");
}

static void bad_lines_are_answered(void **state)
{
    struct agent a;
    char line[300] = "";
    static char space[4096];
    uint16_t port = agent_start_listening(&a, NULL, NULL);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    FILE *in = fdopen(dup(fd), "r");
    assert_int_equal(write(fd, "[]\n{\"do\":\"hello\"}\n", 18), 18);
    assert_non_null(fgets(line, sizeof(line), in));
    assert_string_equal(line, "{\"ok\":false,\"error\":\"a line is not a JSON object\"}\n");
    assert_non_null(fgets(line, sizeof(line), in));
    assert_string_equal(line, "{\"error\":\"field id: expected a number\",\"ok\":false}\n");
    memset(space, ' ', sizeof(space));
    for (int i = 0; i < IW_CONTROL_LINE / (int)sizeof(space); i++)
        assert_int_equal(write(fd, space, sizeof(space)), sizeof(space));
    assert_non_null(fgets(line, sizeof(line), in));
    assert_string_equal(line, "{\"ok\":false,\"error\":\"a line is longer than 262144 octets\"}\n");
    assert_null(fgets(line, sizeof(line), in));
    fclose(in);
    close(fd);
    agent_end(&a, SIGINT);
}

static void clients_come_one_at_a_time(void **state)
{
    struct agent a;
    char error[300] = "";
    uint16_t port = agent_start_listening(&a, NULL, NULL);
    (void)state;
    a.control = iw_control_connect("127.0.0.1", port, NULL, soon(), error, sizeof(error));
    assert_non_null(a.control);
    done(ask(&a, "{'do':'hello'}"));
    long long mem = ask_for(&a, "mem", "{'do':'register','length':8}");
    long long listening = listen_with(&a, "");

    struct iw_control *second =
        iw_control_connect("127.0.0.1", port, NULL, soon(), error, sizeof(error));
    assert_non_null(second);
    assert_null(
        iw_control_call(second, json_pack("{s:s}", "do", "hello"), soon(), error, sizeof(error)));
    assert_string_equal(error, "no reply to \"hello\": busy: another client is being served");
    iw_control_close(second);

    /* The next client finds everything at the start again. The agent may not have seen yet that
     * the first has gone: it says so, and the client tries again. */
    iw_control_close(a.control);
    json_t *hello = NULL;
    while (hello == NULL) {
        a.control = iw_control_connect("127.0.0.1", port, NULL, soon(), error, sizeof(error));
        assert_non_null(a.control);
        hello = iw_control_call(a.control, json_pack("{s:s}", "do", "hello"), soon(), error,
                                sizeof(error));
        if (hello == NULL)
            iw_control_close(a.control);
    }
    json_decref(hello);
    refuse(&a, "field mem: no memory 1", "{'do':'read','mem':%lld,'length':1}", mem);
    long long client = connect_with(&a, listening, "");
    want_among(&a, client, "closed", "error", "\"Connection refused\"");
    agent_end(&a, SIGTERM);
}

static void numbers_are_bounded(void **state)
{
    struct agent *a = *state;
    for (int i = 0; i < 64; i++)
        listen_with(a, "");
    refuse(a, "at most 64 listeners", "{'do':'listen'}");
    for (int i = 0; i < 1024; i++)
        ask_for(a, "mem", "{'do':'register','length':1}");
    refuse(a, "no memory: at most 1024 regions with 268435456 octets in all",
           "{'do':'register','length':1}");
    done(ask(a, "{'do':'reset'}"));
    listen_with(a, "");
    ask_for(a, "mem", "{'do':'register','length':1}");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_can_be_rejected),
        TEST(requests_can_be_accepted_at_once),
        TEST(private_data_that_does_not_fit_ends),
        TEST(faults_and_terminates_are_told),
        TEST(the_consumer_can_terminate),
        TEST(a_fault_botched_into_silence_still_ends),
        TEST(half_close_lets_work_go_on),
        TEST(released_memory_stays_until_it_is_idle),
        TEST(numbers_are_bounded),
        cmocka_unit_test(bad_lines_are_answered),
        cmocka_unit_test(clients_come_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
