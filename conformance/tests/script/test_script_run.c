/* SPDX-License-Identifier: BSD-3-Clause */
/* How a case is read and played, with a vocabulary of the test's own: the steps, what each is
 * given, and the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "host/text.h"
#include "play.h"
#include "primitives.h"
#include "recording.h"

static struct iw_target nobody = {.name = "nobody", .host = "127.0.0.1"};
static struct iw_run_options options;

/* A case file returns the list of its cases; a case brings its own steps. */
static const char vocabulary[] =
    "local now\n"
    "local function step(name)\n"
    "  return function(...) if now[name] then return now[name](...) end end\n"
    "end\n"
    "return { env = _G, collect = function(list) return list end,\n"
    "  play = function(c) now = c if c.run then c.run() end end,\n"
    "  ending = { close = step 'close', alive = step 'alive', merge = step 'merge',\n"
    "    result = function(o)\n"
    "      if now.result then return now.result(o) end\n"
    "      return o or { verdict = 'PASS' }\n"
    "    end } }\n";

static int make(void **state)
{
    struct folder *f;

    if (recording_setup(state))
        return -1;
    f = *state;
    free(folder_file(f, "init.lua", vocabulary));
    options = (struct iw_run_options){.library = f->path};
    return 0;
}

static int clear(void **state)
{
    play_remove();
    return recording_teardown(state);
}

#define CASE(id)                                                                                   \
    "id = '" id "', purpose = 'p', role = 'responder', worst = 'FAIL', line = 7, deadline = 0,"    \
    " rules = {}, tags = {}, needs = {},"

/* Plays a case with these steps. */
static struct iw_result played(const char *steps)
{
    char *text = iw_text_format("local log = ''\nreturn { { " CASE("test") "\n%s } }", steps);
    struct iw_result r = play_case(text, &nobody, &options);

    free(text);
    return r;
}

static void is(const char *text, const char *expected)
{
    assert_string_equal(text ? text : "(none)", expected ? expected : "(none)");
}

/* ---- steps ---- */

#define LOG                                                                                        \
    "close = function(o) log = log .. ' close ' .. (o and o.reason or '-') end,\n"                 \
    "alive = function(o) log = log .. ' alive ' .. (o and o.reason or '-') end,\n"                 \
    "result = function(o)\n"                                                                       \
    "return { verdict = 'NOTE', notes = log .. ' result ' .. (o and o.reason or '-') } end,\n"

static void noted(const char *steps, const char *notes)
{
    struct iw_result r = played(steps);

    is(r.notes, notes);
    assert_int_equal(r.verdict, IW_VERDICT_NOTE);
    iw_result_free(&r);
}

static void every_case_ends_in_three_steps(void **state)
{
    (void)state;
    noted(LOG, " close - alive - result -");
    noted(LOG "run = function() log = log .. ' run' end", " run close - alive - result -");
    noted(LOG "run = function() error('e', 0) end", " close e alive e result e");
    noted(LOG "run = function() iw.raise { verdict = 'FAIL', reason = 'f' } end",
          " close f alive f result f");
    noted(LOG "close = function() error('c', 0) end,\n"
              "merge = function(before, now) return { reason = tostring(before) .. now.reason } "
              "end",
          " alive nilc result nilc");
    noted(LOG "run = function() error('e', 0) end,\n"
              "close = function(o) error('c', 0) end,\n"
              "alive = function(o) log = log .. o.reason error('a', 0) end,\n"
              "merge = function(before, now) return { reason = before.reason .. now.reason } end",
          "ec result eca");
    noted(LOG "alive = function() error('a', 0) end,\nmerge = function() error('m', 0) end",
          " close - result m");
}

static void the_result_is_taken_whole(void **state)
{
    struct iw_result r =
        played("result = function() return { verdict = 'NOTE', rule = 'MPA-5.1-01', reason = 'r',\n"
               "expected = 'e', actual = 'a', where = 'w', observed = 'o', notes = 'n' } end");

    (void)state;
    is(r.id, "test");
    assert_int_equal(r.verdict, IW_VERDICT_NOTE);
    assert_int_equal(r.role, IW_MPA_RESPONDER);
    assert_ptr_equal(r.rule, iw_rule_find("MPA-5.1-01"));
    is(r.reason, "r");
    is(r.expected, "e");
    is(r.actual, "a");
    is(r.where, "w");
    is(r.observed, "o");
    is(r.notes, "n");
    is(r.pcap, NULL);
    assert_null(r.exchange);
    assert_false(r.heard);
    assert_true(r.seconds >= 0 && r.seconds < 600);
    iw_result_free(&r);
}

