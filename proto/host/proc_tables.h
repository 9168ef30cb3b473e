/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_PROC_TABLES_H
#define IW_HOST_PROC_TABLES_H

/* What Linux says of processes in /proc. A pid of 0 stands for this process. */

#include <stdint.h>
#include <sys/types.h>

struct iw_proc_memory {
    uint64_t resident, shared; /* octets: all that are in memory, and those of files among them */
};

/* Returns the memory of a process; zeros if the system does not say. */
struct iw_proc_memory iw_proc_memory(pid_t pid);
/* Finds the TCP socket that listens at the port, among those of the process's network. Returns its
 * inode; 0 if there is none. */
unsigned long iw_proc_listener(pid_t pid, uint16_t port);

#endif
