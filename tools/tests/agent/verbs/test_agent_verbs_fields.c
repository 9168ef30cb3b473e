/* SPDX-License-Identifier: BSD-3-Clause */
/* How iwarp-agent reads the fields of a request, and finds what a number stands for. */
#include "recorder.h"

static char said[AGENT_ERROR];

static bool takes(const char *request, const struct agent_field *fields, size_t count)
{
    json_t *r = parse(request);
    said[0] = '\0';
    bool good = agent_take(r, fields, count, said);
    json_decref(r);
    return good;
}

/* ---- numbers ---- */

static void numbers_of_each_size(void **state)
{
    uint8_t one[2] = {9, 9};
    uint16_t two[2] = {9, 9};
    uint32_t four[2] = {9, 9};
    uint64_t eight = 9;
    const struct agent_field fields[] = {
        {"one", AGENT_NUMBER, false, 255, AGENT_INTO(one[0])},
        {"two", AGENT_NUMBER, false, 65535, AGENT_INTO(two[0])},
        {"four", AGENT_NUMBER, false, UINT32_MAX, AGENT_INTO(four[0])},
        {"eight", AGENT_NUMBER, false, UINT64_MAX, AGENT_INTO(eight)}};
    (void)state;
    assert_true(takes("{}", fields, 4));
    assert_int_equal(one[0] + two[0] + (int)four[0] + (int)eight, 36);
    assert_true(
        takes("{'one':255,'two':65535,'four':4294967295,'eight':9223372036854775807}", fields, 4));
    assert_int_equal(one[0], 255);
    assert_int_equal(one[1], 9);
    assert_int_equal(two[0], 65535);
    assert_int_equal(two[1], 9);
    assert_int_equal(four[0], UINT32_MAX);
    assert_int_equal(four[1], 9);
    assert_true(eight == INT64_MAX);
}

/* True if a value is a number up to 2^64 - 1, false if it is refused as none. */
static bool is_number(const char *value, uint64_t wanted)
{
    uint64_t n = 4711;
    char request[200];
    const struct agent_field fields[] = {{"n", AGENT_NUMBER, true, UINT64_MAX, AGENT_INTO(n)}};
    snprintf(request, sizeof(request), "{'n':%s}", value);
    if (takes(request, fields, 1)) {
        assert_true(n == wanted);
        return true;
    }
    assert_string_equal(said, "field n: expected a number, 0..18446744073709551615");
    return false;
}

static void numbers_as_text(void **state)
{
    static const char *const none[] = {"-1",
                                       "1.0",
                                       "true",
                                       "null",
                                       "'1'",
                                       "'0x'",
                                       "'0xg'",
                                       "'x1'",
                                       "''",
                                       "'0x-1'",
                                       "[1]",
                                       "{}",
                                       "'0x12 '",
                                       "'00x1'",
                                       "'0x00000000000000000'",
                                       "'0x1ffffffffffffffff'"};
    (void)state;
    assert_true(is_number("0", 0));
    assert_true(is_number("1", 1));
    assert_true(is_number("9223372036854775807", INT64_MAX));
    assert_true(is_number("'0x0'", 0));
    assert_true(is_number("'0xa'", 10));
    assert_true(is_number("'0xAf'", 0xaf));
    assert_true(is_number("'0x0123456789abcdef'", UINT64_C(0x123456789abcdef)));
    assert_true(is_number("'0xffffffffffffffff'", UINT64_MAX));
    for (size_t i = 0; i < COUNT(none); i++)
        assert_false(is_number(none[i], 0));
}

static void numbers_have_a_limit(void **state)
{
    uint8_t n;
    const struct agent_field fields[] = {{"n", AGENT_NUMBER, true, 7, AGENT_INTO(n)}};
    (void)state;
    assert_true(takes("{'n':7}", fields, 1));
    assert_int_equal(n, 7);
    assert_false(takes("{'n':8}", fields, 1));
    assert_string_equal(said, "field n: expected a number, 0..7");
    assert_true(takes("{'n':'0x7'}", fields, 1));
    assert_false(takes("{'n':'0x8'}", fields, 1));
}

