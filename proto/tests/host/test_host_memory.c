/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosted rooms when memory runs out. This program is linked with --wrap for the allocator's
 * functions: any one allocation of the project's own code can be made to fail, those of libraries
 * cannot, except that jansson is given the same functions.
 */
#include "iwarp/capture.h"
#include "iwarp/control.h"
#include "scratch.h"
#include "transport_world.h"

#include <stdio.h>

static long left = -1; /* allocations until the one that fails; negative: none does */
static unsigned long made, live;

void *__real_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_asprintf(char **text, const char *format, ...);
void __wrap_free(void *memory);

/* True if this allocation fails. */
static bool fails(void)
{
    made++;
    if (left == 0)
        errno = ENOMEM;
    return left >= 0 && left-- == 0;
}

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fails())
        return NULL;
    void *grown = __real_realloc(memory, size);
    return memory == NULL ? counted(grown) : grown;
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : counted(__real_strdup(text));
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = fails() ? -1 : vasprintf(text, format, arguments);
    va_end(arguments);
    live += length >= 0;
    return length;
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

/* ---- scenarios: true if all went well; whatever happens, everything is given back ---- */

/* A whole connection: all rooms down to the core's endpoint. */
static bool connection(void)
{
    static struct world w;
    struct iw_domain_limits limits = {.regions = 2, .buffers = 4};
    struct iw_host_port at = {.host = "127.0.0.1", .port = 0};
    struct end client = {.sends_wanted = 2, .world = &w};
    char error[300] = "";
    static struct end server;
    memset(&w, 0, sizeof(w));
    w.servers = &server;
    w.room = 1;
    iw_host_env_init(&w.host, false);
    w.domain = iw_domain_create(&w.host.env, &limits);
    w.reactor = iw_reactor_create();
    if (w.domain != NULL && w.reactor != NULL) {
        iw_endpoint_config_default(&w.config);
        w.config.pd = iw_domain_pd(w.domain);
        struct iw_listener_config config = {.domain = w.domain,
                                            .endpoint = w.config,
                                            .ops = world_ops,
                                            .accepted = accepted,
                                            .context = &w};
        config.endpoint.role = IW_MPA_RESPONDER;
        w.listener = iw_transport_listen(w.reactor, &at, &config, error, sizeof(error));
        if (w.listener != NULL) {
            at.port = iw_listener_port(w.listener);
            client.c = iw_transport_connect(w.reactor, w.domain, &at, &w.config, &world_ops,
                                            &client, error, sizeof(error));
        }
        assert_int_equal(error[0] == '\0', client.c != NULL);
    }
    if (client.c != NULL) {
        post_recv(&client);
        /* Without memory at the other end the connection is closed before the start-up. */
        uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
        while (!client.ended || w.ended < 1 + w.accepted) {
            assert_int_equal(iw_reactor_step(w.reactor, LONG), 0);
            assert_true(iw_transport_now() < limit);
        }
    }
    iw_reactor_destroy(w.reactor);
    iw_domain_destroy(w.domain);
    iw_host_env_destroy(&w.host);
    return client.graceful && client.completions[IW_WORK_RECV] == 2;
}

static bool watch(void)
{
    struct iw_reactor *r = iw_reactor_create();
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    bool good = r != NULL && iw_watch_create(r, fds[0], EPOLLIN, NULL, NULL) != NULL;
    iw_reactor_destroy(r);
    close(fds[0]);
    close(fds[1]);
    return good;
}

static int see(void *context, const struct iw_segment *s)
{
    size_t *octets = context;
    *octets += s->kind == IW_SEGMENT_DATA ? s->length : 0;
    return 0;
}

/* Frames are made up, commented and written. */
static bool write_capture(void)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_synth *s = iw_synth_new(100000);
    bool good = s != NULL;
    struct iw_synth_tcp tcp = {.port = {1, 2}, .isn = {3, 4}};
    struct iw_synth_span span;
    for (unsigned i = 0; i < 2; i++)
        tcp.address[i] = (struct iw_address){.family = 4, .octets = {10, 0, 0, (uint8_t)i}};
    for (unsigned n = 0; n < 2 && good; n++) {
        int c = iw_synth_connect(s, &tcp, 1000, &span);
        for (unsigned i = 0; i < 20 && c >= 0; i++)
            (void)iw_synth_data(s, c, i % 2, 2000, "hello", 5);
        good = c >= 0 && iw_synth_comment(s, 1, "one") && iw_synth_comment(s, 4, "another") &&
               !iw_synth_full(s);
    }
    if (s != NULL && !iw_synth_write(s, scratch_path("out.pcapng"), "a", "b", error)) {
        assert_int_not_equal(error[0], '\0');
        good = false;
    }
    iw_synth_free(s);
    return good;
}

static bool read_capture(void)
{
    char error[IW_CAPTURE_ERROR] = "";
    size_t octets = 0;
    struct iw_capture_counts counts;
    struct iw_capture_connections *t = iw_capture_connections_new(100, see, &octets);
    int result = t == NULL ? -1 : iw_capture_walk(scratch_path("in.pcapng"), t, &counts, error);
    if (t != NULL && result < 0)
        assert_int_not_equal(error[0], '\0');
    bool good = result == 0 && counts.ignored == 0 && octets == 200;
    iw_capture_connections_free(t);
    return good;
}

