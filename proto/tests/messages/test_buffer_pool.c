/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <rdma/rdma_cma.h>

#include "messages/buffer_pool.h"

enum { MIB = 1 << 20 };

static struct ibv_pd *pd;

static int open_domain(void **unused)
{
    (void)unused;
    struct ibv_context **devices = rdma_get_devices(NULL);
    if (devices == NULL || devices[0] == NULL)
        return -1;
    pd = ibv_alloc_pd(devices[0]);
    rdma_free_devices(devices);
    return pd != NULL ? 0 : -1;
}

static int close_domain(void **unused)
{
    (void)unused;
    return ibv_dealloc_pd(pd);
}

static void small_and_large(void **unused)
{
    (void)unused;
    struct iw_pool p;
    assert_int_equal(iw_pool_open(&p, pd, 8 * MIB, SIZE_MAX), 0);
    static const size_t lengths[] = {1, 4096, 4097, 16384, 16385, 20480, 1 << 20, 5 * MIB / 4};
    static const size_t rooms[] = {4096, 4096, 16384, 16384, 20480, 20480, 1 << 20, 5 * MIB / 4};
    struct iw_buffer *b[8];
    for (size_t i = 0; i < 8; i++) {
        b[i] = iw_pool_get(&p, lengths[i]);
        assert_non_null(b[i]);
        assert_int_equal(b[i]->room, rooms[i]);
        memset(b[i]->data, (int)i, b[i]->room);
        assert_ptr_equal(iw_pool_find(&p, b[i]->data), b[i]);
        assert_null(iw_pool_find(&p, b[i]->data + 1));
    }
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(b[i]->data[0], i);
        assert_int_equal(b[i]->data[b[i]->room - 1], i);
        iw_pool_put(&p, b[i]);
        assert_null(iw_pool_find(&p, b[i]->data));
    }
    assert_ptr_equal(iw_pool_get(&p, 1 << 20), b[6]);
    iw_pool_close(&p);
}

static void bounded(void **unused)
{
    (void)unused;
    struct iw_pool p;
    assert_int_equal(iw_pool_open(&p, pd, 4 * MIB, SIZE_MAX), 0);
    assert_null(iw_pool_get(&p, 5 * MIB));
    assert_int_equal(errno, ENOMEM);
    struct iw_buffer *a = iw_pool_get(&p, 2 * MIB), *b = iw_pool_get(&p, 2 * MIB);
    assert_true(a != NULL && b != NULL);
    assert_null(iw_pool_get(&p, 1));
    iw_pool_put(&p, a);
    /* A free one makes room for others. */
    struct iw_buffer *c[8];
    for (size_t i = 0; i < 8; i++) {
        c[i] = iw_pool_get(&p, 32 * 1024);
        assert_non_null(c[i]);
    }
    assert_non_null(iw_pool_get(&p, 1));
    assert_true(p.octets <= 4 * MIB);
    assert_null(iw_pool_get(&p, SIZE_MAX / 4));
    iw_pool_close(&p);
}

static void many(void **unused)
{
    (void)unused;
    struct iw_pool p;
    assert_int_equal(iw_pool_open(&p, pd, 64 * MIB, SIZE_MAX), 0);
    enum { MANY = 5000 };
    static struct iw_buffer *b[MANY];
    for (size_t i = 0; i < MANY; i++)
        assert_non_null(b[i] = iw_pool_get(&p, 100));
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(iw_pool_find(&p, b[i]->data), b[i]);
    for (size_t i = 0; i < MANY; i++)
        iw_pool_put(&p, b[i]);
    const size_t octets = p.octets;
    for (size_t i = 0; i < MANY; i++)
        assert_non_null(iw_pool_get(&p, 100));
    assert_int_equal(p.octets, octets);
    iw_pool_close(&p);
}

static void offered(void **unused)
{
    (void)unused;
    struct iw_pool p;
    assert_int_equal(iw_pool_open(&p, pd, 8 * MIB, SIZE_MAX), 0);
    struct iw_buffer *b = iw_pool_get(&p, 100000);
    assert_null(b->offered);
    assert_int_equal(iw_pool_offer(&p, b, 90000, IW_POOL_ANNOUNCED), 0);
    assert_int_equal(b->offered->length, 90000);
    assert_ptr_equal(b->offered->addr, b->data);
    iw_pool_put(&p, b);
    assert_null(b->offered);
    iw_pool_close(&p);
}

static void shares(void **unused)
{
    (void)unused;
    struct iw_pool p;
    assert_int_equal(iw_pool_open(&p, pd, 64 * MIB, 8 * MIB), 0);
    assert_int_equal(iw_pool_longest(&p), MIB);
    struct iw_buffer *a = iw_pool_get(&p, MIB), *b = iw_pool_get(&p, MIB);
    /* What waits is not registered. */
    assert_null(a->mr);
    assert_int_equal(iw_pool_register(&p, a), 0);
    assert_non_null(a->mr);
    assert_true(iw_pool_has_share(&p, IW_POOL_ANNOUNCED, MIB));
    assert_int_equal(iw_pool_offer(&p, a, MIB - 4096, IW_POOL_ANNOUNCED), 0);
    assert_true(iw_pool_has_share(&p, IW_POOL_ANNOUNCED, 4096));
    assert_false(iw_pool_has_share(&p, IW_POOL_ANNOUNCED, 4097));
    assert_true(iw_pool_has_share(&p, IW_POOL_FETCHED, MIB));
    assert_true(iw_pool_has_share(&p, IW_POOL_LENT, MIB));
    assert_false(iw_pool_has_share(&p, IW_POOL_LENT, MIB + 1));
    assert_int_equal(iw_pool_offer(&p, b, MIB, IW_POOL_LENT), 0);
    assert_false(iw_pool_has_share(&p, IW_POOL_LENT, 1));
    iw_pool_withdraw(&p, a);
    iw_pool_put(&p, b);
    iw_pool_put(&p, a);
    assert_null(a->mr);
    assert_true(iw_pool_has_share(&p, IW_POOL_ANNOUNCED, MIB));
    assert_true(iw_pool_has_share(&p, IW_POOL_LENT, MIB));
    /* Half of it is for small buffers. */
    while (iw_pool_get(&p, 1) != NULL)
        ;
    assert_int_equal(errno, ENOMEM);
    assert_in_range(p.slab_octets, 3 * MIB, 4 * MIB);
    iw_pool_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_large), cmocka_unit_test(bounded), cmocka_unit_test(many),
        cmocka_unit_test(offered),         cmocka_unit_test(shares),
    };
    return cmocka_run_group_tests(tests, open_domain, close_domain);
}
