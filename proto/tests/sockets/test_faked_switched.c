/* SPDX-License-Identifier: BSD-3-Clause */
/* A switched socket by the calls of a program: what each returns while it begins, while it is open,
 * after a refusal and at its end. Rsockets have no part in it. */
#include "faked_rsockets.h"

#include <sys/epoll.h>

#include "iwarp/sockets.h"

enum { CLIENT, SERVER };

static int fd[2];

static int begin_pair(void **unused)
{
    struct sockaddr_in at = at_port("127.0.0.5", 0); /* which no rule names */
    socklen_t length = sizeof(at);
    begin(unused);
    const int listener = stream_socket();
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    fd[CLIENT] = stream_socket();
    assert_int_equal(connect(fd[CLIENT], (struct sockaddr *)&at, sizeof(at)), 0);
    fd[SERVER] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd[SERVER] >= 0);
    close(listener);
    for (int i = 0; i < 2; i++)
        set_blocking(fd[i], false);
    return 0;
}

static int end_pair(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return 0;
}

static int set_mode(int number, int role, uint32_t flags)
{
    const struct iw_sockets_mode mode = {.role = role, .flags = flags};
    return setsockopt(number, SOL_TCP, IWARP_MODE, &mode, sizeof(mode));
}

/* It may be done at once. */
static void begins(int number, int role, uint32_t flags)
{
    if (set_mode(number, role, flags) != 0)
        assert_int_equal(errno, EINPROGRESS);
}

static short events_of(int number, short events, int ms)
{
    struct pollfd one = {.fd = number, .events = events};
    const int ready = poll(&one, 1, ms);
    assert_int_equal(ready, one.revents != 0);
    return one.revents;
}

static void switch_both(void)
{
    begins(fd[SERVER], IWARP_RESPONDER, 0);
    begins(fd[CLIENT], IWARP_INITIATOR, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(events_of(fd[i], POLLOUT, GUARD), POLLOUT);
        assert_int_equal(option(fd[i], SOL_SOCKET, SO_ERROR), 0);
        assert_true(is_iwarp(fd[i]));
    }
}

static int waiting(int number)
{
    int octets = -1;
    assert_int_equal(ioctl(number, FIONREAD, &octets), 0);
    return octets;
}

/* While it begins nothing else works; at its failure it is TCP again. */
static void beginning(void **unused)
{
    (void)unused;
    char octet;
    struct sockaddr_in name = {0};
    socklen_t length = sizeof(name);
    struct iw_sockets_completion done;
    const struct iw_sockets_request r = {.operation = IW_SOCKETS_OP_IMMEDIATE};
    fails(set_mode(fd[CLIENT], IWARP_INITIATOR, IW_SOCKETS_PLAIN), EINPROGRESS);
    fails(set_mode(fd[CLIENT], IWARP_INITIATOR, 0), EALREADY);
    assert_int_equal(option(fd[CLIENT], SOL_TCP, IWARP_MODE), IWARP_INITIATOR);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_ERROR), 0);
    assert_int_equal(events_of(fd[CLIENT], POLLIN | POLLOUT | POLLRDHUP, 0), 0);
    fails(recv(fd[CLIENT], &octet, 1, 0), EAGAIN);
    fails(send(fd[CLIENT], "x", 1, 0), EAGAIN);
    fails(shutdown(fd[CLIENT], SHUT_WR), ENOTCONN);
    fails(iw_sockets_post(fd[CLIENT], &r), ENOTCONN);
    assert_int_equal(iw_sockets_poll(fd[CLIENT], &done, 1, 0), 0);
    fails(iw_sockets_accept(fd[CLIENT], NULL, 0), EINVAL);
    assert_int_equal(waiting(fd[CLIENT]), 0);
    assert_int_equal(getpeername(fd[CLIENT], (struct sockaddr *)&name, &length), 0);
    assert_int_not_equal(name.sin_port, 0);
    /* The peer goes. */
    close(fd[SERVER]);
    fd[SERVER] = -1;
    assert_int_equal(events_of(fd[CLIENT], POLLIN, GUARD), POLLIN | POLLERR | POLLHUP);
    assert_int_equal(events_of(fd[CLIENT], POLLOUT | POLLRDHUP, 0),
                     POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
    fails(recv(fd[CLIENT], &octet, 1, 0), ECONNRESET);
    assert_int_equal(option(fd[CLIENT], SOL_TCP, IWARP_MODE), IWARP_INITIATOR);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_ERROR), ECONNRESET);
    assert_false(is_iwarp(fd[CLIENT]));
    assert_int_equal(option(fd[CLIENT], SOL_TCP, IWARP_MODE), IWARP_OFF);
}

