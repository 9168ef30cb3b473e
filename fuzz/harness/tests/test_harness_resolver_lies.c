/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the resolver: each condition of its oracles, and its surroundings of a core. */
#include "fake_resolver.h"

/* Asserts what it says of an input, with a core that does this because of each datagram. */
static void expect(void (*input)(struct iw_resolver_core *core), const char *hex, const char *said)
{
    set_up(NULL);
    fake.input = input;
    assert_string_equal(spy_runs(&iw_fuzz_harness, hex), said);
}

static unsigned known_count;
static bool known_known;

static void know(struct iw_resolver_core *core)
{
    struct iw_resolver_known *e = iw_resolver_known_take(&core->known, 7);
    e->answerers[0].instance = 88;
    e->count = known_count;
    e->known = known_known;
}

static void what_is_known(void **state)
{
    (void)state;
    known_known = false;
    known_count = 1;
    expect(know, "00 00 00 00 00 00 01 61 04 00 00 07 00 00", "");
    assert_non_null(strstr(spy_notes(), "forget 7 88 at"));
    known_count = 0;
    expect(know, "00 00 00 00 00 00 01 61 04 00 00 07 00 00", "");
    assert_non_null(strstr(spy_notes(), "forget 7 1 at"));
    known_count = IW_RESOLVER_CLAIMANTS;
    expect(know, "00 00 00 00 00 00 01 61", "");
    known_count = IW_RESOLVER_CLAIMANTS + 1;
    expect(know, "00 00 00 00 00 00 01 61", "resolver: too many answers");
    known_known = true;
    known_count = 0;
    expect(know, "00 00 00 00 00 00 01 61", "resolver: believes nothing");
    known_count = 1;
    expect(know, "00 00 00 00 00 00 01 61", "");
}

static int broken; /* what of the list is */

static void break_list(struct iw_resolver_core *core)
{
    struct iw_resolver_known *e = NULL;
    for (uint32_t number = 0; number < 3; number++) {
        e = iw_resolver_known_take(&core->known, number);
        iw_resolver_known_ask(&core->known, e);
    }
    static struct iw_resolver_known *elsewhere;
    if (broken == 1)
        e->used = false;
    else if (broken == 2)
        e->asking = false;
    else if (broken == 3)
        e->link = &elsewhere;
    else if (broken == 4)
        core->known.asking_count++;
    else if (broken == 5) { /* a ring */
        e->next = e;
        e->link = &e->next;
        *e->link = e;
        core->known.asking = e;
    }
}

static void lists(void **state)
{
    (void)state;
    static const char *const said[] = {"",
                                       "resolver: the list is broken",
                                       "resolver: the list is broken",
                                       "resolver: the list is broken",
                                       "resolver: 3 ask, it counts 4",
                                       "resolver: asks for what nobody wants to know"};
    for (broken = 0; broken < 6; broken++)
        expect(break_list, "00 00 00 00 00 00 01 61", said[broken]);
}

/* ---- its surroundings ---- */

static struct iw_resolver_place own;
static bool routed;
static uint8_t random_octets[20];

static void look_around(struct iw_resolver_core *core)
{
    const struct iw_resolver_place to = {IW_RESOLVER_IPV4, {10, 1, 2, 3}, 77, 0};
    routed = core->means->local(core->context, &to, &own);
    assert_true(core->means->random(core->context, random_octets, sizeof(random_octets)));
    core->means->settled(core->context);
}

static void surroundings(void **state)
{
    (void)state;
    expect(look_around, "00 00 00 00 00 00 01 61", "");
    assert_true(routed);
    assert_memory_equal(own.address, ((const uint8_t[]){10, 1, 2, 2}), 4);
    assert_int_equal(own.port, 77);
    for (unsigned i = 0; i < sizeof(random_octets); i++)
        assert_int_equal(random_octets[i], 1);
    expect(look_around, "08 00 00 00 00 00 01 61 00 00 00 00 00 01 62", "");
    assert_false(routed);
    assert_int_equal(random_octets[0], 2);
}

