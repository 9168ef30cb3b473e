/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of buffers without a device: its sizes, its bounds, and what is registered when. */
#include "messages_doubles.h"

enum { KIB = 1024, SLAB = 64 * (64 + 4096) };

static struct iw_pool pool;
static struct ibv_pd pd;

static int begin(void **unused)
{
    (void)unused;
    pd.context = bench_verbs();
    bench_fails = NONE;
    bench_registered = 0;
    memset(bench_held, 0, sizeof(bench_held));
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    iw_pool_close(&pool);
    assert_int_equal(bench_registered, 0);
    return 0;
}

static void open_pool(size_t most, size_t lockable)
{
    assert_int_equal(iw_pool_open(&pool, &pd, most, lockable), 0);
}

/* Four sizes to each power of two, from 16 KiB on; each for what does not fit the one before. */
static void sizes(void **unused)
{
    (void)unused;
    static const size_t rooms[] = {16, 20, 24,  28,  32,  40,  48,  56, 64,
                                   80, 96, 112, 128, 160, 192, 224, 256};
    size_t least = 4097, octets = 0;
    open_pool(SIZE_MAX, SIZE_MAX);
    for (unsigned i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        struct iw_buffer *small = iw_pool_get(&pool, least),
                         *large = iw_pool_get(&pool, rooms[i] * KIB);
        assert_int_equal(small->room, rooms[i] * KIB);
        assert_int_equal(large->room, rooms[i] * KIB);
        assert_int_equal(small->whole, rooms[i] * KIB);
        assert_int_equal(small->size, i + 1);
        assert_int_equal(large->size, i + 1);
        octets += 2 * rooms[i] * KIB;
        assert_int_equal(pool.octets, octets);
        assert_true(small->lent_out && small->length == 0 && small->origin == 0);
        /* The last that came back is the next that goes. */
        small->length = 5;
        small->origin = 7;
        iw_pool_put(&pool, large);
        iw_pool_put(&pool, small);
        assert_false(small->lent_out);
        assert_ptr_equal(iw_pool_get(&pool, least), small);
        assert_true(small->length == 0 && small->origin == 0);
        assert_ptr_equal(iw_pool_get(&pool, least), large);
        least = rooms[i] * KIB + 1;
    }
    assert_int_equal(bench_registered, 0); /* none was needed */
    errno = 0;
    assert_null(iw_pool_get(&pool, SIZE_MAX / 2)); /* beyond the last class */
    assert_int_equal(errno, ENOMEM);
}

/* Small ones lie in a slab, each after its header, and share a region. */
static void a_slab(void **unused)
{
    (void)unused;
    struct iw_buffer *b[65];
    open_pool(2 * SLAB, SIZE_MAX);
    for (unsigned i = 0; i < 64; i++) {
        b[i] = iw_pool_get(&pool, i == 0 ? 0 : 4096);
        assert_int_equal(b[i]->room, 4096);
        assert_int_equal(b[i]->size, 0);
        assert_ptr_equal(b[i]->mr, b[0]->mr);
        assert_int_equal(((uintptr_t)b[i]->data - 64) % 64, 0);
        for (unsigned k = 0; k < 4160; k++)
            assert_int_equal((b[i]->data - 64)[k], 0);
        memset(b[i]->data - 64, 1, 4160);
    }
    assert_int_equal(pool.octets, SLAB);
    assert_int_equal(pool.slab_octets, SLAB);
    assert_int_equal(bench_registered, 1);
    assert_int_equal(bench_rights, IBV_ACCESS_LOCAL_WRITE);
    assert_int_equal(b[0]->mr->length, SLAB);
    b[64] = iw_pool_get(&pool, 1);
    assert_ptr_not_equal(b[64]->mr, b[0]->mr);
    assert_int_equal(pool.octets, 2 * SLAB);
    /* A region that is there is not made again, and not given back with a buffer. */
    assert_int_equal(iw_pool_register(&pool, b[0]), 0);
    iw_pool_put(&pool, b[0]);
    iw_pool_put(&pool, NULL);
    assert_int_equal(bench_registered, 2);
    assert_non_null(b[0]->mr);
}

