/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_CLAIMS_H
#define IW_MESSAGES_RESOLVER_CLAIMS_H

/* The numbers that a resolver has claimed, in order. Times in ns. */

#include "messages/resolver_wire.h"

struct iw_resolver_claim {
    uint32_t number;
    bool held;             /* nobody has objected: questions are answered */
    bool lost;             /* somebody has before it was held */
    bool heard, intruded;  /* another one answers: in this round; in this one or the one before */
    unsigned sends;        /* left in this round */
    uint64_t due, doubted; /* what comes next; when it was last challenged */
    uint64_t instance;
    uint8_t nonce[IW_RESOLVER_NONCE]; /* of this round */
    struct iw_resolver_place at;
};

struct iw_resolver_claims {
    struct iw_resolver_claim *list;
    size_t count, room;
};

/* Returns the claim to a number, NULL if there is none. It stays where it is until the next one is
 * added or removed. */
struct iw_resolver_claim *iw_resolver_claims_find(const struct iw_resolver_claims *c,
                                                  uint32_t number);
/* Adds a claim, zero but for its number, which is not there yet. Returns NULL with errno ENOMEM or
 * ENOSPC. */
struct iw_resolver_claim *iw_resolver_claims_add(struct iw_resolver_claims *c, uint32_t number);
/* Removes a claim that is there. */
void iw_resolver_claims_remove(struct iw_resolver_claims *c, uint32_t number);
void iw_resolver_claims_close(struct iw_resolver_claims *c);

#endif
