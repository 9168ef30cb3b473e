/* SPDX-License-Identifier: BSD-3-Clause */
/* RFC 6581 §9.2 and §9.1 as octets: which RTR leaves, which one is taken, and the Terminates of an
 * initiator that cannot go on. */
#include <stdio.h>

#include "lone.h"

enum { B = IW_MPA_RTR_SEND, C = IW_MPA_RTR_WRITE, D = IW_MPA_RTR_READ };

#define REQUEST_2 "4d504120494420526571204672616d65 1002"
#define REPLY_2 "4d504120494420526570204672616d65 1002"
#define NO_CRC "00000000"
#define RTR_SEND "0012 4143 00000000 00000000 00000001 00000000" NO_CRC
#define RTR_WRITE "000e c140 00000000 0000000000000000" NO_CRC
#define READ(msn, size)                                                                            \
    "002e 4141 00000000 00000001" msn "00000000 00000000 0000000000000000" size                    \
    "00000000 0000000000000000" NO_CRC
#define RTR_READ READ("00000001", "00000000")
#define RESPONSE "000e c142 00000000 0000000000000000" NO_CRC
#define TERMINATE(code) "0016 4147 00000000 00000002 00000001 00000000" code "0000" NO_CRC
#define HELLO(msn) "0017 4143 00000000 00000000" msn "00000000 68656c6c6f 000000" NO_CRC

static void open_as(struct lone *l, enum iw_mpa_role role, struct iw_mpa_config mpa)
{
    struct iw_endpoint_config config = lone_config(role, false);
    mpa.revision = 2;
    mpa.enhanced = mpa.peer_to_peer = role == IW_MPA_INITIATOR;
    config.mpa = mpa;
    lone_open_as(l, config, 2);
    drain(l);
    l->out_length = 0;
}

/* A responder that supports `rtr` and has accepted a Request with every form and this IRD/ORD. */
static void respond(struct lone *l, uint8_t rtr, const char *reply)
{
    open_as(l, IW_MPA_RESPONDER, (struct iw_mpa_config){.rtr = rtr, .ird = 1, .ord = 1});
    feed(l, REQUEST_2 "0004 c001 c001");
    assert_int_equal(iw_endpoint_accept(l->ep, NULL, 0, 0), IW_OK);
    drain(l);
    expect(l, reply);
}

