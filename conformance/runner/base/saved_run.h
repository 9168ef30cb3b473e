/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SAVED_RUN_H
#define IW_RUNNER_SAVED_RUN_H

/* The JSON report of a run that is over. */

#include <jansson.h>
#include <stddef.h>

/* The version of the layout of journals and JSON reports. */
enum { IW_REPORT_SCHEMA = 1 };

/* Reads the report at `path`, or run.json in the folder of results that it is. Returns a new
 * reference to it, whose member "cases" is a list of objects, or NULL with one line in `error`. */
json_t *iw_saved_run_read(const char *path, char *error, size_t room);

#endif
