/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_DIAGNOSIS_H
#define IW_RUNNER_DIAGNOSIS_H

/*
 * The findings on trial: the reference peer is bent by one switch at a time (or by several at
 * once), all cases run as against any peer, and the rules that the findings accuse are held against
 * those that the switch really breaks.
 */

#include "run/run_record.h"
#include "selfcheck.h"

enum { IW_BENT_PARTS = IW_TARGET_OPTIONS /* switches at once */ };

/* What became of a switch. */
enum iw_outcome {
    IW_OUTCOME_NONE,     /* no case notices */
    IW_OUTCOME_OBSERVED, /* only recorded observations differ: nothing is accused */
    IW_OUTCOME_RIGHT,    /* the first finding accuses a rule that the switch breaks */
    IW_OUTCOME_WRONG
};

/* One finding, without what belongs to the run that made it. */
struct iw_accusation {
    const struct iw_rule *rule;
    enum iw_verdict verdict;
    size_t n_cases;
    bool belongs; /* the switch breaks the rule, or what it breaks follows */
    char *id;     /* of the case that shows it; owned */
    char *text;   /* owned; NULL: none */
};

/* One bent peer. */
struct iw_bent {
    struct iw_probe parts[IW_BENT_PARTS];
    size_t n_parts;  /* 0: the peer as it is */
    char *name;      /* "violate=mpa-crc", "A+B"; owned */
    char *option;    /* for the agent; owned, NULL: none */
    size_t n_failed; /* cases */
    size_t n_observed;
    struct iw_accusation *list;
    size_t n_findings;
    double seconds; /* from its first case to its last */
    bool done;
};

struct iw_diagnosis {
    const struct iw_suite *suite;
    const struct iw_case *const *cases;
    size_t n_cases;
    bool full; /* every wrong reaction, not one for each check */
    struct iw_bent *bent;
    size_t count;
    struct iw_record clean; /* of the peer as it is */
    size_t n_errors;        /* verdicts ERROR, sanitizer reports ... */
    size_t n_unclean;       /* findings of the clean run */
    double seconds;
    void *context;
    /* One of them is done. */
    void (*report)(void *context, const struct iw_bent *bent);
};

/* Figures over all that are done. */
struct iw_diagnosis_sum {
    size_t done, noticed /* some finding */, right, few /* at most 3 findings */, observed;
    double belonging; /* mean share of the accused rules that belong; 1 if none is accused */
};

/* Makes the list of bent peers: those that fit `glob` (NULL: all, or one wrong reaction for each
 * check unless d->full), or one for "A+B", where each
 * part names one switch; of these every `parts`-th, beginning with number `part` (from 1). Returns
 * 0, or -1 after printing an error. */
int iw_diagnosis_begin(struct iw_diagnosis *d, const char *glob, unsigned part, unsigned parts);
/* Plays all cases without a switch, then with each. Returns 0, or the exit status after printing an
 * error. */
int iw_diagnosis_play(struct iw_diagnosis *d, const struct iw_target_spec *target,
                      const struct iw_run_options *options, unsigned workers, const char *dir);
void iw_diagnosis_free(struct iw_diagnosis *d);

/* Returns what became of the switch. */
enum iw_outcome iw_bent_outcome(const struct iw_bent *b);
/* Returns "none", "observed", "right" or "wrong". */
const char *iw_outcome_name(enum iw_outcome outcome);
/* Returns the figures over all that are done. */
struct iw_diagnosis_sum iw_diagnosis_sum(const struct iw_diagnosis *d);
/* Returns the rules that the findings accuse, each once, by name and in the order of the catalogue,
 * separated by blanks; if `innocent`, only those that do not belong. The caller frees it. */
char *iw_bent_rules(const struct iw_bent *b, bool innocent, size_t *count);

/* consequences.c: returns whether a peer that is bent by this switch breaks the rule: one that its
 * check serves and that binds the side that the switch bends, or one that follows. */
bool iw_probe_breaks(const struct iw_probe *p, const struct iw_rule *rule);
/* Returns why it follows: a sentence of an RFC, with its place. NULL: it does not. */
const char *iw_probe_consequence(const struct iw_probe *p, const struct iw_rule *rule);

/* diagnosis_table.c: what was recorded of each switch (conformance/proof/diagnosis.csv). */
struct iw_diagnosis_table {
    struct iw_proof_table lines;
};

/* Returns 0, or -1 after printing an error. A file that is not there is an empty table. */
int iw_diagnosis_read(struct iw_diagnosis_table *t, const char *path);
/* Returns whether the switch was recorded as right and now is not, or accuses another innocent rule
 * than those recorded. */
bool iw_diagnosis_worse(const struct iw_diagnosis_table *t, const struct iw_bent *b);
/* Puts a switch that is done in the place of its line. */
void iw_diagnosis_update(struct iw_diagnosis_table *t, const struct iw_bent *b);
/* Writes the lines of switches that there are, in the order of the table of checks. Returns 0, or
 * -1 after printing an error. */
int iw_diagnosis_write(struct iw_diagnosis_table *t, const char *path);
void iw_diagnosis_table_free(struct iw_diagnosis_table *t);

/* diagnosis_report.c */
void iw_bent_print(FILE *out, const struct iw_bent *b, bool worse);
void iw_diagnosis_print(FILE *out, const struct iw_diagnosis *d);
void iw_diagnosis_json(FILE *out, const struct iw_diagnosis *d);

#endif
