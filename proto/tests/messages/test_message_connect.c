/* SPDX-License-Identifier: BSD-3-Clause */
/* How a connection begins, is refused, and is dropped for another. */
#include "messages_bench.h"

static const uint8_t own_greeting[IW_MESSAGE_GREETING] = {
    'i', 'w',  'm', 's', 1, 0,  0,    0, 0, 0, 0,    0,    0, 0,
    0,   0x77, 0,   0,   0, 96, 0x02, 0, 0, 0, 0x12, 0x34, 0, 0};

static void a_connect(void **unused)
{
    (void)unused;
    struct iw_link *link = begun();
    assert_non_null(link);
    assert_int_equal(link->state, IW_LINK_BEGUN);
    assert_int_equal(b.m.links_all, 1);
    assert_int_equal(bench_timeout, 5000);
    assert_int_equal(bench_dues, 1);
    bench_timeout = 0;
    resolves(&b, link);
    assert_int_equal(bench_timeout, 5000);
    assert_int_equal(bench_attr.cap.max_send_wr, 192);
    assert_int_equal(bench_attr.cap.max_recv_wr, 96);
    assert_int_equal(bench_attr.cap.max_send_sge, 1);
    assert_int_equal(bench_attr.cap.max_recv_sge, 1);
    assert_int_equal(bench_attr.qp_type, IBV_QPT_RC);
    assert_int_equal(bench_attr.sq_sig_all, 1);
    assert_int_equal(bench_received, 96);
    for (unsigned i = 0; i < 96; i++)
        assert_int_equal(bench_receives[i].length, 64 + 4096);
    assert_int_equal(bench_calls[CONNECT], 1);
    assert_int_equal(bench_param.private_data_len, 28);
    assert_memory_equal(bench_private, own_greeting, 28);
    assert_int_equal(bench_param.responder_resources, 16);
    assert_int_equal(bench_param.initiator_depth, 16);
    assert_int_equal(bench_param.retry_count, 7);
    assert_int_equal(bench_param.rnr_retry_count, 7);
    assert_int_equal(b.m.links_up, 0);
    establishes(&b, link, PEER, 10);
    assert_int_equal(b.m.links_up, 1);
    assert_int_equal(b.m.counts.connected, 1);
    assert_int_equal(link->may_send, 10);
    struct iw_peer *p = iw_peer_find(&b.m, PEER);
    assert_non_null(p);
    assert_ptr_equal(link->peer, p);
    assert_ptr_equal(p->link, link);
    assert_int_equal(p->longest, 1 << 30);
    assert_memory_equal(&p->address, &b.to, sizeof(b.to));
    const struct bench_request *r = expect_send(IW_MESSAGE_SYNC);
    assert_int_equal(r->length, 64);
    assert_int_equal(r->h.grants, 96);
    assert_int_equal(r->h.sequence, 0);
    assert_int_equal(r->h.flags, 0);
    expect_silence();
    /* An event that comes twice, or too late, changes nothing. */
    establishes(&b, link, PEER, 20);
    assert_int_equal(link->may_send, 10);
    assert_int_equal(b.m.links_up, 1);
}

/* The longest message that is taken: half the pool, at most 1 GiB. */
static void a_greeting_and_the_pool(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t pool;
        uint8_t longest[4];
    } rows[] = {{UINT64_C(2) << 30, {0x40, 0, 0, 0}},
                {(UINT64_C(2) << 30) - 2, {0x3f, 0xff, 0xff, 0xff}},
                {UINT64_C(8) << 30, {0x40, 0, 0, 0}}};
    for (size_t i = 0; i < 3; i++) {
        b.m.pool.most = rows[i].pool;
        struct iw_link *link = begun();
        resolves(&b, link);
        assert_memory_equal(bench_private + 20, rows[i].longest, 4);
        flush(&b, link);
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&b.m.address;
    memset(six, 0, sizeof(*six));
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(0x5678);
    struct iw_link *link = begun();
    resolves(&b, link);
    assert_int_equal(bench_private[24], 0x56);
    assert_int_equal(bench_private[25], 0x78);
    flush(&b, link);
}

