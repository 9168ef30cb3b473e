/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_BASELINE_H
#define IW_RUNNER_BASELINE_H

/*
 * What is known of a peer: the cases that do not pass with it, each pinned to a verdict with the
 * reasons why. One line a case,
 *
 *     ID VERDICT [RULE "SEEN"] "REASON"...
 *
 * where RULE and SEEN are those of its first deviation that is more than a quirk
 * (iw_baseline_seen); RULE "-" is none, and
 * "*" stands for any of either. A line `for "VERSION"` begins what holds for that version of the
 * target only, and before what stands above the first such line. '#' begins a comment.
 */

#include <stdio.h>

#include "run_record.h"

struct iw_pin {
    char *id;
    enum iw_verdict verdict; /* NOTE, FAIL or INCONCLUSIVE */
    bool sometimes;          /* the target's own race decides: a better one is expected, too */
    char *rule, *seen;       /* both NULL: the line has none */
    char **reasons;          /* at least one; after the last, NULL */
    char *reason;            /* all of them, never empty */
    size_t version;          /* index of baseline.versions + 1; 0: all */
    int line;
};

struct iw_baseline {
    struct iw_pin *pins; /* in the order of the file */
    size_t count;
    char **versions; /* that the file has lines for; NULL: it names none. After the last, NULL */
    size_t n_versions;
    size_t chosen; /* index of one of them + 1; 0: none yet */
    bool other;    /* the target is of none of them: the chosen one is the first */
};

/* Reads a file. Returns 0, or -1 with one line "file:line: what" in `error`: unreadable, a line of
 * another form, an id or a version twice. Call iw_baseline_free in either case. */
int iw_baseline_read(struct iw_baseline *b, const char *path, char *error, size_t room);
void iw_baseline_free(struct iw_baseline *b);

/* Takes the lines for this version of the target (NULL: not known), or else for the first in the
 * file. Returns whether that is another choice than before. */
bool iw_baseline_choose(struct iw_baseline *b, const char *version);
/* Returns the pin of a case, for the version that was chosen or for all, or NULL. */
const struct iw_pin *iw_baseline_find(const struct iw_baseline *b, const char *id);

/* Returns what that deviation of a result shows, in words that are the same each time: the
 * check that the observer saw fail, or how it differs and of what kind the answer was ("another
 * answer: terminate 0/2/05"). NULL if there is none; the caller frees it. */
char *iw_baseline_seen(const struct iw_result *result);
/* Returns how a result stands to what was pinned for the case (NULL: nothing). SKIP and ERROR are
 * not judged. */
enum iw_pinned iw_baseline_judge(const struct iw_pin *pin, const struct iw_result *result);

/* Writes the baseline that the record amounts to. A pin of `old` that still holds keeps its
 * reasons, one whose case was not judged this time stays, and so do those for other versions, but
 * none of a case that does not exist; other reasons are the run's. `version` of the target: what
 * the lines are for; NULL: for all. */
void iw_baseline_write(FILE *out, const struct iw_record *record, const char *version,
                       const struct iw_baseline *old);

#endif
