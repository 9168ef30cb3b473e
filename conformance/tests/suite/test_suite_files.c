/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files are a suite, their digest, and what is said of patterns that fit nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/text.h"
#include "recording.h"
#include "suite/proof.h"
#include "suite/suite.h"

static struct iw_suite suite;
static struct iw_run_options options;
static char error[1024];

static int set_up(void **state)
{
    options = (struct iw_run_options){.library = IW_SOURCE_DIR "/conformance/lib"};
    return recording_setup(state);
}

static int tear_down(void **state)
{
    iw_suite_free(&suite);
    return recording_teardown(state);
}

static void put(const struct folder *f, const char *name, const char *content)
{
    free(folder_file(f, name, content));
}

/* Loads what is there, below the folder; the files and what is wrong with them, one a line. */
static void loads(const struct folder *f, const char *place, const char *expected)
{
    char *path = iw_text_format("%s%s", f->path, place), *text = iw_text_copy("");

    iw_suite_free(&suite);
    assert_int_equal(iw_suite_load(&suite, path, &options, error, sizeof(error)), 0);
    for (size_t i = 0; i < suite.n_files; i++) {
        const struct iw_suite_file *file = &suite.files[i];
        char *longer = iw_text_format("%s%s %zu %s\n", text, file->path + strlen(f->path),
                                      file->n_cases, file->error != NULL ? "broken" : "good");

        free(text);
        text = longer;
    }
    assert_string_equal(text, expected);
    free(text);
    free(path);
}

