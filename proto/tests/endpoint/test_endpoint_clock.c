/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock is handed in: what becomes of a connection when it jumps, forwards and backwards. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "pair.h"

enum { MESSAGES = 200, SIZE = 3000 };

/* A second, an hour, a year, all there is, and as far back. */
static const uint64_t clocks[] = {1000,
                                  1000000000,
                                  UINT64_C(3600) * 1000000000,
                                  0,
                                  UINT64_C(31536000) * 1000000000,
                                  1,
                                  UINT64_MAX - 1,
                                  UINT64_MAX,
                                  999,
                                  UINT64_C(1) << 63};

static uint64_t jump(unsigned n)
{
    return clocks[n % (sizeof(clocks) / sizeof(clocks[0]))];
}

static void tick(struct pair *p)
{
    for (int i = 0; i < 2; i++)
        if (iw_endpoint_deadline(p->side[i].ep) <= p->now)
            iw_endpoint_tick(p->side[i].ep, p->now);
}

static void post(struct pair *p, unsigned n)
{
    struct pair_side *s = &p->side[0];
    const struct iw_region *there = &p->side[1].region;
    struct iw_iov sge = {s->memory, SIZE}, sink = {p->side[1].memory + SIZE, SIZE};
    struct iw_work work = {.id = n, .sge = &sge, .sge_count = 1};
    switch (n % 3) {
    case 0:
        work.opcode = IW_WORK_WRITE;
        work.remote_stag = there->stag;
        work.remote_to = there->to;
        break;
    case 1:
        work.opcode = IW_WORK_SEND;
        assert_int_equal(iw_endpoint_post_recv(p->side[1].ep, n, &sink, 1), IW_OK);
        break;
    default:
        work.opcode = IW_WORK_READ;
        work.sge_count = 0;
        work.remote_stag = there->stag;
        work.remote_to = there->to;
        work.sink_stag = s->region.stag;
        work.sink_to = s->region.to + 2 * SIZE;
        work.length = SIZE;
        break;
    }
    assert_int_equal(iw_endpoint_post(s->ep, &work, p->now), IW_OK);
}

/* Another time for each octet or two that move: everything completes once, nothing is placed
 * wrongly, and no time-out strikes where none runs. */
static void test_the_clock_jumps_all_the_time(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    unsigned jumps = 0;
    pair_defaults(config);
    pair_open(&p, config);
    pair_run(&p); /* the start-up */
    for (unsigned n = 0; n < MESSAGES; n++) {
        memset(p.side[0].memory, (int)(n + 1), SIZE);
        post(&p, n);
        for (bool moved = true; moved; jumps++) {
            p.now = jump(jumps);
            tick(&p);
            p.segment = 1 + jumps % 700;
            moved = pair_carry(&p, 0);
            moved = pair_carry(&p, 1) || moved;
            pair_collect(&p, 0);
            pair_collect(&p, 1);
        }
        const struct iw_completion *done = pair_completion(&p, 0, n);
        assert_non_null(done);
        assert_int_equal(done->status, IW_STATUS_OK);
        /* A Read brings what the Write before it has left. */
        const uint8_t *placed =
            n % 3 == 2 ? p.side[0].memory + 2 * SIZE : p.side[1].memory + (n % 3 == 1 ? SIZE : 0);
        for (unsigned i = 0; i < SIZE; i++)
            assert_int_equal(placed[i], (uint8_t)(n % 3 == 2 ? n - 1 : n + 1));
    }
    assert_int_equal(p.side[0].completion_count, MESSAGES);
    assert_int_equal(p.side[1].completion_count, MESSAGES / 3 + 1);
    for (int i = 0; i < 2; i++) {
        assert_null(pair_event(&p, i, IW_EVENT_FAULT));
        assert_int_equal(iw_endpoint_deadline(p.side[i].ep), UINT64_MAX);
    }
    iw_endpoint_shutdown(p.side[0].ep, p.now);
    pair_run(&p);
    for (int i = 0; i < 2; i++)
        assert_true(pair_event(&p, i, IW_EVENT_CLOSED)->graceful);
    pair_close(&p);
}

/* Backwards while a time-out runs: it strikes at its time, not before and not after. */
static void test_a_time_out_stays_where_it_is(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    pair_defaults(config);
    pair_open(&p, config);
    struct iw_endpoint *ep = p.side[1].ep;
    uint64_t deadline = iw_endpoint_deadline(ep);
    assert_int_equal(deadline, 1000 + config[1].startup_timeout);
    for (p.now = 0; p.now < 1000; p.now += 100)
        iw_endpoint_tick(ep, p.now);
    iw_endpoint_tick(ep, deadline - 1);
    iw_endpoint_tick(ep, 0);
    pair_collect(&p, 1);
    assert_int_equal(p.side[1].event_count, 0);
    assert_int_equal(iw_endpoint_deadline(ep), deadline);
    iw_endpoint_tick(ep, UINT64_MAX); /* far beyond it */
    pair_collect(&p, 1);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_MPA_STARTUP_TIMEOUT);
    iw_endpoint_tick(ep, 0);
    pair_close(&p);
}

/* The wait for the peer's close begins at the end of time: it never strikes, or at once after it,
 * and the close itself still ends the connection. */
static void test_the_last_wait_begins_late(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    pair_defaults(config);
    pair_open(&p, config);
    pair_run(&p);
    p.now = UINT64_MAX - 1;
    iw_endpoint_shutdown(p.side[0].ep, p.now);
    assert_int_equal(iw_endpoint_want(p.side[0].ep), IW_WANT_FIN);
    iw_endpoint_fin_sent(p.side[0].ep, p.now);
    assert_int_not_equal(iw_endpoint_deadline(p.side[0].ep), UINT64_MAX);
    p.now = 5; /* back again */
    tick(&p);
    assert_null(pair_event(&p, 0, IW_EVENT_CLOSED));
    iw_endpoint_input_end(p.side[1].ep, true, p.now);
    pair_run(&p);
    for (int i = 0; i < 2; i++)
        assert_true(pair_event(&p, i, IW_EVENT_CLOSED)->graceful);
    pair_close(&p);
}

/* The pool is empty when a message is due, at the end of time: it is tried again. */
static void test_a_buffer_is_asked_for_again(void **state)
{
    enum { RETRY = 1000000, BUFFERS = 2 };
    (void)state;
    for (uint64_t left = 0; left < 3; left++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        const struct iw_iov *pieces;
        void *lent[BUFFERS];
        pair_defaults(config);
        pair_open(&p, config);
        pair_run(&p);
        for (int i = 0; i < BUFFERS; i++) {
            lent[i] = iw_domain_borrow(p.side[0].domain);
            assert_non_null(lent[i]);
        }
        p.now = UINT64_MAX - RETRY - 1 + left;
        post(&p, 0);
        assert_int_equal(iw_endpoint_output(p.side[0].ep, &pieces, p.now), 0);
        assert_in_range(iw_endpoint_deadline(p.side[0].ep), UINT64_MAX - 2, UINT64_MAX - 1);
        for (int i = 0; i < BUFFERS; i++)
            iw_domain_return(p.side[0].domain, lent[i]);
        p.now = UINT64_MAX - 1;
        tick(&p);
        pair_run(&p);
        assert_int_equal(pair_completion(&p, 0, 0)->status, IW_STATUS_OK);
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_clock_jumps_all_the_time),
        cmocka_unit_test(test_a_time_out_stays_where_it_is),
        cmocka_unit_test(test_the_last_wait_begins_late),
        cmocka_unit_test(test_a_buffer_is_asked_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
