/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests between two queue pairs, and how they end when something is wrong with them. */
#include "verbs_world.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

static void sends_are_received(void **state)
{
    struct world *w = *state;
    struct ibv_sge pieces[2] = {sge_of(&w->a, 0, 3), sge_of(&w->a, 100, 4)};
    struct ibv_send_wr wr = request(IBV_WR_SEND, pieces, NULL, 0);
    memcpy(w->a.memory, "abc", 3);
    memcpy((char *)w->a.memory + 100, "defg", 4);
    wr.num_sge = 2;
    post_recv(&w->b, 70, 8, 100);
    assert_int_equal(post(&w->a, &wr), 0);
    struct ibv_wc wc = next_of(&w->b);
    assert_int_equal(wc.wr_id, 70);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, IBV_WC_RECV);
    assert_int_equal(wc.byte_len, 7);
    assert_int_equal(wc.qp_num, w->b.qp->qp_num);
    assert_memory_equal(w->b.memory + 1, "abcdefg", 7);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
}

static void a_send_has_as_many_pieces_as_the_pair(void **state)
{
    struct world *w = *state;
    struct ibv_sge pieces[5];
    struct ibv_send_wr wr = request(IBV_WR_SEND, pieces, NULL, 0);
    memcpy(w->a.memory, "abcdefgh", 8);
    for (unsigned i = 0; i < 5; i++)
        pieces[i] = sge_of(&w->a, 7 - i, 1);
    wr.num_sge = 5;
    assert_int_equal(post(&w->a, &wr), EINVAL);
    wr.num_sge = -1;
    assert_int_equal(post(&w->a, &wr), EINVAL);
    wr.num_sge = 4;
    post_recv(&w->b, 70, 0, 8);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->b, 70, IBV_WC_SUCCESS);
    assert_memory_equal(w->b.memory, "hgfe", 4);
}

static void inline_memory_is_free_at_once(void **state)
{
    struct world *w = *state;
    char text[] = "inline";
    struct ibv_sge sge = {(uintptr_t)text, sizeof(text), 0};
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    wr.send_flags |= IBV_SEND_INLINE;
    post_recv(&w->b, 70, 0, 100);
    assert_int_equal(post(&w->a, &wr), 0);
    memset(text, 'x', sizeof(text));
    expect_status(&w->b, 70, IBV_WC_SUCCESS);
    assert_string_equal((char *)w->b.memory, "inline");
    sge.length = 65; /* each queue pair takes 64 */
    assert_int_equal(post(&w->a, &wr), EINVAL);
}

/* Takes some milliseconds: the thread steps back, and posts are gathered. */
static void poll_often(struct side *side)
{
    struct ibv_wc wc[8];
    for (unsigned i = 0; i < 20000; i++)
        assert_true(ibv_poll_cq(side->cq, 8, wc) >= 0);
}

static void unsignaled_sends_leave_no_entry(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    wr.send_flags = 0;
    poll_often(&w->a);
    for (unsigned i = 0; i < 100; i++) /* more than the queue is deep */
        assert_int_equal(post(&w->a, &wr), 0);
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr_id = 9;
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 9, IBV_WC_SUCCESS);
}

/* Posts of a program that polls are gathered; they leave though it polls no more. */
static void what_is_gathered_leaves_without_another_poll(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 1);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    volatile const char *at = (const char *)w->b.memory;
    for (char round = 1; round <= 8; round++) {
        const time_t began = time(NULL);
        poll_often(&w->a);
        *(char *)w->a.memory = round;
        assert_int_equal(post(&w->a, &wr), 0);
        while (*at != round) {
            assert_true(time(NULL) < began + 60);
            usleep(100);
        }
    }
}

