/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone.h"

/* The Terminate of every check, octet by octet: RFC 5040 §4.8, figure 10 and §7.1. CRCs are off. */

/* The kind of region that the STag SSSS names. */
enum odd { OPEN, OTHER_PD, OTHER_STREAM, NO_RIGHTS };

/* The events before the octets come. */
enum before { NOTHING, RECEIVE, READ };

/* Headers of the peer. */
#define WRITE "c140"
#define RESPONSE "c142"
#define AT_1000 "00000000 00001000"
#define SEND_1 "4143 00000000 00000000 00000001 00000000"
#define READ_1 "4141 00000000 00000001 00000001 00000000"
#define SINK "aabbccdd 00000000 00002000"
#define TERMINATE "4147 00000000 00000002 00000001 00000000"

static const struct {
    enum iw_check check;
    enum odd odd;
    enum before before;
    const char *in, *out; /* ULPDUs; `out` without the DDP header */
} rows[] = {
    /* DDP: length and DDP header, if there was one (OP-51) */
    {IW_CHECK_DDP_HEADER_SHORT, OPEN, NOTHING, "c140 1122 3344", "10000000"},
    {IW_CHECK_DDP_VERSION_TAGGED, OPEN, NOTHING, "c240 SSSS" AT_1000 "aabbccdd",
     "1104c000 0012 c240 SSSS" AT_1000},
    {IW_CHECK_DDP_VERSION_UNTAGGED, OPEN, RECEIVE, "4243 00000000 00000000 00000001 00000000",
     "1206c000 0012 4243 00000000 00000000 00000001 00000000"},
    {IW_CHECK_DDP_STAG, OPEN, NOTHING, WRITE "0badf00d" AT_1000 "aa",
     "1100c000 000f c140 0badf00d" AT_1000},
    {IW_CHECK_DDP_STAG_PD, OTHER_PD, NOTHING, WRITE "SSSS" AT_1000 "aa",
     "1102c000 000f c140 SSSS" AT_1000},
    {IW_CHECK_DDP_STAG_STREAM, OTHER_STREAM, NOTHING, WRITE "SSSS" AT_1000 "aa",
     "1102c000 000f c140 SSSS" AT_1000},
    {IW_CHECK_DDP_STAG_ACCESS, NO_RIGHTS, NOTHING, WRITE "SSSS" AT_1000 "aa",
     "1100c000 000f c140 SSSS" AT_1000},
    {IW_CHECK_DDP_TO_BASE, OPEN, NOTHING, WRITE "SSSS 00000000 00000fff aabb",
     "1101c000 0010 c140 SSSS 00000000 00000fff"},
    {IW_CHECK_DDP_TO_BOUNDS, OPEN, NOTHING, WRITE "SSSS 00000000 00001fff aabb",
     "1101c000 0010 c140 SSSS 00000000 00001fff"},
    {IW_CHECK_DDP_TO_WRAP, OPEN, NOTHING, WRITE "SSSS ffffffff ffffffff aabb",
     "1103c000 0010 c140 SSSS ffffffff ffffffff"},
    {IW_CHECK_DDP_QN, OPEN, RECEIVE, "4143 00000000 00000009 00000001 00000000",
     "1201c000 0012 4143 00000000 00000009 00000001 00000000"},
    {IW_CHECK_DDP_NO_BUFFER, OPEN, NOTHING, SEND_1, "1202c000 0012" SEND_1},
    {IW_CHECK_DDP_MSN, OPEN, RECEIVE, "4143 00000000 00000000 00000002 00000000",
     "1203c000 0012 4143 00000000 00000000 00000002 00000000"},
    {IW_CHECK_DDP_MO, OPEN, RECEIVE, "4143 00000000 00000000 00000001 00000011 aa",
     "1204c000 0013 4143 00000000 00000000 00000001 00000011"},
    {IW_CHECK_DDP_TOO_LONG, OPEN, RECEIVE, "4143 00000000 00000000 00000001 0000000f aabb",
     "1205c000 0014 4143 00000000 00000000 00000001 0000000f"},
    {IW_CHECK_RDMAP_IRD, OPEN, NOTHING, READ_1 SINK "00000004 SSSS" AT_1000,
     "1202c000 002e 4141 00000000 00000001 00000002 00000000"},
    /* RDMAP: the request's own header only for protection errors of Read Requests (OP-61) */
    {IW_CHECK_RDMAP_VERSION, OPEN, RECEIVE, "4183 00000000 00000000 00000001 00000000",
     "0205c000 0012 4183 00000000 00000000 00000001 00000000"},
    {IW_CHECK_RDMAP_OPCODE, OPEN, RECEIVE, "414f 00000000 00000000 00000001 00000000",
     "0206c000 0012 414f 00000000 00000000 00000001 00000000"},
    {IW_CHECK_RDMAP_OPCODE_TAGGED, OPEN, NOTHING, "c143 SSSS" AT_1000 "aa",
     "0206c000 000f c143 SSSS" AT_1000},
    {IW_CHECK_RDMAP_OPCODE_QUEUE, OPEN, NOTHING, "4143 00000000 00000001 00000001 00000000",
     "0206c000 0012 4143 00000000 00000001 00000001 00000000"},
    {IW_CHECK_RDMAP_INVALIDATE_STAG, OPEN, RECEIVE, "4144 0badf00d 00000000 00000001 00000000",
     "0109c000 0012 4144 0badf00d 00000000 00000001 00000000"},
    {IW_CHECK_RDMAP_INVALIDATE_ASSOC, OTHER_STREAM, RECEIVE,
     "4146 SSSS 00000000 00000001 00000000 aa",
     "0109c000 0013 4146 SSSS 00000000 00000001 00000000"},
    {IW_CHECK_RDMAP_INVALIDATE_SHARED, NO_RIGHTS, RECEIVE, "4144 SSSS 00000000 00000001 00000000",
     "0109c000 0012 4144 SSSS 00000000 00000001 00000000"},
    {IW_CHECK_RDMAP_READ_LENGTH, OPEN, NOTHING, READ_1 SINK "00000004 SSSS 00000000",
     "02ffc000 002a" READ_1},
    {IW_CHECK_RDMAP_READ_STAG, OPEN, NOTHING, READ_1 SINK "00000004 0badf00d" AT_1000,
     "0100e000 002e" READ_1 SINK "00000004 0badf00d" AT_1000},
    {IW_CHECK_RDMAP_READ_ASSOC, OTHER_PD, NOTHING, READ_1 SINK "00000004 SSSS" AT_1000,
     "0103e000 002e" READ_1 SINK "00000004 SSSS" AT_1000},
    {IW_CHECK_RDMAP_READ_ACCESS, NO_RIGHTS, NOTHING, READ_1 SINK "00000004 SSSS" AT_1000,
     "0102e000 002e" READ_1 SINK "00000004 SSSS" AT_1000},
    {IW_CHECK_RDMAP_READ_BASE, OPEN, NOTHING, READ_1 SINK "00000004 SSSS 00000000 00002000",
     "0101e000 002e" READ_1 SINK "00000004 SSSS 00000000 00002000"},
    {IW_CHECK_RDMAP_READ_BOUNDS, OPEN, NOTHING, READ_1 SINK "00001001 SSSS" AT_1000,
     "0101e000 002e" READ_1 SINK "00001001 SSSS" AT_1000},
    {IW_CHECK_RDMAP_READ_WRAP, OPEN, NOTHING, READ_1 SINK "00000001 SSSS ffffffff ffffffff",
     "0104e000 002e" READ_1 SINK "00000001 SSSS ffffffff ffffffff"},
    {IW_CHECK_RDMAP_RESPONSE_UNSOLICITED, OPEN, NOTHING, RESPONSE "SSSS" AT_1000 "aa",
     "0206c000 000f c142 SSSS" AT_1000},
    {IW_CHECK_RDMAP_RESPONSE_STAG, OPEN, READ, RESPONSE "0badf00d" AT_1000 "aabbccdd",
     "0100c000 0012 c142 0badf00d" AT_1000},
    {IW_CHECK_RDMAP_RESPONSE_TO, OPEN, READ, RESPONSE "SSSS 00000000 00001004 aabbccdd",
     "0101c000 0012 c142 SSSS 00000000 00001004"},
    {IW_CHECK_RDMAP_RESPONSE_PAST, OPEN, READ, RESPONSE "SSSS" AT_1000 "aabbccdd ee",
     "0101c000 0013 c142 SSSS" AT_1000},
    {IW_CHECK_RDMAP_RESPONSE_SIZE, OPEN, READ, RESPONSE "SSSS" AT_1000 "aabbcc",
     "0101c000 0011 c142 SSSS" AT_1000},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Octets of an FPDU: length, ULPDU, pad, and a CRC field that nobody reads. */
static size_t frame(const struct lone *l, const char *hex, uint8_t *out, size_t room)
{
    size_t length = unhex(l, hex, out + 2, room - 9);
    out[0] = (uint8_t)(length >> 8);
    out[1] = (uint8_t)length;
    size_t size = (2 + length + 3) / 4 * 4 + 4;
    memset(out + 2 + length, 0, size - 2 - length);
    return size;
}

static void feed_ulpdu(struct lone *l, const char *hex)
{
    uint8_t octets[512];
    struct iw_iov in = {octets, frame(l, hex, octets, sizeof(octets))};
    iw_endpoint_input(l->ep, &in, 1, 0);
}

/* The Terminate, as the whole of what is sent. */
static void expect_terminate(struct lone *l, const char *hex)
{
    char whole[400] = TERMINATE;
    uint8_t want[512];
    strncat(whole, hex, sizeof(whole) - 1 - strlen(whole));
    drain(l);
    size_t length = frame(l, whole, want, sizeof(want));
    assert_int_equal(l->out_length, length);
    assert_memory_equal(l->out, want, length);
    l->out_length = 0;
}

static void open_for(struct lone *l, enum odd odd)
{
    struct iw_endpoint_config config = lone_config(IW_MPA_RESPONDER, false);
    struct iw_region r;
    config.mpa.ird = 1;
    lone_open_as(l, config, 2);
    assert_true(iw_domain_lookup(l->domain, l->stag, &r));
    r.pd = odd == OTHER_PD ? iw_domain_pd(l->domain) : r.pd;
    r.stream = odd == OTHER_STREAM ? iw_domain_stream(l->domain) : 0;
    r.access = odd == NO_RIGHTS ? IW_ACCESS_LOCAL_WRITE : r.access;
    if (odd != OPEN)
        assert_int_equal(iw_domain_register(l->domain, &r), 0);
    l->stag = odd != OPEN ? r.stag : l->stag;
    start(l, false);
}

static void prepare(struct lone *l, enum before before)
{
    struct iw_iov sge = {l->memory, 16};
    struct iw_work read = {.opcode = IW_WORK_READ,
                           .sink_stag = l->stag,
                           .sink_to = 0x1000,
                           .length = 4,
                           .remote_stag = 0x1234};
    if (before == RECEIVE)
        assert_int_equal(iw_endpoint_post_recv(l->ep, 1, &sge, 1), IW_OK);
    if (before != READ)
        return;
    assert_int_equal(iw_endpoint_post(l->ep, &read, 0), IW_OK);
    feed_ulpdu(l, WRITE "00000000 00000000 00000000"); /* opens our way, too */
    drain(l);
    assert_int_equal(l->out_length, 52);
    l->out_length = 0;
}

static void test_each_check(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROWS; i++) {
        struct lone l;
        open_for(&l, rows[i].odd);
        prepare(&l, rows[i].before);
        feed_ulpdu(&l, rows[i].in);
        if (rows[i].check == IW_CHECK_RDMAP_IRD) /* one more than the IRD, before an answer left */
            feed_ulpdu(&l, "4141 00000000 00000001 00000002 00000000" SINK "00000004 SSSS" AT_1000);
        expect_terminate(&l, rows[i].out);
        struct iw_event event;
        assert_true(iw_endpoint_event(l.ep, &event));
        assert_int_equal(event.kind, IW_EVENT_FAULT);
        assert_int_equal(event.fault.check, rows[i].check);
        assert_true(event.terminate_valid);
        assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
        /* Once, and nothing after it, whatever else comes. */
        feed_ulpdu(&l, rows[i].in);
        drain(&l);
        assert_int_equal(l.out_length, 0);
        lone_close(&l);
    }
}

