/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_H
#define IW_RUNNER_REPORT_H

/* What came out of a run, and the ways to tell it. */

#include <time.h>

#include "runner.h"

/* One case, or one file that could not be read. */
struct iw_entry {
    const struct iw_case *c; /* NULL: a file that could not be read */
    const char *file;
    struct iw_result result; /* its id is never NULL */
    bool done;
    bool unreached; /* the target was not reached in this case */
};

struct iw_record {
    const char *version; /* of the tool */
    const char *suite;   /* digest of cases and vocabulary */
    const char *target;  /* as the user named it */
    const char *target_class;
    const char *target_version; /* NULL: not known */
    const char *again;          /* what a command to repeat a case starts with, up to the id */
    const char *dir;            /* of results; NULL: none */
    time_t started;
    double seconds;
    struct iw_entry *entries;
    size_t count;
    size_t verdicts[IW_VERDICT_COUNT]; /* of the entries that are done */
    int status;                        /* exit status */
};

/* The rule that a verdict is about: the one that was broken, else the case's primary one; NULL if
 * there is neither. */
const struct iw_rule *iw_entry_rule(const struct iw_entry *entry);

/* ---- console: cases that did not pass, and the sum ---- */

/* A verdict, unless it is PASS or SKIP. With `verbose` also those. */
void iw_console_entry(FILE *out, const struct iw_record *record, const struct iw_entry *entry,
                      bool verbose);
/* A progress line on a terminal, overwritten by the next one; NULL wipes it. */
void iw_console_progress(FILE *out, const struct iw_record *record, const char *id);
/* The skipped cases by their reasons (unless they were told already: `verbose`), and a count for
 * each verdict. */
void iw_console_summary(FILE *out, const struct iw_record *record, bool verbose);

/* ---- TAP version 14 ---- */

void iw_tap_begin(FILE *out, size_t count);
void iw_tap_entry(FILE *out, size_t number, const struct iw_entry *entry);

/* ---- files ---- */

/* Each writes the whole report. Whether that worked is to be asked of the FILE. */
void iw_junit_write(FILE *out, const struct iw_record *record);
void iw_json_write(FILE *out, const struct iw_record *record);

/* The version of the JSON report's layout. */
enum { IW_REPORT_SCHEMA = 1 };

#endif
