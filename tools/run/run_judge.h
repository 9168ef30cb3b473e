/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUN_JUDGE_H
#define IW_RUN_JUDGE_H

/*
 * Runs a program whose processes judge their connections (proto/judge/), and gathers what they have
 * written: the findings, one capture of all processes with the findings as comments, a report.
 */

#include <stdbool.h>
#include <stdint.h>

struct run_judge {
    bool wanted;         /* any of what follows */
    bool fail;           /* a MUST that the peer broke gives exit status 1 */
    bool json;           /* findings as JSON lines */
    const char *capture; /* file; NULL: none */
    uint64_t capture_mib;
    const char *report; /* file; NULL: none */
};

enum { RUN_CAPTURE_MIB = 64 };

/* Makes the folder for what the processes write, and sees whether the files can be written. Returns
 * -1 to go on, else the exit status after printing an error. */
int run_judge_begin(const struct run_judge *judge);
/* Executes `path`, waits for it, prints what was found on standard error, and writes the files.
 * Returns the exit status: the program's (128 and its number for a signal), or as above. */
int run_judge_program(const struct run_judge *judge, const char *path, char **argv);

#endif
