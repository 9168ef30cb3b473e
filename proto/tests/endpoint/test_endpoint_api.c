/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <stdio.h>

/* Calls of the consumer that are refused, and the contents of the trace. */

static void test_configurations_that_are_refused(void **state)
{
    (void)state;
    struct pair p = {.allocations_left = -1};
    struct iw_env env = {&p, pair_alloc, pair_free, pair_random, NULL, NULL, iw_crc32c_portable};
    struct iw_domain_limits limits = {1, 1};
    struct iw_domain *d = iw_domain_create(&env, &limits);
    for (unsigned n = 0; n < 18; n++) {
        struct iw_endpoint_config c;
        struct iw_endpoint *ep;
        char long_data[513] = "";
        iw_endpoint_config_default(&c);
        c.private_data = long_data;
        switch (n) {
        case 0:
            c.send_depth = 0;
            break;
        case 1:
            c.send_depth = 65536;
            break;
        case 2:
            c.recv_depth = 0;
            break;
        case 3:
            c.recv_depth = 65536;
            break;
        case 4:
            c.max_sge = 0;
            break;
        case 5:
            c.max_sge = 33;
            break;
        case 6:
            c.max_reads = 0;
            break;
        case 7:
            c.max_reads = 4097;
            break;
        case 8:
            c.startup_timeout = 0;
            break;
        case 9:
            c.private_length = 513;
            break;
        case 10:
            c.private_length = 509; /* the enhanced block takes four */
            break;
        case 11:
            c.mulpdu = 127;
            break;
        case 12:
            c.mulpdu = 64769;
            break;
        case 13:
            c.mpa.revision = 3;
            break;
        case 14:
            c.mpa.ird = 0x4000;
            break;
        case 15:
            c.mpa.peer_to_peer = true;
            c.mpa.rtr = 0;
            break;
        case 16:
            c.mpa.enhanced = true;
            c.mpa.revision = 1;
            break;
        default: /* the limits themselves are good */
            c.send_depth = c.recv_depth = 65535;
            c.max_sge = 1;
            c.max_reads = 4096;
            c.mulpdu = 64768;
            c.private_length = 508;
            c.mpa.ird = c.mpa.ord = 0x3fff;
            assert_int_equal(iw_endpoint_create(d, &c, 0, &ep), IW_OK);
            iw_endpoint_destroy(ep);
            continue;
        }
        if (iw_endpoint_create(d, &c, 0, &ep) != IW_ERR_ARGUMENT)
            fail_msg("configuration %u was taken", n);
        assert_null(ep);
    }
    iw_endpoint_destroy(NULL);
    iw_domain_destroy(d);
    assert_int_equal(p.allocations_live, 0);
}

static void test_answers_at_the_wrong_time(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    const uint8_t long_data[509] = {0};
    pair_open(&p, config);
    p.side[1].auto_accept = false;
    struct iw_endpoint *ep = p.side[1].ep;
    assert_int_equal(iw_endpoint_accept(ep, NULL, 0, p.now), IW_ERR_STATE);
    assert_int_equal(iw_endpoint_reject(ep, NULL, 0, p.now), IW_ERR_STATE);
    assert_null(iw_endpoint_agreed(ep));
    pair_run(&p);
    assert_int_equal(iw_endpoint_accept(p.side[0].ep, NULL, 0, p.now), IW_ERR_STATE);
    assert_int_equal(iw_endpoint_accept(ep, long_data, 509, p.now), IW_ERR_ARGUMENT);
    assert_int_equal(iw_endpoint_reject(ep, long_data, 509, p.now), IW_ERR_ARGUMENT);
    assert_int_equal(iw_endpoint_accept(ep, long_data, 508, p.now), IW_OK);
    assert_int_equal(iw_endpoint_accept(ep, NULL, 0, p.now), IW_ERR_STATE);
    assert_int_equal(iw_endpoint_reject(ep, NULL, 0, p.now), IW_ERR_STATE);
    pair_run(&p);
    const uint8_t *data;
    assert_int_equal(iw_endpoint_private(p.side[0].ep, &data), 508);
    assert_memory_equal(data, long_data, 508);
    pair_close(&p);
}

