/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_DIFF_H
#define IW_RUNNER_CMD_DIFF_H

#include "command.h"

/* Shows in what two runs differ. Returns the exit status. */
int iw_command_diff(const struct iw_command *c);

#endif
