/* SPDX-License-Identifier: BSD-3-Clause */
/* Which memory a request may name: regions, their bounds, rights and domains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <infiniband/verbs.h>

enum { LENGTH = 64, LOCAL = IBV_ACCESS_LOCAL_WRITE };

/* A queue pair in the error state takes a receive whose memory is right, and flushes it. */
struct desk {
    struct ibv_context *context;
    struct ibv_pd *pd, *other;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    uint8_t memory[LENGTH];
};

static int set_up(void **state)
{
    static struct desk d;
    struct ibv_device **list = ibv_get_device_list(NULL);
    d.context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.other = ibv_alloc_pd(d.context);
    d.cq = ibv_create_cq(d.context, 64, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = d.cq,
                                    .recv_cq = d.cq,
                                    .cap = {.max_recv_wr = 1, .max_recv_sge = 3},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    d.qp = ibv_create_qp(d.pd, &init);
    assert_int_equal(ibv_modify_qp(d.qp, &error, IBV_QP_STATE), 0);
    *state = &d;
    return 0;
}

static int tear_down(void **state)
{
    struct desk *d = *state;
    assert_int_equal(ibv_destroy_qp(d->qp), 0);
    assert_int_equal(ibv_destroy_cq(d->cq), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), 0);
    assert_int_equal(ibv_dealloc_pd(d->other), 0);
    assert_int_equal(ibv_close_device(d->context), 0);
    return 0;
}

static int take_list(struct desk *d, struct ibv_sge *sges, int count)
{
    struct ibv_recv_wr wr = {.sg_list = sges, .num_sge = count}, *bad;
    struct ibv_wc wc;
    int result = ibv_post_recv(d->qp, &wr, &bad);
    assert_int_equal(ibv_poll_cq(d->cq, 1, &wc), result == 0);
    return result;
}

static int take(struct desk *d, uint32_t lkey, uint64_t addr, uint32_t length)
{
    struct ibv_sge sge = {addr, length, lkey};
    return take_list(d, &sge, 1);
}

/* From `first` on, whatever that means. */
static void expect_bounds(struct desk *d, const struct ibv_mr *mr, uint64_t first)
{
    assert_int_equal(take(d, mr->lkey, first, LENGTH), 0);
    assert_int_equal(take(d, mr->lkey, first, LENGTH + 1), EINVAL);
    assert_int_equal(take(d, mr->lkey, first + LENGTH - 1, 1), 0);
    assert_int_equal(take(d, mr->lkey, first + LENGTH - 1, 2), EINVAL);
    assert_int_equal(take(d, mr->lkey, first + LENGTH, 1), EINVAL);
    assert_int_equal(take(d, mr->lkey, first + LENGTH + 1, 1), EINVAL);
    assert_int_equal(take(d, mr->lkey, first - 1, 1), EINVAL);
    assert_int_equal(take(d, mr->lkey, first - 1, 2), EINVAL);
    assert_int_equal(take(d, mr->lkey + 1, first, 1), EINVAL);
}

