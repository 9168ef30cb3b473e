/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding, reading and selecting cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "suite/suite.h"

#define CASE(id, rule, more)                                                                       \
    "case { id = \"" id "\", purpose = \"p\", rules = { \"" rule "\" }, " more                     \
    " run = function(t) end }"
#define RESPONDER "role = \"responder\","

static const struct iw_run_options options = {.library = IW_SOURCE_DIR "/conformance/lib"};
static struct folder folder;
static struct iw_suite suite;
static char error[1024];

static int set_up(void **state)
{
    (void)state;
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    iw_suite_free(&suite);
    folder_remove(&folder);
    return 0;
}

static void put(const char *name, const char *content)
{
    free(folder_file(&folder, name, content));
}

static void load(void)
{
    assert_int_equal(iw_suite_load(&suite, folder.path, &options, error, sizeof(error)), 0);
}

/* ---- finding ---- */

static void test_order_and_depth(void **state)
{
    (void)state;
    put("b/two.lua", "return family { " CASE("c2", "MPA-8-02", RESPONDER) ", " CASE(
                         "c1", "MPA-8-02", RESPONDER) " }");
    put("a/deep/er/one.lua", "return " CASE("c3", "MPA-8-02", RESPONDER));
    put("b/notes.txt", "no case");
    put(".hidden/x.lua", "syntax error");
    load();
    assert_int_equal(suite.n_files, 2);
    assert_int_equal(suite.n_cases, 3);
    assert_int_equal(suite.n_broken, 0);
    assert_string_equal(suite.cases[0]->id, "c3");
    assert_string_equal(suite.cases[1]->id, "c2");
    assert_string_equal(suite.cases[2]->id, "c1");
    assert_int_equal(suite.cases[2]->index, 1);
}

static void test_digest_follows_content(void **state)
{
    char before[sizeof(suite.digest)];

    (void)state;
    put("x.lua", "return " CASE("x", "MPA-8-02", RESPONDER));
    load();
    memcpy(before, suite.digest, sizeof(before));
    iw_suite_free(&suite);
    load();
    assert_string_equal(suite.digest, before);
    iw_suite_free(&suite);
    put("x.lua", "return  " CASE("x", "MPA-8-02", RESPONDER));
    load();
    assert_string_not_equal(suite.digest, before);
}

static void test_no_folder(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/none", folder.path);
    assert_int_equal(iw_suite_load(&suite, path, &options, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "No such file"));
}

/* ---- broken files ---- */

/* One file is broken in this way; the other one still counts. */
static void assert_broken(const char *content, const char *where, const char *what)
{
    char expected[160];

    put("bad.lua", content);
    put("good.lua", "return " CASE("good", "MPA-8-02", RESPONDER));
    load();
    assert_int_equal(suite.n_broken, 1);
    assert_int_equal(suite.n_cases, 1);
    assert_string_equal(suite.cases[0]->id, "good");
    assert_string_equal(suite.files[1].path + strlen(folder.path), "/good.lua");
    assert_null(suite.files[1].error);
    snprintf(expected, sizeof(expected), "%s/bad.lua:%s", folder.path, where);
    assert_non_null(suite.files[0].error);
    assert_int_equal(strncmp(suite.files[0].error, expected, strlen(expected)), 0);
    assert_non_null(strstr(suite.files[0].error, what));
    assert_null(strchr(suite.files[0].error, '\n'));
}

static void test_syntax_error(void **state)
{
    (void)state;
    assert_broken("return case {\n  id = = 3\n}", "2: ", "unexpected symbol");
}

static void test_unknown_rule(void **state)
{
    (void)state;
    assert_broken("\nreturn " CASE("a", "MPA-99-01", RESPONDER), "2: ", "MPA-99-01");
}

static void test_misspelt_field(void **state)
{
    (void)state;
    assert_broken("return " CASE("a", "MPA-8-02", RESPONDER "ruels = 3,"), "1: ", "ruels");
}

