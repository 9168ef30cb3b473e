/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_STANDARD_H
#define IW_STANDARD_H

/* Standard input, output and error of a program, and its signals. */

/* Call before anything is opened: occupies the numbers of those that are closed, so that no file
 * and no socket gets them. Reading and writing them still fails. */
void iw_standard_open(void);
/* Call after everything else, with the exit status so far. Returns that status, but 1 instead of 0
 * if not all output to standard output was written; then prints one line to stderr for `program`.
 */
int iw_standard_close(const char *program, int status);
/* Ignores SIGPIPE, and keeps SIGTERM, SIGINT and `more` for the descriptor that it returns (a
 * signalfd(2); -1 with errno). */
int iw_standard_signals(int more);

#endif
