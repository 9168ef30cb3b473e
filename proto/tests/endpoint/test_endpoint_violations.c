/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone.h"

/* --violate, literally: what a connection's end sends with one rule broken. CRCs are off: their
 * field is zeros. What start-up and framer break is in test_mpa_switches.c. */

#define CRC " 00000000 "
#define NONE " 00000000 "
#define ONE " 00000001 "
#define TWO " 00000002 "
#define HELLO "68656c6c 6f 000000" CRC
#define ZERO_16 "00000000 00000000 00000000 00000000 "
/* The most zeros that fit into segments of 128 octets. */
#define ZERO_110 ZERO_16 ZERO_16 ZERO_16 ZERO_16 ZERO_16 ZERO_16 "00000000 00000000 00000000 0000"
#define ZERO_114 ZERO_110 "00000000 "
#define TO_1000 " 00000000 00001000 "
#define ANSWER " aabbccdd 00000000 00002000 "
#define READ_4(msn) "002e 4141 00000000 00000001" msn NONE ANSWER "00000004 SSSS" TO_1000 CRC
#define ASK(stag, to, size) "002e 4141 00000000 00000001" ONE NONE "SSSS" TO_1000 size stag to CRC

enum stimulus {
    SEND,       /* "hello" */
    LONG_SEND,  /* 114 zeros, in two segments */
    INVALIDATE, /* "hello", and 0x11223344 */
    WRITE,      /* "hell" to 0x11223344 at 0x1000 */
    LONG_WRITE, /* 118 zeros there, in two segments */
    READ,       /* 4 octets from there */
    TWO_READS,  /* with an ORD of 1 */
    ANSWERING,  /* a Read Request for "hell" */
    ANSWER_TWO, /* two of them, for 4 octets each */
    TERMINATE,  /* the ULP's, with code 0x42 */
    PROVOKED,   /* a Write to an STag that does not exist comes */
    FIN
};

struct row {
    enum iw_check check;
    enum stimulus stimulus;
    const char *out;
};

#define REST_OF_SEND " 00000000 00000000" ONE NONE
#define TERM_HEADER " 4147 00000000 00000002" ONE NONE

