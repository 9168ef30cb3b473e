/* SPDX-License-Identifier: BSD-3-Clause */
/* poll, select and epoll on iWARP sockets, beside plain descriptors. */
#include "preload_pair.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

enum { SOON = 20 /* ms: for a wait that is to end without an event */ };

static void test_poll(void **state)
{
    struct pair p;
    int plain[2];
    char octets[8];
    (void)state;
    open_pair(&p);
    assert_int_equal(pipe(plain), 0);
    struct pollfd list[4] = {{.fd = p.server, .events = POLLIN},
                             {.fd = -1, .events = POLLIN, .revents = 99},
                             {.fd = plain[0], .events = POLLIN},
                             {.fd = p.client, .events = POLLIN | POLLOUT}};
    assert_int_equal(poll(list, 3, 0), 0);
    assert_int_equal(list[1].revents, 0);
    assert_int_equal(poll(list, 3, SOON), 0);
    assert_int_equal(poll(list, 4, GUARD), 1);
    assert_int_equal(list[3].revents, POLLOUT);
    assert_int_equal(write(plain[1], "p", 1), 1);
    assert_int_equal(poll(list, 3, GUARD), 1);
    assert_int_equal(list[2].revents, POLLIN);
    assert_int_equal(read(plain[0], octets, 1), 1);
    assert_int_equal(write(p.client, "i", 1), 1);
    assert_int_equal(poll(list, 3, GUARD), 1);
    assert_int_equal(list[0].revents, POLLIN);
    assert_int_equal(read(p.server, octets, 1), 1);
    list[1].fd = 1000000; /* no descriptor */
    assert_int_equal(poll(list, 3, GUARD), 1);
    assert_int_equal(list[1].revents, POLLNVAL);
    close(plain[0]);
    close(plain[1]);
    close_pair(&p);
}

/* TCP reports POLLHUP only when both directions are over. */
/* Octets that are there are nothing to one who waits for the end only: the time-out counts. */
static void test_poll_for_the_end_only(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    assert_int_equal(write(p.client, "x", 1), 1);
    await(p.server, POLLIN);
    struct pollfd one = {.fd = p.server, .events = POLLRDHUP};
    assert_int_equal(poll(&one, 1, 0), 0);
    assert_int_equal(one.revents, 0);
    assert_int_equal(poll(&one, 1, 5), 0);
    close_pair(&p);
}

static void test_poll_at_the_end(void **state)
{
    struct pair p;
    char octets[8];
    (void)state;
    open_pair(&p);
    assert_int_equal(write(p.client, "abc", 3), 3);
    close(p.client);
    struct pollfd one = {.fd = p.server, .events = POLLIN | POLLRDHUP};
    await(p.server, POLLRDHUP | POLLIN);
    assert_int_equal(read(p.server, octets, 3), 3);
    while (poll(&one, 1, GUARD) == 1 && (one.revents & POLLRDHUP) == 0)
        ;
    assert_int_equal(one.revents, POLLIN | POLLRDHUP);
    assert_int_equal(read(p.server, octets, 3), 0);
    assert_int_equal(shutdown(p.server, SHUT_WR), 0);
    assert_true(await(p.server, POLLIN) & POLLHUP);
    close(p.server);
    close(p.listener);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int signal)
{
    (void)signal;
    alarms++;
}

/* The mask is in force during the wait and no longer: a signal that waits for it ends the wait. */
static void test_ppoll(void **state)
{
    struct pair p;
    sigset_t blocked, open;
    const struct sigaction count = {.sa_handler = count_alarm};
    (void)state;
    open_pair(&p);
    struct pollfd one = {.fd = p.server, .events = POLLIN};
    const struct timespec soon = {0, SOON * 1000000}, guard = {GUARD / 1000, 0};
    assert_int_equal(ppoll(&one, 1, &soon, NULL), 0);
    sigaction(SIGUSR1, &count, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &open), 0);
    raise(SIGUSR1);
    assert_int_equal(alarms, 0);
    assert_int_equal(ppoll(&one, 1, &guard, &open), -1);
    assert_int_equal(errno, EINTR);
    assert_int_equal(alarms, 1);
    sigprocmask(SIG_SETMASK, &open, NULL);
    signal(SIGUSR1, SIG_DFL);
    close_pair(&p);
}

