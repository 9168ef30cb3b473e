/* SPDX-License-Identifier: BSD-3-Clause */
/* What is held until something else is over: objects until their events are acknowledged, windows,
 * regions and domains until the requests that name them have gone. */
#include "series_found.h"
#include "verbs_world.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- events that are to be acknowledged ---- */

struct destroyer {
    int (*destroy)(void *object);
    void *object;
    atomic_int thread;
    atomic_bool over;
    int result;
};

static void *run(void *context)
{
    struct destroyer *d = context;
    atomic_store(&d->thread, (int)syscall(SYS_gettid));
    d->result = d->destroy(d->object);
    atomic_store(&d->over, true);
    return NULL;
}

/* Returns whether a thread sleeps, waiting for another one. */
static bool waits(int thread)
{
    char path[64], text[16] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        (void)!fgets(text, sizeof(text), f);
        fclose(f);
    }
    return atoi(text) == SYS_futex && text[0] != 'r';
}

static void begin(struct destroyer *d, pthread_t *thread)
{
    assert_int_equal(pthread_create(thread, NULL, run, d), 0);
    while (!atomic_load(&d->over) &&
           (atomic_load(&d->thread) == 0 || !waits(atomic_load(&d->thread))))
        usleep(500);
    assert_false(atomic_load(&d->over));
}

static void end(struct destroyer *d, pthread_t thread)
{
    pthread_join(thread, NULL);
    assert_int_equal(d->result, 0);
}

static int destroy_cq(void *object)
{
    return ibv_destroy_cq(object);
}

static int destroy_qp(void *object)
{
    return ibv_destroy_qp(object);
}

static int destroy_srq(void *object)
{
    return ibv_destroy_srq(object);
}

struct desk {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp; /* in the error state */
};

static int set_up_desk(void **state)
{
    static struct desk d;
    struct ibv_device **list = ibv_get_device_list(NULL);
    d.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.channel = ibv_create_comp_channel(d.context);
    d.cq = ibv_create_cq(d.context, 2, NULL, d.channel, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = d.cq, .recv_cq = d.cq, .cap = {.max_recv_wr = 1}, .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    d.qp = ibv_create_qp(d.pd, &init);
    assert_int_equal(ibv_modify_qp(d.qp, &error, IBV_QP_STATE), 0);
    *state = &d;
    return 0;
}

static int tear_down_desk(void **state)
{
    struct desk *d = *state;
    assert_int_equal(ibv_destroy_comp_channel(d->channel), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), 0);
    assert_int_equal(ibv_close_device(d->context), 0);
    return 0;
}

static void make_entry(struct desk *d)
{
    struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
    assert_int_equal(ibv_post_recv(d->qp, &wr, &bad), 0);
}

static void a_queue_until_its_events_are_acknowledged(void **state)
{
    struct desk *d = *state;
    struct ibv_cq *cq;
    struct ibv_wc wc;
    pthread_t thread;
    void *its;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ibv_req_notify_cq(d->cq, 0), 0);
        make_entry(d);
        assert_int_equal(ibv_poll_cq(d->cq, 1, &wc), 1);
        assert_int_equal(ibv_get_cq_event(d->channel, &cq, &its), 0);
    }
    assert_int_equal(ibv_destroy_qp(d->qp), 0);
    ibv_ack_cq_events(d->cq, 2);
    struct destroyer destroyer = {.destroy = destroy_cq, .object = d->cq};
    begin(&destroyer, &thread);
    ibv_ack_cq_events(d->cq, 1);
    end(&destroyer, thread);
}

