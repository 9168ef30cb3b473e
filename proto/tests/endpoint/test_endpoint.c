/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* Posts work whose buffer is one piece of the region's memory. */
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

static void fill(struct pair *p, int side, size_t offset, size_t length)
{
    for (size_t i = 0; i < length; i++)
        p->side[side].memory[offset + i] = (uint8_t)(i * 7 + i / 251);
}

static void assert_ok(struct pair *p, int side, uint64_t id, uint32_t length)
{
    const struct iw_completion *c = pair_completion(p, side, id);
    assert_non_null(c);
    assert_int_equal(c->status, IW_STATUS_OK);
    assert_int_equal(c->length, length);
}

/* Sends, Writes and Reads of sizes around the segment limits in both directions. */
static void exchange(struct pair *p)
{
    static const uint32_t sizes[] = {0, 1, 3, 64, 1436, 1437, 1440, 5000, 70000};
    pair_run(p);
    assert_non_null(pair_event(p, 0, IW_EVENT_ESTABLISHED));
    assert_non_null(pair_event(p, 1, IW_EVENT_ESTABLISHED));
    uint64_t id = 1;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int side = 0; side < 2; side++, id += 4) {
            struct pair_side *s = &p->side[side], *t = &p->side[1 - side];
            uint32_t size = sizes[i];
            fill(p, side, 0, size);
            memset(t->memory + 100000, 0, 300000);
            memset(s->memory + 400000, 0, 80000);
            post_recv(p, 1 - side, id, 100000, size);
            post(p, side,
                 (struct iw_work){.id = id + 1,
                                  .opcode = IW_WORK_WRITE,
                                  .remote_stag = t->region.stag,
                                  .remote_to = t->region.to + 200000},
                 0, size);
            post(p, side, (struct iw_work){.id = id + 2, .opcode = IW_WORK_SEND}, 0, size);
            post(p, side,
                 (struct iw_work){.id = id + 3,
                                  .opcode = IW_WORK_READ,
                                  .length = size,
                                  .remote_stag = t->region.stag,
                                  .remote_to = t->region.to + 200000,
                                  .sink_stag = s->region.stag,
                                  .sink_to = s->region.to + 400000},
                 0, 0);
            pair_run(p);
            assert_ok(p, 1 - side, id, size);
            for (uint64_t k = 1; k < 4; k++)
                assert_ok(p, side, id + k, size);
            assert_memory_equal(t->memory + 100000, s->memory, size);
            assert_memory_equal(t->memory + 200000, s->memory, size);
            assert_memory_equal(s->memory + 400000, s->memory, size);
            assert_int_equal(t->memory[100000 + size], 0);
            assert_int_equal(t->memory[200000 + size], 0);
            assert_int_equal(s->memory[400000 + size], 0);
        }
    }
    iw_endpoint_shutdown(p->side[0].ep, p->now);
    pair_run(p);
    for (int side = 0; side < 2; side++) {
        const struct iw_event *closed = pair_event(p, side, IW_EVENT_CLOSED);
        assert_non_null(closed);
        assert_true(closed->graceful);
        assert_int_equal(iw_endpoint_want(p->side[side].ep), IW_WANT_CLOSE);
    }
}

static void test_all_combinations(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++) {
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        for (int i = 0; i < 2; i++) {
            config[i].mpa.crc = (bits & 1) != 0;
            config[i].mpa.revision = (bits & 8) != 0 ? 1 : 2;
            config[i].mpa.enhanced = config[i].mpa.revision == 2;
            config[i].mpa.peer_to_peer = i == 0 && config[i].mpa.enhanced && (bits & 16) != 0;
        }
        config[0].mpa.markers = (bits & 2) != 0;
        config[1].mpa.markers = (bits & 4) != 0;
        struct pair p;
        pair_open(&p, config);
        p.segment = (bits & 32) != 0 ? 37 : 0;
        exchange(&p);
        pair_close(&p);
    }
}

static void test_every_octet_alone(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[0].mpa.markers = true;
    struct pair p;
    pair_open(&p, config);
    p.segment = 1;
    exchange(&p);
    pair_close(&p);
}

static void test_rtr_forms(void **state)
{
    (void)state;
    static const uint8_t forms[] = {IW_MPA_RTR_SEND, IW_MPA_RTR_WRITE, IW_MPA_RTR_READ};
    for (size_t i = 0; i < 3; i++) {
        struct iw_endpoint_config config[2];
        pair_defaults(config);
        config[0].mpa.peer_to_peer = true;
        config[1].mpa.rtr = forms[i];
        struct pair p;
        pair_open(&p, config);
        /* The responder's own work waits for the RTR. */
        post_recv(&p, 0, 1, 0, 16);
        post(&p, 1, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND}, 0, 16);
        exchange(&p);
        assert_ok(&p, 0, 1, 16);
        pair_close(&p);
    }
}

