/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_RESULT_H
#define IW_RUNNER_RESULT_H

/* What became of one case, and what the target did wrong in it. */

#include <jansson.h>

#include "iwarp/mpa.h"
#include "verdict.h"

/* Something that the target did, or failed to do, against a rule, or the end of its program.
 * Strings are owned, and may be NULL but for `how`. */
struct iw_deviation {
    enum iw_verdict verdict;    /* FAIL or NOTE */
    const struct iw_rule *rule; /* NULL: its program crashed or ended */
    char *how; /* in a word or a few: a check that the observer saw fail, "missed", "refused" ... */
    bool wire; /* the observer saw it; otherwise the case did */
    char *fault; /* the error that the target should have reported, or with which it has "refused"
                    what is right: the code of a Terminate; or what it leaves without an answer */
    char *came;  /* the code of the Terminate that shows it, or of a refusal: what does */
    char *text;
    char *expected;
    char *actual;
    /* The octet that shows it, of the target's direction or (it did not react) of ours. */
    int connection; /* -1: none */
    bool from_target;
    uint64_t position;
    uint64_t frame; /* of the capture, from 1; 0: there is none */
};

/* Strings may be NULL where there is nothing to say; all are owned by the result. */
struct iw_result {
    char *id;
    enum iw_verdict verdict;
    enum iw_mpa_role role;
    const struct iw_rule *rule; /* the rule that was broken; NULL under PASS, SKIP ... */
    double seconds;
    double waited;  /* seconds that the case waited for the target in all, and for the slowest */
    double slowest; /* of its answers; known to the pool alone */
    bool heard;     /* the peer sent an octet or ended a connection */
    char *reason;   /* one line: why this verdict */
    char *expected; /* one-line syntax; members of a set separated by " or " */
    char *actual;
    char *pcap;     /* path of the capture */
    char *log;      /* path of what the target has printed, where that is evidence */
    char *where;    /* "file:line" of the case that decided */
    char *observed; /* recorded observations, "name=value; name=value"; equal for equal peers */
    char *notes;    /* remarks, one a line; not compared */
    char *blocked;  /* the instrument without which the case cannot ask its question */
    unsigned blocked_by; /* the number of the finding that is about it; 0: none is */
    json_t *exchange;    /* what was exchanged, see script/sequence.h; NULL: not told */
    /* The gravest first; what follows from another one is not among them. */
    struct iw_deviation *deviations;
    size_t n_deviations;
    uint64_t frames; /* of the capture */
};

/* Returns a copy, whose strings iw_deviation_free() frees. */
struct iw_deviation iw_deviation_copy(const struct iw_deviation *d);
void iw_deviation_free(struct iw_deviation *d);
void iw_result_free(struct iw_result *result);
/* Frees the deviations from rules, and keeps those that have none. */
void iw_result_drop_breaches(struct iw_result *result);
/* Appends a deviation, which the result takes over. */
void iw_result_add_deviation(struct iw_result *result, const struct iw_deviation *deviation);

/* Returns a new object of the members that say something: verdict, rule, seconds, heard, reason,
 * expected, actual, observed, notes (a list), where, pcap, log, frames, exchange, deviations. */
json_t *iw_result_to_json(const struct iw_result *result);
/* Fills in *out from such an object, except id and role. Returns false if `object` is no result. */
bool iw_result_from_json(const json_t *object, struct iw_result *out);
/* Returns a new string of the text, made valid first; null for NULL. */
json_t *iw_json_text(const char *text);

#endif
