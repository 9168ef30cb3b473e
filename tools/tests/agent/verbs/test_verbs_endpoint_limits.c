/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend of iwarp-agent on libiwarp's own endpoint: what it offers, what it keeps apart, and
 * what becomes of too much, or of too little memory. */
#include "endpoint_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- doubles ---- */

static unsigned malloc_fails, calloc_fails; /* counted from the next call; 0: none */
static bool no_domain;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return malloc_fails > 0 && --malloc_fails == 0 ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return calloc_fails > 0 && --calloc_fails == 0 ? NULL : __real_calloc(count, size);
}

struct iw_domain *__real_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits);
struct iw_domain *__wrap_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits);
struct iw_domain *__wrap_iw_domain_create(const struct iw_env *env,
                                          const struct iw_domain_limits *limits)
{
    return no_domain ? NULL : __real_iw_domain_create(env, limits);
}

/* Nobody has a name. */
int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
int __real_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out);
int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out)
{
    return strcmp(name, "nowhere") == 0 ? EAI_NONAME
                                        : __real_getaddrinfo(name, service, hints, out);
}

/* ---- what it offers ---- */

#define REST                                                                                       \
    "\"crc\":true,\"markers\":true,\"rtr\":[\"send\",\"write\",\"read\"],\"max_private\":512,"     \
    "\"switches\":true,\"windows\":true,\"streaming\":true,\"reports\":[\"fault\",\"terminated\"]" \
    ","                                                                                            \
    "\"access\":[\"local-write\",\"remote-read\",\"remote-write\",\"remote-invalidate\","          \
    "\"remote-atomic\",\"bind\"],\"ops\":[\"send\",\"send-se\",\"send-invalidate\","               \
    "\"send-se-invalidate\",\"write\",\"read\",\"immediate\",\"immediate-se\",\"fetch-add\","      \
    "\"cmp-swap\"],\"config\":[\"revision\",\"permissive\",\"crc\",\"markers\",\"enhanced\","      \
    "\"peer_to_peer\",\"rtr\",\"extensions\",\"ird\",\"ord\",\"mulpdu\",\"send_depth\","           \
    "\"recv_depth\",\"ignore\",\"startup_timeout_ms\",\"violate\",\"overstrict\",\"botch\"]"

static void features_are(struct agent_core *core, const char *expected)
{
    json_t *got = agent_endpoint_backend.features(core), *wanted = json_loads(expected, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(got, wanted))
        fail_msg("%s", json_dumps(got, 0));
    json_decref(got);
    json_decref(wanted);
}

static void features(void **state)
{
    struct iw_endpoint_config config;
    (void)state;
    features_are(client->own, "{" REST ",\"revisions\":[0,1,2],\"extensions\":true}");
    iw_endpoint_config_default(&config);
    config.mpa.revision = 0;
    config.extensions = false;
    struct agent_core *other = agent_endpoint_backend.create(reactor, &config, emit, &events);
    assert_non_null(other);
    features_are(other, "{" REST ",\"revisions\":[0],\"extensions\":false}");
    agent_endpoint_backend.destroy(other);
}

/* ---- what it keeps apart ---- */

/* The request `mem` names the memory of a register request with these fields. */
static int register_with(const char *more)
{
    char error[AGENT_ERROR], text[400];
    snprintf(text, sizeof(text), "{\"do\":\"register\",\"length\":8%s}", more);
    json_t *reply = carry_out(json_loads(text, 0, NULL), error);
    if (reply == NULL)
        fail_msg("%s: %s", text, error);
    snprintf(mem, sizeof(mem), ",'remote_stag':%lld,'remote_to':'%s'",
             (long long)json_integer_value(json_object_get(reply, "stag")),
             json_string_value(json_object_get(reply, "to")));
    int number = (int)json_integer_value(json_object_get(reply, "mem"));
    json_decref(reply);
    return number;
}

static void write_to(int out)
{
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'write','mem':%d,'length':4%s}", a, out, mem);
}

