/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_BASELINE_H
#define IW_RUNNER_BASELINE_H

/*
 * What is known of a peer: the cases that do not pass with it, each pinned to a verdict with the
 * reason why. One line a case, `ID VERDICT "REASON"`; '#' begins a comment.
 */

#include <stdio.h>

#include "run_record.h"

struct iw_pin {
    char *id;
    enum iw_verdict verdict; /* NOTE, FAIL or INCONCLUSIVE */
    bool sometimes;          /* the target's own race decides: a better one is expected, too */
    char *reason;            /* never empty */
    int line;
};

struct iw_baseline {
    struct iw_pin *pins; /* in the order of the file */
    size_t count;
};

/* Reads a file. Returns 0, or -1 with one line "file:line: what" in `error`: unreadable, a line of
 * another form, an id twice. Call iw_baseline_free in either case. */
int iw_baseline_read(struct iw_baseline *b, const char *path, char *error, size_t room);
void iw_baseline_free(struct iw_baseline *b);

/* Returns the pin of a case, or NULL. */
const struct iw_pin *iw_baseline_find(const struct iw_baseline *b, const char *id);

/* Returns how a verdict stands to what was pinned for the case (NULL: nothing). SKIP and ERROR are
 * not judged. */
enum iw_pinned iw_baseline_judge(const struct iw_pin *pin, enum iw_verdict verdict);

/* Writes the baseline that the record amounts to. A pin of `old` that still holds keeps its reason,
 * and one whose case was not judged this time stays; other reasons are the run's. */
void iw_baseline_write(FILE *out, const struct iw_record *record, const struct iw_baseline *old);

#endif
