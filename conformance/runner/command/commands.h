/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_COMMANDS_H
#define IW_RUNNER_COMMANDS_H

/* The commands, each in cmd_NAME.c. Each returns the exit status. */

#include "command.h"

int iw_command_run(const struct iw_command *c);
int iw_command_merge(const struct iw_command *c); /* cmd_run.c */
int iw_command_list(const struct iw_command *c);
int iw_command_show(const struct iw_command *c); /* cmd_list.c */
int iw_command_requirements(const struct iw_command *c);
int iw_command_self_check(const struct iw_command *c);
int iw_command_diff(const struct iw_command *c);
int iw_command_compare(const struct iw_command *c);
int iw_command_probe(const struct iw_command *c);
int iw_command_replay(const struct iw_command *c);

#endif
