/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_VERDICT_H
#define IW_RUNNER_VERDICT_H

#include <stdbool.h>

#include "iwarp/rules.h"

enum iw_verdict {
    IW_VERDICT_PASS,
    IW_VERDICT_NOTE,         /* a SHOULD or an [implied] rule was broken */
    IW_VERDICT_FAIL,         /* a MUST was broken */
    IW_VERDICT_INCONCLUSIVE, /* the case could not get to its question */
    IW_VERDICT_SKIP,
    IW_VERDICT_ERROR /* the tester or the script is at fault */
};

enum { IW_VERDICT_COUNT = IW_VERDICT_ERROR + 1 };

/* Returns "PASS", "NOTE", ... */
const char *iw_verdict_name(enum iw_verdict verdict);
/* Finds the verdict of that name (NULL: none). Returns false, leaving *out, if there is none. */
bool iw_verdict_find(const char *name, enum iw_verdict *out);

/* Returns how grave a verdict is among the rounds of one case: SKIP is the least, then PASS, NOTE,
 * INCONCLUSIVE, FAIL and ERROR. */
int iw_verdict_gravity(enum iw_verdict verdict);

/* Returns where breaking a rule shows: "no", "api", "wire-passive", "wire-active". */
const char *iw_testable_name(enum iw_testable testable);

/* Returns what breaking this rule amounts to: FAIL for MUST and MUST NOT, NOTE for SHOULD and
 * SHOULD NOT and for [implied] rows, PASS (an observation) for MAY. */
enum iw_verdict iw_rule_verdict(const struct iw_rule *rule);

#endif
