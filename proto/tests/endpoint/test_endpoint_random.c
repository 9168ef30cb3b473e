/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"
#include "random_memory.h"

#include "random_atomics.h"
#include "random_channel.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Random legal traffic between two endpoints against a model. Both directions carry all operations
 * at once over channels that delay and cut as they like; every completion is compared with what
 * must have happened by then, every octet of both memories with a shadow at the end.
 *
 * IW_SEED is the first run's number, IW_RUNS how many there are (with IW_SEED alone: one). The
 * numbers are printed, and that of a run that fails.
 */

enum { SIZE_MAX_OP = 1 << 20, OPS = 96, RUNS = 30, IDLE_MAX = 4000 };

struct op {
    bool used, fence;
    int side; /* who posted it */
    enum iw_work_opcode opcode;
    uint64_t number;
    uint32_t length;
    struct list from, to; /* a Read: one range at the peer, one here */
    struct iw_region invalidated;
    struct iw_work work;      /* atomics and Immediate Data */
    bool completed, received; /* by the poster; Sends: by the receiver, too */
    enum iw_status status;
};

struct queue {
    int ops[1024];
    unsigned head, tail;
};

struct end {
    struct iw_domain *domain;
    struct iw_endpoint *ep;
    struct iw_endpoint_config config;
    struct memory memory;
    struct cell cell; /* of this memory, the peer's */
    struct iw_region region;
    struct queue sends, recvs;
    uint8_t private_data[512];
    size_t private_length;
    struct channel channel; /* octets on their way from here */
    unsigned send_weight, deliver_weight;
    bool fin_sent, fin_delivered, established, closed, shut, flushed;
};

struct world {
    struct pair pair; /* allocator and STags */
    uint64_t now;
    struct end end[2];
    struct op ops[OPS];
    uint64_t number;
    unsigned left;  /* operations still to be posted */
    int first_shut; /* who closes first; -1: nobody yet */
    bool reset;
    bool started;
    bool unordered; /* octets come out of order, and again */
};

static struct world w;
static uint8_t scratch[2][SIZE_MAX_OP + 1];

/* The octets have arrived, and those of the target after them are as before. */
static void assert_arrived(const struct op *op)
{
    int from = op->opcode == IW_WORK_READ ? 1 - op->side : op->side;
    gather(w.end[from].memory.octets, &op->from, scratch[0]);
    gather(w.end[1 - from].memory.octets, &op->to, scratch[1]);
    assert_memory_equal(scratch[0], scratch[1], op->length);
    size_t rest = total(&op->to) - op->length;
    gather(w.end[1 - from].memory.shadow, &op->to, scratch[0]);
    assert_memory_equal(scratch[0] + op->length, scratch[1] + op->length, rest);
    accept_target(&w.end[1 - from].memory, &op->to);
}

static void retire(struct op *op)
{
    int from = op->opcode == IW_WORK_READ ? 1 - op->side : op->side;
    release(&w.end[from].memory, &op->from);
    release(&w.end[1 - from].memory, &op->to);
    if (op->invalidated.stag != 0)
        assert_int_equal(iw_domain_deregister(w.end[1 - op->side].domain, op->invalidated.stag), 0);
    op->used = false;
}

/* ---- operations ---- */

static void to_iov(int side, const struct list *l, struct iw_iov *out)
{
    for (size_t i = 0; i < l->count; i++)
        out[i] = (struct iw_iov){w.end[side].memory.octets + l->at[i].offset, l->at[i].length};
}

static size_t random_size(int side)
{
    size_t most = w.end[side].channel.most < 32 ? 5000 : SIZE_MAX_OP;
    switch (below(16)) {
    case 0:
        return 0;
    case 1:
        return below(16);
    case 2:
        return below(most + 1);
    case 3:
        return most >= 65536 ? below(65536) : below(most);
    default:
        return below(4096);
    }
}

/* The start-up, or this end before it, allows no Reads. */
static bool no_reads(const struct end *e)
{
    const struct iw_mpa_agreed *agreed = iw_endpoint_agreed(e->ep);
    if (agreed == NULL)
        return e->config.mpa.ord == 0;
    return agreed->ord == 0 || (agreed->ord == 0x3fff && agreed->enhanced && agreed->peer_ird == 0);
}

