/* SPDX-License-Identifier: BSD-3-Clause */
/* Another process: the window of what it is sent, what it says of it, what comes from it, and what
 * becomes of both when connections come and go. */
#include "messages_bench.h"

static void state_arrives(struct iw_link *link, struct iw_message_state state)
{
    struct iw_message_header h = says(IW_MESSAGE_STATE, link->may_send, 0);
    h.state = state;
    arrives(&b, link, &h, NULL, 0);
}

static void expect_report(struct iw_service *s, enum iw_messages_kind kind, int error, uint64_t tag)
{
    const struct iw_message got = taken(s);
    assert_int_equal(got.kind, kind);
    assert_int_equal(got.error, error);
    assert_int_equal(got.tag, tag);
    assert_int_equal(got.number, 9);
    assert_int_equal(got.length, 1);
    assert_null(got.data);
}

static void take_one(struct iw_service *s, uint8_t octet)
{
    const struct iw_message got = taken(s);
    assert_int_equal(got.kind, IW_MESSAGES_MESSAGE);
    assert_int_equal(got.number, 9);
    assert_int_equal(got.length, 1);
    assert_int_equal(*(const uint8_t *)got.data, octet);
    iw_messages_free(&b.m, got.data);
}

/* The peer's second connection, its SYNC of `came` messages included. */
static struct iw_link *again(uint64_t came)
{
    struct iw_link *link = TAILQ_FIRST(&b.m.links);
    assert_int_equal(link->state, IW_LINK_BEGUN);
    resolves(&b, link);
    establishes(&b, link, PEER, 100);
    expect_send(IW_MESSAGE_SYNC);
    struct iw_message_header h = says(IW_MESSAGE_SYNC, 100, link->peer->heard.base);
    h.sequence = came;
    arrives(&b, link, &h, NULL, 0);
    assert_true(link->synced);
    return link;
}

/* ---- out ---- */

static void a_window(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 190);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    for (uint64_t i = 1; i <= 67; i++)
        assert_int_equal(send_one(s, 0, i), 0);
    for (uint64_t i = 1; i <= 64; i++) {
        const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
        assert_int_equal(r->h.sequence, i);
        /* The last one that fits asks for an answer. */
        assert_int_equal(r->h.flags, i == 64 ? IW_MESSAGE_ASK : 0);
    }
    expect_silence();
    assert_int_equal(b.m.counts.sent, 64);
    assert_int_equal(b.m.counts.sent_octets, 64);
    complete_sends(&b);
    /* The third is done with: that makes no room. */
    state_arrives(link, (struct iw_message_state){.ahead = 4});
    assert_int_equal(b.m.counts.delivered, 1);
    expect_silence();
    state_arrives(link, (struct iw_message_state){.base = 1});
    assert_int_equal(b.m.counts.delivered, 2);
    const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
    assert_int_equal(r->h.sequence, 65);
    assert_int_equal(r->h.flags, IW_MESSAGE_ASK);
    expect_silence();
    /* What is older than that says nothing; two halves of the truth are both true. */
    state_arrives(link, (struct iw_message_state){.ahead = 0x10});
    assert_int_equal(b.m.counts.delivered, 2);
    state_arrives(link, (struct iw_message_state){.base = 1, .ahead = 0x10});
    assert_int_equal(b.m.counts.delivered, 3); /* 6 */
    state_arrives(link, (struct iw_message_state){.base = 1, .ahead = 0x20});
    assert_int_equal(b.m.counts.delivered, 4); /* 7 */
    assert_int_equal(link->peer->heard.ahead, 0x30);
    state_arrives(link, (struct iw_message_state){.base = 3});
    assert_int_equal(b.m.counts.delivered, 5); /* 2; 3 before */
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 66);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 67);
    state_arrives(link, (struct iw_message_state){.base = 67});
    assert_int_equal(b.m.counts.delivered, 67);
    assert_int_equal(b.m.counts.undelivered, 0);
    assert_true(TAILQ_EMPTY(&link->peer->window));
    assert_int_equal(s->open, 0);
    assert_int_equal(s->held, 0);
    expect_nothing(s);
    complete_sends(&b);
}

