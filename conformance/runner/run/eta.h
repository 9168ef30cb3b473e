/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_ETA_H
#define IW_RUNNER_ETA_H

/*
 * How long a run may still take. Cases that are skipped or blocked take no time: of those to come
 * as many are taken to be played as of those before with the same role and needs. Times are ns.
 */

#include "run_record.h"

struct iw_eta_group {
    size_t left;   /* rounds to come */
    size_t done;   /* that ended, */
    size_t played; /* and those that had to be played */
};

/* Initialise with zeros. */
struct iw_eta {
    struct iw_eta_group *groups;
    size_t n_groups;
    size_t *group_of; /* by the index of an entry */
    size_t played;
    uint64_t began;
};

/* Begins the clock. What is done already does not count. */
void iw_eta_begin(struct iw_eta *e, const struct iw_record *r, uint64_t now);
/* A round of this entry has ended. */
void iw_eta_add(struct iw_eta *e, size_t entry, const struct iw_result *result);
/* Returns the seconds to come, -1 as long as too few cases were played to tell. */
double iw_eta_seconds(const struct iw_eta *e, uint64_t now);
void iw_eta_free(struct iw_eta *e);

#endif
