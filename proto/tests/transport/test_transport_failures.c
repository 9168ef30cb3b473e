/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport when system calls and allocations fail. */
#include "transport_world.h"

#include "failing.h"

static void a_reactor_needs_memory_and_a_descriptor(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 2; n++) {
        let_fail_after(n, "memory", ENOMEM);
        assert_null(iw_reactor_create());
        assert_int_equal(errno, ENOMEM);
        assert_true(has_failed());
    }
    let_fail("epoll_create1", EMFILE);
    assert_null(iw_reactor_create());
    assert_int_equal(errno, EMFILE);
}

static void waiting_can_fail(void **state)
{
    struct world *w = *state;
    let_fail("epoll_wait", EBADF);
    assert_int_equal(iw_reactor_step(w->reactor, 0), -1);
    assert_int_equal(errno, EBADF);
    let_fail("epoll_wait", EINTR);
    assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
}

static void no_ready(void *context, uint32_t events)
{
    (void)context;
    (void)events;
}

static void a_watch_needs_memory_and_epoll(void **state)
{
    struct world *w = *state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    let_fail("memory", ENOMEM);
    assert_null(iw_watch_create(w->reactor, fd, EPOLLIN, no_ready, NULL));
    assert_int_equal(errno, ENOMEM);
    let_fail("epoll_ctl", ENOSPC);
    assert_null(iw_watch_create(w->reactor, fd, EPOLLIN, no_ready, NULL));
    assert_int_equal(errno, ENOSPC);
    /* This one is left to the reactor's end. */
    assert_non_null(iw_watch_create(w->reactor, fd, EPOLLIN, no_ready, NULL));
    close(fd);
}

static void listening_can_fail(void **state)
{
    static const struct {
        const char *call;
        int error;
        const char *text;
    } cases[] = {
        {"getaddrinfo", 0, "cannot resolve host \"127.0.0.1\": Name or service not known"},
        {"socket", EMFILE, "cannot listen on 127.0.0.1:0: Too many open files"},
        {"memory", ENOMEM, "cannot listen on 127.0.0.1:0: Cannot allocate memory"},
        {"epoll_ctl", ENOSPC, "cannot listen on 127.0.0.1:0: No space left on device"},
    };
    struct world *w = *state;
    struct iw_host_port at = {.host = "127.0.0.1"};
    struct iw_listener_config config = {.domain = w->domain, .endpoint = w->config};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char error[300] = "";
        let_fail(cases[i].call, cases[i].error);
        assert_null(iw_transport_listen(w->reactor, &at, &config, error, sizeof(error)));
        assert_string_equal(error, cases[i].text);
        assert_true(has_failed());
    }
}

static void an_address_can_be_unknown(void **state)
{
    struct world *w = *state;
    char text[IW_TRANSPORT_TEXT], error[300];
    listen_at(w, "127.0.0.1:0", 0);
    let_fail("getsockname", ENOBUFS);
    assert_int_equal(iw_listener_port(w->listener), 0);
    let_fail("getsockname", ENOBUFS);
    iw_listener_address(w->listener, text);
    assert_string_equal(text, "-");
    let_fail("getnameinfo", 0);
    iw_listener_address(w->listener, text);
    assert_string_equal(text, "-");

    struct iw_host_port at = {.host = "127.0.0.1"};
    int fd = iw_transport_bind(&at, text, error, sizeof(error));
    assert_true(fd >= 0);
    assert_memory_equal(text, "127.0.0.1:", 10);
    close(fd);
}

/* The domain's own allocations are the endpoint's: each connection that cannot be made is closed,
 * and the next one is served. */
static void a_connection_that_cannot_be_made_is_closed(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    unsigned refused = 0;
    for (;; refused++) {
        char octet;
        int fd = raw_connect(&at);
        let_fail_after(refused, "memory", ENOMEM);
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        if (!has_failed()) {
            close(fd);
            break;
        }
        assert_int_equal(w->accepted, 0);
        assert_int_equal(read(fd, &octet, 1), 0);
        close(fd);
    }
    assert_true(refused >= 3); /* the connection, the heap, the endpoint */
    assert_int_equal(w->accepted, 1);

    int fd = raw_connect(&at);
    char octet;
    let_fail("epoll_ctl", ENOSPC);
    while (!has_failed()) {
        let_fail("epoll_ctl", ENOSPC);
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    }
    assert_int_equal(read(fd, &octet, 1), 0);
    assert_int_equal(w->accepted, 1);
    close(fd);
}

