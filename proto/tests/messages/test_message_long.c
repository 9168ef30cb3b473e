/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages: announced and fetched, or written into the peer's buffer. */
#include "messages_long.h"

static struct bench_request *expect_rdma(enum ibv_wr_opcode opcode, uint64_t remote, uint32_t rkey,
                                         uint32_t length)
{
    struct bench_request *r = next_send();
    assert_non_null(r);
    assert_int_equal(r->opcode, opcode);
    assert_int_equal(r->remote, remote);
    assert_int_equal(r->rkey, rkey);
    assert_int_equal(r->length, length);
    return r;
}

static void fetched(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    static const uint32_t lengths[] = {CHUNK, CHUNK + 1, 3};
    announce(link, 1, lengths, 3);
    struct bench_request *reads[4];
    const uint8_t *data = NULL;
    for (int i = 0; i < 4; i++) {
        static const uint64_t from[] = {0x100000000, 0x200000000, 0x200000000 + CHUNK, 0x300000000};
        static const uint32_t keys[] = {0x5000, 0x5001, 0x5001, 0x5002},
                              most[] = {CHUNK, CHUNK, 1, 3};
        static const uint32_t at[] = {0, CHUNK, 2 * CHUNK, 2 * CHUNK + 1};
        reads[i] = expect_rdma(IBV_WR_RDMA_READ, from[i], keys[i], most[i]);
        data = i == 0 ? reads[0]->at : data;
        assert_ptr_equal(reads[i]->at, data + at[i]);
    }
    expect_silence();
    assert_int_equal(bench_rights, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    assert_int_equal(link->fetches, 1);
    const unsigned regions = bench_registered;
    for (int i = 0; i < 4; i++) {
        expect_nothing(s);
        complete(&b, reads[i], IBV_WC_SUCCESS, 0);
    }
    assert_int_equal(link->fetches, 0);
    assert_int_equal(bench_registered, regions - 1);
    assert_int_equal(b.m.counts.fetched, 1);
    const struct iw_message got = taken(s);
    assert_int_equal(got.length, 2 * CHUNK + 4);
    assert_ptr_equal(got.data, data);
    iw_messages_free(&b.m, got.data);
}

/* One of up to 128 MiB goes in steps of 4 MiB, a longer one in 32. */
static void in_chunks(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    static const struct {
        uint32_t length, step;
        unsigned count;
    } rows[] = {{1, 1, 1},
                {32 * CHUNK - 1, CHUNK, 32},
                {32 * CHUNK, CHUNK + 1, 32},
                {200 * MIB, 200 * MIB / 32 + 1, 32}};
    for (uint64_t i = 0; i < 4; i++) {
        announce(link, i + 1, &rows[i].length, 1);
        uint32_t left = rows[i].length;
        for (unsigned n = 0; n < rows[i].count; n++) {
            const uint32_t step = left < rows[i].step ? left : rows[i].step;
            expect_rdma(IBV_WR_RDMA_READ, UINT64_C(0x100000000) + rows[i].length - left, 0x5000,
                        step);
            left -= step;
        }
        assert_int_equal(left, 0);
        expect_silence();
        complete_sends(&b);
        iw_messages_free(&b.m, taken(s).data);
        iw_peer_tick(&b.m, bench_ns);
        expect_send(IW_MESSAGE_STATE);
    }
}

/* Four messages of a peer are fetched at a time, in order, if the send queue has room. */
static void bounded(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    static const uint32_t lengths[] = {5000, 6000};
    struct bench_request *reads[6];
    complete_sends(&b);
    for (uint64_t i = 1; i <= 6; i++) {
        announce(link, i, lengths, 1);
        reads[i - 1] = next_send();
        assert_int_equal(reads[i - 1] != NULL, i <= 4);
    }
    complete(&b, reads[1], IBV_WC_SUCCESS, 0);
    reads[4] = next_send(); /* the fifth */
    assert_non_null(reads[4]);
    expect_silence();
    expect_nothing(s); /* the first is still on its way */
    complete(&b, reads[0], IBV_WC_SUCCESS, 0);
    reads[5] = next_send();
    assert_non_null(reads[5]);
    complete_sends(&b);
    for (int i = 0; i < 6; i++)
        iw_messages_free(&b.m, taken(s).data);
    iw_peer_tick(&b.m, bench_ns);
    expect_send(IW_MESSAGE_STATE);
    complete_sends(&b);
    /* Two Reads, the Send of an answer and the reserve: 192 at most. */
    link->sends = 186;
    announce(link, 7, lengths, 2);
    expect_silence();
    link->sends = 185;
    iw_peer_tick(&b.m, bench_ns);
    assert_non_null(next_send());
    assert_non_null(next_send());
    expect_silence();
    link->sends = 2;
    complete_sends(&b);
    iw_messages_free(&b.m, taken(s).data);
}

/* A short one waits for the long one before it. */
static void in_order(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    const uint32_t length = 5000;
    announce(link, 1, &length, 1);
    message_arrives(&b, link, 2, 0, 2);
    expect_nothing(s);
    complete_sends(&b);
    struct iw_message got = taken(s);
    assert_int_equal(got.length, 5000);
    iw_messages_free(&b.m, got.data);
    got = taken(s);
    assert_int_equal(got.length, 1);
    iw_messages_free(&b.m, got.data);
    next_send();
}

/* A Read that fails, or cannot be posted: the message, and all after it, must be announced again.
 */
static void a_fetch_is_cut(void **unused)
{
    (void)unused;
    const uint32_t length = 5000;
    for (int i = 0; i < 3; i++) {
        struct iw_link *link = synced(&b, PEER + (uint64_t)i, 50);
        struct iw_service *s = service(&b, 2);
        message_arrives(&b, link, 1, 0, 2);
        bench_posts_left = i == 0 ? 0 : UINT32_MAX;
        bench_fails = i == 1 ? REG_MR : NONE;
        announce(link, 2, &length, 1);
        bench_posts_left = UINT32_MAX;
        bench_fails = NONE;
        message_arrives(&b, link, 3, 0, 2);
        assert_int_equal(link->peer->arrived, 3);
        assert_int_equal(link->peer->taken.came, 3);
        assert_int_equal(link->ending, i == 0);
        struct bench_request *read = next_send();
        assert_int_equal(read != NULL, i == 2);
        if (read != NULL)
            complete(&b, read, IBV_WC_RETRY_EXC_ERR, 0);
        assert_int_equal(link->ending, i != 1);
        struct iw_peer *p = link->peer;
        flush(&b, link);
        assert_int_equal(p->taken.came, 1);
        assert_int_equal(p->arrived, 1);
        struct iw_message got = taken(s);
        assert_int_equal(got.length, 1);
        iw_messages_free(&b.m, got.data);
        expect_nothing(s);
        iw_messages_shut(s);
        assert_int_equal(b.m.counts.fetched, 0);
    }
}

/* With a second connection the peer is asked there for what was cut. */
static void a_fetch_is_cut_and_another_link(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50), *other = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    const uint32_t length = 5000;
    message_arrives(&b, link, 1, 0, 2);
    announce(link, 2, &length, 1);
    expect_rdma(IBV_WR_RDMA_READ, 0x100000000, 0x5000, 5000);
    /* The end is seen before the Read has failed: its memory is kept until then. */
    iw_link_end(link);
    iw_link_reap(&b.m, false);
    const struct bench_request *r = expect_send(IW_MESSAGE_SYNC);
    assert_ptr_equal(r->id, other->id);
    assert_int_equal(r->h.sequence, 1);
    assert_ptr_equal(other->peer->link, other);
    flush(&b, link);
    announce(other, 2, &length, 1);
    assert_ptr_equal(expect_rdma(IBV_WR_RDMA_READ, 0x100000000, 0x5000, 5000)->id, other->id);
    complete_sends(&b);
    for (int i = 0; i < 2; i++)
        iw_messages_free(&b.m, taken(s).data);
    expect_nothing(s);
}

