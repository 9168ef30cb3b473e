/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone.h"

#include "endpoint/endpoint_internal.h"

/* Order between messages (RFC 5040 §5.5 and appendix B; RFC 5041 §5.3), and where MSN and TO end.
 */

enum { SIZE = 3000, SEGMENTS = 64 };

/* The segments that each side has framed. */
struct traced {
    uint8_t opcode[SEGMENTS];
    uint32_t word[SEGMENTS]; /* the low half of TO, or the queue number */
    size_t count;
};

static struct traced traced[2];

static void on_trace(void *context, const struct iw_trace *t)
{
    struct traced *to = context;
    if (t->kind != IW_TRACE_FPDU_OUT)
        return;
    assert_true(to->count < SEGMENTS);
    bool tagged = (t->octets[0] & 0x80) != 0;
    const uint8_t *at = t->octets + (tagged ? 10 : 6);
    to->word[to->count] =
        (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    to->opcode[to->count++] = t->octets[1] & 0x0f;
}

static void post(struct pair *p, enum iw_work_opcode opcode, uint64_t id, size_t at, bool fence)
{
    struct pair_side *s = &p->side[0], *peer = &p->side[1];
    struct iw_iov sge = {s->memory + at, opcode == IW_WORK_READ ? 0 : SIZE};
    struct iw_work work = {.id = id,
                           .opcode = opcode,
                           .flags = fence ? IW_WORK_FENCE : 0,
                           .sge = &sge,
                           .sge_count = 1,
                           .remote_stag = peer->region.stag,
                           .remote_to = peer->region.to + 100000,
                           .sink_stag = s->region.stag,
                           .sink_to = s->region.to + at,
                           .length = SIZE};
    assert_int_equal(iw_endpoint_post(s->ep, &work, p->now), IW_OK);
}

static void open_traced(struct pair *p)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    memset(traced, 0, sizeof(traced));
    for (int i = 0; i < 2; i++) {
        config[i].trace = on_trace;
        config[i].trace_context = &traced[i];
    }
    pair_open(p, config);
    pair_run(p);
    for (unsigned i = 0; i < 2; i++) {
        struct iw_iov sge = {p->side[1].memory + 200000 + i * SIZE, SIZE};
        assert_int_equal(iw_endpoint_post_recv(p->side[1].ep, 10 + i, &sge, 1), IW_OK);
    }
    memset(p->side[0].memory, 0x41, SIZE);
    memset(p->side[0].memory + 10000, 0x42, SIZE);
    memset(p->side[1].memory + 100000, 0x50, SIZE);
}

static uint8_t wire_opcode(enum iw_work_opcode opcode)
{
    return opcode == IW_WORK_SEND ? 3 : opcode == IW_WORK_WRITE ? 0 : 1;
}

/* Carries what side 0 has to say now, and no answer. */
static void carry_requests(struct pair *p)
{
    while (pair_carry(p, 0))
        ;
    pair_collect(p, 1);
}

static void assert_filled(const uint8_t *memory, uint8_t octet)
{
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(memory[i], octet);
}

/* Every pair of Send, Write and Read: whole messages leave in posting order at once, but after a
 * fence only when the Read before it has been answered (fence 2 of appendix B). */
static void test_order_on_the_wire(void **state)
{
    (void)state;
    static const enum iw_work_opcode opcodes[] = {IW_WORK_SEND, IW_WORK_WRITE, IW_WORK_READ};
    for (unsigned k = 0; k < 18; k++) {
        enum iw_work_opcode first = opcodes[k / 6], second = opcodes[k / 2 % 3];
        bool fence = k % 2 == 1;
        struct pair p;
        open_traced(&p);
        post(&p, first, 1, 0, false);
        post(&p, second, 2, 10000, fence);
        carry_requests(&p);
        /* 3000 octets are three segments; a Read Request is one. */
        unsigned n1 = first == IW_WORK_READ ? 1 : 3, n2 = second == IW_WORK_READ ? 1 : 3;
        bool held = fence && first == IW_WORK_READ;
        assert_int_equal(traced[0].count, held ? n1 : n1 + n2);
        if (first == IW_WORK_SEND) {
            /* Delivered before any Read Response is generated. */
            assert_non_null(pair_completion(&p, 1, 10));
            assert_int_equal(traced[1].count, 0);
        }
        pair_run(&p);
        assert_int_equal(traced[0].count, n1 + n2);
        for (unsigned i = 0; i < n1 + n2; i++)
            assert_int_equal(traced[0].opcode[i], wire_opcode(i < n1 ? first : second));
        for (uint64_t id = 1; id < 3; id++) {
            assert_int_equal(p.side[0].completions[id - 1].id, id);
            assert_int_equal(p.side[0].completions[id - 1].status, IW_STATUS_OK);
        }
        /* A Read after a Write sees it; a Write after a Read does only if it is fenced off. */
        if (first == IW_WORK_WRITE && second == IW_WORK_READ)
            assert_filled(p.side[0].memory + 10000, 0x41);
        if (first == IW_WORK_READ && second == IW_WORK_WRITE && fence)
            assert_filled(p.side[0].memory, 0x50);
        if (first == IW_WORK_READ && second == IW_WORK_READ) {
            /* Responses in the order of the requests, each of them whole. The first segment of the
             * second fills the TCP segment of 1460 octets that an FPDU of 140 has begun (RFC 5044
             * §4.5: MULPDU is what is left). */
            static const unsigned at[] = {0, 1440, 2880, 10000, 11300, 12740};
            static const unsigned fenced_at[] = {0, 1440, 2880, 10000, 11440, 12880};
            assert_int_equal(traced[1].count, 6);
            for (unsigned i = 0; i < 6; i++) {
                assert_int_equal(traced[1].opcode[i], 2);
                assert_int_equal(traced[1].word[i], 0x1000 + (fence ? fenced_at[i] : at[i]));
            }
        }
        pair_close(&p);
    }
}

