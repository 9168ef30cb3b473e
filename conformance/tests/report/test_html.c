/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of a run with a frame of our own: the data that stands in it. A browser looks at the
 * real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "recording.h"
#include "report/report_html.h"
#include "run/run_record.h"
#include "suite/proof.h"
#include "suite/suite.h"

static struct iw_need needs[] = {{.name = (char[]){"agent"}, .value = (char[]){"yes"}},
                                 {.name = (char[]){"ird"}, .value = (char[]){"2"}}};
static char purpose[] = "p </script> \"q\"";
static char ids[][8] = {"one", "two", "three", "bad.lua"};
static char both[] = "[{\"fields\":\"A\"},{\"t\":1},{\"fields\":\"B\"}]";
static char single[] = "[{\"fields\":\"A\"}]";
static const struct iw_rule *no_rules[1];
static struct iw_case cases[3];
static struct iw_entry entries[4];
static struct iw_record record;

static void fill(const struct folder *s)
{
    for (size_t i = 0; i < 3; i++) {
        cases[i] = (struct iw_case){.purpose = purpose, .rules = no_rules};
        entries[i] = (struct iw_entry){.c = &cases[i], .done = true};
    }
    cases[0].id = ids[0];
    cases[1].id = ids[1];
    cases[2].id = ids[2];
    cases[0].file = cases[1].file = folder_file(s, "a.lua", "-- <!-- one\n");
    cases[2].file = iw_text_copy("/no/such.lua");
    cases[0].needs = needs;
    cases[0].n_needs = 2;
    for (size_t i = 0; i < 3; i++)
        entries[i].result = (struct iw_result){.id = cases[i].id, .verdict = IW_VERDICT_PASS};
    entries[1].result.exchange = both;
    entries[2].result.exchange = single;
    entries[3] = (struct iw_entry){
        .file = "bad.lua", .done = true, .result = {.id = ids[3], .verdict = IW_VERDICT_ERROR}};
    record = (struct iw_record){.version = "1",
                                .suite = "s",
                                .target = "t",
                                .target_class = "bare",
                                .again = "again <",
                                .html = "out/page.html",
                                .repeat = 1,
                                .entries = entries,
                                .count = 4};
}

static void finish(void)
{
    free((void *)(uintptr_t)cases[0].file);
    free((void *)(uintptr_t)cases[2].file);
}

/* The page, or NULL with `error`. */
static char *page(const struct folder *s, char error[512])
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    bool good;

    assert_non_null(f);
    *error = 0;
    good = iw_html_write(f, &record, s->path, error, 512);
    fclose(f);
    if (good)
        return text;
    free(text);
    return NULL;
}

static void has_text(const json_t *object, const char *expected)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void test_page(void **state)
{
    const struct folder *s = *state;
    char error[512], *text, *data, *end, *files;
    json_t *all, *rule, *list;

    free(folder_file(s, "report.html", "<frame>@DATA@<middle>@SCRIPT@<end>"));
    free(folder_file(s, "report.js", "script();"));
    fill(s);
    text = page(s, error);
    assert_non_null(text);
    assert_memory_equal(text, "<frame>{", 8);
    end = strstr(text, "<middle>");
    assert_string_equal(end, "<middle>script();<end>");
    *end = 0;
    data = text + 7;
    assert_null(strchr(data, '<'));
    assert_non_null(strstr(data, "p \\u003c/script> \\\"q\\\""));
    all = json_loads(data, 0, NULL);
    assert_non_null(all);
    assert_int_equal(json_object_size(all), 7);
    has_text(json_object_get(all, "cases"),
             "{\"one\":{\"purpose\":\"p </script> \\\"q\\\"\",\"needs\":[\"agent=yes\",\"ird=2\"]},"
             "\"two\":{\"purpose\":\"p </script> \\\"q\\\"\",\"needs\":[]},"
             "\"three\":{\"purpose\":\"p </script> \\\"q\\\"\",\"needs\":[]}}");
    files = iw_text_format("{\"%s\":\"-- <!-- one\\n\"}", cases[0].file);
    has_text(json_object_get(all, "files"), files);
    free(files);
    has_text(json_object_get(all, "again"), "\"again <\"");
    has_text(json_object_get(all, "page"), "\"out/page.html\"");
    has_text(json_object_get(all, "layouts"), "[\"A\",\"B\"]");
    list = json_object_get(json_object_get(all, "report"), "cases");
    has_text(json_object_get(json_array_get(list, 1), "exchange"),
             "[{\"layout\":0},{\"t\":1},{\"layout\":1}]");
    has_text(json_object_get(json_array_get(list, 2), "exchange"), "[{\"layout\":0}]");
    has_text(json_object_get(json_object_get(json_object_get(all, "report"), "target"), "name"),
             "\"t\"");
    assert_int_equal(json_object_size(json_object_get(all, "rules")), IW_RULE_COUNT);
    rule = json_object_get(json_object_get(all, "rules"), "MPA-8-01");
    has_text(json_object_get(rule, "rfc"), "5044");
    has_text(json_object_get(rule, "section"), "\"8\"");
    has_text(json_object_get(rule, "standing"), "null");
    has_text(json_object_get(rule, "reason"), "null");
    json_decref(all);
    free(text);
    record.again = NULL;
    record.html = NULL;
    text = page(s, error);
    assert_non_null(strstr(text, "\"again\":\"\",\"page\":null}<middle>"));
    free(text);
    finish();
}

