/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow receivers, threads, descriptors, and the bound of connections. */
#include "messages_pair.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "messages/message_internal.h"

enum { MIB = 1 << 20 };

static void slow_receiver(void **unused)
{
    (void)unused;
    struct world_end a, b;
    uint8_t octets[IW_MESSAGES_SHORT];
    struct iw_messages_counts counts;
    struct iw_message got;
    uint32_t sent = 0, taken = 0;
    open_pair(&a, &b);
    for (;; sent++) {
        fill_octets(octets, sent, 0, sizeof(octets));
        if (send_octets(a.s, 2, octets, sizeof(octets), IW_MESSAGES_NOWAIT, sent) != 0)
            break;
    }
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(sent, IW_MESSAGES_QUEUE);
    /* One taken makes room for one. */
    for (;; taken++, sent++) {
        iw_messages_count(a.m, &counts);
        assert_true(counts.sent <= taken + IW_MESSAGES_WINDOW);
        assert_true(counts.pool_octets < 8 * MIB);
        if (taken == 3000)
            break;
        got = receive(b.s);
        assert_true(got.length == sizeof(octets) && right_octets(got.data, taken, got.length));
        iw_messages_free(b.m, got.data);
        fill_octets(octets, sent, 0, sizeof(octets));
        assert_int_equal(send_octets(a.s, 2, octets, sizeof(octets), 0, sent), 0);
    }
    for (; taken < sent; taken++) {
        got = receive(b.s);
        assert_true(right_octets(got.data, taken, got.length));
        iw_messages_free(b.m, got.data);
    }
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    assert_int_equal(iw_messages_receive(a.s, &got, 0), -1);
    close_pair(&a, &b);
}

static void slow_receiver_of_long_ones(void **unused)
{
    (void)unused;
    struct world_end a, b;
    struct sockaddr_in at;
    struct iw_messages_config config = loopback(&at);
    struct iw_messages_counts counts;
    static uint8_t octets[300000];
    uint32_t sent = 0;
    config.pool_octets = 8 * MIB;
    open_end(&a, &config, 1);
    open_end(&b, &config, 2);
    assert_int_equal(iw_messages_place(a.m, 2, (const struct sockaddr *)&b.at), 0);
    for (int none = 0; none < 100;) { /* until the pools of both are used up */
        fill_octets(octets, sent, 0, sizeof(octets));
        if (send_octets(a.s, 2, octets, sizeof(octets), IW_MESSAGES_NOWAIT, sent) == 0) {
            sent++;
            none = 0;
            continue;
        }
        assert_int_equal(errno, ENOMEM);
        poll(NULL, 0, 1);
        none++;
    }
    assert_in_range(sent, 10, 8 * MIB / sizeof(octets));
    iw_messages_count(a.m, &counts);
    assert_true(counts.pool_octets <= 8 * MIB);
    iw_messages_count(b.m, &counts);
    assert_true(counts.pool_octets <= 8 * MIB);
    for (uint32_t i = 0; i < sent; i++) {
        struct iw_message got = receive(b.s);
        assert_true(got.length == sizeof(octets) && right_octets(got.data, i, got.length));
        iw_messages_return(b.m, got.data);
    }
    close_pair(&a, &b);
}

/* ---- threads ---- */

enum { SENDERS = 4, EACH = 400, TAKERS = 2 };

struct crowd {
    struct world_end *a, *b;
    atomic_uint next_sender, taken;
    atomic_uchar came[SENDERS][EACH];
    atomic_bool wrong;
};

static void *send_many(void *of)
{
    struct crowd *c = of;
    const uint32_t sender = atomic_fetch_add(&c->next_sender, 1);
    struct iw_service *s = NULL;
    if (iw_messages_service(c->a->m, 100 + sender, &s) != 0) {
        atomic_store(&c->wrong, true);
        return NULL;
    }
    for (uint32_t i = 0; i < EACH; i++) {
        const size_t length = i % 10 == 0 ? 20000 + i : 8 + i;
        uint8_t *octets = iw_messages_get(c->a->m, length);
        fill_octets(octets, sender + i, 0, length);
        memcpy(octets, &sender, 4);
        memcpy(octets + 4, &i, 4);
        if (send_octets(s, 2, octets, length, IW_MESSAGES_GIVE, i) != 0)
            atomic_store(&c->wrong, true);
    }
    if (iw_messages_flush(s, GUARD_MS) != 0)
        atomic_store(&c->wrong, true);
    iw_messages_shut(s);
    return NULL;
}