/* ---- other types ---- */

static void values_of_other_types(void **state)
{
    int64_t offset;
    bool flag;
    const char *text;
    const json_t *array, *object;
    const struct agent_field fields[] = {{"offset", AGENT_OFFSET, false, 0, AGENT_INTO(offset)},
                                         {"flag", AGENT_BOOL, false, 0, AGENT_INTO(flag)},
                                         {"text", AGENT_STRING, false, 0, AGENT_INTO(text)},
                                         {"array", AGENT_ARRAY, false, 2, AGENT_INTO(array)},
                                         {"object", AGENT_OBJECT, false, 0, AGENT_INTO(object)}};
    static const char *const refused[][2] = {
        {"{'offset':1.5}", "field offset: expected a whole number"},
        {"{'offset':'1'}", "field offset: expected a whole number"},
        {"{'flag':0}", "field flag: expected true or false"},
        {"{'flag':null}", "field flag: expected true or false"},
        {"{'text':1}", "field text: expected a string"},
        {"{'text':null}", "field text: expected a string"},
        {"{'array':{}}", "field array: expected an array of at most 2"},
        {"{'array':[1,2,3]}", "field array: expected an array of at most 2"},
        {"{'object':[]}", "field object: expected an object"},
        {"{'object':'x'}", "field object: expected an object"}};
    json_t *r = parse("{'offset':-9223372036854775807,'flag':true,'text':'abc','array':[1,2],"
                      "'object':{}}");
    (void)state;
    assert_true(agent_take(r, fields, 5, said));
    assert_true(offset == -INT64_MAX);
    assert_true(flag);
    assert_string_equal(text, "abc");
    assert_ptr_equal(array, json_object_get(r, "array"));
    assert_ptr_equal(object, json_object_get(r, "object"));
    json_decref(r);
    assert_true(takes("{'flag':false}", fields, 5));
    assert_false(flag);
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_false(takes(refused[i][0], fields, 5));
        assert_string_equal(said, refused[i][1]);
    }
}

static void octets_are_hex_digits(void **state)
{
    struct agent_octets o = {NULL, 0};
    const struct agent_field fields[] = {{"o", AGENT_OCTETS, false, 3, AGENT_INTO(o)}};
    static const char *const refused[] = {"{'o':'0'}", "{'o':'xy'}", "{'o':'00112233'}", "{'o':1}",
                                          "{'o':null}"};
    (void)state;
    assert_true(takes("{'o':'00aAff'}", fields, 1));
    assert_int_equal(o.length, 3);
    assert_memory_equal(o.data, "\x00\xaa\xff", 3);
    agent_octets_free(&o);
    assert_null(o.data);
    assert_int_equal(o.length, 0);
    assert_true(takes("{'o':''}", fields, 1));
    assert_int_equal(o.length, 0);
    assert_non_null(o.data);
    agent_octets_free(&o);
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_false(takes(refused[i], fields, 1));
        assert_string_equal(said, "field o: expected hex digits of at most 3 octets");
        agent_octets_free(&o);
    }
}

/* ---- which fields there are ---- */

static void fields_that_are_not_there(void **state)
{
    bool flag;
    const struct agent_field fields[] = {{"length", AGENT_BOOL, true, 0, AGENT_INTO(flag)},
                                         {"offset", AGENT_BOOL, false, 0, AGENT_INTO(flag)}};
    (void)state;
    assert_true(takes("{'length':true,'id':1,'do':'x'}", fields, 2));
    assert_false(takes("{'offset':true}", fields, 2));
    assert_string_equal(said, "field length: missing");
    assert_false(takes("{'length':true,'lenght':true}", fields, 2));
    assert_string_equal(said, "field lenght: not known here (did you mean length?)");
    assert_false(takes("{'length':true,'zzz':true}", fields, 2));
    assert_string_equal(said, "field zzz: not known here");
    assert_false(takes("{'offset':true}", fields, 1));
    assert_string_equal(said, "field offset: not known here");
    assert_false(takes("{'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeee':1}", fields, 2));
    assert_string_equal(said, "field aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd: not known here");
    assert_true(takes("{}", NULL, 0));
}

