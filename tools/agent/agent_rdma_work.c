/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests of the backend on verbs. */
#include "agent_rdma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fills the pieces. A length of 0 means 2^31 to some devices, so empty pieces are left out, except
 * for the only one of a read or receive, which iWARP's devices require. */
static bool place_pieces(struct rdma_agent *a, const struct agent_work *w, bool receive,
                         struct ibv_sge *sge, int *count, char *error)
{
    bool read = w->work.opcode == IW_WORK_READ;
    bool only = w->count == 1 && (read || receive);
    *count = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct agent_piece *p = &w->pieces[i];
        const struct rdma_region *r = rdma_region_find(a, p->memory->stag);
        if (p->length == 0 && !only)
            continue;
        const struct ibv_mr *mr = r == NULL ? NULL : read ? r->remote : r->local;
        if (mr == NULL)
            return agent_fail(error, "not a legal request: the memory's STag is dead");
        if (*count == a->device->attributes.max_sge)
            return agent_fail(error, AGENT_UNSUPPORTED "more than %d pieces", *count);
        const uint8_t *at = p->memory->arena + p->memory->guard + p->offset;
        /* The sink of a Read is the region that the peer knows, which may have another address
         * (ibv_reg_mr_iova). */
        uint64_t address = read ? p->memory->to + p->offset : (uint64_t)(uintptr_t)at;
        sge[(*count)++] = (struct ibv_sge){address, (uint32_t)p->length, mr->lkey};
    }
    return true;
}

struct rdma_record *rdma_free_record(struct rdma_connection *c, bool receive, char *error)
{
    uint32_t first = receive ? c->plan.send_depth : 0;
    uint32_t count = receive ? c->plan.recv_depth : c->plan.send_depth;
    for (uint32_t i = first; i < first + count; i++)
        if (!c->records[i].used)
            return &c->records[i];
    agent_fail(error, "the queue is full");
    return NULL;
}

static void record(struct rdma_record *r, const struct agent_work *w)
{
    *r = (struct rdma_record){.used = true, .work = w->work.id, .op = w->work.opcode};
    if (w->work.opcode == IW_WORK_FETCH_ADD || w->work.opcode == IW_WORK_CMP_SWAP)
        r->length = sizeof(uint64_t);
    for (size_t i = 0; i < w->count; i++)
        r->length += w->pieces[i].length;
}

/* Writes a text for a return code. Some providers return their kernel's numbers, which are
 * negative. */
static bool fail_post(int number, char *error)
{
    return abs(number) == ENOMEM
               ? agent_fail(error, "the queue is full")
               : agent_fail(error, "not a legal request: %s", strerror(abs(number)));
}

bool rdma_receive(void *connection, const struct agent_work *w, char *error)
{
    struct ibv_sge sge[AGENT_SGE_MAX];
    struct ibv_recv_wr wr = {.sg_list = sge}, *bad;
    struct rdma_connection *c = connection;
    struct rdma_record *r = rdma_free_record(c, true, error);
    if (r == NULL || !place_pieces(c->agent, w, true, sge, &wr.num_sge, error))
        return false;
    wr.wr_id = (uint64_t)(r - c->records);
    int status = ibv_post_recv(c->cm->qp, &wr, &bad);
    if (status)
        return fail_post(status, error);
    record(r, w);
    c->receives++;
    return true;
}

/* RFC 7306's masks go beyond those of verbs. */
static bool take_atomic(const struct iw_work *w, struct ibv_send_wr *wr)
{
    bool add = w->opcode == IW_WORK_FETCH_ADD;
    wr->opcode = add ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
    wr->wr.atomic.remote_addr = w->remote_to;
    wr->wr.atomic.rkey = w->remote_stag;
    wr->wr.atomic.compare_add = add ? w->add_swap : w->compare;
    wr->wr.atomic.swap = add ? 0 : w->add_swap;
    return add ? w->add_swap_mask == 0
               : w->add_swap_mask == UINT64_MAX && w->compare_mask == UINT64_MAX;
}

static bool take_op(const struct rdma_agent *a, const struct iw_work *w, struct ibv_send_wr *wr,
                    char *error)
{
    bool can = true;
    switch (w->opcode) {
    case IW_WORK_SEND_SE:
    case IW_WORK_SEND:
        wr->opcode = IBV_WR_SEND;
        break;
    case IW_WORK_SEND_SE_INVALIDATE:
    case IW_WORK_SEND_INVALIDATE:
        wr->opcode = IBV_WR_SEND_WITH_INV;
        wr->invalidate_rkey = w->invalidate_stag;
        /* rdma-core's provider for siw takes the STag from here. */
        wr->wr.rdma.rkey = w->invalidate_stag;
        can = a->device->invalidates;
        break;
    case IW_WORK_WRITE:
    case IW_WORK_READ:
        wr->opcode = w->opcode == IW_WORK_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
        wr->wr.rdma.remote_addr = w->remote_to;
        wr->wr.rdma.rkey = w->remote_stag;
        break;
    case IW_WORK_FETCH_ADD:
    case IW_WORK_CMP_SWAP:
        if (!take_atomic(w, wr))
            return agent_fail(error, AGENT_UNSUPPORTED "masks of op %s", agent_op_names[w->opcode]);
        can = a->device->atomics;
        break;
    default:
        can = false;
        break;
    }
    if (w->opcode == IW_WORK_SEND_SE || w->opcode == IW_WORK_SEND_SE_INVALIDATE)
        wr->send_flags |= IBV_SEND_SOLICITED;
    if ((w->flags & IW_WORK_FENCE) != 0)
        wr->send_flags |= IBV_SEND_FENCE;
    return can || agent_fail(error, AGENT_UNSUPPORTED "op %s", agent_op_names[w->opcode]);
}

bool rdma_post(void *connection, const struct agent_work *w, char *error)
{
    struct ibv_sge sge[AGENT_SGE_MAX];
    struct ibv_send_wr wr = {.sg_list = sge, .send_flags = IBV_SEND_SIGNALED}, *bad;
    struct rdma_connection *c = connection;
    if (!take_op(c->agent, &w->work, &wr, error))
        return false;
    if (!c->open)
        return agent_fail(error, AGENT_UNSUPPORTED "work before the connection is established");
    if (c->closing)
        return agent_fail(error, "the connection is over");
    struct rdma_record *r = rdma_free_record(c, false, error);
    if (r == NULL || !place_pieces(c->agent, w, false, sge, &wr.num_sge, error))
        return false;
    wr.wr_id = (uint64_t)(r - c->records);
    if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        uint64_t *original = &c->originals[wr.wr_id];
        sge[0] = (struct ibv_sge){(uint64_t)(uintptr_t)original, sizeof(*original),
                                  c->originals_mr->lkey};
        wr.num_sge = 1;
    }
    int status = ibv_post_send(c->cm->qp, &wr, &bad);
    if (status)
        return fail_post(status, error);
    record(r, w);
    c->sends++;
    return true;
}
