/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of a program of sockets, with the library between it and the C library. */
#include "preload_pair.h"

#include <signal.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { LENGTH = 300000 };

static uint8_t out[LENGTH], in[LENGTH];

static void test_every_call_that_moves_octets(void **state)
{
    struct pair p;
    uint8_t a[5], b[7], c[9];
    struct iovec from[3] = {{out, 5}, {out + 5, 0}, {out + 5, 16}};
    struct iovec to[3] = {{a, sizeof(a)}, {b, sizeof(b)}, {c, sizeof(c)}};
    struct msghdr send_message = {.msg_iov = from, .msg_iovlen = 3};
    struct sockaddr_storage name = {.ss_family = AF_UNIX};
    struct msghdr receive_message = {
        .msg_iov = to, .msg_iovlen = 3, .msg_name = &name, .msg_namelen = sizeof(name)};
    struct sockaddr_in from_address;
    socklen_t length = sizeof(from_address);
    (void)state;
    fill(out, LENGTH, 1);
    open_pair(&p);
    assert_int_equal(write(p.client, out, 21), 21);
    await(p.server, POLLIN);
    assert_int_equal(readv(p.server, to, 3), 21);
    assert_memory_equal(a, out, 5);
    assert_memory_equal(b, out + 5, 7);
    assert_memory_equal(c, out + 12, 9);
    memset(c, 0, sizeof(c));
    assert_int_equal(writev(p.client, from, 3), 21);
    await(p.server, POLLIN);
    assert_int_equal(recvmsg(p.server, &receive_message, MSG_WAITALL), 21);
    assert_memory_equal(c, out + 12, 9);
    assert_int_equal(receive_message.msg_namelen, 0);
    assert_int_equal(receive_message.msg_flags, 0);
    assert_int_equal(sendmsg(p.client, &send_message, 0), 21);
    assert_int_equal(recv(p.server, in, 21, MSG_WAITALL), 21);
    assert_memory_equal(in, out, 21);
    assert_int_equal(send(p.server, out, 100, 0), 100);
    assert_int_equal(
        recvfrom(p.client, in, 100, MSG_WAITALL, (struct sockaddr *)&from_address, &length), 100);
    assert_int_equal(length, 0);
    assert_memory_equal(in, out, 100);
    assert_int_equal(sendto(p.server, out + 1, 10, 0, NULL, 0), 10);
    receive_all(p.client, in, 10);
    assert_memory_equal(in, out + 1, 10);
    close_pair(&p);
}

