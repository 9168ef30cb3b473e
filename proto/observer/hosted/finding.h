/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_OBSERVER_FINDING_H
#define IW_OBSERVER_FINDING_H

/* A finding of an observer (IW_OBSERVED_FINDING) in words and as JSON, for every program that
 * prints them. */

#include <jansson.h>

#include "iwarp/observer.h"

enum { IW_FINDING_TEXT = 800, IW_FINDING_WHERE = 128 };

/* Writes "octet N", with what stood there and what was expected if it had a value, into `where`.
 * Returns `where`. */
char *iw_finding_where(char where[IW_FINDING_WHERE], const struct iw_observation *o);
/* Writes "RULE (LEVEL): TEXT [CHECK; SIDE FROM, WHERE]" into `text`; FROM, the sender's address, is
 * left out if it is NULL. Returns `text`. */
char *iw_finding_print(char text[IW_FINDING_TEXT], const struct iw_observation *o,
                       const char *from);
/* Returns octet, check, rule, level, implied, text and, where there are any, got, want and quirk;
 * the caller drops it. NULL without memory. */
json_t *iw_finding_json(const struct iw_observation *o);

#endif
