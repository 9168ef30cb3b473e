/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection: how it begins, what it is given to post, credits, time, and how it ends. */
#include "messages_bench.h"

static struct bench b;

static int begin(void **unused)
{
    (void)unused;
    bench_begin(&b);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    bench_end(&b);
    return 0;
}

static struct iw_link *begun(void)
{
    struct sockaddr_storage to = {0};
    memcpy(&to, &b.to, sizeof(b.to));
    return iw_link_connect(&b.m, &to);
}

/* ---- begin ---- */

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
    // An event that comes twice, or too late, changes nothing.
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
    // Another device than ours: no queue pair there.
    struct iw_link *link = begun();
    struct ibv_context other = {0};
    link->id->verbs = &other;
    happens(&b, link->id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
    assert_true(link->ending);
    assert_null(link->id->qp);
    flush(&b, link);
    // A receive that cannot be posted.
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
    // A greeting that is none, from a peer that accepts.
    link = begun();
    resolves(&b, link);
    happens(&b, link->id, RDMA_CM_EVENT_ESTABLISHED, 0, "iwms", 4);
    assert_true(link->ending);
    flush(&b, link);
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
    // What says nothing about a connection.
    struct iw_link *link = begun();
    resolves(&b, link);
    happens(&b, link->id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, 0);
    assert_false(link->ending);
    // A listener has no link.
    struct rdma_cm_id listener = {0};
    happens(&b, &listener, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
    assert_false(iw_link_event(&b.m));
}

static struct rdma_cm_id *requests(const uint8_t *octets, uint8_t length, int family)
{
    struct rdma_cm_id *id = calloc(1, sizeof(*id));
    assert_non_null(id);
    id->verbs = b.pd.context;
    if (family == AF_INET) {
        memcpy(&id->route.addr.dst_addr, &b.to, sizeof(b.to));
        ((struct sockaddr_in *)&id->route.addr.dst_addr)->sin_port = htons(55555);
    } else {
        struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(55555)};
        six.sin6_addr.s6_addr[15] = 1;
        memcpy(&id->route.addr.dst_addr, &six, sizeof(six));
    }
    happens(&b, id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, octets, length);
    return id;
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
    // It listens where it says, not where it connects from.
    assert_memory_equal(&link->to, &b.to, sizeof(b.to));
    assert_int_equal(b.m.links_up, 0);
    expect_silence();
    // The peer's SYNC can come before the event that the connection is made.
    const struct iw_message_header h = says(IW_MESSAGE_SYNC, 10, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(link->state, IW_LINK_UP);
    assert_true(link->synced);
    expect_send(IW_MESSAGE_SYNC);
    happens(&b, link->id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
    assert_int_equal(b.m.counts.connected, 1);
    // The event first, without a greeting, from another process.
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
    assert_int_equal(bench_rejects, 1);
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
    // The oldest one owes an answer, the next one has a message under way.
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
    // Of two that are idle the one used longest ago.
    flush(&b, links[2]);
    links[0]->peer->owed = 0;
    links[3]->used = links[0]->used + 1;
    links[4] = connected(&b, PEER + 4, 10);
    assert_true(links[0]->ending);
    assert_false(links[1]->ending || links[3]->ending || links[4]->ending);
    assert_int_equal(b.m.counts.dropped, 2);
    assert_int_equal(b.m.links_up, 4); // until it is reaped
    // One that ends already is not dropped once more.
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
    iw_peer_queue(p, o);
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

/* ---- credits ---- */

static void credits_of_messages(void **unused)
{
    (void)unused;
    struct iw_link *link = synced(&b, PEER, 10);
    struct iw_service *s = service(&b, 2);
    place(&b, 9);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(send_one(s, 0, i), 0);
    // Ten less one of the SYNC less four that messages leave.
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
    // STATEs leave the last one to a due one.
    for (int i = 0; i < 3; i++)
        assert_true(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    link->granted += 31;
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    link->granted++;
    assert_true(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    assert_int_equal(link->stated, 96 + 32 + 1); // what the peer's SYNC used up was posted anew
    assert_false(iw_link_control(link, IW_MESSAGE_STATE, 0, NULL, NULL));
    link->granted = link->receives;
    for (int i = 0; i < 4; i++)
        expect_send(IW_MESSAGE_STATE);
    expect_silence();
    // Credits that come let the others go, in order.
    struct iw_message_header h = says(IW_MESSAGE_STATE, 15, 0);
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(expect_send(IW_MESSAGE_SHORT)->h.sequence, 6);
    expect_silence();
    h.grants = 14; // older than what has come
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
    // Room in the send queue: 192, of which messages leave four.
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
    // Nothing leaves a link that ends, or by a request that is not taken.
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
    expect_silence(); // the peer's SYNC was the first of 31
    arrives(&b, link, &h, NULL, 0);
    assert_int_equal(expect_send(IW_MESSAGE_STATE)->h.grants, 96 + 32);
    expect_silence();
    assert_int_equal(link->receives, 96);
    // A tick makes good what could not be posted, and says so.
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
    // One that fails ends the connection; the receives come back, and the last of them frees it.
    bench_ns += MS;
    complete(&b, posted_receive(link), IBV_WC_WR_FLUSH_ERR, 0);
    assert_true(link->ending);
    assert_int_equal(link->heard, bench_ns - MS);
    assert_int_equal(bench_calls[DISCONNECT], 1);
    assert_int_equal(bench_dues, 2);
    assert_int_equal(link->receives, 95);
    // What came before the end counts.
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
    // A queue pair that cannot be disconnected is set to its error state.
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
    // A receive that fails before the event says nothing yet: the event will say why.
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
        // One Send has used up a credit; 96 posted, and as many again.
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
        // What comes after it is not looked at.
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
    iw_link_tick(&b.m, start + quarter); // since it was asked not more than a quarter
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
    // One that owes nothing may be silent.
    link = synced(&b, PEER, 40);
    iw_link_tick(&b.m, bench_ns + 10 * b.m.timeout);
    assert_false(link->ending);
    expect_silence();
    // A fetch, or a message that is not acknowledged, is owed.
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
    arrives(&b, link, &h, NULL, 0); // its buffer comes back only after the next receive was wanted
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
    // As many peers as are known at most: one more gets no connection.
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_connect),
        TEST(a_greeting_and_the_pool),
        TEST(a_connect_that_fails),
        TEST(a_refusal),
        TEST(a_request),
        TEST(a_request_refused),
        TEST(a_bound_of_connections),
        TEST(a_drop),
        TEST(a_drop_of_busy_ones),
        TEST(credits_of_messages),
        TEST(credits_of_control),
        TEST(credits_are_stated),
        TEST(completions),
        TEST(what_comes_early),
        TEST(what_is_wrong),
        TEST(an_attempt_in_time),
        TEST(silence_in_time),
        TEST(silence_of_a_second_link),
        TEST(no_memory),
        TEST(what_fails_early),
        TEST(a_disconnect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
