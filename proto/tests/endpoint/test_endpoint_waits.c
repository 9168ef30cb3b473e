/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* The order at the end: the FIN waits for work, the Terminate only for framed FPDUs. */

static void post(struct pair *p, int side, struct iw_work work, size_t length)
{
    struct iw_iov sge = {p->side[side].memory, length};
    work.sge = &sge;
    work.sge_count = 1;
    assert_int_equal(iw_endpoint_post(p->side[side].ep, &work, p->now), IW_OK);
}

static void post_recv(struct pair *p, int side, uint64_t id, size_t length)
{
    struct iw_iov sge = {p->side[side].memory, length};
    assert_int_equal(iw_endpoint_post_recv(p->side[side].ep, id, &sge, 1), IW_OK);
}

static void post_read(struct pair *p, int side, uint64_t id, uint32_t length)
{
    const struct iw_region *source = &p->side[1 - side].region, *sink = &p->side[side].region;
    post(p, side,
         (struct iw_work){.id = id,
                          .opcode = IW_WORK_READ,
                          .length = length,
                          .remote_stag = source->stag,
                          .remote_to = source->to + 16,
                          .sink_stag = sink->stag,
                          .sink_to = sink->to + 4096},
         0);
}

/* Both ends may send. */
static void open_full(struct pair *p)
{
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    pair_open(p, config);
    post(p, 0, (struct iw_work){.id = 1, .opcode = IW_WORK_WRITE}, 0);
    pair_run(p);
}

static void carry_all(struct pair *p, int from)
{
    while (pair_carry(p, from))
        ;
    pair_collect(p, 0);
    pair_collect(p, 1);
}

/* Hands on what one call of iw_endpoint_output gives. */
static void carry_batch(struct pair *p, int from)
{
    const struct iw_iov *pieces;
    size_t count = iw_endpoint_output(p->side[from].ep, &pieces, p->now), left = 0;
    for (size_t i = 0; i < count; i++)
        left += pieces[i].length;
    while (left > 0) {
        uint64_t before = p->side[from].octets_out;
        assert_true(pair_carry(p, from));
        left -= (size_t)(p->side[from].octets_out - before);
    }
}

/* RFC 5041 §6.2.1: all that was posted is sent, and Reads are answered, before the FIN. */
static void test_a_fin_waits_for_work(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    struct iw_endpoint *ep = p.side[0].ep;
    post_recv(&p, 1, 2, 64);
    post(&p, 0, (struct iw_work){.id = 3, .opcode = IW_WORK_SEND}, 64);
    post_read(&p, 0, 4, 64);
    iw_endpoint_shutdown(ep, p.now);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_NOTHING);
    carry_all(&p, 0);
    assert_int_equal(pair_completion(&p, 1, 2)->status, IW_STATUS_OK);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_NOTHING);
    carry_all(&p, 1);
    assert_int_equal(pair_completion(&p, 0, 4)->status, IW_STATUS_OK);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_FIN);
    pair_close(&p);
}

/* RFC 5041 §6.2.2: the stream is not closed before the Terminate has left. */
static void test_a_fin_waits_for_the_terminate(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post(&p, 0, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND}, 64); /* no buffer for it */
    carry_all(&p, 0);
    assert_non_null(pair_event(&p, 1, IW_EVENT_FAULT));
    assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_NOTHING);
    carry_all(&p, 1);
    assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_FIN);
    assert_int_equal(pair_event(&p, 0, IW_EVENT_TERMINATED)->terminate.code, 2);
    pair_close(&p);
}

/* RFC 5040 §7.1: at the earliest opportunity, that is after the batch that is out already and in
 * the middle of a message. */
static void test_a_terminate_ends_a_message_half_way(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_recv(&p, 1, 2, 1000000);
    post(&p, 0, (struct iw_work){.id = 3, .opcode = IW_WORK_SEND}, 1000000);
    carry_batch(&p, 0);
    uint64_t before = p.side[0].octets_out;
    assert_true(before < 900000);
    post(&p, 1, (struct iw_work){.id = 4, .opcode = IW_WORK_SEND}, 64); /* no buffer for it */
    carry_all(&p, 1);
    assert_non_null(pair_event(&p, 0, IW_EVENT_FAULT));
    carry_all(&p, 0);
    assert_true(p.side[0].octets_out - before < 100);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_TERMINATED)->terminate.code, 2);
    pair_close(&p);
}

/* RFC 5040 §7.1: of several errors the first is reported, and once. */
static void test_the_first_of_two_errors_is_told(void **state)
{
    (void)state;
    struct pair p;
    const char *error;
    open_full(&p);
    assert_int_equal(
        iw_switches_set(&p.side[1].switches, IW_SWITCH_IGNORE, "rdmap-terminate-stop", &error), 1);
    post(&p, 0, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND}, 64); /* no buffer for it */
    post(&p, 0, (struct iw_work){.id = 3, .opcode = IW_WORK_WRITE, .remote_stag = 1}, 64);
    carry_all(&p, 0);
    carry_all(&p, 1);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_DDP_NO_BUFFER);
    const struct iw_event *e = pair_event(&p, 0, IW_EVENT_TERMINATED);
    assert_non_null(e);
    assert_int_equal(e->terminate.layer, 1);
    assert_int_equal(e->terminate.etype, 2);
    assert_int_equal(e->terminate.code, 2);
    pair_close(&p);
}

