/* SPDX-License-Identifier: BSD-3-Clause */
/* The resolver's core as the one that has claimed a number: what it answers, and who else has it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "resolver_fakes.h"

static const struct iw_resolver_place anywhere = {.family = IW_RESOLVER_IPV4, .port = 4711};

static struct iw_resolver_datagram question(void)
{
    return (struct iw_resolver_datagram){
        .kind = IW_RESOLVER_QUESTION, .number = 7, .nonce = {1, 2, 3}};
}

static struct iw_resolver_datagram rival(uint64_t instance)
{
    return (struct iw_resolver_datagram){
        .kind = IW_RESOLVER_CLAIM, .number = 7, .instance = instance, .nonce = {4, 5, 6}};
}

static void a_holder_answers(void **state)
{
    struct world w;
    const struct iw_resolver_datagram d = question();
    struct iw_resolver_datagram other = question();
    (void)state;
    begin(&w);
    hold(&w, &listener, 42);
    assert_int_equal(w.asks, 3);
    hear(&w, &d);
    assert_int_equal(w.sends, 1);
    assert_int_equal(w.sent.kind, IW_RESOLVER_ANSWER);
    assert_int_equal(w.sent.number, 7);
    assert_int_equal(w.sent.instance, 42);
    assert_memory_equal(w.sent.nonce, d.nonce, sizeof(d.nonce));
    assert_int_equal(w.sent.place.port, 4711);
    assert_true(iw_resolver_place_same_host(&w.sent.place, &listener));
    assert_true(iw_resolver_place_same_host(&w.sent_to, &asker));
    assert_int_equal(w.sent_to.port, asker.port);
    other.number = 8;
    hear(&w, &other);
    assert_int_equal(w.sends, 1);
    assert_int_equal(w.core.counts.answered, 1);
    end(&w);
}

static void one_that_may_lose_does_not(void **state)
{
    struct world w;
    const struct iw_resolver_datagram d = question();
    (void)state;
    begin(&w);
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    pass(&w, 59);
    hear(&w, &d);
    assert_int_equal(w.sends, 0);
    pass(&w, 1);
    hear(&w, &d);
    assert_int_equal(w.sends, 1);
    end(&w);
}

static void an_objection_is_an_end(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    pass(&w, 20);
    assert_int_equal(w.asked.kind, IW_RESOLVER_CLAIM);
    assert_int_equal(w.asked.instance, 42);
    struct iw_resolver_datagram d = reply(&w, 41);
    d.nonce[0]++;
    hear(&w, &d); /* to another nonce */
    d = reply(&w, 42);
    hear(&w, &d); /* our own */
    assert_int_equal(w.settled, 0);
    d = reply(&w, 41);
    hear(&w, &d);
    assert_int_equal(w.settled, 1);
    assert_true(iw_resolver_claims_find(&w.core.claims, 7)->lost);
    const unsigned asks = w.asks;
    const struct iw_resolver_datagram q = question();
    pass(&w, 100000);
    hear(&w, &q);
    assert_int_equal(w.asks, asks);
    assert_int_equal(w.sends, 0);
    end(&w);
}

static void of_two_at_once_the_greater_stays(void **state)
{
    struct world w;
    const struct iw_resolver_datagram less = rival(41), more = rival(43), same = rival(42);
    (void)state;
    begin(&w);
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    pass(&w, 10);
    hear(&w, &more);
    hear(&w, &same); /* what we have sent comes back */
    assert_int_equal(w.sends, 0);
    hear(&w, &less);
    assert_int_equal(w.sends, 1);
    assert_memory_equal(w.sent.nonce, less.nonce, sizeof(less.nonce));
    end(&w);
}

static void a_holder_defends_and_doubts(void **state)
{
    struct world w;
    const struct iw_resolver_datagram more = rival(43);
    (void)state;
    begin(&w);
    hold(&w, &listener, 42);
    hear(&w, &more);
    assert_int_equal(w.sends, 1);
    assert_int_equal(w.asks, 3);
    pass(&w, 249);
    assert_int_equal(w.asks, 3);
    pass(&w, 1);
    assert_int_equal(w.asks, 4); /* is it still there? */
    hear(&w, &more);
    pass(&w, 500);
    assert_int_equal(w.asks, 4); /* once in a second */
    struct iw_resolver_datagram d = reply(&w, 43);
    hear(&w, &d);
    hear(&w, &d);
    assert_int_equal(w.notices[IW_RESOLVER_INTRUDER], 1);
    assert_true(iw_resolver_claims_find(&w.core.claims, 7)->intruded);
    end(&w);
}

static void a_held_claim_is_asked_for_again(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    hold(&w, &listener, 42);
    pass(&w, 14900);
    assert_int_equal(w.asks, 3);
    pass(&w, 10100);
    assert_int_equal(w.asks, 4);
    struct iw_resolver_datagram d = reply(&w, 43);
    hear(&w, &d);
    const struct iw_resolver_claim *c = iw_resolver_claims_find(&w.core.claims, 7);
    assert_true(c->intruded);
    for (unsigned asks = w.asks; w.asks < asks + 1;)
        pass(&w, 1000);
    assert_true(c->intruded); /* not yet refuted */
    hear(&w, &d);             /* an answer to the round before */
    assert_int_equal(w.core.counts.unasked, 1);
    for (unsigned asks = w.asks; w.asks < asks + 1;)
        pass(&w, 1000);
    assert_false(c->intruded);
    end(&w);
}