static void test_when_it_is_idle(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    uint8_t octets[3000] = {1};
    struct iw_iov sge = {octets, sizeof(octets)};
    struct iw_work send = {.id = 1, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    const struct iw_iov *pieces;
    pair_defaults(config);
    pair_open(&p, config);
    pair_run(&p);
    struct iw_endpoint *ep = p.side[0].ep;
    assert_true(iw_endpoint_idle(ep));
    assert_true(iw_endpoint_quiet(ep));
    assert_int_equal(iw_endpoint_post(ep, &send, p.now), IW_OK);
    assert_false(iw_endpoint_idle(ep)); /* to be framed */
    assert_false(iw_endpoint_quiet(ep));
    assert_int_not_equal(iw_endpoint_output(ep, &pieces, p.now), 0);
    iw_endpoint_sent(ep, 1, p.now);
    assert_false(iw_endpoint_idle(ep)); /* begun */
    assert_false(iw_endpoint_quiet(ep));
    pair_run(&p);
    assert_true(iw_endpoint_idle(ep));
    assert_true(iw_endpoint_quiet(ep));
    pair_close(&p);
}

static void test_lists_that_are_too_long(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    struct iw_iov sge[2] = {{p.side[0].memory, UINT32_MAX}, {p.side[0].memory, 1}};
    struct iw_work work = {.opcode = IW_WORK_SEND, .sge = sge, .sge_count = 2};
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, 0), IW_ERR_ARGUMENT);
    assert_int_equal(iw_endpoint_post_recv(p.side[0].ep, 1, sge, 2), IW_ERR_ARGUMENT);
    work.sge_count = 1; /* 2^32-1 octets, of which none is ever touched */
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, 0), IW_OK);
    assert_int_equal(iw_endpoint_post_recv(p.side[0].ep, 1, sge, 1), IW_OK);
    work.opcode = IW_WORK_RECV;
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, 0), IW_ERR_ARGUMENT);
    pair_close(&p);
}

