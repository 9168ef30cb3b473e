/* SPDX-License-Identifier: BSD-3-Clause */
/* What is decoded of a message: only a header of the right length. */
#include "observer/observer_internal.h"
#include "observer_support.h"

/* The first octets of what was decoded, all of which are octets of the header. */
static struct iw_observation decoded(unsigned opcode, size_t length)
{
    static struct iw_observer observer;
    struct iw_observation now;
    uint8_t octets[100];

    memset(&now, 0, sizeof(now));
    memset(octets, 1, sizeof(octets));
    observer.now = &now;
    observer.config.no_quirks = true;
    iw_observed_header(&observer, opcode, octets, length);
    return now;
}

static void test_read_request(void **state)
{
    (void)state;
    assert_int_equal(decoded(IW_OP_READ_REQUEST, 28).read_request.size, 0x01010101);
    assert_int_equal(decoded(IW_OP_READ_REQUEST, 27).read_request.size, 0);
    assert_int_equal(decoded(IW_OP_READ_REQUEST, 29).read_request.size, 0);
    assert_int_equal(decoded(IW_OP_READ_RESPONSE, 28).read_request.size, 0);
    assert_int_equal(decoded(IW_OP_WRITE, 28).read_request.size, 0);
}

static void test_atomic_request(void **state)
{
    (void)state;
    assert_int_equal(decoded(IW_OP_ATOMIC_REQUEST, 52).atomic_request.remote_stag, 0x01010101);
    assert_int_equal(decoded(IW_OP_ATOMIC_REQUEST, 51).atomic_request.remote_stag, 0);
    assert_int_equal(decoded(IW_OP_ATOMIC_REQUEST, 53).atomic_request.remote_stag, 0);
    assert_int_equal(decoded(IW_OP_ATOMIC_RESPONSE, 52).atomic_request.remote_stag, 0);
    assert_int_equal(decoded(IW_OP_IMMEDIATE, 52).atomic_request.remote_stag, 0);
}

static void test_atomic_response(void **state)
{
    (void)state;
    assert_int_equal(decoded(IW_OP_ATOMIC_RESPONSE, 12).atomic_response.request_id, 0x01010101);
    assert_int_equal(decoded(IW_OP_ATOMIC_RESPONSE, 11).atomic_response.request_id, 0);
    assert_int_equal(decoded(IW_OP_ATOMIC_RESPONSE, 13).atomic_response.request_id, 0);
    assert_int_equal(decoded(IW_OP_ATOMIC_REQUEST, 12).atomic_response.request_id, 0);
}

static void test_terminate(void **state)
{
    (void)state;
    assert_false(decoded(IW_OP_TERMINATE, 3).terminate_valid);
    assert_true(decoded(IW_OP_TERMINATE, 40).terminate_valid);
    assert_false(decoded(IW_OP_SEND, 40).terminate_valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_request),
        cmocka_unit_test(test_atomic_request),
        cmocka_unit_test(test_atomic_response),
        cmocka_unit_test(test_terminate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
