/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RULE_STATE_H
#define IW_RUNNER_RULE_STATE_H

/* How each rule stands in one run. */

#include "iwarp/rules.h"
#include "run_file.h"

enum iw_rule_state {
    IW_RULE_BROKEN,
    IW_RULE_HOLDS,
    IW_RULE_OPEN,
    IW_RULE_UNTESTED,
    IW_RULE_STATES
};

/* Returns "broken", "holds", "not decided" or "not tested". */
const char *iw_rule_state_name(enum iw_rule_state state);
/* Fills in the state of each rule, by its index: broken if a finding is about it; else it holds if
 * a case that names it has passed. */
void iw_rule_states(const struct iw_run_file *f, enum iw_rule_state states[IW_RULE_COUNT]);

#endif
