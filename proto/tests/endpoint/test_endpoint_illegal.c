/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"
#include "random_memory.h"

#include <stdio.h>

#include "iwarp/octets.h"

/*
 * A legal peer whose FPDUs are bent on their way: flipped bits and wrong fields under a good CRC,
 * FPDUs lost, repeated, exchanged, cut and invented. Whatever comes, octets outside of what is
 * open to the peer stay as they are, every work request completes once, and both ends reach their
 * end. Half of the runs set one switch at the receiver, too.
 *
 * IW_SEED replays one run (its number is printed when it fails), IW_RUNS sets how many there are.
 */

enum {
    ARENA = 64 * 1024,
    AREA = 4096, /* of each region */
    GUARD = 256,
    AT_OPEN = 8192,
    AT_SOURCE = 16384,
    AT_OTHER = 24576,
    AT_SINK = 32768,
    AT_RECEIVE = 40960,
    RECEIVE_END = AT_RECEIVE + 16384,
    AT_WORK = 60000, /* octets that differ from the rest, as sent */
    RUNS = 3000,
    WORK = 64
};

struct end {
    struct iw_domain *domain;
    struct iw_endpoint *ep;
    struct iw_switches switches;
    uint8_t *arena;
    uint8_t *before;
    uint8_t may_change[ARENA + 1]; /* ends with a 1 */
    struct iw_region open, source, other, sink;
    uint64_t posted, completed; /* bit per work request, sends from 0, receives from 32 */
    uint64_t next[2];           /* the lowest that may complete next, of each queue */
    bool flushed[2];            /* nothing of that queue succeeds any more */
    bool closed;
};

static struct {
    struct pair pair;
    uint64_t seed, now;
    struct end end[2]; /* 0 sends what is bent, 1 receives it */
    uint8_t held[1 << 17];
    size_t held_length;
    uint8_t kept[1 << 17]; /* an FPDU of before, whole */
    size_t kept_length;
    unsigned percent; /* of FPDUs bent */
    bool disturbed;   /* ends are ended at random points */
} w;

static void add_region(struct end *e, struct iw_region *r, uint32_t pd, size_t at, uint32_t access)
{
    *r = (struct iw_region){.base = e->arena + at,
                            .length = AREA,
                            .to = chance(20)   ? 0
                                  : chance(20) ? UINT64_MAX - AREA
                                               : 0x10000,
                            .guard = GUARD,
                            .pd = pd,
                            .access = access};
    assert_int_equal(iw_domain_register(e->domain, r), 0);
}

static void allow(struct end *e, size_t at, size_t length)
{
    memset(e->may_change + at, 1, length);
}

struct bend {
    enum iw_check check;
    enum iw_switch kind;
    enum iw_botch botch;
};

/* How many switches there are; the number-th of them, if `out` is not NULL. */
static unsigned find_bend(unsigned number, struct bend *out)
{
    unsigned count = 0;
    for (int check = 1; check < IW_CHECK_COUNT; check++)
        for (int kind = 0; kind <= IW_SWITCH_BOTCH; kind++)
            for (int botch = 0; botch < IW_BOTCH_COUNT; botch++) {
                struct bend b = {(enum iw_check)check, (enum iw_switch)kind, (enum iw_botch)botch};
                if (!iw_switch_applies(b.kind, b.check, b.botch))
                    continue;
                if (out != NULL && count == number)
                    *out = b;
                count++;
            }
    assert_true(2 * count <= RUNS);
    return count;
}

/* Run after run the next switch, so that every one has its turns. */
static void bend_receiver(struct end *e)
{
    struct bend b = {IW_CHECK_NONE, IW_SWITCH_IGNORE, IW_BOTCH_NONE};
    (void)find_bend((unsigned)(w.seed / 2 % find_bend(0, NULL)), &b);
    e->switches.any = true;
    if (b.kind == IW_SWITCH_BOTCH)
        e->switches.botch[b.check] = (uint8_t)b.botch;
    else
        e->switches.set[b.check] = (uint8_t)(1u << b.kind);
    /* Segments that an ignored check lets through may reach every region and its guards. */
    for (size_t at = AT_OPEN; at <= AT_SINK; at += 8192)
        allow(e, at - GUARD, AREA + 2 * GUARD);
}

