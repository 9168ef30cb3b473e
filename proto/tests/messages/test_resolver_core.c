/* SPDX-License-Identifier: BSD-3-Clause */
/* The resolver's core: when each thing is due, and what becomes of it without randomness, room, a
 * route or the right to send. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "resolver_fakes.h"

static struct iw_resolver_known *entry(struct world *w, uint32_t number)
{
    struct iw_resolver_known *e = iw_resolver_known_find(&w->core.known, number);
    assert_non_null(e);
    return e;
}

static uint64_t tick(struct world *w)
{
    return iw_resolver_core_tick(&w->core, w->now);
}

/* ---- questions ---- */

static void a_question_is_due(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_true(tick(&w) == UINT64_MAX);
    assert_null(iw_resolver_core_look(&w.core, 7, w.now, w.now + 50 * MS));
    const struct iw_resolver_known *e = entry(&w, 7);
    assert_int_equal(e->asked, START);
    assert_int_equal(e->until, START + 50 * MS);
    assert_int_equal(tick(&w), START + 20 * MS);
    w.now += 20 * MS;
    assert_int_equal(tick(&w), START + 50 * MS); /* it is given up before it is due */
    assert_int_equal(w.asks, 2);
    /* Who asks for longer has it go on, who asks for less does not end it. */
    assert_null(iw_resolver_core_look(&w.core, 7, w.now, START + 70 * MS));
    assert_null(iw_resolver_core_look(&w.core, 7, w.now, START + 30 * MS));
    assert_int_equal(w.asks, 2);
    assert_int_equal(tick(&w), START + 60 * MS);
    w.now = START + 60 * MS;
    assert_int_equal(tick(&w), START + 70 * MS);
    assert_int_equal(w.asks, 3);
    w.now = START + 70 * MS - 1;
    assert_int_equal(tick(&w), START + 70 * MS);
    assert_true(e->asking);
    w.now++;
    assert_true(tick(&w) == UINT64_MAX);
    assert_false(e->asking);
    assert_int_equal(w.core.known.asking_count, 0);
    assert_int_equal(w.asks, 3);
    end(&w);
}

/* What may not be sent now is sent 10 ms later, and counts then. */
static void a_question_has_to_wait(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    while (iw_resolver_bucket_take(&w.core.limits.asked, IW_RESOLVER_ASKED_MOST, w.now))
        ;
    assert_null(look(&w));
    assert_int_equal(w.asks, 0);
    assert_int_equal(w.core.counts.asked, 0);
    assert_int_equal(entry(&w, 7)->tries, 0);
    assert_int_equal(tick(&w), START + 10 * MS);
    assert_int_equal(iw_resolver_core_claim(&w.core, 9, &listener, 5, w.now), 0);
    assert_int_equal(tick(&w), START + 10 * MS);
    assert_int_equal(iw_resolver_claims_find(&w.core.claims, 9)->sends, 3);
    w.now += 10 * MS;
    assert_int_equal(tick(&w), w.now + 20 * MS);
    assert_int_equal(w.asks, 2);
    assert_int_equal(w.core.counts.asked, 1);
    assert_int_equal(iw_resolver_claims_find(&w.core.claims, 9)->sends, 2);
    end(&w);
}

static bool no_random(void *context, void *out, size_t length)
{
    (void)context;
    (void)out;
    (void)length;
    return false;
}

static void without_randomness(void **state)
{
    struct world w;
    struct iw_resolver_means means = noting;
    (void)state;
    begin(&w);
    means.random = no_random;
    w.core.means = &means;
    assert_null(look(&w));
    assert_int_equal(errno, EIO);
    assert_int_equal(w.asks, 0);
    assert_null(iw_resolver_core_gather(&w.core, 7, w.now, w.now + MS));
    assert_int_equal(errno, EIO);
    end(&w);
    errno = 0;
    assert_int_equal(iw_resolver_core_open(&w.core), -1);
    assert_int_equal(errno, EIO);
}

