/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_HOST_COMPLAIN_H
#define IW_HOST_COMPLAIN_H

/* What a program says when something went wrong: one line, and an exit status. */

/* Exit statuses of all programs. */
enum {
    IW_EXIT_GOOD = 0,
    IW_EXIT_FAILURE = 1,
    IW_EXIT_STALE = 2,     /* iwarp-conform: an unexpected pass, a baseline that is out of date */
    IW_EXIT_UNREACHED = 3, /* iwarp-conform: no target; also: inconclusive only */
    IW_EXIT_USAGE = 64,
    IW_EXIT_UNAVAILABLE = 69,
    IW_EXIT_TESTER = 70,      /* an error of the program itself */
    IW_EXIT_OUTPUT = 73,      /* an output cannot be written */
    IW_EXIT_SIGNALLED = 128,  /* plus the number of the signal, after keeping what there is */
    IW_EXIT_INTERRUPTED = 130 /* so by SIGINT */
};

/* Sets the name that lines begin with, a static string. Without it they begin with "iwarp". */
void iw_complain_as(const char *program);
/* Prints one line "PROGRAM: ..." on stderr. */
void iw_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints such a line, too. Returns `status`. */
int iw_complain_exit(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "PROGRAM: no memory" and ends the program with status 70. */
void iw_complain_memory(void) __attribute__((noreturn));

#endif