/* The same Send twice: completions at the peer in posting order, whatever came between. */
static void test_sends_complete_in_order(void **state)
{
    (void)state;
    struct pair p;
    open_traced(&p);
    post(&p, IW_WORK_SEND, 1, 0, false);
    post(&p, IW_WORK_READ, 2, 20000, false);
    post(&p, IW_WORK_SEND, 3, 10000, false);
    pair_run(&p);
    assert_int_equal(p.side[1].completion_count, 2);
    assert_int_equal(p.side[1].completions[0].id, 10);
    assert_int_equal(p.side[1].completions[1].id, 11);
    assert_filled(p.side[1].memory + 200000, 0x41);
    assert_filled(p.side[1].memory + 200000 + SIZE, 0x42);
    /* The second Send did not wait for the Read. */
    assert_int_equal(traced[0].count, 7);
    assert_int_equal(traced[0].opcode[3], 1);
    pair_close(&p);
}

/* Segments of messages on different queues and buffers, one between the other: a Read Response in
 * two parts, a Send in two parts and Writes. Nothing in RFC 5041 §5.3 forbids a peer that. */
static void test_segments_between_segments(void **state)
{
    (void)state;
    struct lone l;
    struct iw_region r;
    lone_open(&l, IW_MPA_RESPONDER, false, 2);
    assert_true(iw_domain_lookup(l.domain, l.stag, &r));
    r.access |= IW_ACCESS_LOCAL_WRITE;
    assert_int_equal(iw_domain_register(l.domain, &r), 0);
    l.stag = r.stag;
    start(&l, false);
    struct iw_iov sge = {l.memory + 100, 8};
    struct iw_work read = {.id = 5,
                           .opcode = IW_WORK_READ,
                           .sink_stag = l.stag,
                           .sink_to = 0x1000,
                           .length = 8,
                           .remote_stag = 0x1234};
    assert_int_equal(iw_endpoint_post_recv(l.ep, 6, &sge, 1), IW_OK);
    assert_int_equal(iw_endpoint_post(l.ep, &read, 0), IW_OK);
    feed(&l, "000ec140 00000000 00000000 00000000 00000000"); /* opens our way */
    l.out_length = 0;
    feed(&l, "00128142 SSSS 00000000 00001000 01020304 00000000");              /* Response, L=0 */
    feed(&l, "00160143 00000000 00000000 00000001 00000000 11121314 00000000"); /* Send, L=0 */
    feed(&l, "0012c140 SSSS 00000000 00001010 21222324 00000000");              /* Write */
    feed(&l, "0012c142 SSSS 00000000 00001004 05060708 00000000");              /* Response, L=1 */
    feed(&l, "00128140 SSSS 00000000 00001014 25262728 00000000");              /* Write, L=0 */
    feed(&l, "00164143 00000000 00000000 00000001 00000004 15161718 00000000"); /* Send, L=1 */
    feed(&l, "000fc140 SSSS 00000000 00001018 29000000 00000000");              /* Write, L=1 */
    static const uint8_t response[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const uint8_t message[] = {17, 18, 19, 20, 21, 22, 23, 24};
    static const uint8_t written[] = {33, 34, 35, 36, 37, 38, 39, 40, 41};
    assert_memory_equal(l.memory, response, 8);
    assert_memory_equal(l.memory + 100, message, 8);
    assert_memory_equal(l.memory + 16, written, 9);
    struct iw_completion c[3];
    assert_int_equal(iw_endpoint_poll(l.ep, c, 3), 2);
    assert_int_equal(c[0].id, 5);
    assert_int_equal(c[1].id, 6);
    assert_int_equal(c[1].length, 8);
    assert_int_equal(l.out_length, 0); /* no Terminate */
    lone_close(&l);
}

/* RFC 5040 §5.1, §5.2.1: a message names one remote buffer, so two buffers take two messages. */
static void test_each_buffer_has_its_message(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_INITIATOR, false, 2);
    memcpy(l.memory, "abcdefgh", 8);
    drain(&l);
    l.out_length = 0;
    feed(&l, REPLY_NO_CRC);
    for (uint32_t i = 0; i < 4; i++) {
        struct iw_iov sge = {l.memory + 4 * i, 4};
        struct iw_work work = {.id = i,
                               .opcode = i < 2 ? IW_WORK_WRITE : IW_WORK_READ,
                               .sge = &sge,
                               .sge_count = i < 2 ? 1 : 0,
                               .remote_stag = 0x11111111 * (i + 1),
                               .remote_to = 0x10 * (i + 1),
                               .sink_stag = l.stag,
                               .sink_to = 0x1000 + 4 * i,
                               .length = 4};
        assert_int_equal(iw_endpoint_post(l.ep, &work, 0), IW_OK);
    }
    drain(&l);
    expect(&l, "0012c140 11111111 00000000 00000010 61626364 00000000"
               "0012c140 22222222 00000000 00000020 65666768 00000000"
               "002e4141 00000000 00000001 00000001 00000000 SSSS 00000000 00001008 00000004 "
               "33333333 00000000 00000030 00000000"
               "002e4141 00000000 00000001 00000002 00000000 SSSS 00000000 0000100c 00000004 "
               "44444444 00000000 00000040 00000000");
    lone_close(&l);
}

