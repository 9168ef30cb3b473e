/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_ulpdu.h"

#include <stdio.h>

/* RFC 7306: an endpoint that asks, against the literal octets of a peer. */

static void test_requests(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_INITIATOR);
    post_add(&l, 1, 0x0102030405060708);
    struct iw_work swap = {.id = 2,
                           .opcode = IW_WORK_CMP_SWAP,
                           .remote_to = 8,
                           .add_swap = 0x1111111111111111,
                           .add_swap_mask = 0x2222222222222222,
                           .compare = 0x3333333333333333,
                           .compare_mask = 0x4444444444444444};
    assert_int_equal(post(&l, swap), IW_OK);
    swap.id = 3;
    swap.opcode = IW_WORK_FETCH_ADD;
    assert_int_equal(post(&l, swap), IW_OK);
    struct iw_work immediate = {
        .id = 4, .opcode = IW_WORK_IMMEDIATE, .immediate = {1, 2, 3, 4, 5, 6, 7, 8}};
    assert_int_equal(post(&l, immediate), IW_OK);
    immediate.id = 5;
    immediate.opcode = IW_WORK_IMMEDIATE_SE;
    assert_int_equal(post(&l, immediate), IW_OK);
    EXPECT_OUT(&l,
               REQUEST_OF(M(1)) "00000000 00000001 11223344 0000000000001000"
                                "0102030405060708" NIL NIL ONES,
               REQUEST_OF(M(2)) "00000002 00000002 11223344 0000000000001008"
                                "1111111111111111 2222222222222222"
                                "3333333333333333 4444444444444444",
               REQUEST_OF(M(3)) "00000000 00000003 11223344 0000000000001008"
                                "1111111111111111 2222222222222222" NIL ONES,
               IMMEDIATE(M(1)) "0102030405060708",
               "4149 00000000 00000000 00000002 00000000 0102030405060708");
    no_completion(&l); /* RFC 7306 §5.4: not before the responses */
    TAKE_IN(&l, ANSWER(M(1), M(1), "8877665544332211"));
    struct iw_completion c = completion(&l, 1, IW_STATUS_OK);
    assert_int_equal(c.opcode, IW_WORK_FETCH_ADD);
    assert_int_equal(c.length, 8);
    assert_true(c.original == 0x8877665544332211);
    no_completion(&l);
    /* Each gets its own value, found by the MSN of queue 3. */
    TAKE_IN(&l, ANSWER(M(2), M(2), "0000000000000002"), ANSWER(M(3), M(3), ONES));
    c = completion(&l, 2, IW_STATUS_OK);
    assert_int_equal(c.opcode, IW_WORK_CMP_SWAP);
    assert_true(c.original == 2);
    assert_true(completion(&l, 3, IW_STATUS_OK).original == UINT64_MAX);
    assert_int_equal(completion(&l, 4, IW_STATUS_OK).length, 8);
    assert_int_equal(completion(&l, 5, IW_STATUS_OK).opcode, IW_WORK_IMMEDIATE_SE);
    expect_nothing(&l);
    lone_close(&l);
}

/* MSN 1 shared with Sends on queue 0, and with Read Requests on queue 1. */
static void test_msns_are_shared(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_INITIATOR);
    struct iw_work send = {.id = 1, .opcode = IW_WORK_SEND};
    assert_int_equal(post(&l, send), IW_OK);
    send.opcode = IW_WORK_IMMEDIATE;
    assert_int_equal(post(&l, send), IW_OK);
    send.opcode = IW_WORK_SEND;
    assert_int_equal(post(&l, send), IW_OK);
    post_read(&l, 2);
    post_add(&l, 3, 0);
    post_read(&l, 4);
    EXPECT_OUT(&l, SEND(M(1)), IMMEDIATE(M(2)) NIL, SEND(M(3)),
               "4141 00000000 00000001 00000001 00000000 SSSS 0000000000001000 00000004 11223344"
               "0000000000001000",
               REQUEST_OF(M(2)) "00000000 00000002 11223344 0000000000001000" NIL NIL NIL ONES,
               "4141 00000000 00000001 00000003 00000000 SSSS 0000000000001000 00000004 11223344"
               "0000000000001000");
    lone_close(&l);
}

