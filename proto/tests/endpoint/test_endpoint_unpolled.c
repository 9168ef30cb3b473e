/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_ulpdu.h"

/* A request keeps its place in its queue until its completion was polled: as many requests as the
 * queue is deep, all done, leave no room for another. */

enum { DEPTH = 3 };

static void open_deep(struct lone *l, enum iw_mpa_role role)
{
    struct iw_endpoint_config config = lone_config(role, false);
    config.send_depth = DEPTH;
    config.recv_depth = DEPTH;
    open_with(l, role, config);
    l->out_length = 0;
}

static int post_send(struct lone *l, uint64_t id)
{
    return post(l, (struct iw_work){.id = id, .opcode = IW_WORK_SEND});
}

static int post_read_of(struct lone *l, uint64_t id)
{
    return post(l, (struct iw_work){.id = id,
                                    .opcode = IW_WORK_READ,
                                    .sink_stag = l->stag,
                                    .sink_to = 0x1000,
                                    .length = 4});
}

static int post_receive(struct lone *l, uint64_t id)
{
    struct iw_iov sge = {l->memory, 8};
    return iw_endpoint_post_recv(l->ep, id, &sge, 1);
}

/* With all places taken by requests that are done: one is free for each that is polled. */
static void expect_full(struct lone *l, int (*post_one)(struct lone *l, uint64_t id))
{
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(post_one(l, DEPTH + id), IW_ERR_FULL);
        (void)completion(l, id, IW_STATUS_OK);
        assert_int_equal(post_one(l, DEPTH + id), IW_OK);
    }
    assert_int_equal(post_one(l, 9), IW_ERR_FULL);
    (void)completion(l, DEPTH, IW_STATUS_OK);
}

static void test_sends(void **state)
{
    (void)state;
    struct lone l;
    open_deep(&l, IW_MPA_INITIATOR);
    for (uint64_t id = 1; id <= DEPTH; id++)
        assert_int_equal(post_send(&l, id), IW_OK);
    EXPECT_OUT(&l, SEND(M(1)), SEND(M(2)), SEND(M(3)));
    expect_full(&l, post_send);
    /* Both are sent; what was refused is not. */
    EXPECT_OUT(&l, SEND(M(4)), SEND(M(5)));
    lone_close(&l);
}

static void test_reads(void **state)
{
    (void)state;
    struct lone l;
    open_deep(&l, IW_MPA_INITIATOR);
    for (uint64_t id = 1; id <= DEPTH; id++)
        assert_int_equal(post_read_of(&l, id), IW_OK);
    drain(&l);
    TAKE_IN(&l, DATA, DATA, DATA);
    expect_full(&l, post_read_of);
    lone_close(&l);
}

static void test_receives(void **state)
{
    (void)state;
    struct lone l;
    open_deep(&l, IW_MPA_RESPONDER);
    for (uint64_t id = 1; id <= DEPTH; id++)
        assert_int_equal(post_receive(&l, id), IW_OK);
    TAKE_IN(&l, SEND(M(1)), SEND(M(2)), SEND(M(3)));
    expect_full(&l, post_receive);
    TAKE_IN(&l, SEND(M(4)), SEND(M(5)));
    (void)completion(&l, 4, IW_STATUS_OK);
    (void)completion(&l, 5, IW_STATUS_OK);
    no_completion(&l);
    lone_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_receives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
