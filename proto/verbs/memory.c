/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains and memory regions. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>

/* By lkey: STags are random, so their low bits spread. */
enum { BUCKETS = 1024 };
LIST_HEAD(bucket, iw_verbs_mr);
static struct bucket regions[BUCKETS];

static struct bucket *bucket_of(uint32_t lkey)
{
    return &regions[lkey % BUCKETS];
}

/* ---- domains ---- */

static struct iw_verbs_pd *pd_of(const struct ibv_pd *pd)
{
    return (struct iw_verbs_pd *)(uintptr_t)pd;
}

uint32_t iw_verbs_pd_number(const struct ibv_pd *pd)
{
    return pd_of(pd)->number;
}

static struct ibv_pd *make_pd(struct ibv_context *context, struct iw_verbs_pd *parent)
{
    struct iw_verbs_pd *pd = calloc(1, sizeof(*pd));
    if (pd == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    iw_verbs_lock();
    pd->parent = parent;
    pd->number = parent != NULL ? parent->number : iw_domain_pd(iw_verbs_domain());
    pd->base.context = context;
    pd->base.handle = pd->number;
    if (parent != NULL)
        parent->uses++;
    iw_verbs_context(context)->uses++;
    iw_verbs_unlock();
    return &pd->base;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    return make_pd(context, NULL);
}

int ibv_dealloc_pd(struct ibv_pd *base)
{
    struct iw_verbs_pd *pd = pd_of(base);
    iw_verbs_lock();
    bool used = pd->uses > 0;
    if (!used) {
        if (pd->parent != NULL)
            pd->parent->uses--;
        iw_verbs_context(base->context)->uses--;
    }
    iw_verbs_unlock();
    if (used)
        return EBUSY;
    free(pd);
    return 0;
}

/* Locks cannot be saved here: a parent domain is its domain by another name. */
struct ibv_pd *iw_verbs_parent_domain(struct ibv_context *context,
                                      struct ibv_parent_domain_init_attr *attr)
{
    if (attr->pd == NULL) {
        errno = EINVAL;
        return NULL;
    }
    if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0) {
        iw_verbs_refused("IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS");
        errno = EOPNOTSUPP;
        return NULL;
    }
    return make_pd(context, pd_of(attr->pd));
}

struct ibv_td *iw_verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
    struct ibv_td *td = attr->comp_mask == 0 ? calloc(1, sizeof(*td)) : NULL;
    if (td == NULL)
        errno = attr->comp_mask == 0 ? ENOMEM : EINVAL;
    else
        td->context = context;
    return td;
}

int iw_verbs_dealloc_td(struct ibv_td *td)
{
    free(td);
    return 0;
}

/* ---- regions ---- */

uint32_t iw_verbs_rights(unsigned access)
{
    uint32_t result = 0;
    if ((access & IBV_ACCESS_LOCAL_WRITE) != 0)
        result |= IW_ACCESS_LOCAL_WRITE;
    if ((access & IBV_ACCESS_REMOTE_WRITE) != 0)
        result |= IW_ACCESS_REMOTE_WRITE;
    if ((access & IBV_ACCESS_REMOTE_READ) != 0)
        result |= IW_ACCESS_REMOTE_READ;
    if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0)
        result |= IW_ACCESS_REMOTE_ATOMIC;
    if ((access & IBV_ACCESS_MW_BIND) != 0)
        result |= IW_ACCESS_BIND;
    return result;
}

