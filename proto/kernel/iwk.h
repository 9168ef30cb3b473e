/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef IWK_H
#define IWK_H

/*
 * The objects of the driver. Names begin with iwk_ and not with iw_, which the
 * kernel's own connection manager and wireless extensions use.
 *
 * Locks, outer ones first: conn->lock, listener->lock, qp->lock, TCP's lock of
 * the socket, dev->domain_lock; then spin locks, none of which is held while
 * another one is taken. A queue pair's requests are the endpoint's business:
 * whoever serves a connection holds the connection's lock and its queue pair's.
 */

#include <linux/etherdevice.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/siw-abi.h>

#include "iwarp/endpoint_transport.h"

enum {
	IWK_QPS = 16384,
	IWK_CQS = 65536,
	IWK_SRQS = 16384,
	IWK_WR = 16384, /* requests of a queue */
	IWK_CQE = 1 << 20,
	IWK_MRS = 16384,
	IWK_FAST_PAGES = 256, /* of a fast registration */
	IWK_READS = 128,      /* IRD and ORD */
	IWK_RECVS = 64,	      /* that an endpoint holds at a time */
	IWK_BUFFERS = 256,    /* of the domain: two for a connection that is busy */
	IWK_CONNS = 4096,     /* of a device, those being closed included */
	IWK_PRIVATE = 255     /* octets that iw_cm's events have room for */
};

struct iwk_dev;

/* What is counted, beside the faults of each check. */
enum iwk_count {
	IWK_COUNT_CONNS,
	IWK_COUNT_TERMINATES_IN,
	IWK_COUNT_TERMINATES_OUT,
	IWK_COUNT_FAULTS_MPA,
	IWK_COUNT_FAULTS_DDP,
	IWK_COUNT_FAULTS_RDMAP,
	IWK_COUNTS
};

/* A file of debugfs, with the switches of one kind. */
struct iwk_switch_file {
	struct iwk_dev *dev;
	enum iw_switch kind;
};

struct iwk_dev {
	struct ib_device base;
	struct net_device *netdev;
	struct iw_domain *domain;
	struct mutex domain_lock; /* the core's */
	struct workqueue_struct *wq;
	struct xarray qps;   /* by number */
	struct xarray mrs;   /* by the upper 24 bits of the STag */
	struct xarray conns; /* by number; holds no reference */
	u32 next_qp, next_conn;
	atomic_t conn_count, pds, cqs, srqs, cq_ids;
	wait_queue_head_t conns_gone;
	u8 gid[ETH_ALEN];
	bool netdev_gone;
	struct list_head entry;
	struct mutex switches_lock;  /* switches */
	struct iw_switches switches; /* of connections that are made from now on */
	struct iwk_switch_file switch_files[IW_SWITCH_BOTCH + 1];
	struct dentry *debug;
	atomic64_t counts[IWK_COUNTS];
	atomic64_t faults[IW_CHECK_COUNT]; /* of peers */
};

/* Memory that stays pinned and mapped as long as somebody uses it. */
struct iwk_mem {
	struct kref ref;
	struct ib_umem *umem;
	void *mapped; /* by vmap; NULL: it is contiguous anyway */
	u8 *base;
	u64 length;
};

struct iwk_mr {
	struct ib_mr base;
	struct iwk_dev *dev;
	u32 stag; /* as it is registered now */
	struct iwk_mem *mem;
	u64 *pages; /* fast registration: kernel addresses */
	u32 max_pages, num_pages;
};

struct iwk_pd {
	struct ib_pd base;
	u32 number; /* of the core */
};

struct iwk_ucontext {
	struct ib_ucontext base;
};

struct iwk_mmap {
	struct rdma_user_mmap_entry base;
	void *memory;
};

struct iwk_cq {
	struct ib_cq base;
	spinlock_t lock; /* put, get, overrun */
	struct siw_cqe *queue;
	struct siw_cq_ctrl *ctrl; /* after the last entry */
	u32 num_cqe, put, get;
	bool user, overrun;
	struct rdma_user_mmap_entry *entry;
};

struct iwk_srq {
	struct ib_srq base;
	spinlock_t lock; /* get, limit, armed; put of the kernel */
	struct siw_rqe *queue;
	u32 num_rqe, put, get;
	u32 max_wr, max_sge, limit;
	bool user, armed;
	struct rdma_user_mmap_entry *entry;
};

/* A request that the endpoint has. */
struct iwk_req {
	u64 wr_id;
	u8 opcode; /* enum siw_opcode */
	u8 key;	   /* fast registration: the consumer's part of the STag */
	bool signaled;
	bool unposted;		  /* the connection was over: to be flushed in its turn */
	enum ib_wc_status status; /* of local work that failed; else success */
	u32 length;
	u32 stag; /* to be invalidated after a Read, or by local work */
	u32 access;
	struct iwk_mr *mr; /* fast registration */
	u8 uses;	   /* mems that it holds */
	union {
		struct iwk_mem *mems[SIW_MAX_SGE];
		u8 octets[SIW_MAX_INLINE];
	};
};

