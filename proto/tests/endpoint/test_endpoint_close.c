/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* How connections end: half-closed, cut off, with work posted, and the order of the reports. */

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

static void post_read(struct pair *p, int side, uint64_t id, uint32_t length)
{
    const struct iw_region *source = &p->side[1 - side].region, *sink = &p->side[side].region;
    post(p, side,
         (struct iw_work){.id = id,
                          .opcode = IW_WORK_READ,
                          .length = length,
                          .remote_stag = source->stag,
                          .remote_to = source->to,
                          .sink_stag = sink->stag,
                          .sink_to = sink->to + 4096},
         0, 0);
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

static void assert_closed(const struct pair *p, int side, bool graceful)
{
    const struct iw_event *e = pair_event(p, side, IW_EVENT_CLOSED);
    assert_non_null(e);
    assert_int_equal(e->graceful, graceful);
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

/* Carries octets both ways until nothing moves, without passing on FINs. */
static void run_octets(struct pair *p)
{
    bool busy = true;
    while (busy) {
        busy = false;
        for (int i = 0; i < 2; i++) {
            while (pair_carry(p, i))
                busy = true;
            pair_collect(p, i);
        }
    }
    pair_collect(p, 0);
}

/* The initiator's FIN reaches the responder; nothing is shut down in answer. */
static void half_close(struct pair *p)
{
    struct iw_endpoint *ep = p->side[0].ep;
    iw_endpoint_shutdown(ep, p->now);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_FIN);
    iw_endpoint_fin_sent(ep, p->now);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_NOTHING);
    iw_endpoint_input_end(p->side[1].ep, true, p->now);
    struct iw_event event;
    assert_true(iw_endpoint_event(p->side[1].ep, &event));
    assert_int_equal(event.kind, IW_EVENT_PEER_CLOSED);
}

static void test_work_goes_on_after_the_peers_fin(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_recv(&p, 0, 2, 0, 8000);
    half_close(&p);
    memset(p.side[1].memory, 0x77, 8000);
    post_send(&p, 1, 3, 8000);
    run_octets(&p);
    assert_status(&p, 1, 3, IW_STATUS_OK);
    assert_status(&p, 0, 2, IW_STATUS_OK);
    assert_memory_equal(p.side[0].memory, p.side[1].memory, 8000);
    assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_NOTHING);
    iw_endpoint_shutdown(p.side[1].ep, p.now);
    pair_run(&p);
    assert_closed(&p, 0, true);
    assert_closed(&p, 1, true);
    pair_close(&p);
}

/* The answer could not follow the FIN: nothing may leave after it. */
static void test_a_read_request_behind_our_fin_is_not_answered(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    struct iw_endpoint *ep = p.side[0].ep;
    iw_endpoint_shutdown(ep, p.now);
    iw_endpoint_fin_sent(ep, p.now);
    uint64_t before = p.side[0].octets_out;
    post_read(&p, 1, 2, 64); /* on its way while the FIN is, too */
    run_octets(&p);
    assert_int_equal(p.side[0].octets_out, before);
    assert_null(pair_completion(&p, 1, 2));
    iw_endpoint_input_end(p.side[1].ep, true, p.now);
    pair_run(&p);
    assert_status(&p, 1, 2, IW_STATUS_FLUSHED);
    assert_null(pair_event(&p, 0, IW_EVENT_FAULT));
    assert_closed(&p, 0, true);
    assert_closed(&p, 1, true);
    pair_close(&p);
}

/* Nobody is left to answer: what was posted before the Read is done, the rest flushed. */
static void test_a_read_after_the_peers_fin_ends_the_connection(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_recv(&p, 0, 2, 0, 64);
    post_recv(&p, 0, 3, 0, 64);
    half_close(&p);
    post_send(&p, 1, 4, 64);
    post_read(&p, 1, 5, 64);
    post_send(&p, 1, 6, 64);
    run_octets(&p);
    assert_status(&p, 0, 2, IW_STATUS_OK);
    assert_null(pair_completion(&p, 0, 3));
    assert_status(&p, 1, 4, IW_STATUS_OK);
    assert_status(&p, 1, 5, IW_STATUS_FLUSHED);
    assert_status(&p, 1, 6, IW_STATUS_FLUSHED);
    assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_FIN);
    pair_run(&p);
    assert_closed(&p, 0, true);
    assert_closed(&p, 1, true);
    assert_status(&p, 0, 3, IW_STATUS_FLUSHED);
    pair_close(&p);
}

