/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections and listeners that are taken off their reactor, and put on it again, on another one,
 * or on one of a child. */
#include "transport_world.h"

#include <sys/wait.h>

enum { PINGS = 5 };

/* A client in the middle of its pings: one has come back. Returns its end. */
static void begin(struct world *w, struct end *client)
{
    const uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
    const struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    *client = (struct end){.sends_wanted = PINGS};
    connect_to(w, client, &at);
    post_recv(client);
    while (client->completions[IW_WORK_RECV] < 1) {
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        assert_true(iw_transport_now() < limit);
    }
}

static void step_in_vain(struct iw_reactor *r)
{
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(iw_reactor_step(r, 1), 0);
}

static void test_a_parked_connection_waits(void **state)
{
    struct world *w = *state;
    struct end client, *server = &w->servers[0];
    begin(w, &client);
    assert_true(iw_connection_park(server->c));
    assert_true(iw_connection_park(server->c));
    step_in_vain(w->reactor);
    const unsigned before = server->completions[IW_WORK_RECV];
    assert_true(before < PINGS);
    iw_connection_kick(server->c);
    iw_connection_flush(server->c);
    step_in_vain(w->reactor);
    assert_int_equal(server->completions[IW_WORK_RECV], before);
    assert_true(iw_connection_unpark(server->c, w->reactor));
    run_until_ended(w, 2);
    assert_int_equal(client.completions[IW_WORK_RECV], PINGS);
    assert_int_equal(server->completions[IW_WORK_RECV], PINGS);
    assert_true(client.graceful && server->graceful);
}

static void test_going_on_with_another_reactor(void **state)
{
    struct world *w = *state;
    struct end client, *server = &w->servers[0];
    const uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
    struct iw_reactor *other = iw_reactor_create();
    assert_non_null(other);
    begin(w, &client);
    assert_true(iw_connection_park(server->c));
    assert_true(iw_connection_unpark(server->c, other));
    while (w->ended < 2) {
        assert_int_equal(iw_reactor_step(w->reactor, 1), 0);
        assert_int_equal(iw_reactor_step(other, 1), 0);
        assert_true(iw_transport_now() < limit);
    }
    assert_int_equal(client.completions[IW_WORK_RECV], PINGS);
    assert_true(client.graceful && server->graceful);
    iw_reactor_destroy(other);
}

static void test_what_cannot_be_parked(void **state)
{
    struct world *w = *state;
    struct end client = {.sends_wanted = 1};
    const struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    connect_to(w, &client, &at);
    post_recv(&client);
    assert_false(iw_connection_park(client.c)); /* it is still connecting */
    run_until_ended(w, 2);
    assert_true(client.graceful);
}

static void test_giving_one_up(void **state)
{
    struct world *w = *state;
    struct end client, *server = &w->servers[0];
    begin(w, &client);
    assert_true(iw_connection_park(server->c));
    assert_true(iw_connection_part(server->c, w->reactor));
    run_until_ended(w, 2);
    assert_int_equal(server->error, ECONNABORTED);
    assert_true(client.ended && !client.graceful); /* the last one with the socket has closed it */
}

static void test_destroying_one(void **state)
{
    struct world *w = *state;
    struct end client;
    begin(w, &client);
    assert_true(iw_connection_park(w->servers[0].c));
    iw_connection_destroy(w->servers[0].c);
    run_until_ended(w, 1);
    assert_true(client.ended && !client.graceful);
}

static void test_a_child_goes_on(void **state)
{
    struct world *w = *state;
    struct end client, *server = &w->servers[0];
    int status = -1;
    begin(w, &client);
    assert_true(iw_connection_park(server->c));
    const pid_t child = fork();
    if (child == 0) {
        const uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
        struct iw_reactor *own = iw_reactor_create();
        iw_reactor_forget(w->reactor);
        iw_connection_forked(server->c);
        if (own == NULL || !iw_connection_unpark(server->c, own))
            _exit(2);
        while (!server->ended && iw_transport_now() < limit)
            (void)iw_reactor_step(own, LONG);
        _exit(server->graceful && server->completions[IW_WORK_RECV] == PINGS ? 0 : 1);
    }
    iw_connection_leave(server->c); /* without a word, so that the child has it alone */
    assert_true(iw_connection_unpark(server->c, w->reactor));
    run_until_ended(w, 2);
    assert_int_equal(server->error, ECONNABORTED);
    assert_int_equal(client.completions[IW_WORK_RECV], PINGS);
    assert_true(client.graceful);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_parked_listener(void **state)
{
    struct world *w = *state;
    struct end client = {.sends_wanted = 1};
    const struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    iw_listener_park(w->listener);
    iw_listener_park(w->listener);
    connect_to(w, &client, &at);
    post_recv(&client);
    step_in_vain(w->reactor);
    assert_int_equal(w->accepted, 0);
    assert_true(iw_listener_unpark(w->listener, w->reactor));
    run_until_ended(w, 2);
    assert_true(client.graceful);
    iw_listener_park(w->listener);
    iw_listener_destroy(w->listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_parked_connection_waits),
        TEST(test_going_on_with_another_reactor),
        TEST(test_what_cannot_be_parked),
        TEST(test_giving_one_up),
        TEST(test_destroying_one),
        TEST(test_a_child_goes_on),
        TEST(test_a_parked_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
