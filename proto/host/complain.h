/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_COMPLAIN_H
#define IW_RUNNER_COMPLAIN_H

/* How the program tells its user that something went wrong: one line, and an exit status. */

/* Exit statuses, the gravest first. */
enum {
    IW_EXIT_USAGE = 64,
    IW_EXIT_TESTER = 70,
    IW_EXIT_UNREACHED = 3, /* also: inconclusive only */
    IW_EXIT_FAILURE = 1,
    IW_EXIT_STALE = 2, /* the baseline: an unexpected pass, an entry that is out of date */
    IW_EXIT_GOOD = 0
};

/* Prints one line "iwarp-conform: ..." on stderr. */
void iw_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