/* The Reply and the responder's FIN come together; the RTR would be a Read Request. */
static void test_fin_before_the_rtr(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[0].mpa.peer_to_peer = true;
    config[1].mpa.rtr = IW_MPA_RTR_READ;
    struct pair p;
    pair_open(&p, config);
    assert_true(pair_carry(&p, 0)); /* Request */
    pair_collect(&p, 1);
    assert_true(pair_carry(&p, 1)); /* Reply */
    iw_endpoint_input_end(p.side[0].ep, true, p.now);
    const struct iw_iov *pieces;
    assert_int_equal(iw_endpoint_output(p.side[0].ep, &pieces, p.now), 0);
    assert_int_equal(iw_endpoint_want(p.side[0].ep), IW_WANT_FIN);
    iw_endpoint_fin_sent(p.side[0].ep, p.now);
    pair_collect(&p, 0);
    assert_closed(&p, 0, true);
    pair_close(&p);
}

static void test_linger_after_a_graceful_close(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_recv(&p, 0, 2, 0, 64);
    const uint64_t linger = 5000000000u, began = p.now;
    half_close(&p);
    assert_int_equal(iw_endpoint_deadline(p.side[0].ep), began + linger);
    p.now += linger - 1;
    iw_endpoint_tick(p.side[0].ep, p.now);
    assert_int_equal(iw_endpoint_want(p.side[0].ep), IW_WANT_NOTHING);
    post_send(&p, 1, 3, 64); /* as long as the peer sends, it is waited for */
    run_octets(&p);
    assert_status(&p, 0, 2, IW_STATUS_OK);
    assert_int_equal(iw_endpoint_deadline(p.side[0].ep), began + linger - 1 + linger);
    p.now += linger;
    iw_endpoint_tick(p.side[0].ep, p.now);
    assert_int_equal(iw_endpoint_want(p.side[0].ep), IW_WANT_RESET);
    pair_collect(&p, 0);
    assert_closed(&p, 0, false);
    pair_close(&p);
}

static void assert_order(const struct pair *p, int side, const enum iw_event_kind *kinds,
                         size_t count)
{
    assert_int_equal(p->side[side].event_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(p->side[side].events[i].kind, kinds[i]);
}

/* The peer's FIN, then a fault of its own doing: a source that goes while it is being read. */
static void test_events_come_in_order(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    p.side[0].event_count = p.side[1].event_count = 0;
    post_read(&p, 1, 2, 64);
    while (pair_carry(&p, 1))
        ;
    iw_endpoint_shutdown(p.side[1].ep, p.now);
    iw_endpoint_input_end(p.side[0].ep, true, p.now);
    assert_int_equal(iw_domain_invalidate(p.side[0].domain, p.side[0].region.stag), 0);
    while (pair_carry(&p, 0)) /* the Terminate */
        ;
    iw_endpoint_fin_sent(p.side[0].ep, p.now);
    pair_collect(&p, 0);
    static const enum iw_event_kind kinds[] = {IW_EVENT_PEER_CLOSED, IW_EVENT_FAULT,
                                               IW_EVENT_CLOSED};
    assert_order(&p, 0, kinds, 3);
    assert_closed(&p, 0, false);
    pair_close(&p);
}

static void test_an_abort_is_not_graceful(void **state)
{
    (void)state;
    for (int terminate = 0; terminate < 2; terminate++) {
        struct pair p;
        open_full(&p);
        post_recv(&p, 1, 2, 0, 64);
        post_send(&p, 0, 3, 64);
        iw_endpoint_abort(p.side[0].ep, terminate, 0, p.now);
        pair_run(&p);
        assert_status(&p, 0, 3, IW_STATUS_FLUSHED);
        assert_closed(&p, 0, false);
        if (terminate) {
            assert_closed(&p, 1, false);
            assert_non_null(pair_event(&p, 1, IW_EVENT_TERMINATED));
            assert_status(&p, 1, 2, IW_STATUS_FLUSHED);
        }
        pair_close(&p);
    }
}

/* Calls after the last event change nothing. */
static void test_nothing_follows_closed(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    iw_endpoint_shutdown(p.side[0].ep, p.now);
    pair_run(&p);
    assert_closed(&p, 0, true);
    struct iw_endpoint *ep = p.side[0].ep;
    size_t events = p.side[0].event_count;
    iw_endpoint_abort(ep, true, 1, p.now);
    iw_endpoint_abort(ep, false, 0, p.now);
    iw_endpoint_input_end(ep, false, p.now);
    iw_endpoint_input_end(ep, true, p.now);
    iw_endpoint_shutdown(ep, p.now);
    iw_endpoint_tick(ep, UINT64_MAX - 1);
    pair_collect(&p, 0);
    assert_int_equal(p.side[0].event_count, events);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_CLOSE);
    assert_int_equal(iw_endpoint_deadline(ep), UINT64_MAX);
    pair_close(&p);
}