/* One limit for both (OP-83), and IW_WORK_FENCE waits for both. */
static void test_ord_and_fence(void **state)
{
    (void)state;
    struct lone l;
    struct iw_endpoint_config config = lone_config(IW_MPA_INITIATOR, false);
    config.mpa.ord = 1;
    open_with(&l, IW_MPA_INITIATOR, config);
    post_add(&l, 1, 0);
    post_read(&l, 2);
    drain(&l);
    assert_int_equal(l.out_length, 76);
    TAKE_IN(&l, ANSWER(M(1), M(1), NIL));
    post_add(&l, 3, 0);
    drain(&l);
    assert_int_equal(l.out_length, 76 + 52);
    TAKE_IN(&l, DATA);
    drain(&l);
    assert_int_equal(l.out_length, 2 * 76 + 52);
    struct iw_work fenced = {.id = 4, .opcode = IW_WORK_SEND, .flags = IW_WORK_FENCE};
    assert_int_equal(post(&l, fenced), IW_OK);
    drain(&l);
    assert_int_equal(l.out_length, 2 * 76 + 52);
    TAKE_IN(&l, ANSWER(M(2), M(3), NIL));
    drain(&l);
    assert_int_equal(l.out_length, 2 * 76 + 52 + 24);
    for (uint64_t id = 1; id <= 4; id++)
        (void)completion(&l, id, IW_STATUS_OK);
    lone_close(&l);
    /* None at all. */
    config.mpa.ord = 0;
    open_with(&l, IW_MPA_INITIATOR, config);
    assert_int_equal(post(&l, (struct iw_work){.opcode = IW_WORK_CMP_SWAP}), IW_ERR_ARGUMENT);
    lone_close(&l);
}

/* An atomic (1), then a Read (2), then an atomic (3). */
static void test_faults_of_the_responder(void **state)
{
    (void)state;
    static const struct {
        enum iw_check check;
        uint64_t first; /* the work that gets the fault */
        const char *good, *bad, *out;
    } rows[] = {
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID, 1, NULL, ANSWER(M(1), M(2), NIL), "02ffc000 001e"},
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, 1, NULL, "414b 00000000 00000003 00000001 00000000",
         "02ffc000 0012"},
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, 1, NULL,
         "414b 00000000 00000003 00000001 00000000 00000001 00000000", "02ffc000 001a"},
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, 1, NULL, ANSWER(M(1), M(1), NIL "00"),
         "02ffc000 001f"},
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH, 1, NULL,
         "014b 00000000 00000003 00000001 00000000 00000001" NIL, "02ffc000 001e"},
        {IW_CHECK_DDP_MO, 1, NULL, "414b 00000000 00000003 00000001 0000000c 00000001" NIL,
         "1204c000 001e"},
        {IW_CHECK_DDP_MSN, 1, NULL, ANSWER(M(2), M(1), NIL), "1203c000 001e"},
        {IW_CHECK_DDP_MSN, 2, ANSWER(M(1), M(1), NIL), ANSWER(M(1), M(1), NIL), "1203c000 001e"},
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 2, ANSWER(M(1), M(1), NIL), ANSWER(M(2), M(3), NIL),
         "02ffc000 001e"},
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_ORDER, 1, NULL, DATA, "02ffc000 0012"},
        {IW_CHECK_RDMAP_OPCODE_QUEUE, 1, NULL,
         "414b 00000000 00000001 00000001 00000000 00000001" NIL, "0206c000 001e"},
        {IW_CHECK_RDMAP_VERSION, 1, NULL, "418b 00000000 00000003 00000001 00000000 00000001" NIL,
         "0205c000 001e"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        struct iw_event event;
        char out[200];
        open_lone(&l, IW_MPA_INITIATOR);
        post_add(&l, 1, 0);
        post_read(&l, 2);
        post_add(&l, 3, 0);
        post_recv(&l, 9, 64, 8);
        drain(&l);
        l.out_length = 0;
        if (rows[i].good != NULL) {
            TAKE_IN(&l, rows[i].good);
            (void)completion(&l, 1, IW_STATUS_OK);
        }
        TAKE_IN(&l, rows[i].bad);
        snprintf(out, sizeof(out), "%s%s", TERMINATE, rows[i].out);
        /* the DDP header of the segment at fault: 18 octets, or 14 if tagged */
        const char *digit = rows[i].bad;
        for (unsigned digits = digit[0] == 'c' ? 2 * 14 : 2 * 18; digits > 0; digit++)
            if (*digit != ' ') {
                strncat(out, digit, 1);
                digits -= *digit == 'S' ? 2 : 1;
            }
        EXPECT_OUT(&l, out);
        do
            assert_true(iw_endpoint_event(l.ep, &event));
        while (event.kind != IW_EVENT_FAULT);
        assert_string_equal(iw_check_info(event.fault.check)->name,
                            iw_check_info(rows[i].check)->name);
        bool answer = rows[i].check != IW_CHECK_RDMAP_OPCODE_QUEUE;
        for (uint64_t id = rows[i].first; id <= 3; id++) {
            bool failed = answer && id == rows[i].first;
            struct iw_completion c =
                completion(&l, id, failed ? IW_STATUS_LOCAL_FAULT : IW_STATUS_FLUSHED);
            assert_int_equal(c.check, failed ? rows[i].check : IW_CHECK_NONE);
            assert_true(c.original == 0);
        }
        (void)completion(&l, 9, IW_STATUS_FLUSHED);
        lone_close(&l);
    }
}

