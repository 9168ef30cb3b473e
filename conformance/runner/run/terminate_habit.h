/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TERMINATE_HABIT_H
#define IW_RUNNER_TERMINATE_HABIT_H

/*
 * What all Terminates of a target have alike, whatever the error: fields that are always the same,
 * or layer and error type in each other's place, or that it sends none and closes instead. That is
 * one deviation, of the sender of Terminates: it has detected the errors that it reports so. It
 * takes a run to see it; one Terminate of another kind refutes it.
 */

#include "base/result.h"

struct iw_record;

enum { IW_HABIT_LAYER, IW_HABIT_TYPE, IW_HABIT_CODE, IW_HABIT_FIELDS };

struct iw_terminate_habit {
    bool same[IW_HABIT_FIELDS]; /* this field always has this value */
    unsigned value[IW_HABIT_FIELDS];
    bool exchanged; /* layer and error type */
    bool reversed;  /* they are, since the whole word is in reversed bit order */
    bool closes;    /* there is none: the target ends the connection instead */
};

/* Finds the habit in the cases that are done. All of *out is false if there is none. */
void iw_terminate_habit_find(struct iw_terminate_habit *out, const struct iw_record *record);
/* Returns whether a deviation is that of the habit, and no other one. */
bool iw_terminate_habit_is(const struct iw_terminate_habit *habit, const struct iw_deviation *d);
/* Returns the rule that the habit breaks. */
const struct iw_rule *iw_terminate_habit_rule(const struct iw_terminate_habit *habit);
/* Returns a sentence about it; NULL: a deviation's own words say it. To be freed. */
char *iw_terminate_habit_text(const struct iw_terminate_habit *habit);

#endif
