/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_REPORT_H
#define IW_RUNNER_REPORT_H

/* What came out of a run, and the ways to tell it. */

#include <time.h>

#include "runner.h"

struct iw_baseline;
struct iw_proof;
struct iw_suite;

/* A verdict beside what is known of the peer. */
enum iw_pinned {
    IW_PINNED_NOT,      /* nothing was pinned, and nothing had to be */
    IW_PINNED_EXPECTED, /* as pinned */
    IW_PINNED_NEW,      /* worse than pinned, or not pinned at all */
    IW_PINNED_STALE     /* better than pinned */
};

enum { IW_PINNED_COUNT = IW_PINNED_STALE + 1 };

/* One case, or one file that could not be read. */
struct iw_entry {
    const struct iw_case *c; /* NULL: a file that could not be read */
    const char *file;
    struct iw_result
        result;         /* of its gravest round so far; its id is never NULL once there is one */
    unsigned handed;    /* rounds that were begun */
    unsigned round;     /* the lowest number of one that may not have been begun */
    unsigned *restored; /* numbers of those that the run before this one has played */
    size_t n_restored;
    unsigned rounds[IW_VERDICT_COUNT]; /* rounds that ended, by verdict */
    bool done;
    bool unreached; /* the target was not reached in this case */
    enum iw_pinned pinned;
    const char *known; /* the baseline's reason; NULL: none */
};

struct iw_record {
    const char *version; /* of the tool */
    const char *suite;   /* digest of cases and vocabulary */
    const char *target;  /* as the user named it */
    const char *target_class;
    const char *target_version; /* NULL: not known */
    const char *again;          /* what a command to repeat a case starts with, up to the id */
    bool remarks;               /* the console tells them under PASS, too */
    const char *dir;            /* of results; NULL: none */
    const char *baseline;       /* its path; NULL: none */
    const char *html;           /* path of the page, from which it links; NULL: none */
    const struct iw_suite
        *whole; /* all cases, also those that were not selected; NULL: not known */
    const struct iw_proof *proof; /* how they stand to the rules; NULL: not known */
    char **unknown;               /* ids in it that no case has */
    size_t n_unknown;
    unsigned repeat; /* rounds of each case, at least 1 */
    time_t started;
    double seconds;
    struct iw_entry *entries;
    size_t count;
    unsigned round;                    /* of the entry handed out last */
    size_t next;                       /* its index */
    size_t verdicts[IW_VERDICT_COUNT]; /* of the entries that are done */
    size_t pinned[IW_PINNED_COUNT];    /* likewise */
    int status;                        /* exit status */
};

/* The rule that a verdict is about: the one that was broken, else the case's primary one; NULL if
 * there is neither. */
const struct iw_rule *iw_entry_rule(const struct iw_entry *entry);
/* Whether its rounds ended differently. */
bool iw_entry_unstable(const struct iw_entry *entry);
/* "expected", "new" or "stale"; NULL for IW_PINNED_NOT. */
const char *iw_pinned_name(enum iw_pinned pinned);

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
/* The run ends before its plan is fulfilled. */
void iw_tap_bail_out(FILE *out, const char *reason);

/* ---- files ---- */

/* Each writes the whole report. Whether that worked is to be asked of the FILE. */
void iw_junit_write(FILE *out, const struct iw_record *record);
/* A line for each rule of the catalogue: what became of it, which cases say so, and where none
 * does, why (RFC 4180, with line feeds). */
void iw_csv_write(FILE *out, const struct iw_record *record);
/* One field of such a table, in quotes where it has to be. */
void iw_csv_field(FILE *out, const char *text);
void iw_json_write(FILE *out, const struct iw_record *record);
/* One page that needs nothing beside it. `folder` has the page's frame and script, report.html and
 * report.js. False with one line in `error`: they cannot be read. */
bool iw_html_write(FILE *out, const struct iw_record *record, const char *folder, char *error,
                   size_t room);

/* The version of the JSON report's layout. */
enum { IW_REPORT_SCHEMA = 1 };

#endif
