/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_FAULTS_CONVERSATION_H
#define IW_TESTS_FAULTS_CONVERSATION_H

/*
 * A conversation of more than 200 messages over loopback sockets, in which every octet that is
 * placed and every completion is known beforehand: Sends that come back, Writes, Reads and atomics.
 * Whatever happens to it, judge_conversation must hold afterwards. In two of its styles some of the
 * requests are large enough to be received where they belong, in one of these by a guess, too.
 * Include from one test program.
 */

#include "endpoint/endpoint_internal.h"
#include "iwarp/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    REQUESTS = 115,
    WINDOW = 6,
    SLOT = 1024,
    LARGEST = 900,
    LONGS = 8, /* long requests; an FPDU each, of which more than LANDING_MIN octets come late */
    LONG_SLOT = 2048,
    LONG_SIZE = 1100,
    LANDING_MIN = 400, /* instead of IW_LANDING_MIN */
    ARENA = REQUESTS * SLOT + LONGS * LONG_SLOT,
    FILL = 0xee,
    PATIENCE = 60000 /* ms */
};
enum style { PLAIN, MARKERS, IN_PLACE, AHEAD, STYLES };
enum { COUNTER = 3 /* the slot of the first atomic, in which all of them count */ };
enum kind { SEND, WRITE, READ, ATOMIC, SEND_SE, KINDS };

struct request {
    bool posted;
    unsigned done; /* completions */
    enum iw_status status;
};

struct side {
    struct talk *talk;
    struct iw_connection *c;
    struct request work[REQUESTS], receive[REQUESTS];
    size_t sent, received; /* Sends posted or, at the server, sent back; receives completed */
    size_t latest[2];      /* 1 + the latest completion of the send and the receive queue */
    bool ended;
    int error; /* of the connection then */
    _Alignas(8) uint8_t arena[ARENA];
    struct iw_region region;
};

struct talk {
    struct iw_host_env host;
    struct iw_domain *domain;
    struct iw_reactor *reactor;
    struct iw_listener *listener;
    struct iw_endpoint_config config;
    struct side client, server;
    size_t next, outstanding;
    bool taken; /* the server has its connection */
};

static bool longs;             /* in this conversation some requests are long */
static bool ahead;             /* and receive_ahead is set */
static bool alone;             /* one request at a time */
static bool unjudged;          /* received octets may be wrong */
static uint8_t pattern[ARENA]; /* the octets that belong into each place */

static inline enum kind kind_of(size_t i)
{
    return (enum kind)(i % KINDS);
}

static inline bool is_send(size_t i)
{
    return kind_of(i) == SEND || kind_of(i) == SEND_SE;
}

/* The first ones. */
static inline bool is_long(size_t i)
{
    return longs && kind_of(i) != ATOMIC && i / KINDS < LONGS / (KINDS - 1);
}

static inline uint32_t size_of(size_t i)
{
    if (is_long(i))
        return (uint32_t)(LONG_SIZE + i * 37);
    return kind_of(i) == ATOMIC ? 8 : (uint32_t)(i * 37 % LARGEST + 1);
}

static inline size_t place_of(size_t i)
{
    size_t number = i / KINDS * (KINDS - 1) + (kind_of(i) == SEND_SE ? ATOMIC : kind_of(i));
    return is_long(i) ? (size_t)(REQUESTS * SLOT) + number * LONG_SLOT : i * SLOT;
}

static inline size_t after(size_t i) /* the next Send after it */
{
    do
        i++;
    while (i < REQUESTS && !is_send(i));
    return i;
}

static inline uint8_t *slot(struct side *s, size_t i)
{
    return s->arena + place_of(i);
}

/* Checks that each request completes once, in the order of its queue. */
static inline void completed(struct side *s, struct request *r, size_t i, int queue,
                             enum iw_status status)
{
    assert_true(i < REQUESTS);
    assert_true(r->posted);
    assert_int_equal(r->done, 0);
    assert_true(i + 1 > s->latest[queue]);
    s->latest[queue] = i + 1;
    r->done = 1;
    r->status = status;
}

static inline void post_receive(struct side *s, size_t i)
{
    struct iw_iov sge = {slot(s, i), size_of(i)};
    if (i < REQUESTS && iw_endpoint_post_recv(iw_connection_endpoint(s->c), i, &sge, 1) == IW_OK)
        s->receive[i].posted = true;
}

static inline bool post(struct side *s, struct iw_work work, size_t i)
{
    struct iw_iov sge = {pattern + place_of(i), size_of(i)};
    work.id = i;
    if (work.opcode == IW_WORK_SEND || work.opcode == IW_WORK_SEND_SE ||
        work.opcode == IW_WORK_WRITE) {
        work.sge = &sge;
        work.sge_count = 1;
    }
    s->work[i].posted =
        iw_endpoint_post(iw_connection_endpoint(s->c), &work, iw_transport_now()) == IW_OK;
    return s->work[i].posted;
}

