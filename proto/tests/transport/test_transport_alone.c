/* SPDX-License-Identifier: BSD-3-Clause */
/* Reactors that own one connection each, which they wait for without epoll, and busy ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iwarp/transport.h"

enum { MESSAGES = 20, SIZE = 100000 };

struct end {
    struct iw_reactor *reactor;
    struct iw_connection *c;
    uint8_t *from, *to;
    unsigned sent, received;
    bool established, ended, graceful;
};

static int open_socket(int segment)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (segment > 0)
        assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment)), 0);
    return fd;
}

/* A pair of connected sockets; `segment`: TCP_MAXSEG, 0 for what the path gives. */
static void connect_pair(int fds[2], int segment)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = open_socket(segment);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    fds[0] = open_socket(segment);
    assert_int_equal(connect(fds[0], (struct sockaddr *)&at, sizeof(at)), 0);
    fds[1] = accept(listener, NULL, NULL);
    assert_true(fds[1] >= 0);
    close(listener);
}

static void post_recv(struct end *e)
{
    struct iw_iov sge = {e->to, SIZE};
    assert_int_equal(iw_endpoint_post_recv(iw_connection_endpoint(e->c), 0, &sge, 1), IW_OK);
}

static void ready(void *context, struct iw_connection *c)
{
    struct end *e = context;
    struct iw_endpoint *ep = iw_connection_endpoint(c);
    struct iw_event event;
    struct iw_completion done;
    while (iw_endpoint_event(ep, &event)) {
        if (event.kind == IW_EVENT_REQUEST)
            assert_int_equal(iw_endpoint_accept(ep, NULL, 0, iw_transport_now()), IW_OK);
        e->established = e->established || event.kind == IW_EVENT_ESTABLISHED;
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(ep, iw_transport_now());
        e->graceful = event.kind == IW_EVENT_CLOSED && event.graceful;
    }
    while (iw_endpoint_poll(ep, &done, 1) == 1) {
        if (done.opcode != IW_WORK_RECV || done.status != IW_STATUS_OK)
            continue;
        assert_int_equal(done.length, SIZE);
        for (size_t i = 0; i < SIZE; i++)
            assert_int_equal(e->to[i], (uint8_t)(i * 7 + e->received));
        e->received++;
        post_recv(e);
    }
}

static void ended(void *context, struct iw_connection *c)
{
    (void)c;
    ((struct end *)context)->ended = true;
}

static void open_end(struct end *e, struct iw_domain *domain, int fd, enum iw_mpa_role role,
                     bool busy, bool ahead)
{
    static const struct iw_connection_ops ops = {.ready = ready, .ended = ended};
    struct iw_endpoint_config config;
    iw_endpoint_config_default(&config);
    config.role = role;
    config.pd = iw_domain_pd(domain);
    config.mpa.crc = !ahead;
    config.receive_ahead = ahead;
    e->reactor = iw_reactor_create();
    e->from = malloc(SIZE);
    e->to = malloc(SIZE);
    assert_non_null(e->reactor);
    iw_reactor_busy(e->reactor, busy);
    e->c = iw_transport_adopt(e->reactor, domain, fd, &config, &ops, e);
    assert_non_null(e->c);
    post_recv(e);
}

/* Both take steps in turn; none of them can wait for the other. */
static void step_both(struct end e[2])
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(iw_reactor_step(e[i].reactor, 0), 0);
}

struct both {
    struct iw_host_env host;
    struct iw_domain *domain;
    struct end end[2];
};

/* Two ends in full operation. Returns the socket of the first. */
static int open_both(struct both *b, bool busy, bool ahead)
{
    static const enum iw_mpa_role roles[] = {IW_MPA_INITIATOR, IW_MPA_RESPONDER};
    struct iw_domain_limits limits = {1, 4};
    int fds[2];
    memset(b, 0, sizeof(*b));
    connect_pair(fds, 0);
    iw_host_env_init(&b->host, false);
    b->domain = iw_domain_create(&b->host.env, &limits);
    assert_non_null(b->domain);
    for (int i = 0; i < 2; i++)
        open_end(&b->end[i], b->domain, fds[i], roles[i], busy, ahead);
    while (!b->end[0].established || !b->end[1].established)
        step_both(b->end);
    return fds[0];
}

static void close_both(struct both *b)
{
    for (int i = 0; i < 2; i++) {
        iw_reactor_destroy(b->end[i].reactor);
        free(b->end[i].from);
        free(b->end[i].to);
    }
    iw_domain_destroy(b->domain);
    iw_host_env_destroy(&b->host);
}

static void send_one(struct end *e, struct end *peer)
{
    struct iw_iov sge = {e->from, SIZE};
    struct iw_work work = {.opcode = IW_WORK_SEND, .sge = &sge, .sge_count = 1};
    for (size_t i = 0; i < SIZE; i++)
        e->from[i] = (uint8_t)(i * 7 + peer->received);
    assert_int_equal(iw_endpoint_post(iw_connection_endpoint(e->c), &work, 0), IW_OK);
    iw_connection_kick(e->c);
}