/* Posts the receive for a Send first: its pieces can hold it, or more. */
static bool post_recv(struct op *op)
{
    int to = 1 - op->side;
    struct iw_iov sge[PIECES];
    struct queue *q = &w.end[to].recvs;
    size_t room = op->length + (chance(50) || op->length == SIZE_MAX_OP ? 0 : below(100));
    if (room > SIZE_MAX_OP)
        room = op->length;
    if (!reserve_list(&w.end[to].memory, room, w.end[to].config.max_sge, &op->to))
        return false;
    to_iov(to, &op->to, sge);
    int result = iw_endpoint_post_recv(w.end[to].ep, op->number, sge, op->to.count);
    if (result != IW_OK) {
        assert_true(result == IW_ERR_FULL || result == IW_ERR_STATE);
        release(&w.end[to].memory, &op->to);
        return false;
    }
    q->ops[q->tail++ % 1024] = (int)(op - w.ops);
    return true;
}

static bool is_atomic(const struct op *op)
{
    return op->opcode == IW_WORK_FETCH_ADD || op->opcode == IW_WORK_CMP_SWAP;
}

static bool is_immediate(const struct op *op)
{
    return op->opcode == IW_WORK_IMMEDIATE || op->opcode == IW_WORK_IMMEDIATE_SE;
}

static void post(int side)
{
    struct end *e = &w.end[side], *f = &w.end[1 - side];
    struct op *op = w.ops;
    while (op < w.ops + OPS && op->used)
        op++;
    if (op == w.ops + OPS || e->shut || e->closed || f->closed)
        return;
    *op = (struct op){.side = side, .opcode = (enum iw_work_opcode)below(IW_WORK_RECV)};
    op->number = ++w.number;
    op->fence = chance(15);
    op->length = op->opcode >= IW_WORK_IMMEDIATE ? 0 : (uint32_t)random_size(side);
    struct iw_iov sge[PIECES];
    struct iw_work work = {.id = op->number,
                           .opcode = op->opcode,
                           .sge = sge,
                           .flags = op->fence ? IW_WORK_FENCE : 0,
                           .length = op->length};
    bool read = op->opcode == IW_WORK_READ, write = op->opcode == IW_WORK_WRITE;
    bool atomic = is_atomic(op), send = !read && !write && !atomic;
    int from = read ? 1 - side : side;
    if (!reserve_list(&w.end[from].memory, op->length, read ? 1 : e->config.max_sge, &op->from))
        return;
    if (!send && !reserve_list(&w.end[1 - from].memory, op->length, 1, &op->to)) {
        release(&w.end[from].memory, &op->from);
        return;
    }
    fill(&w.end[from].memory, &op->from);
    op->used = true;
    /* Is there room, and a receive to be had? */
    if (e->sends.tail - e->sends.head >= e->config.send_depth || (send && !post_recv(op))) {
        retire(op);
        return;
    }
    if (op->opcode == IW_WORK_SEND_INVALIDATE || op->opcode == IW_WORK_SEND_SE_INVALIDATE) {
        op->invalidated = f->region;
        op->invalidated.access |= IW_ACCESS_REMOTE_INVALIDATE;
        if (chance(50))
            op->invalidated.stream = iw_endpoint_stream(f->ep);
        assert_int_equal(iw_domain_register(f->domain, &op->invalidated), 0);
        work.invalidate_stag = op->invalidated.stag;
    }
    if (!read) {
        to_iov(side, &op->from, sge);
        work.sge_count = op->from.count;
    }
    size_t peer = atomic ? CELL : read ? op->from.at[0].offset : write ? op->to.at[0].offset : 0;
    cell_ask(&work);
    for (size_t i = 0; i < sizeof(work.immediate); i++)
        work.immediate[i] = (uint8_t)any();
    op->work = work;
    work.remote_stag = f->region.stag;
    work.remote_to = f->region.to + peer;
    work.sink_stag = e->region.stag;
    work.sink_to = e->region.to + (read ? op->to.at[0].offset : 0);
    int result = iw_endpoint_post(e->ep, &work, w.now);
    if (result == IW_ERR_ARGUMENT) { /* no ORD */
        assert_true((read || atomic) && no_reads(e));
        retire(op);
        return;
    }
    assert_true(result == IW_OK || result == IW_ERR_STATE);
    if (result == IW_OK) {
        e->sends.ops[e->sends.tail++ % 1024] = (int)(op - w.ops);
    } else if (send) { /* its receive will be given back at the end */
        op->completed = true;
        op->status = IW_STATUS_FLUSHED;
    } else {
        retire(op);
    }
    if (w.left > 0)
        w.left--;
}

