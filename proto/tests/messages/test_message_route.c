/* SPDX-License-Identifier: BSD-3-Clause */
/* From a number to a peer: by a place, by where a message came from, by the resolver. */
#include "messages_bench.h"

static int send_to(struct iw_service *s, uint32_t number, uint64_t tag)
{
    const struct iovec piece = {"x", 1};
    return iw_messages_send(s, number, &piece, 1, 0, tag);
}

static void places(void **unused)
{
    (void)unused;
    assert_int_equal(iw_messages_place(&b.m, 0, (const struct sockaddr *)&b.to), -1);
    assert_int_equal(errno, EINVAL);
    static const sa_family_t others[] = {AF_UNIX, AF_INET + 1, AF_INET6 - 1, AF_INET6 + 1};
    for (size_t i = 0; i < 4; i++) {
        const struct sockaddr other = {.sa_family = others[i]};
        assert_int_equal(iw_messages_place(&b.m, 9, &other), -1);
        assert_int_equal(errno, EINVAL);
    }
    struct iw_route *r = iw_route_get(&b.m, 9);
    place(&b, 9);
    assert_true(r->placed);
    assert_memory_equal(&r->at, &b.to, sizeof(b.to));
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = 7, .sin6_scope_id = 3};
    assert_int_equal(iw_messages_place(&b.m, 9, (const struct sockaddr *)&six), 0);
    assert_memory_equal(&r->at, &six, sizeof(six));
    assert_int_equal(iw_messages_place(&b.m, 9, NULL), 0);
    assert_false(r->placed);
    assert_int_equal(r->at.ss_family, 0);
    /* Lists of 1,024. */
    struct iw_route *far = iw_route_get(&b.m, 9 + 1024);
    assert_ptr_not_equal(far, r);
    assert_ptr_equal(iw_route_get(&b.m, 9), r);
    assert_ptr_equal(far->chain, r);
    /* No message, no connection. */
    assert_int_equal(b.m.links_all, 0);
}

/* Two numbers at one place share the attempt, and then the peer; one of another place does not. */
static void at_one_place(void **unused)
{
    (void)unused;
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    place(&b, 10);
    assert_int_equal(send_to(s, 9, 1), 0);
    assert_int_equal(b.m.links_all, 1);
    assert_int_equal(send_to(s, 10, 2), 0);
    assert_int_equal(b.m.links_all, 1);
    struct iw_link *link = TAILQ_FIRST(&b.m.links);
    assert_ptr_equal(iw_route_get(&b.m, 9)->attempt, link);
    assert_ptr_equal(iw_route_get(&b.m, 10)->attempt, link);
    assert_true(iw_route_get(&b.m, 9)->listed);
    resolves(&b, link);
    establishes(&b, link, PEER, 50);
    expect_send(IW_MESSAGE_SYNC);
    const struct iw_message_header h = says(IW_MESSAGE_SYNC, 50, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.to, 9);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.to, 10);
    assert_false(iw_route_get(&b.m, 9)->listed);
    assert_null(iw_route_get(&b.m, 9)->attempt);
    place(&b, 11);
    assert_int_equal(send_to(s, 11, 3), 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.to, 11);
    assert_int_equal(b.m.links_all, 1);
    /* Another port, another host, another family. */
    struct sockaddr_in to = b.to;
    to.sin_port = htons(4001);
    assert_int_equal(iw_messages_place(&b.m, 12, (const struct sockaddr *)&to), 0);
    assert_int_equal(send_to(s, 12, 4), 0);
    assert_int_equal(b.m.links_all, 2);
    to = b.to;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    assert_int_equal(iw_messages_place(&b.m, 13, (const struct sockaddr *)&to), 0);
    assert_int_equal(send_to(s, 13, 5), 0);
    assert_int_equal(b.m.links_all, 3);
    /* What an address of the other family has in the place of this one's. */
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(4000), .sin6_flowinfo = htonl(INADDR_LOOPBACK)};
    for (uint32_t i = 0; i < 3; i++) {
        six.sin6_addr.s6_addr[15] = i == 1;
        six.sin6_port = htons(i == 2 ? 4001 : 4000);
        assert_int_equal(iw_messages_place(&b.m, 14 + i, (const struct sockaddr *)&six), 0);
        assert_int_equal(send_to(s, 14 + i, 6), 0);
        assert_int_equal(b.m.links_all, 4 + i);
        assert_int_equal(iw_messages_place(&b.m, 24 + i, (const struct sockaddr *)&six), 0);
        assert_int_equal(send_to(s, 24 + i, 6), 0);
        assert_int_equal(b.m.links_all, 4 + i);
    }
    to = b.to;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 9);
    assert_int_equal(iw_messages_place(&b.m, 40, (const struct sockaddr *)&to), 0);
    assert_int_equal(send_to(s, 40, 7), 0);
    assert_int_equal(b.m.links_all, 7);
    expect_silence();
}

