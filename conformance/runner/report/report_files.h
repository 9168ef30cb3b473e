/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_FILES_H
#define IW_RUNNER_REPORT_FILES_H

/* The files that the reports of a run go to: opened before it, so that what cannot be written is
 * known, and written at its end. */

#include "run/run_record.h"

enum iw_report { IW_REPORT_JUNIT, IW_REPORT_JSON, IW_REPORT_HTML, IW_REPORT_CSV, IW_REPORTS };

/* Initialise with zeros and the paths; NULL: no such report, but for HTML the page lies among the
 * results. */
struct iw_report_files {
    const char *paths[IW_REPORTS];
    const char *frame; /* the folder with the frame of the page */
    char *summary;     /* the JSON report among the results */
    char *page;
    FILE *files[IW_REPORTS];
};

/* Opens them; `dir` is the folder of results. Returns false after printing an error. Call
 * iw_report_files_close in either case. */
bool iw_report_files_open(struct iw_report_files *f, const char *dir);
/* Writes and closes them, and run.json in the folder of results. Returns false after printing
 * errors. */
bool iw_report_files_write(struct iw_report_files *f, const struct iw_record *record);
void iw_report_files_close(struct iw_report_files *f);

#endif
