/* SPDX-License-Identifier: BSD-3-Clause */
/* What consumers with queues and domains of their own need: receives given on demand, local work in
 * the order of the send queue, an endpoint made after the Request, leaving, a responder that speaks
 * first, rights of a stream. */
#include "pair.h"

struct seen {
    struct pair *p;
    unsigned wanted, ran;
    uint64_t ran_id[4];
    uint64_t sends_before; /* octets that side 0 had sent when local work ran */
    bool give, fails;
};

static void give_receive(void *context)
{
    struct seen *s = context;
    struct iw_iov sge = {s->p->side[1].memory + 100 * s->wanted, 100};
    s->wanted++;
    if (s->give)
        assert_int_equal(iw_endpoint_post_recv(s->p->side[1].ep, 70 + s->wanted, &sge, 1), IW_OK);
}

static bool run_local(void *context, uint64_t id)
{
    struct seen *s = context;
    s->sends_before = s->p->side[0].octets_out;
    s->ran_id[s->ran++] = id;
    return !s->fails;
}

static void post(struct pair *p, int side, enum iw_work_opcode opcode, uint64_t id, uint32_t flags)
{
    struct iw_iov sge = {p->side[side].memory, 8};
    struct iw_work work = {.id = id, .opcode = opcode, .flags = flags};
    if (opcode == IW_WORK_SEND) {
        work.sge = &sge;
        work.sge_count = 1;
    }
    if (opcode == IW_WORK_READ) {
        work.length = 8;
        work.remote_stag = p->side[1 - side].region.stag;
        work.remote_to = p->side[1 - side].region.to;
        work.sink_stag = p->side[side].region.stag;
        work.sink_to = p->side[side].region.to + 4096;
    }
    assert_int_equal(iw_endpoint_post(p->side[side].ep, &work, p->now), IW_OK);
}

static void receives_are_asked_for(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    struct seen s = {.p = &p, .give = true};
    (void)state;
    pair_defaults(config);
    config[1].want_recv = give_receive;
    config[1].context = &s;
    pair_open(&p, config);
    pair_run(&p);
    assert_int_equal(s.wanted, 0);
    memcpy(p.side[0].memory, "12345678", 8);
    post(&p, 0, IW_WORK_SEND, 1, 0);
    post(&p, 0, IW_WORK_SEND, 2, 0);
    pair_run(&p);
    assert_int_equal(s.wanted, 2);
    assert_memory_equal(p.side[1].memory, "12345678", 8);
    assert_memory_equal(p.side[1].memory + 100, "12345678", 8);
    assert_int_equal(p.side[1].completion_count, 2);
    assert_int_equal(p.side[1].completions[0].id, 71);
    assert_int_equal(p.side[1].completions[1].id, 72);
    /* None to give: as if nobody had been asked. */
    s.give = false;
    post(&p, 0, IW_WORK_SEND, 3, 0);
    pair_run(&p);
    assert_int_equal(s.wanted, 3);
    assert_non_null(pair_event(&p, 1, IW_EVENT_FAULT));
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_DDP_NO_BUFFER);
    pair_close(&p);
}

static void local_work_has_its_turn(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    struct seen s = {.p = &p};
    (void)state;
    pair_defaults(config);
    config[0].local = run_local;
    config[0].context = &s;
    pair_open(&p, config);
    post(&p, 0, IW_WORK_READ, 1, 0);
    post(&p, 0, IW_WORK_LOCAL, 2, IW_WORK_FENCE);
    post(&p, 0, IW_WORK_SEND, 3, 0);
    post(&p, 0, IW_WORK_LOCAL, 4, 0);
    struct iw_iov sge = {p.side[1].memory, 64};
    assert_int_equal(iw_endpoint_post_recv(p.side[1].ep, 9, &sge, 1), IW_OK);
    pair_run(&p);
    assert_int_equal(s.ran, 2);
    assert_int_equal(s.ran_id[0], 2);
    assert_int_equal(s.ran_id[1], 4);
    assert_true(s.sends_before > 20 + 4 + 48); /* the Request and at least the Read Request */
    assert_int_equal(p.side[0].completion_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(p.side[0].completions[i].id, i + 1);
        assert_int_equal(p.side[0].completions[i].status, IW_STATUS_OK);
    }
    assert_int_equal(p.side[0].completions[1].opcode, IW_WORK_LOCAL);
    pair_close(&p);
}

