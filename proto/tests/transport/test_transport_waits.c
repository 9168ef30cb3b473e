/* SPDX-License-Identifier: BSD-3-Clause */
/* When epoll is asked, and how long a socket waits. */
#include "transport/transport_internal.h"
#include "transport_world.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>

static void nothing(void *context, uint32_t events)
{
    (void)context;
    (void)events;
}

/* Of 65 busy steps with few sources one asks epoll; with many each does. */
static void busy_steps_leave_epoll_out(void **state)
{
    struct world *w = *state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    iw_reactor_busy(w->reactor, true);
    int ends[17];
    for (int i = 0; i < 16; i++) {
        ends[i] = dup(fds[0]);
        assert_non_null(iw_watch_create(w->reactor, ends[i], EPOLLIN, nothing, NULL));
    }
    for (int i = 0; i < 65 * 2; i++) {
        assert_int_equal(iw_reactor_calls(w->reactor), i / 65);
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    }
    assert_int_equal(iw_reactor_calls(w->reactor), 2);
    assert_int_equal(iw_reactor_step(w->reactor, 1), 0); /* one that may wait is not busy */
    assert_int_equal(iw_reactor_calls(w->reactor), 3);
    ends[16] = dup(fds[0]);
    assert_non_null(iw_watch_create(w->reactor, ends[16], EPOLLIN, nothing, NULL));
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(iw_reactor_calls(w->reactor), 3 + i);
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    }
    iw_reactor_busy(w->reactor, false);
    for (int i = 0; i < 17; i++)
        close(ends[i]);
    close(fds[0]);
    close(fds[1]);
}

/* A connection of the reactor, to a socket of the test. */
static struct iw_connection *open_one(struct world *w, struct end *e, int *peer)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    *peer = raw_connect(&(struct iw_host_port){.port = ntohs(at.sin_port)});
    int fd = accept(listener, NULL, NULL);
    close(listener);
    e->world = w;
    w->config.role = IW_MPA_RESPONDER;
    w->config.startup_timeout = UINT64_C(3600) * 1000000000; /* no wait ends with it */
    e->c = iw_transport_adopt(w->reactor, w->domain, fd, &w->config, &world_ops, e);
    assert_non_null(e->c);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    return e->c;
}

