/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_FINDINGS_H
#define IW_RUNNER_FINDINGS_H

/*
 * Findings: what is wrong with a target, each thing once, however many cases show it. A finding's
 * key is what the target did, about which check (a table row of proto/rules/checks.csv that joins
 * the rules of its sender, or of its receiver), and how; of a Terminate without an error, the error
 * that it reports. The cases are the evidence.
 */

#include "base/result.h"
#include "terminate_habit.h"

struct iw_record;

struct iw_finding {
    const struct iw_rule *rule; /* that most of its cases accuse; NULL: the target's program crashed
                                   or ended, or hangs */
    bool hangs;                 /* the latter */
    enum iw_verdict verdict;    /* FAIL or NOTE */
    bool habit;                 /* it is in all Terminates alike (terminate_habit.h) */
    char *text;                 /* what it is, in place of what its deviation says; or NULL */
    bool known;                 /* every case of it is as the baseline says */
    size_t *cases;              /* indices of the record's entries, in its order */
    size_t n_cases;
    size_t exhibit; /* the entry with the shortest capture */
    size_t shown;   /* its deviation there: an index */
};

/* In the order of gravity: crashes, FAIL before NOTE, then those of more cases first. The number of
 * a finding is its place here, from 1. */
struct iw_findings {
    struct iw_finding *list;
    size_t count;
    struct iw_terminate_habit habit;
};

/* Makes the findings of the cases that are done. Without memory the program ends. */
void iw_findings_build(struct iw_findings *out, const struct iw_record *record);
void iw_findings_free(struct iw_findings *f);

/* Returns the id of the rule that a finding accuses, or "crash", or "hang". */
const char *iw_finding_name(const struct iw_finding *f);
/* Returns the deviation that shows a finding. */
const struct iw_deviation *iw_finding_deviation(const struct iw_finding *f,
                                                const struct iw_record *record);
/* Returns what a finding is, in words. */
const char *iw_finding_text(const struct iw_finding *f, const struct iw_record *record);
/* Returns whether the case at `entry` is part of the finding. */
bool iw_finding_has(const struct iw_finding *f, size_t entry);

/* Returns whether two deviations are evidence of one finding. */
bool iw_deviations_alike(const struct iw_deviation *a, const struct iw_deviation *b);
/* Returns whether `d` is part of the finding that `shown` shows: like it, or what follows from it.
 */
bool iw_deviations_joined(const struct iw_deviation *shown, const struct iw_deviation *d);

#endif
