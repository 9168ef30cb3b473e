/* SPDX-License-Identifier: BSD-3-Clause */
/* The device and the objects of verbs without a connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <unistd.h>

static struct ibv_context *open_it(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    assert_int_equal(count, 1);
    assert_string_equal(ibv_get_device_name(list[0]), "iwarp0");
    assert_null(list[1]);
    assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IWARP);
    struct ibv_context *context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    assert_non_null(context);
    return context;
}

static void the_device_says_what_it_can(void **state)
{
    struct ibv_context *context = open_it();
    struct ibv_device_attr_ex ex;
    struct ibv_port_attr port;
    union ibv_gid gid;
    __be16 pkey;
    (void)state;
    assert_int_equal(ibv_query_device_ex(context, NULL, &ex), 0);
    assert_int_equal(ex.orig_attr.node_guid, ibv_get_device_guid(context->device));
    assert_true(ex.orig_attr.max_mw > 0);
    assert_true(ex.orig_attr.vendor_id != 0 && ex.orig_attr.vendor_part_id != 0);
    assert_true((ex.orig_attr.page_size_cap & 4096) != 0); /* as well as larger ones */
    assert_true((ex.orig_attr.page_size_cap & 2097152) != 0);
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    assert_int_equal(port.state, IBV_PORT_ACTIVE);
    assert_int_equal(ibv_query_port(context, 2, &port), EINVAL);
    assert_true(port.gid_tbl_len > 0); /* this host has a loopback address */
    assert_int_equal(ibv_query_gid(context, 1, port.gid_tbl_len - 1, &gid), 0);
    assert_int_equal(ibv_query_gid(context, 1, port.gid_tbl_len, &gid), -1);
    assert_int_equal(ibv_query_pkey(context, 1, 0, &pkey), 0);
    assert_int_equal(ibv_query_pkey(context, 1, 1, &pkey), -1);
    assert_int_equal(ibv_close_device(context), 0);
}

static void a_table_of_gids_needs_room_for_all(void **state)
{
    struct ibv_context *context = open_it();
    struct ibv_port_attr port;
    union ibv_gid gid;
    (void)state;
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    struct ibv_gid_entry *entries = calloc((size_t)port.gid_tbl_len + 1, sizeof(*entries));
    assert_int_equal(ibv_query_gid_table(context, entries, (size_t)port.gid_tbl_len + 1, 0),
                     port.gid_tbl_len);
    assert_int_equal(ibv_query_gid_table(context, entries, (size_t)port.gid_tbl_len, 0),
                     port.gid_tbl_len);
    assert_int_equal(ibv_query_gid(context, 1, port.gid_tbl_len - 1, &gid), 0);
    assert_memory_equal(&entries[port.gid_tbl_len - 1].gid, &gid, sizeof(gid));
    assert_int_equal(ibv_query_gid_table(context, entries, (size_t)port.gid_tbl_len - 1, 0),
                     -EINVAL);
    free(entries);
    assert_int_equal(ibv_close_device(context), 0);
}

static void nothing_that_is_called_unchecked_is_missing(void **state)
{
    struct ibv_context *context = open_it();
    const struct ibv_context_ops *ops = &context->ops;
    (void)state;
    assert_true(ops->alloc_mw != NULL && ops->bind_mw != NULL && ops->dealloc_mw != NULL);
    assert_true(ops->poll_cq != NULL && ops->req_notify_cq != NULL && ops->post_srq_recv != NULL);
    assert_true(ops->post_send != NULL && ops->post_recv != NULL);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    assert_null(ibv_alloc_null_mr(pd));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

static void objects_in_use_stay(void **state)
{
    struct ibv_context *context = open_it();
    (void)state;
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 10, NULL, channel, 0);
    struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(pd, &srq_attr);
    struct ibv_qp_init_attr attr = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .srq = srq,
                                    .cap = {.max_send_wr = 4, .max_send_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    assert_non_null(qp);
    assert_int_equal(attr.cap.max_inline_data, 64);
    assert_int_equal(ibv_close_device(context), -1);
    assert_int_equal(errno, EBUSY);
    assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
    assert_int_equal(ibv_destroy_cq(cq), EBUSY);
    assert_int_equal(ibv_destroy_srq(srq), EBUSY);
    assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_destroy_srq(srq), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY); /* of the queue */
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

static void regions_need_sensible_rights(void **state)
{
    struct ibv_context *context = open_it();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    char memory[64];
    (void)state;
    assert_null(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_REMOTE_WRITE));
    assert_int_equal(errno, EINVAL); /* without the right to write here */
    assert_null(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_ON_DEMAND));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(ibv_reg_mr(pd, memory, SIZE_MAX, 0));
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory),
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
    assert_non_null(mr);
    assert_ptr_equal(mr->addr, memory);
    assert_int_not_equal(mr->lkey, 0);
    assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

