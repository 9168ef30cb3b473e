/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains and memory regions of the backend on verbs. */
#include "agent_rdma.h"

#include <errno.h>
#include <stdlib.h>

/* ---- protection domains ---- */

bool rdma_domain(void *b, char *error)
{
    struct rdma_agent *a = b;
    struct ibv_pd **pd = &a->domains[a->core.domain_count];
    if (*pd == NULL) /* none of an earlier time */
        *pd = ibv_alloc_pd(a->device->verbs);
    return *pd != NULL || rdma_no_resource(a, "no protection domain", errno, error);
}

/* ---- regions ---- */

struct rdma_region *rdma_region_find(struct rdma_agent *a, uint32_t stag)
{
    return stag == 0 ? NULL : agent_slot_with(AGENT_SLOTS(a->regions), stag);
}

/* siw of Linux 6.1 does not look at the address that ibv_reg_mr_iova(3) gives. */
enum { VENDOR_SIW = 0x626d74 };

/* Returns which property of the memory libibverbs cannot express or the device lacks; NULL: none.
 */
static const char *beyond_verbs(const struct rdma_agent *a, const struct agent_memory *memory,
                                const struct agent_region *region)
{
    const struct agent_rdma_device *d = a->device;
    if (region->to_given && d->attributes.vendor_id == VENDOR_SIW)
        return "field to: the device takes addresses only";
    if (region->conn != 0)
        return "field conn: regions belong to a protection domain";
    if ((region->rights & IW_ACCESS_BIND) != 0 && !d->windows_1 && !d->windows_2)
        return "field access: bind: the device has no windows";
    if ((region->rights & IW_ACCESS_REMOTE_ATOMIC) != 0 && !d->atomics)
        return "field access: remote-atomic: the device has no atomics";
    if ((region->rights & IW_ACCESS_REMOTE_INVALIDATE) != 0 && !d->invalidates)
        return "field access: remote-invalidate: the device cannot";
    return memory->length == 0 ? "field length: 0" : NULL;
}

unsigned rdma_rights(uint32_t rights)
{
    static const struct {
        uint32_t right;
        unsigned access;
    } pairs[] = {{IW_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE},
                 {IW_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ},
                 /* ibv_reg_mr(3): the one needs the other. */
                 {IW_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE},
                 {IW_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE},
                 {IW_ACCESS_BIND, IBV_ACCESS_MW_BIND}};
    unsigned access = 0;
    for (size_t i = 0; i < COUNT(pairs); i++)
        if ((rights & pairs[i].right) != 0)
            access |= pairs[i].access;
    return access;
}

static void deregister(struct ibv_mr **mr)
{
    if (*mr != NULL)
        (void)ibv_dereg_mr(*mr);
    *mr = NULL;
}

static struct ibv_mr *register_remote(struct ibv_pd *pd, const struct agent_memory *memory,
                                      const struct agent_region *region)
{
    uint8_t *base = memory->arena + memory->guard;
    unsigned access = rdma_rights(region->rights);
    return region->to_given ? ibv_reg_mr_iova(pd, base, memory->length, region->to, access)
                            : ibv_reg_mr(pd, base, memory->length, access);
}

bool rdma_enrol(void *b, struct agent_memory *memory, const struct agent_region *region,
                char *error)
{
    struct rdma_agent *a = b;
    struct rdma_region *r = agent_slot_with(AGENT_SLOTS(a->regions), 0); /* one for each memory */
    const char *beyond = beyond_verbs(a, memory, region);
    if (beyond != NULL)
        return agent_fail(error, AGENT_UNSUPPORTED "%s", beyond);
    struct ibv_pd *pd = a->domains[region->domain];
    if (region->to_given && region->to + memory->length - 1 < region->to)
        return agent_fail(error, "field to: TO plus length wraps");
    uint8_t *base = memory->arena + memory->guard;
    r->remote = register_remote(pd, memory, region);
    /* An invalidated memory is still identified by its STag, so that must be unique. */
    if (r->remote != NULL && rdma_region_find(a, r->remote->rkey) != NULL) {
        struct ibv_mr *taken = r->remote;
        r->remote = register_remote(pd, memory, region);
        deregister(&taken);
    }
    if (r->remote != NULL)
        r->local = ibv_reg_mr(pd, base, memory->length, IBV_ACCESS_LOCAL_WRITE);
    if (r->local == NULL) {
        rdma_no_resource(a, "the device does not register it", errno, error);
        deregister(&r->remote);
        return false;
    }
    r->memory = memory;
    r->stag = memory->stag = r->remote->rkey;
    memory->to = region->to_given ? region->to : (uint64_t)(uintptr_t)base;
    return true;
}

/* Deregisters, as a device can only forget an STag of user space: it is then as dead as an
 * invalidated one. */
bool rdma_invalidate(void *b, uint32_t stag, char *error)
{
    struct rdma_agent *a = b;
    struct rdma_region *r = rdma_region_find(a, stag);
    bool alive = r != NULL && r->remote != NULL;
    if (alive && rdma_windows_on(a, r->memory))
        return agent_fail(error, AGENT_UNSUPPORTED
                          "field mem: windows are bound to it, which the device minds");
    if (alive)
        deregister(&r->remote);
    else if (r == NULL)
        alive = rdma_invalidate_window(a, stag);
    return alive || agent_fail(error, "the STag is not valid any more");
}

void rdma_forget(void *b, uint32_t stag)
{
    struct rdma_region *r = rdma_region_find(b, stag);
    if (r == NULL) {
        rdma_forget_window(b, stag);
        return;
    }
    deregister(&r->remote);
    deregister(&r->local);
    *r = (struct rdma_region){0};
}
