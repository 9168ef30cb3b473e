/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs that are merged: which belong together, what they say together, where their files go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/text.h"
#include "recording.h"
#include "run/merge.h"

/* A run as a test writes it; what is NULL or 0 is as usual. */
struct made {
    const char *suite, *tool, *target, *class, *version, *started, *facts, *cases, *journal;
    const char *shard, *select, *of, *device; /* of the journal: its --cases */
    int exit, counted, chosen, repeat;
    bool no_quirks;
    double seconds;
};

static const struct folder *folder;
static char *dirs[4];
static size_t n_dirs;
static struct iw_merge merge;

static const char *or_else(const char *text, const char *usual)
{
    return text != NULL ? text : usual;
}

/* Writes the folder "a" for the first run, "b" ... */
static void add_run(struct made r)
{
    const char *letters[] = {"a", "b", "c", "d"}, *letter = letters[n_dirs];
    char *cases = r.cases != NULL ? iw_text_copy(r.cases)
                                  : iw_text_format("{\"id\":\"of-%s\",\"line\":1}", letter);
    size_t count = 1;
    for (const char *c = cases; *c != '\0'; c++)
        count += c[0] == '}' && c[1] == ',';
    char *report = iw_text_format(
        "{\"schema\":1,\"suite\":{\"version\":\"%s\",\"cases\":%d},\"tool\":{\"version\":\"%s\"},"
        "\"target\":{\"name\":\"%s\",\"class\":\"%s\",\"version\":\"%s\"},\"started\":\"%s\","
        "\"seconds\":%f,\"exit\":%d,\"facts\":[%s],\"device\":{%s},\"cases\":[%s]}",
        or_else(r.suite, "0123"), r.counted ? r.counted : (int)count, or_else(r.tool, "1.0"),
        or_else(r.target, "T"), or_else(r.class, "peer"), or_else(r.version, "v1"),
        or_else(r.started, "2026-11-27T10:00:00Z"), r.seconds, r.exit, or_else(r.facts, ""),
        or_else(r.device, ""), cases);
    char *shard = r.shard != NULL
                      ? iw_text_format(",\"shard\":\"%s\",\"chosen\":%d,\"select\":[%s]", r.shard,
                                       r.chosen, or_else(r.select, "\"x\""))
                      : iw_text_copy("");
    char *journal = iw_text_format(
        "{\"schema\":1,\"suite\":\"%s\",\"target\":\"T\",\"cases\":%s,\"repeat\":%d,\"no-quirks\":"
        "%s%s}\n%s",
        or_else(r.suite, "0123"), or_else(r.of, "null"), r.repeat ? r.repeat : 1,
        r.no_quirks ? "true" : "false", shard, or_else(r.journal, ""));
    char *name = iw_text_format("%s/run.json", letter);
    free(folder_file(folder, name, report));
    free(name);
    name = iw_text_format("%s/journal.jsonl", letter);
    free(folder_file(folder, name, journal));
    free(name);
    dirs[n_dirs++] = iw_text_format("%s/%s", folder->path, letter);
    free(journal);
    free(shard);
    free(report);
    free(cases);
}

static void forget_runs(void)
{
    iw_merge_free(&merge);
    merge = (struct iw_merge){0};
    while (n_dirs > 0)
        free(dirs[--n_dirs]);
}

static int begin(void **state)
{
    merge = (struct iw_merge){0};
    n_dirs = 0;
    const int status = recording_setup(state);
    folder = *state;
    return status;
}

static int end(void **state)
{
    forget_runs();
    return recording_teardown(state);
}

/* What `what` prints to standard error, "FOLDER" for the folder. */
static char said[2048];

static int reads(void)
{
    FILE *errors = tmpfile();
    const int kept = dup(2);
    assert_non_null(errors);
    fflush(stderr);
    dup2(fileno(errors), 2);
    const int status = iw_merge_read(&merge, dirs, n_dirs);
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    rewind(errors);
    said[fread(said, 1, sizeof(said) - 1, errors)] = '\0';
    fclose(errors);
    return status;
}