static void establish(const char *more)
{
    connect_with("", more);
    want(b, "{'event':'request','listen':%d,'private':''}", a - 1);
    ask(NULL, "{'do':'accept','conn':%d}", b);
    want(b, "{'event':'established','private':'','listen':%d," STANDARD "}", a - 1);
    want(a, "{'event':'established','private':''," STANDARD "}");
}

/* After a Send of a's, which b has received, everything before it is placed. */
static void catch_up(void)
{
    ask(NULL, "{'do':'recv','conn':%d,'work':9}", b);
    ask(NULL, "{'do':'post','conn':%d,'work':9,'op':'send'}", a);
    want(b, "{'event':'completion','work':9,'op':'recv','status':'ok','length':0,"
            "'solicited':false}");
}

#define STOPPED(check, rule, type, code, meaning)                                                  \
    "{'event':'fault','check':'" check "','rule':'" rule                                           \
    "','pos':%d,'terminate':{'layer':1,'type':" type ",'code':" code                               \
    ",'flags':192,'meaning':'" meaning "'}}"

static void domains(void **state)
{
    (void)state;
    assert_int_equal(ask("pd", "{'do':'pd'}"), 2);
    int out = ask("mem", "{'do':'register','length':8,'pattern':'count'}");
    establish(",'pd':2");
    int target = register_with(",\"access\":[\"remote-write\"],\"pd\":2");
    write_to(out);
    catch_up();
    holds(target, "0001020300000000");
    (void)register_with(",\"access\":[\"remote-write\"]");
    write_to(out);
    want(b, STOPPED("ddp-stag-pd", "DDP-8.2-01", "1", "2", "STag not associated with DDP stream"),
         76);
}

static void streams(void **state)
{
    char own[100];
    (void)state;
    int out = ask("mem", "{'do':'register','length':8,'pattern':'count'}");
    establish("");
    snprintf(own, sizeof(own), ",\"access\":[\"remote-write\"],\"conn\":%d", b);
    int target = register_with(own);
    write_to(out);
    catch_up();
    holds(target, "0001020300000000");
    snprintf(own, sizeof(own), ",\"access\":[\"remote-write\"],\"conn\":%d", a);
    (void)register_with(own);
    write_to(out);
    want(b,
         STOPPED("ddp-stag-stream", "DDP-8.2-02", "1", "2", "STag not associated with DDP stream"),
         76);
}

/* A guard takes what a bent end writes beyond its memory. */
static void guards(void **state)
{
    char error[AGENT_ERROR];
    (void)state;
    int out = ask("mem", "{'do':'register','length':16,'pattern':'count'}");
    establish(",'config':{'ignore':['ddp-to-bounds']}");
    int target = register_with(",\"access\":[\"remote-write\"],\"guard\":6");
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'write','mem':%d,'length':12%s}", a, out, mem);
    catch_up();
    json_t *reply = carry_out(
        json_pack("{s:s,s:i,s:i,s:i}", "do", "read", "mem", target, "offset", -6, "length", 20),
        error);
    assert_string_equal(json_string_value(json_object_get(reply, "hex")),
                        "a5a5a5a5a5a5000102030405060708090a0ba5a5");
    json_decref(reply);
}

/* ---- how work ends ---- */

static void work_that_faults(void **state)
{
    (void)state;
    establish("");
    int m = ask("mem", "{'do':'register','length':8,'access':['local-write']}");
    ask(NULL, "{'do':'recv','conn':%d,'work':4,'mem':%d,'length':2}", b, m);
    ask(NULL, "{'do':'post','conn':%d,'work':5,'op':'send','mem':%d,'length':3}", a, m);
    want(b, "{'event':'completion','work':4,'op':'recv','status':'local-fault','length':0,"
            "'solicited':false,'check':'ddp-too-long'}");
    want(a, "{'event':'completion','work':5,'op':'send','status':'ok','length':3,"
            "'solicited':false}");
    want(a, "{'event':'terminated','layer':1,'type':2,'code':5,'flags':192,'meaning':"
            "'message too long for available buffer'}");
}