static void open_end(int side)
{
    struct end *e = &w.end[side];
    struct iw_env env = {&w.pair, pair_alloc, pair_free,         pair_random,
                         NULL,    NULL,       iw_crc32c_portable};
    struct iw_domain_limits limits = {8, 2};
    struct iw_endpoint_config c;
    e->domain = iw_domain_create(&env, &limits);
    assert_non_null(e->domain);
    e->arena = malloc(ARENA);
    assert_non_null(e->arena);
    memset(e->arena, 0xa5, ARENA);
    e->before = malloc(ARENA);
    assert_non_null(e->before);
    memset(e->arena + AT_WORK, 0x11, ARENA - AT_WORK);
    memset(e->arena + AT_SOURCE, 0x22, AREA);
    memcpy(e->before, e->arena, ARENA);
    e->may_change[ARENA] = 1;
    iw_endpoint_config_default(&c);
    c.role = side == 0 ? IW_MPA_INITIATOR : IW_MPA_RESPONDER;
    c.pd = iw_domain_pd(e->domain);
    c.mpa.markers = side == 0 && chance(20); /* never in the direction that is bent */
    c.mpa.peer_to_peer = side == 0 && chance(20);
    c.mpa.ird = c.mpa.ord = (uint16_t)(1 + below(4));
    c.send_depth = c.recv_depth = 32;
    c.mulpdu = chance(50) ? 128 : 0;
    c.switches = &e->switches;
    add_region(e, &e->open, c.pd, AT_OPEN,
               IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_INVALIDATE |
                   IW_ACCESS_REMOTE_ATOMIC);
    add_region(e, &e->source, c.pd, AT_SOURCE, IW_ACCESS_REMOTE_READ);
    add_region(e, &e->other, iw_domain_pd(e->domain), AT_OTHER, IW_ACCESS_REMOTE_WRITE);
    add_region(e, &e->sink, c.pd, AT_SINK, IW_ACCESS_LOCAL_WRITE);
    allow(e, AT_OPEN, AREA);
    allow(e, AT_SINK, AREA);
    if (side == 1 && w.seed % 2 == 1)
        bend_receiver(e);
    assert_int_equal(iw_endpoint_create(e->domain, &c, w.now, &e->ep), IW_OK);
}

/* ---- work ---- */

static void post_receives(int side)
{
    struct end *e = &w.end[side];
    size_t at = AT_RECEIVE + below(100);
    unsigned count = (unsigned)below(28);
    for (unsigned i = 0; i < count; i++) {
        struct iw_iov sge[3];
        for (unsigned k = 0; k < 3; k++) {
            size_t length = below(600);
            if (at + length + 8 > RECEIVE_END)
                length = 0;
            sge[k] = (struct iw_iov){e->arena + at, length};
            allow(e, at, length);
            at += length + 8;
        }
        if (iw_endpoint_post_recv(e->ep, 32 + i, sge, 3) == IW_OK)
            e->posted |= 1ull << (32 + i);
    }
}

static void post_work(int side)
{
    struct end *e = &w.end[side], *f = &w.end[1 - side];
    unsigned count = 1 + (unsigned)below(20);
    for (unsigned i = 0; i < count; i++) {
        struct iw_iov sge = {e->arena + AT_WORK, below(chance(90) ? 300 : 1800)};
        struct iw_work work = {.id = i,
                               .opcode = (enum iw_work_opcode)below(IW_WORK_RECV),
                               .flags = chance(20) ? IW_WORK_FENCE : 0,
                               .sge = &sge,
                               .sge_count = 1,
                               .invalidate_stag = f->open.stag,
                               .sink_stag = e->sink.stag,
                               .sink_to = e->sink.to + below(1000),
                               .length = (uint32_t)below(2000),
                               .add_swap = any(),
                               .add_swap_mask = any()};
        const struct iw_region *r =
            work.opcode == IW_WORK_READ && chance(50) ? &f->source : &f->open;
        bool atomic = work.opcode == IW_WORK_FETCH_ADD || work.opcode == IW_WORK_CMP_SWAP;
        work.remote_stag = r->stag;
        work.remote_to = r->to + (atomic && chance(90) ? 8 * below(125) : below(1000));
        if (iw_endpoint_post(e->ep, &work, w.now) == IW_OK)
            e->posted |= 1ull << i;
    }
}

