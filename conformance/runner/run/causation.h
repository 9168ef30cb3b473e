/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CAUSATION_H
#define IW_RUNNER_CAUSATION_H

/*
 * Which deviations follow from which: a table, each row of which cites the sentence of an RFC for
 * it. Deviations of one key (findings.c) are not in it: they are one thing seen in several ways.
 */

#include "base/result.h"

/* Returns the sentence by which `d` follows from what `cause` shows, "RFC 5041 §7.1: ..."; NULL: it
 * does not. */
const char *iw_deviation_due_to(const struct iw_deviation *d, const struct iw_deviation *cause);

/* Returns how late a deviation is to be looked at, so that what it may follow from comes before it:
 * 0: it stands for itself, 1: it may follow from that, 2: it may follow from those, too. */
int iw_deviation_rank(const struct iw_deviation *d);

enum { IW_DEVIATION_LAST_RANK = 2 };

#endif
