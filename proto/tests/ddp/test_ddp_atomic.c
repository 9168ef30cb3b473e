/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* The atomics of RFC 7306 on memory, without a connection. */

#define ALL UINT64_MAX

struct rig {
    struct pair pair; /* for the allocator */
    struct iw_domain *domain;
    struct iw_switches switches;
    struct iw_ddp_stream stream;
    _Alignas(8) uint8_t arena[16 + 64 + 16];
    struct iw_region region; /* the 64 in the middle */
};

static int locked;
static const uint8_t *watched; /* 8 octets */
static uint64_t at_lock, at_unlock;

static void lock(void *context)
{
    (void)context;
    assert_int_equal(locked, 0); /* never nested */
    locked = 1;
    if (watched != NULL)
        memcpy(&at_lock, watched, sizeof(at_lock));
}

static void unlock(void *context)
{
    (void)context;
    assert_int_equal(locked, 1);
    locked = 0;
    if (watched != NULL)
        memcpy(&at_unlock, watched, sizeof(at_unlock));
}

static void open_rig(struct rig *r)
{
    memset(r, 0, sizeof(*r));
    r->pair.allocations_left = -1;
    struct iw_env env = {&r->pair, pair_alloc, pair_free,         pair_random,
                         lock,     unlock,     iw_crc32c_portable};
    struct iw_domain_limits limits = {4, 1};
    r->domain = iw_domain_create(&env, &limits);
    assert_non_null(r->domain);
    r->stream = (struct iw_ddp_stream){r->domain, iw_domain_pd(r->domain),
                                       iw_domain_stream(r->domain), &r->switches, 0};
    memset(r->arena, 0xa5, sizeof(r->arena));
    r->region = (struct iw_region){.base = r->arena + 16,
                                   .length = 64,
                                   .to = 0x1000,
                                   .guard = 16,
                                   .pd = r->stream.pd,
                                   .access = IW_ACCESS_REMOTE_ATOMIC};
    assert_int_equal(iw_domain_register(r->domain, &r->region), 0);
}

static void close_rig(struct rig *r)
{
    iw_domain_destroy(r->domain);
    assert_int_equal(r->pair.allocations_live, 0);
    assert_int_equal(locked, 0);
}

/* The number at an offset of the region, as this machine holds it. */
static uint64_t value_at(const struct rig *r, size_t offset)
{
    uint64_t value;
    memcpy(&value, r->region.base + offset, sizeof(value));
    return value;
}

static void put_value(struct rig *r, size_t offset, uint64_t value)
{
    memcpy(r->region.base + offset, &value, sizeof(value));
}

static struct iw_rdmap_atomic_request fetch_add(const struct rig *r, uint64_t add, uint64_t mask)
{
    return (struct iw_rdmap_atomic_request){.opcode = IW_ATOMIC_FETCH_ADD,
                                            .remote_stag = r->region.stag,
                                            .remote_to = r->region.to + 8,
                                            .add_swap_data = add,
                                            .add_swap_mask = mask,
                                            .compare_mask = ALL};
}

/* Runs it on a value and returns the value after it. The one before it comes back. */
static uint64_t run(struct rig *r, const struct iw_rdmap_atomic_request *request, uint64_t before)
{
    uint64_t original = ~before;
    put_value(r, 8, before);
    assert_int_equal(iw_ddp_atomic(&r->stream, request, NULL), IW_CHECK_NONE);
    assert_true(value_at(r, 8) == before);
    assert_int_equal(iw_ddp_atomic(&r->stream, request, &original), IW_CHECK_NONE);
    assert_true(original == before);
    assert_true(value_at(r, 0) == 0xa5a5a5a5a5a5a5a5 && value_at(r, 16) == 0xa5a5a5a5a5a5a5a5);
    return value_at(r, 8);
}

