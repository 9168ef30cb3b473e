/* SPDX-License-Identifier: BSD-3-Clause */
/* What an end is opened with: the bounds of each number, and what is said of what is wrong. */
#include "messages_pair.h"

#include "messages/message_internal.h"

static void refused(const struct iw_messages_config *config, int error, const char *text)
{
    struct iw_messages *m = NULL;
    char said[200] = "";
    assert_int_equal(iw_messages_open(config, &m, said, sizeof(said)), -1);
    assert_int_equal(errno, error);
    if (strstr(said, text) == NULL)
        fail_msg("said: %s", said);
    assert_null(m);
    /* Nobody has to listen, and no line is longer than its room. */
    assert_int_equal(iw_messages_open(config, &m, NULL, 0), -1);
    assert_int_equal(errno, error);
    char few[9] = "........";
    assert_int_equal(iw_messages_open(config, &m, few, 5), -1);
    assert_int_equal(errno, error);
    assert_int_equal(few[4], '\0');
    assert_memory_equal(few, text, 4);
    assert_int_equal(few[5], '.');
}

static void wrong_numbers(void **unused)
{
    (void)unused;
    static const struct iw_messages_config rows[] = {{.connections = -1},
                                                     {.connections = IW_PEERS_MOST + 1},
                                                     {.timeout_ms = -1},
                                                     {.timeout_ms = 300 * 1000 + 1},
                                                     {.spin_us = -2}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        refused(&rows[i], EINVAL, "connections, timeout_ms or spin_us");
}

static void wrong_addresses(void **unused)
{
    (void)unused;
    static const sa_family_t families[] = {AF_UNSPEC, AF_UNIX, AF_INET + 1, AF_INET6 + 1};
    for (size_t i = 0; i < 4; i++) {
        const struct sockaddr at = {.sa_family = families[i]};
        refused(&(struct iw_messages_config){.listen = &at}, EINVAL, "listen: neither");
    }
    struct sockaddr_in at;
    struct iw_messages_config config = loopback(&at);
    const struct iw_messages_place place = {.number = 0};
    config.places = &place;
    config.place_count = 1;
    refused(&config, EINVAL, "places");
}

static void opens(const struct iw_messages_config *config, uint64_t timeout, uint64_t spin,
                  int connections, size_t pool)
{
    struct iw_messages *m;
    char error[200] = "";
    if (iw_messages_open(config, &m, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    assert_int_equal(m->timeout, timeout);
    assert_int_equal(m->spin, spin);
    assert_int_equal(m->connections, connections);
    assert_int_equal(m->pool.most, pool);
    assert_true(m->reads > 0 && m->reads <= 16);
    assert_true(m->trusts_senders);
    assert_int_equal(m->instance & 1, 1);
    iw_messages_close(m);
}

static void numbers(void **unused)
{
    (void)unused;
    struct sockaddr_in at;
    struct iw_messages_config config = loopback(&at);
    const uint64_t ms = 1000000;
    opens(&config, 5000 * ms, 20000, 64, (size_t)1 << 30);
    config.timeout_ms = 300 * 1000;
    config.connections = IW_PEERS_MOST;
    config.spin_us = IW_MESSAGES_POLL;
    config.pool_octets = 1 << 20;
    opens(&config, 300 * 1000 * ms, UINT64_MAX, IW_PEERS_MOST, 1 << 20);
    config.timeout_ms = config.connections = config.spin_us = 1;
    config.pool_octets = 1 << 21;
    opens(&config, ms, 1000, 1, 1 << 21);
}

static void addresses(void **unused)
{
    (void)unused;
    struct iw_messages *m;
    struct sockaddr_storage at;
    struct sockaddr_in own;
    struct iw_messages_config config = loopback(&own);
    const struct iw_messages_place places[] = {{.number = 7, .at = {.ss_family = AF_INET}},
                                               {.number = 8, .at = {.ss_family = AF_INET6}}};
    config.places = places;
    config.place_count = 2;
    assert_int_equal(iw_messages_open(&config, &m, NULL, 0), 0);
    assert_int_equal(iw_messages_address(m, &at), sizeof(struct sockaddr_in));
    const struct sockaddr_in *four = (const struct sockaddr_in *)&at;
    assert_int_equal(four->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_not_equal(four->sin_port, 0);
    assert_true(iw_route_get(m, 7)->placed);
    assert_int_equal(iw_route_get(m, 8)->at.ss_family, AF_INET6);
    assert_false(iw_route_get(m, 9)->placed);
    iw_messages_close(m);
    /* Without an address: every IPv4 one. */
    assert_int_equal(iw_messages_open(&(struct iw_messages_config){0}, &m, NULL, 0), 0);
    assert_int_equal(iw_messages_address(m, &at), sizeof(struct sockaddr_in));
    assert_int_equal(four->sin_addr.s_addr, INADDR_ANY);
    assert_int_not_equal(four->sin_port, 0);
    iw_messages_close(m);
    iw_messages_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_numbers),
        cmocka_unit_test(wrong_addresses),
        cmocka_unit_test(numbers),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
