/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of hosts, numeric: nobody is asked for names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <string.h>
#include <sys/un.h>

#include "host/address.h"

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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_resolved),
        cmocka_unit_test(what_is_no_host_is_said),
        cmocka_unit_test(addresses_are_printed_with_their_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
