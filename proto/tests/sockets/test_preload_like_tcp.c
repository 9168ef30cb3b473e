/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program's calls return on iWARP is what they return on TCP: each conversation is held on
 * both, and every result, error and event of one is compared with that of the other. What differs
 * by design (README.md) is not asked here. */
#include "preload_pair.h"

#include <limits.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>

enum { TCP, IWARP, SAID = 2000, PLAIN_HOST = 0x7f000002 };

/* What programs that were compiled with _FORTIFY_SOURCE call. */
ssize_t __read_chk(int fd, void *octets, size_t length, size_t room);
ssize_t __recv_chk(int fd, void *octets, size_t length, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *octets, size_t length, size_t room, int flags,
                       struct sockaddr *from, socklen_t *from_length);

static struct {
    int line;
    long value;
    int error;
} said[2][SAID];
static unsigned count[2];
static int world;
static uint8_t in[4096];
static struct iovec much[IOV_MAX + 1];
static volatile int few = -1; /* where the compiler cannot see it */
static char out[] = "0123456789";

static void say_at(int line, long value)
{
    const int error = value == -1 ? errno : 0;
    assert_true(count[world] < SAID);
    said[world][count[world]].line = line;
    said[world][count[world]].value = value;
    said[world][count[world]++].error = error;
}

#define SAY(value) say_at(__LINE__, (long)(value))

static void say_octets(int line, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum = sum * 31 + in[i];
    say_at(line, (long)sum);
}

static void compare(void)
{
    for (unsigned i = 0; i < count[TCP] && i < count[IWARP]; i++) {
        assert_int_equal(said[TCP][i].line, said[IWARP][i].line);
        if (said[TCP][i].value != said[IWARP][i].value ||
            said[TCP][i].error != said[IWARP][i].error)
            fail_msg("line %d (number %u): TCP gives %ld (%s), iWARP %ld (%s)", said[TCP][i].line,
                     i, said[TCP][i].value, strerror(said[TCP][i].error), said[IWARP][i].value,
                     strerror(said[IWARP][i].error));
    }
    assert_int_equal(count[TCP], count[IWARP]);
}

static void open_one(struct pair *p)
{
    socklen_t length = sizeof(p->at);
    p->at = (struct sockaddr_in){.sin_family = AF_INET};
    p->at.sin_addr.s_addr = htonl(world == TCP ? PLAIN_HOST : INADDR_LOOPBACK);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listener, address(p), sizeof(p->at)), 0);
    assert_int_equal(listen(p->listener, 16), 0);
    assert_int_equal(getsockname(p->listener, address(p), &length), 0);
}

