// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Queue pairs and their states. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "iwk.h"

#define IWK_REMOTE (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/* ---- references and work ---- */

static void qp_gone(struct kref *ref)
{
	complete(&container_of(ref, struct iwk_qp, ref)->gone);
}

void iwk_add_ref(struct ib_qp *base)
{
	kref_get(&iwk_qp_of(base)->ref);
}

void iwk_rem_ref(struct ib_qp *base)
{
	kref_put(&iwk_qp_of(base)->ref, qp_gone);
}

/* iw_cm takes a reference of its own directly afterwards. */
struct ib_qp *iwk_get_qp(struct ib_device *base, int number)
{
	struct iwk_qp *qp = xa_load(&iwk_dev_of(base)->qps, number);

	return qp ? &qp->base : NULL;
}

struct iwk_conn *iwk_qp_conn_get(struct iwk_qp *qp)
{
	struct iwk_conn *conn;
	unsigned long flags;

	spin_lock_irqsave(&qp->conn_lock, flags);
	conn = qp->conn;
	if (conn)
		kref_get(&conn->ref);
	spin_unlock_irqrestore(&qp->conn_lock, flags);
	return conn;
}

void iwk_qp_kick(struct iwk_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->conn_lock, flags);
	if (qp->conn)
		iwk_conn_kick(qp->conn);
	else
		mod_delayed_work(qp->dev->wq, &qp->flush, 0);
	spin_unlock_irqrestore(&qp->conn_lock, flags);
}

/*
 * A program that posts a receive rings no bell: one that comes after the end
 * is looked for, less and less often.
 */
static void flush_again(struct iwk_qp *qp)
{
	if (!qp->user || !qp->num_rqe)
		return;
	qp->flush_delay = clamp(2 * qp->flush_delay, 1ul, (unsigned long)HZ);
	queue_delayed_work(qp->dev->wq, &qp->flush, qp->flush_delay);
}

static void flush_work_fn(struct work_struct *work)
{
	struct iwk_qp *qp = container_of(to_delayed_work(work), struct iwk_qp, flush);

	mutex_lock(&qp->lock);
	if (!READ_ONCE(qp->conn) && qp->state == IB_QPS_ERR) {
		iwk_flush(qp, false);
		flush_again(qp);
	}
	mutex_unlock(&qp->lock);
}

/* ---- making one ---- */

static bool reqs_make(struct iwk_reqs *r, u32 depth)
{
	r->depth = depth;
	r->reqs = kvcalloc(depth, sizeof(*r->reqs), GFP_KERNEL);
	return r->reqs;
}

static void reqs_free(struct iwk_reqs *r)
{
	for (; r->head != r->tail; r->head++)
		iwk_req_drop(iwk_req_at(r, r->head));
	kvfree(r->reqs);
}

static int qp_share(struct iwk_qp *qp, size_t sq_size, size_t rq_size, struct ib_udata *udata)
{
	struct iwk_ucontext *owner = rdma_udata_to_drv_context(udata, struct iwk_ucontext, base);
	struct siw_uresp_create_qp answer = {
		.qp_id = qp->base.qp_num,
		.num_sqe = qp->num_sqe,
		.num_rqe = qp->num_rqe,
	};

	if (udata->outlen < sizeof(answer))
		return -EINVAL;
	qp->sq_entry = iwk_mmap_offer(&owner->base, qp->sq, sq_size);
	if (!qp->sq_entry)
		return -ENOMEM;
	answer.sq_key = rdma_user_mmap_get_offset(qp->sq_entry);
	if (qp->rq) {
		qp->rq_entry = iwk_mmap_offer(&owner->base, qp->rq, rq_size);
		if (!qp->rq_entry)
			return -ENOMEM;
		answer.rq_key = rdma_user_mmap_get_offset(qp->rq_entry);
	}
	return ib_copy_to_udata(udata, &answer, sizeof(answer));
}

