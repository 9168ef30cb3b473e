/* SPDX-License-Identifier: BSD-3-Clause */
/* The self-check's switches, its counting and what it prints; check_self_check.py runs it whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/conform.h"
#include "folder.h"
#include "selfcheck/selfcheck.h"

/* ---- which switches ---- */

static size_t count(const struct iw_probe *list, size_t n, enum iw_check check, enum iw_switch kind)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += list[i].check == check && list[i].kind == kind;
    return found;
}

static void test_full_tries_everything_that_applies(void **state)
{
    size_t n, expected = 0;
    struct iw_probe *list = iw_probes_make(true, NULL, &n);

    (void)state;
    for (int c = IW_CHECK_NONE + 1; c < IW_CHECK_COUNT; c++)
        for (int k = IW_SWITCH_IGNORE; k <= IW_SWITCH_BOTCH; k++)
            for (int b = IW_BOTCH_NONE; b < IW_BOTCH_COUNT; b++)
                expected +=
                    iw_switch_applies((enum iw_switch)k, (enum iw_check)c, (enum iw_botch)b);
    assert_int_equal(n, expected);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(list[i].option, list[k].option);
    free(list);
}

static void test_quick_tries_one_wrong_reaction(void **state)
{
    size_t n;
    struct iw_probe *list = iw_probes_make(false, NULL, &n);

    (void)state;
    for (int i = IW_CHECK_NONE + 1; i < IW_CHECK_COUNT; i++) {
        enum iw_check check = (enum iw_check)i;
        bool any = false;

        for (int b = IW_BOTCH_NONE + 1; b < IW_BOTCH_COUNT; b++)
            any = any || iw_switch_applies(IW_SWITCH_BOTCH, check, (enum iw_botch)b);
        assert_int_equal(count(list, n, check, IW_SWITCH_BOTCH), any);
        assert_int_equal(count(list, n, check, IW_SWITCH_IGNORE),
                         iw_switch_applies(IW_SWITCH_IGNORE, check, IW_BOTCH_NONE));
        assert_int_equal(count(list, n, check, IW_SWITCH_VIOLATE),
                         iw_switch_applies(IW_SWITCH_VIOLATE, check, IW_BOTCH_NONE));
    }
    free(list);
}

/* Every option is one that the agent takes. */
static void test_options_are_switches(void **state)
{
    size_t n;
    struct iw_probe *list = iw_probes_make(true, NULL, &n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        struct iw_switches switches = {0};
        const char *why = "", *value = strchr(list[i].option, '=');
        size_t length = strlen(iw_switch_name(list[i].kind));

        assert_non_null(value);
        assert_int_equal(strncmp(list[i].option, "--", 2), 0);
        assert_int_equal(value - list[i].option - 2, length);
        assert_int_equal(strncmp(list[i].option + 2, iw_switch_name(list[i].kind), length), 0);
        assert_int_equal(iw_switches_set(&switches, list[i].kind, value + 1, &why), 1);
    }
    free(list);
}

static void test_some_switches(void **state)
{
    size_t n;
    struct iw_probe *list = iw_probes_make(true, "botch=mpa-crc=*", &n);

    (void)state;
    assert_true(n > 1);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i].check, IW_CHECK_MPA_CRC);
        assert_int_equal(list[i].kind, IW_SWITCH_BOTCH);
    }
    free(list);
    free(iw_probes_make(true, "ignore=no-such-check", &n));
    assert_int_equal(n, 0);
}

/* A case is near a check if it names any rule of the check, not only the primary one. */
static void test_near(void **state)
{
    const struct iw_check_info *info = iw_check_info(IW_CHECK_MPA_CRC);
    const struct iw_rule *rules[2] = {iw_rule_find("EXT-5.1-01"), NULL};
    struct iw_case c = {.rules = rules, .n_rules = 1};

    (void)state;
    assert_true(info->n_others > 0);
    rules[1] = iw_rule_at(info->rule);
    assert_false(iw_case_near_check(&c, IW_CHECK_MPA_CRC));
    c.n_rules = 2;
    assert_true(iw_case_near_check(&c, IW_CHECK_MPA_CRC));
    rules[1] = iw_rule_at(info->others[info->n_others - 1]);
    assert_true(iw_case_near_check(&c, IW_CHECK_MPA_CRC));
}

/* ---- what came out ---- */

static struct iw_case cases[3] = {
    {.id = (char[]){"crc-bad"}}, {.id = (char[]){"pad"}}, {.id = (char[]){"idle"}}};
static struct iw_notice notices[2] = {
    {&cases[0], IW_VERDICT_PASS, IW_VERDICT_FAIL, (char[]){"no Terminate"}},
    {&cases[1], IW_VERDICT_NOTE, IW_VERDICT_PASS, NULL}};
static struct iw_probe probes[3];
static struct iw_suspect suspects[3];
static struct iw_self_check s;
static char unclean[] = "not as it should be";

static void fill(void)
{
    enum iw_check crc = iw_check_find("mpa-crc"), pad = iw_check_find("mpa-pad");

    assert_int_not_equal(crc, IW_CHECK_NONE);
    assert_int_not_equal(pad, IW_CHECK_NONE);
    probes[0] = (struct iw_probe){
        .check = crc, .kind = IW_SWITCH_IGNORE, .tried = 2, .notices = notices, .n_notices = 2};
    probes[1] = (struct iw_probe){
        .check = crc, .kind = IW_SWITCH_BOTCH, .botch = IW_BOTCH_CODE, .tried = 3};
    probes[2] = (struct iw_probe){.check = pad, .kind = IW_SWITCH_VIOLATE, .tried = 3};
    suspects[0] = (struct iw_suspect){.c = &cases[0], .usable = true, .tried = 3, .noticed = 1};
    suspects[1] = (struct iw_suspect){
        .c = &cases[1], .verdict = IW_VERDICT_FAIL, .reason = unclean, .tried = 0};
    suspects[2] = (struct iw_suspect){.c = &cases[2], .usable = true, .tried = 3};
    s = (struct iw_self_check){.suite = "0123456789abcdef",
                               .probes = probes,
                               .n_probes = 3,
                               .suspects = suspects,
                               .n_suspects = 3,
                               .n_unclean = 1,
                               .seconds = 2.5};
}