static void many_small_posts_come_in_order(void **state)
{
    struct world *w = *state;
    struct ibv_wc wc;
    for (unsigned sent = 0, got = 0; got < 1000;) {
        struct ibv_sge sge = sge_of(&w->a, sent % 8, 1);
        struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, sent % 64);
        wr.wr_id = sent;
        if (sent < 1000 && sent - got < 40) {
            assert_int_equal(post(&w->a, &wr), 0);
            sent++;
            continue;
        }
        int n = ibv_poll_cq(w->a.cq, 1, &wc);
        assert_true(n >= 0);
        if (n == 0)
            continue;
        assert_int_equal(wc.status, IBV_WC_SUCCESS);
        assert_int_equal(wc.wr_id, got);
        got++;
    }
}

static void writes_and_reads_move_memory(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 16);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 64);
    memcpy(w->a.memory, "0123456789abcdef", 16);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    struct ibv_sge sink = sge_of(&w->a, 1024, 8);
    wr = request(IBV_WR_RDMA_READ, &sink, &w->b, 68);
    assert_int_equal(post(&w->a, &wr), 0);
    struct ibv_wc wc = next_of(&w->a);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
    assert_int_equal(wc.byte_len, 8);
    assert_memory_equal((char *)w->a.memory + 1024, "456789ab", 8);
}

static void atomics_return_the_value_before(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, &w->b, 16);
    w->b.memory[2] = 40;
    wr.wr.atomic.compare_add = 2;
    assert_int_equal(post(&w->a, &wr), 0);
    struct ibv_wc wc = next_of(&w->a);
    assert_int_equal(wc.opcode, IBV_WC_FETCH_ADD);
    assert_int_equal(w->a.memory[0], 40);
    assert_int_equal(w->b.memory[2], 42);
    wr = request(IBV_WR_ATOMIC_CMP_AND_SWP, &sge, &w->b, 16);
    wr.wr.atomic.compare_add = 42;
    wr.wr.atomic.swap = 7;
    assert_int_equal(post(&w->a, &wr), 0);
    wc = next_of(&w->a);
    assert_int_equal(wc.opcode, IBV_WC_COMP_SWAP);
    assert_int_equal(w->a.memory[0], 42);
    assert_int_equal(w->b.memory[2], 7);
}

/* RFC 7306 §6: the Write, then Immediate Data, which takes a receive. */
static void write_with_immediate(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, &sge, &w->b, 24);
    w->a.memory[0] = 0x1234;
    wr.imm_data = htonl(0xcafe);
    post_recv(&w->b, 70, 0, 0);
    assert_int_equal(post(&w->a, &wr), 0);
    struct ibv_wc wc = next_of(&w->b);
    assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
    assert_int_equal(ntohl(wc.imm_data), 0xcafe);
    assert_int_equal(w->b.memory[3], 0x1234);
    wc = next_of(&w->a); /* one entry for both parts */
    assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
    assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
}

static void what_iwarp_cannot_is_refused(void **state)
{
    struct world *w = *state;
    struct ibv_sge sges[2] = {sge_of(&w->a, 0, 8), sge_of(&w->a, 8, 8)};
    struct ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM, sges, NULL, 0);
    assert_int_equal(post(&w->a, &wr), EOPNOTSUPP);
    wr = request(IBV_WR_RDMA_READ, sges, &w->b, 0);
    wr.num_sge = 2; /* the sink is one STag */
    assert_int_equal(post(&w->a, &wr), EINVAL);
}

static void expect_end(struct side *s)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    struct ibv_wc wc;
    do {
        (void)ibv_poll_cq(s->cq, 1, &wc);
        assert_int_equal(ibv_query_qp(s->qp, &attr, IBV_QP_STATE, &init), 0);
    } while (attr.qp_state != IBV_QPS_ERR);
}

