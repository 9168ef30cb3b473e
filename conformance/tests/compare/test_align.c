/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of two exchanges beside each other, and the fields in which they differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare/align.h"
#include "compare/diff_messages.h"
#include "host/text.h"

/* A list of messages: "t0 fin|s1 send" is a FIN of the target on connection 0, and so on. */
static json_t *exchange(const char *messages)
{
    json_t *list = json_array();
    char *copy = iw_text_copy(messages), *rest = copy, *one;

    while (*messages && (one = strsep(&rest, "|")) != NULL)
        json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "from",
                                              *one == 't' ? "target" : "station", "conn",
                                              one[1] - '0', "text", one + 3));
    free(copy);
    return list;
}

/* The place of a message in its list; '.' if there is none. */
static char place(const json_t *list, const json_t *message)
{
    for (size_t i = 0; message != NULL && i < json_array_size(list); i++)
        if (json_array_get(list, i) == message)
            return (char)('0' + i);
    return message == NULL ? '.' : '?';
}

/* Pairs are places in both lists: "0-0 1-. .-1". */
static void messages_of_a_kind_stand_beside_each_other(void **state)
{
    static const struct {
        const char *a, *b, *pairs;
    } rows[] = {
        {"", "", ""},
        {"t0 fin", "", "0-."},
        {"", "t0 fin", ".-0"},
        {"t0 fin|t0 send|s0 fin", "t0 fin|t0 send|s0 fin", "0-0 1-1 2-2"},
        /* What the kind of a message is. */
        {"t0 mpa reply rev 1", "t0 mpa reply rev 2", "0-0"},
        {"t0 mpa reply", "t0 mpa reply rev 2", "0-0"},
        {"t0 mpa reply rev 1", "t0 mpa request rev 1", "0-. .-0"},
        {"t0 mpa", "t0 mpa reply", "0-. .-0"},
        {"t0 mpaq a", "t0 mpaq b", "0-0"},
        {"t0 send", "t0 send se", "0-0"},
        {"t0 send", "t0 sendx", "0-. .-0"},
        {"t0 sendx", "t0 sendy", "0-. .-0"},
        {"t0 24 octets", "t0 3 octets", "0-0"},
        {"t0 24 octets", "t0 send", "0-. .-0"},
        {"t0 send", "t0 9 octets", "0-. .-0"},
        /* Another connection, another sender. */
        {"t0 fin", "t1 fin", "0-. .-0"},
        {"t0 fin", "s0 fin", "0-. .-0"},
        /* As many as possible get a partner. */
        {"t0 a|t0 b", "t0 a", "0-0 1-."},
        {"t0 a|t0 b", "t0 b", "0-. 1-0"},
        {"t0 a", "t0 b|t0 a", ".-0 0-1"},
        {"t0 a", "t0 a|t0 b", "0-0 .-1"},
        {"t0 a|t0 b|t0 c", "t0 b|t0 c|t0 a", "0-. 1-0 2-1 .-2"},
        {"t0 b|t0 c|t0 a", "t0 a|t0 b|t0 c", ".-0 0-1 1-2 2-."},
        {"t0 a|t0 x|t0 b", "t0 a|t0 y|t0 b", "0-0 1-. .-1 2-2"},
        {"t0 a|t0 a|t0 b", "t0 a|t0 b", "0-0 1-. 2-1"},
        {"t0 a|t0 c", "t0 c|t0 a", "0-. 1-0 .-1"},
        {"t0 a|t0 b|t0 d|t0 c", "t0 d|t0 a|t0 b|t0 c", ".-0 0-1 1-2 2-. 3-3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        json_t *a = exchange(rows[i].a), *b = exchange(rows[i].b);
        size_t count = 99;
        struct iw_message_pair *pairs = iw_align(a, b, &count);
        char text[64] = "";

        assert_true(count < 10);
        for (size_t k = 0; k < count; k++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%c-%c", k > 0 ? " " : "",
                     place(a, pairs[k].a), place(b, pairs[k].b));
        if (strcmp(text, rows[i].pairs) != 0)
            fail_msg("%s, %s: %s instead of %s", rows[i].a, rows[i].b, text, rows[i].pairs);
        free(pairs);
        json_decref(a);
        json_decref(b);
    }
}

/* Messages of a long exchange: all but the last are of one kind. */
static json_t *exchange_of(size_t n, const char *last)
{
    json_t *list = json_array();

    while (--n > 0)
        json_array_append_new(list, json_pack("{s:s}", "text", "x"));
    json_array_append_new(list, json_pack("{s:s}", "text", last));
    return list;
}

/* Only so many messages look for a partner: the table is their square. */
static void messages_beyond_the_bound_stand_alone(void **state)
{
    json_t *one = exchange_of(1, "y"), *list = exchange_of(4096, "y");
    size_t count;
    struct iw_message_pair *pairs = iw_align(list, one, &count);

    (void)state;
    assert_int_equal(count, 4096);
    assert_ptr_equal(pairs[4095].a, json_array_get(list, 4095));
    assert_ptr_equal(pairs[4095].b, json_array_get(one, 0));
    free(pairs);
    pairs = iw_align(one, list, &count);
    assert_int_equal(count, 4096);
    assert_ptr_equal(pairs[4095].a, json_array_get(one, 0));
    assert_ptr_equal(pairs[4095].b, json_array_get(list, 4095));
    free(pairs);
    json_decref(list);
    list = exchange_of(4097, "y");
    pairs = iw_align(list, one, &count);
    assert_int_equal(count, 4098);
    assert_ptr_equal(pairs[4095].a, json_array_get(list, 4095));
    assert_null(pairs[4096].a);
    assert_ptr_equal(pairs[4096].b, json_array_get(one, 0));
    assert_ptr_equal(pairs[4097].a, json_array_get(list, 4096));
    assert_null(pairs[4097].b);
    free(pairs);
    pairs = iw_align(one, list, &count);
    assert_int_equal(count, 4098);
    assert_ptr_equal(pairs[0].a, json_array_get(one, 0));
    assert_null(pairs[0].b);
    assert_ptr_equal(pairs[4096].b, json_array_get(list, 4095));
    assert_null(pairs[4097].a);
    assert_ptr_equal(pairs[4097].b, json_array_get(list, 4096));
    free(pairs);
    json_decref(list);
    json_decref(one);
}

/* ---- fields ---- */

static json_t *says(const char *octets, const char *fields)
{
    return json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "exchange", "from", "target", "text", "send",
                     "octets", octets, "fields", fields);
}

