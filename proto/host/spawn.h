/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_SPAWN_H
#define IW_HOST_SPAWN_H

/* Programs that a program starts and waits for itself. */

#include <stdbool.h>
#include <sys/types.h>

/* Where a standard stream of the new process leads, besides to a descriptor above 2. */
enum { IW_SPAWN_SAME = 0, IW_SPAWN_NOWHERE = -1 };

struct iw_spawn {
    int input, output, errors; /* IW_SPAWN_SAME: as ours; IW_SPAWN_NOWHERE: /dev/null */
    bool session;              /* it heads a session, and a process group, of its own */
    int death_signal;          /* what it gets when the thread that started it ends; 0: nothing */
    unsigned seconds;          /* SIGALRM after so long; 0: never */
};

/* Starts the program at `path`, which is not looked up in PATH, with the arguments `argv`, NULL
 * after the last. `how` may be NULL: nothing is special. Returns its process id, to be waited for
 * by the caller; -1 with errno set, also if it cannot be executed. */
pid_t iw_spawn(const char *path, char *const argv[], const struct iw_spawn *how);

/* Starts a command line of the shell. Returns what iw_spawn does. */
pid_t iw_spawn_shell(const char *command, const struct iw_spawn *how);

#endif
