/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_OBJECTS_H
#define IW_VERBS_OBJECTS_H

/*
 * The objects of verbs. Each begins with the public struct that programs hold a pointer to, and
 * counts the objects that need it: destroying one that is in use is refused (EBUSY). All functions
 * here need the engine's lock.
 */

#include <stdatomic.h>
#include <sys/queue.h>

#include "iwarp/transport.h"
#include "verbs/abi.h"
#include "verbs/engine.h"

enum {
    IW_VERBS_SGE = 16,          /* pieces of a request */
    IW_VERBS_WR = 16384,        /* requests of a queue */
    IW_VERBS_CQE = 1 << 20,     /* entries of a completion queue */
    IW_VERBS_INLINE = 1024,     /* octets */
    IW_VERBS_INLINE_LEAST = 64, /* given to each queue pair */
    IW_VERBS_READS = 128,       /* IRD and ORD */
    IW_VERBS_QPS = 16384,       /* of the process */
    IW_VERBS_ASYNC = 1024,      /* events of a context that wait to be fetched */
    IW_VERBS_PRIVATE_DATA = 255 /* octets, by the ABI */
};

/* The device's, locally administered. */
#define IW_VERBS_OUI 0x026957u

struct iw_verbs_context {
    struct verbs_context verbs; /* verbs.context is the public one */
    unsigned uses;
    struct ibv_async_event async[IW_VERBS_ASYNC];
    unsigned async_first, async_count, async_waiters;
};

struct iw_verbs_pd {
    struct ibv_pd base;
    struct iw_verbs_pd *parent; /* of a parent domain: the one that it stands for; else NULL */
    uint32_t number;            /* of the core */
    unsigned uses;
};

struct iw_verbs_mr {
    struct ibv_mr base;
    struct iw_region region; /* as registered */
    unsigned access;         /* the program's flags */
    unsigned uses;           /* requests that name it */
    unsigned windows;        /* bound to it */
    LIST_ENTRY(iw_verbs_mr) entry;
};

struct iw_verbs_channel {
    struct ibv_comp_channel base;
    TAILQ_HEAD(, iw_verbs_cq) ready; /* queues with events that wait to be fetched */
    unsigned waiters;
};

struct iw_verbs_cq {
    struct ibv_cq_ex base;
    struct ibv_wc *entries;
    uint32_t room, first, count;
    unsigned uses;
    enum { IW_VERBS_UNARMED, IW_VERBS_SOLICITED, IW_VERBS_NEXT } armed;
    bool overrun;
    atomic_bool drained; /* the last poll took the last entry, and nothing has happened since */
    unsigned events;     /* that wait in the channel */
    unsigned reported;   /* fetched so far, to be acknowledged before the queue goes */
    unsigned async_reported;
    pthread_mutex_t polling; /* of the extended interface: held from start_poll to end_poll */
    struct ibv_wc current;   /* and the entry that it is at */
    TAILQ_ENTRY(iw_verbs_cq) ready_entry;
};

struct iw_verbs_mw {
    struct ibv_mw base;
    uint32_t stag;          /* bound or invalidated; 0: never bound */
    struct iw_verbs_mr *mr; /* that it is bound to */
    unsigned uses;          /* requests that name it */
    LIST_ENTRY(iw_verbs_mw) entry;
};

/* What a window is to become, or which one is to be invalidated. */
struct iw_verbs_binding {
    struct iw_verbs_mw *mw;
    uint32_t rkey;
    uint64_t to, length; /* 0: unbind */
    uint32_t access;     /* IW_ACCESS_* */
};

/* One request that has been posted. */
struct iw_verbs_request {
    uint64_t wr_id;
    enum ibv_wc_opcode opcode;
    bool signaled;
    bool unposted; /* of a queue pair in error: to be flushed in its turn */
    bool bad;      /* its local memory failed a check */
    uint8_t parts; /* requests of the endpoint that it is; a Write with Immediate is two */
    uint8_t sge_count;
    enum ibv_wc_status status; /* of a part that failed */
    uint32_t length;
    void *atomic_result;
    struct iw_verbs_binding binding; /* BIND_MW, LOCAL_INV */
    /* The first sge_count are valid: iw_verbs_request_begin leaves these alone. */
    struct iw_verbs_mr *mrs[IW_VERBS_SGE];
    struct iw_iov iov[IW_VERBS_SGE]; /* receives */
};