/* ---- the model of completions ---- */

static void write_is_placed(struct op *op, bool certain)
{
    if (certain)
        assert_arrived(op);
    else
        accept_target(&w.end[1 - op->side].memory, &op->to);
    retire(op);
}

/* A Send or Immediate Data has been delivered: Writes posted before it are placed (RFC 5040 §5.5),
 * and Reads and atomics are done if it was fenced. */
static void delivered(const struct op *send)
{
    for (struct op *op = w.ops; op < w.ops + OPS; op++) {
        if (!op->used || op->side != send->side || op->number >= send->number)
            continue;
        if (op->opcode == IW_WORK_READ || is_atomic(op))
            assert_true(!send->fence || op->completed);
        else if (op->opcode == IW_WORK_WRITE && op->completed)
            write_is_placed(op, true);
    }
}

static void complete_send(int side, const struct iw_completion *c)
{
    struct end *e = &w.end[side];
    assert_true(e->sends.head != e->sends.tail);
    struct op *op = &w.ops[e->sends.ops[e->sends.head++ % 1024]];
    assert_int_equal(c->id, op->number); /* in posting order */
    assert_int_equal(c->opcode, op->opcode);
    bool atomic = is_atomic(op), read = op->opcode == IW_WORK_READ || atomic;
    op->completed = true;
    op->status = c->status;
    if (read && c->status == IW_STATUS_LOCAL_FAULT) {
        assert_int_equal(c->check, IW_CHECK_RDMAP_IRD);
        assert_true(no_reads(e));
        retire(op);
        return;
    }
    if (c->status == IW_STATUS_OK) {
        assert_false(e->flushed);
        assert_int_equal(c->length, atomic || is_immediate(op) ? 8 : op->length);
        if (atomic)
            cell_done(&w.end[1 - side].cell, &op->work, c->original);
        else if (read)
            assert_arrived(op);
        if (read)
            retire(op);
    } else {
        /* Only a reset, a close before the start-up is over, or a Read that the peer's close leaves
         * unanswered, costs work. */
        assert_int_equal(c->status, IW_STATUS_FLUSHED);
        if (!w.reset && e->established && !e->flushed && !(read && w.end[1 - side].shut))
            fail_msg("side %d lost operation %d, %u octets", side, op->opcode, op->length);
        e->flushed = true;
        if (atomic)
            cell_unsure(&w.end[1 - side].cell, &op->work);
        if (read) {
            accept_target(&w.end[side].memory, &op->to);
            retire(op);
        }
    }
    if (op->used && op->received)
        retire(op);
}

static void complete_recv(int side, const struct iw_completion *c)
{
    struct end *e = &w.end[side];
    assert_true(e->recvs.head != e->recvs.tail);
    struct op *op = &w.ops[e->recvs.ops[e->recvs.head++ % 1024]];
    assert_int_equal(c->id, op->number);
    op->received = true;
    if (c->status == IW_STATUS_OK) {
        bool invalidates = op->invalidated.stag != 0;
        struct iw_region r;
        assert_int_equal(c->length, is_immediate(op) ? 8 : op->length);
        assert_int_equal(c->immediate, is_immediate(op));
        if (c->immediate)
            assert_memory_equal(c->immediate_data, op->work.immediate, 8);
        assert_int_equal(c->solicited, op->opcode == IW_WORK_SEND_SE ||
                                           op->opcode == IW_WORK_SEND_SE_INVALIDATE ||
                                           op->opcode == IW_WORK_IMMEDIATE_SE);
        assert_int_equal(c->invalidated, invalidates);
        assert_int_equal(c->invalidate_stag, op->invalidated.stag);
        if (invalidates) {
            assert_true(iw_domain_lookup(e->domain, c->invalidate_stag, &r));
            assert_false(r.valid);
        }
        assert_arrived(op);
        delivered(op);
    } else {
        assert_int_equal(c->status, IW_STATUS_FLUSHED);
        accept_target(&w.end[side].memory, &op->to);
    }
    if (op->completed)
        retire(op);
}

