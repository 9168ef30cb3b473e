/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that make an endpoint deviate: what they set, refuse, and offer to a shell. */
#include "switch_options.h"

#include "../caught.h"
#include "host/offers.h"
#include "iwarp/nearest.h"
#include "list_rules.h"

enum { IGNORE, OVERSTRICT, VIOLATE, BOTCH, LIST };

static struct iw_switches switches;

static int set(int row, const char *value)
{
    static char error[200];
    memset(&switches, 0, sizeof(switches));
    memset(error, 0, sizeof(error));
    return iw_switch_options[row].set(&switches, value, error, sizeof(error));
}

static void refuse(int row, const char *value, const char *expected)
{
    char error[200] = "";
    const struct iw_switches none = {0};
    memset(&switches, 0, sizeof(switches));
    assert_int_equal(iw_switch_options[row].set(&switches, value, error, sizeof(error)),
                     IW_OPTION_WRONG);
    assert_string_equal(error, expected);
    assert_memory_equal(&switches, &none, sizeof(none));
}

/* What is offered for this beginning of a word, which has `before` before it. */
static const char *offered_behind(const char *before, int row, const char *typed)
{
    char word[100];
    snprintf(word, sizeof(word), "%s%s", before, typed);
    int length = (int)strlen(before);
    const struct iw_offers to = {word + length, word, length};
    catch_from(1);
    iw_switch_options[row].offer(&to);
    return caught();
}

static const char *offered(int row, const char *typed)
{
    return offered_behind("", row, typed);
}

/* ---- setting ---- */

static void test_each_sets_its_own(void **state)
{
    static const char *const names[] = {"ignore", "overstrict", "violate", "botch", "list-rules"};
    (void)state;
    for (int row = 0; row < IW_SWITCH_OPTIONS; row++)
        assert_string_equal(iw_switch_options[row].name, names[row]);
    assert_int_equal(set(IGNORE, "mpa-crc"), IW_OPTION_TAKEN);
    assert_true(iw_switch_ignored(&switches, IW_CHECK_MPA_CRC));
    assert_false(iw_switch_ignored(&switches, IW_CHECK_MPA_REV));
    assert_false(iw_switch_violated(&switches, IW_CHECK_MPA_CRC));
    assert_int_equal(set(OVERSTRICT, "mpa-pad"), IW_OPTION_TAKEN);
    assert_true(iw_switch_overstrict(&switches, IW_CHECK_MPA_PAD));
    assert_false(iw_switch_violated(&switches, IW_CHECK_MPA_PAD));
    assert_int_equal(set(VIOLATE, "mpa-pad"), IW_OPTION_TAKEN);
    assert_true(iw_switch_violated(&switches, IW_CHECK_MPA_PAD));
    assert_false(iw_switch_overstrict(&switches, IW_CHECK_MPA_PAD));
    assert_int_equal(set(BOTCH, "ddp-msn=close"), IW_OPTION_TAKEN);
    assert_int_equal(iw_switch_botched(&switches, IW_CHECK_DDP_MSN), IW_BOTCH_CLOSE);
    assert_false(iw_switch_ignored(&switches, IW_CHECK_DDP_MSN));
    /* All checks of a rule. */
    assert_int_equal(set(VIOLATE, "DDP-7.1-09"), IW_OPTION_TAKEN);
    assert_true(iw_switch_violated(&switches, IW_CHECK_DDP_MSN));
}

static void test_refusals(void **state)
{
    (void)state;
    refuse(IGNORE, "mpa-crd", "unknown check or rule (did you mean mpa-crc?)");
    refuse(IGNORE, "MPA-8-03x", "unknown check or rule (did you mean MPA-8-03?)");
    refuse(IGNORE, "", "unknown check or rule; see --list-rules");
    refuse(BOTCH, "mpa-crd=close", "unknown check or rule (did you mean mpa-crc?)");
    /* What is there, but does not take the switch, is no mistake in writing. */
    refuse(OVERSTRICT, "mpa-crc",
           "this is not a legal thing that could be refused; see --list-rules");
    refuse(BOTCH, "mpa-crc", "expected NAME=layer|type|code|place|close|silent|again");
    /* No check has so long a name. */
    for (size_t length = IW_NEAREST_WORD - 1; length <= IW_NEAREST_WORD; length++) {
        char name[IW_NEAREST_WORD + 1];
        memset(name, 'm', length);
        name[length] = '\0';
        refuse(IGNORE, name, "unknown check or rule; see --list-rules");
    }
}

/* ---- offers ---- */