static void take(int side)
{
    struct end *e = &w.end[side];
    struct iw_completion c;
    struct iw_event event;
    while (iw_endpoint_poll(e->ep, &c, 1) > 0) {
        assert_true(c.id < WORK && (e->posted >> c.id & 1) != 0);
        assert_int_equal(e->completed >> c.id & 1, 0);
        bool recv = c.opcode == IW_WORK_RECV;
        assert_int_equal(recv, c.id >= 32);
        assert_true(c.id >= e->next[recv]); /* in posting order */
        e->next[recv] = c.id + 1;
        assert_false(e->flushed[recv] && c.status == IW_STATUS_OK);
        e->flushed[recv] = e->flushed[recv] || c.status == IW_STATUS_FLUSHED;
        e->completed |= 1ull << c.id;
    }
    while (iw_endpoint_event(e->ep, &event)) {
        assert_false(e->closed);
        if (event.kind == IW_EVENT_REQUEST)
            assert_int_equal(iw_endpoint_accept(e->ep, NULL, 0, w.now), IW_OK);
        if (event.kind == IW_EVENT_PEER_CLOSED)
            iw_endpoint_shutdown(e->ep, w.now);
        e->closed = event.kind == IW_EVENT_CLOSED;
    }
}

/* ---- the bending ---- */

static void give(const uint8_t *octets, size_t length)
{
    while (length > 0) {
        size_t part = chance(50) ? length : 1 + below(length);
        uint8_t *copy = malloc(part);
        assert_non_null(copy);
        memcpy(copy, octets, part);
        struct iw_iov in = {copy, part};
        iw_endpoint_input(w.end[1].ep, &in, 1, w.now);
        free(copy);
        octets += part;
        length -= part;
    }
}

/* Frames the octets after the two octets of the length. Returns the FPDU's size. */
static size_t frame(uint8_t *fpdu, size_t ulpdu)
{
    size_t size = 2 + ulpdu;
    iw_put16(fpdu, (uint16_t)ulpdu);
    while (size % 4 != 0)
        fpdu[size++] = 0;
    iw_crc32c_put(fpdu + size, iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, fpdu, size)));
    return size + 4;
}

static uint32_t any_stag(void)
{
    const struct end *e = &w.end[1];
    switch (below(6)) {
    case 0:
        return e->open.stag;
    case 1:
        return e->source.stag;
    case 2:
        return e->other.stag;
    case 3:
        return e->sink.stag;
    case 4:
        return 0;
    default:
        return (uint32_t)any();
    }
}

static uint64_t any_to(void)
{
    const struct end *e = &w.end[1];
    static const uint64_t near[] = {0, 1, AREA - 1, AREA, AREA + 1, AREA / 2, 0 - UINT64_C(1)};
    const uint64_t base[] = {e->open.to, e->source.to, e->other.to, e->sink.to, 0, UINT64_MAX};
    return base[below(6)] + near[below(7)] - (chance(30) ? below(600) : 0);
}

static uint32_t any_small(void)
{
    return chance(80) ? (uint32_t)below(4) : (uint32_t)any();
}

/* Puts a value that means something into one field of a header. */
static void bend_field(uint8_t *u)
{
    bool tagged = (u[0] & 0x80) != 0;
    switch (below(tagged ? 4 : 9)) {
    case 0:
        u[0] = (uint8_t)any();
        break;
    case 1:
        u[1] = (uint8_t)(0x40 | below(16));
        break;
    case 2:
        iw_put32(u + 2, any_stag());
        break;
    case 3:
        if (tagged)
            iw_put64(u + 6, any_to());
        else
            iw_put32(u + 6, any_small());
        break;
    case 4:
        iw_put32(u + 10, any_small());
        break;
    case 5:
        iw_put32(u + 14, chance(50) ? (uint32_t)below(2000) : (uint32_t)any());
        break;
    case 6: /* a Read Request's source */
        iw_put32(u + 34, any_stag());
        iw_put64(u + 38, any_to());
        break;
    case 7: /* an Atomic Request's target */
        iw_put32(u + 18, any_small());
        iw_put32(u + 26, any_stag());
        iw_put64(u + 30, any_to());
        break;
    default:
        iw_put32(u + 30, chance(50) ? (uint32_t)below(6000) : (uint32_t)any());
        break;
    }
}

