/* SPDX-License-Identifier: BSD-3-Clause */
/* How a stream connects, listens and accepts: what rsockets are asked for, and what every failure
 * of theirs becomes. */
#include "faked_rsockets.h"

#include <sys/epoll.h>

static void a_connect(void **unused)
{
    (void)unused;
    const int fd = connected();
    assert_int_equal(fake.sockets, 1);
    assert_int_equal(fake.domain, AF_INET);
    assert_int_equal(fake.nonblocking, 1);
    assert_int_equal(fake.connects, 1);
    const struct sockaddr_in to = at_port("127.0.0.1", 4000);
    assert_memory_equal(&fake.to, &to, sizeof(to));
    assert_int_equal(fake.binds, 0);
    assert_int_equal(fake.option_count, 0);
    assert_int_equal(systems_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), MARK);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    fails(connect_at(fd, "127.0.0.1"), EISCONN);
    /* The last of its numbers closes the rsocket. */
    const int copy = dup(fd);
    assert_int_equal(close(fd), 0);
    assert_int_equal(fake.closes, 0);
    assert_int_equal(write(copy, "x", 1), 1);
    errno = 77;
    assert_int_equal(close(copy), 0);
    assert_int_equal(fake.closes, 1);
    assert_int_equal(errno, 77);
}

static void expect_option(unsigned at, int level, int name, int value)
{
    assert_true(at < fake.option_count);
    assert_int_equal(fake.options[at].level, level);
    assert_int_equal(fake.options[at].name, name);
    assert_int_equal(fake.options[at].value, value);
}

static void options_that_were_set(void **unused)
{
    (void)unused;
    static const struct iw_verbs_series series;
    const int small = 8192, tos = 0x10;
    int fd = stream_socket();
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
    assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
    assert_int_equal(fake.option_count, 2);
    expect_option(0, SOL_SOCKET, SO_SNDBUF, 8192);
    expect_option(1, IPPROTO_IP, IP_TOS, 0x10);
    close(fd);
    fake.option_count = 0;
    fd = stream_socket();
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
    assert_int_equal(fake.option_count, 1);
    expect_option(0, SOL_SOCKET, SO_RCVBUF, 8192);
    close(fd);
    /* On our verbs 512 KiB each, where nothing was asked for. */
    fake_verbs_series = &series;
    fake.option_count = 0;
    fd = stream_socket();
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
    assert_int_equal(fake.option_count, 2);
    expect_option(0, SOL_SOCKET, SO_SNDBUF, 524288);
    expect_option(1, SOL_SOCKET, SO_RCVBUF, 8192);
    fake_verbs_series = NULL;
    close(fd);
}

/* The rsocket gets the address that the program's socket is bound to, which stays so. */
static void an_address_that_was_bound(void **unused)
{
    (void)unused;
    struct sockaddr_in at = at_port("127.0.0.1", 0);
    socklen_t length = sizeof(at);
    int fd = stream_socket();
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    fake.bind_error = EADDRINUSE;
    fails(connect_at(fd, "127.0.0.1"), EADDRINUSE);
    assert_int_equal(fake.connects, 0);
    assert_int_equal(fake.closes, 1);
    assert_false(is_iwarp(fd));
    fake.bind_error = 0;
    assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
    assert_int_equal(fake.binds, 2);
    assert_memory_equal(&fake.at, &at, sizeof(at));
    assert_int_equal(systems_option(fd, SOL_SOCKET, SO_REUSEADDR), 1);
    close(fd);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;
    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) != 0 ||
        bind(fd, (struct sockaddr *)&six, sizeof(six)) != 0) {
        close(fd);
        return; /* a host without IPv6 */
    }
    six.sin6_port = htons(4000);
    assert_int_equal(connect(fd, (struct sockaddr *)&six, sizeof(six)), 0);
    assert_int_equal(fake.domain, AF_INET6);
    assert_int_equal(fake.binds, 3);
    assert_int_equal(fake.at.ss_family, AF_INET6);
    expect_option(0, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    assert_int_equal(fake.option_count, 1);
    close(fd);
}

