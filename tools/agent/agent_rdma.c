/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent_rdma.h"
#include "host/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

/* ---- connections ---- */

void rdma_drop_connection(struct rdma_connection *c)
{
    c->cm->context = NULL;
    rdma_end_windows(c->agent, c->base.id);
    if (c->cm->qp != NULL)
        rdma_destroy_qp(c->cm);
    if (c->cq != NULL)
        (void)ibv_destroy_cq(c->cq);
    (void)rdma_destroy_id(c->cm);
    if (c->originals_mr != NULL)
        (void)ibv_dereg_mr(c->originals_mr);
    free(c->originals);
    free(c->records);
    agent_octets_free(&c->peer_private);
    c->base.core->live--;
    *c = (struct rdma_connection){0};
}

/* Makes the buffers into which the device puts the original values of atomics. */
static bool make_originals(struct rdma_connection *c)
{
    size_t octets = c->plan.send_depth * sizeof(*c->originals);
    c->originals = calloc(1, octets);
    if (c->originals != NULL)
        c->originals_mr = ibv_reg_mr(c->plan.pd, c->originals, octets, IBV_ACCESS_LOCAL_WRITE);
    return c->originals_mr != NULL;
}

struct rdma_connection *rdma_new_connection(struct rdma_agent *a, struct rdma_cm_id *cm,
                                            const struct rdma_plan *p, char *error)
{
    struct rdma_connection *c = agent_slot_free(&a->core.connections, error);
    if (c == NULL) {
        (void)rdma_destroy_id(cm);
        return NULL;
    }
    uint32_t depth = p->send_depth + p->recv_depth;
    uint32_t pieces =
        (uint32_t)(a->device->attributes.max_sge < AGENT_SGE_MAX ? a->device->attributes.max_sge
                                                                 : AGENT_SGE_MAX);
    *c = (struct rdma_connection){
        .base = {.id = ++a->core.last_id, .core = &a->core}, .agent = a, .cm = cm, .plan = *p};
    a->core.live++;
    c->records = calloc(depth, sizeof(*c->records));
    bool found = !a->device->atomics || make_originals(c);
    if (c->records != NULL && found)
        c->cq = ibv_create_cq(a->device->verbs, (int)depth, c, a->completions, 0);
    struct ibv_qp_init_attr attributes = {.qp_context = c,
                                          .send_cq = c->cq,
                                          .recv_cq = c->cq,
                                          .qp_type = IBV_QPT_RC,
                                          .cap = {.max_send_wr = p->send_depth,
                                                  .max_recv_wr = p->recv_depth,
                                                  .max_send_sge = pieces,
                                                  .max_recv_sge = pieces}};
    if (c->cq == NULL || ibv_req_notify_cq(c->cq, 0) || rdma_create_qp(cm, p->pd, &attributes)) {
        rdma_no_resource(a, "no queue pair", errno, error);
        rdma_drop_connection(c);
        return NULL;
    }
    cm->context = c;
    return c;
}

static struct rdma_conn_param parameters(const struct rdma_connection *c,
                                         const struct agent_octets *data)
{
    return (struct rdma_conn_param){.private_data = data->data,
                                    .private_data_len = (uint8_t)data->length,
                                    .responder_resources = c->plan.ird,
                                    .initiator_depth = c->plan.ord};
}

int rdma_accept_with(struct rdma_connection *c, const struct agent_octets *data)
{
    struct rdma_conn_param p = parameters(c, data);
    c->asked = false;
    return rdma_accept(c->cm, &p);
}

/* Returns an id with a resolved route to the address, on the agent's own event channel. */
static struct rdma_cm_id *find_way(struct rdma_agent *a, const struct iw_host_port *at, char *error)
{
    struct addrinfo *to = iw_address_resolve(at->host, at->port, false, error, AGENT_ERROR);
    struct rdma_cm_id *cm = NULL;
    if (to == NULL)
        return NULL;
    /* Without a channel librdmacm itself waits. */
    bool good = !rdma_create_id(NULL, &cm, NULL, RDMA_PS_TCP) &&
                !rdma_resolve_addr(cm, NULL, to->ai_addr, RDMA_RESOLVE_MS) &&
                !rdma_check_device(a, cm) && !rdma_resolve_route(cm, RDMA_RESOLVE_MS) &&
                !rdma_migrate_id(cm, a->device->events);
    freeaddrinfo(to);
    if (good)
        return cm;
    rdma_no_way(a, "connect to", at, errno, error);
    if (cm != NULL)
        (void)rdma_destroy_id(cm);
    return NULL;
}

