// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Completion queues: a ring of entries, mapped by the program that owns it. */
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "iwk.h"

/* ---- making them ---- */

static int cq_share(struct iwk_cq *cq, size_t size, struct ib_udata *udata)
{
	struct iwk_ucontext *owner = rdma_udata_to_drv_context(udata, struct iwk_ucontext, base);
	struct siw_uresp_create_cq answer = {
		.cq_id = atomic_inc_return(&iwk_dev_of(cq->base.device)->cq_ids),
		.num_cqe = cq->num_cqe,
	};

	if (udata->outlen < sizeof(answer))
		return -EINVAL;
	cq->entry = iwk_mmap_offer(&owner->base, cq->queue, size);
	if (!cq->entry)
		return -ENOMEM;
	answer.cq_key = rdma_user_mmap_get_offset(cq->entry);
	return ib_copy_to_udata(udata, &answer, sizeof(answer));
}

static void cq_free(struct iwk_cq *cq)
{
	if (cq->entry)
		rdma_user_mmap_entry_remove(cq->entry);
	else
		vfree(cq->queue);
	atomic_dec(&iwk_dev_of(cq->base.device)->cqs);
}

static int cq_create(struct ib_cq *base, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct iwk_cq *cq = iwk_cq_of(base);
	size_t size;
	int error;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > IWK_CQE)
		return -EINVAL;
	if (!atomic_add_unless(&iwk_dev_of(base->device)->cqs, 1, IWK_CQS))
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	cq->user = !!udata;
	/* Its counters wrap: the size divides 2^32. */
	cq->num_cqe = roundup_pow_of_two(attr->cqe);
	base->cqe = cq->num_cqe;
	size = cq->num_cqe * sizeof(*cq->queue) + sizeof(*cq->ctrl);
	cq->queue = vmalloc_user(size);
	error = cq->queue ? 0 : -ENOMEM;
	if (!error) {
		cq->ctrl = (struct siw_cq_ctrl *)&cq->queue[cq->num_cqe];
		if (udata)
			error = cq_share(cq, size, udata);
	}
	if (error)
		cq_free(cq);
	return error;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
int iwk_create_cq(struct ib_cq *base, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	return cq_create(base, attr, attrs ? &attrs->driver_udata : NULL);
}
#else
int iwk_create_cq(struct ib_cq *base, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	return cq_create(base, attr, udata);
}
#endif

int iwk_destroy_cq(struct ib_cq *base, struct ib_udata *udata)
{
	cq_free(iwk_cq_of(base));
	return 0;
}

/* ---- entries in ---- */

static const struct {
	enum ib_wc_status status;
	enum siw_wc_status siw;
} statuses[] = {
	{ IB_WC_SUCCESS, SIW_WC_SUCCESS },
	{ IB_WC_LOC_LEN_ERR, SIW_WC_LOC_LEN_ERR },
	{ IB_WC_LOC_PROT_ERR, SIW_WC_LOC_PROT_ERR },
	{ IB_WC_LOC_QP_OP_ERR, SIW_WC_LOC_QP_OP_ERR },
	{ IB_WC_WR_FLUSH_ERR, SIW_WC_WR_FLUSH_ERR },
	{ IB_WC_BAD_RESP_ERR, SIW_WC_BAD_RESP_ERR },
	{ IB_WC_LOC_ACCESS_ERR, SIW_WC_LOC_ACCESS_ERR },
	{ IB_WC_REM_ACCESS_ERR, SIW_WC_REM_ACCESS_ERR },
	{ IB_WC_REM_INV_REQ_ERR, SIW_WC_REM_INV_REQ_ERR },
};

/* The ABI has no words for the others. */
static u16 user_status(enum ib_wc_status status)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].siw;
	return SIW_WC_GENERAL_ERR;
}

static void cq_overrun(struct iwk_cq *cq)
{
	struct ib_event event = {
		.device = cq->base.device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = &cq->base,
	};

	if (cq->base.event_handler)
		cq->base.event_handler(&event, cq->base.cq_context);
}

