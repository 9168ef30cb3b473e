/* SPDX-License-Identifier: BSD-3-Clause */
/* What a resolver keeps and how much it does: its table of answers, its limits, its hosts, places
 * in few octets. getaddrinfo() stands in this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "resolver_world.h"

#include "messages/resolver_hosts.h"
#include "messages/resolver_known.h"
#include "messages/resolver_limit.h"
#include "messages/resolver_place.h"

#include <netdb.h>

/* ---- limits ---- */

static void a_bucket(void **unused)
{
    (void)unused;
    struct iw_resolver_bucket b = {0};
    const uint64_t second = 1000000000, now = 5 * second;
    /* Four in a second, 250 ms each. */
    for (int i = 0; i < 4; i++)
        assert_true(iw_resolver_bucket_take(&b, 4, now));
    assert_false(iw_resolver_bucket_take(&b, 4, now));
    assert_int_equal(b.full, now + second);
    assert_false(iw_resolver_bucket_take(&b, 4, now + second / 4 - 1));
    assert_true(iw_resolver_bucket_take(&b, 4, now + second / 4));
    assert_false(iw_resolver_bucket_take(&b, 4, now + second / 4));
    /* A rest of more than a second gives no more than a second's worth. */
    for (int i = 0; i < 4; i++)
        assert_true(iw_resolver_bucket_take(&b, 4, now + 10 * second));
    assert_false(iw_resolver_bucket_take(&b, 4, now + 10 * second));
}

static void buckets_of_sources(void **unused)
{
    (void)unused;
    static struct iw_resolver_limits limits;
    struct iw_resolver_place source = {.family = IW_RESOLVER_IPV4, .address = {192, 0, 2, 1}};
    const uint64_t now = 1000000000;
    /* Every octet of an address, and the seed, decide which bucket is its own. */
    bool used[IW_RESOLVER_SOURCES];
    unsigned others = 0;
    for (uint32_t seed = 0; seed < 2; seed++)
        for (size_t at = 0; at < 16; at++) {
            memset(&limits, 0, sizeof(limits));
            limits.seed = seed;
            assert_true(iw_resolver_limits_take(&limits, &source, now));
            struct iw_resolver_place other = source;
            other.address[at] ^= 0x80;
            other.port = 7; /* which is no part of it */
            assert_true(iw_resolver_limits_take(&limits, &other, now));
            unsigned touched = 0;
            for (size_t i = 0; i < IW_RESOLVER_SOURCES; i++) {
                used[i] = limits.sources[i].full != 0;
                touched += used[i];
            }
            others += touched == 2;
        }
    assert_in_range(others, 30, 32);
    /* The source's own comes first: what is over its limit costs the others nothing. */
    memset(&limits, 0, sizeof(limits));
    for (int i = 0; i < IW_RESOLVER_SOURCE_MOST; i++)
        assert_true(iw_resolver_limits_take(&limits, &source, now));
    const uint64_t all = limits.all.full;
    assert_int_equal(all, now + IW_RESOLVER_SOURCE_MOST * (UINT64_C(1000000000) / 32768));
    assert_false(iw_resolver_limits_take(&limits, &source, now));
    assert_int_equal(limits.all.full, all);
}

/* ---- the table ---- */

/* The first numbers that fall into the same set as 0. */
static void same_set(uint32_t *numbers, size_t count, size_t sets)
{
    for (uint32_t number = 0, i = 0; i < count; number++)
        if ((number * 2654435769u >> 16) % sets == 0)
            numbers[i++] = number;
}