static void looks(void **state)
{
    (void)state;
    static const int good[] = {EAGAIN, ENOBUFS};
    for (unsigned i = 0; i < 2; i++) {
        set_up(NULL);
        fake.look_error = good[i];
        assert_string_equal(spy_runs(&iw_fuzz_harness, "00 02 00 00 07 00 00"), "");
    }
    set_up(NULL);
    fake.look_error = EIO;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 02 00 00 07 00 00"),
                        "resolver: looking ends with errno 5");
}

static void claims_fail(void **state)
{
    (void)state;
    set_up(NULL);
    fake.claims = -1;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 05 00 00 07 09 00"),
                        "resolver: a claim ends with errno 5");
}

/* ---- what a datagram may do ---- */

static unsigned outcomes[2];

static void count(struct iw_resolver_core *core)
{
    uint64_t *const all[] = {&core->counts.malformed, &core->counts.refused,  &core->counts.limited,
                             &core->counts.unasked,   &core->counts.answered, &core->counts.relayed,
                             &core->counts.found};
    for (unsigned i = 0; i < 2; i++)
        if (outcomes[i] < 7)
            ++*all[outcomes[i]];
}

static void a_datagram_has_one_outcome(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        outcomes[0] = i;
        outcomes[1] = 7;
        expect(count, "00 00 00 00 00 00 01 61 00 00 00 00 00 01 61", "");
        for (outcomes[1] = 0; outcomes[1] < 7; outcomes[1]++)
            expect(count, "00 00 00 00 00 00 01 61", "resolver: a datagram is counted 2 times");
    }
}

/* What the core sends because of the next datagram, or when it is made to. */
static struct {
    enum { ASK, SEND, RELAY } how;
    struct iw_resolver_datagram d;
    struct iw_resolver_place to;
    size_t cut; /* octets less */
    unsigned bend;
    unsigned times;
} reaction;

static void react(struct iw_resolver_core *core)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    for (unsigned i = 0; i < reaction.times; i++) {
        const size_t length = iw_resolver_encode(octets, &reaction.d, &core->key) - reaction.cut;
        octets[reaction.bend] ^= reaction.bend != 0;
        if (reaction.how == ASK)
            core->means->ask(core->context, octets, length, 0);
        else if (reaction.how == SEND)
            core->means->send(core->context, &reaction.to, octets, length);
        else
            core->means->relay(core->context, octets, length);
    }
}

#define ONE                                                                                        \
    {                                                                                              \
        IW_RESOLVER_IPV4, {192, 0, 2, 1}, 1, 0                                                     \
    }

/* An answer to a question about 7 that is right if 7 is claimed as 10. */
static void right_answer(void)
{
    memset(&reaction, 0, sizeof(reaction));
    reaction.how = SEND;
    reaction.times = 1;
    reaction.d = (struct iw_resolver_datagram){
        .kind = IW_RESOLVER_ANSWER, .number = 7, .instance = 10, .place = ONE};
    reaction.to = (struct iw_resolver_place)ONE;
}

#define CLAIMED "00 05 00 00 07 09 00 "
#define QUESTION "01 00 00 07 05 00 "

