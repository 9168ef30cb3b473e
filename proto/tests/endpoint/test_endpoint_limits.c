/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include "endpoint/endpoint_internal.h"

/* The edges of every counter, length and depth. */

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

static struct iw_work read_work(const struct pair *p, int side, uint64_t id, uint64_t from,
                                uint64_t to, uint32_t length)
{
    const struct iw_region *source = &p->side[1 - side].region, *sink = &p->side[side].region;
    return (struct iw_work){.id = id,
                            .opcode = IW_WORK_READ,
                            .length = length,
                            .remote_stag = source->stag,
                            .remote_to = source->to + from,
                            .sink_stag = sink->stag,
                            .sink_to = sink->to + to};
}

static void assert_status(const struct pair *p, int side, uint64_t id, enum iw_status status)
{
    const struct iw_completion *c = pair_completion(p, side, id);
    assert_non_null(c);
    assert_int_equal(c->status, status);
}

static void forget_completions(struct pair *p)
{
    p->side[0].completion_count = p->side[1].completion_count = 0;
}

/* Sends and Reads both ways whose number passes a boundary of the counters. */
static void test_ring_counters_and_msns_wrap(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    for (int i = 0; i < 2; i++) {
        config[i].send_depth = 7;
        config[i].recv_depth = 5;
        config[i].mpa.ird = config[i].mpa.ord = 3;
    }
    struct pair p;
    pair_open(&p, config);
    pair_run(&p);
    for (int i = 0; i < 2; i++) {
        struct iw_endpoint *ep = p.side[i].ep;
        ep->paused = false;
        ep->send_head = ep->send_next = ep->send_tail = UINT32_MAX - 2;
        ep->recv_head = ep->recv_tail = UINT32_MAX - 2;
        ep->completion_head = ep->completion_tail = UINT32_MAX - 2;
        ep->reads_out_head = ep->reads_out_tail = UINT32_MAX - 2;
        ep->reads_in_head = ep->reads_in_next = ep->reads_in_tail = UINT32_MAX - 2;
        for (unsigned qn = 0; qn < 2; qn++)
            ep->tx_msn[qn] = ep->rx_msn[qn] = UINT32_MAX - 2;
    }
    for (unsigned round = 0; round < 4; round++) {
        forget_completions(&p);
        for (int i = 0; i < 2; i++) {
            for (unsigned k = 0; k < 5; k++) {
                memset(p.side[i].memory + 512 * k, (int)(1 + round + k), 512);
                post_recv(&p, i, 10 + k, 10000 + 512 * k, 512);
            }
            for (unsigned k = 0; k < 3; k++)
                post(&p, i, (struct iw_work){.id = 20 + k, .opcode = IW_WORK_SEND}, 512 * k, 512);
            for (unsigned k = 0; k < 4; k++)
                post(&p, i, read_work(&p, i, 30 + k, 512 * k, 20000 + 512 * k, 512), 0, 0);
        }
        pair_run(&p);
        for (int i = 0; i < 2; i++) {
            for (unsigned k = 0; k < 3; k++) {
                assert_status(&p, i, 10 + k, IW_STATUS_OK);
                assert_status(&p, i, 20 + k, IW_STATUS_OK);
                assert_memory_equal(p.side[i].memory + 10000 + 512 * k,
                                    p.side[1 - i].memory + 512 * k, 512);
            }
            for (unsigned k = 0; k < 4; k++) {
                assert_status(&p, i, 30 + k, IW_STATUS_OK);
                assert_memory_equal(p.side[i].memory + 20000 + 512 * k,
                                    p.side[1 - i].memory + 512 * k, 512);
            }
            /* Two receives are left over; use them up so that the next round fits. */
            for (unsigned k = 0; k < 2; k++)
                post(&p, i, (struct iw_work){.id = 50 + k, .opcode = IW_WORK_SEND}, 0, 1);
        }
        pair_run(&p);
    }
    assert_int_equal(p.side[0].ep->tx_msn[IW_QN_SEND], UINT32_MAX - 2 + 20u);
    assert_int_equal(p.side[0].ep->tx_msn[IW_QN_READ_REQUEST], UINT32_MAX - 2 + 16u);
    assert_null(pair_event(&p, 0, IW_EVENT_FAULT));
    assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
    pair_close(&p);
}

