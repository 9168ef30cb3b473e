/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* Domains, and placement without a connection. */

struct rig {
    struct pair pair; /* for the allocator */
    struct iw_domain *domain;
    struct iw_switches switches;
    struct iw_ddp_stream stream;
    uint8_t arena[16 + 64 + 16];
    struct iw_region region; /* the 64 in the middle */
};

static int locked;

static void lock(void *context)
{
    (void)context;
    assert_int_equal(locked, 0); /* never nested */
    locked = 1;
}

static void unlock(void *context)
{
    (void)context;
    assert_int_equal(locked, 1);
    locked = 0;
}

static void zero_random(void *context, void *out, size_t length)
{
    (void)context;
    memset(out, 0, length);
}

static void open_domain(struct rig *r, uint32_t regions,
                        void (*random)(void *context, void *out, size_t length))
{
    memset(r, 0, sizeof(*r));
    r->pair.allocations_left = -1;
    struct iw_env env = {&r->pair, pair_alloc, pair_free, random, lock, unlock, iw_crc32c_portable};
    struct iw_domain_limits limits = {regions, 1};
    r->domain = iw_domain_create(&env, &limits);
    assert_non_null(r->domain);
    r->stream = (struct iw_ddp_stream){r->domain, iw_domain_pd(r->domain),
                                       iw_domain_stream(r->domain), &r->switches, 0};
}

static void open_region(struct rig *r, uint64_t to)
{
    open_domain(r, 2, pair_random);
    memset(r->arena, 0xa5, sizeof(r->arena));
    r->region = (struct iw_region){.base = r->arena + 16,
                                   .length = 64,
                                   .to = to,
                                   .guard = 16,
                                   .pd = r->stream.pd,
                                   .access = IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ};
    assert_int_equal(iw_domain_register(r->domain, &r->region), 0);
}

static void close_rig(struct rig *r)
{
    iw_domain_destroy(r->domain);
    assert_int_equal(r->pair.allocations_live, 0);
    assert_int_equal(locked, 0);
}

static void test_limits_of_a_domain(void **state)
{
    (void)state;
    struct pair p = {.allocations_left = -1};
    struct iw_env env = {&p, pair_alloc, pair_free, pair_random, NULL, NULL, iw_crc32c_portable};
    static const struct iw_domain_limits bad[] = {{0, 1}, {(1u << 24) + 1, 1}};
    for (size_t i = 0; i < 2; i++)
        assert_null(iw_domain_create(&env, &bad[i]));
    iw_domain_destroy(NULL);
    struct rig r;
    open_domain(&r, 1, pair_random);
    void *buffer = iw_domain_borrow(r.domain);
    assert_non_null(buffer);
    memset(buffer, 0xff, IW_DOMAIN_BUFFER);
    assert_null(iw_domain_borrow(r.domain));
    iw_domain_return(r.domain, buffer);
    assert_ptr_equal(iw_domain_borrow(r.domain), buffer);
    iw_domain_return(r.domain, buffer);
    assert_int_equal(iw_domain_pd(r.domain), r.stream.pd + 1);
    assert_int_equal(iw_domain_stream(r.domain), r.stream.stream + 1);
    close_rig(&r);
}

/* More buffers than a small pool has, in blocks, the last of which is not full. */
static void test_a_large_pool(void **state)
{
    (void)state;
    enum { COUNT = 257 };
    struct pair p = {.allocations_left = -1};
    struct iw_env env = {&p, pair_alloc, pair_free, pair_random, NULL, NULL, iw_crc32c_portable};
    const struct iw_domain_limits limits = {1, COUNT};
    struct iw_domain *d = iw_domain_create(&env, &limits);
    uint8_t *buffers[COUNT];
    assert_non_null(d);
    assert_int_equal(p.allocations_live, 3 + 2 + 5);
    for (unsigned i = 0; i < COUNT; i++) {
        buffers[i] = iw_domain_borrow(d);
        assert_non_null(buffers[i]);
        memset(buffers[i], (int)i, IW_DOMAIN_BUFFER);
    }
    assert_null(iw_domain_borrow(d));
    for (unsigned i = 0; i < COUNT; i++) { /* none overlaps another */
        assert_int_equal(buffers[i][0], i & 0xff);
        assert_int_equal(buffers[i][IW_DOMAIN_BUFFER - 1], i & 0xff);
        iw_domain_return(d, buffers[i]);
    }
    iw_domain_destroy(d);
    assert_int_equal(p.allocations_live, 0);
    for (long n = 0; n < 10; n++) { /* any of the allocations fails */
        p.allocations_left = n;
        assert_null(iw_domain_create(&env, &limits));
        assert_int_equal(p.allocations_live, 0);
    }
}

