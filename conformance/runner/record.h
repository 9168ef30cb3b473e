/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RECORD_H
#define IW_RUNNER_RECORD_H

/* The record of a run as it grows: what is to be played next, what a result amounts to. */

#include "baseline.h"
#include "command.h"
#include "report.h"

/* Files that could not be read come first and are done, then the selected cases. */
void iw_record_fill(struct iw_record *r, const struct iw_suite *suite,
                    const struct iw_case *const *selected, size_t n_selected);
/* Notes the ids of the baseline that no case of the suite has. */
void iw_record_pin(struct iw_record *r, const struct iw_baseline *b, const struct iw_suite *suite);

/* The entry to be played next: every case once, then every case again. NULL: nothing is left.
 * *number: its round's, from 0, which no other round of it has, nor had in the run before. */
struct iw_entry *iw_record_next(struct iw_record *r, unsigned *number);
/* The run before this one has played that round. */
void iw_record_restore(struct iw_entry *entry, unsigned round);
/* The entry of a case; NULL if there is none. */
struct iw_entry *iw_record_entry(struct iw_record *r, const struct iw_case *c);

/* A round ended: *result becomes the record's. The gravest round of a case counts. */
void iw_record_take(struct iw_record *r, const struct iw_baseline *b, struct iw_entry *entry,
                    struct iw_result *result);

/* The exit status (command.h). `reached`: the target was, at least once. */
int iw_record_status(const struct iw_record *r, bool reached);
void iw_record_free(struct iw_record *r);

#endif