/* Several that gather share a question as long as it lasts. */
static void several_gather(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    struct iw_resolver_known *e = iw_resolver_core_gather(&w.core, 7, w.now, w.now + 300 * MS);
    const struct iw_resolver_datagram d = reply(&w, 42), other = reply(&w, 43);
    hear(&w, &d);
    hear(&w, &d); /* the same one once more */
    assert_int_equal(e->count, 1);
    assert_int_equal(w.core.counts.unasked, 0);
    pass(&w, 100);
    const unsigned asks = w.asks;
    assert_ptr_equal(iw_resolver_core_gather(&w.core, 7, w.now, w.now + 100 * MS), e);
    assert_int_equal(e->gather, START + 300 * MS);
    assert_ptr_equal(iw_resolver_core_gather(&w.core, 7, w.now, w.now + 300 * MS), e);
    assert_int_equal(e->gather, START + 400 * MS);
    assert_int_equal(w.asks, asks);
    assert_int_equal(e->count, 1);
    hear(&w, &other);
    assert_int_equal(e->count, 2);
    assert_int_equal(w.notices[IW_RESOLVER_FOUND], 1);
    assert_int_equal(w.core.counts.found, 1);
    w.now = START + 400 * MS - 1;
    (void)tick(&w);
    assert_true(e->asking);
    w.now++;
    (void)tick(&w);
    assert_false(e->asking);
    assert_true(e->known);
    /* The next one asks anew, and what was known is not. */
    assert_ptr_equal(iw_resolver_core_gather(&w.core, 7, w.now, w.now + MS), e);
    assert_int_equal(e->count, 0);
    assert_false(e->known);
    assert_int_equal(e->gather, w.now + MS);
    assert_int_equal(w.core.counts.asked, 2);
    end(&w);
}

static void what_is_forgotten(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    iw_resolver_core_forget(&w.core, 7, 42, w.now); /* of which nothing is known */
    assert_null(look(&w));
    iw_resolver_core_forget(&w.core, 7, 0, w.now); /* nor yet */
    struct iw_resolver_known *e = entry(&w, 7);
    assert_true(e->asking);
    const struct iw_resolver_datagram d = reply(&w, 42);
    hear(&w, &d);
    iw_resolver_core_forget(&w.core, 7, 43, w.now);
    assert_true(e->known);
    iw_resolver_core_forget(&w.core, 7, 42, w.now);
    assert_false(e->known);
    assert_int_equal(e->shunned, 42);
    assert_int_equal(e->shunned_until, START + 5000 * MS);
    /* What gathers does not go on, either. */
    e = iw_resolver_core_gather(&w.core, 7, w.now, w.now + 1000 * MS);
    const struct iw_resolver_datagram other = reply(&w, 44);
    hear(&w, &other);
    assert_true(e->asking && e->known);
    iw_resolver_core_forget(&w.core, 7, 44, w.now);
    assert_false(e->asking || e->known);
    end(&w);
}

/* The last choice is made 200 ms after the question began, and that is when it is due. */
static void a_last_choice_is_due(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_null(look(&w));
    struct iw_resolver_datagram d = reply(&w, 42);
    hear(&w, &d);
    iw_resolver_core_forget(&w.core, 7, 42, w.now);
    w.now += 1000 * MS;
    assert_null(look(&w));
    d = reply(&w, 42);
    w.now += 199 * MS;
    (void)tick(&w);
    hear(&w, &d);
    assert_int_equal(tick(&w), START + 1200 * MS);
    assert_int_equal(w.notices[IW_RESOLVER_FOUND], 1);
    w.now += MS;
    (void)tick(&w);
    assert_int_equal(w.notices[IW_RESOLVER_FOUND], 2);
    assert_int_equal(entry(&w, 7)->expires, START + 31200 * MS);
    /* After that time it is no worse than any other. */
    iw_resolver_core_forget(&w.core, 7, 42, w.now);
    assert_null(look(&w));
    d = reply(&w, 42);
    w.now += 200 * MS;
    hear(&w, &d);
    assert_int_equal(w.notices[IW_RESOLVER_FOUND], 3);
    /* Nor once five seconds have passed. */
    iw_resolver_core_forget(&w.core, 7, 42, w.now);
    w.now += 5000 * MS;
    assert_null(look(&w));
    d = reply(&w, 42);
    hear(&w, &d);
    assert_int_equal(w.notices[IW_RESOLVER_FOUND], 4);
    end(&w);
}

