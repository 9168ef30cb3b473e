/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_MESSAGES_DOUBLES_H
#define IW_TESTS_MESSAGES_DOUBLES_H

/*
 * The core of messages/ without a device, a clock or a thread: this header stands in for
 * message_progress.c, the resolver, libibverbs and librdmacm. What is posted is noted, what
 * completes and when is said by the test. Include from one program.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "messages/message_internal.h"

#undef ibv_reg_mr

enum {
    MS = 1000000,
    NOTED = 4096, /* requests of a test, at most */
    PEER = 0x1001,
    FRAME = IW_MESSAGE_HEADER + IW_MESSAGES_SHORT
};

/* ---- what stands in ---- */

static uint64_t bench_ns;
static unsigned bench_dues;       /* calls of iw_progress_due() */
static unsigned bench_polls;      /* of iw_progress_poll() */
static void (*bench_waits)(void); /* what happens during a wait */

uint64_t iw_progress_now(void)
{
    return bench_ns;
}

void iw_progress_due(struct iw_messages *m)
{
    (void)m;
    bench_dues++;
}

/* One thread: a mutex is a note that it is held. */
static const pthread_mutex_t *bench_held[4];

static bool bench_holds(const pthread_mutex_t *mutex)
{
    for (size_t i = 0; i < 4; i++)
        if (bench_held[i] == mutex)
            return true;
    return false;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    size_t i = 0;
    assert_false(bench_holds(mutex));
    while (bench_held[i] != NULL)
        assert_true(++i < 4);
    bench_held[i] = mutex;
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    size_t i = 0;
    while (bench_held[i] != mutex)
        assert_true(++i < 4);
    bench_held[i] = NULL;
    return 0;
}

bool iw_progress_step(struct iw_messages *m)
{
    assert_true(bench_holds(&m->mutex));
    if (m->ending)
        iw_link_reap(m, false);
    return false;
}

bool iw_progress_poll(struct iw_messages *m)
{
    (void)m;
    bench_polls++;
    return false;
}

void iw_progress_wait(struct iw_messages *m, uint64_t deadline)
{
    assert_true(bench_holds(&m->mutex));
    if (bench_waits != NULL)
        bench_waits();
    else if (deadline != UINT64_MAX)
        bench_ns = deadline;
    else
        fail_msg("a wait that nothing ends");
}

static struct {
    int result; /* of find: 0 or an errno */
    struct sockaddr_storage at;
    uint64_t instance;
    unsigned finds, forgets, claims, disclaims;
    uint32_t forgotten, claimed;
    uint64_t forgotten_instance, claimed_instance;
    int claim_result;
} bench_resolver;

int iw_resolver_find(struct iw_resolver *r, uint32_t number, int timeout_ms,
                     struct sockaddr_storage *at, uint64_t *instance)
{
    (void)r;
    (void)number;
    assert_int_equal(timeout_ms, 0);
    bench_resolver.finds++;
    *at = bench_resolver.at;
    *instance = bench_resolver.instance;
    errno = bench_resolver.result;
    return bench_resolver.result == 0 ? 0 : -1;
}

void iw_resolver_forget(struct iw_resolver *r, uint32_t number, uint64_t instance)
{
    (void)r;
    bench_resolver.forgets++;
    bench_resolver.forgotten = number;
    bench_resolver.forgotten_instance = instance;
}

int iw_resolver_claim_all(struct iw_resolver *r, const uint32_t *numbers, size_t count,
                          const struct sockaddr *at, uint64_t instance, uint32_t *refused)
{
    (void)r;
    (void)at;
    assert_true(count > 0);
    bench_resolver.claims++;
    bench_resolver.claimed = *refused = numbers[0];
    bench_resolver.claimed_instance = instance;
    errno = bench_resolver.claim_result;
    return bench_resolver.claim_result == 0 ? 0 : -1;
}

int iw_resolver_disclaim(struct iw_resolver *r, uint32_t number)
{
    (void)r;
    (void)number;
    bench_resolver.disclaims++;
    return 0;
}

