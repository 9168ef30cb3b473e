/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_REQUIREMENTS_H
#define IW_RUNNER_CMD_REQUIREMENTS_H

#include "command.h"

/* Lists the rules of the RFCs with their cases. Returns the exit status. */
int iw_command_requirements(const struct iw_command *c);

#endif
