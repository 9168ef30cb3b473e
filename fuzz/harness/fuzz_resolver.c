/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resolver's core (proto/messages): the octets are datagrams from the net, what its own process
 * asks of it, and time. Datagrams are raw, or made well and bent in one place, so that they have
 * the nonce of an open question and a right MAC. Only such an answer may change what is believed,
 * and nobody gets more octets than he sent.
 */
#include "engine/fuzz.h"
#include "messages/resolver_core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Records: an octet that says which, and its octets. */
enum { RAW, MADE, LOOK, GATHER, FORGET, CLAIM, DISCLAIM, PASS, KINDS };
/* Bits of a datagram's second octet. */
enum { UNICAST = 1, LOOPBACK = 2, OTHER_SOURCE = 4, OWN_NONCE = 8, BENT = 16, RESEALED = 32 };
/* Bits of the first octet. */
enum { KEYED = 1, OPTIMISTS = 2, NO_RELAY = 4, NO_ROUTE = 8 };

enum { HEAD = 6, NUMBERS = 16, MOST = 2048 };

#define MS UINT64_C(1000000)

struct nonce {
    bool there;
    uint8_t octets[IW_RESOLVER_NONCE];
};

static struct {
    struct iw_resolver_core core;
    struct iw_resolver_means means;
    uint64_t now;
    uint8_t random;
    bool no_route, inside;                            /* a datagram is being taken */
    struct nonce questions[NUMBERS], claims[NUMBERS]; /* asked for last */
    uint8_t taken[256];                               /* the datagram */
    size_t taken_length, sent;                        /* octets sent because of it */
    unsigned found, contested, intruders, settled;
} w;

static uint64_t datagrams; /* of all inputs */

/* ---- its surroundings ---- */

static void read_own(const uint8_t *octets, size_t length, struct iw_resolver_datagram *d)
{
    uint8_t again[IW_RESOLVER_DATAGRAM];
    IW_FUZZ_CHECK(iw_resolver_decode(octets, length, d, &w.core.key) == IW_RESOLVER_GOOD,
                  "resolver: sends what it would not take");
    IW_FUZZ_CHECK(iw_resolver_encode(again, d, &w.core.key) == length &&
                      memcmp(again, octets, length) == 0,
                  "resolver: reads other octets than it wrote");
}

static void note_ask(void *context, const uint8_t *octets, size_t length, unsigned tries)
{
    struct iw_resolver_datagram d;
    (void)context;
    (void)tries;
    read_own(octets, length, &d);
    IW_FUZZ_CHECK(!w.inside, "resolver: a datagram makes it ask at once");
    IW_FUZZ_CHECK(d.kind != IW_RESOLVER_ANSWER && !d.relayed, "resolver: asks by a kind %u",
                  d.kind);
    struct nonce *n = &(d.kind == IW_RESOLVER_CLAIM ? w.claims : w.questions)[d.number % NUMBERS];
    n->there = true;
    memcpy(n->octets, d.nonce, sizeof(n->octets));
}

/* One datagram makes at most one, which is no longer. */
static void note_reaction(const uint8_t *octets, size_t length, struct iw_resolver_datagram *d)
{
    struct iw_resolver_datagram asked;
    read_own(octets, length, d);
    IW_FUZZ_CHECK(w.inside, "resolver: answers what nobody has asked");
    w.sent += length;
    IW_FUZZ_CHECK(w.sent <= w.taken_length, "resolver: %zu octets for %zu", w.sent, w.taken_length);
    IW_FUZZ_CHECK(iw_resolver_decode(w.taken, w.taken_length, &asked, &w.core.key) ==
                      IW_RESOLVER_GOOD,
                  "resolver: reacts to what is no datagram");
    IW_FUZZ_CHECK(asked.kind != IW_RESOLVER_ANSWER, "resolver: answers an answer");
    IW_FUZZ_CHECK(asked.number == d->number && memcmp(asked.nonce, d->nonce, sizeof(d->nonce)) == 0,
                  "resolver: answers another question");
}

static void note_send(void *context, const struct iw_resolver_place *to, const uint8_t *octets,
                      size_t length)
{
    struct iw_resolver_datagram d;
    (void)context;
    note_reaction(octets, length, &d);
    IW_FUZZ_CHECK(d.kind == IW_RESOLVER_ANSWER, "resolver: answers by a kind %u", d.kind);
    IW_FUZZ_CHECK(iw_resolver_place_is_one(to), "resolver: sends to no host");
    const struct iw_resolver_claim *c = iw_resolver_claims_find(&w.core.claims, d.number);
    IW_FUZZ_CHECK(c != NULL && !c->lost && c->instance == d.instance,
                  "resolver: answers for a number that it has not");
}

static void note_relay(void *context, const uint8_t *octets, size_t length)
{
    struct iw_resolver_datagram d;
    (void)context;
    note_reaction(octets, length, &d);
    IW_FUZZ_CHECK(d.relayed, "resolver: passes on what is not marked");
}

