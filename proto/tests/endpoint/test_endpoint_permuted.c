/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"
#include "random_memory.h"

#include <stdio.h>

/*
 * Every order of arrival gives what arrival in order gives. Two endpoints exchange random legal
 * traffic over a channel that keeps the order; what one of them received is then cut into TCP
 * segments anew and given to a fresh twin of it in random order, with repeats, overlaps and
 * refusals. Memory and completions must be the same.
 *
 * IW_SEED replays one run (its number is printed when it fails), IW_RUNS sets how many there are.
 */

enum { RUNS = 120, OPS_MOST = 40, QUARTER = PAIR_MEMORY / 4, STREAM_MOST = 4 << 20 };
/* The uses of the quarters of each side's memory. */
enum { TARGETS, SINKS, RECEIVES, SOURCES };

/* How octets may be found after a gap. */
enum { MARKERS, ALIGNED, DEFAULT, MISJUDGED, NO_CRC, MODES };

struct op {
    int side;
    enum iw_work_opcode opcode;
    uint32_t length, room; /* room: of the receive */
    size_t here, there;    /* in the memories of the poster and of its peer */
};

static struct {
    int mode, receiver;
    struct iw_endpoint_config config[2];
    struct op op[OPS_MOST + 1];
    size_t ops;
    uint64_t content; /* the initial octets of the memories */
    uint8_t *stream;  /* all that the receiver was sent */
    size_t length;
    uint64_t fpdu[8192]; /* where its FPDUs begin, from the start-up frame on */
    size_t fpdus;
    unsigned early;
} plan;

static unsigned early_in[MODES];

static void on_trace(void *context, const struct iw_trace *t)
{
    int side = *(const int *)context;
    if (side == plan.receiver && t->kind == IW_TRACE_FPDU_EARLY)
        plan.early++;
    if (side != plan.receiver && t->kind == IW_TRACE_FPDU_OUT) {
        assert_true(plan.fpdus < 8192);
        plan.fpdu[plan.fpdus++] = t->pos;
    }
}

static void on_tap(struct pair *p, int from, uint8_t *octets, size_t length)
{
    (void)p;
    if (from == plan.receiver)
        return;
    assert_true(length <= STREAM_MOST - plan.length);
    memcpy(plan.stream + plan.length, octets, length);
    plan.length += length;
}

/* ---- the traffic ---- */

static void configure(void)
{
    static const int sides[2] = {0, 1};
    pair_defaults(plan.config);
    bool peer_to_peer = chance(30);
    for (int i = 0; i < 2; i++) {
        struct iw_endpoint_config *c = &plan.config[i];
        c->trace = on_trace;
        c->trace_context = (void *)(uintptr_t)&sides[i];
        c->mpa.crc = plan.mode != NO_CRC;
        c->mpa.markers = chance(50);
        c->mpa.peer_to_peer = peer_to_peer;
        c->emss = chance(70) ? 200 + (uint32_t)below(9000) : 200 + (uint32_t)below(65000);
    }
    struct iw_endpoint_config *c = &plan.config[plan.receiver];
    c->mpa.markers = plan.mode == MARKERS || plan.mode == NO_CRC;
    c->aligned_peer = plan.mode == ALIGNED || plan.mode == MISJUDGED;
}

static size_t place(int quarter, uint32_t length)
{
    return (size_t)quarter * QUARTER + below(QUARTER - length + 1);
}

static void add_op(int side, enum iw_work_opcode opcode, uint32_t length)
{
    static size_t next_receive[2];
    if (plan.ops == 0)
        next_receive[0] = next_receive[1] = RECEIVES * (size_t)QUARTER;
    struct op *op = &plan.op[plan.ops];
    *op = (struct op){.side = side, .opcode = opcode, .length = length};
    if (opcode == IW_WORK_READ) {
        op->here = place(SINKS, length);
        op->there = place(SOURCES, length);
    } else {
        op->here = place(SOURCES, length);
        op->there = place(TARGETS, length); /* Writes may overlap */
        op->room = length + (uint32_t)below(50);
        if (opcode != IW_WORK_WRITE) {
            size_t end = (RECEIVES + 1) * (size_t)QUARTER;
            if (op->room > end - next_receive[1 - side])
                return;
            op->there = next_receive[1 - side];
            next_receive[1 - side] += op->room;
        }
    }
    plan.ops++;
}

