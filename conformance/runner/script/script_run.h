/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCRIPT_RUN_H
#define IW_RUNNER_SCRIPT_RUN_H

#include "base/conform_case.h"
#include "base/result.h"
#include "play_options.h"
#include "target/target.h"

/* Runs one case against an open target, in the calling process and within the case's deadline
 * (a C library call that a script makes endless is left to the caller's own deadline). `needs` are
 * the caller's business. Always fills *out and returns 0; without memory the program ends. */
int iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                       const struct iw_run_options *options, struct iw_result *out);

#endif