static void no_result_is_an_error(void **state)
{
    struct iw_result r = played("result = function() return { rule = 'none', where = 7 } end");
    char *where;

    (void)state;
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    assert_null(r.rule);
    where = iw_text_format("%s:7", play_file);
    is(r.where, where);
    free(where);
    iw_result_free(&r);
    r = played("\nresult = function() error('no', 0) end");
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    is(r.reason, "no");
    where = iw_text_format("%s:4", play_file);
    is(r.where, where);
    free(where);
    iw_result_free(&r);
    r = played("");
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    is(r.where, NULL); /* of what holds nobody asks where */
    iw_result_free(&r);
}

/* ---- time ---- */

static void ran_out(const char *steps, const char *reason)
{
    struct iw_result r = played(steps);

    is(r.reason, reason);
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    iw_result_free(&r);
}

#define ENDLESS "function() while true do end end"
#define MERGE ", merge = function(before, now) return now end"

static void a_case_has_its_own_time(void **state)
{
    (void)state;
    options.time_scale = 0.01;
    options.deadline = 3;
    ran_out("run = " ENDLESS, "the case took longer than its deadline of 3.0 s");
    ran_out("deadline = 0.5, run = " ENDLESS, "the case took longer than its deadline of 0.5 s");
    options.deadline = 0.75;
    ran_out("run = " ENDLESS, "the case took longer than its deadline of 0.75 s");
    options.deadline = 0;
    options.time_scale = 0.002;
    ran_out("run = " ENDLESS, "the case took longer than its deadline of 20.0 s");
}

/* The end has more if an expectation has. */
static void an_end_has_time_of_its_own(void **state)
{
    (void)state;
    options.time_scale = 0.01;
    options.patience = 0.25;
    ran_out("close = " ENDLESS MERGE, "the case took longer than its deadline of 3.0 s");
    options.patience = 0;
    options.time_scale = 0.002;
    ran_out("alive = " ENDLESS MERGE, "the case took longer than its deadline of 14.0 s");
}

/* ---- reports ---- */

static void the_exchange_is_there_if_asked_for(void **state)
{
    struct iw_result r;

    (void)state;
    options.exchange = true;
    r = played("");
    assert_true(json_is_array(r.exchange));
    assert_int_equal(json_array_size(r.exchange), 0);
    iw_result_free(&r);
}

static void the_trace_names_the_case(void **state)
{
    char *text = NULL;
    size_t length = 0;
    struct iw_result r;

    (void)state;
    options.trace = open_memstream(&text, &length);
    r = played("");
    fclose(options.trace);
    assert_string_equal(text, "case test\n");
    free(text);
    iw_result_free(&r);
}

/* Whether the file has these octets. */
static bool holds(const char *path, const char *text)
{
    char content[8192];
    FILE *f = fopen(path, "rb");
    size_t n, length = strlen(text);

    assert_non_null(f);
    n = fread(content, 1, sizeof(content), f);
    fclose(f);
    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(content + i, text, length) == 0)
            return true;
    return false;
}

static void captured(const struct folder *f, unsigned round, const char *steps, const char *name,
                     const char *title)
{
    struct iw_result r;
    char *path = iw_text_format("%s/%s", f->path, name);

    options.round = round;
    r = played(steps);
    is(r.pcap, path);
    assert_true(holds(path, title));
    iw_result_free(&r);
    free(path);
}

static void a_capture_says_what_it_is(void **state)
{
    const struct folder *f = *state;

    options.pcap_dir = f->path;
    captured(f, 0, "", "test.pcapng", "case test: p\nPASS");
    captured(f, 1, "result = function() return { verdict = 'FAIL', reason = 'no' } end",
             "test.2.pcapng", "case test: p\nFAIL: no");
    captured(f, 11, "", "test.12.pcapng", "case test: p\nPASS");
}

/* That alone makes a case an error, but it hides none. */
static void a_capture_that_cannot_be_written(void **state)
{
    const struct folder *f = *state;
    char *reason =
             iw_text_format("the capture could not be written: "
                            "%s/none/test.pcapng: cannot be created: No such file or directory",
                            f->path),
         *place = iw_text_format("%s/none", f->path);
    struct iw_result r;

    options.pcap_dir = place;
    r = played("result = function() return { verdict = 'FAIL', reason = 'no' } end");
    is(r.reason, reason);
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    is(r.pcap, NULL);
    iw_result_free(&r);
    r = played("run = function() error('broken', 0) end");
    is(r.reason, "broken");
    is(r.pcap, NULL);
    iw_result_free(&r);
    free(reason);
    free(place);
}