static void a_delivery_that_is_reported(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    assert_int_equal(send_one(s, IW_MESSAGES_NOTIFY, 71), 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.flags, IW_MESSAGE_ASK);
    state_arrives(link, (struct iw_message_state){.base = 1});
    assert_int_equal(s->open, 0);
    assert_int_equal(s->held, 1);
    expect_report(s, IW_MESSAGES_DELIVERED, 0, 71);
    assert_int_equal(s->held, 0);
    complete_sends(&b);
    /* A service that is shut gets no report, nor does the next one of its number. */
    assert_int_equal(send_one(s, IW_MESSAGES_NOTIFY, 72), 0);
    iw_messages_shut(s);
    s = service(&b, 2);
    expect_send(IW_MESSAGE_SHORT);
    complete_sends(&b);
    state_arrives(link, (struct iw_message_state){.base = 2});
    expect_nothing(s);
    assert_int_equal(s->open, 0);
    assert_int_equal(b.m.counts.delivered, 2);
}

/* What a process refuses goes to whoever has the number, after a while, until it has expired. */
static void a_refusal(void **unused)
{
    (void)unused;
    const uint64_t start = bench_ns;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    assert_int_equal(send_one(s, 0, 81), 0);
    expect_send(IW_MESSAGE_SHORT);
    complete_sends(&b);
    bench_ns = start + 1000 * UINT64_C(1000000);
    state_arrives(link, (struct iw_message_state){.base = 1, .refused_before = 1});
    assert_int_equal(b.m.counts.delivered, 0);
    expect_silence();
    iw_route_tick(&b.m, bench_ns += 50 * MS - 1);
    expect_silence();
    bench_ns += 1;
    iw_route_tick(&b.m, bench_ns);
    const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
    assert_int_equal(r->h.sequence, 2);
    complete_sends(&b);
    /* Refused again in the last moment: five seconds after the first refusal it has expired. */
    bench_ns = start + 6000 * UINT64_C(1000000) - 1;
    state_arrives(link, (struct iw_message_state){.base = 2, .refused_before = 3});
    iw_route_tick(&b.m, bench_ns);
    expect_nothing(s);
    bench_ns++;
    iw_route_tick(&b.m, bench_ns);
    expect_report(s, IW_MESSAGES_UNDELIVERED, EHOSTUNREACH, 81);
    assert_int_equal(b.m.counts.undelivered, 1);
    /* One that waits for its turn among those that are done with, by bits ahead. */
    iw_route_tick(&b.m, bench_ns += 50 * MS);
    assert_int_equal(send_one(s, 0, 83), 0);
    assert_int_equal(send_one(s, 0, 84), 0);
    expect_send(IW_MESSAGE_SHORT);
    expect_send(IW_MESSAGE_SHORT);
    complete_sends(&b);
    state_arrives(link, (struct iw_message_state){.base = 2, .ahead = 2, .refused_after = 2});
    assert_int_equal(TAILQ_FIRST(&link->peer->window)->tag, 83);
    assert_null(TAILQ_NEXT(TAILQ_FIRST(&link->peer->window), entry));
    assert_int_equal(TAILQ_FIRST(&b.m.unrouted)->number, 9);
}

/* ---- in ---- */

static void messages_come(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    message_arrives(&b, link, 1, 0, 2);
    message_arrives(&b, link, 2, IW_MESSAGE_ASK, 2);
    expect_silence();
    assert_int_equal(link->peer->arrived, 2);
    const unsigned dues = bench_dues + 1;
    take_one(s, 1);
    expect_silence();
    assert_int_equal(link->peer->owed, 1);
    assert_int_equal(bench_dues, dues);
    take_one(s, 2);
    const struct bench_request *r = expect_send(IW_MESSAGE_STATE);
    assert_int_equal(r->h.state.base, 2);
    assert_int_equal(r->h.state.ahead, 0);
    assert_int_equal(link->peer->owed, 0);
    assert_int_equal(bench_dues, dues);
    assert_int_equal(link->peer->arrived, 0);
    assert_int_equal(b.m.counts.received, 2);
    assert_int_equal(b.m.counts.received_octets, 2);
    expect_nothing(s);
    /* They come again: dropped, and answered if that is asked. */
    message_arrives(&b, link, 1, 0, 2);
    expect_silence();
    message_arrives(&b, link, 2, IW_MESSAGE_ASK, 2);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.state.base, 2);
    assert_int_equal(b.m.counts.repeated, 2);
    expect_nothing(s);
    /* A STATE that asks is answered, one that does not is not. */
    struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 0);
    arrives(&b, link, &h, NULL, 0);
    expect_silence();
    h.flags = IW_MESSAGE_ASK;
    arrives(&b, link, &h, NULL, 0);
    expect_send(IW_MESSAGE_STATE);
    expect_silence();
    assert_false(link->ending);
}

