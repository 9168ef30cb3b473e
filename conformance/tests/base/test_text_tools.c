/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that grow, lists and files of them, where the suite's files are, and what is asked of a
 * case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conform_case.h"
#include "base/places.h"
#include "folder.h"
#include "host/text.h"
#include "host/text_tools.h"

static struct folder folder;
static char error[512];

static int set_up(void **state)
{
    (void)state;
    *error = 0;
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

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
    char *path = folder_file(&folder, "some", "two\nlines\n");
    char *empty = folder_file(&folder, "empty", "");
    char *text = iw_text_read_file(path), *nothing = iw_text_read_file(empty);

    (void)state;
    assert_string_equal(text, "two\nlines\n");
    assert_string_equal(nothing, "");
    assert_null(iw_text_read_file("/no/such/file"));
    assert_null(iw_text_read_file(folder.path)); /* a folder can be opened and not read */
    free(text);
    free(nothing);
    free(path);
    free(empty);
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
    char *path = folder_file(&folder, "lines", "a\n\nbc\nlast");
    char *expected = iw_text_format("%s:3: this is wrong", path);

    (void)state;
    *taken = 0;
    assert_int_equal(iw_text_read_lines(path, take, (char[]){"none"}, error, sizeof(error)), 0);
    assert_string_equal(taken, "1:a;2:;3:bc;4:last;");
    assert_string_equal(error, "");
    *taken = 0;
    assert_int_equal(iw_text_read_lines(path, take, (char[]){"bc"}, error, sizeof(error)), -1);
    assert_string_equal(taken, "1:a;2:;3:bc;");
    assert_string_equal(error, expected);
    free(expected);
    free(path);
}

static void a_file_of_lines_that_cannot_be_read_is_named(void **state)
{
    char *expected = iw_text_format("cannot read %s: Is a directory", folder.path);

    (void)state;
    *taken = 0;
    assert_int_equal(iw_text_read_lines("/no/such/file", take, (char[]){""}, error, sizeof(error)),
                     -1);
    assert_string_equal(error, "cannot read /no/such/file: No such file or directory");
    assert_int_equal(iw_text_read_lines(folder.path, take, (char[]){""}, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
    assert_string_equal(taken, "");
    free(expected);
}

/* ---- where files are ---- */

/* Goes to a folder, asks, and comes back. The caller frees the answer. */
static char *asked_in(const char *where, char *(*ask)(void))
{
    char *here = getcwd(NULL, 0);

    assert_non_null(here);
    assert_int_equal(chdir(where), 0);
    char *answer = ask();
    assert_int_equal(chdir(here), 0);
    free(here);
    return answer;
}

/* A path below the working folder is given from there on. */
static void the_suite_lies_in_the_source_tree(void **state)
{
    static const struct {
        const char *where, *folder, *library;
    } rows[] = {
        {IW_SOURCE_DIR, "conformance", "conformance/lib"},
        {"/", IW_SOURCE_DIR "/conformance", IW_SOURCE_DIR "/conformance/lib"},
        {IW_SOURCE_DIR "/conformance", IW_SOURCE_DIR "/conformance",
         IW_SOURCE_DIR "/conformance/lib"},
        {IW_SOURCE_DIR "/proto", IW_SOURCE_DIR "/conformance", IW_SOURCE_DIR "/conformance/lib"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *suite = asked_in(rows[i].where, iw_conformance_folder);
        char *library = asked_in(rows[i].where, iw_library);

        assert_string_equal(suite, rows[i].folder);
        assert_string_equal(library, rows[i].library);
        free(suite);
        free(library);
    }
}

/* A folder whose name goes on is another one. */
static void a_longer_name_is_another_folder(void **state)
{
    char *here = getcwd(NULL, 0);

    (void)state;
    assert_int_equal(chdir(IW_SOURCE_DIR "/conformance/lib"), 0);
    char *suite = iw_conformance_folder();
    assert_string_equal(suite, IW_SOURCE_DIR "/conformance");
    free(suite);
    assert_int_equal(chdir(here), 0);
    free(here);
}

static void the_agent_is_said_or_beside_this_program(void **state)
{
    char *before = iw_text_copy(getenv("IWARP_AGENT"));

    (void)state;
    unsetenv("IWARP_AGENT");
    char *beside = iw_agent(NULL), *empty = iw_agent(""), *said = iw_agent("/a/b");
    assert_string_equal(beside, IW_BINARY_DIR "/bin/tests/iwarp-agent");
    assert_string_equal(empty, IW_BINARY_DIR "/bin/tests/iwarp-agent");
    assert_string_equal(said, "/a/b");
    free(beside);
    free(empty);
    free(said);
    setenv("IWARP_AGENT", "/c", 1);
    said = iw_agent(NULL);
    assert_string_equal(said, "/c");
    free(said);
    said = iw_agent("/a/b");
    assert_string_equal(said, "/a/b");
    free(said);
    if (before != NULL)
        setenv("IWARP_AGENT", before, 1);
    else
        unsetenv("IWARP_AGENT");
    free(before);
}

/* ---- cases ---- */

static void a_case_answers_about_itself(void **state)
{
    const struct iw_rule *rules[] = {iw_rule_find("MPA-8-02"), iw_rule_find("DDP-7.1-10")};
    char *tags[] = {(char[]){"slow"}, (char[]){"hazard"}};
    struct iw_case c = {.rules = rules, .n_rules = 2, .tags = tags, .n_tags = 2};

    (void)state;
    assert_true(iw_case_names_rule(&c, rules[0]));
    assert_true(iw_case_names_rule(&c, rules[1]));
    assert_false(iw_case_names_rule(&c, iw_rule_at(0)));
    assert_true(iw_case_tagged(&c, "slow"));
    assert_true(iw_case_tagged(&c, "haz*"));
    assert_false(iw_case_tagged(&c, "haz"));
    c.worst = IW_VERDICT_FAIL;
    assert_string_equal(iw_case_level(&c), "must");
    c.worst = IW_VERDICT_NOTE;
    assert_string_equal(iw_case_level(&c), "should");
    c.worst = IW_VERDICT_PASS;
    assert_string_equal(iw_case_level(&c), "may");
    c.n_rules = 1;
    c.n_tags = 0;
    assert_false(iw_case_names_rule(&c, rules[1]));
    assert_false(iw_case_tagged(&c, "*"));
    assert_string_equal(iw_role_name(IW_MPA_INITIATOR), "initiator");
    assert_string_equal(iw_role_name(IW_MPA_RESPONDER), "responder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_joined),
        cmocka_unit_test(characters_are_replaced),
        cmocka_unit_test(octets_are_written_in_hex),
        cmocka_unit_test(a_time_is_written_in_utc),
        cmocka_unit_test(a_list_of_texts_ends_with_null),
        cmocka_unit_test_setup_teardown(a_file_is_read_as_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_are_handed_out_until_one_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_lines_that_cannot_be_read_is_named, set_up,
                                        tear_down),
        cmocka_unit_test(the_suite_lies_in_the_source_tree),
        cmocka_unit_test(a_longer_name_is_another_folder),
        cmocka_unit_test(the_agent_is_said_or_beside_this_program),
        cmocka_unit_test(a_case_answers_about_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