/* ---- files that change ---- */

static void a_file_has_fewer_cases_than_it_had(void **state)
{
    struct iw_case *cases;
    struct iw_result r;
    char error[1024], *where;
    size_t n;

    (void)state;
    play_write("return { { " CASE("one") " }, { " CASE("two") " } }");
    assert_int_equal(iw_case_load(play_file, &options, &cases, &n, error, sizeof(error)), 0);
    assert_int_equal(n, 2);
    assert_int_equal(iw_script_run_case(&cases[1], &nobody, &options, &r), 0);
    assert_int_equal(r.verdict, IW_VERDICT_PASS);
    iw_result_free(&r);
    play_write("return { { " CASE("two") " } }");
    assert_int_equal(iw_script_run_case(&cases[1], &nobody, &options, &r), 0);
    is(r.reason, "the case file has changed since it was read");
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    where = iw_text_format("%s:7", play_file);
    is(r.where, where);
    free(where);
    is(r.id, "two");
    iw_result_free(&r);
    assert_int_equal(iw_script_run_case(&cases[0], &nobody, &options, &r), 0);
    is(r.reason, "the file gives other cases, or in another order, each time that it is read");
    iw_result_free(&r);
    play_write("error('gone', 0)");
    assert_int_equal(iw_script_run_case(&cases[0], &nobody, &options, &r), 0);
    assert_int_equal(r.verdict, IW_VERDICT_ERROR);
    where = iw_text_format("%s:1: gone", play_file);
    is(r.reason, where);
    free(where);
    iw_result_free(&r);
    iw_case_free_all(cases, n);
}

/* ---- descriptions ---- */

static void spoilt(const char *fields)
{
    char *text = iw_text_format("return { { " CASE("one") " }, { " CASE("two") " %s } }", fields);

    is(play_load_error(text, &options), ": it changes its cases after their description");
    free(text);
}

static void a_description_is_whole(void **state)
{
    struct iw_case *cases;
    char error[1024];
    size_t n;

    (void)state;
    spoilt("id = false");
    spoilt("purpose = false");
    spoilt("role = false");
    spoilt("worst = false");
    spoilt("worst = 'GOOD'");
    play_write("return { { " CASE("one") " worst = 'NOTE', role = 'initiator', deadline = 0.5,\n"
                                         "rules = { 'MPA-8-02' }, tags = { 't', 'u' },\n"
                                         "needs = { { name = 'n', value = 'v' } } } }");
    assert_int_equal(iw_case_load(play_file, &options, &cases, &n, error, sizeof(error)), 0);
    assert_int_equal(n, 1);
    is(cases->purpose, "p");
    assert_int_equal(cases->line, 7);
    assert_int_equal(cases->role, IW_MPA_INITIATOR);
    assert_int_equal(cases->worst, IW_VERDICT_NOTE);
    assert_true(cases->deadline > 0.4 && cases->deadline < 0.6);
    assert_int_equal(cases->n_rules, 1);
    assert_ptr_equal(cases->rules[0], iw_rule_find("MPA-8-02"));
    assert_int_equal(cases->n_tags, 2);
    is(cases->tags[0], "t");
    is(cases->tags[1], "u");
    assert_int_equal(cases->n_needs, 1);
    is(cases->needs->name, "n");
    is(cases->needs->value, "v");
    iw_case_free_all(cases, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_case_ends_in_three_steps, make, clear),
        cmocka_unit_test_setup_teardown(the_result_is_taken_whole, make, clear),
        cmocka_unit_test_setup_teardown(no_result_is_an_error, make, clear),
        cmocka_unit_test_setup_teardown(a_case_has_its_own_time, make, clear),
        cmocka_unit_test_setup_teardown(an_end_has_time_of_its_own, make, clear),
        cmocka_unit_test_setup_teardown(the_exchange_is_there_if_asked_for, make, clear),
        cmocka_unit_test_setup_teardown(the_trace_names_the_case, make, clear),
        cmocka_unit_test_setup_teardown(a_capture_says_what_it_is, make, clear),
        cmocka_unit_test_setup_teardown(a_capture_that_cannot_be_written, make, clear),
        cmocka_unit_test_setup_teardown(a_file_has_fewer_cases_than_it_had, make, clear),
        cmocka_unit_test_setup_teardown(a_description_is_whole, make, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