/* The start-up leaves no ORD: Reads posted before it fail alone, and no later work waits for them.
 */
static void test_reads_that_the_start_up_leaves_no_ord_to(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[1].mpa.ird = 0;
    struct pair p;
    pair_open(&p, config);
    post_recv(&p, 1, 1, 0, 64);
    post(&p, 0, read_work(&p, 0, 2, 0, 0, 64), 0, 0);
    post(&p, 0, (struct iw_work){.id = 3, .opcode = IW_WORK_SEND}, 0, 64);
    post(&p, 0, read_work(&p, 0, 4, 0, 0, 64), 0, 0);
    pair_run(&p);
    assert_int_equal(iw_endpoint_agreed(p.side[0].ep)->ord, 0);
    assert_status(&p, 1, 1, IW_STATUS_OK);
    assert_status(&p, 0, 2, IW_STATUS_LOCAL_FAULT);
    assert_status(&p, 0, 3, IW_STATUS_OK);
    assert_status(&p, 0, 4, IW_STATUS_LOCAL_FAULT);
    assert_int_equal(pair_completion(&p, 0, 4)->check, IW_CHECK_RDMAP_IRD);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(p.side[0].completions[i].id, 2 + i);
    struct iw_work late = read_work(&p, 0, 5, 0, 0, 64);
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &late, p.now), IW_ERR_ARGUMENT);
    iw_endpoint_shutdown(p.side[0].ep, p.now);
    pair_run(&p);
    assert_true(pair_event(&p, 0, IW_EVENT_CLOSED)->graceful);
    pair_close(&p);
}

/* A responder that leaves its ORD to the ULP keeps to the IRD that the initiator stated. */
static void test_an_ord_left_to_the_ulp_obeys_the_peers_ird(void **state)
{
    (void)state;
    for (uint16_t ird = 0; ird < 3; ird++) {
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        config[0].mpa.ird = ird;
        config[1].mpa.ord = 0x3fff;
        struct pair p;
        pair_open(&p, config);
        pair_run(&p);
        post(&p, 0, (struct iw_work){.id = 1, .opcode = IW_WORK_WRITE}, 0, 0);
        pair_run(&p);
        struct iw_work w = read_work(&p, 1, 2, 0, 0, 64);
        for (w.id = 2; w.id < 12; w.id++)
            assert_int_equal(iw_endpoint_post(p.side[1].ep, &w, p.now),
                             ird == 0 ? IW_ERR_ARGUMENT : IW_OK);
        pair_run(&p);
        assert_null(pair_event(&p, 0, IW_EVENT_FAULT));
        for (uint64_t id = 2; id < 12 && ird > 0; id++)
            assert_status(&p, 1, id, IW_STATUS_OK);
        pair_close(&p);
    }
}

/* An initiator that has left its ORD to the ULP has room for max_reads, whatever IRD the Reply
 * names: RFC 6581 §9.1 has it name 0x3fff. */
static void test_an_ord_left_to_the_ulp_keeps_to_its_room(void **state)
{
    (void)state;
    struct iw_switches switches[2] = {0};
    switches[1].any = true;
    switches[1].set[IW_CHECK_MPA_IRD_3FFF] = 1u << IW_SWITCH_VIOLATE;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[0].mpa.ord = 0x3fff;
    config[0].max_reads = 2;
    config[1].mpa.ird = 12;
    struct pair p;
    pair_open_bent(&p, config, switches);
    pair_run(&p);
    assert_int_equal(iw_endpoint_agreed(p.side[0].ep)->ord, 12);
    struct iw_work w = read_work(&p, 0, 2, 0, 0, 64);
    for (w.id = 2; w.id < 12; w.id++)
        assert_int_equal(iw_endpoint_post(p.side[0].ep, &w, p.now), IW_OK);
    pair_run(&p);
    assert_null(pair_event(&p, 0, IW_EVENT_FAULT));
    assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
    for (uint64_t id = 2; id < 12; id++)
        assert_status(&p, 0, id, IW_STATUS_OK);
    pair_close(&p);
}