/* One that cannot be fetched yet holds up those after it: they come in order. */
static void one_after_the_other(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    static const uint32_t lengths[] = {1, 4096, 5000};
    bench_fails = REG_MR;
    announce(link, 1, &lengths[0], 1); /* in a buffer that is a region of its own, however short */
    bench_fails = NONE;
    expect_silence();
    link->ending = true;
    announce(link, 2, &lengths[1], 1);
    announce(link, 3, &lengths[2], 1);
    link->ending = false;
    expect_silence();
    bench_fails = REG_MR;
    iw_peer_tick(&b.m, bench_ns);
    expect_silence();
    bench_fails = NONE;
    iw_peer_tick(&b.m, bench_ns);
    for (int i = 0; i < 3; i++)
        expect_rdma(IBV_WR_RDMA_READ, 0x100000000, 0x5000, lengths[i]);
    complete_sends(&b);
    for (int i = 0; i < 3; i++) {
        const struct iw_message got = taken(s);
        assert_int_equal(got.length, lengths[i]);
        assert_true(iw_pool_find(&b.m.pool, got.data)->size > 0);
        iw_messages_free(&b.m, got.data);
    }
}

/* The end of one connection does not cut what another one fetches, whichever lies first. */
static void a_fetch_by_another_link(void **unused)
{
    (void)unused;
    const uint32_t length = 5000;
    for (uint64_t i = 0; i < 2; i++) {
        struct iw_link *links[] = {synced(&b, PEER + i, 50), synced(&b, PEER + i, 50)};
        struct iw_service *s = service(&b, 2);
        announce(links[i], 1, &length, 1);
        struct bench_request *read = expect_rdma(IBV_WR_RDMA_READ, 0x100000000, 0x5000, 5000);
        flush(&b, links[1 - i]);
        complete(&b, read, IBV_WC_SUCCESS, 0);
        iw_messages_free(&b.m, taken(s).data);
        iw_messages_shut(s);
        flush(&b, links[i]);
        while (next_send() != NULL)
            ;
    }
}

