/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is a limited number of: requests that are gathered, events that wait, queue pairs and
 * their numbers, pieces and octets of requests. At each limit, and one past it. */
#include "series_found.h"
#include "tcp_given.h"
#include "verbs_world.h"

#include <fcntl.h>
#include <poll.h>

/* ---- requests that are gathered ---- */

enum { LARGE = 300000 };

static uint8_t from[LARGE], to[LARGE];

/* Posts Writes of this many octets in a series until something goes to TCP. Returns how many waited
 * before that. */
static unsigned gathered(struct world *w, struct ibv_mr *source, struct ibv_mr *sink,
                         const uint32_t *pieces, int count, enum ibv_wr_opcode opcode)
{
    struct ibv_sge sges[4];
    unsigned waiting = 0;
    int result;
    for (int i = 0; i < count; i++)
        sges[i] = (struct ibv_sge){(uintptr_t)from, pieces[i], source->lkey};
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = sges,
                             .num_sge = count,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {(uintptr_t)to, sink->rkey}};
    begin_series();
    const uint64_t before = given();
    do
        result = post(&w->a, &wr);
    while (result == 0 && ++waiting > 0 && given() == before);
    end_series();
    assert_int_equal(result, 0);
    for (unsigned i = 0; i < waiting; i++)
        expect_status(&w->a, 1, IBV_WC_SUCCESS);
    /* The answer to a Read says that the other end has taken all of it: TCP has room again. */
    struct ibv_sge back = sge_of(&w->a, 0, 8);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &back, &w->b, 0);
    assert_int_equal(post(&w->a, &read), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    return waiting - 1;
}

static void what_is_gathered(void **state)
{
    static const struct {
        uint32_t pieces[4];
        int count;
        unsigned waiting;
    } rows[] = {
        {{1024}, 1, 32},  {{512, 0, 500, 12}, 4, 32},
        {{1025}, 1, 31},  {{7168}, 1, 8},
        {{7169}, 1, 7},   {{15360}, 1, 4},
        {{15361}, 1, 4},  {{20000}, 1, 4},
        {{65536}, 1, 4},  {{32768, 32768}, 2, 4},
        {{65537}, 1, 0},  {{32768, 32769}, 2, 0},
        {{200000}, 1, 0},
    };
    struct world *w = *state;
    struct ibv_mr *source = ibv_reg_mr(w->a.pd, from, LARGE, LOCAL);
    struct ibv_mr *sink =
        ibv_reg_mr(w->b.pd, to, LARGE, LOCAL | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned twice = 0; twice < 2; twice++) /* each time from nothing */
            assert_int_equal(
                gathered(w, source, sink, rows[i].pieces, rows[i].count, IBV_WR_RDMA_WRITE),
                rows[i].waiting);
    assert_int_equal(ibv_dereg_mr(source), 0);
    /* A Read sends none of its octets. Its fifth one waits for an answer: four at a time. */
    source = ibv_reg_mr(w->a.pd, from, LARGE, LOCAL);
    struct ibv_sge sge = {(uintptr_t)from, 200000, source->lkey};
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &sge, &w->b, 0);
    read.wr.rdma.rkey = sink->rkey;
    read.wr.rdma.remote_addr = (uintptr_t)to;
    memset(to, 0x5a, sizeof(to));
    begin_series();
    const uint64_t before = given();
    const int result = post(&w->a, &read);
    const uint64_t after = given();
    end_series();
    assert_int_equal(result, 0);
    assert_int_equal(after, before);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    assert_memory_equal(from, to, 200000);
    assert_int_equal(ibv_dereg_mr(source), 0);
    assert_int_equal(ibv_dereg_mr(sink), 0);
}

/* A list counts as a whole. */
static void a_list_that_is_gathered(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr list[3];
    for (unsigned i = 0; i < 3; i++) {
        list[i] = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
        list[i].next = i < 2 ? &list[i + 1] : NULL;
    }
    begin_series();
    const uint64_t before = given();
    const int result = post(&w->a, list);
    const uint64_t after = given();
    end_series();
    assert_int_equal(result, 0);
    assert_int_equal(after, before);
    for (unsigned i = 0; i < 3; i++)
        expect_status(&w->a, 1, IBV_WC_SUCCESS);
    assert_true(given() > before);
}

/* A queue that is full of what has been gathered sends it, and has room again. */
static void a_full_queue_sends(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    wr.send_flags = 0;
    int result = 0;
    begin_series();
    const uint64_t before = given();
    for (unsigned i = 0; i < 48 && result == 0; i++)
        result = post(&w->a, &wr);
    const uint64_t full = given();
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr_id = 49;
    if (result == 0)
        result = post(&w->a, &wr);
    const uint64_t after = given();
    end_series();
    assert_int_equal(result, 0);
    assert_int_equal(full, before);
    assert_true(after > before);
    expect_status(&w->a, 49, IBV_WC_SUCCESS);
}

/* ---- objects without a connection ---- */

struct desk {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
};

static int set_up_desk(void **state)
{
    static struct desk d;
    struct ibv_device **list = ibv_get_device_list(NULL);
    d.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.cq = ibv_create_cq(d.context, 64, NULL, NULL, 0);
    *state = &d;
    return 0;
}

static int tear_down_desk(void **state)
{
    struct desk *d = *state;
    assert_int_equal(ibv_destroy_cq(d->cq), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), 0);
    assert_int_equal(ibv_close_device(d->context), 0);
    return 0;
}

