/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_TARGET_CAN_H
#define IW_RUNNER_TARGET_CAN_H

#include <jansson.h>

#include "target_spec.h"

struct iw_case;
struct iw_target;

/* Returns whether a peer can do something: "memory.write", "crc.off", "reconnect" ... `features`
 * are those of its agent's hello; NULL: it has none. */
bool iw_target_can(const struct iw_target_spec *spec, const json_t *features, const char *question);
/* Returns whether the user has said something about this name ("crc"), about just this word
 * ("rtr.send"), or, where it is a number of something ("ird.16"), another number. */
bool iw_target_said(const struct iw_target_spec *spec, const char *name);

/* Returns why this case cannot be run against this target, in one line, which the caller frees;
 * NULL if it can. */
char *iw_target_lacks(const struct iw_target *target, const struct iw_case *c);

#endif
