// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* How connections end. */
#include "iwk.h"

void iwk_conn_part(struct iwk_conn *conn)
{
	struct iwk_qp *qp = conn->qp;
	unsigned long flags;

	if (!qp)
		return;
	mutex_lock(&qp->lock);
	conn->qp = NULL;
	spin_lock_irqsave(&qp->conn_lock, flags);
	qp->conn = NULL;
	spin_unlock_irqrestore(&qp->conn_lock, flags);
	iwk_qp_fail(qp, false);
	iwk_flush(qp, false);
	mutex_unlock(&qp->lock);
	iwk_qp_kick(qp);
	iwk_rem_ref(&qp->base);
	iwk_conn_put(conn); /* the queue pair's */
}

void iwk_conn_report_end(struct iwk_conn *conn)
{
	iwk_listen_forget(conn);
	switch (conn->cm_state) {
	case IWK_CM_CONNECTING:
		iwk_cm_event(conn, IW_CM_EVENT_CONNECT_REPLY,
			     conn->error ? conn->error : -ECONNRESET);
		break;
	case IWK_CM_ACCEPTED:
		/* iw_cm takes no other order. */
		iwk_cm_event(conn, IW_CM_EVENT_ESTABLISHED, -ECONNRESET);
		fallthrough;
	case IWK_CM_UP:
		iwk_cm_event(conn, IW_CM_EVENT_CLOSE, 0);
		break;
	default:
		break;
	}
	iwk_cm_drop(conn);
}

void iwk_conn_finish(struct iwk_conn *conn, bool reset)
{
	if (conn->over)
		return;
	conn->over = true;
	iwk_socket_close(conn, reset);
	iwk_conn_part(conn);
	iwk_conn_report_end(conn);
	iwk_conn_put(conn); /* its own */
}

void iwk_conn_leave(struct iwk_conn *conn)
{
	struct iwk_qp *qp = conn->qp;

	if (qp) {
		mutex_lock(&qp->lock);
		iw_endpoint_leave(conn->ep, ktime_get_ns());
		iwk_conn_take_completions(conn);
		mutex_unlock(&qp->lock);
	} else {
		iw_endpoint_leave(conn->ep, ktime_get_ns());
	}
	iwk_conn_part(conn);
	iwk_conn_report_end(conn);
	iwk_conn_serve(conn);
}

void iwk_conn_abort(struct iwk_conn *conn)
{
	mutex_lock(&conn->lock);
	if (!conn->over) {
		iw_endpoint_abort(conn->ep, false, 0, ktime_get_ns());
		if (conn->qp) {
			mutex_lock(&conn->qp->lock);
			iwk_conn_take_completions(conn);
			mutex_unlock(&conn->qp->lock);
		}
		iwk_conn_finish(conn, true);
	}
	mutex_unlock(&conn->lock);
}

void iwk_conns_end(struct iwk_dev *dev)
{
	struct iwk_conn *conn;
	unsigned long id;
	bool live;

	for (id = 0;; id++) {
		/* One that is still found has not been freed. */
		xa_lock_irq(&dev->conns);
		conn = xa_find(&dev->conns, &id, ULONG_MAX, XA_PRESENT);
		live = conn && kref_get_unless_zero(&conn->ref);
		xa_unlock_irq(&dev->conns);
		if (!conn)
			break;
		if (!live)
			continue;
		iwk_conn_abort(conn);
		iwk_conn_put(conn);
	}
	wait_event(dev->conns_gone, !atomic_read(&dev->conn_count));
}
