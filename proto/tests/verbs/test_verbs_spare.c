/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that come before a receive is posted wait for one, if the process has asked for that. */
#include "verbs_world.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOKS = 20000, SIZE = 8, FRAME = 20, FPDU = 28 };

static int ask_for_spares(void **state)
{
    void *found = dlvsym(RTLD_DEFAULT, "iwarp_receives_spare", "IWARP_1.0");
    void (*receives_spare)(void);
    (void)state;
    setenv("IWARP_VERBS", "revision=1,crc=off", 1);
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

/* Has `a` connect to a socket. Returns its other end, after the start-up. */
static int connect_to_socket(struct world *w)
{
    static const uint8_t reply[FRAME] = "MPA ID Rep Frame\0\1\0"; /* RFC 5044 §7.1 */
    struct sockaddr_in at = loopback(0);
    socklen_t length = sizeof(at);
    uint8_t asked[FRAME];
    struct rdma_conn_param none = {0};
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    w->channel = rdma_create_event_channel();
    assert_int_equal(rdma_create_id(w->channel, &w->a.id, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(w->a.id, NULL, (struct sockaddr *)&at, 2000), 0);
    expect_event(w, RDMA_CM_EVENT_ADDR_RESOLVED);
    assert_int_equal(rdma_resolve_route(w->a.id, 2000), 0);
    expect_event(w, RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_side(w, &w->a);
    assert_int_equal(rdma_connect(w->a.id, &none), 0);
    const int fd = accept(listener, NULL, NULL);
    close(listener);
    assert_int_equal(recv(fd, asked, sizeof(asked), MSG_WAITALL), sizeof(asked));
    assert_int_equal(send(fd, reply, sizeof(reply), 0), sizeof(reply));
    expect_event(w, RDMA_CM_EVENT_ESTABLISHED);
    /* Before the initiator's first FPDU the other end must not send (RFC 5044 §7.1.2). */
    struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
    assert_int_equal(post(&w->a, &wr), 0);
    assert_int_equal(recv(fd, asked, 20, MSG_WAITALL), 20); /* or closing were a reset */
    return fd;
}

/* A message in two segments is taken whole, and what is after it is not. */
static void one_comes_in_two_segments(void **state)
{
    static const uint8_t segments[2][FPDU] = {
        {0, 22, 0x01, 0x43, [15] = 1, [20] = 1, 2, 3, 4},
        {0, 22, 0x41, 0x43, [15] = 1, [19] = 4, 5, 6, 7, 8},
    };
    static const uint8_t whole[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct world w = {0};
    (void)state;
    const int fd = connect_to_socket(&w);
    expect_status(&w.a, 0, IBV_WC_SUCCESS);
    assert_int_equal(send(fd, segments[0], FPDU, 0), FPDU);
    look_in_vain(&w);
    assert_int_equal(send(fd, segments[1], FPDU, 0), FPDU);
    look_in_vain(&w);
    close(fd);
    look_in_vain(&w);
    post_recv(&w.a, 3, 0, SIZE);
    expect_status(&w.a, 3, IBV_WC_SUCCESS);
    assert_memory_equal(w.a.memory, whole, sizeof(whole));
    expect_event(&w, RDMA_CM_EVENT_DISCONNECTED);
    drop_side(&w.a);
    rdma_destroy_event_channel(w.channel);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_come_in_order),
        TEST(the_end_waits_for_them),
        TEST(a_receive_is_too_small),
        cmocka_unit_test(one_comes_in_two_segments),
    };
    return cmocka_run_group_tests(tests, ask_for_spares, NULL);
}