/* A segment out of nothing. Returns its ULPDU's length. */
static size_t invent(uint8_t *u)
{
    size_t length = below(chance(80) ? 100 : 3000);
    for (size_t i = 0; i < length + 46; i++)
        u[i] = (uint8_t)any();
    u[0] = chance(50) ? 0xc1 : 0x41;
    u[1] = (uint8_t)(0x40 | below(12));
    for (unsigned n = 0; n < 6; n++)
        bend_field(u);
    return length;
}

static void bend(uint8_t *fpdu, size_t size)
{
    static uint8_t other[1 << 17];
    uint8_t *u = fpdu + 2;
    size_t length = iw_get16(fpdu);
    switch (below(8)) {
    case 0: /* bits of the headers */
        for (unsigned n = 0; n < 1 + below(3); n++)
            u[below(length < 46 ? length : 46)] ^= (uint8_t)(1u << below(8));
        give(fpdu, frame(fpdu, length));
        return;
    case 1: /* bits anywhere */
        for (unsigned n = 0; n < 1 + below(3); n++)
            u[below(length)] ^= (uint8_t)(1u << below(8));
        give(fpdu, frame(fpdu, length));
        return;
    case 2: /* another length */
        memcpy(other, fpdu, size);
        memset(other + size, 0x3c, 600);
        give(other, frame(other, chance(50) ? below(length + 500) : below(60)));
        return;
    case 3: /* lost */
        return;
    case 4: /* twice */
        give(fpdu, size);
        give(fpdu, size);
        return;
    case 5: /* after one from before */
        give(w.kept, w.kept_length);
        give(fpdu, size);
        return;
    case 6:
        give(other, frame(other, invent(other + 2)));
        give(fpdu, size);
        return;
    default:
        memcpy(other, fpdu, size);
        memset(other + size, 0, 64);
        bend_field(other + 2);
        give(other, frame(other, length));
        return;
    }
}

/* Octets of the peer: the Request passes, then whole FPDUs are looked at. */
static void pass(const uint8_t *octets, size_t length, size_t *request)
{
    size_t whole = length < *request ? length : *request;
    give(octets, whole);
    *request -= whole;
    assert_true(w.held_length + length - whole <= sizeof(w.held));
    memcpy(w.held + w.held_length, octets + whole, length - whole);
    w.held_length += length - whole;
    for (;;) {
        size_t size = w.held_length < 2 ? 0 : (2u + iw_get16(w.held) + 3u) / 4u * 4u + 4u;
        static uint8_t fpdu[1 << 17];
        if (size == 0 || w.held_length < size)
            return;
        memcpy(fpdu, w.held, size);
        w.held_length -= size;
        memmove(w.held, w.held + size, w.held_length);
        if (chance(w.percent))
            bend(fpdu, size);
        else
            give(fpdu, size);
        if (w.kept_length == 0 || chance(30)) {
            memcpy(w.kept, fpdu, size);
            w.kept_length = size;
        }
        take(1);
    }
}

/* ---- one run ---- */

/* Either end may be ended in any way, at any point. */
static void disturb(void)
{
    int side = (int)below(2);
    struct iw_endpoint *ep = w.end[side].ep;
    switch (below(4)) {
    case 0:
        iw_endpoint_abort(ep, chance(50), (uint8_t)any(), w.now);
        break;
    case 1:
        iw_endpoint_input_end(ep, false, w.now);
        break;
    case 2:
        iw_endpoint_input_end(ep, true, w.now);
        break;
    default:
        iw_endpoint_shutdown(ep, w.now);
        break;
    }
}

