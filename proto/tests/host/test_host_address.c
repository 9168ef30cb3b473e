/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of hosts, numeric: nobody is asked for names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/address.h"
#include "host/clock.h"

/* Returns `host` and `port` resolved and printed, or what went wrong. */
static const char *resolved(const char *host, uint16_t port, bool passive)
{
    static char text[400];
    struct addrinfo *list = iw_address_resolve(host, port, passive, text, sizeof(text));
    if (list == NULL)
        return text;
    assert_int_equal(list->ai_socktype, SOCK_STREAM);
    iw_address_numeric(list->ai_addr, list->ai_addrlen, text, sizeof(text));
    freeaddrinfo(list);
    return text;
}

static void numbers_are_resolved(void **state)
{
    (void)state;
    assert_string_equal(resolved("127.0.0.1", 7471, false), "127.0.0.1:7471");
    assert_string_equal(resolved("10.0.0.7", 65535, true), "10.0.0.7:65535");
    assert_string_equal(resolved("::1", 1, false), "[::1]:1");
    assert_string_equal(resolved("fe00::7", 0, false), "[fe00::7]:0");
}

static void what_is_no_host_is_said(void **state)
{
    (void)state;
    assert_string_equal(resolved("::1%nosuchlink", 1, false),
                        "cannot resolve host \"::1%nosuchlink\": Name or service not known");
}

static void addresses_are_printed_with_their_port(void **state)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(65535)};
    const struct sockaddr_un local = {.sun_family = AF_UNIX};
    char text[60];
    (void)state;
    assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr), 1);
    iw_address_numeric((const struct sockaddr *)&v4, sizeof(v4), text, sizeof(text));
    assert_string_equal(text, "192.0.2.1:80");
    iw_address_numeric((const struct sockaddr *)&v6, sizeof(v6), text, sizeof(text));
    assert_string_equal(text, "[2001:db8::1]:65535");
    iw_address_numeric((const struct sockaddr *)&local, sizeof(local), text, sizeof(text));
    assert_string_equal(text, "-");
    /* Too short for its family. */
    iw_address_numeric((const struct sockaddr *)&v4, 4, text, sizeof(text));
    assert_string_equal(text, "-");
    assert_int_equal(iw_address_port((const struct sockaddr *)&v4), 80);
    assert_int_equal(iw_address_port((const struct sockaddr *)&v6), 65535);
    assert_int_equal(iw_address_port((const struct sockaddr *)&local), 0);
}

static void host_and_port_are_cut(void **state)
{
    static const struct {
        const char *text, *host, *port;
    } rows[] = {
        {"", "", NULL},
        {"host", "host", NULL},
        {"host:", "host", ""},
        {":7", "", "7"},
        {"10.0.0.7:x", "10.0.0.7", "x"},
        {"::1", "::1", NULL},
        {"fe80::1:7", "fe80::1:7", NULL},
        {"[]", "", NULL},
        {"[::1]", "::1", NULL},
        {"[::1]:", "::1", ""},
        {"[::1]:7:8", "::1", "7:8"},
    };
    struct iw_address_parts parts;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(iw_address_cut(rows[i].text, &parts));
        assert_int_equal(parts.length, strlen(rows[i].host));
        assert_memory_equal(parts.host, rows[i].host, parts.length);
        if (rows[i].port == NULL)
            assert_null(parts.port);
        else
            assert_string_equal(parts.port, rows[i].port);
    }
    assert_false(iw_address_cut("[::1", &parts));
    assert_false(iw_address_cut("[::1]7", &parts));
    assert_false(iw_address_cut("[", &parts));
}

static void ports_are_decimal(void **state)
{
    static const char *const wrong[] = {"", "-1", "+7", " 7", "7 ", "0x7", "65536", "000007"};
    uint16_t port = 9;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(iw_address_read_port(wrong[i], 0, &port));
    assert_false(iw_address_read_port("0", 1, &port));
    assert_int_equal(port, 9);
    assert_true(iw_address_read_port("0", 0, &port));
    assert_int_equal(port, 0);
    assert_true(iw_address_read_port("65535", 1, &port));
    assert_int_equal(port, 65535);
}

/* ---- sockets ---- */

static bool count(void *context, int fd)
{
    assert_true(fd >= 0);
    ++*(int *)context;
    return true;
}