static void *take_many(void *of)
{
    struct crowd *c = of;
    while (atomic_load(&c->taken) < SENDERS * EACH) {
        struct iw_message got;
        uint32_t sender, i;
        if (iw_messages_receive(c->b->s, &got, 50) != 0)
            continue;
        memcpy(&sender, got.data, 4);
        memcpy(&i, (uint8_t *)got.data + 4, 4);
        if (sender >= SENDERS || i >= EACH || got.number != 100 + sender) {
            atomic_store(&c->wrong, true);
            return NULL;
        }
        for (size_t at = 8; at < got.length; at++)
            if (((uint8_t *)got.data)[at] != octet(sender + i, at))
                atomic_store(&c->wrong, true);
        atomic_fetch_add(&c->came[sender][i], 1);
        iw_messages_return(c->b->m, got.data);
        atomic_fetch_add(&c->taken, 1);
    }
    return NULL;
}

static void threads(void **unused)
{
    (void)unused;
    struct world_end a, b;
    static struct crowd c;
    pthread_t list[SENDERS + TAKERS];
    open_pair(&a, &b);
    c.a = &a;
    c.b = &b;
    for (unsigned i = 0; i < SENDERS + TAKERS; i++)
        assert_int_equal(pthread_create(&list[i], NULL, i < SENDERS ? send_many : take_many, &c),
                         0);
    for (unsigned i = 0; i < SENDERS + TAKERS; i++)
        pthread_join(list[i], NULL);
    assert_false(c.wrong);
    for (unsigned i = 0; i < SENDERS * EACH; i++)
        assert_int_equal(c.came[i / EACH][i % EACH], 1);
    close_pair(&a, &b);
}

/* ---- the descriptor ---- */

static bool readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1 && p.revents == POLLIN;
}

static void descriptor(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    const int fd = iw_messages_descriptor(b.s), own = iw_messages_descriptor(a.s);
    assert_true(fd >= 0 && own >= 0 && fd != own);
    assert_int_equal(iw_messages_descriptor(b.s), fd);
    assert_false(readable(fd, 0));
    /* The library's thread sees to it: nobody else waits. */
    for (int i = 0; i < 2; i++)
        assert_int_equal(send_octets(a.s, 2, "x", 1, IW_MESSAGES_NOTIFY, 0), 0);
    assert_true(readable(fd, GUARD_MS));
    assert_true(readable(fd, 0)); /* it stays so */
    struct iw_message got = receive(b.s);
    iw_messages_free(b.m, got.data);
    assert_true(readable(fd, GUARD_MS));
    got = receive(b.s);
    iw_messages_free(b.m, got.data);
    assert_false(readable(fd, 0));
    /* A report is something to receive, too. */
    assert_true(readable(own, GUARD_MS));
    for (int i = 0; i < 2; i++)
        assert_int_equal(receive(a.s).kind, IW_MESSAGES_DELIVERED);
    assert_false(readable(own, 0));
    /* One that is asked for when a message is there. */
    struct iw_service *late;
    assert_int_equal(iw_messages_service(b.m, 3, &late), 0);
    assert_int_equal(iw_messages_place(a.m, 3, (const struct sockaddr *)&b.at), 0);
    assert_int_equal(send_octets(a.s, 3, "x", 1, 0, 0), 0);
    for (struct iw_messages_counts counts = {0}; counts.sent < 3;)
        iw_messages_count(a.m, &counts);
    assert_true(readable(iw_messages_descriptor(late), GUARD_MS));
    close_pair(&a, &b);
}

/* ---- connections ---- */