static void make_traffic(void)
{
    static const enum iw_work_opcode kinds[] = {IW_WORK_WRITE, IW_WORK_WRITE,   IW_WORK_SEND,
                                                IW_WORK_SEND,  IW_WORK_SEND_SE, IW_WORK_READ};
    unsigned reads[2] = {0, 0};
    size_t count = 2 + below(OPS_MOST - 2);
    plan.ops = 0;
    /* An initiator must speak first. */
    add_op(0, IW_WORK_WRITE, 0);
    while (count-- > 0) {
        int side = chance(65) ? 1 - plan.receiver : plan.receiver;
        enum iw_work_opcode opcode = kinds[below(6)];
        if (opcode == IW_WORK_READ && ++reads[side] > 14) /* all can be under way at once */
            opcode = IW_WORK_WRITE;
        add_op(side, opcode,
               (uint32_t)(chance(10)   ? 0
                          : chance(15) ? below(60000)
                                       : below(chance(50) ? 300 : 6000)));
    }
}

static void post_all(struct pair *p, int side)
{
    struct pair_side *s = &p->side[side];
    struct iw_region *other = &p->side[1 - side].region;
    for (size_t i = 0; i < plan.ops; i++) {
        const struct op *op = &plan.op[i];
        bool send = op->opcode != IW_WORK_READ && op->opcode != IW_WORK_WRITE;
        if (op->side != side && send) {
            uint32_t half = op->room / 2;
            struct iw_iov sge[2] = {{s->memory + op->there, half},
                                    {s->memory + op->there + half, op->room - half}};
            assert_int_equal(iw_endpoint_post_recv(s->ep, i, sge, 2), IW_OK);
        }
        if (op->side != side)
            continue;
        struct iw_iov sge = {s->memory + op->here, op->length};
        struct iw_work work = {.id = i,
                               .opcode = op->opcode,
                               .sge = &sge,
                               .sge_count = op->opcode != IW_WORK_READ,
                               .remote_stag = other->stag,
                               .remote_to = other->to + op->there,
                               .sink_stag = s->region.stag,
                               .sink_to = s->region.to + op->here,
                               .length = op->length};
        assert_int_equal(iw_endpoint_post(s->ep, &work, p->now), IW_OK);
    }
    /* One that is never used: it is flushed at the end. */
    assert_int_equal(iw_endpoint_post_recv(s->ep, 1000, NULL, 0), IW_OK);
}

static void open_and_post(struct pair *p)
{
    pair_open(p, plan.config);
    for (int i = 0; i < 2; i++) {
        uint64_t x = plan.content + (uint64_t)i;
        for (size_t k = 0; k < PAIR_MEMORY; k++) {
            x = x * 0xd1342543de82ef95u + 1;
            p->side[i].memory[k] = (uint8_t)(x >> 40);
        }
        post_all(p, i);
    }
}

/* In order, both ends alive. */
static void run_reference(struct pair *p)
{
    plan.length = plan.fpdus = 0;
    open_and_post(p);
    p->tap = on_tap;
    pair_run(p);
    iw_endpoint_shutdown(p->side[1 - plan.receiver].ep, p->now);
    pair_run(p);
    const struct iw_event *closed = pair_event(p, plan.receiver, IW_EVENT_CLOSED);
    assert_non_null(closed);
    assert_true(closed->graceful);
}

/* ---- the twin ---- */

struct piece {
    size_t from, to;
    bool fin;
};

static struct piece pieces[STREAM_MOST / 16];

/* Whatever the twin says is as good as heard: its peer's answers are in the stream already. */
static void drain(struct pair *p)
{
    struct iw_endpoint *ep = p->side[plan.receiver].ep;
    const struct iw_iov *out;
    pair_collect(p, plan.receiver);
    while (iw_endpoint_output(ep, &out, p->now) > 0)
        iw_endpoint_sent(ep, out[0].length, p->now);
    if (iw_endpoint_want(ep) == IW_WANT_FIN)
        iw_endpoint_fin_sent(ep, p->now);
    pair_collect(p, plan.receiver);
}

static int give(struct pair *p, const struct piece *s)
{
    struct iw_endpoint *ep = p->side[plan.receiver].ep;
    int result = IW_OK;
    if (s->fin) {
        iw_endpoint_input_end_at(ep, s->to, p->now);
    } else {
        /* Memory of its own, so that a sanitizer sees who reads beyond it. */
        size_t length = s->to - s->from, cut = below(length + 1);
        uint8_t *copy = malloc(length);
        assert_non_null(copy);
        memcpy(copy, plan.stream + s->from, length);
        struct iw_iov in[2] = {{copy, cut}, {copy + cut, length - cut}};
        result = iw_endpoint_input_at(ep, s->from, in, 2, p->now);
        memset(copy, 0xdd, length);
        free(copy);
    }
    drain(p);
    return result;
}

