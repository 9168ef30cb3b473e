/* SPDX-License-Identifier: BSD-3-Clause */
/* A connected stream: what is received, sent and reported, by what rsockets return. */
#include "faked_rsockets.h"

#include <limits.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static char in[10000];
static const char out[] = "0123456789abcdef";

static volatile sig_atomic_t pipes;

static void count_pipe(int signal)
{
    (void)signal;
    pipes++;
}

static void receives(void **unused)
{
    (void)unused;
    const int fd = connected();
    struct iovec two[3] = {{in, 3}, {in + 100, 0}, {in + 200, 4}};
    struct msghdr m = {.msg_iov = two, .msg_iovlen = 3};
    set_blocking(fd, false);
    fails(read(fd, in, 1), EAGAIN);
    peer_says(out, 10);
    /* All pieces are filled, of what is there. */
    assert_int_equal(recvmsg(fd, &m, MSG_PEEK), 7);
    assert_memory_equal(in, "012", 3);
    assert_memory_equal(in + 200, "3456", 4);
    memset(in, 0, sizeof(in));
    assert_int_equal(readv(fd, two, 3), 7);
    assert_memory_equal(in, "012", 3);
    assert_memory_equal(in + 200, "3456", 4);
    assert_int_equal(in[3], 0);
    assert_int_equal(readv(fd, two, 3), 3);
    assert_memory_equal(in, "789", 3);
    fails(readv(fd, two, 3), EAGAIN);
    peer_says(out, 5);
    assert_int_equal(readv(fd, two, 3), 5);
    assert_memory_equal(in + 200, "34", 2);
    /* Too much to count, nothing to count, and flags that mean nothing here. */
    two[0].iov_len = SSIZE_MAX;
    two[2].iov_len = 1;
    fails(recvmsg(fd, &m, 0), EINVAL);
    fails(sendmsg(fd, &m, 0), EINVAL);
    two[0].iov_len = 0;
    two[2].iov_len = 0;
    assert_int_equal(recvmsg(fd, &m, 0), 0);
    fails(recv(fd, in, 1, MSG_OOB), EINVAL);
    fails(recv(fd, in, 1, MSG_ERRQUEUE), EAGAIN);
    fails(recv(fd, in, 1, MSG_ERRQUEUE | MSG_OOB), EINVAL);
    fails(send(fd, out, 1, MSG_OOB), EOPNOTSUPP);
    /* Octets that are dropped: 4,096 at a time. */
    memset(in, '.', sizeof(in));
    peer_says(in, 6000);
    assert_int_equal(recv(fd, NULL, 6000, MSG_TRUNC), 4096);
    assert_int_equal(recv(fd, NULL, 6000, MSG_TRUNC), 6000 - 4096);
    close(fd);
}

/* All that was asked for, unless the end or an error comes. */
static void receives_all(void **unused)
{
    (void)unused;
    int fd = connected();
    set_time(fd, SO_RCVTIMEO, 5);
    peer_says(out, 3);
    assert_int_equal(recv(fd, in, 5, MSG_WAITALL), 3); /* in 5 ms */
    fails(recv(fd, in, 5, MSG_WAITALL), EAGAIN);
    peer_says(out, 3);
    assert_int_equal(recv(fd, in, 3, MSG_WAITALL), 3);
    peer_says(out, 3);
    fake.receives = 0;
    assert_int_equal(recv(fd, in, 5, MSG_WAITALL | MSG_PEEK), 3);
    assert_int_equal(fake.receives, 1);
    assert_int_equal(recv(fd, in, 5, MSG_WAITALL | MSG_DONTWAIT), 3);
    /* One that fails after something has come. */
    peer_says(out, 3);
    fake.receive_error = ECONNRESET;
    fake.receives_left = 1;
    assert_int_equal(recv(fd, in, 5, MSG_WAITALL), 3);
    fails(recv(fd, in, 5, MSG_WAITALL), ECONNRESET);
    fake.receive_error = 0;
    /* The end. */
    peer_says(out, 4);
    assert_int_equal(iw_libc()->shutdown(peers[fake.last], SHUT_WR), 0);
    assert_int_equal(recv(fd, in, 5, MSG_WAITALL), 4);
    assert_int_equal(recv(fd, in, 5, MSG_WAITALL), 0);
    close(fd);
    /* Pieces: the first that gets something may have waited, unless all is asked for. */
    fd = connected();
    set_time(fd, SO_RCVTIMEO, 5);
    struct iovec two[2] = {{in, 3}, {in + 3, 3}};
    struct msghdr m = {.msg_iov = two, .msg_iovlen = 2};
    peer_says(out, 3);
    fake.polls = 0;
    assert_int_equal(recvmsg(fd, &m, 0), 3);
    assert_int_equal(fake.polls, 0);
    peer_says(out, 3);
    assert_int_equal(recvmsg(fd, &m, MSG_WAITALL), 3);
    assert_int_equal(fake.polls, 1);
    close(fd);
}