static void test_sums_that_wrap(void **state)
{
    (void)state;
    static uint8_t memory[4];
    const uint64_t top = UINT64_MAX, last = UINTPTR_MAX - (uintptr_t)memory;
    const struct iw_region bad[] = {
        {.base = memory, .length = 4, .to = top - 3},
        {.base = memory, .length = last + 1},
        {.base = memory, .length = last, .guard = 1},
        {.base = memory, .length = 4, .guard = (uintptr_t)memory + 1},
        {.base = memory, .length = 4, .guard = top - 3},
    };
    struct rig r;
    open_domain(&r, 1, pair_random);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct iw_region region = bad[i];
        assert_int_equal(iw_domain_register(r.domain, &region), -2);
        assert_int_equal(region.stag, 0);
    }
    struct iw_region good = {.base = memory, .length = 4, .to = top - 4};
    assert_int_equal(iw_domain_register(r.domain, &good), 0);
    assert_int_equal(iw_domain_register(r.domain, &good), -1); /* the table is full */
    close_rig(&r);
}

/* A random source that is stuck costs unpredictability, never the registration. */
static void test_a_stuck_random_source(void **state)
{
    (void)state;
    struct rig r;
    open_domain(&r, 1000, zero_random);
    struct iw_region region = {.base = r.arena, .length = 1, .pd = 1};
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(iw_domain_register(r.domain, &region), 0);
        assert_int_not_equal(region.stag, 0);
    }
    close_rig(&r);
}

/* Registers, invalidates and deregisters at random, against a plain list. */
static void test_stags_against_a_list(void **state)
{
    (void)state;
    enum { REGIONS = 40 };
    struct rig r;
    struct {
        uint32_t stag;
        uint64_t to;
        bool valid;
    } known[REGIONS];
    size_t count = 0;
    uint32_t seed = 7;
    open_domain(&r, REGIONS, pair_random);
    for (unsigned step = 0; step < 20000; step++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned what = (seed >> 24) % 4;
        size_t which = count > 0 ? (seed >> 8) % count : 0;
        if (what < 2) {
            struct iw_region region = {.base = r.arena, .length = 8, .to = step};
            int result = iw_domain_register(r.domain, &region);
            assert_int_equal(result, count < REGIONS ? 0 : -1);
            if (result == 0) {
                known[count].stag = region.stag;
                known[count].valid = true;
                known[count++].to = step;
            }
        } else if (count > 0 && what == 2) {
            int result = iw_domain_invalidate(r.domain, known[which].stag);
            assert_int_equal(result, known[which].valid ? 0 : -1);
            known[which].valid = false;
        } else if (count > 0) {
            assert_int_equal(iw_domain_deregister(r.domain, known[which].stag), 0);
            assert_int_equal(iw_domain_deregister(r.domain, known[which].stag), -1);
            assert_int_equal(iw_domain_invalidate(r.domain, known[which].stag), -1);
            known[which] = known[--count];
        }
        for (size_t i = 0; i < count; i++) {
            struct iw_region found;
            assert_true(iw_domain_lookup(r.domain, known[i].stag, &found));
            assert_int_equal(found.stag, known[i].stag);
            assert_int_equal(found.to, known[i].to);
            assert_int_equal(found.valid, known[i].valid);
        }
    }
    close_rig(&r);
}

