/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_BASE_FACTS_H
#define IW_RUNNER_BASE_FACTS_H

/*
 * The base facts: how a target that listens starts up, found out by lib/facts_case.lua before the
 * cases are played, in a worker of its own. It judges nothing.
 */

#include "base/instrument.h"
#include "facts.h"
#include "pool.h"

struct iw_base_facts {
    struct iw_facts facts;
    char *gone;   /* it gave connections at first, and none any more: when; NULL: it did not */
    char *no_mpa; /* why no case can be played: the target speaks no MPA; NULL: it may */
};

/* Plays the case with the target and the options of a pool that is about to be run on `selected`
 * cases, if these are about a listener that can be asked more than once. What it finds is added to
 * `spec`, the pool's target, where its user has said nothing. A signal that comes meanwhile is left
 * in pool->interrupted. Returns 0, or -1 with one line in `error`. The caller frees *out with
 * iw_base_facts_free in either case. */
int iw_base_facts_take(struct iw_base_facts *out, struct iw_pool *pool, struct iw_target_spec *spec,
                       const struct iw_case *const *selected, size_t n_selected, char *error,
                       size_t room);
/* Takes the notes of the case, in the words of lib/facts.lua; NULL: none. */
void iw_base_facts_read(struct iw_base_facts *out, struct iw_target_spec *spec, const char *notes);
/* Adds a fact for each instrument that the survey tried in vain. */
void iw_base_facts_survey(struct iw_base_facts *out, const struct iw_instruments *instruments);
void iw_base_facts_free(struct iw_base_facts *facts);

#endif