/* One more than was asked for. */
static void test_one_response_too_many(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_INITIATOR);
    post_add(&l, 1, 0);
    drain(&l);
    l.out_length = 0;
    TAKE_IN(&l, ANSWER(M(1), M(1), NIL), ANSWER(M(2), M(1), NIL));
    (void)completion(&l, 1, IW_STATUS_OK);
    EXPECT_OUT(&l, TERMINATE "1202c000 001e 414b 00000000 00000003 00000002 00000000");
    no_completion(&l);
    lone_close(&l);
}

/* RFC 7306 §6.1, §8: the atomic that the peer's Terminate answers completes with it. */
static void test_atomics_end_with_the_connection(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_INITIATOR);
    post_add(&l, 1, 0);
    post_add(&l, 2, 0);
    drain(&l);
    TAKE_IN(&l, TERMINATE "0207c000 0046" REQUEST_OF(M(1)));
    (void)completion(&l, 1, IW_STATUS_REMOTE_FAULT);
    (void)completion(&l, 2, IW_STATUS_FLUSHED);
    lone_close(&l);

    open_lone(&l, IW_MPA_INITIATOR);
    post_add(&l, 1, 0);
    drain(&l);
    iw_endpoint_shutdown(l.ep, 0);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_NOTHING); /* it waits */
    iw_endpoint_input_end(l.ep, true, 0);                      /* in vain */
    (void)completion(&l, 1, IW_STATUS_FLUSHED);
    lone_close(&l);

    open_lone(&l, IW_MPA_INITIATOR);
    iw_endpoint_input_end(l.ep, true, 0);
    l.out_length = 0;
    post_add(&l, 1, 0); /* nobody is left to answer */
    expect_nothing(&l);
    (void)completion(&l, 1, IW_STATUS_FLUSHED);
    lone_close(&l);
}

/* The start-up left no ORD to an atomic that was posted before it. */
static void test_no_ord_after_the_start_up(void **state)
{
    (void)state;
    struct lone l;
    struct iw_endpoint_config config = lone_config(IW_MPA_INITIATOR, false);
    config.mpa.revision = 2;
    config.mpa.enhanced = true;
    lone_open_as(&l, config, 2);
    post_add(&l, 1, 0);
    drain(&l);
    l.out_length = 0;
    /* Reply of revision 2: IRD 0, ORD 0 */
    feed(&l, "4d504120494420526570204672616d65 10020004 00000000");
    assert_int_equal(completion(&l, 1, IW_STATUS_LOCAL_FAULT).check, IW_CHECK_RDMAP_IRD);
    expect_nothing(&l);
    lone_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_msns_are_shared),
        cmocka_unit_test(test_ord_and_fence),
        cmocka_unit_test(test_faults_of_the_responder),
        cmocka_unit_test(test_one_response_too_many),
        cmocka_unit_test(test_atomics_end_with_the_connection),
        cmocka_unit_test(test_no_ord_after_the_start_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
