/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection: credits, what completes, time, and how it ends. */
#include "messages_bench.h"

/* ---- credits ---- */

static void credits_of_messages(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 10);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(send_one(s, 0, i), 0);
    /* Ten less one of the SYNC less four that messages leave. */
    for (uint64_t i = 1; i <= 5; i++) {
        const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
        assert_int_equal(r->h.sequence, i);
        assert_int_equal(r->h.from, 2);
        assert_int_equal(r->h.to, 9);
        assert_int_equal(r->h.length, 1);
        assert_int_equal(r->h.flags, 0);
        assert_int_equal(r->length, 65);
        assert_int_equal(octets_of(r)[64], 'x');
    }
    expect_silence();
    assert_int_equal(link->sent, 6);
    /* STATEs leave the last one to a due one. */
    for (int i = 0; i < 3; i++)
        assert_true(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    link->granted += 31;
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    link->granted++;
    assert_true(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    assert_int_equal(link->stated, 96 + 32 + 1); /* what the peer's SYNC used up was posted anew */
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    link->granted = link->receives;
    for (int i = 0; i < 4; i++)
        expect_send(IW_MESSAGE_STATE);
    expect_silence();
    /* Credits that come let the others go, in order. */
    struct iw_message_header h = says(IW_MESSAGE_STATE, 15, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 6);
    expect_silence();
    h.grants = 14; /* older than what has come */
    arrives(&b, link, &h, NULL, 0);
    expect_silence();
    assert_int_equal(link->may_send, 15);
    h.grants = 16;
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 7);
    expect_silence();
}

/* A buffer is lent with five credits, a SYNC is sent with one. */
static void credits_of_control(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 10);
    const struct iw_message_piece piece = {0x1122334455667788, 0x99aabbcc, 0x1000};
    const struct iw_message_header h = {.loan = 7};
    link->may_send = link->sent + 4;
    assert_false(iw_link_control(link, IW_MESSAGE_LOAN, 0, &h, &piece));
    link->may_send = link->sent + 5;
    assert_true(iw_link_control(link, IW_MESSAGE_LOAN, 0, &h, &piece));
    const struct bench_request *r = expect_send(IW_MESSAGE_LOAN);
    static const uint8_t octets[16] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                       0x99, 0xaa, 0xbb, 0xcc, 0,    0,    0x10, 0};
    assert_int_equal(r->length, 80);
    assert_int_equal(r->h.loan, 7);
    assert_memory_equal(octets_of(r) + 64, octets, 16);
    link->may_send = link->sent + 1;
    assert_true(iw_link_control(link, IW_MESSAGE_SYNC, 0, NULL, NULL));
    expect_send(IW_MESSAGE_SYNC);
    assert_false(iw_link_control(link, IW_MESSAGE_SYNC, 0, NULL, NULL));
    /* Room in the send queue: 192, of which messages leave four. */
    link->may_send = link->sent + 90;
    const unsigned sends = link->sends;
    link->sends = 192;
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    link->sends = 191;
    assert_true(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    expect_send(IW_MESSAGE_STATE);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    link->sends = 188;
    assert_int_equal(send_one(s, 0, 1), 0);
    expect_silence();
    link->sends = 187;
    iw_peer_pump(&b.m, link->peer);
    expect_send(IW_MESSAGE_SHORT);
    link->sends = sends + 2;
    /* Nothing leaves a link that ends, or by a request that is not taken. */
    bench_posts_left = 0;
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    assert_true(link->ending);
    bench_posts_left = UINT32_MAX;
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    assert_int_equal(link->sends, sends + 2);
}