/* The plain one is bound, too: an address of its own that no rule names. */
static void connect_one(struct pair *p)
{
    struct sockaddr_in from = p->at;
    from.sin_port = 0;
    p->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (world == TCP)
        assert_int_equal(bind(p->client, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(p->client, address(p), sizeof(p->at)), 0);
    p->server = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(p->server >= 0);
}

static void both(void (*conversation)(struct pair *p))
{
    memset(count, 0, sizeof(count));
    for (world = TCP; world <= IWARP; world++) {
        struct pair p;
        open_one(&p);
        connect_one(&p);
        conversation(&p);
        if (p.client >= 0)
            close(p.client);
        if (p.server >= 0)
            close(p.server);
        close(p.listener);
    }
    compare();
}

/* Waits until so many octets can be read. */
static void gather(int fd, int octets)
{
    int waiting = 0;
    for (int i = 0; i < GUARD && waiting < octets; i++) {
        assert_int_equal(ioctl(fd, FIONREAD, &waiting), 0);
        if (waiting < octets)
            usleep(1000);
    }
    assert_int_equal(waiting, octets);
}

/* ---- reading ---- */

static void say_reads(struct pair *p)
{
    struct iovec pieces[4] = {{in, 0}, {in, 3}, {in + 3, 0}, {in + 3, 100}};
    struct sockaddr_in from = {0};
    struct msghdr m = {.msg_iov = pieces,
                       .msg_iovlen = 4,
                       .msg_name = &from,
                       .msg_namelen = sizeof(from),
                       .msg_flags = MSG_CTRUNC};
    socklen_t length;
    SAY(read(p->server, in, 0));
    SAY(recv(p->server, in, 1, MSG_DONTWAIT));
    SAY(readv(p->server, pieces, 0));
    for (int round = 0; round < 12; round++) {
        memset(in, 0, sizeof(in));
        SAY(write(p->client, out, 10));
        gather(p->server, 10);
        switch (round) {
        case 0:
            SAY(read(p->server, in, 3));
            say_octets(__LINE__, 10);
            SAY(recv(p->server, in, 4, MSG_PEEK));
            SAY(recv(p->server, in, 100, MSG_PEEK | MSG_DONTWAIT));
            say_octets(__LINE__, 10);
            break;
        case 1:
            SAY(readv(p->server, pieces, 4));
            say_octets(__LINE__, 10);
            break;
        case 2:
            SAY(readv(p->server, pieces, 2));
            say_octets(__LINE__, 10);
            break;
        case 3:
            SAY(recvmsg(p->server, &m, 0));
            SAY(m.msg_namelen);
            SAY(m.msg_flags);
            SAY(m.msg_controllen);
            say_octets(__LINE__, 10);
            break;
        case 4:
            SAY(recvmsg(p->server, &m, MSG_PEEK));
            pieces[1].iov_len = 2;
            pieces[3].iov_len = 4;
            SAY(recvmsg(p->server, &m, MSG_PEEK));
            say_octets(__LINE__, 10);
            SAY(recvmsg(p->server, &m, MSG_WAITALL));
            pieces[1].iov_len = 3;
            pieces[3].iov_len = 100;
            say_octets(__LINE__, 10);
            break;
        case 5:
            length = sizeof(from);
            SAY(recvfrom(p->server, in, 4, 0, (struct sockaddr *)&from, &length));
            SAY(length);
            SAY(recvfrom(p->server, in, 4, 0, NULL, NULL));
            say_octets(__LINE__, 10);
            break;
        case 6:
            SAY(recv(p->server, NULL, 4, MSG_TRUNC));
            SAY(recv(p->server, in, 3, 0));
            say_octets(__LINE__, 10);
            break;
        case 7:
            SAY(recv(p->server, in, 10, MSG_WAITALL));
            say_octets(__LINE__, 10);
            break;
        case 8:
            SAY(__read_chk(p->server, in, 3, 3));
            SAY(__recv_chk(p->server, in + 3, 2, 3, MSG_PEEK));
            SAY(__recv_chk(p->server, in + 3, 2, 3, 0));
            length = sizeof(from);
            SAY(__recvfrom_chk(p->server, in + 5, 3, 3, 0, (struct sockaddr *)&from, &length));
            SAY(length);
            SAY(__recvfrom_chk(p->server, in + 8, 1, 3, 0, NULL, NULL));
            say_octets(__LINE__, 10);
            break;
        case 9:
            SAY(recv(p->server, in, 100, MSG_DONTWAIT | MSG_WAITALL));
            say_octets(__LINE__, 10);
            break;
        case 10:
            SAY(recv(p->server, in, 100, MSG_ERRQUEUE));
            SAY(recv(p->server, in, 1, MSG_OOB));
            break;
        default:
            pieces[1].iov_len = (size_t)SSIZE_MAX;
            SAY(readv(p->server, pieces, few));
            SAY(readv(p->server, much, IOV_MAX + 1));
            SAY(readv(p->server, much, IOV_MAX));
            pieces[1].iov_len = 3;
        }
        while (recv(p->server, in, sizeof(in), MSG_DONTWAIT) > 0)
            ;
        SAY(recv(p->server, in, sizeof(in), MSG_DONTWAIT));
    }
}

static void test_reads(void **state)
{
    (void)state;
    both(say_reads);
}

static void say_many(struct pair *p)
{
    struct iovec pieces[4] = {{in, 4}, {in + 4, 4}, {in + 8, 4}, {in + 12, 4}};
    struct mmsghdr list[4];
    memset(list, 0, sizeof(list));
    for (int i = 0; i < 4; i++)
        list[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
    SAY(recvmmsg(p->server, list, 0, MSG_DONTWAIT, NULL));
    SAY(recvmmsg(p->server, list, 2, MSG_DONTWAIT, NULL));
    SAY(sendmmsg(p->client, list, 0, 0));
    SAY(write(p->client, out, 10));
    gather(p->server, 10);
    SAY(recvmmsg(p->server, list, 2, 0, NULL));
    SAY(list[0].msg_len);
    SAY(list[1].msg_len);
    SAY(recvmmsg(p->server, list, 4, MSG_WAITFORONE, NULL));
    SAY(list[0].msg_len);
    SAY(write(p->client, out, 10));
    gather(p->server, 10);
    SAY(recvmmsg(p->server, list, 4, MSG_DONTWAIT, NULL));
    SAY(list[2].msg_len);
    SAY(recvmmsg(p->server, list, 4, MSG_DONTWAIT, NULL));
    for (int i = 0; i < 4; i++)
        pieces[i] = (struct iovec){out + 2 * i, (size_t)i};
    SAY(sendmmsg(p->client, list, 4, 0));
    for (int i = 0; i < 4; i++)
        SAY(list[i].msg_len);
    gather(p->server, 6);
    SAY(recv(p->server, in, 100, 0));
    say_octets(__LINE__, 6);
    SAY(shutdown(p->client, SHUT_WR));
    await(p->server, POLLRDHUP);
    for (int i = 0; i < 4; i++)
        pieces[i] = (struct iovec){in, 4};
    list[0].msg_len = 9;
    SAY(recvmmsg(p->server, list, 4, 0, NULL));
    SAY(list[0].msg_len);
    SAY(recv(p->server, in, 100, 0));
}

static void test_many(void **state)
{
    (void)state;
    both(say_many);
}

/* ---- writing ---- */

static volatile sig_atomic_t pipes;

static void count_pipe(int signal)
{
    (void)signal;
    pipes++;
}

static void say_writes(struct pair *p)
{
    struct iovec pieces[3] = {{out, 4}, {out, 0}, {out + 4, 6}};
    struct msghdr m = {.msg_iov = pieces, .msg_iovlen = 3};
    pipes = 0;
    signal(SIGPIPE, count_pipe);
    SAY(write(p->client, out, 0));
    SAY(writev(p->client, pieces, 0));
    SAY(writev(p->client, pieces, few));
    SAY(writev(p->client, much, IOV_MAX + 1));
    SAY(writev(p->client, much, IOV_MAX));
    SAY(send(p->client, out, 0, MSG_DONTWAIT));
    SAY(writev(p->client, pieces, 3));
    SAY(sendmsg(p->client, &m, MSG_DONTWAIT));
    SAY(sendto(p->client, out, 3, 0, address(p), sizeof(p->at)));
    SAY(sendto(p->client, out, 3, MSG_NOSIGNAL, NULL, 0));
    SAY(send(p->client, out, 4, MSG_MORE));
    SAY(send(p->client, out, 4, 0));
    gather(p->server, 34);
    SAY(recv(p->server, in, 100, 0));
    say_octets(__LINE__, 34);
    /* After the own end of the stream. */
    SAY(shutdown(p->client, SHUT_WR));
    SAY(send(p->client, out, 1, MSG_NOSIGNAL));
    SAY(pipes);
    SAY(send(p->client, out, 1, 0));
    SAY(pipes);
    SAY(write(p->client, out, 1));
    SAY(writev(p->client, pieces, 3));
    SAY(sendmsg(p->client, &m, MSG_NOSIGNAL));
    SAY(pipes);
    SAY(shutdown(p->client, SHUT_WR));
    await(p->server, POLLRDHUP);
    SAY(read(p->server, in, 1));
    SAY(read(p->server, in, 1));
    SAY(write(p->server, out, 10));
    gather(p->client, 10);
    SAY(recv(p->client, in, 3, 0));
    SAY(shutdown(p->server, SHUT_WR));
    await(p->client, POLLRDHUP);
    SAY(recv(p->client, in, 100, 0));
    SAY(recv(p->client, in, 100, 0));
    signal(SIGPIPE, SIG_DFL);
}

static void test_writes(void **state)
{
    (void)state;
    both(say_writes);
}

/* ---- events ---- */

static void say_events(int line, int fd)
{
    static const short events[] = {0,
                                   POLLIN,
                                   POLLOUT,
                                   POLLRDHUP,
                                   POLLPRI,
                                   POLLRDNORM,
                                   POLLIN | POLLOUT,
                                   POLLIN | POLLRDHUP,
                                   POLLOUT | POLLRDHUP | POLLWRNORM};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        struct pollfd list[3] = {
            {.fd = -1, .events = POLLIN}, {.fd = fd, .events = events[i]}, {.fd = -5}};
        say_at(line, poll(list, 3, 0));
        say_at(line, list[1].revents);
        say_at(line, ppoll(list, 2, &(struct timespec){0, 0}, NULL));
        say_at(line, list[1].revents);
    }
    fd_set read_set, write_set, other_set;
    struct timeval now = {0, 0};
    FD_ZERO(&read_set);
    FD_SET(fd, &read_set);
    write_set = other_set = read_set;
    say_at(line, select(fd + 1, &read_set, &write_set, &other_set, &now));
    say_at(line,
           FD_ISSET(fd, &read_set) + 2 * FD_ISSET(fd, &write_set) + 4 * FD_ISSET(fd, &other_set));
    FD_SET(fd, &read_set);
    say_at(line, select(fd + 1, &read_set, NULL, NULL, &now));
    const int set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP, .data.u64 = 77}, got = {0};
    say_at(line, epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
    int ready = epoll_wait(set, &got, 1, 0);
    say_at(line, ready);
    say_at(line, ready > 0 ? (long)got.events : 0);
    say_at(line, ready > 0 ? (long)got.data.u64 : 0);
    e.events = EPOLLRDHUP;
    say_at(line, epoll_ctl(set, EPOLL_CTL_MOD, fd, &e));
    ready = epoll_wait(set, &got, 1, 0);
    say_at(line, ready);
    say_at(line, ready > 0 ? (long)got.events : 0);
    say_at(line, epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL));
    say_at(line, epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL));
    close(set);
}

