/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues, shared receive queues and their events in detail. */
#include "verbs_world.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- queues of requests that are flushed at once ---- */

struct desk {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cqs[2];
    struct ibv_qp *qps[2]; /* each of one queue at first; in the error state */
};

static struct ibv_qp *make_flushing(struct desk *d, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .cap = {.max_recv_wr = 8}, .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp *qp = ibv_create_qp(d->pd, &init);
    assert_non_null(qp);
    assert_int_equal(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
    return qp;
}

static int set_up_desk(void **state)
{
    static struct desk d;
    struct ibv_device **list = ibv_get_device_list(NULL);
    d.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.channel = ibv_create_comp_channel(d.context);
    for (unsigned i = 0; i < 2; i++) {
        d.cqs[i] = ibv_create_cq(d.context, 4, &d.cqs[i], d.channel, 0);
        d.qps[i] = make_flushing(&d, d.cqs[i]);
    }
    *state = &d;
    return 0;
}

static int tear_down_desk(void **state)
{
    struct desk *d = *state;
    for (unsigned i = 0; i < 2; i++) {
        if (d->qps[i] != NULL)
            assert_int_equal(ibv_destroy_qp(d->qps[i]), 0);
        if (d->cqs[i] != NULL)
            assert_int_equal(ibv_destroy_cq(d->cqs[i]), 0);
    }
    assert_int_equal(ibv_destroy_comp_channel(d->channel), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), 0);
    assert_int_equal(ibv_close_device(d->context), 0);
    return 0;
}