static void a_listener_without_descriptors_waits(void **state)
{
    static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    for (unsigned i = 0; i < 4; i++) {
        int fd = raw_connect(&at);
        let_fail("accept4", errors[i]);
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        assert_true(has_failed());
        /* It rests for a second: that is what the next step would wait for. */
        assert_in_range(iw_reactor_timeout(w->reactor), 1, 1000);
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
        assert_int_equal(w->accepted, i);
        failing_clock++;
        assert_int_equal(iw_reactor_timeout(w->reactor), 0);
        while (w->accepted == i)
            assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        close(fd);
        run_until_ended(w, i + 1);
    }

    /* A client that has gone again is none of the listener's business. */
    int fd = raw_connect(&at);
    let_fail("accept4", ECONNABORTED);
    while (w->accepted == 4)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    close(fd);
}

/* A client that has gone again is no reason to wait. */
static void a_listener_goes_on_after_other_errors(void **state)
{
    static const int errors[] = {EAGAIN, EINTR, ECONNABORTED, EPROTO};
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    for (unsigned i = 0; i < 4; i++) {
        int fd = raw_connect(&at);
        let_fail("accept4", errors[i]);
        while (!has_failed()) {
            let_fail("accept4", errors[i]);
            assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        }
        for (int step = 0; step < 20 && w->accepted == i; step++)
            assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
        assert_int_equal(w->accepted, i + 1);
        close(fd);
    }
}

static void a_freed_descriptor_goes_to_a_waiting_listener(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    int first = raw_connect(&at);
    while (w->accepted == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    int second = raw_connect(&at);
    let_fail("accept4", EMFILE);
    while (!has_failed())
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    close(first);
    run_until_ended(w, 1);
    while (w->accepted == 1)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    close(second);
}

static struct iw_connection *try_to_connect(struct world *w, struct end *e, char *error)
{
    struct iw_host_port to = {.host = "127.0.0.1", .port = 1};
    struct iw_endpoint_config config = w->config;
    config.role = IW_MPA_INITIATOR;
    e->world = w;
    return iw_transport_connect(w->reactor, w->domain, &to, &config, &world_ops, e, error, 300);
}

static void connecting_can_fail(void **state)
{
    struct world *w = *state;
    struct end e = {.sends_wanted = 0};
    char error[300] = "";
    let_fail("getaddrinfo", 0);
    assert_null(try_to_connect(w, &e, error));
    assert_string_equal(error, "cannot resolve host \"127.0.0.1\": Name or service not known");
    for (unsigned n = 0; n < 3; n++) {
        let_fail_after(n, "memory", ENOMEM);
        assert_null(try_to_connect(w, &e, error));
        assert_string_equal(error, "cannot make an endpoint: no memory");
        assert_true(has_failed());
    }
    w->config.mulpdu = 1;
    assert_null(try_to_connect(w, &e, error));
    assert_string_equal(error, "cannot make an endpoint: its configuration contradicts itself or "
                               "its private data is too long");
}

static void a_socket_that_cannot_be_opened_ends_the_connection(void **state)
{
    static const struct {
        const char *call;
        int error;
    } cases[] = {{"socket", EMFILE}, {"connect", ENETUNREACH}, {"epoll_ctl", ENOSPC}};
    struct world *w = *state;
    for (unsigned i = 0; i < 3; i++) {
        struct end e = {.sends_wanted = 0};
        char error[300] = "";
        let_fail(cases[i].call, cases[i].error);
        assert_non_null(try_to_connect(w, &e, error));
        assert_true(has_failed());
        run_until_ended(w, i + 1);
        assert_int_equal(e.error, cases[i].error);
        assert_int_equal(e.seen, 1u << IW_EVENT_CLOSED);
    }
}

/* A listener whose queue is full answers no SYN. */
static void a_connect_without_answer_ends_in_time(void **state)
{
    struct world *w = *state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), queued[4];
    assert_int_equal(bind(full, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(full, 0), 0);
    assert_int_equal(getsockname(full, (struct sockaddr *)&at, &length), 0);
    for (int i = 0; i < 4; i++) {
        queued[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(queued[i], (struct sockaddr *)&at, sizeof(at));
    }
    struct iw_host_port to = {.host = "127.0.0.1", .port = ntohs(at.sin_port)};
    struct end e = {.sends_wanted = 0};
    connect_to(w, &e, &to);
    assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_false(e.ended);
    failing_clock += 61; /* the start-up has 60 seconds */
    run_until_ended(w, 1);
    assert_int_equal(e.error, ETIMEDOUT);
    for (int i = 0; i < 4; i++)
        close(queued[i]);
    close(full);
}

static void adopting_can_fail(void **state)
{
    static const struct {
        const char *call;
        int error;
    } cases[] = {{"memory", ENOMEM}, {"fcntl", EBADF}, {"epoll_ctl", ENOSPC}};
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    int fd = raw_connect(&at);
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(cases[i].call, "fcntl") == 0)
            let_fail_after(1, cases[i].call, cases[i].error); /* F_SETFL */
        else
            let_fail(cases[i].call, cases[i].error);
        assert_null(iw_transport_adopt(w->reactor, w->domain, fd, &w->config, &world_ops, NULL));
        assert_int_equal(errno, cases[i].error);
        assert_true(has_failed());
    }
    struct end e = {.world = w};
    let_fail("getpeername", ENOTCONN);
    e.c = iw_transport_adopt(w->reactor, w->domain, fd, &w->config, &world_ops, &e);
    assert_non_null(e.c);
    assert_ptr_equal(iw_connection_context(e.c), &e);
    char text[IW_TRANSPORT_TEXT];
    iw_connection_remote(e.c, text);
    assert_string_equal(text, "-");
    iw_connection_local(e.c, text);
    assert_memory_equal(text, "127.0.0.1:", 10);
    iw_connection_destroy(e.c);
}

