/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of the backend on verbs: selection, capabilities, faults. */
#include "agent_rdma.h"

#include "host/complain.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NAMES = 100 };

/* ---- which one ---- */

static bool speaks_iwarp(const struct ibv_device *device)
{
    return device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Appends " NAME", as long as there is room. */
static void add_name(char *names, const char *name)
{
    size_t used = strlen(names);
    if (used + strlen(name) + 2 <= NAMES)
        snprintf(names + used, NAMES - used, " %s", name);
}

/* Returns the device of `list` that --device selects, or NULL with a text. */
static struct ibv_context *choose(struct ibv_context **list, int count, const char *name,
                                  char *error)
{
    char iwarp[NAMES] = "", others[NAMES] = "";
    struct ibv_context *found = NULL;
    int usable = 0;
    for (int i = 0; i < count; i++) {
        const struct ibv_device *device = list[i]->device;
        bool right = speaks_iwarp(device);
        add_name(right ? iwarp : others, device->name);
        usable += right;
        if (name == NULL ? right : strcmp(device->name, name) == 0)
            found = list[i];
    }
    if (name != NULL && found == NULL)
        agent_fail(error, "--device %.60s: no such RDMA device; there are:%s%s", name, iwarp,
                   others);
    else if (name != NULL && !speaks_iwarp(found->device))
        agent_fail(error, "--device %.60s: it speaks InfiniBand or RoCE; those with iWARP:%s", name,
                   iwarp[0] != '\0' ? iwarp : " none");
    else if (name == NULL && !usable)
        agent_fail(error, "--backend verbs: no device here speaks iWARP (InfiniBand or RoCE:%s)",
                   others);
    else if (name == NULL && usable > 1)
        agent_fail(error, "--backend verbs: expected --device with one of:%s", iwarp);
    else
        return found;
    return NULL;
}

static bool port_active(const struct agent_rdma_device *device)
{
    struct ibv_port_attr port;
    for (int i = 1; i <= device->attributes.phys_port_cnt; i++)
        if (!ibv_query_port(device->verbs, (uint8_t)i, &port) && port.state == IBV_PORT_ACTIVE)
            return true;
    return false;
}

int agent_rdma_find(const char *name, struct agent_rdma_device *device, char *error)
{
    int count = 0;
    struct ibv_device **there = ibv_get_device_list(&count);
    if (there != NULL)
        ibv_free_device_list(there);
    if (there == NULL || !count) {
        agent_fail(
            error,
            "--backend verbs: this host has no RDMA device (rdma link show), or libibverbs no "
            "driver for it (package ibverbs-providers)");
        return -1;
    }
    struct ibv_context **list = rdma_get_devices(&count);
    if (list == NULL) {
        agent_fail(error, "--backend verbs: librdmacm: %s (is rdma_ucm loaded?)", strerror(errno));
        return -1;
    }
    device->verbs = choose(list, count, name, error);
    rdma_free_devices(list);
    if (device->verbs == NULL)
        return -1;
    device->events = rdma_create_event_channel();
    device->parked = calloc(RDMA_PARKED, sizeof(*device->parked));
    if (device->events == NULL || device->parked == NULL ||
        ibv_query_device(device->verbs, &device->attributes)) {
        agent_fail(error, "--backend verbs: cannot use %.60s: %s", device->verbs->device->name,
                   strerror(errno));
        return -1;
    }
    unsigned flags = device->attributes.device_cap_flags;
    device->invalidates = (flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
    device->atomics = device->attributes.atomic_cap != IBV_ATOMIC_NONE;
    device->windows_1 = (flags & IBV_DEVICE_MEM_WINDOW) != 0;
    device->windows_2 =
        (flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0;
    if (!port_active(device))
        iw_complain("%s: no port of it is active", device->verbs->device->name);
    return 0;
}

/* ---- what it can do ---- */

json_t *rdma_features(void *b)
{
    const struct agent_rdma_device *d = ((struct rdma_agent *)b)->device;
    const struct ibv_device_attr *most = &d->attributes;
    bool windows = d->windows_1 || d->windows_2;
    json_t *access = json_pack("[s,s,s,s*,s*,s*]", "local-write", "remote-read", "remote-write",
                               d->invalidates ? "remote-invalidate" : NULL,
                               d->atomics ? "remote-atomic" : NULL, windows ? "bind" : NULL);
    json_t *ops = json_pack("[s,s,s,s,s*,s*,s*,s*]", "send", "send-se", "write", "read",
                            d->invalidates ? "send-invalidate" : NULL,
                            d->invalidates ? "send-se-invalidate" : NULL,
                            d->atomics ? "fetch-add" : NULL, d->atomics ? "cmp-swap" : NULL);
    return json_pack("{s:s,s:i,s:b,s:o,s:o,s:[],s:[s,s,s,s],s:{s:i,s:i,s:i,s:i,s:i,s:i}}", "device",
                     d->verbs->device->name, "max_private", (int)RDMA_PRIVATE_MAX, "windows",
                     windows, "access", access, "ops", ops, "reports", "config", "ird", "ord",
                     "send_depth", "recv_depth", "limits", "pieces", most->max_sge, "memories",
                     most->max_mr, "queue", most->max_qp_wr, "connections", most->max_qp, "ird",
                     most->max_qp_rd_atom, "ord", most->max_qp_init_rd_atom);
}

/* A device without hardware, such as siw, has no driver there. */
json_t *rdma_identity(void *b)
{
    const struct agent_rdma_device *d = ((struct rdma_agent *)b)->device;
    char path[PATH_MAX], link[PATH_MAX];
    snprintf(path, sizeof(path), "%s/device/driver", d->verbs->device->ibdev_path);
    ssize_t length = readlink(path, link, sizeof(link) - 1);
    link[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(link, '/');
    const char *firmware = d->attributes.fw_ver;
    return json_pack("{s:s,s:s*,s:s*}", "name", d->verbs->device->name, "driver",
                     slash != NULL ? slash + 1 : NULL, "firmware",
                     firmware[0] != '\0' ? firmware : NULL);
}

/* ---- what is wrong ---- */

int rdma_check_device(const struct rdma_agent *a, const struct rdma_cm_id *cm)
{
    if (cm->verbs == a->device->verbs)
        return 0;
    errno = ENODEV;
    return -1;
}

bool rdma_no_resource(const struct rdma_agent *a, const char *what, int number, char *error)
{
    struct rlimit locked;
    const char *text = strerror(number);
    if (number != ENOMEM)
        return agent_fail(error, "%s: %s", what, text);
    if (getrlimit(RLIMIT_MEMLOCK, &locked) || locked.rlim_cur == RLIM_INFINITY)
        return agent_fail(error, "%s: %s, or %.60s has no more of them", what, text,
                          a->device->verbs->device->name);
    return agent_fail(error,
                      "%s: %s; this process may lock %" PRIu64
                      " KiB (RLIMIT_MEMLOCK): try ulimit -l unlimited",
                      what, text, (uint64_t)locked.rlim_cur / 1024);
}

bool rdma_no_way(const struct rdma_agent *a, const char *what, const struct iw_host_port *at,
                 int number, char *error)
{
    bool active = port_active(a->device);
    if (number == ENODEV || number == EADDRNOTAVAIL)
        return agent_fail(error, "cannot %s %.60s port %u: not by way of %.60s%s", what, at->host,
                          at->port, a->device->verbs->device->name,
                          active ? "" : ", no port of which is active");
    return agent_fail(error, "cannot %s %.60s port %u: %.60s%s", what, at->host, at->port,
                      strerror(number), active ? "" : " (no port of the device is active)");
}