#define EVENTS(fd) say_events(__LINE__, fd)

static void say_states(struct pair *p)
{
    EVENTS(p->client);
    EVENTS(p->server);
    SAY(write(p->client, out, 10));
    gather(p->server, 10);
    EVENTS(p->server);
    SAY(recv(p->server, in, 9, 0));
    EVENTS(p->server);
    SAY(shutdown(p->client, SHUT_WR));
    await(p->server, POLLIN);
    SAY(recv(p->server, in, 9, 0));
    await(p->server, POLLRDHUP);
    EVENTS(p->server);
    SAY(recv(p->server, in, 9, 0));
    EVENTS(p->server);
    EVENTS(p->client);
    SAY(write(p->server, out, 10));
    gather(p->client, 10);
    EVENTS(p->client);
}

static void test_events(void **state)
{
    (void)state;
    both(say_states);
}

static void say_listener(struct pair *p)
{
    struct sockaddr_in from;
    socklen_t length = sizeof(from);
    EVENTS(p->listener);
    SAY(fcntl(p->listener, F_SETFL, O_NONBLOCK));
    SAY(accept(p->listener, NULL, NULL));
    SAY(accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | 1));
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SAY(connect(client, address(p), sizeof(p->at)));
    await(p->listener, POLLIN);
    EVENTS(p->listener);
    memset(&from, 0, sizeof(from));
    int server = accept4(p->listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK);
    assert_true(server >= 0);
    SAY(length);
    SAY(from.sin_family);
    SAY(from.sin_port != 0);
    SAY(fcntl(server, F_GETFL));
    SAY(fcntl(server, F_GETFD));
    SAY(read(server, in, 1));
    close(server);
    close(client);
    const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SAY(connect(other, address(p), sizeof(p->at)));
    await(p->listener, POLLIN);
    length = 4;
    server = accept4(p->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
    assert_true(server >= 0);
    SAY(length);
    SAY(fcntl(server, F_GETFL));
    SAY(fcntl(server, F_GETFD));
    close(server);
    close(other);
    /* What a listener cannot do. */
    SAY(read(p->listener, in, 1));
    SAY(recv(p->listener, in, 1, MSG_PEEK));
    SAY(shutdown(p->listener, 9));
    SAY(ioctl(p->listener, FIONREAD, in));
    SAY(connect(p->listener, address(p), sizeof(p->at)));
    SAY(getpeername(p->listener, (struct sockaddr *)&from, &length));
    SAY(listen(p->listener, 3));
    SAY(listen(p->listener, 0));
}