/* What the old place refuses comes before what was sent since, at the new one. */
static void in_order(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    const struct iovec one = {"1", 1}, two = {"22", 2}, three = {"333", 3};
    place(&b, 9);
    assert_int_equal(iw_messages_send(s, 9, &one, 1, 0, 1), 0);
    assert_int_equal(iw_messages_send(s, 9, &two, 1, 0, 2), 0);
    expect_send(IW_MESSAGE_SHORT);
    expect_send(IW_MESSAGE_SHORT);
    complete_sends(&b);
    /* Of two the first is refused: it goes at once, since nothing is open any more. */
    struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 2);
    h.state.refused_before = 2;
    arrives(&b, link, &h, NULL, 0);
    iw_route_tick(&b.m, bench_ns);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.length, 1);
    complete_sends(&b);
    struct sockaddr_in to = b.to;
    to.sin_port = htons(4001);
    assert_int_equal(iw_messages_place(&b.m, 9, (const struct sockaddr *)&to), 0);
    assert_int_equal(iw_messages_send(s, 9, &three, 1, 0, 3), 0);
    struct iw_link *other = TAILQ_NEXT(link, entry);
    resolves(&b, other);
    establishes(&b, other, PEER + 1, 50);
    expect_send(IW_MESSAGE_SYNC);
    const struct iw_message_header sync = says(IW_MESSAGE_SYNC, 50, 0);
    arrives(&b, other, &sync, NULL, 0);
    h = says(IW_MESSAGE_STATE, 50, 3);
    h.state.refused_before = 5;
    arrives(&b, link, &h, NULL, 0);
    iw_route_tick(&b.m, bench_ns);
    const struct bench_request *r = expect_send(IW_MESSAGE_SHORT);
    assert_ptr_equal(r->id, other->id);
    assert_int_equal(r->h.length, 1);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.length, 3);
    expect_silence();
}

/* A peer that goes takes only its own routes with it. */
static void one_of_two_goes(void **unused)
{
    (void)unused;
    struct iw_link *first = synced(&b, PEER, 50), *second = synced(&b, PEER + 1, 50);
    struct iw_service *s = service(&b, 2);
    struct iw_route *r = iw_route_get(&b.m, 9), *other = iw_route_get(&b.m, 10);
    iw_route_learn(&b.m, 9, PEER);
    iw_route_learn(&b.m, 10, PEER + 1);
    assert_int_equal(send_to(s, 9, 1), 0);
    assert_int_equal(send_to(s, 10, 2), 0);
    assert_ptr_equal(expect_send(IW_MESSAGE_SHORT)->id, first->id);
    assert_ptr_equal(expect_send(IW_MESSAGE_SHORT)->id, second->id);
    iw_route_drop(&b.m, first->peer);
    assert_null(r->peer);
    assert_ptr_equal(other->peer, second->peer);
    assert_int_equal(b.m.learned[9].number, 0);
    assert_int_equal(b.m.learned[10].number, 10);
    assert_int_equal(bench_resolver.forgets, 0);
    /* All lists of the table, the first and the last one, too. */
    for (uint32_t number = IW_TABLE - 1; number <= IW_TABLE; number++) {
        iw_route_get(&b.m, number)->peer = second->peer;
        iw_route_drop(&b.m, second->peer);
        assert_null(iw_route_get(&b.m, number)->peer);
    }
    /* A process that nobody knows any more, one that is dead. */
    iw_route_learn(&b.m, 11, 0xdead);
    assert_int_equal(send_to(s, 11, 3), 0);
    struct iw_peer *dead = iw_peer_get(&b.m, PEER + 2);
    dead->dead = true;
    dead->address.ss_family = AF_INET;
    iw_route_learn(&b.m, 12, PEER + 2);
    assert_int_equal(send_to(s, 12, 4), 0);
    assert_null(iw_route_get(&b.m, 11)->peer);
    assert_null(iw_route_get(&b.m, 12)->peer);
    expect_silence();
}