/* Both runs are read, and refused with this line. */
static void refuses(const char *line)
{
    char *whole = iw_text_fill(line, (const char *[]){"F", folder->path, NULL});
    assert_int_equal(reads(), 64);
    if (strstr(said, whole) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", whole, said);
    free(whole);
    forget_runs();
}

/* ---- which belong together ---- */

static void two(void **state)
{
    (void)state;
    add_run((struct made){.seconds = 1.5, .started = "2026-11-27T10:00:01Z"});
    add_run((struct made){.seconds = 2, .started = "2026-11-27T10:00:00Z"});
    add_run((struct made){.seconds = 4, .started = "2026-11-27T10:00:02Z"});
    assert_int_equal(reads(), 0);
    assert_string_equal(said, "");
    assert_int_equal(merge.count, 3);
    assert_string_equal(merge.runs[1].dir, dirs[1]);
    assert_true(merge.seconds == 7.5);
    assert_int_equal(merge.started, 1795773600);
    assert_false(merge.failed);
    assert_string_equal(merge.target, "T");
    assert_string_equal(merge.class, "peer");
    assert_string_equal(merge.version, "v1");
    assert_false(merge.embedded);
}

static void not_alike(void **state)
{
    (void)state;
    static const struct {
        struct made second;
        const char *line;
    } list[] = {
        {{.suite = "4567"}, "{F}/b: its suite is 4567, that of {F}/a is 0123\n"},
        {{.tool = "1.1"}, "{F}/b: its version is 1.1, that of {F}/a is 1.0\n"},
        {{.target = "U"}, "{F}/b: its target is U, that of {F}/a is T\n"},
        {{.class = "agent"}, "{F}/b: its class of target is agent, that of {F}/a is peer\n"},
        {{.repeat = 2}, "{F}/b: its --repeat or --no-quirks is not that of {F}/a\n"},
        {{.no_quirks = true}, "{F}/b: its --repeat or --no-quirks is not that of {F}/a\n"},
        {{.of = "\"mine\""}, "{F}/b: its --cases is not that of {F}/a\n"},
        {{.version = "v2"}, "{F}/b: its target's version is v2, that of others is v1\n"},
        {{.cases = "{\"id\":\"other\",\"line\":1},{\"id\":\"of-a\",\"line\":1}"},
         "the case of-a is in {F}/a and in {F}/b\n"},
        {{.counted = 2},
         "{F}/b: this run is not over; to go on: iwarp-conform run --resume {F}/b\n"},
        {{.exit = 129}, "{F}/b: this run is not over"},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        add_run((struct made){0});
        add_run(list[i].second);
        refuses(list[i].line);
    }
}

static void the_other_way_round(void **state)
{
    (void)state;
    add_run((struct made){.repeat = 2});
    add_run((struct made){0});
    refuses("{F}/b: its --repeat or --no-quirks is not that of {F}/a\n");
    add_run((struct made){.no_quirks = true});
    add_run((struct made){0});
    refuses("{F}/b: its --repeat or --no-quirks is not that of {F}/a\n");
    add_run((struct made){.of = "\"mine\""});
    add_run((struct made){0});
    refuses("{F}/b: its --cases is not that of {F}/a\n");
}

/* What a run does not know it does not contradict; what no run could read is in all of them. */
static void alike_enough(void **state)
{
    (void)state;
    add_run((struct made){.version = "",
                          .of = "\"mine\"",
                          .cases = "{\"id\":\"x\",\"line\":1},{\"id\":\"bad.lua\"}"});
    add_run(
        (struct made){.of = "\"mine\"", .cases = "{\"id\":\"y\",\"line\":1},{\"id\":\"bad.lua\"}"});
    add_run((struct made){.version = "", .of = "\"mine\"", .exit = 128});
    assert_int_equal(reads(), 0);
    assert_string_equal(merge.version, "v1");
    assert_false(merge.failed);
}

static void files_that_are_none(void **state)
{
    (void)state;
    add_run((struct made){0});
    dirs[n_dirs++] = iw_text_format("%s/nowhere", folder->path);
    refuses("cannot read {F}/nowhere");
    add_run((struct made){0});
    add_run((struct made){0});
    free(folder_file(folder, "b/journal.jsonl", "none"));
    refuses("{F}/b/journal.jsonl: expected the journal of a run\n");
}

/* ---- shards ---- */

static void shards(void **state)
{
    (void)state;
    add_run((struct made){.shard = "2/2", .chosen = 3, .select = "\"a\",\"b\""});
    add_run((struct made){.shard = "1/2", .chosen = 3, .select = "\"c\""});
    assert_int_equal(reads(), 0);
    forget_runs();
    add_run((struct made){.shard = "1/3", .chosen = 3});
    add_run((struct made){.shard = "3/3", .chosen = 3});
    refuses("shard 2/3 is missing, but {F}/a is shard 1/3\n");
    add_run((struct made){.shard = "1/2", .chosen = 3});
    add_run((struct made){.shard = "2/2", .chosen = 3});
    refuses("{F}/a: its shard is of 3 cases, but the shards have 2: they were not divided alike\n");
    add_run((struct made){.shard = "1/2", .chosen = 2});
    add_run((struct made){.shard = "2/2", .chosen = 1});
    refuses("{F}/b: its shard is of 1 cases, but the shards have 2");
    add_run((struct made){.shard = "1/1", .chosen = 1});
    add_run((struct made){0}); /* another run beside it */
    assert_int_equal(reads(), 0);
    forget_runs();
    static const char *const wrong[] = {"1", "0/1", "2/1", "x/1", "1/0", "1/x", ""};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char line[100];
        snprintf(line, sizeof(line), "{F}/a: its shard is '%s'\n", wrong[i]);
        add_run((struct made){.shard = wrong[i], .chosen = 1});
        refuses(line);
    }
}