static void converse(bool busy, bool ahead)
{
    struct both b;
    struct end *e = b.end;
    open_both(&b, busy, ahead);
    for (unsigned k = 0; k < MESSAGES; k++) {
        struct end *from = &e[k % 2], *to = &e[1 - k % 2];
        unsigned goal = to->received + 1;
        send_one(from, to);
        while (to->received < goal)
            step_both(e);
    }
    /* Nothing comes: the wait ends by itself, and again with another time. */
    for (int wait = 1; wait < 4; wait++)
        assert_int_equal(iw_reactor_step(e[0].reactor, wait), 0);
    assert_false(e[0].ended);
    /* Something is there before the wait begins. */
    send_one(&e[0], &e[1]);
    while (e[1].received == MESSAGES / 2) {
        assert_int_equal(iw_reactor_step(e[0].reactor, 0), 0);
        assert_int_equal(iw_reactor_step(e[1].reactor, 1), 0);
    }
    iw_endpoint_shutdown(iw_connection_endpoint(e[0].c), 0);
    iw_connection_kick(e[0].c);
    while (!e[0].ended || !e[1].ended)
        step_both(e);
    assert_true(e[0].graceful && e[1].graceful);
    close_both(&b);
}

static void one_connection_alone(void **state)
{
    (void)state;
    converse(false, false);
    converse(false, true);
}

static void one_connection_busily(void **state)
{
    (void)state;
    converse(true, false);
    converse(true, true);
}

/* Each step of a busy reactor looks at the socket, also those that do not ask epoll. */
static void a_busy_step_looks_at_the_socket(void **state)
{
    (void)state;
    struct both b;
    struct end *e = b.end;
    open_both(&b, true, false);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t before = iw_reactor_calls(e[1].reactor);
        assert_int_equal(iw_reactor_step(e[1].reactor, 0), 0);
        assert_true(iw_reactor_calls(e[1].reactor) > before);
    }
    close_both(&b);
}

/* Where Sends belong is guessed: the first octets of one are nowhere but in the receive's memory
 * while the rest is missing. */
static void guesses(bool busy)
{
    struct both b;
    struct end *e = b.end;
    int fd = open_both(&b, busy, true);
    send_one(&e[0], &e[1]);
    while (e[1].received == 0)
        step_both(e);
    /* A header that is none of a Send's, followed by octets that must not be placed: they were
     * received there only by a guess. */
    uint8_t wrong[20 + 1000];
    memset(wrong, 0xcc, sizeof(wrong)); /* of DDP's version 0 */
    wrong[0] = (sizeof(wrong) - 6) >> 8;
    wrong[1] = (sizeof(wrong) - 6) & 0xff;
    memset(e[1].to, 0, SIZE);
    assert_int_equal(send(fd, wrong, sizeof(wrong), 0), sizeof(wrong));
    while (!e[1].ended)
        step_both(e);
    assert_int_equal(e[1].to[0], 0xcc);
    close_both(&b);
}

static void what_comes_is_guessed(void **state)
{
    (void)state;
    guesses(false);
    guesses(true);
}

/* The system calls of a wait of 1 ms for which there is nothing. */
static uint64_t wait_in_vain(struct end *e)
{
    uint64_t before = iw_reactor_calls(e->reactor);
    assert_int_equal(iw_reactor_step(e->reactor, 1), 0);
    return iw_reactor_calls(e->reactor) - before;
}

/* With short segments a wait begins with receives that do not, after a while only seldom. */
static void asks_before_it_waits(int segment, unsigned asked)
{
    struct iw_host_env host;
    struct iw_domain_limits limits = {1, 4};
    struct end e = {0};
    int fds[2];
    connect_pair(fds, segment);
    iw_host_env_init(&host, false);
    struct iw_domain *domain = iw_domain_create(&host.env, &limits);
    assert_non_null(domain);
    open_end(&e, domain, fds[0], IW_MPA_RESPONDER, false, false);
    assert_int_equal(iw_reactor_step(e.reactor, 0), 0);
    assert_int_equal(wait_in_vain(&e), 2 + asked); /* SO_RCVTIMEO is set, once */
    static const unsigned left_out[] = {1, 3, 7, 15, 31, 63, 63};
    for (size_t k = 0; k < sizeof(left_out) / sizeof(*left_out); k++) {
        for (unsigned i = 0; i < left_out[k]; i++)
            assert_int_equal(wait_in_vain(&e), 1);
        assert_int_equal(wait_in_vain(&e), 1 + asked);
    }
    iw_reactor_destroy(e.reactor);
    free(e.from);
    free(e.to);
    close(fds[1]);
    iw_domain_destroy(domain);
    iw_host_env_destroy(&host);
}

static void short_segments_are_asked_for(void **state)
{
    (void)state;
    asks_before_it_waits(1460, 32);
    asks_before_it_waits(32000, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_connection_alone),
        cmocka_unit_test(one_connection_busily),
        cmocka_unit_test(a_busy_step_looks_at_the_socket),
        cmocka_unit_test(what_comes_is_guessed),
        cmocka_unit_test(short_segments_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
