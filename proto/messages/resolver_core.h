/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_MESSAGES_RESOLVER_CORE_H
#define IW_MESSAGES_RESOLVER_CORE_H

/*
 * What a resolver does with a datagram, a question and the time; without a socket, a clock, a
 * thread or a lock of its own. Times are in ns of a clock that never goes back.
 *
 * A claim is a question, too: whoever holds the number answers, so that only an answer with our
 * nonce says that it has another holder, and a datagram that is played again says nothing. Of two
 * that claim at once the one with the greater instance stays. A held claim is asked for again every
 * 15 to 25 s, and a quarter of a second after another claim to it was seen.
 */

#include "messages/resolver_claims.h"
#include "messages/resolver_known.h"
#include "messages/resolver_limit.h"

/* Where a datagram came from. */
struct iw_resolver_origin {
    struct iw_resolver_place from;
    uint32_t interface; /* index */
    bool unicast;       /* to an address of this host, so that no other process has seen it */
    bool loopback;      /* over the loopback interface */
};

/* What the core needs of its surroundings. */
struct iw_resolver_means {
    /* Sends to everybody; `tries`: how often this was sent before. */
    void (*ask)(void *context, const uint8_t *octets, size_t length, unsigned tries);
    void (*send)(void *context, const struct iw_resolver_place *to, const uint8_t *octets,
                 size_t length);
    /* Sends to the other processes of this host, and to this one. NULL: it cannot. */
    void (*relay)(void *context, const uint8_t *octets, size_t length);
    /* Sets `own` to the address from which this host sends to `to`. */
    bool (*local)(void *context, const struct iw_resolver_place *to, struct iw_resolver_place *own);
    /* Returns false if there is no randomness. */
    bool (*random)(void *context, void *out, size_t length);
    void (*notice)(void *context, uint32_t number, enum iw_resolver_notice what);
    /* A claim was held or lost. */
    void (*settled)(void *context);
};

struct iw_resolver_core {
    const struct iw_resolver_means *means;
    void *context;
    struct iw_resolver_key key;
    uint64_t expiry, claim_step; /* an answer is believed; between two sends of a claim */
    bool claims_wait;            /* until nobody has objected */
    size_t known_sets;           /* of the table; IW_RESOLVER_SETS but for tests */
    struct iw_resolver_knowledge known;
    struct iw_resolver_claims claims;
    struct iw_resolver_limits limits;
    struct iw_resolver_counts counts;
    uint64_t claims_due;
};

/* Begins with means, context, key and times as the caller has set them. Returns 0, or -1 with
 * errno. */
int iw_resolver_core_open(struct iw_resolver_core *core);
void iw_resolver_core_close(struct iw_resolver_core *core);

/* Takes a datagram. */
void iw_resolver_core_input(struct iw_resolver_core *core, const uint8_t *octets, size_t length,
                            const struct iw_resolver_origin *origin, uint64_t now);
/* Does what is due. Returns when it has to be called again, UINT64_MAX for never. */
uint64_t iw_resolver_core_tick(struct iw_resolver_core *core, uint64_t now);

/* Returns the answerer for a number, or NULL with errno: EAGAIN if it is being asked for, which
 * goes on until `until` at least; ENOBUFS, EIO. */
const struct iw_resolver_answerer *
iw_resolver_core_look(struct iw_resolver_core *core, uint32_t number, uint64_t now, uint64_t until);
/* Asks anew and gathers answers until `until`. Returns the entry that has them, or NULL as above.
 */
struct iw_resolver_known *iw_resolver_core_gather(struct iw_resolver_core *core, uint32_t number,
                                                  uint64_t now, uint64_t until);
/* As iw_resolver_forget(). */
void iw_resolver_core_forget(struct iw_resolver_core *core, uint32_t number, uint64_t instance,
                             uint64_t now);
/* Begins a claim. Returns 0, or -1 with errno as iw_resolver_claim(). */
int iw_resolver_core_claim(struct iw_resolver_core *core, uint32_t number,
                           const struct iw_resolver_place *at, uint64_t instance, uint64_t now);

#endif
