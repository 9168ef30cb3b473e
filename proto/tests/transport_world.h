/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_TRANSPORT_WORLD_H
#define IW_TESTS_TRANSPORT_WORLD_H

/*
 * Client and server on loopback sockets in one reactor, for the tests of transport/. The server
 * echoes every Send; the client sends "ping" the requested number of times, then shuts down.
 * Include from one test program.
 */

#include "iwarp/transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { MESSAGE = 64, LONG = 60000 /* ms: only a failing test waits that long */ };

/* One end of a connection as the tests see it. */
struct end {
    struct world *world;
    struct iw_connection *c;
    unsigned seen;                          /* bit per enum iw_event_kind */
    unsigned completions[IW_WORK_RECV + 1]; /* per opcode, status ok */
    unsigned flushed;
    unsigned sends_wanted; /* client: Sends to post once established */
    bool graceful, server, ended;
    int error;
    enum iw_check check;
    uint8_t in[MESSAGE], out[MESSAGE];
};

struct world {
    struct iw_host_env host;
    struct iw_domain *domain;
    struct iw_reactor *reactor;
    struct iw_endpoint_config config;
    struct iw_listener *listener;
    unsigned accepted, ended;
    struct end *servers;
    unsigned room;
    bool defer;
};

static inline void post_recv(struct end *e)
{
    struct iw_iov sge = {e->in, sizeof(e->in)};
    assert_int_equal(iw_endpoint_post_recv(iw_connection_endpoint(e->c), 1, &sge, 1), IW_OK);
}

static inline void post_send(struct end *e, const void *data, size_t length)
{
    memcpy(e->out, data, length);
    struct iw_iov sge = {e->out, length};
    struct iw_work work = {.id = 2, .opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    assert_int_equal(iw_endpoint_post(iw_connection_endpoint(e->c), &work, iw_transport_now()),
                     IW_OK);
}

static inline void ready(void *context, struct iw_connection *c)
{
    struct end *e = context;
    struct iw_endpoint *ep = iw_connection_endpoint(c);
    struct iw_completion done;
    struct iw_event event;
    while (iw_endpoint_event(ep, &event)) {
        e->seen |= 1u << event.kind;
        e->check = event.fault.check;
        if (event.kind == IW_EVENT_REQUEST)
            assert_int_equal(iw_endpoint_accept(ep, NULL, 0, iw_transport_now()), IW_OK);
        if (event.kind == IW_EVENT_ESTABLISHED && e->sends_wanted > 0) {
            e->sends_wanted--;
            post_send(e, "ping", 4);
        }
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(ep, iw_transport_now());
        if (event.kind == IW_EVENT_CLOSED)
            e->graceful = event.graceful;
    }
    while (iw_endpoint_poll(ep, &done, 1) == 1) {
        if (done.status != IW_STATUS_OK) {
            e->flushed++;
            continue;
        }
        e->completions[done.opcode]++;
        if (done.opcode != IW_WORK_RECV)
            continue;
        if (e->server) {
            post_recv(e);
            post_send(e, e->in, done.length);
        } else if (e->sends_wanted > 0) {
            e->sends_wanted--;
            post_recv(e);
            post_send(e, "ping", 4);
        } else {
            iw_endpoint_shutdown(ep, iw_transport_now());
        }
    }
}

static inline void ended(void *context, struct iw_connection *c)
{
    struct end *e = context;
    e->ended = true;
    e->error = iw_connection_error(c);
    e->c = NULL;
    e->world->ended++;
}

static const struct iw_connection_ops world_ops = {.ready = ready, .ended = ended};

static inline bool accepted(void *context, struct iw_connection *c)
{
    struct world *w = context;
    if (w->accepted >= w->room)
        return false;
    struct end *e = &w->servers[w->accepted++];
    *e = (struct end){.world = w, .c = c, .server = true};
    iw_connection_set_context(c, e);
    post_recv(e);
    return true;
}

static inline int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct iw_domain_limits limits = {.regions = 16, .buffers = 300};
    assert_non_null(w);
    iw_host_env_init(&w->host, true);
    w->domain = iw_domain_create(&w->host.env, &limits);
    w->reactor = iw_reactor_create();
    w->room = 128;
    w->servers = calloc(w->room, sizeof(*w->servers));
    assert_non_null(w->domain);
    assert_non_null(w->reactor);
    assert_non_null(w->servers);
    iw_endpoint_config_default(&w->config);
    w->config.pd = iw_domain_pd(w->domain);
    *state = w;
    return 0;
}

static inline int tear_down(void **state)
{
    struct world *w = *state;
    iw_reactor_destroy(w->reactor);
    iw_domain_destroy(w->domain);
    iw_host_env_destroy(&w->host);
    free(w->servers);
    free(w);
    return 0;
}

static inline struct iw_host_port listen_at(struct world *w, const char *text, unsigned limit)
{
    char error[300] = "", address[IW_TRANSPORT_TEXT];
    struct iw_host_port at;
    struct iw_listener_config config = {.domain = w->domain,
                                        .endpoint = w->config,
                                        .ops = world_ops,
                                        .accepted = accepted,
                                        .context = w,
                                        .limit = limit,
                                        .defer = w->defer};
    config.endpoint.role = IW_MPA_RESPONDER;
    assert_int_equal(iw_transport_parse(text, &at, error, sizeof(error)), 0);
    w->listener = iw_transport_listen(w->reactor, &at, &config, error, sizeof(error));
    assert_string_equal(error, "");
    assert_non_null(w->listener);
    iw_listener_address(w->listener, address);
    assert_int_equal(iw_transport_parse(address, &at, error, sizeof(error)), 0);
    assert_int_equal(at.port, iw_listener_port(w->listener));
    assert_int_not_equal(at.port, 0);
    return at;
}

static inline void connect_to(struct world *w, struct end *e, const struct iw_host_port *at)
{
    char error[300] = "";
    struct iw_endpoint_config config = w->config;
    config.role = IW_MPA_INITIATOR;
    e->world = w;
    e->c = iw_transport_connect(w->reactor, w->domain, at, &config, &world_ops, e, error,
                                sizeof(error));
    assert_string_equal(error, "");
    assert_non_null(e->c);
}

static inline void run_until_ended(struct world *w, unsigned count)
{
    uint64_t limit = iw_transport_now() + LONG * UINT64_C(1000000);
    while (w->ended < count) {
        assert_int_equal(iw_reactor_step(w->reactor, LONG), 0);
        assert_true(iw_transport_now() < limit);
    }
}

static inline int raw_connect(const struct iw_host_port *at)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(at->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
