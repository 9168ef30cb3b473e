/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_OTHER_KERNEL_H
#define IW_RUNNER_OTHER_KERNEL_H

/*
 * Targets inside another kernel, or another namespace: a program runs itself once more in there,
 * through the target's command `inside`, watches that, and brings back what has ended.
 */

#include "target_spec.h"

#include <sys/stat.h>

enum { IW_SHELL_NOT_STARTED = 127, IW_SHELL_SIGNALLED = 128 }; /* exit statuses */

/* Returns true if only a program elsewhere can reach the target: the variable of the environment
 * names the target that a program is inside of. */
bool iw_target_elsewhere(const struct iw_target_spec *spec, const char *variable);
/* Sets the variable for the programs inside, and adds our own folder to PATH: what belongs to this
 * program is found by its name. Returns false after printing an error. */
bool iw_target_prepare_entry(const struct iw_target_spec *spec, const char *variable);
/* Returns the shell command that runs `command` inside, where it may write to `folders`, separated
 * by colons. The caller frees it. */
char *iw_target_entry_command(const struct iw_target_spec *spec, const char *command,
                              const char *folders);

/* Catches SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP. Returns where the number of
 * the last one is, 0 before any. */
const volatile int *iw_shell_signals(void);

/* What shows that a command gets on. */
struct iw_shell_watch {
    const char *path; /* of a file that changes; NULL: none */
    double seconds;   /* without a change, after which the command is killed; 0: never */
    void (*changed)(struct iw_shell_watch *w); /* may set `seconds`; NULL: nothing is called */
    bool stuck;                                /* set: the command was killed */
    struct stat last;                          /* of the file */
    uint64_t since;                            /* iw_transport_now() at its last change */
};

/* Runs a shell command, which ends with us, and passes on the signal *stop. `w` may be NULL.
 * Returns the exit status as a shell gives it. */
int iw_shell_run(const char *command, const volatile int *stop, struct iw_shell_watch *w);

/* Brings back what the target is inside of, by its command. Returns false after printing an error;
 * true if a signal came, which may have interrupted that, too. */
bool iw_target_restart(const struct iw_target_spec *spec, const volatile int *stop);

/* Returns, in a line that begins so, that what the target is inside of has ended, and what it last
 * printed if there is a console. The caller frees it. */
#define IW_TARGET_KERNEL_ENDED "the target's kernel ended"
char *iw_target_kernel_ended(const struct iw_target_spec *spec);

#endif
