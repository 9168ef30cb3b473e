/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-ups that come to nothing (RFC 5044 §7.1.2): wrong roles, refusals, silence. */
#include "pair.h"

enum { TIMEOUT = 5000, START = 1000, LIMIT = 512 };

static const char request_key[] = "MPA ID Req Frame", reply_key[] = "MPA ID Rep Frame";

static const struct iw_event *fault_of(const struct pair *p, int side, enum iw_check check)
{
    const struct iw_event *event = pair_event(p, side, IW_EVENT_FAULT);
    assert_non_null(event);
    assert_int_equal(event->fault.check, check);
    assert_false(event->terminate_valid);
    assert_null(pair_event(p, side, IW_EVENT_ESTABLISHED));
    return event;
}

static void assert_closed(struct pair *p, int side, enum iw_cause cause)
{
    pair_collect(p, side);
    const struct iw_event *closed = pair_event(p, side, IW_EVENT_CLOSED);
    assert_non_null(closed);
    assert_int_equal(closed->cause, cause);
    assert_int_equal(iw_endpoint_want(p->side[side].ep), IW_WANT_CLOSE);
}

/* The key decides: both ends take the other's Request for a wrong Reply. */
static void test_two_initiators(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        pair_defaults(config);
        config[1].role = IW_MPA_INITIATOR;
        if ((i & 1) != 0) {
            config[1].mpa.revision = 1;
            config[1].mpa.enhanced = false;
        }
        pair_open(&p, config);
        p.segment = (i & 2) != 0 ? 1 : 0;
        for (int side = 0; side < 2; side++) {
            struct iw_iov sge = {p.side[side].memory, 8};
            struct iw_work work = {.id = 1, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
            assert_int_equal(iw_endpoint_post(p.side[side].ep, &work, p.now), IW_OK);
        }
        pair_run(&p);
        for (int side = 0; side < 2; side++) {
            const struct iw_event *event = fault_of(&p, side, IW_CHECK_MPA_REP_KEY);
            assert_string_equal(iw_check_info(event->fault.check)->name, "mpa-rep-key");
            assert_string_equal(iw_check_rule(event->fault.check)->id, "MPA-7.1.1-04");
            assert_int_equal(event->fault.pos, 9);
            assert_int_equal(event->fault.got, 'q');
            assert_int_equal(event->fault.want, 'p');
            /* The Request alone. */
            assert_int_equal(p.side[side].octets_out, config[side].mpa.enhanced ? 24 : 20);
            assert_int_equal(pair_completion(&p, side, 1)->status, IW_STATUS_FLUSHED);
            assert_closed(&p, side, IW_CAUSE_FAULT);
        }
        pair_close(&p);
    }
}

static void test_two_responders(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    pair_defaults(config);
    config[0].role = IW_MPA_RESPONDER;
    config[0].startup_timeout = config[1].startup_timeout = TIMEOUT;
    pair_open(&p, config);
    pair_run(&p);
    for (int side = 0; side < 2; side++) {
        assert_int_equal(iw_endpoint_deadline(p.side[side].ep), START + TIMEOUT);
        assert_int_equal(iw_endpoint_want(p.side[side].ep), IW_WANT_NOTHING);
        iw_endpoint_tick(p.side[side].ep, START + TIMEOUT);
    }
    pair_run(&p);
    for (int side = 0; side < 2; side++) {
        (void)fault_of(&p, side, IW_CHECK_MPA_STARTUP_TIMEOUT);
        assert_int_equal(p.side[side].octets_out, 0);
        assert_closed(&p, side, IW_CAUSE_FAULT);
    }
    pair_close(&p);
}

/* The peer's octets come one by one, each a while after the other, and never all of them: the time
 * counts from the start. */
static void test_dripping_octets_gain_no_time(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        struct iw_endpoint_config config[2];
        struct pair p;
        uint8_t frame[20] = {0};
        memcpy(frame, side == 0 ? reply_key : request_key, 16);
        frame[16] = 0x40;
        frame[17] = 1;
        frame[19] = 100; /* of private data, none of which comes */
        pair_defaults(config);
        for (int i = 0; i < 2; i++) {
            config[i].startup_timeout = TIMEOUT;
            config[i].mpa.revision = 1;
            config[i].mpa.enhanced = false;
        }
        pair_open(&p, config);
        struct iw_endpoint *ep = p.side[side].ep;
        const struct iw_iov *pieces;
        while (iw_endpoint_output(ep, &pieces, START) > 0)
            iw_endpoint_sent(ep, pieces[0].length, START);
        for (uint64_t i = 0; i < sizeof(frame); i++) {
            struct iw_iov in = {frame + i, 1};
            iw_endpoint_input(ep, &in, 1, START + (i + 1) * (TIMEOUT / 25));
            assert_int_equal(iw_endpoint_deadline(ep), START + TIMEOUT);
        }
        iw_endpoint_tick(ep, START + TIMEOUT - 1);
        assert_int_equal(iw_endpoint_want(ep), IW_WANT_NOTHING);
        iw_endpoint_tick(ep, START + TIMEOUT);
        assert_int_equal(iw_endpoint_want(ep), IW_WANT_FIN);
        pair_collect(&p, side);
        assert_int_equal(fault_of(&p, side, IW_CHECK_MPA_STARTUP_TIMEOUT)->fault.pos, 20);
        assert_int_equal(iw_endpoint_output(ep, &pieces, START + TIMEOUT), 0);
        pair_close(&p);
    }
}

