/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_ulpdu.h"

#include <stdio.h>

/* RFC 7306: an endpoint that is asked, against the literal octets of a peer. */

static void test_fetch_add_and_cmp_swap(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    put_value(&l, 8, 1);
    TAKE_IN(&l, ADD(M(1), "5a5a0001", TO("008"), "0000000000000001"));
    EXPECT_OUT(&l, ANSWER(M(1), "5a5a0001", "0000000000000001"));
    assert_int_equal(value_at(&l, 8), 2);
    TAKE_IN(&l, SWAP(M(2), "5a5a0002", TO("008"), "0102030405060708", "0000000000000001"));
    EXPECT_OUT(&l, ANSWER(M(2), "5a5a0002", "0000000000000002"));
    assert_int_equal(value_at(&l, 8), 2);
    TAKE_IN(&l, SWAP(M(3), "ffffffff", TO("008"), "0102030405060708", "0000000000000002"));
    EXPECT_OUT(&l, ANSWER(M(3), "ffffffff", "0000000000000002"));
    assert_true(value_at(&l, 8) == 0x0102030405060708);
    /* The probe of §1.1, at the last place; masks and unused fields as §5.2.1 has them ignored. */
    put_value(&l, 4088, 0x8899aabbccddeeff);
    TAKE_IN(&l, REQUEST_OF(M(4)) "fffffff0 00000000 SSSS 0000000000001ff8 " NIL ONES
                                 " 1111111111111111 2222222222222222");
    EXPECT_OUT(&l, ANSWER(M(4), "00000000", "8899aabbccddeeff"));
    assert_true(value_at(&l, 4088) == 0x8899aabbccddeeff);
    no_completion(&l); /* RFC 7306 §5.2.1: none of this is the ULP's */
    /* The Invalidate STag field is ignored (§4.1). */
    TAKE_IN(&l, "414a SSSS 00000001 00000005 00000000 " ADD_TO(M(0), TO("008"), NIL));
    EXPECT_OUT(&l, ANSWER(M(5), "00000000", "0102030405060708"));
    struct iw_region region;
    assert_true(iw_domain_lookup(l.domain, l.stag, &region) && region.valid);
    lone_close(&l);
}

/* Requests of queue 1 are answered in their order, each when its turn comes (RFC 7306 §7). */
static void test_responses_leave_in_order(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    memcpy(l.memory, "abcd", 4);
    TAKE_IN(&l, READ_4(M(1), TO("000")), ADD(M(2), M(2), TO("008"), "0000000000000005"),
            ADD(M(3), M(3), TO("008"), "0000000000000007"), READ_4(M(4), TO("000")),
            SWAP(M(5), M(5), TO("008"), NIL, "000000000000000c"));
    assert_int_equal(value_at(&l, 8), 0); /* nothing begins before the response before it */
    EXPECT_OUT(&l, READ_DATA("61626364"), ANSWER(M(1), M(2), NIL),
               ANSWER(M(2), M(3), "0000000000000005"), READ_DATA("61626364"),
               ANSWER(M(3), M(5), "000000000000000c"));
    assert_int_equal(value_at(&l, 8), 0);
    lone_close(&l);
}

/* Messages before an atomic are placed, and completed, before its response is generated. */
static void test_earlier_messages_come_first(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    post_recv(&l, 1, 64, 8);
    post_recv(&l, 2, 128, 0);
    post_recv(&l, 3, 192, 4);
    TAKE_IN(&l, WRITE_TO(TO("008")) ONES, SEND(M(1)) ONES, IMMEDIATE(M(2)) "0102030405060708",
            ADD(M(1), M(1), TO("008"), NIL), ADD(M(2), M(2), TO("040"), "0000000000000001"),
            READ_4(M(3), TO("040")), SEND(M(3)) "61626364");
    /* Both Sends and the Immediate Data between them, in order, before anything is answered. */
    assert_int_equal(completion(&l, 1, IW_STATUS_OK).length, 8);
    assert_true(completion(&l, 2, IW_STATUS_OK).immediate);
    assert_int_equal(completion(&l, 3, IW_STATUS_OK).length, 4);
    EXPECT_OUT(&l, ANSWER(M(1), M(1), ONES), ANSWER(M(2), M(2), ONES), READ_DATA("00000000"));
    lone_close(&l);
}

