/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of the device, and who it is taken from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/device.h"

static void assert_fields(const struct iw_device *d, const char *name, const char *driver,
                          const char *firmware, const char *kernel, const char *operator)
{
    const char *const expected[IW_DEVICE_FIELDS] = {name, driver, firmware, kernel, operator};

    for (int i = 0; i < IW_DEVICE_FIELDS; i++) {
        if (expected[i] == NULL)
            assert_null(d->is[i]);
        else
            assert_string_equal(d->is[i] != NULL ? d->is[i] : "(none)", expected[i]);
    }
}

static void assert_text(const struct iw_device *d, const char *expected)
{
    char *text = iw_device_text(d);

    if (expected == NULL)
        assert_null(text);
    else
        assert_string_equal(text != NULL ? text : "(none)", expected);
    free(text);
}

static void assert_json(const struct iw_device *d, const char *expected)
{
    json_t *object = iw_device_to_json(d);
    char *written = json_dumps(object, JSON_COMPACT);

    assert_string_equal(written, expected);
    free(written);
    json_decref(object);
}

static void each_field_has_a_name(void **state)
{
    static const char *const names[] = {"name", "driver", "firmware", "kernel", "operator"};

    (void)state;
    assert_int_equal(IW_DEVICE_FIELDS, 5);
    for (int i = 0; i < IW_DEVICE_FIELDS; i++)
        assert_string_equal(iw_device_field_name((enum iw_device_field)i), names[i]);
}

static void what_is_said_first_stays(void **state)
{
    struct iw_device d = {{NULL}};

    (void)state;
    iw_device_say(&d, IW_DEVICE_NAME, NULL);
    iw_device_say(&d, IW_DEVICE_NAME, "");
    assert_fields(&d, NULL, NULL, NULL, NULL, NULL);
    iw_device_say(&d, IW_DEVICE_NAME, "T6");
    iw_device_say(&d, IW_DEVICE_NAME, "T5");
    iw_device_say(&d, IW_DEVICE_OPERATOR, "me");
    assert_fields(&d, "T6", NULL, NULL, NULL, "me");
    iw_device_free(&d);
    assert_fields(&d, NULL, NULL, NULL, NULL, NULL);
}

static void a_text_becomes_one_line_that_is_valid(void **state)
{
    struct iw_device d = {{NULL}};

    (void)state;
    iw_device_say(&d, IW_DEVICE_KERNEL, "6.1\nx\n\ny");
    iw_device_say(&d, IW_DEVICE_FIRMWARE,
                  "\xff"
                  "1");
    assert_fields(&d, NULL, NULL,
                  "\xef\xbf\xbd"
                  "1",
                  "6.1 x  y", NULL);
    iw_device_free(&d);
}

static void a_device_takes_what_it_lacks(void **state)
{
    struct iw_device d = {{NULL}}, from = {{NULL}};

    (void)state;
    iw_device_say(&from, IW_DEVICE_NAME, "A");
    iw_device_say(&from, IW_DEVICE_DRIVER, "B");
    iw_device_say(&from, IW_DEVICE_OPERATOR, "C");
    iw_device_say(&d, IW_DEVICE_DRIVER, "own");
    iw_device_add(&d, &from);
    iw_device_free(&from);
    assert_fields(&d, "A", "own", NULL, NULL, "C");
    iw_device_free(&d);
}

static void an_object_says_it_too(void **state)
{
    struct iw_device d = {{NULL}};
    json_t *object = json_loads("{\"name\":\"N\",\"driver\":7,\"firmware\":\"F\",\"kernel\":\"\","
                                "\"operator\":\"O\",\"more\":\"x\"}",
                                0, NULL);

    (void)state;
    assert_non_null(object);
    iw_device_say(&d, IW_DEVICE_FIRMWARE, "own");
    iw_device_add_json(&d, object);
    json_decref(object);
    assert_fields(&d, "N", NULL, "own", NULL, "O");
    assert_json(&d, "{\"name\":\"N\",\"driver\":null,\"firmware\":\"own\",\"kernel\":null,"
                    "\"operator\":\"O\"}");
    iw_device_add_json(&d, NULL);
    assert_fields(&d, "N", NULL, "own", NULL, "O");
    iw_device_free(&d);
    assert_json(&d, "{\"name\":null,\"driver\":null,\"firmware\":null,\"kernel\":null,"
                    "\"operator\":null}");
}

static void what_is_known_is_one_text(void **state)
{
    struct iw_device d = {{NULL}};

    (void)state;
    assert_text(&d, NULL);
    iw_device_say(&d, IW_DEVICE_OPERATOR, "me");
    assert_text(&d, "operator me");
    iw_device_say(&d, IW_DEVICE_DRIVER, "siw");
    assert_text(&d, "driver siw, operator me");
    iw_device_say(&d, IW_DEVICE_NAME, "T6");
    assert_text(&d, "T6, driver siw, operator me");
    iw_device_say(&d, IW_DEVICE_FIRMWARE, "1.2");
    iw_device_say(&d, IW_DEVICE_KERNEL, "6.1");
    assert_text(&d, "T6, driver siw, firmware 1.2, kernel 6.1, operator me");
    iw_device_free(&d);
    iw_device_say(&d, IW_DEVICE_NAME, "T6");
    assert_text(&d, "T6");
    iw_device_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_has_a_name),
        cmocka_unit_test(what_is_said_first_stays),
        cmocka_unit_test(a_text_becomes_one_line_that_is_valid),
        cmocka_unit_test(a_device_takes_what_it_lacks),
        cmocka_unit_test(an_object_says_it_too),
        cmocka_unit_test(what_is_known_is_one_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
