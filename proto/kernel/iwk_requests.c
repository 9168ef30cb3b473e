// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Requests on their way from the rings to the endpoint. */
#include "iwk.h"

/*
 * An entry is copied before anything of it is looked at: a program may change
 * what it has mapped at any time.
 */
bool iwk_sq_take(struct iwk_qp *qp, struct siw_sqe *out)
{
	struct siw_sqe *sqe = &qp->sq[qp->sq_get & (qp->num_sqe - 1)];

	/* It is valid before it is read. */
	if (!(smp_load_acquire(&sqe->flags) & SIW_WQE_VALID))
		return false;
	memcpy(out, sqe, sizeof(*out));
	qp->sq_get++;
	/*
	 * A program that finds this entry used posts the next one and rings no
	 * bell: it is looked for only after this has become visible.
	 */
	smp_store_mb(sqe->flags, 0);
	return true;
}

bool iwk_rq_take(struct iwk_qp *qp, struct siw_rqe *out)
{
	struct siw_rqe *rqe;

	if (qp->srq)
		return iwk_srq_take(qp->srq, out);
	if (!qp->num_rqe)
		return false;
	rqe = &qp->rq[qp->rq_get & (qp->num_rqe - 1)];
	/* It is valid before it is read. */
	if (!(smp_load_acquire(&rqe->flags) & SIW_WQE_VALID))
		return false;
	memcpy(out, rqe, sizeof(*out));
	qp->rq_get++;
	/* It was read before it is free. */
	smp_store_mb(rqe->flags, 0);
	return true;
}

void iwk_req_drop(struct iwk_req *r)
{
	while (r->uses)
		iwk_mem_put(r->mems[--r->uses]);
}

/*
 * Checks a list against the regions that it names, and makes it the core's.
 * The request holds their memory from then on. Returns false if it is wrong.
 */
static bool take_list(struct iwk_req *r, struct iwk_qp *qp, u32 pd, const struct siw_sge *sges,
		      unsigned int count, bool writes, struct iw_iov *out)
{
	unsigned int i;

	if (count > SIW_MAX_SGE)
		return false;
	for (i = 0; i < count; i++) {
		struct iwk_mem *mem = NULL;

		out[i] = (struct iw_iov){ .length = sges[i].length };
		if (sges[i].length > U32_MAX - r->length ||
		    (sges[i].length &&
		     !iwk_mem_find(qp->dev, pd, &sges[i], writes, &out[i], &mem))) {
			iwk_req_drop(r);
			return false;
		}
		if (mem)
			r->mems[r->uses++] = mem;
		r->length += sges[i].length;
	}
	return true;
}

/* ---- sends ---- */

static bool take_inline(struct iwk_req *r, const struct siw_sqe *sqe, struct iw_iov *out)
{
	const u32 length = sqe->sge[0].length;

	if (length > SIW_MAX_INLINE)
		return false;
	memcpy(r->octets, &sqe->sge[1], length);
	r->length = length;
	*out = (struct iw_iov){ r->octets, length };
	return true;
}

static bool take_payload(struct iwk_qp *qp, struct iwk_req *r, const struct siw_sqe *sqe,
			 struct iw_iov *iov, struct iw_work *work)
{
	work->sge = iov;
	if (sqe->flags & SIW_WQE_INLINE && sqe->num_sge) {
		work->sge_count = 1;
		return take_inline(r, sqe, iov);
	}
	work->sge_count = sqe->num_sge;
	return take_list(r, qp, iwk_pd_of(qp->base.pd)->number, sqe->sge, sqe->num_sge, false, iov);
}

static bool take_read(struct iwk_qp *qp, struct iwk_req *r, const struct siw_sqe *sqe,
		      struct iw_work *work)
{
	struct iw_iov sink;

	if (sqe->num_sge > 1 || sqe->flags & SIW_WQE_INLINE ||
	    !take_list(r, qp, iwk_pd_of(qp->base.pd)->number, sqe->sge, sqe->num_sge, true, &sink))
		return false;
	work->opcode = IW_WORK_READ;
	work->length = r->length;
	if (sqe->num_sge) {
		work->sink_stag = sqe->sge[0].lkey;
		work->sink_to = sqe->sge[0].laddr;
		r->stag = sqe->sge[0].lkey;
	}
	return true;
}

/* Turns an entry into work. Returns false if it is wrong, so that it fails in its turn. */
static bool make_work(struct iwk_qp *qp, struct iwk_req *r, const struct siw_sqe *sqe,
		      struct iw_iov *iov, struct iw_work *work)
{
	const bool solicited = sqe->flags & SIW_WQE_SOLICITED;