static enum iw_check place(struct rig *r, uint64_t to, uint32_t length)
{
    static uint8_t octets[128];
    struct iw_iov piece = {octets, sizeof(octets)};
    memset(octets, 0x11, sizeof(octets));
    return iw_ddp_place_tagged(&r->stream, IW_USE_WRITE, r->region.stag, to, &piece, 1, 1, length);
}

static enum iw_check source(struct rig *r, uint64_t to, uint32_t size)
{
    uint32_t copied;
    enum iw_check check =
        iw_ddp_read_source(&r->stream, r->region.stag, to, size, NULL, 0, &copied);
    assert_int_equal(copied, 0);
    return check;
}

/* [from, to) of the arena was written to, nothing else. */
static void assert_written(const struct rig *r, size_t from, size_t to)
{
    for (size_t i = 0; i < sizeof(r->arena); i++)
        assert_int_equal(r->arena[i], i >= from && i < to ? 0x11 : 0xa5);
}

static void test_bounds(void **state)
{
    (void)state;
    static const uint64_t bases[] = {0, 0x1000, UINT64_C(0xffffffff), UINT64_MAX - 64};
    for (size_t k = 0; k < sizeof(bases) / sizeof(bases[0]); k++) {
        const uint64_t base = bases[k];
        struct rig r;
        open_region(&r, base);
        /* Where the sum of TO and length wraps 2^64, that is what is said (OP-47). */
        bool low = base == 0, high = base + 65 == 0;
        enum iw_check bounds = high ? IW_CHECK_DDP_TO_WRAP : IW_CHECK_DDP_TO_BOUNDS;
        enum iw_check before = low ? IW_CHECK_DDP_TO_WRAP : IW_CHECK_DDP_TO_BASE;
        assert_int_equal(place(&r, base + 64, 1),
                         high ? IW_CHECK_DDP_TO_WRAP : IW_CHECK_DDP_TO_BASE);
        assert_int_equal(place(&r, base - 1, 1), before);
        assert_int_equal(place(&r, base - 1, 2), before);
        assert_int_equal(place(&r, base + 63, 2), bounds);
        assert_int_equal(place(&r, base, 65), bounds);
        assert_int_equal(place(&r, base, UINT32_MAX), bounds);
        enum iw_check read_bounds = high ? IW_CHECK_RDMAP_READ_WRAP : IW_CHECK_RDMAP_READ_BOUNDS;
        assert_int_equal(source(&r, base + 64, 1),
                         high ? IW_CHECK_RDMAP_READ_WRAP : IW_CHECK_RDMAP_READ_BASE);
        assert_int_equal(source(&r, base + 63, 2), read_bounds);
        assert_int_equal(source(&r, base, UINT32_MAX), read_bounds);
        assert_int_equal(source(&r, base, 64), IW_CHECK_NONE);
        assert_int_equal(source(&r, base + 64, 0), IW_CHECK_NONE);
        assert_written(&r, 0, 0);
        assert_int_equal(place(&r, base + 63, 1), IW_CHECK_NONE);
        assert_written(&r, 79, 80);
        assert_int_equal(place(&r, base, 64), IW_CHECK_NONE);
        assert_written(&r, 16, 80);
        close_rig(&r);
    }
}

/* Ignored, the checks still keep every octet in the arena, or in the domain's own scratch. */
static void test_mock_effects(void **state)
{
    (void)state;
    static const enum iw_check checks[] = {IW_CHECK_DDP_TO_BASE, IW_CHECK_DDP_TO_BOUNDS,
                                           IW_CHECK_DDP_TO_WRAP};
    static const struct {
        uint64_t to;
        uint32_t length;
        size_t from, end; /* written */
    } cases[] = {{0x1000 - 4, 8, 12, 20},    {0x1000 - 17, 4, 80, 84},  {0x1000 + 60, 8, 76, 84},
                 {0x1000 + 60, 127, 76, 96}, {0x1000 + 64, 32, 80, 96}, {0x1000 + 1000, 4, 80, 84},
                 {UINT64_MAX, 4, 80, 84},    {0, 127, 80, 96}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r;
        open_region(&r, 0x1000);
        r.switches.any = true;
        for (size_t k = 0; k < 3; k++)
            r.switches.set[checks[k]] = 1u << IW_SWITCH_IGNORE;
        assert_int_equal(place(&r, cases[i].to, cases[i].length), IW_CHECK_NONE);
        assert_written(&r, cases[i].from, cases[i].end);
        close_rig(&r);
    }
}