static void time_option(int number, int name, const struct timeval *t, socklen_t length, int error)
{
    errno = 0;
    assert_int_equal(setsockopt(number, SOL_SOCKET, name, t, length), error != 0 ? -1 : 0);
    assert_int_equal(errno, error);
}

static void options(void **unused)
{
    (void)unused;
    char octet;
    struct sockaddr_in name = {0}, own = {0};
    socklen_t length = sizeof(name);
    switch_both();
    assert_int_equal(option(fd[CLIENT], SOL_TCP, IWARP_MODE), IWARP_INITIATOR);
    assert_int_equal(option(fd[SERVER], SOL_TCP, IWARP_MODE), IWARP_RESPONDER);
    fails(set_mode(fd[CLIENT], IWARP_INITIATOR, 0), EISCONN);
    fails(connect_at(fd[CLIENT], "127.0.0.5"), EISCONN);
    fails(listen(fd[CLIENT], 1), EINVAL);
    fails(accept(fd[CLIENT], NULL, NULL), EINVAL);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_TYPE), SOCK_STREAM);
    assert_int_equal(setsockopt(fd[CLIENT], SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int)), 0);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_KEEPALIVE), 1);
    /* FPDUs leave at once, whatever is asked for. */
    const int before = systems_option(fd[CLIENT], IPPROTO_TCP, TCP_NODELAY);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setsockopt(fd[CLIENT], SOL_TCP, TCP_NODELAY, &i, sizeof(i)), 0);
        assert_int_equal(systems_option(fd[CLIENT], IPPROTO_TCP, TCP_NODELAY), before);
        assert_int_equal(setsockopt(fd[CLIENT], SOL_TCP, TCP_CORK, &i, sizeof(i)), 0);
        assert_int_equal(systems_option(fd[CLIENT], IPPROTO_TCP, TCP_CORK), 0);
    }
    assert_int_equal(getpeername(fd[CLIENT], (struct sockaddr *)&name, &length), 0);
    assert_int_equal(getsockname(fd[SERVER], (struct sockaddr *)&own, &length), 0);
    assert_memory_equal(&name, &own, sizeof(name));
    /* Time-outs of the socket. */
    static const int names[] = {SO_RCVTIMEO, SO_SNDTIMEO};
    for (int i = 0; i < 2; i++) {
        struct timeval t = {3 + i, 999999}, got = {9, 9};
        time_option(fd[CLIENT], names[i], &t, sizeof(t), 0);
        time_option(fd[CLIENT], names[i], &t, sizeof(t) - 1, EINVAL);
        t.tv_usec = 1000000;
        time_option(fd[CLIENT], names[i], &t, sizeof(t), EDOM);
        t.tv_usec = -1;
        time_option(fd[CLIENT], names[i], &t, sizeof(t), EDOM);
        t = (struct timeval){-1, 0};
        time_option(fd[CLIENT], names[i], &t, sizeof(t), EDOM);
        length = sizeof(got);
        assert_int_equal(getsockopt(fd[CLIENT], SOL_SOCKET, names[i], &got, &length), 0);
        assert_int_equal(length, sizeof(got));
        assert_true(got.tv_sec == 3 + i && got.tv_usec == 999999);
        length = sizeof(got) - 1;
        fails(getsockopt(fd[CLIENT], SOL_SOCKET, names[i], &got, &length), EINVAL);
        t = (struct timeval){0, 0};
        time_option(fd[CLIENT], names[i], &t, sizeof(t), 0);
    }
    /* It blocks or not as the program says, until the time-out. */
    fails(read(fd[CLIENT], &octet, 1), EAGAIN);
    set_time(fd[CLIENT], SO_RCVTIMEO, 5);
    set_blocking(fd[CLIENT], true);
    fails(read(fd[CLIENT], &octet, 1), EAGAIN);
    assert_int_equal(write(fd[SERVER], "ab", 2), 2);
    set_time(fd[CLIENT], SO_RCVTIMEO, GUARD);
    assert_int_equal(read(fd[CLIENT], &octet, 1), 1);
    assert_int_equal(recv(fd[CLIENT], &octet, 1, MSG_DONTWAIT), 1);
    assert_int_equal(octet, 'b');
    fails(recv(fd[CLIENT], &octet, 1, MSG_DONTWAIT), EAGAIN);
}