static void test_checks_are_offered(void **state)
{
    (void)state;
    assert_string_equal(offered(IGNORE, "mpa-rev"),
                        "mpa-rev\tthe revision of a start-up frame is not one that this end "
                        "supports\n");
    assert_string_equal(offered(OVERSTRICT, "mpa-rev-"),
                        "mpa-rev-older\ta start-up frame is of an older revision than this "
                        "end's\n");
    assert_string_equal(offered(IGNORE, "mpa-rev-"), "");
    assert_string_equal(offered(VIOLATE, "mpa-rep-a-"),
                        "mpa-rep-a-unasked\tcontrol flag A is set in the Reply to a Request that "
                        "has it zero\n");
    assert_string_equal(offered(BOTCH, "mpa-rep-a-"), "");
    assert_string_equal(offered_behind("--ignore=", IGNORE, "mpa-fin"),
                        "--ignore=mpa-fin-inside\tthe stream ended inside an FPDU\n");
    assert_string_equal(offered(IGNORE, "nothing"), "");
}

/* Each check is offered for the switches that --list-rules gives it, and for no other. */
static void test_offers_are_those_of_the_list(void **state)
{
    static const char *const kinds[] = {"ignore", "overstrict", "violate", "botch"};
    static char checks[40000];
    (void)state;
    catch_from(1);
    iw_list_rules(stdout);
    snprintf(checks, sizeof(checks), "%s", strchr(caught(), '\n'));
    *strstr(checks, "\n\n# rules") = '\0';
    for (int row = IGNORE; row <= BOTCH; row++) {
        char expected[20000] = "", got[20000] = "", name[64], taken[64];
        for (const char *line = checks; line != NULL && *line != '\0';
             line = strchr(line + 1, '\n'))
            if (sscanf(line, "\n%63s %63s", name, taken) == 2 && strstr(taken, kinds[row]) != NULL)
                snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s\n",
                         name);
        for (const char *line = offered(row, ""); *line != '\0'; line = strchr(line, '\n') + 1)
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%.*s\n",
                     (int)strcspn(line, "\t\n"), line);
        assert_true(strlen(got) > 500);
        assert_string_equal(got, expected);
    }
}

/* Rules are many: who wants one begins with its capital letter. Those without checks are left
 * out. */
static void test_rules_are_offered(void **state)
{
    (void)state;
    assert_string_equal(offered(IGNORE, "MPA-3-05"),
                        "MPA-3-05\tDDP never hands MPA a ULPDU above 64768 octets\n");
    assert_string_equal(offered(BOTCH, "MPA-3-05"),
                        "MPA-3-05\tDDP never hands MPA a ULPDU above 64768 octets\n");
    assert_string_equal(offered(IGNORE, "SCTP-13-03"), "");
    assert_non_null(strstr(offered(VIOLATE, "DDP-7.1-0"), "\nDDP-7.1-09\t"));
    assert_null(strstr(offered(IGNORE, ""), "MPA-"));
}

static void test_reactions_are_offered(void **state)
{
    (void)state;
    assert_string_equal(offered(BOTCH, "ddp-msn="),
                        "ddp-msn=layer\nddp-msn=type\nddp-msn=code\nddp-msn=place\nddp-msn=close\n"
                        "ddp-msn=silent\nddp-msn=again\n");
    assert_string_equal(offered(BOTCH, "ddp-msn=c"), "ddp-msn=code\nddp-msn=close\n");
    assert_string_equal(offered_behind("--botch=", BOTCH, "ddp-msn=c"),
                        "--botch=ddp-msn=code\n--botch=ddp-msn=close\n");
    /* Some have no place, or are answered by nothing but silence. */
    assert_string_equal(offered(BOTCH, "ddp-qn=p"), "");
    assert_string_equal(offered(BOTCH, "mpa-req-key="), "mpa-req-key=silent\n");
    assert_string_equal(offered(BOTCH, "ddp-msm="), "");
    assert_string_equal(offered(BOTCH, "="), "");
}

static void test_the_list_ends_the_program(void **state)
{
    (void)state;
    catch_from(1);
    int end = set(LIST, NULL);
    assert_memory_equal(caught(), "# checks: name, ", 16);
    assert_int_equal(end, IW_OPTION_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_each_sets_its_own, catch_no_more),
        cmocka_unit_test_teardown(test_refusals, catch_no_more),
        cmocka_unit_test_teardown(test_checks_are_offered, catch_no_more),
        cmocka_unit_test_teardown(test_offers_are_those_of_the_list, catch_no_more),
        cmocka_unit_test_teardown(test_rules_are_offered, catch_no_more),
        cmocka_unit_test_teardown(test_reactions_are_offered, catch_no_more),
        cmocka_unit_test_teardown(test_the_list_ends_the_program, catch_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
