/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_JOURNAL_H
#define IW_RUNNER_JOURNAL_H

/*
 * What a run has done so far, so that one that was killed can go on: journal.jsonl in the folder of
 * its results. The first line says how the run was begun, each further one is a case that ended.
 */

#include "run_record.h"

struct iw_journal;

/* How a run was begun: the words of its command line. NULL or 0: not said. */
struct iw_journal_head {
    const char *target, *cases, *agent, *pcap_dir, *run_by;
    const char *shard;         /* "2/3": `select` has the ids of its cases; */
    size_t chosen;             /* the shards have so many together */
    const char *order;         /* "random,SEED" */
    const char *const *select; /* patterns */
    size_t n_select;
    double time_scale;
    unsigned repeat;
    bool no_quirks;
    bool keep_all; /* captures, also those of cases that passed */
};

/* Begins the journal of this run in `dir`. Returns NULL after printing an error. */
struct iw_journal *iw_journal_create(const char *dir, const struct iw_journal_head *head,
                                     const struct iw_record *record);
/* Opens the journal in `dir` and fills in *head, which borrows from the journal. A last line that
 * was cut off is dropped. Returns NULL after printing an error, with the exit status in *status. */
struct iw_journal *iw_journal_resume(const char *dir, struct iw_journal_head *head, int *status);
/* Opens the journal of a run that is over, to be read only, and fills in *head, which borrows from
 * the journal. Returns NULL after printing an error, with the exit status in *status. */
struct iw_journal *iw_journal_read(const char *dir, struct iw_journal_head *head, int *status);
/* Who takes what had been done. */
struct iw_journal_reader {
    void *context;
    /* A round of a case that ended. */
    void (*take)(void *context, struct iw_entry *entry, unsigned round, struct iw_result *result);
    /* What was charged to a case after that; NULL: it is left out. */
    void (*charge)(void *context, struct iw_entry *entry, struct iw_result *result);
};
/* Hands out what had been done, in order. Returns 0, or an exit status after printing an error:
 * suite or target are not the same any more. */
int iw_journal_replay(struct iw_journal *j, struct iw_record *record,
                      const struct iw_journal_reader *reader);
/* Adds that a case begins, for who looks on from outside. Returns false after printing an error
 * (once). */
bool iw_journal_begin(struct iw_journal *j, const struct iw_case *c);
/* Adds that the survey of the target is over. Returns as above. */
bool iw_journal_survey(struct iw_journal *j);
/* Returns whether the survey was over in the run that goes on. */
bool iw_journal_surveyed(const struct iw_journal *j);
/* Adds a round of a case that ended. Returns as above. */
bool iw_journal_add(struct iw_journal *j, const struct iw_result *result, unsigned round);
/* Adds what is charged to a case that ended (iw_record_charge). Returns as above. */
bool iw_journal_charge(struct iw_journal *j, const char *id, const struct iw_result *charge);
/* Closes the journal and frees what belongs to it. NULL is allowed. */
void iw_journal_close(struct iw_journal *j);

/* From outside: returns the case under way as the last whole line has it, with its own deadline in
 * *seconds (0: none); NULL if there is none. The caller frees it. */
char *iw_journal_begun(const char *path, double *seconds);
/* From outside: adds that this case has failed. Returns false after printing an error. */
bool iw_journal_append(const char *path, const char *id, const char *reason);

#endif
