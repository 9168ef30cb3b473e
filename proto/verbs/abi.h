/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_VERBS_ABI_H
#define IW_VERBS_ABI_H

/*
 * The public ABI of libibverbs. Its functions are the only ones that this library exports (with
 * those of exports.csv and of ucma/interpose.c). Some names are macros for callers; here they are
 * the functions that the macros call.
 */

#pragma GCC visibility push(default)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list
struct _compat_ibv_port_attr;
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
                   struct _compat_ibv_port_attr *port_attr);
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *directory, const char *file, char *text, size_t room);
#pragma GCC diagnostic pop
#pragma GCC visibility pop

#define IW_VERBS_EXPORT __attribute__((visibility("default")))

#endif
