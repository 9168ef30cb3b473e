/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal of a run, literally: what is written, and what a run that goes on takes from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/text.h"
#include "recording.h"
#include "run/journal.h"

#define HEAD                                                                                       \
    "{\"schema\":1,\"suite\":\"0123\",\"target\":\"T\",\"cases\":null,\"agent\":\"A\","            \
    "\"pcap-dir\":null,\"select\":[\"mpa-*\",\"x\"],\"time-scale\":2.5,\"repeat\":3,\"no-"         \
    "quirks\":false,\"keep-all\":true,\"operator\":\"me\"}\n"
#define BEGUN "{\"begun\":\"one\",\"deadline\":7.5}\n"
#define ONE "{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"one\",\"round\":2}\n"
#define TWO "{\"verdict\":\"FAIL\",\"seconds\":0.25,\"reason\":\"no\",\"id\":\"two\"}\n"

static struct iw_journal_head head;
static struct iw_case cases[2] = {
    {.id = (char[]){"one"}, .deadline = 7.5, .role = IW_MPA_INITIATOR},
    {.id = (char[]){"two"}, .role = IW_MPA_RESPONDER}};
static struct iw_entry entries[3];
static struct iw_record record;
static char taken[256];
static FILE *errors; /* what is printed goes there; NULL: to standard error */
static int before;

/* ---- what is complained about ---- */

static void listen(void)
{
    errors = tmpfile();
    assert_non_null(errors);
    fflush(stderr);
    before = dup(2);
    assert_true(before >= 0 && dup2(fileno(errors), 2) == 2);
}

static void unlisten(void)
{
    bool back;

    fflush(stderr);
    back = dup2(before, 2) == 2;
    close(before);
    assert_true(back);
}

/* Since listen(), with "FOLDER" for the folder. */
static void complained(const struct folder *s, const char *expected)
{
    char text[1024], *said;
    size_t n;

    unlisten();
    rewind(errors);
    n = fread(text, 1, sizeof(text) - 1, errors);
    text[n] = 0;
    fclose(errors);
    errors = NULL;
    said = iw_text_fill(expected, (const char *[]){"FOLDER", s->path, NULL});
    assert_string_equal(text, said);
    free(said);
}

/* Also of a test that failed while it listened: what it has to say is printed. */
static int teardown(void **state)
{
    if (errors != NULL) {
        unlisten();
        fclose(errors);
        errors = NULL;
    }
    return recording_teardown(state);
}

static char *path_of(const struct folder *s)
{
    return iw_text_format("%s/journal.jsonl", s->path);
}

static void has(const struct folder *s, const char *expected)
{
    char *path = path_of(s), text[2048];
    FILE *f = fopen(path, "r");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = 0;
    fclose(f);
    free(path);
    assert_string_equal(text, expected);
}

