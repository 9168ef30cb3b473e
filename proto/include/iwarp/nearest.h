/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_NEAREST_H
#define IWARP_NEAREST_H

/*
 * What a misspelt name was meant to be: among the names that are known, the one that the fewest
 * changes lead to. Nothing is allocated; the words are borrowed.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names from this length on, without the 0 at their end, are never near. */
enum { IW_NEAREST_WORD = 64 };

struct iw_nearest {
    const char *word; /* as it was written */
    const char *best; /* NULL: no known name is near */
    unsigned least;   /* changes that lead to `best`, or one more than may */
};

/* Begins the search for `word`. Short words may be off by less than long ones. */
void iw_nearest_begin(struct iw_nearest *n, const char *word);
/* One of the names that are known. Of equally near ones the first counts. */
void iw_nearest_offer(struct iw_nearest *n, const char *name);

/* The check, or the rule (iw_rule_find), that was probably meant: its name, NULL if none is near.
 */
const char *iw_nearest_check(const char *word);
const char *iw_nearest_rule(const char *word);

#ifdef __cplusplus
}
#endif

#endif
