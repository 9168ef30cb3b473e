/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_CASE_H
#define IW_RUNNER_SCRIPT_CASE_H

#include "base/conform_case.h"
#include "play_options.h"

/* Reads the cases of one file in a Lua state of its own, with the run's limits. Only the
 * descriptions are evaluated, nothing is run. Returns 0 with an array of *count cases (free it with
 * iw_case_free_all), or -1 with one line "file:line: what" in `error`: unreadable, not Lua, unknown
 * rule id, misspelt or missing field, two equal ids in one file. Without memory the program ends.
 */
int iw_case_load(const char *file, const struct iw_run_options *options, struct iw_case **out,
                 size_t *count, char *error, size_t room);

#endif