static void events(void **unused)
{
    (void)unused;
    enum { ALL_IN = POLLIN | POLLRDNORM, ALL_OUT = POLLOUT | POLLWRNORM };
    char in[8];
    switch_both();
    assert_int_equal(events_of(fd[CLIENT], ALL_IN | POLLRDHUP, 0), 0);
    assert_int_equal(events_of(fd[CLIENT], ALL_OUT | ALL_IN, 0), ALL_OUT);
    assert_int_equal(events_of(fd[CLIENT], POLLWRNORM, 0), POLLWRNORM);
    assert_int_equal(events_of(fd[CLIENT], 0, 0), 0);
    assert_int_equal(write(fd[CLIENT], "abcde", 5), 5);
    assert_int_equal(events_of(fd[SERVER], POLLIN, GUARD), POLLIN);
    assert_int_equal(events_of(fd[SERVER], ALL_IN, 0), ALL_IN);
    assert_int_equal(events_of(fd[SERVER], POLLRDNORM | POLLRDHUP, 0), POLLRDNORM);
    assert_int_equal(events_of(fd[SERVER], ALL_IN | ALL_OUT, 0), ALL_IN | ALL_OUT);
    assert_int_equal(waiting(fd[SERVER]), 5);
    assert_int_equal(recv(fd[SERVER], in, 8, MSG_PEEK), 5);
    assert_int_equal(read(fd[SERVER], in, 3), 3);
    assert_int_equal(waiting(fd[SERVER]), 2);
    assert_int_equal(events_of(fd[SERVER], POLLIN, 0), POLLIN);
    assert_int_equal(read(fd[SERVER], in, 3), 2);
    assert_int_equal(events_of(fd[SERVER], POLLIN, 0), 0);
    /* An end of one direction, then of both. */
    assert_int_equal(shutdown(fd[CLIENT], SHUT_WR), 0);
    fails(send(fd[CLIENT], "x", 1, MSG_NOSIGNAL), EPIPE);
    assert_int_equal(events_of(fd[CLIENT], POLLOUT, 0), POLLOUT);
    assert_int_equal(events_of(fd[CLIENT], POLLIN, 0), 0);
    assert_int_equal(events_of(fd[SERVER], POLLRDHUP, GUARD), POLLRDHUP);
    assert_int_equal(events_of(fd[SERVER], POLLIN | POLLRDHUP, 0), POLLIN | POLLRDHUP);
    assert_int_equal(read(fd[SERVER], in, 3), 0);
    assert_int_equal(events_of(fd[SERVER], POLLOUT, 0), POLLOUT);
    assert_int_equal(events_of(fd[SERVER], 0, 0), 0);
    assert_int_equal(shutdown(fd[SERVER], SHUT_WR), 0);
    assert_int_equal(events_of(fd[SERVER], 0, GUARD), POLLHUP);
    assert_int_equal(events_of(fd[CLIENT], 0, GUARD), POLLHUP);
    assert_int_equal(option(fd[SERVER], SOL_SOCKET, SO_ERROR), 0);
    fails(shutdown(fd[SERVER], 5), EINVAL);
}

/* A connection that is reset: SO_ERROR reports its error once. */
static void a_reset(void **unused)
{
    (void)unused;
    char octet;
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    switch_both();
    assert_int_equal(iw_libc()->connect(fd[SERVER], &nowhere, sizeof(nowhere)), 0);
    assert_int_equal(events_of(fd[CLIENT], POLLIN, GUARD), POLLIN | POLLERR | POLLHUP);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_ERROR), ECONNRESET);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_ERROR), 0);
    assert_true(is_iwarp(fd[CLIENT]));
    fails(read(fd[CLIENT], &octet, 1), ECONNRESET);
    fails(send(fd[CLIENT], "x", 1, MSG_NOSIGNAL), ECONNRESET);
    fails(shutdown(fd[CLIENT], SHUT_WR), ENOTCONN);
    struct iw_sockets_completion done;
    fails(iw_sockets_poll(fd[CLIENT], &done, 1, 0), ECONNRESET);
    fails(iw_sockets_advertise(fd[CLIENT], &octet, 1, IW_SOCKETS_READABLE,
                               &(struct iw_sockets_memory){0}),
          ECONNRESET);
}

