/* SPDX-License-Identifier: BSD-3-Clause */
/* RFC 5044 Appendix C: with a peer of revision 0 Markers and CRCs go both ways, and every DDP and
 * RDMAP header is of version 0. Literal octets. */
#include "lone.h"

#define REQUEST_0 "4d504120494420526571204672616d65 c0000000"
#define REPLY_0 "4d504120494420526570204672616d65 c0000000"
#define EMPTY_SEND_0 "00000000 00124003 00000000 00000000 00000001 00000000 a4fbca4d"
#define HELLO_0 "00000000 00174003 00000000 00000000 00000001 00000000 68656c6c 6f000000 ae2e22f0"
#define SEND_DV_1 "00000000 00124103 00000000 00000000 00000001 00000000 8ff9a342"
#define SEND_RV_1 "00000000 00124043 00000000 00000000 00000001 00000000 a3c3bff3"
#define SEND_BAD_CRC_0 "00000000 00124003 00000000 00000000 00000001 00000000 a4fbca4c"
#define TERM_CRC_0 "00000000 00164007 00000000 00000002 00000001 00000000 20020000 1fc1a9e6"
#define TERM_DV                                                                                    \
    "00000000 002a4007 00000000 00000002 00000001 00000000 1206c000 00124103 00000000 00000000 "   \
    "00000001 00000000 ef997011"
#define TERM_RV                                                                                    \
    "00000000 002a4007 00000000 00000002 00000001 00000000 0205c000 00124043 00000000 00000000 "   \
    "00000001 00000000 f0b7b3bb"

static void open_permissive(struct lone *l, enum iw_mpa_role role, uint8_t revision)
{
    struct iw_endpoint_config config = lone_config(role, false);
    config.mpa.revision = revision;
    config.mpa.permissive = true;
    lone_open_as(l, config, 2);
}

static void request_0(struct lone *l)
{
    open_permissive(l, IW_MPA_RESPONDER, 1);
    feed(l, REQUEST_0);
    assert_int_equal(iw_endpoint_accept(l->ep, NULL, 0, 0), IW_OK);
    drain(l);
    expect(l, REPLY_0);
    assert_int_equal(iw_endpoint_agreed(l->ep)->revision, 0);
    assert_int_equal(iw_endpoint_agreed(l->ep)->version, 0);
}

static void post_hello(struct lone *l)
{
    memcpy(l->memory, "hello", 5);
    struct iw_iov sge = {l->memory, 5};
    struct iw_work work = {.id = 1, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    assert_int_equal(iw_endpoint_post(l->ep, &work, 0), IW_OK);
    drain(l);
}

static void expect_empty_send(struct lone *l)
{
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(l->ep, &c, 1), 1);
    assert_int_equal(c.id, 7);
    assert_int_equal(c.status, IW_STATUS_OK);
    assert_int_equal(c.length, 0);
}

static void test_responder(void **state)
{
    (void)state;
    struct lone l;
    request_0(&l);
    struct iw_iov sge = {l.memory, 16};
    assert_int_equal(iw_endpoint_post_recv(l.ep, 7, &sge, 1), IW_OK);
    post_hello(&l);
    expect(&l, "");
    feed(&l, EMPTY_SEND_0);
    expect_empty_send(&l);
    expect(&l, HELLO_0);
    lone_close(&l);
}

/* C.2.5: the Request was of revision 1 and asked for neither Markers nor CRCs. */
static void test_initiator(void **state)
{
    (void)state;
    const struct {
        uint8_t revision;
        const char *request;
    } rows[] = {{1, REQUEST_NO_CRC}, {0, REQUEST_0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        open_permissive(&l, IW_MPA_INITIATOR, rows[i].revision);
        drain(&l);
        expect(&l, rows[i].request);
        struct iw_iov sge = {l.memory, 16};
        assert_int_equal(iw_endpoint_post_recv(l.ep, 7, &sge, 1), IW_OK);
        feed(&l, REPLY_0);
        feed(&l, EMPTY_SEND_0);
        expect_empty_send(&l);
        post_hello(&l);
        expect(&l, HELLO_0);
        lone_close(&l);
    }
}

/* Versions are not mixed (C.1): version 1 after revision 0 is a fault, and reported as one. */
static void test_mixed_versions(void **state)
{
    (void)state;
    const struct {
        const char *send, *terminate;
        enum iw_check check;
        uint64_t pos;
    } rows[] = {{SEND_DV_1, TERM_DV, IW_CHECK_DDP_VERSION_UNTAGGED, 26},
                {SEND_RV_1, TERM_RV, IW_CHECK_RDMAP_VERSION, 27}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lone l;
        request_0(&l);
        feed(&l, rows[i].send);
        expect(&l, rows[i].terminate);
        expect_fault(&l, rows[i].check, rows[i].pos);
        lone_close(&l);
    }
}

/* C.1: CRCs are checked, although this end asked for none. */
static void test_bad_crc(void **state)
{
    (void)state;
    struct lone l;
    request_0(&l);
    feed(&l, SEND_BAD_CRC_0);
    expect(&l, TERM_CRC_0);
    expect_fault(&l, IW_CHECK_MPA_CRC, 44);
    lone_close(&l);
}

/* An end that is not permissive closes in either role, without a word (OP-05). */
static void test_not_permissive(void **state)
{
    (void)state;
    struct lone l;
    lone_open(&l, IW_MPA_RESPONDER, true, 2);
    feed(&l, REQUEST_0);
    expect(&l, "");
    expect_fault(&l, IW_CHECK_MPA_REV, 17);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
    lone_close(&l);
    lone_open(&l, IW_MPA_INITIATOR, true, 2);
    drain(&l);
    expect(&l, REQUEST);
    feed(&l, REPLY_0);
    expect(&l, "");
    expect_fault(&l, IW_CHECK_MPA_REV, 17);
    assert_int_equal(iw_endpoint_want(l.ep), IW_WANT_FIN);
    lone_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_responder),      cmocka_unit_test(test_initiator),
        cmocka_unit_test(test_mixed_versions), cmocka_unit_test(test_bad_crc),
        cmocka_unit_test(test_not_permissive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
