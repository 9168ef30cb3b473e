/* SPDX-License-Identifier: BSD-3-Clause */
/* Services: their numbers, what they queue, what their descriptors say. */
#include "messages_bench.h"

#include <fcntl.h>
#include <poll.h>

static void numbers(void **unused)
{
    (void)unused;
    struct iw_service *s = service(&b, 5), *other;
    assert_int_equal(iw_messages_number(s), 5);
    assert_int_equal(iw_messages_service(&b.m, 5, &other), -1);
    assert_int_equal(errno, EADDRINUSE);
    struct iw_service *far = service(&b, 5 + 1024);
    assert_ptr_equal(iw_service_find(&b.m, 5), s);
    assert_ptr_equal(iw_service_find(&b.m, 5 + 1024), far);
    assert_null(iw_service_find(&b.m, 5 + 2048));
    assert_int_equal(b.m.counts.services, 2);
    iw_messages_shut(s); /* the second of its list */
    assert_null(iw_service_find(&b.m, 5));
    assert_ptr_equal(iw_service_find(&b.m, 5 + 1024), far);
    assert_int_equal(b.m.counts.services, 1);
    iw_messages_shut(NULL);
    /* One that nobody chose is in the upper half. */
    struct iw_service *free_one = service(&b, 0), *another = service(&b, 0);
    assert_true(iw_messages_number(free_one) >= 0x80000000u);
    assert_true(iw_messages_number(another) >= 0x80000000u);
    assert_int_not_equal(iw_messages_number(free_one), iw_messages_number(another));
    b.m.counts.services = 65536;
    assert_int_equal(iw_messages_service(&b.m, 6, &other), -1);
    assert_int_equal(errno, EMFILE);
    b.m.counts.services = 65535;
    assert_int_equal(iw_messages_service(&b.m, 6, &other), 0);
    assert_int_equal(b.m.counts.services, 65536);
    assert_int_equal(bench_resolver.claims, 0);
}

