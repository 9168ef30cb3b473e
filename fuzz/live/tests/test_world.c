/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks what is asked of an agent, and how its memory is watched. The agent is a function. */
#include "live_support.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "host/address.h"
#include "host/text.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"

enum { OCTETS = 256 + 2 * IW_HUNT_GUARD, SECOND = 1000000000 };

/* ---- instead of an agent ---- */

static char asked[8192]; /* all requests, each in its line */
static int asks, fails;  /* the number of the request that fails; 0: none */
static const char *failure, *backend, *hex;
static int longer_by;      /* digits that the agent says too many of memory */
static size_t change_at;   /* place of another digit in it + 1; 0: none */
static char change_to;     /* that digit */
static unsigned change_in; /* memory */
static const char *const *events;
static bool extensions;
static uint64_t patience;
static char agent, instance;
static int closes, opens;
static struct iw_target target;
static struct iw_hunt_world world;

json_t *__wrap_iw_control_call(struct iw_control *c, json_t *request, uint64_t deadline,
                               char *error, size_t room);
json_t *__wrap_iw_control_event(struct iw_control *c, uint64_t deadline);
int __wrap_iw_control_fd(const struct iw_control *c);
uint64_t __wrap_iw_transport_now(void);
enum iw_target_opened __wrap_iw_target_open(const struct iw_target_spec *spec, const char *option,
                                            const char *log, double time_scale,
                                            struct iw_target_instance **out, char *error,
                                            size_t room);
struct iw_target *__wrap_iw_target_of(struct iw_target_instance *t);
void __wrap_iw_target_close(struct iw_target_instance *t, char *trouble, size_t room);

struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);
struct addrinfo *__real_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room);

/* A name is one that nobody knows; no name server is asked. */
struct addrinfo *__wrap_iw_address_resolve(const char *host, uint16_t port, bool passive,
                                           char *error, size_t room)
{
    assert_false(passive);
    if (strcmp(host, "nowhere") != 0)
        return __real_iw_address_resolve(host, port, passive, error, room);
    snprintf(error, room, "no such host");
    return NULL;
}

static bool is(const json_t *request, const char *what)
{
    return strcmp(json_string_value(json_object_get(request, "do")), what) == 0;
}

static json_t *memory_of(const json_t *request)
{
    char digits[2 * OCTETS + 2];
    size_t n = 2 * (size_t)json_integer_value(json_object_get(request, "length"));

    assert_true(n <= 2 * OCTETS);
    memset(digits, '5', n + 1);
    if (change_at && json_integer_value(json_object_get(request, "mem")) == 101 + (int)change_in)
        digits[change_at - 1] = change_to;
    digits[n + (size_t)longer_by] = 0;
    return hex != NULL ? json_pack("{s:b, s:s}", "ok", true, "hex", digits)
                       : json_pack("{s:b}", "ok", true);
}

/* Memory is numbered from 101 on, a listener has a hundred times the number of its port. */
static json_t *reply_to(const json_t *request)
{
    static int memories, listeners;

    if (is(request, "hello")) {
        memories = listeners = 0;
        return json_pack("{s:b, s:s*}", "ok", true, "backend", backend);
    }
    if (is(request, "register")) {
        char stag[16], to[32];

        memories++;
        snprintf(stag, sizeof(stag), "0x%x", 0xfffffff0u + (unsigned)memories);
        snprintf(to, sizeof(to), "0x%xffffffff0", memories);
        return json_pack("{s:b, s:i, s:s, s:s}", "ok", true, "mem", 100 + memories, "stag", stag,
                         "to", to);
    }
    if (is(request, "read"))
        return memory_of(request);
    listeners++;
    return json_pack("{s:b, s:i, s:i}", "ok", true, "port", 7000 + listeners, "listen",
                     700000 + 100 * listeners);
}

json_t *__wrap_iw_control_call(struct iw_control *c, json_t *request, uint64_t deadline,
                               char *error, size_t room)
{
    char *text = json_dumps(request, JSON_COMPACT);
    size_t n = strlen(asked);
    json_t *reply = NULL;

    assert_true((char *)c == &agent);
    snprintf(asked + n, sizeof(asked) - n, "%s\n", text);
    free(text);
    asks++;
    assert_int_equal(deadline, is(request, "recv") || is(request, "accept") ? 0 : patience);
    if (asks != fails)
        reply = reply_to(request);
    else if (failure == NULL)
        snprintf(error, room, "the agent is gone");
    else if (*failure)
        reply = json_pack("{s:b, s:s}", "ok", false, "error", failure);
    else
        reply = json_object();
    json_decref(request);
    return reply;
}

