/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_core.h"

#include <errno.h>
#include <string.h>

#define MS UINT64_C(1000000)

enum {
    FIRST_AGAIN_MS = 20, /* a question is sent again, then after twice as long, and so on */
    MOST_AGAIN_MS = 1000,
    LATE_MS = 1000, /* answers to a question tell of a second claimant for so long */
    SHUN_MS = 200,  /* other answers are waited for */
    SHUN_LASTS_MS = 5000,
    DELAY_MS = 10, /* of what may not be sent now */
    CLAIM_SENDS = 3,
    AGAIN_LEAST_MS = 15000, /* a held claim is asked for again */
    AGAIN_SPREAD_MS = 10000,
    DOUBT_MS = 250, /* another claim to it was seen: by then it is decided */
    DOUBT_PAUSE_MS = 1000,
    CLAIMS_STEP_MS = 5 /* least time between two looks at all claims */
};

int iw_resolver_core_open(struct iw_resolver_core *core)
{
    core->claims_due = UINT64_MAX;
    core->counts = (struct iw_resolver_counts){0};
    core->claims = (struct iw_resolver_claims){0};
    core->limits = (struct iw_resolver_limits){0};
    if (!core->means->random(core->context, &core->limits.seed, sizeof(core->limits.seed))) {
        errno = EIO;
        return -1;
    }
    return iw_resolver_known_open(&core->known, core->known_sets);
}

void iw_resolver_core_close(struct iw_resolver_core *core)
{
    iw_resolver_known_close(&core->known);
    iw_resolver_claims_close(&core->claims);
}

/* Sends a question or a claim to everybody. Returns false if it has to wait. */
static bool ask(struct iw_resolver_core *core, const struct iw_resolver_datagram *d, unsigned tries,
                uint64_t now)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    if (!iw_resolver_bucket_take(&core->limits.asked, IW_RESOLVER_ASKED_MOST, now))
        return false;
    core->means->ask(core->context, octets, iw_resolver_encode(octets, d, &core->key), tries);
    return true;
}

/* ---- questions ---- */

static bool fresh(const struct iw_resolver_known *e, uint64_t now)
{
    return e->known && now < e->expires;
}

static void ask_known(struct iw_resolver_core *core, struct iw_resolver_known *e, uint64_t now)
{
    struct iw_resolver_datagram d = {.kind = IW_RESOLVER_QUESTION, .number = e->number};
    memcpy(d.nonce, e->nonce, sizeof(d.nonce));
    if (!ask(core, &d, e->tries, now)) {
        e->due = now + DELAY_MS * MS;
        return;
    }
    const unsigned doubled = e->tries < 6 ? e->tries : 6;
    /* Of many questions at once the answers take their time: a host that is slow must not get each
     * of them several times. */
    uint64_t pause = ((uint64_t)FIRST_AGAIN_MS << doubled) + core->known.asking_count - 1;
    if (pause > MOST_AGAIN_MS)
        pause = MOST_AGAIN_MS;
    if (e->tries++ == 0)
        core->counts.asked++;
    e->due = now + pause * MS;
}

/* Begins a question with a new nonce. Returns NULL with errno if it cannot. */
static struct iw_resolver_known *begin_question(struct iw_resolver_core *core, uint32_t number,
                                                uint64_t now, uint64_t until)
{
    struct iw_resolver_known *e = iw_resolver_known_take(&core->known, number);
    if (e == NULL) {
        errno = ENOBUFS;
        return NULL;
    }
    if (!core->means->random(core->context, e->nonce, sizeof(e->nonce))) {
        errno = EIO;
        return NULL;
    }
    e->known = false;
    e->count = 0;
    e->tries = 0;
    e->asked = now;
    e->until = until;
    e->gather = 0;
    iw_resolver_known_ask(&core->known, e);
    ask_known(core, e, now);
    return e;
}

