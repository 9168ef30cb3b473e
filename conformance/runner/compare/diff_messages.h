/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_DIFF_MESSAGES_H
#define IW_RUNNER_DIFF_MESSAGES_H

#include <jansson.h>
#include <stdio.h>

/* Prints how two exchanges of one case differ, message by message and field by field: messages that
 * one of them has alone, and what the target said otherwise, or was sent where the case remarks on
 * it. */
void iw_diff_messages(FILE *out, const json_t *a, const json_t *b);

#endif
