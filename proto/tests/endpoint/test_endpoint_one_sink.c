/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone_ulpdu.h"

/*
 * Two Reads outstanding into one sink STag, at 0x1000 and at 0x1040: only the TO distinguishes
 * their responses (RFC 5040 §5.2.2, RFC 5041 §5.2).
 */

enum { SIZE = 8, SECOND = 0x40 };

#define ASKED(msn, sink)                                                                           \
    "4141 00000000 00000001 " M(msn) " 00000000 SSSS " sink " 00000008 11223344 0000000000001000"
#define FIRST_TO "0000000000001000"
#define SECOND_TO "0000000000001040"
#define WHOLE(to, data) "c142 SSSS " to " " data
#define PART(to, data) "8142 SSSS " to " " data
/* A Terminate: invalid bounds, length and header of the segment at fault. */
#define REFUSED(segment) TERMINATE "0101c000 " segment

static void open_two(struct lone *l)
{
    open_lone(l, IW_MPA_INITIATOR);
    memset(l->memory, 0xa5, sizeof(l->memory));
    for (uint64_t i = 0; i < 2; i++) {
        struct iw_work work = {.id = i + 1,
                               .opcode = IW_WORK_READ,
                               .sink_stag = l->stag,
                               .sink_to = 0x1000 + i * SECOND,
                               .length = SIZE};
        assert_int_equal(post(l, work), IW_OK);
    }
    EXPECT_OUT(l, ASKED(1, FIRST_TO), ASKED(2, SECOND_TO));
}

/* Nothing but these octets was placed. */
static void expect_placed(const struct lone *l, const char *first, const char *second)
{
    uint8_t want[sizeof(l->memory)];
    memset(want, 0xa5, sizeof(want));
    (void)unhex(l, first, want, SIZE);
    (void)unhex(l, second, want + SECOND, SIZE);
    assert_memory_equal(l->memory, want, sizeof(want));
}

static void expect_to_fault(struct lone *l, uint64_t pos, uint64_t got, uint64_t want)
{
    struct iw_event event;
    do
        assert_true(iw_endpoint_event(l->ep, &event));
    while (event.kind != IW_EVENT_FAULT);
    assert_int_equal(event.fault.check, IW_CHECK_RDMAP_RESPONSE_TO);
    assert_int_equal(event.fault.pos, 20 + pos);
    assert_int_equal(event.fault.got, got);
    assert_int_equal(event.fault.want, want);
}

static void test_each_in_its_place(void **state)
{
    (void)state;
    struct lone l;
    open_two(&l);
    TAKE_IN(&l, WHOLE(FIRST_TO, "0102030405060708"), PART(SECOND_TO, "11121314"),
            WHOLE("0000000000001044", "15161718"));
    assert_int_equal(completion(&l, 1, IW_STATUS_OK).length, SIZE);
    assert_int_equal(completion(&l, 2, IW_STATUS_OK).length, SIZE);
    expect_placed(&l, "0102030405060708", "1112131415161718");
    lone_close(&l);
}

static void test_the_second_before_the_first(void **state)
{
    (void)state;
    struct lone l;
    open_two(&l);
    TAKE_IN(&l, WHOLE(SECOND_TO, "1112131415161718"));
    expect_to_fault(&l, 8, 0x1040, 0x1000);
    (void)completion(&l, 1, IW_STATUS_LOCAL_FAULT);
    (void)completion(&l, 2, IW_STATUS_FLUSHED);
    expect_placed(&l, "", "");
    EXPECT_OUT(&l, REFUSED("0016 c142 SSSS " SECOND_TO));
    lone_close(&l);
}

/* The rest of the first response would be due. FPDUs of 24 octets stand before the one at fault. */
static void test_the_second_amid_the_first(void **state)
{
    (void)state;
    struct lone l;
    open_two(&l);
    TAKE_IN(&l, PART(FIRST_TO, "01020304"), WHOLE(SECOND_TO, "11121314"));
    expect_to_fault(&l, 24 + 8, 0x1040, 0x1004);
    (void)completion(&l, 1, IW_STATUS_LOCAL_FAULT);
    (void)completion(&l, 2, IW_STATUS_FLUSHED);
    expect_placed(&l, "01020304", "");
    EXPECT_OUT(&l, REFUSED("0012 c142 SSSS " SECOND_TO));
    lone_close(&l);
}

static void test_the_second_over_the_first(void **state)
{
    (void)state;
    struct lone l;
    open_two(&l);
    TAKE_IN(&l, WHOLE(FIRST_TO, "0102030405060708"), WHOLE(FIRST_TO, "1112131415161718"));
    assert_int_equal(completion(&l, 1, IW_STATUS_OK).length, SIZE);
    expect_to_fault(&l, 28 + 8, 0x1000, 0x1040);
    (void)completion(&l, 2, IW_STATUS_LOCAL_FAULT);
    expect_placed(&l, "0102030405060708", "");
    EXPECT_OUT(&l, REFUSED("0016 c142 SSSS " FIRST_TO));
    lone_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_in_its_place),
        cmocka_unit_test(test_the_second_before_the_first),
        cmocka_unit_test(test_the_second_amid_the_first),
        cmocka_unit_test(test_the_second_over_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
