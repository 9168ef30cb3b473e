/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUN_REPORT_H
#define IW_RUN_REPORT_H

#include <stdio.h>
#include <time.h>

#include "run_findings.h"
#include "run_judge.h"

struct run_outcome {
    const char *path; /* of the program */
    char **argv;
    time_t began;
    int status;
};

/* Prints the findings, as iwarp-lint does, and one line that sums them up. */
void run_report_print(const struct run_judge *judge, const struct run_findings *f, FILE *out);
/* Writes the report of --report: program, command, versions, connections, findings. Returns false
 * after printing an error. */
bool run_report_write(const struct run_judge *judge, const struct run_findings *f,
                      const struct run_outcome *outcome);

#endif