/* Botched, the check still fails, but after the placement. */
static void test_placed_before_the_check(void **state)
{
    (void)state;
    static const struct {
        enum iw_check check;
        uint64_t to;
        size_t from, end; /* written */
    } cases[] = {{IW_CHECK_DDP_TO_BASE, 0x1000 - 4, 12, 20},
                 {IW_CHECK_DDP_TO_BOUNDS, 0x1000 + 60, 76, 84},
                 {IW_CHECK_DDP_TO_WRAP, UINT64_MAX - 3, 80, 88},
                 {IW_CHECK_DDP_STAG_ACCESS, 0x1000, 16, 24},
                 {IW_CHECK_DDP_STAG_PD, 0x1000 + 60, 76, 84}}; /* out of bounds, too */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum iw_check check = cases[i].check;
        struct rig r;
        open_region(&r, 0x1000);
        if (check == IW_CHECK_DDP_STAG_PD)
            r.stream.pd++;
        if (check == IW_CHECK_DDP_STAG_ACCESS) {
            assert_int_equal(iw_domain_deregister(r.domain, r.region.stag), 0);
            r.region.access = IW_ACCESS_REMOTE_READ;
            assert_int_equal(iw_domain_register(r.domain, &r.region), 0);
        }
        r.switches.any = true;
        assert_int_equal(place(&r, cases[i].to, 8), check);
        assert_written(&r, 0, 0);
        r.switches.botch[check] = IW_BOTCH_PLACE;
        assert_int_equal(place(&r, cases[i].to, 8), check);
        assert_written(&r, cases[i].from, cases[i].end);
        close_rig(&r);
    }
}

static void test_an_unknown_stag_leads_to_scratch(void **state)
{
    (void)state;
    struct rig r;
    uint8_t out[600];
    uint32_t copied;
    open_region(&r, 0x1000);
    r.region.stag ^= 1;
    assert_int_equal(place(&r, 0x1000, 4), IW_CHECK_DDP_STAG);
    r.switches.any = true;
    r.switches.set[IW_CHECK_DDP_STAG] = 1u << IW_SWITCH_IGNORE;
    r.switches.set[IW_CHECK_RDMAP_READ_STAG] = 1u << IW_SWITCH_IGNORE;
    assert_int_equal(place(&r, 0x1000, 127), IW_CHECK_NONE);
    assert_written(&r, 0, 0);
    assert_int_equal(
        iw_ddp_read_source(&r.stream, r.region.stag, 7, sizeof(out), out, sizeof(out), &copied),
        IW_CHECK_NONE);
    assert_int_equal(copied, 256);
    assert_int_equal(out[126], 0x11);
    assert_int_equal(out[127], 0);
    close_rig(&r);
}

static void test_a_dead_stag(void **state)
{
    (void)state;
    struct rig r;
    open_region(&r, 0);
    assert_int_equal(iw_domain_invalidate(r.domain, r.region.stag), 0);
    assert_int_equal(place(&r, 0, 4), IW_CHECK_DDP_STAG);
    assert_int_equal(source(&r, 0, 4), IW_CHECK_RDMAP_READ_STAG);
    assert_int_equal(place(&r, 0, 0), IW_CHECK_NONE); /* RFC 5041 §5.2 */
    assert_written(&r, 0, 0);
    close_rig(&r);
}

