/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform list`, `show` and `requirements`: what is said of cases and rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conform_call.h"
#include "host/text.h"

#define ALPHA                                                                                      \
    "return case { id = 'alpha', purpose = 'about alpha', rules = { 'MPA-4.1-02', 'MPA-8-02' },\n" \
    "  role = 'responder', run = function(t) end }\n"
#define BETA                                                                                       \
    "\nreturn case { id = 'beta', purpose = 'about beta', rules = { 'MPA-4.1-04', 'DDP-7.1-10' "   \
    "},\n  level = 'should', role = 'initiator', needs = { memory = 'read write' },\n"             \
    "  tags = { 'slow', 'odd' }, deadline = 2.5, run = function(t) end }\n"

/* Two cases, and what is known of them. */
static int set_up(void **state)
{
    if (conform_setup(state))
        return -1;
    free(folder_file(&conform_folder, "cases/a.lua", ALPHA));
    free(folder_file(&conform_folder, "cases/b.lua", BETA));
    free(
        folder_file(&conform_folder, "proof/matrix.csv", "case,noticed\nalpha,F:ignore=mpa-crc\n"));
    free(folder_file(&conform_folder, "proof/claims.csv",
                     "rule,reason\nDDP-7.1-10,\"a \"\"good\"\" reason\"\n"));
    free(folder_file(&conform_folder, "proof/dispositions.csv",
                     "rule,reason\nMPA-1.2-02,nobody can\n"));
    return 0;
}

static void a_list_has_a_line_for_each_case(void **state)
{
    (void)state;
    conform_says("list --cases cases", 0,
                 "alpha                                        must   responder about alpha\n"
                 "beta                                         should initiator about beta\n",
                 "2 cases\n");
    conform_says("list --cases cases beta", 0,
                 "beta                                         should initiator about beta\n",
                 "1 case\n");
    conform_says("list --cases cases -s alpha beta", 0, NULL, "2 cases\n");
    conform_says("list --cases cases gamma", 64, "",
                 "iwarp-conform: --select gamma: no case fits\n");
}

static void a_broken_file_is_named_beside_the_list(void **state)
{
    (void)state;
    free(folder_file(&conform_folder, "cases/c.lua", "return 7\n"));
    free(folder_file(&conform_folder, "cases/d.lua", "return {\n"));
    struct said s;
    conform_call(&s, "list --cases cases");
    assert_int_equal(s.status, 70);
    assert_non_null(strstr(s.out, "alpha "));
    assert_non_null(strstr(s.err, "iwarp-conform: cases/c.lua"));
    assert_non_null(strstr(s.err, "iwarp-conform: cases/d.lua:"));
    assert_non_null(strstr(s.err, "\n2 cases\n"));
    /* One of them may have the case that is asked for. */
    conform_call(&s, "list --cases cases gamma");
    assert_int_equal(s.status, 64);
    assert_non_null(strstr(s.err, "iwarp-conform: cases/c.lua"));
    assert_non_null(strstr(s.err, "iwarp-conform: --select gamma: no case fits\n"));
    conform_call(&s, "show gamma --cases cases");
    assert_int_equal(s.status, 64);
    assert_non_null(strstr(s.err, "iwarp-conform: cases/d.lua:"));
    assert_non_null(strstr(s.err, "iwarp-conform: there is no case or rule 'gamma'"));
    conform_call(&s, "requirements --summary --cases cases");
    assert_int_equal(s.status, 70);
    conform_call(&s, "show alpha --cases cases");
    assert_int_equal(s.status, 0);
    assert_string_equal(s.err, "");
}

static void no_cases_are_an_error(void **state)
{
    (void)state;
    conform_says("list --cases proof", 64, "", "iwarp-conform: no case files in proof\n");
    conform_says("list --cases none", 64, "",
                 "iwarp-conform: no cases in none: No such file or directory\n");
}

static void a_case_is_shown_with_all_that_is_said_of_it(void **state)
{
    (void)state;
    conform_says("show alpha --cases cases", 0,
                 "alpha\n  about alpha\n\n"
                 "file      cases/a.lua:1\n"
                 "level     must\n"
                 "role      responder (of the target)\n"
                 "\nMPA-4.1-02  RFC 5044 section 4.1, MUST\n"
                 "  https://www.rfc-editor.org/rfc/rfc5044#section-4.1\n"
                 "  Pad octets are zero on transmit\n"
                 "  expected: All pad octets 0x00\n"
                 "\nMPA-8-02  RFC 5044 section 8, MUST\n"
                 "  https://www.rfc-editor.org/rfc/rfc5044#section-8\n"
                 "  CRC mismatch is detected (code 2)\n"
                 "  expected: Terminate 0x2/0x0/0x02 with HdrCt bits 0, or silent TCP-level drop\n"
                 "\n" ALPHA,
                 "");
    struct said s;
    conform_call(&s, "show beta --cases cases");
    assert_int_equal(s.status, 0);
    const char *begins = "beta\n  about beta\n\n"
                         "file      cases/b.lua:2\n"
                         "level     should\n"
                         "role      initiator (of the target)\n"
                         "needs     memory=read write\n"
                         "tags      slow odd\n"
                         "deadline  2.5 s\n"
                         "\nMPA-4.1-04  RFC 5044 section 4.1, MUST (implied)\n";
    assert_memory_equal(s.out, begins, strlen(begins));
}

static void no_case_is_shown(void **state)
{
    (void)state;
    conform_says("show betta --cases cases", 64, "",
                 "iwarp-conform: there is no case or rule 'betta' (did you mean 'beta'?)\n");
    conform_says("show nothing-like-it --cases cases", 64, "",
                 "iwarp-conform: there is no case or rule 'nothing-like-it'; see `iwarp-conform "
                 "list` and `requirements`\n");
    conform_says("show MPA-8-2 --cases cases", 64, "",
                 "iwarp-conform: there is no case or rule 'MPA-8-2' (did you mean 'MPA-8-02'?)\n");
}