/* Returns whether whoever waits for an event is to be woken. */
static bool cq_armed(struct iwk_cq *cq, bool solicited)
{
	u32 flags = READ_ONCE(cq->ctrl->flags);

	if (!(flags & SIW_NOTIFY_NEXT_COMPLETION) && !(solicited && flags & SIW_NOTIFY_SOLICITED))
		return false;
	WRITE_ONCE(cq->ctrl->flags, SIW_NOTIFY_NOT);
	return true;
}

static void cq_fill(struct iwk_cq *cq, struct siw_cqe *cqe, struct iwk_qp *qp,
		    const struct iwk_done *done)
{
	u8 flags = SIW_WQE_VALID;

	cqe->id = done->wr_id;
	cqe->opcode = done->opcode;
	cqe->status = cq->user ? user_status(done->status) : done->status;
	cqe->bytes = done->length;
	cqe->imm_data = 0;
	if (done->invalidated) {
		flags |= SIW_WQE_REM_INVAL;
		cqe->inval_stag = done->stag;
	}
	if (cq->user)
		cqe->qp_id = qp->base.qp_num;
	else
		cqe->base_qp = &qp->base;
	/* The entry is whole before it is valid. */
	smp_store_release(&cqe->flags, flags);
}

void iwk_cq_push(struct iwk_cq *cq, struct iwk_qp *qp, const struct iwk_done *done)
{
	bool full, reported, notify = false;
	struct siw_cqe *cqe;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cqe = &cq->queue[cq->put & (cq->num_cqe - 1)];
	full = READ_ONCE(cqe->flags) & SIW_WQE_VALID;
	reported = cq->overrun;
	if (full) {
		cq->overrun = true;
	} else {
		cq_fill(cq, cqe, qp, done);
		cq->put++;
		/* The program arms, then looks for entries; this is the other way round. */
		smp_mb();
		notify = cq_armed(cq, done->solicited || done->status != IB_WC_SUCCESS);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (full && !reported)
		cq_overrun(cq);
	if (notify && cq->base.comp_handler)
		cq->base.comp_handler(&cq->base, cq->base.cq_context);
}

/* ---- entries out, of the kernel's queues ---- */

static enum ib_wc_opcode opcode_of(u8 opcode)
{
	switch (opcode) {
	case SIW_OP_WRITE:
		return IB_WC_RDMA_WRITE;
	case SIW_OP_READ:
	case SIW_OP_READ_LOCAL_INV:
		return IB_WC_RDMA_READ;
	case SIW_OP_RECEIVE:
		return IB_WC_RECV;
	case SIW_OP_INVAL_STAG:
		return IB_WC_LOCAL_INV;
	case SIW_OP_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_SEND;
	}
}

static void cq_read(const struct siw_cqe *cqe, struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->id;
	wc->status = cqe->status;
	wc->opcode = opcode_of(cqe->opcode);
	wc->byte_len = cqe->bytes;
	wc->qp = cqe->base_qp;
	if (cqe->flags & SIW_WQE_REM_INVAL) {
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->inval_stag;
	}
}

int iwk_poll_cq(struct ib_cq *base, int room, struct ib_wc *wc)
{
	struct iwk_cq *cq = iwk_cq_of(base);
	unsigned long flags;
	int count = 0;

	spin_lock_irqsave(&cq->lock, flags);
	while (count < room) {
		struct siw_cqe *cqe = &cq->queue[cq->get & (cq->num_cqe - 1)];

		if (!(cqe->flags & SIW_WQE_VALID))
			break;
		cq_read(cqe, &wc[count++]);
		cqe->flags = 0;
		cq->get++;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return count;
}

int iwk_req_notify_cq(struct ib_cq *base, enum ib_cq_notify_flags flags)
{
	struct iwk_cq *cq = iwk_cq_of(base);
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED)
		WRITE_ONCE(cq->ctrl->flags, SIW_NOTIFY_SOLICITED);
	else
		WRITE_ONCE(cq->ctrl->flags, SIW_NOTIFY_ALL);
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq->put != cq->get;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}
