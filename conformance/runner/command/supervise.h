/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SUPERVISE_H
#define IW_RUNNER_SUPERVISE_H

#include "target/target.h"

/* A run that is carried out elsewhere, in a kernel that may end under it. */
struct iw_supervised {
    const char *first, *again; /* shell commands: the run, and what goes on with it */
    const char *dir;           /* of its results */
    bool resumes;              /* the first one goes on as well */
    double scale;              /* --time-scale; 0: not said */
};

/* Runs it. Where it is cut off in the middle of a case, or that case gets stuck, the case has
 * failed: the journal gets a line, spec->restart brings the kernel back, and the run goes on.
 * SIGINT, SIGTERM and SIGHUP are passed on. Returns the exit status. */
int iw_supervise(const struct iw_target_spec *spec, const struct iw_supervised *s);

#endif