/* Each of these costs one try, and the exchange goes on. */
static void a_call_that_is_to_be_repeated_is(void **state)
{
    static const struct {
        const char *call;
        int error;
    } cases[] = {{"recv", EINTR},
                 {"recv", EAGAIN},
                 {"send", EINTR},
                 {"send", EAGAIN},
                 {"getsockopt", ENOPROTOOPT}};
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct end e = {.sends_wanted = 2};
        connect_to(w, &e, &at);
        post_recv(&e);
        let_fail(cases[i].call, cases[i].error);
        run_until_ended(w, 2 * i + 2);
        assert_true(has_failed());
        assert_int_equal(e.completions[IW_WORK_RECV], 2);
        assert_true(e.graceful);
        assert_int_equal(e.error, 0);
    }
}

static void reading_can_fail(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct end e = {.sends_wanted = 1};
    connect_to(w, &e, &at);
    post_recv(&e);
    let_fail("recv", ETIMEDOUT); /* the server's, of the Request */
    run_until_ended(w, 2);
    assert_int_equal(w->servers[0].error, ETIMEDOUT);
    assert_false(w->servers[0].graceful);
    assert_int_equal(e.error, ECONNRESET);
}

/* The client cannot send; what the peer sends, here a FIN for its silence, is still read. */
static void writing_can_fail(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct end e = {.sends_wanted = 1};
    connect_to(w, &e, &at);
    post_recv(&e);
    let_fail("send", EPIPE); /* the client's Request */
    while (w->accepted == 0 || !has_failed()) {
        let_fail("send", EPIPE);
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    }
    assert_false(e.ended);
    iw_endpoint_abort(iw_connection_endpoint(w->servers[0].c), false, 0, iw_transport_now());
    iw_connection_kick(w->servers[0].c);
    run_until_ended(w, 2);
    assert_int_equal(e.error, EPIPE);
    assert_false(e.graceful);
}

static void epoll_can_refuse_a_change(void **state)
{
    struct world *w = *state;
    char address[IW_TRANSPORT_TEXT], error[300] = "";
    struct iw_host_port at = {.host = "127.0.0.1"};
    int listening = iw_transport_bind(&at, address, error, sizeof(error));
    assert_true(listening >= 0);
    assert_int_equal(iw_transport_parse(address, &at, error, sizeof(error)), 0);
    struct end e = {.sends_wanted = 1};
    connect_to(w, &e, &at);
    let_fail("epoll_ctl", ENOMEM); /* from connecting to reading */
    run_until_ended(w, 1);
    assert_true(has_failed());
    assert_int_equal(e.error, ENOMEM);
    assert_false(e.graceful);
    close(listening);
}

