// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* iw_cm's connections: connect, accept, reject, and the events about them. */
#include "iwk.h"

/* ---- events ---- */

static u8 reads_of(u16 value)
{
	return min_t(u16, value, IWK_READS);
}

void iwk_cm_event(struct iwk_conn *conn, enum iw_cm_event_type type, int status)
{
	const struct iw_mpa_agreed *agreed = iw_endpoint_agreed(conn->ep);
	struct iw_cm_event event = {
		.event = type,
		.status = status,
		.local_addr = conn->local,
		.remote_addr = conn->remote,
	};
	const u8 *data;

	if (!conn->cm_id)
		return;
	if (agreed) {
		/* iw_cm's ird is what this end may ask for, as the peer sees it. */
		event.ird = reads_of(agreed->ord);
		event.ord = reads_of(agreed->ird);
	}
	if (type == IW_CM_EVENT_CONNECT_REPLY && (!status || status == -ECONNREFUSED)) {
		event.private_data_len =
			min_t(size_t, IWK_PRIVATE, iw_endpoint_private(conn->ep, &data));
		event.private_data = (void *)(uintptr_t)data;
	}
	conn->cm_id->event_handler(conn->cm_id, &event);
	/* After a failed reply or a close, iw_cm expects nothing more. */
	if (type == IW_CM_EVENT_ESTABLISHED || (type == IW_CM_EVENT_CONNECT_REPLY && !status))
		conn->cm_state = IWK_CM_UP;
	else
		iwk_cm_drop(conn);
}

void iwk_cm_drop(struct iwk_conn *conn)
{
	struct iw_cm_id *cm_id = conn->cm_id;

	conn->cm_state = IWK_CM_NONE;
	conn->cm_id = NULL;
	if (cm_id)
		cm_id->rem_ref(cm_id);
}

static void cm_take(struct iwk_conn *conn, struct iw_cm_id *cm_id, enum iwk_cm_state state)
{
	cm_id->add_ref(cm_id);
	conn->cm_id = cm_id;
	conn->cm_state = state;
}

/* ---- both ends ---- */

/* Finds a queue pair that is free to be connected, with a reference. */
static struct iwk_qp *find_qp(struct iwk_dev *dev, u32 number)
{
	struct ib_qp *base;

	rcu_read_lock();
	base = iwk_get_qp(&dev->base, number);
	if (base && !kref_get_unless_zero(&iwk_qp_of(base)->ref))
		base = NULL;
	rcu_read_unlock();
	return base ? iwk_qp_of(base) : NULL;
}

static bool connectable(const struct iwk_qp *qp)
{
	return !qp->conn &&
	       (qp->state == IB_QPS_RESET || qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR);
}

/* ---- connect ---- */

static int bind_local(struct socket *sock, struct sockaddr_storage *local)
{
	struct sockaddr *address = (struct sockaddr *)local;
	const int length = iwk_sockaddr_length(address);
	int error = kernel_bind(sock, address, length);

	/* rdma_cm's ports are not TCP's: one that it takes for free may be in use. */
	if (error != -EADDRINUSE)
		return error;
	if (address->sa_family == AF_INET)
		((struct sockaddr_in *)address)->sin_port = 0;
	else
		((struct sockaddr_in6 *)address)->sin6_port = 0;
	return kernel_bind(sock, address, length);
}

static int open_socket(struct iwk_dev *dev, struct iwk_conn *conn, struct iw_cm_id *cm_id)
{
	struct sockaddr_storage local = cm_id->m_local_addr;
	struct sockaddr *remote = (struct sockaddr *)&cm_id->m_remote_addr;
	struct socket *sock;
	int error;

	error = iwk_socket_make(dev, (struct sockaddr *)&local, &sock);
	if (error)
		return error;
	error = bind_local(sock, &local);
	if (error) {
		sock_release(sock);
		return error;
	}
	iwk_socket_attach(conn, sock);
	error = kernel_connect(sock, remote, iwk_sockaddr_length(remote), O_NONBLOCK);
	return error == -EINPROGRESS ? 0 : error;
}