static void answers(void **state)
{
    (void)state;
    right_answer();
    expect(react, CLAIMED QUESTION, "");
    expect(react, CLAIMED "01 00 02 07 05 00", ""); /* a claim is a question, too */
    expect(react, "01 05 00 00 07 09 00 " QUESTION, "");
    expect(react, CLAIMED "01 00 01 07 05 00", "resolver: answers an answer");
    expect(react, CLAIMED "00 00 00 00 00 01 61", "resolver: 56 octets for 1");
    expect(react, CLAIMED "00 00 00 00 00 38", "resolver: 56 octets for 0");
    char raw[300] = CLAIMED "00 00 00 00 00 38 ";
    for (unsigned i = 0; i < 56; i++)
        strcat(raw, "61");
    expect(react, raw, "resolver: reacts to what is no datagram");
    reaction.times = 2;
    expect(react, CLAIMED QUESTION, "resolver: 112 octets for 56");
    right_answer();
    reaction.d.instance = 11;
    expect(react, CLAIMED QUESTION, "resolver: answers for a number that it has not");
    right_answer();
    expect(react, "00 05 00 00 08 09 00 " QUESTION,
           "resolver: answers for a number that it has not");
    right_answer();
    reaction.d.number = 8;
    expect(react, "00 05 00 00 08 09 00 " QUESTION, "resolver: answers another question");
    right_answer();
    reaction.d.nonce[15] = 1;
    expect(react, CLAIMED QUESTION, "resolver: answers another question");
    right_answer();
    reaction.to.port = 0;
    expect(react, CLAIMED QUESTION, "resolver: sends to no host");
    right_answer();
    reaction.d.kind = IW_RESOLVER_CLAIM;
    reaction.d.place = (struct iw_resolver_place){0};
    expect(react, CLAIMED QUESTION, "resolver: answers by a kind 3");
    right_answer();
    reaction.cut = 1;
    expect(react, CLAIMED QUESTION, "resolver: sends what it would not take");
    right_answer();
    reaction.bend = 4;
    expect(react, CLAIMED QUESTION, "resolver: sends what it would not take");
}

static void lose(struct iw_resolver_core *core)
{
    iw_resolver_claims_find(&core->claims, 7)->lost = true;
    react(core);
}

static void lost_claims(void **state)
{
    (void)state;
    right_answer();
    expect(lose, CLAIMED QUESTION, "resolver: answers for a number that it has not");
}

static void relays(void **state)
{
    (void)state;
    memset(&reaction, 0, sizeof(reaction));
    reaction.how = RELAY;
    reaction.times = 1;
    reaction.d = (struct iw_resolver_datagram){
        .kind = IW_RESOLVER_QUESTION, .relayed = true, .number = 7, .place = ONE};
    expect(react, "00 " QUESTION, "");
    reaction.d.relayed = false;
    reaction.d.place = (struct iw_resolver_place){0};
    expect(react, "00 " QUESTION, "resolver: passes on what is not marked");
}

static void asking(void **state)
{
    (void)state;
    for (unsigned kind = 1; kind <= 3; kind++) {
        for (unsigned relayed = 0; relayed < 2; relayed++) {
            if (kind == IW_RESOLVER_ANSWER && relayed != 0)
                continue;
            memset(&reaction, 0, sizeof(reaction));
            reaction.how = ASK;
            reaction.times = 1;
            reaction.d = (struct iw_resolver_datagram){
                .kind = (uint8_t)kind, .number = 7, .instance = kind == 1 ? 0 : 9};
            reaction.d.relayed = relayed != 0;
            if (kind == IW_RESOLVER_ANSWER || relayed != 0)
                reaction.d.place = (struct iw_resolver_place)ONE;
            set_up(NULL);
            fake.tick = react;
            char said[60] = "";
            if (kind == IW_RESOLVER_ANSWER || relayed != 0)
                snprintf(said, sizeof(said), "resolver: asks by a kind %u", kind);
            assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 01 00 00 00 00"), said);
            set_up(NULL);
            fake.tick = react;
            reaction.how = reaction.d.relayed ? RELAY : SEND;
            reaction.to = (struct iw_resolver_place)ONE;
            assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 01 00 00 00 00"),
                                "resolver: answers what nobody has asked");
        }
    }
    memset(&reaction, 0, sizeof(reaction));
    reaction.how = ASK;
    reaction.times = 1;
    reaction.d = (struct iw_resolver_datagram){.kind = IW_RESOLVER_QUESTION, .number = 7};
    expect(react, "00 " QUESTION, "resolver: a datagram makes it ask at once");
}

/* ---- what may be believed ---- */

static enum iw_resolver_notice noticed;
static uint32_t noticed_number;
static uint8_t asked_kind;