static void failing_local_work_ends_the_connection(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    struct seen s = {.p = &p, .fails = true};
    (void)state;
    pair_defaults(config);
    config[0].local = run_local;
    config[0].context = &s;
    pair_open(&p, config);
    struct iw_iov sge = {p.side[1].memory, 64};
    assert_int_equal(iw_endpoint_post_recv(p.side[1].ep, 9, &sge, 1), IW_OK);
    post(&p, 0, IW_WORK_SEND, 1, 0);
    post(&p, 0, IW_WORK_LOCAL, 2, 0);
    post(&p, 0, IW_WORK_SEND, 3, 0);
    pair_run(&p);
    assert_int_equal(p.side[0].completion_count, 3);
    assert_int_equal(p.side[0].completions[1].id, 2);
    assert_int_equal(p.side[0].completions[1].status, IW_STATUS_LOCAL_FAULT);
    assert_int_equal(p.side[0].completions[2].status, IW_STATUS_FLUSHED);
    assert_non_null(pair_event(&p, 1, IW_EVENT_TERMINATED));
    assert_int_equal(pair_event(&p, 0, IW_EVENT_CLOSED)->cause, IW_CAUSE_ABORTED);
    pair_close(&p);
}

static void local_work_needs_its_function(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    (void)state;
    pair_defaults(config);
    pair_open(&p, config);
    struct iw_work work = {.opcode = IW_WORK_LOCAL};
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_ERR_ARGUMENT);
    work.opcode = IW_WORK_RECV;
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_ERR_ARGUMENT);
    pair_close(&p);
}

/* Brings side 1 to IW_EVENT_REQUEST. */
static void ask(struct pair *p)
{
    p->side[1].auto_accept = false;
    pair_run(p);
    assert_non_null(pair_event(p, 1, IW_EVENT_REQUEST));
}

static void responder_is_remade(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    (void)state;
    pair_defaults(config);
    config[0].private_data = "hello";
    config[0].private_length = 5;
    config[0].mpa.ird = 3;
    config[0].mpa.ord = 4;
    config[1].mpa.ird = 0;
    config[1].mpa.ord = 0;
    config[1].recv_depth = 1;
    pair_open(&p, config);
    struct iw_endpoint_config wanted = config[1];
    assert_int_equal(iw_endpoint_remake(&p.side[1].ep, &wanted, p.now), IW_ERR_STATE);
    assert_null(iw_endpoint_requested(p.side[1].ep));
    ask(&p);
    assert_int_equal(iw_endpoint_requested(p.side[1].ep)->peer_ird, 3);
    assert_int_equal(iw_endpoint_requested(p.side[1].ep)->peer_ord, 4);
    const uint64_t deadline = iw_endpoint_deadline(p.side[1].ep);
    struct iw_endpoint *before = p.side[1].ep;
    wanted.send_depth = 0;
    assert_int_equal(iw_endpoint_remake(&p.side[1].ep, &wanted, p.now), IW_ERR_ARGUMENT);
    wanted.role = IW_MPA_INITIATOR;
    wanted.send_depth = 8;
    assert_int_equal(iw_endpoint_remake(&p.side[1].ep, &wanted, p.now), IW_ERR_ARGUMENT);
    assert_ptr_equal(p.side[1].ep, before);
    wanted.role = IW_MPA_RESPONDER;
    wanted.recv_depth = 5;
    wanted.mpa.ird = 4;
    wanted.mpa.ord = 2;
    p.now += 1000;
    assert_int_equal(iw_endpoint_remake(&p.side[1].ep, &wanted, p.now), IW_OK);
    assert_int_equal(iw_endpoint_deadline(p.side[1].ep), deadline);
    struct iw_event event;
    assert_false(iw_endpoint_event(p.side[1].ep, &event));
    const uint8_t *data;
    assert_int_equal(iw_endpoint_private(p.side[1].ep, &data), 5);
    assert_memory_equal(data, "hello", 5);
    for (unsigned i = 0; i < 5; i++) {
        struct iw_iov sge = {p.side[1].memory, 64};
        assert_int_equal(iw_endpoint_post_recv(p.side[1].ep, i, &sge, 1), IW_OK);
    }
    assert_int_equal(iw_endpoint_accept(p.side[1].ep, "yes", 3, p.now), IW_OK);
    post(&p, 0, IW_WORK_SEND, 1, 0);
    pair_run(&p);
    const struct iw_mpa_agreed *agreed = iw_endpoint_agreed(p.side[0].ep);
    assert_non_null(agreed);
    assert_int_equal(agreed->ord, 4);
    assert_int_equal(agreed->peer_ord, 2);
    assert_int_equal(iw_endpoint_private(p.side[0].ep, &data), 3);
    assert_int_equal(p.side[1].completion_count, 1);
    pair_close(&p);
}

static void remaking_without_memory_changes_nothing(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    (void)state;
    pair_defaults(config);
    pair_open(&p, config);
    ask(&p);
    struct iw_endpoint *before = p.side[1].ep;
    for (long left = 0; left < 7; left++) {
        p.allocations_left = left;
        assert_int_equal(iw_endpoint_remake(&p.side[1].ep, &config[1], p.now), IW_ERR_MEMORY);
        assert_ptr_equal(p.side[1].ep, before);
    }
    p.allocations_left = -1;
    assert_int_equal(iw_endpoint_accept(p.side[1].ep, NULL, 0, p.now), IW_OK);
    pair_run(&p);
    assert_non_null(pair_event(&p, 0, IW_EVENT_ESTABLISHED));
    pair_close(&p);
}

