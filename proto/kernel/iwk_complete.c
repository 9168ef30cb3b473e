// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* From completions of the endpoint to entries of completion queues. */
#include "iwk.h"

/* ---- statuses ---- */

/* A check that failed at this end. */
static const struct {
	enum iw_check check;
	enum ib_wc_status status;
} local[] = {
	{ IW_CHECK_DDP_MO, IB_WC_LOC_LEN_ERR },
	{ IW_CHECK_DDP_TOO_LONG, IB_WC_LOC_LEN_ERR },
	{ IW_CHECK_RDMAP_INVALIDATE_STAG, IB_WC_LOC_ACCESS_ERR },
	{ IW_CHECK_RDMAP_INVALIDATE_ASSOC, IB_WC_LOC_ACCESS_ERR },
	{ IW_CHECK_RDMAP_INVALIDATE_SHARED, IB_WC_LOC_ACCESS_ERR },
	{ IW_CHECK_RDMAP_IRD, IB_WC_LOC_QP_OP_ERR },
	{ IW_CHECK_DDP_STAG, IB_WC_LOC_PROT_ERR }, /* the sink of a Read, from here on */
	{ IW_CHECK_DDP_STAG_PD, IB_WC_LOC_PROT_ERR },
	{ IW_CHECK_DDP_STAG_STREAM, IB_WC_LOC_PROT_ERR },
	{ IW_CHECK_DDP_STAG_ACCESS, IB_WC_LOC_PROT_ERR },
	{ IW_CHECK_DDP_TO_BASE, IB_WC_LOC_PROT_ERR },
	{ IW_CHECK_DDP_TO_BOUNDS, IB_WC_LOC_PROT_ERR },
	{ IW_CHECK_DDP_TO_WRAP, IB_WC_LOC_PROT_ERR },
};

/* The peer's Terminate about a Read (RFC 5040 section 4.8, figure 10). */
enum { ANY = 256 };
static const struct {
	unsigned int layer, etype, code;
	enum ib_wc_status status;
} remote[] = {
	{ IW_LAYER_RDMAP, 1, ANY, IB_WC_REM_ACCESS_ERR }, /* remote protection */
	{ IW_LAYER_RDMAP, 2, ANY, IB_WC_REM_INV_REQ_ERR },
	{ IW_LAYER_RDMAP, ANY, ANY, IB_WC_REM_OP_ERR },
	{ IW_LAYER_DDP, 1, ANY, IB_WC_REM_ACCESS_ERR },	 /* tagged */
	{ IW_LAYER_DDP, 2, 2, IB_WC_RNR_RETRY_EXC_ERR }, /* no buffer available */
	{ IW_LAYER_DDP, 2, ANY, IB_WC_REM_INV_REQ_ERR },
	{ ANY, ANY, ANY, IB_WC_REM_ABORT_ERR },
};

static bool fits(unsigned int wanted, unsigned int value)
{
	return wanted == ANY || wanted == value;
}

static enum ib_wc_status status_of(const struct iw_completion *done,
				   const struct iw_rdmap_terminate *t)
{
	int i;

	if (done->status == IW_STATUS_OK)
		return IB_WC_SUCCESS;
	if (done->status == IW_STATUS_LOCAL_FAULT) {
		for (i = 0; i < ARRAY_SIZE(local); i++)
			if (local[i].check == done->check)
				return local[i].status;
		return IB_WC_BAD_RESP_ERR;
	}
	for (i = 0; done->status == IW_STATUS_REMOTE_FAULT && t && i < ARRAY_SIZE(remote); i++)
		if (fits(remote[i].layer, t->layer) && fits(remote[i].etype, t->etype) &&
		    fits(remote[i].code, t->code))
			return remote[i].status;
	return IB_WC_WR_FLUSH_ERR;
}

/* ---- entries ---- */