/* ---- claims ---- */

static void a_claim_is_due(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), -1);
    assert_int_equal(errno, EADDRINUSE);
    const struct iw_resolver_claim *c = iw_resolver_claims_find(&w.core.claims, 7);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(c->held);
        assert_int_equal(tick(&w), START + (20 * i + 20) * MS);
        assert_int_equal(w.asks, i + 1);
        assert_int_equal(w.tries, i);
        w.now = START + (20 * i + 20) * MS;
    }
    /* The nonce begins with 2, 2: 514 of 65,536 parts of ten seconds. */
    assert_int_equal(tick(&w), START + (60 + 15000 + 78) * MS);
    assert_true(c->held);
    assert_int_equal(w.settled, 1);
    w.now = START + 15138 * MS - 1;
    (void)tick(&w);
    assert_int_equal(w.asks, 3);
    w.now++;
    /* 3, 3: 117 ms. */
    assert_int_equal(tick(&w), w.now + (15000 + 117) * MS);
    assert_int_equal(w.asks, 4);
    assert_int_equal(w.tries, 2);
    assert_int_equal(w.settled, 1);
    end(&w);
}

static bool uneven_random(void *context, void *out, size_t length)
{
    (void)context;
    memset(out, 0xff, length);
    *(uint8_t *)out = 1;
    return true;
}

/* The two octets that a nonce begins with say when: 511 parts. */
static void a_claim_is_due_by_its_nonce(void **state)
{
    struct world w;
    struct iw_resolver_means means = noting;
    (void)state;
    begin(&w);
    means.random = uneven_random;
    w.core.means = &means;
    w.core.claims_wait = false;
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    pass(&w, 40);
    assert_int_equal(w.asks, 3);
    assert_int_equal(tick(&w), START + (40 + 15000 + 77) * MS);
    end(&w);
}

/* All claims are looked at every 5 ms at most; a lost one is never due. */
static void many_claims_are_due(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    w.core.claim_step = MS;
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    assert_int_equal(tick(&w), START + 5 * MS);
    w.now += 5 * MS - 1;
    assert_int_equal(tick(&w), START + 5 * MS);
    assert_int_equal(w.asks, 1);
    w.now++;
    assert_int_equal(tick(&w), START + 10 * MS);
    assert_int_equal(w.asks, 2);
    const struct iw_resolver_datagram d = reply(&w, 41);
    hear(&w, &d);
    assert_int_equal(w.settled, 1);
    w.now = START + 10 * MS;
    assert_true(tick(&w) == UINT64_MAX);
    assert_int_equal(w.asks, 2);
    end(&w);
}

static struct iw_resolver_datagram rival(uint64_t instance)
{
    return (struct iw_resolver_datagram){
        .kind = IW_RESOLVER_CLAIM, .number = 7, .instance = instance, .nonce = {4, 5, 6}};
}

static struct iw_resolver_datagram question(void)
{
    return (struct iw_resolver_datagram){
        .kind = IW_RESOLVER_QUESTION, .number = 7, .nonce = {1, 2, 3}};
}

/* Only another claim to a number that is held casts doubt on it. */
static void no_challenge(void **state)
{
    struct world w;
    const struct iw_resolver_datagram q = question(), less = rival(41), same = rival(42);
    (void)state;
    begin(&w);
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    const struct iw_resolver_claim *c = iw_resolver_claims_find(&w.core.claims, 7);
    hear(&w, &less);
    assert_int_equal(w.sends, 1);
    assert_int_equal(c->doubted, 0);
    pass(&w, 60);
    assert_true(c->held);
    const uint64_t due = c->due;
    hear(&w, &q);
    hear(&w, &same);
    assert_int_equal(w.sends, 2);
    assert_int_equal(c->doubted, 0);
    assert_int_equal(c->due, due);
    hear(&w, &less);
    assert_int_equal(c->doubted, w.now);
    end(&w);
}

