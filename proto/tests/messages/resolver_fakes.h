/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESOLVER_FAKES_H
#define RESOLVER_FAKES_H

/* A resolver's core with surroundings that note what it does. Include <cmocka.h> first. */

#include "messages/resolver_core.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define START (UINT64_C(5000) * MS)

struct world {
    struct iw_resolver_core core;
    unsigned asks, sends, relays, settled, notices[3];
    unsigned tries; /* of what was asked last */
    struct iw_resolver_datagram asked, sent, relayed;
    struct iw_resolver_place sent_to, local;
    bool no_route;
    uint8_t next_random;
    uint64_t now;
};

static const struct iw_resolver_place asker = {
    .family = IW_RESOLVER_IPV4, .port = 5555, .address = {192, 0, 2, 1}};
static const struct iw_resolver_place listener = {
    .family = IW_RESOLVER_IPV4, .port = 4711, .address = {192, 0, 2, 9}};

static inline void read_own(struct world *w, const uint8_t *octets, size_t length,
                            struct iw_resolver_datagram *d)
{
    assert_int_equal(iw_resolver_decode(octets, length, d, &w->core.key), IW_RESOLVER_GOOD);
}

static inline void note_ask(void *context, const uint8_t *octets, size_t length, unsigned tries)
{
    struct world *w = context;
    w->asks++;
    w->tries = tries;
    read_own(w, octets, length, &w->asked);
}

static inline void note_send(void *context, const struct iw_resolver_place *to,
                             const uint8_t *octets, size_t length)
{
    struct world *w = context;
    w->sends++;
    w->sent_to = *to;
    read_own(w, octets, length, &w->sent);
}

static inline void note_relay(void *context, const uint8_t *octets, size_t length)
{
    struct world *w = context;
    w->relays++;
    read_own(w, octets, length, &w->relayed);
}

static inline bool give_local(void *context, const struct iw_resolver_place *to,
                              struct iw_resolver_place *own)
{
    struct world *w = context;
    (void)to;
    *own = w->local;
    return !w->no_route;
}

/* Each nonce is another one. */
static inline bool give_random(void *context, void *out, size_t length)
{
    struct world *w = context;
    memset(out, ++w->next_random, length);
    return true;
}

static inline void note_notice(void *context, uint32_t number, enum iw_resolver_notice what)
{
    struct world *w = context;
    assert_int_equal(number, 7);
    w->notices[what]++;
}

static inline void note_settled(void *context)
{
    struct world *w = context;
    w->settled++;
}

static const struct iw_resolver_means noting = {.ask = note_ask,
                                                .send = note_send,
                                                .relay = note_relay,
                                                .local = give_local,
                                                .random = give_random,
                                                .notice = note_notice,
                                                .settled = note_settled};

static inline void begin(struct world *w)
{
    *w = (struct world){.now = START,
                        .core = {.means = &noting,
                                 .expiry = 30000 * MS,
                                 .claim_step = 20 * MS,
                                 .claims_wait = true,
                                 .known_sets = IW_RESOLVER_SETS}};
    w->core.context = w;
    assert_int_equal(iw_resolver_core_open(&w->core), 0);
}

static inline void end(struct world *w)
{
    iw_resolver_core_close(&w->core);
}

/* Lets time go by up to `ms`, with everything done when it is due. */
static inline void pass(struct world *w, unsigned ms)
{
    const uint64_t until = w->now + ms * MS;
    for (;;) {
        const uint64_t due = iw_resolver_core_tick(&w->core, w->now);
        if (due >= until)
            break;
        assert_true(due > w->now);
        w->now = due;
    }
    w->now = until;
    (void)iw_resolver_core_tick(&w->core, w->now);
}

static inline void hand(struct world *w, const struct iw_resolver_datagram *d,
                        const struct iw_resolver_origin *origin)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    iw_resolver_core_input(&w->core, octets, iw_resolver_encode(octets, d, &w->core.key), origin,
                           w->now);
}

/* Hands in a datagram that came by multicast. */
static inline void hear(struct world *w, const struct iw_resolver_datagram *d)
{
    const struct iw_resolver_origin origin = {.from = asker, .interface = 2};
    hand(w, d, &origin);
}

/* An answer to what was asked last. */
static inline struct iw_resolver_datagram reply(const struct world *w, uint64_t instance)
{
    struct iw_resolver_datagram d = {.kind = IW_RESOLVER_ANSWER,
                                     .number = w->asked.number,
                                     .instance = instance,
                                     .place = listener};
    memcpy(d.nonce, w->asked.nonce, sizeof(d.nonce));
    return d;
}

static inline const struct iw_resolver_answerer *look(struct world *w)
{
    return iw_resolver_core_look(&w->core, 7, w->now, w->now + 5000 * MS);
}

/* Claims number 7 and passes the time for objections. */
static inline void hold(struct world *w, const struct iw_resolver_place *at, uint64_t instance)
{
    assert_int_equal(iw_resolver_core_claim(&w->core, 7, at, instance, w->now), 0);
    pass(w, 60);
    assert_int_equal(w->settled, 1);
    assert_true(iw_resolver_claims_find(&w->core.claims, 7)->held);
}

#endif
