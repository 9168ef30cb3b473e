/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses, the loop, and connections that go well. */
#include "transport_world.h"

/* ---- addresses ---- */

static void addresses_are_parsed(void **state)
{
    static const struct {
        const char *text, *host;
        int port;
        const char *error;
    } rows[] = {
        {"127.0.0.1:7471", "127.0.0.1", 7471, NULL},
        {"[::1]:0", "::1", 0, NULL},
        {"host.example:65535", "host.example", 65535, NULL},
        {"127.0.0.1", NULL, 0, "bad address \"127.0.0.1\": expected HOST:PORT"},
        {"::1:80", NULL, 0,
         "bad address \"::1:80\": expected HOST:PORT, an IPv6 address in brackets"},
        {"[::1]", NULL, 0, "bad address \"[::1]\": expected [IPV6-ADDRESS]:PORT"},
        {"[::1", NULL, 0, "bad address \"[::1\": expected [IPV6-ADDRESS]:PORT"},
        {":80", NULL, 0, "bad address \":80\": the host is empty"},
        {"a:", NULL, 0, "bad port \"\" in \"a:\": expected 0 to 65535"},
        {"a:65536", NULL, 0, "bad port \"65536\" in \"a:65536\": expected 0 to 65535"},
        {"a:-1", NULL, 0, "bad port \"-1\" in \"a:-1\": expected 0 to 65535"},
        {"a:80x", NULL, 0, "bad port \"80x\" in \"a:80x\": expected 0 to 65535"},
        {"a:000080", NULL, 0, "bad port \"000080\" in \"a:000080\": expected 0 to 65535"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_host_port at;
        char error[300] = "";
        int result = iw_transport_parse(rows[i].text, &at, error, sizeof(error));
        if (rows[i].error != NULL) {
            assert_int_equal(result, -1);
            assert_string_equal(error, rows[i].error);
        } else {
            assert_int_equal(result, 0);
            assert_string_equal(at.host, rows[i].host);
            assert_int_equal(at.port, rows[i].port);
        }
    }
    char text[400], error[100];
    struct iw_host_port at;
    memset(text, 'h', 256);
    memcpy(text + 256, ":1", 3);
    assert_int_equal(iw_transport_parse(text, &at, error, sizeof(error)), -1);
    assert_int_equal(strlen(error), sizeof(error) - 1);
    assert_int_equal(iw_transport_parse(text + 1, &at, error, sizeof(error)), 0);
}

static void unknown_hosts_are_told(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = {.host = "fe80::1%nosuch", .port = 1};
    struct end e = {.world = w};
    char error[300] = "";
    assert_null(iw_transport_connect(w->reactor, w->domain, &at, &w->config, &world_ops, &e, error,
                                     sizeof(error)));
    assert_memory_equal(error, "cannot resolve host \"fe80::1%nosuch\": ", 38);
}

static void a_busy_port_is_told(void **state)
{
    struct world *w = *state;
    char error[300] = "";
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct iw_listener_config config = {.domain = w->domain, .endpoint = w->config};
    assert_null(iw_transport_listen(w->reactor, &at, &config, error, sizeof(error)));
    assert_memory_equal(error, "cannot listen on 127.0.0.1:", 27);
    assert_non_null(strstr(error, ": Address already in use"));
}

/* ---- good connections ---- */

static void check_echo(struct world *w, const char *address, bool crc, bool markers)
{
    w->config.mpa.crc = crc;
    w->config.mpa.markers = markers;
    struct iw_host_port at = listen_at(w, address, 0);
    struct end client = {.sends_wanted = 3};
    w->ended = w->accepted = 0;
    connect_to(w, &client, &at);
    post_recv(&client);
    run_until_ended(w, 2);
    assert_int_equal(client.completions[IW_WORK_SEND], 3);
    assert_int_equal(client.completions[IW_WORK_RECV], 3);
    assert_memory_equal(client.in, "ping", 4);
    assert_true(client.graceful);
    assert_int_equal(client.error, 0);
    assert_int_equal(w->servers[0].completions[IW_WORK_RECV], 3);
    assert_int_equal(w->servers[0].flushed, 1);
    assert_true(w->servers[0].graceful);
    iw_listener_destroy(w->listener);
}

static void echo_over_ipv4(void **state)
{
    for (int i = 0; i < 4; i++)
        check_echo(*state, "127.0.0.1:0", i & 1, i & 2);
}

static void echo_over_ipv6(void **state)
{
    for (int i = 0; i < 4; i++)
        check_echo(*state, "[::1]:0", i & 1, i & 2);
}

static void many_connections_share_a_reactor(void **state)
{
    enum { COUNT = 64 };
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct end *clients = calloc(COUNT, sizeof(*clients));
    for (int i = 0; i < COUNT; i++) {
        clients[i].sends_wanted = 5;
        connect_to(w, &clients[i], &at);
        post_recv(&clients[i]);
    }
    run_until_ended(w, 2 * COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(clients[i].completions[IW_WORK_RECV], 5);
        assert_true(clients[i].graceful);
    }
    free(clients);
}

static void a_limit_lets_connections_wait(void **state)
{
    enum { COUNT = 6 };
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 2);
    struct end clients[COUNT] = {{0}};
    for (int i = 0; i < COUNT; i++) {
        clients[i].sends_wanted = 1;
        connect_to(w, &clients[i], &at);
        post_recv(&clients[i]);
    }
    run_until_ended(w, 2 * COUNT);
    assert_int_equal(w->accepted, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(clients[i].completions[IW_WORK_RECV], 1);
}

static void long_writes_arrive_whole(void **state)
{
    enum { LENGTH = 3 * 1024 * 1024 + 17 };
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    uint8_t *source = malloc(LENGTH), *sink = calloc(1, LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        source[i] = (uint8_t)(i * 7 + (i >> 11));
    struct iw_region region = {.base = sink,
                               .length = LENGTH,
                               .to = 4096,
                               .pd = w->config.pd,
                               .access = IW_ACCESS_REMOTE_WRITE};
    assert_int_equal(iw_domain_register(w->domain, &region), 0);
    struct end client = {.sends_wanted = 0};
    connect_to(w, &client, &at);
    post_recv(&client);
    struct iw_iov sge = {source, LENGTH};
    struct iw_work work = {.opcode = IW_WORK_WRITE,
                           .sge = &sge,
                           .sge_count = 1,
                           .remote_stag = region.stag,
                           .remote_to = 4096};
    assert_int_equal(iw_endpoint_post(iw_connection_endpoint(client.c), &work, iw_transport_now()),
                     IW_OK);
    post_send(&client, "done", 4);
    run_until_ended(w, 2);
    assert_int_equal(client.completions[IW_WORK_WRITE], 1);
    assert_int_equal(client.completions[IW_WORK_RECV], 1);
    assert_memory_equal(source, sink, LENGTH);
    iw_domain_deregister(w->domain, region.stag);
    free(source);
    free(sink);
}

struct pipe_watch {
    struct iw_watch *watch;
    int fds[2];
    unsigned calls;
};

static void pipe_ready(void *context, uint32_t events)
{
    struct pipe_watch *p = context;
    char byte;
    p->calls++;
    assert_int_equal(events & EPOLLIN, EPOLLIN);
    assert_int_equal(read(p->fds[0], &byte, 1), 1);
    if (p->calls == 2) {
        iw_watch_destroy(p->watch);
        p->watch = NULL;
    }
}

static void watches_share_the_loop(void **state)
{
    struct world *w = *state;
    struct pipe_watch p = {0};
    assert_int_equal(pipe(p.fds), 0);
    assert_int_equal(iw_reactor_timeout(w->reactor), -1);
    p.watch = iw_watch_create(w->reactor, p.fds[0], EPOLLIN, pipe_ready, &p);
    assert_non_null(p.watch);
    assert_null(iw_watch_create(w->reactor, p.fds[0], EPOLLIN, pipe_ready, &p));
    assert_int_equal(errno, EEXIST);

    assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_int_equal(p.calls, 0);
    assert_int_equal(write(p.fds[1], "abc", 3), 3);
    assert_int_equal(iw_watch_set(p.watch, 0), 0);
    assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_int_equal(p.calls, 0);
    assert_int_equal(iw_watch_set(p.watch, EPOLLIN), 0);

    /* The reactor's descriptor is readable when there is work: it can be put into another loop. */
    struct epoll_event event = {.events = EPOLLIN};
    int outer = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, iw_reactor_fd(w->reactor), &event), 0);
    assert_int_equal(epoll_wait(outer, &event, 1, LONG), 1);
    close(outer);

    for (int i = 0; i < 4; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_int_equal(p.calls, 2);
    close(p.fds[0]);
    close(p.fds[1]);
}

static void sockets_can_be_adopted(void **state)
{
    struct world *w = *state;
    struct end ends[2] = {{.sends_wanted = 1}, {.server = true}};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    for (int i = 0; i < 2; i++) {
        w->config.role = i == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
        ends[i].world = w;
        ends[i].c =
            iw_transport_adopt(w->reactor, w->domain, fds[i], &w->config, &world_ops, &ends[i]);
        assert_non_null(ends[i].c);
        post_recv(&ends[i]);
    }
    run_until_ended(w, 2);
    assert_memory_equal(ends[0].in, "ping", 4);
    assert_true(ends[0].graceful);
    w->config.startup_timeout = 0;
    assert_null(iw_transport_adopt(w->reactor, w->domain, 0, &w->config, &world_ops, NULL));
    assert_int_equal(errno, EINVAL);
}

static void an_environment_is_complete(void **state)
{
    struct world *w = *state;
    uint8_t a[600] = {0}, b[600] = {0};
    const struct iw_env *env = &w->host.env;
    env->random(env->context, a, sizeof(a));
    env->random(env->context, b, sizeof(b));
    assert_memory_not_equal(a, b, 16);
    assert_memory_not_equal(a + 584, b + 584, 16);
    assert_int_equal(iw_crc32c_finish(env->crc32c(IW_CRC32C_INIT, "123456789", 9)), 0xe3069283);
    struct iw_host_env plain;
    iw_host_env_init(&plain, false);
    assert_true(plain.env.lock == NULL && plain.env.unlock == NULL);
    iw_host_env_destroy(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_parsed),
        TEST(unknown_hosts_are_told),
        TEST(a_busy_port_is_told),
        TEST(echo_over_ipv4),
        TEST(echo_over_ipv6),
        TEST(many_connections_share_a_reactor),
        TEST(a_limit_lets_connections_wait),
        TEST(long_writes_arrive_whole),
        TEST(watches_share_the_loop),
        TEST(sockets_can_be_adopted),
        TEST(an_environment_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