static bool carry(int from, size_t *request)
{
    const struct iw_iov *pieces;
    if (w.disturbed && below(60) == 0)
        disturb();
    size_t count = iw_endpoint_output(w.end[from].ep, &pieces, w.now);
    if (count == 0)
        return false;
    size_t length = pieces[0].length;
    if (w.disturbed && length > 1 && chance(10)) /* a disturbance can come inside of an FPDU */
        length = 1 + below(length);
    assert_true(length > 0);
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): the assertion does not return */
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, pieces[0].base, length);
    iw_endpoint_sent(w.end[from].ep, length, w.now);
    struct iw_iov in = {copy, length};
    if (from == 0)
        pass(copy, length, request);
    else
        iw_endpoint_input(w.end[0].ep, &in, 1, w.now);
    free(copy);
    return true;
}

/* Until nothing moves. */
static void move(size_t *request)
{
    for (bool busy = true; busy;) {
        busy = false;
        for (int i = 0; i < 2; i++) {
            while (carry(i, request)) {
                busy = true;
                take(0);
                take(1);
            }
            if (iw_endpoint_want(w.end[i].ep) == IW_WANT_FIN) {
                iw_endpoint_fin_sent(w.end[i].ep, w.now);
                iw_endpoint_input_end(w.end[1 - i].ep, true, w.now);
                busy = true;
            }
            take(0);
            take(1);
        }
    }
}

/* Closes both ends from outside; what deadlines are left pass. */
static void finish(size_t *request)
{
    bool cut = chance(30);
    for (int i = 0; i < 2; i++)
        iw_endpoint_input_end(w.end[i].ep, !cut, w.now);
    move(request);
    for (int i = 0; i < 2; i++)
        iw_endpoint_shutdown(w.end[i].ep, w.now);
    move(request);
    for (unsigned n = 0; n < 4 && !(w.end[0].closed && w.end[1].closed); n++) {
        for (int i = 0; i < 2; i++) {
            uint64_t deadline = iw_endpoint_deadline(w.end[i].ep);
            if (deadline != UINT64_MAX && deadline > w.now)
                w.now = deadline;
            iw_endpoint_tick(w.end[i].ep, w.now);
        }
        move(request);
    }
}

static void check_end(const struct end *e)
{
    assert_true(e->closed);
    assert_int_equal(e->completed, e->posted);
    for (size_t at = 0; at < ARENA; at++) {
        const uint8_t *open = memchr(e->may_change + at, 1, sizeof(e->may_change) - at);
        size_t end = (size_t)(open - e->may_change);
        assert_memory_equal(e->arena + at, e->before + at, end - at);
        at = end;
    }
}

static void run(uint64_t seed)
{
    size_t request = 24;
    memset(&w, 0, sizeof(w));
    w.seed = seed;
    random_begin(seed);
    for (unsigned i = 0; i < 8; i++)
        (void)any();
    w.now = 1000;
    w.pair.allocations_left = -1;
    w.pair.side[0].seed = (uint32_t)any();
    w.percent = (unsigned)below(40);
    w.disturbed = chance(40);
    open_end(0);
    open_end(1);
    for (int i = 0; i < 2; i++) {
        post_receives(i);
        post_work(i);
    }
    move(&request);
    finish(&request);
    for (int i = 0; i < 2; i++) {
        check_end(&w.end[i]);
        iw_endpoint_destroy(w.end[i].ep);
        iw_domain_destroy(w.end[i].domain);
        free(w.end[i].arena);
        free(w.end[i].before);
    }
    assert_int_equal(w.pair.allocations_live, 0);
}

static uint64_t running;
static bool failed;

static void test_random_illegal_octets(void **state)
{
    (void)state;
    uint64_t first = number_from("IW_SEED", 1);
    uint64_t runs = number_from("IW_RUNS", getenv("IW_SEED") != NULL ? 1 : RUNS);
    failed = true;
    for (running = first; running < first + runs; running++)
        run(running);
    failed = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_illegal_octets)};
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        fprintf(stderr, "replay: IW_SEED=%llu\n", (unsigned long long)running);
    return result;
}