/* A ring; counters grow for ever, `given` says how many the endpoint has (receives). */
struct iw_verbs_ring {
    struct iw_verbs_request *requests;
    uint32_t depth;
    uint64_t head, given, tail;
};

struct iw_verbs_srq {
    struct ibv_srq base;
    struct iw_verbs_ring ring;
    uint32_t max_wr, max_sge, limit;
    unsigned uses;
    unsigned async_reported;
    LIST_ENTRY(iw_verbs_srq) entry;
};

struct iw_verbs_link;
struct iw_verbs_spares;

struct iw_verbs_qp {
    struct ibv_qp_ex base; /* base.qp_base is the public one */
    struct ibv_qp_init_attr init;
    unsigned access; /* the program's flags: what the peer may do */
    uint8_t max_rd_atomic, max_dest_rd_atomic;
    struct iw_verbs_ring sends, recvs;
    struct iw_verbs_spares *spares; /* NULL: none (spare_receives.h) */
    uint8_t *inline_space;          /* of the requests in `sends` */
    struct iw_verbs_link *link;     /* its connection, if it has one */
    unsigned async_reported;
    LIST_ENTRY(iw_verbs_qp) entry;
    struct iw_verbs_built *built; /* requests being built by ibv_wr_*; NULL: not asked for */
};

static inline struct iw_verbs_context *iw_verbs_context(struct ibv_context *c)
{
    return (struct iw_verbs_context *)(void *)((char *)c - offsetof(struct verbs_context, context));
}

/* device.c: the node's GUID, and the addresses of the host as GIDs. */
__be64 iw_verbs_guid(void);
/* Returns the number of GIDs; *gid is number `index` of them, if there is one. */
int iw_verbs_gid(int index, union ibv_gid *gid);

/* unsupported.c: functions of a context that return EOPNOTSUPP. */
void iw_verbs_fill_unsupported(struct verbs_context *v);

/* query.c: the functions that a context's tables name. */
int iw_verbs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                        size_t length);
int iw_verbs_query_device_ex(struct ibv_context *context,
                             const struct ibv_query_device_ex_input *input,
                             struct ibv_device_attr_ex *attr, size_t length);
int iw_verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* events.c: queues an asynchronous event. */
void iw_verbs_async(struct ibv_context *context, const struct ibv_async_event *event);
void iw_verbs_async_qp(struct iw_verbs_qp *qp, enum ibv_event_type type);
/* Drops the events of an object that goes. */
void iw_verbs_async_forget(struct ibv_context *context, const void *object);

/* memory.c */
uint32_t iw_verbs_rights(unsigned access);
uint32_t iw_verbs_pd_number(const struct ibv_pd *pd);
struct ibv_pd *iw_verbs_parent_domain(struct ibv_context *context,
                                      struct ibv_parent_domain_init_attr *attr);
struct ibv_td *iw_verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int iw_verbs_dealloc_td(struct ibv_td *td);
int iw_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
                       struct ibv_sge *sges, uint32_t count);
/* Checks a gather or scatter list against the regions it names: lkey, domain, bounds, and the right
 * to write if `writes`. Fills the request's list and regions, whose uses it counts. Returns false
 * if it is wrong; the request then names nothing. */
bool iw_verbs_take_list(struct iw_verbs_request *r, const struct ibv_pd *pd,
                        const struct ibv_sge *sges, int count, bool writes);
void iw_verbs_drop_list(struct iw_verbs_request *r);

