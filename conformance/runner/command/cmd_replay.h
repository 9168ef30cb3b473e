/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_REPLAY_H
#define IW_RUNNER_CMD_REPLAY_H

#include "command.h"

/* Plays the part of one side of a capture against a target. Returns the exit status. */
int iw_command_replay(const struct iw_command *c);

#endif
