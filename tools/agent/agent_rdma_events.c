/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of librdmacm and the device for the backend on verbs, and the end of connections. */
#include "agent_rdma.h"

#include "host/complain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* ---- completions ---- */

static const char *status_name(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_SUCCESS:
        return "ok";
    case IBV_WC_WR_FLUSH_ERR:
        return "flushed";
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
    case IBV_WC_REM_ABORT_ERR:
        return "remote-fault";
    default:
        return "local-fault";
    }
}

static void completed(struct rdma_connection *c, uint32_t slot, const struct ibv_wc *wc)
{
    struct rdma_record *r = &c->records[slot];
    bool received = r->op == IW_WORK_RECV, ok = wc->status == IBV_WC_SUCCESS;
    uint64_t length = !ok ? 0 : received ? wc->byte_len : r->length;
    r->used = false;
    if (received)
        c->receives--;
    else
        c->sends--;
    if (r->outcome != NULL) {
        *r->outcome = wc->status;
        return;
    }
    bool atomic = r->op == IW_WORK_FETCH_ADD || r->op == IW_WORK_CMP_SWAP;
    bool invalidated = ok && received && (wc->wc_flags & IBV_WC_WITH_INV) != 0;
    bool fault = !ok && wc->status != IBV_WC_WR_FLUSH_ERR;
    char error[AGENT_ERROR];
    if (invalidated) /* by the peer: what the device cannot do now stays */
        (void)rdma_invalidate(c->agent, wc->invalidated_rkey, error);
    agent_report(&c->base, "completion", "{s:I,s:s,s:s,s:I,s:o*,s:o*,s:s*}", "work",
                 (json_int_t)r->work, "op", agent_op_names[r->op], "status",
                 status_name(wc->status), "length", (json_int_t)length, "invalidated",
                 invalidated ? json_integer(wc->invalidated_rkey) : NULL, "original",
                 ok && atomic ? iw_json_wide(c->originals[slot]) : NULL, "error",
                 fault ? ibv_wc_status_str(wc->status) : NULL);
}

static void poll_completions(struct rdma_connection *c)
{
    struct ibv_wc wc[16];
    int n;
    while ((n = ibv_poll_cq(c->cq, COUNT(wc), wc)) > 0)
        for (int i = 0; i < n; i++) {
            uint32_t slot = (uint32_t)wc[i].wr_id;
            if (wc[i].wr_id < c->plan.send_depth + c->plan.recv_depth && c->records[slot].used)
                completed(c, slot, &wc[i]);
        }
}

void rdma_poll_for(struct rdma_connection *c, const struct rdma_record *r, int ms)
{
    poll_completions(c);
    for (; ms > 0 && (r != NULL ? r->used : c->sends + c->receives > 0); ms--) {
        (void)poll(NULL, 0, 1);
        poll_completions(c);
    }
}

static void close_if_done(struct rdma_connection *c)
{
    if (!c->closing || c->closed || c->sends > 0 || !c->open)
        return;
    c->closed = true;
    (void)rdma_disconnect(c->cm);
}

void rdma_close_when_done(struct rdma_connection *c)
{
    c->closing = true;
    close_if_done(c);
}

static void on_completions(void *context, uint32_t events)
{
    struct rdma_agent *a = context;
    struct ibv_cq *cq;
    void *own;
    (void)events;
    while (!ibv_get_cq_event(a->completions, &cq, &own)) {
        struct rdma_connection *c = own;
        ibv_ack_cq_events(cq, 1);
        (void)ibv_req_notify_cq(cq, 0);
        poll_completions(c);
        close_if_done(c);
    }
}

/* ---- the end ---- */

/* Waits while the device flushes posted work, which may take a little; work that is left when the
 * time is over was not executed either. */
static void flush(struct rdma_connection *c)
{
    const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR};
    if (!c->closed)
        (void)rdma_disconnect(c->cm);
    rdma_poll_for(c, NULL, RDMA_FLUSH_MS);
    for (uint32_t i = 0; i < c->plan.send_depth + c->plan.recv_depth; i++)
        if (c->records[i].used)
            completed(c, i, &flushed);
}

