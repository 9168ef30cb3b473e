/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* When a Terminate leaves, and what it does not cause. */

static void post(struct pair *p, int side, struct iw_work work, size_t offset, size_t length)
{
    struct iw_iov sge = {p->side[side].memory + offset, length};
    work.sge = &sge;
    work.sge_count = 1;
    assert_int_equal(iw_endpoint_post(p->side[side].ep, &work, p->now), IW_OK);
}

static void post_recv(struct pair *p, int side, uint64_t id, size_t offset, size_t length)
{
    struct iw_iov sge = {p->side[side].memory + offset, length};
    assert_int_equal(iw_endpoint_post_recv(p->side[side].ep, id, &sge, 1), IW_OK);
}

static void post_send(struct pair *p, int side, uint64_t id, size_t length)
{
    post(p, side, (struct iw_work){.id = id, .opcode = IW_WORK_SEND}, 0, length);
}

static void assert_status(const struct pair *p, int side, uint64_t id, enum iw_status status)
{
    const struct iw_completion *c = pair_completion(p, side, id);
    assert_non_null(c);
    assert_int_equal(c->status, status);
}

static void assert_cause(const struct pair *p, int side, enum iw_cause cause, enum iw_check check)
{
    const struct iw_event *e = pair_event(p, side, IW_EVENT_CLOSED);
    assert_non_null(e);
    assert_string_equal(iw_cause_name(e->cause), iw_cause_name(cause));
    assert_int_equal(e->graceful, cause == IW_CAUSE_GRACEFUL);
    assert_int_equal(e->fault.check, check);
}

/* A responder that may send: the first FPDU has come. */
static void open_full(struct pair *p)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    pair_open(p, config);
    post(p, 0, (struct iw_work){.id = 1, .opcode = IW_WORK_WRITE}, 0, 0);
    pair_run(p);
    assert_status(p, 0, 1, IW_STATUS_OK);
}

/* One batch is out and partly sent when the fault is found. RFC 5040 §7.1: the Terminate goes at
 * the earliest opportunity, which is after the FPDU that has begun; until then the memory that this
 * FPDU names stays in use. */
static void test_a_terminate_cuts_the_batch(void **state)
{
    (void)state;
    static const struct {
        size_t segment; /* octets sent before the fault, of FPDUs of 1460 and one of 1126 */
        uint64_t rest;  /* and of that batch after it */
        size_t placed;  /* payload of whole FPDUs */
    } cases[] = {{700, 760, 1436}, {2, 1458, 1436}, {20, 1440, 1436}, {1459, 1, 1436}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct pair p;
        open_full(&p);
        post_recv(&p, 1, 2, 0, 20000);
        memset(p.side[0].memory, 0x66, 20000);
        post_send(&p, 0, 3, 20000);
        uint64_t before = p.side[0].octets_out;
        while (p.side[0].octets_out < before + cases[k].segment) {
            p.segment = (size_t)(before + cases[k].segment - p.side[0].octets_out);
            assert_true(pair_carry(&p, 0));
        }
        p.segment = 0;
        post_send(&p, 1, 4, 64); /* no buffer for it */
        while (pair_carry(&p, 1))
            ;
        pair_collect(&p, 0);
        assert_non_null(pair_event(&p, 0, IW_EVENT_FAULT));
        assert_null(pair_completion(&p, 0, 3));
        before = p.side[0].octets_out;
        while (p.side[0].octets_out < before + cases[k].rest)
            assert_true(pair_carry(&p, 0));
        pair_collect(&p, 0);
        assert_status(&p, 0, 3, IW_STATUS_FLUSHED);
        pair_run(&p);
        /* The Terminate with length and DDP header: 2 + 18 + 4 + 2 + 18 + 4. */
        assert_int_equal(p.side[0].octets_out - before, cases[k].rest + 48);
        assert_status(&p, 1, 2, IW_STATUS_FLUSHED);
        for (size_t i = 0; i < 20000; i++)
            assert_int_equal(p.side[1].memory[i], i < cases[k].placed ? 0x66 : 0xa5);
        assert_non_null(pair_event(&p, 1, IW_EVENT_TERMINATED));
        assert_int_equal(pair_event(&p, 1, IW_EVENT_TERMINATED)->terminate.code, 2);
        pair_close(&p);
    }
}

/* Exactly at the end of an FPDU, or with nothing sent at all, the Terminate is next. */
static void test_a_terminate_between_fpdus(void **state)
{
    (void)state;
    for (unsigned fpdus = 0; fpdus < 3; fpdus++) {
        struct pair p;
        open_full(&p);
        post_recv(&p, 1, 2, 0, 20000);
        post_recv(&p, 1, 4, 0, 20000);
        post_send(&p, 0, 3, 100);
        post_send(&p, 0, 5, 19000);
        uint64_t before = p.side[0].octets_out;
        const struct iw_iov *pieces;
        assert_true(iw_endpoint_output(p.side[0].ep, &pieces, p.now) > 0);
        /* 2 + 118 + 4 octets, then what is left of that segment */
        for (uint64_t end = before + (fpdus == 0 ? 0 : 124 + 1336 * (fpdus - 1));
             p.side[0].octets_out < end;)
            assert_true(pair_carry(&p, 0));
        before = p.side[0].octets_out;
        iw_endpoint_abort(p.side[0].ep, true, 7, p.now);
        pair_collect(&p, 0);
        assert_status(&p, 0, 3, fpdus == 0 ? IW_STATUS_FLUSHED : IW_STATUS_OK);
        assert_status(&p, 0, 5, IW_STATUS_FLUSHED);
        pair_run(&p);
        assert_int_equal(p.side[0].octets_out - before, 28);
        assert_non_null(pair_event(&p, 1, IW_EVENT_TERMINATED));
        pair_close(&p);
    }
}

/* Both ends find a fault before they hear of the other's: one Terminate each, none in answer. */
static void test_terminates_that_cross(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_send(&p, 0, 2, 64); /* no buffers for these */
    post_send(&p, 1, 3, 64);
    uint8_t octets[2][200];
    size_t length[2] = {0, 0};
    for (unsigned round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            const struct iw_iov *pieces;
            length[i] = 0;
            while (iw_endpoint_output(p.side[i].ep, &pieces, p.now) > 0) {
                size_t n = pieces[0].length;
                assert_true(length[i] + n <= sizeof(octets[i]));
                memcpy(octets[i] + length[i], pieces[0].base, n);
                length[i] += n;
                iw_endpoint_sent(p.side[i].ep, n, p.now);
            }
            assert_int_equal(length[i], round == 0 ? 2 + 18 + 64 + 4 : 48);
        }
        for (int i = 0; i < 2; i++) {
            struct iw_iov in = {octets[1 - i], length[1 - i]};
            iw_endpoint_input(p.side[i].ep, &in, 1, p.now);
        }
    }
    uint64_t before = p.side[0].octets_out + p.side[1].octets_out;
    pair_run(&p);
    assert_int_equal(p.side[0].octets_out + p.side[1].octets_out, before);
    for (int i = 0; i < 2; i++) {
        assert_cause(&p, i, IW_CAUSE_FAULT, IW_CHECK_DDP_NO_BUFFER);
        assert_null(
            pair_event(&p, i, IW_EVENT_TERMINATED)); /* after an error everything is dropped */
    }
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_terminate_cuts_the_batch),
        cmocka_unit_test(test_a_terminate_between_fpdus),
        cmocka_unit_test(test_terminates_that_cross),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
