/* SPDX-License-Identifier: BSD-3-Clause */
/* Shards and orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/schedule.h"
#include "folder.h"
#include "host/text.h"

enum { CASES = 7 };

static struct iw_case cases[CASES];
static char ids[CASES][2] = {"a", "b", "c", "d", "e", "f", "g"};
static struct folder folder;

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++)
        cases[i].id = ids[i];
    return folder_make(&folder);
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static void all_of(const struct iw_case *list[CASES])
{
    for (size_t i = 0; i < CASES; i++)
        list[i] = &cases[i];
}

static const char *joined(const struct iw_case *const *list, size_t count)
{
    static char text[CASES + 1];
    for (size_t i = 0; i < count; i++)
        text[i] = *list[i]->id;
    text[count] = 0;
    return text;
}

/* Asserts which cases shard k of n has. */
static void shard(const double *seconds, unsigned k, unsigned n, const char *expected)
{
    const struct iw_case *list[CASES];
    all_of(list);
    assert_string_equal(joined(list, iw_schedule_shard(list, CASES, seconds, k, n)), expected);
}

static void without_durations_they_take_turns(void **state)
{
    (void)state;
    shard(NULL, 1, 1, "abcdefg");
    shard(NULL, 1, 3, "adg");
    shard(NULL, 2, 3, "be");
    shard(NULL, 3, 3, "cf");
    shard(NULL, 7, 9, "g");
    shard(NULL, 8, 9, "");
}

static void with_durations_they_take_equally_long(void **state)
{
    const double seconds[CASES] = {1, 2, 3, 9, 1, 1, 1};
    (void)state;
    shard(seconds, 1, 2, "d");
    shard(seconds, 2, 2, "abcefg");
    /* Those that are not recorded take what the others do on the average. */
    const double some[CASES] = {5, -1, -1, -1, -1, 1, -1};
    shard(some, 1, 2, "adg");
    shard(some, 2, 2, "bcef");
    const double none[CASES] = {0};
    shard(none, 1, 3, "adg");
    const double unknown[CASES] = {-1, -1, -1, -1, -1, -1, -1};
    shard(unknown, 2, 3, "be");
}

static void each_case_is_in_one_shard(void **state)
{
    const double seconds[CASES] = {0.25, 0, 3, -1, 0.25, 7, 0.5};
    (void)state;
    for (unsigned n = 1; n < 12; n++) {
        unsigned seen[CASES] = {0};
        for (unsigned k = 1; k <= n; k++) {
            const struct iw_case *list[CASES];
            all_of(list);
            size_t count = iw_schedule_shard(list, CASES, n % 2 ? seconds : NULL, k, n);
            for (size_t i = 0; i < count; i++)
                seen[list[i] - cases]++;
        }
        for (size_t i = 0; i < CASES; i++)
            assert_int_equal(seen[i], 1);
    }
}

static void a_seed_gives_one_order(void **state)
{
    const struct iw_case *list[CASES];
    (void)state;
    all_of(list);
    iw_schedule_shuffle(list, CASES, 1);
    assert_string_equal(joined(list, CASES), "ecdgabf");
    all_of(list);
    iw_schedule_shuffle(list, CASES, 4294967295u);
    assert_string_equal(joined(list, CASES), "edgafcb");
    all_of(list);
    iw_schedule_shuffle(list, 1, 3);
    iw_schedule_shuffle(list, 0, 3);
    assert_string_equal(joined(list, CASES), "abcdefg");
}

/* Asserts the durations that a report of this text gives, or what is wrong with it. */
static void durations(const char *text, double a, double b, const char *wrong)
{
    const struct iw_case *list[CASES];
    char error[200] = "";
    all_of(list);
    char *path = folder_file(&folder, "out/run.json", text);
    double *seconds = iw_schedule_durations(path, list, 2, error, sizeof(error));
    if (wrong == NULL) {
        assert_non_null(seconds);
        assert_true(seconds[0] >= a && seconds[0] <= a);
        assert_true(seconds[1] >= b && seconds[1] <= b);
    } else {
        char *line = iw_text_format("%s%s", path, wrong);
        assert_null(seconds);
        assert_string_equal(error, line);
        free(line);
    }
    free(seconds);
    free(path);
}

static void a_report_has_durations(void **state)
{
    static const char no_report[] = ": expected the JSON report of a run";
    (void)state;
    durations("{\"schema\": 1, \"cases\": [{\"id\": \"b\", \"seconds\": 0.25}, {\"id\": \"x\", "
              "\"seconds\": 1}, "
              "{\"id\": \"a\", \"seconds\": 3}]}",
              3, 0.25, NULL);
    durations("{\"schema\": 1, \"cases\": [{\"id\": \"a\", \"seconds\": 0}, {\"id\": \"b\", "
              "\"seconds\": -1}]}",
              0, -1, NULL);
    durations("{\"schema\": 1, \"cases\": [{\"id\": 7}, {\"id\": \"b\", \"seconds\": \"x\"}]}", 0,
              0, " has none of these cases");
    durations("{\"schema\": 1, \"cases\": []}", 0, 0, " has none of these cases");
    durations("{}", 0, 0, no_report);
    durations("{\"schema\": 1, \"cases\": [7]}", 0, 0, no_report);
    durations("[]", 0, 0, no_report);
    durations("{\"schema\": 2, \"cases\": []}", 0, 0, no_report);
    durations("no JSON", 0, 0, ":1: '[' or '{' expected near 'no'");
}

static void a_folder_has_a_report(void **state)
{
    const struct iw_case *list[CASES];
    char error[300] = "", wrong[300];
    (void)state;
    all_of(list);
    free(folder_file(&folder, "run.json",
                     "{\"schema\": 1, \"cases\": [{\"id\": \"a\", \"seconds\": 3}]}"));
    double *seconds = iw_schedule_durations(folder.path, list, 1, error, sizeof(error));
    assert_non_null(seconds);
    assert_true(seconds[0] >= 3 && seconds[0] <= 3);
    free(seconds);
    assert_null(iw_schedule_durations("/nonexistent", list, 1, error, sizeof(error)));
    assert_string_equal(error, "cannot read /nonexistent: No such file or directory");
    assert_null(iw_schedule_durations("/proc/self/fd", list, 1, error, sizeof(error)));
    snprintf(wrong, sizeof(wrong), "cannot read /proc/self/fd/run.json: %s", strerror(2));
    assert_string_equal(error, wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_durations_they_take_turns),
        cmocka_unit_test(with_durations_they_take_equally_long),
        cmocka_unit_test(each_case_is_in_one_shard),
        cmocka_unit_test(a_seed_gives_one_order),
        cmocka_unit_test(a_report_has_durations),
        cmocka_unit_test(a_folder_has_a_report),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