static void wrong_local_memory_fails_in_its_turn(void **state)
{
    struct world *w = *state;
    struct ibv_sge good = sge_of(&w->a, 0, 8), past = sge_of(&w->a, MEMORY - 4, 8);
    struct ibv_send_wr last = request(IBV_WR_RDMA_WRITE, &good, &w->b, 0);
    struct ibv_send_wr wrong = request(IBV_WR_RDMA_WRITE, &past, &w->b, 0);
    struct ibv_send_wr first = request(IBV_WR_RDMA_WRITE, &good, &w->b, 0);
    first.next = &wrong;
    wrong.next = &last;
    wrong.wr_id = 2;
    last.wr_id = 3;
    assert_int_equal(post(&w->a, &first), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    expect_status(&w->a, 2, IBV_WC_LOC_PROT_ERR);
    expect_status(&w->a, 3, IBV_WC_WR_FLUSH_ERR);
    expect_end(&w->b);
}

static void wrong_key_of_a_receive_is_refused(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->b, 0, 8);
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad = NULL;
    sge.lkey++;
    assert_int_equal(ibv_post_recv(w->b.qp, &wr, &bad), EINVAL);
    assert_ptr_equal(bad, &wr);
    sge = sge_of(&w->a, 0, 8); /* of another domain */
    assert_int_equal(ibv_post_recv(w->b.qp, &wr, &bad), EINVAL);
}

static void reading_without_right_fails(void **state)
{
    struct world *w = *state;
    struct ibv_mr *closed = ibv_reg_mr(w->b.pd, w->b.memory, 64, LOCAL);
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_READ, &sge, &w->b, 0);
    wr.wr.rdma.rkey = closed->rkey;
    post_recv(&w->a, 71, 512, 8);
    assert_int_equal(post(&w->a, &wr), 0);
    /* The entries of one queue come in order, those of two do not. */
    for (unsigned i = 0; i < 2; i++) {
        struct ibv_wc wc = next_of(&w->a);
        assert_int_equal(wc.status, wc.wr_id == 1 ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
    }
    expect_end(&w->a);
    assert_int_equal(ibv_dereg_mr(closed), 0);
}

static void a_short_receive_fails(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 16);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    post_recv(&w->b, 70, 0, 8);
    post_recv(&w->b, 71, 0, 8);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->b, 70, IBV_WC_LOC_LEN_ERR);
    expect_status(&w->b, 71, IBV_WC_WR_FLUSH_ERR);
}

/* The memory is the program's again when deregistering returns: nothing may be placed there. */
static void deregistered_memory_is_not_touched(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    post_recv(&w->b, 70, 0, 8);
    assert_int_equal(ibv_dereg_mr(w->b.mr), 0);
    w->b.mr = NULL;
    expect_status(&w->b, 70, IBV_WC_WR_FLUSH_ERR);
    w->b.memory[0] = 0x5a5a;
    w->a.memory[0] = 0x1111;
    (void)post(&w->a, &wr);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
    assert_int_equal(w->b.memory[0], 0x5a5a);
}

static void requests_in_the_error_state_are_flushed(void **state)
{
    struct world *w = *state;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    post_recv(&w->a, 60, 0, 8);
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_STATE), 0);
    expect_status(&w->a, 60, IBV_WC_WR_FLUSH_ERR);
    wr.send_flags = 0; /* a flushed request leaves an entry all the same */
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 1, IBV_WC_WR_FLUSH_ERR);
    post_recv(&w->a, 61, 0, 8);
    expect_status(&w->a, 61, IBV_WC_WR_FLUSH_ERR);
}

static int set_up_shared(void **state)
{
    return set_up_with(state, true);
}

