// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Connections: a socket, an endpoint, and what is joined to them. One work item
 * of a connection does whatever there is to do: octets in, events, completions,
 * requests, octets out. A user's doorbell does the same in its own context.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "iwk.h"

/* For connections that are made from now on. */
static bool crc = true;
module_param(crc, bool, 0644);
MODULE_PARM_DESC(crc, "Ask for CRCs (Y); N: use them if the peer asks");
static bool markers;
module_param(markers, bool, 0644);
MODULE_PARM_DESC(markers, "Ask for Markers (N)");
static bool rtr = true;
module_param(rtr, bool, 0644);
MODULE_PARM_DESC(rtr, "Ask for the peer-to-peer mode with an RTR indication (Y)");
static bool responder_first = true;
module_param(responder_first, bool, 0644);
MODULE_PARM_DESC(responder_first,
		 "A responder speaks after 10 ms if an initiator without RTR does not (Y)");

/* Time for a start-up, a program's answer included, in ns. */
#define IWK_STARTUP (60ull * NSEC_PER_SEC)
/* Time that an initiator without RTR has to speak first. */
#define IWK_SPEAK_FIRST (10ull * NSEC_PER_MSEC)
/* Turns of one service before others get theirs. */
enum { IWK_TURNS = 16 };

/* ---- the endpoint's questions ---- */

void iwk_conn_take_completions(struct iwk_conn *conn)
{
	struct iw_completion done[8];
	size_t count, i;

	while ((count = iw_endpoint_poll(conn->ep, done, ARRAY_SIZE(done))) > 0)
		for (i = 0; i < count && conn->qp; i++)
			iwk_complete(conn->qp, &done[i],
				     conn->terminated ? &conn->terminate : NULL);
}

static void want_recv(void *context)
{
	struct iwk_conn *conn = context;

	if (!conn->qp)
		return;
	/* Of one input, more messages may be whole than there is room for. */
	if (iwk_reqs_full(&conn->qp->recvs))
		iwk_conn_take_completions(conn);
	iwk_take_recv(conn->qp, conn->ep);
}

static bool do_local(void *context, u64 id)
{
	struct iwk_conn *conn = context;

	return conn->qp && iwk_do_local(conn->qp, conn->ep, id);
}

void iwk_conn_config(struct iw_endpoint_config *config, struct iwk_conn *conn, struct iwk_qp *qp,
		     u32 ird, u32 ord)
{
	iw_endpoint_config_default(config);
	config->mpa.crc = READ_ONCE(crc);
	config->mpa.markers = READ_ONCE(markers);
	config->mpa.peer_to_peer = READ_ONCE(rtr);
	config->mpa.ird = min_t(u32, ird, IWK_READS);
	config->mpa.ord = min_t(u32, ord, IWK_READS);
	config->max_reads = IWK_READS;
	config->max_sge = SIW_MAX_SGE;
	config->extensions = false;
	config->startup_timeout = IWK_STARTUP;
	config->responder_first = READ_ONCE(responder_first) ? IWK_SPEAK_FIRST : 0;
	config->context = conn;
	if (!qp) {
		/* Reads the Request and no more: it is made anew when it is accepted. */
		config->send_depth = 1;
		config->recv_depth = 1;
		config->max_reads = 1;
		config->mpa.ird = 1;
		config->mpa.ord = 1;
		return;
	}
	config->pd = iwk_pd_of(qp->base.pd)->number;
	config->withheld = iwk_qp_withheld(qp);
	config->send_depth = qp->sends.depth;
	config->recv_depth = qp->recvs.depth;
	config->want_recv = want_recv;
	config->local = do_local;
}

/* ---- their lives ---- */

static void conn_reap(struct work_struct *work)
{
	struct iwk_conn *conn = container_of(work, struct iwk_conn, reap);
	struct iwk_dev *dev = conn->dev;

	cancel_delayed_work_sync(&conn->work);
	iw_endpoint_destroy(conn->ep);
	kfree(conn);
	if (atomic_dec_and_test(&dev->conn_count))
		wake_up(&dev->conns_gone);
}

