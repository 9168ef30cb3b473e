/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device and its port can do. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Regions may be made of pages of every size: nothing is pinned or translated. */
#define PAGE_SIZES UINT64_C(0xfffff000)

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    (void)context;
    *attr = (struct ibv_device_attr){
        .fw_ver = IW_VERSION,
        .node_guid = iw_verbs_guid(),
        .sys_image_guid = iw_verbs_guid(),
        .max_mr_size = UINT64_MAX,
        .page_size_cap = PAGE_SIZES,
        .vendor_id = IW_VERBS_OUI,
        .vendor_part_id = 1,
        .max_qp = IW_VERBS_QPS,
        .max_qp_wr = IW_VERBS_WR,
        .device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SRQ_RESIZE |
                            IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B,
        .max_sge = IW_VERBS_SGE,
        .max_sge_rd = 1,
        .max_cq = IW_VERBS_QPS * 2,
        .max_cqe = IW_VERBS_CQE,
        .max_mr = IW_VERBS_REGIONS,
        .max_mw = IW_VERBS_REGIONS,
        .max_pd = IW_VERBS_REGIONS,
        .max_qp_rd_atom = IW_VERBS_READS,
        .max_res_rd_atom = IW_VERBS_READS * IW_VERBS_QPS,
        .max_qp_init_rd_atom = IW_VERBS_READS,
        .atomic_cap = IBV_ATOMIC_HCA,
        .max_srq = IW_VERBS_QPS,
        .max_srq_wr = IW_VERBS_WR,
        .max_srq_sge = IW_VERBS_SGE,
        .max_pkeys = 1,
        .phys_port_cnt = 1,
    };
    return 0;
}

int iw_verbs_query_device_ex(struct ibv_context *context,
                             const struct ibv_query_device_ex_input *input,
                             struct ibv_device_attr_ex *attr, size_t length)
{
    struct ibv_device_attr_ex all = {
        .phys_port_cnt_ex = 1, .completion_timestamp_mask = UINT64_MAX, .hca_core_clock = 1000000};
    (void)input;
    (void)ibv_query_device(context, &all.orig_attr);
    memset(attr, 0, length);
    memcpy(attr, &all, length < sizeof(all) ? length : sizeof(all));
    return 0;
}

int iw_verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    (void)context;
    if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0)
        clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
    values->comp_mask &= IBV_VALUES_MASK_RAW_CLOCK;
    return 0;
}

int iw_verbs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                        size_t length)
{
    union ibv_gid gid;
    struct ibv_port_attr all = {
        .state = IBV_PORT_ACTIVE,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_1024,
        .port_cap_flags = IBV_PORT_CM_SUP,
        .max_msg_sz = 0x7fffffff,
        .pkey_tbl_len = 1,
        .active_width = 2, /* 4X */
        .active_speed = 4, /* 10 Gbit/s; nothing is measured */
        .phys_state = 5,   /* LinkUp */
        .link_layer = IBV_LINK_LAYER_ETHERNET,
    };
    (void)context;
    if (port != 1)
        return EINVAL;
    all.gid_tbl_len = iw_verbs_gid(-1, &gid);
    memset(attr, 0, length);
    memcpy(attr, &all, length < sizeof(all) ? length : sizeof(all));
    return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return iw_verbs_query_port(context, port, (struct ibv_port_attr *)(void *)attr,
                               offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    (void)context;
    if (port != 1 || index < 0 || index >= iw_verbs_gid(index, gid)) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    struct ibv_gid_entry all = {.gid_index = index, .port_num = port};
    (void)context;
    if (flags != 0)
        return EOPNOTSUPP;
    if (port != 1 || index > INT32_MAX || (int)index >= iw_verbs_gid((int)index, &all.gid))
        return ENODATA;
    memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t room, uint32_t flags, size_t size)
{
    struct ibv_gid_entry entry;
    uint32_t count = 0;
    if (flags != 0)
        return -EOPNOTSUPP;
    for (; _ibv_query_gid_ex(context, 1, count, &entry, 0, sizeof(entry)) == 0; count++) {
        if (count == room)
            return -EINVAL;
        memcpy((char *)entries + count * size, &entry, size < sizeof(entry) ? size : sizeof(entry));
    }
    return (ssize_t)count;
}

IW_VERBS_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port,
                                       unsigned int index, int *type);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type)
{
    union ibv_gid gid;
    if (ibv_query_gid(context, port, (int)index, &gid) != 0)
        return -1;
    *type = 0;
    return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    (void)context;
    if (port != 1 || index != 0) {
        errno = EINVAL;
        return -1;
    }
    *pkey = (__be16)0xffff;
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
    (void)context;
    if (port == 1 && pkey == (__be16)0xffff)
        return 0;
    errno = EINVAL;
    return -1;
}

/* ---- what programs read of /sys ---- */

const char *ibv_get_sysfs_path(void)
{
    return "/sys";
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

int ibv_read_sysfs_file(const char *directory, const char *file, char *text, size_t room)
{
    static const struct {
        const char *file, *text;
    } files[] = {
        {"class/misc/rdma_cm/abi_version", "4"},
        {"class/infiniband_verbs/abi_version", "6"},
        {"fw_ver", IW_VERSION},
        {"hw_rev", "1"},
        {"board_id", "iwarp"},
        {"hca_type", "iwarp"},
        {"node_type", "4: RNIC"},
    };
    (void)directory;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (ends_with(file, files[i].file)) {
            int length = snprintf(text, room, "%s", files[i].text);
            return (size_t)length < room ? length : (int)room - 1;
        }
    return -1;
}
