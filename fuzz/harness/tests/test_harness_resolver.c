/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the resolver: what it hands to a core, and which lies of one it notices. */
#include "spy.h"

#include "messages/resolver_core.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum lie {
    NONE,
    TWO_ANSWERS,   /* to one datagram */
    LATER_ANSWER,  /* when time goes by */
    OTHER_NUMBER,  /* answered */
    NOT_HELD,      /* a number is answered for */
    BARE_RELAY,    /* without the mark */
    ASKS_BACK,     /* because of a datagram */
    BELIEVES,      /* whatever comes */
    BELIEVES_TIME, /* as if somebody had answered late */
    COUNTS_TWICE,
    ALWAYS_DUE,
    WRONG_ERROR,
    KNOWS, /* what nobody has said */
    BROKEN_LIST
};

static enum lie lie;

/* Nothing is allocated: an oracle that fails does not come back. */
static struct iw_resolver_known entries[1][IW_RESOLVER_WAYS];
static struct iw_resolver_claim claims[4];

int iw_resolver_core_open(struct iw_resolver_core *core)
{
    assert_int_equal(core->known_sets, 1);
    memset(entries, 0, sizeof(entries));
    core->known = (struct iw_resolver_knowledge){.sets = entries, .set_count = 1};
    core->claims = (struct iw_resolver_claims){.list = claims, .room = 4};
    return 0;
}

void iw_resolver_core_close(struct iw_resolver_core *core)
{
    (void)core;
}

/* Sends an answer or a relayed question. */
static void react(struct iw_resolver_core *core, struct iw_resolver_datagram d, bool relay)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    const struct iw_resolver_place to = {
        .family = IW_RESOLVER_IPV4, .port = 1, .address = {192, 0, 2, 1}};
    if (!relay) {
        d.kind = IW_RESOLVER_ANSWER;
        d.instance = 10;
        d.place = to;
    }
    const size_t length = iw_resolver_encode(octets, &d, &core->key);
    if (relay)
        core->means->relay(core->context, octets, length);
    else
        core->means->send(core->context, &to, octets, length);
}

void iw_resolver_core_input(struct iw_resolver_core *core, const uint8_t *octets, size_t length,
                            const struct iw_resolver_origin *origin, uint64_t now)
{
    struct iw_resolver_datagram d;
    (void)now;
    spy_note("%zu%s%s\n", length, origin->unicast ? " unicast" : "",
             origin->loopback ? " loopback" : "");
    if (lie == BELIEVES)
        core->means->notice(core->context, 7, IW_RESOLVER_FOUND);
    if (iw_resolver_decode(octets, length, &d, &core->key) != IW_RESOLVER_GOOD) {
        core->counts.malformed++;
        core->counts.refused += lie == COUNTS_TWICE;
        return;
    }
    if (lie == ASKS_BACK)
        core->means->ask(core->context, octets, length, 0);
    if (lie == BARE_RELAY)
        react(core, d, true);
    if (lie == OTHER_NUMBER)
        d.number++;
    if (lie == OTHER_NUMBER || lie == NOT_HELD || lie == TWO_ANSWERS)
        react(core, d, false);
    if (lie == TWO_ANSWERS)
        react(core, d, false);
}

uint64_t iw_resolver_core_tick(struct iw_resolver_core *core, uint64_t now)
{
    const struct iw_resolver_datagram d = {.kind = IW_RESOLVER_QUESTION, .number = 7};
    if (lie == LATER_ANSWER)
        react(core, d, false);
    if (lie == BELIEVES_TIME)
        core->means->notice(core->context, 7, IW_RESOLVER_INTRUDER);
    return lie == ALWAYS_DUE ? now : UINT64_MAX;
}

const struct iw_resolver_answerer *
iw_resolver_core_look(struct iw_resolver_core *core, uint32_t number, uint64_t now, uint64_t until)
{
    static const struct iw_resolver_answerer a = {
        .place = {.family = IW_RESOLVER_IPV4, .port = 1, .address = {10}}, .instance = 1};
    spy_note("look %u for %u ms\n", number, (unsigned)((until - now) / 1000000));
    if (lie == BROKEN_LIST) {
        struct iw_resolver_known *e = iw_resolver_known_take(&core->known, number);
        iw_resolver_known_ask(&core->known, e);
        e->asking = false;
    }
    errno = lie == WRONG_ERROR ? ENOENT : EAGAIN;
    return lie == KNOWS ? &a : NULL;
}