static void test_listener(void **state)
{
    (void)state;
    both(say_listener);
}

/* ---- what a connected socket cannot do, and its options ---- */

static void say_option(int line, int fd, int level, int name, socklen_t room)
{
    char value[64] = {0};
    socklen_t length = room;
    say_at(line, getsockopt(fd, level, name, value, &length));
    say_at(line, length);
    say_at(line, value[0]);
}

static void say_errors(struct pair *p)
{
    struct sockaddr_in name = {0};
    socklen_t length = sizeof(name);
    SAY(accept(p->client, NULL, NULL));
    SAY(listen(p->client, 1));
    SAY(listen(p->server, 1));
    SAY(connect(p->client, address(p), sizeof(p->at)));
    SAY(connect(p->server, address(p), sizeof(p->at)));
    SAY(shutdown(p->client, -1));
    SAY(shutdown(p->client, 3));
    SAY(getpeername(p->client, (struct sockaddr *)&name, &length));
    SAY(length);
    SAY(name.sin_port == p->at.sin_port);
    SAY(name.sin_addr.s_addr == p->at.sin_addr.s_addr);
    length = 2;
    SAY(getsockname(p->client, (struct sockaddr *)&name, &length));
    SAY(length);
    static const int names[] = {SO_ERROR, SO_ACCEPTCONN, SO_TYPE, SO_DOMAIN, SO_PROTOCOL};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (socklen_t room = 1; room < 9; room++) {
            say_option(__LINE__, p->client, SOL_SOCKET, names[i], room);
            say_option(__LINE__, p->listener, SOL_SOCKET, names[i], room);
        }
    say_option(__LINE__, p->client, SOL_SOCKET, SO_ERROR, 0);
    SAY(getsockopt(p->client, SOL_SOCKET, SO_ERROR, NULL, &length));
    SAY(getsockopt(p->client, SOL_SOCKET, SO_ERROR, in, NULL));
    SAY(getsockopt(p->client, SOL_SOCKET, 9999, in, &length));
    SAY(setsockopt(p->client, SOL_SOCKET, 9999, in, 4));
    SAY(setsockopt(p->client, SOL_SOCKET, SO_RCVTIMEO, in, 1));
    SAY(setsockopt(p->client, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, 1000000}, 16));
    SAY(setsockopt(p->client, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, 20000}, 16));
    SAY(recv(p->client, in, 1, 0));
    SAY(recv(p->client, in, 1, MSG_WAITALL));
    int waiting = 7;
    SAY(ioctl(p->client, FIONREAD, &waiting));
    SAY(waiting);
    SAY(shutdown(p->client, SHUT_RD));
    SAY(recv(p->client, in, 1, 0));
    SAY(send(p->client, out, 3, 0));
    gather(p->server, 3);
    SAY(recv(p->server, in, 9, 0));
    SAY(shutdown(p->client, SHUT_RDWR));
    await(p->server, POLLRDHUP);
    SAY(recv(p->client, in, 1, 0));
    SAY(send(p->client, out, 3, MSG_NOSIGNAL));
}