/* A rig whose region may have windows; it stands at TO 0x1000. */
static void open_bindable(struct rig *r, uint32_t regions)
{
    open_domain(r, regions, pair_random);
    memset(r->arena, 0xa5, sizeof(r->arena));
    r->region = (struct iw_region){.base = r->arena + 16,
                                   .length = 64,
                                   .to = 0x1000,
                                   .guard = 16,
                                   .pd = r->stream.pd,
                                   .access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_BIND};
    assert_int_equal(iw_domain_register(r->domain, &r->region), 0);
}

static enum iw_check place_at(struct rig *r, uint32_t stag, uint64_t to, uint32_t length)
{
    struct iw_region kept = r->region;
    r->region.stag = stag;
    enum iw_check check = place(r, to, length);
    r->region = kept;
    return check;
}

static void test_windows(void **state)
{
    (void)state;
    struct rig r;
    open_bindable(&r, 3);
    struct iw_region w = {.to = 0x1010, .length = 8, .access = IW_ACCESS_REMOTE_WRITE};
    assert_int_equal(iw_domain_bind(r.domain, r.region.stag, &w), 0);
    assert_int_not_equal(w.stag, 0);
    assert_int_not_equal(w.stag, r.region.stag);
    assert_true(w.valid);
    assert_int_equal(w.pd, r.stream.pd);
    /* Its own bounds and rights; the parent has no remote ones. */
    assert_int_equal(place_at(&r, w.stag, 0x100f, 1), IW_CHECK_DDP_TO_BASE);
    assert_int_equal(place_at(&r, w.stag, 0x1017, 2), IW_CHECK_DDP_TO_BOUNDS);
    assert_int_equal(place(&r, 0x1010, 8), IW_CHECK_DDP_STAG_ACCESS);
    assert_written(&r, 0, 0);
    assert_int_equal(place_at(&r, w.stag, 0x1010, 8), IW_CHECK_NONE);
    assert_written(&r, 32, 40);
    /* The parent cannot go as long as there is a window. */
    assert_int_equal(iw_domain_deregister(r.domain, r.region.stag), -2);
    /* Bound anew, to other octets and another stream: the old STag is gone, whatever it said. */
    uint32_t before = w.stag;
    w.to = 0x1000;
    w.length = 64;
    w.stream = r.stream.stream + 1;
    w.access = IW_ACCESS_REMOTE_READ;
    assert_int_equal(iw_domain_bind(r.domain, r.region.stag, &w), 0);
    assert_int_not_equal(w.stag, before);
    struct iw_region found;
    assert_false(iw_domain_lookup(r.domain, before, &found));
    assert_true(iw_domain_lookup(r.domain, w.stag, &found));
    assert_int_equal(found.length, 64);
    assert_int_equal(place_at(&r, before, 0x1010, 8), IW_CHECK_DDP_STAG);
    assert_int_equal(place_at(&r, w.stag, 0x1010, 8), IW_CHECK_DDP_STAG_STREAM);
    r.stream.stream++;
    assert_int_equal(place_at(&r, w.stag, 0x1010, 8), IW_CHECK_DDP_STAG_ACCESS);
    /* A second one; each is invalidated without the other and the parent. */
    struct iw_region v = {.to = 0x1000, .length = 4, .access = IW_ACCESS_REMOTE_WRITE};
    assert_int_equal(iw_domain_bind(r.domain, r.region.stag, &v), 0);
    assert_int_equal(iw_domain_invalidate(r.domain, w.stag), 0);
    assert_int_equal(place_at(&r, v.stag, 0x1000, 4), IW_CHECK_NONE);
    assert_true(iw_domain_lookup(r.domain, r.region.stag, &found));
    assert_true(found.valid);
    assert_int_equal(iw_domain_invalidate(r.domain, v.stag), 0);
    assert_int_equal(place_at(&r, v.stag, 0x1000, 4), IW_CHECK_DDP_STAG);
    /* Invalidated, a window can still be bound anew, even if the table is full. */
    assert_int_equal(iw_domain_bind(r.domain, r.region.stag, &v), 0);
    assert_int_equal(place_at(&r, v.stag, 0x1000, 4), IW_CHECK_NONE);
    assert_int_equal(iw_domain_deregister(r.domain, w.stag), 0);
    assert_int_equal(iw_domain_deregister(r.domain, r.region.stag), -2);
    /* A dead parent takes no more windows; those that it has live on. */
    assert_int_equal(iw_domain_invalidate(r.domain, r.region.stag), 0);
    w.stag = 0;
    assert_int_equal(iw_domain_bind(r.domain, r.region.stag, &w), -3);
    assert_int_equal(place_at(&r, v.stag, 0x1000, 4), IW_CHECK_NONE);
    assert_int_equal(iw_domain_deregister(r.domain, v.stag), 0);
    assert_int_equal(iw_domain_deregister(r.domain, r.region.stag), 0);
    close_rig(&r);
}

