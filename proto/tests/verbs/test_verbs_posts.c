/* SPDX-License-Identifier: BSD-3-Clause */
/* What cannot be posted: each bound of a request, at it and past it, and which request is named. */
#include "verbs_world.h"

static int post_list(struct side *s, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    *bad = NULL;
    return ibv_post_send(s->qp, wr, bad);
}

static void refused(struct side *s, struct ibv_send_wr *wr, int error)
{
    struct ibv_send_wr *bad;
    assert_int_equal(post_list(s, wr, &bad), error);
    assert_ptr_equal(bad, wr);
}

static void pieces_of_requests(void **state)
{
    struct world *w = *state;
    struct ibv_sge sges[5];
    for (unsigned i = 0; i < 5; i++)
        sges[i] = sge_of(&w->a, 64 + 8 * i, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sges, &w->b, 0);
    wr.num_sge = 5;
    refused(&w->a, &wr, EINVAL);
    wr.num_sge = -1;
    refused(&w->a, &wr, EINVAL);
    wr.num_sge = 4;
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    wr = request(IBV_WR_RDMA_READ, sges, &w->b, 0);
    wr.num_sge = 2;
    refused(&w->a, &wr, EINVAL);
    wr.num_sge = 1;
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    /* An atomic has one result, of 8 octets. */
    static const enum ibv_wr_opcode atomics[] = {IBV_WR_ATOMIC_CMP_AND_SWP,
                                                 IBV_WR_ATOMIC_FETCH_AND_ADD};
    for (unsigned i = 0; i < 2; i++) {
        wr = request(atomics[i], sges, &w->b, 0);
        for (uint32_t length = 0; length < 17; length++) {
            sges[0].length = length;
            if (length != 8)
                refused(&w->a, &wr, EINVAL);
        }
        sges[0].length = 8;
        wr.num_sge = 0;
        refused(&w->a, &wr, EINVAL);
        wr.num_sge = 2;
        refused(&w->a, &wr, EINVAL);
        wr.num_sge = 1;
        wr.send_flags |= IBV_SEND_INLINE;
        refused(&w->a, &wr, EINVAL);
        wr.send_flags &= ~(unsigned)IBV_SEND_INLINE;
        assert_int_equal(post(&w->a, &wr), 0);
        expect_status(&w->a, 1, IBV_WC_SUCCESS);
    }
    wr = request((enum ibv_wr_opcode)99, sges, &w->b, 0);
    refused(&w->a, &wr, EOPNOTSUPP);
    wr = request(IBV_WR_RDMA_READ, sges, &w->b, 0);
    wr.send_flags |= IBV_SEND_INLINE;
    refused(&w->a, &wr, EINVAL);
}

/* Of a list all before the wrong one are posted, and it is named. */
static void a_list_with_a_wrong_one(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr list[3], *bad;
    w->a.memory[0] = 0x55;
    for (unsigned i = 0; i < 3; i++) {
        list[i] = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 8 * i);
        list[i].wr_id = i;
        list[i].next = i < 2 ? &list[i + 1] : NULL;
    }
    list[1].num_sge = -1;
    assert_int_equal(post_list(&w->a, list, &bad), EINVAL);
    assert_ptr_equal(bad, &list[1]);
    expect_status(&w->a, 0, IBV_WC_SUCCESS);
    struct ibv_sge back = sge_of(&w->a, 512, 8);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &back, &w->b, 0);
    assert_int_equal(post(&w->a, &read), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    assert_int_equal(w->b.memory[0], 0x55);
    assert_int_equal(w->b.memory[2], 0);
    struct ibv_wc wc;
    assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
}