static bool access_valid(unsigned access)
{
    const unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
                           IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;
    const unsigned writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    return (access & ~known) == 0 &&
           ((access & writes) == 0 || (access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

static int settle(struct iw_verbs_mr *mr, struct ibv_pd *pd, void *addr, size_t length,
                  uint64_t iova, unsigned access)
{
    struct iw_region region = {.base = addr,
                               .length = length,
                               .to = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova,
                               .pd = iw_verbs_pd_number(pd),
                               .access = iw_verbs_rights(access)};
    int result = iw_domain_register(iw_verbs_domain(), &region);
    if (result != 0)
        return result == -1 ? ENOMEM : EINVAL;
    mr->region = region;
    mr->access = access;
    mr->base = (struct ibv_mr){.context = pd->context,
                               .pd = pd,
                               .addr = addr,
                               .length = length,
                               .handle = region.stag,
                               .lkey = region.stag,
                               .rkey = region.stag};
    pd_of(pd)->uses++;
    return 0;
}

static struct ibv_mr *make_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                              unsigned access)
{
    struct iw_verbs_mr *mr = access_valid(access) ? calloc(1, sizeof(*mr)) : NULL;
    if (mr == NULL) {
        if ((access & IBV_ACCESS_ON_DEMAND) != 0)
            iw_verbs_refused("IBV_ACCESS_ON_DEMAND");
        errno = (access & IBV_ACCESS_ON_DEMAND) != 0 ? EOPNOTSUPP
                : access_valid(access)               ? ENOMEM
                                                     : EINVAL;
        return NULL;
    }
    iw_verbs_lock();
    int error = settle(mr, pd, addr, length, iova, access);
    if (error == 0)
        LIST_INSERT_HEAD(bucket_of(mr->base.lkey), mr, entry);
    iw_verbs_unlock();
    if (error == 0)
        return &mr->base;
    free(mr);
    errno = error;
    return NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return make_mr(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               int access)
{
    return make_mr(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    return make_mr(pd, addr, length, iova, access & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE);
}

/* Ends every use of a region: whoever has a request that names it loses its connection, because
 * the memory is the program's again when this returns. */
static void forget(struct iw_verbs_mr *mr)
{
    if (mr->uses > 0)
        iw_verbs_srqs_without(mr);
    if (mr->uses > 0)
        iw_verbs_qps_without(mr);
    (void)iw_domain_deregister(iw_verbs_domain(), mr->base.lkey);
    pd_of(mr->base.pd)->uses--;
}

int ibv_dereg_mr(struct ibv_mr *base)
{
    struct iw_verbs_mr *mr = (struct iw_verbs_mr *)base;
    iw_verbs_lock();
    const bool bound = iw_verbs_mr_unbind_invalid(mr);
    if (!bound) {
        forget(mr);
        LIST_REMOVE(mr, entry);
    }
    iw_verbs_unlock();
    if (bound)
        return EBUSY;
    free(mr);
    return 0;
}

/* Registers what has changed anew; requests that name the region as it was end as when it is
 * deregistered. */
int ibv_rereg_mr(struct ibv_mr *base, int flags, struct ibv_pd *pd, void *addr, size_t length,
                 int access)
{
    struct iw_verbs_mr *mr = (struct iw_verbs_mr *)base, made = {.base = *base};
    const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    const bool changes = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
    const unsigned rights_now = changes ? (unsigned)access : mr->access;
    struct ibv_pd *domain = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd : base->pd;
    if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || domain == NULL ||
        !access_valid(rights_now)) {
        errno = EINVAL;
        return IBV_REREG_MR_ERR_INPUT;
    }
    iw_verbs_lock();
    int error = iw_verbs_mr_unbind_invalid(mr) ? EBUSY : 0;
    if (error == 0)
        error = settle(&made, domain, moves ? addr : base->addr, moves ? length : base->length,
                       moves ? (uintptr_t)addr : mr->region.to, rights_now);
    if (error == 0) {
        forget(mr);
        LIST_REMOVE(mr, entry);
        mr->base = made.base;
        mr->region = made.region;
        mr->access = rights_now;
        LIST_INSERT_HEAD(bucket_of(mr->base.lkey), mr, entry);
    }
    iw_verbs_unlock();
    errno = error;
    return error == 0 ? 0 : IBV_REREG_MR_ERR_INPUT;
}

int iw_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                       struct ibv_sge *sges, uint32_t count)
{
    (void)pd, (void)advice, (void)flags, (void)sges, (void)count;
    return 0; /* nothing is paged in or out here */
}

/* ---- lists ---- */

static struct iw_verbs_mr *find(uint32_t lkey)
{
    struct iw_verbs_mr *mr;
    for (mr = LIST_FIRST(bucket_of(lkey)); mr != NULL && mr->base.lkey != lkey;)
        mr = LIST_NEXT(mr, entry);
    return mr;
}

static struct iw_verbs_mr *allowed(const struct ibv_pd *pd, const struct ibv_sge *sge, bool writes)
{
    struct iw_verbs_mr *mr = find(sge->lkey);
    if (mr == NULL || mr->region.pd != iw_verbs_pd_number(pd) ||
        (writes && (mr->region.access & IW_ACCESS_LOCAL_WRITE) == 0))
        return NULL;
    uint64_t offset = sge->addr - mr->region.to;
    return sge->addr < mr->region.to || offset > mr->region.length ||
                   sge->length > mr->region.length - offset
               ? NULL
               : mr;
}

bool iw_verbs_take_list(struct iw_verbs_request *r, const struct ibv_pd *pd,
                        const struct ibv_sge *sges, int count, bool writes)
{
    r->sge_count = 0;
    r->length = 0;
    for (int i = 0; i < count; i++) {
        struct iw_verbs_mr *mr = NULL;
        uint8_t *base = NULL;
        if (sges[i].length > UINT32_MAX - r->length) {
            iw_verbs_drop_list(r);
            return false;
        }
        if (sges[i].length > 0) {
            mr = allowed(pd, &sges[i], writes);
            if (mr == NULL) {
                iw_verbs_drop_list(r);
                return false;
            }
            base = mr->region.base + (sges[i].addr - mr->region.to);
            mr->uses++;
        }
        r->mrs[i] = mr;
        r->iov[i] = (struct iw_iov){base, sges[i].length};
        r->length += sges[i].length;
        r->sge_count++;
    }
    return true;
}

void iw_verbs_drop_list(struct iw_verbs_request *r)
{
    for (unsigned i = 0; i < r->sge_count; i++)
        if (r->mrs[i] != NULL)
            r->mrs[i]->uses--;
    r->sge_count = 0;
    if (r->binding.mw != NULL)
        r->binding.mw->uses--;
    r->binding.mw = NULL;
}
