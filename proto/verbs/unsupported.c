/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that iWARP or this library has no meaning for. */
#include "verbs/objects.h"

#include <errno.h>

static int refuse(const char *name)
{
    iw_verbs_note("%s is not supported", name);
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