static void test_errors(void **state)
{
    (void)state;
    both(say_errors);
}

/* A number that another descriptor takes over, and copies of it. */
static void say_copies(struct pair *p)
{
    const int copy = dup(p->client), high = fcntl(p->client, F_DUPFD, 500),
              cloexec = fcntl(p->client, F_DUPFD_CLOEXEC, 600);
    SAY(high);
    SAY(cloexec);
    SAY(fcntl(copy, F_GETFD));
    SAY(fcntl(cloexec, F_GETFD));
    SAY(write(copy, out, 1));
    SAY(write(high, out, 2));
    SAY(write(cloexec, out, 3));
    gather(p->server, 6);
    SAY(close(copy));
    SAY(close(high));
    SAY(close(p->client));
    SAY(write(p->client, out, 1));
    SAY(write(cloexec, out, 1));
    gather(p->server, 7);
    SAY(dup2(cloexec, cloexec));
    SAY(dup2(cloexec, 700));
    SAY(dup3(cloexec, 701, O_CLOEXEC));
    SAY(fcntl(701, F_GETFD));
    SAY(dup3(cloexec, cloexec, 0));
    SAY(dup2(-1, 702));
    SAY(close(cloexec));
    SAY(close(700));
    SAY(write(701, out, 1));
    gather(p->server, 8);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    SAY(dup2(null, 701)); /* the last one: the connection ends */
    SAY(write(701, out, 5));
    SAY(recv(p->server, in, 100, 0));
    await(p->server, POLLRDHUP);
    SAY(recv(p->server, in, 100, 0));
    SAY(close(701));
    SAY(close(701));
    close(null);
    p->client = -1;
}

static void test_copies(void **state)
{
    (void)state;
    both(say_copies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),    cmocka_unit_test(test_many),
        cmocka_unit_test(test_writes),   cmocka_unit_test(test_events),
        cmocka_unit_test(test_listener), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_copies),
    };
    setenv("IWARP_SOCKETS", "port 127.0.0.1 1024-65535", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