/* Silence ends with the peer's patience, or the consumer's. */
static void test_a_silent_end_can_still_be_closed(void **state)
{
    (void)state;
    for (int by_peer = 0; by_peer < 2; by_peer++) {
        struct pair p;
        const char *error;
        open_full(&p);
        assert_int_equal(
            iw_switches_set(&p.side[1].switches, IW_SWITCH_BOTCH, "ddp-no-buffer=silent", &error),
            1);
        post_send(&p, 0, 2, 64);
        pair_run(&p);
        assert_non_null(pair_event(&p, 1, IW_EVENT_FAULT));
        assert_null(pair_event(&p, 1, IW_EVENT_CLOSED));
        assert_int_equal(iw_endpoint_deadline(p.side[1].ep), UINT64_MAX);
        iw_endpoint_shutdown(p.side[by_peer ? 0 : 1].ep, p.now);
        pair_run(&p);
        assert_closed(&p, 0, true);
        assert_closed(&p, 1, false);
        pair_close(&p);
    }
}

/* Work that was posted before the start-up ended is done before the FIN; without any, nothing is
 * waited for. */
static void test_shutdown_during_the_start_up(void **state)
{
    (void)state;
    for (int work = 0; work < 2; work++) {
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        struct pair p;
        pair_open(&p, config);
        if (work) {
            post_recv(&p, 1, 2, 0, 64);
            post_send(&p, 0, 3, 64);
        }
        iw_endpoint_shutdown(p.side[0].ep, p.now);
        const struct iw_work late = {.opcode = IW_WORK_SEND};
        assert_int_equal(iw_endpoint_post(p.side[0].ep, &late, p.now), IW_ERR_STATE);
        pair_run(&p);
        if (work) {
            assert_status(&p, 1, 2, IW_STATUS_OK);
            assert_status(&p, 0, 3, IW_STATUS_OK);
        }
        assert_int_equal(pair_event(&p, 0, IW_EVENT_ESTABLISHED) != NULL, work);
        assert_closed(&p, 0, true);
        assert_closed(&p, 1, true);
        pair_close(&p);
    }
}

/* RFC 5041 §6.2.1: octets after the peer's FIN abort the stream, whatever they are. */
static void test_octets_behind_a_graceful_close(void **state)
{
    (void)state;
    for (unsigned shut = 0; shut < 3; shut++) {
        struct pair p;
        open_full(&p);
        post_recv(&p, 1, 2, 0, 64);
        half_close(&p);
        if (shut == 1)
            iw_endpoint_shutdown(p.side[1].ep, p.now);
        if (shut == 2) { /* a Read that nobody will answer: the end has begun here, too */
            post_read(&p, 1, 3, 64);
            assert_false(pair_carry(&p, 1));
        }
        /* An empty Send: nothing of it is delivered. */
        uint8_t late[] = {0x00, 0x12, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,
                          0,    1,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0xc4, 0xe8};
        struct iw_iov in = {late, sizeof(late)};
        iw_endpoint_input(p.side[1].ep, &in, 1, p.now);
        assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_RESET);
        const struct iw_iov *pieces;
        assert_int_equal(iw_endpoint_output(p.side[1].ep, &pieces, p.now), 0);
        pair_collect(&p, 1);
        assert_status(&p, 1, 2, IW_STATUS_FLUSHED);
        assert_cause(&p, 1, IW_CAUSE_FAULT, IW_CHECK_DDP_AFTER_CLOSE);
        const struct iw_event *fault = pair_event(&p, 1, IW_EVENT_FAULT);
        assert_non_null(fault);
        assert_false(fault->terminate_valid);
        assert_int_equal(fault->fault.pos, 44); /* after Request and empty Write */
        assert_string_equal(iw_check_rule(fault->fault.check)->id, "DDP-6.2.1-03");
        /* More of them change nothing. */
        iw_endpoint_input(p.side[1].ep, &in, 1, p.now);
        pair_collect(&p, 1);
        assert_int_equal(p.side[1].completion_count, shut == 2 ? 2 : 1);
        pair_close(&p);
    }
}