/* The source of a response on its way is written to, and then given up: the octets were copied. */
static void test_a_read_source_may_change_and_go(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    pair_run(&p);
    uint8_t *page = malloc(60000);
    assert_non_null(page);
    memset(page, 0x31, 60000);
    struct iw_region r = p.side[1].region;
    r.base = page;
    r.length = 60000;
    r.guard = 0;
    assert_int_equal(iw_domain_register(p.side[1].domain, &r), 0);
    struct iw_work w = read_work(&p, 0, 1, 0, 0, 50000);
    w.remote_stag = r.stag;
    post(&p, 0, w, 0, 0);
    while (pair_carry(&p, 0))
        ;
    p.segment = 1000;
    assert_true(pair_carry(&p, 1));
    memset(page, 0x32, 60000);
    assert_int_equal(iw_domain_deregister(p.side[1].domain, r.stag), 0);
    free(page);
    pair_run(&p);
    assert_status(&p, 0, 1, IW_STATUS_OK);
    for (size_t i = 0; i < 50000; i++)
        assert_int_equal(p.side[0].memory[i], 0x31);
    assert_null(pair_event(&p, 0, IW_EVENT_FAULT));
    pair_close(&p);
}

/* The longest segments, copied ones too, fit the batch. */
static void test_the_longest_segments(void **state)
{
    (void)state;
    static const uint32_t mulpdus[] = {IW_MPA_MULPDU_MIN, 1440, IW_MPA_ULPDU_MAX};
    for (unsigned k = 0; k < 6; k++) {
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        for (int i = 0; i < 2; i++) {
            config[i].mulpdu = mulpdus[k / 2];
            config[i].mpa.markers = k % 2 == 1;
        }
        struct pair p;
        pair_open(&p, config);
        pair_run(&p);
        for (int i = 0; i < 2; i++) {
            for (uint32_t n = 0; n < 300000; n++)
                p.side[i].memory[n] = (uint8_t)(n * 31 + n / 253 + (uint32_t)i);
            post_recv(&p, i, 1, 300000, 300000);
            post(&p, i, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND}, 0, 300000);
            post(&p, i, read_work(&p, i, 3, 0, 600000, 300000), 0, 0);
        }
        pair_run(&p);
        for (int i = 0; i < 2; i++) {
            assert_status(&p, i, 1, IW_STATUS_OK);
            assert_status(&p, i, 3, IW_STATUS_OK);
            assert_memory_equal(p.side[i].memory + 300000, p.side[1 - i].memory, 300000);
            assert_memory_equal(p.side[i].memory + 600000, p.side[1 - i].memory, 300000);
        }
        pair_close(&p);
    }
}

/* The pool is lent out when there is something to send: the deadline asks for another try. */
static void test_sending_waits_for_the_pool(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    const struct iw_iov *pieces;
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    pair_run(&p);
    struct iw_domain *d = p.side[0].domain;
    struct iw_endpoint *ep = p.side[0].ep;
    void *lent[] = {iw_domain_borrow(d), iw_domain_borrow(d)};
    assert_null(iw_domain_borrow(d));
    post(&p, 0, (struct iw_work){.id = 1, .opcode = IW_WORK_WRITE}, 0, 0);
    assert_int_equal(iw_endpoint_output(ep, &pieces, p.now), 0);
    uint64_t deadline = iw_endpoint_deadline(ep);
    assert_int_equal(deadline, p.now + 1000000);
    iw_domain_return(d, lent[0]);
    iw_domain_return(d, lent[1]);
    p.now = deadline;
    iw_endpoint_tick(ep, p.now);
    assert_int_equal(iw_endpoint_deadline(ep), UINT64_MAX);
    pair_run(&p);
    assert_status(&p, 0, 1, IW_STATUS_OK);
    pair_close(&p);
}