static void post_send(struct lone *l, uint64_t id)
{
    memcpy(l->memory, "hello", 5);
    struct iw_iov sge = {l->memory, 5};
    struct iw_work work = {.id = id, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    assert_int_equal(iw_endpoint_post(l->ep, &work, 0), IW_OK);
    drain(l);
}

static void no_fault(struct lone *l)
{
    struct iw_event event;
    while (iw_endpoint_event(l->ep, &event))
        assert_int_not_equal(event.kind, IW_EVENT_FAULT);
}

/* The forms that the initiator supports and prefers, those that the Reply allows, and the one that
 * is sent, before any work of the ULP's. */
static void test_the_initiator_chooses(void **state)
{
    (void)state;
    static const struct {
        uint8_t rtr, first;
        const char *block, *sent;
    } rows[] = {
        {B, 0, "8001 0001", TERMINATE("2007")}, /* none named (OP-25) */
        {B, 0, "c001 0001", RTR_SEND HELLO("00000002")},
        {C, 0, "8001 8001", RTR_WRITE HELLO("00000001")},
        {D, 0, "8001 4001", RTR_READ HELLO("00000001")},
        {B | C | D, 0, "c001 c001", RTR_WRITE HELLO("00000001")},
        {B | C | D, 0, "c001 4001", RTR_READ HELLO("00000001")},
        {B | C | D, 0, "c001 0001", RTR_SEND HELLO("00000002")},
        {B | C | D, B, "c001 c001", RTR_SEND HELLO("00000002")},
        {B | C | D, C, "c001 c001", RTR_WRITE HELLO("00000001")},
        {B | C | D, D, "c001 c001", RTR_READ HELLO("00000001")},
        {B | C | D, B, "8001 c001", RTR_WRITE HELLO("00000001")}, /* not allowed: as without */
        {B | C | D, D, "c001 0001", RTR_SEND HELLO("00000002")},
        /* an IRD of 0 has no room for a Read (OP-29) */
        {B | D, 0, "c000 4001", RTR_SEND HELLO("00000002")},
        {B | D, D, "c000 4001", RTR_SEND HELLO("00000002")},
        {D, 0, "8000 4001", TERMINATE("2007")},
        /* forms that this end lacks */
        {B, 0, "8001 c001", TERMINATE("2007")},
        {C, 0, "c001 4001", TERMINATE("2007")},
        {D, 0, "c001 8001", TERMINATE("2007")},
        /* the peer wants an IRD of 2, and there is 1 */
        {B, 0, "c001 0002", TERMINATE("2006")},
        {B, 0, "c001 3ffe", TERMINATE("2006")},
        {B, 0, "c001 3fff", RTR_SEND HELLO("00000002")},
        {B, 0, "c001 0000", RTR_SEND HELLO("00000002")},
        {B, 0, "ffff 3fff", RTR_SEND HELLO("00000002")},
        /* A=0: client-server, and the flags mean nothing (OP-26) */
        {B, 0, "4001 c001", HELLO("00000001")},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        struct iw_mpa_config mpa = {
            .rtr = rows[i].rtr, .rtr_first = rows[i].first, .ird = 1, .ord = 1};
        char reply[80];
        open_as(&l, IW_MPA_INITIATOR, mpa);
        post_send(&l, 1);
        expect(&l, "");
        snprintf(reply, sizeof(reply), "%s%s", REPLY_2 "0004", rows[i].block);
        feed(&l, reply);
        expect(&l, rows[i].sent);
        bool ends = strncmp(rows[i].sent, "0016", 4) == 0;
        assert_int_equal(iw_endpoint_want(l.ep), ends ? IW_WANT_FIN : IW_WANT_NOTHING);
        lone_close(&l);
    }
}

/* Every form against each that was agreed on: taken, or Terminate 2/0/7 and the end. */
static void test_the_responder_checks(void **state)
{
    (void)state;
    static const struct {
        uint8_t rtr;
        const char *reply;
    } sides[] = {{B, REPLY_2 "0004 c001 0001"},
                 {C, REPLY_2 "0004 8001 8001"},
                 {D, REPLY_2 "0004 8001 4001"},
                 {B | C | D, REPLY_2 "0004 c001 c001"}};
    static const struct {
        uint8_t form; /* 0: no RTR at all */
        const char *octets, *answer;
    } rtrs[] = {
        {B, RTR_SEND, HELLO("00000001")},
        {C, RTR_WRITE, HELLO("00000001")},
        {C, "000e c140 deadbeef 0123456789abcdef" NO_CRC, HELLO("00000001")}, /* not checked */
        {D, RTR_READ, HELLO("00000001") RESPONSE},
        {0, HELLO("00000001"), ""},
        {0, "0012 4145 00000000 00000000 00000001 00000000" NO_CRC, ""}, /* Send with SE */
        {0, "0012 4143 00000000 00000000 00000002 00000000" NO_CRC, ""}, /* MSN 2 */
        {0, "0012 0143 00000000 00000000 00000001 00000000" NO_CRC, ""}, /* not the last */
        {0,
         "000f c140 SSSS 0000000000001000 aa 0000"
         "00" NO_CRC,
         ""},
        {0, READ("00000001", "00000001"), ""},
    };
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        for (size_t k = 0; k < sizeof(rtrs) / sizeof(rtrs[0]); k++) {
            struct lone l;
            bool fits = (rtrs[k].form & sides[i].rtr) != 0;
            respond(&l, sides[i].rtr, sides[i].reply);
            struct iw_iov sge = {l.memory + 64, 64};
            assert_int_equal(iw_endpoint_post_recv(l.ep, 7, &sge, 1), IW_OK);
            post_send(&l, 1);
            expect(&l, "");
            feed(&l, rtrs[k].octets);
            if (fits) {
                expect(&l, rtrs[k].answer);
                no_fault(&l);
            } else {
                expect(&l, TERMINATE("2007"));
                expect_fault(&l, IW_CHECK_MPA_RTR_FIRST, 27);
                assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
            }
            assert_int_equal(l.memory[0], 'h'); /* nothing was placed */
            assert_int_equal(l.memory[64], 0);
            lone_close(&l);
        }
    }
}

/* A Request that offers only Sends, a Reply that has to name Reads (RFC 6581 §9.2): the initiator
 * may not take it up. */