/* ---- what they say together ---- */

#define FACT(name, text, advice)                                                                   \
    "{\"name\":\"" name "\",\"text\":\"" text "\",\"advice\":\"" advice "\"}"

static void facts(void **state)
{
    (void)state;
    add_run((struct made){.facts = FACT("crc", "yes", "do") "," FACT("crc", "no", ""),
                          .exit = 70,
                          .device = "\"name\":\"D\""});
    add_run((struct made){.facts = FACT("crc", "yes", "do") "," FACT("rev", "yes", ""),
                          .device = "\"firmware\":\"F\""});
    assert_int_equal(reads(), 0);
    assert_int_equal(merge.facts.count, 3);
    assert_string_equal(merge.facts.list[0].name, "crc");
    assert_string_equal(merge.facts.list[0].text, "yes");
    assert_string_equal(merge.facts.list[0].advice, "do");
    assert_string_equal(merge.facts.list[1].text, "no");
    assert_string_equal(merge.facts.list[2].name, "rev");
    assert_true(merge.failed); /* one had an error of the tester */
    struct iw_device device = {{NULL}};
    iw_merge_device(&merge, &device);
    assert_string_equal(device.is[IW_DEVICE_NAME], "D");
    char *text = iw_device_text(&device);
    assert_non_null(strstr(text, "F"));
    free(text);
    iw_device_free(&device);
}

static void embedded(void **state)
{
    (void)state;
    add_run((struct made){.target = "embedded peer"});
    assert_int_equal(reads(), 0);
    assert_true(merge.embedded);
    forget_runs();
    add_run((struct made){.target = "embedde"});
    assert_int_equal(reads(), 0);
    assert_false(merge.embedded);
}

