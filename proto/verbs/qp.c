/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs and their states. */
#include "verbs/link.h"

#include <errno.h>
#include <stdlib.h>

enum { BUCKETS = 1024, SRQ_STAGE = 16 /* receives that a queue pair takes of a shared queue */ };
enum { REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
LIST_HEAD(qp_bucket, iw_verbs_qp);
static struct qp_bucket pairs[BUCKETS]; /* by number */
static unsigned count;
static uint32_t last_number;

static struct iw_verbs_qp *qp_of(struct ibv_qp *qp)
{
    return (struct iw_verbs_qp *)(void *)qp;
}

struct iw_verbs_qp *iw_verbs_find_qp(uint32_t number)
{
    struct iw_verbs_qp *qp = LIST_FIRST(&pairs[number % BUCKETS]);
    while (qp != NULL && qp->base.qp_base.qp_num != number)
        qp = LIST_NEXT(qp, entry);
    return qp;
}

static uint32_t fresh_number(void)
{
    do
        last_number = (last_number + 1) & 0xffffff;
    while (last_number < 2 || iw_verbs_find_qp(last_number) != NULL);
    return last_number;
}

static bool valid(const struct ibv_qp_init_attr_ex *a)
{
    const struct ibv_qp_cap *c = &a->cap;
    return a->pd != NULL && a->send_cq != NULL && a->recv_cq != NULL &&
           c->max_send_wr <= IW_VERBS_WR && c->max_recv_wr <= IW_VERBS_WR &&
           c->max_send_sge <= IW_VERBS_SGE && c->max_recv_sge <= IW_VERBS_SGE &&
           c->max_inline_data <= IW_VERBS_INLINE;
}

static void free_memory(struct iw_verbs_qp *qp)
{
    iw_verbs_ring_free(&qp->sends);
    iw_verbs_ring_free(&qp->recvs);
    free(qp->inline_space);
    free(qp->spares);
    iw_verbs_free_built(qp);
    free(qp);
}

static bool allocate(struct iw_verbs_qp *qp, bool built)
{
    const struct ibv_qp_cap *c = &qp->init.cap;
    if (!iw_verbs_ring_make(&qp->sends, c->max_send_wr) ||
        !iw_verbs_ring_make(&qp->recvs, qp->init.srq != NULL ? SRQ_STAGE : c->max_recv_wr) ||
        !iw_verbs_spares_make(qp))
        return false;
    qp->inline_space = malloc((size_t)qp->sends.depth * c->max_inline_data + 1);
    return qp->inline_space != NULL && (!built || iw_verbs_make_built(qp));
}

static void count_uses(struct iw_verbs_qp *qp, unsigned n)
{
    ((struct iw_verbs_pd *)qp->base.qp_base.pd)->uses += n;
    ((struct iw_verbs_cq *)(void *)qp->init.send_cq)->uses += n;
    ((struct iw_verbs_cq *)(void *)qp->init.recv_cq)->uses += n;
    if (qp->init.srq != NULL)
        ((struct iw_verbs_srq *)qp->init.srq)->uses += n;
}

static void fill(struct iw_verbs_qp *qp, struct ibv_context *context, struct ibv_qp_init_attr_ex *a)
{
    struct ibv_qp *base = &qp->base.qp_base;
    /* Some programs send a few octets inline without asking whether they may. */
    if (a->cap.max_inline_data < IW_VERBS_INLINE_LEAST)
        a->cap.max_inline_data = IW_VERBS_INLINE_LEAST;
    qp->init = (struct ibv_qp_init_attr){a->qp_context, a->send_cq, a->recv_cq,   a->srq,
                                         a->cap,        a->qp_type, a->sq_sig_all};
    *base = (struct ibv_qp){.context = context,
                            .qp_context = a->qp_context,
                            .pd = a->pd,
                            .send_cq = a->send_cq,
                            .recv_cq = a->recv_cq,
                            .srq = a->srq,
                            .state = IBV_QPS_RESET,
                            .qp_type = a->qp_type};
    qp->access = REMOTE; /* as of other iWARP devices: programs restrict it */
    pthread_mutex_init(&base->mutex, NULL);
    pthread_cond_init(&base->cond, NULL);
}

struct ibv_qp *iw_verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *a)
{
    const uint32_t known =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    const uint64_t operations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ |
                                IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
                                IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
    const bool built = (a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    const bool flags = (a->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && a->create_flags != 0;
    const char *refused =
        a->qp_type != IBV_QPT_RC                ? "a queue pair of another type than IBV_QPT_RC"
        : (a->comp_mask & ~known) != 0 || flags ? "a flag or attribute of ibv_create_qp_ex"
        : built && (a->send_ops_flags & ~operations) != 0 ? "an operation of ibv_create_qp_ex"
                                                          : NULL;
    if (refused != NULL) {
        iw_verbs_refused(refused);
        errno = EOPNOTSUPP;
        return NULL;
    }
    struct iw_verbs_qp *qp = valid(a) ? calloc(1, sizeof(*qp)) : NULL;
    if (qp == NULL) {
        errno = valid(a) ? ENOMEM : EINVAL;
        return NULL;
    }
    fill(qp, context, a);
    iw_verbs_lock();
    bool made = count < IW_VERBS_QPS && allocate(qp, built);
    if (made) {
        count++;
        qp->base.qp_base.qp_num = fresh_number();
        qp->base.qp_base.handle = qp->base.qp_base.qp_num;
        LIST_INSERT_HEAD(&pairs[qp->base.qp_base.qp_num % BUCKETS], qp, entry);
        count_uses(qp, 1);
    }
    iw_verbs_unlock();
    if (made)
        return &qp->base.qp_base;
    free_memory(qp);
    errno = ENOMEM;
    return NULL;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp_init_attr_ex all = {.qp_context = attr->qp_context,
                                      .send_cq = attr->send_cq,
                                      .recv_cq = attr->recv_cq,
                                      .srq = attr->srq,
                                      .cap = attr->cap,
                                      .qp_type = attr->qp_type,
                                      .sq_sig_all = attr->sq_sig_all,
                                      .comp_mask = IBV_QP_INIT_ATTR_PD,
                                      .pd = pd};
    struct ibv_qp *qp = iw_verbs_create_qp_ex(pd->context, &all);
    attr->cap = all.cap;
    return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return qp_of(qp)->built != NULL ? &qp_of(qp)->base : NULL;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
    struct iw_verbs_qp *qp = qp_of(base);
    if (base == NULL) /* of librdmacm, for an identifier without one: qperf's server does so */
        return EINVAL;
    iw_verbs_lock();
    if (qp->link != NULL)
        iw_verbs_link_leave(qp->link);
    iw_verbs_cq_clean(qp->init.send_cq, base->qp_num);
    iw_verbs_cq_clean(qp->init.recv_cq, base->qp_num);
    iw_verbs_async_forget(base->context, base);
    iw_verbs_ring_free(&qp->sends); /* while whoever deregisters a region still finds this one */
    iw_verbs_ring_free(&qp->recvs);
    LIST_REMOVE(qp, entry);
    count--;
    count_uses(qp, (unsigned)-1);
    unsigned reported = qp->async_reported;
    iw_verbs_unlock();
    pthread_mutex_lock(&base->mutex);
    while (base->events_completed != reported)
        pthread_cond_wait(&base->cond, &base->mutex);
    pthread_mutex_unlock(&base->mutex);
    pthread_mutex_destroy(&base->mutex);
    pthread_cond_destroy(&base->cond);
    iw_verbs_lock();
    free_memory(qp);
    iw_verbs_unlock();
    return 0;
}

/* ---- states ---- */

void iw_verbs_qp_error(struct iw_verbs_qp *qp)
{
    qp->base.qp_base.state = IBV_QPS_ERR;
    if (qp->link != NULL)
        iw_verbs_link_leave(qp->link);
    iw_verbs_flush(qp);
}

static bool names(const struct iw_verbs_ring *ring, const struct iw_verbs_mr *mr)
{
    for (uint64_t at = ring->head; at != ring->tail; at++)
        for (unsigned i = 0; i < iw_verbs_ring_at(ring, at)->sge_count; i++)
            if (iw_verbs_ring_at(ring, at)->mrs[i] == mr)
                return true;
    return false;
}

void iw_verbs_qps_without(struct iw_verbs_mr *mr)
{
    for (unsigned i = 0; i < BUCKETS && mr->uses > 0; i++)
        for (struct iw_verbs_qp *qp = LIST_FIRST(&pairs[i]); qp != NULL; qp = LIST_NEXT(qp, entry))
            if (names(&qp->sends, mr) || names(&qp->recvs, mr))
                iw_verbs_qp_error(qp);
}

/* Discards everything, as a reset does. */
static void reset(struct iw_verbs_qp *qp)
{
    iw_verbs_qp_error(qp);
    iw_verbs_cq_clean(qp->init.send_cq, qp->base.qp_base.qp_num);
    iw_verbs_cq_clean(qp->init.recv_cq, qp->base.qp_base.qp_num);
    qp->base.qp_base.state = IBV_QPS_RESET;
}

static bool may_move(enum ibv_qp_state from, enum ibv_qp_state to)
{
    static const uint8_t moves[] = {
        [IBV_QPS_RESET] = 1 << IBV_QPS_INIT,
        [IBV_QPS_INIT] = 1 << IBV_QPS_INIT | 1 << IBV_QPS_RTR,
        [IBV_QPS_RTR] = 1 << IBV_QPS_RTR | 1 << IBV_QPS_RTS,
        [IBV_QPS_RTS] = 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD,
        [IBV_QPS_SQD] = 1 << IBV_QPS_SQD | 1 << IBV_QPS_RTS,
        [IBV_QPS_ERR] = 0,
    };
    return to == IBV_QPS_RESET || to == IBV_QPS_ERR || (moves[from] >> to & 1) != 0;
}

static int move(struct iw_verbs_qp *qp, enum ibv_qp_state to)
{
    struct ibv_qp *base = &qp->base.qp_base;
    /* librdmacm drains on disconnecting, also after the peer has ended the connection. */
    if (base->state == IBV_QPS_ERR && to == IBV_QPS_SQD)
        return 0;
    if (to > IBV_QPS_ERR || !may_move(base->state, to))
        return EINVAL;
    /* Its program has the peer's number, which leads nowhere: let it end here, not wait. */
    if (to == IBV_QPS_RTS && qp->link == NULL) {
        iw_verbs_refused("a queue pair that is brought to IBV_QPS_RTS without rdma_cm");
        return EOPNOTSUPP;
    }
    if (to == IBV_QPS_RESET)
        reset(qp);
    else if (to == IBV_QPS_ERR)
        iw_verbs_qp_error(qp);
    else
        base->state = to;
    return 0;
}

uint32_t iw_verbs_withheld(const struct iw_verbs_qp *qp)
{
    return iw_verbs_rights(REMOTE & ~qp->access);
}

/* Also while it is connected: for what the peer asks from now on. */
static void set_access(struct iw_verbs_qp *qp, unsigned access)
{
    struct iw_endpoint *ep = qp->link != NULL ? iw_verbs_link_endpoint(qp->link) : NULL;
    qp->access = access;
    if (ep != NULL)
        iw_endpoint_withhold(ep, iw_verbs_withheld(qp));
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    struct iw_verbs_qp *qp = qp_of(base);
    int result = 0;
    iw_verbs_lock();
    if ((mask & IBV_QP_CUR_STATE) != 0 && attr->cur_qp_state != base->state)
        result = EINVAL;
    if (result == 0 && (mask & IBV_QP_STATE) != 0)
        result = move(qp, attr->qp_state);
    if (result == 0 && (mask & IBV_QP_ACCESS_FLAGS) != 0)
        set_access(qp, attr->qp_access_flags);
    if (result == 0 && (mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
        qp->max_rd_atomic = attr->max_rd_atomic;
    if (result == 0 && (mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
        qp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
    iw_verbs_unlock();
    if (result != 0)
        errno = result;
    return result;
}

/* The kernel's iWARP devices have one state before RTR, and call it INIT. */
static enum ibv_qp_state reported_state(enum ibv_qp_state state)
{
    return state == IBV_QPS_RESET ? IBV_QPS_INIT : state;
}

int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    struct iw_verbs_qp *qp = qp_of(base);
    (void)mask;
    iw_verbs_lock();
    *attr = (struct ibv_qp_attr){.qp_state = reported_state(base->state),
                                 .cur_qp_state = reported_state(base->state),
                                 .path_mtu = IBV_MTU_1024,
                                 .qp_access_flags = qp->access,
                                 .cap = qp->init.cap,
                                 .max_rd_atomic = qp->max_rd_atomic,
                                 .max_dest_rd_atomic = qp->max_dest_rd_atomic,
                                 .port_num = 1};
    *init = qp->init;
    iw_verbs_unlock();
    return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    (void)qp, (void)op, (void)flags;
    return 0;
}