static void also_its_asynchronous_ones(void **state)
{
    struct desk *d = *state;
    struct ibv_async_event event;
    pthread_t thread;
    for (unsigned i = 0; i < 4; i++)
        make_entry(d);
    assert_int_equal(ibv_get_async_event(d->context, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
    assert_int_equal(ibv_destroy_qp(d->qp), 0);
    struct destroyer destroyer = {.destroy = destroy_cq, .object = d->cq};
    begin(&destroyer, &thread);
    ibv_ack_async_event(&event);
    end(&destroyer, thread);
}

/* The peer's fault is an event of the queue pair. */
static void a_pair_until_its_events_are_acknowledged(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    struct ibv_async_event event;
    struct ibv_qp *faulty = NULL;
    pthread_t thread;
    wr.wr.rdma.rkey++; /* no region's */
    assert_int_equal(post(&w->a, &wr), 0);
    for (unsigned i = 0; i < 2; i++) { /* one of each side, in any order */
        assert_int_equal(ibv_get_async_event(w->b.id->verbs, &event), 0);
        assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
        assert_true(event.element.qp == w->a.qp || event.element.qp == w->b.qp);
        assert_ptr_not_equal(event.element.qp, faulty);
        faulty = event.element.qp;
        if (faulty == w->a.qp)
            ibv_ack_async_event(&event);
    }
    assert_int_equal(w->b.qp->state, IBV_QPS_ERR);
    struct destroyer destroyer = {.destroy = destroy_qp, .object = w->b.qp};
    begin(&destroyer, &thread);
    event.element.qp = w->b.qp;
    ibv_ack_async_event(&event);
    end(&destroyer, thread);
    w->b.qp = NULL;
    w->b.id->qp = NULL;
}

static int set_up_shared(void **state)
{
    return set_up_with(state, true);
}

static void a_shared_queue_until_its_events_are_acknowledged(void **state)
{
    struct world *w = *state;
    struct ibv_srq_attr attr = {.srq_limit = 1};
    struct ibv_recv_wr recv = {.wr_id = 80}, *bad;
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
    struct ibv_async_event event;
    struct ibv_pd *pd = w->srq->pd;
    pthread_t thread;
    assert_int_equal(ibv_post_srq_recv(w->srq, &recv, &bad), 0);
    assert_int_equal(ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT), 0);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->b, 80, IBV_WC_SUCCESS);
    assert_int_equal(ibv_get_async_event(w->b.id->verbs, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    rdma_destroy_qp(w->b.id);
    w->b.qp = NULL;
    struct destroyer destroyer = {.destroy = destroy_srq, .object = w->srq};
    begin(&destroyer, &thread);
    ibv_ack_async_event(&event);
    end(&destroyer, thread);
    w->srq = NULL;
    assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* ---- windows and regions ---- */

static int bind_window(struct side *s, struct ibv_mw *mw, uint64_t length, unsigned flags)
{
    struct ibv_send_wr wr = {
        .wr_id = 5,
        .opcode = IBV_WR_BIND_MW,
        .send_flags = IBV_SEND_SIGNALED | flags,
        .bind_mw = {mw,
                    ibv_inc_rkey(mw->rkey),
                    {s->mr, (uintptr_t)s->memory, length, IBV_ACCESS_REMOTE_WRITE}}};
    mw->rkey = wr.bind_mw.rkey;
    return post(s, &wr);
}

/* A window that a request names stays: here one that waits for the answer to a Read. */
static void a_window_until_it_is_bound(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->a.pd, IBV_MW_TYPE_2);
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &sge, &w->b, 0);
    begin_series();
    const int posted = post(&w->a, &read);
    const int bound = bind_window(&w->a, mw, 64, IBV_SEND_FENCE);
    const int dropped = ibv_dealloc_mw(mw);
    end_series();
    assert_int_equal(posted, 0);
    assert_int_equal(bound, 0);
    assert_int_equal(dropped, EBUSY);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    expect_status(&w->a, 5, IBV_WC_SUCCESS);
    assert_int_equal(ibv_dereg_mr(w->a.mr), EBUSY);
    assert_int_equal(ibv_rereg_mr(w->a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RIGHTS),
                     IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(errno, EBUSY);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* The one that is named is invalidated, not that which was bound last. */
static void a_window_among_others(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mws[3];
    for (unsigned i = 0; i < 3; i++) {
        mws[i] = ibv_alloc_mw(w->a.pd, IBV_MW_TYPE_2);
        assert_int_equal(bind_window(&w->a, mws[i], 64, 0), 0);
        expect_status(&w->a, 5, IBV_WC_SUCCESS);
    }
    const uint32_t last = mws[2]->rkey;
    struct ibv_send_wr wr = {.wr_id = 6,
                             .opcode = IBV_WR_LOCAL_INV,
                             .send_flags = IBV_SEND_SIGNALED,
                             .invalidate_rkey = mws[0]->rkey};
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 6, IBV_WC_SUCCESS);
    struct ibv_sge sge = sge_of(&w->b, 0, 8), back = sge_of(&w->b, 64, 8);
    struct ibv_send_wr write = request(IBV_WR_RDMA_WRITE, &sge, &w->a, 8);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &back, &w->a, 8);
    w->b.memory[0] = 0x1234;
    write.wr.rdma.rkey = last;
    write.next = &read;
    write.send_flags = 0;
    assert_int_equal(post(&w->b, &write), 0);
    expect_status(&w->b, 1, IBV_WC_SUCCESS);
    assert_int_equal(w->b.memory[8], 0x1234);
    assert_int_equal(bind_window(&w->a, mws[0], 64, 0), 0); /* again */
    expect_status(&w->a, 5, IBV_WC_SUCCESS);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ibv_dereg_mr(w->a.mr), EBUSY);
        assert_int_equal(ibv_dealloc_mw(mws[i]), 0);
    }
}

