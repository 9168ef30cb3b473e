/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections and listeners that outlive a fork: one of the processes goes on with them, the other
 * one leaves them, without a word to the peer. */
#include "verbs_world.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*keep)(const int *files, size_t count);
static int (*take)(int file), (*leave)(int file);

static int find_functions(void **state)
{
    void *first = dlvsym(RTLD_DEFAULT, "iwarp_fork_keep", "IWARP_1.0");
    void *second = dlvsym(RTLD_DEFAULT, "iwarp_fork_take", "IWARP_1.0");
    void *third = dlvsym(RTLD_DEFAULT, "iwarp_fork_leave", "IWARP_1.0");
    (void)state;
    memcpy(&keep, &first, sizeof(first));
    memcpy(&take, &second, sizeof(second));
    memcpy(&leave, &third, sizeof(third));
    return keep != NULL && take != NULL && leave != NULL ? 0 : -1;
}

/* A failed check of a child ends it with its line. */
static void require(bool holds, int line)
{
    if (holds)
        return;
    fprintf(stderr, "child: line %d: errno %d\n", line, errno);
    _exit(1);
}
#define REQUIRE(holds) require((holds), __LINE__)

static pid_t fork_now(void)
{
    fflush(NULL);
    (void)alarm(120); /* a guard: nobody else would end a child that waits */
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        (void)alarm(120);
    return child;
}

static void assert_good(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Has a message go each way, and a Read. */
static bool exchange(struct world *w)
{
    struct side *const sides[2] = {&w->a, &w->b};
    for (unsigned i = 0; i < 2; i++) {
        struct side *from = sides[i], *to = sides[1 - i];
        struct ibv_sge sge = sge_of(from, 0, 8), back = sge_of(from, 64, 8);
        struct ibv_sge in = sge_of(to, 256, 8);
        struct ibv_recv_wr recv = {.wr_id = 70, .sg_list = &in, .num_sge = 1}, *bad;
        struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
        struct ibv_send_wr read = request(IBV_WR_RDMA_READ, &back, to, 256);
        struct ibv_wc wc;
        from->memory[0]++;
        wr.next = &read;
        wr.send_flags = 0;
        if (ibv_post_recv(to->qp, &recv, &bad) != 0 || post(from, &wr) != 0)
            return false;
        wc = next_of(to);
        if (wc.status != IBV_WC_SUCCESS || wc.wr_id != 70 || to->memory[32] != from->memory[0])
            return false;
        wc = next_of(from);
        if (wc.status != IBV_WC_SUCCESS || from->memory[8] != from->memory[0])
            return false;
    }
    return true;
}

static enum ibv_qp_state state_of(const struct side *s)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    return ibv_query_qp(s->qp, &attr, 0, &init) == 0 ? attr.qp_state : IBV_QPS_UNKNOWN;
}

/* Both ends have ended; without an event that would say so before. */
static bool both_over(struct world *w)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rdma_cm_event *e;
        if (rdma_get_cm_event(w->channel, &e) != 0 || e->event != RDMA_CM_EVENT_DISCONNECTED ||
            rdma_ack_cm_event(e) != 0)
            return false;
    }
    return state_of(&w->a) == IBV_QPS_ERR && state_of(&w->b) == IBV_QPS_ERR;
}

/* Keeps the world's connection over the next fork. */
static void keep_it(const struct world *w)
{
    static int files[2];
    files[0] = w->channel->fd;
    files[1] = -1; /* none */
    keep(files, 2);
}

static void the_child_goes_on(void **state)
{
    struct world *w = *state;
    assert_true(exchange(w));
    keep_it(w);
    const pid_t child = fork_now();
    if (child == 0) {
        struct pollfd fetched = {.fd = w->channel->fd, .events = POLLIN};
        REQUIRE(poll(&fetched, 1, 0) == 0);
        REQUIRE(take(w->channel->fd) == 0);
        REQUIRE(state_of(&w->a) == IBV_QPS_RTS);
        for (unsigned i = 0; i < 3; i++)
            REQUIRE(exchange(w));
        REQUIRE(take(w->channel->fd) == 0); /* nothing is parked any more */
        REQUIRE(exchange(w));
        REQUIRE(leave(w->channel->fd) == 0); /* the same */
        REQUIRE(exchange(w));
        _exit(0);
    }
    assert_int_equal(leave(w->channel->fd), 0);
    assert_true(both_over(w));
    assert_int_equal(leave(w->channel->fd), 0);
    assert_int_equal(take(w->channel->fd), 0);
    assert_good(child);
}