json_t *__wrap_iw_control_event(struct iw_control *c, uint64_t deadline)
{
    assert_true((char *)c == &agent);
    assert_int_equal(deadline, 0);
    return *events != NULL ? json_loads(*events++, 0, NULL) : NULL;
}

int __wrap_iw_control_fd(const struct iw_control *c)
{
    assert_true((const char *)c == &agent);
    return 4321;
}

uint64_t __wrap_iw_transport_now(void)
{
    return 5 * (uint64_t)SECOND;
}

enum iw_target_opened __wrap_iw_target_open(const struct iw_target_spec *spec, const char *option,
                                            const char *log, double time_scale,
                                            struct iw_target_instance **out, char *error,
                                            size_t room)
{
    (void)error;
    assert_true(spec == world.spec && room == sizeof(world.error));
    assert_null(option);
    assert_string_equal(log, "the.log");
    assert_true(time_scale >= world.scale && time_scale <= world.scale);
    opens++;
    *out = (struct iw_target_instance *)&instance;
    return IW_TARGET_OPENED;
}

struct iw_target *__wrap_iw_target_of(struct iw_target_instance *t)
{
    assert_true((char *)t == &instance);
    return &target;
}

void __wrap_iw_target_close(struct iw_target_instance *t, char *trouble, size_t room)
{
    assert_true((char *)t == &instance && room == sizeof(world.trouble));
    *trouble = 0;
    closes++;
}

static bool can(const struct iw_target *t, const char *capability)
{
    assert_true(t == &target);
    return extensions && strcmp(capability, "extensions") == 0;
}

static int begin(void **state)
{
    (void)state;
    target =
        (struct iw_target){.host = "127.0.0.3", .control = (struct iw_control *)&agent, .can = can};
    world = (struct iw_hunt_world){.log = "the.log", .scale = 2, .slots = 2, .listener = -1};
    patience = 25 * (uint64_t)SECOND;
    *asked = 0;
    asks = fails = closes = opens = 0;
    failure = backend = NULL;
    hex = "";
    longer_by = 0;
    change_at = change_in = 0;
    change_to = '4';
    extensions = false;
    return 0;
}

static int end(void **state)
{
    (void)state;
    iw_hunt_world_close(&world);
    return 0;
}

static void is_asked(const char *expected)
{
    assert_string_equal(asked, expected);
    *asked = 0;
}

static void opens_well(void)
{
    assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_OPENED);
}

/* ---- memory and listeners ---- */

#define READ(n, length) "{\"do\":\"read\",\"mem\":" n ",\"offset\":-64,\"length\":" length "}\n"
#define LISTEN "{\"do\":\"listen\",\"host\":\"127.0.0.3\",\"port\":0,\"accept\":\"ask\"}\n"
#define REGISTER(length, rights)                                                                   \
    "{\"do\":\"register\",\"length\":" length ",\"access\":[\"local-write\"" rights                \
    "],\"guard\":64}\n"
#define MORE                                                                                       \
    READ("101", "384")                                                                             \
    REGISTER("256", ",\"remote-read\"")                                                            \
    READ("102", "384")                                                                             \
    REGISTER("64", "")                                                                             \
    READ("103", "192")                                                                             \
    "{\"do\":\"register\",\"length\":"                                                             \
    "12288,\"access\":[\"local-write\"]"                                                           \
    "}\n" LISTEN LISTEN

static void what_an_agent_is_asked(void **state)
{
    (void)state;
    opens_well();
    is_asked("{\"do\":\"hello\"}\n" REGISTER("256", ",\"remote-read\",\"remote-write\"") MORE);
    extensions = true;
    iw_hunt_world_close(&world);
    opens_well();
    is_asked("{\"do\":\"hello\"}\n" REGISTER(
        "256", ",\"remote-read\",\"remote-write\",\"remote-atomic\"") MORE);
    assert_int_equal(world.starts, 2);
    assert_int_equal(closes, 1);
}

static void a_memory_is(unsigned k, json_int_t mem, uint32_t stag, uint64_t to, uint32_t length,
                        const char *remote)
{
    const struct iw_hunt_memory *m = &world.memories[k];

    assert_int_equal(m->mem, mem);
    assert_int_equal(m->stag, stag);
    assert_int_equal(m->to, to);
    assert_int_equal(m->length, length);
    assert_int_equal(iw_hunt_memory_length(k), length);
    assert_string_equal(m->remote, remote);
}

