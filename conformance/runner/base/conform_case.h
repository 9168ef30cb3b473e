/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CONFORM_CASE_H
#define IW_RUNNER_CONFORM_CASE_H

/* One case as its file describes it. */

#include "iwarp/mpa.h"
#include "verdict.h"

/* One entry of a case's `needs`. A value that is true in the script is "true" here; several words
 * stand separated by blanks ("read write"). */
struct iw_need {
    char *name;
    char *value;
};

/* Every pointer is owned by the case. */
struct iw_case {
    char *id;
    char *purpose;
    char *file;                   /* as given to iw_case_load */
    int line;                     /* of the case's description */
    unsigned index;               /* place among the cases of its file, from 0 */
    const struct iw_rule **rules; /* the primary one first; at least one */
    size_t n_rules;
    enum iw_verdict worst; /* FAIL, NOTE or PASS: what the case amounts to when it does not hold */
    enum iw_mpa_role role; /* of the TARGET: a responder is connected to by the station */
    char **tags;
    size_t n_tags;
    struct iw_need *needs;
    size_t n_needs;
    double deadline; /* seconds, 0: the run's default */
};

void iw_case_free_all(struct iw_case *cases, size_t count);

/* Returns whether the rule is one of the case's. */
bool iw_case_names_rule(const struct iw_case *c, const struct iw_rule *rule);
/* Returns whether one of its tags fits the glob. */
bool iw_case_tagged(const struct iw_case *c, const char *glob);
/* Returns "must", "should" or "may". */
const char *iw_case_level(const struct iw_case *c);
/* Returns "responder" or "initiator". */
const char *iw_role_name(enum iw_mpa_role role);

#endif