/* Windows of a domain, of another one and of none. */
static void windows_are_of_a_domain(void **state)
{
    struct world *w = *state;
    struct ibv_mw *other = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    struct ibv_mw *mw = ibv_alloc_mw(w->a.pd, IBV_MW_TYPE_2);
    struct ibv_send_wr none = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
    assert_int_equal(bind_window(&w->a, other, 64, 0), EINVAL);
    assert_int_equal(post(&w->a, &none), EINVAL);
    assert_int_equal(ibv_dealloc_mw(other), 0); /* nothing names it */
    none.bind_mw.mw = mw;
    static const unsigned wrong[] = {IBV_ACCESS_MW_BIND, IBV_ACCESS_ZERO_BASED,
                                     IBV_ACCESS_ON_DEMAND, 1u << 30};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        none.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | wrong[i];
        assert_int_equal(post(&w->a, &none), EINVAL);
    }
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* What is flushed names nothing any more: a region goes without ending its pair's connection. */
static void regions_of_requests_that_have_gone(void **state)
{
    struct world *w = *state;
    for (unsigned i = 0; i < 3; i++) {
        struct ibv_mr *mr = ibv_reg_mr(w->a.pd, w->a.memory, MEMORY, RIGHTS);
        struct ibv_sge pieces[2] = {{(uintptr_t)w->a.memory, 8, mr->lkey},
                                    {(uintptr_t)w->a.memory + 64, 8, mr->lkey}};
        struct ibv_sge in = sge_of(&w->b, 0, 16);
        struct ibv_recv_wr recv = {.wr_id = 7, .sg_list = &in, .num_sge = 1}, *bad;
        struct ibv_send_wr wr = request(IBV_WR_SEND, pieces, NULL, 0);
        wr.num_sge = 2;
        assert_int_equal(ibv_post_recv(w->b.qp, &recv, &bad), 0);
        assert_int_equal(post(&w->a, &wr), 0);
        expect_status(&w->b, 7, IBV_WC_SUCCESS);
        expect_status(&w->a, 1, IBV_WC_SUCCESS);
        pieces[1].lkey++; /* a list that is wrong names nothing either */
        struct ibv_recv_wr wrong = {.wr_id = 8, .sg_list = pieces, .num_sge = 2};
        assert_int_equal(ibv_post_recv(w->a.qp, &wrong, &bad), EINVAL);
        assert_int_equal(ibv_dereg_mr(mr), 0);
        assert_int_equal(w->a.qp->state, IBV_QPS_RTS);
        assert_int_equal(w->b.qp->state, IBV_QPS_RTS);
    }
}