	work->flags = sqe->flags & SIW_WQE_READ_FENCE ? IW_WORK_FENCE : 0;
	work->remote_stag = sqe->rkey;
	work->remote_to = sqe->raddr;
	switch (sqe->opcode) {
	case SIW_OP_WRITE:
		work->opcode = IW_WORK_WRITE;
		return take_payload(qp, r, sqe, iov, work);
	case SIW_OP_SEND:
		work->opcode = solicited ? IW_WORK_SEND_SE : IW_WORK_SEND;
		return take_payload(qp, r, sqe, iov, work);
	case SIW_OP_SEND_REMOTE_INV:
		work->opcode = solicited ? IW_WORK_SEND_SE_INVALIDATE : IW_WORK_SEND_INVALIDATE;
		work->invalidate_stag = sqe->rkey;
		return take_payload(qp, r, sqe, iov, work);
	case SIW_OP_READ:
	case SIW_OP_READ_LOCAL_INV:
		return take_read(qp, r, sqe, work);
	case SIW_OP_INVAL_STAG:
		r->stag = sqe->rkey;
		return !qp->user;
	case SIW_OP_REG_MR:
		if (qp->user)
			return false;
		r->mr = container_of((struct ib_mr *)(uintptr_t)sqe->base_mr, struct iwk_mr, base);
		r->key = sqe->rkey;
		r->access = sqe->access;
		return true;
	default:
		r->status = IB_WC_LOC_QP_OP_ERR;
		return false;
	}
}

static bool is_local(const struct iwk_req *r)
{
	return r->opcode == SIW_OP_REG_MR || r->opcode == SIW_OP_INVAL_STAG;
}

static void give_send(struct iwk_qp *qp, struct iw_endpoint *ep, const struct siw_sqe *sqe, u64 now)
{
	struct iwk_req *r = iwk_req_at(&qp->sends, qp->sends.tail);
	struct iw_work work = { .id = qp->sends.tail, .opcode = IW_WORK_LOCAL };
	struct iw_iov iov[SIW_MAX_SGE];
	int result;

	*r = (struct iwk_req){
		.wr_id = sqe->id,
		.opcode = sqe->opcode,
		.signaled = sqe->flags & SIW_WQE_SIGNALLED,
	};
	if (!make_work(qp, r, sqe, iov, &work)) {
		work = (struct iw_work){ .id = work.id, .opcode = IW_WORK_LOCAL };
		if (r->status == IB_WC_SUCCESS)
			r->status = IB_WC_LOC_PROT_ERR;
	}
	qp->sends.tail++;
	result = iw_endpoint_post(ep, &work, now);
	if (result == IW_ERR_ARGUMENT) {
		/* A Read, say, of a connection without ORD. */
		r->status = IB_WC_LOC_QP_OP_ERR;
		work = (struct iw_work){ .id = work.id, .opcode = IW_WORK_LOCAL };
		result = iw_endpoint_post(ep, &work, now);
	}
	r->unposted = result != IW_OK;
	qp->local_due = !r->unposted && is_local(r);
}

bool iwk_take_sends(struct iwk_qp *qp, struct iw_endpoint *ep, u64 now)
{
	struct siw_sqe sqe;
	bool any = false;

	/* What follows local work may name what that registers, or invalidates. */
	while (!qp->local_due && !iwk_reqs_full(&qp->sends) && iwk_sq_take(qp, &sqe)) {
		give_send(qp, ep, &sqe, now);
		any = true;
	}
	return any;
}

bool iwk_do_local(struct iwk_qp *qp, struct iw_endpoint *ep, u64 id)
{
	struct iwk_req *r = iwk_req_at(&qp->sends, id);

	qp->local_done |= qp->local_due;
	qp->local_due = false;
	if (r->status != IB_WC_SUCCESS)
		return false;
	if (r->opcode == SIW_OP_REG_MR) {
		if (iwk_mr_register(r->mr, r->key, r->access, iw_endpoint_stream(ep)))
			return true;
		r->status = IB_WC_LOC_QP_OP_ERR;
		return false;
	}
	if (!iw_domain_invalidate(qp->dev->domain, r->stag))
		return true;
	r->status = IB_WC_LOC_PROT_ERR;
	return false;
}

/* ---- receives ---- */

/* A receive whose list is wrong cannot be refused any more: it ends at once. */
static void end_recv(struct iwk_qp *qp, const struct siw_rqe *rqe)
{
	const struct iwk_done done = {
		.wr_id = rqe->id,
		.opcode = SIW_OP_RECEIVE,
		.status = IB_WC_LOC_PROT_ERR,
	};

	iwk_cq_push(qp->recv_cq, qp, &done);
}

void iwk_take_recv(struct iwk_qp *qp, struct iw_endpoint *ep)
{
	struct iwk_req *r = iwk_req_at(&qp->recvs, qp->recvs.tail);
	struct ib_pd *pd = qp->srq ? qp->srq->base.pd : qp->base.pd;
	struct iw_iov iov[SIW_MAX_SGE];
	struct siw_rqe rqe;

	if (iwk_reqs_full(&qp->recvs) || !iwk_rq_take(qp, &rqe))
		return;
	*r = (struct iwk_req){ .wr_id = rqe.id, .opcode = SIW_OP_RECEIVE };
	if (!take_list(r, qp, iwk_pd_of(pd)->number, rqe.sge, rqe.num_sge, true, iov)) {
		end_recv(qp, &rqe);
		return;
	}
	if (iw_endpoint_post_recv(ep, qp->recvs.tail, iov, rqe.num_sge) != IW_OK) {
		iwk_req_drop(r);
		end_recv(qp, &rqe);
		return;
	}
	qp->recvs.tail++;
}