static void leaving_closes_and_touches_nothing(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    (void)state;
    pair_defaults(config);
    pair_open(&p, config);
    struct iw_iov sge = {p.side[1].memory, 64};
    assert_int_equal(iw_endpoint_post_recv(p.side[1].ep, 9, &sge, 1), IW_OK);
    pair_run(&p);
    iw_endpoint_leave(p.side[1].ep, p.now);
    post(&p, 0, IW_WORK_SEND, 1, 0); /* on its way when the FIN comes */
    memset(p.side[0].memory, 0x11, 8);
    assert_true(pair_carry(&p, 0));
    pair_run(&p);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(p.side[1].memory[i], 0xa5);
    assert_int_equal(p.side[1].completion_count, 1);
    assert_int_equal(p.side[1].completions[0].status, IW_STATUS_FLUSHED);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_CLOSED)->cause, IW_CAUSE_GRACEFUL);
    assert_int_equal(pair_event(&p, 0, IW_EVENT_CLOSED)->cause, IW_CAUSE_GRACEFUL);
    iw_endpoint_leave(p.side[1].ep, p.now); /* does nothing any more */
    pair_close(&p);
}

static void leaving_inside_an_fpdu_resets(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    const struct iw_iov *pieces;
    (void)state;
    pair_defaults(config);
    pair_open(&p, config);
    pair_run(&p);
    pair_post_write(&p, 1, 0, 1000);
    assert_true(iw_endpoint_output(p.side[0].ep, &pieces, p.now) > 0);
    iw_endpoint_sent(p.side[0].ep, 10, p.now);
    iw_endpoint_leave(p.side[0].ep, p.now);
    assert_int_equal(iw_endpoint_output(p.side[0].ep, &pieces, p.now), 0);
    assert_int_equal(iw_endpoint_want(p.side[0].ep), IW_WANT_RESET);
    pair_collect(&p, 0);
    assert_int_equal(p.side[0].completions[0].status, IW_STATUS_FLUSHED);
    assert_int_equal(pair_event(&p, 0, IW_EVENT_CLOSED)->cause, IW_CAUSE_ABORTED);
    pair_close(&p);
}

/* RFC 5044 §7.1.2 holds a responder back until the initiator's first FPDU. */
static void responder_speaks_first_only_if_asked(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct pair p;
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        config[1].responder_first = first == 1 ? 5000 : 0;
        pair_open(&p, config);
        struct iw_iov sge = {p.side[0].memory, 64};
        assert_int_equal(iw_endpoint_post_recv(p.side[0].ep, 9, &sge, 1), IW_OK);
        pair_run(&p);
        post(&p, 1, IW_WORK_SEND, 1, 0);
        pair_run(&p);
        assert_int_equal(p.side[0].completion_count, 0);
        assert_true(iw_endpoint_deadline(p.side[1].ep) == (first == 1 ? p.now + 5000 : UINT64_MAX));
        iw_endpoint_tick(p.side[1].ep, p.now + 4999);
        pair_run(&p);
        assert_int_equal(p.side[0].completion_count, 0);
        iw_endpoint_tick(p.side[1].ep, p.now + 5000);
        pair_run(&p);
        assert_int_equal(p.side[0].completion_count, first);
        assert_true(iw_endpoint_deadline(p.side[1].ep) == UINT64_MAX);
        pair_close(&p);
    }
}

/* Has side 0 use the memory of side 1, which withholds a right; `early`: from the beginning.
 * Returns the check that side 1 found broken. */
static enum iw_check used_without(enum iw_work_opcode opcode, uint32_t withheld, bool early)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[1].withheld = early ? withheld : 0;
    pair_open(&p, config);
    pair_run(&p);
    if (!early)
        iw_endpoint_withhold(p.side[1].ep, withheld);
    struct iw_iov sge = {p.side[0].memory, 8};
    struct iw_work work = {.id = 1,
                           .opcode = opcode,
                           .remote_stag = p.side[1].region.stag,
                           .remote_to = p.side[1].region.to,
                           .sink_stag = p.side[0].region.stag,
                           .sink_to = p.side[0].region.to,
                           .length = opcode == IW_WORK_READ ? 8 : 0,
                           .add_swap = 1};
    if (opcode == IW_WORK_WRITE) {
        work.sge = &sge;
        work.sge_count = 1;
    }
    memset(p.side[0].memory, 0x11, 8);
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    pair_run(&p);
    const struct iw_event *fault = pair_event(&p, 1, IW_EVENT_FAULT);
    const enum iw_check check = fault != NULL ? fault->fault.check : IW_CHECK_NONE;
    assert_int_equal(p.side[0].memory[0], fault == NULL && opcode == IW_WORK_READ ? 0xa5 : 0x11);
    uint8_t held[8];
    memset(held, fault == NULL && opcode == IW_WORK_WRITE ? 0x11 : 0xa5, sizeof(held));
    if (fault == NULL && opcode == IW_WORK_FETCH_ADD) { /* a number of the host's */
        uint64_t sum = 0xa5a5a5a5a5a5a5a6;
        memcpy(held, &sum, sizeof(sum));
    }
    assert_memory_equal(p.side[1].memory, held, sizeof(held));
    pair_close(&p);
    return check;
}