static bool give_local(void *context, const struct iw_resolver_place *to,
                       struct iw_resolver_place *own)
{
    (void)context;
    *own = *to;
    own->address[3] ^= 1;
    return !w.no_route;
}

static bool give_random(void *context, void *out, size_t length)
{
    (void)context;
    memset(out, ++w.random, length);
    return true;
}

static void note_notice(void *context, uint32_t number, enum iw_resolver_notice what)
{
    struct iw_resolver_datagram d;
    (void)context;
    w.found += what == IW_RESOLVER_FOUND;
    w.contested += what == IW_RESOLVER_CONTESTED;
    w.intruders += what == IW_RESOLVER_INTRUDER;
    if (!w.inside) {
        IW_FUZZ_CHECK(what == IW_RESOLVER_FOUND, "resolver: time alone makes a claimant");
        return;
    }
    const struct nonce *n =
        &(what == IW_RESOLVER_INTRUDER ? w.claims : w.questions)[number % NUMBERS];
    IW_FUZZ_CHECK(iw_resolver_decode(w.taken, w.taken_length, &d, &w.core.key) ==
                          IW_RESOLVER_GOOD &&
                      d.kind == IW_RESOLVER_ANSWER && d.number == number && n->there &&
                      memcmp(n->octets, d.nonce, sizeof(d.nonce)) == 0,
                  "resolver: believes an answer without the nonce");
}

static void note_settled(void *context)
{
    (void)context;
    w.settled++;
}

/* ---- records ---- */

static struct iw_resolver_origin origin_of(uint8_t flags)
{
    struct iw_resolver_origin o = {.from = {.family = IW_RESOLVER_IPV4, .port = 5555},
                                   .interface = (flags & LOOPBACK) != 0 ? 1 : 2,
                                   .unicast = (flags & UNICAST) != 0,
                                   .loopback = (flags & LOOPBACK) != 0};
    static const uint8_t link_local[16] = {0xfe, 0x80, [15] = 1};
    o.from.address[0] = (flags & LOOPBACK) != 0 ? 127 : 192;
    o.from.address[3] = 1;
    if ((flags & OTHER_SOURCE) == 0)
        return o;
    o.from.family = IW_RESOLVER_IPV6;
    memcpy(o.from.address, link_local, sizeof(link_local));
    o.from.scope = o.interface;
    return o;
}

static void take(const uint8_t *octets, size_t length, uint8_t flags)
{
    const struct iw_resolver_origin origin = origin_of(flags);
    const struct iw_resolver_counts before = w.core.counts;
    datagrams++;
    memcpy(w.taken, octets, length);
    w.taken_length = length;
    w.sent = 0;
    w.inside = true;
    iw_resolver_core_input(&w.core, iw_fuzz_fenced(octets, length), length, &origin, w.now);
    w.inside = false;
    const struct iw_resolver_counts *after = &w.core.counts;
    const uint64_t outcomes = after->malformed - before.malformed + after->refused -
                              before.refused + after->limited - before.limited + after->unasked -
                              before.unasked + after->answered - before.answered + after->relayed -
                              before.relayed + after->found - before.found;
    IW_FUZZ_CHECK(outcomes <= 1, "resolver: a datagram is counted %u times", (unsigned)outcomes);
}

/* The octets of a datagram that is well made but for one octet, which may come before its MAC. */
static void take_made(const uint8_t *record, size_t given)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    const uint8_t flags = record[1];
    struct iw_resolver_datagram d = {.kind = (uint8_t)(1 + record[2] % 3),
                                     .relayed = (record[2] & 0x80) != 0,
                                     .number = record[3] % NUMBERS,
                                     .instance = (uint64_t)record[4] + 1};
    const bool claims = (record[2] & 0x40) != 0;
    const struct nonce *n = &(claims ? w.claims : w.questions)[d.number];
    if ((flags & OWN_NONCE) != 0 && n->there)
        memcpy(d.nonce, n->octets, sizeof(d.nonce));
    if (d.kind == IW_RESOLVER_QUESTION)
        d.instance = 0;
    if (d.kind == IW_RESOLVER_ANSWER || d.relayed)
        d.place = (struct iw_resolver_place){
            .family = IW_RESOLVER_IPV4, .port = 4711, .address = {192, 0, 2, record[4]}};
    size_t length = iw_resolver_encode(octets, &d, &w.core.key);
    if ((flags & BENT) != 0 && given >= 2) {
        const size_t at = record[HEAD] % length;
        octets[at] ^= record[HEAD + 1];
        if ((flags & RESEALED) != 0 && w.core.key.shared) {
            struct hmac_sha256_ctx context = w.core.key.context;
            hmac_sha256_update(&context, IW_RESOLVER_PLAIN, octets);
            hmac_sha256_digest(&context, IW_RESOLVER_MAC, octets + IW_RESOLVER_PLAIN);
        }
    }
    take(octets, length, flags);
}

static void pass(uint64_t ms)
{
    const uint64_t until = w.now + ms * MS;
    for (unsigned i = 0;; i++) {
        const uint64_t due = iw_resolver_core_tick(&w.core, w.now);
        IW_FUZZ_CHECK(due > w.now, "resolver: is due at once after it was done");
        IW_FUZZ_CHECK(i < 20000, "resolver: is due again and again");
        if (due >= until)
            break;
        w.now = due;
    }
    w.now = until;
}

