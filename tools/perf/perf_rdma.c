/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane of iWARP. Completions drive everything, in `ready`; only the arrival of a Write is
 * detected by its last octet, as no completion reports it.
 *
 * During a slice the two ends talk to each other by Immediate Data: how many Sends may follow
 * (CREDIT), that all has been sent (END), and that it has come (ACK).
 *
 * The connections are divided among threads: each has a reactor and a domain, so that none waits
 * for another. All domains give the same STags: the peer need not know the division.
 */
#include "perf.h"

#include "iwarp/endpoint_transport.h"
#include "iwarp/octets.h"
#include "iwarp/transport.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { CONTROLS = 16, POLL = 32, CREDIT = 1, END = 2, ACK = 3 };

struct flow {
    struct rdma_lane *lane;
    struct part *part;
    uint32_t index;
    struct iw_connection *c;
    struct iw_endpoint *ep;
    uint8_t *source, *sink;

    /* of the slice under way */
    uint64_t posted, completed; /* messages of ours */
    uint64_t received;          /* messages of the peer's program: Sends, or Writes in turn */
    uint64_t credit;            /* Sends that the peer has room for */
    uint64_t granted;           /* the credit that was last given to it */
    uint32_t controls;          /* Immediate Data on its way */
    bool end_posted, end_seen, ack_due, ack_seen, complete;
    uint64_t began;
};

/* The connections of a thread. */
struct part {
    struct rdma_lane *lane;
    uint32_t first, count; /* connections */
    struct iw_host_env env;
    struct iw_domain *domain;
    struct iw_reactor *reactor;
    uint32_t pd;
    uint64_t random; /* the state of what gives the STags */
    uint32_t established, complete;
    uint64_t moved; /* completions; turns of connections that only answer */
    struct perf_samples samples;
    pthread_t thread;
    char error[PERF_TEXT];
};

struct rdma_lane {
    struct perf_lane base;
    struct flow *flows;
    const struct perf_run *run; /* NULL between slices */
    uint32_t count;
    struct part parts[];
};

static struct rdma_lane *of(struct perf_lane *lane)
{
    return (struct rdma_lane *)lane;
}

/* Returns the receives for the peer's Sends; there are CONTROLS more for its Immediate Data. */
static uint32_t receives(const struct perf_setup *setup)
{
    return 4 * setup->window;
}

static void fail(struct flow *f, const char *text)
{
    char *error = f->part->error;
    if (error[0] == '\0')
        snprintf(error, PERF_TEXT, "connection %u: %s", (unsigned)f->index, text);
}

static void post_receive(struct flow *f)
{
    struct iw_iov sge = {f->sink, f->lane->base.stride};
    if (iw_endpoint_post_recv(f->ep, 0, &sge, 1) != IW_OK)
        fail(f, "a receive was refused");
}

static void post(struct flow *f, const struct iw_work *work)
{
    if (iw_endpoint_post(f->ep, work, 0) != IW_OK)
        fail(f, "a work request was refused");
}

static void post_control(struct flow *f, uint32_t kind, uint64_t value)
{
    struct iw_work work = {.opcode = IW_WORK_IMMEDIATE};
    iw_put32(work.immediate, kind);
    iw_put32(work.immediate + 4, (uint32_t)value);
    f->controls++;
    post(f, &work);
}

/* Returns the last octet of a Write: successive ones differ, and none is 0. */
static uint8_t last_octet(uint64_t number)
{
    return (uint8_t)(number % 255 + 1);
}

/* Posts the next message; of a latency, its clock starts. */
static void post_message(struct flow *f)
{
    const struct perf_lane *lane = &f->lane->base;
    const struct perf_run *run = f->lane->run;
    struct iw_iov sge = {f->source, (size_t)run->size};
    uint64_t offset = f->index * (uint64_t)lane->stride;
    bool sends = run->test == PERF_SEND_LAT || run->test == PERF_SEND_BW;
    struct iw_work work = {.remote_to = offset};
    if (perf_is_atomic(run->test)) {
        work.opcode = IW_WORK_FETCH_ADD;
        work.remote_stag = lane->remote_counter;
        work.remote_to = f->index * sizeof(uint64_t);
        work.add_swap = 1;
    } else if (perf_is_read(run->test)) {
        work.opcode = IW_WORK_READ;
        work.remote_stag = lane->remote_source;
        work.sink_stag = lane->local_sink;
        work.sink_to = offset;
        work.length = (uint32_t)run->size;
    } else {
        work.opcode = sends ? IW_WORK_SEND : IW_WORK_WRITE;
        work.remote_stag = lane->remote_sink; /* of a Write */
        work.sge = &sge;
        work.sge_count = 1;
    }
    if (run->test == PERF_WRITE_LAT)
        f->source[run->size - 1] = last_octet(f->posted);
    if (f->part->samples.room > 0)
        f->began = iw_transport_now();
    f->posted++;
    post(f, &work);
}