static void what_an_agent_says(void **state)
{
    (void)state;
    opens_well();
    assert_int_equal(world.n_memories, 3);
    a_memory_is(0, 101, 0xfffffff1, 0x1ffffffff0, 256, "read write atomic");
    a_memory_is(1, 102, 0xfffffff2, 0x2ffffffff0, 256, "read");
    a_memory_is(2, 103, 0xfffffff3, 0x3ffffffff0, 64, "");
    assert_int_equal(world.receives, 104);
    assert_int_equal(world.to_length, sizeof(struct sockaddr_in));
    for (unsigned i = 0; i < 2; i++) {
        const struct sockaddr_in *to = (const struct sockaddr_in *)&world.to[i];

        assert_int_equal(world.listen[i], 700100 + 100 * i);
        assert_int_equal(ntohs(to->sin_port), 7001 + i);
        assert_int_equal(ntohl(to->sin_addr.s_addr), 0x7f000003);
    }
    assert_int_equal(iw_hunt_world_fd(&world), 4321);
    target.control = NULL;
    assert_int_equal(iw_hunt_world_fd(&world), -1);
    target.control = (struct iw_control *)&agent;
    iw_hunt_world_close(&world);
    assert_int_equal(iw_hunt_world_fd(&world), -1);
    assert_int_equal(world.n_memories, 0);
    for (unsigned i = 0; i < IW_HUNT_MEMORIES; i++)
        assert_null(world.memories[i].content);
    iw_hunt_world_close(&world);
    assert_int_equal(closes, 1);
}

static void a_description(void **state)
{
    (void)state;
    world.n_memories = 7;
    iw_hunt_world_describe(&world);
    assert_int_equal(world.n_memories, 3);
    a_memory_is(0, 0, 0, 0, 256, "read write atomic");
    a_memory_is(1, 0, 0, 0, 256, "read");
    a_memory_is(2, 0, 0, 0, 64, "");
    assert_null(world.memories[0].content);
}

/* Whichever of the requests fails, the target is closed. */
static void an_agent_that_refuses(void **state)
{
    enum { REQUESTS = 10 };

    (void)state;
    for (int i = 1; i <= REQUESTS; i++) {
        static const char *const failures[] = {"no such thing", "", NULL};
        static const char *const expected[] = {"the agent: no such thing", "the agent: no",
                                               "the agent is gone"};

        for (int k = 0; k < 3; k++) {
            fails = i;
            failure = failures[k];
            asks = closes = 0;
            assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_UNREACHED);
            assert_string_equal(world.error, expected[k]);
            assert_int_equal(asks, i);
            assert_int_equal(closes, 1);
            assert_null(world.instance);
        }
    }
    asks = 0;
    fails = REQUESTS + 1;
    opens_well();
}

static void an_agent_without_its_host(void **state)
{
    (void)state;
    target.host = "nowhere";
    assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_UNREACHED);
    assert_string_equal(world.error, "no such host");
    assert_int_equal(closes, 1);
    assert_int_equal(asks, 9);
}

static void an_agent_that_shows_no_memory(void **state)
{
    static const char error[] = "the agent: read: expected 384 octets";

    (void)state;
    for (int i = 0; i < 3; i++) {
        *world.error = 0;
        longer_by = i - 1;
        hex = i == 1 ? NULL : "";
        assert_int_equal(iw_hunt_world_open(&world), IW_TARGET_UNREACHED);
        assert_string_equal(world.error, error);
        assert_int_equal(closes, i + 1);
    }
}

/* ---- memory that has changed ---- */

/* One digit of memory `k` is another, or all are as they were; what is said of that. */
static void changes(unsigned k, size_t digit, const char *expected)
{
    char text[128];

    change_in = k;
    change_at = digit + 1;
    for (int i = 0; i < 2; i++) {
        change_to = "46"[i];
        const char *stray = iw_hunt_world_stray(&world, text, sizeof(text));

        if (expected != NULL)
            assert_string_equal(stray, expected);
        else
            assert_null(stray);
    }
    change_at = 0;
    assert_null(iw_hunt_world_stray(&world, text, sizeof(text)));
}