/* Which call fails: once, REG_MR until it is NONE again, because the pool tries it anew. */
enum bench_call {
    NONE,
    CREATE_ID,
    RESOLVE_ADDR,
    RESOLVE_ROUTE,
    CREATE_QP,
    CONNECT,
    ACCEPT,
    DISCONNECT,
    REG_MR
};
static enum bench_call bench_fails;
static unsigned bench_calls[REG_MR + 1];
static unsigned bench_rejects, bench_ids_destroyed, bench_qps_destroyed, bench_errors;
static uint8_t bench_reason[8];
static uint8_t bench_reason_length;
static int bench_timeout;                  /* of the last resolution */
static struct rdma_conn_param bench_param; /* of the last connect or accept */
static uint8_t bench_private[64];
static struct ibv_qp_init_attr bench_attr;
static unsigned bench_registered; /* regions */
static uint32_t bench_next_key = 100;
static unsigned bench_rights;

static int bench_called(enum bench_call call)
{
    bench_calls[call]++;
    if (bench_fails != call)
        return 0;
    if (call != REG_MR)
        bench_fails = NONE;
    errno = ENOSYS;
    return -1;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    if (bench_called(REG_MR) != 0)
        return NULL;
    struct ibv_mr *mr = calloc(1, sizeof(*mr));
    assert_non_null(mr);
    bench_next_key++;
    *mr = (struct ibv_mr){.context = pd->context,
                          .pd = pd,
                          .addr = addr,
                          .length = length,
                          .lkey = bench_next_key,
                          .rkey = bench_next_key + 0x1000};
    bench_registered++;
    bench_rights = (unsigned)access;
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned int access)
{
    (void)iova;
    return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    bench_registered--;
    free(mr);
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    assert_int_equal(mask, IBV_QP_STATE);
    assert_int_equal(attr->qp_state, IBV_QPS_ERR);
    (void)qp;
    bench_errors++;
    return 0;
}

static struct ibv_context *bench_verbs(void);

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space ps)
{
    assert_int_equal(ps, RDMA_PS_TCP);
    if (bench_called(CREATE_ID) != 0)
        return -1;
    *id = calloc(1, sizeof(**id));
    assert_non_null(*id);
    (*id)->channel = channel;
    (*id)->context = context;
    return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
    assert_null(id->qp);
    bench_ids_destroyed++;
    free(id);
    return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
                      int timeout_ms)
{
    assert_null(from);
    memcpy(&id->route.addr.dst_addr, to,
           to->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    bench_timeout = timeout_ms;
    return bench_called(RESOLVE_ADDR);
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
    (void)id;
    bench_timeout = timeout_ms;
    return bench_called(RESOLVE_ROUTE);
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    (void)pd;
    if (bench_called(CREATE_QP) != 0)
        return -1;
    bench_attr = *attr;
    id->qp = calloc(1, sizeof(*id->qp));
    assert_non_null(id->qp);
    id->qp->context = id->verbs;
    id->qp->qp_context = id;
    return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
    bench_qps_destroyed++;
    free(id->qp);
    id->qp = NULL;
}

static void bench_keep(const struct rdma_conn_param *how)
{
    bench_param = *how;
    assert_true(how->private_data_len <= sizeof(bench_private));
    memcpy(bench_private, how->private_data, how->private_data_len);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *how)
{
    (void)id;
    bench_keep(how);
    return bench_called(CONNECT);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *how)
{
    (void)id;
    bench_keep(how);
    return bench_called(ACCEPT);
}

int rdma_reject(struct rdma_cm_id *id, const void *octets, uint8_t length)
{
    (void)id;
    bench_rejects++;
    assert_true(length <= sizeof(bench_reason));
    memcpy(bench_reason, octets, length);
    bench_reason_length = length;
    return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
    (void)id;
    return bench_called(DISCONNECT);
}

static struct rdma_cm_event bench_event; /* the next one */
static bool bench_has_event;

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **e)
{
    (void)channel;
    if (!bench_has_event) {
        errno = EAGAIN;
        return -1;
    }
    bench_has_event = false;
    *e = &bench_event;
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *e)
{
    (void)e;
    return 0;
}

