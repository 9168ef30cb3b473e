/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_SELFCHECK_H
#define IW_RUNNER_SELFCHECK_H

/*
 * The suite on trial: the reference peer is bent by one switch at a time, and the cases run until
 * one notices. Noticed means that a verdict or a recorded observation differs from the clean run.
 */

#include "run/pool.h"
#include "suite/proof.h"

/* That one case noticed one switch. */
struct iw_notice {
    const struct iw_case *c;
    enum iw_verdict before, after;
    char *reason; /* owned; NULL: none */
};

/* One switch of one check. */
struct iw_probe {
    enum iw_check check;
    enum iw_switch kind;
    enum iw_botch botch; /* IW_BOTCH_NONE unless kind is IW_SWITCH_BOTCH */
    char option[128];    /* for the agent: "--ignore=mpa-crc" */
    size_t tried;        /* cases that were run with it */
    struct iw_notice *notices;
    size_t n_notices;
};

/* One case, over all switches. */
struct iw_suspect {
    const struct iw_case *c;
    bool usable;             /* passed the clean run, with or without a note */
    enum iw_verdict verdict; /* of the clean run */
    char *reason;            /* of the clean run */
    char *observed;
    size_t tried, noticed; /* switches */
    const char *justified; /* why it need not notice any; NULL: nobody says. Borrowed */
};

struct iw_self_check {
    const char *suite;    /* digest */
    bool full;            /* every wrong reaction, and every case until it notices something */
    bool partial;         /* not all cases: that a check goes unnoticed says nothing */
    const char *switches; /* a glob over those to be tried; NULL: all */
    struct iw_probe *probes;
    size_t n_probes;
    struct iw_suspect *suspects;
    size_t n_suspects;
    size_t n_errors;  /* sanitizer reports, scripts that failed ... */
    size_t n_unclean; /* cases that did not pass the clean run */
    size_t n_idle;    /* cases that notice nothing, without a justification (the full form) */
    double seconds;
    bool interrupted; /* not all was tried */
};

/* Returns the switches to be tried, in the order of the table of checks: every kind that applies;
 * of the wrong reactions one, or all if `full`. Only those that fit the glob over "KIND=CHECK" or
 * "botch=CHECK=REACTION", unless it is NULL. The caller frees the array. */
struct iw_probe *iw_probes_make(bool full, const char *glob, size_t *count);
/* Returns whether the check serves one of the case's rules. */
bool iw_case_near_check(const struct iw_case *c, enum iw_check check);

/* Makes the switches and the list of cases. suite, full, partial and switches of *s are the
 * caller's to set before. `proof` says why a case need not notice anything. */
void iw_self_check_begin(struct iw_self_check *s, const struct iw_case *const *cases,
                         size_t n_cases, const struct iw_proof *proof);
/* Plays the cases without and with switches, `workers` at a time, against targets whose output
 * goes to `dir`. Returns 0, or the exit status after printing an error. */
int iw_self_check_play(struct iw_self_check *s, const struct iw_target_spec *target,
                       const struct iw_run_options *options, unsigned workers, const char *dir);
/* Returns the exit status that the findings amount to. */
int iw_self_check_status(const struct iw_self_check *s);
void iw_self_check_free(struct iw_self_check *s);

/* Returns whether some switch of this check was noticed. */
bool iw_check_noticed(const struct iw_self_check *s, enum iw_check check);
/* Counts the checks that have a switch at all, those of them that were noticed, and the switches.
 */
void iw_self_check_count(const struct iw_self_check *s, size_t *checks, size_t *noticed,
                         size_t *switches);
/* Returns the name of a kind of switch, as the agent's options have it. */
const char *iw_switch_name(enum iw_switch kind);

void iw_self_check_print(FILE *out, const struct iw_self_check *s);
void iw_self_check_json(FILE *out, const struct iw_self_check *s);

/* selfcheck_matrix.c: puts what these cases noticed into conformance/proof/matrix.csv or the like
 * (proof.h), one line a case; lines of other cases stay if the suite still has the case. Returns 0,
 * or -1 after having complained. */
int iw_self_check_record(const struct iw_self_check *s, const struct iw_suite *suite,
                         const char *path);

#endif
