/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_MERGE_H
#define IW_RUNNER_MERGE_H

/* Runs of one suite against one target, each of which has played other cases: shards, mostly. */

#include "journal.h"
#include "suite/suite.h"

struct iw_merged_run {
    const char *dir; /* of its results */
    json_t *report;
    struct iw_journal *journal;
    struct iw_journal_head head;
};

/* Initialise with zeros. */
struct iw_merge {
    struct iw_merged_run *runs;
    size_t count;
    const char *target, *class; /* of all runs, */
    bool embedded;
    const char *version;   /* of the target; NULL: not known */
    struct iw_facts facts; /* of all runs, each once */
    double seconds;        /* that they took together */
    time_t started;        /* of the first */
    bool failed;           /* one had an error of the tester */
};

/* Reads the runs whose results are in these folders. Returns 0, or an exit status after printing
 * one line: a run is not over, two do not belong together or have a case in common, a shard is
 * missing. Call iw_merge_free in either case. */
int iw_merge_read(struct iw_merge *m, char *const *dirs, size_t n_dirs);
/* Returns whether the results of one of the runs are in this folder; NULL: none are. */
bool iw_merge_has(const struct iw_merge *m, const char *dir);
/* Finds their cases in the suite: puts them into *cases, in its order, in place of what is there.
 * Returns as iw_merge_read. */
int iw_merge_find(const struct iw_merge *m, const struct iw_suite *suite,
                  const struct iw_case ***cases, size_t *count);
/* Hands out the results of all runs. Their captures and outputs of targets are copied, or linked,
 * to `dir`; what is not there any more is NULL. Returns as above: a journal is none, or lacks a
 * case. */
int iw_merge_replay(const struct iw_merge *m, struct iw_record *record, const char *dir,
                    const struct iw_journal_reader *reader);
/* Takes what the runs know of the device that they tested. */
void iw_merge_device(const struct iw_merge *m, struct iw_device *device);
void iw_merge_free(struct iw_merge *m);

#endif
