/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RUN_WORDS_H
#define IW_RUNNER_RUN_WORDS_H

/* What the words of a command line come to in a run. */

#include "command.h"
#include "target/target.h"

/* Returns how many of `cases` are played at a time, at least 1. */
unsigned iw_run_jobs(const struct iw_command *c, const struct iw_target_spec *target, size_t cases);
/* Returns the command that repeats a case, up to its id; that of a replay is the name of the folder
 * for its results. The caller frees it. */
char *iw_run_again(const struct iw_command *c);

#endif
