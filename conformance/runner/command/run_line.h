/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RUN_LINE_H
#define IW_RUNNER_RUN_LINE_H

/* What a command line means for a run, and the line that repeats a case of it. */

#include "command.h"
#include "target/target_spec.h"

/* Returns how many cases are played at a time against agents of our own, at least 1. Cases mostly
 * wait, so these are more than there are CPUs. */
unsigned iw_run_embedded_jobs(const struct iw_command *c);
/* Returns how many of `cases` are played at a time, at least 1. */
unsigned iw_run_jobs(const struct iw_command *c, const struct iw_target_spec *target, size_t cases);
/* Returns the command that repeats a case, up to its id; that of a replay is the name of the folder
 * for its results. The caller frees it. */
char *iw_run_again(const struct iw_command *c);

#endif
