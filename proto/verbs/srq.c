/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: a message takes a receive when its first segment comes. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>

static LIST_HEAD(, iw_verbs_srq) queues = LIST_HEAD_INITIALIZER(queues);

static struct iw_verbs_srq *srq_of(struct ibv_srq *srq)
{
    return (struct iw_verbs_srq *)srq;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    const struct ibv_srq_attr *a = &attr->attr;
    if (a->max_wr < 1 || a->max_wr > IW_VERBS_WR || a->max_sge > IW_VERBS_SGE) {
        errno = EINVAL;
        return NULL;
    }
    struct iw_verbs_srq *srq = calloc(1, sizeof(*srq));
    if (srq == NULL || !iw_verbs_ring_make(&srq->ring, a->max_wr)) {
        free(srq);
        errno = ENOMEM;
        return NULL;
    }
    srq->base.context = pd->context;
    srq->base.srq_context = attr->srq_context;
    srq->base.pd = pd;
    srq->max_sge = a->max_sge > 0 ? a->max_sge : 1;
    srq->max_wr = a->max_wr;
    pthread_mutex_init(&srq->base.mutex, NULL);
    pthread_cond_init(&srq->base.cond, NULL);
    iw_verbs_lock();
    ((struct iw_verbs_pd *)pd)->uses++;
    LIST_INSERT_HEAD(&queues, srq, entry);
    iw_verbs_unlock();
    return &srq->base;
}

/* Moves the receives to a ring of another size. */
static int resize(struct iw_verbs_srq *srq, uint32_t depth)
{
    struct iw_verbs_ring ring;
    if (depth < srq->ring.tail - srq->ring.head || depth < 1 || depth > IW_VERBS_WR)
        return EINVAL;
    if (!iw_verbs_ring_make(&ring, depth))
        return ENOMEM;
    while (srq->ring.head != srq->ring.tail)
        *iw_verbs_ring_at(&ring, ring.tail++) = *iw_verbs_ring_at(&srq->ring, srq->ring.head++);
    iw_verbs_ring_free(&srq->ring);
    srq->ring = ring;
    srq->max_wr = depth;
    return 0;
}

int ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
    struct iw_verbs_srq *srq = srq_of(base);
    int result = 0;
    iw_verbs_lock();
    if ((mask & IBV_SRQ_MAX_WR) != 0)
        result = resize(srq, attr->max_wr);
    if (result == 0 && (mask & IBV_SRQ_LIMIT) != 0) {
        if (attr->srq_limit > srq->max_wr)
            result = EINVAL;
        else
            srq->limit = attr->srq_limit;
    }
    iw_verbs_unlock();
    return result;
}

int ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
    struct iw_verbs_srq *srq = srq_of(base);
    iw_verbs_lock();
    *attr = (struct ibv_srq_attr){srq->max_wr, srq->max_sge, srq->limit};
    iw_verbs_unlock();
    return 0;
}

int ibv_destroy_srq(struct ibv_srq *base)
{
    struct iw_verbs_srq *srq = srq_of(base);
    iw_verbs_lock();
    bool used = srq->uses > 0;
    if (!used) {
        iw_verbs_async_forget(base->context, base);
        LIST_REMOVE(srq, entry);
        iw_verbs_ring_free(&srq->ring);
        ((struct iw_verbs_pd *)base->pd)->uses--;
    }
    iw_verbs_unlock();
    if (used)
        return EBUSY;
    pthread_mutex_lock(&base->mutex);
    while (base->events_completed != srq->async_reported)
        pthread_cond_wait(&base->cond, &base->mutex);
    pthread_mutex_unlock(&base->mutex);
    pthread_mutex_destroy(&base->mutex);
    pthread_cond_destroy(&base->cond);
    free(srq);
    return 0;
}

int iw_verbs_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct iw_verbs_srq *srq = srq_of(base);
    int result = 0;
    iw_verbs_lock();
    for (; result == 0 && wr != NULL; wr = result == 0 ? wr->next : wr)
        result = iw_verbs_take_recv(&srq->ring, base->pd, srq->max_sge, wr);
    iw_verbs_unlock();
    if (result != 0)
        *bad = wr;
    return result;
}

static void watch_limit(struct iw_verbs_srq *srq)
{
    struct ibv_async_event event = {.element.srq = &srq->base,
                                    .event_type = IBV_EVENT_SRQ_LIMIT_REACHED};
    if (srq->ring.tail - srq->ring.head >= srq->limit)
        return;
    srq->limit = 0; /* reported once */
    iw_verbs_async(srq->base.context, &event);
}

bool iw_verbs_srq_take(struct iw_verbs_srq *srq, struct iw_verbs_qp *qp)
{
    struct iw_verbs_ring *from = &srq->ring, *to = &qp->recvs;
    if (from->head == from->tail || iw_verbs_ring_full(to))
        return false;
    struct iw_verbs_request *r = iw_verbs_ring_at(from, from->head++);
    if (r->bad) {
        struct ibv_wc wc = {.wr_id = r->wr_id,
                            .status = IBV_WC_LOC_PROT_ERR,
                            .opcode = IBV_WC_RECV,
                            .qp_num = qp->base.qp_base.qp_num};
        iw_verbs_cq_push(qp->init.recv_cq, &wc, false);
        return false;
    }
    *iw_verbs_ring_at(to, to->tail++) = *r;
    watch_limit(srq);
    return true;
}

void iw_verbs_srqs_without(struct iw_verbs_mr *mr)
{
    for (struct iw_verbs_srq *srq = LIST_FIRST(&queues); srq != NULL; srq = LIST_NEXT(srq, entry))
        for (uint64_t at = srq->ring.head; at != srq->ring.tail; at++) {
            struct iw_verbs_request *r = iw_verbs_ring_at(&srq->ring, at);
            for (unsigned i = 0; i < r->sge_count; i++)
                r->bad = r->bad || r->mrs[i] == mr;
            if (r->bad)
                iw_verbs_drop_list(r);
        }
}
