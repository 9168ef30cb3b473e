/* SPDX-License-Identifier: BSD-3-Clause */
#include "doubles.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

struct doubles doubles;

static struct {
    struct rdma_cm_event event[DOUBLE_QUEUE];
    char data[DOUBLE_QUEUE][255];
    int count, cm_fd;
    struct ibv_wc wc[DOUBLE_QUEUE];
    int wc_count, wc_fd;
    struct ibv_async_event async[DOUBLE_QUEUE];
    int async_count, async_fd;
    struct ibv_cq *cq; /* the latest */
    struct {
        const struct ibv_mw *mw; /* NULL: none */
        const struct ibv_mr *mr;
    } bound[DOUBLE_WINDOWS];
    uint32_t key;
    struct rdma_event_channel channel;
    struct ibv_comp_channel completions;
} own;

/* ---- for tests ---- */

static bool fails(enum double_fault fault)
{
    if (doubles.fault != fault || doubles.times == 0)
        return false;
    if (doubles.after > 0) {
        doubles.after--;
        return false;
    }
    doubles.times--;
    errno = doubles.number;
    return true;
}

static void renew(int *fd)
{
    if (*fd > 0)
        close(*fd);
    *fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
}

static void raise_fd(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof(one)) != sizeof(one))
        abort();
}

/* False if nothing waits. */
static bool lower_fd(int fd)
{
    uint64_t one;
    return read(fd, &one, sizeof(one)) == sizeof(one);
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    int n = cq != own.cq ? 0 : own.wc_count < count ? own.wc_count : count;
    memcpy(wc, own.wc, (size_t)n * sizeof(*wc));
    own.wc_count -= n;
    memmove(own.wc, own.wc + n, (size_t)own.wc_count * sizeof(*wc));
    return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    (void)cq;
    return solicited_only;
}

/* `mw` is a window on `mr` now; NULL: on nothing. */
static void bound_to(const struct ibv_mw *mw, const struct ibv_mr *mr)
{
    int free_place = -1, i = 0;
    for (; i < DOUBLE_WINDOWS && own.bound[i].mw != mw; i++)
        if (own.bound[i].mw == NULL)
            free_place = i;
    if (i == DOUBLE_WINDOWS && mr != NULL)
        i = free_place;
    if (i < 0)
        abort();
    if (i < DOUBLE_WINDOWS) {
        own.bound[i].mw = mr != NULL ? mw : NULL;
        own.bound[i].mr = mr;
    }
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp;
    *bad = wr;
    if (fails(FAULT_POST))
        return doubles.number;
    doubles.sent = *wr;
    if (wr->num_sge > 0)
        memcpy(doubles.pieces, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
    if (wr->opcode == IBV_WR_BIND_MW && !doubles.bind_silent && !doubles.bind_fails)
        bound_to(wr->bind_mw.mw, wr->bind_mw.bind_info.mr);
    if (wr->opcode == IBV_WR_BIND_MW && !doubles.bind_silent)
        doubles_complete(
            &(struct ibv_wc){.wr_id = wr->wr_id,
                             .status = doubles.bind_fails ? IBV_WC_MW_BIND_ERR : IBV_WC_SUCCESS});
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)qp;
    *bad = wr;
    if (fails(FAULT_POST))
        return doubles.number;
    doubles.received = *wr;
    if (wr->num_sge > 0)
        memcpy(doubles.pieces, wr->sg_list, (size_t)wr->num_sge * sizeof(*wr->sg_list));
    return 0;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct ibv_mw *mw = fails(FAULT_ALLOC_MW) ? NULL : calloc(1, sizeof(*mw));
    if (mw == NULL)
        return NULL;
    *mw = (struct ibv_mw){
        .context = pd->context, .pd = pd, .rkey = 0x77000000 + (own.key++ << 8), .type = type};
    doubles.mws++;
    return mw;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    (void)qp;
    if (fails(FAULT_POST))
        return doubles.number;
    doubles.bound = *bind;
    mw->rkey = ibv_inc_rkey(mw->rkey);
    if (!doubles.bind_silent && !doubles.bind_fails)
        bound_to(mw, bind->bind_info.mr);
    if (!doubles.bind_silent)
        doubles_complete(
            &(struct ibv_wc){.wr_id = bind->wr_id,
                             .status = doubles.bind_fails ? IBV_WC_MW_BIND_ERR : IBV_WC_SUCCESS});
    return 0;
}