static void claims(void **unused)
{
    (void)unused;
    struct iw_service *s;
    b.m.resolver = (struct iw_resolver *)&b;
    assert_int_equal(iw_messages_service(&b.m, 5, &s), 0);
    assert_int_equal(bench_resolver.claimed, 5);
    assert_int_equal(bench_resolver.claimed_instance, 0x77);
    iw_messages_shut(s);
    assert_int_equal(bench_resolver.disclaims, 1);
    bench_resolver.claim_result = EADDRINUSE;
    assert_int_equal(iw_messages_service(&b.m, 6, &s), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(bench_resolver.disclaims, 1);
    assert_null(iw_service_find(&b.m, 6));
    assert_int_equal(b.m.counts.services, 0);
    b.m.resolver = NULL;
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void a_descriptor(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2), *late = service(&b, 3);
    const int fd = iw_messages_descriptor(s);
    assert_true(fd >= 0);
    assert_int_equal(iw_messages_descriptor(s), fd);
    assert_false(readable(fd));
    message_arrives(&b, link, 1, 0, 2);
    message_arrives(&b, link, 2, 0, 2);
    assert_true(readable(fd));
    iw_messages_free(&b.m, taken(s).data);
    assert_true(readable(fd));
    iw_messages_free(&b.m, taken(s).data);
    assert_false(readable(fd));
    /* A report, too. */
    const struct iovec piece = {"x", 1};
    assert_int_equal(iw_messages_send(s, 7, &piece, 1, 0, 1), 0);
    assert_false(readable(fd));
    bench_ns += b.m.timeout;
    iw_route_tick(&b.m, bench_ns);
    assert_true(readable(fd));
    taken(s);
    assert_false(readable(fd));
    /* One that is asked for when there is something already. */
    message_arrives(&b, link, 3, 0, 3);
    const int other = iw_messages_descriptor(late);
    assert_true(readable(other));
    iw_messages_free(&b.m, taken(late).data);
    assert_false(readable(other));
    iw_messages_shut(late);
    assert_int_equal(fcntl(other, F_GETFD), -1);
}

/* An empty message has no data, a report comes before messages. */
static void what_is_taken(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    struct iw_message_header h = says(IW_MESSAGE_SHORT, 50, 0);
    h.sequence = 1;
    h.from = 9;
    h.to = 2;
    arrives(&b, link, &h, NULL, 0);
    const struct iovec piece = {"abc", 3};
    assert_int_equal(iw_messages_send(s, 7, &piece, 1, 0, 44), 0);
    bench_ns += b.m.timeout;
    iw_route_tick(&b.m, bench_ns);
    struct iw_message got = taken(s);
    assert_int_equal(got.kind, IW_MESSAGES_UNDELIVERED);
    assert_int_equal(got.number, 7);
    assert_int_equal(got.length, 3);
    assert_int_equal(got.tag, 44);
    got = taken(s);
    assert_int_equal(got.kind, IW_MESSAGES_MESSAGE);
    assert_null(got.data);
    assert_int_equal(got.length, 0);
    assert_int_equal(got.error, 0);
    assert_int_equal(b.m.counts.received, 1);
    assert_int_equal(b.m.counts.received_octets, 0);
    /* Reports that nobody has taken go with their service. */
    assert_int_equal(iw_messages_send(s, 7, &piece, 1, 0, 45), 0);
    bench_ns += b.m.timeout;
    iw_route_tick(&b.m, bench_ns);
    iw_messages_shut(s);
}

static void gathered(void **unused)
{
    (void)unused;
    synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    /* Short: all pieces in one Send, given or not. */
    char *given = iw_messages_get(&b.m, 10), *second = iw_messages_get(&b.m, 9000);
    memcpy(given, "hello ", 6);
    memcpy(second, "world", 5);
    const struct iovec three[] = {{given, 6}, {second, 5}};
    assert_int_equal(iw_messages_send(s, 9, three, 2, IW_MESSAGES_GIVE, 0), 0);
    const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
    assert_int_equal(r->h.length, 11);
    assert_memory_equal(octets_of(r) + 64, "hello world", 11);
    assert_null(iw_pool_find(&b.m.pool, given));
    assert_null(iw_pool_find(&b.m.pool, second));
    const struct iovec parts[] = {{"ab", 2}, {NULL, 0}, {"c", 1}};
    assert_int_equal(iw_messages_send(s, 9, parts, 3, 0, 0), 0);
    assert_memory_equal(octets_of(expect_send(IW_MESSAGE_SHORT)) + 64, "abc", 3);
    assert_int_equal(iw_messages_send(s, 9, NULL, 0, 0, 0), 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->length, 64);
    /* 4,096 octets are short, one more is long. */
    static uint8_t octets[4097];
    memset(octets, 0x5a, sizeof(octets));
    struct iovec most = {octets, 4096};
    assert_int_equal(iw_messages_send(s, 9, &most, 1, 0, 0), 0);
    r = expect_send(IW_MESSAGE_SHORT);
    assert_int_equal(r->length, 64 + 4096);
    assert_memory_equal(octets_of(r) + 64, octets, 4096);
    most.iov_len = 4097;
    assert_int_equal(iw_messages_send(s, 9, &most, 1, 0, 0), 0);
    r = expect_send(IW_MESSAGE_ANNOUNCE);
    struct iw_message_piece piece;
    iw_message_get_piece(octets_of(r) + 64, &piece);
    assert_int_equal(r->h.count, 1);
    assert_int_equal(piece.length, 4097);
    assert_memory_equal((void *)(uintptr_t)piece.address, octets, 4097);
    assert_ptr_not_equal((void *)(uintptr_t)piece.address, octets);
    /* Given, and long: an empty piece does not travel, a small buffer is copied. */
    void *one = iw_messages_get(&b.m, 5000), *two = iw_messages_get(&b.m, 5000);
    const struct iovec with_empty[] = {{two, 0}, {one, 5000}};
    assert_int_equal(iw_messages_send(s, 9, with_empty, 2, IW_MESSAGES_GIVE, 0), 0);
    r = expect_send(IW_MESSAGE_ANNOUNCE);
    assert_int_equal(r->h.count, 1);
    iw_message_get_piece(octets_of(r) + 64, &piece);
    assert_int_equal(piece.address, (uintptr_t)one);
    assert_null(iw_pool_find(&b.m.pool, two));
    assert_non_null(iw_pool_find(&b.m.pool, one));
    one = iw_messages_get(&b.m, 5000);
    two = iw_messages_get(&b.m, 4096);
    const struct iovec with_small[] = {{one, 5000}, {two, 100}};
    assert_int_equal(iw_messages_send(s, 9, with_small, 2, IW_MESSAGES_GIVE, 0), 0);
    r = expect_send(IW_MESSAGE_ANNOUNCE);
    assert_int_equal(r->h.count, 1);
    assert_int_equal(r->h.length, 5100);
    assert_null(iw_pool_find(&b.m.pool, one));
    assert_null(iw_pool_find(&b.m.pool, two));
}

/* A buffer comes back to the pool once, when its message is done with, and not again with its
 * report. */
static void a_buffer_comes_back_once(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    const struct iovec piece = {iw_messages_get(&b.m, 5000), 5000};
    assert_int_equal(iw_messages_send(s, 9, &piece, 1, IW_MESSAGES_GIVE | IW_MESSAGES_NOTIFY, 5),
                     0);
    expect_send(IW_MESSAGE_ANNOUNCE);
    complete_sends(&b);
    const struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 1);
    arrives(&b, link, &h, NULL, 0);
    void *again = iw_messages_get(&b.m, 5000);
    assert_ptr_equal(again, piece.iov_base);
    assert_int_equal(taken(s).kind, IW_MESSAGES_DELIVERED);
    assert_non_null(iw_pool_find(&b.m.pool, again));
    void *other = iw_messages_get(&b.m, 5000);
    assert_ptr_not_equal(other, again);
    iw_messages_free(&b.m, other);
    iw_messages_free(&b.m, again);
}

