/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RESULT_H
#define IW_RUNNER_RESULT_H

/* What became of one case. */

#include <jansson.h>

#include "iwarp/mpa.h"
#include "verdict.h"

/* Strings may be NULL where there is nothing to say; all are owned by the result. */
struct iw_result {
    char *id;
    enum iw_verdict verdict;
    enum iw_mpa_role role;
    const struct iw_rule *rule; /* the rule that was broken; NULL under PASS, SKIP ... */
    double seconds;
    bool heard;     /* the peer sent an octet or ended a connection */
    char *reason;   /* one line: why this verdict */
    char *expected; /* one-line syntax; members of a set separated by " or " */
    char *actual;
    char *pcap;     /* path of the capture */
    char *where;    /* "file:line" of the case that decided */
    char *observed; /* recorded observations, "name=value; name=value"; equal for equal peers */
    char *notes;    /* remarks, one a line; not compared */
    char *exchange; /* JSON: what was exchanged, see script/sequence.h; not compared */
};

void iw_result_free(struct iw_result *result);

/* The members that say something: verdict, rule, seconds, heard, reason, expected, actual,
 * observed, notes (a list), where, pcap, exchange. A new reference. */
json_t *iw_result_to_json(const struct iw_result *result);
/* The reverse; false if `object` is no result. id and role are left to the caller. */
bool iw_result_from_json(const json_t *object, struct iw_result *out);
/* A string, made valid first; null for NULL. */
json_t *iw_json_text(const char *text);

#endif