/* An endpoint is destroyed in the middle of everything: its buffers go back to the pool. */
static void test_destroyed_in_the_middle(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    p.segment = 100;
    for (int i = 0; i < 2; i++) {
        struct iw_iov sge = {p.side[i].memory, 5000};
        struct iw_work work = {.opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
        assert_int_equal(iw_endpoint_post(p.side[i].ep, &work, 0), IW_OK);
        assert_int_equal(iw_endpoint_post_recv(p.side[i].ep, 1, &sge, 1), IW_OK);
    }
    while (iw_endpoint_agreed(p.side[0].ep) == NULL)
        for (int i = 0; i < 2; i++) {
            (void)pair_carry(&p, i);
            pair_collect(&p, i);
        }
    for (unsigned n = 0; n < 20; n++)
        assert_true(pair_carry(&p, 0));
    assert_true(pair_carry(&p, 1));
    pair_close(&p);
}

/* A switch on a running connection lets two Terminates through: the first counts. */
static void test_two_terminates(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    const char *error;
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    assert_int_equal(
        iw_switches_set(&p.side[1].switches, IW_SWITCH_IGNORE, "rdmap-terminate-stop", &error), 1);
    assert_int_equal(iw_switches_set(&p.side[1].switches, IW_SWITCH_IGNORE, "ddp-msn", &error), 1);
    assert_int_equal(
        iw_switches_set(&p.side[0].switches, IW_SWITCH_BOTCH, "ddp-no-buffer=again", &error), 1);
    struct iw_work work = {.opcode = IW_WORK_WRITE};
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    pair_run(&p);
    work.opcode = IW_WORK_SEND; /* nobody has posted a receive */
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    assert_int_equal(iw_endpoint_post(p.side[1].ep, &work, p.now), IW_OK);
    assert_true(pair_carry(&p, 0)); /* a part of it */
    while (pair_carry(&p, 1))
        ;
    pair_run(&p);
    unsigned terminates = 0;
    for (size_t i = 0; i < p.side[1].event_count; i++)
        terminates += p.side[1].events[i].kind == IW_EVENT_TERMINATED;
    assert_int_equal(terminates, 1);
    assert_non_null(pair_event(&p, 1, IW_EVENT_FAULT));
    assert_non_null(pair_event(&p, 1, IW_EVENT_CLOSED));
    pair_close(&p);
}

struct traced {
    enum iw_trace_kind kinds[32];
    uint8_t octets[32][80];
    size_t length[32];
    uint64_t pos[32];
    uint32_t ulpdu[32];
    char states[100]; /* a comma after each */
    enum iw_check fault;
    size_t count;
};

static void on_trace(void *context, const struct iw_trace *t)
{
    struct traced *traced = context;
    assert_true(traced->count < 32 && t->length <= 532);
    size_t n = traced->count++;
    traced->kinds[n] = t->kind;
    traced->length[n] = t->length;
    traced->pos[n] = t->pos;
    traced->ulpdu[n] = t->ulpdu_length;
    if (t->length > 0)
        memcpy(traced->octets[n], t->octets, t->length < 80 ? t->length : 80);
    if (t->kind == IW_TRACE_STATE)
        snprintf(traced->states + strlen(traced->states),
                 sizeof(traced->states) - strlen(traced->states), "%s,", t->text);
    if (t->kind == IW_TRACE_FAULT)
        traced->fault = t->fault->check;
    assert_int_equal(t->now, 1000);
}

static void test_trace(void **state)
{
    (void)state;
    static struct traced traced[2];
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    memset(traced, 0, sizeof(traced));
    for (int i = 0; i < 2; i++) {
        config[i].trace = on_trace;
        config[i].trace_context = &traced[i];
    }
    struct pair p;
    pair_open(&p, config);
    struct iw_iov sge = {p.side[0].memory, 100};
    struct iw_work work = {.opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    memset(sge.base, 0x33, 100);
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    pair_run(&p);
    static const enum iw_trace_kind initiator[] = {
        IW_TRACE_STARTUP_OUT, IW_TRACE_STARTUP_IN, IW_TRACE_STATE, IW_TRACE_FPDU_OUT,
        IW_TRACE_FPDU_IN,     IW_TRACE_STATE,      IW_TRACE_STATE, IW_TRACE_STATE};
    static const enum iw_trace_kind responder[] = {
        IW_TRACE_STARTUP_IN,  IW_TRACE_STATE,   IW_TRACE_STATE,
        IW_TRACE_STARTUP_OUT, IW_TRACE_FPDU_IN, IW_TRACE_FAULT,
        IW_TRACE_FPDU_OUT,    IW_TRACE_STATE,   IW_TRACE_STATE};
    assert_int_equal(traced[0].count, 8);
    assert_memory_equal(traced[0].kinds, initiator, sizeof(initiator));
    assert_string_equal(traced[0].states, "established,terminated,peer-closed,closed,");
    assert_int_equal(traced[1].count, 9);
    assert_memory_equal(traced[1].kinds, responder, sizeof(responder));
    assert_string_equal(traced[1].states, "request,established,peer-closed,closed,");
    assert_int_equal(traced[1].fault, IW_CHECK_DDP_NO_BUFFER);
    assert_int_equal(traced[0].length[0], 24);
    assert_memory_equal(traced[0].octets[0], "MPA ID Req Frame", 16);
    assert_memory_equal(traced[0].octets[1], "MPA ID Rep Frame", 16);
    assert_memory_equal(traced[1].octets[0], traced[0].octets[0], 24);
    assert_int_equal(traced[0].ulpdu[3], 118);
    assert_int_equal(traced[0].length[3], 18);
    assert_int_equal(traced[1].ulpdu[4], 118);
    assert_int_equal(traced[1].length[4], 70);
    assert_int_equal(traced[1].pos[4], 24);
    assert_memory_equal(traced[1].octets[4], traced[0].octets[3], 18);
    assert_int_equal(traced[1].octets[4][69], 0x33);
    assert_int_equal(traced[1].pos[5], 36); /* the MSN, after ULPDU_Length and ten octets */
    assert_memory_equal(traced[1].octets[6], traced[0].octets[4], traced[1].length[6]);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_configurations_that_are_refused),
        cmocka_unit_test(test_answers_at_the_wrong_time),
        cmocka_unit_test(test_when_it_is_idle),
        cmocka_unit_test(test_lists_that_are_too_long),
        cmocka_unit_test(test_destroyed_in_the_middle),
        cmocka_unit_test(test_two_terminates),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
