/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_HTML_H
#define IW_RUNNER_REPORT_HTML_H

/* One page that needs nothing beside it. */

#include "run/run_record.h"

/* Writes the page. `folder` has its frame, report.html, and what that includes. Returns false with
 * one line in `error` if they cannot be read. */
bool iw_html_write(FILE *out, const struct iw_record *record, const char *folder, char *error,
                   size_t room);

#endif