static inline void ask(struct talk *t, size_t i)
{
    static const enum iw_work_opcode opcodes[] = {IW_WORK_SEND, IW_WORK_WRITE, IW_WORK_READ,
                                                  IW_WORK_FETCH_ADD, IW_WORK_SEND_SE};
    struct iw_work work = {.opcode = opcodes[kind_of(i)],
                           .remote_stag = t->server.region.stag,
                           .remote_to = place_of(kind_of(i) == ATOMIC ? COUNTER : i),
                           .sink_stag = t->client.region.stag,
                           .sink_to = place_of(i),
                           .length = size_of(i),
                           .add_swap = 1};
    if (is_send(i))
        post_receive(&t->client, i);
    if (post(&t->client, work, i))
        t->outstanding += is_send(i) ? 2 : 1;
}

static inline void go_on(struct talk *t)
{
    size_t window = ahead || alone ? 1 : WINDOW; /* a guess is made before anything has come */
    while (t->next < REQUESTS && t->outstanding < window)
        ask(t, t->next++);
    if (t->next == REQUESTS && t->outstanding == 0)
        iw_endpoint_shutdown(iw_connection_endpoint(t->client.c), iw_transport_now());
}

/* Checks that the received octets are right, and that earlier Writes are in their place (RFC 5041
 * §5.3). */
static inline void look_at_received(struct side *s, const struct iw_completion *done)
{
    if (unjudged)
        return;
    assert_int_equal(done->length, size_of(done->id));
    assert_memory_equal(slot(s, done->id), pattern + place_of(done->id), done->length);
    for (size_t i = 0; s == &s->talk->server && i < done->id; i++) {
        if (kind_of(i) == WRITE)
            assert_memory_equal(slot(s, i), pattern + place_of(i), size_of(i));
    }
}

static inline void look_at_done(struct side *s, const struct iw_completion *done)
{
    if (unjudged)
        return;
    if (done->opcode == IW_WORK_READ)
        assert_memory_equal(slot(s, done->id), pattern + place_of(done->id), done->length);
    if (done->opcode == IW_WORK_FETCH_ADD)
        assert_int_equal(done->original, done->id / KINDS);
}

static inline void take_completions(struct side *s)
{
    struct iw_completion done;
    while (iw_endpoint_poll(iw_connection_endpoint(s->c), &done, 1) == 1) {
        bool received = done.opcode == IW_WORK_RECV, client = s == &s->talk->client;
        completed(s, received ? &s->receive[done.id] : &s->work[done.id], done.id, received,
                  done.status);
        if (client)
            s->talk->outstanding--;
        if (done.status != IW_STATUS_OK)
            continue;
        if (!received) {
            look_at_done(s, &done);
            continue;
        }
        look_at_received(s, &done);
        if (!client) {
            struct iw_work work = {.opcode = IW_WORK_SEND};
            post(s, work, done.id);
            post_receive(s, s->sent = after(s->sent));
        }
    }
}

static inline void on_ready(void *context, struct iw_connection *c)
{
    struct side *s = context;
    struct iw_endpoint *ep = iw_connection_endpoint(c);
    bool client = s == &s->talk->client, established = false;
    struct iw_event event;
    while (iw_endpoint_event(ep, &event)) {
        if (event.kind == IW_EVENT_REQUEST)
            (void)iw_endpoint_accept(ep, NULL, 0, iw_transport_now());
        established |= event.kind == IW_EVENT_ESTABLISHED;
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(ep, iw_transport_now());
    }
    take_completions(s);
    if (client && (established || s->talk->next > 0))
        go_on(s->talk);
}

static inline void on_ended(void *context, struct iw_connection *c)
{
    struct side *s = context;
    s->error = iw_connection_error(c);
    s->ended = true;
}

static inline bool on_accepted(void *context, struct iw_connection *c)
{
    struct talk *t = context;
    if (t->taken)
        return false;
    t->taken = true;
    t->server.c = c;
    iw_connection_endpoint(c)->landing_min = LANDING_MIN;
    iw_connection_endpoint(c)->lists_min = 0;
    iw_connection_set_context(c, &t->server);
    size_t i = 0;
    for (int k = 0; k < WINDOW; k++, i = after(i))
        post_receive(&t->server, t->server.sent = i);
    return true;
}

static const struct iw_connection_ops talk_ops = {.ready = on_ready, .ended = on_ended};

static inline void register_side(struct talk *t, struct side *s, uint32_t access)
{
    s->talk = t;
    memset(s->arena, FILL, sizeof(s->arena));
    s->region = (struct iw_region){
        .base = s->arena, .length = sizeof(s->arena), .pd = t->config.pd, .access = access};
    assert_int_equal(iw_domain_register(t->domain, &s->region), 0);
}

