/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUN_FINDINGS_H
#define IW_RUN_FINDINGS_H

/* What the processes of a program have written about their connections (proto/judge/judge.h). */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One process. */
struct run_process {
    json_t *lines; /* an array */
    long pid;
    const char *program;
    const char *capture;  /* file of its own; NULL: none */
    uint64_t first_frame; /* frames of other processes before its own in the whole capture */
    bool ended;           /* it has written its last line */
};

struct run_findings {
    struct run_process *processes;
    size_t n_processes;
    size_t connections, peer, peer_must, ours; /* counts; findings by who broke the rule */
    uint64_t unwritten;                        /* findings that are only counted */
    bool cut;                                  /* a capture lacks something */
};

/* Returns a number of a line; 0 if there is none. */
json_int_t run_line_number(const json_t *line, const char *key);
/* Returns whether the line is of this type. */
bool run_line_is(const json_t *line, const char *type);

/* Reads all files of the folder. A line that a process could not finish is passed over. Returns
 * false after printing an error. */
bool run_findings_read(struct run_findings *f, const char *folder);
void run_findings_free(struct run_findings *f);
/* Writes the captures of all processes into one, with the findings as comments on their frames.
 * Returns false after printing an error. */
bool run_findings_capture(struct run_findings *f, const char *path);

#endif