/* After 32 receives that the peer does not know of a STATE is due. */
static void credits_are_stated(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 90);
    const struct iw_message_header h = says(IW_MESSAGE_STATE, 90, 0);
    for (int i = 0; i < 30; i++)
        arrives(&b, link, &h, NULL, 0);
    expect_silence(); /* the peer's SYNC was the first of 31 */
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.grants, 96 + 32);
    expect_silence();
    assert_int_equal(link->receives, 96);
    /* A tick makes good what could not be posted, and says so. */
    bench_receives_left = 0;
    for (int i = 0; i < 32; i++)
        arrives(&b, link, &h, NULL, 0);
    assert_int_equal(link->receives, 64);
    expect_silence();
    bench_receives_left = 31;
    iw_link_tick(&b.m, bench_ns);
    expect_silence();
    bench_receives_left = UINT32_MAX;
    iw_link_tick(&b.m, bench_ns);
    assert_int_equal(link->receives, 96);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.grants, 96 + 64);
    expect_silence();
}

/* ---- what completes ---- */

static void completions(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 20);
    assert_int_equal(link->sends, 1);
    complete_sends(&b);
    assert_int_equal(link->sends, 0);
    bench_ns += 3 * MS;
    assert_true(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    expect_send(IW_MESSAGE_STATE);
    assert_int_equal(link->used, bench_ns);
    bench_ns += 4 * MS;
    complete_sends(&b);
    assert_int_equal(link->heard, bench_ns);
    /* One that fails ends the connection; the receives come back, and the last of them frees it. */
    bench_ns += MS;
    complete(&b, posted_receive(link), IBV_WC_WR_FLUSH_ERR, 0);
    assert_true(link->ending);
    assert_int_equal(link->heard, bench_ns - MS);
    assert_int_equal(bench_calls[DISCONNECT], 1);
    assert_int_equal(bench_dues, 2);
    assert_int_equal(link->receives, 95);
    /* What came before the end counts. */
    const struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(link->may_send, 50);
    assert_int_equal(link->receives, 94);
    assert_false(iw_link_reap(&b.m, false));
    assert_int_equal(b.m.links_up, 0);
    while (link->receives > 1)
        complete(&b, posted_receive(link), IBV_WC_WR_FLUSH_ERR, 0);
    assert_false(iw_link_reap(&b.m, false));
    assert_int_equal(bench_qps_destroyed, 0);
    complete(&b, posted_receive(link), IBV_WC_WR_FLUSH_ERR, 0);
    link->sends = 1;
    assert_false(iw_link_reap(&b.m, false));
    link->sends = 0;
    assert_true(iw_link_reap(&b.m, false));
    assert_int_equal(bench_qps_destroyed, 1);
    assert_int_equal(bench_ids_destroyed, 1);
    /* A queue pair that cannot be disconnected is set to its error state. */
    link = synced(&b, PEER, 20);
    bench_fails = DISCONNECT;
    iw_link_end(link);
    assert_int_equal(bench_errors, 1);
    assert_int_equal(bench_calls[DISCONNECT], 2);
    iw_link_end(link);
    assert_int_equal(bench_calls[DISCONNECT], 2);
}

/* A Send that overtakes the event of its connection is kept; a second one is none of a right peer.
 */