static void words_of_a_list(void **state)
{
    static const char *const list[] = {"one", "two", "three"};
    (void)state;
    said[0] = '\0';
    for (int i = 0; i < 3; i++)
        assert_int_equal(agent_index("n", list, 3, list[i], said), i);
    assert_string_equal(said, "");
    assert_int_equal(agent_index("n", list, 2, "three", said), -1);
    assert_string_equal(said, "field n: expected one or two");
    assert_int_equal(agent_index("n", list, 3, NULL, said), -1);
    assert_string_equal(said, "field n: expected one, two or three");
    assert_int_equal(agent_index("n", list, 1, "tw", said), -1);
    assert_string_equal(said, "field n: expected one");
    json_t *array = agent_strings(list, 2);
    char *text = json_dumps(array, JSON_COMPACT);
    assert_string_equal(text, "[\"one\",\"two\"]");
    free(text);
    json_decref(array);
}

/* Texts are cut to the room that there is. */
static void texts_are_bounded(void **state)
{
    char long_text[300];
    (void)state;
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    memset(said, '.', sizeof(said));
    assert_false(agent_fail(said, "%s", long_text));
    assert_int_equal(strlen(said), 199);
}

/* ---- numbered things ---- */

static void slots_have_numbers(void **state)
{
    struct {
        uint64_t id;
        char more[24];
    } things[3] = {{0, ""}, {7, ""}, {AGENT_GONE, ""}};
    const struct agent_slots s = {AGENT_SLOTS(things), "thing", "thing"};
    (void)state;
    assert_ptr_equal(agent_slot_with(AGENT_SLOTS(things), 7), &things[1]);
    assert_ptr_equal(agent_slot_with(AGENT_SLOTS(things), AGENT_GONE), &things[2]);
    assert_ptr_equal(agent_slot_with(AGENT_SLOTS(things), 0), &things[0]);
    assert_null(agent_slot_with(AGENT_SLOTS(things), 8));
    assert_null(agent_slot_with(things, 1, sizeof(things[0]), 7));
    assert_null(agent_slot_with(things, 0, sizeof(things[0]), 0));
    assert_ptr_equal(agent_slot_find(&s, 7, said), &things[1]);
    assert_null(agent_slot_find(&s, 0, said));
    assert_string_equal(said, "field thing: no thing 0");
    assert_null(agent_slot_find(&s, AGENT_GONE, said));
    assert_string_equal(said, "field thing: no thing 18446744073709551615");
    assert_ptr_equal(agent_slot_free(&s, said), &things[0]);
    things[0].id = 1;
    assert_null(agent_slot_free(&s, said));
    assert_string_equal(said, "at most 3 things");
}

static void domains_have_numbers(void **state)
{
    uint64_t domain = 0;
    (void)state;
    seen.core.domain_count = 2;
    assert_true(agent_domain_index(&seen.core, &domain, said));
    assert_int_equal(domain, 0);
    domain = 1;
    assert_true(agent_domain_index(&seen.core, &domain, said));
    assert_int_equal(domain, 0);
    domain = 2;
    assert_true(agent_domain_index(&seen.core, &domain, said));
    assert_int_equal(domain, 1);
    domain = 3;
    assert_false(agent_domain_index(&seen.core, &domain, said));
    assert_string_equal(said, "field pd: no protection domain 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_of_each_size),  TEST(numbers_as_text),       TEST(numbers_have_a_limit),
        TEST(values_of_other_types), TEST(octets_are_hex_digits), TEST(fields_that_are_not_there),
        TEST(words_of_a_list),       TEST(texts_are_bounded),     TEST(slots_have_numbers),
        TEST(domains_have_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
