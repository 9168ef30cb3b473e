/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests on their way to the endpoint. */
#include "verbs/link.h"

#include <errno.h>
#include <string.h>

/* ---- receives ---- */

int iw_verbs_take_recv(struct iw_verbs_ring *ring, const struct ibv_pd *pd, uint32_t max_sge,
                       const struct ibv_recv_wr *wr)
{
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
        return EINVAL;
    if (iw_verbs_ring_full(ring))
        return ENOMEM;
    struct iw_verbs_request *r = iw_verbs_ring_at(ring, ring->tail);
    iw_verbs_request_begin(r, wr->wr_id, IBV_WC_RECV, true);
    if (!iw_verbs_take_list(r, pd, wr->sg_list, wr->num_sge, true))
        return EINVAL;
    ring->tail++;
    return 0;
}

void iw_verbs_give_receives(struct iw_verbs_qp *qp)
{
    struct iw_endpoint *ep = qp->link != NULL ? iw_verbs_link_endpoint(qp->link) : NULL;
    struct iw_verbs_ring *ring = &qp->recvs;
    const bool settled = iw_verbs_spares_settle(qp);
    while (ep != NULL && settled && ring->given != ring->tail) {
        const struct iw_verbs_request *r = iw_verbs_ring_at(ring, ring->given);
        if (iw_endpoint_post_recv(ep, ring->given, r->iov, r->sge_count) != IW_OK)
            break;
        ring->given++;
    }
    if (qp->base.qp_base.state == IBV_QPS_ERR)
        iw_verbs_flush(qp);
}

int iw_verbs_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct iw_verbs_qp *qp = (struct iw_verbs_qp *)(void *)base;
    int result = 0;
    iw_verbs_lock();
    if (base->state == IBV_QPS_RESET || base->srq != NULL)
        result = EINVAL;
    for (; result == 0 && wr != NULL; wr = result == 0 ? wr->next : wr)
        result = iw_verbs_take_recv(&qp->recvs, base->pd, qp->init.cap.max_recv_sge, wr);
    iw_verbs_give_receives(qp);
    iw_verbs_unlock();
    if (result != 0)
        *bad = wr;
    return result;
}

/* ---- sends ---- */

struct operation {
    bool known;
    enum iw_work_opcode work, solicited;
    enum ibv_wc_opcode completion;
};

static struct operation operation_of(enum ibv_wr_opcode opcode)
{
    static const struct operation operations[] = {
        [IBV_WR_RDMA_WRITE] = {true, IW_WORK_WRITE, IW_WORK_WRITE, IBV_WC_RDMA_WRITE},
        [IBV_WR_RDMA_WRITE_WITH_IMM] = {true, IW_WORK_WRITE, IW_WORK_WRITE, IBV_WC_RDMA_WRITE},
        [IBV_WR_SEND] = {true, IW_WORK_SEND, IW_WORK_SEND_SE, IBV_WC_SEND},
        [IBV_WR_SEND_WITH_INV] = {true, IW_WORK_SEND_INVALIDATE, IW_WORK_SEND_SE_INVALIDATE,
                                  IBV_WC_SEND},
        [IBV_WR_LOCAL_INV] = {true, IW_WORK_LOCAL, IW_WORK_LOCAL, IBV_WC_LOCAL_INV},
        [IBV_WR_BIND_MW] = {true, IW_WORK_LOCAL, IW_WORK_LOCAL, IBV_WC_BIND_MW},
        [IBV_WR_RDMA_READ] = {true, IW_WORK_READ, IW_WORK_READ, IBV_WC_RDMA_READ},
        [IBV_WR_ATOMIC_CMP_AND_SWP] = {true, IW_WORK_CMP_SWAP, IW_WORK_CMP_SWAP, IBV_WC_COMP_SWAP},
        [IBV_WR_ATOMIC_FETCH_AND_ADD] = {true, IW_WORK_FETCH_ADD, IW_WORK_FETCH_ADD,
                                         IBV_WC_FETCH_ADD},
    };
    if ((size_t)opcode >= sizeof(operations) / sizeof(operations[0]))
        return (struct operation){0};
    return operations[opcode];
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Copies the payload, so that the program's memory is free at once. */
static bool take_inline(struct iw_verbs_qp *qp, struct iw_verbs_request *r,
                        const struct ibv_send_wr *wr)
{
    const uint32_t room = qp->init.cap.max_inline_data;
    uint8_t *to = qp->inline_space + (size_t)(r - qp->sends.requests) * room;
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];
        if (sge->length > room - r->length)
            return false;
        if (sge->length > 0)
            memcpy(to + r->length, (const void *)(uintptr_t)sge->addr, sge->length);
        r->length += sge->length;
    }
    r->iov[0] = (struct iw_iov){to, r->length};
    return true;
}

