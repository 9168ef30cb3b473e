/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_COMMAND_H
#define IW_RUNNER_COMMAND_H

/* The command line. */

#include "host/colour.h"
#include "run/journal.h"
#include "script/script_replay.h"

struct iw_command {
    const char *program;                          /* argv[0] */
    const char *name;                             /* "run" ... */
    int (*carry_out)(const struct iw_command *c); /* returns the exit status */
    char *const *operands;                        /* what is no option */
    size_t n_operands;
    char **select; /* choices; the operands of `run` and `list` are some, too */
    size_t n_select;
    struct iw_journal_head head; /* what a run that goes on takes over; `select` is not there yet */
    unsigned jobs;               /* 0: not said */
    enum iw_host_colour colour;
    bool tap, verbose, trace, full, summary, csv, hazards;
    const char *junit, *json, *results, *capture;
    const char *baseline, *write_baseline, *resume, *html, *csv_file;
    const char *output;            /* probe: the target file; NULL: standard output */
    bool force;                    /* ... even if there is one */
    const char *switches, *matrix; /* self-check: a glob over switches; where to record */
    bool diagnose, record;         /* ... judge the findings; keep what came of it */
    const char *diagnosis;         /* ... where that is recorded; NULL: beside the cases */
    unsigned part, parts;          /* ... of the switches, from 1; 0: all */
    unsigned shard, shards;        /* of the cases, from 1; 0: all */
    const char *durations;         /* the run by which these are balanced; NULL: by number */
    char order[24];                /* of head.order, if it is this command's */
    struct iw_replay replay;       /* of the command; its capture is NULL in others */
    const char *replay_folder;     /* where that capture is */
    bool list;                     /* replay: list what there is */
    struct iw_journal *journal;    /* that of `resume`, once it is open */
};

/* Reads the command line. Returns -1 to go on, else the exit status (--help, --version, a mistake).
 */
int iw_command_parse(struct iw_command *c, int argc, char **argv);
void iw_command_free(struct iw_command *c);
/* Adds a choice (copied) to those that select cases. */
void iw_command_select(struct iw_command *c, const char *choice);
/* Forgets all of them. */
void iw_command_select_none(struct iw_command *c);

#endif
