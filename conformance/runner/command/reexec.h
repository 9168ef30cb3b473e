/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REEXEC_H
#define IW_RUNNER_REEXEC_H

/* Targets that only a runner elsewhere can reach: inside another kernel, in another namespace. */

#include "command.h"
#include "target/target_spec.h"

/* Executes this program again where the target is, through the target's command `inside` (with
 * `restart`, as often as it takes). Returns -1 if the command is to be carried out here, else the
 * exit status. It may replace this process and not return. */
int iw_reexec(const struct iw_command *c, const struct iw_target_spec *spec);
/* Returns true if this run continues one that the target's kernel has ended, so that its first
 * verdicts have been printed already. */
bool iw_reexec_continues(void);

#endif
