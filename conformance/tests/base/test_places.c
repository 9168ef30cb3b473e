/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the suite's files are, and what is asked of a case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conform_case.h"
#include "base/places.h"
#include "host/text.h"

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
        cmocka_unit_test(the_suite_lies_in_the_source_tree),
        cmocka_unit_test(a_longer_name_is_another_folder),
        cmocka_unit_test(the_agent_is_said_or_beside_this_program),
        cmocka_unit_test(a_case_answers_about_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