/* A challenge is looked into after 250 ms, once in a second, and not later than it was due. */
static void a_challenge(void **state)
{
    struct world w;
    const struct iw_resolver_datagram more = rival(43);
    (void)state;
    begin(&w);
    hold(&w, &listener, 42);
    const struct iw_resolver_claim *c = iw_resolver_claims_find(&w.core.claims, 7);
    const uint64_t due = c->due, first = w.now;
    hear(&w, &more);
    assert_true(due > first + 250 * MS);
    assert_int_equal(c->due, first + 250 * MS);
    assert_int_equal(tick(&w), first + 250 * MS);
    pass(&w, 250);
    const uint64_t again = c->due;
    w.now = first + 1000 * MS - 1;
    hear(&w, &more);
    assert_int_equal(c->due, again);
    w.now++;
    hear(&w, &more);
    assert_int_equal(c->due, w.now + 250 * MS);
    assert_int_equal(w.sends, 3);
    /* One that is due sooner stays so. */
    pass(&w, 250);
    w.now = c->due - 100 * MS;
    const uint64_t soon = c->due;
    hear(&w, &more);
    assert_int_equal(c->due, soon);
    assert_int_equal(w.core.counts.answered, 4);
    end(&w);
}

static void answers_to_a_held_claim(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    hold(&w, &listener, 42);
    const struct iw_resolver_claim *c = iw_resolver_claims_find(&w.core.claims, 7);
    const struct iw_resolver_datagram own = reply(&w, 42), other = reply(&w, 43);
    hear(&w, &own);
    assert_false(c->heard || c->intruded);
    hear(&w, &other);
    assert_true(c->heard && c->intruded && c->held);
    assert_false(c->lost);
    hear(&w, &other);
    assert_int_equal(w.notices[IW_RESOLVER_INTRUDER], 1);
    assert_int_equal(w.settled, 1);
    assert_int_equal(w.core.counts.unasked, 0);
    end(&w);
}

/* ---- what others ask ---- */