static void messages_for_nobody(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    message_arrives(&b, link, 1, 0, 3);
    const struct bench_request *r = expect_send(IW_MESSAGE_STATE);
    assert_int_equal(r->h.state.base, 1);
    assert_int_equal(r->h.state.refused_before, 1);
    /* A service that ends refuses what it has not taken. */
    struct iw_service *s = service(&b, 3);
    message_arrives(&b, link, 2, 0, 3);
    expect_silence();
    iw_messages_shut(s);
    r = expect_send(IW_MESSAGE_STATE);
    assert_int_equal(r->h.state.base, 2);
    assert_int_equal(r->h.state.refused_before, 3);
    expect_silence();
}

/* Sixteen messages done with are worth a STATE of their own; fewer wait for a tick. */
static void an_answer_is_due(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    for (uint8_t i = 1; i <= 17; i++)
        message_arrives(&b, link, i, 0, 2);
    for (uint8_t i = 1; i <= 15; i++)
        take_one(s, i);
    expect_silence();
    take_one(s, 16);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.state.base, 16);
    take_one(s, 17);
    expect_silence();
    iw_peer_tick(&b.m, bench_ns);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.state.base, 17);
    iw_peer_tick(&b.m, bench_ns);
    expect_silence();
}

/* 64 that are not taken, and no more. */
static void a_window_that_is_overrun(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    for (uint8_t i = 1; i <= 64; i++)
        message_arrives(&b, link, i, 0, 2);
    assert_false(link->ending);
    while (next_send() != NULL)
        ;
    message_arrives(&b, link, 65, 0, 2);
    assert_true(link->ending);
    assert_true(link->wrong);
    for (uint8_t i = 1; i <= 64; i++)
        take_one(s, i);
    expect_nothing(s);
}

/* ---- connections come and go ---- */

static void a_link_is_lost(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(send_one(s, IW_MESSAGES_NOTIFY, i), 0);
    for (int i = 0; i < 3; i++)
        expect_send(IW_MESSAGE_SHORT);
    struct iw_peer *p = link->peer;
    flush(&b, link);
    assert_null(p->link);
    assert_int_equal(p->lost, bench_ns);
    assert_int_equal(b.m.links_up, 0);
    assert_int_equal(send_one(s, 0, 4), 0);
    /* The first tick connects anew; a second one waits for that. */
    iw_peer_tick(&b.m, bench_ns);
    assert_int_equal(b.m.links_all, 1);
    assert_non_null(p->attempt);
    iw_peer_tick(&b.m, bench_ns + 1000 * MS);
    assert_int_equal(b.m.links_all, 1);
    /* The peer has the first and the second, and has taken the first. */
    struct iw_link *other = p->attempt;
    resolves(&b, other);
    establishes(&b, other, PEER, 50);
    expect_send(IW_MESSAGE_SYNC);
    assert_null(p->attempt);
    assert_ptr_equal(p->link, other);
    expect_silence();
    struct iw_message_header h = says(IW_MESSAGE_SYNC, 50, 1);
    h.sequence = 2;
    arrives(&b, other, &h, NULL, 0);
    const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
    assert_int_equal(r->h.sequence, 3);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 4);
    expect_silence();
    expect_report(s, IW_MESSAGES_DELIVERED, 0, 1);
    expect_nothing(s);
    assert_int_equal(b.m.counts.sent, 5);
}

/* A message whose first Send is still under way on the old connection waits for its end. */
static void a_message_is_still_under_way(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    assert_int_equal(send_one(s, 0, 1), 0);
    struct bench_request *first = expect_send(IW_MESSAGE_SHORT);
    struct iw_peer *p = link->peer;
    iw_link_end(link);
    iw_link_reap(&b.m, false);
    assert_int_equal(b.m.links_all, 1);
    iw_peer_tick(&b.m, bench_ns);
    resolves(&b, p->attempt);
    establishes(&b, p->attempt, PEER, 50);
    expect_send(IW_MESSAGE_SYNC);
    const struct iw_message_header h = says(IW_MESSAGE_SYNC, 50, 0);
    arrives(&b, p->link, &h, NULL, 0);
    expect_silence();
    complete(&b, first, IBV_WC_WR_FLUSH_ERR, 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 1);
    assert_ptr_equal(bench_sends[bench_sent - 1].id, p->link->id);
    expect_silence();
}