/* Requests in posting order; the counters grow for ever. */
struct iwk_reqs {
	struct iwk_req *reqs;
	u32 depth;
	u64 head, tail;
};

struct iwk_conn;

struct iwk_qp {
	struct ib_qp base;
	struct iwk_dev *dev;
	struct kref ref;
	struct completion gone;
	struct mutex lock; /* state, access, sends, recvs, sq_get, rq_get */
	enum ib_qp_state state;
	u32 access;
	bool user, sig_all;
	struct ib_qp_cap cap;
	struct iwk_cq *send_cq, *recv_cq;
	struct iwk_srq *srq;
	spinlock_t sq_lock, rq_lock; /* the kernel's posts: sq_put, rq_put */
	struct siw_sqe *sq;
	struct siw_rqe *rq; /* NULL with a shared receive queue */
	u32 num_sqe, num_rqe;
	u32 sq_put, rq_put, sq_get, rq_get;
	struct iwk_reqs sends, recvs;
	bool local_due;	 /* the endpoint has local work: nothing after it is taken */
	bool local_done; /* something may be taken again */
	struct rdma_user_mmap_entry *sq_entry, *rq_entry;
	spinlock_t conn_lock; /* conn, also for posts in atomic context */
	struct iwk_conn *conn;
	struct delayed_work flush;
	unsigned long flush_delay; /* in jiffies */
};

struct iwk_listener {
	struct kref ref;
	struct iwk_dev *dev;
	struct mutex lock; /* cm_id, over */
	struct iw_cm_id *cm_id;
	bool over;
	struct socket *sock;
	struct work_struct work;
	atomic_t waiting; /* connections that no program has answered */
	int backlog;
	void (*data_ready)(struct sock *sk);
};

/* What iw_cm knows of a connection: its events have an order that it insists on. */
enum iwk_cm_state {
	IWK_CM_NONE,	   /* nothing, or no more */
	IWK_CM_CONNECTING, /* awaits CONNECT_REPLY */
	IWK_CM_REQUESTED,  /* has been handed a CONNECT_REQUEST */
	IWK_CM_ACCEPTED,   /* awaits ESTABLISHED */
	IWK_CM_UP	   /* awaits CLOSE */
};

struct iwk_conn {
	struct kref ref;
	struct iwk_dev *dev;
	u32 id;
	struct mutex lock; /* everything here but the callbacks */
	struct delayed_work work;
	struct work_struct reap;
	struct socket *sock; /* NULL once it is closed */
	struct iw_endpoint *ep;
	struct iwk_qp *qp;
	struct iw_cm_id *cm_id;
	struct iwk_listener *listener; /* of a connection that nobody has answered */
	struct iw_switches switches;
	enum iwk_cm_state cm_state;
	bool connecting, read_done, write_broken, lost, fin_sent, stalled;
	bool over;	 /* the socket is closed */
	bool terminated; /* the peer's Terminate has come */
	int error;
	struct iw_rdmap_terminate terminate;
	struct sockaddr_storage local, remote;
	void (*state_change)(struct sock *sk);
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

static inline struct iwk_dev *iwk_dev_of(struct ib_device *base)
{
	return container_of(base, struct iwk_dev, base);
}

static inline struct iwk_pd *iwk_pd_of(struct ib_pd *base)
{
	return container_of(base, struct iwk_pd, base);
}

static inline struct iwk_qp *iwk_qp_of(struct ib_qp *base)
{
	return container_of(base, struct iwk_qp, base);
}

static inline struct iwk_cq *iwk_cq_of(struct ib_cq *base)
{
	return container_of(base, struct iwk_cq, base);
}

static inline struct iwk_srq *iwk_srq_of(struct ib_srq *base)
{
	return container_of(base, struct iwk_srq, base);
}

static inline struct iwk_req *iwk_req_at(struct iwk_reqs *r, u64 position)
{
	u32 index;

	div_u64_rem(position, r->depth, &index);
	return &r->reqs[index];
}

static inline bool iwk_reqs_full(const struct iwk_reqs *r)
{
	return r->tail - r->head >= r->depth;
}

/* iwk_env.c: what the core asks of its surroundings. */
int iwk_env_make_domain(struct iwk_dev *dev);

/* iwk_switches.c */
void iwk_debug_init(void);
void iwk_debug_exit(void);
/* Makes the device's files, once it has a name. */
int iwk_enable_driver(struct ib_device *base);
void iwk_switches_copy(struct iwk_dev *dev, struct iw_switches *out);

/* iwk_counters.c */
struct rdma_hw_stats *iwk_alloc_hw_port_stats(struct ib_device *base, u32 port);
int iwk_get_hw_stats(struct ib_device *base, struct rdma_hw_stats *stats, u32 port, int index);
/* Gives the endpoint the connection's switches, and has it report what is counted and traced. */
void iwk_conn_report(struct iw_endpoint_config *config, struct iwk_conn *conn);

/* iwk_memory.c */
u32 iwk_rights(int access);
int iwk_alloc_pd(struct ib_pd *base, struct ib_udata *udata);
int iwk_dealloc_pd(struct ib_pd *base, struct ib_udata *udata);
struct ib_mr *iwk_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *iwk_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      struct ib_udata *udata);
struct ib_mr *iwk_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg);
int iwk_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents, unsigned int *offset);
int iwk_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
/*
 * Carries out a fast registration in its turn, for one stream, whose peer may
 * invalidate it. Returns false if it must not be.
 */
