/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that are none: the test says what becomes of those that a hunt starts, and all that is
 * done with them is noted in one text. */
#ifndef LIVE_TESTS_PROCESS_STAGE_H
#define LIVE_TESTS_PROCESS_STAGE_H

#include "live_support.h"

#include <setjmp.h>

extern struct iw_hunt_options options;
extern struct iw_hunt hunt;

extern struct process_stage {
    char noted[4096];
    uint64_t now;
    bool forks_fail;
    unsigned child_of; /* the fork, from 1, after which this is the child; 0: none */
    pid_t parent;      /* as a child sees it; 0: the one that started it */
    unsigned forks;
    struct {
        pid_t pid;
        int status;
    } ended[16]; /* not reaped yet */
    unsigned n_ended;
    bool obeys;                       /* SIGTERM ends them */
    bool hardly;                      /* ... but SIGKILL alone does */
    void (*looks)(struct iw_hunt *h); /* while it waits: at each iw_hunt_progress() */
    jmp_buf exit;                     /* where _exit() of a child leads */
    int status;
    volatile int stop;
} processes;

/* A test's set-up, which makes a board, and its teardown. */
int process_begin(void **state);
int process_end(void **state);
void process_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Asks for all that has been noted, which is then forgotten. */
void process_noted(const char *expected);
/* Says that a process has ended, with this status of waitpid(). */
void process_ends(pid_t pid, int status);

#endif