/* Of five steps that serve a connection one asks the socket as well. */
static void steps_that_serve_leave_epoll_out(void **state)
{
    struct world *w = *state;
    struct end e = {0};
    int peer;
    struct iw_connection *c = open_one(w, &e, &peer);
    for (int i = 0; i < 8; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    w->reactor->unasked = 0;
    uint64_t before = iw_reactor_calls(w->reactor);
    for (uint64_t i = 0; i < 15; i++) {
        iw_connection_kick(c);
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
        assert_int_equal(iw_reactor_calls(w->reactor) - before, (i + 1) / 5);
    }
    iw_connection_destroy(c);
    close(peer);
}

/* Returns whether the reactor's set of epoll has a descriptor. */
static bool in_epoll(const struct world *w, int fd)
{
    char path[64], line[200];
    bool found = false;
    int number;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", w->reactor->epoll);
    FILE *info = fopen(path, "re");
    assert_non_null(info);
    while (fgets(line, sizeof(line), info) != NULL)
        found = found || (sscanf(line, "tfd: %d", &number) == 1 && number == fd);
    fclose(info);
    return found;
}

/* Steps busily, unwatched, until epoll has been asked. */
static void step_unwatched(struct world *w)
{
    iw_reactor_busy(w->reactor, true);
    iw_reactor_unwatched(w->reactor);
    for (int i = 0; i < 66; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
}

static void expect_taken(const struct iw_connection *c)
{
    int left = -1;
    assert_int_equal(ioctl(c->fd, FIONREAD, &left), 0);
    assert_int_equal(left, 0);
}

/* Until somebody wants the descriptor to wait for, or a step may wait, or is not busy. */
static void busy_steps_keep_a_connection_out_of_epoll(void **state)
{
    struct world *w = *state;
    struct end e = {0};
    int peer;
    struct iw_connection *c = open_one(w, &e, &peer);
    for (int i = 0; i < 8; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    iw_reactor_busy(w->reactor, true);
    for (int i = 0; i < 66; i++) /* somebody may wait */
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_true(in_epoll(w, c->fd));

    step_unwatched(w);
    assert_false(in_epoll(w, c->fd));
    assert_int_equal(send(peer, "M", 1, 0), 1);
    assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    expect_taken(c);
    assert_int_equal(send(peer, "P", 1, 0), 1);
    struct pollfd reported = {.fd = iw_reactor_fd(w->reactor), .events = POLLIN};
    assert_true(in_epoll(w, c->fd));
    assert_int_equal(poll(&reported, 1, LONG), 1);

    step_unwatched(w);
    assert_false(in_epoll(w, c->fd));
    assert_int_equal(send(peer, "A", 1, 0), 1);
    assert_int_equal(iw_reactor_step(w->reactor, LONG), 0); /* finds it */
    assert_true(in_epoll(w, c->fd));
    expect_taken(c);

    step_unwatched(w);
    assert_false(in_epoll(w, c->fd));
    iw_reactor_busy(w->reactor, false);
    assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_true(in_epoll(w, c->fd));

    /* Not while it waits for more than octets. */
    step_unwatched(w);
    iw_connection_hold(c, true);
    for (int i = 0; i < 66; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_true(in_epoll(w, c->fd));
    iw_connection_hold(c, false);
    step_unwatched(w);
    assert_false(in_epoll(w, c->fd));
    close(peer);
    while (e.c != NULL && !c->read_done)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    iw_reactor_busy(w->reactor, false);
}

static struct timeval waiting(const struct iw_connection *c)
{
    struct timeval t = {0};
    socklen_t length = sizeof(t);
    assert_int_equal(getsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &t, &length), 0);
    return t;
}

/* The only connection waits in its receive; an octet is there already. */
static void a_wait_has_its_time(void **state)
{
    static const struct {
        int ms;
        long seconds, microseconds;
    } rows[] = /* multiples of a kernel tick */ {
        {1500, 1, 500000}, {20, 0, 20000}, {2000, 2, 0}, {1040, 1, 40000}};
    struct world *w = *state;
    struct end e = {0};
    int peer;
    struct iw_connection *c = open_one(w, &e, &peer);
    for (int i = 0; i < 8; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_int_equal(waiting(c).tv_sec + waiting(c).tv_usec, 0); /* none of them waited */
    size_t n = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (int again = 0; again < 2; again++) {
            assert_int_equal(send(peer, &"MPA ID Req"[n++], 1, 0), 1);
            uint64_t before = iw_reactor_calls(w->reactor);
            assert_int_equal(iw_reactor_step(w->reactor, rows[i].ms), 0);
            /* A receive, and before it the time, unless it is the same. */
            assert_int_equal(iw_reactor_calls(w->reactor) - before, again ? 1 : 2);
            assert_int_equal(waiting(c).tv_sec, rows[i].seconds);
            assert_int_equal(waiting(c).tv_usec, rows[i].microseconds);
        }
    iw_connection_destroy(c);
    close(peer);
}

/* One that came while there were as many as may be waits, until another is gone. */
static void no_more_than_the_limit(void **state)
{
    struct world *w = *state;
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", 2);
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = raw_connect(&at);
    for (unsigned i = 1; i < 3; i++) {
        while (w->accepted < i)
            assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        assert_int_equal(w->listener->live, i);
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_int_equal(w->accepted, 2);
    assert_int_equal(w->listener->live, 2);
    assert_true(w->listener->paused);
    iw_connection_destroy(w->servers[0].c);
    assert_false(w->listener->paused);
    assert_int_equal(w->listener->live, 1);
    while (w->accepted < 3)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(iw_reactor_step(w->reactor, 0), 0);
    assert_int_equal(w->accepted, 3);
    assert_int_equal(w->listener->live, 2);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(busy_steps_leave_epoll_out),
        TEST(steps_that_serve_leave_epoll_out),
        TEST(busy_steps_keep_a_connection_out_of_epoll),
        TEST(a_wait_has_its_time),
        TEST(no_more_than_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
