/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform self-check`: what it plays, and what it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conform_call.h"
#include "host/text.h"

#define SELF_CHECK "self-check --cases cases --switch ignore=mpa-crc "

/* One case that notices a peer without a check of CRCs, one that does not. */
static int set_up(void **state)
{
    if (conform_setup(state))
        return -1;
    conform_case("crc", "",
                 "local conn = t:connect {}; conn:send(send {}, { crc = 'bad' })\n"
                 "    conn:expect_terminate { '2/0/02', rule = 'MPA-8-02' }");
    conform_case("other", "", "t:connect {}:sanity()");
    return 0;
}

static void what_noticed_a_switch_is_told(void **state)
{
    struct said s;

    (void)state;
    conform_call(&s, SELF_CHECK "--results r --json j -s crc");
    assert_int_equal(s.status, 0);
    assert_non_null(
        strstr(s.out, "mpa-crc                    ignore         crc (PASS -> FAIL)\n"));
    assert_non_null(strstr(s.out, "\nresults: r\n"));
    assert_string_equal(s.err, "");
    assert_memory_equal(conform_file("r/run.json"), "{\n \"schema\": 1,\n", 16);
    char *report = iw_text_copy(conform_file("r/run.json"));
    assert_string_equal(conform_file("j"), report);
    assert_non_null(strstr(report, "\"full\": false"));
    free(report);
}

/* Broken files are named, too. */
static void what_nobody_noticed_is_a_failure(void **state)
{
    struct said s;

    (void)state;
    conform_call(&s, SELF_CHECK "--results r -s other");
    assert_int_equal(s.status, 0); /* of a part of the suite that is not asked */
    conform_case("crc", "", "t:connect {}:sanity()");
    conform_call(&s, SELF_CHECK "--results r");
    assert_int_equal(s.status, 1);
    assert_non_null(strstr(s.out, "self-check: 0 of 1 switches noticed"));
    free(folder_file(&conform_folder, "cases/bad.lua", "return {\n"));
    conform_call(&s, SELF_CHECK "--results r -s crc");
    assert_int_equal(s.status, 70);
    assert_non_null(strstr(s.err, "iwarp-conform: cases/bad.lua:"));
    assert_non_null(strstr(s.out, "\nresults: r\n"));
}

static void what_cannot_be_done_is_said(void **state)
{
    struct said s;

    (void)state;
    conform_says(SELF_CHECK "--results /proc/x", 73, "",
                 "iwarp-conform: cannot make the folder /proc/x: No such file or directory\n");
    conform_says(SELF_CHECK "--agent ./none", 70, "",
                 "iwarp-conform: cannot start the embedded target ./none: No such file or "
                 "directory\n");
    conform_says(SELF_CHECK "-s none", 64, "", "iwarp-conform: --select none: no case fits\n");
    free(folder_file(&conform_folder, "proof/idle.csv", "case,reason\nonly one\n"));
    conform_says(SELF_CHECK "--results r", 70, "",
                 "iwarp-conform: cases/../proof/idle.csv:2: expected an id, a comma and a text\n");
    free(folder_file(&conform_folder, "proof/idle.csv", ""));
    conform_call(&s, SELF_CHECK "--results r --json no/j -s crc");
    assert_int_equal(s.status, 73);
    assert_string_equal(s.out, "");
    assert_string_equal(s.err, "iwarp-conform: cannot write no/j: No such file or directory\n");
}

int main(int argc, char **argv)
{
    if (argc > 1) /* conform_call() begins this program again */
        return iw_conform(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_noticed_a_switch_is_told, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(what_nobody_noticed_is_a_failure, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_done_is_said, set_up, conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