static void poll(int side)
{
    struct iw_completion c[3];
    size_t count;
    while ((count = iw_endpoint_poll(w.end[side].ep, c, 1 + below(3))) > 0)
        for (size_t i = 0; i < count; i++)
            (c[i].opcode == IW_WORK_RECV ? complete_recv : complete_send)(side, &c[i]);
}

/* ---- connections ---- */

static void check_private(int side)
{
    const uint8_t *data;
    size_t length = iw_endpoint_private(w.end[side].ep, &data);
    const struct end *f = &w.end[1 - side];
    assert_int_equal(length, f->private_length);
    if (length > 0)
        assert_memory_equal(data, f->private_data, length);
}

static void take_events(int side)
{
    struct end *e = &w.end[side];
    struct iw_event event;
    int result;
    bool over;
    while (iw_endpoint_event(e->ep, &event)) {
        assert_false(e->closed);
        switch (event.kind) {
        case IW_EVENT_REQUEST:
            check_private(side);
            if (w.end[0].config.mpa.enhanced && e->private_length > 508)
                e->private_length = 508;
            over = e->shut || w.reset || w.end[1 - side].fin_delivered;
            result = iw_endpoint_accept(e->ep, e->private_data, e->private_length, w.now);
            assert_true(result == IW_OK || (over && result == IW_ERR_STATE));
            break;
        case IW_EVENT_ESTABLISHED:
            e->established = true;
            check_private(side);
            break;
        case IW_EVENT_PEER_CLOSED:
            assert_true(w.end[1 - side].fin_sent);
            break;
        case IW_EVENT_CLOSED:
            e->closed = true;
            assert_true(event.graceful || w.reset);
            break;
        default:
            fail_msg("event %d, check %s", event.kind, iw_check_info(event.fault.check)->name);
        }
    }
}

static void settle(void)
{
    for (int i = 0; i < 2; i++) {
        poll(i);
        take_events(i);
    }
}

static bool send_octets(int side)
{
    struct end *e = &w.end[side];
    const struct iw_iov *pieces;
    size_t counts[IW_ENDPOINT_LISTS], count = 0;
    size_t lists =
        iw_endpoint_output_lists(e->ep, &pieces, counts, 1 + below(IW_ENDPOINT_LISTS), w.now);
    for (size_t i = 0; i < lists; i++)
        count += counts[i];
    if (count == 0) {
        if (iw_endpoint_want(e->ep) != IW_WANT_FIN || e->fin_sent)
            return false;
        e->fin_sent = true;
        iw_endpoint_fin_sent(e->ep, w.now);
        return true;
    }
    assert_false(e->fin_sent);
    size_t sent = channel_put(&e->channel, pieces, count);
    if (sent > 0)
        iw_endpoint_sent(e->ep, sent, w.now);
    return sent > 0;
}

static bool deliver_octets(int from)
{
    struct end *e = &w.end[from];
    struct iw_endpoint *to = w.end[1 - from].ep;
    if (channel_holds(&e->channel) == 0) {
        if (!e->fin_sent || e->fin_delivered)
            return false;
        e->fin_delivered = true;
        iw_endpoint_input_end(to, true, w.now);
        return true;
    }
    channel_deliver(&e->channel, to, w.unordered, w.now);
    return true;
}

static void shut(int side)
{
    if (w.first_shut < 0)
        w.first_shut = side;
    w.end[side].shut = true;
    iw_endpoint_shutdown(w.end[side].ep, w.now);
}