/* Makes an entry of the queue pair's queue. */
static void make_entry(struct ibv_qp *qp, uint64_t id)
{
    struct ibv_recv_wr wr = {.wr_id = id}, *bad;
    assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

static void expect_entry(struct ibv_cq *cq, uint64_t id)
{
    struct ibv_wc wc;
    assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
    assert_int_equal(wc.wr_id, id);
}

static void expect_none(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void expect_cq_event(struct desk *d, unsigned i)
{
    struct ibv_cq *cq;
    void *its;
    assert_int_equal(ibv_get_cq_event(d->channel, &cq, &its), 0);
    assert_ptr_equal(cq, d->cqs[i]);
    assert_ptr_equal(its, &d->cqs[i]);
    ibv_ack_cq_events(cq, 1);
}

static void a_queue_goes_round(void **state)
{
    struct desk *d = *state;
    struct ibv_wc wc[8];
    for (uint64_t id = 0; id < 3; id++)
        make_entry(d->qps[0], id);
    assert_int_equal(ibv_poll_cq(d->cqs[0], 2, wc), 2);
    for (uint64_t id = 3; id < 6; id++)
        make_entry(d->qps[0], id);
    /* Its four entries begin in the middle; they keep their order in another size. */
    assert_int_equal(ibv_resize_cq(d->cqs[0], 6), 0);
    assert_int_equal(d->cqs[0]->cqe, 6);
    make_entry(d->qps[0], 6);
    make_entry(d->qps[0], 7);
    assert_int_equal(ibv_poll_cq(d->cqs[0], 8, wc), 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(wc[i].wr_id, 2 + i);
    expect_none(d->cqs[0]);
}

static void a_reset_takes_the_entries_of_one_pair(void **state)
{
    struct desk *d = *state;
    struct ibv_qp *other = make_flushing(d, d->cqs[0]);
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    make_entry(d->qps[0], 1);
    make_entry(other, 2);
    expect_entry(d->cqs[0], 1);
    make_entry(d->qps[0], 3);
    make_entry(other, 4);
    make_entry(d->qps[0], 5);
    assert_int_equal(ibv_modify_qp(d->qps[0], &reset, IBV_QP_STATE), 0);
    expect_entry(d->cqs[0], 2);
    expect_entry(d->cqs[0], 4);
    expect_none(d->cqs[0]);
    assert_int_equal(ibv_destroy_qp(other), 0);
}

static void a_queue_that_overruns_says_so_once(void **state)
{
    struct desk *d = *state;
    struct ibv_async_event event;
    for (uint64_t id = 0; id < 6; id++)
        make_entry(d->qps[0], id);
    assert_int_equal(ibv_get_async_event(d->context, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
    assert_ptr_equal(event.element.cq, d->cqs[0]);
    ibv_ack_async_event(&event);
    assert_false(is_readable(d->context->async_fd));
    for (uint64_t id = 0; id < 4; id++) /* what it had room for stays */
        expect_entry(d->cqs[0], id);
    struct ibv_wc wc;
    assert_int_equal(ibv_poll_cq(d->cqs[0], 1, &wc), -EIO);
}

/* Events of a queue that goes are gone, too; those of others wait on. */
static void events_go_with_their_queue(void **state)
{
    struct desk *d = *state;
    struct ibv_async_event event;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ibv_req_notify_cq(d->cqs[i], 0), 0);
        for (uint64_t id = 0; id < 5; id++)
            make_entry(d->qps[i], id);
    }
    assert_int_equal(ibv_destroy_qp(d->qps[0]), 0);
    assert_int_equal(ibv_destroy_cq(d->cqs[0]), 0);
    d->qps[0] = NULL;
    d->cqs[0] = NULL;
    expect_cq_event(d, 1);
    assert_false(is_readable(d->channel->fd));
    assert_int_equal(ibv_get_async_event(d->context, &event), 0);
    assert_ptr_equal(event.element.cq, d->cqs[1]);
    ibv_ack_async_event(&event);
    assert_false(is_readable(d->context->async_fd));
    assert_int_equal(fcntl(d->context->async_fd, F_SETFL, O_NONBLOCK), 0);
    errno = 0;
    assert_int_equal(ibv_get_async_event(d->context, &event), -1);
    assert_int_equal(errno, EAGAIN);
}

/* One event for each time that a queue is armed; several queues take turns. */
static void queues_of_a_channel_take_turns(void **state)
{
    struct desk *d = *state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ibv_req_notify_cq(d->cqs[i], 0), 0);
    make_entry(d->qps[1], 1);
    make_entry(d->qps[1], 2); /* it is not armed any more */
    make_entry(d->qps[0], 3);
    assert_int_equal(ibv_req_notify_cq(d->cqs[1], 0), 0);
    make_entry(d->qps[1], 4);
    expect_cq_event(d, 1);
    expect_cq_event(d, 0);
    expect_cq_event(d, 1);
    assert_false(is_readable(d->channel->fd));
}

/* Entries with an error raise an event also where only solicited ones are asked for. */
static void errors_are_solicited(void **state)
{
    struct desk *d = *state;
    assert_int_equal(ibv_req_notify_cq(d->cqs[0], 1), 0);
    make_entry(d->qps[0], 1);
    expect_cq_event(d, 0);
}

static void a_queue_without_channel_may_be_armed(void **state)
{
    struct desk *d = *state;
    struct ibv_cq *cq = ibv_create_cq(d->context, 4, NULL, NULL, 0);
    struct ibv_qp *qp = make_flushing(d, cq);
    assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
    make_entry(qp, 1);
    expect_entry(cq, 1);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The child of a fork has no part in its parent's events. */
static void events_are_of_one_process(void **state)
{
    struct desk *d = *state;
    int status;
    assert_int_equal(ibv_req_notify_cq(d->cqs[0], 0), 0);
    make_entry(d->qps[0], 1);
    assert_true(is_readable(d->channel->fd));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(is_readable(d->channel->fd) ? 1 : 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_cq_event(d, 0);
}

/* A channel may have any number, also that of a program's standard input, which it has closed. */
static void also_those_of_descriptor_0(void **state)
{
    struct desk *d = *state;
    int status;
    const int input = fcntl(STDIN_FILENO, F_DUPFD, 3);
    close(STDIN_FILENO);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(d->context);
    assert_int_equal(channel->fd, STDIN_FILENO);
    struct ibv_cq *cq = ibv_create_cq(d->context, 4, NULL, channel, 0);
    struct ibv_qp *qp = make_flushing(d, cq);
    assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
    make_entry(qp, 1);
    assert_true(is_readable(STDIN_FILENO));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(is_readable(STDIN_FILENO) ? 1 : 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
}

/* A connection needs room for one request in each direction. */
static void a_pair_of_no_depth_takes_one_request(void **state)
{
    struct desk *d = *state;
    struct ibv_qp_init_attr init = {
        .send_cq = d->cqs[0], .recv_cq = d->cqs[0], .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    struct ibv_qp *qp = ibv_create_qp(d->pd, &init);
    struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
    assert_non_null(qp);
    assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
    assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
    assert_int_equal(ibv_post_recv(qp, &wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    expect_none(d->cqs[0]);
}

/* ---- of a connection ---- */

static int set_up_channels(void **state)
{
    struct world *w = make_world(state);
    w->channels = true;
    return connect_world(w, false);
}

static void send_one(struct world *w, unsigned flags)
{
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    wr.send_flags = flags;
    post_recv(&w->b, 70, 0, 8);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->b, 70, IBV_WC_SUCCESS);
}

static void only_what_is_asked_for_is_an_event(void **state)
{
    struct world *w = *state;
    const int fd = w->b.channel->fd;
    struct ibv_cq *cq;
    void *its;
    assert_int_equal(ibv_req_notify_cq(w->b.cq, 1), 0);
    send_one(w, 0);
    assert_false(is_readable(fd));
    send_one(w, IBV_SEND_SOLICITED);
    assert_true(is_readable(fd));
    assert_int_equal(ibv_get_cq_event(w->b.channel, &cq, &its), 0);
    ibv_ack_cq_events(cq, 1);
    send_one(w, IBV_SEND_SOLICITED);
    assert_false(is_readable(fd)); /* it is not armed */
    /* Asking for less afterwards takes nothing back. */
    assert_int_equal(ibv_req_notify_cq(w->b.cq, 0), 0);
    assert_int_equal(ibv_req_notify_cq(w->b.cq, 1), 0);
    send_one(w, 0);
    assert_true(is_readable(fd));
    assert_int_equal(ibv_get_cq_event(w->b.channel, &cq, &its), 0);
    ibv_ack_cq_events(cq, 1);
}

/* ---- shared receive queues ---- */

static int post_shared(struct ibv_srq *srq, uint64_t id, int pieces)
{
    struct ibv_sge sges[3] = {{0}};
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = sges, .num_sge = pieces}, *bad = NULL;
    int result = ibv_post_srq_recv(srq, &wr, &bad);
    assert_ptr_equal(bad, result != 0 ? &wr : NULL);
    return result;
}

static void a_shared_queue_is_resized(void **state)
{
    struct desk *d = *state;
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 2}, .srq_context = d};
    struct ibv_srq *srq = ibv_create_srq(d->pd, &init);
    struct ibv_srq_attr attr;
    assert_ptr_equal(srq->srq_context, d);
    assert_ptr_equal(srq->pd, d->pd);
    assert_int_equal(post_shared(srq, 1, 3), EINVAL);
    assert_int_equal(post_shared(srq, 1, -1), EINVAL);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(post_shared(srq, i, 2), 0);
    assert_int_equal(post_shared(srq, 5, 2), ENOMEM);
    attr.max_wr = 3;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL); /* four wait */
    attr.max_wr = 16385;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
    attr.max_wr = 5;
    attr.srq_limit = 6;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
    attr.srq_limit = 5;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
    assert_int_equal(post_shared(srq, 5, 2), 0);
    assert_int_equal(post_shared(srq, 6, 2), ENOMEM);
    memset(&attr, 0x77, sizeof(attr));
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_int_equal(attr.max_wr, 5);
    assert_int_equal(attr.max_sge, 2);
    assert_int_equal(attr.srq_limit, 5);
    assert_int_equal(ibv_dealloc_pd(d->pd), EBUSY);
    assert_int_equal(ibv_destroy_srq(srq), 0);
}

static int set_up_shared(void **state)
{
    return set_up_with(state, true);
}

/* Receives keep their order and memory through a resize; the limit is reported once. */
static void a_shared_queue_goes_on_resized(void **state)
{
    struct world *w = *state;
    struct ibv_mr *mr = ibv_reg_mr(w->srq->pd, w->b.memory, MEMORY, LOCAL);
    struct ibv_srq_attr attr = {.max_wr = 7, .srq_limit = 2};
    struct ibv_async_event event;
    struct ibv_sge from = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &from, NULL, 0);
    wr.send_flags = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct ibv_sge sge = {(uintptr_t)&w->b.memory[i], 8, mr->lkey};
        struct ibv_recv_wr recv = {.wr_id = 80 + i, .sg_list = &sge, .num_sge = 1}, *bad;
        assert_int_equal(ibv_post_srq_recv(w->srq, &recv, &bad), 0);
    }
    assert_int_equal(ibv_modify_srq(w->srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
    for (unsigned i = 0; i < 4; i++) {
        w->a.memory[0] = 100 + i;
        assert_int_equal(post(&w->a, &wr), 0);
        expect_status(&w->b, 80 + i, IBV_WC_SUCCESS);
        assert_int_equal(w->b.memory[i], 100 + i);
        assert_int_equal(is_readable(w->b.id->verbs->async_fd), i >= 2);
    }
    assert_int_equal(ibv_get_async_event(w->b.id->verbs, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    ibv_ack_async_event(&event);
    assert_false(is_readable(w->b.id->verbs->async_fd));
    assert_int_equal(ibv_query_srq(w->srq, &attr), 0);
    assert_int_equal(attr.srq_limit, 0);
    /* Nothing is left: the next message ends the connection (RFC 5041 §7.2). */
    wr.send_flags = IBV_SEND_SIGNALED;
    assert_int_equal(post(&w->a, &wr), 0);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

#define DESK(f) cmocka_unit_test_setup_teardown(f, set_up_desk, tear_down_desk)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DESK(a_queue_goes_round),
        DESK(a_reset_takes_the_entries_of_one_pair),
        DESK(a_queue_that_overruns_says_so_once),
        DESK(events_go_with_their_queue),
        DESK(queues_of_a_channel_take_turns),
        DESK(errors_are_solicited),
        DESK(a_queue_without_channel_may_be_armed),
        DESK(events_are_of_one_process),
        DESK(also_those_of_descriptor_0),
        DESK(a_pair_of_no_depth_takes_one_request),
        DESK(a_shared_queue_is_resized),
        cmocka_unit_test_setup_teardown(only_what_is_asked_for_is_an_event, set_up_channels,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_shared_queue_goes_on_resized, set_up_shared, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