static void few_connections(void **unused)
{
    (void)unused;
    enum { OTHERS = 6, ROUNDS = 4, MOST = 2 };
    struct world_end a, others[OTHERS];
    struct sockaddr_in at;
    struct iw_messages_config config = loopback(&at);
    struct iw_messages_counts counts;
    config.connections = MOST;
    open_end(&a, &config, 1);
    config.connections = 0;
    for (uint32_t i = 0; i < OTHERS; i++) {
        open_end(&others[i], &config, 10 + i);
        assert_int_equal(iw_messages_place(a.m, 10 + i, (struct sockaddr *)&others[i].at), 0);
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < OTHERS; i++) {
            assert_int_equal(send_octets(a.s, 10 + i, &round, sizeof(round), 0, 0), 0);
            struct iw_message got = receive(others[i].s);
            assert_memory_equal(got.data, &round, sizeof(round));
            iw_messages_free(others[i].m, got.data);
            /* The other end begins a connection as well, if there is none now. */
            assert_int_equal(send_octets(others[i].s, 1, "answer", 6, 0, 0), 0);
            got = receive(a.s);
            assert_int_equal(got.number, 10 + i);
            iw_messages_free(a.m, got.data);
            iw_messages_count(a.m, &counts);
            assert_true(counts.connections <= MOST + 1); /* one gives way when another is there */
        }
    assert_true(counts.dropped >= OTHERS - MOST);
    assert_true(counts.connected >= OTHERS);
    /* All at once: what has no connection waits for one. */
    for (uint32_t i = 0; i < OTHERS; i++)
        for (uint32_t k = 0; k < 100; k++)
            assert_int_equal(send_octets(a.s, 10 + i, &k, sizeof(k), 0, 0), 0);
    for (uint32_t i = 0; i < OTHERS; i++)
        for (uint32_t k = 0; k < 100; k++) {
            struct iw_message got = receive(others[i].s);
            assert_memory_equal(got.data, &k, sizeof(k));
            iw_messages_free(others[i].m, got.data);
        }
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    iw_messages_close(a.m);
    for (uint32_t i = 0; i < OTHERS; i++)
        iw_messages_close(others[i].m);
}

/* Waits until the library's thread sleeps without an end, with one connection left. */
static void await_sleep(struct iw_messages *m)
{
    for (int i = 0;; i++) {
        pthread_mutex_lock(&m->mutex);
        const bool is = m->sleeps == UINT64_MAX && m->links_all == 1;
        pthread_mutex_unlock(&m->mutex);
        if (is)
            return;
        assert_true(i < GUARD_MS);
        usleep(1000);
    }
}

/* A message for a peer whose connection has given way wakes who sleeps. */
static void a_dropped_connection_comes_back(void **unused)
{
    (void)unused;
    struct world_end a, others[2];
    struct sockaddr_in at;
    struct iw_messages_config config = loopback(&at);
    config.connections = 1;
    open_end(&a, &config, 1);
    for (uint32_t i = 0; i < 2; i++) {
        open_end(&others[i], &config, 10 + i);
        assert_int_equal(iw_messages_place(a.m, 10 + i, (struct sockaddr *)&others[i].at), 0);
    }
    for (uint32_t k = 0; k < 4; k++) {
        assert_int_equal(send_octets(a.s, 10 + k % 2, &k, sizeof(k), 0, 0), 0);
        const struct iw_message got = receive(others[k % 2].s);
        assert_memory_equal(got.data, &k, sizeof(k));
        iw_messages_free(others[k % 2].m, got.data);
        await_sleep(a.m);
    }
    iw_messages_close(a.m);
    for (uint32_t i = 0; i < 2; i++)
        iw_messages_close(others[i].m);
}

static void ipv6(void **unused)
{
    (void)unused;
    struct world_end a, b;
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct iw_messages_config config = {.listen = (const struct sockaddr *)&any};
    open_end(&a, &config, 1);
    open_end(&b, &config, 2);
    assert_int_equal(b.at.ss_family, AF_INET6);
    assert_int_equal(iw_messages_place(a.m, 2, (const struct sockaddr *)&b.at), 0);
    static uint8_t octets[50000];
    for (uint32_t i = 0; i < 20; i++) {
        const size_t length = i % 2 == 0 ? 100 : sizeof(octets);
        fill_octets(octets, i, 0, length);
        assert_int_equal(send_octets(a.s, 2, octets, length, 0, 0), 0);
        struct iw_message got = receive(b.s);
        assert_true(got.length == length && right_octets(got.data, i, length));
        iw_messages_free(b.m, got.data);
        assert_int_equal(send_octets(b.s, 1, octets, length, 0, 0), 0);
        got = receive(a.s);
        assert_true(got.length == length && right_octets(got.data, i, length));
        iw_messages_free(a.m, got.data);
    }
    close_pair(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_receiver),
        cmocka_unit_test(slow_receiver_of_long_ones),
        cmocka_unit_test(threads),
        cmocka_unit_test(descriptor),
        cmocka_unit_test(few_connections),
        cmocka_unit_test(a_dropped_connection_comes_back),
        cmocka_unit_test(ipv6),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
