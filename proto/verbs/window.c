/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows: bound and invalidated in the order of the send queue. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>

static LIST_HEAD(, iw_verbs_mw) windows = LIST_HEAD_INITIALIZER(windows);

static struct iw_verbs_mw *of_type_2(uint32_t stag)
{
    struct iw_verbs_mw *mw = LIST_FIRST(&windows);
    while (mw != NULL && (mw->stag != stag || mw->base.type != IBV_MW_TYPE_2))
        mw = LIST_NEXT(mw, entry);
    return mw;
}

/* A key that nobody has, to begin with. */
static uint32_t first_key(void)
{
    const struct iw_env *env = iw_domain_env(iw_verbs_domain());
    struct iw_region known;
    uint32_t key = 0;
    do
        env->random(env->context, &key, sizeof(key));
    while (key == 0 || iw_domain_lookup(iw_verbs_domain(), key, &known));
    return key;
}

struct ibv_mw *iw_verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct iw_verbs_mw *mw =
        type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2 ? calloc(1, sizeof(*mw)) : NULL;
    if (mw == NULL) {
        errno = type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2 ? ENOMEM : EINVAL;
        return NULL;
    }
    iw_verbs_lock();
    const uint32_t key = first_key();
    mw->base =
        (struct ibv_mw){.context = pd->context, .pd = pd, .rkey = key, .handle = key, .type = type};
    ((struct iw_verbs_pd *)pd)->uses++;
    LIST_INSERT_HEAD(&windows, mw, entry);
    iw_verbs_unlock();
    return &mw->base;
}

static void unbind(struct iw_verbs_mw *mw)
{
    if (mw->stag != 0)
        (void)iw_domain_deregister(iw_verbs_domain(), mw->stag);
    if (mw->mr != NULL)
        mw->mr->windows--;
    mw->mr = NULL;
    mw->stag = 0;
}

/* Whether the window's STag is still good: a peer may have invalidated it. */
static bool is_valid(const struct iw_verbs_mw *mw)
{
    struct iw_region known;
    return mw->stag != 0 && iw_domain_lookup(iw_verbs_domain(), mw->stag, &known) && known.valid;
}

bool iw_verbs_mr_unbind_invalid(struct iw_verbs_mr *mr)
{
    struct iw_verbs_mw *mw = mr->windows > 0 ? LIST_FIRST(&windows) : NULL;
    for (; mw != NULL; mw = LIST_NEXT(mw, entry))
        if (mw->mr == mr && !is_valid(mw))
            unbind(mw);
    return mr->windows > 0;
}

int iw_verbs_dealloc_mw(struct ibv_mw *base)
{
    struct iw_verbs_mw *mw = (struct iw_verbs_mw *)base;
    iw_verbs_lock();
    const bool used = mw->uses > 0;
    if (!used) {
        unbind(mw);
        LIST_REMOVE(mw, entry);
        ((struct iw_verbs_pd *)base->pd)->uses--;
    }
    iw_verbs_unlock();
    if (used)
        return EBUSY;
    free(mw);
    return 0;
}

/* Type 1: the new key is the next one, and known at once. */
int iw_verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    struct ibv_send_wr wr = {.wr_id = bind->wr_id,
                             .opcode = IBV_WR_BIND_MW,
                             .send_flags = bind->send_flags,
                             .bind_mw = {mw, ibv_inc_rkey(mw->rkey), bind->bind_info}};
    struct ibv_send_wr *bad;
    int result = iw_verbs_post_send(qp, &wr, &bad);
    if (result == 0)
        mw->rkey = wr.bind_mw.rkey;
    return result;
}

int iw_verbs_take_binding(struct iw_verbs_request *r, const struct ibv_send_wr *wr,
                          const struct ibv_pd *pd)
{
    const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
    const unsigned remote =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    const unsigned access = info->mw_access_flags;
    struct iw_verbs_mr *mr = (struct iw_verbs_mr *)info->mr;
    r->binding.rkey = wr->invalidate_rkey;
    if (wr->opcode == IBV_WR_LOCAL_INV)
        return 0;
    /* Programs also name the right to write here, which no window gives or needs. */
    if (wr->bind_mw.mw == NULL || wr->bind_mw.mw->pd != pd ||
        (access & ~(remote | IBV_ACCESS_LOCAL_WRITE)) != 0)
        return EINVAL;
    r->binding = (struct iw_verbs_binding){.mw = (struct iw_verbs_mw *)wr->bind_mw.mw,
                                           .rkey = wr->bind_mw.rkey,
                                           .to = info->addr,
                                           .length = mr != NULL ? info->length : 0,
                                           .access = iw_verbs_rights(access & remote)};
    r->binding.mw->uses++;
    if (r->binding.length > 0) { /* keeps the region until then */
        mr->uses++;
        r->mrs[0] = mr;
        r->iov[0] = (struct iw_iov){mr->region.base, 0};
        r->sge_count = 1;
    }
    return 0;
}

/* RFC 5040 §8.1.1: nothing is placed through the STag any more. Only windows of type 2 can be
 * invalidated by verbs. */
static bool invalidate(uint32_t rkey)
{
    return of_type_2(rkey) != NULL && iw_domain_invalidate(iw_verbs_domain(), rkey) == 0;
}

bool iw_verbs_bind(struct iw_verbs_request *r, uint64_t stream)
{
    const struct iw_verbs_binding *b = &r->binding;
    struct iw_verbs_mw *mw = b->mw;
    if (mw == NULL)
        return invalidate(b->rkey);
    const bool second = mw->base.type == IBV_MW_TYPE_2;
    if (b->length == 0) {
        unbind(mw);
        return !second;
    }
    /* A window of type 2 is bound anew only after it has been invalidated. */
    if (second && is_valid(mw))
        return false;
    struct iw_region window = {.to = b->to,
                               .length = b->length,
                               .access = b->access | (second ? IW_ACCESS_REMOTE_INVALIDATE : 0),
                               .stream = second ? stream : 0,
                               .stag = mw->stag};
    if (iw_domain_bind_as(iw_verbs_domain(), r->mrs[0]->base.lkey, &window, b->rkey) != 0)
        return false;
    if (mw->mr != NULL)
        mw->mr->windows--;
    mw->mr = r->mrs[0];
    mw->mr->windows++;
    mw->stag = window.stag;
    return true;
}
