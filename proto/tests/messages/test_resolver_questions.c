/* SPDX-License-Identifier: BSD-3-Clause */
/* The resolver's core as the one that asks: what it believes, and for how long. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "resolver_fakes.h"

static void an_answer_with_its_nonce_is_believed(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    errno = 0;
    assert_null(look(&w));
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(w.asks, 1);
    assert_int_equal(w.asked.kind, IW_RESOLVER_QUESTION);
    assert_int_equal(w.asked.number, 7);
    struct iw_resolver_datagram d = reply(&w, 42);
    hear(&w, &d);
    assert_int_equal(w.notices[IW_RESOLVER_FOUND], 1);
    assert_int_equal(look(&w)->instance, 42);
    assert_true(iw_resolver_place_same_host(&look(&w)->place, &listener));
    assert_int_equal(look(&w)->place.port, 4711);
    assert_int_equal(w.asks, 1);
    pass(&w, 29999);
    assert_int_equal(w.asks, 1); /* it was sent once */
    assert_int_equal(look(&w)->instance, 42);
    pass(&w, 1);
    assert_null(look(&w));
    assert_int_equal(w.asks, 2);
    end(&w);
}

static void forged_answers_are_not(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_null(look(&w));
    struct iw_resolver_datagram d = reply(&w, 42);
    d.nonce[15] ^= 1;
    hear(&w, &d);
    d = reply(&w, 42);
    d.number = 8;
    hear(&w, &d);
    assert_null(look(&w));
    assert_int_equal(w.core.counts.unasked, 2);
    assert_int_equal(w.core.counts.found, 0);
    end(&w);
}

static void a_replayed_answer_is_not(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_null(look(&w));
    const struct iw_resolver_datagram old = reply(&w, 42);
    hear(&w, &old);
    assert_non_null(look(&w));
    iw_resolver_core_forget(&w.core, 7, 42, w.now);
    hear(&w, &old); /* to no question */
    assert_null(look(&w));
    hear(&w, &old); /* to another one */
    assert_null(look(&w));
    assert_int_equal(w.core.counts.unasked, 2);
    end(&w);
}

static void a_question_is_repeated_ever_more_rarely(void **state)
{
    static const unsigned sent_at[] = {0, 20, 60, 140, 300, 620, 1260, 2260, 3260, 4260};
    struct world w;
    (void)state;
    begin(&w);
    assert_null(look(&w));
    const struct iw_resolver_datagram first = w.asked;
    for (unsigned i = 1; i < sizeof(sent_at) / sizeof(sent_at[0]); i++) {
        pass(&w, sent_at[i] - sent_at[i - 1] - 1);
        assert_int_equal(w.asks, i);
        pass(&w, 1);
        assert_int_equal(w.asks, i + 1);
        assert_int_equal(w.tries, i);
        assert_memory_equal(w.asked.nonce, first.nonce, sizeof(first.nonce));
    }
    pass(&w, 100000); /* it was given up after 5 s */
    assert_int_equal(w.asks, 10);
    const struct iw_resolver_datagram late = reply(&w, 42);
    hear(&w, &late);
    assert_int_equal(w.core.counts.unasked, 1);
    assert_int_equal(w.core.counts.asked, 1);
    end(&w);
}

static void of_many_each_is_repeated_later(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    for (uint32_t n = 0; n < 100; n++)
        (void)iw_resolver_core_look(&w.core, n, w.now, w.now + 5000 * MS);
    assert_int_equal(w.asks, 100);
    pass(&w, 19);
    assert_int_equal(w.asks, 100);
    pass(&w, 1);
    assert_int_equal(w.asks, 101); /* the first, which was alone */
    pass(&w, 98);
    assert_int_equal(w.asks, 199); /* the last one was one of 100 */
    pass(&w, 1);
    assert_int_equal(w.asks, 200);
    end(&w);
}

