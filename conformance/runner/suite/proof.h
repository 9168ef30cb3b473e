/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_PROOF_H
#define IW_RUNNER_PROOF_H

/*
 * What is known of the suite itself, from the committed tables in conformance/proof/: which case
 * noticed which switch (matrix.csv, written by self-check), and in words why a rule's cases are
 * right although no switch shows it (claims.csv), why a rule has no case (dispositions.csv), and
 * why a case notices nothing (idle.csv).
 */

#include "suite.h"

/* One table of two columns, a header line first: an id, and a text that may stand in quotes (two of
 * them inside are one). */
struct iw_proof_line {
    char *id, *text; /* owned */
    int line;
};

struct iw_proof_table {
    struct iw_proof_line *lines; /* ordered by id */
    size_t count;
};

struct iw_proof {
    struct iw_proof_table matrix, claims, dispositions, idle;
};

/* Reads the tables in `folder`; one that is not there is empty. Returns 0, or -1 with one line
 * "file:line: what" in `error`. Call iw_proof_free in either case. */
int iw_proof_read(struct iw_proof *p, const char *folder, char *error, size_t room);
/* Reads one of them. Returns as above. */
int iw_proof_read_table(struct iw_proof_table *t, const char *path, char *error, size_t room);
void iw_proof_free(struct iw_proof *p);
void iw_proof_free_table(struct iw_proof_table *t);

/* Returns the text of this id, or NULL. */
const char *iw_proof_find(const struct iw_proof_table *t, const char *id);
/* Sets it; both are copied. */
void iw_proof_set(struct iw_proof_table *t, const char *id, const char *text);

/* Returns whether self-check saw this case change its verdict (other than to INCONCLUSIVE, which is
 * no answer) or its observation when a check of this rule was bent. */
bool iw_proof_pair(const struct iw_proof *p, const struct iw_case *c, const struct iw_rule *rule);

/* How the suite stands to a rule. */
enum iw_standing {
    IW_PROVEN,        /* a case that names it is proven for it; for what any bystander can see: a
                         case was, whatever it names */
    IW_CLAIMED,       /* cases name it, and claims.csv says why they are right */
    IW_DISPOSITIONED, /* no test of the suite can judge it, and this is why */
    IW_UNACCOUNTED,
    IW_STANDINGS
};

/* Returns how the suite stands to a rule, with the words of the table in *reason, borrowed; NULL if
 * there are none. */
enum iw_standing iw_proof_standing(const struct iw_proof *p, const struct iw_suite *suite,
                                   const struct iw_rule *rule, const char **reason);
/* Returns "proven" ... */
const char *iw_standing_name(enum iw_standing standing);

#endif
