/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CONFORM_H
#define IW_RUNNER_CONFORM_H

/* Carries out a command line of iwarp-conform. Returns the exit status. */
int iw_conform(int argc, char **argv);

#endif