/* Calls that cannot be right leave the buffers with the caller. */
static void refused(void **unused)
{
    (void)unused;
    struct iw_service *s = service(&b, 2);
    void *one = iw_messages_get(&b.m, 5000), *two = iw_messages_get(&b.m, 5000);
    const struct iw_buffer *buffer = iw_pool_find(&b.m.pool, one);
    struct iovec pieces[IW_MESSAGES_PIECES + 1] = {{one, buffer->room}};
    assert_int_equal(iw_messages_send(s, 0, pieces, 1, 0, 0), -1);
    assert_int_equal(errno, EINVAL);
    pieces[0].iov_len = buffer->room + 1;
    assert_int_equal(iw_messages_send(s, 9, pieces, 1, IW_MESSAGES_GIVE, 0), -1);
    assert_int_equal(errno, EINVAL);
    pieces[0].iov_len = 10;
    pieces[1] = (struct iovec){two, 10};
    pieces[2] = (struct iovec){one, 10};
    assert_int_equal(iw_messages_send(s, 9, pieces, 3, IW_MESSAGES_GIVE, 0), -1);
    assert_int_equal(errno, EINVAL);
    pieces[2] = (struct iovec){two, 10};
    assert_int_equal(iw_messages_send(s, 9, pieces, 3, IW_MESSAGES_GIVE, 0), -1);
    assert_int_equal(errno, EINVAL);
    pieces[2] = (struct iovec){(char *)two + 1, 10};
    assert_int_equal(iw_messages_send(s, 9, pieces, 3, IW_MESSAGES_GIVE, 0), -1);
    assert_int_equal(errno, EINVAL);
    for (unsigned flag = 8; flag != 0; flag <<= 1) {
        assert_int_equal(iw_messages_send(s, 9, pieces, 1, flag, 0), -1);
        assert_int_equal(errno, EINVAL);
    }
    for (size_t i = 0; i <= IW_MESSAGES_PIECES; i++)
        pieces[i] = (struct iovec){NULL, 0};
    assert_int_equal(iw_messages_send(s, 9, pieces, IW_MESSAGES_PIECES + 1, 0, 0), -1);
    assert_int_equal(errno, EINVAL);
    pieces[0] = (struct iovec){one, IW_MESSAGES_LONG};
    pieces[1] = (struct iovec){two, 1};
    assert_int_equal(iw_messages_send(s, 9, pieces, 2, 0, 0), -1);
    assert_int_equal(errno, EMSGSIZE);
    /* The pool is used up: neither the frame nor the copy. */
    b.m.pool.most = b.m.pool.octets;
    pieces[0] = (struct iovec){one, 5000};
    assert_int_equal(iw_messages_send(s, 9, pieces, 1, 0, 0), -1);
    assert_int_equal(errno, ENOMEM);
    struct iw_buffer *held[1000];
    size_t count = 0;
    while (count < 1000 && (held[count] = iw_pool_get(&b.m.pool, 1)) != NULL)
        count++;
    pieces[0] = (struct iovec){one, 5000};
    assert_int_equal(iw_messages_send(s, 9, pieces, 1, IW_MESSAGES_GIVE, 0), -1);
    assert_int_equal(errno, ENOMEM);
    while (count > 0)
        iw_pool_put(&b.m.pool, held[--count]);
    assert_int_equal(s->open, 0);
    assert_int_equal(s->held, 0);
    assert_null(iw_messages_get(&b.m, 0));
    assert_int_equal(errno, EINVAL);
    assert_null(iw_messages_get(&b.m, (size_t)IW_MESSAGES_LONG + 1));
    assert_int_equal(errno, EINVAL);
    assert_null(iw_messages_get(&b.m, IW_MESSAGES_LONG));
    assert_int_equal(errno, ENOMEM);
    iw_messages_free(&b.m, one);
    iw_messages_free(&b.m, two);
    iw_messages_free(&b.m, NULL);
    iw_messages_free(&b.m, octets_of(bench_sends)); /* none of the pool: nothing */
}

