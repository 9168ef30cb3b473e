/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_ulpdu.h"

/* RFC 7306: switches that let something through, or break a rule. */

static void test_ignored_order_and_identifier(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_INITIATOR);
    set(&l, IW_SWITCH_IGNORE, "rdmap-atomic-response-order");
    set(&l, IW_SWITCH_IGNORE, "rdmap-atomic-response-id");
    set(&l, IW_SWITCH_IGNORE, "rdmap-atomic-response-length");
    set(&l, IW_SWITCH_IGNORE, "rdmap-atomic-response-unsolicited");
    post_read(&l, 1);
    post_add(&l, 2, 0);
    post_add(&l, 3, 0);
    drain(&l);
    l.out_length = 0;
    TAKE_IN(&l, ANSWER(M(1), M(9), M(0) M(7)));
    no_completion(&l); /* in posting order all the same */
    TAKE_IN(&l, DATA, "414b 00000000 00000003 00000002 00000000 00000000 00000005",
            ANSWER(M(3), M(9), NIL));
    expect_nothing(&l);
    (void)completion(&l, 1, IW_STATUS_OK);
    assert_int_equal(completion(&l, 2, IW_STATUS_OK).original, 7);
    assert_true(completion(&l, 3, IW_STATUS_OK).original == 0x500000000);
    lone_close(&l);
}

static void test_ignored_lengths(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    set(&l, IW_SWITCH_IGNORE, "rdmap-immediate-length");
    set(&l, IW_SWITCH_IGNORE, "rdmap-atomic-length");
    post_recv(&l, 1, 64, 8);
    put_value(&l, 8, 5);
    TAKE_IN(&l, IMMEDIATE(M(1)) "01020304",
            REQUEST_OF(M(1)) "00000000 00000001 SSSS 0000000000001008 00000000 00000001");
    EXPECT_OUT(&l, ANSWER(M(1), M(1), M(0) M(5)));
    assert_memory_equal(completion(&l, 1, IW_STATUS_OK).immediate_data, "\1\2\3\4\0\0\0\0", 8);
    assert_int_equal(value_at(&l, 8), 6);
    lone_close(&l);
}

/* Done and answered first, refused then. */
static void test_placed_before_the_check(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    set(&l, IW_SWITCH_BOTCH, "rdmap-atomic-align=place");
    TAKE_IN(&l, ADD(M(1), M(1), TO("009"), NIL));
    EXPECT_OUT(&l, ANSWER(M(1), M(1), NIL), TERMINATE "0207c000 0046" REQUEST_OF(M(1)));
    lone_close(&l);

    open_lone(&l, IW_MPA_INITIATOR);
    set(&l, IW_SWITCH_BOTCH, "rdmap-atomic-response-id=place");
    post_add(&l, 1, 0);
    drain(&l);
    l.out_length = 0;
    TAKE_IN(&l, ANSWER(M(1), M(2), M(0) M(7)));
    assert_int_equal(completion(&l, 1, IW_STATUS_OK).original, 7);
    EXPECT_OUT(&l, TERMINATE "02ffc000 001e 414b 00000000 00000003 00000001 00000000");
    lone_close(&l);
}

static void test_delivered_twice(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    set(&l, IW_SWITCH_VIOLATE, "ddp-deliver-once");
    post_recv(&l, 1, 0, 8);
    post_recv(&l, 2, 8, 0);
    TAKE_IN(&l, IMMEDIATE(M(1)) "0102030405060708");
    for (uint64_t id = 1; id <= 2; id++) {
        struct iw_completion c = completion(&l, id, IW_STATUS_OK);
        assert_int_equal(c.length, 8);
        assert_memory_equal(c.immediate_data, "\1\2\3\4\5\6\7\10", 8);
    }
    lone_close(&l);
}

