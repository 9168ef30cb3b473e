/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows of both types. */
#include "verbs_world.h"

static struct ibv_mw_bind_info part_of(struct side *s, size_t offset, uint64_t length,
                                       unsigned access)
{
    return (struct ibv_mw_bind_info){s->mr, (uintptr_t)s->memory + offset, length, access};
}

static int bind_2(struct side *s, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
    struct ibv_send_wr wr = {.wr_id = 5,
                             .opcode = IBV_WR_BIND_MW,
                             .send_flags = IBV_SEND_SIGNALED,
                             .bind_mw = {mw, ibv_inc_rkey(mw->rkey), info}};
    mw->rkey = wr.bind_mw.rkey;
    return post(s, &wr);
}

static int invalidate(struct side *s, uint32_t rkey)
{
    struct ibv_send_wr wr = {.wr_id = 6,
                             .opcode = IBV_WR_LOCAL_INV,
                             .send_flags = IBV_SEND_SIGNALED,
                             .invalidate_rkey = rkey};
    return post(s, &wr);
}

/* Side a writes 8 octets through a window of side b. */
static void write_through(struct world *w, uint32_t rkey, size_t offset, enum ibv_wc_status status)
{
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, offset);
    struct ibv_sge back = sge_of(&w->a, 64, 8);
    struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &back, &w->b, offset);
    wr.wr.rdma.rkey = rkey;
    wr.send_flags = 0;
    wr.next = &read; /* through the region: shows that the Write has been carried out */
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 1, status);
}

static void a_window_opens_a_part_of_a_region(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    assert_non_null(mw);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 128, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    struct ibv_wc wc = next_of(&w->b);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
    w->a.memory[0] = 0x77;
    write_through(w, mw->rkey, 136, IBV_WC_SUCCESS);
    assert_int_equal(w->b.memory[17], 0x77);
    assert_int_equal(ibv_dereg_mr(w->b.mr), EBUSY);
    assert_int_equal(ibv_dealloc_pd(w->b.pd), EBUSY);
    /* Outside of the window it is closed. */
    w->a.memory[0] = 0x88;
    write_through(w, mw->rkey, 256, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(w->b.memory[32], 0);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* The right to write here means nothing for a window, but programs name it. */
static void a_window_takes_no_right_to_write_here(void **state)
{
    struct world *w = *state;
    const unsigned both = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, both)), 0);
    expect_status(&w->b, 5, IBV_WC_SUCCESS);
    w->a.memory[0] = 0x77;
    write_through(w, mw->rkey, 0, IBV_WC_SUCCESS);
    assert_int_equal(w->b.memory[0], 0x77);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void an_invalidated_window_is_closed(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_SUCCESS);
    assert_int_equal(invalidate(&w->b, mw->rkey), 0);
    struct ibv_wc wc = next_of(&w->b);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, IBV_WC_LOCAL_INV);
    uint32_t before = mw->rkey;
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_SUCCESS);
    write_through(w, mw->rkey, 0, IBV_WC_SUCCESS);
    w->b.memory[0] = 0x5a;
    write_through(w, before, 0, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(w->b.memory[0], 0x5a);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* RFC 5040: Send with Invalidate closes the window of the peer's stream. */
static void the_peer_invalidates(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_SUCCESS);
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND_WITH_INV, &sge, NULL, 0);
    wr.invalidate_rkey = mw->rkey;
    post_recv(&w->b, 70, 512, 8);
    assert_int_equal(post(&w->a, &wr), 0);
    struct ibv_wc wc = next_of(&w->b);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
    assert_int_equal(wc.invalidated_rkey, mw->rkey);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    write_through(w, mw->rkey, 0, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* A window of type 2 that has been invalidated is not bound to its region any more, whoever did it.
 */
static void an_invalidated_window_leaves_its_region(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    struct ibv_mr *mr = w->b.mr;
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_SUCCESS);
    assert_int_equal(ibv_dereg_mr(mr), EBUSY);
    assert_int_equal(invalidate(&w->b, mw->rkey), 0);
    expect_status(&w->b, 6, IBV_WC_SUCCESS);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RIGHTS), 0);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_SUCCESS);
    assert_int_equal(ibv_dereg_mr(mr), EBUSY);
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND_WITH_INV, &sge, NULL, 0);
    wr.invalidate_rkey = mw->rkey;
    post_recv(&w->b, 70, 512, 8);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->b, 70, IBV_WC_SUCCESS);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    w->b.mr = ibv_reg_mr(w->b.pd, w->b.memory, MEMORY, RIGHTS);
    write_through(w, mw->rkey, 0, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void windows_of_type_1_get_their_key_at_once(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_1);
    struct ibv_mw_bind bind = {.wr_id = 8,
                               .send_flags = IBV_SEND_SIGNALED,
                               .bind_info = part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)};
    uint32_t before = mw->rkey;
    assert_int_equal(ibv_bind_mw(w->b.qp, mw, &bind), 0);
    assert_int_not_equal(mw->rkey, before);
    expect_status(&w->b, 8, IBV_WC_SUCCESS);
    w->a.memory[0] = 0x99;
    write_through(w, mw->rkey, 8, IBV_WC_SUCCESS);
    assert_int_equal(w->b.memory[1], 0x99);
    /* Of length 0: unbound. */
    bind.bind_info = (struct ibv_mw_bind_info){0};
    before = mw->rkey;
    assert_int_equal(ibv_bind_mw(w->b.qp, mw, &bind), 0);
    expect_status(&w->b, 8, IBV_WC_SUCCESS);
    write_through(w, before, 8, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* A second connection of side b, whose queue pair has the same domain. */
static void connect_again(struct world *w, struct world *other)
{
    memset(other, 0, sizeof(*other));
    listen_now(other);
    ask(other);
    struct side *b = &other->b;
    b->pd = w->b.pd;
    b->cq = make_queue(other, b);
    assert_non_null(b->cq);
    struct ibv_qp_init_attr attr = {
        .send_cq = b->cq,
        .recv_cq = b->cq,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    assert_int_equal(rdma_create_qp(b->id, b->pd, &attr), 0);
    struct rdma_conn_param p = {.responder_resources = 4, .initiator_depth = 4};
    assert_int_equal(rdma_accept(b->id, &p), 0);
    for (unsigned i = 0; i < 2; i++)
        expect_event(other, RDMA_CM_EVENT_ESTABLISHED);
}

static void drop_again(struct world *other)
{
    drop_side(&other->a);
    rdma_destroy_qp(other->b.id);
    assert_int_equal(rdma_destroy_id(other->b.id), 0);
    assert_int_equal(ibv_destroy_cq(other->b.cq), 0);
    assert_int_equal(rdma_destroy_id(other->listener), 0);
    rdma_destroy_event_channel(other->channel);
}

/* A window of type 1 is for all connections of its domain, one of type 2 for that which bound it
 * (RFC 5040 §7.2 knows STags of one stream). */
static void windows_and_connections(void **state)
{
    struct world *w = *state;
    static struct world other;
    for (unsigned type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
        connect_again(w, &other);
        struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, type);
        struct ibv_mw_bind bind = {.wr_id = 5,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .bind_info = part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)};
        if (type == IBV_MW_TYPE_1)
            assert_int_equal(ibv_bind_mw(w->b.qp, mw, &bind), 0);
        else
            assert_int_equal(bind_2(&w->b, mw, bind.bind_info), 0);
        expect_status(&w->b, 5, IBV_WC_SUCCESS);
        struct ibv_sge sge = sge_of(&other.a, 0, 8), back = sge_of(&other.a, 64, 8);
        struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 8);
        struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &back, &w->b, 8);
        wr.wr.rdma.rkey = mw->rkey;
        wr.send_flags = 0;
        wr.next = &read;
        w->b.memory[1] = 7;
        other.a.memory[0] = 8;
        assert_int_equal(post(&other.a, &wr), 0);
        expect_status(&other.a, 1, type == IBV_MW_TYPE_1 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
        assert_int_equal(w->b.memory[1], type == IBV_MW_TYPE_1 ? 8 : 7);
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        drop_again(&other);
    }
}

