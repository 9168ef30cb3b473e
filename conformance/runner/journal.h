/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_JOURNAL_H
#define IW_RUNNER_JOURNAL_H

/*
 * What a run has done so far, so that one that was killed can go on: journal.jsonl in the folder of
 * its results. The first line tells how the run was begun, each further one is a case that ended.
 */

#include "command.h"
#include "report.h"

struct iw_journal;

/* Begins the journal of this run in `dir`. NULL after having complained. */
struct iw_journal *iw_journal_create(const char *dir, const struct iw_command *c,
                                     const struct iw_record *record);
/* Opens the journal in c->resume and fills in what the run was begun with (target, patterns ...);
 * `c` borrows that until iw_journal_close. NULL after having complained, *status is the exit
 * status then. A last line that was cut off is dropped. */
struct iw_journal *iw_journal_resume(struct iw_command *c, int *status);
/* Hands out what had been done, in order: a result, the entry and the round that it belongs to. 0,
 * or an exit status after having complained: suite or target are not the same any more. */
int iw_journal_replay(struct iw_journal *j, struct iw_record *record,
                      void (*take)(void *context, struct iw_entry *entry, unsigned round,
                                   struct iw_result *result),
                      void *context);
/* Adds that a case begins, for who looks on from outside. False after having complained (once). */
bool iw_journal_begin(struct iw_journal *j, const struct iw_case *c);
/* Adds a round of a case that ended. False after having complained (once). */
bool iw_journal_add(struct iw_journal *j, const struct iw_result *result, unsigned round);
void iw_journal_close(struct iw_journal *j);

/* From outside: the case under way as the last whole line has it, and its own deadline in seconds
 * (0: none). NULL: there is none. The caller frees it. */
char *iw_journal_begun(const char *path, double *seconds);
/* From outside: that case has failed. False after having complained. */
bool iw_journal_append(const char *path, const char *id, const char *reason);

#endif