static void work_that_the_peer_refuses(void **state)
{
    (void)state;
    establish("");
    int m = ask("mem", "{'do':'register','length':8,'access':['local-write']}");
    ask(NULL, "{'do':'post','conn':%d,'work':6,'op':'read','mem':%d,'length':3,'remote_stag':77}",
        a, m);
    want(a, "{'event':'completion','work':6,'op':'read','status':'remote-fault','length':0,"
            "'solicited':false}");
    /* What an atomic would have found is not reported. */
    establish("");
    ask(NULL, "{'do':'post','conn':%d,'work':7,'op':'fetch-add','remote_stag':77}", a);
    want(a, "{'event':'completion','work':7,'op':'fetch-add','status':'remote-fault','length':0,"
            "'solicited':false}");
}

/* ---- too much ---- */

/* Steps until the latest event of b says that so many streamed octets wait. */
static void wait_for_streamed(int length)
{
    for (;;) {
        json_t *event = json_array_get(events, json_array_size(events) - 1);
        if (json_integer_value(json_object_get(event, "length")) == length)
            return;
        assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    }
}

/* As many streamed octets as are kept, and one more. */
static void streamed_octets(void **state)
{
    char hex[2 * 32768 + 1];
    (void)state;
    memset(hex, '7', sizeof(hex) - 1);
    hex[sizeof(hex) - 1] = '\0';
    connect_with(",'stream':true", ",'stream':true,'accept':'auto'");
    want(b, "{'event':'stream','length':0,'listen':1}");
    for (int i = 0; i < 2; i++)
        ask(NULL, "{'do':'stream_send','conn':%d,'hex':'%s'}", a, hex);
    wait_for_streamed(AGENT_STREAM_MAX);
    json_array_clear(events);
    ask(NULL, "{'do':'stream_send','conn':%d,'hex':'00'}", a);
    want(b, "{'event':'closed','graceful':false,'cause':'aborted'}");
    want(a, "{'event':'closed','graceful':false,'cause':'lost','check':'mpa-lost','rule':"
            "'MPA-8-01','error':'Connection reset by peer'}");
}

/* A Reply's private data that does not fit beside the block of an enhanced Request. */
static void private_data_of_replies(void **state)
{
    char hex[2 * 512 + 1];
    (void)state;
    memset(hex, '0', sizeof(hex) - 1);
    hex[sizeof(hex) - 1] = '\0';
    int port = ask("port", "{'do':'listen','private':'%s'}", hex + 2 * 3);
    a = ask("conn", "{'do':'connect','host':'127.0.0.1','port':%d}", port);
    b = a + 1;
    want(b, "{'event':'closed','graceful':false,'cause':'aborted'}");
    want(a, "{'event':'closed','graceful':false,'cause':'lost','check':'mpa-lost','rule':"
            "'MPA-8-01','error':'Connection reset by peer'}");
    /* Not enhanced, all of it fits. */
    port = ask("port", "{'do':'listen','private':'%s'}", hex);
    a = ask("conn", "{'do':'connect','host':'127.0.0.1','port':%d,'config':{'revision':1}}", port);
    while (json_array_size(events) < 2)
        assert_int_equal(iw_reactor_step(reactor, 60000), 0);
    for (size_t i = 0; i < 2; i++) {
        const json_t *event = json_array_get(events, i);
        assert_string_equal(json_string_value(json_object_get(event, "event")), "established");
        assert_string_equal(json_string_value(json_object_get(event, "private")),
                            json_integer_value(json_object_get(event, "conn")) == a ? hex : "");
    }
}

/* With all places taken but one, a connection of one's own finds no second end. */
static void connections(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(listen(fd, 4 * AGENT_CONNECTIONS), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 1; i <= AGENT_CONNECTIONS; i++)
            ask("conn", "{'do':'connect','host':'127.0.0.1','port':%d}", ntohs(at.sin_port));
        assert_int_equal(client->own->live, AGENT_CONNECTIONS);
        ask(NULL, "{'do':'reset'}");
        assert_int_equal(client->own->live, 0);
    }
    for (int i = 1; i < AGENT_CONNECTIONS; i++)
        ask("conn", "{'do':'connect','host':'127.0.0.1','port':%d}", ntohs(at.sin_port));
    connect_with("", "");
    refuse("at most 256 connections", "{'do':'connect','host':'127.0.0.1','port':%d}",
           ntohs(at.sin_port));
    assert_int_equal(client->own->live, AGENT_CONNECTIONS);
    want(a, "{'event':'closed','graceful':false,'cause':'lost','check':'mpa-lost','rule':"
            "'MPA-8-01','error':'Connection reset by peer'}");
    close(fd);
}