/* One of type 2 is bound again only after it has been invalidated; of no length it is refused. */
static void windows_bound_twice(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_SUCCESS);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 64, 64, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_MW_BIND_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_null(ibv_alloc_mw(w->b.pd, 0));
    assert_int_equal(errno, EINVAL);
    assert_null(ibv_alloc_mw(w->b.pd, 3));
    assert_int_equal(errno, EINVAL);
}

static void a_window_of_no_length(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 0, IBV_ACCESS_REMOTE_WRITE)), 0);
    expect_status(&w->b, 5, IBV_WC_MW_BIND_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void wrong_bindings_fail_in_their_turn(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mw = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
    struct ibv_mw_bind_info past = part_of(&w->b, MEMORY - 8, 64, IBV_ACCESS_REMOTE_READ);
    assert_int_equal(bind_2(&w->b, mw, part_of(&w->b, 0, 64, IBV_ACCESS_MW_BIND)), EINVAL);
    assert_int_equal(bind_2(&w->b, mw, past), 0);
    expect_status(&w->b, 5, IBV_WC_MW_BIND_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void regions_cannot_be_invalidated(void **state)
{
    struct world *w = *state;
    struct ibv_mw *mws[2];
    /* Beside windows that can, with keys on both sides of the region's. */
    for (unsigned i = 0; i < 2; i++) {
        mws[i] = ibv_alloc_mw(w->b.pd, IBV_MW_TYPE_2);
        mws[i]->rkey = (i == 0 ? 0u : w->b.mr->rkey) + 0x40000000u;
        assert_int_equal(bind_2(&w->b, mws[i], part_of(&w->b, 0, 64, IBV_ACCESS_REMOTE_READ)), 0);
        expect_status(&w->b, 5, IBV_WC_SUCCESS);
    }
    assert_int_equal(invalidate(&w->b, mws[1]->rkey), 0);
    expect_status(&w->b, 6, IBV_WC_SUCCESS);
    assert_int_equal(invalidate(&w->b, w->b.mr->rkey), 0);
    expect_status(&w->b, 6, IBV_WC_MW_BIND_ERR);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ibv_dealloc_mw(mws[i]), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_window_opens_a_part_of_a_region),
        TEST(a_window_takes_no_right_to_write_here),
        TEST(an_invalidated_window_is_closed),
        TEST(the_peer_invalidates),
        TEST(an_invalidated_window_leaves_its_region),
        TEST(windows_of_type_1_get_their_key_at_once),
        TEST(windows_and_connections),
        TEST(windows_bound_twice),
        TEST(a_window_of_no_length),
        TEST(wrong_bindings_fail_in_their_turn),
        TEST(regions_cannot_be_invalidated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
