/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_CONSOLE_H
#define IW_RUNNER_REPORT_CONSOLE_H

/* The console: cases that did not pass, and the sum. */

#include "run/run_record.h"

/* Prints what was found out about the target before the cases: a line or two for each fact. */
void iw_console_facts(FILE *out, const struct iw_record *record);
/* Prints the shard of a run, of so many cases, and the seed of its order, if it has them. */
void iw_console_schedule(FILE *out, const struct iw_record *record, size_t chosen);
/* Prints a verdict, unless it is PASS or SKIP, or shows what an earlier case showed. With `verbose`
 * also those. */
void iw_console_entry(FILE *out, const struct iw_record *record, const struct iw_entry *entry,
                      bool verbose);
/* Prints a progress line on a terminal, overwritten by the next one, with the time that is left
 * unless `seconds` is negative; `id` NULL wipes it. */
void iw_console_progress(FILE *out, const struct iw_record *record, const char *id, double seconds);
/* Prints the skipped cases by their reasons, and those that were not decided (unless `verbose` has
 * printed each of them), the findings, and a count for each verdict. */
void iw_console_summary(FILE *out, const struct iw_record *record, bool verbose);

#endif
