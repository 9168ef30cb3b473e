/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers that are lent to a peer, and what it writes there. */
#include "messages_long.h"

static struct iw_buffer *fetch_one(struct iw_link *link, struct iw_service *s, uint64_t sequence,
                                   uint32_t length)
{
    announce(link, sequence, &length, 1);
    while (next_send() != NULL)
        ;
    complete_sends(&b);
    const struct iw_message got = taken(s);
    return iw_pool_find(&b.m.pool, got.data);
}

static void lent(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 90);
    struct iw_service *s = service(&b, 2);
    struct iw_buffer *buffers[5];
    for (uint32_t i = 0; i < 5; i++) {
        buffers[i] = fetch_one(link, s, i + 1, 5000 + i * 8000);
        iw_peer_tick(&b.m, bench_ns);
        while (next_send() != NULL)
            ;
    }
    /* Four at most; the fifth goes back to the pool. */
    for (uint32_t i = 0; i < 5; i++)
        iw_messages_return(&b.m, buffers[i]->data);
    for (uint32_t i = 0; i < 4; i++) {
        const struct bench_request *r = expect_send(IW_MESSAGE_LOAN);
        struct iw_message_piece piece;
        assert_int_equal(r->h.loan, i + 1);
        assert_int_equal(r->length, 80);
        iw_message_get_piece(octets_of(r) + 64, &piece);
        assert_int_equal(piece.address, (uintptr_t)buffers[i]->data);
        assert_int_equal(piece.stag, buffers[i]->offered->rkey);
        assert_int_equal(piece.length, buffers[i]->room);
        assert_int_equal(buffers[i]->offered->length, buffers[i]->room);
    }
    expect_silence();
    assert_null(buffers[4]->offered);
    assert_null(iw_pool_find(&b.m.pool, buffers[4]->data));
    assert_int_equal(bench_rights, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    /* Written into the second: as many octets as it has room for, and no more. */
    struct iw_message_header h = says(IW_MESSAGE_WRITTEN, 90, 0);
    h.sequence = 6;
    h.from = 9;
    h.to = 2;
    h.loan = 2;
    h.length = (uint32_t)buffers[1]->room;
    arrives(&b, link, &h, NULL, 0);
    const struct iw_message got = taken(s);
    assert_ptr_equal(got.data, buffers[1]->data);
    assert_int_equal(got.length, buffers[1]->room);
    assert_null(buffers[1]->offered);
    assert_int_equal(b.m.counts.written, 1);
    iw_messages_free(&b.m, got.data);
    assert_false(link->ending);
    h.sequence = 7;
    h.loan = 3;
    h.length = (uint32_t)buffers[2]->room + 1;
    arrives(&b, link, &h, NULL, 0);
    assert_true(link->ending);
    /* The end of the connection takes all of them back. */
    flush(&b, link);
    for (uint32_t i = 0; i < 5; i++) {
        assert_null(buffers[i]->offered);
        assert_null(iw_pool_find(&b.m.pool, buffers[i]->data));
    }
}

/* Written twice into one buffer; into one that is another's; a message that came before. */
static void not_lent(void **unused)
{
    (void)unused;
    struct iw_link *none = synced(&b, PEER + 9, 90);
    const struct iw_message_header nowhere = {
        .type = IW_MESSAGE_WRITTEN, .grants = 90, .sequence = 1, .from = 9, .to = 2, .length = 10};
    arrives(&b, none, &nowhere, NULL, 0);
    assert_true(none->ending);
    for (uint32_t i = 0; i < 3; i++) {
        struct iw_link *link = synced(&b, PEER + i, 90);
        struct iw_service *s = service(&b, 2);
        iw_messages_return(&b.m, fetch_one(link, s, 1, 5000)->data);
        expect_send(IW_MESSAGE_LOAN);
        struct iw_message_header h = says(IW_MESSAGE_WRITTEN, 90, 0);
        h.sequence = 2;
        h.from = 9;
        h.to = 2;
        h.length = 10;
        h.loan = i == 0 ? 2 : 1;
        arrives(&b, link, &h, NULL, 0);
        assert_int_equal(link->ending, i == 0);
        if (i > 0) {
            iw_messages_free(&b.m, taken(s).data);
            h.sequence = i == 1 ? 3 : 2;
            arrives(&b, link, &h, NULL, 0);
            assert_int_equal(link->ending, i == 1);
            assert_int_equal(b.m.counts.repeated, i == 1 ? 0 : 1);
        }
        flush(&b, link);
        iw_messages_shut(s);
        while (next_send() != NULL)
            ;
    }
}