static void receives(void **state)
{
    struct world *w = *state;
    struct ibv_sge sges[5];
    for (unsigned i = 0; i < 5; i++)
        sges[i] = sge_of(&w->b, 8 * i, 8);
    struct ibv_recv_wr wr = {.wr_id = 7, .sg_list = sges, .num_sge = 5}, *bad = NULL;
    assert_int_equal(ibv_post_recv(w->b.qp, &wr, &bad), EINVAL);
    assert_ptr_equal(bad, &wr);
    wr.num_sge = -1;
    assert_int_equal(ibv_post_recv(w->b.qp, &wr, &bad), EINVAL);
    /* As many as the queue pair was made for; no more. */
    wr.num_sge = 4;
    for (int i = 0; i < 16; i++)
        assert_int_equal(ibv_post_recv(w->b.qp, &wr, &bad), 0);
    bad = NULL;
    assert_int_equal(ibv_post_recv(w->b.qp, &wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr);
    /* 32 octets fill four pieces of 8. */
    struct ibv_sge sge = sge_of(&w->a, 0, 32);
    for (unsigned i = 0; i < 4; i++)
        w->a.memory[i] = i + 1;
    struct ibv_send_wr send = request(IBV_WR_SEND, &sge, NULL, 0);
    assert_int_equal(post(&w->a, &send), 0);
    const struct ibv_wc wc = next_of(&w->b);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.byte_len, 32);
    assert_int_equal(wc.wr_id, 7);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(w->b.memory[i], i + 1);
    assert_int_equal(w->b.memory[4], 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
}

static void expect_attributes(struct side *s, unsigned access, uint8_t out, uint8_t in)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    assert_int_equal(ibv_query_qp(s->qp, &attr, 0, &init), 0);
    assert_int_equal(attr.qp_state, IBV_QPS_RTS);
    assert_int_equal(attr.qp_access_flags, access);
    assert_int_equal(attr.max_rd_atomic, out);
    assert_int_equal(attr.max_dest_rd_atomic, in);
}

/* A change that is refused changes nothing, whatever else it asks for. */
static void attributes(void **state)
{
    struct world *w = *state;
    const int all = IBV_QP_ACCESS_FLAGS | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
    struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_READ,
                               .max_rd_atomic = 5,
                               .max_dest_rd_atomic = 6,
                               .cur_qp_state = IBV_QPS_RTS};
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, all | IBV_QP_CUR_STATE), 0);
    expect_attributes(&w->a, IBV_ACCESS_REMOTE_READ, 5, 6);
    attr = (struct ibv_qp_attr){.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
                                .max_rd_atomic = 7,
                                .max_dest_rd_atomic = 8,
                                .cur_qp_state = IBV_QPS_INIT,
                                .qp_state = IBV_QPS_INIT};
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, all | IBV_QP_CUR_STATE), EINVAL);
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, all | IBV_QP_STATE), EINVAL);
    for (int past = IBV_QPS_ERR + 1; past < IBV_QPS_ERR + 4; past++) {
        attr.qp_state = (enum ibv_qp_state)past;
        assert_int_equal(ibv_modify_qp(w->a.qp, &attr, all | IBV_QP_STATE), EINVAL);
    }
    expect_attributes(&w->a, IBV_ACCESS_REMOTE_READ, 5, 6);
    /* Each alone. */
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC), 0);
    expect_attributes(&w->a, IBV_ACCESS_REMOTE_READ, 7, 6);
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC), 0);
    expect_attributes(&w->a, IBV_ACCESS_REMOTE_READ, 7, 8);
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
    expect_attributes(&w->a, IBV_ACCESS_REMOTE_WRITE, 7, 8);
}

static int set_up_fields(void **state)
{
    make_world(state)->fields = true;
    return connect_world(*state, false);
}

/* What iWARP has no value for reads as 0. */
static void fields_that_are_zero(void **state)
{
    struct world *w = *state;
    struct ibv_cq_ex *cq = (struct ibv_cq_ex *)(void *)w->a.cq;
    struct ibv_poll_cq_attr attr = {.comp_mask = 1};
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    int result;
    assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
    attr.comp_mask = 0;
    assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
    assert_int_equal(post(&w->a, &wr), 0);
    while ((result = ibv_start_poll(cq, &attr)) == ENOENT)
        ;
    assert_int_equal(result, 0);
    assert_int_equal(cq->status, IBV_WC_SUCCESS);
    assert_int_equal(cq->wr_id, 1);
    assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
    assert_int_equal(ibv_wc_read_qp_num(cq), w->a.qp->qp_num);
    assert_int_equal(ibv_wc_read_src_qp(cq), 0);
    assert_int_equal(ibv_wc_read_slid(cq), 0);
    assert_int_equal(ibv_wc_read_sl(cq), 0);
    assert_int_equal(ibv_wc_read_dlid_path_bits(cq), 0);
    assert_int_equal(ibv_next_poll(cq), ENOENT);
    ibv_end_poll(cq);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_of_requests),
        TEST(a_list_with_a_wrong_one),
        TEST(receives),
        TEST(attributes),
        cmocka_unit_test_setup_teardown(fields_that_are_zero, set_up_fields, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