static struct ibv_qp *ready_pair(struct world *w, const struct ibv_mr *mr, unsigned receives)
{
    struct ibv_qp_init_attr init = {.send_cq = w->a.cq,
                                    .recv_cq = w->a.cq,
                                    .cap = {.max_recv_wr = 4, .max_recv_sge = 2},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr ready = {.qp_state = IBV_QPS_INIT};
    struct ibv_qp *qp = ibv_create_qp(w->a.pd, &init);
    assert_int_equal(ibv_modify_qp(qp, &ready, IBV_QP_STATE), 0);
    for (unsigned i = 0; i < receives; i++) {
        struct ibv_sge sges[2] = {
            sge_of(&w->a, 0, 8),
            {(uintptr_t)mr->addr, 8, i + 1 == receives ? mr->lkey : w->a.mr->lkey}};
        struct ibv_recv_wr wr = {.wr_id = 40 + i, .sg_list = sges, .num_sge = 2}, *bad;
        assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
    }
    return qp;
}

/* A region that goes ends the pairs whose requests name it, in whatever place, and no others. */
static void a_region_ends_who_names_it(void **state)
{
    struct world *w = *state;
    struct ibv_mr *mr = ibv_reg_mr(w->a.pd, w->a.memory, MEMORY, RIGHTS);
    struct ibv_qp *none = ready_pair(w, mr, 0), *first = ready_pair(w, mr, 1);
    struct ibv_qp *third = ready_pair(w, mr, 3);
    struct ibv_mr *other = ibv_reg_mr(w->a.pd, w->a.memory, MEMORY, RIGHTS);
    assert_int_equal(ibv_dereg_mr(other), 0); /* which nobody names */
    assert_int_equal(first->state, IBV_QPS_INIT);
    assert_int_equal(third->state, IBV_QPS_INIT);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(none->state, IBV_QPS_INIT);
    assert_int_equal(first->state, IBV_QPS_ERR);
    assert_int_equal(third->state, IBV_QPS_ERR);
    assert_int_equal(w->a.qp->state, IBV_QPS_RTS);
    unsigned flushed[2] = {0};
    for (unsigned i = 0; i < 4; i++) {
        const struct ibv_wc wc = next_of(&w->a);
        assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
        assert_int_equal(wc.opcode, IBV_WC_RECV);
        const unsigned of = wc.qp_num == third->qp_num;
        assert_int_equal(wc.qp_num, of != 0 ? third->qp_num : first->qp_num);
        assert_int_equal(wc.wr_id, 40 + flushed[of]++);
    }
    assert_int_equal(flushed[0], 1);
    assert_int_equal(flushed[1], 3);
    /* One that goes takes its entries with it. */
    struct ibv_recv_wr wr = {.wr_id = 50}, *bad;
    struct ibv_wc wc;
    assert_int_equal(ibv_post_recv(first, &wr, &bad), 0);
    assert_int_equal(ibv_post_recv(third, &wr, &bad), 0);
    assert_int_equal(ibv_destroy_qp(third), 0);
    assert_int_equal(next_of(&w->a).qp_num, first->qp_num);
    assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
    assert_int_equal(ibv_destroy_qp(first), 0);
    assert_int_equal(ibv_destroy_qp(none), 0);
}

/* A region that moves to another domain is counted there. */
static void domains_of_regions(void **state)
{
    struct world *w = *state;
    struct ibv_pd *first = ibv_alloc_pd(w->a.id->verbs), *second = ibv_alloc_pd(w->a.id->verbs);
    struct ibv_mr *mr = ibv_reg_mr(first, w->a.memory, 64, LOCAL);
    assert_int_equal(ibv_dealloc_pd(first), EBUSY);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, second, NULL, 0, 0), 0);
    assert_ptr_equal(mr->pd, second);
    assert_ptr_equal(mr->addr, w->a.memory);
    assert_int_equal(mr->length, 64);
    assert_int_equal(ibv_dealloc_pd(second), EBUSY);
    assert_int_equal(ibv_dealloc_pd(first), 0);
    assert_int_equal(ibv_rereg_mr(mr, 0, second, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(
        ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
        IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(
        ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, w->a.memory + 1, 72, 0), 0);
    assert_ptr_equal(mr->addr, w->a.memory + 1);
    assert_int_equal(mr->length, 72);
    assert_int_equal(mr->handle, mr->lkey);
    assert_int_equal(mr->rkey, mr->lkey);
    assert_ptr_equal(mr->context, w->a.id->verbs);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(second), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define DESK(f) cmocka_unit_test_setup_teardown(f, set_up_desk, tear_down_desk)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DESK(a_queue_until_its_events_are_acknowledged),
        DESK(also_its_asynchronous_ones),
        TEST(a_pair_until_its_events_are_acknowledged),
        cmocka_unit_test_setup_teardown(a_shared_queue_until_its_events_are_acknowledged,
                                        set_up_shared, tear_down),
        TEST(a_window_until_it_is_bound),
        TEST(a_window_among_others),
        TEST(windows_are_of_a_domain),
        TEST(regions_of_requests_that_have_gone),
        TEST(a_region_ends_who_names_it),
        TEST(domains_of_regions),
    };
    return cmocka_run_group_tests(tests, find_functions, NULL);
}