static bool capture_live(void)
{
    char error[IW_CAPTURE_ERROR] = "";
    struct iw_live *l = iw_live_open("lo", NULL, scratch_path("live.pcap"), error);
    assert_int_equal(l == NULL, error[0] != '\0');
    /* Where capturing is not permitted, nothing is left to run out of. */
    bool good = l != NULL || strstr(error, "out of memory") == NULL;
    if (l != NULL)
        good = iw_live_close(l, NULL, error);
    return good;
}

/* A request, its reply and an event in between; both ends. */
static bool control(void)
{
    char error[200] = "";
    int fds[2];
    uint64_t soon = iw_transport_now() + LONG * UINT64_C(1000000);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct iw_control_channel *agent = iw_control_channel_create(fds[0]);
    struct iw_control *client = iw_control_adopt(fds[1]);
    json_t *event = json_pack("{s:s,s:i}", "event", "established", "conn", 1);
    json_t *answer = json_pack("{s:i,s:b}", "id", 1, "ok", 1);
    json_t *request = json_pack("{s:s}", "do", "hello"), *reply = NULL, *arrived = NULL;
    bool good = agent != NULL && client != NULL && event != NULL && answer != NULL &&
                request != NULL && iw_control_channel_write(agent, event) == 0 &&
                iw_control_channel_write(agent, answer) == 0;
    if (good) {
        reply = iw_control_call(client, request, soon, error, sizeof(error));
        request = NULL; /* taken */
        assert_int_equal(reply == NULL, error[0] != '\0');
        arrived = reply == NULL ? NULL : iw_control_event(client, soon);
        good = arrived != NULL;
    }
    json_decref(event);
    json_decref(answer);
    json_decref(request);
    json_decref(reply);
    json_decref(arrived);
    if (agent == NULL)
        close(fds[0]);
    if (client == NULL)
        close(fds[1]);
    iw_control_channel_destroy(agent);
    iw_control_close(client);
    return good;
}

/* Fails each allocation in turn until there are no more. */
static void fail_each(bool (*scenario)(void))
{
    bool good = false;
    unsigned long failed = 0;
    for (long n = 0; n < 10000 && left < 0; n++) {
        unsigned long before = live;
        left = n;
        good = scenario();
        assert_int_equal(live, before);
        if (left < 0)
            failed++;
        else
            break; /* fewer than n + 1 were made */
        assert_false(good);
    }
    assert_true(good && failed > 0);
    left = -1;
}

static void a_connection_survives(void **state)
{
    (void)state;
    fail_each(connection);
    fail_each(watch);
}

static void a_capture_survives(void **state)
{
    (void)state;
    static const char *const names[] = {"out.pcapng", "in.pcapng", "live.pcap"};
    for (unsigned i = 0; i < 3; i++)
        (void)scratch_path(names[i]); /* allocates, once for each name */
    fail_each(write_capture);
    assert_true(write_capture());
    assert_int_equal(rename(scratch_path("out.pcapng"), scratch_path("in.pcapng")), 0);
    fail_each(read_capture);
    if (capture_live())
        fail_each(capture_live);
}

static void the_control_protocol_survives(void **state)
{
    (void)state;
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    fail_each(control);
}

/* Once both ends are set up nothing is allocated any more, in no room. */
static void no_allocation_on_the_data_path(void **state)
{
    enum { LENGTH = 300000, WRITES = 20, SENDS = 100 };
    struct world *w = *state;
    static uint8_t source[LENGTH], sink[LENGTH];
    for (size_t i = 0; i < LENGTH; i++)
        source[i] = (uint8_t)(i * 11 + i / 255);
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct end client = {.sends_wanted = SENDS};
    struct iw_region region = {
        .base = sink, .length = LENGTH, .pd = w->config.pd, .access = IW_ACCESS_REMOTE_WRITE};
    connect_to(w, &client, &at);
    post_recv(&client);
    while ((client.seen & 1u << IW_EVENT_ESTABLISHED) == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    unsigned long before = made;
    for (unsigned i = 0; i < WRITES; i++) {
        struct iw_iov sge = {source, LENGTH};
        assert_int_equal(iw_domain_register(w->domain, &region), 0);
        struct iw_work work = {
            .opcode = IW_WORK_WRITE, .sge = &sge, .sge_count = 1, .remote_stag = region.stag};
        assert_int_equal(iw_endpoint_post(iw_connection_endpoint(client.c), &work, 0), IW_OK);
        iw_connection_kick(client.c);
        while (client.completions[IW_WORK_WRITE] == i)
            assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        unsigned echoes = client.completions[IW_WORK_RECV];
        while (client.completions[IW_WORK_RECV] < echoes + 2)
            assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        assert_memory_equal(source, sink, LENGTH);
        memset(sink, 0, LENGTH);
        assert_int_equal(iw_domain_deregister(w->domain, region.stag), 0);
    }
    run_until_ended(w, 2);
    assert_int_equal(client.completions[IW_WORK_RECV], SENDS);
    assert_int_equal(made, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_allocation_on_the_data_path),
        cmocka_unit_test(a_connection_survives),
        cmocka_unit_test(a_capture_survives),
        cmocka_unit_test(the_control_protocol_survives),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
