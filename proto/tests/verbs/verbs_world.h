/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_VERBS_WORLD_H
#define IW_TESTS_VERBS_WORLD_H

/*
 * Two queue pairs in one process, connected through the distribution's librdmacm and our
 * libibverbs, for the tests of verbs/ and ucma/. Include from one test program.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

enum { MEMORY = 8192, LOCAL = 1, RIGHTS = 31 /* local write, remote write, read, atomic, bind */ };

struct side {
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint64_t memory[MEMORY / 8];
};

struct world {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct side a, b;    /* a connects */
    struct ibv_srq *srq; /* of b; NULL: none */
    bool fields;         /* ibv_wr_* and ibv_cq_ex: requests and entries field by field */
    bool closed;         /* a gives its peer no rights */
    bool channels;       /* queues have channels */
    uint8_t said[256];
    uint8_t said_length;
};

/* Waits for an event, which has to be of this kind. */
static inline struct rdma_cm_id *expect_event(struct world *w, enum rdma_cm_event_type kind)
{
    struct rdma_cm_event *e;
    assert_int_equal(rdma_get_cm_event(w->channel, &e), 0);
    assert_string_equal(rdma_event_str(e->event), rdma_event_str(kind));
    struct rdma_cm_id *id = e->id;
    w->said_length = e->param.conn.private_data_len;
    if (w->said_length > 0)
        memcpy(w->said, e->param.conn.private_data, w->said_length);
    assert_int_equal(rdma_ack_cm_event(e), 0);
    return id;
}

static inline struct ibv_cq *make_queue(struct world *w, struct side *s)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 64,
                                       .wc_flags = IBV_WC_STANDARD_FLAGS |
                                                   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                                   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
    if (!w->fields)
        return ibv_create_cq(s->id->verbs, 64, NULL, s->channel, 0);
    struct ibv_cq_ex *cq = ibv_create_cq_ex(s->id->verbs, &attr);
    return cq != NULL ? ibv_cq_ex_to_cq(cq) : NULL;
}

static inline void make_side(struct world *w, struct side *s)
{
    s->pd = ibv_alloc_pd(s->id->verbs);
    if (w->channels)
        s->channel = ibv_create_comp_channel(s->id->verbs);
    s->cq = make_queue(w, s);
    assert_non_null(s->pd);
    assert_non_null(s->cq);
    s->mr = ibv_reg_mr(s->pd, s->memory, sizeof(s->memory), RIGHTS);
    assert_non_null(s->mr);
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .srq = s == &w->b ? w->srq : NULL,
        .cap = {.max_send_wr = 48, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4},
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .pd = s->pd};
    if (w->fields) {
        attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                              IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ |
                              IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                              IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
                              IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
    }
    assert_int_equal(rdma_create_qp_ex(s->id, &attr), 0);
    s->qp = s->id->qp;
}

