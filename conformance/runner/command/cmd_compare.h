/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_COMPARE_H
#define IW_RUNNER_CMD_COMPARE_H

#include "command.h"

/* Puts runs side by side. Returns the exit status. */
int iw_command_compare(const struct iw_command *c);

#endif
