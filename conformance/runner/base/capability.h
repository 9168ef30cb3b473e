/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CAPABILITY_H
#define IW_RUNNER_CAPABILITY_H

/* What a peer may be able to do, in the words of the cases' `needs` and the targets' `can`. */

#include <stdbool.h>
#include <stddef.h>

enum { IW_CAPABILITY_ERROR = 512 }; /* room for what was expected */

/* Returns the name at this place ("memory"), NULL after the last one. */
const char *iw_capability_at(size_t index);
/* Returns whether there is such a capability: a name ("read"), or one with a word of it
 * ("memory.write", "ird.4"). If not, puts what was expected into `error`, and what was probably
 * meant, or all names. */
bool iw_capability_known(const char *capability, char *error, size_t room);

#endif