static struct ibv_qp *make_qp(struct desk *d, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .cap = {.max_recv_wr = 1}, .qp_type = IBV_QPT_RC};
    return ibv_create_qp(d->pd, &init);
}

static void every_queue_pair_has_its_number(void **state)
{
    enum { MOST = 16384 };
    static struct ibv_qp *qps[MOST];
    static uint8_t seen[1 << 24];
    struct desk *d = *state;
    for (unsigned i = 0; i < MOST; i++) {
        qps[i] = make_qp(d, d->cq);
        assert_non_null(qps[i]);
        assert_in_range(qps[i]->qp_num, 2, 0xffffff);
        assert_int_equal(seen[qps[i]->qp_num]++, 0);
    }
    errno = 0;
    assert_null(make_qp(d, d->cq));
    assert_int_equal(errno, ENOMEM);
    const uint32_t gone = qps[7]->qp_num;
    assert_int_equal(ibv_destroy_qp(qps[7]), 0);
    qps[7] = make_qp(d, d->cq); /* there is room for one again */
    assert_non_null(qps[7]);
    assert_int_not_equal(qps[7]->qp_num, gone); /* and a number is not used again at once */
    assert_null(make_qp(d, d->cq));
    for (unsigned i = 0; i < MOST; i++)
        assert_int_equal(ibv_destroy_qp(qps[i]), 0);
}

/* Makes a queue of one entry overrun, which is an asynchronous event. */
static void overrun(struct ibv_qp *qp)
{
    struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

/* As many as wait are kept, in their order and beyond the end of the ring; no more. */
static void asynchronous_events(void **state)
{
    enum { MOST = 1024, MORE = 30, ALL = MOST + MORE };
    static struct ibv_cq *cqs[2 * ALL];
    static struct ibv_qp *qps[2 * ALL];
    struct desk *d = *state;
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_async_event event;
    for (unsigned round = 0; round < 2; round++) {
        struct ibv_cq **cq = cqs + round * ALL;
        struct ibv_qp **qp = qps + round * ALL;
        for (unsigned i = 0; i < ALL; i++) {
            cq[i] = ibv_create_cq(d->context, 1, NULL, NULL, 0);
            qp[i] = make_qp(d, cq[i]);
            assert_int_equal(ibv_modify_qp(qp[i], &error, IBV_QP_STATE), 0);
            overrun(qp[i]);
        }
        /* Those of one that goes are dropped from their midst. */
        assert_int_equal(ibv_destroy_qp(qp[40]), 0);
        assert_int_equal(ibv_destroy_cq(cq[40]), 0);
        for (unsigned i = 0; i < MOST; i++) {
            if (i == 40)
                continue;
            assert_true(is_readable(d->context->async_fd));
            assert_int_equal(ibv_get_async_event(d->context, &event), 0);
            assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
            assert_ptr_equal(event.element.cq, cq[i]);
            ibv_ack_async_event(&event);
        }
        assert_false(is_readable(d->context->async_fd));
        for (unsigned i = 0; i < ALL; i++)
            if (i != 40) {
                assert_int_equal(ibv_destroy_qp(qp[i]), 0);
                assert_int_equal(ibv_destroy_cq(cq[i]), 0);
            }
    }
    assert_int_equal(fcntl(d->context->async_fd, F_SETFL, O_NONBLOCK), 0);
    errno = 0;
    assert_int_equal(ibv_get_async_event(d->context, &event), -1);
    assert_int_equal(errno, EAGAIN);
}

/* ---- inline data ---- */

static void inline_octets(void **state)
{
    struct world *w = *state;
    uint8_t text[65];
    for (unsigned i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(i + 1);
    struct ibv_sge sges[3] = {{(uintptr_t)text, 60, 0}, {0, 0, 0}, {(uintptr_t)text + 60, 4, 0}};
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, sges, &w->b, 0);
    wr.num_sge = 3;
    wr.send_flags |= IBV_SEND_INLINE;
    /* Each request in the queue has a place of its own. */
    int results[5];
    begin_series();
    for (unsigned i = 0; i < 3; i++) {
        wr.wr.rdma.remote_addr = (uintptr_t)w->b.memory + 64 * i;
        text[0] = (uint8_t)(100 + i);
        results[i] = post(&w->a, &wr);
    }
    sges[2].length = 5; /* 65 octets */
    results[3] = post(&w->a, &wr);
    sges[2].length = 4;
    sges[0].length = UINT32_MAX;
    results[4] = post(&w->a, &wr);
    end_series();
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(results[i], i < 3 ? 0 : EINVAL);
    for (unsigned i = 0; i < 3; i++) {
        const struct ibv_wc wc = next_of(&w->a);
        assert_int_equal(wc.status, IBV_WC_SUCCESS);
        assert_int_equal(wc.byte_len, 64);
    }
    struct ibv_sge back = sge_of(&w->a, 1024, 192);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &back, &w->b, 0);
    assert_int_equal(post(&w->a, &read), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t *got = (const uint8_t *)w->a.memory + 1024 + 64 * i;
        assert_int_equal(got[0], 100 + i);
        assert_memory_equal(got + 1, text + 1, 63);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define DESK(f) cmocka_unit_test_setup_teardown(f, set_up_desk, tear_down_desk)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_gathered), TEST(a_list_that_is_gathered),         TEST(a_full_queue_sends),
        TEST(inline_octets),    DESK(every_queue_pair_has_its_number), DESK(asynchronous_events),
    };
    return cmocka_run_group_tests(tests, find_functions, NULL);
}