/* An end may be a failure: it is reported once. */
static void at_the_end(void **unused)
{
    (void)unused;
    const int fd = connected();
    assert_int_equal(iw_libc()->shutdown(peers[fake.last], SHUT_WR), 0);
    assert_int_equal(read(fd, in, 1), 0);
    fake.also = POLLHUP;
    assert_int_equal(read(fd, in, 1), 0);
    fake.also = POLLERR;
    fails(read(fd, in, 1), ECONNRESET);
    assert_int_equal(read(fd, in, 1), 0);
    fails(send(fd, out, 1, MSG_NOSIGNAL), EPIPE);
    fake.also = 0;
    /* What this end does not read any more it does not get. */
    close(fd);
    const int other = connected();
    peer_says(out, 3);
    assert_int_equal(shutdown(other, SHUT_RD), 0);
    assert_int_equal(fake.how, SHUT_RD);
    fake.receives = 0;
    assert_int_equal(read(other, in, 1), 0);
    assert_int_equal(fake.receives, 0);
    assert_int_equal(write(other, out, 1), 1);
    assert_int_equal(shutdown(other, SHUT_RDWR), 0);
    assert_int_equal(fake.how, SHUT_RDWR);
    fails(shutdown(other, 3), EINVAL);
    fails(shutdown(other, -1), EINVAL);
    assert_int_equal(fake.shutdowns, 2);
    close(other);
}

static void expect_peer_has(const char *octets, size_t length)
{
    char got[100];
    assert_int_equal(iw_libc()->recv(peers[fake.last], got, sizeof(got), MSG_DONTWAIT), length);
    assert_memory_equal(got, octets, length);
}

static void sends(void **unused)
{
    (void)unused;
    const int fd = connected();
    struct iovec three[3] = {
        {(char *)(uintptr_t)out, 4}, {NULL, 0}, {(char *)(uintptr_t)out + 4, 6}};
    /* One that waits sends all of it, however little is taken at a time. */
    fake.send_most = 3;
    assert_int_equal(write(fd, out, 10), 10);
    assert_int_equal(fake.sends, 4);
    expect_peer_has("0123456789", 10);
    assert_int_equal(writev(fd, three, 3), 10);
    expect_peer_has("0123456789", 10);
    /* Others what goes at once; after a piece that went in part none is sent. */
    fake.sends = 0;
    assert_int_equal(send(fd, out, 10, MSG_DONTWAIT), 3);
    assert_int_equal(fake.sends, 1);
    expect_peer_has("012", 3);
    set_blocking(fd, false);
    assert_int_equal(writev(fd, three, 3), 3);
    expect_peer_has("012", 3);
    fake.send_most = 4;
    assert_int_equal(writev(fd, three, 3), 8);
    expect_peer_has("01234567", 8);
    fake.send_most = 0;
    fails(writev(fd, three, 3), EAGAIN);
    fails(send(fd, out, 10, 0), EAGAIN);
    /* By the time-out. */
    set_blocking(fd, true);
    set_time(fd, SO_SNDTIMEO, 5);
    fake.hide = POLLOUT;
    fails(send(fd, out, 10, 0), EAGAIN);
    fake.hide = 0;
    fake.send_most = SIZE_MAX;
    assert_int_equal(send(fd, out, 0, 0), 0);
    assert_int_equal(writev(fd, three, 0), 0);
    close(fd);
}