static void reset(void)
{
    int side = (int)below(2);
    w.reset = true;
    if (chance(50))
        iw_endpoint_abort(w.end[side].ep, false, 0, w.now);
    else
        iw_endpoint_input_end(w.end[side].ep, false, w.now);
    settle();
    for (unsigned n = 0; n < 5; n++)
        (void)deliver_octets(side);
    iw_endpoint_input_end(w.end[1 - side].ep, false, w.now);
    settle();
}

/* ---- one run ---- */

static uint16_t random_depth(void)
{
    static const uint16_t depths[] = {0, 1, 1, 2, 3, 7, 16, 0x3fff};
    return depths[below(8)];
}

static void configure(int side)
{
    struct end *e = &w.end[side];
    struct iw_endpoint_config *c = &e->config;
    static const size_t most[] = {1, 3, 37, 1460, 1460, 65536, CHANNEL, CHANNEL};
    iw_endpoint_config_default(c);
    c->role = side == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
    c->mpa.crc = chance(60);
    c->mpa.markers = chance(40);
    c->mpa.revision = chance(25) ? 1 : 2;
    c->mpa.enhanced = side == 0 && c->mpa.revision == 2 && chance(80);
    c->mpa.peer_to_peer = c->mpa.enhanced && chance(60);
    c->mpa.rtr =
        (uint8_t)(IW_MPA_RTR_WRITE | below(2) * IW_MPA_RTR_SEND | below(2) * IW_MPA_RTR_READ);
    c->mpa.ird = random_depth();
    c->mpa.ord = random_depth();
    c->send_depth = 1 + (uint32_t)below(chance(30) ? 4 : 70);
    c->recv_depth = 1 + (uint32_t)below(chance(30) ? 4 : 70);
    c->max_sge = 1 + (uint32_t)below(PIECES);
    c->max_reads = 1 + (uint32_t)below(40);
    c->mulpdu = chance(40) ? 0 : 128 + (uint32_t)below(chance(50) ? 3000 : 64768 - 127);
    c->emss = chance(50) ? 1460 : (uint32_t)below(70000);
    e->channel.most = most[below(8)];
    e->private_length = below(chance(50) ? 20 : 509);
    for (size_t i = 0; i < e->private_length; i++)
        e->private_data[i] = (uint8_t)any();
    c->private_data = e->private_data;
    c->private_length = side == 0 ? e->private_length : 0;
}

/* The two configurations understand each other. */
static void reconcile(void)
{
    struct iw_mpa_config *a = &w.end[0].config.mpa, *b = &w.end[1].config.mpa;
    if (a->revision > b->revision)
        b->revision = a->revision;
    if (!a->enhanced) {
        /* Nothing is negotiated: the configurations must agree. */
        a->ord = a->ord == 0x3fff ? 16 : a->ord;
        b->ord = b->ord == 0x3fff ? 16 : b->ord;
        a->ird = b->ord;
        b->ird = a->ord;
    }
    /* The ULPs settle the depths that are left to them like this: */
    if (a->ord == 0x3fff)
        b->ird = 0x3fff;
    w.end[0].config.max_reads = w.end[1].config.max_reads = 16 + (uint32_t)below(20);
}

static void open_world(uint64_t seed)
{
    memset(&w, 0, sizeof(w));
    random_begin(seed);
    for (unsigned i = 0; i < 8; i++)
        (void)any();
    w.now = 1000;
    w.first_shut = -1;
    w.pair.allocations_left = -1;
    w.pair.side[0].seed = (uint32_t)any();
    w.unordered = chance(50);
    w.left = 1 + (unsigned)below(chance(20) ? 200 : 40);
    configure(0);
    configure(1);
    reconcile();
    for (int i = 0; i < 2; i++) {
        struct end *e = &w.end[i];
        struct iw_env env = {&w.pair, pair_alloc, pair_free,         pair_random,
                             NULL,    NULL,       iw_crc32c_portable};
        struct iw_domain_limits limits = {OPS + 1, 2};
        e->domain = iw_domain_create(&env, &limits);
        assert_non_null(e->domain);
        e->config.pd = iw_domain_pd(e->domain);
        memory_open(&e->memory, 0x40 + i);
        cell_open(&e->cell, &e->memory);
        channel_open(&e->channel);
        e->region = (struct iw_region){.base = e->memory.octets,
                                       .length = MEMORY,
                                       .to = chance(30) ? UINT64_MAX - MEMORY : any() >> 8,
                                       .guard = BLOCK,
                                       .pd = e->config.pd,
                                       .access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_READ |
                                                 IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_ATOMIC};
        assert_int_equal(iw_domain_register(e->domain, &e->region), 0);
        assert_int_equal(iw_endpoint_create(e->domain, &e->config, w.now, &e->ep), IW_OK);
    }
}