static void test_a_form_that_was_not_offered(void **state)
{
    (void)state;
    struct lone l;
    struct iw_mpa_config mpa = {.rtr = D, .ird = 1, .ord = 1};
    open_as(&l, IW_MPA_RESPONDER, mpa);
    feed(&l, REQUEST_2 "0004 c001 0001");
    assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
    drain(&l);
    expect(&l, REPLY_2 "0004 8001 4001");
    feed(&l, RTR_READ);
    expect(&l, TERMINATE("2007"));
    expect_fault(&l, IW_CHECK_MPA_RTR_FIRST, 27);
    lone_close(&l);
}

/* OP-28: MSN 1 is used up at both ends, and no receive of the ULP's. */
static void test_an_rtr_send_takes_no_receive(void **state)
{
    (void)state;
    struct lone l;
    struct iw_completion c;
    respond(&l, B, REPLY_2 "0004 c001 0001");
    feed(&l, RTR_SEND); /* none is posted */
    struct iw_iov sge = {l.memory, 16};
    assert_int_equal(iw_endpoint_post_recv(l.ep, 7, &sge, 1), IW_OK);
    assert_int_equal(iw_endpoint_poll(l.ep, &c, 1), 0);
    feed(&l, HELLO("00000002"));
    assert_int_equal(iw_endpoint_poll(l.ep, &c, 1), 1);
    assert_int_equal(c.id, 7);
    assert_int_equal(c.status, IW_STATUS_OK);
    assert_int_equal(c.length, 5);
    assert_memory_equal(l.memory, "hello", 5);
    no_fault(&l);
    lone_close(&l);
}

/* OP-29, responder: an IRD of 1 is full with the RTR; once answered, it is free again. */
static void test_an_rtr_read_fills_the_ird(void **state)
{
    (void)state;
    for (int together = 0; together < 2; together++) {
        struct lone l;
        respond(&l, D, REPLY_2 "0004 8001 4001");
        if (together) {
            feed(&l, RTR_READ READ("00000002", "00000000"));
            expect_fault(&l, IW_CHECK_RDMAP_IRD, 88);
        } else {
            feed(&l, RTR_READ);
            expect(&l, RESPONSE);
            feed(&l, READ("00000002", "00000000"));
            expect(&l, RESPONSE);
            no_fault(&l);
        }
        lone_close(&l);
    }
}

/* An IRD of 0 is raised to 1 for it, and to no more (RFC 6581 §9.1). */
static void test_the_ird_is_raised_for_an_rtr_read(void **state)
{
    (void)state;
    struct lone l;
    open_as(&l, IW_MPA_RESPONDER, (struct iw_mpa_config){.rtr = D});
    feed(&l, REQUEST_2 "0004 8000 4000");
    assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
    drain(&l);
    expect(&l, REPLY_2 "0004 8001 4000");
    feed(&l, RTR_READ);
    expect(&l, RESPONSE);
    no_fault(&l);
    lone_close(&l);
}

/* OP-29, initiator: with an ORD of 1 its own Read waits until the RTR is answered. */
static void test_an_rtr_read_fills_the_ord(void **state)
{
    (void)state;
    struct lone l;
    open_as(&l, IW_MPA_INITIATOR, (struct iw_mpa_config){.rtr = D, .ird = 1, .ord = 1});
    struct iw_region sink = {.base = l.memory,
                             .length = 16,
                             .pd = iw_domain_pd(l.domain),
                             .access = IW_ACCESS_LOCAL_WRITE};
    assert_int_equal(iw_domain_register(l.domain, &sink), 0);
    l.stag = sink.stag;
    struct iw_work read = {.id = 1, .opcode = IW_WORK_READ, .sink_stag = sink.stag, .length = 0};
    assert_int_equal(iw_endpoint_post(l.ep, &read, 0), IW_OK);
    feed(&l, REPLY_2 "0004 8001 4001");
    expect(&l, RTR_READ);
    feed(&l, RESPONSE);
    expect(&l, "002e 4141 00000000 00000001 00000002 00000000 SSSS 0000000000000000 00000000"
               "00000000 0000000000000000" NO_CRC);
    no_fault(&l);
    lone_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_initiator_chooses),
        cmocka_unit_test(test_the_responder_checks),
        cmocka_unit_test(test_a_form_that_was_not_offered),
        cmocka_unit_test(test_an_rtr_send_takes_no_receive),
        cmocka_unit_test(test_an_rtr_read_fills_the_ird),
        cmocka_unit_test(test_the_ird_is_raised_for_an_rtr_read),
        cmocka_unit_test(test_an_rtr_read_fills_the_ord),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
