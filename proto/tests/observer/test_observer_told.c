/* SPDX-License-Identifier: BSD-3-Clause */
/* Sides whose segments the caller reports. */
#include "observer_support.h"

/* The station is the initiator: what it asked for is what the responder is judged by. */
static void test_told_initiator(void **state)
{
    (void)state;
    struct rig *rig = rig_new(true, false);

    PLAY(rig, REQUEST, REPLY, "I " READ_1, "I " READ_2, "R " RESPONSE_1,
         "R c142 aabbccde 0000000000003001 01020304");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_RDMAP_RESPONSE_TO);
    assert_int_equal(iw_observer_input(rig->observer, IW_SIDE_INITIATOR, 0, "", 1), -1);
    PLAY(rig, "F");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FIN), 1);
    rig_free(rig);

    /* A broken segment opens no way: the responder's answer comes too early. */
    rig = rig_new(true, false);
    PLAY(rig, REQUEST, REPLY, "X " SEND_1, "R " TERMINATE "20020000");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    assert_int_equal(rig_count(rig, IW_OBSERVED_SEGMENT), 2);
    assert_int_equal(rig_count(rig, IW_OBSERVED_MESSAGE), 1);
    rig_free(rig);
    rig = rig_new(true, false);
    PLAY(rig, REQUEST, REPLY, "X " SEND_1, "R " SEND_1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                     IW_CHECK_MPA_RESPONDER_EARLY);
    rig_free(rig);

    /* A fault that breaks no framing keeps the place: the read was asked for, wrong MSN or not. */
    rig = rig_new(true, false);
    PLAY(rig, REQUEST, REPLY, "I " READ_3, "I " READ_1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    PLAY(rig, "R " RESPONSE_3, "R " RESPONSE_1);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->side, IW_SIDE_RESPONDER);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                     IW_CHECK_RDMAP_TERMINATE_STOP);
    rig_free(rig);
}

/* Whoever takes a Read Request that no receiver should take answers it: the response is no fault of
 * its own. */
static void test_told_requests_that_are_none(void **state)
{
    static const char *const requests[] = {
        "X " READ_1, /* a wrong CRC, say */
        "I " READ_HEADER("00000001") "aabbccdd 0000000000002000",
        "I " READ_HEADER("00000001") "aabbccdd 0000000000002000 00000040 11223344 "
                                     "0000000000001000 00",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        for (int told = 0; told < 2; told++) {
            struct rig *rig = rig_new(told, false);
            PLAY(rig, REQUEST, REPLY, "I " SEND_1, requests[i], "R " RESPONSE_1);
            for (size_t k = 0; k < rig_count(rig, IW_OBSERVED_FINDING); k++)
                assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, k)->side, IW_SIDE_INITIATOR);
            assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), told ? 0 : 1);
            rig_free(rig);
        }
    }
}

/* What a Terminate returns is compared with the reported segments as with those of a capture: of
 * several faults in one segment any may be its reason. */
static void test_told_provocations(void **state)
{
    (void)state;
    struct rig *rig = rig_new(true, false);
    PLAY(rig, REQUEST, REPLY, "I " SEND_1, "I " SEND_3,
         "R " TERMINATE "1203c000 0012 4143 00000000 00000000 00000001 00000000");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 1);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                     IW_CHECK_RDMAP_TERMINATE_SEGMENT);
    rig_free(rig);

    rig = rig_new(true, false);
    PLAY(rig, REQUEST, REPLY, "I " SEND_1, "I " SEND_3,
         "R " TERMINATE "1203c000 0012 4143 00000000 00000000 00000003 00000000");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_free(rig);
}

static void test_told_responder(void **state)
{
    (void)state;
    struct rig *rig = rig_new(false, true);

    /* The station's IRD of 2 binds the initiator; its answers make room again. */
    PLAY(rig, REQUEST, REPLY, "I " READ_1, "I " READ_2, "R " RESPONSE_1, "I " READ_3);
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    PLAY(rig, "I " READ_HEADER("00000004") "00000001 0000000000000000 00000001 11223344 "
                                           "0000000000001000");
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_RDMAP_IRD);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.got, 3);
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.want, 2);
    rig_free(rig);

    /* A reported frame that no initiator accepts still says how its octets are framed. */
    rig = rig_new(false, true);
    PLAY(rig, REQUEST_PLAIN, "r 4d504120494420526570204672616d66 c0090000",
         "i 00000000 00124143 00000000 00000000 00000001 00000000 88c1d6fc");
    assert_int_equal(rig_count(rig, IW_OBSERVED_FINDING), 0);
    rig_expect_message(rig, 0, IW_SIDE_INITIATOR, IW_OP_SEND, 20, 48, 0, 1);
    rig_free(rig);

    /* An initiator that speaks before the reported Reply. */
    rig = rig_new(false, true);
    PLAY(rig, REQUEST, "i 00");
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check,
                     IW_CHECK_MPA_INITIATOR_EARLY);
    rig_free(rig);

    /* A responder that speaks before the reported Request, whatever it says. */
    rig = rig_new(true, false);
    PLAY(rig, "r 00");
    assert_int_equal(rig_get(rig, IW_OBSERVED_FINDING, 0)->fault.check, IW_CHECK_MPA_REPLY_EARLY);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_initiator),
        cmocka_unit_test(test_told_responder),
        cmocka_unit_test(test_told_requests_that_are_none),
        cmocka_unit_test(test_told_provocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
