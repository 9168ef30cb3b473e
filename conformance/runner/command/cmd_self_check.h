/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_SELF_CHECK_H
#define IW_RUNNER_CMD_SELF_CHECK_H

#include "command.h"

/* Bends the reference peer in every way and shows whether a case notices. Returns the exit status.
 */
int iw_command_self_check(const struct iw_command *c);

#endif
