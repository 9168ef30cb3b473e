/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_COMPARE_H
#define IW_RUNNER_COMPARE_H

/* Runs side by side: of several devices, firmwares, kernels or days. */

#include <jansson.h>
#include <stdio.h>

#include "run_file.h"

/* Returns what compare.schema.json describes, a new reference: the runs, what is wrong in each,
 * what has changed from each to the next, and the rules by section. `version` is the tool's. */
json_t *iw_compare(const struct iw_run_file *runs, size_t count, const char *version);

/* Write it: a summary for people, a table with a line for each rule that is broken in a run, a page
 * (its frame is in `folder`). The caller asks `out` whether that worked; the page returns false
 * with one line in `error` if its frame cannot be read. */
void iw_compare_print(FILE *out, const json_t *comparison);
void iw_compare_write_csv(FILE *out, const json_t *comparison);
bool iw_compare_write_html(FILE *out, const json_t *comparison, const char *folder, char *error,
                           size_t room);

#endif