const struct iw_resolver_answerer *
iw_resolver_core_look(struct iw_resolver_core *core, uint32_t number, uint64_t now, uint64_t until)
{
    struct iw_resolver_known *e = iw_resolver_known_find(&core->known, number);
    if (e != NULL && fresh(e, now))
        return iw_resolver_known_best(e, now);
    if (e != NULL && e->asking && !e->known) {
        if (e->until < until)
            e->until = until;
    } else if (begin_question(core, number, now, until) == NULL) {
        return NULL;
    }
    errno = EAGAIN;
    return NULL;
}

struct iw_resolver_known *iw_resolver_core_gather(struct iw_resolver_core *core, uint32_t number,
                                                  uint64_t now, uint64_t until)
{
    struct iw_resolver_known *e = iw_resolver_known_find(&core->known, number);
    /* Another one gathers: what has come is as new. */
    if (e == NULL || !e->asking || now >= e->gather)
        e = begin_question(core, number, now, until);
    if (e != NULL && e->gather < until)
        e->gather = until;
    return e;
}

void iw_resolver_core_forget(struct iw_resolver_core *core, uint32_t number, uint64_t instance,
                             uint64_t now)
{
    struct iw_resolver_known *e = iw_resolver_known_find(&core->known, number);
    if (e == NULL || !e->known || iw_resolver_known_best(e, now)->instance != instance)
        return;
    e->shunned = instance;
    e->shunned_until = now + SHUN_LASTS_MS * MS;
    e->known = false;
    iw_resolver_known_rest(&core->known, e);
}

static void believe(struct iw_resolver_core *core, struct iw_resolver_known *e, uint64_t now)
{
    e->known = true;
    e->expires = now + core->expiry;
    core->counts.found++;
    if (now >= e->gather)
        iw_resolver_known_rest(&core->known, e);
    core->means->notice(core->context, e->number, IW_RESOLVER_FOUND);
}

static bool has_answerer(const struct iw_resolver_known *e, uint64_t instance)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->answerers[i].instance == instance)
            return true;
    return false;
}

static bool answers_question(struct iw_resolver_core *core, const struct iw_resolver_datagram *d,
                             uint64_t now)
{
    struct iw_resolver_known *e = iw_resolver_known_find(&core->known, d->number);
    if (e == NULL || memcmp(e->nonce, d->nonce, sizeof(e->nonce)) != 0 ||
        (!e->asking && (!e->known || now >= e->asked + LATE_MS * MS)))
        return false;
    if (has_answerer(e, d->instance) || e->count == IW_RESOLVER_CLAIMANTS)
        return true;
    e->answerers[e->count++] =
        (struct iw_resolver_answerer){.place = d->place, .instance = d->instance};
    if (!e->known &&
        (!iw_resolver_known_shuns(e, d->instance, now) || now >= e->asked + SHUN_MS * MS))
        believe(core, e, now);
    if (e->count > 1) {
        core->counts.contested++;
        core->means->notice(core->context, e->number, IW_RESOLVER_CONTESTED);
    }
    return true;
}

/* True if the only answers are of an instance that is shunned. */
static bool holds_back(const struct iw_resolver_known *e)
{
    return !e->known && e->count > 0;
}

static uint64_t tick_question(struct iw_resolver_core *core, struct iw_resolver_known *e,
                              uint64_t now)
{
    const uint64_t shunned = e->asked + SHUN_MS * MS;
    if (holds_back(e) && now >= shunned)
        believe(core, e, now);
    if (!e->asking)
        return UINT64_MAX;
    const uint64_t end = e->until > e->gather ? e->until : e->gather;
    if (now >= (e->known ? e->gather : end)) {
        iw_resolver_known_rest(&core->known, e);
        return UINT64_MAX;
    }
    if (now >= e->due)
        ask_known(core, e, now);
    const uint64_t next = e->due < end ? e->due : end;
    return holds_back(e) && shunned < next ? shunned : next;
}

/* ---- claims ---- */

