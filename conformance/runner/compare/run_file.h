/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RUN_FILE_H
#define IW_RUNNER_RUN_FILE_H

/* The report of a run that is over, as it was written. */

#include <jansson.h>
#include <stdbool.h>

struct iw_run_file {
    const char *path;    /* as it was named; borrowed */
    json_t *run;         /* the report */
    const json_t *cases; /* its list */
    json_t *by_id;       /* each case by its id */
};

/* Reads a JSON report, or run.json in the folder of results that `path` names. Returns false after
 * printing an error. Call iw_run_file_free in either case. */
bool iw_run_file_read(struct iw_run_file *f, const char *path);
void iw_run_file_free(struct iw_run_file *f);
/* Returns the case with this id; NULL if the run has none. */
const json_t *iw_run_file_case(const struct iw_run_file *f, const char *id);

#endif