/* RFC 5041 §4.3: MSNs count modulo 2^32. */
static void test_msns_wrap(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, false, 2);
    start(&l, false);
    for (unsigned qn = 0; qn < 2; qn++)
        l.ep->rx_msn[qn] = l.ep->tx_msn[qn] = UINT32_MAX;
    for (uint64_t id = 1; id < 4; id++)
        assert_int_equal(iw_endpoint_post_recv(l.ep, id, NULL, 0), IW_OK);
    feed(&l, "00124143 00000000 00000000 ffffffff 00000000 00000000");
    feed(&l, "00124143 00000000 00000000 00000000 00000000 00000000");
    feed(&l, "00124143 00000000 00000000 00000001 00000000 00000000");
    struct iw_completion c[4];
    assert_int_equal(iw_endpoint_poll(l.ep, c, 4), 3);
    for (uint64_t id = 1; id < 4; id++) {
        assert_int_equal(c[id - 1].id, id);
        assert_int_equal(c[id - 1].status, IW_STATUS_OK);
    }
    /* Empty Reads: each is answered. */
    feed(&l, "002e4141 00000000 00000001 ffffffff 00000000 00000000 00000000 00000001 00000000 "
             "00000000 00000000 00000000 00000000");
    expect(&l, "000ec142 00000000 00000000 00000001 00000000");
    feed(&l, "002e4141 00000000 00000001 00000000 00000000 00000000 00000000 00000002 00000000 "
             "00000000 00000000 00000000 00000000");
    expect(&l, "000ec142 00000000 00000000 00000002 00000000");
    /* And our own. */
    struct iw_work send = {.opcode = IW_WORK_SEND}, read = {.opcode = IW_WORK_READ};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(iw_endpoint_post(l.ep, &send, 0), IW_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(iw_endpoint_post(l.ep, &read, 0), IW_OK);
    drain(&l);
    expect(&l, "00124143 00000000 00000000 ffffffff 00000000 00000000"
               "00124143 00000000 00000000 00000000 00000000 00000000"
               "002e4141 00000000 00000001 ffffffff 00000000 00000000 00000000 00000000 00000000 "
               "00000000 00000000 00000000 00000000"
               "002e4141 00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000 "
               "00000000 00000000 00000000 00000000");
    /* One that comes too late is refused: 1/2/03. */
    feed(&l, "00124143 00000000 00000000 ffffffff 00000000 00000000");
    expect(&l, "002a4147 00000000 00000002 00000001 00000000 1203c000 0012 4143 00000000 00000000 "
               "ffffffff 00000000 00000000");
    lone_close(&l);
}