static void look(uint32_t number)
{
    errno = 0;
    const struct iw_resolver_answerer *a =
        iw_resolver_core_look(&w.core, number, w.now, w.now + 500 * MS);
    IW_FUZZ_CHECK(a != NULL || errno == EAGAIN || errno == ENOBUFS,
                  "resolver: looking ends with errno %d", errno);
    IW_FUZZ_CHECK(a == NULL || (w.found > 0 && iw_resolver_place_is_one(&a->place)),
                  "resolver: knows what nobody has said");
}

static void claim(uint32_t number, uint8_t instance, bool any)
{
    struct iw_resolver_place at = {.family = IW_RESOLVER_IPV4, .port = 4711};
    if (!any)
        at.address[0] = instance % 2 != 0 ? 127 : 10;
    if (iw_resolver_claims_find(&w.core.claims, number) != NULL)
        return;
    IW_FUZZ_CHECK(iw_resolver_core_claim(&w.core, number, &at, (uint64_t)instance + 1, w.now) == 0,
                  "resolver: a claim ends with errno %d", errno);
}

static void check_table(void)
{
    unsigned asking = 0;
    for (struct iw_resolver_known *e = w.core.known.asking; e != NULL; e = e->next) {
        IW_FUZZ_CHECK(e->used && e->asking && *e->link == e, "resolver: the list is broken");
        IW_FUZZ_CHECK(++asking <= NUMBERS, "resolver: asks for what nobody wants to know");
    }
    IW_FUZZ_CHECK(asking == w.core.known.asking_count, "resolver: %u ask, it counts %zu", asking,
                  w.core.known.asking_count);
    for (uint32_t n = 0; n < NUMBERS; n++) {
        const struct iw_resolver_known *e = iw_resolver_known_find(&w.core.known, n);
        IW_FUZZ_CHECK(e == NULL || e->count <= IW_RESOLVER_CLAIMANTS, "resolver: too many answers");
        IW_FUZZ_CHECK(e == NULL || !e->known || e->count > 0, "resolver: believes nothing");
    }
}

/* Carries out one record. Returns its length. */
static size_t carry_out(const uint8_t *record, size_t length)
{
    const size_t given = record[5] < length - HEAD ? record[5] : length - HEAD;
    const uint32_t number = record[3] % NUMBERS;
    struct iw_resolver_known *e;
    switch (record[0] % KINDS) {
    case RAW:
        take(record + HEAD, given, record[1]);
        break;
    case MADE:
        take_made(record, given);
        break;
    case LOOK:
        look(number);
        break;
    case GATHER:
        (void)iw_resolver_core_gather(&w.core, number, w.now, w.now + record[4] * MS);
        break;
    case FORGET:
        e = iw_resolver_known_find(&w.core.known, number);
        iw_resolver_core_forget(&w.core, number,
                                e != NULL && e->count > 0 ? e->answerers[0].instance : 1, w.now);
        break;
    case CLAIM:
        claim(number, record[4], (record[1] & 1) != 0);
        break;
    case DISCLAIM:
        if (iw_resolver_claims_find(&w.core.claims, number) != NULL)
            iw_resolver_claims_remove(&w.core.claims, number);
        break;
    default:
        pass((uint64_t)record[1] << (record[2] % 8));
        break;
    }
    return HEAD + given;
}

static void run(const uint8_t *octets, size_t length)
{
    if (length == 0)
        return;
    memset(&w, 0, sizeof(w));
    w.now = 1000 * MS;
    w.no_route = (octets[0] & NO_ROUTE) != 0;
    w.means = (struct iw_resolver_means){.ask = note_ask,
                                         .send = note_send,
                                         .relay = (octets[0] & NO_RELAY) != 0 ? NULL : note_relay,
                                         .local = give_local,
                                         .random = give_random,
                                         .notice = note_notice,
                                         .settled = note_settled};
    w.core.means = &w.means;
    w.core.expiry = 3000 * MS;
    w.core.claim_step = 20 * MS;
    w.core.known_sets = 1; /* fewer entries than numbers */
    w.core.claims_wait = (octets[0] & OPTIMISTS) == 0;
    iw_resolver_key_set(&w.core.key, (octets[0] & KEYED) != 0 ? "sixteen octets!!" : NULL, 16);
    IW_FUZZ_CHECK(iw_resolver_core_open(&w.core) == 0, "no memory");
    octets++;
    length--;
    while (length >= HEAD) {
        const size_t used = carry_out(octets, length);
        octets += used;
        length -= used;
    }
    check_table();
    iw_resolver_core_close(&w.core);
}

static void print_datagrams(void)
{
    printf("%" PRIu64 " datagrams\n", datagrams);
}

static void start(void)
{
    if (getenv("IW_FUZZ_COUNT") != NULL)
        (void)atexit(print_datagrams);
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "resolver", .most = MOST, .start = start, .run = run};