/* ---- out ---- */

static void lends(struct iw_link *link, uint32_t id, uint64_t address, uint32_t length)
{
    uint8_t octets[IW_MESSAGE_PIECE];
    struct iw_message_header h = says(IW_MESSAGE_LOAN, link->may_send, 0);
    h.loan = id;
    iw_message_put_piece(&(struct iw_message_piece){address, 0x700 + id, length}, octets);
    arrives(&b, link, &h, octets, sizeof(octets));
}

static void announced(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    uint8_t *first = iw_messages_get(&b.m, 5000), *second = iw_messages_get(&b.m, 9000);
    const struct iovec pieces[] = {{first, 5000}, {second, 7000}};
    assert_int_equal(iw_messages_send(s, 9, pieces, 2, IW_MESSAGES_GIVE, 5), 0);
    const struct bench_request *r = expect_send(IW_MESSAGE_ANNOUNCE);
    assert_int_equal(r->h.count, 2);
    assert_int_equal(r->h.length, 12000);
    assert_int_equal(r->h.flags, IW_MESSAGE_ASK);
    assert_int_equal(r->length, 64 + 2 * 16);
    struct iw_message_piece piece;
    iw_message_get_piece(octets_of(r) + 64, &piece);
    assert_int_equal(piece.address, (uintptr_t)first);
    assert_int_equal(piece.length, 5000);
    const struct iw_buffer *buffer = iw_pool_find(&b.m.pool, first);
    assert_int_equal(piece.stag, buffer->offered->rkey);
    assert_int_equal(buffer->offered->length, 5000);
    iw_message_get_piece(octets_of(r) + 80, &piece);
    assert_int_equal(piece.address, (uintptr_t)second);
    assert_int_equal(piece.length, 7000);
    assert_int_equal(bench_rights, IBV_ACCESS_REMOTE_READ);
    complete_sends(&b);
    /* Announced again as it is: the peer may be reading. */
    const uint32_t key = buffer->offered->rkey;
    struct iw_peer *p = link->peer;
    flush(&b, link);
    link = synced(&b, PEER, 50);
    r = expect_send(IW_MESSAGE_ANNOUNCE);
    iw_message_get_piece(octets_of(r) + 64, &piece);
    assert_int_equal(piece.stag, key);
    assert_ptr_equal(p->link, link);
    complete_sends(&b);
    struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 1);
    arrives(&b, link, &h, NULL, 0);
    assert_null(iw_pool_find(&b.m.pool, first));
    assert_null(iw_pool_find(&b.m.pool, second));
    /* A region that cannot be made holds the message up until it can. */
    const struct iovec copied = {first, 4097};
    bench_fails = NONE;
    assert_int_equal(iw_messages_send(s, 9, &copied, 1, 0, 6), 0);
    expect_send(IW_MESSAGE_ANNOUNCE);
    complete_sends(&b);
    assert_int_equal(iw_messages_send(s, 9, &copied, 1, 0, 7), 0);
    expect_send(IW_MESSAGE_ANNOUNCE);
}

