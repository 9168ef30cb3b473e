/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TARGET_VERSION_H
#define IW_RUNNER_TARGET_VERSION_H

/* Runs a shell command of a target file that prints the target's version, for at most `seconds`.
 * Returns its first line, which the caller frees; NULL, with one line in `error`, if it takes
 * longer or prints none. */
char *iw_target_ask_version(const char *command, double seconds, char *error, size_t room);

#endif