/* Makes one attempt. Returns 0, or an errno with a text; -1 for a text alone. */
static int try_connect(struct rdma_agent *a, const struct agent_place *p,
                       const struct rdma_plan *made, uint64_t *conn, char *error)
{
    struct rdma_cm_id *cm = find_way(a, &p->at, error);
    struct rdma_connection *c = cm == NULL ? NULL : rdma_new_connection(a, cm, made, error);
    if (c == NULL)
        return -1;
    struct rdma_conn_param param = parameters(c, &p->private_data);
    *conn = c->base.id;
    if (!rdma_connect(cm, &param))
        return 0;
    int number = errno;
    agent_fail(error, "cannot connect: %s", strerror(number));
    rdma_drop_connection(c);
    return number;
}

/* Connects; tries again if TCP has given the local port to another socket. */
static bool do_connect(void *b, const struct agent_place *p, uint64_t *conn, char *error)
{
    struct rdma_agent *a = b;
    struct rdma_plan made;
    if (!rdma_plan(a, p, &made, error))
        return false;
    int number = EADDRINUSE;
    for (int i = 0; i < RDMA_TRIES && number == EADDRINUSE; i++)
        number = try_connect(a, p, &made, conn, error);
    return !number;
}

static bool do_answer(void *connection, bool accept, const struct agent_octets *data, char *error)
{
    struct rdma_connection *c = connection;
    if (!c->asked)
        return agent_fail(error, "no Request waits for an answer");
    if (!rdma_private_fits(data, error))
        return false;
    if (!accept) {
        (void)rdma_reject(c->cm, data->data, (uint8_t)data->length);
        c->closed = true;
        rdma_finish(c, "graceful", NULL);
        return true;
    }
    if (!rdma_accept_with(c, data))
        return true;
    agent_fail(error, "the connection is over: %s", strerror(errno));
    rdma_finish(c, "lost", NULL);
    return false;
}

static bool do_close(void *connection, enum agent_how how, uint8_t code, char *error)
{
    struct rdma_connection *c = connection;
    (void)code;
    if (how == AGENT_TERMINATE)
        return agent_fail(error, AGENT_UNSUPPORTED "field how: terminate");
    if (how == AGENT_GRACEFUL) {
        rdma_close_when_done(c);
        return true;
    }
    /* A queue pair in error ends its stream at once; rdma_disconnect(3) would wait for the work
     * under way. */
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
    (void)ibv_modify_qp(c->cm->qp, &attributes, IBV_QP_STATE);
    rdma_finish(c, "aborted", NULL);
    return true;
}

/* ---- the whole ---- */

static void hang_up(void *b)
{
    struct rdma_agent *a = b;
    for (size_t i = 0; i < AGENT_CONNECTIONS; i++)
        if (a->connections[i].base.id != 0)
            rdma_drop_connection(&a->connections[i]);
    for (size_t i = 0; i < AGENT_LISTENERS; i++)
        if (a->listeners[i].base.id != 0)
            rdma_close_listener(&a->listeners[i]);
}

static void destroy(void *b)
{
    struct rdma_agent *a = b;
    hang_up(a);
    for (size_t i = 0; i < 3; i++)
        iw_watch_destroy(a->watches[i]);
    for (size_t i = 0; i < AGENT_DOMAINS && a->domains[i] != NULL; i++)
        (void)ibv_dealloc_pd(a->domains[i]);
    if (a->completions != NULL)
        (void)ibv_destroy_comp_channel(a->completions);
    free(a);
}

static struct agent_core *create(struct iw_reactor *reactor, const void *settings,
                                 agent_emit_fn emit, void *context)
{
    struct rdma_agent *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return NULL;
    a->core =
        (struct agent_core){.reactor = reactor,
                            .emit = emit,
                            .context = context,
                            .listeners = {AGENT_SLOTS(a->listeners), "listen", "listener"},
                            .connections = {AGENT_SLOTS(a->connections), "conn", "connection"},
                            .domain_count = 1};
    a->device = settings;
    a->completions = ibv_create_comp_channel(a->device->verbs);
    a->domains[0] = ibv_alloc_pd(a->device->verbs);
    if (a->completions == NULL || a->domains[0] == NULL || !rdma_watch(a)) {
        destroy(a);
        return NULL;
    }
    return &a->core;
}

const struct agent_backend *agent_rdma_backend(const struct agent_rdma_device *device)
{
    static struct agent_backend backend = {.name = "verbs",
                                           .create = create,
                                           .destroy = destroy,
                                           .hang_up = hang_up,
                                           .features = rdma_features,
                                           .device = rdma_identity,
                                           .listen = rdma_listen_at,
                                           .unlisten = rdma_close_listener,
                                           .connect = do_connect,
                                           .answer = do_answer,
                                           .close = do_close,
                                           .domain = rdma_domain,
                                           .enrol = rdma_enrol,
                                           .invalidate = rdma_invalidate,
                                           .forget = rdma_forget,
                                           .receive = rdma_receive,
                                           .post = rdma_post};
    backend.bind = device->windows_1 || device->windows_2 ? rdma_bind : NULL;
    return &backend;
}
