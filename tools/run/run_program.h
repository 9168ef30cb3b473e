/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUN_PROGRAM_H
#define IW_RUN_PROGRAM_H

#include <stddef.h>

/* Finds the program as execvp does. Returns 0 with its path, or -1 with the reason in `error`. */
int run_find_program(const char *name, char *path, size_t path_room, char *error, size_t room);
/* Checks that a library can be preloaded into the program: dynamic, of this machine, not set-uid
 * or set-gid. Scripts pass: their interpreter counts. Returns 0, or -1 with the reason. */
int run_check_program(const char *path, char *error, size_t room);

#endif
