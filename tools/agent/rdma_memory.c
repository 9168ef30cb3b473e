/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, memory regions and work requests of the backend on verbs. */
#include "rdma.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- protection domains ---- */

bool rdma_domain_of(const struct rdma_agent *a, uint64_t number, struct ibv_pd **pd, char *error)
{
    if (number > a->domain_count) {
        snprintf(error, AGENT_ERROR, "field pd: no protection domain %" PRIu64, number);
        return false;
    }
    *pd = a->domains[number == 0 ? 0 : number - 1];
    return true;
}

bool rdma_domain(void *b, uint64_t *domain, char *error)
{
    struct rdma_agent *a = b;
    struct ibv_pd *pd = NULL;
    if (a->domain_count == AGENT_DOMAINS)
        snprintf(error, AGENT_ERROR, "at most %d protection domains", AGENT_DOMAINS);
    else if ((pd = ibv_alloc_pd(a->device->verbs)) == NULL)
        snprintf(error, AGENT_ERROR, "no protection domain: %s", strerror(errno));
    else
        a->domains[a->domain_count++] = pd;
    *domain = a->domain_count;
    return pd != NULL;
}

/* ---- regions ---- */

bool rdma_can_invalidate(const struct rdma_agent *a)
{
    return (a->device->attributes.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
}

static struct rdma_region *find_region(struct rdma_agent *a, uint32_t stag)
{
    for (size_t i = 0; stag != 0 && i < AGENT_MEMORIES; i++)
        if (a->regions[i].stag == stag)
            return &a->regions[i];
    return NULL;
}

static struct rdma_region *region_of(struct rdma_agent *a, const struct agent_memory *memory)
{
    for (size_t i = 0; i < AGENT_MEMORIES; i++)
        if (a->regions[i].stag != 0 && a->regions[i].memory == memory)
            return &a->regions[i];
    return NULL;
}

/* What libibverbs has no word for is not offered. */
static const char *beyond_verbs(const struct rdma_agent *a, const struct agent_memory *memory,
                                const struct agent_region *region)
{
    if (region->to_given)
        return "field to: the device chooses TOs";
    if (region->conn != 0)
        return "field conn: regions belong to a protection domain";
    if ((region->rights & IW_ACCESS_BIND) != 0)
        return "field access: bind";
    if ((region->rights & IW_ACCESS_REMOTE_ATOMIC) != 0)
        return "field access: remote-atomic";
    if ((region->rights & IW_ACCESS_REMOTE_INVALIDATE) != 0 && !rdma_can_invalidate(a))
        return "field access: remote-invalidate";
    return memory->length == 0 ? "field length: 0" : NULL;
}

static unsigned verbs_rights(uint32_t rights)
{
    unsigned access = 0;
    if ((rights & IW_ACCESS_LOCAL_WRITE) != 0)
        access |= IBV_ACCESS_LOCAL_WRITE;
    if ((rights & IW_ACCESS_REMOTE_READ) != 0)
        access |= IBV_ACCESS_REMOTE_READ;
    /* ibv_reg_mr(3): the one needs the other. */
    if ((rights & IW_ACCESS_REMOTE_WRITE) != 0)
        access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    return access;
}

static void deregister(struct ibv_mr **mr)
{
    if (*mr != NULL)
        (void)ibv_dereg_mr(*mr);
    *mr = NULL;
}

bool rdma_enrol(void *b, struct agent_memory *memory, const struct agent_region *region,
                char *error)
{
    struct rdma_agent *a = b;
    struct ibv_pd *pd;
    struct rdma_region *r = NULL;
    const char *beyond = beyond_verbs(a, memory, region);
    if (beyond != NULL) {
        snprintf(error, AGENT_ERROR, AGENT_UNSUPPORTED "%s", beyond);
        return false;
    }
    if (!rdma_domain_of(a, region->domain, &pd, error))
        return false;
    for (size_t i = 0; i < AGENT_MEMORIES && r == NULL; i++)
        if (a->regions[i].stag == 0)
            r = &a->regions[i];
    if (r == NULL) {
        snprintf(error, AGENT_ERROR, "no STag is left");
        return false;
    }
    uint8_t *base = memory->arena + memory->guard;
    r->remote = ibv_reg_mr(pd, base, memory->length, verbs_rights(region->rights));
    /* The STag of a memory that was invalidated is still told apart by it. */
    if (r->remote != NULL && find_region(a, r->remote->rkey) != NULL) {
        struct ibv_mr *taken = r->remote;
        r->remote = ibv_reg_mr(pd, base, memory->length, verbs_rights(region->rights));
        deregister(&taken);
    }
    r->local =
        r->remote == NULL ? NULL : ibv_reg_mr(pd, base, memory->length, IBV_ACCESS_LOCAL_WRITE);
    if (r->local == NULL) {
        snprintf(error, AGENT_ERROR, "the device does not register it: %s", strerror(errno));
        deregister(&r->remote);
        return false;
    }
    r->memory = memory;
    r->stag = memory->stag = r->remote->rkey;
    memory->to = (uint64_t)(uintptr_t)base;
    return true;
}

/* A device can only forget an STag of user space: it is then as dead as an invalidated one. */
bool rdma_invalidate(void *b, uint32_t stag, char *error)
{
    struct rdma_region *r = find_region(b, stag);
    if (r == NULL || r->remote == NULL) {
        snprintf(error, AGENT_ERROR, "the STag is not valid any more");
        return false;
    }
    deregister(&r->remote);
    return true;
}

void rdma_forget(void *b, uint32_t stag)
{
    struct rdma_region *r = find_region(b, stag);
    if (r == NULL)
        return;
    deregister(&r->remote);
    deregister(&r->local);
    *r = (struct rdma_region){0};
}

/* ---- work ---- */

/* A length of 0 means 2^31 to some devices: pieces of no octets are left out, but for the only one
 * of a read or receive, which iWARP's devices want. */
static bool place_pieces(struct rdma_agent *a, const struct agent_work *w, struct ibv_sge *sge,
                         int *count, char *error)
{
    bool read = w->work.opcode == IW_WORK_READ;
    bool only = w->count == 1 && (read || w->work.opcode == IW_WORK_RECV);
    *count = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct agent_piece *p = &w->pieces[i];
        const struct rdma_region *r = region_of(a, p->memory);
        if (p->length == 0 && !only)
            continue;
        const struct ibv_mr *mr = r == NULL ? NULL : read ? r->remote : r->local;
        if (mr == NULL) {
            snprintf(error, AGENT_ERROR, "not a legal request: the memory's STag is dead");
            return false;
        }
        if (*count == a->device->attributes.max_sge) {
            snprintf(error, AGENT_ERROR, AGENT_UNSUPPORTED "more than %d pieces", *count);
            return false;
        }
        uint8_t *at = p->memory->arena + p->memory->guard + p->offset;
        sge[(*count)++] = (struct ibv_sge){(uint64_t)(uintptr_t)at, (uint32_t)p->length, mr->lkey};
    }
    return true;
}

