/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RESULT_JSON_H
#define IW_RUNNER_RESULT_JSON_H

#include <jansson.h>

#include "runner.h"

/* The members that say something: verdict, rule, seconds, heard, reason, expected, actual,
 * observed, notes (a list), where, pcap, exchange. A new reference. */
json_t *iw_result_to_json(const struct iw_result *result);
/* The reverse; false if `object` is no result. id and role are left to the caller. */
bool iw_result_from_json(const json_t *object, struct iw_result *out);
/* A string, made valid first; null for NULL. */
json_t *iw_json_text(const char *text);

#endif