static void a_region_is_named_by_its_addresses(void **state)
{
    struct desk *d = *state;
    struct ibv_mr *mr = ibv_reg_mr(d->pd, d->memory, LENGTH, LOCAL);
    assert_int_equal(mr->length, LENGTH);
    assert_ptr_equal(mr->context, d->context);
    assert_ptr_equal(mr->pd, d->pd);
    assert_int_equal(mr->handle, mr->lkey);
    assert_int_equal(mr->rkey, mr->lkey);
    expect_bounds(d, mr, (uintptr_t)d->memory);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void or_by_addresses_of_the_programs_choice(void **state)
{
    struct desk *d = *state;
    struct ibv_mr *mr = ibv_reg_mr_iova(d->pd, d->memory, LENGTH, 0x7000, LOCAL);
    assert_ptr_equal(mr->addr, d->memory);
    expect_bounds(d, mr, 0x7000);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    mr = ibv_reg_mr_iova2(d->pd, d->memory, LENGTH, 0x9000, LOCAL | IBV_ACCESS_RELAXED_ORDERING);
    expect_bounds(d, mr, 0x9000);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void or_from_zero_on(void **state)
{
    struct desk *d = *state;
    struct ibv_mr *mr = ibv_reg_mr(d->pd, d->memory, LENGTH, LOCAL | IBV_ACCESS_ZERO_BASED);
    expect_bounds(d, mr, 0);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void receiving_needs_the_right_to_write(void **state)
{
    struct desk *d = *state;
    struct ibv_mr *mr = ibv_reg_mr(d->pd, d->memory, LENGTH, IBV_ACCESS_REMOTE_READ);
    assert_int_equal(take(d, mr->lkey, (uintptr_t)d->memory, 1), EINVAL);
    assert_int_equal(take(d, mr->lkey, 0, 0), 0); /* of nothing, nothing is asked */
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_region_is_of_one_domain(void **state)
{
    struct desk *d = *state;
    struct ibv_mr *mr = ibv_reg_mr(d->other, d->memory, LENGTH, LOCAL);
    assert_int_equal(take(d, mr->lkey, (uintptr_t)d->memory, 1), EINVAL);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, d->pd, NULL, 0, 0), 0);
    assert_int_equal(mr->length, LENGTH);
    assert_int_equal(take(d, mr->lkey, (uintptr_t)d->memory, 1), 0);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* A parent domain is its domain by another name. */
static void a_parent_domain_has_its_domains_regions(void **state)
{
    struct desk *d = *state;
    struct ibv_td_init_attr td_attr = {.comp_mask = 0};
    struct ibv_td *td = ibv_alloc_td(d->context, &td_attr);
    assert_non_null(td);
    assert_ptr_equal(td->context, d->context);
    struct ibv_parent_domain_init_attr attr = {.pd = d->pd, .td = td};
    struct ibv_pd *parent = ibv_alloc_parent_domain(d->context, &attr);
    assert_non_null(parent);
    assert_ptr_not_equal(parent, d->pd);
    struct ibv_mr *mr = ibv_reg_mr(parent, d->memory, LENGTH, LOCAL);
    assert_int_equal(take(d, mr->lkey, (uintptr_t)d->memory, 1), 0);
    assert_int_equal(ibv_dealloc_pd(d->pd), EBUSY);
    assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(parent), 0);
    assert_int_equal(ibv_dealloc_td(td), 0);
    attr.pd = NULL;
    errno = 0;
    assert_null(ibv_alloc_parent_domain(d->context, &attr));
    assert_int_equal(errno, EINVAL);
    attr.pd = d->pd;
    attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
    assert_null(ibv_alloc_parent_domain(d->context, &attr));
    assert_int_equal(errno, EOPNOTSUPP);
    td_attr.comp_mask = 1;
    assert_null(ibv_alloc_td(d->context, &td_attr));
    assert_int_equal(errno, EINVAL);
}

static void every_piece_is_checked(void **state)
{
    struct desk *d = *state;
    const uint64_t at = (uintptr_t)d->memory;
    struct ibv_mr *mr = ibv_reg_mr(d->pd, d->memory, LENGTH, LOCAL);
    struct ibv_sge good[3] = {{at, 8, mr->lkey}, {at + 60, 4, mr->lkey}, {0, 0, 0}};
    struct ibv_sge bad[3] = {{at, 8, mr->lkey}, {at + 8, 8, mr->lkey}, {at + 60, 5, mr->lkey}};
    assert_int_equal(take_list(d, good, 3), 0);
    assert_int_equal(take_list(d, good, 4), EINVAL); /* more than max_recv_sge */
    assert_int_equal(take_list(d, bad, 3), EINVAL);
    assert_int_equal(take_list(d, bad, 2), 0);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* Nothing is read or written there: the request is flushed. */
static void a_message_has_less_than_4_gib(void **state)
{
    struct desk *d = *state;
    struct ibv_mr *mr = ibv_reg_mr(d->pd, d->memory, UINT64_C(1) << 32, LOCAL);
    assert_non_null(mr);
    struct ibv_sge sges[2] = {{(uintptr_t)d->memory, 0x80000000, mr->lkey},
                              {(uintptr_t)d->memory, 0x7fffffff, mr->lkey}};
    assert_int_equal(take_list(d, sges, 2), 0);
    sges[1].length++;
    assert_int_equal(take_list(d, sges, 2), EINVAL);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void rights_go_together(void **state)
{
    struct desk *d = *state;
    for (unsigned access = 0; access < 1u << 9; access++) {
        const bool known = (access & (IBV_ACCESS_ON_DEMAND | 1u << 8)) == 0;
        const bool writes = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
        errno = 0;
        struct ibv_mr *mr = ibv_reg_mr_iova2(d->pd, d->memory, LENGTH, 0, access);
        assert_int_equal(mr != NULL, known && (!writes || (access & LOCAL) != 0));
        if (mr != NULL)
            assert_int_equal(ibv_dereg_mr(mr), 0);
        else
            assert_int_equal(errno, (access & IBV_ACCESS_ON_DEMAND) != 0 ? EOPNOTSUPP : EINVAL);
    }
    assert_null(ibv_reg_mr(d->pd, d->memory, SIZE_MAX, 0));
    assert_int_equal(errno, EINVAL); /* it wraps */
}

static void a_region_anew_has_a_new_key(void **state)
{
    struct desk *d = *state;
    struct ibv_mr *mr = ibv_reg_mr(d->pd, d->memory, LENGTH, 0);
    const uint32_t before = mr->lkey;
    const uint64_t at = (uintptr_t)d->memory;
    assert_int_equal(take(d, before, at, 1), EINVAL);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LOCAL), 0);
    assert_int_not_equal(mr->lkey, before);
    assert_int_equal(take(d, before, at, 1), EINVAL);
    expect_bounds(d, mr, at);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, d->memory + 8, 8, 0),
                     0);
    assert_int_equal(take(d, mr->lkey, at + 8, 8), 0);
    assert_int_equal(take(d, mr->lkey, at + 8, 9), EINVAL);
    assert_int_equal(take(d, mr->lkey, at + 7, 1), EINVAL);
    errno = 0;
    assert_int_equal(ibv_rereg_mr(mr, 8, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0),
                     IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(
        ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, d->memory, SIZE_MAX, 0),
        IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(take(d, mr->lkey, at + 8, 8), 0); /* it is as it was */
    struct ibv_sge sge = {at + 8, 8, mr->lkey};
    assert_int_equal(ibv_advise_mr(d->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0);
    assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* More than there are lists of them by key. */
static void every_region_is_found(void **state)
{
    enum { REGIONS = 3000 };
    static struct ibv_mr *mrs[REGIONS];
    struct desk *d = *state;
    const uint64_t at = (uintptr_t)d->memory;
    for (unsigned i = 0; i < REGIONS; i++)
        assert_non_null(mrs[i] = ibv_reg_mr(d->pd, d->memory, 1 + i % LENGTH, LOCAL));
    for (unsigned i = 0; i < REGIONS; i++) {
        assert_int_equal(take(d, mrs[i]->lkey, at, 1 + i % LENGTH), 0);
        assert_int_equal(take(d, mrs[i]->lkey, at, 2 + i % LENGTH), EINVAL);
    }
    for (unsigned i = 0; i < REGIONS; i++)
        assert_int_equal(ibv_dereg_mr(mrs[i]), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_region_is_named_by_its_addresses),
        TEST(or_by_addresses_of_the_programs_choice),
        TEST(or_from_zero_on),
        TEST(receiving_needs_the_right_to_write),
        TEST(a_region_is_of_one_domain),
        TEST(a_parent_domain_has_its_domains_regions),
        TEST(every_piece_is_checked),
        TEST(a_message_has_less_than_4_gib),
        TEST(rights_go_together),
        TEST(a_region_anew_has_a_new_key),
        TEST(every_region_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
