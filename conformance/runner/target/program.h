/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_PROGRAM_H
#define IW_RUNNER_PROGRAM_H

/* What /proc says of the processes that a command has started: a shell and its programs. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds the program that the command of the process group `group` is about: the process that
 * listens at `port`; with port 0 the first that is not the head of the group, else the head. Writes
 * its name to `name`. Returns its process id; 0: there is none (yet). */
pid_t iw_program_find(pid_t group, uint16_t port, char *name, size_t room);
/* Returns whether anything of the group still runs. */
bool iw_program_runs(pid_t group);
/* Returns whether the process has not ended. */
bool iw_program_lives(pid_t pid);
/* Returns whether something listens at this TCP port in the network namespace of the process. */
bool iw_program_listens(pid_t pid, uint16_t port);

#endif