static void qp_free(struct iwk_qp *qp)
{
	reqs_free(&qp->sends);
	reqs_free(&qp->recvs);
	if (qp->sq_entry)
		rdma_user_mmap_entry_remove(qp->sq_entry);
	else
		vfree(qp->sq);
	if (qp->rq_entry)
		rdma_user_mmap_entry_remove(qp->rq_entry);
	else
		vfree(qp->rq);
	xa_erase(&qp->dev->qps, qp->base.qp_num);
}

static int check_init(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->qp_type != IB_QPT_RC || init->create_flags)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > IWK_WR || cap->max_recv_wr > IWK_WR ||
	    cap->max_send_sge > SIW_MAX_SGE || cap->max_recv_sge > SIW_MAX_SGE ||
	    cap->max_inline_data > SIW_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static int make_queues(struct iwk_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	size_t sq_size, rq_size;

	/* Their counters wrap: the sizes divide 2^32. */
	qp->num_sqe = roundup_pow_of_two(max(init->cap.max_send_wr, 1u));
	qp->num_rqe = qp->srq ? 0 : roundup_pow_of_two(max(init->cap.max_recv_wr, 1u));
	sq_size = qp->num_sqe * sizeof(*qp->sq);
	rq_size = qp->num_rqe * sizeof(*qp->rq);
	qp->sq = vmalloc_user(sq_size);
	if (rq_size)
		qp->rq = vmalloc_user(rq_size);
	if (!qp->sq || (rq_size && !qp->rq) || !reqs_make(&qp->sends, qp->num_sqe) ||
	    !reqs_make(&qp->recvs, IWK_RECVS))
		return -ENOMEM;
	return udata ? qp_share(qp, sq_size, rq_size, udata) : 0;
}

int iwk_create_qp(struct ib_qp *base, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct iwk_dev *dev = iwk_dev_of(base->device);
	struct iwk_qp *qp = iwk_qp_of(base);
	int error = check_init(init);

	if (error)
		return error;
	qp->dev = dev;
	qp->user = !!udata;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->send_cq = iwk_cq_of(init->send_cq);
	qp->recv_cq = iwk_cq_of(init->recv_cq);
	qp->srq = init->srq ? iwk_srq_of(init->srq) : NULL;
	qp->state = IB_QPS_RESET;
	qp->access = IWK_REMOTE;
	kref_init(&qp->ref);
	init_completion(&qp->gone);
	mutex_init(&qp->lock);
	spin_lock_init(&qp->sq_lock);
	spin_lock_init(&qp->rq_lock);
	spin_lock_init(&qp->conn_lock);
	INIT_DELAYED_WORK(&qp->flush, flush_work_fn);
	error = xa_alloc_cyclic(&dev->qps, &base->qp_num, qp, XA_LIMIT(1, IWK_QPS), &dev->next_qp,
				GFP_KERNEL);
	if (error < 0)
		return error == -EBUSY ? -ENOMEM : error;
	init->cap.max_inline_data = SIW_MAX_INLINE;
	qp->cap = init->cap;
	error = make_queues(qp, init, udata);
	if (error)
		qp_free(qp);
	return error;
}

int iwk_destroy_qp(struct ib_qp *base, struct ib_udata *udata)
{
	struct iwk_qp *qp = iwk_qp_of(base);
	struct iwk_conn *conn;

	while ((conn = iwk_qp_conn_get(qp))) {
		mutex_lock(&conn->lock);
		if (conn->qp == qp)
			iwk_conn_leave(conn);
		mutex_unlock(&conn->lock);
		iwk_conn_put(conn);
	}
	/* iw_cm looks queue pairs up, by numbers that programs give it, without a lock. */
	xa_erase(&qp->dev->qps, base->qp_num);
	synchronize_rcu();
	iwk_rem_ref(base);
	wait_for_completion(&qp->gone);
	cancel_delayed_work_sync(&qp->flush);
	qp_free(qp);
	return 0;
}

/* ---- states ---- */

u32 iwk_qp_withheld(const struct iwk_qp *qp)
{
	return iwk_rights(IWK_REMOTE & ~qp->access);
}

