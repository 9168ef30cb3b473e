/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel lets a holder of some numbers hear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "resolver_world.h"

#include "messages/resolver_filter.h"

#include "iwarp/octets.h"

#include <net/if.h>

static const char group_text[] = "239.255.74.70";
static const struct iw_resolver_place group = {.family = IW_RESOLVER_IPV4,
                                               .address = {239, 255, 74, 70}};

/* A socket that has joined the group on the loopback interface. */
static int holder(uint16_t port)
{
    const struct sockaddr_in at = ipv4_at("0.0.0.0", port);
    struct ip_mreqn request = {.imr_ifindex = (int)if_nametoindex("lo")};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, group_text, &request.imr_multiaddr), 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)), 0);
    return fd;
}

static int asker(void)
{
    const struct ip_mreqn request = {.imr_ifindex = (int)if_nametoindex("lo")};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)), 0);
    return fd;
}

static void send_number(int fd, const char *address, uint16_t port, uint32_t number)
{
    uint8_t octets[56] = {0};
    const struct sockaddr_in to = ipv4_at(address, port);
    iw_put32(octets + 8, number);
    assert_int_equal(
        sendto(fd, octets, sizeof(octets), 0, (const struct sockaddr *)&to, sizeof(to)), 56);
}

/* The number of the next datagram; -1 if there is none. */
static int64_t next_number(int fd)
{
    uint8_t octets[56];
    return recv(fd, octets, sizeof(octets), 0) == 56 ? (int64_t)iw_get32(octets + 8) : -1;
}

static void only_claimed_numbers_wake(void **state)
{
    const uint16_t port = free_port();
    const int in = holder(port), out = asker();
    struct iw_resolver_claims claims = {0};
    (void)state;
    for (uint32_t n = 0; n < IW_RESOLVER_FILTERED_MOST; n++)
        assert_non_null(iw_resolver_claims_add(&claims, 100 + 2 * n));
    iw_resolver_filter_set(in, &group, &claims);
    for (uint32_t n = 99; n < 100 + 2 * IW_RESOLVER_FILTERED_MOST + 1; n++)
        send_number(out, group_text, port, n);
    for (uint32_t n = 0; n < IW_RESOLVER_FILTERED_MOST; n++)
        assert_int_equal(next_number(in), 100 + 2 * n);
    assert_int_equal(next_number(in), -1);
    send_number(out, "127.0.0.1", port, 99); /* it may be for another process of this host */
    assert_int_equal(next_number(in), 99);
    const int one = 1;
    assert_int_equal(setsockopt(out, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one)), 0);
    send_number(out, "127.255.255.255", port, UINT32_MAX);
    assert_int_equal(next_number(in), UINT32_MAX);
    iw_resolver_claims_close(&claims);
    close(in);
    close(out);
}

static void without_claims_nothing_does(void **state)
{
    const uint16_t port = free_port();
    const int in = holder(port), out = asker();
    struct iw_resolver_claims claims = {0};
    (void)state;
    iw_resolver_filter_set(in, &group, &claims);
    send_number(out, group_text, port, 0);
    assert_int_equal(next_number(in), -1);
    close(in);
    close(out);
}

static void with_many_everything_does(void **state)
{
    const uint16_t port = free_port();
    const int in = holder(port), out = asker();
    struct iw_resolver_claims claims = {0};
    (void)state;
    for (uint32_t n = 0; n <= IW_RESOLVER_FILTERED_MOST; n++) {
        assert_non_null(iw_resolver_claims_add(&claims, n));
        iw_resolver_filter_set(in, &group, &claims);
    }
    send_number(out, group_text, port, 4711);
    assert_int_equal(next_number(in), 4711);
    iw_resolver_claims_close(&claims);
    close(in);
    close(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_claimed_numbers_wake),
        cmocka_unit_test(without_claims_nothing_does),
        cmocka_unit_test(with_many_everything_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
