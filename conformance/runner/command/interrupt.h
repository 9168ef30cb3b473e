/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_INTERRUPT_H
#define IW_RUNNER_INTERRUPT_H

/* Ctrl-C where no pool of workers sees to it (run/pool.h): before and after cases are played, and
 * in commands that play none. */

/* From now on SIGINT prints one line and ends the program with status 130. */
void iw_interrupt_catch(void);
/* Then the file at `path`, which is borrowed, is removed, too; NULL: no file is. */
void iw_interrupt_remove(const char *path);

#endif
