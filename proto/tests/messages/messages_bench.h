/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_MESSAGES_BENCH_H
#define IW_TESTS_MESSAGES_BENCH_H

/*
 * An end of messages over messages_doubles.h, and what its peer does. Include from one program.
 */

#include "messages_doubles.h"

/* ---- the bench ---- */

struct bench {
    struct iw_messages m;
    struct ibv_pd pd;
    struct sockaddr_in to; /* where the peer listens */
};

static inline void bench_begin(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    bench_ns = UINT64_C(1000) * 1000 * MS;
    bench_fails = NONE;
    memset(bench_calls, 0, sizeof(bench_calls));
    memset(&bench_resolver, 0, sizeof(bench_resolver));
    bench_sent = bench_seen = bench_received = 0;
    bench_posts_left = bench_receives_left = UINT32_MAX;
    bench_dues = bench_polls = 0;
    bench_rejects = bench_ids_destroyed = bench_qps_destroyed = bench_errors = 0;
    bench_has_event = false;
    bench_waits = NULL;
    memset(bench_held, 0, sizeof(bench_held));
    struct iw_messages *m = &b->m;
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->changed, NULL);
    TAILQ_INIT(&m->links);
    TAILQ_INIT(&m->unrouted);
    m->instance = 0x77;
    m->connections = 4;
    m->timeout = 5000 * UINT64_C(1000000);
    m->reads = 16;
    m->trusts_senders = true;
    struct sockaddr_in *own = (struct sockaddr_in *)&m->address;
    *own = (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(0x1234),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    b->to = *own;
    b->to.sin_port = htons(4000);
    b->pd.context = bench_verbs();
    m->pd = &b->pd;
    assert_int_equal(iw_pool_open(&m->pool, &b->pd, 64 << 20, SIZE_MAX), 0);
}

/* Completes a request. */
static inline void complete(struct bench *b, struct bench_request *r, enum ibv_wc_status status,
                            uint32_t length)
{
    assert_false(r->completed);
    r->completed = true;
    iw_link_complete(&b->m,
                     &(struct ibv_wc){.wr_id = r->work, .status = status, .byte_len = length});
}

/* The oldest posted receive of a link, or NULL. */
static inline struct bench_request *posted_receive(const struct iw_link *link)
{
    for (unsigned i = 0; i < bench_received; i++)
        if (!bench_receives[i].completed && bench_receives[i].id == link->id)
            return &bench_receives[i];
    return NULL;
}

/* A Send of the peer: a header, and what follows it. */
static inline void arrives(struct bench *b, struct iw_link *link, const struct iw_message_header *h,
                           const void *more, size_t length)
{
    struct bench_request *r = posted_receive(link);
    assert_non_null(r);
    assert_int_equal(r->length, FRAME);
    iw_message_put_header(h, r->at);
    if (length > 0)
        memcpy(r->at + IW_MESSAGE_HEADER, more, length);
    complete(b, r, IBV_WC_SUCCESS, (uint32_t)(IW_MESSAGE_HEADER + length));
}

/* Completes all that a link has posted to send. */
static inline void complete_sends(struct bench *b)
{
    for (unsigned i = 0; i < bench_sent; i++)
        if (!bench_sends[i].completed)
            complete(b, &bench_sends[i], IBV_WC_SUCCESS, 0);
}

/* An event of rdma_cm. */
static inline void happens(struct bench *b, struct rdma_cm_id *id, enum rdma_cm_event_type kind,
                           int status, const void *octets, uint8_t length)
{
    memset(&bench_event, 0, sizeof(bench_event));
    bench_event.id = id;
    bench_event.event = kind;
    bench_event.status = status;
    bench_event.param.conn.private_data = octets;
    bench_event.param.conn.private_data_len = length;
    bench_has_event = true;
    assert_true(iw_link_event(&b->m));
}