static void a_connect_that_fails(void **unused)
{
    (void)unused;
    bench_fails = CREATE_ID;
    assert_null(begun());
    assert_int_equal(bench_ids_destroyed, 0);
    bench_fails = RESOLVE_ADDR;
    assert_null(begun());
    assert_int_equal(bench_ids_destroyed, 1);
    assert_int_equal(b.m.links_all, 0);
    assert_true(TAILQ_EMPTY(&b.m.links));
    static const enum bench_call later[] = {RESOLVE_ROUTE, CREATE_QP, CONNECT};
    for (size_t i = 0; i < 3; i++) {
        struct iw_link *link = begun();
        assert_non_null(link);
        bench_fails = later[i];
        link->id->verbs = b.pd.context;
        happens(&b, link->id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
        if (i > 0)
            happens(&b, link->id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
        assert_int_equal(bench_fails, NONE);
        assert_true(link->ending);
        assert_true(b.m.ending);
        flush(&b, link);
        assert_false(b.m.ending);
        assert_int_equal(b.m.links_all, 0);
    }
    assert_int_equal(bench_ids_destroyed, 4);
    assert_int_equal(bench_qps_destroyed, 1);
    /* Another device than ours: no queue pair there. */
    struct iw_link *link = begun();
    struct ibv_context other = {0};
    link->id->verbs = &other;
    happens(&b, link->id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
    assert_true(link->ending);
    assert_null(link->id->qp);
    flush(&b, link);
    /* A receive that cannot be posted. */
    for (unsigned left = 0; left < 96; left += 95) {
        link = begun();
        bench_receives_left = left;
        resolves(&b, link);
        assert_true(link->ending);
        assert_int_equal(link->receives, left);
        bench_receives_left = UINT32_MAX;
        flush(&b, link);
    }
    assert_int_equal(bench_calls[CONNECT], 1);
    /* A greeting that is none, from a peer that accepts. */
    link = begun();
    resolves(&b, link);
    happens(&b, link->id, RDMA_CM_EVENT_ESTABLISHED, 0, "iwms", 4);
    assert_true(link->ending);
    flush(&b, link);
    /* One that grants no receive for the SYNC, or more than two windows of them. */
    static const uint32_t grants[] = {0, 193, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        link = begun();
        resolves(&b, link);
        establishes(&b, link, PEER, grants[i]);
        assert_true(link->ending);
        expect_silence();
        flush(&b, link);
    }
    assert_int_equal(b.m.links_up, 0);
}

/* Only a refusal by nobody in particular says that the process is gone. */
static void a_refusal(void **unused)
{
    (void)unused;
    static const struct {
        enum rdma_cm_event_type kind;
        int status;
        uint8_t length;
        bool refused;
    } rows[] = {{RDMA_CM_EVENT_REJECTED, 0, 0, true},
                {RDMA_CM_EVENT_REJECTED, 28, 1, false},
                {RDMA_CM_EVENT_UNREACHABLE, -ECONNREFUSED, 0, true},
                {RDMA_CM_EVENT_UNREACHABLE, ECONNREFUSED, 0, true},
                {RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, 0, false},
                {RDMA_CM_EVENT_UNREACHABLE, ECONNREFUSED + 1, 0, false},
                {RDMA_CM_EVENT_CONNECT_ERROR, -ECONNREFUSED, 0, true},
                {RDMA_CM_EVENT_CONNECT_ERROR, ECONNREFUSED - 1, 0, false},
                {RDMA_CM_EVENT_CONNECT_ERROR, -ECONNREFUSED - 1, 0, false},
                {RDMA_CM_EVENT_CONNECT_ERROR, 1 - ECONNREFUSED, 0, false},
                {RDMA_CM_EVENT_ADDR_ERROR, -ECONNREFUSED, 0, false},
                {RDMA_CM_EVENT_ROUTE_ERROR, -ECONNREFUSED, 0, false},
                {RDMA_CM_EVENT_DEVICE_REMOVAL, 0, 0, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct iw_link *link = begun();
        resolves(&b, link);
        happens(&b, link->id, rows[i].kind, rows[i].status, rows[i].length > 0 ? "\1" : NULL,
                rows[i].length);
        assert_true(link->ending);
        if (link->refused != rows[i].refused)
            fail_msg("row %zu", i);
        flush(&b, link);
    }
    /* What says nothing about a connection. */
    struct iw_link *link = begun();
    resolves(&b, link);
    happens(&b, link->id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, 0);
    assert_false(link->ending);
    /* A listener has no link. */
    struct rdma_cm_id listener = {0};
    happens(&b, &listener, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
    assert_false(iw_link_event(&b.m));
}

static void a_request(void **unused)
{
    (void)unused;
    uint8_t octets[IW_MESSAGE_GREETING];
    greeting_of(octets, PEER, 10);
    requests(octets, sizeof(octets), AF_INET);
    struct iw_link *link = TAILQ_FIRST(&b.m.links);
    assert_non_null(link);
    assert_int_equal(link->state, IW_LINK_ACCEPTED);
    assert_int_equal(bench_calls[ACCEPT], 1);
    assert_memory_equal(bench_private, own_greeting, 28);
    assert_int_equal(bench_received, 96);
    /* It listens where it says, not where it connects from. */
    assert_memory_equal(&link->to, &b.to, sizeof(b.to));
    assert_int_equal(b.m.links_up, 0);
    expect_silence();
    /* The peer's SYNC can come before the event that the connection is made. */
    const struct iw_message_header h = says(IW_MESSAGE_SYNC, 10, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(link->state, IW_LINK_UP);
    assert_true(link->synced);
    expect_send(IW_MESSAGE_SYNC);
    happens(&b, link->id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
    assert_int_equal(b.m.counts.connected, 1);
    /* The event first, without a greeting, from another process. */
    greeting_of(octets, PEER + 1, 10);
    struct rdma_cm_id *id = requests(octets, sizeof(octets), AF_INET6);
    happens(&b, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
    assert_int_equal(b.m.links_up, 2);
    const struct iw_peer *p = iw_peer_find(&b.m, PEER + 1);
    const struct sockaddr_in6 *at = (const struct sockaddr_in6 *)&p->address;
    assert_int_equal(at->sin6_family, AF_INET6);
    assert_int_equal(at->sin6_port, htons(4000));
    assert_int_equal(at->sin6_addr.s6_addr[15], 1);
    assert_int_equal(bench_rejects, 0);
}

static void a_request_refused(void **unused)
{
    (void)unused;
    uint8_t octets[IW_MESSAGE_GREETING];
    greeting_of(octets, PEER, 10);
    requests(octets, sizeof(octets) - 1, AF_INET);
    greeting_of(octets, PEER, 0);
    requests(octets, sizeof(octets), AF_INET);
    greeting_of(octets, PEER, 193);
    requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 3);
    bench_rejects = 1;
    bench_ids_destroyed -= 2;
    greeting_of(octets, PEER, 192);
    assert_int_equal(bench_reason_length, 1);
    assert_int_equal(bench_reason[0], 1);
    assert_int_equal(bench_ids_destroyed, 1);
    b.m.closing = true;
    requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 2);
    b.m.closing = false;
    b.m.peers_known = IW_PEERS_MOST;
    requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 3);
    b.m.peers_known = IW_PEERS_MOST - 1;
    requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 3);
    assert_int_equal(b.m.peers_known, IW_PEERS_MOST);
    b.m.peers_known = 1;
    assert_int_equal(b.m.links_all, 1);
    bench_fails = CREATE_QP;
    struct rdma_cm_id *id = requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 4);
    struct iw_link *link = id->context;
    assert_true(link->ending);
    bench_fails = ACCEPT;
    id = requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 4);
    link = id->context;
    assert_true(link->ending);
}

/* Sixteen connections beside the bound may begin or end. */
static void a_bound_of_connections(void **unused)
{
    (void)unused;
    b.m.connections = 1;
    for (unsigned i = 0; i < 17; i++)
        assert_non_null(begun());
    assert_null(begun());
    assert_int_equal(b.m.links_all, 17);
    uint8_t octets[IW_MESSAGE_GREETING];
    greeting_of(octets, PEER, 10);
    requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 1);
    flush(&b, TAILQ_FIRST(&b.m.links));
    requests(octets, sizeof(octets), AF_INET);
    assert_int_equal(bench_rejects, 1);
    assert_int_equal(b.m.links_all, 17);
}

/* Of the connections that are up, the one that was used longest ago ends; idle ones first. */
static void a_drop(void **unused)
{
    (void)unused;
    b.m.connections = 3;
    struct iw_link *links[6];
    struct iw_service *s = service(&b, 2);
    for (unsigned i = 0; i < 3; i++) {
        bench_ns += MS;
        links[i] = synced(&b, PEER + i, 10);
    }
    assert_int_equal(b.m.counts.dropped, 0);
    /* The oldest one owes an answer, the next one has a message under way. */
    bench_ns += MS;
    links[0]->peer->owed = 1;
    place(&b, 9);
    for (struct iw_route *r = b.m.routes[9]; r != NULL; r = r->chain)
        r->peer = links[1]->peer;
    assert_int_equal(send_one(s, 0, 0), 0);
    expect_send(IW_MESSAGE_SHORT);
    bench_ns += MS;
    links[2]->used = bench_ns;
    links[3] = connected(&b, PEER + 3, 10);
    assert_int_equal(b.m.counts.dropped, 1);
    assert_true(links[2]->ending);
    assert_false(links[0]->ending || links[1]->ending || links[3]->ending);
    /* Of two that are idle the one used longest ago. */
    flush(&b, links[2]);
    links[0]->peer->owed = 0;
    links[3]->used = links[0]->used + 1;
    links[4] = connected(&b, PEER + 4, 10);
    assert_true(links[0]->ending);
    assert_false(links[1]->ending || links[3]->ending || links[4]->ending);
    assert_int_equal(b.m.counts.dropped, 2);
    assert_int_equal(b.m.links_up, 4); /* until it is reaped */
    /* One that ends already is not dropped once more. */
    links[5] = connected(&b, PEER + 5, 10);
    assert_true(links[3]->ending);
    assert_int_equal(b.m.counts.dropped, 3);
    flush(&b, links[0]);
    assert_int_equal(b.m.links_up, 3);
}

/* A message that waits for room in a peer's window. */
static void wait_for(struct iw_peer *p)
{
    struct iw_outgoing *o = calloc(1, sizeof(*o));
    assert_non_null(o);
    o->route = iw_route_get(&b.m, 9);
    iw_peer_queue(&b.m, p, o);
}

/* Who sleeps must know of a message whose peer has no connection any more. */
static void what_waits_for_a_connection_is_due(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 10);
    struct iw_peer *p = link->peer;
    unsigned dues = bench_dues;
    wait_for(p);
    assert_int_equal(bench_dues, dues);
    iw_link_end(link);
    flush(&b, link);
    assert_null(p->link);
    dues = bench_dues;
    wait_for(p);
    assert_int_equal(bench_dues, dues + 1);
}

/* Where none is idle the one used longest ago ends; a second one to the same peer is idle. */
static void a_drop_of_busy_ones(void **unused)
{
    (void)unused;
    b.m.connections = 2;
    struct iw_link *links[4];
    for (unsigned i = 0; i < 2; i++) {
        bench_ns += MS;
        links[i] = synced(&b, PEER + i, 10);
        wait_for(links[i]->peer);
    }
    bench_ns += MS;
    links[2] = connected(&b, PEER + 1, 10);
    assert_true(links[2]->ending);
    flush(&b, links[2]);
    wait_for(iw_peer_get(&b.m, PEER + 3));
    bench_ns += MS;
    links[3] = connected(&b, PEER + 3, 10);
    assert_true(links[0]->ending);
    assert_false(links[1]->ending || links[3]->ending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(a_connect),
        BENCH_TEST(a_greeting_and_the_pool),
        BENCH_TEST(a_connect_that_fails),
        BENCH_TEST(a_refusal),
        BENCH_TEST(a_request),
        BENCH_TEST(a_request_refused),
        BENCH_TEST(a_bound_of_connections),
        BENCH_TEST(a_drop),
        BENCH_TEST(what_waits_for_a_connection_is_due),
        BENCH_TEST(a_drop_of_busy_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