static void test_windows_with_chosen_stags(void **state)
{
    (void)state;
    struct rig r;
    open_bindable(&r, 3);
    struct iw_region w = {.to = 0x1000, .length = 8, .access = IW_ACCESS_REMOTE_WRITE}, found;
    const uint32_t other = r.region.stag ^ 0x1000, third = r.region.stag ^ 0x2000;
    assert_int_equal(iw_domain_bind_as(r.domain, r.region.stag, &w, r.region.stag), -4);
    assert_int_equal(w.stag, 0);
    assert_int_equal(iw_domain_bind_as(r.domain, r.region.stag, &w, other), 0);
    assert_int_equal(w.stag, other);
    assert_int_equal(place_at(&r, other, 0x1000, 8), IW_CHECK_NONE);
    /* Anew under the same one, then under another. */
    assert_int_equal(iw_domain_invalidate(r.domain, other), 0);
    assert_int_equal(iw_domain_bind_as(r.domain, r.region.stag, &w, other), 0);
    assert_int_equal(place_at(&r, other, 0x1000, 8), IW_CHECK_NONE);
    assert_int_equal(iw_domain_bind_as(r.domain, r.region.stag, &w, third), 0);
    assert_false(iw_domain_lookup(r.domain, other, &found));
    assert_int_equal(place_at(&r, third, 0x1000, 8), IW_CHECK_NONE);
    /* One that another window has: this one stays as it was. */
    struct iw_region v = {.to = 0x1000, .length = 4, .access = IW_ACCESS_REMOTE_WRITE};
    assert_int_equal(iw_domain_bind_as(r.domain, r.region.stag, &v, third), -4);
    assert_int_equal(iw_domain_bind_as(r.domain, r.region.stag, &v, 0), 0);
    assert_int_equal(iw_domain_bind_as(r.domain, r.region.stag, &v, third), -4);
    assert_int_equal(place_at(&r, v.stag, 0x1000, 4), IW_CHECK_NONE);
    assert_int_equal(iw_domain_deregister(r.domain, v.stag), 0);
    assert_int_equal(iw_domain_deregister(r.domain, w.stag), 0);
    close_rig(&r);
}

static void test_regions_with_chosen_stags(void **state)
{
    (void)state;
    struct rig r;
    open_bindable(&r, 2);
    struct iw_region chosen = {.base = r.region.base,
                               .length = 8,
                               .to = 0x5000,
                               .pd = r.region.pd,
                               .access = IW_ACCESS_REMOTE_WRITE};
    const uint32_t stag = r.region.stag ^ 0x100;
    assert_int_equal(iw_domain_register_as(r.domain, &chosen, r.region.stag), -4);
    assert_int_equal(iw_domain_register_as(r.domain, &chosen, stag), 0);
    assert_int_equal(chosen.stag, stag);
    assert_int_equal(place_at(&r, stag, 0x5000, 8), IW_CHECK_NONE);
    /* Invalidated, it still has its STag; given up, it may have it again. */
    assert_int_equal(iw_domain_invalidate(r.domain, stag), 0);
    assert_int_equal(iw_domain_register_as(r.domain, &chosen, stag), -4);
    assert_int_equal(place_at(&r, stag, 0x5000, 8), IW_CHECK_DDP_STAG);
    assert_int_equal(iw_domain_deregister(r.domain, stag), 0);
    assert_int_equal(iw_domain_register_as(r.domain, &chosen, stag), 0);
    assert_int_equal(place_at(&r, stag, 0x5000, 8), IW_CHECK_NONE);
    /* A full table, a sum that wraps. */
    assert_int_equal(iw_domain_register_as(r.domain, &chosen, stag ^ 1), -1);
    chosen.to = UINT64_MAX - 7;
    assert_int_equal(iw_domain_register_as(r.domain, &chosen, stag ^ 1), -2);
    assert_int_equal(iw_domain_deregister(r.domain, stag), 0);
    close_rig(&r);
}