static bool refuse(void *context, int fd)
{
    (void)context;
    (void)fd;
    errno = EDOM;
    return false;
}

static struct addrinfo *loopback(uint16_t port)
{
    char text[300];
    struct addrinfo *list = iw_address_resolve("127.0.0.1", port, true, text, sizeof(text));
    assert_non_null(list);
    return list;
}

/* Returns a listener with its port. */
static int listener(int flags, uint16_t *port)
{
    struct sockaddr_in at = {0};
    socklen_t length = sizeof(at);
    struct addrinfo *list = loopback(0);
    int prepared = 0;
    const int fd = iw_address_listen(list, 1, flags, count, &prepared);
    assert_true(fd >= 0);
    assert_int_equal(prepared, 1);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    *port = iw_address_port((struct sockaddr *)&at);
    assert_int_not_equal(*port, 0);
    freeaddrinfo(list);
    return fd;
}

static bool blocks(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

static void a_socket_listens_and_is_reached(void **state)
{
    const uint64_t deadlines[] = {0, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint16_t port;
        int prepared = 0;
        const int at = listener(i == 0 ? 0 : SOCK_NONBLOCK, &port);
        struct addrinfo *list = loopback(port);
        const int fd = iw_address_connect(list, deadlines[i], count, &prepared);
        assert_true(fd >= 0);
        assert_int_equal(prepared, 1);
        assert_int_equal(blocks(fd), i == 0);
        assert_int_equal(blocks(at), i == 0);
        close(fd);
        close(at);
        freeaddrinfo(list);
    }
}

/* The first of two addresses refuses, and the second accepts. */
static void the_next_address_is_tried(void **state)
{
    uint16_t port, closed;
    const int at = listener(0, &port), gone = listener(0, &closed);
    struct addrinfo *second = loopback(port), *first = loopback(closed);
    int prepared = 0;
    (void)state;
    close(gone);
    assert_int_equal(iw_address_connect(first, 0, NULL, NULL), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_int_equal(iw_address_connect(first, UINT64_MAX, NULL, NULL), -1);
    assert_int_equal(errno, ECONNREFUSED);
    first->ai_next = second;
    const int fd = iw_address_connect(first, UINT64_MAX, count, &prepared);
    assert_true(fd >= 0);
    assert_int_equal(prepared, 2);
    close(fd);
    close(at);
    freeaddrinfo(first);
}

static void what_cannot_be_prepared_or_bound_is_said(void **state)
{
    uint16_t port;
    const int at = listener(0, &port);
    struct addrinfo *list = loopback(port);
    (void)state;
    assert_int_equal(iw_address_listen(list, 1, 0, NULL, NULL), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(iw_address_listen(list, 1, 0, refuse, NULL), -1);
    assert_int_equal(errno, EDOM);
    assert_int_equal(iw_address_connect(list, 0, refuse, NULL), -1);
    assert_int_equal(errno, EDOM);
    freeaddrinfo(list);
    close(at);
}

/* Nobody answers: the queue of the listener, which accepts nothing, is full. */
static void a_deadline_ends_the_wait(void **state)
{
    enum { MANY = 16 };
    uint16_t port;
    const int at = listener(0, &port);
    struct addrinfo *list = loopback(port);
    int fd[MANY], n = 0;
    (void)state;
    do
        fd[n] = iw_address_connect(list, iw_clock_now() + 100 * UINT64_C(1000000), NULL, NULL);
    while (fd[n] >= 0 && ++n < MANY);
    assert_in_range(n, 1, MANY - 1);
    assert_int_equal(errno, ETIMEDOUT);
    while (n-- > 0)
        close(fd[n]);
    freeaddrinfo(list);
    close(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_resolved),
        cmocka_unit_test(what_is_no_host_is_said),
        cmocka_unit_test(addresses_are_printed_with_their_port),
        cmocka_unit_test(host_and_port_are_cut),
        cmocka_unit_test(ports_are_decimal),
        cmocka_unit_test(a_socket_listens_and_is_reached),
        cmocka_unit_test(the_next_address_is_tried),
        cmocka_unit_test(what_cannot_be_prepared_or_bound_is_said),
        cmocka_unit_test(a_deadline_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