static void two_answers_are_noticed_for_a_second(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_null(look(&w));
    struct iw_resolver_datagram d = reply(&w, 42), other = reply(&w, 43), third = reply(&w, 44);
    hear(&w, &d);
    hear(&w, &d); /* by another interface */
    assert_int_equal(w.notices[IW_RESOLVER_CONTESTED], 0);
    pass(&w, 999);
    hear(&w, &other);
    assert_int_equal(w.notices[IW_RESOLVER_CONTESTED], 1);
    assert_int_equal(w.core.counts.contested, 1);
    assert_int_equal(look(&w)->instance, 42);
    pass(&w, 1);
    hear(&w, &third);
    assert_int_equal(w.notices[IW_RESOLVER_CONTESTED], 1);
    assert_int_equal(w.core.counts.unasked, 1);
    end(&w);
}

static void answers_beyond_four_are_not_kept(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    struct iw_resolver_known *e = iw_resolver_core_gather(&w.core, 7, w.now, w.now + 300 * MS);
    for (uint64_t i = 1; i < 10; i++) {
        const struct iw_resolver_datagram d = reply(&w, i);
        hear(&w, &d);
    }
    assert_int_equal(e->count, IW_RESOLVER_CLAIMANTS);
    assert_int_equal(e->answerers[3].instance, 4);
    end(&w);
}

static void gathering_goes_on_after_an_answer(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    struct iw_resolver_known *e = iw_resolver_core_gather(&w.core, 7, w.now, w.now + 300 * MS);
    assert_non_null(e);
    const struct iw_resolver_datagram d = reply(&w, 42);
    hear(&w, &d);
    assert_int_equal(w.notices[IW_RESOLVER_FOUND], 1);
    pass(&w, 299);
    assert_int_equal(w.asks, 4); /* 0, 20, 60, 140 ms */
    pass(&w, 10000);
    assert_int_equal(w.asks, 4);
    assert_int_equal(look(&w)->instance, 42);
    end(&w);
}

static void a_shunned_instance_is_the_last_choice(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_null(look(&w));
    struct iw_resolver_datagram d = reply(&w, 42);
    hear(&w, &d);
    iw_resolver_core_forget(&w.core, 7, 42, w.now);
    assert_null(look(&w));
    d = reply(&w, 42);
    hear(&w, &d);
    assert_null(look(&w)); /* perhaps there is another one */
    d.instance = 43;
    hear(&w, &d);
    assert_int_equal(look(&w)->instance, 43);
    iw_resolver_core_forget(&w.core, 7, 43, w.now);
    assert_null(look(&w));
    d = reply(&w, 43);
    hear(&w, &d);
    pass(&w, 199);
    assert_null(look(&w));
    pass(&w, 1);
    assert_int_equal(look(&w)->instance, 43); /* there is none */
    end(&w);
}

/* The choice was due again at once while answers were gathered. */
static void a_last_choice_is_made_once(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    assert_null(look(&w));
    struct iw_resolver_datagram d = reply(&w, 42);
    hear(&w, &d);
    iw_resolver_core_forget(&w.core, 7, 42, w.now);
    assert_non_null(iw_resolver_core_gather(&w.core, 7, w.now, w.now + 1000 * MS));
    d = reply(&w, 42);
    hear(&w, &d);
    pass(&w, 199);
    w.now += MS;
    assert_true(iw_resolver_core_tick(&w.core, w.now) > w.now);
    assert_int_equal(look(&w)->instance, 42);
    end(&w);
}

static void only_open_questions_take_room(void **state)
{
    struct world w;
    unsigned full = 0;
    (void)state;
    begin(&w);
    for (uint32_t n = 0; n < 2 * IW_RESOLVER_KNOWN_MOST; n++) {
        errno = 0;
        assert_null(iw_resolver_core_look(&w.core, n, w.now, w.now + 100 * MS));
        full += errno == ENOBUFS;
    }
    assert_true(full >= IW_RESOLVER_KNOWN_MOST);
    pass(&w, 2000);
    for (uint32_t n = 0; n < 2 * IW_RESOLVER_KNOWN_MOST; n += 16) {
        errno = 0;
        assert_null(iw_resolver_core_look(&w.core, n, w.now, w.now + 100 * MS));
        assert_int_equal(errno, EAGAIN);
    }
    end(&w);
}