/* RFC 5040 §5.2.1, RFC 7306 §5.2.1: Reads and atomics are not delivered; the receive that is posted
 * is the next Send's. */
static void test_a_receive_waits_for_a_send(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_recv(&p, 1, 2, 64);
    post_read(&p, 0, 3, 64);
    post(&p, 0,
         (struct iw_work){.id = 4,
                          .opcode = IW_WORK_FETCH_ADD,
                          .remote_stag = p.side[1].region.stag,
                          .remote_to = p.side[1].region.to},
         0);
    pair_run(&p);
    assert_int_equal(pair_completion(&p, 0, 3)->status, IW_STATUS_OK);
    assert_int_equal(pair_completion(&p, 0, 4)->status, IW_STATUS_OK);
    assert_null(pair_completion(&p, 1, 2));
    post(&p, 0, (struct iw_work){.id = 5, .opcode = IW_WORK_SEND}, 64);
    pair_run(&p);
    assert_int_equal(pair_completion(&p, 1, 2)->length, 64);
    pair_close(&p);
}

enum { LINGER = 5 }; /* s */

static uint64_t seconds(unsigned n)
{
    return n * UINT64_C(1000000000);
}

static void expect_timeout(struct pair *p, int side)
{
    struct iw_endpoint *ep = p->side[side].ep;
    assert_int_equal(iw_endpoint_deadline(ep), p->now + seconds(LINGER));
    p->now += seconds(LINGER) - 1;
    iw_endpoint_tick(ep, p->now);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_NOTHING);
    p->now++;
    iw_endpoint_tick(ep, p->now);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_RESET);
    pair_collect(p, side);
    assert_int_equal(pair_event(p, side, IW_EVENT_CLOSED)->cause, IW_CAUSE_TIMEOUT);
}

/* A peer that has closed, and takes no more octets, holds us for so long only. */
static void test_a_close_behind_the_peers(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct pair p;
        const struct iw_iov *pieces;
        open_full(&p);
        struct iw_endpoint *ep = p.side[0].ep;
        post(&p, 0, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND}, 1000);
        if (first == 0)
            iw_endpoint_shutdown(ep, p.now);
        assert_int_equal(iw_endpoint_deadline(ep), UINT64_MAX);
        iw_endpoint_input_end(ep, true, p.now);
        if (first == 1) {
            assert_int_equal(iw_endpoint_deadline(ep), UINT64_MAX); /* we may go on */
            iw_endpoint_shutdown(ep, p.now);
        }
        assert_int_equal(iw_endpoint_deadline(ep), p.now + seconds(LINGER));
        p.now += seconds(LINGER - 1);
        assert_int_not_equal(iw_endpoint_output(ep, &pieces, p.now), 0);
        iw_endpoint_sent(ep, 1, p.now);
        p.now += seconds(1);
        assert_int_not_equal(iw_endpoint_output(ep, &pieces, p.now), 0);
        iw_endpoint_sent(ep, 0, p.now);
        p.now -= seconds(1);
        expect_timeout(&p, 0);
        assert_int_equal(pair_completion(&p, 0, 2)->status, IW_STATUS_FLUSHED);
        pair_close(&p);
    }
}

/* An initiator that sends no FPDU, so that nothing may be sent to it, either. */
static void test_a_close_before_the_first_fpdu(void **state)
{
    (void)state;
    for (int comes = 0; comes < 2; comes++) {
        struct pair p;
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        pair_open(&p, config);
        pair_run(&p);
        struct iw_endpoint *ep = p.side[1].ep;
        post(&p, 1, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND}, 64);
        assert_int_equal(iw_endpoint_deadline(ep), UINT64_MAX);
        iw_endpoint_shutdown(ep, p.now);
        if (comes == 0) {
            expect_timeout(&p, 1);
        } else {
            post_recv(&p, 0, 3, 64);
            post(&p, 0, (struct iw_work){.id = 1, .opcode = IW_WORK_WRITE}, 0);
            carry_all(&p, 0);
            assert_int_equal(iw_endpoint_deadline(ep), UINT64_MAX);
            carry_all(&p, 1);
            assert_int_equal(pair_completion(&p, 0, 3)->status, IW_STATUS_OK);
            assert_int_equal(iw_endpoint_want(ep), IW_WANT_FIN);
        }
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fin_waits_for_work),
        cmocka_unit_test(test_a_fin_waits_for_the_terminate),
        cmocka_unit_test(test_a_terminate_ends_a_message_half_way),
        cmocka_unit_test(test_the_first_of_two_errors_is_told),
        cmocka_unit_test(test_a_receive_waits_for_a_send),
        cmocka_unit_test(test_a_close_behind_the_peers),
        cmocka_unit_test(test_a_close_before_the_first_fpdu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
