/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_MISHAP_H
#define IW_RUNNER_MISHAP_H

/* What becomes of a target: its program breaks, ends or hangs. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iw_crash;

/* What the key of a hang begins with. */
#define IW_HANG "hang"

enum iw_mishap_kind {
    IW_MISHAP_NONE,
    IW_MISHAP_REPORT, /* its program says what is wrong with it (target/crash.h) */
    IW_MISHAP_END,    /* it ends, and says nothing */
    IW_MISHAP_HANG    /* it answers nothing */
};

enum { IW_MISHAP_NAMES = 4 };

/* Initialise with zeros; strings are owned. */
struct iw_mishap {
    enum iw_mishap_kind kind;
    char *key;  /* distinguishes causes */
    char *text; /* for a reader; of a hang without its place */
    /* Of a hang: the function that it is in and those that have called it, the innermost first. */
    char names[IW_MISHAP_NAMES][80];
    char place[120]; /* of the first; "": not known */
    size_t n_names;
    bool alone;    /* no other case was played on that target before */
    bool settled;  /* the target had answered after the case before */
    uint64_t seen; /* iw_transport_now() */
};

/* Frees the strings and zeroes it. */
void iw_mishap_free(struct iw_mishap *m);
/* Makes a report's mishap of a line of iw_crash_text() and how the program has ended (NULL: it goes
 * on). iw_crash_cause() distinguishes causes. */
void iw_mishap_report(struct iw_mishap *m, const char *report, const char *how);
/* Makes the mishap of a program that has ended so, and said nothing. */
void iw_mishap_end(struct iw_mishap *m, const char *how);
/* Makes a hang's mishap. `crash`: what the program has said when it was ended; NULL: nothing.
 * `text`: how it was seen. */
void iw_mishap_hang(struct iw_mishap *m, const struct iw_crash *crash, const char *text);
/* Returns "the target hangs in f (f.c:12), called by g: TEXT", or the text. The caller frees it. */
char *iw_mishap_text(const struct iw_mishap *m);

/* Returns whether two are of one cause. An endless loop is met in any of the functions that it
 * calls: then *a is taken to be in the function that both have in common. A hang in a function that
 * is not known is not the same as one in a known function. */
bool iw_mishap_same(struct iw_mishap *a, const struct iw_mishap *b);
/* Returns the same for *b that was seen when the same cases were played again: of two hangs, one
 * may name no function. Then *a takes the names of *b. */
bool iw_mishap_again(struct iw_mishap *a, const struct iw_mishap *b);

/* Mishaps that are known, distinguished by their cause. */
struct iw_mishaps {
    struct iw_mishap *list;
    size_t count;
};
/* Returns whether it is known; the key of one that is becomes the known one's, and the place of a
 * hang what is known of it. */
bool iw_mishaps_know(struct iw_mishaps *all, struct iw_mishap *m);
/* Adds it unless it is known; the key of a hang becomes that of the function that it is in now. */
void iw_mishaps_learn(struct iw_mishaps *all, struct iw_mishap *m);
/* Frees all of them. */
void iw_mishaps_free(struct iw_mishaps *all);

#endif
