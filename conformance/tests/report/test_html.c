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
#include <zlib.h>

#include "host/text.h"
#include "recording.h"
#include "report/report_html.h"
#include "run/run_record.h"
#include "suite/proof.h"
#include "suite/suite.h"

enum { ROOM = 4 << 20 };

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
    entries[1].result.exchange = iw_got(json_loads(both, 0, NULL));
    entries[2].result.exchange = iw_got(json_loads(single, 0, NULL));
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

/* The record's own messages stay as they are. */
static void unchanged(const json_t *exchange, const char *text)
{
    json_t *before = iw_got(json_loads(text, 0, NULL));

    assert_true(json_equal(exchange, before));
    json_decref(before);
}

static void finish(void)
{
    unchanged(entries[1].result.exchange, both);
    unchanged(entries[2].result.exchange, single);
    json_decref(entries[1].result.exchange);
    json_decref(entries[2].result.exchange);
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

/* The data of a page that ends in `rest`, unpacked by other code than that which packed it. */
static json_t *data_of(const char *text, const char *begin, const char *rest)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strlen(text) - strlen(begin) - strlen(rest), n = 0;
    uint8_t *octets = malloc(length), *json = malloc(ROOM);
    uLongf size = ROOM;
    unsigned bits = 0, kept = 0;
    json_t *all;

    assert_memory_equal(text, begin, strlen(begin));
    assert_string_equal(text + strlen(text) - strlen(rest), rest);
    assert_true(length % 4 == 0);
    assert_true(octets != NULL && json != NULL);
    for (size_t i = 0; i < length && text[strlen(begin) + i] != '='; i++) {
        const char *digit = strchr(digits, text[strlen(begin) + i]);

        assert_true(digit != NULL && *digit != 0);
        bits = bits << 6 | (unsigned)(digit - digits);
        kept += 6;
        if (kept >= 8) {
            kept -= 8;
            octets[n++] = (uint8_t)(bits >> kept);
        }
    }
    assert_int_equal(uncompress(json, &size, octets, n), Z_OK);
    all = json_loadb((const char *)json, size, 0, NULL);
    assert_non_null(all);
    free(octets);
    free(json);
    return all;
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
    char error[512], *text, *files;
    json_t *all, *rule, *list;

    free(folder_file(s, "report.html", "<a@b><@FILE one@@FILE two@>@DATA@<end>"));
    free(folder_file(s, "one", "first @DATA@"));
    free(folder_file(s, "two", ""));
    fill(s);
    text = page(s, error);
    assert_non_null(text);
    all = data_of(text, "<a@b><first @DATA@>", "<end>");
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
    all = data_of(text, "<a@b><first @DATA@>", "<end>");
    has_text(json_object_get(all, "again"), "\"\"");
    has_text(json_object_get(all, "page"), "null");
    json_decref(all);
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
    static const char no_place[] =
        "{FOLDER}/report.html: the frame of the page has no place for the data";

    fill(s);
    refused(s, "{FOLDER}/report.html: No such file or directory");
    free(folder_file(s, "report.html", "@DATA@@FILE report.js@"));
    refused(s, "{FOLDER}/report.js: No such file or directory");
    free(folder_file(s, "report.html", ""));
    refused(s, no_place);
    free(folder_file(s, "report.html", "@FILE report.js DATA@"));
    refused(s, "{FOLDER}/report.js DATA: No such file or directory");
    free(folder_file(s, "report.html", "@FILE @ DATA@ @FILE"));
    refused(s, "{FOLDER}/: Is a directory");
    finish();
}

/* How a rule stands is known if both are: the suite and what is proven of it. */
static void test_standings(void **state)
{
    const struct folder *s = *state;
    const struct iw_case *none[1] = {NULL};
    struct iw_suite suite = {.cases = none};
    struct iw_proof proof = {0};

    free(folder_file(s, "report.html", "@DATA@"));
    iw_proof_set(&proof.dispositions, "MPA-8-02", "why not");
    for (int known = 0; known < 4; known++) {
        char error[512], *text;
        json_t *all, *rule;

        fill(s);
        record.whole = known & 1 ? &suite : NULL;
        record.proof = known & 2 ? &proof : NULL;
        text = page(s, error);
        assert_non_null(text);
        all = data_of(text, "", "");
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
