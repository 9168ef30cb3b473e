/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages_pair.h"

static void short_ones(void **unused)
{
    (void)unused;
    struct world_end a, b;
    uint8_t octets[IW_MESSAGES_SHORT];
    open_pair(&a, &b);
    static const size_t lengths[] = {0, 1, 50, 1400, IW_MESSAGES_SHORT};
    for (uint32_t i = 0; i < 5; i++) {
        fill_octets(octets, i, 0, lengths[i]);
        assert_int_equal(send_octets(a.s, 2, octets, lengths[i], 0, i), 0);
        struct iw_message got = receive(b.s);
        assert_int_equal(got.kind, IW_MESSAGES_MESSAGE);
        assert_int_equal(got.number, 1);
        assert_int_equal(got.length, lengths[i]);
        assert_true(right_octets(got.data, i, lengths[i]));
        iw_messages_free(b.m, got.data);
        /* The answer finds its way without a place. */
        assert_int_equal(send_octets(b.s, 1, octets, lengths[i], 0, i), 0);
        got = receive(a.s);
        assert_int_equal(got.number, 2);
        assert_true(right_octets(got.data, i, lengths[i]));
        iw_messages_free(a.m, got.data);
    }
    struct iw_messages_counts counts;
    iw_messages_count(a.m, &counts);
    assert_int_equal(counts.sent, 5);
    assert_int_equal(counts.received, 5);
    assert_int_equal(counts.connected, 1);
    close_pair(&a, &b);
}

static void long_ones(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    static const size_t lengths[] = {4097, 5000, 65536, 100001, 1 << 20, 9 << 20};
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 6; i++) {
            uint8_t *memory = iw_messages_get(a.m, lengths[i]);
            assert_non_null(memory);
            fill_octets(memory, i + round, 0, lengths[i]);
            assert_int_equal(send_octets(a.s, 2, memory, lengths[i], IW_MESSAGES_GIVE, i), 0);
            struct iw_message got = receive(b.s);
            assert_int_equal(got.length, lengths[i]);
            assert_true(right_octets(got.data, i + round, lengths[i]));
            iw_messages_return(b.m, got.data);
        }
    struct iw_messages_counts counts;
    iw_messages_count(b.m, &counts);
    assert_int_equal(counts.written + counts.fetched, 18);
    assert_true(counts.written > 0 && counts.fetched > 0);
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    close_pair(&a, &b);
}

static void gathered(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    enum { PIECE = 30000 };
    static uint8_t octets[IW_MESSAGES_PIECES * PIECE];
    struct iovec pieces[IW_MESSAGES_PIECES + 1];
    for (unsigned flags = 0; flags <= IW_MESSAGES_GIVE; flags += IW_MESSAGES_GIVE)
        for (uint32_t count = 1; count <= IW_MESSAGES_PIECES; count += 5) {
            for (uint32_t i = 0; i < count; i++) {
                uint8_t *at = octets + i * PIECE;
                if (flags != 0)
                    at = iw_messages_get(a.m, PIECE);
                fill_octets(at, count, i * PIECE, PIECE);
                pieces[i] = (struct iovec){at, PIECE};
            }
            assert_int_equal(iw_messages_send(a.s, 2, pieces, count, flags, 0), 0);
            struct iw_message got = receive(b.s);
            assert_int_equal(got.length, count * PIECE);
            assert_true(right_octets(got.data, count, got.length));
            iw_messages_free(b.m, got.data);
        }
    close_pair(&a, &b);
}

static void in_order(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    enum { MANY = 3000 };
    static uint8_t octets[20000];
    for (uint32_t sent = 0, got = 0; got < MANY;) {
        const size_t length = sent % 7 == 3 ? 4097 + sent * 5 : sent % 4097;
        fill_octets(octets, sent, 0, length);
        if (sent < MANY && send_octets(a.s, 2, octets, length, IW_MESSAGES_NOWAIT, sent) == 0) {
            sent++;
            continue;
        }
        struct iw_message m = receive(b.s);
        assert_int_equal(m.length, got % 7 == 3 ? 4097 + got * 5 : got % 4097);
        assert_true(right_octets(m.data, got, m.length));
        if (got % 2 == 0)
            iw_messages_return(b.m, m.data);
        else
            iw_messages_free(b.m, m.data);
        got++;
    }
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    struct iw_message none;
    assert_int_equal(iw_messages_receive(b.s, &none, 0), -1);
    assert_int_equal(errno, ETIMEDOUT);
    close_pair(&a, &b);
}