static void listeners(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 1; i <= AGENT_LISTENERS; i++)
            assert_int_equal(ask("listen", "{'do':'listen'}"), i);
        refuse("at most 64 listeners", "{'do':'listen'}");
        ask(NULL, "{'do':'unlisten','listen':1}");
        refuse("at most 64 listeners",
               "{'do':'listen'}"); /* its connections may use its settings */
        ask(NULL, "{'do':'reset'}");
    }
}

static void connections_that_do_not_begin(void **state)
{
    (void)state;
    refuse("cannot resolve host \"nowhere\": Name or service not known",
           "{'do':'connect','host':'nowhere','port':1}");
    refuse("field crc: expected true or false",
           "{'do':'connect','host':'127.0.0.1','port':1,'config':{'crc':1}}");
    assert_int_equal(client->own->live, 0);
    /* Their places are free. */
    for (int i = 0; i < AGENT_CONNECTIONS; i++)
        refuse("cannot resolve host \"nowhere\": Name or service not known",
               "{'do':'connect','host':'nowhere','port':1}");
    open_connection();
}

/* A listener's settings hold for its connections after it is gone. */
static void connections_of_a_listener_that_is_gone(void **state)
{
    (void)state;
    establish(",'config':{'violate':['ddp-msn']}");
    catch_up();
    ask(NULL, "{'do':'unlisten','listen':%d}", a - 1);
    refuse("field listen: no listener 1", "{'do':'unlisten','listen':1}");
    ask(NULL, "{'do':'recv','conn':%d,'work':1}", a);
    ask(NULL, "{'do':'post','conn':%d,'work':1,'op':'send'}", b);
    want(a, "{'event':'completion','work':9,'op':'send','status':'ok','length':0,"
            "'solicited':false}");
    want(a, "{'event':'completion','work':1,'op':'recv','status':'flushed','length':0,"
            "'solicited':false}");
    want(a, STOPPED("ddp-msn", "DDP-7.1-09", "2", "3", "invalid MSN: range not valid"), 36);
}

/* ---- too little ---- */

static void without_memory(void **state)
{
    struct iw_endpoint_config config;
    (void)state;
    iw_endpoint_config_default(&config);
    calloc_fails = 1;
    assert_null(agent_endpoint_backend.create(reactor, &config, emit, &events));
    assert_int_equal(calloc_fails, 0);
    no_domain = true;
    assert_null(agent_endpoint_backend.create(reactor, &config, emit, &events));
    no_domain = false;
    /* The switches of a place. */
    struct agent_place place = {.at = {.host = "127.0.0.1", .port = 1}};
    uint64_t conn;
    uint16_t port;
    char error[AGENT_ERROR] = "";
    malloc_fails = 1;
    assert_false(agent_endpoint_backend.connect(client->own, &place, &conn, error));
    malloc_fails = 1;
    assert_false(agent_endpoint_backend.listen(
        client->own, agent_slot_free(&client->own->listeners, error), &place, &port, error));
    assert_int_equal(malloc_fails, 0);
    assert_string_equal(error, "");
    assert_int_equal(client->own->live, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(features),
        TEST(domains),
        TEST(streams),
        TEST(guards),
        TEST(work_that_faults),
        TEST(work_that_the_peer_refuses),
        TEST(streamed_octets),
        TEST(private_data_of_replies),
        TEST(connections),
        TEST(listeners),
        TEST(connections_that_do_not_begin),
        TEST(connections_of_a_listener_that_is_gone),
        TEST(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