static void folders(void **state)
{
    (void)state;
    add_run((struct made){0});
    add_run((struct made){0});
    assert_int_equal(reads(), 0);
    char *way = iw_text_format("%s/a/../b", folder->path);
    assert_true(iw_merge_has(&merge, dirs[0]));
    assert_true(iw_merge_has(&merge, way));
    assert_false(iw_merge_has(&merge, folder->path));
    assert_false(iw_merge_has(&merge, "/nowhere/at/all"));
    assert_false(iw_merge_has(&merge, NULL));
    free(way);
}

/* ---- the cases ---- */

static struct iw_case known[] = {
    {.id = (char[]){"z"}}, {.id = (char[]){"of-b"}}, {.id = (char[]){"of-a"}}};

static void found(void **state)
{
    (void)state;
    const struct iw_case *all[] = {&known[0], &known[1], &known[2]};
    struct iw_suite suite = {.cases = all, .n_cases = 3, .digest = "0123"};
    const struct iw_case **cases = calloc(1, sizeof(*cases));
    size_t count = 77;
    add_run((struct made){.cases = "{\"id\":\"of-a\",\"line\":1},{\"id\":\"bad.lua\"}"});
    add_run((struct made){0});
    assert_int_equal(reads(), 0);
    assert_int_equal(iw_merge_find(&merge, &suite, &cases, &count), 0);
    assert_int_equal(count, 2);
    assert_ptr_equal(cases[0], &known[1]); /* in the order of the suite */
    assert_ptr_equal(cases[1], &known[2]);
    suite.n_cases = 2;
    assert_int_equal(iw_merge_find(&merge, &suite, &cases, &count), 64);
    strcpy(suite.digest, "0124");
    assert_int_equal(iw_merge_find(&merge, &suite, &cases, &count), 64);
    free(cases);
}

/* ---- their results ---- */

static struct iw_entry entries[2];
static struct iw_record record;
static char taken[512];

static void note(const char *what, const struct iw_entry *entry, struct iw_result *result)
{
    const char *pcap = result->pcap != NULL ? result->pcap + strlen(folder->path) : "-",
               *log = result->log != NULL ? result->log + strlen(folder->path) : "-";
    snprintf(taken + strlen(taken), sizeof(taken) - strlen(taken), "%s %s %s %s\n", what,
             entry->c->id, pcap, log);
    iw_result_free(result);
}

static void take(void *context, struct iw_entry *entry, unsigned round, struct iw_result *result)
{
    assert_ptr_equal(context, &record);
    assert_int_equal(round, 0);
    entry->handed++;
    entry->done = true;
    note("take", entry, result);
}

static void charge(void *context, struct iw_entry *entry, struct iw_result *result)
{
    assert_ptr_equal(context, &record);
    note("charge", entry, result);
}

static int replays(void)
{
    static char out[200];
    const struct iw_journal_reader reader = {.context = &record, .take = take, .charge = charge};
    snprintf(out, sizeof(out), "%s/out", folder->path);
    mkdir(out, 0700);
    *taken = '\0';
    entries[0] = (struct iw_entry){.c = &known[2]};
    entries[1] = (struct iw_entry){.c = &known[1]};
    record = (struct iw_record){.suite = "0123", .repeat = 1, .entries = entries, .count = 2};
    return iw_merge_replay(&merge, &record, out, &reader);
}