static void the_parent_goes_on(void **state)
{
    struct world *w = *state;
    keep_it(w);
    int ready[2];
    char octet;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork_now();
    if (child == 0) {
        REQUIRE(leave(w->channel->fd) == 0);
        REQUIRE(write(ready[1], "x", 1) == 1);
        _exit(0);
    }
    assert_int_equal(take(w->channel->fd), 0);
    assert_true(exchange(w));
    assert_int_equal(read(ready[0], &octet, 1), 1); /* also after the other one has left */
    assert_true(exchange(w));
    assert_good(child);
    assert_true(exchange(w));
    close(ready[0]);
    close(ready[1]);
}

/* The child's library runs already when it leaves. */
static void a_child_that_has_begun_leaves(void **state)
{
    struct world *w = *state;
    keep_it(w);
    const pid_t child = fork_now();
    if (child == 0) {
        struct ibv_wc wc;
        REQUIRE(ibv_poll_cq(w->a.cq, 1, &wc) == 0);
        REQUIRE(leave(w->channel->fd) == 0);
        REQUIRE(both_over(w));
        _exit(0);
    }
    assert_good(child);
    assert_int_equal(take(w->channel->fd), 0);
    assert_true(exchange(w));
}

/* What is asked for counts for one fork. */
static void for_one_fork(void **state)
{
    struct world *w = *state;
    keep_it(w);
    pid_t child = fork_now();
    if (child == 0)
        _exit(0);
    assert_good(child);
    assert_int_equal(take(w->channel->fd), 0);
    child = fork_now();
    if (child == 0) {
        REQUIRE(take(w->channel->fd) == 0);
        REQUIRE(state_of(&w->a) == IBV_QPS_ERR);
        REQUIRE(state_of(&w->b) == IBV_QPS_ERR);
        _exit(0);
    }
    assert_good(child);
    assert_true(exchange(w));
}

/* A file that is not named has no part in it. */
static void only_what_is_named(void **state)
{
    struct world *w = *state;
    const int nothing[] = {-1, 0, 9999};
    keep(nothing, 3);
    const pid_t child = fork_now();
    if (child == 0) {
        REQUIRE(take(w->channel->fd) == 0 && take(-1) == 0 && leave(-1) == 0);
        REQUIRE(state_of(&w->a) == IBV_QPS_ERR);
        _exit(0);
    }
    assert_int_equal(leave(w->channel->fd), 0);
    assert_true(exchange(w));
    assert_good(child);
}

/* Connects a new pair to the world's listener, to which the connection of `w` stays. */
static bool connects_again(struct world *w)
{
    struct world other = {.channel = w->channel, .listener = w->listener};
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1};
    ask(&other);
    make_side(&other, &other.b);
    if (rdma_accept(other.b.id, &p) != 0)
        return false;
    for (unsigned i = 0; i < 2; i++)
        expect_event(&other, RDMA_CM_EVENT_ESTABLISHED);
    const bool good = exchange(&other);
    drop_side(&other.a);
    drop_side(&other.b);
    return good;
}

/* The listener goes with them: who takes it has its clients. */
static void a_listener_goes_on(void **state)
{
    for (unsigned in_child = 0; in_child < 2; in_child++) {
        struct world *w = *state;
        keep_it(w);
        const pid_t child = fork_now();
        if (child == 0) {
            REQUIRE((in_child != 0 ? take : leave)(w->channel->fd) == 0);
            REQUIRE(in_child == 0 || (connects_again(w) && exchange(w)));
            _exit(0);
        }
        if (in_child == 0) {
            assert_good(child);
            assert_int_equal(take(w->channel->fd), 0);
            assert_true(connects_again(w));
            assert_true(exchange(w));
        } else {
            assert_int_equal(leave(w->channel->fd), 0);
            assert_true(both_over(w));
            assert_good(child);
        }
    }
}

/* An event that waits is counted in both processes. */
static void events_that_wait(void **state)
{
    struct world *w = *state;
    assert_int_equal(rdma_disconnect(w->a.id), 0);
    struct pollfd waits = {.fd = w->channel->fd, .events = POLLIN};
    assert_int_equal(poll(&waits, 1, -1), 1);
    keep_it(w);
    const pid_t child = fork_now();
    if (child == 0) {
        REQUIRE(poll(&waits, 1, 0) == 1);
        REQUIRE(take(w->channel->fd) == 0);
        struct rdma_cm_event *e;
        REQUIRE(rdma_get_cm_event(w->channel, &e) == 0);
        REQUIRE(e->event == RDMA_CM_EVENT_DISCONNECTED);
        _exit(0);
    }
    assert_good(child);
    assert_int_equal(leave(w->channel->fd), 0);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
    expect_event(w, RDMA_CM_EVENT_DISCONNECTED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_child_goes_on), TEST(the_parent_goes_on), TEST(a_child_that_has_begun_leaves),
        TEST(for_one_fork),      TEST(only_what_is_named), TEST(a_listener_goes_on),
        TEST(events_that_wait),
    };
    return cmocka_run_group_tests(tests, find_functions, NULL);
}
