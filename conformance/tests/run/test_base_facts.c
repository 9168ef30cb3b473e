/* SPDX-License-Identifier: BSD-3-Clause */
/* The base facts about a target: what is made of the case's notes, and which targets are asked. */
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
#include "run/base_facts.h"
#include "target/target_can.h"

static struct folder folder;
static struct iw_run_options options;
static struct iw_base_facts found;
static struct iw_target_spec *spec;
static char error[512];

static const struct iw_case responder = {.role = IW_MPA_RESPONDER},
                            initiator = {.role = IW_MPA_INITIATOR};

static struct iw_target_spec *target(const char *text)
{
    iw_target_free(spec);
    spec =
        iw_target_parse(text, IW_BINARY_DIR "/bin/iwarp-agent", folder.path, error, sizeof(error));
    if (spec == NULL)
        fail_msg("%s", error);
    return spec;
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
    iw_base_facts_free(&found);
    iw_target_free(spec);
    spec = NULL;
    folder_remove(&folder);
    return 0;
}

/* ---- notes ---- */

static void facts_have_names_texts_and_advice(void **state)
{
    (void)state;
    iw_base_facts_read(&found, target("tcp:127.0.0.1:9,crc=off"),
                       "a remark\nfact: revision|say revision=2|a|b\nfact: crc|say it|c\n"
                       "fact: markers||d\nfact: broken\nfact: broken|too");
    assert_int_equal(found.facts.count, 3);
    assert_string_equal(found.facts.list[0].name, "revision");
    assert_string_equal(found.facts.list[0].text, "a|b");
    assert_string_equal(found.facts.list[0].advice, "say revision=2");
    assert_string_equal(found.facts.list[1].text, "c");
    assert_null(found.facts.list[1].advice); /* the user has said it */
    assert_null(found.facts.list[2].advice);
    assert_null(found.no_mpa);
}

static bool can(const char *question)
{
    return iw_target_can(spec, NULL, question);
}

static void what_is_found_is_added_to_the_target(void **state)
{
    (void)state;
    target("tcp:127.0.0.1:9");
    assert_true(can("revision.2") && can("enhanced"));
    iw_base_facts_read(&found, spec, "apply: revision=1");
    assert_true(can("revision.1") && !can("revision.2") && !can("enhanced") && !can("rtr.send"));
    target("tcp:127.0.0.1:9");
    iw_base_facts_read(&found, spec, "apply: cannot=enhanced\napply: other=x\napply: revision");
    assert_true(can("revision.2") && !can("enhanced") && can("rtr.send"));
    assert_false(spec->speaks);
}

static void what_the_user_has_said_stands(void **state)
{
    (void)state;
    target("tcp:127.0.0.1:9,revision=2");
    iw_base_facts_read(&found, spec, "apply: revision=1");
    assert_true(can("revision.2") && can("enhanced") && can("rtr.send"));
    target("tcp:127.0.0.1:9,can=enhanced");
    iw_base_facts_read(&found, spec, "apply: cannot=enhanced");
    assert_true(can("enhanced"));
}