static void which_place_is_told(void **state)
{
    enum { V4 = IW_RESOLVER_IPV4, V6 = IW_RESOLVER_IPV6 };
    static const struct iw_resolver_place any4 = {.family = V4, .port = 5},
                                          any6 = {.family = V6, .port = 5},
                                          loop4 = {.family = V4, .port = 5, .address = {127, 9}},
                                          loop6 = {.family = V6, .port = 5, .address = {[15] = 1}},
                                          far4 = {.family = V4, .port = 5, .address = {192, 1}},
                                          own4 = {.family = V4, .port = 9, .address = {10, 1}},
                                          own6 = {.family = V6, .port = 9, .address = {0xfd, 1}};
    static const struct {
        const struct iw_resolver_place *at, *asker, *own, *told; /* told: NULL if nothing is */
    } rows[] = {{&far4, &own4, NULL, &far4},    {&far4, &own6, NULL, &far4},
                {&any4, &far4, &own4, &own4},   {&any4, &own6, &own6, NULL},
                {&any4, &far4, NULL, NULL},     {&any6, &own6, &own6, &own6},
                {&any6, &far4, &own4, &own4},   {&loop4, &far4, &own4, NULL},
                {&loop4, &own4, &own4, &loop4}, {&loop4, &loop4, &own4, &loop4},
                {&loop6, &own6, &own6, &loop6}, {&loop6, &loop6, &own4, &loop6},
                {&loop6, &far4, &own4, NULL},   {&loop4, &own4, NULL, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world w;
        const struct iw_resolver_datagram d = question();
        const struct iw_resolver_origin origin = {.from = *rows[i].asker, .interface = 2};
        begin(&w);
        hold(&w, rows[i].at, 42);
        w.no_route = rows[i].own == NULL;
        if (rows[i].own != NULL)
            w.local = *rows[i].own;
        hand(&w, &d, &origin);
        if (w.sends != (rows[i].told != NULL))
            fail_msg("row %zu", i);
        assert_int_equal(w.core.counts.answered, w.sends);
        if (rows[i].told != NULL) {
            assert_true(iw_resolver_place_same_host(&w.sent.place, rows[i].told));
            assert_int_equal(w.sent.place.port, 5);
        }
        end(&w);
    }
}

/* A question that only this process got is passed on, if that is possible. */
static void what_is_relayed(void **state)
{
    struct world w;
    struct iw_resolver_datagram d = question();
    struct iw_resolver_origin origin = {.from = asker, .interface = 2, .unicast = true};
    struct iw_resolver_means means = noting;
    (void)state;
    begin(&w);
    hold(&w, &listener, 42);
    hand(&w, &d, &origin);
    assert_int_equal(w.relays, 1);
    assert_int_equal(w.core.counts.relayed, 1);
    assert_int_equal(w.sends, 0);
    d = rival(41);
    hand(&w, &d, &origin); /* a claim, too */
    assert_int_equal(w.relays, 2);
    origin.from = (struct iw_resolver_place){
        .family = IW_RESOLVER_IPV6, .port = 5, .address = {0xfe, 0x80, [15] = 1}, .scope = 2};
    d = question();
    hand(&w, &d, &origin); /* its scope would be lost */
    assert_int_equal(w.relays, 2);
    assert_int_equal(w.sends, 1);
    assert_int_equal(w.sent_to.scope, 2);
    means.relay = NULL;
    w.core.means = &means;
    origin.from = asker;
    hand(&w, &d, &origin);
    assert_int_equal(w.relays, 2);
    assert_int_equal(w.sends, 2);
    assert_int_equal(w.core.counts.relayed, 2);
    /* Nobody can be answered at no port, or at a group. */
    w.core.means = &noting;
    origin.unicast = false;
    origin.from.port = 0;
    hand(&w, &d, &origin);
    origin.from = asker;
    origin.from.address[0] = 239;
    hand(&w, &d, &origin);
    assert_int_equal(w.sends + w.relays, 4);
    end(&w);
}

/* A link-local address is that of the interface by which it came. */
static void a_link_local_answer(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    struct iw_resolver_known *e = iw_resolver_core_gather(&w.core, 7, w.now, w.now + 300 * MS);
    struct iw_resolver_datagram d = reply(&w, 42);
    d.place = (struct iw_resolver_place){
        .family = IW_RESOLVER_IPV6, .port = 5, .address = {0xfe, 0x80, [15] = 1}};
    hear(&w, &d);
    assert_int_equal(e->answerers[0].place.scope, 2);
    d.instance = 43;
    d.place.address[0] = 0xfd;
    hear(&w, &d);
    assert_int_equal(e->answerers[1].place.scope, 0);
    assert_int_equal(w.core.counts.contested, 1);
    end(&w);
}

/* With a key, and without: what is refused, and that it is counted apart. */
static void strangers(void **state)
{
    struct world w;
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    static const struct iw_resolver_key none;
    const struct iw_resolver_datagram d = question();
    const struct iw_resolver_origin origin = {.from = asker, .interface = 2};
    (void)state;
    begin(&w);
    iw_resolver_key_set(&w.core.key, "sixteen octets!!", 16);
    hold(&w, &listener, 42);
    iw_resolver_core_input(&w.core, octets, iw_resolver_encode(octets, &d, &none), &origin, w.now);
    assert_int_equal(w.core.counts.refused, 1);
    assert_int_equal(w.sends, 0);
    hear(&w, &d);
    assert_int_equal(w.sends, 1);
    assert_int_equal(w.core.counts.refused, 1);
    assert_int_equal(w.core.counts.malformed, 0);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_due),   cmocka_unit_test(a_question_has_to_wait),
        cmocka_unit_test(without_randomness),  cmocka_unit_test(several_gather),
        cmocka_unit_test(what_is_forgotten),   cmocka_unit_test(a_last_choice_is_due),
        cmocka_unit_test(a_claim_is_due),      cmocka_unit_test(a_claim_is_due_by_its_nonce),
        cmocka_unit_test(many_claims_are_due), cmocka_unit_test(no_challenge),
        cmocka_unit_test(a_challenge),         cmocka_unit_test(answers_to_a_held_claim),
        cmocka_unit_test(which_place_is_told), cmocka_unit_test(what_is_relayed),
        cmocka_unit_test(a_link_local_answer), cmocka_unit_test(strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