/* The first failure is an error, later ones raise SIGPIPE, as TCP's do. */
static void sends_that_fail(void **unused)
{
    (void)unused;
    static const int errors[] = {ECONNRESET, EPIPE};
    pipes = 0;
    signal(SIGPIPE, count_pipe);
    for (int i = 0; i < 2; i++) {
        const int fd = connected();
        fake.send_error = errors[i];
        fails(write(fd, out, 1), ECONNRESET);
        assert_int_equal(pipes, i);
        fails(send(fd, out, 1, MSG_NOSIGNAL), EPIPE);
        assert_int_equal(pipes, i);
        fails(write(fd, out, 1), EPIPE);
        assert_int_equal(pipes, i + 1);
        fake.send_error = 0;
        close(fd);
    }
    int fd = connected();
    fake.send_error = ENOBUFS; /* which is none of the connection */
    fails(write(fd, out, 1), ENOBUFS);
    fake.send_error = 0;
    assert_int_equal(write(fd, out, 1), 1);
    /* What this end has shut is no error of the connection either. */
    pipes = 0;
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    fails(write(fd, out, 1), EPIPE);
    assert_int_equal(pipes, 1);
    fails(send(fd, out, 1, MSG_NOSIGNAL), EPIPE);
    assert_int_equal(pipes, 1);
    close(fd);
    /* A peer that has closed takes nothing, though there may be room. */
    fd = connected();
    iw_libc()->shutdown(peers[fake.last], SHUT_WR);
    fake.also = POLLHUP;
    fake.sends = 0;
    assert_int_equal(write(fd, out, 1), 1); /* that is not known yet */
    assert_int_equal(read(fd, in, 1), 0);
    fails(write(fd, out, 1), ECONNRESET);
    fails(send(fd, out, 1, MSG_NOSIGNAL), EPIPE);
    assert_int_equal(fake.sends, 1);
    fake.also = 0;
    close(fd);
    /* One that has ended its direction only still reads. */
    fd = connected();
    iw_libc()->shutdown(peers[fake.last], SHUT_WR);
    assert_int_equal(read(fd, in, 1), 0);
    assert_int_equal(write(fd, out, 1), 1);
    close(fd);
    signal(SIGPIPE, SIG_DFL);
}

