/* SPDX-License-Identifier: BSD-3-Clause */
/* The extended interface of completion queues: one entry at a time, field by field. */
#include "verbs/cq.h"

#include <errno.h>
#include <time.h>

static struct iw_verbs_cq *cq_of(struct ibv_cq_ex *cq)
{
    return (struct iw_verbs_cq *)cq;
}

static int take_entry(struct ibv_cq_ex *base, bool drive)
{
    struct iw_verbs_cq *cq = cq_of(base);
    iw_verbs_lock();
    if (drive && cq->count == 0)
        iw_verbs_poll();
    const bool taken = iw_verbs_cq_take(cq, &cq->current);
    iw_verbs_unlock();
    if (!taken) {
        if (drive)
            iw_verbs_found_nothing();
        return ENOENT;
    }
    base->status = cq->current.status;
    base->wr_id = cq->current.wr_id;
    return 0;
}

static int next_poll(struct ibv_cq_ex *base)
{
    return take_entry(base, false);
}

/* Keeps other pollers of the queue out until end_poll, unless it fails. The engine's lock is not
 * held meanwhile: programs post before they end polling. */
static int start_poll(struct ibv_cq_ex *base, struct ibv_poll_cq_attr *attr)
{
    if (attr->comp_mask != 0)
        return EINVAL;
    pthread_mutex_lock(&cq_of(base)->polling);
    int result = take_entry(base, true);
    if (result != 0)
        pthread_mutex_unlock(&cq_of(base)->polling);
    return result;
}

static void end_poll(struct ibv_cq_ex *base)
{
    pthread_mutex_unlock(&cq_of(base)->polling);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
    return cq_of(cq)->current.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
    return cq_of(cq)->current.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
    return cq_of(cq)->current.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
    return cq_of(cq)->current.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
    return cq_of(cq)->current.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
    return cq_of(cq)->current.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
    return cq_of(cq)->current.wc_flags;
}

static uint32_t read_zero(struct ibv_cq_ex *cq)
{
    (void)cq;
    return 0;
}

static uint8_t read_zero_octet(struct ibv_cq_ex *cq)
{
    (void)cq;
    return 0;
}

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
    (void)cq;
    return now(CLOCK_MONOTONIC);
}

static uint64_t read_wallclock(struct ibv_cq_ex *cq)
{
    (void)cq;
    return now(CLOCK_REALTIME);
}

struct ibv_cq_ex *iw_verbs_create_cq_ex(struct ibv_context *context,
                                        struct ibv_cq_init_attr_ex *attr)
{
    const uint64_t fields = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                            IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    if ((attr->wc_flags & ~fields) != 0 || (attr->comp_mask & ~known) != 0) {
        iw_verbs_refused("a flag or attribute of ibv_create_cq_ex");
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct iw_verbs_cq *cq =
        iw_verbs_make_cq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
    if (cq == NULL)
        return NULL;
    cq->base.start_poll = start_poll;
    cq->base.next_poll = next_poll;
    cq->base.end_poll = end_poll;
    cq->base.read_opcode = read_opcode;
    cq->base.read_vendor_err = read_vendor_err;
    cq->base.read_byte_len = read_byte_len;
    cq->base.read_imm_data = read_imm_data;
    cq->base.read_qp_num = read_qp_num;
    cq->base.read_src_qp = read_src_qp;
    cq->base.read_wc_flags = read_wc_flags;
    cq->base.read_slid = read_zero;
    cq->base.read_sl = read_zero_octet;
    cq->base.read_dlid_path_bits = read_zero_octet;
    cq->base.read_completion_ts = read_completion_ts;
    cq->base.read_completion_wallclock_ns = read_wallclock;
    return &cq->base;
}
