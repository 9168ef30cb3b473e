/* SPDX-License-Identifier: BSD-3-Clause */
/* What tells one mishap of a target from another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/crash.h"
#include "target/mishap.h"

static struct iw_mishap hang(const char *function, const char *place, const char *callers)
{
    struct iw_crash crash = {.by = "AddressSanitizer", .kind = "ABRT"};
    struct iw_mishap m = {.kind = IW_MISHAP_NONE};
    strcpy(crash.function, function);
    strcpy(crash.place, place);
    strcpy(crash.callers, callers);
    iw_mishap_hang(&m, &crash, "no answer");
    return m;
}

static void assert_text(const struct iw_mishap *m, const char *expected)
{
    char *text = iw_mishap_text(m);
    assert_string_equal(text, expected);
    free(text);
}

static void a_report_is_known_by_kind_and_function(void **state)
{
    struct iw_mishap one = {.kind = IW_MISHAP_NONE}, two = one, other = one, end = one;
    (void)state;
    iw_mishap_report(&one, "AddressSanitizer: overflow in f (a.c:1)", "p ended with status 1");
    iw_mishap_report(&two, "AddressSanitizer: overflow in f (a.c:2)", NULL);
    iw_mishap_report(&other, "AddressSanitizer: overflow in g (a.c:2)", NULL);
    iw_mishap_end(&end, "p ended with status 1");
    assert_text(&one,
                "the target broke: AddressSanitizer: overflow in f (a.c:1); p ended with status 1");
    assert_text(&two, "the target broke: AddressSanitizer: overflow in f (a.c:2)");
    assert_text(&end, "the target ended: p ended with status 1");
    assert_string_equal(one.key, "AddressSanitizer: overflow in f");
    assert_true(iw_mishap_same(&one, &two));
    assert_false(iw_mishap_same(&one, &other));
    assert_false(iw_mishap_same(&one, &end));
    iw_mishap_free(&one);
    iw_mishap_free(&two);
    iw_mishap_free(&other);
    iw_mishap_free(&end);
}

/* The loop's own function, or one that it calls. */
static void a_loop_is_one_wherever_it_is_met(void **state)
{
    struct iw_mishap leaf = hang("leaf", "a.c:1", "loop, serve, main"),
                     twig = hang("twig", "a.c:2", "loop, serve, main"),
                     loop = hang("loop", "a.c:3", "serve, main"),
                     other = hang("other", "b.c:3", "timer, main"), none = {.kind = IW_MISHAP_NONE};
    (void)state;
    iw_mishap_hang(&none, NULL, "no answer");
    assert_text(&none, "the target hangs: no answer");
    assert_text(&leaf, "the target hangs in leaf (a.c:1), called by loop, serve, main: no answer");
    assert_false(iw_mishap_same(&leaf, &other));
    assert_true(iw_mishap_same(&leaf, &twig));
    assert_text(&leaf, "the target hangs in loop, called by serve, main: no answer");
    assert_true(iw_mishap_same(&leaf, &loop));
    assert_true(iw_mishap_same(&loop, &twig));
    assert_text(&loop, "the target hangs in loop (a.c:3), called by serve, main: no answer");
    assert_false(iw_mishap_same(&loop, &none));
    assert_false(iw_mishap_same(&none, &loop));
    iw_mishap_free(&leaf);
    iw_mishap_free(&twig);
    iw_mishap_free(&loop);
    iw_mishap_free(&other);
    iw_mishap_free(&none);
}

/* The same case again: what one look at it does not name, the other does. */
static void a_hang_that_is_seen_again_may_be_named_once(void **state)
{
    struct iw_mishaps known = {.count = 0};
    struct iw_mishap loop = hang("loop", "a.c:3", "serve, main"),
                     other = hang("other", "b.c:3", "timer"), none = {.kind = IW_MISHAP_NONE},
                     end = none;
    (void)state;
    iw_mishap_hang(&none, NULL, "no answer");
    iw_mishap_end(&end, "p ended with status 1");
    iw_mishaps_learn(&known, &loop);
    assert_false(iw_mishaps_know(&known, &none));
    iw_mishaps_learn(&known, &none);
    assert_int_equal(known.count, 2);
    assert_true(iw_mishap_again(&loop, &none));
    assert_text(&loop, "the target hangs in loop (a.c:3), called by serve, main: no answer");
    assert_true(iw_mishap_again(&none, &loop));
    assert_text(&none, "the target hangs in loop (a.c:3), called by serve, main: no answer");
    assert_string_equal(none.key, "hang in loop");
    assert_false(iw_mishap_again(&none, &other));
    assert_false(iw_mishap_again(&none, &end));
    iw_mishap_free(&loop);
    iw_mishap_free(&other);
    iw_mishap_free(&none);
    iw_mishap_free(&end);
    iw_mishaps_free(&known);
}

static void what_is_known_keeps_its_key(void **state)
{
    struct iw_mishaps known = {.count = 0};
    struct iw_mishap leaf = hang("leaf", "a.c:1", "loop, serve"),
                     twig = hang("twig", "a.c:1", "loop, serve"),
                     other = hang("other", "a.c:1", "timer");
    (void)state;
    assert_false(iw_mishaps_know(&known, &leaf));
    iw_mishaps_learn(&known, &leaf);
    assert_string_equal(leaf.key, "hang in leaf");
    assert_true(iw_mishaps_know(&known, &twig));
    assert_string_equal(twig.key, "hang in leaf");
    assert_false(iw_mishaps_know(&known, &other));
    iw_mishaps_learn(&known, &other);
    iw_mishaps_learn(&known, &twig);
    assert_int_equal(known.count, 2);
    iw_mishap_free(&leaf);
    iw_mishap_free(&twig);
    iw_mishap_free(&other);
    iw_mishaps_free(&known);
    assert_int_equal(known.count, 0);
}

/* The key is that of the function that two looks at one loop have in common. */
static void a_hang_is_named_by_what_is_known_of_it(void **state)
{
    struct iw_mishaps known = {.count = 0};
    struct iw_mishap leaf = hang("leaf", "a.c:1", "loop, serve"),
                     twig = hang("twig", "a.c:1", "loop, serve");
    (void)state;
    assert_true(iw_mishap_same(&leaf, &twig));
    iw_mishaps_learn(&known, &leaf);
    assert_string_equal(leaf.key, "hang in loop");
    iw_mishap_free(&leaf);
    iw_mishap_free(&twig);
    iw_mishaps_free(&known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_known_by_kind_and_function),
        cmocka_unit_test(a_loop_is_one_wherever_it_is_met),
        cmocka_unit_test(a_hang_that_is_seen_again_may_be_named_once),
        cmocka_unit_test(what_is_known_keeps_its_key),
        cmocka_unit_test(a_hang_is_named_by_what_is_known_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
