/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_BLOCKED_H
#define IW_RUNNER_BLOCKED_H

/*
 * Cases that could not ask their question because an instrument does not work with the target: they
 * point to the finding that is about it.
 */

#include "run_record.h"

/* Fills in `blocked_by` of every such case, and says so in its reason. The findings are made. */
void iw_blocked_resolve(struct iw_record *record);
/* Returns how many cases are blocked by the finding of this number; 0: by none of them. */
size_t iw_blocked_count(const struct iw_record *record, unsigned number);
/* Returns whether an earlier case lacked the same instrument. */
bool iw_blocked_repeats(const struct iw_record *record, const struct iw_entry *entry);

#endif