static inline struct talk *begin_talk(enum style style, struct iw_host_port *at)
{
    struct iw_domain_limits limits = {.regions = 4, .buffers = 8};
    struct talk *t = calloc(1, sizeof(*t));
    char error[300] = "", address[IW_TRANSPORT_TEXT];
    assert_non_null(t);
    longs = style == IN_PLACE || style == AHEAD;
    ahead = style == AHEAD;
    for (size_t k = 0; k < ARENA; k++)
        pattern[k] = (uint8_t)((k >> 10) * 138 + (k & 1023) * 7 + (k >> 8));
    iw_host_env_init(&t->host, false);
    t->domain = iw_domain_create(&t->host.env, &limits);
    t->reactor = iw_reactor_create();
    assert_non_null(t->domain);
    assert_non_null(t->reactor);
    iw_endpoint_config_default(&t->config);
    t->config.pd = iw_domain_pd(t->domain);
    t->config.extensions = true;
    t->config.mulpdu = longs ? 2 * LONG_SIZE : 300;
    t->config.mpa.markers = style == MARKERS;
    t->config.mpa.crc = !longs;
    t->config.receive_ahead = ahead;
    register_side(t, &t->client, IW_ACCESS_LOCAL_WRITE);
    register_side(t, &t->server,
                  IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE |
                      IW_ACCESS_REMOTE_ATOMIC);
    for (size_t i = 0; i < REQUESTS; i++) {
        if (kind_of(i) == READ)
            memcpy(slot(&t->server, i), pattern + place_of(i), size_of(i));
    }
    memset(slot(&t->server, COUNTER), 0, 8);
    assert_int_equal(iw_transport_parse("127.0.0.1:0", at, error, sizeof(error)), 0);
    struct iw_listener_config config = {.domain = t->domain,
                                        .endpoint = t->config,
                                        .ops = talk_ops,
                                        .accepted = on_accepted,
                                        .context = t};
    config.endpoint.role = IW_MPA_RESPONDER;
    t->listener = iw_transport_listen(t->reactor, at, &config, error, sizeof(error));
    assert_string_equal(error, "");
    iw_listener_address(t->listener, address);
    assert_int_equal(iw_transport_parse(address, at, error, sizeof(error)), 0);
    return t;
}

/* Runs until both ends have ended. */
static inline void hold_talk(struct talk *t, const struct iw_host_port *at)
{
    struct iw_endpoint_config config = t->config;
    char error[300];
    config.role = IW_MPA_INITIATOR;
    t->client.c = iw_transport_connect(t->reactor, t->domain, at, &config, &talk_ops, &t->client,
                                       error, sizeof(error));
    if (t->client.c == NULL)
        return;
    iw_connection_endpoint(t->client.c)->landing_min = LANDING_MIN;
    iw_connection_endpoint(t->client.c)->lists_min = 0;
    uint64_t limit = iw_transport_now() + PATIENCE * UINT64_C(1000000) * 100;
    while (!t->client.ended || (t->taken && !t->server.ended)) {
        assert_int_equal(iw_reactor_step(t->reactor, PATIENCE), 0);
        assert_true(iw_transport_now() < limit);
    }
}

/* Checks that every octet has its old value or the one that was to be placed there; only
 * receive_ahead may leave anything in a receive that does not complete. */
static inline void judge_arena(struct side *s)
{
    static bool may[ARENA], must[ARENA]; /* be placed */
    static bool any[ARENA];
    memset(may, 0, sizeof(may));
    memset(must, 0, sizeof(must));
    memset(any, 0, sizeof(any));
    for (size_t i = 0; i < REQUESTS; i++) {
        bool server = s == &s->talk->server;
        if (kind_of(i) != ATOMIC && (server || kind_of(i) != WRITE))
            memset(may + place_of(i), true, size_of(i));
        if (server && kind_of(i) == READ)
            memset(must + place_of(i), true, size_of(i));
        const struct request *r = &s->receive[i];
        if (ahead && r->posted && (r->done == 0 || r->status != IW_STATUS_OK))
            memset(any + place_of(i), true, size_of(i));
    }
    size_t wrong = 0;
    for (size_t k = 0; k < ARENA; k++) {
        bool counter = s == &s->talk->server && k - place_of(COUNTER) < 8;
        bool untouched = s->arena[k] == FILL && !must[k];
        bool placed = s->arena[k] == pattern[k] && may[k];
        wrong += !counter && !untouched && !placed && !any[k];
    }
    assert_int_equal(wrong, 0);
}

static inline void all_done(const struct request *r)
{
    for (size_t i = 0; i < REQUESTS; i++)
        assert_int_equal(r[i].done, r[i].posted ? 1 : 0);
}

/* Returns true if the conversation came to its end. */
static inline bool judge_conversation(struct talk *t)
{
    bool whole = t->next == REQUESTS;
    all_done(t->client.work);
    all_done(t->client.receive);
    all_done(t->server.work);
    all_done(t->server.receive);
    judge_arena(&t->client);
    judge_arena(&t->server);
    for (size_t i = 0; i < REQUESTS; i++)
        whole &= t->client.work[i].posted && t->client.work[i].status == IW_STATUS_OK;
    for (size_t i = 0; i < REQUESTS; i = after(i))
        whole &= t->client.receive[i].posted && t->client.receive[i].status == IW_STATUS_OK;
    return whole;
}

static inline void end_talk(struct talk *t)
{
    iw_reactor_destroy(t->reactor);
    iw_domain_destroy(t->domain);
    iw_host_env_destroy(&t->host);
    free(t);
}

#endif
