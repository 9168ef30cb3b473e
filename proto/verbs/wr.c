/* SPDX-License-Identifier: BSD-3-Clause */
/* ibv_wr_*: requests built one field at a time, posted together by wr_complete. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct iw_verbs_built {
    pthread_mutex_t lock; /* held from wr_start to wr_complete or wr_abort */
    uint32_t count;       /* begun since wr_start */
    int error;            /* of the first that was wrong */
    struct ibv_send_wr *wrs;
    struct ibv_sge *sges; /* max_send_sge (at least one) of each */
    uint8_t *octets;      /* max_inline_data of each */
};

static struct iw_verbs_qp *qp_of(struct ibv_qp_ex *qp)
{
    return (struct iw_verbs_qp *)qp;
}

static uint32_t sge_room(const struct iw_verbs_qp *qp)
{
    return qp->init.cap.max_send_sge > 0 ? qp->init.cap.max_send_sge : 1;
}

static void wrong(struct iw_verbs_qp *qp, int error)
{
    if (qp->built->error == 0)
        qp->built->error = error;
}

/* Begins a request. Returns a place to fill in, also if there is no room for it. */
static struct ibv_send_wr *begin(struct ibv_qp_ex *base, enum ibv_wr_opcode opcode)
{
    struct iw_verbs_qp *qp = qp_of(base);
    struct iw_verbs_built *b = qp->built;
    if (b->count == qp->sends.depth) {
        wrong(qp, ENOMEM);
        b->count--;
    }
    struct ibv_send_wr *wr = &b->wrs[b->count];
    *wr = (struct ibv_send_wr){.wr_id = base->wr_id,
                               .opcode = opcode,
                               .send_flags = base->wr_flags,
                               .sg_list = b->sges + (size_t)b->count * sge_room(qp)};
    if (b->count > 0)
        b->wrs[b->count - 1].next = wr;
    b->count++;
    return wr;
}

/* Returns the request begun last, NULL if none was. */
static struct ibv_send_wr *current(struct ibv_qp_ex *base)
{
    struct iw_verbs_built *b = qp_of(base)->built;
    if (b->count > 0)
        return &b->wrs[b->count - 1];
    wrong(qp_of(base), EINVAL);
    return NULL;
}

static void remote(struct ibv_send_wr *wr, uint32_t rkey, uint64_t address)
{
    wr->wr.rdma.rkey = rkey;
    wr->wr.rdma.remote_addr = address;
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
    remote(begin(qp, IBV_WR_RDMA_WRITE), rkey, address);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, __be32 imm)
{
    struct ibv_send_wr *wr = begin(qp, IBV_WR_RDMA_WRITE_WITH_IMM);
    remote(wr, rkey, address);
    wr->imm_data = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
    remote(begin(qp, IBV_WR_RDMA_READ), rkey, address);
}