struct iw_resolver_known *iw_resolver_core_gather(struct iw_resolver_core *core, uint32_t number,
                                                  uint64_t now, uint64_t until)
{
    (void)core;
    spy_note("gather %u for %u ms\n", number, (unsigned)((until - now) / 1000000));
    return NULL;
}

void iw_resolver_core_forget(struct iw_resolver_core *core, uint32_t number, uint64_t instance,
                             uint64_t now)
{
    (void)core;
    (void)now;
    spy_note("forget %u %u\n", number, (unsigned)instance);
}

int iw_resolver_core_claim(struct iw_resolver_core *core, uint32_t number,
                           const struct iw_resolver_place *at, uint64_t instance, uint64_t now)
{
    (void)now;
    spy_note("claim %u port %u as %u\n", number, at->port, (unsigned)instance);
    struct iw_resolver_claim *c = iw_resolver_claims_add(&core->claims, number);
    assert_non_null(c);
    c->instance = instance;
    return 0;
}

#define PLAIN "00 "
#define QUESTION "01 00 00 07 00 00 " /* about 7 */
#define LOOK "02 00 00 07 00 00 "
#define CLAIM "05 00 00 07 09 00 "
#define WAIT "07 64 00 00 00 00 "

static void records_become_calls(void **state)
{
    (void)state;
    lie = NONE;
    spy_run(&iw_fuzz_harness,
            PLAIN "00 01 00 00 00 03 616263" QUESTION LOOK "03 00 00 17 c8 00 "
                  "04 00 00 01 00 00 " CLAIM CLAIM "06 00 00 07 00 00 " CLAIM "00 02 00 00 00 00",
            "",
            "3 unicast\n56\nlook 7 for 500 ms\ngather 7 for 200 ms\nforget 1 1\n"
            "claim 7 port 4711 as 10\nclaim 7 port 4711 as 10\n0 loopback\n");
    /* With a key there is a MAC; a record that is cut short has what there is. */
    spy_run(&iw_fuzz_harness, "01 " QUESTION "00 00 00 00 00 ff 61", "", "88\n1\n");
    spy_run(&iw_fuzz_harness, "", "", "");
}

static void expect(enum lie which, const char *hex, const char *fault)
{
    lie = which;
    assert_string_equal(spy_runs(&iw_fuzz_harness, hex), fault);
    spy_forget();
}

static void lies_are_noticed(void **state)
{
    (void)state;
    expect(TWO_ANSWERS, PLAIN CLAIM QUESTION, "resolver: 112 octets for 56");
    expect(LATER_ANSWER, PLAIN CLAIM WAIT, "resolver: answers what nobody has asked");
    expect(OTHER_NUMBER, PLAIN CLAIM QUESTION, "resolver: answers another question");
    expect(NOT_HELD, PLAIN QUESTION, "resolver: answers for a number that it has not");
    expect(NOT_HELD, PLAIN CLAIM QUESTION, "");
    expect(NOT_HELD, PLAIN CLAIM "01 00 01 07 00 00", "resolver: answers an answer");
    expect(BARE_RELAY, PLAIN QUESTION, "resolver: passes on what is not marked");
    expect(ASKS_BACK, PLAIN QUESTION, "resolver: a datagram makes it ask at once");
    expect(BELIEVES, PLAIN QUESTION, "resolver: believes an answer without the nonce");
    expect(BELIEVES, PLAIN "01 00 01 07 00 00", "resolver: believes an answer without the nonce");
    expect(BELIEVES_TIME, PLAIN WAIT, "resolver: time alone makes a claimant");
    expect(COUNTS_TWICE, PLAIN "00 00 00 00 00 00", "resolver: a datagram is counted 2 times");
    expect(ALWAYS_DUE, PLAIN WAIT, "resolver: is due at once after it was done");
    expect(WRONG_ERROR, PLAIN LOOK, "resolver: looking ends with errno 2");
    expect(KNOWS, PLAIN LOOK, "resolver: knows what nobody has said");
    expect(BROKEN_LIST, PLAIN LOOK, "resolver: the list is broken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_become_calls),
        cmocka_unit_test(lies_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
