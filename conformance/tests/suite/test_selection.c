/* SPDX-License-Identifier: BSD-3-Clause */
/* The language of --select. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "suite/suite.h"

static char *crc[] = {(char[]){"crc"}}, *both[] = {(char[]){"crc"}, (char[]){"field"}};
static const struct iw_rule *crc_rule[1], *pad_rule[1];
static struct iw_case a = {.id = (char[]){"a"},
                           .worst = IW_VERDICT_FAIL,
                           .role = IW_MPA_RESPONDER,
                           .tags = crc,
                           .n_tags = 1};
static struct iw_case b = {.id = (char[]){"b"},
                           .worst = IW_VERDICT_NOTE,
                           .role = IW_MPA_INITIATOR,
                           .tags = both,
                           .n_tags = 2};
static struct iw_case c = {
    .id = (char[]){"c-1"}, .worst = IW_VERDICT_FAIL, .role = IW_MPA_RESPONDER};
static struct iw_case d = {
    .id = (char[]){"d]"}, .worst = IW_VERDICT_FAIL, .role = IW_MPA_INITIATOR};
static const struct iw_case *cases[] = {&a, &b, &c, &d};
static const struct iw_suite suite = {.cases = cases, .n_cases = 4};

static int set_up(void **state)
{
    (void)state;
    crc_rule[0] = iw_rule_find("MPA-8-02");
    pad_rule[0] = iw_rule_find("MPA-4.1-02");
    a.rules = b.rules = crc_rule;
    c.rules = d.rules = pad_rule;
    a.n_rules = b.n_rules = c.n_rules = d.n_rules = 1;
    return 0;
}

/* Returns the ids that the choices select, joined, or the error. */
static const char *selects(const char *first, const char *second)
{
    static char text[1024];
    char *choices[] = {iw_text_copy(first), iw_text_copy(second)};
    const struct iw_case **list;
    size_t count;
    int status =
        iw_suite_select(&suite, choices, second != NULL ? 2 : 1, &list, &count, text, sizeof(text));
    free(choices[0]);
    free(choices[1]);
    if (status != 0)
        return text;
    text[0] = 0;
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
                 list[i]->id);
    free(list);
    return text;
}

static void one(const char *choice, const char *expected)
{
    assert_string_equal(selects(choice, NULL), expected);
}

static void words_join_patterns(void **state)
{
    (void)state;
    one("tag:crc and role:responder", "a");
    one("tag:crc and not role:responder", "b");
    one("not tag:crc", "c-1 d]");
    one("not not tag:crc", "a b");
    one("a or c-*", "a c-1");
    one("  a\tor\nd*  ", "a d]");
    one("rule:MPA-8-02 and level:must", "a");
    one("* and not (a or b)", "c-1 d]");
    one("not(a or b)and role:responder", "c-1");
    one("((a))", "a");
    assert_string_equal(selects("not tag:crc", "a"), "a c-1 d]");
}

static void and_binds_closer_than_or(void **state)
{
    (void)state;
    one("a or tag:field and tag:crc", "a b");
    one("tag:field and tag:crc or a", "a b");
    one("(a or tag:field) and role:responder", "a");
    one("not a and not b or a", "a c-1 d]");
    one("a or b or c-1", "a b c-1");
    one("* and * and a", "a");
}

static void globs_keep_their_characters(void **state)
{
    (void)state;
    one("[!ab]*", "c-1 d]");
    one("[ab]", "a b");
    one("c[- ()]1", "c-1");
    one("d[]]", "d]");
    one("[!]a]", "b");
    one("d[^(] or a", "a d]");
    one("c\\-1", "c-1");
    one("?", "a b");
    one("rule:mpa-8* and [a]", "a");
    one("[", "--select [: no case fits");
    one("and*", "--select and*: no case fits");
}

static void no_choice_has_its_place(void **state)
{
    (void)state;
    one("", "--select : expected a pattern, not the end");
    one(" ", "--select  : character 2: expected a pattern, not the end");
    one("and", "--select and: expected a pattern, not and");
    one("a and", "--select a and: character 6: expected a pattern, not the end");
    one("a or or b", "--select a or or b: character 6: expected a pattern, not or");
    one("a b", "--select a b: character 3: expected and, or or the end, not b");
    one("a not b", "--select a not b: character 3: expected and, or or the end, not not");
    one("a)", "--select a): character 2: expected and, or or the end, not )");
    one("(a", "--select (a: character 3: expected and, or or ), not the end");
    one("(a b)", "--select (a b): character 4: expected and, or or ), not b");
    one("()", "--select (): character 2: expected a pattern, not )");
    one("not", "--select not: character 4: expected a pattern, not the end");
}

static void a_pattern_that_fits_nothing_has_its_place(void **state)
{
    (void)state;
    one("a or bb or a", "--select a or bb or a: character 6, bb: no case fits (did you mean 'b'?)");
    one("a and colour:red",
        "--select a and colour:red: character 7, colour:red: expected an id, rule:ID, tag:WORD, "
        "level:must|should|may or role:responder|initiator");
    one("not level:most", "--select not level:most: character 5, level:most: expected level:must, "
                          "level:should or level:may");
    one("not tag:nothing",
        "--select not tag:nothing: character 5, tag:nothing: no case has this tag; the tags are "
        "crc, field");
    one("tag:crcs", "--select tag:crcs: no case has this tag (did you mean 'crc'?)");
    one("tag:nothing*", "--select tag:nothing*: no case fits");
    one("rule:MPA-8-2 and a",
        "--select rule:MPA-8-2 and a: character 1, rule:MPA-8-2: no case fits (did you mean "
        "'MPA-8-02'?)");
    one("rule:MPA-8-03 or a",
        "--select rule:MPA-8-03 or a: character 1, rule:MPA-8-03: no case names this rule");
}

static void a_choice_that_fits_nothing(void **state)
{
    (void)state;
    one("a and b", "--select a and b: no case fits");
    one("not *", "--select not *: no case fits");
    assert_string_equal(selects("a", "a and b"), "--select a and b: no case fits");
    one("(a)", "a");
}

static void parentheses_have_an_end(void **state)
{
    char text[1024] = "", most[208];
    (void)state;
    memset(most, '(', 100);
    most[100] = 'a';
    memset(most + 101, ')', 100);
    most[201] = 0;
    one(most, "a");
    for (int i = 0; i < 101; i++)
        strcat(text, "not ");
    strcat(text, "a");
    const char *said = selects(text, NULL);
    assert_non_null(strstr(said, ": character 401: expected at most 100 parentheses and nots in "
                                 "one another"));
}

static void a_suite_without_cases(void **state)
{
    const struct iw_suite none = {0};
    const struct iw_case **list;
    char error[200], *choice = (char[]){"tag:x"};
    size_t count = 9;
    (void)state;
    assert_int_equal(iw_suite_select(&none, NULL, 0, &list, &count, error, sizeof(error)), 0);
    assert_int_equal(count, 0);
    free(list);
    assert_int_equal(iw_suite_select(&none, &choice, 1, &list, &count, error, sizeof(error)), -1);
    assert_string_equal(error, "--select tag:x: no case has a tag");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_join_patterns),
        cmocka_unit_test(and_binds_closer_than_or),
        cmocka_unit_test(globs_keep_their_characters),
        cmocka_unit_test(no_choice_has_its_place),
        cmocka_unit_test(a_pattern_that_fits_nothing_has_its_place),
        cmocka_unit_test(a_choice_that_fits_nothing),
        cmocka_unit_test(parentheses_have_an_end),
        cmocka_unit_test(a_suite_without_cases),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