static void regions_are_registered_anew(void **state)
{
    struct ibv_context *context = open_it();
    struct ibv_pd *pd = ibv_alloc_pd(context), *other = ibv_alloc_pd(context);
    char memory[64], elsewhere[16];
    (void)state;
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
    assert_int_equal(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(
        ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
        IBV_REREG_MR_ERR_INPUT);
    assert_ptr_equal(mr->addr, memory);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD,
                                  other, elsewhere, sizeof(elsewhere), 0),
                     0);
    assert_ptr_equal(mr->addr, elsewhere);
    assert_int_equal(mr->length, sizeof(elsewhere));
    assert_ptr_equal(mr->pd, other);
    assert_int_equal(ibv_dealloc_pd(pd), 0); /* nothing of it is left there */
    assert_int_equal(ibv_dealloc_pd(other), EBUSY);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(other), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

/* States by the book; what a transition leads to in the queue pair. */
static void states_follow_each_other(void **state)
{
    static const struct {
        enum ibv_qp_state to;
        int result;
    } moves[] = {{IBV_QPS_RTR, EINVAL}, {IBV_QPS_RTS, EINVAL}, {IBV_QPS_INIT, 0},
                 {IBV_QPS_INIT, 0},     {IBV_QPS_RTS, EINVAL}, {IBV_QPS_RTR, 0},
                 {IBV_QPS_SQD, EINVAL}, {IBV_QPS_ERR, 0},      {IBV_QPS_RTS, EINVAL},
                 {IBV_QPS_SQD, 0},      {IBV_QPS_RESET, 0},    {IBV_QPS_UNKNOWN, EINVAL}};
    struct ibv_context *context = open_it();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 10, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .cap = {.max_send_wr = 4, .max_recv_wr = 2},
                                    .qp_type = IBV_QPT_UD};
    struct ibv_recv_wr recv = {.wr_id = 5}, *bad_recv;
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send;
    struct ibv_qp_attr known;
    struct ibv_qp_init_attr made;
    struct ibv_wc wc;
    (void)state;
    assert_null(ibv_create_qp(pd, &attr));
    assert_int_equal(errno, EOPNOTSUPP);
    attr.qp_type = IBV_QPT_RC;
    attr.cap.max_send_wr = 1 << 20;
    assert_null(ibv_create_qp(pd, &attr));
    assert_int_equal(errno, EINVAL);
    attr.cap.max_send_wr = 4;
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    assert_int_equal(qp->state, IBV_QPS_RESET);
    assert_int_equal(ibv_query_qp(qp, &known, IBV_QP_STATE, &made), 0);
    assert_int_equal(known.qp_state, IBV_QPS_INIT); /* as of iWARP's devices */
    assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), EINVAL);
    assert_int_equal(ibv_post_send(qp, &send, &bad_send), EINVAL);
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        struct ibv_qp_attr a = {.qp_state = moves[i].to};
        enum ibv_qp_state before = qp->state;
        assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_STATE), moves[i].result);
        if (moves[i].result != 0)
            assert_int_equal(qp->state, before);
        if (i == 2) {
            assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), 0);
            assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), 0);
            assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), ENOMEM);
        }
        if (moves[i].to == IBV_QPS_ERR) {
            assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
            assert_int_equal(wc.wr_id, 5);
            assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
        }
    }
    assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0); /* the reset took the other one away */
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