/* Messages after a request may be placed and completed before the response is generated. */
static void test_later_messages_may_overtake(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    post_recv(&l, 1, 64, 4);
    post_recv(&l, 2, 0, 0);
    TAKE_IN(&l, READ_4(M(1), TO("000")), ADD(M(2), M(2), TO("008"), M(0) M(1)),
            WRITE_TO(TO("080")) "776f7264", SEND(M(1)) "61626364", IMMEDIATE(M(2)) NIL);
    (void)completion(&l, 1, IW_STATUS_OK);
    assert_true(completion(&l, 2, IW_STATUS_OK).immediate);
    assert_memory_equal(l.memory + 64, "abcd", 4);
    assert_memory_equal(l.memory + 128, "word", 4);
    EXPECT_OUT(&l, READ_DATA("00000000"), ANSWER(M(1), M(2), NIL));
    lone_close(&l);
}

/* RFC 7306 §5.4: nothing of an atomic happens before all of its request has been delivered. */
static void test_half_a_request(void **state)
{
    (void)state;
    struct lone l;
    uint8_t octets[128];
    open_lone(&l, IW_MPA_RESPONDER);
    size_t length = frame(&l, ADD(M(1), M(1), TO("008"), M(0) M(1)), octets, sizeof(octets));
    struct iw_iov in[2] = {{octets, length - 1}, {octets + length - 1, 1}};
    iw_endpoint_input(l.ep, &in[0], 1, 0);
    expect_nothing(&l);
    assert_int_equal(value_at(&l, 8), 0);
    iw_endpoint_input(l.ep, &in[1], 1, 0);
    EXPECT_OUT(&l, ANSWER(M(1), M(1), NIL));
    assert_int_equal(value_at(&l, 8), 1);
    lone_close(&l);
}

static void test_immediate_data(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    start(&l, true);
    memset(l.memory, 0xa5, sizeof(l.memory));
    post_recv(&l, 1, 0, 64);
    post_recv(&l, 2, 0, 0);
    /* Immediate Data, RFC 7306 §6 */
    feed(&l, "001a4148 00000000 00000000 00000001 00000000 01020304 05060708 06c22805");
    struct iw_completion c = completion(&l, 1, IW_STATUS_OK);
    assert_int_equal(c.opcode, IW_WORK_RECV);
    assert_int_equal(c.length, 8);
    assert_true(c.immediate);
    assert_false(c.solicited);
    assert_false(c.invalidated);
    assert_memory_equal(c.immediate_data, "\1\2\3\4\5\6\7\10", 8);
    assert_int_equal(l.memory[0], 0xa5); /* nothing is placed */
    lone_close(&l);

    open_lone(&l, IW_MPA_RESPONDER);
    post_recv(&l, 1, 0, 0);
    post_recv(&l, 2, 0, 16);
    TAKE_IN(&l, "4149 00000000 00000000 00000001 00000000 ffeeddccbbaa9988", SEND(M(2)) "616263");
    c = completion(&l, 1, IW_STATUS_OK);
    assert_true(c.immediate);
    assert_true(c.solicited);
    assert_memory_equal(c.immediate_data, "\xff\xee\xdd\xcc\xbb\xaa\x99\x88", 8);
    c = completion(&l, 2, IW_STATUS_OK);
    assert_false(c.immediate);
    assert_int_equal(c.length, 3);
    /* One buffer each (RFC 7306 §6.3). */
    TAKE_IN(&l, IMMEDIATE(M(3)) "0102030405060708");
    EXPECT_OUT(&l, TERMINATE "1202c000 001a" IMMEDIATE(M(3)));
    lone_close(&l);
}

/* RFC 5040 §5.5 holds for Immediate Data as for Sends: a Write before it is in memory. */
static void test_write_with_immediate(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    post_recv(&l, 1, 64, 0);
    TAKE_IN(&l, WRITE_TO(TO("000")) "776f7264", IMMEDIATE(M(1)) NIL);
    assert_true(completion(&l, 1, IW_STATUS_OK).immediate);
    assert_memory_equal(l.memory, "word", 4);
    /* Not inside a Send. */
    post_recv(&l, 2, 64, 64);
    TAKE_IN(&l, "0143 00000000 00000000 00000002 00000000 61626364", IMMEDIATE(M(2)) NIL);
    EXPECT_OUT(&l, TERMINATE "02ffc000 001a" IMMEDIATE(M(2)));
    struct iw_completion c = completion(&l, 2, IW_STATUS_LOCAL_FAULT);
    assert_int_equal(c.check, IW_CHECK_RDMAP_IMMEDIATE_LENGTH);
    lone_close(&l);
}