static void conn_release(struct kref *ref)
{
	struct iwk_conn *conn = container_of(ref, struct iwk_conn, ref);
	unsigned long flags;

	xa_lock_irqsave(&conn->dev->conns, flags);
	__xa_erase(&conn->dev->conns, conn->id);
	xa_unlock_irqrestore(&conn->dev->conns, flags);
	/* Perhaps its own work gives up the last reference. */
	queue_work(conn->dev->wq, &conn->reap);
}

void iwk_conn_put(struct iwk_conn *conn)
{
	kref_put(&conn->ref, conn_release);
}

void iwk_conn_kick(struct iwk_conn *conn)
{
	mod_delayed_work(conn->dev->wq, &conn->work, 0);
}

static void conn_work(struct work_struct *work)
{
	struct iwk_conn *conn = container_of(to_delayed_work(work), struct iwk_conn, work);

	mutex_lock(&conn->lock);
	iwk_conn_serve(conn);
	mutex_unlock(&conn->lock);
}

struct iwk_conn *iwk_conn_create(struct iwk_dev *dev, const struct iw_endpoint_config *config)
{
	struct iw_endpoint_config mine = *config;
	struct iwk_conn *conn;

	if (!atomic_add_unless(&dev->conn_count, 1, IWK_CONNS))
		return NULL;
	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		goto none;
	kref_init(&conn->ref);
	mutex_init(&conn->lock);
	INIT_DELAYED_WORK(&conn->work, conn_work);
	INIT_WORK(&conn->reap, conn_reap);
	conn->dev = dev;
	mine.context = conn;
	iwk_switches_copy(dev, &conn->switches);
	iwk_conn_report(&mine, conn);
	if (iw_endpoint_create(dev->domain, &mine, ktime_get_ns(), &conn->ep) != IW_OK)
		goto free;
	if (xa_alloc_cyclic_irq(&dev->conns, &conn->id, conn, XA_LIMIT(1, INT_MAX), &dev->next_conn,
				GFP_KERNEL) < 0)
		goto destroy;
	atomic64_inc(&dev->counts[IWK_COUNT_CONNS]);
	return conn;
destroy:
	iw_endpoint_destroy(conn->ep);
free:
	kfree(conn);
none:
	if (atomic_dec_and_test(&dev->conn_count))
		wake_up(&dev->conns_gone);
	return NULL;
}

/* Needs the locks of both. */
void iwk_conn_join(struct iwk_conn *conn, struct iwk_qp *qp)
{
	unsigned long flags;

	kref_get(&qp->ref);
	kref_get(&conn->ref);
	conn->qp = qp;
	spin_lock_irqsave(&qp->conn_lock, flags);
	qp->conn = conn;
	spin_unlock_irqrestore(&qp->conn_lock, flags);
}

/* ---- service ---- */