/* RFC 5041 §6.2.1: what the ULP asks for once its graceful close has begun is an error. */
static void test_nothing_is_posted_after_shutdown(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_recv(&p, 1, 2, 0, 20000);
    post_send(&p, 0, 3, 20000);
    assert_true(pair_carry(&p, 0)); /* its FIN has to wait */
    iw_endpoint_shutdown(p.side[0].ep, p.now);
    for (int opcode = IW_WORK_SEND; opcode < IW_WORK_RECV; opcode++) {
        const struct iw_work late = {.opcode = (enum iw_work_opcode)opcode};
        assert_int_equal(iw_endpoint_post(p.side[0].ep, &late, p.now), IW_ERR_STATE);
    }
    pair_run(&p);
    assert_status(&p, 1, 2, IW_STATUS_OK); /* all data goes before the FIN */
    assert_status(&p, 0, 3, IW_STATUS_OK);
    assert_cause(&p, 0, IW_CAUSE_GRACEFUL, IW_CHECK_NONE);
    assert_cause(&p, 1, IW_CAUSE_GRACEFUL, IW_CHECK_NONE);
    pair_close(&p);
}

/* Local, remote and LLP errors are distinguished, each with its rule. */
static void test_causes_of_the_end(void **state)
{
    (void)state;
    struct pair p;
    open_full(&p);
    post_send(&p, 0, 2, 64); /* no buffer for it */
    pair_run(&p);
    assert_cause(&p, 0, IW_CAUSE_TERMINATED, IW_CHECK_NONE);
    assert_cause(&p, 1, IW_CAUSE_FAULT, IW_CHECK_DDP_NO_BUFFER);
    const struct iw_event *e = pair_event(&p, 0, IW_EVENT_TERMINATED);
    assert_int_equal(e->cause, IW_CAUSE_NONE);
    assert_string_equal(
        iw_wire_term_name(e->terminate.layer, e->terminate.etype, e->terminate.code),
        "invalid MSN: no buffer available");
    pair_close(&p);

    open_full(&p);
    post_send(&p, 0, 2, 64);
    post_recv(&p, 0, 3, 0, 64);
    iw_endpoint_input_end(p.side[0].ep, false, p.now);
    pair_collect(&p, 0);
    assert_cause(&p, 0, IW_CAUSE_LOST, IW_CHECK_MPA_LOST);
    assert_int_equal(p.side[0].event_count, 2); /* ESTABLISHED, CLOSED: no fault of the peer's */
    assert_string_equal(iw_check_rule(IW_CHECK_MPA_LOST)->id, "MPA-8-01");
    assert_status(&p, 0, 2, IW_STATUS_FLUSHED);
    assert_status(&p, 0, 3, IW_STATUS_FLUSHED);
    pair_close(&p);

    open_full(&p);
    half_close(&p);
    p.now += 5000000000u;
    iw_endpoint_tick(p.side[0].ep, p.now);
    pair_collect(&p, 0);
    assert_cause(&p, 0, IW_CAUSE_TIMEOUT, IW_CHECK_NONE);
    iw_endpoint_abort(p.side[1].ep, false, 0, p.now);
    iw_endpoint_input_end(p.side[1].ep, false, p.now);
    pair_collect(&p, 1);
    assert_cause(&p, 1, IW_CAUSE_ABORTED, IW_CHECK_NONE);
    pair_close(&p);

    /* A Terminate of the consumer's; then the loss does not hide who began. */
    open_full(&p);
    iw_endpoint_abort(p.side[0].ep, true, 7, p.now);
    while (pair_carry(&p, 0))
        ;
    for (int i = 0; i < 2; i++) {
        iw_endpoint_input_end(p.side[i].ep, false, p.now);
        pair_collect(&p, i);
    }
    assert_cause(&p, 0, IW_CAUSE_ABORTED, IW_CHECK_NONE);
    assert_cause(&p, 1, IW_CAUSE_TERMINATED, IW_CHECK_NONE);
    pair_close(&p);
    assert_string_equal(iw_cause_name((enum iw_cause)99), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_goes_on_after_the_peers_fin),
        cmocka_unit_test(test_a_read_request_behind_our_fin_is_not_answered),
        cmocka_unit_test(test_a_read_after_the_peers_fin_ends_the_connection),
        cmocka_unit_test(test_fin_before_the_rtr),
        cmocka_unit_test(test_shutdown_during_the_start_up),
        cmocka_unit_test(test_linger_after_a_graceful_close),
        cmocka_unit_test(test_events_come_in_order),
        cmocka_unit_test(test_an_abort_is_not_graceful),
        cmocka_unit_test(test_nothing_follows_closed),
        cmocka_unit_test(test_a_silent_end_can_still_be_closed),
        cmocka_unit_test(test_octets_behind_a_graceful_close),
        cmocka_unit_test(test_nothing_is_posted_after_shutdown),
        cmocka_unit_test(test_causes_of_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