/* A blocking connect, by what rsockets say: the socket is TCP's again if it fails. */
static void what_a_connect_comes_to(void **unused)
{
    (void)unused;
    static const struct {
        int socket, connect, option, so;
        short also;
        int error;
    } rows[] = {{0, 0, 0, 0, 0, 0},
                {0, EINPROGRESS, 0, 0, 0, 0},
                {ENOMEM, 0, 0, 0, 0, ENOMEM},
                {0, ECONNREFUSED, 0, 0, 0, ECONNREFUSED},
                {0, ENETUNREACH, 0, 0, 0, ENETUNREACH},
                {0, EINPROGRESS, 0, ECONNREFUSED, 0, ECONNREFUSED},
                {0, EINPROGRESS, 0, ETIMEDOUT, POLLERR, ETIMEDOUT},
                {0, EINPROGRESS, 0, ENOTSUP, 0, EPROTO},
                {0, EINPROGRESS, 0, 0, POLLERR, ECONNREFUSED},
                {0, EINPROGRESS, 0, 0, POLLHUP, 0},
                {0, EINPROGRESS, ENOBUFS, 0, 0, ENOBUFS}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int fd = stream_socket();
        fake.closes = 0;
        fake.socket_error = rows[i].socket;
        fake.connect_error = rows[i].connect;
        fake.option_error = rows[i].option;
        fake.so_error = rows[i].so;
        fake.also = rows[i].also;
        errno = 0;
        const int result = connect_at(fd, "127.0.0.1");
        if (result != (rows[i].error != 0 ? -1 : 0) || errno != rows[i].error)
            if (result != 0 || rows[i].error != 0)
                fail_msg("row %zu: %d, errno %d", i, result, errno);
        assert_int_equal(is_iwarp(fd), rows[i].error == 0);
        assert_int_equal(systems_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT),
                         rows[i].error == 0 ? MARK : 0);
        assert_int_equal(fake.closes, rows[i].error != 0 && rows[i].socket == 0);
        fake.also = 0;
        close(fd);
    }
}

static short events_of(int fd, short events)
{
    struct pollfd one = {.fd = fd, .events = events};
    const int ready = poll(&one, 1, 0);
    assert_int_equal(ready, one.revents != 0);
    return one.revents;
}

