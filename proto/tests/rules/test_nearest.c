/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "iwarp/nearest.h"

static const char *nearest(const char *word)
{
    static const char *const names[] = {"purpose", "role", "rules", "run", "id", "deadline"};
    struct iw_nearest n;

    iw_nearest_begin(&n, word);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        iw_nearest_offer(&n, names[i]);
    return n.best;
}

static void test_near(void **state)
{
    static const struct {
        const char *word, *meant;
    } words[] = {
        {"purpos", "purpose"},   /* one left out */
        {"puropse", "purpose"},  /* swapped */
        {"purrpose", "purpose"}, /* one too many */
        {"PURPOSE", "purpose"},  /* capital letters */
        {"rolle", "role"},
        {"rule", "role"}, /* as near as "rules": the first counts */
        {"rum", "run"},
        {"di", "id"},
        {"dedline", "deadline"},
        {"daedlien", "deadline"},
        {"purposefully", NULL},
        {"x", NULL},
        {"", NULL},
        {"xyz", NULL},
        {"deadline", "deadline"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        const char *got = nearest(words[i].word);

        if (words[i].meant != NULL)
            assert_string_equal(got, words[i].meant);
        else
            assert_null(got);
    }
}

static void test_long_words(void **state)
{
    char word[IW_NEAREST_WORD + 1];
    struct iw_nearest n;

    (void)state;
    memset(word, 'a', sizeof(word));
    word[IW_NEAREST_WORD] = 0;
    iw_nearest_begin(&n, word);
    iw_nearest_offer(&n, word);
    assert_null(n.best);
    iw_nearest_begin(&n, word + 1);
    iw_nearest_offer(&n, word); /* too long to be a name */
    assert_null(n.best);
    iw_nearest_offer(&n, word + 2);
    assert_ptr_equal(n.best, word + 2);
    assert_int_equal(n.least, 1);
    /* Twelve letters may be off by three, eleven by two. */
    iw_nearest_begin(&n, "abcdefghijkl");
    iw_nearest_offer(&n, "xyzdefghijkl");
    assert_string_equal(n.best, "xyzdefghijkl");
    iw_nearest_begin(&n, "abcdefghijk");
    iw_nearest_offer(&n, "xyzdefghijk");
    assert_null(n.best);
}

static void test_checks_and_rules(void **state)
{
    (void)state;
    assert_string_equal(iw_nearest_check("ddp-stga"), "ddp-stag");
    assert_string_equal(iw_nearest_check("mpa_crc"), "mpa-crc");
    assert_null(iw_nearest_check("nonsense-altogether"));
    assert_string_equal(iw_nearest_rule("MPA-8-2"), "MPA-8-02");
    assert_string_equal(iw_nearest_rule("ddp-7.1-13"), "DDP-7.1-13");
    assert_null(iw_nearest_rule("RFC 5044"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_checks_and_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
