/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone.h"

/* --overstrict, literally: each row is legal and accepted silently; with the switch of its check an
 * overstrict endpoint answers with the octets given next. CRCs are off: their field is zeros. */

#define QN0(msn, mo) "00000000 00000000 " msn mo
#define READ(size, to)                                                                             \
    "002e 4141 00000000 00000001 00000001 00000000 aabbccdd 00000000 00002000 " size " SSSS "      \
    "00000000 " to
#define TERMINATE(length) "00" length " 4147 00000000 00000002 00000001 00000000 "
#define CRC " 00000000 "
#define ONE " 00000001 "
#define TWO " 00000002 "
#define NONE " 00000000 "
#define ZERO_16 "00000000000000000000000000000000"

struct row {
    enum iw_check check;
    enum iw_mpa_role role;
    const char *in[2]; /* octets that come together */
    const char *out;   /* NULL: nothing, the connection ends without a Terminate */
};

#define EMPTY_1 "0012 4143" QN0(ONE, NONE)
#define SE "0014 4145" QN0(ONE, NONE) "6869"
#define INVALIDATE "0014 4144 SSSS 00000000 00000001 00000000 6869"
#define SEND_4 "0016 4143" QN0(ONE, NONE) "68692121"
#define EMPTY_WRITE "000e c140 SSSS 00000000 00001000"
#define LAST_WRITE "0012 c140 SSSS 00000000 00001ffc deadbeef"
#define EMPTY_RESPONSE "000e c142 00000000 00000000 00000000"
#define FIRST_SEGMENT "0013 0143" QN0(ONE, NONE) "61 000000"
#define OTHER_SEGMENT "0013 4145" QN0(ONE, ONE) "62 000000"
#define FIRST_WRITE "0012 8140 SSSS 00000000 00001000 deadbeef"
#define RESERVED_WRITE "0012 c160 SSSS 00000000 00001004 deadbeef"
#define OTHER_WRITE "000e c140 01020304 00000000 00001004"

