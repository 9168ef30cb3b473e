/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of the suite itself: the tables, who is proven for what, how a rule stands, and
 * what self-check writes down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "selfcheck/selfcheck.h"
#include "suite/proof.h"

static struct folder folder;

static int make(void **state)
{
    (void)state;
    return folder_make(&folder);
}

static int clear(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static int read_table(struct iw_proof_table *t, const char *text, char *error, size_t room)
{
    char *path = folder_file(&folder, "table.csv", text);
    int status = iw_proof_read_table(t, path, error, room);
    const char *base = strstr(error, "table.csv");

    if (base != NULL)
        memmove(error, base, strlen(base) + 1);
    free(path);
    return status;
}

/* ---- tables ---- */

static void test_table(void **state)
{
    struct iw_proof_table t;
    char error[256] = "";

    (void)state;
    assert_int_equal(
        read_table(&t,
                   "rule,reason\nA-1,plain words\r\n\nB-2,\"a comma, and \"\"quotes\"\"\"\n"
                   "C-3,\nD-4,\"\"",
                   error, sizeof(error)),
        0);
    assert_int_equal(t.count, 4);
    assert_string_equal(iw_proof_find(&t, "A-1"), "plain words");
    assert_string_equal(iw_proof_find(&t, "B-2"), "a comma, and \"quotes\"");
    assert_string_equal(iw_proof_find(&t, "C-3"), "");
    assert_string_equal(iw_proof_find(&t, "D-4"), "");
    assert_int_equal(t.lines[1].line, 4);
    assert_null(iw_proof_find(&t, "rule"));
    iw_proof_set(&t, "A-1", "others");
    iw_proof_set(&t, "E-5", "new");
    assert_string_equal(iw_proof_find(&t, "A-1"), "others");
    assert_string_equal(iw_proof_find(&t, "E-5"), "new");
    iw_proof_free_table(&t);
}

static void refused(const char *text, const char *expected)
{
    struct iw_proof_table t;
    char error[256] = "";

    assert_int_equal(read_table(&t, text, error, sizeof(error)), -1);
    assert_string_equal(error, expected);
    iw_proof_free_table(&t);
}

static void test_table_errors(void **state)
{
    (void)state;
    refused("h\nA-1\n", "table.csv:2: expected an id, a comma and a text");
    refused("h\n,text\n", "table.csv:2: expected an id, a comma and a text");
    refused("h\nA-1,\"open\n", "table.csv:2: the quotes do not match");
    refused("h\nA-1,\"a\" b\n", "table.csv:2: the quotes do not match");
    refused("h\nA-1,a\"b\n", "table.csv:2: the quotes do not match");
    refused("h\nA-1,x\nB-1,x\nA-1,y\n", "table.csv:4: this id stands in an earlier line");
}

static void test_no_tables(void **state)
{
    struct iw_proof p;
    char error[256];

    (void)state;
    assert_int_equal(iw_proof_read(&p, "/nowhere/at/all", error, sizeof(error)), 0);
    assert_int_equal(p.matrix.count + p.claims.count + p.dispositions.count + p.idle.count, 0);
    iw_proof_free(&p);
}

/* ---- pairs and standings ---- */

static const struct iw_rule *crc_rules[1], *pad_rules[1];
static struct iw_case cases[2] = {{.id = (char[]){"crc-bad"}, .n_rules = 1},
                                  {.id = (char[]){"pad"}, .n_rules = 1}};
static const struct iw_case *listed[2] = {&cases[0], &cases[1]};
static struct iw_suite suite = {.cases = listed, .n_cases = 2};

/* The CRC's rule is judged by mpa-crc; that of the pad's content only by mpa-pad. */
static void name_rules(void)
{
    crc_rules[0] = iw_rule_find("MPA-8-02");
    pad_rules[0] = iw_rule_find("MPA-4.1-02");
    assert_non_null(crc_rules[0]);
    assert_non_null(pad_rules[0]);
    cases[0].rules = crc_rules;
    cases[1].rules = pad_rules;
}

static bool pair(const char *line, const struct iw_rule *rule)
{
    struct iw_proof p = {0};
    bool proven;

    iw_proof_set(&p.matrix, "crc-bad", line);
    proven = iw_proof_pair(&p, &cases[0], rule);
    iw_proof_free(&p);
    return proven;
}

static void test_pairs(void **state)
{
    (void)state;
    name_rules();
    assert_true(pair("F:ignore=mpa-crc", crc_rules[0]));
    assert_true(pair("N:botch=mpa-crc=code", crc_rules[0]));
    assert_true(pair("O:ignore=mpa-pad F:violate=mpa-crc", crc_rules[0]));
    /* No answer is none, other checks are others, and names are whole. */
    assert_false(pair("I:ignore=mpa-crc", crc_rules[0]));
    assert_false(pair("F:ignore=mpa-pad", crc_rules[0]));
    assert_false(pair("F:ignore=mpa-cr", crc_rules[0]));
    assert_false(pair("F:ignore=mpa-crc-x", crc_rules[0]));
    assert_false(pair("", crc_rules[0]));
    assert_false(pair("mpa-crc", crc_rules[0]));
}

static void stands(const struct iw_proof *p, const char *rule, enum iw_standing expected,
                   const char *why)
{
    const char *reason;

    assert_int_equal(iw_proof_standing(p, &suite, iw_rule_find(rule), &reason), expected);
    if (why != NULL)
        assert_string_equal(reason, why);
    else
        assert_null(reason);
}

static void test_standings(void **state)
{
    struct iw_proof p = {0};

    (void)state;
    name_rules();
    stands(&p, "MPA-8-02", IW_UNACCOUNTED, NULL);
    iw_proof_set(&p.dispositions, "MPA-8-02", "none");
    stands(&p, "MPA-8-02", IW_DISPOSITIONED, "none");
    iw_proof_set(&p.claims, "MPA-8-02", "compares octets");
    stands(&p, "MPA-8-02", IW_CLAIMED, "compares octets");
    iw_proof_set(&p.matrix, "crc-bad", "F:ignore=mpa-crc");
    stands(&p, "MPA-8-02", IW_PROVEN, NULL);
    /* Claimed by words alone, without a case: not at all. */
    iw_proof_set(&p.claims, "MPA-8-01", "words");
    stands(&p, "MPA-8-01", IW_UNACCOUNTED, NULL);
    /* Every case sees what any bystander can; others only what their case names. */
    iw_proof_set(&p.matrix, "crc-bad", "");
    assert_int_equal(iw_rule_find("MPA-4.4-11")->testable, IW_TESTABLE_WIRE_PASSIVE);
    stands(&p, "MPA-4.4-11", IW_UNACCOUNTED, NULL);
    iw_proof_set(&p.matrix, "pad", "F:violate=mpa-crc");
    stands(&p, "MPA-4.4-11", IW_PROVEN, NULL);
    stands(&p, "MPA-8-02", IW_CLAIMED, "compares octets");
    iw_proof_free(&p);
}

/* ---- what self-check writes ---- */

static void test_record(void **state)
{
    struct iw_notice crc[] = {{&cases[0], IW_VERDICT_PASS, IW_VERDICT_FAIL, NULL},
                              {&cases[1], IW_VERDICT_PASS, IW_VERDICT_INCONCLUSIVE, NULL}};
    struct iw_notice pad[] = {{&cases[0], IW_VERDICT_PASS, IW_VERDICT_PASS, NULL}};
    struct iw_probe probes[] = {
        {.check = IW_CHECK_MPA_CRC, .option = "--ignore=mpa-crc", .notices = crc, .n_notices = 2},
        {.check = IW_CHECK_MPA_CRC, .option = "--violate=mpa-crc", .notices = pad, .n_notices = 1},
        {.check = IW_CHECK_MPA_REQ_KEY,
         .option = "--violate=mpa-req-key",
         .notices = crc,
         .n_notices = 2}};
    struct iw_suspect suspects[] = {{.c = &cases[0], .usable = true, .verdict = IW_VERDICT_PASS},
                                    {.c = &cases[1], .usable = true, .verdict = IW_VERDICT_PASS}};
    struct iw_self_check s = {
        .probes = probes, .n_probes = 3, .suspects = suspects, .n_suspects = 2};
    char *path = folder_file(&folder, "matrix.csv",
                             "case,noticed\nold,F:ignore=mpa-crc\npad,F:ignore=mpa-pad\n"),
         *text;

    (void)state;
    name_rules();
    /* The switches of the case's rules, or one of the others; cases that are gone go. */
    assert_int_equal(iw_self_check_record(&s, &suite, path), 0);
    text = folder_read(path);
    assert_string_equal(text, "case,noticed\ncrc-bad,F:ignore=mpa-crc O:violate=mpa-crc\n"
                              "pad,I:ignore=mpa-crc\n");
    free(text);
    /* Some cases only: the others' lines stay. */
    s.suspects = suspects + 1;
    s.n_suspects = 1;
    suspects[1].verdict = IW_VERDICT_SKIP;
    suspects[1].usable = false;
    assert_int_equal(iw_self_check_record(&s, &suite, path), 0);
    text = folder_read(path);
    assert_string_equal(text, "case,noticed\ncrc-bad,F:ignore=mpa-crc O:violate=mpa-crc\n"
                              "pad,I:ignore=mpa-crc\n");
    free(text);
    suspects[1].verdict = IW_VERDICT_FAIL;
    assert_int_equal(iw_self_check_record(&s, &suite, path), 0);
    text = folder_read(path);
    assert_string_equal(text, "case,noticed\ncrc-bad,F:ignore=mpa-crc O:violate=mpa-crc\npad,\n");
    free(text);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),     cmocka_unit_test(test_table_errors),
        cmocka_unit_test(test_no_tables), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_standings), cmocka_unit_test(test_record),
    };

    return cmocka_run_group_tests(tests, make, clear);
}