static void says(const char *words, const char *const *parts)
{
    struct said s;

    conform_call(&s, words);
    assert_int_equal(s.status, 0);
    assert_string_equal(s.err, "");
    for (; *parts != NULL; parts++)
        if (strstr(s.out, *parts) == NULL)
            fail_msg("%s: %s", words, *parts);
}

static void every_rule_is_told_with_its_cases(void **state)
{
    static const char *const parts[] = {
        "\nMPA-1.2-02  RFC 5044 section 1.2, MUST, testable: wire-passive, dispositioned: nobody "
        "can\n    CRC use stays on unless the path is known to give integrity at least as good as "
        "CRC32c\nMPA-3-01  ",
        "\nMPA-4.1-02  RFC 5044 section 4.1, MUST, testable: wire-passive, unaccounted\n"
        "    Pad octets are zero on transmit\n    alpha (claimed)\nMPA-4.1-03  ",
        "\nMPA-4.1-04  RFC 5044 section 4.1, MUST (implied), testable: wire-active, unaccounted\n",
        "\nMPA-8-02  RFC 5044 section 8, MUST, testable: wire-active, proven\n"
        "    CRC mismatch is detected (code 2)\n    alpha (proven)\nMPA-8-03  ",
        "\nDDP-7.1-10  RFC 5041 section 7.1, MUST, testable: wire-active, claimed: a \"good\" "
        "reason\n    The STag of a non-empty tagged segment must be valid for the stream\n"
        "    beta (claimed)\nDDP-7.1-11  ",
        NULL};
    struct said s;

    (void)state;
    says("requirements --cases cases", parts);
    conform_call(&s, "requirements --cases cases");
    assert_memory_equal(s.out, "MPA-1.2-01  ", 12);
}

static void the_rules_make_a_table(void **state)
{
    static const char *const parts[] = {
        "rule,rfc,section,level,implied,testable,standing,reason,checks,proven_by,claimed_by,"
        "text\nMPA-1.2-01,5044,1.2,MUST,no,api,dispositioned,",
        "\nMPA-1.2-02,5044,1.2,MUST,no,wire-passive,dispositioned,\"nobody can\",mpa-crc-default,"
        ",,\"CRC use stays on unless the path is known to give integrity at least as good as "
        "CRC32c\"\n",
        "\nMPA-4.1-02,5044,4.1,MUST,no,wire-passive,unaccounted,\"\",mpa-pad,,alpha,"
        "\"Pad octets are zero on transmit\"\n",
        "\nMPA-4.1-04,5044,4.1,MUST,yes,wire-active,unaccounted,\"\",",
        "\nMPA-8-02,5044,8,MUST,no,wire-active,proven,\"\",mpa-crc,alpha,,"
        "\"CRC mismatch is detected (code 2)\"\n",
        "\nDDP-7.1-10,5041,7.1,MUST,no,wire-active,claimed,\"a \"\"good\"\" reason\",ddp-stag "
        "rdmap-response-stag,,"
        "beta,\"The STag of a non-empty tagged segment must be valid for the stream\"\n",
        NULL};

    (void)state;
    says("requirements --csv --cases cases", parts);
    /* Ids and checks are separated by blanks. */
    free(folder_file(&conform_folder, "cases/c.lua",
                     "return { case { id = 'gamma', purpose = 'p', rules = { 'MPA-8-02' },\n"
                     "  role = 'responder', run = function(t) end },\n"
                     "case { id = 'delta', purpose = 'p', rules = { 'MPA-8-02' },\n"
                     "  role = 'responder', run = function(t) end } }\n"));
    free(folder_file(&conform_folder, "proof/matrix.csv",
                     "case,noticed\nalpha,F:ignore=mpa-crc\ndelta,F:ignore=mpa-crc\n"));
    says("requirements --csv --cases cases",
         (const char *const[]){",mpa-crc,alpha delta,gamma,\"CRC mismatch", NULL});
}