/* window.c */
struct ibv_mw *iw_verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int iw_verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int iw_verbs_dealloc_mw(struct ibv_mw *mw);
/* Takes what a bind or an invalidation asks for. Returns an errno. */
int iw_verbs_take_binding(struct iw_verbs_request *r, const struct ibv_send_wr *wr,
                          const struct ibv_pd *pd);
/* Unbinds windows that have been invalidated. Returns whether others are bound to the region. */
bool iw_verbs_mr_unbind_invalid(struct iw_verbs_mr *mr);
/* Carries it out in its turn. Returns false if it must not be. */
bool iw_verbs_bind(struct iw_verbs_request *r, uint64_t stream);

/* cq.c */
int iw_verbs_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int iw_verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* Something has changed: the next poll has to look. */
void iw_verbs_cq_stir(struct ibv_cq *cq);
void iw_verbs_cq_push(struct ibv_cq *cq, const struct ibv_wc *wc, bool solicited);
/* Drops the entries of a queue pair. */
void iw_verbs_cq_clean(struct ibv_cq *cq, uint32_t qp_num);
/* cq_ex.c */
struct ibv_cq_ex *iw_verbs_create_cq_ex(struct ibv_context *context,
                                        struct ibv_cq_init_attr_ex *attr);

/* qp.c */
struct ibv_qp *iw_verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct iw_verbs_qp *iw_verbs_find_qp(uint32_t number);
/* Returns the rights (IW_ACCESS_*) that the queue pair does not give its peer. */
uint32_t iw_verbs_withheld(const struct iw_verbs_qp *qp);
/* Moves to the error state: leaves the connection and flushes. */
void iw_verbs_qp_error(struct iw_verbs_qp *qp);
/* Ends all queue pairs with a request that names `mr`. */
void iw_verbs_qps_without(struct iw_verbs_mr *mr);

/* srq.c: forgets `mr`; requests that name it fail when they are used. */
void iw_verbs_srqs_without(struct iw_verbs_mr *mr);
int iw_verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Moves one request to the receives of `qp`. Returns false if there is none. */
bool iw_verbs_srq_take(struct iw_verbs_srq *srq, struct iw_verbs_qp *qp);

/* ring.c */
/* Makes a request of a ring anew, without pieces. */
void iw_verbs_request_begin(struct iw_verbs_request *r, uint64_t wr_id, enum ibv_wc_opcode opcode,
                            bool signaled);
bool iw_verbs_ring_make(struct iw_verbs_ring *ring, uint32_t depth);
void iw_verbs_ring_free(struct iw_verbs_ring *ring);
static inline struct iw_verbs_request *iw_verbs_ring_at(const struct iw_verbs_ring *ring,
                                                        uint64_t position)
{
    return &ring->requests[position % ring->depth];
}
static inline bool iw_verbs_ring_full(const struct iw_verbs_ring *ring)
{
    return ring->tail - ring->head >= ring->depth;
}

/* post.c */
int iw_verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int iw_verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int iw_verbs_take_recv(struct iw_verbs_ring *ring, const struct ibv_pd *pd, uint32_t max_sge,
                       const struct ibv_recv_wr *wr);
/* Gives the endpoint the receives that it has room for. */
void iw_verbs_give_receives(struct iw_verbs_qp *qp);
/* wr.c: fills in the functions of ibv_wr_*. Returns false without memory. */
bool iw_verbs_make_built(struct iw_verbs_qp *qp);
void iw_verbs_free_built(struct iw_verbs_qp *qp);

/* complete.c */
/* Turns one completion of the endpoint into an entry of a queue. */
void iw_verbs_complete(struct iw_verbs_qp *qp, const struct iw_completion *done);
/* Flushes what no endpoint has. */
void iw_verbs_flush(struct iw_verbs_qp *qp);
/* status.c: the status of a request that has ended: by the peer's Terminate, if there is one;
 * `binds`: it was about a window. */
enum ibv_wc_status iw_verbs_status(const struct iw_completion *done,
                                   const struct iw_rdmap_terminate *terminate, bool binds);

#endif