static unsigned count_small(size_t most, size_t lockable)
{
    unsigned count = 0;
    open_pool(most, lockable);
    while (iw_pool_get(&pool, 1) != NULL)
        count++;
    assert_int_equal(errno, ENOMEM);
    return count;
}

/* Half of what may be locked is for small ones. */
static void bounds_of_slabs(void **unused)
{
    (void)unused;
    static const struct {
        size_t most, lockable;
        unsigned count;
    } rows[] = {{SLAB - 1, SIZE_MAX, 0},       {SLAB, SIZE_MAX, 64},
                {3 * SLAB - 1, SIZE_MAX, 128}, {SIZE_MAX, 2 * SLAB - 1, 0},
                {SIZE_MAX, 2 * SLAB, 64},      {SIZE_MAX, 4 * SLAB - 1, 64},
                {SIZE_MAX, 4 * SLAB, 128}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(count_small(rows[i].most, rows[i].lockable), rows[i].count);
        iw_pool_close(&pool);
    }
    /* Without a region there is no slab. */
    open_pool(SIZE_MAX, SIZE_MAX);
    bench_fails = REG_MR;
    assert_null(iw_pool_get(&pool, 1));
    assert_int_equal(pool.octets, 0);
    bench_fails = NONE;
    assert_non_null(iw_pool_get(&pool, 1));
}

/* The longest free ones make room, no more than it takes. */
static void what_gives_way(void **unused)
{
    (void)unused;
    open_pool((16 + 16 + 32 + 64) * KIB, SIZE_MAX);
    struct iw_buffer *used = iw_pool_get(&pool, 16 * KIB), *a = iw_pool_get(&pool, 16 * KIB),
                     *b = iw_pool_get(&pool, 32 * KIB), *c = iw_pool_get(&pool, 64 * KIB);
    void *const at = a->data;
    iw_pool_put(&pool, a);
    iw_pool_put(&pool, b);
    iw_pool_put(&pool, c);
    assert_int_equal(pool.octets, 128 * KIB);
    assert_int_equal(pool.count, 4);
    struct iw_buffer *new = iw_pool_get(&pool, 56 * KIB);
    assert_non_null(new);
    assert_int_equal(pool.octets, 120 * KIB);
    assert_int_equal(pool.count, 4);
    assert_ptr_equal(iw_pool_get(&pool, 32 * KIB), b);
    assert_null(iw_pool_get(&pool, 28 * KIB)); /* the 16 KiB that are free would not do */
    assert_int_equal(pool.octets, 104 * KIB);
    assert_null(iw_pool_find(&pool, at));
    assert_ptr_equal(iw_pool_find(&pool, used->data), used);
    assert_non_null(iw_pool_get(&pool, 24 * KIB));
    assert_int_equal(pool.octets, 128 * KIB);
    assert_null(iw_pool_get(&pool, 16 * KIB));
    assert_null(iw_pool_get(&pool, 128 * KIB + 1));
}

/* What may not be locked any more: the regions of free buffers go. */
static void regions(void **unused)
{
    (void)unused;
    open_pool(SIZE_MAX, SIZE_MAX);
    struct iw_buffer *b[3];
    for (int i = 0; i < 3; i++) {
        b[i] = iw_pool_get(&pool, 16 * KIB + 8 * KIB * (size_t)i);
        assert_null(b[i]->mr);
        assert_int_equal(iw_pool_register(&pool, b[i]), 0);
        assert_int_equal(b[i]->mr->length, b[i]->whole);
        assert_int_equal(iw_pool_register(&pool, b[i]), 0);
        assert_int_equal(bench_registered, i + 1);
    }
    iw_pool_put(&pool, b[0]);
    iw_pool_put(&pool, b[1]);
    assert_int_equal(bench_registered, 3); /* there is no limit: they are kept */
    struct iw_buffer *other = iw_pool_get(&pool, 40 * KIB);
    bench_fails = REG_MR;
    bench_calls[REG_MR] = 0;
    assert_int_equal(iw_pool_register(&pool, other), -1);
    assert_int_equal(bench_calls[REG_MR], 2);
    assert_null(other->mr);
    assert_true(b[0]->mr == NULL && b[1]->mr == NULL);
    assert_non_null(b[2]->mr);
    assert_int_equal(bench_registered, 1);
    /* Offered: its own local region goes as well before it is given up. */
    bench_calls[REG_MR] = 0;
    assert_int_equal(iw_pool_offer(&pool, b[2], 100, IW_POOL_LENT), -1);
    assert_int_equal(bench_calls[REG_MR], 3);
    assert_true(b[2]->mr == NULL && b[2]->offered == NULL);
    assert_int_equal(iw_pool_offered(&pool, IW_POOL_LENT), 0);
    assert_int_equal(bench_registered, 0);
    bench_fails = NONE;
    assert_int_equal(iw_pool_offer(&pool, b[2], 100, IW_POOL_LENT), 0);
    assert_int_equal(b[2]->offered->length, 100);
}