/* A consumer that does not answer the Request is no reason to wait either, and its answer comes too
 * late. */
static void test_an_answer_that_comes_too_late(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    struct pair p;
    pair_defaults(config);
    config[1].startup_timeout = TIMEOUT;
    pair_open(&p, config);
    p.side[1].auto_accept = false;
    pair_run(&p);
    assert_non_null(pair_event(&p, 1, IW_EVENT_REQUEST));
    assert_int_equal(iw_endpoint_deadline(p.side[1].ep), START + TIMEOUT);
    iw_endpoint_tick(p.side[1].ep, START + TIMEOUT);
    assert_int_equal(iw_endpoint_accept(p.side[1].ep, NULL, 0, p.now), IW_ERR_STATE);
    assert_int_equal(iw_endpoint_reject(p.side[1].ep, NULL, 0, p.now), IW_ERR_STATE);
    pair_run(&p);
    assert_int_equal(p.side[1].octets_out, 0);
    assert_closed(&p, 1, IW_CAUSE_FAULT);
    pair_close(&p);
}

struct seen {
    uint8_t octets[600];
    size_t length;
};

static void keep_reply(struct pair *p, int from, uint8_t *octets, size_t length)
{
    struct seen *seen = p->tap_context;
    if (from == 0)
        return;
    assert_true(seen->length + length <= sizeof(seen->octets));
    memcpy(seen->octets + seen->length, octets, length);
    seen->length += length;
}

static void refuse_with(bool enhanced, size_t length)
{
    struct iw_endpoint_config config[2];
    struct pair p;
    struct seen seen = {.length = 0};
    uint8_t data[LIMIT + 1];
    const uint8_t *got;
    size_t block = enhanced ? 4 : 0;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 5 + 3);
    pair_defaults(config);
    config[0].mpa.revision = enhanced ? 2 : 1;
    config[0].mpa.enhanced = enhanced;
    config[0].mpa.ird = 4;
    config[0].private_data = data;
    config[0].private_length = length + block <= LIMIT ? length : 0;
    config[1].mpa.ord = 20; /* the depth that it needs, which the Reply states */
    pair_open(&p, config);
    p.tap = keep_reply;
    p.tap_context = &seen;
    p.side[1].auto_accept = false;
    struct iw_iov sge = {p.side[1].memory, 8};
    struct iw_work work = {.id = 1, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    assert_int_equal(iw_endpoint_post(p.side[0].ep, &work, p.now), IW_OK);
    assert_int_equal(iw_endpoint_post(p.side[1].ep, &work, p.now), IW_OK);
    pair_run(&p);
    assert_int_equal(iw_endpoint_private(p.side[1].ep, &got), config[0].private_length);
    if (config[0].private_length > 0)
        assert_memory_equal(got, data, config[0].private_length);
    if (length + block > LIMIT) { /* refused, and nothing has happened */
        assert_int_equal(iw_endpoint_reject(p.side[1].ep, data, length, p.now), IW_ERR_ARGUMENT);
        assert_int_equal(iw_endpoint_accept(p.side[1].ep, data, length, p.now), IW_ERR_ARGUMENT);
        length = LIMIT - block;
    }
    assert_int_equal(iw_endpoint_reject(p.side[1].ep, data, length, p.now), IW_OK);
    pair_run(&p);

    /* IRD 16, ORD 20 */
    static const uint8_t rest[2][8] = {{0x60, 1, 0, 0}, {0x70, 2, 0, 0, 0, 16, 0, 20}};
    uint8_t want[20 + LIMIT];
    memcpy(want, reply_key, 16); /* NOLINT(bugprone-not-null-terminated-result): octets */
    memcpy(want + 16, rest[enhanced], 4 + block);
    want[18] = (uint8_t)((length + block) >> 8);
    want[19] = (uint8_t)(length + block);
    memcpy(want + 20 + block, data, length);
    assert_int_equal(seen.length, 20 + block + length); /* and nothing after it */
    assert_memory_equal(seen.octets, want, seen.length);
    assert_int_equal(p.side[0].octets_out, 20 + block + config[0].private_length);

    assert_non_null(pair_event(&p, 0, IW_EVENT_REJECTED));
    assert_int_equal(iw_endpoint_private(p.side[0].ep, &got), length);
    if (length > 0)
        assert_memory_equal(got, data, length);
    for (int side = 0; side < 2; side++) {
        assert_null(pair_event(&p, side, IW_EVENT_FAULT));
        assert_null(pair_event(&p, side, IW_EVENT_ESTABLISHED));
        assert_int_equal(pair_completion(&p, side, 1)->status, IW_STATUS_FLUSHED);
        assert_closed(&p, side, IW_CAUSE_GRACEFUL);
    }
    pair_close(&p);
}

static void test_refusals_with_private_data(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 508, 509, 512, 513};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        refuse_with(false, lengths[i]);
        refuse_with(true, lengths[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_initiators),
        cmocka_unit_test(test_two_responders),
        cmocka_unit_test(test_dripping_octets_gain_no_time),
        cmocka_unit_test(test_an_answer_that_comes_too_late),
        cmocka_unit_test(test_refusals_with_private_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
