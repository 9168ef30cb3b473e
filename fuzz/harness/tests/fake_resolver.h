/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FAKE_RESOLVER_H
#define FUZZ_FAKE_RESOLVER_H

/* A resolver's core that notes its calls, and does what a test has it do. For one program each. */

#include "spy.h"

#include "messages/resolver_core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What a core does that a test makes. */
static struct {
    void (*input)(struct iw_resolver_core *core);
    void (*tick)(struct iw_resolver_core *core);
    uint64_t due; /* after the time that is given; 0: never */
    unsigned ticks;
    int opens, claims, look_error;
    const struct iw_resolver_answerer *answerer;
} fake;
static struct iw_resolver_known entries[1][IW_RESOLVER_WAYS];
static struct iw_resolver_claim claims[4];

int iw_resolver_core_open(struct iw_resolver_core *core)
{
    spy_note("open: expiry %" PRIu64 " step %" PRIu64 " sets %zu%s%s%s\n", core->expiry,
             core->claim_step, core->known_sets, core->claims_wait ? " waits" : "",
             core->key.shared ? " key" : "", core->means->relay != NULL ? " relays" : "");
    core->known = (struct iw_resolver_knowledge){.sets = entries, .set_count = 1};
    core->claims = (struct iw_resolver_claims){.list = claims, .room = 4};
    memset(entries, 0, sizeof(entries));
    return fake.opens;
}

void iw_resolver_core_close(struct iw_resolver_core *core)
{
    (void)core;
    spy_note("close\n");
}

static void note_place(const struct iw_resolver_place *p)
{
    spy_note("%u ", p->family);
    spy_note_octets(p->address, 16);
    spy_note(" %u %u", p->port, p->scope);
}

void iw_resolver_core_input(struct iw_resolver_core *core, const uint8_t *octets, size_t length,
                            const struct iw_resolver_origin *origin, uint64_t now)
{
    spy_note("at %" PRIu64 " of ", now / 1000000);
    note_place(&origin->from);
    spy_note(" by %u%s%s: ", origin->interface, origin->unicast ? " unicast" : "",
             origin->loopback ? " loopback" : "");
    spy_note_octets(octets, length);
    spy_note("\n");
    if (fake.input != NULL)
        fake.input(core);
}

uint64_t iw_resolver_core_tick(struct iw_resolver_core *core, uint64_t now)
{
    if (fake.ticks++ < 4)
        spy_note("tick %" PRIu64 "\n", now / 1000000);
    if (fake.tick != NULL)
        fake.tick(core);
    return fake.due == 0 ? UINT64_MAX : now + fake.due;
}

const struct iw_resolver_answerer *
iw_resolver_core_look(struct iw_resolver_core *core, uint32_t number, uint64_t now, uint64_t until)
{
    (void)core;
    spy_note("look %u at %" PRIu64 " for %" PRIu64 "\n", number, now / 1000000,
             (until - now) / 1000000);
    assert_int_equal(errno, 0);
    errno = fake.look_error;
    return fake.answerer;
}

struct iw_resolver_known *iw_resolver_core_gather(struct iw_resolver_core *core, uint32_t number,
                                                  uint64_t now, uint64_t until)
{
    (void)core;
    spy_note("gather %u at %" PRIu64 " for %" PRIu64 "\n", number, now / 1000000,
             (until - now) / 1000000);
    return NULL;
}

void iw_resolver_core_forget(struct iw_resolver_core *core, uint32_t number, uint64_t instance,
                             uint64_t now)
{
    (void)core;
    spy_note("forget %u %" PRIu64 " at %" PRIu64 "\n", number, instance, now / 1000000);
}

int iw_resolver_core_claim(struct iw_resolver_core *core, uint32_t number,
                           const struct iw_resolver_place *at, uint64_t instance, uint64_t now)
{
    spy_note("claim %u at %" PRIu64 " as %" PRIu64 " ", number, now / 1000000, instance);
    note_place(at);
    spy_note("\n");
    errno = EIO;
    if (fake.claims != 0)
        return fake.claims;
    iw_resolver_claims_add(&core->claims, number)->instance = instance;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.look_error = EAGAIN;
    spy_forget();
    return 0;
}

#endif