/* Reports the peer's close to nobody, hence never closes itself. */
static void idle(void *context, struct iw_connection *c)
{
    struct end *e = context;
    struct iw_event event;
    while (iw_endpoint_event(iw_connection_endpoint(c), &event))
        e->seen |= 1u << event.kind;
}

static void a_reset_after_the_peers_fin_is_noticed(void **state)
{
    static const struct iw_connection_ops idle_ops = {.ready = idle, .ended = ended};
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct iw_endpoint_config config = w->config;
    char error[300];
    struct end e = {.world = w};
    config.role = IW_MPA_INITIATOR;
    e.c = iw_transport_connect(w->reactor, w->domain, &at, &config, &idle_ops, &e, error,
                               sizeof(error));
    assert_non_null(e.c);
    while (!(e.seen & 1u << IW_EVENT_ESTABLISHED))
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    iw_endpoint_shutdown(iw_connection_endpoint(w->servers[0].c), iw_transport_now());
    iw_connection_kick(w->servers[0].c);
    while (!(e.seen & 1u << IW_EVENT_PEER_CLOSED))
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    assert_false(e.ended);
    iw_connection_destroy(w->servers[0].c);
    run_until_ended(w, 1);
    assert_true(e.ended);
    assert_int_equal(e.error, EPIPE);
}

static void connections_and_listeners_go_in_any_order(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 0);
    struct iw_listener *first = w->listener;
    listen_at(w, "127.0.0.1:0", 0);
    iw_listener_destroy(first);
    at.port = iw_listener_port(w->listener);
    listen_at(w, "127.0.0.1:0", 0);
    struct iw_listener *last = w->listener;
    int fd[3];
    for (int i = 0; i < 3; i++)
        fd[i] = raw_connect(&at);
    while (w->accepted < 3)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    /* All are waiting to be served when the middle one and the first one go. */
    for (int i = 0; i < 3; i++)
        iw_connection_kick(w->servers[i].c);
    iw_connection_destroy(w->servers[1].c);
    iw_connection_destroy(w->servers[0].c);
    iw_listener_destroy(last);
    close(fd[2]);
    run_until_ended(w, 1);
    assert_true(w->servers[2].ended);
    assert_false(w->servers[0].ended);
    iw_connection_destroy(NULL);
    iw_listener_destroy(NULL);
    iw_watch_destroy(NULL);
    iw_reactor_destroy(NULL);
    close(fd[0]);
    close(fd[1]);
}

static void a_local_socket_has_no_address(void **state)
{
    struct world *w = *state;
    struct end e = {.world = w};
    char text[IW_TRANSPORT_TEXT];
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    e.c = iw_transport_adopt(w->reactor, w->domain, fds[0], &w->config, &world_ops, &e);
    assert_non_null(e.c);
    iw_connection_local(e.c, text);
    assert_string_equal(text, "-");
    iw_connection_remote(e.c, text);
    assert_string_equal(text, "-");
    iw_connection_destroy(e.c);
    close(fds[1]);
}

static void randomness_that_is_interrupted_is_asked_for_again(void **state)
{
    struct world *w = *state;
    uint8_t octets[64] = {0}, none[64] = {0};
    let_fail("getrandom", EINTR);
    w->host.env.random(w->host.env.context, octets, sizeof(octets));
    assert_true(has_failed());
    assert_memory_not_equal(octets, none, sizeof(octets));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reactor_needs_memory_and_a_descriptor),
        TEST(waiting_can_fail),
        TEST(a_watch_needs_memory_and_epoll),
        TEST(listening_can_fail),
        TEST(an_address_can_be_unknown),
        TEST(a_connection_that_cannot_be_made_is_closed),
        TEST(a_listener_without_descriptors_waits),
        TEST(a_listener_goes_on_after_other_errors),
        TEST(a_freed_descriptor_goes_to_a_waiting_listener),
        TEST(connecting_can_fail),
        TEST(a_socket_that_cannot_be_opened_ends_the_connection),
        TEST(a_connect_without_answer_ends_in_time),
        TEST(adopting_can_fail),
        TEST(a_call_that_is_to_be_repeated_is),
        TEST(reading_can_fail),
        TEST(writing_can_fail),
        TEST(epoll_can_refuse_a_change),
        TEST(a_reset_after_the_peers_fin_is_noticed),
        TEST(connections_and_listeners_go_in_any_order),
        TEST(a_local_socket_has_no_address),
        TEST(randomness_that_is_interrupted_is_asked_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
