/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and lines of JSON, literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/json_values.h"

static void assert_line(json_t *value, const char *expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    assert_int_equal(iw_json_line(value, to), expected[0] != '\0');
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void a_line_for_each_value(void **state)
{
    (void)state;
    assert_line(json_pack("{si sf}", "a", 1, "b", 0.1), "{\"a\":1,\"b\":0.1}\n");
    assert_line(json_pack("[s]", "one\ntwo"), "[\"one\\ntwo\"]\n");
    assert_line(json_pack("[s]", "\xff"), ""); /* no UTF-8: no value */
    assert_line(json_string("no array, no object"), "");
}

static void the_reference_is_dropped(void **state)
{
    (void)state;
    json_t *value = json_object();
    assert_line(json_incref(value), "{}\n");
    assert_int_equal(value->refcount, 1);
    json_decref(value);
}

static void a_full_file_is_noticed(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(setvbuf(full, NULL, _IONBF, 0), 0);
    assert_false(iw_json_line(json_object(), full));
    fclose(full);
}

static void octets_and_wide_numbers(void **state)
{
    static const uint8_t octets[] = {0x00, 0x0f, 0xf0};
    (void)state;
    assert_line(json_pack("[o o o]", iw_json_hex(octets, 3), iw_json_hex(octets, 0),
                          iw_json_wide(UINT64_MAX)),
                "[\"000ff0\",\"\",\"0xffffffffffffffff\"]\n");
}

static void texts_of_an_object(void **state)
{
    (void)state;
    json_t *object = json_pack("{s:s, s:i}", "type", "end", "n", 5);
    assert_string_equal(iw_json_get_text(object, "type"), "end");
    assert_string_equal(iw_json_get_text(object, "n"), "");
    assert_string_equal(iw_json_get_text(object, "x"), "");
    assert_string_equal(iw_json_get_text(NULL, "type"), "");
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_for_each_value),  cmocka_unit_test(the_reference_is_dropped),
        cmocka_unit_test(a_full_file_is_noticed), cmocka_unit_test(octets_and_wide_numbers),
        cmocka_unit_test(texts_of_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