#define CRC_RULE                                                                                   \
    "MPA-8-02  RFC 5044 section 8, MUST\n"                                                         \
    "  https://www.rfc-editor.org/rfc/rfc5044#section-8\n"                                         \
    "  CRC mismatch is detected (code 2)\n"                                                        \
    "  binds     who receives\n"                                                                   \
    "  expected  Terminate 0x2/0x0/0x02 with HdrCt bits 0, or silent TCP-level drop\n"             \
    "  tested    wire-active: CRC in use; TS sends a valid FPDU with one CRC bit flipped\n"        \
    "  standing  proven\n"                                                                         \
    "  checks    mpa-crc: the CRC of an FPDU does not match its octets\n"                          \
    "  1 case asks for it: run --select rule:MPA-8-02\n"                                           \
    "    alpha (proven)  about alpha\n"

static void all_about_a_rule(void **state)
{
    (void)state;
    conform_says("show MPA-8-02 --cases cases", 0, CRC_RULE, "");
    conform_says("show mpa-8-02 --cases cases", 0, CRC_RULE, "");
    conform_says("requirements MPA-8-02 --cases cases", 0, CRC_RULE, "");
    static const char *const parts[] = {"  standing  claimed: a \"good\" reason\n",
                                        "    beta (claimed)  about beta\n\nDDP-7.1-11  ", NULL};
    says("requirements MPA-8-02 ddp-7.1-1* --cases cases", parts);
    says("show MPA-1.2-01 --cases cases", (const char *const[]){"  no case asks for it\n", NULL});
    static const char *const appendix[] = {"#appendix-A\n", NULL};
    says("show DDP-A-01 --cases cases", appendix);
    struct said s;
    conform_call(&s, "requirements MPA-8-02 --csv --cases cases");
    assert_non_null(strstr(s.out, ",text\nMPA-8-02,5044,8,MUST,no,"));
    assert_non_null(strstr(s.out, "(code 2)\"\n"));
    assert_string_equal(strchr(strchr(s.out, '\n') + 1, '\n'), "\n");
}

static void numbers_are_summed_by_rfc_and_by_class(void **state)
{
    (void)state;
    conform_says("requirements --summary --cases cases", 0,
                 "           rules  on wire    named MUST on wire  of them named\n"
                 "RFC 5044     165      136        3           98              2\n"
                 "RFC 6581      70       58        0           38              0\n"
                 "RFC 5041     155       97        1           75              1\n"
                 "RFC 5040     191      131        0           94              0\n"
                 "RFC 7306      96       81        0           57              0\n"
                 "RFC 5042      34        7        0            4              0\n"
                 "RFC 5043      65        0        0            0              0\n"
                 "all          776      510        4          366              3\n"
                 "\n"
                 "wire-active: proven 1, claimed 1, dispositioned 0, of 352 (350 unaccounted)\n"
                 "wire-passive: proven 7, claimed 0, dispositioned 1, of 158 (150 unaccounted)\n"
                 "api: proven 0, claimed 0, dispositioned 70, of 70\n"
                 "no: proven 0, claimed 0, dispositioned 196, of 196\n",
                 "");
}

static void bad_tables_of_what_is_known_are_an_error(void **state)
{
    (void)state;
    free(folder_file(&conform_folder, "proof/claims.csv", "rule,reason\nonly one\n"));
    conform_says(
        "requirements --cases cases", 70, "",
        "iwarp-conform: cases/../proof/claims.csv:2: expected an id, a comma and a text\n");
    conform_says("list --cases cases alpha", 0, NULL, "1 case\n");
}

/* Without --cases they are those that come with the program. */
static void the_suite_has_its_own_cases(void **state)
{
    struct said s;

    (void)state;
    conform_call(&s, "list ddp-stag-zero");
    assert_int_equal(s.status, 0);
    assert_string_equal(s.err, "1 case\n");
    assert_memory_equal(s.out, "ddp-stag-zero ", 14);
    conform_call(&s, "show ddp-stag-zero");
    assert_int_equal(s.status, 0);
    assert_non_null(strstr(s.out, "file      " IW_SOURCE_DIR "/conformance/cases/ddp/"));
}

int main(int argc, char **argv)
{
    if (argc > 1) /* conform_call() begins this program again */
        return iw_conform(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_list_has_a_line_for_each_case, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(a_broken_file_is_named_beside_the_list, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(no_cases_are_an_error, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(a_case_is_shown_with_all_that_is_said_of_it, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(no_case_is_shown, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(every_rule_is_told_with_its_cases, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(the_rules_make_a_table, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(all_about_a_rule, set_up, conform_teardown),
        cmocka_unit_test_setup_teardown(numbers_are_summed_by_rfc_and_by_class, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(bad_tables_of_what_is_known_are_an_error, set_up,
                                        conform_teardown),
        cmocka_unit_test_setup_teardown(the_suite_has_its_own_cases, set_up, conform_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
