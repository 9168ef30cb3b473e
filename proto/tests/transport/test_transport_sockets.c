/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets of the caller's, work that is sent at once, endpoints made after the Request. */
#include "transport_world.h"

#include <sys/socket.h>

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int bound_socket(struct sockaddr_in *at)
{
    socklen_t length = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *at = loopback(0);
    assert_int_equal(bind(fd, (struct sockaddr *)at, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)at, &length), 0);
    return fd;
}

static struct iw_endpoint_config initiator(const struct world *w)
{
    struct iw_endpoint_config config = w->config;
    config.role = IW_MPA_INITIATOR;
    return config;
}

static void connects_from_a_bound_socket(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct sockaddr_in from, to = loopback(at.port);
    struct end client = {.world = w, .sends_wanted = 3};
    struct iw_endpoint_config config = initiator(w);
    int fd = bound_socket(&from);
    client.c = iw_transport_connect_socket(w->reactor, w->domain, fd, (struct sockaddr *)&to,
                                           sizeof(to), &config, &world_ops, &client);
    assert_non_null(client.c);
    post_recv(&client);
    while (w->accepted == 0 || (client.seen & 1u << IW_EVENT_ESTABLISHED) == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    struct sockaddr_storage local, remote;
    iw_connection_addresses(w->servers[0].c, &local, &remote);
    assert_int_equal(((struct sockaddr_in *)&remote)->sin_port, from.sin_port);
    assert_int_equal(((struct sockaddr_in *)&local)->sin_port, htons(at.port));
    run_until_ended(w, 2);
    assert_true(client.graceful);
    assert_int_equal(client.completions[IW_WORK_RECV], 3);
}

/* A program that was started without standard input gets descriptor 0. */
static void listens_on_descriptor_0(void **state)
{
    struct world *w = *state;
    struct sockaddr_in at;
    socklen_t length = sizeof(at);
    int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    struct iw_host_port to = listen_at(w, "127.0.0.1:0", 0);
    assert_int_equal(getsockname(STDIN_FILENO, (struct sockaddr *)&at, &length), 0);
    assert_int_equal(ntohs(at.sin_port), to.port);
    iw_listener_destroy(w->listener);
    w->listener = NULL;
    assert_int_equal(dup2(input, STDIN_FILENO), input < 0 ? -1 : STDIN_FILENO);
    close(input);
}

static void reports_why_a_socket_does_not_connect(void **state)
{
    struct world *w = *state;
    struct sockaddr_in nobody;
    struct end client = {.world = w};
    struct iw_endpoint_config config = initiator(w);
    int holder = bound_socket(&nobody); /* bound, and not listening */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    client.c = iw_transport_connect_socket(w->reactor, w->domain, fd, (struct sockaddr *)&nobody,
                                           sizeof(nobody), &config, &world_ops, &client);
    assert_non_null(client.c);
    run_until_ended(w, 1);
    assert_int_equal(client.error, ECONNREFUSED);
    close(holder);
}

static void refuses_a_socket_that_is_none(void **state)
{
    struct world *w = *state;
    struct sockaddr_in to = loopback(1);
    struct iw_endpoint_config config = initiator(w);
    assert_null(iw_transport_connect_socket(w->reactor, w->domain, -1, (struct sockaddr *)&to,
                                            sizeof(to), &config, &world_ops, NULL));
    assert_int_equal(errno, EBADF);
    struct iw_listener_config listener = {.domain = w->domain, .endpoint = w->config};
    assert_null(iw_transport_listen_socket(w->reactor, -1, &listener));
    assert_int_equal(errno, EBADF);
}

/* The answering server flushes, so that the client's Send leaves without a step of the reactor. */
static void sends_without_a_step(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct end client = {.world = w};
    connect_to(w, &client, &at);
    while ((client.seen & 1u << IW_EVENT_ESTABLISHED) == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    assert_int_equal(client.completions[IW_WORK_SEND], 0);
    post_send(&client, "now", 3);
    iw_connection_flush(client.c);
    assert_int_equal(client.completions[IW_WORK_SEND], 1);
    iw_endpoint_abort(iw_connection_endpoint(client.c), false, 0, iw_transport_now());
    iw_connection_flush(client.c);
    assert_true(client.ended);
    run_until_ended(w, 2);
}

static void remake_ready(void *context, struct iw_connection *c)
{
    struct end *e = context;
    struct iw_event event;
    if (e->server && e->seen == 0 && iw_endpoint_event(iw_connection_endpoint(c), &event)) {
        e->seen |= 1u << event.kind;
        assert_int_equal(event.kind, IW_EVENT_REQUEST);
        struct iw_endpoint_config config = e->world->config;
        config.role = IW_MPA_RESPONDER;
        config.recv_depth = 3;
        assert_int_equal(iw_connection_remake(c, &config), IW_OK);
        for (unsigned i = 0; i < 3; i++)
            post_recv(e);
        assert_int_equal(iw_endpoint_accept(iw_connection_endpoint(c), NULL, 0, iw_transport_now()),
                         IW_OK);
    }
    ready(context, c);
}

static bool remake_accepted(void *context, struct iw_connection *c)
{
    struct world *w = context;
    struct end *e = &w->servers[w->accepted++];
    *e = (struct end){.world = w, .c = c, .server = true};
    iw_connection_set_context(c, e);
    return true;
}

static void listens_on_a_socket_and_remakes(void **state)
{
    struct world *w = *state;
    struct sockaddr_in at;
    int fd = bound_socket(&at);
    assert_int_equal(listen(fd, 5), 0);
    struct iw_listener_config config = {.domain = w->domain,
                                        .endpoint = w->config,
                                        .ops = {.ready = remake_ready, .ended = ended},
                                        .accepted = remake_accepted,
                                        .context = w};
    config.endpoint.role = IW_MPA_RESPONDER;
    config.endpoint.recv_depth = 1;
    w->listener = iw_transport_listen_socket(w->reactor, fd, &config);
    assert_non_null(w->listener);
    struct iw_host_port to = {"127.0.0.1", iw_listener_port(w->listener)};
    assert_int_equal(to.port, ntohs(at.sin_port));
    struct end client = {.world = w, .sends_wanted = 2};
    connect_to(w, &client, &to);
    post_recv(&client);
    run_until_ended(w, 2);
    assert_true(client.graceful);
    assert_int_equal(client.completions[IW_WORK_RECV], 2);
}

/* A duplicate of the descriptor must not keep a dead listener in the reactor's set. */
static void a_duplicate_outlives_its_listener(void **state)
{
    struct world *w = *state;
    struct sockaddr_in at;
    int fd = bound_socket(&at), kept;
    assert_int_equal(listen(fd, 5), 0);
    kept = dup(fd);
    struct iw_listener_config config = {
        .domain = w->domain, .endpoint = w->config, .ops = world_ops, .accepted = accepted};
    config.endpoint.role = IW_MPA_RESPONDER;
    config.context = w;
    w->listener = iw_transport_listen_socket(w->reactor, fd, &config);
    assert_non_null(w->listener);
    iw_listener_destroy(w->listener);
    struct iw_host_port to = {"127.0.0.1", ntohs(at.sin_port)};
    int waiting = raw_connect(&to);
    assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_int_equal(w->accepted, 0);
    w->listener = iw_transport_listen_socket(w->reactor, kept, &config);
    assert_non_null(w->listener);
    while (w->accepted == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    close(waiting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(connects_from_a_bound_socket),
        TEST(listens_on_descriptor_0),
        TEST(reports_why_a_socket_does_not_connect),
        TEST(refuses_a_socket_that_is_none),
        TEST(sends_without_a_step),
        TEST(listens_on_a_socket_and_remakes),
        TEST(a_duplicate_outlives_its_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
