/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests built field by field (ibv_wr_*), and entries read field by field (ibv_cq_ex). */
#include "verbs_world.h"

#include <time.h>

enum { DEPTH = 48, PIECES = 4 }; /* of verbs_world.h */

static int set_up_fields(void **state)
{
    struct world *w = make_world(state);
    w->fields = true;
    return connect_world(w, false);
}

/* Begins requests of a, the next one with this id. */
static struct ibv_qp_ex *start(struct world *w, uint64_t id)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(w->a.qp);
    assert_non_null(qp);
    ibv_wr_start(qp);
    qp->wr_id = id;
    qp->wr_flags = IBV_SEND_SIGNALED;
    return qp;
}

static uint64_t at(const struct side *s, size_t offset)
{
    return (uintptr_t)s->memory + offset;
}

static void set_piece(struct ibv_qp_ex *qp, const struct side *s, size_t offset, uint32_t length)
{
    ibv_wr_set_sge(qp, s->mr->lkey, at(s, offset), length);
}

struct entry {
    enum ibv_wc_opcode opcode;
    enum ibv_wc_status status;
    uint64_t id, ts, wallclock;
    uint32_t byte_len, qp_num, flags, vendor_err, imm, invalidated;
};

static struct entry read_fields(struct ibv_cq_ex *cq)
{
    return (struct entry){.opcode = ibv_wc_read_opcode(cq),
                          .status = cq->status,
                          .id = cq->wr_id,
                          .ts = ibv_wc_read_completion_ts(cq),
                          .wallclock = ibv_wc_read_completion_wallclock_ns(cq),
                          .byte_len = ibv_wc_read_byte_len(cq),
                          .qp_num = ibv_wc_read_qp_num(cq),
                          .flags = ibv_wc_read_wc_flags(cq),
                          .vendor_err = ibv_wc_read_vendor_err(cq),
                          .imm = ntohl(ibv_wc_read_imm_data(cq)),
                          .invalidated = ibv_wc_read_invalidated_rkey(cq)};
}

/* Waits for entries and reads those that are there, at most `most`. Returns how many. */
static unsigned read_entries(struct side *s, struct entry *e, unsigned most)
{
    struct ibv_cq_ex *cq = (struct ibv_cq_ex *)(void *)s->cq;
    struct ibv_poll_cq_attr attr = {.comp_mask = 0};
    unsigned n = 0;
    int result;
    do
        result = ibv_start_poll(cq, &attr);
    while (result == ENOENT);
    assert_int_equal(result, 0);
    do
        e[n++] = read_fields(cq);
    while (n < most && (result = ibv_next_poll(cq)) == 0);
    ibv_end_poll(cq);
    assert_true(result == 0 || result == ENOENT);
    return n;
}

/* One entry, of a request that succeeded. */
static struct entry read_entry(struct side *s, uint64_t id)
{
    struct entry e;
    assert_int_equal(read_entries(s, &e, 1), 1);
    assert_int_equal(e.status, IBV_WC_SUCCESS);
    assert_int_equal(e.id, id);
    return e;
}

static void nothing_was_posted(struct world *w)
{
    struct ibv_wc wc;
    assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
}

static void several_requests_are_posted_at_once(void **state)
{
    struct world *w = *state;
    memcpy(w->a.memory, "abcdefgh", 8);
    w->b.memory[8] = 0x1122334455667788;
    struct ibv_qp_ex *qp = start(w, 5);
    struct ibv_sge pieces[2] = {sge_of(&w->a, 0, 3), sge_of(&w->a, 4, 4)};
    ibv_wr_rdma_write(qp, w->b.mr->rkey, at(&w->b, 16));
    ibv_wr_set_sge_list(qp, 2, pieces);
    qp->wr_id = 6;
    ibv_wr_rdma_read(qp, w->b.mr->rkey, at(&w->b, 64));
    set_piece(qp, &w->a, 128, 8);
    assert_int_equal(ibv_wr_complete(qp), 0);
    expect_status(&w->a, 5, IBV_WC_SUCCESS);
    expect_status(&w->a, 6, IBV_WC_SUCCESS);
    assert_memory_equal((char *)w->b.memory + 16, "abcefgh\0", 8);
    assert_int_equal(w->a.memory[16], 0x1122334455667788);
}

