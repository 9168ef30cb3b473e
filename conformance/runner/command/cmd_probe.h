/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CMD_PROBE_H
#define IW_RUNNER_CMD_PROBE_H

#include "command.h"

/* Finds out what a target can do. Returns the exit status. */
int iw_command_probe(const struct iw_command *c);

#endif