static void refuses(const struct folder *f, const char *place, const char *why)
{
    char *path = iw_text_format("%s%s", f->path, place),
         *expected = iw_text_format("no cases in %s: %s", path, why);

    iw_suite_free(&suite);
    assert_int_equal(iw_suite_load(&suite, path, &options, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
    assert_int_equal(suite.n_files, 0);
    free(path);
    free(expected);
}

#define CASE(id)                                                                                   \
    "case { id = \"" id "\", purpose = \"p\", rules = { \"MPA-8-02\" }, role = \"responder\", "    \
    "run = function(t) end }"

static void files_of_a_suite(void **state)
{
    const struct folder *f = *state;
    char *link = iw_text_format("%s/c/gone.lua", f->path);

    loads(f, "", "");
    assert_int_equal(suite.n_cases, 0);
    put(f, "b.lua", "return " CASE("b"));
    put(f, "a/x.lua", "return family { " CASE("x") ", " CASE("y") " }");
    put(f, "a/.x.lua", "return " CASE("hidden"));
    put(f, ".git/x.lua", "return " CASE("hidden"));
    put(f, "c/d.lua/e.lua", "return " CASE("e"));
    put(f, "c/lua", "");
    put(f, "c/x.luac", "");
    put(f, "c/xlua", "");
    assert_int_equal(symlink("nowhere", link), 0);
    loads(f, "", "/a/x.lua 2 good\n/b.lua 1 good\n/c/d.lua/e.lua 1 good\n/c/gone.lua 0 broken\n");
    assert_int_equal(suite.n_cases, 4);
    assert_int_equal(suite.n_broken, 1);
    assert_string_equal(suite.cases[0]->id, "x");
    assert_string_equal(suite.cases[3]->id, "e");
    assert_ptr_equal(iw_suite_find(&suite, "y"), suite.cases[1]);
    assert_null(iw_suite_find(&suite, "z"));
    /* A file is a place, too; so is one that begins with a point. */
    loads(f, "/b.lua", "/b.lua 1 good\n");
    loads(f, "/a/.x.lua", "/a/.x.lua 1 good\n");
    loads(f, "/.git", "/.git/x.lua 1 good\n");
    loads(f, "/c/gone.lua", "/c/gone.lua 0 broken\n");
    refuses(f, "/c/lua", "Not a directory");
    refuses(f, "/none", "No such file or directory");
    refuses(f, "/none.lua", "No such file or directory");
    free(link);
}

static void a_name_is_more_than_its_ending(void **state)
{
    const struct folder *f = *state;
    char *here = getcwd(NULL, 0);

    put(f, ".lua", "");
    put(f, "x.lua", "");
    assert_int_equal(chdir(f->path), 0);
    assert_int_equal(iw_suite_load(&suite, ".lua", &options, error, sizeof(error)), -1);
    assert_string_equal(error, "no cases in .lua: Not a directory");
    iw_suite_free(&suite);
    assert_int_equal(iw_suite_load(&suite, "x.lua", &options, error, sizeof(error)), 0);
    assert_int_equal(chdir(here), 0);
    free(here);
}

/* The first id that is taken is named. */
static void ids_that_are_taken(void **state)
{
    const struct folder *f = *state;
    char *said =
        iw_text_format("%s/b.lua:2: the id 'one' is taken by %s/a.lua:1", f->path, f->path);

    put(f, "a.lua", "return family { " CASE("one") ", " CASE("two") " }");
    put(f, "b.lua", "return family {\n" CASE("one") ", " CASE("two") ",\n" CASE("three") " }");
    put(f, "c.lua", "return " CASE("three"));
    loads(f, "", "/a.lua 2 good\n/b.lua 0 broken\n/c.lua 1 good\n");
    assert_string_equal(suite.files[1].error, said);
    assert_int_equal(suite.n_cases, 3);
    free(said);
}

/* FNV-1a of all octets, the vocabulary's first. */
static void a_digest_is_that_of_the_contents(void **state)
{
    const struct folder *f = *state;
    char *library = iw_text_format("%s/lib", f->path);

    put(f, "lib/init.lua", "");
    put(f, "cases/notes", "not asked for");
    options.library = library;
    loads(f, "/cases", "");
    assert_string_equal(suite.digest, "cbf29ce484222325");
    put(f, "cases/x.lua", "a");
    loads(f, "/cases", "/cases/x.lua 0 broken\n");
    assert_string_equal(suite.digest, "af63dc4c8601ec8c");
    put(f, "lib/init.lua", "a");
    put(f, "cases/x.lua", "b\xff");
    loads(f, "/cases", "/cases/x.lua 0 broken\n");
    assert_string_equal(suite.digest, "e7202e190542452f");
    free(library);
}

static void selects_nothing(char *pattern, const char *expected)
{
    const struct iw_case **list;
    size_t count;

    assert_int_equal(iw_suite_select(&suite, &pattern, 1, &list, &count, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
}

#define KINDS                                                                                      \
    ": expected an id, rule:ID, tag:WORD, level:must|should|may or role:responder|initiator"

#define ROLES "role:responder or role:initiator"
#define LEVELS "level:must, level:should or level:may"

static void patterns_that_fit_nothing(void **state)
{
    const struct folder *f = *state;

    put(f, "x.lua", "return " CASE("crc-bad"));
    loads(f, "", "/x.lua 1 good\n");
    selects_nothing((char[]){"crc-bat"},
                    "--select crc-bat: no case fits (did you mean 'crc-bad'?)");
    selects_nothing((char[]){"crc-ba?x"}, "--select crc-ba?x: no case fits");
    selects_nothing((char[]){"crc-x*"}, "--select crc-x*: no case fits");
    selects_nothing((char[]){"crc-[x]"}, "--select crc-[x]: no case fits");
    selects_nothing((char[]){"other"}, "--select other: no case fits");
    selects_nothing((char[]){"rule:MPA-8-002"},
                    "--select rule:MPA-8-002: no case fits (did you mean 'MPA-8-02'?)");
    /* As far from it as a word of its length may be. */
    selects_nothing((char[]){"rule:MPA-8-0x2x"},
                    "--select rule:MPA-8-0x2x: no case fits (did you mean 'MPA-8-02'?)");
    selects_nothing((char[]){"rule:MPA-4.1-02"},
                    "--select rule:MPA-4.1-02: no case names this rule");
    selects_nothing((char[]){"rule:mpa-4.1-02"},
                    "--select rule:mpa-4.1-02: no case names this rule");
    selects_nothing((char[]){"rule:MPA-4*"}, "--select rule:MPA-4*: no case fits");
    selects_nothing((char[]){"tag:x"}, "--select tag:x: no case has a tag");
    selects_nothing((char[]){"level:may"}, "--select level:may: no case fits");
    selects_nothing((char[]){"role:initiator"}, "--select role:initiator: no case fits");
    selects_nothing((char[]){"role:"}, "--select role:: expected " ROLES);
    selects_nothing((char[]){"role:initiato"}, "--select role:initiato: expected " ROLES);
    selects_nothing((char[]){"level:shouldx"}, "--select level:shouldx: expected " LEVELS);
    selects_nothing((char[]){"xrule:a"}, "--select xrule:a" KINDS);
    selects_nothing((char[]){":"}, "--select :" KINDS);
    assert_string_equal(iw_suite_nearest(&suite, "crc-bed"), "crc-bad");
    assert_null(iw_suite_nearest(&suite, "something else"));
}

static void patterns_that_fit(void **state)
{
    const struct folder *f = *state;
    char *const patterns[] = {(char[]){"role:responder"}, (char[]){"level:must"},
                              (char[]){"rule:mpa-8-0?"}, (char[]){"c*"}};

    put(f, "x.lua", "return family { " CASE("crc-bad") ", " CASE("crc-good") " }");
    loads(f, "", "/x.lua 2 good\n");
    for (size_t i = 0; i < 4; i++) {
        const struct iw_case **list;
        size_t count = 9;

        assert_int_equal(
            iw_suite_select(&suite, &patterns[i], 1, &list, &count, error, sizeof(error)), 0);
        assert_int_equal(count, 2);
        assert_ptr_equal(list[1], suite.cases[1]);
        free(list);
    }
}

/* ---- what is known of it ---- */

static void reasons_of_the_catalogue(void **state)
{
    struct iw_proof p = {0};
    const char *reason;
    size_t no = 0, api = 0;

    (void)state;
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        const struct iw_rule *rule = iw_rule_at(i);
        enum iw_standing standing = iw_proof_standing(&p, &suite, rule, &reason);

        if (rule->testable == IW_TESTABLE_NO) {
            no++;
            assert_int_equal(standing, IW_DISPOSITIONED);
            assert_string_equal(reason, "no test can judge it");
        } else if (rule->testable == IW_TESTABLE_API) {
            api++;
            assert_int_equal(standing, IW_DISPOSITIONED);
            assert_string_equal(
                reason,
                "nothing of it shows on the wire; the unit tests judge the reference stack");
        } else {
            assert_int_equal(standing, IW_UNACCOUNTED);
            assert_null(reason);
        }
    }
    assert_true(no > 0 && api > 0);
    assert_string_equal(iw_standing_name(IW_PROVEN), "proven");
    assert_string_equal(iw_standing_name(IW_CLAIMED), "claimed");
    assert_string_equal(iw_standing_name(IW_DISPOSITIONED), "dispositioned");
    assert_string_equal(iw_standing_name(IW_UNACCOUNTED), "unaccounted");
}

/* Each of the tables; the first that is wrong is named. */
static void tables_are_read(void **state)
{
    static const char *const names[] = {"matrix.csv", "claims.csv", "dispositions.csv", "idle.csv"};
    const struct folder *f = *state;
    struct iw_proof p;

    for (size_t i = 0; i < 4; i++)
        put(f, names[i], "h\na,b\n");
    assert_int_equal(iw_proof_read(&p, f->path, error, sizeof(error)), 0);
    assert_string_equal(iw_proof_find(&p.matrix, "a"), "b");
    assert_string_equal(iw_proof_find(&p.claims, "a"), "b");
    assert_string_equal(iw_proof_find(&p.dispositions, "a"), "b");
    assert_string_equal(iw_proof_find(&p.idle, "a"), "b");
    iw_proof_free(&p);
    for (size_t i = 4; i-- > 0;) {
        char *expected = iw_text_format("%s/%s:2: the quotes do not match", f->path, names[i]);

        put(f, names[i], "h\na,\"\n");
        assert_int_equal(iw_proof_read(&p, f->path, error, sizeof(error)), -1);
        assert_string_equal(error, expected);
        iw_proof_free(&p);
        free(expected);
    }
}

/* What is there, but cannot be read, is no table that is missing. */
static void a_table_that_cannot_be_reached(void **state)
{
    const struct folder *f = *state;
    struct iw_proof_table t;
    char *path = iw_text_format("%s/x/table.csv", f->path),
         *expected = iw_text_format("cannot read %s: Not a directory", path);

    put(f, "x", "");
    assert_int_equal(iw_proof_read_table(&t, path, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
    iw_proof_free_table(&t);
    free(path);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_of_a_suite, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_is_more_than_its_ending, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_that_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_digest_is_that_of_the_contents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(patterns_that_fit_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(patterns_that_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reasons_of_the_catalogue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_that_cannot_be_reached, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
