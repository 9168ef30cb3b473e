/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_CSV_H
#define IW_RUNNER_REPORT_CSV_H

/* A table of rules (RFC 4180, with line feeds). */

#include "run/run_record.h"

/* Writes one line per rule of the catalogue: its verdict, the cases that show it, and if there is
 * none, why; and in each line who was tested, with which suite, and when. The caller asks the FILE
 * whether that worked. */
void iw_csv_write(FILE *out, const struct iw_record *record);

#endif
