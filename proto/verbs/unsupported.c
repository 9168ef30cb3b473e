/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that iWARP or this library has no meaning for. */
#include "verbs/objects.h"
#include "verbs/settings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 128 }; /* more than there are */

void iw_verbs_refused(const char *name)
{
    static _Atomic(const char *) reported[NAMES];
    struct iw_verbs_settings settings;
    iw_verbs_read_settings(getenv("IWARP_VERBS"), &settings);
    if (!settings.verbose)
        return;
    for (unsigned i = 0; i < NAMES; i++) {
        const char *known = NULL;
        if (atomic_compare_exchange_strong(&reported[i], &known, name)) {
            fprintf(stderr, "iwarp-run: %s is not supported\n", name);
            return;
        }
        if (strcmp(known, name) == 0)
            return;
    }
}

static int refuse(const char *name)
{
    iw_verbs_refused(name);
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

static void *refuse_pointer(const char *name)
{
    (void)refuse(name);
    return NULL;
}

/* Datagrams and multicast. */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    (void)pd, (void)attr;
    return refuse_pointer("ibv_create_ah");
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
                        struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
    (void)context, (void)port, (void)wc, (void)grh, (void)attr;
    return refuse("ibv_init_ah_from_wc");
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                     uint8_t port)
{
    (void)pd, (void)wc, (void)grh, (void)port;
    return refuse_pointer("ibv_create_ah_from_wc");
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    (void)ah;
    return refuse("ibv_destroy_ah");
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)qp, (void)gid, (void)lid;
    return refuse("ibv_attach_mcast");
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)qp, (void)gid, (void)lid;
    return refuse("ibv_detach_mcast");
}

IW_VERBS_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
                                                struct ibv_ah_attr *attr, uint8_t mac[6],
                                                uint16_t *vid);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
                                uint8_t mac[6], uint16_t *vid)
{
    (void)context, (void)attr, (void)mac, (void)vid;
    return refuse("ibv_resolve_eth_l2_from_gid");
}

/* Objects of other processes, device memory, DMA buffers. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
    (void)cmd_fd;
    return refuse_pointer("ibv_import_device");
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
    (void)context, (void)handle;
    return refuse_pointer("ibv_import_pd");
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
    (void)pd;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
    (void)pd, (void)handle;
    return refuse_pointer("ibv_import_mr");
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
    (void)mr;
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
    (void)context, (void)handle;
    return refuse_pointer("ibv_import_dm");
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
    (void)dm;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
    return refuse_pointer("ibv_reg_dmabuf_mr");
}

/* Enhanced connection establishment of InfiniBand. */
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    return ece->vendor_id == 0 ? 0 : refuse("ibv_set_ece");
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    *ece = (struct ibv_ece){0};
    return 0;
}

/* No memory is pinned, so a child of fork shares nothing that must be kept from it. */
int ibv_fork_init(void)
{
    return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

IW_VERBS_EXPORT int ibv_dontfork_range(void *base, size_t size);
int ibv_dontfork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}

IW_VERBS_EXPORT int ibv_dofork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}

/* ---- what the header's inline functions look for in the context ---- */

static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
    (void)pd;
    return refuse_pointer("ibv_alloc_null_mr");
}

static struct ibv_counters *create_counters(struct ibv_context *context,
                                            struct ibv_counters_init_attr *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_create_counters");
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_alloc_dm");
}

static struct ibv_flow_action *create_flow_action_esp(struct ibv_context *context,
                                                      struct ibv_flow_action_esp_attr *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_create_flow_action_esp");
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
    (void)qp, (void)attr;
    return refuse_pointer("ibv_create_flow");
}

static int modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
    (void)qp, (void)attr;
    return refuse("ibv_modify_qp_rate_limit");
}

static int modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
    (void)cq, (void)attr;
    return refuse("ibv_modify_cq");
}

static int post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad)
{
    (void)srq;
    *bad = op;
    return refuse("ibv_post_srq_ops");
}

static struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *context,
                                                      struct ibv_rwq_ind_table_init_attr *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_create_rwq_ind_table");
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_create_wq");
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_open_qp");
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
    (void)srq, (void)number;
    return refuse("ibv_get_srq_num");
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_create_srq_ex of another type than basic");
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
    (void)context, (void)attr;
    return refuse_pointer("ibv_open_xrcd");
}

/* What acts on an object that these make is never called. */
void iw_verbs_fill_unsupported(struct verbs_context *v)
{
    v->alloc_null_mr = alloc_null_mr;
    v->create_counters = create_counters;
    v->alloc_dm = alloc_dm;
    v->create_flow_action_esp = create_flow_action_esp;
    v->ibv_create_flow = create_flow;
    v->modify_qp_rate_limit = modify_qp_rate_limit;
    v->modify_cq = modify_cq;
    v->post_srq_ops = post_srq_ops;
    v->create_rwq_ind_table = create_rwq_ind_table;
    v->create_wq = create_wq;
    v->open_qp = open_qp;
    v->get_srq_num = get_srq_num;
    v->create_srq_ex = create_srq_ex;
    v->open_xrcd = open_xrcd;
}