/* Each on the wire as it says. */
static void test_violations(void **state)
{
    (void)state;
    static const struct {
        const char *check, *out;
    } rows[] = {
        {"rdmap-atomic-response-id", ANSWER(M(1), M(0), M(0) M(5))},
        {"rdmap-atomic-response-value", ANSWER(M(1), M(1), "fffffffffffffffa")},
        {"rdmap-atomic-response-length",
         "414b 00000000 00000003 00000001 00000000 00000001 00000000"},
    };
    struct lone l;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        open_lone(&l, IW_MPA_RESPONDER);
        set(&l, IW_SWITCH_VIOLATE, rows[i].check);
        put_value(&l, 8, 5);
        TAKE_IN(&l, ADD(M(1), M(1), TO("008"), M(0) M(1)));
        EXPECT_OUT(&l, rows[i].out);
        assert_int_equal(value_at(&l, 8), 6);
        lone_close(&l);
    }
    open_lone(&l, IW_MPA_RESPONDER);
    set(&l, IW_SWITCH_VIOLATE, "rdmap-atomic-response-unsolicited");
    TAKE_IN(&l, ADD(M(1), M(1), TO("008"), M(0) M(1)));
    EXPECT_OUT(&l, ANSWER(M(1), M(1), NIL), ANSWER(M(2), M(1), NIL));
    lone_close(&l);
    open_lone(&l, IW_MPA_RESPONDER);
    set(&l, IW_SWITCH_VIOLATE, "rdmap-atomic-response-missing");
    TAKE_IN(&l, ADD(M(1), M(1), TO("008"), M(0) M(1)), READ_4(M(2), TO("000")));
    EXPECT_OUT(&l, READ_DATA("00000000"));
    assert_int_equal(value_at(&l, 8), 0);
    lone_close(&l);
    open_lone(&l, IW_MPA_RESPONDER);
    set(&l, IW_SWITCH_VIOLATE, "rdmap-atomic-response-order");
    TAKE_IN(&l, ADD(M(1), M(1), TO("008"), M(0) M(1)), ADD(M(2), M(2), TO("008"), M(0) M(2)));
    EXPECT_OUT(&l, ANSWER(M(1), M(2), NIL), ANSWER(M(2), M(1), M(0) M(2)));
    lone_close(&l);

    static const struct {
        const char *check;
        enum iw_work_opcode opcode;
        const char *out;
    } requests[] = {
        {"rdmap-immediate-length", IW_WORK_IMMEDIATE, IMMEDIATE(M(1)) "00000000"},
        {"rdmap-atomic-length", IW_WORK_FETCH_ADD,
         REQUEST_OF(M(1)) "00000000 00000001 11223344 0000000000001000" NIL NIL NIL "ffffffff"},
        {"rdmap-atomic-opcode", IW_WORK_CMP_SWAP,
         REQUEST_OF(M(1)) "00000001 00000001 11223344 0000000000001000" NIL NIL NIL NIL},
        {"rdmap-atomic-rsvd", IW_WORK_CMP_SWAP,
         REQUEST_OF(M(1)) "00000012 00000001 11223344 0000000000001000" NIL NIL NIL NIL},
        {"rdmap-atomic-unused", IW_WORK_FETCH_ADD,
         REQUEST_OF(M(1)) "00000000 00000001 11223344 0000000000001000" NIL NIL M(0) M(1) ONES},
        {"rdmap-atomic-align", IW_WORK_CMP_SWAP,
         REQUEST_OF(M(1)) "00000002 00000001 11223344 0000000000001004" NIL NIL NIL NIL},
        {"rdmap-read-stag", IW_WORK_CMP_SWAP,
         REQUEST_OF(M(1)) "00000002 00000001 4b78691e 0000000000001000" NIL NIL NIL NIL},
        {"rdmap-read-wrap", IW_WORK_CMP_SWAP,
         REQUEST_OF(M(1)) "00000002 00000001 11223344"
                          "fffffffffffffff8" NIL NIL NIL NIL},
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        open_lone(&l, IW_MPA_INITIATOR);
        set(&l, IW_SWITCH_VIOLATE, requests[i].check);
        assert_int_equal(post(&l, (struct iw_work){.opcode = requests[i].opcode}), IW_OK);
        EXPECT_OUT(&l, requests[i].out);
        lone_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ignored_order_and_identifier),
        cmocka_unit_test(test_ignored_lengths),
        cmocka_unit_test(test_placed_before_the_check),
        cmocka_unit_test(test_delivered_twice),
        cmocka_unit_test(test_violations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