/* A free record among those of a queue; NULL with a text. */
static struct rdma_record *free_record(struct rdma_connection *c, uint32_t first, uint32_t count,
                                       char *error)
{
    for (uint32_t i = first; i < first + count; i++)
        if (!c->records[i].used)
            return &c->records[i];
    snprintf(error, AGENT_ERROR, "the queue is full");
    return NULL;
}

static void record(struct rdma_record *r, const struct agent_work *w)
{
    *r = (struct rdma_record){.used = true, .work = w->work.id, .op = w->work.opcode};
    for (size_t i = 0; i < w->count; i++)
        r->length += w->pieces[i].length;
}

/* Some providers return their kernel's numbers, which are negative. */
static bool refused(int number, char *error)
{
    int status = abs(number);
    if (status == ENOMEM)
        snprintf(error, AGENT_ERROR, "the queue is full");
    else
        snprintf(error, AGENT_ERROR, "not a legal request: %s", strerror(status));
    return false;
}

bool rdma_receive(void *b, const struct agent_work *w, char *error)
{
    struct ibv_sge sge[AGENT_SGE_MAX];
    struct ibv_recv_wr wr = {.sg_list = sge}, *bad;
    struct rdma_connection *c = rdma_find_connection(b, w->conn, error);
    struct rdma_record *r =
        c == NULL ? NULL : free_record(c, c->plan.send_depth, c->plan.recv_depth, error);
    if (r == NULL || !place_pieces(c->agent, w, sge, &wr.num_sge, error))
        return false;
    wr.wr_id = (uint64_t)(r - c->records);
    int status = ibv_post_recv(c->cm->qp, &wr, &bad);
    if (status != 0)
        return refused(status, error);
    record(r, w);
    c->receives++;
    return true;
}