static void test_responder_waits_for_first_fpdu(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    post_recv(&p, 0, 1, 0, 16);
    post(&p, 1, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND}, 0, 16);
    pair_run(&p);
    assert_int_equal(p.side[1].octets_out, 24); /* the Reply alone */
    post(&p, 0, (struct iw_work){.id = 3, .opcode = IW_WORK_WRITE}, 0, 0);
    pair_run(&p);
    assert_ok(&p, 0, 1, 16);
    pair_close(&p);
}

static void test_no_matching_rtr(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[0].mpa.peer_to_peer = true;
    config[0].mpa.rtr = IW_MPA_RTR_SEND;
    config[1].mpa.rtr = IW_MPA_RTR_READ;
    struct pair p;
    pair_open(&p, config);
    pair_run(&p);
    const struct iw_event *e = pair_event(&p, 1, IW_EVENT_TERMINATED);
    assert_non_null(e);
    assert_int_equal(e->terminate.layer, 2);
    assert_int_equal(e->terminate.etype, 0);
    assert_int_equal(e->terminate.code, 7);
    assert_int_equal(e->terminate.flags, 0);
    assert_int_equal(pair_event(&p, 0, IW_EVENT_FAULT)->fault.check, IW_CHECK_MPA_RTR_MATCH);
    pair_close(&p);
}

static void test_reject(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    p.side[1].auto_accept = false;
    post(&p, 0, (struct iw_work){.id = 1, .opcode = IW_WORK_SEND}, 0, 8);
    pair_run(&p);
    assert_non_null(pair_event(&p, 1, IW_EVENT_REQUEST));
    assert_int_equal(iw_endpoint_reject(p.side[1].ep, "no", 2, p.now), IW_OK);
    pair_run(&p);
    assert_non_null(pair_event(&p, 0, IW_EVENT_REJECTED));
    const uint8_t *data;
    assert_int_equal(iw_endpoint_private(p.side[0].ep, &data), 2);
    assert_memory_equal(data, "no", 2);
    assert_int_equal(pair_completion(&p, 0, 1)->status, IW_STATUS_FLUSHED);
    assert_non_null(pair_event(&p, 0, IW_EVENT_CLOSED));
    pair_close(&p);
}

static void test_read_limit_is_kept(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[1].mpa.ird = 1;
    struct pair p;
    pair_open(&p, config);
    pair_run(&p);
    assert_int_equal(iw_endpoint_agreed(p.side[0].ep)->ord, 1);
    for (uint64_t id = 1; id <= 5; id++)
        post(&p, 0,
             (struct iw_work){.id = id,
                              .opcode = IW_WORK_READ,
                              .length = 100,
                              .remote_stag = p.side[1].region.stag,
                              .remote_to = p.side[1].region.to,
                              .sink_stag = p.side[0].region.stag,
                              .sink_to = p.side[0].region.to},
             0, 0);
    pair_run(&p);
    for (uint64_t id = 1; id <= 5; id++)
        assert_ok(&p, 0, id, 100);
    assert_null(pair_event(&p, 1, IW_EVENT_FAULT));
    pair_close(&p);
}

static void test_send_with_invalidate(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    post_recv(&p, 1, 1, 0, 16);
    post(&p, 0,
         (struct iw_work){.id = 2,
                          .opcode = IW_WORK_SEND_SE_INVALIDATE,
                          .invalidate_stag = p.side[1].region.stag},
         0, 4);
    pair_run(&p);
    const struct iw_completion *c = pair_completion(&p, 1, 1);
    assert_non_null(c);
    assert_true(c->solicited && c->invalidated);
    assert_int_equal(c->invalidate_stag, p.side[1].region.stag);
    struct iw_region r;
    assert_true(iw_domain_lookup(p.side[1].domain, p.side[1].region.stag, &r));
    assert_false(r.valid);
    pair_close(&p);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    for (long n = 0; n < 64; n++) {
        struct pair p = {.allocations_left = n};
        struct iw_env env = {&p,   pair_alloc, pair_free,         pair_random,
                             NULL, NULL,       iw_crc32c_portable};
        struct iw_domain_limits limits = {4, 2};
        struct iw_endpoint_config config;
        struct iw_endpoint *ep = NULL;
        iw_endpoint_config_default(&config);
        struct iw_domain *d = iw_domain_create(&env, &limits);
        int r = d == NULL ? IW_ERR_MEMORY : iw_endpoint_create(d, &config, 0, &ep);
        bool done = r == IW_OK;
        if (!done)
            assert_int_equal(r, IW_ERR_MEMORY);
        iw_endpoint_destroy(ep);
        iw_domain_destroy(d);
        assert_int_equal(p.allocations_live, 0);
        if (done) {
            assert_true(n > 8);
            return;
        }
    }
    fail();
}

