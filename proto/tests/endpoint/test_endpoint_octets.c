/* SPDX-License-Identifier: BSD-3-Clause */

#include "lone.h"

static void test_terminate_for_unknown_stag(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    start(&l, true);
    feed(&l, BAD_WRITE);
    expect(&l, TERM_STAG);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
    lone_close(&l);
}

static void test_terminate_for_bad_crc(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    start(&l, true);
    feed(&l, "00124143 00000000 00000000 00000001 00000000 587be8c5");
    expect(&l, TERM_CRC);
    lone_close(&l);
}

static void test_terminate_for_unknown_read_source(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, false, 2);
    start(&l, false);
    feed(&l, BAD_READ);
    /* Code 0x00 (invalid STag). CRCs are off, so the field may hold anything. */
    assert_int_equal(l.out_length, 76);
    l.out_length = 72;
    expect(&l, "00464147 00000000 00000002 00000001 00000000 0100e000 002e4141 00000000 00000001 "
               "00000001 00000000 aabbccdd 00000000 00002000 00000040 11223344 00000000 00001000");
    lone_close(&l);
}

static void test_zero_length_read(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    start(&l, true);
    /* An empty Read Request is answered by an empty Read Response. */
    feed(&l, "002e4141 00000000 00000001 00000001 00000000 00000000 00000000 00000000 00000000 "
             "00000000 00000000 00000000 f2c6dd3d");
    expect(&l, "000ec142 00000000 00000000 00000000 6975d6ca");
    lone_close(&l);
}

static void test_reply_and_first_fpdu_in_one_piece(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_INITIATOR, true, 2);
    drain(&l);
    expect(&l, REQUEST);
    struct iw_iov sge = {l.memory, 16};
    assert_int_equal(iw_endpoint_post_recv(l.ep, 7, &sge, 1), IW_OK);
    feed(&l, REPLY " 00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c");
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(l.ep, &c, 1), 1);
    assert_int_equal(c.id, 7);
    assert_int_equal(c.length, 5);
    assert_memory_equal(l.memory, "hello", 5);
    lone_close(&l);
}

static void test_octets_behind_the_request(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    feed(&l, REQUEST " 00");
    expect_fault(&l, IW_CHECK_MPA_PD_SURPLUS, 20);
    assert_int_equal(l.out_length, 0);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
    lone_close(&l);
}

/* Half of the Reply has left: a FIN would cut it short. */
static void test_octets_in_front_of_the_rest_of_the_reply(void **state)
{
    (void)state;
    struct lone l;
    const struct iw_iov *pieces;
    uint8_t octets[64];
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    struct iw_iov request = {octets, unhex(&l, REQUEST, octets, sizeof(octets))};
    iw_endpoint_input(l.ep, &request, 1, 0);
    assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
    assert_int_equal(iw_endpoint_output(l.ep, &pieces, 0), 1);
    iw_endpoint_sent(l.ep, 4, 0);
    request.length = 1;
    iw_endpoint_input(l.ep, &request, 1, 0);
    assert_int_equal(iw_endpoint_output(l.ep, &pieces, 0), 0);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_RESET);
    lone_close(&l);
}

static void test_startup_cut_short(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    feed(&l, "4d504120");
    iw_endpoint_input_end(l.ep, true, 0);
    expect_fault(&l, IW_CHECK_MPA_STARTUP_CUT, 4);
    lone_close(&l);
}

static void test_fin_inside_an_fpdu(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    start(&l, true);
    feed(&l, "0012414300");
    iw_endpoint_input_end(l.ep, true, 0);
    expect_fault(&l, IW_CHECK_MPA_FIN_INSIDE, 5);
    drain(&l);
    assert_int_equal(l.out_length, 0);
    lone_close(&l);
}

/* The event has what the octets say, and what they are meant to say. */
static void test_reversed_terminate_received(void **state)
{
    (void)state;
    struct lone l;
    struct iw_event event;
    lone_open(&l, IW_MPA_RESPONDER, false, 2);
    start(&l, false);
    feed(&l, "0026 4147 00000000 00000002 00000001 00000000 11000300 0012 c140 11223344 00000000 "
             "00001000 00000000");
    assert_true(iw_endpoint_event(l.ep, &event));
    assert_int_equal(event.kind, IW_EVENT_TERMINATED);
    assert_int_equal(event.terminate.flags, 0);
    assert_int_equal(event.terminate.reserved, 0x300);
    assert_true(event.terminate_reversed);
    assert_int_equal(event.meant.layer, 1);
    assert_int_equal(event.meant.etype, 1);
    assert_int_equal(event.meant.code, 0);
    assert_int_equal(event.meant.flags, 0xc0);
    assert_int_equal(event.meant.ddp.stag, 0x11223344);
    lone_close(&l);
}