static bool take_op(const struct rdma_agent *a, const struct iw_work *w, struct ibv_send_wr *wr,
                    char *error)
{
    switch (w->opcode) {
    case IW_WORK_SEND:
    case IW_WORK_SEND_SE:
        wr->opcode = IBV_WR_SEND;
        break;
    case IW_WORK_SEND_INVALIDATE:
    case IW_WORK_SEND_SE_INVALIDATE:
        wr->opcode = IBV_WR_SEND_WITH_INV;
        wr->invalidate_rkey = w->invalidate_stag;
        break;
    case IW_WORK_WRITE:
        wr->opcode = IBV_WR_RDMA_WRITE;
        break;
    case IW_WORK_READ:
        wr->opcode = IBV_WR_RDMA_READ;
        break;
    default:
        snprintf(error, AGENT_ERROR, AGENT_UNSUPPORTED "op %s", agent_op_names[w->opcode]);
        return false;
    }
    if (wr->opcode == IBV_WR_SEND_WITH_INV && !rdma_can_invalidate(a)) {
        snprintf(error, AGENT_ERROR, AGENT_UNSUPPORTED "op %s", agent_op_names[w->opcode]);
        return false;
    }
    if (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_READ) {
        wr->wr.rdma.remote_addr = w->remote_to;
        wr->wr.rdma.rkey = w->remote_stag;
    }
    if (w->opcode == IW_WORK_SEND_SE || w->opcode == IW_WORK_SEND_SE_INVALIDATE)
        wr->send_flags |= IBV_SEND_SOLICITED;
    if ((w->flags & IW_WORK_FENCE) != 0)
        wr->send_flags |= IBV_SEND_FENCE;
    return true;
}

bool rdma_post(void *b, const struct agent_work *w, char *error)
{
    struct ibv_sge sge[AGENT_SGE_MAX];
    struct ibv_send_wr wr = {.sg_list = sge, .send_flags = IBV_SEND_SIGNALED}, *bad;
    struct rdma_connection *c = rdma_find_connection(b, w->conn, error);
    if (c == NULL || !take_op(c->agent, &w->work, &wr, error))
        return false;
    if (c->stage != RDMA_OPEN) {
        snprintf(error, AGENT_ERROR, AGENT_UNSUPPORTED "work before the connection is established");
        return false;
    }
    if (c->closing) {
        snprintf(error, AGENT_ERROR, "the connection is over");
        return false;
    }
    struct rdma_record *r = free_record(c, 0, c->plan.send_depth, error);
    if (r == NULL || !place_pieces(c->agent, w, sge, &wr.num_sge, error))
        return false;
    wr.wr_id = (uint64_t)(r - c->records);
    int status = ibv_post_send(c->cm->qp, &wr, &bad);
    if (status != 0)
        return refused(status, error);
    record(r, w);
    c->sends++;
    return true;
}