static const struct row rows[] = {
    {IW_CHECK_NONE, SEND, "0017 4143" REST_OF_SEND HELLO},
    {IW_CHECK_DDP_VERSION_UNTAGGED, SEND, "0017 4243" REST_OF_SEND HELLO},
    {IW_CHECK_DDP_RSVD, SEND, "0017 4543" REST_OF_SEND HELLO},
    {IW_CHECK_DDP_LAST, SEND, "0017 0143" REST_OF_SEND HELLO},
    {IW_CHECK_RDMAP_VERSION, SEND, "0017 4183" REST_OF_SEND HELLO},
    {IW_CHECK_RDMAP_RSV, SEND, "0017 4153" REST_OF_SEND HELLO},
    {IW_CHECK_RDMAP_OPCODE, SEND, "0017 414f" REST_OF_SEND HELLO},
    {IW_CHECK_RDMAP_OPCODE_TAGGED, SEND, "0013 c143 00000000 00000000 00000000" HELLO},
    {IW_CHECK_RDMAP_OPCODE_QUEUE, SEND, "0017 4143 00000000 00000001" ONE NONE HELLO},
    {IW_CHECK_RDMAP_INVALIDATE_FIELD, SEND, "0017 4143 00000001 00000000" ONE NONE HELLO},
    {IW_CHECK_DDP_QN, SEND, "0017 4143 00000000 00000009" ONE NONE HELLO},
    {IW_CHECK_DDP_MSN, SEND, "0017 4143 00000000 00000000" TWO NONE HELLO},
    {IW_CHECK_DDP_MO, SEND, "0017 4143 00000000 00000000" ONE "10000000" HELLO},
    {IW_CHECK_DDP_MO_ZERO, SEND, "0017 4143 00000000 00000000" ONE "00000004" HELLO},
    {IW_CHECK_DDP_HEADER_SHORT, SEND, "000a 4143 00000000 00000000" CRC},

    {IW_CHECK_NONE, LONG_SEND,
     "0080 0143" REST_OF_SEND ZERO_110 "0000" CRC "0016 4143 00000000 00000000" ONE
     "0000006e 00000000" CRC},
    {IW_CHECK_DDP_MO_PLACE, LONG_SEND,
     "0080 0143" REST_OF_SEND ZERO_110 "0000" CRC "0016 4143 00000000 00000000" ONE
     "0000006a 00000000" CRC},
    {IW_CHECK_DDP_CONSTANT_UNTAGGED, LONG_SEND,
     "0080 0143" REST_OF_SEND ZERO_110 "0000" CRC "0016 4143 00000001 00000000" ONE
     "0000006e 00000000" CRC},

    {IW_CHECK_NONE, INVALIDATE, "0017 4144 11223344 00000000" ONE NONE HELLO},
    {IW_CHECK_RDMAP_INVALIDATE_STAG, INVALIDATE, "0017 4144 4b78691e 00000000" ONE NONE HELLO},

    {IW_CHECK_NONE, WRITE, "0012 c140 11223344" TO_1000 "68656c6c" CRC},
    {IW_CHECK_DDP_VERSION_TAGGED, WRITE, "0012 c240 11223344" TO_1000 "68656c6c" CRC},
    {IW_CHECK_DDP_STAG, WRITE, "0012 c140 4b78691e" TO_1000 "68656c6c" CRC},
    {IW_CHECK_DDP_TO_WRAP, WRITE, "0012 c140 11223344 ffffffff ffffffff 68656c6c" CRC},

    {IW_CHECK_NONE, LONG_WRITE,
     "0080 8140 11223344" TO_1000 ZERO_114 "0000" CRC
     "0012 c140 11223344 00000000 00001072 00000000" CRC},
    {IW_CHECK_DDP_TO_ORDER, LONG_WRITE,
     "0080 8140 11223344" TO_1000 ZERO_114 "0000" CRC
     "0012 c140 11223344 00000000 0000106e 00000000" CRC},
    {IW_CHECK_DDP_CONSTANT_TAGGED, LONG_WRITE,
     "0080 8140 11223344" TO_1000 ZERO_114 "0000" CRC
     "0012 c160 11223344 00000000 00001072 00000000" CRC},
    {IW_CHECK_DDP_CONSTANT_STAG, LONG_WRITE,
     "0080 8140 11223344" TO_1000 ZERO_114 "0000" CRC
     "0012 c140 11223345 00000000 00001072 00000000" CRC},

    {IW_CHECK_NONE, READ, ASK("11223344", TO_1000, "00000004")},
    {IW_CHECK_RDMAP_READ_STAG, READ, ASK("4b78691e", TO_1000, "00000004")},
    {IW_CHECK_RDMAP_READ_BOUNDS, READ, ASK("11223344", TO_1000, "00100004")},
    {IW_CHECK_RDMAP_READ_WRAP, READ, ASK("11223344", "ffffffff ffffffff", "00000004")},
    {IW_CHECK_RDMAP_READ_LENGTH, READ,
     "002a 4141 00000000 00000001" ONE NONE "SSSS" TO_1000 "00000004 11223344 00000000" CRC},
    {IW_CHECK_NONE, TWO_READS, ASK("11223344", TO_1000, "00000004")},
    {IW_CHECK_RDMAP_IRD, TWO_READS,
     ASK("11223344", TO_1000, "00000004") "002e 4141 00000000 00000001" TWO NONE "SSSS" TO_1000
                                          "00000004 11223344" TO_1000 CRC},

    {IW_CHECK_NONE, ANSWERING, "0012 c142" ANSWER "68656c6c" CRC},
    {IW_CHECK_RDMAP_RESPONSE_STAG, ANSWERING, "0012 c142 aabbccdc 00000000 00002000 68656c6c" CRC},
    {IW_CHECK_RDMAP_RESPONSE_TO, ANSWERING, "0012 c142 aabbccdd 00000000 00002008 68656c6c" CRC},
    {IW_CHECK_RDMAP_RESPONSE_SIZE, ANSWERING, "0010 c142" ANSWER "6865 0000" CRC},
    {IW_CHECK_RDMAP_RESPONSE_PAST, ANSWERING, "001a c142" ANSWER "68656c6c 00000000 00000000" CRC},
    {IW_CHECK_RDMAP_RESPONSE_DATA, ANSWERING, "0012 c142" ANSWER "979a9393" CRC},
    {IW_CHECK_RDMAP_RESPONSE_MISSING, ANSWERING, ""},
    {IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, ANSWERING,
     "0012 c142" ANSWER "68656c6c" CRC "000e c142" ANSWER CRC},
    {IW_CHECK_NONE, ANSWER_TWO,
     "0012 c142" ANSWER "68656c6c" CRC "0012 c142 00000002 00000000 00002000 68656c6c" CRC},
    {IW_CHECK_RDMAP_RESPONSE_ORDER, ANSWER_TWO,
     "0012 c142 00000002 00000000 00002000 68656c6c" CRC "0012 c142" ANSWER "68656c6c" CRC},

    {IW_CHECK_NONE, TERMINATE, "0016" TERM_HEADER "00420000" CRC},
    {IW_CHECK_RDMAP_TERMINATE_RSVD, TERMINATE, "0016" TERM_HEADER "00420001" CRC},
    {IW_CHECK_RDMAP_TERMINATE_HEADERS, TERMINATE,
     "002a" TERM_HEADER "0042c000 0000" ZERO_16 "0000" CRC},
    {IW_CHECK_RDMAP_TERMINATE_LAST, TERMINATE,
     "0016" TERM_HEADER "00420000" CRC "0012 4143" REST_OF_SEND CRC},
    {IW_CHECK_RDMAP_TERMINATE_ONCE, TERMINATE,
     "0016" TERM_HEADER "00420000" CRC "0016 4147 00000000 00000002" TWO NONE "00420000" CRC},

    {IW_CHECK_NONE, PROVOKED, "0026" TERM_HEADER "1100c000 0012 c140 5bad57a6" TO_1000 CRC},
    {IW_CHECK_RDMAP_TERMINATE_REVERSED, PROVOKED,
     "0026" TERM_HEADER "11000300 0012 c140 5bad57a6" TO_1000 CRC},

    {IW_CHECK_NONE, FIN, ""},
    {IW_CHECK_MPA_FIN_INSIDE, FIN, "0000"},
};

