/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends that find each other by the resolver, on the loopback interface: many services of one
 * process, and two processes with one number. */
#include "messages_pair.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "messages/resolver.h"

enum { MANY = 1000, FIRST = 5000 };

static uint16_t free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void many_services(void **unused)
{
    (void)unused;
    struct world_end a, b;
    struct sockaddr_in at;
    struct iw_messages_config config = loopback(&at);
    const struct iw_messages_resolver net = {
        .port = free_port(), .multicast = 1, .interface = "lo"};
    static uint32_t numbers[MANY + 1];
    static struct iw_service *services[MANY + 1];
    static bool came[MANY];
    uint32_t refused = 0;
    config.resolver = &net;
    open_end(&a, &config, 1);
    open_end(&b, &config, 2);
    for (uint32_t i = 0; i < MANY; i++)
        numbers[i] = FIRST + i;
    /* All or none. */
    numbers[MANY] = 2;
    assert_int_equal(iw_messages_services(b.m, numbers, MANY + 1, services, &refused), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(refused, 2);
    numbers[MANY] = 1; /* of the other end */
    assert_int_equal(iw_messages_services(b.m, numbers, MANY + 1, services, &refused), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(refused, 1);
    assert_int_equal(iw_messages_services(b.m, numbers, 0, services, NULL), -1);
    assert_int_equal(errno, EINVAL);
    struct iw_messages_counts counts;
    struct iw_message none;
    iw_messages_count(b.m, &counts);
    assert_int_equal(counts.services, 1);
    if (iw_messages_services(b.m, numbers, MANY, services, &refused) != 0)
        fail_msg("service %u: %s", (unsigned)refused, strerror(errno));
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(iw_messages_number(services[i]), numbers[i]);
        assert_int_equal(send_octets(a.s, numbers[i], &i, sizeof(i), 0, i), 0);
    }
    /* They come as their numbers were found, 64 before some are taken. */
    for (uint32_t taken = 0, idle = 0; taken < MANY; idle++) {
        struct iw_message got;
        assert_true(idle < GUARD_MS);
        if (iw_messages_receive(a.s, &got, 1) == 0)
            fail_msg("message %u: %s", (unsigned)got.tag, strerror(got.error));
        for (uint32_t i = 0; i < MANY; i++)
            if (!came[i] && iw_messages_receive(services[i], &got, 0) == 0) {
                assert_memory_equal(got.data, &i, sizeof(i));
                iw_messages_free(b.m, got.data);
                came[i] = true;
                taken++;
            }
    }
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    assert_int_equal(iw_messages_receive(a.s, &none, 0), -1);
    close_pair(&a, &b);
}

struct noticed {
    atomic_uint contested, intruder, other;
};

static void note(void *context, uint32_t number, enum iw_messages_notice what)
{
    struct noticed *n = context;
    atomic_fetch_add(number != FIRST                 ? &n->other
                     : what == IW_MESSAGES_CONTESTED ? &n->contested
                                                     : &n->intruder,
                     1);
}

static void await_some(atomic_uint *count)
{
    for (int i = 0; atomic_load(count) == 0; i++) {
        assert_true(i < GUARD_MS);
        usleep(1000);
    }
}

static void two_with_one_number(void **unused)
{
    (void)unused;
    struct world_end a, b;
    struct sockaddr_in at;
    static struct noticed at_asker, at_owner;
    struct iw_messages_config config = loopback(&at);
    const struct iw_messages_resolver net = {
        .port = free_port(), .multicast = 1, .interface = "lo"};
    config.resolver = &net;
    config.notice = note;
    config.context = &at_owner;
    open_end(&b, &config, FIRST);
    /* One that claims without waiting for objections. */
    const struct iw_resolver_config careless = {
        .port = net.port, .multicast = true, .interface = "lo", .claim_ms = -1};
    struct iw_resolver *intruder;
    char error[200];
    assert_int_equal(iw_resolver_open(&careless, &intruder, error, sizeof(error)), 0);
    const struct sockaddr_in nowhere = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(
        iw_resolver_claim(intruder, FIRST, (const struct sockaddr *)&nowhere, UINT64_C(77)), 0);
    await_some(&at_owner.intruder);
    config.context = &at_asker;
    open_end(&a, &config, 1);
    assert_int_equal(send_octets(a.s, FIRST, "x", 1, 0, 0), 0);
    await_some(&at_asker.contested);
    assert_int_equal(at_owner.other + at_asker.other + at_asker.intruder + at_owner.contested, 0);
    /* Where somebody listens it is delivered. */
    struct iw_message got = receive(b.s);
    iw_messages_free(b.m, got.data);
    iw_resolver_close(intruder);
    close_pair(&a, &b);
}

static void an_ipv6_service(void **unused)
{
    (void)unused;
    struct world_end a, b;
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct iw_messages_resolver net = {
        .port = free_port(), .multicast = 1, .interface = "lo"};
    const struct iw_messages_config config = {.listen = (const struct sockaddr *)&any,
                                              .resolver = &net};
    open_end(&a, &config, 1);
    open_end(&b, &config, FIRST);
    assert_int_equal(send_octets(a.s, FIRST, "hello", 5, 0, 0), 0);
    struct iw_message got = receive(b.s);
    assert_memory_equal(got.data, "hello", 5);
    iw_messages_free(b.m, got.data);
    close_pair(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_services),
        cmocka_unit_test(two_with_one_number),
        cmocka_unit_test(an_ipv6_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
