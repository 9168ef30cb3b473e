/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads in a ring on one domain: each has a reactor, serves one connection and is the client of
 * the next thread's, so that the two ends of a connection are in different threads, while STags are
 * registered, bound and invalidated by both. ThreadSanitizer must find nothing.
 */
#include "iwarp/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 40, AREA = 40000, SHARED = 64, LONG = 60000 /* ms */ };

struct thread;

/* One end of a connection. `memory` is sent from or written to, then read into: what
 * was written, and what all share. */
struct end {
    struct thread *thread;
    bool server, ended, graceful;
    struct iw_region region;
    uint32_t peer_stag;     /* client: what it may write and read */
    struct iw_region token; /* server: what the client shall invalidate next */
    uint32_t in, out;       /* STags in messages */
    unsigned rounds, reads;
    uint8_t memory[2 * AREA + SHARED];
};

struct thread {
    struct world *world;
    pthread_t handle;
    struct iw_reactor *reactor;
    struct iw_listener *listener;
    struct end server, client;
    bool bad; /* an assertion cannot leave a thread */
    unsigned number;
};

struct world {
    struct iw_host_env host;
    struct iw_domain *domain;
    struct iw_endpoint_config config;
    struct iw_region shared; /* of all connections */
    uint8_t shared_memory[SHARED];
    struct thread threads[THREADS];
};

static void expect(struct end *e, bool good)
{
    if (!good)
        e->thread->bad = true;
}

static void post_recv(struct end *e, struct iw_endpoint *ep)
{
    struct iw_iov sge = {&e->in, sizeof(e->in)};
    expect(e, iw_endpoint_post_recv(ep, 1, &sge, 1) == IW_OK);
}

static void post(struct end *e, struct iw_endpoint *ep, struct iw_work work, void *data,
                 size_t length)
{
    struct iw_iov sge = {data, length};
    work.sge = &sge;
    work.sge_count = work.opcode == IW_WORK_READ ? 0 : 1;
    expect(e, iw_endpoint_post(ep, &work, iw_transport_now()) == IW_OK);
}

/* A Write and a Read of the peer's memory, both of what all share, and a Send that kills a token.
 */
static void begin_round(struct end *e, struct iw_endpoint *ep)
{
    const struct iw_region *shared = &e->thread->world->shared;
    memset(e->memory, (int)(e->rounds + e->thread->number), AREA);
    post_recv(e, ep);
    post(e, ep, (struct iw_work){.opcode = IW_WORK_WRITE, .remote_stag = e->peer_stag}, e->memory,
         AREA);
    post(e, ep, (struct iw_work){.opcode = IW_WORK_WRITE, .remote_stag = shared->stag}, e->memory,
         SHARED);
    struct iw_work read = {.opcode = IW_WORK_READ,
                           .remote_stag = e->peer_stag,
                           .sink_stag = e->region.stag,
                           .sink_to = AREA,
                           .length = AREA};
    post(e, ep, read, NULL, 0);
    read.remote_stag = shared->stag;
    read.sink_to = 2 * AREA;
    read.length = SHARED;
    read.flags = IW_WORK_FENCE;
    post(e, ep, read, NULL, 0);
    struct iw_work send = {.opcode = e->in != 0 ? IW_WORK_SEND_INVALIDATE : IW_WORK_SEND,
                           .flags = IW_WORK_FENCE,
                           .invalidate_stag = e->in};
    post(e, ep, send, NULL, 0);
}

/* The server's turn: the token is dead and makes room for a new one, a window of its region. */
static void answer(struct end *e, struct iw_endpoint *ep, const struct iw_completion *done)
{
    struct iw_domain *d = e->thread->world->domain;
    struct iw_region found;
    expect(e, done->invalidated == (e->token.stag != 0));
    if (done->invalidated) {
        expect(e, done->invalidate_stag == e->token.stag);
        expect(e, iw_domain_lookup(d, e->token.stag, &found) && !found.valid);
    }
    e->token.length = 8;
    e->token.access = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_INVALIDATE;
    expect(e, iw_domain_bind(d, e->region.stag, &e->token) == 0);
    struct iw_region passing = e->region; /* registered and gone, as others look theirs up */
    expect(e, iw_domain_register(d, &passing) == 0);
    expect(e, iw_domain_invalidate(d, passing.stag) == 0);
    expect(e, iw_domain_deregister(d, passing.stag) == 0);
    e->out = e->token.stag;
    post_recv(e, ep);
    post(e, ep, (struct iw_work){.opcode = IW_WORK_SEND}, &e->out, sizeof(e->out));
    e->rounds++;
}

static void take(struct end *e, struct iw_endpoint *ep, const struct iw_completion *done)
{
    expect(e, done->status == IW_STATUS_OK || (done->opcode == IW_WORK_RECV && e->server));
    if (done->status != IW_STATUS_OK)
        return;
    if (e->server && done->opcode == IW_WORK_RECV) {
        answer(e, ep, done);
    } else if (done->opcode == IW_WORK_READ && e->reads++ % 2 == 0) {
        expect(e, memcmp(e->memory, e->memory + AREA, AREA) == 0);
    } else if (done->opcode == IW_WORK_RECV) {
        expect(e, done->length == sizeof(e->in) && e->reads == 2 * (e->rounds + 1));
        if (++e->rounds < ROUNDS)
            begin_round(e, ep);
        else
            iw_endpoint_shutdown(ep, iw_transport_now());
    }
}