static inline void greeting_of(uint8_t out[static IW_MESSAGE_GREETING], uint64_t instance,
                               uint32_t grants)
{
    iw_message_put_greeting(
        &(struct iw_message_greeting){
            .instance = instance, .grants = grants, .longest = 1 << 30, .port = 4000},
        out);
}

/* The events up to that which a connect ends with. */
static inline void resolves(struct bench *b, struct iw_link *link)
{
    link->id->verbs = b->pd.context;
    happens(b, link->id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
    happens(b, link->id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
}

static inline void establishes(struct bench *b, struct iw_link *link, uint64_t instance,
                               uint32_t grants)
{
    uint8_t octets[IW_MESSAGE_GREETING];
    greeting_of(octets, instance, grants);
    happens(b, link->id, RDMA_CM_EVENT_ESTABLISHED, 0, octets, sizeof(octets));
}

/* A connection that this end has begun; its SYNC has been sent, the peer's has not come. */
static inline struct iw_link *connected(struct bench *b, uint64_t instance, uint32_t grants)
{
    struct sockaddr_storage to = {0};
    memcpy(&to, &b->to, sizeof(b->to));
    struct iw_link *link = iw_link_connect(&b->m, &to);
    assert_non_null(link);
    resolves(b, link);
    establishes(b, link, instance, grants);
    assert_int_equal(link->state, IW_LINK_UP);
    expect_send(IW_MESSAGE_SYNC);
    return link;
}

/* What a peer sends that has sent `grants` receives' worth, and has taken all up to `base`. */
static inline struct iw_message_header says(enum iw_message_type type, uint32_t grants,
                                            uint64_t base)
{
    return (struct iw_message_header){.type = type, .grants = grants, .state = {.base = base}};
}

/* A connection both of whose SYNCs have come. */
static inline struct iw_link *synced(struct bench *b, uint64_t instance, uint32_t grants)
{
    struct iw_link *link = connected(b, instance, grants);
    const struct iw_message_header h = says(IW_MESSAGE_SYNC, grants, 0);
    arrives(b, link, &h, NULL, 0);
    assert_true(link->synced);
    return link;
}

/* A message of the peer, from its service 9 to our number 2, of one octet that is its number. */
static inline void message_arrives(struct bench *b, struct iw_link *link, uint64_t sequence,
                                   unsigned flags, uint32_t to)
{
    struct iw_message_header h = says(IW_MESSAGE_SHORT, link->may_send, 0);
    h.state = link->peer->heard;
    h.flags = (uint8_t)flags;
    h.sequence = sequence;
    h.from = 9;
    h.to = to;
    h.length = 1;
    const uint8_t octet = (uint8_t)sequence;
    arrives(b, link, &h, &octet, 1);
}

static inline struct iw_service *service(struct bench *b, uint32_t number)
{
    struct iw_service *s;
    assert_int_equal(iw_messages_service(&b->m, number, &s), 0);
    return s;
}

/* Sends one octet from a service to number 9, which is placed where the peer listens. */
static inline int send_one(struct iw_service *s, unsigned flags, uint64_t tag)
{
    const struct iovec piece = {"x", 1};
    return iw_messages_send(s, 9, &piece, 1, flags, tag);
}

/* A way that has room for every message: number 9 is at the peer. */
static inline void place(struct bench *b, uint32_t number)
{
    assert_int_equal(iw_messages_place(&b->m, number, (const struct sockaddr *)&b->to), 0);
}

/* Takes a message or report that is there. */
static inline struct iw_message taken(struct iw_service *s)
{
    struct iw_message got;
    if (iw_messages_receive(s, &got, 0) != 0)
        fail_msg("nothing came: %s", strerror(errno));
    return got;
}

static inline void expect_nothing(struct iw_service *s)
{
    struct iw_message got;
    assert_int_equal(iw_messages_receive(s, &got, 0), -1);
    assert_int_equal(errno, ETIMEDOUT);
}

/* Takes the link down as its queue pair does: all that is posted is flushed. */
static inline void flush(struct bench *b, struct iw_link *link)
{
    const struct rdma_cm_id *id = link->id;
    iw_link_end(link);
    for (unsigned i = 0; i < bench_sent; i++)
        if (bench_sends[i].id == id && !bench_sends[i].completed)
            complete(b, &bench_sends[i], IBV_WC_WR_FLUSH_ERR, 0);
    for (unsigned i = 0; i < bench_received; i++)
        if (bench_receives[i].id == id && !bench_receives[i].completed)
            complete(b, &bench_receives[i], IBV_WC_WR_FLUSH_ERR, 0);
    iw_link_reap(&b->m, false);
}

static inline void bench_free(struct iw_messages *m, struct iw_outgoings *list)
{
    for (struct iw_outgoing *o; (o = TAILQ_FIRST(list)) != NULL;) {
        TAILQ_REMOVE(list, o, entry);
        o->finished = o->reported = true;
        iw_outgoing_free(m, o);
    }
}

/* As iw_messages_close() does, and looks for what is left. */
static inline void bench_end(struct bench *b)
{
    struct iw_messages *m = &b->m;
    struct iw_link *link;
    TAILQ_FOREACH(link, &m->links, entry)
    iw_link_end(link);
    for (unsigned i = 0; i < bench_sent; i++)
        if (!bench_sends[i].completed)
            complete(b, &bench_sends[i], IBV_WC_WR_FLUSH_ERR, 0);
    for (unsigned i = 0; i < bench_received; i++)
        if (!bench_receives[i].completed)
            complete(b, &bench_receives[i], IBV_WC_WR_FLUSH_ERR, 0);
    assert_true(iw_link_reap(m, true));
    assert_int_equal(m->links_all, 0);
    assert_int_equal(m->links_up, 0);
    for (unsigned i = 0; i < IW_TABLE; i++)
        while (m->services[i] != NULL)
            iw_messages_shut(m->services[i]);
    for (unsigned i = 0; i < IW_TABLE; i++) {
        for (struct iw_peer *p = m->peers[i]; p != NULL; p = p->chain) {
            bench_free(m, &p->window);
            bench_free(m, &p->waiting);
        }
        for (struct iw_route *r; (r = m->routes[i]) != NULL;) {
            m->routes[i] = r->chain;
            bench_free(m, &r->queue);
            free(r);
        }
    }
    iw_peer_forget_all(m);
    /* Nothing has been lost: every work item is free again, and so is every buffer. */
    int items = 0;
    for (const struct iw_work_item *w = m->free_work; w != NULL; w = w->of.free)
        items++;
    for (struct iw_work_chunk *c; (c = m->work) != NULL; items -= IW_WORK_CHUNK) {
        m->work = c->next;
        free(c);
    }
    assert_int_equal(items, 0);
    for (size_t i = 0; i < m->pool.buckets; i++)
        for (const struct iw_buffer *at = m->pool.table[i]; at != NULL; at = at->chain)
            assert_false(at->lent_out);
    iw_pool_close(&m->pool);
    assert_int_equal(bench_registered, 0);
    for (size_t i = 0; i < 4; i++)
        assert_null(bench_held[i]);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->mutex);
}

static struct bench b; /* the test's own */

static inline int begin(void **unused)
{
    (void)unused;
    bench_begin(&b);
    return 0;
}

static inline int end(void **unused)
{
    (void)unused;
    bench_end(&b);
    return 0;
}

/* A connection that this end begins. */
static inline struct iw_link *begun(void)
{
    struct sockaddr_storage to = {0};
    memcpy(&to, &b.to, sizeof(b.to));
    return iw_link_connect(&b.m, &to);
}

/* One that a peer asks for. */
static inline struct rdma_cm_id *requests(const uint8_t *octets, uint8_t length, int family)
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

#define BENCH_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
