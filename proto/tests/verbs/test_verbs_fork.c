/* SPDX-License-Identifier: BSD-3-Clause */
/* Forking: the connections stay the parent's, the child can make its own. */
#include "verbs_world.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned sockets(void)
{
    unsigned count = 0;
    struct stat status;
    for (int fd = 3; fd < 200; fd++)
        if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            count++;
    return count;
}

/* Returns the child's exit status. */
static int ended(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void exchange(struct world *w)
{
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    post_recv(&w->b, 70, 256, 8);
    assert_int_equal(post(&w->a, &wr), 0);
    expect_status(&w->b, 70, IBV_WC_SUCCESS);
    expect_status(&w->a, 1, IBV_WC_SUCCESS);
}

static void connections_stay_the_parents(void **state)
{
    struct world *w = *state;
    assert_true(sockets() > 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct ibv_sge sge = sge_of(&w->a, 0, 8);
        struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0), *bad;
        struct ibv_qp_attr attr;
        struct ibv_qp_init_attr init;
        struct ibv_wc wc;
        if (sockets() != 0)
            _exit(1);
        /* Its copy of a queue pair is in error. */
        if (ibv_query_qp(w->a.qp, &attr, IBV_QP_STATE, &init) != 0 || attr.qp_state != IBV_QPS_ERR)
            _exit(4);
        if (ibv_post_send(w->a.qp, &wr, &bad) != 0 || ibv_poll_cq(w->a.cq, 1, &wc) != 1 ||
            wc.status != IBV_WC_WR_FLUSH_ERR)
            _exit(2);
        if (rdma_disconnect(w->a.id) != 0)
            _exit(3);
        _exit(0);
    }
    exchange(w); /* meanwhile, and afterwards */
    assert_int_equal(ended(child), 0);
    exchange(w);
    assert_int_equal(rdma_disconnect(w->a.id), 0);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
}

static void a_child_makes_its_own(void **state)
{
    struct world *w = *state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        void *own;
        if (set_up(&own) != 0)
            _exit(1);
        exchange(own);
        _exit(tear_down(&own));
    }
    assert_int_equal(ended(child), 0);
    exchange(w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(connections_stay_the_parents),
        TEST(a_child_makes_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