/* Returns the state according to the device, NULL if it does not report one. */
static const char *queue_pair_state(const struct rdma_connection *c)
{
    static const char *const names[] = {
        [IBV_QPS_RESET] = "reset", [IBV_QPS_INIT] = "init", [IBV_QPS_RTR] = "rtr",
        [IBV_QPS_RTS] = "rts",     [IBV_QPS_SQD] = "sqd",   [IBV_QPS_SQE] = "sqe",
        [IBV_QPS_ERR] = "error"};
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr initial;
    if (c->cm->qp == NULL || ibv_query_qp(c->cm->qp, &attributes, IBV_QP_STATE, &initial) ||
        (unsigned)attributes.qp_state > IBV_QPS_ERR)
        return NULL;
    return names[attributes.qp_state];
}

void rdma_finish(struct rdma_connection *c, const char *cause, const char *reason)
{
    const char *state = queue_pair_state(c);
    flush(c);
    agent_report(&c->base, "closed", "{s:o*,s:s*,s:s*,s:s*}", "graceful",
                 cause == NULL ? NULL : json_boolean(strcmp(cause, "graceful") == 0), "cause",
                 cause, "error", reason, "qp", state);
    rdma_drop_connection(c);
}

/* ---- librdmacm ---- */

static struct agent_octets private_of(const struct rdma_cm_event *event)
{
    const struct rdma_conn_param *p = &event->param.conn;
    struct agent_octets o = {NULL, 0};
    if (p->private_data != NULL && p->private_data_len > 0)
        o.data = malloc(p->private_data_len);
    if (o.data != NULL) {
        o.length = p->private_data_len;
        memcpy(o.data, p->private_data, o.length);
    }
    return o;
}

static void asked(struct rdma_listener *l, struct rdma_cm_id *cm, struct agent_octets *data)
{
    char error[AGENT_ERROR];
    struct rdma_connection *c = rdma_new_connection(l->agent, cm, &l->plan, error);
    if (c == NULL) {
        agent_octets_free(data);
        return;
    }
    c->base.listen = l->base.id;
    c->peer_private = *data;
    c->asked = l->base.ask;
    if (c->asked)
        agent_report(&c->base, "request", "{s:o*,s:o}", "listen", agent_listen_of(&c->base),
                     "private", iw_json_hex(data->data, data->length));
    else if (rdma_accept_with(c, &l->base.reply))
        rdma_finish(c, "lost", strerror(errno));
}

static void established(struct rdma_connection *c)
{
    c->open = true;
    agent_report(&c->base, "established", "{s:o,s:o*}", "private",
                 iw_json_hex(c->peer_private.data, c->peer_private.length), "listen",
                 agent_listen_of(&c->base));
    close_if_done(c);
}

static void disconnected(struct rdma_connection *c, int status)
{
    poll_completions(c);
    if (c->faulted) {
        rdma_finish(c, "fault", NULL);
        return;
    }
    if (!c->closing)
        agent_report(&c->base, "peer-closed", "{}");
    /* librdmacm reports the same for a FIN, a reset and a Terminate. */
    const char *cause = status != 0 ? "lost" : c->closing ? "graceful" : NULL;
    rdma_finish(c, cause, status == 0 ? NULL : strerror(abs(status)));
}

static void happened(struct rdma_connection *c, enum rdma_cm_event_type kind, int status,
                     struct agent_octets *data)
{
    switch (kind) {
    case RDMA_CM_EVENT_ESTABLISHED:
        if (c->base.listen == 0) {
            c->peer_private = *data;
            *data = (struct agent_octets){NULL, 0};
        }
        established(c);
        break;
    case RDMA_CM_EVENT_REJECTED:
        agent_report(&c->base, "rejected", "{s:o}", "private",
                     iw_json_hex(data->data, data->length));
        rdma_finish(c, "graceful", NULL);
        break;
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
        rdma_finish(c, "lost", status == 0 ? NULL : strerror(abs(status)));
        break;
    case RDMA_CM_EVENT_DISCONNECTED:
        disconnected(c, status);
        break;
    default:
        break;
    }
}

