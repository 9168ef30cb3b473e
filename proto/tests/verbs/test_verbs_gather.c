/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts of a program that polls are gathered, also beside a thread that waits. */
#include "tcp_given.h"
#include "verbs_world.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 120 /* s */, POLLS = 2000, POSTS = 4, LEAD = 20 };

/* Polls a queue, and posts: again and again, until it was LEAD times more often that nothing has
 * gone to TCP at once than that something has. */
static void expect_gathering(struct world *w)
{
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    const time_t end = time(NULL) + PATIENCE;
    for (int lead = 0; lead < LEAD;) {
        struct ibv_wc wc[8];
        assert_true(time(NULL) < end);
        for (unsigned i = 0; i < POLLS; i++)
            assert_true(ibv_poll_cq(w->a.cq, 8, wc) >= 0);
        const uint64_t before = given();
        for (unsigned i = 0; i < POSTS; i++)
            assert_int_equal(post(&w->a, &wr), 0);
        lead += given() == before ? 1 : -1;
    }
}

static void posts_of_who_polls_are_gathered(void **state)
{
    expect_gathering(*state);
}

static void poll_in_vain(struct world *w)
{
    struct ibv_wc wc;
    for (unsigned i = 0; i < POLLS; i++)
        assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
}

/* A poll after the one that has taken the last entry does not look at the socket, unless something
 * has been posted meanwhile. */
static void the_next_poll_sends(void **state)
{
    struct world *w = *state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 0);
    const time_t end = time(NULL) + PATIENCE;
    for (int gathered = 0; gathered < LEAD;) {
        struct ibv_wc wc;
        assert_true(time(NULL) < end);
        poll_in_vain(w);
        assert_int_equal(post(&w->a, &wr), 0);
        assert_int_equal(next_of(&w->a).status, IBV_WC_SUCCESS);
        const uint64_t before = given();
        assert_int_equal(post(&w->a, &wr), 0);
        const bool waits = given() == before;
        const int got = ibv_poll_cq(w->a.cq, 1, &wc);
        assert_true(got >= 0 && given() > before);
        gathered += waits;
        if (got == 0)
            assert_int_equal(next_of(&w->a).status, IBV_WC_SUCCESS);
    }
}

static void *wait_in_poll(void *context)
{
    struct rdma_event_channel *channel = context;
    struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
    while (poll(&fd, 1, -1) != 1)
        ;
    return NULL;
}

static void *wait_for_event(void *context)
{
    struct rdma_event_channel *channel = context;
    struct rdma_cm_event *event;
    if (rdma_get_cm_event(channel, &event) == 0)
        rdma_ack_cm_event(event);
    return NULL;
}

/* Has `wait` wait for an event of a channel meanwhile, which comes only afterwards. */
static void beside(struct world *w, void *(*wait)(void *))
{
    struct sockaddr_in to = loopback(rdma_get_src_port(w->listener));
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id;
    pthread_t thread;
    assert_non_null(channel);
    assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait, channel), 0);
    usleep(20000); /* it leads by then, most likely */
    expect_gathering(w);
    assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(channel);
}

/* As the thread of rsockets that waits for connections. */
static void also_beside_a_thread_in_poll(void **state)
{
    beside(*state, wait_in_poll);
}

static void also_beside_a_thread_that_waits_for_an_event(void **state)
{
    beside(*state, wait_for_event);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(posts_of_who_polls_are_gathered),
        TEST(the_next_poll_sends),
        TEST(also_beside_a_thread_in_poll),
        TEST(also_beside_a_thread_that_waits_for_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