/* A file is looked for in the run's folder, which may have moved, and then where it was. */
static void results(void **state)
{
    (void)state;
    char *elsewhere = folder_file(folder, "elsewhere/of-b.pcap", "capture of b");
    char *of_b =
        iw_text_format("{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"of-b\",\"round\":0,"
                       "\"pcap\":\"%s\",\"log\":\"/gone/none.log\"}\n"
                       "{\"charge\":\"of-b\",\"result\":{\"verdict\":\"FAIL\",\"seconds\":"
                       "0.5,\"pcap\":\"/gone/late.pcap\",\"log\":\"/gone/target-0.log\"}}\n",
                       elsewhere);
    add_run((struct made){.journal = "{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"of-a\","
                                     "\"round\":0,\"pcap\":\"/gone/of-a.pcap\",\"log\":"
                                     "\"/gone/target-0.log\"}\n"});
    add_run((struct made){.journal = of_b});
    free(folder_file(folder, "a/of-a.pcap", "capture of a"));
    free(folder_file(folder, "a/target-0.log", "log of a"));
    free(folder_file(folder, "b/target-0.log", "log of b"));
    free(folder_file(folder, "out/of-a.pcap", "an older one"));
    assert_int_equal(reads(), 0);
    assert_int_equal(replays(), 0);
    assert_string_equal(taken, "take of-a /out/of-a.pcap /out/run-1-target-0.log\n"
                               "take of-b /out/of-b.pcap -\n"
                               "charge of-b - /out/run-2-target-0.log\n");
    static const char *const there[][2] = {{"of-a.pcap", "capture of a"},
                                           {"of-b.pcap", "capture of b"},
                                           {"run-1-target-0.log", "log of a"},
                                           {"run-2-target-0.log", "log of b"}};
    for (unsigned i = 0; i < 4; i++) {
        char *path = iw_text_format("%s/out/%s", folder->path, there[i][0]);
        char *content = folder_read(path);
        assert_string_equal(content, there[i][1]);
        free(content);
        free(path);
    }
    free(of_b);
    free(elsewhere);
}

/* What cannot be linked is copied. */
static void copied(void **state)
{
    (void)state;
    add_run((struct made){.cases = "{\"id\":\"of-a\",\"line\":1},{\"id\":\"of-b\",\"line\":1}",
                          .journal =
                              "{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"of-a\",\"pcap\":"
                              "\"/proc/self/comm\"}\n"
                              "{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"of-b\",\"pcap\":"
                              "\"/dev/shm/none\"}\n"});
    assert_int_equal(reads(), 0);
    assert_int_equal(replays(), 0);
    char *path = iw_text_format("%s/out/comm", folder->path);
    char *content = folder_read(path), *own = folder_read("/proc/self/comm");
    assert_string_equal(content, own);
    free(own);
    assert_string_equal(taken, "take of-a /out/comm -\ntake of-b - -\n");
    free(content);
    free(path);
}

static void bad_journals(void **state)
{
    (void)state;
    add_run((struct made){.journal = "{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"of-a\"}\n"});
    assert_int_equal(reads(), 0);
    assert_int_equal(replays(), 64); /* of the other case nothing is there */
    entries[1].done = true;
    forget_runs();
    add_run((struct made){.journal = "{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"alien\"}\n"});
    add_run((struct made){.journal = "{\"verdict\":\"PASS\",\"seconds\":0.5,\"id\":\"of-b\"}\n"});
    assert_int_equal(reads(), 0);
    assert_int_equal(replays(), 64);
    assert_string_equal(taken, ""); /* the second one is not begun */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two, begin, end),
        cmocka_unit_test_setup_teardown(not_alike, begin, end),
        cmocka_unit_test_setup_teardown(the_other_way_round, begin, end),
        cmocka_unit_test_setup_teardown(alike_enough, begin, end),
        cmocka_unit_test_setup_teardown(files_that_are_none, begin, end),
        cmocka_unit_test_setup_teardown(shards, begin, end),
        cmocka_unit_test_setup_teardown(facts, begin, end),
        cmocka_unit_test_setup_teardown(embedded, begin, end),
        cmocka_unit_test_setup_teardown(folders, begin, end),
        cmocka_unit_test_setup_teardown(found, begin, end),
        cmocka_unit_test_setup_teardown(results, begin, end),
        cmocka_unit_test_setup_teardown(copied, begin, end),
        cmocka_unit_test_setup_teardown(bad_journals, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