/* One in the background: nothing works before it is known what it has come to. */
static void a_connect_in_the_background(void **unused)
{
    (void)unused;
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    int waiting = 9;
    const int fd = stream_socket();
    set_blocking(fd, false);
    fake.connect_error = EINPROGRESS;
    fake.hide = POLLOUT;
    fails(connect_at(fd, "127.0.0.1"), EINPROGRESS);
    assert_true(is_iwarp(fd));
    fails(connect_at(fd, "127.0.0.1"), EALREADY);
    fails(recv(fd, &name, 1, 0), EAGAIN);
    fails(send(fd, "x", 1, 0), EAGAIN);
    fails(shutdown(fd, SHUT_WR), ENOTCONN);
    fails(getpeername(fd, (struct sockaddr *)&name, &length), ENOTCONN);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
    assert_int_equal(ntohs(name.sin_port), 2222);
    assert_int_equal(option(fd, SOL_SOCKET, SO_ERROR), 0);
    assert_int_equal(ioctl(fd, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 0);
    assert_int_equal(events_of(fd, POLLIN | POLLOUT), 0);
    assert_int_equal(fake.sends + fake.receives + fake.shutdowns, 0);
    fake.hide = 0;
    assert_int_equal(events_of(fd, POLLIN | POLLOUT), POLLOUT);
    assert_int_equal(option(fd, SOL_SOCKET, SO_ERROR), 0);
    fails(connect_at(fd, "127.0.0.1"), EISCONN);
    assert_int_equal(getpeername(fd, (struct sockaddr *)&name, &length), 0);
    assert_int_equal(ntohs(name.sin_port), 1111);
    assert_int_equal(send(fd, "x", 1, 0), 1);
    close(fd);
    /* A call that may go on notices by itself that it is done; so does asking for the error. */
    for (int i = 0; i < 4; i++) {
        const int other = stream_socket();
        set_blocking(other, false);
        fake.hide = POLLOUT;
        fails(connect_at(other, "127.0.0.1"), EINPROGRESS);
        fake.hide = 0;
        if (i == 0)
            assert_int_equal(send(other, "x", 1, 0), 1);
        else if (i == 1)
            assert_int_equal(connect_at(other, "127.0.0.1"), 0);
        else if (i == 2)
            assert_int_equal(getpeername(other, (struct sockaddr *)&name, &length), 0);
        else
            assert_int_equal(option(other, SOL_SOCKET, SO_ERROR), 0);
        fails(connect_at(other, "127.0.0.1"), EISCONN);
        close(other);
    }
    assert_int_equal(fake.connects, 5);
}

static void a_connect_in_the_background_that_fails(void **unused)
{
    (void)unused;
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    fake.connect_error = EINPROGRESS;
    for (int i = 0; i < 3; i++) {
        const int fd = stream_socket();
        set_blocking(fd, false);
        fake.hide = POLLOUT;
        fake.so_error = 0;
        fails(connect_at(fd, "127.0.0.1"), EINPROGRESS);
        fake.hide = 0;
        fake.so_error = EHOSTUNREACH;
        if (i == 0) {
            fake.also = POLLERR;
            assert_int_equal(events_of(fd, 0), POLLERR | POLLHUP);
            assert_int_equal(events_of(fd, POLLIN | POLLRDNORM | POLLOUT | POLLRDHUP),
                             POLLIN | POLLRDNORM | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
            assert_int_equal(events_of(fd, POLLIN), POLLIN | POLLERR | POLLHUP);
            fake.also = 0;
            assert_int_equal(option(fd, SOL_SOCKET, SO_ERROR), EHOSTUNREACH);
        } else if (i == 1) {
            fails(send(fd, "x", 1, 0), EHOSTUNREACH);
        } else {
            fails(connect_at(fd, "127.0.0.1"), EHOSTUNREACH);
        }
        assert_true(is_iwarp(fd));
        assert_int_equal(option(fd, SOL_SOCKET, SO_ERROR), 0);
        fails(send(fd, "x", 1, MSG_NOSIGNAL), ENOTCONN);
        fails(recv(fd, &name, 1, 0), ENOTCONN);
        fails(getpeername(fd, (struct sockaddr *)&name, &length), ENOTCONN);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
        assert_int_equal(ntohs(name.sin_port), 0); /* it is not bound, says the system */
        /* The next connect is another attempt. */
        const unsigned connects = fake.connects;
        fake.so_error = 0;
        assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
        assert_int_equal(fake.connects, connects + 1);
        close(fd);
    }
}

/* SO_SNDTIMEO bounds a connect, which goes on afterwards. */
static void a_connect_that_takes_too_long(void **unused)
{
    (void)unused;
    const int fd = stream_socket();
    set_time(fd, SO_SNDTIMEO, 5);
    fake.connect_error = EINPROGRESS;
    fake.hide = POLLOUT;
    fails(connect_at(fd, "127.0.0.1"), EINPROGRESS);
    assert_true(is_iwarp(fd));
    fails(connect_at(fd, "127.0.0.1"), EALREADY);
    fake.hide = 0;
    assert_int_equal(connect_at(fd, "127.0.0.1"), 0);
    assert_int_equal(fake.connects, 1);
    close(fd);
}

/* A rule may say that TCP will do. */
static void a_connect_falls_back(void **unused)
{
    (void)unused;
    struct sockaddr_in at = at_port("127.0.0.2", 0);
    socklen_t length = sizeof(at);
    const int listener = stream_socket();
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_false(is_iwarp(listener));
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    for (int i = 0; i < 4; i++) {
        const int fd = stream_socket();
        fake.closes = 0;
        fake.socket_error = i == 1 ? ENODEV : 0;
        fake.connect_error = i == 2 ? ECONNREFUSED : EINPROGRESS;
        fake.so_error = i == 3 ? ECONNRESET : 0;
        set_blocking(fd, i % 2 == 0);
        if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0) {
            assert_int_equal(errno, EINPROGRESS); /* TCP's own */
            assert_int_equal(i % 2, 1);
        }
        assert_int_equal(is_iwarp(fd), i == 0);
        if (i > 0) {
            const int server = accept(listener, NULL, NULL);
            assert_true(server >= 0);
            close(server);
            assert_int_equal(systems_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
        }
        assert_int_equal(fake.closes, i >= 2);
        close(fd);
    }
    assert_int_equal(fake.connects, 3);
    close(listener);
}

/* ---- listening ---- */

static void a_listener(void **unused)
{
    (void)unused;
    struct sockaddr_in at, from;
    socklen_t length = sizeof(at);
    char octet;
    int fd = listening("127.0.0.1", 0);
    assert_int_equal(fake.backlog, 1);
    close(fd);
    for (int i = 0; i < 2; i++)
        iw_libc()->close(queue[i]);
    fd = listening("127.0.0.1", 7);
    assert_int_equal(fake.backlog, 7);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    assert_memory_equal(&fake.at, &at, sizeof(at));
    assert_int_equal(option(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
    assert_int_equal(listen(fd, 9), 0);
    assert_int_equal(fake.listens, 2);
    fails(getpeername(fd, (struct sockaddr *)&at, &length), ENOTCONN);
    assert_int_equal(events_of(fd, POLLIN | POLLOUT), 0);
    set_blocking(fd, false);
    fails(accept(fd, NULL, NULL), EAGAIN);
    assert_int_equal(fake.accepts, 1);
    set_blocking(fd, true);
    set_time(fd, SO_RCVTIMEO, 5);
    fails(accept(fd, NULL, NULL), EAGAIN);
    set_time(fd, SO_RCVTIMEO, 0);
    /* What has come is the peer's that rsockets names. */
    const int peer = arrives();
    assert_int_equal(events_of(fd, POLLIN | POLLRDNORM | POLLOUT), POLLIN | POLLRDNORM);
    fails(accept4(fd, NULL, NULL, SOCK_NONBLOCK | 1), EINVAL);
    length = sizeof(from);
    fake.nonblocking = 0;
    const int server = accept4(fd, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(is_iwarp(server));
    assert_int_equal(fake.nonblocking, 1);
    assert_int_equal(ntohs(from.sin_port), 1111);
    assert_int_equal(length, sizeof(from));
    assert_int_equal(fcntl(server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(fcntl(server, F_GETFD), FD_CLOEXEC);
    fails(read(server, &octet, 1), EAGAIN);
    assert_int_equal(iw_libc()->write(peer, "x", 1), 1);
    assert_int_equal(read(server, &octet, 1), 1);
    assert_int_equal(octet, 'x');
    fails(accept(server, NULL, NULL), EINVAL);
    fails(listen(server, 1), EINVAL);
    close(server);
    /* Another failure than that there is none is none of waiting. */
    fake.accept_error = EMFILE;
    fails(accept(fd, NULL, NULL), EMFILE);
    fake.accept_error = 0;
    /* Shut down it waits for nobody, and one that has come is not taken. */
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(events_of(fd, POLLIN | POLLOUT), 0);
    assert_int_equal(shutdown(fd, SHUT_RD), 0);
    assert_int_equal(shutdown(fd, SHUT_RD), 0);
    fails(accept(fd, NULL, NULL), EINVAL);
    assert_int_equal(events_of(fd, POLLIN | POLLOUT | POLLWRNORM), POLLHUP | POLLOUT | POLLWRNORM);
    assert_int_equal(fake.shutdowns, 0);
    close(fd);
    assert_int_equal(fake.closes, 3);
}

/* A queue that is not known: its listener's own rsocket says what is there. */
static void a_listener_without_a_queue(void **unused)
{
    (void)unused;
    fake.no_queue = true;
    fake.hide = POLLIN | POLLOUT;
    const int fd = listening("127.0.0.1", 7);
    assert_int_equal(events_of(fd, POLLIN), 0);
    fake.also = POLLIN;
    assert_int_equal(events_of(fd, POLLIN), POLLIN);
    arrives();
    const int server = accept(fd, NULL, NULL);
    assert_true(server >= 0);
    close(server);
    close(fd);
}

static void a_listener_that_fails(void **unused)
{
    (void)unused;
    const struct sockaddr_in at = at_port("127.0.0.1", 0);
    for (int i = 0; i < 3; i++) {
        const int fd = stream_socket();
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        fake.socket_error = i == 0 ? ENODEV : 0;
        fake.bind_error = i == 1 ? EADDRINUSE : 0;
        fake.listen_error = i == 2 ? EOPNOTSUPP : 0;
        fails(listen(fd, 1), i == 0 ? ENODEV : i == 1 ? EADDRINUSE : EOPNOTSUPP);
        assert_false(is_iwarp(fd));
        assert_int_equal(fake.closes, i);
        close(fd);
    }
    assert_int_equal(fake.listens, 1);
}

/* ---- plain TCP on the same port ---- */

static unsigned mixed_wait;
static int mixed_end, mixed_error;

static int begin_mixed(unsigned wait_ms)
{
    mixed_wait = wait_ms;
    errno = mixed_error;
    return mixed_error != 0 ? -1 : 0;
}

static int end_mixed(void)
{
    errno = ENOTSUP;
    return mixed_end;
}

static void hand_over(int to, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec octet = {"", 1};
    struct msghdr m = {.msg_iov = &octet,
                       .msg_iovlen = 1,
                       .msg_control = fd >= 0 ? &control : NULL,
                       .msg_controllen = fd >= 0 ? sizeof(control) : 0};
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    assert_int_equal(iw_libc()->sendmsg(to, &m, 0), 1);
}

static void a_mixed_listener(void **unused)
{
    (void)unused;
    static const struct iw_verbs_mixed mixed = {.begin = begin_mixed, .end = end_mixed};
    struct sockaddr_in at = at_port("127.0.0.3", 0);
    struct sockaddr_storage from;
    socklen_t length = sizeof(from);
    int pair[2];
    /* Without verbs that can, or when they fail, it does not listen. */
    const int fd = stream_socket();
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fails(listen(fd, 1), EOPNOTSUPP);
    fake_verbs_mixed = &mixed;
    mixed_error = ENOMEM;
    fails(listen(fd, 1), ENOMEM);
    mixed_error = 0;
    mixed_end = -1;
    fails(listen(fd, 1), ENOTSUP);
    assert_false(is_iwarp(fd));
    assert_int_equal(fake.closes, 3);
    for (int i = 0; i < 2; i++)
        iw_libc()->close(queue[i]);
    assert_int_equal(iw_libc()->socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    mixed_end = pair[0];
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(mixed_wait, 7);
    set_blocking(fd, false);
    fails(accept(fd, NULL, NULL), EAGAIN);
    /* A TCP connection comes, with the listener's options and accept's flags. */
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
    const int other = stream_socket();
    hand_over(pair[1], other);
    assert_int_equal(events_of(fd, POLLIN), POLLIN);
    int plain = accept4(fd, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(plain >= 0);
    assert_false(is_iwarp(plain));
    assert_int_equal(length, 0); /* it is connected to nobody */
    assert_int_equal(option(plain, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(fcntl(plain, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(fcntl(plain, F_GETFD), FD_CLOEXEC);
    close(plain);
    set_blocking(other, true);
    hand_over(pair[1], other);
    plain = accept(fd, NULL, NULL);
    assert_int_equal(fcntl(plain, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(plain, F_GETFD), 0);
    close(plain);
    close(other);
    /* An iWARP one, too; and a message that carries nothing is none. */
    arrives();
    assert_int_equal(events_of(fd, POLLIN), POLLIN);
    const int server = accept(fd, NULL, NULL);
    assert_true(is_iwarp(server));
    close(server);
    hand_over(pair[1], -1);
    fails(accept(fd, NULL, NULL), EAGAIN);
    assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
    assert_int_equal(events_of(fd, POLLIN), POLLHUP);
    close(fd);
    iw_libc()->close(pair[1]);
    for (int i = 0; i < 2; i++)
        iw_libc()->close(queue[i]);
    /* The shortest time is a millisecond. */
    assert_int_equal(iw_libc()->socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    mixed_end = pair[0];
    const int quick = listening("127.0.0.4", 1);
    assert_int_equal(mixed_wait, 1);
    close(quick);
    iw_libc()->close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKED(a_connect),
        FAKED(options_that_were_set),
        FAKED(an_address_that_was_bound),
        FAKED(what_a_connect_comes_to),
        FAKED(a_connect_in_the_background),
        FAKED(a_connect_in_the_background_that_fails),
        FAKED(a_connect_that_takes_too_long),
        FAKED(a_connect_falls_back),
        FAKED(a_listener),
        FAKED(a_listener_without_a_queue),
        FAKED(a_listener_that_fails),
        FAKED(a_mixed_listener),
    };
    give_rules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
