/* SPDX-License-Identifier: BSD-3-Clause */
/* A wait for an event polls before it sleeps, for as long as the launcher says. Each child has an
 * engine of its own, which reads that once; its ppoll counts those that wait in the program's
 * threads. */
#include "verbs_world.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGES = 50 };

static _Thread_local bool waits;
static atomic_uint sleeps;

/* The library's, too: this program's comes first. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
    struct timespec left;
    if (waits)
        atomic_fetch_add(&sleeps, 1);
    if (time != NULL)
        left = *time;
    return (int)syscall(SYS_ppoll, fds, count, time != NULL ? &left : NULL, mask, 8);
}

static void *receive(void *context)
{
    struct side *side = context;
    waits = true;
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct ibv_wc wc;
        struct ibv_cq *cq;
        void *its;
        assert_int_equal(ibv_req_notify_cq(side->cq, 0), 0);
        while (ibv_poll_cq(side->cq, 1, &wc) == 0) { /* an event may be of what was taken before */
            assert_int_equal(ibv_get_cq_event(side->channel, &cq, &its), 0);
            ibv_ack_cq_events(cq, 1);
            assert_int_equal(ibv_req_notify_cq(side->cq, 0), 0);
        }
        assert_int_equal(wc.status, IBV_WC_SUCCESS);
        post_recv(side, 70, 64, 8);
        struct ibv_sge sge = sge_of(side, 0, 8);
        struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
        wr.send_flags = 0;
        assert_int_equal(post(side, &wr), 0);
    }
    return NULL;
}

/* Plays with these settings. Returns how often a thread that waited went to sleep. */
static unsigned play(const char *settings, bool one_processor)
{
    int result[2];
    unsigned count = 0;
    assert_int_equal(pipe(result), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        void *state = NULL;
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET((size_t)sched_getcpu(), &only);
        if (one_processor)
            assert_int_equal(sched_setaffinity(0, sizeof(only), &only), 0);
        setenv("IWARP_VERBS", settings, 1);
        struct world *w = make_world(&state);
        w->channels = true;
        connect_world(w, false);
        pthread_t threads[2];
        post_recv(&w->a, 70, 64, 8);
        post_recv(&w->b, 70, 64, 8);
        struct ibv_sge sge = sge_of(&w->a, 0, 8);
        struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
        wr.send_flags = 0;
        assert_int_equal(post(&w->a, &wr), 0);
        assert_int_equal(pthread_create(&threads[0], NULL, receive, &w->a), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, receive, &w->b), 0);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        count = atomic_load(&sleeps);
        _exit(write(result[1], &count, sizeof(count)) == sizeof(count) ? 0 : 1);
    }
    close(result[1]);
    assert_int_equal(read(result[0], &count, sizeof(count)), sizeof(count));
    close(result[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return count;
}

static void who_polls_long_enough_never_sleeps(void **state)
{
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    assert_int_equal(play("spin=600000000", false), 0);
}

static void who_does_not_poll_sleeps(void **state)
{
    (void)state;
    assert_true(play("spin=0", false) > 0);
}

static void one_processor_is_not_kept(void **state)
{
    (void)state;
    assert_true(play("spin=600000000", true) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_polls_long_enough_never_sleeps),
        cmocka_unit_test(who_does_not_poll_sleeps),
        cmocka_unit_test(one_processor_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
