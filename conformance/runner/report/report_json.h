/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_JSON_H
#define IW_RUNNER_REPORT_JSON_H

/* The report as JSON. */

#include <jansson.h>

#include "run/run_record.h"

/* Returns the whole report, a new reference. */
json_t *iw_record_to_json(const struct iw_record *record);
/* Writes it. The caller asks the FILE whether that worked. */
void iw_json_write(FILE *out, const struct iw_record *record);

#endif