/* In the time between a refusal and that the program asks for it the socket is TCP already. */
static void a_refusal(void **unused)
{
    (void)unused;
    char in[8];
    begins(fd[SERVER], IWARP_RESPONDER, IW_SOCKETS_ASK);
    begins(fd[CLIENT], IWARP_INITIATOR, 0);
    assert_int_equal(events_of(fd[SERVER], POLLIN | POLLOUT, GUARD), POLLOUT);
    fails(read(fd[SERVER], in, 1), EAGAIN);
    fails(send(fd[SERVER], in, 1, 0), EAGAIN);
    assert_int_equal(option(fd[SERVER], SOL_SOCKET, SO_ERROR), 0);
    fails(set_mode(fd[SERVER], IWARP_RESPONDER, 0), EISCONN);
    assert_int_equal(iw_sockets_reject(fd[SERVER], "no", 2), 0);
    assert_false(is_iwarp(fd[SERVER]));
    assert_int_equal(option(fd[SERVER], SOL_TCP, IWARP_MODE), IWARP_OFF);
    assert_int_equal(events_of(fd[CLIENT], POLLOUT, GUARD), POLLOUT);
    assert_true(is_iwarp(fd[CLIENT]));
    assert_int_equal(option(fd[CLIENT], SOL_TCP, IWARP_MODE), IWARP_OFF);
    fails(read(fd[CLIENT], in, 1), EAGAIN);
    assert_int_equal(events_of(fd[CLIENT], POLLIN | POLLRDHUP, 0), 0);
    assert_int_equal(write(fd[SERVER], "plain", 5), 5);
    assert_int_equal(events_of(fd[CLIENT], POLLIN, GUARD), POLLIN);
    assert_int_equal(events_of(fd[CLIENT], POLLIN | POLLOUT, 0), POLLIN | POLLOUT);
    assert_int_equal(waiting(fd[CLIENT]), 5);
    assert_int_equal(read(fd[CLIENT], in, 8), 5);
    assert_memory_equal(in, "plain", 5);
    assert_int_equal(write(fd[CLIENT], "back", 4), 4);
    assert_int_equal(events_of(fd[SERVER], POLLIN, GUARD), POLLIN);
    assert_int_equal(read(fd[SERVER], in, 8), 4);
    const int on = 1;
    assert_int_equal(setsockopt(fd[CLIENT], SOL_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    assert_int_equal(systems_option(fd[CLIENT], IPPROTO_TCP, TCP_NODELAY), 1);
    set_time(fd[CLIENT], SO_RCVTIMEO, 5);
    set_blocking(fd[CLIENT], true);
    fails(read(fd[CLIENT], in, 1), EAGAIN); /* by the system's time-out */
    set_blocking(fd[CLIENT], false);
    struct iw_sockets_completion done;
    assert_int_equal(shutdown(fd[CLIENT], SHUT_WR), 0);
    assert_int_equal(events_of(fd[SERVER], POLLIN | POLLRDHUP, GUARD), POLLIN | POLLRDHUP);
    fails(iw_sockets_poll(fd[CLIENT], &done, 1, 0), ENOTCONN);
    assert_int_equal(iw_sockets_private(fd[CLIENT], in, 8), 2);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_ERROR), ECONNREFUSED);
    assert_false(is_iwarp(fd[CLIENT]));
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_ERROR), 0);
    assert_int_equal(iw_sockets_private(fd[CLIENT], in, 8), 2);
    assert_memory_equal(in, "no", 2);
}