static void memory_that_has_changed(void **state)
{
    (void)state;
    opens_well();
    changes(0, 0, "memory 0 (read write atomic) has changed at octet -64");
    changes(0, 127, "memory 0 (read write atomic) has changed at octet -1");
    changes(0, 128, NULL);
    changes(0, 639, NULL);
    changes(0, 640, "memory 0 (read write atomic) has changed at octet 256");
    changes(0, 767, "memory 0 (read write atomic) has changed at octet 319");
    changes(1, 128, "memory 1 (read) has changed at octet 0");
    changes(1, 0, "memory 1 (read) has changed at octet -64");
    changes(2, 255, "memory 2 (no remote rights) has changed at octet 63");
    changes(2, 383, "memory 2 (no remote rights) has changed at octet 127");
}

/* What cannot be looked at has not changed. */
static void memory_that_is_not_shown(void **state)
{
    char text[128];

    (void)state;
    opens_well();
    longer_by = -1;
    assert_null(iw_hunt_world_stray(&world, text, sizeof(text)));
    assert_int_equal(asks, 13);
    longer_by = 0;
    failure = NULL;
    fails = 14;
    change_in = 1;
    change_at = 1;
    assert_string_equal(iw_hunt_world_stray(&world, text, sizeof(text)),
                        "memory 1 (read) has changed at octet -64");
    iw_hunt_world_close(&world);
    assert_null(iw_hunt_world_stray(&world, text, sizeof(text)));
}

/* ---- what happens on the connections ---- */

static char requests[64];

static void note_request(void *context, unsigned slot)
{
    size_t n = strlen(requests);

    assert_ptr_equal(context, &world);
    snprintf(requests + n, sizeof(requests) - n, " %u", slot);
}

static void serves(const char *const *list)
{
    events = list;
    *requests = *asked = 0;
    iw_hunt_world_serve(&world, note_request, &world);
}

#define RECV(conn, work, offset)                                                                   \
    "{\"do\":\"recv\",\"conn\":" conn ",\"work\":" work ",\"mem\":104,\"offset\":" offset          \
    ",\"length\":4096}\n"
#define RECVS(conn, a, b, c) RECV(conn, a, "0") RECV(conn, b, "4096") RECV(conn, c, "8192")
#define ACCEPT(conn) "{\"do\":\"accept\",\"conn\":" conn "}\n"

static const char request_a[] = "{\"event\":\"request\",\"conn\":8,\"listen\":700200}";
static const char request_b[] = "{\"event\":\"request\",\"conn\":9,\"listen\":700100}";
static const char request_c[] = "{\"event\":\"request\",\"conn\":10,\"listen\":5}";
static const char request_d[] = "{\"event\":\"request\",\"conn\":11}";
static const char closed[] = "{\"event\":\"closed\",\"conn\":12}";
static const char established[] = "{\"event\":\"established\",\"conn\":8}";

/* Receives are there before the connection is. */
static void requests_are_accepted(void **state)
{
    static const char *const list[] = {request_a, established, closed,    "{\"conn\":8}",
                                       request_b, request_c,   request_d, NULL};

    (void)state;
    opens_well();
    serves(list);
    is_asked(RECVS("8", "1", "2", "3") ACCEPT("8") RECVS("9", "4", "5", "6") ACCEPT("9") RECVS(
        "10", "7", "8", "9") ACCEPT("10") RECVS("11", "10", "11", "12") ACCEPT("11"));
    assert_string_equal(requests, " 1 0");
    iw_hunt_world_close(&world);
    serves(list); /* nobody is there any more */
    is_asked("");
    assert_ptr_equal(events, list);
}

static void receives_of_verbs(void **state)
{
    static const char *const list[] = {request_a, established, closed, "{\"conn\":8}", NULL};

    (void)state;
    backend = "verbs";
    opens_well();
    serves(list);
    is_asked(ACCEPT("8") RECVS("8", "1", "2", "3"));
    assert_string_equal(requests, " 1");
    iw_hunt_world_close(&world);
    backend = "core";
    opens_well();
    assert_false(world.late_receives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_an_agent_is_asked, begin, end),
        cmocka_unit_test_setup_teardown(what_an_agent_says, begin, end),
        cmocka_unit_test_setup_teardown(a_description, begin, end),
        cmocka_unit_test_setup_teardown(an_agent_that_refuses, begin, end),
        cmocka_unit_test_setup_teardown(an_agent_without_its_host, begin, end),
        cmocka_unit_test_setup_teardown(an_agent_that_shows_no_memory, begin, end),
        cmocka_unit_test_setup_teardown(memory_that_has_changed, begin, end),
        cmocka_unit_test_setup_teardown(memory_that_is_not_shown, begin, end),
        cmocka_unit_test_setup_teardown(requests_are_accepted, begin, end),
        cmocka_unit_test_setup_teardown(receives_of_verbs, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