#define HEADS "    A       0 target  send\n    B       0 target  send\n"

/* Compares two Sends, and both the other way round. */
static void differ(const char *a, const char *of_a, const char *b, const char *of_b,
                   const char *expected)
{
    json_t *first = says(a, of_a), *second = says(b, of_b);
    char *shown = NULL;
    size_t size;
    FILE *out = open_memstream(&shown, &size);

    assert_non_null(out);
    iw_diff_messages(out, first, second);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(shown, expected);
    free(shown);
    json_decref(first);
    json_decref(second);
}

static void numbers_are_shown_as_people_count(void **state)
{
    static const char *const counted[] = {"ULPDU_Length", "PD_Length", "Rev",  "QN",
                                          "MSN",          "MO",        "Size", "Segment length"};
    static const char *const others[] = {"STag", "Re", "Revs", "CRC", "msn"};

    (void)state;
    for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
        char *fields = iw_text_format("0+2 %s", counted[i]);
        char *shown = iw_text_format(HEADS "        %-26s 256 | 10\n", counted[i]);

        differ("0100", fields, "000a", fields, shown);
        free(shown);
        free(fields);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        char *fields = iw_text_format("0+2 %s", others[i]);
        char *shown = iw_text_format(HEADS "        %-26s 0x0100 | 0x000a\n", others[i]);

        differ("0100", fields, "000a", fields, shown);
        free(shown);
        free(fields);
    }
}

