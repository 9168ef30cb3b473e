/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_DEVIATION_CHECK_H
#define IW_RUNNER_DEVIATION_CHECK_H

/*
 * Which check (a row of proto/rules/checks.csv) a deviation is about. Rules of one check are one
 * requirement, said of either side or in several places.
 */

#include "base/result.h"
#include "iwarp/rules.h"

/* That the target closes the connection in answer to a start-up frame, in place of a code. */
#define IW_CLOSES "close"

/* Returns the check that names the deviation's rule first, or else any that serves it, of those
 * that lead to its fault; IW_CHECK_NONE: there is none. */
enum iw_check iw_deviation_check(const struct iw_deviation *d);

/* Returns whether some check that leads to this Terminate ("1/1/00", or IW_CLOSES; NULL: any)
 * serves both rules. */
bool iw_rules_share_check(const struct iw_rule *a, const struct iw_rule *b, const char *fault);

/* Returns whether the observer found it, by this check. */
bool iw_deviation_seen(const struct iw_deviation *d, enum iw_check check);

/* Returns whether the case found that the target did this: a word of its `how`. */
bool iw_deviation_did(const struct iw_deviation *d, const char *how);

/* Returns whether the target reports an error where there is none, or closes. What it accuses us of
 * is the same whatever the case was about. */
bool iw_deviation_refuses(const struct iw_deviation *d);

#endif
