/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_HASTE_H
#define IW_RUNNER_HASTE_H

/*
 * Haste: a target that leaves out an answer is not waited for to the end in each case that asks
 * for it. Once three cases have waited in vain and seen the same, the next ones wait for ten times
 * what the target takes for nearly all of its answers. What such a case sees stands only if it is
 * no more than that, or if the case has waited for nothing; otherwise the case is played again,
 * with the whole patience. Cases that lack one instrument have seen the same, whichever of its
 * answers they waited for.
 */

#include "script/script_run.h"

struct iw_vain;

/* Of log2 of the milliseconds of a case's slowest answer. */
enum { IW_HASTE_TIMES = 20 };

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
/* Returns whether the result of a case that was played with this patience stands: with the whole
 * one (0), of which this takes note, it does. */
bool iw_haste_stands(struct iw_haste *h, const struct iw_run_options *options, double patience,
                     const struct iw_result *r);
void iw_haste_free(struct iw_haste *h);

#endif