static void post(struct lone *l, struct iw_work work, size_t length)
{
    struct iw_iov sge = {l->memory, work.opcode == IW_WORK_READ ? 0 : length};
    work.id = 1;
    work.sge = &sge;
    work.sge_count = work.opcode == IW_WORK_READ ? 0 : 1;
    work.invalidate_stag = work.remote_stag = 0x11223344;
    work.remote_to = work.sink_to = 0x1000;
    work.sink_stag = l->stag;
    work.length = (uint32_t)length;
    assert_int_equal(iw_endpoint_post(l->ep, &work, 0), IW_OK);
}

static void stimulate(struct lone *l, enum stimulus stimulus)
{
    static const char second[] = "002e 4141 00000000 00000001" TWO NONE
                                 "00000002 00000000 00002000 00000004 SSSS" TO_1000 CRC;
    switch (stimulus) {
    case SEND:
        post(l, (struct iw_work){.opcode = IW_WORK_SEND}, 5);
        break;
    case LONG_SEND:
        post(l, (struct iw_work){.opcode = IW_WORK_SEND}, 114);
        break;
    case INVALIDATE:
        post(l, (struct iw_work){.opcode = IW_WORK_SEND_INVALIDATE}, 5);
        break;
    case WRITE:
        post(l, (struct iw_work){.opcode = IW_WORK_WRITE}, 4);
        break;
    case LONG_WRITE:
        post(l, (struct iw_work){.opcode = IW_WORK_WRITE}, 118);
        break;
    case TWO_READS:
        post(l, (struct iw_work){.opcode = IW_WORK_READ}, 4);
        /* fallthrough */
    case READ:
        post(l, (struct iw_work){.opcode = IW_WORK_READ}, 4);
        break;
    case ANSWERING:
        feed(l, READ_4(ONE));
        break;
    case ANSWER_TWO: {
        uint8_t octets[256];
        size_t length = unhex(l, READ_4(ONE), octets, sizeof(octets));
        length += unhex(l, second, octets + length, sizeof(octets) - length);
        struct iw_iov in = {octets, length};
        iw_endpoint_input(l->ep, &in, 1, 0);
        break;
    }
    case TERMINATE:
        iw_endpoint_abort(l->ep, true, 0x42, 0);
        break;
    case PROVOKED:
        feed(l, "0012 c140 5bad57a6" TO_1000 "68656c6c" CRC);
        break;
    case FIN:
        iw_endpoint_shutdown(l->ep, 0);
        break;
    }
    drain(l);
}

