/* SPDX-License-Identifier: BSD-3-Clause */
/* The one device, iwarp0: it covers every address of the host. */
#include "verbs/objects.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Libraries of real devices look for their own operations after the public struct: they find
 * NULL. */
static struct {
    struct ibv_device device;
    void *not_theirs[32];
} iwarp0 = {
    .device =
        {
            .node_type = IBV_NODE_RNIC,
            .transport_type = IBV_TRANSPORT_IWARP,
            .name = "iwarp0",
            .dev_name = "uverbs-iwarp0",
            .dev_path = "/sys/class/infiniband_verbs/uverbs-iwarp0",
            .ibdev_path = "/sys/class/infiniband/iwarp0",
        },
};

/* A locally administered EUI-64 made of the host's name. */
__be64 iw_verbs_guid(void)
{
    const uint8_t oui[3] = {IW_VERBS_OUI >> 16, IW_VERBS_OUI >> 8 & 0xff, IW_VERBS_OUI & 0xff};
    char name[256] = "";
    uint32_t hash = 2166136261u;
    uint8_t guid[8];
    __be64 result;
    (void)gethostname(name, sizeof(name) - 1);
    for (const char *p = name; *p != '\0'; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    memcpy(guid, oui, sizeof(oui));
    guid[3] = 0xff;
    memcpy(guid + 4, &hash, sizeof(hash));
    memcpy(&result, guid, sizeof(result));
    return result;
}

static bool gid_of(const struct sockaddr *a, union ibv_gid *gid)
{
    memset(gid, 0, sizeof(*gid));
    if (a != NULL && a->sa_family == AF_INET6) {
        memcpy(gid->raw, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 16);
        return true;
    }
    if (a == NULL || a->sa_family != AF_INET)
        return false;
    gid->raw[10] = gid->raw[11] = 0xff; /* ::ffff:a.b.c.d */
    memcpy(gid->raw + 12, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
    return true;
}

int iw_verbs_gid(int index, union ibv_gid *gid)
{
    struct ifaddrs *all = NULL;
    union ibv_gid one;
    int count = 0;
    if (getifaddrs(&all) != 0)
        return 0;
    for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next)
        if (gid_of(a->ifa_addr, &one) && count++ == index)
            *gid = one;
    freeifaddrs(all);
    return count;
}

struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list = calloc(2, sizeof(*list));
    if (list != NULL)
        list[0] = &iwarp0.device;
    if (count != NULL)
        *count = list != NULL;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
    (void)device;
    return 0;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    (void)device;
    return iw_verbs_guid();
}

/* ---- contexts ---- */

static void fill(struct verbs_context *v)
{
    struct ibv_context_ops *ops = &v->context.ops;
    v->sz = sizeof(*v);
    v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    iw_verbs_fill_unsupported(v);
    v->query_port = iw_verbs_query_port;
    v->query_device_ex = iw_verbs_query_device_ex;
    v->query_rt_values = iw_verbs_query_rt_values;
    v->create_qp_ex = iw_verbs_create_qp_ex;
    v->create_cq_ex = iw_verbs_create_cq_ex;
    v->alloc_parent_domain = iw_verbs_parent_domain;
    v->alloc_td = iw_verbs_alloc_td;
    v->dealloc_td = iw_verbs_dealloc_td;
    v->advise_mr = iw_verbs_advise_mr;
    ops->alloc_mw = iw_verbs_alloc_mw;
    ops->bind_mw = iw_verbs_bind_mw;
    ops->dealloc_mw = iw_verbs_dealloc_mw;
    ops->poll_cq = iw_verbs_poll_cq;
    ops->req_notify_cq = iw_verbs_req_notify_cq;
    ops->post_srq_recv = iw_verbs_post_srq_recv;
    ops->post_send = iw_verbs_post_send;
    ops->post_recv = iw_verbs_post_recv;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    if (device != &iwarp0.device) {
        errno = ENODEV;
        return NULL;
    }
    struct iw_verbs_context *c = calloc(1, sizeof(*c));
    int async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE), command_fd = eventfd(0, EFD_CLOEXEC);
    if (c == NULL || async_fd < 0 || command_fd < 0 || !iw_verbs_enter()) {
        int saved = c == NULL ? ENOMEM : errno;
        if (async_fd >= 0)
            close(async_fd);
        if (command_fd >= 0)
            close(command_fd);
        free(c);
        errno = saved;
        return NULL;
    }
    fill(&c->verbs);
    c->verbs.context.device = device;
    c->verbs.context.async_fd = async_fd;
    c->verbs.context.cmd_fd = command_fd; /* no command can be given to it */
    c->verbs.context.num_comp_vectors = 1;
    pthread_mutex_init(&c->verbs.context.mutex, NULL);
    iw_verbs_unlock();
    iw_verbs_own(async_fd, true);
    return &c->verbs.context;
}

int ibv_close_device(struct ibv_context *context)
{
    struct iw_verbs_context *c = iw_verbs_context(context);
    iw_verbs_lock();
    bool used = c->uses > 0;
    iw_verbs_unlock();
    if (used) {
        errno = EBUSY;
        return -1;
    }
    iw_verbs_own(context->async_fd, false);
    close(context->async_fd);
    close(context->cmd_fd);
    pthread_mutex_destroy(&context->mutex);
    free(c);
    return 0;
}
