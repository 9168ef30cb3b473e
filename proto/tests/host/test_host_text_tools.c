/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that grow, lists of them and files of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "host/text_tools.h"
#include "scratch.h"

static char error[512];

static void texts_are_joined(void **state)
{
    char *text = NULL;

    (void)state;
    iw_text_join(&text, ", ", "one");
    assert_string_equal(text, "one");
    iw_text_join(&text, ", ", "two");
    iw_text_join(&text, "", "three");
    assert_string_equal(text, "one, twothree");
    iw_text_join_word(&text, "it's");
    assert_string_equal(text, "one, twothree 'it'\\''s'");
    free(text);
}

static void characters_are_replaced(void **state)
{
    static const char *const pairs[] = {"<", "&lt;", "&", "&amp;", "\n", "", NULL};
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);

    (void)state;
    iw_text_put(out, "a<b\n&\xff", pairs);
    iw_text_put(out, "", pairs);
    iw_text_put(out, NULL, pairs);
    fclose(out);
    assert_string_equal(written, "a&lt;b&amp;\xef\xbf\xbd");
    free(written);
}

static void octets_are_written_in_hex(void **state)
{
    static const uint8_t octets[] = {0x09, 0xaf, 0xf0};
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);

    (void)state;
    iw_text_put_hex(out, octets, sizeof(octets));
    iw_text_put_hex(out, octets, 0);
    fclose(out);
    assert_string_equal(written, "09aff0");
    free(written);
}

static void a_time_is_written_in_utc(void **state)
{
    char text[32] = "x";

    (void)state;
    iw_text_time(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", 86399);
    assert_string_equal(text, "1970-01-01T23:59:59Z");
    iw_text_time(text, sizeof(text), "%Y", INT64_MAX);
    assert_string_equal(text, "");
    memcpy(text, "x", sizeof("x"));
    iw_text_time(text, 4, "%Y-%m-%d", 0);
    assert_string_equal(text, "");
}

static void a_list_of_texts_ends_with_null(void **state)
{
    char **list = NULL;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        iw_texts_add(&list, iw_text_format("%zu", i));
        assert_null(list[i + 1]);
    }
    assert_string_equal(list[0], "0");
    assert_string_equal(list[1], "1");
    assert_string_equal(list[2], "2");
    iw_texts_free(list);
    iw_texts_free(NULL);
}

static void a_file_is_read_as_text(void **state)
{
    const char *path = scratch_file("some", "two\nlines\n", 10);
    const char *empty = scratch_file("empty", "", 0);
    char *text = iw_text_read_file(path), *nothing = iw_text_read_file(empty);

    (void)state;
    assert_string_equal(text, "two\nlines\n");
    assert_string_equal(nothing, "");
    assert_null(iw_text_read_file("/no/such/file"));
    assert_null(iw_text_read_file(scratch_path("."))); /* a folder can be opened and not read */
    free(text);
    free(nothing);
}

static char taken[256];

static const char *take(void *context, char *line, int number)
{
    size_t n = strlen(taken);

    snprintf(taken + n, sizeof(taken) - n, "%d:%s;", number, line);
    return strcmp(line, context) == 0 ? "this is wrong" : NULL;
}

static void lines_are_handed_out_until_one_is_wrong(void **state)
{
    static const char lines[] = "a\n\nbc\nlast";
    const char *path = scratch_file("lines", lines, sizeof(lines) - 1);
    char *expected = iw_text_format("%s:3: this is wrong", path);

    (void)state;
    *taken = *error = 0;
    assert_int_equal(iw_text_read_lines(path, take, (char[]){"none"}, error, sizeof(error)), 0);
    assert_string_equal(taken, "1:a;2:;3:bc;4:last;");
    assert_string_equal(error, "");
    *taken = 0;
    assert_int_equal(iw_text_read_lines(path, take, (char[]){"bc"}, error, sizeof(error)), -1);
    assert_string_equal(taken, "1:a;2:;3:bc;");
    assert_string_equal(error, expected);
    free(expected);
}

static void a_file_of_lines_that_cannot_be_read_is_named(void **state)
{
    const char *folder = scratch_path(".");
    char *expected = iw_text_format("cannot read %s: Is a directory", folder);

    (void)state;
    *taken = 0;
    assert_int_equal(iw_text_read_lines("/no/such/file", take, (char[]){""}, error, sizeof(error)),
                     -1);
    assert_string_equal(error, "cannot read /no/such/file: No such file or directory");
    assert_int_equal(iw_text_read_lines(folder, take, (char[]){""}, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
    assert_string_equal(taken, "");
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_joined),
        cmocka_unit_test(characters_are_replaced),
        cmocka_unit_test(octets_are_written_in_hex),
        cmocka_unit_test(a_time_is_written_in_utc),
        cmocka_unit_test(a_list_of_texts_ends_with_null),
        cmocka_unit_test(a_file_is_read_as_text),
        cmocka_unit_test(lines_are_handed_out_until_one_is_wrong),
        cmocka_unit_test(a_file_of_lines_that_cannot_be_read_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
