/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_HASTE_H
#define IW_RUNNER_HASTE_H

/*
 * Haste: a target that leaves out an answer is not waited for to the end in each case that asks
 * for it. Once three cases have waited in vain and seen the same, the next ones wait for ten times
 * what the target takes for nearly all of its answers. What such a case sees stands only if it is
 * established, or if the case has waited for nothing; otherwise the case is played again, with the
 * whole patience. Established is what three plays have seen, one of them with the whole patience.
 * Cases that lack one instrument have seen the same, whichever of its answers they waited for.
 */

#include "script/script_run.h"

struct iw_vain;

/* Of log2 of the milliseconds of a case's slowest answer. */
enum { IW_HASTE_TIMES = 20 };

/* What becomes of a case that was played. */
enum iw_haste_verdict {
    IW_HASTE_STANDS,
    IW_HASTE_AGAIN, /* it is played again, with the whole patience */
    IW_HASTE_LATER  /* the trial that is under way will tell */
};

/* A thing that a case sees, while that case is played again with the whole patience: its number
 * from 1; 0: none. While one is under way, others that saw the same wait for its end. */
typedef size_t iw_haste_trial;

/* Initialise with zeros. */
struct iw_haste {
    struct iw_vain *list; /* what cases saw that waited in vain */
    size_t count;
    unsigned answers[IW_HASTE_TIMES]; /* cases by that */
    bool due;                         /* cases are hasty from now on */
};

/* Returns the seconds that an expectation of the next case waits, unscaled as in the options; 0:
 * the whole patience. */
double iw_haste_patience(const struct iw_haste *h, const struct iw_run_options *options);
/* Takes note of the result of a case that was played with this patience, and returns what becomes
 * of it: with the whole one (0) it stands. *trial is the one that begins (IW_HASTE_AGAIN; 0: none),
 * which iw_haste_tried() ends, or that is under way (IW_HASTE_LATER). */
enum iw_haste_verdict iw_haste_judge(struct iw_haste *h, const struct iw_run_options *options,
                                     double patience, const struct iw_result *r,
                                     iw_haste_trial *trial);
/* Judges a case again that was to be judged later. Returns what becomes of it now, and *trial, as
 * above. */
enum iw_haste_verdict iw_haste_judge_later(struct iw_haste *h, const struct iw_result *r,
                                           iw_haste_trial *trial);
/* Ends a trial. */
void iw_haste_tried(struct iw_haste *h, iw_haste_trial trial);
/* Returns whether a trial is under way. */
bool iw_haste_trying(const struct iw_haste *h, iw_haste_trial trial);
/* Frees what was noted. */
void iw_haste_free(struct iw_haste *h);

#endif
