/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_STANDARD_H
#define IW_STANDARD_H

#include <stdbool.h>

/* Standard input, output and error of a program, and its signals. */

/* Call before anything is opened: occupies the numbers of those that are closed, so that no file
 * and no socket gets them. Reading and writing them still fails. */
void iw_standard_open(void);
/* Call after everything else, with the exit status so far. Returns that status, but
 * IW_EXIT_OUTPUT instead of 0 if not all output to standard output was written; then prints one
 * line to stderr for `program`.
 */
int iw_standard_close(const char *program, int status);
/* Ignores SIGPIPE, and keeps SIGTERM, SIGINT and `more` for the descriptor that it returns (a
 * signalfd(2); -1 with errno). */
int iw_standard_signals(int more);

/* Catches SIGINT, so that the work can end where it is and keep what there is. A second one ends
 * the program at once. */
void iw_standard_catch_interrupt(void);
/* Returns true if there was one. */
bool iw_standard_interrupted(void);
/* The same with SIGTERM, too; iw_standard_ended() returns the signal, or 0. */
void iw_standard_catch_end(void);
int iw_standard_ended(void);

#endif
