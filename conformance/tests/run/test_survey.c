/* SPDX-License-Identifier: BSD-3-Clause */
/* The survey of a target, with a play function of the test's own in place of the script host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "host/text.h"
#include "run/survey.h"

static struct folder folder;
static struct iw_run_options options;
static struct iw_survey survey;
static char error[512];

/* A target in each role, as the real survey tells of it: what one case says is lost on the other.
 */
static int play(const struct iw_case *c, struct iw_target *target, const struct iw_run_options *o,
                struct iw_result *out)
{
    bool connects = c->role == IW_MPA_INITIATOR;
    (void)target;
    *out = (struct iw_result){.verdict = IW_VERDICT_FAIL};
    out->notes = iw_text_copy(connects ? "works: echo\nworks: nothing\nechoes: read"
                                       : "silent: empty-read\nsome remark\nworks: read");
    /* Seen by the observer in one role, said by the case itself in the other. */
    const struct iw_deviation turned = {.verdict = IW_VERDICT_NOTE,
                                        .rule = iw_rule_find("MPA-7.1.1-20"),
                                        .how = iw_text_copy("mpa-pd-order"),
                                        .wire = !connects,
                                        .text = iw_text_copy("turned"),
                                        .connection = -1};
    iw_result_add_deviation(out, &turned);
    if (o->pcap_dir != NULL || o->exchange)
        out->notes = iw_text_copy("the survey leaves something behind");
    return 0;
}

static void none(void *context, const char *line)
{
    (void)context;
    fail_msg("%s", line);
}

static int set_up(void **state)
{
    (void)state;
    options = (struct iw_run_options){
        .library = IW_SOURCE_DIR "/conformance/lib", .exchange = true, .pcap_dir = "/nowhere"};
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    iw_survey_free(&survey);
    folder_remove(&folder);
    return 0;
}

static void take(const char *spec, const struct iw_case *const *selected, size_t count)
{
    struct iw_target_spec *target =
        iw_target_parse(spec, IW_BINARY_DIR "/bin/iwarp-agent", folder.path, error, sizeof(error));
    if (target == NULL)
        fail_msg("%s", error);
    struct iw_pool pool = {.target = target,
                           .options = &options,
                           .workers = 8,
                           .log_dir = folder.path,
                           .play = play,
                           .trouble = none};
    if (iw_survey_take(&survey, &pool, selected, count, error, sizeof(error)))
        fail_msg("%s", error);
    assert_int_equal(pool.interrupted, 0);
    iw_device_free(&pool.device);
    iw_target_free(target);
}

static enum iw_ability ability(enum iw_mpa_role role, enum iw_instrument instrument)
{
    return iw_instrument_ability(&survey.instruments, role, instrument);
}

static const struct iw_case responder = {.role = IW_MPA_RESPONDER},
                            initiator = {.role = IW_MPA_INITIATOR};

static void both_roles_are_surveyed(void **state)
{
    const struct iw_case *selected[] = {&initiator, &responder, &initiator};

    (void)state;
    take("embedded", selected, 3);
    assert_int_equal(ability(IW_MPA_RESPONDER, IW_INSTRUMENT_EMPTY_READ), IW_ABILITY_SILENT);
    assert_int_equal(ability(IW_MPA_RESPONDER, IW_INSTRUMENT_READ), IW_ABILITY_WORKS);
    assert_int_equal(ability(IW_MPA_RESPONDER, IW_INSTRUMENT_ECHO), IW_ABILITY_UNKNOWN);
    assert_int_equal(ability(IW_MPA_INITIATOR, IW_INSTRUMENT_ECHO), IW_ABILITY_WORKS);
    assert_int_equal(ability(IW_MPA_INITIATOR, IW_INSTRUMENT_READ), IW_ABILITY_UNKNOWN);
    assert_string_equal(survey.notes[IW_MPA_RESPONDER],
                        "silent: empty-read\nsome remark\nworks: read");
    assert_int_equal(survey.quirks[IW_MPA_RESPONDER], iw_quirk_bit(IW_QUIRK_PD_ORDER));
    assert_int_equal(survey.quirks[IW_MPA_INITIATOR], 0);
}

static void a_role_that_no_case_has_is_left_out(void **state)
{
    const struct iw_case *selected[] = {&initiator};

    (void)state;
    take("embedded", selected, 1);
    assert_null(survey.notes[IW_MPA_RESPONDER]);
    assert_non_null(survey.notes[IW_MPA_INITIATOR]);
}

/* A target that nothing makes connect. */
static void a_role_that_the_target_has_not_is_left_out(void **state)
{
    const struct iw_case *selected[] = {&initiator};

    (void)state;
    take("tcp:127.0.0.1:9", selected, 1);
    assert_null(survey.notes[IW_MPA_RESPONDER]);
    assert_null(survey.notes[IW_MPA_INITIATOR]);
}

static void the_vocabulary_is_needed(void **state)
{
    const struct iw_case *selected[] = {&responder};
    struct iw_target_spec target = {.class = IW_TARGET_BARE};
    struct iw_pool pool = {.target = &target, .options = &options, .play = play};

    (void)state;
    options.library = "/nowhere";
    assert_int_equal(iw_survey_take(&survey, &pool, selected, 1, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_roles_are_surveyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_role_that_no_case_has_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_role_that_the_target_has_not_is_left_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_vocabulary_is_needed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