static void qp_event(struct iwk_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->base.device,
		.event = type,
		.element.qp = &qp->base,
	};

	if (qp->base.event_handler)
		qp->base.event_handler(&event, qp->base.qp_context);
}

void iwk_qp_fail(struct iwk_qp *qp, bool fault)
{
	if (qp->state == IB_QPS_ERR)
		return;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	if (fault)
		qp_event(qp, IB_EVENT_QP_FATAL);
	if (qp->srq)
		qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

static int move_without_conn(struct iwk_qp *qp, enum ib_qp_state to)
{
	switch (to) {
	case IB_QPS_ERR:
		iwk_qp_fail(qp, false);
		iwk_qp_kick(qp);
		return 0;
	case IB_QPS_SQD: /* of a connection that has just ended */
		return qp->state == IB_QPS_ERR ? 0 : -EINVAL;
	case IB_QPS_RTS:
		return -EOPNOTSUPP; /* only iw_cm connects */
	case IB_QPS_RESET:
		if (qp->state != IB_QPS_RESET)
			return -EOPNOTSUPP;
		return 0;
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		if (qp->state == IB_QPS_ERR)
			return -EINVAL;
		WRITE_ONCE(qp->state, to);
		return 0;
	default:
		return -EINVAL;
	}
}

static int move(struct iwk_qp *qp, enum ib_qp_state to)
{
	struct iwk_conn *conn = iwk_qp_conn_get(qp);
	int error = 0;

	if (!conn) {
		mutex_lock(&qp->lock);
		error = move_without_conn(qp, to);
		mutex_unlock(&qp->lock);
		return error;
	}
	mutex_lock(&conn->lock);
	if (conn->qp != qp) {
		error = to == IB_QPS_ERR || to == IB_QPS_SQD ? 0 : -EINVAL;
	} else if (to == IB_QPS_ERR) {
		iwk_conn_leave(conn);
	} else if (to == IB_QPS_SQD) {
		iw_endpoint_shutdown(conn->ep, ktime_get_ns());
		iwk_conn_serve(conn);
	} else if (to == IB_QPS_RESET) {
		error = -EOPNOTSUPP;
	} /* others are where the connection has taken it already */
	mutex_unlock(&conn->lock);
	iwk_conn_put(conn);
	return error;
}

static void set_access(struct iwk_qp *qp, u32 access)
{
	struct iwk_conn *conn = iwk_qp_conn_get(qp);

	if (conn)
		mutex_lock(&conn->lock);
	mutex_lock(&qp->lock);
	qp->access = access;
	if (conn && conn->qp == qp)
		iw_endpoint_withhold(conn->ep, iwk_qp_withheld(qp));
	mutex_unlock(&qp->lock);
	if (!conn)
		return;
	mutex_unlock(&conn->lock);
	iwk_conn_put(conn);
}

int iwk_modify_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct iwk_qp *qp = iwk_qp_of(base);

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	/* No rights at all, on the way to INIT, is rdma_cm before it knows that this is iWARP. */
	if (mask & IB_QP_ACCESS_FLAGS &&
	    (attr->qp_access_flags || !(mask & IB_QP_STATE) || attr->qp_state != IB_QPS_INIT))
		set_access(qp, attr->qp_access_flags);
	return mask & IB_QP_STATE ? move(qp, attr->qp_state) : 0;
}

int iwk_query_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct iwk_qp *qp = iwk_qp_of(base);

	mutex_lock(&qp->lock);
	attr->qp_state = qp->state == IB_QPS_RESET ? IB_QPS_INIT : qp->state;
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	attr->path_mtu = IB_MTU_1024;
	attr->qp_access_flags = qp->access;
	attr->max_rd_atomic = IWK_READS;
	attr->max_dest_rd_atomic = IWK_READS;
	attr->port_num = 1;
	mutex_unlock(&qp->lock);
	init->send_cq = base->send_cq;
	init->recv_cq = base->recv_cq;
	init->srq = base->srq;
	init->cap = attr->cap;
	init->qp_type = base->qp_type;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	return 0;
}