static void a_set(void **unused)
{
    (void)unused;
    struct iw_resolver_knowledge k;
    uint32_t numbers[IW_RESOLVER_WAYS + 2];
    struct iw_resolver_known *e[IW_RESOLVER_WAYS];
    assert_int_equal(iw_resolver_known_open(&k, 4), 0);
    same_set(numbers, IW_RESOLVER_WAYS + 2, 4);
    assert_null(iw_resolver_known_find(&k, 0)); /* though an entry that is free has this number */
    for (size_t i = 0; i < IW_RESOLVER_WAYS; i++) {
        e[i] = iw_resolver_known_take(&k, numbers[i]);
        assert_ptr_equal(e[i], &k.sets[0][i]);
        assert_ptr_equal(iw_resolver_known_take(&k, numbers[i]), e[i]);
        assert_int_equal(e[i]->number, numbers[i]);
        e[i]->asked = 100 + i;
    }
    for (size_t i = 0; i < IW_RESOLVER_WAYS; i++)
        assert_ptr_equal(iw_resolver_known_find(&k, numbers[i]), e[i]);
    /* Another set has room of its own. */
    uint32_t elsewhere = 1;
    while ((elsewhere * 2654435769u >> 16) % 4 == 0)
        elsewhere++;
    struct iw_resolver_known *far = iw_resolver_known_take(&k, elsewhere);
    assert_false(far >= e[0] && far <= e[IW_RESOLVER_WAYS - 1]);
    /* The one that was asked for longest ago gives way, unless it asks. */
    e[0]->asked = 200;
    e[3]->asked = 50;
    e[5]->asked = 40;
    e[5]->asking = true;
    e[3]->known = true;
    e[3]->count = 2;
    e[3]->shunned = 7;
    struct iw_resolver_known *new = iw_resolver_known_take(&k, numbers[IW_RESOLVER_WAYS]);
    assert_ptr_equal(new, e[3]);
    assert_true(new->used);
    assert_int_equal(new->number, numbers[IW_RESOLVER_WAYS]);
    assert_false(new->known);
    assert_int_equal(new->count, 0);
    assert_int_equal(new->shunned, 0);
    assert_null(iw_resolver_known_find(&k, numbers[3]));
    for (size_t i = 0; i < IW_RESOLVER_WAYS; i++)
        e[i]->asking = true;
    assert_null(iw_resolver_known_take(&k, numbers[IW_RESOLVER_WAYS + 1]));
    e[0]->asking = false;
    assert_ptr_equal(iw_resolver_known_take(&k, numbers[IW_RESOLVER_WAYS + 1]), e[0]);
    iw_resolver_known_close(&k);
    assert_null(k.sets);
    assert_int_equal(k.set_count, 0);
}

/* The list of those that ask, whichever leaves it. */
static void those_that_ask(void **unused)
{
    (void)unused;
    static const size_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t o = 0; o < 6; o++) {
        struct iw_resolver_knowledge k = {0};
        struct iw_resolver_known e[3];
        memset(e, 0, sizeof(e));
        for (size_t i = 0; i < 3; i++) {
            iw_resolver_known_ask(&k, &e[i]);
            iw_resolver_known_ask(&k, &e[i]); /* once */
            assert_int_equal(k.asking_count, i + 1);
            assert_ptr_equal(k.asking, &e[i]);
        }
        for (size_t i = 0; i < 3; i++) {
            struct iw_resolver_known *gone = &e[orders[o][i]];
            iw_resolver_known_rest(&k, gone);
            iw_resolver_known_rest(&k, gone);
            assert_false(gone->asking);
            assert_null(gone->next);
            assert_int_equal(k.asking_count, 2 - i);
            size_t left = 0;
            for (const struct iw_resolver_known *at = k.asking; at != NULL; at = at->next) {
                assert_true(at->asking);
                assert_ptr_equal(*at->link, at);
                left++;
            }
            assert_int_equal(left, 2 - i);
        }
        assert_null(k.asking);
    }
}

static void who_is_shunned(void **unused)
{
    (void)unused;
    struct iw_resolver_known e = {.shunned = 5, .shunned_until = 100, .count = 3};
    for (size_t i = 0; i < 3; i++)
        e.answerers[i].instance = 5 + i;
    assert_true(iw_resolver_known_shuns(&e, 5, 99));
    assert_false(iw_resolver_known_shuns(&e, 5, 100));
    assert_false(iw_resolver_known_shuns(&e, 6, 99));
    assert_int_equal(iw_resolver_known_best(&e, 99)->instance, 6);
    assert_int_equal(iw_resolver_known_best(&e, 100)->instance, 5);
    e.count = 1;
    assert_int_equal(iw_resolver_known_best(&e, 99)->instance, 5);
    e.count = 2;
    e.shunned = 6;
    assert_int_equal(iw_resolver_known_best(&e, 99)->instance, 5);
}

/* ---- hosts ---- */

enum { ADDRESSES = 6 };
static struct {
    char name[300];
    int status;
    unsigned count, frees;
} asked;
static struct addrinfo found[ADDRESSES];
static struct sockaddr_in6 addresses[ADDRESSES];

