/* SPDX-License-Identifier: BSD-3-Clause */
/* Baselines: what is read, how a verdict is judged, what is written. */
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
#include "run/baseline.h"
#include "run/run_record.h"
#include "suite/suite.h"

static struct folder folder;
static char *path;

static int make(void **state)
{
    (void)state;
    if (folder_make(&folder))
        return -1;
    path = folder_file(&folder, "known", "");
    return 0;
}

static int clear(void **state)
{
    (void)state;
    free(path);
    folder_remove(&folder);
    return 0;
}

static int read_text(struct iw_baseline *b, const char *text, char *error, size_t room)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return iw_baseline_read(b, path, error, room);
}

static void test_read(void **state)
{
    struct iw_baseline b;
    char error[256] = "";

    (void)state;
    assert_int_equal(read_text(&b,
                               "# known\n\n  a-1 FAIL \"says \\\"no\\\" \\\\\" \n"
                               "b\tNOTE  \"x\"\r\nc INCONCLUSIVE \"slow\"",
                               error, sizeof(error)),
                     0);
    assert_int_equal(b.count, 3);
    assert_string_equal(b.pins[0].id, "a-1");
    assert_int_equal(b.pins[0].verdict, IW_VERDICT_FAIL);
    assert_string_equal(b.pins[0].reason, "says \"no\" \\");
    assert_int_equal(b.pins[0].line, 3);
    assert_int_equal(iw_baseline_find(&b, "b")->verdict, IW_VERDICT_NOTE);
    assert_string_equal(iw_baseline_find(&b, "c")->reason, "slow");
    assert_null(iw_baseline_find(&b, "a"));
    iw_baseline_free(&b);
    iw_baseline_free(&b);
}

static void test_read_errors(void **state)
{
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"a\n", ":1: expected an id and then NOTE, FAIL or INCONCLUSIVE"},
        {"\na PASS \"x\"\n", ":2: expected an id and then NOTE, FAIL or INCONCLUSIVE"},
        {"a fail \"x\"\n", ":1: expected an id and then NOTE, FAIL or INCONCLUSIVE"},
        {"a ? \"x\"\n", ":1: expected an id and then NOTE, FAIL or INCONCLUSIVE"},
        {"a FAIL\n", ":1: expected a reason in quotes at the end"},
        {"a FAIL \"\"\n", ":1: expected a reason in quotes at the end"},
        {"a FAIL because\n", ":1: expected a rule, \"-\" or \"*\", and what was seen in quotes"},
        {"a FAIL DDP-7.1-01 \"x\"\n", ":1: expected a reason in quotes at the end"},
        {"a FAIL DDP-7.1-01 x \"y\"\n",
         ":1: expected a rule, \"-\" or \"*\", and what was seen in quotes"},
        {"for 6.1\n", ":1: expected a version of the target in quotes"},
        {"for \"\"\n", ":1: expected a version of the target in quotes"},
        {"for \"6\"\nfor \"6\"\n", ":2: there are lines for this version already"},
        {"for \"6\"\na FAIL \"x\"\na FAIL \"y\"\n", ":3: this id stands in an earlier line"},
        {"a FAIL \"open\n", ":1: expected a reason in quotes at the end"},
        {"a FAIL \"x\" y\n", ":1: expected a reason in quotes at the end"},
        {"a FAIL \"x\" \"\"\n", ":1: expected a reason in quotes at the end"},
        {"a FAIL \"x\"\na NOTE \"y\"\n", ":2: this id stands in an earlier line"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct iw_baseline b;
        char error[256] = "", said[256];

        assert_int_equal(read_text(&b, wrong[i].text, error, sizeof(error)), -1);
        snprintf(said, sizeof(said), "%s%s", path, wrong[i].said);
        assert_string_equal(error, said);
        iw_baseline_free(&b);
    }
}

static void test_read_nothing(void **state)
{
    struct iw_baseline b;
    char error[256] = "";

    (void)state;
    assert_int_equal(iw_baseline_read(&b, "/nonexistent/known", error, sizeof(error)), -1);
    assert_string_equal(error, "cannot read /nonexistent/known: No such file or directory");
    iw_baseline_free(&b);
}