/* Buffers that end where the TOs do, written and read in several segments. */
static void test_to_reaches_the_end(void **state)
{
    (void)state;
    enum { LENGTH = 8192 };
    struct pair p;
    open_traced(&p);
    struct iw_region r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = p.side[i].region;
        r[i].to = UINT64_MAX - LENGTH;
        r[i].length = LENGTH;
        r[i].base = p.side[i].memory + 50000;
        assert_int_equal(iw_domain_register(p.side[i].domain, &r[i]), 0);
    }
    for (unsigned i = 0; i < LENGTH; i++)
        p.side[0].memory[i] = (uint8_t)(i * 7 + i / 256);
    struct iw_iov sge = {p.side[0].memory, LENGTH};
    struct iw_work work = {.id = 1,
                           .opcode = IW_WORK_WRITE,
                           .sge = &sge,
                           .sge_count = 1,
                           .remote_stag = r[1].stag,
                           .remote_to = r[1].to};
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    work = (struct iw_work){.id = 2,
                            .opcode = IW_WORK_READ,
                            .remote_stag = r[1].stag,
                            .remote_to = r[1].to,
                            .sink_stag = r[0].stag,
                            .sink_to = r[0].to,
                            .length = LENGTH};
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    pair_run(&p);
    assert_int_equal(pair_completion(&p, 0, 2)->status, IW_STATUS_OK);
    assert_memory_equal(r[1].base, p.side[0].memory, LENGTH);
    assert_memory_equal(r[0].base, p.side[0].memory, LENGTH);
    assert_int_equal(traced[0].word[0], 0xffffdfff);
    assert_int_equal(traced[0].word[5], 0xffffdfff + 5 * 1440);
    /* One octet more would pass it. */
    work.id = 3;
    work.length = LENGTH + 1;
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    pair_run(&p);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_RDMAP_READ_WRAP);
    pair_close(&p);
}

/* RFC 5040 §5.2: a Response answers a Request that was sent, not one that is about to be. */
static void test_an_answer_before_the_request(void **state)
{
    enum { REQUEST_FPDU = 52 };
    static const size_t sent[] = {0, 1, REQUEST_FPDU - 1, REQUEST_FPDU};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(sent) / sizeof(*sent); i++) {
        bool atomic = i % 2 == 1;
        const struct iw_iov *pieces;
        struct lone l;
        struct iw_event event = {.kind = IW_EVENT_NONE};
        struct iw_endpoint_config config = lone_config(IW_MPA_INITIATOR, false);
        lone_open_as(&l, config, 2);
        drain(&l);
        l.out_length = 0;
        feed(&l, REPLY_NO_CRC);
        assert_true(iw_endpoint_event(l.ep, &event));
        assert_int_equal(event.kind, IW_EVENT_ESTABLISHED);
        struct iw_work work = {.id = 1,
                               .opcode = atomic ? IW_WORK_FETCH_ADD : IW_WORK_READ,
                               .remote_stag = 0x11223344,
                               .sink_stag = l.stag,
                               .sink_to = 0x1000,
                               .length = atomic ? 0 : 4};
        assert_int_equal(iw_endpoint_post(l.ep, &work, 0), IW_OK);
        size_t n = sent[i / 2] == REQUEST_FPDU && atomic ? 76 : sent[i / 2];
        assert_int_equal(iw_endpoint_output(l.ep, &pieces, 0), 1);
        assert_int_equal(pieces[0].length, atomic ? 76 : REQUEST_FPDU);
        iw_endpoint_sent(l.ep, n, 0);

        uint8_t octets[64];
        struct iw_iov in = {octets,
                            unhex(&l,
                                  atomic ? "001e 414b 00000000 00000003 00000001 00000000 00000001"
                                           "0000000000000007 00000000"
                                         : "0012 c142 SSSS 0000000000001000 01020304 00000000",
                                  octets, sizeof(octets))};
        iw_endpoint_input(l.ep, &in, 1, 0);
        bool fault = iw_endpoint_event(l.ep, &event) && event.kind == IW_EVENT_FAULT;
        assert_int_equal(fault, sent[i / 2] != REQUEST_FPDU);
        if (fault)
            assert_int_equal(event.fault.check, atomic ? IW_CHECK_RDMAP_ATOMIC_RESPONSE_UNSOLICITED
                                                       : IW_CHECK_RDMAP_RESPONSE_UNSOLICITED);
        assert_int_equal(l.memory[0], fault || atomic ? 0 : 1);
        lone_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_on_the_wire),
        cmocka_unit_test(test_sends_complete_in_order),
        cmocka_unit_test(test_segments_between_segments),
        cmocka_unit_test(test_each_buffer_has_its_message),
        cmocka_unit_test(test_msns_wrap),
        cmocka_unit_test(test_to_reaches_the_end),
        cmocka_unit_test(test_an_answer_before_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
