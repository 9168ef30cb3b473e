/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings that are made from strings, literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void assert_text(char *text, const char *expected)
{
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void copies_are_equal(void **state)
{
    int block;
    (void)state;
    assert_null(iw_text_copy(NULL));
    assert_text(iw_text_copy(""), "");
    assert_text(iw_text_copy("one"), "one");
    assert_text(iw_text_format("%d-%s", 7, "x"), "7-x");
    assert_ptr_equal(iw_got(&block), &block);
}

/* Each character beside a bound is kept or becomes one U+FFFD for each octet. */
static void characters_at_the_bounds(void **state)
{
    static const struct {
        const char *text;
        size_t bad; /* octets that are no character; 0: it stays */
    } rows[] = {
        {"\x01", 1},
        {"\t", 1},
        {"\n", 0},
        {"\r", 1},
        {"\x1f", 1},
        {" ", 0},
        {"~", 0},
        {"\x7f", 1},
        {"\x80", 1},
        {"\xbf", 1},
        {"\xc0\x80", 2},
        {"\xc1\xbf", 2},
        {"\xc2\x80", 2}, /* U+0080 */
        {"\xc2\x9f", 2},
        {"\xc2\xa0", 0},
        {"\xc3\xa9", 0},
        {"\xdf\xbf", 0}, /* U+07FF */
        {"\xe0\x80\x8a", 3},
        {"\xe0\x9f\xbf", 3}, /* longer than need be */
        {"\xe0\xa0\x80", 0},
        {"\xe2\x82\xac", 0},
        {"\xed\x9f\xbf", 0}, /* U+D7FF */
        {"\xed\xa0\x80", 3},
        {"\xed\xbf\xbf", 3},
        {"\xee\x80\x80", 0}, /* U+E000 */
        {"\xef\xbf\xbd", 0},
        {"\xef\xbf\xbe", 3}, /* U+FFFE */
        {"\xef\xbf\xbf", 3},
        {"\xf0\x8f\xbf\xbd", 4}, /* longer than need be */
        {"\xf0\x90\x80\x80", 0},
        {"\xf0\x9f\xbf\xbd", 0}, /* U+1FFFD */
        {"\xf0\x9f\xbf\xbe", 4},
        {"\xf0\x9f\xbf\xbf", 4},
        {"\xf3\xb0\x80\x80", 0},
        {"\xf4\x8f\xbf\xbd", 0}, /* U+10FFFD */
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 4}, /* U+110000 */
        {"\xf5\x80\x80\x80", 4},
        {"\xff", 1},
        /* cut short, at each place */
        {"\xc3", 1},
        {"\xe2\x82", 2},
        {"\xf0\x9f\x98", 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char expected[20] = "";
        for (size_t k = 0; k < rows[i].bad; k++)
            memcpy(expected + k * strlen(BAD), BAD, sizeof(BAD));
        assert_text(iw_text_clean(rows[i].text), rows[i].bad > 0 ? expected : rows[i].text);
    }
    assert_null(iw_text_clean(NULL));
    assert_text(iw_text_clean(""), "");
    assert_text(iw_text_clean("a\xc3\xa9z\x01\xf0\x9f\x98\x80."),
                "a\xc3\xa9z" BAD "\xf0\x9f\x98\x80.");
    /* What does not go on is no part of it. */
    assert_text(iw_text_clean("\xc3z"), BAD "z");
    assert_text(iw_text_clean("\xc3\xc3\xa9"), BAD "\xc3\xa9");
    assert_text(iw_text_clean("\xe2\x82z"), BAD BAD "z");
}

static void words_of_a_shell(void **state)
{
    static const char *const quoted[] = {" ",  "$",  "*", "~",        "\\",
                                         "\"", "\n", "[", "\xc3\xa9", "a b"};
    char expected[20];
    (void)state;
    assert_text(iw_text_shell("azAZ09_-./:=,@%+"), "azAZ09_-./:=,@%+");
    assert_text(iw_text_shell(""), "''");
    assert_text(iw_text_shell("it's"), "'it'\\''s'");
    for (size_t i = 0; i < sizeof(quoted) / sizeof(*quoted); i++) {
        snprintf(expected, sizeof(expected), "'%s'", quoted[i]);
        assert_text(iw_text_shell(quoted[i]), expected);
    }
}

static void names_of_files(void **state)
{
    (void)state;
    assert_text(iw_text_file_name("aZ09._-"), "aZ09._-");
    assert_text(iw_text_file_name("tcp:[::1]:7/x y"), "tcp----1--7-x-y");
    assert_text(iw_text_file_name("..x"), "-.x");
    assert_text(iw_text_file_name("\xc3\xa9"), "--");
    assert_text(iw_text_file_name(""), "");
}

static void only_ascii_is_printable(void **state)
{
    char text[] = "\x1f !~\x7f\x80\xff\n";
    (void)state;
    iw_text_printable(text);
    assert_string_equal(text, "? !~????");
}

static void nouns_after_numbers(void **state)
{
    (void)state;
    assert_string_equal(iw_text_plural(0), "s");
    assert_string_equal(iw_text_plural(1), "");
    assert_string_equal(iw_text_plural(2), "s");
    assert_string_equal(iw_text_plural(UINT64_MAX), "s");
}

static void the_same_text(void **state)
{
    char other[] = "a";
    (void)state;
    assert_true(iw_text_same("a", other));
    assert_false(iw_text_same("a", "ab"));
    assert_true(iw_text_same(NULL, NULL));
    assert_false(iw_text_same(NULL, "a"));
    assert_false(iw_text_same("a", NULL));
}

static void hex_digits(void **state)
{
    char out[10] = "xxxxxxxxx";
    (void)state;
    iw_text_hex(out, (const uint8_t[]){0x09, 0xaf, 0xf0}, 3);
    assert_string_equal(out, "09aff0");
    assert_string_equal(out + 7, "xx");
    iw_text_hex(out, (const uint8_t[]){0}, 0);
    assert_string_equal(out, "");
}

static void names_are_filled_in(void **state)
{
    static const char *const pairs[] = {"host", "::1", "port", "{host}", NULL}, *const none[] = {
                                                                                    NULL};
    (void)state;
    assert_text(iw_text_fill("{host}:{port}", pairs), "::1:{host}");
    assert_text(iw_text_fill("{host}{host}x", pairs), "::1::1x");
    assert_text(iw_text_fill("{{host}}", pairs), "{::1}");
    assert_text(iw_text_fill("{hosts} {hos} {host (host} {} {", pairs),
                "{hosts} {hos} {host (host} {} {");
    assert_text(iw_text_fill("{host}", none), "{host}");
    assert_text(iw_text_fill("", pairs), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_equal),        cmocka_unit_test(characters_at_the_bounds),
        cmocka_unit_test(words_of_a_shell),        cmocka_unit_test(names_of_files),
        cmocka_unit_test(only_ascii_is_printable), cmocka_unit_test(hex_digits),
        cmocka_unit_test(the_same_text),           cmocka_unit_test(names_are_filled_in),
        cmocka_unit_test(nouns_after_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