/* Makes a queue pair whose receives are flushed at once, with events in `channel`. */
static void events_come_once_for_each_request(void **state)
{
    struct ibv_context *context = open_it();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 2, channel, channel, 0), *from;
    struct ibv_qp_init_attr attr = {
        .send_cq = cq, .recv_cq = cq, .cap = {.max_recv_wr = 8}, .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_recv_wr recv = {.wr_id = 5}, *bad;
    struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
    struct ibv_async_event async;
    struct ibv_wc wc[3];
    void *its;
    (void)state;
    assert_int_equal(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
    assert_int_equal(ibv_post_recv(qp, &recv, &bad), 0); /* not armed: no event */
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
    assert_int_equal(poll(&fd, 1, 0), 0); /* for what comes after */
    assert_int_equal(ibv_post_recv(qp, &recv, &bad), 0);
    assert_int_equal(poll(&fd, 1, -1), 1);
    assert_int_equal(ibv_get_cq_event(channel, &from, &its), 0);
    assert_ptr_equal(from, cq);
    assert_ptr_equal(its, channel);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(ibv_get_cq_event(channel, &from, &its), -1);
    assert_int_equal(errno, EAGAIN);
    ibv_ack_cq_events(cq, 1);
    /* A queue of two that gets a third entry has overrun. */
    assert_int_equal(ibv_post_recv(qp, &recv, &bad), 0);
    assert_int_equal(ibv_get_async_event(context, &async), 0);
    assert_int_equal(async.event_type, IBV_EVENT_CQ_ERR);
    ibv_ack_async_event(&async);
    assert_int_equal(ibv_poll_cq(cq, 3, wc), 2);
    assert_true(ibv_poll_cq(cq, 3, wc) < 0);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

static void queues_are_resized(void **state)
{
    struct ibv_context *context = open_it();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 2, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = {
        .send_cq = cq, .recv_cq = cq, .cap = {.max_recv_wr = 8}, .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = ibv_create_qp(pd, &attr);
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_recv_wr *bad;
    struct ibv_wc wc[5];
    (void)state;
    assert_int_equal(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
    for (unsigned i = 0; i < 4; i++) {
        struct ibv_recv_wr recv = {.wr_id = 10 + i};
        assert_int_equal(ibv_post_recv(qp, &recv, &bad), 0);
        if (i == 1)
            assert_int_equal(ibv_resize_cq(cq, 4), 0);
    }
    assert_int_equal(cq->cqe, 4);
    assert_int_equal(ibv_resize_cq(cq, 3), EINVAL); /* four entries wait */
    assert_int_equal(ibv_poll_cq(cq, 5, wc), 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(wc[i].wr_id, 10 + i);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

static void thread_domains_and_the_parents_of_domains(void **state)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_td_init_attr plain = {0}, more = {.comp_mask = 1};
    (void)state;
    ibv_free_device_list(list);
    struct ibv_td *td = ibv_alloc_td(context, &plain);
    assert_non_null(td);
    assert_ptr_equal(td->context, context);
    errno = 0;
    assert_null(ibv_alloc_td(context, &more));
    assert_int_equal(errno, EINVAL);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_parent_domain_init_attr of = {.pd = pd, .td = td};
    struct ibv_pd *parent = ibv_alloc_parent_domain(context, &of);
    assert_non_null(parent);
    assert_int_equal(ibv_dealloc_pd(parent), 0);
    assert_int_equal(ibv_dealloc_td(td), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_says_what_it_can),
        cmocka_unit_test(a_table_of_gids_needs_room_for_all),
        cmocka_unit_test(nothing_that_is_called_unchecked_is_missing),
        cmocka_unit_test(objects_in_use_stay),
        cmocka_unit_test(regions_need_sensible_rights),
        cmocka_unit_test(regions_are_registered_anew),
        cmocka_unit_test(states_follow_each_other),
        cmocka_unit_test(events_come_once_for_each_request),
        cmocka_unit_test(queues_are_resized),
        cmocka_unit_test(thread_domains_and_the_parents_of_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
