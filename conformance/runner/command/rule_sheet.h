/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RULE_SHEET_H
#define IW_RUNNER_RULE_SHEET_H

/* All that is known about one rule, for `show` and `requirements`. */

#include <stdio.h>

#include "suite/proof.h"

/* Returns the rule of this id, in either case of letters; NULL if there is none. */
const struct iw_rule *iw_rule_named(const char *id);
/* Returns the first rule at or after index `from` of the catalogue whose id fits the glob, in
 * either case of letters; NULL if there is none. */
const struct iw_rule *iw_rule_fit(const char *glob, size_t from);
/* Prints duty, section, link, whom it binds, what a right peer shows, how it is tested, its checks
 * and the cases that ask for it. */
void iw_rule_print(FILE *out, const struct iw_rule *rule, const struct iw_suite *suite,
                   const struct iw_proof *proof);
/* Prints the first lines of that: id, section, duty, link, text. */
void iw_rule_print_head(FILE *out, const struct iw_rule *rule);

#endif
