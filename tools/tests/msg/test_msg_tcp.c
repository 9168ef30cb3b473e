/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain TCP beside the messages: a length and the octets, in whatever pieces they come. */
#include "message_stage.h"
#include "msg_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/wait.h>

#include "../caught.h"

/* ---- doubles ---- */

static size_t piece;    /* octets of one call, 0: all */
static int interrupted; /* calls that a signal ends */
static int breaks;      /* errno of the call after them; 0: none */

ssize_t __real_send(int fd, const void *octets, size_t length, int flags);
ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags);
ssize_t __real_recv(int fd, void *octets, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags);

static bool stops(void)
{
    errno = interrupted > 0 ? EINTR : breaks;
    const bool now = interrupted > 0 || breaks != 0;
    interrupted -= interrupted > 0;
    return now;
}

ssize_t __wrap_send(int fd, const void *octets, size_t length, int flags)
{
    assert_int_equal(flags, MSG_NOSIGNAL);
    if (stops())
        return -1;
    return __real_send(fd, octets, piece > 0 && piece < length ? piece : length, flags);
}

ssize_t __wrap_recv(int fd, void *octets, size_t length, int flags)
{
    assert_int_equal(flags, 0);
    if (stops())
        return -1;
    return __real_recv(fd, octets, piece > 0 && piece < length ? piece : length, flags);
}

/* ---- a connection with the test at the other end ---- */

static struct msg_tcp line;
static int other;

static int begin(void **state)
{
    int ends[2];
    stage_begin(state);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    line = (struct msg_tcp){.fd = ends[0]};
    other = ends[1];
    piece = 0;
    interrupted = breaks = 0;
    return 0;
}

static int end(void **state)
{
    msg_tcp_close(&line);
    close(other);
    return catch_no_more(state) | stage_end(state);
}

static void give(const void *octets, size_t length)
{
    assert_int_equal(__real_send(other, octets, length, MSG_NOSIGNAL), length);
}

#define GIVE(octets) give(octets, sizeof(octets) - 1)

/* ---- receiving ---- */

static void messages(void **state)
{
    (void)state;
    for (piece = 0; piece < 15; piece++) {
        interrupted = 2;
        GIVE("\0\0\0\0\0\0\0\5hello");
        const uint8_t *octets = msg_tcp_receive(&line, 5);
        assert_non_null(octets);
        assert_ptr_equal(octets, line.buffer + 8);
        assert_memory_equal(octets, "hello", 5);
        assert_int_equal(line.length, 5);
        assert_int_equal(line.more, 0);
        GIVE("\0\0\0\0\0\0\0\0");
        assert_non_null(msg_tcp_receive(&line, 5));
        assert_int_equal(line.length, 0);
    }
    assert_int_equal(line.room, 2 << 20);
}

static void what_came_after_it(void **state)
{
    (void)state;
    GIVE("\0\0\0\0\0\0\0\2hiafter");
    const uint8_t *octets = msg_tcp_receive(&line, 100);
    assert_memory_equal(octets, "hiafter", 7);
    assert_int_equal(line.length, 2);
    assert_int_equal(line.more, 5);
}

static void too_long(void **state)
{
    (void)state;
    GIVE("\0\0\0\0\0\0\0\6hello!");
    assert_null(msg_tcp_receive(&line, 5));
    assert_int_equal(errno, EPROTO);
    assert_int_equal(line.length, 0);
}

static void far_too_long(void **state)
{
    (void)state;
    GIVE("\1\0\0\0\0\0\0\0hello!");
    assert_null(msg_tcp_receive(&line, 1 << 30));
    assert_int_equal(errno, EPROTO);
}