static void test_windows_that_are_refused(void **state)
{
    (void)state;
    struct rig r;
    open_bindable(&r, 4);
    struct iw_region plain = r.region;
    plain.access = IW_ACCESS_BIND; /* not writable here, so not from there either */
    assert_int_equal(iw_domain_register(r.domain, &plain), 0);
    struct iw_region closed = r.region;
    closed.access = IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE;
    assert_int_equal(iw_domain_register(r.domain, &closed), 0);
    struct iw_region w = {.to = 0x1000, .length = 64, .access = IW_ACCESS_REMOTE_READ};
    assert_int_equal(iw_domain_bind(r.domain, plain.stag, &w), 0);
    const uint32_t stag = w.stag, main = r.region.stag, no = main ^ 1;
    const struct {
        uint32_t parent, stag;
        uint64_t to, length;
        uint32_t access;
        int result;
    } cases[] = {
        {main, 0, 0x0fff, 1, 0, -2},
        {main, 0, 0x1000, 65, 0, -2},
        {main, 0, 0x1041, 0, 0, -2},
        {main, 0, 0x103f, 2, 0, -2},
        {main, 0, 0x103f, UINT64_MAX, 0, -2},
        {no, 0, 0x1000, 4, 0, -3},
        {closed.stag, 0, 0x1000, 4, 0, -3},
        {stag, 0, 0x1000, 4, 0, -3}, /* a window of a window */
        {plain.stag, 0, 0x1000, 4, IW_ACCESS_REMOTE_WRITE, -3},
        {plain.stag, 0, 0x1000, 4, IW_ACCESS_REMOTE_ATOMIC, -3},
        {main, 0, 0x1000, 4, IW_ACCESS_LOCAL_WRITE, -3},
        {main, 0, 0x1000, 4, IW_ACCESS_BIND, -3},
        {main, no, 0x1000, 4, 0, -3},
        {main, closed.stag, 0x1000, 4, 0, -3}, /* a region is no window */
        {main, stag, 0x1000, 65, 0, -2},
        {main, 0, 0x1000, 64, 0, -1}, /* the table is full */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_region bad = {.to = cases[i].to,
                                .length = cases[i].length,
                                .stag = cases[i].stag,
                                .access = cases[i].access};
        assert_int_equal(iw_domain_bind(r.domain, cases[i].parent, &bad), cases[i].result);
        assert_int_equal(bad.stag, cases[i].stag);
    }
    /* A window that failed to be bound anew is as it was; its parent still cannot go, the other one
     * can. */
    struct iw_region found;
    assert_true(iw_domain_lookup(r.domain, stag, &found));
    assert_true(found.valid);
    assert_int_equal(iw_domain_deregister(r.domain, plain.stag), -2);
    w.access = 0;
    assert_int_equal(iw_domain_bind(r.domain, main, &w), 0); /* it changes its parent */
    assert_int_equal(iw_domain_deregister(r.domain, plain.stag), 0);
    assert_int_equal(iw_domain_deregister(r.domain, main), -2);
    close_rig(&r);
}

/* STag values are what the random source says, but never 0, and never one that is in use. */
static uint32_t drawn[8];
static unsigned draws;

static void listed_random(void *context, void *out, size_t length)
{
    (void)context;
    assert_int_equal(length, 4);
    memcpy(out, &drawn[draws++], 4);
}

