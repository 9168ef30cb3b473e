/* SPDX-License-Identifier: BSD-3-Clause */
/* From which octets on a connection is followed. */
#include "observer_support.h"

#define KEY_REQUEST "MPA ID Req Frame"
#define KEY_REPLY "MPA ID Rep Frame"

enum { NONE = -1 };

/* enum iw_side, or NONE. */
static int opens(const char *octets, size_t length, bool first)
{
    enum iw_side side = IW_SIDE_INITIATOR;

    return iw_observer_opens(octets, length, first, &side) ? (int)side : NONE;
}

#define OPENS(octets, first) opens(octets, sizeof(octets) - 1, first)

static void test_first(void **state)
{
    (void)state;
    assert_int_equal(OPENS(KEY_REQUEST "\x40\x02\0\0", true), IW_SIDE_INITIATOR);
    assert_int_equal(OPENS(KEY_REPLY "\x40\x02\0\0", true), IW_SIDE_RESPONDER);
    assert_int_equal(OPENS("MPA ", true), IW_SIDE_INITIATOR);
    assert_int_equal(OPENS("MPA ID Re", true), IW_SIDE_INITIATOR);
    assert_int_equal(OPENS("MPA ID Rep", true), IW_SIDE_RESPONDER);
    /* A wrong key is a finding, not another protocol. */
    assert_int_equal(OPENS("MPA ID Req frame\x40\x02\0\0", true), IW_SIDE_INITIATOR);
    assert_int_equal(OPENS("MPA", true), NONE);
    assert_int_equal(OPENS("MPA id Req Frame", true), NONE);
    assert_int_equal(OPENS("", true), NONE);
}

static void test_behind_streaming(void **state)
{
    (void)state;
    assert_int_equal(OPENS(KEY_REQUEST "\x40\x01\0\0", false), IW_SIDE_INITIATOR);
    assert_int_equal(OPENS(KEY_REQUEST "\x50\x02\0\x04\0\x10\0\x10", false), IW_SIDE_INITIATOR);
    assert_int_equal(OPENS(KEY_REQUEST "\0\0\x02\0", false), IW_SIDE_INITIATOR);
    /* Of a revision that there is not; with more private data than there can be. */
    assert_int_equal(OPENS(KEY_REQUEST "\x40\x03\0\0", false), NONE);
    assert_int_equal(OPENS(KEY_REQUEST "\x40\x01\x02\x01", false), NONE);
    /* Not whole, not all of the key, not the Request's. */
    assert_int_equal(OPENS(KEY_REQUEST "\x40\x01\0", false), NONE);
    assert_int_equal(OPENS(KEY_REQUEST, false), NONE);
    assert_int_equal(OPENS("MPA ID Req frame\x40\x01\0\0", false), NONE);
    assert_int_equal(OPENS(KEY_REPLY "\x40\x01\0\0", false), NONE);
    assert_int_equal(OPENS("x" KEY_REQUEST "\x40\x01\0\0", false), NONE);
    assert_int_equal(OPENS(KEY_REQUEST " and \"" KEY_REPLY "\"", false), NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_behind_streaming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