static int dealloc_mw(struct ibv_mw *mw)
{
    bound_to(mw, NULL);
    free(mw);
    doubles.mws--;
    return 0;
}

void doubles_begin(void)
{
    memset(&doubles, 0, sizeof(doubles));
    renew(&own.cm_fd);
    renew(&own.wc_fd);
    renew(&own.async_fd);
    own.count = own.wc_count = own.async_count = 0;
    own.channel.fd = own.cm_fd;
    own.completions.fd = own.wc_fd;
    own.key = 1;
    memset(own.bound, 0, sizeof(own.bound));
    doubles.devices = 1;
    doubles.port = 1; /* nobody listens there on TCP */
    doubles.qp_state = IBV_QPS_RTS;
    doubles.attributes = (struct ibv_device_attr){.max_sge = 4,
                                                  .max_mr = 1000,
                                                  .max_qp = 100,
                                                  .max_qp_wr = 128,
                                                  .max_qp_rd_atom = 32,
                                                  .max_qp_init_rd_atom = 64,
                                                  .phys_port_cnt = 1};
    for (int i = 0; i < DOUBLE_DEVICES; i++) {
        struct ibv_device *d = &doubles.device[i];
        d->transport_type = IBV_TRANSPORT_IWARP;
        snprintf(d->name, sizeof(d->name), "rnic%d", i);
        doubles.context[i] = (struct ibv_context){.device = d, .async_fd = own.async_fd};
        doubles.context[i].ops.poll_cq = poll_cq;
        doubles.context[i].ops.req_notify_cq = req_notify_cq;
        doubles.context[i].ops.post_send = post_send;
        doubles.context[i].ops.post_recv = post_recv;
        doubles.context[i].ops.alloc_mw = alloc_mw;
        doubles.context[i].ops.bind_mw = bind_mw;
        doubles.context[i].ops.dealloc_mw = dealloc_mw;
    }
}

void doubles_fail(enum double_fault fault, int number, int times)
{
    doubles.fault = fault;
    doubles.number = number;
    doubles.times = times;
}

void doubles_tell(enum rdma_cm_event_type kind, struct rdma_cm_id *id, struct rdma_cm_id *listener,
                  int status, const char *data)
{
    struct rdma_cm_event *e = &own.event[own.count];
    *e = (struct rdma_cm_event){.id = id, .listen_id = listener, .event = kind, .status = status};
    if (data != NULL) {
        memcpy(own.data[own.count], data, strlen(data));
        e->param.conn.private_data = own.data[own.count];
        e->param.conn.private_data_len = (uint8_t)strlen(data);
    }
    own.count++;
    raise_fd(own.cm_fd);
}

void doubles_complete(const struct ibv_wc *wc)
{
    own.wc[own.wc_count++] = *wc;
    raise_fd(own.wc_fd);
}

void doubles_async(enum ibv_event_type type, struct ibv_qp *qp, struct ibv_cq *cq)
{
    struct ibv_async_event *e = &own.async[own.async_count++];
    e->event_type = type;
    if (qp != NULL)
        e->element.qp = qp;
    else
        e->element.cq = cq;
    raise_fd(own.async_fd);
}

bool doubles_told(void)
{
    return lower_fd(own.cm_fd);
}

bool doubles_noticed(void)
{
    return lower_fd(own.wc_fd);
}

bool doubles_was_async(void)
{
    return lower_fd(own.async_fd);
}

int *doubles_descriptor(int which)
{
    return which == 0   ? &own.channel.fd
           : which == 1 ? &own.completions.fd
                        : &doubles.context[0].async_fd;
}

/* ---- the system ---- */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    bool v4 = strcmp(path, "/proc/self/net/tcp") == 0;
    if (!v4 && strcmp(path, "/proc/self/net/tcp6") != 0)
        return __real_fopen(path, mode);
    const char *text = v4 ? doubles.tcp : doubles.tcp6;
    return text == NULL ? NULL : fmemopen((void *)(uintptr_t)text, strlen(text), "r");
}