/* The addresses are 192.0.2.1 and so on; the second one is of another family. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    snprintf(asked.name, sizeof(asked.name), "%s", name);
    assert_null(service);
    assert_int_equal(hints->ai_family, AF_UNSPEC);
    assert_int_equal(hints->ai_socktype, SOCK_DGRAM);
    for (unsigned i = 0; i < asked.count; i++) {
        struct sockaddr_in *at = (struct sockaddr_in *)&addresses[i];
        *at = ipv4_at("192.0.2.1", 1);
        at->sin_addr.s_addr += htonl(i);
        at->sin_family = i == 1 ? AF_UNIX : AF_INET;
        found[i] = (struct addrinfo){.ai_addr = (struct sockaddr *)at,
                                     .ai_next = i + 1 < asked.count ? &found[i + 1] : NULL};
    }
    *out = asked.count > 0 ? found : NULL;
    return asked.status;
}

void freeaddrinfo(struct addrinfo *list)
{
    assert_ptr_equal(list, found);
    asked.frees++;
}

static char error[400];

static int read_hosts(const char *const *hosts, size_t count, struct iw_resolver_place **places,
                      size_t *found_count)
{
    const struct iw_resolver_config config = {.hosts = hosts, .host_count = count};
    error[0] = '\0';
    return iw_resolver_hosts_read(&config, 7470, places, found_count, error, sizeof(error));
}

static void names_of_hosts(void **unused)
{
    (void)unused;
    static char longest[256 + 3];
    memset(longest, 'x', 255);
    strcpy(longest + 255, ":9");
    static const struct {
        const char *text, *name;
        uint16_t port;
    } rows[] = {{"host", "host", 7470},
                {"host:1", "host", 1},
                {"host:65535", "host", 65535},
                {"h:08", "h", 8},
                {"10.0.0.1:9", "10.0.0.1", 9},
                {"::1", "::1", 7470},
                {"fe80::1%e2", "fe80::1%e2", 7470},
                {"[::1]", "::1", 7470},
                {"[::1]:22", "::1", 22},
                {"[host]:22", "host", 22},
                {longest, NULL, 9}};
    asked.count = 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_resolver_place *places;
        size_t count;
        assert_int_equal(read_hosts(&rows[i].text, 1, &places, &count), 0);
        assert_int_equal(count, 1);
        assert_int_equal(places[0].port, rows[i].port);
        assert_memory_equal(places[0].address, "\xc0\0\2\1", 4);
        if (rows[i].name != NULL)
            assert_string_equal(asked.name, rows[i].name);
        else
            assert_int_equal(strlen(asked.name), 255);
        free(places);
    }
    longest[255] = 'x'; /* 256 octets */
    longest[256] = '\0';
    const char *const wrong[] = {"",       ":7",      "host:",   "host:0", "host:65536", "host:+5",
                                 "h: 5",   "h:5x",    "[]",      "[]:5",   "[::1",       "[::1]5",
                                 "[::1]:", "[::1]:x", "host:-1", "h:0x10", longest};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct iw_resolver_place *places = (void *)error;
        size_t count = 9;
        errno = 0;
        if (read_hosts(&wrong[i], 1, &places, &count) == 0)
            fail_msg("\"%s\" is taken", wrong[i]);
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error, ": expected HOST, HOST:PORT or [ADDRESS]:PORT"));
        assert_null(places);
        assert_int_equal(count, 0);
    }
}

static void addresses_of_hosts(void **unused)
{
    (void)unused;
    const char *const hosts[] = {"a", "b:5"};
    struct iw_resolver_place *places;
    size_t count;
    asked.count = ADDRESSES;
    asked.frees = 0;
    assert_int_equal(read_hosts(hosts, 2, &places, &count), 0);
    assert_int_equal(asked.frees, 2);
    assert_int_equal(count, 8); /* four of each; the second is none */
    static const uint8_t last[4] = {1, 3, 4, 5};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(places[i].address[3], last[i % 4]);
        assert_int_equal(places[i].port, i < 4 ? 7470 : 5);
    }
    free(places);
    asked.count = 0;
    asked.status = EAI_NONAME;
    assert_int_equal(read_hosts(hosts, 2, &places, &count), -1);
    assert_int_equal(errno, EADDRNOTAVAIL);
    assert_string_equal(error, "cannot resolve host \"a\": Name or service not known");
    assert_null(places);
    asked.status = EAI_MEMORY;
    assert_int_equal(read_hosts(hosts, 2, &places, &count), -1);
    assert_int_equal(errno, ENOMEM);
    asked.status = EAI_SYSTEM;
    assert_int_equal(read_hosts(hosts, 2, &places, &count), -1);
    assert_int_equal(errno, EADDRNOTAVAIL);
    asked.status = 0;
    assert_int_equal(read_hosts(hosts, 0, &places, &count), 0);
    assert_null(places);
    assert_int_equal(count, 0);
    /* 64 hosts of four addresses have room. */
    const char *many[IW_RESOLVER_HOSTS_MOST + 1];
    for (size_t i = 0; i <= IW_RESOLVER_HOSTS_MOST; i++)
        many[i] = "c";
    asked.count = ADDRESSES;
    assert_int_equal(read_hosts(many, IW_RESOLVER_HOSTS_MOST, &places, &count), 0);
    assert_int_equal(count, 256);
    free(places);
    assert_int_equal(read_hosts(many, IW_RESOLVER_HOSTS_MOST + 1, &places, &count), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(error, "65 hosts: expected at most 64");
}

/* ---- places ---- */