/* Ends the program: drivers wait until a device that is taken away is not used any more. */
static void device_gone(struct rdma_agent *a)
{
    if (a->device_gone)
        return;
    a->device_gone = true;
    iw_complain("%s was removed", a->device->verbs->device->name);
    for (size_t i = 0; i < AGENT_CONNECTIONS; i++)
        if (a->connections[i].base.id != 0)
            rdma_finish(&a->connections[i], "lost", "the device was removed");
    (void)raise(SIGTERM);
}

/* Returns the connection that an event is about, NULL if it is a listener's or nobody's any more.
 */
static struct rdma_connection *connection_of(struct rdma_agent *a, const void *own)
{
    const struct rdma_connection *c = own;
    return c >= a->connections && c < a->connections + AGENT_CONNECTIONS
               ? (struct rdma_connection *)(uintptr_t)own
               : NULL;
}

static void on_events(void *context, uint32_t events)
{
    struct rdma_agent *a = context;
    struct rdma_cm_event *event;
    (void)events;
    while (!rdma_get_cm_event(a->device->events, &event)) {
        enum rdma_cm_event_type kind = event->event;
        int status = event->status;
        struct rdma_cm_id *cm = event->id;
        struct agent_octets data = private_of(event);
        bool request = kind == RDMA_CM_EVENT_CONNECT_REQUEST;
        void *own = request ? event->listen_id->context : cm->context;
        (void)rdma_ack_cm_event(event);
        if (request && own != NULL) {
            asked(own, cm, &data);
            continue;
        }
        if (request) { /* of a listener that is parked */
            (void)rdma_reject(cm, NULL, 0);
            (void)rdma_destroy_id(cm);
        } else if (kind == RDMA_CM_EVENT_DEVICE_REMOVAL)
            device_gone(a);
        else if (connection_of(a, own) != NULL)
            happened(own, kind, status, &data);
        agent_octets_free(&data);
    }
}

/* ---- asynchronous events ---- */

/* Returns true if an event is a fault of this connection. */
static bool concerns(const struct ibv_async_event *event, const struct rdma_connection *c)
{
    switch (event->event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        return c->cm->qp == event->element.qp;
    case IBV_EVENT_CQ_ERR:
        return c->cq == event->element.cq;
    case IBV_EVENT_DEVICE_FATAL:
        return true;
    default:
        return false;
    }
}

static void on_async(void *context, uint32_t events)
{
    struct rdma_agent *a = context;
    struct ibv_async_event event;
    (void)events;
    while (!ibv_get_async_event(a->device->verbs, &event)) {
        const char *name = ibv_event_type_str(event.event_type);
        ibv_ack_async_event(&event);
        for (size_t i = 0; i < AGENT_CONNECTIONS; i++) {
            struct rdma_connection *c = &a->connections[i];
            if (c->base.id == 0 || !concerns(&event, c))
                continue;
            poll_completions(c);
            c->faulted = true;
            agent_report(&c->base, "fault", "{s:s}", "error", name);
        }
        if (event.event_type == IBV_EVENT_PORT_ERR || event.event_type == IBV_EVENT_PORT_ACTIVE ||
            event.event_type == IBV_EVENT_DEVICE_FATAL)
            iw_complain("%s: %s", a->device->verbs->device->name, name);
        if (event.event_type == IBV_EVENT_DEVICE_FATAL)
            device_gone(a);
    }
}

bool rdma_watch(struct rdma_agent *a)
{
    const struct {
        int fd;
        iw_watch_fn ready;
    } sources[] = {{a->device->events->fd, on_events},
                   {a->completions->fd, on_completions},
                   {a->device->verbs->async_fd, on_async}};
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        int flags = fcntl(sources[i].fd, F_GETFL);
        if (flags < 0 || fcntl(sources[i].fd, F_SETFL, flags | O_NONBLOCK))
            return false;
        a->watches[i] =
            iw_watch_create(a->core.reactor, sources[i].fd, EPOLLIN, sources[i].ready, a);
        if (a->watches[i] == NULL)
            return false;
    }
    return true;
}