/* Waiting takes no time. */
int __real_poll(struct pollfd *list, nfds_t count, int ms);
int __wrap_poll(struct pollfd *list, nfds_t count, int ms);
int __wrap_poll(struct pollfd *list, nfds_t count, int ms)
{
    if (list != NULL)
        return __real_poll(list, count, ms);
    doubles.waited += ms;
    if (doubles.waited == doubles.late)
        doubles_complete(&doubles.latest);
    return 0;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' are longer */

/* ---- libibverbs ---- */

struct ibv_device **ibv_get_device_list(int *count)
{
    *count = doubles.devices;
    return calloc(DOUBLE_DEVICES + 1, sizeof(struct ibv_device *));
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
    (void)context;
    if (fails(FAULT_QUERY_DEVICE))
        return errno;
    *attributes = doubles.attributes;
    return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port,
                   struct _compat_ibv_port_attr *attributes)
{
    bool down = doubles.port_down || (doubles.port_up != 0 && doubles.port_up != port);
    (void)context;
    ((struct ibv_port_attr *)(void *)attributes)->state = down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = fails(FAULT_ALLOC_PD) ? NULL : calloc(1, sizeof(*pd));
    if (pd != NULL) {
        pd->context = context;
        doubles.pds++;
    }
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    doubles.pds--;
    return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    struct ibv_mr *mr = fails(FAULT_REG_MR) ? NULL : calloc(1, sizeof(*mr));
    if (mr == NULL)
        return NULL;
    uint32_t key = doubles.next_key != 0 ? doubles.next_key : 0x55000000 + (own.key++ << 8);
    doubles.next_key = 0;
    *mr = (struct ibv_mr){
        .context = pd->context, .pd = pd, .addr = addr, .length = length, .lkey = key, .rkey = key};
    doubles.registered[0] = doubles.registered[1];
    doubles.registered[1].addr = addr;
    doubles.registered[1].length = length;
    doubles.registered[1].iova = iova;
    doubles.registered[1].access = access;
    doubles.mrs++;
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

/* ibv_dereg_mr(3): it fails while a window is bound to the region. */
int ibv_dereg_mr(struct ibv_mr *mr)
{
    for (int i = 0; i < DOUBLE_WINDOWS; i++)
        if (own.bound[i].mr == mr)
            return EBUSY;
    free(mr);
    doubles.mrs--;
    return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    if (fails(FAULT_COMP_CHANNEL))
        return NULL;
    own.completions.context = context;
    doubles.channels++;
    return &own.completions;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    (void)channel;
    doubles.channels--;
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    struct ibv_cq *cq = fails(FAULT_CREATE_CQ) ? NULL : calloc(1, sizeof(*cq));
    (void)vector;
    if (cq == NULL)
        return NULL;
    cq->context = context;
    cq->cq_context = cq_context;
    cq->channel = channel;
    cq->cqe = entries;
    own.cq = cq;
    doubles.cqs++;
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    if (cq == own.cq)
        own.cq = NULL;
    free(cq);
    doubles.cqs--;
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    if (!lower_fd(channel->fd) || own.cq == NULL) {
        errno = EAGAIN;
        return -1;
    }
    *cq = own.cq;
    *cq_context = own.cq->cq_context;
    doubles.events_unacknowledged++;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    (void)cq;
    doubles.events_unacknowledged -= (int)count;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    if (!lower_fd(context->async_fd)) {
        errno = EAGAIN;
        return -1;
    }
    *event = own.async[0];
    memmove(own.async, own.async + 1, (size_t)--own.async_count * sizeof(*event));
    doubles.events_unacknowledged++;
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
    doubles.events_unacknowledged--;
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
    return type == IBV_EVENT_QP_FATAL ? "fatal error of a queue pair" : "something";
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    static char text[20];
    snprintf(text, sizeof(text), "status %d", (int)status);
    return text;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
                 struct ibv_qp_init_attr *initial)
{
    (void)qp;
    (void)initial;
    if (mask != IBV_QP_STATE)
        abort();
    if (fails(FAULT_QUERY_QP))
        return errno;
    attributes->qp_state = doubles.qp_state;
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
    (void)qp;
    doubles.modified_to_error += mask == IBV_QP_STATE && attributes->qp_state == IBV_QPS_ERR;
    return 0;
}

/* ---- librdmacm ---- */

struct ibv_context **rdma_get_devices(int *count)
{
    if (fails(FAULT_GET_DEVICES))
        return NULL;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): the list is one of pointers */
    struct ibv_context **list = calloc(DOUBLE_DEVICES + 1, sizeof(*list));
    for (*count = 0; list != NULL && *count < doubles.devices; ++*count)
        list[*count] = &doubles.context[*count];
    return list;
}

void rdma_free_devices(struct ibv_context **list)
{
    free(list);
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
    return fails(FAULT_EVENT_CHANNEL) ? NULL : &own.channel;
}

struct rdma_cm_id *doubles_new_id(void)
{
    struct rdma_cm_id *id = calloc(1, sizeof(*id));
    if (id == NULL)
        abort();
    id->verbs = &doubles.context[0];
    doubles.ids++;
    return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space space)
{
    if (fails(FAULT_CREATE_ID))
        return -1;
    *id = doubles_new_id();
    (*id)->channel = channel;
    (*id)->context = context;
    (*id)->ps = space;
    (*id)->verbs = NULL;
    doubles.id = *id;
    return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
    if (id->qp != NULL)
        abort(); /* rdma_destroy_id(3): the queue pair first */
    free(id);
    doubles.ids--;
    return 0;
}

static void find_device(struct rdma_cm_id *id)
{
    id->verbs = doubles.way != NULL ? doubles.way : &doubles.context[0];
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
    if (fails(FAULT_BIND_ADDR))
        return -1;
    memcpy(&id->route.addr.src_storage, addr,
           addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    find_device(id);
    return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
    (void)from;
    (void)to;
    if (fails(FAULT_RESOLVE) || ms <= 0)
        return -1;
    find_device(id);
    return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
    (void)id;
    return fails(FAULT_ROUTE) || ms <= 0 ? -1 : 0;
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
    id->channel = channel;
    return fails(FAULT_MIGRATE) ? -1 : 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
    (void)id;
    (void)backlog;
    return fails(FAULT_LISTEN) ? -1 : 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
    (void)id;
    return htons(doubles.port);
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
    struct ibv_qp *qp = fails(FAULT_CREATE_QP) ? NULL : calloc(1, sizeof(*qp));
    if (qp == NULL)
        return -1;
    qp->context = pd->context;
    qp->pd = pd;
    id->qp = qp;
    doubles.qp = *attributes;
    doubles.qps++;
    return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
    free(id->qp);
    id->qp = NULL;
    doubles.qps--;
}

static void keep(const struct rdma_conn_param *param)
{
    doubles.param = *param;
    if (param->private_data_len > 0)
        memcpy(doubles.private_data, param->private_data, param->private_data_len);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    (void)id;
    keep(param);
    return fails(FAULT_CONNECT) ? -1 : 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
    (void)id;
    keep(param);
    doubles.accepted++;
    return fails(FAULT_ACCEPT) ? -1 : 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t length)
{
    (void)id;
    keep(&(struct rdma_conn_param){.private_data = data, .private_data_len = length});
    doubles.rejected++;
    return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
    (void)id;
    doubles.disconnected++;
    return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    if (!lower_fd(channel->fd)) {
        errno = EAGAIN;
        return -1;
    }
    *event = &own.event[0];
    doubles.events_unacknowledged++;
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    (void)event;
    own.count--;
    memmove(own.event, own.event + 1, (size_t)own.count * sizeof(*own.event));
    memmove(own.data, own.data + 1, (size_t)own.count * sizeof(*own.data));
    for (int i = 0; i < own.count; i++)
        if (own.event[i].param.conn.private_data != NULL)
            own.event[i].param.conn.private_data = own.data[i];
    doubles.events_unacknowledged--;
    return 0;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