static void wr_send(struct ibv_qp_ex *qp)
{
    (void)begin(qp, IBV_WR_SEND);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
    begin(qp, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void atomic(struct ibv_send_wr *wr, uint32_t rkey, uint64_t address, uint64_t compare_add,
                   uint64_t swap)
{
    wr->wr.atomic.rkey = rkey;
    wr->wr.atomic.remote_addr = address;
    wr->wr.atomic.compare_add = compare_add;
    wr->wr.atomic.swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address,
                              uint64_t compare, uint64_t swap)
{
    atomic(begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP), rkey, address, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, uint64_t add)
{
    atomic(begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD), rkey, address, add, 0);
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
                       const struct ibv_mw_bind_info *info)
{
    struct ibv_send_wr *wr = begin(qp, IBV_WR_BIND_MW);
    wr->bind_mw.mw = mw;
    wr->bind_mw.rkey = rkey;
    wr->bind_mw.bind_info = *info;
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
    begin(qp, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

/* What has no form here; asking for it when the queue pair was made was refused already. */
static void refuse(struct ibv_qp_ex *qp, const char *name)
{
    iw_verbs_refused(name);
    wrong(qp_of(qp), EOPNOTSUPP);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
    (void)imm;
    refuse(qp, "ibv_wr_send_imm");
}

static void wr_send_tso(struct ibv_qp_ex *qp, void *header, uint16_t length, uint16_t mss)
{
    (void)header, (void)length, (void)mss;
    refuse(qp, "ibv_wr_send_tso");
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
    (void)ah, (void)qpn, (void)qkey;
    refuse(qp, "ibv_wr_set_ud_addr");
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t number)
{
    (void)number;
    refuse(qp, "ibv_wr_set_xrc_srqn");
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, const void *data)
{
    (void)rkey, (void)address, (void)data;
    refuse(qp, "ibv_wr_atomic_write");
}

static void wr_set_sge_list(struct ibv_qp_ex *base, size_t count, const struct ibv_sge *sges)
{
    struct ibv_send_wr *wr = current(base);
    if (wr == NULL)
        return;
    if (count > sge_room(qp_of(base))) {
        wrong(qp_of(base), EINVAL);
        return;
    }
    memcpy(wr->sg_list, sges, count * sizeof(*sges));
    wr->num_sge = (int)count;
}

static void wr_set_sge(struct ibv_qp_ex *base, uint32_t lkey, uint64_t address, uint32_t length)
{
    struct ibv_sge sge = {address, length, lkey};
    wr_set_sge_list(base, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *base, size_t count,
                                    const struct ibv_data_buf *list)
{
    struct iw_verbs_qp *qp = qp_of(base);
    struct ibv_send_wr *wr = current(base);
    const uint32_t room = qp->init.cap.max_inline_data;
    uint32_t length = 0;
    if (wr == NULL)
        return;
    uint8_t *to = qp->built->octets + (size_t)(wr - qp->built->wrs) * room;
    for (size_t i = 0; i < count; i++) {
        if (list[i].length > room - length) {
            wrong(qp, EINVAL);
            return;
        }
        if (list[i].length > 0)
            memcpy(to + length, list[i].addr, list[i].length);
        length += (uint32_t)list[i].length;
    }
    wr->sg_list[0] = (struct ibv_sge){.addr = (uintptr_t)to, .length = length};
    wr->num_sge = 1;
    wr->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *base, void *data, size_t length)
{
    struct ibv_data_buf one = {data, length};
    wr_set_inline_data_list(base, 1, &one);
}

static void wr_start(struct ibv_qp_ex *base)
{
    struct iw_verbs_built *b = qp_of(base)->built;
    pthread_mutex_lock(&b->lock);
    b->count = 0;
    b->error = 0;
}

static void wr_abort(struct ibv_qp_ex *base)
{
    pthread_mutex_unlock(&qp_of(base)->built->lock);
}

static int wr_complete(struct ibv_qp_ex *base)
{
    struct iw_verbs_built *b = qp_of(base)->built;
    struct ibv_send_wr *bad;
    int result = b->error;
    if (result == 0 && b->count > 0)
        result = iw_verbs_post_send(&base->qp_base, b->wrs, &bad);
    wr_abort(base);
    return result;
}

void iw_verbs_free_built(struct iw_verbs_qp *qp)
{
    if (qp->built == NULL)
        return;
    pthread_mutex_destroy(&qp->built->lock);
    free(qp->built);
}

bool iw_verbs_make_built(struct iw_verbs_qp *qp)
{
    const size_t depth = qp->sends.depth;
    const size_t wrs = depth * sizeof(struct ibv_send_wr);
    const size_t sges = depth * sge_room(qp) * sizeof(struct ibv_sge);
    struct iw_verbs_built *b =
        calloc(1, sizeof(*b) + wrs + sges + depth * qp->init.cap.max_inline_data);
    struct ibv_qp_ex *ex = &qp->base;
    if (b == NULL)
        return false;
    b->wrs = (struct ibv_send_wr *)(void *)(b + 1);
    b->sges = (struct ibv_sge *)(void *)((uint8_t *)b->wrs + wrs);
    b->octets = (uint8_t *)b->sges + sges;
    pthread_mutex_init(&b->lock, NULL);
    qp->built = b;
    ex->wr_start = wr_start;
    ex->wr_complete = wr_complete;
    ex->wr_abort = wr_abort;
    ex->wr_rdma_write = wr_rdma_write;
    ex->wr_rdma_write_imm = wr_rdma_write_imm;
    ex->wr_rdma_read = wr_rdma_read;
    ex->wr_send = wr_send;
    ex->wr_send_inv = wr_send_inv;
    ex->wr_send_imm = wr_send_imm;
    ex->wr_send_tso = wr_send_tso;
    ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
    ex->wr_atomic_write = wr_atomic_write;
    ex->wr_bind_mw = wr_bind_mw;
    ex->wr_local_inv = wr_local_inv;
    ex->wr_set_ud_addr = wr_set_ud_addr;
    ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
    ex->wr_set_sge = wr_set_sge;
    ex->wr_set_sge_list = wr_set_sge_list;
    ex->wr_set_inline_data = wr_set_inline_data;
    ex->wr_set_inline_data_list = wr_set_inline_data_list;
    return true;
}