static struct iw_resolver_place place_of(const char *text, uint16_t port)
{
    struct sockaddr_storage at = {0};
    struct iw_resolver_place place;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = 77};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(&at, &v4, sizeof(v4));
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
        memcpy(&at, &v6, sizeof(v6));
    }
    assert_true(iw_resolver_place_from(&place, (struct sockaddr *)&at));
    return place;
}

static void kinds_of_places(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        bool any, loopback, link_local, one;
    } rows[] = {{"0.0.0.0", true, false, false, false},
                {"0.0.0.1", false, false, false, true},
                {"::", true, false, false, false},
                {"127.0.0.1", false, true, false, true},
                {"127.255.0.9", false, true, false, true},
                {"126.255.255.255", false, false, false, true},
                {"128.0.0.1", false, false, false, true},
                {"223.255.255.255", false, false, false, true},
                {"224.0.0.0", false, false, false, false},
                {"255.255.255.255", false, false, false, false},
                {"169.254.0.1", false, false, false, true},
                {"254.128.0.1", false, false, false, false},
                {"::1", false, true, false, true},
                {"::2", false, false, false, true},
                {"1::1", false, false, false, true},
                {"::ffff:127.0.0.1", false, true, false, true},
                {"::ffff:0.0.0.0", true, false, false, false},
                {"fe80::1", false, false, true, true},
                {"febf::1", false, false, true, true},
                {"fec0::1", false, false, false, true},
                {"fe40::1", false, false, false, true},
                {"ff80::1", false, false, false, false},
                {"fd80::1", false, false, false, true},
                {"ff02::1", false, false, false, false},
                {"e000::1", false, false, false, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_resolver_place p = place_of(rows[i].text, 9);
        if (iw_resolver_place_is_any(&p) != rows[i].any ||
            iw_resolver_place_is_loopback(&p) != rows[i].loopback ||
            iw_resolver_place_is_link_local(&p) != rows[i].link_local ||
            iw_resolver_place_is_one(&p) != rows[i].one)
            fail_msg("%s", rows[i].text);
        p.port = 0;
        assert_false(iw_resolver_place_is_one(&p));
        p.port = 9;
        p.family = 0;
        assert_false(iw_resolver_place_is_one(&p));
        assert_false(iw_resolver_place_is_link_local(&p));
    }
}

static void places_there_and_back(void **unused)
{
    (void)unused;
    struct sockaddr_storage at;
    struct iw_resolver_place p = place_of("192.0.2.7", 0x1234), q;
    assert_int_equal(p.family, IW_RESOLVER_IPV4);
    assert_int_equal(p.port, 0x1234);
    assert_memory_equal(p.address, "\xc0\0\2\7\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(p.scope, 0);
    assert_int_equal(iw_resolver_place_to(&p, &at), sizeof(struct sockaddr_in));
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at;
    assert_int_equal(v4->sin_family, AF_INET);
    assert_int_equal(v4->sin_port, htons(0x1234));
    assert_int_equal(v4->sin_addr.s_addr, inet_addr("192.0.2.7"));
    q = place_of("::ffff:192.0.2.7", 5); /* the same host, in other words */
    assert_int_equal(q.family, IW_RESOLVER_IPV4);
    assert_int_equal(q.scope, 0);
    assert_int_equal(q.port, 5);
    assert_true(iw_resolver_place_same_host(&p, &q));
    q.address[15] = 1;
    assert_false(iw_resolver_place_same_host(&p, &q));
    q = p;
    q.family = IW_RESOLVER_IPV6;
    assert_false(iw_resolver_place_same_host(&p, &q));
    p = place_of("fe80::9", 0x4321);
    assert_int_equal(p.family, IW_RESOLVER_IPV6);
    assert_int_equal(p.scope, 77);
    assert_int_equal(iw_resolver_place_to(&p, &at), sizeof(struct sockaddr_in6));
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at;
    assert_int_equal(v6->sin6_family, AF_INET6);
    assert_int_equal(v6->sin6_port, htons(0x4321));
    assert_int_equal(v6->sin6_scope_id, 77);
    assert_memory_equal(&v6->sin6_addr, p.address, 16);
    p.family = 5;
    assert_int_equal(iw_resolver_place_to(&p, &at), 0);
    assert_int_equal(at.ss_family, 0);
    const struct sockaddr other = {.sa_family = AF_UNIX};
    assert_false(iw_resolver_place_from(&p, &other));
    assert_int_equal(p.family, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket),
        cmocka_unit_test(buckets_of_sources),
        cmocka_unit_test(a_set),
        cmocka_unit_test(those_that_ask),
        cmocka_unit_test(who_is_shunned),
        cmocka_unit_test(names_of_hosts),
        cmocka_unit_test(addresses_of_hosts),
        cmocka_unit_test(kinds_of_places),
        cmocka_unit_test(places_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