/* The stream from `head` on as segments, those of the sender or others. */
static size_t cut(size_t head)
{
    size_t count = 0, longest = chance(20) ? 60000 : 30 + below(4000);
    size_t next = 0;
    for (size_t at = head; at < plan.length; count++) {
        size_t end = at + 1 + below(longest), from = at;
        if (plan.mode == ALIGNED) {
            while (next < plan.fpdus && plan.fpdu[next] <= at)
                next++;
            size_t last = next + (chance(60) ? 0 : below(4));
            end = last < plan.fpdus ? (size_t)plan.fpdu[last] : plan.length;
        } else if (chance(10)) {
            from = at - head < 400 ? head : at - below(400);
        }
        end = end < plan.length ? end : plan.length;
        assert_true(count < sizeof(pieces) / sizeof(pieces[0]) - 1);
        pieces[count] = (struct piece){from, end, false};
        at = end;
    }
    pieces[count] = (struct piece){plan.length, plan.length, true};
    return count + 1;
}

static void run_twin(struct pair *p)
{
    open_and_post(p);
    size_t frame = 20u + (size_t)(plan.stream[18] << 8 | plan.stream[19]);
    size_t head = frame;
    /* A responder's Reads leave only after the first FPDU; their answers come after it. */
    if (plan.receiver == 1)
        head = plan.fpdus > 1 ? (size_t)plan.fpdu[1] : plan.length;
    drain(p); /* an initiator's Request */
    struct piece opening = {0, frame, false}, first = {frame, head, false};
    assert_int_equal(give(p, &opening), IW_OK);
    if (head > frame)
        assert_int_equal(give(p, &first), IW_OK);
    size_t left = cut(head), window = 2 + below(chance(50) ? 6 : 400);
    while (left > 0) {
        /* Among the oldest that have not come: the pool keeps its order. */
        size_t k = below(left < window ? left : window);
        struct piece s = pieces[k];
        if (give(p, &s) != IW_OK) {
            assert_true(k > 0); /* octets next in order are never refused */
            continue;
        }
        if (chance(10))
            (void)give(p, &s);
        memmove(&pieces[k], &pieces[k + 1], (--left - k) * sizeof(pieces[0]));
    }
}

/* ---- the comparison ---- */

static size_t pick(const struct pair_side *s, bool recv, struct iw_completion *out)
{
    size_t count = 0;
    for (size_t i = 0; i < s->completion_count; i++)
        if ((s->completions[i].opcode == IW_WORK_RECV) == recv)
            out[count++] = s->completions[i];
    return count;
}

static void compare(const struct pair *a, const struct pair *b)
{
    const struct pair_side *one = &a->side[plan.receiver], *two = &b->side[plan.receiver];
    static struct iw_completion want[512], got[512];
    assert_null(pair_event(b, plan.receiver, IW_EVENT_FAULT));
    const struct iw_event *closed = pair_event(b, plan.receiver, IW_EVENT_CLOSED);
    assert_non_null(closed);
    assert_true(closed->graceful);
    for (int recv = 0; recv < 2; recv++) {
        size_t count = pick(one, recv, want);
        assert_int_equal(pick(two, recv, got), count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(got[i].id, want[i].id);
            assert_int_equal(got[i].opcode, want[i].opcode);
            assert_int_equal(got[i].status, want[i].status);
            assert_int_equal(got[i].length, want[i].length);
            assert_int_equal(got[i].solicited, want[i].solicited);
        }
    }
    assert_memory_equal(two->arena, one->arena, PAIR_MEMORY + 2 * PAIR_GUARD);
}

static void run(uint64_t seed)
{
    static struct pair reference, twin;
    random_begin(seed);
    for (unsigned i = 0; i < 8; i++)
        (void)any();
    plan.mode = (int)(seed % MODES);
    plan.receiver = (int)below(2);
    plan.content = any();
    configure();
    make_traffic();
    run_reference(&reference);
    plan.early = 0;
    size_t fpdus = plan.fpdus;
    for (unsigned round = 0; round < 3; round++) {
        run_twin(&twin);
        compare(&reference, &twin);
        pair_close(&twin);
        plan.fpdus = fpdus; /* the twin's idle peer is framed nothing */
    }
    early_in[plan.mode] += plan.early;
    pair_close(&reference);
}

static uint64_t running;
static bool failed;

static void test_permuted(void **state)
{
    (void)state;
    uint64_t first = number_from("IW_SEED", 1);
    uint64_t runs = number_from("IW_RUNS", getenv("IW_SEED") != NULL ? 1 : RUNS);
    plan.stream = malloc(STREAM_MOST);
    assert_non_null(plan.stream);
    failed = true;
    for (running = first; running < first + runs; running++)
        run(running);
    failed = false;
    free(plan.stream);
    /* It happened, and only where it can be certain or is vouched for. */
    if (runs >= RUNS) {
        assert_true(early_in[MARKERS] > 0);
        assert_true(early_in[ALIGNED] > 0);
    }
    assert_int_equal(early_in[DEFAULT], 0);
    assert_int_equal(early_in[NO_CRC], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_permuted)};
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        fprintf(stderr, "replay: IW_SEED=%llu\n", (unsigned long long)running);
    return result;
}