static const struct row rows[] = {
    {IW_CHECK_RDMAP_SEND_EMPTY,
     IW_MPA_RESPONDER,
     {EMPTY_1 CRC},
     TERMINATE("2a") "02ffc000" EMPTY_1 CRC},
    {IW_CHECK_RDMAP_SEND_SE,
     IW_MPA_RESPONDER,
     {SE "0000" CRC},
     TERMINATE("2a") "0206c000 0014 4145" QN0(ONE, NONE) CRC},
    {IW_CHECK_RDMAP_SEND_INVALIDATE,
     IW_MPA_RESPONDER,
     {INVALIDATE "0000" CRC},
     TERMINATE("2a") "0206c000 0014 4144 SSSS 00000000 00000001 00000000" CRC},
    {IW_CHECK_DDP_FIT,
     IW_MPA_RESPONDER,
     {SEND_4 CRC},
     TERMINATE("2a") "1205c000 0016 4143" QN0(ONE, NONE) CRC},
    {IW_CHECK_RDMAP_WRITE_EMPTY,
     IW_MPA_RESPONDER,
     {EMPTY_WRITE CRC},
     TERMINATE("26") "02ffc000" EMPTY_WRITE CRC},
    {IW_CHECK_DDP_TO_FIT,
     IW_MPA_RESPONDER,
     {LAST_WRITE CRC},
     TERMINATE("26") "1101c000 0012 c140 SSSS 00000000 00001ffc" CRC},
    {IW_CHECK_RDMAP_READ_EMPTY,
     IW_MPA_RESPONDER,
     {READ(NONE, "00001000") CRC},
     TERMINATE("2a") "02ffc000 002e 4141 00000000 00000001 00000001 00000000" CRC},
    {IW_CHECK_RDMAP_READ_FIT,
     IW_MPA_RESPONDER,
     {READ("00000010", "00001ff0") CRC},
     TERMINATE("46") "0101e000" READ("00000010", "00001ff0") CRC},
    {IW_CHECK_RDMAP_IRD_FULL,
     IW_MPA_RESPONDER,
     {READ("00000010", "00001000") CRC},
     TERMINATE("2a") "1202c000 002e 4141 00000000 00000001 00000001 00000000" CRC},
    {IW_CHECK_RDMAP_RESPONSE_EMPTY,
     IW_MPA_INITIATOR,
     {EMPTY_RESPONSE CRC},
     TERMINATE("26") "02ffc000" EMPTY_RESPONSE CRC},
    {IW_CHECK_MPA_FPDU_SPLIT,
     IW_MPA_RESPONDER,
     {"0012 4143 0000", "0000 00000000" ONE NONE CRC},
     TERMINATE("16") "20050000" CRC},
    {IW_CHECK_MPA_FPDU_PACKED,
     IW_MPA_RESPONDER,
     {EMPTY_1 CRC EMPTY_WRITE CRC},
     TERMINATE("16") "20050000" CRC},
    {IW_CHECK_MPA_MULPDU,
     IW_MPA_RESPONDER, /* 129 octets; the MULPDU is 128 */
     {"0081 c140 SSSS 00000000 00001000" ZERO_16 ZERO_16 ZERO_16 ZERO_16 ZERO_16 ZERO_16 ZERO_16
      "ffffff 00" CRC},
     TERMINATE("16") "20050000" CRC},
    {IW_CHECK_DDP_CONSTANT_UNTAGGED,
     IW_MPA_RESPONDER,
     {FIRST_SEGMENT CRC, OTHER_SEGMENT CRC},
     TERMINATE("2a") "0206c000 0013 4145" QN0(ONE, ONE) CRC},
    {IW_CHECK_DDP_CONSTANT_UNTAGGED,
     IW_MPA_RESPONDER,
     {"0013 0144 01020304 00000000" ONE NONE "61 000000" CRC,
      "0013 4144 SSSS 00000000" ONE ONE "62 000000" CRC},
     TERMINATE("2a") "0206c000 0013 4144 SSSS 00000000" ONE ONE CRC},
    {IW_CHECK_DDP_CONSTANT_TAGGED,
     IW_MPA_RESPONDER,
     {FIRST_WRITE CRC, RESERVED_WRITE CRC},
     TERMINATE("26") "0206c000 0012 c160 SSSS 00000000 00001004" CRC},
    {IW_CHECK_DDP_CONSTANT_STAG,
     IW_MPA_RESPONDER,
     {FIRST_WRITE CRC, OTHER_WRITE CRC},
     TERMINATE("26") "1100c000" OTHER_WRITE CRC},
    {IW_CHECK_RDMAP_TERMINATE_RSVD, IW_MPA_RESPONDER, {TERMINATE("16") "20020001" CRC}, NULL},
    {IW_CHECK_MPA_MARKER_LONE, IW_MPA_RESPONDER, {"00000000"}, NULL},
    {IW_CHECK_DDP_HALF_CLOSE, IW_MPA_RESPONDER, {""}, NULL},
};

/* Something of everything that the rows answer to. */
static void post(struct lone *l, const struct row *row)
{
    struct iw_iov sge = {l->memory, 4};
    struct iw_work read = {.id = 1, .opcode = IW_WORK_READ}, send = {.id = 2};
    assert_int_equal(iw_endpoint_post_recv(l->ep, 7, &sge, 1), IW_OK);
    if (row->role == IW_MPA_INITIATOR)
        assert_int_equal(iw_endpoint_post(l->ep, &read, 0), IW_OK);
    if (row->check == IW_CHECK_DDP_HALF_CLOSE)
        assert_int_equal(iw_endpoint_post(l->ep, &send, 0), IW_OK);
}