static void test_select(void **state)
{
    struct pair p;
    fd_set in, out;
    int plain[2];
    (void)state;
    open_pair(&p);
    assert_int_equal(pipe(plain), 0);
    struct timeval t = {0, SOON * 1000};
    FD_ZERO(&in);
    FD_SET(p.server, &in);
    FD_SET(plain[0], &in);
    assert_int_equal(select(FD_SETSIZE, &in, NULL, NULL, &t), 0);
    assert_true(t.tv_sec == 0 && t.tv_usec == 0);
    assert_false(FD_ISSET(p.server, &in));
    assert_int_equal(write(p.client, "x", 1), 1);
    assert_int_equal(write(plain[1], "x", 1), 1);
    await(p.server, POLLIN);
    FD_SET(p.server, &in);
    FD_SET(plain[0], &in);
    FD_ZERO(&out);
    FD_SET(p.server, &out);
    t.tv_sec = GUARD / 1000;
    assert_int_equal(select(FD_SETSIZE, &in, &out, NULL, &t), 3);
    assert_true(FD_ISSET(p.server, &in) && FD_ISSET(plain[0], &in) && FD_ISSET(p.server, &out));
    const struct timespec none = {0, 0};
    FD_ZERO(&in);
    FD_SET(p.client, &in);
    assert_int_equal(pselect(p.client + 1, &in, NULL, NULL, &none, NULL), 0);
    close(plain[0]);
    close(plain[1]);
    close_pair(&p);
}

static void set(int epoll, int operation, int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.fd = fd};
    assert_int_equal(epoll_ctl(epoll, operation, fd, &e), 0);
}

/* Returns the events of `fd`, which must be the only one; 0 after a while without any. */
static uint32_t events_of(int epoll, int fd, int ms)
{
    struct epoll_event e[4];
    const int count = epoll_wait(epoll, e, 4, ms);
    if (count == 0)
        return 0;
    assert_int_equal(count, 1);
    assert_int_equal(e[0].data.fd, fd);
    return e[0].events;
}

static void test_epoll_level(void **state)
{
    struct pair p;
    char octets[8];
    struct epoll_event e[4] = {{.events = EPOLLIN}};
    int plain[2];
    (void)state;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    open_pair(&p);
    assert_int_equal(pipe(plain), 0);
    set(epoll, EPOLL_CTL_ADD, plain[0], EPOLLIN);
    set(epoll, EPOLL_CTL_ADD, p.server, EPOLLIN);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, p.server, e), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(events_of(epoll, p.server, SOON), 0);
    assert_int_equal(write(p.client, "abc", 3), 3);
    assert_int_equal(events_of(epoll, p.server, GUARD), EPOLLIN);
    assert_int_equal(read(p.server, octets, 1), 1);
    assert_int_equal(events_of(epoll, p.server, GUARD), EPOLLIN);
    assert_int_equal(write(plain[1], "x", 1), 1);
    assert_int_equal(epoll_wait(epoll, e, 4, GUARD), 2);
    assert_int_equal(epoll_wait(epoll, e, 1, GUARD), 1);
    const int before = e[0].data.fd;
    assert_int_equal(epoll_wait(epoll, e, 1, GUARD), 1); /* the other one has its turn */
    assert_int_not_equal(e[0].data.fd, before);
    assert_int_equal(read(plain[0], octets, 1), 1);
    set(epoll, EPOLL_CTL_MOD, p.server, EPOLLOUT);
    assert_int_equal(events_of(epoll, p.server, GUARD), EPOLLOUT);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_DEL, p.server, NULL), 0);
    assert_int_equal(events_of(epoll, p.server, SOON), 0);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_DEL, p.server, NULL), -1);
    assert_int_equal(errno, ENOENT);
    set(epoll, EPOLL_CTL_ADD, p.server, EPOLLIN);
    close(p.server); /* which takes it out */
    assert_int_equal(epoll_wait(epoll, e, 4, SOON), 0);
    close(epoll);
    close(plain[0]);
    close(plain[1]);
    close(p.client);
    close(p.listener);
}

