/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SCHEDULE_H
#define IW_RUNNER_SCHEDULE_H

/* Which of the chosen cases a run plays, and in which order. Equal input gives equal output on
 * every machine. */

#include <stddef.h>
#include <stdint.h>

#include "conform_case.h"

/* Returns how long each case took in the run at `path` (its JSON report, or the folder of its
 * results): an array of seconds, negative where it has none, which the caller frees. NULL with one
 * line in `error`: it is no such report, or has none of these cases. */
double *iw_schedule_durations(const char *path, const struct iw_case *const *cases, size_t count,
                              char *error, size_t room);

/* Keeps the cases of one shard, number 1 to `shards`, in their order: each case is in exactly one.
 * With `seconds` (as above; NULL: none) the shards take about the same time, without they have
 * about the same number of cases. Returns how many are kept. */
size_t iw_schedule_shard(const struct iw_case **cases, size_t count, const double *seconds,
                         unsigned shard, unsigned shards);

/* Shuffles the cases. */
void iw_schedule_shuffle(const struct iw_case **cases, size_t count, uint32_t seed);

#endif
