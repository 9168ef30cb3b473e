/* SPDX-License-Identifier: BSD-3-Clause */
/* What a queue pair lets its peer do (qp_access_flags), whatever the rights of regions. */
#include "verbs_world.h"

enum {
    WRITE = IBV_ACCESS_REMOTE_WRITE,
    READ = IBV_ACCESS_REMOTE_READ,
    ATOMIC = IBV_ACCESS_REMOTE_ATOMIC,
    BEFORE = 0x1111,
    SENT = 0x2222
};

static unsigned access_of(const struct side *s)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    assert_int_equal(ibv_query_qp(s->qp, &attr, IBV_QP_ACCESS_FLAGS, &init), 0);
    return attr.qp_access_flags;
}

static void expect_error_state(const struct side *s)
{
    struct ibv_wc wc;
    while (s->qp->state != IBV_QPS_ERR)
        (void)ibv_poll_cq(s->cq, 1, &wc);
}

/* Has one side use the other's memory once, and read it: that shows that the first has been carried
 * out. Expects the status of the second; with IBV_WC_SUCCESS it has read `value`. */
static void use(struct side *from, struct side *to, enum ibv_wr_opcode opcode,
                enum ibv_wc_status status, uint64_t value)
{
    struct ibv_sge sge = sge_of(from, 0, 8), sink = sge_of(from, 64, 8);
    struct ibv_send_wr first = request(opcode, &sge, to, 0);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &sink, to, 0);
    from->memory[0] = SENT;
    to->memory[0] = BEFORE;
    first.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? BEFORE : 1;
    first.wr.atomic.swap = SENT;
    if (opcode == IBV_WR_RDMA_WRITE)
        first = request(opcode, &sge, to, 0);
    first.send_flags = 0;
    first.next = &read;
    read.wr_id = 2;
    read.send_flags |= IBV_SEND_FENCE;
    assert_int_equal(post(from, &first), 0);
    /* A Write completes when it has left; an atomic that fails leaves an entry of its own. */
    if (status != IBV_WC_SUCCESS && opcode != IBV_WR_RDMA_WRITE) {
        expect_status(from, 1, status);
        status = IBV_WC_WR_FLUSH_ERR;
    }
    expect_status(from, 2, status);
    if (status == IBV_WC_SUCCESS)
        assert_int_equal(from->memory[8], value);
    assert_int_equal(to->memory[0], status == IBV_WC_SUCCESS ? value : BEFORE);
}

static void all_is_allowed_until_the_program_says_less(void **state)
{
    struct world *w = *state;
    assert_int_equal(access_of(&w->a), WRITE | READ | ATOMIC);
    use(&w->a, &w->b, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS, SENT);
    use(&w->a, &w->b, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_SUCCESS, BEFORE + 1);
    use(&w->a, &w->b, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_SUCCESS, SENT);
}

static void writes_are_refused(void **state)
{
    struct world *w = *state;
    set_access(&w->b, READ | ATOMIC | IBV_ACCESS_LOCAL_WRITE);
    assert_int_equal(access_of(&w->b), READ | ATOMIC | IBV_ACCESS_LOCAL_WRITE);
    use(&w->a, &w->b, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_SUCCESS, BEFORE + 1);
    use(&w->b, &w->a, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS, SENT); /* the other way it is allowed */
    use(&w->a, &w->b, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR, 0);
    expect_error_state(&w->b);
}

static void atomics_are_refused(void **state)
{
    struct world *w = *state;
    set_access(&w->b, WRITE | READ);
    use(&w->a, &w->b, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS, SENT);
    use(&w->a, &w->b, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_REM_ACCESS_ERR, 0);
    expect_error_state(&w->b);
}

static void reads_are_refused(void **state)
{
    struct world *w = *state;
    struct ibv_sge sink = sge_of(&w->a, 64, 8), sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &sink, &w->b, 0);
    struct ibv_send_wr add = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, &w->b, 0);
    set_access(&w->b, WRITE | ATOMIC);
    assert_int_equal(post(&w->a, &add), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    w->a.memory[8] = BEFORE;
    assert_int_equal(post(&w->a, &read), 0);
    expect_status(&w->a, 1, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(w->a.memory[8], BEFORE);
    expect_error_state(&w->b);
}

/* A program may say it before it connects. Its own Reads need nothing. */
static void a_connection_begins_with_what_was_said(void **state)
{
    struct world *w = *state;
    assert_int_equal(access_of(&w->a), 0);
    use(&w->a, &w->b, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS, SENT);
    use(&w->b, &w->a, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR, 0);
    expect_error_state(&w->a);
}

static void what_was_refused_can_be_allowed(void **state)
{
    struct world *w = *state;
    set_access(&w->a, WRITE | READ);
    use(&w->b, &w->a, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS, SENT);
    use(&w->b, &w->a, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_ACCESS_ERR, 0);
}

static int set_up_closed(void **state)
{
    struct world *w = make_world(state);
    w->closed = true;
    return connect_world(w, false);
}

#define OPEN(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define CLOSED(f) cmocka_unit_test_setup_teardown(f, set_up_closed, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(all_is_allowed_until_the_program_says_less),
        OPEN(writes_are_refused),
        OPEN(atomics_are_refused),
        OPEN(reads_are_refused),
        CLOSED(a_connection_begins_with_what_was_said),
        CLOSED(what_was_refused_can_be_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