static void refused(const struct folder *s, const char *expected)
{
    char error[512], *text = iw_text_fill(expected, (const char *[]){"FOLDER", s->path, NULL});

    assert_null(page(s, error));
    assert_string_equal(error, text);
    free(text);
}

static void test_frames_that_are_none(void **state)
{
    const struct folder *s = *state;
    static const char no_place[] = "{FOLDER}/report.html: has no place for the data or the script";

    fill(s);
    refused(s, "{FOLDER}/report.html: No such file or directory");
    free(folder_file(s, "report.html", "@SCRIPT@"));
    refused(s, "{FOLDER}/report.js: No such file or directory");
    free(folder_file(s, "report.js", ""));
    refused(s, no_place);
    free(folder_file(s, "report.html", "@SCRIPT@@DATA@"));
    refused(s, no_place);
    free(folder_file(s, "report.html", "@DATA@"));
    refused(s, no_place);
    finish();
}

/* How a rule stands is known if both are: the suite and what is proven of it. */
static void test_standings(void **state)
{
    const struct folder *s = *state;
    const struct iw_case *none[1] = {NULL};
    struct iw_suite suite = {.cases = none};
    struct iw_proof proof = {0};

    free(folder_file(s, "report.html", "@DATA@@SCRIPT@"));
    free(folder_file(s, "report.js", ""));
    iw_proof_set(&proof.dispositions, "MPA-8-02", "why not");
    for (int known = 0; known < 4; known++) {
        char error[512], *text;
        json_t *all, *rule;

        fill(s);
        record.whole = known & 1 ? &suite : NULL;
        record.proof = known & 2 ? &proof : NULL;
        text = page(s, error);
        assert_non_null(text);
        all = json_loads(text, 0, NULL);
        rule = json_object_get(json_object_get(all, "rules"), "MPA-8-02");
        has_text(json_object_get(rule, "standing"), known == 3 ? "\"dispositioned\"" : "null");
        has_text(json_object_get(rule, "reason"), known == 3 ? "\"why not\"" : "null");
        has_text(json_object_get(rule, "level"), "\"MUST\"");
        has_text(json_object_get(rule, "implied"), "false");
        has_text(json_object_get(rule, "testable"), "\"wire-active\"");
        assert_non_null(json_object_get(json_object_get(all, "rules"), iw_rule_at(0)->id));
        json_decref(all);
        free(text);
        finish();
    }
    iw_proof_free(&proof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_standings, recording_setup, recording_teardown),
        cmocka_unit_test_setup_teardown(test_page, recording_setup, recording_teardown),
        cmocka_unit_test_setup_teardown(test_frames_that_are_none, recording_setup,
                                        recording_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
