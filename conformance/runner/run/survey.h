/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SURVEY_H
#define IW_RUNNER_SURVEY_H

/*
 * The survey: what a target can do, found out by lib/survey_case.lua before the cases are played,
 * in workers of its own. It judges nothing: what is wrong with the target is the cases' business.
 */

#include "base/instrument.h"
#include "iwarp/quirk.h"
#include "pool.h"

struct iw_survey {
    struct iw_instruments instruments;
    iw_quirks quirks[2]; /* that were proven, by role of the target: what makes sense either way is
                            read so from now on */
    char *gone;          /* why the target no longer serves anybody; NULL: it does */
    char *notes[2];      /* all lines that the survey wrote of a target in this role; NULL: none */
    const char *option;  /* given: for the embedded agent, as in struct iw_job */
};

/* Takes what is needed of a pool that is about to be run on `selected` cases, and surveys its
 * target in the roles that these have. A signal that comes meanwhile is left in
 * pool->interrupted. Returns 0, or -1 with one line in `error`. The caller frees *out with
 * iw_survey_free in either case. */
int iw_survey_take(struct iw_survey *out, struct iw_pool *pool,
                   const struct iw_case *const *selected, size_t n_selected, char *error,
                   size_t room);
void iw_survey_free(struct iw_survey *survey);

#endif
