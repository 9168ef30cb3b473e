/* SPDX-License-Identifier: BSD-3-Clause */
/* Several connections in several threads on one domain: each thread has a reactor of its own, both
 * ends of a connection in it, and regions that come and go while the others' are in use. */
#include "iwarp/transport.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 40, LENGTH = 5000, LONG = 60000 };

struct side {
    struct iw_connection *c;
    unsigned sent, received, flushed;
    bool established, ended, graceful;
};

/* The findings of a thread: cmocka's assertions belong to the main thread. */
struct worker {
    struct iw_domain *domain;
    uint8_t *memory; /* the one region that all threads' peers write to; each has its part */
    const struct iw_region *shared;
    unsigned number;
    struct side side[2];
    uint8_t source[LENGTH], message[4];
    unsigned rounds, wrong;
    const char *trouble;
};

static void ready(void *context, struct iw_connection *c)
{
    struct side *s = context;
    struct iw_endpoint *ep = iw_connection_endpoint(c);
    struct iw_completion done;
    struct iw_event event;
    while (iw_endpoint_event(ep, &event)) {
        if (event.kind == IW_EVENT_REQUEST)
            iw_endpoint_accept(ep, NULL, 0, iw_transport_now());
        if (event.kind == IW_EVENT_ESTABLISHED)
            s->established = true;
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(ep, iw_transport_now());
        if (event.kind == IW_EVENT_CLOSED)
            s->graceful = event.graceful;
    }
    while (iw_endpoint_poll(ep, &done, 1) == 1) {
        if (done.status != IW_STATUS_OK)
            s->flushed++;
        else if (done.opcode == IW_WORK_RECV)
            s->received++;
        else
            s->sent++;
    }
}

static void ended(void *context, struct iw_connection *c)
{
    struct side *s = context;
    (void)c;
    s->ended = true;
}

static const struct iw_connection_ops ops = {.ready = ready, .ended = ended};

/* A region of this thread's own is registered, read from and invalidated by the Send after it; the
 * shared one is written to. */
static bool exchange(struct worker *w, struct iw_reactor *r, unsigned round)
{
    struct iw_endpoint *from = iw_connection_endpoint(w->side[0].c);
    struct iw_endpoint *to = iw_connection_endpoint(w->side[1].c);
    struct iw_region own = {.base = w->source,
                            .length = LENGTH,
                            .pd = w->shared->pd,
                            .access = IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_INVALIDATE};
    uint8_t *part = w->memory + (size_t)w->number * LENGTH;
    memset(w->source, (int)(w->number * ROUNDS + round), LENGTH);
    if (iw_domain_register(w->domain, &own) != 0)
        return false;
    struct iw_iov in = {w->message, sizeof(w->message)}, out = {w->source, LENGTH};
    struct iw_work write = {.id = 1,
                            .opcode = IW_WORK_WRITE,
                            .sge = &out,
                            .sge_count = 1,
                            .remote_stag = w->shared->stag,
                            .remote_to = w->shared->to + (uint64_t)w->number * LENGTH};
    struct iw_work read = {.id = 2,
                           .opcode = IW_WORK_READ,
                           .length = LENGTH,
                           .remote_stag = own.stag,
                           .remote_to = own.to,
                           .sink_stag = w->shared->stag,
                           .sink_to = w->shared->to + (uint64_t)(THREADS + w->number) * LENGTH};
    struct iw_iov none = {w->source, 4};
    struct iw_work send = {.id = 3,
                           .opcode = IW_WORK_SEND_INVALIDATE,
                           .sge = &none,
                           .sge_count = 1,
                           .flags = IW_WORK_FENCE,
                           .invalidate_stag = own.stag};
    uint64_t now = iw_transport_now();
    if (iw_endpoint_post_recv(to, 1, &in, 1) != IW_OK ||
        iw_endpoint_post(from, &write, now) != IW_OK ||
        iw_endpoint_post(from, &read, now) != IW_OK || iw_endpoint_post(from, &send, now) != IW_OK)
        return false;
    iw_connection_kick(w->side[0].c);
    while (w->side[0].sent < 3 * (round + 1) || w->side[1].received <= round)
        if (iw_reactor_step(r, LONG) != 0 || w->side[0].flushed > 0 || w->side[1].flushed > 0)
            return false;
    struct iw_region after;
    if (!iw_domain_lookup(w->domain, own.stag, &after) || after.valid)
        w->wrong++;
    if (memcmp(part, w->source, LENGTH) != 0 ||
        memcmp(part + (size_t)THREADS * LENGTH, w->source, LENGTH) != 0 ||
        memcmp(w->message, w->source, 4) != 0)
        w->wrong++;
    return iw_domain_deregister(w->domain, own.stag) == 0;
}

static const char *work(struct worker *w, struct iw_reactor *r)
{
    struct iw_endpoint_config config;
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return "no sockets";
    iw_endpoint_config_default(&config);
    config.pd = w->shared->pd;
    for (int i = 0; i < 2; i++) {
        config.role = i == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
        w->side[i].c = iw_transport_adopt(r, w->domain, fds[i], &config, &ops, &w->side[i]);
        if (w->side[i].c == NULL)
            return "a connection cannot be made";
    }
    while (!w->side[0].established)
        if (iw_reactor_step(r, LONG) != 0 || w->side[0].ended)
            return "no start-up";
    for (; w->rounds < ROUNDS; w->rounds++)
        if (!exchange(w, r, w->rounds))
            return "an exchange failed";
    iw_endpoint_shutdown(iw_connection_endpoint(w->side[0].c), iw_transport_now());
    iw_connection_kick(w->side[0].c);
    while (!w->side[0].ended || !w->side[1].ended)
        if (iw_reactor_step(r, LONG) != 0)
            return "no end";
    return NULL;
}

static void *run(void *context)
{
    struct worker *w = context;
    struct iw_reactor *r = iw_reactor_create();
    w->trouble = r == NULL ? "no reactor" : work(w, r);
    iw_reactor_destroy(r);
    return NULL;
}

static void threads_share_a_domain(void **state)
{
    (void)state;
    struct iw_host_env host;
    struct iw_domain_limits limits = {.regions = 2 * THREADS, .buffers = 4 * THREADS};
    iw_host_env_init(&host, true);
    struct iw_domain *domain = iw_domain_create(&host.env, &limits);
    assert_non_null(domain);
    size_t length = 2 * THREADS * LENGTH;
    uint8_t *memory = calloc(1, length);
    struct worker *workers = calloc(THREADS, sizeof(*workers));
    assert_non_null(memory);
    assert_non_null(workers);
    struct iw_region shared = {.base = memory,
                               .length = length,
                               .pd = iw_domain_pd(domain),
                               .access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE};
    assert_int_equal(iw_domain_register(domain, &shared), 0);

    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] =
            (struct worker){.domain = domain, .memory = memory, .shared = &shared, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        if (workers[i].trouble != NULL)
            fail_msg("thread %u, round %u: %s", i, workers[i].rounds, workers[i].trouble);
        assert_int_equal(workers[i].rounds, ROUNDS);
        assert_int_equal(workers[i].wrong, 0);
        assert_true(workers[i].side[0].graceful);
        assert_true(workers[i].side[1].graceful);
    }
    assert_int_equal(iw_domain_deregister(domain, shared.stag), 0);
    iw_domain_destroy(domain);
    iw_host_env_destroy(&host);
    free(workers);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_domain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