static void test_fetch_add(void **state)
{
    (void)state;
    static const struct {
        uint64_t before, add, mask, after;
    } cases[] = {
        /* one field of 64 bits */
        {1, 1, 0, 2},
        {41, 0, 0, 41},
        {0x00000000ffffffff, 1, 0, 0x0000000100000000},
        {ALL, 1, 0, 0},
        {ALL, ALL, 0, 0xfffffffffffffffe},
        {0x8000000000000000, 0x8000000000000000, 0, 0},
        {0x8000000000000001, 0x8000000000000001, 0x8000000000000000, 2},
        /* 64 fields of one bit: exclusive or */
        {0x0123456789abcdef, 0xffffffff00000000, ALL, 0xfedcba9889abcdef},
        {ALL, ALL, ALL, 0},
        /* 8 of 8 */
        {0xff00ff7f80017fff, 0x0101010180ff0101, 0x8080808080808080, 0x0001008000008000},
        {0xffffffffffffffff, 0x0202020202020203, 0x8080808080808080, 0x0101010101010102},
        /* 4 of 16 */
        {0xffff7fff00018000, 0x00010001ffff8000, 0x8000800080008000, 0x0000800000000000},
        /* 2 of 32 */
        {0xffffffffffffffff, 0x0000000100000001, 0x8000000080000000, 0},
        {0x7fffffff80000000, 0x0000000180000000, 0x8000000080000000, 0x8000000000000000},
        {0x0000000100000002, 0xffffffffffffffff, 0x8000000080000000, 0x0000000000000001},
        /* the field above the highest bit of the mask ends at bit 63 */
        {0x00000000ffffffff, 1, 0x0000000080000000, 0},
        {0xffffffffffffffff, 0x0000000100000001, 0x0000000080000000, 0},
        /* bit 0 alone */
        {1, 1, 1, 0},
        {3, 1, 1, 2},
        {3, 3, 1, 4},
        /* four fields of one bit and one of 60 */
        {0xff, 0x1f, 0xf, 0x100},
        /* bits 0-2, 3-5, and the rest */
        {0x7f, 0x49, 0x24, 0x80},
    };
    struct rig r;
    open_rig(&r);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_rdmap_atomic_request request = fetch_add(&r, cases[i].add, cases[i].mask);
        assert_true(run(&r, &request, cases[i].before) == cases[i].after);
        /* RFC 7306 §5.2.1: ignored on receive */
        request.opcode |= 0xfffffff0;
        request.compare_data = 0x1122334455667788;
        request.compare_mask = 0x99;
        assert_true(run(&r, &request, cases[i].before) == cases[i].after);
    }
    close_rig(&r);
}

static void test_cmp_swap(void **state)
{
    (void)state;
    static const uint64_t v = 0x1122334455667788;
    const struct {
        uint64_t before, compare, compare_mask, swap, swap_mask, after;
    } cases[] = {
        {5, 5, ALL, 9, ALL, 9},
        {5, 4, ALL, 9, ALL, 5},
        {5, 4, 0, 9, ALL, 9}, /* nothing is compared */
        {5, 5, ALL, 9, 0, 5}, /* nothing is swapped */
        {5, 4, 0, 9, 0, 5},
        {v, 0x88, 0xff, 0xaaaaaaaaaaaaaaaa, 0xff000000000000ff, 0xaa223344556677aa},
        {v, 0x89, 0xff, 0xaaaaaaaaaaaaaaaa, 0xff000000000000ff, v},
        {v, 0xff22334455667788, 0x00ffffffffffffff, 0, 0x00000000ffffffff, 0x1122334400000000},
        {v, 0xff22334455667788, 0x01ffffffffffffff, 0, 0x00000000ffffffff, 0x1122334400000000},
        {v, 0xff22334455667788, 0x02ffffffffffffff, 0, 0x00000000ffffffff, v},
        {0x8000000000000000, 0, 0x8000000000000000, 1, 1, 0x8000000000000000},
        {0x8000000000000000, 0x8000000000000000, 0x8000000000000000, 1, 1, 0x8000000000000001},
    };
    struct rig r;
    open_rig(&r);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iw_rdmap_atomic_request request = {.opcode = IW_ATOMIC_CMP_SWAP,
                                                  .remote_stag = r.region.stag,
                                                  .remote_to = r.region.to + 8,
                                                  .add_swap_data = cases[i].swap,
                                                  .add_swap_mask = cases[i].swap_mask,
                                                  .compare_data = cases[i].compare,
                                                  .compare_mask = cases[i].compare_mask};
        assert_true(run(&r, &request, cases[i].before) == cases[i].after);
    }
    close_rig(&r);
}

/* The pseudocode of RFC 7306 §5.1.1, word by word. */
static uint64_t reference(uint64_t original, uint64_t add, uint64_t mask)
{
    uint64_t bit_location = 1, carry = 0, result = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        if (bit != 0)
            bit_location = bit_location << 1;
        uint64_t val1 = (original & bit_location) >> bit;
        uint64_t val2 = (add & bit_location) >> bit;
        uint64_t sum = carry + val1 + val2;
        carry = (sum & 2) >> 1;
        sum = sum & 1;
        if (sum)
            result |= bit_location;
        carry = carry && !(mask & bit_location);
    }
    return result;
}

static uint64_t random64(struct rig *r)
{
    uint64_t value;
    pair_random(&r->pair, &value, sizeof(value));
    return value;
}

