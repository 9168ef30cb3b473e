// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Shared receive queues. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "iwk.h"

static int srq_share(struct iwk_srq *srq, size_t size, struct ib_udata *udata)
{
	struct iwk_ucontext *owner = rdma_udata_to_drv_context(udata, struct iwk_ucontext, base);
	struct siw_uresp_create_srq answer = { .num_rqe = srq->num_rqe };

	if (udata->outlen < sizeof(answer))
		return -EINVAL;
	srq->entry = iwk_mmap_offer(&owner->base, srq->queue, size);
	if (!srq->entry)
		return -ENOMEM;
	answer.srq_key = rdma_user_mmap_get_offset(srq->entry);
	return ib_copy_to_udata(udata, &answer, sizeof(answer));
}

static void srq_free(struct iwk_srq *srq)
{
	if (srq->entry)
		rdma_user_mmap_entry_remove(srq->entry);
	else
		vfree(srq->queue);
	atomic_dec(&iwk_dev_of(srq->base.device)->srqs);
}

int iwk_create_srq(struct ib_srq *base, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct iwk_srq *srq = iwk_srq_of(base);
	const struct ib_srq_attr *attr = &init->attr;
	size_t size;
	int error;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (attr->max_wr == 0 || attr->max_wr > IWK_WR || attr->max_sge > SIW_MAX_SGE ||
	    attr->srq_limit > attr->max_wr)
		return -EINVAL;
	if (!atomic_add_unless(&iwk_dev_of(base->device)->srqs, 1, IWK_SRQS))
		return -ENOMEM;
	spin_lock_init(&srq->lock);
	srq->user = !!udata;
	srq->num_rqe = roundup_pow_of_two(attr->max_wr);
	srq->max_wr = srq->num_rqe;
	srq->max_sge = attr->max_sge;
	srq->limit = attr->srq_limit;
	srq->armed = srq->limit > 0;
	size = srq->num_rqe * sizeof(*srq->queue);
	srq->queue = vmalloc_user(size);
	error = srq->queue ? 0 : -ENOMEM;
	if (!error && udata)
		error = srq_share(srq, size, udata);
	if (error)
		srq_free(srq);
	return error;
}

int iwk_modify_srq(struct ib_srq *base, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct iwk_srq *srq = iwk_srq_of(base);
	unsigned long flags;
	int error = 0;

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	spin_lock_irqsave(&srq->lock, flags);
	if (mask & IB_SRQ_LIMIT && attr->srq_limit >= srq->num_rqe) {
		error = -EINVAL;
	} else if (mask & IB_SRQ_LIMIT) {
		srq->limit = attr->srq_limit;
		srq->armed = srq->limit > 0;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return error;
}

int iwk_query_srq(struct ib_srq *base, struct ib_srq_attr *attr)
{
	struct iwk_srq *srq = iwk_srq_of(base);
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->armed ? srq->limit : 0;
	spin_unlock_irqrestore(&srq->lock, flags);
	return 0;
}

int iwk_destroy_srq(struct ib_srq *base, struct ib_udata *udata)
{
	srq_free(iwk_srq_of(base));
	return 0;
}

int iwk_post_srq_recv(struct ib_srq *base, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct iwk_srq *srq = iwk_srq_of(base);
	unsigned long flags;
	int error = srq->user ? -EINVAL : 0;

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr && !error; wr = error ? wr : wr->next) {
		struct siw_rqe *rqe = &srq->queue[srq->put & (srq->num_rqe - 1)];

		error = rqe->flags & SIW_WQE_VALID ? -ENOMEM : iwk_fill_rqe(rqe, wr, srq->max_sge);
		if (!error)
			srq->put++;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (error)
		*bad = wr;
	return error;
}

/* Returns whether fewer than `limit` receives are left, which is reported once. */
static bool srq_low(struct iwk_srq *srq)
{
	const struct siw_rqe *last;

	if (!srq->armed)
		return false;
	last = &srq->queue[(srq->get + srq->limit - 1) & (srq->num_rqe - 1)];
	if (READ_ONCE(last->flags) & SIW_WQE_VALID)
		return false;
	srq->armed = false;
	return true;
}

bool iwk_srq_take(struct iwk_srq *srq, struct siw_rqe *out)
{
	struct ib_event event = {
		.device = srq->base.device,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
		.element.srq = &srq->base,
	};
	bool taken, low = false;
	struct siw_rqe *rqe;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	rqe = &srq->queue[srq->get & (srq->num_rqe - 1)];
	/* It is valid before it is read. */
	taken = smp_load_acquire(&rqe->flags) & SIW_WQE_VALID;
	if (taken) {
		memcpy(out, rqe, sizeof(*out));
		/* It was read before it is free. */
		smp_store_release(&rqe->flags, 0);
		srq->get++;
		low = srq_low(srq);
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (low && srq->base.event_handler)
		srq->base.event_handler(&event, srq->base.srq_context);
	return taken;
}