/* A buffer is lent only to whom its message came from, while that is connected and has credits. */
static void not_to_lend(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 90);
    struct iw_service *s = service(&b, 2);
    struct iw_buffer *own = iw_pool_get(&b.m.pool, 5000), *small = iw_pool_get(&b.m.pool, 10);
    small->origin = PEER;
    struct iw_buffer *strange = iw_pool_get(&b.m.pool, 5000);
    strange->origin = 0xdead;
    iw_messages_return(&b.m, strange->data);
    assert_null(iw_pool_find(&b.m.pool, strange->data));
    iw_messages_return(&b.m, own->data);
    iw_messages_return(&b.m, small->data);
    iw_messages_return(&b.m, NULL);
    assert_null(iw_pool_find(&b.m.pool, own->data));
    assert_null(iw_pool_find(&b.m.pool, small->data));
    struct iw_buffer *buffer = fetch_one(link, s, 1, 5000);
    const uint32_t may_send = link->may_send;
    link->may_send = link->sent + 4;
    iw_messages_return(&b.m, buffer->data);
    expect_silence();
    assert_null(buffer->offered);
    assert_null(iw_pool_find(&b.m.pool, buffer->data));
    for (unsigned i = 0; i < IW_LINK_LOANS; i++)
        assert_null(link->lent[i].buffer);
    link->may_send = may_send;
    buffer = fetch_one(link, s, 2, 5000);
    bench_fails = REG_MR;
    iw_messages_return(&b.m, buffer->data);
    expect_silence();
    bench_fails = NONE;
    assert_null(iw_pool_find(&b.m.pool, buffer->data));
    buffer = fetch_one(link, s, 3, 5000);
    link->peer->dead = true;
    iw_messages_return(&b.m, buffer->data);
    expect_silence();
    link->peer->dead = false;
    buffer = fetch_one(link, s, 4, 5000);
    flush(&b, link);
    iw_messages_return(&b.m, buffer->data);
    assert_null(buffer->offered);
    expect_silence();
}

/* Expects that a buffer of `room` octets is lent, and returns its number. */
static uint32_t expect_loan(uint32_t room)
{
    const struct bench_request *r = expect_send(IW_MESSAGE_LOAN);
    struct iw_message_piece piece;
    iw_message_get_piece(octets_of(r) + 64, &piece);
    assert_int_equal(piece.length, room);
    return r->h.loan;
}

static void comes_written(struct iw_link *link, uint64_t sequence, uint32_t loan, uint32_t length)
{
    struct iw_message_header h = says(IW_MESSAGE_WRITTEN, 90, 0);
    h.flags = IW_MESSAGE_ASK;
    h.sequence = sequence;
    h.from = 9;
    h.to = 2;
    h.loan = loan;
    h.length = length;
    arrives(&b, link, &h, NULL, 0);
}

/* A peer whose long message was taken gets a buffer for the next one, in place of a STATE. */
static void lent_ahead(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 90);
    struct iw_service *s = service(&b, 2);
    static const struct {
        uint32_t length, room;
    } rows[] = {{4097, 64 << 10}, {65537, 256 << 10}, {MIB, MIB}, {MIB + 1, CHUNK}};
    for (uint32_t i = 0; i < 4; i++) {
        announce(link, i + 1, &rows[i].length, 1);
        while (next_send() != NULL)
            ;
        complete_sends(&b);
        iw_messages_free(&b.m, taken(s).data);
        assert_int_equal(expect_loan(rows[i].room), i + 1);
        assert_int_equal(link->peer->owed, 0);
        expect_silence();
    }
    assert_int_equal(iw_pool_offered(&b.m.pool, IW_POOL_LENT),
                     (64 << 10) + (256 << 10) + MIB + CHUNK);
    /* One that is written takes its buffer, and another is lent; one that has a buffer gets none.
     */
    comes_written(link, 5, 3, MIB);
    const struct iw_message got = taken(s);
    assert_int_equal(got.length, MIB);
    expect_send(IW_MESSAGE_STATE);
    iw_messages_free(&b.m, got.data);
    comes_written(link, 6, 4, CHUNK);
    iw_messages_free(&b.m, taken(s).data);
    assert_int_equal(expect_loan(CHUNK), 5);
    expect_silence();
    assert_false(link->ending);
    flush(&b, link);
    assert_int_equal(iw_pool_offered(&b.m.pool, IW_POOL_LENT), 0);
}

/* Nothing is lent ahead for more than 4 MiB, beyond an eighth of the pool, without memory, or to
 * who was refused. */
static void not_lent_ahead(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 90);
    struct iw_service *s = service(&b, 2);
    static const uint32_t more = CHUNK + 1, most = CHUNK;
    announce(link, 1, &more, 1);
    while (next_send() != NULL)
        ;
    complete_sends(&b);
    iw_messages_free(&b.m, taken(s).data);
    iw_peer_tick(&b.m, bench_ns);
    expect_send(IW_MESSAGE_STATE);
    const size_t pool = b.m.pool.most;
    for (uint64_t i = 2; i < 4; i++) {
        b.m.pool.most = 8u * CHUNK - 1 + (i == 3);
        announce(link, i, &most, 1);
        while (next_send() != NULL)
            ;
        complete_sends(&b);
        bench_fails = i == 3 ? REG_MR : NONE;
        iw_messages_free(&b.m, taken(s).data);
        bench_fails = NONE;
        iw_peer_tick(&b.m, bench_ns);
        expect_send(IW_MESSAGE_STATE);
        expect_silence();
        assert_int_equal(iw_pool_offered(&b.m.pool, IW_POOL_LENT), 0);
    }
    b.m.pool.most = pool;
    iw_messages_shut(s);
    announce(link, 4, &most, 1);
    while (next_send() != NULL)
        ;
    complete_sends(&b);
    expect_send(IW_MESSAGE_STATE);
    expect_silence();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LENT(lent), LENT(not_lent), TEST(lent_ahead), TEST(not_lent_ahead), LENT(not_to_lend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
