/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_LIST_H
#define IW_RUNNER_CMD_LIST_H

#include "command.h"

/* Lists cases. Returns the exit status. */
int iw_command_list(const struct iw_command *c);
/* Shows a case or a rule. Returns the exit status. */
int iw_command_show(const struct iw_command *c);

#endif