static void test_fetch_add_is_the_pseudocode(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    for (int i = 0; i < 20000; i++) {
        uint64_t before = random64(&r), add = random64(&r), mask = random64(&r);
        /* NOLINTBEGIN(misc-redundant-expression): each call gives another number */
        if (i % 3 == 0) /* long fields */
            mask &= random64(&r) & random64(&r) & random64(&r);
        if (i % 5 == 0) /* long carries */
            before |= random64(&r) | random64(&r) | random64(&r);
        /* NOLINTEND(misc-redundant-expression) */
        const struct iw_rdmap_atomic_request request = fetch_add(&r, add, mask);
        assert_true(run(&r, &request, before) == reference(before, add, mask));
    }
    close_rig(&r);
}

/* Refused: with this check, and memory and *original stay as they are. */
static void refuse(struct rig *r, const struct iw_rdmap_atomic_request *request,
                   enum iw_check check)
{
    uint8_t before[sizeof(r->arena)];
    uint64_t original = 77;
    memcpy(before, r->arena, sizeof(before));
    assert_int_equal(iw_ddp_atomic(&r->stream, request, NULL), check);
    assert_int_equal(iw_ddp_atomic(&r->stream, request, &original), check);
    assert_int_equal(original, 77);
    assert_memory_equal(r->arena, before, sizeof(before));
}

static void test_validation(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    struct iw_rdmap_atomic_request add = fetch_add(&r, 1, 0), bad = add;
    for (uint32_t code = 0; code < 16; code++) {
        bad.opcode = 0x70 | code;
        if (code != IW_ATOMIC_FETCH_ADD && code != IW_ATOMIC_CMP_SWAP)
            refuse(&r, &bad, IW_CHECK_RDMAP_ATOMIC_OPCODE); /* 1: OP-81 */
    }
    bad = add;
    bad.remote_stag ^= 1;
    refuse(&r, &bad, IW_CHECK_RDMAP_READ_STAG);
    for (uint64_t off = 1; off < 8; off++)
        for (uint32_t code = 0; code <= 2; code += 2) {
            bad = add;
            bad.opcode = code;
            bad.remote_to += off;
            refuse(&r, &bad, IW_CHECK_RDMAP_ATOMIC_ALIGN);
        }
    static const struct {
        uint64_t to;
        enum iw_check check;
    } places[] = {{0x1000, IW_CHECK_NONE},
                  {0x1038, IW_CHECK_NONE},
                  {0x1039, IW_CHECK_RDMAP_READ_BOUNDS},
                  {0x103f, IW_CHECK_RDMAP_READ_BOUNDS},
                  {0x1040, IW_CHECK_RDMAP_READ_BASE},
                  {0x0fff, IW_CHECK_RDMAP_READ_BASE},
                  {0x0ff8, IW_CHECK_RDMAP_READ_BASE},
                  {UINT64_MAX - 8, IW_CHECK_RDMAP_READ_BASE},
                  {UINT64_MAX - 7, IW_CHECK_RDMAP_READ_WRAP}};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        bad = add;
        bad.remote_to = places[i].to;
        if (places[i].check == IW_CHECK_NONE)
            assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &(uint64_t){0}), IW_CHECK_NONE);
        else
            refuse(&r, &bad, places[i].check);
    }
    struct iw_ddp_stream own = r.stream;
    r.stream.pd++;
    refuse(&r, &add, IW_CHECK_RDMAP_READ_ASSOC);
    r.stream = own;
    assert_int_equal(iw_domain_invalidate(r.domain, r.region.stag), 0);
    refuse(&r, &add, IW_CHECK_RDMAP_READ_STAG);
    struct iw_region other = r.region;
    other.stream = own.stream + 1;
    assert_int_equal(iw_domain_register(r.domain, &other), 0);
    add.remote_stag = other.stag;
    refuse(&r, &add, IW_CHECK_RDMAP_READ_ASSOC);
    struct iw_region unfit = r.region;
    unfit.access = ~IW_ACCESS_REMOTE_ATOMIC;
    assert_int_equal(iw_domain_register(r.domain, &unfit), 0);
    add.remote_stag = unfit.stag;
    refuse(&r, &add, IW_CHECK_RDMAP_READ_ACCESS);
    close_rig(&r);
}

/* OP-85: the address decides, not the TO. */
static void test_alignment_is_of_the_address(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    struct iw_region odd = r.region;
    odd.base += 3;
    odd.length -= 8;
    odd.to = 0x2000;
    assert_int_equal(iw_domain_register(r.domain, &odd), 0);
    struct iw_rdmap_atomic_request add = fetch_add(&r, 1, 0);
    add.remote_stag = odd.stag;
    add.remote_to = 0x2000;
    refuse(&r, &add, IW_CHECK_RDMAP_ATOMIC_ALIGN);
    add.remote_to = 0x2005;
    uint64_t original;
    assert_int_equal(iw_ddp_atomic(&r.stream, &add, &original), IW_CHECK_NONE);
    assert_true(original == 0xa5a5a5a5a5a5a5a5);
    assert_true(value_at(&r, 8) == 0xa5a5a5a5a5a5a5a6);
    close_rig(&r);
}

