/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_KNOWN_H
#define IW_MESSAGES_RESOLVER_KNOWN_H

/* What a resolver knows of other services, and what it is asking: a table with one entry per
 * number. Only its own questions make entries. Times in ns. */

#include "messages/resolver.h"
#include "messages/resolver_wire.h"

struct iw_resolver_answerer {
    struct iw_resolver_place place;
    uint64_t instance;
};

struct iw_resolver_known {
    bool used, asking, known;
    uint32_t number;
    uint8_t nonce[IW_RESOLVER_NONCE]; /* the same however often the question is sent */
    unsigned tries;
    uint64_t asked, due, until; /* began, is sent next, is given up */
    uint64_t gather;            /* the question goes on until then although there is an answer */
    uint64_t expires;
    /* An instance that did not answer at its place: a hung process's resolver may still speak for
     * it, so that others come first. */
    uint64_t shunned, shunned_until;
    struct iw_resolver_answerer answerers[IW_RESOLVER_CLAIMANTS];
    size_t count;
    struct iw_resolver_known *next, **link; /* of those that ask */
};

enum { IW_RESOLVER_WAYS = 8, IW_RESOLVER_SETS = IW_RESOLVER_KNOWN_MOST / IW_RESOLVER_WAYS };

struct iw_resolver_knowledge {
    struct iw_resolver_known (*sets)[IW_RESOLVER_WAYS];
    size_t set_count;
    struct iw_resolver_known *asking;
    size_t asking_count;
};

/* Makes a table of `sets` times IW_RESOLVER_WAYS. Returns 0, or -1 without memory. */
int iw_resolver_known_open(struct iw_resolver_knowledge *k, size_t sets);
/* Frees the table. */
void iw_resolver_known_close(struct iw_resolver_knowledge *k);
/* Returns the entry of a number, NULL if there is none. */
struct iw_resolver_known *iw_resolver_known_find(struct iw_resolver_knowledge *k, uint32_t number);
/* Returns the entry of a number, a new one if there is none: in the place of the one that was asked
 * for longest ago. NULL if all that could make room are being asked for. */
struct iw_resolver_known *iw_resolver_known_take(struct iw_resolver_knowledge *k, uint32_t number);
/* Puts an entry among those that ask, unless it is there. */
void iw_resolver_known_ask(struct iw_resolver_knowledge *k, struct iw_resolver_known *e);
/* Takes an entry away from those that ask, if it is there. */
void iw_resolver_known_rest(struct iw_resolver_knowledge *k, struct iw_resolver_known *e);
/* Returns the answerer to be used: the first one that is not shunned, else the first. The entry has
 * one. */
const struct iw_resolver_answerer *iw_resolver_known_best(const struct iw_resolver_known *e,
                                                          uint64_t now);
/* Returns true if this instance is shunned now. */
bool iw_resolver_known_shuns(const struct iw_resolver_known *e, uint64_t instance, uint64_t now);

#endif
