/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_TAP_H
#define IW_RUNNER_REPORT_TAP_H

/* TAP version 14. */

#include "run/run_record.h"

/* The plan, and a comment: who is tested, with which suite, and when. */
void iw_tap_begin(FILE *out, const struct iw_record *record);
/* The facts, a comment each. */
void iw_tap_facts(FILE *out, const struct iw_record *record);
void iw_tap_entry(FILE *out, size_t number, const struct iw_entry *entry);
/* The findings, a comment each. */
void iw_tap_findings(FILE *out, const struct iw_record *record);
/* Ends the report of a run that stops before its plan is fulfilled. */
void iw_tap_bail_out(FILE *out, const char *reason);

#endif
