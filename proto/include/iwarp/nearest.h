/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IWARP_NEAREST_H
#define IWARP_NEAREST_H

/*
 * Suggests the correct spelling of a misspelt name: the known name that the fewest changes lead to.
 * Allocates nothing; the words are borrowed.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names of this length or more, without the terminating 0, never match. */
enum { IW_NEAREST_WORD = 64 };

struct iw_nearest {
    const char *word; /* as it was written */
    const char *best; /* NULL: no known name is near */
    unsigned least;   /* changes that lead to `best`, or one more than is allowed */
};

/* Begins the search for `word`. Short words may be off by less than long ones. */
void iw_nearest_begin(struct iw_nearest *n, const char *word);
/* Offers one known name. Of equally near ones the first counts. */
void iw_nearest_offer(struct iw_nearest *n, const char *name);

/* Return the name of the check, or of the rule (iw_rule_find), that was probably meant; NULL if
 * none is near. */
const char *iw_nearest_check(const char *word);
const char *iw_nearest_rule(const char *word);

#ifdef __cplusplus
}
#endif

#endif