static void a_claim_that_does_not_wait_is_held(void **state)
{
    struct world w;
    const struct iw_resolver_datagram d = question();
    (void)state;
    begin(&w);
    w.core.claims_wait = false;
    assert_int_equal(iw_resolver_core_claim(&w.core, 7, &listener, 42, w.now), 0);
    hear(&w, &d);
    assert_int_equal(w.sends, 1);
    pass(&w, 60);
    assert_int_equal(w.asks, 3);
    assert_int_equal(w.settled, 0);
    struct iw_resolver_datagram other = reply(&w, 1);
    hear(&w, &other);
    assert_int_equal(w.notices[IW_RESOLVER_INTRUDER], 1);
    end(&w);
}

static void any_address_is_that_of_the_route(void **state)
{
    struct world w;
    const struct iw_resolver_datagram d = question();
    (void)state;
    begin(&w);
    hold(&w, &anywhere, 42);
    w.no_route = true;
    hear(&w, &d);
    assert_int_equal(w.sends, 0);
    w.no_route = false;
    w.local = (struct iw_resolver_place){
        .family = IW_RESOLVER_IPV4, .port = 9, .address = {192, 0, 2, 3}};
    hear(&w, &d);
    assert_int_equal(w.sends, 1);
    assert_true(iw_resolver_place_same_host(&w.sent.place, &w.local));
    assert_int_equal(w.sent.place.port, 4711);
    w.local = (struct iw_resolver_place){.family = IW_RESOLVER_IPV6, .port = 9, .address = {0xfd}};
    hear(&w, &d); /* a listener at 0.0.0.0 does not hear it */
    assert_int_equal(w.sends, 1);
    end(&w);
}

static void a_loopback_address_stays_in_the_house(void **state)
{
    struct world w;
    const struct iw_resolver_datagram d = question();
    const struct iw_resolver_place at = {
        .family = IW_RESOLVER_IPV4, .port = 4711, .address = {127, 0, 0, 1}};
    (void)state;
    begin(&w);
    hold(&w, &at, 42);
    w.local = listener;
    hear(&w, &d);
    assert_int_equal(w.sends, 0);
    w.local = asker; /* the asker's address is ours */
    hear(&w, &d);
    assert_int_equal(w.sends, 1);
    end(&w);
}

static void a_unicast_is_relayed(void **state)
{
    struct world w;
    struct iw_resolver_datagram d = question();
    const struct iw_resolver_origin unicast = {.from = asker, .interface = 2, .unicast = true};
    struct iw_resolver_origin own = {
        .from = {.family = IW_RESOLVER_IPV4, .port = 1, .address = {127, 0, 0, 1}},
        .interface = 1,
        .loopback = true};
    (void)state;
    begin(&w);
    hold(&w, &listener, 42);
    hand(&w, &d, &unicast);
    assert_int_equal(w.relays, 1);
    assert_int_equal(w.sends, 0); /* the relayed one comes here, too */
    assert_true(w.relayed.relayed);
    assert_true(iw_resolver_place_same_host(&w.relayed.place, &asker));
    assert_int_equal(w.relayed.place.port, asker.port);
    d = w.relayed;
    hand(&w, &d, &own);
    assert_int_equal(w.relays, 1);
    assert_int_equal(w.sends, 1);
    assert_true(iw_resolver_place_same_host(&w.sent_to, &asker));
    end(&w);
}

static void many_claims_are_kept_in_order(void **state)
{
    struct iw_resolver_claims c = {0};
    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        assert_non_null(iw_resolver_claims_add(&c, i * 7919 % 1000));
    assert_int_equal(c.count, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(c.list[i].number, i);
    for (uint32_t i = 0; i < 1000; i += 2)
        iw_resolver_claims_remove(&c, i);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(iw_resolver_claims_find(&c, i) != NULL, i % 2);
    assert_null(iw_resolver_claims_find(&c, UINT32_MAX));
    iw_resolver_claims_close(&c);
}

static void claims_have_a_bound(void **state)
{
    struct iw_resolver_claims c = {0};
    (void)state;
    for (uint32_t i = 0; i < IW_RESOLVER_CLAIMS_MOST; i++)
        assert_non_null(iw_resolver_claims_add(&c, i));
    errno = 0;
    assert_null(iw_resolver_claims_add(&c, IW_RESOLVER_CLAIMS_MOST));
    assert_int_equal(errno, ENOSPC);
    iw_resolver_claims_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_answers),
        cmocka_unit_test(one_that_may_lose_does_not),
        cmocka_unit_test(an_objection_is_an_end),
        cmocka_unit_test(of_two_at_once_the_greater_stays),
        cmocka_unit_test(a_holder_defends_and_doubts),
        cmocka_unit_test(a_held_claim_is_asked_for_again),
        cmocka_unit_test(a_claim_that_does_not_wait_is_held),
        cmocka_unit_test(any_address_is_that_of_the_route),
        cmocka_unit_test(a_loopback_address_stays_in_the_house),
        cmocka_unit_test(a_unicast_is_relayed),
        cmocka_unit_test(many_claims_are_kept_in_order),
        cmocka_unit_test(claims_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