static void what_comes_early(void **unused)
{
    (void)unused;
    struct iw_link *link = begun();
    resolves(&b, link);
    const struct iw_message_header h = says(IW_MESSAGE_SYNC, 12, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_false(link->ending);
    assert_non_null(link->early);
    establishes(&b, link, PEER, 10);
    assert_true(link->synced);
    assert_null(link->early);
    assert_int_equal(link->may_send, 12);
    expect_send(IW_MESSAGE_SYNC);
    assert_int_equal(link->receives, 96);
    link = begun();
    resolves(&b, link);
    arrives(&b, link, &h, NULL, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_true(link->ending);
    /* A receive that fails before the event says nothing yet: the event will say why. */
    link = begun();
    resolves(&b, link);
    complete(&b, posted_receive(link), IBV_WC_WR_FLUSH_ERR, 0);
    assert_false(link->ending);
    assert_null(link->early);
}

/* A peer that breaks the format or its own word is left. */
static void what_is_wrong(void **unused)
{
    (void)unused;
    static const struct {
        const char *what;
        struct iw_message_header h;
        bool synced, right;
    } rows[] = {
        {"begins with STATE", {.type = IW_MESSAGE_STATE, .grants = 10}, false, false},
        {"begins with SYNC", {.type = IW_MESSAGE_SYNC, .grants = 10}, false, true},
        /* One Send has used up a credit; 96 posted, and as many again. */
        {"193 ahead", {.type = IW_MESSAGE_STATE, .grants = 1 + 193}, true, false},
        {"192 ahead", {.type = IW_MESSAGE_STATE, .grants = 1 + 192}, true, true},
        {"one fewer than used", {.type = IW_MESSAGE_STATE, .grants = 0}, true, false},
        {"as many as used", {.type = IW_MESSAGE_STATE, .grants = 1}, true, true},
        {"done with one",
         {.type = IW_MESSAGE_STATE, .grants = 10, .state = {1, 0, 0, 0}},
         true,
         false},
        {"no end",
         {.type = IW_MESSAGE_SYNC, .grants = 10, .sequence = UINT64_C(1) << 62},
         false,
         false},
        {"far", {.type = IW_MESSAGE_SYNC, .grants = 10, .sequence = 3}, false, true},
        {"far and done with",
         {.type = IW_MESSAGE_SYNC, .grants = 10, .sequence = 3, .state = {3, 0, 0, 0}},
         false,
         true},
        {"done with more than came",
         {.type = IW_MESSAGE_SYNC, .grants = 10, .sequence = 3, .state = {4, 0, 0, 0}},
         false,
         false},
        {"no number", {.type = IW_MESSAGE_WRITTEN, .grants = 10}, true, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_link *link =
            rows[i].synced ? synced(&b, PEER + i, 10) : connected(&b, PEER + i, 10);
        arrives(&b, link, &rows[i].h, NULL, 0);
        if (link->ending == rows[i].right)
            fail_msg("%s", rows[i].what);
        assert_int_equal(link->wrong, !rows[i].right);
        /* What comes after it is not looked at. */
        if (!rows[i].right && rows[i].synced) {
            const struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 0);
            arrives(&b, link, &h, NULL, 0);
            assert_int_equal(link->may_send, 10);
        }
        flush(&b, link);
    }
}

/* ---- time ---- */

static void an_attempt_in_time(void **unused)
{
    (void)unused;
    struct iw_link *link = begun();
    iw_link_tick(&b.m, bench_ns + b.m.timeout);
    assert_false(link->ending);
    iw_link_tick(&b.m, bench_ns + b.m.timeout + 1);
    assert_true(link->ending);
}

/* A peer that owes something and is silent is asked after a quarter of the time-out. */
static void silence_in_time(void **unused)
{
    (void)unused;
    const uint64_t quarter = b.m.timeout / 4, start = bench_ns;
    struct iw_link *link = connected(&b, PEER, 40);
    iw_link_tick(&b.m, start + quarter - 1);
    expect_silence();
    iw_link_tick(&b.m, start + quarter); /* since it was asked not more than a quarter */
    expect_silence();
    iw_link_tick(&b.m, start + quarter + 1);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.flags, IW_MESSAGE_ASK);
    assert_int_equal(link->asked, start + quarter + 1);
    iw_link_tick(&b.m, start + 2 * quarter + 1);
    expect_silence();
    iw_link_tick(&b.m, start + 2 * quarter + 2);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.flags, IW_MESSAGE_ASK);
    iw_link_tick(&b.m, start + b.m.timeout);
    assert_false(link->ending);
    expect_send(IW_MESSAGE_STATE);
    iw_link_tick(&b.m, start + b.m.timeout + 1);
    assert_true(link->ending);
    flush(&b, link);
    /* One that owes nothing may be silent. */
    link = synced(&b, PEER, 40);
    iw_link_tick(&b.m, bench_ns + 10 * b.m.timeout);
    assert_false(link->ending);
    expect_silence();
    /* A fetch, or a message that is not acknowledged, is owed. */
    link->fetches = 1;
    iw_link_tick(&b.m, bench_ns + quarter + 1);
    expect_send(IW_MESSAGE_STATE);
    link->fetches = 0;
    place(&b, 9);
    assert_int_equal(send_one(service(&b, 2), 0, 0), 0);
    expect_send(IW_MESSAGE_SHORT);
    iw_link_tick(&b.m, bench_ns + 2 * quarter + 2);
    expect_send(IW_MESSAGE_STATE);
    iw_link_tick(&b.m, bench_ns + b.m.timeout + 1);
    assert_true(link->ending);
}

