// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A connection's TCP socket: its callbacks, octets in, octets out. */
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#include "iwk.h"

/* Octets taken at a time before anything else is done. */
#define IWK_INPUT (256u * 1024)

static_assert(sizeof(struct iw_iov) == sizeof(struct kvec) &&
	      offsetof(struct iw_iov, length) == offsetof(struct kvec, iov_len));

/* ---- callbacks: they wake the connection's work, and TCP goes on ---- */

static void state_change(struct sock *sk)
{
	void (*next)(struct sock * sk) = NULL;
	struct iwk_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn) {
		next = conn->state_change;
		iwk_conn_kick(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (next)
		next(sk);
}

static void data_ready(struct sock *sk)
{
	struct iwk_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn)
		iwk_conn_kick(conn);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void write_space(struct sock *sk)
{
	void (*next)(struct sock * sk) = NULL;
	struct iwk_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn) {
		next = conn->write_space;
		if (sk_stream_is_writeable(sk))
			iwk_conn_kick(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (next)
		next(sk);
}

static void error_report(struct sock *sk)
{
	void (*next)(struct sock * sk) = NULL;
	struct iwk_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn) {
		next = conn->error_report;
		iwk_conn_kick(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (next)
		next(sk);
}

/* ---- sockets ---- */

size_t iwk_sockaddr_length(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

int iwk_socket_make(struct iwk_dev *dev, const struct sockaddr *local, struct socket **out)
{
	struct socket *sock;
	int error;

	if (local->sa_family != AF_INET && local->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	error = sock_create_kern(dev_net(dev->netdev), local->sa_family, SOCK_STREAM, IPPROTO_TCP,
				 &sock);
	if (error)
		return error;
	sock_set_reuseaddr(sock->sk);
	*out = sock;
	return 0;
}

int iwk_socket_attach(struct iwk_conn *conn, struct socket *sock)
{
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	conn->sock = sock;
	conn->connecting = true;
	write_lock_bh(&sk->sk_callback_lock);
	conn->state_change = sk->sk_state_change;
	conn->data_ready = sk->sk_data_ready;
	conn->write_space = sk->sk_write_space;
	conn->error_report = sk->sk_error_report;
	sk->sk_user_data = conn;
	sk->sk_state_change = state_change;
	sk->sk_data_ready = data_ready;
	sk->sk_write_space = write_space;
	sk->sk_error_report = error_report;
	write_unlock_bh(&sk->sk_callback_lock);
	return 0;
}

void iwk_socket_close(struct iwk_conn *conn, bool reset)
{
	struct sock *sk;

	if (!conn->sock)
		return;
	sk = conn->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_state_change = conn->state_change;
	sk->sk_data_ready = conn->data_ready;
	sk->sk_write_space = conn->write_space;
	sk->sk_error_report = conn->error_report;
	write_unlock_bh(&sk->sk_callback_lock);
	if (reset)
		sock_no_linger(sk);
	sock_release(conn->sock);
	conn->sock = NULL;
}

void iwk_socket_lose(struct iwk_conn *conn, int error)
{
	if (conn->lost)
		return;
	conn->lost = true;
	conn->read_done = true;
	conn->write_broken = true;
	if (!conn->error)
		conn->error = error;
	iw_endpoint_input_end(conn->ep, false, ktime_get_ns());
}

void iwk_socket_progress(struct iwk_conn *conn)
{
	struct sock *sk = conn->sock->sk;
	const int state = inet_sk_state_load(sk);
	int error;

	if (state == TCP_CLOSE) {
		error = sock_error(sk);
		iwk_socket_lose(conn, error ? error : -ECONNREFUSED);
	} else if (state != TCP_SYN_SENT && state != TCP_SYN_RECV) {
		conn->connecting = false;
		kernel_getsockname(conn->sock, (struct sockaddr *)&conn->local);
		kernel_getpeername(conn->sock, (struct sockaddr *)&conn->remote);
	}
}

/* ---- octets in ---- */

struct feed {
	struct iwk_conn *conn;
	unsigned int count;
	struct iw_iov pieces[16];
};

static void feed_endpoint(struct feed *f)
{
	if (f->count)
		iw_endpoint_input(f->conn->ep, f->pieces, f->count, ktime_get_ns());
	f->count = 0;
}

static void feed_piece(struct feed *f, void *at, size_t length)
{
	f->pieces[f->count++] = (struct iw_iov){ at, length };
	if (f->count == ARRAY_SIZE(f->pieces))
		feed_endpoint(f);
}

/* The part of a piece of `size` octets at `start` that [*offset, *offset + *left) has. */
static void feed_part(struct feed *f, u8 *at, size_t start, size_t size, size_t *offset,
		      size_t *left)
{
	size_t within, length;

	if (!*left || *offset >= start + size)
		return;
	within = *offset - start;
	length = min(size - within, *left);
	feed_piece(f, at + within, length);
	*offset += length;
	*left -= length;
}

/* Hands over octets as they lie, those of the fragments and of GRO's list, too. */
static void feed_skb(struct feed *f, struct sk_buff *skb, size_t offset, size_t left)
{
	size_t start = skb_headlen(skb);
	struct sk_buff *next;
	int i;

	feed_part(f, skb->data, 0, start, &offset, &left);
	for (i = 0; left && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		feed_part(f, skb_frag_address(frag), start, skb_frag_size(frag), &offset, &left);
		start += skb_frag_size(frag);
	}
	if (!left)
		return;
	skb_walk_frags (skb, next) {
		size_t part = 0;

		if (offset < start + next->len)
			part = min(next->len - (offset - start), left);
		if (part)
			feed_skb(f, next, offset - start, part);
		offset += part;
		left -= part;
		start += next->len;
		if (!left)
			return;
	}
}

static int take_octets(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
		       size_t length)
{
	struct feed f = { .conn = desc->arg.data };

	length = min(length, desc->count);
	feed_skb(&f, skb, offset, length);
	feed_endpoint(&f);
	desc->count -= length;
	return length;
}

static void end_input(struct iwk_conn *conn, int error, bool ended)
{
	if (error || conn->write_broken) {
		iwk_socket_lose(conn, error ? error : conn->error);
	} else if (ended) {
		conn->read_done = true;
		iw_endpoint_input_end(conn->ep, true, ktime_get_ns());
	}
}

bool iwk_socket_receive(struct iwk_conn *conn)
{
	read_descriptor_t desc = { .arg.data = conn, .count = IWK_INPUT };
	struct sock *sk = conn->sock->sk;
	bool ended;
	int error;

	lock_sock(sk);
	tcp_read_sock(sk, &desc, take_octets);
	ended = sk->sk_shutdown & RCV_SHUTDOWN || sk->sk_state == TCP_CLOSE;
	release_sock(sk);
	if (!desc.count)
		return true;
	error = ended ? sock_error(sk) : 0;
	if (ended)
		end_input(conn, error, ended);
	return false;
}

/* ---- octets out ---- */

static size_t total_of(const struct iw_iov *pieces, size_t count)
{
	size_t total = 0, i;

	for (i = 0; i < count; i++)
		total += pieces[i].length;
	return total;
}

/* MSG_EOR: the next write begins a segment (RFC 5044 section 5.1). */
static int send_list(struct iwk_conn *conn, const struct iw_iov *pieces, size_t count)
{
	struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR };

	return kernel_sendmsg(conn->sock, &message, (struct kvec *)(uintptr_t)pieces, count,
			      total_of(pieces, count));
}

/*
 * A failed send: octets that the peer sent before it went, a Terminate perhaps,
 * can still be read; a peer that has not gone would be waited for in vain.
 */
static void break_write(struct iwk_conn *conn, int error)
{
	conn->write_broken = true;
	conn->error = error;
	if (conn->read_done || (error != -EPIPE && error != -ECONNRESET))
		iwk_socket_lose(conn, error);
}

bool iwk_socket_send(struct iwk_conn *conn)
{
	struct sock *sk = conn->sock->sk;
	const struct iw_iov *pieces;
	bool any = false;
	size_t count;
	int n;

	if (conn->stalled && sk_stream_is_writeable(sk))
		conn->stalled = false;
	while (!conn->stalled && !conn->write_broken && !conn->connecting &&
	       !iw_endpoint_quiet(conn->ep)) {
		const u64 now = ktime_get_ns();

		if (!iw_endpoint_idle(conn->ep))
			iw_endpoint_set_emss(conn->ep, tcp_sk(sk)->mss_cache);
		count = iw_endpoint_output(conn->ep, &pieces, now);
		if (!count)
			break;
		n = send_list(conn, pieces, count);
		iw_endpoint_sent(conn->ep, n > 0 ? n : 0, now);
		any |= n > 0;
		if (n == -EAGAIN)
			conn->stalled = true;
		else if (n < 0)
			break_write(conn, n);
	}
	return any;
}