/* No check is forgotten. Those of MPA have no headers to include; RFC 7306 is tested elsewhere. */
static void test_the_table_is_complete(void **state)
{
    (void)state;
    for (int c = 1; c < IW_CHECK_COUNT; c++) {
        const struct iw_check_info *info = iw_check_info((enum iw_check)c);
        if ((info->kinds & IW_KIND_ENDPOINT) == 0 || info->reaction != IW_REACTION_TERMINATE ||
            info->layer == IW_LAYER_LLP || iw_check_rule((enum iw_check)c)->rfc == 7306)
            continue;
        unsigned found = 0;
        for (unsigned i = 0; i < ROWS; i++)
            found += rows[i].check == (enum iw_check)c;
        if (found != 1)
            fail_msg("%s: %u rows", info->name, found);
    }
}

/* Layer 2, MPA: HdrCt is 0, nothing of the FPDU is included (RFC 5044 §8, RFC 6581 §8). */
static void test_checks_of_mpa(void **state)
{
    (void)state;
    static const struct {
        enum iw_check check;
        bool markers;
        const char *in, *out;
    } cases[] = {
        {IW_CHECK_MPA_MARKER_POINTER, true,
         "00000004 00124143 00000000 00000000 00000001 00000000 00000000", "20030000"},
        {IW_CHECK_MPA_ULPDU_MAX, false, "fd01", "20050000"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lone l;
        struct iw_event event;
        struct iw_endpoint_config config = lone_config(IW_MPA_RESPONDER, false);
        config.mpa.markers = cases[i].markers;
        lone_open_as(&l, config, 2);
        feed(&l, REQUEST_NO_CRC);
        assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
        drain(&l);
        expect(&l, cases[i].markers ? "4d504120494420526570204672616d65 80010000" : REPLY_NO_CRC);
        feed(&l, cases[i].in);
        expect_terminate(&l, cases[i].out);
        do
            assert_true(iw_endpoint_event(l.ep, &event));
        while (event.kind != IW_EVENT_FAULT);
        assert_int_equal(event.fault.check, cases[i].check);
        lone_close(&l);
    }
}

/* A Read Request whose source goes away between two segments of the response: the request comes
 * back as it would read for the octets that are missing. */
static void test_a_read_that_fails_half_way(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        struct lone l;
        struct iw_endpoint_config config = lone_config(IW_MPA_RESPONDER, false);
        config.emss = 143; /* MULPDU 134; three octets less than a segment each: one in a batch */
        lone_open_as(&l, config, 2);
        memset(l.memory, 0x77, sizeof(l.memory));
        start(&l, false);
        feed_ulpdu(&l, READ_1 SINK "00000100 SSSS" AT_1000);
        const struct iw_iov *pieces;
        for (unsigned n = 0; n < 2; n++) {
            assert_true(iw_endpoint_output(l.ep, &pieces, 0) > 0);
            while (l.out_length < 140 * (n + 1)) {
                size_t length = pieces->length;
                memcpy(l.out + l.out_length, pieces->base, length);
                l.out_length += length;
                iw_endpoint_sent(l.ep, length, 0);
                pieces++;
            }
            assert_int_equal(l.out_length, 140 * (n + 1));
        }
        uint8_t want[28];
        assert_int_equal(unhex(&l, "0086 8142 aabbccdd 00000000 00002000 77777777", want, 28), 20);
        assert_memory_equal(l.out, want, 20); /* L is not set */
        assert_int_equal(unhex(&l, "0086 8142 aabbccdd 00000000 00002078 77777777", want, 28), 20);
        assert_memory_equal(l.out + 140, want, 20);
        l.out_length = 0;
        if (way == 0)
            assert_int_equal(iw_domain_invalidate(l.domain, l.stag), 0);
        else
            assert_int_equal(iw_domain_deregister(l.domain, l.stag), 0);
        expect_terminate(&l, "0100e000 002e" READ_1
                             "aabbccdd 00000000 000020f0 00000010 SSSS 00000000 000010f0");
        expect_fault(&l, IW_CHECK_RDMAP_READ_STAG, 52); /* after the request */
        lone_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_check),
        cmocka_unit_test(test_the_table_is_complete),
        cmocka_unit_test(test_checks_of_mpa),
        cmocka_unit_test(test_a_read_that_fails_half_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