static void test_same_id_in_two_files(void **state)
{
    (void)state;
    put("a.lua", "return " CASE("same", "MPA-8-02", RESPONDER));
    put("b.lua", "\nreturn family {" CASE("other", "MPA-8-02",
                                          RESPONDER) ",\n" CASE("same", "MPA-8-02", RESPONDER) "}");
    load();
    assert_int_equal(suite.n_broken, 1);
    assert_int_equal(suite.n_cases, 1);
    assert_string_equal(suite.cases[0]->file + strlen(folder.path), "/a.lua");
    assert_non_null(strstr(suite.files[1].error, "b.lua:3: the id 'same' is taken by "));
    assert_non_null(strstr(suite.files[1].error, "a.lua:1"));
}

/* ---- selecting ---- */

#define QUICK CASE("mpa-crc-bad", "MPA-8-02", RESPONDER "tags = { \"quick\" },")
#define CALLING CASE("mpa-pad", "MPA-4.1-02", "role = \"initiator\", level = \"should\",")
#define SLOW CASE("ddp-crc", "MPA-8-02", RESPONDER "level = \"may\", tags = { \"slow\" },")

static void put_some(void)
{
    put("x.lua", "return family { " QUICK ", " CALLING ", " SLOW " }");
    load();
}

/* The ids that the patterns (up to three) select, joined; or the error. */
static const char *selected(char *a, char *b, char *c)
{
    static char text[1024];
    char *patterns[] = {a, b, c};
    size_t n = 0, count = 0;
    const struct iw_case **list;

    while (n < 3 && patterns[n] != NULL)
        n++;
    text[0] = 0;
    if (iw_suite_select(&suite, patterns, n, &list, &count, text, sizeof(text)))
        return text;
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
                 list[i]->id);
    free(list);
    return text;
}

static void test_select(void **state)
{
    char all[] = "*", glob[] = "mpa-*", tail[] = "*-crc", rule[] = "rule:MPA-8-02",
         rules[] = "rule:mpa-4*", tag[] = "tag:quick", must[] = "level:must",
         should[] = "level:should", may[] = "level:may", role[] = "role:initiator";

    (void)state;
    put_some();
    assert_string_equal(selected(NULL, NULL, NULL), "mpa-crc-bad mpa-pad ddp-crc");
    assert_string_equal(selected(all, NULL, NULL), "mpa-crc-bad mpa-pad ddp-crc");
    assert_string_equal(selected(glob, NULL, NULL), "mpa-crc-bad mpa-pad");
    assert_string_equal(selected(rule, NULL, NULL), "mpa-crc-bad ddp-crc");
    assert_string_equal(selected(rules, NULL, NULL), "mpa-pad");
    assert_string_equal(selected(tag, NULL, NULL), "mpa-crc-bad");
    assert_string_equal(selected(must, NULL, NULL), "mpa-crc-bad");
    assert_string_equal(selected(should, NULL, NULL), "mpa-pad");
    assert_string_equal(selected(may, NULL, NULL), "ddp-crc");
    assert_string_equal(selected(role, NULL, NULL), "mpa-pad");
    /* Any of them, in the order of the suite. */
    assert_string_equal(selected(tail, tag, NULL), "mpa-crc-bad ddp-crc");
}

static void test_select_nothing(void **state)
{
    char good[] = "mpa-pad", none[] = "no-such", kind[] = "colour:red", level[] = "level:none";

    (void)state;
    put_some();
    assert_string_equal(selected(none, NULL, NULL), "--select no-such: no case fits");
    assert_string_equal(selected(good, none, NULL), "--select no-such: no case fits");
    assert_non_null(strstr(selected(kind, NULL, NULL), "--select colour:red: expected"));
    assert_non_null(strstr(selected(level, NULL, NULL), "--select level:none: expected"));
}

static void test_names(void **state)
{
    (void)state;
    put_some();
    assert_string_equal(iw_case_level(suite.cases[0]), "must");
    assert_string_equal(iw_case_level(suite.cases[1]), "should");
    assert_string_equal(iw_role_name(suite.cases[1]->role), "initiator");
    assert_true(iw_case_names_rule(suite.cases[0], iw_rule_find("MPA-8-02")));
    assert_false(iw_case_names_rule(suite.cases[1], iw_rule_find("MPA-8-02")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_and_depth, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_digest_follows_content, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_syntax_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_rule, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_misspelt_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_id_in_two_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_select, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_select_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