static void a_stream_withholds_rights(void **state)
{
    static const struct {
        enum iw_work_opcode opcode;
        uint32_t right;
        enum iw_check check;
    } rows[] = {
        {IW_WORK_WRITE, IW_ACCESS_REMOTE_WRITE, IW_CHECK_DDP_STAG_ACCESS},
        {IW_WORK_READ, IW_ACCESS_REMOTE_READ, IW_CHECK_RDMAP_READ_ACCESS},
        {IW_WORK_FETCH_ADD, IW_ACCESS_REMOTE_ATOMIC, IW_CHECK_RDMAP_READ_ACCESS},
    };
    const uint32_t all = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_ATOMIC;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int early = 0; early < 2; early++) {
            assert_int_equal(used_without(rows[i].opcode, rows[i].right, early), rows[i].check);
            assert_int_equal(used_without(rows[i].opcode, all & ~rows[i].right, early),
                             IW_CHECK_NONE);
        }
}

/* The answers to its own Reads need no right of the peer's. */
static void a_stream_that_withholds_all_may_read(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    (void)state;
    pair_defaults(config);
    config[0].withheld = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_ATOMIC;
    pair_open(&p, config);
    pair_run(&p);
    iw_domain_deregister(p.side[0].domain, p.side[0].region.stag);
    p.side[0].region.access = IW_ACCESS_REMOTE_WRITE; /* enough for a sink */
    assert_int_equal(iw_domain_register(p.side[0].domain, &p.side[0].region), 0);
    memset(p.side[1].memory, 0x22, 8);
    post(&p, 0, IW_WORK_READ, 1, 0);
    pair_run(&p);
    assert_int_equal(pair_completion(&p, 0, 1)->status, IW_STATUS_OK);
    assert_int_equal(p.side[0].memory[4096], 0x22);
    pair_close(&p);
}

/* With an RTR the initiator's first FPDU is bound to come (RFC 6581 §4.2). */
static void a_responder_waits_for_the_rtr(void **state)
{
    struct pair p;
    struct iw_endpoint_config config[2];
    (void)state;
    pair_defaults(config);
    config[0].mpa.peer_to_peer = config[1].mpa.peer_to_peer = true;
    config[1].responder_first = 5000;
    pair_open(&p, config);
    struct iw_iov sge = {p.side[0].memory, 64};
    const struct iw_iov *pieces;
    assert_int_equal(iw_endpoint_post_recv(p.side[0].ep, 9, &sge, 1), IW_OK);
    /* The Reply has arrived, and the RTR is still to be sent. */
    assert_true(pair_carry(&p, 0));
    pair_collect(&p, 1);
    assert_true(pair_carry(&p, 1));
    pair_collect(&p, 1);
    assert_non_null(pair_event(&p, 1, IW_EVENT_ESTABLISHED));
    post(&p, 1, IW_WORK_SEND, 1, 0);
    assert_true(iw_endpoint_deadline(p.side[1].ep) == UINT64_MAX);
    iw_endpoint_tick(p.side[1].ep, p.now + 5000);
    assert_int_equal(iw_endpoint_output(p.side[1].ep, &pieces, p.now), 0);
    pair_run(&p);
    assert_int_equal(p.side[0].completion_count, 1);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receives_are_asked_for),
        cmocka_unit_test(local_work_has_its_turn),
        cmocka_unit_test(failing_local_work_ends_the_connection),
        cmocka_unit_test(local_work_needs_its_function),
        cmocka_unit_test(responder_is_remade),
        cmocka_unit_test(remaking_without_memory_changes_nothing),
        cmocka_unit_test(leaving_closes_and_touches_nothing),
        cmocka_unit_test(leaving_inside_an_fpdu_resets),
        cmocka_unit_test(responder_speaks_first_only_if_asked),
        cmocka_unit_test(a_responder_waits_for_the_rtr),
        cmocka_unit_test(a_stream_withholds_rights),
        cmocka_unit_test(a_stream_that_withholds_all_may_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