/* A message that needs more room than there is: what has come is kept. */
static void a_larger_buffer(void **state)
{
    (void)state;
    enum { LENGTH = (2 << 20) - 7 };
    static uint8_t octets[8 + LENGTH] = {0, 0, 0, 0, 0, 0x1f, 0xff, 0xf9, 'x', 'y'};
    octets[7 + LENGTH] = 'z';
    const int room = 4 << 20;
    setsockopt(other, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    const pid_t child = fork();
    if (child == 0) {
        for (size_t at = 0; at < sizeof(octets);) {
            const ssize_t went = __real_send(other, octets + at, sizeof(octets) - at, 0);
            at += went > 0 ? (size_t)went : 0;
        }
        _exit(0);
    }
    const uint8_t *got = msg_tcp_receive(&line, LENGTH);
    assert_non_null(got);
    assert_int_equal(line.length, LENGTH);
    assert_int_equal(line.more, 0);
    assert_int_equal(line.room, 4 << 20);
    assert_memory_equal(got, octets + 8, LENGTH);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void an_end(void **state)
{
    (void)state;
    GIVE("\0\0\0\0\0\0\0\6hello");
    shutdown(other, SHUT_WR);
    errno = ENOMEM;
    assert_null(msg_tcp_receive(&line, 6));
    assert_int_equal(errno, 0);
    breaks = ECONNRESET;
    assert_null(msg_tcp_receive(&line, 6));
    assert_int_equal(errno, ECONNRESET);
    interrupted = 1;
    stage.ended = SIGINT; /* an interrupt ends the wait */
    assert_null(msg_tcp_receive(&line, 6));
    assert_int_equal(errno, EINTR);
}

static void is_busy(void **state)
{
    (void)state;
    atomic_uint_least64_t busy = 3;
    line.busy = &busy;
    breaks = ECONNRESET;
    assert_null(msg_tcp_receive(&line, 6));
    assert_int_equal(busy, 3); /* nothing has come */
    breaks = 0;
    GIVE("\0\0\0\0\0\0\0\1h");
    assert_non_null(msg_tcp_receive(&line, 6));
    assert_true(busy == UINT64_MAX);
}

static void raw(void **state)
{
    (void)state;
    uint8_t octets[8];
    GIVE("abc");
    interrupted = 1;
    assert_int_equal(msg_tcp_receive_raw(&line, octets, 2), 2);
    assert_memory_equal(octets, "ab", 2);
    shutdown(other, SHUT_WR);
    assert_int_equal(msg_tcp_receive_raw(&line, octets, 8), 1);
    assert_int_equal(msg_tcp_receive_raw(&line, octets, 8), 0);
}

/* ---- sending ---- */

static void sending(void **state)
{
    (void)state;
    uint8_t got[20];
    for (piece = 0; piece < 15; piece++) {
        interrupted = 2;
        uint8_t *octets = msg_tcp_room(&line, 5);
        assert_ptr_equal(octets, line.buffer + 8);
        memcpy(octets, "hello", 5);
        assert_true(msg_tcp_send(&line, 5));
        assert_int_equal(__real_recv(other, got, sizeof(got), 0), 13);
        assert_memory_equal(got, "\0\0\0\0\0\0\0\5hello", 13);
    }
    assert_true(msg_tcp_send_raw(&line, (const uint8_t *)"raw", 3));
    assert_int_equal(__real_recv(other, got, sizeof(got), 0), 3);
    breaks = EPIPE;
    assert_false(msg_tcp_send(&line, 5));
    assert_int_equal(errno, EPIPE);
    assert_true(msg_tcp_send_raw(&line, got, 0)); /* nothing is to be sent */
}

/* ---- its buffer ---- */

static void room(void **state)
{
    (void)state;
    assert_non_null(msg_tcp_room(&line, (2 << 20) - 8));
    assert_int_equal(line.room, 2 << 20);
    uint8_t *before = line.buffer;
    memcpy(before, "kept", 4);
    line.length = 4;
    assert_non_null(msg_tcp_room(&line, 1)); /* it is large enough */
    assert_ptr_equal(line.buffer, before);
    assert_non_null(msg_tcp_room(&line, (2 << 20) - 7));
    assert_int_equal(line.room, 4 << 20);
    assert_memory_equal(line.buffer, "kept", 4);
    line.buffer[(4 << 20) - 1] = 1;
    assert_null(msg_tcp_room(&line, SIZE_MAX / 2));
    assert_int_equal(line.room, 4 << 20);
    const int fd = line.fd;
    msg_tcp_close(&line);
    assert_int_equal(line.fd, -1);
    assert_null(line.buffer);
    assert_int_equal(line.room, 0);
    assert_true(fcntl(fd, F_GETFD) < 0);
    msg_tcp_close(&line);
}

/* ---- connecting ---- */

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

static void connected(void **state)
{
    (void)state;
    int listener = -1;
    struct sockaddr_storage at;
    char where[40];
    assert_int_equal(msg_tcp_listen("127.0.0.1:0", &listener, &at), -1);
    assert_int_equal(at.ss_family, AF_INET);
    assert_int_equal(option(listener, SOL_SOCKET, SO_REUSEADDR), 1);
    assert_int_equal(option(listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
    assert_true(fcntl(listener, F_GETFD) & FD_CLOEXEC);
    const struct sockaddr_in *in = (const struct sockaddr_in *)&at;
    assert_int_equal(ntohl(in->sin_addr.s_addr), 0x7f000001);
    snprintf(where, sizeof(where), "127.0.0.1:%u", ntohs(in->sin_port));
    struct msg_tcp near;
    const unsigned before = descriptors();
    assert_int_equal(msg_tcp_connect(where, &near), -1);
    assert_int_equal(descriptors(), before + 1);
    assert_true(fcntl(near.fd, F_GETFD) & FD_CLOEXEC);
    assert_null(near.buffer);
    assert_int_equal(option(near.fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option(near.fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(near.fd, IPPROTO_TCP, TCP_KEEPIDLE), 5);
    assert_int_equal(option(near.fd, IPPROTO_TCP, TCP_KEEPINTVL), 1);
    assert_int_equal(option(near.fd, IPPROTO_TCP, TCP_KEEPCNT), 5);
    const int far = accept(listener, NULL, NULL);
    assert_true(far >= 0);
    close(far);
    msg_tcp_close(&near);
    close(listener);
    catch_from(STDERR_FILENO);
    const int status = msg_tcp_connect(where, &near);
    char line_of[100];
    snprintf(line_of, sizeof(line_of), "--tcp: %s: Connection refused\n", where);
    assert_non_null(strstr(caught(), line_of));
    assert_int_equal(status, 3);
    assert_int_equal(near.fd, -1);
    assert_int_equal(descriptors(), before - 1);
}

static void bad_places(void **state)
{
    (void)state;
    struct msg_tcp near;
    struct sockaddr_storage at;
    int listener = -1;
    const unsigned before = descriptors();
    catch_from(STDERR_FILENO);
    const int statuses[] = {
        msg_tcp_connect("nowhere", &near), msg_tcp_connect("no.such.host.invalid:1", &near),
        msg_tcp_listen("nowhere", &listener, &at), msg_tcp_listen("192.0.2.1:0", &listener, &at)};
    const char *text = caught();
    assert_int_equal(statuses[0], 64);
    assert_int_equal(statuses[1], 64);
    assert_int_equal(statuses[2], 64);
    assert_int_equal(statuses[3], 69);
    assert_non_null(strstr(text, "--tcp: 192.0.2.1:0: Cannot assign requested address\n"));
    assert_int_equal(near.fd, -1);
    assert_int_equal(listener, -1);
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages, begin, end),
        cmocka_unit_test_setup_teardown(what_came_after_it, begin, end),
        cmocka_unit_test_setup_teardown(too_long, begin, end),
        cmocka_unit_test_setup_teardown(far_too_long, begin, end),
        cmocka_unit_test_setup_teardown(a_larger_buffer, begin, end),
        cmocka_unit_test_setup_teardown(an_end, begin, end),
        cmocka_unit_test_setup_teardown(is_busy, begin, end),
        cmocka_unit_test_setup_teardown(raw, begin, end),
        cmocka_unit_test_setup_teardown(sending, begin, end),
        cmocka_unit_test_setup_teardown(room, begin, end),
        cmocka_unit_test_setup_teardown(connected, begin, end),
        cmocka_unit_test_setup_teardown(bad_places, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