static void violate(struct lone *l, enum iw_check check)
{
    const char *error;
    if (check != IW_CHECK_NONE)
        assert_int_equal(
            iw_switches_set(&l->switches, IW_SWITCH_VIOLATE, iw_check_info(check)->name, &error),
            1);
}

/* An initiator in full operation. */
static void open_initiator(struct lone *l, struct iw_endpoint_config config, const char *reply)
{
    lone_open_as(l, config, 2);
    drain(l);
    feed(l, reply);
    l->out_length = 0;
}

static void test_every_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const uint8_t zeros[118], hello[] = {'h', 'e', 'l', 'l', 'o'};
        bool is_long = rows[i].stimulus == LONG_SEND || rows[i].stimulus == LONG_WRITE;
        struct iw_endpoint_config config = lone_config(IW_MPA_INITIATOR, false);
        struct lone l;
        config.mulpdu = 128;
        config.mpa.ord = 1;
        open_initiator(&l, config, REPLY_NO_CRC);
        memcpy(l.memory, is_long ? zeros : hello, is_long ? sizeof(zeros) : sizeof(hello));
        violate(&l, rows[i].check);
        stimulate(&l, rows[i].stimulus);
        expect(&l, rows[i].out);
        lone_close(&l);
    }
}

/* A ULPDU of 65535 octets. */
static void test_longest_fpdu(void **state)
{
    (void)state;
    static uint8_t memory[65535];
    struct iw_endpoint_config config = lone_config(IW_MPA_INITIATOR, false);
    struct lone l;
    config.mulpdu = IW_MPA_ULPDU_MAX;
    open_initiator(&l, config, REPLY_NO_CRC);
    violate(&l, IW_CHECK_MPA_ULPDU_MAX);
    struct iw_iov sge = {memory, sizeof(memory)};
    struct iw_work work = {.id = 1, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    const struct iw_iov *pieces;
    assert_int_equal(iw_endpoint_post(l.ep, &work, 0), IW_OK);
    assert_true(iw_endpoint_output(l.ep, &pieces, 0) > 0);
    memcpy(l.out, pieces[0].base, l.out_length = 2);
    expect(&l, "ffff");
    lone_close(&l);
}

static void test_rtr_that_was_not_agreed(void **state)
{
    (void)state;
    struct iw_endpoint_config config = lone_config(IW_MPA_INITIATOR, false);
    struct lone l;
    config.mpa.revision = 2;
    config.mpa.enhanced = config.mpa.peer_to_peer = true;
    config.mpa.rtr = IW_MPA_RTR_WRITE;
    lone_open_as(&l, config, 2);
    violate(&l, IW_CHECK_MPA_RTR_FIRST);
    drain(&l);
    l.out_length = 0;
    feed(&l, "4d504120494420526570204672616d65 10020004 80108010");
    /* a Read of nothing instead of the Write */
    expect(&l, "002e 4141 00000000 00000001" ONE NONE ZERO_16 "00000000 00000000 00000000" CRC);
    lone_close(&l);
}

static void test_too_early(void **state)
{
    (void)state;
    static const enum iw_check early[] = {IW_CHECK_MPA_INITIATOR_EARLY, IW_CHECK_MPA_PD_SURPLUS};
    struct lone l;
    for (unsigned i = 0; i < 2; i++) {
        lone_open(&l, IW_MPA_INITIATOR, false, 2);
        violate(&l, early[i]);
        const struct iw_iov *out;
        assert_int_equal(iw_endpoint_output(l.ep, &out, 0), 2); /* no Reply can come between */
        drain(&l);
        expect(&l, REQUEST_NO_CRC "00000000");
        lone_close(&l);
    }
    for (unsigned i = 0; i < 2; i++) {
        lone_open(&l, IW_MPA_RESPONDER, false, 2);
        violate(&l, i == 1 ? IW_CHECK_MPA_RESPONDER_EARLY : IW_CHECK_NONE);
        feed(&l, REQUEST_NO_CRC);
        assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
        drain(&l);
        l.out_length = 0;
        memcpy(l.memory, "hello", 5);
        stimulate(&l, SEND);
        expect(&l, i == 1 ? "0017 4143" REST_OF_SEND HELLO : "");
        lone_close(&l);
    }
}

static void test_refused_without_a_reply(void **state)
{
    (void)state;
    struct lone l;
    for (unsigned i = 0; i < 2; i++) {
        lone_open(&l, IW_MPA_RESPONDER, false, 2);
        violate(&l, i == 1 ? IW_CHECK_MPA_REJECT_CLOSE : IW_CHECK_NONE);
        feed(&l, REQUEST_NO_CRC);
        assert_int_equal(iw_endpoint_reject(l.ep, NULL, 0, 0), IW_OK);
        drain(&l);
        expect(&l, i == 1 ? "" : "4d504120494420526570204672616d65 20010000");
        assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
        lone_close(&l);
    }
}

/* The rules that a receiver breaks in its own memory. */
static void test_memory(void **state)
{
    (void)state;
    static const enum iw_check checks[] = {IW_CHECK_NONE, IW_CHECK_DDP_PLACE_EXACT,
                                           IW_CHECK_DDP_DELIVER_ONCE,
                                           IW_CHECK_RDMAP_INVALIDATE_DONE};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        static const uint8_t exact[16] = "hello", beside[16] = "\0hello";
        struct lone l;
        struct iw_region region;
        struct iw_completion done[2];
        lone_open(&l, IW_MPA_RESPONDER, false, 2);
        violate(&l, checks[i]);
        start(&l, false);
        for (unsigned k = 0; k < 2; k++) {
            struct iw_iov sge = {l.memory + 16 * k, 16};
            assert_int_equal(iw_endpoint_post_recv(l.ep, k, &sge, 1), IW_OK);
        }
        feed(&l, "0017 4144 SSSS 00000000" ONE NONE HELLO);
        bool twice = checks[i] == IW_CHECK_DDP_DELIVER_ONCE;
        assert_memory_equal(l.memory, checks[i] == IW_CHECK_DDP_PLACE_EXACT ? beside : exact, 16);
        assert_int_equal(memcmp(l.memory + 16, exact, 16) == 0, twice);
        assert_int_equal(iw_endpoint_poll(l.ep, done, 2), twice ? 2 : 1);
        assert_true(iw_domain_lookup(l.domain, l.stag, &region));
        assert_int_equal(region.valid, checks[i] == IW_CHECK_RDMAP_INVALIDATE_DONE);
        lone_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_message),           cmocka_unit_test(test_longest_fpdu),
        cmocka_unit_test(test_rtr_that_was_not_agreed), cmocka_unit_test(test_too_early),
        cmocka_unit_test(test_refused_without_a_reply), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