static void test_counting(void **state)
{
    size_t checks, noticed, switches;

    (void)state;
    fill();
    iw_self_check_count(&s, &checks, &noticed, &switches);
    assert_int_equal(checks, 2);
    assert_int_equal(noticed, 1);
    assert_int_equal(switches, 1);
    assert_true(iw_check_noticed(&s, probes[1].check));
    assert_false(iw_check_noticed(&s, probes[2].check));
}

static void test_print(void **state)
{
    static const char expected[] =
        "check                      switch         noticed by\n"
        "mpa-crc                    ignore         crc-bad (PASS -> FAIL) and 1 more\n"
        "mpa-crc                    botch=code     -  (3 cases)\n"
        "mpa-pad                    violate        -  (3 cases)\n"
        "\n"
        "not clean without any switch:\n"
        "  FAIL pad: not as it should be\n"
        "\n"
        "checks that no case notices:\n"
        "  mpa-pad                    MPA-4.1-02  pad octets are not zero\n"
        "\n"
        "1 cases were run with switches and never changed their verdict (the quick form stops "
        "at "
        "the first notice; see --full):\n"
        "  idle\n"
        "\n"
        "self-check: 1 of 3 switches noticed (33.3 %), 1 of 2 checks noticed; 3 cases, 2.5 s\n";
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);

    (void)state;
    fill();
    iw_self_check_print(f, &s);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
}

static void test_json(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    json_t *all, *first, *summary;

    (void)state;
    fill();
    iw_self_check_json(f, &s);
    fclose(f);
    all = json_loads(text, 0, NULL);
    assert_non_null(all);
    assert_int_equal(json_integer_value(json_object_get(all, "schema")), 1);
    summary = json_object_get(all, "summary");
    assert_int_equal(json_integer_value(json_object_get(summary, "switches")), 3);
    assert_int_equal(json_integer_value(json_object_get(summary, "switches_noticed")), 1);
    assert_int_equal(json_integer_value(json_object_get(summary, "checks")), 2);
    assert_int_equal(json_integer_value(json_object_get(summary, "checks_noticed")), 1);
    assert_int_equal(json_integer_value(json_object_get(summary, "unclean")), 1);
    assert_int_equal(json_array_size(json_object_get(all, "switches")), 3);
    assert_int_equal(json_array_size(json_object_get(all, "cases")), 3);
    first = json_array_get(json_object_get(all, "switches"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "check")), "mpa-crc");
    assert_string_equal(json_string_value(json_object_get(first, "kind")), "ignore");
    assert_true(json_is_null(json_object_get(first, "reaction")));
    assert_true(json_is_true(json_object_get(first, "noticed")));
    first = json_array_get(json_object_get(first, "by"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "case")), "crc-bad");
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "FAIL");
    assert_string_equal(json_string_value(json_object_get(first, "reason")), "no Terminate");
    json_decref(all);
    free(text);
}

/* ---- the clean run ---- */

int __wrap_iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                              const struct iw_run_options *options, struct iw_result *out);

/* The case "late" passes only when it has ten times the default time, "never" not even then. */
int __wrap_iw_script_run_case(const struct iw_case *c, struct iw_target *target,
                              const struct iw_run_options *options, struct iw_result *out)
{
    bool answered = options->time_scale >= 10 && strcmp(c->id, "never") != 0;

    (void)target;
    *out = (struct iw_result){.id = strdup(c->id),
                              .verdict = answered ? IW_VERDICT_PASS : IW_VERDICT_INCONCLUSIVE,
                              .heard = true,
                              .reason = answered ? NULL : strdup("nothing")};
    return 0;
}

static int self_check(const struct folder *f, const char *select)
{
    char folder[80], results[80], program[] = "iwarp-conform";
    char agent[] = IW_BINARY_DIR "/bin/iwarp-agent";
    char *argv[] = {program,    "self-check",   "--cases", folder,     "--results",
                    results,    "--agent",      agent,     "--switch", "ignore=mpa-crc",
                    "--select", (char *)select, NULL};

    snprintf(folder, sizeof(folder), "%s/cases", f->path);
    snprintf(results, sizeof(results), "%s/results", f->path);
    return iw_conform(sizeof(argv) / sizeof(*argv) - 1, argv);
}

static void test_a_late_case_is_asked_again(void **state)
{
    static const char text[] =
        "return case { id = \"%s\", purpose = \"An answer comes\", rules = { \"MPA-4.1-02\" },"
        " role = \"responder\", run = function(t) end }";
    static const char *const ids[] = {"late", "never"};
    struct folder f;

    (void)state;
    assert_int_equal(folder_make(&f), 0);
    for (size_t i = 0; i < 2; i++) {
        char name[40], content[256];

        snprintf(name, sizeof(name), "cases/%s.lua", ids[i]);
        snprintf(content, sizeof(content), text, ids[i]);
        free(folder_file(&f, name, content));
    }
    assert_int_equal(self_check(&f, "late"), 0);
    assert_int_equal(self_check(&f, "never"), 1);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_tries_everything_that_applies),
        cmocka_unit_test(test_quick_tries_one_wrong_reaction),
        cmocka_unit_test(test_options_are_switches),
        cmocka_unit_test(test_some_switches),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_counting),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_a_late_case_is_asked_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
