/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SELECTION_H
#define IW_RUNNER_SELECTION_H

/*
 * Choosing cases: the language of --select.
 *
 *     choice  = both { "or" both }
 *     both    = one { "and" one }
 *     one     = "not" one | "(" choice ")" | PATTERN
 *     PATTERN = GLOB over ids | "rule:" GLOB | "tag:" GLOB | "level:" WORD | "role:" WORD
 *
 * Blanks separate words; in a glob, brackets hold together what is in them.
 */

#include "suite.h"

/* Finds the cases that one of the choices fits, in the order of the suite; all without choices. The
 * array is the caller's, the cases are the suite's. Returns 0, or -1 with one line in `error` that
 * names the choice and, if it has several words, the character: it is none, or it, or a pattern in
 * it, fits no case. */
int iw_suite_select(const struct iw_suite *suite, char *const *choices, size_t n_choices,
                    const struct iw_case ***out, size_t *count, char *error, size_t room);

#endif
