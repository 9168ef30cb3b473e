/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/rules.h"

static void rule_by_id(void **state)
{
    const struct iw_rule *rule = iw_rule_find("MPA-3-05");

    (void)state;
    assert_non_null(rule);
    assert_string_equal(rule->id, "MPA-3-05");
    assert_int_equal(rule->rfc, 5044);
    assert_string_equal(rule->section, "3");
    assert_int_equal(rule->level, IW_LEVEL_MUST_NOT);
    assert_int_equal(rule->subject, IW_SUBJECT_SENDER);
    assert_int_equal(rule->side, IW_RULE_SIDE_EITHER);
    assert_int_equal(rule->testable, IW_TESTABLE_WIRE_PASSIVE);
    assert_false(rule->implied);
    assert_string_equal(rule->text, "DDP never hands MPA a ULPDU above 64768 octets");
    assert_string_equal(rule->how,
                        "Transfer messages much larger than 64 KiB on a path with huge MTU");
    assert_string_equal(rule->expected, "No captured ULPDU_Length above 64768");

    assert_null(iw_rule_find("MPA-3-0"));
    assert_null(iw_rule_find("mpa-3-05"));
    assert_null(iw_rule_find(""));
}

static void implied_rule(void **state)
{
    const struct iw_rule *rule = iw_rule_find("MPA-4.1-04");

    (void)state;
    assert_non_null(rule);
    assert_true(rule->implied);
    assert_string_equal(rule->text, "Pad is covered by the CRC");
}

static void rule_by_index(void **state)
{
    (void)state;
    assert_int_equal(IW_RULE_COUNT, 776);
    assert_string_equal(iw_rule_at(0)->id, "MPA-1.2-01");
    assert_null(iw_rule_at(IW_RULE_COUNT));
    for (size_t i = 0; i < IW_RULE_COUNT; i++) {
        assert_int_equal(iw_rule_index(iw_rule_at(i)), i);
        assert_ptr_equal(iw_rule_find(iw_rule_at(i)->id), iw_rule_at(i));
    }
}

static void rules_by_section(void **state)
{
    size_t count = 0;
    const struct iw_rule *rules = iw_rules_of_section(5044, "4.2", &count);

    (void)state;
    assert_int_equal(count, 5);
    assert_string_equal(rules[0].id, "MPA-4.2-01");
    assert_string_equal(rules[4].id, "MPA-4.2-05");

    /* The same section number in another RFC. */
    rules = iw_rules_of_section(5041, "4.1", &count);
    assert_string_equal(rules[0].id, "DDP-4.1-01");

    assert_null(iw_rules_of_section(5044, "4.22", &count));
    assert_int_equal(count, 0);
    assert_null(iw_rules_of_section(793, "4.2", &count));
}

static void level_names(void **state)
{
    (void)state;
    assert_string_equal(iw_level_name(IW_LEVEL_MAY), "MAY");
    assert_string_equal(iw_level_name(IW_LEVEL_SHOULD), "SHOULD");
    assert_string_equal(iw_level_name(IW_LEVEL_SHOULD_NOT), "SHOULD NOT");
    assert_string_equal(iw_level_name(IW_LEVEL_MUST), "MUST");
    assert_string_equal(iw_level_name(IW_LEVEL_MUST_NOT), "MUST NOT");
}

static void check_with_terminate(void **state)
{
    const struct iw_check_info *info = iw_check_info(IW_CHECK_MPA_CRC);

    (void)state;
    assert_string_equal(info->name, "mpa-crc");
    assert_int_equal(info->kinds, IW_KIND_ENDPOINT | IW_KIND_OBSERVER | IW_KIND_VIOLATE);
    assert_int_equal(info->reaction, IW_REACTION_TERMINATE);
    assert_int_equal(info->layer, 2);
    assert_int_equal(info->etype, 0);
    assert_int_equal(info->code, 2);
    assert_string_equal(iw_rule_at(info->rule)->id, "MPA-8-02");
    assert_ptr_equal(iw_check_rule(IW_CHECK_MPA_CRC), iw_rule_find("MPA-8-02"));
    assert_true(info->n_others > 0);
    assert_string_equal(iw_rule_at(info->others[0])->id, "MPA-4.4-17");

    info = iw_check_info(IW_CHECK_RDMAP_RSV);
    assert_int_equal(info->layer, 0);
    assert_int_equal(info->etype, 2);
    assert_int_equal(info->code, 0xff);
}

