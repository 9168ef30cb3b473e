/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that come before a receive is posted wait for one, if the process has asked for that. */
#include "verbs_world.h"

#include <dlfcn.h>

enum { LOOKS = 20000, SIZE = 8 };

static int ask_for_spares(void **state)
{
    void *found = dlvsym(RTLD_DEFAULT, "iwarp_receives_spare", "IWARP_1.0");
    void (*receives_spare)(void);
    (void)state;
    memcpy(&receives_spare, &found, sizeof(found));
    if (found == NULL)
        return -1;
    receives_spare();
    return 0;
}

/* Message number n, whose octets say so. */
static void say(struct world *w, uint64_t n)
{
    struct ibv_sge sge = sge_of(&w->b, n * SIZE, SIZE);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    w->b.memory[n] = n + 1;
    assert_int_equal(post(&w->b, &wr), 0);
    expect_status(&w->b, 1, IBV_WC_SUCCESS);
}

static void look_in_vain(struct world *w)
{
    struct ibv_wc wc;
    for (unsigned i = 0; i < LOOKS; i++)
        assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
}

static void hear(struct world *w, uint64_t n)
{
    expect_status(&w->a, n, IBV_WC_SUCCESS);
    assert_int_equal(w->a.memory[n], n + 1);
}

static void they_come_in_order(void **state)
{
    struct world *w = *state;
    post_recv(&w->a, 0, 0, SIZE);
    for (uint64_t n = 0; n < 4; n++)
        say(w, n);
    hear(w, 0);
    look_in_vain(w);
    post_recv(&w->a, 1, 1 * SIZE, SIZE);
    hear(w, 1);
    look_in_vain(w);
    for (uint64_t n = 2; n < 6; n++)
        post_recv(&w->a, n, n * SIZE, SIZE);
    hear(w, 2);
    hear(w, 3);
    look_in_vain(w);
    say(w, 4);
    say(w, 5);
    hear(w, 4);
    hear(w, 5);
}

/* The peer's end is not seen before them. */
static void the_end_waits_for_them(void **state)
{
    struct world *w = *state;
    say(w, 0);
    say(w, 1);
    assert_int_equal(rdma_disconnect(w->b.id), 0);
    look_in_vain(w);
    post_recv(&w->a, 0, 0, SIZE);
    post_recv(&w->a, 1, SIZE, SIZE);
    hear(w, 0);
    hear(w, 1);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
}

static void a_receive_is_too_small(void **state)
{
    struct world *w = *state;
    say(w, 0);
    look_in_vain(w);
    w->a.memory[1] = UINT64_MAX;
    struct ibv_sge pieces[] = {sge_of(&w->a, 0, 3), sge_of(&w->a, SIZE, 2)};
    struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = pieces, .num_sge = 2}, *bad;
    assert_int_equal(ibv_post_recv(w->a.qp, &wr, &bad), 0);
    expect_status(&w->a, 5, IBV_WC_LOC_LEN_ERR);
    assert_memory_equal(&w->a.memory[0], &w->b.memory[0], 3);
    assert_memory_equal(&w->a.memory[1], (uint8_t *)&w->b.memory[0] + 3, 2);
    assert_int_equal(((uint8_t *)&w->a.memory[1])[2], UINT8_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_come_in_order),
        TEST(the_end_waits_for_them),
        TEST(a_receive_is_too_small),
    };
    return cmocka_run_group_tests(tests, ask_for_spares, NULL);
}