static void take_event(struct iwk_conn *conn, const struct iw_event *event, u64 now)
{
	switch (event->kind) {
	case IW_EVENT_REQUEST:
		if (!iwk_listen_request(conn))
			iw_endpoint_abort(conn->ep, false, 0, now);
		break;
	case IW_EVENT_ESTABLISHED:
		if (conn->qp && conn->qp->state != IB_QPS_ERR)
			WRITE_ONCE(conn->qp->state, IB_QPS_RTS);
		iwk_cm_event(conn,
			     conn->cm_state == IWK_CM_CONNECTING ? IW_CM_EVENT_CONNECT_REPLY
								 : IW_CM_EVENT_ESTABLISHED,
			     0);
		break;
	case IW_EVENT_REJECTED:
		iwk_cm_event(conn, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
		break;
	case IW_EVENT_TERMINATED:
		conn->terminated = true;
		conn->terminate = event->terminate;
		fallthrough;
	case IW_EVENT_FAULT:
		if (conn->qp)
			iwk_qp_fail(conn->qp, true);
		break;
	case IW_EVENT_PEER_CLOSED:
		iw_endpoint_shutdown(conn->ep, now);
		break;
	case IW_EVENT_CLOSED:
		if (conn->qp)
			iwk_qp_fail(conn->qp, false);
		break;
	default:
		break;
	}
}

/* Returns whether there was anything. */
static bool take_all(struct iwk_conn *conn, u64 now)
{
	struct iw_event event;
	bool any = false;

	while (iw_endpoint_event(conn->ep, &event)) {
		take_event(conn, &event, now);
		any = true;
	}
	iwk_conn_take_completions(conn);
	if (!conn->qp)
		return any;
	if (conn->qp->state == IB_QPS_RTS || conn->qp->state == IB_QPS_SQD)
		any |= iwk_take_sends(conn->qp, conn->ep, now);
	iwk_flush(conn->qp, true);
	return any;
}

static void send_fin(struct iwk_conn *conn, u64 now)
{
	kernel_sock_shutdown(conn->sock, SHUT_WR);
	conn->fin_sent = true;
	iw_endpoint_fin_sent(conn->ep, now);
}

/* Has the endpoint make output, which stays there. Returns whether there is some. */
static bool prepare_output(struct iwk_conn *conn, u64 now)
{
	const struct iw_iov *pieces;

	if (!iw_endpoint_output(conn->ep, &pieces, now))
		return false;
	iw_endpoint_sent(conn->ep, 0, now);
	return true;
}

/* Returns whether the connection is to go now, and how. */
static bool is_over(struct iwk_conn *conn, u64 now, bool *reset)
{
	enum iw_want want = iw_endpoint_want(conn->ep);
	const bool drained = want != IW_WANT_NOTHING && !prepare_output(conn, now);

	if (want == IW_WANT_FIN && drained && !conn->fin_sent && !conn->connecting &&
	    !conn->write_broken) {
		send_fin(conn, now);
		want = iw_endpoint_want(conn->ep);
	}
	*reset = want != IW_WANT_CLOSE;
	return conn->lost || (drained && (want == IW_WANT_RESET || want == IW_WANT_CLOSE));
}

static void arm_timer(struct iwk_conn *conn)
{
	const u64 deadline = iw_endpoint_deadline(conn->ep), now = ktime_get_ns();

	if (deadline == U64_MAX)
		return;
	/* A kick that has come meanwhile stays. */
	queue_delayed_work(conn->dev->wq, &conn->work,
			   deadline <= now ? 0 : nsecs_to_jiffies(deadline - now) + 1);
}

static void tick(struct iwk_conn *conn, u64 now)
{
	if (now < iw_endpoint_deadline(conn->ep))
		return;
	if (conn->connecting)
		iwk_socket_lose(conn, -ETIMEDOUT);
	else
		iw_endpoint_tick(conn->ep, now);
}

/* Returns whether something is left to do. */
static bool turn(struct iwk_conn *conn)
{
	const u64 now = ktime_get_ns();
	bool more;

	if (conn->connecting)
		iwk_socket_progress(conn);
	more = !conn->connecting && !conn->read_done && iwk_socket_receive(conn);
	tick(conn, now);
	more |= take_all(conn, now);
	more |= iwk_socket_send(conn);
	if (conn->qp && conn->qp->local_done) {
		conn->qp->local_done = false;
		more = true;
	}
	return more;
}

void iwk_conn_serve(struct iwk_conn *conn)
{
	struct iwk_qp *qp = conn->qp;
	bool more = true, over = false, reset = false;
	int i;

	if (conn->over)
		return;
	if (qp)
		mutex_lock(&qp->lock);
	for (i = 0; i < IWK_TURNS && more && !over; i++) {
		more = turn(conn);
		over = is_over(conn, ktime_get_ns(), &reset);
	}
	while (over && take_all(conn, ktime_get_ns()))
		; /* each event comes once */
	if (qp)
		mutex_unlock(&qp->lock);
	if (over) {
		iwk_conn_finish(conn, reset);
		return;
	}
	if (more)
		iwk_conn_kick(conn);
	arm_timer(conn);
}

void iwk_conn_run(struct iwk_conn *conn)
{
	if (!mutex_trylock(&conn->lock)) {
		iwk_conn_kick(conn);
		return;
	}
	iwk_conn_serve(conn);
	mutex_unlock(&conn->lock);
}