static void begin_round(struct iw_resolver_core *core, struct iw_resolver_claim *c, unsigned sends)
{
    c->intruded = c->heard;
    c->heard = false;
    c->sends = sends;
    /* Without randomness the old nonce stays: an answer to the round before counts again. */
    (void)core->means->random(core->context, c->nonce, sizeof(c->nonce));
}

int iw_resolver_core_claim(struct iw_resolver_core *core, uint32_t number,
                           const struct iw_resolver_place *at, uint64_t instance, uint64_t now)
{
    if (iw_resolver_claims_find(&core->claims, number) != NULL) {
        errno = EADDRINUSE;
        return -1;
    }
    struct iw_resolver_claim *c = iw_resolver_claims_add(&core->claims, number);
    if (c == NULL)
        return -1;
    c->at = *at;
    c->instance = instance;
    c->held = !core->claims_wait;
    c->due = now;
    core->claims_due = now;
    begin_round(core, c, CLAIM_SENDS);
    return 0;
}

/* The time until a held claim is asked for again: not the same for all, as many are made at once.
 */
static uint64_t pause_of(const struct iw_resolver_claim *c)
{
    const unsigned spread = (unsigned)c->nonce[0] << 8 | c->nonce[1];
    return (AGAIN_LEAST_MS + (uint64_t)spread * AGAIN_SPREAD_MS / 65536) * MS;
}

static void tick_claim(struct iw_resolver_core *core, struct iw_resolver_claim *c, uint64_t now)
{
    if (c->sends == 0 && !c->held) {
        c->held = true;
        c->due = now + pause_of(c);
        core->means->settled(core->context);
        return;
    }
    if (c->sends == 0)
        begin_round(core, c, 1);
    struct iw_resolver_datagram d = {
        .kind = IW_RESOLVER_CLAIM, .number = c->number, .instance = c->instance};
    memcpy(d.nonce, c->nonce, sizeof(d.nonce));
    if (!ask(core, &d, CLAIM_SENDS - c->sends, now)) {
        c->due = now + DELAY_MS * MS;
        return;
    }
    c->sends--;
    c->due = now + (c->sends > 0 || !c->held ? core->claim_step : pause_of(c));
}

static void tick_claims(struct iw_resolver_core *core, uint64_t now)
{
    if (now < core->claims_due)
        return;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < core->claims.count; i++) {
        struct iw_resolver_claim *c = &core->claims.list[i];
        if (now >= c->due && !c->lost)
            tick_claim(core, c, now);
        if (c->due < next && !c->lost)
            next = c->due;
    }
    if (next < now + CLAIMS_STEP_MS * MS)
        next = now + CLAIMS_STEP_MS * MS;
    core->claims_due = next;
}

static bool answers_claim(struct iw_resolver_core *core, const struct iw_resolver_datagram *d)
{
    struct iw_resolver_claim *c = iw_resolver_claims_find(&core->claims, d->number);
    if (c == NULL || memcmp(c->nonce, d->nonce, sizeof(c->nonce)) != 0)
        return false;
    if (d->instance == c->instance)
        return true;
    if (!c->held) {
        c->lost = true;
        core->means->settled(core->context);
        return true;
    }
    const bool was = c->intruded;
    c->heard = c->intruded = true;
    if (!was)
        core->means->notice(core->context, c->number, IW_RESOLVER_INTRUDER);
    return true;
}

/* ---- what others ask ---- */

/* Sets the place that an asker gets. Returns false if it could not reach the service. */
static bool place_for(struct iw_resolver_core *core, const struct iw_resolver_claim *c,
                      const struct iw_resolver_place *asker, struct iw_resolver_place *place)
{
    struct iw_resolver_place own;
    const bool any = iw_resolver_place_is_any(&c->at);
    *place = c->at;
    if (!any && !iw_resolver_place_is_loopback(&c->at))
        return true;
    if (!core->means->local(core->context, asker, &own))
        return false;
    if (!any)
        return iw_resolver_place_is_loopback(asker) || iw_resolver_place_same_host(&own, asker);
    own.port = c->at.port;
    *place = own;
    /* A listener at :: takes IPv4, one at 0.0.0.0 no IPv6. */
    return c->at.family == IW_RESOLVER_IPV6 || own.family == IW_RESOLVER_IPV4;
}