/* A transport that reports more than it was given completes nothing that was not out. */
static void test_more_sent_than_there_was(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    const struct iw_iov *pieces;
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    pair_run(&p);
    struct iw_endpoint *ep = p.side[0].ep;
    post(&p, 0, (struct iw_work){.id = 1, .opcode = IW_WORK_WRITE}, 0, 0);
    assert_true(iw_endpoint_output(ep, &pieces, p.now) > 0);
    post(&p, 0, (struct iw_work){.id = 2, .opcode = IW_WORK_WRITE}, 0, 0);
    iw_endpoint_sent(ep, 1000000, p.now);
    iw_endpoint_sent(ep, 1000000, p.now);
    assert_true(iw_endpoint_output(ep, &pieces, p.now) > 0);
    pair_collect(&p, 0);
    assert_status(&p, 0, 1, IW_STATUS_OK);
    assert_null(pair_completion(&p, 0, 2));
    pair_close(&p);
}

/* Switches may change at any time, also in the middle of a message. */
static void test_switches_change_in_the_middle(void **state)
{
    (void)state;
    static const struct {
        enum iw_check check;
        bool before; /* set at the beginning and cleared then, or the other way round */
    } cases[] = {{IW_CHECK_RDMAP_RESPONSE_SIZE, false},   {IW_CHECK_RDMAP_RESPONSE_SIZE, true},
                 {IW_CHECK_MPA_ULPDU_MAX, true},          {IW_CHECK_MPA_ULPDU_MAX, false},
                 {IW_CHECK_MPA_MARKER_UNASKED, false},    {IW_CHECK_MPA_MARKER_UNASKED, true},
                 {IW_CHECK_RDMAP_RESPONSE_ORDER, false},  {IW_CHECK_RDMAP_RESPONSE_ORDER, true},
                 {IW_CHECK_DDP_HEADER_SHORT, true},       {IW_CHECK_DDP_HEADER_SHORT, false},
                 {IW_CHECK_RDMAP_RESPONSE_MISSING, true}, {IW_CHECK_MPA_CRC_DEMAND, false},
                 {IW_CHECK_RDMAP_OPCODE_TAGGED, false},   {IW_CHECK_RDMAP_RESPONSE_PAST, false},
                 {IW_CHECK_RDMAP_RESPONSE_PAST, true}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        config[1].mulpdu = k % 2 == 0 ? IW_MPA_ULPDU_MAX : 0;
        struct pair p;
        pair_open(&p, config);
        pair_run(&p);
        p.side[1].ep->paused = false;
        struct iw_switches *switches = &p.side[1].switches;
        for (unsigned step = 0; step < 2; step++) {
            bool on = cases[k].before == (step == 0);
            switches->any = true;
            switches->set[cases[k].check] = on ? 1u << IW_SWITCH_VIOLATE : 0;
            if (step == 0) {
                post(&p, 0, read_work(&p, 0, 1, 0, 0, 700000), 0, 0);
                post(&p, 0, read_work(&p, 0, 2, 0, 0, 700), 0, 0);
                post_recv(&p, 0, 3, 0, 200000);
                post(&p, 1, (struct iw_work){.id = 4, .opcode = IW_WORK_SEND}, 0, 200000);
                while (pair_carry(&p, 0))
                    ;
            }
            for (unsigned n = 0; n < 30 && pair_carry(&p, 1); n++)
                ;
        }
        pair_run(&p); /* it ends */
        iw_endpoint_abort(p.side[0].ep, false, 0, p.now);
        iw_endpoint_input_end(p.side[1].ep, false, p.now);
        pair_run(&p);
        for (uint64_t id = 1; id < 4; id++)
            assert_non_null(pair_completion(&p, 0, id));
        assert_non_null(pair_completion(&p, 1, 4));
        assert_int_equal(p.side[0].completion_count + p.side[1].completion_count, 4);
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_counters_and_msns_wrap),
        cmocka_unit_test(test_reads_that_the_start_up_leaves_no_ord_to),
        cmocka_unit_test(test_an_ord_left_to_the_ulp_obeys_the_peers_ird),
        cmocka_unit_test(test_an_ord_left_to_the_ulp_keeps_to_its_room),
        cmocka_unit_test(test_a_read_source_may_change_and_go),
        cmocka_unit_test(test_the_longest_segments),
        cmocka_unit_test(test_sending_waits_for_the_pool),
        cmocka_unit_test(test_more_sent_than_there_was),
        cmocka_unit_test(test_switches_change_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