static void options_and_names(void **unused)
{
    (void)unused;
    const int fd = connected();
    struct sockaddr_in name;
    socklen_t length;
    int waiting = -1;
    for (socklen_t room = 1; room < 7; room++) {
        int value = -1;
        length = room;
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length), 0);
        assert_int_equal(length, room < 4 ? room : 4);
        assert_int_equal((unsigned)value, room < 4 ? UINT32_MAX << 8 * room : 0);
    }
    for (int peer = 0; peer < 2; peer++) {
        length = sizeof(name);
        assert_int_equal(peer ? getpeername(fd, (struct sockaddr *)&name, &length)
                              : getsockname(fd, (struct sockaddr *)&name, &length),
                         0);
        assert_int_equal(ntohs(name.sin_port), peer ? 1111 : 2222);
    }
    /* The time-out that marks the socket is the program's own. */
    static const unsigned given = 0x01020304;
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &given, sizeof(given)), 0);
    fails(setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &given, 3), EINVAL);
    assert_int_equal(systems_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), MARK);
    uint8_t few[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    length = 3;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, few, &length), 0);
    assert_int_equal(length, 3);
    assert_memory_equal(few, "\4\3\2\t", 4);
    length = 8;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, few, &length), 0);
    assert_int_equal(length, 4);
    assert_memory_equal(few, "\4\3\2\1\t", 5);
    /* FIONREAD. */
    assert_int_equal(ioctl(fd, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 0);
    peer_says(out, 9);
    assert_int_equal(ioctl(fd, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 9);
    assert_int_equal(read(fd, in, 9), 9);
    /* Blocking or not, by either call. */
    int on = 1;
    assert_int_equal(ioctl(fd, FIONBIO, &on), 0);
    fails(read(fd, in, 1), EAGAIN);
    on = 0;
    assert_int_equal(ioctl(fd, FIONBIO, &on), 0);
    set_time(fd, SO_RCVTIMEO, 1);
    fake.polls = 0;
    fails(read(fd, in, 1), EAGAIN);
    assert_int_equal(fake.polls, 1);
    set_blocking(fd, false);
    fails(read(fd, in, 1), EAGAIN);
    assert_int_equal(fake.polls, 1);
    close(fd);
}

/* What poll says, by what rpoll says. */
static void events(void **unused)
{
    (void)unused;
    enum { ALL_IN = POLLIN | POLLRDNORM, ALL_OUT = POLLOUT | POLLWRNORM };
    static const struct {
        bool ended, shut;
        short rpoll, asked, found;
    } rows[] = {{false, false, POLLIN, POLLIN, POLLIN},
                {false, false, POLLIN, ALL_IN, ALL_IN},
                {false, false, POLLIN, POLLRDNORM, POLLRDNORM},
                {false, false, POLLIN, POLLIN | POLLRDHUP, POLLIN},
                {true, false, POLLIN, POLLIN | POLLRDHUP, POLLIN | POLLRDHUP},
                {true, false, POLLIN, POLLRDHUP, POLLRDHUP},
                {true, false, POLLHUP, POLLRDHUP, POLLRDHUP},
                {true, false, POLLERR, POLLRDHUP, POLLERR | POLLHUP},
                {false, false, POLLOUT, ALL_OUT, ALL_OUT},
                {false, false, POLLOUT, ALL_OUT | ALL_IN, ALL_OUT},
                {false, false, POLLIN | POLLOUT, POLLIN | POLLOUT, POLLIN | POLLOUT},
                {false, false, POLLHUP, POLLIN | POLLOUT, POLLIN | POLLOUT},
                {false, false, POLLHUP, ALL_OUT, ALL_OUT},
                {false, false, POLLHUP, 0, 0},
                {false, true, POLLHUP, 0, POLLHUP},
                {false, true, POLLHUP, POLLIN, POLLIN | POLLHUP},
                {false, true, POLLIN, POLLIN, POLLIN},
                {false, false, POLLERR, 0, POLLERR | POLLHUP},
                {false, false, POLLERR, POLLIN, POLLIN | POLLERR | POLLHUP},
                {false, false, POLLERR, POLLOUT, POLLOUT | POLLERR | POLLHUP},
                {false, false, 0, POLLIN | POLLOUT, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int fd = connected();
        if (rows[i].ended)
            iw_libc()->shutdown(peers[fake.last], SHUT_WR);
        if (rows[i].shut)
            assert_int_equal(shutdown(fd, SHUT_WR), 0);
        fake.hide = -1;
        fake.also = rows[i].rpoll;
        struct pollfd one = {.fd = fd, .events = rows[i].asked, .revents = -1};
        const int ready = poll(&one, 1, 0);
        if (one.revents != rows[i].found || ready != (rows[i].found != 0))
            fail_msg("row %zu: %d, %x", i, ready, (unsigned)one.revents);
        fake.hide = fake.also = 0;
        close(fd);
    }
}

/* ---- files ---- */

static void files(void **unused)
{
    (void)unused;
    enum { LENGTH = 300000 };
    static char octets[LENGTH], got[LENGTH];
    char name[] = "/tmp/iwarp-faked-XXXXXX";
    const int file = mkstemp(name), fd = connected();
    off_t at = 0;
    for (size_t i = 0; i < LENGTH; i++)
        octets[i] = (char)(i * 7 + (i >> 8));
    unlink(name);
    assert_int_equal(write(file, octets, LENGTH), LENGTH);
    set_blocking(fd, false);
    /* In pieces of 128 KiB, as long as they go whole. */
    fake.send_most = 131072;
    at = 5;
    assert_int_equal(sendfile(fd, file, &at, 140000), 140000);
    assert_int_equal(fake.sends, 2);
    assert_int_equal(at, 140005);
    assert_int_equal(iw_libc()->recv(peers[fake.last], got, LENGTH, MSG_WAITALL | MSG_DONTWAIT),
                     140000);
    assert_memory_equal(got, octets + 5, 140000);
    fake.send_most = 100;
    fake.sends = 0;
    off64_t at64 = 7;
    assert_int_equal(sendfile64(fd, file, &at64, 1000), 100);
    assert_int_equal(fake.sends, 1);
    assert_int_equal(at64, 107);
    assert_int_equal(iw_libc()->recv(peers[fake.last], got, LENGTH, MSG_DONTWAIT), 100);
    assert_memory_equal(got, octets + 7, 100);
    /* Without an offset the file moves. */
    assert_int_equal(lseek(file, 200000, SEEK_SET), 200000);
    assert_int_equal(sendfile(fd, file, NULL, 10), 10);
    assert_int_equal(lseek(file, 0, SEEK_CUR), 200010);
    assert_int_equal(iw_libc()->recv(peers[fake.last], got, LENGTH, MSG_DONTWAIT), 10);
    assert_memory_equal(got, octets + 200000, 10);
    /* The end, nothing, and failures, which move nothing. */
    fake.send_most = SIZE_MAX;
    at = LENGTH - 3;
    assert_int_equal(sendfile(fd, file, &at, 10), 3);
    assert_int_equal(at, LENGTH);
    assert_int_equal(sendfile(fd, file, &at, 10), 0);
    assert_int_equal(sendfile(fd, file, &at, 0), 0);
    assert_int_equal(at, LENGTH);
    fake.send_most = 0;
    at = 9;
    fails(sendfile(fd, file, &at, 10), EAGAIN);
    assert_int_equal(at, 9);
    fails(sendfile(fd, file, NULL, 10), EAGAIN);
    assert_int_equal(lseek(file, 0, SEEK_CUR), 200010);
    at = -1;
    fails(sendfile(fd, file, &at, 10), EINVAL);
    fails(sendfile(fd, -1, NULL, 10), EINVAL);
    at = 0;
    fails(sendfile(fd, -1, &at, 10), EBADF);
    close(file);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKED(receives),        FAKED(receives_all),      FAKED(at_the_end), FAKED(sends),
        FAKED(sends_that_fail), FAKED(options_and_names), FAKED(events),     FAKED(files),
    };
    give_rules();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