static void put(const struct folder *s, const char *text)
{
    char *path = path_of(s);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static void fill(void)
{
    head = (struct iw_journal_head){0};
    for (size_t i = 0; i < 2; i++)
        entries[i] = (struct iw_entry){.c = &cases[i]};
    entries[2] = (struct iw_entry){.file = "bad.lua"};
    record = (struct iw_record){.suite = "0123", .repeat = 3, .entries = entries, .count = 3};
    *taken = 0;
}

/* As in HEAD. */
static void fill_head(void)
{
    static const char *const select[] = {"mpa-*", "x"};
    fill();
    head.target = "T";
    head.agent = "A";
    head.time_scale = 2.5;
    head.repeat = 3;
    head.keep_all = true;
    head.run_by = "me";
    head.select = select;
    head.n_select = 2;
}

/* ---- written ---- */

static void test_written(void **state)
{
    struct folder *s = *state;
    struct iw_journal *j;
    struct iw_result one = {.id = (char[]){"one"}, .verdict = IW_VERDICT_PASS, .seconds = 0.5};

    fill_head();
    j = iw_journal_create(s->path, &head, &record);
    assert_non_null(j);
    has(s, HEAD);
    assert_true(iw_journal_begin(j, &cases[0]));
    has(s, HEAD BEGUN);
    assert_true(iw_journal_add(j, &one, 2));
    has(s, HEAD BEGUN ONE);
    iw_journal_close(j);
    iw_journal_close(NULL);
}

/* What a shard plays, and in which order, is there for the run that goes on. */
static void test_shard(void **state)
{
    struct folder *s = *state;
    int status = 0;

    fill_head();
    head.shard = "2/3";
    head.chosen = 7;
    head.order = "random,9";
    struct iw_journal *j = iw_journal_create(s->path, &head, &record);
    assert_non_null(j);
    char *expected = iw_text_copy(HEAD);
    strcpy(expected + strlen(expected) - 2, "");
    char *all =
        iw_text_format("%s,\"shard\":\"2/3\",\"chosen\":7,\"order\":\"random,9\"}\n", expected);
    has(s, all);
    free(all);
    free(expected);
    iw_journal_close(j);
    fill();
    j = iw_journal_resume(s->path, &head, &status);
    assert_non_null(j);
    assert_string_equal(head.shard, "2/3");
    assert_int_equal(head.chosen, 7);
    assert_string_equal(head.order, "random,9");
    iw_journal_close(j);
}

static void test_no_room(void **state)
{
    struct folder *s = *state;
    char *path = path_of(s);

    fill();
    assert_int_equal(symlink("/dev/full", path), 0);
    listen();
    assert_null(iw_journal_create(s->path, &head, &record));
    complained(s, "iwarp-conform: cannot write {FOLDER}/journal.jsonl: No space left on device\n");
    free(path);
}

/* ---- read ---- */

static void take(void *context, struct iw_entry *entry, unsigned round, struct iw_result *result)
{
    size_t n = strlen(taken);

    assert_ptr_equal(context, &head);
    assert_string_equal(result->id, entry->c->id);
    assert_int_equal(result->role, entry->c->role);
    snprintf(taken + n, sizeof(taken) - n, "%s/%u/%s/%g/%s ", entry->c->id, round,
             iw_verdict_name(result->verdict), result->seconds,
             result->reason != NULL ? result->reason : "-");
    entry->handed++;
    iw_result_free(result);
}

static void test_taken(void **state)
{
    struct folder *s = *state;
    struct iw_journal *j;
    int status = 0;

    fill();
    put(s, HEAD BEGUN ONE TWO TWO "{\"begun\":\"tw");
    j = iw_journal_resume(s->path, &head, &status);
    assert_non_null(j);
    assert_string_equal(head.target, "T");
    assert_null(head.cases);
    assert_string_equal(head.agent, "A");
    assert_null(head.pcap_dir);
    assert_true(head.time_scale == 2.5);
    assert_int_equal(head.repeat, 3);
    assert_true(head.keep_all);
    assert_string_equal(head.run_by, "me");
    assert_int_equal(head.n_select, 2);
    assert_string_equal(head.select[0], "mpa-*");
    assert_string_equal(head.select[1], "x");
    assert_int_equal(
        iw_journal_replay(j, &record, &(struct iw_journal_reader){.context = &head, .take = take}),
        0);
    assert_string_equal(taken, "one/2/PASS/0.5/- two/0/FAIL/0.25/no two/1/FAIL/0.25/no ");
    assert_false(iw_journal_surveyed(j));
    /* It goes on where the last whole line ends. */
    assert_true(iw_journal_begin(j, &cases[0]));
    has(s, HEAD BEGUN ONE TWO TWO BEGUN);
    iw_journal_close(j);
}

static void test_survey(void **state)
{
    struct folder *s = *state;
    int status = 0;

    fill();
    put(s, HEAD BEGUN);
    struct iw_journal *j = iw_journal_resume(s->path, &head, &status);
    assert_non_null(j);
    assert_false(iw_journal_surveyed(j));
    assert_true(iw_journal_survey(j));
    has(s, HEAD BEGUN "{\"surveyed\":true}\n");
    iw_journal_close(j);
    j = iw_journal_resume(s->path, &head, &status);
    assert_true(iw_journal_surveyed(j));
    assert_int_equal(
        iw_journal_replay(j, &record, &(struct iw_journal_reader){.context = &head, .take = take}),
        0);
    iw_journal_close(j);
}

static void take_charge(void *context, struct iw_entry *entry, struct iw_result *result)
{
    size_t n = strlen(taken);

    assert_ptr_equal(context, &head);
    snprintf(taken + n, sizeof(taken) - n, "%s: %s ", entry->c->id, result->reason);
    iw_result_free(result);
}

/* A charge is about a case that ended; nobody need take it. */
static void test_charged(void **state)
{
    struct folder *s = *state;
    static const char charge[] = "{\"charge\":\"two\",\"result\":{\"verdict\":\"FAIL\",\"seconds\":"
                                 "0.0,\"reason\":\"late\"}}\n";
    struct iw_journal_reader reader = {.context = &head, .take = take, .charge = take_charge};
    struct iw_result late = {.verdict = IW_VERDICT_FAIL, .reason = (char[]){"late"}};

    for (int i = 0; i < 2; i++) {
        struct iw_journal *j;
        int status = 0;

        fill();
        char *text = iw_text_format("%s%s%s%s", HEAD, ONE, TWO, charge);
        put(s, text);
        j = iw_journal_resume(s->path, &head, &status);
        assert_int_equal(iw_journal_replay(j, &record, &reader), 0);
        assert_string_equal(taken, i == 0 ? "one/2/PASS/0.5/- two/0/FAIL/0.25/no two: late "
                                          : "one/2/PASS/0.5/- two/0/FAIL/0.25/no ");
        assert_true(iw_journal_charge(j, "two", &late));
        iw_journal_close(j);
        char *twice = iw_text_format("%s%s", text, charge);
        has(s, twice);
        reader.charge = NULL;
        free(text);
        free(twice);
    }
}

/* ---- refused ---- */

static void not_a_journal(struct folder *s, const char *text, const char *expected)
{
    int status = 0;

    fill();
    if (text != NULL)
        put(s, text);
    listen();
    assert_null(iw_journal_resume(s->path, &head, &status));
    complained(s, expected);
    assert_int_equal(status, 64);
}

static void test_no_journal(void **state)
{
    struct folder *s = *state;
    static const char none[] =
        "iwarp-conform: {FOLDER}/journal.jsonl: expected the journal of a run\n";

    not_a_journal(s, NULL,
                  "iwarp-conform: cannot read {FOLDER}/journal.jsonl: No such file or directory\n");
    not_a_journal(s, "", none);
    not_a_journal(s, "{\"schema\":1", none);
    not_a_journal(s, "{\"schema\":2}\n", none);
    not_a_journal(s, "{}\n", none);
    not_a_journal(s, "[]\n", none);
    not_a_journal(s, HEAD "x\n", none);
    not_a_journal(s, HEAD "[]\n" ONE, none);
    not_a_journal(s, HEAD "\n", none);
}

static void no_result(struct folder *s, const char *lines, const char *expected)
{
    struct iw_journal *j;
    char *text = iw_text_format("%s%s", HEAD, lines);
    int status = 0;

    fill();
    put(s, text);
    j = iw_journal_resume(s->path, &head, &status);
    assert_non_null(j);
    listen();
    assert_int_equal(
        iw_journal_replay(j, &record, &(struct iw_journal_reader){.context = &head, .take = take}),
        64);
    complained(s, expected);
    iw_journal_close(j);
    free(text);
}

#define RESULT(id, round) "{\"verdict\":\"PASS\",\"seconds\":1.0," id round "}\n"

static void test_no_results(void **state)
{
    struct folder *s = *state;
    static const char second[] =
        "iwarp-conform: {FOLDER}/journal.jsonl:2: expected the result of a case\n";

    no_result(s, RESULT("\"id\":\"three\"", ""), second);
    no_result(s, RESULT("\"id\":\"bad.lua\"", ""), second);
    no_result(s, RESULT("\"id\":1", ""), second);
    no_result(s, RESULT("\"id\":\"one\"", ",\"round\":3"), second);
    no_result(s, RESULT("\"id\":\"one\"", ",\"round\":-1"), second);
    no_result(s, RESULT("\"id\":\"one\"", ",\"round\":0.5"), second);
    no_result(s, "{\"id\":\"one\"}\n", second);
    no_result(s, "{\"charge\":\"one\",\"result\":{\"verdict\":\"FAIL\"}}\n",
              second); /* not ended */
    no_result(s, "{\"charge\":1}\n", second);
    no_result(s, ONE ONE ONE ONE,
              "iwarp-conform: {FOLDER}/journal.jsonl:5: expected the result of a case\n");
}

static void other_suite(struct folder *s, const char *text)
{
    struct iw_journal *j;
    int status = 0;

    fill();
    put(s, text);
    j = iw_journal_resume(s->path, &head, &status);
    assert_non_null(j);
    listen();
    assert_int_equal(
        iw_journal_replay(j, &record, &(struct iw_journal_reader){.context = &head, .take = take}),
        64);
    complained(s, "iwarp-conform: {FOLDER}/journal.jsonl: the cases have changed since that run; "
                  "begin a new one\n");
    iw_journal_close(j);
}

static void test_other_suites(void **state)
{
    struct folder *s = *state;

    other_suite(s, "{\"schema\":1}\n");
    other_suite(s, "{\"schema\":1,\"suite\":\"0124\"}\n");
}

/* ---- from outside ---- */

static void begun(struct folder *s, const char *text, const char *id, double deadline)
{
    char *path = path_of(s), *got;
    double seconds = 0;

    put(s, text);
    got = iw_journal_begun(path, &seconds);
    if (id != NULL)
        assert_string_equal(got, id);
    else
        assert_null(got);
    assert_true(seconds == deadline);
    free(got);
    free(path);
}

static void test_begun(void **state)
{
    struct folder *s = *state;
    double seconds = 1;

    begun(s, "", NULL, 0);
    begun(s, HEAD, NULL, 0);
    begun(s, HEAD BEGUN, "one", 7.5);
    begun(s, HEAD BEGUN "{\"begun\":\"two\"}\n", "two", 0);
    begun(s, HEAD BEGUN "{\"begun\":\"two\"}", "one", 7.5);
    begun(s, HEAD BEGUN ONE, NULL, 0);
    begun(s, HEAD BEGUN "{\"surveyed\":true}\n", NULL, 0);
    begun(s, HEAD BEGUN "\n", NULL, 0);
    assert_null(iw_journal_begun("/no/such", &seconds));
}

static void test_appended(void **state)
{
    struct folder *s = *state;
    char *path = path_of(s);

    put(s, HEAD BEGUN "{\"ver");
    assert_true(iw_journal_append(path, "one", "it hung"));
    has(s, HEAD BEGUN "{\"verdict\":\"FAIL\",\"seconds\":0.0,\"reason\":\"it hung\",\"heard\":true,"
                      "\"id\":\"one\"}\n");
    free(path);
    listen();
    assert_false(iw_journal_append("/no/such", "one", "it hung"));
    complained(s, "iwarp-conform: cannot write /no/such: No such file or directory\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_written, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_shard, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_room, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_charged, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_taken, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_journal, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_results, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_suites, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_survey, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_begun, recording_setup, teardown),
        cmocka_unit_test_setup_teardown(test_appended, recording_setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