static void test_stags_come_from_the_random_source(void **state)
{
    (void)state;
    struct rig r;
    /* A counter is added, so that a source that repeats itself comes to an end. */
    static const uint32_t values[] = {0x8badf00d,     0x8badf00d - 1, 0 - 2u,
                                      0x11111111 - 3, 0x11111111 - 4, 0x22222222 - 5};
    memcpy(drawn, values, sizeof(values));
    draws = 0;
    open_domain(&r, 3, listed_random);
    struct iw_region a = {.base = r.arena, .length = 4, .access = IW_ACCESS_BIND}, b = a;
    assert_int_equal(iw_domain_register(r.domain, &a), 0);
    assert_int_equal(a.stag, 0x8badf00d);
    assert_int_equal(draws, 1);
    assert_int_equal(iw_domain_invalidate(r.domain, a.stag), 0); /* dead, but still known */
    assert_int_equal(iw_domain_register(r.domain, &b), 0);
    assert_int_equal(b.stag, 0x11111111); /* neither the one in use nor 0 */
    assert_int_equal(draws, 4);
    assert_int_equal(iw_domain_deregister(r.domain, b.stag), 0);
    b.access = IW_ACCESS_BIND;
    assert_int_equal(iw_domain_register(r.domain, &b), 0);
    assert_int_equal(b.stag, 0x11111111); /* free again, as the source has it */
    struct iw_region w = {.length = 4, .access = IW_ACCESS_REMOTE_READ};
    assert_int_equal(iw_domain_bind(r.domain, b.stag, &w), 0);
    assert_int_equal(w.stag, 0x22222222);
    drawn[6] = 0x22222222 - 6; /* bound anew, the STag before it does not come again */
    drawn[7] = 0x33333333 - 7;
    assert_int_equal(iw_domain_bind(r.domain, b.stag, &w), 0);
    assert_int_equal(w.stag, 0x33333333);
    close_rig(&r);
}

static void test_scatter_and_gather(void **state)
{
    (void)state;
    uint8_t out[16], in[] = "0123456789";
    struct iw_iov from[] = {{in, 0}, {in, 3}, {NULL, 0}, {in + 3, 1}, {in + 4, 6}, {in, 0}};
    struct iw_iov to[] = {{out, 2}, {NULL, 0}, {out + 4, 5}};
    memset(out, '-', sizeof(out));
    assert_int_equal(iw_ddp_scatter(to, 3, 1, from, 6, 2, 99), 6);
    assert_memory_equal(out, "-2--34567-------", 16);
    assert_int_equal(iw_ddp_scatter(to, 3, 7, from, 6, 0, 1), 0);
    assert_int_equal(iw_ddp_scatter(to, 3, 0, from, 6, 10, 1), 0);
    assert_int_equal(iw_ddp_gather(out, from, 6, 2, 4), 4);
    assert_memory_equal(out, "2345", 4);
    /* Lists that overlap: as if through a third place. */
    struct iw_iov whole = {in, 9}, shifted = {in + 1, 9};
    assert_int_equal(iw_ddp_scatter(&shifted, 1, 0, &whole, 1, 0, 9), 9);
    assert_memory_equal(in, "0012345678", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_of_a_domain),
        cmocka_unit_test(test_a_large_pool),
        cmocka_unit_test(test_sums_that_wrap),
        cmocka_unit_test(test_a_stuck_random_source),
        cmocka_unit_test(test_stags_against_a_list),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_mock_effects),
        cmocka_unit_test(test_placed_before_the_check),
        cmocka_unit_test(test_an_unknown_stag_leads_to_scratch),
        cmocka_unit_test(test_a_dead_stag),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_windows_with_chosen_stags),
        cmocka_unit_test(test_regions_with_chosen_stags),
        cmocka_unit_test(test_windows_that_are_refused),
        cmocka_unit_test(test_stags_come_from_the_random_source),
        cmocka_unit_test(test_scatter_and_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