static void reports(void **unused)
{
    (void)unused;
    struct world_end a, b;
    struct sockaddr_in at;
    struct iw_messages_config config = loopback(&at);
    config.timeout_ms = 300;
    open_end(&a, &config, 1);
    open_end(&b, &config, 2);
    /* Nobody knows the number. */
    assert_int_equal(send_octets(a.s, 2, "x", 1, 0, 77), 0);
    struct iw_message got = receive(a.s);
    assert_int_equal(got.kind, IW_MESSAGES_UNDELIVERED);
    assert_int_equal(got.error, EHOSTUNREACH);
    assert_int_equal(got.number, 2);
    assert_int_equal(got.tag, 77);
    /* The process there does not have it. */
    assert_int_equal(iw_messages_place(a.m, 3, (struct sockaddr *)&b.at), 0);
    assert_int_equal(send_octets(a.s, 3, "x", 1, 0, 78), 0);
    got = receive(a.s);
    assert_int_equal(got.kind, IW_MESSAGES_UNDELIVERED);
    assert_int_equal(got.error, EHOSTUNREACH);
    assert_int_equal(got.tag, 78);
    /* Delivered, when it has been taken. */
    assert_int_equal(iw_messages_place(a.m, 2, (struct sockaddr *)&b.at), 0);
    assert_int_equal(send_octets(a.s, 2, "x", 1, IW_MESSAGES_NOTIFY, 79), 0);
    assert_int_equal(iw_messages_receive(a.s, &got, 20), -1);
    got = receive(b.s);
    iw_messages_free(b.m, got.data);
    got = receive(a.s);
    assert_int_equal(got.kind, IW_MESSAGES_DELIVERED);
    assert_int_equal(got.tag, 79);
    close_pair(&a, &b);
}

static void ends(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    /* What has been sent to a process that ends is reported, and so is what waits. */
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(send_octets(a.s, 2, "x", 1, 0, i), 0);
    struct iw_message got = receive(b.s);
    iw_messages_free(b.m, got.data);
    iw_messages_close(b.m);
    uint64_t undelivered = 0;
    assert_int_equal(iw_messages_flush(a.s, GUARD_MS), 0);
    while (iw_messages_receive(a.s, &got, 0) == 0) {
        assert_int_equal(got.kind, IW_MESSAGES_UNDELIVERED);
        undelivered++;
    }
    assert_int_equal(undelivered, 99);
    iw_messages_close(a.m);
}

static void to_itself(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    struct iw_service *other;
    assert_int_equal(iw_messages_service(a.m, 5, &other), 0);
    assert_int_equal(iw_messages_place(a.m, 5, (struct sockaddr *)&a.at), 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(send_octets(a.s, 5, "hello", 5, 0, 0), 0);
        struct iw_message got = receive(other);
        assert_int_equal(got.number, 1);
        assert_memory_equal(got.data, "hello", 5);
        iw_messages_free(a.m, got.data);
        assert_int_equal(send_octets(other, 1, "hallo", 5, 0, 0), 0);
        got = receive(a.s);
        assert_memory_equal(got.data, "hallo", 5);
        iw_messages_free(a.m, got.data);
    }
    close_pair(&a, &b);
}

static void bad_calls(void **unused)
{
    (void)unused;
    struct world_end a, b;
    open_pair(&a, &b);
    struct iw_service *twice;
    assert_int_equal(iw_messages_service(a.m, 1, &twice), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(send_octets(a.s, 0, "x", 1, 0, 0), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(send_octets(a.s, 2, "x", 1, 0x80, 0), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(send_octets(a.s, 2, "x", 1, IW_MESSAGES_GIVE, 0), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(send_octets(a.s, 2, "x", (size_t)IW_MESSAGES_LONG + 1, 0, 0), -1);
    assert_int_equal(errno, EMSGSIZE);
    const struct iovec many[IW_MESSAGES_PIECES + 1] = {{NULL, 0}};
    assert_int_equal(iw_messages_send(a.s, 2, many, IW_MESSAGES_PIECES + 1, 0, 0), -1);
    assert_int_equal(errno, EINVAL);
    const struct iovec two[] = {{"x", SIZE_MAX}, {"x", 2}};
    assert_int_equal(iw_messages_send(a.s, 2, two, 2, 0, 0), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_null(iw_messages_get(a.m, 0));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(iw_messages_place(a.m, 0, NULL), -1);
    assert_int_equal(errno, EINVAL);
    /* A buffer twice in one message. */
    void *p = iw_messages_get(a.m, 10000);
    const struct iovec same[] = {{p, 5000}, {p, 5000}};
    assert_int_equal(iw_messages_send(a.s, 2, same, 2, IW_MESSAGES_GIVE, 0), -1);
    assert_int_equal(errno, EINVAL);
    iw_messages_free(a.m, p);
    struct iw_messages *none;
    char error[100];
    assert_int_equal(iw_messages_open(&(struct iw_messages_config){.connections = -1}, &none, error,
                                      sizeof(error)),
                     -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(iw_messages_open(&(struct iw_messages_config){.listen = (void *)&b.at}, &none,
                                      error, sizeof(error)),
                     -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_non_null(strstr(error, "rdma_"));
    close_pair(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_ones), cmocka_unit_test(long_ones), cmocka_unit_test(gathered),
        cmocka_unit_test(in_order),   cmocka_unit_test(reports),   cmocka_unit_test(ends),
        cmocka_unit_test(to_itself),  cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