/* Takes the payload of a request, or the place for its result. Returns an errno. */
static int take_payload(struct iw_verbs_qp *qp, struct iw_verbs_request *r,
                        const struct ibv_send_wr *wr)
{
    const bool reads = wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr->opcode);
    if (wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV)
        return iw_verbs_take_binding(r, wr, qp->base.qp_base.pd);
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->init.cap.max_send_sge ||
        (reads && wr->num_sge > 1))
        return EINVAL;
    if ((wr->send_flags & IBV_SEND_INLINE) != 0)
        return !reads && take_inline(qp, r, wr) ? 0 : EINVAL;
    if (is_atomic(wr->opcode) && (wr->num_sge != 1 || wr->sg_list[0].length != 8))
        return EINVAL;
    r->bad = !iw_verbs_take_list(r, qp->base.qp_base.pd, wr->sg_list, wr->num_sge, reads);
    if (is_atomic(wr->opcode) && !r->bad)
        r->atomic_result = r->iov[0].base;
    return 0;
}

/* Fills in what `wr` asks the endpoint for. */
static void describe(struct iw_work *work, const struct iw_verbs_request *r,
                     const struct ibv_send_wr *wr, const struct operation *o, uint64_t id)
{
    const bool solicited = (wr->send_flags & IBV_SEND_SOLICITED) != 0;
    *work = (struct iw_work){
        .id = id,
        .opcode = solicited ? o->solicited : o->work,
        .flags = (wr->send_flags & IBV_SEND_FENCE) != 0 ? IW_WORK_FENCE : 0,
    };
    if (r->bad)
        work->opcode = IW_WORK_LOCAL;
    if (work->opcode == IW_WORK_LOCAL)
        return;
    switch (wr->opcode) {
    case IBV_WR_RDMA_READ:
        work->length = r->length;
        work->remote_stag = wr->wr.rdma.rkey;
        work->remote_to = wr->wr.rdma.remote_addr;
        if (wr->num_sge > 0) {
            work->sink_stag = wr->sg_list[0].lkey;
            work->sink_to = wr->sg_list[0].addr;
        }
        return;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        work->remote_stag = wr->wr.atomic.rkey;
        work->remote_to = wr->wr.atomic.remote_addr;
        work->add_swap = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? wr->wr.atomic.compare_add
                                                                   : wr->wr.atomic.swap;
        work->compare = wr->wr.atomic.compare_add;
        if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
            work->add_swap_mask = work->compare_mask = UINT64_MAX;
        return;
    case IBV_WR_SEND_WITH_INV:
        work->invalidate_stag = wr->invalidate_rkey;
        break;
    default:
        work->remote_stag = wr->wr.rdma.rkey;
        work->remote_to = wr->wr.rdma.remote_addr;
        break;
    }
    work->sge = r->iov;
    work->sge_count = r->sge_count > 0 ? r->sge_count : r->length > 0;
}