static void test_startup_timeout(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[1].startup_timeout = 5000;
    struct pair p;
    pair_open(&p, config);
    assert_int_equal(iw_endpoint_deadline(p.side[1].ep), 6000);
    iw_endpoint_tick(p.side[1].ep, 5999);
    assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_NOTHING);
    iw_endpoint_tick(p.side[1].ep, 6000);
    assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_FIN);
    pair_collect(&p, 1);
    assert_int_equal(pair_event(&p, 1, IW_EVENT_FAULT)->fault.check, IW_CHECK_MPA_STARTUP_TIMEOUT);
    /* The peer never answers our FIN: reset after the linger time. */
    iw_endpoint_fin_sent(p.side[1].ep, 6000);
    uint64_t linger = iw_endpoint_deadline(p.side[1].ep);
    assert_int_equal(linger, 6000 + 5000000000u);
    iw_endpoint_tick(p.side[1].ep, linger);
    assert_int_equal(iw_endpoint_want(p.side[1].ep), IW_WANT_RESET);
    pair_close(&p);
}

/* RFC 5044 §7.1.2: streaming mode may last; only with MPA does the time-out begin. */
static void test_startup_begins_later(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[1].startup_timeout = 5000;
    struct pair p;
    pair_open(&p, config);
    iw_endpoint_begin(p.side[1].ep, 7000);
    assert_int_equal(iw_endpoint_deadline(p.side[1].ep), 12000);
    pair_run(&p);
    assert_non_null(pair_event(&p, 1, IW_EVENT_ESTABLISHED));
    uint64_t deadline = iw_endpoint_deadline(p.side[1].ep);
    iw_endpoint_begin(p.side[1].ep, 8000);
    assert_int_equal(iw_endpoint_deadline(p.side[1].ep), deadline);
    pair_close(&p);
}

static void test_queue_limits(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    config[0].send_depth = 2;
    config[0].recv_depth = 1;
    config[0].max_sge = 1;
    struct pair p;
    pair_open(&p, config);
    struct iw_endpoint *ep = p.side[0].ep;
    struct iw_iov sge[2] = {{p.side[0].memory, 1}, {p.side[0].memory, 1}};
    struct iw_work work = {.opcode = IW_WORK_SEND, .sge = sge, .sge_count = 2};
    assert_int_equal(iw_endpoint_post(ep, &work, 0), IW_ERR_ARGUMENT);
    assert_int_equal(iw_endpoint_post_recv(ep, 1, sge, 2), IW_ERR_ARGUMENT);
    work.sge_count = 1;
    assert_int_equal(iw_endpoint_post(ep, &work, 0), IW_OK);
    assert_int_equal(iw_endpoint_post(ep, &work, 0), IW_OK);
    assert_int_equal(iw_endpoint_post(ep, &work, 0), IW_ERR_FULL);
    assert_int_equal(iw_endpoint_post_recv(ep, 1, sge, 1), IW_OK);
    assert_int_equal(iw_endpoint_post_recv(ep, 1, sge, 1), IW_ERR_FULL);
    sge[0].length = (size_t)UINT32_MAX + 1;
    p.side[0].completion_count = 0;
    iw_endpoint_abort(ep, false, 0, 0);
    assert_int_equal(iw_endpoint_want(ep), IW_WANT_RESET);
    pair_collect(&p, 0);
    assert_int_equal(p.side[0].completion_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(p.side[0].completions[i].status, IW_STATUS_FLUSHED);
    assert_int_equal(iw_endpoint_post(ep, &work, 0), IW_ERR_STATE);
    assert_int_equal(iw_endpoint_post_recv(ep, 1, sge, 1), IW_ERR_STATE);
    pair_close(&p);
}

static void test_fence_waits_for_reads(void **state)
{
    (void)state;
    struct iw_endpoint_config config[2];
    pair_defaults(config);
    struct pair p;
    pair_open(&p, config);
    fill(&p, 1, 0, 64);
    memset(p.side[0].memory, 0, 64);
    pair_run(&p);
    post_recv(&p, 1, 9, 1000, 64);
    post(&p, 0,
         (struct iw_work){.id = 1,
                          .opcode = IW_WORK_READ,
                          .length = 64,
                          .remote_stag = p.side[1].region.stag,
                          .remote_to = p.side[1].region.to,
                          .sink_stag = p.side[0].region.stag,
                          .sink_to = p.side[0].region.to},
         0, 0);
    post(&p, 0, (struct iw_work){.id = 2, .opcode = IW_WORK_SEND, .flags = IW_WORK_FENCE}, 0, 64);
    pair_run(&p);
    assert_ok(&p, 1, 9, 64);
    /* The Send carries what the Read has brought. */
    assert_memory_equal(p.side[1].memory + 1000, p.side[1].memory, 64);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_combinations),
        cmocka_unit_test(test_every_octet_alone),
        cmocka_unit_test(test_rtr_forms),
        cmocka_unit_test(test_responder_waits_for_first_fpdu),
        cmocka_unit_test(test_no_matching_rtr),
        cmocka_unit_test(test_reject),
        cmocka_unit_test(test_read_limit_is_kept),
        cmocka_unit_test(test_send_with_invalidate),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_startup_timeout),
        cmocka_unit_test(test_startup_begins_later),
        cmocka_unit_test(test_queue_limits),
        cmocka_unit_test(test_fence_waits_for_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