static void ready(void *context, struct iw_connection *c)
{
    struct end *e = context;
    struct iw_endpoint *ep = iw_connection_endpoint(c);
    struct iw_event event;
    struct iw_completion done;
    const uint8_t *data;
    uint64_t now = iw_transport_now();
    while (iw_endpoint_event(ep, &event)) {
        if (event.kind == IW_EVENT_REQUEST)
            expect(e, iw_endpoint_accept(ep, &e->region.stag, 4, now) == IW_OK);
        if (event.kind == IW_EVENT_ESTABLISHED && !e->server) {
            expect(e, iw_endpoint_private(ep, &data) == 4);
            memcpy(&e->peer_stag, data, 4);
            begin_round(e, ep);
        }
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(ep, now);
        if (event.kind == IW_EVENT_CLOSED)
            e->graceful = event.graceful;
    }
    while (iw_endpoint_poll(ep, &done, 1) == 1)
        take(e, ep, &done);
}

static void ended(void *context, struct iw_connection *c)
{
    struct end *e = context;
    (void)c;
    e->ended = true;
}

static const struct iw_connection_ops ops = {.ready = ready, .ended = ended};

static bool accepted(void *context, struct iw_connection *c)
{
    struct end *e = context;
    post_recv(e, iw_connection_endpoint(c));
    return true;
}

static void *run(void *context)
{
    struct thread *t = context;
    uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
    while (!(t->client.ended && t->server.ended) && !t->bad)
        t->bad = iw_reactor_step(t->reactor, LONG) != 0 || iw_transport_now() > limit;
    return NULL;
}

static void open_end(struct thread *t, struct end *e, bool server)
{
    struct world *w = t->world;
    e->thread = t;
    e->server = server;
    e->region = (struct iw_region){.base = e->memory,
                                   .length = sizeof(e->memory),
                                   .pd = w->config.pd,
                                   .access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_BIND};
    if (server)
        e->region.access |= IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE;
    assert_int_equal(iw_domain_register(w->domain, &e->region), 0);
}

static void listen_in(struct thread *t)
{
    char error[300] = "";
    struct iw_host_port at = {.host = "127.0.0.1", .port = 0};
    struct iw_listener_config config = {.domain = t->world->domain,
                                        .endpoint = t->world->config,
                                        .ops = ops,
                                        .accepted = accepted,
                                        .context = &t->server};
    config.endpoint.role = IW_MPA_RESPONDER;
    t->listener = iw_transport_listen(t->reactor, &at, &config, error, sizeof(error));
    assert_string_equal(error, "");
}

static void connect_in(struct thread *t, uint16_t port)
{
    char error[300] = "";
    struct iw_host_port at = {.host = "127.0.0.1", .port = port};
    struct iw_endpoint_config config = t->world->config;
    config.role = IW_MPA_INITIATOR;
    assert_non_null(iw_transport_connect(t->reactor, t->world->domain, &at, &config, &ops,
                                         &t->client, error, sizeof(error)));
}

static void connections_of_threads_share_a_domain(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct iw_domain_limits limits = {.regions = 64, .buffers = 8 * THREADS};
    (void)state;
    assert_non_null(w);
    iw_host_env_init(&w->host, true);
    w->domain = iw_domain_create(&w->host.env, &limits);
    assert_non_null(w->domain);
    iw_endpoint_config_default(&w->config);
    w->config.pd = iw_domain_pd(w->domain);
    w->shared = (struct iw_region){.base = w->shared_memory,
                                   .length = sizeof(w->shared_memory),
                                   .pd = w->config.pd,
                                   .access = IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE};
    assert_int_equal(iw_domain_register(w->domain, &w->shared), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        struct thread *t = &w->threads[i];
        t->world = w;
        t->number = i;
        t->reactor = iw_reactor_create();
        assert_non_null(t->reactor);
        open_end(t, &t->server, true);
        open_end(t, &t->client, false);
        listen_in(t);
    }
    for (unsigned i = 0; i < THREADS; i++)
        connect_in(&w->threads[i], iw_listener_port(w->threads[(i + 1) % THREADS].listener));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&w->threads[i].handle, NULL, run, &w->threads[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(w->threads[i].handle, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        const struct thread *t = &w->threads[i];
        assert_false(t->bad);
        assert_true(t->client.graceful && t->server.graceful);
        assert_int_equal(t->client.rounds, ROUNDS);
        assert_int_equal(t->server.rounds, ROUNDS);
        assert_int_equal(t->client.reads, 2 * ROUNDS);
        iw_reactor_destroy(t->reactor);
    }
    iw_domain_destroy(w->domain);
    iw_host_env_destroy(&w->host);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(connections_of_threads_share_a_domain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