/* Of two connections the messages leave by the first, until that ends. */
static void two_links(void **unused)
{
    (void)unused;
    struct iw_link *first = synced(&b, PEER, 50);
    struct iw_link *second = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    struct iw_peer *p = first->peer;
    assert_ptr_equal(second->peer, p);
    assert_ptr_equal(p->link, first);
    assert_int_equal(send_one(s, 0, 1), 0);
    assert_ptr_equal(expect_send(IW_MESSAGE_SHORT)->id, first->id);
    flush(&b, first);
    assert_ptr_equal(p->link, second);
    const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
    assert_ptr_equal(r->id, second->id);
    assert_int_equal(r->h.sequence, 1);
    expect_silence();
    iw_peer_tick(&b.m, bench_ns);
    assert_int_equal(b.m.links_all, 1);
}

/* A process that is not there again within the time-out is given up. */
static void a_peer_dies(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    for (uint64_t i = 1; i <= 65; i++)
        assert_int_equal(send_one(s, 0, i), 0);
    unsigned sent = 0;
    while (next_send() != NULL)
        sent++;
    assert_int_equal(sent, 45); /* 50 credits, of which one was the SYNC's and four are kept */
    struct iw_peer *p = link->peer;
    const uint64_t lost = bench_ns;
    flush(&b, link);
    for (int i = 0; i < 2; i++) { /* it is there, but has no room */
        iw_peer_tick(&b.m, bench_ns);
        assert_non_null(p->attempt);
        struct iw_link *attempt = p->attempt;
        happens(&b, attempt->id, RDMA_CM_EVENT_REJECTED, 0, "\1", 1);
        flush(&b, attempt);
        assert_null(p->attempt);
        assert_false(p->dead);
        iw_peer_tick(&b.m, bench_ns + 100 * MS - 1);
        assert_null(p->attempt);
        bench_ns += 100 * MS;
    }
    bench_ns = lost + b.m.timeout;
    iw_peer_tick(&b.m, bench_ns);
    assert_false(p->dead);
    struct iw_link *attempt = p->attempt;
    assert_non_null(attempt);
    happens(&b, attempt->id, RDMA_CM_EVENT_REJECTED, 0, "\1", 1);
    flush(&b, attempt);
    assert_false(p->dead);
    bench_ns += 100 * MS;
    iw_peer_tick(&b.m, bench_ns);
    assert_true(p->dead);
    assert_false(p->gone);
    /* What it had been sent is in doubt; the rest goes to whoever has the number. */
    for (uint64_t i = 1; i <= 45; i++)
        expect_report(s, IW_MESSAGES_UNDELIVERED, ECONNRESET, i);
    expect_nothing(s);
    const struct iw_route *r = iw_route_get(&b.m, 9);
    assert_null(r->peer);
    assert_true(r->listed);
    assert_int_equal(TAILQ_FIRST(&r->queue)->tag, 46);
    assert_int_equal(TAILQ_LAST(&r->queue, iw_outgoings)->tag, 65);
    assert_int_equal(TAILQ_LAST(&r->queue, iw_outgoings)->deadline, bench_ns + b.m.timeout);
    assert_int_equal(r->open, 0);
    /* One that may come back is known for ten minutes after it was last heard. */
    p->used = bench_ns;
    iw_peer_tick(&b.m, bench_ns + IW_PEER_KEEP_S * UINT64_C(1000000000));
    assert_ptr_equal(iw_peer_find(&b.m, PEER), p);
    iw_peer_tick(&b.m, bench_ns + IW_PEER_KEEP_S * UINT64_C(1000000000) + 1);
    assert_null(iw_peer_find(&b.m, PEER));
    assert_int_equal(b.m.peers_known, 0);
}

/* Nobody listens where the process did: it is gone at once, and forgotten. */
static void a_peer_is_gone(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    assert_int_equal(send_one(s, 0, 1), 0);
    expect_send(IW_MESSAGE_SHORT);
    struct iw_peer *p = link->peer;
    flush(&b, link);
    iw_peer_tick(&b.m, bench_ns);
    struct iw_link *attempt = p->attempt;
    happens(&b, attempt->id, RDMA_CM_EVENT_REJECTED, 0, NULL, 0);
    flush(&b, attempt);
    assert_true(p->dead && p->gone);
    expect_report(s, IW_MESSAGES_UNDELIVERED, ECONNRESET, 1);
    iw_peer_tick(&b.m, bench_ns);
    assert_null(iw_peer_find(&b.m, PEER));
}