enum odd { OPEN, OTHER_PD, OTHER_STREAM, NO_RIGHTS, DEAD };

static void make_odd(struct lone *l, enum odd odd)
{
    struct iw_region r;
    assert_true(iw_domain_lookup(l->domain, l->stag, &r));
    r.pd = odd == OTHER_PD ? iw_domain_pd(l->domain) : r.pd;
    r.stream = odd == OTHER_STREAM ? iw_domain_stream(l->domain) : 0;
    r.access = odd == NO_RIGHTS ? ~IW_ACCESS_REMOTE_ATOMIC : r.access;
    assert_int_equal(iw_domain_register(l->domain, &r), 0);
    l->stag = r.stag;
    if (odd == DEAD)
        assert_int_equal(iw_domain_invalidate(l->domain, l->stag), 0);
}

#define CUT_49 "00000000 00000001 SSSS 0000000000001008 " NIL NIL NIL "ffffffffff"

/* Two receives of 8 octets are posted. The Terminate has the DDP header, but no RDMAP header
 * (RFC 7306 §8.1, OP-84). */
static void test_faults_of_the_requester(void **state)
{
    (void)state;
    static const struct {
        enum iw_check check;
        enum odd odd;
        const char *in, *out;
    } rows[] = {
        {IW_CHECK_RDMAP_ATOMIC_ALIGN, OPEN, ADD(M(1), M(1), TO("009"), ONES),
         "0207c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_ALIGN, OPEN, ADD(M(1), M(1), TO("00f"), ONES),
         "0207c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_ALIGN, OPEN, SWAP(M(1), M(1), TO("00c"), ONES, NIL),
         "0207c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_OPCODE, OPEN,
         REQUEST_OF(M(1)) "00000001 00000001 SSSS 0000000000001008 " ONES ONES NIL ONES,
         "0206c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_OPCODE, OPEN,
         REQUEST_OF(M(1)) "00000003 00000001 SSSS 0000000000001008 " ONES ONES NIL ONES,
         "0206c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_OPCODE, OPEN,
         REQUEST_OF(M(1)) "0000000f 00000001 SSSS 0000000000001008 " ONES ONES NIL ONES,
         "0206c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_STAG, OPEN,
         REQUEST_OF(M(1)) "00000000 00000001 0badf00d 0000000000001008 " ONES NIL NIL ONES,
         "0100c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_STAG, DEAD, ADD(M(1), M(1), TO("008"), ONES),
         "0100c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_ASSOC, OTHER_PD, ADD(M(1), M(1), TO("008"), ONES),
         "0103c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_ASSOC, OTHER_STREAM, ADD(M(1), M(1), TO("008"), ONES),
         "0103c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_ACCESS, NO_RIGHTS, SWAP(M(1), M(1), TO("008"), ONES, NIL),
         "0102c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_BASE, OPEN, ADD(M(1), M(1), "0000000000000ff8", ONES),
         "0101c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_BASE, OPEN, ADD(M(1), M(1), "0000000000002000", ONES),
         "0101c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_BOUNDS, OPEN, ADD(M(1), M(1), TO("ff9"), ONES),
         "0101c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_READ_WRAP, OPEN, ADD(M(1), M(1), "fffffffffffffff8", ONES),
         "0104c000 0046" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_LENGTH, OPEN, REQUEST_OF(M(1)), "02ffc000 0012" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_LENGTH, OPEN, REQUEST_OF(M(1)) CUT_49 "ffff",
         "02ffc000 0045" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_LENGTH, OPEN, REQUEST_OF(M(1)) CUT_49 "ffffffff",
         "02ffc000 0047" REQUEST_OF(M(1))},
        {IW_CHECK_RDMAP_ATOMIC_LENGTH, OPEN,
         "014a 00000000 00000001 00000001 00000000 " CUT_49 "ffffff",
         "02ffc000 0046 014a 00000000 00000001 00000001 00000000"},
        {IW_CHECK_DDP_MSN, OPEN, ADD(M(2), M(1), TO("008"), ONES),
         "1203c000 0046" REQUEST_OF(M(2))},
        {IW_CHECK_DDP_MO, OPEN, "414a 00000000 00000001 00000001 00000004 " CUT_49 "ffffff",
         "1204c000 0046 414a 00000000 00000001 00000001 00000004"},
        {IW_CHECK_RDMAP_OPCODE_QUEUE, OPEN,
         "414a 00000000 00000003 00000001 00000000 " CUT_49 "ffffff",
         "0206c000 0046 414a 00000000 00000003 00000001 00000000"},
        {IW_CHECK_RDMAP_VERSION, OPEN, "410a 00000000 00000001 00000001 00000000 " CUT_49 "ffffff",
         "0205c000 0046 410a 00000000 00000001 00000001 00000000"},
        {IW_CHECK_DDP_VERSION_UNTAGGED, OPEN,
         "424a 00000000 00000001 00000001 00000000 " CUT_49 "ffffff",
         "1206c000 0046 424a 00000000 00000001 00000001 00000000"},
        {IW_CHECK_RDMAP_OPCODE_TAGGED, OPEN, "c14a SSSS 0000000000001000 " CUT_49 "ffffff",
         "0206c000 0042 c14a SSSS 0000000000001000"},
        {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, OPEN, IMMEDIATE(M(1)), "02ffc000 0012" IMMEDIATE(M(1))},
        {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, OPEN, IMMEDIATE(M(1)) "00000000",
         "02ffc000 0016" IMMEDIATE(M(1))},
        {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, OPEN, IMMEDIATE(M(1)) "00000000000000",
         "02ffc000 0019" IMMEDIATE(M(1))},
        {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, OPEN, IMMEDIATE(M(1)) NIL "00",
         "02ffc000 001b" IMMEDIATE(M(1))},
        {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, OPEN, IMMEDIATE(M(1)) NIL NIL,
         "02ffc000 0022" IMMEDIATE(M(1))},
        {IW_CHECK_RDMAP_IMMEDIATE_LENGTH, OPEN, "0148 00000000 00000000 00000001 00000000 " NIL,
         "02ffc000 001a 0148 00000000 00000000 00000001 00000000"},
        {IW_CHECK_DDP_MO, OPEN, "4149 00000000 00000000 00000001 00000008 " NIL,
         "1204c000 001a 4149 00000000 00000000 00000001 00000008"},
        {IW_CHECK_DDP_MSN, OPEN, IMMEDIATE(M(2)) NIL, "1203c000 001a" IMMEDIATE(M(2))},
        {IW_CHECK_RDMAP_OPCODE_QUEUE, OPEN, "4148 00000000 00000001 00000001 00000000 " NIL,
         "0206c000 001a 4148 00000000 00000001 00000001 00000000"},
        {IW_CHECK_DDP_QN, OPEN, "4148 00000000 00000004 00000001 00000000 " NIL,
         "1201c000 001a 4148 00000000 00000004 00000001 00000000"},
        {IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED, OPEN, ANSWER(M(1), M(1), NIL),
         "1202c000 001e 414b 00000000 00000003 00000001 00000000"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        char out[300];
        open_lone(&l, IW_MPA_RESPONDER);
        memset(l.memory, 0xa5, sizeof(l.memory));
        make_odd(&l, rows[i].odd);
        post_recv(&l, 1, 0, 8);
        post_recv(&l, 2, 8, 8);
        TAKE_IN(&l, rows[i].in);
        snprintf(out, sizeof(out), "%s%s", TERMINATE, rows[i].out);
        EXPECT_OUT(&l, out);
        struct iw_event event;
        assert_true(iw_endpoint_event(l.ep, &event));
        assert_int_equal(event.kind, IW_EVENT_FAULT);
        assert_string_equal(iw_check_info(event.fault.check)->name,
                            iw_check_info(rows[i].check)->name);
        for (size_t k = 0; k < sizeof(l.memory); k++)
            assert_int_equal(l.memory[k], 0xa5);
        struct iw_completion c;
        while (iw_endpoint_poll(l.ep, &c, 1) == 1)
            assert_int_not_equal(c.status, IW_STATUS_OK);
        lone_close(&l);
    }
}

/* Reads and atomics share the IRD (OP-83). */
static void test_ird_counts_both(void **state)
{
    (void)state;
    struct lone l;
    struct iw_endpoint_config config = lone_config(IW_MPA_RESPONDER, false);
    config.mpa.ird = 2;
    open_with(&l, IW_MPA_RESPONDER, config);
    TAKE_IN(&l, READ_4(M(1), TO("000")), ADD(M(2), M(2), TO("008"), M(0) M(1)));
    EXPECT_OUT(&l, READ_DATA("00000000"), ANSWER(M(1), M(2), NIL));
    TAKE_IN(&l, ADD(M(3), M(3), TO("008"), M(0) M(1)), READ_4(M(4), TO("000")),
            ADD(M(5), M(5), TO("008"), M(0) M(1)));
    EXPECT_OUT(&l, TERMINATE "1202c000 0046" REQUEST_OF(M(5)));
    assert_int_equal(value_at(&l, 8), 1); /* an atomic that was not answered was not done */
    lone_close(&l);
}

/* RFC 5040 §8.1.1: an STag that dies after its request has come protects at once. */
static void test_stag_invalidated_before_the_turn(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    TAKE_IN(&l, ADD(M(1), M(1), TO("008"), M(0) M(1)));
    assert_int_equal(iw_domain_invalidate(l.domain, l.stag), 0);
    EXPECT_OUT(&l, TERMINATE "0100c000 0046" REQUEST_OF(M(1)));
    assert_int_equal(value_at(&l, 8), 0);
    lone_close(&l);
}

/* After our FIN no response can follow, so nothing is done either. */
static void test_atomic_behind_our_fin(void **state)
{
    (void)state;
    struct lone l;
    open_lone(&l, IW_MPA_RESPONDER);
    TAKE_IN(&l, ADD(M(1), M(1), TO("008"), M(0) M(1)));
    iw_endpoint_shutdown(l.ep, 0);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_NOTHING); /* it is owed */
    EXPECT_OUT(&l, ANSWER(M(1), M(1), NIL));
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
    iw_endpoint_fin_sent(l.ep, 0);
    TAKE_IN(&l, ADD(M(2), M(2), TO("008"), M(0) M(1)));
    expect_nothing(&l);
    assert_int_equal(value_at(&l, 8), 1);
    lone_close(&l);
}