/* RFC 7306 §6: the Immediate Data that follows a Write. */
static struct iw_work immediate_of(const struct ibv_send_wr *wr, uint64_t id)
{
    struct iw_work work = {.id = id,
                           .opcode = (wr->send_flags & IBV_SEND_SOLICITED) != 0
                                         ? IW_WORK_IMMEDIATE_SE
                                         : IW_WORK_IMMEDIATE};
    memcpy(work.immediate, &wr->imm_data, sizeof(wr->imm_data));
    return work;
}

/* Hands a request to the endpoint. Returns an errno. */
static int give(struct iw_verbs_qp *qp, struct iw_verbs_request *r, const struct ibv_send_wr *wr,
                const struct operation *o)
{
    struct iw_endpoint *ep = qp->link != NULL ? iw_verbs_link_endpoint(qp->link) : NULL;
    uint64_t id = qp->sends.tail, now = 0;
    struct iw_work work;
    describe(&work, r, wr, o, id);
    int result = ep != NULL && qp->base.qp_base.state != IBV_QPS_ERR
                     ? iw_endpoint_post(ep, &work, now)
                     : IW_ERR_STATE;
    r->parts = 1;
    if (result == IW_OK && wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !r->bad) {
        struct iw_work immediate = immediate_of(wr, id);
        r->parts = 2; /* there is room for it: the endpoint's queue has twice our depth */
        result = iw_endpoint_post(ep, &immediate, now);
    }
    r->unposted = result == IW_ERR_STATE;
    return result == IW_ERR_FULL ? ENOMEM : result == IW_ERR_ARGUMENT ? EINVAL : 0;
}

static int post(struct iw_verbs_qp *qp, const struct ibv_send_wr *wr)
{
    const struct operation o = operation_of(wr->opcode);
    if (!o.known) {
        iw_verbs_refused(wr->opcode == IBV_WR_SEND_WITH_IMM ? "IBV_WR_SEND_WITH_IMM"
                         : wr->opcode == IBV_WR_TSO         ? "IBV_WR_TSO"
                                                            : "an opcode of ibv_post_send");
        return EOPNOTSUPP;
    }
    if (iw_verbs_ring_full(&qp->sends) && qp->link != NULL)
        iw_verbs_link_flush(qp->link); /* what has been gathered may be what fills it */
    if (iw_verbs_ring_full(&qp->sends))
        return ENOMEM;
    if (qp->sends.head == qp->sends.tail) /* a ring that empties stays in the cache */
        qp->sends.head = qp->sends.tail = 0;
    struct iw_verbs_request *r = iw_verbs_ring_at(&qp->sends, qp->sends.tail);
    iw_verbs_request_begin(r, wr->wr_id, o.completion,
                           qp->init.sq_sig_all != 0 || (wr->send_flags & IBV_SEND_SIGNALED) != 0);
    int result = take_payload(qp, r, wr);
    if (result == 0)
        result = give(qp, r, wr, &o);
    if (result != 0)
        iw_verbs_drop_list(r);
    else
        qp->sends.tail++;
    return result;
}

/* A Read asks for its octets and sends none. */
static uint64_t octets_of(const struct ibv_send_wr *wr)
{
    uint64_t octets = 0;
    for (int i = 0; i < wr->num_sge && wr->opcode != IBV_WR_RDMA_READ; i++)
        octets += wr->sg_list[i].length;
    return octets;
}

int iw_verbs_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct iw_verbs_qp *qp = (struct iw_verbs_qp *)(void *)base;
    int result = 0;
    uint64_t octets = 0;
    iw_verbs_lock();
    if (base->state != IBV_QPS_RTS && base->state != IBV_QPS_SQD && base->state != IBV_QPS_ERR)
        result = EINVAL;
    for (; result == 0 && wr != NULL; wr = result == 0 ? wr->next : wr) {
        octets += octets_of(wr);
        result = post(qp, wr);
    }
    if (base->state == IBV_QPS_ERR)
        iw_verbs_flush(qp);
    else if (qp->link != NULL)
        iw_verbs_link_gather(qp->link, octets);
    iw_verbs_unlock();
    if (result != 0)
        *bad = wr;
    return result;
}