static void test_several_messages_in_one_call(void **state)
{
    struct pair p;
    struct iovec parts[2] = {{out, 11}, {out + 11, 13}}, places[2] = {{in, 11}, {in + 11, 13}};
    struct mmsghdr sends[2] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                               {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
    struct mmsghdr receives[2] = {{.msg_hdr = {.msg_iov = &places[0], .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = &places[1], .msg_iovlen = 1}}};
    (void)state;
    fill(out, 24, 2);
    open_pair(&p);
    assert_int_equal(sendmmsg(p.client, sends, 2, 0), 2);
    assert_int_equal(sends[1].msg_len, 13);
    assert_int_equal(recvmmsg(p.server, receives, 2, MSG_WAITALL, NULL), 2);
    assert_int_equal(receives[0].msg_len, 11);
    assert_memory_equal(in, out, 24);
    close_pair(&p);
}

static void test_peeking_and_counting(void **state)
{
    struct pair p;
    int waiting = -1;
    struct iovec places[2] = {{in, 3}, {in + 3, 100}};
    struct msghdr m = {.msg_iov = places, .msg_iovlen = 2};
    (void)state;
    fill(out, 10, 3);
    open_pair(&p);
    assert_int_equal(ioctl(p.server, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 0);
    assert_int_equal(write(p.client, out, 10), 10);
    await(p.server, POLLIN);
    assert_int_equal(ioctl(p.server, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 10);
    assert_int_equal(recv(p.server, in, 4, MSG_PEEK), 4);
    assert_memory_equal(in, out, 4);
    assert_int_equal(recvmsg(p.server, &m, MSG_PEEK), 10);
    assert_memory_equal(in, out, 10);
    assert_int_equal(recv(p.server, NULL, 4, MSG_TRUNC), 4); /* TCP drops them */
    assert_int_equal(recv(p.server, in, 100, 0), 6);
    assert_memory_equal(in, out + 4, 6);
    close_pair(&p);
}

/* More that comes while some is there is counted and peeked, without a poll in between. */
static void test_more_that_comes(void **state)
{
    struct pair p;
    int waiting = 0;
    ssize_t peeked = 0;
    (void)state;
    open_pair(&p);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(write(p.client, &"abc"[i - 1], 1), 1);
        for (int n = 0; n < GUARD && waiting < i; n++) {
            assert_int_equal(ioctl(p.server, FIONREAD, &waiting), 0);
            if (waiting < i)
                usleep(1000);
        }
        assert_int_equal(waiting, i);
    }
    assert_int_equal(write(p.client, "d", 1), 1);
    for (int n = 0; n < GUARD && peeked < 4; n++) {
        peeked = recv(p.server, in, 100, MSG_PEEK);
        if (peeked < 4)
            usleep(1000);
    }
    assert_int_equal(peeked, 4);
    assert_memory_equal(in, "abcd", 4);
    close_pair(&p);
}

static void test_without_waiting(void **state)
{
    struct pair p;
    const int on = 1;
    (void)state;
    open_pair(&p);
    assert_int_equal(recv(p.server, in, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(fcntl(p.server, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(p.server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(read(p.server, in, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(ioctl(p.client, FIONBIO, &on), 0);
    assert_int_equal(read(p.client, in, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(fcntl(p.listener, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(accept(p.listener, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    close_pair(&p);
}

/* Writes until nothing goes any more. Returns how many octets went. */
static size_t fill_up_unread(struct pair *p)
{
    size_t sent = 0;
    assert_int_equal(fcntl(p->client, F_SETFL, O_NONBLOCK), 0);
    for (;;) {
        fill(out, LENGTH, (unsigned)(sent / LENGTH));
        const ssize_t n = write(p->client, out + sent % LENGTH, LENGTH - sent % LENGTH);
        if (n < 0)
            break;
        sent += (size_t)n;
        assert_true(sent < 100u * LENGTH);
    }
    assert_int_equal(errno, EAGAIN);
    return sent;
}

/* A peer that does not read takes so much and no more; nothing is lost or comes twice. */
static void test_a_peer_that_does_not_read(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    const size_t sent = fill_up_unread(&p);
    assert_in_range(sent, 512 * 1024, 1024 * 1024);
    for (size_t got = 0; got < sent;) {
        fill(out, LENGTH, (unsigned)(got / LENGTH));
        const ssize_t n = read(p.server, in, LENGTH - got % LENGTH);
        assert_true(n > 0);
        assert_memory_equal(in, out + got % LENGTH, (size_t)n);
        got += (size_t)n;
    }
    assert_true(await(p.client, POLLOUT) & POLLOUT);
    close_pair(&p);
}

static void test_buffers_as_asked_for(void **state)
{
    struct pair p;
    const int asked = 64 * 1024;
    (void)state;
    open_listener_of(&p, asked);
    p.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(p.client, SOL_SOCKET, SO_SNDBUF, &asked, sizeof(asked)), 0);
    assert_int_equal(connect(p.client, address(&p), sizeof(p.at)), 0);
    p.server = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(p.server >= 0);
    assert_in_range(fill_up_unread(&p), 32 * 1024, 128 * 1024);
    close_pair(&p);
}

static void test_time_outs(void **state)
{
    struct pair p;
    struct timeval t = {0, 20000}, got = {0};
    socklen_t length = sizeof(got);
    (void)state;
    open_pair(&p);
    assert_int_equal(setsockopt(p.server, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)), 0);
    assert_int_equal(getsockopt(p.server, SOL_SOCKET, SO_RCVTIMEO, &got, &length), 0);
    assert_true(got.tv_sec == 0 && got.tv_usec >= 20000);
    assert_int_equal(read(p.server, in, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(write(p.client, "x", 1), 1);
    assert_int_equal(
        setsockopt(p.server, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){GUARD, 0}, sizeof(t)), 0);
    assert_int_equal(read(p.server, in, 1), 1);
    close_pair(&p);
}

static int number_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

static void test_names_and_options(void **state)
{
    struct pair p;
    struct sockaddr_in a = {0}, b = {0};
    socklen_t length = sizeof(a);
    (void)state;
    open_pair(&p);
    assert_int_equal(getsockname(p.client, (struct sockaddr *)&a, &length), 0);
    assert_int_equal(length, sizeof(a));
    assert_int_equal(getpeername(p.server, (struct sockaddr *)&b, &length), 0);
    assert_int_equal(a.sin_family, AF_INET);
    assert_int_not_equal(a.sin_port, 0);
    assert_int_equal(a.sin_port, b.sin_port);
    assert_int_equal(a.sin_addr.s_addr, b.sin_addr.s_addr);
    assert_int_equal(getpeername(p.client, (struct sockaddr *)&b, &length), 0);
    assert_int_equal(b.sin_port, p.at.sin_port);
    assert_int_equal(getpeername(p.listener, (struct sockaddr *)&b, &length), -1);
    assert_int_equal(errno, ENOTCONN);
    assert_int_equal(number_of(p.listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
    assert_int_equal(number_of(p.client, SOL_SOCKET, SO_ACCEPTCONN), 0);
    assert_int_equal(number_of(p.client, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
    assert_int_equal(number_of(p.client, SOL_SOCKET, SO_ERROR), 0);
    assert_int_equal(number_of(p.client, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    assert_int_equal(setsockopt(p.client, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){7}, sizeof(int)),
                     0);
    assert_int_equal(number_of(p.client, IPPROTO_TCP, TCP_USER_TIMEOUT), 7);
    assert_int_equal(setsockopt(p.client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
    assert_int_equal(number_of(p.client, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(connect(p.client, address(&p), sizeof(p.at)), -1);
    assert_int_equal(errno, EISCONN);
    assert_int_equal(listen(p.listener, 5), 0);
    close_pair(&p);
}

static void test_half_closed(void **state)
{
    struct pair p;
    (void)state;
    fill(out, LENGTH, 5);
    open_pair(&p);
    assert_int_equal(write(p.client, out, 1000), 1000);
    assert_int_equal(shutdown(p.client, SHUT_WR), 0);
    receive_all(p.server, in, 1000);
    assert_int_equal(read(p.server, in, 1), 0);
    assert_int_equal(read(p.server, in, 1), 0);
    assert_int_equal(write(p.server, out + 1, 1000), 1000);
    close(p.server);
    receive_all(p.client, in, 1000);
    assert_memory_equal(in, out + 1, 1000);
    assert_int_equal(read(p.client, in, 1), 0);
    assert_int_equal(send(p.client, "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    close(p.client);
    close(p.listener);
}

static volatile sig_atomic_t pipes;

static void count_pipe(int signal)
{
    (void)signal;
    pipes++;
}

static void test_a_write_after_the_end(void **state)
{
    struct pair p;
    int error = 0;
    (void)state;
    signal(SIGPIPE, count_pipe);
    open_pair(&p);
    close(p.server);
    assert_int_equal(read(p.client, in, 1), 0);
    for (unsigned i = 0; i < 3 && error != EPIPE; i++)
        error = write(p.client, "x", 1) < 0 ? errno : 0;
    assert_int_equal(error, EPIPE);
    assert_int_equal(pipes, 1);
    signal(SIGPIPE, SIG_DFL);
    close(p.client);
    close(p.listener);
}

static void test_copies_of_numbers(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    const int copy = dup(p.client), second = fcntl(p.client, F_DUPFD_CLOEXEC, 50);
    assert_true(copy >= 0 && second >= 50);
    assert_int_equal(fcntl(second, F_GETFD), FD_CLOEXEC);
    assert_int_equal(dup3(p.client, 60, O_CLOEXEC), 60);
    assert_int_equal(dup2(60, second), second);
    close(p.client);
    close(copy);
    close(second);
    assert_int_equal(write(60, "last", 4), 4);
    receive_all(p.server, in, 4);
    assert_memory_equal(in, "last", 4);
    assert_int_equal(write(copy, "x", 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(dup2(STDERR_FILENO, 60), 60); /* which closes it */
    assert_int_equal(read(p.server, in, 1), 0);
    close(60);
    close(p.server);
    close(p.listener);
}

/* A number that was closed without the library and is given to another socket: the first one ends.
 */
static void test_a_number_that_comes_again(void **state)
{
    struct pair p;
    int fill_up, count = 0, more[64];
    (void)state;
    open_pair(&p);
    const int second = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(second, address(&p), sizeof(p.at)), 0);
    do {
        fill_up = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fill_up >= 0 && count < 64);
        more[count++] = fill_up;
    } while (fill_up < p.client);
    assert_int_equal(syscall(SYS_close, p.client), 0);
    assert_int_equal(accept4(p.listener, NULL, NULL, SOCK_CLOEXEC), p.client);
    await(p.server, POLLIN);
    assert_int_equal(read(p.server, in, 1), 0);
    assert_int_equal(write(p.client, "x", 1), 1);
    assert_int_equal(read(second, in, 1), 1);
    while (count > 0)
        close(more[--count]);
    close(second);
    close_pair(&p);
}

static void test_a_range_of_numbers(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    assert_int_equal(dup2(p.client, 200), 200);
    close(p.client);
    assert_int_equal(close_range(199, 201, 0), 0);
    assert_int_equal(read(p.server, in, 1), 0);
    assert_int_equal(dup2(STDERR_FILENO, 200), 200); /* the number is plain again */
    assert_int_equal(fcntl(200, F_GETFD), 0);
    closefrom(200);
    assert_int_equal(fcntl(200, F_GETFD), -1);
    close(p.server);
    close(p.listener);
}

static void test_flags_of_new_sockets(void **state)
{
    struct pair p;
    (void)state;
    open_listener(&p);
    p.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (connect(p.client, address(&p), sizeof(p.at)) != 0) /* else it was done at once */
        assert_int_equal(errno, EINPROGRESS);
    assert_true(await(p.client, POLLOUT) & POLLOUT);
    assert_int_equal(number_of(p.client, SOL_SOCKET, SO_ERROR), 0);
    assert_int_equal(fcntl(p.client, F_GETFD), FD_CLOEXEC);
    await(p.listener, POLLIN);
    p.server = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(p.server >= 0);
    assert_int_equal(fcntl(p.server, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(p.server, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(accept4(p.listener, NULL, NULL, 0x8000000), -1);
    assert_int_equal(errno, EINVAL);
    close_pair(&p);
}

/* A port where nobody listens, and then a port where somebody does, with the same socket. */
static void test_refused_then_accepted(void **state)
{
    struct pair p, nobody;
    (void)state;
    open_listener(&nobody);
    close(nobody.listener);
    open_listener(&p);
    p.client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(p.client, address(&nobody), sizeof(nobody.at)), -1);
    const int blocking = errno;
    assert_int_equal(fcntl(p.client, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(connect(p.client, address(&nobody), sizeof(nobody.at)), -1);
    if (errno == EINPROGRESS) {
        assert_true(await(p.client, POLLOUT) & POLLOUT);
        assert_int_equal(number_of(p.client, SOL_SOCKET, SO_ERROR), blocking);
    } else {
        assert_int_equal(errno, blocking);
    }
    assert_int_equal(fcntl(p.client, F_SETFL, 0), 0);
    assert_int_equal(connect(p.client, address(&p), sizeof(p.at)), 0);
    p.server = accept(p.listener, NULL, NULL);
    assert_true(p.server >= 0);
    assert_int_equal(write(p.client, "x", 1), 1);
    receive_all(p.server, in, 1);
    close_pair(&p);
}

static void test_files(void **state)
{
    struct pair p;
    char name[] = "/tmp/iwarp-preload-XXXXXX";
    const int file = mkstemp(name);
    off_t at = 1000;
    (void)state;
    unlink(name);
    fill(out, LENGTH, 6);
    assert_int_equal(write(file, out, 50000), 50000);
    open_pair(&p);
    assert_int_equal(sendfile(p.client, file, &at, 20000), 20000);
    assert_int_equal(at, 21000);
    receive_all(p.server, in, 20000);
    assert_memory_equal(in, out + 1000, 20000);
    assert_int_equal(lseek(file, 49000, SEEK_SET), 49000);
    assert_int_equal(sendfile(p.client, file, NULL, 20000), 1000); /* to its end */
    assert_int_equal(lseek(file, 0, SEEK_CUR), 50000);
    receive_all(p.server, in, 1000);
    assert_memory_equal(in, out + 49000, 1000);
    assert_int_equal(sendfile(p.client, p.server, NULL, 1), -1);
    assert_int_equal(errno, EINVAL);
    close(file);
    close_pair(&p);
}

static void test_nothing_and_nonsense(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    assert_int_equal(read(p.server, in, 0), 0);
    assert_int_equal(write(p.client, out, 0), 0);
    assert_int_equal(recv(p.server, in, 1, MSG_OOB), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(send(p.client, out, 1, MSG_OOB), -1);
    assert_int_equal(errno, EOPNOTSUPP);
    volatile int few = -1; /* where the compiler cannot see it */
    assert_int_equal(readv(p.server, NULL, few), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(shutdown(p.client, 9), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(read(p.listener, in, 1), -1);
    assert_int_equal(errno, ENOTCONN);
    assert_int_equal(shutdown(p.listener, 9), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(ioctl(p.listener, FIONREAD, in), -1);
    assert_int_equal(errno, EINVAL);
    close_pair(&p);
}

/* Each is a message; with those that rsockets sends beside them they are more than it has receives.
 */
static void test_many_small_ones(void **state)
{
    struct pair p;
    size_t sent = 0;
    (void)state;
    open_pair(&p);
    fill(out, sizeof(out), 8);
    ssize_t n;
    while ((n = send(p.client, out + sent, 10, MSG_DONTWAIT)) > 0)
        sent += (size_t)n;
    assert_int_equal(errno, EAGAIN);
    assert_true(sent >= 1000);
    close(p.client); /* which is a message as well */
    receive_all(p.server, in, sent);
    assert_memory_equal(in, out, sent);
    assert_int_equal(read(p.server, in, 1), 0);
    close(p.server);
    close(p.listener);
}

/* Addresses that are none, where a rule would take them. */
static void test_no_address(void **state)
{
    struct pair p;
    (void)state;
    open_pair(&p);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, address(&p), sizeof(p.at) - 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(connect(fd, NULL, sizeof(p.at)), -1);
    assert_int_equal(errno, EFAULT);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = p.at.sin_port};
    six.sin6_addr.s6_addr[15] = 1;
    assert_int_equal(connect(fd, (struct sockaddr *)&six, sizeof(six) - 5), -1);
    assert_int_equal(connect(fd, address(&p), sizeof(p.at)), 0);
    close(fd);
    close_pair(&p);
}

/* What no rule names: local sockets, and descriptors that are none. */
static void test_what_stays_plain(void **state)
{
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[0], "plain", 5), 5);
    assert_int_equal(read(pair[1], in, 5), 5);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(read(pair[1], in, 5), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(close(-1), -1);
    assert_int_equal(close(1 << 21), -1);
    assert_int_equal(listen(STDERR_FILENO, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_that_moves_octets),
        cmocka_unit_test(test_several_messages_in_one_call),
        cmocka_unit_test(test_peeking_and_counting),
        cmocka_unit_test(test_more_that_comes),
        cmocka_unit_test(test_without_waiting),
        cmocka_unit_test(test_a_peer_that_does_not_read),
        cmocka_unit_test(test_buffers_as_asked_for),
        cmocka_unit_test(test_time_outs),
        cmocka_unit_test(test_names_and_options),
        cmocka_unit_test(test_half_closed),
        cmocka_unit_test(test_a_write_after_the_end),
        cmocka_unit_test(test_copies_of_numbers),
        cmocka_unit_test(test_a_number_that_comes_again),
        cmocka_unit_test(test_a_range_of_numbers),
        cmocka_unit_test(test_flags_of_new_sockets),
        cmocka_unit_test(test_refused_then_accepted),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_nothing_and_nonsense),
        cmocka_unit_test(test_many_small_ones),
        cmocka_unit_test(test_no_address),
        cmocka_unit_test(test_what_stays_plain),
    };
    use_iwarp();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
