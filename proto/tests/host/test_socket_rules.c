/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that make sockets iWARP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "host/socket_rules.h"

static struct iw_socket_rules rules;

static void read_rules(const char *text)
{
    char error[200] = "";
    memset(&rules, 0, sizeof(rules));
    assert_int_equal(iw_socket_rules_add(&rules, "rules", text, error, sizeof(error)), 0);
    assert_string_equal(error, "");
}

static void expect_error(const char *text, const char *expected)
{
    char error[200] = "";
    memset(&rules, 0, sizeof(rules));
    assert_int_equal(iw_socket_rules_add(&rules, "rules", text, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
}

static const struct iw_socket_rule *find(bool listens, const char *host, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return iw_socket_rules_find(&rules, listens, (struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, host, &v6.sin6_addr), 1);
    return iw_socket_rules_find(&rules, listens, (struct sockaddr *)&v6);
}

static void test_kinds_and_ports(void **state)
{
    (void)state;
    read_rules("connect 80\nlisten 81; port 1000-1002 # three\n\n  # nothing\n");
    assert_int_equal(rules.count, 3);
    assert_non_null(find(false, "192.0.2.1", 80));
    assert_null(find(true, "192.0.2.1", 80));
    assert_null(find(false, "192.0.2.1", 81));
    assert_non_null(find(true, "::", 81));
    assert_null(find(true, "::", 999));
    assert_non_null(find(true, "::", 1000));
    assert_non_null(find(false, "2001:db8::1", 1002));
    assert_null(find(false, "2001:db8::1", 1003));
}

static void test_addresses(void **state)
{
    (void)state;
    read_rules("connect 192.0.2.0/25 80\nconnect 2001:db8::/33 80\nconnect 198.51.100.7 80\n");
    assert_non_null(find(false, "192.0.2.127", 80));
    assert_null(find(false, "192.0.2.128", 80));
    assert_non_null(find(false, "::ffff:192.0.2.1", 80)); /* the same by IPv6 */
    assert_non_null(find(false, "2001:db8:7fff::1", 80));
    assert_null(find(false, "2001:db8:8000::1", 80));
    assert_non_null(find(false, "198.51.100.7", 80));
    assert_null(find(false, "198.51.100.6", 80));
    read_rules("port 0.0.0.0/0 7\n");
    assert_non_null(find(true, "203.0.113.9", 7));
    assert_null(find(true, "2001:db8::1", 7));
}

static void test_the_first_counts(void **state)
{
    (void)state;
    read_rules("listen 127.0.0.1 80 mixed wait=50\nlisten 80\nconnect 80 fallback=tcp");
    assert_true(find(true, "127.0.0.1", 80)->mixed);
    assert_int_equal(find(true, "127.0.0.1", 80)->wait, 50);
    assert_false(find(true, "127.0.0.2", 80)->mixed);
    assert_int_equal(find(true, "127.0.0.2", 80)->wait, IW_SOCKET_RULE_WAIT);
    assert_true(find(false, "127.0.0.2", 80)->fallback);
}

static void test_other_families_are_plain(void **state)
{
    const struct sockaddr local = {.sa_family = AF_UNIX};
    (void)state;
    read_rules("port 1-65535");
    assert_null(iw_socket_rules_find(&rules, false, &local));
}

static void test_mistakes(void **state)
{
    static const char ports[] = "expected [ADDRESS[/BITS]] PORT[-PORT], ports from 1 to 65535";
    char expected[200], many[IW_SOCKET_RULES * 10 + 20] = "", long_line[600];
    (void)state;
    expect_error("port 80\n\nlissten 80", "rules:3: expected connect, listen or port");
    static const char *const wrong[] = {
        "port",      "port 0",         "port 65536",         "port 80-79",
        "port http", "port 192.0.2.1", "port 1.2.3.4/33 80", "port host 80",
        "port 80-",  "port -80"};
    snprintf(expected, sizeof(expected), "rules:1: %s", ports);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        expect_error(wrong[i], expected);
    expect_error("port 80 fallback", "rules:1: expected fallback=tcp, mixed or wait=MS");
    expect_error("listen 80 fallback=tcp", "rules:1: fallback=tcp belongs to a rule of connects");
    expect_error("connect 80 mixed", "rules:1: mixed belongs to a rule of listeners");
    expect_error("listen 80 wait=5", "rules:1: wait=MS comes after mixed");
    expect_error("listen 80 mixed wait=60001", "rules:1: expected wait=MS, 0 to 60000");
    memset(long_line, 'x', sizeof(long_line));
    long_line[sizeof(long_line) - 1] = '\0';
    expect_error(long_line, "rules:1: expected a shorter line");
    for (unsigned i = 0; i <= IW_SOCKET_RULES; i++)
        strcat(many, "port 80\n");
    snprintf(expected, sizeof(expected), "rules:%d: expected at most 256 rules",
             IW_SOCKET_RULES + 1);
    expect_error(many, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_and_ports),  cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_the_first_counts), cmocka_unit_test(test_other_families_are_plain),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
