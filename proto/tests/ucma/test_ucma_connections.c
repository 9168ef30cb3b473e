/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two ends of a connection learn of each other: private data, depths, an answer of no, and
 * a thousand connections at once. */
#include "verbs_world.h"

#include <sys/resource.h>

static const uint8_t octets[256] = {1, 2, 3, [100] = 4, [254] = 5};

/* Waits for an event, which has to be of this kind. */
static struct rdma_cm_event *take_event(struct world *w, enum rdma_cm_event_type kind)
{
    struct rdma_cm_event *e;
    assert_int_equal(rdma_get_cm_event(w->channel, &e), 0);
    assert_string_equal(rdma_event_str(e->event), rdma_event_str(kind));
    return e;
}

static struct rdma_cm_id *begin(struct world *w, uint16_t port, const struct rdma_conn_param *p)
{
    struct sockaddr_in to = loopback(port);
    assert_int_equal(rdma_create_id(w->channel, &w->a.id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(w->a.id, NULL, (struct sockaddr *)&to, 2000), 0);
    expect_event(w, RDMA_CM_EVENT_ADDR_RESOLVED);
    assert_int_equal(rdma_resolve_route(w->a.id, 2000), 0);
    expect_event(w, RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_side(w, &w->a);
    struct rdma_conn_param copy = *p;
    assert_int_equal(rdma_connect(w->a.id, &copy), 0);
    return w->a.id;
}

/* Connects with what both ends say, and expects what each one hears. */
static void talk(struct world *w, const struct rdma_conn_param *a, const struct rdma_conn_param *b,
                 uint8_t asked_ird, uint8_t asked_ord)
{
    begin(w, rdma_get_src_port(w->listener), a);
    struct rdma_cm_event *e = take_event(w, RDMA_CM_EVENT_CONNECT_REQUEST);
    w->b.id = e->id;
    assert_ptr_equal(e->listen_id, w->listener);
    assert_int_equal(e->param.conn.private_data_len, a->private_data_len);
    if (a->private_data_len > 0)
        assert_memory_equal(e->param.conn.private_data, octets, a->private_data_len);
    assert_int_equal(e->param.conn.responder_resources, asked_ird);
    assert_int_equal(e->param.conn.initiator_depth, asked_ord);
    assert_int_equal(rdma_ack_cm_event(e), 0);
    make_side(w, &w->b);
    struct rdma_conn_param copy = *b;
    assert_int_equal(rdma_accept(w->b.id, &copy), 0);
    for (unsigned i = 0; i < 2; i++) {
        e = take_event(w, RDMA_CM_EVENT_ESTABLISHED);
        if (e->id == w->a.id) {
            assert_int_equal(e->param.conn.private_data_len, b->private_data_len);
            if (b->private_data_len > 0)
                assert_memory_equal(e->param.conn.private_data, octets, b->private_data_len);
        }
        assert_int_equal(rdma_ack_cm_event(e), 0);
    }
}

static int set_up_listener(void **state)
{
    struct world *w = make_world(state);
    listen_now(w);
    return 0;
}

static struct rdma_conn_param with_octets(uint8_t length)
{
    return (struct rdma_conn_param){.private_data = octets,
                                    .private_data_len = length,
                                    .responder_resources = 2,
                                    .initiator_depth = 3};
}

static void no_private_data(void **state)
{
    const struct rdma_conn_param p = with_octets(0);
    talk(*state, &p, &p, 3, 2);
}

static void as_much_private_data_as_the_interface_has(void **state)
{
    const struct rdma_conn_param a = with_octets(255), b = with_octets(254);
    talk(*state, &a, &b, 3, 2);
}

static void the_most_is_what_the_device_has(void **state)
{
    const struct rdma_conn_param most = {.responder_resources = RDMA_MAX_RESP_RES,
                                         .initiator_depth = RDMA_MAX_INIT_DEPTH};
    talk(*state, &most, &most, 128, 128);
}

static void a_side_may_want_no_reads(void **state)
{
    struct world *w = *state;
    const struct rdma_conn_param none = {.responder_resources = 0, .initiator_depth = 0};
    talk(w, &none, &none, 0, 0);
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_READ, &sge, &w->b, 0);
    if (post(&w->a, &wr) == 0)
        expect_status(&w->a, 1, IBV_WC_LOC_QP_OP_ERR);
}

/* b is the listener's identifier, whose objects have to be there for tear_down. */
static void end_without_b(struct world *w)
{
    drop_side(&w->a);
    assert_int_equal(rdma_destroy_id(w->listener), 0);
    rdma_destroy_event_channel(w->channel);
    free(w);
}

static void a_no_has_its_reason(void **state)
{
    struct world *w;
    const struct rdma_conn_param p = with_octets(3);
    set_up_listener((void **)&w);
    (void)state;
    begin(w, rdma_get_src_port(w->listener), &p);
    struct rdma_cm_id *asked = expect_event(w, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_int_equal(rdma_reject(asked, octets, 255), 0);
    assert_int_equal(rdma_destroy_id(asked), 0);
    struct rdma_cm_event *e = take_event(w, RDMA_CM_EVENT_REJECTED);
    assert_int_equal(e->status, -ECONNREFUSED);
    assert_int_equal(e->param.conn.private_data_len, 255);
    assert_memory_equal(e->param.conn.private_data, octets, 255);
    assert_int_equal(rdma_ack_cm_event(e), 0);
    end_without_b(w);
}

static void nobody_listens(void **state)
{
    struct world *w;
    const struct rdma_conn_param p = with_octets(3);
    set_up_listener((void **)&w);
    (void)state;
    const uint16_t port = rdma_get_src_port(w->listener);
    struct rdma_cm_id *other;
    struct sockaddr_in at = loopback(0);
    assert_int_equal(rdma_create_id(w->channel, &other, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_bind_addr(other, (struct sockaddr *)&at), 0);
    const uint16_t gone = rdma_get_src_port(other);
    assert_int_equal(rdma_destroy_id(other), 0);
    assert_int_not_equal(gone, port);
    begin(w, gone, &p);
    struct rdma_cm_event *e = take_event(w, RDMA_CM_EVENT_REJECTED);
    assert_int_equal(e->status, -ECONNREFUSED);
    assert_int_equal(e->param.conn.private_data_len, 0);
    assert_int_equal(rdma_ack_cm_event(e), 0);
    end_without_b(w);
}

/* ---- many ---- */

enum { MANY = 1000 };

struct many {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener, *ids[2 * MANY];
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    unsigned count;
};

static void make_pair(struct many *m, struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr init = {
        .send_cq = m->cq, .recv_cq = m->cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    assert_int_equal(rdma_create_qp(id, m->pd, &init), 0);
    m->ids[m->count++] = id;
}

static void begin_one(struct many *m)
{
    struct sockaddr_in to = loopback(rdma_get_src_port(m->listener));
    struct rdma_cm_id *id;
    assert_int_equal(rdma_create_id(m->channel, &id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), 0);
}

/* Takes one event further. Returns whether a connection has been made. */
static bool go_on(struct many *m)
{
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1};
    struct rdma_cm_event *e;
    assert_int_equal(rdma_get_cm_event(m->channel, &e), 0);
    struct rdma_cm_id *id = e->id;
    const enum rdma_cm_event_type kind = e->event;
    assert_int_equal(rdma_ack_cm_event(e), 0);
    switch (kind) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        assert_int_equal(rdma_resolve_route(id, 2000), 0);
        return false;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        make_pair(m, id);
        assert_int_equal(rdma_connect(id, &p), 0);
        return false;
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        make_pair(m, id);
        assert_int_equal(rdma_accept(id, &p), 0);
        return false;
    default:
        assert_string_equal(rdma_event_str(kind), rdma_event_str(RDMA_CM_EVENT_ESTABLISHED));
        return true;
    }
}

/* All of them begin before the first is made; both ends are here. */
static void a_thousand_at_once(void **state)
{
    static struct many m;
    struct rlimit limit;
    struct sockaddr_in at = loopback(0);
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < 3 * MANY)
        skip();
    limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    m.channel = rdma_create_event_channel();
    assert_int_equal(rdma_create_id(m.channel, &m.listener, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_bind_addr(m.listener, (struct sockaddr *)&at), 0);
    assert_int_equal(rdma_listen(m.listener, 0), 0);
    m.pd = ibv_alloc_pd(m.listener->verbs);
    m.cq = ibv_create_cq(m.listener->verbs, 2 * MANY, NULL, NULL, 0);
    assert_non_null(m.cq);
    for (unsigned i = 0; i < MANY; i++)
        begin_one(&m);
    for (unsigned made = 0; made < 2 * MANY;)
        made += go_on(&m);
    assert_int_equal(m.count, 2 * MANY);
    for (unsigned i = 0; i < 2 * MANY; i++)
        assert_int_equal(m.ids[i]->qp->state, IBV_QPS_RTS);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        rdma_destroy_qp(m.ids[i]);
        assert_int_equal(rdma_destroy_id(m.ids[i]), 0);
    }
    assert_int_equal(ibv_destroy_cq(m.cq), 0);
    assert_int_equal(ibv_dealloc_pd(m.pd), 0);
    assert_int_equal(rdma_destroy_id(m.listener), 0);
    rdma_destroy_event_channel(m.channel);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_listener, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_private_data),
        TEST(as_much_private_data_as_the_interface_has),
        TEST(the_most_is_what_the_device_has),
        TEST(a_side_may_want_no_reads),
        cmocka_unit_test(a_no_has_its_reason),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(a_thousand_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