/* A number whose place changes keeps its peer only if that listens there. */
static void a_place_changes(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    assert_int_equal(send_to(s, 9, 1), 0);
    expect_send(IW_MESSAGE_SHORT);
    struct iw_route *r = iw_route_get(&b.m, 9);
    assert_ptr_equal(r->peer, link->peer);
    place(&b, 9);
    assert_ptr_equal(r->peer, link->peer);
    struct sockaddr_in to = b.to;
    to.sin_port = htons(4001);
    assert_int_equal(iw_messages_place(&b.m, 9, (const struct sockaddr *)&to), 0);
    assert_null(r->peer);
    /* What is sent now waits until the old place has said what became of the first. */
    assert_int_equal(send_to(s, 9, 2), 0);
    struct iw_link *other = TAILQ_NEXT(link, entry);
    assert_ptr_not_equal(other, link);
    resolves(&b, other);
    establishes(&b, other, PEER + 1, 50);
    expect_send(IW_MESSAGE_SYNC);
    const struct iw_message_header h = says(IW_MESSAGE_SYNC, 50, 0);
    arrives(&b, other, &h, NULL, 0);
    expect_silence();
    assert_true(r->listed);
    iw_route_tick(&b.m, bench_ns + 10 * b.m.timeout); /* and does not expire meanwhile */
    expect_nothing(s);
    const struct iw_message_header done = says(IW_MESSAGE_STATE, 50, 1);
    arrives(&b, link, &done, NULL, 0);
    expect_silence();
    iw_route_tick(&b.m, bench_ns);
    const struct bench_request *sent = expect_send(IW_MESSAGE_SHORT);
    assert_ptr_equal(sent->id, other->id);
    assert_int_equal(sent->h.sequence, 1);
    assert_int_equal(iw_messages_place(&b.m, 9, NULL), 0);
    assert_null(r->peer);
}

/* An answer goes where the question came from, unless there is a key. */
static void where_it_came_from(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    message_arrives(&b, link, 1, 0, 2);
    iw_messages_free(&b.m, taken(s).data);
    b.m.trusts_senders = false;
    assert_int_equal(send_to(s, 9, 1), 0);
    expect_silence();
    b.m.trusts_senders = true;
    iw_route_tick(&b.m, bench_ns += 50 * MS);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.to, 9);
    /* 1,033 is in the same place of the table, and is another number. */
    assert_int_equal(send_to(s, 9 + 1024, 2), 0);
    expect_silence();
    iw_route_forget(&b.m, iw_route_get(&b.m, 9 + 1024), PEER);
    assert_int_equal(b.m.learned[9].number, 9);
    /* Who refuses it is not believed again. */
    complete_sends(&b);
    struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 1);
    h.state.refused_before = 1;
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(b.m.learned[9].number, 0);
    iw_route_tick(&b.m, bench_ns += 50 * MS);
    expect_silence();
    assert_int_equal(bench_resolver.forgets, 0);
    assert_int_equal(bench_resolver.finds, 0);
}

static void never_found(void **unused)
{
    (void)unused;
    struct iw_service *s = service(&b, 2);
    const uint64_t start = bench_ns;
    assert_int_equal(send_to(s, 9, 1), 0);
    assert_int_equal(bench_dues, 1);
    bench_ns += MS;
    assert_int_equal(send_to(s, 9, 2), 0);
    assert_int_equal(bench_dues, 1);
    bench_ns = start + b.m.timeout - 1;
    iw_route_tick(&b.m, bench_ns);
    expect_nothing(s);
    bench_ns++;
    iw_route_tick(&b.m, bench_ns);
    const struct iw_message got = taken(s);
    assert_int_equal(got.kind, IW_MESSAGES_UNDELIVERED);
    assert_int_equal(got.error, EHOSTUNREACH);
    assert_int_equal(got.tag, 1);
    expect_nothing(s);
    assert_true(iw_route_get(&b.m, 9)->listed);
    iw_route_tick(&b.m, bench_ns += MS);
    assert_int_equal(taken(s).tag, 2);
    assert_false(iw_route_get(&b.m, 9)->listed);
    assert_int_equal(b.m.counts.undelivered, 2);
    assert_int_equal(bench_dues, 1);
}