static enum iw_check play(struct lone *l, const struct row *row, bool overstrict)
{
    struct iw_endpoint_config config = lone_config(row->role, false);
    struct iw_event event;
    const char *error;
    config.mpa.markers = row->check == IW_CHECK_MPA_MARKER_LONE;
    config.mulpdu = row->check == IW_CHECK_MPA_MULPDU ? 128 : 0;
    config.mpa.ird = row->check == IW_CHECK_RDMAP_IRD_FULL ? 1 : 16;
    lone_open_as(l, config, 2);
    if (overstrict)
        assert_int_equal(iw_switches_set(&l->switches, IW_SWITCH_OVERSTRICT,
                                         iw_check_info(row->check)->name, &error),
                         1);
    drain(l);
    feed(l, row->role == IW_MPA_RESPONDER ? REQUEST_NO_CRC : REPLY_NO_CRC);
    if (row->role == IW_MPA_RESPONDER)
        assert_int_equal(iw_endpoint_accept(l->ep, NULL, 0, 0), IW_OK);
    post(l, row);
    drain(l);
    l->out_length = 0;
    for (unsigned i = 0; i < 2 && row->in[i] != NULL; i++)
        feed(l, row->in[i]);
    if (row->check == IW_CHECK_MPA_MARKER_LONE || row->check == IW_CHECK_DDP_HALF_CLOSE)
        iw_endpoint_input_end(l->ep, true, 0);
    drain(l);
    while (iw_endpoint_event(l->ep, &event))
        if (event.kind == IW_EVENT_FAULT)
            return event.fault.check;
    return IW_CHECK_NONE;
}

static void test_what_is_legal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        enum iw_check fault = play(&l, &rows[i], false);
        if (fault != IW_CHECK_NONE)
            fail_msg("%s: %s without a switch", iw_check_info(rows[i].check)->name,
                     iw_check_info(fault)->name);
        lone_close(&l);
    }
}

static void test_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        enum iw_check fault = play(&l, &rows[i], true);
        if (fault != rows[i].check)
            fail_msg("%s: %s", iw_check_info(rows[i].check)->name, iw_check_info(fault)->name);
        expect(&l, rows[i].out == NULL ? "" : rows[i].out);
        assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
        lone_close(&l);
    }
}

/* RFC 6581 §9.2: an RTR is an empty message, and no message of the ULP's. */
static void test_an_rtr_is_not_an_empty_message(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *rtr;
    } forms[] = {
        {"rdmap-send-empty", EMPTY_1 CRC},
        {"rdmap-write-empty", EMPTY_WRITE CRC},
        {"rdmap-read-empty", READ(NONE, "00001000") CRC},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct lone l;
        struct iw_event event;
        const char *error;
        struct iw_endpoint_config config = lone_config(IW_MPA_RESPONDER, false);
        config.mpa.revision = 2;
        config.mpa.enhanced = true;
        lone_open_as(&l, config, 2);
        assert_int_equal(iw_switches_set(&l.switches, IW_SWITCH_OVERSTRICT, forms[i].rule, &error),
                         1);
        feed(&l, "4d504120494420526571204672616d65 10020004 c010c010");
        assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
        drain(&l);
        feed(&l, forms[i].rtr);
        while (iw_endpoint_event(l.ep, &event))
            assert_int_not_equal(event.kind, IW_EVENT_FAULT);
        feed(&l, i == 0   ? "0012 4143" QN0(TWO, NONE) CRC
                 : i == 1 ? EMPTY_WRITE CRC
                          : "002e 4141 00000000 00000001 00000002 00000000 aabbccdd 00000000 "
                            "00002000 00000000 SSSS 00000000 00001000" CRC);
        expect_fault(&l, iw_check_find(forms[i].rule), i == 0 ? 50 : i == 1 ? 46 : 78);
        lone_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_legal),
        cmocka_unit_test(test_is_refused),
        cmocka_unit_test(test_an_rtr_is_not_an_empty_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
