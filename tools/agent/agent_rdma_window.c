/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows of the backend on verbs. Those of type 1 belong to a protection domain, those of
 * type 2 to a connection; a queue pair in use binds either. */
#include "agent_rdma.h"

#include <errno.h>
#include <stdlib.h>

static struct rdma_window *find_window(struct rdma_agent *a, uint32_t stag)
{
    return stag == 0 ? NULL : agent_slot_with(AGENT_SLOTS(a->windows), stag);
}

static void dealloc(struct rdma_window *w)
{
    if (w->mw != NULL)
        (void)ibv_dealloc_mw(w->mw);
    w->mw = NULL;
}

bool rdma_invalidate_window(struct rdma_agent *a, uint32_t stag)
{
    struct rdma_window *w = find_window(a, stag);
    bool alive = w != NULL && w->mw != NULL;
    if (alive)
        dealloc(w);
    return alive;
}

void rdma_forget_window(struct rdma_agent *a, uint32_t stag)
{
    struct rdma_window *w = find_window(a, stag);
    if (w == NULL)
        return;
    dealloc(w);
    *w = (struct rdma_window){0};
}

bool rdma_windows_on(const struct rdma_agent *a, const struct agent_memory *memory)
{
    for (size_t i = 0; i < AGENT_WINDOWS + 1; i++)
        if (a->windows[i].mw != NULL && a->windows[i].memory == memory)
            return true;
    return false;
}

void rdma_end_windows(struct rdma_agent *a, uint64_t conn)
{
    for (size_t i = 0; i < AGENT_WINDOWS + 1; i++)
        if (a->windows[i].stag != 0 && a->windows[i].conn == conn)
            dealloc(&a->windows[i]);
}

static bool open_for_work(const struct rdma_connection *c)
{
    return c->base.id != 0 && c->open && !c->closing && !c->closed;
}

/* Returns the connection whose queue pair binds: the one that the window is for, or any one of the
 * memory's protection domain. */
static struct rdma_connection *binder(struct rdma_agent *a, const struct agent_binding *binding,
                                      const struct ibv_pd *pd, char *error)
{
    struct rdma_connection *c;
    if (binding->conn != 0 ? !a->device->windows_2 : !a->device->windows_1) {
        agent_fail(error, AGENT_UNSUPPORTED "field conn: the device's windows belong to %s",
                   binding->conn != 0 ? "a protection domain" : "a connection");
        return NULL;
    }
    if (binding->conn != 0) {
        c = agent_slot_find(&a->core.connections, binding->conn, error);
        if (c == NULL || open_for_work(c))
            return c;
    } else {
        for (c = a->connections; c < a->connections + AGENT_CONNECTIONS; c++)
            if (open_for_work(c) && c->plan.pd == pd)
                return c;
    }
    agent_fail(error,
               AGENT_UNSUPPORTED "windows before a connection is established, which binds them");
    return NULL;
}

static int post_bind(struct rdma_connection *c, struct ibv_mw *mw, uint64_t slot,
                     const struct ibv_mw_bind_info *info)
{
    if (mw->type == IBV_MW_TYPE_1) {
        struct ibv_mw_bind bind = {
            .wr_id = slot, .send_flags = IBV_SEND_SIGNALED, .bind_info = *info};
        return abs(ibv_bind_mw(c->cm->qp, mw, &bind));
    }
    uint32_t stag = ibv_inc_rkey(mw->rkey);
    struct ibv_send_wr *bad, wr = {.wr_id = slot,
                                   .opcode = IBV_WR_BIND_MW,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .bind_mw = {.mw = mw, .rkey = stag, .bind_info = *info}};
    int status = abs(ibv_post_send(c->cm->qp, &wr, &bad));
    if (!status)
        mw->rkey = stag;
    return status;
}

/* Binds the window and waits for the completion. */
static bool bind_it(struct rdma_connection *c, struct ibv_mw *mw,
                    const struct ibv_mw_bind_info *info, char *error)
{
    static enum ibv_wc_status outcome; /* a late completion still finds it */
    struct rdma_record *r = rdma_free_record(c, false, error);
    if (r == NULL)
        return false;
    int status = post_bind(c, mw, (uint64_t)(r - c->records), info);
    if (status)
        return rdma_no_resource(c->agent, "the device binds no window", status, error);
    *r = (struct rdma_record){.used = true, .outcome = &outcome};
    c->sends++;
    rdma_poll_for(c, r, RDMA_BIND_MS);
    return (!r->used && outcome == IBV_WC_SUCCESS) ||
           agent_fail(error, "the device binds no window: %s",
                      r->used ? "no completion" : ibv_wc_status_str(outcome));
}

bool rdma_bind(void *b, const struct agent_binding *binding, uint32_t *stag, uint64_t *to,
               char *error)
{
    struct rdma_agent *a = b;
    const struct rdma_region *r = rdma_region_find(a, binding->memory->stag);
    struct rdma_window *w = agent_slot_with(AGENT_SLOTS(a->windows), 0);
    if (r == NULL || r->remote == NULL)
        return agent_fail(error,
                          "the memory's STag is dead, or its rights do not permit such a window");
    if (binding->length == 0)
        return agent_fail(error, AGENT_UNSUPPORTED "field length: 0");
    struct rdma_connection *c = binder(a, binding, r->remote->pd, error);
    if (c == NULL)
        return false;
    struct ibv_mw *mw =
        ibv_alloc_mw(r->remote->pd, binding->conn != 0 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
    if (mw == NULL)
        return rdma_no_resource(a, "no window", errno, error);
    const struct ibv_mw_bind_info info = {.mr = r->remote,
                                          .addr = binding->memory->to + binding->offset,
                                          .length = binding->length,
                                          .mw_access_flags = rdma_rights(binding->rights) &
                                                             ~(unsigned)IBV_ACCESS_LOCAL_WRITE};
    if (!bind_it(c, mw, &info, error)) {
        (void)ibv_dealloc_mw(mw);
        return false;
    }
    *w = (struct rdma_window){
        .stag = mw->rkey, .mw = mw, .conn = binding->conn, .memory = binding->memory};
    /* A window that is bound anew is another one to the device. */
    rdma_forget_window(a, *stag);
    *stag = mw->rkey;
    *to = info.addr;
    return true;
}