static void the_station_speaks_as_the_target_listens(void **state)
{
    static const struct {
        const char *notes;
        struct iw_target_startup says;
    } all[] = {
        {"apply: station=1CM", {.revision = 1, .crc = true, .markers = true}},
        {"apply: station=2S", {.revision = 2, .enhanced = true}},
        {"apply: station=2C", {.revision = 2, .crc = true}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct iw_target_startup *got = &target("tcp:127.0.0.1:9")->startup;
        const struct iw_target_startup *want = &all[i].says;
        iw_base_facts_read(&found, spec, all[i].notes);
        assert_true(spec->speaks);
        assert_true(got->revision == want->revision && got->crc == want->crc &&
                    got->markers == want->markers && got->enhanced == want->enhanced);
    }
}

static void a_port_without_mpa_ends_the_run(void **state)
{
    (void)state;
    iw_base_facts_read(&found, target("tcp:127.0.0.1:9"), "none: x\nnone: it said nothing");
    assert_string_equal(found.no_mpa, "it said nothing");
    assert_string_equal(found.facts.list[1].text, "speaks no MPA: it said nothing");
    iw_base_facts_free(&found);
    spec->connect = iw_text_copy("true"); /* it may speak MPA where it connects */
    iw_base_facts_read(&found, spec, "none: it said nothing");
    assert_null(found.no_mpa);
    assert_int_equal(found.facts.count, 1);
}

static void when_the_target_has_gone_is_kept(void **state)
{
    (void)state;
    iw_base_facts_read(&found, target("tcp:127.0.0.1:9"), "gone: after a\ngone: after b");
    assert_string_equal(found.gone, "after a");
    assert_int_equal(found.facts.count, 0);
}

static void instruments_that_fail_are_facts(void **state)
{
    struct iw_instruments all = {0};
    (void)state;
    all.of[IW_MPA_RESPONDER][IW_INSTRUMENT_EMPTY_READ] = IW_ABILITY_SILENT;
    all.of[IW_MPA_RESPONDER][IW_INSTRUMENT_ECHO] = IW_ABILITY_WORKS;
    all.of[IW_MPA_INITIATOR][IW_INSTRUMENT_TERMINATE] = IW_ABILITY_ENDS;
    iw_base_facts_survey(&found, &all);
    assert_int_equal(found.facts.count, 2);
    assert_string_equal(found.facts.list[0].name, "terminate");
    assert_non_null(strstr(found.facts.list[0].text, " where it connects: it ends"));
    assert_string_equal(found.facts.list[1].name, "empty-read");
    assert_string_equal(found.facts.list[1].text, "does not answer RDMA Reads of no octets");
}

/* ---- playing the case ---- */

static int play(const struct iw_case *c, struct iw_target *t, const struct iw_run_options *o,
                struct iw_result *out)
{
    (void)t;
    *out = (struct iw_result){.verdict = IW_VERDICT_FAIL};
    out->notes = iw_text_format("fact: id||%s%s", c->id,
                                o->pcap_dir != NULL || o->exchange ? ", and traces" : "");
    return 0;
}

/* Returns how many facts there are. */
static size_t take(const char *text, const struct iw_case *const *selected, size_t count)
{
    struct iw_pool pool = {.target = target(text),
                           .options = &options,
                           .workers = 8,
                           .log_dir = folder.path,
                           .play = play};
    iw_base_facts_free(&found);
    if (iw_base_facts_take(&found, &pool, spec, selected, count, error, sizeof(error)))
        fail_msg("%s", error);
    assert_int_equal(pool.interrupted, 0);
    return found.facts.count;
}

static void only_listeners_that_take_more_than_one_connection_are_asked(void **state)
{
    const struct iw_case *both[] = {&initiator, &responder};
    /* Ready at once: the command says so. */
    char *file = iw_text_format("%s/started.lua", folder.path);
    FILE *f = fopen(file, "we");
    (void)state;
    assert_non_null(f);
    fputs("return { address = \"127.0.0.1\", start = [[echo here; exec sleep 100]], ready = "
          "\"here\" }\n",
          f);
    fclose(f);
    assert_int_equal(take(file, both, 2), 1);
    assert_string_equal(found.facts.list[0].text, "base-facts");
    assert_int_equal(take(file, both, 1), 0); /* no case needs a listener */
    assert_int_equal(take("tcp:127.0.0.1:9,cannot=reconnect", both, 2), 0);
    assert_int_equal(take("tcp:127.0.0.1:9,class=agent", both, 2), 0);
    assert_int_equal(take("embedded", both, 2), 0);
    free(file);
}

static void the_vocabulary_is_needed(void **state)
{
    const struct iw_case *selected[] = {&responder};
    struct iw_pool pool = {.target = target("tcp:127.0.0.1:9"), .options = &options, .play = play};
    (void)state;
    options.library = "/nowhere";
    assert_int_equal(iw_base_facts_take(&found, &pool, spec, selected, 1, error, sizeof(error)),
                     -1);
    assert_non_null(strstr(error, "/nowhere"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(facts_have_names_texts_and_advice),
        TEST(what_is_found_is_added_to_the_target),
        TEST(what_the_user_has_said_stands),
        TEST(the_station_speaks_as_the_target_listens),
        TEST(a_port_without_mpa_ends_the_run),
        TEST(when_the_target_has_gone_is_kept),
        TEST(instruments_that_fail_are_facts),
        TEST(only_listeners_that_take_more_than_one_connection_are_asked),
        TEST(the_vocabulary_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