static void one_sided(void **unused)
{
    (void)unused;
    char memory[16] = "", out[] = "written";
    struct iovec piece = {out, 7};
    struct iw_sockets_memory name;
    struct iw_sockets_completion done;
    struct iw_sockets_terminate said;
    switch_both();
    assert_int_equal(
        iw_sockets_advertise(fd[SERVER], memory, sizeof(memory), IW_SOCKETS_WRITABLE, &name), 0);
    const struct iw_sockets_request r = {.id = 3,
                                         .operation = IW_SOCKETS_OP_WRITE,
                                         .pieces = &piece,
                                         .piece_count = 1,
                                         .stag = name.stag,
                                         .to = name.to + 1};
    const int event = iw_sockets_event(fd[CLIENT]);
    assert_int_equal(events_of(event, POLLIN, 0), 0);
    assert_int_equal(iw_sockets_post(fd[CLIENT], &r), 0);
    assert_int_equal(events_of(event, POLLIN, GUARD), POLLIN);
    assert_int_equal(iw_sockets_poll(fd[CLIENT], &done, 1, 0), 1);
    assert_int_equal(done.id, 3);
    assert_int_equal(done.error, 0);
    assert_int_equal(write(fd[CLIENT], "x", 1), 1);
    assert_int_equal(events_of(fd[SERVER], POLLIN, GUARD), POLLIN);
    assert_memory_equal(memory, "\0written\0", 9);
    fails(iw_sockets_terminate(fd[CLIENT], &said), ENODATA);
    assert_int_equal(iw_sockets_withdraw(fd[SERVER], name.stag), 0);
    fails(iw_sockets_withdraw(fd[SERVER], name.stag), EINVAL);
    /* What was withdrawn is refused, which both learn. */
    assert_int_equal(iw_sockets_post(fd[CLIENT], &r), 0);
    assert_int_equal(events_of(fd[CLIENT], POLLRDHUP, GUARD), POLLRDHUP | POLLERR | POLLHUP);
    assert_int_equal(option(fd[CLIENT], SOL_SOCKET, SO_ERROR), EREMOTEIO);
    assert_int_equal(iw_sockets_terminate(fd[CLIENT], &said), 0);
    assert_true(said.by_peer);
    assert_int_equal(option(fd[SERVER], SOL_SOCKET, SO_ERROR), EPROTO);
    assert_int_equal(iw_sockets_terminate(fd[SERVER], &said), 0);
    assert_false(said.by_peer);
}

/* In a set of epoll it is the system's descriptors that are waited for. */
static void in_a_set(void **unused)
{
    (void)unused;
    char in[8];
    const int set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN | EPOLLET}, got;
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd[SERVER], &e), 0);
    switch_both();
    assert_int_equal(epoll_wait(set, &got, 1, 0), 0);
    assert_int_equal(write(fd[CLIENT], "a", 1), 1);
    assert_int_equal(epoll_wait(set, &got, 1, GUARD), 1);
    assert_int_equal(got.events, EPOLLIN);
    assert_int_equal(epoll_wait(set, &got, 1, 1), 0);
    assert_int_equal(read(fd[SERVER], in, 8), 1);
    assert_int_equal(epoll_wait(set, &got, 1, 0), 0);
    e.events = EPOLLIN | EPOLLOUT;
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_MOD, fd[SERVER], &e), 0);
    assert_int_equal(epoll_wait(set, &got, 1, 0), 1);
    assert_int_equal(got.events, EPOLLOUT);
    close(set);
    /* Its numbers: the last one ends it. */
    const int copy = dup(fd[CLIENT]);
    close(fd[CLIENT]);
    fd[CLIENT] = copy;
    assert_int_equal(write(copy, "b", 1), 1);
    assert_int_equal(events_of(fd[SERVER], POLLIN, GUARD), POLLIN);
    assert_int_equal(read(fd[SERVER], in, 8), 1);
    close(copy);
    fd[CLIENT] = -1;
    assert_int_equal(events_of(fd[SERVER], POLLIN, GUARD), POLLIN);
    assert_int_equal(read(fd[SERVER], in, 8), 0);
}

#define SWITCHED(name) cmocka_unit_test_setup_teardown(name, begin_pair, end_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWITCHED(beginning), SWITCHED(options),   SWITCHED(events),   SWITCHED(a_reset),
        SWITCHED(a_refusal), SWITCHED(one_sided), SWITCHED(in_a_set),
    };
    give_rules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