static void doubt(struct iw_resolver_core *core, struct iw_resolver_claim *c, uint64_t now)
{
    if (c->doubted != 0 && now < c->doubted + DOUBT_PAUSE_MS * MS)
        return;
    c->doubted = now;
    if (c->due > now + DOUBT_MS * MS)
        c->due = now + DOUBT_MS * MS;
    if (core->claims_due > c->due)
        core->claims_due = c->due;
}

static void answer(struct iw_resolver_core *core, const struct iw_resolver_datagram *d,
                   const struct iw_resolver_place *asker, uint64_t now)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    struct iw_resolver_claim *c = iw_resolver_claims_find(&core->claims, d->number);
    const bool rival = d->kind == IW_RESOLVER_CLAIM;
    if (c == NULL || c->lost || (rival && d->instance == c->instance))
        return;
    if (!c->held && (!rival || c->instance < d->instance))
        return;
    struct iw_resolver_datagram reply = {
        .kind = IW_RESOLVER_ANSWER, .number = c->number, .instance = c->instance};
    memcpy(reply.nonce, d->nonce, sizeof(reply.nonce));
    if (rival && c->held)
        doubt(core, c, now);
    if (!place_for(core, c, asker, &reply.place))
        return;
    core->counts.answered++;
    core->means->send(core->context, asker, octets, iw_resolver_encode(octets, &reply, &core->key));
}

/* Passes on what reached this process alone. Returns false if it cannot. */
static bool relay(struct iw_resolver_core *core, struct iw_resolver_datagram *d,
                  const struct iw_resolver_place *asker)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    /* The scope of a link-local asker is not on the wire. */
    if (core->means->relay == NULL || iw_resolver_place_is_link_local(asker))
        return false;
    d->relayed = true;
    d->place = *asker;
    core->counts.relayed++;
    core->means->relay(core->context, octets, iw_resolver_encode(octets, d, &core->key));
    return true;
}

void iw_resolver_core_input(struct iw_resolver_core *core, const uint8_t *octets, size_t length,
                            const struct iw_resolver_origin *origin, uint64_t now)
{
    struct iw_resolver_datagram d;
    if (!iw_resolver_limits_take(&core->limits, &origin->from, now)) {
        core->counts.limited++;
        return;
    }
    const enum iw_resolver_verdict verdict = iw_resolver_decode(octets, length, &d, &core->key);
    if (verdict == IW_RESOLVER_REFUSED) {
        core->counts.refused++;
        return;
    }
    /* Only this host's processes relay: another host could have its answers sent to anybody. */
    if (verdict == IW_RESOLVER_MALFORMED || (d.relayed && !origin->loopback)) {
        core->counts.malformed++;
        return;
    }
    if (d.kind == IW_RESOLVER_ANSWER) {
        if (iw_resolver_place_is_link_local(&d.place))
            d.place.scope = origin->interface;
        const bool question = answers_question(core, &d, now);
        if (!answers_claim(core, &d) && !question)
            core->counts.unasked++;
        return;
    }
    const struct iw_resolver_place asker = d.relayed ? d.place : origin->from;
    if (iw_resolver_place_is_one(&asker) &&
        (d.relayed || !origin->unicast || !relay(core, &d, &asker)))
        answer(core, &d, &asker, now);
}

uint64_t iw_resolver_core_tick(struct iw_resolver_core *core, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    struct iw_resolver_known *following;
    for (struct iw_resolver_known *e = core->known.asking; e != NULL; e = following) {
        following = e->next;
        const uint64_t due = tick_question(core, e, now);
        if (due < next)
            next = due;
    }
    tick_claims(core, now);
    return core->claims_due < next ? core->claims_due : next;
}
