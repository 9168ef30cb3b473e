/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners: what their connections get from them, how they end, and which sockets are none. */
#include "preload_pair.h"

#include <pthread.h>

static void set_time(int fd, int name, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, name, &t, sizeof(t)), 0);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

static void test_options_of_the_listener(void **state)
{
    struct pair p;
    char octet;
    struct linger l = {0, 0};
    socklen_t length = sizeof(l);
    (void)state;
    open_listener(&p);
    assert_int_equal(setsockopt(p.listener, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
    assert_int_equal(setsockopt(p.listener, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int)), 0);
    assert_int_equal(setsockopt(p.listener, IPPROTO_TCP, TCP_KEEPIDLE, &(int){70}, sizeof(int)), 0);
    assert_int_equal(
        setsockopt(p.listener, IPPROTO_TCP, TCP_USER_TIMEOUT, &(int){5000}, sizeof(int)), 0);
    assert_int_equal(
        setsockopt(p.listener, SOL_SOCKET, SO_LINGER, &(struct linger){1, 5}, sizeof(l)), 0);
    set_time(p.listener, SO_RCVTIMEO, 50);
    connect_client(&p);
    assert_int_equal(option(p.server, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option(p.server, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(p.server, IPPROTO_TCP, TCP_KEEPIDLE), 70);
    assert_int_equal(option(p.server, IPPROTO_TCP, TCP_USER_TIMEOUT), 5000);
    assert_int_equal(getsockopt(p.server, SOL_SOCKET, SO_LINGER, &l, &length), 0);
    assert_true(l.l_onoff == 1 && l.l_linger == 5);
    assert_int_equal(read(p.server, &octet, 1), -1); /* after 50 ms */
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(option(p.client, IPPROTO_TCP, TCP_NODELAY), 0);
    close_pair(&p);
}

static void *wait_for_one(void *context)
{
    const int fd = accept(*(int *)context, NULL, NULL);
    return (void *)(intptr_t)(fd < 0 ? errno : 0);
}

static void test_a_listener_is_shut_down(void **state)
{
    struct pair p;
    pthread_t thread;
    void *error;
    (void)state;
    open_pair(&p);
    assert_int_equal(shutdown(p.listener, SHUT_WR), 0); /* means nothing */
    struct pollfd one = {.fd = p.listener, .events = POLLIN};
    assert_int_equal(poll(&one, 1, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_one, &p.listener), 0);
    usleep(20000); /* it waits; without that the test is an easier one */
    assert_int_equal(shutdown(p.listener, SHUT_RDWR), 0);
    assert_int_equal(pthread_join(thread, &error), 0);
    assert_int_equal((intptr_t)error, EINVAL);
    assert_int_equal(await(p.listener, POLLIN), POLLHUP);
    assert_int_equal(accept(p.listener, NULL, NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(shutdown(p.listener, SHUT_RD), 0);
    assert_int_equal(write(p.client, "x", 1), 1); /* what it has accepted goes on */
    char octet;
    receive_all(p.server, (uint8_t *)&octet, 1);
    close_pair(&p);
}

/* A server that begins anew while its connections last. */
static void test_the_port_is_free_at_once(void **state)
{
    struct pair p;
    char octet;
    (void)state;
    open_listener(&p);
    assert_int_equal(setsockopt(p.listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)), 0);
    connect_client(&p);
    struct pair second = {.at = p.at};
    close(p.listener);
    second.client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(second.client, address(&second), sizeof(second.at)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(second.client);
    second.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(setsockopt(second.listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)),
                     0);
    assert_int_equal(bind(second.listener, address(&second), sizeof(second.at)), 0);
    assert_int_equal(listen(second.listener, 1), 0);
    connect_client(&second);
    assert_int_equal(write(second.client, "a", 1), 1);
    assert_int_equal(write(p.client, "b", 1), 1);
    receive_all(second.server, (uint8_t *)&octet, 1);
    assert_int_equal(octet, 'a');
    receive_all(p.server, (uint8_t *)&octet, 1);
    assert_int_equal(octet, 'b');
    close_pair(&second);
    close(p.client);
    close(p.server);
}

/* Its port is not known before it listens. */
static void test_a_listener_that_is_not_bound(void **state)
{
    struct pair p = {.at = {.sin_family = AF_INET}};
    socklen_t length = sizeof(p.at);
    char octet;
    (void)state;
    p.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(listen(p.listener, 1), 0);
    assert_int_equal(getsockname(p.listener, address(&p), &length), 0);
    p.at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect_client(&p);
    assert_int_equal(write(p.client, "x", 1), 1);
    receive_all(p.server, (uint8_t *)&octet, 1);
    close_pair(&p);
}

/* No TCP socket connects to an address of another kind. */
static void test_an_address_of_another_kind(void **state)
{
    struct pair p;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    (void)state;
    open_listener(&p);
    six.sin6_port = p.at.sin_port;
    const int of_six = socket(AF_INET6, SOCK_STREAM, 0), of_four = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(of_six, address(&p), sizeof(p.at)), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(connect(of_four, (struct sockaddr *)&six, sizeof(six)), -1);
    assert_int_equal(errno, EAFNOSUPPORT);
    assert_int_equal(connect(of_four, address(&p), sizeof(p.at)), 0);
    close(of_six);
    close(of_four);
    close(p.listener);
}

static void test_a_socket_is_unconnected(void **state)
{
    struct pair p;
    char octet;
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    (void)state;
    open_pair(&p);
    assert_int_equal(connect(p.client, NULL, sizeof(p.at)), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(connect(p.client, address(&p), 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(connect(p.client, &nowhere, sizeof(nowhere)), 0);
    assert_int_equal(read(p.server, &octet, 1), 0);
    close(p.server);
    assert_int_equal(connect(p.client, address(&p), sizeof(p.at)), 0);
    p.server = accept(p.listener, NULL, NULL);
    assert_int_equal(write(p.client, "x", 1), 1);
    receive_all(p.server, (uint8_t *)&octet, 1);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_of_the_listener),
        cmocka_unit_test(test_a_listener_is_shut_down),
        cmocka_unit_test(test_the_port_is_free_at_once),
        cmocka_unit_test(test_a_listener_that_is_not_bound),
        cmocka_unit_test(test_an_address_of_another_kind),
        cmocka_unit_test(test_a_socket_is_unconnected),
    };
    use_iwarp();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