static void written(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    /* Of those that are long enough the smallest. */
    lends(link, 1, 0x1000000, 4 * CHUNK);
    lends(link, 2, 0x2000000, 8000);
    lends(link, 3, 0x3000000, 12000);
    lends(link, 4, 0x4000000, 11999);
    assert_false(link->ending);
    uint8_t *first = iw_messages_get(&b.m, 5000), *second = iw_messages_get(&b.m, 9000);
    struct iovec pieces[] = {{first, 5000}, {second, 7000}};
    assert_int_equal(iw_messages_send(s, 9, pieces, 2, IW_MESSAGES_GIVE, 5), 0);
    assert_ptr_equal(expect_rdma(IBV_WR_RDMA_WRITE, 0x3000000, 0x703, 5000)->at, first);
    assert_ptr_equal(expect_rdma(IBV_WR_RDMA_WRITE, 0x3000000 + 5000, 0x703, 7000)->at, second);
    const struct bench_request *r = expect_send(IW_MESSAGE_WRITTEN);
    assert_int_equal(r->h.loan, 3);
    assert_int_equal(r->h.length, 12000);
    assert_int_equal(r->h.count, 0);
    assert_int_equal(r->length, 64);
    expect_silence();
    /* In steps of 4 MiB, two pieces. */
    first = iw_messages_get(&b.m, CHUNK + 2);
    second = iw_messages_get(&b.m, 2 * CHUNK);
    pieces[0] = (struct iovec){first, CHUNK + 2};
    pieces[1] = (struct iovec){second, 2 * CHUNK};
    assert_int_equal(iw_messages_send(s, 9, pieces, 2, IW_MESSAGES_GIVE, 6), 0);
    expect_rdma(IBV_WR_RDMA_WRITE, 0x1000000, 0x701, CHUNK);
    assert_ptr_equal(expect_rdma(IBV_WR_RDMA_WRITE, 0x1000000 + CHUNK, 0x701, 2)->at,
                     first + CHUNK);
    expect_rdma(IBV_WR_RDMA_WRITE, 0x1000000 + CHUNK + 2, 0x701, CHUNK);
    expect_rdma(IBV_WR_RDMA_WRITE, 0x1000000 + 2 * CHUNK + 2, 0x701, CHUNK);
    expect_send(IW_MESSAGE_WRITTEN);
    /* 12,000 is more than what is left. */
    pieces[0] = (struct iovec){iw_messages_get(&b.m, 12000), 12000};
    assert_int_equal(iw_messages_send(s, 9, pieces, 1, IW_MESSAGES_GIVE, 7), 0);
    expect_send(IW_MESSAGE_ANNOUNCE);
    /* Room in the send queue for the Write, the Send and the reserve. */
    complete_sends(&b);
    link->sends = 187;
    pieces[0] = (struct iovec){iw_messages_get(&b.m, 8000), 8000};
    assert_int_equal(iw_messages_send(s, 9, pieces, 1, IW_MESSAGES_GIVE, 8), 0);
    expect_silence();
    link->sends = 186;
    iw_peer_pump(&b.m, link->peer);
    expect_rdma(IBV_WR_RDMA_WRITE, 0x2000000, 0x702, 8000);
    assert_int_equal(expect_send(IW_MESSAGE_WRITTEN)->h.loan, 2);
    link->sends = 2;
    /* A Write that cannot be posted ends the connection. */
    pieces[0] = (struct iovec){iw_messages_get(&b.m, 8000), 8000};
    bench_posts_left = 0;
    assert_int_equal(iw_messages_send(s, 9, pieces, 1, IW_MESSAGES_GIVE, 9), 0);
    assert_true(link->ending);
    bench_posts_left = UINT32_MAX;
}

static void lent_wrongly(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    lends(link, 1, 0x1000000, 0);
    assert_true(link->ending);
    link = synced(&b, PEER + 1, 50);
    for (uint32_t i = 0; i < IW_LINK_LOANS; i++)
        lends(link, i, 0x1000000, 1);
    assert_false(link->ending);
    lends(link, 5, 0x1000000, 1);
    assert_true(link->ending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fetched),
        TEST(in_chunks),
        LENT(bounded),
        TEST(in_order),
        TEST(a_fetch_is_cut),
        TEST(a_fetch_is_cut_and_another_link),
        TEST(one_after_the_other),
        TEST(a_fetch_by_another_link),
        TEST(announced),
        TEST(written),
        TEST(lent_wrongly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