static void test_judge(void **state)
{
    static const enum iw_verdict pins[] = {IW_VERDICT_NOTE, IW_VERDICT_INCONCLUSIVE,
                                           IW_VERDICT_FAIL};
    /* One row for no pin and each of them; columns PASS NOTE FAIL INCONCLUSIVE SKIP ERROR. */
    static const char expected[4][IW_VERDICT_COUNT + 1] = {"-nnn--", "s=nn--", "ssn=--", "ss=s--"};
    static const char letters[] = "-=ns";

    (void)state;
    for (size_t row = 0; row < 4; row++)
        for (int v = 0; v < IW_VERDICT_COUNT; v++) {
            struct iw_pin pin = {.verdict = row ? pins[row - 1] : IW_VERDICT_PASS};
            struct iw_result result = {.verdict = (enum iw_verdict)v};
            enum iw_pinned got = iw_baseline_judge(row ? &pin : NULL, &result);

            assert_int_equal(letters[got], expected[row][v]);
        }
}

/* The target's own race decides: nothing that is better is news. */
static void test_sometimes(void **state)
{
    static const char expected[IW_VERDICT_COUNT + 1] = "==n=--", letters[] = "-=ns";
    struct iw_baseline b;
    char error[256] = "";

    (void)state;
    assert_int_equal(read_text(&b, "a INCONCLUSIVE? \"races\"\n", error, sizeof(error)), 0);
    assert_int_equal(b.pins[0].verdict, IW_VERDICT_INCONCLUSIVE);
    assert_true(b.pins[0].sometimes);
    for (int v = 0; v < IW_VERDICT_COUNT; v++) {
        struct iw_result result = {.verdict = (enum iw_verdict)v};
        assert_int_equal(letters[iw_baseline_judge(&b.pins[0], &result)], expected[v]);
    }
    iw_baseline_free(&b);
}

static struct iw_result deviating(const char *rule, const char *how, const char *actual, bool wire)
{
    struct iw_result r = {.verdict = IW_VERDICT_FAIL};
    iw_result_add_deviation(&r,
                            &(struct iw_deviation){.rule = rule != NULL ? iw_rule_find(rule) : NULL,
                                                   .how = iw_text_copy(how),
                                                   .actual = iw_text_copy(actual),
                                                   .wire = wire});
    return r;
}

/* Numbers that differ from run to run are no part of it. */
static void test_seen(void **state)
{
    static const struct {
        const char *how, *actual;
        bool wire;
        const char *seen;
    } rows[] = {
        {"another answer", "terminate 0/2/05 \"version\" mdr M D", false,
         "another answer: terminate 0/2/05"},
        {"another answer", "mpa reply rev 2 ird 16", false, "another answer: mpa reply"},
        {"missed", "read-response L stag 12345678", false, "missed: read-response"},
        {"unanswered", "nothing", false, "unanswered: nothing"},
        {"refused", NULL, false, "refused"},
        {"mpa-crc", "0x1234", true, "mpa-crc"},
    };
    struct iw_result none = {.verdict = IW_VERDICT_FAIL};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_result r = deviating("DDP-7.1-01", rows[i].how, rows[i].actual, rows[i].wire);
        char *seen = iw_baseline_seen(&r);
        assert_string_equal(seen, rows[i].seen);
        free(seen);
        iw_result_free(&r);
    }
    assert_null(iw_baseline_seen(&none));
}

/* What was looked through counts only where there is nothing else. */
static void test_a_quirk_stands_back(void **state)
{
    struct iw_result r = deviating("RDMAP-4.8-02", "rdmap-terminate-reversed", "0x1", true);
    char *seen = iw_baseline_seen(&r);
    (void)state;
    assert_string_equal(seen, "rdmap-terminate-reversed");
    free(seen);
    iw_result_add_deviation(&r, &(struct iw_deviation){.rule = iw_rule_find("DDP-7.1-01"),
                                                       .how = iw_text_copy("missed"),
                                                       .actual = iw_text_copy("fin")});
    seen = iw_baseline_seen(&r);
    assert_string_equal(seen, "missed: fin");
    free(seen);
    iw_result_free(&r);
}