/* Where there is a limit a buffer that comes back is not registered. */
static void regions_within_a_limit(void **unused)
{
    (void)unused;
    open_pool(SIZE_MAX, 1024 * KIB);
    assert_int_equal(iw_pool_longest(&pool), 128 * KIB);
    struct iw_buffer *large = iw_pool_get(&pool, 16 * KIB), *small = iw_pool_get(&pool, 1);
    assert_int_equal(iw_pool_register(&pool, large), 0);
    iw_pool_put(&pool, large);
    iw_pool_put(&pool, small);
    assert_null(large->mr);
    assert_non_null(small->mr);
    iw_pool_close(&pool);
    open_pool(SIZE_MAX, SIZE_MAX);
    assert_true(iw_pool_longest(&pool) == SIZE_MAX);
}

static void offers(void **unused)
{
    (void)unused;
    static const unsigned rights[] = {IBV_ACCESS_REMOTE_READ,
                                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
                                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
    open_pool(SIZE_MAX, 1024 * KIB);
    struct iw_buffer *b = iw_pool_get(&pool, 64 * KIB), *other = iw_pool_get(&pool, 64 * KIB);
    for (enum iw_pool_use use = IW_POOL_ANNOUNCED; use < IW_POOL_USES; use++) {
        assert_int_equal(iw_pool_offer(&pool, b, 1000 + use, use), 0);
        assert_int_equal(bench_rights, rights[use]);
        assert_int_equal(bench_registered, 1); /* the one before has ended */
        for (enum iw_pool_use each = IW_POOL_ANNOUNCED; each < IW_POOL_USES; each++)
            assert_int_equal(iw_pool_offered(&pool, each), each == use ? 1000 + use : 0);
    }
    assert_int_equal(iw_pool_offer(&pool, other, 128 * KIB - 1002, IW_POOL_LENT), 0);
    assert_int_equal(iw_pool_offered(&pool, IW_POOL_LENT), 128 * KIB);
    assert_false(iw_pool_has_share(&pool, IW_POOL_LENT, 1));
    assert_true(iw_pool_has_share(&pool, IW_POOL_LENT, 0));
    assert_true(iw_pool_has_share(&pool, IW_POOL_FETCHED, 1024 * KIB));
    /* The first that is announced may be of any length: else it would wait for ever. */
    assert_true(iw_pool_has_share(&pool, IW_POOL_ANNOUNCED, 1024 * KIB));
    iw_pool_withdraw(&pool, b);
    iw_pool_withdraw(&pool, b);
    assert_int_equal(iw_pool_offered(&pool, IW_POOL_LENT), 128 * KIB - 1002);
    assert_true(iw_pool_has_share(&pool, IW_POOL_LENT, 1002));
    assert_false(iw_pool_has_share(&pool, IW_POOL_LENT, 1003));
    iw_pool_put(&pool, other);
    assert_int_equal(iw_pool_offered(&pool, IW_POOL_LENT), 0);
    assert_int_equal(bench_registered, 0);
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        POOL_TEST(sizes),          POOL_TEST(a_slab),  POOL_TEST(bounds_of_slabs),
        POOL_TEST(what_gives_way), POOL_TEST(regions), POOL_TEST(regions_within_a_limit),
        POOL_TEST(offers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
