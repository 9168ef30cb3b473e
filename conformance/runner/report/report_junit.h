/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_JUNIT_H
#define IW_RUNNER_REPORT_JUNIT_H

/* JUnit's XML. */

#include "run/run_record.h"

/* Writes the whole report. The caller asks the FILE whether that worked. */
void iw_junit_write(FILE *out, const struct iw_record *record);

#endif
