/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_PROC_TABLES_H
#define IW_HOST_PROC_TABLES_H

/* What Linux says of processes in /proc. A pid of 0 stands for this process. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct iw_proc_memory {
    uint64_t resident, shared; /* octets: all that are in memory, and those of files among them */
};

/* Returns the memory of a process; zeros if the system does not say. */
struct iw_proc_memory iw_proc_memory(pid_t pid);
/* Returns whether a TCP socket listens at the port, among those of the process's network. Sets
 * *inode (may be NULL) to the socket's; 0 if there is none: the kernel's own may have none. */
bool iw_proc_listens(pid_t pid, uint16_t port, unsigned long *inode);

#endif