/* ---- what was posted ---- */

struct bench_request {
    struct rdma_cm_id *id;
    uint64_t work;
    uint8_t *at;
    uint32_t length, key;
    enum ibv_wr_opcode opcode;
    uint64_t remote;
    uint32_t rkey;
    struct iw_message_header h; /* of a Send */
    bool completed;
};

static struct bench_request bench_sends[NOTED], bench_receives[NOTED];
static uint8_t bench_octets[NOTED][FRAME];  /* of Sends */
static unsigned bench_sent, bench_received; /* all so far */
static unsigned bench_seen;                 /* by the test */
static unsigned bench_posts_left = UINT32_MAX, bench_receives_left = UINT32_MAX;

static struct bench_request *bench_note(struct bench_request *list, unsigned *count,
                                        struct ibv_qp *qp, uint64_t work, const struct ibv_sge *sge)
{
    assert_in_range(*count, 0, NOTED - 1);
    struct bench_request *r = &list[(*count)++];
    *r = (struct bench_request){.id = qp->qp_context,
                                .work = work,
                                .at = (uint8_t *)(uintptr_t)sge->addr,
                                .length = sge->length,
                                .key = sge->lkey};
    return r;
}

/* What a Send had when it was posted. */
static uint8_t *octets_of(const struct bench_request *r)
{
    return bench_octets[r - bench_sends];
}

static int bench_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    assert_int_equal(wr->num_sge, 1);
    assert_null(wr->next);
    if (bench_posts_left == 0) {
        *bad = wr;
        return bench_sent % 2 == 0 ? ENOMEM : -1;
    }
    bench_posts_left--;
    struct bench_request *r = bench_note(bench_sends, &bench_sent, qp, wr->wr_id, wr->sg_list);
    r->opcode = wr->opcode;
    r->remote = wr->wr.rdma.remote_addr;
    r->rkey = wr->wr.rdma.rkey;
    if (r->opcode == IBV_WR_SEND) {
        assert_in_range(r->length, IW_MESSAGE_HEADER, FRAME);
        memcpy(octets_of(r), r->at, r->length);
        const char *wrong = iw_message_get_header(r->at, r->length, &r->h);
        if (wrong != NULL)
            fail_msg("it sends what it would refuse: %s", wrong);
    }
    return 0;
}

static int bench_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    assert_int_equal(wr->num_sge, 1);
    if (bench_receives_left == 0) {
        *bad = wr;
        return bench_received % 2 == 0 ? ENOMEM : -1; /* providers do either */
    }
    bench_receives_left--;
    bench_note(bench_receives, &bench_received, qp, wr->wr_id, wr->sg_list);
    return 0;
}

static struct ibv_context *bench_verbs(void)
{
    static struct ibv_context verbs;
    verbs.ops.post_send = bench_post_send;
    verbs.ops.post_recv = bench_post_recv;
    return &verbs;
}

/* The next request that the test has not seen, or NULL. */
static inline struct bench_request *next_send(void)
{
    return bench_seen < bench_sent ? &bench_sends[bench_seen++] : NULL;
}

/* The next request, which must be a Send of this type. */
static inline struct bench_request *expect_send(enum iw_message_type type)
{
    struct bench_request *r = next_send();
    if (r == NULL)
        fail_msg("nothing was sent");
    assert_int_equal(r->opcode, IBV_WR_SEND);
    assert_int_equal(r->h.type, type);
    return r;
}

static inline void expect_silence(void)
{
    if (bench_seen != bench_sent)
        fail_msg("%u requests more, the first of type %u", bench_sent - bench_seen,
                 bench_sends[bench_seen].h.type);
}

#endif