static void atomics_have_their_operands(void **state)
{
    struct world *w = *state;
    w->b.memory[1] = 40;
    struct ibv_qp_ex *qp = start(w, 7);
    ibv_wr_atomic_fetch_add(qp, w->b.mr->rkey, at(&w->b, 8), 2);
    set_piece(qp, &w->a, 0, 8);
    qp->wr_id = 8;
    ibv_wr_atomic_cmp_swp(qp, w->b.mr->rkey, at(&w->b, 8), 42, 77);
    set_piece(qp, &w->a, 8, 8);
    assert_int_equal(ibv_wr_complete(qp), 0);
    struct entry e = read_entry(&w->a, 7);
    assert_int_equal(e.opcode, IBV_WC_FETCH_ADD);
    assert_int_equal(e.byte_len, 8);
    e = read_entry(&w->a, 8);
    assert_int_equal(e.opcode, IBV_WC_COMP_SWAP);
    assert_int_equal(w->a.memory[0], 40);
    assert_int_equal(w->a.memory[1], 42);
    assert_int_equal(w->b.memory[1], 77);
}

static void receives_are_read(void **state)
{
    struct world *w = *state;
    post_recv(&w->b, 70, 0, 16);
    post_recv(&w->b, 71, 16, 16);
    struct ibv_qp_ex *qp = start(w, 1);
    ibv_wr_send(qp);
    set_piece(qp, &w->a, 0, 11);
    ibv_wr_rdma_write_imm(qp, w->b.mr->rkey, at(&w->b, 256), htonl(0xcafe));
    set_piece(qp, &w->a, 0, 8);
    assert_int_equal(ibv_wr_complete(qp), 0);
    struct entry e = read_entry(&w->b, 70);
    assert_int_equal(e.opcode, IBV_WC_RECV);
    assert_int_equal(e.byte_len, 11);
    assert_int_equal(e.qp_num, w->b.qp->qp_num);
    assert_int_equal(e.flags, 0);
    assert_int_equal(e.vendor_err, 0);
    e = read_entry(&w->b, 71);
    assert_int_equal(e.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    assert_int_equal(e.flags, IBV_WC_WITH_IMM);
    assert_int_equal(e.imm, 0xcafe);
}

static void windows_are_bound_and_invalidated(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->a.pd, IBV_MW_TYPE_2);
    struct ibv_mw_bind_info info = {.mr = w->a.mr,
                                    .addr = at(&w->a, 0),
                                    .length = 64,
                                    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    assert_non_null(mw);
    uint32_t rkey = ibv_inc_rkey(mw->rkey);
    struct ibv_qp_ex *qp = start(w, 10);
    ibv_wr_bind_mw(qp, mw, rkey, &info);
    assert_int_equal(ibv_wr_complete(qp), 0);
    expect_status(&w->a, 10, IBV_WC_SUCCESS);
    struct ibv_sge sge = sge_of(&w->b, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->a, 8);
    wr.wr.rdma.rkey = rkey;
    w->b.memory[0] = 0x1234;
    assert_int_equal(post(&w->b, &wr), 0);
    expect_status(&w->b, 1, IBV_WC_SUCCESS);
    qp = start(w, 11);
    ibv_wr_rdma_read(qp, w->b.mr->rkey, at(&w->b, 0)); /* after b's Write */
    set_piece(qp, &w->a, 128, 8);
    assert_int_equal(ibv_wr_complete(qp), 0);
    expect_status(&w->a, 11, IBV_WC_SUCCESS);
    qp = start(w, 12);
    ibv_wr_local_inv(qp, rkey);
    assert_int_equal(ibv_wr_complete(qp), 0);
    expect_status(&w->a, 12, IBV_WC_SUCCESS);
    qp = start(w, 13);
    ibv_wr_local_inv(qp, rkey); /* is not valid any more */
    assert_int_equal(ibv_wr_complete(qp), 0);
    assert_int_not_equal(next_of(&w->a).status, IBV_WC_SUCCESS);
    assert_int_equal(w->a.memory[1], 0x1234);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void a_send_invalidates(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    struct ibv_send_wr bind = {
        .wr_id = 20,
        .opcode = IBV_WR_BIND_MW,
        .send_flags = IBV_SEND_SIGNALED,
        .bind_mw = {.mw = mw,
                    .rkey = ibv_inc_rkey(mw->rkey),
                    .bind_info = {.mr = w->b.mr,
                                  .addr = at(&w->b, 0),
                                  .length = 64,
                                  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}}};
    assert_int_equal(post(&w->b, &bind), 0);
    expect_status(&w->b, 20, IBV_WC_SUCCESS);
    post_recv(&w->b, 70, 0, 8);
    struct ibv_qp_ex *qp = start(w, 1);
    ibv_wr_send_inv(qp, bind.bind_mw.rkey);
    set_piece(qp, &w->a, 0, 8);
    assert_int_equal(ibv_wr_complete(qp), 0);
    struct entry e = read_entry(&w->b, 70);
    assert_int_equal(e.flags, IBV_WC_WITH_INV);
    assert_int_equal(e.invalidated, bind.bind_mw.rkey);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* The memory of inline data is free at once; of several requests each has its own. */
static void inline_data_is_copied(void **state)
{
    struct world *w = *state;
    char first[] = "first of them, 32 octets exactly", second[] = "second";
    struct ibv_data_buf pieces[4] = {{first, 20}, {NULL, 0}, {first + 20, 1}, {first + 21, 11}};
    struct ibv_qp_ex *qp = start(w, 1);
    ibv_wr_rdma_write(qp, w->b.mr->rkey, at(&w->b, 0));
    ibv_wr_set_inline_data_list(qp, 4, pieces);
    ibv_wr_rdma_write(qp, w->b.mr->rkey, at(&w->b, 100));
    ibv_wr_set_inline_data(qp, second, 6);
    memset(first, 'x', sizeof(first));
    memset(second, 'x', sizeof(second));
    assert_int_equal(ibv_wr_complete(qp), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    qp = start(w, 2);
    ibv_wr_rdma_read(qp, w->b.mr->rkey, at(&w->b, 0)); /* after both */
    set_piece(qp, &w->a, 512, 8);
    assert_int_equal(ibv_wr_complete(qp), 0);
    expect_status(&w->a, 2, IBV_WC_SUCCESS);
    assert_memory_equal(w->b.memory, "first of them, 32 octets exactly\0", 33);
    assert_memory_equal((char *)w->b.memory + 100, "second\0", 7);
}

static void what_does_not_fit_is_refused_as_a_whole(void **state)
{
    struct world *w = *state;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    assert_int_equal(ibv_query_qp(w->a.qp, &attr, IBV_QP_CAP, &init), 0);
    uint8_t *octets = calloc(1, init.cap.max_inline_data);
    assert_non_null(octets);
    struct ibv_data_buf pieces[2] = {{octets, init.cap.max_inline_data}, {octets, 1}};
    struct ibv_sge sges[PIECES + 1] = {{0}};
    struct ibv_qp_ex *qp = start(w, 1);
    for (unsigned i = 0; i <= DEPTH; i++) {
        ibv_wr_rdma_write(qp, w->b.mr->rkey, at(&w->b, 0));
        set_piece(qp, &w->a, 0, 8);
    }
    assert_int_equal(ibv_wr_complete(qp), ENOMEM);
    nothing_was_posted(w);
    qp = start(w, 1);
    ibv_wr_send(qp);
    ibv_wr_set_inline_data_list(qp, 2, pieces);
    assert_int_equal(ibv_wr_complete(qp), EINVAL);
    nothing_was_posted(w);
    qp = start(w, 1);
    ibv_wr_send(qp);
    ibv_wr_set_sge_list(qp, PIECES + 1, sges);
    assert_int_equal(ibv_wr_complete(qp), EINVAL);
    nothing_was_posted(w);
    free(octets);
    /* As many as there is room for are posted. */
    qp = start(w, 1);
    for (unsigned i = 0; i < DEPTH; i++) {
        ibv_wr_rdma_write(qp, w->b.mr->rkey, at(&w->b, 0));
        set_piece(qp, &w->a, 0, 8);
    }
    assert_int_equal(ibv_wr_complete(qp), 0);
    for (unsigned i = 0; i < DEPTH; i++)
        expect_status(&w->a, 1, IBV_WC_SUCCESS);
}

/* The first thing that is wrong is returned, once. */
static void what_is_wrong_is_returned_at_the_end(void **state)
{
    struct world *w = *state;
    struct ibv_sge sges[PIECES + 1] = {{0}};
    char octet = 0;
    struct ibv_qp_ex *qp = start(w, 1);
    set_piece(qp, &w->a, 0, 8); /* of which request? */
    assert_int_equal(ibv_wr_complete(qp), EINVAL);
    qp = start(w, 1);
    ibv_wr_set_inline_data(qp, &octet, 1);
    assert_int_equal(ibv_wr_complete(qp), EINVAL);
    qp = start(w, 1);
    ibv_wr_send_imm(qp, 1); /* iWARP has none */
    ibv_wr_send(qp);
    ibv_wr_set_sge_list(qp, PIECES + 1, sges);
    assert_int_equal(ibv_wr_complete(qp), EOPNOTSUPP);
    qp = start(w, 1);
    ibv_wr_send_tso(qp, &octet, 1, 1);
    assert_int_equal(ibv_wr_complete(qp), EOPNOTSUPP);
    qp = start(w, 1);
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, NULL, 0, 0);
    assert_int_equal(ibv_wr_complete(qp), EOPNOTSUPP);
    qp = start(w, 1);
    ibv_wr_send(qp);
    ibv_wr_set_xrc_srqn(qp, 0);
    assert_int_equal(ibv_wr_complete(qp), EOPNOTSUPP);
    nothing_was_posted(w);
    qp = start(w, 1);
    ibv_wr_send_imm(qp, 1);
    ibv_wr_send(qp);
    ibv_wr_abort(qp);
    qp = start(w, 1);
    assert_int_equal(ibv_wr_complete(qp), 0); /* nothing */
    nothing_was_posted(w);
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void several_entries_are_read_at_once(void **state)
{
    struct world *w = *state;
    struct entry e[4];
    unsigned n = 0;
    struct ibv_qp_ex *qp = start(w, 30);
    for (unsigned i = 0; i < 3; i++) {
        qp->wr_id = 30 + i;
        ibv_wr_rdma_write(qp, w->b.mr->rkey, at(&w->b, 0));
        set_piece(qp, &w->a, 0, 8);
    }
    assert_int_equal(ibv_wr_complete(qp), 0);
    while (n < 3)
        n += read_entries(&w->a, e + n, 4 - n);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(e[i].id, 30 + i);
    nothing_was_posted(w);
}

static void entries_have_times(void **state)
{
    struct world *w = *state;
    struct ibv_qp_ex *qp = start(w, 1);
    ibv_wr_rdma_write(qp, w->b.mr->rkey, at(&w->b, 0));
    set_piece(qp, &w->a, 0, 8);
    uint64_t before = nanoseconds(CLOCK_MONOTONIC), day = nanoseconds(CLOCK_REALTIME);
    assert_int_equal(ibv_wr_complete(qp), 0);
    struct entry e = read_entry(&w->a, 1);
    assert_in_range(e.ts, before, nanoseconds(CLOCK_MONOTONIC));
    assert_in_range(e.wallclock, day, nanoseconds(CLOCK_REALTIME));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_fields, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(several_requests_are_posted_at_once),
        TEST(atomics_have_their_operands),
        TEST(receives_are_read),
        TEST(windows_are_bound_and_invalidated),
        TEST(a_send_invalidates),
        TEST(inline_data_is_copied),
        TEST(what_does_not_fit_is_refused_as_a_whole),
        TEST(what_is_wrong_is_returned_at_the_end),
        TEST(several_entries_are_read_at_once),
        TEST(entries_have_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