bool iwk_mr_register(struct iwk_mr *mr, u8 key, u32 access, u64 stream);
/*
 * Finds the memory of a piece of a list: the right STag of the protection
 * domain, within its bounds, writable if `writes`. Takes a reference to *mem.
 * Returns false, and takes none, if it is wrong.
 */
bool iwk_mem_find(struct iwk_dev *dev, u32 pd, const struct siw_sge *sge, bool writes,
		  struct iw_iov *out, struct iwk_mem **mem);
void iwk_mem_put(struct iwk_mem *mem);

/* iwk_cq.c */
struct iwk_done {
	u64 wr_id;
	u8 opcode; /* enum siw_opcode */
	enum ib_wc_status status;
	u32 length;
	bool solicited;
	bool invalidated;
	u32 stag;
};
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
int iwk_create_cq(struct ib_cq *base, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
#else
int iwk_create_cq(struct ib_cq *base, const struct ib_cq_init_attr *attr, struct ib_udata *udata);
#endif
int iwk_destroy_cq(struct ib_cq *base, struct ib_udata *udata);
int iwk_poll_cq(struct ib_cq *base, int room, struct ib_wc *wc);
int iwk_req_notify_cq(struct ib_cq *base, enum ib_cq_notify_flags flags);
void iwk_cq_push(struct iwk_cq *cq, struct iwk_qp *qp, const struct iwk_done *done);

/* iwk_srq.c */
int iwk_create_srq(struct ib_srq *base, struct ib_srq_init_attr *init, struct ib_udata *udata);
int iwk_modify_srq(struct ib_srq *base, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata);
int iwk_query_srq(struct ib_srq *base, struct ib_srq_attr *attr);
int iwk_destroy_srq(struct ib_srq *base, struct ib_udata *udata);
int iwk_post_srq_recv(struct ib_srq *base, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);
/* Takes the oldest receive. Returns false if there is none. */
bool iwk_srq_take(struct iwk_srq *srq, struct siw_rqe *out);

/* iwk_qp.c */
int iwk_create_qp(struct ib_qp *base, struct ib_qp_init_attr *init, struct ib_udata *udata);
int iwk_modify_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int iwk_query_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int iwk_destroy_qp(struct ib_qp *base, struct ib_udata *udata);
void iwk_add_ref(struct ib_qp *base);
void iwk_rem_ref(struct ib_qp *base);
struct ib_qp *iwk_get_qp(struct ib_device *base, int number);
/* Rights (IW_ACCESS_*) that the queue pair does not give its peer. */
u32 iwk_qp_withheld(const struct iwk_qp *qp);
/* Moves to the error state, and reports it if it is the fault of somebody. Needs its lock. */
void iwk_qp_fail(struct iwk_qp *qp, bool fault);
/* Returns its connection with a reference, or NULL. */
struct iwk_conn *iwk_qp_conn_get(struct iwk_qp *qp);
/* Gets something done about what has been posted, in any context. */
void iwk_qp_kick(struct iwk_qp *qp);

/* iwk_post.c: requests of the kernel; a user's doorbell. */
int iwk_post_send(struct ib_qp *base, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int iwk_post_recv(struct ib_qp *base, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
/* Fills in an entry. Returns a negative errno if there are too many pieces. */
int iwk_fill_rqe(struct siw_rqe *rqe, const struct ib_recv_wr *wr, u32 max_sge);

/* iwk_requests.c: from the rings to the endpoint. All need the queue pair's lock. */
/* Gives the endpoint what has been posted. Returns whether it got anything. */
bool iwk_take_sends(struct iwk_qp *qp, struct iw_endpoint *ep, u64 now);
/* Gives the endpoint one receive, if there is one. */
void iwk_take_recv(struct iwk_qp *qp, struct iw_endpoint *ep);
/* Local work of the endpoint: fast registration, invalidation, requests that are wrong. */
bool iwk_do_local(struct iwk_qp *qp, struct iw_endpoint *ep, u64 id);
/* Takes the next entry of the receive queue. Returns false if there is none. */
bool iwk_rq_take(struct iwk_qp *qp, struct siw_rqe *out);
bool iwk_sq_take(struct iwk_qp *qp, struct siw_sqe *out);
void iwk_req_drop(struct iwk_req *r);

/* iwk_complete.c: all need the queue pair's lock. */
void iwk_complete(struct iwk_qp *qp, const struct iw_completion *done,
		  const struct iw_rdmap_terminate *terminate);
/* Flushes the requests that no endpoint has; of one in error also what is in the rings. */
void iwk_flush(struct iwk_qp *qp, bool attached);

/* iwk_conn.c */
struct iwk_conn *iwk_conn_create(struct iwk_dev *dev, const struct iw_endpoint_config *config);
void iwk_conn_config(struct iw_endpoint_config *config, struct iwk_conn *conn, struct iwk_qp *qp,
		     u32 ird, u32 ord);
void iwk_conn_put(struct iwk_conn *conn);
void iwk_conn_kick(struct iwk_conn *conn);
/* Does everything that can be done now, unless somebody else does so already. */
void iwk_conn_run(struct iwk_conn *conn);
/* The same with the connection's lock. */
void iwk_conn_serve(struct iwk_conn *conn);
void iwk_conn_join(struct iwk_conn *conn, struct iwk_qp *qp);
void iwk_conn_take_completions(struct iwk_conn *conn);

/* iwk_conn_end.c: all need the connection's lock. */
/* Parts the queue pair from it, which flushes. The queue pair's lock is not held. */
void iwk_conn_part(struct iwk_conn *conn);
/* Reports the end to iw_cm, as far as it has not been reported. */
void iwk_conn_report_end(struct iwk_conn *conn);
/* The socket goes, by a reset or as TCP has left it; so does all that is joined. */
void iwk_conn_finish(struct iwk_conn *conn, bool reset);
/* The program gives it up: nothing of its memory is touched from the return on. */
void iwk_conn_leave(struct iwk_conn *conn);
/* Takes the connection's lock itself: ends it at once. */
void iwk_conn_abort(struct iwk_conn *conn);
/* Ends all connections of a device and waits until nothing of them is left. */
void iwk_conns_end(struct iwk_dev *dev);

/* iwk_socket.c: all need the connection's lock. */
int iwk_socket_attach(struct iwk_conn *conn, struct socket *sock);
int iwk_socket_make(struct iwk_dev *dev, const struct sockaddr *local, struct socket **out);
size_t iwk_sockaddr_length(const struct sockaddr *address);
void iwk_socket_close(struct iwk_conn *conn, bool reset);
/* Returns whether more is there than was taken. */
bool iwk_socket_receive(struct iwk_conn *conn);
/* Returns whether anything was sent. */
bool iwk_socket_send(struct iwk_conn *conn);
void iwk_socket_lose(struct iwk_conn *conn, int error);
/* Has a connection been made? Loses it if it has failed. */
void iwk_socket_progress(struct iwk_conn *conn);

/* iwk_cm.c */
int iwk_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int iwk_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int iwk_reject(struct iw_cm_id *cm_id, const void *data, u8 length);
/* Reports an event of the connection to iw_cm. */
void iwk_cm_event(struct iwk_conn *conn, enum iw_cm_event_type type, int status);
void iwk_cm_drop(struct iwk_conn *conn);

/* iwk_listen.c */
int iwk_create_listen(struct iw_cm_id *cm_id, int backlog);
int iwk_destroy_listen(struct iw_cm_id *cm_id);
/* Hands a whole Request to iw_cm. Returns false if nobody listens any more. */
bool iwk_listen_request(struct iwk_conn *conn);
/* The connection is answered, or gone: another one may come. */
void iwk_listen_forget(struct iwk_conn *conn);

/* iwk_user.c */
int iwk_alloc_ucontext(struct ib_ucontext *base, struct ib_udata *udata);
void iwk_dealloc_ucontext(struct ib_ucontext *base);
int iwk_mmap(struct ib_ucontext *base, struct vm_area_struct *vma);
void iwk_mmap_free(struct rdma_user_mmap_entry *entry);
/* Lets a program map `memory`, of vmalloc_user. Returns NULL without memory. */
struct rdma_user_mmap_entry *iwk_mmap_offer(struct ib_ucontext *base, void *memory, size_t length);

#endif