static void a_shared_queue_gives_receives(void **state)
{
    struct world *w = *state;
    struct ibv_mr *mr = ibv_reg_mr(w->srq->pd, w->b.memory, MEMORY, LOCAL);
    struct ibv_srq_attr attr = {.srq_limit = 2};
    struct ibv_async_event event;
    struct ibv_sge from = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &from, NULL, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct ibv_sge sge = {(uintptr_t)&w->b.memory[i], 8, mr->lkey};
        struct ibv_recv_wr recv = {.wr_id = 80 + i, .sg_list = &sge, .num_sge = 1}, *bad;
        assert_int_equal(ibv_post_srq_recv(w->srq, &recv, &bad), 0);
    }
    assert_int_equal(ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT), 0);
    for (unsigned i = 0; i < 2; i++) {
        w->a.memory[0] = 100 + i;
        assert_int_equal(post(&w->a, &wr), 0);
        expect_status(&w->b, 80 + i, IBV_WC_SUCCESS);
        assert_int_equal(w->b.memory[i], 100 + i);
    }
    /* One is left, fewer than the limit. */
    assert_int_equal(ibv_get_async_event(w->b.id->verbs, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    assert_ptr_equal(event.element.srq, w->srq);
    ibv_ack_async_event(&event);
    /* Deregistering takes the last one away. */
    assert_int_equal(ibv_dereg_mr(mr), 0);
    w->b.memory[2] = 0x5a;
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->b, 82, IBV_WC_LOC_PROT_ERR);
    assert_int_equal(w->b.memory[2], 0x5a);
}

/* More messages than a queue pair holds receives for may come in one input. */
static void a_shared_queue_gives_many_at_once(void **state)
{
    enum { SENDS = 40 };
    struct world *w = *state;
    struct ibv_mr *mr = ibv_reg_mr(w->srq->pd, w->b.memory, MEMORY, LOCAL);
    struct ibv_sge from = sge_of(&w->a, 0, 8);
    struct ibv_send_wr list[SENDS], *bad_send;
    for (unsigned i = 0; i < SENDS; i++) {
        struct ibv_sge sge = {(uintptr_t)&w->b.memory[i], 8, mr->lkey};
        struct ibv_recv_wr recv = {.wr_id = 80 + i, .sg_list = &sge, .num_sge = 1}, *bad;
        assert_int_equal(ibv_post_srq_recv(w->srq, &recv, &bad), 0);
        list[i] = request(IBV_WR_SEND, &from, NULL, 0);
        list[i].send_flags = 0;
        list[i].next = i + 1 < SENDS ? &list[i + 1] : NULL;
    }
    assert_int_equal(ibv_post_send(w->a.qp, list, &bad_send), 0);
    for (unsigned i = 0; i < SENDS; i++)
        expect_status(&w->b, 80 + i, IBV_WC_SUCCESS);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* A program that waits in poll() drives both sides meanwhile: it need not ask for entries. */
static void waiting_in_poll_drives(void **state)
{
    struct world *w = *state;
    struct ibv_mr *mr = ibv_reg_mr(w->srq->pd, w->b.memory, MEMORY, LOCAL);
    struct ibv_srq_attr attr = {.srq_limit = 1};
    struct pollfd fd = {.fd = w->b.id->verbs->async_fd, .events = POLLIN};
    struct ibv_sge from = sge_of(&w->a, 0, 8), to = {(uintptr_t)w->b.memory, 8, mr->lkey};
    struct ibv_send_wr wr = request(IBV_WR_SEND, &from, NULL, 0);
    struct ibv_recv_wr recv = {.wr_id = 80, .sg_list = &to, .num_sge = 1}, *bad;
    struct ibv_async_event event;
    assert_int_equal(ibv_post_srq_recv(w->srq, &recv, &bad), 0);
    assert_int_equal(ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT), 0);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(post(&w->a, &wr), 0);
    assert_int_equal(poll(&fd, 1, -1), 1);
    assert_int_equal(ibv_get_async_event(w->b.id->verbs, &event), 0);
    assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    ibv_ack_async_event(&event);
    expect_status(&w->b, 80, IBV_WC_SUCCESS);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_drained_pair_goes_on(void **state)
{
    struct world *w = *state;
    struct ibv_qp_attr drained = {.qp_state = IBV_QPS_SQD}, ready = {.qp_state = IBV_QPS_RTS};
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    assert_int_equal(ibv_modify_qp(w->a.qp, &drained, IBV_QP_STATE), 0);
    assert_int_equal(post(&w->a, &wr), 0); /* to be sent when it goes on, at the latest */
    assert_int_equal(ibv_modify_qp(w->a.qp, &ready, IBV_QP_STATE), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
}

/* A reset ends the connection and leaves no entry. */
static void a_reset_discards_everything(void **state)
{
    struct world *w = *state;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    struct ibv_wc wc;
    post_recv(&w->a, 60, 0, 8);
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_STATE), 0);
    assert_int_equal(w->a.qp->state, IBV_QPS_RESET);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
    assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
    assert_int_equal(ibv_dereg_mr(w->a.mr), 0); /* nothing names it any more */
    w->a.mr = NULL;
    expect_end(&w->b);
}