/* RFC 7306 §5.3: reading and writing happen under one lock. */
static void test_one_lock(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    const struct iw_rdmap_atomic_request add = fetch_add(&r, 3, 0);
    watched = r.region.base + 8;
    assert_true(run(&r, &add, 4) == 7);
    watched = NULL;
    assert_true(at_lock == 4 && at_unlock == 7);
    close_rig(&r);
}

static void set(struct rig *r, enum iw_switch kind, const char *spec)
{
    const char *error;
    memset(&r->switches, 0, sizeof(r->switches));
    assert_int_equal(iw_switches_set(&r->switches, kind, spec, &error), 1);
}

/* Ignored or placed before the check, it is done all the same: in the region's arena, or where
 * nobody looks. */
static void test_mock_effects(void **state)
{
    (void)state;
    struct rig r;
    uint64_t original;
    open_rig(&r);
    struct iw_rdmap_atomic_request add = fetch_add(&r, 1, 0), bad = add;
    put_value(&r, 0, 0);
    put_value(&r, 8, 0);

    bad.remote_to = r.region.to + 3;
    set(&r, IW_SWITCH_IGNORE, "rdmap-atomic-align");
    assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &original), IW_CHECK_NONE);
    uint64_t there;
    memcpy(&there, r.region.base + 3, sizeof(there));
    assert_true(original == 0 && there == 1);
    set(&r, IW_SWITCH_BOTCH, "rdmap-atomic-align=place");
    assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &original), IW_CHECK_RDMAP_ATOMIC_ALIGN);
    memcpy(&there, r.region.base + 3, sizeof(there));
    assert_true(original == 1 && there == 2);
    put_value(&r, 0, 0);
    put_value(&r, 8, 0);

    bad = add;
    bad.opcode = 1;
    set(&r, IW_SWITCH_IGNORE, "rdmap-atomic-opcode");
    assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &original), IW_CHECK_NONE);
    assert_true(value_at(&r, 8) == 1);
    set(&r, IW_SWITCH_BOTCH, "rdmap-atomic-opcode=place");
    assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &original), IW_CHECK_RDMAP_ATOMIC_OPCODE);
    assert_true(value_at(&r, 8) == 2);
    set(&r, IW_SWITCH_BOTCH, "rdmap-atomic-opcode=code");
    refuse(&r, &bad, IW_CHECK_RDMAP_ATOMIC_OPCODE);

    bad = add;
    bad.remote_to = r.region.to + 64; /* in the rear guard */
    set(&r, IW_SWITCH_IGNORE, "rdmap-read-base");
    put_value(&r, 64, 7);
    assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &original), IW_CHECK_NONE);
    assert_true(original == 7 && value_at(&r, 64) == 8);

    uint8_t before[sizeof(r.arena)];
    memcpy(before, r.arena, sizeof(before));
    bad.remote_to = r.region.to + 76; /* runs out of the arena */
    assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &original), IW_CHECK_NONE);
    bad.remote_stag ^= 1;
    set(&r, IW_SWITCH_IGNORE, "rdmap-read-stag");
    assert_int_equal(iw_ddp_atomic(&r.stream, &bad, &original), IW_CHECK_NONE);
    assert_memory_equal(r.arena, before, sizeof(before));
    close_rig(&r);
}

static void test_violations(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r);
    const struct iw_rdmap_atomic_request add = fetch_add(&r, 1, 0x80);
    set(&r, IW_SWITCH_VIOLATE, "rdmap-atomic-done");
    assert_true(run(&r, &add, 0xff) == 0xff);
    set(&r, IW_SWITCH_VIOLATE, "rdmap-atomic-carry");
    assert_true(run(&r, &add, 0xff) == 0x100);
    set(&r, IW_SWITCH_VIOLATE, "rdmap-atomic-compare");
    assert_true(run(&r, &add, 0xff) == 0);
    struct iw_rdmap_atomic_request swap = add;
    swap.opcode = IW_ATOMIC_CMP_SWAP;
    swap.compare_data = 1;
    assert_true(run(&r, &swap, 0xff) == 0x7f);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fetch_add),
        cmocka_unit_test(test_cmp_swap),
        cmocka_unit_test(test_fetch_add_is_the_pseudocode),
        cmocka_unit_test(test_validation),
        cmocka_unit_test(test_alignment_is_of_the_address),
        cmocka_unit_test(test_one_lock),
        cmocka_unit_test(test_mock_effects),
        cmocka_unit_test(test_violations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