/* Only the connection that a peer's messages leave by has to answer for them. */
static void silence_of_a_second_link(void **unused)
{
    (void)unused;
    const uint64_t quarter = b.m.timeout / 4;
    struct iw_link *first = synced(&b, PEER, 40), *second = synced(&b, PEER, 40);
    place(&b, 9);
    assert_int_equal(send_one(service(&b, 2), 0, 0), 0);
    assert_ptr_equal(expect_send(IW_MESSAGE_SHORT)->id, first->id);
    first->asked = second->asked = 0;
    iw_link_tick(&b.m, bench_ns + quarter - 1);
    expect_silence();
    iw_link_tick(&b.m, bench_ns + quarter);
    assert_ptr_equal(expect_send(IW_MESSAGE_STATE)->id, first->id);
    expect_silence();
    iw_link_tick(&b.m, bench_ns + b.m.timeout + 1);
    assert_true(first->ending);
    assert_false(second->ending);
}

/* Without memory for a header nothing is sent, and nothing breaks. */
static void no_memory(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 40);
    struct iw_buffer *held[1000];
    size_t count = 0;
    b.m.pool.most = b.m.pool.octets;
    while (count < 1000 && (held[count] = iw_pool_get(&b.m.pool, 1)) != NULL)
        count++;
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    const struct iw_message_header h = says(IW_MESSAGE_STATE, 40, 0);
    /* Its buffer comes back only after the next receive was wanted. */
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(link->receives, 95);
    iw_link_tick(&b.m, bench_ns);
    assert_int_equal(link->receives, 96);
    while (count > 0)
        iw_pool_put(&b.m.pool, held[--count]);
    assert_false(link->ending);
}

/* A receive that fails on a connection that was accepted does not bring it up. */
static void what_fails_early(void **unused)
{
    (void)unused;
    uint8_t octets[IW_MESSAGE_GREETING];
    greeting_of(octets, PEER, 10);
    struct iw_link *link = requests(octets, sizeof(octets), AF_INET)->context;
    complete(&b, posted_receive(link), IBV_WC_WR_FLUSH_ERR, 0);
    assert_int_equal(b.m.counts.connected, 0);
    assert_true(link->ending);
    flush(&b, link);
    /* As many peers as are known at most: one more gets no connection. */
    link = begun();
    resolves(&b, link);
    b.m.peers_known = IW_PEERS_MOST;
    establishes(&b, link, PEER + 1, 10);
    assert_true(link->ending);
    assert_int_equal(b.m.links_up, 0);
    b.m.peers_known = 1;
}

static void a_disconnect(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 10);
    happens(&b, link->id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
    assert_int_equal(bench_polls, 1);
    assert_true(link->ending);
    assert_false(iw_link_reap(&b.m, false));
    assert_null(iw_peer_find(&b.m, PEER)->link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(credits_of_messages),      BENCH_TEST(credits_of_control),
        BENCH_TEST(credits_are_stated),       BENCH_TEST(completions),
        BENCH_TEST(what_comes_early),         BENCH_TEST(what_is_wrong),
        BENCH_TEST(an_attempt_in_time),       BENCH_TEST(silence_in_time),
        BENCH_TEST(silence_of_a_second_link), BENCH_TEST(no_memory),
        BENCH_TEST(what_fails_early),         BENCH_TEST(a_disconnect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
