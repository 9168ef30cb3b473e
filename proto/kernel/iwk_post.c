// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Requests of the kernel, in any context: they go into the ring that a program
 * would fill itself, from which whoever serves the connection takes them
 * without a lock. A program's ring is only looked at.
 */
#include "iwk.h"

static int opcode_of(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
		return SIW_OP_SEND;
	case IB_WR_SEND_WITH_INV:
		return SIW_OP_SEND_REMOTE_INV;
	case IB_WR_RDMA_WRITE:
		return SIW_OP_WRITE;
	case IB_WR_RDMA_READ:
		return SIW_OP_READ;
	case IB_WR_RDMA_READ_WITH_INV:
		return SIW_OP_READ_LOCAL_INV;
	case IB_WR_LOCAL_INV:
		return SIW_OP_INVAL_STAG;
	case IB_WR_REG_MR:
		return SIW_OP_REG_MR;
	default:
		return -EOPNOTSUPP;
	}
}

static int fill_payload(struct siw_sqe *sqe, const struct ib_send_wr *wr, u32 max_sge)
{
	u8 *octets = (u8 *)&sqe->sge[1];
	size_t length = 0;
	int i;

	if (wr->num_sge < 0 || (u32)wr->num_sge > max_sge)
		return -EINVAL;
	sqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (!(wr->send_flags & IB_SEND_INLINE)) {
			sqe->sge[i] = (struct siw_sge){ sge->addr, sge->length, sge->lkey };
			continue;
		}
		if (sge->length > SIW_MAX_INLINE - length)
			return -EINVAL;
		memcpy(octets + length, (void *)(uintptr_t)sge->addr, sge->length);
		length += sge->length;
	}
	if (wr->send_flags & IB_SEND_INLINE)
		sqe->sge[0] = (struct siw_sge){ .length = length };
	return 0;
}

static int fill_sqe(struct siw_sqe *sqe, const struct ib_send_wr *wr, struct iwk_qp *qp)
{
	const int opcode = opcode_of(wr);
	u16 flags = SIW_WQE_VALID;
	int error = 0;

	if (opcode < 0)
		return opcode;
	sqe->id = wr->wr_id;
	sqe->opcode = opcode;
	sqe->num_sge = 0;
	if (opcode == SIW_OP_REG_MR) {
		sqe->base_mr = (uintptr_t)reg_wr(wr)->mr;
		sqe->rkey = reg_wr(wr)->key;
		sqe->access = reg_wr(wr)->access;
	} else if (opcode == SIW_OP_INVAL_STAG || opcode == SIW_OP_SEND_REMOTE_INV) {
		sqe->rkey = wr->ex.invalidate_rkey;
	} else if (opcode != SIW_OP_SEND) {
		sqe->rkey = rdma_wr(wr)->rkey;
		sqe->raddr = rdma_wr(wr)->remote_addr;
	}
	if (opcode != SIW_OP_REG_MR && opcode != SIW_OP_INVAL_STAG)
		error = fill_payload(sqe, wr, qp->cap.max_send_sge);
	if (error)
		return error;
	if (qp->sig_all || wr->send_flags & IB_SEND_SIGNALED)
		flags |= SIW_WQE_SIGNALLED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		flags |= SIW_WQE_SOLICITED;
	if (wr->send_flags & IB_SEND_INLINE)
		flags |= SIW_WQE_INLINE;
	if (wr->send_flags & IB_SEND_FENCE)
		flags |= SIW_WQE_READ_FENCE;
	/* The entry is whole before it is valid. */
	smp_store_release(&sqe->flags, flags);
	return 0;
}

static int doorbell(struct iwk_qp *qp)
{
	struct iwk_conn *conn = iwk_qp_conn_get(qp);

	if (!conn) {
		iwk_qp_kick(qp);
		return 0;
	}
	iwk_conn_run(conn);
	iwk_conn_put(conn);
	return 0;
}

int iwk_post_send(struct ib_qp *base, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct iwk_qp *qp = iwk_qp_of(base);
	const enum ib_qp_state state = READ_ONCE(qp->state);
	unsigned long flags;
	int error = 0;

	if (qp->user)
		return wr ? -EINVAL : doorbell(qp);
	if (state != IB_QPS_RTS && state != IB_QPS_SQD && state != IB_QPS_ERR)
		error = -EINVAL;
	spin_lock_irqsave(&qp->sq_lock, flags);
	for (; wr && !error; wr = error ? wr : wr->next) {
		struct siw_sqe *sqe = &qp->sq[qp->sq_put & (qp->num_sqe - 1)];

		error = READ_ONCE(sqe->flags) & SIW_WQE_VALID ? -ENOMEM : fill_sqe(sqe, wr, qp);
		if (!error)
			qp->sq_put++;
	}
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	if (error)
		*bad = wr;
	iwk_qp_kick(qp);
	return error;
}

int iwk_fill_rqe(struct siw_rqe *rqe, const struct ib_recv_wr *wr, u32 max_sge)
{
	int i;

	if (wr->num_sge < 0 || (u32)wr->num_sge > max_sge)
		return -EINVAL;
	rqe->id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++)
		rqe->sge[i] = (struct siw_sge){ wr->sg_list[i].addr, wr->sg_list[i].length,
						wr->sg_list[i].lkey };
	/* The entry is whole before it is valid. */
	smp_store_release(&rqe->flags, SIW_WQE_VALID);
	return 0;
}

int iwk_post_recv(struct ib_qp *base, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct iwk_qp *qp = iwk_qp_of(base);
	unsigned long flags;
	int error = qp->user || qp->srq ? -EINVAL : 0;

	spin_lock_irqsave(&qp->rq_lock, flags);
	for (; wr && !error; wr = error ? wr : wr->next) {
		struct siw_rqe *rqe = &qp->rq[qp->rq_put & (qp->num_rqe - 1)];

		error = READ_ONCE(rqe->flags) & SIW_WQE_VALID
				? -ENOMEM
				: iwk_fill_rqe(rqe, wr, qp->cap.max_recv_sge);
		if (!error)
			qp->rq_put++;
	}
	spin_unlock_irqrestore(&qp->rq_lock, flags);
	if (error)
		*bad = wr;
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		iwk_qp_kick(qp);
	return error;
}
