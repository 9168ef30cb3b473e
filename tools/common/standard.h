/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_STANDARD_H
#define IW_STANDARD_H

/* Standard input, output and error of a program. */

/* To be called before anything is opened: of those that are closed the numbers are taken, so that
 * no file and no socket gets them. Reading and writing them goes on to fail. */
void iw_standard_open(void);
/* To be called behind all else, with the exit status so far: that, but 1 instead of 0 if what was
 * printed to standard output is not all written; one line to stderr says so for `program`. */
int iw_standard_close(const char *program, int status);

#endif