static void test_epoll_edge(void **state)
{
    struct pair p;
    char octets[8];
    (void)state;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    open_pair(&p);
    set(epoll, EPOLL_CTL_ADD, p.server, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    assert_int_equal(events_of(epoll, p.server, GUARD), EPOLLOUT);
    assert_int_equal(events_of(epoll, p.server, SOON), 0);
    assert_int_equal(write(p.client, "abc", 3), 3);
    assert_true(events_of(epoll, p.server, GUARD) & EPOLLIN);
    assert_int_equal(events_of(epoll, p.server, SOON), 0); /* the same edge */
    assert_int_equal(read(p.server, octets, 8), 3);
    assert_int_equal(events_of(epoll, p.server, SOON), 0);
    assert_int_equal(write(p.client, "d", 1), 1);
    assert_true(events_of(epoll, p.server, GUARD) & EPOLLIN);
    assert_int_equal(read(p.server, octets, 8), 1);
    close(p.client);
    assert_true(events_of(epoll, p.server, GUARD) & EPOLLRDHUP);
    assert_int_equal(events_of(epoll, p.server, SOON), 0);
    close(epoll);
    close(p.server);
    close(p.listener);
}

static void test_epoll_once(void **state)
{
    struct pair p;
    (void)state;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    open_pair(&p);
    set(epoll, EPOLL_CTL_ADD, p.server, EPOLLIN | EPOLLONESHOT);
    assert_int_equal(write(p.client, "abc", 3), 3);
    assert_int_equal(events_of(epoll, p.server, GUARD), EPOLLIN);
    assert_int_equal(events_of(epoll, p.server, SOON), 0);
    set(epoll, EPOLL_CTL_MOD, p.server, EPOLLIN | EPOLLONESHOT);
    assert_int_equal(events_of(epoll, p.server, GUARD), EPOLLIN);
    close(epoll);
    close_pair(&p);
}

/* Sockets that were put into a set as what they were before. */
static void test_epoll_before_connecting(void **state)
{
    struct pair p;
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof(at);
    (void)state;
    const int epoll = epoll_create1(EPOLL_CLOEXEC), copy = dup(epoll);
    open_listener(&p);
    p.client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    set(epoll, EPOLL_CTL_ADD, p.client, EPOLLOUT);
    if (connect(p.client, address(&p), sizeof(p.at)) != 0)
        assert_int_equal(errno, EINPROGRESS);
    assert_int_equal(events_of(copy, p.client, GUARD), EPOLLOUT);
    set(copy, EPOLL_CTL_MOD, p.client, EPOLLIN);
    assert_int_equal(events_of(epoll, p.client, SOON), 0);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    set(epoll, EPOLL_CTL_ADD, listener, EPOLLIN);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    assert_int_equal(events_of(epoll, listener, SOON), 0);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(events_of(epoll, listener, GUARD), EPOLLIN);
    close(client);
    close(listener);
    close(p.client);
    close(p.listener);
    close(epoll);
    close(copy);
}

/* A set has several numbers; a wait by each of them is one of ours. */
static void test_epoll_copied(void **state)
{
    struct pair p;
    (void)state;
    const int epoll = epoll_create1(EPOLL_CLOEXEC), copy = fcntl(epoll, F_DUPFD_CLOEXEC, 0);
    open_pair(&p);
    set(epoll, EPOLL_CTL_ADD, p.server, EPOLLIN);
    assert_int_equal(events_of(copy, p.server, SOON), 0);
    assert_int_equal(write(p.client, "a", 1), 1);
    assert_int_equal(events_of(copy, p.server, GUARD), EPOLLIN);
    close(epoll);
    assert_int_equal(events_of(copy, p.server, GUARD), EPOLLIN);
    close(copy);
    close_pair(&p);
}

/* Who asks for no event is told of the end of both directions. */
static void test_no_event_but_the_end(void **state)
{
    struct pair p;
    (void)state;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    open_pair(&p);
    set(epoll, EPOLL_CTL_ADD, p.server, 0);
    assert_int_equal(write(p.client, "a", 1), 1);
    assert_int_equal(events_of(epoll, p.server, SOON), 0);
    close(p.client);
    assert_int_equal(events_of(epoll, p.server, SOON), 0); /* this side may write still */
    assert_int_equal(shutdown(p.server, SHUT_WR), 0);
    assert_int_equal(events_of(epoll, p.server, GUARD), EPOLLHUP);
    assert_int_equal(await(p.server, 0), POLLHUP);
    close(epoll);
    close(p.server);
    close(p.listener);
}

static void test_epoll_refuses_nonsense(void **state)
{
    struct pair p;
    struct epoll_event e = {.events = EPOLLIN};
    (void)state;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    open_pair(&p);
    assert_int_equal(epoll_ctl(999999, EPOLL_CTL_ADD, p.server, &e), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_MOD, p.server, &e), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(epoll_ctl(epoll, 77, p.server, &e), -1);
    assert_int_equal(errno, EINVAL);
    const int no_set = open("/dev/null", O_RDWR);
    assert_int_equal(epoll_ctl(no_set, EPOLL_CTL_ADD, p.server, &e), -1);
    assert_int_equal(errno, EINVAL);
    close(no_set);
    set(epoll, EPOLL_CTL_ADD, p.server, EPOLLIN);
    volatile int none = 0; /* where the compiler cannot see it */
    assert_int_equal(epoll_wait(epoll, &e, none, 0), -1);
    assert_int_equal(errno, EINVAL);
    close(epoll);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll),
        cmocka_unit_test(test_poll_for_the_end_only),
        cmocka_unit_test(test_poll_at_the_end),
        cmocka_unit_test(test_ppoll),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_epoll_level),
        cmocka_unit_test(test_epoll_edge),
        cmocka_unit_test(test_epoll_once),
        cmocka_unit_test(test_epoll_before_connecting),
        cmocka_unit_test(test_epoll_copied),
        cmocka_unit_test(test_no_event_but_the_end),
        cmocka_unit_test(test_epoll_refuses_nonsense),
    };
    use_iwarp();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
