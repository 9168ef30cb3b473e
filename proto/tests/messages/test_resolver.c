/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolvers that find each other over the loopback interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "resolver_world.h"

#include <pthread.h>

static void a_service_is_found(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver *a = open_plain(port), *b = open_plain(port);
    uint64_t instance = 0;
    (void)state;
    assert_int_equal(claim_at(a, 5, 4711, 99), 0);
    assert_int_equal(find_port(b, 5, WAIT_MS, &instance), 4711);
    assert_int_equal(instance, 99);
    assert_int_equal(find_port(a, 5, WAIT_MS, &instance), 4711); /* by its own process, too */
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static void what_is_not_there_is_not_found(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver *a = open_plain(port), *b = open_plain(port);
    (void)state;
    assert_int_equal(claim_at(a, 5, 4711, 99), 0);
    errno = 0;
    assert_int_equal(iw_resolver_find(b, 6, 100, NULL, NULL), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(iw_resolver_disclaim(a, 5), 0);
    errno = 0;
    assert_int_equal(iw_resolver_disclaim(a, 5), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(iw_resolver_find(b, 5, 100, NULL, NULL), -1);
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static void an_answer_is_kept(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver *a = open_plain(port), *b = open_plain(port);
    struct iw_resolver_counts counts;
    uint64_t instance;
    (void)state;
    assert_int_equal(claim_at(a, 5, 4711, 99), 0);
    assert_int_equal(find_port(b, 5, WAIT_MS, NULL), 4711);
    iw_resolver_close(a);
    assert_int_equal(find_port(b, 5, 0, &instance), 4711);
    iw_resolver_count(b, &counts);
    assert_int_equal(counts.asked, 1);
    iw_resolver_forget(b, 5, instance + 1); /* of another one */
    assert_int_equal(find_port(b, 5, 0, NULL), 4711);
    iw_resolver_forget(b, 5, instance);
    assert_int_equal(find_port(b, 5, 100, NULL), 0);
    iw_resolver_close(b);
}

static void an_answer_expires(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver_config config = plain_config(port);
    struct iw_resolver_counts counts = {0};
    (void)state;
    config.expiry_ms = 1;
    struct iw_resolver *a = open_plain(port), *b = open_resolver(&config);
    assert_int_equal(claim_at(a, 5, 4711, 99), 0);
    while (counts.asked < 2) {
        assert_int_equal(find_port(b, 5, WAIT_MS, NULL), 4711);
        usleep(2000);
        iw_resolver_count(b, &counts);
    }
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static void a_service_that_moved_is_found_again(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver *a = open_plain(port), *b = open_plain(port), *c;
    uint64_t instance = 0;
    (void)state;
    assert_int_equal(claim_at(a, 5, 4711, 99), 0);
    assert_int_equal(find_port(b, 5, WAIT_MS, &instance), 4711);
    iw_resolver_close(a);
    c = open_plain(port);
    assert_int_equal(claim_at(c, 5, 4712, 100), 0);
    iw_resolver_forget(b, 5, instance);
    assert_int_equal(find_port(b, 5, WAIT_MS, &instance), 4712);
    assert_int_equal(instance, 100);
    iw_resolver_close(c);
    iw_resolver_close(b);
}

static void a_number_has_one_claimant(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver_config patient = plain_config(port);
    (void)state;
    patient.claim_ms = WAIT_MS; /* an objection ends it */
    struct iw_resolver *a = open_plain(port), *b = open_resolver(&patient), *c = open_plain(port);
    assert_int_equal(claim_at(a, 5, 4711, 200), 0);
    errno = 0;
    assert_int_equal(claim_at(a, 5, 4711, 200), -1);
    assert_int_equal(errno, EADDRINUSE);
    errno = 0;
    assert_int_equal(claim_at(b, 5, 4712, 300), -1); /* a greater instance is no better here */
    assert_int_equal(errno, EADDRINUSE);
    iw_resolver_close(a);
    assert_int_equal(claim_at(c, 5, 4712, 300), 0); /* who is gone objects no more */
    assert_false(iw_resolver_intruded(c, 5));
    iw_resolver_close(c);
    iw_resolver_close(b);
}

static void many_are_claimed_at_once_or_none(void **state)
{
    static const uint32_t numbers[] = {10, 20, 30}, others[] = {5, 20, 40};
    const struct sockaddr_in at = ipv4_at("127.0.0.1", 4711);
    const struct sockaddr *where = (const struct sockaddr *)&at;
    const uint16_t port = free_port();
    struct iw_resolver_config patient = plain_config(port);
    uint32_t refused = 0;
    (void)state;
    patient.claim_ms = WAIT_MS;
    struct iw_resolver *a = open_plain(port), *b = open_resolver(&patient);
    assert_int_equal(iw_resolver_claim_all(a, numbers, 3, where, 1, &refused), 0);
    assert_int_equal(find_port(b, 30, WAIT_MS, NULL), 4711);
    errno = 0;
    assert_int_equal(iw_resolver_claim_all(a, others, 3, where, 1, &refused), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(refused, 20);
    assert_int_equal(iw_resolver_disclaim(a, 5), -1);
    assert_int_equal(iw_resolver_disclaim(a, 40), -1);
    errno = 0;
    assert_int_equal(iw_resolver_claim_all(b, others, 3, where, 2, &refused), -1);
    assert_int_equal(errno, EADDRINUSE); /* an objection to one ends the waiting for all */
    assert_int_equal(refused, 20);
    assert_int_equal(iw_resolver_disclaim(b, 5), -1);
    assert_int_equal(iw_resolver_disclaim(a, 20), 0); /* that was there before */
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static int notices[3];

static void count_notice(void *context, uint32_t number, enum iw_resolver_notice what)
{
    if (*(uint32_t *)context == number)
        __atomic_add_fetch(&notices[what], 1, __ATOMIC_SEQ_CST);
}

static void await_notice(enum iw_resolver_notice what)
{
    for (int i = 0; i < WAIT_MS && __atomic_load_n(&notices[what], __ATOMIC_SEQ_CST) == 0; i++)
        usleep(1000);
    assert_true(__atomic_load_n(&notices[what], __ATOMIC_SEQ_CST) > 0);
}

static void two_claimants_are_noticed(void **state)
{
    const uint16_t port = free_port();
    uint32_t number = 9;
    struct iw_resolver_config config = plain_config(port);
    struct iw_resolver_claimant list[IW_RESOLVER_CLAIMANTS];
    (void)state;
    memset(notices, 0, sizeof(notices));
    config.claim_ms = -1; /* both believe that they have it */
    config.notice = count_notice;
    config.context = &number;
    struct iw_resolver *a = open_resolver(&config), *b = open_resolver(&config);
    struct iw_resolver *c = open_resolver(&config);
    assert_int_equal(claim_at(a, number, 4711, 1), 0);
    assert_int_equal(claim_at(b, number, 4712, 2), 0);
    int count = 0;
    for (int i = 0; i < 100 && count < 2; i++)
        count = iw_resolver_list(c, number, 300, list, IW_RESOLVER_CLAIMANTS);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].instance + list[1].instance, 3);
    await_notice(IW_RESOLVER_FOUND);
    await_notice(IW_RESOLVER_CONTESTED);
    await_notice(IW_RESOLVER_INTRUDER);
    assert_true(iw_resolver_intruded(a, number) || iw_resolver_intruded(b, number));
    iw_resolver_close(c);
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static void a_find_that_does_not_wait_goes_on(void **state)
{
    const uint16_t port = free_port();
    uint32_t number = 11;
    struct iw_resolver_config config = plain_config(port);
    (void)state;
    memset(notices, 0, sizeof(notices));
    config.notice = count_notice;
    config.context = &number;
    struct iw_resolver *a = open_plain(port), *b = open_resolver(&config);
    assert_int_equal(claim_at(a, number, 4711, 1), 0);
    uint16_t found = 0;
    for (int i = 0; i < 100 && found == 0; i++) { /* it ends after 2 s */
        errno = 0;
        found = find_port(b, number, 0, NULL);
        assert_true(found != 0 || errno == ETIMEDOUT);
        for (int j = 0; j < 2000 && __atomic_load_n(&notices[0], __ATOMIC_SEQ_CST) == 0; j++)
            usleep(1000);
    }
    assert_int_equal(found, 4711);
    await_notice(IW_RESOLVER_FOUND);
    iw_resolver_close(b);
    iw_resolver_close(a);
}

/* A socket at the port that is in no group, so that it sees broadcasts. */
static int bystander(uint16_t port)
{
    const int one = 1, zero = 0;
    const struct sockaddr_in at = ipv4_at("0.0.0.0", port);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &zero, sizeof(zero)), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* The group, broadcast, and a host's name; two processes' resolvers share the port. */
static void every_way_finds(struct iw_resolver_config config, bool relays)
{
    struct iw_resolver_counts counts_a, counts_b;
    struct iw_resolver *a = open_plain(config.port), *b = open_plain(config.port);
    struct iw_resolver *c = open_resolver(&config);
    assert_int_equal(claim_at(a, 1, 4711, 1), 0);
    assert_int_equal(claim_at(b, 2, 4712, 2), 0);
    assert_int_equal(find_port(c, 1, WAIT_MS, NULL), 4711);
    assert_int_equal(find_port(c, 2, WAIT_MS, NULL), 4712);
    iw_resolver_count(a, &counts_a);
    iw_resolver_count(b, &counts_b);
    assert_int_equal(relays, counts_a.relayed + counts_b.relayed > 0);
    iw_resolver_close(c);
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static void by_multicast(void **state)
{
    (void)state;
    every_way_finds(plain_config(free_port()), false);
}

static void by_broadcast(void **state)
{
    struct iw_resolver_config config = plain_config(free_port());
    const int fd = bystander(config.port);
    uint8_t octets[100];
    (void)state;
    config.multicast = false;
    config.broadcast = true;
    every_way_finds(config, false);
    assert_int_equal(recv(fd, octets, sizeof(octets), 0), 56);
    close(fd);
}

static void by_unicast(void **state)
{
    static const char *const hosts[] = {"127.0.0.1"};
    struct iw_resolver_config config = plain_config(free_port());
    (void)state;
    config.interface = NULL;
    config.multicast = false;
    config.hosts = hosts;
    config.host_count = 1;
    every_way_finds(config, true);
}

static void strangers_find_nothing(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver_config keyed = plain_config(port), other = keyed;
    struct iw_resolver_counts counts;
    (void)state;
    keyed.key = "a key of the house";
    keyed.key_length = 18;
    other.key = "a key of a stranger";
    other.key_length = 19;
    struct iw_resolver *a = open_resolver(&keyed), *b = open_resolver(&keyed);
    struct iw_resolver *c = open_resolver(&other), *d = open_plain(port);
    assert_int_equal(claim_at(a, 5, 4711, 1), 0);
    assert_int_equal(find_port(b, 5, WAIT_MS, NULL), 4711);
    assert_int_equal(find_port(c, 5, 100, NULL), 0);
    assert_int_equal(find_port(d, 5, 100, NULL), 0);
    assert_int_equal(claim_at(c, 5, 4712, 2), 0); /* in another house */
    iw_resolver_count(a, &counts);
    assert_true(counts.refused > 0);
    assert_false(iw_resolver_intruded(a, 5));
    assert_int_equal(find_port(b, 5, WAIT_MS, NULL), 4711);
    iw_resolver_close(d);
    iw_resolver_close(c);
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static void a_thousand_services(void **state)
{
    const uint16_t port = free_port();
    struct iw_resolver_config config = plain_config(port);
    (void)state;
    config.claim_ms = -1;
    struct iw_resolver *a = open_resolver(&config), *b = open_plain(port);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(claim_at(a, 1000 * i, (uint16_t)(1 + i), 1), 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(find_port(b, 1000 * i, WAIT_MS, NULL), 1 + i);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(iw_resolver_disclaim(a, 1000 * i), 0);
    iw_resolver_close(b);
    iw_resolver_close(a);
}

static void *find_for_ever(void *argument)
{
    errno = 0;
    (void)iw_resolver_find(argument, 1, -1, NULL, NULL);
    return errno == ECANCELED ? NULL : argument;
}

static void closing_ends_waiting(void **state)
{
    struct iw_resolver *r = open_plain(free_port());
    struct iw_resolver_counts counts = {0};
    pthread_t threads[3];
    void *result;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_for_ever, r), 0);
    while (counts.asked == 0) {
        usleep(1000);
        iw_resolver_count(r, &counts);
    }
    usleep(20000);
    iw_resolver_close(r);
    for (size_t i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        assert_null(result);
    }
}

static int refuse(struct iw_resolver_config config, const char *wanted)
{
    struct iw_resolver *r = NULL;
    char error[200] = "";
    assert_int_equal(iw_resolver_open(&config, &r, error, sizeof(error)), -1);
    assert_string_equal(error, wanted);
    return errno;
}

static void configurations_are_checked(void **state)
{
    struct iw_resolver_config config = plain_config(1);
    const char *hosts[IW_RESOLVER_HOSTS_MOST + 1] = {"127.0.0.1:0"};
    (void)state;
    config.interface = "no-such-one";
    assert_int_equal(refuse(config, "there is no interface \"no-such-one\""), ENODEV);
    config = plain_config(1);
    config.key = "too short";
    config.key_length = 9;
    assert_int_equal(refuse(config, "a key of 9 octets: expected 16 to 1024"), EINVAL);
    config = plain_config(1);
    config.hosts = hosts;
    config.host_count = 1;
    assert_int_equal(refuse(config, "\"127.0.0.1:0\": expected HOST, HOST:PORT or [ADDRESS]:PORT"),
                     EINVAL);
    hosts[0] = "[::1";
    assert_int_equal(refuse(config, "\"[::1\": expected HOST, HOST:PORT or [ADDRESS]:PORT"),
                     EINVAL);
    config.host_count = IW_RESOLVER_HOSTS_MOST + 1;
    assert_int_equal(refuse(config, "65 hosts: expected at most 64"), EINVAL);
}

static void claims_are_checked(void **state)
{
    struct iw_resolver *r = open_plain(free_port());
    const struct sockaddr nowhere = {.sa_family = AF_UNIX};
    (void)state;
    errno = 0;
    assert_int_equal(claim_at(r, 1, 0, 1), -1);
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_int_equal(claim_at(r, 1, 4711, 0), -1);
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_int_equal(iw_resolver_claim(r, 1, &nowhere, 1), -1);
    assert_int_equal(errno, EINVAL);
    iw_resolver_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_is_found),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(an_answer_is_kept),
        cmocka_unit_test(an_answer_expires),
        cmocka_unit_test(a_service_that_moved_is_found_again),
        cmocka_unit_test(a_number_has_one_claimant),
        cmocka_unit_test(many_are_claimed_at_once_or_none),
        cmocka_unit_test(two_claimants_are_noticed),
        cmocka_unit_test(a_find_that_does_not_wait_goes_on),
        cmocka_unit_test(by_multicast),
        cmocka_unit_test(by_broadcast),
        cmocka_unit_test(by_unicast),
        cmocka_unit_test(strangers_find_nothing),
        cmocka_unit_test(a_thousand_services),
        cmocka_unit_test(closing_ends_waiting),
        cmocka_unit_test(configurations_are_checked),
        cmocka_unit_test(claims_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