static void long_fields_are_cut_short(void **state)
{
    (void)state;
    differ("ffffffffffffffff", "0+8 MO", "00", "0+1 MO",
           HEADS "        MO                         18446744073709551615 | 0\n");
    differ("ffffffffffffffff01", "0+9 MO", "00", "0+1 MO",
           HEADS "        MO                         0xffffffffffffffff... (9 octets) | 0\n");
    differ("0102030405060708", "0+8 Pad", "010203040506070809", "0+9 Pad",
           HEADS "        Pad                        0x0102030405060708 | "
                 "0x0102030405060708... (9 octets)\n");
}

/* Octets that end before the field does. */
static void a_field_may_be_cut_off(void **state)
{
    (void)state;
    differ("0102", "0+4 A", "010203", "0+4 A",
           HEADS "        A                          0x0102 | 0x010203\n");
    differ("0102", "1+4 A", "0103", "1+4 A",
           HEADS "        A                          0x02 | 0x03\n");
    differ("0102", "2+1 A", "010203", "2+1 A",
           HEADS "        A                          - | 0x03\n");
    differ("0102", "9+1 A", "01020304050607080901", "9+1 A",
           HEADS "        A                          - | 0x01\n");
}

/* A CRC that differs because something else does is not reported. */
static void a_crc_is_reported_if_it_differs_alone(void **state)
{
    (void)state;
    differ("0101", "0+1 A|1+1 CRC", "0202", "0+1 A|1+1 CRC",
           HEADS "        A                          0x01 | 0x02\n");
    differ("0101", "0+1 A|1+1 CRC", "0102", "0+1 A|1+1 CRC",
           HEADS "        CRC                        0x01 | 0x02\n");
    differ("0101", "0+1 A|1+1 CRCs", "0202", "0+1 A|1+1 CRCs",
           HEADS "        A                          0x01 | 0x02\n"
                 "        CRCs                       0x01 | 0x02\n");
    differ("01", "0+1 A", "01", "0+1 A", "");
    /* What has no name for its octets is shown whole; two lists that say the same, not at all. */
    differ("01", "", "02", "", HEADS "        octets                     0x01 | 0x02\n");
    differ("0102", "0+1 A", "0103", "0+1 A",
           HEADS "        octets                     0x0102 | 0x0103\n");
}

/* Fields of one name are paired by their number; a field of one side only has no partner. */
static void fields_have_partners_by_name_and_number(void **state)
{
    (void)state;
    differ("010203", "0+1 P|1+1 P|2+1 P", "010204", "0+1 P|1+1 P|2+1 P",
           HEADS "        P                          0x03 | 0x04\n");
    differ("010203", "0+1 P|1+1 P|2+1 P", "0109", "0+1 P|1+1 P",
           HEADS "        P                          0x02 | 0x09\n"
                 "        P                          0x03 | -\n");
    differ("0109", "0+1 P|1+1 P", "010203", "0+1 P|1+1 P|2+1 P",
           HEADS "        P                          0x09 | 0x02\n"
                 "        P                          - | 0x03\n");
    differ("0102", "0+1 P|1+1 Q", "0201", "0+1 Q|1+1 P",
           "" HEADS "        octets                     0x0102 | 0x0201\n");
    differ("0102", "0+1 P|1+1 PQ", "0103", "0+1 P|1+1 PX",
           HEADS "        PQ                         0x02 | -\n"
                 "        PX                         - | 0x03\n");
    /* A list that is odd ends there. */
    differ("0102", "0+1 P|1-1 Q", "0202", "0+1 P|1+1 Q",
           HEADS "        P                          0x01 | 0x02\n"
                 "        Q                          - | 0x02\n");
    differ("0102", "0+1 P|1+1,Q", "0202", "0+1 P",
           HEADS "        P                          0x01 | 0x02\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_a_kind_stand_beside_each_other),
        cmocka_unit_test(messages_beyond_the_bound_stand_alone),
        cmocka_unit_test(numbers_are_shown_as_people_count),
        cmocka_unit_test(long_fields_are_cut_short),
        cmocka_unit_test(a_field_may_be_cut_off),
        cmocka_unit_test(a_crc_is_reported_if_it_differs_alone),
        cmocka_unit_test(fields_have_partners_by_name_and_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