static void test_what_was_seen_is_pinned(void **state)
{
    static const struct {
        const char *line;
        enum iw_pinned expected;
    } rows[] = {
        {"a FAIL \"r\"", IW_PINNED_EXPECTED},
        {"a FAIL DDP-7.1-01 \"missed: fin\" \"r\"", IW_PINNED_EXPECTED},
        {"a FAIL DDP-7.1-02 \"missed: fin\" \"r\"", IW_PINNED_CHANGED},
        {"a FAIL DDP-7.1-01 \"missed: reset\" \"r\"", IW_PINNED_CHANGED},
        {"a FAIL - \"missed: fin\" \"r\"", IW_PINNED_CHANGED},
        {"a FAIL * \"missed: fin\" \"r\"", IW_PINNED_EXPECTED},
        {"a FAIL DDP-7.1-01 \"*\" \"r\"", IW_PINNED_EXPECTED},
        {"a NOTE DDP-7.1-01 \"missed: fin\" \"r\"", IW_PINNED_NEW},
    };
    struct iw_result r = deviating("DDP-7.1-01", "missed", "fin", false),
                     crash = deviating(NULL, "overflow in f", NULL, false);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct iw_baseline b;
        char error[256];
        assert_int_equal(read_text(&b, rows[i].line, error, sizeof(error)), 0);
        assert_int_equal(iw_baseline_judge(&b.pins[0], &r), rows[i].expected);
        iw_baseline_free(&b);
    }
    struct iw_baseline b;
    char error[256];
    assert_int_equal(
        read_text(&b, "a FAIL - \"overflow in f\" \"one\" \"two\"", error, sizeof(error)), 0);
    assert_int_equal(iw_baseline_judge(&b.pins[0], &crash), IW_PINNED_EXPECTED);
    assert_string_equal(b.pins[0].reason, "one; two");
    iw_baseline_free(&b);
    iw_result_free(&r);
    iw_result_free(&crash);
}

static void test_versions(void **state)
{
    struct iw_baseline b;
    char error[256];
    (void)state;
    assert_int_equal(read_text(&b,
                               "a FAIL \"all\"\nb NOTE \"all\"\nfor \"6.1\"\na NOTE \"one\"\n"
                               "for \"6.12\"\nb FAIL \"two\"\n",
                               error, sizeof(error)),
                     0);
    assert_string_equal(iw_baseline_find(&b, "a")->reason, "one"); /* the first, unless one knows */
    assert_false(b.other);
    assert_false(iw_baseline_choose(&b, "6.1"));
    assert_true(iw_baseline_choose(&b, "6.12"));
    assert_false(b.other);
    assert_string_equal(iw_baseline_find(&b, "a")->reason, "all");
    assert_string_equal(iw_baseline_find(&b, "b")->reason, "two");
    assert_true(iw_baseline_choose(&b, "7.0"));
    assert_true(b.other);
    assert_string_equal(iw_baseline_find(&b, "a")->reason, "one");
    assert_string_equal(iw_baseline_find(&b, "b")->reason, "all");
    iw_baseline_free(&b);
}

/* ---- a record ---- */

static struct iw_case cases[4];
static struct iw_entry entries[4];

static struct iw_record a_record(void)
{
    static char ids[4][8] = {"one", "two", "three", "four"};

    for (size_t i = 0; i < 4; i++) {
        cases[i] = (struct iw_case){.id = ids[i]};
        entries[i] = (struct iw_entry){.c = &cases[i]};
    }
    return (struct iw_record){
        .target = "tcp:[::1]:7", .baseline = "known", .entries = entries, .count = 4, .repeat = 1};
}

static void take(struct iw_record *r, const struct iw_baseline *b, size_t i, enum iw_verdict v,
                 const char *reason)
{
    struct iw_result result = {.verdict = v, .reason = reason != NULL ? strdup(reason) : NULL};

    iw_record_take(r, b, &entries[i], &result);
}

static void clear_results(void)
{
    for (size_t i = 0; i < 4; i++)
        iw_result_free(&entries[i].result);
}

static void test_write(void **state)
{
    struct iw_baseline old;
    struct iw_record r = a_record();
    char error[256], *text = NULL;
    size_t length = 0;
    FILE *f;

    (void)state;
    assert_int_equal(read_text(&old,
                               "one FAIL \"known bug 7\"\ntwo FAIL \"gone\"\nthree NOTE \"n\"\n"
                               "four FAIL \"not played\"\nfive NOTE \"elsewhere\"\n",
                               error, sizeof(error)),
                     0);
    take(&r, &old, 0, IW_VERDICT_FAIL, "no Terminate");
    take(&r, &old, 1, IW_VERDICT_PASS, NULL);
    take(&r, &old, 2, IW_VERDICT_FAIL, "said \"x\\y\"\nand more");
    take(&r, &old, 3, IW_VERDICT_SKIP, "needs agent");
    f = open_memstream(&text, &length);
    iw_baseline_write(f, &r, NULL, &old);
    fclose(f);
    assert_string_equal(text, "# tcp:[::1]:7: the cases that do not pass, with the reason why\n"
                              "one FAIL - \"gone\" \"known bug 7\"\n"
                              "three FAIL - \"gone\" \"said \\\"x\\\\y\\\" and more\"\n"
                              "four FAIL \"not played\"\n"
                              "five NOTE \"elsewhere\"\n");
    free(text);
    iw_baseline_free(&old);
    clear_results();
}

