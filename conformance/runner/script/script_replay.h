/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_REPLAY_H
#define IW_RUNNER_SCRIPT_REPLAY_H

#include "play_options.h"

/* Has lib/replay.lua say something about options->replay: its function `what` ("list", "describe").
 * Returns 0 with the text, which the caller frees, in *text, or -1 with one line in `error`. */
int iw_script_ask_replay(const struct iw_run_options *options, const char *what, char **text,
                         char *error, size_t room);

#endif
