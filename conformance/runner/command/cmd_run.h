/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_RUN_H
#define IW_RUNNER_CMD_RUN_H

#include "command.h"

/* Plays cases against a target and reports. Returns the exit status. */
int iw_command_run(const struct iw_command *c);
/* Makes one report of several runs. Returns the exit status. */
int iw_command_merge(const struct iw_command *c);

#endif
