/* SPDX-License-Identifier: BSD-3-Clause */
/* What is posted in a series of calls leaves together, at its end or with what is gathered. */
#include "series_found.h"
#include "tcp_given.h"
#include "verbs_world.h"

#include <time.h>
#include <unistd.h>

enum { PATIENCE = 120 /* s */, POLLS = 2000, LEAD = 20 };

static void poll_in_vain(struct world *w)
{
    struct ibv_wc wc;
    for (unsigned i = 0; i < POLLS; i++)
        assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
}

/* Posts two Writes in a series; nothing leaves before its end. Returns whether it has left then. */
static bool leaves_at_the_end(struct world *w)
{
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    begin_series();
    const uint64_t before = given();
    assert_int_equal(post(&w->a, &wr), 0);
    assert_int_equal(post(&w->a, &wr), 0);
    assert_int_equal(given(), before);
    end_series();
    const bool left = given() > before;
    for (unsigned i = 0; i < 2; i++)
        expect_status(&w->a, 1, IBV_WC_SUCCESS);
    return left;
}

/* Has b send a message, and a take it. */
static void hear(struct world *w)
{
    struct ibv_sge sge = sge_of(&w->b, 64, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    post_recv(&w->a, 7, 128, 8);
    assert_int_equal(post(&w->b, &wr), 0);
    expect_status(&w->a, 7, IBV_WC_SUCCESS);
    expect_status(&w->b, 1, IBV_WC_SUCCESS);
}

static void it_leaves_at_the_end_if_nobody_polls(void **state)
{
    const time_t end = time(NULL) + PATIENCE;
    do { /* until the thread has noticed */
        assert_true(time(NULL) < end);
        usleep(20000);
    } while (!leaves_at_the_end(*state));
}

static void an_answer_leaves_at_the_end(void **state)
{
    struct world *w = *state;
    for (unsigned i = 0; i < LEAD; i++) {
        poll_in_vain(w);
        hear(w);
        assert_true(leaves_at_the_end(w));
    }
}

static void more_than_an_answer_is_gathered(void **state)
{
    struct world *w = *state;
    const time_t end = time(NULL) + PATIENCE;
    hear(w);
    assert_true(leaves_at_the_end(w));
    for (int lead = 0; lead < LEAD;) {
        assert_true(time(NULL) < end);
        poll_in_vain(w);
        lead += leaves_at_the_end(w) ? -1 : 1;
    }
}

static void polls_in_a_series_receive(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->b, 64, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    memset(w->b.memory, 0x5a, sizeof(w->b.memory));
    post_recv(&w->a, 7, 128, 8);
    assert_int_equal(post(&w->b, &wr), 0);
    begin_series();
    expect_status(&w->a, 7, IBV_WC_SUCCESS);
    post_recv(&w->a, 8, 128, 8);
    end_series();
    assert_memory_equal((const uint8_t *)w->a.memory + 128, w->b.memory, 8);
    expect_status(&w->b, 1, IBV_WC_SUCCESS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_leaves_at_the_end_if_nobody_polls),
        TEST(an_answer_leaves_at_the_end),
        TEST(more_than_an_answer_is_gathered),
        TEST(polls_in_a_series_receive),
    };
    return cmocka_run_group_tests(tests, find_functions, NULL);
}