static void take_the_oldest(void)
{
    bench_ns += b.m.timeout;
    iw_route_tick(&b.m, bench_ns);
}

static void close_it(void)
{
    b.m.closing = true;
}

/* 1,024 of one service, its reports that were not taken among them. */
static void a_queue(void **unused)
{
    (void)unused;
    struct iw_service *s = service(&b, 2);
    for (uint64_t i = 0; i < 1023; i++)
        assert_int_equal(send_one(s, IW_MESSAGES_NOWAIT, i), 0);
    void *given = iw_messages_get(&b.m, 5000);
    const struct iovec piece = {given, 5000};
    assert_int_equal(iw_messages_send(s, 9, &piece, 1, IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT, 0),
                     0);
    assert_int_equal(s->held, 1024);
    given = iw_messages_get(&b.m, 5000);
    const struct iovec other = {given, 5000};
    assert_int_equal(iw_messages_send(s, 9, &other, 1, IW_MESSAGES_GIVE | IW_MESSAGES_NOWAIT, 0),
                     -1);
    assert_int_equal(errno, EAGAIN);
    assert_non_null(iw_pool_find(&b.m.pool, given)); /* it is the caller's still */
    iw_messages_free(&b.m, given);
    /* Another service has a queue of its own. */
    assert_int_equal(send_one(service(&b, 3), IW_MESSAGES_NOWAIT, 0), 0);
    bench_waits = close_it;
    assert_int_equal(send_one(s, 0, 5000), -1);
    assert_int_equal(errno, ESHUTDOWN);
    b.m.closing = false;
    /* All have their fate: only the program can make room now. */
    bench_waits = take_the_oldest;
    assert_int_equal(send_one(s, 0, 5000), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(s->open, 0);
    assert_int_equal(s->held, 1024);
    bench_waits = NULL;
    assert_int_equal(taken(s).tag, 0);
    assert_int_equal(send_one(s, 0, 5000), 0);
    assert_int_equal(s->open, 1);
    assert_int_equal(s->held, 1024);
    for (uint64_t i = 1; i < 1023; i++)
        assert_int_equal(taken(s).tag, i);
}

static void waiting(void **unused)
{
    (void)unused;
    struct iw_service *s = service(&b, 2);
    struct iw_message got;
    const uint64_t start = bench_ns;
    assert_int_equal(iw_messages_receive(s, &got, 7), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(bench_ns, start + 7 * MS);
    bench_waits = close_it;
    assert_int_equal(iw_messages_receive(s, &got, -1), -1);
    assert_int_equal(errno, ESHUTDOWN);
    b.m.closing = false;
    assert_int_equal(iw_messages_flush(s, -1), 0);
    bench_waits = NULL;
    assert_int_equal(send_one(s, 0, 1), 0);
    const uint64_t now = bench_ns;
    assert_int_equal(iw_messages_flush(s, 9), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(bench_ns, now + 9 * MS);
    bench_waits = close_it;
    assert_int_equal(iw_messages_flush(s, -1), -1);
    b.m.closing = false;
    bench_waits = take_the_oldest;
    assert_int_equal(iw_messages_flush(s, -1), 0);
    bench_waits = NULL;
    assert_int_equal(iw_messages_receive(s, &got, 0), 0);
    assert_int_equal(got.tag, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(numbers),       BENCH_TEST(claims),   BENCH_TEST(a_descriptor),
        BENCH_TEST(what_is_taken), BENCH_TEST(gathered), BENCH_TEST(a_buffer_comes_back_once),
        BENCH_TEST(refused),       BENCH_TEST(a_queue),  BENCH_TEST(waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
