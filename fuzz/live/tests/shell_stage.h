/* SPDX-License-Identifier: BSD-3-Clause */
/* A hunt elsewhere. No shell runs: the test says what each command would do, and all of them are
 * noted in one text. */
#ifndef LIVE_TESTS_SHELL_STAGE_H
#define LIVE_TESTS_SHELL_STAGE_H

#include "live_support.h"

extern struct iw_hunt_options options;
extern struct iw_target_spec spec;
extern struct iw_hunt hunt;

/* What a command does. */
struct act {
    int status;              /* NO_MORE: no other command comes */
    const char *file, *text; /* a file of the folder that it writes, and its text */
    const char *progress;    /* text of progress.json */
    bool stuck, stops;
};
#define WELL_DONE                                                                                  \
    {                                                                                              \
        .status = 0                                                                                \
    }
#define FAILED                                                                                     \
    {                                                                                              \
        .status = 1                                                                                \
    }
#define NO_MORE                                                                                    \
    {                                                                                              \
        .status = -1                                                                               \
    }

extern struct shell {
    const struct act *acts;    /* of the commands to come */
    char noted[8192], *folder; /* folder: absolute */
    uint64_t now;
    bool bad_restart, not_inside, nowhere; /* nowhere: there is no folder */
    struct iw_hunt_finding *found;         /* by the next session */
    volatile int stop;
} shell;

/* A test's set-up and teardown. */
int shell_begin(void **state);
int shell_end(void **state);
/* Asks for all commands so far, which are then forgotten. */
void shell_does(const char *expected);
/* Writes a file of the folder. */
void shell_file(const char *name, const char *text);

#endif