static bool is_active(const struct flow *f)
{
    return perf_lane_active(&f->lane->base, f->lane->run);
}

/* ---- one turn: post what may be posted ---- */

static void sample(struct flow *f, int halves)
{
    if (f->lane->base.client)
        perf_sample(&f->part->samples, (double)(iw_transport_now() - f->began) / halves);
}

static void advance_ping_pong(struct flow *f)
{
    const struct perf_run *run = f->lane->run;
    bool client = f->lane->base.client;
    if (run->test == PERF_WRITE_LAT && f->received < run->count &&
        f->sink[run->size - 1] == last_octet(f->received)) {
        f->received++;
        sample(f, 2);
    }
    bool turn = client ? f->posted == f->received : f->posted < f->received;
    if (turn && f->posted < run->count)
        post_message(f);
    f->complete = f->received == run->count && f->completed == run->count;
}

static void advance_stream(struct flow *f)
{
    const struct perf_run *run = f->lane->run;
    uint32_t room = receives(&f->lane->base.setup);
    bool sends = run->test == PERF_SEND_BW;
    if (is_active(f)) {
        uint64_t most = f->completed + perf_window(&f->lane->base.setup, run);
        if (sends && most > f->credit)
            most = f->credit;
        while (f->posted < run->count && f->posted < most)
            post_message(f);
        if (f->completed == run->count && !f->end_posted) {
            f->end_posted = true;
            post_control(f, END, 0);
        }
    }
    if (f->received + room / 2 > f->granted && f->received < run->count) {
        f->granted = f->received + room;
        post_control(f, CREDIT, f->granted);
    }
    if (f->ack_due) {
        f->ack_due = false;
        post_control(f, ACK, 0);
    }
    bool out = !is_active(f) || f->ack_seen;
    bool in = (f->lane->base.client && !run->both) || f->end_seen;
    f->complete = out && in && f->controls == 0;
}

static void advance(struct flow *f)
{
    const struct perf_run *run = f->lane->run;
    if (run == NULL || f->complete)
        return;
    if (perf_is_ping_pong(run->test))
        advance_ping_pong(f);
    else
        advance_stream(f);
    f->part->complete += f->complete;
}

/* ---- completions and events ---- */

static void control(struct flow *f, const uint8_t *octets)
{
    uint32_t kind = iw_get32(octets), value = iw_get32(octets + 4);
    if (kind == CREDIT)
        f->credit += (uint32_t)(value - (uint32_t)f->credit); /* 32 bits of what only grows */
    else if (kind == END)
        f->end_seen = f->ack_due = true;
    else
        f->ack_seen = true;
}

static void completed(struct flow *f, const struct iw_completion *done)
{
    f->part->moved++;
    if (done->status != IW_STATUS_OK)
        return; /* an event gives the reason */
    if (done->opcode == IW_WORK_RECV) {
        if (done->immediate) {
            control(f, done->immediate_data);
        } else if (f->lane->run == NULL || done->length != f->lane->run->size) {
            fail(f, "a Send of a length that was not agreed");
        } else {
            f->received++;
            if (f->lane->run->test == PERF_SEND_LAT)
                sample(f, 2);
        }
        post_receive(f);
    } else if (done->opcode == IW_WORK_IMMEDIATE) {
        f->controls--;
    } else {
        f->completed++;
        if (f->lane->run != NULL && perf_is_latency(f->lane->run->test) &&
            perf_is_read(f->lane->run->test))
            sample(f, 1);
        if (done->opcode == IW_WORK_FETCH_ADD && done->original != f->completed - 1)
            fail(f, "an atomic did not find the sum of those before it");
    }
}

static void event(struct flow *f, const struct iw_event *e)
{
    if (e->kind == IW_EVENT_ESTABLISHED)
        f->part->established++;
    else if (e->kind == IW_EVENT_FAULT)
        fail(f, iw_check_info(e->fault.check)->name);
    else if (e->kind == IW_EVENT_TERMINATED)
        fail(f, "the peer sent a Terminate");
    else if (e->kind != IW_EVENT_REQUEST)
        fail(f, "it was closed by the peer");
    else if (iw_endpoint_accept(f->ep, NULL, 0, iw_transport_now()) != IW_OK)
        fail(f, "the start-up was refused");
}

static void ready(void *context, struct iw_connection *c)
{
    struct flow *f = context;
    (void)c;
    struct iw_event e;
    while (iw_endpoint_event(f->ep, &e))
        event(f, &e);
    struct iw_completion done[POLL];
    for (size_t n; (n = iw_endpoint_poll(f->ep, done, POLL)) > 0;)
        for (size_t i = 0; i < n; i++)
            completed(f, &done[i]);
    if (f->lane->run != NULL && !is_active(f))
        f->part->moved++; /* no completion reports the peer's Writes and Reads */
    advance(f);
}