static void test_terminate_received(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    start(&l, true);
    struct iw_iov sge = {l.memory, 16};
    assert_int_equal(iw_endpoint_post_recv(l.ep, 7, &sge, 1), IW_OK);
    feed(&l, TERM_STAG);
    struct iw_event event;
    assert_true(iw_endpoint_event(l.ep, &event));
    assert_int_equal(event.kind, IW_EVENT_TERMINATED);
    assert_int_equal(event.terminate.layer, 1);
    assert_int_equal(event.terminate.etype, 1);
    assert_int_equal(event.terminate.code, 0);
    assert_int_equal(event.terminate.segment_length, 18);
    assert_int_equal(event.terminate.ddp.stag, 0x11223344);
    assert_false(event.terminate_reversed);
    assert_int_equal(l.out_length, 0); /* no Terminate in answer to one */
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(l.ep, &c, 1), 1);
    assert_int_equal(c.status, IW_STATUS_FLUSHED);
    lone_close(&l);
}

static void test_bad_terminates_are_not_answered(void **state)
{
    (void)state;
    static const char *const bad[] = {
        /* cut: D is set, no header follows; CRCs off */
        "00164147 00000000 00000002 00000001 00000000 1100c000 00000000",
        /* L=0 */
        "00160147 00000000 00000002 00000001 00000000 20020000 00000000",
        /* MO 4 */
        "00164147 00000000 00000002 00000001 00000004 20020000 00000000"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct lone l;
        lone_open(&l, IW_MPA_RESPONDER, false, 2);
        start(&l, false);
        feed(&l, bad[i]);
        expect_fault(&l, IW_CHECK_RDMAP_TERMINATE_VALID, 20);
        assert_int_equal(l.out_length, 0);
        assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
        lone_close(&l);
    }
}

static void write_after_error(struct lone *l)
{
    uint8_t fpdu[32] = {0x00, 0x12, 0xc1, 0x40};
    for (unsigned i = 0; i < 4; i++)
        fpdu[4 + i] = (uint8_t)(l->stag >> (24 - 8 * i));
    fpdu[14] = 0x10; /* TO 0x1000 */
    static const uint8_t payload[] = {'l', 'a', 't', 'e'};
    memcpy(fpdu + 16, payload, sizeof(payload));
    struct iw_iov in = {fpdu, 24};
    iw_endpoint_input(l->ep, &in, 1, 0);
    drain(l);
}

static void test_segments_after_an_error_are_dropped(void **state)
{
    (void)state;
    for (int ignored = 0; ignored < 2; ignored++) {
        struct lone l;
        lone_open(&l, IW_MPA_RESPONDER, false, 2);
        const char *error;
        if (ignored)
            assert_int_equal(
                iw_switches_set(&l.switches, IW_SWITCH_IGNORE, "rdmap-terminate-stop", &error), 1);
        start(&l, false);
        feed(&l, BAD_WRITE);
        assert_int_equal(l.out_length, 44);
        write_after_error(&l);
        assert_int_equal(l.out_length, 44);
        assert_int_equal(memcmp(l.memory, "late", 4) == 0, ignored);
        lone_close(&l);
    }
}

static void test_empty_pool(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 0);
    start(&l, true);
    feed(&l, EMPTY_SEND);
    expect_fault(&l, IW_CHECK_MPA_LOCAL, 0);
    /* The Terminate waits for a buffer too: the deadline asks for another try. */
    assert_int_equal(l.out_length, 0);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_NOTHING);
    assert_true(iw_endpoint_deadline(l.ep) < 2000000);
    lone_close(&l);
}

static void test_ulp_abort(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_INITIATOR, false, 2);
    drain(&l);
    l.out_length = 0;
    feed(&l, REPLY_NO_CRC);
    iw_endpoint_abort(l.ep, true, 0x42, 0);
    drain(&l);
    assert_int_equal(l.out_length, 28);
    l.out_length = 24;
    expect(&l, "00164147 00000000 00000002 00000001 00000000 00420000");
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
    lone_close(&l);
}

/* RFC 5044 §7.1.2: a responder sends no FPDU before it has received one, and no Terminate. */
static void test_ulp_abort_before_the_first_fpdu(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct lone l;
        lone_open(&l, IW_MPA_RESPONDER, false, 2);
        start(&l, false);
        if (later) /* an empty Write */
            feed(&l, "000ec140 00000000 00000000 00000000 00000000");
        iw_endpoint_abort(l.ep, true, 0x42, 0);
        drain(&l);
        assert_int_equal(l.out_length, later ? 28 : 0);
        assert_int_equal(iw_endpoint_want(l.ep), later ? IW_WANT_FIN : IW_WANT_RESET);
        lone_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminate_for_unknown_stag),
        cmocka_unit_test(test_terminate_for_bad_crc),
        cmocka_unit_test(test_terminate_for_unknown_read_source),
        cmocka_unit_test(test_zero_length_read),
        cmocka_unit_test(test_reply_and_first_fpdu_in_one_piece),
        cmocka_unit_test(test_octets_behind_the_request),
        cmocka_unit_test(test_octets_in_front_of_the_rest_of_the_reply),
        cmocka_unit_test(test_startup_cut_short),
        cmocka_unit_test(test_fin_inside_an_fpdu),
        cmocka_unit_test(test_terminate_received),
        cmocka_unit_test(test_reversed_terminate_received),
        cmocka_unit_test(test_bad_terminates_are_not_answered),
        cmocka_unit_test(test_segments_after_an_error_are_dropped),
        cmocka_unit_test(test_empty_pool),
        cmocka_unit_test(test_ulp_abort),
        cmocka_unit_test(test_ulp_abort_before_the_first_fpdu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
