// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* iw_cm's listeners, and the connections that come to them. */
#include <linux/slab.h>
#include <net/tcp.h>

#include "iwk.h"

/* Requests that wait for a program, if it does not say how many. */
enum { IWK_BACKLOG = 128, IWK_BACKLOG_MOST = 1024 };

static void listener_release(struct kref *ref)
{
	kfree(container_of(ref, struct iwk_listener, ref));
}

static void listener_put(struct iwk_listener *l)
{
	kref_put(&l->ref, listener_release);
}

/* A socket that is accepted inherits this; it does not listen. */
static void listener_ready(struct sock *sk)
{
	struct iwk_listener *l;

	read_lock_bh(&sk->sk_callback_lock);
	l = sk->sk_user_data;
	if (l && sk->sk_state == TCP_LISTEN)
		queue_work(l->dev->wq, &l->work);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* ---- connections that come ---- */

static void admit(struct iwk_listener *l, struct socket *sock)
{
	struct iw_endpoint_config config;
	struct sock *sk = sock->sk;
	struct iwk_conn *conn;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = l->data_ready;
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	iwk_conn_config(&config, NULL, NULL, 1, 1);
	config.role = IW_MPA_RESPONDER;
	conn = iwk_conn_create(l->dev, &config);
	if (!conn) {
		sock_no_linger(sk);
		sock_release(sock);
		return;
	}
	mutex_lock(&conn->lock);
	kref_get(&l->ref);
	conn->listener = l;
	atomic_inc(&l->waiting);
	iwk_socket_attach(conn, sock);
	iwk_conn_kick(conn); /* octets may have come already */
	mutex_unlock(&conn->lock);
}

static void listener_work(struct work_struct *work)
{
	struct iwk_listener *l = container_of(work, struct iwk_listener, work);
	struct socket *sock;

	while (atomic_read(&l->waiting) < l->backlog && !kernel_accept(l->sock, &sock, O_NONBLOCK))
		admit(l, sock);
}

void iwk_listen_forget(struct iwk_conn *conn)
{
	struct iwk_listener *l = conn->listener;

	if (!l)
		return;
	conn->listener = NULL;
	atomic_dec(&l->waiting);
	mutex_lock(&l->lock);
	if (!l->over)
		queue_work(l->dev->wq, &l->work);
	mutex_unlock(&l->lock);
	listener_put(l);
}

bool iwk_listen_request(struct iwk_conn *conn)
{
	const struct iw_mpa_agreed *asked = iw_endpoint_requested(conn->ep);
	struct iwk_listener *l = conn->listener;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = conn->local,
		.remote_addr = conn->remote,
		/* A number: iw_cm may drop the event, and nobody would drop a reference. */
		.provider_data = (void *)(unsigned long)conn->id,
	};
	const u8 *data;
	bool taken;

	if (!l)
		return false;
	event.private_data_len = min_t(size_t, IWK_PRIVATE, iw_endpoint_private(conn->ep, &data));
	event.private_data = (void *)(uintptr_t)data;
	/* What is not stated is left to the programs. */
	event.ird = asked && asked->enhanced ? min_t(u16, asked->peer_ird, IWK_READS) : IWK_READS;
	event.ord = asked && asked->enhanced ? min_t(u16, asked->peer_ord, IWK_READS) : IWK_READS;
	mutex_lock(&l->lock);
	if (!l->over)
		conn->cm_state = IWK_CM_REQUESTED;
	taken = !l->over && !l->cm_id->event_handler(l->cm_id, &event);
	mutex_unlock(&l->lock);
	return taken;
}

/* ---- listeners ---- */

static bool any_address(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

static int listener_open(struct iwk_listener *l, int backlog)
{
	struct sockaddr *local = (struct sockaddr *)&l->cm_id->m_local_addr;
	struct sock *sk;
	int error;

	error = iwk_socket_make(l->dev, local, &l->sock);
	if (error)
		return error;
	sk = l->sock->sk;
	/* Of all addresses, those of this device: others have listeners of their own. */
	if (any_address(local))
		sk->sk_bound_dev_if = l->dev->netdev->ifindex;
	if (local->sa_family == AF_INET6 && l->cm_id->afonly)
		sk->sk_ipv6only = true;
	error = kernel_bind(l->sock, local, iwk_sockaddr_length(local));
	if (!error) {
		write_lock_bh(&sk->sk_callback_lock);
		l->data_ready = sk->sk_data_ready;
		sk->sk_user_data = l;
		sk->sk_data_ready = listener_ready;
		write_unlock_bh(&sk->sk_callback_lock);
		error = kernel_listen(l->sock, backlog);
	}
	return error;
}

static void listener_close(struct iwk_listener *l)
{
	struct sock *sk;

	if (!l->sock)
		return;
	sk = l->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	if (l->data_ready)
		sk->sk_data_ready = l->data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	cancel_work_sync(&l->work);
	sock_release(l->sock);
	l->sock = NULL;
}

int iwk_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct iwk_listener *l = kzalloc(sizeof(*l), GFP_KERNEL);
	int error;

	if (!l)
		return -ENOMEM;
	kref_init(&l->ref);
	mutex_init(&l->lock);
	INIT_WORK(&l->work, listener_work);
	l->dev = iwk_dev_of(cm_id->device);
	l->cm_id = cm_id;
	/* A program's few are Requests, which ucma counts; strangers send none. */
	l->backlog = clamp(backlog, IWK_BACKLOG, IWK_BACKLOG_MOST);
	error = listener_open(l, l->backlog);
	if (error) {
		listener_close(l);
		listener_put(l);
		return error;
	}
	cm_id->add_ref(cm_id);
	cm_id->provider_data = l;
	return 0;
}

/* Ends the connections that nobody has answered, and now nobody will. */
static void end_waiting(struct iwk_listener *l)
{
	struct iwk_dev *dev = l->dev;
	struct iwk_conn *conn;
	unsigned long id;
	bool mine;

	for (id = 0;; id++) {
		xa_lock_irq(&dev->conns);
		conn = xa_find(&dev->conns, &id, ULONG_MAX, XA_PRESENT);
		mine = conn && READ_ONCE(conn->listener) == l && kref_get_unless_zero(&conn->ref);
		xa_unlock_irq(&dev->conns);
		if (!conn)
			return;
		if (!mine)
			continue;
		mutex_lock(&conn->lock);
		mine = conn->listener == l;
		mutex_unlock(&conn->lock);
		if (mine)
			iwk_conn_abort(conn);
		iwk_conn_put(conn);
	}
}

int iwk_destroy_listen(struct iw_cm_id *cm_id)
{
	struct iwk_listener *l = cm_id->provider_data;

	if (!l)
		return 0;
	cm_id->provider_data = NULL;
	mutex_lock(&l->lock);
	l->over = true;
	mutex_unlock(&l->lock);
	listener_close(l);
	end_waiting(l);
	mutex_lock(&l->lock);
	l->cm_id = NULL;
	mutex_unlock(&l->lock);
	cm_id->rem_ref(cm_id);
	listener_put(l);
	return 0;
}