static void ended(void *context, struct iw_connection *c)
{
    struct flow *f = context;
    (void)c;
    f->c = NULL;
    fail(f, "it was lost");
}

/* ---- the lane ---- */

static const struct iw_connection_ops connection_ops = {.ready = ready, .ended = ended};

static struct iw_endpoint_config configure(const struct perf_lane *lane, uint32_t pd)
{
    const struct perf_setup *setup = &lane->setup;
    struct iw_endpoint_config config;
    iw_endpoint_config_default(&config);
    config.role = lane->client ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
    config.mpa.crc = setup->crc;
    config.mpa.markers = setup->markers;
    config.mpa.ird = config.mpa.ord = PERF_READS;
    config.max_reads = PERF_READS;
    config.pd = pd;
    config.send_depth = setup->window + CONTROLS;
    config.recv_depth = receives(setup) + CONTROLS;
    config.max_sge = 1;
    config.receive_ahead = setup->ahead;
    config.mulpdu = setup->mulpdu;
    return config;
}

/* Returns 0, or -1 with the part's error as that of the lane. */
static int outcome(struct part *p)
{
    return p->error[0] == '\0' ? 0 : perf_lane_fail(&p->lane->base, "%s", p->error);
}

static int attach(struct perf_lane *lane, uint32_t index, int fd)
{
    struct rdma_lane *r = of(lane);
    struct flow *f = &r->flows[index];
    struct part *p = &r->parts[r->count - 1];
    while (p->first > index)
        p--;
    struct iw_endpoint_config config = configure(lane, p->pd);
    *f = (struct flow){.lane = r,
                       .part = p,
                       .index = index,
                       .source = lane->source + index * lane->stride,
                       .sink = lane->sink + index * lane->stride};
    f->c = iw_transport_adopt(p->reactor, p->domain, fd, &config, &connection_ops, f);
    if (f->c == NULL) {
        close(fd);
        return perf_lane_fail(lane, "no memory for a connection");
    }
    f->ep = iw_connection_endpoint(f->c);
    for (uint32_t i = 0; i < config.recv_depth && p->error[0] == '\0'; i++)
        post_receive(f);
    return outcome(p);
}

/* Steps until `*count` reaches the number of connections. */
static void turn_until(struct part *p, const uint32_t *count)
{
    bool poll = p->lane->base.setup.poll;
    double since = perf_seconds();
    uint64_t moved = p->moved;
    uint32_t look = poll ? 4096 : 16; /* steps between two looks at the clock */
    for (uint32_t n = 1; *count < p->count && p->error[0] == '\0'; n++) {
        if (iw_reactor_step(p->reactor, poll ? 0 : 1000))
            snprintf(p->error, sizeof(p->error), "epoll failed");
        if (n % look != 0)
            continue;
        double now = perf_seconds();
        if (moved != p->moved)
            since = now;
        moved = p->moved;
        if (now - since > PERF_STALL && p->error[0] == '\0')
            snprintf(p->error, sizeof(p->error), "no progress for %d seconds", PERF_STALL);
    }
}

/* Establishes the parts in the same order at both ends, so that none waits for another. */
static int establish(struct perf_lane *lane)
{
    struct rdma_lane *r = of(lane);
    uint64_t now = iw_transport_now();
    /* The last of many sockets may come long after the first: no start-up has begun yet. */
    for (uint32_t i = 0; i < lane->setup.connections; i++)
        iw_endpoint_begin(r->flows[i].ep, now);
    for (struct part *p = r->parts; p < r->parts + r->count; p++) {
        turn_until(p, &p->established);
        if (outcome(p))
            return -1;
    }
    return 0;
}

static int prepare(struct perf_lane *lane, const struct perf_run *run)
{
    struct rdma_lane *r = of(lane);
    for (uint32_t i = 0; i < lane->setup.connections; i++) {
        struct flow *f = &r->flows[i];
        f->posted = f->completed = f->received = 0;
        f->credit = f->granted = receives(&lane->setup);
        f->end_posted = f->end_seen = f->ack_due = f->ack_seen = f->complete = false;
        if (run->test == PERF_WRITE_LAT)
            f->sink[run->size - 1] = 0;
    }
    for (uint32_t i = 0; i < r->count; i++)
        r->parts[i].complete = 0;
    r->run = run;
    return 0;
}

static void *run_part(void *context)
{
    struct part *p = context;
    for (uint32_t i = p->first; p->lane->base.client && i < p->first + p->count; i++)
        if (p->lane->flows[i].c != NULL)
            iw_connection_kick(p->lane->flows[i].c);
    turn_until(p, &p->complete);
    return NULL;
}