static void close_world(void)
{
    for (struct op *op = w.ops; op < w.ops + OPS; op++) {
        if (!op->used)
            continue;
        /* Only Writes can be left: nothing but the end of the stream shows them. */
        assert_int_equal(op->opcode, IW_WORK_WRITE);
        assert_true(op->completed);
        write_is_placed(op, op->status == IW_STATUS_OK && !w.reset);
    }
    for (int i = 0; i < 2; i++) {
        struct end *e = &w.end[i];
        assert_true(e->sends.head == e->sends.tail && e->recvs.head == e->recvs.tail);
        cell_close(&e->cell, &e->memory);
        memory_close(&e->memory);
        iw_endpoint_destroy(e->ep);
        /* All pool buffers are back. */
        for (unsigned n = 0; n < 2; n++)
            assert_non_null(iw_domain_borrow(e->domain));
        iw_domain_destroy(e->domain);
        channel_close(&e->channel);
    }
    assert_int_equal(w.pair.allocations_live, 0);
}

/* One thing happens, or nothing. True if anything moved. */
static bool step(void)
{
    int side = (int)below(2);
    struct end *e = &w.end[side];
    size_t what = below(e->send_weight + e->deliver_weight + 6);
    if (what < e->send_weight)
        return send_octets(side);
    if (w.unordered && what < e->send_weight + e->deliver_weight && chance(30))
        channel_deliver_early(&e->channel, w.end[1 - side].ep, w.now);
    if (what < e->send_weight + e->deliver_weight)
        return deliver_octets(side);
    if (w.left == 0 && !e->shut && (w.first_shut != 1 - side || e->fin_delivered || chance(20))) {
        /* A client must have spoken once, or its server may never do so. */
        if (side == 1 && !w.started)
            return false;
        shut(side);
        return true;
    }
    if (w.left > 0 || w.first_shut == 1 - side)
        post(side);
    return false;
}

static void run(uint64_t seed)
{
    open_world(seed);
    bool may_reset = chance(20);
    struct iw_work hello = {.opcode = IW_WORK_WRITE};
    struct op *op = &w.ops[0];
    *op = (struct op){.used = true, .opcode = IW_WORK_WRITE, .number = ++w.number};
    hello.id = op->number;
    assert_int_equal(iw_endpoint_post(w.end[0].ep, &hello, w.now), IW_OK);
    w.end[0].sends.ops[w.end[0].sends.tail++] = 0;
    w.started = true;
    for (unsigned idle = 0; !(w.end[0].closed && w.end[1].closed);) {
        if (below(300) == 0 || w.end[0].send_weight == 0)
            for (int i = 0; i < 2; i++) {
                w.end[i].send_weight = 1 + (unsigned)below(12);
                w.end[i].deliver_weight = 1 + (unsigned)below(12);
            }
        idle = step() ? 0 : idle + 1;
        w.now += below(100);
        settle();
        if (idle > IDLE_MAX)
            fail_msg("stuck");
        if (may_reset && below(2000) == 0 && !w.end[0].closed && !w.end[1].closed)
            reset();
    }
    close_world();
}

static uint64_t running;
static bool failed;

static void test_random_traffic(void **state)
{
    (void)state;
    uint64_t first = number_from("IW_SEED", 1);
    uint64_t runs = number_from("IW_RUNS", getenv("IW_SEED") != NULL ? 1 : RUNS);
    print_message("runs %" PRIu64 " to %" PRIu64 "\n", first, first + runs - 1);
    failed = true;
    for (running = first; running < first + runs; running++)
        run(running);
    failed = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_traffic)};
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        fprintf(stderr, "replay: IW_SEED=%" PRIu64 "\n", running);
    return result;
}