static inline struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline void listen_now(struct world *w)
{
    struct sockaddr_in at = loopback(0);
    w->channel = rdma_create_event_channel();
    assert_non_null(w->channel);
    assert_int_equal(rdma_create_id(w->channel, &w->listener, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_bind_addr(w->listener, (struct sockaddr *)&at), 0);
    assert_int_not_equal(rdma_get_src_port(w->listener), 0);
    assert_int_equal(rdma_listen(w->listener, 4), 0);
}

/* Sets what the peer may do through this queue pair. */
static inline void set_access(struct side *s, unsigned access)
{
    struct ibv_qp_attr attr = {.qp_access_flags = access};
    assert_int_equal(ibv_modify_qp(s->qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
}

/* Brings side a to where it can connect, and has it ask. */
static inline void ask(struct world *w)
{
    struct sockaddr_in to = loopback(rdma_get_src_port(w->listener));
    assert_int_equal(rdma_create_id(w->channel, &w->a.id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(w->a.id, NULL, (struct sockaddr *)&to, 2000), 0);
    expect_event(w, RDMA_CM_EVENT_ADDR_RESOLVED);
    assert_int_equal(rdma_resolve_route(w->a.id, 2000), 0);
    expect_event(w, RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_side(w, &w->a);
    if (w->closed)
        set_access(&w->a, 0);
    struct rdma_conn_param p = {.private_data = "hello",
                                .private_data_len = 5,
                                .responder_resources = 4,
                                .initiator_depth = 4};
    assert_int_equal(rdma_connect(w->a.id, &p), 0);
    w->b.id = expect_event(w, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_int_equal(w->said_length, 5);
    assert_memory_equal(w->said, "hello", 5);
}

static inline int connect_world(struct world *w, bool shared)
{
    listen_now(w);
    ask(w);
    if (shared) {
        struct ibv_pd *pd = ibv_alloc_pd(w->b.id->verbs);
        struct ibv_srq_init_attr attr = {.attr = {.max_wr = 48, .max_sge = 1}};
        w->srq = ibv_create_srq(pd, &attr);
        assert_non_null(w->srq);
    }
    make_side(w, &w->b);
    struct rdma_conn_param p = {.private_data = "welcome",
                                .private_data_len = 7,
                                .responder_resources = 4,
                                .initiator_depth = 4};
    assert_int_equal(rdma_accept(w->b.id, &p), 0);
    for (unsigned i = 0; i < 2; i++)
        if (expect_event(w, RDMA_CM_EVENT_ESTABLISHED) == w->a.id) {
            assert_int_equal(w->said_length, 7);
            assert_memory_equal(w->said, "welcome", 7);
        }
    return 0;
}

static inline struct world *make_world(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    *state = w;
    return w;
}

static inline int set_up_with(void **state, bool shared)
{
    return connect_world(make_world(state), shared);
}

static inline int set_up(void **state)
{
    return set_up_with(state, false);
}

static inline void drop_side(struct side *s)
{
    if (s->qp != NULL)
        rdma_destroy_qp(s->id);
    assert_int_equal(rdma_destroy_id(s->id), 0);
    if (s->mr != NULL)
        assert_int_equal(ibv_dereg_mr(s->mr), 0);
    assert_int_equal(ibv_destroy_cq(s->cq), 0);
    if (s->channel != NULL)
        assert_int_equal(ibv_destroy_comp_channel(s->channel), 0);
    assert_int_equal(ibv_dealloc_pd(s->pd), 0);
}

static inline int tear_down(void **state)
{
    struct world *w = *state;
    drop_side(&w->a);
    struct ibv_pd *pd = w->srq != NULL ? w->srq->pd : NULL;
    if (w->b.qp != NULL)
        rdma_destroy_qp(w->b.id);
    w->b.qp = NULL;
    if (w->srq != NULL) {
        assert_int_equal(ibv_destroy_srq(w->srq), 0);
        assert_int_equal(ibv_dealloc_pd(pd), 0);
    }
    drop_side(&w->b);
    assert_int_equal(rdma_destroy_id(w->listener), 0);
    rdma_destroy_event_channel(w->channel);
    free(w);
    return 0;
}

static inline struct ibv_sge sge_of(struct side *s, size_t offset, uint32_t length)
{
    return (struct ibv_sge){(uintptr_t)s->memory + offset, length, s->mr->lkey};
}

static inline void post_recv(struct side *s, uint64_t id, size_t offset, uint32_t length)
{
    struct ibv_sge sge = sge_of(s, offset, length);
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;
    assert_int_equal(ibv_post_recv(s->qp, &wr, &bad), 0);
}

static inline int post(struct side *s, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    return ibv_post_send(s->qp, wr, &bad);
}

/* A request of one piece that names the other side's memory. */
static inline struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sge,
                                         const struct side *to, size_t offset)
{
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = sge,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED};
    if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.rkey = to->mr->rkey;
        wr.wr.atomic.remote_addr = (uintptr_t)to->memory + offset;
    } else if (to != NULL) {
        wr.wr.rdma.rkey = to->mr->rkey;
        wr.wr.rdma.remote_addr = (uintptr_t)to->memory + offset;
    }
    return wr;
}

/* Polls until an entry is there. */
static inline struct ibv_wc next_of(struct side *s)
{
    struct ibv_wc wc;
    int n;
    do
        n = ibv_poll_cq(s->cq, 1, &wc);
    while (n == 0);
    assert_int_equal(n, 1);
    return wc;
}

static inline void expect_status(struct side *s, uint64_t id, enum ibv_wc_status status)
{
    struct ibv_wc wc = next_of(s);
    assert_int_equal(wc.wr_id, id);
    assert_string_equal(ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
}

#endif