/* What was seen is written, except where the file says that it does not matter. */
static void test_write_what_was_seen(void **state)
{
    struct iw_baseline old;
    struct iw_record r = a_record();
    char error[256], *text = NULL;
    size_t length = 0;

    (void)state;
    assert_int_equal(read_text(&old,
                               "one FAIL \"a\" \"b\"\nfor \"siw 6.1\"\n"
                               "two FAIL * \"*\" \"c\"\nfor \"siw 6.2\"\nthree NOTE \"d\"\n",
                               error, sizeof(error)),
                     0);
    for (size_t i = 0; i < 3; i++) {
        struct iw_result result = deviating(i < 2 ? "DDP-7.1-01" : NULL, "missed", "fin", false);
        result.id = iw_text_copy(cases[i].id);
        result.reason = iw_text_copy("closed");
        iw_record_take(&r, &old, &entries[i], &result);
    }
    FILE *f = open_memstream(&text, &length);
    iw_baseline_write(f, &r, "siw 6.1", &old);
    fclose(f);
    assert_string_equal(text, "# tcp:[::1]:7: the cases that do not pass, with the reason why\n"
                              "one FAIL DDP-7.1-01 \"missed: fin\" \"a\" \"b\"\n"
                              "for \"siw 6.1\"\n"
                              "two FAIL * \"*\" \"c\"\n"
                              "three FAIL - \"missed\" \"closed\"\n"
                              "for \"siw 6.2\"\n"
                              "three NOTE \"d\"\n");
    free(text);
    iw_baseline_free(&old);
    clear_results();
}