static void finish_send(struct iwk_qp *qp, struct iwk_req *r, enum ib_wc_status status)
{
	const struct iwk_done done = {
		.wr_id = r->wr_id,
		.opcode = r->opcode,
		.status = status,
		.length = r->length,
	};
	const bool signaled = r->signaled;

	iwk_req_drop(r);
	qp->sends.head++;
	if (signaled || status != IB_WC_SUCCESS)
		iwk_cq_push(qp->send_cq, qp, &done);
}

static void complete_send(struct iwk_qp *qp, const struct iw_completion *done,
			  const struct iw_rdmap_terminate *terminate)
{
	struct iwk_req *r = iwk_req_at(&qp->sends, done->id);
	enum ib_wc_status status = status_of(done, terminate);

	/* Local work that was wrong knows more about why. */
	if (done->status == IW_STATUS_LOCAL_FAULT && r->status != IB_WC_SUCCESS)
		status = r->status;
	if (status == IB_WC_SUCCESS && r->opcode == SIW_OP_READ_LOCAL_INV &&
	    iw_domain_invalidate(qp->dev->domain, r->stag))
		status = IB_WC_LOC_PROT_ERR;
	finish_send(qp, r, status);
}

static void complete_recv(struct iwk_qp *qp, const struct iw_completion *done)
{
	struct iwk_req *r = iwk_req_at(&qp->recvs, done->id);
	const struct iwk_done entry = {
		.wr_id = r->wr_id,
		.opcode = SIW_OP_RECEIVE,
		.status = status_of(done, NULL),
		.length = done->length,
		.solicited = done->solicited,
		.invalidated = done->invalidated,
		.stag = done->invalidate_stag,
	};

	iwk_req_drop(r);
	qp->recvs.head++;
	iwk_cq_push(qp->recv_cq, qp, &entry);
}

void iwk_complete(struct iwk_qp *qp, const struct iw_completion *done,
		  const struct iw_rdmap_terminate *terminate)
{
	if (done->opcode == IW_WORK_RECV)
		complete_recv(qp, done);
	else
		complete_send(qp, done, terminate);
}

/* ---- flushing ---- */

static void flush_ring(struct iwk_qp *qp)
{
	struct iwk_done done = { .status = IB_WC_WR_FLUSH_ERR };
	struct siw_sqe sqe;
	struct siw_rqe rqe;
	u32 left;

	/* A program that goes on posting is not to keep us here. */
	for (left = qp->num_sqe; left && iwk_sq_take(qp, &sqe); left--) {
		done.wr_id = sqe.id;
		done.opcode = sqe.opcode;
		iwk_cq_push(qp->send_cq, qp, &done);
	}
	done.opcode = SIW_OP_RECEIVE;
	for (left = qp->srq ? 0 : qp->num_rqe; left && iwk_rq_take(qp, &rqe); left--) {
		done.wr_id = rqe.id;
		iwk_cq_push(qp->recv_cq, qp, &done);
	}
}

void iwk_flush(struct iwk_qp *qp, bool attached)
{
	while (qp->sends.head != qp->sends.tail) {
		struct iwk_req *r = iwk_req_at(&qp->sends, qp->sends.head);

		if (attached && !r->unposted)
			break;
		finish_send(qp, r, IB_WC_WR_FLUSH_ERR);
	}
	while (!attached && qp->recvs.head != qp->recvs.tail) {
		struct iwk_req *r = iwk_req_at(&qp->recvs, qp->recvs.head);
		const struct iwk_done done = {
			.wr_id = r->wr_id,
			.opcode = SIW_OP_RECEIVE,
			.status = IB_WC_WR_FLUSH_ERR,
		};

		iwk_req_drop(r);
		qp->recvs.head++;
		iwk_cq_push(qp->recv_cq, qp, &done);
	}
	if (qp->state == IB_QPS_ERR && qp->sends.head == qp->sends.tail &&
	    qp->recvs.head == qp->recvs.tail)
		flush_ring(qp);
}