static void a_pair_says_what_it_was_told(void **state)
{
    struct world *w = *state;
    struct ibv_qp_attr attr = {.max_rd_atomic = 7, .max_dest_rd_atomic = 9};
    struct ibv_qp_init_attr init;
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC), 0);
    assert_int_equal(ibv_query_qp(w->a.qp, &attr, 0, &init), 0);
    assert_int_equal(attr.max_rd_atomic, 7);
    assert_int_not_equal(attr.max_dest_rd_atomic, 9);
    attr.max_dest_rd_atomic = 9;
    attr.max_rd_atomic = 1;
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC), 0);
    assert_int_equal(ibv_query_qp(w->a.qp, &attr, 0, &init), 0);
    assert_int_equal(attr.max_rd_atomic, 7);
    assert_int_equal(attr.max_dest_rd_atomic, 9);
    assert_int_equal(attr.qp_state, IBV_QPS_RTS);
    assert_int_equal(attr.cur_qp_state, IBV_QPS_RTS);
    assert_int_equal(attr.path_mtu, IBV_MTU_1024);
    assert_int_equal(attr.port_num, 1);
    assert_int_equal(attr.cap.max_send_wr, 48);
    assert_int_equal(attr.cap.max_inline_data, 64);
    assert_ptr_equal(init.send_cq, w->a.cq);
    assert_ptr_equal(init.recv_cq, w->a.cq);
    assert_int_equal(init.cap.max_recv_wr, 16);
    /* A program that is wrong about the state is told so. */
    attr.cur_qp_state = IBV_QPS_SQD;
    attr.qp_state = IBV_QPS_ERR;
    assert_int_equal(ibv_modify_qp(w->a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(w->a.qp->state, IBV_QPS_RTS);
    assert_int_equal(ibv_query_qp_data_in_order(w->a.qp, IBV_WR_RDMA_WRITE, 0), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sends_are_received),
        TEST(a_send_has_as_many_pieces_as_the_pair),
        TEST(inline_memory_is_free_at_once),
        TEST(unsignaled_sends_leave_no_entry),
        TEST(what_is_gathered_leaves_without_another_poll),
        TEST(many_small_posts_come_in_order),
        TEST(what_is_gathered_leaves_without_another_poll),
        TEST(many_small_posts_come_in_order),
        TEST(writes_and_reads_move_memory),
        TEST(atomics_return_the_value_before),
        TEST(write_with_immediate),
        TEST(what_iwarp_cannot_is_refused),
        TEST(wrong_local_memory_fails_in_its_turn),
        TEST(wrong_key_of_a_receive_is_refused),
        TEST(reading_without_right_fails),
        TEST(a_short_receive_fails),
        TEST(deregistered_memory_is_not_touched),
        TEST(requests_in_the_error_state_are_flushed),
        TEST(a_drained_pair_goes_on),
        TEST(a_reset_discards_everything),
        TEST(a_pair_says_what_it_was_told),
        cmocka_unit_test_setup_teardown(a_shared_queue_gives_receives, set_up_shared, tear_down),
        cmocka_unit_test_setup_teardown(a_shared_queue_gives_many_at_once, set_up_shared,
                                        tear_down),
        cmocka_unit_test_setup_teardown(waiting_in_poll_drives, set_up_shared, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