/* A run against another version fails for what is new alone. */
static void test_another_version(void **state)
{
    static const struct {
        const char *known, *version;
        int status;
    } runs[] = {
        {"for \"6.1\"\none FAIL DDP-7.1-01 \"missed: fin\" \"x\"\n", "6.1", 0},
        {"for \"6.1\"\none FAIL DDP-7.1-01 \"missed: reset\" \"x\"\n", "6.1", 1},
        {"for \"6.1\"\none FAIL DDP-7.1-01 \"missed: reset\" \"x\"\n", "6.2", 0},
        {"for \"6.1\"\none FAIL \"x\"\ntwo FAIL \"y\"\n", "6.1", 2},
        {"for \"6.1\"\none FAIL \"x\"\ntwo FAIL \"y\"\n", "6.2", 0},
        {"for \"6.1\"\ntwo FAIL \"y\"\n", "6.2", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        struct iw_record r = a_record();
        struct iw_baseline b;
        char error[256];
        struct iw_result result = deviating("DDP-7.1-01", "missed", "fin", false);

        r.count = 2;
        assert_int_equal(read_text(&b, runs[i].known, error, sizeof(error)), 0);
        iw_record_take(&r, &b, &entries[0], &result);
        iw_record_choose(&r, &b, runs[i].version);
        take(&r, &b, 1, IW_VERDICT_PASS, NULL);
        assert_int_equal(iw_record_status(&r, true), runs[i].status);
        assert_int_equal(r.made_for != NULL, strcmp(runs[i].version, "6.2") == 0);
        iw_baseline_free(&b);
        clear_results();
    }
}

/* The gravest verdict decides, and what is known decides nothing. */
static void test_status(void **state)
{
    static const struct {
        const char *known;
        enum iw_verdict verdict;
        int status;
    } runs[] = {
        {"one FAIL \"x\"\n", IW_VERDICT_FAIL, 0},
        {"one NOTE \"x\"\n", IW_VERDICT_FAIL, 1},
        {"", IW_VERDICT_FAIL, 1},
        {"one FAIL \"x\"\n", IW_VERDICT_PASS, 2},
        {"one FAIL \"x\"\n", IW_VERDICT_NOTE, 2},
        {"", IW_VERDICT_NOTE, 0},
        {"one NOTE \"x\"\n", IW_VERDICT_NOTE, 0},
        {"one NOTE \"x\"\n", IW_VERDICT_PASS, 2},
        {"one INCONCLUSIVE \"x\"\n", IW_VERDICT_INCONCLUSIVE, 0},
        {"one NOTE \"x\"\n", IW_VERDICT_INCONCLUSIVE, 3},
        {"", IW_VERDICT_INCONCLUSIVE, 3},
        {"one FAIL \"x\"\n", IW_VERDICT_SKIP, 0},
        {"one FAIL \"x\"\n", IW_VERDICT_ERROR, 70},
        {"one FAIL \"x\"\nsix FAIL \"y\"\n", IW_VERDICT_FAIL, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        struct iw_record r = a_record();
        const struct iw_case *list[] = {&cases[0]};
        struct iw_suite suite = {.cases = list, .n_cases = 1};
        struct iw_baseline b;
        char error[256];

        r.count = 1;
        assert_int_equal(read_text(&b, runs[i].known, error, sizeof(error)), 0);
        iw_record_pin(&r, &b, &suite);
        take(&r, &b, 0, runs[i].verdict, NULL);
        assert_int_equal(iw_record_status(&r, true), runs[i].status);
        assert_int_equal(r.n_unknown, i == 13);
        for (size_t k = 0; k < r.n_unknown; k++) {
            assert_string_equal(r.unknown[k], "six");
            free(r.unknown[k]);
        }
        free(r.unknown);
        iw_baseline_free(&b);
        clear_results();
    }
}

/* Every case once, then every case again; the gravest round counts. */
static void test_rounds(void **state)
{
    static const size_t order[] = {0, 1, 2, 3, 0, 1, 2, 3};
    static const enum iw_verdict verdicts[] = {
        IW_VERDICT_PASS, IW_VERDICT_FAIL, IW_VERDICT_SKIP, IW_VERDICT_NOTE,
        IW_VERDICT_NOTE, IW_VERDICT_PASS, IW_VERDICT_SKIP, IW_VERDICT_INCONCLUSIVE};
    static const enum iw_verdict last[] = {IW_VERDICT_NOTE, IW_VERDICT_FAIL, IW_VERDICT_SKIP,
                                           IW_VERDICT_INCONCLUSIVE};
    const struct iw_baseline none = {0};
    struct iw_record r = a_record();

    (void)state;
    r.repeat = 2;
    for (size_t i = 0; i < 8; i++) {
        unsigned round = 99;
        struct iw_entry *e = iw_record_next(&r, &round);

        assert_ptr_equal(e, &entries[order[i]]);
        assert_int_equal(e->handed, 1 + i / 4);
        assert_int_equal(round, i / 4);
        assert_false(e->done);
        take(&r, &none, order[i], verdicts[i], NULL);
        assert_int_equal(e->done, i >= 4);
    }
    assert_null(iw_record_next(&r, &(unsigned){0}));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(entries[i].result.verdict, last[i]);
        assert_int_equal(iw_entry_unstable(&entries[i]), i != 2);
    }
    assert_int_equal(entries[2].rounds[IW_VERDICT_SKIP], 2);
    assert_int_equal(r.verdicts[IW_VERDICT_FAIL], 1);
    clear_results();
}

/* Of two rounds of a case at a time the second had ended when the run was killed: the others come,
 * and none has its number, which names its capture. */
static void test_rounds_restored(void **state)
{
    static const struct {
        size_t entry;
        unsigned round;
    } order[] = {{1, 0}, {0, 0}, {1, 1}, {0, 2}, {1, 2}};
    struct iw_record r = a_record();
    unsigned round = 99;

    (void)state;
    r.repeat = 3;
    r.count = 2;
    iw_record_restore(&entries[0], 1);
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        assert_ptr_equal(iw_record_next(&r, &round), &entries[order[i].entry]);
        assert_int_equal(round, order[i].round);
    }
    assert_null(iw_record_next(&r, &round));
    free(entries[0].restored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_read_errors),
        cmocka_unit_test(test_read_nothing),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_sometimes),
        cmocka_unit_test(test_seen),
        cmocka_unit_test(test_a_quirk_stands_back),
        cmocka_unit_test(test_what_was_seen_is_pinned),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_what_was_seen),
        cmocka_unit_test(test_another_version),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_rounds_restored),
    };

    return cmocka_run_group_tests(tests, make, clear);
}
