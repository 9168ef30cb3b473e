/* SPDX-License-Identifier: BSD-3-Clause */
/* From completions of the endpoint to entries of completion queues. */
#include "verbs/link.h"

#include <string.h>

static struct ibv_wc entry_of(const struct iw_verbs_qp *qp, const struct iw_verbs_request *r,
                              enum ibv_wc_status status)
{
    return (struct ibv_wc){.wr_id = r->wr_id,
                           .status = status,
                           .opcode = r->opcode,
                           .byte_len = r->length,
                           .qp_num = qp->base.qp_base.qp_num};
}

static void finish_send(struct iw_verbs_qp *qp, struct iw_verbs_request *r,
                        enum ibv_wc_status status)
{
    struct ibv_wc wc = entry_of(qp, r, status);
    iw_verbs_drop_list(r);
    qp->sends.head++;
    if (r->signaled || status != IBV_WC_SUCCESS)
        iw_verbs_cq_push(qp->init.send_cq, &wc, false);
}

static void finish_recv(struct iw_verbs_qp *qp, struct iw_verbs_request *r, struct ibv_wc *wc,
                        bool solicited)
{
    iw_verbs_drop_list(r);
    qp->recvs.head++;
    const struct iw_verbs_request *next = iw_verbs_ring_at(&qp->recvs, qp->recvs.head);
    __builtin_prefetch(next);
    __builtin_prefetch(&next->mrs[0]);
    __builtin_prefetch(&next->iov[0]);
    iw_verbs_cq_push(qp->init.recv_cq, wc, solicited);
}

static void complete_send(struct iw_verbs_qp *qp, const struct iw_completion *done)
{
    struct iw_verbs_request *r = iw_verbs_ring_at(&qp->sends, done->id);
    const struct iw_verbs_link *link = qp->link;
    enum ibv_wc_status status =
        iw_verbs_status(done, link != NULL && link->terminated ? &link->terminate : NULL,
                        r->opcode == IBV_WC_BIND_MW || r->opcode == IBV_WC_LOCAL_INV);
    if (r->status == IBV_WC_SUCCESS)
        r->status = status;
    if (--r->parts > 0)
        return;
    if (r->atomic_result != NULL && r->status == IBV_WC_SUCCESS)
        memcpy(r->atomic_result, &done->original, sizeof(done->original));
    finish_send(qp, r, r->status);
}

static void complete_recv(struct iw_verbs_qp *qp, const struct iw_completion *done)
{
    struct iw_verbs_request *r = iw_verbs_ring_at(&qp->recvs, done->id);
    struct ibv_wc wc = entry_of(qp, r, iw_verbs_status(done, NULL, false));
    wc.byte_len = done->length;
    if (done->invalidated) {
        wc.wc_flags |= IBV_WC_WITH_INV;
        wc.invalidated_rkey = done->invalidate_stag;
    }
    if (done->immediate) {
        /* RFC 7306 §6 carries 8 octets; verbs know the first 4 of them. How much the Write before
         * it wrote is not known. */
        wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
        wc.wc_flags |= IBV_WC_WITH_IMM;
        wc.byte_len = 0;
        memcpy(&wc.imm_data, done->immediate_data, sizeof(wc.imm_data));
    }
    finish_recv(qp, r, &wc, done->solicited);
}

void iw_verbs_complete(struct iw_verbs_qp *qp, const struct iw_completion *done)
{
    if (done->opcode == IW_WORK_RECV)
        complete_recv(qp, done);
    else
        complete_send(qp, done);
}

void iw_verbs_flush(struct iw_verbs_qp *qp)
{
    struct iw_verbs_ring *sends = &qp->sends, *recvs = &qp->recvs;
    while (sends->head != sends->tail) {
        struct iw_verbs_request *r = iw_verbs_ring_at(sends, sends->head);
        if (qp->link != NULL && !r->unposted)
            break;
        finish_send(qp, r, IBV_WC_WR_FLUSH_ERR);
    }
    while (recvs->head != recvs->tail && (qp->link == NULL || recvs->head == recvs->given)) {
        struct iw_verbs_request *r = iw_verbs_ring_at(recvs, recvs->head);
        struct ibv_wc wc = entry_of(qp, r, IBV_WC_WR_FLUSH_ERR);
        finish_recv(qp, r, &wc, false);
        recvs->given = recvs->head;
    }
}