static int connect_qp(struct iwk_dev *dev, struct iwk_qp *qp, struct iw_cm_id *cm_id,
		      const struct iw_cm_conn_param *param)
{
	struct iw_endpoint_config config;
	struct iwk_conn *conn;
	int error;

	iwk_conn_config(&config, NULL, qp, param->ird, param->ord);
	config.role = IW_MPA_INITIATOR;
	config.private_data = param->private_data;
	config.private_length = param->private_data_len;
	conn = iwk_conn_create(dev, &config);
	if (!conn)
		return -ENOMEM;
	kref_get(&conn->ref); /* ours, also if it ends here */
	mutex_lock(&conn->lock);
	conn->remote = cm_id->m_remote_addr;
	conn->local = cm_id->m_local_addr;
	error = open_socket(dev, conn, cm_id);
	if (!error) {
		mutex_lock(&qp->lock);
		error = connectable(qp) ? 0 : -EINVAL;
		if (!error)
			iwk_conn_join(conn, qp);
		mutex_unlock(&qp->lock);
	}
	if (error) {
		iwk_conn_finish(conn, true);
	} else {
		cm_take(conn, cm_id, IWK_CM_CONNECTING);
		iwk_conn_kick(conn);
	}
	mutex_unlock(&conn->lock);
	iwk_conn_put(conn);
	return error;
}

int iwk_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct iwk_dev *dev = iwk_dev_of(cm_id->device);
	struct iwk_qp *qp = find_qp(dev, param->qpn);
	int error;

	if (!qp)
		return -EINVAL;
	error = param->ird > IWK_READS || param->ord > IWK_READS ||
				param->private_data_len > IWK_PRIVATE
			? -EINVAL
			: connect_qp(dev, qp, cm_id, param);
	iwk_rem_ref(&qp->base);
	return error;
}

/* ---- accept and reject ---- */

/* Finds the connection of a Request, with a reference: it may be over by now. */
static struct iwk_conn *find_conn(struct iw_cm_id *cm_id)
{
	struct iwk_dev *dev = iwk_dev_of(cm_id->device);
	struct iwk_conn *conn;

	xa_lock_irq(&dev->conns);
	conn = xa_load(&dev->conns, (unsigned long)cm_id->provider_data);
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	xa_unlock_irq(&dev->conns);
	return conn;
}

static int accept_qp(struct iwk_conn *conn, struct iwk_qp *qp, const struct iw_cm_conn_param *param)
{
	struct iw_endpoint_config config;
	const u64 now = ktime_get_ns();
	int result;

	if (!connectable(qp))
		return -EINVAL;
	iwk_conn_config(&config, conn, qp, param->ird, param->ord);
	config.role = IW_MPA_RESPONDER;
	iwk_conn_report(&config, conn);
	result = iw_endpoint_remake(&conn->ep, &config, now);
	if (result != IW_OK)
		return result == IW_ERR_MEMORY	? -ENOMEM
		       : result == IW_ERR_STATE ? -ECONNRESET
						: -EINVAL;
	result = iw_endpoint_accept(conn->ep, param->private_data, param->private_data_len, now);
	if (result != IW_OK)
		return result == IW_ERR_STATE ? -ECONNRESET : -EINVAL;
	iwk_conn_join(conn, qp);
	return 0;
}

static int accept_conn(struct iwk_conn *conn, struct iw_cm_id *cm_id,
		       const struct iw_cm_conn_param *param)
{
	struct iwk_qp *qp;
	int error;

	if (conn->over || conn->cm_state != IWK_CM_REQUESTED)
		return -ECONNRESET;
	qp = find_qp(conn->dev, param->qpn);
	if (!qp)
		return -EINVAL;
	mutex_lock(&qp->lock);
	error = accept_qp(conn, qp, param);
	mutex_unlock(&qp->lock);
	iwk_rem_ref(&qp->base);
	/* iw_cm lets no second answer come. */
	iwk_listen_forget(conn);
	if (error) {
		conn->cm_state = IWK_CM_NONE;
		iwk_conn_finish(conn, true);
		return error;
	}
	cm_take(conn, cm_id, IWK_CM_ACCEPTED);
	iwk_conn_kick(conn);
	return 0;
}

int iwk_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct iwk_conn *conn = find_conn(cm_id);
	int error;

	if (!conn)
		return -ECONNRESET;
	mutex_lock(&conn->lock);
	error = accept_conn(conn, cm_id, param);
	mutex_unlock(&conn->lock);
	iwk_conn_put(conn);
	return error;
}

int iwk_reject(struct iw_cm_id *cm_id, const void *data, u8 length)
{
	struct iwk_conn *conn = find_conn(cm_id);
	int result = IW_ERR_STATE;

	if (!conn)
		return -ECONNRESET;
	mutex_lock(&conn->lock);
	if (!conn->over && conn->cm_state == IWK_CM_REQUESTED) {
		conn->cm_state = IWK_CM_NONE;
		iwk_listen_forget(conn);
		result = iw_endpoint_reject(conn->ep, data, length, ktime_get_ns());
		iwk_conn_kick(conn);
	}
	mutex_unlock(&conn->lock);
	iwk_conn_put(conn);
	return result == IW_OK ? 0 : -ECONNRESET;
}
