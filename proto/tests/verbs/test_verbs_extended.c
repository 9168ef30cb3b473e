/* SPDX-License-Identifier: BSD-3-Clause */
/* The extended interfaces: ibv_start_poll and ibv_wr_*, also of several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>

enum { ENTRIES = 2000, THREADS = 2 };

/* A queue pair in the error state: each request leaves an entry at once. */
struct setting {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq_ex *cq;
    struct ibv_qp *qp;
    unsigned seen[THREADS * ENTRIES]; /* entries by wr_id */
    atomic_uint failed;
};

static int set_up(void **state)
{
    struct setting *s = calloc(1, sizeof(*s));
    struct ibv_device **list = ibv_get_device_list(NULL);
    assert_non_null(s);
    s->context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    s->pd = ibv_alloc_pd(s->context);
    struct ibv_cq_init_attr_ex cq_attr = {.cqe = THREADS * ENTRIES,
                                          .wc_flags = IBV_WC_EX_WITH_BYTE_LEN};
    s->cq = ibv_create_cq_ex(s->context, &cq_attr);
    assert_non_null(s->cq);
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = ibv_cq_ex_to_cq(s->cq),
        .recv_cq = ibv_cq_ex_to_cq(s->cq),
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1},
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = s->pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND};
    s->qp = ibv_create_qp_ex(s->context, &attr);
    assert_non_null(s->qp);
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    assert_int_equal(ibv_modify_qp(s->qp, &error, IBV_QP_STATE), 0);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct setting *s = *state;
    assert_int_equal(ibv_destroy_qp(s->qp), 0);
    assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(s->cq)), 0);
    assert_int_equal(ibv_dealloc_pd(s->pd), 0);
    assert_int_equal(ibv_close_device(s->context), 0);
    free(s);
    return 0;
}

static void post_recv(struct setting *s, uint64_t id)
{
    struct ibv_recv_wr wr = {.wr_id = id}, *bad;
    assert_int_equal(ibv_post_recv(s->qp, &wr, &bad), 0);
}

/* Runs it in all threads at once. */
static void run(void *(*f)(void *), struct setting *s)
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, f, s), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* As most programs do that keep a receive queue filled. */
static void requests_are_posted_while_polling(void **state)
{
    struct setting *s = *state;
    struct ibv_poll_cq_attr attr = {0};
    struct ibv_wc wc;
    assert_int_equal(ibv_start_poll(s->cq, &attr), ENOENT);
    post_recv(s, 1);
    post_recv(s, 2);
    assert_int_equal(ibv_start_poll(s->cq, &attr), 0);
    assert_int_equal(s->cq->wr_id, 1);
    assert_int_equal(s->cq->status, IBV_WC_WR_FLUSH_ERR);
    post_recv(s, 3);
    assert_int_equal(s->cq->wr_id, 1);
    assert_int_equal(ibv_next_poll(s->cq), 0);
    assert_int_equal(s->cq->wr_id, 2);
    assert_int_equal(ibv_wc_read_opcode(s->cq), IBV_WC_RECV);
    assert_int_equal(ibv_next_poll(s->cq), 0);
    assert_int_equal(s->cq->wr_id, 3);
    assert_int_equal(ibv_next_poll(s->cq), ENOENT);
    post_recv(s, 4);
    ibv_end_poll(s->cq);
    assert_int_equal(ibv_poll_cq(ibv_cq_ex_to_cq(s->cq), 1, &wc), 1);
    assert_int_equal(wc.wr_id, 4);
}

static void *poll_all(void *context)
{
    struct setting *s = context;
    struct ibv_poll_cq_attr attr = {0};
    while (ibv_start_poll(s->cq, &attr) == 0) {
        uint64_t first = s->cq->wr_id;
        sched_yield();
        s->seen[first] += s->cq->wr_id == first;
        ibv_end_poll(s->cq);
    }
    return NULL;
}

static void an_entry_is_of_one_poller(void **state)
{
    struct setting *s = *state;
    for (unsigned i = 0; i < THREADS * ENTRIES; i++)
        post_recv(s, i);
    run(poll_all, s);
    for (unsigned i = 0; i < THREADS * ENTRIES; i++)
        assert_int_equal(s->seen[i], 1);
}

/* Posts requests in pairs: the wr_id of a first one is even, that of a second one the next. */
static void *build_all(void *context)
{
    struct setting *s = context;
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(s->qp);
    for (unsigned i = 0; i < ENTRIES; i += 2) {
        ibv_wr_start(qp);
        qp->wr_flags = 0;
        qp->wr_id = i;
        ibv_wr_send(qp);
        sched_yield();
        if (i % 8 == 0) {
            ibv_wr_abort(qp);
            continue;
        }
        qp->wr_id++;
        ibv_wr_send(qp);
        if (ibv_wr_complete(qp) != 0)
            atomic_fetch_add(&s->failed, 1);
    }
    return NULL;
}

/* ibv_wr_start takes the queue pair until ibv_wr_complete or ibv_wr_abort. */
static void lists_of_several_threads_stay_apart(void **state)
{
    struct setting *s = *state;
    struct ibv_cq *cq = ibv_cq_ex_to_cq(s->cq);
    struct ibv_wc wc[2];
    unsigned pairs = 0;
    run(build_all, s);
    for (; ibv_poll_cq(cq, 2, wc) == 2; pairs++) {
        assert_int_equal(wc[0].wr_id % 2, 0);
        assert_int_equal(wc[1].wr_id, wc[0].wr_id + 1);
    }
    assert_int_equal(pairs, THREADS * ENTRIES / 2 * 3 / 4);
    assert_int_equal(atomic_load(&s->failed), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_are_posted_while_polling),
        TEST(an_entry_is_of_one_poller),
        TEST(lists_of_several_threads_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