/* Another process listens there. */
static void a_peer_is_another(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    assert_int_equal(send_one(s, 0, 1), 0);
    expect_send(IW_MESSAGE_SHORT);
    struct iw_peer *p = link->peer;
    flush(&b, link);
    iw_peer_tick(&b.m, bench_ns);
    struct iw_link *attempt = p->attempt;
    resolves(&b, attempt);
    establishes(&b, attempt, PEER + 1, 50);
    assert_true(p->dead && p->gone);
    assert_ptr_equal(attempt->peer, iw_peer_find(&b.m, PEER + 1));
    expect_send(IW_MESSAGE_SYNC);
    expect_report(s, IW_MESSAGES_UNDELIVERED, ECONNRESET, 1);
}

/* Ten minutes, counted from the last message; not while anything of it is left. */
static void a_peer_is_kept(void **unused)
{
    (void)unused;
    const uint64_t keep = IW_PEER_KEEP_S * UINT64_C(1000000000);
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    struct iw_peer *p = link->peer;
    iw_peer_get(&b.m, PEER + 1)->next = 2; /* new, idle, and sent a message */
    iw_peer_get(&b.m, PEER + 2);           /* a stranger */
    iw_peer_tick(&b.m, bench_ns);
    assert_non_null(iw_peer_find(&b.m, PEER + 1));
    assert_null(iw_peer_find(&b.m, PEER + 2));
    message_arrives(&b, link, 1, 0, 2);
    bench_ns += 2 * keep;
    iw_peer_tick(&b.m, bench_ns);
    flush(&b, link);
    iw_peer_tick(&b.m, bench_ns);
    assert_ptr_equal(iw_peer_find(&b.m, PEER), p); /* a message of it is not taken */
    take_one(s, 1);
    assert_int_equal(p->used, bench_ns);
    iw_peer_tick(&b.m, bench_ns + keep);
    assert_ptr_equal(iw_peer_find(&b.m, PEER), p);
    assert_int_equal(b.m.links_all, 0); /* nobody connects for nothing */
    assert_false(p->dead);
    /* Its messages go on where they were. */
    p->taken.came = 1;
    struct sockaddr_storage to = {0};
    memcpy(&to, &b.to, sizeof(b.to));
    assert_non_null(iw_link_connect(&b.m, &to));
    link = again(0);
    assert_int_equal(bench_sends[bench_sent - 1].h.sequence, 1);
    assert_int_equal(bench_sends[bench_sent - 1].h.state.base, 1);
}

/* One that is forgotten is nobody's peer any more. */
static void a_peer_is_forgotten(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    assert_int_equal(send_one(s, 0, 1), 0);
    expect_send(IW_MESSAGE_SHORT);
    complete_sends(&b);
    state_arrives(link, (struct iw_message_state){.base = 1});
    struct iw_route *r = iw_route_get(&b.m, 9);
    assert_ptr_equal(r->peer, link->peer);
    struct iw_peer *far = iw_peer_get(&b.m, PEER + IW_TABLE);
    assert_ptr_equal(far->chain, link->peer); /* of the same list */
    far->next = 2;                            /* it was sent a message once */
    far->used = UINT64_MAX;
    flush(&b, link);
    iw_peer_tick(&b.m, bench_ns + IW_PEER_KEEP_S * UINT64_C(1000000000) + 1);
    assert_null(iw_peer_find(&b.m, PEER));
    assert_ptr_equal(iw_peer_find(&b.m, PEER + IW_TABLE), far);
    assert_null(r->peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(a_window),
        BENCH_TEST(a_delivery_that_is_reported),
        BENCH_TEST(a_refusal),
        BENCH_TEST(messages_come),
        BENCH_TEST(messages_for_nobody),
        BENCH_TEST(an_answer_is_due),
        BENCH_TEST(a_window_that_is_overrun),
        BENCH_TEST(a_link_is_lost),
        BENCH_TEST(a_message_is_still_under_way),
        BENCH_TEST(two_links),
        BENCH_TEST(a_peer_dies),
        BENCH_TEST(a_peer_is_gone),
        BENCH_TEST(a_peer_is_another),
        BENCH_TEST(a_peer_is_kept),
        BENCH_TEST(a_peer_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
