/* SPDX-License-Identifier: BSD-3-Clause */
/* Many connections in one reactor: none starves beside one that floods, and none beside the others.
 */
#include "transport_world.h"

enum { OTHERS = 300, FLOOD = 8 << 20, WINDOW = 16 };

/* Sends Writes as long as it may, and more as they complete. */
struct flood {
    struct end end;
    struct iw_work work;
    unsigned completed;
    bool established;
};

static void post_flood(struct flood *f)
{
    assert_int_equal(
        iw_endpoint_post(iw_connection_endpoint(f->end.c), &f->work, iw_transport_now()), IW_OK);
}

static void flood_ready(void *context, struct iw_connection *c)
{
    struct flood *f = context;
    struct iw_endpoint *ep = iw_connection_endpoint(c);
    struct iw_completion done;
    struct iw_event event;
    while (iw_endpoint_event(ep, &event))
        f->established = f->established || event.kind == IW_EVENT_ESTABLISHED;
    while (iw_endpoint_poll(ep, &done, 1) == 1) {
        f->completed += done.status == IW_STATUS_OK;
        post_flood(f);
    }
}

static void flood_ended(void *context, struct iw_connection *c)
{
    (void)context, (void)c;
    fail_msg("the flood ended");
}

static void none_starves(void **state)
{
    static const struct iw_connection_ops ops = {.ready = flood_ready, .ended = flood_ended};
    struct world *w = *state;
    uint8_t *source = calloc(1, FLOOD), *sink = calloc(1, FLOOD);
    struct end *others = calloc(OTHERS, sizeof(*others));
    struct iw_region region = {
        .base = sink, .length = FLOOD, .pd = w->config.pd, .access = IW_ACCESS_REMOTE_WRITE};
    struct iw_iov sge = {source, FLOOD};
    struct flood flood = {.end = {.world = w}};
    char error[300] = "";
    free(w->servers);
    w->room = OTHERS + 1;
    w->servers = calloc(w->room, sizeof(*w->servers));
    w->config.send_depth = w->config.recv_depth = WINDOW;
    assert_int_equal(iw_domain_register(w->domain, &region), 0);
    struct iw_host_port at = listen_at(w, "127.0.0.1:0", OTHERS + 1);
    w->config.role = IW_MPA_INITIATOR;
    flood.end.c = iw_transport_connect(w->reactor, w->domain, &at, &w->config, &ops, &flood, error,
                                       sizeof(error));
    assert_non_null(flood.end.c);
    flood.work = (struct iw_work){
        .opcode = IW_WORK_WRITE, .sge = &sge, .sge_count = 1, .remote_stag = region.stag};
    while (!flood.established)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    for (unsigned i = 0; i < WINDOW; i++)
        post_flood(&flood);
    iw_connection_kick(flood.end.c);
    while (flood.completed == 0)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);

    /* Whatever the flood does meanwhile, each of the others goes through start-up, two exchanges
     * and close in a bounded number of steps: an event batch serves 64 sources, 600 take about ten,
     * and there are fewer than 20 moves that follow on one another. */
    for (unsigned i = 0; i < OTHERS; i++) {
        others[i].sends_wanted = 2;
        connect_to(w, &others[i], &at);
        post_recv(&others[i]);
    }
    unsigned steps = 0;
    for (; w->ended < 2 * OTHERS && steps < 2000; steps++)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    assert_int_equal(w->ended, 2 * OTHERS);
    for (unsigned i = 0; i < OTHERS; i++) {
        assert_int_equal(others[i].completions[IW_WORK_RECV], 2);
        assert_true(others[i].graceful);
    }
    /* And neither is the flood kept from going on. */
    unsigned before = flood.completed;
    for (steps = 0; flood.completed == before && steps < 2000; steps++)
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
    assert_int_not_equal(flood.completed, before);
    iw_reactor_destroy(w->reactor);
    w->reactor = NULL;
    iw_domain_deregister(w->domain, region.stag);
    free(others);
    free(source);
    free(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(none_starves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
