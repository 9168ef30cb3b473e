/* SPDX-License-Identifier: BSD-3-Clause */
#include "lone.h"

/* Octets after the peer's start-up frame that come in the same read with it: after the Reply they
 * are the beginning of the first FPDU, after the Request they come too early. */

enum { MOST = 32 };

#define KEY_REQUEST "4d504120494420526571204672616d65 "
#define KEY_REPLY "4d504120494420526570204672616d65 "
/* "hello" as a Send, and an empty Write with a wrong CRC. */
#define HELLO "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c"
#define BAD "000ec140 00000000 00000000 00000000 00000001"

static const struct form {
    unsigned revision;
    const char *request, *reply;
    uint64_t frame; /* octets of either */
} forms[] = {
    {1, KEY_REQUEST "40010000", KEY_REPLY "40010000", 20},
    {1, KEY_REQUEST "40010003 616263", KEY_REPLY "40010003 616263", 23},
    {2, KEY_REQUEST "50020004 00100010", KEY_REPLY "50020004 00100010", 24},
    {2, KEY_REQUEST "50020007 00100010 616263", KEY_REPLY "50020007 00100010 616263", 27},
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static void open_form(struct lone *l, enum iw_mpa_role role, const struct form *form)
{
    struct iw_endpoint_config config = lone_config(role, true);
    config.mpa.revision = (uint8_t)form->revision;
    config.mpa.enhanced = form->revision == 2;
    lone_open_as(l, config, 2);
    struct iw_iov sge = {l->memory, 16};
    assert_int_equal(iw_endpoint_post_recv(l->ep, 7, &sge, 1), IW_OK);
    drain(l);
    l->out_length = 0;
}

static void give(struct lone *l, const uint8_t *octets, size_t length, size_t cut)
{
    uint8_t *copy = malloc(length + 1); /* there is nothing past `length` */
    assert_non_null(copy);
    memcpy(copy, octets, length);
    struct iw_iov in[2] = {{copy, cut}, {copy + cut, length - cut}};
    iw_endpoint_input(l->ep, in, 2, 0);
    free(copy);
}

static void expect_hello(struct lone *l)
{
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(l->ep, &c, 1), 1);
    assert_int_equal(c.id, 7);
    assert_int_equal(c.status, IW_STATUS_OK);
    assert_int_equal(c.length, 5);
    assert_memory_equal(l->memory, "hello\0", 6);
}

/* The rest of the FPDU comes in one more read; then the CRC of the next shows that framing is
 * right. */
static void test_behind_the_reply(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMS; f++)
        for (size_t n = 0; n <= MOST; n++)
            for (size_t cut = 0; cut < 3; cut++) {
                struct lone l;
                uint8_t octets[64], fpdu[MOST];
                open_form(&l, IW_MPA_INITIATOR, &forms[f]);
                size_t frame = unhex(&l, forms[f].reply, octets, sizeof(octets));
                assert_int_equal(frame, forms[f].frame);
                assert_int_equal(unhex(&l, HELLO, fpdu, sizeof(fpdu)), MOST);
                memcpy(octets + frame, fpdu, n);
                /* In one piece, or the frame and the octets after it apart. */
                give(&l, octets, frame + n, cut == 0 ? 0 : cut == 1 ? frame : frame - 1);
                give(&l, fpdu + n, MOST - n, 0);
                expect_hello(&l);
                feed(&l, BAD);
                expect_fault(&l, IW_CHECK_MPA_CRC, forms[f].frame + MOST + 16);
                lone_close(&l);
            }
}

/* RFC 5044 §7.1.2: nothing may follow the Request before the Reply has come (OP-06). */
static void test_behind_the_request(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMS; f++)
        for (size_t n = 0; n <= MOST; n++)
            for (size_t cut = 0; cut < 2; cut++) {
                struct lone l;
                struct iw_event event;
                uint8_t octets[64];
                open_form(&l, IW_MPA_RESPONDER, &forms[f]);
                size_t frame = unhex(&l, forms[f].request, octets, sizeof(octets));
                (void)unhex(&l, HELLO, octets + frame, MOST);
                octets[frame] = 0x5a;
                give(&l, octets, frame + n, cut == 0 ? 0 : frame);
                assert_true(iw_endpoint_event(l.ep, &event));
                assert_int_equal(event.kind, IW_EVENT_REQUEST);
                bool fault = iw_endpoint_event(l.ep, &event);
                assert_int_equal(fault, n > 0);
                if (fault) {
                    assert_int_equal(event.kind, IW_EVENT_FAULT);
                    assert_int_equal(event.fault.check, IW_CHECK_MPA_PD_SURPLUS);
                    assert_int_equal(event.fault.pos, frame);
                    assert_int_equal(event.fault.got, 0x5a);
                    assert_int_equal(event.fault.want, 0);
                }
                assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0),
                                 fault ? IW_ERR_STATE : IW_OK);
                drain(&l);
                assert_int_equal(l.out_length > 0, n == 0);
                assert_int_equal(iw_endpoint_want(l.ep), fault ? IW_WANT_FIN : IW_WANT_NOTHING);
                lone_close(&l);
            }
}

/* The same in the read after the Request's, before the Reply has left. */
static void test_before_the_reply_leaves(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMS; f++)
        for (size_t n = 1; n <= MOST; n++) {
            struct lone l;
            uint8_t octets[64];
            open_form(&l, IW_MPA_RESPONDER, &forms[f]);
            size_t frame = unhex(&l, forms[f].request, octets, sizeof(octets));
            give(&l, octets, frame, 0);
            assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
            give(&l, octets, n, 0);
            expect_fault(&l, IW_CHECK_MPA_PD_SURPLUS, frame);
            drain(&l);
            assert_int_equal(l.out_length, 0);
            lone_close(&l);
        }
}

/* After the Reply the first FPDU may come in any two parts. */
static void test_behind_our_reply(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMS; f++)
        for (size_t n = 0; n <= MOST; n++) {
            struct lone l;
            uint8_t fpdu[MOST];
            open_form(&l, IW_MPA_RESPONDER, &forms[f]);
            feed(&l, forms[f].request);
            assert_int_equal(iw_endpoint_accept(l.ep, NULL, 0, 0), IW_OK);
            drain(&l);
            (void)unhex(&l, HELLO, fpdu, sizeof(fpdu));
            give(&l, fpdu, n, 0);
            give(&l, fpdu + n, MOST - n, 0);
            expect_hello(&l);
            feed(&l, BAD);
            expect_fault(&l, IW_CHECK_MPA_CRC, forms[f].frame + MOST + 16);
            lone_close(&l);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behind_the_reply),
        cmocka_unit_test(test_behind_the_request),
        cmocka_unit_test(test_before_the_reply_leaves),
        cmocka_unit_test(test_behind_our_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