/* The resolver is asked every 50 ms; what it knows wrongly it is made to forget. */
static void by_the_resolver(void **unused)
{
    (void)unused;
    struct iw_service *s = service(&b, 2);
    b.m.resolver = (struct iw_resolver *)&b;
    bench_resolver.result = ETIMEDOUT;
    assert_int_equal(send_to(s, 9, 1), 0);
    assert_int_equal(bench_resolver.finds, 1);
    bench_ns += 50 * MS - 1;
    iw_route_tick(&b.m, bench_ns);
    assert_int_equal(bench_resolver.finds, 1);
    bench_ns++;
    iw_route_tick(&b.m, bench_ns);
    assert_int_equal(bench_resolver.finds, 2);
    assert_int_equal(b.m.links_all, 0);
    bench_resolver.result = 0;
    bench_resolver.instance = PEER;
    memcpy(&bench_resolver.at, &b.to, sizeof(b.to));
    iw_route_tick(&b.m, bench_ns += 50 * MS);
    assert_int_equal(b.m.links_all, 1);
    iw_route_tick(&b.m, bench_ns += 50 * MS);
    assert_int_equal(bench_resolver.finds, 3);
    struct iw_link *link = TAILQ_FIRST(&b.m.links);
    happens(&b, link->id, RDMA_CM_EVENT_REJECTED, 0, NULL, 0);
    flush(&b, link);
    assert_int_equal(bench_resolver.forgets, 1);
    assert_int_equal(bench_resolver.forgotten, 9);
    assert_int_equal(bench_resolver.forgotten_instance, PEER);
    /* A process that is connected is taken wherever it is said to be. */
    link = synced(&b, PEER, 50);
    bench_resolver.at.ss_family = AF_UNIX;
    iw_route_tick(&b.m, bench_ns += 50 * MS);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.to, 9);
    assert_int_equal(b.m.links_all, 1);
    /* It does not have the number: the resolver is asked again. */
    complete_sends(&b);
    struct iw_message_header h = says(IW_MESSAGE_STATE, 50, 1);
    h.state.refused_before = 1;
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(bench_resolver.forgets, 2);
    assert_int_equal(bench_resolver.forgotten_instance, PEER);
    /* A place is not the resolver's affair. */
    const unsigned finds = bench_resolver.finds;
    place(&b, 9);
    assert_int_equal(bench_resolver.finds, finds);
    expect_send(IW_MESSAGE_SHORT);
    struct sockaddr_in to = b.to;
    to.sin_port = htons(4001);
    assert_int_equal(iw_messages_place(&b.m, 10, (const struct sockaddr *)&to), 0);
    assert_int_equal(send_to(s, 10, 2), 0);
    assert_int_equal(bench_resolver.finds, finds);
    assert_int_equal(b.m.links_all, 2);
    /* An attempt that finds a peer says nothing against it. */
    bench_resolver.instance = PEER + 1;
    to.sin_port = htons(4002);
    memcpy(&bench_resolver.at, &to, sizeof(to));
    assert_int_equal(send_to(s, 11, 3), 0);
    struct iw_link *third = TAILQ_NEXT(TAILQ_NEXT(link, entry), entry);
    resolves(&b, third);
    establishes(&b, third, PEER + 1, 50);
    assert_int_equal(bench_resolver.forgets, 2);
    b.m.resolver = NULL;
}

/* What is longer than the peer takes does not go there. */
static void too_long(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 50);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    const struct iovec three = {"abc", 3}, four = {"abcd", 4};
    link->peer->longest = 3;
    assert_int_equal(iw_messages_send(s, 9, &four, 1, 0, 7), 0);
    const struct iw_message got = taken(s);
    assert_int_equal(got.kind, IW_MESSAGES_UNDELIVERED);
    assert_int_equal(got.error, EMSGSIZE);
    assert_int_equal(got.tag, 7);
    expect_silence();
    assert_int_equal(iw_messages_send(s, 9, &three, 1, 0, 8), 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.length, 3);
    link->peer->longest = 0; /* it does not say */
    assert_int_equal(iw_messages_send(s, 9, &four, 1, 0, 9), 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 2);
    assert_int_equal(iw_route_get(&b.m, 9)->open, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(places),          BENCH_TEST(at_one_place),    BENCH_TEST(in_order),
        BENCH_TEST(one_of_two_goes), BENCH_TEST(a_place_changes), BENCH_TEST(where_it_came_from),
        BENCH_TEST(never_found),     BENCH_TEST(by_the_resolver), BENCH_TEST(too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
