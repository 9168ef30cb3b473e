/* SPDX-License-Identifier: BSD-3-Clause */
/* Forking: the connections stay the parent's, the child can make its own. */
#include "verbs_world.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
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
        struct pollfd fd = {.fd = ((struct world *)own)->channel->fd, .events = POLLIN};
        if (poll(&fd, 1, 0) != 0) /* all of its events have been fetched */
            _exit(2);
        _exit(tear_down(&own));
    }
    assert_int_equal(ended(child), 0);
    exchange(w);
}

enum { CHANNELS = 64, PASSES = 400 };

struct pollers {
    struct pollfd fds[CHANNELS];
    atomic_bool begun, over;
};

static void *poll_them(void *context)
{
    struct pollers *p = context;
    while (!atomic_load(&p->over)) {
        (void)poll(p->fds, CHANNELS, 0);
        atomic_store(&p->begun, true);
    }
    return NULL;
}

/* A descriptor that is given up while another thread polls it is not ours any more: in a child of
 * fork the file that has its number next must be the one that the parent opened. */
static void a_channel_goes_beside_who_polls(void **state)
{
    struct world *w = *state;
    struct pollers p = {.over = false};
    pthread_t thread;
    unsigned lost = 0;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        struct ibv_comp_channel *channels[CHANNELS];
        for (unsigned i = 0; i < CHANNELS; i++) {
            channels[i] = ibv_create_comp_channel(w->a.id->verbs);
            assert_non_null(channels[i]);
            p.fds[i] = (struct pollfd){.fd = channels[i]->fd, .events = POLLIN};
        }
        atomic_store(&p.begun, false);
        atomic_store(&p.over, false);
        assert_int_equal(pthread_create(&thread, NULL, poll_them, &p), 0);
        while (!atomic_load(&p.begun))
            sched_yield();
        for (unsigned i = 0; i < CHANNELS; i++)
            assert_int_equal(ibv_destroy_comp_channel(channels[i]), 0);
        atomic_store(&p.over, true);
        pthread_join(thread, NULL);
        int files[CHANNELS];
        for (unsigned i = 0; i < CHANNELS; i++)
            assert_true((files[i] = open("/dev/null", O_RDONLY)) >= 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            unsigned others = 0;
            struct stat status;
            for (unsigned i = 0; i < CHANNELS; i++)
                others += fstat(files[i], &status) != 0 || !S_ISCHR(status.st_mode);
            _exit((int)others);
        }
        lost += (unsigned)ended(child);
        for (unsigned i = 0; i < CHANNELS; i++)
            close(files[i]);
    }
    assert_int_equal(lost, 0);
}

static struct ibv_cq *polled;

/* What a program does around a fork may be about its queues. */
static void poll_it(void)
{
    struct ibv_wc wc;
    if (polled != NULL)
        (void)ibv_poll_cq(polled, 1, &wc);
}

static void handlers_of_the_program_may_use_the_library(void **state)
{
    struct world *w = *state;
    polled = w->a.cq;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    polled = NULL;
    assert_int_equal(ended(child), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(connections_stay_the_parents),
        TEST(a_child_makes_its_own),
        TEST(a_channel_goes_beside_who_polls),
        TEST(handlers_of_the_program_may_use_the_library),
    };
    if (pthread_atfork(poll_it, poll_it, poll_it) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
