/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that end badly, with raw sockets as bad peers. */
#include "transport_world.h"

static void a_refused_connect_ends(void **state)
{
    struct world *w = *state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(bound, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(bound, (struct sockaddr *)&at, &length), 0);
    struct iw_host_port to = {.host = "127.0.0.1", .port = ntohs(at.sin_port)};
    struct end client = {.sends_wanted = 0};
    connect_to(w, &client, &to);
    post_recv(&client);
    run_until_ended(w, 1);
    assert_int_equal(client.error, ECONNREFUSED);
    assert_int_equal(client.seen, 1u << IW_EVENT_CLOSED);
    assert_false(client.graceful);
    assert_int_equal(client.flushed, 1);
    close(bound);
}

static void a_silent_peer_ends_in_time(void **state)
{
    struct world *w = *state;
    char byte;
    w->config.startup_timeout = 20000000;
    w->config.linger_timeout = 20000000;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    int silent = raw_connect(&at);
    int slow = raw_connect(&at);
    assert_int_equal(write(slow, "MPA ID", 6), 6);
    run_until_ended(w, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(w->servers[i].check, IW_CHECK_MPA_STARTUP_TIMEOUT);
        assert_false(w->servers[i].graceful);
    }
    assert_int_equal(read(silent, &byte, 1), 0);
    close(silent);
    close(slow);
}

static void a_reset_is_no_graceful_end(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct linger l = {.l_onoff = 1, .l_linger = 0};
    int fd = raw_connect(&at);
    while (w->accepted == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
    close(fd);
    run_until_ended(w, 1);
    assert_int_equal(w->servers[0].error, ECONNRESET);
    assert_false(w->servers[0].graceful);
}

static void an_abort_resets(void **state)
{
    struct world *w = *state;
    char byte;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    int fd = raw_connect(&at);
    while (w->accepted == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    iw_endpoint_abort(iw_connection_endpoint(w->servers[0].c), false, 0, iw_transport_now());
    iw_connection_kick(w->servers[0].c);
    run_until_ended(w, 1);
    assert_int_equal(read(fd, &byte, 1), -1);
    assert_int_equal(errno, ECONNRESET);
    close(fd);
}

static void a_refused_connection_is_reset(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    w->room = 0;
    struct end client = {.sends_wanted = 0};
    connect_to(w, &client, &at);
    run_until_ended(w, 1);
    assert_int_equal(client.error, ECONNRESET);
}

/* A call-back that drops its own connection, another one and the listener. */
struct dropper {
    struct world *world;
    struct end other;
    unsigned calls;
};

/* Those who come and go without an octet are TCP's alone; one who does not go waits there. */
static void a_storm_is_not_accepted(void **state)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    struct world *w = *state;
    struct end e = {.sends_wanted = 1};
    w->defer = true;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    int silent = raw_connect(&at);
    for (int i = 0; i < 20; i++) {
        int fd = raw_connect(&at);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        close(fd);
    }
    connect_to(w, &e, &at);
    post_recv(&e);
    run_until_ended(w, 2);
    assert_true(e.graceful);
    assert_int_equal(e.completions[IW_WORK_RECV], 1);
    assert_in_range(w->accepted, 1, 2); /* a second is long, but not for every machine */
    close(silent);
}

static void drop_all(void *context, struct iw_connection *c)
{
    struct dropper *d = context;
    d->calls++;
    iw_connection_destroy(d->other.c);
    iw_connection_destroy(c);
    iw_listener_destroy(d->world->listener);
}

static void call_backs_may_destroy(void **state)
{
    static const struct iw_connection_ops drop_ops = {.ready = drop_all, .ended = ended};
    struct world *w = *state;
    char error[300];
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct dropper d = {.world = w};
    connect_to(w, &d.other, &at);
    while (w->accepted == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    assert_non_null(iw_transport_connect(w->reactor, w->domain, &at, &w->config, &drop_ops, &d,
                                         error, sizeof(error)));
    run_until_ended(w, 1); /* the server's end of `other` */
    assert_int_equal(d.calls, 1);
    assert_false(d.other.ended);
    assert_int_equal(w->servers[0].error, ECONNRESET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_refused_connect_ends),        TEST(a_silent_peer_ends_in_time),
        TEST(a_reset_is_no_graceful_end),    TEST(an_abort_resets),
        TEST(a_refused_connection_is_reset), TEST(a_storm_is_not_accepted),
        TEST(call_backs_may_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