/* Runs the first part in this thread. */
static int execute(struct perf_lane *lane, const struct perf_run *run, struct perf_samples *samples)
{
    struct rdma_lane *r = of(lane);
    size_t room = samples != NULL ? samples->room / lane->setup.connections : 0;
    uint32_t started = 1;
    (void)run;
    for (uint32_t i = 0; i < r->count; i++) {
        struct part *p = &r->parts[i];
        p->samples = (struct perf_samples){.room = room * p->count};
        if (room > 0)
            p->samples.values = samples->values + room * p->first;
    }
    while (started < r->count &&
           pthread_create(&r->parts[started].thread, NULL, run_part, &r->parts[started]) == 0)
        started++;
    int result = started < r->count ? perf_lane_fail(lane, "cannot start a thread") : 0;
    if (result == 0)
        run_part(&r->parts[0]);
    lane->calls = 0;
    for (uint32_t i = 0; i < started; i++) {
        struct part *p = &r->parts[i];
        if (i > 0)
            pthread_join(p->thread, NULL);
        lane->calls += iw_reactor_calls(p->reactor);
        if (outcome(p))
            result = -1;
        if (room > 0) {
            memmove(samples->values + samples->count, p->samples.values,
                    p->samples.count * sizeof(*samples->values));
            samples->count += p->samples.count;
        }
    }
    r->run = NULL;
    return result;
}

static void close_lane(struct perf_lane *lane)
{
    struct rdma_lane *r = of(lane);
    for (uint32_t i = 0; i < r->count; i++) {
        iw_reactor_destroy(r->parts[i].reactor);
        iw_domain_destroy(r->parts[i].domain);
        iw_host_env_destroy(&r->parts[i].env);
    }
    free(r->flows);
}

/* Registers memory in all domains. Returns false if there is no room for it. */
static bool share_one(struct rdma_lane *r, void *base, uint64_t length, uint32_t access,
                      uint32_t *stag)
{
    struct iw_region region = {.base = base, .length = length, .access = access};
    for (uint32_t i = 0; i < r->count; i++) {
        region.pd = r->parts[i].pd;
        if (iw_domain_register(r->parts[i].domain, &region) != 0)
            return false;
    }
    *stag = region.stag;
    return true;
}

static int share(struct perf_lane *lane)
{
    struct rdma_lane *r = of(lane);
    uint64_t all = (uint64_t)lane->stride * lane->setup.connections;
    bool good = share_one(r, lane->sink, all, IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE,
                          &lane->local_sink) &&
                share_one(r, lane->source, all, IW_ACCESS_REMOTE_READ, &lane->local_source) &&
                share_one(r, lane->counter, lane->setup.connections * sizeof(uint64_t),
                          IW_ACCESS_REMOTE_ATOMIC, &lane->local_counter);
    return good ? 0 : -1;
}

static const struct perf_lane_ops rdma_ops = {share,   attach,  establish,
                                              prepare, execute, close_lane};

/* Generates the same numbers for each domain with the same seed (splitmix64). */
static void repeatable(void *context, void *out, size_t length)
{
    struct part *p = context;
    uint8_t *octets = out;
    for (size_t i = 0; i < length; i++) {
        uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        octets[i] = (uint8_t)((z ^ z >> 27) >> 32);
    }
}

static bool add_part(struct rdma_lane *r, uint64_t seed)
{
    const struct perf_setup *setup = &r->base.setup;
    struct part *p = &r->parts[r->count++];
    p->lane = r;
    p->first = (uint32_t)((uint64_t)setup->connections * (r->count - 1) / setup->threads);
    p->count = (uint32_t)((uint64_t)setup->connections * r->count / setup->threads) - p->first;
    p->random = seed;
    iw_host_env_init(&p->env, false);
    p->env.env.context = p;
    p->env.env.random = repeatable;
    p->domain = iw_domain_create(&p->env.env, &(struct iw_domain_limits){4, 2 * p->count + 2});
    p->reactor = iw_reactor_create();
    if (p->domain == NULL || p->reactor == NULL)
        return false;
    p->pd = iw_domain_pd(p->domain);
    iw_reactor_busy(p->reactor, setup->poll);
    return true;
}

struct perf_lane *perf_rdma_new(const struct perf_setup *setup)
{
    struct rdma_lane *r = calloc(1, sizeof(*r) + setup->threads * sizeof(*r->parts));
    uint64_t seed = (uint64_t)(uintptr_t)r;
    if (r == NULL)
        return NULL;
    r->base.ops = &rdma_ops;
    r->base.setup = *setup;
    r->flows = calloc(setup->connections, sizeof(*r->flows));
    (void)!getrandom(&seed, sizeof(seed), 0);
    bool good = r->flows != NULL;
    while (good && r->count < setup->threads)
        good = add_part(r, seed);
    if (good)
        return &r->base;
    perf_lane_destroy(&r->base);
    return NULL;
}