static void other_reactions(void **state)
{
    (void)state;
    assert_int_equal(iw_check_info(IW_CHECK_MPA_REQ_KEY)->reaction, IW_REACTION_CLOSE);
    assert_int_equal(iw_check_info(IW_CHECK_MPA_FIN_INSIDE)->reaction, IW_REACTION_LOCAL);
    assert_int_equal(iw_check_info(IW_CHECK_MPA_MARKER_PLACE)->reaction, IW_REACTION_NONE);
    assert_string_equal(iw_check_info(IW_CHECK_NONE)->name, "none");
    assert_string_equal(iw_check_info(IW_CHECK_COUNT)->name, "none");
    assert_null(iw_check_rule(IW_CHECK_NONE));
    assert_null(iw_check_rule(IW_CHECK_COUNT));
    assert_null(iw_check_sender_rule(IW_CHECK_NONE));
    assert_null(iw_check_sender_rule(IW_CHECK_COUNT));
}

/* What the sender breaks, in the words of the RFCs; beside it what a receiver enforces. */
static void rules_of_senders(void **state)
{
    static const struct {
        enum iw_check check;
        const char *sender, *receiver;
    } rows[] = {
        {IW_CHECK_MPA_REQ_KEY, "MPA-7.1.1-01", "MPA-7.1.1-02"},
        {IW_CHECK_MPA_REP_KEY, "MPA-7.1.1-03", "MPA-7.1.1-04"},
        {IW_CHECK_MPA_PD_LENGTH, "MPA-7.1.1-24", "MPA-7.1.1-22"},
        {IW_CHECK_MPA_REP_S, "EMPA-10-05", "EMPA-10-05"},
        {IW_CHECK_MPA_REP_S_UNASKED, "EMPA-10-06", "EMPA-10-06"},
        {IW_CHECK_MPA_REP_A, "EMPA-9.2-04", "EMPA-9.2-04"},
        {IW_CHECK_MPA_REP_A_UNASKED, "EMPA-9.2-14", "EMPA-9.2-14"},
        {IW_CHECK_MPA_RTR_OFFER, "EMPA-9.2-02", "EMPA-9.2-02"},
        {IW_CHECK_MPA_RTR_CHOICE, "EMPA-9.2-07", "EMPA-9.2-07"},
        /* Its number is one thing (SHOULD), the Reads that are open another (MUST). */
        {IW_CHECK_MPA_ORD_REPLY, "EMPA-9.1-02", "EMPA-9.1-04"},
        {IW_CHECK_MPA_CRC, "MPA-4.4-11", "MPA-8-02"},
        {IW_CHECK_MPA_MARKER_POINTER, "MPA-4.3-03", "MPA-8-03"},
        {IW_CHECK_MPA_PAD, "MPA-4.1-02", "MPA-4.1-02"},
        {IW_CHECK_DDP_VERSION_TAGGED, "DDP-4.1-11", "DDP-7.1-15"},
        {IW_CHECK_DDP_VERSION_UNTAGGED, "DDP-4.1-11", "DDP-7.1-16"},
        {IW_CHECK_DDP_MSN, "DDP-4.3-08", "DDP-7.1-09"},
        {IW_CHECK_DDP_QN, "RDMAP-4.1-07", "DDP-7.1-01"},
        {IW_CHECK_RDMAP_VERSION, "RDMAP-4.1-08", "RDMAP-7.2-03"},
        {IW_CHECK_RDMAP_OPCODE, "RDMAP-4.1-06", "RDMAP-7.2-02"},
        {IW_CHECK_RDMAP_IRD, "RDMAP-6.1-04", "RDMAP-6.1-05"},
        {IW_CHECK_RDMAP_TERMINATE_VALID, "RDMAP-4.8-01", "RDMAP-5.4-07"},
        /* What the side answers to what it received. */
        {IW_CHECK_RDMAP_RESPONSE_SIZE, "RDMAP-5.2.1-12", "RDMAP-5.2.1-12"},
        {IW_CHECK_RDMAP_TERMINATE_STOP, "DDP-7.1-19", "DDP-7.1-19"},
        /* No sender can fail these. */
        {IW_CHECK_MPA_STARTUP_TIMEOUT, "MPA-7.1.2-27", "MPA-7.1.2-27"},
        {IW_CHECK_MPA_MULPDU, "MPA-3-06", "MPA-3-06"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(iw_check_sender_rule(rows[i].check)->id, rows[i].sender);
        assert_string_equal(iw_check_rule(rows[i].check)->id, rows[i].receiver);
    }
}

/* Of a rule for receivers the observer accuses a side only of what it answers. */
static void observer_accuses_senders(void **state)
{
    static const enum iw_check answers[] = {
        IW_CHECK_RDMAP_RESPONSE_STAG,      IW_CHECK_RDMAP_RESPONSE_TO,
        IW_CHECK_RDMAP_RESPONSE_SIZE,      IW_CHECK_RDMAP_RESPONSE_PAST,
        IW_CHECK_RDMAP_ATOMIC_RESPONSE_ID, IW_CHECK_RDMAP_ATOMIC_RESPONSE_LENGTH,
        IW_CHECK_RDMAP_TERMINATE_STOP,
    };
    unsigned seen = 0, musts = 0;

    (void)state;
    for (size_t c = 1; c < IW_CHECK_COUNT; c++) {
        const struct iw_rule *rule = iw_check_sender_rule((enum iw_check)c);
        bool answered = false;

        if (!(iw_check_info((enum iw_check)c)->kinds & IW_KIND_OBSERVER))
            continue;
        for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
            answered = answered || answers[i] == (enum iw_check)c;
        assert_true(answered == (rule->subject == IW_SUBJECT_RECEIVER));
        assert_int_not_equal(rule->testable, IW_TESTABLE_NO);
        assert_int_not_equal(rule->testable, IW_TESTABLE_API);
        seen++;
        musts += rule->level >= IW_LEVEL_MUST && !rule->implied;
    }
    assert_int_equal(seen, 88);
    assert_int_equal(musts, 76);
}

static void check_by_name(void **state)
{
    (void)state;
    assert_int_equal(iw_check_find("ddp-msn"), IW_CHECK_DDP_MSN);
    assert_int_equal(iw_check_find("none"), IW_CHECK_NONE);
    assert_int_equal(iw_check_find("ddp"), IW_CHECK_NONE);
    for (size_t i = 1; i < IW_CHECK_COUNT; i++)
        assert_int_equal(iw_check_find(iw_check_info((enum iw_check)i)->name), i);
}

/* Many to many: from each check to its rules and back, and as many links one way as the other. */
static void checks_and_rules_agree(void **state)
{
    size_t forward = 0, back = 0;

    (void)state;
    for (size_t i = 1; i < IW_CHECK_COUNT; i++) {
        enum iw_check check = (enum iw_check)i;
        const struct iw_check_info *info = iw_check_info(check);

        assert_true(iw_check_serves(check, iw_check_rule(check)));
        assert_true(iw_check_serves(check, iw_check_sender_rule(check)));
        for (size_t n = 0; n < info->n_others; n++)
            assert_true(iw_check_serves(check, iw_rule_at(info->others[n])));
        forward += 1 + info->n_others;
    }
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        back += iw_rule_at(i)->n_checks;
    assert_int_equal(forward, back);

    const struct iw_rule *version = iw_rule_find("DDP-4.1-12");
    assert_true(iw_check_serves(IW_CHECK_DDP_VERSION_TAGGED, version));
    assert_true(iw_check_serves(IW_CHECK_DDP_VERSION_UNTAGGED, version));
    assert_false(iw_check_serves(IW_CHECK_DDP_MSN, version));
    assert_false(iw_check_serves(IW_CHECK_DDP_MSN, NULL));
    assert_int_equal(iw_rule_find("MPA-1.2-01")->n_checks, 0);
    assert_null(iw_rule_find("MPA-1.2-01")->checks);
}

static void switches_by_check(void **state)
{
    struct iw_switches switches = {0};
    const char *error = NULL;

    (void)state;
    assert_false(iw_switch_ignored(NULL, IW_CHECK_MPA_CRC));
    assert_false(iw_switch_ignored(&switches, IW_CHECK_MPA_CRC));
    assert_int_equal(iw_switch_botched(NULL, IW_CHECK_MPA_CRC), IW_BOTCH_NONE);

    assert_int_equal(iw_switches_set(&switches, IW_SWITCH_IGNORE, "mpa-crc", &error), 1);
    assert_true(iw_switch_ignored(&switches, IW_CHECK_MPA_CRC));
    assert_false(iw_switch_violated(&switches, IW_CHECK_MPA_CRC));
    assert_false(iw_switch_overstrict(&switches, IW_CHECK_MPA_CRC));
    assert_false(iw_switch_ignored(&switches, IW_CHECK_DDP_MSN));
    assert_int_equal(iw_switch_botched(&switches, IW_CHECK_MPA_CRC), IW_BOTCH_NONE);

    assert_int_equal(iw_switches_set(&switches, IW_SWITCH_VIOLATE, "mpa-crc", &error), 1);
    assert_int_equal(iw_switches_set(&switches, IW_SWITCH_OVERSTRICT, "mpa-pad", &error), 1);
    assert_true(iw_switch_ignored(&switches, IW_CHECK_MPA_CRC));
    assert_true(iw_switch_violated(&switches, IW_CHECK_MPA_CRC));
    assert_true(iw_switch_overstrict(&switches, IW_CHECK_MPA_PAD));
}

/* A rule means those of its checks that allow the kind: these three rows share one rule. */
static void switches_by_rule(void **state)
{
    struct iw_switches switches = {0};
    const char *error = NULL;

    (void)state;
    assert_int_equal(iw_switches_set(&switches, IW_SWITCH_IGNORE, "DDP-4.1-12", &error), 2);
    assert_true(iw_switch_ignored(&switches, IW_CHECK_DDP_VERSION_TAGGED));
    assert_true(iw_switch_ignored(&switches, IW_CHECK_DDP_VERSION_UNTAGGED));
    assert_int_equal(iw_switches_set(&switches, IW_SWITCH_BOTCH, "DDP-4.1-12=place", &error), 2);
    assert_int_equal(iw_switch_botched(&switches, IW_CHECK_DDP_VERSION_TAGGED), IW_BOTCH_PLACE);
}

static void switches_botch(void **state)
{
    static const struct {
        const char *spec;
        enum iw_botch botch;
    } specs[] = {
        {"ddp-msn=layer", IW_BOTCH_LAYER}, {"ddp-msn=type", IW_BOTCH_TYPE},
        {"ddp-msn=code", IW_BOTCH_CODE},   {"ddp-msn=place", IW_BOTCH_PLACE},
        {"ddp-msn=close", IW_BOTCH_CLOSE}, {"ddp-msn=silent", IW_BOTCH_SILENT},
        {"ddp-msn=again", IW_BOTCH_AGAIN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct iw_switches switches = {0};
        const char *error = NULL;

        assert_int_equal(iw_switches_set(&switches, IW_SWITCH_BOTCH, specs[i].spec, &error), 1);
        assert_int_equal(iw_switch_botched(&switches, IW_CHECK_DDP_MSN), specs[i].botch);
        assert_false(iw_switch_ignored(&switches, IW_CHECK_DDP_MSN));
        assert_string_equal(iw_botch_name(specs[i].botch), strchr(specs[i].spec, '=') + 1);
    }
    assert_string_equal(iw_botch_name(IW_BOTCH_NONE), "none");
    assert_string_equal(iw_botch_name(IW_BOTCH_COUNT), "none");
    assert_int_equal(iw_botch_find("none"), IW_BOTCH_NONE);
}

static void switches_refused(void **state)
{
    static const struct {
        enum iw_switch kind;
        const char *spec, *error;
    } specs[] = {
        {IW_SWITCH_IGNORE, "mpa-crcs", "unknown check or rule"},
        {IW_SWITCH_IGNORE, "", "unknown check or rule"},
        {IW_SWITCH_IGNORE, "none", "unknown check or rule"},
        {IW_SWITCH_IGNORE, "MPA-99-01", "unknown check or rule"},
        {IW_SWITCH_IGNORE,
         "mpa-crc-mpa-crc-mpa-crc-mpa-crc-mpa-crc-mpa-crc-mpa-crc-mpa-crc-mpa-crc",
         "unknown check or rule"},
        {IW_SWITCH_IGNORE, "MPA-1.2-01", "no check serves this rule"},
        {IW_SWITCH_IGNORE, "mpa-marker-place",
         "the endpoint does not enforce this, so it cannot be ignored"},
        {IW_SWITCH_OVERSTRICT, "mpa-crc", "this is not a legal thing that could be refused"},
        {IW_SWITCH_VIOLATE, "ddp-no-buffer", "this side has no way to break this"},
        {IW_SWITCH_IGNORE, "mpa-crc=silent", "only --botch takes NAME=REACTION"},
        {IW_SWITCH_BOTCH, "ddp-msn", "expected NAME=layer|type|code|place|close|silent|again"},
        {IW_SWITCH_BOTCH, "ddp-msn=", "expected NAME=layer|type|code|place|close|silent|again"},
        {IW_SWITCH_BOTCH, "ddp-msn=none", "expected NAME=layer|type|code|place|close|silent|again"},
        {IW_SWITCH_BOTCH, "mpa-pad=code", "this has no reaction that could go wrong in that way"},
        {IW_SWITCH_BOTCH, "mpa-req-key=code",
         "this has no reaction that could go wrong in that way"},
        {IW_SWITCH_BOTCH, "mpa-fin-inside=silent",
         "this has no reaction that could go wrong in that way"},
        {IW_SWITCH_BOTCH, "ddp-header-short=place", "nothing can be placed before this check"},
        {IW_SWITCH_BOTCH, "ddp-no-buffer=place", "nothing can be placed before this check"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct iw_switches switches = {0};
        const struct iw_switches untouched = {0};
        const char *error = NULL;

        assert_int_equal(iw_switches_set(&switches, specs[i].kind, specs[i].spec, &error), -1);
        assert_string_equal(error, specs[i].error);
        assert_memory_equal(&switches, &untouched, sizeof(switches));
    }
}

static void where_switches_apply(void **state)
{
    (void)state;
    assert_true(iw_switch_applies(IW_SWITCH_IGNORE, IW_CHECK_MPA_REQ_KEY, IW_BOTCH_NONE));
    assert_true(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_MPA_REQ_KEY, IW_BOTCH_SILENT));
    assert_false(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_MPA_REQ_KEY, IW_BOTCH_AGAIN));
    assert_false(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_MPA_REQ_KEY, IW_BOTCH_NONE));
    assert_true(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_DDP_MSN, IW_BOTCH_AGAIN));
    assert_true(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_DDP_MSN, IW_BOTCH_PLACE));
    assert_false(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_DDP_QN, IW_BOTCH_PLACE));
    assert_false(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_MPA_RTR_MATCH, IW_BOTCH_PLACE));
    assert_true(iw_switch_applies(IW_SWITCH_BOTCH, IW_CHECK_MPA_RTR_MATCH, IW_BOTCH_CODE));
    assert_false(iw_switch_applies(IW_SWITCH_IGNORE, IW_CHECK_DDP_MSN, IW_BOTCH_AGAIN));
    assert_false(iw_switch_applies(IW_SWITCH_IGNORE, IW_CHECK_NONE, IW_BOTCH_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_by_id),
        cmocka_unit_test(implied_rule),
        cmocka_unit_test(rule_by_index),
        cmocka_unit_test(rules_by_section),
        cmocka_unit_test(level_names),
        cmocka_unit_test(check_with_terminate),
        cmocka_unit_test(other_reactions),
        cmocka_unit_test(rules_of_senders),
        cmocka_unit_test(observer_accuses_senders),
        cmocka_unit_test(check_by_name),
        cmocka_unit_test(checks_and_rules_agree),
        cmocka_unit_test(switches_by_check),
        cmocka_unit_test(switches_by_rule),
        cmocka_unit_test(switches_botch),
        cmocka_unit_test(switches_refused),
        cmocka_unit_test(where_switches_apply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