/* Asks about 7 with nonces of its own. */
static void ask(struct iw_resolver_core *core)
{
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    const struct iw_resolver_datagram d = {.kind = asked_kind,
                                           .number = 7,
                                           .instance = asked_kind == IW_RESOLVER_CLAIM ? 9 : 0,
                                           .nonce = {1, 2, 3, asked_kind}};
    const size_t length = iw_resolver_encode(octets, &d, &core->key);
    core->means->ask(core->context, octets, length, 0);
}

static void notice(struct iw_resolver_core *core)
{
    core->means->notice(core->context, noticed_number, noticed);
}

static const char *believes(uint8_t kind, enum iw_resolver_notice what, uint32_t number,
                            const char *answer)
{
    char hex[200];
    set_up(NULL);
    fake.tick = ask;
    fake.input = notice;
    asked_kind = kind;
    noticed = what;
    noticed_number = number;
    snprintf(hex, sizeof(hex), "00 07 01 00 00 00 00 %s", answer);
    return spy_runs(&iw_fuzz_harness, hex);
}

static void beliefs(void **state)
{
    (void)state;
    static const char without[] = "resolver: believes an answer without the nonce";
    static const char to_question[] = "01 08 01 07 05 00", to_claim[] = "01 08 40 07 05 00";
    const uint8_t q = IW_RESOLVER_QUESTION, c = IW_RESOLVER_CLAIM;
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 7, to_question), "");
    assert_string_equal(believes(q, IW_RESOLVER_CONTESTED, 7, to_question), "");
    assert_string_equal(believes(q, IW_RESOLVER_INTRUDER, 7, to_question), without);
    assert_string_equal(believes(c, IW_RESOLVER_INTRUDER, 7, to_claim), "");
    assert_string_equal(believes(c, IW_RESOLVER_FOUND, 7, to_claim), without);
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 7, to_claim), without);
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 7, "01 00 01 07 05 00"), without);
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 8, to_question), without);
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 7, "01 08 00 07 05 00"), without);
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 7, "00 00 00 00 00 01 61"), without);
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 7, "01 18 01 07 05 02 1b01"), without);
    /* The nonce is in the datagram that comes. */
    assert_string_equal(believes(q, IW_RESOLVER_FOUND, 7, to_question), "");
    assert_non_null(
        strstr(spy_notes(), "69577273010200040000000712670000000000000000000601020301"));
    for (unsigned what = 0; what < 3; what++) {
        set_up(NULL);
        fake.tick = notice;
        noticed = what == 0   ? IW_RESOLVER_FOUND
                  : what == 1 ? IW_RESOLVER_CONTESTED
                              : IW_RESOLVER_INTRUDER;
        assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 01 00 00 00 00"),
                            what == 0 ? "" : "resolver: time alone makes a claimant");
    }
}

static void what_it_knows(void **state)
{
    (void)state;
    static struct iw_resolver_answerer a = {.place = ONE, .instance = 1};
    set_up(NULL);
    fake.answerer = &a;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 02 00 00 07 00 00"),
                        "resolver: knows what nobody has said");
    set_up(NULL);
    fake.answerer = &a;
    fake.tick = notice;
    noticed = IW_RESOLVER_FOUND;
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 01 00 00 00 00 02 00 00 07 00 00"), "");
    a.place.port = 0; /* nobody is there */
    assert_string_equal(spy_runs(&iw_fuzz_harness, "00 07 01 00 00 00 00 02 00 00 07 00 00"),
                        "resolver: knows what nobody has said");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_known, set_up),
        cmocka_unit_test_setup(lists, set_up),
        cmocka_unit_test_setup(surroundings, set_up),
        cmocka_unit_test_setup(looks, set_up),
        cmocka_unit_test_setup(claims_fail, set_up),
        cmocka_unit_test_setup(a_datagram_has_one_outcome, set_up),
        cmocka_unit_test_setup(answers, set_up),
        cmocka_unit_test_setup(lost_claims, set_up),
        cmocka_unit_test_setup(relays, set_up),
        cmocka_unit_test_setup(asking, set_up),
        cmocka_unit_test_setup(beliefs, set_up),
        cmocka_unit_test_setup(what_it_knows, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