static void questions_are_limited(void **state)
{
    struct world w;
    (void)state;
    begin(&w);
    for (uint32_t n = 0; n < 3 * IW_RESOLVER_ASKED_MOST; n++) {
        (void)iw_resolver_core_look(&w.core, n, w.now, w.now + MS);
        if (n % 1024 == 0) /* time for the table, not for the limit */
            pass(&w, 2);
    }
    assert_in_range(w.asks, IW_RESOLVER_ASKED_MOST,
                    IW_RESOLVER_ASKED_MOST + IW_RESOLVER_ASKED_MOST / 10);
    end(&w);
}

static void a_flood_from_one_address_is_limited(void **state)
{
    struct world w;
    uint8_t octets[IW_RESOLVER_DATAGRAM];
    struct iw_resolver_origin origin = {.from = asker, .interface = 2};
    const struct iw_resolver_datagram d = {.kind = IW_RESOLVER_QUESTION, .number = 7};
    (void)state;
    begin(&w);
    hold(&w, &listener, 1);
    const size_t length = iw_resolver_encode(octets, &d, &w.core.key);
    for (unsigned i = 0; i < IW_RESOLVER_SOURCE_MOST + 100; i++)
        iw_resolver_core_input(&w.core, octets, length, &origin, w.now);
    assert_int_equal(w.sends, IW_RESOLVER_SOURCE_MOST);
    assert_int_equal(w.core.counts.limited, 100);
    w.now += 1000 * MS;
    iw_resolver_core_input(&w.core, octets, length, &origin, w.now);
    assert_int_equal(w.sends, IW_RESOLVER_SOURCE_MOST + 1);
    /* From many addresses the sum is. */
    w.now += 10000 * MS;
    w.sends = 0;
    for (unsigned i = 0; i < 2 * IW_RESOLVER_ANSWERS_MOST; i++) {
        origin.from.address[2] = (uint8_t)(i >> 8);
        origin.from.address[3] = (uint8_t)i;
        iw_resolver_core_input(&w.core, octets, length, &origin, w.now);
    }
    assert_int_equal(w.sends, IW_RESOLVER_ANSWERS_MOST);
    end(&w);
}

static void junk_is_counted(void **state)
{
    struct world w;
    const uint8_t junk[100] = "GET / HTTP/1.0";
    const struct iw_resolver_origin origin = {.from = asker, .interface = 2};
    struct iw_resolver_datagram d = {
        .kind = IW_RESOLVER_QUESTION, .relayed = true, .number = 7, .place = asker};
    (void)state;
    begin(&w);
    hold(&w, &listener, 1);
    for (size_t length = 0; length <= sizeof(junk); length++)
        iw_resolver_core_input(&w.core, junk, length, &origin, w.now);
    assert_int_equal(w.core.counts.malformed, 101);
    hear(&w, &d); /* relayed, but by another host */
    assert_int_equal(w.core.counts.malformed, 102);
    assert_int_equal(w.sends, 0);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_with_its_nonce_is_believed),
        cmocka_unit_test(forged_answers_are_not),
        cmocka_unit_test(a_replayed_answer_is_not),
        cmocka_unit_test(a_question_is_repeated_ever_more_rarely),
        cmocka_unit_test(of_many_each_is_repeated_later),
        cmocka_unit_test(two_answers_are_noticed_for_a_second),
        cmocka_unit_test(answers_beyond_four_are_not_kept),
        cmocka_unit_test(gathering_goes_on_after_an_answer),
        cmocka_unit_test(a_shunned_instance_is_the_last_choice),
        cmocka_unit_test(a_last_choice_is_made_once),
        cmocka_unit_test(only_open_questions_take_room),
        cmocka_unit_test(questions_are_limited),
        cmocka_unit_test(a_flood_from_one_address_is_limited),
        cmocka_unit_test(junk_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