/* Off, the messages of RFC 7306 are not assigned, and queue 3 is none. */
static void test_without_extensions(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {IMMEDIATE(M(1)) NIL, "0206c000 001a" IMMEDIATE(M(1))},
        {"4149 00000000 00000000 00000001 00000000 " NIL,
         "0206c000 001a 4149 00000000 00000000 00000001 00000000"},
        {ADD(M(1), M(1), TO("008"), ONES), "0206c000 0046" REQUEST_OF(M(1))},
        {ANSWER(M(1), M(1), NIL), "1201c000 001e 414b 00000000 00000003 00000001 00000000"},
    };
    struct lone l;
    struct iw_endpoint_config config = lone_config(IW_MPA_RESPONDER, false);
    assert_true(config.extensions); /* on by default */
    config.extensions = false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[300];
        open_with(&l, IW_MPA_RESPONDER, config);
        post_recv(&l, 1, 0, 64);
        TAKE_IN(&l, rows[i].in);
        snprintf(out, sizeof(out), "%s%s", TERMINATE, rows[i].out);
        EXPECT_OUT(&l, out);
        assert_int_equal(value_at(&l, 8), 0);
        lone_close(&l);
    }
    open_with(&l, IW_MPA_RESPONDER, config);
    for (int opcode = IW_WORK_IMMEDIATE; opcode < IW_WORK_RECV; opcode++)
        assert_int_equal(post(&l, (struct iw_work){.opcode = (enum iw_work_opcode)opcode}),
                         IW_ERR_ARGUMENT);
    lone_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetch_add_and_cmp_swap),
        cmocka_unit_test(test_responses_leave_in_order),
        cmocka_unit_test(test_earlier_messages_come_first),
        cmocka_unit_test(test_later_messages_may_overtake),
        cmocka_unit_test(test_half_a_request),
        cmocka_unit_test(test_immediate_data),
        cmocka_unit_test(test_write_with_immediate),
        cmocka_unit_test(test_faults_of_the_requester),
        cmocka_unit_test(test_ird_counts_both),
        cmocka_unit_test(test_stag_invalidated_before_the_turn),
        cmocka_unit_test(test_atomic_behind_our_fin),
        cmocka_unit_test(test_without_extensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
